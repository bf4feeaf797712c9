// Goal: the values that an execution finds at its start stay there while it runs, whatever it
// writes; clients see the last committed values; an end leaves one row for each key; values live
// exactly as long as their instance.
#include "pawl/visit.hpp"
#include "store_world.hpp"

namespace pawl::test {
namespace {

struct Write {
  const char* key;
  const char* value;  // null: clears the key
};
using Writes = std::vector<Write>;

class Kv : public OpenStore {
 protected:
  // Commits one turn that writes, and ends if asked to.
  void write(Site& by, InstanceKey key, const Writes& writes, EndKind end = EndKind::kNone) {
    const Item& item = fetched(by, key);
    Events events(item.is.last_event + 1);
    if (item.is.last_event == 0) events.add(EventKind::kStarted).name = "n";
    for (const Write& one : writes) {
      Event& event = events.add(EventKind::kStateWrite);
      event.name = one.key;
      event.number = one.value == nullptr ? 1 : 0;
      event.payload = one.value == nullptr ? "" : one.value;
      event.time_ms = ++stamp_;
    }
    if (end != EndKind::kNone) events.add(EventKind::kEnded).end = end;
    TurnCommit commit = turn(item, &events);
    if (events.last() < events.first())
      commit.events = nullptr, commit.first_new = commit.last_new = 0;
    commit.id = item.is.id.view();
    commit.end = end;
    acked(by, commit);
  }
  void again(Site& by, InstanceKey key, const Writes& writes = {}) {
    write(by, key, writes, EndKind::kContinuedAsNew);
  }
  // The values that this execution found at its start: "a=1 b=2 ".
  std::string found(Site& by, InstanceKey key, ExecutionId execution) {
    class Keep final : public StateSink {
     public:
      Status on_value(std::string_view name, std::string_view value, std::int64_t) override {
        all += std::string(name) + "=" + std::string(value) + " ";
        return Status::kOk;
      }
      std::string all;
    } keep;
    EXPECT_EQ(by->instance().rows.load_state(key, execution, keep), Status::kOk)
        << by->diagnostic().text();
    return keep.all;
  }
  // The values that clients see, read in pages of `rows`.
  std::string shown(Site& by, const char* id, std::size_t rows = 100) {
    std::string all;
    auto keep = visit([&](const KvEntry& value) {
      all += std::string(value.key) + "=" + std::string(value.value) + " ";
    });
    KvPage page;
    page.rows_max = rows;
    do {
      EXPECT_EQ(by->instance().rows.get_all_kv_values(id, &page, keep), Status::kOk)
          << by->diagnostic().text();
    } while (page.more);
    return all;
  }
  // Returns "none", or the value in quotes.
  std::string get(Site& by, const char* id, std::string_view key) {
    KvEntry entry;
    bool is_there = false;
    EXPECT_EQ(by->instance().rows.get_kv_value(id, key, &entry, &is_there, buffer_, sizeof buffer_),
              Status::kOk)
        << by->diagnostic().text();
    return is_there ? "'" + std::string(entry.value) + "'" : "none";
  }
  std::int64_t prune(Site& by, InstanceKey key, std::int64_t keep_last) {
    Removed removed;
    bool more = true;
    while (more)
      must_batch(by, [&] {
        return by->instance().removal.prune_executions(key, {keep_last, 0}, 99, &removed, &more);
      });
    return removed.executions;
  }
  void remove_whole(Site& by, InstanceKey key) {
    must_batch(by, [&] { return by->instance().removal.delete_instance(key, true); });
    Removed removed;
    bool more = true;
    while (more)
      must_batch(by, [&] { return by->instance().removal.sweep_deleted(99, &removed, &more); });
  }
  std::int64_t rows() { return raw_number("SELECT count(*) FROM kv"); }

  std::int64_t stamp_ = 1000;
  char buffer_[128 * 1024] = {};
};
INSTANTIATE_TEST_SUITE_P(Ports, Kv, ::testing::Values(Ports::kSim, Ports::kPosix), ports_name);

// ---- set and read ----

TEST_P(Kv, SetAndGet) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"k", "v"}});
  EXPECT_EQ(get(at, "a", "k"), "'v'");
  EXPECT_EQ(shown(at, "a"), "k=v ");
}

