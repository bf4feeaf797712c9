// Every operation: what it does when it is new, when its completion is there, and when it is not.
//
// Method: each test gives a function, the messages of each turn, and the exact events that each
// turn appends. The bench runs every turn twice (verify), so that each test is a replay test too.
#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "core/hash.hpp"
#include "replay_bench.hpp"

namespace pawl::test {
namespace {

Poll read_once(OrchestrationContext& ctx) {
  PAWL_AWAIT(reading, ctx.schedule_activity("read", ctx.input()));
  if (!reading.ok()) return ctx.fail(reading.error());
  return ctx.complete(reading.value());
}

TEST(Activity, Suspends) {
  Bench bench;
  EXPECT_EQ(bench.go(read_once, {start()}).all(), "1 started\n2 activity 0.0 read(in)\n");
  EXPECT_EQ(bench.state(), TurnState::kSuspended);
}

TEST(Activity, Completed) {
  Bench bench;
  bench.go(read_once, {start()}).go(read_once, {done(2, "17")});
  EXPECT_EQ(bench.added(), "3 activity_done ->2 = 17\n4 ended completed = 17\n");
  EXPECT_EQ(bench.state(), TurnState::kEnded);
}

TEST(Activity, Failed) {
  Bench bench;
  bench.go(read_once, {start()}).go(read_once, {failed(2, ErrorKind::kTimeout, "too slow")});
  EXPECT_EQ(bench.added(),
            "3 activity_done ->2 timeout = too slow\n4 ended failed timeout = too slow\n");
}

TEST(Activity, StillPending_EmitsNothing) {
  Bench bench;
  bench.go(read_once, {start()}).go(read_once);
  EXPECT_EQ(bench.added(), "");
  EXPECT_EQ(bench.state(), TurnState::kSuspended);
}

Poll on_session(OrchestrationContext& ctx) {
  PAWL_AWAIT(reading, ctx.schedule_activity("read", "x", Target::session("bed-7")));
  return ctx.complete(reading.value());
}

// ---- ids: a new id must be plain, one that an older engine accepted goes on ----

Poll on_given_session(OrchestrationContext& ctx) {
  PAWL_AWAIT(reading, ctx.schedule_activity("read", "x", Target::session(ctx.input())));
  return reading.ok() ? ctx.complete(reading.value()) : ctx.fail(reading.error());
}

Poll with_given_child(OrchestrationContext& ctx) {
  ChildOptions options;
  options.id = InstanceId(ctx.input());
  PAWL_AWAIT(child, ctx.schedule_sub_orchestration("pump", "", options));
  return child.ok() ? ctx.complete(child.value()) : ctx.fail(child.error());
}

Poll with_given_open_session(OrchestrationContext& ctx) {
  const Session session = ctx.open_session(ctx.input());
  PAWL_AWAIT(reading, ctx.schedule_activity("read", "x", Target::own(session)));
  return reading.ok() ? ctx.complete(reading.value()) : ctx.fail(reading.error());
}

TEST(Ids, ANewOneIsPlain) {
  for (const Orchestration function : {on_given_session, with_given_child, with_given_open_session})
    for (const char* const id : {".", "..", " bus", "bus "}) {
      Bench bench;
      bench.go(function, {start(id)});
      EXPECT_EQ(bench.state(), TurnState::kEnded) << id;
      EXPECT_NE(bench.all().find("2 ended failed invalid_argument"), std::string::npos)
          << bench.all();
    }
}

TEST(Ids, OneThatAnOlderEngineTookGoesOn) {
  for (const Orchestration function :
       {on_given_session, with_given_child, with_given_open_session}) {
    Bench bench;
    bench.go(function, {start("bus")});
    const EventId last = bench.history().last_id();
    bench.rewrite([](Event& event) {
      for (std::string_view* const text : {&event.payload, &event.name, &event.session})
        if (*text == "bus") *text = " bus";
      if (event.kind == EventKind::kChild)
        event.argument_hash = Hash64().add(event.session).add(std::string_view()).value();
      if (event.kind == EventKind::kActivity) {
        Hash64 hash;
        hash.add(event.session).add(event.payload);
        if (!event.policy.empty()) hash.add(event.policy);
        event.argument_hash = hash.value();
      }
    });
    const bool has_child = bench.history().event(last).kind == EventKind::kChild;
    const Message end = completion(has_child ? MessageKind::kChildDone : MessageKind::kActivityDone,
                                   last, ErrorKind::kNone, "9");
    bench.go(function, {end});
    EXPECT_EQ(bench.state(), TurnState::kEnded) << bench.all();
    EXPECT_NE(bench.all().find("ended completed = 9"), std::string::npos) << bench.all();
  }
}

TEST(ActivityOnSession, Suspends) {
  EXPECT_EQ(Bench().go(on_session, {start()}).all(), "1 started\n2 activity 0.0 read(x) @bed-7\n");
}

TEST(ActivityOnSession, Completed) {
  Bench bench;
  bench.go(on_session, {start()}).go(on_session, {done(2, "9")});
  EXPECT_EQ(bench.added(), "3 activity_done ->2 = 9\n4 ended completed = 9\n");
}

TEST(ActivityOnSession, StillPending_EmitsNothing) {
  Bench bench;
  EXPECT_EQ(bench.go(on_session, {start()}).go(on_session).added(), "");
}

Poll wait_a_minute(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(1)));
  return ctx.complete("late");
}

