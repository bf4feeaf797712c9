// Goal: there is one kind of session, however code came by it: opened, shared with settings, or
// adopted.
#include <string>

#include "session_story.hpp"

namespace pawl::testing {
namespace {

class WholeSessions : public SessionStory {};

// ---- outcome of an opening ----

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

TEST_F(WholeSessions, one_too_many_of_an_instance_is_known_at_the_opening) {
  options.sessions.max_sessions_per_orchestration = 2;
  code(open_as_many_as_said);
  start_worker("a");
  start("i", "code", "3");
  EXPECT_EQ(end_of("i"),
            "completed limit the instance has 2 sessions open (max_sessions_per_orchestration): "
            "close one, as \"s0\", with close_session()");
  EXPECT_EQ(runs.size(), 0U) << "without any activity";
}

TEST_F(WholeSessions, one_too_many_of_an_owner_is_known_at_the_opening) {
  options.sessions.max_sessions_per_owner = 1;
  code(open_as_many_as_said);
  start_worker("a");
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

// ---- shared sessions with settings ----

SessionSettings settings_of_alice() {
  SessionSettings settings;
  settings.owner_label = "alice";
  settings.kind = "agent";
  return settings;
}

// Rules: S1, S18, S23, S25.
TEST_F(WholeSessions, a_shared_one_has_labels_and_is_closed_by_its_owner) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.use_session("chat", settings_of_alice());
    PAWL_AWAIT(opened, ctx.session_opened(session));
    if (!opened.ok()) return ctx.fail(opened.error());
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::session("chat")));
    PAWL_AWAIT(late, ctx.schedule_activity("slow", "600", Target::own(session)));
    PAWL_AWAIT(closed, ctx.session_opened(session));
    PAWL_AWAIT(anew, ctx.schedule_activity("note", "2", Target::session("chat")));
    return ctx.complete(std::string(error_kind_name(late.error().kind)) + " " +
                        std::string(late.error().text) + ", then " +
                        error_kind_name(closed.error().kind) + ", then " +
                        std::string(anew.ok() ? "anew" : "refused"));
  });
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(2));
  SessionInfo info;
  ASSERT_EQ(client()->get_session("", "chat", &info), Status::kOk);
  EXPECT_EQ(info.owner_label, "alice");
  EXPECT_EQ(info.kind, "agent");
  EXPECT_EQ(client()->close_session("", "chat", "bob"), Status::kNotOwner);
  EXPECT_EQ(client()->close_session("", "chat", "alice"), Status::kOk);
  EXPECT_EQ(end_of("i"),
            "completed session_closed closed by alice, then session_closed, then anew");
  EXPECT_EQ(runs[2].epoch, runs[1].epoch + 2) << "the close took one";
  EXPECT_TRUE(runs[2].claimed_now);
  ASSERT_EQ(client()->get_session("", "chat", &info), Status::kOk);
  EXPECT_EQ(info.owner_label, "") << "without the settings that it had";
  EXPECT_EQ(logged("session_closed session=chat"), 1U);
  EXPECT_EQ(client()->close_session("", "nowhere"), Status::kNotFound);
}

