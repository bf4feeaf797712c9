// Kills its process at the n-th write, sync, rename or truncation of the chosen files. A write of
// more than 512 bytes to a log is made as several, so that a kill tears it at each 512 bytes of the
// file, and between any two frames.
//
//   PAWL_CRASH_PREFIX  absolute; only paths that start with it are counted (required)
//   PAWL_CRASH_SUFFIX  and that end with it (default: any)
//   PAWL_CRASH_AT      SIGKILL at this call, from 1; 0 or unset: none, only count
//   PAWL_CRASH_WHEN    after (default) or before the call. Without a kill: fail (the call returns
//                      EIO), or stop (the process waits before the call for a SIGCONT)
//   PAWL_CRASH_REPORT  file that gets one line: how the process was killed, or the counts at exit
//
// A program may also call crash_at_arm(n): kill at the n-th such call from now on.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum Kind { kWrite, kSync, kRename, kTruncate, kKinds };
constexpr const char* kKindNames[kKinds] = {"write", "sync", "rename", "truncate"};

constexpr std::size_t kPathBytes = 1024;
char prefix[kPathBytes];
char suffix[kPathBytes];
char report_path[kPathBytes];
bool kills_before = false;
bool fails = false;
bool stops = false;
std::atomic<long> kill_at{0};
std::atomic<long> calls{0};
std::atomic<long> kinds[kKinds];

void keep(char (&out)[kPathBytes], const char* variable) {
  const char* value = std::getenv(variable);
  if (value != nullptr && std::strlen(value) < kPathBytes) std::strcpy(out, value);
}

__attribute__((constructor)) void read_environment() {
  keep(suffix, "PAWL_CRASH_SUFFIX");
  keep(report_path, "PAWL_CRASH_REPORT");
  const char* when = std::getenv("PAWL_CRASH_WHEN");
  kills_before = when != nullptr && std::strcmp(when, "before") == 0;
  fails = when != nullptr && std::strcmp(when, "fail") == 0;
  stops = when != nullptr && std::strcmp(when, "stop") == 0;
  const char* at = std::getenv("PAWL_CRASH_AT");
  kill_at.store(at == nullptr ? 0 : std::strtol(at, nullptr, 10));
  keep(prefix, "PAWL_CRASH_PREFIX");  // last, since it switches the rest on
}

__attribute__((format(printf, 1, 2))) void report(const char* format, ...) {
  if (*report_path == 0) return;
  char line[kPathBytes + 256];
  va_list arguments;
  va_start(arguments, format);
  const int size = std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  const long fd =
      ::syscall(SYS_openat, AT_FDCWD, report_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (size > 0) (void)::syscall(SYS_write, fd, line, static_cast<std::size_t>(size));
  (void)::syscall(SYS_close, fd);
}

__attribute__((destructor)) void report_counts() {
  report("total %ld write %ld sync %ld rename %ld truncate %ld\n", calls.load(),
         kinds[kWrite].load(), kinds[kSync].load(), kinds[kRename].load(), kinds[kTruncate].load());
}

[[noreturn]] void die(Kind kind, const char* path) {
  report("killed at %ld %s %s\n", calls.load(), kKindNames[kind], path);
  ::kill(::getpid(), SIGKILL);
  for (;;)
    ::pause();
}

bool concerns(const char* path) {
  const std::size_t size = std::strlen(path);
  const std::size_t tail = std::strlen(suffix);
  return std::strncmp(path, prefix, std::strlen(prefix)) == 0 && size >= tail &&
         std::strcmp(path + size - tail, suffix) == 0;
}

bool concerns(int fd, char (&path)[kPathBytes]) {
  if (*prefix == 0) return false;
  char link[32];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const int before = errno;
  const ssize_t size = ::readlink(link, path, sizeof(path) - 1);
  errno = before;
  path[size < 0 ? 0 : size] = 0;
  return concerns(path);
}

template <typename Call>
auto counted(bool counts, Kind kind, const char* path, Call call) {
  if (!counts) return call();
  kinds[kind].fetch_add(1);
  const bool last = calls.fetch_add(1) + 1 == kill_at.load();
  if (last && kills_before) die(kind, path);
  if (last && fails) {
    errno = EIO;
    return decltype(call())(-1);
  }
  if (last && stops) ::raise(SIGSTOP);
  const auto result = call();
  if (last && !stops) die(kind, path);
  return result;
}

template <typename Call>
auto counted(int fd, Kind kind, Call call) {
  char path[kPathBytes];
  const bool counts = concerns(fd, path);
  return counted(counts, kind, path, call);
}

// How much of `size` bytes at `at` is written before the next place where a kill tears a log. Its
// frames have 24 and 512 bytes, behind a head of 32.
std::size_t until_torn(std::size_t size, off_t at) {
  constexpr off_t kSector = 512;
  constexpr off_t kHead = 32;
  constexpr off_t kFrame = 24 + 512;
  off_t piece = kSector - at % kSector;
  if (at >= kHead) piece = std::min(piece, kFrame - (at - kHead) % kFrame);
  return std::min(size, static_cast<std::size_t>(piece));
}

// `call` writes so many bytes from the first place on, at an offset.
template <typename Call>
ssize_t counted_at(int fd, const void* data, std::size_t size, off_t at, Call call) {
  constexpr std::size_t kLargeFrom = 513;
  char path[kPathBytes];
  const bool counts = concerns(fd, path);
  const char* const ending = counts ? std::strrchr(path, '-') : nullptr;
  const bool is_log = ending != nullptr && std::strcmp(ending, "-wal") == 0;
  if (!is_log || size < kLargeFrom)
    return counted(counts, kWrite, path, [&] { return call(data, size, at); });
  std::size_t done = 0;
  while (done < size) {
    const off_t here = at + static_cast<off_t>(done);
    const std::size_t piece = until_torn(size - done, here);
    const ssize_t got = counted(true, kWrite, path, [&] {
      return call(static_cast<const char*>(data) + done, piece, here);
    });
    if (got < 0) return got;
    done += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < piece) break;
  }
  return static_cast<ssize_t>(done);
}