TEST(Timer, Suspends) {
  EXPECT_EQ(Bench().go(wait_a_minute, {start()}).all(), "1 started\n2 timer 0.0 60000\n");
}

TEST(Timer, Completed) {
  Bench bench;
  bench.go(wait_a_minute, {start()}).go(wait_a_minute, {fired(2)});
  EXPECT_EQ(bench.added(), "3 timer_fired ->2\n4 ended completed = late\n");
}

TEST(Timer, StillPending_EmitsNothing) {
  Bench bench;
  EXPECT_EQ(bench.go(wait_a_minute, {start()}).go(wait_a_minute).added(), "");
}

TEST(Timer, NegativeDelayIsZero) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(-5)));
    return ctx.complete("");
  };
  EXPECT_EQ(Bench().go(function, {start()}).all(), "1 started\n2 timer 0.0 0\n");
}

Poll wait_for_utc(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer_at(4102444800000));
  return ctx.complete("2100");
}

TEST(TimerAt, Suspends) {
  EXPECT_EQ(Bench().go(wait_for_utc, {start()}).all(),
            "1 started\n2 timer 0.0 utc 4102444800000\n");
}

TEST(TimerAt, Completed) {
  Bench bench;
  bench.go(wait_for_utc, {start()}).go(wait_for_utc, {fired(2)});
  EXPECT_EQ(bench.added(), "3 timer_fired ->2\n4 ended completed = 2100\n");
}

TEST(TimerAt, StillPending_EmitsNothing) {
  Bench bench;
  EXPECT_EQ(bench.go(wait_for_utc, {start()}).go(wait_for_utc).added(), "");
}

Poll guid_then_activity(OrchestrationContext& ctx) {
  const Guid first = ctx.new_guid();
  const Guid second = ctx.new_guid();
  PAWL_AWAIT_DONE(ctx.schedule_activity("use", first.view()));
  return ctx.complete(std::string(first.view()) + std::string(second.view()));
}

TEST(Guid, IsRecordedAndStable) {
  Bench bench;
  bench.go(guid_then_activity, {start()});
  const std::string first(bench.history().event(2).payload);
  const std::string second(bench.history().event(3).payload);
  EXPECT_NE(first, second);
  EXPECT_EQ(bench.history().event(4).payload, first);
  EXPECT_EQ(first[14], '4');
  EXPECT_NE(std::string("89ab").find(first[19]), std::string::npos);
  for (const int dash : {8, 13, 18, 23})
    EXPECT_EQ(first[static_cast<std::size_t>(dash)], '-');
  bench.go(guid_then_activity, {done(4)});
  EXPECT_EQ(bench.history().event(6).payload, first + second);
}

// The clock, the instance and the place in the code are the same; only the random bytes differ.
TEST(Guid, IsOfTheRandomBytesOfItsTurn) {
  const auto guid_of = [](std::uint8_t random) {
    Bench bench;
    bench.random = random;
    bench.go(guid_then_activity, {start()});
    return std::string(bench.history().event(2).payload);
  };
  EXPECT_EQ(guid_of(1), guid_of(1));
  std::set<char> seen[36];
  std::set<std::string> all;
  for (int random = 0; random < 256; ++random) {
    const std::string guid = guid_of(static_cast<std::uint8_t>(random));
    all.insert(guid);
    for (std::size_t at = 0; at < guid.size(); ++at)
      seen[at].insert(guid[at]);
  }
  EXPECT_EQ(all.size(), 256U);
  for (std::size_t at = 0; at < 36; ++at) {
    const bool is_dash = at == 8 || at == 13 || at == 18 || at == 23;
    const std::size_t digits = is_dash || at == 14 ? 1 : at == 19 ? 4 : 16;
    EXPECT_EQ(seen[at].size(), digits) << "at " << at;
  }
}

Poll say_time(OrchestrationContext& ctx) {
  const std::int64_t before = ctx.utc_now_ms();
  PAWL_AWAIT_DONE(ctx.schedule_activity("work", ""));
  return ctx.complete(std::to_string(before) + " " + std::to_string(ctx.utc_now_ms()) + " " +
                      std::to_string(ctx.now_ms()));
}

