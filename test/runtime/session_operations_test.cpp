// Goal: sessions are held, moved and evicted, and a worker at its limit makes room. Method: whole
// runtimes on the simulated machine.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "session_story.hpp"

namespace pawl {
namespace {

using testing::CodeTest;
using testing::Gateway;
using testing::TestClient;
using testing::Worker;

constexpr std::int64_t kMinuteMs = 60'000;

std::vector<std::string> g_runs;  // "worker session@epoch input"

ActivityResult note(ActivityContext& ctx) {
  g_runs.push_back(std::string(ctx.worker_id()) + " " + std::string(ctx.session_id()) + "@" +
                   std::to_string(ctx.session_epoch()) + " " + std::string(ctx.input()));
  return ctx.ok(std::to_string(ctx.session_epoch()));
}

struct Minute {
  int seconds = 0;
};
ActivityStep slow(ActivityContext& ctx, Minute& minute) {
  if (++minute.seconds == (ctx.input() == "an hour" ? 3'600 : 60)) return ctx.ok("");
  return ctx.again_after(std::chrono::seconds(1));
}

class SessionOperations : public CodeTest {
 protected:
  SessionOperations() {
    g_runs.clear();
    add("note", note);
    add("block", note, ActivityMode::kThreaded);
    add("slow", slow);
  }
  Options one_thread(const char* node) {
    Options out = working(node);
    out.slots.threads = 1;
    return out;
  }
  // Runs the code to its end at one worker, which stops then.
  std::string run(Code what) {
    std::string end = CodeTest::run(std::move(what), 4 * 60 * kMinuteMs);
    workers.clear();
    return end;
  }
};

// ---- holding ----

// Two activities with half an hour between them; completes with "kept" if both saw one epoch of the
// session.
Poll half_an_hour(OrchestrationContext& ctx, const std::function<ErrorKind()>& hold) {
  PAWL_AWAIT(first, ctx.schedule_activity("note", "1", Target::session("s")));
  if (hold() != ErrorKind::kNone) return ctx.fail("hold");
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(30)));
  PAWL_AWAIT(second, ctx.schedule_activity("note", "2", Target::session("s")));
  return ctx.complete(first.value() == second.value() ? "kept" : "released");
}

// Rules: S33.
TEST_F(SessionOperations, a_held_session_stays_at_its_owner_without_work) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              return half_an_hour(ctx, [&] {
                return ctx.hold_session("s", std::chrono::milliseconds(40 * kMinuteMs));
              });
            }),
            "completed kept");
}

TEST_F(SessionOperations, one_that_is_not_held_does_not) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              return half_an_hour(ctx, [] { return ErrorKind::kNone; });
            }),
            "completed released");
}

TEST_F(SessionOperations, a_hold_ends_with_its_time) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              return half_an_hour(ctx, [&] {
                return ctx.hold_session("s", std::chrono::milliseconds(20 * kMinuteMs));
              });
            }),
            "completed released");
}

// Rules: S33.
TEST_F(SessionOperations, of_a_shared_session_the_longest_hold_counts) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              return half_an_hour(ctx, [&] {
                static_cast<void>(ctx.hold_session("s", std::chrono::milliseconds(40 * kMinuteMs)));
                return ctx.hold_session("s", std::chrono::milliseconds(0));
              });
            }),
            "completed kept");
}

TEST_F(SessionOperations, an_own_session_is_let_go_with_0) {
  int runs = 0;
  for (const bool releases : {false, true, true}) {
    const bool by_name = runs++ == 2;
    EXPECT_EQ(run([releases, by_name](OrchestrationContext& ctx) {
                SessionSettings settings;
                settings.idle_timeout = std::chrono::seconds(60);
                const Session session = ctx.open_session("own", settings);
                PAWL_AWAIT(first, ctx.schedule_activity("note", "1", Target::own(session)));
                if (ctx.hold_session(session, std::chrono::milliseconds(40 * kMinuteMs)) !=
                    ErrorKind::kNone)
                  return ctx.fail("hold");
                PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(1)));
                if (releases)
                  static_cast<void>(by_name
                                        ? ctx.hold_session("own", std::chrono::milliseconds(0))
                                        : ctx.hold_session(session, std::chrono::milliseconds(0)));
                PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(10)));
                PAWL_AWAIT(second, ctx.schedule_activity("note", "2", Target::own(session)));
                return ctx.complete(first.value() == second.value() ? "kept" : "released");
              }),
              releases ? "completed released" : "completed kept");
    ASSERT_EQ(client()->delete_instance("i", true), Status::kOk);
  }
}

