// Goal: the log reports the work, the leases and the ends of sessions. Method: whole runtimes on
// the simulated machine.
#include <gtest/gtest.h>

#include <string>

#include "session_story.hpp"

namespace pawl {
namespace {

using testing::SessionStory;

class SessionAudit : public SessionStory {
 protected:
  // Runs activities on a session that it opened, on a shared one, and without any.
  static Poll works(OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.owner_label = "alice";
    settings.kind = "agent";
    const Session own = ctx.open_session("own", settings);
    for (int i = 0; i < 2; ++i)
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(own)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session("room")));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session("room")));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", ""));
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return ctx.complete("");
  }
};

TEST_F(SessionAudit, each_activity_of_a_session_is_a_line_where_it_is_asked_for) {
  options.sessions.audit_activities = true;
  code(works);
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(5));
  EXPECT_EQ(logged("session_prompt"), 4U) << workers[0]->lines.all();
  EXPECT_EQ(logged("session_prompt session=own instance=i activity=note owner=alice kind=agent"),
            2U)
      << workers[0]->lines.all();
  EXPECT_EQ(logged("session_prompt session=room instance=i activity=note owner= kind="), 2U);
}

TEST_F(SessionAudit, is_off_by_default) {
  code(works);
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(5));
  EXPECT_EQ(logged("session_prompt"), 0U);
}

TEST_F(SessionAudit, renewals_are_a_number_at_debug_level) {
  code(works);
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(5));
  pass(60'000);
  EXPECT_EQ(logged("debug sessions_renewed sessions=2"), 2U) << workers[0]->lines.all();
}

TEST_F(SessionAudit, an_idle_release_says_for_how_long) {
  options.sessions.session_idle_timeout = std::chrono::minutes(2);
  code(works);
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(5));
  TransferOptions how;
  how.instance = "i";
  ASSERT_EQ(client()->transfer_session("own", "", how), Status::kOk);
  pass(180'000);
  EXPECT_EQ(logged("session_released session=room"), 1U);
  EXPECT_EQ(logged(" idle_ms="), 1U) << workers[0]->lines.all();
  EXPECT_EQ(logged(" idle_ms=12"), 1U) << "two minutes, and up to the next renewal";
}

TEST_F(SessionAudit, each_swept_session_is_a_line) {
  options.sessions.session_idle_timeout = std::chrono::minutes(1);
  options.sessions.session_cleanup_interval = std::chrono::minutes(5);
  code([](OrchestrationContext& ctx) {
    for (const char* session : {"one", "two"})
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session(session)));
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(2));
  EXPECT_EQ(logged("session_swept"), 0U);
  pass(600'000);
  EXPECT_EQ(logged("session_swept session=one"), 1U) << workers[0]->lines.all();
  EXPECT_EQ(logged("session_swept session=two"), 1U);
  EXPECT_EQ(logged("session_swept"), 2U);
}

}  // namespace
}  // namespace pawl
