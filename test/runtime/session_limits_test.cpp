// What the settings of an opened session limit: its age, and what is told before it ends; through whole
// runtimes on the simulated machine.
#include <gtest/gtest.h>

#include <string>

#include "session_story.hpp"

namespace pawl {
namespace {

using testing::KeptEvent;
using testing::SessionStory;

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kHour = 60 * kMinute;

SessionSettings aged(std::int64_t max_age_ms, std::int64_t notice_ms = 0) {
  SessionSettings settings;
  settings.notify = true;
  settings.max_age_ms = max_age_ms;
  settings.expiry_notice_ms = notice_ms;
  return settings;
}

// "claimed", of the payload of a notice.
std::string change_of(std::string_view payload) {
  constexpr std::string_view kBefore = "{\"change\":\"";
  const std::size_t end = payload.find('"', kBefore.size());
  return std::string(payload.substr(kBefore.size(), end - kBefore.size()));
}

class SessionLimits : public SessionStory {
 protected:
  // Opens, runs one activity, and gathers what it is told until the session has expired.
  static Poll gathers(OrchestrationContext& ctx) {
    const Session session = ctx.open_session_with_id("s", aged(kMinute, kMinute / 6));
    PAWL_AWAIT_DONE(ctx.schedule_activity_on_session("note", "", session));
    std::string told;
    while (told.find("expired") == std::string::npos) {
      PAWL_AWAIT(one, ctx.session_events(session));
      told += change_of(one.value()) + " ";
    }
    PAWL_AWAIT(late, ctx.schedule_activity_on_session("note", "", session));
    return ctx.complete(told + error_kind_name(late.error().kind) + ": " +
                        std::string(late.error().text));
  }
  std::string state_of(std::string_view instance, std::string_view session) {
    SessionInfo one;
    if (client()->get_session(instance, session, &one) != Status::kOk) return "none";
    return session_state_name(one.state);
  }
  // When the messages of a queue came, in ms since the instance began.
  std::vector<std::int64_t> told_at(std::string_view id) {
    std::vector<std::int64_t> times;
    std::int64_t began = 0;
    for (const KeptEvent& event : history(id)) {
      if (began == 0) began = event.time_ms;
      if (event.payload.find("\"change\":") != std::string::npos)
        times.push_back(event.time_ms - began);
    }
    return times;
  }
};

constexpr char kGathered[] =
    "completed claimed expiring expired session_closed: the session has expired: max_age_ms "
    "(60000) has passed";

// ---- age ------------------------------------------------------------------------------------------------

TEST_F(SessionLimits, expiry_is_told_before_and_at_the_end) {
  EXPECT_EQ(run(gathers), kGathered);
  const std::vector<std::int64_t> at = told_at("i");
  ASSERT_EQ(at.size(), 3u);
  EXPECT_GE(at[1], 50'000);
  EXPECT_LT(at[1], 51'000);
  EXPECT_GE(at[2], 60'000);
  EXPECT_LT(at[2], 61'000);
  EXPECT_EQ(runs.size(), 1u);
}

TEST_F(SessionLimits, expiry_is_told_once_whatever_is_killed) {
  code(gathers);
  full("a");
  start("i", "code");
  const std::string end = end_with_kills("i");
  // Owners die too; what is told of that lies between.
  EXPECT_NE(end.find("expiring "), std::string::npos) << end;
  EXPECT_EQ(end.find("expiring "), end.rfind("expiring ")) << end;
  EXPECT_NE(end.find("expired session_closed: the session has expired"), std::string::npos) << end;
}

TEST_F(SessionLimits, work_of_an_expired_session_fails_and_is_told) {
  run([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session_with_id("s", aged(kMinute));
    const Handle running = ctx.schedule_activity_on_session("slow", "1000", session);
    const Handle queued = ctx.schedule_activity_on_session("unknown", "", session);
    PAWL_AWAIT(first, running);
    PAWL_AWAIT(second, queued);
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(5)));
    return ctx.complete(std::string(error_kind_name(first.error().kind)) + " " +
                        error_kind_name(second.error().kind));
  });
  EXPECT_EQ(told("i"), "completed session_closed session_closed");
  EXPECT_EQ(cancelled, 1) << "within the five seconds";
  EXPECT_EQ(ended_slow, 0);
  EXPECT_EQ(logged("session_expired session=s"), 1u) << workers.front()->lines.all();
  EXPECT_EQ(logged("session_closed session=s"), 0u);
  EXPECT_EQ(workers.front()->runtime->stats().sessions_expired, 1u);
  EXPECT_EQ(workers.front()->runtime->stats().sessions_closed, 0u);
}

TEST_F(SessionLimits, an_exclusive_one_opened_anew_waits_for_what_still_runs) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = aged(kMinute);
    settings.exclusive = true;
    const Session session = ctx.open_session_with_id("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity_on_session("slow", "90", session));
    const Session again = ctx.open_session_with_id("s", settings);
    PAWL_AWAIT(after, ctx.schedule_activity_on_session("note", "", again));
    return ctx.complete(after.value());
  });
  hand("a");
  boss();
  start("i", "code");
  ASSERT_TRUE(drive_until([&] { return runs.size() == 1; }));
  // Its process does not come round meanwhile: nobody tells the activity.
  ASSERT_TRUE(testing::drive(
      machine, {workers.back().get()}, [&] { return logged("session_created") == 2; },
      2 * kMinute));
  EXPECT_EQ(logged("session_expired"), 1u);
  testing::drive(
      machine, {workers.back().get()}, [] { return false; }, 5'000);
  EXPECT_EQ(runs.size(), 1u);
  EXPECT_EQ(end_of("i"), "completed a");
  EXPECT_EQ(cancelled, 1);
}

TEST_F(SessionLimits, an_expired_one_is_seen_for_an_hour) {
  code([](OrchestrationContext& ctx) {
    ctx.open_session_with_id("s", aged(kMinute));
    ctx.open_session_with_id("forever");
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(3)));
    return ctx.complete("");
  });
  full("a");
  start("i", "code");
  pass(kMinute / 2);
  SessionInfo one;
  ASSERT_EQ(client()->get_session("i", "s", &one), Status::kOk);
  EXPECT_GT(one.expires_in_ms, 25'000);
  EXPECT_LE(one.expires_in_ms, 30'000);
  ASSERT_EQ(client()->get_session("i", "forever", &one), Status::kOk);
  EXPECT_EQ(one.expires_in_ms, -1);
  pass(kMinute);
  EXPECT_EQ(state_of("i", "s"), "expired");
  EXPECT_EQ(state_of("i", "forever"), "idle");
  pass(kHour);
  EXPECT_EQ(state_of("i", "s"), "none");
  EXPECT_EQ(logged("session_expired"), 1u);
}

TEST_F(SessionLimits, age_counts_over_continue_as_new_restarts_and_clock_steps) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session_with_id("s", aged(10 * kMinute));
    PAWL_AWAIT(done, ctx.schedule_activity_on_session("note", "", session));
    if (!done.ok())
      return ctx.complete(std::string(error_kind_name(done.error().kind)) + " in execution " +
                          std::to_string(ctx.execution_id()));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(4)));
    if (ctx.execution_id() < 3) return ctx.continue_as_new("");
    PAWL_AWAIT(late, ctx.schedule_activity_on_session("note", "", session));
    return ctx.complete(std::string(error_kind_name(late.error().kind)) + " in execution " +
                        std::to_string(ctx.execution_id()));
  });
  full("a");
  start("i", "code");
  pass(2 * kMinute);
  machine.set_wall(1'000);
  pass(2 * kMinute);
  restart();
  machine.set_wall(1'900'000'000'000);
  pass(2 * kMinute);
  EXPECT_EQ(state_of("i", "s"), "idle");
  EXPECT_EQ(end_of("i", kHour), "completed session_closed in execution 3");
}

