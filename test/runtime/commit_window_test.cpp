// Goal: TimingOptions::commit_window gives fewer flushes and a bounded wait, and some commits never
// wait.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using testing::Gateway;
using testing::GatewayTest;
using testing::TestClient;
using testing::Worker;

constexpr std::int64_t kWindowMs = 200;
constexpr int kSensors = 10;
constexpr int kSamples = 4;

sim::Machine* g_machine = nullptr;
std::vector<std::int64_t> g_ran;  // when each sample ran, boot time in ms

ActivityResult sample(ActivityContext& ctx) {
  g_ran.push_back(g_machine->boot_ms());
  return ctx.ok(ctx.input());
}

ActivityResult move_valve(ActivityContext& ctx) {
  g_ran.push_back(g_machine->boot_ms());
  ctx.commit_now();
  return ctx.ok(ctx.input());
}

// Takes samples once a second, at a phase of its own.
Poll sensor(OrchestrationContext& ctx) {
  const int phase = std::stoi(std::string(ctx.input()));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(phase)));
  for (int i = 0; i < kSamples; ++i) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
    PAWL_AWAIT(value, ctx.schedule_activity("sample", "x"));
    if (!value.ok()) return ctx.fail(value.error());
  }
  return ctx.complete("done");
}

Poll steps(OrchestrationContext& ctx) {
  for (int i = 0; i < kSamples; ++i) {
    PAWL_AWAIT(value, ctx.schedule_activity(ctx.input(), "x"));
    if (!value.ok()) return ctx.fail(value.error());
  }
  return ctx.complete("done");
}

Poll hurried(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.start_to_close = std::chrono::milliseconds(kWindowMs / 2);
  PAWL_AWAIT(value, ctx.schedule_activity("sample", "x", options));
  return value.ok() ? ctx.complete("in time") : ctx.fail(value.error());
}

Poll fan(OrchestrationContext& ctx) {
  Handle all[40];
  for (Handle& one : all)
    one = ctx.schedule_activity("sample", "x");
  PAWL_AWAIT_DONE(ctx.join_all(all, 40));
  return ctx.complete("all");
}

