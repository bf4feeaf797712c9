// session_broker: agents for a chat. Each thread has a session, and its agent is a child process.
// The broker decides who may close it, how fast users may talk to it, and when it expires.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>

#include "activities.hpp"
#include "agents.hpp"
#include "broker.hpp"
#include "host.hpp"

namespace {

constexpr char kUsage[] =
    R"(session_broker worker --db FILE --node NAME --kind KIND --folder FOLDER --chat FILE [--agent COMMAND]
                       [--per-user N]
session_broker chat   --db FILE [--idle-ms N] [--age-ms N] [--per-minute N] [--messages N]
session_broker agent  KIND

worker  has agents of one kind (scribe, poet), and posts what they say at the end of a file. Workers share FOLDER, which
        is there, and in which each session has a folder of its own. No user owns more than N threads
chat    takes lines "ID THREAD USER TEXT" from its input. The first of a thread opens a session for that user, with
        these limits. "/handoff KIND" gives it to an agent of another kind, "/close" closes it, at once. A message
        has an ID of its own, by which a thread knows it when it is given again
agent   the child; COMMAND is another one, words set apart by spaces, the kind is added
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

template <typename Number>
void read_number(int argc, char** argv, const char* name, Number* out) {
  const char* const text = option(argc, argv, name);
  if (text == nullptr) return;
  const auto read = std::from_chars(text, text + std::strlen(text), *out);
  if (read.ec != std::errc() || *read.ptr != '\0' || *out < 1) usage();
}

int work(int argc, char** argv) {
  const char* const path = option(argc, argv, "--db");
  const char* const node = option(argc, argv, "--node");
  const char* const kind = option(argc, argv, "--kind");
  const char* const folder = option(argc, argv, "--folder");
  const char* const chat = option(argc, argv, "--chat");
  const char* const command = option(argc, argv, "--agent");
  if (path == nullptr || node == nullptr || kind == nullptr || folder == nullptr ||
      chat == nullptr || !session_broker::is_kind(kind))
    usage();

  pawl::Host host(example::small_host(path, node));
  pawl::SessionCacheSettings<example::Agent> settings;
  settings.ttl = std::chrono::milliseconds(0);  // an agent lives as long as its session is here
  session_broker::Agents agents(host.clock(), settings);
  session_broker::Worker worker{
      agents, command != nullptr ? command : example::own_command("agent"), kind, chat};
  host.add_orchestration("broker", session_broker::broker);
  if (session_broker::add_activities(host.registry(), worker) != pawl::Status::kOk) return 1;

  pawl::Options& options = host.options().runtime;
  options.sessions.listener = &agents;
  options.slots.inline_activities = 8;
  options.slots.cooperative = session_broker::kAgentsMax;
  options.slots.cooperative_scratch_bytes = session_broker::scratch_bytes();
  options.worker_tag_filter = pawl::TagFilter::default_and({kind});
  options.sessions.work_root = folder;
  options.sessions.max_sessions_per_worker = session_broker::kAgentsMax / 2;
  read_number(argc, argv, "--per-user", &options.sessions.max_sessions_per_owner);
  return host.run();
}

pawl::Status take_line(pawl::Client& client, const session_broker::Thread& limits,
                       const std::string& line) {
  std::string_view text = line;
  const auto next_word = [&text] {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return std::string(word);
  };
  const std::string id = next_word();
  const std::string thread = next_word();
  const std::string user = next_word();
  if (text.empty()) return pawl::Status::kInvalidArgument;
  text = text.substr(0, session_broker::kTextMax);
  // This does not go through the queue of messages, so it works while an agent thinks.
  if (text == "/close") return client.close_session(thread, session_broker::kSession, user);
  session_broker::Thread fresh = limits;
  PAWL_TRY(fresh.owner.assign(user));
  char input[session_broker::kThreadBytesMax];
  std::size_t size = 0;
  PAWL_TRY(pawl::to_json(fresh, input, sizeof input, &size));
  // The message begins the thread, or begins it anew if it has ended. With the key it is one
  // however often it comes, so a chat that died says again what may have been lost.
  pawl::SendOptions options;
  options.key = id;
  options.start_if_ended = pawl::StartIfEnded{"broker", {input, size}};
  return client.enqueue_event(thread, session_broker::kQueue, user + " " + std::string(text),
                              options);
}

int chat(int argc, char** argv) {
  const char* const path = option(argc, argv, "--db");
  if (path == nullptr) usage();
  session_broker::Thread limits;
  static_cast<void>(limits.kind.assign(session_broker::kKinds[0]));
  read_number(argc, argv, "--idle-ms", &limits.idle_ms);
  read_number(argc, argv, "--age-ms", &limits.age_ms_max);
  read_number(argc, argv, "--per-minute", &limits.messages_a_minute);
  read_number(argc, argv, "--messages", &limits.messages_max);
  pawl::HostClient client(example::small_client(path));
  if (!example::is_open(client, "session_broker")) return 1;
  for (std::string line; std::getline(std::cin, line);) {
    const pawl::Status status = take_line(client, limits, line);
    if (status == pawl::Status::kOk) continue;
    std::printf("%s: %.*s\n", pawl::status_name(status), PAWL_TEXT(client.error_text()));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "";
  if (role == "worker") return work(argc, argv);
  if (role == "chat") return chat(argc, argv);
  if (role == "agent" && argc == 3) return session_broker::run_agent(argv[2]);
  usage();
}
