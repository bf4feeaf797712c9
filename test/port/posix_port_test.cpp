// The Linux port within one process: the conformance suite, and its own cases.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

#include "posix_host.hpp"

namespace pawl::port_test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Posix, PortConformance, PosixHost, );  // clang wants the comma

class PosixPort : public testing::Test {
 protected:
  Port ready(const posix::PortOptions& options = posix::PortOptions()) {
    return host_.ready(options);
  }
  const char* database() { return host_.database(); }
  PosixHost host_;
};

bool readable(int fd, int timeout_ms) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, timeout_ms) == 1;
}

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void put() { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
  void get() {
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  }
  int ends[2] = {-1, -1};
};

// ---- clock ----

TEST_F(PosixPort, BootTimeIsTheKernels) {
  const Port port = ready();
  timespec before{};
  timespec after{};
  ASSERT_EQ(::clock_gettime(CLOCK_BOOTTIME, &before), 0);
  const std::int64_t now = port.clock->boot_ms();
  ASSERT_EQ(::clock_gettime(CLOCK_BOOTTIME, &after), 0);
  if (std::string(file_text("/proc/self/timens_offsets")).find_first_of("123456789") !=
      std::string::npos) {
    GTEST_SKIP() << "run in a time namespace with an offset";
  }
  EXPECT_GE(now, std::int64_t{before.tv_sec} * 1000 + before.tv_nsec / 1'000'000);
  EXPECT_LE(now, std::int64_t{after.tv_sec} * 1000 + after.tv_nsec / 1'000'000);
}

