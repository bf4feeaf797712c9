// Goal: an event or message that the Runtime's own thread sends is in one commit with the turn that
// takes it, and loses nothing by it: an answered one is received once and in order, whichever
// process dies, interferes or refuses.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "story.hpp"

namespace pawl {
namespace {

using testing::Story;
using testing::Worker;

std::function<void()> g_in_the_turn;  // done by others while a turn runs, once

void interfere() {
  const std::function<void()> action = std::move(g_in_the_turn);
  g_in_the_turn = nullptr;
  if (action) action();
}

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

Poll listen(OrchestrationContext& ctx) {
  PAWL_AWAIT(received, ctx.schedule_wait("go"));
  interfere();
  return ctx.complete(received.value());
}

Poll listen_twice(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_wait("go"));
  PAWL_AWAIT(second, ctx.schedule_wait("go"));
  return ctx.complete(std::string(first.value()) + "," + std::string(second.value()));
}

Poll listen_and_work(OrchestrationContext& ctx) {
  PAWL_AWAIT(received, ctx.schedule_wait("go"));
  PAWL_AWAIT(echoed, ctx.schedule_activity("echo", received.value()));
  return ctx.complete(echoed.value());
}

// Takes messages until "end", with an activity after each.
Poll takes(OrchestrationContext& ctx) {
  std::string all;
  for (;;) {
    PAWL_AWAIT(message, ctx.dequeue_event("q"));
    if (!message.ok()) return ctx.fail(message.error());
    if (message.value() == "end") return ctx.complete(all);
    all += std::string(message.value()) + ",";
    if (!ctx.input().empty()) PAWL_AWAIT_DONE(ctx.schedule_activity("echo", "x"));
  }
}

Poll takes_late(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  PAWL_CALL(takes(ctx));
  return Poll::done();
}

// Takes one message in each execution, and leaves a dequeue open.
Poll goes_round(OrchestrationContext& ctx) {
  const Handle mine = ctx.dequeue_event("q");
  static_cast<void>(ctx.dequeue_event("q"));
  PAWL_AWAIT(message, mine);
  const std::string all = std::string(ctx.input()) + std::string(message.value()) + ",";
  return message.value() == "end" ? ctx.complete(all) : ctx.continue_as_new(all);
}

Poll event_or_timer(OrchestrationContext& ctx) {
  PAWL_AWAIT(first,
             ctx.select(ctx.schedule_timer(std::chrono::seconds(10)), ctx.schedule_wait("go")));
  return ctx.complete(first.index() == 1 ? first.value() : "late");
}

bool g_changed = false;
Poll changes(OrchestrationContext& ctx) {
  if (g_changed) PAWL_AWAIT_DONE(ctx.schedule_activity("echo", "x"));
  PAWL_AWAIT(received, ctx.schedule_wait("go"));
  return ctx.complete(received.value());
}

class Piggyback : public Story {
 protected:
  Piggyback() {
    g_in_the_turn = nullptr;
    g_changed = false;
    add("listen", listen);
    add("listen_twice", listen_twice);
    add("listen_and_work", listen_and_work);
    add("takes", takes);
    add("takes_late", takes_late);
    add("goes_round", goes_round);
    add("event_or_timer", event_or_timer);
    add("changes", changes);
    add("echo", echo);
  }
  // Starts a worker that runs "a" and has nothing else to do.
  Worker& with(const char* name, std::string_view input = "") {
    Worker& worker = start_worker();
    pass(10);
    start("a", name, input);
    pass(20'000 - 10);
    EXPECT_TRUE(is_running("a"));
    return worker;
  }
  static void keep(void* all, Status status) noexcept {
    static_cast<std::vector<Status>*>(all)->push_back(status);
  }
  // Raises an event; `answers` has the answers in their order.
  void raise(Worker& worker, std::string_view payload, std::string_view id = "a") {
    ASSERT_EQ(worker.runtime->raise_event(id, "go", payload, {}, keep, &answers), Status::kOk);
  }
  static void keep_offer(void* all, Status status, bool received) noexcept {
    static_cast<std::vector<std::string>*>(all)->push_back(std::string(status_name(status)) +
                                                           (received ? " received" : ""));
  }
  void offer(Worker& worker, std::string_view payload, std::string_view name = "go",
             std::string_view id = "a") {
    ASSERT_EQ(worker.runtime->offer_event(id, name, payload, keep_offer, &offers), Status::kOk);
  }
  void enqueue(Worker& worker, std::string_view payload) {
    ASSERT_EQ(worker.runtime->enqueue_event("a", "q", payload, {}, keep, &answers), Status::kOk);
  }
  static std::uint64_t commits(Worker& worker) { return worker.runtime->stats().commits; }
  static bool tick(Worker& worker) {
    return worker.runtime->tick(std::chrono::milliseconds::max()).ok();
  }
  std::vector<Status> all_ok(std::size_t count) { return std::vector<Status>(count, Status::kOk); }

  std::vector<Status> answers;
  std::vector<std::string> offers;
};

TEST_F(Piggyback, AnEvent_TakesOneCommit) {
  Worker& worker = with("listen");
  const std::uint64_t before = commits(worker);
  raise(worker, "now");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(answers, all_ok(1));
  EXPECT_EQ(outcome_of("a"), "completed now");
  EXPECT_EQ(commits(worker), before + 1);
}

// The worker throws the bell of its own commit away, and with it one that rang behind it. The look
// 10 ms after each commit would find what came, too.
TEST_F(Piggyback, WhatAnotherSendsBehindTheCommit_IsFoundAtOnce) {
  Worker& worker = with("listen");
  start("b", "listen");
  pass(20'000);
  const auto send = [](void* self, Status) noexcept {
    static_cast<testing::Gateway*>(self)->raise_event("b", "go", "behind");
  };
  ASSERT_EQ(
      worker.runtime->raise_event("a", "go", "now", {}, send, static_cast<testing::Gateway*>(this)),
      Status::kOk);
  const std::int64_t begun = machine.boot_ms();
  const Result<bool> more = worker.runtime->tick(std::chrono::milliseconds::max());
  EXPECT_TRUE(more.value_or(false)) << "it would have slept";
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(outcome_of("b"), "completed behind");
  EXPECT_EQ(machine.boot_ms(), begun);
}

// Rules: R7.4.
TEST_F(Piggyback, AnOffer_IsAnsweredWithItsTickAndNeverStored) {
  Worker& worker = with("listen_twice");
  const std::uint64_t before = commits(worker);
  offer(worker, "no", "other");
  offer(worker, "one");
  offer(worker, "none", "go", "nobody");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(commits(worker), before + 1);
  EXPECT_EQ(offers, (std::vector<std::string>{"ok", "ok received", "not_found"}));
  EXPECT_EQ(worker.runtime->stats().messages_dropped, 1U);
  ASSERT_EQ(client()->suspend_instance("a"), Status::kOk);
  offer(worker, "not now");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(offers.back(), "timeout");
  ASSERT_EQ(client()->resume_instance("a"), Status::kOk);
  pass(1'000);
  offer(worker, "two");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(offers.back(), "ok received");
  EXPECT_EQ(outcome_of("a"), "completed one,two");
  offer(worker, "late");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(offers.back(), "stale");
}

// The turn runs again without the offer.
TEST_F(Piggyback, AnOfferWhoseTurnCannotBeWritten_IsOver) {
  Worker& worker = with("listen");
  g_in_the_turn = [&] { raise_event("a", "go", "first"); };
  offer(worker, "now");
  ASSERT_TRUE(tick(worker));
  ASSERT_EQ(offers, std::vector<std::string>{"timeout"});
  EXPECT_EQ(end_of("a"), "completed first");
}

TEST_F(Piggyback, AnOfferWhoseTurnIsStale_IsNotStored) {
  Worker& worker = with("listen");
  g_in_the_turn = [&] { ASSERT_EQ(client()->suspend_instance("a"), Status::kOk); };
  offer(worker, "now");
  ASSERT_TRUE(tick(worker));
  ASSERT_EQ(offers, std::vector<std::string>{"timeout"});
  InstanceStats left;
  ASSERT_EQ(client()->get_instance_stats("a", &left), Status::kOk);
  EXPECT_EQ(left.messages_waiting, 0);
  ASSERT_EQ(client()->resume_instance("a"), Status::kOk);
  raise(worker, "later");
  EXPECT_EQ(end_of("a"), "completed later");
}

TEST_F(Piggyback, AnEvent_IsInTheCommitOfTheHandOverThatItAsksFor) {
  Worker& worker = with("listen_and_work");
  const std::uint64_t before = commits(worker);
  raise(worker, "now");
  EXPECT_EQ(end_of("a"), "completed now");
  EXPECT_EQ(commits(worker), before + 2);
}

TEST_F(Piggyback, AColdInstance_IsLoaded) {
  options.limits.warm_instances = options.limits.batch = 1;
  Worker& worker = with("listen");
  start("b", "listen");
  pass(1'000);
  const std::uint64_t loads = worker.runtime->stats().cold_loads;
  const std::uint64_t before = commits(worker);
  raise(worker, "now");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(outcome_of("a"), "completed now");
  EXPECT_EQ(commits(worker), before + 1);
  EXPECT_EQ(worker.runtime->stats().cold_loads, loads + 1);
}

TEST_F(Piggyback, ManyInOneTick_AreOneCommitAndKeepTheirOrder) {
  Worker& worker = with("listen_twice");
  start("b", "listen");
  pass(1'000);
  const std::uint64_t before = commits(worker);
  raise(worker, "one");
  raise(worker, "other", "b");
  raise(worker, "two");
  raise(worker, "unheard");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(outcome_of("a"), "completed one,two");
  EXPECT_EQ(outcome_of("b"), "completed other");
  EXPECT_EQ(commits(worker), before + 1);
  EXPECT_EQ(answers, all_ok(4));
}

TEST_F(Piggyback, AnEventWithoutAWait_IsStoredWithTheTurn) {
  Worker& worker = with("takes");
  raise(worker, "no");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(answers, all_ok(1));
  EXPECT_EQ(worker.runtime->stats().messages_dropped, 0U);
  InstanceStats kept;
  ASSERT_EQ(client()->get_instance_stats("a", &kept), Status::kOk);
  EXPECT_EQ(kept.messages_waiting, 1);
  enqueue(worker, "end");
  EXPECT_EQ(end_of("a"), "completed ");
}

// Messages are stored with the turn that saw them, under the numbers that they had in it.
TEST_F(Piggyback, MessagesNotTakenYet_WaitInOrderOverARestart) {
  Worker& worker = with("takes_late");
  enqueue(worker, "1");
  enqueue(worker, "2");
  const std::uint64_t before = commits(worker);
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(commits(worker), before + 1);
  EXPECT_EQ(answers, all_ok(2));
  enqueue_event("a", "q", "3");
  pass(1'000);
  enqueue(worker, "4");
  pass(1'000);
  Worker& next = restart();
  enqueue(next, "5");
  raise(next, "");
  enqueue(next, "end");
  EXPECT_EQ(end_of("a"), "completed 1,2,3,4,5,");
  EXPECT_EQ(answers, all_ok(6));
}

TEST_F(Piggyback, WhatIsStoredAlready_ComesFirst) {
  options.limits.instance_batch_max = 4;
  Worker& worker = with("takes");
  for (int i = 0; i < 10; ++i)
    enqueue_event("a", "q", std::to_string(i));
  for (int i = 10; i < 16; ++i)
    enqueue(worker, std::to_string(i));
  enqueue(worker, "end");
  EXPECT_EQ(end_of("a"), "completed 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,");
  EXPECT_EQ(answers, all_ok(7));
}

TEST_F(Piggyback, AnEvent_WinsAgainstATimerThatTheSameLookFindsDue) {
  Worker& worker = start_worker();
  start("a", "event_or_timer");
  pass(9'500);
  machine.advance(1'000);
  raise(worker, "in time");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(outcome_of("a"), "completed in time");
}

TEST_F(Piggyback, MessagesLeftByAContinueAsNew_AreReceivedByTheNext) {
  Worker& worker = with("goes_round");
  for (const char* payload : {"1", "2", "3", "4", "end"})
    enqueue(worker, payload);
  EXPECT_EQ(end_of("a"), "completed 1,2,3,4,end,");
  EXPECT_EQ(answers, all_ok(5));
}

TEST_F(Piggyback, NoInstanceThere_IsReportedAsEver) {
  Worker& worker = with("listen");
  raise(worker, "now");
  pass(1'000);
  raise(worker, "again");
  raise(worker, "who?", "nobody");
  pass(1'000);
  EXPECT_EQ(answers, (std::vector<Status>{Status::kOk, Status::kStale, Status::kNotFound}));
}

TEST_F(Piggyback, TheLimitOfWaitingMessages_CountsThoseThatArePiggybacked) {
  options.limits.queue_messages_max = 4;
  Worker& worker = with("takes_late");
  enqueue_event("a", "q", "0");
  pass(1'000);
  for (int i = 1; i < 7; ++i)
    enqueue(worker, std::to_string(i));
  pass(1'000);
  const Status full = Status::kResourceExhausted;
  EXPECT_EQ(answers,
            (std::vector<Status>{Status::kOk, Status::kOk, Status::kOk, full, full, full}));
  options.limits.queue_messages_max = 256;
  Worker& larger = restart();
  ASSERT_EQ(client()->raise_event("a", "go", ""), Status::kOk) << "there is room again";
  pass(1'000);
  enqueue(larger, "end");
  EXPECT_EQ(end_of("a"), "completed 0,1,2,3,");
}

TEST_F(Piggyback, TheLimitOfWaitingMessages_CountsThoseThatAreStoredAfterAllOnce) {
  options.limits.queue_messages_max = 4;
  Worker& worker = with("takes_late");
  start("b", "listen");
  pass(1'000);
  g_in_the_turn = [&] { enqueue_event("a", "q", "0"); };
  raise(worker, "", "b");
  for (int i = 1; i < 6; ++i)
    enqueue(worker, std::to_string(i));
  pass(1'000);
  const Status full = Status::kResourceExhausted;
  EXPECT_EQ(answers,
            (std::vector<Status>{Status::kOk, Status::kOk, Status::kOk, Status::kOk, full, full}));
  options.limits.queue_messages_max = 256;
  Worker& larger = restart();
  ASSERT_EQ(client()->raise_event("a", "go", ""), Status::kOk) << "there is room again";
  pass(1'000);
  enqueue(larger, "end");
  EXPECT_EQ(end_of("a"), "completed 0,1,2,3,");
}

TEST_F(Piggyback, OverTheQuota_NothingIsReceived) {
  Worker& worker = with("listen");
  ASSERT_EQ(client()->set_quota(512 * 1024), Status::kOk);
  std::string filler;  // it cannot be compressed, as a server would
  for (std::mt19937 random(1); filler.size() < 60'000;)
    filler.push_back(static_cast<char>('!' + random() % 90));
  for (int i = 0; i < 30; ++i) {  // the space that the log takes comes back
    const std::string id = "f" + std::to_string(i);
    const Status started = client()->start_orchestration("listen", InstanceId(id), filler);
    ASSERT_TRUE(started == Status::kOk || started == Status::kQuota);
    pass(1'000);
  }
  raise(worker, "now");
  pass(1'000);
  EXPECT_EQ(answers, std::vector<Status>{Status::kQuota});
  EXPECT_TRUE(is_running("a"));
  ASSERT_EQ(client()->set_quota(0), Status::kOk);
  raise(worker, "later");
  EXPECT_EQ(end_of("a"), "completed later");
}

// ---- calls before and behind the message ----

TEST_F(Piggyback, ASuspendedInstance_ReceivesItWhenItGoesOn) {
  Worker& worker = with("listen_twice");
  ASSERT_EQ(worker.runtime->suspend_instance("a"), Status::kOk);
  raise(worker, "one");  // behind the suspension, in one tick
  ASSERT_TRUE(tick(worker));
  raise(worker, "two");
  pass(1'000);
  EXPECT_EQ(answers, all_ok(2));
  EXPECT_EQ(client().status("a").state, OrchestrationState::kSuspended);
  ASSERT_EQ(worker.runtime->resume_instance("a"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed one,two");
}

TEST_F(Piggyback, AnEventBeforeASuspendInOneTick_IsNotLost) {
  Worker& worker = with("listen");
  raise(worker, "now");
  ASSERT_EQ(worker.runtime->suspend_instance("a"), Status::kOk);
  pass(1'000);
  EXPECT_EQ(answers, all_ok(1));
  EXPECT_EQ(client().status("a").state, OrchestrationState::kSuspended);
  ASSERT_EQ(worker.runtime->resume_instance("a"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed now");
}

TEST_F(Piggyback, AnEventBeforeATermination_DoesNotUndoIt) {
  Worker& worker = with("listen");
  raise(worker, "now");
  ASSERT_EQ(worker.runtime->terminate_instance("a", "enough"), Status::kOk);
  EXPECT_EQ(end_of("a"), "failed terminated enough");
  EXPECT_EQ(answers, all_ok(1));
}

// ---- other processes ----

// A message that another process stores while the turn runs is older: the turn runs again behind
// it.
TEST_F(Piggyback, AMessageOfAnotherWhileTheTurnRuns_ComesFirst) {
  Worker& worker = with("takes");
  start("b", "listen");
  pass(1'000);
  g_in_the_turn = [&] { enqueue_event("a", "q", "theirs"); };
  raise(worker, "now", "b");
  enqueue(worker, "ours");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(answers, all_ok(2));
  enqueue(worker, "end");
  EXPECT_EQ(end_of("a"), "completed theirs,ours,");
  EXPECT_EQ(end_of("b"), "completed now");
}

// The row changed while the turn ran, and no message was stored: the event is stored instead of the
// turn.
TEST_F(Piggyback, AnInstanceSuspendedWhileTheTurnRuns_ReceivesItLater) {
  Worker& worker = with("listen");
  g_in_the_turn = [&] { ASSERT_EQ(client()->suspend_instance("a"), Status::kOk); };
  raise(worker, "now");
  pass(1'000);
  EXPECT_EQ(answers, all_ok(1));
  EXPECT_EQ(client().status("a").state, OrchestrationState::kSuspended);
  EXPECT_GE(worker.runtime->stats().turns_refused, 1U);
  ASSERT_EQ(client()->resume_instance("a"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed now");
}

TEST_F(Piggyback, AnInstanceDeletedWhileTheTurnRuns_IsNotThere) {
  Worker& worker = with("listen");
  g_in_the_turn = [&] { ASSERT_EQ(client()->delete_instance("a", true), Status::kOk); };
  raise(worker, "now");
  pass(1'000);
  EXPECT_EQ(answers, std::vector<Status>{Status::kNotFound});
}

// The instance is warm at another worker: the event is stored, and received there.
TEST_F(Piggyback, AnInstanceOfAnotherWorker_IsLeftToIt) {
  options.leases.home_grace = std::chrono::seconds(10);
  Worker& home = with("listen");
  Worker& other = start_worker();
  pass(1'000);
  const std::uint64_t turns = home.runtime->stats().turns;
  raise(other, "now");
  EXPECT_EQ(end_of("a"), "completed now");
  EXPECT_EQ(answers, all_ok(1));
  EXPECT_EQ(home.runtime->stats().turns, turns + 1);
}

// Its process lives and does nothing. No commit says that the grace is over.
TEST_F(Piggyback, AnInstanceOfAWorkerThatHangs_IsTakenAfterTheGrace) {
  options.leases.home_grace = std::chrono::seconds(2);
  with("listen");
  Worker& other = start_worker();
  pass(1'000);
  raise_event("a", "go", "now");
  pass({&other}, 1'900);
  EXPECT_TRUE(is_running("a"));
  pass({&other}, 200);
  EXPECT_EQ(outcome_of("a"), "completed now");
}

TEST_F(Piggyback, AWorkerWithoutOrchestrations_StoresIt) {
  with("listen");
  Options activities_only = options;
  activities_only.run_orchestrations = false;
  Worker& other = start_worker(activities_only);
  raise(other, "now");
  EXPECT_EQ(end_of("a"), "completed now");
  EXPECT_EQ(answers, all_ok(1));
}

// ---- turns that fail ----

TEST_F(Piggyback, CodeThatDoesNotMatch_StopsTheInstanceAndKeepsTheEvent) {
  testing::expect_errors("instance_stopped");
  with("changes");
  g_changed = true;
  Worker& worker = restart();
  pass(1'000);
  raise(worker, "now");
  pass(1'000);
  EXPECT_EQ(answers, all_ok(1));
  EXPECT_EQ(client().status("a").state, OrchestrationState::kStopped);
  g_changed = false;
  restart();
  EXPECT_EQ(end_of("a"), "completed now");
}

// No call was answered, so nothing is stored; but the instance has a row, and the crash is charged.
TEST_F(Piggyback, ACrashInTheTurn_IsChargedUntilTheInstanceIsPoisoned) {
  testing::expect_errors("tick_rolled_back", 3);
  options.limits.crashes_max = 3;
  options.verify_turns = false;
  with("listen");
  int lives = 0;
  for (; lives < 10 && is_running("a"); ++lives) {
    Worker& worker = restart();
    pass(1'000);
    answers.clear();
    g_in_the_turn = [&] { worker.node.kill(); };
    raise(worker, "now");
    for (int i = 0; i < 3 && !worker.node.killed(); ++i)
      static_cast<void>(tick(worker));
    g_in_the_turn = nullptr;
  }
  EXPECT_EQ(outcome_of("a").substr(0, 13), "failed poison");
  EXPECT_EQ(lives, options.limits.crashes_max + 1);
  EXPECT_EQ(answers, all_ok(1)) << "of the last life, which ran no turn of it";
}

// A death at each write: an answered message is received once and in order; any other is not there,
// or is there once.
TEST_F(Piggyback, DeathAtEveryWrite) {
  Worker* worker = &with("takes", "works");
  std::vector<std::string> sent;
  std::vector<bool> answered;
  bool all_written = false;
  for (std::uint64_t nth = 1; !all_written && nth < 200; ++nth) {
    pass(1'000);
    answers.clear();
    sent.push_back(std::to_string(nth));
    enqueue(*worker, sent.back());
    const std::uint64_t before = machine.writes();
    worker->watch.hold();
    machine.fail_write(nth, Status::kIo, true);
    static_cast<void>(drive_until([&] { return machine.writes() >= before + nth; }, 35'000));
    all_written = machine.writes() < before + nth;
    machine.fail_write(0, Status::kOk, false);
    answered.push_back(answers == all_ok(1));
    worker = &restart();
  }
  EXPECT_TRUE(all_written);
  enqueue(*worker, "end");
  const std::string received = end_of("a");
  std::size_t at = std::string("completed ").size();
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (received.compare(at, sent[i].size() + 1, sent[i] + ",") == 0) {
      at += sent[i].size() + 1;
    } else {
      EXPECT_FALSE(answered[i]) << sent[i] << " of " << received;
    }
  }
  EXPECT_EQ(at, received.size()) << received;
}

}  // namespace
}  // namespace pawl
