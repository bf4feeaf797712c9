// Goal: the tests of explicit sessions in test/build/seed_tests.txt pass, in the order of that
// list. An error of the orchestration in the list is an error at the await here, which the code may
// pass on.
#include <chrono>

#include "session_story.hpp"

namespace pawl {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::SessionStory;
using testing::Worker;

// Schedules an activity on a session that this execution need not have opened.
Handle on(OrchestrationContext& ctx, std::string_view session, std::string_view input,
          const char* name = "note") {
  ActivityOptions options;
  options.target = Target::own(session);
  return ctx.schedule_activity(name, input, options);
}

Poll pass_on(OrchestrationContext& ctx, const Outcome& outcome) {
  return outcome.ok() ? ctx.complete(outcome.value()) : ctx.fail(outcome.error());
}

class ExplicitSessions : public SessionStory {
 protected:
  // Runs `first` until it waits, restarts, and runs `second` over its history.
  OrchestrationState replaced(Code first, Code second) {
    code(std::move(first));
    start_worker("a");
    start("i", "code");
    pass(500);
    workers.back()->stop();
    code(std::move(second));
    start_worker("a");
    pass(20'000);
    return client().status("i").state;
  }
  // Two activities of one opened session, `pause` apart.
  static Code two(std::chrono::milliseconds pause, SessionSettings settings = {}) {
    return [=](OrchestrationContext& ctx) {
      const Session session = ctx.open_session("s", settings);
      PAWL_AWAIT(first, ctx.schedule_activity("note", "1", Target::own(session)));
      if (!first.ok()) return ctx.fail(first.error());
      PAWL_AWAIT_DONE(ctx.schedule_timer(pause));
      PAWL_AWAIT(second, ctx.schedule_activity("note", "2", Target::own(session)));
      return pass_on(ctx, second);
    };
  }
  std::size_t of_kind(std::string_view kind) { return count(history("i"), kind); }
};

// ---- opening and closing ----

TEST_F(ExplicitSessions, open_session_returns_unique_id) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session one = ctx.open_session();
              const Session two = ctx.open_session();
              if (one.id().empty() || two.id().empty()) return ctx.fail("empty");
              return ctx.complete(one.id() == two.id() ? "same" : "unique");
            }),
            "completed unique");
}

TEST_F(ExplicitSessions, open_session_with_id_returns_given_id) {
  EXPECT_EQ(
      run([](OrchestrationContext& ctx) { return ctx.complete(ctx.open_session("my-id").id()); }),
      "completed my-id");
}

TEST_F(ExplicitSessions, open_session_with_id_idempotent) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session one = ctx.open_session("X");
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(one)));
              const Session again = ctx.open_session("X");
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", Target::own(again)));
              return ctx.complete(again.id());
            }),
            "completed X");
  EXPECT_EQ(epochs_of("X").size(), 1U);
}

TEST_F(ExplicitSessions, close_session_succeeds) {
  code([](OrchestrationContext& ctx) {
    const Session one = ctx.open_session();
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(10)));
    const ErrorKind closed = ctx.close_session(one.id());
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(10)));
    return ctx.complete(error_kind_name(closed));
  });
  start_worker("a");
  start("i", "code");
  pass(5'000);
  EXPECT_EQ(rows().size(), 1U);
  pass(10'000);
  // The end of an instance would close its sessions, too: this one still runs.
  ASSERT_TRUE(is_running("i"));
  EXPECT_TRUE(rows().empty());
  EXPECT_EQ(end_of("i"), "completed none");
}

TEST_F(ExplicitSessions, close_session_idempotent) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session one = ctx.open_session();
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(one)));
              for (int i = 0; i < 2; ++i) {
                if (ctx.close_session(one.id()) != ErrorKind::kNone) return ctx.fail("close");
                PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
              }
              return ctx.complete("twice");
            }),
            "completed twice");
}

TEST_F(ExplicitSessions, close_session_nonexistent_noop) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              return ctx.complete(error_kind_name(ctx.close_session("never-opened")));
            }),
            "completed none");
}

TEST_F(ExplicitSessions, open_close_open_same_id) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session one = ctx.open_session("X");
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(one)));
              static_cast<void>(ctx.close_session("X"));
              PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
              const Session again = ctx.open_session("X");
              PAWL_AWAIT(done, ctx.schedule_activity("note", "2", Target::own(again)));
              return done.ok() ? ctx.complete("usable") : ctx.fail(done.error());
            }),
            "completed usable");
  EXPECT_EQ(epochs_of("X").size(), 2U);
}

TEST_F(ExplicitSessions, multiple_sessions_open_concurrently) {
  EXPECT_EQ(
      run([](OrchestrationContext& ctx) {
        const Session all[] = {ctx.open_session("a"), ctx.open_session("b"), ctx.open_session("c")};
        for (const Session& one : all) {
          PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::own(one)));
          if (!done.ok()) return ctx.fail(done.error());
        }
        return ctx.complete("three");
      }),
      "completed three");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_NE(runs[0].epoch, runs[1].epoch);
}

TEST_F(ExplicitSessions, session_events_in_history) {
  static_cast<void>(run([](OrchestrationContext& ctx) {
    static_cast<void>(ctx.open_session("X"));
    static_cast<void>(ctx.close_session("X"));
    return ctx.complete("");
  }));
  std::string seen;
  for (const auto& event : history("i"))
    if (event.kind.rfind("session_", 0) == 0) seen += event.kind + " " + event.name + ";";
  EXPECT_EQ(seen, "session_open X;session_close X;");
}