TEST_P(Kv, Overwrite) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"k", "1"}, {"k", "2"}});
  EXPECT_EQ(get(at, "a", "k"), "'2'");
  write(at, key, {{"k", "3"}});
  EXPECT_EQ(get(at, "a", "k"), "'3'");
  EXPECT_EQ(rows(), 1);
}

TEST_P(Kv, ClearSingle) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"k", "1"}, {"l", "2"}});
  write(at, key, {{"k", nullptr}});
  EXPECT_EQ(get(at, "a", "k"), "none");
  EXPECT_EQ(shown(at, "a"), "l=2 ");
}

TEST_P(Kv, ClearAll) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"k", "1"}, {"l", "2"}, {"k", nullptr}, {"l", nullptr}});
  EXPECT_EQ(shown(at, "a"), "");
}

TEST_P(Kv, GetNonexistent) {
  create(at, "a");
  EXPECT_EQ(get(at, "a", "k"), "none");
  EXPECT_EQ(shown(at, "a"), "");
}

TEST_P(Kv, GetUnknownInstance) {
  KvEntry entry;
  bool is_there = true;
  EXPECT_EQ(at->instance().rows.get_kv_value("a", "k", &entry, &is_there, buffer_, sizeof buffer_),
            Status::kNotFound);
  EXPECT_FALSE(is_there);
}

TEST_P(Kv, ClearNonexistentKey) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"k", nullptr}});
  EXPECT_EQ(get(at, "a", "k"), "none");
  again(at, key);
  EXPECT_EQ(rows(), 0);
}

TEST_P(Kv, SetAfterClear) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"k", "1"}});
  write(at, key, {{"k", nullptr}, {"k", "2"}});
  EXPECT_EQ(get(at, "a", "k"), "'2'");
}

TEST_P(Kv, EmptyValue) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"k", ""}});
  EXPECT_EQ(get(at, "a", "k"), "''");
  again(at, key);
  EXPECT_EQ(found(at, key, 2), "k= ");
}

TEST_P(Kv, LargeValue) {
  const InstanceKey key = create(at, "a");
  const std::string large(64 * 1024, 'x');
  write(at, key, {{"k", large.c_str()}});
  EXPECT_EQ(get(at, "a", "k"), "'" + large + "'");
  KvEntry entry;
  bool is_there = false;
  EXPECT_EQ(
      at->instance().rows.get_kv_value("a", "k", &entry, &is_there, buffer_, large.size() - 1),
      Status::kResourceExhausted);
}

TEST_P(Kv, SpecialCharsInKey) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"a'b\"c;--", "1"}, {"\xc3\xa4::%_", "2"}, {" ", "3"}});
  EXPECT_EQ(get(at, "a", "a'b\"c;--"), "'1'");
  EXPECT_EQ(get(at, "a", "\xc3\xa4::%_"), "'2'");
  EXPECT_EQ(shown(at, "a", 1), " =3 a'b\"c;--=1 \xc3\xa4::%_=2 ");
}

// ---- values at the start of an execution ----

TEST_P(Kv, SnapshotInFetch) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"l", "2"}, {"k", "1"}});
  again(at, key);
  EXPECT_EQ(found(at, key, 2), "k=1 l=2 ");
}

TEST_P(Kv, SnapshotAfterClearSingle) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"k", "1"}, {"l", "2"}});
  again(at, key, {{"k", nullptr}});
  EXPECT_EQ(found(at, key, 2), "l=2 ");
}

TEST_P(Kv, SnapshotAfterClearAll) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}, {"l", "2"}});
  again(at, key, {{"k", nullptr}, {"l", nullptr}});
  EXPECT_EQ(found(at, key, 3), "");
  EXPECT_EQ(rows(), 0);
}

TEST_P(Kv, SnapshotEmpty) {
  const InstanceKey key = create(at, "a");
  EXPECT_EQ(found(at, key, 1), "");
}

TEST_P(Kv, SnapshotCrossExecution) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"a", "1"}, {"b", "1"}, {"c", "1"}});
  again(at, key, {{"b", "2"}, {"c", nullptr}, {"d", "2"}});
  EXPECT_EQ(found(at, key, 3), "a=1 b=2 d=2 ");
  again(at, key, {{"c", "3"}});
  EXPECT_EQ(found(at, key, 4), "a=1 b=2 c=3 d=2 ");
}

