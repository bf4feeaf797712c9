// Goal: the counters by name count each event once, whatever was replayed, refused or rolled back.
#include <gtest/gtest.h>

#include <string>

#include "story.hpp"

namespace pawl {
namespace {

using testing::Story;
using testing::Worker;

sim::Machine* g_machine = nullptr;

// Takes as many ms as its input says.
ActivityResult takes(ActivityContext& ctx) {
  g_machine->advance(std::stoll(std::string(ctx.input())));
  return ctx.ok("");
}

ActivityResult fails(ActivityContext& ctx) { return ctx.fail("no"); }

Poll steps(OrchestrationContext& ctx) {
  for (const char* ms : {"0", "5", "50"})
    PAWL_AWAIT_DONE(ctx.schedule_activity("takes", ms));
  ActivityOptions options;
  options.retry.max_attempts = 3;
  options.retry.backoff = Backoff::kNone;
  PAWL_AWAIT(failed, ctx.schedule_activity("fails", "", options));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(20)));
  if (ctx.input() == "again") return ctx.continue_as_new("last");
  return ctx.input() == "last" ? ctx.complete("") : ctx.fail(failed.error());
}

Poll waits(OrchestrationContext& ctx) {
  PAWL_AWAIT(waited, ctx.schedule_wait("never"));
  return ctx.fail(waited.error());
}

int g_runs = 0;
Poll impure(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("takes", std::to_string(++g_runs)));
  return ctx.complete("");
}

// Its code takes 30 ms of each turn, as on a slow board.
Poll thinks(OrchestrationContext& ctx) {
  g_machine->advance(30);
  PAWL_AWAIT_DONE(ctx.schedule_activity("takes", "0"));
  if (ctx.input() == "long") {
    for (int i = 0; i < 12; ++i)
      static_cast<void>(ctx.utc_now_ms());
  }
  return ctx.complete("");
}

template <typename Histogram>
std::string counts_of(const Histogram& histogram) {
  std::string text;
  for (const std::uint64_t count : histogram.counts)
    text += std::to_string(count) + " ";
  return text;
}

Poll parent(OrchestrationContext& ctx) {
  PAWL_AWAIT(child, ctx.schedule_sub_orchestration("thinks", ctx.input()));
  return child.ok() ? ctx.complete("") : ctx.fail(child.error());
}

class NameStats : public Story {
 protected:
  NameStats() {
    g_machine = &machine;
    add("steps", steps);
    add("steps", steps, "2.0.0");
    add("waits", waits);
    add("impure", impure);
    add("thinks", thinks);
    add("parent", parent);
    add("takes", takes);
    add("fails", fails);
  }
};

