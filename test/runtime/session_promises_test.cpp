// Goal: a shared session stays at its owner while it works, and is found again where it moves; one
// that fails on loss is lost with its owner. These are the statements of test/build/seed_tests.txt
// that no test of another name shows.
#include <chrono>

#include "session_story.hpp"

namespace pawl {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::SessionStory;
using testing::Worker;

class SessionPromises : public SessionStory {
 protected:
  static Session open_that_fails(OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.fail_on_loss = true;
    return ctx.open_session("s", settings);
  }
  // Runs one long activity on a session that fails on loss; completes with the kind of its error.
  static Code long_one() {
    return [](OrchestrationContext& ctx) {
      PAWL_AWAIT(done, ctx.schedule_activity("slow", "3000", Target::own(open_that_fails(ctx))));
      return ctx.complete(error_kind_name(done.error().kind));
    };
  }
  std::size_t lost() const {
    std::uint64_t sum = 0;
    for (const auto& one : workers)
      if (one->runtime != nullptr) sum += one->runtime->stats().sessions_lost;
    return static_cast<std::size_t>(sum);
  }
};

// ---- shared sessions: work, idling and moving ----

TEST_F(SessionPromises, several_activities_of_one_session_run_at_once_in_its_owner) {
  code([](OrchestrationContext& ctx) {
    Handle all[3];
    for (Handle& one : all)
      one = ctx.schedule_activity("slow", "10", Target::session("s"));
    PAWL_AWAIT_DONE(ctx.join_all(all, 3));
    return ctx.complete("three");
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  const std::int64_t at = machine.boot_ms();
  EXPECT_EQ(end_of("i"), "completed three");
  EXPECT_LT(machine.boot_ms() - at, 20'000);
  EXPECT_EQ(workers_of("s").size(), 1U);
}

TEST_F(SessionPromises, work_for_others_keeps_no_session) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session("idle")));
    for (int i = 0; i < 60; ++i) {
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", Target::session("busy")));
      PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(10)));
    }
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  static_cast<void>(drive_until([&] { return runs.size() >= 59; }, 1'200'000));
  EXPECT_EQ(row("idle").node, "");
  EXPECT_EQ(row("busy").node, "a");
}

// Option A of the design: the next activity finds its state missing, and the code builds it anew.
TEST_F(SessionPromises, cold_state_is_found_and_built_anew) {
  static std::set<std::pair<std::string, std::int64_t>> warm;
  warm.clear();
  add("hydrate", [](ActivityContext& ctx) {
    warm.insert({std::string(ctx.worker_id()), ctx.session_epoch()});
    return ctx.ok("");
  });
  add("turn", [](ActivityContext& ctx) {
    const bool has = warm.count({std::string(ctx.worker_id()), ctx.session_epoch()}) != 0;
    return has ? ctx.ok(ctx.worker_id()) : ctx.fail("unknown_session");
  });
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("hydrate", "", Target::session("s")));
    int rebuilt = 0;
    for (int i = 0; i < 4; ++i) {
      PAWL_AWAIT(done, ctx.schedule_activity("turn", "", Target::session("s")));
      if (!done.ok()) {
        ++rebuilt;
        PAWL_AWAIT_DONE(ctx.schedule_activity("hydrate", "", Target::session("s")));
      }
      PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(5)));
    }
    return ctx.complete(std::to_string(rebuilt));
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  pass(7'000);
  a.kill();
  hand("b");
  EXPECT_EQ(end_of("i"), "completed 1");
}

// Option B of the design: a running activity keeps the session, and dies with its worker.
TEST_F(SessionPromises, keepalive_activity_holds_the_session_through_a_wait) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session("s")));
    PAWL_AWAIT(first, ctx.select(ctx.schedule_wait("user"),
                                 ctx.schedule_activity("slow", "100000", Target::session("s"))));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", Target::session("s")));
    return ctx.complete(std::to_string(first.index()));
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  ASSERT_TRUE(runs_are(2));
  pass(1'800'000);
  raise_event("i", "user");
  EXPECT_EQ(end_of("i"), "completed 0");
  EXPECT_EQ(epochs_of("s").size(), 1U) << "six times the idle timeout";
  pass(5'000);
  EXPECT_EQ(cancelled, 1);
}

