// Turns: messages taken and dropped, cancellation, endings that are none, traces, limits, failures
// from outside, and a warm history compared with one rebuilt from its events.
#include <chrono>
#include <string>

#include "replay_bench.hpp"

namespace pawl::test {
namespace {

using std::chrono::milliseconds;

Poll two_steps(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("first", ctx.input()));
  if (first.cancelled()) return ctx.fail(first.error());
  PAWL_AWAIT(second, ctx.schedule_activity("second", first.value()));
  return ctx.complete(second.value());
}

// ---- messages ----

// Rules: R7.1.
TEST(Messages, DuplicateInOneBatchIsDropped) {
  Bench bench;
  bench.go(two_steps, {start()}).go(two_steps, {done(2, "x"), done(2, "y")});
  EXPECT_EQ(bench.added(), "3 activity_done ->2 = x\n4 activity 0.1 second(x)\n");
  EXPECT_EQ(bench.dropped(), 1U);
}

// Rules: R7.1.
TEST(Messages, DuplicateOfHistoryIsDropped) {
  Bench bench;
  bench.go(two_steps, {start()}).go(two_steps, {done(2, "x")}).go(two_steps, {done(2, "y")});
  EXPECT_EQ(bench.added(), "");
  EXPECT_EQ(bench.dropped(), 1U);
}

// A second failure, a result after a failure, a failure after a result: in one batch or a later
// one.
TEST(Messages, FailureAndResultOfOneActivityAreOneOutcome) {
  const Message failure = failed(2, ErrorKind::kApplication, "no");
  Bench later;
  later.go(two_steps, {start()}).go(two_steps, {failure}).go(two_steps, {failure, done(2)});
  EXPECT_EQ(later.added(), "");
  EXPECT_EQ(later.dropped(), 2U);
  Bench at_once;
  at_once.go(two_steps, {start()}).go(two_steps, {done(2), failure});
  EXPECT_EQ(at_once.dropped(), 1U);
}

// Rules: R7.1.
TEST(Messages, OfAnotherExecutionIsDropped) {
  Bench bench;
  Message other = done(2);
  other.execution = 2;
  bench.go(two_steps, {start()}).go(two_steps, {other});
  EXPECT_EQ(bench.added(), "");
  EXPECT_EQ(bench.dropped(), 1U);
}

TEST(Messages, ForWhatIsNoCommandOrOfAnotherKindIsDropped) {
  Bench bench;
  bench.go(two_steps, {start()}).go(two_steps, {done(0), done(1), done(9), fired(2)});
  EXPECT_EQ(bench.added(), "");
  EXPECT_EQ(bench.dropped(), 4U);
}

TEST(Messages, AfterTheEndAreDropped) {
  Bench bench;
  const Orchestration race = [](OrchestrationContext& ctx) {
    static_cast<void>(ctx.schedule_activity("slow", ""));
    return ctx.complete("");
  };
  bench.go(race, {start()}).go(race, {done(2), cancel()});
  EXPECT_EQ(bench.added(), "");
  EXPECT_EQ(bench.dropped(), 2U);
  EXPECT_EQ(bench.state(), TurnState::kEnded);
}

TEST(Messages, SecondStartIsDropped) {
  Bench bench;
  bench.go(two_steps, {start("a"), start("b")});
  EXPECT_EQ(bench.all(), "1 started\n2 activity 0.0 first(a)\n");
  EXPECT_EQ(bench.dropped(), 1U);
}

TEST(Messages, WithoutAStartNothingRuns) {
  Bench bench;
  bench.go(two_steps, {done(2), cancel()});
  EXPECT_EQ(bench.history().last_id(), 0U);
  EXPECT_EQ(bench.dropped(), 2U);
}

TEST(Messages, LongResultIsAnErrorOfKindLimit) {
  EngineLimits limits;
  limits.payload_bytes_max = 10;
  Bench bench(limits);
  bench.go(two_steps, {start()}).go(two_steps, {done(2, "12345678901")});
  EXPECT_EQ(line(bench.history().event(3)),
            "3 activity_done ->2 limit = the result is longer than payload_bytes_max");
}

TEST(Messages, LongErrorTextIsCut) {
  Bench bench;
  bench.go(two_steps, {start()})
      .go(two_steps, {failed(2, ErrorKind::kApplication, std::string(5000, 'e'))});
  EXPECT_EQ(bench.history().event(3).payload.size(), kErrorTextBytesMax);
}

TEST(Messages, CompletionsOfOneBatchAreReceivedByAwaitAndNotByArrival) {
  const Orchestration join = [](OrchestrationContext& ctx) {
    const Handle a = ctx.schedule_activity("a", "");
    const Handle b = ctx.schedule_activity("b", "");
    PAWL_AWAIT(first, a);
    PAWL_AWAIT(second, b);
    return ctx.complete(std::string(first.value()) + std::string(second.value()));
  };
  Bench bench;
  bench.go(join, {start()}).go(join, {done(3, "B"), done(2, "A")});
  EXPECT_EQ(bench.added(),
            "4 activity_done ->3 = B\n5 activity_done ->2 = A\n6 ended completed = AB\n");
  EXPECT_EQ(bench.history().event(6).horizon, 5U);
}

// Rules: R2.3.
TEST(Handles, AwaitedTwiceGiveTheSame) {
  const Orchestration twice = [](OrchestrationContext& ctx) {
    const Handle handle = ctx.schedule_activity("a", "");
    PAWL_AWAIT(first, handle);
    PAWL_AWAIT(second, handle);
    return ctx.complete(std::string(first.value()) + std::string(second.value()));
  };
  Bench bench;
  bench.go(twice, {start()}).go(twice, {done(2, "x")});
  EXPECT_EQ(bench.added(), "3 activity_done ->2 = x\n4 ended completed = xx\n");
}

Handle kept_handle;

// Rules: R3.8.
TEST(Handles, EmptyOrFromAnotherRunAreErrorsAndNoCrash) {
  const Orchestration keeps = [](OrchestrationContext& ctx) {
    const Outcome stale = kept_handle.await();
    kept_handle = ctx.schedule_activity("a", "");
    EXPECT_EQ(stale.error().kind, ErrorKind::kInvalidArgument);
    EXPECT_EQ(Handle().await().error().kind, ErrorKind::kInvalidArgument);
    PAWL_AWAIT_DONE(kept_handle);
    return ctx.complete("");
  };
  Bench bench;
  bench.go(keeps, {start()}).go(keeps, {done(2)});
  EXPECT_EQ(bench.state(), TurnState::kEnded);
  kept_handle = Handle();
}

// Rules: R7.4.
TEST(Messages, EventsOfAnExecutionOfBehaviourOneAreForAWaitThatIsOpen) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("first", ""));
    PAWL_AWAIT(event, ctx.schedule_wait("e"));
    return ctx.complete(event.value());
  };
  Bench old;
  old.begin_under(1, function, {start()});
  old.go(function, {posted(MessageKind::kEvent, 1, "e")});
  EXPECT_EQ(old.dropped(), 1U);
  EXPECT_TRUE(old.posted().empty());
  Bench bench;
  bench.go(function, {start()}).go(function, {posted(MessageKind::kEvent, 1, "e")});
  EXPECT_EQ(bench.dropped(), 0U);
  EXPECT_EQ(bench.posted().size(), 1U);
}

