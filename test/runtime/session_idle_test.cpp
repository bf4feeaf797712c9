// Goal: sessions end when they were idle for so long, with a notice before, with or without an
// owner, and over kills, restarts and reboots. Method: whole runtimes on the simulated machine.
// Rules: S53.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "session_story.hpp"

namespace pawl {
namespace {

using testing::SessionStory;
using testing::Worker;

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kHour = 60 * kMinute;

SessionSettings closing(std::int64_t idle_ms, std::int64_t notice_ms = 0) {
  SessionSettings settings;
  settings.notify = notice_ms != 0;
  settings.idle_close = std::chrono::milliseconds(idle_ms);
  settings.idle_close_notice = std::chrono::milliseconds(notice_ms);
  return settings;
}

// Returns "change/reason" of a message, for example "closing/idle: closes in ..".
std::string said(std::string_view payload) {
  SessionEvent event;
  EXPECT_EQ(from_json(payload, &event), Status::kOk) << payload;
  return std::string(event.change.view()) + "/" + std::string(event.reason.view());
}

class IdleClose : public SessionStory {
 protected:
  // Opens a session, runs one activity, gathers messages until the session is closed, and then
  // schedules work on it.
  static Poll hears_of_its_end(OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s", closing(kMinute, kMinute / 6));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    std::string heard;
    while (heard.find("closed/") == std::string::npos) {
      PAWL_AWAIT(one, ctx.session_events(session));
      heard += said(one.value()) + " ";
    }
    PAWL_AWAIT(late, ctx.schedule_activity("note", "", Target::own(session)));
    return ctx.complete(heard + error_kind_name(late.error().kind));
  }
};

TEST_F(IdleClose, is_reported_before_and_at_the_end) {
  EXPECT_EQ(run(hears_of_its_end),
            "completed claimed/ closing/idle: closes in 10000 ms (idle_close) closed/idle "
            "session_closed");
  ASSERT_EQ(reported_at("i", "closing").size(), 1U);
  EXPECT_GE(reported_at("i", "closing")[0], 50'000);
  EXPECT_LT(reported_at("i", "closing")[0], 51'000);
  ASSERT_EQ(reported_at("i", "closed").size(), 1U);
  EXPECT_GE(reported_at("i", "closed")[0], 60'000);
  EXPECT_LT(reported_at("i", "closed")[0], 61'000);
  EXPECT_EQ(logged("session_closed session=s"), 1U);
  EXPECT_EQ(logged("reason=idle"), 1U) << workers.front()->lines.all();
  EXPECT_EQ(state_of("i", "s"), "none");
  EXPECT_EQ(workers.front()->runtime->stats().sessions_closed, 1U);
}

TEST_F(IdleClose, is_reported_once_whatever_is_killed) {
  code(hears_of_its_end);
  start_worker("a");
  start("i", "code");
  const std::string end = end_with_kills("i");
  EXPECT_NE(end.find("closing/idle"), std::string::npos) << end;
  EXPECT_EQ(end.find("closing/idle"), end.rfind("closing/idle")) << end;
  EXPECT_NE(end.find("closed/idle session_closed"), std::string::npos) << end;
}

// Each use begins a new idle time, with a notice of its own.
TEST_F(IdleClose, use_puts_it_off_and_each_silence_has_its_notice) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.open_session("s", closing(kMinute, kMinute / 2));
              for (int i = 0; i < 4; ++i) {
                PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
                PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(31)));
              }
              std::string heard;
              while (heard.find("closed/") == std::string::npos) {
                PAWL_AWAIT(one, ctx.session_events(session));
                heard += said(one.value()).substr(0, 7) + " ";
              }
              return ctx.complete(heard);
            }),
            "completed claimed closing closing closing closing closed/ ");
  const std::vector<std::int64_t> closed = reported_at("i", "closed");
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_GE(closed[0], 3 * 31'000 + kMinute);
  EXPECT_LT(closed[0], 3 * 31'000 + kMinute + 1'000);
}

// The use of a session writes nothing: the session is checked when its idle time could be over.
TEST_F(IdleClose, costs_no_write_of_its_own_per_activity) {
  const auto commits = [this](const SessionSettings& settings, const char* id) {
    code([settings](OrchestrationContext& ctx) {
      const Session session = ctx.open_session("s", settings);
      for (int i = 0; i < 40; ++i)
        PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
      return ctx.complete("");
    });
    const std::uint64_t before = workers.front()->runtime->stats().commits;
    start(id, "code");
    end_of(id);
    return workers.front()->runtime->stats().commits - before;
  };
  start_worker("a");
  EXPECT_EQ(commits(closing(kHour), "with"), commits(SessionSettings(), "without"));
}

TEST_F(IdleClose, work_that_is_queued_delayed_or_running_keeps_it_open) {
  testing::expect_errors("activity_unregistered");
  for (const char* work : {"running", "queued", "delayed"}) {
    SCOPED_TRACE(work);
    code([](OrchestrationContext& ctx) {
      const Session session = ctx.open_session("s", closing(kMinute));
      ActivityOptions how;
      how.target = Target::own(session);
      if (ctx.input() == "delayed") {
        how.retry.max_attempts = 2;
        how.retry.base = how.retry.cap = std::chrono::minutes(5);
      }
      if (ctx.input() == "queued") how.schedule_to_close = std::chrono::minutes(5);
      const char* const name = ctx.input() == "running"  ? "slow"
                               : ctx.input() == "queued" ? "unknown"
                                                         : "note";
      PAWL_AWAIT(done, ctx.schedule_activity(name, ctx.input() == "delayed" ? "fail" : "300", how));
      PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(50)));
      PAWL_AWAIT(opened, ctx.session_opened(session));
      PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(11)));
      PAWL_AWAIT(closed, ctx.session_opened(session));
      return ctx.complete(std::string(error_kind_name(done.error().kind)) + " " +
                          error_kind_name(opened.error().kind) + " " +
                          error_kind_name(closed.error().kind));
    });
    if (workers.empty()) start_worker("a");
    start(work, "code", work);
    const std::string its = work == std::string("running")  ? "none"
                            : work == std::string("queued") ? "timeout"
                                                            : "application";
    EXPECT_EQ(end_of(work, kHour), "completed " + its + " none session_closed");
  }
}