TEST_F(SessionOperations, what_cannot_be_held_is_an_invalid_argument_and_records_nothing) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              for (const ErrorKind kind :
                   {ctx.hold_session("", std::chrono::milliseconds(1)),
                    ctx.hold_session(Session(), std::chrono::milliseconds(1)),
                    ctx.hold_session("s", std::chrono::milliseconds(-1)),
                    ctx.hold_session("s", kDurationMax + std::chrono::milliseconds(1))})
                if (kind != ErrorKind::kInvalidArgument) return ctx.fail("accepted");
              if (ctx.hold_session("nobody's", std::chrono::milliseconds(1)) != ErrorKind::kNone)
                return ctx.fail("refused");
              return ctx.complete("ok");
            }),
            "completed ok");
}

TEST_F(SessionOperations, a_hold_outlives_continue_as_new_and_a_restart_of_its_owner) {
  code([](OrchestrationContext& ctx) {
    ActivityOptions on;
    on.target = Target::own("s");
    if (ctx.execution_id() == 1) {
      SessionSettings settings;
      settings.idle_timeout = std::chrono::seconds(60);
      const Session session = ctx.open_session("s", settings);
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
      if (ctx.hold_session(session, std::chrono::milliseconds(60 * kMinuteMs)) != ErrorKind::kNone)
        return ctx.fail("hold");
      return ctx.continue_as_new("");
    }
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(5)));
    PAWL_AWAIT(before, ctx.schedule_activity("note", "2", on));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(20)));
    PAWL_AWAIT(after, ctx.schedule_activity("note", "3", on));
    return ctx.complete(before.value() == after.value() ? "kept" : "released");
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  pass(kMinuteMs);
  ASSERT_EQ(g_runs.size(), 1U);
  a.kill();
  hand("a");
  EXPECT_EQ(end_of("i", 60 * kMinuteMs), "completed kept");
  ASSERT_EQ(g_runs.size(), 3U);
  EXPECT_EQ(g_runs[0], "a s@1 1");
  EXPECT_EQ(g_runs[1], "a s@2 2") << "the restart took it back, and held it on";
}

TEST_F(SessionOperations, a_held_session_takes_no_slot_and_no_commit) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session("s")));
    if (ctx.execution_id() == 1 && ctx.input() == "hold")
      static_cast<void>(ctx.hold_session("s", std::chrono::milliseconds(60 * kMinuteMs)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(4)));
    return ctx.complete("");
  });
  std::uint64_t commits[2] = {};
  for (const bool holds : {false, true}) {
    Gateway fresh;
    const Worker& a = fresh.start_worker(registry, named("a"));
    fresh.start("i", "code", holds ? "hold" : "");
    fresh.pass(kMinuteMs);
    EXPECT_EQ(a.runtime->stats().activities_running, 0U);
    ASSERT_TRUE(fresh.ends("i", 60 * kMinuteMs));
    commits[holds ? 1 : 0] = a.runtime->stats().commits;
  }
  EXPECT_EQ(commits[0], commits[1]);
}

