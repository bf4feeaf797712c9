// Goal: a worker that lacks an orchestration costs the workers that have it nothing.
#include <gtest/gtest.h>

#include <string>

#include "world.hpp"

namespace pawl {
namespace {

using testing::GatewayTest;
using testing::Worker;

template <int kVersion>
Poll flow(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  return ctx.complete(std::to_string(kVersion));
}

Poll quick(OrchestrationContext& ctx) { return ctx.complete("quick"); }

class Routing : public GatewayTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(knows_flow.add_orchestration("flow", flow<1>, "1.0.0"), Status::kOk);
    ASSERT_EQ(knows_quick.add_orchestration("quick", quick), Status::kOk);
    ASSERT_EQ(only_new.add_orchestration("flow", flow<2>, "2.0.0"), Status::kOk);
    ASSERT_EQ(both.add_orchestration("flow", flow<1>, "1.0.0"), Status::kOk);
    ASSERT_EQ(both.add_orchestration("flow", flow<2>, "2.0.0"), Status::kOk);
  }
  // How long the instance takes to its end, in ms; -1: it does not end in this time.
  std::int64_t takes(std::string_view id, std::int64_t ms = 60'000) {
    const std::int64_t begin = machine.boot_ms();
    return ends(id, ms) ? machine.boot_ms() - begin : -1;
  }

  Registry& knows_flow = another_registry();
  Registry& knows_quick = another_registry();
  Registry& only_new = another_registry();
  Registry& both = another_registry();
};

// The order in which workers look does not matter, and no worker waits for the pause of another.
TEST_F(Routing, capability_filtering) {
  Worker& first = start_worker(knows_quick, options);
  Worker& second = start_worker(knows_flow, options);
  for (int i = 0; i < 20; ++i) {
    start("f" + std::to_string(i), "flow");
    start("q" + std::to_string(i), "quick");
  }
  EXPECT_LT(takes("q19"), 100);
  EXPECT_LT(takes("f19"), 10'100);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(outcome_of("f" + std::to_string(i)), "completed 1");
  EXPECT_EQ(first.runtime->stats().orchestrations_completed, 20U);
  EXPECT_EQ(second.runtime->stats().orchestrations_completed, 20U);
}

// No worker has the name: one line, one look when the instance is old enough, and then nothing at
// all.
TEST_F(Routing, unregistered_backoff) {
  testing::expect_errors("orchestration_unregistered");
  Worker& worker = start_worker(knows_quick, options);
  for (int i = 0; i < 200; ++i)
    start("f" + std::to_string(i), "flow");
  start("q", "quick");
  EXPECT_LT(takes("q"), 100) << "behind 200 unregistered ones";
  pass(5'000);
  EXPECT_EQ(client().status("f0").error, ErrorKind::kUnregistered);
  EXPECT_EQ(client().status("f199").output, "no process that looked for work can run \"flow\"");
  EXPECT_EQ(worker.lines.count("orchestration_unregistered"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("orchestration_unregistered instance=f"), 1U)
      << "by its id: " << worker.lines.all();
  EXPECT_EQ(worker.runtime->stats().unregistered, 200U);
  const std::uint64_t commits = worker.runtime->stats().commits;
  pass(20'000);
  EXPECT_LE(worker.runtime->stats().commits, commits + 2) << "leases only";
  // A worker that comes with the name begins at once.
  start_worker(knows_flow, options);
  EXPECT_LT(takes("f199"), 10'100);
  EXPECT_EQ(client().status("f0").error, ErrorKind::kNone);
}

// A name that another living worker has, but is too busy to begin, is no error of this worker.
TEST_F(Routing, a_name_that_another_living_worker_has_is_no_error) {
  testing::expect_errors("orchestration_unregistered", 2);
  Worker& worker = start_worker(knows_quick, options);
  Worker& able = start_worker(knows_flow, named("able"));
  start("f", "flow");
  start("u", "unheard_of");
  pass({&worker}, 5'000);
  EXPECT_EQ(client().status("f").error, ErrorKind::kUnregistered);
  EXPECT_EQ(worker.lines.count("orchestration_unregistered"), 0U) << worker.lines.all();
  EXPECT_LT(takes("f"), 60'000);
  pass(60'000);
  EXPECT_EQ(worker.lines.count("orchestration_unregistered"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("orchestration_unregistered instance=u orchestration=unheard_of"),
            1U)
      << "what none has is one";
  // The name was forgotten when its instance began, so the next one that no worker has is an error.
  able.stop();
  start("g", "flow");
  pass(5'000);
  EXPECT_EQ(worker.lines.count("orchestration_unregistered instance=g"), 1U);
}

// The old program ends while an instance of its version sleeps. The new one does not touch the
// instance; the old one, started again, finds the timer due.
TEST_F(Routing, rolling_deployment) {
  testing::expect_errors("orchestration_unregistered");
  Worker& old = start_worker(knows_flow, options);
  start("a", "flow");
  pass(1'000);
  const Worker& fresh = start_worker(only_new, options);
  old.kill();
  start("b", "flow");
  EXPECT_EQ(takes("a", 100'000), -1);
  EXPECT_EQ(outcome_of("b"), "completed 2");
  EXPECT_EQ(client().status("a").error, ErrorKind::kUnregistered);
  EXPECT_EQ(client().status("a").output, "no process that looked for work can run \"flow@1.0.0\"");
  const std::uint64_t ticks = fresh.runtime->stats().ticks;
  pass(20'000);
  EXPECT_LE(fresh.runtime->stats().ticks, ticks + 8) << "a due timer of another keeps nobody awake";
  start_worker(knows_flow, options);
  EXPECT_LT(takes("a"), 100);
  EXPECT_EQ(outcome_of("a"), "completed 1");
}

// The instance is cancelled while no worker has its name: the next worker that has it sees the
// request first.
TEST_F(Routing, cancelled_while_unregistered) {
  testing::expect_errors("orchestration_unregistered");
  start_worker(knows_quick, options);
  start("a", "flow");
  pass(3'000);
  cancel_instance("a", "enough");
  EXPECT_EQ(takes("a", 10'000), -1);
  start_worker(both, options);
  EXPECT_LT(takes("a"), 100);
}

}  // namespace
}  // namespace pawl
