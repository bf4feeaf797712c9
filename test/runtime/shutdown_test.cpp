// Goal: a running activity learns of an orderly stop, and its work goes back without using up an
// attempt.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::GatewayTest;
using testing::Worker;

// How an activity asks, and how it answers then. The second run, on another worker, completes.
std::string g_ask;
std::string g_answer;
bool g_is_cancelled = false;
CancelReason g_reason = CancelReason::kNone;
OptionalMs g_time_left;
std::vector<std::string> g_runs;  // "worker attempt/retry_attempt progress"

ActivityResult give(ActivityContext& ctx) {
  if (g_answer == "ok") return ctx.ok("half");
  if (g_answer == "fail") return ctx.fail("told to stop");
  if (g_answer == "fail_permanently") return ctx.fail_permanently("told to stop");
  return ctx.hand_back();
}

void note_run(ActivityContext& ctx) {
  g_runs.push_back(std::string(ctx.worker_id()) + " " + std::to_string(ctx.attempt()) + "/" +
                   std::to_string(ctx.retry_attempt()) + " " + std::string(ctx.last_progress()));
}

ActivityResult asks(ActivityContext& ctx) {
  note_run(ctx);
  if (g_runs.size() > 1) return ctx.ok("whole");
  if (ctx.heartbeat("a third") != Status::kOk) return ctx.fail("heartbeat");
  if (g_ask != "reason") g_is_cancelled = ctx.is_cancelled();
  if (g_ask != "flag") g_reason = ctx.cancel_reason();
  g_time_left = ctx.time_left_ms();
  return give(ctx);
}

// Waits for an hour; the code takes a second step for the end of the hour, even an early one.
struct Nap {
  int steps = 0;
};
ActivityStep naps(ActivityContext& ctx, Nap& nap) {
  if (nap.steps++ > 0) return ctx.ok("an hour is over");
  note_run(ctx);
  return g_runs.size() > 1 ? ActivityStep(ctx.ok("whole")) : ctx.again_after(hours(1));
}

ActivityResult hands_back_twice(ActivityContext& ctx) {
  note_run(ctx);
  if (g_runs.size() < 3) return ctx.hand_back();
  return ctx.fail("the only attempt");
}

Poll call(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), ""));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

class ShutdownTest : public GatewayTest {
 protected:
  void SetUp() override {
    g_ask = "flag";
    g_answer = "fail";
    g_is_cancelled = false;
    g_reason = CancelReason::kNone;
    g_time_left.clear();
    g_runs.clear();
    add("call", call);
    add("asks", asks, ActivityMode::kThreaded);
    add("hands_back_twice", hands_back_twice);
    add("naps", naps);
  }
  // Stops the worker while the thread runs the activity; returns how long the stop took, in ms.
  std::int64_t stop_while_it_runs(Worker& worker, const char* activity) {
    worker.node.hold_jobs(true);
    start("a", "call", activity);
    tick_until_it_works({&worker});
    worker.node.hold_jobs(false);
    const std::int64_t begin = machine.boot_ms();
    EXPECT_EQ(worker.runtime->stop(seconds(10)), Status::kOk);
    return machine.boot_ms() - begin;
  }
  // Runs the instance to its end on a second worker; returns its state and output.
  std::string end_on_another() {
    start_worker("second");
    return end_of("a");
  }
  std::string end_after(const char* ask, const char* answer) {
    g_ask = ask;
    g_answer = answer;
    Worker& first = start_worker("first");
    stop_while_it_runs(first, "asks");
    handed_back = first.lines.count(
        "activity_handed_back activity=asks instance=a event=2 "
        "reason=shutdown");
    EXPECT_EQ(first.runtime->stats().activities_handed_back, handed_back);
    return end_on_another();
  }

  std::size_t handed_back = 0;
};

// is_cancelled() promises that no result counts any more, so code returns anything then.
class ShutdownAnswerTest : public ShutdownTest,
                           public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Answers, ShutdownAnswerTest,
                         ::testing::Values("ok", "fail", "fail_permanently", "hand_back"));
