// Goal: removal works through the public API beside a live runtime: trees, bulk, pruning, and
// retention.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using testing::drive;
using testing::TestClient;
using testing::Worker;

constexpr char kPath[] = "/data/pawl.db";

TestClient* g_client = nullptr;
int g_runs = 0;
Status g_pruned = Status::kTimeout;

ActivityResult echo(ActivityContext& ctx) {
  ++g_runs;
  return ctx.ok(ctx.input());
}

// Uses a client of its own, like any activity that tidies up.
ActivityResult prune_self(ActivityContext& ctx) {
  g_pruned = (*g_client)->prune_executions(ctx.instance_id(), 2, 0);
  return g_pruned == Status::kOk ? ctx.ok("") : ctx.fail((*g_client)->error_text());
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

class KeepIds final : public InstanceVisitor {
 public:
  void on_instance(const InstanceInfo& info) noexcept override { ids.emplace_back(info.id); }
  std::vector<std::string> ids;
};

class CountExecutions final : public ExecutionVisitor {
 public:
  void on_execution(const ExecutionInfo&) noexcept override { ++count; }
  int count = 0;
};

class Removal : public ::testing::Test {
 protected:
  Removal() {
    EXPECT_EQ(registry.add_activity("echo", echo), Status::kOk);
    EXPECT_EQ(registry.add_activity("prune_self", prune_self), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("sleeper", sleeper), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("quick", quick), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("parent", parent), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("eternal", eternal), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("rounds", rounds), Status::kOk);
    options.database_path = kPath;
    options.limits.warm_instances = 64;
    client = std::make_unique<TestClient>(machine, kPath);
    g_client = client.get();
    g_runs = 0;
    g_pruned = Status::kTimeout;
  }
  ~Removal() override { g_client = nullptr; }
  void begin() {
    worker = std::make_unique<Worker>(machine, registry, options);
    ASSERT_EQ(worker->start(), Status::kOk) << worker->diagnostic.text();
  }
  bool until(const std::function<bool()>& is, std::int64_t ms = 60'000) {
    return drive(machine, {worker.get()}, is, ms);
  }
  void settle(std::int64_t ms = 100) {
    until([] { return false; }, ms);
  }
  bool start(std::string_view id, std::string_view name, std::string_view input = "") {
    return (*client)->start_orchestration(name, InstanceId(id), input) == Status::kOk;
  }
  bool is_there(std::string_view id) {
    OrchestrationStatus out;
    return (*client)->get_status(id, &out) == Status::kOk;
  }
  bool has_ended(std::string_view id) {
    return client->status(id).state == OrchestrationState::kCompleted;
  }
  std::vector<std::string> ids(InstanceFilter filter = {}) {
    KeepIds keep;
    Page page;
    EXPECT_EQ((*client)->list_instances(filter, &page, keep), Status::kOk);
    return keep.ids;
  }
  int executions(std::string_view id) {
    CountExecutions count;
    EXPECT_EQ((*client)->list_executions(id, count), Status::kOk);
    return count.count;
  }
  static void keep_answer(void* user, Status status) noexcept {
    *static_cast<Status*>(user) = status;
  }

  sim::Machine machine{1};
  Registry registry;
  Options options;
  std::unique_ptr<Worker> worker;
  std::unique_ptr<TestClient> client;
};

// ---- trees ----

TEST_F(Removal, TreeIsDeletedByItsRootOnly) {
  begin();
  ASSERT_TRUE(start("p", "parent"));
  settle();
  EXPECT_EQ((*client)->delete_instance("one", true), Status::kChildInstance);
  EXPECT_NE((*client)->error_text().find("goes with its root"), std::string_view::npos);
  EXPECT_EQ((*client)->delete_instance("p", false), Status::kStillRunning);
  InstanceInfo info;
  ASSERT_EQ((*client)->get_instance_info("one", &info), Status::kOk);
  EXPECT_EQ(info.parent_id, "p");
  for (const char* of : {"p", "two"}) {
    KeepIds tree;
    Page page;
    ASSERT_EQ((*client)->get_instance_tree(of, &page, tree), Status::kOk);
    EXPECT_EQ(tree.ids, (std::vector<std::string>{"p", "one", "two"}));
  }
  KeepIds children;
  Page page;
  ASSERT_EQ((*client)->list_children("p", &page, children), Status::kOk);
  EXPECT_EQ(children.ids, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ((*client)->list_children("nobody", &page, children), Status::kNotFound);
  Removed removed;
  ASSERT_EQ((*client)->delete_instance("p", true, &removed), Status::kOk);
  EXPECT_EQ(removed.instances, 3);
  EXPECT_EQ(removed.executions, 3);
  EXPECT_GT(removed.events, 6);
  EXPECT_EQ(ids(), std::vector<std::string>{});
  // The state that the runtime still holds in memory brings nothing back.
  settle(1'300'000);
  EXPECT_EQ(ids(), std::vector<std::string>{});
  EXPECT_EQ(worker->runtime->stats().failed_ticks, 0U);
  ASSERT_TRUE(start("p", "parent"));
  EXPECT_TRUE(until([&] { return has_ended("p"); }, 1'300'000));
}

// Four executions of 5,000 events: their removal takes more than one transaction.
Poll many_events(OrchestrationContext& ctx) {
  for (int i = 0; i < 5'000; ++i)
    static_cast<void>(ctx.utc_now_ms());
  return ctx.execution_id() == 4 ? ctx.complete("") : ctx.continue_as_new("");
}

void allow_many_events(Options& options, Registry& registry) {
  options.limits.history_events_max = 16'000;
  options.limits.warm_bytes = std::size_t{16} * 1024 * 1024;
  options.limits.commands_a_turn_max = 6'000;
  ASSERT_EQ(registry.add_orchestration("many_events", many_events), Status::kOk);
}

// A client died between the mark and the end of the sweep: no call sees a half-removed instance,
// and a runtime ends the sweep.
TEST_F(Removal, RuntimeSweepsWhatAClientLeft) {
  allow_many_events(options, registry);
  begin();
  ASSERT_TRUE(start("a", "many_events"));
  ASSERT_TRUE(until([&] { return has_ended("a"); }));
  worker->stop();
  worker.reset();
  // Each time more writes succeed, until those of the first transaction do.
  for (std::uint64_t nth = 1; is_there("a"); nth += 10) {
    ASSERT_LT(nth, 4'000U);
    machine.fail_write(nth, Status::kFull, true);
    EXPECT_EQ((*client)->delete_instance("a", false), Status::kFull);
    machine.fail_write(0, Status::kOk, false);
  }
  EXPECT_FALSE(start("a", "quick")) << "its rows are there";
  begin();
  EXPECT_TRUE(until([&] { return !worker->runtime->next_due().has_passed(0); }));
  EXPECT_GT(worker->runtime->stats().events_removed, 10'000U);
  EXPECT_TRUE(start("a", "quick")) << "its id is free";
}

TEST_F(Removal, BulkTakesEndedTreesThatPass) {
  begin();
  for (const char* id : {"q1", "q2", "q3"})
    ASSERT_TRUE(start(id, "quick"));
  ASSERT_TRUE(start("s", "sleeper"));
  ASSERT_TRUE(until([&] { return has_ended("q3"); }));
  settle();
  const std::int64_t day = machine.wall_ms();
  ASSERT_TRUE(start("p", "parent"));
  settle(2'000);
  ASSERT_TRUE(start("q4", "quick"));
  ASSERT_TRUE(until([&] { return has_ended("q4"); }));
  EXPECT_EQ(ids().size(), 8U);
  // Removes the instances that completed before `day`.
  InstanceFilter filter;
  filter.updated_before_ms = day;
  Page page;
  page.rows_max = 2;
  Removed removed;
  ASSERT_EQ((*client)->delete_instances(filter, &page, &removed), Status::kOk);
  EXPECT_EQ(removed.instances, 2) << "the limit of the page";
  ASSERT_EQ((*client)->delete_instances(filter, &page, &removed), Status::kOk);
  EXPECT_EQ(removed.instances, 1);
  EXPECT_EQ(ids(), (std::vector<std::string>{"s", "p", "one", "two", "q4"}));
  // Removes by ids: a running instance, a child and a missing one are left out.
  const InstanceId wanted[] = {InstanceId("s"), InstanceId("two"), InstanceId("nobody"),
                               InstanceId("q4")};
  filter = InstanceFilter();
  filter.ids = wanted;
  filter.id_count = 4;
  page = Page();
  ASSERT_EQ((*client)->delete_instances(filter, &page, &removed), Status::kOk);
  EXPECT_EQ(removed.instances, 1);
  EXPECT_FALSE(page.more);
  EXPECT_EQ(ids(), (std::vector<std::string>{"s", "p", "one", "two"}));
  ASSERT_TRUE(until([&] { return has_ended("p"); }, 1'300'000));
  page = Page();
  ASSERT_EQ((*client)->delete_instances(InstanceFilter(), &page, &removed), Status::kOk);
  EXPECT_EQ(removed.instances, 4) << "children with their roots";
  EXPECT_EQ(ids(), std::vector<std::string>{});
}

// ---- the runtime's own calls ----

TEST_F(Removal, ManagementIsPiggybackedOnTheTick) {
  begin();
  Runtime& runtime = *worker->runtime;
  ASSERT_TRUE(start("p", "parent"));
  ASSERT_TRUE(start("s", "sleeper"));
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
  EXPECT_EQ(client->status("s").state, OrchestrationState::kSuspended);
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
  EXPECT_EQ(client->status("s").error, ErrorKind::kTerminated);
  EXPECT_EQ(answers[2], Status::kOk);
  EXPECT_EQ(answers[4], Status::kOk);
  EXPECT_TRUE(until([&] { return has_ended("p"); }));
  EXPECT_EQ(runtime.stats().instances_removed, 3U);
  EXPECT_EQ(runtime.stats().failed_ticks, 0U);
}

TEST_F(Removal, LargeRequestsTakeSeveralTicks) {
  allow_many_events(options, registry);
  begin();
  Runtime& runtime = *worker->runtime;
  ASSERT_TRUE(start("a", "many_events"));
  ASSERT_TRUE(until([&] { return has_ended("a"); }));
  Status pruned = Status::kTimeout;
  Status deleted = Status::kTimeout;
  Status started = Status::kTimeout;
  const std::uint64_t before = runtime.stats().commits;
  ASSERT_EQ(runtime.prune_executions("a", 3, 0, keep_answer, &pruned), Status::kOk);
  ASSERT_EQ(runtime.delete_instance("a", false, keep_answer, &deleted), Status::kOk);
  ASSERT_EQ(runtime.start_orchestration("quick", InstanceId("a"), "", {}, keep_answer, &started),
            Status::kOk);
  ASSERT_TRUE(until([&] { return started != Status::kTimeout; }));
  EXPECT_EQ(pruned, Status::kOk);
  EXPECT_EQ(deleted, Status::kOk);
  EXPECT_EQ(started, Status::kOk) << "it waited for them";
  EXPECT_GE(runtime.stats().commits - before, 4U);
  EXPECT_EQ(runtime.stats().executions_removed, 4U);
  EXPECT_TRUE(until([&] { return has_ended("a"); }));
}

// ---- pruning ----

TEST_F(Removal, SelfPruningEternal) {
  begin();
  ASSERT_TRUE(start("e", "eternal", "1"));
  ASSERT_TRUE(until([&] { return client->status("e").execution_id == 12; }, 600'000));
  settle();
  EXPECT_EQ(g_pruned, Status::kOk);
  EXPECT_LE(executions("e"), 3);
  EXPECT_LE(ids().size(), 4U) << "its children go with their executions";
  const std::uint64_t turns = worker->runtime->stats().turns;
  // The instance continues, also when it is read from the database.
  worker->kill();
  worker.reset();
  begin();
  EXPECT_TRUE(until([&] { return client->status("e").execution_id == 16; }, 600'000));
  EXPECT_EQ(client->status("e").state, OrchestrationState::kRunning);
  EXPECT_GT(turns, 0U);
}

TEST_F(Removal, PruneInBulkTakesRunningOnesToo) {
  begin();
  for (const char* id : {"r1", "r2"})
    ASSERT_TRUE(start(id, "rounds", "15"));
  ASSERT_TRUE(start("q", "quick"));
  ASSERT_TRUE(until([&] { return client->status("r2").execution_id == 6; }));
  settle();
  EXPECT_EQ(executions("r1"), 6);
  Page page;
  Removed removed;
  ASSERT_EQ((*client)->prune_instances(InstanceFilter(), &page, 2, 0, &removed), Status::kOk);
  EXPECT_FALSE(page.more);
  EXPECT_EQ(removed.executions, 16) << "8 of theirs, 8 of their children";
  EXPECT_EQ(removed.instances, 8);
  EXPECT_EQ(executions("r1"), 2);
  EXPECT_EQ(executions("r2"), 2);
  EXPECT_EQ(executions("q"), 1);
  ASSERT_TRUE(until([&] { return has_ended("r1") && has_ended("r2"); }, 4'000'000));
  EXPECT_EQ(client->status("r1").output, "after 6");
}

// ---- retention ----

TEST_F(Removal, EndedTreesGoAfterTheirTime) {
  options.retention.age = std::chrono::seconds(30);
  begin();
  ASSERT_TRUE(start("p", "parent"));
  ASSERT_TRUE(start("q", "quick"));
  ASSERT_TRUE(until([&] { return has_ended("q"); }));
  settle(29'000);
  EXPECT_TRUE(is_there("q"));
  settle(1'500);
  EXPECT_FALSE(is_there("q"));
  EXPECT_TRUE(is_there("two")) << "its root runs";
  EXPECT_EQ(worker->runtime->stats().instances_removed, 1U);
  ASSERT_TRUE(until([&] { return has_ended("p"); }, 1'300'000));
  // A wrong clock changes nothing.
  machine.set_wall(machine.wall_ms() + 1'000'000'000);
  settle(29'000);
  EXPECT_TRUE(is_there("p"));
  settle(1'500);
  EXPECT_EQ(ids(), std::vector<std::string>{});
  EXPECT_EQ(worker->runtime->stats().instances_removed, 4U);
}

TEST_F(Removal, WhatEndedBeforeTheStartGoesToo) {
  begin();
  ASSERT_TRUE(start("q", "quick"));
  ASSERT_TRUE(until([&] { return has_ended("q"); }));
  worker->stop();
  worker.reset();
  machine.advance(40'000);
  options.retention.age = std::chrono::seconds(60);
  begin();
  settle(1'000);
  EXPECT_TRUE(is_there("q"));
  settle(20'000);
  EXPECT_FALSE(is_there("q"));
}

TEST_F(Removal, OldestGoBeyondACount) {
  options.retention.count = 3;
  begin();
  for (int i = 0; i < 10; ++i) {
    const std::string id = "q" + std::to_string(i);
    ASSERT_TRUE(start(id, "quick"));
    ASSERT_TRUE(until([&] { return has_ended(id); }));
  }
  ASSERT_TRUE(start("s", "sleeper"));
  settle();
  EXPECT_EQ(ids(), (std::vector<std::string>{"q7", "q8", "q9", "s"}));
  EXPECT_EQ(worker->runtime->stats().instances_removed, 7U);
}

TEST_F(Removal, EternalOnesKeepSoManyExecutions) {
  options.retention.executions = 3;
  begin();
  ASSERT_TRUE(start("r", "rounds", "1"));
  ASSERT_TRUE(until([&] { return client->status("r").execution_id == 20; }, 600'000));
  settle();
  EXPECT_EQ(executions("r"), 3);
  EXPECT_EQ(ids().size(), 4U) << "and the children of those";
  EXPECT_TRUE(until([&] { return has_ended("r"); }, 4'000'000));
  EXPECT_EQ(client->status("r").output, "after 20");
}

// The next removal is a due time like others; without one, nothing wakes the runtime.
TEST_F(Removal, IdleRuntimeSleepsUntilSomethingIsDue) {
  options.retention.age = std::chrono::seconds(3'600);
  options.retention.count = 5;
  begin();
  ASSERT_TRUE(start("q", "quick"));
  ASSERT_TRUE(until([&] { return has_ended("q"); }));
  settle(120'000);
  const std::uint64_t commits = worker->runtime->stats().commits;
  const std::uint64_t ticks = worker->runtime->stats().ticks;
  settle(1'000'000);
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
    ASSERT_TRUE(start(id, "quick"));
  ASSERT_TRUE(until([&] { return has_ended("q3"); }));
  machine.fail_write(1, Status::kFull, true);
  settle(3'000);
  EXPECT_TRUE(is_there("q1"));
  EXPECT_EQ(worker->runtime->stats().instances_removed, 0U);
  machine.fail_write(0, Status::kOk, false);
  settle(10'000);
  EXPECT_EQ(ids(), std::vector<std::string>{});
  EXPECT_EQ(worker->runtime->stats().instances_removed, 3U);
}

}  // namespace
}  // namespace pawl
