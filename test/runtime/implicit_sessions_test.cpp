// Goal: the tests of implicit sessions for runtimes in test/build/seed_tests.txt pass, under their
// names: several workers, workers with different settings, one worker, and whole scenarios.
#include <chrono>

#include "pawl/visit.hpp"
#include "session_story.hpp"

namespace pawl {

struct Turn {
  std::int64_t number = 0;
  JsonText<16> session;
};
PAWL_JSON(Turn, number, session)

namespace {

constexpr ActivityType<Turn, Turn> kTakeTurn{"take_turn"};

Reply<Turn> take_turn(ActivityContext& ctx, const Turn& turn) {
  Turn next;
  next.number = turn.number + 1;
  if (next.session.assign(ctx.session_id()) != Status::kOk) return ctx.fail("session");
  return next;
}

using std::chrono::minutes;
using std::chrono::seconds;
using testing::a_second_apart;
using testing::SessionStory;
using testing::Worker;

class ImplicitSessions : public SessionStory {
 protected:
  // Schedules `sessions` activities on one session and then `free` activities without one, all at
  // once.
  static Code fan_out(int sessions, int free, const char* name = "note", const char* input = "1") {
    return [=](OrchestrationContext& ctx) {
      Handle all[64];
      std::size_t count = 0;
      for (int i = 0; i < sessions; ++i)
        all[count++] = ctx.schedule_activity(name, input, Target::session("s"));
      for (int i = 0; i < free; ++i)
        all[count++] = ctx.schedule_activity(name, input);
      PAWL_AWAIT_DONE(ctx.join_all(all, count));
      return ctx.complete("all");
    };
  }
  // Two activities on the session that the input names, `pause` apart.
  static Code twice(std::chrono::milliseconds pause) {
    return [pause](OrchestrationContext& ctx) {
      PAWL_AWAIT(first, ctx.schedule_activity("note", "1", Target::session(ctx.input())));
      if (!first.ok()) return ctx.fail(first.error());
      PAWL_AWAIT_DONE(ctx.schedule_timer(pause));
      PAWL_AWAIT(second, ctx.schedule_activity("note", "2", Target::session(ctx.input())));
      return second.ok() ? ctx.complete(second.value()) : ctx.fail(second.error());
    };
  }
  static Code one(const char* name, const char* input) {
    return [=](OrchestrationContext& ctx) {
      PAWL_AWAIT(done, ctx.schedule_activity(name, input, Target::session(ctx.input())));
      return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
    };
  }
  void start_all(int count) {
    for (int i = 0; i < count; ++i)
      start("i" + std::to_string(i), "code", "s" + std::to_string(i));
  }
  bool all_ended(int count, std::int64_t ms = 600'000) {
    return drive_until(
        [&] {
          for (int i = 0; i < count; ++i)
            if (is_running("i" + std::to_string(i))) return false;
          return true;
        },
        ms);
  }
  static std::map<std::string, std::set<std::string>> sessions_by_worker() {
    std::map<std::string, std::set<std::string>> all;
    for (const Run& run : runs)
      if (!run.session.empty()) all[run.worker].insert(run.session);
    return all;
  }
};

// ---- several workers ----

TEST_F(ImplicitSessions, test_session_pins_to_claiming_worker) {
  code(a_second_apart(5));
  start_worker("a");
  start_worker("b");
  start("i", "code", "s");
  EXPECT_EQ(end_of("i"), "completed all");
  ASSERT_EQ(runs.size(), 5U);
  EXPECT_EQ(workers_of("s").size(), 1U);
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

TEST_F(ImplicitSessions, test_non_session_work_distributes_across_workers) {
  options.slots.inline_activities = 1;
  code(fan_out(8, 24));
  start_worker("a");
  start_worker("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed all");
  EXPECT_EQ(runs.size(), 32U);
  EXPECT_EQ(workers_of("s").size(), 1U);
  EXPECT_EQ(workers_of("").size(), 2U);
}

TEST_F(ImplicitSessions, test_session_handoff_on_worker_death) {
  wait_for_leases();
  code(a_second_apart(4));
  boss();
  Worker& a = hand("a");
  start("i", "code", "s");
  ASSERT_TRUE(runs_are(2));
  hand("b");
  a.kill();
  const std::int64_t at = machine.boot_ms();
  ASSERT_TRUE(runs_are(3, 180'000));
  EXPECT_GE(machine.boot_ms() - at, 25'000);
  EXPECT_EQ(end_of("i"), "completed all");
  EXPECT_EQ(runs[2].worker, "b");
  EXPECT_TRUE(runs[2].claimed_now);
}

TEST_F(ImplicitSessions, test_session_handoff_on_idle_timeout) {
  code(twice(minutes(30)));
  start_worker("a");
  start_worker("b");
  start("i", "code", "s");
  ASSERT_TRUE(runs_are(1));
  pass(600'000);
  EXPECT_EQ(row("s").node, "") << "unpinned";
  static_cast<void>(end_of("i", 3'600'000));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_GT(runs[1].epoch, runs[0].epoch);
  EXPECT_TRUE(runs[1].claimed_now);
}

TEST_F(ImplicitSessions, test_session_no_handoff_while_active) {
  wait_for_leases();
  code(fan_out(2, 0, "slow", "120"));
  options.slots.cooperative = 1;
  start_worker("a");
  start_worker("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed all");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(workers_of("s").size(), 1U) << "the second waited behind it for four leases";
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

TEST_F(ImplicitSessions, test_concurrent_session_claim_race) {
  // More work is queued for each session than its owner has slots for, so that the other worker
  // always meets some.
  options.slots.cooperative = 1;
  code([](OrchestrationContext& ctx) {
    Handle all[6];
    for (Handle& one : all)
      one = ctx.schedule_activity("slow", "2", Target::session(ctx.input()));
    PAWL_AWAIT_DONE(ctx.join_all(all, 6));
    return ctx.complete("all");
  });
  Worker& a = start_worker("a");
  Worker& b = start_worker("b");
  start_all(4);
  ASSERT_TRUE(all_ended(4));
  EXPECT_EQ(runs.size(), 24U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(workers_of("s" + std::to_string(i)).size(), 1U) << i;
    EXPECT_EQ(epochs_of("s" + std::to_string(i)).size(), 1U) << i;
  }
  EXPECT_EQ(sessions_by_worker().size(), 2U) << "both claimed";
  EXPECT_EQ(a.runtime->stats().sessions_claimed + b.runtime->stats().sessions_claimed, 4U);
}

TEST_F(ImplicitSessions, test_max_sessions_overflow_to_other_worker) {
  code(one("note", "1"));
  boss();
  Options small = working("a");
  small.sessions.max_sessions_per_worker = 1;
  start_worker(small);
  start("i0", "code", "s0");
  ASSERT_TRUE(runs_are(1));
  hand("b");
  start("i1", "code", "s1");
  ASSERT_TRUE(runs_are(2));
  EXPECT_EQ(runs[0].worker, "a");
  EXPECT_EQ(runs[1].worker, "b");
}

TEST_F(ImplicitSessions, test_session_pin_survives_continue_as_new) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::session("s")));
    if (!done.ok()) return ctx.fail(done.error());
    return ctx.execution_id() == 4 ? ctx.complete("round") : ctx.continue_as_new("");
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed round");
  EXPECT_EQ(runs.size(), 4U);
  EXPECT_EQ(workers_of("s").size(), 1U);
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

TEST_F(ImplicitSessions, test_session_and_non_session_isolation) {
  options.slots.cooperative = 2;
  code(fan_out(1, 6, "slow", "3"));
  start_worker("a");
  start_worker("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed all");
  EXPECT_EQ(workers_of("s").size(), 1U);
  EXPECT_EQ(workers_of("").size(), 2U);
}

TEST_F(ImplicitSessions, test_handoff_with_inflight_activity_retry) {
  wait_for_leases();
  code(one("slow", "10"));
  boss();
  Worker& a = hand("a");
  start("i", "code", "s");
  ASSERT_TRUE(runs_are(1));
  hand("b");
  a.kill();
  EXPECT_EQ(end_of("i"), "completed b");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].attempt, 2);
  EXPECT_GT(runs[1].epoch, runs[0].epoch);
}

TEST_F(ImplicitSessions, test_multiple_sessions_pinned_to_different_workers) {
  options.sessions.max_sessions_per_worker = 3;
  code(a_second_apart(3));
  start_worker("a");
  start_worker("b");
  start_all(6);
  ASSERT_TRUE(all_ended(6));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(workers_of("s" + std::to_string(i)).size(), 1U) << i;
  EXPECT_EQ(sessions_by_worker()["a"].size(), 3U);
  EXPECT_EQ(sessions_by_worker()["b"].size(), 3U);
}

// Other workers wait for the lease; the node that is back does not.
TEST_F(ImplicitSessions, test_session_reclaim_after_restart_with_same_node_id) {
  wait_for_leases();
  code(a_second_apart(4));
  const Options node = working("a");
  boss();
  Worker& a = start_worker(node);
  start("i", "code", "s");
  ASSERT_TRUE(runs_are(2));
  hand("b");
  a.kill();
  start_worker(node);
  const std::int64_t at = machine.boot_ms();
  EXPECT_EQ(end_of("i"), "completed all");
  EXPECT_LT(machine.boot_ms() - at, 10'000);
  EXPECT_EQ(workers_of("s"), std::set<std::string>{"a"});
  EXPECT_GT(runs[2].epoch, runs[1].epoch);
}

// ---- workers with different settings ----

// The lease of the dead worker counts, and not that of its successor.
TEST_F(ImplicitSessions, test_different_session_lock_timeout_recovery) {
  wait_for_leases();
  code(a_second_apart(4));
  boss();
  Options brief = working("a");
  brief.leases.session_lock_timeout = brief.leases.worker_lock_timeout = std::chrono::seconds(5);
  brief.leases.session_lock_renewal_buffer = std::chrono::seconds(1);
  brief.leases.worker_lock_renewal_buffer = std::chrono::seconds(1);
  Worker& a = start_worker(brief);
  start("i", "code", "s");
  ASSERT_TRUE(runs_are(2));
  Options patient = working("b");
  patient.leases.session_lock_timeout = std::chrono::seconds(60);
  start_worker(patient);
  pass(500);
  a.kill();
  const std::int64_t at = machine.boot_ms();
  ASSERT_TRUE(runs_are(3, 180'000));
  EXPECT_LT(machine.boot_ms() - at, 60'000);
  EXPECT_EQ(runs[2].worker, "b");
  EXPECT_GT(row("s").lease_ms, 50'000) << "now it is b's";
  EXPECT_EQ(end_of("i"), "completed all");
}

TEST_F(ImplicitSessions, test_different_session_idle_timeout) {
  code(one("note", "1"));
  boss();
  Options restless = working("a");
  restless.leases.session_lock_timeout = restless.leases.worker_lock_timeout =
      std::chrono::seconds(2);
  restless.leases.session_lock_renewal_buffer = std::chrono::seconds(1);
  restless.leases.worker_lock_renewal_buffer = std::chrono::seconds(1);
  restless.sessions.session_idle_timeout = std::chrono::seconds(3);
  restless.sessions.max_sessions_per_worker = 1;
  start_worker(restless);
  start("i0", "code", "s0");
  ASSERT_TRUE(runs_are(1));
  Options patient = working("b");
  patient.sessions.session_idle_timeout = std::chrono::seconds(600);
  start_worker(patient);
  start("i1", "code", "s1");
  ASSERT_TRUE(runs_are(2));
  EXPECT_EQ(runs[1].worker, "b");
  pass(60'000);
  EXPECT_EQ(row("s0").node, "");
  EXPECT_EQ(row("s1").node, "b");
}

TEST_F(ImplicitSessions, test_different_max_sessions_load_distribution) {
  options.slots.inline_activities = 1;
  code([](OrchestrationContext& ctx) {
    for (int i = 0; i < 3; ++i) {
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session(ctx.input())));
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "free"));
    }
    return ctx.complete("all");
  });
  boss();
  Options small = working("a");
  small.sessions.max_sessions_per_worker = 2;
  start_worker(small);
  hand("b");
  start_all(5);
  ASSERT_TRUE(all_ended(5));
  EXPECT_LE(sessions_by_worker()["a"].size(), 2U);
  EXPECT_GE(sessions_by_worker()["b"].size(), 3U);
  EXPECT_EQ(workers_of("").size(), 2U);
}

TEST_F(ImplicitSessions, test_zero_max_sessions_non_session_worker) {
  options.slots.inline_activities = 1;
  code(fan_out(8, 24));
  boss();
  Options none = working("a");
  none.sessions.max_sessions_per_worker = 0;
  start_worker(none);
  hand("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed all");
  EXPECT_EQ(workers_of("s"), std::set<std::string>{"b"});
  EXPECT_EQ(workers_of("").size(), 2U);
}

TEST_F(ImplicitSessions, test_session_adopts_claimer_lock_characteristics) {
  wait_for_leases();
  code(a_second_apart(6));
  boss();
  Options brief = working("a");
  brief.leases.session_lock_timeout = brief.leases.worker_lock_timeout = std::chrono::seconds(10);
  Worker& a = start_worker(brief);
  start("i", "code", "s");
  ASSERT_TRUE(runs_are(2));
  EXPECT_LE(row("s").lease_ms, 10'000);
  a.kill();
  Options patient = working("b");
  patient.leases.session_lock_timeout = std::chrono::seconds(60);
  Worker& b = start_worker(patient);
  ASSERT_TRUE(runs_are(3, 180'000));
  EXPECT_GT(row("s").lease_ms, 50'000);
  hand("c");
  pass(500);
  b.kill();
  const std::int64_t at = machine.boot_ms();
  ASSERT_TRUE(runs_are(static_cast<std::size_t>(runs.size()) + 1, 300'000));
  EXPECT_GT(machine.boot_ms() - at, 30'000) << "the lease was b's";
  EXPECT_EQ(runs.back().worker, "c");
}

TEST_F(ImplicitSessions, test_different_cleanup_intervals_no_conflict) {
  code(twice(minutes(4)));
  boss();
  Options eager = working("a");
  eager.sessions.session_cleanup_interval = std::chrono::seconds(5);
  eager.sessions.max_sessions_per_worker = 1;
  start_worker(eager);
  start("i0", "code", "s0");
  ASSERT_TRUE(runs_are(1));
  Options lazy = working("b");
  lazy.sessions.session_cleanup_interval = std::chrono::seconds(600);
  start_worker(lazy);
  start("i1", "code", "s1");
  EXPECT_EQ(end_of("i0"), "completed a");
  EXPECT_EQ(end_of("i1"), "completed b");
  EXPECT_EQ(epochs_of("s0").size(), 1U);
  EXPECT_EQ(epochs_of("s1").size(), 1U);
}

TEST_F(ImplicitSessions, test_mixed_worker_node_id_and_ephemeral) {
  code(twice(minutes(4)));
  other(a_second_apart(4));
  wait_for_leases();
  boss();
  Options stable = working("stable");
  stable.sessions.max_sessions_per_worker = 1;
  Worker& a = start_worker(stable);
  start("i", "code", "s");
  ASSERT_TRUE(runs_are(1));
  Options nameless = options;
  nameless.run_orchestrations = false;
  Worker& b = start_worker(nameless);
  start("j", "other", "t");
  ASSERT_TRUE(runs_are(3));
  b.kill();
  start_worker(nameless);
  const std::int64_t at = machine.boot_ms();
  EXPECT_FALSE(runs_are(4, 20'000)) << "it has another name now, and waits for the lease";
  EXPECT_EQ(end_of("j"), "completed all");
  EXPECT_GT(machine.boot_ms() - at, 25'000);
  EXPECT_EQ(workers_of("t").size(), 2U);
  a.kill();
  start_worker(stable);
  EXPECT_EQ(row("s").node, "stable") << "with its registration";
  EXPECT_EQ(end_of("i"), "completed stable");
}

TEST_F(ImplicitSessions, test_asymmetric_concurrency_no_bottleneck) {
  code(fan_out(1, 0, "slow", "60"));
  other([](OrchestrationContext& ctx) {
    Handle all[8];
    for (Handle& one : all)
      one = ctx.schedule_activity("slow", "1");
    PAWL_AWAIT_DONE(ctx.join_all(all, 8));
    return ctx.complete("free");
  });
  boss();
  Options narrow = working("a");
  narrow.slots.cooperative = 1;
  start_worker(narrow);
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  Options wide = working("b");
  wide.slots.cooperative = 4;
  start_worker(wide);
  start("j", "other");
  EXPECT_EQ(end_of("j", 10'000), "completed free");
  EXPECT_EQ(workers_of(""), std::set<std::string>{"b"});
  EXPECT_TRUE(is_running("i"));
}

TEST_F(ImplicitSessions, test_worker_lock_timeout_vs_session_idle_timeout_safe) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(done, ctx.schedule_activity("slow", "600", Target::session("s")));
    PAWL_AWAIT(next, ctx.schedule_activity("note", "1", Target::session("s")));
    return done.ok() && next.ok() ? ctx.complete("safe") : ctx.fail("not safe");
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  EXPECT_EQ(end_of("i", 1'200'000), "completed safe");
  EXPECT_EQ(workers_of("s").size(), 1U);
  EXPECT_EQ(epochs_of("s").size(), 1U) << "twice the idle timeout, and it stayed";
  EXPECT_EQ(logged("session_released"), 0U);
}

TEST_F(ImplicitSessions, test_worker_lock_timeout_exceeds_session_idle_timeout_errors) {
  Options wrong = named("a");
  wrong.leases.worker_lock_timeout = std::chrono::seconds(600);
  wrong.sessions.session_idle_timeout = std::chrono::seconds(300);
  Worker a(machine, registry, wrong);
  EXPECT_EQ(a.start(), Status::kInvalidOptions);
  const std::string text(a.diagnostic.text());
  EXPECT_NE(text.find("300000"), std::string::npos) << text;
  EXPECT_NE(text.find("600000"), std::string::npos) << text;
}

// ---- one worker ----

TEST_F(ImplicitSessions, test_session_basic_affinity) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) { return a_second_apart(3)(ctx); }), "completed all");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(workers_of("in").size(), 1U);
  EXPECT_EQ(epochs_of("in").size(), 1U);
}

TEST_F(ImplicitSessions, test_session_different_sessions_different_workers) {
  options.sessions.max_sessions_per_worker = 1;
  code(twice(seconds(1)));
  boss();
  hand("a");
  hand("b");
  start_all(2);
  ASSERT_TRUE(all_ended(2));
  EXPECT_NE(workers_of("s0"), workers_of("s1"));
}

TEST_F(ImplicitSessions, test_non_session_activity_alongside_session) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Handle both[] = {ctx.schedule_activity("note", "free"),
                                     ctx.schedule_activity("note", "bound", Target::session("s"))};
              PAWL_AWAIT_DONE(ctx.join_all(both, 2));
              PAWL_AWAIT(first, both[0]);
              PAWL_AWAIT(second, both[1]);
              return ctx.complete(first.ok() && second.ok() ? "both" : "not both");
            }),
            "completed both");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(workers_of("").size() + workers_of("s").size(), 2U);
}

TEST_F(ImplicitSessions, test_session_survives_continue_as_new) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session(ctx.input())));
              return ctx.execution_id() == 3 ? ctx.complete("round")
                                             : ctx.continue_as_new(ctx.input());
            }),
            "completed round");
  EXPECT_EQ(runs.size(), 3U);
  EXPECT_EQ(epochs_of("in").size(), 1U);
}

TEST_F(ImplicitSessions, test_session_activity_cancellation_via_select) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              PAWL_AWAIT(first,
                         ctx.select(ctx.schedule_activity("slow", "100", Target::session("s")),
                                    ctx.schedule_timer(seconds(3))));
              if (first.index() != 1) return ctx.fail("the timer wins");
              PAWL_AWAIT(next, ctx.schedule_activity("note", "2", Target::session("s")));
              return next.ok() ? ctx.complete("goes on") : ctx.fail(next.error());
            }),
            "completed goes on");
  pass(5'000);
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(epochs_of("s").size(), 1U);
  EXPECT_EQ(row("s").node, "a") << "still owned when the cancelled one has ended";
}