TEST_F(SessionOperations, another_hold_under_a_history_is_noticed) {
  testing::expect_errors("instance_stopped");
  std::int64_t hold_ms = 1'000;
  code([&hold_ms](OrchestrationContext& ctx) {
    static_cast<void>(ctx.hold_session("s", std::chrono::milliseconds(hold_ms)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
    return ctx.complete("");
  });
  Worker* a = &start_worker("a");
  start("i", "code");
  pass(1'000);
  a->kill();
  hold_ms = 2'000;
  start_worker("a");
  ends("i", 20'000);
  EXPECT_EQ(client().status("i").state, OrchestrationState::kStopped);
  EXPECT_NE(client().status("i").output.find("duration"), std::string_view::npos)
      << client().status("i").output;
}

// ---- evicting ----

// Like drive_until(), but the threads of `hung` never return.
bool drive_hung(Gateway& gateway, const Worker& hung, const std::function<bool()>& until,
                std::int64_t ms) {
  sim::Machine& machine = gateway.machine;
  const std::int64_t end = machine.boot_ms() + ms;
  while (machine.boot_ms() < end) {
    bool more = false;
    std::int64_t due = end;
    for (const auto& worker : gateway.workers) {
      const Result<bool> ticked = worker->runtime->tick(std::chrono::milliseconds::max());
      more = (ticked.ok() && ticked.value()) || more;
      if (worker.get() != &hung) more = worker->node.run_jobs() > 0 || more;
      const OptionalMs next = worker->runtime->next_due();
      if (next.has_value() && next.value() < due) due = next.value();
    }
    if (until()) return true;
    if (!more) machine.advance(due > machine.boot_ms() ? due - machine.boot_ms() : 1);
  }
  return false;
}

bool ends_hung(Gateway& gateway, const Worker& hung, std::int64_t ms) {
  return drive_hung(
      gateway, hung, [&] { return !gateway.is_running("i"); }, ms);
}

// Schedules one activity that may run for a second, and one behind it.
Poll one_behind_another(OrchestrationContext& ctx, bool exclusive) {
  ActivityOptions first;
  first.target = exclusive ? Target::exclusive_session("s") : Target::session("s");
  first.start_to_close = std::chrono::seconds(1);
  ActivityOptions second = first;
  second.start_to_close = std::chrono::milliseconds(0);
  const Handle hangs = ctx.schedule_activity("block", "1", first);
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(10)));
  const Handle waits = ctx.schedule_activity("block", "2", second);
  PAWL_AWAIT(hung, hangs);
  PAWL_AWAIT(done, waits);
  return ctx.complete(std::string(error_kind_name(hung.error().kind)) + " " +
                      std::string(done.value()));
}

// Rules: S36.
TEST_F(SessionOperations, a_hung_activity_does_not_block_its_session_for_ever) {
  testing::expect_errors("activity_abandoned");
  testing::expect_errors("session_evicted");
  code([](OrchestrationContext& ctx) { return one_behind_another(ctx, false); });
  boss();
  Worker& a = start_worker(one_thread("a"));
  a.node.hold_jobs(true);
  start("i", "code");
  drive_hung(
      *this, a, [] { return false; }, 100);
  Worker& b = start_worker(one_thread("b"));
  const std::int64_t begun = machine.boot_ms();
  ASSERT_TRUE(ends_hung(*this, a, 10 * kMinuteMs));
  EXPECT_EQ(outcome_of("i"), "completed timeout 3");
  EXPECT_LT(machine.boot_ms() - begun, 20'000) << "its limit and the grace";
  EXPECT_EQ(a.runtime->stats().sessions_evicted, 1U);
  EXPECT_EQ(a.lines.count("session_evicted session=s activity=block instance=i"), 1U);
  EXPECT_EQ(a.lines.count("session_released session=s epoch=2 to= from=a reason=hung"), 1U);
  EXPECT_EQ(b.runtime->stats().sessions_migrated, 1U);
  ASSERT_EQ(g_runs.size(), 1U);
  EXPECT_EQ(g_runs[0], "b s@3 2");
  a.kill();
}

TEST_F(SessionOperations, one_that_fails_on_loss_is_lost_with_a_hung_activity) {
  testing::expect_errors("activity_abandoned");
  testing::expect_errors("session_evicted");
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.fail_on_loss = true;
    const Session session = ctx.open_session("s", settings);
    ActivityOptions on;
    on.target = Target::own(session);
    on.start_to_close = std::chrono::seconds(1);
    PAWL_AWAIT(hung, ctx.schedule_activity("block", "1", on));
    on.start_to_close = std::chrono::milliseconds(0);
    PAWL_AWAIT(lost, ctx.schedule_activity("block", "2", on));
    return ctx.complete(std::string(error_kind_name(hung.error().kind)) + " " +
                        error_kind_name(lost.error().kind));
  });
  boss();
  Worker& a = start_worker(one_thread("a"));
  a.node.hold_jobs(true);
  start("i", "code");
  ASSERT_TRUE(ends_hung(*this, a, 10 * kMinuteMs));
  EXPECT_EQ(outcome_of("i"), "completed timeout session_lost");
  EXPECT_EQ(a.runtime->stats().sessions_lost, 1U);
  a.kill();
}

// The activity could still act on the world: only an operator releases the session, with force, or
// the lease, which is no longer renewed for it.
// Rules: S36.
TEST_F(SessionOperations, an_exclusive_one_waits_for_its_lease_or_for_force) {
  testing::expect_errors("activity_abandoned", 2);
  for (const bool forced : {false, true}) {
    Gateway fresh;
    g_runs.clear();
    code([](OrchestrationContext& ctx) { return one_behind_another(ctx, true); });
    fresh.start_worker(deciding, named("boss"));
    Worker& a = fresh.start_worker(registry, one_thread("a"));
    a.node.hold_jobs(true);
    fresh.start("i", "code");
    drive_hung(
        fresh, a, [] { return false; }, 100);
    fresh.start_worker(registry, one_thread("b"));
    const std::int64_t begun = fresh.machine.boot_ms();
    EXPECT_FALSE(ends_hung(fresh, a, 25'000));
    EXPECT_EQ(a.runtime->stats().sessions_evicted, 0U);
    TransferOptions now;
    now.stop_timeout = std::chrono::milliseconds(0);
    now.force = true;
    if (forced) {
      ASSERT_EQ(fresh.client()->transfer_session("s", "", now), Status::kOk);
    }
    ASSERT_TRUE(ends_hung(fresh, a, 10 * kMinuteMs));
    EXPECT_EQ(fresh.outcome_of("i"), "completed timeout 3");
    EXPECT_EQ(fresh.machine.boot_ms() - begun < 26'000, forced);
    EXPECT_EQ(a.runtime->stats().sessions_evicted, forced ? 0U : 1U);
    ASSERT_EQ(g_runs.size(), 1U);
    EXPECT_EQ(g_runs[0], "b s@3 2") << "never beside the other in one process";
    a.kill();
  }
}

// Another worker that has the hardware takes the device over; without one, the device stays.
TEST_F(SessionOperations, a_device_with_a_hung_activity_moves_to_its_standby) {
  testing::expect_errors("activity_abandoned", 2);
  testing::expect_errors("session_evicted");
  for (const bool has_standby : {true, false}) {
    Gateway fresh;
    g_runs.clear();
    code([](OrchestrationContext& ctx) -> Poll {
      ActivityOptions on;
      on.target = Target::concurrent_device("bed");
      on.start_to_close = std::chrono::seconds(1);
      PAWL_AWAIT(hung, ctx.schedule_activity("block", "1", on));
      on.start_to_close = std::chrono::milliseconds(0);
      PAWL_AWAIT(done, ctx.schedule_activity("block", "2", on));
      return ctx.complete(std::string(error_kind_name(hung.error().kind)) + " " +
                          std::string(done.value()));
    });
    fresh.start_worker(deciding, named("boss"));
    Worker& a = fresh.start_worker(registry, one_thread("a"));
    const Worker& b = fresh.start_worker(registry, one_thread("b"));
    ASSERT_EQ(a.runtime->declare_session("bed", false), Status::kOk);
    fresh.pass(100);
    if (has_standby) {
      ASSERT_EQ(b.runtime->declare_session("bed", true), Status::kOk);
    }
    a.node.hold_jobs(true);
    fresh.start("i", "code");
    EXPECT_EQ(ends_hung(fresh, a, kMinuteMs), has_standby);
    EXPECT_EQ(a.runtime->stats().sessions_evicted, has_standby ? 1U : 0U);
    SessionInfo bed;
    ASSERT_EQ(fresh.client()->get_session("", "bed", &bed), Status::kOk);
    EXPECT_EQ(bed.node, has_standby ? "b" : "a");
    if (has_standby) {
      EXPECT_EQ(fresh.outcome_of("i"), "completed timeout 2") << "in one step";
      ASSERT_EQ(g_runs.size(), 1U);
      EXPECT_EQ(g_runs[0].substr(0, 6), "b bed@");
    }
    a.kill();
  }
}

TEST_F(SessionOperations, one_that_an_instance_opened_is_moved_by_hand_too) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT(first, ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go on"));
    PAWL_AWAIT(second, ctx.schedule_activity("note", "2", Target::own(session)));
    return ctx.complete("");
  });
  boss();
  hand("a");
  start("i", "code");
  ASSERT_TRUE(drive_until([] { return g_runs.size() == 1; }));
  hand("b");
  TransferOptions of;
  EXPECT_EQ(client()->transfer_session("s", "b", of), Status::kNotFound) << "no shared one";
  of.instance = "j";
  EXPECT_EQ(client()->transfer_session("s", "b", of), Status::kNotFound);
  of.instance = "i";
  EXPECT_EQ(client()->transfer_session("s", "b", of), Status::kOk);
  raise_event("i", "go on");
  ASSERT_TRUE(ends("i"));
  ASSERT_EQ(g_runs.size(), 2U);
  EXPECT_EQ(g_runs[1], "b s@2 2");
}

// ---- capacity ----

// Works on as many sessions as its input says, a second apart.
Poll many_sessions(OrchestrationContext& ctx) {
  for (int i = 0; i < ctx.input()[0] - '0'; ++i) {
    const std::string session = "s" + std::to_string(i);
    PAWL_AWAIT(one, ctx.schedule_activity("note", "1", Target::session(session)));
    if (!one.ok()) return ctx.fail(one.error());
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  }
  return ctx.complete("all");
}

std::int64_t waiting_in_store(TestClient& client) {
  Metrics metrics;
  EXPECT_EQ(client->get_metrics(&metrics), Status::kOk);
  return metrics.sessions_waiting;
}

// Rules: S34.
TEST_F(SessionOperations, work_that_waits_for_capacity_is_reported) {
  code(many_sessions);
  Options how = named("a");
  how.sessions.max_sessions_per_worker = 2;
  how.sessions.evict_idle = std::chrono::milliseconds(0);
  Worker& a = start_worker(how);
  start("i", "code", "3");
  EXPECT_FALSE(ends("i", 30'000));
  EXPECT_EQ(g_runs.size(), 2U);
  EXPECT_EQ(a.runtime->stats().sessions_waiting, 1U);
  EXPECT_GE(a.runtime->stats().capacity_exhausted, 2U) << "one a look";
  EXPECT_EQ(waiting_in_store(client()), 1);
  EXPECT_EQ(a.lines.count("waiting_for_capacity sessions=1 max_sessions_per_worker=2"), 1U);
  EXPECT_EQ(a.lines.count("capacity_again"), 0U);
  Worker& b = hand("b");
  ASSERT_TRUE(ends("i"));
  EXPECT_EQ(g_runs.back(), "b s2@3 1") << "a worker with room takes it";
  EXPECT_EQ(a.runtime->stats().sessions_waiting, 0U);
  EXPECT_EQ(waiting_in_store(client()), 0);
  EXPECT_EQ(a.lines.count("waiting_for_capacity"), 1U);
  EXPECT_EQ(a.lines.count("capacity_again sessions=0"), 1U);
  EXPECT_EQ(b.runtime->stats().capacity_exhausted, 0U);
}

TEST_F(SessionOperations, what_a_worker_at_its_limit_could_not_run_is_no_lack_of_capacity) {
  testing::expect_errors("activity_unregistered");
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session("s")));
    PAWL_AWAIT_DONE(ctx.schedule_activity("nobody's", "1", Target::session("t")));
    return ctx.complete("");
  });
  Options how = named("a");
  how.sessions.max_sessions_per_worker = 1;
  Worker& a = start_worker(how);
  start("i", "code");
  pass(30'000);
  EXPECT_EQ(a.runtime->stats().capacity_exhausted, 0U);
}

// Rules: S34.
TEST_F(SessionOperations, the_longest_idle_session_makes_room_if_configured) {
  code(many_sessions);
  Options how = named("a");
  how.sessions.max_sessions_per_worker = 2;
  how.sessions.evict_idle = std::chrono::milliseconds(1'500);
  Worker& a = start_worker(how);
  start("i", "code", "4");
  EXPECT_EQ(end_of("i"), "completed all");
  EXPECT_EQ(a.runtime->stats().sessions_evicted_idle, 2U);
  EXPECT_EQ(a.lines.count("session_released session=s0 epoch=3 to= from=a reason=capacity"), 1U);
  EXPECT_EQ(a.lines.count("session_released session=s1"), 1U);
}

// Whether a session has an idle time of its own does not matter here (S34).
TEST_F(SessionOperations, what_is_held_busy_or_fails_on_loss_makes_no_room) {
  code([](OrchestrationContext& ctx) {
    SessionSettings fails;
    fails.fail_on_loss = true;
    const Session stay[] = {ctx.open_session(), ctx.open_session(fails)};
    static_cast<void>(ctx.hold_session(stay[0], std::chrono::hours(24)));
    for (const Session& one : stay)
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(one)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session("held")));
    static_cast<void>(ctx.hold_session("held", std::chrono::milliseconds(10 * kMinuteMs)));
    static_cast<void>(ctx.schedule_activity("slow", "an hour", Target::session("busy")));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session("busy")));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(2)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session("waits")));
    return ctx.complete("");
  });
  Options how = named("a");
  how.sessions.max_sessions_per_worker = 4;
  how.sessions.evict_idle = std::chrono::milliseconds(1);
  Worker& a = start_worker(how);
  start("i", "code");
  EXPECT_FALSE(ends("i", 8 * kMinuteMs));
  EXPECT_EQ(g_runs.size(), 4U);
  EXPECT_EQ(a.runtime->stats().sessions_evicted_idle, 0U);
  EXPECT_TRUE(ends("i", 10 * kMinuteMs)) << "when the hold is over";
  EXPECT_EQ(a.lines.count("session_released session=held"), 1U);
}

