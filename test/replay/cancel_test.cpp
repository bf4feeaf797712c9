// Cancellation: what a request answers, what a clean-up scope allows, and what happens to code that
// ignores the request.
#include <optional>
#include <string>

#include "pawl/session_recovery.hpp"
#include "replay_bench.hpp"

namespace pawl::test {
namespace {

// Awaits one activity, and once more after the request; then compensates.
Poll undoes(OrchestrationContext& ctx) {
  const Handle work = ctx.schedule_activity("work", "");
  PAWL_AWAIT(result, work);
  if (!result.cancelled()) return ctx.complete("done");
  PAWL_AWAIT(again, work);
  EXPECT_TRUE(again.cancelled());
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT(undone, ctx.schedule_activity("undo", again.error().text));
  return ctx.fail(undone.ok() ? result.error() : undone.error());
}

std::string answer_of(const Outcome& outcome) {
  return outcome.ok() ? std::string(outcome.value()) : error_kind_name(outcome.error().kind);
}

// ---- sticky requests ----

// Rules: R8.3.
TEST(StickyCancel, EachAwaitIsAnsweredUntilTheEnd) {
  Bench bench;
  bench.go(undoes, {start()}).go(undoes, {cancel("rain")});
  EXPECT_EQ(bench.added(), "3 cancel_requested = rain\n4 activity 0.1 undo(rain)\n");
  bench.go(undoes, {done(2, "late"), done(4)});
  EXPECT_EQ(bench.added(),
            "5 activity_done ->2 = late\n6 activity_done ->4 = ok\n"
            "7 ended failed cancelled = rain\n");
}

// Rules: R8.3.
TEST(StickyCancel, WhatWasResolvedBeforeIsReceived) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle early = ctx.schedule_activity("early", "");
    const Handle late = ctx.schedule_activity("late", "");
    const Handle both = ctx.join(early, late);
    PAWL_AWAIT(of_both, both);
    PAWL_AWAIT(of_late, late);
    PAWL_AWAIT(of_early, early);
    PAWL_AWAIT(none, ctx.join());
    PAWL_AWAIT(first, ctx.select(late, early));
    return ctx.complete(answer_of(of_both) + " " + answer_of(of_late) + " " + answer_of(of_early) +
                        " " + answer_of(none) + "/" + answer_of(first) + " " +
                        std::to_string(first.index()));
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {done(2, "e"), cancel(), done(3, "l")});
  EXPECT_EQ(bench.added(),
            "4 activity_done ->2 = e\n5 cancel_requested = stop\n6 activity_done ->3 = l\n"
            "7 close 0.2 of 0.1 at 5\n8 ended completed = cancelled cancelled e /e 1\n");
}

// Rules: R8.3.
TEST(StickyCancel, ASelectIsAnsweredAndClosesNothing) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle a = ctx.schedule_activity("a", "");
    const Handle b = ctx.schedule_activity("b", "");
    PAWL_AWAIT(first, ctx.select(a, b));
    PAWL_AWAIT(second, ctx.select(a, b));
    EXPECT_TRUE(second.cancelled());
    const CleanUpScope scope = ctx.clean_up();
    PAWL_AWAIT(third, ctx.select(a, b));
    return ctx.complete(answer_of(first) + " " + answer_of(third) + " " +
                        std::to_string(third.index()));
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel(), done(3, "B")});
  EXPECT_EQ(bench.added(),
            "4 cancel_requested = stop\n5 activity_done ->3 = B\n6 close 0.2 of 0.0 at 5\n"
            "7 ended completed = cancelled B 1\n");
}

// Rules: R8.2.
TEST(StickyCancel, TheCodeMayAskForItAndItsReason) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    EXPECT_FALSE(ctx.cancel_requested());
    EXPECT_FALSE(ctx.cancel_reason().has_value());
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
    return ctx.complete(ctx.cancel_requested() ? ctx.cancel_reason().value_or("none") : "not yet");
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel("frost")});
  EXPECT_EQ(bench.added(), "3 cancel_requested = frost\n4 ended completed = frost\n");
  Bench unasked;
  unasked.go(function, {start()}).go(function, {fired(2), cancel("frost")});
  EXPECT_EQ(unasked.added(),
            "3 timer_fired ->2\n4 cancel_requested = frost\n5 ended completed = not yet\n");
}