// ---- cancellation ----

// Rules: R8.3.
TEST(Cancel, ReachesAPendingAwait) {
  Bench bench;
  bench.go(two_steps, {start()}).go(two_steps, {cancel("enough")});
  EXPECT_EQ(bench.added(), "3 cancel_requested = enough\n4 ended failed cancelled = enough\n");
}

// Rules: R8.2.
TEST(Cancel, BehindACompletionReachesTheNextAwait) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    PAWL_AWAIT(first, ctx.schedule_activity("first", ""));
    EXPECT_TRUE(first.ok());
    const Handle second = ctx.schedule_activity("second", "");
    PAWL_AWAIT(cancelled, second);
    EXPECT_TRUE(cancelled.cancelled());
    const CleanUpScope scope = ctx.clean_up();
    PAWL_AWAIT(result, second);
    return ctx.complete(result.value());
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {done(2), cancel()});
  EXPECT_EQ(bench.added(),
            "3 activity_done ->2 = ok\n4 cancel_requested = stop\n5 activity 0.1 second()\n");
  bench.go(function, {done(5, "after")});
  EXPECT_EQ(bench.added(), "6 activity_done ->5 = after\n7 ended completed = after\n");
}

// Rules: R8.3.
TEST(Cancel, AheadOfACompletionWins) {
  Bench bench;
  bench.go(two_steps, {start()}).go(two_steps, {cancel(), done(2)});
  EXPECT_EQ(
      bench.added(),
      "3 cancel_requested = stop\n4 activity_done ->2 = ok\n5 ended failed cancelled = stop\n");
}