TEST_F(ImplicitSessions, test_session_poison_message) {
  testing::expect_errors("activity_poisoned");
  options.limits.crashes_max = 3;
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(bad, ctx.schedule_activity("deadly", "1", Target::session("s")));
    PAWL_AWAIT(next, ctx.schedule_activity("note", "2", Target::session("s")));
    if (!next.ok()) return ctx.fail(next.error());
    return ctx.complete(error_kind_name(bad.error().kind));
  });
  static Worker* victim = nullptr;
  add("deadly", [](ActivityContext& ctx) {
    victim->kill();
    return ctx.ok("");
  });
  boss();
  start("i", "code");
  for (int life = 0; life < 3; ++life) {
    victim = &hand("a");
    ASSERT_TRUE(drive_until([] { return victim->killed; })) << life;
  }
  const Worker& last = hand("a");
  EXPECT_EQ(end_of("i"), "completed poison");
  EXPECT_EQ(last.lines.count("activity_poisoned instance=i event=2"), 1U) << last.lines.all();
  EXPECT_EQ(workers_of("s"), std::set<std::string>{"a"}) << "the session goes on";
}

TEST_F(ImplicitSessions, test_session_with_sub_orchestration) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "parent", Target::session("s")));
    PAWL_AWAIT(child, ctx.schedule_sub_orchestration("other", "s"));
    return child.ok() ? ctx.complete(child.value()) : ctx.fail(child.error());
  });
  other(one("note", "child"));
  start_worker("a");
  start_worker("b");
  start("i", "code");
  static_cast<void>(end_of("i"));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(workers_of("s").size(), 1U);
  EXPECT_EQ(epochs_of("s").size(), 1U);
}

