// Branches, joins, selects and cancel as code writes them, and the uses that are refused.
#include <chrono>
#include <string>

#include "replay/run.hpp"
#include "replay_bench.hpp"

namespace pawl::test {
namespace {

using std::chrono::seconds;

Poll two_chains(OrchestrationContext& ctx) {
  const auto chain = [](const char* name) {
    return [name](OrchestrationContext& own) {
      PAWL_AWAIT(first, own.schedule_activity(name, "1"));
      PAWL_AWAIT(second, own.schedule_activity(name, first.value()));
      if (!second.ok()) return own.fail(second.error());
      return own.complete(second.value());
    };
  };
  const Handle left = ctx.open_branch(chain("left"));
  const Handle right = ctx.open_branch(chain("right"));
  PAWL_AWAIT_DONE(ctx.join(left, right));
  PAWL_AWAIT(a, left);
  PAWL_AWAIT(b, right);
  if (!b.ok()) return ctx.fail(b.error());
  return ctx.complete(std::string(a.value()) + "+" + std::string(b.value()));
}

// Rules: R2.1, R6.4.
TEST(Branches, RunBesideEachOther) {
  Bench bench;
  bench.go(two_chains, {start()}).go(two_chains, {done(5, "r")}).go(two_chains, {done(3, "l")});
  bench.go(two_chains, {done(7, "R"), done(9, "L")});
  EXPECT_EQ(bench.all(),
            "1 started\n2 branch_opened 0.0 = 1\n3 activity 1.0 left(1)\n4 branch_opened 0.1 = 2\n"
            "5 activity 2.0 right(1)\n6 activity_done ->5 = r\n7 activity 2.1 right(r)\n"
            "8 activity_done ->3 = l\n9 activity 1.1 left(l)\n10 activity_done ->7 = R\n"
            "11 activity_done ->9 = L\n12 ended completed = L+R\n");
}

TEST(Branches, FailWithTheirError) {
  Bench bench;
  bench.go(two_chains, {start()}).go(two_chains, {done(5, "r"), done(3, "l")});
  bench.go(two_chains, {failed(9, ErrorKind::kTimeout, "slow"), done(8, "L")});
  EXPECT_EQ(bench.added(),
            "10 activity_done ->9 timeout = slow\n11 activity_done ->8 = L\n12 ended failed "
            "timeout = slow\n");
}

Poll with_timeout(OrchestrationContext& ctx) {
  const Handle work = ctx.schedule_activity("work", "");
  const Handle limit = ctx.schedule_timer(seconds(5));
  PAWL_AWAIT(first, ctx.select(work, limit));
  if (first.index() == 1) {
    PAWL_AWAIT(lost, work);
    return ctx.fail(lost.error());
  }
  return ctx.complete(first.value());
}

// Rules: R3.4.
TEST(Select, WinnerIsReceivedAndTheLoserClosed) {
  Bench bench;
  bench.go(with_timeout, {start()}).go(with_timeout, {done(2, "fast")});
  EXPECT_EQ(bench.added(),
            "4 activity_done ->2 = fast\n5 close 0.2 of 0.1 at 4\n6 ended completed = fast\n");
}

// Rules: R4.2.
TEST(Select, AClosedHandleIsAnErrorOfThatKind) {
  Bench bench;
  bench.go(with_timeout, {start()}).go(with_timeout, {fired(3), done(2)});
  EXPECT_EQ(bench.added(),
            "4 timer_fired ->3\n5 activity_done ->2 = ok\n6 close 0.2 of 0.0 at 4\n7 ended failed "
            "closed = closed\n");
}

// Rules: R4.5.
TEST(Select, LateCompletionOfALoserIsDropped) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle work = ctx.schedule_activity("work", "");
    const Handle limit = ctx.schedule_timer(seconds(5));
    PAWL_AWAIT_DONE(ctx.select(work, limit));
    PAWL_AWAIT_DONE(ctx.schedule_activity("more", ""));
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {fired(3)}).go(function, {done(2)});
  EXPECT_EQ(bench.added(), "");
  EXPECT_EQ(bench.dropped(), 1U);
}

