// Goal: the settings of an opened session limit its age, the number of its activities and their
// rate, and the session reports what happens. Method: whole runtimes on the simulated machine.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "session_story.hpp"

namespace pawl {
namespace {

using testing::SessionStory;
using testing::Worker;

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kHour = 60 * kMinute;

SessionSettings aged(std::int64_t max_age_ms, std::int64_t notice_ms = 0) {
  SessionSettings settings;
  settings.notify = true;
  settings.max_age = std::chrono::milliseconds(max_age_ms);
  settings.expiry_notice = std::chrono::milliseconds(notice_ms);
  return settings;
}

// Returns the change in the payload of a notice, for example "claimed".
std::string change_of(std::string_view payload) {
  constexpr std::string_view kBefore = "{\"change\":\"";
  const std::size_t end = payload.find('"', kBefore.size());
  return std::string(payload.substr(kBefore.size(), end - kBefore.size()));
}

class SessionLimits : public SessionStory {
 protected:
  // Opens a session, runs one activity, and gathers messages until the session has expired.
  static Poll gather_until_expired(OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s", aged(kMinute, kMinute / 6));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    std::string reported;
    while (reported.find("expired") == std::string::npos) {
      PAWL_AWAIT(one, ctx.session_events(session));
      reported += change_of(one.value()) + " ";
    }
    PAWL_AWAIT(late, ctx.schedule_activity("note", "", Target::own(session)));
    return ctx.complete(reported + error_kind_name(late.error().kind) + ": " +
                        std::string(late.error().text));
  }
};

constexpr char kGathered[] =
    "completed claimed expiring expired session_closed: the session has expired: max_age "
    "(60000 ms) has passed";

// ---- age ----

// Rules: S27.
TEST_F(SessionLimits, expiry_is_reported_before_and_at_the_end) {
  EXPECT_EQ(run(gather_until_expired), kGathered);
  const std::vector<std::int64_t> at = reported_at("i");
  ASSERT_EQ(at.size(), 3u);
  EXPECT_GE(at[1], 50'000);
  EXPECT_LT(at[1], 51'000);
  EXPECT_GE(at[2], 60'000);
  EXPECT_LT(at[2], 61'000);
  EXPECT_EQ(runs.size(), 1u);
}

TEST_F(SessionLimits, expiry_is_reported_once_whatever_is_killed) {
  code(gather_until_expired);
  start_worker("a");
  start("i", "code");
  const std::string end = end_with_kills("i");
  // Owners die as well; only the notices of expiry are compared.
  EXPECT_NE(end.find("expiring "), std::string::npos) << end;
  EXPECT_EQ(end.find("expiring "), end.rfind("expiring ")) << end;
  EXPECT_NE(end.find("expired session_closed: the session has expired"), std::string::npos) << end;
}

TEST_F(SessionLimits, work_of_an_expired_session_fails_and_is_reported) {
  testing::expect_errors("activity_unregistered");
  run([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s", aged(kMinute));
    const Handle running = ctx.schedule_activity("slow", "1000", Target::own(session));
    const Handle queued = ctx.schedule_activity("unknown", "", Target::own(session));
    PAWL_AWAIT(first, running);
    PAWL_AWAIT(second, queued);
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(5)));
    return ctx.complete(std::string(error_kind_name(first.error().kind)) + " " +
                        error_kind_name(second.error().kind));
  });
  EXPECT_EQ(outcome_of("i"), "completed session_closed session_closed");
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
    const Session session = ctx.open_session("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("slow", "90", Target::own(session)));
    const Session again = ctx.open_session("s", settings);
    PAWL_AWAIT(after, ctx.schedule_activity("note", "", Target::own(again)));
    return ctx.complete(after.value());
  });
  hand("a");
  Worker& decides = boss();
  start("i", "code");
  ASSERT_TRUE(drive_until([&] { return runs.size() == 1; }));
  // The process of the activity runs no tick in the meantime, so the activity is not cancelled.
  ASSERT_TRUE(drive_until(
      {&decides}, [&] { return logged("session_created") == 2; }, 2 * kMinute));
  EXPECT_EQ(logged("session_expired"), 1u);
  pass({&decides}, 5'000);
  EXPECT_EQ(runs.size(), 1u);
  EXPECT_EQ(end_of("i"), "completed a");
  EXPECT_EQ(cancelled, 1);
}

// Rules: S27.
TEST_F(SessionLimits, an_expired_one_is_seen_for_an_hour) {
  code([](OrchestrationContext& ctx) {
    static_cast<void>(ctx.open_session("s", aged(kMinute)));
    static_cast<void>(ctx.open_session("forever"));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(3)));
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  pass(kMinute / 2);
  SessionInfo one;
  ASSERT_EQ(client()->get_session("i", "s", &one), Status::kOk);
  EXPECT_GT(one.expires_in_ms.value_or(0), 25'000);
  EXPECT_LE(one.expires_in_ms.value_or(0), 30'000);
  ASSERT_EQ(client()->get_session("i", "forever", &one), Status::kOk);
  EXPECT_FALSE(one.expires_in_ms.has_value());
  pass(kMinute);
  EXPECT_EQ(state_of("i", "s"), "expired");
  EXPECT_EQ(state_of("i", "forever"), "idle");
  pass(kHour);
  EXPECT_EQ(state_of("i", "s"), "none");
  EXPECT_EQ(logged("session_expired"), 1u);
}

TEST_F(SessionLimits, age_counts_over_continue_as_new_restarts_and_clock_steps) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s", aged(10 * kMinute));
    PAWL_AWAIT(done, ctx.schedule_activity("note", "", Target::own(session)));
    if (!done.ok())
      return ctx.complete(std::string(error_kind_name(done.error().kind)) + " in execution " +
                          std::to_string(ctx.execution_id()));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(4)));
    if (ctx.execution_id() < 3) return ctx.continue_as_new("");
    PAWL_AWAIT(late, ctx.schedule_activity("note", "", Target::own(session)));
    return ctx.complete(std::string(error_kind_name(late.error().kind)) + " in execution " +
                        std::to_string(ctx.execution_id()));
  });
  start_worker("a");
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

TEST_F(SessionLimits, what_passed_while_no_worker_lived_is_reported_without_a_warning) {
  code(gather_until_expired);
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
  EXPECT_EQ(end.find("expiring"), std::string::npos) << end;
  EXPECT_NE(end.find("expired session_closed"), std::string::npos) << end;
}

TEST_F(SessionLimits, a_lost_one_expires_too_and_makes_room) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = aged(2 * kMinute);
    settings.fail_on_loss = true;
    settings.owner_label = "alice";
    const Session session = ctx.open_session("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "abort", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(1)));
    const Session early = ctx.open_session("t", settings);
    PAWL_AWAIT(refused, ctx.schedule_activity("note", "", Target::own(early)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(2)));
    const Session late = ctx.open_session("t", settings);
    PAWL_AWAIT(taken, ctx.schedule_activity("note", "", Target::own(late)));
    return ctx.complete(std::string(error_kind_name(refused.error().kind)) + " " +
                        error_kind_name(taken.error().kind));
  });
  options.sessions.max_sessions_per_owner = 1;
  start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed limit none");
}