TEST_F(ImplicitSessions, test_session_id_in_event_history) {
  static_cast<void>(run(one("note", "1")));
  std::string session;
  auto find = visit([&](const HistoryEvent& event) {
    if (std::string_view(event.kind) == "activity") session = event.session;
  });
  ASSERT_EQ(client()->read_history("i", 0, find), Status::kOk);
  EXPECT_EQ(session, "in");
}

TEST_F(ImplicitSessions, test_session_id_preserved_on_replay) {
  std::string name;
  code([&name](OrchestrationContext& ctx) {
    name = ctx.new_guid().view();
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session(name)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(5)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", Target::session(name)));
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  workers.back()->stop();
  start_worker("a");
  EXPECT_EQ(end_of("i"), "completed ");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].session, runs[1].session);
}

TEST_F(ImplicitSessions, test_schedule_activity_on_session_typed) {
  ASSERT_EQ(registry.add_activity(kTakeTurn, take_turn), Status::kOk);
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              Turn turn;
              turn.number = 6;
              PAWL_AWAIT(shared, ctx.schedule_activity(kTakeTurn, turn, Target::session("s")));
              if (!shared.ok()) return ctx.fail(shared.error());
              const Session session = ctx.open_session("own");
              PAWL_AWAIT(own,
                         ctx.schedule_activity(kTakeTurn, shared.value(), Target::own(session)));
              if (!own.ok()) return ctx.fail(own.error());
              return ctx.complete(std::string(shared.value().session.view()) + " " +
                                  std::string(own.value().session.view()) + " " +
                                  std::to_string(own.value().number));
            }),
            "completed s own 8");
}

