// Goal: a deletion takes effect for all at once and completely, however large; a late call never
// brings the instance back; nothing in use is pruned; and every transaction is bounded.
#include <algorithm>

#include "pawl/visit.hpp"
#include "store_world.hpp"

namespace pawl::test {
namespace {

using Ids = std::vector<std::string>;

class KeepInfos final : public InstanceVisitor {
 public:
  void on_instance(const InstanceInfo& info) noexcept override {
    ids.emplace_back(info.id);
    parents.emplace_back(info.parent_id);
  }
  Ids ids, parents;
};

class Removal : public OpenStore {
 protected:
  // So many executions stay, as the options of a runtime may say.
  Ending keeping(std::int64_t executions) {
    Ending how;
    how.keep_executions = executions;
    how.removed = &pruned_;
    return how;
  }
  void start_children(Site& by, const std::string& parent, const Ids& ids) {
    const Item& item = fetched(by, key_of(parent));
    Events events(item.is.last_event + 1);
    if (item.is.last_event == 0) events.add(EventKind::kStarted).name = "irrigate";
    for (const std::string& id : ids) {
      Event& start = events.add(EventKind::kChild);
      start.name = "station";
      start.session = id;
    }
    TurnCommit commit = turn(item, &events);
    commit.id = parent;
    acked(by, commit);
  }
  // Makes "root" with children "a" and "b", and "a" with a child "c".
  void make_tree(Site& by) {
    create(by, "root");
    start_children(by, "root", {"a", "b"});
    start_children(by, "a", {"c"});
  }
  void end_tree(Site& by) {
    for (const char* id : {"c", "a", "b", "root"})
      end(by, key_of(id), EndKind::kCompleted);
  }
  Status remove(Site& by, InstanceKey key, bool force) {
    return batch(by, [&] { return by->instance().removal.delete_instance(key, force); });
  }
  bool sweep(Site& by, std::size_t events = kSweepEventsMax) {
    bool more = false;
    must_batch(by, [&] { return by->instance().removal.sweep_deleted(events, &removed_, &more); });
    return more;
  }
  bool prune(Site& by, InstanceKey key, const PruneLimits& limits, std::size_t events = 4096) {
    bool more = false;
    must_batch(by, [&] {
      return by->instance().removal.prune_executions(key, limits, events, &removed_, &more);
    });
    return more;
  }
  bool retire(Site& by, const Retention& which, OptionalMs* next = nullptr) {
    bool more = false;
    OptionalMs next_end;
    must_batch(
        by, [&] { return by->instance().removal.delete_ended(which, &cursor_, &next_end, &more); });
    if (next != nullptr) *next = next_end;
    return more;
  }
  // The instance ids of all work, one for each item.
  Ids list_work(Site& by) {
    Page page;
    Ids of;
    auto keep = visit([&of](const WorkInfo& one) { of.emplace_back(one.instance_id); });
    EXPECT_EQ(by->work().items.list_work(WorkListFilter(), &page, keep), Status::kOk);
    return of;
  }
  bool is_there(Site& by, std::string_view id) {
    InstanceStatus out;
    const Status status = by->instance().directory.get_status(id, &out, output, sizeof output);
    EXPECT_TRUE(status == Status::kOk || status == Status::kNotFound);
    return status == Status::kOk;
  }
  std::vector<std::int64_t> executions(InstanceKey key) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = 1; i < 20; ++i)
      if (raw_number("SELECT count(*) FROM executions WHERE instance=" + std::to_string(key) +
                     " AND execution=" + std::to_string(i)) != 0)
        out.push_back(i);
    return out;
  }
  // Asks every table with an instance column, so later tables are covered too.
  void expect_no_row_of(InstanceKey key) {
    const std::string tables = raw_text(
        "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c "
        "WHERE m.type='table' AND c.name='instance'");
    int asked = 0;
    for (std::size_t at_byte = 0; at_byte < tables.size(); ++asked) {
      const std::size_t stop_byte = std::min(tables.find('\n', at_byte), tables.size());
      const std::string table = tables.substr(at_byte, stop_byte - at_byte);
      EXPECT_EQ(
          raw_number("SELECT count(*) FROM " + table + " WHERE instance=" + std::to_string(key)), 0)
          << table;
      at_byte = stop_byte + 1;
    }
    EXPECT_GE(asked, 4);
    EXPECT_EQ(raw_number("SELECT count(*) FROM instances WHERE key=" + std::to_string(key)), 0);
  }
  void expect_refused(Site& by, const WorkDone& done) {
    const std::string before = dump();
    EXPECT_EQ(batch(by,
                    [&] {
                      return by->work().items.ack_work_item(done, {ErrorKind::kNone, "42"});
                    }),
              Status::kStale);
    EXPECT_EQ(batch(by, [&] { return by->work().items.check_work_item(done); }), Status::kNotFound);
    EXPECT_EQ(
        batch(by, [&] { return by->work().items.abandon_work_item(done, 0, true, CrashLimits()); }),
        Status::kStale);
    EXPECT_EQ(dump(), before);
  }
  Removed removed_;
  Removed pruned_;
  EndedCursor cursor_;
};
INSTANTIATE_TEST_SUITE_P(Ports, Removal, ::testing::Values(Ports::kSim, Ports::kPosix), ports_name);