// ---- routing of activities ----

TEST_F(ExplicitSessions, session_activity_routes_to_same_worker) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    for (int i = 0; i < 3; ++i)
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", std::to_string(i), Target::own(session)));
    return ctx.complete("");
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  static_cast<void>(end_of("i"));
  EXPECT_EQ(runs.size(), 3U);
  EXPECT_EQ(workers_of("s").size(), 1U);
}

TEST_F(ExplicitSessions, session_activity_routes_consistently_across_turns) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", Target::own(session)));
    return ctx.complete("");
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  pass(60'000);
  raise_event("i", "go");
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_EQ(workers_of("s").size(), 1U);
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

TEST_F(ExplicitSessions, different_sessions_can_route_to_different_workers) {
  options.sessions.max_sessions_per_worker = 1;
  code([](OrchestrationContext& ctx) {
    const Handle both[] = {ctx.schedule_activity("note", "1", Target::own(ctx.open_session("A"))),
                           ctx.schedule_activity("note", "1", Target::own(ctx.open_session("B")))};
    PAWL_AWAIT_DONE(ctx.join_all(both, 2));
    return ctx.complete("");
  });
  boss();
  hand("a");
  hand("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_NE(workers_of("A"), workers_of("B"));
}

TEST_F(ExplicitSessions, non_session_activity_unaffected) {
  options.sessions.max_sessions_per_worker = 1;
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT(free, ctx.schedule_activity("note", "2"));
    return pass_on(ctx, free);
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  EXPECT_TRUE(a.running());
  hand("b");
  EXPECT_EQ(end_of("i").substr(0, 10), "completed ");
  EXPECT_EQ(workers_of("").size(), 1U);
}

TEST_F(ExplicitSessions, session_id_available_in_activity_context) {
  static_cast<void>(run([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(ctx.open_session("X"))));
    return ctx.complete("");
  }));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].session, "X");
}

TEST_F(ExplicitSessions, non_session_activity_has_none_session_id) {
  static_cast<void>(run([](OrchestrationContext& ctx) {
    static_cast<void>(ctx.open_session("X"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", ""));
    return ctx.complete("");
  }));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].session, "");
}

// ---- ownership and capacity ----

TEST_F(ExplicitSessions, two_workers_claim_different_sessions) {
  options.sessions.max_sessions_per_worker = 1;
  code(two(seconds(2)));
  boss();
  hand("a");
  hand("b");
  start("i", "code");
  start("j", "code");
  static_cast<void>(end_of("i"));
  static_cast<void>(end_of("j"));
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(workers_of("s").size(), 2U) << "two sessions of one name, of two instances";
  for (const Run& one : runs)
    for (const Run& other : runs)
      EXPECT_TRUE(one.instance != other.instance || one.worker == other.worker);
}

TEST_F(ExplicitSessions, session_exclusively_owned) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    Handle all[10];
    for (Handle& one : all)
      one = ctx.schedule_activity("note", "1", Target::own(session));
    PAWL_AWAIT_DONE(ctx.join_all(all, 10));
    return ctx.complete("");
  });
  options.slots.inline_activities = 1;
  boss();
  Worker& a = hand("a");
  Worker& b = hand("b");
  start("i", "code");
  static_cast<void>(end_of("i"));
  EXPECT_EQ(runs.size(), 10U);
  EXPECT_EQ(workers_of("s").size(), 1U);
  EXPECT_EQ(a.runtime->stats().sessions_claimed + b.runtime->stats().sessions_claimed, 1U);
}

TEST_F(ExplicitSessions, max_sessions_per_runtime_enforced) {
  options.sessions.max_sessions_per_worker = 2;
  options.sessions.evict_idle = std::chrono::milliseconds(0);
  code([](OrchestrationContext& ctx) {
    Handle all[3];
    const char* const names[] = {"A", "B", "C"};
    for (int i = 0; i < 3; ++i)
      all[i] = ctx.schedule_activity("note", "1", Target::own(ctx.open_session(names[i])));
    PAWL_AWAIT_DONE(ctx.join_all(all, 3));
    return ctx.complete("three");
  });
  boss();
  hand("a");
  start("i", "code");
  pass(10'000);
  EXPECT_EQ(runs.size(), 2U) << "the third waits";
  hand("b");
  EXPECT_EQ(end_of("i"), "completed three");
  EXPECT_EQ(runs[2].worker, "b");
}

TEST_F(ExplicitSessions, at_capacity_worker_still_processes_nonsession) {
  options.sessions.max_sessions_per_worker = 1;
  EXPECT_EQ(
      run([](OrchestrationContext& ctx) {
        PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(ctx.open_session("A"))));
        static_cast<void>(ctx.schedule_activity("note", "2", Target::own(ctx.open_session("B"))));
        PAWL_AWAIT(free, ctx.schedule_activity("note", "3"));
        return pass_on(ctx, free);
      }),
      "completed a");
  EXPECT_TRUE(workers_of("B").empty());
}

TEST_F(ExplicitSessions, at_capacity_worker_still_processes_owned_sessions) {
  options.sessions.max_sessions_per_worker = 1;
  EXPECT_EQ(
      run([](OrchestrationContext& ctx) {
        const Session session = ctx.open_session("A");
        PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
        static_cast<void>(ctx.schedule_activity("note", "2", Target::own(ctx.open_session("B"))));
        PAWL_AWAIT(owned, ctx.schedule_activity("note", "3", Target::own(session)));
        return pass_on(ctx, owned);
      }),
      "completed a");
}