// Rules: R8.3.
TEST(StickyCancel, EachBranchComesToItByItself) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const auto body = [](OrchestrationContext& own) -> Poll {
      PAWL_AWAIT(first, own.schedule_activity("step", ""));
      PAWL_AWAIT(second, own.schedule_activity("step", ""));
      return own.complete(answer_of(first) + " " + answer_of(second));
    };
    const Handle one = ctx.open_branch(body);
    PAWL_AWAIT(waited, ctx.schedule_timer(std::chrono::hours(1)));
    EXPECT_TRUE(waited.cancelled());
    const Handle two = ctx.open_branch(body);
    const CleanUpScope scope = ctx.clean_up();
    PAWL_AWAIT(of_one, one);
    PAWL_AWAIT(of_two, two);
    return ctx.complete(answer_of(of_one) + "; " + answer_of(of_two));
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {done(3, "a"), cancel()});
  EXPECT_EQ(bench.added(),
            "5 activity_done ->3 = a\n6 cancel_requested = stop\n7 activity 1.1 step()\n"
            "8 close 1.2 of 1.1 at 6\n9 branch_opened 0.2 = 2\n"
            "10 ended completed = a cancelled; cancelled cancelled\n");
}

// ---- commands that are not issued ----

// Rules: R8.4.
TEST(StickyCancel, WhatCouldCompleteIsNotIssued) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    const Session session = ctx.open_session("s");
    const Handle calls[] = {
        ctx.schedule_activity("a", ""),
        ctx.schedule_activity("a", "", Target::session("bed-7")),
        ctx.schedule_timer(std::chrono::seconds(1)),
        ctx.schedule_timer_at(1),
        ctx.schedule_wait("w"),
        ctx.dequeue_event("q"),
        ctx.try_dequeue_event("q"),
        ctx.schedule_sub_orchestration("child", ""),
        ctx.get_kv_value_from_instance("other", "k"),
        ctx.session_events(session),
        ctx.session_opened(session),
    };
    for (const Handle& call : calls) {
      PAWL_AWAIT(result, call);
      EXPECT_TRUE(result.cancelled());
      EXPECT_EQ(result.error().text, "stop");
    }
    PAWL_AWAIT(joined, ctx.join(calls[0], calls[1]));
    EXPECT_TRUE(joined.cancelled());
    const CleanUpScope scope = ctx.clean_up();
    PAWL_AWAIT(later, calls[0]);
    EXPECT_TRUE(later.cancelled()) << "it was never issued";
    PAWL_AWAIT(of_all, ctx.join(calls[0], calls[1]));
    EXPECT_TRUE(of_all.ok());
    PAWL_AWAIT(first, ctx.select(ctx.schedule_wait("x"), calls[2]));
    EXPECT_TRUE(first.cancelled());
    EXPECT_EQ(first.index(), 1U);
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()})
      .go(function, {posted(MessageKind::kQueue, 1, "q")})
      .go(function, {cancel()});
  EXPECT_EQ(bench.added(),
            "3 cancel_requested = stop\n4 session_open 0.1 s\n5 wait 0.2 x\n"
            "6 close 0.3 of 0.2 at 3\n7 ended completed\n");
  EXPECT_EQ(bench.posted().size(), 1U) << "no try took the message";
}