class CommitWindowTest : public GatewayTest {
 protected:
  void SetUp() override {
    g_machine = &machine;
    g_ran.clear();
    add("sensor", sensor);
    add("steps", steps);
    add("hurried", hurried);
    add("fan", fan);
    add("sample", sample);
    add("move_valve", move_valve);
  }
  void set_window(std::int64_t ms) { options.timing.commit_window = std::chrono::milliseconds(ms); }
  // Runs an instance to its end under this window; returns how long it took, in ms.
  std::int64_t time_under(std::int64_t window_ms, const char* orchestration, const char* input) {
    set_window(window_ms);
    start_worker();
    TestClient& by = client();
    machine.advance(1'000);  // the window that the registration opened ends
    const std::int64_t begin = machine.boot_ms();
    EXPECT_EQ(by->start_orchestration(orchestration, InstanceId("a"), input), Status::kOk);
    EXPECT_EQ(end_of("a").substr(0, 9), "completed");
    return machine.boot_ms() - begin;
  }
  // Returns the commits of ten sensors, each with its own phase; *took is set to the time until the
  // last one ended.
  std::uint64_t commits_of_sensors(std::int64_t window_ms, std::int64_t* took) {
    set_window(window_ms);
    Gateway own;
    const Worker& worker = own.start_worker(registry, options);
    g_machine = &own.machine;
    const std::int64_t begin = own.machine.boot_ms();
    for (int i = 0; i < kSensors; ++i)
      own.start("s" + std::to_string(i), "sensor", std::to_string(i * 17));
    EXPECT_TRUE(own.drive_until(
        [&] { return worker.runtime->stats().orchestrations_completed == kSensors; }));
    *took = own.machine.boot_ms() - begin;
    return worker.runtime->stats().commits;
  }
};

// A flush that takes longer than a tick may does not put each activity into a tick of its own.
TEST_F(CommitWindowTest, slow_flushes_cost_no_further_ones) {
  std::uint64_t commits[2] = {};
  for (const bool is_slow : {false, true}) {
    Gateway own;
    const Worker& worker = own.start_worker(registry, options);
    g_machine = &own.machine;
    own.machine.set_sync_ms(is_slow ? 70 : 0);
    own.start("a", "fan");
    EXPECT_EQ(own.end_of("a"), "completed all");
    commits[is_slow ? 1 : 0] = worker.runtime->stats().commits;
  }
  EXPECT_EQ(commits[1], commits[0]);
}

TEST_F(CommitWindowTest, work_of_many_gathers_in_fewer_flushes_within_the_bound) {
  std::int64_t took_alone = 0;
  std::int64_t took_gathered = 0;
  const std::uint64_t alone = commits_of_sensors(0, &took_alone);
  const std::uint64_t gathered = commits_of_sensors(kWindowMs, &took_gathered);
  // Two commits for a sample of each sensor, compared with two windows a second for all of them.
  EXPECT_GE(alone, static_cast<std::uint64_t>(2 * kSensors * kSamples));
  EXPECT_LT(gathered * 4, alone);
  EXPECT_LE(gathered, static_cast<std::uint64_t>(took_gathered / kWindowMs + 2));
  // Each step waits for one window at most.
  EXPECT_LE(took_gathered, took_alone + (2 * kSamples + 2) * kWindowMs);
}

TEST_F(CommitWindowTest, the_first_step_after_a_pause_waits_for_no_other) {
  EXPECT_EQ(time_under(0, "steps", "sample"), 0);
}

TEST_F(CommitWindowTest, a_step_waits_for_one_window) {
  EXPECT_EQ(time_under(kWindowMs, "steps", "sample"), kSamples * kWindowMs);
  EXPECT_EQ(g_ran.size(), 4U);
  for (std::size_t i = 1; i < g_ran.size(); ++i)
    EXPECT_EQ(g_ran[i] - g_ran[i - 1], kWindowMs);
}

TEST_F(CommitWindowTest, an_activity_that_actuates_asks_for_its_commit) {
  EXPECT_EQ(time_under(kWindowMs, "steps", "move_valve"), 0);
}

TEST_F(CommitWindowTest, a_result_is_not_kept_waiting_beyond_its_own_limit) {
  EXPECT_EQ(time_under(kWindowMs, "hurried", ""), 0);
}

TEST_F(CommitWindowTest, a_machine_with_nothing_left_to_do_does_not_wait) {
  options.slots.inline_activities = 4;
  // Ten commits for forty activities; only work that fills no slot waits.
  EXPECT_LE(time_under(kWindowMs, "fan", ""), 2 * kWindowMs);
}

TEST_F(CommitWindowTest, a_piggybacked_call_is_answered_at_once) {
  set_window(5'000);
  Worker& worker = start_worker();
  static int answered;
  answered = 0;
  const Answer answer = [](void*, Status status) noexcept {
    EXPECT_EQ(status, Status::kOk);
    ++answered;
  };
  const std::int64_t begin = machine.boot_ms();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(worker.runtime->start_orchestration("steps", InstanceId("r" + std::to_string(i)),
                                                  "sample", {}, answer),
              Status::kOk);
    ASSERT_TRUE(drive_until([&] { return answered == i + 1; }));
  }
  EXPECT_EQ(machine.boot_ms(), begin);
}

TEST_F(CommitWindowTest, a_stop_does_not_wait) {
  set_window(5'000);
  Worker& worker = start_worker();
  machine.advance(6'000);
  start("a", "steps", "sample");
  ASSERT_TRUE(drive_until([&] { return g_ran.size() == 1; }));
  const std::int64_t begin = machine.boot_ms();
  EXPECT_EQ(worker.runtime->stop(std::chrono::seconds(1)), Status::kOk);
  EXPECT_EQ(worker.runtime->stats().activities_completed, 1U);
  EXPECT_EQ(machine.boot_ms(), begin);
}

TEST_F(CommitWindowTest, a_kill_within_the_window_runs_the_activity_again) {
  set_window(5'000);
  start_worker();
  machine.advance(6'000);
  start("a", "steps", "sample");
  ASSERT_TRUE(drive_until([&] { return g_ran.size() == 1; }));
  set_window(0);
  restart();
  EXPECT_EQ(end_of("a"), "completed done");
  EXPECT_EQ(g_ran.size(), 5U);  // the first one ran twice
}

}  // namespace
}  // namespace pawl
