// Goal: an instance takes no longer than its time limit and the grace behind it (R8.9): over
// executions, restarts, boots and wrong clocks, in any state, with a crash at any write. Without a
// limit nothing asks it to stop.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "pawl/visit.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Story;
using testing::Worker;

constexpr std::int64_t kDayMs = 86'400'000;
constexpr char kMinuteIsOver[] = "failed cancelled time limit of 60000 ms is over";

bool g_is_other_code = false;  // the code does not match the history that it had before

// Waits for an event, and ends with it or as cancelled.
Poll waits(OrchestrationContext& ctx) {
  if (g_is_other_code) PAWL_AWAIT_DONE(ctx.schedule_timer(minutes(1)));
  PAWL_AWAIT(event, ctx.schedule_wait("go"));
  if (event.ok()) return ctx.complete(event.value());
  return ctx.fail(event.error());
}

// Fails when its event comes.
Poll fails(OrchestrationContext& ctx) {
  PAWL_AWAIT(event, ctx.schedule_wait("go"));
  if (event.ok()) return ctx.fail("as asked");
  return ctx.fail(event.error());
}

// Goes on as new every 25 s.
Poll rounds(OrchestrationContext& ctx) {
  PAWL_AWAIT(slept, ctx.schedule_timer(seconds(25)));
  if (!slept.ok()) return ctx.fail(slept.error());
  return ctx.continue_as_new("");
}

// Takes no notice of a request for 20 s, and of no other one.
Poll cleans_up(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(20)));
  return ctx.complete("clean");
}

// Does not end in time.
Poll ignores(OrchestrationContext& ctx) {
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  return ctx.complete("late");
}

Poll parent(OrchestrationContext& ctx) {
  if (ctx.start_orchestration("waits", InstanceId("detached"), "") != ErrorKind::kNone)
    return ctx.fail("refused");
  PAWL_AWAIT(done, ctx.schedule_sub_orchestration("waits", "", {InstanceId("kid")}));
  return ctx.complete(done.ok() ? done.value() : done.error().text);
}