TEST_F(ImplicitSessions, test_session_id_getter_on_activity_context) {
  static_cast<void>(run(one("note", "1")));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].session, "in");
}

TEST_F(ImplicitSessions, test_session_id_none_for_regular_activity) {
  static_cast<void>(run(fan_out(0, 1)));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].session, "");
  EXPECT_EQ(runs[0].epoch, 0);
}

// ---- scenarios ----

TEST_F(ImplicitSessions, test_copilot_session_pattern) {
  code([](OrchestrationContext& ctx) {
    const Guid made = ctx.new_guid();
    const std::string session(ctx.execution_id() == 1 ? made.view() : ctx.input());
    if (ctx.execution_id() == 1)
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "hydrate", Target::session(session)));
    for (int turn = 0; turn < 2; ++turn) {
      PAWL_AWAIT(message, ctx.dequeue_event("user"));
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", message.value(), Target::session(session)));
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "checkpoint", Target::session(session)));
    }
    return ctx.execution_id() == 3 ? ctx.complete("over") : ctx.continue_as_new(session);
  });
  start_worker("a");
  start_worker("b");
  start("i", "code");
  for (int i = 0; i < 6; ++i) {
    enqueue_event("i", "user", "m" + std::to_string(i));
    pass(30'000);  // a person types
  }
  EXPECT_EQ(end_of("i"), "completed over");
  ASSERT_EQ(runs.size(), 13U);
  EXPECT_EQ(workers_of(runs[0].session).size(), 1U);
  EXPECT_EQ(epochs_of(runs[0].session).size(), 1U);
  EXPECT_EQ(runs.back().input, "checkpoint");
}

