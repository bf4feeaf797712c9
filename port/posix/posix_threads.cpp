#include "port/posix/posix_threads.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifndef TFD_TIMER_CANCEL_ON_SET
#define TFD_TIMER_CANCEL_ON_SET (1 << 1)
#endif
// The number is the same on every architecture since Linux 5.3, but that those of 32-bit MIPS begin
// at 4000; C libraries of the time lack the name.
#ifndef SYS_pidfd_open
#if defined(__mips__) && _MIPS_SIM == _ABIO32
#define SYS_pidfd_open 4434
#else
#define SYS_pidfd_open 434
#endif
#endif

namespace pawl::posix {
namespace {

// The values that epoll hands back; a watched process is kTagProcess + its place in the table.
enum Tag : std::uint64_t { kTagWake, kTagDue, kTagStep, kTagFiles, kTagHost, kTagProcess };

// Poll interval where notification was wanted and cannot be had. watches_files() is false then, so
// the caller knows.
constexpr int kPollMsFallback = 1000;
// 73 years of uptime: later due times are never reached anyway, and no product overflows.
constexpr std::int64_t kDueMsMax = INT64_MAX / 1'000'000 / 4;
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// The year 2255; the kernel's own times end in 2262.
constexpr time_t kFarAheadSeconds = 9'000'000'000;

bool any(const port::WakeReasons& reasons) {
  return reasons.due || reasons.woken || reasons.bell || reasons.log || reasons.process ||
         reasons.descriptor || reasons.clock;
}

int open_pidfd(std::int64_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0U));
}

// The n-th field (from 1, n > 2) of /proc/<pid>/stat. Field 2 is a name that may hold anything, so
// counting starts after its last bracket.
std::int64_t stat_field(const char* text, int field) {
  const char* at = std::strrchr(text, ')');
  for (int now = 2; at != nullptr && now < field; ++now) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at == nullptr ? 0 : std::strtoll(at, nullptr, 10);
}

}  // namespace

Status SystemThreads::make_wake_event() {
  if (!wake_event_.valid()) wake_event_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  return wake_event_.valid() ? Status::kOk : status_of_errno(errno);
}

