// The conformance suite: a port must pass all these cases.
//
// Method: the cases see a port through pawl/port.hpp only. A port's test program writes a `Host`:
//   const char* database();      // the path of a database that does not exist yet, in a new place
//   pawl::port::Port add();      // the port of one more process, living as long as the Host
//   const char* root();          // the path of an empty folder; null: the port has no folders
// and says INSTANTIATE_TYPED_TEST_SUITE_P(MyPort, PortConformance, MyHost). No case sleeps to make
// a race come out right: a case that waits for something waits with a due time that only a failure
// reaches.
#ifndef PAWL_TEST_PORT_CONFORMANCE_HPP
#define PAWL_TEST_PORT_CONFORMANCE_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "pawl/port.hpp"

namespace pawl::port_test {

using port::Held;
using port::Port;
using port::WakeReasons;

inline constexpr std::int64_t kGuardMs = 20'000;

inline WakeReasons wait_guarded(const Port& port) {
  return port.threads->wait(port.clock->boot_ms() + kGuardMs);
}

inline WakeReasons poll(const Port& port) { return port.threads->wait(0); }

// Waits until `wanted` is set, however many other reasons come first.
template <typename Wanted>
bool wait_for(const Port& port, Wanted wanted) {
  const std::int64_t due = port.clock->boot_ms() + kGuardMs;
  for (;;) {
    const WakeReasons reasons = port.threads->wait(due);
    if (wanted(reasons)) return true;
    if (reasons.due) return false;
  }
}

inline bool bell(const WakeReasons& reasons) { return reasons.bell; }
inline bool log(const WakeReasons& reasons) { return reasons.log; }
inline bool woken(const WakeReasons& reasons) { return reasons.woken; }
inline bool process(const WakeReasons& reasons) { return reasons.process; }

// Appends to a file of the database by the port's own calls or, if SQLite has a VFS for it, by the
// C library.
inline void append(const Port& port, const std::string& path) {
  if (port.storage->native_vfs() != nullptr) {
    std::FILE* file = std::fopen(path.c_str(), "ab");
    ASSERT_NE(file, nullptr) << path;
    std::fputc('x', file);
    std::fclose(file);
    return;
  }
  port::Storage::OpenMode mode;
  mode.create = true;
  const Result<port::FileHandle> file = port.storage->open(path.c_str(), mode);
  ASSERT_TRUE(file.ok());
  const Result<std::int64_t> size = port.storage->size(file.value());
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(port.storage->write(file.value(), "x", 1, size.value()), Status::kOk);
  EXPECT_EQ(port.storage->close(file.value()), Status::kOk);
}

inline void remove(const Port& port, const std::string& path) {
  if (port.storage->native_vfs() != nullptr) {
    EXPECT_EQ(std::remove(path.c_str()), 0) << path;
  } else {
    EXPECT_EQ(port.storage->remove(path.c_str()), Status::kOk);
  }
}

template <typename Host>
class PortConformance : public testing::Test {
 protected:
  // A port whose clock is open and whose waiter watches the database.
  Port ready() {
    const Port port = host_.add();
    Diagnostic diagnostic;
    EXPECT_EQ(port.clock->open(diagnostic), Status::kOk) << diagnostic.text();
    EXPECT_EQ(port.storage->check_place(host_.database(), diagnostic), Status::kOk)
        << diagnostic.text();
    EXPECT_EQ(port.threads->open(host_.database(), diagnostic), Status::kOk) << diagnostic.text();
    return port;
  }
  const char* database() { return host_.database(); }

  Host host_;
};

TYPED_TEST_SUITE_P(PortConformance);

// ---- clock ----

TYPED_TEST_P(PortConformance, VersionsAreOurs) {
  const Port port = this->host_.add();
  EXPECT_EQ(port.clock->version(), port::kPortVersion);
  EXPECT_EQ(port.storage->version(), port::kPortVersion);
  EXPECT_EQ(port.threads->version(), port::kPortVersion);
}

TYPED_TEST_P(PortConformance, BootTimeNeverGoesBack_AlsoBetweenProcesses) {
  const Port one = this->ready();
  const Port two = this->ready();
  std::int64_t last = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t now = (i % 2 == 0 ? one : two).clock->boot_ms();
    ASSERT_GE(now, last);
    last = now;
  }
}

TYPED_TEST_P(PortConformance, WaitEndsAtItsDueTime_InMilliseconds) {
  const Port port = this->ready();
  const std::int64_t due = port.clock->boot_ms() + 30;
  WakeReasons reasons = port.threads->wait(due);
  while (!reasons.due)
    reasons = port.threads->wait(due);
  EXPECT_GE(port.clock->boot_ms(), due);
  EXPECT_LT(port.clock->boot_ms(), due + kGuardMs);
}

TYPED_TEST_P(PortConformance, WallClockGoesOnWithBootTime) {
  const Port port = this->ready();
  const std::int64_t wall = port.clock->wall_ms();
  const std::int64_t due = port.clock->boot_ms() + 30;
  while (!port.threads->wait(due).due) {
  }
  EXPECT_GE(port.clock->wall_ms(), wall + 20);
  EXPECT_LT(port.clock->wall_ms(), wall + kGuardMs);
}