// Rules: R3.4.
TEST(Select, OfNothingIsAnError) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        PAWL_AWAIT(none, ctx.select());
        EXPECT_EQ(none.error().kind, ErrorKind::kInvalidArgument);
        PAWL_AWAIT(joined, ctx.join());
        EXPECT_TRUE(joined.ok());
        return ctx.complete("");
      },
      {start()});
  EXPECT_EQ(bench.state(), TurnState::kEnded);
}

TEST(Select, WithARefusedHandleAnswersThatAndClosesNothing) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        const Handle good = ctx.schedule_timer(seconds(1));
        PAWL_AWAIT(first, ctx.select(good, ctx.schedule_activity("", "")));
        EXPECT_EQ(first.error().kind, ErrorKind::kInvalidArgument);
        PAWL_AWAIT_DONE(good);
        return ctx.complete("");
      },
      {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 timer 0.0 1000\n");
}

// Rules: R3.6.
TEST(Cancel, ClosesOnceAndOnlyWhatIsOpen) {
  Bench bench;
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle a = ctx.schedule_activity("a", "");
    const Handle b = ctx.schedule_activity("b", "");
    PAWL_AWAIT_DONE(a);
    ctx.cancel(ctx.join(a, b));
    ctx.cancel(b);
    PAWL_AWAIT(lost, b);
    EXPECT_TRUE(lost.closed());
    return ctx.complete("");
  };
  bench.go(function, {start()}).go(function, {done(2)});
  EXPECT_EQ(bench.added(),
            "4 activity_done ->2 = ok\n5 close 0.2 of 0.1 at 4\n6 ended completed\n");
}

// ---- joins and selects of anything ----

// Lines of what the last run of the function saw.
std::vector<std::string> seen;

void note(const Outcome& result) {
  seen.push_back(
      std::to_string(result.index()) + " " +
      (result.ok() ? std::string(result.value()) : error_kind_name(result.error().kind)));
}

TEST(Joins, OfOneOfTwiceTheSameAndOfJoins) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    seen.clear();
    const Handle a = ctx.schedule_activity("a", "");
    const Handle b = ctx.schedule_activity("b", "");
    PAWL_AWAIT(one, ctx.join(a));
    note(one);
    PAWL_AWAIT(all, ctx.join(a, a, ctx.join(b, ctx.join()), ctx.join(a, b)));
    note(all);
    PAWL_AWAIT(of_a, a);
    note(of_a);
    PAWL_AWAIT(of_b, b);
    note(of_b);
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {done(3, "B")});
  EXPECT_EQ(bench.added(), "4 activity_done ->3 = B\n");
  bench.go(function, {done(2, "A")});
  EXPECT_EQ(bench.added(), "5 activity_done ->2 = A\n6 ended completed\n");
  EXPECT_EQ(seen, (std::vector<std::string>{"0 ", "0 ", "0 A", "0 B"}));
}

TEST(Joins, WaitsForTheLastOfItsMembers) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    seen.clear();
    const Handle a = ctx.schedule_activity("a", "");
    const Handle b = ctx.schedule_activity("b", "");
    PAWL_AWAIT(all, ctx.join(a, b));
    note(all);
    return ctx.complete("");
  };
  for (const EventId last : {2U, 3U}) {
    Bench bench;
    bench.go(function, {start()}).go(function, {done(5 - last, "first")});
    EXPECT_EQ(bench.state(), TurnState::kSuspended) << last;
    EXPECT_TRUE(seen.empty()) << last;
    bench.go(function, {done(last, "last")});
    EXPECT_EQ(bench.state(), TurnState::kEnded) << last;
    EXPECT_EQ(seen, (std::vector<std::string>{"0 "})) << last;
  }
}

