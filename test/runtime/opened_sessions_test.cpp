// Goal: orchestrations open and close sessions, with affinity, loss, notices and limits. Method:
// whole runtimes on the simulated machine.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "pawl/visit.hpp"
#include "session_story.hpp"

namespace pawl {
namespace {

using testing::CodeTest;
using testing::Worker;

std::vector<std::string> g_runs;  // "worker session@epoch input"

ActivityResult note(ActivityContext& ctx) {
  g_runs.push_back(std::string(ctx.worker_id()) + " " + std::string(ctx.session_id()) + "@" +
                   std::to_string(ctx.session_epoch()) + " " + std::string(ctx.input()));
  if (ctx.input() == "abort") ctx.abort_session();
  if (ctx.input() == "fail") return ctx.fail("said so");
  return ctx.ok(ctx.worker_id());
}

class OpenedSessions : public CodeTest {
 protected:
  OpenedSessions() {
    g_runs.clear();
    add("note", note);
  }
  std::string run(Code what) {
    const std::int64_t began = machine.boot_ms();
    std::string end = CodeTest::run(std::move(what));
    took_ms = machine.boot_ms() - began;
    sessions_left = count_sessions();
    return end;
  }
  std::size_t count_sessions() {
    std::size_t count = 0;
    auto visitor = visit([&](const SessionInfo&) { ++count; });
    Page page;
    EXPECT_EQ(client()->list_sessions(SessionFilter(), &page, visitor), Status::kOk);
    return count;
  }

  std::size_t sessions_left = 0;
  std::int64_t took_ms = 0;
};

TEST_F(OpenedSessions, open_schedule_close) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.open_session();
              PAWL_AWAIT(one, ctx.schedule_activity("note", "1", Target::own(session)));
              PAWL_AWAIT(two, ctx.schedule_activity("note", "2", Target::own(session)));
              if (!one.ok() || !two.ok()) return ctx.fail("work");
              if (ctx.close_session(session.id()) != ErrorKind::kNone) return ctx.fail("close");
              PAWL_AWAIT(three, ctx.schedule_activity("note", "3", Target::own(session)));
              return ctx.complete(error_kind_name(three.error().kind));
            }),
            "completed session_closed");
  ASSERT_EQ(g_runs.size(), 2u);
  EXPECT_EQ(g_runs[0], "a 1.0.0@1 1");
  EXPECT_EQ(g_runs[1], "a 1.0.0@1 2");
  EXPECT_EQ(sessions_left, 0u);
}

TEST_F(OpenedSessions, a_session_not_opened_is_closed) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              ActivityOptions on;
              on.target = Target::own("x");
              PAWL_AWAIT(one, ctx.schedule_activity("note", "1", on));
              return ctx.complete(error_kind_name(one.error().kind));
            }),
            "completed session_closed");
  EXPECT_TRUE(g_runs.empty());
}

// Nothing else wakes the process: there is no other one, and nothing is due.
TEST_F(OpenedSessions, what_a_commit_notifies_its_own_instance_waits_for_no_renewal) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              SessionSettings settings;
              settings.notify = true;
              const Session session = ctx.open_session("s", settings);
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
              PAWL_AWAIT(claimed, ctx.session_events(session));
              const Handle late = ctx.schedule_activity("note", "2", Target::own(session));
              static_cast<void>(ctx.close_session("s"));
              PAWL_AWAIT(closed, late);
              PAWL_AWAIT(after, ctx.schedule_activity("note", "3", Target::own(session)));
              return ctx.complete(std::string(error_kind_name(closed.error().kind)) + " " +
                                  error_kind_name(after.error().kind));
            }),
            "completed session_closed session_closed");
  EXPECT_LT(took_ms, 1'000);
}

TEST_F(OpenedSessions, open_with_id_is_idempotent_and_close_too) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session first = ctx.open_session("s");
              const Session again = ctx.open_session("s");
              if (first.id() != "s" || again.id() != "s") return ctx.fail("id");
              PAWL_AWAIT(one, ctx.schedule_activity("note", "1", Target::own(first)));
              PAWL_AWAIT(two, ctx.schedule_activity("note", "2", Target::own(again)));
              for (int i = 0; i < 2; ++i)
                if (ctx.close_session("s") != ErrorKind::kNone) return ctx.fail("close");
              if (ctx.close_session("never opened") != ErrorKind::kNone) return ctx.fail("close");
              const Session anew = ctx.open_session("s");
              PAWL_AWAIT(three, ctx.schedule_activity("note", "3", Target::own(anew)));
              return ctx.complete(one.ok() && two.ok() && three.ok() ? "ok" : "not ok");
            }),
            "completed ok");
  ASSERT_EQ(g_runs.size(), 3u);
  EXPECT_EQ(g_runs[0].substr(0, 5), g_runs[1].substr(0, 5)) << "one epoch";
  EXPECT_NE(g_runs[1].substr(0, 5), g_runs[2].substr(0, 5)) << "another one after closing";
  EXPECT_EQ(sessions_left, 0u);
}