// ---- deletion ----

TEST_P(Removal, DeleteTerminalInstances) {
  for (const EndKind kind : {EndKind::kCompleted, EndKind::kFailed}) {
    const InstanceKey key = create(at, "a");
    end(at, key, EndKind::kContinuedAsNew);
    end(at, key, kind);
    removed_ = Removed();
    ASSERT_EQ(remove(at, key, false), Status::kOk);
    EXPECT_FALSE(is_there(at, "a"));
    EXPECT_FALSE(sweep(at));
    EXPECT_EQ(removed_.instances, 1);
    EXPECT_EQ(removed_.executions, 2);
    EXPECT_EQ(removed_.events, 4);
    expect_no_row_of(key);
  }
}

TEST_P(Removal, DeleteRunningRejectedForceSucceeds) {
  const InstanceKey key = create(at, "a");
  start(at, key);
  const std::string before = dump();
  EXPECT_EQ(remove(at, key, false), Status::kStillRunning);
  EXPECT_EQ(dump(), before);
  EXPECT_EQ(remove(at, key, true), Status::kOk);
  EXPECT_FALSE(is_there(at, "a"));
}

TEST_P(Removal, DeleteNonexistentInstance) {
  EXPECT_EQ(remove(at, 4711, false), Status::kNotFound);
  const InstanceKey key = create(at, "a");
  ASSERT_EQ(remove(at, key, true), Status::kOk);
  EXPECT_EQ(remove(at, key, true), Status::kNotFound) << "also one that is deleted already";
}

TEST_P(Removal, DeleteCleansQueuesAndLocks) {
  const InstanceKey other = create(at, "other");
  start(at, other, {{2, TimerBase::kPawlTime, 10}}, {{3, {}}});
  const InstanceKey key = create(at, "a");
  start(at, key, {{2, TimerBase::kPawlTime, 10}}, {{3, "s"}, {4, {}}});
  cancel(at, "a", "");
  EXPECT_EQ(list_work(at), (Ids{"other", "a", "a"}));
  ASSERT_EQ(remove(at, key, true), Status::kOk);
  EXPECT_EQ(list_work(at), Ids{"other"}) << "the rows are still there";
  InstanceKey again = 0;
  EXPECT_EQ(batch(at,
                  [&] {
                    NewInstance instance;
                    instance.id = instance.name = "a";
                    return at->instance().deliveries.start_orchestration(instance, &again);
                  }),
            Status::kAlreadyExists)
      << "the id is in use until the rows are gone";
  EXPECT_FALSE(sweep(at));
  expect_no_row_of(key);
  EXPECT_EQ(raw_number("SELECT count(*) FROM worker_queue"), 1) << "the other's";
  EXPECT_EQ(raw_number("SELECT count(*) FROM sessions WHERE head_id IS NOT NULL"), 0);
  EXPECT_GT(create(at, "a"), key) << "the id is free, the key is not used again";
}

