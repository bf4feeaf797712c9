// Goal: removal works through the public API beside a live runtime: trees, bulk, pruning, and
// retention.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pawl/visit.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using testing::Gateway;
using testing::GatewayTest;
using testing::TestClient;
using testing::Worker;

TestClient* g_client = nullptr;
Gateway* g_gateway = nullptr;
std::function<void()> g_meanwhile;
int g_runs = 0;
Status g_pruned = Status::kTimeout;

ActivityResult echo(ActivityContext& ctx) {
  ++g_runs;
  return ctx.ok(ctx.input());
}

// Blocks for ten seconds, while g_meanwhile and the worker's loop run.
ActivityResult slow(ActivityContext& ctx) {
  g_meanwhile();
  for (int i = 0; i < 10; ++i) {
    g_gateway->machine.advance(1'000);
    g_gateway->tick_all();
  }
  return ctx.ok("of the first");
}

// Uses a client of its own, like any activity that tidies up.
ActivityResult prune_self(ActivityContext& ctx) {
  g_pruned = (*g_client)->prune_executions(ctx.instance_id(), 2, 0);
  return g_pruned == Status::kOk ? ctx.ok("") : ctx.fail((*g_client)->error_text());
}

Poll works(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), "of the second"));
  return ctx.complete(done.value());
}

Poll sleeper(OrchestrationContext& ctx) {
  PAWL_AWAIT(slept, ctx.schedule_timer(std::chrono::minutes(20)));
  if (slept.cancelled()) return ctx.fail("asked to stop");
  return ctx.complete("slept");
}

Poll quick(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", ctx.input()));
  return ctx.complete("done");
}

// Waits for two children, and then completes.
Poll parent(OrchestrationContext& ctx) {
  const Handle one = ctx.schedule_sub_orchestration("sleeper", "", {InstanceId("one")});
  const Handle two = ctx.schedule_sub_orchestration("quick", "", {InstanceId("two")});
  PAWL_AWAIT_DONE(ctx.join(one, two));
  return ctx.complete("family");
}

// Continues for ever; each round has a child, and every second one removes older executions.
Poll eternal(OrchestrationContext& ctx) {
  const int round = std::stoi(std::string(ctx.input()));
  PAWL_AWAIT_DONE(ctx.schedule_sub_orchestration("quick", ctx.input()));
  if (round % 2 == 0) {
    PAWL_AWAIT(pruned, ctx.schedule_activity("prune_self", ""));
    if (!pruned.ok()) return ctx.fail(pruned.error());
  }
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  return ctx.continue_as_new(std::to_string(round + 1));
}

Poll rounds(OrchestrationContext& ctx) {
  const int round = std::stoi(std::string(ctx.input()));
  PAWL_AWAIT_DONE(ctx.schedule_sub_orchestration("quick", ctx.input()));
  if (round == 20) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
    return ctx.complete("after " + std::to_string(ctx.execution_id()));
  }
  return ctx.continue_as_new(std::to_string(round + 1));
}

