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
using testing::GatewayTest;
using testing::Worker;

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

class Exclusive : public GatewayTest {
 protected:
  Exclusive() {
    g_machine = &machine;
    options.timing.activity_grace = std::chrono::minutes(10);
    patience_ms = 3'600'000;
    g_clean_up_ms = g_ended = g_entered = 0;
    add("again", again);
    add("keep_device", keep_device);
    add("hold", hold);
    add("enter", enter);
  }
};

// Rules: S19.
TEST_F(Exclusive, what_was_cancelled_makes_room_when_it_ends) {
  start_worker("a");
  start("i", "again");
  ASSERT_TRUE(ends("i"));
  EXPECT_GT(g_ended, 0);
  EXPECT_GE(g_entered, g_ended);
  EXPECT_LE(g_entered, g_ended + 100) << "not only when a lease has ended";
}

// The cancelled activity cleans up for longer than any lease, within its grace.
TEST_F(Exclusive, what_was_cancelled_is_not_overtaken_by_another_worker) {
  g_clean_up_ms = minutes(5) / std::chrono::milliseconds(1);
  start_worker("a");
  start("i", "again");
  pass(500);
  start_worker("b");
  ASSERT_TRUE(ends("i"));
  EXPECT_GT(g_ended, g_clean_up_ms);
  EXPECT_GE(g_entered, g_ended);
}

// After the grace, no caller waits for the cancelled activity any longer.
TEST_F(Exclusive, what_was_cancelled_and_never_ends_is_overtaken_after_its_grace) {
  testing::expect_errors("activity_abandoned");
  g_clean_up_ms = minutes(60) / std::chrono::milliseconds(1);
  Options patient = named("a");
  patient.timing.activity_grace = std::chrono::seconds(10);
  start_worker(patient);
  start("i", "again");
  pass(500);
  start_worker("b");
  EXPECT_TRUE(ends("i", 300'000));
}

// Work that runs on keeps a device where it is: it is this worker's as before, over the burial of
// the worker, too.
TEST_F(Exclusive, a_withdrawal_that_is_taken_back_is_none) {
  testing::expect_errors("worker_was_buried");
  Worker& a = start_worker("a");
  Worker& b = start_worker("b");
  EXPECT_EQ(declare(a, "bus"), Status::kOk);
  start("i", "keep_device");
  pass({&a}, 1'000);
  EXPECT_EQ(withdraw(a, "bus"), Status::kOk);
  pass(30'000);
  ASSERT_EQ(a.lines.count("session_stop_failed") + b.lines.count("session_stop_failed"), 1U);
  EXPECT_EQ(declare(b, "bus"), Status::kDeviceHeld);
  // A worker that cannot see that it lives buries it; it then declares anew what it holds.
  a.node.set_locks_testable(false);
  b.node.set_locks_testable(false);
  pass({&b}, 200'000);
  pass(1'000);
  ASSERT_EQ(a.lines.count("worker_was_buried"), 1U);
  EXPECT_EQ(declare(b, "bus"), Status::kDeviceHeld);
}

TEST_F(Exclusive, a_withdrawal_that_came_to_its_end_is_one_over_a_burial) {
  testing::expect_errors("worker_was_buried");
  Worker& a = start_worker("a");
  Worker& b = start_worker("b");
  EXPECT_EQ(declare(a, "bus"), Status::kOk);
  EXPECT_EQ(withdraw(a, "bus"), Status::kOk);
  a.node.set_locks_testable(false);
  b.node.set_locks_testable(false);
  pass({&b}, 200'000);
  pass(1'000);
  ASSERT_EQ(a.lines.count("worker_was_buried"), 1U);
  EXPECT_EQ(declare(b, "bus"), Status::kOk);
}

}  // namespace
}  // namespace pawl