// ---- renewal, idle sessions ----

TEST_F(ExplicitSessions, session_lock_renewed_during_activity) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT(done, ctx.schedule_activity("slow", "300", Target::own(session)));
    return pass_on(ctx, done);
  });
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  for (int i = 0; i < 10; ++i) {
    pass(26'000);
    EXPECT_GT(row("s").lease_ms, 0) << i;
  }
  EXPECT_EQ(end_of("i"), "completed a");
}

TEST_F(ExplicitSessions, session_lock_renewed_between_turns) {
  code(two(minutes(20)));
  start_worker("a");
  start_worker("b");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  for (int i = 0; i < 10; ++i) {
    pass(60'000);
    EXPECT_GT(row("s").lease_ms, 0) << i;
  }
  static_cast<void>(end_of("i", 3'600'000));
  EXPECT_EQ(workers_of("s").size(), 1U);
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

TEST_F(ExplicitSessions, session_lock_renewal_stops_on_close) {
  testing::expect_errors("activity_abandoned");
  // Running work keeps the row of an exclusive session.
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.exclusive = true;
    const Session session = ctx.open_session("s", settings);
    const Handle late = ctx.schedule_activity("late", "1", Target::own(session));
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(3)));
    static_cast<void>(ctx.close_session("s"));
    PAWL_AWAIT_DONE(late);
    PAWL_AWAIT_DONE(ctx.schedule_timer(minutes(5)));
    return ctx.complete("");
  });
  add(
      "late", [](ActivityContext& ctx) { return ctx.ok("late"); }, ActivityMode::kThreaded);
  Worker& a = start_worker("a");
  a.node.hold_jobs(true);
  start("i", "code");
  const auto seconds_go_by = [&](int count) {
    for (int i = 0; i < count * 10; ++i) {
      static_cast<void>(a.runtime->tick(std::chrono::milliseconds::max()));
      machine.advance(100);
    }
  };
  seconds_go_by(2);
  ASSERT_EQ(row("s").node, "a");
  ASSERT_GT(row("s").lease_ms, 0);
  seconds_go_by(200);
  ASSERT_EQ(of_kind("session_close"), 1U);
  ASSERT_EQ(row("s").name, "s") << "its work still runs";
  EXPECT_EQ(row("s").node, "") << "no renewal brings it back";
  EXPECT_EQ(row("s").lease_ms, 0);
  a.node.hold_jobs(false);
  seconds_go_by(10);
  EXPECT_TRUE(rows().empty());
  EXPECT_EQ(a.runtime->stats().failed_ticks, 0U);
}

TEST_F(ExplicitSessions, session_lock_renewal_stops_on_shutdown) {
  code(two(seconds(5)));
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  hand("b");
  a.stop();
  EXPECT_EQ(row("s").node, "") << "claimable at once";
  EXPECT_EQ(end_of("i"), "completed b");
}

TEST_F(ExplicitSessions, idle_timeout_none_keeps_session_forever) {
  code(two(hours(10)));
  start_worker("a");
  start_worker("b");
  start("i", "code");
  static_cast<void>(end_of("i", 40'000'000));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

TEST_F(ExplicitSessions, idle_timeout_releases_after_duration) {
  SessionSettings settings;
  settings.idle_timeout = std::chrono::seconds(2);
  code(two(minutes(2), settings));
  boss();
  hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  pass(2'000 + 25'000 + 1'000);  // plus the renewal that finds it idle
  EXPECT_EQ(row("s").node, "");
  hand("b");
  ASSERT_EQ(client()->drain_worker("a"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed b");
}

// ---- crashes and stops, seen by the lease alone ----

TEST_F(ExplicitSessions, crash_then_reclaim) {
  wait_for_leases();
  code(two(seconds(5)));
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  a.kill();
  hand("b");
  const std::int64_t at = machine.boot_ms();
  EXPECT_EQ(end_of("i"), "completed b");
  EXPECT_GE(machine.boot_ms() - at, 25'000);
}

TEST_F(ExplicitSessions, crash_app_detects_cold_state) {
  code(two(seconds(5)));
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  pass(500);  // its result is stored
  a.kill();
  hand("b");
  EXPECT_EQ(end_of("i"), "completed b");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_TRUE(runs[1].claimed_now) << "what this process keeps for it is cold";
}

TEST_F(ExplicitSessions, crash_inflight_activity_retried) {
  wait_for_leases();
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(done, ctx.schedule_activity("slow", "20", Target::own(ctx.open_session("s"))));
    return pass_on(ctx, done);
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  a.kill();
  hand("b");
  EXPECT_EQ(end_of("i"), "completed b");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].attempt, 2);
}

TEST_F(ExplicitSessions, crash_multiple_sessions_all_reclaimed) {
  wait_for_leases();
  code([](OrchestrationContext& ctx) {
    const Session all[] = {ctx.open_session("A"), ctx.open_session("B"), ctx.open_session("C")};
    for (int round = 0; round < 2; ++round) {
      for (const Session& one : all)
        PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(one)));
      PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(5)));
    }
    return ctx.complete("");
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(3));
  a.kill();
  hand("b");
  EXPECT_EQ(end_of("i"), "completed ");
  for (const char* name : {"A", "B", "C"})
    EXPECT_EQ(workers_of(name).size(), 2U) << name;
}

