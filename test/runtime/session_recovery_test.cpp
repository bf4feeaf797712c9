// Goal: the state of a session is made anew wherever it is lost: by kills at every write, by
// several workers, and up to the number of tries.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "session_story.hpp"

namespace pawl {
namespace {

using testing::CodeTest;
using testing::Worker;
using testing::World;
using testing::WorldOptions;

struct Ran {
  std::string what;  // "build" or the input of the work
  std::int64_t epoch = 0;
  std::string worker;
};
std::vector<Ran> g_runs;
int g_builds_that_fail = 0;
int g_building = 0;  // buildings that run now
int g_most_building = 0;
int g_working = 0;
int g_beside_a_building = 0;  // steps of work while a building ran
std::string g_order;
int g_works_that_abort = 0;

ActivityResult build(ActivityContext& ctx) {
  g_runs.push_back({"build", ctx.session_epoch(), std::string(ctx.worker_id())});
  if (g_builds_that_fail > 0 && g_builds_that_fail-- > 0) return ctx.fail("no model");
  return ctx.ok("");
}

ActivityResult work(ActivityContext& ctx) {
  g_runs.push_back({std::string(ctx.input()), ctx.session_epoch(), std::string(ctx.worker_id())});
  return ctx.ok(ctx.input());
}

// Aborts its session, and with it other work of the session.
ActivityResult leave(ActivityContext& ctx) {
  if (g_works_that_abort > 0 && g_works_that_abort-- > 0) ctx.abort_session();
  return ctx.ok("");
}

// Builds in steps, so that another building could begin in between.
ActivityStep build_slowly(ActivityContext& ctx, int& steps) {
  if (steps == 0) g_most_building = std::max(g_most_building, ++g_building);
  if (++steps < 5) return ctx.again_after(std::chrono::milliseconds(50));
  --g_building;
  g_runs.push_back({"build", ctx.session_epoch(), std::string(ctx.worker_id())});
  return ctx.ok("");
}

ActivityStep work_slowly(ActivityContext& ctx, int& steps) {
  if (steps == 0) ++g_working;
  g_beside_a_building += g_building > 0 ? 1 : 0;
  if (++steps < 5) return ctx.again_after(std::chrono::milliseconds(70));
  --g_working;
  g_runs.push_back({std::string(ctx.input()), ctx.session_epoch(), std::string(ctx.worker_id())});
  return ctx.ok(ctx.input());
}

// Notes "a[" at its begin and "a]" at its end. With the input "x" it fails the first time.
ActivityStep in_order(ActivityContext& ctx, int& steps) {
  if (steps == 0) g_order += std::string(ctx.input()) + "[ ";
  if (++steps < 5) return ctx.again_after(std::chrono::milliseconds(50));
  g_order += std::string(ctx.input()) + "] ";
  if (ctx.input() == "x" && ctx.retry_attempt() == 1) return ctx.fail("once more");
  return ctx.ok("");
}

SessionRecovery recovery() {
  SessionRecovery how;
  how.session = "model";
  how.rebuild = "build";
  how.settings.exclusive = true;
  return how;
}

Poll three_turns(OrchestrationContext& ctx) {
  const SessionRecovery how = recovery();
  Outcome out;
  PAWL_CALL(open_rebuilt_session(ctx, how, &out));
  if (!out.ok()) return ctx.fail(out.error());
  std::string said;
  for (const char* input : {"1", "2", "3"}) {
    PAWL_CALL(run_on_session(ctx, how, "work", input, &out));
    if (!out.ok()) return ctx.fail(out.error());
    said += out.value();
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  }
  return ctx.complete(said);
}

// The work waits behind an activity that ends the session.
Poll behind_a_leaver(OrchestrationContext& ctx) {
  SessionRecovery how = recovery();
  how.tries = 1;
  Outcome out;
  PAWL_CALL(open_rebuilt_session(ctx, how, &out));
  if (!out.ok()) return ctx.fail(out.error());
  const auto leaves = [&](OrchestrationContext& branch) -> Poll {
    for (int i = 0; i < 2; ++i) {
      Outcome left;
      PAWL_CALL(run_on_session(branch, how, "leave", "", &left));
    }
    return branch.complete("");
  };
  const Handle branch = ctx.open_branch(leaves);
  PAWL_CALL(run_on_session(ctx, how, "work", "1", &out));
  PAWL_AWAIT_DONE(branch);
  return out.ok() ? ctx.complete(out.value()) : ctx.fail(out.error());
}

// Two branches work on a session that runs several activities at once.
Poll two_branches(OrchestrationContext& ctx) {
  SessionRecovery how = recovery();
  how.settings.exclusive = false;
  how.rebuild = "build_slowly";
  how.activity.start_to_close = std::chrono::seconds(60);
  Outcome out;
  PAWL_CALL(open_rebuilt_session(ctx, how, &out));
  if (!out.ok()) return ctx.fail(out.error());
  const auto works = [&](OrchestrationContext& branch) -> Poll {
    for (const char* input : {"1", "2", "3"}) {
      Outcome done;
      PAWL_CALL(run_on_session(branch, how, "work_slowly", input, &done));
      if (!done.ok()) return branch.fail(done.error());
    }
    return branch.complete("");
  };
  const Handle first = ctx.open_branch(works);
  const Handle second = ctx.open_branch(works);
  PAWL_AWAIT(one, first);
  PAWL_AWAIT(two, second);
  return one.ok() && two.ok() ? ctx.complete("done") : ctx.fail("a branch failed");
}

// Schedules work, a barrier, and work behind it, all on one session.
Poll around_a_barrier(OrchestrationContext& ctx) {
  ActivityOptions on;
  on.target = Target::session("s");
  const Handle a = ctx.schedule_activity("in_order", "a", on);
  const Handle b = ctx.schedule_activity("in_order", "b", on);
  ActivityOptions barrier = on;
  barrier.target = Target::session("s").barrier();
  barrier.retry.max_attempts = 2;
  barrier.retry.base = std::chrono::milliseconds(500);
  const Handle x = ctx.schedule_activity("in_order", "x", barrier);
  const Handle y = ctx.schedule_activity("in_order", "y", barrier);
  const Handle c = ctx.schedule_activity("in_order", "c", on);
  const Handle d = ctx.schedule_activity("in_order", "d", on);
  if (ctx.input() == "cancel") {
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(700)));  // x waits for its retry
    ctx.cancel(x);
    ctx.cancel(y);
  }
  PAWL_AWAIT_DONE(ctx.join(a, b, x, y, c, d));
  PAWL_AWAIT(refused, ctx.schedule_activity("work", "", Target::session("").barrier()));
  return ctx.complete(error_kind_name(refused.error().kind));
}

