// Goal: work outside is no work for its session, unless it holds it, and ends with the session.
// Method: whole runtimes on the simulated machine; a client answers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "outside_story.hpp"

namespace pawl {
namespace {

using std::chrono::seconds;
using testing::OutsideTest;
using testing::Worker;

using OutsideSessions = OutsideTest;
using Texts = std::vector<std::string>;

ActivityOptions on(const Target& target) {
  ActivityOptions options;
  options.target = target;
  return options;
}

// Asks on the target, and then notes on it; the note's end is seen in `notes` alone.
OutsideTest::Code asks_then_notes(const Target& target, int attempts = 1) {
  return [=](OrchestrationContext& ctx) {
    ActivityOptions how = on(target);
    how.retry.max_attempts = attempts;
    how.retry.base = seconds(1);
    const Handle asked = ctx.schedule_activity("ask", "q", how);
    const Handle noted = ctx.schedule_activity("note", "n", on(target));
    PAWL_AWAIT(done, asked);
    PAWL_AWAIT_DONE(noted);
    return ctx.complete(OutsideTest::text_of(done));
  };
}

// Rules: S57.
TEST_F(OutsideSessions, the_next_work_of_an_exclusive_session_does_not_wait_for_it) {
  ask_at("a", asks_then_notes(Target::exclusive_session("s")));
  pass(1'000);
  EXPECT_EQ(notes, Texts{"n"});
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

TEST_F(OutsideSessions, one_that_holds_the_session_keeps_the_next_work_waiting) {
  session = WhileOutside::kHoldsSession;
  ask_at("a", asks_then_notes(Target::exclusive_session("s")));
  pass(600'000);
  EXPECT_TRUE(notes.empty());
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
  EXPECT_EQ(notes, Texts{"n"});
}

TEST_F(OutsideSessions, one_that_holds_a_session_of_many_keeps_a_barrier_alone_waiting) {
  session = WhileOutside::kHoldsSession;
  ask_at("a", [](OrchestrationContext& ctx) {
    const Handle asked = ctx.schedule_activity("ask", "q", on(Target::session("s")));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "beside", on(Target::session("s"))));
    const Handle barrier =
        ctx.schedule_activity("note", "barrier", on(Target::session("s").barrier()));
    PAWL_AWAIT_DONE(asked);
    PAWL_AWAIT_DONE(barrier);
    return ctx.complete("");
  });
  pass(60'000);
  EXPECT_EQ(notes, Texts{"beside"});
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_EQ(notes, (Texts{"beside", "barrier"}));
}

TEST_F(OutsideSessions, later_work_waits_for_the_outcome_of_a_barrier_that_is_outside) {
  ask_at("a", [](OrchestrationContext& ctx) {
    const Handle asked = ctx.schedule_activity("ask", "q", on(Target::session("s").barrier()));
    const Handle noted = ctx.schedule_activity("note", "n", on(Target::session("s")));
    PAWL_AWAIT_DONE(asked);
    PAWL_AWAIT_DONE(noted);
    return ctx.complete("");
  });
  pass(60'000);
  EXPECT_TRUE(notes.empty());
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed ");
}

// The execution has ended, so another one runs beside none.
TEST_F(OutsideSessions, a_limit_in_an_exclusive_session_is_followed_by_another_attempt) {
  ask_at("a", [](OrchestrationContext& ctx) {
    ActivityOptions how = on(Target::exclusive_session("s"));
    how.retry.max_attempts = 2;
    how.start_to_close = seconds(10);
    PAWL_AWAIT(done, ctx.schedule_activity("ask", "q", how));
    return ctx.complete(text_of(done));
  });
  ASSERT_TRUE(drive_until([&] { return tokens.size() == 2; }, 20'000));
  pass(100);
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

// An answer ends what is handed over, and the execution still keeps the session until it returns.
TEST_F(OutsideSessions, an_early_answer_lets_the_next_work_wait_for_the_return) {
  inside = [&](ActivityContext& ctx) {
    EXPECT_EQ(complete(ctx.completion_token().view(), "at once"), Status::kOk);
    tick_all(workers.front().get());
    EXPECT_TRUE(notes.empty());
  };
  code(asks_then_notes(Target::exclusive_session("s")));
  start_worker("a");
  start_worker("b");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed at once");
  EXPECT_EQ(notes, Texts{"n"});
}

TEST_F(OutsideSessions, an_early_failure_in_an_exclusive_session_is_not_retried) {
  inside = [&](ActivityContext& ctx) {
    EXPECT_EQ(client()->fail_activity(ctx.completion_token().view(), "no"), Status::kOk);
  };
  code(asks_then_notes(Target::exclusive_session("s"), 3));
  start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed application: no");
  EXPECT_EQ(tokens.size(), 1U);
}

TEST_F(OutsideSessions, an_early_failure_elsewhere_is_retried) {
  inside = [&](ActivityContext& ctx) {
    if (tokens.size() == 1) {
      EXPECT_EQ(client()->fail_activity(ctx.completion_token().view(), "no"), Status::kOk);
    }
  };
  ask_at("a", asks_then_notes(Target::session("s"), 3), 2);
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
  EXPECT_EQ(tokens.size(), 2U);
}

// Its owner gives an idle session up, and the answer counts all the same.
TEST_F(OutsideSessions, its_session_is_idle_without_it) {
  options.sessions.session_idle_timeout = seconds(60);
  ask_at("a", asks_then_notes(Target::session("s")));
  const auto owner = [&] {
    SessionInfo one;
    EXPECT_EQ(client()->get_session("", "s", &one), Status::kOk);
    return std::string(one.node);
  };
  EXPECT_EQ(owner(), "a");
  pass(120'000);
  EXPECT_EQ(owner(), "");
  pass(7'200'000);
  EXPECT_EQ(owner(), "") << "and it is swept only when the answer is there";
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

TEST_F(OutsideSessions, a_session_that_is_held_is_not_idle) {
  session = WhileOutside::kHoldsSession;
  options.sessions.session_idle_timeout = seconds(60);
  ask_at("a", asks_then_notes(Target::session("s")));
  pass(600'000);
  SessionInfo one;
  ASSERT_EQ(client()->get_session("", "s", &one), Status::kOk);
  EXPECT_EQ(one.node, "a");
}

// Idleness brings nothing that would fail the activity.
TEST_F(OutsideSessions, no_idleness_ends_a_session_whose_end_would_fail_it) {
  options.sessions.session_idle_timeout = seconds(60);
  ask_at(
      "a",
      [](OrchestrationContext& ctx) {
        SessionSettings settings;
        settings.idle_close = seconds(60);
        const Session closes = ctx.open_session("closes", settings);
        SessionSettings fragile;
        fragile.fail_on_loss = true;
        const Session fails = ctx.use_session("fails", fragile);
        const Handle first = ctx.schedule_activity("ask", "q", on(Target::own(closes)));
        const Handle second = ctx.schedule_activity("ask", "q", on(Target::own(fails)));
        PAWL_AWAIT(one, first);
        PAWL_AWAIT(other, second);
        return ctx.complete(text_of(one) + " " + text_of(other));
      },
      2);
  pass(3'600'000);
  ASSERT_EQ(complete(tokens[0], "one"), Status::kOk);
  ASSERT_EQ(complete(tokens[1], "two"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed one two");
}

TEST_F(OutsideSessions, a_loss_of_its_session_fails_it) {
  ask_at("a", [](OrchestrationContext& ctx) {
    SessionSettings fragile;
    fragile.fail_on_loss = true;
    const Session fails = ctx.open_session("s", fragile);
    PAWL_AWAIT(done, ctx.schedule_activity("ask", "q", on(Target::own(fails))));
    return ctx.complete(text_of(done));
  });
  restart();
  EXPECT_EQ(end_of("i").substr(0, 23), "completed session_lost:");
  EXPECT_EQ(complete("yes"), Status::kNotFound);
}

TEST_F(OutsideSessions, a_death_of_its_owner_alone_does_not) {
  ask_at("a", asks_then_notes(Target::exclusive_session("s")));
  restart();
  pass(1'000);
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
  EXPECT_EQ(tokens.size(), 1U);
}

TEST_F(OutsideSessions, closing_its_session_fails_it) {
  ask_at("a", [](OrchestrationContext& ctx) {
    const Session opened = ctx.open_session("s");
    const Handle asked = ctx.schedule_activity("ask", "q", on(Target::own(opened)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    PAWL_AWAIT(done, asked);
    return ctx.complete(text_of(done));
  });
  ASSERT_EQ(client()->close_session("i", "s"), Status::kOk);
  EXPECT_EQ(complete("yes"), Status::kNotFound);
  raise_event("i", "go");
  EXPECT_EQ(end_of("i").substr(0, 25), "completed session_closed:");
}

TEST_F(OutsideSessions, a_transfer_and_a_drain_do_not_wait_for_it) {
  for (const WhileOutside how : {WhileOutside::kFreesSession, WhileOutside::kHoldsSession}) {
    session = how;
    workers.clear();
    start_worker("b");
    const std::string id = how == WhileOutside::kFreesSession ? "frees" : "holds";
    const std::size_t before = tokens.size();
    code([id](OrchestrationContext& ctx) {
      PAWL_AWAIT(done, ctx.schedule_activity("ask", "q", on(Target::exclusive_session(id))));
      return ctx.complete(text_of(done));
    });
    start(id, "code");
    ASSERT_TRUE(drive_until([&] { return tokens.size() > before; }));
    start_worker("c");
    pass(100);
    ASSERT_EQ(client()->transfer_session(id, "c"), Status::kOk);
    pass(1'000);
    SessionInfo one;
    ASSERT_EQ(client()->get_session("", id, &one), Status::kOk);
    EXPECT_EQ(one.node, "c") << id;
    ASSERT_EQ(client()->drain_worker("c"), Status::kOk);
    pass(1'000);
    ASSERT_EQ(client()->get_session("", id, &one), Status::kOk);
    EXPECT_NE(one.node, "c") << id;
    ASSERT_EQ(complete("yes"), Status::kOk);
    EXPECT_EQ(end_of(id), "completed yes");
  }
}

TEST_F(OutsideSessions, a_device_that_goes_away_does_not_end_it) {
  Worker& a = start_worker("a");
  ASSERT_EQ(declare(a, "bus"), Status::kOk);
  code(asks_then_notes(Target::device("bus", seconds(30))));
  start("i", "code");
  ASSERT_TRUE(drive_until([&] { return tokens.size() == 1 && notes.size() == 1; }));
  ASSERT_EQ(withdraw(a, "bus"), Status::kOk);
  pass(600'000);
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

ActivityResult gives_up(ActivityContext& ctx) {
  ctx.abort_session();
  EXPECT_EQ(ctx.heartbeat(ctx.completion_token().view()), Status::kOk);
  return ctx.complete_later();
}

TEST_F(OutsideSessions, an_activity_may_give_its_session_up_and_leave) {
  add("gives_up", gives_up);
  ASSERT_EQ(registry.allow_complete_later("gives_up"), Status::kOk);
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(done, ctx.schedule_activity("gives_up", "", on(Target::session("s"))));
    return ctx.complete(text_of(done));
  });
  start_worker("a");
  start("i", "code");
  pass(5'000);
  SessionInfo one;
  ASSERT_EQ(client()->get_session("", "s", &one), Status::kOk);
  EXPECT_EQ(one.node, "");
  auto keep = visit([&](const ActivityInfo& found) { tokens.emplace_back(found.last_progress); });
  ASSERT_EQ(client()->list_activities("i", keep), Status::kOk);
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

}  // namespace
}  // namespace pawl