class TimeLimits : public Story {
 protected:
  TimeLimits() {
    g_is_other_code = false;
    add("waits", waits);
    add("fails", fails);
    add("rounds", rounds);
    add("cleans_up", cleans_up);
    add("ignores", ignores);
    add("parent", parent);
  }
  static StartOptions limited(milliseconds limit) {
    StartOptions options;
    options.time_limit = limit;
    return options;
  }
  void start_limited(std::string_view id, std::string_view name, milliseconds limit = minutes(1)) {
    ASSERT_EQ(client()->start_orchestration(name, InstanceId(id), "", limited(limit)), Status::kOk)
        << client()->error_text();
  }
  Status change(std::string_view id, std::optional<milliseconds> limit) {
    return client()->change_time_limit(id, limit);
  }
  // "limit left", each in ms or "-".
  std::string shown_limit(std::string_view id) {
    InstanceInfo info;
    EXPECT_EQ(client()->get_instance_info(id, &info), Status::kOk) << id;
    const auto text = [](OptionalMs ms) {
      return ms.has_value() ? std::to_string(ms.value()) : std::string("-");
    };
    return text(info.time_limit_ms) + " " + text(info.time_left_ms);
  }
  std::size_t requests_of(std::string_view id) { return count(history(id), "cancel_requested"); }
  // It runs until just before the limit, and has ended just after it.
  void expect_end_in(std::string_view id, std::int64_t ms, std::string_view end = kMinuteIsOver) {
    pass(ms - 500);
    EXPECT_TRUE(is_running(id)) << id;
    pass(1'000);
    ASSERT_TRUE(has_ended(id)) << id;
    EXPECT_EQ(outcome_of(id), end) << id;
    EXPECT_EQ(requests_of(id), 1U) << id;
    EXPECT_EQ(shown_limit(id).back(), '-') << "nothing is due after the end";
  }
};

// ---- who gives it ----

TEST_F(TimeLimits, ItEndsAsACancellationWithItsReason) {
  Worker& worker = start_worker();
  start_limited("a", "waits");
  EXPECT_EQ(shown_limit("a"), "60000 60000");
  start("unlimited", "waits");
  EXPECT_EQ(shown_limit("unlimited"), "- -");
  expect_end_in("a", 60'000);
  EXPECT_EQ(worker.lines.count("cancel_requested instance=a execution=1 "
                               "reason=time limit of 60000 ms is over"),
            1U)
      << worker.lines.all();
  pass(kDayMs);
  EXPECT_TRUE(is_running("unlimited"));
  EXPECT_EQ(requests_of("unlimited"), 0U);
}

TEST_F(TimeLimits, WhatEndsInTimeIsNotAsked) {
  start_worker();
  start_limited("a", "waits");
  pass(59'000);
  raise_event("a", "go", "in time");
  EXPECT_EQ(end_of("a"), "completed in time");
  EXPECT_EQ(shown_limit("a"), "60000 -");
  pass(10'000);
  EXPECT_EQ(outcome_of("a"), "completed in time");
}

TEST_F(TimeLimits, ItCountsFromTheEndOfADelay) {
  start_worker();
  StartOptions later = limited(minutes(1));
  later.start_after = seconds(30);
  ASSERT_EQ(client()->start_orchestration("waits", InstanceId("a"), "", later), Status::kOk);
  EXPECT_EQ(shown_limit("a"), "60000 90000");
  expect_end_in("a", 90'000);
}

// The least and the greatest values, in each call that takes one.
TEST_F(TimeLimits, AnyPositiveTimeIsALimit) {
  Worker& worker = start_worker();
  start_limited("least", "waits", milliseconds(1));
  EXPECT_EQ(end_of("least", 1'000), "failed cancelled time limit of 1 ms is over");
  StartOptions longest = limited(milliseconds::max());
  longest.start_after = milliseconds::max();
  ASSERT_EQ(client()->start_orchestration("waits", InstanceId("never"), "", longest), Status::kOk);
  start_limited("greatest", "waits", milliseconds::max());
  start("changed", "waits");
  ASSERT_EQ(change("changed", milliseconds::max()), Status::kOk);
  pass(kDayMs);
  for (const char* id : {"never", "greatest", "changed"})
    EXPECT_TRUE(is_running(id)) << id;
  for (const milliseconds bad : {milliseconds(0), milliseconds(-1), milliseconds::min()}) {
    EXPECT_EQ(client()->start_orchestration("waits", InstanceId("bad"), "", limited(bad)),
              Status::kInvalidArgument);
    EXPECT_EQ(std::string(client()->error_text()),
              "time_limit is " + std::to_string(bad.count()) + " ms");
    SendOptions starting;
    starting.start_if_ended = StartIfEnded{"waits", "", limited(bad)};
    EXPECT_EQ(client()->raise_event("bad", "go", "", starting), Status::kInvalidArgument);
    EXPECT_EQ(worker.runtime->start_orchestration("waits", InstanceId("bad"), "", limited(bad)),
              Status::kInvalidArgument);
    EXPECT_EQ(worker.runtime->raise_event("bad", "go", "", starting), Status::kInvalidArgument);
    EXPECT_EQ(worker.runtime->change_time_limit("changed", bad), Status::kInvalidArgument);
    EXPECT_EQ(change("changed", bad), Status::kInvalidArgument);
    EXPECT_EQ(client()->error_text(), "a time limit is above 0");
    const Registry::TimeLimit bad_default[] = {{"waits", minutes(1)}, {"fails", bad}};
    EXPECT_EQ(registry.set_time_limits(bad_default), Status::kInvalidArgument);
  }
  EXPECT_FALSE(is_there("bad"));
  EXPECT_FALSE(registry.time_limit_ms("waits").has_value()) << "a refused call changes nothing";
}

TEST_F(TimeLimits, AMessageAndTheRuntimeStartWithOne) {
  Worker& worker = start_worker();
  SendOptions starting;
  starting.start_if_ended = StartIfEnded{"waits", "", limited(minutes(1))};
  ASSERT_EQ(client()->enqueue_event("by message", "q", "m", starting), Status::kOk);
  EXPECT_EQ(answer_of(worker,
                      [&](Status* answer) {
                        return worker.runtime->start_orchestration("waits", InstanceId("here"), "",
                                                                   limited(minutes(1)), keep_answer,
                                                                   answer);
                      }),
            Status::kOk);
  EXPECT_EQ(answer_of(worker,
                      [&](Status* answer) {
                        return worker.runtime->enqueue_event("here too", "q", "m", starting,
                                                             keep_answer, answer);
                      }),
            Status::kOk);
  pass(59'000);
  for (const char* id : {"by message", "here", "here too"})
    EXPECT_TRUE(is_running(id)) << id;
  pass(2'000);
  for (const char* id : {"by message", "here", "here too"})
    EXPECT_EQ(outcome_of(id), kMinuteIsOver) << id;
}

// The id is in use, so the start that comes with it is not used, nor is its limit.
TEST_F(TimeLimits, AStartThatTakesARunningInstanceLeavesItsLimit) {
  start_worker();
  start("a", "waits");
  StartOptions taking = limited(seconds(1));
  taking.if_running = IfRunning::kTake;
  ASSERT_EQ(client()->start_orchestration("waits", InstanceId("a"), "", taking), Status::kOk);
  EXPECT_EQ(shown_limit("a"), "- -");
}

TEST_F(TimeLimits, ADefinitionGivesOneWhereTheStartGivesNone) {
  const Registry::TimeLimit limits[] = {{"waits", minutes(1)}, {"rounds", seconds(35)}};
  ASSERT_EQ(registry.set_time_limits(limits), Status::kOk);
  const Registry::TimeLimit unknown[] = {{"nowhere", minutes(1)}};
  EXPECT_EQ(registry.set_time_limits(unknown), Status::kNotFound);
  start_worker();
  start("a", "waits");
  start_limited("own", "waits", minutes(2));
  start("p", "parent");
  start("r", "rounds");
  start("other", "fails");
  pass(1'000);
  EXPECT_EQ(shown_limit("p"), "- -");
  EXPECT_EQ(shown_limit("other"), "- -");
  for (const char* id : {"a", "kid", "detached"})
    EXPECT_EQ(shown_limit(id).substr(0, 6), "60000 ") << id;
  EXPECT_EQ(shown_limit("own").substr(0, 7), "120000 ");
  pass(40'000);
  EXPECT_EQ(outcome_of("r"), "failed cancelled time limit of 35000 ms is over");
  EXPECT_EQ(client().status("r").execution_id, 2) << "it counts over executions";
  pass(20'000);
  for (const char* id : {"a", "kid", "detached"})
    EXPECT_EQ(outcome_of(id), kMinuteIsOver) << id;
  EXPECT_EQ(outcome_of("p"), "completed time limit of 60000 ms is over");
  EXPECT_TRUE(is_running("own"));
  pass(60'000);
  EXPECT_EQ(outcome_of("own"), "failed cancelled time limit of 120000 ms is over");
}

// It counts from the first turn, since no worker knows the definition before.
TEST_F(TimeLimits, TheOneOfADefinitionCountsFromTheFirstTurn) {
  const Registry::TimeLimit limits[] = {{"waits", minutes(1)}};
  ASSERT_EQ(registry.set_time_limits(limits), Status::kOk);
  start("a", "waits");
  machine.advance(600'000);
  start_worker();
  expect_end_in("a", 60'000);
}

// ---- how long it counts ----

TEST_F(TimeLimits, ItCountsOverExecutions) {
  start_worker();
  start_limited("a", "rounds");
  expect_end_in("a", 60'000);
  EXPECT_EQ(client().status("a").execution_id, 3);
}

TEST_F(TimeLimits, TheGraceFollowsIt) {
  options.timing.cancel_grace = seconds(30);
  start_worker();
  start_limited("a", "ignores");
  expect_end_in(
      "a", 90'000,
      "failed cancelled the code did not end within 30000 ms (timing.cancel_grace) of the "
      "cancel request");
}

// A limit that came due while the power was off is over at the boot; a known time without power
// counts.
TEST_F(TimeLimits, ItCountsOverBoots) {
  start_worker();
  start_limited("due", "waits");
  start_limited("credited", "waits", std::chrono::hours(24));
  start_limited("later", "waits", std::chrono::hours(48));
  pass(1'000);
  workers.clear();
  machine.advance(120'000);
  start("the last commit of this boot", "waits");
  forget_client();
  machine.reboot(kDayMs);
  start_worker();
  EXPECT_EQ(end_of("due", 2'000), kMinuteIsOver);
  EXPECT_EQ(end_of("credited", 2'000), "failed cancelled time limit of 86400000 ms is over");
  pass(kDayMs - 200'000);
  EXPECT_TRUE(is_running("later"));
  EXPECT_EQ(end_of("later", 200'000), "failed cancelled time limit of 172800000 ms is over");
}

// A gap that becomes known later counts only for limits that were given before it. Without a
// trusted clock the off time does not count.
TEST_F(TimeLimits, AGapThatIsLearntCountsForOlderLimitsOnly) {
  start_worker();
  start_limited("old", "waits", std::chrono::hours(1));
  start_limited("given anew", "waits", std::chrono::hours(1));
  pass(1'000);
  const std::int64_t wall_ms = machine.wall_ms();
  workers.clear();
  forget_client();
  machine.reboot(kDayMs, false);
  start_worker();
  start_limited("young", "waits", std::chrono::hours(1));
  ASSERT_EQ(change("given anew", std::chrono::hours(1)), Status::kOk);
  pass(600'000);
  EXPECT_TRUE(is_running("old"));
  machine.set_wall(wall_ms + kDayMs + 600'000);
  machine.set_synced(true);
  EXPECT_EQ(end_of("old", 400'000), "failed cancelled time limit of 3600000 ms is over");
  EXPECT_TRUE(is_running("young"));
  EXPECT_TRUE(is_running("given anew"));
  EXPECT_EQ(end_of("young", 3'600'000), "failed cancelled time limit of 3600000 ms is over");
  EXPECT_EQ(end_of("given anew", 1'000), "failed cancelled time limit of 3600000 ms is over");
}

// ---- what it meets ----

TEST_F(TimeLimits, ASuspendedOneGetsTheRequest) {
  start_worker();
  start_limited("a", "waits");
  pass(1'000);
  ASSERT_EQ(client()->suspend_instance("a"), Status::kOk);
  pass(100'000);
  EXPECT_EQ(client().status("a").state, OrchestrationState::kSuspended);
  EXPECT_EQ(shown_limit("a"), "60000 -");
  ASSERT_EQ(client()->resume_instance("a"), Status::kOk);
  EXPECT_EQ(end_of("a", 1'000), kMinuteIsOver);
  EXPECT_EQ(requests_of("a"), 1U);
}

// Rules: R8.1.
TEST_F(TimeLimits, TheFirstRequestIsTheOnlyOne) {
  start_worker();
  for (const char* id : {"waiting", "taken"})
    start_limited(id, "cleans_up");
  pass(50'000);
  ASSERT_EQ(client()->suspend_instance("waiting"), Status::kOk);
  for (const char* id : {"waiting", "taken"})
    cancel_instance(id, "by an operator");
  pass(11'000);
  EXPECT_EQ(shown_limit("waiting"), "60000 -");
  InstanceStats stats;
  ASSERT_EQ(client()->get_instance_stats("waiting", &stats), Status::kOk);
  EXPECT_EQ(stats.messages_waiting, 1) << "a request waits, so the limit writes none";
  ASSERT_EQ(client()->resume_instance("waiting"), Status::kOk);
  pass(30'000);
  for (const char* id : {"waiting", "taken"}) {
    EXPECT_EQ(outcome_of(id), "completed clean") << id;
    ASSERT_EQ(requests_of(id), 1U) << id;
    for (const auto& event : history(id))
      EXPECT_TRUE(event.kind != "cancel_requested" || event.payload == "by an operator") << id;
  }
}

TEST_F(TimeLimits, ATerminatedOrDeletedOneIsLeftAlone) {
  start_worker();
  start_limited("terminated", "waits");
  start_limited("p", "parent");
  pass(1'000);
  ASSERT_EQ(change("kid", minutes(1)), Status::kOk);
  ASSERT_EQ(client()->terminate_instance("terminated", "enough"), Status::kOk);
  ASSERT_EQ(end_of("terminated"), "failed terminated enough");
  workers.clear();  // so that nothing sweeps what is deleted
  ASSERT_EQ(client()->delete_instance("p", true), Status::kOk);
  machine.advance(120'000);
  start_worker();
  pass(10'000);
  EXPECT_EQ(outcome_of("terminated"), "failed terminated enough");
  EXPECT_FALSE(is_there("kid"));
}

// Many limits that are over at once are taken in batches, and hide no other work.
TEST_F(TimeLimits, ManyAreOverAtOnce) {
  constexpr int kMany = 500;
  Worker& worker = start_worker();
  for (int i = 0; i < kMany; ++i)
    start_limited("i" + std::to_string(i), "waits", minutes(10));
  pass(1'000);
  machine.advance(700'000);
  const std::uint64_t before = worker.runtime->stats().turns;
  ASSERT_TRUE(worker.runtime->tick(milliseconds::max()).ok());
  EXPECT_LE(worker.runtime->stats().turns - before, options.limits.batch);
  start("other", "waits");
  raise_event("other", "go", "served");
  EXPECT_EQ(end_of("other", 500), "completed served");
  for (int i = 0; i < kMany; ++i)
    ASSERT_EQ(end_of("i" + std::to_string(i), 2'000),
              "failed cancelled time limit of 600000 ms is over");
}

// The loop sleeps until a limit is over, also one that another process gave.
TEST_F(TimeLimits, TheLoopSleepsUntilIt) {
  Worker& worker = start_worker();
  start_limited("a", "waits", seconds(10));
  pass(1'000);
  const OptionalMs due = worker.runtime->next_due();
  ASSERT_TRUE(due.has_value());
  EXPECT_LE(due.value(), machine.boot_ms() + 9'000);
  const std::uint64_t ticks = worker.runtime->stats().ticks;
  pass(8'500);
  EXPECT_LE(worker.runtime->stats().ticks - ticks, 5U);
  EXPECT_EQ(end_of("a", 1'000), "failed cancelled time limit of 10000 ms is over");
}

// ---- restarts and next executions ----

// Rules: R10.1, R10.2.
TEST_F(TimeLimits, ARestartOfAFailedOneBeginsItAnew) {
  start_worker();
  for (const char* id : {"start", "good"}) {
    start_limited(id, "fails");
    pass(50'000);
    raise_event(id, "go");
    ASSERT_EQ(end_of(id), "failed application as asked");
  }
  pass(300'000);
  ASSERT_EQ(client()->restart_instance("start", RestartFrom::kStart), Status::kOk);
  EXPECT_EQ(shown_limit("start"), "60000 60000");
  expect_end_in("start", 60'000);
  // One that its limit ended begins anew, too.
  ASSERT_EQ(client()->restart_instance("start", RestartFrom::kStart), Status::kOk);
  expect_end_in("start", 60'000);
}

TEST_F(TimeLimits, ARestartFromTheLastGoodEventBeginsItAnew) {
  add("fails_once", [](ActivityContext& ctx) { return ctx.fail("jammed"); });
  add("works", [](OrchestrationContext& ctx) -> Poll {
    PAWL_AWAIT(done, ctx.schedule_activity("fails_once", ""));
    return done.ok() ? ctx.complete("") : ctx.fail(done.error());
  });
  start_worker();
  start_limited("a", "works");
  ASSERT_EQ(end_of("a"), "failed application jammed");
  pass(300'000);
  workers.clear();
  ASSERT_EQ(client()->restart_instance("a", RestartFrom::kLastGoodEvent), Status::kOk);
  EXPECT_EQ(shown_limit("a"), "60000 60000");
}

// A stopped instance has not ended: its limit goes on, and may be over.
TEST_F(TimeLimits, ARestartOfAStoppedOneKeepsIt) {
  testing::expect_errors("instance_stopped", 3);
  start_worker();
  start_limited("in time", "waits");
  start_limited("too late", "waits");
  start_limited("resumed", "waits");
  pass(1'000);
  g_is_other_code = true;
  restart();
  for (const char* id : {"in time", "too late", "resumed"})
    raise_event(id, "wakes");
  for (const char* id : {"in time", "too late", "resumed"})
    ASSERT_EQ(end_of(id).substr(0, 22), "stopped nondeterminism") << id;
  g_is_other_code = false;
  pass(20'000);
  ASSERT_EQ(client()->restart_instance("in time", RestartFrom::kStart), Status::kOk);
  pass(50'000);
  EXPECT_EQ(outcome_of("in time"), kMinuteIsOver)
      << "60 s from its start, and not from the restart";
  EXPECT_EQ(shown_limit("too late"), "60000 -") << "the request waits";
  ASSERT_EQ(client()->restart_instance("too late", RestartFrom::kStart), Status::kOk);
  EXPECT_EQ(end_of("too late", 1'000), kMinuteIsOver);
  ASSERT_EQ(client()->resume_instance("resumed"), Status::kOk);
  EXPECT_EQ(end_of("resumed", 1'000), kMinuteIsOver);
}

// Rules: R10.5.
TEST_F(TimeLimits, ANextExecutionHasThatOfItsStart) {
  const Registry::TimeLimit limits[] = {{"fails", minutes(1)}};
  ASSERT_EQ(registry.set_time_limits(limits), Status::kOk);
  start_worker();
  start_limited("a", "waits", seconds(30));
  raise_event("a", "go", "first");
  ASSERT_EQ(end_of("a"), "completed first");
  StartOptions next;
  next.if_ended = IfEnded::kNextExecution;
  ASSERT_EQ(client()->start_orchestration("waits", InstanceId("a"), "", next), Status::kOk);
  pass(40'000);
  EXPECT_EQ(shown_limit("a"), "- -") << "the start gives none";
  raise_event("a", "go", "second");
  ASSERT_EQ(end_of("a"), "completed second");
  ASSERT_EQ(client()->start_orchestration("fails", InstanceId("a"), "", next), Status::kOk);
  expect_end_in("a", 60'000);
  next.time_limit = seconds(20);
  next.start_after = seconds(5);
  ASSERT_EQ(client()->start_orchestration("waits", InstanceId("a"), "", next), Status::kOk);
  EXPECT_EQ(shown_limit("a"), "20000 25000");
  expect_end_in("a", 25'000, "failed cancelled time limit of 20000 ms is over");
}

// ---- an operator ----

TEST_F(TimeLimits, AnOperatorChangesIt) {
  Worker& worker = start_worker();
  for (const char* id : {"shorter", "longer", "removed"})
    start_limited(id, "waits");
  start("given", "waits");
  pass(10'000);
  ASSERT_EQ(change("shorter", seconds(10)), Status::kOk);
  EXPECT_EQ(shown_limit("shorter"), "10000 10000") << "it counts from now";
  EXPECT_EQ(answer_of(worker,
                      [&](Status* answer) {
                        return worker.runtime->change_time_limit("longer", minutes(2), keep_answer,
                                                                 answer);
                      }),
            Status::kOk);
  ASSERT_EQ(change("removed", std::nullopt), Status::kOk);
  EXPECT_EQ(shown_limit("removed"), "- -");
  ASSERT_EQ(change("given", minutes(1)), Status::kOk);
  expect_end_in("shorter", 10'000, "failed cancelled time limit of 10000 ms is over");
  expect_end_in("given", 49'500);
  EXPECT_TRUE(is_running("longer"));
  expect_end_in("longer", 59'000, "failed cancelled time limit of 120000 ms is over");
  pass(kDayMs);
  EXPECT_TRUE(is_running("removed"));
}

TEST_F(TimeLimits, AChangeThatComesTooLateIsRefused) {
  start_worker();
  EXPECT_EQ(change("nowhere", minutes(1)), Status::kNotFound);
  start_limited("ended", "waits");
  raise_event("ended", "go");
  ASSERT_TRUE(ends("ended"));
  EXPECT_EQ(change("ended", minutes(1)), Status::kStale);
  EXPECT_EQ(client()->error_text(), "the instance has ended");
  start_limited("asked", "cleans_up");
  pass(1'000);
  ASSERT_EQ(client()->suspend_instance("asked"), Status::kOk);
  cancel_instance("asked", "enough");
  EXPECT_EQ(change("asked", minutes(9)), Status::kStale) << "the request waits";
  ASSERT_EQ(client()->resume_instance("asked"), Status::kOk);
  pass(1'000);
  EXPECT_EQ(change("asked", std::nullopt), Status::kStale) << "a turn took it";
  EXPECT_EQ(client()->error_text(), "the instance was asked to stop");
  start("terminated", "waits");
  pass(1'000);
  workers.clear();
  ASSERT_EQ(client()->terminate_instance("terminated", "enough"), Status::kOk);
  EXPECT_EQ(change("terminated", minutes(1)), Status::kStale);
}

// A start alone gives back the limit that an operator removed.
TEST_F(TimeLimits, ARemovedOneStaysRemoved) {
  const Registry::TimeLimit limits[] = {{"fails", minutes(1)}};
  ASSERT_EQ(registry.set_time_limits(limits), Status::kOk);
  start("a", "fails");
  ASSERT_EQ(change("a", std::nullopt), Status::kOk) << "before it has begun";
  start_worker();
  pass(100'000);
  EXPECT_TRUE(is_running("a"));
  raise_event("a", "go");
  ASSERT_EQ(end_of("a"), "failed application as asked");
  ASSERT_EQ(client()->restart_instance("a", RestartFrom::kStart), Status::kOk);
  pass(100'000);
  EXPECT_EQ(shown_limit("a"), "- -");
  raise_event("a", "go");
  ASSERT_EQ(end_of("a"), "failed application as asked");
  StartOptions next;
  next.if_ended = IfEnded::kNextExecution;
  ASSERT_EQ(client()->start_orchestration("fails", InstanceId("a"), "", next), Status::kOk);
  expect_end_in("a", 60'000);
}

// ---- crashes ----

// A death at each write, of the start, of the request that the limit makes, of the turn that takes
// it: the instance ends once, with one request, no later than its limit.
TEST_F(TimeLimits, DeathAtEveryWrite) {
  bool all_written = false;
  for (std::uint64_t nth = 1; !all_written && nth < 400; nth += PAWL_SAMPLE) {
    const std::string id = "i" + std::to_string(nth);
    Worker& worker = restart();
    start_limited(id, "waits", seconds(10));
    const std::uint64_t before = machine.writes();
    worker.watch.hold();
    machine.fail_write(nth, Status::kIo, true);
    static_cast<void>(drive_until([&] { return machine.writes() >= before + nth; }, 20'000));
    all_written = machine.writes() < before + nth;
    worker.kill();
    machine.fail_write(0, Status::kOk, false);
    restart();
    ASSERT_EQ(end_of(id, 12'000), "failed cancelled time limit of 10000 ms is over") << nth;
    ASSERT_EQ(requests_of(id), 1U) << nth;
    ASSERT_EQ(shown_limit(id), "10000 -") << nth;
  }
  EXPECT_TRUE(all_written);
}

}  // namespace
}  // namespace pawl