TEST_F(OpenedSessions, bad_ids_and_settings_are_invalid_arguments) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const std::string long_id(249, 'x');
              if (!ctx.open_session("").id().empty()) return ctx.fail("empty");
              if (!ctx.open_session(long_id).id().empty()) return ctx.fail("long");
              if (ctx.close_session("") != ErrorKind::kInvalidArgument) return ctx.fail("close");
              SessionSettings settings;
              settings.fail_on_loss = true;
              settings.idle_timeout = std::chrono::seconds(1);
              const Session bad = ctx.open_session(settings);
              if (!bad.id().empty()) return ctx.fail("settings");
              PAWL_AWAIT(one, ctx.schedule_activity("note", "1", Target::own(bad)));
              return ctx.complete(error_kind_name(one.error().kind));
            }),
            "completed invalid_argument");
}

// Rules: S18.
TEST_F(OpenedSessions, one_too_many_is_a_limit_and_closing_makes_room) {
  options.sessions.max_sessions_per_orchestration = 2;
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session a = ctx.open_session("a");
              static_cast<void>(ctx.open_session("b"));
              const Session c = ctx.open_session("c");
              PAWL_AWAIT(in, ctx.schedule_activity("note", "1", Target::own(a)));
              PAWL_AWAIT(out, ctx.schedule_activity("note", "2", Target::own(c)));
              if (!in.ok() || out.error().kind != ErrorKind::kLimit) return ctx.fail("limit");
              static_cast<void>(ctx.close_session("b"));
              const Session again = ctx.open_session("c");
              PAWL_AWAIT(now, ctx.schedule_activity("note", "3", Target::own(again)));
              return ctx.complete(now.ok() ? "room" : "no room");
            }),
            "completed room");
}

TEST_F(OpenedSessions, instances_do_not_share_what_they_open) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("same");
    PAWL_AWAIT(one, ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
    return ctx.complete(one.value());
  });
  start_worker("a");
  start("i", "code");
  start("j", "code");
  drive_until([&] { return g_runs.size() == 2; }, 500);
  EXPECT_EQ(count_sessions(), 2u);
  ASSERT_TRUE(drive_until([&] { return !is_running("i") && !is_running("j"); }));
  EXPECT_NE(g_runs[0], g_runs[1]) << "two epochs";
  EXPECT_EQ(count_sessions(), 0u) << "both ends closed them";
}

// Rules: S20.
TEST_F(OpenedSessions, survive_continue_as_new_without_being_opened_again) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              ActivityOptions on;
              on.target = Target::own("s");
              if (ctx.execution_id() == 1) static_cast<void>(ctx.open_session("s"));
              PAWL_AWAIT(one, ctx.schedule_activity("note", "1", on));
              if (!one.ok()) return ctx.fail(one.error());
              if (ctx.execution_id() < 3) return ctx.continue_as_new("");
              return ctx.complete("round");
            }),
            "completed round");
  ASSERT_EQ(g_runs.size(), 3u);
  EXPECT_EQ(g_runs[0], g_runs[2]) << "one owner and epoch all along";
  EXPECT_EQ(sessions_left, 0u);
}

TEST_F(OpenedSessions, an_opening_in_the_turn_that_continues_as_new_counts) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              if (ctx.execution_id() == 1) {
                static_cast<void>(ctx.open_session("s"));
                return ctx.continue_as_new("");
              }
              ActivityOptions on;
              on.target = Target::own("s");
              PAWL_AWAIT(one, ctx.schedule_activity("note", "1", on));
              return ctx.complete(one.ok() ? "ok" : error_kind_name(one.error().kind));
            }),
            "completed ok");
}

