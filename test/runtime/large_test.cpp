// Large joins and histories at their limits, on the simulated machine with the options' own memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pawl/testing.hpp"

namespace pawl {
namespace {

using testing::World;
using testing::WorldOptions;

// As docs/limits.md says, of 4,096 events with short names and payloads.
constexpr std::size_t kShortHistoryBytes = std::size_t{1312} * 1024;

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }
ActivityResult kilobyte(ActivityContext& ctx) { return ctx.ok(std::string(1'024, 'k')); }

int number_of(std::string_view text) { return std::atoi(std::string(text).c_str()); }

// As many activities at once as the input says.
Poll join(OrchestrationContext& ctx) {
  std::vector<Handle> handles;
  for (int i = 0; i < number_of(ctx.input()); ++i)
    handles.push_back(ctx.schedule_activity("echo", std::to_string(i)));
  PAWL_AWAIT_DONE(ctx.join_all(handles.data(), handles.size()));
  std::int64_t sum = 0;
  for (const Handle& handle : handles) {
    PAWL_AWAIT(result, handle);
    sum += number_of(result.value());
  }
  return ctx.complete(std::to_string(sum));
}

// As many in all, five hundred at once.
Poll rounds(OrchestrationContext& ctx) {
  for (int left = number_of(ctx.input()); left > 0; left -= 500) {
    std::vector<Handle> handles;
    for (int i = 0; i < std::min(left, 500); ++i)
      handles.push_back(ctx.schedule_activity("echo", ""));
    PAWL_AWAIT_DONE(ctx.join_all(handles.data(), handles.size()));
  }
  return ctx.complete("done");
}

Poll heavy(OrchestrationContext& ctx) {
  for (int i = 0; i < number_of(ctx.input()); ++i)
    PAWL_AWAIT_DONE(ctx.schedule_activity("kilobyte", ""));
  return ctx.complete("done");
}

class Large : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(registry_.add_orchestration("join", join), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("rounds", rounds), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("heavy", heavy), Status::kOk);
    ASSERT_EQ(registry_.add_activity("echo", echo), Status::kOk);
    ASSERT_EQ(registry_.add_activity("kilobyte", kilobyte), Status::kOk);
  }
  // What it came to; `peak_` is the most memory that its history and code took meanwhile.
  OrchestrationStatus end_of(World& world, const char* id) {
    OrchestrationStatus status;
    peak_ = 0;
    const auto ended = [&] {
      peak_ = std::max(peak_, world.stats().warm_bytes_used);
      EXPECT_EQ(world.client().get_status(id, &status), Status::kOk);
      return status.state != OrchestrationState::kRunning;
    };
    EXPECT_EQ(world.run_until(ended), Status::kOk);
    return status;
  }
  Registry registry_;
  std::size_t peak_ = 0;
};

TEST_F(Large, JoinOfTwoThousand_WarmAndCold) {
  WorldOptions options;
  options.runtime.commands_a_turn_max = 2'000;
  for (const bool crashes : {false, true}) {
    World world(registry_, options);
    ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
    ASSERT_EQ(world.client().start_orchestration("a", "join", "2000"), Status::kOk);
    if (crashes) {
      world.crash_at_write(400);
      EXPECT_EQ(world.run_until_done("a"), Status::kStopped);
      ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
    }
    EXPECT_EQ(end_of(world, "a").output, "1999000");
    EXPECT_LE(peak_, kShortHistoryBytes);
  }
}

// One event each for the start and the end, two for each activity.
TEST_F(Large, HistoryAtItsLimitOfEvents_StillEnds) {
  World world(registry_);
  ASSERT_EQ(world.start(), Status::kOk);
  const std::uint32_t most = Options().history_events_max;
  ASSERT_EQ(most, 4'096U);
  ASSERT_EQ(world.client().start_orchestration("full", "rounds", "2047"), Status::kOk);
  EXPECT_EQ(end_of(world, "full").output, "done");
  EXPECT_LE(peak_, kShortHistoryBytes);
  ASSERT_EQ(world.client().start_orchestration("over", "rounds", "2048"), Status::kOk);
  const OrchestrationStatus over = end_of(world, "over");
  EXPECT_EQ(over.state, OrchestrationState::kFailed);
  EXPECT_EQ(over.error, ErrorKind::kLimit);
  EXPECT_NE(over.output.find("events_max (4096)"), std::string_view::npos) << over.output;
  std::string history;
  ASSERT_EQ(world.history("over", &history), Status::kOk);
  EXPECT_LE(std::count(history.begin(), history.end(), '\n'), std::int64_t{most});
}

TEST_F(Large, HistoryAtItsLimitOfBytes_FailsAloneAndTheRestGoesOn) {
  World world(registry_);
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("fits", "heavy", "900"), Status::kOk);
  EXPECT_EQ(end_of(world, "fits").output, "done");
  EXPECT_LE(peak_, Options().warm_bytes);
  ASSERT_EQ(world.client().start_orchestration("over", "heavy", "1500"), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("other", "rounds", "700"), Status::kOk);
  const OrchestrationStatus over = end_of(world, "over");
  EXPECT_EQ(over.state, OrchestrationState::kFailed);
  EXPECT_EQ(over.error, ErrorKind::kLimit);
  EXPECT_EQ(end_of(world, "other").output, "done");
}

}  // namespace
}  // namespace pawl
