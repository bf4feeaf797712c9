// Goal: beside closing and moving a session of either kind, an operator holds it, hands it off and
// changes its settings. The log reports it, and a replay does not depend on it.
// Rules: S54.
#include <gtest/gtest.h>

#include <string>

#include "session_story.hpp"

namespace pawl {
namespace {

using testing::SessionStory;
using testing::TestClient;
using testing::Worker;

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kHour = 60 * kMinute;

ActivityResult summary(ActivityContext& ctx) {
  return ctx.ok(std::string(ctx.worker_id()) + ": " + std::string(ctx.session_summary()));
}

class SessionVerbs : public SessionStory {
 protected:
  // The session that the input names, "opened" or "shared", which is the id of the instance, too.
  static Session session_of(OrchestrationContext& ctx, const SessionSettings& settings) {
    return ctx.input() == "shared" ? ctx.use_session("s", settings)
                                   : ctx.open_session("s", settings);
  }
  static std::string_view opener(std::string_view kind) {
    return kind == "shared" ? std::string_view() : kind;
  }
  SessionInfo info(std::string_view kind) {
    SessionInfo out;
    EXPECT_EQ(client()->get_session(opener(kind), "s", &out), Status::kOk);
    return out;
  }
};

TEST_F(SessionVerbs, an_operator_holds_one) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.idle_timeout = std::chrono::minutes(1);
    const Session session = session_of(ctx, settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return ctx.complete("");
  });
  start_worker("a");
  for (const char* kind : {"opened", "shared"}) {
    SCOPED_TRACE(kind);
    start(kind, "code", kind);
    pass(10'000);
    ASSERT_EQ(client()->hold_session(opener(kind), "s", std::chrono::minutes(10)), Status::kOk)
        << client()->error_text();
    pass(9 * kMinute);
    EXPECT_EQ(info(kind).node, "a");
    pass(2 * kMinute);
    EXPECT_EQ(info(kind).node, "") << "the hold is over";
    EXPECT_EQ(logged("reason=held for 600000 ms"), kind == std::string("opened") ? 1U : 2U)
        << workers[0]->lines.all();
  }
}

TEST_F(SessionVerbs, an_operator_hands_one_off) {
  code([](OrchestrationContext& ctx) {
    const Session session = session_of(ctx, SessionSettings());
    PAWL_AWAIT(here, ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    PAWL_AWAIT(there, ctx.schedule_activity("summary", "", Target::own(session)));
    return ctx.complete(std::string(here.value()) + " " + std::string(there.value()));
  });
  add("summary", summary);
  boss();
  hand("a");
  Options large = working("b");
  large.worker_tag_filter = TagFilter::tags({"large"});
  start_worker(large);
  for (const char* kind : {"opened", "shared"}) {
    SCOPED_TRACE(kind);
    runs.clear();
    start(kind, "code", kind);
    ASSERT_TRUE(runs_are(1));
    ASSERT_EQ(client()->handoff_session(opener(kind), "s", "large", "so far: 7"), Status::kOk)
        << client()->error_text();
    raise_event(kind, "go");
    EXPECT_EQ(end_of(kind), "completed a b: so far: 7");
  }
  EXPECT_EQ(logged("session_operation session=s"), 2U);
  EXPECT_EQ(logged("handed off to tag"), 2U);
}

// The settings also hold after the code has run again from its history, until the code sets others.
TEST_F(SessionVerbs, settings_of_an_operator_hold_until_the_code_has_others) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.owner_label = "alice";
    settings.max_activities = 100;
    const Session session = session_of(ctx, settings);
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    PAWL_AWAIT(first, ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT(second, ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("again"));
    if (ctx.change_session(session, settings) != ErrorKind::kNone) return ctx.fail("change");
    PAWL_AWAIT(third, ctx.schedule_activity("note", "", Target::own(session)));
    std::string seen;
    for (const Outcome& one : {first, second, third})
      seen += std::string(error_kind_name(one.error().kind)) + " ";
    return ctx.complete(seen);
  });
  start_worker("a");
  for (const char* kind : {"opened", "shared"}) {
    SCOPED_TRACE(kind);
    runs.clear();
    start(kind, "code", kind);
    pass(1'000);
    SessionUpdate update;
    update.rate_interval = std::chrono::hours(1);
    update.kind = Name("chat");
    ASSERT_EQ(client()->change_session(opener(kind), "s", update), Status::kOk)
        << client()->error_text();
    restart();
    raise_event(kind, "go");
    pass(1'000);
    EXPECT_EQ(info(kind).owner_label, "alice") << "what was not named stays";
    EXPECT_EQ(info(kind).kind, "chat");
    EXPECT_EQ(runs.size(), 1U) << "as fast as the operator allows";
    // The instance did not set this rate itself, so on a shared session it only delays (S1).
    const bool is_delayed = std::string_view(kind) == "shared";
    if (is_delayed) {
      pass(3'600'000);
      EXPECT_EQ(runs.size(), 2U);
    }
    restart();
    raise_event(kind, "again");
    EXPECT_EQ(end_of(kind),
              is_delayed ? "completed none none none " : "completed none rate_limited none ");
  }
}

// The code relies on the end by age and on its notice: a change by an operator moves neither.
TEST_F(SessionVerbs, a_change_leaves_what_the_code_relies_on) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.exclusive = settings.notify = true;
    settings.max_age = std::chrono::hours(1);
    settings.expiry_notice = std::chrono::minutes(5);
    const Session session = session_of(ctx, settings);
    std::string heard;
    while (heard.find("expired") == std::string::npos) {
      PAWL_AWAIT(one, ctx.session_events(session));
      SessionEvent event;
      if (from_json(one.value(), &event) != Status::kOk) return ctx.fail("message");
      heard += std::string(event.change.view()) + " ";
    }
    return ctx.complete(heard);
  });
  start_worker("a");
  for (const char* kind : {"opened", "shared"}) {
    SCOPED_TRACE(kind);
    start(kind, "code", kind);
    pass(10 * kMinute);
    SessionUpdate update;
    update.max_activities = 5;
    ASSERT_EQ(client()->change_session(opener(kind), "s", update), Status::kOk);
    pass(10 * kMinute);
    ASSERT_EQ(client()->hold_session(opener(kind), "s", std::chrono::minutes(1)), Status::kOk);
    pass(30 * kMinute);
    EXPECT_TRUE(info(kind).exclusive);
    EXPECT_TRUE(is_running(kind));
    EXPECT_EQ(end_of(kind, kHour), "completed expiring expired ")
        << "neither the end nor its notice has moved, and a look for the log is none";
  }
}

