// Exceptions that an application throws, with real threads and a real database. Built twice: with
// exceptions, and without, where the same code reports failures as texts. Prints what differs from
// the expected; the exit status is the number of differences.
#include <cstdio>
#include <string>

#include "exceptions_plain.hpp"
#include "pawl/host.hpp"

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

namespace {

using pawl::ActivityContext;
using pawl::ActivityMode;
using pawl::ActivityResult;
using pawl::ActivityStep;
using pawl::ErrorKind;
using pawl::Host;
using pawl::OrchestrationContext;
using pawl::OrchestrationState;
using pawl::OrchestrationStatus;
using pawl::Poll;
using pawl::Status;

int failures = 0;

void expect(const std::string& is, const std::string& wanted, const char* what) {
  if (is == wanted) return;
  ++failures;
  std::printf("%s: \"%.200s\" (%zu bytes), and not \"%.200s\"\n", what, is.c_str(), is.size(),
              wanted.c_str());
}

#if defined(__cpp_exceptions)

int unwound = 0;  // number of unwound objects; used on the loop's thread
struct Witness {
  ~Witness() { ++unwound; }
};

ActivityResult throws_error(ActivityContext& ctx) {
  if (ctx.input() == "ok first") static_cast<void>(ctx.ok("this does not count"));
  throw std::runtime_error("the valve is stuck");
}
ActivityResult throws_number(ActivityContext& /*ctx*/) { throw 7; }
// Longer than an error's text may be. The limit falls inside a character.
std::string long_text() {
  std::string text = "x";
  for (int i = 0; i < 4'000; ++i)
    text += "\xC3\xA4";
  return text;
}
ActivityResult throws_long(ActivityContext& /*ctx*/) { throw std::runtime_error(long_text()); }
ActivityResult throws_deep(ActivityContext& ctx) {
  const Witness witness;
  return throws_error(ctx);
}
// Throws on its first attempt: an exception fails an attempt like any other error.
ActivityResult throws_once(ActivityContext& ctx) {
  if (ctx.retry_attempt() == 1) throw std::runtime_error("not yet");
  return ctx.ok("at last");
}

struct NoState {
  NoState() { throw std::runtime_error("no state"); }
};
ActivityStep never(ActivityContext& ctx, NoState& /*state*/) { return ctx.ok("never"); }
struct Steps {
  ~Steps() { ++unwound; }
  int count = 0;
};
ActivityStep throws_in_step(ActivityContext& ctx, Steps& steps) {
  if (++steps.count == 1) return ctx.again_after(std::chrono::milliseconds(0));
  throw std::runtime_error("the second step");
}

Poll asks(OrchestrationContext& ctx) {
  pawl::ActivityOptions options;
  options.retry.max_attempts = ctx.input() == "throws_once" ? 2 : 1;
  options.retry.base = std::chrono::milliseconds(0);
  PAWL_AWAIT(answer, ctx.schedule_activity(ctx.input(), "ok first", options));
  if (answer.ok()) return ctx.complete(answer.value());
  return ctx.complete(std::string(error_kind_name(answer.error().kind)) + ": " +
                      std::string(answer.error().text));
}

int counted = 0;
ActivityResult counts(ActivityContext& ctx) { return ctx.ok(std::to_string(++counted)); }

bool is_mended = false;
Poll mends(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("counts", ""));
  if (!is_mended) throw std::runtime_error("behind activity " + std::string(first.value()));
  PAWL_AWAIT(second, ctx.schedule_activity("counts", ""));
  return ctx.complete(std::string(first.value()) + std::string(second.value()));
}
Poll throws_at_once(OrchestrationContext& /*ctx*/) { throw 7; }
Poll throws_in_branch(OrchestrationContext& ctx) {
  const pawl::Handle branch = ctx.open_branch([](OrchestrationContext& own) -> Poll {
    PAWL_AWAIT_DONE(own.schedule_activity("counts", ""));
    throw std::runtime_error(long_text());
  });
  PAWL_AWAIT_DONE(branch);
  return ctx.complete("never");
}
// The mistake is the await that was stepped over; the exception only follows from it.
Poll throws_when_pending(OrchestrationContext& ctx) {
  const pawl::Outcome outcome = ctx.schedule_activity("counts", "").await();
  if (outcome.is_pending()) throw std::runtime_error("nothing yet");
  return ctx.complete("");
}

void register_throwing(Host& host) {
  host.add_activity("inline error", throws_error)
      .add_activity("inline number", throws_number)
      .add_activity("inline long", throws_long)
      .add_activity("inline deep", throws_deep)
      .add_activity("throws_once", throws_once)
      .add_activity("pool error", throws_error, ActivityMode::kThreaded)
      .add_activity("pool number", throws_number, ActivityMode::kThreaded)
      .add_activity("pool long", throws_long, ActivityMode::kThreaded)
      .add_cooperative("steps none", never)
      .add_cooperative("steps second", throws_in_step)
      .add_activity("counts", counts)
      .add_orchestration("asks", asks)
      .add_orchestration("mends", mends)
      .add_orchestration("throws_at_once", throws_at_once)
      .add_orchestration("throws_in_branch", throws_in_branch)
      .add_orchestration("throws_when_pending", throws_when_pending);
}

#endif  // __cpp_exceptions

// "plain" is a function of the other unit with the same type as those here: it is called the way
// its own unit is compiled.
Poll asks_plain(OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("plain", "ok"));
  PAWL_AWAIT(refused, ctx.schedule_activity("plain", "fail"));
  return ctx.complete(std::string(answer.value()) + "|" + std::string(refused.error().text));
}