// ---- claiming at the start, announcing the end ----

struct Listener final : SessionListener {
  void on_session_claimed(std::string_view session, std::int64_t epoch) noexcept override {
    said += "+" + std::string(session) + "@" + std::to_string(epoch) + " ";
  }
  void on_session_lost(std::string_view session, std::int64_t epoch) noexcept override {
    said += "-" + std::string(session) + "@" + std::to_string(epoch) + " ";
  }
  void on_session_ending(std::string_view session, std::int64_t epoch) noexcept override {
    said += "~" + std::string(session) + "@" + std::to_string(epoch) + " ";
  }
  std::string said;
};

// Rules: S35.
TEST_F(SessionOperations, a_worker_claims_at_its_start_what_no_worker_owns) {
  const Name names[] = {"model", "bus", "bed"};
  Listener listener;
  Options how = working("a");
  how.sessions.claim_at_start = names;
  how.sessions.claim_at_start_count = 3;
  how.sessions.listener = &listener;
  Worker& first = hand("first");
  ASSERT_EQ(first.runtime->declare_session("bed", false), Status::kOk);
  pass(100);
  boss();
  Worker& a = start_worker(how);
  EXPECT_EQ(a.runtime->stats().sessions_claimed, 2U);
  pass(100);
  EXPECT_EQ(listener.said, "+model@2 +bus@3 ") << "no device";
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(one, ctx.schedule_activity("note", "1", Target::session("bus")));
    return ctx.complete(one.value());
  });
  start("i", "code");
  ASSERT_TRUE(ends("i"));
  EXPECT_EQ(g_runs[0], "a bus@3 1") << "though another worker looked first";
  how.worker_node_id = "late";
  how.sessions.listener = nullptr;
  const Worker& late = start_worker(how);
  EXPECT_EQ(late.runtime->stats().sessions_claimed, 0U) << "they are owned";
  pass(10 * kMinuteMs);
  EXPECT_EQ(listener.said, "+model@2 +bus@3 -model@2 -bus@3 ") << "idle ones go as ever";
  workers.clear();  // before the listener
}

