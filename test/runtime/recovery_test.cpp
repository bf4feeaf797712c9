// Goal: wherever a process dies, an instance continues where it was: acknowledged work stands,
// other work is done again, and no notice comes twice. Method: whole runtimes on the simulated
// machine. A write that fails for ever, followed by a kill, is a death in the middle of a
// transaction; the tests do this at every write in turn.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "story.hpp"

namespace pawl {
namespace {

using testing::KeptEvent;
using testing::Story;
using testing::Worker;

std::map<std::string, int> g_effects;

ActivityResult effect(ActivityContext& ctx) {
  ++g_effects[std::string(ctx.input())];
  return ctx.ok(ctx.input());
}

// An activity, a timer, a message and another activity.
Poll four_steps(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("effect", "first"));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(30)));
  PAWL_AWAIT(message, ctx.dequeue_event("q"));
  PAWL_AWAIT(last, ctx.schedule_activity("effect", "last"));
  return ctx.complete(std::string(first.value()) + "," + std::string(message.value()) + "," +
                      std::string(last.value()));
}

Poll half_minute(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(30)));
  return ctx.complete("fired");
}

Poll two_waits(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_wait("go"));
  PAWL_AWAIT(second, ctx.schedule_wait("go"));
  return ctx.complete(std::string(first.value()) + "," + std::string(second.value()));
}

Poll cancellable(OrchestrationContext& ctx) {
  PAWL_AWAIT(fired, ctx.schedule_timer(std::chrono::hours(1)));
  if (!fired.cancelled()) return ctx.complete("fired");
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT_DONE(ctx.schedule_activity("effect", "undo"));
  return ctx.complete("undone");
}

class Recovery : public Story {
 protected:
  Recovery() {
    g_effects.clear();
    add("four_steps", four_steps);
    add("half_minute", half_minute);
    add("two_waits", two_waits);
    add("cancellable", cancellable);
    add("effect", effect);
  }
};