// Rules: R8.1.
TEST(Cancel, OnlyTheFirstCounts) {
  Bench bench;
  const Orchestration stubborn = [](OrchestrationContext& ctx) {
    const Handle handle = ctx.schedule_activity("a", "");
    PAWL_AWAIT_DONE(handle);
    const CleanUpScope scope = ctx.clean_up();
    PAWL_AWAIT(result, handle);
    return ctx.complete(result.value());
  };
  bench.go(stubborn, {start()})
      .go(stubborn, {cancel("1"), cancel("2")})
      .go(stubborn, {cancel("3")});
  EXPECT_EQ(bench.all(), "1 started\n2 activity 0.0 a()\n3 cancel_requested = 1\n");
  EXPECT_EQ(bench.dropped(), 1U);
}

TEST(Cancel, WithTheStartReachesTheFirstAwait) {
  Bench bench;
  bench.go(two_steps, {start(), cancel()});
  EXPECT_EQ(bench.added(),
            "1 started\n2 cancel_requested = stop\n3 activity 0.0 first(in)\n4 ended failed "
            "cancelled = stop\n");
}

// ---- endings that are none ----

void expect_stepped_over(Orchestration function, const char* part, std::vector<Message> more = {}) {
  Bench bench;
  std::vector<Message> messages = {start()};
  messages.insert(messages.end(), more.begin(), more.end());
  EXPECT_EQ(bench.turn(function, messages), Status::kAwaitSteppedOver);
  EXPECT_NE(bench.text().find(part), std::string::npos) << bench.text();
  EXPECT_EQ(bench.history().last_id(), 0U);
}

// Rules: R3.2.
TEST(SteppedOver, CompletesAfterAPendingAwait) {
  expect_stepped_over(
      [](OrchestrationContext& ctx) {
        const Outcome result = ctx.schedule_activity("read", "").await();
        return ctx.complete(result.value());
      },
      "went on after a pending await of activity \"read\" (branch 0, ordinal 0)");
}

// Rules: R3.2.
TEST(SteppedOver, NothingIsIssuedAfterAPendingAwait) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        const Outcome first = ctx.schedule_activity("a", "").await();
        EXPECT_TRUE(first.is_pending());
        EXPECT_TRUE(ctx.is_suspended());
        EXPECT_TRUE(ctx.schedule_activity("b", "").await().is_pending());
        EXPECT_EQ(ctx.utc_now_ms(), 0);
        EXPECT_EQ(ctx.new_guid().view(), Guid().view());
        return Poll::pending();
      },
      {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 activity 0.0 a()\n");
}

// Rules: R3.2.
TEST(SteppedOver, PendingWithoutAwait) {
  expect_stepped_over([](OrchestrationContext&) { return Poll::pending(); }, "no await was");
}

TEST(SteppedOver, DoneWithoutEnding) {
  expect_stepped_over([](OrchestrationContext&) { return Poll::done(); }, "returned done without");
}

