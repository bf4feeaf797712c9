// Goal: large joins and histories work at their limits, on the simulated machine with the memory
// that the options ask for.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pawl/testing.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using testing::Worker;
using testing::World;
using testing::WorldOptions;

// The size that docs/limits/runtime.md states for 4,096 events with short names and payloads.
constexpr std::size_t kShortHistoryBytes = std::size_t{1312} * 1024;

// Twice the default, and memory for it.
constexpr std::uint32_t kManyEvents = 4'096;
constexpr std::size_t kMuchWarm = std::size_t{2} * 1024 * 1024;
WorldOptions large_histories() {
  WorldOptions options;
  options.runtime.limits.history_events_max = kManyEvents;
  options.runtime.limits.warm_bytes = kMuchWarm;
  return options;
}

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }
ActivityResult kilobyte(ActivityContext& ctx) { return ctx.ok(std::string(1'024, 'k')); }
ActivityResult two_kilobytes(ActivityContext& ctx) { return ctx.ok(std::string(2'000, 'k')); }

int number_of(std::string_view text) { return std::atoi(std::string(text).c_str()); }

// Schedules as many activities at once as its input says.
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

// Runs as many activities in all as its input says, five hundred at once.
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

Poll wide(OrchestrationContext& ctx) {
  std::vector<Handle> handles;
  for (int i = 0; i < number_of(ctx.input()); ++i)
    handles.push_back(ctx.schedule_activity("two_kilobytes", ""));
  PAWL_AWAIT_DONE(ctx.join_all(handles.data(), handles.size()));
  return ctx.complete("done");
}

// Waits for nothing but its next twenty activities, for ever.
Poll forever(OrchestrationContext& ctx) {
  std::vector<Handle> handles;
  for (int i = 0; i < 20; ++i)
    handles.push_back(ctx.schedule_activity("kilobyte", ""));
  PAWL_AWAIT_DONE(ctx.join_all(handles.data(), handles.size()));
  return ctx.continue_as_new(ctx.input());
}

// Opens as many waits as its input says, none of which ends, and one that does.
Poll listens(OrchestrationContext& ctx) {
  std::vector<Handle> handles;
  for (int i = 0; i < number_of(ctx.input()); ++i)
    handles.push_back(ctx.schedule_wait("never"));
  handles.push_back(ctx.dequeue_event("end"));
  PAWL_AWAIT_DONE(ctx.select(handles));
  return ctx.complete("");
}

class Large : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(registry_.add_orchestration("join", join), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("rounds", rounds), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("heavy", heavy), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("wide", wide), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("forever", forever), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("listens", listens), Status::kOk);
    ASSERT_EQ(registry_.add_activity("echo", echo), Status::kOk);
    ASSERT_EQ(registry_.add_activity("kilobyte", kilobyte), Status::kOk);
    ASSERT_EQ(registry_.add_activity("two_kilobytes", two_kilobytes), Status::kOk);
  }
  // Runs the instance to its end; `peak_` is the most memory that histories and code took
  // meanwhile.
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
  WorldOptions options = large_histories();
  options.runtime.limits.commands_a_turn_max = 2'000;
  for (const bool crashes : {false, true}) {
    World world(registry_, options);
    ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
    ASSERT_EQ(world.client().start_orchestration("join", InstanceId("a"), "2000"), Status::kOk);
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
TEST_F(Large, HistoryAtTheDefaultLimitOfEvents_FitsTheDefaultMemory) {
  World world(registry_);
  ASSERT_EQ(world.start(), Status::kOk);
  const std::uint32_t rounds = Options().limits.history_events_max / 2 - 1;
  ASSERT_EQ(
      world.client().start_orchestration("rounds", InstanceId("full"), std::to_string(rounds)),
      Status::kOk);
  EXPECT_EQ(end_of(world, "full").output, "done");
  EXPECT_LE(peak_, Options().limits.warm_bytes);
}

TEST_F(Large, HistoryAtItsLimitOfEvents_StillEnds) {
  World world(registry_, large_histories());
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("rounds", InstanceId("full"), "2047"), Status::kOk);
  EXPECT_EQ(end_of(world, "full").output, "done");
  EXPECT_LE(peak_, kShortHistoryBytes);
  ASSERT_EQ(world.client().start_orchestration("rounds", InstanceId("over"), "2048"), Status::kOk);
  const OrchestrationStatus over = end_of(world, "over");
  EXPECT_EQ(over.state, OrchestrationState::kFailed);
  EXPECT_EQ(over.error, ErrorKind::kLimit);
  EXPECT_NE(over.output.find("events_max (4096)"), std::string_view::npos) << over.output;
  std::string history;
  ASSERT_EQ(world.history("over", &history), Status::kOk);
  EXPECT_LE(std::count(history.begin(), history.end(), '\n'), std::int64_t{kManyEvents});
}

TEST_F(Large, HistoryAtItsLimitOfBytes_FailsAloneAndTheRestGoesOn) {
  World world(registry_, large_histories());
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("heavy", InstanceId("fits"), "900"), Status::kOk);
  EXPECT_EQ(end_of(world, "fits").output, "done");
  EXPECT_LE(peak_, kMuchWarm);
  ASSERT_EQ(world.client().start_orchestration("heavy", InstanceId("over"), "1500"), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("rounds", InstanceId("other"), "700"), Status::kOk);
  const OrchestrationStatus over = end_of(world, "over");
  EXPECT_EQ(over.state, OrchestrationState::kFailed);
  EXPECT_EQ(over.error, ErrorKind::kLimit);
  EXPECT_EQ(end_of(world, "other").output, "done");
}

// Each history fits alone, but all of them together do not: they take turns, none falls behind, and
// no turn is fruitless.
TEST_F(Large, HistoriesThatDoNotFitBesideEachOther_TakeTurns) {
  constexpr int kChains = 10;
  constexpr int kSteps = 150;
  WorldOptions options;
  options.runtime.limits.warm_bytes = kMuchWarm;
  options.runtime.verify_turns = false;
  World world(registry_, options);
  ASSERT_EQ(world.start(), Status::kOk);
  std::vector<std::string> ids;
  for (int i = 0; i < kChains; ++i) {
    ids.push_back("chain " + std::to_string(i));
    ASSERT_EQ(
        world.client().start_orchestration("heavy", InstanceId(ids.back()), std::to_string(kSteps)),
        Status::kOk);
  }
  const auto has_ended = [&](const std::string& id) {
    OrchestrationStatus status;
    EXPECT_EQ(world.client().get_status(id, &status), Status::kOk);
    return status.state != OrchestrationState::kRunning;
  };
  EXPECT_EQ(world.run_until([&] { return std::any_of(ids.begin(), ids.end(), has_ended); }),
            Status::kOk);
  for (const std::string& id : ids) {
    std::string history;
    ASSERT_EQ(world.history(id, &history), Status::kOk);
    EXPECT_GE(std::count(history.begin(), history.end(), '\n'), kSteps) << id << " is behind";
  }
  for (const std::string& id : ids)
    EXPECT_EQ(end_of(world, id.c_str()).output, "done") << id;
  EXPECT_EQ(world.stats().turns, std::uint64_t{kChains} * (kSteps + 1));
  EXPECT_LT(world.stats().ticks, std::uint64_t{2} * kChains * kSteps);
  EXPECT_GT(world.stats().cold_loads, std::uint64_t{kChains});
}

// One history needs all memory to itself, among instances that never rest.
TEST_F(Large, HistoryAtItsLimitOfBytes_HasItsTurnAmongOthers) {
  WorldOptions options;
  options.runtime.verify_turns = false;
  options.runtime.limits.warm_bytes = std::size_t{256} * 1024;
  World world(registry_, options);
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("heavy", InstanceId("largest"), "95"), Status::kOk);
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(
        world.client().start_orchestration("forever", InstanceId("small " + std::to_string(i)), ""),
        Status::kOk);
  EXPECT_EQ(end_of(world, "largest").output, "done");
  for (int i = 0; i < 4; ++i) {
    OrchestrationStatus status;
    ASSERT_EQ(world.client().get_status("small " + std::to_string(i), &status), Status::kOk);
    EXPECT_EQ(status.state, OrchestrationState::kRunning);
    EXPECT_GT(status.execution_id, 10);
  }
}

// All others of its tick make room for the large instance, and it is abandoned nevertheless; the
// others run with the next tick. The large one began under a higher history_events_max, so no limit
// ends it.
TEST_F(Large, OneThatIsAbandonedWithAllMemory_LeavesTheOthersWhole) {
  std::size_t abandoned = 0;
  for (std::size_t warm_bytes = 16'384; warm_bytes <= 40'960; warm_bytes += 256) {
    SCOPED_TRACE(warm_bytes);
    testing::expect_errors("instance_stopped", 0, 1);
    testing::Gateway gateway;
    gateway.options.verify_turns = false;
    Worker& large = gateway.start_worker(registry_, gateway.options);
    gateway.start("0", "listens", "80");
    for (const char* id : {"1", "2", "3"})
      gateway.start(id, "listens", "1");
    gateway.pass(1'000);
    ASSERT_EQ(large.runtime->stop(std::chrono::seconds(1)), Status::kOk);
    gateway.options.limits.history_events_max = 64;
    gateway.options.limits.payload_bytes_max = 1'024;
    gateway.options.limits.warm_bytes = warm_bytes;
    for (const char* id : {"0", "1", "2", "3"})
      gateway.enqueue_event(id, "unheard", "1");
    for (const char* id : {"1", "2", "3"})
      gateway.enqueue_event(id, "end", "");
    const Worker& small = gateway.start_worker(registry_, gateway.options);
    EXPECT_TRUE(gateway.drive_until(
        [&] { return small.runtime->stats().orchestrations_completed == 3; }, 1'000))
        << small.lines.all();
    const std::string log = small.lines.all();
    abandoned += log.find("no memory left to run the code") != std::string::npos ? 1U : 0U;
  }
  EXPECT_GT(abandoned, 0U);
}

// The messages that one tick reads must leave it room to run: many results of one or two kilobytes
// are taken in several turns.
TEST_F(Large, ResultsThatDoNotFitATick_ComeInSeveralTurns) {
  WorldOptions options;
  options.runtime.verify_turns = false;
  options.runtime.limits.batch = 1;
  options.runtime.limits.instance_batch_max = 1'024;
  options.runtime.limits.warm_bytes = std::size_t{16} * 1024 * 1024;
  World world(registry_, options);
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("wide", InstanceId("a"), "1000"), Status::kOk);
  ASSERT_EQ(world.run_until([&] { return world.stats().turns > 0; }), Status::kOk);
  ASSERT_EQ(world.client().suspend_instance("a"), Status::kOk);
  ASSERT_EQ(world.run_until([&] { return world.stats().activities_completed == 1'000; }),
            Status::kOk);
  ASSERT_EQ(world.client().resume_instance("a"), Status::kOk);
  EXPECT_EQ(world.run_until_idle(), Status::kOk);
  EXPECT_EQ(end_of(world, "a").output, "done");
}

}  // namespace
}  // namespace pawl