TEST_F(Recovery, FinishedStepsAreNotDoneAgain) {
  start_worker();
  start("a", "four_steps");
  pass(10'000);
  ASSERT_EQ(g_effects["first"], 1);
  restart();
  pass(60'000);
  restart();
  enqueue_event("a", "q", "message");
  EXPECT_EQ(end_of("a"), "completed first,message,last");
  EXPECT_EQ(g_effects["first"], 1);
  EXPECT_EQ(g_effects["last"], 1);
}

TEST_F(Recovery, ManyInstancesAndARebootInTheMiddle) {
  start_worker();
  for (int i = 0; i < 30; ++i) {
    start("i" + std::to_string(i), i % 2 == 0 ? "four_steps" : "half_minute");
    if (i % 2 == 0) {
      enqueue_event("i" + std::to_string(i), "q", "m");
    }
  }
  pass(15'000);
  machine.reboot(3'600'000);
  workers.clear();
  start_worker();
  testing::TestClient after(machine, testing::kPath, client_options);
  const auto all_ended = [&] {
    for (int i = 0; i < 30; ++i)
      if (after.status("i" + std::to_string(i)).state == OrchestrationState::kRunning) return false;
    return true;
  };
  // The hour without power counts for the timers: they are due at once.
  const std::int64_t begin = machine.boot_ms();
  ASSERT_TRUE(drive_until(all_ended, 60'000));
  EXPECT_LE(machine.boot_ms() - begin, 1'000);
  for (int i = 0; i < 30; ++i)
    EXPECT_EQ(after.status("i" + std::to_string(i)).output, i % 2 == 0 ? "first,m,last" : "fired");
}

TEST_F(Recovery, TimerCrashBeforeItFires) {
  start_worker();
  const std::int64_t begin = machine.boot_ms();
  start("a", "half_minute");
  pass(29'000);
  restart();
  EXPECT_EQ(end_of("a"), "completed fired");
  EXPECT_EQ(machine.boot_ms() - begin, 30'000);
  EXPECT_EQ(count(history("a"), "timer_fired"), 1U);
}

// The timer becomes due while no runtime runs; it fires once, with the next start.
TEST_F(Recovery, TimerDueWithoutARuntime) {
  start_worker();
  start("a", "half_minute");
  pass(1'000);
  workers[0]->kill();
  machine.advance(100'000);
  const std::int64_t begin = machine.boot_ms();
  restart();
  EXPECT_EQ(end_of("a"), "completed fired");
  EXPECT_LE(machine.boot_ms() - begin, 10);
  EXPECT_EQ(count(history("a"), "timer_fired"), 1U);
}

// A death at each write of an instance's life: before the fetch, after it, in the middle of an
// acknowledgement, after the commit. Each step is in the history once, and the end is right.
TEST_F(Recovery, DeathAtEveryWrite) {
  int deaths = 0;
  bool all_written = false;
  for (std::uint64_t nth = 1; !all_written && nth < 800; nth += PAWL_SAMPLE) {
    const std::string id = "i" + std::to_string(nth);
    start(id, "four_steps");
    enqueue_event(id, "q", "m");
    restart();
    const std::uint64_t before = machine.writes();
    workers.back()->watch.hold();
    machine.fail_write(nth, Status::kIo, true);
    static_cast<void>(drive_until([&] { return machine.writes() >= before + nth; }, 35'000));
    all_written = machine.writes() < before + nth;
    workers.back()->kill();
    machine.fail_write(0, Status::kOk, false);
    restart();
    ASSERT_EQ(end_of(id), "completed first,m,last") << nth;
    const std::vector<KeptEvent> events = history(id);
    EXPECT_EQ(count(events, "activity_done"), 2U) << nth;
    EXPECT_EQ(count(events, "timer_fired"), 1U) << nth;
    EXPECT_EQ(count(events, "delivery"), 1U) << nth;
    EXPECT_EQ(count(events, "ended"), 1U) << nth;
    ++deaths;
  }
  EXPECT_TRUE(all_written);
  EXPECT_GE(deaths * PAWL_SAMPLE, 20);
  EXPECT_GE(g_effects["last"], deaths);  // at least once
}

// Events have no identity: the same event raised twice counts as two.
TEST_F(Recovery, EqualEventsAreTwo) {
  start_worker();
  start("a", "two_waits");
  pass(1'000);
  raise_event("a", "go", "same");
  restart();
  raise_event("a", "go", "same");
  EXPECT_EQ(end_of("a"), "completed same,same");
}

// ---- cancellation ----

TEST_F(Recovery, CancelBeforeTheFirstTurn) {
  start("a", "cancellable");
  cancel_instance("a", "changed my mind");
  start_worker();
  EXPECT_EQ(end_of("a", 1'000), "completed undone");
  EXPECT_EQ(g_effects["undo"], 1);
}

TEST_F(Recovery, ManyCancelsAreOne) {
  start_worker();
  start("a", "cancellable");
  pass(1'000);
  for (int i = 0; i < 3; ++i)
    cancel_instance("a", "reason " + std::to_string(i));
  EXPECT_EQ(end_of("a"), "completed undone");
  const std::vector<KeptEvent> events = history("a");
  EXPECT_EQ(count(events, "cancel_requested"), 1U);
  EXPECT_EQ(g_effects["undo"], 1);
  EXPECT_EQ(client()->cancel_instance("a", "again"), Status::kStale);
}

TEST_F(Recovery, CompensationGoesOnAfterAKill) {
  start("a", "cancellable");
  start_worker();
  pass(1'000);
  cancel_instance("a", "enough");
  EXPECT_EQ(end_with_kills("a"), "completed undone");
  EXPECT_EQ(count(history("a"), "cancel_requested"), 1U);
}

// ---- well-formed histories ----

// Holds for every history: numbers rise by one; one event ends it and is the last; each completion
// refers to the event that asked for it; nothing is completed twice.
TEST_F(Recovery, HistoriesAreWellFormed) {
  start_worker();
  for (int i = 0; i < 20; ++i) {
    const std::string id = "i" + std::to_string(i);
    start(id, i % 3 == 0 ? "four_steps" : i % 3 == 1 ? "half_minute" : "cancellable");
    if (i % 3 == 0) {
      enqueue_event(id, "q", "m");
    }
    if (i % 3 == 2) {
      cancel_instance(id, "x");
    }
    if (i % 5 == 0) restart();
  }
  for (int i = 0; i < 20; ++i) {
    const std::string id = "i" + std::to_string(i);
    EXPECT_EQ(end_of(id).substr(0, 9), "completed");
    const std::vector<KeptEvent> events = history(id);
    EXPECT_EQ(events.front().kind, "started");
    EXPECT_EQ(events.back().kind, "ended");
    EXPECT_EQ(count(events, "ended"), 1U);
    std::map<std::int64_t, int> completed;
    for (std::size_t at = 0; at < events.size(); ++at) {
      const std::int64_t ref = events[at].ref;
      if (ref == 0) continue;
      EXPECT_LT(static_cast<std::size_t>(ref), at + 1);
      EXPECT_EQ(++completed[ref], 1) << id << " " << events[at].kind;
    }
  }
}

}  // namespace
}  // namespace pawl