TEST_F(SessionOperations, names_to_claim_are_checked) {
  const Name names[] = {"a", ""};
  Options how = named("a");
  how.sessions.claim_at_start = names;
  how.sessions.claim_at_start_count = 2;
  EXPECT_EQ(Worker(machine, registry, how).start(), Status::kInvalidOptions);
  how.sessions.claim_at_start_count = 1;
  how.sessions.max_sessions_per_worker = 0;
  EXPECT_EQ(Worker(machine, registry, how).start(), Status::kInvalidOptions);
  how.sessions.max_sessions_per_worker = 1;
  how.sessions.claim_at_start = nullptr;
  EXPECT_EQ(Worker(machine, registry, how).start(), Status::kInvalidOptions);
}

// Rules: S37.
TEST_F(SessionOperations, an_orderly_stop_says_so_before_it_releases) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.notify = true;
    const Session session = ctx.open_session("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    std::string said;
    for (int i = 0; i < 3; ++i) {
      PAWL_AWAIT(one, ctx.session_events(session));
      said += one.value();
      said += ' ';
    }
    return ctx.complete(said);
  });
  Listener listener;
  Options how = working("a");
  how.sessions.listener = &listener;
  boss();
  Worker& a = start_worker(how);
  start("i", "code");
  pass(5'000);
  ASSERT_EQ(g_runs.size(), 1U);
  const std::uint64_t commits = a.runtime->stats().commits;
  a.stop();
  EXPECT_EQ(a.runtime->stats().commits, commits) << "of ticks";
  EXPECT_EQ(listener.said, "+s@1 ~s@1 -s@1 ");
  EXPECT_EQ(end_of("i"),
            R"(completed {"change":"claimed","epoch":1,"from":"","to":"a","reason":""} )"
            R"({"change":"ending","epoch":1,"from":"a","to":"","reason":"shutdown"} )"
            R"({"change":"released","epoch":2,"from":"a","to":"","reason":"shutdown"} )");
}