// Rules: R2.4.
TEST(UtcNow, IsRecordedAndStable) {
  Bench bench;
  bench.go(say_time, {start()});
  bench.stamp_ms = 5000;
  bench.go(say_time, {done(3)});
  EXPECT_EQ(
      bench.all(),
      "1 started\n2 utc_now 0.0\n3 activity 0.1 work()\n4 activity_done ->3 = ok\n5 utc_now 0.2\n"
      "6 ended completed = 1000 5000 5000\n");
}

// Rules: R6.5.
TEST(Complete, EndsInTheFirstTurn) {
  Bench bench;
  bench.go([](OrchestrationContext& ctx) { return ctx.complete("out"); }, {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 ended completed = out\n");
  EXPECT_EQ(bench.history().end_id(), 2U);
}

TEST(Fail, EndsWithItsText) {
  Bench bench;
  bench.go([](OrchestrationContext& ctx) { return ctx.fail("no water"); }, {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 ended failed application = no water\n");
}

TEST(Fail, OfAnErrorKeepsItsKind) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        return ctx.fail({ErrorKind::kSessionLost, "gone"});
      },
      {start()});
  EXPECT_EQ(bench.added(), "1 started\n2 ended failed session_lost = gone\n");
}

// Rules: R7.6.
TEST(ContinueAsNew, EndsWithTheNextInput) {
  Bench bench;
  bench.go([](OrchestrationContext& ctx) { return ctx.continue_as_new("next"); }, {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 ended continued_as_new = next\n");
}

// Rules: R2.7.
TEST(Length, IsThatOfThePositionAndDueAsTheStartRecordedIt) {
  const Orchestration rounds = [](OrchestrationContext& ctx) {
    std::string said;
    while (!ctx.is_continue_as_new_due()) {
      said += std::to_string(ctx.history_length()) + " ";
      PAWL_AWAIT_DONE(ctx.schedule_activity("round", ""));
    }
    return ctx.continue_as_new(said + std::to_string(ctx.history_length()));
  };
  EngineLimits few;
  few.events_max = 12;
  Bench bench(few);
  bench.go(rounds, {start()});
  EXPECT_EQ(bench.history().event(1).horizon, 9U);
  bench.go(rounds, {done(2)}).go(rounds, {done(4)});
  // A worker with another limit continues with the recorded limit: the history decides.
  Bench other;
  other.load(bench, bench.history().last_id());
  other.go(rounds, {done(6)}).go(rounds, {done(8)});
  EXPECT_EQ(other.added(), "9 activity_done ->8 = ok\n10 ended continued_as_new = 1 3 5 7 9\n");
  // A start with the default limit records nothing, and a worker with another limit knows what that
  // means.
  Bench plain;
  plain.go(rounds, {start()});
  EXPECT_EQ(plain.history().event(1).horizon, 0U);
  Bench later(few);
  later.load(plain, plain.history().last_id());
  later.go(rounds, {done(2)}).go(rounds, {done(4)}).go(rounds, {done(6)}).go(rounds, {done(8)});
  EXPECT_EQ(later.history().last_id(), 10U);
  EXPECT_EQ(later.history().event(10).kind, EventKind::kActivity) << "not due before 3072";
}

// Rules: R2.7.
TEST(Length, OfABranchIsWhatItHasComeTo) {
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle branch = ctx.open_branch([](OrchestrationContext& own) -> Poll {
      PAWL_AWAIT_DONE(own.schedule_activity("a", ""));
      PAWL_AWAIT_DONE(own.schedule_activity("b", ""));
      return own.complete(std::to_string(own.history_length()));
    });
    PAWL_AWAIT_DONE(ctx.schedule_activity("c", ""));
    const std::string mine = std::to_string(ctx.history_length());
    PAWL_AWAIT(its, branch);
    return ctx.complete(mine + " " + std::string(its.value()));
  };
  Bench bench;
  bench.go(function, {start()}).go(function, {done(4), done(3)}).go(function, {done(7)});
  EXPECT_EQ(bench.added(), "8 activity_done ->7 = ok\n9 ended completed = 5 8\n");
}

TEST(Start, RecordsNameVersionInputAndBehaviour) {
  Bench bench;
  bench.go(read_once, {start("the input")});
  const Event& event = bench.history().event(1);
  EXPECT_EQ(event.name, "flow");
  EXPECT_EQ(event.version, "1.0");
  EXPECT_EQ(event.payload, "the input");
  EXPECT_EQ(event.number, Engine::kBehaviour);
  EXPECT_EQ(event.time_ms, 1000);
}

}  // namespace
}  // namespace pawl::test
