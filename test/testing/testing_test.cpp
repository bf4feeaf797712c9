// pawl::testing as users use it: their own code in a World.
#include "pawl/testing.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl {
namespace {

using std::chrono::hours;
using testing::FakeActivity;
using testing::PlannedCrash;
using testing::World;
using testing::WorldOptions;

// Waters when the soil is dry; checks every six hours, and stops when asked to.
Poll water(OrchestrationContext& ctx) {
  const Handle stop = ctx.schedule_wait("stop");
  PAWL_AWAIT(level, ctx.schedule_activity("read", ctx.input()));
  if (!level.ok()) return ctx.fail(level.error());
  if (level.value() == "dry") PAWL_AWAIT_DONE(ctx.schedule_activity("open_valve", ctx.input()));
  static_cast<void>(ctx.set_custom_status(ctx.new_guid().view()));
  PAWL_AWAIT(first, ctx.select(stop, ctx.schedule_timer(hours(6))));
  if (first.index() == 0) return ctx.complete(first.value());
  return ctx.continue_as_new(ctx.input());
}

Poll restless(OrchestrationContext& ctx) { return ctx.continue_as_new(""); }

struct Garden {
  Garden() {
    EXPECT_EQ(registry.add_orchestration("water", water), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("restless", restless), Status::kOk);
    EXPECT_EQ(read.add_to(registry, "read"), Status::kOk);
    EXPECT_EQ(valve.add_to(registry, "open_valve", ActivityMode::kThreaded), Status::kOk);
  }
  Registry registry;
  FakeActivity read;
  FakeActivity valve;
};

OrchestrationStatus status_of(World& world, std::string_view id) {
  OrchestrationStatus status;
  EXPECT_EQ(world.client().get_status(id, &status), Status::kOk);
  return status;
}

TEST(TestingWorld, RunsWhatIsReadyAndNoTimePasses) {
  Garden garden;
  garden.read.returns("dry").returns("wet");
  World world(garden.registry);
  ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
  const std::int64_t begin = world.now_ms();
  ASSERT_EQ(world.client().start_orchestration("water", InstanceId("bed"), "7"), Status::kOk);
  EXPECT_EQ(world.run_until_idle(), Status::kOk);
  EXPECT_EQ(garden.valve.calls(), 1U);
  EXPECT_EQ(garden.valve.input(0), "7");
  EXPECT_EQ(world.now_ms(), begin);
  EXPECT_EQ(status_of(world, "bed").execution_id, 1);

  EXPECT_EQ(world.advance(hours(6) / std::chrono::milliseconds(1) - 1), Status::kOk);
  EXPECT_EQ(garden.read.calls(), 1U);
  EXPECT_EQ(world.advance(1), Status::kOk);
  EXPECT_EQ(garden.read.calls(), 2U);
  EXPECT_EQ(garden.valve.calls(), 1U);
  EXPECT_EQ(world.now_ms(), begin + 6 * 3'600'000);
  EXPECT_EQ(status_of(world, "bed").execution_id, 2);
}

TEST(TestingWorld, EventsReachTheCodeAndTheEndIsSeen) {
  Garden garden;
  garden.read.returns("wet");
  World world(garden.registry);
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("water", InstanceId("bed"), ""), Status::kOk);
  OrchestrationStatus status;
  EXPECT_EQ(world.run_until_done("bed", &status, 3'600'000), Status::kTimeout);
  EXPECT_EQ(status.state, OrchestrationState::kRunning);
  ASSERT_EQ(world.client().raise_event("bed", "stop", "rain"), Status::kOk);
  EXPECT_EQ(world.run_until_done("bed", &status), Status::kOk);
  EXPECT_EQ(status.state, OrchestrationState::kCompleted);
  EXPECT_EQ(status.output, "rain");
  EXPECT_EQ(world.run_until_done("nobody"), Status::kNotFound);
  std::string history;
  EXPECT_EQ(world.history("bed", &history), Status::kOk);
  EXPECT_NE(history.find(R"("kind":"delivery")"), std::string::npos) << history;
  EXPECT_EQ(world.history("nobody", &history), Status::kNotFound);
  EXPECT_EQ(history, "");
}