// Rules: S19.
TEST_F(OpenedSessions, closing_fails_pending_work_and_refuses_late_results) {
  testing::expect_errors("activity_unregistered");
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.open_session("s");
              const Handle pending = ctx.schedule_activity("unknown", "1", Target::own(session));
              PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
              static_cast<void>(ctx.close_session("s"));
              PAWL_AWAIT(done, pending);
              return ctx.complete(error_kind_name(done.error().kind));
            }),
            "completed session_closed");
  EXPECT_EQ(sessions_left, 0u);
}

TEST_F(OpenedSessions, what_is_scheduled_and_closed_in_one_turn_is_closed) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.open_session("s");
              const Handle before = ctx.schedule_activity("note", "1", Target::own(session));
              static_cast<void>(ctx.close_session("s"));
              const Session again = ctx.open_session("s");
              const Handle after = ctx.schedule_activity("note", "2", Target::own(again));
              PAWL_AWAIT(first, before);
              PAWL_AWAIT(second, after);
              if (first.error().kind != ErrorKind::kSessionClosed) return ctx.fail(first.error());
              return second.ok() ? ctx.complete("ordered") : ctx.fail(second.error());
            }),
            "completed ordered");
  ASSERT_EQ(g_runs.size(), 1u);
  EXPECT_EQ(g_runs[0].back(), '2');
}

TEST_F(OpenedSessions, exclusive_ones_run_in_order) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              SessionSettings settings;
              settings.exclusive = true;
              const Session session = ctx.open_session(settings);
              const Handle all[] = {ctx.schedule_activity("note", "1", Target::own(session)),
                                    ctx.schedule_activity("note", "2", Target::own(session)),
                                    ctx.schedule_activity("note", "3", Target::own(session))};
              for (const Handle& one : all)
                PAWL_AWAIT_DONE(one);
              return ctx.complete("all");
            }),
            "completed all");
  ASSERT_EQ(g_runs.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(g_runs[i].back(), static_cast<char>('1' + i));
}

TEST_F(OpenedSessions, are_released_when_idle_only_if_asked) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              SessionSettings settings;
              settings.idle_timeout = std::chrono::seconds(30);
              const Session idles = ctx.open_session("idles", settings);
              const Session stays = ctx.open_session("stays");
              for (const Session& one : {idles, stays})
                PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(one)));
              PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(30)));
              for (const Session& one : {idles, stays})
                PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", Target::own(one)));
              return ctx.complete("done");
            }),
            "completed done");
  ASSERT_EQ(g_runs.size(), 4u);
  EXPECT_EQ(g_runs[0], "a idles@1 1");
  EXPECT_EQ(g_runs[1], "a stays@2 1");
  EXPECT_NE(g_runs[2], "a idles@1 2");
  EXPECT_EQ(g_runs[3], "a stays@2 2");
}

// ---- loss as failure ----

Poll lose_and_recover(OrchestrationContext& ctx) {
  SessionSettings settings;
  settings.fail_on_loss = true;
  settings.notify = true;
  const Session session = ctx.open_session("s", settings);
  PAWL_AWAIT(first, ctx.schedule_activity("note", "1", Target::own(session)));
  if (!first.ok()) return ctx.fail(first.error());
  PAWL_AWAIT(claimed, ctx.session_events(session));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  PAWL_AWAIT(lost, ctx.schedule_activity("note", "2", Target::own(session)));
  if (lost.error().kind != ErrorKind::kSessionLost) return ctx.fail("not lost");
  PAWL_AWAIT(reported, ctx.session_events(session));
  const Session again = ctx.open_session("s", settings);
  PAWL_AWAIT(third, ctx.schedule_activity("note", "3", Target::own(again)));
  if (!third.ok()) return ctx.fail(third.error());
  return ctx.complete(std::string(claimed.value()) + std::string(reported.value()));
}

