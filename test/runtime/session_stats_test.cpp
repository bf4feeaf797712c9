// Goal: the counters of sessions are right: how long sessions lasted, how much they were used, how
// many there are.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "pawl/visit.hpp"
#include "session_story.hpp"

namespace pawl {
namespace {

using testing::CodeTest;
using testing::TestClient;
using testing::Worker;

ActivityResult note(ActivityContext& ctx) { return ctx.ok(""); }

// Opens a session, runs `times` activities on it, a second apart, and then waits.
Poll uses(OrchestrationContext& ctx, int times, bool fail_on_loss) {
  SessionSettings settings;
  settings.fail_on_loss = fail_on_loss;
  const Session session = ctx.open_session("s", settings);
  for (int i = 0; i < times; ++i) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  }
  PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
  return Poll::done();
}

// The count for each bound of a histogram, in order.
std::string counts(const SessionEnds::Histogram& histogram) {
  std::string text;
  for (const std::uint64_t count : histogram.counts)
    text += std::to_string(count) + " ";
  return text;
}

class SessionStats : public CodeTest {
 protected:
  SessionStats() { add("note", note); }
  Metrics metrics() {
    Metrics is;
    EXPECT_EQ(client()->get_metrics(&is), Status::kOk);
    EXPECT_TRUE(is.complete);
    return is;
  }
  void settle() { pass(5'000); }
};

// Rules: S31.
TEST_F(SessionStats, how_long_they_lasted_and_how_much_they_were_used_is_counted_when_they_end) {
  code([](OrchestrationContext& ctx) -> Poll {
    PAWL_CALL(uses(ctx, ctx.input() == "much" ? 11 : ctx.input() == "once" ? 1 : 0, false));
    return ctx.complete("");
  });
  Worker& a = start_worker("a");
  for (const char* id : {"never", "once", "much"})
    start(id, "code", id);
  pass(30'000);
  EXPECT_EQ(metrics().session_ends.ended, 0U) << "none has ended";
  EXPECT_EQ(a.runtime->stats().session_ends.ended, 0U);
  raise_event("never", "end");
  ASSERT_EQ(client()->close_session("once", "s"), Status::kOk);
  pass(60'000);
  raise_event("much", "end");
  raise_event("once", "end");
  ASSERT_TRUE(drive_until([&] { return !is_running("much") && !is_running("once"); }));
  for (const SessionEnds& is : {metrics().session_ends, a.runtime->stats().session_ends}) {
    EXPECT_EQ(is.ended, 3U);
    EXPECT_EQ(counts(is.lasted_ms), "0 0 2 1 0 0 0 0 ");
    EXPECT_EQ(counts(is.activities), "1 1 0 1 0 0 0 0 ");
    EXPECT_EQ(is.activities.total, 12);
    EXPECT_EQ(is.activities.most, 11);
    EXPECT_GE(is.lasted_ms.most, 90'000);
    EXPECT_GE(is.lasted_ms.total, 150'000);
  }
}

// A count reads all sessions of the worker, so work that comes and goes does not cause one.
TEST_F(SessionStats,
       the_count_is_made_when_an_owner_changed_or_leases_are_renewed_and_not_with_each_commit) {
  testing::expect_errors("activity_unregistered");
  code([](OrchestrationContext& ctx) -> Poll {
    const Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("absent", "", Target::own(session)));
    return ctx.complete("");
  });
  Worker& a = start_worker("a");
  start("i", "code");
  pass(60'000);
  const RuntimeStats& stats = a.runtime->stats();
  ASSERT_EQ(stats.sessions_active, 0U);
  ASSERT_EQ(stats.sessions_idle, 1U);
  const std::uint64_t turns = stats.turns;
  raise_event("i", "go");
  ASSERT_TRUE(drive_until([&] { return stats.turns > turns; }));
  EXPECT_EQ(stats.sessions_active, 0U) << "the last count";
  EXPECT_EQ(stats.sessions_idle, 1U);
  EXPECT_EQ(metrics().sessions_active, 1) << "as it is";
  pass(60'000);
  EXPECT_EQ(stats.sessions_active, 1U);
  EXPECT_EQ(stats.sessions_idle, 0U);
}

// Rules: S31.
TEST_F(SessionStats, one_that_is_lost_counts_once_whatever_becomes_of_it) {
  code([](OrchestrationContext& ctx) -> Poll {
    PAWL_CALL(uses(ctx, 1, true));
    EXPECT_EQ(ctx.close_session("s"), ErrorKind::kNone);
    return ctx.complete("");
  });
  const Worker& decider = boss();
  Worker& a = start_worker("a");
  for (const char* id : {"i", "j"})
    start(id, "code");
  settle();
  EXPECT_EQ(metrics().sessions_idle, 2);
  a.kill();
  settle();
  EXPECT_EQ(metrics().sessions_lost, 2);
  EXPECT_EQ(metrics().session_ends.ended, 2U);
  EXPECT_EQ(decider.runtime->stats().session_ends.ended, 2U);
  for (const char* id : {"i", "j"})
    raise_event(id, "end");
  ASSERT_TRUE(drive_until([&] { return !is_running("i") && !is_running("j"); }));
  EXPECT_EQ(metrics().session_ends.ended, 2U) << "they were closed";
  EXPECT_EQ(metrics().sessions_lost, 0);
}

TEST_F(SessionStats, a_shared_one_counts_when_its_row_goes_and_up_to_its_last_activity) {
  code([](OrchestrationContext& ctx) -> Poll {
    for (int i = 0; i < 2; ++i) {
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session("bed")));
      PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(30)));
    }
    return ctx.complete("");
  });
  Options how = named("a");
  how.sessions.session_idle_timeout = std::chrono::seconds(60);
  how.sessions.session_cleanup_interval = std::chrono::seconds(120);
  Worker& a = start_worker(how);
  start("i", "code");
  pass(50'000);
  // The worker restarts: its session continues with the same row, and only the file has the counts.
  a.kill();
  Worker& again = start_worker(how);
  pass(60'000);
  EXPECT_EQ(again.runtime->stats().session_ends.ended, 0U);
  pass(240'000);
  EXPECT_EQ(again.runtime->stats().sessions_released, 1U);
  const SessionEnds is = metrics().session_ends;
  EXPECT_EQ(is.ended, 1U);
  EXPECT_EQ(counts(is.activities), "0 0 1 0 0 0 0 0 ");
  EXPECT_EQ(counts(is.lasted_ms), "0 0 1 0 0 0 0 0 ") << "30 s, however late the sweep";
  EXPECT_EQ(counts(again.runtime->stats().session_ends.lasted_ms), counts(is.lasted_ms));
}

TEST_F(SessionStats, a_device_that_is_forgotten_counts_too) {
  Worker& a = start_worker("a");
  ASSERT_EQ(a.runtime->declare_session("/dev/bed", false), Status::kOk);
  settle();
  EXPECT_EQ(client()->forget_device("/dev/bed"), Status::kStillRunning);
  EXPECT_EQ(metrics().session_ends.ended, 0U);
  ASSERT_EQ(a.runtime->withdraw_session("/dev/bed"), Status::kOk);
  settle();
  ASSERT_EQ(client()->forget_device("/dev/bed"), Status::kOk);
  EXPECT_EQ(metrics().session_ends.ended, 1U);
}

TEST_F(SessionStats, how_many_a_worker_has_with_work_and_without) {
  testing::expect_errors("activity_unregistered");
  code([](OrchestrationContext& ctx) -> Poll {
    const Session session = ctx.open_session();
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    if (ctx.input() == "busy")
      PAWL_AWAIT_DONE(ctx.schedule_activity("unknown", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return ctx.complete("");
  });
  Worker& a = start_worker("a");
  start("i", "code", "busy");
  start("j", "code");
  start("k", "code");
  pass(30'000);
  EXPECT_EQ(a.runtime->stats().sessions_active, 1U);
  EXPECT_EQ(a.runtime->stats().sessions_idle, 2U);
  EXPECT_EQ(metrics().sessions_active, 1);
  EXPECT_EQ(metrics().sessions_idle, 2);
  for (const char* id : {"j", "k"})
    raise_event(id, "end");
  settle();
  EXPECT_EQ(a.runtime->stats().sessions_idle, 0U);
  EXPECT_EQ(metrics().sessions_idle, 0);
}

// ---- sessions left open ----

// The leaks as "name of instance", one a line.
std::string leaks(TestClient& client, std::int64_t open_for_ms, std::int64_t unused_for_ms) {
  std::string text;
  auto print = visit([&](const SessionInfo& one) {
    text += std::string(one.name) + " of " + std::string(one.instance_id) + "\n";
  });
  SessionFilter filter;
  filter.open_for_ms = open_for_ms;
  filter.unused_for_ms = unused_for_ms;
  Page page;
  page.rows_max = 1;
  do {
    EXPECT_EQ(client->list_sessions(filter, &page, print), Status::kOk);
  } while (page.more);
  return text;
}

class SessionLeaks : public SessionStats {
 protected:
  Options looks_often(const char* node) {
    Options out = named(node);
    out.sessions.session_cleanup_interval = std::chrono::seconds(10);
    out.sessions.leak_open = std::chrono::seconds(300);
    out.sessions.leak_unused = std::chrono::seconds(60);
    return out;
  }
  // Opens a session, uses it unless the input says otherwise, and closes it when asked to.
  static Poll opens(OrchestrationContext& ctx) {
    PAWL_CALL(uses(ctx, ctx.input() == "unused" ? 0 : 1, false));
    EXPECT_EQ(ctx.close_session("s"), ErrorKind::kNone);
    PAWL_AWAIT_DONE(ctx.schedule_wait("again"));
    PAWL_CALL(uses(ctx, 0, false));
    return ctx.complete("");
  }
};

// Rules: S32.
TEST_F(SessionLeaks, one_that_is_left_open_is_reported_once_by_any_worker) {
  code(opens);
  Worker& a = start_worker(looks_often("a"));
  Worker& b = start_worker(looks_often("b"));
  start("unused", "code", "unused");
  start("used", "code");
  const auto leak_lines = [&](const std::string& of) {
    return a.lines.count("session_leak session=s epoch=" + of) +
           b.lines.count("session_leak session=s epoch=" + of);
  };
  pass(50'000);
  EXPECT_EQ(leak_lines(""), 0U);
  EXPECT_EQ(leaks(client(), 300'000, 60'000), "");
  pass(40'000);
  EXPECT_EQ(leak_lines("0 to= from= reason=never used resumed=0 instance=unused"), 1U)
      << b.lines.all();
  EXPECT_EQ(leak_lines(""), 1U);
  EXPECT_EQ(leaks(client(), 0, 60'000), "s of unused\n");
  EXPECT_EQ(leaks(client(), 300'000, 60'000), "s of unused\n");
  EXPECT_EQ(leaks(client(), 80'000, 0), "s of unused\ns of used\n");
  pass(300'000);
  EXPECT_EQ(leak_lines("1 to="), 1U) << "the one that was used, after five minutes";
  EXPECT_EQ(leak_lines(""), 2U) << "the other was told of before";
  EXPECT_EQ(a.runtime->stats().session_leaks + b.runtime->stats().session_leaks, 2U);
  // A worker that looks for the first time does not report it again, either.
  Worker& c = start_worker(looks_often("c"));
  pass(60'000);
  EXPECT_EQ(leak_lines(""), 2U);
  EXPECT_EQ(c.lines.count("session_leak"), 0U);
  EXPECT_EQ(leaks(client(), 300'000, 0), "s of unused\ns of used\n");
  // A closed session is no leak; opened anew, it is another one.
  raise_event("used", "end");
  settle();
  EXPECT_EQ(leaks(client(), 300'000, 0), "s of unused\n");
  raise_event("used", "again");
  pass(85'000);
  EXPECT_EQ(leak_lines("") + c.lines.count("session_leak"), 3U);
  EXPECT_EQ(leaks(client(), 300'000, 60'000), "s of unused\ns of used\n");
}

TEST_F(SessionLeaks, sessions_with_work_and_shared_ones_are_no_leaks_and_0_is_never) {
  code([](OrchestrationContext& ctx) -> Poll {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session("bed")));
    return opens(ctx);
  });
  Options never = looks_often("a");
  never.sessions.leak_open = std::chrono::milliseconds(0);
  Worker& a = start_worker(never);
  start("used", "code");
  pass(200'000);
  EXPECT_EQ(leaks(client(), 1'000, 1'000), "s of used\n") << "bed is shared";
  EXPECT_EQ(leaks(client(), 0, 1'000), "");
  pass(400'000);
  EXPECT_EQ(a.lines.count("session_leak"), 0U) << a.lines.all();
}

TEST_F(SessionLeaks, many_are_reported_over_several_sweeps) {
  code([](OrchestrationContext& ctx) -> Poll {
    for (int i = 0; i < 40; ++i)
      static_cast<void>(ctx.open_session());
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return ctx.complete("");
  });
  Options how = looks_often("a");
  how.sessions.max_sessions_per_orchestration = 40;
  Worker& a = start_worker(how);
  start("i", "code");
  pass(65'000);
  EXPECT_GE(a.lines.count("session_leak"), 16U);
  EXPECT_LT(a.lines.count("session_leak"), 40U);
  pass(40'000);
  EXPECT_EQ(a.lines.count("session_leak"), 40U);
  EXPECT_EQ(a.runtime->stats().session_leaks, 40U);
  EXPECT_EQ(a.lines.count("notices_lost"), 0U);
}

// Ended sessions are counted in the file, and the rest are rows.
TEST_F(SessionStats, how_many_were_created_is_known_without_counting_them) {
  code([](OrchestrationContext& ctx) {
    Session session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session("room")));
    if (ctx.close_session(session.id()) != ErrorKind::kNone) return ctx.fail("close");
    session = ctx.open_session("s");
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return ctx.complete("");
  });
  start_worker("a");
  const auto created = [&] { return metrics().sessions_created; };
  EXPECT_EQ(created(), 0);
  start("i", "code");
  settle();
  EXPECT_EQ(created(), 3) << "two openings, and a shared one";
  ASSERT_EQ(client()->close_session("i", "s"), Status::kOk);
  EXPECT_EQ(created(), 3) << "closed, and not logged yet";
  settle();
  EXPECT_EQ(created(), 3);
  raise_event("i", "end");
  settle();
  EXPECT_EQ(created(), 3);
}

}  // namespace
}  // namespace pawl