// ---- executions ----

TEST_P(Kv, ExecutionIdTracking) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}, {"l", "1"}});
  write(at, key, {{"l", "2"}});
  EXPECT_EQ(raw_number("SELECT max(execution) FROM kv WHERE key='k'"), 1);
  EXPECT_EQ(raw_number("SELECT max(execution) FROM kv WHERE key='l'"), 2);
}

TEST_P(Kv, CrossExecutionOverwrite) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}});
  write(at, key, {{"k", "2"}});
  EXPECT_EQ(get(at, "a", "k"), "'2'");
  EXPECT_EQ(rows(), 2) << "what it found is still there";
  again(at, key);
  EXPECT_EQ(rows(), 1) << "superseded rows go";
}

TEST_P(Kv, CrossExecutionRemoveReadd) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}});
  again(at, key, {{"k", nullptr}});
  EXPECT_EQ(found(at, key, 3), "");
  again(at, key, {{"k", "3"}});
  EXPECT_EQ(found(at, key, 4), "k=3 ");
}

TEST_P(Kv, PrunePreservesOverwritten) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}});
  again(at, key, {{"k", "2"}});
  EXPECT_EQ(prune(at, key, 1), 2);
  EXPECT_EQ(found(at, key, 3), "k=2 ");
}

TEST_P(Kv, PrunePreservesAllKeys) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"a", "1"}});
  again(at, key, {{"b", "2"}});
  again(at, key, {{"c", "3"}});
  EXPECT_GT(prune(at, key, 1), 0);
  EXPECT_EQ(shown(at, "a"), "a=1 b=2 c=3 ");
  EXPECT_EQ(found(at, key, 4), "a=1 b=2 c=3 ");
}

TEST_P(Kv, PruneCurrentExecutionProtected) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"k", "1"}});
  EXPECT_EQ(prune(at, key, 0), 0);
  EXPECT_EQ(get(at, "a", "k"), "'1'");
}

// ---- isolation, deletion ----

TEST_P(Kv, InstanceIsolation) {
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  write(at, a, {{"k", "of a"}});
  write(at, b, {{"k", "of b"}});
  EXPECT_EQ(get(at, "a", "k"), "'of a'");
  EXPECT_EQ(get(at, "b", "k"), "'of b'");
}

TEST_P(Kv, ClearIsolation) {
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  write(at, a, {{"k", "of a"}});
  write(at, b, {{"k", "of b"}});
  again(at, a, {{"k", nullptr}});
  EXPECT_EQ(get(at, "b", "k"), "'of b'");
}

TEST_P(Kv, DeleteInstanceCascades) {
  const InstanceKey a = create(at, "a");
  const InstanceKey b = create(at, "b");
  write(at, b, {{"k", "of b"}});
  again(at, a, {{"k", "1"}});
  write(at, a, {{"k", "2"}, {"l", "2"}});
  remove_whole(at, a);
  EXPECT_EQ(rows(), 1);
  create(at, "a");
  EXPECT_EQ(shown(at, "a"), "") << "another instance of the same id";
}

TEST_P(Kv, DeleteInstanceWithChildren) {
  const InstanceKey parent = create(at, "a");
  const Item& item = fetched(at, parent);
  Events events = begun();
  events.add(EventKind::kChild).name = "n";
  TurnCommit commit = turn(item, &events);
  commit.id = "a";
  acked(at, commit);
  const InstanceKey child = raw_number("SELECT key FROM instances WHERE id='a::1.2'");
  write(at, parent, {{"k", "of parent"}});
  write(at, child, {{"k", "of child"}}, EndKind::kCompleted);
  write(at, create(at, "b"), {{"k", "of b"}});
  EXPECT_EQ(batch(at, [&] { return at->instance().removal.delete_instance(child, false); }),
            Status::kChildInstance);
  EXPECT_EQ(rows(), 3);
  remove_whole(at, parent);
  EXPECT_EQ(get(at, "b", "k"), "'of b'");
  EXPECT_EQ(rows(), 1);
}