TYPED_TEST_P(PortConformance, BootIdIsOneForAllProcessesOfABoot) {
  const Port one = this->ready();
  const Port two = this->ready();
  const port::BootId a = one.clock->boot_id();
  const port::BootId b = two.clock->boot_id();
  EXPECT_EQ(a.known, b.known);
  EXPECT_EQ(std::memcmp(a.bytes, b.bytes, sizeof(a.bytes)), 0);
  EXPECT_EQ(std::memcmp(a.bytes, one.clock->boot_id().bytes, sizeof(a.bytes)), 0);
}

TYPED_TEST_P(PortConformance, RandomBytesDiffer) {
  const Port one = this->ready();
  const Port two = this->ready();
  std::uint8_t a[16] = {};
  std::uint8_t b[16] = {};
  one.clock->random(a, sizeof(a));
  two.clock->random(b, sizeof(b));
  EXPECT_NE(std::memcmp(a, b, sizeof(a)), 0);
  std::uint8_t untouched = 7;
  one.clock->random(&untouched, 0);
  EXPECT_EQ(untouched, 7);
}

// ---- places ----

TYPED_TEST_P(PortConformance, EmptyPath_IsRefusedWithAText) {
  const Port port = this->host_.add();
  Diagnostic diagnostic;
  EXPECT_EQ(port.storage->check_place("", diagnostic), Status::kCannotOpen);
  EXPECT_FALSE(diagnostic.text().empty());
}

TYPED_TEST_P(PortConformance, FreeBytes_AreSaidOrUnsupported) {
  const Port port = this->ready();
  const Result<std::int64_t> free = port.storage->free_bytes(this->database());
  if (free.ok()) {
    EXPECT_GE(free.value(), 0);
  } else {
    EXPECT_EQ(free.status(), Status::kUnsupported);
  }
}

// ---- files that come with room ----

// The bytes of a file, read by the port's own calls or by the C library.
inline std::string contents(const Port& port, const char* path) {
  std::string text(64, 0);
  std::size_t got = 0;
  if (port.storage->native_vfs() != nullptr) {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) return "no file";
    got = std::fread(&text[0], 1, text.size(), file);
    std::fclose(file);
  } else {
    const Result<port::FileHandle> file = port.storage->open(path, {});
    if (!file.ok()) return "no file";
    got = port.storage->read(file.value(), &text[0], text.size(), 0).value_or(0);
    EXPECT_EQ(port.storage->close(file.value()), Status::kOk);
  }
  return text.substr(0, got);
}

TYPED_TEST_P(PortConformance, WholeFile_IsMadeOnce) {
  const Port one = this->host_.add();
  const Port two = this->host_.add();
  const Status made = one.storage->create_whole(this->database(), "first", 5);
  if (made == Status::kUnsupported) {
    EXPECT_EQ(contents(one, this->database()), "no file");
    return;
  }
  EXPECT_EQ(made, Status::kOk);
  EXPECT_EQ(two.storage->create_whole(this->database(), "second", 6), Status::kAlreadyExists);
  EXPECT_EQ(contents(two, this->database()), "first");
}

TYPED_TEST_P(PortConformance, AllocatedFile_HasItsSize) {
  const Port port = this->ready();
  const std::string path = std::string(this->database()) + "-reserve";
  for (const std::int64_t size : {std::int64_t{100'000}, std::int64_t{4'096}}) {
    const Status status = port.storage->allocate(path.c_str(), size);
    if (status == Status::kUnsupported) return;
    EXPECT_EQ(status, Status::kOk);
    if (port.storage->native_vfs() != nullptr) {
      std::FILE* file = std::fopen(path.c_str(), "rb");
      ASSERT_NE(file, nullptr);
      EXPECT_EQ(std::fseek(file, 0, SEEK_END), 0);
      EXPECT_EQ(std::ftell(file), size);
      std::fclose(file);
    } else {
      const Result<port::FileHandle> file = port.storage->open(path.c_str(), {});
      ASSERT_TRUE(file.ok());
      EXPECT_EQ(port.storage->size(file.value()).value_or(-1), size);
      EXPECT_EQ(port.storage->close(file.value()), Status::kOk);
    }
  }
}

// ---- liveness ----

TYPED_TEST_P(PortConformance, WorkerLock_IsHeldForEveryTesterUntilClosed) {
  const Port one = this->ready();
  const Port two = this->ready();
  EXPECT_EQ(two.storage->worker_test(this->database(), 7), Held::kFree) << "no file yet";
  const auto file = one.storage->worker_create(this->database(), 7, 64);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(one.storage->worker_test(this->database(), 7), Held::kHeld);
  EXPECT_EQ(two.storage->worker_test(this->database(), 7), Held::kHeld);
  EXPECT_EQ(two.storage->worker_test(this->database(), 7), Held::kHeld) << "a test frees nothing";
  EXPECT_EQ(two.storage->worker_test(this->database(), 8), Held::kFree);
  one.storage->worker_close(this->database(), 7, file.value());
  EXPECT_EQ(one.storage->worker_test(this->database(), 7), Held::kFree);
  EXPECT_EQ(two.storage->worker_test(this->database(), 7), Held::kFree);
}

