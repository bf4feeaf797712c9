// Goal: children and detached starts work through the public API. Method: on the simulated machine.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "world.hpp"

namespace pawl {
namespace {

using testing::drive;
using testing::TestClient;
using testing::Worker;

constexpr char kPath[] = "/data/pawl.db";

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

class Children : public ::testing::Test {
 protected:
  void SetUp() override {
    g_effects.clear();
    const auto ok = [](Status status) { ASSERT_EQ(status, Status::kOk); };
    ok(registry.add_orchestration("child", child));
    ok(registry.add_orchestration("parent", parent));
    ok(registry.add_orchestration("with_id", with_id));
    ok(registry.add_orchestration("family", family));
    ok(registry.add_orchestration("loser", loser));
    ok(registry.add_orchestration("leaver", leaver));
    ok(registry.add_orchestration("in_vain", fruitless));
    ok(registry.add_orchestration("starter", starter));
    ok(registry.add_orchestration("deep", deep));
    ok(registry.add_activity("note", note));
    machine.set_wall(1'800'000'000'000);
    machine.set_synced(true);
    options.database_path = kPath;
    options.verify_turns = true;
  }
  Status start(Worker& worker, const char* id, const char* name, const char* input) {
    return worker.runtime->start_orchestration(name, InstanceId(id), input);
  }
  std::string ended(Worker& worker, const std::string& id) {
    OrchestrationStatus status;
    const bool is_over = drive(machine, {&worker}, [&] {
      return worker.runtime->get_status(id, &status) == Status::kOk &&
             status.state != OrchestrationState::kRunning;
    });
    if (!is_over) return "still running";
    return std::string(orchestration_state_name(status.state)) + " " +
           error_kind_name(status.error) + " " + std::string(status.output);
  }
  Status status_of(Worker& worker, const char* id) {
    OrchestrationStatus status;
    return worker.runtime->get_status(id, &status);
  }

  sim::Machine machine{11};
  Registry registry;
  Options options;
};

TEST_F(Children, ResultAndFailureReachTheParent) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk) << worker.diagnostic.text();
  ASSERT_EQ(start(worker, "p", "parent", "seven"), Status::kOk);
  ASSERT_EQ(start(worker, "q", "parent", "fail"), Status::kOk);
  EXPECT_EQ(ended(worker, "p"), "completed none did seven");
  EXPECT_EQ(ended(worker, "q"), "failed application no water");
  EXPECT_EQ(ended(worker, "p::1.2"), "completed none did seven");
}

TEST_F(Children, ChildThatContinuesAsNewStillNotifies) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(start(worker, "p", "parent", "again"), Status::kOk);
  EXPECT_EQ(ended(worker, "p"), "completed none did last");
}

TEST_F(Children, IdsOfTwoExecutionsAreNotTheSame) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(start(worker, "f", "family", ""), Status::kOk);
  EXPECT_EQ(ended(worker, "f"),
            "completed none last 1 2 3 4 last 6 7 8 9 last 11 12 13 14 last 16 17 18 19 ");
  EXPECT_EQ(status_of(worker, "f::1.2"), Status::kOk);
  EXPECT_EQ(status_of(worker, "f::2.2"), Status::kOk);
  EXPECT_EQ(g_effects["7"], 2);
}

