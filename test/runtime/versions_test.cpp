// Goal: versions work through the public API: the first turn pins one, continue-as-new chooses
// anew, and missing ones are named. Method: on the simulated machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "world.hpp"

namespace pawl {
namespace {

using testing::GatewayTest;
using testing::Worker;

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

Poll goes_on_at_2(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.dequeue_event("q"));
  if (ctx.execution_id() == 1) return ctx.continue_as_new(first.value(), "2.0.0");
  PAWL_AWAIT(second, ctx.dequeue_event("q"));
  return ctx.complete(std::string(ctx.input()) + std::string(first.value()) +
                      std::string(second.value()));
}

class Versions : public GatewayTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(both.add_orchestration("flow", flow<2>, "2.0.0"), Status::kOk);
    ASSERT_EQ(both.add_orchestration("flow", flow<1>, "1.0.0"), Status::kOk);
    ASSERT_EQ(both.add_orchestration("parent", parent), Status::kOk);
    ASSERT_EQ(old.add_orchestration("flow", flow<1>, "1.0.0"), Status::kOk);
  }

  Registry& both = another_registry();
  Registry& old = another_registry();
};

TEST_F(Versions, RegistryChecksAndChooses) {
  Registry known;
  EXPECT_EQ(known.add_orchestration("f", flow<1>, "1.0"), Status::kInvalidArgument);
  EXPECT_EQ(known.add_orchestration("f", flow<1>, "01.0.0"), Status::kInvalidArgument);
  EXPECT_EQ(known.add_orchestration("f", flow<1>), Status::kOk);
  EXPECT_EQ(known.add_orchestration("f", flow<1>, "1.0.0"), Status::kAlreadyExists);
  EXPECT_EQ(known.add_orchestration("f", flow<2>, "10.0.0"), Status::kOk);
  EXPECT_EQ(known.add_orchestration("f", flow<2>, "9.0.0"), Status::kOk);
  EXPECT_EQ(known.add_orchestration("f", flow<2>, "10.0.0-rc.1"), Status::kOk);
  EXPECT_EQ(known.find_orchestration("f")->version, "10.0.0");
  EXPECT_EQ(known.find_orchestration("f", "9.0.0")->version, "9.0.0");
  EXPECT_EQ(known.find_orchestration("f", "8.0.0"), nullptr);
  EXPECT_EQ(known.find_orchestration("g"), nullptr);
  EXPECT_EQ(known.set_default_version("f", "8.0.0"), Status::kNotFound);
  EXPECT_EQ(known.set_default_version("f", "1.0.0"), Status::kOk);
  EXPECT_EQ(known.find_orchestration("f")->version, "1.0.0");
  EXPECT_EQ(known.set_default_version("f", ""), Status::kOk);
  EXPECT_EQ(known.find_orchestration("f")->version, "10.0.0");
}

// Versions may be registered in any order. (In a comparable engine each must be higher than those
// before, or the program ends.)
TEST_F(Versions, AnyOrderOfRegistrationIsTheSame) {
  std::vector<const char*> versions = {"1.0.0", "1.2.0", "2.0.0-rc.1", "2.0.0"};
  do {
    Registry known;
    for (const char* version : versions)
      EXPECT_EQ(known.add_orchestration("f", flow<1>, version), Status::kOk);
    EXPECT_EQ(known.find_orchestration("f")->version, "2.0.0");
    for (const char* version : versions) {
      EXPECT_EQ(known.find_orchestration("f", version)->version, version);
      EXPECT_EQ(known.add_orchestration("f", flow<1>, version), Status::kAlreadyExists);
    }
  } while (std::next_permutation(versions.begin(), versions.end(),
                                 [](std::string_view a, std::string_view b) { return a < b; }));
}

TEST_F(Versions, LatestByDefaultOrTheOneAskedFor) {
  Worker& worker = start_worker(both, options);
  start("a", "flow");
  ASSERT_EQ(client()->start_orchestration("flow", InstanceId("b"), "", {"1.0.0"}), Status::kOk);
  start_at(worker, "c", "flow");
  ASSERT_EQ(worker.runtime->start_orchestration("flow", InstanceId("d"), "", {"1.0.0"}),
            Status::kOk);
  EXPECT_EQ(client()->start_orchestration("flow", InstanceId("e"), "", {"one"}),
            Status::kInvalidArgument);
  EXPECT_EQ(worker.runtime->start_orchestration("flow", InstanceId("e"), "", {"1"}),
            Status::kInvalidArgument);
  EXPECT_EQ(end_of("a"), "completed 22");
  EXPECT_EQ(end_of("b"), "completed 11");
  EXPECT_EQ(end_of("c"), "completed 22");
  EXPECT_EQ(end_of("d"), "completed 11");
}

// An old program begins the instance, and one that also has a newer version continues it.
TEST_F(Versions, PinnedByTheFirstTurn) {
  Worker& first = start_worker(old, options);
  start_at(first, "a", "flow");
  pass(2'000);
  first.stop();
  start_worker(both, options);
  EXPECT_EQ(end_of("a"), "completed 11");
}

TEST_F(Versions, MissingOneWaitsAndIsNamed) {
  testing::expect_errors("orchestration_unregistered");
  Worker& first = start_worker(both, options);
  start_at(first, "a", "flow");
  pass(2'000);
  first.stop();
  Worker& second = start_worker(old, options);
  EXPECT_FALSE(ends("a", 20'000));
  EXPECT_EQ(outcome_of("a"),
            "running unregistered no process that looked for work can run \"flow@2.0.0\"");
  second.stop();
  start_worker(both, options);
  EXPECT_EQ(end_of("a"), "completed 22");
}

// The next execution waits for a program that has its version, and the messages sent in the
// meantime wait with it.
TEST_F(Versions, MessagesWaitForAVersionThatNoProcessHas) {
  testing::expect_errors("orchestration_unregistered");
  add("goes_on", goes_on_at_2, "1.0.0");
  start_worker();
  start("a", "goes_on");
  enqueue_event("a", "q", "1");
  enqueue_event("a", "q", "2");
  pass(60'000);
  ASSERT_EQ(client().status("a").error, ErrorKind::kUnregistered);
  enqueue_event("a", "q", "3");
  pass(60'000);
  add("goes_on", goes_on_at_2, "2.0.0");
  restart();
  EXPECT_EQ(end_of("a"), "completed 123");
}

TEST_F(Versions, ContinueAsNewChoosesAnew) {
  Worker& first = start_worker(old, options);
  start_at(first, "a", "flow", "again");
  pass(2'000);
  first.stop();
  Worker& second = start_worker(both, options);
  EXPECT_EQ(end_of("a"), "completed 122");
  start_at(second, "b", "flow", "again at 1");
  EXPECT_EQ(end_of("b"), "completed 211");
  start_at(second, "c", "flow", "again at x");
  EXPECT_EQ(end_of("c"),
            "failed invalid_argument a version is MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRE");
}

TEST_F(Versions, ChildrenAndDetachedStarts) {
  Worker& worker = start_worker(both, options);
  start_at(worker, "p", "parent");
  EXPECT_EQ(end_of("p"), "completed 22 11 11 invalid_argument");
  EXPECT_EQ(end_of("detached"), "completed 11");
}

}  // namespace
}  // namespace pawl
