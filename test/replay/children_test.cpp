// Children and detached starts in the engine: new, completed, pending, closed, and changed under a
// history.
#include <string>

#include "replay_bench.hpp"

namespace pawl::test {
namespace {

Message child_done(EventId ref, std::string_view result = "ok") {
  return completion(MessageKind::kChildDone, ref, ErrorKind::kNone, result);
}
Message child_failed(EventId ref, ErrorKind error, std::string_view text) {
  return completion(MessageKind::kChildDone, ref, error, text);
}

Poll one_child(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_sub_orchestration("station", "12"));
  if (result.cancelled()) return ctx.complete("cancelled");
  if (!result.ok()) return ctx.fail(result.error());
  return ctx.complete(result.value());
}

TEST(Child, Suspends) {
  Bench bench;
  EXPECT_EQ(bench.go(one_child, {start()}).all(), "1 started\n2 child 0.0 station\n");
  EXPECT_EQ(bench.history().event(2).payload, "12");
  EXPECT_EQ(bench.state(), TurnState::kSuspended);
}

TEST(Child, Completed) {
  Bench bench;
  bench.go(one_child, {start()}).go(one_child, {child_done(2, "17")});
  EXPECT_EQ(bench.added(), "3 child_done ->2 = 17\n4 ended completed = 17\n");
}

TEST(Child, Failed) {
  Bench bench;
  bench.go(one_child, {start()}).go(one_child, {child_failed(2, ErrorKind::kPoison, "crashed")});
  EXPECT_EQ(bench.added(), "3 child_done ->2 poison = crashed\n4 ended failed poison = crashed\n");
}

// At this await, these kinds of error would seem to be the parent's own.
TEST(Child, CancelledOrClosedChildIsAFailureOfTheChild) {
  for (const ErrorKind kind : {ErrorKind::kCancelled, ErrorKind::kClosed}) {
    Bench bench;
    bench.go(one_child, {start()}).go(one_child, {child_failed(2, kind, "stop")});
    EXPECT_EQ(bench.added(),
              "3 child_done ->2 application = stop\n4 ended failed application = stop\n");
  }
}

TEST(Child, StillPending_EmitsNothing) {
  Bench bench;
  EXPECT_EQ(bench.go(one_child, {start()}).go(one_child).added(), "");
}

TEST(Child, ParentCancelled_CodeSeesIt) {
  Bench bench;
  bench.go(one_child, {start()}).go(one_child, {cancel()});
  EXPECT_EQ(bench.added(), "3 cancel_requested = stop\n4 ended completed = cancelled\n");
}

TEST(Child, SecondAndForeignNoticesAreDropped) {
  Bench bench;
  Message other = child_done(2, "other");
  other.execution = 2;
  const Orchestration twice = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_sub_orchestration("station", "12"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("after", ""));
    return ctx.complete("");
  };
  bench.go(twice, {start()}).go(twice, {other, child_done(2, "a"), child_done(2, "b")});
  EXPECT_EQ(bench.added(), "3 child_done ->2 = a\n4 activity 0.1 after()\n");
  EXPECT_EQ(bench.dropped(), 2U);
  // A completion of another kind does not complete a child.
  EXPECT_EQ(bench.go(twice, {child_done(4)}).added(), "");
}

TEST(Child, LosesASelectAndIsClosed) {
  const Orchestration race = [](OrchestrationContext& ctx) {
    const Handle child = ctx.schedule_sub_orchestration("station", "12");
    const Handle timer = ctx.schedule_timer(std::chrono::seconds(1));
    PAWL_AWAIT(first, ctx.select(child, timer));
    PAWL_AWAIT(late, child);
    return ctx.complete(late.closed() && first.index() == 1 ? "closed" : "?");
  };
  Bench bench;
  bench.go(race, {start()}).go(race, {fired(3), child_done(2)});
  EXPECT_EQ(bench.added(),
            "4 timer_fired ->3\n5 child_done ->2 = ok\n6 close 0.2 of 0.0 at 4\n"
            "7 ended completed = closed\n");
}

TEST(Child, JoinsInBranches) {
  const Orchestration fan = [](OrchestrationContext& ctx) {
    const auto body = [](OrchestrationContext& branch) -> Poll {
      PAWL_AWAIT(result, branch.schedule_sub_orchestration("station", "in"));
      return branch.complete(result.value());
    };
    const Handle a = ctx.open_branch(body);
    const Handle b = ctx.open_branch(body);
    PAWL_AWAIT_DONE(ctx.join(a, b));
    PAWL_AWAIT(first, a);
    PAWL_AWAIT(second, b);
    return ctx.complete(std::string(first.value()) + std::string(second.value()));
  };
  Bench bench;
  bench.go(fan, {start()});
  EXPECT_EQ(bench.all(),
            "1 started\n2 branch_opened 0.0 = 1\n3 child 1.0 station\n4 branch_opened 0.1 = 2\n"
            "5 child 2.0 station\n");
  bench.go(fan, {child_done(5, "b")}).go(fan, {child_done(3, "a")});
  EXPECT_EQ(bench.added(), "7 child_done ->3 = a\n8 ended completed = ab\n");
}

