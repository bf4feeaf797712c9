// The state of an instance in the engine: what a write records, what a read sees, what a replay
// makes of both; the custom status; messages taken without waiting.
//
// Method: as in operations_test.cpp. State left by earlier executions is carried into an empty
// history.
#include <chrono>
#include <string>

#include "replay_bench.hpp"

namespace pawl::test {
namespace {

using std::chrono::seconds;

std::string all_values(OrchestrationContext& ctx) {
  std::string all;
  for (KvEntry entry; ctx.next_kv_value(&entry);)
    all += std::string(entry.key) + "=" + std::string(entry.value) + "@" +
           std::to_string(entry.updated_ms) + " ";
  return all;
}

void carry(Bench& bench) {
  ASSERT_EQ(bench.history().carry("", "watering", 0), Status::kOk);
  ASSERT_EQ(bench.history().carry("b", "old b", 20), Status::kOk);
  ASSERT_EQ(bench.history().carry("a", "old a", 10), Status::kOk);
}

std::string output(const Bench& bench) {
  return std::string(bench.history().event(bench.history().end_id()).payload);
}

// ---- reading and writing ----

TEST(KvReplay, SetIsRecordedAndReadAtOnce) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        if (ctx.has_kv_value("k")) return ctx.fail("nothing was set");
        if (ctx.set_kv_value("k", "v") != ErrorKind::kNone) return ctx.fail("refused");
        return ctx.complete(ctx.get_kv_value("k").value_or("none"));
      },
      {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 state_write 0.0 k\n3 ended completed = v\n");
  EXPECT_EQ(bench.history().event(2).payload, "v");
}

TEST(KvReplay, EmptyValueIsAValue) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        EXPECT_EQ(ctx.set_kv_value("k", ""), ErrorKind::kNone);
        return ctx.complete(ctx.get_kv_value("k").has_value() ? "there" : "none");
      },
      {start()});
  EXPECT_EQ(output(bench), "there");
}

TEST(KvReplay, BadKeyRecordsNothing) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        const std::string long_key(257, 'k');
        const bool refused = ctx.set_kv_value("", "v") == ErrorKind::kInvalidArgument &&
                             ctx.set_kv_value("a\n", "v") == ErrorKind::kInvalidArgument &&
                             ctx.set_kv_value(long_key, "v") == ErrorKind::kInvalidArgument &&
                             ctx.clear_kv_value("") == ErrorKind::kInvalidArgument &&
                             !ctx.has_kv_value("");
        return ctx.complete(refused ? "refused" : "taken");
      },
      {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 ended completed = refused\n");
}

TEST(KvReplay, SnapshotSeedsReads) {
  Bench bench;
  ASSERT_NO_FATAL_FAILURE(carry(bench));
  bench.go(
      [](OrchestrationContext& ctx) {
        EXPECT_EQ(ctx.set_kv_value("c", "new"), ErrorKind::kNone);
        EXPECT_EQ(ctx.clear_kv_value("a"), ErrorKind::kNone);
        return ctx.complete(all_values(ctx) + std::to_string(ctx.get_kv_length()));
      },
      {start()});
  EXPECT_EQ(output(bench), "b=old b@20 c=new@1000 2");
}

// A snapshot with writes of the current execution would let a replay read values that it has not
// written yet.
TEST(KvReplay, ReadModifyWriteAcrossTurns) {
  const Orchestration counts = [](OrchestrationContext& ctx) {
    std::string seen;
    for (int i = 0; i < 3; ++i) {
      const std::string now(ctx.get_kv_value("a").value_or("none"));
      seen += now + ",";
      EXPECT_EQ(ctx.set_kv_value("a", now + "+"), ErrorKind::kNone);
      PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    }
    return ctx.complete(seen);
  };
  Bench bench;
  ASSERT_NO_FATAL_FAILURE(carry(bench));
  bench.go(counts, {start()}).go(counts, {fired(3)}).go(counts, {fired(6)}).go(counts, {fired(9)});
  EXPECT_EQ(output(bench), "old a,old a+,old a++,");
  // Cold at every turn, with the same carried values.
  for (const EventId cut : {3U, 6U, 9U}) {
    Bench again;
    ASSERT_NO_FATAL_FAILURE(carry(again));
    Diagnostic why;
    for (EventId id = 1; id <= cut; ++id)
      ASSERT_EQ(again.history().append(bench.history().event(id), why), Status::kOk);
    ASSERT_EQ(again.turn(counts, {fired(cut)}), Status::kOk) << again.text();
    EXPECT_GT(again.history().last_id(), cut + 1);
    EXPECT_EQ(bench.all().compare(0, again.all().size(), again.all()), 0) << again.all();
  }
}

