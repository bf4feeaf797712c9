// Goal: children and detached starts work through the public API. Method: on the simulated machine.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "world.hpp"

namespace pawl {
namespace {

using testing::Gateway;
using testing::GatewayTest;
using testing::Worker;

// ---- orchestrations ----
std::map<std::string, int> g_effects;  // runs of "note", by input

ActivityResult note(ActivityContext& ctx) {
  ++g_effects[std::string(ctx.input())];
  return ctx.ok(ctx.input());
}

// Input "fail": fails; "again": continues as new first; "wait": waits until it is cancelled; else
// it completes.
Poll child(OrchestrationContext& ctx) {
  const std::string input(ctx.input());
  if (input == "again") return ctx.continue_as_new("last");
  if (input == "wait") {
    PAWL_AWAIT(waited, ctx.schedule_timer(std::chrono::hours(1000)));
    return waited.cancelled() ? ctx.fail(waited.error()) : ctx.complete("?");
  }
  PAWL_AWAIT(noted, ctx.schedule_activity("note", input));
  if (input == "fail") return ctx.fail("no water");
  return ctx.complete("did " + input);
}

Poll parent(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_sub_orchestration("child", ctx.input()));
  if (result.cancelled()) {
    const CleanUpScope scope = ctx.clean_up();
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "undo"));
    return ctx.complete("undone");
  }
  if (!result.ok()) return ctx.fail(result.error());
  return ctx.complete(result.value());
}

Poll with_id(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_sub_orchestration("child", ctx.input(), {InstanceId("pump")}));
  if (!result.ok()) return ctx.fail(result.error());
  return ctx.complete(result.value());
}

// Takes the notices of 20 children, one by one, in two executions.
Poll family(OrchestrationContext& ctx) {
  Handle all[20];
  for (int i = 0; i < 20; ++i)
    all[i] = ctx.schedule_sub_orchestration("child", i % 5 == 0 ? "again" : std::to_string(i));
  PAWL_AWAIT_DONE(ctx.join_all(all, 20));
  std::string results;
  for (const Handle& one : all) {
    PAWL_AWAIT(result, one);
    if (!result.ok()) return ctx.fail(result.error());
    results += std::string(result.value().substr(4)) + " ";
  }
  if (ctx.execution_id() == 1) return ctx.continue_as_new(results);
  return ctx.complete(std::string(ctx.input()) == results ? results : "not the same");
}

Poll loser(OrchestrationContext& ctx) {
  const Handle slow = ctx.schedule_sub_orchestration("child", "wait", {InstanceId("slow")});
  PAWL_AWAIT(first, ctx.select(slow, ctx.schedule_timer(std::chrono::seconds(5))));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(5)));
  return ctx.complete(std::to_string(first.index()));
}

// Ends while its child still runs; the input chooses the kind of end. A second execution completes.
Poll leaver(OrchestrationContext& ctx) {
  if (ctx.execution_id() == 2) return ctx.complete("second");
  static_cast<void>(ctx.schedule_sub_orchestration("child", "wait", {InstanceId("left")}));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(5)));
  if (ctx.input() == "again") return ctx.continue_as_new("");
  return ctx.input() == "fail" ? ctx.fail("failed") : ctx.complete("completed");
}

Poll fruitless(OrchestrationContext& ctx) {
  const Handle never = ctx.schedule_sub_orchestration("child", "wait", {InstanceId("never")});
  ctx.cancel(never);
  static_cast<void>(ctx.schedule_sub_orchestration("child", "wait", {InstanceId("nor_this")}));
  return ctx.complete("");
}

Poll starter(OrchestrationContext& ctx) {
  const std::string input(ctx.input());
  static_cast<void>(ctx.start_orchestration(
      "child", InstanceId("detached-" + std::to_string(ctx.execution_id())), "detached"));
  if (input == "wait") PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  if (input == "again" && ctx.execution_id() < 3) return ctx.continue_as_new("again");
  return input == "fail" ? ctx.fail("failed") : ctx.complete("completed");
}

// Starts a chain of children until an id does not fit.
Poll deep(OrchestrationContext& ctx) {
  PAWL_AWAIT(below, ctx.schedule_sub_orchestration("deep", ""));
  if (below.error().kind == ErrorKind::kInvalidArgument) return ctx.complete("bottom");
  return below.ok() ? ctx.complete(below.value()) : ctx.fail(below.error());
}