TEST_F(NameStats, CountWhatWasCommittedOnce) {
  Runtime& runtime = *start_worker().runtime;
  ASSERT_EQ(client()->start_orchestration("steps", InstanceId("a"), "again", {"1.0.0"}),
            Status::kOk);
  ASSERT_EQ(client()->start_orchestration("steps", InstanceId("b"), "fail", {"1.0.0"}),
            Status::kOk);
  EXPECT_EQ(end_of("b"), "failed application no");
  // Another process continues what a client started: the end of the first execution chooses 2.0.0.
  EXPECT_EQ(end_of("a"), "completed ");
  const OrchestrationStats& first = *runtime.orchestration_stats("steps", "1.0.0");
  EXPECT_EQ(first.name, "steps");
  EXPECT_EQ(first.version, "1.0.0");
  EXPECT_EQ(first.started, 2U);
  EXPECT_EQ(first.continued_as_new, 1U);
  EXPECT_EQ(first.failed, 1U);
  EXPECT_EQ(first.completed, 0U);
  const OrchestrationStats& second = *runtime.orchestration_stats("steps");
  EXPECT_EQ(second.version, "2.0.0");
  EXPECT_EQ(second.started, 1U);
  EXPECT_EQ(second.completed, 1U);
  EXPECT_EQ(first.turns + second.turns, runtime.stats().turns);
  // 20 s and a little: the bucket up to 60 s.
  EXPECT_EQ(first.lasted.counts[5], 2U);
  EXPECT_GE(first.lasted.total_ms, 40'000);
  EXPECT_GE(first.lasted.longest_ms, 20'000);
  EXPECT_EQ(runtime.orchestration_stats("waits")->started, 0U);
  EXPECT_EQ(runtime.orchestration_stats("nobody"), nullptr);

  const ActivityStats& done = *runtime.activity_stats("takes");
  EXPECT_EQ(done.completed, 9U);
  EXPECT_EQ(done.failed + done.retried + done.refused, 0U);
  EXPECT_EQ(done.ran.counts[0], 3U);
  EXPECT_EQ(done.ran.counts[1], 3U);
  EXPECT_EQ(done.ran.counts[2], 3U);
  EXPECT_EQ(done.ran.total_ms, 165);
  EXPECT_EQ(done.ran.longest_ms, 50);
  const ActivityStats& failed = *runtime.activity_stats("fails");
  EXPECT_EQ(failed.retried, 6U);
  EXPECT_EQ(failed.failed, 3U);
  EXPECT_EQ(failed.completed, 0U);
  EXPECT_EQ(runtime.activity_stats("nobody"), nullptr);
}

TEST_F(NameStats, AChildCountsUnderItsOwnName) {
  Runtime& runtime = *start_worker().runtime;
  start("a", "parent");
  EXPECT_EQ(end_of("a"), "completed ");
  for (const char* name : {"parent", "thinks"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(runtime.orchestration_stats(name)->started, 1U);
    EXPECT_EQ(runtime.orchestration_stats(name)->completed, 1U);
  }
  EXPECT_EQ(runtime.stats().orchestrations_completed, 2U);
}

TEST_F(NameStats, EveryEndWithoutTheCodeIsAFailureAndAStopIsNone) {
  testing::expect_errors("instance_stopped");
  Runtime& runtime = *start_worker().runtime;
  for (const char* id : {"cancelled", "terminated"})
    start(id, "waits");
  start("stopped", "impure");
  pass(1'000);
  cancel_instance("cancelled", "");
  ASSERT_EQ(client()->terminate_instance("terminated", ""), Status::kOk);
  pass(1'000);
  const OrchestrationStats& is = *runtime.orchestration_stats("waits");
  EXPECT_EQ(is.started, 2U);
  EXPECT_EQ(is.failed, 2U);
  EXPECT_EQ(runtime.stats().orchestrations_failed, 2U);
  EXPECT_EQ(runtime.orchestration_stats("impure")->stopped, 1U);
  EXPECT_EQ(runtime.orchestration_stats("impure")->failed, 0U);
}

TEST_F(NameStats, TurnsAndLengthsOfHistoriesHaveHistograms) {
  options.verify_turns = false;
  Runtime& runtime = *start_worker().runtime;
  start("short", "thinks");
  EXPECT_EQ(end_of("short"), "completed ");
  start("long", "thinks", "long");
  EXPECT_EQ(end_of("long"), "completed ");
  const OrchestrationStats& is = *runtime.orchestration_stats("thinks");
  EXPECT_EQ(is.turns, 4U);
  EXPECT_EQ(counts_of(is.turn), "0 0 4 0 0 0 0 0 ");
  EXPECT_EQ(is.turn.total_ms, 120);
  EXPECT_EQ(is.turn.longest_ms, 30);
  // The events are the start, an activity, its result and the end; in the long one twelve more.
  EXPECT_EQ(counts_of(is.history), "1 1 0 0 0 0 0 0 ");
  EXPECT_EQ(is.history.total, 4 + 16);
  EXPECT_EQ(is.history.longest, 16);
}

TEST_F(NameStats, CommitsAndTheirFlushesHaveHistograms) {
  Runtime& runtime = *start_worker().runtime;
  pass(1'000);
  const RuntimeStats before = runtime.stats();
  machine.set_sync_ms(70);
  start("a", "steps", "last");
  EXPECT_EQ(end_of("a"), "completed ");
  machine.set_sync_ms(0);
  const RuntimeStats& is = runtime.stats();
  const std::uint64_t commits = is.commits - before.commits;
  EXPECT_GT(commits, 3U);
  EXPECT_EQ(is.flushed.counts[2] - before.flushed.counts[2], commits) << counts_of(is.flushed);
  EXPECT_EQ(is.written.counts[2] - before.written.counts[2], commits) << counts_of(is.written);
  EXPECT_EQ(is.flushed.longest_ms, 70);
  EXPECT_GE(is.written.total_ms, is.flushed.total_ms);
}

// A tick that the disk refused runs again, and counts when it is stored.
TEST_F(NameStats, RolledBackWorkIsNotCountedTwice) {
  Runtime& runtime = *start_worker().runtime;
  start("a", "steps", "last");
  for (std::uint64_t nth = 1; is_running("a") && nth < 400; ++nth) {
    testing::expect_errors("disk_is_full");
    testing::expect_errors("tick_rolled_back");
    machine.fail_write(1 + nth % 3, Status::kFull, false);
    static_cast<void>(runtime.tick(std::chrono::milliseconds::max()));
    machine.fail_write(0, Status::kOk, false);
    machine.advance(5'000);
    static_cast<void>(runtime.tick(std::chrono::milliseconds::max()));
  }
  EXPECT_EQ(end_of("a"), "completed ");
  EXPECT_GE(runtime.stats().failed_ticks, 3U);
  EXPECT_EQ(runtime.orchestration_stats("steps")->started, 1U);
  EXPECT_EQ(runtime.orchestration_stats("steps")->completed, 1U);
  EXPECT_EQ(runtime.activity_stats("takes")->completed, 3U);
  EXPECT_EQ(runtime.activity_stats("fails")->failed, 1U);
}

TEST_F(NameStats, AreGoneWithTheRuntime) {
  Worker& worker = start_worker();
  worker.stop();
  EXPECT_NE(worker.runtime->activity_stats("takes"), nullptr);  // the last figures stay readable
  Runtime never;
  EXPECT_EQ(never.orchestration_stats("steps"), nullptr);
  EXPECT_EQ(never.activity_stats("takes"), nullptr);
}

TEST(Durations, CountByTheirBounds) {
  Durations durations;
  for (const std::int64_t ms : {-5, 0, 1, 2, 10, 11, 3'600'000, 3'600'001})
    durations.add(ms);
  const std::uint64_t expected[] = {3, 2, 1, 0, 0, 0, 1, 1};
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(durations.counts[i], expected[i]) << i;
  EXPECT_EQ(durations.total_ms, 7'200'025);
  EXPECT_EQ(durations.longest_ms, 3'600'001);
}

}  // namespace
}  // namespace pawl
