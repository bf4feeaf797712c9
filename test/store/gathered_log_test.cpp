// Goal: a commit is one write to the log; what is kept until then is written before any call that
// could see that it is missing; and a failure is reported before the commit is acknowledged.
#include <functional>

#include "pawl/visit.hpp"
#include "store/sqlite/gathered_log.hpp"
#include "store/sqlite/sqlite_vfs.hpp"
#include "watched_log.hpp"

namespace pawl::test {
namespace {

constexpr std::size_t kFrameBytes = 24 + 512;
constexpr std::int64_t kHeadBytes = 32;

class GatheredWrites : public StoreWorld {
 protected:
  GatheredWrites() : watched(at) {}
  // The store closes before what watches it goes.
  ~GatheredWrites() override { close(at); }

  void open_with(int cache_pages, bool synchronous_full) {
    StoreOptions options;
    options.busy_ms_max = 0;
    options.cache_pages = cache_pages;
    options.synchronous_full = synchronous_full;
    ASSERT_EQ(open(at, options), Status::kOk) << at.diagnostic.text();
    create(at, "first");  // begins the log
    watched.take();
  }
  std::vector<WatchedLog::Write> writes_of_one(std::size_t input_bytes) {
    create(at, "i" + std::to_string(++made), std::string(input_bytes, 'i'));
    return watched.take();
  }

