// What is counted of sessions: how long they lasted, how much they were used, how many there are.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using testing::drive;
using testing::TestClient;
using testing::Worker;

constexpr char kPath[] = "/data/pawl.db";

ActivityResult note(ActivityContext& ctx) { return ctx.ok(""); }

// The body of the test at hand.
std::function<Poll(OrchestrationContext&)> g_code;
Poll code(OrchestrationContext& ctx) { return g_code(ctx); }

// So many activities, a second apart, on a session that is opened; then it waits.
Poll uses(OrchestrationContext& ctx, int times, bool fail_on_loss) {
  SessionSettings settings;
  settings.fail_on_loss = fail_on_loss;
  const Session session = ctx.open_session_with_id("s", settings);
  for (int i = 0; i < times; ++i) {
    PAWL_AWAIT_DONE(ctx.schedule_activity_on_session("note", "", session));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  }
  PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
  return Poll::done();
}

// "up to the 1st bound, the 2nd, ..": how many of each.
std::string counts(const SessionEnds::Histogram& histogram) {
  std::string text;
  for (const std::uint64_t count : histogram.counts)
    text += std::to_string(count) + " ";
  return text;
}

class SessionStats : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Registry* one : {&registry, &coordinator})
      ASSERT_EQ(one->add_orchestration("code", code), Status::kOk);
    ASSERT_EQ(registry.add_activity("note", note), Status::kOk);
  }
  static Options options(const char* node) {
    Options out;
    out.database_path = kPath;
    out.worker_node_id = node;
    out.verify_turns = true;
    return out;
  }
  static bool ended(TestClient& client, std::string_view id) {
    return client.status(id).state != OrchestrationState::kRunning;
  }
  static Metrics metrics(TestClient& client) {
    Metrics is;
    EXPECT_EQ(client->get_metrics(&is), Status::kOk);
    EXPECT_TRUE(is.complete);
    return is;
  }
  void settle(const std::vector<Worker*>& workers, std::int64_t ms = 5'000) {
    drive(
        machine, workers, [] { return false; }, ms);
  }

  sim::Machine machine{12};
  Registry registry;
  Registry coordinator;
};

