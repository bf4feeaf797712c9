// Goal: an operator restarts a failed instance, from its start or from before the failure, with all
// that had succeeded. The failed execution stays as it is, the restarted one replays like any
// other, and a crash at any moment changes nothing.
#include <gtest/gtest.h>

#include <string>

#include "pawl/visit.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::Story;
using testing::Worker;
using testing::World;
using testing::WorldOptions;

bool g_is_mended = false;  // activities that failed succeed from now on
int g_good = 0;            // runs of "good"
int g_bad = 0;
int g_undo = 0;
std::string g_inputs;  // inputs of "good"

ActivityResult good(ActivityContext& ctx) {
  ++g_good;
  g_inputs += std::string(ctx.input()) + " ";
  return ctx.ok(ctx.input());
}
ActivityResult bad(ActivityContext& ctx) {
  ++g_bad;
  return g_is_mended ? ctx.ok("mended") : ctx.fail("jammed");
}
ActivityResult undo(ActivityContext& ctx) {
  ++g_undo;
  return ctx.ok("");
}

// Runs two activities at once, one of which fails; the one that succeeded does not run again.
Poll pair(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("good", "first"));
  const Handle one = ctx.schedule_activity("good", "beside");
  const Handle other = ctx.schedule_activity("bad", "");
  PAWL_AWAIT(both, ctx.join(one, other));
  static_cast<void>(both);
  PAWL_AWAIT(result, other);
  PAWL_AWAIT(beside, one);
  if (!result.ok()) return ctx.fail(result.error());
  PAWL_AWAIT_DONE(ctx.schedule_activity("good", std::to_string(ctx.execution_id())));
  return ctx.complete(std::string(first.value()) + " " + std::string(beside.value()) + " " +
                      std::string(result.value()));
}

// Undoes its work before it fails; the values and the status show how far it came.
Poll undoes(OrchestrationContext& ctx) {
  if (ctx.set_kv_value("state", "open") != ErrorKind::kNone) return ctx.fail("refused");
  PAWL_AWAIT(result, ctx.schedule_activity("bad", ""));
  if (!result.ok()) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("undo", ""));
    if (ctx.set_kv_value("state", "undone") != ErrorKind::kNone ||
        ctx.set_kv_value("trouble", "yes") != ErrorKind::kNone ||
        ctx.set_custom_status("broken") != ErrorKind::kNone)
      return ctx.fail("refused");
    return ctx.fail(result.error());
  }
  return ctx.complete(ctx.get_kv_value("state").value_or("nothing"));
}

// Continues with the first result before it looks at the one that fails.
Poll overtakes(OrchestrationContext& ctx) {
  const Handle one = ctx.schedule_activity("good", "one");
  const Handle other = ctx.schedule_activity("bad", "");
  PAWL_AWAIT_DONE(one);
  const Handle next = ctx.schedule_activity("good", "next");
  PAWL_AWAIT(result, other);
  if (!result.ok()) return ctx.fail(result.error());
  PAWL_AWAIT_DONE(next);
  return ctx.complete(result.value());
}

// The orchestration that it starts stays started.
Poll launches(OrchestrationContext& ctx) {
  if (ctx.start_orchestration("waits", InstanceId("launched"), "") != ErrorKind::kNone)
    return ctx.fail("refused");
  PAWL_AWAIT(result, ctx.schedule_activity("bad", ""));
  return result.ok() ? ctx.complete(result.value()) : ctx.fail(result.error());
}

// The second execution overwrites the value that it found, and passes the old one on.
Poll counts(OrchestrationContext& ctx) {
  const std::string found = std::string(ctx.get_kv_value("count").value_or("0"));
  if (ctx.set_kv_value("count", found + "1") != ErrorKind::kNone) return ctx.fail("refused");
  if (ctx.execution_id() == 1) return ctx.continue_as_new("");
  PAWL_AWAIT_DONE(ctx.schedule_activity("good", found));
  PAWL_AWAIT(result, ctx.schedule_activity("bad", ""));
  if (!result.ok()) return ctx.fail(result.error());
  return ctx.complete(ctx.get_kv_value("count").value_or("none"));
}