TEST(KvReplay, RewindForgetsWrites) {
  const Orchestration writes = [](OrchestrationContext& ctx) {
    EXPECT_EQ(ctx.set_kv_value("b", "1"), ErrorKind::kNone);
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    EXPECT_EQ(ctx.set_kv_value("b", "2"), ErrorKind::kNone);
    EXPECT_EQ(ctx.set_kv_value("new", "2"), ErrorKind::kNone);
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    return ctx.complete(all_values(ctx));
  };
  Bench bench;
  ASSERT_NO_FATAL_FAILURE(carry(bench));
  bench.go(writes, {start()});
  for (int times = 0; times < 3; ++times) {
    const History::Mark mark = bench.history().mark();
    const std::size_t bytes = bench.history().bytes();
    bench.go(writes, {fired(3)});
    bench.history().rewind(mark);
    EXPECT_LE(bench.history().bytes(), bytes + 1024);
  }
  bench.go(writes, {fired(3)}).go(writes, {fired(7)});
  EXPECT_EQ(output(bench), "a=old a@10 b=2@1000 new=2@1000 ");
  bench.history().rewind({0});
  EXPECT_TRUE(bench.history().has_state());
  bench.history().clear();
  EXPECT_FALSE(bench.history().has_state());
  EXPECT_EQ(bench.pool().used(), 0U);
}

// Rules: R5.3.
TEST(KvReplay, BranchesSeeByCause) {
  Bench bench;
  ASSERT_NO_FATAL_FAILURE(carry(bench));
  bench.go(
      [](OrchestrationContext& ctx) {
        EXPECT_EQ(ctx.set_kv_value("a", "root's"), ErrorKind::kNone);
        std::string seen;
        const Handle first = ctx.open_branch([&seen](OrchestrationContext& own) -> Poll {
          seen += all_values(own) + "|";
          EXPECT_EQ(own.set_kv_value("a", "first's"), ErrorKind::kNone);
          EXPECT_EQ(own.clear_kv_value("b"), ErrorKind::kNone);
          return own.complete("");
        });
        seen += all_values(ctx) + "|";
        PAWL_AWAIT_DONE(first);
        seen += all_values(ctx);
        return ctx.complete(seen);
      },
      {start()});
  EXPECT_EQ(output(bench), "a=root's@1000 b=old b@20 |a=root's@1000 b=old b@20 |a=first's@1000 ");
}

// ---- clearing and pruning ----

// The order of a hash map is not deterministic, so clearing goes in the order of the keys.
TEST(KvReplay, ClearAllGoesInOrderOfKeys) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        for (const char* key : {"d", "b", "e", "a", "c"})
          EXPECT_EQ(ctx.set_kv_value(key, "v"), ErrorKind::kNone);
        const std::size_t count = ctx.clear_all_kv_values();
        return ctx.complete(std::to_string(count) + " " + std::to_string(ctx.get_kv_length()));
      },
      {start()});
  EXPECT_EQ(lines(bench.history(), 7),
            "7 state_write 0.5 a\n8 state_write 0.6 b\n9 state_write 0.7 c\n10 state_write 0.8 d\n"
            "11 state_write 0.9 e\n12 ended completed = 5 0\n");
}

// Keys written in the current execution must not look fresh on every turn.
TEST(KvReplay, PruneReachesKeysOfThisExecutionAndIsReplayStable) {
  const Orchestration prunes = [](OrchestrationContext& ctx) {
    EXPECT_EQ(ctx.set_kv_value("early", "1"), ErrorKind::kNone);
    EXPECT_EQ(ctx.set_kv_value("touched", "1"), ErrorKind::kNone);
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    EXPECT_EQ(ctx.set_kv_value("touched", "2"), ErrorKind::kNone);
    EXPECT_EQ(ctx.set_kv_value("late", "1"), ErrorKind::kNone);
    const std::size_t count = ctx.prune_kv_values_updated_before(ctx.now_ms());
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    return ctx.complete(std::to_string(count) + " " + all_values(ctx));
  };
  Bench bench;
  ASSERT_NO_FATAL_FAILURE(carry(bench));
  bench.go(prunes, {start()});
  bench.stamp_ms = 2000;
  bench.go(prunes, {fired(4)});
  bench.stamp_ms = 90'000;  // this clock makes all keys old
  bench.go(prunes, {fired(11)});
  EXPECT_EQ(output(bench), "3 late=1@2000 touched=2@2000 ");
}