// Property: whichever process dies between two ticks, and whichever continues, the end of each
// child is reported exactly once. The engine would stop at a second completion in the history, and
// a lost one would leave the join open.
TEST_F(Children, ExactlyOneNoticeOverKillsBetweenTicks) {
  for (int kill_every = 1; kill_every <= 7; kill_every += 2) {
    sim::Machine own(static_cast<std::uint64_t>(kill_every));
    own.set_wall(1'800'000'000'000);
    own.set_synced(true);
    options.limits.crashes_max = options.limits.strikes_max = 1'000;
    std::unique_ptr<Worker> worker;
    const auto replace = [&] {
      if (worker != nullptr) worker->kill();
      auto next = std::make_unique<Worker>(own, registry, options);
      ASSERT_EQ(next->start(), Status::kOk) << next->diagnostic.text();
      worker = std::move(next);
    };
    replace();
    ASSERT_EQ(start(*worker, "f", "family", ""), Status::kOk);
    ASSERT_EQ(worker->runtime->tick(std::chrono::milliseconds::max()).status(), Status::kOk);
    OrchestrationStatus status;
    int ticks = 0;
    for (; ticks < 4'000; ++ticks) {
      // Each life is long enough to do something.
      if (ticks % (kill_every + 2) == kill_every + 1) replace();
      worker->node.run_jobs();
      const Result<bool> more = worker->runtime->tick(std::chrono::milliseconds::max());
      ASSERT_TRUE(more.ok()) << status_name(more.status());
      ASSERT_EQ(worker->runtime->get_status("f", &status), Status::kOk);
      if (status.state != OrchestrationState::kRunning) break;
      if (!more.value()) own.advance(1'000);
    }
    EXPECT_EQ(status.state, OrchestrationState::kCompleted) << kill_every << " " << status.output;
    EXPECT_EQ(status.output, "last 1 2 3 4 last 6 7 8 9 last 11 12 13 14 last 16 17 18 19 ");
    EXPECT_EQ(worker->lines.count("stopped"), 0U);
  }
}

TEST_F(Children, AnIdThatExistsIsAnAnswerAndDisturbsNoOther) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(start(worker, "pump", "child", "root"), Status::kOk);
  EXPECT_EQ(ended(worker, "pump"), "completed none did root");
  ASSERT_EQ(start(worker, "p", "with_id", "x"), Status::kOk);
  EXPECT_EQ(ended(worker, "p"), "failed application an instance of this id exists");
  EXPECT_EQ(ended(worker, "pump"), "completed none did root");
  EXPECT_EQ(g_effects["x"], 0);
}

// A child whose id exists fails, also while that instance runs, and whichever parent it has.
TEST_F(Children, AnIdThatRunsIsAnAnswerToo) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(start(worker, "first", "with_id", "wait"), Status::kOk);
  drive(machine, {&worker}, [&] { return status_of(worker, "pump") == Status::kOk; });
  ASSERT_EQ(start(worker, "second", "with_id", "wait"), Status::kOk);
  EXPECT_EQ(ended(worker, "second"), "failed application an instance of this id exists");
  OrchestrationStatus status;
  ASSERT_EQ(worker.runtime->get_status("pump", &status), Status::kOk);
  EXPECT_EQ(status.state, OrchestrationState::kRunning);
}

TEST_F(Children, LoserOfASelectIsCancelledAndItsNoticeDropped) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(start(worker, "l", "loser", ""), Status::kOk);
  EXPECT_EQ(ended(worker, "slow"), "failed cancelled parent does not wait for it any more");
  EXPECT_EQ(ended(worker, "l"), "completed none 1");
  EXPECT_GE(worker.runtime->stats().messages_dropped, 1U);
}

TEST_F(Children, EveryEndOfTheParentCancelsOpenChildren) {
  for (const auto& [input, reason] : std::map<std::string, std::string>{
           {"again", "parent continued as new"}, {"fail", "parent ended"}, {"", "parent ended"}}) {
    sim::Machine own(3);
    own.set_wall(1'800'000'000'000);
    Worker worker(own, registry, options);
    ASSERT_EQ(worker.start(), Status::kOk);
    ASSERT_EQ(start(worker, "p", "leaver", input.c_str()), Status::kOk);
    OrchestrationStatus status;
    const bool is_over = drive(own, {&worker}, [&] {
      return worker.runtime->get_status("left", &status) == Status::kOk &&
             status.state != OrchestrationState::kRunning;
    });
    ASSERT_TRUE(is_over) << input;
    EXPECT_EQ(status.error, ErrorKind::kCancelled);
    EXPECT_EQ(status.output, reason);
    worker.stop();
  }
}

TEST_F(Children, ParentSeesItsCancelAndItsChildrenGoWithIt) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(start(worker, "p", "parent", "wait"), Status::kOk);
  drive(machine, {&worker}, [&] { return status_of(worker, "p::1.2") == Status::kOk; });
  ASSERT_EQ(worker.runtime->cancel_instance("p", "rain"), Status::kOk);
  EXPECT_EQ(ended(worker, "p"), "completed none undone");
  EXPECT_EQ(g_effects["undo"], 1);
  EXPECT_EQ(ended(worker, "p::1.2"), "failed cancelled parent ended");
}