bool SystemThreads::listen(int fd, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Status SystemThreads::open_descriptors() {
  PAWL_TRY(make_wake_event());
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return status_of_errno(errno);
  due_timer_.reset(::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!due_timer_.valid()) return status_of_errno(errno);
  step_timer_.reset(::timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!step_timer_.valid()) return status_of_errno(errno);
  if (!listen(wake_event_.get(), kTagWake) || !listen(due_timer_.get(), kTagDue) ||
      !listen(step_timer_.get(), kTagStep)) {
    return status_of_errno(errno);
  }
  arm_step_notice();
  return Status::kOk;
}

Status SystemThreads::open_files(const char* database_path, Diagnostic& diagnostic) {
  has_database_ = database_path != nullptr;
  if (!has_database_ || poll_ms_ > 0) return Status::kOk;
  const Status status = files_.open(database_path);
  if (status == Status::kUnsupported) return Status::kOk;  // polls; watches_files() says so
  if (status != Status::kOk) {
    diagnostic.format("%s-bell: cannot be made or watched (errno %d)", database_path, errno);
    return status;
  }
  return listen(files_.fd(), kTagFiles) ? Status::kOk : status_of_errno(errno);
}

Status SystemThreads::open(const char* database_path, Diagnostic& diagnostic) {
  close();
  Status status = open_descriptors();
  if (status != Status::kOk) {
    diagnostic.format("the kernel refuses an epoll, event or timer descriptor (errno %d)", errno);
  } else {
    status = open_files(database_path, diagnostic);
  }
  if (status != Status::kOk) {
    close();
    return status;
  }
  owner_ = ::pthread_self();
  opened_ = true;
  return Status::kOk;
}

void SystemThreads::close() {
  for (Watched& one : processes_) {
    if (one.pidfd >= 0) ::close(one.pidfd);
    one = Watched();
  }
  files_.close();
  step_timer_.reset(-1);
  due_timer_.reset(-1);
  epoll_.reset(-1);
  death_pending_ = false;
  has_database_ = false;
  next_poll_ms_.clear();
  armed_ns_ = 0;
  opened_ = false;
}

bool SystemThreads::polling() const { return has_database_ && !files_.working(); }

void SystemThreads::notice() {
  const std::uint64_t one = 1;
  // EAGAIN means the counter is full: the waiter is awake anyway.
  (void)retried([&] { return ::write(wake_event_.get(), &one, sizeof(one)); });
}

void SystemThreads::wake() {
  const int error = errno;  // a signal handler must leave it as it was
  woken_.store(1);
  notice();
  errno = error;
}

void SystemThreads::arm(OptionalMs due_boot_ms) {
  OptionalMs target = due_boot_ms;
  if (polling()) {
    const int interval_ms = poll_ms_ > 0 ? poll_ms_ : kPollMsFallback;
    if (!next_poll_ms_.has_value()) next_poll_ms_ = clock_.boot_ms() + interval_ms;
    target.keep_earlier(next_poll_ms_);
  }
  // Signals at once, since a busy loop has a passed time in each tick: an event costs less than a
  // timer and its interrupt.
  if (target.has_passed(0)) {
    notice();
    target.clear();
  }
  std::int64_t ns = 0;  // disarms
  if (target.has_value()) {
    const std::int64_t target_ms = target.value() < kDueMsMax ? target.value() : kDueMsMax;
    ns = target_ms * kNsPerMs + clock_.namespace_offset_ns();
    if (ns < 1) ns = 1;  // passed
  }
  if (ns == armed_ns_) return;
  armed_ns_ = ns;
  itimerspec setting{};
  setting.it_value.tv_sec = static_cast<time_t>(ns / kNsPerSecond);
  setting.it_value.tv_nsec = static_cast<decltype(setting.it_value.tv_nsec)>(ns % kNsPerSecond);
  ::timerfd_settime(due_timer_.get(), TFD_TIMER_ABSTIME, &setting, nullptr);
}

void SystemThreads::arm_step_notice() {
  itimerspec setting{};
  setting.it_value.tv_sec = kFarAheadSeconds;
  ::timerfd_settime(step_timer_.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &setting,
                    nullptr);
}

void SystemThreads::take_step_notice(port::WakeReasons& reasons) {
  std::uint64_t expirations = 0;
  const ssize_t got =
      retried([&] { return ::read(step_timer_.get(), &expirations, sizeof(expirations)); });
  if (got < 0 && errno == EAGAIN) return;
  reasons.clock = true;
  // If the timer expired, the wall clock is beyond 2255; armed again it would fire without end.
  if (got < 0) arm_step_notice();
}

void SystemThreads::process_died(std::size_t index) {
  ::close(processes_[index].pidfd);  // it would stay readable for ever
  processes_[index] = Watched();
}

void SystemThreads::take(std::uint64_t tag, port::WakeReasons& reasons) {
  std::uint64_t count = 0;
  switch (tag) {
    case kTagWake:
      (void)retried([&] { return ::read(wake_event_.get(), &count, sizeof(count)); });
      if (woken_.exchange(0) != 0) reasons.woken = true;
      if (executor_.take_finished()) reasons.woken = true;
      if (death_pending_) reasons.process = true;
      death_pending_ = false;
      return;
    case kTagDue:
      (void)retried([&] { return ::read(due_timer_.get(), &count, sizeof(count)); });
      armed_ns_ = 0;
      return;
    case kTagStep: take_step_notice(reasons); return;
    case kTagFiles: files_.drain(reasons); return;
    case kTagHost: reasons.descriptor = true; return;
    default:
      process_died(static_cast<std::size_t>(tag - kTagProcess));
      reasons.process = true;
      return;
  }
}

bool SystemThreads::collect(bool block, port::WakeReasons& reasons) {
  epoll_event events[kProcessesMax + 16];
  const int n = ::epoll_wait(epoll_.get(), events,
                             static_cast<int>(sizeof(events) / sizeof(events[0])), block ? -1 : 0);
  if (n < 0)
    return errno == EINTR;  // a handler may have called wake(): the event shows it next time
  for (int i = 0; i < n; ++i)
    take(events[i].data.u64, reasons);
  if (polling() && next_poll_ms_.has_passed(clock_.boot_ms())) {
    next_poll_ms_.clear();
    reasons.bell = true;
  }
  return true;
}

port::WakeReasons SystemThreads::wait(OptionalMs due_boot_ms) {
  port::WakeReasons reasons;
  for (;;) {
    const bool passed = due_boot_ms.has_passed(clock_.boot_ms());
    // A passed time is not armed: fd() would stay readable after the poll that answered it.
    arm(passed ? OptionalMs() : due_boot_ms);
    const bool waited = collect(!passed, reasons);
    reasons.due = due_boot_ms.has_passed(clock_.boot_ms());
    if (any(reasons) || !waited) return reasons;
  }
}

port::WakeReasons SystemThreads::drain() {
  port::WakeReasons reasons;
  if (files_.fd() >= 0) files_.drain(reasons);
  return reasons;
}

Status SystemThreads::watch_process(std::int64_t pid, std::int64_t start_time) {
  if (!opened_ || pid <= 0) return Status::kInvalidArgument;
  unwatch_process(pid);
  std::size_t index = 0;
  while (index < kProcessesMax && processes_[index].pidfd >= 0)
    ++index;
  if (index == kProcessesMax) return Status::kResourceExhausted;
  Descriptor pidfd(open_pidfd(pid));
  // EINVAL, and ENOENT in later kernels: the number is now a thread of another process.
  const bool gone = !pidfd.valid() && (errno == ESRCH || errno == EINVAL || errno == ENOENT);
  if (!pidfd.valid() && !gone) {
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? Status::kResourceExhausted
                                                                 : Status::kUnsupported;
  }
  // Compared after opening: from here on the descriptor means one process, even if the number is
  // used again.
  if (gone || (start_time != 0 && process_start_time(pid) != start_time)) {
    death_pending_ = true;
    notice();
    return Status::kOk;
  }
  if (!listen(pidfd.get(), kTagProcess + index)) return status_of_errno(errno);
  processes_[index].pid = pid;
  processes_[index].pidfd = pidfd.release();
  return Status::kOk;
}

void SystemThreads::unwatch_process(std::int64_t pid) {
  for (std::size_t i = 0; i < kProcessesMax; ++i) {
    if (processes_[i].pidfd >= 0 && processes_[i].pid == pid) process_died(i);
  }
}

Status SystemThreads::add_descriptor(int fd) {
  if (listen(fd, kTagHost) || errno == EEXIST) return Status::kOk;
  return errno == EPERM ? Status::kUnsupported : status_of_errno(errno);  // EPERM: a plain file
}

void SystemThreads::remove_descriptor(int fd) {
  epoll_event unused{};  // kernels before 2.6.9 read it
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &unused);
}

