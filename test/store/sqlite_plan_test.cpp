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

  void work(Site& at) {
    const Incarnation me = worker(at, "me");
    for (const char* id : {"a", "b", "c"})
      create(at, id);
    start(at, 1, {{2, TimerBase::kPawlTime, 10}, {3, TimerBase::kUtc, 10}},
          {{4, "s", "schedule_to_start_ms=1"}});
    ASSERT_EQ(batch(at, [&] { return at->instance().deliveries.cancel_instance("a", "r"); }),
              Status::kOk);
    NewMessage posted;
    posted.id = "a";
    posted.kind = MessageKind::kQueue;
    posted.name = posted.payload = "m";
    posted.count_max = posted.bytes_max = 10;
    bool room = false;
    ASSERT_EQ(batch(at, [&] { return at->instance().deliveries.send_message(posted, &room); }),
              Status::kOk);
    MessageId last = 0;
    MailboxLimits limits;
    ASSERT_EQ(at->instance().deliveries.last_message(&last, &limits), Status::kOk);
    ASSERT_EQ(batch(at, [&] { return at->instance().deliveries.reserve_messages(last, 1); }),
              Status::kOk);
    clock.advance(20);
    Item item;
    ASSERT_EQ(fetch(at, 1, item), Status::kOk);
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
    ASSERT_EQ(ack(at, commit), Status::kOk);
    ASSERT_EQ(fetch(at, 1, item), Status::kOk);
    ASSERT_EQ(item.is.waiting_count, 1U);
    ready(at, me);
    KeepEvents sink;
    ASSERT_EQ(at->instance().history.read_history(1, 1, 0, sink), Status::kOk);
    end_one(at, 2, EndKind::kContinuedAsNew);
    end_one(at, 3, EndKind::kCompleted);
    status(at, "c");
    ASSERT_EQ(batch(at,
                    [&] {
                      return at->instance().ready.abandon_orchestration_item(1, 2, 5, true,
                                                                             ErrorKind::kNone, "");
                    }),
              Status::kOk);
    std::size_t count = 0;
    ASSERT_EQ(batch(at, [&] { return at->instance().ready.retry_stopped(5, &count); }),
              Status::kOk);
    ASSERT_EQ(batch(at, [&] { return at->instance().ready.wake_delayed(5, &count); }), Status::kOk);
    NextDue due;
    ASSERT_EQ(at->due().next_due(me, true, &due), Status::kOk);
    manage(at);
    move(at, me);
    open_and_close(at);
    clock.reboot(5000);
    clock.trusted = true;
    touch(at);
  }
  void manage(Site& at) {
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
    ASSERT_EQ(at->instance().rows.get_all_kv_values("a", &values, unseen), Status::kOk);
    ASSERT_EQ(
        at->instance().rows.get_kv_value("a", "k", &value, &values.more, output, sizeof output),
        Status::kOk);
    ASSERT_EQ(at->instance().rows.load_state(1, 2, ignored), Status::kOk);
    ASSERT_EQ(at->instance().directory.get_instance_stats("a", &stats), Status::kOk);
    Page page;
    Page sessions;
    ASSERT_EQ(batch(at,
                    [&] {
                      return at->session().directory.list_sessions(SessionFilter(), &sessions,
                                                                   nowhere);
                    }),
              Status::kOk);
    Metrics metrics;
    Removed removed;
    EndedCursor cursor;
    OptionalMs next_end;
    bool done = false;
    ASSERT_EQ(at->instance().directory.list_instances(InstanceFilter(), &page, none), Status::kOk);
    ASSERT_EQ(at->instance().directory.get_instance_info("a", none), Status::kOk);
    ASSERT_EQ(at->instance().directory.list_executions(1, nothing), Status::kOk);
    ASSERT_EQ(at->instance().directory.get_metrics(&metrics), Status::kOk);
    ASSERT_EQ(batch(at, [&] { return at->instance().verbs.suspend_instance("a"); }), Status::kOk);
    ASSERT_EQ(batch(at, [&] { return at->instance().verbs.resume_instance("a"); }), Status::kOk);
    ASSERT_EQ(batch(at, [&] { return at->instance().verbs.terminate_instance("a", ""); }),
              Status::kOk);
    ASSERT_EQ(
        batch(at,
              [&] { return at->instance().removal.prune_executions(2, {}, 9, &removed, &done); }),
        Status::kOk);
    Retention which;
    which.count_max = 1;
    ASSERT_EQ(batch(at,
                    [&] {
                      return at->instance().removal.delete_ended(which, &cursor, &next_end, &done);
                    }),
              Status::kOk);
    ASSERT_EQ(batch(at, [&] { return at->instance().removal.delete_instance(3, false); }),
              Status::kOk);
    ASSERT_EQ(batch(at, [&] { return at->instance().removal.sweep_deleted(99, &removed, &done); }),
              Status::kOk);
    ASSERT_EQ(at->instance().directory.list_tree(1, false, &page, none), Status::kOk);
    ASSERT_EQ(batch(at, [&] { return at->place().set_quota_and_reserve(1 << 30, 0); }),
              Status::kOk);
    end_one(at, create(at, "past"), EndKind::kContinuedAsNew);
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(batch(at, [&] { return at->instance().removal.remove_oldest(99, &removed); }),
                Status::kOk);
  }
  // Calls for devices and moves.
  void move(Site& at, Incarnation me) {
    Evidence evidence(*at.port.storage, path(), Evidence::Options());
    DeclareSession how;
    how.me = me;
    bool held = false;
    std::size_t ended = 0;
    for (const char* device : {"bed", "bank"}) {
      how.device = device;
      ASSERT_EQ(
          batch(
              at, [&] { return at->session().moves.declare_session(how, evidence, &held); }, me),
          Status::kOk);
    }
    ASSERT_EQ(batch(
                  at, [&] { return at->session().moves.withdraw_session(me, "bed", 0); }, me),
              Status::kOk);
    ASSERT_EQ(batch(
                  at, [&] { return at->session().moves.forget_device("bed"); }, me),
              Status::kOk);
    ASSERT_EQ(
        batch(
            at, [&] { return at->session().moves.take_devices_over(me, WorkerTerms(), evidence); },
            me),
        Status::kOk);
    ASSERT_EQ(
        batch(
            at, [&] { return at->session().moves.transfer_session({}, "bank", "nobody", 0, true); },
            me),
        Status::kNoEligibleTarget);
    bool moves = false;
    ASSERT_EQ(
        batch(
            at, [&] { return at->session().moves.evict_session(WorkDone(), 1, me, &moves); }, me),
        Status::kOk);
    ASSERT_EQ(batch(
                  at, [&] { return at->session().moves.end_stops(5, &ended); }, me),
              Status::kOk);
    OwnedSession owned[4];
    ASSERT_EQ(batch(
                  at, [&] { return at->session().rows.owned_sessions(me, owned, 4, &ended); }, me),
              Status::kOk);
    Epoch epoch = 0;
    ASSERT_EQ(batch(
                  at, [&] { return at->session().rows.last_epoch(&epoch); }, me),
              Status::kOk);
    LeakCursors cursors;
    ASSERT_EQ(
        batch(
            at, [&] { return at->session().expiry.report_leaks(WorkerTerms(), &cursors); }, me),
        Status::kOk);
    std::uint32_t active = 0;
    std::uint32_t idle = 0;
    ASSERT_EQ(batch(
                  at, [&] { return at->session().rows.count_sessions(me, &active, &idle); }, me),
              Status::kOk);
    ASSERT_EQ(batch(
                  at, [&] { return at->session().moves.drain_worker("me", 0); }, me),
              Status::kOk);
  }
  // Sessions of an instance: opened, closed, opened anew, and work on them.
  void open_and_close(Site& at) {
    const InstanceKey key = create(at, "opens");
    Item item;
    ASSERT_EQ(fetch(at, key, item), Status::kOk);
    Events events(1);
    events.add(EventKind::kStarted).name = "n";
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
    ASSERT_EQ(ack(at, commit), Status::kOk);
    end_one(at, key, EndKind::kCompleted);
  }
  void end_one(Site& at, InstanceKey key, EndKind kind) {
    Item item;
    ASSERT_EQ(fetch(at, key, item), Status::kOk);
    Events events(item.is.last_event + 1);
    if (item.is.last_event == 0) events.add(EventKind::kStarted).name = "n";
    events.add(EventKind::kEnded).end = kind;
    TurnCommit commit = turn(item, &events);
    commit.end = kind;
    ASSERT_EQ(ack(at, commit), Status::kOk);
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
        "USING INDEX w_living", "USING COVERING INDEX w_living", "SCAN (", "CONSTANT ROW"}) {
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
    EXPECT_EQ(
        batch(at, [&] { return at->session().directory.list_sessions(filter, &page, nowhere); }),
        Status::kOk);
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