TEST(Child, BadArgumentsAreResultsAndScheduleNothing) {
  const Orchestration bad = [](OrchestrationContext& ctx) {
    PAWL_AWAIT(name, ctx.schedule_sub_orchestration("", ""));
    PAWL_AWAIT(id, ctx.schedule_sub_orchestration("n", "", {InstanceId("a::1.2")}));
    PAWL_AWAIT(none, ctx.schedule_sub_orchestration("n", "", {InstanceId("")}));
    const std::string large(70'000, 'x');
    PAWL_AWAIT(input, ctx.schedule_sub_orchestration("n", large));
    const bool all =
        name.error().kind == ErrorKind::kInvalidArgument &&
        id.error().kind == ErrorKind::kInvalidArgument &&
        none.error().kind == ErrorKind::kInvalidArgument &&
        input.error().kind == ErrorKind::kLimit &&
        ctx.start_orchestration("n", InstanceId("a::1.2"), "") == ErrorKind::kInvalidArgument &&
        ctx.start_orchestration("n", InstanceId("a"), large) == ErrorKind::kLimit;
    return ctx.complete(all ? "refused" : "?");
  };
  EXPECT_EQ(Bench().go(bad, {start()}).all(), "1 started\n2 ended completed = refused\n");
}

Poll starts_other(OrchestrationContext& ctx) {
  static_cast<void>(ctx.start_orchestration("logger", InstanceId("log-1"), "x"));
  PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
  return ctx.complete("");
}

TEST(Detached, IsRecordedAndNothingIsAwaited) {
  Bench bench;
  EXPECT_EQ(bench.go(starts_other, {start()}).all(),
            "1 started\n2 detached 0.0 logger @log-1\n3 activity 0.1 a()\n");
  EXPECT_EQ(bench.go(starts_other, {done(3)}).added(),
            "4 activity_done ->3 = ok\n5 ended completed\n");
}

TEST(Detached, StillPending_EmitsNothing) {
  Bench bench;
  EXPECT_EQ(bench.go(starts_other, {start()}).go(starts_other).added(), "");
}

// ---- one mismatch a field ----

std::string mismatch(Orchestration first, Orchestration second) {
  Bench bench;
  bench.go(first, {start()});
  const std::string before = bench.all();
  EXPECT_EQ(bench.turn(second), Status::kNondeterminism);
  EXPECT_EQ(bench.all(), before);
  return bench.text();
}

Poll child_of(OrchestrationContext& ctx, std::string_view name, std::string_view id,
              std::string_view input) {
  PAWL_AWAIT_DONE(ctx.schedule_sub_orchestration(name, input, {InstanceId(id)}));
  return ctx.complete("");
}
Poll recorded(OrchestrationContext& ctx) { return child_of(ctx, "n", "i", "in"); }

// Rules: R3.1.
TEST(ChildMismatch, EveryField) {
  const auto name = mismatch(
      recorded, [](OrchestrationContext& ctx) { return child_of(ctx, "other", "i", "in"); });
  EXPECT_NE(name.find("name differs"), std::string::npos) << name;
  const auto id = mismatch(
      recorded, [](OrchestrationContext& ctx) { return child_of(ctx, "n", "other", "in"); });
  EXPECT_NE(id.find("instance id differs"), std::string::npos) << id;
  const auto input = mismatch(
      recorded, [](OrchestrationContext& ctx) { return child_of(ctx, "n", "i", "other"); });
  EXPECT_NE(input.find("input differs"), std::string::npos) << input;
  const auto version = mismatch(recorded, [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_sub_orchestration("n", "in", {InstanceId("i"), Name("2.0.0")}));
    return ctx.complete("");
  });
  EXPECT_NE(version.find("version differs"), std::string::npos) << version;
  const auto no_id = mismatch(recorded, [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_sub_orchestration("n", "in"));
    return ctx.complete("");
  });
  EXPECT_NE(no_id.find("instance id differs"), std::string::npos) << no_id;
  const auto kind = mismatch(recorded, [](OrchestrationContext& ctx) {
    static_cast<void>(ctx.start_orchestration("n", InstanceId("i"), "in"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    return ctx.complete("");
  });
  EXPECT_NE(kind.find("kind differs: history has child"), std::string::npos) << kind;
}

TEST(DetachedMismatch, EveryField) {
  const Orchestration other_name = [](OrchestrationContext& ctx) {
    static_cast<void>(ctx.start_orchestration("other", InstanceId("log-1"), "x"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    return ctx.complete("");
  };
  const Orchestration other_id = [](OrchestrationContext& ctx) {
    static_cast<void>(ctx.start_orchestration("logger", InstanceId("log-2"), "x"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    return ctx.complete("");
  };
  const Orchestration other_input = [](OrchestrationContext& ctx) {
    static_cast<void>(ctx.start_orchestration("logger", InstanceId("log-1"), "y"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    return ctx.complete("");
  };
  const Orchestration other_version = [](OrchestrationContext& ctx) {
    static_cast<void>(ctx.start_orchestration("logger", InstanceId("log-1"), "x", {Name("2.0.0")}));
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    return ctx.complete("");
  };
  EXPECT_NE(mismatch(starts_other, other_version).find("version differs"), std::string::npos);
  EXPECT_NE(mismatch(starts_other, other_name).find("name differs"), std::string::npos);
  EXPECT_NE(mismatch(starts_other, other_id).find("instance id differs"), std::string::npos);
  EXPECT_NE(mismatch(starts_other, other_input).find("input differs"), std::string::npos);
}

TEST(Child, TerminatedAndPoisonAreReadableByKind) {
  Bench bench;
  bench.go(one_child, {start()}).go(one_child, {child_failed(2, ErrorKind::kTerminated, "x")});
  EXPECT_EQ(bench.added(), "3 child_done ->2 terminated = x\n4 ended failed terminated = x\n");
}

}  // namespace
}  // namespace pawl::test
