// Goal: versions work through the public API: the first turn pins one, continue-as-new chooses
// anew, and missing ones are named. Method: on the simulated machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "world.hpp"

namespace pawl {
namespace {

using testing::drive;
using testing::TestClient;
using testing::Worker;

constexpr char kPath[] = "/data/pawl.db";

// Reports its version, before and after a wait.
template <int kVersion>
Poll flow(OrchestrationContext& ctx) {
  const std::string before = std::to_string(kVersion);
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  const std::string input(ctx.input());
  if (input == "again") return ctx.continue_as_new(before);
  if (input == "again at 1") return ctx.continue_as_new(before, "1.0.0");
  if (input == "again at x") return ctx.continue_as_new(before, "x");
  return ctx.complete(input + before + std::to_string(kVersion));
}

Poll parent(OrchestrationContext& ctx) {
  const Handle latest = ctx.schedule_sub_orchestration("flow", "");
  const Handle first = ctx.schedule_sub_orchestration("flow", "", {std::nullopt, "1.0.0"});
  const Handle named = ctx.schedule_sub_orchestration("flow", "", {InstanceId("named"), "1.0.0"});
  const Handle none = ctx.schedule_sub_orchestration("flow", "", {std::nullopt, "one"});
  static_cast<void>(ctx.start_orchestration("flow", InstanceId("detached"), "", {"1.0.0"}));
  PAWL_AWAIT_DONE(ctx.join(latest, first, named));
  PAWL_AWAIT(a, latest);
  PAWL_AWAIT(b, first);
  PAWL_AWAIT(c, named);
  PAWL_AWAIT(d, none);
  return ctx.complete(std::string(a.value()) + " " + std::string(b.value()) + " " +
                      std::string(c.value()) + " " + error_kind_name(d.error().kind));
}

class Versions : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(both.add_orchestration("flow", flow<2>, "2.0.0"), Status::kOk);
    ASSERT_EQ(both.add_orchestration("flow", flow<1>, "1.0.0"), Status::kOk);
    ASSERT_EQ(both.add_orchestration("parent", parent), Status::kOk);
    ASSERT_EQ(old.add_orchestration("flow", flow<1>, "1.0.0"), Status::kOk);
    machine.set_wall(1'800'000'000'000);
    machine.set_synced(true);
    options.database_path = kPath;
    options.verify_turns = true;
  }
  std::string ended(Worker& worker, const char* id, std::int64_t ms = 60'000) {
    OrchestrationStatus status;
    const bool is_over = drive(
        machine, {&worker},
        [&] {
          return worker.runtime->get_status(id, &status) == Status::kOk &&
                 status.state != OrchestrationState::kRunning;
        },
        ms);
    return (is_over ? "" : "running: ") + std::string(status.output);
  }

  sim::Machine machine{13};
  Registry both;
  Registry old;
  Options options;
};

TEST_F(Versions, RegistryChecksAndChooses) {
  Registry registry;
  EXPECT_EQ(registry.add_orchestration("f", flow<1>, "1.0"), Status::kInvalidArgument);
  EXPECT_EQ(registry.add_orchestration("f", flow<1>, "01.0.0"), Status::kInvalidArgument);
  EXPECT_EQ(registry.add_orchestration("f", flow<1>), Status::kOk);
  EXPECT_EQ(registry.add_orchestration("f", flow<1>, "1.0.0"), Status::kAlreadyExists);
  EXPECT_EQ(registry.add_orchestration("f", flow<2>, "10.0.0"), Status::kOk);
  EXPECT_EQ(registry.add_orchestration("f", flow<2>, "9.0.0"), Status::kOk);
  EXPECT_EQ(registry.add_orchestration("f", flow<2>, "10.0.0-rc.1"), Status::kOk);
  EXPECT_EQ(registry.find_orchestration("f")->version, "10.0.0");
  EXPECT_EQ(registry.find_orchestration("f", "9.0.0")->version, "9.0.0");
  EXPECT_EQ(registry.find_orchestration("f", "8.0.0"), nullptr);
  EXPECT_EQ(registry.find_orchestration("g"), nullptr);
  EXPECT_EQ(registry.set_default_version("f", "8.0.0"), Status::kNotFound);
  EXPECT_EQ(registry.set_default_version("f", "1.0.0"), Status::kOk);
  EXPECT_EQ(registry.find_orchestration("f")->version, "1.0.0");
  EXPECT_EQ(registry.set_default_version("f", ""), Status::kOk);
  EXPECT_EQ(registry.find_orchestration("f")->version, "10.0.0");
}