class SessionRecoveryTest : public CodeTest {
 protected:
  void SetUp() override {
    g_runs.clear();
    g_builds_that_fail = g_works_that_abort = 0;
    g_building = g_most_building = g_working = g_beside_a_building = 0;
    g_order.clear();
    add("build", build);
    add("work", work);
    add("leave", leave);
    add("build_slowly", build_slowly);
    add("work_slowly", work_slowly);
    add("in_order", in_order);
    add("three_turns", three_turns);
    add("behind_a_leaver", behind_a_leaver);
    add("two_branches", two_branches);
    add("around_a_barrier", around_a_barrier);
    ASSERT_EQ(deciding.add_orchestration("three_turns", three_turns), Status::kOk);
    ASSERT_EQ(deciding.add_orchestration("two_branches", two_branches), Status::kOk);
  }
  // Expects that under each epoch a building came before any work.
  static void expect_built_first() {
    std::map<std::int64_t, bool> built;
    for (const Ran& run : g_runs) {
      if (run.what == "build") built[run.epoch] = true;
      EXPECT_TRUE(built[run.epoch]) << run.what << " under epoch " << run.epoch;
    }
  }
  static std::size_t builds() {
    std::size_t count = 0;
    for (const Ran& run : g_runs)
      count += run.what == "build" ? 1U : 0U;
    return count;
  }
};

TEST_F(SessionRecoveryTest, without_a_loss_it_is_built_once) {
  World world(registry);
  ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
  ASSERT_EQ(world.client().start_orchestration("three_turns", InstanceId("i"), ""), Status::kOk);
  OrchestrationStatus status;
  ASSERT_EQ(world.run_until_done("i", &status), Status::kOk);
  EXPECT_EQ(status.output, "123");
  EXPECT_EQ(builds(), 1U);
}