class Children : public GatewayTest {
 protected:
  void SetUp() override {
    g_effects.clear();
    add("child", child);
    add("parent", parent);
    add("with_id", with_id);
    add("family", family);
    add("loser", loser);
    add("leaver", leaver);
    add("in_vain", fruitless);
    add("starter", starter);
    add("deep", deep);
    add("note", note);
  }
  bool drive_until_there(std::string_view id) {
    return drive_until([&] { return is_there(id); });
  }
};

TEST_F(Children, ResultAndFailureReachTheParent) {
  Worker& worker = start_worker();
  start_at(worker, "p", "parent", "seven");
  start_at(worker, "q", "parent", "fail");
  EXPECT_EQ(end_of("p"), "completed did seven");
  EXPECT_EQ(end_of("q"), "failed application no water");
  EXPECT_EQ(end_of("p::1.2"), "completed did seven");
}

TEST_F(Children, ChildThatContinuesAsNewStillNotifies) {
  Worker& worker = start_worker();
  start_at(worker, "p", "parent", "again");
  EXPECT_EQ(end_of("p"), "completed did last");
}

TEST_F(Children, IdsOfTwoExecutionsAreNotTheSame) {
  Worker& worker = start_worker();
  start_at(worker, "f", "family");
  EXPECT_EQ(end_of("f"), "completed last 1 2 3 4 last 6 7 8 9 last 11 12 13 14 last 16 17 18 19 ");
  EXPECT_TRUE(is_there("f::1.2"));
  EXPECT_TRUE(is_there("f::2.2"));
  EXPECT_EQ(g_effects["7"], 2);
}

