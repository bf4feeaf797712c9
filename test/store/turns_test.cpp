// Goal: of two commits of one turn exactly one wins and the other writes nothing; all that a turn
// asked for is stored; a history is read back as it was written, or the damaged row is named.
#include <numeric>
#include <thread>

#include "store_world.hpp"

namespace pawl::test {
namespace {

using Strings = std::vector<std::string>;

class Turns : public OpenStore {
 protected:
  std::vector<KeptEvent> history(Site& by, InstanceKey key, ExecutionId execution = 1,
                                 EventId after = 0) {
    KeepEvents sink;
    EXPECT_EQ(by->instance().history.read_history(key, execution, after, sink), Status::kOk)
        << by->diagnostic().text();
    return std::move(sink.kept);
  }
  Status load(Site& by, InstanceKey key) {
    KeepEvents sink;
    return by->instance().history.read_history(key, 1, 0, sink);
  }
  bool diagnostic_has(Site& by, std::string_view what) {
    return by->diagnostic().text().find(what) != std::string_view::npos;
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, Turns, ::testing::Values(Ports::kSim, Ports::kPosix), ports_name);

TEST_P(Turns, EventsComeBackWhole) {
  const InstanceKey key = create(at, "a");
  Events events(1);
  Event& started = events.add(EventKind::kStarted);
  started.name = "irrigate";
  started.version = "1.0";
  started.payload = "in";
  started.time_ms = kWall2040;
  Event& activity = events.add(EventKind::kActivity);
  activity.name = "read";
  activity.session = "bed-7";
  activity.branch = 3;
  activity.ordinal = 9;
  activity.argument_hash = 0xfedcba9876543210U;
  activity.path_hash = 1;
  activity.payload = std::string_view("a\0b\xff", 4);
  Event& timer = events.add(EventKind::kTimer);
  timer.base = TimerBase::kUtc;
  timer.number = INT64_MAX;
  events.add(EventKind::kGuid).payload = "g";
  Event& done = events.add(EventKind::kActivityDone);
  done.ref = 2;
  done.error = ErrorKind::kTimeout;
  done.payload = "too late";
  const std::string large(30'000, 'p');
  events.add(EventKind::kCustomStatus).payload = large;
  const Item& item = fetched(at, key);
  acked(at, turn(item, &events));

  const std::vector<KeptEvent> kept = history(at, key);
  ASSERT_EQ(kept.size(), 6U);
  for (EventId id = 1; id <= 6; ++id) {
    const Event& is = events.event(id);
    const KeptEvent& was = kept[id - 1];
    EXPECT_EQ(was.is.id, id);
    EXPECT_EQ(was.is.kind, is.kind);
    EXPECT_EQ(was.is.error, is.error);
    EXPECT_EQ(was.is.base, is.base);
    EXPECT_EQ(was.is.branch, is.branch);
    EXPECT_EQ(was.is.ordinal, is.ordinal);
    EXPECT_EQ(was.is.ref, is.ref);
    EXPECT_EQ(was.is.time_ms, is.time_ms);
    EXPECT_EQ(was.is.number, is.number);
    EXPECT_EQ(was.is.argument_hash, is.argument_hash);
    EXPECT_EQ(was.is.path_hash, is.path_hash);
    EXPECT_EQ(was.name, is.name);
    EXPECT_EQ(was.session, is.session);
    EXPECT_EQ(was.version, is.version);
    EXPECT_EQ(was.payload, is.payload);
  }
  const std::vector<KeptEvent> rest = history(at, key, 1, 4);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].is.id, 5U);
  EXPECT_TRUE(history(at, key, 1, 6).empty());
  EXPECT_TRUE(history(at, key, 2, 0).empty());
}

TEST_P(Turns, DefaultsTakeNoColumn) {
  const InstanceKey key = create(at, "a");
  Events events = begun();
  events.add(EventKind::kTimerFired).ref = 1;
  acked(at, turn(fetched(at, key), &events));
  EXPECT_EQ(raw_text("SELECT typeof(branch)||typeof(ordinal)||typeof(meta)||typeof(payload) "
                     "FROM history WHERE id=2"),
            "nullnullnullnull");
}

TEST_P(Turns, SinkMayEndTheLoading) {
  const InstanceKey key = create(at, "a");
  start(at, key);
  KeepEvents sink;
  sink.status = Status::kResourceExhausted;
  EXPECT_EQ(at->instance().history.read_history(key, 1, 0, sink), Status::kResourceExhausted);
  EXPECT_EQ(sink.kept.size(), 1U);
  EXPECT_EQ(history(at, key).size(), 1U);
}

// ---- competing commits ----

TEST_P(Turns, OfTwoCommitsOneWins) {
  Site& other = site();
  const InstanceKey key = create(at, "a");
  Events mine = begun("mine");
  Events theirs = begun("theirs");
  const TurnCommit first = turn(fetched(at, key), &mine);
  const TurnCommit second = turn(fetched(other, key), &theirs);
  acked(other, second);
  const std::string before = dump();
  EXPECT_EQ(ack(at, first), Status::kStale);
  EXPECT_EQ(dump(), before);
  EXPECT_EQ(ack(other, second), Status::kStale) << "nor a second time";
  const std::vector<KeptEvent> kept = history(at, key);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].name, "theirs");
}