TEST_F(PosixPort, BootIdIsTheKernels) {
  const Port port = ready();
  const port::BootId id = port.clock->boot_id();
  if (!id.known) GTEST_SKIP() << "the boot id here is not the kernel's own file (a container)";
  std::string text;
  for (const std::uint8_t byte : id.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  std::string kernels = file_text("/proc/sys/kernel/random/boot_id").substr(0, 36);
  kernels.erase(std::remove(kernels.begin(), kernels.end(), '-'), kernels.end());
  EXPECT_EQ(text, kernels);
}

TEST_F(PosixPort, WallTrust_FollowsTheOption) {
  posix::PortOptions options;
  options.wall_trust = posix::WallTrust::kAlways;
  EXPECT_TRUE(posix::SystemPort(options).port().clock->synced());
  options.wall_trust = posix::WallTrust::kNever;
  EXPECT_FALSE(posix::SystemPort(options).port().clock->synced());
  options.wall_trust = posix::WallTrust::kHost;
  posix::SystemPort host(options);
  EXPECT_FALSE(host.port().clock->synced());
  host.set_wall_trusted(true);
  EXPECT_TRUE(host.port().clock->synced());
}

TEST_F(PosixPort, WallTrustByKernel_IsTheKernelsFlag) {
  timex state{};
  const int answer = ::adjtimex(&state);
  const bool expected = answer >= 0 && answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
  EXPECT_EQ(ready().clock->synced(), expected);
}

TEST_F(PosixPort, WallTrustByFile_RefusesAPathThatIsTooLong) {
  posix::PortOptions options;
  options.wall_trust = posix::WallTrust::kFile;
  options.wall_trust_file = "/" + std::string(Path::kBytesMax, 'p');
  posix::SystemPort port(options);
  Diagnostic why;
  EXPECT_EQ(port.port().clock->open(why), Status::kInvalidOptions);
  EXPECT_NE(why.text().find("wall_trust_file has 401 bytes"), std::string_view::npos) << why.text();
}

TEST_F(PosixPort, WallTrustByFile_NeedsAFileOfThisBoot) {
  const std::string path = std::string(database()) + ".synced";
  posix::PortOptions options;
  options.wall_trust = posix::WallTrust::kFile;
  options.wall_trust_file = path;
  const Port port = ready(options);
  EXPECT_FALSE(port.clock->synced()) << "no file";
  append(port, path);
  EXPECT_TRUE(port.clock->synced());
  timespec times[2] = {};
  ::clock_gettime(CLOCK_REALTIME, &times[1]);
  times[0] = times[1];
  times[1].tv_sec += 3600;
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_FALSE(port.clock->synced()) << "the clock stands before the file's time";
  times[1].tv_sec -= 3600 + port.clock->boot_ms() / 1000 + 10;
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_FALSE(port.clock->synced()) << "left by an earlier boot";
}

// Off unless asked for, since it moves the machine's clock (by a nanosecond, and back).
TEST_F(PosixPort, WallStep_IsReported) {
  if (std::getenv("PAWL_TEST_CLOCK_STEP") == nullptr) {
    GTEST_SKIP() << "set PAWL_TEST_CLOCK_STEP=1 to let this test move the clock by 1 ns";
  }
  const Port port = ready();
  EXPECT_FALSE(poll(port).clock);
  for (int round = 0; round < 2; ++round) {  // the second: was the notice armed again?
    timex step{};
    step.modes = ADJ_SETOFFSET | ADJ_NANO;
    step.time.tv_sec = round == 0 ? 0 : -1;
    step.time.tv_usec = round == 0 ? 1 : 999'999'999;
    if (::adjtimex(&step) < 0) GTEST_SKIP() << "adjtimex: " << std::strerror(errno);
    EXPECT_TRUE(wait_for(port, [](const WakeReasons& reasons) { return reasons.clock; }));
    EXPECT_FALSE(poll(port).clock) << "told once";
  }
}

// ---- places ----

TEST_F(PosixPort, PlacesThatCannotHoldADatabase_AreNamed) {
  const Port port = ready();
  const std::string folder = host_.folder();
  struct Case {
    std::string path;
    Status status;
    const char* text;
  };
  ASSERT_EQ(::symlink("elsewhere.db", (folder + "/link.db").c_str()), 0);
  const Case cases[] = {
      {folder + "/missing/t.db", Status::kCannotOpen, "missing"},
      {folder, Status::kCannotOpen, "not a file"},
      {folder + "/link.db", Status::kCannotOpen, "symbolic link"},
      {folder + "/" + std::string(600, 'x'), Status::kCannotOpen, "512"},
  };
  for (const Case& one : cases) {
    Diagnostic diagnostic;
    EXPECT_EQ(port.storage->check_place(one.path.c_str(), diagnostic), one.status) << one.path;
    EXPECT_NE(diagnostic.text().find(one.text), std::string_view::npos) << diagnostic.text();
  }
}

// For every path beside a database that SQLite or Pawl opens by name: another process's file there
// is named in the text, and neither waited for nor written.
TEST_F(PosixPort, WhatIsNoFileOfItsOwn_IsRefused) {
  const Port port = ready();
  const std::string base = database();
  const std::string target = host_.folder() + "/target";
  append(port, target);
  append(port, base);
  const char* const suffixes[] = {"", "-journal", "-wal", "-shm", "-bell", "-reserve"};
  for (const char* suffix : suffixes) {
    const std::string path = base + suffix;
    ::unlink(path.c_str());
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0) << std::strerror(errno);
    Diagnostic diagnostic;
    EXPECT_EQ(port.storage->check_place(base.c_str(), diagnostic), Status::kCannotOpen) << path;
    EXPECT_EQ(diagnostic.text(), path + ": not a file");
    ::unlink(path.c_str());
    ASSERT_EQ(::link(target.c_str(), path.c_str()), 0);
    EXPECT_EQ(port.storage->check_place(base.c_str(), diagnostic), Status::kCannotOpen) << path;
    EXPECT_EQ(diagnostic.text().find(path + ": has a second name (a hard link)"), 0U)
        << diagnostic.text();
    ::unlink(path.c_str());
    ASSERT_EQ(::symlink("target", path.c_str()), 0);
    EXPECT_EQ(port.storage->check_place(base.c_str(), diagnostic), Status::kCannotOpen) << path;
    EXPECT_NE(diagnostic.text().find("symbolic link"), std::string_view::npos);
    ::unlink(path.c_str());
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(port.storage->check_place(base.c_str(), diagnostic), Status::kCannotOpen) << path;
    ::rmdir(path.c_str());
    append(port, path);
    EXPECT_EQ(port.storage->check_place(base.c_str(), diagnostic), Status::kOk)
        << diagnostic.text();
  }
}