TEST_F(ExplicitSessions, graceful_shutdown_releases_locks_immediately) {
  wait_for_leases();
  code(two(seconds(1)));
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  hand("b");
  a.stop();
  EXPECT_EQ(end_of("i", 5'000), "completed b");
}

// The activity does not end within the grace of the stop.
TEST_F(ExplicitSessions, graceful_shutdown_inflight_activities_cancelled) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(done, ctx.schedule_activity("slow", "20", Target::own(ctx.open_session("s"))));
    return pass_on(ctx, done);
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  hand("b");
  a.stop();
  EXPECT_EQ(end_of("i"), "completed b");
  EXPECT_EQ(runs.size(), 2U);
  EXPECT_EQ(ended_slow, 1) << "b's";
}

// ---- closing while work runs, and opening again ----

TEST_F(ExplicitSessions, close_reopen_different_worker) {
  code([](OrchestrationContext& ctx) {
    const Session one = ctx.open_session();
    PAWL_AWAIT(first, ctx.schedule_activity("note", "1", Target::own(one)));
    static_cast<void>(ctx.close_session(one.id()));
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(10)));
    const Session two = ctx.open_session();
    PAWL_AWAIT(second, ctx.schedule_activity("note", "2", Target::own(two)));
    return pass_on(ctx, second);
  });
  boss();
  hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  hand("b");
  pass(1'000);
  ASSERT_EQ(client()->drain_worker("a"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed b");
  EXPECT_TRUE(runs[1].claimed_now);
}

TEST_F(ExplicitSessions, dehydrate_close_timer_open_hydrate) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              for (int round = 0; round < 2; ++round) {
                const Session session = ctx.open_session();
                PAWL_AWAIT(warm, ctx.schedule_activity("note", "hydrate", Target::own(session)));
                PAWL_AWAIT(turn, ctx.schedule_activity("note", "turn", Target::own(session)));
                PAWL_AWAIT(cold, ctx.schedule_activity("note", "dehydrate", Target::own(session)));
                if (!warm.ok() || !turn.ok() || !cold.ok()) return ctx.fail("work");
                static_cast<void>(ctx.close_session(session.id()));
                PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
              }
              return ctx.complete("twice");
            }),
            "completed twice");
  ASSERT_EQ(runs.size(), 6U);
  EXPECT_EQ(runs[3].input, "hydrate");
  EXPECT_TRUE(runs[3].claimed_now);
  EXPECT_NE(runs[3].epoch, runs[2].epoch);
}

TEST_F(ExplicitSessions, close_cancels_inflight_session_activities) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.open_session("s");
              const Handle slow = ctx.schedule_activity("slow", "100", Target::own(session));
              PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(3)));
              static_cast<void>(ctx.close_session("s"));
              PAWL_AWAIT(done, slow);
              return ctx.complete(error_kind_name(done.error().kind));
            }),
            "completed session_closed");
  pass(30'000);
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(ended_slow, 0);
}

TEST_F(ExplicitSessions, close_ignores_late_completions) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    const Handle late = ctx.schedule_activity("late", "1", Target::own(session));
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(3)));
    static_cast<void>(ctx.close_session("s"));
    PAWL_AWAIT(done, late);
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(30)));
    return ctx.complete(error_kind_name(done.error().kind));
  });
  add(
      "late", [](ActivityContext& ctx) { return ctx.ok("late"); }, ActivityMode::kThreaded);
  Worker& decides = boss();
  Worker& a = hand("a");
  a.node.hold_jobs(true);
  start("i", "code");
  for (int i = 0; i < 60; ++i) {
    static_cast<void>(decides.runtime->tick(std::chrono::milliseconds::max()));
    static_cast<void>(a.runtime->tick(std::chrono::milliseconds::max()));
    machine.advance(100);
  }
  ASSERT_EQ(a.runtime->stats().activities_started, 1U);
  ASSERT_EQ(of_kind("session_close"), 1U);
  a.node.hold_jobs(false);
  EXPECT_EQ(end_of("i"), "completed session_closed");
  EXPECT_EQ(a.runtime->stats().activities_completed, 0U) << "it came, and was refused";
}

// ---- wrong use, and limits ----

TEST_F(ExplicitSessions, close_without_open_is_noop) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              static_cast<void>(ctx.close_session("X"));
              return ctx.complete("");
            }),
            "completed ");
  EXPECT_EQ(of_kind("session_close"), 1U) << "recorded";
}

TEST_F(ExplicitSessions, session_activity_without_open_fails) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              PAWL_AWAIT(done, on(ctx, "X", "1"));
              return done.ok() ? ctx.fail("it ran")
                               : ctx.complete(error_kind_name(done.error().kind));
            }),
            "completed session_closed");
  EXPECT_TRUE(runs.empty());
  EXPECT_TRUE(rows().empty()) << "nor was it opened by the work";
}

TEST_F(ExplicitSessions, session_activity_after_close_fails) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.open_session("X");
              static_cast<void>(ctx.close_session("X"));
              PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::own(session)));
              return done.ok() ? ctx.fail("it ran")
                               : ctx.complete(error_kind_name(done.error().kind));
            }),
            "completed session_closed");
  EXPECT_TRUE(runs.empty());
}

TEST_F(ExplicitSessions, max_sessions_exceeded_fails) {
  options.sessions.max_sessions_per_orchestration = 2;
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              static_cast<void>(ctx.open_session("A"));
              static_cast<void>(ctx.open_session("B"));
              const Session third = ctx.open_session("C");
              PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::own(third)));
              return pass_on(ctx, done);
            }).substr(0, 12),
            "failed limit");
  EXPECT_TRUE(runs.empty());
}

