// Goal: a schema of a server is opened, made or refused as its content says, and nothing is written
// to one that is refused. Method: what stands there is made by hand.
#include "store/postgres/postgres_database.hpp"

#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "pawl/port_sim.hpp"
#include "server_by_hand.hpp"

namespace pawl::test {
namespace {

class PostgresDatabase : public ::testing::Test {
 protected:
  PostgresDatabase() {
    execute("DROP SCHEMA IF EXISTS pawl CASCADE;DROP SCHEMA IF EXISTS plant_7 CASCADE");
  }

  void execute(const std::string& sql) { by_hand_.execute(sql); }
  std::string ask(const std::string& sql) { return by_hand_.ask(sql); }

  Status open(const char* schema = "pawl") {
    StoreOptions options;
    options.schema = schema;
    return open(options);
  }
  Status open(StoreOptions options) {
    options.path = "test.db";
    if (options.server == nullptr) options.server = ServerByHand::address();
    store_ = std::make_unique<postgres::PostgresStore>();
    return store_->open(options, node_.port(), diagnostic_);
  }
  [[nodiscard]] std::string said() const { return std::string(diagnostic_.text()); }
  void has(const char* text) { EXPECT_NE(said().find(text), std::string::npos) << said(); }

  ServerByHand by_hand_;
  sim::Machine machine_{7};
  sim::Node node_{machine_};
  Diagnostic diagnostic_;
  std::unique_ptr<postgres::PostgresStore> store_;
};

TEST_F(PostgresDatabase, AStoreIsMadeOnceAndFoundAgain) {
  ASSERT_EQ(open(), Status::kOk) << said();
  const std::string id(store_->database_id());
  EXPECT_EQ(id.size(), 32U);
  ASSERT_EQ(open(), Status::kOk) << said();
  EXPECT_EQ(store_->database_id(), id);
  ASSERT_EQ(open("plant_7"), Status::kOk) << said();
  EXPECT_NE(store_->database_id(), id) << "each schema is a store of its own";
}

TEST_F(PostgresDatabase, ASchemaThatIsThereAndEmptyIsFilled) {
  execute("CREATE SCHEMA pawl");
  EXPECT_EQ(open(), Status::kOk) << said();
}

// A user owns one schema and may do no more.
TEST_F(PostgresDatabase, ARoleThatOwnsOneSchemaIsEnough) {
  execute(
      "DROP ROLE IF EXISTS gateway;CREATE ROLE gateway LOGIN;CREATE SCHEMA pawl AUTHORIZATION "
      "gateway");
  StoreOptions options;
  const std::string as_gateway = std::string(ServerByHand::address()) + " user=gateway";
  options.server = as_gateway.c_str();
  ASSERT_EQ(open(options), Status::kOk) << said();
  BatchInfo info;
  EXPECT_EQ(store_->batch().begin(0, &info), Status::kOk);
  EXPECT_EQ(store_->batch().commit(), Status::kOk);
  options.schema = "plant_7";
  EXPECT_EQ(open(options), Status::kReadOnly) << "it may not make one";
  has("permission denied");
  execute("DROP SCHEMA pawl CASCADE;DROP ROLE gateway");
}

TEST_F(PostgresDatabase, WithoutCreateNothingIsMade) {
  StoreOptions options;
  options.create = false;
  EXPECT_EQ(open(options), Status::kCannotOpen);
  has("holds no tables of Pawl");
  options.create = true;
  options.read_only = true;
  EXPECT_EQ(open(options), Status::kCannotOpen);
  EXPECT_EQ(ask("SELECT count(*) FROM pg_namespace WHERE nspname='pawl'"), "0");
}

TEST_F(PostgresDatabase, TablesOfAnotherProgramAreRefused) {
  for (const char* table : {"orders(id bigint)", "meta(id bigint,database_id text)"}) {
    execute(
        std::string("DROP SCHEMA IF EXISTS pawl CASCADE;CREATE SCHEMA pawl;CREATE TABLE pawl.") +
        table);
    EXPECT_EQ(open(), Status::kForeignDatabase) << table;
    has("tables of another program");
    EXPECT_EQ(ask("SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace "
                  "WHERE n.nspname='pawl'"),
              "1");
  }
}

TEST_F(PostgresDatabase, AnotherFormatIsRefused) {
  ASSERT_EQ(open(), Status::kOk) << said();
  execute("UPDATE pawl.meta SET form=2");
  EXPECT_EQ(open(), Status::kNewerDatabase);
  has("written by a newer Pawl: format 2, this one reads only 1");
  execute("UPDATE pawl.meta SET form=0");
  EXPECT_EQ(open(), Status::kOlderDatabase);
  has("written by an older Pawl");
}

// A node of the new version has changed the format while one of the old version runs.
TEST_F(PostgresDatabase, AnotherFormatIsNoticedByTheNextBatch) {
  ASSERT_EQ(open(), Status::kOk) << said();
  execute("UPDATE pawl.meta SET form=2,seq=seq+1");
  BatchInfo info;
  EXPECT_EQ(store_->batch().begin(0, &info), Status::kNewerDatabase);
  EXPECT_NE(store_->diagnostic().text().find("newer Pawl"), std::string_view::npos)
      << store_->diagnostic().text();
}

TEST_F(PostgresDatabase, AChangeByHandIsRefused) {
  for (const char* change :
       {"ALTER TABLE pawl.instances DROP COLUMN trace",
        "ALTER TABLE pawl.instances ADD COLUMN x text", "DROP INDEX pawl.oq_due",
        "DROP TABLE pawl.clock_ring", "DROP AGGREGATE pawl.sum(bigint)",
        "ALTER TABLE pawl.instances ALTER COLUMN name TYPE text COLLATE \"POSIX\"",
        "ALTER TABLE pawl.instances ALTER COLUMN state TYPE integer",
        "ALTER TABLE pawl.instances ALTER COLUMN name DROP NOT NULL"}) {
    execute("DROP SCHEMA IF EXISTS pawl CASCADE");
    ASSERT_EQ(open(), Status::kOk) << said();
    execute(change);
    EXPECT_EQ(open(), Status::kCorrupt) << change;
    has("is not as Pawl made it");
  }
}

TEST_F(PostgresDatabase, AMissingRowOfMetaIsDamage) {
  ASSERT_EQ(open(), Status::kOk) << said();
  execute("DELETE FROM pawl.meta");
  EXPECT_EQ(open(), Status::kCorrupt);
  has("table meta has no row");
}

TEST_F(PostgresDatabase, ManyThatOpenAtOnceMakeOneStore) {
  constexpr int kNodes = 6;
  std::vector<std::string> ids(kNodes);
  std::vector<std::thread> threads;
  for (std::string& id : ids)
    threads.emplace_back([&id, seed = threads.size() + 1] {
      // Two of one seed would draw one id of a node, and end each other's connections.
      sim::Machine machine(seed);
      sim::Node node(machine);
      postgres::PostgresStore store;
      StoreOptions options;
      options.path = "test.db";
      options.server = ServerByHand::address();
      Diagnostic diagnostic;
      const Status status = store.open(options, node.port(), diagnostic);
      id =
          status == Status::kOk ? std::string(store.database_id()) : std::string(diagnostic.text());
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const std::string& id : ids)
    EXPECT_EQ(id, ids.front());
  EXPECT_EQ(ask("SELECT count(*) FROM pawl.meta"), "1");
}

TEST_F(PostgresDatabase, NamesOfSchemasThatCouldEndATextAreRefused) {
  const std::string most(63, 'a');
  EXPECT_EQ(open(most.c_str()), Status::kOk) << said();
  execute("DROP SCHEMA " + most + " CASCADE");
  const std::string long_one(64, 'a');
  for (const char* name : {"", "a;DROP TABLE x", "\"a\"", "7up", "Plant", "pg_temp", "a b",
                           "\xc3\xa4", long_one.c_str()}) {
    EXPECT_EQ(open(name), Status::kInvalidArgument) << name;
    has("the name of a schema");
  }
}

// The server may be another one, with other rows under the same version.
TEST_F(PostgresDatabase, ANewConnectionHasAnotherVersion) {
  ASSERT_EQ(open(), Status::kOk) << said();
  const Result<std::int64_t> before = store_->batch().data_version();
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(store_->batch().data_version().value(), before.value());
  for (int i = 1; i <= 3; ++i) {
    ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid<>pg_backend_pid() "
        "AND backend_type='client backend'");
    // The server ends it when it comes to it.
    std::int64_t after = before.value() + i - 1;
    for (int looks = 0; looks < 10'000 && after < before.value() + i; ++looks) {
      const Result<std::int64_t> is = store_->batch().data_version();
      ASSERT_TRUE(is.ok()) << store_->diagnostic().text();
      after = is.value();
    }
    EXPECT_EQ(after, before.value() + i);
  }
}

// A restore under the same name is not what the process has worked on.
TEST_F(PostgresDatabase, AnotherDatabaseInItsPlaceIsNotUsed) {
  ASSERT_EQ(open(), Status::kOk) << said();
  const std::string id = ask("SELECT database_id FROM pawl.meta");
  execute("UPDATE pawl.meta SET database_id=repeat('0',32)");
  ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid<>pg_backend_pid() "
      "AND backend_type='client backend'");
  Result<std::int64_t> is = store_->batch().data_version();
  for (int looks = 0; looks < 10'000 && is.ok(); ++looks)  // until the server has ended it
    is = store_->batch().data_version();
  EXPECT_EQ(is.status(), Status::kIo);
  EXPECT_NE(store_->diagnostic().text().find("another database has taken its place"),
            std::string_view::npos)
      << store_->diagnostic().text();
  execute("UPDATE pawl.meta SET database_id='" + id + "'");
  EXPECT_TRUE(store_->batch().data_version().ok());
}

// Nodes that were killed left their rows; an orderly end takes its own away.
TEST_F(PostgresDatabase, RowsOfNodesGo) {
  ASSERT_EQ(open(), Status::kOk) << said();
  BatchInfo info;
  ASSERT_EQ(store_->batch().begin(0, &info), Status::kOk);
  ASSERT_EQ(store_->place().set_log_max(7), Status::kOk);
  ASSERT_EQ(store_->batch().commit(), Status::kOk);
  EXPECT_EQ(ask("SELECT count(*) FROM pawl.nodes WHERE number=1 AND committed=1"), "1");
  store_->close();
  EXPECT_EQ(ask("SELECT count(*) FROM pawl.nodes"), "0");
  execute(
      "INSERT INTO pawl.nodes SELECT 1,1,1,mark-604800001 FROM pawl.meta;"
      "INSERT INTO pawl.nodes SELECT 2,1,1,mark-604800000 FROM pawl.meta");
  ASSERT_EQ(open(), Status::kOk) << said();
  EXPECT_EQ(ask("SELECT id FROM pawl.nodes"), "2") << "a week old";
}

TEST_F(PostgresDatabase, AServerThatIsNotThereIsNamed) {
  StoreOptions options;
  options.server = "host=/nowhere/at/all user=pawl password=secret dbname=postgres";
  EXPECT_EQ(open(options), Status::kCannotOpen);
  has("/nowhere/at/all");
  EXPECT_EQ(said().find("secret"), std::string::npos) << said();
}

// Another node holds the lock, and the wait for it has its limit.
TEST_F(PostgresDatabase, ALockThatIsHeldIsBusy) {
  StoreOptions options;
  for (const std::int64_t ms : {0, 1, 50}) {
    options.busy_ms_max = ms;
    ASSERT_EQ(open(options), Status::kOk) << said();
    execute("BEGIN;SELECT 1 FROM pawl.meta FOR UPDATE");
    BatchInfo info;
    EXPECT_EQ(store_->batch().begin(0, &info), Status::kBusy);
    execute("ROLLBACK");
    EXPECT_EQ(store_->batch().begin(0, &info), Status::kOk) << store_->diagnostic().text();
    EXPECT_EQ(store_->batch().commit(), Status::kOk);
  }
}

TEST_F(PostgresDatabase, TheLongestWaitForTheLockIsTaken) {
  StoreOptions options;
  options.busy_ms_max = std::numeric_limits<std::int64_t>::max();
  ASSERT_EQ(open(options), Status::kOk) << said();
  BatchInfo info;
  EXPECT_EQ(store_->batch().begin(0, &info), Status::kOk) << store_->diagnostic().text();
  EXPECT_EQ(store_->batch().commit(), Status::kOk);
  options.busy_ms_max = -1;
  EXPECT_EQ(open(options), Status::kInvalidArgument);
}

TEST_F(PostgresDatabase, SpaceIsThatOfItsTables) {
  ASSERT_EQ(open(), Status::kOk) << said();
  SpaceUse use;
  ASSERT_EQ(store_->place().read_use(&use), Status::kOk) << store_->diagnostic().text();
  const std::int64_t before = use.used_bytes;
  EXPECT_GT(before, 100'000) << "an index has a page when it is empty";
  execute(
      "INSERT INTO pawl.history(row_number,instance,execution,id,kind,time,crc,payload) "
      "SELECT i,1,1,i,1,0,0,decode(repeat('ab',1000),'hex') FROM generate_series(1,1000) i");
  ASSERT_EQ(store_->place().read_use(&use), Status::kOk);
  EXPECT_GT(use.used_bytes, before + 1'000'000);
}

TEST_F(PostgresDatabase, AReserveIsForFiles) {
  ASSERT_EQ(open(), Status::kOk) << said();
  EXPECT_EQ(store_->place().make_reserve(65'536), Status::kUnsupported);
}

// ---- statements of a batch ----

constexpr auto kBeginBatch = PAWL_QUERY("BEGIN IMMEDIATE", sql::kEnginesOwn);
constexpr auto kBeginView = PAWL_QUERY("BEGIN");
constexpr auto kCommitBatch = PAWL_QUERY("COMMIT");
constexpr auto kRollBack = PAWL_QUERY("ROLLBACK");
constexpr auto kTooMuch =
    PAWL_QUERY("UPDATE meta SET next_token=next_token+9223372036854775807 WHERE id=1");
constexpr auto kOneMore = PAWL_QUERY("UPDATE meta SET next_epoch=next_epoch+1 WHERE id=1");
constexpr auto kReadEpoch = PAWL_QUERY("SELECT next_epoch FROM meta WHERE id=1");
constexpr auto kReadTooMuch =
    PAWL_QUERY("SELECT next_token+9223372036854775807 FROM meta WHERE id=1");
constexpr auto kManyRows = PAWL_QUERY("SELECT g FROM generate_series(1,?1) AS g");

class BatchOnServer : public PostgresDatabase {
 protected:
  BatchOnServer() {
    StoreOptions options;
    options.path = "batch.db";
    options.server = ServerByHand::address();
    EXPECT_EQ(database_.prepare(options, node_.port(), diagnostic_), Status::kOk) << said();
    EXPECT_EQ(database_.connect(diagnostic_), Status::kOk) << said();
    EXPECT_EQ(database_.set_up(diagnostic_), Status::kOk) << said();
  }
  ~BatchOnServer() override { database_.disconnect(); }
  Status run(sql::QueryRef query) { return connection_.use(query).run(); }

  postgres::Connection connection_;
  postgres::Database database_{connection_};
};

// The row of a read that fails among others is not known, so the next batch reads for itself. A
// view between them changes nothing.
TEST_F(BatchOnServer, AfterAReadAheadThatFailed_TheNextBatchBlamesTheRow) {
  connection_.use(kReadTooMuch).read_ahead();
  EXPECT_EQ(run(kBeginBatch), Status::kCorrupt);
  EXPECT_FALSE(connection_.damage().has_value());
  ASSERT_EQ(run(kBeginView), Status::kOk);
  EXPECT_FALSE(connection_.reads_ahead());
  ASSERT_EQ(run(kCommitBatch), Status::kOk);
  EXPECT_FALSE(connection_.reads_ahead());
  ASSERT_EQ(run(kBeginBatch), Status::kOk);
  {
    const sql::Connection::Suspicion suspect(connection_, RowRef::Table::kWork, 2);
    EXPECT_FALSE(connection_.use(kReadTooMuch).row());
  }
  ASSERT_TRUE(connection_.damage().has_value());
  EXPECT_EQ(connection_.damage()->row, (RowRef{RowRef::Table::kWork, 2}));
  ASSERT_EQ(run(kRollBack), Status::kOk);
  connection_.forget_damage();
  EXPECT_TRUE(connection_.reads_ahead());
}

// It is sent without waiting, and fails when something else is asked.
TEST_F(BatchOnServer, AWriteThatFailsLater_BlamesTheRowThatWasSuspectedThen) {
  ASSERT_EQ(run(kBeginBatch), Status::kOk);
  {
    const sql::Connection::Suspicion first(connection_, RowRef::Table::kInstances, 1);
    EXPECT_EQ(run(kOneMore), Status::kOk);
  }
  {
    const sql::Connection::Suspicion second(connection_, RowRef::Table::kWork, 2);
    EXPECT_EQ(run(kTooMuch), Status::kOk);
  }
  const sql::Connection::Suspicion third(connection_, RowRef::Table::kSessions, 3);
  EXPECT_EQ(run(kOneMore), Status::kOk);
  EXPECT_EQ(run(kReadEpoch), Status::kCorrupt);
  ASSERT_TRUE(connection_.damage().has_value());
  EXPECT_EQ(connection_.damage()->row, (RowRef{RowRef::Table::kWork, 2}));
  connection_.forget_damage();
  // All that follows fails for the same reason, and blames no other row.
  EXPECT_EQ(run(kOneMore), Status::kCorrupt);
  EXPECT_EQ(connection_.damage()->row, (RowRef{RowRef::Table::kWork, 2}));
  EXPECT_EQ(run(kCommitBatch), Status::kCorrupt);
  ASSERT_EQ(run(kRollBack), Status::kOk);
  connection_.forget_damage();
  // The next batch begins as if nothing had been.
  ASSERT_EQ(run(kBeginBatch), Status::kOk);
  EXPECT_EQ(run(kOneMore), Status::kOk);
  EXPECT_EQ(run(kCommitBatch), Status::kOk);
  EXPECT_FALSE(connection_.damage().has_value());
  EXPECT_EQ(ask("SELECT next_epoch FROM pawl.meta"), "2");
}

// A read failed before, under no suspicion.
TEST_F(BatchOnServer, WhatFollowsAFailure_BlamesNoRow) {
  ASSERT_EQ(run(kBeginBatch), Status::kOk);
  EXPECT_EQ(run(kReadTooMuch), Status::kCorrupt);
  const sql::Connection::Suspicion suspect(connection_, RowRef::Table::kInstances, 1);
  EXPECT_EQ(run(kReadEpoch), Status::kCorrupt);
  EXPECT_FALSE(connection_.damage().has_value());
  EXPECT_EQ(run(kRollBack), Status::kOk);
}

TEST_F(BatchOnServer, ThatItFailed_IsSaidByTheCommitAndByACount) {
  ASSERT_EQ(run(kBeginBatch), Status::kOk);
  EXPECT_EQ(run(kTooMuch), Status::kOk);
  EXPECT_EQ(run(kCommitBatch), Status::kCorrupt);
  ASSERT_EQ(run(kRollBack), Status::kOk);
  ASSERT_EQ(run(kBeginBatch), Status::kOk);
  std::int64_t changed = 7;
  EXPECT_EQ(connection_.use(kOneMore).run(&changed), Status::kOk);
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(connection_.use(kTooMuch).run(&changed), Status::kCorrupt);
  ASSERT_EQ(run(kRollBack), Status::kOk);
  EXPECT_EQ(ask("SELECT next_epoch FROM pawl.meta"), "1");
}

// The batch is given up for another reason, before what it sent was heard of.
TEST_F(BatchOnServer, ARollbackEndsItWhateverWasSent) {
  ASSERT_EQ(run(kBeginBatch), Status::kOk);
  EXPECT_EQ(run(kTooMuch), Status::kOk);
  EXPECT_EQ(run(kRollBack), Status::kOk);
  EXPECT_FALSE(connection_.in_transaction());
  ASSERT_EQ(run(kBeginBatch), Status::kOk);
  EXPECT_EQ(run(kOneMore), Status::kOk);
  EXPECT_EQ(run(kCommitBatch), Status::kOk);
}

// More statements than are sent before an answer is waited for.
TEST_F(BatchOnServer, AnyNumberOfWritesIsWritten) {
  constexpr int kWrites = 3 * postgres::kQueuedMax + 1;
  ASSERT_EQ(run(kBeginBatch), Status::kOk);
  for (int i = 0; i < kWrites; ++i)
    ASSERT_EQ(run(kOneMore), Status::kOk);
  EXPECT_EQ(run(kCommitBatch), Status::kOk);
  EXPECT_EQ(ask("SELECT next_epoch FROM pawl.meta"), std::to_string(1 + kWrites));
}

// The pages have 32, 128, 512, 2048 rows and so on.
TEST_F(BatchOnServer, AListComesWholeInAndOutsideOfATransaction) {
  for (const bool is_in_batch : {false, true}) {
    if (is_in_batch) {
      ASSERT_EQ(run(kBeginBatch), Status::kOk);
    }
    for (const std::int64_t rows : {0, 1, 31, 32, 33, 160, 161, 10'000}) {
      sql::Statement list = connection_.use(kManyRows);
      list.bind(rows);
      std::int64_t seen = 0;
      while (list.row())
        ASSERT_EQ(list.integer(0), ++seen);
      EXPECT_EQ(list.status(), Status::kOk);
      EXPECT_EQ(seen, rows);
    }
  }
  EXPECT_EQ(run(kRollBack), Status::kOk);
}

}  // namespace
}  // namespace pawl::test