Poll child(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_activity("bad", ""));
  return result.ok() ? ctx.complete(result.value()) : ctx.fail(result.error());
}
Poll parent(OrchestrationContext& ctx) {
  const Session session = ctx.open_session("tool");
  PAWL_AWAIT_DONE(ctx.schedule_activity("good", "opens", Target::own(session)));
  const Handle slow = ctx.schedule_timer(std::chrono::seconds(30));
  PAWL_AWAIT(result, ctx.schedule_sub_orchestration("child", ""));
  if (!result.ok()) return ctx.fail(result.error());
  PAWL_AWAIT_DONE(slow);
  PAWL_AWAIT(used, ctx.schedule_activity("good", "uses", Target::own(session)));
  return ctx.complete(used.ok() ? result.value() : used.error().text);
}

Poll fails_by_itself(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("good", ctx.input()));
  return ctx.fail("too dry");
}
Poll waits(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("good", "before"));
  PAWL_AWAIT(waited, ctx.schedule_timer(std::chrono::minutes(1)));
  if (waited.cancelled()) return ctx.fail("cancelled");
  return ctx.complete("waited");
}

bool g_is_other_code = false;
Poll changes(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("good", g_is_other_code ? "other" : "one"));
  PAWL_AWAIT(result, ctx.schedule_activity("bad", ""));
  if (!result.ok()) return ctx.fail(result.error());
  return ctx.complete(ctx.orchestration_version());
}

// Continues in spite of a cancel request, until its grace is over.
Poll stubborn(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("good", g_is_other_code ? "other" : "one"));
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete("slept");
}

