// Goal: a turn of a warm instance asks the store for its new messages, and for nothing that grows
// with its history. Method: SQLite reports every statement that the Runtime's connection finishes,
// with the steps it took.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <set>
#include <string>

#include "pawl/testing.hpp"

namespace pawl {
namespace {

using testing::World;

constexpr int kChain = 600;
constexpr int kSample = 50;

sqlite3* g_runtime = nullptr;  // the connection opened first
std::set<std::string> g_statements;
int g_looks_for_work = 0;
std::int64_t g_vm_steps = 0;
int g_calls = 0;

int note_statement(unsigned, void*, void* of, void*) {
  auto* const statement = static_cast<sqlite3_stmt*>(of);
  if (sqlite3_db_handle(statement) != g_runtime) return 0;
  const std::string text = sqlite3_sql(statement);
  if (text.find("wq_free") != std::string::npos) ++g_looks_for_work;
  g_statements.insert(text);
  g_vm_steps += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
  return 0;
}

int note_connection(sqlite3* handle, char**, const sqlite3_api_routines*) {
  if (g_runtime == nullptr) g_runtime = handle;
  sqlite3_trace_v2(handle, SQLITE_TRACE_PROFILE, note_statement, nullptr);
  return SQLITE_OK;
}

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
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(note_connection));
    g_calls = 0;
  }
  ~WarmReads() override {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(note_connection));
  }
  // Measures from now on.
  static void measure() {
    g_statements.clear();
    g_looks_for_work = 0;
    g_vm_steps = 0;
  }
  static bool has_run(const char* verb, const char* what) {
    for (const std::string& text : g_statements)
      if (text.rfind(verb, 0) == 0 && text.find(what) != std::string::npos) return true;
    return false;
  }
  static bool has_read(const char* what) { return has_run("SELECT", what); }
  // Starts the world with one instance, "a", and measures from there on.
  static void begin(World& world, const char* orchestration) {
    g_runtime = nullptr;
    ASSERT_EQ(world.start(), Status::kOk);
    measure();
    ASSERT_EQ(world.client().start_orchestration(orchestration, InstanceId("a"), ""), Status::kOk);
  }
  static void run_to(World& world, int call) {
    ASSERT_EQ(world.run_until([=] { return g_calls >= call; }), Status::kOk);
  }

  Registry registry_;
};

TEST_F(WarmReads, ATurnReadsItsNewMessagesAlone) {
  World world(registry_);
  begin(world, "chain");
  run_to(world, kSample);
  measure();
  run_to(world, 2 * kSample);
  const std::int64_t first = g_vm_steps;
  const std::set<std::string> statements = g_statements;
  EXPECT_GT(first, 0);
  EXPECT_FALSE(has_read("FROM history")) << "warm: none of its events is read again";
  EXPECT_FALSE(has_read("FROM kv"));
  run_to(world, kChain - kSample - 1);
  measure();
  run_to(world, kChain - 1);
  EXPECT_EQ(g_statements, statements);
  EXPECT_FALSE(has_read("FROM history"));
  EXPECT_LE(g_vm_steps, first + first / 20) << "does not grow with what lies behind";
  EXPECT_LE(world.stats().cold_loads, 1U);
  // The test notices a cold load.
  world.crash();
  g_runtime = nullptr;
  measure();
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.run_until_done("a"), Status::kOk);
  EXPECT_TRUE(has_read("FROM history"));
}

TEST_F(WarmReads, AnEndLooksForWhatItsExecutionCanHaveLeft) {
  World world(registry_);
  begin(world, "chain");
  run_to(world, kSample);
  measure();
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
  EXPECT_GT(g_looks_for_work, 0);
  EXPECT_LE(g_looks_for_work, kAtOnce / 2);
}

// Debug builds read what is known, too, and compare (turn_loader.cpp).
#ifdef NDEBUG
TEST_F(WarmReads, ATurnOfAnInstanceThatNothingElseTouchedReadsNoRowOfIt) {
  World world(registry_);
  begin(world, "chain");
  run_to(world, kSample);
  const auto reads_it = [] {
    return has_read("FROM instances") || has_read("FROM orchestrator_queue");
  };
  measure();
  run_to(world, 2 * kSample);
  EXPECT_FALSE(reads_it());
  // Another connection writes something, even if the instance has no part in it.
  ASSERT_EQ(world.client().start_orchestration("chain", InstanceId("b"), ""), Status::kOk);
  measure();
  run_to(world, 2 * kSample + 2);
  EXPECT_TRUE(reads_it());
}
#endif

}  // namespace
}  // namespace pawl
