// Goal: every result code of SQLite has one meaning, and the files that a port without a native VFS
// lends read as SQLite wants them to.
#include "sqlite/connection.hpp"

#include "provider_world.hpp"
#include "sqlite/sqlite_vfs.hpp"

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
