#include "watched_log.hpp"

#include <unistd.h>

#include <cerrno>
#include <set>

namespace pawl::test {
namespace {

constexpr std::string_view kEnding = "-wal";

bool is_log(std::string_view path) {
  return path.size() >= kEnding.size() && path.substr(path.size() - kEnding.size()) == kEnding;
}

// ---- the real machine: SQLite's table of system calls ----

// SQLite's offsets have 64 bits on every machine.

WatchedLog* watching = nullptr;

bool may_write(int fd, std::size_t size, std::int64_t at) {
  char path[1024];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t got = ::readlink(link.c_str(), path, sizeof(path));
  if (got < 0 || !is_log({path, static_cast<std::size_t>(got)})) return true;
  if (watching->note(at, size)) return true;
  errno = ENOSPC;
  return false;
}
ssize_t watched_write(int fd, const void* data, std::size_t size) {
  return may_write(fd, size, ::lseek(fd, 0, SEEK_CUR)) ? ::write(fd, data, size) : -1;
}
ssize_t watched_pwrite(int fd, const void* data, std::size_t size, std::int64_t at) {
  return may_write(fd, size, at) ? ::pwrite(fd, data, size, static_cast<off_t>(at)) : -1;
}

void watch_system(WatchedLog* by) {
  watching = by;
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  const auto set = [&](const char* name, sqlite3_syscall_ptr call) {
    static_cast<void>(vfs->xSetSystemCall(vfs, name, by == nullptr ? nullptr : call));
  };
  set("write", reinterpret_cast<sqlite3_syscall_ptr>(watched_write));
  set("pwrite", reinterpret_cast<sqlite3_syscall_ptr>(watched_pwrite));
  set("pwrite64", reinterpret_cast<sqlite3_syscall_ptr>(watched_pwrite));
}

}  // namespace

// ---- the simulated machine ----

class WatchedLog::Storage final : public port::Storage {
 public:
  Storage(WatchedLog& log, port::Storage& below) : log_(log), below_(below) {}
  [[nodiscard]] const char* native_vfs() const override { return below_.native_vfs(); }
  Result<port::FileHandle> open(const char* path, OpenMode mode) override {
    const Result<port::FileHandle> file = below_.open(path, mode);
    if (file.ok() && path != nullptr && is_log(path)) logs_.insert(file.value());
    return file;
  }
  Status close(port::FileHandle file) override {
    logs_.erase(file);
    return below_.close(file);
  }
  Result<std::size_t> read(port::FileHandle file, void* out, std::size_t size,
                           std::int64_t offset) override {
    return below_.read(file, out, size, offset);
  }
  Status write(port::FileHandle file, const void* data, std::size_t size,
               std::int64_t offset) override {
    if (logs_.count(file) != 0 && !log_.note(offset, size)) return Status::kFull;
    return below_.write(file, data, size, offset);
  }
  Status truncate(port::FileHandle file, std::int64_t size) override {
    return below_.truncate(file, size);
  }
  Status sync(port::FileHandle file) override { return below_.sync(file); }
  Result<std::int64_t> size(port::FileHandle file) override { return below_.size(file); }
  Status remove(const char* path) override { return below_.remove(path); }
  Result<bool> exists(const char* path) override { return below_.exists(path); }
  Status lock(port::FileHandle file, int level) override { return below_.lock(file, level); }
  Status unlock(port::FileHandle file, int level) override { return below_.unlock(file, level); }
  Result<bool> reserved(port::FileHandle file) override { return below_.reserved(file); }
  Status shm_map(port::FileHandle file, int index, std::size_t size, bool extend,
                 void volatile** out) override {
    return below_.shm_map(file, index, size, extend, out);
  }
  Status shm_lock(port::FileHandle file, int first, int count, bool take, bool exclusive) override {
    return below_.shm_lock(file, first, count, take, exclusive);
  }
  void shm_barrier(port::FileHandle file) override { below_.shm_barrier(file); }
  Status shm_unmap(port::FileHandle file, bool remove) override {
    return below_.shm_unmap(file, remove);
  }
  Status create_whole(const char* path, const void* data, std::size_t size) override {
    return below_.create_whole(path, data, size);
  }
  Status allocate(const char* path, std::int64_t size) override {
    return below_.allocate(path, size);
  }
  Status check_place(const char* path, Diagnostic& diagnostic) override {
    return below_.check_place(path, diagnostic);
  }
  Result<std::int64_t> free_bytes(const char* path) override { return below_.free_bytes(path); }
  Result<WorkerFile> worker_create(const char* path, std::int64_t incarnation,
                                   std::size_t notes_bytes) override {
    return below_.worker_create(path, incarnation, notes_bytes);
  }
  void worker_close(const char* path, std::int64_t incarnation, WorkerFile file) override {
    below_.worker_close(path, incarnation, file);
  }
  [[nodiscard]] port::Held worker_test(const char* path, std::int64_t incarnation) override {
    return below_.worker_test(path, incarnation);
  }
  std::size_t worker_notes(const char* path, std::int64_t incarnation, std::size_t offset,
                           void* out, std::size_t size) override {
    return below_.worker_notes(path, incarnation, offset, out, size);
  }
  void worker_remove(const char* path, std::int64_t incarnation) override {
    below_.worker_remove(path, incarnation);
  }
  void ring(const char* path) override { below_.ring(path); }

 private:
  WatchedLog& log_;
  port::Storage& below_;
  std::set<port::FileHandle> logs_;
};

WatchedLog::WatchedLog(Site& site) {
  if (site.node == nullptr) {
    watch_system(this);
    return;
  }
  storage_ = std::make_unique<Storage>(*this, *site.port.storage);
  site.port.storage = storage_.get();
}

WatchedLog::~WatchedLog() {
  if (storage_ == nullptr) watch_system(nullptr);
}

std::vector<WatchedLog::Write> WatchedLog::take() { return std::exchange(writes_, {}); }

bool WatchedLog::note(std::int64_t offset, std::size_t size) {
  const bool fails = fails_in_ == 1;
  if (fails_in_ > 0) --fails_in_;
  if (!fails) writes_.push_back({offset, size});
  return !fails;
}

}  // namespace pawl::test
