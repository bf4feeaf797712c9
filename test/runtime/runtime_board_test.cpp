// Goal: RuntimeBoard shows other threads the state of a Runtime.
#include "pawl/runtime_board.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "world.hpp"

namespace pawl::testing {
namespace {

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

Poll one_call(OrchestrationContext& ctx) {
  PAWL_AWAIT(got, ctx.schedule_activity("echo", ctx.input()));
  return ctx.complete(got.value());
}

class Board : public ::testing::Test {
 protected:
  Board() {
    EXPECT_EQ(registry.add_activity("echo", echo), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("one_call", one_call), Status::kOk);
    Options options;
    options.database_path = "/data/b.db";
    options.worker_node_id = "me";
    options.board = &board;
    worker = std::make_unique<Worker>(machine, registry, options);
    client = std::make_unique<TestClient>(machine, "/data/b.db");
  }
  void run(std::string_view id) {
    ASSERT_EQ((*client)->start_orchestration("one_call", InstanceId(id), "x"), Status::kOk);
    ASSERT_TRUE(drive(machine, {worker.get()},
                      [&] { return client->status(id).state == OrchestrationState::kCompleted; }));
  }

  RuntimeBoard board;
  RuntimeCounters counters;
  sim::Machine machine{1};
  Registry registry;
  std::unique_ptr<Worker> worker;
  std::unique_ptr<TestClient> client;
};

TEST_F(Board, HasWhatTheRuntimeCountsOnceItSleeps) {
  EXPECT_FALSE(board.life().running);
  EXPECT_FALSE(board.read(&counters));
  ASSERT_EQ(worker->start(), Status::kOk);
  EXPECT_TRUE(board.life().running);
  EXPECT_TRUE(board.life().ready);
  run("a");
  drive(
      machine, {worker.get()}, [] { return false; }, 5'000);
  ASSERT_TRUE(board.read(&counters));
  EXPECT_EQ(counters.worker_id, "me");
  EXPECT_EQ(counters.stats.orchestrations_completed, 1U);
  EXPECT_GT(counters.stats.flushes, 0U);
  ASSERT_EQ(counters.orchestration_count, 1U);
  EXPECT_EQ(counters.orchestrations[0].name, "one_call");
  EXPECT_EQ(counters.orchestrations[0].completed, 1U);
  ASSERT_EQ(counters.activity_count, 1U);
  EXPECT_EQ(counters.activities[0].completed, 1U);
}

TEST_F(Board, SaysWhenTheLoopIsDueAndWhenItHasStopped) {
  ASSERT_EQ(worker->start(), Status::kOk);
  drive(
      machine, {worker.get()}, [] { return false; }, 1'000);
  // Leases are renewed, so there is always a next due time.
  const RuntimeBoard::Life life = board.life();
  ASSERT_TRUE(life.next_due.has_value());
  EXPECT_GT(life.next_due.value(), life.tick_ms);
  EXPECT_LE(life.next_due.value() - life.tick_ms, 60'000);
  worker.reset();
  EXPECT_FALSE(board.life().running);
  EXPECT_FALSE(board.life().ready);
}

// A reader in the way costs the loop one copy, and no wait.
TEST_F(Board, ReadersAndTheLoopDoNotMeet) {
  ASSERT_EQ(worker->start(), Status::kOk);
  std::atomic<bool> over{false};
  std::thread reader([&] {
    RuntimeCounters seen;
    std::uint64_t ticks = 0;
    while (!over.load()) {
      if (!board.read(&seen)) continue;
      ASSERT_GE(seen.stats.ticks, ticks);
      ASSERT_LE(seen.stats.activities_completed, seen.stats.activities_started);
      ticks = seen.stats.ticks;
    }
  });
  for (int i = 0; i < 50; ++i)
    run("i" + std::to_string(i));
  over.store(true);
  reader.join();
}

}  // namespace
}  // namespace pawl::testing
