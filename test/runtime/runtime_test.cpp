// Goal: the loop works through the public API, with one path for each test. Method: on the
// simulated machine, where the tests move time by hand.
#include <gtest/gtest.h>

#include <string>

#include "world.hpp"

namespace pawl {
namespace {

using testing::Gateway;
using testing::GatewayTest;
using testing::kPath;
using testing::TestClient;
using testing::Worker;

// ---- orchestrations and activities that the tests share ----
int g_calls = 0;
std::string g_last_input;

ActivityResult echo(ActivityContext& ctx) {
  ++g_calls;
  g_last_input = std::string(ctx.input());
  return ctx.ok(ctx.input());
}

ActivityResult refuse(ActivityContext& ctx) { return ctx.fail("no such valve"); }

ActivityResult too_long(ActivityContext& ctx) {
  static const std::string kLong(70'000, 'x');
  return ctx.ok(kLong);
}

Poll hello(OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", ctx.input()));
  if (!answer.ok()) return ctx.fail(answer.error());
  return ctx.complete(answer.value());
}

Poll chain(OrchestrationContext& ctx) {
  std::int64_t sum = 0;
  for (int i = 0; i < 20; ++i) {
    PAWL_AWAIT(answer, ctx.schedule_activity("echo", std::to_string(i)));
    if (!answer.ok()) return ctx.fail(answer.error());
    sum += std::stoll(std::string(answer.value()));
  }
  return ctx.complete(std::to_string(sum));
}

Poll sleeper(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(20)));
  return ctx.complete("slept");
}

Poll at_utc(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer_at(2'208'988'800'000));  // 2040-01-01
  return ctx.complete("2040");
}

Poll rounds(OrchestrationContext& ctx) {
  const int round = std::stoi(std::string(ctx.input()));
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", ctx.input()));
  if (!answer.ok()) return ctx.fail(answer.error());
  if (round == 5) return ctx.complete("after " + std::to_string(ctx.execution_id()));
  return ctx.continue_as_new(std::to_string(round + 1));
}

Poll unknown_activity(OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("nobody_has_it", "{}"));
  return answer.ok() ? ctx.complete("done") : ctx.fail(answer.error());
}

Poll failing(OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("refuse", "{}"));
  return answer.ok() ? ctx.complete("done") : ctx.fail(answer.error());
}

Poll overflowing(OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("too_long", "{}"));
  return answer.ok() ? ctx.complete("done") : ctx.complete(error_kind_name(answer.error().kind));
}

Poll cancellable(OrchestrationContext& ctx) {
  PAWL_AWAIT(fired, ctx.schedule_timer(std::chrono::hours(24)));
  if (fired.cancelled()) {
    const CleanUpScope scope = ctx.clean_up();
    PAWL_AWAIT(undone, ctx.schedule_activity("echo", "undo"));
    return ctx.complete(undone.ok() ? "compensated" : "not compensated");
  }
  return ctx.complete("fired");
}

// Ignores a cancel request; no worker takes its activity.
Poll stubborn(OrchestrationContext& ctx) {
  const Handle never = ctx.schedule_activity("nobody_has_it", "{}");
  const CleanUpScope scope = ctx.clean_up();
  for (int i = 0; i < 100; ++i)
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(7)));
  PAWL_AWAIT_DONE(never);
  return ctx.complete("never");
}

// Mistakes a cancelled await for a failure, and tries again.
Poll tries_again(OrchestrationContext& ctx) {
  while (true) {
    PAWL_AWAIT(said, ctx.schedule_activity("echo", "x"));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(100)));
    if (!said.ok()) continue;
  }
}

// Runs one round in each execution, whatever its outcome.
Poll goes_round(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", "x"));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(100)));
  return ctx.continue_as_new("");
}

// The same, in a clean-up scope that takes some time.
Poll goes_round_slowly(OrchestrationContext& ctx) {
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(700)));
  return ctx.continue_as_new("");
}