// A shared session without settings can be closed from outside, too (S25).
TEST_F(WholeSessions, a_shared_one_that_an_operator_closed_begins_anew_with_the_next_work) {
  code([](OrchestrationContext& ctx) {
    const Target bus = Target::exclusive_session("bus");
    const Handle first = ctx.schedule_activity("slow", "600", bus);
    const Handle second = ctx.schedule_activity("note", "2", bus);
    PAWL_AWAIT(one, first);
    PAWL_AWAIT(two, second);
    PAWL_AWAIT(three, ctx.schedule_activity("note", "3", Target::session("bus")));
    return ctx.complete(std::string(error_kind_name(one.error().kind)) + " " +
                        error_kind_name(two.error().kind) + " " + std::string(three.value()));
  });
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  ASSERT_EQ(client()->close_session("", "bus"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed session_closed session_closed a");
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(client()->close_session("", "bus"), Status::kOk);
  pass(1'000);
  EXPECT_EQ(client()->close_session("", "bus"), Status::kNotFound);
}

// Rules: S27, S28, S29.
TEST_F(WholeSessions, the_age_number_and_rate_of_a_shared_one_are_limited_for_who_sets_them) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = settings_of_alice();
    settings.max_activities = 2;
    settings.max_age = std::chrono::minutes(10);
    const Session session = ctx.use_session("chat", settings);
    PAWL_AWAIT(done, ctx.schedule_activity("note", "", Target::own(session)));
    if (!done.ok()) return ctx.complete(error_kind_name(done.error().kind));
    return ctx.complete("done");
  });
  start_worker("a");
  start("one", "code");
  EXPECT_EQ(end_of("one"), "completed done");
  start("two", "code");
  EXPECT_EQ(end_of("two"), "completed done");
  start("three", "code");
  EXPECT_EQ(end_of("three"), "completed limit") << "the same settings begin nothing anew";
  pass(20 * 60'000);
  start("four", "code");
  EXPECT_EQ(end_of("four"), "completed done") << "it has expired, and used again it begins anew";
}

// Schedules on the shared session, and once more after as many seconds as its input says.
Poll works_on_chat(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("note", "", Target::session("chat")));
  if (!first.ok()) return ctx.complete(error_kind_name(first.error().kind));
  PAWL_AWAIT_DONE(
      ctx.schedule_timer(std::chrono::seconds(std::atoi(std::string(ctx.input()).c_str()))));
  PAWL_AWAIT(second, ctx.schedule_activity("note", "", Target::session("chat")));
  return ctx.complete(second.ok() ? "done" : error_kind_name(second.error().kind));
}

// Rules: S1.
TEST_F(WholeSessions, the_age_that_one_instance_sets_ends_no_work_of_another) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = settings_of_alice();
    settings.max_age = std::chrono::minutes(1);
    settings.exclusive = true;
    const Session session = ctx.use_session("chat", settings);
    PAWL_AWAIT(slow, ctx.schedule_activity("slow", "90", Target::own(session)));
    PAWL_AWAIT(late, ctx.schedule_activity("note", "", Target::own(session)));
    return ctx.complete(std::string(error_kind_name(slow.error().kind)) + " " +
                        error_kind_name(late.error().kind));
  });
  other(works_on_chat);
  start_worker("a");
  start("sets", "code");
  ASSERT_TRUE(drive_until([&] { return state_of("", "chat") == "active"; }));
  start("queued", "other", "0");
  EXPECT_EQ(end_of("sets"), "completed session_closed none")
      << "its work ended, and it may work in the opening of the others";
  EXPECT_EQ(end_of("queued"), "completed done") << "its queued work went on";
  EXPECT_EQ(epochs_of("chat"), (std::set<std::int64_t>{1})) << "what runs of it holds it back";
  EXPECT_EQ(logged("session_expired session=chat"), 1u) << workers.front()->lines.all();
  SessionInfo info;
  ASSERT_EQ(client()->get_session("", "chat", &info), Status::kOk);
  EXPECT_TRUE(info.exclusive) << "which is as strict as before";
  EXPECT_FALSE(info.expires_in_ms.has_value());
  EXPECT_EQ(info.owner_label, "");
}

// Rules: S1.
TEST_F(WholeSessions, one_that_expired_is_gone_for_who_set_its_age_alone) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = settings_of_alice();
    settings.max_age = std::chrono::minutes(1);
    const Session session = ctx.use_session("chat", settings);
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(2)));
    PAWL_AWAIT(late, ctx.schedule_activity("note", "", Target::own(session)));
    return ctx.complete(error_kind_name(late.error().kind));
  });
  other(works_on_chat);
  start_worker("a");
  start("sets", "code");
  EXPECT_EQ(end_of("sets"), "completed session_closed");
  EXPECT_EQ(state_of("", "chat"), "expired");
  start("two", "other", "70");
  EXPECT_EQ(end_of("two"), "completed done") << "and the age is not set again";
  EXPECT_EQ(state_of("", "chat"), "idle");
}

