#include "apps/pawld/child.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pawld {
namespace {

constexpr int kFirstFree = 10;  // beyond the numbers that the child assigns
constexpr int kDevice = 3;
constexpr int kCannotStart = 127;

// The child's report of an error before the program begins.
struct Report {
  int error = 0;
  bool cwd = false;
};

struct Pipe {
  int read = -1;
  int write = -1;
  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
};

bool without_waiting(int fd) { return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0; }

// Closes all descriptors from `first` on when the program begins. An old kernel has no call for it.
void close_at_exec(int first) {
#ifdef SYS_close_range
  constexpr unsigned kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, kCloseOnExec) == 0) return;
#endif
  constexpr int kLooked = 4096;
  for (int fd = first; fd < kLooked; ++fd)
    if (fcntl(fd, F_GETFD) >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// Runs in the child, where only functions that a signal handler may call are allowed.
[[noreturn]] void run(const Launch& launch, pid_t parent, int in, int out, int err, int status) {
  Report report;
  const auto give_up = [&] {
    report.error = errno;
    static_cast<void>(!write(status, &report, sizeof report));
    _exit(kCannotStart);
  };
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);  // the parent ended before the kernel watched it
  for (int number = 1; number < NSIG; ++number)
    signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // First moves all descriptors beyond the fixed numbers, so that none overwrites another.
  in = fcntl(in, F_DUPFD, kFirstFree);
  out = fcntl(out, F_DUPFD, kFirstFree);
  err = fcntl(err, F_DUPFD, kFirstFree);
  status = fcntl(status, F_DUPFD_CLOEXEC, kFirstFree);
  const int device = launch.device < 0 ? -1 : fcntl(launch.device, F_DUPFD, kFirstFree);
  if (in < 0 || out < 0 || err < 0 || status < 0) _exit(kCannotStart);
  if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
    give_up();
  if (device >= 0 && dup2(device, kDevice) < 0) give_up();
  close_at_exec(device >= 0 ? kDevice + 1 : kDevice);
  if (launch.cwd != nullptr && chdir(launch.cwd) != 0) {
    report.cwd = true;
    give_up();
  }
  execve(launch.argv[0], launch.argv, launch.environment);
  give_up();
  _exit(kCannotStart);
}

}  // namespace

// ---- Leftovers ----

void Leftovers::add(pid_t pid) {
  reap();
  if (count_ < kMost) pids_[count_++] = pid;
}

void Leftovers::reap() {
  for (std::size_t i = 0; i < count_;) {
    if (waitpid(pids_[i], nullptr, WNOHANG) == 0) {
      ++i;
    } else {
      pids_[i] = pids_[--count_];
    }
  }
}

// ---- Child ----

Child::~Child() {
  if (pid_ > 0) {
    signal(SIGKILL);
    leftovers_->add(pid_);
  }
  close_all();
}

void Child::close_one(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void Child::close_all() {
  for (int* const fd : {&in_, &out_, &err_, &status_, &pid_fd_, &epoll_})
    close_one(fd);
}

void Child::watch(int fd, std::uint32_t events) const {
  epoll_event event = {};
  event.events = events;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

int Child::start(const Launch& launch, Leftovers& leftovers) {
  leftovers_ = &leftovers;
  Pipe in;
  Pipe out;
  Pipe err;
  Pipe status;
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  bool good = epoll_ >= 0 && in.open() && out.open() && err.open() && status.open();
  in_ = in.write;
  out_ = out.read;
  err_ = err.read;
  status_ = status.read;
  good = good && without_waiting(in_) && without_waiting(out_) && without_waiting(err_) &&
         without_waiting(status_);
  const pid_t parent = getpid();
  const pid_t pid = good ? fork() : -1;
  if (pid == 0) run(launch, parent, in.read, out.write, err.write, status.write);
  const int error = errno;
  for (int* const fd : {&in.read, &out.write, &err.write, &status.write})
    close_one(fd);
  if (pid < 0) {
    close_all();
    return error;
  }
  pid_ = pid;
  setpgid(pid, pid);  // the child does it too; one of the two is first
#ifdef SYS_pidfd_open
  pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#endif
  if (pid_fd_ >= 0) {
    fcntl(pid_fd_, F_SETFD, FD_CLOEXEC);
    watch(pid_fd_, EPOLLIN);
  }
  watch(out_, EPOLLIN);
  watch(err_, EPOLLIN);
  watch(in_, EPOLLOUT);
  return 0;
}

std::size_t Child::write_input(std::string_view rest) {
  std::size_t done = 0;
  while (in_ >= 0) {
    const ssize_t n = done == rest.size() ? 0 : write(in_, rest.data() + done, rest.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return done;
    if (n <= 0) {
      close_one(&in_);
      return rest.size();
    }
    done += static_cast<std::size_t>(n);
  }
  return rest.size();
}

std::size_t Child::read_from(int* fd, char* into, std::size_t room) {
  while (*fd >= 0) {
    const ssize_t n = read(*fd, into, room);
    if (n > 0) return static_cast<std::size_t>(n);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return 0;
    close_one(fd);
  }
  return 0;
}

void Child::signal(int number) const {
  if (pid_ <= 0) return;
  // Before its setpgid() the child is no group yet.
  if (kill(-pid_, number) != 0) kill(pid_, number);
}

bool Child::has_ended(ChildEnd* ended) {
  siginfo_t info = {};
  // WNOWAIT: the group's number is not used again until the program is waited for.
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_)
    return false;
  signal(SIGKILL);
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = 0;
  ended->by_signal = WIFSIGNALED(status);
  ended->number = ended->by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  Report report;
  if (read(status_, &report, sizeof report) == static_cast<ssize_t>(sizeof report)) {
    ended->start_error = report.error;
    ended->cwd_failed = report.cwd;
  }
  close_one(&in_);
  return true;
}

}  // namespace pawld