// Rules: R8.4.
TEST(StickyCancel, WhatIsDoneAtOnceIsIssued) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    EXPECT_EQ(ctx.set_kv_value("k", "v"), ErrorKind::kNone);
    EXPECT_EQ(ctx.set_custom_status("stopping"), ErrorKind::kNone);
    EXPECT_EQ(ctx.start_orchestration("report", InstanceId("r"), ""), ErrorKind::kNone);
    EXPECT_EQ(ctx.close_session("s"), ErrorKind::kNone);
    EXPECT_NE(ctx.new_guid().view(), Guid().view());
    EXPECT_EQ(ctx.utc_now_ms(), 1000);
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel()});
  EXPECT_EQ(bench.added(),
            "3 cancel_requested = stop\n4 state_write 0.1 k\n5 custom_status 0.2\n"
            "6 detached 0.3 report @r\n7 session_close 0.4 s\n8 guid 0.5\n9 utc_now 0.6\n"
            "10 ended completed\n");
}

Poll measure(OrchestrationContext& ctx, std::string* out) {
  PAWL_AWAIT(first, ctx.schedule_activity("measure", ""));
  *out += answer_of(first);
  return Poll::done();
}

// Rules: R8.4, R8.5.
TEST(StickyCancel, ReachesHelpersAsTheirCaller) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    std::string said;
    PAWL_CALL(measure(ctx, &said));
    PAWL_CALL(measure(ctx, &said));
    const CleanUpScope scope = ctx.clean_up();
    PAWL_CALL(measure(ctx, &said));
    return ctx.complete(said);
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel()}).go(function, {done(4, "-17")});
  EXPECT_EQ(bench.all(),
            "1 started\n2 activity 0.0 measure()\n3 cancel_requested = stop\n"
            "4 activity 0.1 measure()\n5 activity_done ->4 = -17\n"
            "6 ended completed = cancelledcancelled-17\n");
}

// Rules: R8.4.
TEST(StickyCancel, RecoveryOfASessionStopsAtOnce) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    SessionRecovery how;
    how.session = "s";
    how.rebuild = "rebuild";
    Outcome out;
    PAWL_CALL(open_rebuilt_session(ctx, how, &out));
    EXPECT_TRUE(out.cancelled());
    PAWL_CALL(run_on_session(ctx, how, "work", "", &out));
    EXPECT_TRUE(out.cancelled());
    const CleanUpScope scope = ctx.clean_up();
    PAWL_CALL(run_on_session(ctx, how, "undo", "", &out));
    return ctx.complete(answer_of(out));
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel()});
  EXPECT_EQ(bench.added(), "4 cancel_requested = stop\n5 activity 0.2 undo() @s\n");
  bench.go(function, {failed(5, ErrorKind::kSessionLost, "gone")});
  EXPECT_EQ(bench.added(),
            "6 activity_done ->5 session_lost = gone\n7 session_open 0.3 s\n"
            "8 activity 0.4 rebuild() @s\n");
  bench.go(function, {done(8)}).go(function, {done(10, "undone")});
  EXPECT_EQ(bench.history().event(bench.history().last_id()).payload, "undone");
}

// ---- clean-up scopes ----

// Rules: R8.5.
TEST(CleanUp, ScopesNestAndEnd) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle timer = ctx.schedule_timer(std::chrono::hours(1));
    {
      const CleanUpScope outer = ctx.clean_up();
      { const CleanUpScope inner = ctx.clean_up(); }
      PAWL_AWAIT(shielded, ctx.schedule_activity("undo", ""));
      EXPECT_TRUE(shielded.ok());
      EXPECT_TRUE(ctx.cancel_requested()) << "the result came behind the request";
    }
    PAWL_AWAIT(behind, timer);
    return ctx.complete(answer_of(behind));
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel()});
  EXPECT_EQ(bench.added(), "4 cancel_requested = stop\n") << "it waits on in its scope";
  bench.go(function, {done(3)});
  EXPECT_EQ(bench.added(), "5 activity_done ->3 = ok\n6 ended completed = cancelled\n");
}

