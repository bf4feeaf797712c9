// Places, liveness locks and the bell on Linux. The database's own files are SQLite's "unix" VFS.
//
// Thread rule: callable from several threads; the bell's descriptor and the table of worker locks
// have a mutex each.
#ifndef PAWL_PORT_POSIX_POSIX_STORAGE_HPP
#define PAWL_PORT_POSIX_POSIX_STORAGE_HPP

#include <pthread.h>

#include "pawl/port.hpp"
#include "pawl/port_posix.hpp"
#include "port/posix/posix_descriptor.hpp"

namespace pawl::posix {

// Opens `<database>-bell` for writing, and makes it if needed; -1: failure.
[[nodiscard]] int open_bell(const char* bell_path, mode_t mode);

// kOk: a regular file with this name only, or no file. Else kCannotOpen with a text.
Status check_kind(const char* path, Diagnostic& diagnostic, bool* is_there = nullptr);

// Whether any process, this one included, has a lock of any kind on the file. `pid` gets the
// process's number if the kernel reports it.
[[nodiscard]] bool is_locked(const struct stat& file, std::int64_t* pid);

class SystemStorage final : public port::Storage {
 public:
  explicit SystemStorage(const PortOptions& options)
      : allow_network_filesystem_(options.allow_network_filesystem),
        group_access_(options.group_access) {}

  [[nodiscard]] const char* native_vfs() const override { return "unix"; }

  Result<port::FileHandle> open(const char*, OpenMode) override { return Status::kUnsupported; }
  Status close(port::FileHandle) override { return Status::kUnsupported; }
  Result<std::size_t> read(port::FileHandle, void*, std::size_t, std::int64_t) override {
    return Status::kUnsupported;
  }
  Status write(port::FileHandle, const void*, std::size_t, std::int64_t) override {
    return Status::kUnsupported;
  }
  Status truncate(port::FileHandle, std::int64_t) override { return Status::kUnsupported; }
  Status sync(port::FileHandle) override { return Status::kUnsupported; }
  Result<std::int64_t> size(port::FileHandle) override { return Status::kUnsupported; }
  Status remove(const char*) override { return Status::kUnsupported; }
  Result<bool> exists(const char*) override { return Status::kUnsupported; }
  Status lock(port::FileHandle, int) override { return Status::kUnsupported; }
  Status unlock(port::FileHandle, int) override { return Status::kUnsupported; }
  Result<bool> reserved(port::FileHandle) override { return Status::kUnsupported; }
  Status shm_map(port::FileHandle, int, std::size_t, bool, void volatile**) override {
    return Status::kUnsupported;
  }
  Status shm_lock(port::FileHandle, int, int, bool, bool) override { return Status::kUnsupported; }
  void shm_barrier(port::FileHandle) override {}
  Status shm_unmap(port::FileHandle, bool) override { return Status::kUnsupported; }

  Status create_whole(const char* path, const void* data, std::size_t size) override;
  Status allocate(const char* path, std::int64_t size) override;

  Result<std::int64_t> lock_holder(const char* database_path, port::LogLock lock) override;

  Status check_place(const char* database_path, Diagnostic& diagnostic) override;
  [[nodiscard]] bool others_may_write(const char* database_path) override;
  Result<std::int64_t> free_bytes(const char* database_path) override;

  Result<WorkerFile> worker_create(const char* database_path, std::int64_t incarnation,
                                   std::size_t notes_bytes) override;
  void worker_close(const char* database_path, std::int64_t incarnation, WorkerFile file) override;
  [[nodiscard]] port::Held worker_test(const char* database_path,
                                       std::int64_t incarnation) override;
  std::size_t worker_notes(const char* database_path, std::int64_t incarnation, std::size_t offset,
                           void* out, std::size_t size) override;
  void worker_remove(const char* database_path, std::int64_t incarnation) override;

  void ring(const char* database_path) override;

  Result<port::FileHandle> turn_open(const char* database_path) override;
  Status turn_take(port::FileHandle turn) override;
  void turn_give(port::FileHandle turn) override;
  void turn_close(port::FileHandle turn) override;

 private:
  const bool allow_network_filesystem_;
  const bool group_access_;
  // The bell rung last. A Storage serves one database, so one is enough; another one costs an open.
  pthread_mutex_t bell_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Descriptor bell_;
  char bell_path_[kPathBytes] = {};
};

}  // namespace pawl::posix

#endif  // PAWL_PORT_POSIX_POSIX_STORAGE_HPP
