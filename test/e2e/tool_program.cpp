// Fills a database for tool_test.py: payloads of one size beside payloads of one byte, and texts
// that must not reach a terminal unchanged.
//
//   tool_program DATABASE BYTES
//
// Or runs one activity that reports progress in pieces, the last one when it reads a line.
//
//   tool_program DATABASE talk
//
// Or starts three instances whose activities are completed from outside, and report their tokens as
// progress.
//
//   tool_program DATABASE ask
//
// Or runs rounds without end, one commit after another, until it is killed; or runs ROUNDS rounds
// and kills itself.
//
//   tool_program DATABASE busy [ROUNDS]
//
// Or checks its code, or no code, against the database, as a package's hook would.
//
//   tool_program check|check-nothing [--all] DATABASE
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "error_file.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"

namespace {

constexpr std::size_t kMost = std::size_t{1024} * 1024;

// A new line that looks like another row, a colour, a title by OSC, C1 in UTF-8 and as a byte,
// reversed text.
constexpr std::string_view kHostile =
    "good\nbad\tcompleted\x1b[31m \x1b]0;title\x07 \xc2\x9b"
    "31m \x9b\x7f \xe2\x80\xae"
    "desrever \xe2\x81\xa6 \xe2\x80\xa8 \\n";

pawl::ActivityResult echo(pawl::ActivityContext& ctx) { return ctx.ok(ctx.input()); }

pawl::ActivityResult hopeless(pawl::ActivityContext& ctx) {
  static_cast<void>(ctx.heartbeat(kHostile.substr(0, 60)));
  return ctx.fail(kHostile);
}

pawl::ActivityResult talk(pawl::ActivityContext& ctx) {
  for (const std::string_view piece : {std::string_view("Good"), std::string_view("morn\ning")})
    if (ctx.heartbeat(piece) != pawl::Status::kOk) return ctx.fail("too long");
  static_cast<void>(std::getchar());
  return ctx.heartbeat("bye") == pawl::Status::kOk ? ctx.ok("") : ctx.fail("too long");
}

pawl::ActivityResult ask(pawl::ActivityContext& ctx) {
  if (ctx.heartbeat(ctx.completion_token().view()) != pawl::Status::kOk)
    return ctx.fail("too long");
  return ctx.complete_later();
}

pawl::Poll asking(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("ask", ""));
  return answer.ok() ? ctx.complete(answer.value()) : ctx.fail(answer.error());
}

pawl::Poll talker(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(said, ctx.schedule_activity("talk", ""));
  return ctx.complete(said.ok() ? "said" : "failed");
}

// Stores its payload in as many kinds of rows as there are.
pawl::Poll keeper(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", ctx.input()));
  if (!answer.ok()) return ctx.fail(answer.error());
  if (ctx.set_kv_value("value", answer.value()) != pawl::ErrorKind::kNone)
    return ctx.fail("the value was refused");
  const pawl::Handle message = ctx.dequeue_event("queue");
  PAWL_AWAIT(event, message);
  if (!event.ok()) return ctx.fail(event.error());
  // It answers a call, and refuses "no".
  static_cast<void>(event.value() == "no" ? ctx.refuse(message, "not that")
                                          : ctx.reply(message, event.value()));
  return ctx.complete(event.value());
}

// Has three executions, each with the payload.
pawl::Poll rounds(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", ctx.input()));
  if (!answer.ok()) return ctx.fail(answer.error());
  return ctx.execution_id() < 3 ? ctx.continue_as_new(ctx.input()) : ctx.complete("done");
}

pawl::Poll hostile(pawl::OrchestrationContext& ctx) {
  if (ctx.set_kv_value("value", kHostile) != pawl::ErrorKind::kNone ||
      ctx.set_custom_status(kHostile) != pawl::ErrorKind::kNone)
    return ctx.fail("refused");
  return ctx.complete(kHostile);
}

pawl::Poll failing(pawl::OrchestrationContext& ctx) { return ctx.fail(kHostile); }

pawl::Poll forever(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", ctx.input()));
  return ctx.continue_as_new(answer.ok() ? answer.value() : "failed");
}