// Right after a boot the time span is 0, which must not count as due.
TEST(TestingWorld, NoTimePassesRightAfterAReboot) {
  Garden garden;
  garden.read.returns("wet");
  World world(garden.registry);
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("water", InstanceId("bed"), "7"), Status::kOk);
  ASSERT_EQ(world.advance(1'000), Status::kOk);
  world.reboot(3'600'000);
  ASSERT_EQ(world.start(), Status::kOk);
  const std::int64_t now = world.now_ms();
  EXPECT_EQ(world.advance(0), Status::kOk);
  EXPECT_EQ(world.now_ms(), now);
  EXPECT_EQ(garden.read.calls(), 1U);
}

TEST(TestingWorld, FailuresAreValues) {
  Garden garden;
  garden.read.fails("no sensor");
  World world(garden.registry);
  EXPECT_EQ(world.run_until_idle(), Status::kStopped);
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("water", InstanceId("bed"), ""), Status::kOk);
  OrchestrationStatus status;
  EXPECT_EQ(world.run_until_done("bed", &status), Status::kOk);
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_EQ(status.output, "no sensor");

  WorldOptions wrong;
  wrong.runtime.limits.batch = 0;
  World none(garden.registry, wrong);
  EXPECT_EQ(none.start(), Status::kInvalidOptions);
  EXPECT_NE(none.error_text().find("batch"), std::string_view::npos) << none.error_text();
}

TEST(TestingWorld, AnInstanceThatNeverRestsIsReported) {
  Garden garden;
  World world(garden.registry);
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("restless", InstanceId("mad"), ""), Status::kOk);
  EXPECT_EQ(world.run_until_idle(), Status::kTimeout);
}

// Runs this many rounds, with a stop after the last; the process dies at its n-th write.
std::string rounds(int count, std::uint64_t seed, std::uint64_t crash_at, bool* has_crashed) {
  Garden garden;
  garden.read.returns("dry");
  WorldOptions options;
  options.seed = seed;
  World world(garden.registry, options);
  EXPECT_EQ(world.start(), Status::kOk);
  EXPECT_EQ(world.client().start_orchestration("water", InstanceId("bed"), "7"), Status::kOk);
  world.crash_at_write(crash_at);
  *has_crashed = world.run_until_idle() == Status::kStopped;
  EXPECT_EQ(world.running(), !*has_crashed);
  world.crash_at_write(0);
  EXPECT_EQ(world.start(), Status::kOk) << world.error_text();
  EXPECT_EQ(world.advance((count - 1) * 6 * 3'600'000), Status::kOk);
  EXPECT_EQ(status_of(world, "bed").execution_id, count);
  EXPECT_EQ(world.client().raise_event("bed", "stop", "rain"), Status::kOk);
  OrchestrationStatus status;
  EXPECT_EQ(world.run_until_done("bed", &status), Status::kOk);
  EXPECT_EQ(status.output, "rain");
  EXPECT_GE(garden.valve.calls(), static_cast<std::size_t>(count));
  std::string history;
  EXPECT_EQ(world.history("bed", &history), Status::kOk);
  return history;
}

TEST(TestingWorld, OneSeedOneHistory) {
  bool has_crashed = false;
  const std::string first = rounds(5, 1, 0, &has_crashed);
  EXPECT_FALSE(has_crashed);
  EXPECT_EQ(rounds(5, 1, 0, &has_crashed), first);
  EXPECT_NE(rounds(5, 2, 0, &has_crashed), first);  // the guid differs
}

// Counts up until there is no write left to crash at.
TEST(TestingWorld, CrashesAtAnyWrite) {
  std::uint64_t nth = 1;
  for (bool has_crashed = true; has_crashed; nth += PAWL_SAMPLE) {
    SCOPED_TRACE(nth);
    rounds(1, 1, nth, &has_crashed);
    ASSERT_LT(nth, 1'000U);
  }
  EXPECT_GT(nth, 20U);
  RecordProperty("writes", std::to_string(nth));
}

// Reads the device once a minute, three times; returns the sum. "quick": ten times a second.
Poll sample(OrchestrationContext& ctx) {
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    PAWL_AWAIT(level, ctx.schedule_activity("measure", "", Target::device("bed-7")));
    if (!level.ok()) return ctx.fail(level.error());
    sum += static_cast<int>(level.value().size());
    const int pause_ms = ctx.input() == "quick" ? 100 : 60'000;
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(pause_ms)));
  }
  return ctx.complete(std::to_string(sum));
}