// ---- neighbours ----

// One session has an activity that takes a minute; others work beside it, at one worker and one
// loop.
TEST_F(SessionOperations, a_slow_session_never_blocks_another) {
  code([](OrchestrationContext& ctx) {
    const Handle slow = ctx.schedule_activity("slow", "1", Target::session("slow"));
    const Handle behind = ctx.schedule_activity("slow", "2", Target::session("slow"));
    for (int i = 0; i < 8; ++i) {
      const std::string session = "s" + std::to_string(i % 4);
      PAWL_AWAIT(
          one, ctx.schedule_activity(i < 4 ? "note" : "block", "quick", Target::session(session)));
      if (!one.ok()) return ctx.fail(one.error());
    }
    static_cast<void>(ctx.set_custom_status("others done"));
    PAWL_AWAIT_DONE(slow);
    PAWL_AWAIT_DONE(behind);
    return ctx.complete("");
  });
  Worker& a = start_worker("a");
  start("i", "code");
  const std::int64_t begun = machine.boot_ms();
  ASSERT_TRUE(drive_until([&] { return client().status("i").custom_status == "others done"; }));
  EXPECT_LT(machine.boot_ms() - begun, 1'000);
  EXPECT_EQ(a.runtime->stats().activities_running, 2U) << "the slow ones are still at it";
  ASSERT_TRUE(ends("i", 2 * kMinuteMs));
}

// ---- handoff to workers of another tag ----

// Notes what it was given: "worker@epoch tag=.. summary=..".
ActivityResult describe(ActivityContext& ctx) {
  g_runs.push_back(std::string(ctx.worker_id()) + "@" + std::to_string(ctx.session_epoch()) +
                   " tag=" + std::string(ctx.tag()) +
                   " summary=" + std::string(ctx.session_summary()));
  return ctx.ok("");
}

class Handoff : public SessionOperations {
 protected:
  Handoff() { add("tell", describe); }
  Options of_kind(const char* node, std::string_view tag) {
    Options out = working(node);
    out.worker_tag_filter = TagFilter::tags({tag});
    return out;
  }
};

// Rules: S38.
TEST_F(Handoff, a_session_goes_to_workers_of_another_kind_with_a_summary) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", Target::own(session)));
    if (ctx.handoff_session(session, "gpu", "so far: 7") != ErrorKind::kNone)
      return ctx.fail("handoff");
    for (int i = 0; i < 2; ++i)
      PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", Target::own(session)));
    // A handoff back again, without a summary.
    if (ctx.handoff_session(session, "") != ErrorKind::kNone) return ctx.fail("back");
    PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", Target::own(session)));
    return ctx.complete("");
  });
  const Worker& decider = boss();
  hand("a");
  start_worker(of_kind("b", "gpu"));
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_EQ(g_runs, (std::vector<std::string>{"a@1 tag= summary=", "b@3 tag=gpu summary=so far: 7",
                                              "b@3 tag=gpu summary=", "a@5 tag= summary="}));
  EXPECT_EQ(decider.lines.count("session_released session=s epoch=2 to= from=a reason=handoff"),
            1U);
}