TEST_F(ExplicitSessions, max_sessions_close_then_reopen_within_limit) {
  options.sessions.max_sessions_per_orchestration = 2;
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              static_cast<void>(ctx.open_session("A"));
              static_cast<void>(ctx.open_session("B"));
              static_cast<void>(ctx.close_session("A"));
              const Session third = ctx.open_session("C");
              PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::own(third)));
              return done.ok() ? ctx.complete("room") : ctx.fail(done.error());
            }),
            "completed room");
}

// ---- replay: verify_turns replays each turn, each restart replays all of them ----

TEST_F(ExplicitSessions, session_open_replay_matches) {
  const auto same = [](OrchestrationContext& ctx) {
    const Session session = ctx.open_session();
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(5)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", Target::own(session)));
    return ctx.complete("");
  };
  EXPECT_EQ(replaced(same, same), OrchestrationState::kCompleted);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].session, runs[1].session);
  EXPECT_EQ(of_kind("session_open"), 1U);
}

TEST_F(ExplicitSessions, session_close_replay_matches) {
  const auto same = [](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("X");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    static_cast<void>(ctx.close_session("X"));
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(5)));
    return ctx.complete("");
  };
  EXPECT_EQ(replaced(same, same), OrchestrationState::kCompleted);
  EXPECT_EQ(of_kind("session_close"), 1U);
}

Poll wait_a_little(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(5)));
  return ctx.complete("");
}

TEST_F(ExplicitSessions, replay_divergence_open_mismatch) {
  testing::expect_errors("instance_stopped");
  EXPECT_EQ(replaced(
                [](OrchestrationContext& ctx) {
                  static_cast<void>(ctx.open_session("X"));
                  return wait_a_little(ctx);
                },
                wait_a_little),
            OrchestrationState::kStopped);
  EXPECT_EQ(client().status("i").error, ErrorKind::kNondeterminism);
}

TEST_F(ExplicitSessions, replay_divergence_extra_open) {
  testing::expect_errors("instance_stopped");
  EXPECT_EQ(replaced(wait_a_little,
                     [](OrchestrationContext& ctx) {
                       static_cast<void>(ctx.open_session("X"));
                       return wait_a_little(ctx);
                     }),
            OrchestrationState::kStopped);
  EXPECT_EQ(client().status("i").error, ErrorKind::kNondeterminism);
}

TEST_F(ExplicitSessions, replay_divergence_open_order) {
  testing::expect_errors("instance_stopped");
  const auto in_order = [](const char* first, const char* second) {
    return [=](OrchestrationContext& ctx) {
      static_cast<void>(ctx.open_session(first));
      static_cast<void>(ctx.open_session(second));
      return wait_a_little(ctx);
    };
  };
  EXPECT_EQ(replaced(in_order("A", "B"), in_order("B", "A")), OrchestrationState::kStopped);
  EXPECT_EQ(client().status("i").error, ErrorKind::kNondeterminism);
}

TEST_F(ExplicitSessions, replay_session_id_restored) {
  const auto same = [](OrchestrationContext& ctx) {
    if (ctx.execution_id() == 1) {
      const Session session = ctx.open_session();
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
      return ctx.continue_as_new(session.id());
    }
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(5)));
    PAWL_AWAIT(done, on(ctx, ctx.input(), "2"));
    return done.ok() ? ctx.complete("restored") : ctx.fail(done.error());
  };
  EXPECT_EQ(replaced(same, same), OrchestrationState::kCompleted);
  EXPECT_EQ(outcome_of("i"), "completed restored");
}

// ---- continue-as-new ----

TEST_F(ExplicitSessions, session_survives_continue_as_new) {
  code([](OrchestrationContext& ctx) {
    if (ctx.execution_id() == 1) static_cast<void>(ctx.open_session("s"));
    PAWL_AWAIT(done, on(ctx, "s", "1"));
    if (!done.ok()) return ctx.fail(done.error());
    return ctx.execution_id() == 3 ? ctx.complete("") : ctx.continue_as_new("");
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_EQ(runs.size(), 3U);
  EXPECT_EQ(workers_of("s").size(), 1U);
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

TEST_F(ExplicitSessions, session_no_reopen_needed) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              if (ctx.execution_id() == 1) {
                static_cast<void>(ctx.open_session("s"));
                return ctx.continue_as_new("");
              }
              PAWL_AWAIT(done, on(ctx, "s", "1"));
              return pass_on(ctx, done);
            }),
            "completed a");
}

TEST_F(ExplicitSessions, multiple_sessions_survive_can) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const char* const names[] = {"A", "B", "C"};
              if (ctx.execution_id() == 1) {
                for (const char* name : names)
                  static_cast<void>(ctx.open_session(name));
                return ctx.continue_as_new("");
              }
              for (const char* name : names) {
                PAWL_AWAIT(done, on(ctx, name, "1"));
                if (!done.ok()) return ctx.fail(done.error());
              }
              return ctx.complete("three");
            }),
            "completed three");
}

TEST_F(ExplicitSessions, close_session_after_can) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              if (ctx.execution_id() == 1) {
                static_cast<void>(ctx.open_session("s"));
                return ctx.continue_as_new("");
              }
              static_cast<void>(ctx.close_session("s"));
              PAWL_AWAIT(done, on(ctx, "s", "1"));
              return ctx.complete(error_kind_name(done.error().kind));
            }),
            "completed session_closed");
  EXPECT_TRUE(rows().empty());
}

