// Worker files: a lock that ends with its process and with nothing else.
//
// The lock is an open-file-description lock. A classic record lock will not do: it ends when *any*
// descriptor of the file is closed in the process, and answers "free" to the process that holds it,
// so two Runtimes of one process could not see each other. flock() cannot be tested without taking
// it. The chosen lock lives as long as any reference to the description, therefore: (1)
// close-on-exec, (2) forked children close it before they run anything of their own, and (3) the
// notes are mapped through a description of their own, since a mapping is a reference that fork
// copies.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "port/posix/posix_storage.hpp"

namespace pawl::posix {
namespace {

constexpr int kWorkersMax = 64;  // in one process
constexpr int kFree = -1;
constexpr int kLostByFork = -2;  // the parent holds the lock: the child may not remove the file

struct LockTable {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  bool watches_forks = false;
  int descriptors[kWorkersMax];
  void* notes[kWorkersMax];
  std::size_t notes_bytes[kWorkersMax];
};

LockTable& table() {
  static LockTable locks = [] {
    LockTable fresh;
    for (int& one : fresh.descriptors)
      one = kFree;
    return fresh;
  }();
  return locks;
}

// fork() runs with the mutex held, so no descriptor is copied before the table knows it.
void before_fork() { ::pthread_mutex_lock(&table().mutex); }
void after_fork_in_parent() { ::pthread_mutex_unlock(&table().mutex); }
void after_fork_in_child() {
  for (int& one : table().descriptors) {
    if (one < 0) continue;
    ::close(one);
    one = kLostByFork;
  }
  ::pthread_mutex_unlock(&table().mutex);
}

struct TableLock {
  TableLock() { ::pthread_mutex_lock(&table().mutex); }
  ~TableLock() { ::pthread_mutex_unlock(&table().mutex); }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;
};

bool worker_path(char (&out)[kPathBytes], const char* database_path, std::int64_t incarnation,
                 const char* suffix) {
  const int size = std::snprintf(out, sizeof(out), "%s-workers/%" PRId64 "%s", database_path,
                                 incarnation, suffix);
  return size > 0 && static_cast<std::size_t>(size) < sizeof(out);
}

struct flock whole_file(short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return range;
}

Status allow_group(const char* folder) {
  struct stat info {};
  if (::lstat(folder, &info) == 0 &&
      ::chmod(folder, (info.st_mode & S_ISGID) | S_IRWXU | S_IRWXG) == 0)
    return Status::kOk;
  return status_of_errno(errno);
}

Status make_folder(const char* database_path) {
  char folder[kPathBytes];
  if (!join_path(folder, database_path, "-workers")) return Status::kInvalidArgument;
  const bool of_group = mode_beside(database_path) == kGroupToo;
  const mode_t mode = of_group ? S_IRWXU | S_IRWXG : S_IRWXU;
  if (::mkdir(folder, mode) == 0)
    // The umask has removed the group's rights; the set-group-id bit comes from the folder above.
    return of_group ? allow_group(folder) : Status::kOk;
  if (errno != EEXIST) return status_of_errno(errno);
  struct stat info {};
  if (::lstat(folder, &info) != 0) return status_of_errno(errno);
  return S_ISDIR(info.st_mode) ? Status::kOk : Status::kCannotOpen;
}

// Writes real zero bytes, not a hole: a full disk must be an error here, not a SIGBUS at the first
// note.
Status write_zeros(int fd, std::size_t bytes) {
  static constexpr char kZeros[512] = {};
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t part = bytes - done < sizeof(kZeros) ? bytes - done : sizeof(kZeros);
    const ssize_t n = retried([&] { return ::pwrite(fd, kZeros, part, static_cast<off_t>(done)); });
    if (n <= 0) return n == 0 ? Status::kIo : status_of_errno(errno);
    done += static_cast<std::size_t>(n);
  }
  return Status::kOk;
}

Status open_locked(const char* path, mode_t mode, Descriptor& out) {
  // A leftover of a start that was killed between here and the rename; no living process uses our
  // pid.
  if (::unlink(path) != 0 && errno != ENOENT) return status_of_errno(errno);
  out.reset(retried([&] {
    return ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly);
  }));
  if (!out.valid()) return status_of_errno(errno);
  if (mode != kOwnerOnly && ::fchmod(out.get(), mode) != 0) return status_of_errno(errno);
  struct flock range = whole_file(F_WRLCK);
  if (retried([&] { return ::fcntl(out.get(), F_OFD_SETLK, &range); }) != 0) {
    return errno == EINVAL ? Status::kUnsupported : status_of_errno(errno);
  }
  return Status::kOk;
}

Status map_notes(const char* path, std::size_t bytes, void*& out) {
  out = nullptr;
  if (bytes == 0) return Status::kOk;
  const Descriptor second(open_own(path, O_RDWR));
  if (!second.valid()) return status_of_errno(errno);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, second.get(), 0);
  if (memory == MAP_FAILED) return status_of_errno(errno);
  out = memory;
  return Status::kOk;
}

