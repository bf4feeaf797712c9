// Goal: an activity sees its context, and learns when no caller wants its result any more.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "session_story.hpp"

namespace pawl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::CodeTest;
using testing::Gateway;
using testing::kPath;
using testing::TestClient;
using testing::Worker;

constexpr std::int64_t kGraceMs = 3'000;

Gateway* g_gateway = nullptr;              // its loops run while an activity blocks
std::vector<std::int64_t> g_cancelled_at;  // boot time in ms when it saw the flag; -1: never
CancelReason g_reason = CancelReason::kNone;
std::int64_t g_patience_ms = 0;
std::string g_seen;

// Blocks a pool thread and checks the flag every 10 ms, while the loops run.
ActivityResult blocking(ActivityContext& ctx) {
  for (std::int64_t ms = 0; ms < g_patience_ms; ms += 10) {
    if (ctx.is_cancelled()) {
      g_reason = ctx.cancel_reason();
      g_cancelled_at.push_back(g_gateway->machine.boot_ms());
      return ctx.fail("told to stop");
    }
    g_gateway->machine.advance(10);
    g_gateway->tick_all();
  }
  g_cancelled_at.push_back(-1);
  return ctx.ok("done");
}

// Blocks while the loop of its own process does not run, until other workers have taken the work
// over.
ActivityResult frozen(ActivityContext& ctx) {
  if (ctx.attempt() > 1) return ctx.ok("the second time");
  const Worker* const own = g_gateway->workers.front().get();
  for (int second = 0; second < 300; ++second) {
    g_gateway->machine.advance(1'000);
    g_gateway->tick_all(own);
  }
  g_gateway->tick_all();
  g_gateway->tick_all();
  g_reason = ctx.cancel_reason();
  return ctx.ok("the first time");
}

// Never checks the flag.
ActivityResult deaf(ActivityContext& ctx) {
  for (std::int64_t ms = 0; ms < g_patience_ms; ms += 10) {
    g_gateway->machine.advance(10);
    g_gateway->tick_all();
  }
  return ctx.ok("late");
}

std::string shown(OptionalMs time) {
  return time.has_value() ? std::to_string(time.value()) : "none";
}

ActivityResult look(ActivityContext& ctx) {
  g_seen = std::string(ctx.instance_id()) + " " + std::to_string(ctx.execution_id()) + " " +
           std::string(ctx.orchestration_name()) + " " + std::string(ctx.orchestration_version()) +
           " " + std::string(ctx.activity_name()) + " " + std::to_string(ctx.activity_id()) + " " +
           std::string(ctx.worker_id()) + " " + std::string(ctx.session_id()) + " " +
           std::to_string(ctx.attempt()) + " " + shown(ctx.time_left_ms());
  const std::string_view key = ctx.idempotency_key();
  const std::string tail =
      "/" + std::to_string(ctx.execution_id()) + "/" + std::to_string(ctx.activity_id());
  EXPECT_EQ(key.substr(key.size() - tail.size()), tail);
  ctx.trace(LogLevel::kInfo, "looked");
  return ctx.ok("");
}

ActivityResult look_without_limits(ActivityContext& ctx) {
  g_seen = shown(ctx.time_left_ms());
  return ctx.ok("");
}

// Uses a client of its own, which the program that registered the activity opened.
ActivityResult with_client(ActivityContext& ctx) {
  TestClient& client = *static_cast<TestClient*>(ctx.user());
  const std::string child = std::string(ctx.instance_id()) + "-child";
  if (client->start_orchestration("nothing", InstanceId(child), "") != Status::kOk)
    return ctx.fail("start");
  OrchestrationStatus status;
  if (client->get_status(child, &status) != Status::kOk) return ctx.fail("status");
  return ctx.ok(client->wait_for_orchestration(child, std::chrono::seconds(1), &status) ==
                        Status::kWouldBlock
                    ? "would block"
                    : "waited");
}

Poll nothing(OrchestrationContext& ctx) { return ctx.complete("nothing"); }

Poll call(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), ""));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

Poll call_for_a_second(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.start_to_close = std::chrono::seconds(1);
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), "", options));
  return ctx.complete(error_kind_name(done.error().kind));
}

Poll look_around(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target = Target::session("bed-7");
  options.start_to_close = std::chrono::seconds(5);
  PAWL_AWAIT(done, ctx.schedule_activity("look", "", options));
  PAWL_AWAIT(again, ctx.schedule_activity("look_without_limits", ""));
  return ctx.complete("");
}

