// Goal: instances are made once, found, cancelled, parked, stopped and woken; and the rules of
// homes, in the order of waiting, say which worker may run which instance.
#include "store_world.hpp"

namespace pawl::test {
namespace {

using Keys = std::vector<InstanceKey>;

using Instances = StoreWorld;
INSTANTIATE_TEST_SUITE_P(Ports, Instances, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

TEST_P(Instances, StatusOfAFreshOne) {
  Site& at = site();
  const InstanceKey key = create(at, "a");
  const InstanceStatus is = status(at, "a");
  EXPECT_EQ(is.key, key);
  EXPECT_EQ(is.state, InstanceState::kRunning);
  EXPECT_EQ(is.execution, 1);
  EXPECT_EQ(is.error, ErrorKind::kNone);
  EXPECT_EQ(is.created_ms, kWall2040);
  EXPECT_EQ(is.updated_ms, kWall2040);
  EXPECT_EQ(is.output, "");
  InstanceStatus none;
  EXPECT_EQ(at->instance().directory.get_status("b", &none, output, sizeof(output)),
            Status::kNotFound);
}

TEST_P(Instances, IdIsUsedOnce) {
  Site& at = site();
  Site& other = site();
  const InstanceKey key = create(at, "a", "first");
  NewInstance again;
  again.id = "a";
  again.name = "other";
  again.input = "second";
  InstanceKey other_key = 0;
  EXPECT_EQ(
      batch(other,
            [&] { return other->instance().deliveries.start_orchestration(again, &other_key); }),
      Status::kAlreadyExists);
  // The other calls of the batch are stored.
  EXPECT_EQ(batch(other,
                  [&] {
                    EXPECT_EQ(other->instance().deliveries.start_orchestration(again, &other_key),
                              Status::kAlreadyExists);
                    NewInstance beside = again;
                    beside.id = "b";
                    return other->instance().deliveries.start_orchestration(beside, &other_key);
                  }),
            Status::kOk);
  EXPECT_EQ(status(other, "b").state, InstanceState::kRunning);
  Item item;
  ASSERT_EQ(fetch(other, key, item), Status::kOk);
  EXPECT_EQ(item.is.name, "irrigate");
  ASSERT_EQ(item.is.message_count, 1U);
  EXPECT_EQ(item.is.messages[0].payload, "first");
}

TEST_P(Instances, NamesHaveBounds) {
  Site& at = site();
  const std::string longest(256, 'x');
  const std::string longer(257, 'x');
  const auto try_one = [&](std::string_view id, std::string_view name, std::string_view version) {
    NewInstance instance;
    instance.id = id;
    instance.name = name;
    instance.version = version;
    InstanceKey key = 0;
    return batch(at, [&] { return at->instance().deliveries.start_orchestration(instance, &key); });
  };
  EXPECT_EQ(try_one(longest, longest, longest), Status::kOk);
  EXPECT_EQ(try_one("", "n", ""), Status::kInvalidArgument);
  EXPECT_EQ(try_one("a", "", ""), Status::kInvalidArgument);
  EXPECT_EQ(try_one(longer, "n", ""), Status::kInvalidArgument);
  EXPECT_EQ(try_one("a", longer, ""), Status::kInvalidArgument);
  EXPECT_EQ(try_one("a", "n", longer), Status::kInvalidArgument);
  EXPECT_EQ(try_one("new\nline", "n", ""), Status::kInvalidArgument);
  for (const char* const id : {".", "..", " a", "a "})
    EXPECT_EQ(try_one(id, "n", ""), Status::kInvalidArgument) << id;
  EXPECT_EQ(try_one("\xc3\xa4 '\"; DROP TABLE instances", "n", ""), Status::kOk);
  EXPECT_EQ(ready(at).size(), 2U);
}

TEST_P(Instances, InputsAreBytes) {
  Site& at = site();
  std::string input = "a";
  input += '\0';
  input += "\xff{}'";
  for (const std::string& one : {std::string(), input, std::string(20'000, 'x')}) {
    const InstanceKey key = create(at, "i" + std::to_string(one.size()), one);
    Item item;
    ASSERT_EQ(fetch(at, key, item), Status::kOk);
    ASSERT_EQ(item.is.message_count, 1U);
    EXPECT_EQ(item.is.messages[0].kind, MessageKind::kStart);
    EXPECT_EQ(item.is.messages[0].name, "irrigate");
    EXPECT_EQ(item.is.messages[0].payload, one);
    EXPECT_EQ(item.is.messages[0].execution, 1);
  }
}

TEST_P(Instances, CancelIsAMessage) {
  Site& at = site();
  const InstanceKey key = create(at, "a");
  const std::string reason(5000, 'r');
  ASSERT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance("a", reason); }),
            Status::kOk);
  Item item;
  ASSERT_EQ(fetch(at, key, item), Status::kOk);
  EXPECT_EQ(item.kinds(), (std::vector<std::string>{"start", "cancel"}));
  EXPECT_EQ(item.is.messages[1].payload, reason.substr(0, kErrorTextBytesMax));
}

TEST_P(Instances, CancelOfNoInstanceAndOfAnEndedOne) {
  Site& at = site();
  const InstanceKey key = create(at, "a");
  EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance("b", ""); }),
            Status::kNotFound);
  Item item;
  ASSERT_EQ(fetch(at, key, item), Status::kOk);
  Events events(1);
  events.add(EventKind::kStarted).name = "irrigate";
  events.add(EventKind::kEnded).end = EndKind::kCompleted;
  TurnCommit commit = turn(item, &events);
  commit.end = EndKind::kCompleted;
  ASSERT_EQ(ack(at, commit), Status::kOk);
  EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance("a", ""); }),
            Status::kStale);
}

