// Goal: cooperative activities run their steps in time, wait for descriptors, always destroy their
// state, and give their slots back.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::GatewayTest;
using testing::Worker;

constexpr int kSensorFd = 5;
constexpr std::int64_t kGraceMs = 3'000;

sim::Machine* g_machine = nullptr;
Worker* g_worker = nullptr;
std::vector<std::int64_t> g_steps;  // boot time of each, in ms
int g_alive = 0;                    // number of living states
int g_most_alive = 0;
int g_made = 0;
int g_kills = 0;
int g_clean_up_steps = 0;
std::int64_t g_step_ms = 0;  // duration of one step
std::string g_saw;

// Counts every state, so that none is lost unnoticed.
struct Counted {
  Counted() {
    ++g_alive;
    ++g_made;
    if (g_alive > g_most_alive) g_most_alive = g_alive;
  }
  ~Counted() { --g_alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int steps = 0;
  std::int64_t moving_since = 0;
};

// Ten steps, 20 ms apart.
ActivityStep blink(ActivityContext& ctx, Counted& state) {
  g_steps.push_back(g_machine->boot_ms());
  g_machine->advance(g_step_ms);
  if (ctx.is_cancelled()) return ctx.fail("told to stop");
  if (++state.steps == 10) return ctx.ok("blinked");
  return ctx.again_after(std::chrono::milliseconds(20));
}

ActivityStep sense(ActivityContext& ctx, Counted& state) {
  g_steps.push_back(g_machine->boot_ms());
  if (ctx.is_cancelled()) return ctx.fail("told to stop");
  if (state.steps++ == 0) return ctx.when_readable(kSensorFd, std::chrono::seconds(20));
  return ctx.ok(ctx.is_readable() ? "a value" : "silence");
}

// The same, but it never checks for cancellation.
ActivityStep blink_on(ActivityContext& ctx, Counted& state) {
  g_steps.push_back(g_machine->boot_ms());
  if (++state.steps == 10) return ctx.ok("blinked");
  return ctx.again_after(std::chrono::milliseconds(20));
}

// Closes its valve in two steps when it is cancelled.
ActivityStep valve(ActivityContext& ctx, Counted& state) {
  if (!ctx.is_cancelled()) return ctx.again_after(std::chrono::seconds(60));
  ++g_clean_up_steps;
  if (++state.steps < 2) return ctx.again_after(std::chrono::milliseconds(100));
  return ctx.ok("closed");
}

ActivityStep stubborn(ActivityContext& ctx, Counted& state) {
  ++state.steps;
  g_clean_up_steps += ctx.is_cancelled() ? 1 : 0;
  return ctx.again_after(std::chrono::seconds(3'600));
}

ActivityStep second_time(ActivityContext& ctx, Counted& state) {
  if (++state.steps < 3) return ctx.again_after(std::chrono::milliseconds(0));
  return ctx.retry_attempt() == 1 ? ActivityStep(ctx.fail("bus")) : ctx.ok("second time");
}

ActivityStep bad_descriptor(ActivityContext& ctx, Counted&) {
  return ctx.when_readable(-1, std::chrono::seconds(1));
}

ActivityStep long_result(ActivityContext& ctx, Counted& state) {
  static const std::string kLong(60'000, 'x');
  return state.steps++ == 0 ? ctx.again_after(std::chrono::milliseconds(10))
                            : ActivityStep(ctx.ok(kLong));
}

ActivityStep dies_in_a_step(ActivityContext& ctx, Counted&) {
  if (g_kills-- > 0) g_worker->kill();
  return ctx.ok("survived");
}

ActivityResult inline_one(ActivityContext& ctx) {
  g_saw += std::to_string(g_machine->boot_ms()) + " ";
  return ctx.ok("");
}

std::string text_of(const Outcome& outcome) {
  if (outcome.ok()) return std::string(outcome.value());
  return error_kind_name(outcome.error().kind) + (": " + std::string(outcome.error().text));
}

Poll call(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), ""));
  return ctx.complete(text_of(done));
}

Poll call_again(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.retry = {3, Backoff::kNone, std::chrono::milliseconds(0), std::chrono::milliseconds(0),
                   0};
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), "", options));
  return ctx.complete(text_of(done));
}

Poll call_with_limit(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.start_to_close = std::chrono::seconds(5);
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), "", options));
  return ctx.complete(text_of(done));
}

Poll many(OrchestrationContext& ctx) {
  Handle all[6];
  for (Handle& one : all)
    one = ctx.schedule_activity(ctx.input(), "");
  PAWL_AWAIT_DONE(ctx.join_all(all, 6));
  std::size_t bytes = 0;
  for (const Handle& one : all) {
    PAWL_AWAIT(done, one);
    bytes += done.value().size();
  }
  return ctx.complete(std::to_string(bytes));
}

