// One kind of session, however its code came by it: what became of an opening is known, ...
#include <string>

#include "session_story.hpp"

namespace pawl::testing {
namespace {

class WholeSessions : public SessionStory {};

// ---- what became of an opening --------------------------------------------------------------------------

Poll open_as_many_as_said(OrchestrationContext& ctx) {
  SessionSettings settings;
  settings.owner_label = "alice";
  const int count = ctx.input()[0] - '0';
  for (int i = 0; i < count; ++i) {
    const Session session = ctx.open_session("s" + std::to_string(i), settings);
    PAWL_AWAIT(opened, ctx.session_opened(session));
    if (!opened.ok())
      return ctx.complete(std::string(error_kind_name(opened.error().kind)) + " " +
                          std::string(opened.error().text));
  }
  PAWL_AWAIT_DONE(ctx.dequeue_event("end"));
  return ctx.complete("opened");
}

TEST_F(WholeSessions, one_too_many_of_an_instance_is_refused_at_the_opening) {
  options.sessions.max_sessions_per_orchestration = 2;
  code(open_as_many_as_said);
  full("a");
  start("i", "code", "3");
  EXPECT_EQ(end_of("i"),
            "completed limit the instance has 2 sessions open (max_sessions_per_orchestration): "
            "close one, as \"s0\", with close_session()");
  EXPECT_EQ(runs.size(), 0U) << "without any activity";
}

TEST_F(WholeSessions, one_too_many_of_an_owner_is_refused_at_the_opening) {
  options.sessions.max_sessions_per_owner = 1;
  code(open_as_many_as_said);
  full("a");
  start("first", "code", "1");
  pass(1'000);
  start("second", "code", "1");
  EXPECT_EQ(end_of("second"),
            "completed limit owner \"alice\" has 1 sessions open (max_sessions_per_owner): close "
            "one, as \"s0\" of instance \"first\", with close_session()");
  EXPECT_TRUE(is_running("first"));
}

TEST_F(WholeSessions, what_became_of_an_opening_is_the_same_over_kills) {
  options.sessions.max_sessions_per_orchestration = 1;
  options.worker_node_id = "a";
  code(open_as_many_as_said);
  restart();
  start("i", "code", "2");
  EXPECT_EQ(end_with_kills("i").substr(0, 15), "completed limit");
}

TEST_F(WholeSessions, whether_a_session_is_open_is_asked_at_any_time) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              SessionSettings settings;
              settings.fail_on_loss = true;
              std::string seen;
              const Session session = ctx.open_session("s", settings);
              PAWL_AWAIT(first, ctx.session_opened(session));
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "abort", Target::own(session)));
              PAWL_AWAIT(lost, ctx.session_opened(session));
              static_cast<void>(ctx.open_session("s", settings));
              PAWL_AWAIT(again, ctx.session_opened(session));
              const Handle before = ctx.session_opened(session);
              static_cast<void>(ctx.close_session("s"));
              PAWL_AWAIT(closed, ctx.session_opened(session));
              PAWL_AWAIT(open, before);
              PAWL_AWAIT(none, ctx.session_opened(Session()));
              for (const Outcome& one : {first, lost, again, open, closed, none})
                seen += std::string(one.ok() ? "open" : error_kind_name(one.error().kind)) + " ";
              return ctx.complete(seen);
            }),
            "completed open session_lost open open session_closed invalid_argument ");
}

}  // namespace
}  // namespace pawl::testing