TEST(Joins, AClosedMemberHasItsResult) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    seen.clear();
    const Handle a = ctx.schedule_activity("a", "");
    const Handle b = ctx.schedule_activity("b", "");
    ctx.cancel(b);
    PAWL_AWAIT(all, ctx.join(a, b));
    note(all);
    PAWL_AWAIT(of_b, b);
    note(of_b);
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {done(2, "A")});
  EXPECT_EQ(bench.state(), TurnState::kEnded);
  EXPECT_EQ(seen, (std::vector<std::string>{"0 ", "0 closed"}));
}

// A member that cannot be awaited here has its error: the join waits for the others alone.
TEST(Joins, AMemberThatCannotBeAwaitedHasItsError) {
  static Handle of_another_run;
  of_another_run = Handle();
  const Orchestration function = [](OrchestrationContext& ctx) {
    seen.clear();
    Handle below;
    const Handle branch = ctx.open_branch([&below](OrchestrationContext& own) {
      below = own.schedule_activity("below", "");
      PAWL_AWAIT_DONE(below);
      return own.complete("");
    });
    const Handle a = ctx.schedule_activity("a", "");
    const Handle members[] = {Handle(), ctx.schedule_activity("", ""), below, of_another_run, a};
    of_another_run = a;
    PAWL_AWAIT(all, ctx.join_all(members, 5));
    note(all);
    for (const Handle& member : members) {
      PAWL_AWAIT(result, member);
      note(result);
    }
    PAWL_AWAIT(lost, ctx.select(branch, members[0]));
    note(lost);
    PAWL_AWAIT_DONE(branch);
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {done(4, "A")});
  EXPECT_EQ(seen, (std::vector<std::string>{"0 ", "0 invalid_argument", "0 invalid_argument",
                                            "0 invalid_argument", "0 invalid_argument", "0 A",
                                            "0 invalid_argument"}));
  EXPECT_EQ(bench.added(), "5 activity_done ->4 = A\n");  // nothing was closed
  bench.go(function, {done(3)});
  EXPECT_EQ(bench.state(), TurnState::kEnded);
}

// Rules: R2.2.
TEST(Select, OfOneOfTwiceTheSameAndOfAnEmptyJoin) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    seen.clear();
    const Handle a = ctx.schedule_activity("a", "");
    PAWL_AWAIT(empty, ctx.select(a, ctx.join()));
    note(empty);  // the join of none was first, so a is closed
    const Handle b = ctx.schedule_activity("b", "");
    PAWL_AWAIT(one, ctx.select(b));
    note(one);
    const Handle c = ctx.schedule_activity("c", "");
    PAWL_AWAIT(twice, ctx.select(c, c, ctx.join(c)));
    note(twice);
    PAWL_AWAIT(again, c);
    note(again);
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()});
  EXPECT_EQ(bench.all(),
            "1 started\n2 activity 0.0 a()\n3 close 0.1 of 0.0 at 1\n4 activity 0.2 b()\n");
  bench.go(function, {done(4, "B")}).go(function, {done(6, "C")});
  EXPECT_EQ(bench.added(), "7 activity_done ->6 = C\n8 ended completed\n");
  EXPECT_EQ(seen, (std::vector<std::string>{"1 ", "0 B", "0 C", "0 C"}));
}

// Rules: R4.2.
TEST(Select, AClosedOneTakesPartWithItsResult) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    seen.clear();
    const Handle a = ctx.schedule_activity("a", "");
    const Handle b = ctx.schedule_activity("b", "");
    ctx.cancel(a);
    PAWL_AWAIT(first, ctx.select(b, a));
    note(first);
    PAWL_AWAIT(of_b, b);
    note(of_b);
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()});
  EXPECT_EQ(bench.state(), TurnState::kEnded);
  EXPECT_EQ(seen, (std::vector<std::string>{"1 closed", "0 closed"}));
}

