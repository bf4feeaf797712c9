// Goal: no statement of the storage looks at more rows than it needs, however large the database.
// Method: every connection is recorded when it opens. After a workload SQLite itself explains each
// statement that ran.
#include <cctype>
#include <set>

#include "pawl/visit.hpp"
#include "store/sqlite/sqlite_connection.hpp"
#include "store/sqlite/sqlite_memory.hpp"
#include "store_world.hpp"

namespace pawl::test {
namespace {

std::vector<sqlite3*> opened;
std::set<std::string> ran;  // texts; the storage keeps only some prepared

int note_statement(unsigned, void*, void* statement, void*) {
  ran.insert(sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
  return 0;
}

int note_connection(sqlite3* handle, char**, const sqlite3_api_routines*) {
  opened.push_back(handle);
  sqlite3_trace_v2(handle, SQLITE_TRACE_STMT, note_statement, nullptr);
  return SQLITE_OK;
}

class Plans : public StoreWorld {
 protected:
  Plans() {
    opened.clear();
    ran.clear();
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(note_connection));
  }
  ~Plans() override {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(note_connection));
  }

  void work(Site& by) {
    const Incarnation me = worker(by, "me");
    for (const char* id : {"a", "b", "c"})
      create(by, id);
    start(by, 1, {{2, TimerBase::kPawlTime, 10}, {3, TimerBase::kUtc, 10}},
          {{4, "s", "schedule_to_start_ms=1"}});
    cancel(by, "a");
    NewMessage posted;
    posted.id = "a";
    posted.kind = MessageKind::kQueue;
    posted.name = posted.payload = "m";
    posted.count_max = posted.bytes_max = 10;
    bool room = false;
    must_batch(by, [&] { return by->instance().deliveries.send_message(posted, &room); });
    MessageId last = 0;
    MailboxLimits limits;
    ASSERT_EQ(by->instance().deliveries.last_message(&last, &limits), Status::kOk);
    must_batch(by, [&] { return by->instance().deliveries.reserve_messages(last, 1); });
    clock.advance(20);
    Item item;
    ASSERT_EQ(fetch(by, 1, item), Status::kOk);
    Events events(5);
    events.add(EventKind::kCancelRequested);
    events.add(EventKind::kStateWrite).name = "k";
    events.add(EventKind::kCustomStatus);
    Event& read = events.add(EventKind::kValueRead);
    read.name = "k";
    read.session = "b";
    TurnCommit commit = turn(item, &events);
    const EventId closed = 4;
    commit.closed = {&closed, 1};
    commit.home = 4711;
    commit.more = true;
    // cancel request, message, timers: the second one goes on waiting
    ASSERT_EQ(item.is.messages[1].kind, MessageKind::kQueue);
    const std::vector<MessageId> taken = {item.is.messages[0].id, item.is.messages[2].id,
                                          item.is.messages[3].id};
    commit.messages = {taken.data(), taken.size()};
    commit.kept = {&item.is.messages[1].id, 1};
    acked(by, commit);
    ASSERT_EQ(fetch(by, 1, item), Status::kOk);
    ASSERT_EQ(item.is.waiting_count, 1U);
    ready(by, me);
    KeepEvents sink;
    ASSERT_EQ(by->instance().history.read_history(1, 1, 0, sink), Status::kOk);
    end(by, 2, EndKind::kContinuedAsNew);
    end(by, 3, EndKind::kCompleted);
    status(by, "c");
    must_batch(by, [&] {
      return by->instance().ready.abandon_orchestration_item(1, 2, 5, true, ErrorKind::kNone, "");
    });
    retry_stopped(by, 5);
    wake_delayed(by, 5);
    NextDue due;
    ASSERT_EQ(by->due().next_due(me, true, &due), Status::kOk);
    manage(by);
    move(by, me);
    open_and_close(by);
    clock.reboot(5000);
    clock.trusted = true;
    touch(by);
  }
  void manage(Site& by) {
    auto none = visit([](const InstanceInfo&) {});
    auto nothing = visit([](const ExecutionInfo&) {});
    auto nowhere = visit([](const SessionInfo&) {});
    auto unseen = visit([](const KvEntry&) {});
    class Ignored final : public StateSink {
      Status on_value(std::string_view, std::string_view, std::int64_t) override {
        return Status::kOk;
      }
    } ignored;
    KvPage values;
    KvEntry value;
    InstanceStats stats;
    ASSERT_EQ(by->instance().rows.get_all_kv_values("a", &values, unseen), Status::kOk);
    ASSERT_EQ(
        by->instance().rows.get_kv_value("a", "k", &value, &values.more, output, sizeof output),
        Status::kOk);
    ASSERT_EQ(by->instance().rows.load_state(1, 2, ignored), Status::kOk);
    ASSERT_EQ(by->instance().directory.get_instance_stats("a", &stats), Status::kOk);
    Page page;
    Page sessions;
    must_batch(by, [&] {
      return by->session().directory.list_sessions(SessionFilter(), &sessions, nowhere);
    });
    Metrics metrics;
    Removed removed;
    EndedCursor cursor;
    OptionalMs next_end;
    bool done = false;
    ASSERT_EQ(by->instance().directory.list_instances(InstanceFilter(), &page, none), Status::kOk);
    ASSERT_EQ(by->instance().directory.get_instance_info("a", none), Status::kOk);
    auto no_causes = visit([](const Cause&) {});
    ASSERT_EQ(by->causes().explain_instance("a", no_causes), Status::kOk);
    ASSERT_EQ(by->instance().directory.list_executions(1, nothing), Status::kOk);
    ASSERT_EQ(by->instance().directory.get_metrics(&metrics), Status::kOk);
    must_batch(by, [&] { return by->instance().verbs.suspend_instance("a"); });
    must_batch(by, [&] { return by->instance().verbs.resume_instance("a"); });
    must_batch(by, [&] { return by->instance().verbs.change_time_limit("b", 1); });
    clock.advance(2);
    wake_delayed(by, 5);
    must_batch(by, [&] { return by->instance().verbs.terminate_instance("a", ""); });
    must_batch(by,
               [&] { return by->instance().removal.prune_executions(2, {}, 9, &removed, &done); });
    Retention which;
    which.count_max = 1;
    must_batch(
        by, [&] { return by->instance().removal.delete_ended(which, &cursor, &next_end, &done); });
    must_batch(by, [&] { return by->instance().removal.delete_instance(3, false); });
    must_batch(by, [&] { return by->instance().removal.sweep_deleted(99, &removed, &done); });
    ASSERT_EQ(by->instance().directory.list_tree(1, false, &page, none), Status::kOk);
    must_batch(by, [&] { return by->place().set_quota_and_reserve(1 << 30, 0); });
    end(by, create(by, "past"), EndKind::kContinuedAsNew);
    for (int i = 0; i < 3; ++i)
      must_batch(by, [&] { return by->instance().removal.remove_oldest(99, &removed); });
  }
  // Calls for devices and moves.
  void move(Site& by, Incarnation me) {
    Vector<Evidence::Seen> none;
    Evidence evidence(*by.port.storage, path(), Evidence::Options(), none);
    DeclareSession how;
    how.me = me;
    bool held = false;
    std::size_t ended = 0;
    for (const char* device : {"bed", "bank"}) {
      how.device = device;
      must_batch(
          by, [&] { return by->session().moves.declare_session(how, evidence, &held); }, me);
    }
    auto no_causes = visit([](const Cause&) {});
    ASSERT_EQ(by->causes().explain_session({}, "bed", no_causes), Status::kOk);
    must_batch(
        by, [&] { return by->session().moves.withdraw_session(me, "bed", 0); }, me);
    must_batch(
        by, [&] { return by->session().moves.forget_device("bed"); }, me);
    must_batch(
        by, [&] { return by->session().moves.take_devices_over(me, WorkerTerms(), evidence); }, me);
    ASSERT_EQ(
        batch(
            by, [&] { return by->session().moves.transfer_session({}, "bank", "nobody", 0, true); },
            me),
        Status::kNoEligibleTarget);
    bool moves = false;
    must_batch(
        by, [&] { return by->session().moves.evict_session(WorkDone(), 1, me, &moves); }, me);
    must_batch(
        by, [&] { return by->session().moves.end_stops(5, &ended); }, me);
    OwnedSession owned[4];
    must_batch(
        by, [&] { return by->session().rows.owned_sessions(me, owned, 4, &ended); }, me);
    Epoch epoch = 0;
    must_batch(
        by, [&] { return by->session().rows.last_epoch(&epoch); }, me);
    LeakCursors cursors;
    must_batch(
        by, [&] { return by->session().expiry.report_leaks(WorkerTerms(), &cursors); }, me);
    std::uint32_t active = 0;
    std::uint32_t idle = 0;
    must_batch(
        by, [&] { return by->session().rows.count_sessions(me, &active, &idle); }, me);
    must_batch(
        by, [&] { return by->session().moves.drain_worker("me", 0); }, me);
  }
  // Sessions of an instance: opened, closed, opened anew, and work on them.
  void open_and_close(Site& by) {
    const InstanceKey key = create(by, "opens");
    const Item& item = fetched(by, key);
    Events events = begun();
    for (const EventKind kind :
         {EventKind::kSessionOpen, EventKind::kSessionClose, EventKind::kSessionOpen,
          EventKind::kSessionHold, EventKind::kSessionHandoff, EventKind::kSessionClose}) {
      Event& event = events.add(kind);
      event.name = "own";
      if (kind == EventKind::kSessionOpen) event.policy = "exclusive=1,fail_on_loss=1,notify=1";
    }
    events.add(EventKind::kActivity).name = "a";
    const NewWork work = {8, "own", "own_session=1"};
    TurnCommit commit = turn(item, &events);
    commit.work = {&work, 1};
    acked(by, commit);
    end(by, key, EndKind::kCompleted);
  }
  std::vector<std::string> plan(sqlite3* handle, const char* sql) {
    std::vector<std::string> steps;
    sqlite3_stmt* explain = nullptr;
    const std::string text = std::string("EXPLAIN QUERY PLAN ") + sql;
    EXPECT_EQ(sqlite3_prepare_v2(handle, text.c_str(), -1, &explain, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    while (sqlite3_step(explain) == SQLITE_ROW)
      steps.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(explain, 3)));
    sqlite3_finalize(explain);
    return steps;
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, Plans, ::testing::Values(Ports::kSim), ports_name);

// True if this step reads a table from end to end.
bool scans(const std::string& step) {
  if (step.compare(0, 4, "SCAN") != 0) return false;
  // Harmless scans go along an index, in its order, up to the limit; or over rows of a subquery,
  // which has its own steps.
  for (const char* harmless :
       {"USING INDEX i_", "USING COVERING INDEX i_", "USING INDEX wq_", "USING COVERING INDEX wq_",
        "USING INDEX w_living", "USING COVERING INDEX w_living", "SCAN (", "SCAN few",
        "SCAN newest", "CONSTANT ROW"}) {
    if (step.find(harmless) != std::string::npos) return false;
  }
  return true;
}

TEST_P(Plans, NoStatementScansATable) {
  Site& at = site();
  // The first connection made the image of the new database, in memory, and is closed.
  ASSERT_EQ(opened.size(), 2U);
  work(at);
  // The ring has 64 rows, read when the clock is adopted, synced or set; meta has one row;
  // sqlite_sequence has one for each of four tables.
  const std::set<std::string> allowed = {"SCAN clock_ring", "SCAN meta", "SCAN sqlite_schema",
                                         "SCAN sqlite_sequence"};
  int statements = 0;
  const std::set<std::string> texts = ran;  // a copy, since explaining runs statements too
  for (const std::string& sql : texts) {
    const std::set<std::string> others = {"PRAGMA", "CREATE", "\nCREAT",
                                          "BEGIN ", "COMMIT", "ROLLBA"};
    if (others.count(sql.substr(0, 6)) != 0) continue;
    ++statements;
    for (const std::string& step : plan(opened.back(), sql.c_str())) {
      EXPECT_TRUE(!scans(step) || allowed.count(step) != 0) << sql << "\n  " << step;
    }
  }
  EXPECT_GT(statements, 110);
}

// However many sessions there are: sessions that the filter excludes are not read, and no row is
// sorted. For an instance and for a worker the index gives the keys before the rows are read.
TEST_P(Plans, ListsOfSessionsGoByTheIndexOfTheirFilter) {
  Site& at = site();
  work(at);
  const auto run = [&](const SessionFilter& filter) {
    auto nowhere = visit([](const SessionInfo&) {});
    ran.clear();
    Page page;
    must_batch(at, [&] { return at->session().directory.list_sessions(filter, &page, nowhere); });
    std::string steps;
    const std::set<std::string> texts = ran;
    for (const std::string& sql : texts) {
      if (sql.find("AS s") == std::string::npos) continue;
      for (const std::string& step : plan(opened.back(), sql.c_str()))
        steps += step + "\n";
    }
    return steps;
  };
  worker(at, "here");
  const auto has = [](const std::string& steps, const char* what) {
    return steps.find(what) != std::string::npos;
  };
  SessionFilter filter;
  filter.owner_label = "l";
  std::string steps = run(filter);
  EXPECT_TRUE(has(steps, "SEARCH s USING INDEX s_whose (owner_label=? AND rowid>?)")) << steps;
  EXPECT_FALSE(has(steps, "TEMP B-TREE")) << steps;
  filter = SessionFilter();
  filter.kind = "k";
  steps = run(filter);
  EXPECT_TRUE(has(steps, "SEARCH s USING INDEX s_kind (kind=? AND rowid>?)")) << steps;
  EXPECT_FALSE(has(steps, "TEMP B-TREE")) << steps;
  filter = SessionFilter();
  filter.any_state = false;
  for (const SessionState state : {SessionState::kLost, SessionState::kClosed,
                                   SessionState::kRefused, SessionState::kExpired}) {
    filter.state = state;
    steps = run(filter);
    EXPECT_TRUE(has(steps, "SEARCH s USING INDEX s_ended (state=? AND rowid>?)")) << steps;
    EXPECT_FALSE(has(steps, "TEMP B-TREE")) << steps;
  }
  filter.state = SessionState::kActive;
  steps = run(filter);
  EXPECT_TRUE(has(steps, "SEARCH q USING COVERING INDEX wq_session (sid>?)")) << steps;
  EXPECT_TRUE(has(steps, "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)")) << steps;
  EXPECT_FALSE(has(steps, "TEMP B-TREE")) << steps;
  filter.state = SessionState::kIdle;
  steps = run(filter);
  EXPECT_TRUE(has(steps, "SEARCH s USING INTEGER PRIMARY KEY (rowid>?)")) << steps;
  EXPECT_FALSE(has(steps, "TEMP B-TREE")) << steps;
  filter = SessionFilter();
  filter.instance_id = "a";
  steps = run(filter);
  EXPECT_TRUE(has(steps, "USING COVERING INDEX sqlite_autoindex_sessions_1 (scope=?)")) << steps;
  EXPECT_TRUE(has(steps, "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)")) << steps;
  filter = SessionFilter();
  filter.node = "here";
  steps = run(filter);
  EXPECT_TRUE(has(steps, "USING COVERING INDEX s_owner (owner=?)")) << steps;
  EXPECT_TRUE(has(steps, "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)")) << steps;
}

// The limits guard against what others put into the file. No statement of Pawl may fail because of
// them.
TEST_P(Plans, StatementsNeedHalfOfTheLimits) {
  Site& at = site();
  work(at);
  const std::set<std::string> texts = ran;
  for (const sqlite::Limit& limit : sqlite::kLimits) {
    sqlite3_limit(opened.back(), limit.id, limit.value / 2);
    for (const std::string& sql : texts) {
      if (sql.find("CREATE ") < 2) continue;  // the objects that it makes exist already
      sqlite3_stmt* statement = nullptr;
      EXPECT_EQ(sqlite3_prepare_v2(opened.back(), sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
          << limit.id << ": " << sql;
      sqlite3_finalize(statement);
    }
    sqlite3_limit(opened.back(), limit.id, limit.value);
  }
}

// SQLite gives a table that a statement makes for itself pages of 4 KiB, 31 KB on a 32-bit machine.
// The least heap of a connection has room for one of them. A call that reads messages, which each
// turn does, makes none.
TEST_P(Plans, NoStatementMakesTwoTables) {
  Site& at = site();
  work(at);
  const std::set<std::string> texts = ran;
  for (const std::string& sql : texts) {
    if (sql.find("CREATE ") < 2) continue;
    sqlite3_stmt* explain = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(opened.back(), ("EXPLAIN " + sql).c_str(), -1, &explain, nullptr),
              SQLITE_OK)
        << sql;
    int tables = 0;
    while (sqlite3_step(explain) == SQLITE_ROW) {
      const auto* const step = reinterpret_cast<const char*>(sqlite3_column_text(explain, 1));
      if (std::string_view(step) == "OpenEphemeral") ++tables;
    }
    sqlite3_finalize(explain);
    const bool reads_messages =
        sql.find("SELECT") == 0 && sql.find("orchestrator_queue") != std::string::npos;
    EXPECT_LE(tables, reads_messages ? 0 : 1) << sql;
  }
}

TEST_P(Plans, PreparedStatementsFitASmallHeap) {
  Site& at = site();
  work(at);
  int bytes = 0;
  int statements = 0;
  for (sqlite3_stmt* one = sqlite3_next_stmt(opened.back(), nullptr); one != nullptr;
       one = sqlite3_next_stmt(opened.back(), one)) {
    bytes += sqlite3_stmt_status(one, SQLITE_STMTSTATUS_MEMUSED, 0);
    ++statements;
  }
  RecordProperty("statements", statements);
  RecordProperty("bytes", bytes);
  EXPECT_LT(bytes, 512 * 1024) << statements;
}

}  // namespace
}  // namespace pawl::test