TEST(TestingWorld, DeclaresDevicesAtEachStart) {
  Registry registry;
  FakeActivity measure;
  measure.returns("wet");
  ASSERT_EQ(registry.add_orchestration("sample", sample), Status::kOk);
  ASSERT_EQ(measure.add_to(registry, "measure"), Status::kOk);
  World world(registry);
  ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
  ASSERT_EQ(world.client().start_orchestration("sample", InstanceId("s"), ""), Status::kOk);
  EXPECT_EQ(world.advance(60'000), Status::kOk);
  EXPECT_EQ(measure.calls(), 0U) << "without a declaration the work waits";
  ASSERT_EQ(world.declare_device("bed-7"), Status::kOk);
  EXPECT_EQ(world.advance(30'000), Status::kOk);
  EXPECT_EQ(measure.calls(), 1U);
  world.crash();
  ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
  EXPECT_EQ(world.advance(60'000), Status::kOk);
  EXPECT_EQ(measure.calls(), 2U) << "the next start declares it again";
  ASSERT_EQ(world.withdraw_device("bed-7"), Status::kOk);
  EXPECT_EQ(world.advance(600'000), Status::kOk);
  EXPECT_EQ(measure.calls(), 2U);
}

// A crash at every write, with a device and with code that counts in a captured variable. Each of
// the three readings must be made, and none again after it was recorded.
TEST(TestingWorld, CrashesAtAnyWriteWithADeviceAndCode) {
  const auto story = [](WorldOptions options) {
    SCOPED_TRACE(options.crash->at);
    Registry registry;
    int made = 0;
    FakeActivity measure;
    const std::string level = "wet";
    measure.does([&made, level](ActivityContext& ctx) {
      EXPECT_EQ(ctx.session_id(), "bed-7");
      ++made;
      return ctx.ok(level);
    });
    ASSERT_EQ(registry.add_orchestration("sample", sample), Status::kOk);
    ASSERT_EQ(measure.add_to(registry, "measure"), Status::kOk);
    options.devices = {"bed-7"};
    World world(registry, options);
    ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
    ASSERT_EQ(world.client().start_orchestration("sample", InstanceId("s"), "quick"), Status::kOk);
    OrchestrationStatus status;
    ASSERT_EQ(world.run_until_done("s", &status), Status::kOk);
    EXPECT_EQ(status.output, "9");
    EXPECT_GE(made, 3);
    EXPECT_LE(made, options.crash->happened ? 4 : 3);
  };
  EXPECT_GT(testing::for_each_crash(PAWL_SAMPLE, story), 20U / PAWL_SAMPLE);
}

// ---- a crash at each write ----

Poll counts(OrchestrationContext& ctx) {
  for (int i = 0; i < 2; ++i) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("work", ""));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  }
  return ctx.complete("done");
}

// Plays one story to its end. Returns the number of writes that the World says it made.
std::uint64_t count_to_two(const WorldOptions& options, int* calls) {
  Registry registry;
  FakeActivity work;
  EXPECT_EQ(registry.add_orchestration("counts", counts), Status::kOk);
  EXPECT_EQ(work.add_to(registry, "work"), Status::kOk);
  World world(registry, options);
  EXPECT_EQ(world.start(), Status::kOk) << world.error_text();
  EXPECT_EQ(world.writes(), 0U) << "what opens the database does not count";
  EXPECT_EQ(world.client().start_orchestration("counts", InstanceId("a"), ""), Status::kOk);
  EXPECT_EQ(world.writes(), 0U) << "nor does the client";
  const std::int64_t began = world.now_ms();
  OrchestrationStatus status;
  EXPECT_EQ(world.run_until_done("a", &status), Status::kOk);
  EXPECT_EQ(status.output, "done");
  EXPECT_EQ(world.now_ms() - began, 2'000) << "the next process starts at once";
  EXPECT_TRUE(world.running());
  *calls = static_cast<int>(work.calls());
  return world.writes();
}

TEST(TestingCrashes, EachWriteIsMetOnceAndTheWorldGoesOn) {
  std::vector<std::uint64_t> met;
  std::uint64_t writes = 0;
  int repeated = 0;
  const std::uint64_t crashes = testing::for_each_crash(1, [&](const WorldOptions& options) {
    met.push_back(options.crash->at);
    int calls = 0;
    const std::uint64_t made = count_to_two(options, &calls);
    EXPECT_EQ(options.crash->happened, options.crash->at > 0) << options.crash->at;
    if (options.crash->at == 0) writes = made;
    EXPECT_LE(calls, options.crash->at == 0 ? 2 : 3) << options.crash->at;
    repeated += calls == 3 ? 1 : 0;
  });
  ASSERT_GT(writes, 20U);
  EXPECT_EQ(crashes, writes);
  ASSERT_EQ(met.size(), writes + 1);
  for (std::uint64_t at = 0; at <= writes; ++at)
    EXPECT_EQ(met[static_cast<std::size_t>(at)], at);
  PlannedCrash none_left;
  none_left.at = writes + 1;
  WorldOptions options;
  options.crash = &none_left;
  int calls = 0;
  count_to_two(options, &calls);
  EXPECT_FALSE(none_left.happened) << "there is one write more than writes() says";
  EXPECT_GT(repeated, 2) << "a crash behind an activity and before its commit repeats it";
}

TEST(TestingCrashes, AStrideTakesASampleAndAnyValueEnds) {
  int calls = 0;
  const auto plays = [&](std::uint64_t stride, std::vector<std::uint64_t>* met) {
    return testing::for_each_crash(stride, [&](const WorldOptions& options) {
      met->push_back(options.crash->at);
      count_to_two(options, &calls);
    });
  };
  std::vector<std::uint64_t> met;
  const std::uint64_t crashes = plays(10, &met);
  EXPECT_EQ(crashes, met.size() - 1);
  ASSERT_GT(met.size(), 3U);
  EXPECT_EQ((std::vector<std::uint64_t>{met[0], met[1], met[2], met[3]}),
            (std::vector<std::uint64_t>{0, 1, 11, 21}));
  for (const std::uint64_t stride : {std::uint64_t{100'000}, UINT64_MAX}) {
    met.clear();
    EXPECT_EQ(plays(stride, &met), 1U);
    EXPECT_EQ(met, (std::vector<std::uint64_t>{0, 1}));
  }
  std::uint64_t of_none = 0;
  EXPECT_EQ(testing::for_each_crash(0, [&](const WorldOptions&) { ++of_none; }), 0U);
  EXPECT_EQ(of_none, 1U) << "a scenario without a World";
}

TEST(TestingCrashes, AScenarioEndsTheRuns) {
  std::uint64_t last = 0;
  const std::uint64_t crashes = testing::for_each_crash(1, [&](const WorldOptions& options) {
    last = options.crash->at;
    int calls = 0;
    count_to_two(options, &calls);
    return calls == 2;  // wrong: an activity runs at least once
  });
  EXPECT_EQ(crashes, last);
  EXPECT_GT(last, 0U);
  EXPECT_EQ(testing::for_each_crash(1, [](const WorldOptions&) { return false; }), 0U);
}

TEST(TestingCrashes, APowerCutBeforeItLeavesThePlan) {
  PlannedCrash crash;
  crash.at = 8;
  WorldOptions options;
  options.crash = &crash;
  Registry registry;
  FakeActivity work;
  ASSERT_EQ(registry.add_orchestration("counts", counts), Status::kOk);
  ASSERT_EQ(work.add_to(registry, "work"), Status::kOk);
  {
    World world(registry, options);
    ASSERT_EQ(world.start(), Status::kOk);
    world.reboot(1'000);
    ASSERT_EQ(world.start(), Status::kOk);
    ASSERT_EQ(world.client().start_orchestration("counts", InstanceId("a"), ""), Status::kOk);
    EXPECT_EQ(world.run_until_done("a"), Status::kOk);
    EXPECT_TRUE(crash.happened);
    world.crash();
    EXPECT_EQ(world.run_until_idle(), Status::kStopped) << "only the planned crash is mended";
  }
  EXPECT_GT(crash.writes, 8U);
}

TEST(TestingFakeActivity, AnswersInTheirOrderWhateverTheirKind) {
  Registry registry;
  FakeActivity measure;
  measure.returns("a").does([](ActivityContext& ctx) { return ctx.ok(ctx.activity_name()); });
  ASSERT_EQ(registry.add_orchestration("sample", sample), Status::kOk);
  ASSERT_EQ(measure.add_to(registry, "measure"), Status::kOk);
  WorldOptions options;
  options.devices = {"bed-7"};
  World world(registry, options);
  ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
  ASSERT_EQ(world.client().start_orchestration("sample", InstanceId("s"), "quick"), Status::kOk);
  OrchestrationStatus status;
  ASSERT_EQ(world.run_until_done("s", &status), Status::kOk);
  EXPECT_EQ(status.output, std::to_string(1 + 7 + 7));
}

// A view of an answer that is kept would show another answer's bytes.
TEST(TestingWorld, ATextOfTheClientDiesWithItsNextCall) {
  Garden garden;
  garden.read.returns("wet");
  World world(garden.registry);
  ASSERT_EQ(world.start(), Status::kOk);
  Client& client = world.client();
  ASSERT_EQ(client.start_orchestration("water", InstanceId("bed"), "7"), Status::kOk);
  ASSERT_EQ(world.run_until_idle(), Status::kOk);
  OrchestrationStatus status;
  ASSERT_EQ(client.get_status("bed", &status), Status::kOk);
  const std::string kept(status.custom_status);
  EXPECT_EQ(status.custom_status, kept);
  InstanceInfo info;
  ASSERT_EQ(client.get_instance_info("bed", &info), Status::kOk);
  EXPECT_EQ(info.name, "water");
  EXPECT_EQ(info.id.size(), 3U);
  EXPECT_DEATH(static_cast<void>(status.custom_status.view()), "invariant client-1 broken");
  KvEntry entry;
  bool found = false;
  ASSERT_EQ(client.get_kv_value("bed", "none", &entry, &found), Status::kOk);
  EXPECT_DEATH(static_cast<void>(info.id.view()), "invariant client-1 broken");
  EXPECT_EQ(status.state, OrchestrationState::kRunning) << "what is no text stays";
}

// The same for any call: also one that fails, and one that reads into the same buffer.
TEST(TestingWorld, ATextOfTheClientDiesWithACallOfAnyKind) {
  Garden garden;
  garden.read.returns("wet");
  World world(garden.registry);
  ASSERT_EQ(world.start(), Status::kOk);
  Client& client = world.client();
  ASSERT_EQ(client.start_orchestration("water", InstanceId("bed"), "7"), Status::kOk);
  ASSERT_EQ(world.run_until_idle(), Status::kOk);
  ASSERT_EQ(world.stop(), Status::kOk);  // else an offer would wait on the Runtime's thread
  const auto offer = [&] {
    bool received = true;
    EXPECT_EQ(client.offer_event("bed", "rain", "", std::chrono::milliseconds(0), &received),
              Status::kTimeout);
    return received;
  };
  const std::function<void()> calls[] = {
      [&] { EXPECT_FALSE(offer()); },
      [&] { EXPECT_EQ(client.close_session("bed", "none", "nobody"), Status::kNotFound); },
      [&] { EXPECT_EQ(client.undrain_worker("none"), Status::kNotFound); },
      [&] { EXPECT_EQ(client.raise_event("bed", "rain", ""), Status::kOk); },
      [&] { EXPECT_EQ(client.resume_instance("none"), Status::kNotFound); },
  };
  for (const auto& call : calls) {
    OrchestrationStatus status;
    ASSERT_EQ(client.get_status("bed", &status), Status::kOk);
    EXPECT_FALSE(status.custom_status.empty());
    call();
    EXPECT_DEATH(static_cast<void>(status.custom_status.view()), "invariant client-1 broken")
        << &call - calls;
  }
}

TEST(TestingWorld, CrashedStoppedOrRebooted_GoesOnWhereItWas) {
  Garden garden;
  garden.read.returns("wet");
  World world(garden.registry);
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("water", InstanceId("bed"), ""), Status::kOk);
  ASSERT_EQ(world.run_until_idle(), Status::kOk);
  world.crash();
  EXPECT_FALSE(world.running());
  EXPECT_EQ(world.run_until_idle(), Status::kStopped);
  EXPECT_EQ(world.advance(1'000), Status::kOk);
  ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
  EXPECT_EQ(world.stop(), Status::kOk);
  EXPECT_EQ(world.stop(), Status::kStopped);
  ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
  world.reboot(6 * 3'600'000);
  EXPECT_FALSE(world.running());
  ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
  EXPECT_EQ(world.advance(60'000), Status::kOk);
  EXPECT_EQ(status_of(world, "bed").execution_id, 2);
  EXPECT_EQ(garden.read.calls(), 2U);
}

TEST(TestingWorld, TakesAProcessOfItsOwn) {
  Process* process = nullptr;
  Diagnostic diagnostic;
  ASSERT_EQ(testing::shared_process(&process, diagnostic), Status::kOk);
  Process unregistered;
  Garden garden;
  WorldOptions options;
  options.process = &unregistered;  // not started
  World world(garden.registry, options);
  EXPECT_NE(world.start(), Status::kOk);
  options.process = process;
  World good(garden.registry, options);
  EXPECT_EQ(good.start(), Status::kOk) << good.error_text();
}

}  // namespace
}  // namespace pawl
