// conversation: stateful conversations over any number of worker processes. A conversation outlives
// each of them.
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "activities.hpp"
#include "converse.hpp"
#include "host.hpp"
#include "talker.hpp"

namespace {

constexpr char kUsage[] =
    R"(conversation worker --db FILE --node NAME --store FOLDER [--agent COMMAND]
conversation say    --db FILE ID TEXT
conversation agent

worker  runs conversations, each with an agent: a child process that remembers what was said. Checkpoints are
        written to FOLDER, which all workers share.
say     says TEXT in the conversation ID, which begins with the first, and prints the answer. "/pause MS" ends its
        agent for a while, "/bye" ends the conversation.
agent   the child; COMMAND is another one, words set apart by spaces

kill -9 does no harm to anything that was said.
)";

[[noreturn]] void usage() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

const char* option(int argc, char** argv, const char* name) {
  for (int i = 2; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  return nullptr;
}

int work(const char* path, const char* node, const char* store, const char* command) {
  if (path == nullptr || node == nullptr || store == nullptr) usage();
  pawl::Host host(example::small_host(path, node));
  pawl::SessionCacheSettings<example::Agent> settings;
  settings.ttl = std::chrono::milliseconds(0);  // an agent lives as long as its session is here
  conversation::Agents agents(host.clock(), settings);
  conversation::Worker worker{agents, command != nullptr ? command : example::own_command("agent"),
                              store};

  host.add_orchestration(conversation::kConverse, conversation::converse);
  if (conversation::add_activities(host.registry(), worker) != pawl::Status::kOk) return 1;

  pawl::Options& options = host.options().runtime;
  options.sessions.listener = &agents;
  options.slots.cooperative = conversation::kAgentsMax;
  options.slots.cooperative_scratch_bytes = conversation::scratch_bytes();
  options.sessions.max_sessions_per_worker = conversation::kAgentsMax / 2;
  return host.run();
}

int say(const char* path, const std::string& id, const std::string& text) {
  conversation::Message message;
  if (text.empty() || message.text.assign(text) != pawl::Status::kOk) usage();
  pawl::HostClient client(example::small_client(path));
  if (!example::is_open(client, "conversation")) return 1;
  pawl::Status status =
      client.start_orchestration(conversation::kConverse, pawl::InstanceId(id), {});
  if (status == pawl::Status::kAlreadyExists) status = pawl::Status::kOk;  // already there
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);  // process ids are used again, so the time is added
  const std::string request = std::to_string(getpid()) + "." + std::to_string(now.tv_sec) + "." +
                              std::to_string(now.tv_nsec);
  if (status == pawl::Status::kOk) status = message.request.assign(request);
  if (status == pawl::Status::kOk) status = client.enqueue_event(id, conversation::kQueue, message);
  pawl::KvEntry answer;
  if (status == pawl::Status::kOk)
    status = client.wait_for_kv_value(id, request, std::chrono::seconds(60), &answer);
  if (status != pawl::Status::kOk) {
    std::fprintf(stderr, "conversation: %s: %s %.*s\n", id.c_str(), pawl::status_name(status),
                 PAWL_TEXT(client.error_text()));
    return 1;
  }
  std::printf("%.*s\n", PAWL_TEXT(answer.value));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "";
  const char* const path = option(argc, argv, "--db");
  if (role == "worker") {
    return work(path, option(argc, argv, "--node"), option(argc, argv, "--store"),
                option(argc, argv, "--agent"));
  }
  if (role == "say" && path != nullptr && argc == 6) return say(path, argv[4], argv[5]);
  if (role == "agent") return conversation::run_talker();
  usage();
}