// The first execution is asked to stop and continues as new; the second undoes the work.
Poll undoes_in_the_next(OrchestrationContext& ctx) {
  if (!ctx.cancel_requested()) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
    return ctx.continue_as_new("");
  }
  const std::string reason(ctx.cancel_reason().value_or("none"));
  PAWL_AWAIT(outside, ctx.schedule_activity("echo", "never"));
  if (!outside.cancelled()) return ctx.fail("it was not handed on");
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT(undone, ctx.schedule_activity("echo", reason));
  return ctx.complete(undone.value());
}

Poll ids(OrchestrationContext& ctx) {
  const Guid first = ctx.new_guid();
  const Guid second = ctx.new_guid();
  const std::int64_t utc = ctx.utc_now_ms();
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", first.view()));
  if (answer.value() != first.view() || first.view() == second.view()) return ctx.fail("guid");
  return ctx.complete(std::to_string(utc));
}

Poll says_a_guid(OrchestrationContext& ctx) {
  const Guid guid = ctx.new_guid();
  return ctx.complete(guid.view());
}

int g_static_counter = 0;
Poll impure(OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", std::to_string(++g_static_counter)));
  return ctx.complete(answer.value());
}

Poll endless_history(OrchestrationContext& ctx) {
  for (int i = 0; i < 100'000; ++i) {
    PAWL_AWAIT(answer, ctx.schedule_activity("echo", "x"));
  }
  return ctx.complete("never");
}

// The first two executions continue as new when that is due. The third only looks at its length,
// and never does.
Poll watched_history(OrchestrationContext& ctx) {
  while (ctx.execution_id() < 3 ? !ctx.is_continue_as_new_due() : ctx.history_length() > 0) {
    PAWL_AWAIT(answer, ctx.schedule_activity("echo", "x"));
  }
  return ctx.continue_as_new("");
}

Poll traced(OrchestrationContext& ctx) {
  ctx.trace(LogLevel::kInfo, "before");
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", "x"));
  ctx.trace(LogLevel::kInfo, "after");
  PAWL_AWAIT(again, ctx.schedule_activity("echo", "y"));
  return ctx.complete("traced");
}

// No worker runs the activity, so the timer wins.
Poll race(OrchestrationContext& ctx) {
  const Handle slow = ctx.schedule_activity("nobody_has_it", "{}");
  const Handle timer = ctx.schedule_timer(std::chrono::seconds(5));
  PAWL_AWAIT(first, ctx.select(slow, timer));
  if (first.index() != 1) return ctx.fail("the activity won");
  const Handle late = ctx.schedule_timer(std::chrono::hours(100));
  const Handle quick = ctx.schedule_activity("echo", "quick");
  PAWL_AWAIT(second, ctx.select(late, quick));
  return ctx.complete(second.value());
}

Poll fan(OrchestrationContext& ctx) {
  Handle all[50];
  for (int i = 0; i < 50; ++i)
    all[i] = ctx.schedule_activity("echo", std::to_string(i));
  PAWL_AWAIT_DONE(ctx.join_all(all, 50));
  int sum = 0;
  for (const Handle& one : all) {
    PAWL_AWAIT(value, one);
    sum += std::stoi(std::string(value.value()));
  }
  return ctx.complete(std::to_string(sum));
}

Poll two_branches(OrchestrationContext& ctx) {
  const auto steps = [](OrchestrationContext& branch) -> Poll {
    PAWL_AWAIT(one, branch.schedule_activity("echo", "1"));
    PAWL_AWAIT_DONE(branch.schedule_timer(std::chrono::seconds(1)));
    PAWL_AWAIT(two, branch.schedule_activity("echo", "2"));
    return branch.complete(two.value());
  };
  const Handle a = ctx.open_branch(steps);
  const Handle b = ctx.open_branch(steps);
  PAWL_AWAIT_DONE(ctx.join(a, b));
  PAWL_AWAIT(result, b);
  return ctx.complete(result.value());
}