TEST(SteppedOver, EndingNotReturned) {
  expect_stepped_over(
      [](OrchestrationContext& ctx) {
        static_cast<void>(ctx.complete("x"));
        return Poll::pending();
      },
      "returned pending after complete()");
}

TEST(SteppedOver, EndingTwice) {
  expect_stepped_over(
      [](OrchestrationContext& ctx) {
        static_cast<void>(ctx.complete("x"));
        return ctx.fail("y");
      },
      "after complete()");
}

TEST(SteppedOver, AwaitOrCommandAfterEnding) {
  expect_stepped_over(
      [](OrchestrationContext& ctx) {
        const Handle handle = ctx.schedule_activity("a", "");
        static_cast<void>(ctx.complete("x"));
        PAWL_AWAIT_DONE(handle);
        return Poll::done();
      },
      "called await after complete()");
  expect_stepped_over(
      [](OrchestrationContext& ctx) {
        const Poll poll = ctx.complete("x");
        static_cast<void>(ctx.schedule_activity("a", ""));
        return poll;
      },
      "called schedule_activity after complete()");
}

// ---- arguments and limits ----

TEST(Arguments, BadOnesAreOutcomesAndNoCommands) {
  EngineLimits limits;
  limits.payload_bytes_max = 8;
  Bench bench(limits);
  const Orchestration function = [](OrchestrationContext& ctx) {
    PAWL_AWAIT(empty, ctx.schedule_activity("", "x"));
    EXPECT_EQ(empty.error().kind, ErrorKind::kInvalidArgument);
    PAWL_AWAIT(longer, ctx.schedule_activity(std::string(257, 'n'), "x"));
    EXPECT_EQ(longer.error().kind, ErrorKind::kInvalidArgument);
    PAWL_AWAIT(control, ctx.schedule_activity("a\n", "x"));
    EXPECT_EQ(control.error().kind, ErrorKind::kInvalidArgument);
    PAWL_AWAIT(session, ctx.schedule_activity("a", "x", Target::session("")));
    EXPECT_EQ(session.error().text, "a session is 1 to 256 bytes without control characters");
    PAWL_AWAIT(payload, ctx.schedule_activity("a", "123456789"));
    EXPECT_EQ(payload.error().kind, ErrorKind::kLimit);
    PAWL_AWAIT_DONE(ctx.schedule_activity(std::string(256, 'n'), "12345678"));
    return ctx.complete("");
  };
  bench.go(function, {start()});
  EXPECT_EQ(bench.history().last_id(), 2U);
  bench.go(function, {done(2)});
  EXPECT_EQ(bench.state(), TurnState::kEnded);
}

TEST(Limits, LongOutputEndsAsFailed) {
  EngineLimits limits;
  limits.payload_bytes_max = 3;
  Bench bench(limits);
  bench.go([](OrchestrationContext& ctx) { return ctx.complete("four"); }, {start()});
  EXPECT_EQ(bench.all(),
            "1 started\n2 ended failed limit = the output is longer than payload_bytes_max\n");
}

TEST(Limits, EventsAreCountedBeforeAnythingIsAppended) {
  EngineLimits limits;
  limits.events_max = 4;
  Bench bench(limits);
  const Orchestration function = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    return ctx.complete("fits");
  };
  bench.go(function, {start()}).go(function, {done(2)});
  EXPECT_EQ(bench.history().last_id(), 4U);

  Bench other(limits);
  EXPECT_EQ(other.turn(
                [](OrchestrationContext& ctx) {
                  for (int i = 0; i < 3; ++i)
                    static_cast<void>(ctx.schedule_activity("a", ""));
                  return ctx.complete("");
                },
                {start()}),
            Status::kResourceExhausted);
  EXPECT_NE(other.text().find("events_max (4)"), std::string::npos) << other.text();
  EXPECT_EQ(other.history().last_id(), 0U);
}