TEST_F(PosixPort, WorkersFolderOfAnotherUser_IsRefused) {
  const Port port = ready();
  const std::string folder = std::string(database()) + "-workers";
  Diagnostic diagnostic;
  append(port, database());
  ASSERT_EQ(::symlink(host_.folder().c_str(), folder.c_str()), 0);
  EXPECT_EQ(port.storage->check_place(database(), diagnostic), Status::kCannotOpen);
  EXPECT_EQ(diagnostic.text().find(folder), 0U) << diagnostic.text();
  EXPECT_EQ(port.storage->worker_create(database(), 3, 8).status(), Status::kCannotOpen);
  ::unlink(folder.c_str());
  ASSERT_EQ(::mkfifo(folder.c_str(), 0600), 0);
  EXPECT_EQ(port.storage->check_place(database(), diagnostic), Status::kCannotOpen);
  EXPECT_EQ(port.storage->worker_create(database(), 3, 8).status(), Status::kCannotOpen);
  ::unlink(folder.c_str());
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  EXPECT_EQ(port.storage->check_place(database(), diagnostic), Status::kOk);
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give a folder away";
  ASSERT_EQ(::chown(folder.c_str(), 65'534, 65'534), 0);
  EXPECT_EQ(port.storage->check_place(database(), diagnostic), Status::kCannotOpen);
  EXPECT_NE(diagnostic.text().find("another user's (65534)"), std::string_view::npos)
      << diagnostic.text();
  // The database is the other user's, too; this process is root with a tool.
  ASSERT_EQ(::chown(database(), 65'534, 65'534), 0);
  EXPECT_EQ(port.storage->check_place(database(), diagnostic), Status::kOk) << diagnostic.text();
}

// Files are replaced while the port is at work: it goes on, and the file behind the second name
// stays unchanged.
TEST_F(PosixPort, WhatIsPutInAFilesPlaceLater_IsLeftAlone) {
  const Port port = ready();
  const std::string base = database();
  const std::string bell_path = base + "-bell";
  const std::string reserve = base + "-reserve";
  const std::string target = host_.folder() + "/target";
  std::FILE* theirs = std::fopen(target.c_str(), "wb");
  ASSERT_NE(theirs, nullptr);
  std::fputs("theirs", theirs);
  std::fclose(theirs);
  const auto worker = port.storage->worker_create(base.c_str(), 3, 8);
  ASSERT_TRUE(worker.ok());
  const std::string worker_path = base + "-workers/4";
  for (const bool pipe : {true, false}) {
    for (const std::string& path : {bell_path, reserve, worker_path}) {
      ::unlink(path.c_str());
      ASSERT_EQ(pipe ? ::mkfifo(path.c_str(), 0600) : ::link(target.c_str(), path.c_str()), 0)
          << path << ": " << std::strerror(errno);
    }
    port.storage->ring(base.c_str());
    EXPECT_EQ(port.storage->allocate(reserve.c_str(), 4096), Status::kCannotOpen);
    EXPECT_EQ(port.storage->create_whole(base.c_str(), "whole", 5), Status::kCannotOpen);
    EXPECT_EQ(port.storage->worker_test(base.c_str(), 4), port::Held::kUntestable);
    char notes[8] = {};
    EXPECT_EQ(port.storage->worker_notes(base.c_str(), 4, 0, notes, sizeof notes), 0U);
    EXPECT_EQ(file_text(target.c_str()), "theirs");
  }
  // A pipe with a reader can be opened, but is refused all the same.
  for (const std::string& path : {bell_path, reserve, worker_path}) {
    ::unlink(path.c_str());
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  }
  const int reader = ::open(bell_path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  port.storage->ring(base.c_str());
  char byte = 0;
  EXPECT_EQ(::read(reader, &byte, 1), 0) << "nothing was written";
  ::close(reader);
  port.storage->worker_close(base.c_str(), 3, worker.value());
}

TEST_F(PosixPort, FolderThatOthersMayWrite_IsReported) {
  const Port port = ready();
  for (const auto& [mode, open] : {std::pair<mode_t, bool>{0700, false},
                                   {0755, false},
                                   {0775, true},
                                   {0777, true},
                                   {01777, false},
                                   {01770, false}}) {
    ASSERT_EQ(::chmod(host_.folder().c_str(), mode), 0);
    EXPECT_EQ(port.storage->others_may_write(database()), open) << std::oct << mode;
  }
  ASSERT_EQ(::chmod(host_.folder().c_str(), 0700), 0);
}

TEST_F(PosixPort, PlacesThatCannotBeWritten_AreReadOnly) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const Port port = ready();
  append(port, database());
  Diagnostic diagnostic;
  ASSERT_EQ(::chmod(database(), 0400), 0);
  EXPECT_EQ(port.storage->check_place(database(), diagnostic), Status::kReadOnly);
  ASSERT_EQ(::chmod(database(), 0600), 0);
  ASSERT_EQ(::chmod(host_.folder().c_str(), 0500), 0);
  EXPECT_EQ(port.storage->check_place(database(), diagnostic), Status::kReadOnly);
  ASSERT_EQ(::chmod(host_.folder().c_str(), 0700), 0);
}

