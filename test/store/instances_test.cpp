// Goal: instances are made once, found, cancelled, parked, stopped and woken; and the rules of
// homes, in the order of waiting, say which worker may run which instance.
#include <algorithm>
#include <set>
#include <string>

#include "store_world.hpp"

namespace pawl::test {
namespace {

using Keys = std::vector<InstanceKey>;

class Instances : public OpenStore {
 protected:
  // Commits a first turn with this home, and leaves the instance ready.
  void begin_at(InstanceKey key, Incarnation home, Here here = {}) {
    const Events events = begun();
    TurnCommit first = turn(fetched(at, key, 16, here), &events);
    first.home = home;
    first.more = true;
    acked(at, first, here);
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, Instances, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

TEST_P(Instances, StatusOfAFreshOne) {
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
  must_batch(other, [&] {
    EXPECT_EQ(other->instance().deliveries.start_orchestration(again, &other_key),
              Status::kAlreadyExists);
    NewInstance beside = again;
    beside.id = "b";
    return other->instance().deliveries.start_orchestration(beside, &other_key);
  });
  EXPECT_EQ(status(other, "b").state, InstanceState::kRunning);
  const Item& item = fetched(other, key);
  EXPECT_EQ(item.is.name, "irrigate");
  ASSERT_EQ(item.is.message_count, 1U);
  EXPECT_EQ(item.is.messages[0].payload, "first");
}

TEST_P(Instances, NamesHaveBounds) {
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
  std::string input = "a";
  input += '\0';
  input += "\xff{}'";
  for (const std::string& one : {std::string(), input, std::string(20'000, 'x')}) {
    const InstanceKey key = create(at, "i" + std::to_string(one.size()), one);
    const Item& item = fetched(at, key);
    ASSERT_EQ(item.is.message_count, 1U);
    EXPECT_EQ(item.is.messages[0].kind, MessageKind::kStart);
    EXPECT_EQ(item.is.messages[0].name, "irrigate");
    EXPECT_EQ(item.is.messages[0].payload, one);
    EXPECT_EQ(item.is.messages[0].execution, 1);
  }
}

TEST_P(Instances, CancelIsAMessage) {
  const InstanceKey key = create(at, "a");
  const std::string reason(5000, 'r');
  cancel(at, "a", reason);
  const Item& item = fetched(at, key);
  EXPECT_EQ(item.kinds(), (std::vector<std::string>{"start", "cancel"}));
  EXPECT_EQ(item.is.messages[1].payload, reason.substr(0, kErrorTextBytesMax));
}

TEST_P(Instances, CancelOfNoInstanceAndOfAnEndedOne) {
  const InstanceKey key = create(at, "a");
  EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance("b", ""); }),
            Status::kNotFound);
  const Item& item = fetched(at, key);
  Events events = begun();
  events.add(EventKind::kEnded).end = EndKind::kCompleted;
  TurnCommit commit = turn(item, &events);
  commit.end = EndKind::kCompleted;
  acked(at, commit);
  EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance("a", ""); }),
            Status::kStale);
}

// ---- which instance is ready, and for which worker ----

TEST_P(Instances, ReadyOnesComeInOrderOfWaiting) {
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  const InstanceKey c = create(at, "c");
  EXPECT_EQ(ready(at), (Keys{a, b, c}));
  start(at, a);
  EXPECT_EQ(ready(at), (Keys{b, c}));
  cancel(at, "a", "");
  EXPECT_EQ(ready(at), (Keys{b, c, a}));
}

TEST_P(Instances, SecondMessageCostsNoPlaceInTheOrder) {
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  cancel(at, "a", "");
  EXPECT_EQ(ready(at), (Keys{a, b}));
}

