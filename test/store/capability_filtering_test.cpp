// Which instances a process is given, by name, version and behaviour of the engine, and that
// unregistered instances do not block others. The tests named test_* are the validations of these
// filters in docs/model/storage.md. There a filter is a range of versions, parsed from JSON; in
// Pawl it is a list of kinds. Where a test is about ranges or JSON, its nearest counterpart says
// what holds instead.
#include "store_world.hpp"

namespace pawl::test {
namespace {

class Capability : public OpenStore {
 protected:
  using Kinds = std::vector<Runnable>;

  // Returns the keys from list_ready(), and sets `unregistered`.
  std::vector<InstanceKey> list(Site& by, const Kinds& kinds, Incarnation me = 0,
                                std::size_t capacity = 64) {
    std::vector<Runnable> given = kinds;
    given.reserve(1);  // the pointer of an empty list must not be null
    query = ReadyQuery();
    query.me = me;
    query.now = by->place().pawl_now();
    query.runnable = given.data();
    query.runnable_count = given.size();
    query.unregistered = &unregistered;
    unregistered = UnregisteredInstances();
    std::vector<InstanceKey> keys(capacity);
    std::size_t count = 0;
    EXPECT_EQ(by->instance().ready.list_ready(query, keys.data(), capacity, &count), Status::kOk)
        << by->diagnostic().text();
    keys.resize(count);
    return keys;
  }
  // Marks the unregistered instances that list() met, as a tick does.
  void mark_unregistered(Site& by, const Kinds& kinds) {
    std::vector<Runnable> given = kinds;
    given.reserve(1);
    query.runnable = given.data();
    query.runnable_count = given.size();
    must_batch(by, [&] {
      for (std::size_t i = 0; i < unregistered.count; ++i)
        PAWL_TRY(by->instance().ready.mark_unregistered(unregistered.keys[i], query));
      return Status::kOk;
    });
  }
  InstanceKey create_of(Site& by, std::string_view id, std::string_view name,
                        std::string_view version = {}) {
    NewInstance instance;
    instance.id = id;
    instance.name = name;
    instance.version = version;
    instance.input = "in";
    return create(by, instance);
  }
  // Commits a turn under `behaviour` that ends as `end` says.
  void begin_under(Site& by, InstanceKey key, std::int64_t behaviour, EndKind end = EndKind::kNone,
                   std::string_view version = "1.0.0") {
    const Item& item = fetched(by, key);
    Events events(item.is.last_event + 1);
    if (item.is.last_event == 0) {
      events.add(EventKind::kStarted).name = "n";
    } else {
      events.add(EventKind::kCancelRequested);
    }
    if (end != EndKind::kNone) events.add(EventKind::kEnded).end = end;
    TurnCommit commit = turn(item, &events);
    commit.begun.behaviour = behaviour;
    if (item.is.version.view().empty()) commit.begun.version = version;
    commit.end = end;
    acked(by, commit);
  }
  std::int64_t behaviour_of(InstanceKey key) {
    return raw_number("SELECT behaviour FROM instances WHERE key=" + std::to_string(key));
  }
  // An instance with one turn under `behaviour`, and a waiting message.
  InstanceKey begun(Site& by, const std::string& id, std::int64_t behaviour) {
    const InstanceKey key = create_of(by, id, "n");
    begin_under(by, key, behaviour);
    cancel(by, id);
    return key;
  }
  static Kinds of(std::int64_t least, std::int64_t most) {
    Kinds kinds;
    for (std::int64_t i = least; i <= most; ++i)
      kinds.push_back({"n", "1.0.0", i});
    return kinds;
  }
  using Keys = std::vector<InstanceKey>;