// The handle of an ancestor is left open by a select of a branch, and by its cancel().
// Rules: R3.5.
TEST(Select, OfAnotherBranchsHandleLeavesItOpen) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    seen.clear();
    const Handle a = ctx.schedule_activity("a", "");
    const Handle b = ctx.schedule_activity("b", "");
    const Handle branch = ctx.open_branch([a, b](OrchestrationContext& own) {
      PAWL_AWAIT(first, own.select(a, b));
      own.cancel(a);
      return own.complete(std::to_string(first.index()));
    });
    PAWL_AWAIT(won, branch);
    note(won);
    PAWL_AWAIT(of_a, a);
    note(of_a);
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {done(3, "B")});
  EXPECT_EQ(bench.added(), "5 activity_done ->3 = B\n");
  bench.go(function, {done(2, "A")});
  EXPECT_EQ(seen, (std::vector<std::string>{"0 1", "0 A"}));
}

constexpr int kThousands = 3'000;

Poll thousands(OrchestrationContext& ctx, bool all) {
  std::vector<Handle> handles;
  for (int i = 0; i < kThousands; ++i)
    handles.push_back(ctx.schedule_activity("a", std::to_string(i)));
  if (all) {
    PAWL_AWAIT_DONE(ctx.join_all(handles.data(), handles.size()));
    std::string last;
    for (const Handle& handle : handles) {
      PAWL_AWAIT(result, handle);
      last = result.value();
    }
    return ctx.complete(last);
  }
  PAWL_AWAIT(first, ctx.select_of(handles.data(), handles.size()));
  return ctx.complete(std::to_string(first.index()));
}

EngineLimits limits_for_thousands() {
  EngineLimits limits;
  limits.commands_a_turn_max = 2 * kThousands;
  limits.events_max = 3 * kThousands;
  return limits;
}

TEST(Joins, OfThousands) {
  const Orchestration function = [](OrchestrationContext& ctx) { return thousands(ctx, true); };
  Bench bench(limits_for_thousands(), std::size_t{8} << 20U);
  bench.go(function, {start()});
  std::vector<std::string> texts;
  std::vector<Message> results;
  for (int i = 0; i < kThousands; ++i)
    texts.push_back(std::to_string(i));
  // The other way round: the results are in their places all the same.
  for (int i = kThousands - 1; i >= 0; --i)
    results.push_back(done(static_cast<EventId>(2 + i), texts[static_cast<std::size_t>(i)]));
  const Message late = results.back();
  results.pop_back();
  bench.go(function, results);
  EXPECT_EQ(bench.state(), TurnState::kSuspended);
  bench.go(function, {late});
  EXPECT_EQ(bench.added(),
            "6001 activity_done ->2 = 0\n6002 ended completed = " + texts.back() + "\n");
}

// Rules: R3.5.
TEST(Select, OfThousandsClosesAllOthers) {
  const Orchestration function = [](OrchestrationContext& ctx) { return thousands(ctx, false); };
  Bench bench(limits_for_thousands(), std::size_t{8} << 20U);
  bench.go(function, {start()}).go(function, {done(1'502)});
  EXPECT_EQ(bench.history().last_id(), 1U + kThousands + 1 + (kThousands - 1) + 1);
  EXPECT_EQ(bench.history().event(bench.history().last_id()).payload, "1500");
}

// ---- depth ----

// Branches in branches, so many levels; the innermost waits for an activity.
Poll nested(OrchestrationContext& ctx, std::uint32_t levels) {
  if (levels == 0) {
    PAWL_AWAIT(result, ctx.schedule_activity("deep", ""));
    return result.ok() ? ctx.complete(result.value()) : ctx.fail(result.error());
  }
  PAWL_AWAIT(result, ctx.open_branch(
                         [levels](OrchestrationContext& own) { return nested(own, levels - 1); }));
  return result.ok() ? ctx.complete(result.value()) : ctx.fail(result.error());
}

TEST(Branches, AreNestedUpToTheirLimit) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    return nested(ctx, internal::kBranchDepthMax);
  };
  Bench bench;
  bench.go(function, {start()});
  EXPECT_EQ(bench.history().last_id(), 1 + internal::kBranchDepthMax + 1);
  bench.go(function, {done(bench.history().last_id(), "from below")});
  EXPECT_EQ(bench.history().event(bench.history().last_id()).payload, "from below");
}

TEST(Branches, DeeperOnesDoNotRunAndSayWhy) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    return nested(ctx, internal::kBranchDepthMax + 1);
  };
  Bench bench;
  bench.go(function, {start()});
  EXPECT_EQ(bench.history().last_id(), 1 + internal::kBranchDepthMax + 1);
  EXPECT_EQ(line(bench.history().event(bench.history().last_id())),
            "34 ended failed limit = branches are nested in at most 32 levels");
}