class RuntimeTest : public GatewayTest {
 protected:
  RuntimeTest() {
    g_calls = 0;
    add("hello", hello);
    add("chain", chain);
    add("sleeper", sleeper);
    add("at_utc", at_utc);
    add("rounds", rounds);
    add("unknown_activity", unknown_activity);
    add("failing", failing);
    add("overflowing", overflowing);
    add("cancellable", cancellable);
    add("stubborn", stubborn);
    add("tries_again", tries_again);
    add("goes_round", goes_round);
    add("goes_round_slowly", goes_round_slowly);
    add("undoes_in_the_next", undoes_in_the_next);
    add("ids", ids);
    add("says_a_guid", says_a_guid);
    add("impure", impure);
    add("endless_history", endless_history);
    add("watched_history", watched_history);
    add("traced", traced);
    add("race", race);
    add("fan", fan);
    add("two_branches", two_branches);
    add("echo", echo);
    add("refuse", refuse);
    add("too_long", too_long);
  }
};

TEST_F(RuntimeTest, hello_completes_with_its_result) {
  Worker& worker = start_worker();
  start("a", "hello", "input");
  EXPECT_EQ(end_of("a"), "completed input");
  EXPECT_EQ(g_calls, 1);
  EXPECT_EQ(worker.runtime->stats().orchestrations_completed, 1U);
}