// Property: whichever process dies between two ticks, and whichever continues, the end of each
// child is reported exactly once. The engine would stop at a second completion in the history, and
// a lost one would leave the join open.
TEST_F(Children, ExactlyOneNoticeOverKillsBetweenTicks) {
  for (int kill_every = 1; kill_every <= 7; kill_every += 2) {
    Gateway own(static_cast<std::uint64_t>(kill_every));
    options.limits.crashes_max = options.limits.strikes_max = 1'000;
    Worker* worker = nullptr;
    const auto replace = [&] {
      if (worker != nullptr) worker->kill();
      own.workers.clear();
      worker = &own.start_worker(registry, options);
    };
    replace();
    start_at(*worker, "f", "family");
    ASSERT_EQ(worker->runtime->tick(std::chrono::milliseconds::max()).status(), Status::kOk);
    for (int ticks = 0; ticks < 4'000 && !own.has_ended("f"); ++ticks) {
      // Each life is long enough to do something.
      if (ticks % (kill_every + 2) == kill_every + 1) replace();
      worker->node.run_jobs();
      const Result<bool> more = worker->runtime->tick(std::chrono::milliseconds::max());
      ASSERT_TRUE(more.ok()) << status_name(more.status());
      if (!more.value()) own.machine.advance(1'000);
    }
    EXPECT_EQ(own.outcome_of("f"),
              "completed last 1 2 3 4 last 6 7 8 9 last 11 12 13 14 last 16 17 18 19 ")
        << kill_every;
    EXPECT_EQ(worker->lines.count("stopped"), 0U);
  }
}

TEST_F(Children, AnIdThatExistsIsAnAnswerAndDisturbsNoOther) {
  Worker& worker = start_worker();
  start_at(worker, "pump", "child", "root");
  EXPECT_EQ(end_of("pump"), "completed did root");
  start_at(worker, "p", "with_id", "x");
  EXPECT_EQ(end_of("p"), "failed application an instance of this id exists");
  EXPECT_EQ(end_of("pump"), "completed did root");
  EXPECT_EQ(g_effects["x"], 0);
}

// A child whose id exists fails, also while that instance runs, and whichever parent it has.
TEST_F(Children, AnIdThatRunsIsAnAnswerToo) {
  Worker& worker = start_worker();
  start_at(worker, "first", "with_id", "wait");
  ASSERT_TRUE(drive_until_there("pump"));
  start_at(worker, "second", "with_id", "wait");
  EXPECT_EQ(end_of("second"), "failed application an instance of this id exists");
  OrchestrationStatus status;
  ASSERT_EQ(worker.runtime->get_status("pump", &status), Status::kOk);
  EXPECT_EQ(status.state, OrchestrationState::kRunning);
}

TEST_F(Children, LoserOfASelectIsCancelledAndItsNoticeDropped) {
  Worker& worker = start_worker();
  start_at(worker, "l", "loser");
  EXPECT_EQ(end_of("slow"), "failed cancelled parent does not wait for it any more");
  EXPECT_EQ(end_of("l"), "completed 1");
  EXPECT_GE(worker.runtime->stats().messages_dropped, 1U);
}

TEST_F(Children, EveryEndOfTheParentCancelsOpenChildren) {
  for (const auto& [input, reason] : std::map<std::string, std::string>{
           {"again", "parent continued as new"}, {"fail", "parent ended"}, {"", "parent ended"}}) {
    Gateway own;
    start_at(own.start_worker(registry, options), "p", "leaver", input);
    EXPECT_EQ(own.end_of("left"), "failed cancelled " + reason) << input;
  }
}

TEST_F(Children, ParentSeesItsCancelAndItsChildrenGoWithIt) {
  Worker& worker = start_worker();
  start_at(worker, "p", "parent", "wait");
  ASSERT_TRUE(drive_until_there("p::1.2"));
  ASSERT_EQ(worker.runtime->cancel_instance("p", "rain"), Status::kOk);
  EXPECT_EQ(end_of("p"), "completed undone");
  EXPECT_EQ(g_effects["undo"], 1);
  EXPECT_EQ(end_of("p::1.2"), "failed cancelled parent ended");
}

TEST_F(Children, TerminatedChildIsNotifiedAndTerminatedParentCancels) {
  Worker& worker = start_worker();
  start_at(worker, "p", "parent", "wait");
  start_at(worker, "q", "parent", "wait");
  ASSERT_TRUE(drive_until_there("q::1.2"));
  ASSERT_EQ(client()->terminate_instance("p::1.2", "by hand"), Status::kOk);
  EXPECT_EQ(end_of("p"), "failed terminated by hand");
  ASSERT_EQ(client()->terminate_instance("q", "by hand"), Status::kOk);
  EXPECT_EQ(end_of("q::1.2"), "failed cancelled parent ended");
}

TEST_F(Children, WhatIsGivenUpInTheSameTurnNeverIs) {
  Worker& worker = start_worker();
  start_at(worker, "p", "in_vain");
  EXPECT_EQ(end_of("p"), "completed ");
  EXPECT_FALSE(is_there("never"));
  EXPECT_FALSE(is_there("nor_this"));
}

TEST_F(Children, TooLongAnIdIsAnAnswer) {
  Worker& worker = start_worker();
  start_at(worker, "d", "deep");
  EXPECT_EQ(end_of("d"), "completed bottom");
}

TEST_F(Children, RootIdsOfTheirFormAreRefused) {
  Worker& worker = start_worker();
  EXPECT_EQ(client()->start_orchestration("child", InstanceId("a::1.2"), ""),
            Status::kInvalidArgument);
  static Status answer = Status::kOk;
  ASSERT_EQ(
      worker.runtime->start_orchestration("child", InstanceId("a::1.2"), "", {},
                                          [](void*, Status status) noexcept { answer = status; }),
      Status::kOk);
  drive_until([] { return answer != Status::kOk; });
  EXPECT_EQ(answer, Status::kInvalidArgument);
}

TEST_F(Children, DetachedStartsAreNeverLost) {
  for (const char* input : {"", "fail", "again", "wait"}) {
    Gateway own;
    start_at(own.start_worker(registry, options), "s", "starter", input);
    const std::string last = std::string(input) == "again" ? "detached-3" : "detached-1";
    EXPECT_EQ(own.end_of(last), "completed did detached") << input;
    EXPECT_TRUE(own.is_there("detached-1"));
  }
}

TEST_F(Children, DetachedStartOfAnIdThatExistsBreaksNothing) {
  Worker& worker = start_worker();
  start_at(worker, "detached-1", "child", "mine");
  EXPECT_EQ(end_of("detached-1"), "completed did mine");
  start_at(worker, "s", "starter");
  EXPECT_EQ(end_of("s"), "completed completed");
  EXPECT_EQ(end_of("detached-1"), "completed did mine");
  EXPECT_EQ(worker.lines.count("start_refused id=detached-1 instance=s"), 1U) << worker.lines.all();
}

// The other process has only the child's name, this one only the parent's.
TEST_F(Children, ParentAndChildInTwoProcesses) {
  Registry& parents = another_registry();
  ASSERT_EQ(parents.add_orchestration("parent", parent), Status::kOk);
  ASSERT_EQ(parents.add_activity("note", note), Status::kOk);
  start_at(start_worker(parents, options), "p", "parent", "there");
  ASSERT_TRUE(drive_until_there("p::1.2"));
  start_worker();
  EXPECT_EQ(end_of("p"), "completed did there");
}

}  // namespace
}  // namespace pawl