// The timer wins after a second; the code then runs for another hour.
Poll race(OrchestrationContext& ctx) {
  const Handle slow = ctx.schedule_activity(ctx.input(), "");
  const Handle timer = ctx.schedule_timer(milliseconds(1'000));
  PAWL_AWAIT_DONE(ctx.select(slow, timer));
  PAWL_AWAIT_DONE(ctx.schedule_timer(hours(1)));
  return ctx.complete("the timer");
}

Poll drops_it_at_once(OrchestrationContext& ctx) {
  const Handle slow = ctx.schedule_activity("blocking", "");
  ctx.cancel(slow);
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(1'000)));
  return ctx.complete("dropped");
}

Poll drops_it_unfetched(OrchestrationContext& ctx) {
  const Handle slow = ctx.schedule_activity("nobody_has_it", "");
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(500)));
  ctx.cancel(slow);
  PAWL_AWAIT_DONE(ctx.schedule_timer(hours(1)));
  return ctx.complete("dropped");
}

class ActivitiesTest : public CodeTest {
 protected:
  void SetUp() override {
    g_gateway = this;
    options.timing.activity_grace = std::chrono::milliseconds(kGraceMs);
    patience_ms = 7'200'000;
    g_cancelled_at.clear();
    g_seen.clear();
    g_reason = CancelReason::kNone;
    g_patience_ms = 20'000;
    add("nothing", nothing);
    add("call", call);
    add("call_for_a_second", call_for_a_second);
    add("look_around", look_around, "2.1.0");
    add("race", race);
    add("drops_it_at_once", drops_it_at_once);
    add("drops_it_unfetched", drops_it_unfetched);
    ASSERT_EQ(deciding.add_orchestration("call", call), Status::kOk);
    ASSERT_EQ(deciding.add_orchestration("race", race), Status::kOk);
    add("blocking", blocking, ActivityMode::kThreaded);
    add("frozen", frozen, ActivityMode::kThreaded);
    add("deaf", deaf, ActivityMode::kThreaded);
    add("look", look);
    add("look_without_limits", look_without_limits);
  }
  std::int64_t reported_after(std::int64_t begin) const {
    return g_cancelled_at.size() != 1 || g_cancelled_at[0] < 0 ? -1 : g_cancelled_at[0] - begin;
  }
};

TEST_F(ActivitiesTest, sees_who_asked_for_it_and_how_long_it_may_take) {
  Worker& worker = start_worker("greenhouse");
  start("a", "look_around");
  ASSERT_TRUE(drive_until([&] { return !g_seen.empty(); }));
  EXPECT_EQ(g_seen, "a 1 look_around 2.1.0 look 2 greenhouse bed-7 1 5000");
  EXPECT_EQ(worker.lines.count("activity_trace instance=a execution=1 event=2 activity=look "
                               "attempt=1 session=bed-7 worker=greenhouse text=looked"),
            1U)
      << worker.lines.all();
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(g_seen, "none");
}

TEST_F(ActivitiesTest, an_inline_activity_may_use_a_client_but_not_wait_with_it) {
  TestClient own(machine, kPath, client_options);
  add("with_client", with_client, ActivityMode::kInline, &own);
  start_worker();
  start("a", "call", "with_client");
  EXPECT_EQ(end_of("a"), "completed would block");
  EXPECT_EQ(end_of("a-child").substr(0, 9), "completed");
}

TEST_F(ActivitiesTest, the_loser_of_a_select_is_reported_in_the_tick_that_commits_it) {
  Worker& worker = start_worker();
  const std::int64_t begin = machine.boot_ms();
  start("a", "race", "blocking");
  ASSERT_TRUE(drive_until([&] { return !g_cancelled_at.empty(); }));
  EXPECT_EQ(reported_after(begin), 1'000);
  EXPECT_EQ(g_reason, CancelReason::kCancelled);
  ASSERT_TRUE(drive_until([&] { return worker.runtime->stats().activities_refused == 1; }));
  EXPECT_EQ(worker.runtime->stats().activities_abandoned, 0U);
  EXPECT_EQ(end_of("a"), "completed the timer");
}

TEST_F(ActivitiesTest, a_cancel_request_reaches_another_process_without_the_lease) {
  Worker& hands = hand("hands");
  boss();
  const std::int64_t begin = machine.boot_ms();
  start("a", "race", "blocking");
  ASSERT_TRUE(drive_until([&] { return !g_cancelled_at.empty(); }));
  // A renewal of the lease would come after 25 s only.
  EXPECT_GE(reported_after(begin), 1'000);
  EXPECT_LE(reported_after(begin), 1'100);
  EXPECT_EQ(g_reason, CancelReason::kCancelled) << "the commit of another process says so, too";
  ASSERT_TRUE(drive_until([&] { return hands.runtime->stats().activities_refused == 1; }));
}

TEST_F(ActivitiesTest, past_its_limit_it_learns_why) {
  start_worker();
  start("a", "call_for_a_second", "blocking");
  EXPECT_EQ(end_of("a"), "completed timeout");
  EXPECT_EQ(g_reason, CancelReason::kDeadline);
}

TEST_F(ActivitiesTest, work_that_another_worker_took_is_lost) {
  testing::expect_errors("worker_was_buried");
  Worker& first = start_worker("first");
  start("a", "call", "frozen");
  first.node.hold_jobs(true);
  tick_until_it_works({&first});
  start_worker("second");
  first.node.hold_jobs(false);
  EXPECT_EQ(end_of("a"), "completed the second time");
  EXPECT_EQ(g_reason, CancelReason::kLost);
}

TEST_F(ActivitiesTest, an_operator_who_terminates_the_instance_reaches_its_activity) {
  testing::expect_errors("activity_abandoned");
  Worker& hands = hand("hands");
  Worker& decider = boss();
  start("a", "call", "deaf");
  tick_until_it_works({&hands, &decider});
  ASSERT_EQ(client()->terminate_instance("a", "enough"), Status::kOk);
  tick_all();  // the boss ends it
  tick_all();  // the hands learn of it
  tick_all();
  const std::int64_t begin = machine.boot_ms();
  machine.advance(kGraceMs);
  tick_all();
  EXPECT_EQ(hands.runtime->stats().activities_abandoned, 1U);
  EXPECT_EQ(machine.boot_ms() - begin, kGraceMs);
}

TEST_F(ActivitiesTest, an_activity_that_ignores_it_is_abandoned_after_the_grace) {
  testing::expect_errors("activity_abandoned");
  options.slots.threads = 1;
  Worker& worker = start_worker();
  EXPECT_TRUE(worker.runtime->ready());
  g_patience_ms = 1'000 + kGraceMs + 100;
  bool was_ready = true;
  std::uint32_t held = 0;
  worker.node.hold_jobs(true);
  start("a", "race", "deaf");
  tick_until_it_works({&worker});
  // Its thread does not return while time passes.
  const std::int64_t end = machine.boot_ms() + 1'000 + kGraceMs;
  while (machine.boot_ms() < end) {
    EXPECT_TRUE(worker.runtime->ready());
    EXPECT_EQ(worker.runtime->stats().activities_abandoned, 0U);
    machine.advance(100);
    static_cast<void>(worker.runtime->tick(std::chrono::milliseconds::max()));
    static_cast<void>(worker.runtime->tick(std::chrono::milliseconds::max()));
  }
  EXPECT_EQ(worker.runtime->stats().activities_abandoned, 1U);
  EXPECT_EQ(worker.lines.count("activity_abandoned activity=deaf instance=a"), 1U);
  was_ready = worker.runtime->ready();
  held = worker.runtime->stats().slots_abandoned;
  EXPECT_FALSE(was_ready);
  EXPECT_EQ(held, 1U);
  // The thread returns after all: its result is refused, and its slot is free again.
  worker.node.hold_jobs(false);
  ASSERT_TRUE(drive_until([&] { return worker.runtime->stats().activities_refused == 1; }));
  static_cast<void>(worker.runtime->tick(std::chrono::milliseconds::max()));
  EXPECT_TRUE(worker.runtime->ready());
  EXPECT_EQ(worker.runtime->stats().slots_abandoned, 0U);
  EXPECT_EQ(worker.runtime->stats().activities_abandoned, 1U);
}

TEST_F(ActivitiesTest, the_end_of_the_grace_is_a_due_time) {
  testing::expect_errors("activity_abandoned");
  Worker& worker = start_worker();
  worker.node.hold_jobs(true);
  start("a", "race", "deaf");
  const std::int64_t begin = machine.boot_ms();
  tick_until_it_works({&worker});
  while (worker.runtime->stats().activities_abandoned == 0 && machine.boot_ms() - begin < 60'000) {
    const OptionalMs due = worker.runtime->next_due();
    if (due.value_or(0) > machine.boot_ms()) machine.advance(due.value() - machine.boot_ms());
    static_cast<void>(worker.runtime->tick(std::chrono::milliseconds::max()));
  }
  EXPECT_EQ(machine.boot_ms() - begin, 1'000 + kGraceMs);
  worker.node.hold_jobs(false);
}

TEST_F(ActivitiesTest, a_cancelled_activity_that_was_never_fetched_vanishes) {
  testing::expect_errors("activity_unregistered");
  Worker& worker = start_worker();
  start("a", "drops_it_at_once");
  ASSERT_TRUE(ends("a"));
  EXPECT_TRUE(g_cancelled_at.empty());
  EXPECT_EQ(worker.runtime->stats().activities_started, 0U);
  start("b", "drops_it_unfetched");
  ASSERT_TRUE(drive_until([&] { return worker.lines.count("activity_unregistered") > 0; }));
  Metrics metrics;
  ASSERT_TRUE(drive_until([&] {
    EXPECT_EQ(client()->get_metrics(&metrics), Status::kOk);
    return metrics.activities_ready + metrics.activities_delayed == 0;
  }));
}

TEST_F(ActivitiesTest, a_cancelled_instance_notifies_its_activity) {
  Worker& worker = start_worker();
  start("a", "call", "blocking");
  tick_until_it_works({&worker});
  const std::int64_t begin = machine.boot_ms();
  cancel_instance("a", "no water");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(client().status("a").error, ErrorKind::kCancelled);
  ASSERT_TRUE(drive_until([&] { return !g_cancelled_at.empty(); }));
  EXPECT_LE(reported_after(begin), 20);
}

}  // namespace
}  // namespace pawl