TEST_F(Handoff, the_name_of_an_opened_session_is_that_session_unless_a_shared_one_has_it) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", Target::own(session)));
    if (ctx.input() == "shared")
      PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", Target::session("s")));
    if (ctx.handoff_session("s", "gpu", "so far: 7") != ErrorKind::kNone)
      return ctx.fail("handoff");
    PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", Target::own(session)));
    return ctx.complete("");
  });
  boss();
  hand("a");
  start_worker(of_kind("b", "gpu"));
  for (const char* input : {"own", "shared"}) {
    g_runs.clear();
    start(input, "code", input);
    EXPECT_EQ(end_of(input), "completed ");
    EXPECT_EQ(g_runs.back().substr(0, 2), input == std::string("own") ? "b@" : "a@");
  }
}

TEST_F(Handoff, queued_work_waits_for_the_kind_and_its_own_tag_is_its_own) {
  testing::expect_errors("activity_unregistered");
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", Target::session("s")));
    static_cast<void>(ctx.handoff_session("s", "gpu", "x"));
    const Handle waits = ctx.schedule_activity("tell", "", Target::session("s"));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(30)));
    PAWL_AWAIT_DONE(waits);
    ActivityOptions own;
    own.target = Target::session("s");
    own.tag = "cpu";
    PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", own));
    return ctx.complete("");
  });
  boss();
  hand("a");
  start("i", "code");
  EXPECT_FALSE(ends("i", 60'000));
  EXPECT_EQ(g_runs.size(), 1U) << "nobody of that kind lives";
  start_worker(of_kind("b", "gpu"));
  start_worker(of_kind("c", "cpu"));
  ASSERT_TRUE(ends("i", 5 * kMinuteMs));
  ASSERT_EQ(g_runs.size(), 3U);
  EXPECT_EQ(g_runs[1].substr(0, 2), "b@");
  EXPECT_EQ(g_runs[2].substr(0, 2), "c@");
  EXPECT_NE(g_runs[2].find("tag=cpu summary=x"), std::string::npos)
      << "the next owner begins with the summary: " << g_runs[2];
}

// Rules: S38.
TEST_F(Handoff, the_summary_is_read_again_after_a_crash_and_outlives_continue_as_new) {
  code([](OrchestrationContext& ctx) {
    ActivityOptions on;
    on.target = Target::own("s");
    if (ctx.execution_id() == 1) {
      const Session session = ctx.open_session("s");
      PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", on));
      static_cast<void>(ctx.handoff_session(session, "gpu", "so far: 7"));
      return ctx.continue_as_new("");
    }
    PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", on));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("tell", "", on));
    return ctx.complete("");
  });
  boss();
  hand("a");
  Worker& b = start_worker(of_kind("b", "gpu"));
  start("i", "code");
  pass(5'000);
  ASSERT_EQ(g_runs.size(), 2U);
  b.kill();
  start_worker(of_kind("b", "gpu"));
  ASSERT_TRUE(ends("i"));
  ASSERT_EQ(g_runs.size(), 3U);
  EXPECT_NE(g_runs[1].find("tag=gpu summary=so far: 7"), std::string::npos) << g_runs[1];
  EXPECT_NE(g_runs[2].find("tag=gpu summary=so far: 7"), std::string::npos) << g_runs[2];
}

TEST_F(Handoff, bad_arguments_record_nothing_and_devices_stay) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const std::string longest(kSessionSummaryBytesMax, 'x');
              const std::string longer = longest + "x";
              const std::string bad_tag("a\nb");
              if (ctx.handoff_session("s", "t", longer) != ErrorKind::kLimit) return ctx.fail("1");
              if (ctx.handoff_session("s", bad_tag) != ErrorKind::kInvalidArgument)
                return ctx.fail("2");
              if (ctx.handoff_session("", "t") != ErrorKind::kInvalidArgument) return ctx.fail("3");
              if (ctx.handoff_session(Session(), "t") != ErrorKind::kInvalidArgument)
                return ctx.fail("4");
              if (ctx.handoff_session("nobody's", "t", longest) != ErrorKind::kNone)
                return ctx.fail("5");
              return ctx.complete("ok");
            }),
            "completed ok");
  code([](OrchestrationContext& ctx) {
    static_cast<void>(ctx.handoff_session("bed", "gpu"));
    PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::device("bed")));
    return ctx.complete(done.value());
  });
  Worker& a = start_worker("a");
  ASSERT_EQ(a.runtime->declare_session("bed", false), Status::kOk);
  pass(10);
  start("j", "code");
  EXPECT_TRUE(ends("j"));
}