TEST(KvReplay, WritingWhileGoingThroughThem) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        for (const char* key : {"a", "b", "c"})
          EXPECT_EQ(ctx.set_kv_value(key, "v"), ErrorKind::kNone);
        std::string keys;
        for (KvEntry entry; ctx.next_kv_value(&entry);) {
          keys += entry.key;
          EXPECT_EQ(ctx.clear_kv_value(entry.key), ErrorKind::kNone);
          if (entry.key == "b") {
            EXPECT_EQ(ctx.set_kv_value("bb", "v"), ErrorKind::kNone);
          }
        }
        return ctx.complete(keys + " " + all_values(ctx));
      },
      {start()});
  EXPECT_EQ(output(bench), "abbbc ");
}

// ---- limits ----

EngineLimits small_limits() {
  EngineLimits limits;
  limits.kv_keys_max = 3;
  limits.kv_bytes_max = 40;
  limits.payload_bytes_max = 30;
  return limits;
}

// If only the keys of this turn and of earlier executions were counted, an execution could exceed
// the limit.
TEST(KvReplay, KeysAreCountedOverAllTurns) {
  const Orchestration fills = [](OrchestrationContext& ctx) {
    std::string answers;
    for (const char* key : {"c", "d", "e"}) {
      answers += error_kind_name(ctx.set_kv_value(key, "v"));
      answers += ",";
      PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    }
    answers += error_kind_name(ctx.set_kv_value("c", "again"));
    return ctx.complete(answers);
  };
  Bench bench(small_limits());
  ASSERT_NO_FATAL_FAILURE(carry(bench));
  bench.go(fills, {start()}).go(fills, {fired(3)}).go(fills, {fired(6)}).go(fills, {fired(9)});
  EXPECT_EQ(output(bench), "none,limit,limit,none");
}

TEST(KvReplay, BytesAreBounded) {
  Bench bench(small_limits());
  bench.go(
      [](OrchestrationContext& ctx) {
        std::string answers;
        answers += error_kind_name(ctx.set_kv_value("a", std::string(31, 'x')));
        answers += ",";
        answers += error_kind_name(ctx.set_kv_value("a", std::string(30, 'x')));
        answers += ",";
        answers += error_kind_name(ctx.set_kv_value("b", std::string(9, 'x')));
        answers += ",";
        answers += error_kind_name(ctx.set_kv_value("b", std::string(8, 'x')));
        answers += ",";
        answers += error_kind_name(ctx.set_kv_value("a", "x"));
        return ctx.complete(answers + std::to_string(ctx.get_kv_value("a")->size()));
      },
      {start()});
  EXPECT_EQ(output(bench), "limit,none,limit,none,none1");
}

TEST(KvReplay, RefusedWritesAreRecordedAndStayRefused) {
  const Orchestration fills = [](OrchestrationContext& ctx) {
    std::string answers;
    for (const char* key : {"a", "b", "c", "d"})
      answers += std::string(error_kind_name(ctx.set_kv_value(key, "v"))) + ",";
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    return ctx.complete(answers + all_values(ctx));
  };
  Bench small(small_limits());
  small.go(fills, {start()});
  EXPECT_EQ(small.history().event(5).error, ErrorKind::kLimit);
  Bench large;
  large.load(small, small.history().last_id());
  large.go(fills, {fired(6)});
  EXPECT_EQ(output(large), "none,none,none,limit,a=v@1000 b=v@1000 c=v@1000 ");
}