// Locks the file under a name that no process asks for, then renames it: no process finds it
// unlocked.
Status publish(const char* database_path, std::int64_t incarnation, std::size_t notes_bytes,
               Descriptor& lock, void*& notes) {
  char suffix[32];
  char unseen[kPathBytes];
  char path[kPathBytes];
  std::snprintf(suffix, sizeof(suffix), ".%ld.new", static_cast<long>(::getpid()));
  if (!worker_path(unseen, database_path, incarnation, suffix) ||
      !worker_path(path, database_path, incarnation, "")) {
    return Status::kInvalidArgument;
  }
  Status status = open_locked(unseen, mode_beside(database_path), lock);
  if (status == Status::kOk) status = write_zeros(lock.get(), notes_bytes);
  if (status == Status::kOk) status = map_notes(unseen, notes_bytes, notes);
  if (status == Status::kOk && ::rename(unseen, path) != 0) status = status_of_errno(errno);
  if (status != Status::kOk) {
    if (notes != nullptr) ::munmap(notes, notes_bytes);
    ::unlink(unseen);
  }
  return status;
}

}  // namespace

Result<port::Storage::WorkerFile> SystemStorage::worker_create(const char* database_path,
                                                               std::int64_t incarnation,
                                                               std::size_t notes_bytes) {
  PAWL_TRY(make_folder(database_path));
  if (worker_test(database_path, incarnation) == port::Held::kHeld) return Status::kAlreadyExists;
  const TableLock guard;
  LockTable& locks = table();
  if (!locks.watches_forks) {
    if (::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) {
      return Status::kResourceExhausted;
    }
    locks.watches_forks = true;
  }
  int slot = 0;
  while (slot < kWorkersMax && locks.descriptors[slot] != kFree)
    ++slot;
  if (slot == kWorkersMax) return Status::kResourceExhausted;
  Descriptor lock;
  WorkerFile file;
  PAWL_TRY(publish(database_path, incarnation, notes_bytes, lock, file.notes));
  locks.descriptors[slot] = lock.release();
  locks.notes[slot] = file.notes;
  locks.notes_bytes[slot] = notes_bytes;
  file.handle = slot;
  return file;
}

void SystemStorage::worker_close(const char* database_path, std::int64_t incarnation,
                                 WorkerFile file) {
  if (file.handle < 0 || file.handle >= kWorkersMax) return;
  const TableLock guard;
  LockTable& locks = table();
  const int fd = locks.descriptors[file.handle];
  if (fd == kFree) return;
  // The file is removed before its lock is freed: a process that finds the name finds it held.
  char path[kPathBytes];
  if (fd != kLostByFork && worker_path(path, database_path, incarnation, "")) ::unlink(path);
  if (locks.notes[file.handle] != nullptr) {
    ::munmap(locks.notes[file.handle], locks.notes_bytes[file.handle]);
  }
  if (fd != kLostByFork) ::close(fd);
  locks.notes[file.handle] = nullptr;
  locks.descriptors[file.handle] = kFree;
}

port::Held SystemStorage::worker_test(const char* database_path, std::int64_t incarnation) {
  char path[kPathBytes];
  if (!worker_path(path, database_path, incarnation, "")) return port::Held::kUntestable;
  const Descriptor file(open_own(path, O_RDONLY));
  if (!file.valid()) return errno == ENOENT ? port::Held::kFree : port::Held::kUntestable;
  // A reader's lock conflicts with the holder's lock and with no other test, and a read-only
  // descriptor may ask for it.
  struct flock range = whole_file(F_RDLCK);
  if (retried([&] { return ::fcntl(file.get(), F_OFD_GETLK, &range); }) == 0) {
    return range.l_type == F_UNLCK ? port::Held::kFree : port::Held::kHeld;
  }
  // An emulator may support taking such a lock but not testing it.
  range = whole_file(F_RDLCK);
  if (retried([&] { return ::fcntl(file.get(), F_OFD_SETLK, &range); }) == 0) {
    return port::Held::kFree;
  }
  return errno == EAGAIN || errno == EACCES ? port::Held::kHeld : port::Held::kUntestable;
}

std::size_t SystemStorage::worker_notes(const char* database_path, std::int64_t incarnation,
                                        std::size_t offset, void* out, std::size_t size) {
  char path[kPathBytes];
  if (!worker_path(path, database_path, incarnation, "")) return 0;
  const Descriptor file(open_own(path, O_RDONLY));
  auto* bytes = static_cast<unsigned char*>(out);
  std::size_t got = 0;
  while (file.valid() && got < size) {
    const auto from = static_cast<off_t>(offset + got);
    const ssize_t n = retried([&] { return ::pread(file.get(), bytes + got, size - got, from); });
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

void SystemStorage::worker_remove(const char* database_path, std::int64_t incarnation) {
  char path[kPathBytes];
  if (worker_path(path, database_path, incarnation, "")) ::unlink(path);
}

}  // namespace pawl::posix