// ---- which instance is ready, and for which worker ----

TEST_P(Instances, ReadyOnesComeInOrderOfWaiting) {
  Site& at = site();
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  const InstanceKey c = create(at, "c");
  EXPECT_EQ(ready(at), (Keys{a, b, c}));
  start(at, a);
  EXPECT_EQ(ready(at), (Keys{b, c}));
  ASSERT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance("a", ""); }),
            Status::kOk);
  EXPECT_EQ(ready(at), (Keys{b, c, a}));
}

TEST_P(Instances, SecondMessageCostsNoPlaceInTheOrder) {
  Site& at = site();
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  ASSERT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance("a", ""); }),
            Status::kOk);
  EXPECT_EQ(ready(at), (Keys{a, b}));
}

TEST_P(Instances, SkippedOnesAndTheBoundOfTheList) {
  Site& at = site();
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  const InstanceKey c = create(at, "c");
  ReadyQuery query;
  query.skip = &b;
  query.skip_count = 1;
  InstanceKey keys[2] = {};
  std::size_t count = 0;
  ASSERT_EQ(at->instance().ready.list_ready(query, keys, 2, &count), Status::kOk);
  EXPECT_EQ(Keys(keys, keys + count), (Keys{a, c}));
  ASSERT_EQ(at->instance().ready.list_ready(query, keys, 1, &count), Status::kOk);
  EXPECT_EQ(Keys(keys, keys + count), (Keys{a}));
  ASSERT_EQ(at->instance().ready.list_ready(query, keys, 0, &count), Status::kOk);
  EXPECT_EQ(count, 0U);
}

// Commits a first turn of `key` with the home `who`, and leaves the instance ready.
#define PAWL_AT_HOME(at, key, who)                          \
  do {                                                      \
    Item home_item;                                         \
    ASSERT_EQ(fetch(at, key, home_item), Status::kOk);      \
    Events home_events(1);                                  \
    home_events.add(EventKind::kStarted).name = "irrigate"; \
    TurnCommit home_turn = turn(home_item, &home_events);   \
    home_turn.home = who;                                   \
    home_turn.more = true;                                  \
    ASSERT_EQ(ack(at, home_turn), Status::kOk);             \
  } while (false)

// An instance that has more to do goes behind all that wait, so it cannot overtake others for ever.
TEST_P(Instances, ThatAreReadyWithoutAMessage_ComeInOrderOfWaiting) {
  Site& at = site();
  const Incarnation me = worker(at, "me");
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  const InstanceKey c = create(at, "c");
  const InstanceKey d = create(at, "d");
  PAWL_AT_HOME(at, b, me);
  PAWL_AT_HOME(at, a, me);
  start(at, d);
  start(at, c);
  EXPECT_EQ(ready(at, me), (Keys{b, a}));
  for (const char* id : {"d", "c"})
    ASSERT_EQ(batch(at, [&] { return at->instance().verbs.terminate_instance(id, ""); }),
              Status::kOk);
  EXPECT_EQ(ready(at, me), (Keys{b, a, d, c}));
}