TEST(KvReplay, ClearMakesRoom) {
  Bench bench(small_limits());
  bench.go(
      [](OrchestrationContext& ctx) {
        for (const char* key : {"a", "b", "c"})
          EXPECT_EQ(ctx.set_kv_value(key, "v"), ErrorKind::kNone);
        std::string answers(error_kind_name(ctx.set_kv_value("d", "v")));
        EXPECT_EQ(ctx.clear_kv_value("b"), ErrorKind::kNone);
        answers += error_kind_name(ctx.set_kv_value("d", "v"));
        return ctx.complete(answers);
      },
      {start()});
  EXPECT_EQ(output(bench), "limitnone");
}

// A clear that is withdrawn with its branch must not leave more keys than are allowed.
TEST(KvReplay, ClearOfABranchMakesRoomOnceItIsRecorded) {
  const Orchestration races = [](OrchestrationContext& ctx) {
    for (const char* key : {"a", "b", "c"})
      EXPECT_EQ(ctx.set_kv_value(key, "v"), ErrorKind::kNone);
    const Handle clears = ctx.open_branch([](OrchestrationContext& own) -> Poll {
      EXPECT_EQ(own.clear_kv_value("a"), ErrorKind::kNone);
      PAWL_AWAIT_DONE(own.schedule_timer(seconds(5)));
      return own.complete("");
    });
    std::string answers(error_kind_name(ctx.set_kv_value("d", "v")));
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    answers += error_kind_name(ctx.set_kv_value("d", "v"));
    ctx.cancel(clears);
    return ctx.complete(answers + std::to_string(ctx.get_kv_length()));
  };
  Bench bench(small_limits());
  bench.go(races, {start()}).go(races, {fired(9)});
  EXPECT_EQ(output(bench), "limitnone3");
}

// ---- code that changed ----

template <typename Second>
std::string mismatch_after_set(Second second) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        EXPECT_EQ(ctx.set_kv_value("k", "v"), ErrorKind::kNone);
        PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
        return ctx.complete("");
      },
      {start()});
  EXPECT_EQ(bench.turn(second), Status::kNondeterminism);
  return bench.text();
}

TEST(KvReplay, ChangedCodeIsNamed) {
  using Text = std::string;
  const auto has = [](const Text& text, const char* part) {
    return text.find(part) != Text::npos ? ::testing::AssertionSuccess()
                                         : ::testing::AssertionFailure() << text;
  };
  EXPECT_TRUE(has(mismatch_after_set([](OrchestrationContext& ctx) {
                    EXPECT_EQ(ctx.set_kv_value("k", "w"), ErrorKind::kNone);
                    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
                    return ctx.complete("");
                  }),
                  "value differs: history has state_write \"k\""));
  EXPECT_TRUE(has(mismatch_after_set([](OrchestrationContext& ctx) {
                    EXPECT_EQ(ctx.set_kv_value("other", "v"), ErrorKind::kNone);
                    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
                    return ctx.complete("");
                  }),
                  "name differs"));
  EXPECT_TRUE(has(mismatch_after_set([](OrchestrationContext& ctx) {
                    EXPECT_EQ(ctx.clear_kv_value("k"), ErrorKind::kNone);
                    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
                    return ctx.complete("");
                  }),
                  "value differs"));
  EXPECT_TRUE(has(mismatch_after_set([](OrchestrationContext& ctx) {
                    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
                    return ctx.complete("");
                  }),
                  "kind differs: history has state_write"));
  EXPECT_TRUE(has(mismatch_after_set([](OrchestrationContext& ctx) {
                    EXPECT_EQ(ctx.set_kv_value("k", "v"), ErrorKind::kNone);
                    ctx.clear_all_kv_values();
                    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
                    return ctx.complete("");
                  }),
                  "kind differs: history has timer"));
  EXPECT_TRUE(has(mismatch_after_set([](OrchestrationContext& ctx) {
                    EXPECT_EQ(ctx.set_kv_value("k", "v"), ErrorKind::kNone);
                    if (ctx.has_kv_value("j")) return ctx.fail("");
                    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
                    return ctx.complete("");
                  }),
                  "what was awaited before it"));
}

// ---- custom status ----