Poll race(OrchestrationContext& ctx) {
  const Handle slow = ctx.schedule_activity(ctx.input(), "");
  PAWL_AWAIT_DONE(ctx.select(slow, ctx.schedule_timer(milliseconds(1'000))));
  PAWL_AWAIT_DONE(ctx.schedule_timer(hours(1)));
  return ctx.complete("the timer");
}

class CooperativeTest : public GatewayTest {
 protected:
  void SetUp() override {
    g_machine = &machine;
    g_steps.clear();
    g_alive = g_most_alive = g_made = g_kills = g_clean_up_steps = 0;
    g_step_ms = 0;
    g_saw.clear();
    options.worker_node_id = "node";
    options.timing.activity_grace = milliseconds(kGraceMs);
    add("call", call);
    add("call_again", call_again);
    add("call_with_limit", call_with_limit);
    add("many", many);
    add("race", race);
    add("blink", blink);
    add("blink_on", blink_on);
    add("sense", sense);
    add("valve", valve);
    add("stubborn", stubborn);
    add("second_time", second_time);
    add("bad_descriptor", bad_descriptor);
    add("long_result", long_result);
    add("dies_in_a_step", dies_in_a_step);
    add("inline_one", inline_one);
  }
  void TearDown() override {
    GatewayTest::TearDown();
    EXPECT_EQ(g_alive, 0) << "a state was lost";
  }
  // Starts a worker and this orchestration.
  Worker& begin(const char* orchestration, const char* input) {
    g_worker = &start_worker();
    start("a", orchestration, input);
    begun = machine.boot_ms();
    return *g_worker;
  }
  std::string run(const char* orchestration, const char* input) {
    const Worker& worker = begin(orchestration, input);
    std::string end = end_of("a");
    took = machine.boot_ms() - begun;
    stats = worker.runtime->stats();
    return end;
  }

  RuntimeStats stats;
  std::int64_t begun = 0;
  std::int64_t took = 0;
};

TEST_F(CooperativeTest, steps_come_when_they_were_asked_for) {
  EXPECT_EQ(run("call", "blink"), "completed blinked");
  ASSERT_EQ(g_steps.size(), 10U);
  for (std::size_t i = 1; i < g_steps.size(); ++i)
    EXPECT_EQ(g_steps[i] - g_steps[i - 1], 20);
  EXPECT_EQ(g_made, 1);
  EXPECT_EQ(stats.activities_started, 1U);
  EXPECT_EQ(stats.activities_completed, 1U);
}

TEST_F(CooperativeTest, waits_for_its_descriptor_without_a_wake_up) {
  Worker& worker = begin("call", "sense");
  // The looks after the last commit end within seven seconds.
  EXPECT_EQ(worker.runtime->run_for(std::chrono::seconds(7)), Status::kTimeout);
  ASSERT_EQ(g_steps.size(), 1U);
  const std::uint64_t before = worker.runtime->stats().wakeups;
  EXPECT_EQ(worker.runtime->run_for(std::chrono::seconds(10)), Status::kTimeout);
  EXPECT_EQ(worker.runtime->stats().wakeups, before + 1) << "for the end of run_for() alone";
  worker.node.set_readable(kSensorFd, true);
  const std::int64_t readable_at = machine.boot_ms();
  EXPECT_EQ(end_of("a"), "completed a value");
  EXPECT_EQ(machine.boot_ms(), readable_at);
  EXPECT_EQ(g_steps.size(), 2U);
}

TEST_F(CooperativeTest, a_descriptor_that_stays_silent_has_a_limit) {
  EXPECT_EQ(run("call", "sense"), "completed silence");
  EXPECT_EQ(took, 20'000);
  EXPECT_EQ(g_steps.size(), 2U);
}

TEST_F(CooperativeTest, a_descriptor_that_is_not_read_does_not_keep_the_loop_awake) {
  Worker& worker = begin("call", "sense");
  worker.node.set_readable(kSensorFd, true);
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(worker.runtime->run_for(std::chrono::seconds(7)), Status::kTimeout);
  const std::uint64_t before = worker.runtime->stats().wakeups;
  EXPECT_EQ(worker.runtime->run_for(std::chrono::seconds(10)), Status::kTimeout);
  EXPECT_EQ(worker.runtime->stats().wakeups, before + 1);
}

TEST_F(CooperativeTest, several_wait_for_the_same_descriptor) {
  Worker& worker = begin("many", "sense");
  ASSERT_TRUE(drive_until([&] { return g_steps.size() == 6; }));
  worker.node.set_readable(kSensorFd, true);
  EXPECT_EQ(end_of("a"), "completed 42");  // six times "a value"
  EXPECT_EQ(machine.boot_ms(), begun);
}

TEST_F(CooperativeTest, a_descriptor_that_cannot_be_waited_for_is_an_error) {
  EXPECT_EQ(run("call_again", "bad_descriptor"),
            "completed invalid_argument: the descriptor cannot be waited for: invalid_argument");
  EXPECT_EQ(g_made, 1);
}

TEST_F(CooperativeTest, holds_up_no_other) {
  begin("many", "blink");
  ASSERT_TRUE(drive_until([&] { return g_steps.size() > 6; }));
  start("b", "call", "inline_one");
  const std::int64_t asked = machine.boot_ms();
  ASSERT_TRUE(ends("b"));
  EXPECT_EQ(machine.boot_ms(), asked);
  ASSERT_TRUE(ends("a"));
  // All six run at once, and take as long as one.
  EXPECT_EQ(g_most_alive, 6);
  EXPECT_EQ(machine.boot_ms() - begun, 9 * 20);
}

TEST_F(CooperativeTest, takes_a_slot_as_long_as_it_runs) {
  options.slots.cooperative = 2;
  begin("many", "blink");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(g_most_alive, 2);
  EXPECT_EQ(machine.boot_ms() - begun, 3 * 9 * 20);
}

TEST_F(CooperativeTest, a_window_of_commits_does_not_delay_steps) {
  options.timing.commit_window = std::chrono::seconds(1);
  begin("call", "blink");
  ASSERT_TRUE(ends("a"));
  ASSERT_EQ(g_steps.size(), 10U);
  EXPECT_EQ(g_steps.back() - g_steps.front(), 9 * 20);
}

TEST_F(CooperativeTest, long_results_wait_for_their_commit) {
  EXPECT_EQ(run("many", "long_result"), "completed 360000");
}

TEST_F(CooperativeTest, each_attempt_has_a_state_of_its_own) {
  EXPECT_EQ(run("call_again", "second_time"), "completed second time");
  EXPECT_EQ(g_made, 2);
  EXPECT_EQ(stats.activities_retried, 1U);
}

TEST_F(CooperativeTest, a_long_step_is_counted_and_named) {
  g_step_ms = 100;
  Worker& worker = begin("call", "blink");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(worker.runtime->stats().activities_overlong, 10U);
  EXPECT_EQ(worker.lines.count("inline_activity_overlong activity=blink took_ms=100"), 10U);
}

TEST_F(CooperativeTest, a_loser_gets_steps_to_clean_up) {
  Worker& worker = begin("race", "valve");
  ASSERT_TRUE(drive_until([&] { return g_clean_up_steps == 1; }));
  EXPECT_EQ(machine.boot_ms() - begun, 1'000) << "at once";
  EXPECT_EQ(g_alive, 1);
  ASSERT_TRUE(drive_until([&] { return g_clean_up_steps == 2; }));
  EXPECT_EQ(machine.boot_ms() - begun, 1'100);
  EXPECT_EQ(g_alive, 0);
  ASSERT_TRUE(ends("a", 7'200'000));
  EXPECT_EQ(worker.runtime->stats().activities_refused, 1U);
  EXPECT_EQ(worker.runtime->stats().activities_abandoned, 0U);
}

TEST_F(CooperativeTest, a_loser_that_does_not_end_is_ended_after_the_grace) {
  testing::expect_errors("activity_abandoned");
  options.slots.cooperative = 1;
  Worker& worker = begin("race", "stubborn");
  ASSERT_TRUE(drive_until([&] { return g_made == 1 && g_alive == 0; }));
  EXPECT_EQ(machine.boot_ms() - begun, 1'000 + kGraceMs);
  EXPECT_EQ(g_clean_up_steps, 1);
  EXPECT_EQ(worker.runtime->stats().activities_abandoned, 1U);
  EXPECT_TRUE(worker.runtime->ready());
  // Its slot is free again.
  start("b", "call", "blink");
  ASSERT_TRUE(ends("b"));
  EXPECT_EQ(worker.runtime->stats().slots_abandoned, 0U);
}

TEST_F(CooperativeTest, past_its_limit_it_is_reported_and_ends) {
  EXPECT_EQ(run("call_with_limit", "valve"), "completed timeout: start_to_close (5000 ms) passed");
  EXPECT_EQ(took, 5'000);
}

TEST_F(CooperativeTest, a_stop_puts_it_back_and_the_next_worker_begins_anew) {
  Worker& worker = begin("call", "sense");
  ASSERT_TRUE(drive_until([&] { return g_steps.size() == 1; }));
  EXPECT_EQ(worker.runtime->stop(std::chrono::milliseconds(500)), Status::kOk);
  EXPECT_EQ(machine.boot_ms() - begun, 500);
  EXPECT_EQ(g_alive, 0);
  Worker& again = start_worker();
  EXPECT_EQ(again.lines.count("session"), 0U);
  again.node.set_readable(kSensorFd, true);
  EXPECT_EQ(end_of("a"), "completed a value");
  EXPECT_EQ(g_made, 2);
  EXPECT_LT(machine.boot_ms() - begun, 1'000) << "no lease was waited for";
}

TEST_F(CooperativeTest, a_stop_waits_for_what_ends_in_time) {
  Worker& worker = begin("call", "blink_on");
  ASSERT_TRUE(drive_until([&] { return g_steps.size() == 2; }));
  EXPECT_EQ(worker.runtime->stop(std::chrono::seconds(10)), Status::kOk);
  EXPECT_EQ(g_steps.size(), 10U);
  EXPECT_EQ(worker.runtime->stats().activities_completed, 1U);
}

TEST_F(CooperativeTest, one_that_asks_learns_of_a_stop_with_its_next_step) {
  Worker& worker = begin("call", "blink");
  ASSERT_TRUE(drive_until([&] { return g_steps.size() == 2; }));
  EXPECT_EQ(worker.runtime->stop(std::chrono::seconds(10)), Status::kOk);
  EXPECT_EQ(g_steps.size(), 3U);
  EXPECT_EQ(worker.runtime->stats().activities_completed, 0U);
  EXPECT_EQ(worker.runtime->stats().activities_handed_back, 1U);
  EXPECT_EQ(g_alive, 0);
}

TEST_F(CooperativeTest, a_full_disk_keeps_the_result_and_destroys_the_state_once) {
  testing::expect_errors("disk_is_full");
  testing::expect_errors("tick_rolled_back");
  Worker& worker = begin("call", "blink");
  ASSERT_TRUE(drive_until([&] { return g_steps.size() == 9; }));
  machine.fail_write(1, Status::kFull, false);
  EXPECT_EQ(end_of("a"), "completed blinked");
  EXPECT_EQ(g_made, 1);
  EXPECT_GE(worker.runtime->stats().failed_ticks, 1U);
}

TEST_F(CooperativeTest, a_death_in_a_step_is_charged_to_it) {
  testing::expect_errors("activity_poisoned");
  options.limits.crashes_max = 2;
  g_kills = 2;
  begin("call", "dies_in_a_step");
  for (int life = 0; life < 2; ++life) {
    ASSERT_TRUE(drive_until([&] { return g_worker->killed; }));
    g_worker = &restart();
  }
  EXPECT_EQ(end_of("a").substr(0, 16), "completed poison");
}

TEST_F(CooperativeTest, a_death_between_steps_is_not) {
  options.limits.crashes_max = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    g_worker = &restart();
    if (i == 0) start("a", "call", "sense");
    ASSERT_TRUE(drive_until([&] { return g_steps.size() == i + 1; }));
  }
  restart();
  EXPECT_EQ(end_of("a"), "completed silence");
}

struct Large {
  unsigned char bytes[300];
};
ActivityStep large(ActivityContext& ctx, Large&) { return ctx.ok(""); }

TEST_F(CooperativeTest, a_state_that_does_not_fit_is_refused_at_the_start) {
  add("large", large);
  Worker worker(machine, registry, options);
  EXPECT_EQ(worker.start(), Status::kInvalidOptions);
  EXPECT_EQ(worker.diagnostic.text(),
            "the state of large has 300 bytes; cooperative_scratch_bytes is 256");
  options.slots.cooperative_scratch_bytes = 300;
  start_worker();
}

TEST_F(CooperativeTest, without_slots_others_run_it) {
  testing::expect_errors("activity_unregistered");
  const Options usual = options;
  options.slots.cooperative = 0;
  Worker& worker = begin("call", "blink");
  ASSERT_TRUE(drive_until([&] { return worker.lines.count("activity_unregistered") > 0; }));
  options = usual;
  start_worker("other");
  EXPECT_EQ(end_of("a"), "completed blinked");
}

TEST_F(CooperativeTest, the_registry_takes_it_by_its_own_call_alone) {
  EXPECT_EQ(registry.add_activity("x", inline_one, ActivityMode::kCooperative),
            Status::kInvalidArgument);
  EXPECT_EQ(registry.add_cooperative("", blink), Status::kInvalidArgument);
  EXPECT_EQ(registry.add_cooperative("blink", blink), Status::kAlreadyExists);
}

}  // namespace
}  // namespace pawl
