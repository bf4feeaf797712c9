// Goal: the management calls of a client work beside a live runtime. Method: on the simulated
// machine.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pawl/visit.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using testing::GatewayTest;
using testing::KeptEvent;
using testing::Worker;

int g_runs = 0;

ActivityResult echo(ActivityContext& ctx) {
  ++g_runs;
  return ctx.ok(ctx.input());
}

Poll sleeper(OrchestrationContext& ctx) {
  PAWL_AWAIT(slept, ctx.schedule_timer(std::chrono::minutes(20)));
  if (slept.cancelled()) return ctx.fail("asked to stop");
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", "awake"));
  return ctx.complete("slept");
}

Poll rounds(OrchestrationContext& ctx) {
  const int round = std::stoi(std::string(ctx.input()));
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", ctx.input()));
  if (round == 5) return ctx.complete("after " + std::to_string(ctx.execution_id()));
  return ctx.continue_as_new(std::to_string(round + 1));
}

int g_changing = 0;
Poll changing(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", g_changing == 0 ? "a" : "b"));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(20)));
  return ctx.complete("done");
}

Poll on_session(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", "", Target::session("valve")));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(20)));
  return ctx.complete("done");
}

class KeepHistory final : public HistoryVisitor {
 public:
  void on_event(const HistoryEvent& event) noexcept override {
    kinds.emplace_back(event.kind);
    last_payload = std::string(event.payload);
    last_error = event.error;
  }
  std::vector<std::string> kinds;
  std::string last_payload;
  ErrorKind last_error = ErrorKind::kNone;
};

class Management : public GatewayTest {
 protected:
  Management() {
    add("echo", echo);
    add("sleeper", sleeper);
    add("rounds", rounds);
    add("changing", changing);
    add("on_session", on_session);
    options.limits.warm_instances = 64;
    worker = &start_worker("me");
    g_runs = 0;
    g_changing = 0;
  }
  bool until(OrchestrationState state, std::string_view id, std::int64_t ms = 60'000) {
    return drive_until([&] { return client().status(id).state == state; }, ms);
  }
  void settle() { pass(100); }
  std::vector<std::string> kinds(std::string_view id, std::int64_t execution = 0) {
    std::vector<std::string> kinds;
    for (const KeptEvent& event : history(id, execution))
      kinds.push_back(event.kind);
    return kinds;
  }

  Worker* worker = nullptr;
};