TEST(CustomStatusReplay, ReadsWhatWasSetLast) {
  const Orchestration reads = [](OrchestrationContext& ctx) {
    std::string seen(ctx.get_custom_status());
    EXPECT_EQ(ctx.set_custom_status("one"), ErrorKind::kNone);
    seen += "," + std::string(ctx.get_custom_status());
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    seen += "," + std::string(ctx.get_custom_status());
    ctx.reset_custom_status();
    seen += "," + std::string(ctx.get_custom_status()) + ".";
    return ctx.complete(seen + std::to_string(ctx.get_kv_length()));
  };
  Bench bench;
  ASSERT_NO_FATAL_FAILURE(carry(bench));
  bench.go(reads, {start()}).go(reads, {fired(3)});
  EXPECT_EQ(output(bench), "watering,one,one,.2");
  Bench fresh;
  fresh.go([](OrchestrationContext& ctx) { return ctx.complete(ctx.get_custom_status()); },
           {start()});
  EXPECT_EQ(output(fresh), "");
}

// ---- messages taken without waiting ----

Poll tries_twice(OrchestrationContext& ctx) {
  std::string got;
  for (int i = 0; i < 2; ++i) {
    PAWL_AWAIT(message, ctx.try_dequeue_event("q"));
    got += message.ok() ? std::string(message.value()) : error_kind_name(message.error().kind);
    got += ",";
  }
  PAWL_AWAIT(last, ctx.dequeue_event("q"));
  return ctx.complete(got + std::string(last.value()));
}

// Rules: R7.3.
TEST(TryDequeue, TakesWhatWaitsOrSaysThatThereIsNone) {
  Bench bench;
  bench.go(tries_twice, {start(), posted(MessageKind::kQueue, 1, "q", "one")});
  EXPECT_EQ(bench.all(),
            "1 started\n2 dequeue 0.0 q\n3 delivery ->2 = one\n4 dequeue 0.1 q\n"
            "5 delivery ->4 not_found = no message\n6 dequeue 0.2 q\n");
  bench.go(tries_twice, {posted(MessageKind::kQueue, 2, "q", "two")});
  EXPECT_EQ(output(bench), "one,not_found,two");
}