// A message is committed between the last look of the loop and its sleep: the commit ends the
// sleep, and no time passes.
TEST_F(RuntimeTest, work_of_another_process_ends_the_sleep) {
  Worker& worker = start_worker();
  pass(60'000);
  struct Sender {
    Worker& worker;
    TestClient& client;
    Status sent = Status::kNotFound;
    static bool after_tick(void* self) noexcept {
      auto* sender = static_cast<Sender*>(self);
      if (sender->sent != Status::kOk)
        sender->sent = sender->client->start_orchestration("hello", InstanceId("a"), "x");
      return sender->worker.runtime->stats().orchestrations_completed == 1;
    }
  } sender{worker, client()};
  const std::int64_t before = machine.boot_ms();
  const std::uint64_t wakeups = worker.runtime->stats().wakeups;
  ASSERT_EQ(worker.runtime->run_for(std::chrono::hours(1), Sender::after_tick, &sender),
            Status::kOk);
  EXPECT_EQ(outcome_of("a"), "completed x");
  EXPECT_GT(worker.runtime->stats().wakeups, wakeups);
  EXPECT_EQ(machine.boot_ms(), before);
}

TEST_F(RuntimeTest, threaded_activity_completes) {
  Registry& threaded = another_registry();
  ASSERT_EQ(threaded.add_orchestration("chain", chain), Status::kOk);
  ASSERT_EQ(threaded.add_activity("echo", echo, ActivityMode::kThreaded), Status::kOk);
  start_worker(threaded, options);
  start("a", "chain");
  EXPECT_EQ(end_of("a"), "completed 190");
}

TEST_F(RuntimeTest, piggybacked_start_answers_after_its_commit) {
  Worker& worker = start_worker();
  static int answered;
  static Status last;
  answered = 0;
  const Answer answer = [](void*, Status status) noexcept {
    ++answered;
    last = status;
  };
  ASSERT_EQ(worker.runtime->start_orchestration("hello", InstanceId("a"), "x", {}, answer),
            Status::kOk);
  EXPECT_EQ(answered, 0);
  ASSERT_TRUE(drive_until([&] { return answered == 1; }));
  EXPECT_EQ(last, Status::kOk);
  ASSERT_EQ(worker.runtime->start_orchestration("hello", InstanceId("a"), "x", {}, answer),
            Status::kOk);
  ASSERT_TRUE(drive_until([&] { return answered == 2; }));
  EXPECT_EQ(last, Status::kAlreadyExists);
}

TEST_F(RuntimeTest, chain_of_twenty_reads_history_once) {
  Worker& worker = start_worker();
  start("a", "chain");
  EXPECT_EQ(end_of("a"), "completed 190");
  EXPECT_LE(worker.runtime->stats().cold_loads, 1U);
}

TEST_F(RuntimeTest, timer_fires_after_its_time_and_not_before) {
  start_worker();
  start("a", "sleeper");
  const std::int64_t start = machine.boot_ms();
  ASSERT_FALSE(ends("a", 19 * 60'000));
  ASSERT_TRUE(ends("a", 2 * 60'000));
  EXPECT_GE(machine.boot_ms() - start, 20 * 60'000);
  EXPECT_LE(machine.boot_ms() - start, 20 * 60'000 + 10);
}

TEST_F(RuntimeTest, utc_timer_fires_in_2040) {
  machine.set_wall(2'208'988'800'000 - 3'600'000);
  start_worker();
  start("a", "at_utc");
  ASSERT_FALSE(ends("a", 3'590'000));
  ASSERT_TRUE(ends("a", 20'000));
  EXPECT_GE(machine.wall_ms(), 2'208'988'800'000);
}

TEST_F(RuntimeTest, utc_timer_waits_without_a_trusted_clock_and_fires_when_it_comes) {
  machine.set_synced(false);
  machine.set_wall(0);
  Worker& worker = start_worker();
  start("a", "at_utc");
  ASSERT_FALSE(ends("a", 3'600'000));
  EXPECT_EQ(worker.lines.count("timer_waits_for_clock instance=a execution=1 event=2 "
                               "utc_ms=2208988800000"),
            1U)
      << worker.lines.all();
  // Another process sees the waiting timer, too.
  const auto waiting = [&](std::string_view id) {
    InstanceInfo info;
    EXPECT_EQ(client()->get_instance_info(id, &info), Status::kOk);
    return info.timers_without_clock;
  };
  EXPECT_EQ(waiting("a"), 1);
  start("nap", "sleeper");
  ASSERT_FALSE(ends("nap", 1'000));
  EXPECT_EQ(waiting("nap"), 0) << "a timer that needs no clock";
  machine.set_wall(2'208'988'800'000 + 5);
  machine.set_synced(true);
  ASSERT_TRUE(ends("a", 600'000)) << worker.lines.all();
  start("b", "at_utc");
  ASSERT_TRUE(ends("b", 600'000));
  EXPECT_EQ(worker.lines.count("timer_waits_for_clock"), 1U) << "the clock is trusted";
  EXPECT_EQ(waiting("a"), 0);
}

TEST_F(RuntimeTest, a_clock_that_another_confirmed_lets_it_sleep) {
  start("a", "sleeper");
  Worker& worker = start_worker();
  EXPECT_TRUE(ends("a", 2 * 20 * 60'000));
  // The renewals and sweeps of 20 minutes, each followed by the looks after a commit.
  EXPECT_LT(worker.runtime->stats().ticks, 1'000U);
}

TEST_F(RuntimeTest, continue_as_new_goes_round) {
  start_worker();
  start("a", "rounds", "0");
  EXPECT_EQ(end_of("a"), "completed after 6");
  EXPECT_EQ(g_calls, 6);
}

TEST_F(RuntimeTest, activity_failure_is_an_error_of_its_kind) {
  start_worker();
  start("a", "failing");
  start("b", "overflowing");
  EXPECT_EQ(end_of("a"), "failed application no such valve");
  EXPECT_EQ(end_of("b"), "completed limit");
}

// Rules: R8.7.
TEST_F(RuntimeTest, code_that_ignores_a_cancel_request_is_ended_after_its_grace) {
  testing::expect_errors("activity_unregistered");
  options.timing.cancel_grace = std::chrono::seconds(45);
  start_worker();
  start("a", "stubborn");
  ASSERT_FALSE(ends("a", 10'000));
  cancel_instance("a", "operator");
  const std::int64_t begin = machine.boot_ms();
  EXPECT_EQ(end_of("a", 100'000),
            "failed cancelled the code did not end within 45000 ms (timing.cancel_grace) of the "
            "cancel request");
  EXPECT_EQ(machine.boot_ms() - begin, 45'000);
  EXPECT_EQ(client()->cancel_instance("a", "again"), Status::kStale);
}

// Such code once outlived its grace of 2 s: 8 s after the request was acknowledged, the instance
// was in execution 80.
// Rules: R8.7.
TEST_F(RuntimeTest, the_grace_counts_from_the_request_over_all_executions) {
  for (const char* code : {"goes_round", "goes_round_slowly"}) {
    SCOPED_TRACE(code);
    options.timing.cancel_grace = std::chrono::seconds(2);
    Gateway own;
    own.start_worker(registry, options);
    own.start("a", code);
    own.drive_until([&] { return own.client().status("a").execution_id >= 3; }, 10'000);
    own.cancel_instance("a", "operator");
    const std::int64_t begin = own.machine.boot_ms();
    ASSERT_TRUE(own.ends("a"));
    EXPECT_EQ(own.machine.boot_ms() - begin, 2'000);
    EXPECT_EQ(own.client().status("a").error, ErrorKind::kCancelled);
    EXPECT_LE(own.client().status("a").execution_id, 110) << "and it wears out no card meanwhile";
  }
}

// Rules: R8.7.
TEST_F(RuntimeTest, the_grace_goes_on_over_executions_restarts_and_reboots) {
  options.timing.cancel_grace = std::chrono::seconds(20);
  start_worker();
  start("a", "goes_round_slowly");
  cancel_instance("a", "operator");
  const std::int64_t begin = machine.boot_ms();
  ASSERT_FALSE(ends("a", 5'000));
  Metrics metrics;
  ASSERT_EQ(client()->get_metrics(&metrics), Status::kOk);
  EXPECT_LE(metrics.timers_waiting, 2) << "its grace, and what it sleeps on";
  const Worker& second = restart();
  ASSERT_TRUE(ends("a", 100'000)) << second.lines.all();
  EXPECT_EQ(machine.boot_ms() - begin, 20'000);
  EXPECT_EQ(client().status("a").error, ErrorKind::kCancelled);
  EXPECT_GT(client().status("a").execution_id, 20);
}

// Rules: R8.7.
TEST_F(RuntimeTest, a_cancel_request_goes_on_to_the_next_execution) {
  start_worker();
  start("a", "undoes_in_the_next");
  ASSERT_FALSE(ends("a", 1'000));
  cancel_instance("a", "frost");
  cancel_instance("a", "another");
  EXPECT_EQ(end_of("a"), "completed frost");
  EXPECT_EQ(client().status("a").execution_id, 2);
}

// Rules: R8.6.
TEST_F(RuntimeTest, a_loop_that_takes_cancellation_for_a_failure_stands_still) {
  Worker& worker = start_worker();
  start("a", "tries_again");
  ASSERT_FALSE(ends("a", 1'000));
  cancel_instance("a", "operator");
  ASSERT_FALSE(ends("a", 1'000));
  const std::uint64_t turns = worker.runtime->stats().turns;
  ASSERT_FALSE(ends("a", 50'000));
  EXPECT_EQ(worker.runtime->stats().turns, turns) << "nothing spins";
  ASSERT_TRUE(ends("a", 60'000));
  EXPECT_EQ(client().status("a").error, ErrorKind::kCancelled) << "and not kLimit";
  EXPECT_EQ(worker.lines.count("cancel_ignored"), 1U) << worker.lines.all();
  EXPECT_NE(worker.lines.all().find("instance=a"), std::string::npos) << worker.lines.all();
}

// Rules: R2.7.
TEST_F(RuntimeTest, a_long_history_is_logged_once) {
  options.limits.history_events_max = 40;
  Worker& worker = start_worker();
  start("a", "endless_history");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(client().status("a").error, ErrorKind::kLimit);
  EXPECT_EQ(worker.lines.count("history_is_long"), 1U) << worker.lines.all();
  EXPECT_NE(worker.lines.all().find("history_is_long instance=a execution=1 events=30 "
                                    "history_events_max=40"),
            std::string::npos)
      << worker.lines.all();
}

// Code that continues as new in time causes no line in the log. Code that asks whether it should
// and does not continue causes one (R2.7).
TEST_F(RuntimeTest, a_long_history_that_its_code_watches_is_logged_later) {
  options.limits.history_events_max = 40;
  Worker& worker = start_worker();
  start("a", "watched_history");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(client().status("a").error, ErrorKind::kLimit);
  EXPECT_EQ(client().status("a").execution_id, 3);
  EXPECT_EQ(worker.lines.count("history_is_long"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("history_is_long instance=a execution=3 events=3"), 1U)
      << worker.lines.all();
  EXPECT_EQ(worker.lines.count("history_is_long instance=a execution=3 events=30"), 0U);
}

TEST_F(RuntimeTest, the_grace_of_a_cancel_request_outlives_its_process) {
  testing::expect_errors("activity_unregistered");
  start_worker();
  start("a", "stubborn");
  cancel_instance("a", "operator");
  const std::int64_t begin = machine.boot_ms();
  ASSERT_FALSE(ends("a", 30'000));
  const Worker& second = restart();
  ASSERT_TRUE(ends("a", 100'000)) << second.lines.all();
  EXPECT_EQ(machine.boot_ms() - begin, 60'000);
  EXPECT_EQ(client().status("a").error, ErrorKind::kCancelled);
}

TEST_F(RuntimeTest, without_grace_only_the_code_ends_what_was_cancelled) {
  testing::expect_errors("activity_unregistered");
  options.timing.cancel_grace = std::chrono::milliseconds(0);
  start_worker();
  start("a", "stubborn");
  cancel_instance("a", "operator");
  EXPECT_FALSE(ends("a", 600'000));
}

TEST_F(RuntimeTest, cancel_is_seen_by_the_code_which_compensates) {
  start_worker();
  start("a", "cancellable");
  ASSERT_FALSE(ends("a", 1'000));
  cancel_instance("a", "operator");
  EXPECT_EQ(end_of("a"), "completed compensated");
  EXPECT_EQ(client()->cancel_instance("a", "again"), Status::kStale);
  EXPECT_EQ(client()->cancel_instance("nobody", "again"), Status::kNotFound);
}

// Two turns with the same code, in one commit and at one moment: each has random bytes of its own.
TEST_F(RuntimeTest, guids_of_one_moment_differ) {
  start_worker();
  for (const char* id : {"a", "b"})
    start(id, "says_a_guid");
  ASSERT_TRUE(ends("a"));
  ASSERT_TRUE(ends("b"));
  const std::string first(client().status("a").output);
  EXPECT_EQ(first.size(), 36U);
  EXPECT_NE(first, client().status("b").output);
}

TEST_F(RuntimeTest, guids_and_utc_are_recorded_in_the_turn) {
  start_worker();
  const std::int64_t wall = machine.wall_ms();
  start("a", "ids");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(client().status("a").state, OrchestrationState::kCompleted)
      << client().status("a").output;
  EXPECT_GE(std::stoll(std::string(client().status("a").output)), wall);
  EXPECT_EQ(g_calls, 1);
}

TEST_F(RuntimeTest, impure_code_stops_with_nondeterminism_and_nothing_is_lost) {
  testing::expect_errors("instance_stopped");
  start_worker();
  start("a", "impure");
  start("b", "hello", "other");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(client().status("a").state, OrchestrationState::kStopped);
  EXPECT_EQ(client().status("a").error, ErrorKind::kNondeterminism);
  EXPECT_NE(client().status("a").output.find("echo"), std::string_view::npos)
      << client().status("a").output;
  EXPECT_EQ(end_of("b"), "completed other");
}

TEST_F(RuntimeTest, stopped_instance_goes_on_when_its_code_fits_again) {
  testing::expect_errors("instance_stopped");
  start_worker();
  start("a", "impure");
  ASSERT_TRUE(ends("a"));
  ASSERT_EQ(client().status("a").state, OrchestrationState::kStopped);
  workers.clear();
  Registry& fixed = another_registry();
  ASSERT_EQ(fixed.add_orchestration("impure", hello), Status::kOk);
  ASSERT_EQ(fixed.add_activity("echo", echo), Status::kOk);
  Worker& worker = start_worker(fixed, options);
  ASSERT_TRUE(ends("a")) << worker.lines.all();
  EXPECT_EQ(client().status("a").state, OrchestrationState::kCompleted);
}

TEST_F(RuntimeTest, history_at_its_limit_fails_with_limit) {
  options.limits.history_events_max = 64;
  start_worker();
  start("a", "endless_history");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(client().status("a").state, OrchestrationState::kFailed);
  EXPECT_EQ(client().status("a").error, ErrorKind::kLimit) << client().status("a").output;
}

TEST_F(RuntimeTest, unknown_names_are_errors_that_delay_no_other) {
  testing::expect_errors("activity_unregistered");
  testing::expect_errors("orchestration_unregistered");
  Worker& worker = start_worker();
  start("a", "no_such_orchestration");
  start("b", "unknown_activity");
  start("c", "hello", "fine");
  ASSERT_TRUE(ends("c", 1'000)) << worker.lines.all();
  // The runtime leaves it to other workers for home_grace_ms, and then marks it as unregistered.
  pass(3'000);
  EXPECT_EQ(client().status("a").state, OrchestrationState::kRunning);
  EXPECT_EQ(client().status("a").error, ErrorKind::kUnregistered);
  EXPECT_NE(client().status("a").output.find("no_such_orchestration"), std::string_view::npos);
  EXPECT_GE(worker.lines.count("activity_unregistered"), 1U) << worker.lines.all();
  EXPECT_GE(worker.runtime->stats().unregistered, 2U);
}

TEST_F(RuntimeTest, traces_leave_once_whatever_is_replayed) {
  options.limits.warm_instances = 64;
  Worker& worker = start_worker();
  start("a", "traced");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(worker.lines.count("text=before"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("text=after"), 1U);
}

TEST_F(RuntimeTest, select_losers_leave_nothing_behind) {
  testing::expect_errors("activity_unregistered");
  Worker& worker = start_worker();
  start("a", "race");
  EXPECT_EQ(end_of("a"), "completed quick");
  // Neither the activity that lost nor the timer that lost wakes a worker again.
  const std::uint64_t turns = worker.runtime->stats().turns;
  const std::uint64_t unregistered = worker.runtime->stats().unregistered;
  pass(200 * 3'600'000LL / 10);
  EXPECT_EQ(worker.runtime->stats().turns, turns);
  EXPECT_EQ(worker.runtime->stats().unregistered, unregistered);
}

TEST_F(RuntimeTest, joins_and_branches_run_side_by_side) {
  start_worker();
  start("a", "fan");
  start("b", "two_branches");
  EXPECT_EQ(end_of("a"), "completed 1225");
  const std::int64_t start = machine.boot_ms();
  EXPECT_EQ(end_of("b"), "completed 2");
  EXPECT_LT(machine.boot_ms() - start, 1'900);  // both waited at the same time
}

TEST_F(RuntimeTest, every_commit_killed_and_restarted_still_ends_right) {
  // A worker dies after each tick in turn; the next one continues the acknowledged work.
  start("a", "chain");
  start("b", "rounds", "0");
  bool done = false;
  for (int life = 0; life < 300 && !done; ++life) {
    const Worker& worker = restart();
    for (int i = 0; i <= life % 3; ++i)
      static_cast<void>(worker.runtime->tick(std::chrono::milliseconds::max()));
    done = !is_running("a") && !is_running("b");
  }
  EXPECT_EQ(outcome_of("a"), "completed 190");
  EXPECT_EQ(outcome_of("b"), "completed after 6");
}

// A timer fires when it is due, whatever else its tick does.
TEST_F(RuntimeTest, timer_that_is_due_with_a_call_is_not_late) {
  Worker& worker = start_worker();
  pass(7'000);  // away from the renewals
  start("a", "sleeper");
  const std::int64_t due = machine.wall_ms() + 20 * 60'000;
  pass(20 * 60'000 - 10);
  machine.advance(due + 5 - machine.wall_ms());
  ASSERT_EQ(worker.runtime->cancel_instance("nobody", "r"), Status::kOk);
  ASSERT_EQ(worker.runtime->tick(std::chrono::milliseconds(100)).status(), Status::kOk);
  EXPECT_EQ(client().status("a").state, OrchestrationState::kCompleted);
}

TEST_F(RuntimeTest, two_runtimes_share_one_file) {
  Worker& first = start_worker();
  Worker& second = start_worker();
  for (int i = 0; i < 40; ++i)
    start("i" + std::to_string(i), "chain");
  ASSERT_TRUE(drive_until([&] {
    return first.runtime->stats().orchestrations_completed +
               second.runtime->stats().orchestrations_completed ==
           40;
  }));
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(client().status("i" + std::to_string(i)).output, "190");
}

// Its renewals, however many, are no loop that gets nothing done.
TEST_F(RuntimeTest, leases_that_are_renewed_all_the_time_are_no_trouble) {
  options.leases.worker_lock_timeout = std::chrono::milliseconds(1'000);
  options.leases.worker_lock_renewal_buffer = std::chrono::milliseconds(999);
  start_worker();
  pass(5'000);
}

TEST_F(RuntimeTest, same_node_id_twice_is_refused_with_the_pid) {
  options.worker_node_id = "gateway-1";
  Worker second(machine, registry, options);
  Worker& first = start_worker();
  EXPECT_EQ(second.start(), Status::kNodeIdInUse);
  const std::string pid = std::to_string(first.node.port().threads->process_id());
  EXPECT_NE(std::string(second.diagnostic.text()).find(pid), std::string::npos)
      << second.diagnostic.text();
  restart();
}

TEST_F(RuntimeTest, a_disk_in_trouble_loses_nothing) {
  testing::expect_errors("disk_is_full");
  testing::expect_errors("reserve_not_released");
  testing::expect_errors("tick_rolled_back", 7);
  Worker& worker = start_worker();
  start("a", "chain");
  for (const Status trouble : {Status::kFull, Status::kIo}) {
    for (int i = 0; i < 3; ++i)
      static_cast<void>(worker.runtime->tick(std::chrono::milliseconds::max()));
    machine.fail_write(1, trouble, true);
    ASSERT_FALSE(ends("a", 5'000));
    machine.fail_write(0, Status::kOk, false);
  }
  EXPECT_EQ(end_of("a"), "completed 190");
  EXPECT_GE(worker.runtime->stats().failed_ticks, 2U);
}

TEST_F(RuntimeTest, waiting_on_the_loops_own_thread_would_block) {
  Worker& worker = start_worker();
  testing::Block memory(Client::required_memory(ClientOptions()));
  Client client;
  ClientOptions of_client;
  of_client.database_path = kPath;
  Diagnostic diagnostic;
  // The client is in the process of the Runtime: it has the same node.
  ASSERT_EQ(client.open(testing::shared_process(), of_client, worker.node.port(), memory.data(),
                        memory.bytes(), diagnostic),
            Status::kOk)
      << diagnostic.text();
  ASSERT_EQ(client.start_orchestration("hello", InstanceId("a"), "x"), Status::kOk);
  OrchestrationStatus status;
  EXPECT_EQ(client.wait_for_orchestration("a", std::chrono::seconds(1), &status),
            Status::kWouldBlock);
}

TEST_F(RuntimeTest, wrong_options_name_both_values) {
  options.sessions.session_idle_timeout = std::chrono::seconds(20);
  options.leases.worker_lock_timeout = std::chrono::seconds(60);
  testing::Block memory(1 << 24);
  sim::Node node(machine);
  Runtime runtime;
  Diagnostic diagnostic;
  EXPECT_EQ(runtime.start(testing::shared_process(), registry, options, node.port(), memory.data(),
                          memory.bytes(), diagnostic),
            Status::kInvalidOptions);
  EXPECT_NE(std::string(diagnostic.text()).find("20000"), std::string::npos) << diagnostic.text();
  EXPECT_NE(std::string(diagnostic.text()).find("55000"), std::string::npos) << diagnostic.text();
}

TEST_F(RuntimeTest, too_little_memory_names_both_numbers) {
  testing::Block memory(100'000);
  sim::Node node(machine);
  Runtime runtime;
  Diagnostic diagnostic;
  EXPECT_EQ(runtime.start(testing::shared_process(), registry, options, node.port(), memory.data(),
                          memory.bytes(), diagnostic),
            Status::kResourceExhausted);
  EXPECT_NE(std::string(diagnostic.text()).find("100000"), std::string::npos) << diagnostic.text();
  EXPECT_NE(std::string(diagnostic.text()).find(std::to_string(Runtime::required_memory(options))),
            std::string::npos);
}

}  // namespace
}  // namespace pawl
