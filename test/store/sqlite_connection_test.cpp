// Goal: every result code of SQLite has one meaning, and files lent by a port without a native VFS
// read as SQLite wants them to.
#include "store/sqlite/sqlite_connection.hpp"

#include "store/sqlite/sqlite_vfs.hpp"
#include "store_world.hpp"

namespace pawl::test {
namespace {

TEST(ResultCodes, AreStatuses) {
  struct Case {
    int code;
    Status status;
  };
  const Case cases[] = {
      {SQLITE_OK, Status::kOk},
      {SQLITE_DONE, Status::kOk},
      {SQLITE_BUSY, Status::kBusy},
      {SQLITE_BUSY_SNAPSHOT, Status::kBusy},
      {SQLITE_LOCKED, Status::kBusy},
      {SQLITE_FULL, Status::kFull},
      {SQLITE_IOERR, Status::kIo},
      {SQLITE_IOERR_FSYNC, Status::kIo},
      {SQLITE_IOERR_NOMEM, Status::kResourceExhausted},
      {SQLITE_NOMEM, Status::kResourceExhausted},
      {SQLITE_TOOBIG, Status::kResourceExhausted},
      {SQLITE_CORRUPT, Status::kCorrupt},
      {SQLITE_CORRUPT_INDEX, Status::kCorrupt},
      {SQLITE_NOTADB, Status::kCorrupt},
      {SQLITE_READONLY, Status::kReadOnly},
      {SQLITE_READONLY_DBMOVED, Status::kReadOnly},
      {SQLITE_CANTOPEN, Status::kCannotOpen},
      {SQLITE_CANTOPEN_ISDIR, Status::kCannotOpen},
      {SQLITE_CONSTRAINT_UNIQUE, Status::kAlreadyExists},
      {SQLITE_INTERNAL, Status::kIo},
  };
  for (const Case& one : cases)
    EXPECT_EQ(sqlite::status_of(one.code), one.status) << sqlite3_errstr(one.code);
}

// Pawl's connection to a database that another program has made.
class Protected : public ::testing::Test {
 protected:
  void open(const char* planted) {
    sqlite3* theirs = nullptr;
    ASSERT_EQ(sqlite3_open(":memory:", &theirs), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(theirs, planted, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(theirs);
    sqlite3_int64 size = 0;
    unsigned char* const bytes = sqlite3_serialize(theirs, "main", &size, 0);
    sqlite3_close(theirs);
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    Diagnostic why;
    ASSERT_EQ(ours.open(":memory:", kFlags, nullptr, why), Status::kOk) << why.text();
    ASSERT_EQ(sqlite3_deserialize(ours.handle(), "main", bytes, size, size,
                                  SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
              SQLITE_OK);
  }
  std::string said() { return std::string(ours.diagnostic().text()); }
  static constexpr std::int64_t kSteps = 2'000'000;
  sqlite::Connection ours{kSteps};
};

constexpr auto kInsertOne = PAWL_QUERY("INSERT INTO t VALUES(1)");
constexpr auto kInsertTwo = PAWL_QUERY("INSERT INTO t VALUES(2)");
constexpr auto kUpdateAll = PAWL_QUERY("UPDATE t SET x=3");
constexpr auto kReadView = PAWL_QUERY("SELECT * FROM v");
constexpr auto kAttach = PAWL_QUERY("ATTACH ':memory:' AS other");
constexpr auto kLoadExtension = PAWL_QUERY("SELECT load_extension('x')");
constexpr auto kWritableSchema = PAWL_QUERY("PRAGMA writable_schema=ON");
constexpr auto kWriteSchema = PAWL_QUERY("UPDATE sqlite_schema SET sql='' WHERE name='t'");
constexpr auto kNoSuchColumn = PAWL_QUERY("SELECT \"no such column\"");
constexpr auto kEndless = PAWL_QUERY(
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c");
constexpr auto kLong = PAWL_QUERY(
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 100000)"
    " SELECT count(*) FROM c");

TEST_F(Protected, PlantedTriggersDoNotRun) {
  open(
      "CREATE TABLE t(x); INSERT INTO t VALUES(1);"
      "CREATE TABLE seen(x);"
      "CREATE TRIGGER drops BEFORE INSERT ON t BEGIN SELECT RAISE(IGNORE); END;"
      "CREATE TRIGGER endless AFTER UPDATE ON t BEGIN INSERT INTO seen WITH RECURSIVE c(x) AS"
      " (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c; END");
  EXPECT_EQ(ours.use(kInsertTwo).run(), Status::kOk) << said();
  EXPECT_EQ(ours.changes(), 1);
  EXPECT_EQ(ours.use(kUpdateAll).run(), Status::kOk) << said();
  EXPECT_EQ(ours.changes(), 2);
}

TEST_F(Protected, PlantedViewsAreNotRead) {
  open("CREATE VIEW v AS SELECT 1");
  EXPECT_EQ(ours.use(kReadView).run(), Status::kCorrupt);
  EXPECT_NE(said().find("v"), std::string::npos) << said();
}

TEST_F(Protected, NothingIsAttachedOrLoadedAndTheSchemaIsNotWritten) {
  open("CREATE TABLE t(x)");
  EXPECT_NE(ours.use(kAttach).run(), Status::kOk);
  EXPECT_NE(ours.use(kLoadExtension).run(), Status::kOk);
  EXPECT_EQ(ours.use(kWritableSchema).run(), Status::kOk);
  EXPECT_NE(ours.use(kWriteSchema).run(), Status::kOk);
  EXPECT_NE(ours.use(kNoSuchColumn).run(), Status::kOk);
}

TEST_F(Protected, StatementWithoutEndIsStoppedByName) {
  open("CREATE TABLE t(x)");
  EXPECT_EQ(ours.use(kEndless).run(), Status::kCorrupt);
  EXPECT_NE(said().find("WITH RECURSIVE c(x)"), std::string::npos) << said();
  EXPECT_NE(said().find("integrity_check"), std::string::npos) << said();
  EXPECT_EQ(ours.use(kInsertOne).run(), Status::kOk) << "and others go on";
}

// The steps of one use count, however often the same statement is used.
TEST_F(Protected, UsesOfAStatementAreNotAddedUp) {
  open("CREATE TABLE t(x)");
  for (std::int64_t i = 0; i < kSteps / 100'000; ++i)
    ASSERT_EQ(ours.use(kLong).run(), Status::kOk) << i << ": " << said();
}

TEST(SimulatedFiles, ReadZerosBehindTheirEnd) {
  sim::Machine machine;
  sim::Node node(machine);
  const port::Port port = node.port();
  const char* name = nullptr;
  ASSERT_EQ(sqlite::vfs_for(port, &name), Status::kOk);
  const char* again = nullptr;
  ASSERT_EQ(sqlite::vfs_for(port, &again), Status::kOk);
  EXPECT_EQ(name, again) << "one a storage";
  sqlite::forget_vfs(*port.storage);
  sqlite3_vfs* const vfs = sqlite3_vfs_find(name);
  ASSERT_NE(vfs, nullptr);
  std::vector<std::uint64_t> place(static_cast<std::size_t>(vfs->szOsFile) / 8 + 1);
  auto* const file = reinterpret_cast<sqlite3_file*>(place.data());
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB;
  ASSERT_EQ(vfs->xOpen(vfs, "file", file, flags, &flags), SQLITE_OK);
  ASSERT_EQ(file->pMethods->xWrite(file, "abc", 3, 0), SQLITE_OK);
  char bytes[] = "xxxxx";
  EXPECT_EQ(file->pMethods->xRead(file, bytes, 5, 1), SQLITE_IOERR_SHORT_READ);
  EXPECT_EQ(std::string(bytes, 5), std::string("bc\0\0\0", 5));
  EXPECT_EQ(file->pMethods->xRead(file, bytes, 3, 0), SQLITE_OK);
  EXPECT_EQ(file->pMethods->xClose(file), SQLITE_OK);
  EXPECT_EQ(vfs->xOpen(vfs, nullptr, file, flags, &flags), SQLITE_CANTOPEN) << "temporary files";
  EXPECT_EQ(vfs->xDelete(vfs, "none", 0), SQLITE_IOERR_DELETE_NOENT);
  sqlite::forget_vfs(*port.storage);
  EXPECT_EQ(sqlite3_vfs_find("pawl-0"), nullptr);
}

}  // namespace
}  // namespace pawl::test
