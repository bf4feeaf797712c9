// Goal: the activities of a session run at its owner, before and after the death of a worker.
// Method: whole runtimes on the simulated machine.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "session_story.hpp"

namespace pawl {
namespace {

using testing::CodeTest;
using testing::Worker;

struct Execution {
  std::string session;
  std::string worker;
  std::int64_t epoch;
  std::int64_t attempt;
  bool claimed_now;
  std::string key;
};
std::vector<Execution> g_runs;

ActivityResult note(ActivityContext& ctx) {
  g_runs.push_back({std::string(ctx.session_id()), std::string(ctx.worker_id()),
                    ctx.session_epoch(), ctx.attempt(), ctx.claimed_now(),
                    std::string(ctx.idempotency_key())});
  return ctx.ok(ctx.worker_id());
}

// Runs five activities on the session that its input names, with a pause after each.
Poll five(OrchestrationContext& ctx) {
  for (int i = 0; i < 5; ++i) {
    PAWL_AWAIT(done, ctx.schedule_activity("note", "{}", Target::session(ctx.input())));
    if (!done.ok()) return ctx.fail(done.error());
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  }
  return ctx.complete("five");
}

Poll once(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("note", "{}", Target::session(ctx.input())));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

Poll twice_with_a_long_pause(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("note", "{}", Target::session(ctx.input())));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(30)));
  PAWL_AWAIT(second, ctx.schedule_activity("note", "{}", Target::session(ctx.input())));
  return ctx.complete("both");
}

Poll round_and_round(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("note", "{}", Target::session("sensor")));
  if (!done.ok()) return ctx.fail(done.error());
  if (ctx.execution_id() == 4) return ctx.complete("round");
  return ctx.continue_as_new(ctx.input());
}

class SessionRuntime : public CodeTest {
 protected:
  SessionRuntime() {
    g_runs.clear();
    add("five", five);
    add("once", once);
    add("pause", twice_with_a_long_pause);
    add("round", round_and_round);
    add("note", note);
    EXPECT_EQ(threaded.add_orchestration("five", five), Status::kOk);
    EXPECT_EQ(threaded.add_orchestration("once", once), Status::kOk);
    EXPECT_EQ(threaded.add_activity("note", note, ActivityMode::kThreaded), Status::kOk);
    EXPECT_EQ(deciding.add_orchestration("five", five), Status::kOk);
    EXPECT_EQ(deciding.add_orchestration("once", once), Status::kOk);
  }
  // The runs of each session, in order.
  static std::map<std::string, std::vector<Execution>> by_session() {
    std::map<std::string, std::vector<Execution>> out;
    for (const Execution& run : g_runs)
      out[run.session].push_back(run);
    return out;
  }

  Registry& threaded = another_registry();
};

TEST_F(SessionRuntime, session_pins_to_claiming_worker) {
  start_worker("a");
  start_worker("b");
  for (int i = 0; i < 6; ++i) {
    const std::string name = "s" + std::to_string(i);
    start(name, "five", name);
  }
  ASSERT_TRUE(drive_until([&] {
    for (int i = 0; i < 6; ++i)
      if (is_running("s" + std::to_string(i))) return false;
    return true;
  }));
  for (const auto& [session, runs] : by_session()) {
    ASSERT_EQ(runs.size(), 5U) << session;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(runs[i].worker, runs[0].worker) << session;
      EXPECT_EQ(runs[i].epoch, runs[0].epoch);
      EXPECT_EQ(runs[i].claimed_now, i == 0);
    }
  }
}

TEST_F(SessionRuntime, coordinator_and_worker_only_processes) {
  const Worker& c = boss();
  Worker& a = start_worker(threaded, working("a"));
  Worker& b = start_worker(threaded, working("b"));
  start("x", "five", "sensor-1");
  start("y", "five", "sensor-2");
  ASSERT_TRUE(drive_until([&] { return !is_running("x") && !is_running("y"); }));
  EXPECT_EQ(g_runs.size(), 10U);
  EXPECT_EQ(c.runtime->stats().activities_started, 0U);
  EXPECT_EQ(a.runtime->stats().turns + b.runtime->stats().turns, 0U);
}

TEST_F(SessionRuntime, handoff_at_once_after_a_kill) {
  Worker& c = boss();
  Worker& a = hand("a");
  start("x", "five", "s");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 2; }));
  Worker& b = hand("b");
  a.kill();
  const std::int64_t killed_at = machine.boot_ms();
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 3; }));
  EXPECT_LT(machine.boot_ms() - killed_at, 2'000);  // the pause between two activities is 1 s
  EXPECT_EQ(g_runs[2].worker, "b");
  EXPECT_GT(g_runs[2].epoch, g_runs[1].epoch);
  EXPECT_TRUE(g_runs[2].claimed_now);
  ASSERT_TRUE(ends("x"));
  EXPECT_GE(c.lines.count("session_released") + b.lines.count("session_released"), 1U);
  EXPECT_GE(b.lines.count("session_migrated session=s"), 1U) << b.lines.all();
}