// The next function of this name in the chain, looked up at the first use.
template <typename Function>
Function* next(std::atomic<Function*>& known, const char* name) {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    void* found = ::dlsym(RTLD_NEXT, name);
    if (found == nullptr) std::abort();
    std::memcpy(&function, &found, sizeof(function));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

}  // namespace

#define NEXT(name, ...)                              \
  [] {                                               \
    static std::atomic<__VA_ARGS__*> known{nullptr}; \
    return next<__VA_ARGS__>(known, #name);          \
  }()

using Write = ssize_t(int, const void*, std::size_t);
using WriteAt = ssize_t(int, const void*, std::size_t, off_t);
using WriteParts = ssize_t(int, const struct iovec*, int);
using WritePartsAt = ssize_t(int, const struct iovec*, int, off_t);
using Sync = int(int);
using Truncate = int(int, off_t);
using Rename = int(const char*, const char*);
using RenameAt = int(int, const char*, int, const char*);
using RenameAt2 = int(int, const char*, int, const char*, unsigned);
static_assert(sizeof(off_t) == sizeof(off64_t), "the names with and without 64 mean the same");

// Visible to shared libraries, whatever the visibility of the rest.
#pragma GCC visibility push(default)
extern "C" {

void crash_at_arm(long at);
void crash_at_arm(long at) {
  calls.store(0);
  kill_at.store(at);
}

ssize_t write(int fd, const void* data, std::size_t size) {
  return counted(fd, kWrite, [&] { return NEXT(write, Write)(fd, data, size); });
}
ssize_t pwrite(int fd, const void* data, std::size_t size, off_t at) {
  return counted_at(fd, data, size, at, [&](const void* from, std::size_t bytes, off_t to) {
    return NEXT(pwrite, WriteAt)(fd, from, bytes, to);
  });
}
ssize_t pwrite64(int fd, const void* data, std::size_t size, off64_t at) {
  return counted_at(fd, data, size, at, [&](const void* from, std::size_t bytes, off_t to) {
    return NEXT(pwrite64, WriteAt)(fd, from, bytes, to);
  });
}
ssize_t writev(int fd, const struct iovec* parts, int count) {
  return counted(fd, kWrite, [&] { return NEXT(writev, WriteParts)(fd, parts, count); });
}
ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t at) {
  return counted(fd, kWrite, [&] { return NEXT(pwritev, WritePartsAt)(fd, parts, count, at); });
}
ssize_t pwritev64(int fd, const struct iovec* parts, int count, off64_t at) {
  return counted(fd, kWrite, [&] { return NEXT(pwritev64, WritePartsAt)(fd, parts, count, at); });
}
int fsync(int fd) {
  return counted(fd, kSync, [&] { return NEXT(fsync, Sync)(fd); });
}
int fdatasync(int fd) {
  return counted(fd, kSync, [&] { return NEXT(fdatasync, Sync)(fd); });
}
int ftruncate(int fd, off_t size) noexcept {
  return counted(fd, kTruncate, [&] { return NEXT(ftruncate, Truncate)(fd, size); });
}
int ftruncate64(int fd, off64_t size) noexcept {
  return counted(fd, kTruncate, [&] { return NEXT(ftruncate64, Truncate)(fd, size); });
}
int rename(const char* from, const char* to) noexcept {
  const bool counts = *prefix != 0 && (concerns(from) || concerns(to));
  return counted(counts, kRename, to, [&] { return NEXT(rename, Rename)(from, to); });
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  const bool counts = *prefix != 0 && (concerns(from) || concerns(to));
  return counted(counts, kRename, to, [&] {
    return NEXT(renameat2, RenameAt2)(from_folder, from, to_folder, to, flags);
  });
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  const bool counts = *prefix != 0 && (concerns(from) || concerns(to));
  return counted(counts, kRename, to,
                 [&] { return NEXT(renameat, RenameAt)(from_folder, from, to_folder, to); });
}
}
#pragma GCC visibility pop