// Four threads, each with its own connection, work on the same forty instances.
TEST_P(Turns, ManyThreadsEndEachInstanceOnce) {
  if (is_sim()) GTEST_SKIP() << "one thread drives the simulated machine";
  constexpr int kThreads = 4;
  constexpr int kInstances = 40;
  std::vector<TestClock> clocks(kThreads);
  std::vector<Site*> all;
  for (TestClock& own : clocks) {
    Site& by = process();
    by.port.clock = &own;
    StoreOptions patient;
    patient.busy_ms_max = 20'000;
    ASSERT_EQ(open(by, patient), Status::kOk) << by.diagnostic.text();
    all.push_back(&by);
  }
  for (int i = 0; i < kInstances; ++i)
    create(*all[0], "i" + std::to_string(i));
  std::vector<int> ended(kThreads, 0);
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < kThreads; ++me) {
    threads.emplace_back([&, me] {
      Site& by = *all[me];
      touch(by);
      for (std::vector<InstanceKey> found = ready(by); !found.empty(); found = ready(by)) {
        for (const InstanceKey key : found) {
          Item item;
          if (fetch(by, key, item) != Status::kOk || item.is.message_count == 0) continue;
          Events events = begun();
          events.add(EventKind::kEnded).end = EndKind::kCompleted;
          const std::vector<MessageId> taken = item.ids();
          TurnCommit commit;
          commit.key = key;
          commit.revision = item.is.revision;
          commit.execution = item.is.execution;
          commit.messages = {taken.data(), taken.size()};
          commit.events = &events;
          commit.first_new = 1;
          commit.last_new = 2;
          commit.end = EndKind::kCompleted;
          if (ack(by, commit) == Status::kOk) ++ended[me];
        }
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(std::accumulate(ended.begin(), ended.end(), 0), kInstances);
  EXPECT_EQ(raw_number("SELECT count(*) FROM history"), 2 * kInstances);
  EXPECT_EQ(raw_number("SELECT count(*) FROM instances WHERE state=1"), kInstances);
}

// Ids of events begin anew with each execution, and no execution shows events of another one.
TEST_P(Turns, ExecutionsAreApart) {
  const InstanceKey key = create(at, "a");
  const std::string inputs[] = {"1", "2", "3"};
  for (ExecutionId execution = 1; execution <= 3; ++execution) {
    const Item& item = fetched(at, key);
    EXPECT_EQ(item.is.execution, execution);
    EXPECT_EQ(item.is.last_event, 0U);
    Events events(1);
    Event& started = events.add(EventKind::kStarted);
    started.name = "irrigate";
    started.payload = inputs[execution - 1];
    events.add(EventKind::kEnded).end = EndKind::kContinuedAsNew;
    TurnCommit commit = turn(item, &events);
    commit.end = EndKind::kContinuedAsNew;
    acked(at, commit);
  }
  for (ExecutionId execution = 1; execution <= 3; ++execution) {
    const std::vector<KeptEvent> kept = history(at, key, execution);
    ASSERT_EQ(kept.size(), 2U);
    EXPECT_EQ(kept[0].payload, inputs[execution - 1]);
  }
  EXPECT_TRUE(history(at, key, 4).empty());
  EXPECT_EQ(status(at, "a").execution, 4);
}

// Work that a turn asks for and closes at once is not stored.
TEST_P(Turns, WorkOfACommandThatTheSameTurnClosedIsNotThere) {
  const InstanceKey key = create(at, "a");
  const Item& item = fetched(at, key);
  Events events = begun();
  events.add(EventKind::kActivity).name = "read";
  events.add(EventKind::kClose).ref = 2;
  TurnCommit commit = turn(item, &events);
  const NewWork work[] = {{2, {}}};
  const EventId closed[] = {2};
  commit.work = {work, 1};
  commit.closed = {closed, 1};
  acked(at, commit);
  EXPECT_EQ(raw_number("SELECT count(*) FROM worker_queue"), 0);
}

TEST_P(Turns, WorkHandedOverWithItsTurnIsNoOtherWorkers) {
  const InstanceKey key = create(at, "a");
  const Item& item = fetched(at, key);
  Events events = begun();
  events.add(EventKind::kActivity).name = "read";
  TurnCommit commit = turn(item, &events);
  WorkItem held;
  held.locked_until = 4'000'000;
  NewWork work[] = {{2, {}}};
  work[0].handed_over = &held;
  commit.work = {work, 1};
  acked(at, commit);
  EXPECT_NE(held.id, 0);
  EXPECT_EQ(take_work(at).item, 0);
  const WorkDone done{held.id, held.token, 0, 0};
  must_batch(at, [&] { return at->work().items.check_work_item(done); });
  EXPECT_EQ(raw_number("SELECT locked_until FROM worker_queue WHERE state=1 AND attempt=1"),
            held.locked_until);
}

// Tokens are reserved in advance; the next commit continues after all that others may have taken.
TEST_P(Turns, IdsOfWorkRiseOverAllConnections) {
  Site& other = site();
  std::int64_t last = 0;
  int made = 0;
  for (Site* const by : {&at, &at, &other, &at, &other, &other, &at}) {
    const InstanceKey key = create(*by, "i" + std::to_string(++made));
    start(*by, key, {}, {{2, {}}, {3, {}}});
    const std::int64_t lowest = raw_number(
        "SELECT min(id) FROM (SELECT id FROM worker_queue ORDER BY id DESC LIMIT 2) AS two");
    EXPECT_GT(lowest, last) << made;
    last = raw_number("SELECT max(id) FROM worker_queue");
    EXPECT_EQ(raw_number("SELECT count(*) FROM worker_queue"), 2 * made);
  }
}

TEST_P(Turns, StaleTurnWritesNothingAndLeavesTheBatchAlive) {
  const InstanceKey key = create(at, "a");
  Events events = begun();
  const Item& item = fetched(at, key);
  const MessageId unknown = 4711;
  const WorkDone unknown_work{4711, 1, 1};
  TurnCommit bad[5] = {turn(item, &events), turn(item, &events), turn(item, &events),
                       turn(item, &events), turn(item, &events)};
  bad[0].revision = 7;
  bad[1].execution = 2;
  bad[2].key = 4711;
  bad[3].messages = {&unknown, 1};
  bad[4].done = {&unknown_work, 1};
  const std::string before = dump();
  for (const TurnCommit& one : bad) {
    must_batch(at, [&] {
      EXPECT_EQ(at->instance().turns.ack_orchestration_item(one), Status::kStale);
      return Status::kOk;
    });
    EXPECT_EQ(dump(), before);
  }
  acked(at, turn(item, &events));
}

// The checks before the writing let each result pass. The one that comes twice is gone when the
// turn comes to it again: what then is no answer, since the turn has begun to write.
TEST_P(Turns, ResultThatTheTurnItselfHasTakenKillsTheBatch) {
  const Incarnation me = worker(at, "w");
  const InstanceKey key = create(at, "a");
  start(at, key, {}, {{2, "s"}, {3, "s"}});
  const WorkDone first = take_work(at, me);
  const WorkDone second = take_work(at, me);
  const WorkDone done[] = {first, second, first};
  TurnCommit commit = turn(fetched(at, key));
  commit.done = {done, 3};
  const std::string before = dump();
  EXPECT_EQ(ack(at, commit), Status::kCorrupt);
  EXPECT_EQ(at->diagnostic().text(), "rows contradict each other: stale");
  EXPECT_EQ(dump(), before);
  commit.done = {done, 2};
  acked(at, commit);
  EXPECT_EQ(raw_number("SELECT count(*) FROM worker_queue"), 0);
}

// The abort ends the epoch of both results, and both were in hand before it.
TEST_P(Turns, ResultsOfASessionThatOneOfThemAbortsAreAllTaken) {
  const Incarnation me = worker(at, "w");
  const InstanceKey key = create(at, "a");
  start(at, key, {}, {{2, "s"}, {3, "s"}});
  WorkDone done[] = {take_work(at, me), take_work(at, me)};
  for (WorkDone& one : done)
    one.abort_session = true;
  EXPECT_EQ(raw_number("SELECT count(*) FROM sessions WHERE owner IS NOT NULL"), 1);
  TurnCommit commit = turn(fetched(at, key));
  commit.done = {done, 2};
  acked(at, commit);
  EXPECT_EQ(raw_number("SELECT count(*) FROM worker_queue"), 0);
  EXPECT_EQ(raw_number("SELECT count(*) FROM sessions WHERE owner IS NOT NULL"), 0);
}

TEST_P(Turns, MessageOfAnotherInstanceIsNotTaken) {
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  TurnCommit commit = turn(fetched(at, a));
  const MessageId theirs = fetched(at, b).is.messages[0].id;
  commit.messages = {&theirs, 1};
  EXPECT_EQ(ack(at, commit), Status::kStale);
  EXPECT_EQ(fetched(at, b).is.message_count, 1U);
}

TEST_P(Turns, MessageThatCameDuringTheTurnStays) {
  Site& other = site();
  const InstanceKey key = create(at, "a");
  Events events = begun();
  const TurnCommit commit = turn(fetched(at, key), &events);
  cancel(other, "a");
  ASSERT_EQ(ack(at, commit), Status::kOk) << "a message is no reason to do the turn again";
  EXPECT_EQ(ready(at), std::vector<InstanceKey>{key});
  EXPECT_EQ(fetched(at, key).kinds(), Strings{"cancel"});
}

TEST_P(Turns, RevisionRisesWithEachTurn) {
  const InstanceKey key = create(at, "a");
  start(at, key);
  EXPECT_EQ(status(at, "a").revision, 1);
  cancel(at, "a");
  EXPECT_EQ(status(at, "a").revision, 1);
  acked(at, turn(fetched(at, key)));
  EXPECT_EQ(status(at, "a").revision, 2);
}

TEST_P(Turns, EventThatTheTurnCannotWriteKillsTheBatch) {
  const InstanceKey key = create(at, "a");
  Events events = begun("bad\nname");
  const std::string before = dump();
  EXPECT_NE(ack(at, turn(fetched(at, key), &events)), Status::kOk);
  EXPECT_EQ(dump(), before);
}

// ---- messages ----

TEST_P(Turns, NoMoreMessagesThanAskedFor) {
  const InstanceKey key = create(at, "a");
  for (int i = 0; i < 4; ++i)
    cancel(at, "a", std::to_string(i));
  const Item& item = fetched(at, key, 2);
  EXPECT_EQ(item.kinds(), (Strings{"start", "cancel", "cancel"})) << "the start does not count";
  EXPECT_TRUE(item.is.more_messages);
  EXPECT_FALSE(fetched(at, key, 4).is.more_messages);
  Events events = begun();
  acked(at, turn(item, &events));
  EXPECT_EQ(ready(at), std::vector<InstanceKey>{key});
  const Item& rest = fetched(at, key, 3);
  ASSERT_EQ(rest.is.message_count, 2U);
  EXPECT_EQ(rest.is.messages[0].payload, "2");
  EXPECT_EQ(rest.is.messages[1].payload, "3");
  EXPECT_FALSE(rest.is.more_messages);
}

TEST_P(Turns, NoMoreMessagesThanFit) {
  const InstanceKey key = create(at, "a", std::string(300, 'i'));
  for (int i = 0; i < 10; ++i)
    cancel(at, "a", std::string(300, 'x'));
  alignas(64) unsigned char block[4096];
  Arena arena(block, sizeof(block));
  OrchestrationItem item;
  ASSERT_EQ(at->instance().history.fetch_orchestration_item(key, at->place().pawl_now(), {32},
                                                            arena, &item),
            Status::kOk);
  EXPECT_GT(item.message_count, 0U);
  EXPECT_LT(item.message_count, 11U);
  EXPECT_TRUE(item.more_messages);
  EXPECT_FALSE(arena.exhausted());
  Arena small(block, 16 * sizeof(Message) + 100);
  EXPECT_EQ(at->instance().history.fetch_orchestration_item(key, at->place().pawl_now(), {16},
                                                            small, &item),
            Status::kResourceExhausted);
}

TEST_P(Turns, GoneInstanceIsNotFound) {
  Item item;
  touch(at);
  EXPECT_EQ(fetch(at, 4711, item), Status::kNotFound);
}

// ---- ends ----

TEST_P(Turns, CompletedInstanceKeepsItsOutputOnly) {
  const InstanceKey key = create(at, "a");
  NewTimer timer;
  timer.event = 2;
  timer.delay_or_utc_ms = 1000;
  start(at, key, {timer}, {{3, ""}});
  EXPECT_EQ(raw_number("SELECT count(*) FROM worker_queue"), 1);
  cancel(at, "a");
  cancel(at, "a");
  const Item& item = fetched(at, key, 1);
  clock.advance(100);
  Events events(4);
  events.add(EventKind::kCancelRequested);
  Event& end = events.add(EventKind::kEnded);
  end.end = EndKind::kCompleted;
  end.payload = "wet enough";
  TurnCommit commit = turn(item, &events);
  commit.end = EndKind::kCompleted;
  acked(at, commit);
  const InstanceStatus is = status(at, "a");
  EXPECT_EQ(is.state, InstanceState::kCompleted);
  EXPECT_EQ(is.error, ErrorKind::kNone);
  EXPECT_EQ(is.output, "wet enough");
  EXPECT_EQ(is.updated_ms, kWall2040 + 100);
  EXPECT_EQ(raw_number("SELECT count(*) FROM orchestrator_queue"), 0);
  EXPECT_EQ(raw_number("SELECT count(*) FROM worker_queue"), 0);
  EXPECT_EQ(raw_number("SELECT finished_at FROM instances"), at->place().pawl_now());
  clock.advance(5000);
  EXPECT_TRUE(ready(at).empty());
  Item late;
  EXPECT_EQ(fetch(at, key, late), Status::kNotFound);
  InstanceStatus out;
  char small[4];
  EXPECT_EQ(at->instance().directory.get_status("a", &out, small, sizeof(small)),
            Status::kResourceExhausted);
}

TEST_P(Turns, CustomStatusIsTheInstances) {
  const InstanceKey key = create(at, "a");
  EXPECT_EQ(status(at, "a").custom_status, "");
  EXPECT_EQ(status(at, "a").custom_status_version, 0);
  const std::string shown("half\0open", 9);
  {
    Item item;
    ASSERT_EQ(fetch(at, key, item), Status::kOk);
    Events events = begun();
    for (const std::string_view text :
         {std::string_view("first"), std::string_view(), std::string_view(shown)})
      events.add(EventKind::kCustomStatus).payload = text;
    events.add(EventKind::kEnded).end = EndKind::kContinuedAsNew;
    TurnCommit commit = turn(item, &events);
    commit.end = EndKind::kContinuedAsNew;
    acked(at, commit);
  }
  EXPECT_EQ(status(at, "a").custom_status, shown);
  EXPECT_EQ(status(at, "a").custom_status_version, 3);
  const Item& item = fetched(at, key);
  Events events = begun();
  Event& end = events.add(EventKind::kEnded);
  end.end = EndKind::kCompleted;
  end.payload = "wet";
  TurnCommit commit = turn(item, &events);
  commit.end = EndKind::kCompleted;
  acked(at, commit);
  const InstanceStatus is = status(at, "a");
  EXPECT_EQ(is.custom_status, shown);
  EXPECT_EQ(is.custom_status_version, 3);
  EXPECT_EQ(is.output, "wet");
  InstanceStatus out;
  char small[16];
  EXPECT_EQ(at->instance().directory.get_status("a", &out, small, 11), Status::kResourceExhausted);
  EXPECT_EQ(at->instance().directory.get_status("a", &out, small, 8), Status::kResourceExhausted);
  EXPECT_EQ(at->instance().directory.get_status("a", &out, small, 12), Status::kOk);
}

TEST_P(Turns, ResetCustomStatusIsAChange) {
  const InstanceKey key = create(at, "a");
  const Item& item = fetched(at, key);
  Events events = begun();
  events.add(EventKind::kCustomStatus).payload = "shown";
  events.add(EventKind::kCustomStatus);
  TurnCommit commit = turn(item, &events);
  acked(at, commit);
  EXPECT_EQ(status(at, "a").custom_status, "");
  EXPECT_EQ(status(at, "a").custom_status_version, 2);
}

TEST_P(Turns, FailedInstanceSaysWhy) {
  const InstanceKey key = create(at, "a");
  Events events = begun();
  Event& end = events.add(EventKind::kEnded);
  end.end = EndKind::kFailed;
  end.error = ErrorKind::kApplication;
  end.payload = "dry";
  TurnCommit commit = turn(fetched(at, key), &events);
  commit.end = EndKind::kFailed;
  commit.error = ErrorKind::kApplication;
  acked(at, commit);
  EXPECT_EQ(status(at, "a").state, InstanceState::kFailed);
  EXPECT_EQ(status(at, "a").error, ErrorKind::kApplication);
  EXPECT_EQ(status(at, "a").output, "dry");
}

TEST_P(Turns, ContinueAsNewCarriesTheCancelAndDropsTheRest) {
  const InstanceKey key = create(at, "a");
  NewTimer timer;
  timer.event = 2;
  timer.delay_or_utc_ms = 1000;
  start(at, key, {timer}, {{3, ""}});
  cancel(at, "a", "first");
  const Item& item = fetched(at, key);
  cancel(at, "a", "kept");  // after the turn has read its messages
  Events events(4);
  events.add(EventKind::kEnded).end = EndKind::kContinuedAsNew;
  TurnCommit commit = turn(item, &events);
  commit.end = EndKind::kContinuedAsNew;
  commit.next.input = "round 2";
  acked(at, commit);
  EXPECT_EQ(raw_number("SELECT count(*) FROM worker_queue"), 0);
  clock.advance(2000);
  EXPECT_EQ(ready(at), std::vector<InstanceKey>{key});
  const Item& next = fetched(at, key);
  EXPECT_EQ(next.is.execution, 2);
  EXPECT_EQ(next.is.last_event, 0U);
  ASSERT_EQ(next.kinds(), (Strings{"continue", "cancel"})) << "the start comes first";
  EXPECT_EQ(next.is.messages[0].payload, "round 2");
  EXPECT_EQ(next.is.messages[0].execution, 2);
  EXPECT_EQ(next.is.messages[1].payload, "kept");
  const Item& least = fetched(at, key, 0);
  EXPECT_EQ(least.kinds(), Strings{"continue"});
  EXPECT_TRUE(least.is.more_messages);
  Events second = begun();
  acked(at, turn(next, &second));
  EXPECT_EQ(history(at, key, 1).size(), 4U);
  EXPECT_EQ(history(at, key, 2).size(), 1U);
  EXPECT_EQ(status(at, "a").execution, 2);
}

// The request is handed on however little the next turn reads, and whatever came before it.
// Rules: R8.7.
TEST_P(Turns, ContinueAsNewHandsOnTheRequestAndItsGrace) {
  const InstanceKey key = create(at, "a");
  start(at, key);
  cancel(at, "a", "first");
  const Item& item = fetched(at, key);
  cancel(at, "a", "second");
  NewMessage sent;
  sent.id = "a";
  sent.kind = MessageKind::kQueue;
  sent.name = "q";
  sent.count_max = 10;
  sent.bytes_max = 1000;
  bool room = false;
  must_batch(at, [&] { return at->instance().deliveries.send_message(sent, &room); });
  Events events(2);
  events.add(EventKind::kCancelRequested);
  events.add(EventKind::kEnded).end = EndKind::kContinuedAsNew;
  TurnCommit commit = turn(item, &events);
  commit.end = EndKind::kContinuedAsNew;
  commit.next.input = "round 2";
  commit.next.cancel_reason = "first";
  commit.next.cancel_handed_on = 1;
  NewTimer grace;
  grace.delay_or_utc_ms = 5000;
  const NewTimer timers[] = {grace};
  commit.timers = {timers, 1};
  acked(at, commit);
  const Item& next = fetched(at, key, 0);
  ASSERT_EQ(next.kinds(), (Strings{"continue", "cancel"}));
  EXPECT_TRUE(next.is.more_messages);
  EXPECT_EQ(next.is.messages[1].payload, "first") << "only that counts";
  EXPECT_EQ(next.is.messages[1].execution, 2);
  EXPECT_EQ(next.is.messages[1].ref, 1U);
  const Item& all = fetched(at, key);
  EXPECT_EQ(all.kinds(), (Strings{"continue", "cancel", "queue"}));
  clock.advance(3000);
  Events second = begun();
  second.add(EventKind::kCancelRequested);
  second.add(EventKind::kEnded).end = EndKind::kContinuedAsNew;
  TurnCommit again = turn(next, &second);
  again.end = EndKind::kContinuedAsNew;
  again.next.cancel_handed_on = 2;
  acked(at, again);
  EXPECT_EQ(fetched(at, key).kinds(), (Strings{"continue", "cancel", "queue"}));
  clock.advance(2000);
  const Item& last = fetched(at, key);
  ASSERT_EQ(last.kinds(), (Strings{"continue", "cancel", "queue", "timer_fired"}));
  EXPECT_EQ(last.is.messages[3].execution, 0) << "of no execution";
}

TEST_P(Turns, ClosedCommandsLoseTheirTimersAndWork) {
  const InstanceKey key = create(at, "a");
  NewTimer first;
  first.event = 2;
  first.delay_or_utc_ms = 1000;
  NewTimer second = first;
  second.event = 3;
  start(at, key, {first, second}, {{4, ""}, {5, ""}});
  cancel(at, "a");
  const EventId closed[] = {2, 4, 99};
  Events events(6);
  events.add(EventKind::kCancelRequested);
  // A timer that one turn asks for and closes is not stored.
  const NewTimer both{6, TimerBase::kPawlTime, 5};
  const EventId closed_too = 6;
  TurnCommit commit = turn(fetched(at, key), &events);
  commit.closed = {closed, 3};
  acked(at, commit);
  EXPECT_EQ(raw_text("SELECT ref FROM orchestrator_queue"), "3");
  EXPECT_EQ(raw_text("SELECT event FROM worker_queue"), "5");
  cancel(at, "a");
  TurnCommit next = turn(fetched(at, key));
  next.timers = {&both, 1};
  next.closed = {&closed_too, 1};
  acked(at, next);
  EXPECT_EQ(raw_text("SELECT ref FROM orchestrator_queue"), "3");
}

// ---- damage ----

TEST_P(Turns, DamagedEventIsNamed) {
  const InstanceKey key = create(at, "a", "in");
  start(at, key, {NewTimer{2}, NewTimer{3}});
  const std::string good = raw_text("SELECT hex(payload),kind,meta,time FROM history WHERE id=2");
  struct Damage {
    const char* break_it;
    const char* mend_it;
  };
  const Damage all[] = {
      {"UPDATE history SET payload='x' WHERE id=2", "UPDATE history SET payload=NULL WHERE id=2"},
      {"UPDATE history SET time=time+1 WHERE id=2", "UPDATE history SET time=time-1 WHERE id=2"},
      {"UPDATE history SET kind=200 WHERE id=2", "UPDATE history SET kind=3 WHERE id=2"},
      {"UPDATE history SET kind=259 WHERE id=2", "UPDATE history SET kind=3 WHERE id=2"},
      {"UPDATE history SET branch=4294967296 WHERE id=2", "UPDATE history SET branch=0 WHERE id=2"},
      {"UPDATE history SET ordinal=-1 WHERE id=2", "UPDATE history SET ordinal=0 WHERE id=2"},
      {"UPDATE history SET meta='{' WHERE id=2", "UPDATE history SET meta=NULL WHERE id=2"},
      {"UPDATE history SET crc=crc+4294967296 WHERE id=2",
       "UPDATE history SET crc=crc-4294967296 WHERE id=2"},
  };
  for (const Damage& damage : all) {
    raw(damage.break_it);
    EXPECT_EQ(load(at, key), Status::kCorrupt) << damage.break_it;
    EXPECT_TRUE(diagnostic_has(at, "instance 1, execution 1, event 2")) << at->diagnostic().text();
    raw(damage.mend_it);
    EXPECT_EQ(load(at, key), Status::kOk) << damage.mend_it << at->diagnostic().text();
  }
}

TEST_P(Turns, MovedEventIsNoticed) {
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  start(at, a);
  start(at, b);
  raw("DELETE FROM history WHERE instance=2");
  raw("UPDATE history SET instance=2 WHERE instance=1");
  EXPECT_EQ(load(at, b), Status::kCorrupt);
  EXPECT_TRUE(diagnostic_has(at, "instance 2, execution 1, event 1")) << at->diagnostic().text();
  EXPECT_EQ(load(at, a), Status::kCorrupt);
  EXPECT_TRUE(diagnostic_has(at, "is missing")) << at->diagnostic().text();
}

TEST_P(Turns, GapsAreNoticed) {
  const InstanceKey key = create(at, "a");
  start(at, key, {NewTimer{2}, NewTimer{3}});
  raw("UPDATE instances SET last_event=2");
  EXPECT_EQ(load(at, key), Status::kCorrupt);
  EXPECT_TRUE(diagnostic_has(at, "event 2: is missing, or its link is wrong"))
      << at->diagnostic().text();
  raw("UPDATE instances SET last_event=3");
  ASSERT_EQ(load(at, key), Status::kOk);
  for (const char* id : {"1", "2", "3"}) {
    raw(std::string("UPDATE history SET id=id+10 WHERE id=") + id);
    EXPECT_EQ(load(at, key), Status::kCorrupt);
    EXPECT_TRUE(
        diagnostic_has(at, (std::string("event ") + id + ": is missing, or its link").c_str()))
        << at->diagnostic().text();
    raw(std::string("UPDATE history SET id=id-10 WHERE id=10+") + id);
    ASSERT_EQ(load(at, key), Status::kOk);
  }
}

TEST_P(Turns, MetaThatIsWrongButChecksIsNoticed) {
  const InstanceKey key = create(at, "a");
  start(at, key);
  Event event;
  event.id = 1;
  event.kind = EventKind::kStarted;
  for (const char* meta : {"{\"name\":7}", "[]", "{}", "null", "{\"name\":\"a\",\"error\":999}"}) {
    raw(std::string("UPDATE history SET meta='") + meta +
        "',crc=" + std::to_string(event_crc(key, 1, {}, event, meta)));
    EXPECT_EQ(load(at, key), Status::kCorrupt) << meta;
    EXPECT_TRUE(diagnostic_has(at, "event 1: its meta cannot be read")) << at->diagnostic().text();
  }
}

TEST_P(Turns, DamagedMessageBreaksItsInstanceOnly) {
  const InstanceKey a = create(at, "a", "in");
  const InstanceKey b = create(at, "b", "in");
  raw("UPDATE orchestrator_queue SET payload='im' WHERE instance=1");
  const Item& broken = fetched(at, a);
  EXPECT_EQ(broken.is.broken, Status::kCorrupt);
  EXPECT_NE(broken.is.broken_text.find("orchestrator_queue row 1 of instance 'a'"),
            std::string_view::npos)
      << broken.is.broken_text;
  EXPECT_EQ(fetched(at, b).is.broken, Status::kOk);
  // The instance can still be ended, and then the row is gone.
  Events events = begun();
  Event& end = events.add(EventKind::kEnded);
  end.end = EndKind::kFailed;
  end.error = ErrorKind::kCorrupt;
  TurnCommit commit = turn(broken, &events);
  commit.messages = {};
  commit.end = EndKind::kFailed;
  acked(at, commit);
  EXPECT_EQ(raw_number("SELECT count(*) FROM orchestrator_queue WHERE instance=1"), 0);
}

TEST_P(Turns, MessageOfAnUnknownKindIsBroken) {
  const InstanceKey key = create(at, "a");
  for (const char* kind : {"0", "77", "257", "-1"}) {
    raw(std::string("UPDATE orchestrator_queue SET kind=") + kind);
    const Item& item = fetched(at, key);
    EXPECT_EQ(item.is.broken, Status::kCorrupt) << kind;
  }
}

TEST_P(Turns, DamagedEndIsReportedByStatus) {
  const InstanceKey key = create(at, "a");
  Events events = begun();
  events.add(EventKind::kEnded).end = EndKind::kCompleted;
  TurnCommit commit = turn(fetched(at, key), &events);
  commit.end = EndKind::kCompleted;
  acked(at, commit);
  InstanceStatus out;
  raw("UPDATE executions SET last_event=1");
  EXPECT_EQ(at->instance().directory.get_status("a", &out, output, sizeof(output)),
            Status::kCorrupt);
  raw("UPDATE executions SET last_event=2");
  raw("UPDATE history SET payload='forged' WHERE id=2");
  EXPECT_EQ(at->instance().directory.get_status("a", &out, output, sizeof(output)),
            Status::kCorrupt);
  EXPECT_TRUE(diagnostic_has(at, "event 2")) << at->diagnostic().text();
}

TEST_P(Turns, LastEventThatDoesNotFitIsNotWrittenOver) {
  const InstanceKey key = create(at, "a");
  start(at, key);
  cancel(at, "a");
  raw("UPDATE instances SET last_event=5");
  Events events(2);
  events.add(EventKind::kCancelRequested);
  EXPECT_EQ(ack(at, turn(fetched(at, key), &events)), Status::kCorrupt);
  EXPECT_TRUE(diagnostic_has(at, "last event is 5, not 1")) << at->diagnostic().text();
}

}  // namespace
}  // namespace pawl::test