TEST_F(PosixPort, FilesAreOfTheirOwnerOnly) {
  const Port port = ready();
  port.storage->ring(database());
  const auto worker = port.storage->worker_create(database(), 3, 8);
  ASSERT_TRUE(worker.ok());
  const std::string base = database();
  struct stat info {};
  ASSERT_EQ(::stat((base + "-bell").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(info.st_size, 1);
  ASSERT_EQ(::stat((base + "-workers").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat((base + "-workers/3").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  port.storage->worker_close(database(), 3, worker.value());
  EXPECT_NE(::stat((base + "-workers/3").c_str(), &info), 0);
}

// One maker at a time; a dead maker's leftover is no obstacle, and no process ever sees it.
TEST_F(PosixPort, WholeFile_IsMadeByOneAtATime) {
  const Port port = host_.add();
  const std::string database = host_.database();
  std::FILE* left = std::fopen((database + "-new").c_str(), "wb");
  ASSERT_NE(left, nullptr);
  std::fputs("a part of a database, and far more than that", left);
  std::fclose(left);
  port.storage->ring(database.c_str());
  const int other = ::open((database + "-bell").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_EQ(port.storage->create_whole(database.c_str(), "whole", 5), Status::kBusy);
  EXPECT_NE(::access(database.c_str(), F_OK), 0);
  ::close(other);  // as the kernel does when a process dies
  EXPECT_EQ(port.storage->create_whole(database.c_str(), "whole", 5), Status::kOk);
  EXPECT_EQ(file_text(database.c_str()), "whole");
  EXPECT_NE(::access((database + "-new").c_str(), F_OK), 0);
  struct stat info {};
  ASSERT_EQ(::stat(database.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

// The file gets real blocks, not a hole; else the file system reports that it cannot.
TEST_F(PosixPort, AllocatedFile_HasItsBlocks) {
  const Port port = host_.add();
  const std::string path = std::string(host_.database()) + "-reserve";
  const Status status = port.storage->allocate(path.c_str(), 1 << 20);
  if (status == Status::kUnsupported) GTEST_SKIP() << "not on this file system";
  ASSERT_EQ(status, Status::kOk);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 1 << 20);
  EXPECT_GE(info.st_blocks * 512, 1 << 20);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(PosixPort, BellThatWasReplaced_IsStillNoticed) {
  const Port sleeper = ready();
  const Port ringer = ready();
  ringer.storage->ring(database());
  EXPECT_TRUE(wait_for(sleeper, bell));
  remove(ringer, std::string(database()) + "-bell");
  while (poll(sleeper).bell) {
  }
  ringer.storage->ring(database());  // makes the bell anew
  EXPECT_TRUE(wait_for(sleeper, bell));
  while (poll(sleeper).bell) {
  }
  ringer.storage->ring(database());
  EXPECT_TRUE(wait_for(sleeper, bell));
}

// ---- waking ----

port::Threads* g_woken_by_signal = nullptr;
extern "C" void wake_in_handler(int) { g_woken_by_signal->wake(); }

TEST_F(PosixPort, Wake_FromAnotherThread) {
  const Port port = ready();
  pthread_t thread{};
  const auto run = [](void* threads) -> void* {
    static_cast<port::Threads*>(threads)->wake();
    return nullptr;
  };
  for (int round = 0; round < 50; ++round) {
    ASSERT_EQ(::pthread_create(&thread, nullptr, run, port.threads), 0);
    EXPECT_TRUE(wait_guarded(port).woken);
    ASSERT_EQ(::pthread_join(thread, nullptr), 0);
  }
}

// ThreadSanitizer delays a handler until the thread's next libc call that it intercepts, and never
// runs it if the signal came on the way into epoll_wait: a bare loop of pthread_kill and epoll_wait
// hangs.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PAWL_SIGNALS_GET_LOST
#endif
#endif

TEST_F(PosixPort, Wake_FromASignalHandler) {
#ifdef PAWL_SIGNALS_GET_LOST
  GTEST_SKIP() << "ThreadSanitizer loses signals";
#endif
  const Port port = ready();
  g_woken_by_signal = port.threads;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = wake_in_handler;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  pthread_t waiter = ::pthread_self();
  const auto run = [](void* target) -> void* {
    ::pthread_kill(*static_cast<pthread_t*>(target), SIGUSR1);
    return nullptr;
  };
  for (int round = 0; round < 50; ++round) {  // before, during and after the kernel's wait
    pthread_t thread{};
    ASSERT_EQ(::pthread_create(&thread, nullptr, run, &waiter), 0);
    EXPECT_TRUE(wait_guarded(port).woken);
    ASSERT_EQ(::pthread_join(thread, nullptr), 0);
  }
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST_F(PosixPort, Descriptors_WakeUntilTheyAreRead) {
  const Port port = ready();
  Pipe pipe;
  ASSERT_EQ(port.threads->add_descriptor(pipe.ends[0]), Status::kOk);
  EXPECT_FALSE(poll(port).descriptor);
  EXPECT_FALSE(port.threads->descriptor_ready(pipe.ends[0]));
  pipe.put();
  EXPECT_TRUE(wait_guarded(port).descriptor);
  EXPECT_TRUE(poll(port).descriptor);
  EXPECT_TRUE(port.threads->descriptor_ready(pipe.ends[0]));
  pipe.get();
  EXPECT_FALSE(poll(port).descriptor);
  EXPECT_FALSE(port.threads->descriptor_ready(pipe.ends[0]));
  pipe.put();
  port.threads->remove_descriptor(pipe.ends[0]);
  EXPECT_FALSE(poll(port).descriptor);
  EXPECT_EQ(port.threads->add_descriptor(-1), Status::kInvalidArgument);
  append(port, database());
  const int plain = ::open(database(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(port.threads->add_descriptor(plain), Status::kUnsupported);
  ::close(plain);
}

// A host's own loop polls the descriptor, then polls the port.
TEST_F(PosixPort, Fd_IsReadableWhenWaitWouldReturn) {
  const Port port = ready();
  const int fd = port.threads->fd();
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(readable(fd, 0));
  const std::int64_t due = port.clock->boot_ms() + 20;
  port.threads->arm(due);
  EXPECT_TRUE(readable(fd, static_cast<int>(kGuardMs)));
  EXPECT_GE(port.clock->boot_ms(), due);
  EXPECT_TRUE(port.threads->wait(due).due);
  EXPECT_FALSE(readable(fd, 0)) << "the time is answered";
  port.threads->wake();
  EXPECT_TRUE(readable(fd, 0));
  EXPECT_TRUE(poll(port).woken);
  EXPECT_FALSE(readable(fd, 0));
  ready().storage->ring(database());
  EXPECT_TRUE(readable(fd, static_cast<int>(kGuardMs)));
  EXPECT_TRUE(poll(port).bell);
  EXPECT_FALSE(readable(fd, 0));
  port.threads->arm({});
  EXPECT_FALSE(readable(fd, 0));
}

TEST_F(PosixPort, Polling_ReportsTheBellAtItsInterval) {
  posix::PortOptions options;
  options.poll_ms = 5;
  const Port port = ready(options);
  EXPECT_FALSE(port.threads->watches_files());
  for (int round = 0; round < 3; ++round)
    EXPECT_TRUE(port.threads->wait({}).bell);
  port.threads->arm({});
  EXPECT_TRUE(readable(port.threads->fd(), static_cast<int>(kGuardMs)));
  const std::int64_t due = port.clock->boot_ms() + 30;
  while (!port.threads->wait(due).due) {
  }
  EXPECT_GE(port.clock->boot_ms(), due);
}

TEST_F(PosixPort, Watching_IsReported) { EXPECT_TRUE(ready().threads->watches_files()); }

TEST_F(PosixPort, OpenAndClose_LeakNoDescriptor) {
  posix::SystemPort system;
  const Port port = system.port();
  Diagnostic diagnostic;
  ASSERT_EQ(port.threads->open(database(), diagnostic), Status::kOk);
  port.threads->close();
  const int before = ::dup(0);
  ::close(before);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(port.threads->open(database(), diagnostic), Status::kOk);
    (void)port.threads->watch_process(::getpid(), 0);
    port.threads->close();
  }
  const int after = ::dup(0);
  ::close(after);
  EXPECT_EQ(before, after);
}

TEST_F(PosixPort, NoDescriptorsLeft_IsAnErrorAndNotAHang) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  posix::SystemPort system;
  const int next = ::dup(0);
  ::close(next);
  for (int more = 0; more < 6; ++more) {
    rlimit little = before;
    little.rlim_cur = static_cast<rlim_t>(next + more);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &little), 0);
    Diagnostic diagnostic;
    const Status status = system.port().threads->open(database(), diagnostic);
    EXPECT_TRUE(status == Status::kOk || !diagnostic.text().empty());
    EXPECT_EQ(system.port().threads->fd() >= 0, status == Status::kOk);
    system.port().threads->close();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  }
}

// ---- the executor ----

struct Hanging {
  Pipe pipe;
  std::atomic<bool> ended{false};
};

void hang_until_cancelled(void* argument) {
  auto* job = static_cast<Hanging*>(argument);
  job->pipe.get();
  job->ended.store(true);
}

TEST_F(PosixPort, JobThatHangs_IsLeftBehindAndHarmsNoOther) {
  Hanging job;
  const Port port = ready();
  ASSERT_EQ(port.threads->executor_start(2, 64 * 1024), Status::kOk);
  port.threads->executor_submit(0, hang_until_cancelled, &job);
  EXPECT_FALSE(port.threads->executor_idle(0));
  EXPECT_TRUE(port.threads->executor_idle(1));
  EXPECT_FALSE(port.threads->executor_stop(1));
  host_.drop_all();  // the pool outlives its port
  job.pipe.put();
  while (!job.ended.load())
    ::sched_yield();
}

void note_blocked(void* out) {
  sigset_t now;
  ::sigemptyset(&now);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  *static_cast<bool*>(out) = ::sigismember(&now, SIGTERM) == 1 && ::sigismember(&now, SIGINT) == 1;
}

TEST_F(PosixPort, ExecutorThreads_TakeNoSignals) {
  const Port port = ready();
  ASSERT_EQ(port.threads->executor_start(1, 64 * 1024), Status::kOk);
  bool blocked = false;
  port.threads->executor_submit(0, note_blocked, &blocked);
  EXPECT_TRUE(port.threads->executor_stop(kGuardMs));
  EXPECT_TRUE(blocked);
  bool ours = true;
  note_blocked(&ours);
  EXPECT_FALSE(ours) << "the maker's mask is as before";
}

}  // namespace
}  // namespace pawl::port_test
