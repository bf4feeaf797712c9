// Goal: a turn of a warm instance asks the store for its new messages, and for nothing that grows
// with its history. Method: SQLite reports every statement that the Runtime's connection finishes,
// with the steps it took.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "pawl/testing.hpp"
#include "statement_trace.hpp"

namespace pawl {
namespace {

using testing::StatementTrace;
using testing::World;

constexpr int kChain = 600;
constexpr int kSample = 50;

int g_calls = 0;

ActivityResult count(ActivityContext& ctx) {
  ++g_calls;
  return ctx.ok("");
}

Poll chain(OrchestrationContext& ctx) {
  for (int i = 0; i < kChain; ++i)
    PAWL_AWAIT_DONE(ctx.schedule_activity("count", ""));
  return ctx.complete("");
}

constexpr int kAtOnce = 40;

// Work with a limit is queued, and not handed over with the turn.
Poll fan_out(OrchestrationContext& ctx) {
  ActivityOptions limited;
  limited.start_to_close = std::chrono::seconds(10);
  Handle all[kAtOnce];
  for (Handle& one : all)
    one = ctx.schedule_activity("count", "", limited);
  PAWL_AWAIT_DONE(ctx.join(all));
  return ctx.complete("");
}

// Ends with work that no worker has begun, and with a value that it cleared.
Poll untidy(OrchestrationContext& ctx) {
  static_cast<void>(ctx.set_kv_value("key", "value"));
  static_cast<void>(ctx.schedule_activity("unknown", ""));
  PAWL_AWAIT_DONE(ctx.schedule_activity("count", ""));
  static_cast<void>(ctx.clear_kv_value("key"));
  return ctx.complete("");
}

class WarmReads : public ::testing::Test {
 protected:
  WarmReads() {
    EXPECT_EQ(registry_.add_orchestration("chain", chain), Status::kOk);
    EXPECT_EQ(registry_.add_orchestration("fan_out", fan_out), Status::kOk);
    EXPECT_EQ(registry_.add_orchestration("untidy", untidy), Status::kOk);
    EXPECT_EQ(registry_.add_activity("count", count), Status::kOk);
    Process* process = nullptr;  // SQLite must have its memory first
    Diagnostic diagnostic;
    EXPECT_EQ(testing::shared_process(&process, diagnostic), Status::kOk);
    trace_.emplace(StatementTrace::Follows::kFirst);
    g_calls = 0;
  }
  [[nodiscard]] bool has_run(const char* verb, const char* what) const {
    return trace_->times(verb, what) > 0;
  }
  [[nodiscard]] bool has_read(const char* what) const { return has_run("SELECT", what); }
  // Starts the world with one instance, "a", and measures the Runtime from there on.
  void begin(World& world, const char* orchestration) {
    trace_->follow_next();
    ASSERT_EQ(world.start(), Status::kOk);
    trace_->clear();
    ASSERT_EQ(world.client().start_orchestration(orchestration, InstanceId("a"), ""), Status::kOk);
  }
  static void run_to(World& world, int call) {
    ASSERT_EQ(world.run_until([=] { return g_calls >= call; }), Status::kOk);
  }

  Registry registry_;
  std::optional<StatementTrace> trace_;
};

TEST_F(WarmReads, ATurnReadsItsNewMessagesAlone) {
  World world(registry_);
  begin(world, "chain");
  run_to(world, kSample);
  trace_->clear();
  run_to(world, 2 * kSample);
  const std::int64_t first = trace_->vm_steps();
  const std::set<std::string> statements = trace_->texts();
  EXPECT_GT(first, 0);
  EXPECT_FALSE(has_read("FROM history")) << "warm: none of its events is read again";
  EXPECT_FALSE(has_read("FROM kv"));
  run_to(world, kChain - kSample - 1);
  trace_->clear();
  run_to(world, kChain - 1);
  EXPECT_EQ(trace_->texts(), statements);
  EXPECT_FALSE(has_read("FROM history"));
  EXPECT_LE(trace_->vm_steps(), first + first / 20) << "does not grow with what lies behind";
  EXPECT_LE(world.stats().cold_loads, 1U);
  // The test notices a cold load.
  world.crash();
  trace_->follow_next();
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.run_until_done("a"), Status::kOk);
  EXPECT_TRUE(has_read("FROM history"));
}

TEST_F(WarmReads, AnEndLooksForWhatItsExecutionCanHaveLeft) {
  World world(registry_);
  begin(world, "chain");
  run_to(world, kSample);
  trace_->clear();
  ASSERT_EQ(world.run_until_done("a"), Status::kOk);
  EXPECT_TRUE(has_run("UPDATE", "worker_queue") || has_run("DELETE", "worker_queue"));
  EXPECT_FALSE(has_read("FROM sessions WHERE scope"));
  EXPECT_FALSE(has_read("parent_event"));  // children, and a parent
  EXPECT_FALSE(has_run("DELETE", "FROM kv"));
  EXPECT_FALSE(has_run("DELETE", "orchestrator_queue WHERE instance"));
  EXPECT_FALSE(has_run("UPDATE", "orchestrator_queue"));
}

TEST_F(WarmReads, AnEndLeavesNeitherWorkNorClearedValues) {
  testing::expect_errors("activity_unregistered");
  World world(registry_);
  begin(world, "untidy");
  ASSERT_EQ(world.run_until_done("a"), Status::kOk);
  int work = 0;
  auto count_work = visit([&work](const WorkInfo&) { ++work; });
  Page page;
  page.rows_max = 10;
  ASSERT_EQ(world.client().list_work(WorkListFilter(), &page, count_work), Status::kOk);
  EXPECT_EQ(work, 0);
  EXPECT_TRUE(has_run("DELETE", "FROM kv"));
}

TEST_F(WarmReads, OneLookFindsWorkForAllFreeSlots) {
  World world(registry_);
  begin(world, "fan_out");
  ASSERT_EQ(world.run_until_done("a"), Status::kOk);
  EXPECT_EQ(g_calls, kAtOnce);
  const int looks_for_work = trace_->times("", "wq_free");
  EXPECT_GT(looks_for_work, 0);
  EXPECT_LE(looks_for_work, kAtOnce / 2);
}

// Debug builds read what is known, too, and compare (turn_loader.cpp).
#ifdef NDEBUG
TEST_F(WarmReads, ATurnOfAnInstanceThatNothingElseTouchedReadsNoRowOfIt) {
  World world(registry_);
  begin(world, "chain");
  run_to(world, kSample);
  const auto reads_it = [this] {
    return has_read("FROM instances") || has_read("FROM orchestrator_queue");
  };
  trace_->clear();
  run_to(world, 2 * kSample);
  EXPECT_FALSE(reads_it());
  // Another connection writes something, even if the instance has no part in it.
  ASSERT_EQ(world.client().start_orchestration("chain", InstanceId("b"), ""), Status::kOk);
  trace_->clear();
  run_to(world, 2 * kSample + 2);
  EXPECT_TRUE(reads_it());
}
#endif

}  // namespace
}  // namespace pawl