// Rules: R8.5.
TEST(CleanUp, IsOfItsBranchAndOfThoseOpenedInside) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const auto body = [](OrchestrationContext& own) -> Poll {
      PAWL_AWAIT(waited, own.schedule_wait("go"));
      PAWL_AWAIT(first, own.schedule_activity("step", ""));
      return own.complete(answer_of(waited) + " " + answer_of(first));
    };
    const Handle outside = ctx.open_branch(body);
    std::optional<Handle> inside;
    {
      const CleanUpScope scope = ctx.clean_up();
      inside = ctx.open_branch(body);
    }
    PAWL_AWAIT(mine, ctx.schedule_timer(std::chrono::hours(1)));
    EXPECT_TRUE(mine.cancelled());
    const CleanUpScope scope = ctx.clean_up();
    PAWL_AWAIT(of_outside, outside);
    PAWL_AWAIT(of_inside, *inside);
    return ctx.complete(answer_of(of_outside) + "; " + answer_of(of_inside));
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel()});
  EXPECT_EQ(bench.added(), "7 cancel_requested = stop\n8 close 1.1 of 1.0 at 7\n");
  bench.go(function, {posted(MessageKind::kEvent, 1, "go", "go")}).go(function, {done(10)});
  EXPECT_EQ(line(bench.history().event(bench.history().last_id())),
            "12 ended completed = cancelled cancelled; go ok");
}

// Rules: R8.5.
TEST(CleanUp, OnTheContextOfAnotherBranchStopsTheInstance) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle branch = ctx.open_branch([&](OrchestrationContext& own) -> Poll {
      const CleanUpScope scope = ctx.clean_up();
      return own.complete("");
    });
    PAWL_AWAIT_DONE(branch);
    return ctx.complete("");
  };
  Bench bench;
  EXPECT_EQ(bench.turn(function, {start()}), Status::kAwaitSteppedOver);
  EXPECT_EQ(bench.text(), "the code called clean_up on the context of branch 0 while branch 1 ran");
}

struct Keeper {
  explicit Keeper(OrchestrationContext& ctx) : scope(ctx.clean_up()) {}
  CleanUpScope scope;
};

// Rules: R8.5.
TEST(CleanUp, ThatOutlivesItsRunDoesNoHarm) {
  static std::optional<Keeper> kept;
  const Orchestration function = [](OrchestrationContext& ctx) {
    kept.reset();
    kept.emplace(ctx);
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel()});
  EXPECT_EQ(bench.state(), TurnState::kSuspended);
  kept.reset();
  bench.go(function, {posted(MessageKind::kEvent, 1, "go")});
  EXPECT_EQ(bench.state(), TurnState::kEnded);
  kept.reset();
}

template <bool kShielded>
Poll shielded_or_not(OrchestrationContext& ctx) {
  const Handle work = ctx.schedule_activity("work", "");
  PAWL_AWAIT_DONE(work);
  if constexpr (kShielded) {
    const CleanUpScope scope = ctx.clean_up();
    PAWL_AWAIT_DONE(ctx.schedule_activity("undo", ""));
  } else {
    PAWL_AWAIT_DONE(ctx.schedule_activity("undo", ""));
  }
  EXPECT_EQ(ctx.set_kv_value("k", "v"), ErrorKind::kNone);
  PAWL_CALL([&]() -> Poll {
    const CleanUpScope scope = ctx.clean_up();
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return Poll::done();
  }());
  return ctx.complete("");
}

// Rules: R9.4, R8.4.
TEST(CleanUp, ThatIsAddedOrRemovedInTheCodeIsFound) {
  Bench with;
  with.go(shielded_or_not<true>, {start()}).go(shielded_or_not<true>, {cancel()});
  EXPECT_EQ(with.turn(shielded_or_not<false>, {done(4)}), Status::kNondeterminism);
  EXPECT_EQ(with.text().substr(0, 51), "event 4 (branch 0, ordinal 1): kind differs: histor");
  Bench without;
  without.go(shielded_or_not<false>, {start()}).go(shielded_or_not<false>, {cancel()});
  EXPECT_EQ(without.turn(shielded_or_not<true>), Status::kNondeterminism);
  EXPECT_EQ(without.text().substr(0, 51), "event 4 (branch 0, ordinal 1): kind differs: histor");
}

