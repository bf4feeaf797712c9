// Goal: an operator's call is bounded and touches only what it names, and a caller that works on
// the instance meanwhile gets kStale.
#include <algorithm>

#include "pawl/visit.hpp"
#include "store_world.hpp"

namespace pawl::test {
namespace {

using Keys = std::vector<InstanceKey>;
using Ids = std::vector<std::string>;

class KeepIds final : public InstanceVisitor {
 public:
  void on_instance(const InstanceInfo& instance) noexcept override {
    ids.emplace_back(instance.id);
  }
  Ids ids;
};

class KeepExecutions final : public ExecutionVisitor {
 public:
  void on_execution(const ExecutionInfo& execution) noexcept override { kept.push_back(execution); }
  std::vector<ExecutionInfo> kept;
};

class Management : public OpenStore {
 protected:
  void stop(Site& by, InstanceKey key) {
    park(by, key, 0, kStoppedForGood, ErrorKind::kNondeterminism, "other code");
  }
  Status suspend(Site& by, std::string_view id) {
    return batch(by, [&] { return by->instance().verbs.suspend_instance(id); });
  }
  Status resume(Site& by, std::string_view id) {
    return batch(by, [&] { return by->instance().verbs.resume_instance(id); });
  }
  Status terminate(Site& by, std::string_view id) {
    return batch(by, [&] { return by->instance().verbs.terminate_instance(id, "by hand"); });
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, Management, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

// ---- reading ----

// The statements behind it run here on each engine; what is said when is a matter of
// runtime/explain_test.cpp.
TEST_P(Management, WhatIsWaitedForIsReadFromRows) {
  std::vector<std::string> said;
  auto keep = visit([&](const Cause& cause) {
    said.push_back(cause_kind_name(cause.kind) + (" " + std::string(cause.subject)));
  });
  const InstanceKey key = create(at, "a");
  start(at, key, {{2, TimerBase::kPawlTime, 5'000}, {3, TimerBase::kPawlTime, 9'000}},
        {{4, "bay"}, {5, {}}});
  ASSERT_EQ(at->causes().explain_instance("a", keep), Status::kOk);
  EXPECT_EQ(said, (Ids{"no_worker bay", "no_worker ", "timer ", "timer "}));
  said.clear();
  ASSERT_EQ(at->causes().explain_session({}, "bay", keep), Status::kOk);
  EXPECT_EQ(said, Ids{"no_worker bay"});
  said.clear();
  create(at, "b");
  end(at, key_of("b"), EndKind::kFailed, {0, "out of paper", ErrorKind::kApplication});
  ASSERT_EQ(at->causes().explain_instance("b", keep), Status::kOk);
  EXPECT_EQ(said, Ids{"ended "});
  EXPECT_EQ(at->causes().explain_instance("c", keep), Status::kNotFound);
  EXPECT_EQ(at->causes().explain_session("a", "bay", keep), Status::kNotFound);
  EXPECT_EQ(at->causes().explain_session("c", "bay", keep), Status::kNotFound);
}

TEST_P(Management, PagesFollowEachOther) {
  for (const char* id : {"a", "b", "c", "d", "e"})
    create(at, id);
  Page page;
  page.rows_max = 2;
  const auto next = [&] {
    KeepIds keep;
    EXPECT_EQ(at->instance().directory.list_instances(InstanceFilter(), &page, keep), Status::kOk);
    return keep.ids;
  };
  EXPECT_EQ(next(), (Ids{"a", "b"}));
  EXPECT_TRUE(page.more);
  EXPECT_EQ(next(), (Ids{"c", "d"}));
  create(at, "f");
  EXPECT_EQ(next(), (Ids{"e", "f"}));
  EXPECT_EQ(next(), (Ids{}));
  EXPECT_FALSE(page.more);
  page.rows_max = 0;
  KeepIds keep;
  EXPECT_EQ(at->instance().directory.list_instances(InstanceFilter(), &page, keep),
            Status::kInvalidArgument);
}

TEST_P(Management, PageIsBoundedByRowsLookedAt) {
  must_batch(at, [&] {
    for (int i = 0; i < 1100; ++i) {
      NewInstance one;
      const std::string id = "i" + std::to_string(i);
      one.id = id;
      one.name = "n";
      InstanceKey key = 0;
      PAWL_TRY(at->instance().deliveries.start_orchestration(one, &key));
    }
    return Status::kOk;
  });
  InstanceFilter filter;
  filter.id_prefix = "i1099";
  Page page;
  KeepIds keep;
  ASSERT_EQ(at->instance().directory.list_instances(filter, &page, keep), Status::kOk);
  EXPECT_TRUE(keep.ids.empty());
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.after, key_of("i1023")) << "1,024 rows";
  ASSERT_EQ(at->instance().directory.list_instances(filter, &page, keep), Status::kOk);
  EXPECT_EQ(keep.ids, (Ids{"i1099"}));
  EXPECT_FALSE(page.more);
}

TEST_P(Management, FiltersAreAnded) {
  create(at, "bed-1");
  clock.advance(1000);
  const InstanceKey second = create(at, "bed-2");
  clock.advance(1000);
  create(at, "pump");
  clock.advance(1000);
  end(at, second, EndKind::kFailed);
  InstanceFilter filter;
  filter.id_prefix = "bed-";
  EXPECT_EQ(list(at, filter), (Ids{"bed-1", "bed-2"}));
  filter.any_state = false;
  filter.state = OrchestrationState::kFailed;
  EXPECT_EQ(list(at, filter), (Ids{"bed-2"}));
  filter.name = "other";
  EXPECT_EQ(list(at, filter), (Ids{}));
  InstanceFilter times;
  times.created_from_ms = kWall2040 + 1000;
  EXPECT_EQ(list(at, times), (Ids{"bed-2", "pump"}));
  times.created_before_ms = kWall2040 + 2000;
  EXPECT_EQ(list(at, times), (Ids{"bed-2"}));
  InstanceFilter updated;
  updated.updated_from_ms = kWall2040 + 2000;
  EXPECT_EQ(list(at, updated), (Ids{"bed-2", "pump"}));
  updated.updated_before_ms = kWall2040 + 3000;
  EXPECT_EQ(list(at, updated), (Ids{"pump"}));
}

TEST_P(Management, Executions) {
  const InstanceKey key = create(at, "a");
  clock.advance(5);
  end(at, key, EndKind::kContinuedAsNew);
  start(at, key);
  KeepExecutions keep;
  ASSERT_EQ(at->instance().directory.list_executions(key, keep), Status::kOk);
  ASSERT_EQ(keep.kept.size(), 2U);
  EXPECT_EQ(keep.kept[0].execution_id, 1);
  EXPECT_EQ(keep.kept[0].state, ExecutionState::kContinuedAsNew);
  EXPECT_EQ(keep.kept[0].events, 2);
  EXPECT_EQ(keep.kept[0].ended_ms, kWall2040 + 5);
  EXPECT_EQ(keep.kept[1].state, ExecutionState::kRunning);
  EXPECT_EQ(keep.kept[1].ended_ms, 0);
}

TEST_P(Management, ADamagedEndStopsNoListOfExecutions) {
  class Describe final : public ExecutionVisitor {
   public:
    void on_execution(const ExecutionInfo& one) noexcept override {
      text += std::to_string(static_cast<int>(one.state)) + " " + error_kind_name(one.error) + " " +
              std::string(one.output) + "\n";
    }
    std::string text;
  };
  const InstanceKey key = create(at, "a");
  for (int i = 0; i < 2; ++i)
    end(at, key, EndKind::kContinuedAsNew);
  start(at, key);
  raw("UPDATE history SET payload=x'6f' WHERE execution=1 AND kind=50");
  Describe found;
  ASSERT_EQ(at->instance().directory.list_executions(key, found), Status::kOk)
      << at->diagnostic().text();
  EXPECT_EQ(found.text,
            "3 corrupt history of instance 1, execution 1, event 2: checksum or "
            "form is wrong\n"
            "3 none \n"
            "0 none \n");
  raw("DELETE FROM history WHERE execution=2");
  Describe missing;
  ASSERT_EQ(at->instance().directory.list_executions(key, missing), Status::kOk);
  EXPECT_NE(missing.text.find("execution 2, event 2: is missing, or its link is wrong\n0 none \n"),
            std::string::npos)
      << missing.text;
}

TEST_P(Management, MetricsCountWhatIsThere) {
  create(at, "fresh");
  end(at, create(at, "done"), EndKind::kCompleted);
  end(at, create(at, "bad"), EndKind::kFailed);
  stop(at, create(at, "stopped"));
  create(at, "held");
  ASSERT_EQ(suspend(at, "held"), Status::kOk);
  start(at, create(at, "busy"), {{2, TimerBase::kPawlTime, 50}}, {{3, {}}});
  hand_over(at, create(at, "running"));
  Metrics is;
  ASSERT_EQ(at->instance().directory.get_metrics(&is), Status::kOk);
  EXPECT_EQ(is.instances_running, 3);
  EXPECT_EQ(is.instances_completed, 1);
  EXPECT_EQ(is.instances_failed, 1);
  EXPECT_EQ(is.instances_stopped, 1);
  EXPECT_EQ(is.instances_suspended, 1);
  // Every execution that has begun counts.
  EXPECT_EQ(is.executions, 4);
  EXPECT_EQ(is.events, 9);
  EXPECT_EQ(is.messages_waiting, 3);
  EXPECT_EQ(is.timers_waiting, 1);
  EXPECT_EQ(is.activities_ready + is.activities_running, 2);
  EXPECT_EQ(is.activities_running, 1);
  EXPECT_TRUE(is.complete);
}

TEST_P(Management, MetricsCountExecutionsAndEventsThatAreKept) {
  const InstanceKey key = create(at, "a");
  for (int i = 0; i < 3; ++i)
    end(at, key, EndKind::kContinuedAsNew, {2});
  Metrics is;
  ASSERT_EQ(at->instance().directory.get_metrics(&is), Status::kOk);
  EXPECT_EQ(is.executions, 3);
  EXPECT_EQ(is.events, 12);
  Removed removed;
  bool more = false;
  must_batch(at, [&] {
    return at->instance().removal.prune_executions(key, {2, 0}, 1'000, &removed, &more);
  });
  ASSERT_EQ(at->instance().directory.get_metrics(&is), Status::kOk);
  EXPECT_EQ(is.executions, 3 - removed.executions);
  EXPECT_EQ(is.events, 12 - removed.events);
  // A damaged number counts as nothing.
  raw("UPDATE executions SET last_event=-5 WHERE execution=3");
  ASSERT_EQ(at->instance().directory.get_metrics(&is), Status::kOk);
  EXPECT_EQ(is.events, 8 - removed.events);
}

TEST_P(Management, SessionsInPages) {
  start(at, create(at, "a"), {}, {{2, "s1"}, {3, "s2"}, {4, "s3"}});
  Ids names;
  auto keep = visit([&names](const SessionInfo& session) {
    names.emplace_back(session.name);
    EXPECT_EQ(session.node, "");
    EXPECT_EQ(session.epoch, 0);
    EXPECT_EQ(session.lease_ends_in_ms, 0);
  });
  Page page;
  page.rows_max = 2;
  must_batch(at,
             [&] { return at->session().directory.list_sessions(SessionFilter(), &page, keep); });
  EXPECT_EQ(names, (Ids{"s1", "s2"}));
  EXPECT_TRUE(page.more);
  must_batch(at,
             [&] { return at->session().directory.list_sessions(SessionFilter(), &page, keep); });
  EXPECT_EQ(names, (Ids{"s1", "s2", "s3"}));
  EXPECT_FALSE(page.more);
}

// ---- suspended, resumed ----

TEST_P(Management, SuspendedOneTakesNoTurnAndLosesNothing) {
  const InstanceKey key = create(at, "a");
  start(at, key, {{2, TimerBase::kPawlTime, 10}});
  cancel(at, "a");
  const Item& before = fetched(at, key);
  ASSERT_EQ(suspend(at, "a"), Status::kOk);
  ASSERT_EQ(suspend(at, "a"), Status::kOk) << "twice is once";
  EXPECT_EQ(status(at, "a").state, InstanceState::kSuspended);
  EXPECT_EQ(ack(at, turn(before)), Status::kStale) << "a turn that had begun";
  clock.advance(std::int64_t{3600} * 1000);
  EXPECT_EQ(ready(at), (Keys{}));
  Item none;
  EXPECT_EQ(fetch(at, key, none), Status::kNotFound);
  EXPECT_EQ(wake_delayed(at), 0U);
  EXPECT_EQ(retry_stopped(at), 0U);
  NextDue due;
  ASSERT_EQ(at->due().next_due(0, true, &due), Status::kOk);
  EXPECT_EQ(due.pawl_time, OptionalMs()) << "its timer keeps nobody awake";
  ASSERT_EQ(resume(at, "a"), Status::kOk);
  EXPECT_EQ(status(at, "a").state, InstanceState::kRunning);
  EXPECT_EQ(ready(at), (Keys{key}));
  const Item& after = fetched(at, key);
  EXPECT_EQ(after.kinds(), (Ids{"cancel", "timer_fired"}));
  acked(at, turn(after));
}

TEST_P(Management, ResultsOfASuspendedOneWait) {
  const InstanceKey key = create(at, "a");
  const WorkDone done = hand_over(at, key);
  ASSERT_EQ(suspend(at, "a"), Status::kOk);
  must_batch(at, [&] { return at->work().items.ack_work_item(done, {ErrorKind::kNone, "42"}); });
  EXPECT_EQ(ready(at), (Keys{}));
  ASSERT_EQ(resume(at, "a"), Status::kOk);
  const Item& item = fetched(at, key);
  EXPECT_EQ(item.kinds(), (Ids{"activity_done"}));
}

TEST_P(Management, ResumeLetsAStoppedOneTryAgain) {
  const InstanceKey key = create(at, "a");
  stop(at, key);
  ASSERT_EQ(resume(at, "a"), Status::kOk);
  EXPECT_EQ(status(at, "a").state, InstanceState::kRunning);
  EXPECT_EQ(ready(at), (Keys{key}));
}

TEST_P(Management, WhatHasEndedCannotBeChanged) {
  end(at, create(at, "a"), EndKind::kCompleted);
  const std::string before = dump();
  EXPECT_EQ(suspend(at, "a"), Status::kStale);
  EXPECT_EQ(resume(at, "a"), Status::kStale);
  EXPECT_EQ(terminate(at, "a"), Status::kStale);
  EXPECT_EQ(suspend(at, "b"), Status::kNotFound);
  EXPECT_EQ(resume(at, "b"), Status::kNotFound);
  EXPECT_EQ(terminate(at, "b"), Status::kNotFound);
  EXPECT_EQ(dump(), before);
}

TEST_P(Management, ResumeOfARunningOneDoesNothing) {
  NewInstance later;
  later.id = "a";
  later.name = "n";
  later.start_after_ms = 500;
  create(at, later);
  ASSERT_EQ(resume(at, "a"), Status::kOk);
  EXPECT_EQ(ready(at), (Keys{}));
}

// ---- terminated ----

TEST_P(Management, TerminatedWhateverItsState) {
  const InstanceKey fresh = create(at, "fresh");
  const InstanceKey stopped = create(at, "stopped");
  const InstanceKey held = create(at, "held");
  const InstanceKey idle = create(at, "idle");
  stop(at, stopped);
  ASSERT_EQ(suspend(at, "held"), Status::kOk);
  start(at, idle);
  ASSERT_EQ(ready(at), (Keys{fresh}));
  for (const char* id : {"fresh", "stopped", "held", "idle"}) {
    ASSERT_EQ(terminate(at, id), Status::kOk);
    EXPECT_EQ(status(at, id).error, ErrorKind::kTerminated);
    EXPECT_EQ(status(at, id).output, "by hand");
    EXPECT_EQ(suspend(at, id), Status::kStale) << id;
  }
  EXPECT_EQ(ready(at).size(), 4U);
  for (const InstanceKey key : {fresh, stopped, held, idle}) {
    const Item& item = fetched(at, key);
    EXPECT_TRUE(item.is.terminate);
    EXPECT_EQ(item.is.broken_text, "by hand");
    EXPECT_EQ(item.is.message_count, 0U);
  }
}

TEST_P(Management, TerminationCannotBeOvertaken) {
  const InstanceKey key = create(at, "a");
  const Item& before = fetched(at, key);
  EXPECT_FALSE(before.is.terminate);
  ASSERT_EQ(terminate(at, "a"), Status::kOk);
  Events events = begun();
  EXPECT_EQ(ack(at, turn(before, &events)), Status::kStale);
  Item after;
  ASSERT_EQ(fetch(at, key, after), Status::kOk);
  // A runtime in trouble parks the instance: the request stays.
  must_batch(at, [&] {
    return at->instance().ready.abandon_orchestration_item(key, after.is.revision, 10, true,
                                                           ErrorKind::kLimit, "io");
  });
  clock.advance(10);
  wake_delayed(at);
  ASSERT_EQ(fetch(at, key, after), Status::kOk);
  EXPECT_TRUE(after.is.terminate);
  EXPECT_EQ(after.is.broken_text, "by hand");
}

TEST_P(Management, TerminationDoesNotReadADamagedQueue) {
  const InstanceKey key = create(at, "a");
  raw("UPDATE orchestrator_queue SET crc=crc+1");
  ASSERT_EQ(terminate(at, "a"), Status::kOk);
  const Item& item = fetched(at, key);
  EXPECT_TRUE(item.is.terminate);
  EXPECT_EQ(item.is.broken, Status::kOk);
}

// ---- delayed start ----

TEST_P(Management, DelayedStart) {
  NewInstance later;
  later.id = "a";
  later.name = "n";
  later.start_after_ms = 500;
  const InstanceKey key = create(at, later);
  EXPECT_EQ(ready(at), (Keys{}));
  NextDue due;
  ASSERT_EQ(at->due().next_due(0, true, &due), Status::kOk);
  EXPECT_EQ(due.pawl_time, at->place().pawl_now() + 500);
  clock.advance(499);
  EXPECT_EQ(wake_delayed(at), 0U);
  clock.advance(1);
  wake_delayed(at);
  EXPECT_EQ(ready(at), (Keys{key}));
  later.id = "b";
  later.start_after_ms = -1;
  InstanceKey none = 0;
  EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.start_orchestration(later, &none); }),
            Status::kInvalidArgument);
}

}  // namespace
}  // namespace pawl::test