// Rules: S1.
TEST_F(WholeSessions, the_number_that_one_instance_sets_refuses_no_work_of_another) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.max_activities = 2;
    const Session session = ctx.use_session("chat", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT(third, ctx.schedule_activity("note", "", Target::own(session)));
    return ctx.complete(error_kind_name(third.error().kind));
  });
  other(works_on_chat);
  start_worker("a");
  start("sets", "code");
  EXPECT_EQ(end_of("sets"), "completed limit");
  start("two", "other", "1");
  EXPECT_EQ(end_of("two"), "completed done");
  EXPECT_EQ(epochs_of("chat").size(), 2u) << "it began anew, once";
  EXPECT_EQ(logged("session_expired session=chat"), 1u) << workers.front()->lines.all();
}

// Rules: S1.
TEST_F(WholeSessions, the_rate_that_one_instance_sets_delays_work_of_another) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.rate_interval = std::chrono::minutes(1);
    settings.max_activities = 1;
    const Session session = ctx.use_session("chat", settings);
    PAWL_AWAIT(done, ctx.schedule_activity("note", "", Target::own(session)));
    return ctx.complete(done.ok() ? "done" : error_kind_name(done.error().kind));
  });
  other(works_on_chat);
  start_worker("a");
  start("sets", "code");
  EXPECT_EQ(end_of("sets"), "completed done");
  const std::int64_t before = machine.boot_ms();
  start("two", "other", "0");
  EXPECT_EQ(end_of("two", 300'000), "completed done");
  EXPECT_GE(machine.boot_ms() - before, 100'000) << "one a minute, in the new opening too";
}

// Rules: S1, S24.
TEST_F(WholeSessions, one_that_was_refused_begins_anew_for_another_instance) {
  options.sessions.max_sessions_per_owner = 1;
  code([](OrchestrationContext& ctx) {
    static_cast<void>(ctx.use_session("first", settings_of_alice()));
    const Session session = ctx.use_session("chat", settings_of_alice());
    PAWL_AWAIT(done, ctx.schedule_activity("note", "", Target::own(session)));
    return ctx.complete(error_kind_name(done.error().kind));
  });
  other(works_on_chat);
  start_worker("a");
  start("sets", "code");
  EXPECT_EQ(end_of("sets"), "completed limit");
  start("two", "other", "0");
  EXPECT_EQ(end_of("two"), "completed done");
}

// Rules: S1, S54.
TEST_F(WholeSessions, limits_that_an_operator_sets_are_no_instances) {
  other(works_on_chat);
  start_worker("a");
  start("one", "other", "0");
  EXPECT_EQ(end_of("one"), "completed done");
  SessionUpdate update;
  update.max_activities = 1;
  ASSERT_EQ(client()->change_session("", "chat", update), Status::kOk);
  start("two", "other", "0");
  EXPECT_EQ(end_of("two"), "completed done");
  EXPECT_EQ(epochs_of("chat").size(), 2u);
}

TEST_F(WholeSessions, a_shared_one_notifies_the_instance_that_asked) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.notify = true;
    const Session session = ctx.use_session("chat", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    std::string seen;
    for (int i = 0; i < 2; ++i) {
      PAWL_AWAIT(message, ctx.session_events(session));
      SessionEvent event;
      if (from_json(message.value(), &event) != Status::kOk) return ctx.fail(message.value());
      seen += std::string(event.change.view()) + " " + std::to_string(event.epoch) +
              " from=" + std::string(event.from.view()) + " to=" + std::string(event.to.view()) +
              " " + std::string(event.reason.view()) + ", ";
    }
    return ctx.complete(seen);
  });
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  ASSERT_EQ(client()->close_session("", "chat"), Status::kOk);
  EXPECT_EQ(end_of("i"),
            "completed claimed 1 from= to=a , closed 1 from=a to= closed by an administrator, ");
}

TEST_F(WholeSessions, its_code_closes_a_shared_one) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.use_session("chat", settings_of_alice());
              const Handle late = ctx.schedule_activity("slow", "600", Target::own(session));
              PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
              if (ctx.close_session(session) != ErrorKind::kNone) return ctx.fail("close");
              PAWL_AWAIT(closed, late);
              return ctx.complete(error_kind_name(closed.error().kind));
            }),
            "completed session_closed");
}