// Versions may be registered in any order. (In a comparable engine each must be higher than those
// before, or the program ends.)
TEST_F(Versions, AnyOrderOfRegistrationIsTheSame) {
  std::vector<const char*> versions = {"1.0.0", "1.2.0", "2.0.0-rc.1", "2.0.0"};
  do {
    Registry registry;
    for (const char* version : versions)
      EXPECT_EQ(registry.add_orchestration("f", flow<1>, version), Status::kOk);
    EXPECT_EQ(registry.find_orchestration("f")->version, "2.0.0");
    for (const char* version : versions) {
      EXPECT_EQ(registry.find_orchestration("f", version)->version, version);
      EXPECT_EQ(registry.add_orchestration("f", flow<1>, version), Status::kAlreadyExists);
    }
  } while (std::next_permutation(versions.begin(), versions.end(),
                                 [](std::string_view a, std::string_view b) { return a < b; }));
}

TEST_F(Versions, LatestByDefaultOrTheOneAskedFor) {
  Worker worker(machine, both, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("flow", InstanceId("a"), ""), Status::kOk);
  ASSERT_EQ(client->start_orchestration("flow", InstanceId("b"), "", {"1.0.0"}), Status::kOk);
  ASSERT_EQ(worker.runtime->start_orchestration("flow", InstanceId("c"), ""), Status::kOk);
  ASSERT_EQ(worker.runtime->start_orchestration("flow", InstanceId("d"), "", {"1.0.0"}),
            Status::kOk);
  EXPECT_EQ(client->start_orchestration("flow", InstanceId("e"), "", {"one"}),
            Status::kInvalidArgument);
  EXPECT_EQ(worker.runtime->start_orchestration("flow", InstanceId("e"), "", {"1"}),
            Status::kInvalidArgument);
  EXPECT_EQ(ended(worker, "a"), "22");
  EXPECT_EQ(ended(worker, "b"), "11");
  EXPECT_EQ(ended(worker, "c"), "22");
  EXPECT_EQ(ended(worker, "d"), "11");
}

// An old program begins the instance, and one that also has a newer version continues it.
TEST_F(Versions, PinnedByTheFirstTurn) {
  Worker first(machine, old, options);
  ASSERT_EQ(first.start(), Status::kOk);
  ASSERT_EQ(first.runtime->start_orchestration("flow", InstanceId("a"), ""), Status::kOk);
  drive(
      machine, {&first}, [] { return false; }, 2'000);
  first.stop();
  Worker second(machine, both, options);
  ASSERT_EQ(second.start(), Status::kOk);
  EXPECT_EQ(ended(second, "a"), "11");
}

TEST_F(Versions, MissingOneWaitsAndIsNamed) {
  testing::expect_errors("orchestration_unregistered");
  Worker first(machine, both, options);
  ASSERT_EQ(first.start(), Status::kOk);
  ASSERT_EQ(first.runtime->start_orchestration("flow", InstanceId("a"), ""), Status::kOk);
  drive(
      machine, {&first}, [] { return false; }, 2'000);
  first.stop();
  Worker second(machine, old, options);
  ASSERT_EQ(second.start(), Status::kOk);
  EXPECT_EQ(ended(second, "a", 20'000),
            "running: no process that looked for work can run \"flow@2.0.0\"");
  second.stop();
  Worker third(machine, both, options);
  ASSERT_EQ(third.start(), Status::kOk);
  EXPECT_EQ(ended(third, "a"), "22");
}

TEST_F(Versions, ContinueAsNewChoosesAnew) {
  Worker first(machine, old, options);
  ASSERT_EQ(first.start(), Status::kOk);
  ASSERT_EQ(first.runtime->start_orchestration("flow", InstanceId("a"), "again"), Status::kOk);
  drive(
      machine, {&first}, [] { return false; }, 2'000);
  first.stop();
  Worker second(machine, both, options);
  ASSERT_EQ(second.start(), Status::kOk);
  EXPECT_EQ(ended(second, "a"), "122");
  ASSERT_EQ(second.runtime->start_orchestration("flow", InstanceId("b"), "again at 1"),
            Status::kOk);
  EXPECT_EQ(ended(second, "b"), "211");
  ASSERT_EQ(second.runtime->start_orchestration("flow", InstanceId("c"), "again at x"),
            Status::kOk);
  EXPECT_EQ(ended(second, "c"), "a version is MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRE");
}

TEST_F(Versions, ChildrenAndDetachedStarts) {
  Worker worker(machine, both, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(worker.runtime->start_orchestration("parent", InstanceId("p"), ""), Status::kOk);
  EXPECT_EQ(ended(worker, "p"), "22 11 11 invalid_argument");
  EXPECT_EQ(ended(worker, "detached"), "11");
}

}  // namespace
}  // namespace pawl