TEST_F(SessionLimits, one_opened_anew_is_young_again) {
  code([](OrchestrationContext& ctx) {
    Session session = ctx.open_session("s", aged(kMinute));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(50)));
    if (ctx.close_session(session.id()) != ErrorKind::kNone) return ctx.fail("close");
    session = ctx.open_session("s", aged(kMinute));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(50)));
    PAWL_AWAIT(still, ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(20)));
    // From here on the session has no age limit.
    session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(2)));
    PAWL_AWAIT(last, ctx.schedule_activity("note", "", Target::own(session)));
    return ctx.complete(std::string(still.value()) + " " + std::string(last.value()));
  });
  start_worker("a");
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
              open(aged(kDurationMax.count(), kDurationMax.count() - 1));
              open(aged(kMinute, kMinute));
              open(aged(0, 1));
              open(aged(-1));
              open(aged(kDurationMax.count() + 1));
              SessionSettings silent = aged(kMinute, 1);
              silent.notify = false;
              open(silent);
              return ctx.complete(ids);
            }),
            "completed ++-----");
}

TEST_F(SessionLimits, an_idle_release_is_reported) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              SessionSettings settings = aged(0);
              settings.idle_timeout = std::chrono::milliseconds(kMinute);
              const Session session = ctx.open_session("s", settings);
              PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
              PAWL_AWAIT_DONE(ctx.session_events(session));  // claimed
              PAWL_AWAIT(idle, ctx.session_events(session));
              return ctx.complete(idle.value());
            }),
            R"(completed {"change":"released","epoch":2,"from":"a","to":"","reason":"idle"})");
}