TEST(Limits, CommandsATurn) {
  EngineLimits limits;
  limits.commands_a_turn_max = 10;
  Bench bench(limits);
  EXPECT_EQ(bench.turn(
                [](OrchestrationContext& ctx) {
                  Handle last;
                  for (int i = 0; i < 11; ++i)
                    last = ctx.schedule_activity("a", "");
                  PAWL_AWAIT_DONE(last);
                  return ctx.complete("");
                },
                {start()}),
            Status::kResourceExhausted);
  EXPECT_NE(bench.text().find("commands_a_turn_max (10)"), std::string::npos) << bench.text();
}

TEST(Limits, ShortMemoryUndoesTheTurn) {
  Bench bench({}, 4096);
  const Orchestration function = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("small", ""));
    PAWL_AWAIT_DONE(ctx.schedule_activity("large", std::string(8000, 'x')));
    return ctx.complete("");
  };
  bench.go(function, {start()});
  const std::string before = bench.all();
  const std::size_t bytes = bench.history().bytes();
  EXPECT_EQ(bench.turn(function, {done(2)}), Status::kResourceExhausted);
  EXPECT_EQ(bench.all(), before);
  EXPECT_EQ(bench.history().bytes(), bytes);
  EXPECT_EQ(bench.pool().used(), bytes);
}

// ---- traces ----

Poll tracing(OrchestrationContext& ctx) {
  ctx.trace(LogLevel::kInfo, "begin");
  const Outcome first = ctx.schedule_activity("a", "").await();
  ctx.trace(LogLevel::kInfo, "after the first");
  if (first.is_pending()) return Poll::pending();
  PAWL_AWAIT_DONE(ctx.schedule_activity("b", ""));
  ctx.trace(LogLevel::kWarning, "after the second");
  return ctx.complete("");
}

TEST(Traces, LeaveOnceWhenFirstReached) {
  Bench bench;
  using Texts = std::vector<std::string>;
  bench.go(tracing, {start()});
  EXPECT_EQ(bench.traces(), Texts{"begin"});
  bench.go(tracing, {done(2)});
  EXPECT_EQ(bench.traces(), Texts{"after the first"});
  bench.go(tracing);
  EXPECT_EQ(bench.traces(), Texts{});
  bench.go(tracing, {done(4)});
  EXPECT_EQ(bench.traces(), Texts{"after the second"});
}

TEST(Traces, AreBoundedAndTheLostAreCounted) {
  EngineLimits limits;
  limits.traces_a_turn_max = 4;
  Bench bench(limits);
  bench.go(
      [](OrchestrationContext& ctx) {
        ctx.trace(LogLevel::kInfo, std::string(1000, 't'));
        for (int i = 0; i < 5; ++i)
          ctx.trace(LogLevel::kInfo, "");
        return ctx.complete("");
      },
      {start()});
  ASSERT_EQ(bench.traces().size(), 4U);
  EXPECT_EQ(bench.traces()[0].size(), 512U);
  EXPECT_EQ(bench.traces_lost(), 2U);
}

TEST(Traces, OfAFailedTurnAreForgotten) {
  Bench bench;
  EXPECT_EQ(bench.turn(
                [](OrchestrationContext& ctx) {
                  ctx.trace(LogLevel::kInfo, "lost");
                  return Poll::pending();
                },
                {start()}),
            Status::kAwaitSteppedOver);
  EXPECT_TRUE(bench.traces().empty());
}

std::string replaying_flags;

TEST(IsReplaying, FollowsWhatRanInEarlierTurns) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    replaying_flags += ctx.is_replaying() ? 'r' : 'n';
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    replaying_flags += ctx.is_replaying() ? 'r' : 'n';
    PAWL_AWAIT_DONE(ctx.schedule_activity("b", ""));
    replaying_flags += ctx.is_replaying() ? 'r' : 'n';
    return ctx.complete("");
  };
  Bench bench;
  bench.verify = false;
  const auto flags = [&](std::vector<Message> messages) {
    replaying_flags.clear();
    bench.go(function, std::move(messages));
    return replaying_flags;
  };
  EXPECT_EQ(flags({start()}), "n");
  EXPECT_EQ(flags({done(2)}), "rn");
  EXPECT_EQ(flags({done(2)}), "rr");
  EXPECT_EQ(flags({done(4)}), "rrn");
}