TEST_F(ExplicitSessions, can_with_no_open_sessions) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              if (ctx.execution_id() == 1) return ctx.continue_as_new("");
              PAWL_AWAIT(closed, on(ctx, "s", "1"));
              if (closed.ok()) return ctx.fail("nothing is open");
              const Session session = ctx.open_session("s");
              PAWL_AWAIT(done, ctx.schedule_activity("note", "2", Target::own(session)));
              return pass_on(ctx, done);
            }),
            "completed a");
}

TEST_F(ExplicitSessions, session_lock_maintained_across_can) {
  code([](OrchestrationContext& ctx) {
    if (ctx.execution_id() == 1) static_cast<void>(ctx.open_session("s"));
    PAWL_AWAIT_DONE(on(ctx, "s", "1"));
    PAWL_AWAIT_DONE(ctx.schedule_timer(minutes(2)));
    return ctx.execution_id() == 3 ? ctx.complete("") : ctx.continue_as_new("");
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  for (int i = 0; i < 10; ++i) {
    pass(30'000);
    EXPECT_GT(row("s").lease_ms, 0) << i;
  }
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

// ---- ends of the orchestration ----

TEST_F(ExplicitSessions, completed_orchestration_closes_all_sessions) {
  EXPECT_EQ(
      run([](OrchestrationContext& ctx) {
        PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(ctx.open_session("A"))));
        static_cast<void>(ctx.open_session("B"));
        return ctx.complete("ok");
      }),
      "completed ok");
  EXPECT_TRUE(rows().empty());
}

TEST_F(ExplicitSessions, failed_orchestration_closes_all_sessions) {
  static_cast<void>(run([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(ctx.open_session("A"))));
    return ctx.fail("no");
  }));
  EXPECT_TRUE(rows().empty());
}

TEST_F(ExplicitSessions, cancelled_orchestration_closes_all_sessions) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(done, ctx.schedule_activity("slow", "1000", Target::own(ctx.open_session("A"))));
    return pass_on(ctx, done);
  });
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  cancel_instance("i", "enough");
  EXPECT_EQ(end_of("i").substr(0, 16), "failed cancelled");
  pass(5'000);
  EXPECT_TRUE(rows().empty());
  EXPECT_EQ(cancelled, 1);
}

TEST_F(ExplicitSessions, terminal_cleanup_stops_renewal_tasks) {
  static_cast<void>(run([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(ctx.open_session("A"))));
    return ctx.complete("");
  }));
  pass(120'000);
  EXPECT_TRUE(rows().empty()) << "no renewal brings it back";
  EXPECT_EQ(workers.back()->runtime->stats().failed_ticks, 0U);
}

// ---- activities with and without a session ----

TEST_F(ExplicitSessions, session_and_nonsession_in_same_orchestration) {
  code([](OrchestrationContext& ctx) {
    const Handle both[] = {ctx.schedule_activity("note", "1", Target::own(ctx.open_session("s"))),
                           ctx.schedule_activity("note", "2")};
    for (const Handle& one : both) {
      PAWL_AWAIT(done, one);
      if (!done.ok()) return ctx.fail(done.error());
    }
    return ctx.complete("both");
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed both");
  EXPECT_EQ(workers_of("s").size(), 1U);
}

TEST_F(ExplicitSessions, nonsession_activity_between_session_activities) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "3", Target::own(session)));
    return ctx.complete("");
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_EQ(runs.size(), 3U);
  EXPECT_EQ(workers_of("s").size(), 1U);
}

TEST_F(ExplicitSessions, fan_out_mixed) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    const Handle all[] = {ctx.schedule_activity("note", "1", Target::own(session)),
                          ctx.schedule_activity("note", "2"),
                          ctx.schedule_activity("note", "3", Target::own(session)),
                          ctx.schedule_activity("note", "4")};
    PAWL_AWAIT_DONE(ctx.join_all(all, 4));
    return ctx.complete("four");
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed four");
  EXPECT_EQ(runs.size(), 4U);
  EXPECT_EQ(workers_of("s").size(), 1U);
}

TEST_F(ExplicitSessions, select_session_vs_timer) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.open_session("s");
              PAWL_AWAIT(first,
                         ctx.select(ctx.schedule_activity("slow", "100", Target::own(session)),
                                    ctx.schedule_timer(seconds(3))));
              PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(3)));
              return ctx.complete(std::to_string(first.index()));
            }),
            "completed 1");
  EXPECT_EQ(cancelled, 1);
}

TEST_F(ExplicitSessions, select_session_vs_nonsession) {
  EXPECT_EQ(
      run([](OrchestrationContext& ctx) {
        const Session session = ctx.open_session("s");
        PAWL_AWAIT(first, ctx.select(ctx.schedule_activity("slow", "100", Target::own(session)),
                                     ctx.schedule_activity("slow", "1")));
        PAWL_AWAIT(second, ctx.select(ctx.schedule_activity("slow", "1", Target::own(session)),
                                      ctx.schedule_activity("slow", "100")));
        PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(3)));
        return ctx.complete(std::to_string(first.index()) + std::to_string(second.index()));
      }),
      "completed 10");
  EXPECT_EQ(cancelled, 2) << "the loser, whichever it was";
}

TEST_F(ExplicitSessions, sub_orchestration_does_not_inherit_session) {
  other([](OrchestrationContext& ctx) {
    PAWL_AWAIT(done, on(ctx, ctx.input(), "child"));
    return ctx.complete(error_kind_name(done.error().kind));
  });
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.open_session("X");
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
              PAWL_AWAIT(child, ctx.schedule_sub_orchestration("other", "X"));
              return pass_on(ctx, child);
            }),
            "completed session_closed");
}