TEST_P(Removal, CascadeDeleteHierarchy) {
  make_tree(at);
  create(at, "other");
  const std::string before = dump();
  for (const char* child : {"a", "b", "c"})
    EXPECT_EQ(remove(at, key_of(child), true), Status::kChildInstance);
  EXPECT_EQ(dump(), before);
  const std::vector<InstanceKey> keys = {key_of("root"), key_of("a"), key_of("b"), key_of("c")};
  ASSERT_EQ(remove(at, keys[0], true), Status::kOk);
  EXPECT_FALSE(sweep(at));
  EXPECT_EQ(removed_.instances, 4);
  for (const InstanceKey key : keys)
    expect_no_row_of(key);
  EXPECT_EQ(list(at), Ids{"other"});
}

TEST_P(Removal, ForceDeletePreventsAckRecreation) {
  const InstanceKey key = create(at, "a");
  const WorkDone done = hand_over(at, key);
  cancel(at, "a", "");
  const Item& item = fetched(at, key);
  ASSERT_EQ(remove(at, key, true), Status::kOk);
  for (const bool swept : {false, true}) {
    if (swept) {
      EXPECT_FALSE(sweep(at));
    }
    const std::string before = dump();
    EXPECT_EQ(ack(at, turn(item)), Status::kStale);
    EXPECT_EQ(batch(at,
                    [&] {
                      return at->instance().ready.abandon_orchestration_item(
                          key, item.is.revision, 0, false, ErrorKind::kNone, "");
                    }),
              Status::kStale);
    Item again;
    EXPECT_EQ(fetch(at, key, again), Status::kNotFound);
    EXPECT_EQ(dump(), before);
  }
  expect_refused(at, done);
  EXPECT_FALSE(is_there(at, "a"));
}

TEST_P(Removal, ListChildren) {
  make_tree(at);
  const auto children = [&](const char* id) {
    Page page;
    page.rows_max = 1;
    KeepInfos keep;
    do {
      EXPECT_EQ(at->instance().directory.list_tree(key_of(id), true, &page, keep), Status::kOk);
    } while (page.more);
    return keep.ids;
  };
  EXPECT_EQ(children("root"), (Ids{"a", "b"}));
  EXPECT_EQ(children("a"), Ids{"c"});
  EXPECT_EQ(children("b"), Ids{});
  Page none;
  none.rows_max = 0;
  KeepInfos keep;
  EXPECT_EQ(at->instance().directory.list_tree(key_of("root"), true, &none, keep),
            Status::kInvalidArgument);
}

TEST_P(Removal, GetParentId) {
  make_tree(at);
  KeepInfos keep;
  for (const char* id : {"root", "a", "b", "c"})
    EXPECT_EQ(at->instance().directory.get_instance_info(id, keep), Status::kOk);
  EXPECT_EQ(keep.parents, (Ids{"", "root", "root", "a"}));
}

TEST_P(Removal, GetInstanceTree) {
  create(at, "other");
  make_tree(at);
  for (const char* id : {"root", "a", "c"}) {
    Page page;
    page.rows_max = 3;
    KeepInfos keep;
    EXPECT_EQ(at->instance().directory.list_tree(key_of(id), false, &page, keep), Status::kOk);
    EXPECT_TRUE(page.more);
    EXPECT_EQ(at->instance().directory.list_tree(key_of(id), false, &page, keep), Status::kOk);
    EXPECT_EQ(keep.ids, (Ids{"root", "a", "b", "c"}));
  }
}

// However often a sweep is interrupted, no call sees only a part of the tree.
TEST_P(Removal, DeleteInstancesAtomic) {
  make_tree(at);
  end_tree(at);
  const InstanceKey root = key_of("root");
  ASSERT_EQ(remove(at, root, false), Status::kOk);
  int pieces = 0;
  bool more = true;
  while (more) {
    for (const char* id : {"root", "a", "b", "c"})
      EXPECT_FALSE(is_there(at, id)) << pieces;
    EXPECT_EQ(list(at), Ids{});
    Page page;
    KeepInfos keep;
    EXPECT_EQ(at->instance().directory.list_tree(root, false, &page, keep), Status::kOk);
    EXPECT_EQ(keep.ids, Ids{});
    more = sweep(at, 1);
    ++pieces;
  }
  EXPECT_GT(pieces, 4);
  EXPECT_EQ(raw_number("SELECT count(*) FROM instances"), 0);
  EXPECT_EQ(removed_.instances, 4);
}