Poll many_events(OrchestrationContext& ctx) {
  for (int i = 0; i < 5'000; ++i)
    static_cast<void>(ctx.utc_now_ms());
  return ctx.execution_id() == 4 ? ctx.complete("") : ctx.continue_as_new("");
}

class KeepIds final : public InstanceVisitor {
 public:
  void on_instance(const InstanceInfo& info) noexcept override { ids.emplace_back(info.id); }
  std::vector<std::string> ids;
};

class Removal : public GatewayTest {
 protected:
  Removal() {
    g_gateway = this;
    add("echo", echo);
    add("slow", slow, ActivityMode::kThreaded);
    add("works", works);
    add("prune_self", prune_self);
    add("sleeper", sleeper);
    add("quick", quick);
    add("parent", parent);
    add("eternal", eternal);
    add("rounds", rounds);
    options.limits.warm_instances = 64;
    g_client = &client();
    g_runs = 0;
    g_pruned = Status::kTimeout;
  }
  ~Removal() override { g_client = nullptr; }
  void begin() { worker = &start_worker(); }
  void settle() { pass(100); }
  // Four executions of 5,000 events: their removal takes more than one transaction.
  void allow_many_events() {
    options.limits.history_events_max = 16'000;
    options.limits.warm_bytes = std::size_t{16} * 1024 * 1024;
    options.limits.commands_a_turn_max = 6'000;
    add("many_events", many_events);
  }
  bool has_completed(std::string_view id) {
    return client().status(id).state == OrchestrationState::kCompleted;
  }
  std::vector<std::string> ids(InstanceFilter filter = {}) {
    KeepIds keep;
    Page page;
    EXPECT_EQ(client()->list_instances(filter, &page, keep), Status::kOk);
    return keep.ids;
  }
  int executions(std::string_view id) {
    int found = 0;
    auto count = visit([&found](const ExecutionInfo&) { ++found; });
    EXPECT_EQ(client()->list_executions(id, count), Status::kOk);
    return found;
  }

  Worker* worker = nullptr;
};

// ---- trees ----

TEST_F(Removal, TreeIsDeletedByItsRootOnly) {
  begin();
  start("p", "parent");
  settle();
  EXPECT_EQ(client()->delete_instance("one", true), Status::kChildInstance);
  EXPECT_NE(client()->error_text().find("goes with its root"), std::string_view::npos);
  EXPECT_EQ(client()->delete_instance("p", false), Status::kStillRunning);
  InstanceInfo info;
  ASSERT_EQ(client()->get_instance_info("one", &info), Status::kOk);
  EXPECT_EQ(info.parent_id, "p");
  for (const char* of : {"p", "two"}) {
    KeepIds tree;
    Page page;
    ASSERT_EQ(client()->get_instance_tree(of, &page, tree), Status::kOk);
    EXPECT_EQ(tree.ids, (std::vector<std::string>{"p", "one", "two"}));
  }
  KeepIds children;
  Page page;
  ASSERT_EQ(client()->list_children("p", &page, children), Status::kOk);
  EXPECT_EQ(children.ids, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(client()->list_children("nobody", &page, children), Status::kNotFound);
  Removed removed;
  ASSERT_EQ(client()->delete_instance("p", true, &removed), Status::kOk);
  EXPECT_EQ(removed.instances, 3);
  EXPECT_EQ(removed.executions, 3);
  EXPECT_GT(removed.events, 6);
  EXPECT_EQ(ids(), std::vector<std::string>{});
  // The state that the runtime still holds in memory brings nothing back.
  pass(1'300'000);
  EXPECT_EQ(ids(), std::vector<std::string>{});
  EXPECT_EQ(worker->runtime->stats().failed_ticks, 0U);
  start("p", "parent");
  EXPECT_TRUE(drive_until([&] { return has_completed("p"); }, 1'300'000));
}

// A client died between the mark and the end of the sweep: no call sees a half-removed instance,
// and a runtime ends the sweep.
TEST_F(Removal, RuntimeSweepsWhatAClientLeft) {
  allow_many_events();
  begin();
  start("a", "many_events");
  EXPECT_EQ(end_of("a"), "completed ");
  workers.clear();
  // Each time more writes succeed, until those of the first transaction do.
  for (std::uint64_t nth = 1; is_there("a"); nth += 10) {
    ASSERT_LT(nth, 4'000U);
    machine.fail_write(nth, Status::kFull, true);
    EXPECT_EQ(client()->delete_instance("a", false), Status::kFull);
    machine.fail_write(0, Status::kOk, false);
  }
  begin();
  EXPECT_TRUE(drive_until([&] { return !worker->runtime->next_due().has_passed(0); }));
  EXPECT_GT(worker->runtime->stats().events_removed, 10'000U);
  start("a", "quick");  // its id is free
}

// The instance is deleted while its activity runs, and its id is started again: the late result is
// dropped.
TEST_F(Removal, ResultForADeletedIdIsNotForItsSuccessor) {
  begin();
  start("a", "works", "slow");
  g_meanwhile = [this] {
    ASSERT_EQ(client()->delete_instance("a", true), Status::kOk);
    start("a", "works", "echo");
  };
  EXPECT_EQ(end_of("a"), "completed of the second");
  pass(20'000);
  EXPECT_EQ(worker->runtime->stats().activities_refused, 1U);
  EXPECT_EQ(outcome_of("a"), "completed of the second");
}

TEST_F(Removal, BulkTakesEndedTreesThatPass) {
  begin();
  for (const char* id : {"q1", "q2", "q3"})
    start(id, "quick");
  start("s", "sleeper");
  EXPECT_EQ(end_of("q3"), "completed done");
  settle();
  const std::int64_t day = machine.wall_ms();
  start("p", "parent");
  pass(2'000);
  start("q4", "quick");
  EXPECT_EQ(end_of("q4"), "completed done");
  EXPECT_EQ(ids().size(), 8U);
  // Removes the instances that completed before `day`.
  InstanceFilter filter;
  filter.updated_before_ms = day;
  Page page;
  page.rows_max = 2;
  Removed removed;
  ASSERT_EQ(client()->delete_instances(filter, &page, &removed), Status::kOk);
  EXPECT_EQ(removed.instances, 2) << "the limit of the page";
  ASSERT_EQ(client()->delete_instances(filter, &page, &removed), Status::kOk);
  EXPECT_EQ(removed.instances, 1);
  EXPECT_EQ(ids(), (std::vector<std::string>{"s", "p", "one", "two", "q4"}));
  // Removes by ids: a running instance, a child and a missing one are left out.
  const InstanceId wanted[] = {InstanceId("s"), InstanceId("two"), InstanceId("nobody"),
                               InstanceId("q4")};
  filter = InstanceFilter();
  filter.ids = wanted;
  filter.id_count = 4;
  page = Page();
  ASSERT_EQ(client()->delete_instances(filter, &page, &removed), Status::kOk);
  EXPECT_EQ(removed.instances, 1);
  EXPECT_FALSE(page.more);
  EXPECT_EQ(ids(), (std::vector<std::string>{"s", "p", "one", "two"}));
  EXPECT_EQ(end_of("p", 1'300'000), "completed family");
  page = Page();
  ASSERT_EQ(client()->delete_instances(InstanceFilter(), &page, &removed), Status::kOk);
  EXPECT_EQ(removed.instances, 4) << "children with their roots";
  EXPECT_EQ(ids(), std::vector<std::string>{});
}

// ---- the runtime's own calls ----

TEST_F(Removal, ManagementIsPiggybackedOnTheTick) {
  begin();
  Runtime& runtime = *worker->runtime;
  start("p", "parent");
  start("s", "sleeper");
  settle();
  Status answers[6];
  for (Status& answer : answers)
    answer = Status::kTimeout;
  ASSERT_EQ(runtime.suspend_instance("s", keep_answer, &answers[0]), Status::kOk);
  ASSERT_EQ(runtime.delete_instance("one", true, keep_answer, &answers[1]), Status::kOk);
  ASSERT_EQ(runtime.delete_instance("p", false, keep_answer, &answers[2]), Status::kOk);
  ASSERT_EQ(runtime.prune_executions("nobody", 1, 0, keep_answer, &answers[3]), Status::kOk);
  EXPECT_EQ(answers[0], Status::kTimeout);
  settle();
  EXPECT_EQ(answers[0], Status::kOk);
  EXPECT_EQ(client().status("s").state, OrchestrationState::kSuspended);
  EXPECT_EQ(answers[1], Status::kChildInstance);
  EXPECT_EQ(answers[2], Status::kStillRunning);
  EXPECT_EQ(answers[3], Status::kNotFound);
  ASSERT_EQ(runtime.resume_instance("s", keep_answer, &answers[0]), Status::kOk);
  ASSERT_EQ(runtime.terminate_instance("s", "by hand", keep_answer, &answers[1]), Status::kOk);
  // One tick deletes it, and frees its id for the next call.
  ASSERT_EQ(runtime.delete_instance("p", true, keep_answer, &answers[2]), Status::kOk);
  ASSERT_EQ(runtime.start_orchestration("quick", InstanceId("p"), "", {}, keep_answer, &answers[4]),
            Status::kOk);
  settle();
  EXPECT_EQ(answers[0], Status::kOk);
  EXPECT_EQ(answers[1], Status::kOk);
  EXPECT_EQ(client().status("s").error, ErrorKind::kTerminated);
  EXPECT_EQ(answers[2], Status::kOk);
  EXPECT_EQ(answers[4], Status::kOk);
  EXPECT_TRUE(drive_until([&] { return has_completed("p"); }));
  EXPECT_EQ(runtime.stats().instances_removed, 3U);
  EXPECT_EQ(runtime.stats().failed_ticks, 0U);
}

TEST_F(Removal, LargeRequestsTakeSeveralTicks) {
  allow_many_events();
  begin();
  Runtime& runtime = *worker->runtime;
  start("a", "many_events");
  EXPECT_EQ(end_of("a"), "completed ");
  Status pruned = Status::kTimeout;
  Status deleted = Status::kTimeout;
  Status started = Status::kTimeout;
  const std::uint64_t before = runtime.stats().commits;
  ASSERT_EQ(runtime.prune_executions("a", 3, 0, keep_answer, &pruned), Status::kOk);
  ASSERT_EQ(runtime.delete_instance("a", false, keep_answer, &deleted), Status::kOk);
  ASSERT_EQ(runtime.start_orchestration("quick", InstanceId("a"), "", {}, keep_answer, &started),
            Status::kOk);
  ASSERT_TRUE(drive_until([&] { return started != Status::kTimeout; }));
  EXPECT_EQ(pruned, Status::kOk);
  EXPECT_EQ(deleted, Status::kOk);
  EXPECT_EQ(started, Status::kOk) << "it waited for them";
  EXPECT_GE(runtime.stats().commits - before, 4U);
  EXPECT_EQ(runtime.stats().executions_removed, 4U);
  EXPECT_TRUE(drive_until([&] { return has_completed("a"); }));
}

// ---- pruning ----

TEST_F(Removal, SelfPruningEternal) {
  begin();
  start("e", "eternal", "1");
  ASSERT_TRUE(drive_until([&] { return client().status("e").execution_id == 12; }, 600'000));
  settle();
  EXPECT_EQ(g_pruned, Status::kOk);
  EXPECT_LE(executions("e"), 3);
  EXPECT_LE(ids().size(), 4U) << "its children go with their executions";
  const std::uint64_t turns = worker->runtime->stats().turns;
  // The instance continues, also when it is read from the database.
  worker = &restart();
  EXPECT_TRUE(drive_until([&] { return client().status("e").execution_id == 16; }, 600'000));
  EXPECT_EQ(client().status("e").state, OrchestrationState::kRunning);
  EXPECT_GT(turns, 0U);
}

TEST_F(Removal, PruneInBulkTakesRunningOnesToo) {
  begin();
  for (const char* id : {"r1", "r2"})
    start(id, "rounds", "15");
  start("q", "quick");
  ASSERT_TRUE(drive_until([&] { return client().status("r2").execution_id == 6; }));
  settle();
  EXPECT_EQ(executions("r1"), 6);
  Page page;
  Removed removed;
  ASSERT_EQ(client()->prune_instances(InstanceFilter(), &page, 2, 0, &removed), Status::kOk);
  EXPECT_FALSE(page.more);
  EXPECT_EQ(removed.executions, 16) << "8 of theirs, 8 of their children";
  EXPECT_EQ(removed.instances, 8);
  EXPECT_EQ(executions("r1"), 2);
  EXPECT_EQ(executions("r2"), 2);
  EXPECT_EQ(executions("q"), 1);
  ASSERT_TRUE(drive_until([&] { return has_completed("r1") && has_completed("r2"); }, 4'000'000));
  EXPECT_EQ(client().status("r1").output, "after 6");
}

// ---- retention ----

TEST_F(Removal, EndedTreesGoAfterTheirTime) {
  options.retention.age = std::chrono::seconds(30);
  begin();
  start("p", "parent");
  start("q", "quick");
  EXPECT_EQ(end_of("q"), "completed done");
  pass(29'000);
  EXPECT_TRUE(is_there("q"));
  pass(1'500);
  EXPECT_FALSE(is_there("q"));
  EXPECT_TRUE(is_there("two")) << "its root runs";
  EXPECT_EQ(worker->runtime->stats().instances_removed, 1U);
  EXPECT_EQ(end_of("p", 1'300'000), "completed family");
  // A wrong clock changes nothing.
  machine.set_wall(machine.wall_ms() + 1'000'000'000);
  pass(29'000);
  EXPECT_TRUE(is_there("p"));
  pass(1'500);
  EXPECT_EQ(ids(), std::vector<std::string>{});
  EXPECT_EQ(worker->runtime->stats().instances_removed, 4U);
}

TEST_F(Removal, WhatEndedBeforeTheStartGoesToo) {
  begin();
  start("q", "quick");
  EXPECT_EQ(end_of("q"), "completed done");
  workers.clear();
  machine.advance(40'000);
  options.retention.age = std::chrono::seconds(60);
  begin();
  pass(1'000);
  EXPECT_TRUE(is_there("q"));
  pass(20'000);
  EXPECT_FALSE(is_there("q"));
}

TEST_F(Removal, OldestGoBeyondACount) {
  options.retention.count = 3;
  begin();
  for (int i = 0; i < 10; ++i) {
    const std::string id = "q" + std::to_string(i);
    start(id, "quick");
    EXPECT_EQ(end_of(id), "completed done");
  }
  start("s", "sleeper");
  settle();
  EXPECT_EQ(ids(), (std::vector<std::string>{"q7", "q8", "q9", "s"}));
  EXPECT_EQ(worker->runtime->stats().instances_removed, 7U);
}

TEST_F(Removal, EternalOnesKeepSoManyExecutions) {
  options.retention.executions = 3;
  begin();
  start("r", "rounds", "1");
  ASSERT_TRUE(drive_until([&] { return client().status("r").execution_id == 20; }, 600'000));
  settle();
  EXPECT_EQ(executions("r"), 3);
  EXPECT_EQ(ids().size(), 4U) << "and the children of those";
  EXPECT_TRUE(drive_until([&] { return has_completed("r"); }, 4'000'000));
  EXPECT_EQ(client().status("r").output, "after 20");
}

// The next removal is a due time like others; without one, nothing wakes the runtime.
TEST_F(Removal, IdleRuntimeSleepsUntilSomethingIsDue) {
  options.retention.age = std::chrono::seconds(3'600);
  options.retention.count = 5;
  begin();
  start("q", "quick");
  EXPECT_EQ(end_of("q"), "completed done");
  pass(120'000);
  const std::uint64_t commits = worker->runtime->stats().commits;
  const std::uint64_t ticks = worker->runtime->stats().ticks;
  pass(1'000'000);
  const std::uint64_t renewals = 1'000'000 / 25'000 + 1;
  const std::uint64_t sweeps = 1'000'000 / 300'000 + 1;
  EXPECT_LE(worker->runtime->stats().commits - commits, renewals + sweeps);
  // Each commit is followed by its chain of looks.
  EXPECT_LE(worker->runtime->stats().ticks - ticks, 6 * (renewals + sweeps));
  EXPECT_TRUE(is_there("q"));
}

TEST_F(Removal, FailedRetentionIsTriedAgain) {
  testing::expect_errors("disk_is_full");
  testing::expect_errors("reserve_not_released");
  testing::expect_errors("tick_rolled_back", 5);
  options.retention.age = std::chrono::seconds(1);
  begin();
  for (const char* id : {"q1", "q2", "q3"})
    start(id, "quick");
  EXPECT_EQ(end_of("q3"), "completed done");
  machine.fail_write(1, Status::kFull, true);
  pass(3'000);
  EXPECT_TRUE(is_there("q1"));
  EXPECT_EQ(worker->runtime->stats().instances_removed, 0U);
  machine.fail_write(0, Status::kOk, false);
  pass(10'000);
  EXPECT_EQ(ids(), std::vector<std::string>{});
  EXPECT_EQ(worker->runtime->stats().instances_removed, 3U);
}

}  // namespace
}  // namespace pawl