TEST_F(SessionStats, how_long_they_lasted_and_how_much_they_were_used_is_counted_when_they_end) {
  g_code = [](OrchestrationContext& ctx) -> Poll {
    PAWL_CALL(uses(ctx, ctx.input() == "much" ? 11 : ctx.input() == "once" ? 1 : 0, false));
    return ctx.complete("");
  };
  Worker a(machine, registry, options("a"));
  ASSERT_EQ(a.start(), Status::kOk);
  TestClient client(machine, kPath);
  for (const char* id : {"never", "once", "much"})
    ASSERT_EQ(client->start_orchestration(id, "code", id), Status::kOk);
  settle({&a}, 30'000);
  EXPECT_EQ(metrics(client).session_ends.ended, 0U) << "none has ended";
  EXPECT_EQ(a.runtime->stats().session_ends.ended, 0U);
  ASSERT_EQ(client->raise_event("never", "end", ""), Status::kOk);
  ASSERT_EQ(client->close_session("once", "s"), Status::kOk);
  settle({&a}, 60'000);
  ASSERT_EQ(client->raise_event("much", "end", ""), Status::kOk);
  ASSERT_EQ(client->raise_event("once", "end", ""), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a}, [&] { return ended(client, "much") && ended(client, "once"); }));
  for (const SessionEnds& is : {metrics(client).session_ends, a.runtime->stats().session_ends}) {
    EXPECT_EQ(is.ended, 3U);
    EXPECT_EQ(counts(is.lasted_ms), "0 0 2 1 0 0 0 0 ");
    EXPECT_EQ(counts(is.activities), "1 1 0 1 0 0 0 0 ");
    EXPECT_EQ(is.activities.total, 12);
    EXPECT_EQ(is.activities.most, 11);
    EXPECT_GE(is.lasted_ms.most, 90'000);
    EXPECT_GE(is.lasted_ms.total, 150'000);
  }
}

TEST_F(SessionStats, one_that_is_lost_counts_once_whatever_becomes_of_it) {
  g_code = [](OrchestrationContext& ctx) -> Poll {
    PAWL_CALL(uses(ctx, 1, true));
    ctx.close_session("s");
    return ctx.complete("");
  };
  Worker boss(machine, coordinator, options("boss"));
  auto a = std::make_unique<Worker>(machine, registry, options("a"));
  ASSERT_EQ(boss.start(), Status::kOk);
  ASSERT_EQ(a->start(), Status::kOk);
  TestClient client(machine, kPath);
  for (const char* id : {"i", "j"})
    ASSERT_EQ(client->start_orchestration(id, "code", ""), Status::kOk);
  settle({&boss, a.get()});
  EXPECT_EQ(metrics(client).sessions_idle, 2);
  a->kill();
  settle({&boss});
  EXPECT_EQ(metrics(client).sessions_lost, 2);
  EXPECT_EQ(metrics(client).session_ends.ended, 2U);
  EXPECT_EQ(boss.runtime->stats().session_ends.ended, 2U);
  for (const char* id : {"i", "j"})
    ASSERT_EQ(client->raise_event(id, "end", ""), Status::kOk);
  ASSERT_TRUE(drive(machine, {&boss}, [&] { return ended(client, "i") && ended(client, "j"); }));
  EXPECT_EQ(metrics(client).session_ends.ended, 2U) << "they were closed";
  EXPECT_EQ(metrics(client).sessions_lost, 0);
}

TEST_F(SessionStats, a_shared_one_counts_when_its_row_goes_and_up_to_its_last_activity) {
  g_code = [](OrchestrationContext& ctx) -> Poll {
    for (int i = 0; i < 2; ++i) {
      PAWL_AWAIT_DONE(ctx.schedule_activity_on_session("note", "", "bed"));
      PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(30)));
    }
    return ctx.complete("");
  };
  Options how = options("a");
  how.sessions.session_idle_timeout_ms = 60'000;
  how.sessions.session_cleanup_interval_ms = 120'000;
  auto a = std::make_unique<Worker>(machine, registry, how);
  ASSERT_EQ(a->start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("i", "code", ""), Status::kOk);
  settle({a.get()}, 50'000);
  // Restarted: its session goes on with the same row, and what was counted is in the file alone.
  a->kill();
  Worker again(machine, registry, how);
  ASSERT_EQ(again.start(), Status::kOk);
  settle({&again}, 60'000);
  EXPECT_EQ(again.runtime->stats().session_ends.ended, 0U);
  settle({&again}, 240'000);
  EXPECT_EQ(again.runtime->stats().sessions_released, 1U);
  const SessionEnds is = metrics(client).session_ends;
  EXPECT_EQ(is.ended, 1U);
  EXPECT_EQ(counts(is.activities), "0 0 1 0 0 0 0 0 ");
  EXPECT_EQ(counts(is.lasted_ms), "0 0 1 0 0 0 0 0 ") << "30 s, however late the sweep";
  EXPECT_EQ(counts(again.runtime->stats().session_ends.lasted_ms), counts(is.lasted_ms));
}

TEST_F(SessionStats, a_device_that_is_forgotten_counts_too) {
  Worker a(machine, registry, options("a"));
  ASSERT_EQ(a.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(a.runtime->declare_session("/dev/bed", false), Status::kOk);
  settle({&a});
  EXPECT_EQ(client->forget_device("/dev/bed"), Status::kStillRunning);
  EXPECT_EQ(metrics(client).session_ends.ended, 0U);
  ASSERT_EQ(a.runtime->withdraw_session("/dev/bed"), Status::kOk);
  settle({&a});
  ASSERT_EQ(client->forget_device("/dev/bed"), Status::kOk);
  EXPECT_EQ(metrics(client).session_ends.ended, 1U);
}

TEST_F(SessionStats, how_many_a_worker_has_with_work_and_without) {
  g_code = [](OrchestrationContext& ctx) -> Poll {
    const Session session = ctx.open_session();
    PAWL_AWAIT_DONE(ctx.schedule_activity_on_session("note", "", session));
    if (ctx.input() == "busy")
      PAWL_AWAIT_DONE(ctx.schedule_activity_on_session("unknown", "", session));
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return ctx.complete("");
  };
  Worker a(machine, registry, options("a"));
  ASSERT_EQ(a.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("i", "code", "busy"), Status::kOk);
  ASSERT_EQ(client->start_orchestration("j", "code", ""), Status::kOk);
  ASSERT_EQ(client->start_orchestration("k", "code", ""), Status::kOk);
  settle({&a}, 30'000);
  EXPECT_EQ(a.runtime->stats().sessions_active, 1U);
  EXPECT_EQ(a.runtime->stats().sessions_idle, 2U);
  EXPECT_EQ(metrics(client).sessions_active, 1);
  EXPECT_EQ(metrics(client).sessions_idle, 2);
  for (const char* id : {"j", "k"})
    ASSERT_EQ(client->raise_event(id, "end", ""), Status::kOk);
  settle({&a});
  EXPECT_EQ(a.runtime->stats().sessions_idle, 0U);
  EXPECT_EQ(metrics(client).sessions_idle, 0);
}

}  // namespace
}  // namespace pawl