TEST_F(SessionRecoveryTest, a_crash_at_any_write_rebuilds_before_it_works) {
  const std::uint64_t crashes = testing::for_each_crash(7, [&](const WorldOptions& how) {
    g_runs.clear();
    World world(registry, how);
    ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
    ASSERT_EQ(world.client().start_orchestration("three_turns", InstanceId("i"), ""), Status::kOk);
    OrchestrationStatus status;
    ASSERT_EQ(world.run_until_done("i", &status), Status::kOk) << how.crash->at;
    EXPECT_EQ(status.output, "123") << how.crash->at;
    expect_built_first();
  });
  EXPECT_GT(crashes, 20U);
}

// Rules: S39.
TEST_F(SessionRecoveryTest, another_worker_goes_on_where_one_was_killed) {
  testing::expect_errors("activity_unregistered");
  const Worker& decider = boss();
  start("i", "three_turns");
  std::uint64_t lost = 0;
  // There are three pieces of work, so that one is left for the last worker.
  for (const char* node : {"a", "b"}) {
    Worker& one = hand(node);
    // Half a second: each gets through one piece of work at most.
    pass(500);
    lost += one.runtime->stats().sessions_lost;
    one.kill();
    pass(1'000);
  }
  hand("d");
  EXPECT_EQ(end_of("i"), "completed 123");
  expect_built_first();
  // The first worker that sees a death buries the dead worker.
  lost += decider.runtime->stats().sessions_lost;
  EXPECT_GE(lost, 2U);
  EXPECT_EQ(builds(), lost + 1);
}

TEST_F(SessionRecoveryTest, a_building_that_fails_is_the_outcome) {
  g_builds_that_fail = 1;
  World world(registry);
  ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
  ASSERT_EQ(world.client().start_orchestration("three_turns", InstanceId("i"), ""), Status::kOk);
  OrchestrationStatus status;
  ASSERT_EQ(world.run_until_done("i", &status), Status::kOk);
  EXPECT_EQ(status.error, ErrorKind::kApplication);
  EXPECT_EQ(status.output, "no model");
}

TEST_F(SessionRecoveryTest, one_at_a_time_though_several_branches_work_on_the_session) {
  boss();
  Worker& a = hand("a");
  start("i", "two_branches");
  ASSERT_TRUE(drive_until([] { return g_working == 2; }));
  a.kill();
  g_working = 0;
  hand("b");
  EXPECT_EQ(end_of("i"), "completed done");
  EXPECT_EQ(builds(), 3U) << "each branch rebuilds for itself";
  EXPECT_EQ(g_most_building, 1);
  EXPECT_EQ(g_beside_a_building, 0);
  expect_built_first();
}

// Rules: S41.
TEST_F(SessionRecoveryTest, a_barrier_waits_for_what_runs_and_holds_back_what_follows) {
  for (const bool cancelled : {false, true}) {
    g_order.clear();
    World world(registry);
    ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
    ASSERT_EQ(world.client().start_orchestration("around_a_barrier", InstanceId("i"),
                                                 cancelled ? "cancel" : ""),
              Status::kOk);
    OrchestrationStatus status;
    ASSERT_EQ(world.run_until_done("i", &status), Status::kOk);
    EXPECT_EQ(status.output, "invalid_argument");
    EXPECT_EQ(g_order, cancelled ? "a[ b[ a] b] x[ x] c[ d[ c] d] "
                                 : "a[ b[ a] b] x[ x] x[ x] y[ y] c[ d[ c] d] ");
  }
}

TEST_F(SessionRecoveryTest, so_often_and_no_more) {
  for (const int aborts : {1, 2}) {
    g_runs.clear();
    g_works_that_abort = aborts;
    World world(registry);
    ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
    ASSERT_EQ(world.client().start_orchestration("behind_a_leaver", InstanceId("i"), ""),
              Status::kOk);
    OrchestrationStatus status;
    ASSERT_EQ(world.run_until_done("i", &status), Status::kOk);
    EXPECT_EQ(status.error, aborts == 1 ? ErrorKind::kNone : ErrorKind::kSessionLost) << aborts;
    expect_built_first();
  }
}

}  // namespace
}  // namespace pawl