TEST_P(Removal, DeleteInstancesAtomicForce) {
  make_tree(at);
  Item items[4];
  const char* const ids[] = {"root", "a", "b", "c"};
  for (int i = 2; i < 4; ++i)
    ASSERT_EQ(fetch(at, key_of(ids[i]), items[i]), Status::kOk);
  ASSERT_EQ(remove(at, key_of("root"), true), Status::kOk);
  const std::string before = dump();
  for (int i = 2; i < 4; ++i)
    EXPECT_EQ(ack(at, turn(items[i])), Status::kStale) << ids[i];
  for (const char* id : ids) {
    EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance(id, ""); }),
              Status::kNotFound);
    EXPECT_EQ(batch(at, [&] { return at->instance().verbs.terminate_instance(id, ""); }),
              Status::kNotFound);
    EXPECT_EQ(batch(at, [&] { return at->instance().verbs.resume_instance(id); }),
              Status::kNotFound);
  }
  EXPECT_EQ(dump(), before);
  EXPECT_FALSE(sweep(at));
  EXPECT_EQ(raw_number("SELECT count(*) FROM instances"), 0);
}

// Orphans do not exist: a running child keeps its tree, and is removed together with the tree.
TEST_P(Removal, DeleteInstancesAtomicOrphanDetection) {
  make_tree(at);
  for (const char* id : {"a", "b", "root"})
    end(at, key_of(id), EndKind::kCompleted);
  EXPECT_EQ(remove(at, key_of("root"), false), Status::kStillRunning) << "c has not ended";
  end(at, key_of("c"), EndKind::kCompleted);
  EXPECT_EQ(remove(at, key_of("root"), false), Status::kOk);
}

TEST_P(Removal, StaleActivityAfterDeleteRecreate) {
  const InstanceKey key = create(at, "a");
  const WorkDone done = hand_over(at, key);
  ASSERT_EQ(remove(at, key, true), Status::kOk);
  EXPECT_FALSE(sweep(at));
  const InstanceKey again = create(at, "a");
  start(at, again, {}, {{2, {}}});
  expect_refused(at, done);
}

TEST_P(Removal, ActivitiesOfADeletedTreeDoNotStart) {
  make_tree(at);
  start(at, key_of("c"), {}, {{2, {}}});
  ASSERT_EQ(remove(at, key_of("root"), true), Status::kOk);
  EXPECT_EQ(take_work(at).item, 0);
  EXPECT_EQ(raw_number("SELECT count(*) FROM worker_queue"), 0);
}

TEST_P(Removal, SweepIsBoundedByEvents) {
  const InstanceKey key = create(at, "a");
  end(at, key, EndKind::kContinuedAsNew, {3000});
  end(at, key, EndKind::kCompleted, {3000});
  ASSERT_EQ(remove(at, key, false), Status::kOk);
  int pieces = 1;
  std::int64_t before = 0;
  while (sweep(at, 1000)) {
    EXPECT_LE(removed_.events - before, 1000);
    before = removed_.events;
    ++pieces;
  }
  EXPECT_GE(pieces, 6) << "one execution is more than a piece";
  expect_no_row_of(key);
}

// ---- deletion in bulk ----

TEST_P(Removal, DeleteInstanceBulkFilterCombinations) {
  for (const char* id : {"a", "b", "c", "d"})
    create(at, id);
  const InstanceId ids[] = {InstanceId("c"), InstanceId("gone"), InstanceId("a"), InstanceId("d")};
  InstanceFilter filter;
  filter.ids = ids;
  filter.id_count = 4;
  EXPECT_EQ(list(at, filter), (Ids{"c", "a", "d"}));
  end(at, key_of("c"), EndKind::kFailed);
  filter.any_state = false;
  filter.state = OrchestrationState::kFailed;
  EXPECT_EQ(list(at, filter), Ids{"c"});
  filter.name = "another";
  EXPECT_EQ(list(at, filter), Ids{});
  filter = InstanceFilter();
  filter.ids = ids;
  filter.id_count = 4;
  Page page;
  page.rows_max = 1;
  KeepInfos keep;
  int pages = 0;
  for (page.more = true; page.more; ++pages)
    ASSERT_EQ(at->instance().directory.list_instances(filter, &page, keep), Status::kOk);
  EXPECT_EQ(keep.ids, (Ids{"c", "a", "d"}));
  EXPECT_GE(pages, 3);
}