TYPED_TEST_P(PortConformance, WorkerLocks_OfOneDatabaseAreApart) {
  const Port one = this->ready();
  const Port two = this->ready();
  const auto first = one.storage->worker_create(this->database(), 1, 32);
  const auto second = two.storage->worker_create(this->database(), 2, 32);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(second.ok());
  one.storage->worker_close(this->database(), 1, first.value());
  EXPECT_EQ(one.storage->worker_test(this->database(), 1), Held::kFree);
  EXPECT_EQ(one.storage->worker_test(this->database(), 2), Held::kHeld);
  two.storage->worker_close(this->database(), 2, second.value());
}

TYPED_TEST_P(PortConformance, WorkerFileHeld_IsNotTakenTwice) {
  const Port one = this->ready();
  const Port two = this->ready();
  const auto file = one.storage->worker_create(this->database(), 7, 32);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(two.storage->worker_create(this->database(), 7, 32).status(), Status::kAlreadyExists);
  EXPECT_EQ(two.storage->worker_test(this->database(), 7), Held::kHeld);
  one.storage->worker_close(this->database(), 7, file.value());
}

TYPED_TEST_P(PortConformance, WorkerNotes_AreZeroAtFirstAndSeenByOthers) {
  const Port one = this->ready();
  const Port two = this->ready();
  constexpr std::size_t kBytes = 4096 + 100;  // more than a page, and no whole number of pages
  const auto file = one.storage->worker_create(this->database(), 7, kBytes);
  ASSERT_TRUE(file.ok());
  auto* notes = static_cast<unsigned char*>(file.value().notes);
  ASSERT_NE(notes, nullptr);
  for (std::size_t i = 0; i < kBytes; ++i)
    ASSERT_EQ(notes[i], 0);
  notes[0] = 0xA5;
  notes[kBytes - 1] = 0x5A;
  std::vector<unsigned char> seen(kBytes + 50);
  EXPECT_EQ(two.storage->worker_notes(this->database(), 7, 0, seen.data(), seen.size()), kBytes);
  EXPECT_EQ(seen[0], 0xA5);
  EXPECT_EQ(seen[kBytes - 1], 0x5A);
  EXPECT_EQ(two.storage->worker_notes(this->database(), 7, 0, seen.data(), 1), 1U);
  // Reads from the middle, and reads a byte that the living worker writes later.
  notes[kBytes - 2] = 0x77;
  EXPECT_EQ(two.storage->worker_notes(this->database(), 7, kBytes - 2, seen.data(), 10), 2U);
  EXPECT_EQ(seen[0], 0x77);
  EXPECT_EQ(seen[1], 0x5A);
  EXPECT_EQ(two.storage->worker_notes(this->database(), 7, kBytes, seen.data(), 10), 0U);
  EXPECT_EQ(two.storage->worker_notes(this->database(), 7, kBytes + 1, seen.data(), 10), 0U);
  one.storage->worker_close(this->database(), 7, file.value());
  EXPECT_EQ(two.storage->worker_notes(this->database(), 7, 0, seen.data(), seen.size()), 0U);
  two.storage->worker_remove(this->database(), 7);
}

// ---- waiting ----

TYPED_TEST_P(PortConformance, DueTimePassed_Polls) {
  const Port port = this->ready();
  EXPECT_TRUE(poll(port).due);
  EXPECT_TRUE(port.threads->wait(port.clock->boot_ms()).due);
  EXPECT_TRUE(port.threads->wait(port.clock->boot_ms() - 1).due);
}

TYPED_TEST_P(PortConformance, FarDueTime_NeitherOverflowsNorComesAtOnce) {
  const Port port = this->ready();
  port.threads->wake();
  const WakeReasons reasons = port.threads->wait(INT64_MAX);
  EXPECT_TRUE(reasons.woken);
  EXPECT_FALSE(reasons.due);
}

TYPED_TEST_P(PortConformance, WakeBeforeWait_IsNotLostAndCountsOnce) {
  const Port port = this->ready();
  port.threads->wake();
  port.threads->wake();
  EXPECT_TRUE(port.threads->wait({}).woken);
  EXPECT_FALSE(poll(port).woken);
}

TYPED_TEST_P(PortConformance, Bell_ComesFromAnotherProcess) {
  const Port sleeper = this->ready();
  const Port ringer = this->host_.add();
  ringer.storage->ring(this->database());
  EXPECT_TRUE(wait_for(sleeper, bell));
  EXPECT_FALSE(poll(sleeper).bell) << "rung once, heard once";
  ringer.storage->ring(this->database());
  EXPECT_TRUE(wait_for(sleeper, bell));
}

TYPED_TEST_P(PortConformance, BellOfAnotherDatabase_IsNotNoticed) {
  const Port sleeper = this->ready();
  const Port ringer = this->host_.add();
  const std::string other = std::string(this->database()) + "2";
  ringer.storage->ring(other.c_str());
  EXPECT_FALSE(poll(sleeper).bell);
}

