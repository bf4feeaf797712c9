// Goal: work that came due before this boot began runs at once, and hides no other work that is
// due. Its due times in boot time are negative, and are times like any other.
#include <gtest/gtest.h>

#include <string>

#include "story.hpp"

namespace pawl {
namespace {

using testing::Story;
using testing::Worker;

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kWallMs = 1'800'000'000'000;

int g_failures_left = 0;

ActivityResult fails_at_first(ActivityContext& ctx) {
  return g_failures_left-- > 0 ? ctx.fail("not yet") : ctx.ok("done");
}

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

Poll retries(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.retry.max_attempts = 3;
  options.retry.base = options.retry.cap = std::chrono::seconds(600);
  PAWL_AWAIT(done, ctx.schedule_activity("fails_at_first", "", options));
  return ctx.complete(done.value());
}

Poll sleeps_a_second(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  return ctx.complete("slept");
}

Poll sleeps_ten_minutes(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(10)));
  return ctx.complete("slept");
}

Poll says_hello(OrchestrationContext& ctx) {
  PAWL_AWAIT(said, ctx.schedule_activity("echo", "hello"));
  return ctx.complete(said.value());
}

// Waits until the UTC time in ms that is its input.
Poll waits_until(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer_at(std::stoll(std::string(ctx.input()))));
  return ctx.complete("it is time");
}

// A hundred rounds of 100 ms, each with an activity; then continues as new.
Poll watches(OrchestrationContext& ctx) {
  for (int round = 0; round < 100; ++round) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(100)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("echo", ""));
  }
  return ctx.continue_as_new("");
}

class DueTimes : public Story {
 protected:
  DueTimes() {
    g_failures_left = 1;
    add("fails_at_first", fails_at_first);
    add("echo", echo);
    add("retries", retries);
    add("sleeps_a_second", sleeps_a_second);
    add("sleeps_ten_minutes", sleeps_ten_minutes);
    add("says_hello", says_hello);
    add("waits_until", waits_until);
    add("watches", watches);
  }
  // The worker ends, a client commits half an hour later, and then the power is off for a day. Work
  // that came due in that half hour therefore lies before the next boot in Pawl time.
  void power_off_after_a_commit() {
    workers.clear();
    machine.advance(1'800'000);
    start("the last commit of this boot", "says_hello");
    forget_client();
    machine.reboot(kDayMs);
  }
  // Expects the end within a second of virtual time; no renewal (25 s) wakes the loop by then.
  void expect_prompt(std::string_view id, std::string_view end) {
    EXPECT_EQ(end_of(id, 1'500), end) << id;
  }
};

TEST_F(DueTimes, RetryThatCameDueInAnEarlierBoot) {
  start_worker();
  start("a", "retries");
  pass(1'000);
  ASSERT_EQ(g_failures_left, 0);
  power_off_after_a_commit();
  start_worker();
  start("timer", "sleeps_a_second");
  expect_prompt("a", "completed done");
  expect_prompt("timer", "completed slept");
}

TEST_F(DueTimes, DelayedStartThatCameDueInAnEarlierBoot) {
  start_worker();
  StartOptions delayed;
  delayed.start_after = std::chrono::seconds(600);
  ASSERT_EQ(client()->start_orchestration("says_hello", InstanceId("a"), "", delayed), Status::kOk);
  pass(1'000);
  power_off_after_a_commit();
  start_worker();
  start("timer", "sleeps_a_second");
  expect_prompt("a", "completed hello");
  expect_prompt("timer", "completed slept");
}

TEST_F(DueTimes, TimerAtATimeOfThePast) {
  start_worker();
  pass(100);
  for (const std::int64_t ago_ms : {std::int64_t{1'000}, std::int64_t{90'000}, kDayMs, kWallMs}) {
    const std::string id = "ago " + std::to_string(ago_ms);
    start(id, "waits_until", std::to_string(machine.wall_ms() - ago_ms));
    start("beside " + id, "sleeps_a_second");
    EXPECT_EQ(end_of(id, 100), "completed it is time") << id;
    expect_prompt("beside " + id, "completed slept");
  }
}

// The gap becomes known some time after the boot, and moves the timer to a time before the boot.
TEST_F(DueTimes, TimerThatALearntGapMovesBeforeThisBoot) {
  start_worker();
  start("a", "sleeps_ten_minutes");
  pass(1'000);
  const std::int64_t wall_ms = machine.wall_ms();
  workers.clear();
  forget_client();
  machine.reboot(kDayMs, false);
  start_worker();
  start("other", "sleeps_ten_minutes");
  pass(5'000);
  ASSERT_TRUE(is_running("a"));
  machine.set_wall(wall_ms + kDayMs + 5'000);
  machine.set_synced(true);
  expect_prompt("a", "completed slept");
  EXPECT_TRUE(is_running("other"));
}

// The timers of suspended instances are moved out of the way as messages, while every tick stores
// messages of other instances.
TEST_F(DueTimes, SuspendedPastTheirTimersBesideBusyWatches) {
  constexpr int kSuspended = 40;
  Worker& worker = start_worker();
  for (int i = 0; i < 6; ++i)
    start("watch" + std::to_string(i), "watches");
  for (int i = 0; i < kSuspended; ++i)
    start("sleeper" + std::to_string(i), "sleeps_a_second");
  pass(500);
  for (int i = 0; i < kSuspended; ++i)
    ASSERT_EQ(client()->suspend_instance("sleeper" + std::to_string(i)), Status::kOk);
  pass(20'000);
  EXPECT_EQ(worker.runtime->stats().failed_ticks, 0U) << worker.lines.all();
  for (int i = 0; i < kSuspended; ++i)
    ASSERT_EQ(client()->resume_instance("sleeper" + std::to_string(i)), Status::kOk);
  for (int i = 0; i < kSuspended; ++i)
    expect_prompt("sleeper" + std::to_string(i), "completed slept");
  EXPECT_EQ(worker.lines.count("tick_rolled_back"), 0U) << worker.lines.all();
}

TEST(OptionalMsTest, NoNumberMeansNone) {
  for (const std::int64_t ms : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX}) {
    OptionalMs time = ms;
    EXPECT_TRUE(time.has_value());
    EXPECT_TRUE(time.has_passed(INT64_MAX));
    EXPECT_NE(time, OptionalMs());
    time.keep_earlier(OptionalMs());
    EXPECT_EQ(time, OptionalMs(ms));
    time.keep_earlier(INT64_MIN);
    EXPECT_EQ(time, OptionalMs(INT64_MIN));
  }
  OptionalMs none;
  EXPECT_FALSE(none.has_value());
  EXPECT_FALSE(none.has_passed(INT64_MAX));
  EXPECT_EQ(none.value_or(7), 7);
  none.keep_earlier(-1);
  EXPECT_EQ(none, OptionalMs(-1));
}

}  // namespace
}  // namespace pawl