// ---- number of activities ----

SessionSettings at_most(std::int64_t activities, std::int64_t warning = 0) {
  SessionSettings settings;
  settings.notify = true;
  settings.max_activities = activities;
  settings.activity_warning = warning;
  return settings;
}

// Schedules activities until one is refused, over three executions; returns the answers.
Poll speaks(OrchestrationContext& ctx) {
  const Session session = ctx.open_session("s", at_most(5, 4));
  for (int i = 0; i < 2; ++i) {
    PAWL_AWAIT(one, ctx.schedule_activity("note", "", Target::own(session)));
    if (one.ok()) continue;
    std::string reported;
    std::size_t warnings = 0;
    while (true) {
      PAWL_AWAIT(notice, ctx.try_dequeue_event("session:s"));
      if (!notice.ok()) break;
      if (change_of(notice.value()) != "near_limit") continue;
      reported = std::string(notice.value());
      ++warnings;
    }
    return ctx.complete(std::to_string(ctx.execution_id()) + " " + std::to_string(warnings) +
                        reported + " " + error_kind_name(one.error().kind) + ": " +
                        std::string(one.error().text));
  }
  return ctx.continue_as_new("");
}

// Rules: S28.
TEST_F(SessionLimits, activities_are_counted_warned_of_and_refused) {
  const std::string end = run(speaks);
  EXPECT_EQ(end.substr(0, 26), "completed 3 1{\"change\":\"ne") << end;
  EXPECT_NE(
      end.find("\"reason\":\"4 of 5 activities (max_activities)\"} limit: the session has had "
               "its 5 activities (max_activities): close it with close_session(), and open "
               "it again"),
      std::string::npos)
      << end;
  EXPECT_EQ(runs.size(), 5u);
  EXPECT_EQ(logged("session_near_limit session=s"), 1u) << workers.front()->lines.all();
}

TEST_F(SessionLimits, activities_are_counted_once_whatever_is_killed) {
  code(speaks);
  start_worker("a");
  start("i", "code");
  const std::string end = end_with_kills("i");
  EXPECT_EQ(end.substr(0, 26), "completed 3 1{\"change\":\"ne") << end;
  EXPECT_GE(runs.size(), 5u);
}

// Rules: S28.
TEST_F(SessionLimits, refused_ones_and_retries_do_not_count_and_opening_anew_makes_room) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              Session session = ctx.open_session("s", at_most(2));
              ActivityOptions again;
              again.target = Target::own(session);
              again.retry.max_attempts = 3;
              std::string reported;
              PAWL_AWAIT(failed, ctx.schedule_activity("note", "fail", again));
              PAWL_AWAIT(second, ctx.schedule_activity("note", "", Target::own(session)));
              PAWL_AWAIT(third, ctx.schedule_activity("note", "", Target::own(session)));
              PAWL_AWAIT(fourth, ctx.schedule_activity("note", "", Target::own(session)));
              if (ctx.close_session("s") != ErrorKind::kNone) return ctx.fail("close");
              session = ctx.open_session("s", at_most(1));
              PAWL_AWAIT(fifth, ctx.schedule_activity("note", "", Target::own(session)));
              PAWL_AWAIT(sixth, ctx.schedule_activity("note", "", Target::own(session)));
              for (const Outcome& one : {failed, second, third, fourth, fifth, sixth})
                reported += std::string(error_kind_name(one.error().kind)) + " ";
              return ctx.complete(reported);
            }),
            "completed application none limit limit none limit ");
  EXPECT_EQ(runs.size(), 5u);
}