// ---- several sessions ----

TEST_F(ExplicitSessions, two_sessions_same_worker) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session a = ctx.open_session("A");
              const Session b = ctx.open_session("B");
              for (int i = 0; i < 3; ++i) {
                PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(a)));
                PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", Target::own(b)));
              }
              return ctx.complete("");
            }),
            "completed ");
  EXPECT_EQ(runs.size(), 6U);
  EXPECT_EQ(epochs_of("A").size(), 1U);
  EXPECT_EQ(epochs_of("B").size(), 1U);
}

TEST_F(ExplicitSessions, two_sessions_different_workers) {
  options.sessions.max_sessions_per_worker = 1;
  code([](OrchestrationContext& ctx) {
    const Session a = ctx.open_session("A");
    const Session b = ctx.open_session("B");
    for (int i = 0; i < 3; ++i) {
      const Handle both[] = {ctx.schedule_activity("note", "1", Target::own(a)),
                             ctx.schedule_activity("note", "2", Target::own(b))};
      PAWL_AWAIT_DONE(ctx.join_all(both, 2));
    }
    return ctx.complete("");
  });
  boss();
  hand("a");
  hand("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_EQ(workers_of("A").size(), 1U);
  EXPECT_EQ(workers_of("B").size(), 1U);
  EXPECT_NE(workers_of("A"), workers_of("B"));
}

TEST_F(ExplicitSessions, close_one_keep_other) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session a = ctx.open_session("A");
              const Session b = ctx.open_session("B");
              static_cast<void>(ctx.close_session("A"));
              PAWL_AWAIT(kept, ctx.schedule_activity("note", "1", Target::own(b)));
              PAWL_AWAIT(closed, ctx.schedule_activity("note", "2", Target::own(a)));
              if (!kept.ok()) return ctx.fail(kept.error());
              return ctx.complete(error_kind_name(closed.error().kind));
            }),
            "completed session_closed");
}

TEST_F(ExplicitSessions, concurrent_activities_different_sessions) {
  options.sessions.max_sessions_per_worker = 1;
  code([](OrchestrationContext& ctx) {
    const Handle both[] = {ctx.schedule_activity("slow", "5", Target::own(ctx.open_session("A"))),
                           ctx.schedule_activity("slow", "5", Target::own(ctx.open_session("B")))};
    PAWL_AWAIT_DONE(ctx.join_all(both, 2));
    return ctx.complete("");
  });
  boss();
  hand("a");
  hand("b");
  start("i", "code");
  const std::int64_t at = machine.boot_ms();
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_LT(machine.boot_ms() - at, 8'000) << "beside each other";
  EXPECT_NE(workers_of("A"), workers_of("B"));
}

// ---- edge cases ----

TEST_F(ExplicitSessions, close_during_inflight_activity) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    static_cast<void>(ctx.schedule_activity("slow", "100", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("close"));
    static_cast<void>(ctx.close_session("s"));
    PAWL_AWAIT_DONE(ctx.schedule_timer(minutes(1)));
    return ctx.complete("");
  });
  boss();
  hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  raise_event("i", "close");
  pass(1'000);
  EXPECT_TRUE(rows().empty());
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_EQ(cancelled, 1) << "told in another process";
}

TEST_F(ExplicitSessions, open_session_with_id_after_close_in_same_turn) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session one = ctx.open_session("X");
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(one)));
              static_cast<void>(ctx.close_session("X"));
              const Session again = ctx.open_session("X");
              PAWL_AWAIT(done, ctx.schedule_activity("note", "2", Target::own(again)));
              return pass_on(ctx, done);
            }),
            "completed a");
  EXPECT_EQ(epochs_of("X").size(), 2U);
}

TEST_F(ExplicitSessions, activity_completes_after_session_close) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.open_session("s");
              const Handle late = ctx.schedule_activity("slow", "2", Target::own(session));
              PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
              static_cast<void>(ctx.close_session("s"));
              PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(10)));
              PAWL_AWAIT(done, late);
              return ctx.complete(error_kind_name(done.error().kind));
            }),
            "completed session_closed");
  for (const auto& event : history("i"))
    if (event.kind == "activity_done") {
      EXPECT_EQ(event.error, ErrorKind::kSessionClosed) << "its own result never came here";
    }
}

TEST_F(ExplicitSessions, continue_as_new_during_inflight_session_activity) {
  EXPECT_EQ(
      run([](OrchestrationContext& ctx) {
        if (ctx.execution_id() == 1) {
          const Session session = ctx.open_session("s");
          PAWL_AWAIT_DONE(ctx.select(ctx.schedule_activity("slow", "100", Target::own(session)),
                                     ctx.schedule_timer(seconds(3))));
          return ctx.continue_as_new("");
        }
        PAWL_AWAIT(done, on(ctx, "s", "2"));
        return pass_on(ctx, done);
      }),
      "completed a");
  pass(5'000);
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

TEST_F(ExplicitSessions, session_lock_expires_during_activity) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.idle_timeout = std::chrono::seconds(30);
    const Session session = ctx.open_session("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("slow", "300", Target::own(session)));
    PAWL_AWAIT(done, ctx.schedule_activity("note", "2", Target::own(session)));
    return pass_on(ctx, done);
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  static_cast<void>(end_of("i"));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(epochs_of("s").size(), 1U) << "ten times its idle time, and it did not expire";
}

TEST_F(ExplicitSessions, rapid_open_close_cycles) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              for (int i = 0; i < 100; ++i) {
                const Session session = ctx.open_session();
                if (i % 10 == 0)
                  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
                static_cast<void>(ctx.close_session(session.id()));
              }
              return ctx.complete("hundred");
            }),
            "completed hundred");
  EXPECT_TRUE(rows().empty());
  EXPECT_EQ(runs.size(), 10U);
}