TEST_P(Instances, AnotherLivingHomeHasItsGrace) {
  Site& at = site();
  const Incarnation me = worker(at, "me");
  const Incarnation other = worker(at, "other");
  const InstanceKey mine = create(at, "mine");
  const InstanceKey theirs = create(at, "theirs");
  const InstanceKey unowned = create(at, "nobodys");
  PAWL_AT_HOME(at, theirs, other);
  PAWL_AT_HOME(at, mine, me);
  EXPECT_EQ(ready(at, me), (Keys{unowned, mine}));
  EXPECT_EQ(ready(at, other), (Keys{unowned, theirs}));
  EXPECT_EQ(ready(at, 0), (Keys{unowned}));
  clock.advance(2000);
  EXPECT_EQ(ready(at, me), (Keys{unowned, mine}));
  clock.advance(1);
  EXPECT_EQ(ready(at, me), (Keys{unowned, mine, theirs}));
}

TEST_P(Instances, DeadHomeHasNoGrace) {
  Site& at = site();
  const Incarnation me = worker(at, "me");
  const Incarnation other = worker(at, "other");
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  PAWL_AT_HOME(at, a, other);
  PAWL_AT_HOME(at, b, 4711);  // this home has no row
  EXPECT_EQ(ready(at, me), (Keys{b}));
  ASSERT_EQ(
      batch(at, [&] { return at->worker().bury_worker(other, 0, nullptr, 0, CrashLimits()); }),
      Status::kOk);
  EXPECT_EQ(ready(at, me), (Keys{a, b}));
}

TEST_P(Instances, ADeathInATurnOfNothingStored_PersistsStartsFirst) {
  Site& at = site();
  const Incarnation me = worker(at, "me");
  const Incarnation other = worker(at, "other");
  CrashNote note;
  note.instance = CrashNote::kNotStored;
  BatchInfo info;
  ASSERT_EQ(at->batch().begin(me, &info), Status::kOk);
  EXPECT_FALSE(info.persist_starts_first);
  ASSERT_EQ(at->worker().bury_worker(other, 0, &note, 1, CrashLimits()), Status::kOk);
  ASSERT_EQ(at->batch().commit(), Status::kOk);
  ASSERT_EQ(at->batch().begin(me, &info), Status::kOk);
  EXPECT_TRUE(info.persist_starts_first);
  at->batch().rollback();
}

TEST_P(Instances, ThatBringTheirTurn_HaveNoMessage) {
  Site& at = site();
  const Incarnation me = worker(at, "me");
  NewInstance instance;
  instance.id = "a";
  instance.name = "code";
  instance.with_turn = true;
  InstanceKey key = 0;
  ASSERT_EQ(
      batch(at, [&] { return at->instance().deliveries.start_orchestration(instance, &key); }),
      Status::kOk);
  EXPECT_EQ(ready(at, me), Keys());
}

TEST_P(Instances, ManyHomesAreAllSeenInTurns) {
  Site& at = site();
  std::vector<bool> seen(60, false);
  for (int i = 0; i < 40; ++i) {
    const InstanceKey key = create(at, "i" + std::to_string(i));
    PAWL_AT_HOME(at, key, 1000 + i);
  }
  for (int looks = 0; looks < 6; ++looks) {
    for (const InstanceKey key : ready(at))
      seen[static_cast<std::size_t>(key)] = true;
  }
  for (std::size_t key = 1; key <= 40; ++key)
    EXPECT_TRUE(seen[key]) << key;
}

TEST_P(Instances, MoreMakesReadyWithoutAMessage) {
  Site& at = site();
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  PAWL_AT_HOME(at, a, 0);
  EXPECT_EQ(ready(at), (Keys{b, a})) << "behind those that wait";
  Item item;
  ASSERT_EQ(fetch(at, a, item), Status::kOk);
  EXPECT_EQ(item.is.message_count, 0U);
  ASSERT_EQ(ack(at, turn(item)), Status::kOk);
  EXPECT_EQ(ready(at), (Keys{b}));
}

// ---- parked and stopped ----