// ---- failures from outside ----

TEST(AppendFailure, GivesAStartFirstWhereThereIsNone) {
  Bench bench;
  TurnInput input = bench.input_of(two_steps);
  const Message message = start("the input");
  input.messages = &message;
  input.message_count = 1;
  EXPECT_EQ(bench.engine()
                .append_failure(bench.history(), input, ErrorKind::kUnregistered, "no such flow")
                .status,
            Status::kOk);
  EXPECT_EQ(bench.all(), "1 started\n2 ended failed unregistered = no such flow\n");
  EXPECT_EQ(bench.history().event(1).payload, "the input");
}

TEST(AppendFailure, EndsARunningOneOnce) {
  Bench bench;
  bench.go(two_steps, {start()});
  const TurnInput input = bench.input_of(two_steps);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(
        bench.engine()
            .append_failure(bench.history(), input, ErrorKind::kPoison, std::string(3000, 'p'))
            .status,
        Status::kOk);
  EXPECT_EQ(bench.history().last_id(), 3U);
  EXPECT_EQ(bench.history().event(3).payload.size(), kErrorTextBytesMax);
  EXPECT_EQ(bench.history().event(3).horizon, 2U);
}

// ---- warm and cold ----

Poll mixed(OrchestrationContext& ctx) {
  const Guid guid = ctx.new_guid();
  const Handle timer = ctx.schedule_timer(milliseconds(50));
  for (int round = 0; round < 5; ++round) {
    PAWL_AWAIT(step, ctx.schedule_activity("step", guid.view(),
                                           Target::session("s" + std::to_string(round))));
    if (step.cancelled()) return ctx.fail(step.error());
  }
  PAWL_AWAIT_DONE(timer);
  return ctx.complete(std::to_string(ctx.utc_now_ms()));
}

// Rules: R9.5.
TEST(WarmAndCold, DecideTheSameAtEveryPrefix) {
  Bench warm;
  warm.go(mixed, {start()}).go(mixed, {done(4)}).go(mixed, {fired(3), done(6)});
  while (warm.state() != TurnState::kEnded) {
    EventId pending = warm.history().last_id();
    warm.go(mixed, {done(pending)});
  }
  const std::string all = warm.all();
  // Starts from any prefix, with the missing completions in the order they came.
  for (EventId count = 1; count <= warm.history().last_id(); ++count) {
    // The messages of a turn and what it made of them are committed together, so a stored prefix
    // ends only where the next completion follows.
    const bool cut =
        count < warm.history().last_id() && !is_completion(warm.history().event(count + 1).kind);
    if (cut) continue;
    Bench cold;
    cold.load(warm, count);
    if (!cold.history().ended()) cold.go(mixed);
    for (EventId id = 2; id <= warm.history().last_id() && !cold.history().ended(); ++id) {
      const Event& event = warm.history().event(id);
      if (event.kind == EventKind::kActivityDone) cold.go(mixed, {done(event.ref)});
      if (event.kind == EventKind::kTimerFired) cold.go(mixed, {fired(event.ref)});
    }
    EXPECT_TRUE(cold.history().ended()) << count;
    if (count >= 10) {
      EXPECT_EQ(cold.all(), all) << count;
    }
  }
}

TEST(WarmAndCold, RewindingATurnForgetsItWholly) {
  Bench bench;
  bench.go(two_steps, {start()});
  const History::Mark mark = bench.history().mark();
  const std::size_t bytes = bench.history().bytes();
  bench.go(two_steps, {done(2, "x")});
  const std::string all = bench.all();
  bench.history().rewind(mark);
  EXPECT_EQ(bench.history().bytes(), bytes);
  EXPECT_EQ(bench.go(two_steps, {done(2, "x")}).all(), all);
}

}  // namespace
}  // namespace pawl::test