// In the list the activity ends as poison; here the session moves to a worker that has the handler.
TEST_F(ExplicitSessions, session_activity_on_worker_with_no_registry) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT(done, ctx.schedule_activity("rare", "2", Target::own(session)));
    return pass_on(ctx, done);
  });
  boss();
  hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  Registry knows = registry;
  ASSERT_EQ(
      knows.add_activity("rare", [](ActivityContext& ctx) { return ctx.ok(ctx.worker_id()); }),
      Status::kOk);
  start_worker(knows, working("b"));
  EXPECT_EQ(end_of("i"), "completed b");
}

TEST_F(ExplicitSessions, poison_message_in_session) {
  testing::expect_errors("activity_poisoned");
  options.limits.crashes_max = 2;
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT(bad, ctx.schedule_activity("deadly", "1", Target::own(session)));
    PAWL_AWAIT(good, ctx.schedule_activity("note", "2", Target::own(session)));
    if (!good.ok()) return ctx.fail(good.error());
    return ctx.complete(error_kind_name(bad.error().kind));
  });
  static Worker* victim = nullptr;
  add("deadly", [](ActivityContext& ctx) {
    victim->kill();
    return ctx.ok("");
  });
  boss();
  start("i", "code");
  for (int life = 0; life < 2; ++life) {
    victim = &hand("a");
    ASSERT_TRUE(drive_until([] { return victim->killed; })) << life;
  }
  hand("a");
  EXPECT_EQ(end_of("i"), "completed poison");
}

TEST_F(ExplicitSessions, session_survives_orchestration_lock_timeout) {
  code(two(seconds(10)));
  Worker& decides = boss();
  hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  decides.kill();  // another one replays the instance from its history
  boss();
  EXPECT_EQ(end_of("i"), "completed a");
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

TEST_F(ExplicitSessions, empty_session_id_string_rejected) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session none = ctx.open_session("");
              PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::own(none)));
              return pass_on(ctx, done);
            }).substr(0, 23),
            "failed invalid_argument");
}

TEST_F(ExplicitSessions, very_long_session_id_handled) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session longest = ctx.open_session(std::string(248, 'x'));
              PAWL_AWAIT(fits, ctx.schedule_activity("note", "1", Target::own(longest)));
              if (!fits.ok()) return ctx.fail(fits.error());
              const Session too_long = ctx.open_session(std::string(1000, 'x'));
              PAWL_AWAIT(done, ctx.schedule_activity("note", "2", Target::own(too_long)));
              return pass_on(ctx, done);
            }).substr(0, 23),
            "failed invalid_argument");
  EXPECT_EQ(runs.size(), 1U);
}

// ---- log lines ----

TEST_F(ExplicitSessions, session_open_logged) {
  static_cast<void>(run(two(seconds(1))));
  EXPECT_EQ(logged("session_created session=s"), 1U) << workers.back()->lines.all();
}

// The end of a session is reported once, whether its code or the end of the instance closes it.
TEST_F(ExplicitSessions, session_close_logged) {
  static_cast<void>(run([](OrchestrationContext& ctx) {
    static_cast<void>(ctx.open_session("s"));
    static_cast<void>(ctx.open_session("left"));
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    EXPECT_EQ(ctx.close_session("s"), ErrorKind::kNone);
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    return ctx.complete("");
  }));
  EXPECT_EQ(logged("session_closed session=s"), 1U) << workers.back()->lines.all();
  EXPECT_EQ(logged("session_closed session=left"), 1U) << workers.back()->lines.all();
}

TEST_F(ExplicitSessions, session_claim_logged) {
  static_cast<void>(run(two(seconds(1))));
  EXPECT_EQ(logged("session_claimed session=s epoch=1 to=a"), 1U) << workers.back()->lines.all();
}

TEST_F(ExplicitSessions, session_migration_logged) {
  code(two(seconds(5)));
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  a.kill();
  Worker& b = hand("b");
  EXPECT_EQ(end_of("i"), "completed b");
  EXPECT_EQ(b.lines.count("session_migrated session=s"), 1U) << b.lines.all();
  EXPECT_EQ(b.lines.count("to=b from=a"), 1U) << b.lines.all();
}

// The worker was away for so long that another one has its work.
TEST_F(ExplicitSessions, session_renewal_failure_logged) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(done, ctx.schedule_activity("slow", "400", Target::own(ctx.open_session("s"))));
    return pass_on(ctx, done);
  });
  Worker& decides = boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  Worker& b = hand("b");
  ASSERT_TRUE(drive_until(
      {&decides, &b}, [] { return runs.size() == 2; }, 300'000));
  pass(60'000);
  EXPECT_EQ(a.lines.count("renewal_refused activity=slow session=s epoch=1"), 1U) << a.lines.all();
}

// ---- one thread for everything ----

TEST_F(ExplicitSessions, sessions_work_in_current_thread) {
  options.slots.inline_activities = 1;
  options.slots.threads = 0;
  EXPECT_EQ(run(two(seconds(1))), "completed a");
}

TEST_F(ExplicitSessions, session_renewal_works_single_thread) {
  options.slots.inline_activities = 1;
  options.slots.threads = 0;
  EXPECT_EQ(run(two(hours(1))), "completed a");
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

}  // namespace
}  // namespace pawl