TYPED_TEST_P(PortConformance, Drain_TakesOwnNoiseAndLeavesWakeUps) {
  const Port port = this->ready();
  port.storage->ring(this->database());
  append(port, std::string(this->database()) + "-wal");
  port.threads->wake();
  const WakeReasons drained = port.threads->drain();
  EXPECT_TRUE(drained.bell);
  EXPECT_TRUE(drained.log);
  EXPECT_FALSE(drained.woken);
  const WakeReasons reasons = poll(port);
  EXPECT_FALSE(reasons.bell);
  EXPECT_FALSE(reasons.log);
  EXPECT_TRUE(reasons.woken);
}

TYPED_TEST_P(PortConformance, Log_IsSeenWhereItWasThereBefore) {
  const std::string wal = std::string(this->database()) + "-wal";
  append(this->host_.add(), wal);
  const Port sleeper = this->ready();
  EXPECT_FALSE(poll(sleeper).log);
  append(this->host_.add(), wal);
  EXPECT_TRUE(wait_for(sleeper, log));
}

TYPED_TEST_P(PortConformance, Log_IsSeenWhenItComesLaterAndComesAgain) {
  const std::string wal = std::string(this->database()) + "-wal";
  const Port sleeper = this->ready();
  const Port writer = this->host_.add();
  for (int round = 0; round < 3; ++round) {
    append(writer, wal);
    EXPECT_TRUE(wait_for(sleeper, log)) << "made, round " << round;
    while (poll(sleeper).log) {
    }
    append(writer, wal);
    EXPECT_TRUE(wait_for(sleeper, log)) << "written, round " << round;
    remove(writer, wal);
    while (poll(sleeper).log) {
    }
  }
}

TYPED_TEST_P(PortConformance, ReopenedWithoutADatabase_StillWaits) {
  const Port port = this->ready();
  Diagnostic diagnostic;
  port.threads->close();
  ASSERT_EQ(port.threads->open(nullptr, diagnostic), Status::kOk);
  this->host_.add().storage->ring(this->database());
  EXPECT_FALSE(poll(port).bell);
  port.threads->wake();
  EXPECT_TRUE(port.threads->wait({}).woken);
}

TYPED_TEST_P(PortConformance, OwnerIsTheThreadThatOpened) {
  const Port port = this->host_.add();
  EXPECT_FALSE(port.threads->on_owner_thread());
  Diagnostic diagnostic;
  ASSERT_EQ(port.threads->open(nullptr, diagnostic), Status::kOk);
  EXPECT_TRUE(port.threads->on_owner_thread());
}

// ---- processes ----

TYPED_TEST_P(PortConformance, ProcessWithAnotherStartTime_IsDeadAtOnce) {
  const Port port = this->ready();
  const std::int64_t pid = port.threads->process_id();
  const std::int64_t start = port.threads->process_start_time(pid);
  ASSERT_GT(pid, 0);
  ASSERT_GT(start, 0);
  const Status status = port.threads->watch_process(pid, start);
  if (status == Status::kUnsupported) {
    GTEST_SKIP() << "this kernel or emulator cannot watch a process (no pidfd_open)";
  }
  ASSERT_EQ(status, Status::kOk);
  EXPECT_FALSE(poll(port).process) << "we are alive";
  ASSERT_EQ(port.threads->watch_process(pid, start + 1), Status::kOk);
  EXPECT_TRUE(poll(port).process) << "the number is of somebody else now";
  EXPECT_FALSE(poll(port).process) << "told once";
  port.threads->unwatch_process(pid);
}

TYPED_TEST_P(PortConformance, ProcessThatIsGone_HasNoStartTime) {
  const Port port = this->ready();
  constexpr std::int64_t kNoProcess = 0x7FFFFFF0;
  EXPECT_EQ(port.threads->process_start_time(kNoProcess), 0);
  const Status status = port.threads->watch_process(kNoProcess, 1);
  if (status == Status::kUnsupported) return;  // the case above reports it
  ASSERT_EQ(status, Status::kOk);
  EXPECT_TRUE(poll(port).process);
}

// ---- the executor ----

inline void add_one(void* argument) { ++*static_cast<int*>(argument); }

TYPED_TEST_P(PortConformance, ExecutorRunsJobsAndWakesTheWaiter) {
  const Port port = this->ready();
  const Status started = port.threads->executor_start(3, 64 * 1024);
  if (started == Status::kUnsupported) GTEST_SKIP() << "a machine without threads";
  ASSERT_EQ(started, Status::kOk);
  int values[3] = {10, 20, 30};
  for (int round = 0; round < 5; ++round) {
    for (unsigned slot = 0; slot < 3; ++slot) {
      ASSERT_TRUE(port.threads->executor_idle(slot));
      port.threads->executor_submit(slot, add_one, &values[slot]);
    }
    for (unsigned slot = 0; slot < 3; ++slot) {
      while (!port.threads->executor_idle(slot))
        ASSERT_TRUE(wait_for(port, woken));
    }
  }
  EXPECT_EQ(values[0], 15);
  EXPECT_EQ(values[1], 25);
  EXPECT_EQ(values[2], 35);
  EXPECT_TRUE(port.threads->executor_stop(kGuardMs));
  EXPECT_TRUE(port.threads->executor_stop(0)) << "stopped already";
}