TEST_F(Children, TerminatedChildIsNotifiedAndTerminatedParentCancels) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(start(worker, "p", "parent", "wait"), Status::kOk);
  ASSERT_EQ(start(worker, "q", "parent", "wait"), Status::kOk);
  drive(machine, {&worker}, [&] { return status_of(worker, "q::1.2") == Status::kOk; });
  ASSERT_EQ(client->terminate_instance("p::1.2", "by hand"), Status::kOk);
  EXPECT_EQ(ended(worker, "p"), "failed terminated by hand");
  ASSERT_EQ(client->terminate_instance("q", "by hand"), Status::kOk);
  EXPECT_EQ(ended(worker, "q::1.2"), "failed cancelled parent ended");
}

TEST_F(Children, WhatIsGivenUpInTheSameTurnNeverIs) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(start(worker, "p", "in_vain", ""), Status::kOk);
  EXPECT_EQ(ended(worker, "p"), "completed none ");
  EXPECT_EQ(status_of(worker, "never"), Status::kNotFound);
  EXPECT_EQ(status_of(worker, "nor_this"), Status::kNotFound);
}

TEST_F(Children, TooLongAnIdIsAnAnswer) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(start(worker, "d", "deep", ""), Status::kOk);
  EXPECT_EQ(ended(worker, "d"), "completed none bottom");
}

TEST_F(Children, RootIdsOfTheirFormAreRefused) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  TestClient client(machine, kPath);
  EXPECT_EQ(client->start_orchestration("child", InstanceId("a::1.2"), ""),
            Status::kInvalidArgument);
  static Status answer = Status::kOk;
  ASSERT_EQ(
      worker.runtime->start_orchestration("child", InstanceId("a::1.2"), "", {},
                                          [](void*, Status status) noexcept { answer = status; }),
      Status::kOk);
  drive(machine, {&worker}, [] { return answer != Status::kOk; });
  EXPECT_EQ(answer, Status::kInvalidArgument);
}

TEST_F(Children, DetachedStartsAreNeverLost) {
  for (const char* input : {"", "fail", "again", "wait"}) {
    sim::Machine own(5);
    own.set_wall(1'800'000'000'000);
    Worker worker(own, registry, options);
    ASSERT_EQ(worker.start(), Status::kOk);
    ASSERT_EQ(start(worker, "s", "starter", input), Status::kOk);
    const std::string last = std::string(input) == "again" ? "detached-3" : "detached-1";
    OrchestrationStatus status;
    const bool is_over = drive(own, {&worker}, [&] {
      return worker.runtime->get_status(last, &status) == Status::kOk &&
             status.state == OrchestrationState::kCompleted;
    });
    EXPECT_TRUE(is_over) << input;
    EXPECT_EQ(status.output, "did detached");
    EXPECT_EQ(worker.runtime->get_status("detached-1", &status), Status::kOk);
    worker.stop();
  }
}

TEST_F(Children, DetachedStartOfAnIdThatExistsBreaksNothing) {
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk);
  ASSERT_EQ(start(worker, "detached-1", "child", "mine"), Status::kOk);
  EXPECT_EQ(ended(worker, "detached-1"), "completed none did mine");
  ASSERT_EQ(start(worker, "s", "starter", ""), Status::kOk);
  EXPECT_EQ(ended(worker, "s"), "completed none completed");
  EXPECT_EQ(ended(worker, "detached-1"), "completed none did mine");
  EXPECT_EQ(worker.lines.count("start_refused id=detached-1 instance=s"), 1U) << worker.lines.all();
}

// The other process has only the child's name, this one only the parent's.
TEST_F(Children, ParentAndChildInTwoProcesses) {
  Registry parents;
  ASSERT_EQ(parents.add_orchestration("parent", parent), Status::kOk);
  ASSERT_EQ(parents.add_activity("note", note), Status::kOk);
  Worker here(machine, parents, options);
  ASSERT_EQ(here.start(), Status::kOk);
  ASSERT_EQ(start(here, "p", "parent", "there"), Status::kOk);
  OrchestrationStatus status;
  drive(machine, {&here}, [&] { return status_of(here, "p::1.2") == Status::kOk; });
  Worker there(machine, registry, options);
  ASSERT_EQ(there.start(), Status::kOk);
  const bool is_over = drive(machine, {&there, &here}, [&] {
    return here.runtime->get_status("p", &status) == Status::kOk &&
           status.state != OrchestrationState::kRunning;
  });
  EXPECT_TRUE(is_over);
  EXPECT_EQ(status.output, "did there");
}

}  // namespace
}  // namespace pawl