// Rules: S10.
TEST_F(WholeSessions, the_counts_of_a_shared_one_outlive_a_pause) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.max_activities = 1;
    static_cast<void>(ctx.use_session("chat", settings));
    PAWL_AWAIT(done, ctx.schedule_activity("note", "", Target::session("chat")));
    return ctx.complete(done.ok() ? "done" : error_kind_name(done.error().kind));
  });
  start_worker("a");
  start("one", "code");
  EXPECT_EQ(end_of("one"), "completed done");
  pass(50 * 60'000);
  start("two", "code");
  EXPECT_EQ(end_of("two"), "completed limit");
  pass(3 * 3'600'000);
  SessionInfo info;
  EXPECT_EQ(client()->get_session("", "chat", &info), Status::kNotFound) << "but no longer";
}

// ---- settings that change ----

// Rules: S51, S52.
TEST_F(WholeSessions, the_settings_of_an_open_one_can_be_changed) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = settings_of_alice();
    settings.max_activities = 1;
    const bool shared = ctx.input() == "shared";
    const Session session =
        shared ? ctx.use_session("chat", settings) : ctx.open_session("chat", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT(full, ctx.schedule_activity("note", "", Target::own(session)));
    settings.max_activities = 2;
    settings.owner_label = "bob";
    settings.max_age = std::chrono::hours(1);
    if (ctx.change_session(session, settings) != ErrorKind::kNone) return ctx.fail("change");
    PAWL_AWAIT(more, ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT(again, ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.dequeue_event("end"));
    std::string seen;
    for (const Outcome& one : {full, more, again})
      seen += std::string(one.ok() ? "ok" : error_kind_name(one.error().kind)) + " ";
    return ctx.complete(seen);
  });
  start_worker("a");
  for (const char* id : {"opened", "shared"}) {
    SCOPED_TRACE(id);
    runs.clear();
    start(id, "code", id);
    ASSERT_TRUE(runs_are(2));
    pass(1'000);
    SessionInfo info;
    const bool shared = std::string_view(id) == "shared";
    ASSERT_EQ(client()->get_session(shared ? "" : id, "chat", &info), Status::kOk);
    EXPECT_EQ(info.owner_label, "bob");
    EXPECT_GT(info.expires_in_ms.value_or(0), 3'500'000);
    enqueue_event(id, "end", "");
    EXPECT_EQ(end_of(id), "completed limit ok limit ") << "what was counted stays";
    EXPECT_EQ(logged("session_settings session=chat"), shared ? 2U : 1U);
  }
}

// ---- adopted sessions ----

Poll child_on(OrchestrationContext& ctx) {
  const Session session = ctx.adopt_session("i", "device");
  PAWL_AWAIT(opened, ctx.session_opened(session));
  PAWL_AWAIT(done, ctx.schedule_activity("note", ctx.instance_id(), Target::own(session)));
  if (ctx.hold_session(session, std::chrono::hours(1)) != ErrorKind::kInvalidArgument ||
      ctx.close_session(session) != ErrorKind::kInvalidArgument)
    return ctx.fail("it belongs to its opener");
  return ctx.complete(std::string(opened.ok() ? "open " : "not open ") +
                      (done.ok() ? "done" : error_kind_name(done.error().kind)));
}

TEST_F(WholeSessions, children_work_on_a_session_of_their_parent_until_it_ends) {
  other(child_on);
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("device");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT(child, ctx.schedule_sub_orchestration("other", ""));
    if (ctx.close_session(session) != ErrorKind::kNone) return ctx.fail("close");
    PAWL_AWAIT(late, ctx.schedule_sub_orchestration("other", ""));
    PAWL_AWAIT_DONE(ctx.dequeue_event("end"));
    return ctx.complete(std::string(child.value()) + ", " + std::string(late.value()));
  });
  start("stranger", "other");
  start_worker("a");
  EXPECT_EQ(end_of("stranger"), "completed not open session_closed") << "no such instance";
  start("i", "code");
  start_worker("b");
  pass(60'000);
  enqueue_event("i", "end", "");
  EXPECT_EQ(end_of("i"), "completed open done, not open session_closed");
  EXPECT_EQ(workers_of("device").size(), 1U);
  EXPECT_EQ(epochs_of("device").size(), 1U);
  start("late", "other");
  EXPECT_EQ(end_of("late"), "completed not open session_closed") << "it ended with its opener";
}

}  // namespace
}  // namespace pawl::testing