// Fails once, and would be tried again only after a day.
pawl::Poll trying(pawl::OrchestrationContext& ctx) {
  pawl::ActivityOptions options;
  options.retry.max_attempts = 2;
  options.retry.backoff = pawl::Backoff::kFixed;
  options.retry.base = std::chrono::seconds(86'400);
  options.retry.cap = std::chrono::seconds(86'400);
  PAWL_AWAIT(answer, ctx.schedule_activity("hopeless", "", options));
  return ctx.complete(answer.ok() ? "" : "failed");
}

[[noreturn]] void die(const char* what, pawl::Status status, std::string_view text) {
  std::fprintf(stderr, "tool_program: %s: %s: %.*s\n", what, pawl::status_name(status),
               static_cast<int>(text.size()), text.data());
  std::exit(1);
}

void fill(pawl::Registry& registry) {
  const pawl::Status added[] = {registry.add_activity("talk", talk),
                                registry.add_orchestration("talker", talker),
                                registry.add_activity("ask", ask),
                                registry.allow_complete_later("ask"),
                                registry.add_orchestration("asking", asking),
                                registry.add_activity("echo", echo),
                                registry.add_activity("hopeless", hopeless),
                                registry.add_orchestration("keeper", keeper),
                                registry.add_orchestration("rounds", rounds),
                                registry.add_orchestration("hostile", hostile),
                                registry.add_orchestration("forever", forever),
                                registry.add_orchestration("failing", failing),
                                registry.add_orchestration("trying", trying)};
  for (const pawl::Status status : added)
    if (status != pawl::Status::kOk) die("registry", status, "");
}

struct Goal {
  pawl::Runtime* runtime;
  bool talks;
  bool asks;
  bool is_busy;
  std::uint64_t rounds;  // how many rounds a busy one makes; 0: without end
  static bool reached(void* self) noexcept {
    const auto* goal = static_cast<Goal*>(self);
    const pawl::RuntimeStats stats = goal->runtime->stats();
    if (goal->rounds > 0 && stats.activities_completed >= goal->rounds) std::raise(SIGKILL);
    if (goal->is_busy) return false;
    if (goal->asks) return stats.activities_started == 3;
    if (goal->talks) return stats.orchestrations_completed == 1;
    return stats.orchestrations_completed + stats.orchestrations_failed == 7 &&
           stats.activities_retried == 1;
  }
};

void start_all(pawl::Runtime& runtime, const std::string& payload) {
  const struct {
    const char* id;
    const char* name;
    std::string_view input;
  } starts[] = {{"a-small", "keeper", "s"}, {"b-big", "keeper", payload},
                {"c-small", "keeper", "s"}, {"d-rounds", "rounds", payload},
                {"e-small", "rounds", "s"}, {"hostile", "hostile", ""},
                {"failing", "failing", ""}, {"trying", "trying", ""}};
  for (const auto& one : starts) {
    pawl::Status status =
        runtime.start_orchestration(one.name, pawl::InstanceId(one.id), one.input);
    if (status != pawl::Status::kOk) die(one.id, status, runtime.error_text());
    if (std::string_view(one.name) == "keeper")
      status = runtime.enqueue_event(one.id, "queue", one.input);
    // Calls that wait for a tick hold only a few of the largest payloads.
    if (status == pawl::Status::kOk) status = runtime.tick(std::chrono::milliseconds(0)).status();
    if (status != pawl::Status::kOk) die(one.id, status, runtime.error_text());
  }
}

int check(int argc, char** argv) {
  pawl::Registry registry;
  if (std::string_view(argv[1]) == "check") fill(registry);
  return pawl::replay_check_main(registry, pawl::Options(), argc - 1, argv + 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]).substr(0, 5) == "check") return check(argc, argv);
  const bool is_busy = argc >= 3 && std::string_view(argv[2]) == "busy";
  if (argc != 3 && !(argc == 4 && is_busy)) return 2;
  const auto rounds = static_cast<std::uint64_t>(argc == 4 ? std::atol(argv[3]) : 0);
  const std::string payload(static_cast<std::size_t>(std::atol(argv[2])), 'x');
  pawl::Registry registry;
  fill(registry);
  pawl::ProcessOptions process_options;
  process_options.connections_max = 1;
  pawl::Options options;
  options.database_path = argv[1];
  options.limits.payload_bytes_max = kMost;
  options.limits.warm_bytes = 24 * kMost;
  options.slots.threads = 0;
  options.log = crash_test::error_file();
  const std::size_t sqlite_bytes = pawl::Process::required_memory(process_options);
  const auto for_sqlite = std::make_unique<unsigned char[]>(sqlite_bytes);
  const std::size_t bytes = pawl::Runtime::required_memory(options);
  const auto for_pawl = std::make_unique<unsigned char[]>(bytes);
  pawl::posix::SystemPort port;
  pawl::Process process;
  pawl::Runtime runtime;
  pawl::Diagnostic why;
  pawl::Status status = process.start(process_options, for_sqlite.get(), sqlite_bytes, why);
  if (status == pawl::Status::kOk)
    status = runtime.start(process, registry, options, port.port(), for_pawl.get(), bytes, why);
  if (status != pawl::Status::kOk) die("start", status, why.text());
  const bool talks = std::string_view(argv[2]) == "talk";
  const bool asks = std::string_view(argv[2]) == "ask";
  if (is_busy) {
    status = runtime.start_orchestration("forever", pawl::InstanceId("forever"), "x");
    // A copy of the database continues the instance that it already has.
    if (status != pawl::Status::kOk && status != pawl::Status::kAlreadyExists)
      die("busy", status, runtime.error_text());
  } else if (talks) {
    status = runtime.start_orchestration("talker", pawl::InstanceId("talk"), "");
    if (status != pawl::Status::kOk) die("talk", status, runtime.error_text());
  } else if (asks) {
    for (const char* id : {"asks-1", "asks-2", "asks-3"}) {
      status = runtime.start_orchestration("asking", pawl::InstanceId(id), "");
      if (status != pawl::Status::kOk) die(id, status, runtime.error_text());
    }
  } else {
    start_all(runtime, payload);
  }
  Goal goal = {&runtime, talks, asks, is_busy, rounds};
  status = runtime.run_for(std::chrono::seconds(100), Goal::reached, &goal);
  if (status != pawl::Status::kOk) die("run", status, runtime.error_text());
  if (process.memory_use().failures != 0)
    die("SQLite's memory", pawl::Status::kResourceExhausted, "something did not fit");
  status = runtime.stop(std::chrono::seconds(5));
  if (status != pawl::Status::kOk) die("stop", status, runtime.error_text());
  return 0;
}
