// Goal: a worker that lacks an orchestration costs the workers that have it nothing.
#include <gtest/gtest.h>

#include <string>

#include "world.hpp"

namespace pawl {
namespace {

using testing::drive;
using testing::TestClient;
using testing::Worker;

constexpr char kPath[] = "/data/pawl.db";

template <int kVersion>
Poll flow(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  return ctx.complete(std::to_string(kVersion));
}

Poll quick(OrchestrationContext& ctx) { return ctx.complete("quick"); }

class Routing : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(knows_flow.add_orchestration("flow", flow<1>, "1.0.0"), Status::kOk);
    ASSERT_EQ(knows_quick.add_orchestration("quick", quick), Status::kOk);
    ASSERT_EQ(only_new.add_orchestration("flow", flow<2>, "2.0.0"), Status::kOk);
    ASSERT_EQ(both.add_orchestration("flow", flow<1>, "1.0.0"), Status::kOk);
    ASSERT_EQ(both.add_orchestration("flow", flow<2>, "2.0.0"), Status::kOk);
    machine.set_wall(1'800'000'000'000);
    machine.set_synced(true);
    options.database_path = kPath;
  }
  // Drives until the instance has ended; returns how long that took, in ms, or -1.
  std::int64_t ended(std::initializer_list<Worker*> workers, TestClient& client, const char* id,
                     std::int64_t ms = 60'000) {
    const std::int64_t begin = machine.boot_ms();
    const bool is_over = drive(
        machine, workers, [&] { return client.status(id).state != OrchestrationState::kRunning; },
        ms);
    return is_over ? machine.boot_ms() - begin : -1;
  }

  sim::Machine machine{19};
  Registry knows_flow;
  Registry knows_quick;
  Registry only_new;
  Registry both;
  Options options;
};

// The order in which workers look does not matter, and no worker waits for the pause of another.
TEST_F(Routing, capability_filtering) {
  Worker first(machine, knows_quick, options);
  Worker second(machine, knows_flow, options);
  ASSERT_EQ(first.start(), Status::kOk);
  ASSERT_EQ(second.start(), Status::kOk);
  TestClient client(machine, kPath);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(client->start_orchestration("flow", InstanceId("f" + std::to_string(i)), ""),
              Status::kOk);
    ASSERT_EQ(client->start_orchestration("quick", InstanceId("q" + std::to_string(i)), ""),
              Status::kOk);
  }
  EXPECT_LT(ended({&first, &second}, client, "q19"), 100);
  EXPECT_LT(ended({&first, &second}, client, "f19"), 10'100);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(client.status("f" + std::to_string(i)).output, "1");
  EXPECT_EQ(first.runtime->stats().orchestrations_completed, 20U);
  EXPECT_EQ(second.runtime->stats().orchestrations_completed, 20U);
}