// The handle, its result and all commands are the same: only what the await answered differs.
template <bool kShielded>
Poll awaits_one(OrchestrationContext& ctx) {
  const Handle work = ctx.schedule_activity("work", "");
  std::optional<Keeper> keeper;
  if (kShielded) keeper.emplace(ctx);
  PAWL_AWAIT_DONE(work);
  keeper.reset();
  EXPECT_EQ(ctx.set_kv_value("k", "v"), ErrorKind::kNone);
  keeper.emplace(ctx);
  PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
  return ctx.complete("");
}

// Rules: R9.4.
TEST(CleanUp, OfAnAwaitAloneIsPartOfThePath) {
  Bench without;
  without.go(awaits_one<false>, {start()}).go(awaits_one<false>, {cancel(), done(2)});
  EXPECT_EQ(without.turn(awaits_one<true>), Status::kNondeterminism);
  EXPECT_EQ(without.text().substr(0, 72),
            "event 5 (branch 0, ordinal 1): what was awaited before it differs: histo");
  Bench with;
  with.go(awaits_one<true>, {start()}).go(awaits_one<true>, {cancel(), done(2)});
  EXPECT_EQ(with.turn(awaits_one<false>), Status::kNondeterminism);
}

// ---- code that ignores the request ----

int answers = 0;

Poll never_heeds(OrchestrationContext& ctx) {
  answers = 0;
  while (true) {
    PAWL_AWAIT(result, ctx.schedule_activity("pump", "on"));
    answers += result.cancelled() ? 1 : 0;
    if (!result.ok()) continue;
    return ctx.complete(result.value());
  }
}

// Rules: R8.6.
TEST(IgnoredCancel, ALoopIsSuspendedForGood) {
  Bench bench;
  bench.go(never_heeds, {start()});
  EXPECT_FALSE(bench.ignores_cancel());
  bench.go(never_heeds, {cancel()});
  EXPECT_EQ(bench.added(), "3 cancel_requested = stop\n");
  EXPECT_EQ(bench.state(), TurnState::kSuspended);
  EXPECT_TRUE(bench.ignores_cancel());
  EXPECT_EQ(answers, 101) << "one for the command that it had issued, and a hundred";
  bench.go(never_heeds, {done(2)});
  EXPECT_EQ(bench.added(), "4 activity_done ->2 = ok\n");
  EXPECT_FALSE(bench.ignores_cancel()) << "it was said before";
}

// Rules: R8.6.
TEST(IgnoredCancel, ALoopThatWritesMeetsNoLimit) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    for (int i = 0;; ++i) {
      PAWL_AWAIT(result, ctx.schedule_activity("pump", ""));
      if (result.ok()) return ctx.complete("");
      EXPECT_EQ(ctx.set_kv_value("errors", std::to_string(i)), ErrorKind::kNone);
      EXPECT_EQ(ctx.utc_now_ms(), 1000);
    }
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel()});
  EXPECT_EQ(bench.history().last_id(), 3U + 2 * 101);
  EXPECT_TRUE(bench.ignores_cancel());
  bench.go(function, {done(2)}).go(function);
  EXPECT_EQ(bench.history().last_id(), 3U + 2 * 101 + 1);
}

// Rules: R8.6.
TEST(IgnoredCancel, ASelectInALoopIsSuspendedToo) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle work = ctx.schedule_activity("work", "");
    const Handle limit = ctx.schedule_timer(std::chrono::hours(1));
    while (true) {
      PAWL_AWAIT(first, ctx.select(work, limit));
      if (first.ok()) return ctx.complete("");
    }
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel()});
  EXPECT_EQ(bench.added(), "4 cancel_requested = stop\n");
  EXPECT_TRUE(bench.ignores_cancel());
}