// Option C of the design, for an opened session: one message for each change, and none by a replay.
// Rules: S22.
TEST_F(SessionPromises, migration_is_a_message_to_the_orchestration) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.notify = true;
    const Session session = ctx.open_session("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT(claimed, ctx.session_events(session));
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(5)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", Target::own(session)));
    PAWL_AWAIT(released, ctx.session_events(session));
    PAWL_AWAIT(migrated, ctx.session_events(session));
    return ctx.complete(std::string(released.value()) + std::string(migrated.value()));
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  pass(1'000);
  a.kill();
  hand("b");
  EXPECT_EQ(end_of("i"),
            R"(completed {"change":"released","epoch":2,"from":"a","to":"","reason":"buried"})"
            R"({"change":"migrated","epoch":3,"from":"a","to":"b","reason":""})");
}

// ---- sessions that are lost with their owner ----

TEST_F(SessionPromises, in_flight_work_of_a_dead_owner_fails_with_session_lost) {
  code(long_one());
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  hand("b");
  a.kill();
  EXPECT_EQ(end_of("i"), "completed session_lost");
  EXPECT_EQ(runs.size(), 1U) << "nobody else began it";
  EXPECT_EQ(lost(), 1U);
}

// The work is scheduled between the death and its discovery, which only the lease brings here.
TEST_F(SessionPromises, work_scheduled_after_the_death_fails_and_is_not_stranded) {
  wait_for_leases();
  code([](OrchestrationContext& ctx) {
    const Session session = open_that_fails(ctx);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(10)));
    PAWL_AWAIT(done, ctx.schedule_activity("note", "2", Target::own(session)));
    return ctx.complete(error_kind_name(done.error().kind));
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  pass(5'000);
  a.kill();
  hand("b");
  EXPECT_EQ(end_of("i"), "completed session_lost");
  EXPECT_EQ(runs.size(), 1U);
}

// The worker is slow and not dead: either it wins, or the worker that looks for the dead.
TEST_F(SessionPromises, a_slow_worker_and_the_reaper_do_not_both_win) {
  code(long_one());
  Worker& decides = boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  Worker& b = hand("b");
  ASSERT_TRUE(ends({&decides, &b}, "i", 600'000));
  EXPECT_EQ(outcome_of("i"), "completed session_lost");
  pass(60'000);  // it wakes
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(a.runtime->stats().activities_completed, 0U);
  EXPECT_EQ(lost(), 1U);
}

TEST_F(SessionPromises, a_restart_under_the_same_node_id_loses_it_all_the_same) {
  code(long_one());
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  a.kill();
  hand("a");
  EXPECT_EQ(end_of("i"), "completed session_lost");
}

TEST_F(SessionPromises, a_lost_session_is_opened_again_on_another_worker) {
  code([](OrchestrationContext& ctx) {
    for (int tries = 0; tries < 3; ++tries) {
      const Session session = open_that_fails(ctx);
      PAWL_AWAIT(done, ctx.schedule_activity("slow", "20", Target::own(session)));
      if (done.ok()) return ctx.complete(done.value());
      if (done.error().kind != ErrorKind::kSessionLost) return ctx.fail(done.error());
    }
    return ctx.fail("tries");
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  hand("b");
  a.kill();
  EXPECT_EQ(end_of("i"), "completed b");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_GT(runs[1].epoch, runs[0].epoch);
}

// Rules: S21.
TEST_F(SessionPromises, a_session_that_was_never_used_is_not_lost) {
  code([](OrchestrationContext& ctx) {
    const Session session = open_that_fails(ctx);
    PAWL_AWAIT_DONE(ctx.schedule_timer(minutes(1)));
    PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::own(session)));
    return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  pass(5'000);
  a.kill();
  hand("b");
  EXPECT_EQ(end_of("i"), "completed b");
}

}  // namespace
}  // namespace pawl