class RestartTest : public Story {
 protected:
  RestartTest() {
    fill();
    options.worker_node_id = "one";
  }
  void fill() {
    g_is_mended = g_is_other_code = false;
    g_good = g_bad = g_undo = 0;
    g_inputs.clear();
    add("pair", pair);
    add("undoes", undoes);
    add("launches", launches);
    add("overtakes", overtakes);
    add("counts", counts);
    add("child", child);
    add("parent", parent);
    add("fails_by_itself", fails_by_itself);
    add("waits", waits);
    add("changes", changes);
    add("stubborn", stubborn);
    add("good", good);
    add("bad", bad);
    add("undo", undo);
  }
  Status restart(std::string_view id, RestartFrom from = RestartFrom::kLastGoodEvent,
                 std::string_view by = "ann") {
    RestartOptions how;
    how.by = by;
    return client()->restart_instance(id, from, how);
  }
  std::string refusal(std::string_view id, RestartFrom from) {
    const Status status = restart(id, from);
    return std::string(status_name(status)) + ": " + std::string(client()->error_text());
  }
  std::string value(std::string_view id, std::string_view key) {
    KvEntry entry;
    bool found = false;
    EXPECT_EQ(client()->get_kv_value(id, key, &entry, &found), Status::kOk);
    return found ? std::string(entry.value) : "none";
  }
  std::string executions(std::string_view id) {
    std::string text;
    auto all = visit([&](const ExecutionInfo& one) {
      text += std::string(execution_state_name(one.state)) + " " + std::string(one.output) + "; ";
    });
    EXPECT_EQ(client()->list_executions(id, all), Status::kOk) << client()->error_text();
    return text;
  }
  // Returns who restarted the instance, as its first event says.
  std::string mark(std::string_view id) {
    std::string text;
    auto keep = visit([&](const HistoryEvent& event) {
      if (event.id == 1) text = std::string(event.tag) + " of " + std::to_string(event.ref);
    });
    EXPECT_EQ(client()->read_history(id, 0, keep), Status::kOk);
    return text;
  }
  // Changes the code so that it no longer fits the history; the next turn stops the instance.
  void stop_for_other_code(std::string_view id) {
    g_is_other_code = true;
    raise_event(id, "turn");
    ASSERT_TRUE(drive_until([&] { return !is_running(id); }, 1'000));
    ASSERT_EQ(client().status(id).state, OrchestrationState::kStopped);
  }
  // Starts "stubborn", asks it to stop, and stops it for other code 10 s later.
  void stop_while_its_grace_runs(std::string_view id) {
    start(id, "stubborn");
    pass(1'000);
    cancel_instance(id, "enough");
    pass(10'000);
    stop_for_other_code(id);
  }
};

// Rules: R10.2, R10.3.
TEST_F(RestartTest, WhatFailedIsScheduledAgainAndWhatSucceededIsNot) {
  Worker& worker = start_worker();
  start("a", "pair");
  ASSERT_EQ(end_of("a"), "failed application jammed");
  EXPECT_EQ(g_good, 2);
  const auto failed = history("a", 1);
  g_is_mended = true;
  ASSERT_EQ(restart("a"), Status::kOk) << client()->error_text();
  EXPECT_TRUE(is_running("a"));
  EXPECT_EQ(end_of("a"), "completed first beside mended");
  EXPECT_EQ(g_bad, 2);
  // No activity that succeeded ran again; the code replays as if the execution were its own.
  EXPECT_EQ(g_inputs, "first beside 1 ");
  EXPECT_EQ(executions("a"), "failed jammed; completed first beside mended; ");
  EXPECT_EQ(mark("a"), "ann of 1");
  EXPECT_EQ(count(history("a", 2), "ended"), 1U);
  // The failed execution is unchanged.
  const auto still = history("a", 1);
  ASSERT_EQ(still.size(), failed.size());
  for (std::size_t i = 0; i < still.size(); ++i)
    EXPECT_EQ(still[i].kind + still[i].payload, failed[i].kind + failed[i].payload);
  EXPECT_EQ(worker.lines.count("info orchestration_restarted instance=a execution=2 by=ann "
                               "from=last_good_event events="),
            1U)
      << worker.lines.all();
}

// Rule: R10.2. Both results came in one turn, and its command for the first one is cut off.
TEST_F(RestartTest, WhatTheFailedTurnDecidedIsDecidedAgain) {
  start_worker();
  start("a", "overtakes");
  ASSERT_EQ(end_of("a"), "failed application jammed");
  const auto failed = history("a", 1);
  ASSERT_EQ(failed.size(), 7U);
  EXPECT_EQ(failed[3].kind + failed[4].kind, "activity_doneactivity_done");
  EXPECT_EQ(failed[5].kind, "activity");
  g_is_mended = true;
  ASSERT_EQ(restart("a"), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("a"), "completed mended");
  EXPECT_EQ(g_inputs, "one next ");
}

// Rule: R10.2.
TEST_F(RestartTest, WhatCameBehindTheFailureIsCutOff) {
  start_worker();
  start("a", "undoes");
  ASSERT_EQ(end_of("a"), "failed application jammed");
  EXPECT_EQ(value("a", "state"), "undone");
  EXPECT_EQ(shown("a"), "broken");
  // The instance fails again in the same way, and is restarted again.
  ASSERT_EQ(restart("a"), Status::kOk) << client()->error_text();
  ASSERT_EQ(end_of("a"), "failed application jammed");
  EXPECT_EQ(g_undo, 2);
  g_is_mended = true;
  ASSERT_EQ(restart("a"), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("a"), "completed open");
  EXPECT_EQ(value("a", "state"), "open");
  EXPECT_EQ(value("a", "trouble"), "none");
  EXPECT_EQ(shown("a"), "");
  EXPECT_EQ(g_undo, 2);
  EXPECT_EQ(g_bad, 3);
  EXPECT_EQ(mark("a"), "ann of 1");
  EXPECT_EQ(client().status("a").execution_id, 3);
}

// Rule: R10.2. It finds what the failed execution found, though that has overwritten it.
TEST_F(RestartTest, ValuesAreThoseOfTheLastGoodEvent) {
  start_worker();
  start("a", "counts");
  ASSERT_EQ(end_of("a"), "failed application jammed");
  EXPECT_EQ(value("a", "count"), "011");
  g_is_mended = true;
  ASSERT_EQ(restart("a"), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("a"), "completed 011");
  EXPECT_EQ(g_inputs, "01 ");
  EXPECT_EQ(mark("a"), "ann of 2");
}

// Rule: R10.4.
TEST_F(RestartTest, TimersChildrenAndSessionsUnderWayBeginAnew) {
  start_worker();
  start("a", "parent");
  ASSERT_EQ(end_of("a"), "failed application jammed");
  g_is_mended = true;
  ASSERT_EQ(restart("a"), Status::kOk) << client()->error_text();
  pass(20'000);
  EXPECT_TRUE(is_running("a"));  // the timer still runs
  EXPECT_EQ(end_of("a"), "completed mended");
  EXPECT_EQ(g_inputs, "opens uses ");
  // The failed child keeps its id, and belongs to the failed execution.
  EXPECT_EQ(outcome_of("a::1.6"), "failed application jammed");
  EXPECT_EQ(outcome_of("a::2.6"), "completed mended");
}

// Rule: R10.4.
TEST_F(RestartTest, DetachedStartsAreNotRepeated) {
  Worker& worker = start_worker();
  start("a", "launches");
  ASSERT_EQ(end_of("a"), "failed application jammed");
  g_is_mended = true;
  ASSERT_EQ(restart("a"), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("a"), "completed mended");
  EXPECT_EQ(end_of("launched"), "completed waited");
  EXPECT_EQ(worker.lines.count("start_refused"), 0U) << worker.lines.all();
}

// Rule: R10.1.
TEST_F(RestartTest, FromTheStartAllIsDoneAgain) {
  Worker& worker = start_worker();
  start("a", "fails_by_itself", "bed-7");
  ASSERT_EQ(end_of("a"), "failed application too dry");
  EXPECT_EQ(refusal("a", RestartFrom::kLastGoodEvent).substr(0, 16), "not_restartable:");
  ASSERT_EQ(restart("a", RestartFrom::kStart, {}), Status::kOk) << client()->error_text();
  ASSERT_EQ(end_of("a"), "failed application too dry");
  EXPECT_EQ(g_inputs, "bed-7 bed-7 ");
  EXPECT_EQ(mark("a"), "operator of 0");
  EXPECT_EQ(executions("a"), "failed too dry; failed too dry; ");
  EXPECT_EQ(worker.lines.count("orchestration_restarted instance=a execution=2 by=operator "
                               "from=start events=0"),
            1U)
      << worker.lines.all();
  // Values stay, as with continue_as_new().
  start("b", "undoes");
  ASSERT_EQ(end_of("b"), "failed application jammed");
  g_is_mended = true;
  ASSERT_EQ(restart("b", RestartFrom::kStart), Status::kOk);
  EXPECT_EQ(value("b", "state"), "undone");
  EXPECT_EQ(end_of("b"), "completed open");
}

// Rule: R10.1.
TEST_F(RestartTest, FromTheStartTheVersionIsThatOfAStart) {
  add("changes", changes, "2.0.0");
  start_worker();
  for (const char* id : {"a", "b", "c"})
    ASSERT_EQ(client()->start_orchestration("changes", InstanceId(id), "", {"1.0.0"}), Status::kOk);
  for (const char* id : {"a", "b", "c"})
    ASSERT_EQ(end_of(id), "failed application jammed");
  g_is_mended = true;
  ASSERT_EQ(restart("a", RestartFrom::kStart), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 2.0.0");
  RestartOptions how;
  how.version = "1.0.0";
  ASSERT_EQ(client()->restart_instance("b", RestartFrom::kStart, how), Status::kOk);
  EXPECT_EQ(end_of("b"), "completed 1.0.0");
  EXPECT_EQ(client()->restart_instance("c", RestartFrom::kLastGoodEvent, how),
            Status::kInvalidArgument);
  ASSERT_EQ(restart("c"), Status::kOk);
  EXPECT_EQ(end_of("c"), "completed 1.0.0");
}

// Rule: R10.2. Nothing of its history led to its end, so all of it is good.
TEST_F(RestartTest, WhatAnOperatorEndedGoesOnWhereItWas) {
  start_worker();
  start("a", "waits");
  pass(1'000);
  ASSERT_EQ(client()->terminate_instance("a", "by mistake"), Status::kOk);
  ASSERT_EQ(end_of("a"), "failed terminated by mistake");
  pass(120'000);
  ASSERT_EQ(restart("a"), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("a"), "completed waited");
  EXPECT_EQ(g_inputs, "before ");
}

TEST_F(RestartTest, WhatCannotBeRestartedIsRefusedWithAReason) {
  start_worker();
  using From = RestartFrom;
  EXPECT_EQ(refusal("nobody", From::kStart), "not_found: there is no instance \"nobody\"");
  start("running", "waits");
  pass(100);
  for (const From from : {From::kStart, From::kLastGoodEvent})
    EXPECT_EQ(refusal("running", from), "still_running: not restarted: the instance runs");
  ASSERT_EQ(client()->suspend_instance("running"), Status::kOk);
  EXPECT_EQ(refusal("running", From::kStart),
            "still_running: not restarted: the instance is suspended; resume it");
  ASSERT_EQ(client()->resume_instance("running"), Status::kOk);
  ASSERT_EQ(end_of("running"), "completed waited");
  for (const From from : {From::kStart, From::kLastGoodEvent})
    EXPECT_EQ(refusal("running", from), "not_restartable: not restarted: the instance completed");
  start("cancelled", "waits");
  pass(100);
  cancel_instance("cancelled", "enough");
  ASSERT_EQ(end_of("cancelled"), "failed application cancelled");
  EXPECT_EQ(refusal("cancelled", From::kLastGoodEvent).substr(0, 52),
            "not_restartable: not restarted: it was asked to stop");
  EXPECT_EQ(restart("cancelled", From::kStart), Status::kOk);
  EXPECT_EQ(end_of("cancelled"), "completed waited");
  start("parent", "parent");
  ASSERT_EQ(end_of("parent"), "failed application jammed");
  EXPECT_EQ(refusal("parent::1.6", From::kStart).substr(0, 15), "child_instance:");
  RestartOptions how;
  how.by = "line\nbreak";
  EXPECT_EQ(client()->restart_instance("parent", From::kStart, how), Status::kInvalidArgument);
  how = RestartOptions();
  how.version = "new";
  EXPECT_EQ(client()->restart_instance("parent", From::kStart, how), Status::kInvalidArgument);
  // The refused call wrote nothing.
  EXPECT_EQ(executions("parent"), "failed jammed; ");
}

// The grace ends 60 s after the request, whatever happens meanwhile (R8.7, R10.1).
TEST_F(RestartTest, AStoppedOneBegunAnewIsStillAskedToStop) {
  testing::expect_errors("instance_stopped");
  Worker& worker = start_worker();
  stop_while_its_grace_runs("a");
  pass(20'000);
  ASSERT_EQ(restart("a", RestartFrom::kStart), Status::kOk) << client()->error_text();
  pass(28'000);
  EXPECT_TRUE(is_running("a"));
  const auto begun = history("a", 2);
  ASSERT_GT(begun.size(), 2U);
  EXPECT_EQ(begun[0].error, ErrorKind::kCancelled);
  EXPECT_EQ(begun[1].kind + " " + begun[1].payload, "cancel_requested enough");
  EXPECT_EQ(count(begun, "activity"), 0U) << "it has seen the request before it asks for anything";
  EXPECT_EQ(worker.lines.count("by=ann from=start events=0 cancel_request=kept"), 1U)
      << worker.lines.all();
  pass(2'000);
  EXPECT_EQ(outcome_of("a"),
            "failed cancelled the code did not end within 60000 ms (timing.cancel_grace) of the "
            "cancel request");
}

// Rules: R8.7, R10.1.
TEST_F(RestartTest, AStoppedOneWhoseGraceIsOverEndsWithItsFirstTurn) {
  testing::expect_errors("instance_stopped");
  start_worker();
  stop_while_its_grace_runs("a");
  pass(271'000);
  ASSERT_EQ(restart("a", RestartFrom::kStart), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("a", 100).substr(0, 41), "failed cancelled the code did not end wit");
  const auto events = history("a", 2);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind + events[1].kind, "startedended");
}

// No turn has taken the request yet. Its grace begins with the turn that does (R8.7, R10.1).
TEST_F(RestartTest, AStoppedOneThatIsAskedToStopIsAskedWhenItBeginsAnew) {
  testing::expect_errors("instance_stopped");
  start_worker();
  start("a", "stubborn");
  pass(1'000);
  stop_for_other_code("a");
  cancel_instance("a", "late");
  pass(100'000);
  ASSERT_EQ(restart("a", RestartFrom::kStart), Status::kOk) << client()->error_text();
  pass(59'000);
  EXPECT_TRUE(is_running("a"));
  EXPECT_EQ(history("a", 2).at(1).kind, "cancel_requested");
  EXPECT_EQ(end_of("a", 2'000).substr(0, 16), "failed cancelled");
}

// The request is over, since the instance ended as it was asked to (R8.7, R10.1).
TEST_F(RestartTest, AFailedOneBegunAnewIsAskedNoMore) {
  Worker& worker = start_worker();
  start("a", "waits");
  pass(100);
  cancel_instance("a", "enough");
  ASSERT_EQ(end_of("a"), "failed application cancelled");
  ASSERT_EQ(restart("a", RestartFrom::kStart), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed waited");
  EXPECT_EQ(history("a", 2).at(0).error, ErrorKind::kClosed);
  EXPECT_EQ(worker.lines.count("by=ann from=start events=0 cancel_request=revoked"), 1U)
      << worker.lines.all();
}

// Rules: R10.1, R10.2.
TEST_F(RestartTest, AStoppedOneIsTriedAgainOrBegunAnew) {
  testing::expect_errors("instance_stopped", 3);
  start_worker();
  start("a", "changes");
  ASSERT_EQ(end_of("a"), "failed application jammed");
  // The code has changed in the meantime and does not fit the history that it is to continue.
  g_is_other_code = g_is_mended = true;
  ASSERT_EQ(restart("a"), Status::kOk);
  ASSERT_EQ(end_of("a").substr(0, 22), "stopped nondeterminism");
  EXPECT_EQ(executions("a"), "failed jammed; ");
  ASSERT_EQ(restart("a"), Status::kOk);
  ASSERT_EQ(end_of("a").substr(0, 22), "stopped nondeterminism");
  g_is_other_code = false;
  ASSERT_EQ(restart("a"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 1.0.0");
  EXPECT_EQ(g_inputs, "one ");

  g_is_mended = false;
  start("b", "changes");
  ASSERT_EQ(end_of("b"), "failed application jammed");
  g_is_other_code = g_is_mended = true;
  ASSERT_EQ(restart("b"), Status::kOk);
  ASSERT_EQ(end_of("b").substr(0, 22), "stopped nondeterminism");
  ASSERT_EQ(restart("b", RestartFrom::kStart), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("b"), "completed 1.0.0");
  EXPECT_EQ(executions("b"), "failed jammed; completed 1.0.0; ");
  EXPECT_EQ(g_inputs, "one one other ");
}

// Rule: R10.1.
TEST_F(RestartTest, AStoppedOneWithAHistoryIsEndedAndBegunAnew) {
  testing::expect_errors("instance_stopped");
  start_worker();
  start("a", "waits");
  pass(1'000);
  start("b", "changes");
  ASSERT_EQ(end_of("b"), "failed application jammed");
  // The same name now has other code.
  Registry other;
  ASSERT_EQ(other.add_orchestration("waits", changes, "1.0.0"), Status::kOk);
  ASSERT_EQ(other.add_activity("good", good), Status::kOk);
  ASSERT_EQ(other.add_activity("bad", bad), Status::kOk);
  for (const auto& worker : workers)
    worker->kill();
  workers.clear();
  start_worker(other, options);
  ASSERT_EQ(end_of("a").substr(0, 22), "stopped nondeterminism");
  enqueue_event("a", "queue", "kept");
  g_is_mended = true;
  ASSERT_EQ(restart("a", RestartFrom::kStart), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("a"), "completed 1.0.0");
  EXPECT_EQ(executions("a"), "failed restarted from the start; completed 1.0.0; ");
}

// The history is pruned between the call and the first turn.
TEST_F(RestartTest, AHistoryThatWasRemovedMeanwhileStopsTheInstance) {
  testing::expect_errors("instance_stopped");
  start_worker();
  start("a", "pair");
  ASSERT_EQ(end_of("a"), "failed application jammed");
  workers.back()->stop();
  workers.clear();
  ASSERT_EQ(restart("a"), Status::kOk);
  Removed removed;
  ASSERT_EQ(client()->prune_executions("a", 1, 0, &removed), Status::kOk);
  EXPECT_EQ(removed.executions, 1);
  start_worker();
  EXPECT_EQ(end_of("a"), "stopped corrupt the history that it was to go on with was removed");
  EXPECT_EQ(refusal("a", RestartFrom::kStart),
            "not_restartable: not restarted: the start of its last execution is not stored");
}

// A kill after any tick: each turn replays the events that were carried over from their rows.
TEST_F(RestartTest, ReplaysLikeAnyOtherOverKills) {
  for (const char* name : {"pair", "undoes", "counts", "parent"}) {
    g_is_mended = false;
    start_worker();
    start(name, name);
    ASSERT_EQ(end_of(name), "failed application jammed");
    g_is_mended = true;
    ASSERT_EQ(restart(name), Status::kOk);
    EXPECT_EQ(end_with_kills(name).substr(0, 9), "completed") << name;
    workers.clear();
  }
}

// The limit ended the instance before its code recorded anything, so its history has the start
// alone (R10.2).
TEST_F(RestartTest, OneThatALimitEndedInItsFirstTurnGoesOnWithMoreRoom) {
  options.limits.commands_a_turn_max = 1;
  start_worker();
  start("a", "undoes");
  EXPECT_EQ(end_of("a").substr(0, 12), "failed limit");
  options.limits.commands_a_turn_max = 16;
  g_is_mended = true;
  Story::restart();
  ASSERT_EQ(restart("a"), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("a"), "completed open");
}

// The worker's process dies at any write to the disk while it restarts the instance.
TEST_F(RestartTest, ACrashAtAnyWriteLosesNothingAndDoublesNothing) {
  bool crashed = true;
  for (std::uint64_t nth = 1; crashed; nth += PAWL_SAMPLE) {
    ASSERT_LT(nth, 400U);
    g_is_mended = false;
    g_good = 0;
    WorldOptions how;
    how.seed = nth;
    how.runtime.verify_turns = true;
    how.runtime.limits.crashes_max = how.runtime.limits.strikes_max = 100;
    World world(registry, how);
    ASSERT_EQ(world.start(), Status::kOk);
    ASSERT_EQ(world.client().start_orchestration("undoes", InstanceId("a"), ""), Status::kOk);
    ASSERT_EQ(world.run_until_done("a"), Status::kOk);
    g_is_mended = true;
    world.crash_at_write(nth);
    ASSERT_EQ(world.client().restart_instance("a", RestartFrom::kLastGoodEvent), Status::kOk);
    static_cast<void>(world.run_until_done("a"));
    crashed = !world.running();
    world.crash_at_write(0);
    if (crashed) {
      ASSERT_EQ(world.start(), Status::kOk);
    }
    OrchestrationStatus status;
    ASSERT_EQ(world.run_until_done("a", &status), Status::kOk) << nth;
    EXPECT_EQ(status.output, "open") << nth;
    EXPECT_EQ(status.execution_id, 2) << nth;
    KvEntry entry;
    bool found = false;
    ASSERT_EQ(world.client().get_kv_value("a", "state", &entry, &found), Status::kOk);
    EXPECT_EQ(entry.value, "open");
  }
}

}  // namespace
}  // namespace pawl
