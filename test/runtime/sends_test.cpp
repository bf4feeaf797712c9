// Goal: what code sends to other instances, or to its own, arrives once, in the commit of the turn
// (R12.1), and its answer may be awaited in that turn, later, or never (R12.3, R12.4).
// Method: whole runtimes on the simulated machine, killed at each write.
#include <gtest/gtest.h>

#include <string>

#include "story.hpp"

namespace pawl {
namespace {

using testing::Story;
using testing::Worker;

std::string shown(const Outcome& outcome) {
  return outcome.ok() ? "ok" : error_kind_name(outcome.error().kind);
}

// Takes messages until one is "end".
Poll takes(OrchestrationContext& ctx) {
  std::string all(ctx.input());
  for (;;) {
    PAWL_AWAIT(message, ctx.dequeue_event("q"));
    if (!message.ok()) return ctx.fail(message.error());
    if (message.value() == "end") return ctx.complete(all);
    all += std::string(message.value()) + ",";
  }
}

Poll hears(OrchestrationContext& ctx) {
  PAWL_AWAIT(event, ctx.schedule_wait("go"));
  return ctx.complete(event.value());
}

// Sends to the instance that its input names, and awaits nothing.
Poll sends(OrchestrationContext& ctx) {
  for (const char* text : {"one", "two"})
    ctx.enqueue_event(ctx.input(), "q", text);
  ctx.raise_event("ears", "go", "now");
  PAWL_AWAIT_DONE(ctx.dequeue_event("wake"));
  ctx.enqueue_event(ctx.input(), "q", "last");
  return ctx.complete("sent");
}

// Awaits the answer at once.
Poll sends_and_awaits(OrchestrationContext& ctx) {
  PAWL_AWAIT(sent, ctx.enqueue_event(ctx.input(), "q", "one"));
  return ctx.complete(shown(sent) + " " + std::string(sent.error().text));
}

// Awaits it in a later turn, behind a timer, and then goes on.
Poll sends_and_awaits_later(OrchestrationContext& ctx) {
  const Handle first = ctx.enqueue_event(ctx.input(), "q", "one");
  const Handle other = ctx.enqueue_event("nobody", "q", "two");
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  PAWL_AWAIT(a, first);
  PAWL_AWAIT(b, other);
  PAWL_AWAIT(c, first);
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  return ctx.complete(shown(a) + " " + shown(b) + " " + shown(c));
}

// Awaits it in the turn of a message.
Poll awaits_behind_a_message(OrchestrationContext& ctx) {
  const Handle sent = ctx.enqueue_event("nobody", "q", "one");
  PAWL_AWAIT_DONE(ctx.dequeue_event("go"));
  PAWL_AWAIT(outcome, sent);
  return ctx.complete(shown(outcome));
}

// A select, a join and a cancelled handle.
Poll sends_in_select(OrchestrationContext& ctx) {
  const Handle sent = ctx.enqueue_event(ctx.input(), "q", "one");
  PAWL_AWAIT(won, ctx.select(ctx.schedule_timer(std::chrono::hours(1)), sent));
  const Handle both[] = {ctx.enqueue_event(ctx.input(), "q", "two"),
                         ctx.schedule_timer(std::chrono::seconds(1))};
  PAWL_AWAIT(all, ctx.join(both[0], both[1]));
  const Handle lost = ctx.enqueue_event(ctx.input(), "q", "three");
  ctx.cancel(lost);
  PAWL_AWAIT(closed, lost);
  return ctx.complete(std::to_string(won.index()) + shown(won) + " " + shown(all) + " " +
                      shown(closed));
}

SendOptions starting(std::string_view definition, std::string_view input) {
  SendOptions options;
  options.start_if_ended = StartIfEnded{definition, input};
  return options;
}

// Starts what it sends to, or sends with a key.
Poll starts(OrchestrationContext& ctx) {
  StartOptions how;
  how.version = Name("2.0.0");
  how.start_after = std::chrono::seconds(5);
  how.time_limit = std::chrono::hours(1);
  SendOptions options;
  options.start_if_ended = StartIfEnded{"takes", "new,", how};
  PAWL_AWAIT(sent, ctx.enqueue_event("made", "q", "one", options));
  SendOptions keyed;
  keyed.key = "k";
  PAWL_AWAIT(first, ctx.enqueue_event("made", "q", "two", keyed));
  PAWL_AWAIT(again, ctx.enqueue_event("made", "q", "two", keyed));
  PAWL_AWAIT(other, ctx.enqueue_event("made", "q", "three", keyed));
  return ctx.complete(shown(sent) + " " + shown(first) + " " + shown(again) + " " + shown(other));
}

// To itself, in the middle and with its end.
Poll talks_to_itself(OrchestrationContext& ctx) {
  ctx.enqueue_event(ctx.instance_id(), "q", "mine");
  PAWL_AWAIT(message, ctx.dequeue_event("q"));
  const std::string text = std::string(ctx.input()) + std::string(message.value());
  if (ctx.execution_id() == 3) return ctx.complete(text);
  if (ctx.execution_id() == 2) {
    ctx.enqueue_event(ctx.instance_id(), "q", "again", starting("talks_to_itself", text + ";"));
    return ctx.complete("ended");
  }
  ctx.enqueue_event(ctx.instance_id(), "q", "carried");
  return ctx.continue_as_new(text + ",");
}

Poll refused_forms(OrchestrationContext& ctx) {
  std::string all;
  const std::string longest(70'000, 'x');
  const SendOptions bad_key = [] {
    SendOptions options;
    options.key = "";
    return options;
  }();
  StartOptions early;
  early.start_after = std::chrono::milliseconds(-1);
  SendOptions bad_start = starting("takes", "");
  bad_start.start_if_ended->options = early;
  const Handle handles[] = {
      ctx.enqueue_event("", "q", "m"),
      ctx.enqueue_event("a", "", "m"),
      ctx.enqueue_event("a", "q", longest),
      ctx.raise_event("a", "q", "m", bad_key),
      ctx.enqueue_event("a", "q", "m", starting("", "")),
      ctx.enqueue_event("a::1.2", "q", "m", starting("takes", "")),
      ctx.enqueue_event("a", "q", "m", bad_start),
      ctx.enqueue_event("a", "q", "m", starting("takes", longest)),
  };
  for (const Handle& handle : handles) {
    PAWL_AWAIT(outcome, handle);
    all += shown(outcome) + " ";
  }
  return ctx.complete(all + std::to_string(ctx.history_length()));
}

// Sends before, and after, it is asked to stop.
Poll sends_when_cancelled(OrchestrationContext& ctx) {
  PAWL_AWAIT(message, ctx.dequeue_event("q"));
  const Handle sent = ctx.enqueue_event("a", "q", "stopped");
  PAWL_AWAIT(outcome, sent);
  ctx.enqueue_event("a", "q", outcome.cancelled() ? "cancelled" : "not cancelled");
  return ctx.fail(message.error());
}

Poll in_a_branch(OrchestrationContext& ctx) {
  auto branch = [](OrchestrationContext& inner) -> Poll {
    PAWL_AWAIT(sent, inner.enqueue_event("a", "q", "one"));
    inner.enqueue_event("a", "q", "two");
    return inner.complete(shown(sent));
  };
  PAWL_AWAIT(done, ctx.open_branch(branch));
  return ctx.complete(done.value());
}

Poll fails_once_behind_a_send(OrchestrationContext& ctx) {
  const Handle sent = ctx.enqueue_event("a", "q", "once");
  PAWL_AWAIT(tried, ctx.schedule_activity("fails_once", ""));
  if (!tried.ok()) return ctx.fail(tried.error());
  PAWL_AWAIT(outcome, sent);
  return ctx.complete(shown(outcome));
}

int g_failures = 0;
ActivityResult fails_once(ActivityContext& ctx) {
  return g_failures++ == 0 ? ctx.fail("first") : ctx.ok("");
}

class Sends : public Story {
 protected:
  Sends() {
    add("takes", takes);
    add("takes", takes, "2.0.0");
    add("hears", hears);
    add("sends", sends);
    add("sends_and_awaits", sends_and_awaits);
    add("sends_and_awaits_later", sends_and_awaits_later);
    add("awaits_behind_a_message", awaits_behind_a_message);
    add("sends_in_select", sends_in_select);
    add("starts", starts);
    add("talks_to_itself", talks_to_itself);
    add("refused_forms", refused_forms);
    add("sends_when_cancelled", sends_when_cancelled);
    add("in_a_branch", in_a_branch);
    add("fails_once_behind_a_send", fails_once_behind_a_send);
    add("fails_once", fails_once);
    g_failures = 0;
  }
  std::string all_of(std::string_view id) {
    enqueue_event(id, "q", "end");
    return end_of(id);
  }
};

TEST_F(Sends, WhatATurnSendsArrivesInOrder) {
  start_worker();
  start("a", "takes");
  start("ears", "hears");
  start("s", "sends", "a");
  EXPECT_EQ(end_of("ears"), "completed now");
  pass(1'000);
  EXPECT_EQ(count(history("s"), "value_answer"), 0U) << "no one awaits the answers";
  enqueue_event("s", "wake", "");
  EXPECT_EQ(end_of("s"), "completed sent");
  EXPECT_EQ(all_of("a"), "completed one,two,last,");
}

TEST_F(Sends, TheAnswerMayBeAwaited) {
  Worker& worker = start_worker();
  start("a", "takes");
  start("s", "sends_and_awaits", "a");
  EXPECT_EQ(end_of("s"), "completed ok ");
  start("t", "sends_and_awaits", "nobody");
  EXPECT_EQ(end_of("t"), "completed no_instance there is no instance of this id");
  EXPECT_EQ(worker.lines.count("message_refused id=nobody instance=t event=2"), 1U)
      << worker.lines.all();
  EXPECT_EQ(all_of("a"), "completed one,");
  start("u", "sends_and_awaits", "a");
  EXPECT_EQ(end_of("u"), "completed no_instance the instance has ended");
}

TEST_F(Sends, TheAnswerMayBeAwaitedInALaterTurn) {
  start_worker();
  start("a", "takes");
  start("s", "sends_and_awaits_later", "a");
  EXPECT_EQ(end_with_kills("s"), "completed ok no_instance ok");
  EXPECT_EQ(all_of("a"), "completed one,");
  EXPECT_EQ(count(history("s"), "value_answer"), 2U);
}

// A turn that reads one message at a time meets the await before it has read the refusal.
TEST_F(Sends, ARefusalIsReadBeforeAnAwaitIsAnswered) {
  options.limits.instance_batch_max = 1;
  start_worker();
  start("s", "awaits_behind_a_message");
  enqueue_event("s", "other", "first");
  enqueue_event("s", "go", "second");
  EXPECT_EQ(end_of("s"), "completed no_instance");
}

TEST_F(Sends, SelectsAndJoinsHoldThem) {
  start_worker();
  start("a", "takes");
  start("s", "sends_in_select", "a");
  EXPECT_EQ(end_with_kills("s"), "completed 1ok ok closed");
  EXPECT_EQ(all_of("a"), "completed one,two,three,");
}

TEST_F(Sends, AFullMailboxIsAnAnswer) {
  options.limits.queue_messages_max = 2;
  start_worker();
  start("a", "takes");
  ASSERT_EQ(client()->suspend_instance("a"), Status::kOk);
  for (const char* text : {"x", "y"})
    enqueue_event("a", "q", text);
  start("s", "sends_and_awaits", "a");
  const std::string end = end_of("s");
  EXPECT_EQ(end.rfind("completed limit 2 messages with", 0), 0U) << end;
  ASSERT_EQ(client()->resume_instance("a"), Status::kOk);
  pass(1'000);
  EXPECT_EQ(all_of("a"), "completed x,y,");
}

// R12.6.
TEST_F(Sends, TheySayWhatToStartAndHaveKeys) {
  start_worker();
  start("s", "starts");
  EXPECT_EQ(end_of("s"), "completed ok ok ok application");
  InstanceInfo info;
  ASSERT_EQ(client()->get_instance_info("made", &info), Status::kOk);
  EXPECT_EQ(info.time_limit_ms.value_or(0), 3'600'000);
  EXPECT_EQ(all_of("made"), "completed new,one,two,");
  ASSERT_EQ(client()->get_instance_info("made", &info), Status::kOk);
  EXPECT_EQ(info.version, "2.0.0");
  // It has ended, so it begins its next execution; its keys are known there.
  start("s2", "starts");
  EXPECT_EQ(end_of("s2"), "completed ok ok ok application");
  EXPECT_EQ(all_of("made"), "completed new,one,");
  // A removed id begins as new.
  ASSERT_EQ(client()->delete_instance("made", false), Status::kOk);
  start("s3", "starts");
  EXPECT_EQ(end_of("s3"), "completed ok ok ok application");
  EXPECT_EQ(all_of("made"), "completed new,one,two,");
}

// In the middle of an execution, into the next one, and with its end: that is refused, unless it
// brings a start (R12.2).
TEST_F(Sends, ToItself) {
  start_worker();
  start("me", "talks_to_itself", "");
  ASSERT_TRUE(drive_until([&] { return client().status("me").execution_id == 3; }));
  EXPECT_EQ(end_with_kills("me"), "completed mine,carried;again");
  EXPECT_EQ(client().status("me").unread_messages, 0);
}

TEST_F(Sends, WhatCannotBeSentIsNotRecorded) {
  start_worker();
  start("s", "refused_forms");
  EXPECT_EQ(end_of("s"),
            "completed invalid_argument invalid_argument limit invalid_argument invalid_argument "
            "invalid_argument invalid_argument limit 1");
}

TEST_F(Sends, ACancelledInstanceStillSends) {
  start_worker();
  start("a", "takes");
  start("s", "sends_when_cancelled");
  pass(100);
  cancel_instance("s", "enough");
  EXPECT_EQ(end_of("s"), "failed cancelled enough");
  EXPECT_EQ(all_of("a"), "completed stopped,cancelled,");
}

TEST_F(Sends, BranchesSend) {
  start_worker();
  start("a", "takes");
  start("s", "in_a_branch");
  EXPECT_EQ(end_with_kills("s"), "completed ok");
  EXPECT_EQ(all_of("a"), "completed one,two,");
}

// A restart does not send again what the execution before sent (R12.5).
TEST_F(Sends, ARestartDoesNotSendAgain) {
  start_worker();
  start("a", "takes");
  start("s", "fails_once_behind_a_send");
  ASSERT_EQ(end_of("s"), "failed application first");
  ASSERT_EQ(client()->restart_instance("s", RestartFrom::kLastGoodEvent), Status::kOk);
  EXPECT_EQ(end_of("s"), "completed ok");
  EXPECT_EQ(all_of("a"), "completed once,");
}

// Two in one tick: the receiver ends in the same batch, before or behind the sender.
TEST_F(Sends, TheReceiverMayEndInTheSameTick) {
  start_worker();
  for (int i = 0; i < 20; ++i) {
    const std::string id = "a" + std::to_string(i);
    start(id, "takes");
    pass(50);
    enqueue_event(id, "q", "end");
    start("s" + std::to_string(i), "sends_and_awaits", id);
    const std::string sent = end_of("s" + std::to_string(i));
    const std::string taken = end_of(id);
    const std::int64_t unread = client().status(id).unread_messages;
    if (sent == "completed ok ") {
      EXPECT_TRUE(taken == "completed one," || unread == 1) << taken;
    } else {
      EXPECT_EQ(sent, "completed no_instance the instance has ended");
      EXPECT_EQ(taken, "completed ");
    }
  }
}

TEST_F(Sends, DeathAtEveryWrite) {
  bool all_written = false;
  for (std::uint64_t nth = 1; !all_written && nth < 600; nth += PAWL_SAMPLE) {
    const std::string id = "a" + std::to_string(nth);
    const std::string sender = "s" + std::to_string(nth);
    Worker& worker = restart();
    start(id, "takes");
    start(sender, "sends_in_select", id);
    const std::uint64_t before = machine.writes();
    worker.watch.hold();
    machine.fail_write(nth, Status::kIo, true);
    static_cast<void>(
        drive_until([&] { return machine.writes() >= before + nth || has_ended(sender); }, 35'000));
    all_written = machine.writes() < before + nth;
    worker.kill();
    machine.fail_write(0, Status::kOk, false);
    restart();
    ASSERT_EQ(end_of(sender), "completed 1ok ok closed") << nth;
    ASSERT_EQ(all_of(id), "completed one,two,three,") << nth;
  }
  EXPECT_TRUE(all_written);
}

}  // namespace
}  // namespace pawl