TEST_P(Instances, SkippedOnesAndTheBoundOfTheList) {
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

// Two that list at the same time begin with other instances, but for the oldest ones.
TEST_P(Instances, OfWhichMoreAreReadyThanAListHolds_AreShared) {
  const Incarnation workers[] = {turn_worker(at, "a"), turn_worker(at, "b")};
  for (int i = 0; i < 40; ++i)
    create(at, "i" + std::to_string(i));
  std::set<InstanceKey> all;
  for (const Incarnation me : workers) {
    ReadyQuery query;
    query.me = me;
    InstanceKey keys[16] = {};
    std::size_t count = 0;
    ASSERT_EQ(at->instance().ready.list_ready(query, keys, 16, &count), Status::kOk);
    EXPECT_EQ(count, 16U);
    all.insert(keys, keys + count);
    ASSERT_EQ(at->instance().ready.list_ready(query, keys, 10, &count), Status::kOk);
    EXPECT_EQ(std::count(keys, keys + count, *all.begin()), 1) << "the oldest is in each list";
  }
  EXPECT_GE(all.size(), 26U);
}

// An instance that has more to do goes behind all that wait, so it cannot overtake others for ever.
TEST_P(Instances, ThatAreReadyWithoutAMessage_ComeInOrderOfWaiting) {
  const Incarnation me = worker(at, "me");
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  const InstanceKey c = create(at, "c");
  const InstanceKey d = create(at, "d");
  begin_at(b, me);
  begin_at(a, me);
  start(at, d);
  start(at, c);
  EXPECT_EQ(ready(at, me), (Keys{b, a}));
  for (const char* id : {"d", "c"})
    must_batch(at, [&] { return at->instance().verbs.terminate_instance(id, ""); });
  EXPECT_EQ(ready(at, me), (Keys{b, a, d, c}));
}

TEST_P(Instances, AnotherLivingHomeHasItsGrace) {
  const Incarnation me = worker(at, "me");
  const Incarnation other = worker(at, "other");
  const InstanceKey mine = create(at, "mine");
  const InstanceKey theirs = create(at, "theirs");
  const InstanceKey unowned = create(at, "unowned");
  begin_at(theirs, other);
  begin_at(mine, me);
  EXPECT_EQ(ready(at, me), (Keys{unowned, mine}));
  EXPECT_EQ(ready(at, other), (Keys{unowned, theirs}));
  EXPECT_EQ(ready(at, 0), (Keys{unowned}));
  clock.advance(2000);
  EXPECT_EQ(ready(at, me), (Keys{unowned, mine}));
  clock.advance(1);
  EXPECT_EQ(ready(at, me), (Keys{unowned, mine, theirs}));
}

TEST_P(Instances, DeadHomeHasNoGrace) {
  const Incarnation me = worker(at, "me");
  const Incarnation other = worker(at, "other");
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  begin_at(a, other);
  begin_at(b, 4711);  // this home has no row
  EXPECT_EQ(ready(at, me), (Keys{b}));
  must_batch(at, [&] { return at->worker().bury_worker(other, 0, nullptr, 0, CrashLimits()); });
  EXPECT_EQ(ready(at, me), (Keys{a, b}));
}

TEST_P(Instances, ADeathInATurnOfNothingStored_PersistsStartsFirst) {
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
  const Incarnation me = worker(at, "me");
  NewInstance instance;
  instance.id = "a";
  instance.name = "code";
  instance.with_turn = true;
  create(at, instance);
  EXPECT_EQ(ready(at, me), Keys());
}

TEST_P(Instances, ManyHomesAreAllSeenInTurns) {
  std::set<InstanceKey> made;
  for (int i = 0; i < 40; ++i) {
    const InstanceKey key = create(at, "i" + std::to_string(i));
    begin_at(key, 1000 + i);
    made.insert(key);
  }
  std::set<InstanceKey> seen;
  for (int looks = 0; looks < 6; ++looks) {
    for (const InstanceKey key : ready(at))
      seen.insert(key);
  }
  EXPECT_EQ(seen, made);
}

TEST_P(Instances, MoreMakesReadyWithoutAMessage) {
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  begin_at(a, 0);
  EXPECT_EQ(ready(at), (Keys{b, a})) << "behind those that wait";
  const Item& item = fetched(at, a);
  EXPECT_EQ(item.is.message_count, 0U);
  acked(at, turn(item));
  EXPECT_EQ(ready(at), (Keys{b}));
}

// ---- parked and stopped ----

TEST_P(Instances, ParkedUntilItsTime) {
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
  clock.advance(4999);
  EXPECT_EQ(wake_delayed(at), 0U);
  clock.advance(1);
  EXPECT_EQ(wake_delayed(at), 1U);
  EXPECT_EQ(ready(at), (Keys{key}));
  ASSERT_EQ(fetch(at, key, item), Status::kOk);
  EXPECT_EQ(item.is.strikes, 1);
  // A successful turn clears the strikes and the error text.
  Events events = begun();
  acked(at, turn(item, &events));
  EXPECT_EQ(status(at, "a").error, ErrorKind::kNone);
  cancel(at, "a", "");
  const Item& next = fetched(at, key);
  EXPECT_EQ(next.is.strikes, 0);
}

TEST_P(Instances, WakingIsBounded) {
  for (int i = 0; i < 5; ++i) {
    const InstanceKey key = create(at, "i" + std::to_string(i));
    park(at, key, 0, 10);
  }
  clock.advance(10);
  EXPECT_EQ(wake_delayed(at, 3), 3U);
  EXPECT_EQ(wake_delayed(at, 3), 2U);
}

TEST_P(Instances, StoppedOneLosesNothing) {
  const InstanceKey key = create(at, "a");
  park(at, key, 0, kStoppedForGood, ErrorKind::kNondeterminism, "other code");
  EXPECT_EQ(status(at, "a").state, InstanceState::kStopped);
  EXPECT_EQ(status(at, "a").error, ErrorKind::kNondeterminism);
  EXPECT_EQ(status(at, "a").output, "other code");
  cancel(at, "a");
  clock.advance(std::int64_t{400} * 24 * 3600 * 1000);
  EXPECT_EQ(wake_delayed(at), 0U);
  EXPECT_TRUE(ready(at).empty());
  NextDue due;
  ASSERT_EQ(at->due().next_due(0, true, &due), Status::kOk);
  EXPECT_EQ(due.pawl_time, OptionalMs());
  EXPECT_EQ(retry_stopped(at), 1U);
  EXPECT_EQ(status(at, "a").state, InstanceState::kRunning);
  EXPECT_EQ(ready(at), (Keys{key}));
  const Item& item = fetched(at, key);
  EXPECT_EQ(item.kinds(), (std::vector<std::string>{"start", "cancel"}));
}

TEST_P(Instances, TurnOfAStoppedOneIsStale) {
  const InstanceKey key = create(at, "a");
  const Item& item = fetched(at, key);
  park(at, key, 0, kStoppedForGood, ErrorKind::kCorrupt, "x");
  EXPECT_EQ(ack(at, turn(item)), Status::kStale);
}

}  // namespace
}  // namespace pawl::test