TEST_F(SessionLimits, what_passed_while_nobody_lived_is_told_without_a_warning) {
  code(gathers);
  full("a");
  start("i", "code");
  ASSERT_TRUE(runs_are(1));
  pass(2'000);
  for (const auto& worker : workers)
    worker->kill();
  workers.clear();
  machine.advance(10 * kMinute);
  full("b");
  const std::string end = end_of("i");
  EXPECT_EQ(end.find("expiring"), std::string::npos) << end;
  EXPECT_NE(end.find("expired session_closed"), std::string::npos) << end;
}

TEST_F(SessionLimits, a_lost_one_expires_too_and_makes_room) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = aged(2 * kMinute);
    settings.fail_on_loss = true;
    settings.owner_label = "alice";
    const Session session = ctx.open_session_with_id("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity_on_session("note", "abort", session));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(1)));
    const Session early = ctx.open_session_with_id("t", settings);
    PAWL_AWAIT(refused, ctx.schedule_activity_on_session("note", "", early));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(2)));
    const Session late = ctx.open_session_with_id("t", settings);
    PAWL_AWAIT(taken, ctx.schedule_activity_on_session("note", "", late));
    return ctx.complete(std::string(error_kind_name(refused.error().kind)) + " " +
                        error_kind_name(taken.error().kind));
  });
  options.sessions.max_sessions_per_owner = 1;
  full("a");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed limit none");
}

TEST_F(SessionLimits, one_opened_anew_is_young_again) {
  code([](OrchestrationContext& ctx) {
    Session session = ctx.open_session_with_id("s", aged(kMinute));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(50)));
    if (ctx.close_session(session.id()) != ErrorKind::kNone) return ctx.fail("close");
    session = ctx.open_session_with_id("s", aged(kMinute));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(50)));
    PAWL_AWAIT(still, ctx.schedule_activity_on_session("note", "", session));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(20)));
    // Without an age from here on.
    session = ctx.open_session_with_id("s");
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(2)));
    PAWL_AWAIT(last, ctx.schedule_activity_on_session("note", "", session));
    return ctx.complete(std::string(still.value()) + " " + std::string(last.value()));
  });
  full("a");
  start("i", "code");
  EXPECT_EQ(end_of("i", 3 * kHour), "completed a a");
  EXPECT_EQ(logged("session_expired"), 1u);
}

TEST_F(SessionLimits, settings_that_contradict_each_other_are_refused) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              std::string ids;
              const auto open = [&](const SessionSettings& settings) {
                ids += ctx.open_session(settings).id().empty() ? "-" : "+";
              };
              open(aged(kMinute, kMinute - 1));
              open(aged(kActivityMsMax, kActivityMsMax - 1));
              open(aged(kMinute, kMinute));
              open(aged(0, 1));
              open(aged(-1));
              open(aged(kActivityMsMax + 1));
              SessionSettings silent = aged(kMinute, 1);
              silent.notify = false;
              open(silent);
              return ctx.complete(ids);
            }),
            "completed ++-----");
}

TEST_F(SessionLimits, an_idle_release_is_told) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              SessionSettings settings = aged(0);
              settings.idle_ms = kMinute;
              const Session session = ctx.open_session_with_id("s", settings);
              PAWL_AWAIT_DONE(ctx.schedule_activity_on_session("note", "", session));
              PAWL_AWAIT_DONE(ctx.session_events(session));  // claimed
              PAWL_AWAIT(idle, ctx.session_events(session));
              return ctx.complete(idle.value());
            }),
            R"(completed {"change":"released","epoch":2,"from":"a","reason":"idle"})");
}

}  // namespace
}  // namespace pawl