TEST_P(Instances, ParkedUntilItsTime) {
  Site& at = site();
  const InstanceKey key = create(at, "a");
  const auto abandon = [&](std::int64_t revision) {
    return batch(at, [&] {
      return at->instance().ready.abandon_orchestration_item(
          key, revision, 5000, true, ErrorKind::kUnregistered, "nobody knows irrigate");
    });
  };
  EXPECT_EQ(abandon(7), Status::kStale);
  ASSERT_EQ(abandon(0), Status::kOk);
  EXPECT_EQ(abandon(0), Status::kStale) << "another was first";
  EXPECT_TRUE(ready(at).empty());
  Item item;
  EXPECT_EQ(fetch(at, key, item), Status::kNotFound);
  const InstanceStatus is = status(at, "a");
  EXPECT_EQ(is.state, InstanceState::kRunning);
  EXPECT_EQ(is.error, ErrorKind::kUnregistered);
  EXPECT_EQ(is.output, "nobody knows irrigate");
  NextDue due;
  ASSERT_EQ(at->due().next_due(0, true, &due), Status::kOk);
  EXPECT_EQ(due.pawl_time, at->place().pawl_now() + 5000);
  const auto wake = [&] {
    std::size_t woken = 99;
    EXPECT_EQ(batch(at, [&] { return at->instance().ready.wake_delayed(10, &woken); }),
              Status::kOk);
    return woken;
  };
  clock.advance(4999);
  EXPECT_EQ(wake(), 0U);
  clock.advance(1);
  EXPECT_EQ(wake(), 1U);
  EXPECT_EQ(ready(at), (Keys{key}));
  ASSERT_EQ(fetch(at, key, item), Status::kOk);
  EXPECT_EQ(item.is.strikes, 1);
  // A successful turn clears the strikes and the error text.
  Events events(1);
  events.add(EventKind::kStarted).name = "irrigate";
  ASSERT_EQ(ack(at, turn(item, &events)), Status::kOk);
  EXPECT_EQ(status(at, "a").error, ErrorKind::kNone);
  ASSERT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance("a", ""); }),
            Status::kOk);
  Item next;
  ASSERT_EQ(fetch(at, key, next), Status::kOk);
  EXPECT_EQ(next.is.strikes, 0);
}

TEST_P(Instances, WakingIsBounded) {
  Site& at = site();
  for (int i = 0; i < 5; ++i) {
    const InstanceKey key = create(at, "i" + std::to_string(i));
    ASSERT_EQ(batch(at,
                    [&] {
                      return at->instance().ready.abandon_orchestration_item(key, 0, 10, false,
                                                                             ErrorKind::kNone, "");
                    }),
              Status::kOk);
  }
  clock.advance(10);
  std::size_t woken = 0;
  ASSERT_EQ(batch(at, [&] { return at->instance().ready.wake_delayed(3, &woken); }), Status::kOk);
  EXPECT_EQ(woken, 3U);
  ASSERT_EQ(batch(at, [&] { return at->instance().ready.wake_delayed(3, &woken); }), Status::kOk);
  EXPECT_EQ(woken, 2U);
}

TEST_P(Instances, StoppedOneLosesNothing) {
  Site& at = site();
  const InstanceKey key = create(at, "a");
  ASSERT_EQ(batch(at,
                  [&] {
                    return at->instance().ready.abandon_orchestration_item(
                        key, 0, kStoppedForGood, false, ErrorKind::kNondeterminism, "other code");
                  }),
            Status::kOk);
  EXPECT_EQ(status(at, "a").state, InstanceState::kStopped);
  EXPECT_EQ(status(at, "a").error, ErrorKind::kNondeterminism);
  EXPECT_EQ(status(at, "a").output, "other code");
  ASSERT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance("a", "r"); }),
            Status::kOk);
  clock.advance(std::int64_t{400} * 24 * 3600 * 1000);
  std::size_t count = 99;
  ASSERT_EQ(batch(at, [&] { return at->instance().ready.wake_delayed(10, &count); }), Status::kOk);
  EXPECT_EQ(count, 0U);
  EXPECT_TRUE(ready(at).empty());
  NextDue due;
  ASSERT_EQ(at->due().next_due(0, true, &due), Status::kOk);
  EXPECT_EQ(due.pawl_time, OptionalMs());
  ASSERT_EQ(batch(at, [&] { return at->instance().ready.retry_stopped(10, &count); }), Status::kOk);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(status(at, "a").state, InstanceState::kRunning);
  EXPECT_EQ(ready(at), (Keys{key}));
  Item item;
  ASSERT_EQ(fetch(at, key, item), Status::kOk);
  EXPECT_EQ(item.kinds(), (std::vector<std::string>{"start", "cancel"}));
}

TEST_P(Instances, TurnOfAStoppedOneIsStale) {
  Site& at = site();
  const InstanceKey key = create(at, "a");
  Item item;
  ASSERT_EQ(fetch(at, key, item), Status::kOk);
  ASSERT_EQ(batch(at,
                  [&] {
                    return at->instance().ready.abandon_orchestration_item(
                        key, 0, kStoppedForGood, false, ErrorKind::kCorrupt, "x");
                  }),
            Status::kOk);
  EXPECT_EQ(ack(at, turn(item)), Status::kStale);
}

}  // namespace
}  // namespace pawl::test