// ---- refused uses ----

void expect_refused(Orchestration function, const char* part) {
  Bench bench;
  EXPECT_EQ(bench.turn(function, {start()}), Status::kAwaitSteppedOver);
  EXPECT_NE(bench.text().find(part), std::string::npos) << bench.text();
  EXPECT_EQ(bench.history().last_id(), 0U);
}

// Rules: R3.3.
TEST(Branches, TheContextOfTheOpenerIsRefusedInside) {
  expect_refused(
      [](OrchestrationContext& ctx) {
        PAWL_AWAIT_DONE(ctx.open_branch([&ctx](OrchestrationContext& own) {
          PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
          return own.complete("");
        }));
        return ctx.complete("");
      },
      "schedule_activity on the context of branch 0 while branch 1 ran");
}

TEST(Branches, SteppingOverAnAwaitIsFoundInside) {
  expect_refused(
      [](OrchestrationContext& ctx) {
        PAWL_AWAIT_DONE(ctx.open_branch([](OrchestrationContext& own) {
          static_cast<void>(own.schedule_activity("read", "").await());
          return own.complete("");
        }));
        return ctx.complete("");
      },
      "branch 1: the code went on after a pending await of activity \"read\" (branch 1, ordinal "
      "0)");
}

TEST(Branches, ContinueAsNewIsForTheRoot) {
  expect_refused(
      [](OrchestrationContext& ctx) {
        PAWL_AWAIT_DONE(
            ctx.open_branch([](OrchestrationContext& own) { return own.continue_as_new(""); }));
        return ctx.complete("");
      },
      "for the root alone");
}

// Rules: R3.8.
TEST(Branches, AHandleFromBelowOrBesideIsRefused) {
  Bench bench;
  const Orchestration function = [](OrchestrationContext& ctx) {
    Handle leaked;
    Handle sibling;
    sibling = ctx.open_branch([&leaked](OrchestrationContext& own) {
      leaked = own.schedule_activity("a", "");
      PAWL_AWAIT_DONE(leaked);
      return own.complete("");
    });
    PAWL_AWAIT(from_below, leaked);
    EXPECT_EQ(from_below.error().kind, ErrorKind::kInvalidArgument);
    const Handle other = ctx.open_branch([&leaked, &sibling](OrchestrationContext& own) {
      PAWL_AWAIT(beside, leaked);
      EXPECT_EQ(beside.error().kind, ErrorKind::kInvalidArgument);
      PAWL_AWAIT(of_opener, sibling);
      EXPECT_EQ(of_opener.error().kind, ErrorKind::kInvalidArgument);
      return own.complete("");
    });
    PAWL_AWAIT_DONE(other);
    PAWL_AWAIT_DONE(sibling);
    return ctx.complete("");
  };
  bench.go(function, {start()}).go(function, {done(3)});
  EXPECT_EQ(bench.state(), TurnState::kEnded);
}

