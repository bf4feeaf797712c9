// Branches, joins, selects and cancel, as code writes them, and what is refused.
#include <chrono>
#include <string>

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

TEST(Select, WinnerIsReceivedAndTheLoserClosed) {
  Bench bench;
  bench.go(with_timeout, {start()}).go(with_timeout, {done(2, "fast")});
  EXPECT_EQ(bench.added(),
            "4 activity_done ->2 = fast\n5 close 0.2 of 0.1 at 4\n6 ended completed = fast\n");
}

TEST(Select, AClosedHandleIsAnErrorOfThatKind) {
  Bench bench;
  bench.go(with_timeout, {start()}).go(with_timeout, {fired(3), done(2)});
  EXPECT_EQ(bench.added(),
            "4 timer_fired ->3\n5 activity_done ->2 = ok\n6 close 0.2 of 0.0 at 4\n7 ended failed "
            "closed = closed\n");
}

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

// --- what is refused ------------------------------------------------------------------------------

void expect_refused(Orchestration function, const char* part) {
  Bench bench;
  EXPECT_EQ(bench.turn(function, {start()}), Status::kAwaitSteppedOver);
  EXPECT_NE(bench.text().find(part), std::string::npos) << bench.text();
  EXPECT_EQ(bench.history().last_id(), 0U);
}

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

TEST(Branches, TargetOfACloseIsCompared) {
  Bench bench;
  bench.go(closes_one<false>, {start()});
  EXPECT_EQ(bench.turn(closes_one<true>), Status::kNondeterminism);
  EXPECT_NE(bench.text().find("target differs"), std::string::npos) << bench.text();
}

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