TEST_P(Removal, BulkTakesRootsOnly) {
  make_tree(at);
  create(at, "other");
  InstanceFilter filter;
  filter.roots_only = true;
  EXPECT_EQ(list(at, filter), (Ids{"root", "other"}));
}

// ---- retention of ended instances ----

// Rules: T8.
TEST_P(Removal, RetentionByAgeTakesTheOldestFirst) {
  for (const char* id : {"a", "b", "c"}) {
    clock.advance(1000);
    end(at, create(at, id), EndKind::kCompleted);
  }
  create(at, "runs");
  const std::int64_t b = raw_number("SELECT finished_at FROM instances WHERE id='b'");
  Retention which;
  OptionalMs next;
  EXPECT_FALSE(retire(at, which, &next));
  EXPECT_EQ(next, b - 1000) << "a is the first to come";
  which.ended_until = b;
  EXPECT_FALSE(retire(at, which, &next));
  EXPECT_EQ(next, b + 1000);
  EXPECT_EQ(list(at), (Ids{"c", "runs"}));
  which.ended_until = b + 5000;
  EXPECT_FALSE(retire(at, which, &next));
  EXPECT_EQ(next, OptionalMs());
  EXPECT_EQ(list(at), Ids{"runs"});
}

TEST_P(Removal, RetentionByCountKeepsTheLast) {
  for (const char* id : {"a", "b", "c", "d"})
    end(at, create(at, id), EndKind::kCompleted);  // all in the same millisecond
  Retention which;
  which.count_max = 4;
  EXPECT_FALSE(retire(at, which));
  EXPECT_EQ(list(at).size(), 4U);
  which.count_max = 2;
  EXPECT_FALSE(retire(at, which));
  EXPECT_EQ(list(at), (Ids{"c", "d"}));
}

TEST_P(Removal, RetentionPassesOverTreesThatRun) {
  make_tree(at);
  for (const char* id : {"a", "b", "root"})
    end(at, key_of(id), EndKind::kCompleted);
  end(at, create(at, "later"), EndKind::kCompleted);
  Retention which;
  which.ended_until = std::int64_t{1} << 60;
  EXPECT_FALSE(retire(at, which));
  EXPECT_EQ(list(at), (Ids{"root", "a", "b", "c"}));
  end(at, key_of("c"), EndKind::kCompleted);
  cursor_ = EndedCursor();
  EXPECT_FALSE(retire(at, which));
  EXPECT_EQ(list(at), Ids{});
}

TEST_P(Removal, RetentionIsBounded) {
  for (int i = 0; i < 70; ++i)
    end(at, create(at, "i" + std::to_string(i)), EndKind::kCompleted);
  Retention which;
  which.ended_until = std::int64_t{1} << 60;
  EXPECT_TRUE(retire(at, which));
  EXPECT_EQ(list(at).size(), 6U);
  EXPECT_FALSE(retire(at, which));
  EXPECT_EQ(list(at).size(), 0U);
}

// ---- pruning ----

TEST_P(Removal, PruneOptionsCombinations) {
  const InstanceKey key = create(at, "a");
  for (int i = 0; i < 5; ++i) {
    clock.advance(100);
    end(at, key, EndKind::kContinuedAsNew);
  }
  start(at, key);
  const std::vector<std::int64_t> all = {1, 2, 3, 4, 5, 6};
  EXPECT_FALSE(prune(at, key, {1, kWall2040 + 100}));
  EXPECT_EQ(executions(key), all) << "the first ended then";
  EXPECT_FALSE(prune(at, key, {1, kWall2040 + 101}));
  EXPECT_EQ(executions(key), (std::vector<std::int64_t>{2, 3, 4, 5, 6}));
  EXPECT_FALSE(prune(at, key, {5, 0}));
  EXPECT_EQ(executions(key), (std::vector<std::int64_t>{2, 3, 4, 5, 6}));
  EXPECT_FALSE(prune(at, key, {3, kWall2040 + 201}));
  EXPECT_EQ(executions(key), (std::vector<std::int64_t>{3, 4, 5, 6})) << "both must allow it";
  EXPECT_FALSE(prune(at, key, {2, 0}));
  EXPECT_EQ(executions(key), (std::vector<std::int64_t>{5, 6}));
  for (const std::int64_t keep : {1, 0}) {
    EXPECT_FALSE(prune(at, key, {keep, 0}));
    EXPECT_EQ(executions(key), std::vector<std::int64_t>{6});
  }
  EXPECT_EQ(removed_.executions, 5);
  EXPECT_EQ(removed_.events, 10);
}