TEST(Branches, MismatchInOneIsNamed) {
  const Orchestration before = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.open_branch([](OrchestrationContext& own) {
      PAWL_AWAIT_DONE(own.schedule_activity("a", ""));
      return own.complete("");
    }));
    return ctx.complete("");
  };
  const Orchestration after = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.open_branch([](OrchestrationContext& own) { return own.complete(""); }));
    return ctx.complete("");
  };
  Bench bench;
  bench.go(before, {start()});
  EXPECT_EQ(bench.turn(after), Status::kNondeterminism);
  EXPECT_NE(bench.text().find("event 3 (branch 1, ordinal 0): history has activity \"a\""),
            std::string::npos)
      << bench.text();
}

template <bool kOther>
Poll closes_one(OrchestrationContext& ctx) {
  const Handle a = ctx.schedule_timer(seconds(1));
  const Handle b = ctx.schedule_timer(seconds(1));
  ctx.cancel(kOther ? b : a);
  PAWL_AWAIT_DONE(kOther ? a : b);
  return ctx.complete("");
}

// Rules: R4.1.
TEST(Branches, TargetOfACloseIsCompared) {
  Bench bench;
  bench.go(closes_one<false>, {start()});
  EXPECT_EQ(bench.turn(closes_one<true>), Status::kNondeterminism);
  EXPECT_NE(bench.text().find("target differs"), std::string::npos) << bench.text();
}

// Rules: R6.3.
TEST(Branches, TracesBeyondTheHorizonAreWithdrawn) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle loser = ctx.open_branch([](OrchestrationContext& own) {
      PAWL_AWAIT_DONE(own.schedule_activity("a", ""));
      own.trace(LogLevel::kInfo, "never happened");
      return own.complete("");
    });
    const Handle winner = ctx.schedule_timer(seconds(1));
    PAWL_AWAIT_DONE(ctx.select(loser, winner));
    ctx.trace(LogLevel::kInfo, "timer won");
    return ctx.complete("");
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {fired(4), done(3)});
  EXPECT_EQ(bench.traces(), std::vector<std::string>{"timer won"});
}

TEST(Branches, ShortMemoryUndoesTheTurn) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    for (int i = 0; i < 8; ++i) {
      PAWL_AWAIT_DONE(ctx.open_branch(
          [](OrchestrationContext& own) { return own.complete(std::string(1000, 'r')); }));
    }
    return ctx.complete("");
  };
  bool has_succeeded = false;
  for (std::size_t bytes = 1024; !has_succeeded; bytes += 512) {
    ASSERT_LT(bytes, 64U * 1024U);
    Bench bench({}, bytes);
    const Status status = bench.turn(function, {start()});
    has_succeeded = status == Status::kOk;
    if (has_succeeded) continue;
    EXPECT_EQ(status, Status::kResourceExhausted);
    EXPECT_EQ(bench.history().last_id(), 0U);
    bench.history().clear();
    EXPECT_EQ(bench.pool().used(), 0U);
  }
}

// Rules: R6.8.
TEST(Branches, PassesAreBoundedAndTheRestIsLeftForTheNextTurn) {
  EngineLimits limits;
  limits.passes_max = 1;
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle gate = ctx.schedule_timer(seconds(60));
    const Handle waiter = ctx.open_branch([&gate](OrchestrationContext& own) {
      PAWL_AWAIT(opened, gate);
      return own.complete(opened.closed() ? "closed" : "fired");
    });
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    ctx.cancel(gate);
    PAWL_AWAIT(result, waiter);
    return ctx.complete(result.value());
  };
  Bench bench(limits);
  bench.go(function, {start()}).go(function, {done(4)});
  EXPECT_EQ(bench.state(), TurnState::kMore);
  bench.go(function);
  EXPECT_EQ(bench.state(), TurnState::kEnded);
  EXPECT_EQ(bench.added(), "7 ended completed = closed\n");
}

}  // namespace
}  // namespace pawl::test