// The worker registered after all others had looked for workers; they know it by its session.
TEST_F(SessionRuntime, a_worker_that_came_last_is_found_dead_at_once) {
  Options full = working("a");
  full.sessions.max_sessions_per_worker = 1;
  Worker& c = boss();
  Worker& a = start_worker(full);
  start("x", "five", "s");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 2; }));
  Worker& b = hand("b");
  start("y", "five", "t");
  ASSERT_TRUE(drive_until([&] { return g_runs.back().worker == "b"; }));
  pass(1'000);
  b.kill();
  pass(1'000);
  EXPECT_EQ(
      c.lines.count("session_released session=t") + a.lines.count("session_released session=t"), 1U)
      << c.lines.all();
}

TEST_F(SessionRuntime, work_in_flight_moves_with_its_session) {
  Worker& c = boss();
  Worker& a = start_worker(threaded, working("a"));
  a.node.hold_jobs(true);
  start("x", "once", "s");
  tick_until_it_works({&a, &c});
  start_worker(threaded, working("b"));
  a.kill();
  EXPECT_EQ(end_of("x"), "completed b");
  ASSERT_EQ(g_runs.size(), 1U);
  EXPECT_EQ(g_runs[0].attempt, 2);
}

TEST_F(SessionRuntime, without_fast_handoff_the_lease_decides) {
  options.leases.fast_handoff = false;
  boss();
  Worker& a = hand("a");
  start("x", "five", "s");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 2; }));
  Worker& b = hand("b");
  a.kill();
  const std::int64_t killed_at = machine.boot_ms();
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 3; }, 180'000)) << b.lines.all();
  EXPECT_GE(machine.boot_ms() - killed_at, 25'000);
  // The bound: the lease, the look at the next renewal, one renewal interval of observation, and
  // its granularity.
  EXPECT_LE(machine.boot_ms() - killed_at, 30'000 + 25'000 + 25'000 + 10'000);
}

// A worker asks the kernel whether its own former process lives, whatever rule applies to others.
TEST_F(SessionRuntime, without_fast_handoff_a_restart_under_the_same_node_starts_at_once) {
  options.leases.fast_handoff = false;
  Worker& former = hand("a");
  Worker beside(machine, registry, working("a"));
  EXPECT_EQ(beside.start(), Status::kNodeIdInUse);
  former.kill();
  const std::int64_t killed_at = machine.boot_ms();
  hand("a");
  EXPECT_EQ(machine.boot_ms(), killed_at);
}

TEST_F(SessionRuntime, restart_under_the_same_node_takes_its_own_back) {
  boss();
  Worker& a = hand("a");
  start("x", "five", "s");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 2; }));
  a.kill();
  hand("a");
  hand("b");
  ASSERT_TRUE(ends("x"));
  for (const Execution& run : g_runs)
    EXPECT_EQ(run.worker, "a");
  EXPECT_GT(g_runs[2].epoch, g_runs[1].epoch);
  EXPECT_TRUE(g_runs[2].claimed_now);
}

TEST_F(SessionRuntime, idle_session_is_released_and_claimed_anew) {
  Worker& a = start_worker("a");
  start("x", "pause", "s");
  ASSERT_TRUE(ends("x", 3'600'000));
  ASSERT_EQ(g_runs.size(), 2U);
  EXPECT_GT(g_runs[1].epoch, g_runs[0].epoch);
  EXPECT_TRUE(g_runs[1].claimed_now);
  EXPECT_EQ(a.lines.count("session_released session=s"), 1U) << a.lines.all();
}

TEST_F(SessionRuntime, capacity_spreads_and_zero_means_none) {
  Options small = named("a");
  small.sessions.max_sessions_per_worker = 2;
  Options none = working("n");
  none.sessions.max_sessions_per_worker = 0;
  start_worker(small);
  start_worker(none);
  hand("b");
  for (int i = 0; i < 5; ++i)
    start("x" + std::to_string(i), "five", "s" + std::to_string(i));
  ASSERT_TRUE(drive_until([&] {
    for (int i = 0; i < 5; ++i)
      if (is_running("x" + std::to_string(i))) return false;
    return true;
  }));
  std::map<std::string, std::set<std::string>> owned;
  for (const Execution& run : g_runs)
    owned[run.worker].insert(run.session);
  EXPECT_LE(owned["a"].size(), 2U);
  EXPECT_GE(owned["b"].size(), 3U);
  EXPECT_EQ(owned.count("n"), 0U);
}