// One of the messages that the turn did not read may be for this queue.
// Rules: R7.3.
TEST(TryDequeue, NothingIsLeftWhenAllIsRead) {
  Bench bench;
  bench.more_messages = true;
  bench.go(tries_twice, {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 dequeue 0.0 q\n");
  EXPECT_EQ(bench.state(), TurnState::kMore) << "another turn follows, whatever comes";
  bench.go(tries_twice, {posted(MessageKind::kQueue, 1, "q", "one")});
  EXPECT_EQ(bench.added(), "3 delivery ->2 = one\n4 dequeue 0.1 q\n");
  EXPECT_EQ(bench.state(), TurnState::kMore);
  bench.more_messages = false;
  bench.go(tries_twice);
  EXPECT_EQ(bench.added(), "5 delivery ->4 not_found = no message\n6 dequeue 0.2 q\n");
  EXPECT_EQ(bench.state(), TurnState::kSuspended);
  bench.go(tries_twice, {posted(MessageKind::kQueue, 2, "q", "two")});
  EXPECT_EQ(output(bench), "one,not_found,two");
}

// A turn is cut after its only pass: the next turn must not answer "none" because of what that pass
// has seen.
TEST(TryDequeue, NoneOfAnEarlierTurnIsThereBeforeTheCodeRuns) {
  const Orchestration beside = [](OrchestrationContext& ctx) {
    const Handle open = ctx.schedule_activity("read", "");
    PAWL_AWAIT(tried, ctx.try_dequeue_event("q"));
    PAWL_AWAIT(read, ctx.schedule_activity("write", tried.ok() ? "one" : "none"));
    PAWL_AWAIT_DONE(open);
    return ctx.complete(read.value());
  };
  EngineLimits limits;
  limits.passes_max = 1;
  Bench bench(limits);
  bench.more_messages = true;
  bench.go(beside, {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 activity 0.0 read()\n3 dequeue 0.1 q\n");
  bench.more_messages = false;
  bench.go(beside, {done(2)});
  for (int turn = 0; turn < 3 && bench.state() == TurnState::kMore; ++turn)
    bench.go(beside);
  EXPECT_NE(bench.all().find("write(none)"), std::string::npos) << bench.all();
}

// Rules: R7.2.
TEST(TryDequeue, OlderWaitGoesFirst) {
  const Orchestration both = [](OrchestrationContext& ctx) {
    const Handle older = ctx.dequeue_event("q");
    PAWL_AWAIT(tried, ctx.try_dequeue_event("q"));
    PAWL_AWAIT(waited, older);
    return ctx.complete(std::string(tried.ok() ? "taken" : "none") + "," +
                        std::string(waited.value()));
  };
  Bench bench;
  bench.go(both, {start(), posted(MessageKind::kQueue, 1, "q", "one")});
  EXPECT_EQ(output(bench), "none,one");
}

// Rules: R6.6.
TEST(TryDequeue, WhatALosingBranchTookComesBack) {
  const Orchestration races = [](OrchestrationContext& ctx) {
    const Handle timer = ctx.schedule_timer(seconds(1));
    const Handle branch = ctx.open_branch([](OrchestrationContext& own) -> Poll {
      PAWL_AWAIT_DONE(own.schedule_activity("read", ""));
      PAWL_AWAIT(message, own.try_dequeue_event("q"));
      return own.complete(message.value());
    });
    PAWL_AWAIT(first, ctx.select(timer, branch));
    PAWL_AWAIT(message, ctx.try_dequeue_event("q"));
    return ctx.complete(std::to_string(first.index()) + std::string(message.value()));
  };
  Bench bench;
  bench.go(races, {start(), posted(MessageKind::kQueue, 1, "q", "one")});
  bench.go(races, {fired(2), done(4)});
  EXPECT_EQ(output(bench), "0one") << bench.all();
  EXPECT_TRUE(bench.posted().empty());
}

// "None" in a branch that loses is not a message, so nothing is given back.
TEST(TryDequeue, NoneIsNotGivenBack) {
  const Orchestration leaves = [](OrchestrationContext& ctx) {
    const Handle open = ctx.try_dequeue_event("q");
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    ctx.cancel(open);
    return ctx.complete("");
  };
  Bench bench;
  bench.go(leaves, {start()}).go(leaves, {fired(3)});
  EXPECT_EQ(bench.all().find("return"), std::string::npos) << bench.all();
  EXPECT_TRUE(bench.posted().empty());
}

TEST(TryDequeue, ChangedToWaitingIsNamed) {
  Bench bench;
  bench.go(tries_twice, {start()});
  EXPECT_EQ(bench.turn([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.dequeue_event("q"));
    return ctx.complete("");
  }),
            Status::kNondeterminism);
  EXPECT_NE(bench.text().find("whether it waits differs"), std::string::npos) << bench.text();
}

// ---- reads from other instances ----

TEST(KvReplay, CrossReadWaitsForItsAnswer) {
  const Orchestration reads = [](OrchestrationContext& ctx) {
    PAWL_AWAIT(value, ctx.get_kv_value_from_instance("bed-7", "k"));
    if (!value.ok()) return ctx.fail(value.error());
    return ctx.complete(value.value());
  };
  Bench bench;
  bench.go(reads, {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 value_read 0.0 k @bed-7\n");
  Bench failing;
  failing.load(bench, 2);
  bench.go(reads, {completion(MessageKind::kValueAnswer, 2, ErrorKind::kNone, "v")});
  EXPECT_EQ(bench.added(), "3 value_answer ->2 = v\n4 ended completed = v\n");
  failing.go(reads, {completion(MessageKind::kValueAnswer, 2, ErrorKind::kNoInstance, "none")});
  EXPECT_EQ(failing.added(),
            "3 value_answer ->2 no_instance = none\n4 ended failed no_instance = none\n");
  Bench other;
  other.load(bench, 2);
  EXPECT_EQ(other.turn([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.get_kv_value_from_instance("bed-8", "k"));
    return ctx.complete("");
  }),
            Status::kNondeterminism);
  EXPECT_NE(other.text().find("instance id differs"), std::string::npos) << other.text();
}

TEST(KvReplay, CrossReadOfBadNames) {
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        PAWL_AWAIT(a, ctx.get_kv_value_from_instance("", "k"));
        PAWL_AWAIT(b, ctx.get_kv_value_from_instance("i", "\n"));
        const bool refused = a.error().kind == ErrorKind::kInvalidArgument &&
                             b.error().kind == ErrorKind::kInvalidArgument;
        return ctx.complete(refused ? "refused" : "taken");
      },
      {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 ended completed = refused\n");
}

}  // namespace
}  // namespace pawl::test