TYPED_TEST_P(PortConformance, ExecutorStop_LetsTheLastJobsEnd) {
  const Port port = this->ready();
  const Status started = port.threads->executor_start(2, 64 * 1024);
  if (started == Status::kUnsupported) GTEST_SKIP() << "a machine without threads";
  ASSERT_EQ(started, Status::kOk);
  int value = 0;
  port.threads->executor_submit(1, add_one, &value);
  EXPECT_TRUE(port.threads->executor_stop(kGuardMs));
  EXPECT_EQ(value, 1);
}

TYPED_TEST_P(PortConformance, ExecutorOfNoThreads_IsAllowed) {
  const Port port = this->ready();
  EXPECT_EQ(port.threads->executor_start(0, 64 * 1024), Status::kOk);
  EXPECT_TRUE(port.threads->executor_stop(0));
  EXPECT_EQ(port.threads->executor_start(100'000, 64 * 1024), Status::kInvalidArgument);
}

// ---- files, for ports without a native VFS ----

inline port::FileHandle open_file(const Port& port, const char* path) {
  port::Storage::OpenMode mode;
  mode.create = true;
  const Result<port::FileHandle> file = port.storage->open(path, mode);
  EXPECT_TRUE(file.ok());
  return file.value_or(port::kNoFile);
}

// Where SQLite serves the files itself, the port's own calls must return kUnsupported, and nothing
// else is tested.
#define PAWL_FILES_OR_RETURN(port)                                             \
  do {                                                                         \
    if ((port).storage->native_vfs() != nullptr) {                             \
      EXPECT_EQ((port).storage->open("x", {}).status(), Status::kUnsupported); \
      EXPECT_EQ((port).storage->sync(0), Status::kUnsupported);                \
      return;                                                                  \
    }                                                                          \
  } while (false)

TYPED_TEST_P(PortConformance, Files_ReadWriteTruncateRemove) {
  const Port port = this->ready();
  PAWL_FILES_OR_RETURN(port);
  port::Storage& storage = *port.storage;
  EXPECT_FALSE(storage.open(this->database(), {}).ok()) << "not there, and not to be made";
  const port::FileHandle file = open_file(port, this->database());
  EXPECT_EQ(storage.write(file, "abcdef", 6, 10), Status::kOk);
  EXPECT_EQ(storage.size(file).value_or(-1), 16);
  char got[16];
  EXPECT_EQ(storage.read(file, got, 8, 8).value_or(99), 8U);
  EXPECT_EQ(std::memcmp(got, "\0\0abcdef", 8), 0) << "a hole reads as zeros";
  EXPECT_EQ(storage.read(file, got, 16, 12).value_or(99), 4U) << "short only at the end";
  EXPECT_EQ(storage.read(file, got, 4, 16).value_or(99), 0U);
  EXPECT_EQ(storage.read(file, got, 4, 1000).value_or(99), 0U);
  EXPECT_EQ(storage.truncate(file, 12), Status::kOk);
  EXPECT_EQ(storage.size(file).value_or(-1), 12);
  EXPECT_EQ(storage.sync(file), Status::kOk);
  EXPECT_TRUE(storage.exists(this->database()).value_or(false));
  EXPECT_EQ(storage.remove(this->database()), Status::kOk);
  EXPECT_FALSE(storage.exists(this->database()).value_or(true));
  EXPECT_EQ(storage.remove(this->database()), Status::kNotFound);
  EXPECT_EQ(storage.read(file, got, 2, 10).value_or(99), 2U) << "open files outlive their name";
  EXPECT_EQ(storage.close(file), Status::kOk);
}

TYPED_TEST_P(PortConformance, Files_ModesAreKept) {
  const Port port = this->ready();
  PAWL_FILES_OR_RETURN(port);
  port::Storage& storage = *port.storage;
  const port::FileHandle file = open_file(port, this->database());
  port::Storage::OpenMode reading;
  reading.read_only = true;
  const port::FileHandle reader = storage.open(this->database(), reading).value_or(port::kNoFile);
  EXPECT_EQ(storage.write(reader, "a", 1, 0), Status::kReadOnly);
  EXPECT_EQ(storage.truncate(reader, 0), Status::kReadOnly);
  EXPECT_EQ(storage.close(reader), Status::kOk);
  EXPECT_EQ(storage.close(file), Status::kOk);
  port::Storage::OpenMode passing;
  passing.create = true;
  passing.delete_on_close = true;
  const std::string temporary = std::string(this->database()) + "-tmp";
  const port::FileHandle scratch = storage.open(temporary.c_str(), passing).value_or(port::kNoFile);
  EXPECT_EQ(storage.write(scratch, "a", 1, 0), Status::kOk);
  EXPECT_EQ(storage.close(scratch), Status::kOk);
  EXPECT_FALSE(storage.exists(temporary.c_str()).value_or(true));
}

// Locks as SQLite does: shared first, then the wanted level.
inline Status climb(const Port& port, port::FileHandle file, int level) {
  if (level >= 1) PAWL_TRY(port.storage->lock(file, 1));
  return level > 1 ? port.storage->lock(file, level) : Status::kOk;
}

// For every pair of levels that two connections can ask for: the second one's result.
TYPED_TEST_P(PortConformance, Files_LockMatrix) {
  const Port one = this->ready();
  PAWL_FILES_OR_RETURN(one);
  const Port two = this->ready();
  struct Case {
    int held;
    int asked;
    Status reported;
  };
  constexpr Case kCases[] = {
      {0, 1, Status::kOk},   {0, 2, Status::kOk},   {0, 4, Status::kOk}, {1, 1, Status::kOk},
      {1, 2, Status::kOk},   {1, 4, Status::kBusy}, {2, 1, Status::kOk}, {2, 2, Status::kBusy},
      {2, 4, Status::kBusy}, {4, 1, Status::kBusy},
  };
  for (const Case& one_case : kCases) {
    for (const Port* second : {&one, &two}) {  // in the same process, and in another
      const port::FileHandle a = open_file(one, this->database());
      const port::FileHandle b = open_file(*second, this->database());
      ASSERT_EQ(climb(one, a, one_case.held), Status::kOk);
      EXPECT_EQ(climb(*second, b, one_case.asked), one_case.reported)
          << "held " << one_case.held << ", asked " << one_case.asked;
      EXPECT_EQ(second->storage->reserved(b).value_or(false),
                one_case.held >= 2 || one_case.asked >= 2);
      EXPECT_EQ(one.storage->close(a), Status::kOk);
      EXPECT_EQ(second->storage->close(b), Status::kOk);
    }
  }
}

TYPED_TEST_P(PortConformance, Files_WriterThatWaitsKeepsNewReadersOut) {
  const Port port = this->ready();
  PAWL_FILES_OR_RETURN(port);
  port::Storage& storage = *port.storage;
  const port::FileHandle writer = open_file(port, this->database());
  const port::FileHandle reader = open_file(port, this->database());
  const port::FileHandle late = open_file(port, this->database());
  ASSERT_EQ(storage.lock(reader, 1), Status::kOk);
  ASSERT_EQ(storage.lock(writer, 1), Status::kOk);
  ASSERT_EQ(storage.lock(writer, 2), Status::kOk);
  EXPECT_EQ(storage.lock(writer, 4), Status::kBusy);
  EXPECT_EQ(storage.lock(late, 1), Status::kBusy) << "pending";
  EXPECT_EQ(storage.unlock(reader, 0), Status::kOk);
  EXPECT_EQ(storage.lock(writer, 4), Status::kOk);
  EXPECT_EQ(storage.unlock(writer, 1), Status::kOk);
  EXPECT_EQ(storage.lock(late, 1), Status::kOk);
  for (const port::FileHandle file : {writer, reader, late}) {
    EXPECT_EQ(storage.close(file), Status::kOk);
  }
}

TYPED_TEST_P(PortConformance, SharedMemory_IsSharedZeroedAndLocked) {
  const Port one = this->ready();
  PAWL_FILES_OR_RETURN(one);
  const Port two = this->ready();
  constexpr std::size_t kRegion = 4 * 1024;
  const port::FileHandle a = open_file(one, this->database());
  const port::FileHandle b = open_file(two, this->database());
  void volatile* memory = nullptr;
  EXPECT_EQ(two.storage->shm_map(b, 0, kRegion, false, &memory), Status::kOk);
  EXPECT_EQ(memory, nullptr) << "not there, and not to be made";
  void volatile* mine = nullptr;
  ASSERT_EQ(one.storage->shm_map(a, 1, kRegion, true, &mine), Status::kOk);
  void volatile* theirs = nullptr;
  ASSERT_EQ(two.storage->shm_map(b, 1, kRegion, false, &theirs), Status::kOk);
  ASSERT_NE(mine, nullptr);
  ASSERT_NE(theirs, nullptr);
  EXPECT_EQ(static_cast<volatile unsigned char*>(theirs)[100], 0);
  static_cast<volatile unsigned char*>(mine)[100] = 42;
  one.storage->shm_barrier(a);
  EXPECT_EQ(static_cast<volatile unsigned char*>(theirs)[100], 42);
  EXPECT_EQ(one.storage->shm_unmap(a, false), Status::kOk);
  EXPECT_EQ(two.storage->shm_unmap(b, true), Status::kOk);
  ASSERT_EQ(one.storage->shm_map(a, 1, kRegion, true, &mine), Status::kOk);
  EXPECT_EQ(static_cast<volatile unsigned char*>(mine)[100], 0) << "the last user took it along";
  EXPECT_EQ(one.storage->close(a), Status::kOk);
  EXPECT_EQ(two.storage->close(b), Status::kOk);
}

TYPED_TEST_P(PortConformance, SharedMemory_LockMatrix) {
  const Port one = this->ready();
  PAWL_FILES_OR_RETURN(one);
  const Port two = this->ready();
  port::Storage& mine = *one.storage;
  port::Storage& theirs = *two.storage;
  const port::FileHandle a = open_file(one, this->database());
  const port::FileHandle b = open_file(two, this->database());
  constexpr bool kTake = true;
  constexpr bool kDrop = false;
  constexpr bool kShared = false;
  constexpr bool kExclusive = true;
  EXPECT_EQ(mine.shm_lock(a, 3, 1, kTake, kShared), Status::kOk);
  EXPECT_EQ(theirs.shm_lock(b, 3, 1, kTake, kShared), Status::kOk);
  EXPECT_EQ(theirs.shm_lock(b, 3, 1, kDrop, kShared), Status::kOk);
  EXPECT_EQ(theirs.shm_lock(b, 3, 1, kTake, kExclusive), Status::kBusy);
  EXPECT_EQ(theirs.shm_lock(b, 1, 7, kTake, kExclusive), Status::kBusy) << "all or none";
  EXPECT_EQ(mine.shm_lock(a, 1, 1, kTake, kExclusive), Status::kOk) << "none was taken";
  EXPECT_EQ(theirs.shm_lock(b, 1, 1, kTake, kShared), Status::kBusy);
  EXPECT_EQ(theirs.shm_lock(b, 0, 1, kTake, kExclusive), Status::kOk);
  EXPECT_EQ(mine.shm_lock(a, 1, 1, kDrop, kExclusive), Status::kOk);
  EXPECT_EQ(mine.shm_lock(a, 3, 1, kDrop, kShared), Status::kOk);
  EXPECT_EQ(theirs.shm_lock(b, 1, 7, kTake, kExclusive), Status::kOk);
  EXPECT_EQ(theirs.close(b), Status::kOk);
  EXPECT_EQ(mine.shm_lock(a, 0, 8, kTake, kExclusive), Status::kOk) << "closing frees";
  EXPECT_EQ(mine.close(a), Status::kOk);
}

// ---- folders ----

// A port without folders leaves them null.
#define PAWL_FOLDERS_OR_RETURN(port, root) \
  if ((root) == nullptr) {                 \
    EXPECT_EQ((port).folders, nullptr);    \
    return;                                \
  }                                        \
  ASSERT_NE((port).folders, nullptr);      \
  Diagnostic checked;                      \
  ASSERT_EQ((port).folders->check_root(root, checked), Status::kOk) << checked.text()

inline std::vector<std::string> names_in(const Port& port, const std::string& root) {
  std::vector<std::string> names;
  Diagnostic diagnostic;
  EXPECT_EQ(port.folders->begin_list(root.c_str(), diagnostic), Status::kOk) << diagnostic.text();
  while (true) {
    const Result<std::string_view> name = port.folders->next_name();
    EXPECT_TRUE(name.ok());
    if (name.value().empty()) break;
    EXPECT_EQ(std::count(names.begin(), names.end(), name.value()), 0) << name.value();
    names.emplace_back(name.value());
  }
  port.folders->end_list();
  std::sort(names.begin(), names.end());
  return names;
}

inline void make(const Port& port, const std::string& root, const std::string& name) {
  Diagnostic diagnostic;
  ASSERT_EQ(port.folders->make(root.c_str(), name.c_str(), diagnostic), Status::kOk)
      << diagnostic.text();
}

// Returns the number of calls it took; 0: it failed.
inline std::size_t remove_all(const Port& port, const char* root, const char* name,
                              std::size_t steps) {
  constexpr std::size_t kCallsMax = 10'000;
  for (std::size_t calls = 1; calls < kCallsMax; ++calls) {
    Diagnostic diagnostic;
    bool more = false;
    const Status status = port.folders->remove_some(root, name, steps, &more, diagnostic);
    EXPECT_EQ(status, Status::kOk) << diagnostic.text();
    if (status != Status::kOk) return 0;
    if (!more) return calls;
  }
  ADD_FAILURE() << "no end";
  return 0;
}

TYPED_TEST_P(PortConformance, Folders_AreThereForAllUntilRemoved) {
  const Port one = this->ready();
  const char* const root = this->host_.root();
  PAWL_FOLDERS_OR_RETURN(one, root);
  const Port two = this->ready();
  EXPECT_EQ(one.folders->version(), port::kPortVersion);
  EXPECT_TRUE(names_in(one, root).empty());
  make(one, root, "a");
  make(one, root, "b");
  make(two, root, "a");
  EXPECT_EQ(names_in(two, root), (std::vector<std::string>{"a", "b"}));
  make(two, std::string(root) + "/a", "inside");
  make(one, root, "a");
  EXPECT_EQ(names_in(one, std::string(root) + "/a"), (std::vector<std::string>{"inside"}))
      << "it stays as it is";
  EXPECT_GE(remove_all(two, root, "a", 100), 1U);
  EXPECT_EQ(remove_all(two, root, "a", 100), 1U) << "what is not there is removed";
  EXPECT_EQ(names_in(one, root), (std::vector<std::string>{"b"}));
}

TYPED_TEST_P(PortConformance, FoldersRoot_MustBeThereAndAbsolute) {
  const Port port = this->ready();
  const char* const root = this->host_.root();
  PAWL_FOLDERS_OR_RETURN(port, root);
  const std::string missing = std::string(root) + "/missing";
  Diagnostic why;
  EXPECT_EQ(port.folders->check_root(missing.c_str(), why), Status::kCannotOpen);
  EXPECT_NE(why.text().find(missing), std::string_view::npos) << why.text();
  EXPECT_EQ(port.folders->make(missing.c_str(), "a", why), Status::kCannotOpen);
  EXPECT_NE(why.text().find(missing), std::string_view::npos) << why.text();
  EXPECT_EQ(port.folders->begin_list(missing.c_str(), why), Status::kCannotOpen);
  EXPECT_EQ(port.folders->check_root("", why), Status::kInvalidArgument);
  EXPECT_EQ(port.folders->check_root("here", why), Status::kInvalidArgument);
  const std::string endless =
      std::string(root) + "/" + std::string(port::Folders::kRootBytesMax, 'x');
  EXPECT_EQ(port.folders->check_root(endless.c_str(), why), Status::kInvalidArgument);
}

// A tree as deep as paths allow, and wide; a folder beside it stays untouched.
TYPED_TEST_P(PortConformance, FolderIsRemoved_InBoundedPiecesToTheLastOne) {
  const Port port = this->ready();
  const char* const root = this->host_.root();
  PAWL_FOLDERS_OR_RETURN(port, root);
  make(port, root, "tree");
  make(port, root, "tree2");
  std::string at = std::string(root) + "/tree";
  std::size_t made = 0;
  while (at.size() + 4 < port::Folders::kRootBytesMax) {
    for (const char* name : {"w", "x", "d"})
      make(port, at, name);
    made += 3;
    at += "/d";
  }
  ASSERT_GT(made, 50U);
  EXPECT_GE(remove_all(port, root, "tree", 4), made / 4) << "more than four a call";
  EXPECT_EQ(names_in(port, root), (std::vector<std::string>{"tree2"}));
}

TYPED_TEST_P(PortConformance, FolderList_GoesOnWhileOtherCallsCome) {
  const Port port = this->ready();
  const char* const root = this->host_.root();
  PAWL_FOLDERS_OR_RETURN(port, root);
  constexpr int kFolders = 100;
  for (int i = 0; i < kFolders; ++i)
    make(port, root, "folder-" + std::to_string(i));
  Diagnostic why;
  ASSERT_EQ(port.folders->begin_list(root, why), Status::kOk);
  int seen = 0;
  for (std::string name = "-"; !name.empty();) {
    const Result<std::string_view> next = port.folders->next_name();
    ASSERT_TRUE(next.ok());
    name = next.value();
    if (name.empty()) break;
    ++seen;
    EXPECT_EQ(remove_all(port, root, name.c_str(), 8), 1U);
  }
  port.folders->end_list();
  EXPECT_EQ(seen, kFolders);
  EXPECT_TRUE(names_in(port, root).empty());
}

REGISTER_TYPED_TEST_SUITE_P(
    PortConformance, VersionsAreOurs, BootTimeNeverGoesBack_AlsoBetweenProcesses,
    WaitEndsAtItsDueTime_InMilliseconds, WallClockGoesOnWithBootTime,
    BootIdIsOneForAllProcessesOfABoot, RandomBytesDiffer, EmptyPath_IsRefusedWithAText,
    FreeBytes_AreSaidOrUnsupported, WholeFile_IsMadeOnce, AllocatedFile_HasItsSize,
    WorkerLock_IsHeldForEveryTesterUntilClosed, WorkerLocks_OfOneDatabaseAreApart,
    WorkerFileHeld_IsNotTakenTwice, WorkerNotes_AreZeroAtFirstAndSeenByOthers, DueTimePassed_Polls,
    FarDueTime_NeitherOverflowsNorComesAtOnce, WakeBeforeWait_IsNotLostAndCountsOnce,
    Bell_ComesFromAnotherProcess, BellOfAnotherDatabase_IsNotNoticed,
    Drain_TakesOwnNoiseAndLeavesWakeUps, Log_IsSeenWhereItWasThereBefore,
    Log_IsSeenWhenItComesLaterAndComesAgain, ReopenedWithoutADatabase_StillWaits,
    OwnerIsTheThreadThatOpened, ProcessWithAnotherStartTime_IsDeadAtOnce,
    ProcessThatIsGone_HasNoStartTime, ExecutorRunsJobsAndWakesTheWaiter,
    ExecutorStop_LetsTheLastJobsEnd, ExecutorOfNoThreads_IsAllowed, Files_ReadWriteTruncateRemove,
    Files_ModesAreKept, Files_LockMatrix, Files_WriterThatWaitsKeepsNewReadersOut,
    SharedMemory_IsSharedZeroedAndLocked, SharedMemory_LockMatrix,
    Folders_AreThereForAllUntilRemoved, FoldersRoot_MustBeThereAndAbsolute,
    FolderIsRemoved_InBoundedPiecesToTheLastOne, FolderList_GoesOnWhileOtherCallsCome);

}  // namespace pawl::port_test

#endif  // PAWL_TEST_PORT_CONFORMANCE_HPP
