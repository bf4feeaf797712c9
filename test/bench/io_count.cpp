#include "io_count.hpp"

#ifndef IO_COUNT_WRAPPED
#include <dlfcn.h>
#endif
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kDescriptorsMax = 1024;
constexpr std::size_t kPagesMax = std::size_t{1} << 17;
enum Owner : unsigned char { kUnknown, kDatabase, kLog, kOther };

char database[1024];
std::atomic<std::uint64_t> fsyncs{0};
std::atomic<std::uint64_t> bytes_written{0};
std::atomic<bool> pages_are_counted{false};
std::atomic<std::uint32_t> frames[kPagesMax];        // count by page; 0: pages beyond kPagesMax
std::atomic<unsigned char> owners[kDescriptorsMax];  // cleared when the descriptor is closed

Owner look_at(int fd) {
  char link[32];
  char path[sizeof(database)];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link, path, sizeof(path) - 1);
  path[size < 0 ? 0 : size] = 0;
  const std::size_t database_size = std::strlen(database);
  if (std::strncmp(path, database, database_size) != 0) return kOther;
  return std::strcmp(path + database_size, "-wal") == 0 ? kLog : kDatabase;
}

Owner owner_of(int fd) {
  if (*database == 0 || fd < 0 || fd >= kDescriptorsMax) return kOther;
  unsigned char owner = owners[fd].load(std::memory_order_relaxed);
  if (owner == kUnknown) {
    owner = look_at(fd);
    owners[fd].store(owner, std::memory_order_relaxed);
  }
  return static_cast<Owner>(owner);
}

ssize_t count_written(int fd, ssize_t size) {
  if (size > 0 && owner_of(fd) != kOther) {
    bytes_written.fetch_add(static_cast<std::uint64_t>(size), std::memory_order_relaxed);
  }
  return size;
}

// The log has a head, and then frames, each with a page whose number the frame begins with. A write
// has any number of them; a number that two writes share is not counted.
ssize_t count_frames(int fd, const void* data, ssize_t size, std::uint64_t at) {
  constexpr std::uint64_t kHeadBytes = 32;
  constexpr std::uint64_t kFrameBytes = 24 + 512;
  constexpr std::uint64_t kNumberBytes = 4;
  if (size <= 0 || !pages_are_counted.load(std::memory_order_relaxed) || owner_of(fd) != kLog)
    return size;
  const std::uint64_t end = at + static_cast<std::uint64_t>(size);
  const std::uint64_t before = at <= kHeadBytes ? 0 : (at - kHeadBytes - 1) / kFrameBytes + 1;
  for (std::uint64_t frame = kHeadBytes + before * kFrameBytes; frame + kNumberBytes <= end;
       frame += kFrameBytes) {
    const auto* bytes = static_cast<const unsigned char*>(data) + (frame - at);
    const std::size_t page = (std::size_t{bytes[0]} << 24) | (std::size_t{bytes[1]} << 16) |
                             (std::size_t{bytes[2]} << 8) | bytes[3];
    frames[page < kPagesMax ? page : 0].fetch_add(1, std::memory_order_relaxed);
  }
  return size;
}

#ifndef IO_COUNT_WRAPPED
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

#define NEXT(name, ...)                              \
  [] {                                               \
    static std::atomic<__VA_ARGS__*> known{nullptr}; \
    return next<__VA_ARGS__>(known, #name);          \
  }()
#define ENTRY(name) name
#endif

using Write = ssize_t(int, const void*, std::size_t);
using WriteAt = ssize_t(int, const void*, std::size_t, off_t);
using WriteParts = ssize_t(int, const struct iovec*, int);
using OnDescriptor = int(int);

}  // namespace

// A static program has no next library. The linker's --wrap gives callers the functions here, and
// gives these libc's.
#ifdef IO_COUNT_WRAPPED
#define NEXT(name, ...) __real_##name
#define ENTRY(name) __wrap_##name
extern "C" {
Write __real_write;
WriteAt __real_pwrite, __real_pwrite64;
WriteParts __real_writev;
OnDescriptor __real_fsync, __real_fdatasync, __real_close;
Write __wrap_write;
WriteAt __wrap_pwrite, __wrap_pwrite64;
WriteParts __wrap_writev;
OnDescriptor __wrap_fsync, __wrap_fdatasync, __wrap_close;
}
#endif

namespace bench {

void io_watch(const char* database_path) {
  std::snprintf(database, sizeof(database), "%s", database_path);
}

IoCounts io_counts() { return {fsyncs.load(), bytes_written.load()}; }

void io_count_pages(bool on) { pages_are_counted = on; }

bool io_write_pages(const char* path) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  for (std::size_t page = 0; page < kPagesMax; ++page)
    if (const std::uint32_t count = frames[page]; count != 0)
      std::fprintf(file, "%zu %u\n", page, count);
  return std::fclose(file) == 0;
}

}  // namespace bench

// Shared libraries see these functions, whatever the visibility of the rest is.
#pragma GCC visibility push(default)
extern "C" {

ssize_t ENTRY(write)(int fd, const void* data, std::size_t size) {
  return count_written(fd, NEXT(write, Write)(fd, data, size));
}
#if !defined(IO_COUNT_WRAPPED) || \
    defined(__LP64__)  // on 32 bits off_t is too small for it, and all callers use pwrite64
ssize_t ENTRY(pwrite)(int fd, const void* data, std::size_t size, off_t at) {
  return count_frames(fd, data, count_written(fd, NEXT(pwrite, WriteAt)(fd, data, size, at)),
                      static_cast<std::uint64_t>(at));
}
#endif
ssize_t ENTRY(pwrite64)(int fd, const void* data, std::size_t size, off64_t at) {
  static_assert(sizeof(off_t) == sizeof(off64_t), "pwrite64 means the same as pwrite");
  return count_frames(fd, data, count_written(fd, NEXT(pwrite64, WriteAt)(fd, data, size, at)),
                      static_cast<std::uint64_t>(at));
}
ssize_t ENTRY(writev)(int fd, const struct iovec* parts, int count) {
  return count_written(fd, NEXT(writev, WriteParts)(fd, parts, count));
}
int ENTRY(fsync)(int fd) {
  fsyncs.fetch_add(1, std::memory_order_relaxed);
  return NEXT(fsync, OnDescriptor)(fd);
}
int ENTRY(fdatasync)(int fd) {
  fsyncs.fetch_add(1, std::memory_order_relaxed);
  return NEXT(fdatasync, OnDescriptor)(fd);
}
int ENTRY(close)(int fd) {
  if (fd >= 0 && fd < kDescriptorsMax) owners[fd].store(kUnknown, std::memory_order_relaxed);
  return NEXT(close, OnDescriptor)(fd);
}
}
#pragma GCC visibility pop
