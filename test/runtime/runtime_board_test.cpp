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

class Board : public GatewayTest {
 protected:
  Board() {
    add("echo", echo);
    add("one_call", one_call);
    options.worker_node_id = "me";
    options.board = &board;
  }
  void run(std::string_view id) {
    start(id, "one_call", "x");
    EXPECT_EQ(end_of(id), "completed x");
  }

  RuntimeBoard board;
  RuntimeCounters counters;
};

TEST_F(Board, HasWhatTheRuntimeCountsOnceItSleeps) {
  EXPECT_FALSE(board.life().running);
  EXPECT_FALSE(board.read(&counters));
  start_worker();
  EXPECT_TRUE(board.life().running);
  EXPECT_TRUE(board.life().ready);
  run("a");
  pass(5'000);
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
  start_worker();
  pass(1'000);
  // Leases are renewed, so there is always a next due time.
  const RuntimeBoard::Life life = board.life();
  ASSERT_TRUE(life.next_due.has_value());
  EXPECT_GT(life.next_due.value(), life.tick_ms);
  EXPECT_LE(life.next_due.value() - life.tick_ms, 60'000);
  workers.clear();
  EXPECT_FALSE(board.life().running);
  EXPECT_FALSE(board.life().ready);
}

// A reader in the way costs the loop one copy, and no wait.
TEST_F(Board, ReadersAndTheLoopDoNotMeet) {
  start_worker();
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