// No runtime lives; the next one logs all changes in one line.
TEST_F(SessionVerbs, what_was_done_while_no_worker_lived_is_logged) {
  code([](OrchestrationContext& ctx) {
    const Session session = session_of(ctx, SessionSettings());
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return ctx.complete("");
  });
  start_worker("a");
  start("opened", "code", "opened");
  ASSERT_TRUE(runs_are(1));
  pass(1'000);
  for (const auto& worker : workers)
    worker->kill();
  workers.clear();
  SessionUpdate update;
  update.owner_label = Name("bob");
  ASSERT_EQ(client()->hold_session("opened", "s", std::chrono::minutes(1)), Status::kOk);
  ASSERT_EQ(client()->change_session("opened", "s", update), Status::kOk);
  start_worker("a");
  pass(5'000);
  EXPECT_EQ(logged("session_operation session=s"), 1U);
  EXPECT_EQ(logged("held for 60000 ms; settings are now"), 1U) << workers[0]->lines.all();
  EXPECT_EQ(logged("kind \"\" resumed=0 instance=opened owner=bob"), 1U) << workers[0]->lines.all();
  pass(kHour);
  EXPECT_EQ(logged("session_operation session=s"), 1U);
}

TEST_F(SessionVerbs, wrong_ones_are_refused_and_change_nothing) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.fail_on_loss = true;
    static_cast<void>(session_of(ctx, settings));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::device("bed")));
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return ctx.complete("");
  });
  Worker& a = start_worker("a");
  ASSERT_EQ(a.runtime->declare_session("bed", false), Status::kOk);
  start("opened", "code", "opened");
  ASSERT_TRUE(runs_are(1));
  TestClient& at = client();
  const std::chrono::minutes minute(1);
  EXPECT_EQ(at->hold_session("opened", "t", minute), Status::kNotFound);
  EXPECT_NE(at->error_text().find("session \"t\""), std::string_view::npos);
  EXPECT_EQ(at->hold_session("nobody", "s", minute), Status::kNotFound);
  EXPECT_EQ(at->hold_session("", "s", minute), Status::kNotFound) << "no shared one";
  EXPECT_EQ(at->handoff_session("opened", "t", "x"), Status::kNotFound);
  EXPECT_EQ(at->change_session("opened", "t", {}), Status::kNotFound);
  EXPECT_EQ(at->hold_session("opened", "s", -minute), Status::kInvalidArgument);
  EXPECT_EQ(at->handoff_session("opened", "s", "a\nb"), Status::kInvalidArgument);
  const std::string long_summary(kSessionSummaryBytesMax + 1, 'x');
  EXPECT_EQ(at->handoff_session("opened", "s", "", long_summary), Status::kInvalidArgument);
  EXPECT_EQ(at->handoff_session("", "bed", "x"), Status::kInvalidArgument);
  EXPECT_NE(at->error_text().find("device"), std::string_view::npos);
  SessionUpdate update;
  update.idle_timeout = minute;
  EXPECT_EQ(at->change_session("opened", "s", update), Status::kInvalidArgument)
      << "it fails on loss";
  update = SessionUpdate();
  update.expiry_notice = minute;
  EXPECT_EQ(at->change_session("opened", "s", update), Status::kInvalidArgument)
      << "nobody is notified";
  update = SessionUpdate();
  update.owner_label = Name(std::string(kSessionLabelBytesMax + 1, 'x'));
  EXPECT_EQ(at->change_session("opened", "s", update), Status::kInvalidArgument);
  EXPECT_NE(at->error_text().find("contradict"), std::string_view::npos);
  pass(1'000);
  EXPECT_EQ(logged("session_operation"), 0U);
}

}  // namespace
}  // namespace pawl