TEST_F(Management, TerminateEndsAtOnceWithoutTheCode) {
  start("a", "sleeper");
  settle();
  ASSERT_EQ(client()->terminate_instance("a", "by hand"), Status::kOk);
  ASSERT_TRUE(until(OrchestrationState::kFailed, "a", 1'000));
  EXPECT_EQ(outcome_of("a"), "failed terminated by hand");
  EXPECT_EQ(kinds("a"), (std::vector<std::string>{"started", "timer", "ended"}));
  EXPECT_EQ(client()->terminate_instance("a", "again"), Status::kStale);
  Metrics metrics;
  ASSERT_EQ(client()->get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.timers_waiting, 0);
  EXPECT_EQ(metrics.instances_failed, 1);
}

TEST_F(Management, TerminateOfAnUnregisteredOne) {
  testing::expect_errors("orchestration_unregistered");
  start("a", "nobody_knows");
  pass(3'000);
  EXPECT_EQ(client().status("a").error, ErrorKind::kUnregistered);
  ASSERT_EQ(client()->terminate_instance("a", ""), Status::kOk);
  ASSERT_TRUE(until(OrchestrationState::kFailed, "a", 1'000));
  EXPECT_EQ(kinds("a"), (std::vector<std::string>{"ended"}));
}

TEST_F(Management, TerminateOfASuspendedAndOfADelayedOne) {
  start("a", "sleeper");
  settle();
  ASSERT_EQ(client()->suspend_instance("a"), Status::kOk);
  StartOptions later;
  later.start_after = std::chrono::seconds(3'600);
  ASSERT_EQ(client()->start_orchestration("sleeper", InstanceId("b"), "", later), Status::kOk);
  settle();
  ASSERT_EQ(client()->terminate_instance("a", ""), Status::kOk);
  ASSERT_EQ(client()->terminate_instance("b", ""), Status::kOk);
  EXPECT_TRUE(until(OrchestrationState::kFailed, "a", 1'000));
  EXPECT_TRUE(until(OrchestrationState::kFailed, "b", 1'000));
}

TEST_F(Management, StoppedByItsCodeThenResumedOrTerminated) {
  testing::expect_errors("instance_stopped", 2);
  start("a", "changing");
  start("b", "changing");
  ASSERT_TRUE(drive_until([] { return g_runs == 2; }));
  settle();
  g_changing = 1;
  cancel_instance("a", "");
  cancel_instance("b", "");
  ASSERT_TRUE(until(OrchestrationState::kStopped, "a"));
  ASSERT_TRUE(until(OrchestrationState::kStopped, "b"));
  ASSERT_EQ(client()->terminate_instance("a", "no way on"), Status::kOk);
  EXPECT_TRUE(until(OrchestrationState::kFailed, "a", 1'000));
  EXPECT_EQ(client().status("a").error, ErrorKind::kTerminated);
  g_changing = 0;
  ASSERT_EQ(client()->resume_instance("b"), Status::kOk);
  EXPECT_TRUE(until(OrchestrationState::kCompleted, "b"));
}

TEST_F(Management, SuspendedOneWaitsWithItsTimerAndGoesOn) {
  start("a", "sleeper");
  settle();
  ASSERT_EQ(client()->suspend_instance("a"), Status::kOk);
  EXPECT_FALSE(until(OrchestrationState::kCompleted, "a", 3'600'000));
  EXPECT_EQ(client().status("a").state, OrchestrationState::kSuspended);
  EXPECT_STREQ(orchestration_state_name(client().status("a").state), "suspended");
  EXPECT_EQ(g_runs, 0);
  ASSERT_EQ(client()->resume_instance("a"), Status::kOk);
  EXPECT_TRUE(until(OrchestrationState::kCompleted, "a", 1'000)) << "its timer is long due";
}

// A piggybacked call is no commit of another process: the loop must learn in another way that the
// due times it knows have changed.
TEST_F(Management, ResumedByAPiggybackedCallItsTimerWakesTheLoop) {
  start("a", "sleeper");
  settle();
  ASSERT_EQ(worker->runtime->suspend_instance("a"), Status::kOk);
  settle();
  EXPECT_EQ(client().status("a").state, OrchestrationState::kSuspended);
  ASSERT_EQ(worker->runtime->resume_instance("a"), Status::kOk);
  settle();
  EXPECT_FALSE(worker->runtime->next_due().has_passed(machine.boot_ms()));
  EXPECT_TRUE(until(OrchestrationState::kCompleted, "a", 3'600'000));
}

TEST_F(Management, SuspendedOneIsTerminatedByAPiggybackedCall) {
  start("a", "sleeper");
  settle();
  ASSERT_EQ(worker->runtime->suspend_instance("a"), Status::kOk);
  settle();
  ASSERT_EQ(worker->runtime->terminate_instance("a", "enough"), Status::kOk);
  EXPECT_TRUE(until(OrchestrationState::kFailed, "a", 1'000));
}

TEST_F(Management, WaitingGoesOnWhileSuspended) {
  start("a", "sleeper");
  ASSERT_EQ(client()->suspend_instance("a"), Status::kOk);
  worker->stop();  // a call on its thread must not wait
  OrchestrationStatus status;
  EXPECT_EQ(client()->wait_for_orchestration("a", std::chrono::milliseconds(0), &status),
            Status::kTimeout);
  EXPECT_EQ(status.state, OrchestrationState::kSuspended);
}

TEST_F(Management, DelayedStartRunsWhenItsTimeCame) {
  StartOptions later;
  later.start_after = std::chrono::seconds(10);
  ASSERT_EQ(client()->start_orchestration("rounds", InstanceId("a"), "5", later), Status::kOk);
  EXPECT_EQ(client()->start_orchestration("rounds", InstanceId("a"), "1"), Status::kAlreadyExists);
  EXPECT_FALSE(until(OrchestrationState::kCompleted, "a", 9'900)) << "nor by the second call";
  EXPECT_EQ(g_runs, 0);
  EXPECT_TRUE(until(OrchestrationState::kCompleted, "a", 200));
  later.start_after = std::chrono::milliseconds(-1);
  EXPECT_EQ(client()->start_orchestration("rounds", InstanceId("b"), "5", later),
            Status::kInvalidArgument);
}

TEST_F(Management, PruneAndReadHistory) {
  start("a", "rounds", "1");
  ASSERT_TRUE(until(OrchestrationState::kCompleted, "a"));
  InstanceInfo info;
  ASSERT_EQ(client()->get_instance_info("a", &info), Status::kOk);
  EXPECT_EQ(info.id, "a");
  EXPECT_EQ(info.name, "rounds");
  EXPECT_EQ(info.execution_id, 5);
  EXPECT_EQ(info.state, OrchestrationState::kCompleted);
  EXPECT_EQ(history("a", 1).back().payload, "2");
  Removed pruned;
  ASSERT_EQ(client()->prune_executions("a", 2, 0, &pruned), Status::kOk);
  EXPECT_EQ(pruned.executions, 3);
  int left = 0;
  auto count = visit([&left](const ExecutionInfo&) { ++left; });
  ASSERT_EQ(client()->list_executions("a", count), Status::kOk);
  EXPECT_EQ(left, 2);
  KeepHistory none;
  EXPECT_EQ(client()->read_history("a", 1, none), Status::kNotFound);
  EXPECT_EQ(client()->read_history("b", 0, none), Status::kNotFound);
  ASSERT_EQ(client()->prune_executions("a", 0, 0, &pruned), Status::kOk);
  EXPECT_EQ(pruned.executions, 1);
  EXPECT_EQ(outcome_of("a"), "completed after 5");
}

TEST_F(Management, AnExecutionWithoutATurnHasNoEvents) {
  start("a", "rounds", "1");
  KeepHistory none;
  Page page;
  EXPECT_EQ(client()->read_history("a", 0, none), Status::kOk);
  EXPECT_EQ(client()->read_history("a", 1, &page, none), Status::kOk);
  EXPECT_FALSE(page.more);
  EXPECT_TRUE(none.kinds.empty());
  EXPECT_EQ(client()->read_history("a", 2, none), Status::kNotFound);
}

TEST_F(Management, AHistoryIsReadByPages) {
  start("a", "rounds", "1");
  ASSERT_TRUE(until(OrchestrationState::kCompleted, "a"));
  const std::vector<std::string> whole = kinds("a", 1);
  ASSERT_GE(whole.size(), 3U);
  for (std::size_t rows = 1; rows <= whole.size() + 1; ++rows) {
    Page page;
    page.rows_max = rows;
    std::vector<std::string> kinds;
    do {
      KeepHistory part;
      ASSERT_EQ(client()->read_history("a", 1, &page, part), Status::kOk);
      ASSERT_LE(part.kinds.size(), rows);
      ASSERT_FALSE(part.kinds.empty());
      kinds.insert(kinds.end(), part.kinds.begin(), part.kinds.end());
      EXPECT_EQ(page.after, static_cast<std::int64_t>(kinds.size()));
      EXPECT_EQ(page.more, kinds.size() < whole.size());
    } while (page.more);
    EXPECT_EQ(kinds, whole);
  }
}

TEST_F(Management, APageBehindAHistoryIsEmpty) {
  start("a", "rounds", "1");
  ASSERT_TRUE(until(OrchestrationState::kCompleted, "a"));
  KeepHistory none;
  Page page;
  for (const std::int64_t after : {std::int64_t{1'000}, std::int64_t{1} << 40}) {
    page.after = after;
    EXPECT_EQ(client()->read_history("a", 1, &page, none), Status::kOk);
    EXPECT_FALSE(page.more);
    EXPECT_EQ(page.after, after);
  }
  EXPECT_TRUE(none.kinds.empty());
  page.after = 0;
  EXPECT_EQ(client()->read_history("b", 0, &page, none), Status::kNotFound);
  EXPECT_EQ(client()->read_history("a", 99, &page, none), Status::kNotFound);
  page.after = -1;
  EXPECT_EQ(client()->read_history("a", 1, &page, none), Status::kInvalidArgument);
  page.after = 0;
  page.rows_max = 0;
  EXPECT_EQ(client()->read_history("a", 1, &page, none), Status::kInvalidArgument);
}

TEST_F(Management, ExecutionsHaveWhatTheyEndedWith) {
  const auto executions = [&](std::string_view id) {
    std::string text;
    auto describe = visit([&text](const ExecutionInfo& one) {
      text += std::to_string(one.execution_id) + " " + execution_state_name(one.state) + " " +
              error_kind_name(one.error) + " " + std::to_string(one.events) + " " +
              std::string(one.output) + "\n";
    });
    EXPECT_EQ(client()->list_executions(id, describe), Status::kOk) << client()->error_text();
    return text;
  };
  start("a", "rounds", "3");
  ASSERT_TRUE(until(OrchestrationState::kCompleted, "a"));
  EXPECT_EQ(executions("a"),
            "1 continued_as_new none 4 4\n"
            "2 continued_as_new none 4 5\n"
            "3 completed none 4 after 3\n");
  Removed pruned;
  ASSERT_EQ(client()->prune_executions("a", 1, 0, &pruned), Status::kOk);
  EXPECT_EQ(executions("a"), "3 completed none 4 after 3\n");

  start("b", "sleeper");
  settle();
  EXPECT_EQ(executions("b"), "1 running none 2 \n");
  cancel_instance("b", "enough");
  ASSERT_TRUE(until(OrchestrationState::kFailed, "b"));
  EXPECT_EQ(executions("b"), "1 failed application 4 asked to stop\n");
}

TEST_F(Management, CancelInBulkAsksAllThatPassAndHaveNotEnded) {
  start("ended", "rounds", "5");
  ASSERT_TRUE(until(OrchestrationState::kCompleted, "ended"));
  for (int i = 0; i < 70; ++i)
    start("s" + std::to_string(i), "sleeper");
  start("other", "on_session");
  settle();
  InstanceFilter sleepers;
  sleepers.name = "sleeper";
  Page page;
  std::int64_t asked = 0;
  ASSERT_EQ(client()->cancel_instances(sleepers, &page, "night", &asked), Status::kOk);
  EXPECT_EQ(asked, 64);
  EXPECT_TRUE(page.more);
  // The same call before a turn has taken the first requests: no instance is asked twice.
  Page again;
  ASSERT_EQ(client()->cancel_instances(sleepers, &again, "later", &asked), Status::kOk);
  EXPECT_EQ(asked, 0);
  ASSERT_EQ(client()->cancel_instances(sleepers, &page, "night", &asked), Status::kOk);
  EXPECT_EQ(asked, 6);
  EXPECT_FALSE(page.more);
  for (int i = 0; i < 70; ++i)
    ASSERT_TRUE(until(OrchestrationState::kFailed, "s" + std::to_string(i)));
  EXPECT_EQ(outcome_of("s69"), "failed application asked to stop");
  EXPECT_EQ(client().status("other").state, OrchestrationState::kRunning);
  EXPECT_EQ(worker->lines.count("info cancel_requested instance=s69 execution=1 reason=night"), 1U)
      << worker->lines.all();
  EXPECT_EQ(worker->lines.count("cancel_requested"), 70U);
  // Instances that ended are left as they are.
  Page all;
  ASSERT_EQ(client()->cancel_instances(InstanceFilter(), &all, "night", &asked), Status::kOk);
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(all.more);
  ASSERT_EQ(client()->cancel_instances(InstanceFilter(), &all, "night", &asked), Status::kOk);
  EXPECT_EQ(asked, 1);
  ASSERT_TRUE(ends("other"));
  EXPECT_EQ(outcome_of("ended"), "completed after 1");
  const std::string too_long(ClientOptions().payload_bytes_max + 1, 'x');
  Page none;
  EXPECT_EQ(client()->cancel_instances(InstanceFilter(), &none, too_long, &asked),
            Status::kResourceExhausted);
  none.rows_max = 0;
  EXPECT_EQ(client()->cancel_instances(InstanceFilter(), &none, "", &asked),
            Status::kInvalidArgument);
}

class KeepText final : public TextSink {
 public:
  bool write(std::string_view piece) noexcept override {
    if (text.size() + piece.size() > room) return false;
    text += piece;
    return true;
  }
  // The text without the times, which are those of the machine.
  [[nodiscard]] std::string without_times() const {
    std::string out = text;
    for (std::size_t at = out.find(",\"time_ms\":"); at != std::string::npos;
         at = out.find(",\"time_ms\":", at))
      out.erase(at, out.find_first_of(",}", at + 1) - at);
    return out;
  }
  std::string text;
  std::size_t room = 10'000;
};

TEST_F(Management, HistoryAsJsonLines) {
  StartOptions now;
  const std::string input = "\"\xc3\xa4\\\n" + std::string(1, '\0');
  ASSERT_EQ(client()->start_orchestration("sleeper", InstanceId("a"), input, now), Status::kOk);
  settle();
  cancel_instance("a", "\xff\xfe");
  ASSERT_TRUE(until(OrchestrationState::kFailed, "a"));
  KeepText lines;
  ASSERT_EQ(export_history(client().client, "a", 0, lines), Status::kOk);
  EXPECT_EQ(
      lines.without_times(),
      "{\"id\":1,\"kind\":\"started\",\"number\":2,\"name\":\"sleeper\",\"version\":\"1.0.0\","
      "\"payload\":\"\\u0022\xc3\xa4\\u005c\\u000a\\u0000\"}\n"
      "{\"id\":2,\"kind\":\"timer\",\"number\":1200000}\n"
      "{\"id\":3,\"kind\":\"cancel_requested\",\"payload_base64\":\"//4=\"}\n"
      "{\"id\":4,\"kind\":\"ended\",\"error\":\"application\","
      "\"payload\":\"asked to stop\"}\n");
  KeepText full;
  full.room = 20;
  EXPECT_EQ(export_history(client().client, "a", 0, full), Status::kIo);
  EXPECT_LE(full.text.size(), 20U);
  EXPECT_EQ(export_history(client().client, "b", 0, lines), Status::kNotFound);
}

TEST_F(Management, WorkersAndWhatTheyOwn) {
  start("a", "on_session");
  settle();
  std::string text;
  auto keep_workers = visit([&text](const WorkerInfo& one) {
    text += std::string(one.node) + (one.lease_ends_in_ms > 20'000 ? " lives\n" : " late\n");
  });
  auto keep_sessions = visit([&text](const SessionInfo& one) {
    text += std::string(one.name) + " of " + std::string(one.node) +
            (one.lease_ends_in_ms > 20'000 ? " held\n" : " late\n");
  });
  ASSERT_EQ(client()->list_workers(keep_workers), Status::kOk);
  Page page;
  ASSERT_EQ(client()->list_sessions(SessionFilter(), &page, keep_sessions), Status::kOk);
  EXPECT_EQ(text, "me lives\nvalve of me held\n");
}

TEST(ManagementNames, CountsOfStatesAreThoseOfTheirNames) {
  const auto is_known = [](const char* name) { return std::string(name) != "unknown"; };
  for (std::size_t i = 0; i < kOrchestrationStateCount; ++i)
    EXPECT_TRUE(is_known(orchestration_state_name(static_cast<OrchestrationState>(i)))) << i;
  EXPECT_FALSE(is_known(
      orchestration_state_name(static_cast<OrchestrationState>(kOrchestrationStateCount))));
  for (std::size_t i = 0; i < kSessionStateCount; ++i)
    EXPECT_TRUE(is_known(session_state_name(static_cast<SessionState>(i)))) << i;
  EXPECT_FALSE(is_known(session_state_name(static_cast<SessionState>(kSessionStateCount))));
  for (std::size_t i = 0; i < kActivityStateCount; ++i)
    EXPECT_TRUE(is_known(activity_state_name(static_cast<ActivityState>(i)))) << i;
  EXPECT_FALSE(is_known(activity_state_name(static_cast<ActivityState>(kActivityStateCount))));
}

TEST_F(Management, DeletedUnderARunningOne) {
  start("a", "sleeper");
  settle();
  EXPECT_EQ(client()->delete_instance("a", false), Status::kStillRunning);
  ASSERT_EQ(client()->delete_instance("a", true), Status::kOk);
  OrchestrationStatus status;
  EXPECT_EQ(client()->get_status("a", &status), Status::kNotFound);
  EXPECT_EQ(client()->delete_instance("a", true), Status::kNotFound);
  // The id is free, and the runtime does not take the new one for the old.
  start("a", "rounds", "5");
  EXPECT_TRUE(until(OrchestrationState::kCompleted, "a"));
  EXPECT_EQ(worker->runtime->stats().failed_ticks, 0U);
}

TEST_F(Management, ResultOfADeletedInstanceIsRefused) {
  start("a", "rounds", "5");
  // The instance is deleted between the activity's run and the commit of its result.
  ASSERT_TRUE(drive_until([] { return g_runs == 1; }));
  ASSERT_EQ(client()->delete_instance("a", true), Status::kOk);
  settle();
  EXPECT_EQ(worker->runtime->stats().activities_refused, 1U);
  EXPECT_EQ(worker->runtime->stats().failed_ticks, 0U);
}

TEST_F(Management, DeletesTheEndedOnesPageByPage) {
  for (int i = 0; i < 5; ++i)
    start("r" + std::to_string(i), "rounds", "4");
  start("s", "sleeper");
  ASSERT_TRUE(until(OrchestrationState::kCompleted, "r4"));
  settle();
  Page page;
  page.rows_max = 4;
  Removed deleted;
  ASSERT_EQ(client()->delete_instances(InstanceFilter(), &page, &deleted), Status::kOk);
  EXPECT_EQ(deleted.instances, 4);
  EXPECT_TRUE(page.more);
  ASSERT_EQ(client()->delete_instances(InstanceFilter(), &page, &deleted), Status::kOk);
  EXPECT_EQ(deleted.instances, 1);
  EXPECT_FALSE(page.more);
  EXPECT_EQ(client().status("s").state, OrchestrationState::kRunning);
}

}  // namespace
}  // namespace pawl
