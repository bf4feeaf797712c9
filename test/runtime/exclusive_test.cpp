// Goal: an exclusive session waits for cancelled work that still runs, and a withdrawal that is
// taken back has no effect. Method: whole runtimes on the simulated machine.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::drive;
using testing::TestClient;
using testing::Worker;

constexpr char kPath[] = "/data/pawl.db";

sim::Machine* g_machine = nullptr;
std::int64_t g_clean_up_ms = 0;
std::int64_t g_ended = 0;    // boot time in ms when the cancelled activity ended
std::int64_t g_entered = 0;  // boot time in ms when the next one began

struct Since {
  std::int64_t reported = -1;
};

// Takes g_clean_up_ms to stop after it was cancelled.
ActivityStep hold(ActivityContext& ctx, Since& since) {
  if (!ctx.is_cancelled()) return ctx.again_after(std::chrono::seconds(3'600));
  if (since.reported < 0) since.reported = g_machine->boot_ms();
  if (g_machine->boot_ms() - since.reported < g_clean_up_ms)
    return ctx.again_after(std::chrono::seconds(1));
  g_ended = g_machine->boot_ms();
  return ctx.ok("");
}

ActivityResult enter(ActivityContext& ctx) {
  g_entered = g_machine->boot_ms();
  return ctx.ok(ctx.worker_id());
}

ActivityOptions on_bus(bool device = false) {
  ActivityOptions options;
  options.target = device ? Target::device("bus") : Target::exclusive_session("bus");
  return options;
}

// Gives the bus up after a second, and wants it again.
Poll again(OrchestrationContext& ctx) {
  const Handle held = ctx.schedule_activity("hold", "", on_bus());
  PAWL_AWAIT_DONE(ctx.select(held, ctx.schedule_timer(seconds(1))));
  PAWL_AWAIT(entered, ctx.schedule_activity("enter", "", on_bus()));
  return ctx.complete(entered.value());
}

Poll keep_device(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("hold", "", on_bus(true)));
  return ctx.complete("");
}

void keep_status(void* user, Status status) noexcept { *static_cast<Status*>(user) = status; }

class Exclusive : public ::testing::Test {
 protected:
  Exclusive() {
    g_machine = &machine;
    g_clean_up_ms = g_ended = g_entered = 0;
    machine.set_wall(1'800'000'000'000);
    machine.set_synced(true);
    EXPECT_EQ(registry.add_orchestration("again", again), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("keep_device", keep_device), Status::kOk);
    EXPECT_EQ(registry.add_cooperative("hold", hold), Status::kOk);
    EXPECT_EQ(registry.add_activity("enter", enter), Status::kOk);
  }
  static Options options(const char* node) {
    Options out;
    out.database_path = kPath;
    out.worker_node_id = node;
    out.timing.activity_grace = std::chrono::minutes(10);
    return out;
  }
  bool ends(const std::vector<Worker*>& workers, std::string_view id, std::int64_t ms = 3'600'000) {
    return drive(
        machine, workers, [&] { return client->status(id).state != OrchestrationState::kRunning; },
        ms);
  }
  Status declare(Worker& worker, bool standby = false) {
    return answer_of(worker, [&](Status* answer) {
      return worker.runtime->declare_session("bus", standby, keep_status, answer);
    });
  }
  template <typename Call>
  Status answer_of(Worker& worker, Call&& call) {
    Status answer = Status::kTimeout;
    EXPECT_EQ(call(&answer), Status::kOk);
    drive(
        machine, {&worker}, [&] { return answer != Status::kTimeout; }, 100);
    return answer;
  }
  void open_client() { client = std::make_unique<TestClient>(machine, kPath); }

  sim::Machine machine{3};
  Registry registry;
  std::unique_ptr<TestClient> client;
};

// Rules: S19.
TEST_F(Exclusive, what_was_cancelled_makes_room_when_it_ends) {
  Worker a(machine, registry, options("a"));
  ASSERT_EQ(a.start(), Status::kOk);
  open_client();
  ASSERT_EQ((*client)->start_orchestration("again", InstanceId("i"), ""), Status::kOk);
  ASSERT_TRUE(ends({&a}, "i"));
  EXPECT_GT(g_ended, 0);
  EXPECT_GE(g_entered, g_ended);
  EXPECT_LE(g_entered, g_ended + 100) << "not only when a lease has ended";
}

// The cancelled activity cleans up for longer than any lease, within its grace.
TEST_F(Exclusive, what_was_cancelled_is_not_overtaken_by_another_worker) {
  g_clean_up_ms = minutes(5) / std::chrono::milliseconds(1);
  Worker a(machine, registry, options("a"));
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(a.start(), Status::kOk);
  open_client();
  ASSERT_EQ((*client)->start_orchestration("again", InstanceId("i"), ""), Status::kOk);
  drive(
      machine, {&a}, [] { return false; }, 500);
  ASSERT_EQ(b.start(), Status::kOk);
  ASSERT_TRUE(ends({&a, &b}, "i"));
  EXPECT_GT(g_ended, g_clean_up_ms);
  EXPECT_GE(g_entered, g_ended);
}

// After the grace, no caller waits for the cancelled activity any longer.
TEST_F(Exclusive, what_was_cancelled_and_never_ends_is_overtaken_after_its_grace) {
  testing::expect_errors("activity_abandoned");
  g_clean_up_ms = minutes(60) / std::chrono::milliseconds(1);
  Options patient = options("a");
  patient.timing.activity_grace = std::chrono::seconds(10);
  Worker a(machine, registry, patient);
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(a.start(), Status::kOk);
  open_client();
  ASSERT_EQ((*client)->start_orchestration("again", InstanceId("i"), ""), Status::kOk);
  drive(
      machine, {&a}, [] { return false; }, 500);
  ASSERT_EQ(b.start(), Status::kOk);
  EXPECT_TRUE(ends({&a, &b}, "i", 300'000));
}

// Work that runs on keeps a device where it is: it is this worker's as before, over the burial of
// the worker, too.
TEST_F(Exclusive, a_withdrawal_that_is_taken_back_is_none) {
  testing::expect_errors("worker_was_buried");
  Worker a(machine, registry, options("a"));
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(a.start(), Status::kOk);
  ASSERT_EQ(b.start(), Status::kOk);
  open_client();
  EXPECT_EQ(declare(a), Status::kOk);
  ASSERT_EQ((*client)->start_orchestration("keep_device", InstanceId("i"), ""), Status::kOk);
  drive(
      machine, {&a}, [] { return false; }, 1'000);
  EXPECT_EQ(answer_of(a,
                      [&](Status* answer) {
                        return a.runtime->withdraw_session("bus", keep_status, answer);
                      }),
            Status::kOk);
  drive(
      machine, {&a, &b}, [] { return false; }, 30'000);
  ASSERT_EQ(a.lines.count("session_stop_failed") + b.lines.count("session_stop_failed"), 1U);
  EXPECT_EQ(declare(b), Status::kDeviceHeld);
  // A worker that cannot see that it lives buries it; it then declares anew what it holds.
  a.node.set_locks_testable(false);
  b.node.set_locks_testable(false);
  drive(
      machine, {&b}, [] { return false; }, 200'000);
  drive(
      machine, {&a, &b}, [] { return false; }, 1'000);
  ASSERT_EQ(a.lines.count("worker_was_buried"), 1U);
  EXPECT_EQ(declare(b), Status::kDeviceHeld);
}

TEST_F(Exclusive, a_withdrawal_that_came_to_its_end_is_one_over_a_burial) {
  testing::expect_errors("worker_was_buried");
  Worker a(machine, registry, options("a"));
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(a.start(), Status::kOk);
  ASSERT_EQ(b.start(), Status::kOk);
  open_client();
  EXPECT_EQ(declare(a), Status::kOk);
  EXPECT_EQ(answer_of(a,
                      [&](Status* answer) {
                        return a.runtime->withdraw_session("bus", keep_status, answer);
                      }),
            Status::kOk);
  a.node.set_locks_testable(false);
  b.node.set_locks_testable(false);
  drive(
      machine, {&b}, [] { return false; }, 200'000);
  drive(
      machine, {&a, &b}, [] { return false; }, 1'000);
  ASSERT_EQ(a.lines.count("worker_was_buried"), 1U);
  EXPECT_EQ(declare(b), Status::kOk);
}

}  // namespace
}  // namespace pawl