TEST_F(SessionLimits, many_of_one_turn_are_counted_one_by_one) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              const Session session = ctx.open_session("s", at_most(3));
              Handle all[5];
              for (Handle& one : all)
                one = ctx.schedule_activity("note", "", Target::own(session));
              std::string reported;
              for (const Handle& one : all) {
                PAWL_AWAIT(done, one);
                reported += done.ok() ? "+" : "-";
              }
              return ctx.complete(reported);
            }),
            "completed +++--");
}

// ---- rate of activities ----

SessionSettings paced(std::int64_t interval_ms, std::int64_t burst, std::int64_t wait_ms) {
  SessionSettings settings;
  settings.rate_interval = std::chrono::milliseconds(interval_ms);
  settings.rate_burst = burst;
  settings.rate_wait = std::chrono::milliseconds(wait_ms);
  return settings;
}

// Schedules six activities at once; returns how each ended.
Poll schedule_six(OrchestrationContext& ctx) {
  const std::int64_t wait_ms = ctx.input() == "waits" ? 60'000 : 0;
  const Session session = ctx.open_session("s", paced(10'000, 2, wait_ms));
  Handle all[6];
  for (Handle& one : all)
    one = ctx.schedule_activity("note", "", Target::own(session));
  std::string reported;
  for (const Handle& one : all) {
    PAWL_AWAIT(done, one);
    reported += done.ok() ? "+" : done.error().kind == ErrorKind::kRateLimited ? "r" : "-";
  }
  if (ctx.input() == "waits") return ctx.complete(reported);
  PAWL_AWAIT(refused, all[5]);
  return ctx.complete(reported + " " + std::string(refused.error().text));
}

// Rules: S29.
TEST_F(SessionLimits, what_comes_too_fast_is_refused_with_the_time_to_come_again) {
  code(schedule_six);
  start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i"),
            "completed ++rrrr more activities of the session than rate_burst (2) and one every "
            "rate_interval_ms (10000): again in 10000 ms");
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(SessionLimits, what_may_wait_comes_at_its_time) {
  code(schedule_six);
  start_worker("a");
  start("i", "code", "waits");
  const std::int64_t began = machine.boot_ms();
  for (std::size_t count = 2; count <= 6; ++count) {
    ASSERT_TRUE(runs_are(count));
    const std::int64_t after = machine.boot_ms() - began;
    const std::int64_t due = 10'000 * static_cast<std::int64_t>(count - 2);
    EXPECT_GE(after, due) << count;
    EXPECT_LT(after, due + 500) << count;
  }
  EXPECT_EQ(end_of("i"), "completed ++++++");
}

// The bucket belongs to the session and not to its owner: neither a death nor a new worker fills
// it.
// Rules: S29.
TEST_F(SessionLimits, a_rate_outlives_its_owner_and_clock_steps) {
  code(schedule_six);
  boss();
  hand("a");
  start("i", "code", "waits");
  ASSERT_TRUE(runs_are(3));
  pass(1'000);
  workers.back()->kill();
  workers.pop_back();
  machine.set_wall(1'000);
  hand("b");
  const std::int64_t began = machine.boot_ms();
  ASSERT_TRUE(runs_are(4));
  EXPECT_GE(machine.boot_ms() - began, 8'000);
  ASSERT_TRUE(runs_are(6));
  EXPECT_GE(machine.boot_ms() - began, 28'000);
  EXPECT_EQ(workers_of("s"), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(end_of("i"), "completed ++++++");
}

TEST_F(SessionLimits, a_rest_fills_the_bucket_and_no_more) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s", paced(10'000, 2, 0));
    std::string reported;
    for (int round = 0; round < 2; ++round) {
      Handle all[3];
      for (Handle& one : all)
        one = ctx.schedule_activity("note", "", Target::own(session));
      for (const Handle& one : all) {
        PAWL_AWAIT(done, one);
        reported += done.ok() ? "+" : "-";
      }
      PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
    }
    return ctx.complete(reported);
  });
  start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i", 3 * kHour), "completed ++-++-");
}

TEST_F(SessionLimits, paced_work_of_an_exclusive_session_keeps_its_order) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = paced(5'000, 1, kMinute);
    settings.exclusive = true;
    const Session session = ctx.open_session("s", settings);
    Handle all[4];
    for (int i = 0; i < 4; ++i)
      all[i] = ctx.schedule_activity("slow", std::to_string(i == 0 ? 12 : i), Target::own(session));
    for (const Handle& one : all)
      PAWL_AWAIT_DONE(one);
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed ");
  std::string order;
  for (const Run& one : runs)
    order += one.input + " ";
  EXPECT_EQ(order, "12 1 2 3 ");
}

TEST_F(SessionLimits, a_session_with_paced_work_is_not_idle_and_closing_ends_it) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = paced(10 * kMinute, 1, kHour);
    settings.idle_timeout = std::chrono::milliseconds(kMinute);
    const Session session = ctx.open_session("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    const Handle second = ctx.schedule_activity("note", "", Target::own(session));
    const Handle third = ctx.schedule_activity("note", "", Target::own(session));
    PAWL_AWAIT_DONE(second);
    if (ctx.close_session("s") != ErrorKind::kNone) return ctx.fail("close");
    PAWL_AWAIT(last, third);
    return ctx.complete(error_kind_name(last.error().kind));
  });
  start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i", kHour), "completed session_closed");
  EXPECT_EQ(epochs_of("s").size(), 1u) << "one owner, all the time";
}

TEST_F(SessionLimits, limits_that_contradict_each_other_are_refused) {
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              std::string ids;
              const auto open = [&](const SessionSettings& settings) {
                ids += ctx.open_session(settings).id().empty() ? "-" : "+";
              };
              SessionSettings all = aged(kDurationMax.count(), kDurationMax.count() - 1);
              all.idle_timeout = kDurationMax;
              all.exclusive = true;
              all.max_activities = all.activity_warning = kSessionActivitiesMax;
              all.rate_interval = all.rate_wait = kDurationMax;
              all.rate_burst = 1'000'000;
              open(all);
              open(at_most(5, 5));
              open(at_most(5, 6));
              open(at_most(kSessionActivitiesMax + 1));
              open(at_most(-1));
              open(paced(1'000, 0, 0));
              open(paced(1'000, 1'000'001, 0));
              open(paced(0, 2, 0));
              open(paced(0, 1, 1));
              open(paced(1'000, 1, -1));
              return ctx.complete(ids);
            }),
            "completed ++--------");
}

// ---- log lines ----

// Rules: S30.
TEST_F(SessionLimits, each_ownership_is_reported_with_its_first_use_and_what_was_done_by_then) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.owner_label = "alice";
    const Session session = ctx.open_session("s", settings);
    for (int i = 0; i < 3; ++i)
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session("shared")));
    return ctx.complete("");
  });
  boss();
  hand("a");
  hand("b");
  start("i", "code");
  ASSERT_TRUE(runs_are(3));
  const std::string from = runs.front().worker;
  const std::string to = from == "a" ? "b" : "a";
  pass(1'000);
  TransferOptions where;
  where.instance = "i";
  ASSERT_EQ(client()->transfer_session("s", to, where), Status::kOk);
  pass(1'000);
  EXPECT_EQ(logged("session_used"), 1u) << "moved, and not yet used";
  raise_event("i", "go");
  EXPECT_EQ(end_of("i"), "completed ");
  std::string logs;
  for (const auto& worker : workers)
    logs += worker->lines.all();
  EXPECT_EQ(logged("session_used session=s epoch=1 to=" + from + " instance=i owner=alice"), 1u);
  EXPECT_EQ(logged("session_used session=s epoch=2 to=" + to + " instance=i owner=alice"), 1u)
      << logs;
  EXPECT_NE(logs.find("activities=3"), std::string::npos) << logs;
  EXPECT_EQ(logged("session_used"), 2u) << "shared ones have no such line";
}

}  // namespace
}  // namespace pawl