// A worker that only runs orchestrations checks idle sessions too.
TEST_F(IdleClose, counts_while_no_worker_owns_it) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s", closing(kMinute));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
    PAWL_AWAIT(late, ctx.session_opened(session));
    return ctx.complete(error_kind_name(late.error().kind));
  });
  boss();
  start("i", "code");
  pass(kMinute - 1'000);
  EXPECT_EQ(state_of("i", "s"), "idle");
  pass(2'000);
  EXPECT_EQ(state_of("i", "s"), "none");
  EXPECT_EQ(end_of("i", 2 * kHour), "completed session_closed");
}

TEST_F(IdleClose, counts_over_moves_restarts_reboots_and_clock_steps) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s", closing(10 * kMinute));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  pass(2 * kMinute);
  machine.set_wall(1'000);
  TransferOptions how;
  how.instance = "i";
  ASSERT_EQ(client()->transfer_session("s", "", how), Status::kOk);
  pass(2 * kMinute);
  restart();
  pass(2 * kMinute);
  for (const auto& worker : workers)
    worker->kill();
  workers.clear();
  forget_client();
  machine.reboot(kHour, false);
  machine.set_wall(1'900'000'000'000);
  start_worker("a");
  pass(2 * kMinute);
  EXPECT_EQ(state_of("i", "s"), "idle") << "an hour without power is no silence";
  pass(2 * kMinute + 30'000);
  EXPECT_EQ(state_of("i", "s"), "none");
}

// The notice comes first, and the time that it promises still passes before the end.
TEST_F(IdleClose, what_passed_while_no_worker_lived_is_reported_with_its_notice) {
  code(hears_of_its_end);
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  pass(2'000);
  for (const auto& worker : workers)
    worker->kill();
  workers.clear();
  machine.advance(10 * kMinute);
  start_worker("b");
  const std::string end = end_of("i");
  EXPECT_NE(end.find("closing/idle: closes in 10000 ms"), std::string::npos) << end;
  EXPECT_NE(end.find("closed/idle session_closed"), std::string::npos) << end;
  EXPECT_GE(reported_at("i", "closed")[0] - reported_at("i", "closing")[0], 10'000);
}

TEST_F(IdleClose, a_hold_puts_it_off) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s", closing(kMinute));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    static_cast<void>(ctx.hold_session(session, std::chrono::minutes(30)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  pass(29 * kMinute);
  EXPECT_EQ(state_of("i", "s"), "idle");
  pass(2 * kMinute);
  EXPECT_EQ(state_of("i", "s"), "none");
}

// A shared session's row is kept for the idle time too, and its instance is notified.
TEST_F(IdleClose, a_shared_one_closes_and_begins_anew_with_the_next_work) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = closing(3 * kHour, kMinute);
    settings.kind = "chat";
    const Session session = ctx.use_session("room", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session("room")));
    std::string heard;
    while (heard.find("closed/") == std::string::npos) {
      PAWL_AWAIT(one, ctx.session_events(session));
      heard += said(one.value()) + " ";
    }
    PAWL_AWAIT(again, ctx.schedule_activity("note", "", Target::session("room")));
    return ctx.complete(heard + error_kind_name(again.error().kind));
  });
  start_worker("a");
  start("i", "code");
  pass(3 * kHour - 2 * kMinute);
  SessionInfo one;
  ASSERT_EQ(client()->get_session("", "room", &one), Status::kOk);
  EXPECT_EQ(one.kind, "chat");
  EXPECT_EQ(end_of("i"),
            "completed claimed/ released/idle closing/idle: closes in 60000 ms (idle_close) "
            "closed/idle none");
}