TEST_P(Kv, DeletedOneHasNoValuesBeforeItIsSwept) {
  const InstanceKey key = create(at, "a");
  write(at, key, {{"k", "1"}});
  must_batch(at, [&] { return at->instance().removal.delete_instance(key, true); });
  EXPECT_EQ(rows(), 1);
  KvEntry entry;
  bool is_there = false;
  EXPECT_EQ(at->instance().rows.get_kv_value("a", "k", &entry, &is_there, buffer_, sizeof buffer_),
            Status::kNotFound);
}

// ---- rows of the current execution ----

TEST_P(Kv, DeltaSnapshotExcludesCurrentExecution) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}});
  write(at, key, {{"k", "2"}, {"l", "2"}});
  EXPECT_EQ(found(at, key, 2), "k=1 ");
}

TEST_P(Kv, DeltaSnapshotIncludesCompletedExecution) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}});
  again(at, key, {{"k", "2"}, {"l", "2"}});
  EXPECT_EQ(found(at, key, 3), "k=2 l=2 ");
}

TEST_P(Kv, DeltaClientReadsMerged) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}, {"l", "1"}});
  write(at, key, {{"l", "2"}, {"m", "2"}});
  EXPECT_EQ(shown(at, "a"), "k=1 l=2 m=2 ");
  EXPECT_EQ(shown(at, "a", 1), "k=1 l=2 m=2 ");
}

TEST_P(Kv, DeltaTombstoneOverridesStore) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}, {"l", "1"}});
  write(at, key, {{"k", nullptr}});
  EXPECT_EQ(get(at, "a", "k"), "none");
  EXPECT_EQ(shown(at, "a"), "l=1 ");
  EXPECT_EQ(found(at, key, 2), "k=1 l=1 ");
}

TEST_P(Kv, DeltaClearAllTombstonesStore) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}, {"l", "1"}});
  write(at, key, {{"k", nullptr}, {"l", nullptr}});
  EXPECT_EQ(shown(at, "a"), "");
  EXPECT_EQ(found(at, key, 2), "k=1 l=1 ");
}

TEST_P(Kv, DeltaMergedOnCompletion) {
  for (const EndKind end : {EndKind::kCompleted, EndKind::kFailed}) {
    const std::string id = end == EndKind::kCompleted ? "a" : "b";
    const InstanceKey key = create(at, id);
    again(at, key, {{"k", "1"}, {"l", "1"}});
    write(at, key, {{"k", "2"}, {"l", nullptr}}, end);
    EXPECT_EQ(shown(at, id.c_str()), "k=2 ");
    const std::string rows = "SELECT count(*) FROM kv WHERE instance=" + std::to_string(key);
    if (end == EndKind::kCompleted) {
      EXPECT_EQ(raw_number(rows), 1);
      continue;
    }
    // The values found at the start stay as long as the failed execution may be restarted from one
    // of its events (R10.4).
    EXPECT_EQ(raw_number(rows), 4);
    Restart from_start;
    from_start.id = id;
    from_start.by = "ann";
    must_batch(at, [&] { return at->instance().verbs.restart_instance(from_start); });
    EXPECT_EQ(raw_number(rows), 1);
    EXPECT_EQ(shown(at, id.c_str()), "k=2 ");
  }
}

TEST_P(Kv, DeltaMergedOnCan) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}, {"l", "1"}});
  again(at, key, {{"k", "2"}, {"l", nullptr}});
  EXPECT_EQ(found(at, key, 3), "k=2 ");
  EXPECT_EQ(rows(), 1);
}

TEST_P(Kv, DeltaDeleteInstanceCascades) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}});
  write(at, key, {{"k", nullptr}, {"l", "2"}});
  remove_whole(at, key);
  EXPECT_EQ(rows(), 0);
}

TEST_P(Kv, DeltaPruneUntouchedKeySurvives) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}});
  again(at, key, {{"l", "2"}});
  write(at, key, {{"l", "3"}});
  EXPECT_GT(prune(at, key, 1), 0);
  EXPECT_EQ(shown(at, "a"), "k=1 l=3 ");
  EXPECT_EQ(found(at, key, 3), "k=1 l=2 ");
}