TEST_P(Removal, PruneSafety) {
  const InstanceKey key = create(at, "a");
  end(at, key, EndKind::kContinuedAsNew);
  start(at, key, {}, {{2, {}}});
  EXPECT_FALSE(prune(at, key, {0, 0}));
  EXPECT_EQ(executions(key), std::vector<std::int64_t>{2});
  EXPECT_EQ(raw_number("SELECT count(*) FROM worker_queue"), 1);
  cancel(at, "a", "");
  const Item& item = fetched(at, key);
  EXPECT_EQ(ack(at, turn(item)), Status::kOk) << "and it goes on";
  bool more = false;
  EXPECT_EQ(batch(at,
                  [&] {
                    return at->instance().removal.prune_executions(key + 1, {}, 9, &removed_,
                                                                   &more);
                  }),
            Status::kNotFound);
}

TEST_P(Removal, PruneTakesChildrenOfTheExecutionAlong) {
  make_tree(at);
  end(at, key_of("root"), EndKind::kContinuedAsNew);
  start_children(at, "root", {"d"});
  EXPECT_FALSE(prune(at, key_of("root"), {}));
  EXPECT_EQ(list(at), (Ids{"root", "a", "b", "c", "d"})) << "they run";
  end(at, key_of("a"), EndKind::kCompleted);
  end(at, key_of("b"), EndKind::kContinuedAsNew);
  end(at, key_of("b"), EndKind::kCompleted);
  EXPECT_FALSE(prune(at, key_of("root"), {}));
  EXPECT_EQ(executions(key_of("root")), (std::vector<std::int64_t>{1, 2})) << "c runs";
  end(at, key_of("c"), EndKind::kCompleted);
  int pieces = 1;
  while (prune(at, key_of("root"), {}, 1)) {
    ++pieces;
    // No child exists without its parent.
    EXPECT_EQ(raw_number("SELECT count(*) FROM instances AS c WHERE c.parent IS NOT NULL AND NOT "
                         "EXISTS(SELECT 1 FROM instances AS p WHERE p.key=c.parent)"),
              0);
  }
  EXPECT_GT(pieces, 3);
  EXPECT_EQ(list(at), (Ids{"root", "d"}));
  EXPECT_EQ(executions(key_of("root")), std::vector<std::int64_t>{2});
}

TEST_P(Removal, PruneIsBoundedButForOneExecution) {
  const InstanceKey key = create(at, "a");
  for (int i = 0; i < 3; ++i)
    end(at, key, EndKind::kContinuedAsNew, {3000});
  EXPECT_TRUE(prune(at, key, {}));
  EXPECT_EQ(executions(key), (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(prune(at, key, {}, 100)) << "one at least";
  EXPECT_EQ(executions(key), std::vector<std::int64_t>{3});
  EXPECT_FALSE(prune(at, key, {}));
}

TEST_P(Removal, ContinueAsNewKeepsSoManyExecutions) {
  const InstanceKey key = create(at, "a");
  for (int i = 0; i < 4; ++i)
    end(at, key, EndKind::kContinuedAsNew);
  EXPECT_EQ(executions(key).size(), 4U);
  end(at, key, EndKind::kContinuedAsNew, keeping(3));
  EXPECT_EQ(executions(key), (std::vector<std::int64_t>{4, 5})) << "and 6 has begun";
  end(at, key, EndKind::kContinuedAsNew, keeping(1));
  EXPECT_EQ(executions(key), (std::vector<std::int64_t>{}));
  EXPECT_EQ(pruned_.executions, 6);
  end(at, key, EndKind::kCompleted, keeping(1));
  EXPECT_EQ(status(at, "a").state, InstanceState::kCompleted);
}

}  // namespace
}  // namespace pawl::test