bool SystemThreads::descriptor_ready(int fd) {
  pollfd one{};
  one.fd = fd;
  one.events = POLLIN;
  return retried([&] { return ::poll(&one, 1, 0); }) == 1;
}

std::int64_t SystemThreads::process_id() { return ::getpid(); }

std::int64_t SystemThreads::process_start_time(std::int64_t pid) {
  char path[48];
  std::snprintf(path, sizeof(path), "/proc/%" PRId64, pid);
  // Opened in two steps: user-mode emulators answer /proc/<own id>/stat with a start time of their
  // own, which other processes would take for a reused id.
  const Descriptor folder(
      retried([&] { return ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!folder.valid()) return 0;
  const Descriptor file(
      retried([&] { return ::openat(folder.get(), "stat", O_RDONLY | O_CLOEXEC); }));
  char text[1024];
  if (!file.valid() || read_text(file.get(), text, sizeof(text)) <= 0) return 0;
  constexpr int kStartTimeField = 22;
  return stat_field(text, kStartTimeField);
}

bool SystemThreads::on_owner_thread() {
  return opened_ && ::pthread_equal(owner_, ::pthread_self()) != 0;
}

Status SystemThreads::executor_start(unsigned count, std::size_t stack_bytes) {
  PAWL_TRY(make_wake_event());
  return executor_.start(count, stack_bytes, wake_event_.get());
}

}  // namespace pawl::posix