// No worker has the name: one line, one look when the instance is old enough, and then nothing at
// all.
TEST_F(Routing, unregistered_backoff) {
  testing::expect_errors("orchestration_unregistered");
  Worker worker(machine, knows_quick, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  TestClient client(machine, kPath);
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(client->start_orchestration("flow", InstanceId("f" + std::to_string(i)), ""),
              Status::kOk);
  ASSERT_EQ(client->start_orchestration("quick", InstanceId("q"), ""), Status::kOk);
  EXPECT_LT(ended({&worker}, client, "q"), 100) << "behind 200 strangers";
  drive(
      machine, {&worker}, [] { return false; }, 5'000);
  EXPECT_EQ(client.status("f0").error, ErrorKind::kUnregistered);
  EXPECT_EQ(client.status("f199").output, "no process that looked for work can run \"flow\"");
  EXPECT_EQ(worker.lines.count("orchestration_unregistered"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("orchestration_unregistered instance=f"), 1U)
      << "by its id: " << worker.lines.all();
  EXPECT_EQ(worker.runtime->stats().unregistered, 200U);
  const std::uint64_t commits = worker.runtime->stats().commits;
  drive(
      machine, {&worker}, [] { return false; }, 20'000);
  EXPECT_LE(worker.runtime->stats().commits, commits + 2) << "leases only";
  // A worker that comes with the name begins at once.
  Worker late(machine, knows_flow, options);
  ASSERT_EQ(late.start(), Status::kOk);
  EXPECT_LT(ended({&worker, &late}, client, "f199"), 10'100);
  EXPECT_EQ(client.status("f0").error, ErrorKind::kNone);
}

// A name that another living worker has, but is too busy to begin, is no error of this worker.
TEST_F(Routing, a_name_that_another_living_worker_has_is_no_error) {
  testing::expect_errors("orchestration_unregistered", 2);
  Options of_able = options;
  of_able.worker_node_id = "able";
  Worker worker(machine, knows_quick, options);
  Worker able(machine, knows_flow, of_able);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(able.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("flow", InstanceId("f"), ""), Status::kOk);
  ASSERT_EQ(client->start_orchestration("unheard_of", InstanceId("u"), ""), Status::kOk);
  drive(
      machine, {&worker}, [] { return false; }, 5'000);
  EXPECT_EQ(client.status("f").error, ErrorKind::kUnregistered);
  EXPECT_EQ(worker.lines.count("orchestration_unregistered"), 0U) << worker.lines.all();
  EXPECT_LT(ended({&worker, &able}, client, "f"), 60'000);
  drive(
      machine, {&worker, &able}, [] { return false; }, 60'000);
  EXPECT_EQ(worker.lines.count("orchestration_unregistered"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("orchestration_unregistered instance=u orchestration=unheard_of"),
            1U)
      << "what none has is one";
  // The name was forgotten when its instance began, so the next one that no worker has is an error.
  able.stop();
  ASSERT_EQ(client->start_orchestration("flow", InstanceId("g"), ""), Status::kOk);
  drive(
      machine, {&worker}, [] { return false; }, 5'000);
  EXPECT_EQ(worker.lines.count("orchestration_unregistered instance=g"), 1U);
}

// The old program ends while an instance of its version sleeps. The new one does not touch the
// instance; the old one, started again, finds the timer due.
TEST_F(Routing, rolling_deployment) {
  testing::expect_errors("orchestration_unregistered");
  TestClient client(machine, kPath);
  Worker fresh(machine, only_new, options);
  {
    Worker old(machine, knows_flow, options);
    ASSERT_EQ(old.start(), Status::kOk);
    ASSERT_EQ(client->start_orchestration("flow", InstanceId("a"), ""), Status::kOk);
    drive(
        machine, {&old}, [] { return false; }, 1'000);
    ASSERT_EQ(fresh.start(), Status::kOk);
    old.kill();
  }
  ASSERT_EQ(client->start_orchestration("flow", InstanceId("b"), ""), Status::kOk);
  EXPECT_EQ(ended({&fresh}, client, "a", 100'000), -1);
  EXPECT_EQ(client.status("b").output, "2");
  EXPECT_EQ(client.status("a").error, ErrorKind::kUnregistered);
  EXPECT_EQ(client.status("a").output, "no process that looked for work can run \"flow@1.0.0\"");
  const std::uint64_t ticks = fresh.runtime->stats().ticks;
  drive(
      machine, {&fresh}, [] { return false; }, 20'000);
  EXPECT_LE(fresh.runtime->stats().ticks, ticks + 8) << "a due timer of another keeps nobody awake";
  Worker back(machine, knows_flow, options);
  ASSERT_EQ(back.start(), Status::kOk);
  EXPECT_LT(ended({&fresh, &back}, client, "a"), 100);
  EXPECT_EQ(client.status("a").output, "1");
}

// The instance is cancelled while no worker has its name: the next worker that has it sees the
// request first.
TEST_F(Routing, cancelled_while_unregistered) {
  testing::expect_errors("orchestration_unregistered");
  TestClient client(machine, kPath);
  Worker unregistered_instance(machine, knows_quick, options);
  ASSERT_EQ(unregistered_instance.start(), Status::kOk);
  ASSERT_EQ(client->start_orchestration("flow", InstanceId("a"), ""), Status::kOk);
  drive(
      machine, {&unregistered_instance}, [] { return false; }, 3'000);
  ASSERT_EQ(client->cancel_instance("a", "enough"), Status::kOk);
  EXPECT_EQ(ended({&unregistered_instance}, client, "a", 10'000), -1);
  Worker one(machine, both, options);
  ASSERT_EQ(one.start(), Status::kOk);
  EXPECT_LT(ended({&unregistered_instance, &one}, client, "a"), 100);
}

}  // namespace
}  // namespace pawl