// ---- reads by others, damage, stats ----

TEST_P(Kv, ReadsAreAnsweredWithTheTurn) {
  const InstanceKey key = create(at, "a");
  const InstanceKey other = create(at, "b");
  write(at, other, {{"k", "of b"}, {"c", "x"}, {"d", "x"}});
  write(at, other, {{"c", nullptr}});
  raw("UPDATE kv SET value='y' WHERE key='d'");
  const Item& item = fetched(at, key);
  Events events = begun();
  Event& own = events.add(EventKind::kStateWrite);
  own.name = "own";
  own.payload = "new";
  const struct {
    const char* instance;
    const char* key;
  } asked[] = {{"b", "k"}, {"b", "none"}, {"b", "c"}, {"nobody", "k"}, {"b", "d"}, {"a", "own"}};
  std::vector<EventId> reads;
  for (const auto& one : asked) {
    Event& read = events.add(EventKind::kValueRead);
    read.session = one.instance;
    read.name = one.key;
    reads.push_back(read.id);
  }
  TurnCommit commit = turn(item, &events);
  acked(at, commit);
  EXPECT_EQ(ready(at).front(), key);
  const Item& next = fetched(at, key);
  std::vector<std::string> answers;
  for (std::size_t i = 0; i < next.is.message_count; ++i) {
    const Message& message = next.is.messages[i];
    EXPECT_EQ(message.kind, MessageKind::kValueAnswer);
    EXPECT_EQ(message.ref, reads[i]);
    EXPECT_EQ(message.execution, 1);
    answers.push_back(message.error == ErrorKind::kNone ? std::string(message.payload)
                                                        : error_kind_name(message.error));
  }
  EXPECT_EQ(answers, (std::vector<std::string>{"of b", "not_found", "not_found", "no_instance",
                                               "corrupt", "new"}));
}

TEST_P(Kv, DamagedValuesAreNamed) {
  const InstanceKey key = create(at, "a");
  again(at, key, {{"k", "1"}});
  for (const char* damage :
       {"value='2'", "cleared=1-cleared", "updated_stamp=updated_stamp+1", "execution=0"}) {
    raw("CREATE TEMP TABLE IF NOT EXISTS kept AS SELECT * FROM kv");
    raw(std::string("UPDATE kv SET ") + damage);
    KvEntry entry;
    bool is_there = false;
    EXPECT_EQ(
        at->instance().rows.get_kv_value("a", "k", &entry, &is_there, buffer_, sizeof buffer_),
        Status::kCorrupt)
        << damage;
    EXPECT_NE(at->diagnostic().text().find("key 'k'"), std::string_view::npos);
    class Nowhere final : public StateSink {
      Status on_value(std::string_view, std::string_view, std::int64_t) override {
        return Status::kOk;
      }
    } nowhere;
    EXPECT_EQ(at->instance().rows.load_state(key, 2, nowhere), Status::kCorrupt) << damage;
    raw("DELETE FROM kv");
    raw("INSERT INTO kv SELECT * FROM kept");
  }
  EXPECT_EQ(get(at, "a", "k"), "'1'");
}

TEST_P(Kv, InstanceStats) {
  InstanceStats stats;
  EXPECT_EQ(at->instance().directory.get_instance_stats("a", &stats), Status::kNotFound);
  const InstanceKey key = create(at, "a");
  ASSERT_EQ(at->instance().directory.get_instance_stats("a", &stats), Status::kOk);
  EXPECT_EQ(stats.history_events, 0);
  EXPECT_EQ(stats.history_bytes, 0);
  EXPECT_EQ(stats.messages_waiting, 1);
  again(at, key, {{"k", "1"}, {"l", "22"}});
  write(at, key, {{"k", "333"}, {"l", nullptr}, {"m", ""}});
  ASSERT_EQ(at->instance().directory.get_instance_stats("a", &stats), Status::kOk);
  EXPECT_EQ(stats.history_events, 4);
  EXPECT_GT(stats.history_bytes, 3);
  EXPECT_EQ(stats.messages_waiting, 0);
  EXPECT_EQ(stats.kv_keys, 2);
  EXPECT_EQ(stats.kv_bytes, 5);
}

}  // namespace
}  // namespace pawl::test