// Rules: R8.6.
TEST(IgnoredCancel, TheFirstAnswerForEachCommandDoesNotCount) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    constexpr int kMany = 300;
    Handle all[kMany];
    for (Handle& one : all)
      one = ctx.schedule_activity("a", "");
    int cancelled_count = 0;
    for (const Handle& one : all) {
      PAWL_AWAIT(result, one);
      cancelled_count += result.cancelled() ? 1 : 0;
    }
    return ctx.complete(std::to_string(cancelled_count));
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {done(2), cancel()});
  EXPECT_EQ(bench.added(),
            "302 activity_done ->2 = ok\n303 cancel_requested = stop\n304 ended completed = 299\n");
}

// Rules: R8.6.
TEST(IgnoredCancel, AnAwaitOfItsOwnInALoopCounts) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle work = ctx.schedule_activity("work", "");
    while (true) {
      PAWL_AWAIT(result, work);
      if (result.ok()) return ctx.complete("");
    }
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {cancel()});
  EXPECT_TRUE(bench.ignores_cancel());
}

// ---- over continue-as-new ----

Message handed_on(EventId times, std::string_view reason = "stop") {
  Message message = cancel(reason);
  message.execution = 1;  // execution number of a bench
  message.ref = times;
  return message;
}

Message continued() {
  Message message = start();
  message.kind = MessageKind::kContinue;
  return message;
}

// Rules: R8.7.
TEST(HandedOnCancel, IsSeenFromTheStart) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    EXPECT_TRUE(ctx.cancel_requested());
    EXPECT_EQ(ctx.cancel_reason().value_or(""), "frost");
    PAWL_AWAIT(result, ctx.schedule_activity("pump", "on"));
    return ctx.continue_as_new(answer_of(result));
  };
  Bench bench;
  bench.go(function, {continued(), handed_on(3, "frost")});
  EXPECT_EQ(bench.all(),
            "1 started\n2 cancel_requested = frost\n3 ended continued_as_new = cancelled\n");
  EXPECT_EQ(bench.history().event(2).number, 3) << "how often";
}

// Rules: R8.7.
TEST(HandedOnCancel, OfAnotherExecutionIsDropped) {
  Bench bench;
  Message stray = handed_on(1);
  stray.execution = 7;
  bench.go(undoes, {start()}).go(undoes, {stray});
  EXPECT_EQ(bench.added(), "");
  EXPECT_EQ(bench.dropped(), 1U);
}

// Rules: R8.6.
TEST(HandedOnCancel, AfterAHundredExecutionsNoMoreFollow) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("pump", "on"));
    return ctx.continue_as_new("");
  };
  Bench last;
  last.go(function, {continued(), handed_on(99)});
  EXPECT_EQ(last.state(), TurnState::kEnded);
  Bench bench;
  bench.go(function, {continued(), handed_on(100)});
  EXPECT_EQ(bench.state(), TurnState::kSuspended);
  EXPECT_TRUE(bench.ignores_cancel());
  EXPECT_EQ(bench.all(), "1 started\n2 cancel_requested = stop\n");
}

// ---- instances begun by an older engine ----

// Rules: R8.8.
TEST(OldCancel, IsAnsweredOnceInABranchAndAllIsIssued) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    PAWL_AWAIT(first, ctx.schedule_activity("first", ""));
    EXPECT_TRUE(first.cancelled());
    EXPECT_TRUE(ctx.cancel_requested());
    PAWL_AWAIT(second, ctx.schedule_activity("undo", ""));
    return ctx.complete(second.value());
  };
  Bench bench;
  bench.begin_under(1, function, {start()});
  bench.go(function, {cancel()});
  EXPECT_EQ(bench.added(), "3 cancel_requested = stop\n4 activity 0.1 undo()\n");
  bench.go(function, {done(2), done(4, "undone")});
  EXPECT_EQ(bench.added(),
            "5 activity_done ->2 = ok\n6 activity_done ->4 = undone\n"
            "7 ended completed = undone\n");
}

}  // namespace
}  // namespace pawl::test
