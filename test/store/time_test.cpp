// Goal: a timer fires once, when it is due by the clock of the transaction that takes it, through
// reboots, cuts and wrong wall clocks; and a caller that asks when to wake up gets an answer that
// is neither too late nor fruitless. Nothing here sleeps: the test moves the clock.
#include <algorithm>

#include "pawl/visit.hpp"
#include "store_world.hpp"

namespace pawl::test {
namespace {

using Keys = std::vector<InstanceKey>;
using Strings = std::vector<std::string>;
constexpr std::int64_t kHour = 3'600'000;
constexpr std::int64_t kDay = 24 * kHour;

class Time : public OpenStore {
 protected:
  // The first timer is in the row of the instance. In tests of the suite InQueue that is one that
  // never fires, so that all others are messages.
  InstanceKey with_timers(Site& by, std::string_view id, std::vector<NewTimer> timers) {
    const InstanceKey key = create(by, id);
    const std::string_view suite =
        ::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
    if (suite.substr(0, 7) == "InQueue") timers.insert(timers.begin(), after(INT64_MAX, 99));
    start(by, key, timers);
    return key;
  }
  static NewTimer after(std::int64_t ms, EventId event = 2) {
    return {event, TimerBase::kPawlTime, ms};
  }
  static NewTimer utc(std::int64_t ms, EventId event = 2) { return {event, TimerBase::kUtc, ms}; }
  NextDue next(Site& by, Incarnation me = 0) {
    NextDue due;
    EXPECT_EQ(by->due().next_due(me, true, &due), Status::kOk) << by->diagnostic().text();
    return due;
  }
  std::vector<EventId> refs(const Item& item) {
    std::vector<EventId> refs;
    for (std::size_t i = 0; i < item.is.message_count; ++i)
      refs.push_back(item.is.messages[i].ref);
    return refs;
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, Time, ::testing::Values(Ports::kSim, Ports::kPosix), ports_name);
INSTANTIATE_TEST_SUITE_P(InQueue, Time, ::testing::Values(Ports::kSim), ports_name);

TEST_P(Time, TimerFiresWhenDueAndOnce) {
  const InstanceKey key = with_timers(at, "a", {after(1000)});
  const std::int64_t due = at->place().pawl_now() + 1000;
  EXPECT_EQ(next(at).pawl_time, due);
  EXPECT_EQ(at->place().boot_ms_of(due), clock.boot + 1000);
  clock.advance(999);
  EXPECT_TRUE(ready(at).empty());
  const Item& early = fetched(at, key);
  EXPECT_EQ(early.is.message_count, 0U);
  clock.advance(1);
  EXPECT_EQ(ready(at), Keys{key});
  const Item& item = fetched(at, key);
  ASSERT_EQ(item.kinds(), Strings{"timer_fired"});
  EXPECT_EQ(item.is.messages[0].ref, 2U);
  acked(at, turn(item));
  EXPECT_TRUE(ready(at).empty());
  EXPECT_EQ(next(at).pawl_time, OptionalMs());
}

// Rules: T4.
TEST_P(Time, DueIsTestedAgainInTheTransaction) {
  const InstanceKey key = with_timers(at, "a", {after(1000)});
  // This look uses a clock that runs ahead; the commit uses the right one.
  Item item;
  ASSERT_EQ(at->instance().history.fetch_orchestration_item(key, at->place().pawl_now() + 5000,
                                                            {16}, item.arena, &item.is),
            Status::kOk);
  ASSERT_EQ(item.is.message_count, 1U);
  const std::string before = dump();
  EXPECT_EQ(ack(at, turn(item)), Status::kStale);
  EXPECT_EQ(dump(), before);
  clock.advance(1000);
  acked(at, turn(item));
}

TEST_P(Time, WallClockIsTestedAgainInTheTransaction) {
  const InstanceKey key = with_timers(at, "a", {utc(kWall2040 + 1000)});
  clock.advance(1000);
  const Item& item = fetched(at, key);
  ASSERT_EQ(item.is.message_count, 1U);
  clock.wall -= kHour;  // the wall is set back before the commit
  EXPECT_EQ(ack(at, turn(item)), Status::kStale);
  clock.wall += kHour;
  acked(at, turn(item));
}

TEST_P(Time, DueOnesComeInOrderBehindWaitingMessages) {
  const InstanceKey key = with_timers(
      at, "a", {after(3000, 2), after(1000, 3), utc(kWall2040 + 2000, 4), after(1000, 5)});
  clock.advance(3000);
  cancel(at, "a", "");
  const Item& item = fetched(at, key);
  EXPECT_EQ(refs(item), (std::vector<EventId>{0, 3, 5, 4, 2}));
  const Item& first = fetched(at, key, 2);
  EXPECT_EQ(refs(first), (std::vector<EventId>{0, 3}));
  EXPECT_TRUE(first.is.more_messages);
}

TEST_P(Time, DueTimersComeFirstAndInOrder) {
  const InstanceKey late = with_timers(at, "late", {after(2000)});
  const InstanceKey early = with_timers(at, "early", {after(1000)});
  const InstanceKey message = create(at, "message");
  clock.advance(2000);
  EXPECT_EQ(ready(at), (Keys{early, late, message}));
}

// A timer with a negative delay does not overtake one that was made before it (T5).
TEST_P(Time, DelayBelowZeroIsZero) {
  const InstanceKey key = with_timers(at, "a", {after(0, 2), after(-5, 3)});
  const Item& item = fetched(at, key);
  EXPECT_EQ(refs(item), (std::vector<EventId>{2, 3}));
}

TEST_P(Time, DelayIsNeverNegativeNorOverflows) {
  const InstanceKey key =
      with_timers(at, "a", {after(-5, 2), after(INT64_MAX, 3), utc(INT64_MAX, 4), utc(-1, 5)});
  EXPECT_EQ(ready(at), Keys{key});
  const Item& item = fetched(at, key);
  EXPECT_EQ(refs(item), (std::vector<EventId>{5, 2}));
  acked(at, turn(item));
  EXPECT_EQ(next(at).pawl_time, OptionalMs()) << "never is no time to wake up";
  clock.advance(kDay * 365 * 100);
  EXPECT_TRUE(ready(at).empty());
}

TEST_P(Time, TimersOfParkedInstancesWaitWithThem) {
  const InstanceKey key = with_timers(at, "a", {after(1000)});
  park(at, key, 1, 5000);
  const std::int64_t until = at->place().pawl_now() + 5000;
  EXPECT_EQ(next(at).pawl_time, until);
  clock.advance(2000);
  EXPECT_TRUE(ready(at).empty());
  EXPECT_EQ(next(at).pawl_time, until) << "nothing to wake up for before";
}

TEST_P(Time, TimersOfAnotherHomeWaitForTheGrace) {
  const Incarnation me = worker(at, "me");
  const Incarnation other = worker(at, "other");
  const InstanceKey key = create(at, "a");
  const Item& item = fetched(at, key);
  Events events = begun();
  const NewTimer timer = after(1000);
  TurnCommit commit = turn(item, &events);
  commit.timers = {&timer, 1};
  commit.home = other;
  acked(at, commit);
  const std::int64_t due = at->place().pawl_now() + 1000;
  EXPECT_EQ(next(at, other).pawl_time, due);
  EXPECT_EQ(next(at, me).pawl_time, due + 2001);
  clock.advance(1000);
  EXPECT_EQ(ready(at, other), Keys{key});
  EXPECT_TRUE(ready(at, me).empty());
  clock.advance(2001);
  EXPECT_EQ(ready(at, me), Keys{key});
}

// ---- wall clocks ----

// Rules: T9.
TEST_P(Time, StampsAreOfThisCentury) {
  const BatchInfo info = touch(at);
  EXPECT_EQ(info.stamp_ms, kWall2040);
  EXPECT_TRUE(info.utc_known);
  EXPECT_EQ(info.utc_ms, kWall2040);
  EXPECT_TRUE(info.clock_adopted);
  EXPECT_TRUE(info.clock_synced);
  EXPECT_EQ(info.boot_seq, 1);
  EXPECT_EQ(info.now, 0);
  clock.advance(5);
  const BatchInfo second = touch(at);
  EXPECT_FALSE(second.clock_adopted);
  EXPECT_FALSE(second.clock_synced);
  EXPECT_TRUE(second.clock_confirmed);
  EXPECT_EQ(second.now, 5);
}

// Rules: T4.
TEST_P(Time, UtcTimerWaitsForATrustedClock) {
  clock.trusted = false;
  clock.wall = 0;  // the year 1970
  const InstanceKey key = with_timers(at, "a", {utc(kWall2040)});
  EXPECT_TRUE(next(at).waiting_for_utc);
  EXPECT_EQ(next(at).pawl_time, OptionalMs());
  clock.advance(kDay);
  EXPECT_TRUE(ready(at).empty());
  clock.wall = kWall2040 - 1000;
  EXPECT_TRUE(touch(at).stamp_ms < kWall2040) << "not trusted yet, but shown";
  clock.trusted = true;
  EXPECT_TRUE(touch(at).clock_synced);
  EXPECT_FALSE(next(at).waiting_for_utc);
  EXPECT_EQ(next(at).pawl_time, at->place().pawl_now() + 1000);
  EXPECT_TRUE(ready(at).empty());
  clock.advance(1000);
  EXPECT_EQ(ready(at), Keys{key});
}

TEST_P(Time, StepsOfTheWallDoNothingToDurations) {
  const InstanceKey key = with_timers(at, "a", {after(kHour)});
  for (const std::int64_t step : {kDay, -2 * kDay, kDay * 3650}) {
    clock.wall += step;
    touch(at);
    EXPECT_TRUE(ready(at).empty());
  }
  clock.advance(kHour);
  EXPECT_EQ(ready(at), Keys{key});
  EXPECT_EQ(raw_text("SELECT kind FROM clock_ring ORDER BY seq"),
            "adopted\nsynced\nstepped\nstepped\nstepped");
}

TEST_P(Time, DriftOfAFewMsWritesNothingItself) {
  touch(at);
  const std::string before = raw_text("SELECT * FROM meta");
  clock.advance(100);
  clock.wall += 3;
  touch(at);
  EXPECT_EQ(raw_text("SELECT * FROM meta"), before);
  clock.advance(2000);
  create(at, "a");
  // The offset was written together with the mark, in a commit that happened anyway.
  EXPECT_EQ(raw_number("SELECT mark FROM meta"), 2100);
  EXPECT_EQ(raw_number("SELECT off FROM meta"), kWall2040 + 3);
}

TEST_P(Time, MarksArePiggybackedAtMostOnceASecond) {
  touch(at);
  clock.advance(1000);
  create(at, "a");
  EXPECT_EQ(raw_number("SELECT mark FROM meta"), 0);
  clock.advance(1);
  create(at, "b");
  EXPECT_EQ(raw_number("SELECT mark FROM meta"), 1001);
}

// ---- reboots ----

TEST_P(Time, RebootKeepsPawlTimeAndASyncCreditsTheGap) {
  const InstanceKey key = with_timers(at, "a", {after(10 * kHour)});
  clock.advance(kHour);
  create(at, "marker");  // its commit writes the mark
  const std::int64_t marked = at->place().pawl_now();
  clock.reboot(4 * kHour);
  BatchInfo info = touch(at);
  EXPECT_TRUE(info.clock_adopted);
  EXPECT_EQ(info.boot_seq, 2);
  EXPECT_EQ(info.now, marked + clock.boot) << "goes on from the mark, uptime counted";
  EXPECT_EQ(info.clock_credit_ms, 0);
  EXPECT_EQ(next(at).pawl_time, 10 * kHour);
  // Now the clock is right: the time without power is credited.
  clock.trusted = true;
  info = touch(at);
  EXPECT_TRUE(info.clock_synced);
  // The gap is the off time less the uptime before this look, which has already counted.
  EXPECT_EQ(info.clock_credit_ms, 4 * kHour - clock.boot);
  EXPECT_EQ(next(at).pawl_time, 10 * kHour - info.clock_credit_ms);
  EXPECT_EQ(touch(at).clock_credit_ms, 0) << "once a boot";
  clock.advance(5 * kHour);
  EXPECT_EQ(ready(at).front(), key);
  EXPECT_EQ(raw_text("SELECT kind FROM clock_ring ORDER BY seq"),
            "adopted\nsynced\nadopted\nsynced\ncredited");
}

TEST_P(Time, CreditIsForOlderTimersAndOnce) {
  Site& other = site();
  with_timers(at, "old", {after(10 * kHour)});
  clock.advance(2000);
  create(at, "marker");
  clock.reboot(kHour);
  touch(at);
  with_timers(at, "young", {after(10 * kHour)});
  const std::int64_t young_due = at->place().pawl_now() + 10 * kHour;
  clock.trusted = true;
  const std::int64_t credit = touch(other).clock_credit_ms;
  EXPECT_GT(credit, 0);
  EXPECT_EQ(touch(at).clock_credit_ms, 0);
  EXPECT_EQ(raw_text("SELECT due FROM orchestrator_queue WHERE due IS NOT NULL UNION ALL SELECT "
                     "timer_due FROM instances WHERE timer_due<9223372036854775807 ORDER BY 1"),
            std::to_string(10 * kHour - credit) + "\n" + std::to_string(young_due));
  // A credited row is still intact.
  clock.advance(10 * kHour);
  const Item& item = fetched(at, 1);
  EXPECT_EQ(item.is.broken, Status::kOk);
  EXPECT_EQ(item.is.message_count, 1U);
}

TEST_P(Time, RolledBackCreditIsGivenLater) {
  with_timers(at, "old", {after(10 * kHour)});
  clock.advance(2000);
  create(at, "marker");
  clock.reboot(kHour);
  clock.trusted = true;
  BatchInfo info;
  ASSERT_EQ(at->batch().begin(0, &info), Status::kOk);
  EXPECT_GT(info.clock_credit_ms, 0);
  at->batch().rollback();
  EXPECT_EQ(raw_number("SELECT boot_seq FROM meta"), 1);
  const BatchInfo again = touch(at);
  EXPECT_EQ(again.clock_credit_ms, info.clock_credit_ms);
  EXPECT_TRUE(again.clock_adopted);
}

TEST_P(Time, GapThatCannotBeIsRefused) {
  with_timers(at, "old", {after(10 * kHour)});
  clock.advance(2000);
  create(at, "marker");
  clock.reboot(-kDay);  // the wall clock went back
  clock.trusted = true;
  EXPECT_EQ(touch(at).clock_credit_ms, 0);
  clock.advance(2000);
  create(at, "marker2");
  clock.reboot(401 * kDay);
  clock.trusted = true;
  EXPECT_EQ(touch(at).clock_credit_ms, 0);
  EXPECT_EQ(raw_number("SELECT count(*) FROM clock_ring WHERE kind='refused'"), 2);
  EXPECT_EQ(next(at).pawl_time, 10 * kHour);
}

TEST_P(Time, RingKeepsTheLast64) {
  touch(at);
  for (int i = 0; i < 100; ++i) {
    clock.wall += kHour;
    touch(at);
  }
  EXPECT_EQ(raw_number("SELECT count(*) FROM clock_ring"), 64);
  EXPECT_EQ(raw_number("SELECT max(seq)-min(seq) FROM clock_ring"), 63);
  EXPECT_EQ(raw_number("SELECT max(seq) FROM clock_ring"), 102);
}

TEST_P(Time, ReaderLearnsOfASyncByAnother) {
  clock.trusted = false;
  Site& other = site();
  const InstanceKey key = with_timers(at, "a", {utc(kWall2040 + 10)});
  clock.trusted = true;
  touch(other);
  clock.advance(10);
  EXPECT_EQ(ready(at), Keys{key});
}

// ---- the place in the row of the instance ----

class TimerPlace : public Time {
 protected:
  // Which timers are where: "row: REF, queue: REF REF".
  std::string places() {
    std::string queue =
        raw_text("SELECT ref FROM orchestrator_queue WHERE due IS NOT NULL ORDER BY id");
    std::replace(queue.begin(), queue.end(), '\n', ' ');
    return "row: " + raw_text("SELECT coalesce(CAST(timer_ref AS TEXT),'none') FROM instances") +
           ", queue: " + queue;
  }
  // Commits a turn that takes all messages, closes `closed` and makes `timers`.
  void go_on(InstanceKey key, const std::vector<NewTimer>& timers,
             const std::vector<EventId>& closed) {
    const Item& item = fetched(at, key);
    TurnCommit commit = turn(item);
    commit.timers = {timers.data(), timers.size()};
    commit.closed = {closed.data(), closed.size()};
    acked(at, commit);
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, TimerPlace, ::testing::Values(Ports::kSim), ports_name);

TEST_P(TimerPlace, TheFirstTimerHasIt) {
  with_timers(at, "a", {after(1000, 2), after(500, 3), utc(kWall2040 + 100, 4)});
  EXPECT_EQ(places(), "row: 2, queue: 3 4");
  EXPECT_EQ(raw_number("SELECT timer_due FROM instances"), at->place().pawl_now() + 1000);
}

// A timer that fires, or is closed, leaves it to one that the same turn makes; the next ones go to
// the queue.
TEST_P(TimerPlace, ItIsFreeForTheNextOne) {
  const InstanceKey key = with_timers(at, "a", {after(1000, 2)});
  clock.advance(1000);
  go_on(key, {after(1000, 5), after(1000, 6)}, {});
  EXPECT_EQ(places(), "row: 5, queue: 6");
  go_on(key, {after(1000, 8)}, {5});
  EXPECT_EQ(places(), "row: 8, queue: 6");
  go_on(key, {after(1000, 10)}, {6});
  EXPECT_EQ(places(), "row: 8, queue: 10");
  go_on(key, {}, {8});
  EXPECT_EQ(places(), "row: none, queue: 10");
  go_on(key, {after(1000, 12), after(1000, 13)}, {12});
  EXPECT_EQ(places(), "row: 13, queue: 10") << "made and closed in one turn leaves nothing";
  clock.advance(1000);
  const Item& item = fetched(at, key);
  EXPECT_EQ(refs(item), (std::vector<EventId>{10, 13}));
  acked(at, turn(item));
  EXPECT_EQ(places(), "row: none, queue: ");
  EXPECT_EQ(next(at).pawl_time, OptionalMs());
}

TEST_P(TimerPlace, ItIsCountedAndShown) {
  clock.trusted = false;
  with_timers(at, "a", {utc(kWall2040, 2), utc(kWall2040, 3), after(1000, 4)});
  Metrics metrics;
  ASSERT_EQ(at->instance().directory.get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.timers_waiting, 3);
  std::int64_t waiting = 0;
  auto look = visit([&](const InstanceInfo& info) { waiting = info.timers_without_clock; });
  ASSERT_EQ(at->instance().directory.get_instance_info("a", look), Status::kOk);
  EXPECT_EQ(waiting, 2);
}

// An execution ends with its timers, however it ends.
TEST_P(TimerPlace, ItIsFreeBehindAnEnd) {
  for (const EndKind end_kind : {EndKind::kCompleted, EndKind::kFailed, EndKind::kContinuedAsNew}) {
    const std::string id = std::to_string(static_cast<int>(end_kind));
    const InstanceKey key = with_timers(at, id, {after(1000, 2), after(1000, 3)});
    end(at, key, end_kind);
    EXPECT_EQ(raw_number("SELECT count(*) FROM instances WHERE timer_id IS NOT NULL"), 0) << id;
    EXPECT_EQ(next(at).pawl_time, OptionalMs()) << id;
  }
}

// The timers of one that no process can run become messages, in the order of T4.
TEST_P(TimerPlace, ItFiresInOrderWhereItCannotRun) {
  const InstanceKey key =
      with_timers(at, "a", {after(1000, 2), after(500, 3), after(1500, 4), after(9000, 5)});
  clock.advance(2000);
  UnregisteredInstances none;
  ReadyQuery query;
  query.now = at->place().pawl_now();
  const Runnable other = {"other", "", 0};
  query.runnable = &other;
  query.runnable_count = 1;
  query.unregistered = &none;
  InstanceKey listed[4];
  std::size_t count = 0;
  query.now += 10'000;
  ASSERT_EQ(at->instance().ready.list_ready(query, listed, 4, &count), Status::kOk);
  ASSERT_EQ(none.count, 1U);
  ASSERT_EQ(batch(at, [&] { return at->instance().ready.mark_unregistered(key, query); }),
            Status::kOk);
  EXPECT_EQ(places(), "row: none, queue: 5");
  EXPECT_EQ(refs(fetched(at, key)), (std::vector<EventId>{3, 2, 4}));
}

// One instance with a wrong value there stops, and no other.
TEST_P(TimerPlace, AWrongValueStopsItsInstanceAlone) {
  for (const char* wrong : {"timer_due='x'", "timer_due=x'00'", "timer_base=7", "timer_ref='x'",
                            "timer_ref=0", "timer_id='x'", "timer_base=NULL"}) {
    const std::string id = std::string("wrong ") + wrong;
    const InstanceKey key = with_timers(at, id, {after(1000, 2)});
    const InstanceKey good = with_timers(at, "good " + id, {after(1000, 2)});
    raw("UPDATE instances SET " + std::string(wrong) + " WHERE key=" + std::to_string(key));
    clock.advance(1000);
    for (int looks = 0; looks < 3; ++looks) {
      static_cast<void>(ready(at));
      static_cast<void>(next(at));
    }
    const Keys keys = ready(at);
    EXPECT_NE(std::find(keys.begin(), keys.end(), good), keys.end()) << wrong;
    Item item;
    if (fetch(at, key, item) == Status::kOk) {
      EXPECT_EQ(item.is.broken, Status::kCorrupt) << wrong;
    }
    acked(at, turn(fetched(at, good)));
  }
}

}  // namespace
}  // namespace pawl::test