// The idle time counts from the change on; before, it was not limited.
TEST_F(IdleClose, can_be_set_and_taken_back_while_it_is_open) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(30)));
    static_cast<void>(ctx.change_session(session, closing(10 * kMinute)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(9)));
    PAWL_AWAIT(open, ctx.session_opened(session));
    static_cast<void>(ctx.change_session(session, closing(0)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(30)));
    PAWL_AWAIT(still, ctx.session_opened(session));
    static_cast<void>(ctx.change_session(session, closing(10 * kMinute)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(11)));
    PAWL_AWAIT(closed, ctx.session_opened(session));
    return ctx.complete(std::string(error_kind_name(open.error().kind)) + " " +
                        error_kind_name(still.error().kind) + " " +
                        error_kind_name(closed.error().kind));
  });
  start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i", 2 * kHour), "completed none none session_closed");
}

TEST_F(IdleClose, its_age_ends_a_session_beside_it) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              SessionSettings settings = closing(10 * kMinute, 5 * kMinute);
              settings.max_age = std::chrono::minutes(12);
              settings.expiry_notice = std::chrono::seconds(30);
              const Session session = ctx.open_session("s", settings);
              PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(6)));
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
              std::string heard;
              while (heard.find("expired/") == std::string::npos) {
                PAWL_AWAIT(one, ctx.session_events(session));
                heard += said(one.value()).substr(0, 8) + " ";
              }
              return ctx.complete(heard);
            }),
            "completed closing/ claimed/ closing/ expiring expired/ ");
}

TEST_F(IdleClose, settings_that_contradict_each_other_are_refused) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              std::string ids;
              const auto open = [&](const SessionSettings& settings) {
                ids += ctx.open_session(settings).id().empty() ? "-" : "+";
              };
              open(closing(1'000));
              open(closing(kMinute, kMinute / 2));
              open(closing(kDurationMax.count(), kDurationMax.count() / 2));
              open(closing(999));
              open(closing(-1));
              open(closing(kDurationMax.count() + 1));
              open(closing(kMinute, kMinute / 2 + 1));
              open(closing(0, 1));
              SessionSettings silent = closing(kMinute, 1);
              silent.notify = false;
              open(silent);
              return ctx.complete(ids);
            }),
            "completed +++------");
}

}  // namespace
}  // namespace pawl