OrchestrationStatus wait_for(Host& host, const char* id, std::string* text) {
  struct Wanted {
    Host* host;
    const char* id;
    OrchestrationStatus status;
  } wanted = {&host, id, {}};
  const Status waited = host.runtime().run_for(
      std::chrono::seconds(20),
      [](void* user) noexcept {
        Wanted& of = *static_cast<Wanted*>(user);
        return of.host->runtime().get_status(of.id, &of.status) == Status::kOk &&
               of.status.state != OrchestrationState::kRunning;
      },
      &wanted);
  if (waited != Status::kOk) expect(status_name(waited), "ok", id);
  *text = wanted.status.output;
  return wanted.status;
}

void expect_answer(Host& host, const char* id, const std::string& wanted) {
  std::string text;
  const OrchestrationStatus status = wait_for(host, id, &text);
  expect(orchestration_state_name(status.state), "completed", id);
  expect(text, wanted, id);
}

#if defined(__cpp_exceptions)

void expect_stopped(Host& host, const char* id, ErrorKind kind, const std::string& part) {
  std::string text;
  const OrchestrationStatus status = wait_for(host, id, &text);
  expect(orchestration_state_name(status.state), "stopped", id);
  expect(error_kind_name(status.error), error_kind_name(kind), id);
  if (text.find(part) == std::string::npos || text.size() > 400) expect(text, part, id);
}

void ask(Host& host, const char* activity, const std::string& wanted) {
  host.start_once("asks", pawl::InstanceId(activity), activity);
  expect_answer(host, activity, wanted);
}

void activities_fail(Host& host) {
  const std::string said = "application: an exception left the activity: ";
  const std::string cut = (said + long_text()).substr(13, 1024);  // the kind is cut off here
  ask(host, "inline error", said + "the valve is stuck");
  ask(host, "inline number", said + "not a std::exception");
  ask(host, "inline long", "application: " + cut.substr(0, cut.back() == '\xC3' ? 1023 : 1024));
  ask(host, "pool error", said + "the valve is stuck");
  ask(host, "pool number", said + "not a std::exception");
  ask(host, "pool long", "application: " + cut.substr(0, cut.back() == '\xC3' ? 1023 : 1024));
  ask(host, "throws_once", "at last");
  ask(host, "inline deep", said + "the valve is stuck");
  expect(std::to_string(unwound), "1", "locals of an activity that throws");
  ask(host, "steps none", said + "no state");
  ask(host, "steps second", said + "the second step");
  expect(std::to_string(unwound), "2", "the state of a cooperative activity that throws");
}

void orchestrations_stop(Host& host) {
  host.start_once("mends", pawl::InstanceId("m"), "")
      .start_once("throws_at_once", pawl::InstanceId("o"), "");
  host.start_once("throws_in_branch", pawl::InstanceId("b"), "")
      .start_once("throws_when_pending", pawl::InstanceId("p"), "");
  expect_stopped(host, "o", ErrorKind::kException,
                 "branch 0: an exception left the code: not a std::exception");
  expect_stopped(host, "m", ErrorKind::kException,
                 "branch 0: an exception left the code: behind activity ");
  expect_stopped(host, "b", ErrorKind::kException, "branch 1: an exception left the code: x\xC3");
  expect_stopped(host, "p", ErrorKind::kAwaitSteppedOver, "went on after a pending await");
}

void run(bool mended) {
  is_mended = mended;
  const int before = counted;
  Host host("exceptions.db");
  host.add_orchestration("asks_plain", asks_plain);
  register_throwing(host);
  register_plain(host);
  host.start_once("asks_plain", pawl::InstanceId("plain"), "");
  expect_answer(host, "plain", "ok|in words");
  if (!mended) {
    activities_fail(host);
    orchestrations_stop(host);
  } else {
    // The orchestration goes on where it was stopped, with the result that it had then.
    std::string text;
    const OrchestrationStatus status = wait_for(host, "m", &text);
    expect(orchestration_state_name(status.state), "completed", "mended");
    expect(std::to_string(counted - before), "1", "activities that mended code runs");
  }
  expect(status_name(host.stop()), "ok", "stop");
  expect(std::string(host.error_text()), "", "the host");
}

#endif

}  // namespace

int main() {
#if defined(__cpp_exceptions)
  run(false);
  run(true);
#else
  Host host("plain.db");
  host.add_orchestration("asks_plain", asks_plain);
  register_plain(host);
  host.start_once("asks_plain", pawl::InstanceId("plain"), "");
  expect_answer(host, "plain", "ok|in words");
#endif
  if (failures == 0) std::puts("passed");
  return failures;
}