// Rules: S21.
TEST_F(OpenedSessions, one_that_fails_on_loss_is_lost_with_its_owner_and_opened_again) {
  code(lose_and_recover);
  const Worker& decider = boss();
  Worker& a = start_worker("a");
  start("i", "code");
  pass(5'000);
  ASSERT_EQ(g_runs.size(), 1u);
  a.kill();
  const Worker& b = start_worker("b");
  EXPECT_EQ(end_of("i"),
            R"(completed {"change":"claimed","epoch":1,"from":"","to":"a","reason":""})"
            R"({"change":"lost","epoch":2,"from":"a","to":"","reason":"buried"})");
  ASSERT_EQ(g_runs.size(), 2u) << "what was lost never ran";
  EXPECT_EQ(g_runs[1].substr(0, 4), "b s@");
  EXPECT_EQ(decider.runtime->stats().sessions_lost + b.runtime->stats().sessions_lost, 1u);
}

TEST_F(OpenedSessions, queued_work_of_a_lost_session_fails_and_is_not_stranded) {
  testing::expect_errors("activity_unregistered");
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.fail_on_loss = true;
    const Session session = ctx.open_session("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    const Handle all[] = {ctx.schedule_activity("unknown", "2", Target::own(session)),
                          ctx.schedule_activity("unknown", "3", Target::own(session))};
    std::string kinds;
    for (const Handle& one : all) {
      PAWL_AWAIT(done, one);
      kinds += error_kind_name(done.error().kind);
      kinds += ' ';
    }
    return ctx.complete(kinds);
  });
  boss();
  Worker& a = start_worker("a");
  start("i", "code");
  pass(5'000);
  ASSERT_EQ(g_runs.size(), 1u);
  a.kill();
  EXPECT_EQ(end_of("i"), "completed session_lost session_lost ");
}

TEST_F(OpenedSessions, an_orderly_stop_loses_them_too) {
  code(lose_and_recover);
  boss();
  Worker& a = start_worker("a");
  start("i", "code");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 1; }, 1'000));
  a.stop();
  start_worker("a");
  ASSERT_TRUE(ends("i"));
  EXPECT_EQ(client().status("i").state, OrchestrationState::kCompleted)
      << client().status("i").output;
}

TEST_F(OpenedSessions, one_that_does_not_fail_moves_to_another_worker) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
    PAWL_AWAIT(done, ctx.schedule_activity("note", "2", Target::own(session)));
    return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
  });
  boss();
  Worker& a = start_worker("a");
  start("i", "code");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 1; }, 1'000));
  a.kill();
  start_worker("b");
  EXPECT_EQ(end_of("i"), "completed b");
}

TEST_F(OpenedSessions, abort_from_inside_an_activity) {
  testing::expect_errors("activity_unregistered");
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              SessionSettings settings;
              settings.fail_on_loss = true;
              const Session fails = ctx.open_session("fails", settings);
              const Session moves = ctx.open_session("moves");
              const Handle queued = ctx.schedule_activity("unknown", "1", Target::own(fails));
              PAWL_AWAIT(own, ctx.schedule_activity("note", "abort", Target::own(fails)));
              if (!own.ok()) return ctx.fail("its own result counts");
              PAWL_AWAIT(other, queued);
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "abort", Target::own(moves)));
              PAWL_AWAIT(next, ctx.schedule_activity("note", "2", Target::own(moves)));
              if (!next.ok()) return ctx.fail(next.error());
              return ctx.complete(error_kind_name(other.error().kind));
            }),
            "completed session_lost");
  ASSERT_EQ(g_runs.size(), 3u);
  EXPECT_NE(g_runs[1].substr(0, 9), g_runs[2].substr(0, 9)) << "a new epoch after the abort";
}

// Rules: S20.
TEST_F(OpenedSessions, terminating_and_deleting_leave_no_session) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(10)));
    return ctx.complete("");
  });
  start_worker("a");
  for (const char* id : {"i", "j"})
    start(id, "code");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 2; }, 1'000));
  EXPECT_EQ(count_sessions(), 2u);
  EXPECT_EQ(client()->terminate_instance("i", "operator"), Status::kOk);
  ASSERT_TRUE(ends("i"));
  EXPECT_EQ(count_sessions(), 1u);
  EXPECT_EQ(client()->delete_instance("j", true), Status::kOk);
  EXPECT_EQ(count_sessions(), 0u);
}

TEST_F(OpenedSessions, other_settings_or_ids_under_a_history_are_noticed) {
  testing::expect_errors("instance_stopped");
  bool changed = false;
  code([&changed](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.exclusive = changed;
    const Session session = ctx.open_session("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
    return ctx.complete("");
  });
  Worker& a = start_worker("a");
  start("i", "code");
  ASSERT_TRUE(drive_until([&] { return g_runs.size() == 1; }, 1'000));
  pass(1'000);
  a.kill();
  changed = true;
  start_worker("a");
  ends("i", 20'000);
  EXPECT_EQ(client().status("i").state, OrchestrationState::kStopped);
}

}  // namespace
}  // namespace pawl
