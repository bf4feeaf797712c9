// fleet: machines that share conversations and a valve through a PostgreSQL server.
//
// A conversation is a soft session: its machine keeps it warm, and when that is gone another one
// goes on at once. The valve is an exclusive session: a machine that lost the server stops before
// another one may turn it. Nothing else in this program says that there are several machines.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "host.hpp"
#include "pawl/postgres.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kUsage[] =
    R"(fleet node ADDRESS FILE NAME LEDGER
fleet say  ADDRESS FILE

node  is a machine: it runs what is there, and writes each move of the valve to LEDGER
say   reads lines "NAME TEXT", and says each text to the conversation of that name, or to the valve; a line
      "NAME bye" ends it and prints all that it heard

ADDRESS is libpq's, such as postgresql://db.plant/pawl.
What lies beside the database on this machine begins with FILE.
)";

constexpr int kTurns = 20;  // of one execution

// ---- the machines ----

// Hears texts and gives each to the activity, until "bye".
pawl::Poll hears(pawl::OrchestrationContext& ctx, const char* activity,
                 const pawl::Target& target) {
  std::string all(ctx.input());
  for (int turn = 0; turn < kTurns; ++turn) {
    PAWL_AWAIT(said, ctx.dequeue_event("said"));
    if (said.value() == "bye") return ctx.complete(all);
    PAWL_AWAIT(done, ctx.schedule_activity(activity, said.value(), target));
    all += (all.empty() ? "" : " ") + std::string(done.value());
  }
  return ctx.continue_as_new(all);
}
pawl::Poll conversation(pawl::OrchestrationContext& ctx) {
  return hears(ctx, "answer", pawl::Target::session(ctx.instance_id()));
}
pawl::Poll valve(pawl::OrchestrationContext& ctx) {
  return hears(ctx, "turn", pawl::Target::exclusive_session("valve"));
}

pawl::ActivityResult answer(pawl::ActivityContext& ctx) { return ctx.ok(ctx.input()); }

class Ledger {
 public:
  explicit Ledger(const char* path)
      : file_(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}
  ~Ledger() { ::close(file_); }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  void note(const char* what, const pawl::ActivityContext& ctx) const {
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    char line[256];
    const int size =
        std::snprintf(line, sizeof line, "%s %.*s %lld %.*s %lld\n", what, PAWL_TEXT(ctx.input()),
                      static_cast<long long>(ctx.session_epoch()), PAWL_TEXT(ctx.worker_id()),
                      static_cast<long long>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000);
    if (::write(file_, line, static_cast<std::size_t>(size)) != size) std::perror("ledger");
  }

 private:
  int file_;
};

// A turn takes half a second. The one that holds the hardware looks at each step whether it may go
// on.
pawl::ActivityResult turn(pawl::ActivityContext& ctx) {
  const auto& ledger = *static_cast<const Ledger*>(ctx.user());
  for (int step = 0; step < 25; ++step) {
    if (ctx.is_cancelled()) return ctx.fail("the valve was taken away");
    ledger.note("moves", ctx);
    const timespec pause = {0, 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
  ledger.note("turned", ctx);
  return ctx.ok(ctx.input());
}

int run_node(const pawl::ServerDatabase& plant, char** argv) {
  Ledger ledger(argv[5]);
  pawl::HostOptions options = example::small_host(argv[3], argv[4]);
  options.runtime.database = &plant;
  options.runtime.slots.inline_activities = 4;
  options.runtime.slots.threads = 1;
  // The shortest lease: a machine that is gone holds the valve for no longer.
  options.runtime.leases.session_lock_timeout = options.runtime.leases.worker_lock_timeout =
      seconds(10);
  pawl::Host host(options);
  host.add_orchestration("conversation", conversation)
      .add_orchestration("valve", valve)
      .add_activity("answer", answer)
      .add_activity("turn", turn, pawl::ActivityMode::kThreaded, &ledger);
  return host.run();
}

// ---- the one who speaks ----

// With its text as the key a message may be sent again after any error, and arrives once.
bool say(pawl::HostClient& client, const std::string& name, const std::string& text) {
  pawl::SendOptions options;
  options.key = text;
  options.start_if_ended = pawl::StartIfEnded{name == "valve" ? "valve" : "conversation", ""};
  const pawl::InstanceId id(name);
  for (int tries = 0; tries < 300; ++tries) {
    const pawl::Status sent = client.enqueue_event(id, "said", text, options);
    if (sent == pawl::Status::kOk) return true;
    std::fprintf(stderr, "fleet: %s %s: %s: %.*s\n", name.c_str(), text.c_str(),
                 pawl::status_name(sent), PAWL_TEXT(client.error_text()));
    const timespec pause = {0, 200'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

bool print_end(pawl::HostClient& client, const std::string& name) {
  pawl::OrchestrationStatus end;
  pawl::Status waited = pawl::Status::kTimeout;
  const pawl::InstanceId id(name);
  for (int tries = 0; tries < 60 && waited != pawl::Status::kOk; ++tries)
    waited = client.wait_for_orchestration(id, seconds(5), &end);
  if (waited == pawl::Status::kOk)
    std::printf("all %s %.*s\n", name.c_str(), PAWL_TEXT(end.output));
  return waited == pawl::Status::kOk;
}

int run_say(const pawl::ServerDatabase& plant, char** argv) {
  pawl::HostClientOptions options = example::small_client(argv[3]);
  options.client.database = &plant;
  pawl::HostClient client(options);
  if (!example::is_open(client, "fleet")) return 1;
  char line[256];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    const std::string_view given(line, std::strcspn(line, "\n"));
    const std::size_t space = given.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string name(given.substr(0, space));
    const std::string text(given.substr(space + 1));
    if (!say(client, name, text)) return 1;
    std::printf("ok %s %s\n", name.c_str(), text.c_str());
    if (text == "bye" && !print_end(client, name)) return 1;
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_node = argc == 6 && std::strcmp(argv[1], "node") == 0;
  if (!is_node && (argc != 4 || std::strcmp(argv[1], "say") != 0)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const pawl::ServerDatabase plant = pawl::postgresql(argv[2]);
  return is_node ? run_node(plant, argv) : run_say(plant, argv);
}