  Site& at = process();
  WatchedLog watched;
  int made = 0;
};
INSTANTIATE_TEST_SUITE_P(Ports, GatheredWrites, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

TEST_P(GatheredWrites, ACommitThatIsNotFlushedIsOneWriteOrOneForEachFullBuffer) {
  open_with(256, false);
  const std::size_t kept = sqlite::log_buffer_bytes(256) - sizeof(sqlite::GatheredLog);
  for (const std::size_t input : {10U, 500U, 100'000U}) {
    const auto writes = writes_of_one(input);
    ASSERT_GE(writes.size(), 1U);
    const auto bytes = static_cast<std::size_t>(writes.back().end() - writes[0].offset);
    EXPECT_GT(bytes, input);
    EXPECT_EQ(bytes % kFrameBytes, 0U) << "whole frames";
    EXPECT_EQ(writes.size(), (bytes - 1) / kept + 1);
    EXPECT_EQ(writes.size() == 1, input < 1'000);
    for (std::size_t i = 1; i < writes.size(); ++i)
      EXPECT_EQ(writes[i].offset, writes[i - 1].end());
  }
}

// Where a write may change what lies beside it, SQLite repeats the frame of the commit up to the
// end of a sector of 4096 bytes, and flushes in the middle of the last one. Each is a write of its
// own, the last one up to three.
TEST_P(GatheredWrites, ACommitThatIsFlushedIsOneWriteAndThoseOfItsRepeatedFrames) {
  constexpr std::size_t kRepeatsMost = 4096 / kFrameBytes + 1;
  open_with(256, true);
  for (int i = 0; i < 20; ++i) {
    const auto writes = writes_of_one(500);
    ASSERT_GE(writes.size(), 1U);
    EXPECT_GT(writes[0].size, 3 * kFrameBytes);
    EXPECT_LE(writes.size(), is_sim() ? 2 + kRepeatsMost + 2 : 1);
  }
}

TEST_P(GatheredWrites, ASmallCacheKeepsLittleOfIt) {
  EXPECT_EQ(sqlite::log_buffer_bytes(0), 2'048U);
  EXPECT_EQ(sqlite::log_buffer_bytes(16), 2'048U);
  EXPECT_EQ(sqlite::log_buffer_bytes(64), 4'096U);
  EXPECT_EQ(sqlite::log_buffer_bytes(256), 16'384U);
  EXPECT_EQ(sqlite::log_buffer_bytes(65'536), 16'384U);
  open_with(16, false);
  for (const auto& write : writes_of_one(5'000))
    EXPECT_LE(write.size, 2'048U);
}

// The pages of one transaction do not fit the cache, so SQLite writes some of them before the
// commit, and reads them again.
TEST_P(GatheredWrites, PagesThatLeftTheCacheAreReadBeforeTheCommit) {
  open_with(16, true);
  const std::string input(60'000, 'x');
  NewInstance instance;
  instance.id = "large";
  instance.name = "irrigate";
  instance.input = input;
  InstanceKey key = 0;
  must_batch(at, [&] {
    PAWL_TRY(at->instance().deliveries.start_orchestration(instance, &key));
    EXPECT_GT(watched.take().size(), 1U) << "before the commit";
    std::vector<unsigned char> block(200'000);
    Arena arena(block.data(), block.size());
    OrchestrationItem item;
    PAWL_TRY(at->instance().history.fetch_orchestration_item(key, at->place().pawl_now(), {16},
                                                             arena, &item));
    EXPECT_EQ(item.messages[0].payload, input);
    return Status::kOk;
  });
  EXPECT_EQ(raw_text("PRAGMA integrity_check"), "ok");
}

// Each write of a transaction that does not fit the cache finds the disk full once.
TEST_P(GatheredWrites, AFailedWriteIsReportedAndTheTransactionIsRolledBack) {
  open_with(16, true);
  const std::string input(9'000, 'i');
  int failures = 0;
  for (std::size_t nth = 1; nth < 400; ++nth) {
    NewInstance instance;
    const std::string id = "n" + std::to_string(nth);
    instance.id = id;
    instance.name = "irrigate";
    instance.input = input;
    InstanceKey key = 0;
    const auto call = [&] { return at->instance().deliveries.start_orchestration(instance, &key); };
    watched.fail(nth);
    const Status answer = batch(at, call);
    watched.fail(0);
    EXPECT_EQ(key_of(id) != 0, answer == Status::kOk) << nth;
    EXPECT_EQ(raw_text("PRAGMA integrity_check"), "ok") << nth;
    if (answer == Status::kOk) break;
    EXPECT_EQ(answer, Status::kFull) << nth;
    ++failures;
    EXPECT_EQ(batch(at, call), Status::kOk) << nth << ": " << at->diagnostic().text();
  }
  EXPECT_GT(failures, 3);
  EXPECT_LT(failures, 399);
}

// ---- places for a crash ----

class CrashPoints : public StoreWorld {
 protected:
  // How many writes SQLite itself made of it: one for each header and for each page.
  static std::uint64_t calls_in(const WatchedLog::Write& write) {
    std::uint64_t calls = 0;
    std::int64_t part = kHeadBytes;
    for (bool is_header = true; part < write.end(); is_header = !is_header) {
      if (part >= write.offset) ++calls;
      part += is_header ? 24 : 512;
    }
    return write.offset < kHeadBytes || calls == 0 ? 1 : calls;
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, CrashPoints, ::testing::Values(Ports::kSim), ports_name);

TEST_P(CrashPoints, AreNotFewerThanTheWritesOfSqlite) {
  for (const bool full : {false, true}) {
    StoreOptions options;
    options.busy_ms_max = 0;
    options.synchronous_full = full;
    options.checkpoint_pages = 100'000;  // nothing but the log is written
    Site& at = process();
    WatchedLog watched(at);
    ASSERT_EQ(open(at, options), Status::kOk);
    watched.take();
    const std::uint64_t before = machine.writes();
    for (int i = 0; i < 20; ++i) {
      const std::string id = "i" + std::to_string(i);
      const std::string input(static_cast<std::size_t>(i) * 100, 'x');
      start(at, create(at, id, input));
      end(at, key_of(id), EndKind::kCompleted);
    }
    std::uint64_t calls = 0;
    const auto writes = watched.take();
    for (const auto& write : writes)
      calls += calls_in(write);
    EXPECT_GT(calls, 4 * writes.size());
    EXPECT_GE(machine.writes() - before, calls);
    drop_database(at);
  }
}

// ---- one file, call by call ----

// A connection of its own, whose files the test calls as SQLite does.
class LogFile : public StoreWorld {
 protected:
  LogFile() : watched(own) {
    create(other, "first");
    EXPECT_EQ(sqlite::vfs_for(own.port, &vfs), Status::kOk);
    EXPECT_EQ(sqlite3_open_v2(path(), &handle, SQLITE_OPEN_READWRITE, vfs), SQLITE_OK);
    sqlite::gather_log(handle, 4'096);
    EXPECT_EQ(sqlite3_exec(handle, "SELECT 1 FROM meta", nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &database),
              SQLITE_OK);
    EXPECT_EQ(sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log), SQLITE_OK);
    EXPECT_EQ(log->pMethods->xFileSize(log, &size), SQLITE_OK);
    size = kHeadBytes + (size - kHeadBytes) / static_cast<std::int64_t>(kFrameBytes) *
                            static_cast<std::int64_t>(kFrameBytes);
    watched.take();
  }
  ~LogFile() override {
    EXPECT_EQ(sqlite3_close(handle), SQLITE_OK);
    sqlite::forget_vfs(*own.port.storage);
  }

  int lock() { return shm_lock(0, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE); }
  int unlock() { return shm_lock(0, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE); }
  int shm_lock(int slot, int flags) {
    return database->pMethods->xShmLock(database, slot, 1, flags);
  }
  int write(const std::string& bytes, std::int64_t offset) {
    return log->pMethods->xWrite(log, bytes.data(), static_cast<int>(bytes.size()), offset);
  }
  static std::string header(bool is_commit) {
    std::string bytes(24, 'h');
    bytes.replace(4, 4, is_commit ? std::string("\0\0\0\7", 4) : std::string(4, '\0'));
    return bytes;
  }
  // Writes frame `number` behind the log, as SQLite does.
  int frame(int number, bool is_commit) {
    const int result = write(header(is_commit), place(number));
    return result != SQLITE_OK ? result : write(std::string(512, 'p'), place(number) + 24);
  }
  [[nodiscard]] std::int64_t place(int number) const {
    return size + number * static_cast<std::int64_t>(kFrameBytes);
  }
  int flush() { return log->pMethods->xSync(log, SQLITE_SYNC_FULL); }

  Site& other = site();
  Site& own = process();
  WatchedLog watched;
  const char* vfs = nullptr;
  sqlite3* handle = nullptr;
  sqlite3_file* database = nullptr;
  sqlite3_file* log = nullptr;
  sqlite3_int64 size = 0;  // where the next frame begins
};
INSTANTIATE_TEST_SUITE_P(Ports, LogFile, ::testing::Values(Ports::kSim, Ports::kPosix), ports_name);

TEST_P(LogFile, FramesWaitForTheFrameOfTheCommit) {
  ASSERT_EQ(lock(), SQLITE_OK);
  EXPECT_EQ(frame(0, false), SQLITE_OK);
  EXPECT_EQ(frame(1, false), SQLITE_OK);
  EXPECT_EQ(write(header(true), place(2)), SQLITE_OK);
  EXPECT_TRUE(watched.take().empty());
  EXPECT_EQ(write(std::string(512, 'p'), place(2) + 24), SQLITE_OK);
  const auto writes = watched.take();
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].offset, place(0));
  EXPECT_EQ(writes[0].size, 3 * kFrameBytes);
  EXPECT_EQ(unlock(), SQLITE_OK);
  EXPECT_TRUE(watched.take().empty());
}

TEST_P(LogFile, WithoutTheWriteLockNothingIsKept) {
  ASSERT_EQ(lock(), SQLITE_OK);
  EXPECT_EQ(unlock(), SQLITE_OK);
  EXPECT_EQ(frame(0, false), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 2U);
  ASSERT_EQ(shm_lock(3, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED), SQLITE_OK);
  EXPECT_EQ(frame(1, false), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 2U);
  EXPECT_EQ(shm_lock(3, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED), SQLITE_OK);
}

// The head of the log is none, nor is a page that SQLite writes a second time.
TEST_P(LogFile, AWriteThatIsNoFrameIsNotKept) {
  ASSERT_EQ(lock(), SQLITE_OK);
  for (const std::size_t bytes : {32U, 512U, 8U}) {
    EXPECT_EQ(write(std::string(bytes, 'x'), place(0)), SQLITE_OK);
    const auto writes = watched.take();
    ASSERT_EQ(writes.size(), 1U);
    EXPECT_EQ(writes[0].size, bytes);
  }
  EXPECT_EQ(unlock(), SQLITE_OK);
}

// The rules of gathered_log.hpp, one a row.
TEST_P(LogFile, WhatIsKeptIsWrittenBeforeEachCallThatCouldMissIt) {
  char out[16];
  sqlite3_int64 seen = 0;
  int is_reserved = 0;
  void volatile* shared = nullptr;
  const sqlite3_io_methods& methods = *log->pMethods;
  const struct {
    const char* name;
    std::function<int()> call;
  } calls[] = {
      {"read", [&] { return methods.xRead(log, out, sizeof(out), 0); }},
      {"truncate", [&] { return methods.xTruncate(log, place(1)); }},
      {"size", [&] { return methods.xFileSize(log, &seen); }},
      {"flush", [&] { return flush(); }},
      {"lock", [&] { return methods.xLock(log, SQLITE_LOCK_SHARED); }},
      {"reserved", [&] { return methods.xCheckReservedLock(log, &is_reserved); }},
      {"unlock", [&] { return methods.xUnlock(log, SQLITE_LOCK_NONE); }},
      {"write elsewhere", [&] { return write("elsewhere", place(3)); }},
      {"frame elsewhere", [&] { return write(header(false), place(3)); }},
      {"map", [&] { return database->pMethods->xShmMap(database, 0, 32'768, 1, &shared); }},
      {"take a slot", [&] { return shm_lock(3, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED); }},
      {"drop a slot", [&] { return shm_lock(3, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED); }},
      {"barrier",
       [&] {
         database->pMethods->xShmBarrier(database);
         return SQLITE_OK;
       }},
      {"drop the write lock", [&] { return unlock(); }},
  };
  for (const auto& one : calls) {
    ASSERT_EQ(lock(), SQLITE_OK);
    EXPECT_EQ(frame(0, false), SQLITE_OK);
    EXPECT_TRUE(watched.take().empty()) << one.name;
    EXPECT_EQ(one.call(), SQLITE_OK) << one.name;
    const auto writes = watched.take();
    ASSERT_GE(writes.size(), 1U) << one.name;
    EXPECT_EQ(writes[0].offset, place(0)) << one.name;
    EXPECT_EQ(writes[0].size, kFrameBytes) << one.name;
    EXPECT_EQ(unlock(), SQLITE_OK);
    watched.take();
  }
  EXPECT_GE(seen, place(1)) << "the size includes what was kept";
}

TEST_P(LogFile, TheIndexGoesOnlyAfterWhatIsKept) {
  ASSERT_EQ(lock(), SQLITE_OK);
  EXPECT_EQ(frame(0, false), SQLITE_OK);
  EXPECT_EQ(database->pMethods->xShmUnmap(database, 0), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 1U);
  void volatile* shared = nullptr;
  EXPECT_EQ(database->pMethods->xShmMap(database, 0, 32'768, 1, &shared), SQLITE_OK);
}

// SQLite rewrites headers of frames that it wrote twice, the commit's last. Nothing follows that
// could write them.
TEST_P(LogFile, BehindTheCommitEachHeaderIsWrittenAtOnce) {
  ASSERT_EQ(lock(), SQLITE_OK);
  EXPECT_EQ(frame(0, false), SQLITE_OK);
  EXPECT_EQ(frame(1, true), SQLITE_OK);
  watched.take();
  EXPECT_EQ(write(header(false), place(0)), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 1U);
  EXPECT_EQ(write(header(true), place(1)), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 1U);
  EXPECT_EQ(unlock(), SQLITE_OK);
}

TEST_P(LogFile, ARepeatedCommitIsWrittenWithItsPageUpToTheFlush) {
  ASSERT_EQ(lock(), SQLITE_OK);
  EXPECT_EQ(frame(0, true), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 1U);
  EXPECT_EQ(frame(1, true), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 1U);
  // The last repeat is cut by the flush; its rest has any size and any bytes.
  EXPECT_EQ(write(header(true), place(2)), SQLITE_OK);
  EXPECT_EQ(write(std::string(488, 'p'), place(2) + 24), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 1U);
  EXPECT_EQ(flush(), SQLITE_OK);
  EXPECT_EQ(write(header(true), place(3) - 24), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 1U);
  EXPECT_EQ(unlock(), SQLITE_OK);
}

// The end of a sector lies between a header and its page.
TEST_P(LogFile, AFlushBehindAHeaderEndsTheRepeats) {
  ASSERT_EQ(lock(), SQLITE_OK);
  EXPECT_EQ(frame(0, true), SQLITE_OK);
  EXPECT_EQ(write(header(true), place(1)), SQLITE_OK);
  EXPECT_EQ(flush(), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 2U);
  EXPECT_EQ(write(std::string(512, 'p'), place(1) + 24), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 1U);
  EXPECT_EQ(write(header(true), place(2)), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 1U);
  EXPECT_EQ(unlock(), SQLITE_OK);
}

// A header behind the commit that marks none is the beginning of no frame.
TEST_P(LogFile, BehindTheCommitOnlyACommitIsKept) {
  ASSERT_EQ(lock(), SQLITE_OK);
  EXPECT_EQ(frame(0, true), SQLITE_OK);
  watched.take();
  EXPECT_EQ(write(header(false), place(1)), SQLITE_OK);
  EXPECT_EQ(watched.take().size(), 1U);
  EXPECT_EQ(unlock(), SQLITE_OK);
}

TEST_P(LogFile, ACommitThatCannotBeWrittenFails) {
  ASSERT_EQ(lock(), SQLITE_OK);
  EXPECT_EQ(frame(0, false), SQLITE_OK);
  EXPECT_EQ(write(header(true), place(1)), SQLITE_OK);
  watched.fail(1);
  EXPECT_EQ(write(std::string(512, 'p'), place(1) + 24), SQLITE_FULL);
  EXPECT_EQ(unlock(), SQLITE_OK);
  EXPECT_TRUE(watched.take().empty()) << "nothing is written later";
}

// Some of SQLite's callers ignore the failure of a size or a barrier. A commit that then came would
// stand behind a hole.
TEST_P(LogFile, AfterAFailureEachCallFailsUntilTheWriteLockIsDropped) {
  char out[16];
  sqlite3_int64 seen = 0;
  const std::function<void()> calls[] = {
      [&] { EXPECT_EQ(log->pMethods->xFileSize(log, &seen), SQLITE_FULL); },
      [&] { database->pMethods->xShmBarrier(database); },
      [&] { EXPECT_EQ(log->pMethods->xRead(log, out, sizeof(out), 0), SQLITE_FULL); },
  };
  for (const auto& call : calls) {
    ASSERT_EQ(lock(), SQLITE_OK);
    EXPECT_EQ(frame(0, false), SQLITE_OK);
    watched.fail(1);
    call();
    EXPECT_EQ(write(header(false), place(1)), SQLITE_FULL);
    EXPECT_EQ(frame(1, true), SQLITE_FULL);
    EXPECT_EQ(flush(), SQLITE_FULL);
    EXPECT_EQ(shm_lock(3, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED), SQLITE_FULL);
    EXPECT_TRUE(watched.take().empty()) << "nothing is written behind the hole";
    EXPECT_EQ(unlock(), SQLITE_OK) << "a lock is dropped whatever happens";
    ASSERT_EQ(lock(), SQLITE_OK);
    EXPECT_EQ(frame(0, true), SQLITE_OK);
    EXPECT_EQ(watched.take().size(), 1U);
    EXPECT_EQ(unlock(), SQLITE_OK);
  }
}

// Once the write lock is dropped, another connection may write to the same place.
TEST_P(LogFile, WhatCannotBeWrittenWhenTheLockIsDroppedIsForgotten) {
  ASSERT_EQ(lock(), SQLITE_OK);
  EXPECT_EQ(frame(0, false), SQLITE_OK);
  watched.fail(1);
  EXPECT_EQ(unlock(), SQLITE_OK);
  create(other, "second");
  watched.take();
  EXPECT_EQ(log->pMethods->xFileSize(log, &size), SQLITE_OK);
  EXPECT_TRUE(watched.take().empty());
  EXPECT_EQ(raw_text("PRAGMA integrity_check"), "ok");
}

TEST_P(LogFile, AFileThatIsClosedWritesNothing) {
  ASSERT_EQ(lock(), SQLITE_OK);
  EXPECT_EQ(frame(0, false), SQLITE_OK);
  EXPECT_EQ(log->pMethods->xClose(log), SQLITE_OK);
  log->pMethods = nullptr;  // SQLite then takes it for closed
  EXPECT_TRUE(watched.take().empty());
  if (is_sim()) {  // where another file gets the number of the one that was closed
    port::Storage::OpenMode mode;
    mode.create = true;
    const auto next = own.port.storage->open("next", mode);
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(unlock(), SQLITE_OK);
    EXPECT_EQ(own.port.storage->size(next.value()).value_or(-1), 0);
    EXPECT_EQ(own.port.storage->close(next.value()), Status::kOk);
    return;
  }
  EXPECT_EQ(unlock(), SQLITE_OK) << "the database no longer knows the log";
}

}  // namespace
}  // namespace pawl::test
