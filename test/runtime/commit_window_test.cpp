// Goal: TimingOptions::commit_window gives fewer flushes and a bounded wait, and some commits never
// wait.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using testing::drive;
using testing::TestClient;
using testing::Worker;

constexpr char kPath[] = "/data/pawl.db";
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

class CommitWindowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    g_machine = &machine;
    g_ran.clear();
    ASSERT_EQ(registry.add_orchestration("sensor", sensor), Status::kOk);
    ASSERT_EQ(registry.add_orchestration("steps", steps), Status::kOk);
    ASSERT_EQ(registry.add_orchestration("hurried", hurried), Status::kOk);
    ASSERT_EQ(registry.add_orchestration("fan", fan), Status::kOk);
    ASSERT_EQ(registry.add_activity("sample", sample), Status::kOk);
    ASSERT_EQ(registry.add_activity("move_valve", move_valve), Status::kOk);
  }
  static Options options(std::int64_t window_ms) {
    Options out;
    out.database_path = kPath;
    out.verify_turns = true;
    out.timing.commit_window = std::chrono::milliseconds(window_ms);
    return out;
  }
  // Runs an instance to its end; returns how long it took, in ms.
  std::int64_t time_of(Options given, const char* orchestration, const char* input) {
    Worker worker(machine, registry, given);
    EXPECT_EQ(worker.start(), Status::kOk) << worker.diagnostic.text();
    TestClient client(machine, kPath);
    machine.advance(1'000);  // the window that the registration opened ends
    const std::int64_t begin = machine.boot_ms();
    EXPECT_EQ(client->start_orchestration(orchestration, InstanceId("a"), input), Status::kOk);
    EXPECT_TRUE(drive(machine, {&worker},
                      [&] { return client.status("a").state != OrchestrationState::kRunning; }));
    EXPECT_EQ(client.status("a").state, OrchestrationState::kCompleted) << worker.lines.all();
    return machine.boot_ms() - begin;
  }
  // Returns the commits of ten sensors, each with its own phase; *took is set to the time until the
  // last one ended.
  std::uint64_t commits_of_sensors(std::int64_t window_ms, std::int64_t* took) {
    const std::string path = "/data/" + std::to_string(window_ms) + ".db";
    Options given = options(window_ms);
    given.database_path = path;
    Worker worker(machine, registry, given);
    EXPECT_EQ(worker.start(), Status::kOk) << worker.diagnostic.text();
    TestClient client(machine, path.c_str());
    const std::int64_t begin = machine.boot_ms();
    for (int i = 0; i < kSensors; ++i)
      EXPECT_EQ(client->start_orchestration("sensor", InstanceId("s" + std::to_string(i)),
                                            std::to_string(i * 17)),
                Status::kOk);
    EXPECT_TRUE(drive(machine, {&worker}, [&] {
      return worker.runtime->stats().orchestrations_completed == kSensors;
    }));
    *took = machine.boot_ms() - begin;
    return worker.runtime->stats().commits;
  }

  sim::Machine machine{7};
  Registry registry;
};

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
  EXPECT_EQ(time_of(options(0), "steps", "sample"), 0);
}

TEST_F(CommitWindowTest, a_step_waits_for_one_window) {
  EXPECT_EQ(time_of(options(kWindowMs), "steps", "sample"), kSamples * kWindowMs);
  EXPECT_EQ(g_ran.size(), 4U);
  for (std::size_t i = 1; i < g_ran.size(); ++i)
    EXPECT_EQ(g_ran[i] - g_ran[i - 1], kWindowMs);
}

TEST_F(CommitWindowTest, an_activity_that_actuates_asks_for_its_commit) {
  EXPECT_EQ(time_of(options(kWindowMs), "steps", "move_valve"), 0);
}

TEST_F(CommitWindowTest, a_result_is_not_kept_waiting_beyond_its_own_limit) {
  EXPECT_EQ(time_of(options(kWindowMs), "hurried", ""), 0);
}

TEST_F(CommitWindowTest, a_machine_with_nothing_left_to_do_does_not_wait) {
  Options few = options(kWindowMs);
  few.slots.inline_activities = 4;
  // Ten commits for forty activities; only work that fills no slot waits.
  EXPECT_LE(time_of(few, "fan", ""), 2 * kWindowMs);
}

TEST_F(CommitWindowTest, a_piggybacked_call_is_answered_at_once) {
  Worker worker(machine, registry, options(5'000));
  ASSERT_EQ(worker.start(), Status::kOk);
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
    ASSERT_TRUE(drive(machine, {&worker}, [&] { return answered == i + 1; }));
  }
  EXPECT_EQ(machine.boot_ms(), begin);
}

TEST_F(CommitWindowTest, a_stop_does_not_wait) {
  Worker worker(machine, registry, options(5'000));
  ASSERT_EQ(worker.start(), Status::kOk);
  TestClient client(machine, kPath);
  machine.advance(6'000);
  ASSERT_EQ(client->start_orchestration("steps", InstanceId("a"), "sample"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&worker}, [&] { return g_ran.size() == 1; }));
  const std::int64_t begin = machine.boot_ms();
  EXPECT_EQ(worker.runtime->stop(std::chrono::seconds(1)), Status::kOk);
  EXPECT_EQ(worker.runtime->stats().activities_completed, 1U);
  EXPECT_EQ(machine.boot_ms(), begin);
}

TEST_F(CommitWindowTest, a_kill_within_the_window_runs_the_activity_again) {
  TestClient client(machine, kPath);
  {
    Worker worker(machine, registry, options(5'000));
    ASSERT_EQ(worker.start(), Status::kOk);
    machine.advance(6'000);
    ASSERT_EQ(client->start_orchestration("steps", InstanceId("a"), "sample"), Status::kOk);
    ASSERT_TRUE(drive(machine, {&worker}, [&] { return g_ran.size() == 1; }));
    worker.kill();
  }
  Worker again(machine, registry, options(0));
  ASSERT_EQ(again.start(), Status::kOk) << again.diagnostic.text();
  ASSERT_TRUE(drive(machine, {&again},
                    [&] { return client.status("a").state != OrchestrationState::kRunning; }));
  EXPECT_EQ(client.status("a").output, "done");
  EXPECT_EQ(g_ran.size(), 5U);  // the first one ran twice
}

}  // namespace
}  // namespace pawl
