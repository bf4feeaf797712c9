// The Linux port among real processes: locks, pidfds and the bell when another process dies.
//
// Method: children are forked (or spawned), report over a pipe when they have reached the wanted
// state, and block on another pipe. The only signal is SIGKILL, sent after that report.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "posix_host.hpp"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

extern char** environ;

namespace pawl::port_test {
namespace {

constexpr std::size_t kNotes = 64;

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  void put(char byte) const {
    if (::write(ends[1], &byte, 1) != 1) ::_exit(3);
  }
  // 0 at the end of the pipe, and if no byte comes within kGuardMs.
  char get() const {
    pollfd one{ends[0], POLLIN, 0};
    char byte = 0;
    if (::poll(&one, 1, static_cast<int>(kGuardMs)) != 1 || ::read(ends[0], &byte, 1) != 1)
      return 0;
    return byte;
  }
  // Blocks until the other side puts a byte or has ended.
  void block() const {
    char byte = 0;
    while (::read(ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
  }
  int ends[2] = {-1, -1};
};

template <typename Body>
pid_t fork_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  EXPECT_GT(child, 0);
  return child;
}

int reap(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void kill_child(pid_t child) {
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(reap(child), -1);
}

class PosixProcess : public testing::Test {
 protected:
  // Called in a child: holds a worker of its own until the process ends.
  port::Storage::WorkerFile hold_worker(std::int64_t incarnation) {
    // Never destroyed: the case needs a process that ends without cleaning up.
    auto* system = new posix::SystemPort;
    const auto file = system->port().storage->worker_create(host_.database(), incarnation, kNotes);
    if (!file.ok()) ::_exit(2);
    return file.value();
  }
  const char* database() { return host_.database(); }
  PosixHost host_;
};

TEST_F(PosixProcess, Kill_FreesTheLockKeepsTheNotesAndWakesTheWatcher) {
  const Port port = host_.ready();
  const Pipe speaks;
  const Pipe blocks;
  const pid_t child = fork_child([&] {
    const auto file = hold_worker(5);
    static_cast<unsigned char*>(file.notes)[9] = 77;
    speaks.put('h');
    blocks.block();
  });
  ASSERT_EQ(speaks.get(), 'h');
  EXPECT_EQ(port.storage->worker_test(database(), 5), Held::kHeld);
  const std::int64_t start = port.threads->process_start_time(child);
  EXPECT_GT(start, 0);
  const Status watch = port.threads->watch_process(child, start);
  if (watch == Status::kUnsupported) {
    std::puts("no pidfd_open here: only the lock is tested");
  } else {
    EXPECT_EQ(watch, Status::kOk);
    EXPECT_FALSE(poll(port).process);
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  if (watch == Status::kOk) {
    EXPECT_TRUE(wait_for(port, process));
    // The child is not reaped yet: a woken process may test the lock at once.
    EXPECT_EQ(port.storage->worker_test(database(), 5), Held::kFree);
    EXPECT_FALSE(poll(port).process) << "told once";
  }
  EXPECT_EQ(reap(child), -1);
  EXPECT_EQ(port.storage->worker_test(database(), 5), Held::kFree);
  unsigned char notes[kNotes] = {};
  EXPECT_EQ(port.storage->worker_notes(database(), 5, 0, notes, sizeof(notes)), kNotes);
  EXPECT_EQ(notes[9], 77);
  port.storage->worker_remove(database(), 5);
  EXPECT_EQ(port.storage->worker_notes(database(), 5, 0, notes, sizeof(notes)), 0U);
}

TEST_F(PosixProcess, ForkedChild_DoesNotKeepTheLockAlive) {
  const Port port = host_.ready();
  const Pipe speaks;
  const Pipe blocks;
  Pipe lives;
  const pid_t child = fork_child([&] {
    hold_worker(5);
    fork_child([&] {
      speaks.put('g');
      blocks.block();
      lives.put('l');
    });
    blocks.block();
  });
  lives.close_end(1);
  ASSERT_EQ(speaks.get(), 'g');
  EXPECT_EQ(port.storage->worker_test(database(), 5), Held::kHeld) << "fork frees nothing";
  kill_child(child);
  EXPECT_EQ(port.storage->worker_test(database(), 5), Held::kFree);
  blocks.put('x');
  EXPECT_EQ(lives.get(), 'l') << "the grandchild lived all the time";
}

// Spawned by posix_spawn(), which runs no fork handlers, so only close-on-exec is left.
TEST_F(PosixProcess, ExecutedChild_DoesNotKeepTheLockAlive) {
  if (::access("/bin/cat", X_OK) != 0) GTEST_SKIP() << "no /bin/cat";
  const Port port = host_.ready();
  const Pipe speaks;
  const Pipe blocks;
  const Pipe input;
  const Pipe output;
  const pid_t child = fork_child([&] {
    hold_worker(5);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input.ends[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, output.ends[1], 1);
    char name[] = "cat";
    char* arguments[] = {name, nullptr};
    pid_t cat = 0;
    if (::posix_spawn(&cat, "/bin/cat", &actions, nullptr, arguments, environ) != 0) ::_exit(4);
    speaks.put('s');
    blocks.block();
  });
  ASSERT_EQ(speaks.get(), 's');
  EXPECT_EQ(port.storage->worker_test(database(), 5), Held::kHeld);
  kill_child(child);
  input.put('a');
  EXPECT_EQ(output.get(), 'a') << "cat lives";
  EXPECT_EQ(port.storage->worker_test(database(), 5), Held::kFree);
}

// A forked child that ends in order runs destructors of its parent's objects.
TEST_F(PosixProcess, ForkedChild_CannotCloseItsParentsWorker) {
  const Port port = host_.ready();
  const auto file = port.storage->worker_create(database(), 5, kNotes);
  ASSERT_TRUE(file.ok());
  const pid_t child = fork_child([&] { port.storage->worker_close(database(), 5, file.value()); });
  EXPECT_EQ(reap(child), 0);
  EXPECT_EQ(port.storage->worker_test(database(), 5), Held::kHeld);
  static_cast<unsigned char*>(file.value().notes)[0] = 1;
  unsigned char note = 0;
  EXPECT_EQ(port.storage->worker_notes(database(), 5, 0, &note, 1), 1U);
  EXPECT_EQ(note, 1);
  port.storage->worker_close(database(), 5, file.value());
  EXPECT_EQ(port.storage->worker_test(database(), 5), Held::kFree);
}

// The moment in which the file exists unlocked is too short to hit on purpose. So the folder's
// events are read: the name appears by a rename and never by a creation.
TEST_F(PosixProcess, WorkerFile_AppearsUnderItsNameWhenItIsLocked) {
  const Port port = host_.ready();
  const auto first = port.storage->worker_create(database(), 1, kNotes);  // makes the folder
  ASSERT_TRUE(first.ok());
  const std::string folder = std::string(database()) + "-workers";
  const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(::inotify_add_watch(watch, folder.c_str(), IN_CREATE | IN_MOVED_TO), 0);
  const auto second = port.storage->worker_create(database(), 2, kNotes);
  ASSERT_TRUE(second.ok());
  alignas(inotify_event) char buffer[4096];
  const ssize_t got = ::read(watch, buffer, sizeof(buffer));
  ::close(watch);
  int moved = 0;
  inotify_event event{};
  for (std::size_t at = 0;
       at + sizeof(event) <= static_cast<std::size_t>(std::max<ssize_t>(got, 0));
       at += sizeof(event) + event.len) {
    std::memcpy(&event, buffer + at, sizeof(event));
    if (event.len == 0 || std::string(buffer + at + sizeof(event)) != "2") continue;
    EXPECT_EQ(event.mask & IN_CREATE, 0U);
    ++moved;
  }
  EXPECT_EQ(moved, 1);
  port.storage->worker_close(database(), 2, second.value());
  port.storage->worker_close(database(), 1, first.value());
}

TEST_F(PosixProcess, Bell_WakesASleepingProcess) {
  const Pipe ready;
  const Pipe received;
  const pid_t child = fork_child([&] {
    posix::SystemPort system;
    const Port port = system.port();
    Diagnostic diagnostic;
    if (port.clock->open(diagnostic) != Status::kOk) ::_exit(5);
    if (port.threads->open(database(), diagnostic) != Status::kOk) ::_exit(6);
    ready.put('r');
    received.put(wait_for(port, bell) ? 'b' : 'n');
  });
  ASSERT_EQ(ready.get(), 'r');
  host_.add().storage->ring(database());
  EXPECT_EQ(received.get(), 'b');
  EXPECT_EQ(reap(child), 0);
}

TEST_F(PosixProcess, ProcessesWatched_AreAtMost64) {
  const Port port = host_.ready();
  Pipe blocks;
  pid_t children[65];
  for (pid_t& child : children) {
    child = fork_child([&] {
      blocks.close_end(1);
      blocks.block();
    });
  }
  Status status = port.threads->watch_process(children[0], 0);
  const bool supported = status != Status::kUnsupported;
  for (int i = 1; i < 64 && supported; ++i) {
    EXPECT_EQ(port.threads->watch_process(children[i], 0), Status::kOk);
  }
  if (supported) {
    EXPECT_EQ(port.threads->watch_process(children[64], 0), Status::kResourceExhausted);
    port.threads->unwatch_process(children[3]);
    EXPECT_EQ(port.threads->watch_process(children[64], 0), Status::kOk);
    EXPECT_FALSE(poll(port).process);
  }
  blocks.close_end(1);
  EXPECT_TRUE(!supported || wait_for(port, process));
  for (const pid_t child : children)
    EXPECT_EQ(reap(child), 0);
  if (!supported) GTEST_SKIP() << "no pidfd_open here";
}

// Both sides must report the same time for one process, even if an emulator serves /proc/self.
TEST_F(PosixProcess, StartTime_IsTheSameSeenFromInsideAndOutside) {
  const Port port = host_.ready();
  const std::int64_t mine = port.threads->process_start_time(::getpid());
  const pid_t parent = ::getpid();
  const pid_t child = fork_child([&] {
    posix::SystemPort system;
    if (system.port().threads->process_start_time(parent) != mine) ::_exit(1);
  });
  EXPECT_GT(mine, 0);
  EXPECT_EQ(reap(child), 0);
}

// ---- time namespaces ----

enum Outcome : char {
  kRight = 'r',
  kWrong = 'w',
  kRefused = 'f',
  kNotPermitted = 'p',
  kNoOffset = 'o'
};

// Runs in a process of the new namespace: is its boot time the machine's, and does it wake in time?
Outcome judge_inside(std::int64_t before_ms) {
  posix::SystemPort system;
  const Port port = system.port();
  Diagnostic diagnostic;
  if (port.clock->open(diagnostic) != Status::kOk) return kRefused;
  if (port.threads->open(nullptr, diagnostic) != Status::kOk) return kRefused;
  const std::int64_t now = port.clock->boot_ms();
  if (now < before_ms || now > before_ms + kGuardMs) return kWrong;
  const std::int64_t due = now + 100;
  port.threads->arm(due);
  pollfd one{port.threads->fd(), POLLIN, 0};
  if (::poll(&one, 1, static_cast<int>(kGuardMs)) != 1) return kWrong;  // far too late
  if (port.clock->boot_ms() < due) return kWrong;                       // too early
  return port.threads->wait(due).due ? kRight : kWrong;
}

// Unshares, sets the offset, and checks both sides: the process itself must be refused, since it is
// still in the old namespace; its child is in the new one.
void enter_namespace(long long offset_s, std::int64_t before_ms, const Pipe& says) {
  if (::unshare(CLONE_NEWTIME) != 0) {
    says.put(kNotPermitted);
    ::_exit(errno > 0 && errno < 256 ? errno : 255);
  }
  const std::string line = "boottime " + std::to_string(offset_s) + " 0\n";
  const int file = ::open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
  if (file < 0 || ::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    says.put(kNoOffset);
    ::_exit(errno > 0 && errno < 256 ? errno : 255);
  }
  ::close(file);
  says.put(judge_inside(before_ms));
  says.put(static_cast<char>(reap(fork_child([&] { ::_exit(judge_inside(before_ms)); }))));
}

void check_namespace(long long offset_s, std::int64_t before_ms) {
  const Pipe says;
  const pid_t child = fork_child([&] { enter_namespace(offset_s, before_ms, says); });
  const char unshared = says.get();
  if (unshared == kNotPermitted || unshared == kNoOffset) {
    const int error = reap(child);
    GTEST_SKIP() << (unshared == kNotPermitted ? "unshare(CLONE_NEWTIME): "
                                               : "writing /proc/self/timens_offsets: ")
                 << std::strerror(error);
  }
  EXPECT_EQ(unshared, kRefused) << "unshared, not forked";
  EXPECT_EQ(says.get(), kRight) << "offset " << offset_s;
  EXPECT_EQ(reap(child), 0);
}

TEST_F(PosixProcess, TimeNamespaceAhead_KnowsTheMachinesBootTime) {
  check_namespace(100'000, host_.ready().clock->boot_ms());
}

TEST_F(PosixProcess, TimeNamespaceBehind_KnowsTheMachinesBootTime) {
  const std::int64_t now = host_.ready().clock->boot_ms();
  const long long offset_s = -(now / 2000);  // the kernel refuses a boot time below 0
  check_namespace(offset_s, now);
}

}  // namespace
}  // namespace pawl::port_test
