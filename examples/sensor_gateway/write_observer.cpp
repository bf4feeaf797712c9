// The write observer: an independent witness, which counts the flushes and bytes of a process.
//
// It is loaded with LD_PRELOAD, and its functions replace the C library's write and flush calls.
// The counts are in the mapped file $GATEWAY_OBSERVER/<pid>, so they survive kill -9. The observer
// separates two kinds of files: those opened for appending (the gateway's own logs) and those that
// SQLite writes at a position. Data that the kernel writes back by itself (the mapped index of
// SQLite's log, file system journals) is not counted, because no process can see it.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

// Eight little-endian 64-bit numbers; check.py reads them in this order.
struct Counts {
  std::atomic<std::uint64_t> database_flushes;
  std::atomic<std::uint64_t> database_writes;
  std::atomic<std::uint64_t> database_bytes;
  std::atomic<std::uint64_t> log_flushes;
  std::atomic<std::uint64_t> log_writes;
  std::atomic<std::uint64_t> log_bytes;
  std::uint64_t reserved[2];
};

Counts* map_counts() {
  static Counts nowhere;
  const char* const folder = std::getenv("GATEWAY_OBSERVER");
  if (folder == nullptr) return &nowhere;
  char path[512];
  std::snprintf(path, sizeof(path), "%s/%d", folder, static_cast<int>(getpid()));
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return &nowhere;
  void* memory = MAP_FAILED;
  if (ftruncate(fd, sizeof(Counts)) == 0) {
    memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  return memory == MAP_FAILED ? &nowhere : static_cast<Counts*>(memory);
}

Counts& counts() {
  static Counts* const mapped = map_counts();
  return *mapped;
}

bool is_log(int fd) { return (fcntl(fd, F_GETFL) & O_APPEND) != 0; }

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int flush(const char* name, int fd) {
  (is_log(fd) ? counts().log_flushes : counts().database_flushes) += 1;
  return next<int (*)(int)>(name)(fd);
}

ssize_t written_at(ssize_t size) {
  if (size > 0) {
    counts().database_writes += 1;
    counts().database_bytes += static_cast<std::uint64_t>(size);
  }
  return size;
}

}  // namespace

extern "C" {

int fsync(int fd) { return flush("fsync", fd); }

int fdatasync(int fd) { return flush("fdatasync", fd); }

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  using Function = ssize_t (*)(int, const void*, size_t, off_t);
  static const Function real = next<Function>("pwrite");
  return written_at(real(fd, data, size, offset));
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  using Function = ssize_t (*)(int, const void*, size_t, off64_t);
  static const Function real = next<Function>("pwrite64");
  return written_at(real(fd, data, size, offset));
}

ssize_t write(int fd, const void* data, size_t size) {
  using Function = ssize_t (*)(int, const void*, size_t);
  static const Function real = next<Function>("write");
  const ssize_t written = real(fd, data, size);
  if (written > 0 && is_log(fd)) {
    counts().log_writes += 1;
    counts().log_bytes += static_cast<std::uint64_t>(written);
  }
  return written;
}
}