TEST_F(SessionRuntime, session_survives_continue_as_new) {
  start_worker("a");
  start_worker("b");
  start("x", "round");
  ASSERT_TRUE(ends("x"));
  ASSERT_EQ(g_runs.size(), 4U);
  for (const Execution& run : g_runs) {
    EXPECT_EQ(run.worker, g_runs[0].worker);
    EXPECT_EQ(run.epoch, g_runs[0].epoch);
  }
}

TEST_F(SessionRuntime, frozen_owner_loses_its_session_after_its_lease_and_its_late_result_refused) {
  Worker& c = boss();
  Worker& a = start_worker(threaded, working("a"));
  a.node.hold_jobs(true);
  start("x", "once", "s");
  tick_until_it_works({&a, &c});
  // `a` is frozen: it holds its kernel lock and is not driven.
  Worker& b = start_worker(threaded, working("b"));
  ASSERT_TRUE(ends({&c, &b}, "x", 300'000)) << b.lines.all();
  EXPECT_EQ(client().status("x").output, "b");
  // The worker wakes: its activity ends, and the result is refused.
  a.node.hold_jobs(false);
  a.node.run_jobs();
  ASSERT_TRUE(drive_until([&] { return a.runtime->stats().activities_refused == 1; }, 60'000))
      << a.lines.all();
  EXPECT_EQ(client().status("x").output, "b");
}

TEST_F(SessionRuntime, twelve_reboots_in_one_activity_poison_nothing) {
  start("x", "once", "s");
  forget_client();
  for (int reboot = 0; reboot < 12; ++reboot) {
    Worker& a = start_worker(threaded, named("a"));
    a.node.hold_jobs(true);
    tick_until_it_works({&a});
    machine.reboot(5'000);
    a.killed = true;
    workers.clear();
  }
  Worker& a = start_worker(threaded, named("a"));
  ASSERT_TRUE(ends("x")) << a.lines.all();
  EXPECT_EQ(client().status("x").state, OrchestrationState::kCompleted);
  ASSERT_EQ(g_runs.size(), 1U);
  EXPECT_EQ(g_runs[0].attempt, 13);
}

// Rules: S7.
TEST_F(SessionRuntime, stopping_gracefully_hands_over_at_once) {
  Worker& c = boss();
  Worker& a = hand("a");
  start("x", "five", "s");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 2; }));
  Worker& b = hand("b");
  ASSERT_EQ(a.runtime->stop(std::chrono::seconds(1)), Status::kOk);
  const std::int64_t stopped_at = machine.boot_ms();
  ASSERT_TRUE(drive_until({&c, &b}, [&] { return g_runs.size() == 3; }));
  EXPECT_LT(machine.boot_ms() - stopped_at, 2'000);
  EXPECT_EQ(g_runs[2].worker, "b");
}

// Rules: T6.
TEST_F(SessionRuntime, leases_hold_in_2040_and_over_wall_steps) {
  machine.set_wall(2'208'988'800'000);
  Worker& a = start_worker("a");
  start_worker("b");
  start("x", "five", "s");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 2; }));
  machine.set_wall(0);
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 3; }));
  machine.set_wall(4'000'000'000'000);
  ASSERT_TRUE(ends("x"));
  for (const Execution& run : g_runs)
    EXPECT_EQ(run.epoch, g_runs[0].epoch);
  EXPECT_GE(a.runtime->stats().clock_steps, 2U);
}

TEST_F(SessionRuntime, worker_only_process_sleeps_while_timers_are_due_and_no_worker_runs_them) {
  Worker& decider = boss();
  Worker& a = hand("a");
  start("x", "five", "s");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 2; }));
  decider.kill();
  pass(10'000);
  const std::uint64_t ticks = a.runtime->stats().ticks;
  pass(100'000);
  EXPECT_LE(a.runtime->stats().ticks - ticks, 5U * 8U);
}

TEST_F(SessionRuntime, idle_runtimes_wake_for_renewals_alone) {
  Worker& a = start_worker("a");
  pass(60'000);  // the looks after the start
  const std::uint64_t ticks = a.runtime->stats().ticks;
  pass(1'000'000);
  // 1,000 s have 40 renewals, each followed by its chain of four looks, and the sweeps.
  EXPECT_LE(a.runtime->stats().ticks - ticks, 40U * 8U);
}

}  // namespace
}  // namespace pawl