TEST_P(ShutdownAnswerTest, WhatIsReturnedAfterIsCancelledHandsTheWorkBack) {
  EXPECT_EQ(end_after("flag", GetParam()), "completed whole");
  EXPECT_TRUE(g_is_cancelled);
  EXPECT_EQ(handed_back, 1U);
  EXPECT_EQ(g_runs, (std::vector<std::string>{"first 1/1 ", "second 2/1 a third"}))
      << "no attempt is used up, and progress stays";
}

TEST_F(ShutdownTest, CodeThatKnowsTheReasonMayFinish) {
  EXPECT_EQ(end_after("reason", "ok"), "completed half");
  EXPECT_EQ(g_reason, CancelReason::kShutdown);
  EXPECT_EQ(handed_back, 0U);
}

TEST_F(ShutdownTest, TheReasonAskedAfterTheFlagCounts) {
  EXPECT_EQ(end_after("both", "fail_permanently"), "failed application told to stop");
  EXPECT_EQ(handed_back, 0U);
}

TEST_F(ShutdownTest, GivingUpForTheReasonHandsTheWorkBack) {
  EXPECT_EQ(end_after("reason", "fail"), "completed whole");
  EXPECT_EQ(handed_back, 1U);
}

TEST_F(ShutdownTest, AnActivityThatDoesNotAskEndsAsItWould) {
  g_ask = "flag";
  g_answer = "ok";
  add(
      "quiet", [](ActivityContext& ctx) { return ctx.ok("quiet"); }, ActivityMode::kThreaded);
  stop_while_it_runs(start_worker("first"), "quiet");
  EXPECT_EQ(end_on_another(), "completed quiet");
  EXPECT_TRUE(g_runs.empty());
}

TEST_F(ShutdownTest, TimeLeftIsTheGrace) {
  static_cast<void>(end_after("flag", "fail"));
  ASSERT_TRUE(g_time_left.has_value());
  EXPECT_EQ(g_time_left.value(), 10'000);
}

TEST_F(ShutdownTest, ACooperativeActivityThatSleepsBeyondTheGraceGoesBackAtOnce) {
  Worker& first = start_worker("first");
  EXPECT_EQ(stop_while_it_runs(first, "naps"), 0) << "not the whole grace";
  EXPECT_EQ(first.runtime->stats().activities_handed_back, 1U);
  EXPECT_EQ(end_on_another(), "completed whole");
  EXPECT_EQ(g_runs, (std::vector<std::string>{"first 1/1 ", "second 2/1 "}));
}

TEST_F(ShutdownTest, NoActivityIsAskedToReturnWhileTheWorkerRuns) {
  start_worker("first");
  g_ask = "both";
  g_answer = "ok";
  start("a", "call", "asks");
  ASSERT_TRUE(ends("a"));
  EXPECT_FALSE(g_is_cancelled);
  EXPECT_EQ(g_reason, CancelReason::kNone);
  EXPECT_FALSE(g_time_left.has_value());
  EXPECT_EQ(outcome_of("a"), "completed half");
}

// Without a stop, the work waits 1, 2, 4 .. 60 s, so that it cannot go round for ever at full
// speed.
TEST_F(ShutdownTest, HandBackUsesUpNoAttempt) {
  Worker& worker = start_worker("first");
  const std::int64_t begin = machine.boot_ms();
  start("a", "call", "hands_back_twice");
  EXPECT_EQ(end_of("a"), "failed application the only attempt");
  EXPECT_EQ(g_runs, (std::vector<std::string>{"first 1/1 ", "first 2/1 ", "first 3/1 "}));
  EXPECT_EQ(machine.boot_ms() - begin, 3'000);
  EXPECT_EQ(worker.runtime->stats().activities_handed_back, 2U);
  EXPECT_EQ(worker.lines.count("activity_handed_back activity=hands_back_twice instance=a event=2 "
                               "reason=activity"),
            2U)
      << worker.lines.all();
}

}  // namespace
}  // namespace pawl