TEST_F(ImplicitSessions, test_session_migration_on_idle) {
  code(twice(minutes(30)));
  boss();
  Worker& a = hand("a");
  start("i", "code", "s");
  ASSERT_TRUE(runs_are(1));
  pass(600'000);
  EXPECT_EQ(row("s").node, "");
  hand("b");
  ASSERT_EQ(client()->drain_worker("a"), Status::kOk);  // from now on it claims nothing
  EXPECT_EQ(end_of("i", 3'600'000), "completed b");
  EXPECT_TRUE(a.running());
  EXPECT_GT(runs[1].epoch, runs[0].epoch);
}

TEST_F(ImplicitSessions, test_session_recovery_after_worker_death) {
  wait_for_leases();
  code(twice(seconds(5)));
  boss();
  Worker& a = hand("a");
  start("i", "code", "s");
  ASSERT_TRUE(runs_are(1));
  a.kill();
  hand("b");
  const std::int64_t at = machine.boot_ms();
  ASSERT_TRUE(runs_are(2, 180'000));
  EXPECT_GE(machine.boot_ms() - at, 25'000) << "the lease is waited for";
  EXPECT_EQ(end_of("i"), "completed b");
  EXPECT_EQ(logged("session_migrated session=s"), 1U);
}

}  // namespace
}  // namespace pawl