  ReadyQuery query;
  UnregisteredInstances unregistered;
};
INSTANTIATE_TEST_SUITE_P(Ports, Capability, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

TEST_P(Capability, test_fetch_with_filter_none_returns_any_item) {
  const InstanceKey a = begun(at, "a", 7);
  const InstanceKey b = create_of(at, "b", "whatever", "9.9.9");
  EXPECT_EQ(ready(at), (Keys{a, b}));
}

TEST_P(Capability, test_fetch_with_compatible_filter_returns_item) {
  begun(at, "a", 2);
  EXPECT_EQ(list(at, of(1, 3)), (Keys{1}));
}

TEST_P(Capability, test_fetch_with_incompatible_filter_skips_item) {
  begun(at, "a", 4);
  EXPECT_EQ(list(at, of(1, 3)), Keys());
}

TEST_P(Capability, test_fetch_filter_skips_incompatible_selects_compatible) {
  const InstanceKey a = begun(at, "a", 4);
  const InstanceKey b = begun(at, "b", 2);
  EXPECT_EQ(list(at, of(1, 3)), (Keys{b}));
  EXPECT_EQ(list(at, of(4, 4)), (Keys{a}));
}

// Nothing else is done to a skipped instance: a worker that can run it does so at once.
TEST_P(Capability, test_fetch_filter_does_not_lock_skipped_instances) {
  Site& other = site();
  begun(at, "a", 4);
  list(at, of(1, 3));
  mark_unregistered(at, of(1, 3));
  EXPECT_EQ(list(other, of(4, 4)), (Keys{1}));
  const Item& item = fetched(other, 1);
  EXPECT_EQ(item.is.revision, 1);
  EXPECT_EQ(item.is.strikes + item.is.crashes + item.is.reboots, 0);
  begin_under(other, 1, 0);
}

// An instance that has not begun has no behaviour yet.
TEST_P(Capability, test_fetch_filter_null_pinned_version_always_compatible) {
  const InstanceKey a = create_of(at, "a", "n");
  const InstanceKey b = create_of(at, "b", "n", "1.0.0");
  EXPECT_EQ(list(at, {{"n", "", 0}, {"n", "1.0.0", 0}}), (Keys{a, b}));
  EXPECT_EQ(list(at, {{"n", "", 0}}), (Keys{a}));
}

TEST_P(Capability, test_fetch_filter_boundary_versions) {
  Keys keys;
  for (int i = 1; i <= 5; ++i)
    keys.push_back(begun(at, std::to_string(i), i));
  EXPECT_EQ(list(at, of(2, 4)), (Keys{keys[1], keys[2], keys[3]}));
}

TEST_P(Capability, test_pinned_version_stored_via_ack_metadata) {
  const InstanceKey key = create_of(at, "a", "n");
  EXPECT_EQ(behaviour_of(key), 0);
  begin_under(at, key, 3);
  EXPECT_EQ(behaviour_of(key), 3);
  EXPECT_EQ(raw_text("SELECT version FROM instances"), "1.0.0");
}

TEST_P(Capability, test_pinned_version_immutable_across_ack_cycles) {
  const InstanceKey key = begun(at, "a", 3);
  begin_under(at, key, 0);
  EXPECT_EQ(behaviour_of(key), 3);
  cancel(at, "a");
  begin_under(at, key, 0, EndKind::kCompleted);
  EXPECT_EQ(behaviour_of(key), 3);
}

TEST_P(Capability, test_continue_as_new_execution_gets_own_pinned_version) {
  const InstanceKey key = begun(at, "a", 3);
  begin_under(at, key, 0, EndKind::kContinuedAsNew);
  EXPECT_EQ(behaviour_of(key), 0);
  EXPECT_EQ(raw_text("SELECT version FROM instances"), "") << "chosen anew";
  begin_under(at, key, 4);
  EXPECT_EQ(behaviour_of(key), 4);
}

// Under behaviour 1 a cancel request ends with its execution (R8.7, R8.8).
TEST_P(Capability, the_request_of_a_stopped_instance_that_is_restarted_goes_on_since_behaviour_2) {
  for (const std::int64_t behaviour : {std::int64_t{1}, std::int64_t{2}}) {
    const std::string id = std::to_string(behaviour);
    const InstanceKey key = begun(at, id, behaviour);
    begin_under(at, key, 0);
    cancel(at, id);  // a second request, which has no effect
    raw("UPDATE instances SET state=3,parked_until=9223372036854775807 WHERE key=" +
        std::to_string(key));
    const Restart how{id, RestartFrom::kStart, "ann", {}};
    must_batch(at, [&] { return at->instance().verbs.restart_instance(how); });
    const Item& item = fetched(at, key);
    ASSERT_EQ(item.kinds().at(0), "restart");
    EXPECT_EQ(item.is.messages[0].error,
              behaviour == 1 ? ErrorKind::kClosed : ErrorKind::kCancelled);
    ASSERT_EQ(item.kinds().size(), behaviour == 1 ? 1U : 2U);
    if (behaviour == 1) continue;
    EXPECT_EQ(item.kinds().at(1), "cancel");
    EXPECT_EQ(item.is.messages[1].execution, 2);
    EXPECT_EQ(item.is.messages[1].ref, 1U);
  }
}

TEST_P(Capability, test_filter_with_empty_supported_versions_returns_nothing) {
  begun(at, "a", 1);
  create_of(at, "b", "n");
  EXPECT_EQ(list(at, {}), Keys());
  mark_unregistered(at, {});
  EXPECT_EQ(list(at, {}), Keys());
}

// Reading locks nothing: when two processes have fetched, one commits.
TEST_P(Capability, test_concurrent_filtered_fetch_no_double_lock) {
  Site& other = site();
  const InstanceKey key = begun(at, "a", 2);
  EXPECT_EQ(list(at, of(2, 2)), (Keys{key}));
  EXPECT_EQ(list(other, of(1, 3)), (Keys{key}));
  Item first;
  Item second;
  ASSERT_EQ(fetch(at, key, first), Status::kOk);
  ASSERT_EQ(fetch(other, key, second), Status::kOk);
  Events events(2);
  events.add(EventKind::kCancelRequested);
  acked(at, turn(first, &events));
  EXPECT_EQ(ack(other, turn(second, &events)), Status::kStale);
}

// The behaviour is stored in the commit of the first turn, whatever that does.
TEST_P(Capability, test_ack_stores_pinned_version_via_metadata_update) {
  const InstanceKey key = create_of(at, "a", "n");
  begin_under(at, key, 2, EndKind::kFailed);
  EXPECT_EQ(behaviour_of(key), 2);
}

TEST_P(Capability, test_provider_updates_pinned_version_when_configured) {
  const InstanceKey key = begun(at, "a", 2);
  begin_under(at, key, 5);
  EXPECT_EQ(behaviour_of(key), 5);
}

// A process that cannot run an instance does not read its damaged history.
TEST_P(Capability, test_fetch_corrupted_history_filtered_vs_unfiltered) {
  const InstanceKey key = begun(at, "a", 2);
  raw("UPDATE history SET meta='{'");
  EXPECT_EQ(list(at, of(3, 3)), Keys());
  EXPECT_EQ(list(at, of(2, 2)), (Keys{key}));
  KeepEvents sink;
  EXPECT_EQ(at->instance().history.read_history(key, 1, 0, sink), Status::kCorrupt);
}

// A read changes no count: the instance stops, with the row in its status, until it is retried.
TEST_P(Capability, test_fetch_deserialization_error_increments_attempt_count) {
  const InstanceKey key = begun(at, "a", 2);
  raw("UPDATE history SET meta='{'");
  KeepEvents sink;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(at->instance().history.read_history(key, 1, 0, sink), Status::kCorrupt);
  EXPECT_EQ(raw_number("SELECT crashes+strikes+reboots FROM instances"), 0);
}

// The count never reaches poison: nothing is lost, and the instance goes on when the file is
// repaired.
TEST_P(Capability, test_fetch_deserialization_error_eventually_reaches_poison) {
  const InstanceKey key = begun(at, "a", 2);
  park(at, key, 1, kStoppedForGood, ErrorKind::kCorrupt, "row 1");
  EXPECT_EQ(list(at, of(2, 2)), Keys());
  EXPECT_EQ(status(at, "a").state, InstanceState::kStopped);
  retry_stopped(at, 5);
  EXPECT_EQ(list(at, of(2, 2)), (Keys{key}));
}

TEST_P(Capability, test_fetch_filter_applied_before_history_deserialization) {
  begun(at, "a", 9);
  raw("DELETE FROM history");
  EXPECT_EQ(list(at, of(1, 3)), Keys());
}

// No range has to be chosen: every kind in the list counts.
TEST_P(Capability, test_fetch_single_range_only_uses_first_range) {
  Keys keys;
  for (int i = 1; i <= 4; ++i)
    keys.push_back(begun(at, std::to_string(i), i));
  EXPECT_EQ(list(at, {{"n", "1.0.0", 4}, {"n", "1.0.0", 1}}), (Keys{keys[0], keys[3]}));
}

// An operator can end it, from any process, and none of its rows is read.
TEST_P(Capability, test_ack_appends_event_to_corrupted_history) {
  const InstanceKey key = begun(at, "a", 9);
  raw("UPDATE history SET meta='{'");
  list(at, of(1, 3));
  mark_unregistered(at, of(1, 3));
  EXPECT_EQ(list(at, of(1, 3)), Keys());
  must_batch(at, [&] { return at->instance().verbs.terminate_instance("a", "r"); });
  EXPECT_EQ(list(at, of(1, 3)), (Keys{key}));
}

// ---- unregistered instances ----

TEST_P(Capability, AFreshUnregisteredInstanceIsLeftToOthers) {
  create_of(at, "a", "other");
  list(at, of(1, 1));
  EXPECT_EQ(unregistered.count, 0U);
  EXPECT_EQ(unregistered.look_at, at->place().pawl_now() + query.home_grace_ms + 1);
  clock.advance(query.home_grace_ms + 1);
  list(at, of(1, 1));
  EXPECT_EQ(unregistered.count, 1U);
  mark_unregistered(at, of(1, 1));
  EXPECT_EQ(status(at, "a").error, ErrorKind::kUnregistered);
  list(at, of(1, 1));
  EXPECT_EQ(unregistered.count, 0U) << "met once";
  EXPECT_EQ(unregistered.look_at, OptionalMs());
  EXPECT_EQ(list(at, {{"other", "", 0}}), (Keys{1}));
}

// The next turn puts the instance back among the others, and clears the mark.
TEST_P(Capability, ATurnEndsBeingUnregistered) {
  const InstanceKey key = create_of(at, "a", "n");
  clock.advance(2'001);
  list(at, {});
  mark_unregistered(at, {});
  EXPECT_EQ(raw_number("SELECT unregistered FROM instances"), 1);
  begin_under(at, key, 1);
  EXPECT_EQ(raw_number("SELECT count(*) FROM instances WHERE unregistered IS NULL"), 1);
  EXPECT_EQ(status(at, "a").error, ErrorKind::kNone);
}

// Thousands of unregistered instances stand in front: each is met once, and the first list finds a
// known one behind them.
TEST_P(Capability, UnregisteredInstancesBlockNoOther) {
  constexpr int kMany = 3'000;
  must_batch(at, [&] {
    for (int i = 0; i < kMany; ++i) {
      NewInstance instance;
      const std::string id = "s" + std::to_string(i);
      const std::string name = "other" + std::to_string(i % 100);
      instance.id = id;
      instance.name = name;
      InstanceKey key = 0;
      PAWL_TRY(at->instance().deliveries.start_orchestration(instance, &key));
    }
    return Status::kOk;
  });
  const InstanceKey mine = create_of(at, "mine", "n");
  const Kinds kinds = {{"n", "", 0}};
  int lists = 0;
  EXPECT_EQ(list(at, kinds), (Keys{mine}));
  while (unregistered.count > 0) {
    ++lists;
    ASSERT_TRUE(unregistered.more);
    mark_unregistered(at, kinds);
    ASSERT_LT(lists, kMany / 64 + 2);
    EXPECT_EQ(list(at, kinds), (Keys{mine}));
  }
  // From then on they cost a fixed number of looks, and a worker that knows one of them finds it.
  create_of(at, "mine too", "n");
  EXPECT_EQ(list(at, kinds).size(), 2U);
  EXPECT_EQ(unregistered.count, 0U);
  EXPECT_EQ(list(at, {{"other7", "", 0}}).size(), 17U) << "16 a look, and one that stayed";
}

// A due timer of an unregistered instance becomes a message behind the existing ones, and keeps no
// runtime awake.
TEST_P(Capability, ATimerOfAnUnregisteredInstanceIsMetOnce) {
  const InstanceKey key = create(at, "a");
  start(at, key, {{2, TimerBase::kPawlTime, 10}, {3, TimerBase::kPawlTime, 5'000}});
  cancel(at, "a");
  clock.advance(3'000);
  touch(at);
  EXPECT_EQ(list(at, {}), Keys());
  ASSERT_EQ(unregistered.count, 1U);
  mark_unregistered(at, {});
  NextDue due;
  ASSERT_EQ(at->due().next_due(0, true, &due), Status::kOk);
  EXPECT_FALSE(due.pawl_time.has_passed(at->place().pawl_now()));
  list(at, {});
  EXPECT_EQ(unregistered.count, 0U);
  Item item;
  ASSERT_EQ(fetch(at, key, item), Status::kOk);
  ASSERT_EQ(item.is.message_count, 2U);
  EXPECT_EQ(item.is.messages[0].kind, MessageKind::kCancel);
  EXPECT_EQ(item.is.messages[1].kind, MessageKind::kTimerFired);
  EXPECT_EQ(item.is.messages[1].ref, 2U);
  // The second timer fires later, although the instance is already marked.
  clock.advance(3'000);
  touch(at);
  list(at, {});
  ASSERT_EQ(unregistered.count, 1U);
  mark_unregistered(at, {});
  list(at, {});
  EXPECT_EQ(unregistered.count, 0U);
  ASSERT_EQ(fetch(at, key, item), Status::kOk);
  EXPECT_EQ(item.is.message_count, 3U);
}

// Instances marked as unregistered and the others both get their share.
TEST_P(Capability, NeitherStarves) {
  for (int i = 0; i < 40; ++i)
    create_of(at, "a" + std::to_string(i), "n");
  clock.advance(2'001);
  touch(at);
  list(at, {});
  mark_unregistered(at, {});
  for (int i = 0; i < 40; ++i)
    create_of(at, "b" + std::to_string(i), "n");
  const Keys keys = list(at, {{"n", "", 0}}, 0, 8);
  ASSERT_EQ(keys.size(), 8U);
  std::size_t marked = 0;
  for (const InstanceKey key : keys)
    marked += key <= 40 ? 1U : 0U;
  EXPECT_GE(marked, 2U);
  EXPECT_LE(marked, 6U);
}

// Due timers of stopped instances do not block others either: a look meets a bounded number, each
// of them once.
TEST_P(Capability, stopped_instances_with_due_timers_block_no_other) {
  constexpr int kStopped = 100;
  const std::vector<NewTimer> timers = {{2, TimerBase::kPawlTime, 10}, {3, TimerBase::kUtc, 10}};
  for (int i = 0; i < kStopped; ++i) {
    const InstanceKey key = create(at, "stopped " + std::to_string(i));
    start(at, key, timers);
    park(at, key, 1, kStoppedForGood, ErrorKind::kLimit, "why");
  }
  clock.advance(5);
  const InstanceKey mine = create(at, "mine");
  start(at, mine, timers);
  clock.advance(20);
  const Kinds kinds = {{"irrigate", "1.0", 0}};
  EXPECT_EQ(list(at, kinds), (Keys{mine}));
  EXPECT_EQ(unregistered.count, UnregisteredInstances::kMax);
  EXPECT_TRUE(unregistered.more);
  mark_unregistered(at, kinds);
  EXPECT_EQ(list(at, kinds), (Keys{mine}));
  mark_unregistered(at, kinds);
  EXPECT_EQ(list(at, kinds), (Keys{mine}));
  EXPECT_EQ(unregistered.count, 0U);
  EXPECT_FALSE(unregistered.more);
  EXPECT_EQ(raw_number("SELECT count(*) FROM orchestrator_queue WHERE due IS NOT NULL"), 1);
  EXPECT_EQ(raw_number("SELECT count(*) FROM instances WHERE timer_due IS NOT NULL"), 1);
  // The timers have fired, and their messages are there when the instance goes on.
  retry_stopped(at, 1);
  EXPECT_EQ(list(at, kinds), (Keys{mine, 1}));
  const Item& item = fetched(at, 1);
  EXPECT_EQ(item.kinds(), (std::vector<std::string>{"timer_fired", "timer_fired"}));
}

// Deleted trees that are not removed yet do not block others either, though their timers would be
// met again and again.
TEST_P(Capability, deleted_instances_with_due_timers_block_no_other) {
  const InstanceKey key = create(at, "deleted");
  start(at, key, {{2, TimerBase::kPawlTime, 10}});
  must_batch(at, [&] { return at->instance().removal.delete_instance(key, true); });
  clock.advance(20);
  for (const Kinds& kinds : {Kinds{{"irrigate", "1.0", 0}}, Kinds{{"another", "", 0}}}) {
    EXPECT_EQ(list(at, kinds), Keys());
    mark_unregistered(at, kinds);
    EXPECT_EQ(list(at, kinds), Keys());
    EXPECT_EQ(unregistered.count, 0U);
    EXPECT_FALSE(unregistered.more);
  }
}

}  // namespace
}  // namespace pawl::test