TEST_F(Handoff, another_kind_or_summary_under_a_history_is_noticed) {
  testing::expect_errors("instance_stopped", 2);
  for (const char* what : {"tag", "summary"}) {
    Gateway fresh;
    bool changed = false;
    code([&](OrchestrationContext& ctx) {
      const bool other_tag = changed && what == std::string_view("tag");
      static_cast<void>(ctx.handoff_session("s", other_tag ? "b" : "a", changed ? "2" : "1"));
      PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
      return ctx.complete("");
    });
    Worker& a = fresh.start_worker(registry, named("a"));
    fresh.start("i", "code");
    fresh.pass(1'000);
    a.kill();
    changed = true;
    fresh.start_worker(registry, named("a"));
    fresh.ends("i", 20'000);
    EXPECT_EQ(fresh.client().status("i").state, OrchestrationState::kStopped);
    EXPECT_NE(fresh.outcome_of("i").find(what), std::string::npos) << fresh.outcome_of("i");
  }
}

// ---- report of a loss ----

// Rules: S40.
TEST_F(SessionOperations, a_loss_names_its_session_and_reason) {
  testing::expect_errors("activity_unregistered");
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.fail_on_loss = true;
    const Session session = ctx.open_session("say \"s\"", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    std::string said;
    PAWL_AWAIT(first, ctx.schedule_activity("nobody's", "2", Target::own(session)));
    PAWL_AWAIT(second, ctx.schedule_activity("note", "3", Target::own(session)));
    for (const Outcome* one : {&first, &second}) {
      SessionLoss loss;
      if (one->error().kind != ErrorKind::kSessionLost ||
          from_json(one->error().text, &loss) != Status::kOk)
        return ctx.fail(one->error());
      said += std::string(loss.session.view()) + ", " + std::to_string(loss.epoch) + ", " +
              std::string(loss.from.view()) + ", " + std::string(loss.reason.view()) + "; ";
    }
    return ctx.complete(said);
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  pass(5'000);
  a.kill();
  EXPECT_EQ(end_of("i"), "completed say \"s\", 2, a, buried; say \"s\", 2, a, not opened again; ");
}

}  // namespace
}  // namespace pawl
