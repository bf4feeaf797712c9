#include "port/posix/posix_storage.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <limits>

namespace pawl::posix {
namespace {

constexpr std::uint32_t kFuseMagic = 0x65735546;

struct NetworkFilesystem {
  std::uint32_t magic;
  const char* name;
};

// The numbers are from linux/magic.h, or else from the file systems' own sources.
constexpr NetworkFilesystem kNetworkFilesystems[] = {
    {0x6969, "nfs"},       {0x517B, "smb"},          {0xFF534D42, "cifs"},   {0xFE534D42, "smb2"},
    {0x564C, "ncp"},       {0x01021997, "9p"},       {0x5346414F, "afs"},    {0x6B414653, "kafs"},
    {0x73757245, "coda"},  {0x00C36400, "ceph"},     {0x0BD00BD0, "lustre"}, {0x47504653, "gpfs"},
    {0x7461636F, "ocfs2"}, {0x01161970, "gfs2"},     {0xAAD7AAEA, "panfs"},  {0x786F4256, "vboxsf"},
    {0xBACBACBC, "hgfs"},  {0x20030528, "orangefs"}, {0x19830326, "fhgfs"},
};

// Null if locks there hold for the whole machine. FUSE has one number for sshfs and for a stick
// with exFAT; only the latter sits on a block device, whose number has a major part.
const char* network_filesystem(const char* folder, dev_t device) {
  struct statfs place {};
  if (retried([&] { return ::statfs(folder, &place); }) != 0) return nullptr;
  const auto magic = static_cast<std::uint32_t>(place.f_type);
  if (magic == kFuseMagic) return major(device) == 0 ? "fuse" : nullptr;
  for (const NetworkFilesystem& one : kNetworkFilesystems) {
    if (one.magic == magic) return one.name;
  }
  return nullptr;
}

bool may(const char* path, int mode) { return ::faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0; }

Status check_folder(const char* folder, struct stat& info, Diagnostic& diagnostic) {
  if (::stat(folder, &info) != 0 || !S_ISDIR(info.st_mode)) {
    diagnostic.format("%s: no such folder", folder);
    return Status::kCannotOpen;
  }
  if (!may(folder, R_OK | X_OK)) {
    diagnostic.format("%s: the folder cannot be read", folder);
    return Status::kCannotOpen;
  }
  if (!may(folder, W_OK)) {
    diagnostic.format("%s: the folder cannot be written", folder);
    return Status::kReadOnly;
  }
  return Status::kOk;
}

}  // namespace

Status check_kind(const char* path, Diagnostic& diagnostic, bool* is_there) {
  struct stat info {};
  if (::lstat(path, &info) != 0) {
    if (errno == ENOENT) return Status::kOk;
    diagnostic.format("%s: cannot be looked at (errno %d)", path, errno);
    return Status::kCannotOpen;
  }
  // SQLite keeps the log beside the link's target, Pawl its locks and bell beside the name given:
  // two names of one database would see neither each other's workers nor each other's commits.
  if (S_ISLNK(info.st_mode)) {
    diagnostic.format("%s: is a symbolic link; give the path it points to", path);
    return Status::kCannotOpen;
  }
  if (!S_ISREG(info.st_mode)) {
    diagnostic.format("%s: not a file", path);
    return Status::kCannotOpen;
  }
  if (info.st_nlink > 1) {
    diagnostic.format("%s: has a second name (a hard link); copy the file instead, and remove one",
                      path);
    return Status::kCannotOpen;
  }
  if (is_there != nullptr) *is_there = true;
  return Status::kOk;
}

namespace {

Status check_file(const char* path, Diagnostic& diagnostic) {
  bool is_there = false;
  PAWL_TRY(check_kind(path, diagnostic, &is_there));
  if (!is_there) return Status::kOk;
  if (!may(path, R_OK)) {
    diagnostic.format("%s: not a file that can be read", path);
    return Status::kCannotOpen;
  }
  if (!may(path, W_OK)) {
    diagnostic.format("%s: the file cannot be written", path);
    return Status::kReadOnly;
  }
  return Status::kOk;
}

// The folder holds the workers' notes and locks: its owner decides which workers are dead.
Status check_workers(const char* folder, const char* database_path, Diagnostic& diagnostic) {
  struct stat info {};
  if (::lstat(folder, &info) != 0) {
    if (errno == ENOENT) return Status::kOk;
    diagnostic.format("%s: cannot be looked at (errno %d)", folder, errno);
    return Status::kCannotOpen;
  }
  if (!S_ISDIR(info.st_mode)) {
    diagnostic.format("%s: is in the place of the workers' folder and is none", folder);
    return Status::kCannotOpen;
  }
  // The database's owner may do anything with it anyway. The owner need not be this process's user:
  // an operator's tool may run as root.
  struct stat database {};
  const bool is_owners = ::lstat(database_path, &database) == 0 && info.st_uid == database.st_uid;
  if (is_owners || info.st_uid == ::geteuid()) return Status::kOk;
  diagnostic.format("%s: the workers' folder is another user's (%ld)", folder,
                    static_cast<long>(info.st_uid));
  return Status::kCannotOpen;
}

// SQLite opens the files beside the database without a check, and would wait at a pipe for ever.
// Pawl's own files would fail later, when there is no place for a clear text.
Status check_beside(const char* database_path, Diagnostic& diagnostic) {
  char path[kPathBytes];
  for (const char* suffix : port::kFilesBeside) {
    if (!join_path(path, database_path, suffix)) return Status::kInvalidArgument;
    PAWL_TRY(check_kind(path, diagnostic));
  }
  if (!join_path(path, database_path, port::kWorkersBeside)) return Status::kInvalidArgument;
  return check_workers(path, database_path, diagnostic);
}

// Whether the open file is still the one under the name.
bool names_this_file(const char* path, int fd) {
  struct stat named {};
  struct stat held {};
  return ::lstat(path, &named) == 0 && ::fstat(fd, &held) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

Status write_new(const char* path, const void* data, std::size_t size, mode_t mode) {
  // A leftover of a process that died in create_whole().
  if (::unlink(path) != 0 && errno != ENOENT) return status_of_errno(errno);
  const Descriptor file(retried([&] {
    return ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly);
  }));
  if (!file.valid()) return status_of_errno(errno);
  if (mode != kOwnerOnly && ::fchmod(file.get(), mode) != 0) return status_of_errno(errno);
  const auto* const bytes = static_cast<const unsigned char*>(data);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = retried(
        [&] { return ::pwrite(file.get(), bytes + done, size - done, static_cast<off_t>(done)); });
    if (n <= 0) return n == 0 ? Status::kIo : status_of_errno(errno);
    done += static_cast<std::size_t>(n);
  }
  return retried([&] { return ::fsync(file.get()); }) == 0 ? Status::kOk : status_of_errno(errno);
}

// Renames, but never over a file that has come meanwhile. A file system that cannot promise this
// answers EINVAL. The call goes by its number, since musl has no function for it.
Status give_name(const char* from, const char* to) {
  constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE of the kernel
  if (::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, kNoReplace) == 0) return Status::kOk;
  if (errno == EEXIST) return Status::kAlreadyExists;
  return errno == EINVAL || errno == ENOSYS ? Status::kUnsupported : status_of_errno(errno);
}

}  // namespace

int open_bell(const char* bell_path, mode_t mode) {
  return open_own(bell_path, O_WRONLY | O_CREAT, mode);
}

// The file is written under a name that no process asks for, by one process at a time: the one that
// has the bell locked. The kernel frees this lock when the process ends in here, and the next one
// begins anew. The file is closed before it gets its name: closing drops the locks that SQLite has
// on a file in this process.
Status SystemStorage::create_whole(const char* path, const void* data, std::size_t size) {
  char bell[kPathBytes];
  char unseen[kPathBytes];
  if (!join_path(bell, path, "-bell") || !join_path(unseen, path, "-new"))
    return Status::kInvalidArgument;
  const mode_t mode = mode_beside(path, group_access_);
  const Descriptor turn(open_bell(bell, mode));
  if (!turn.valid()) return status_of_errno(errno);
  if (retried([&] { return ::flock(turn.get(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno == EWOULDBLOCK) return Status::kBusy;
    return errno == ENOSYS || errno == ENOLCK ? Status::kUnsupported : status_of_errno(errno);
  }
  if (may(path, F_OK)) return Status::kAlreadyExists;
  Status status = write_new(unseen, data, size, mode);
  // SQLite flushes the folder, with the first flush of a log that it made.
  if (status == Status::kOk) status = give_name(unseen, path);
  if (status != Status::kOk) ::unlink(unseen);
  return status;
}

Status SystemStorage::allocate(const char* path, std::int64_t size) {
  const auto bytes = static_cast<off_t>(size);
  char database[kPathBytes] = {};
  const std::size_t length = std::strlen(path);
  constexpr std::size_t kSuffix = sizeof "-reserve" - 1;
  if (length <= kSuffix || length >= sizeof database) return Status::kInvalidArgument;
  std::memcpy(database, path, length - kSuffix);
  const Descriptor file(open_own(path, O_RDWR | O_CREAT, mode_beside(database)));
  if (!file.valid()) return status_of_errno(errno);
  // posix_fallocate() would write zeros where the file system cannot reserve room, and some file
  // systems keep those for nothing.
  if (retried([&] { return ::fallocate(file.get(), 0, 0, bytes); }) != 0)
    return errno == EOPNOTSUPP || errno == ENOSYS ? Status::kUnsupported : status_of_errno(errno);
  if (retried([&] { return ::ftruncate(file.get(), bytes); }) != 0) return status_of_errno(errno);
  return Status::kOk;
}

namespace {

// One line of /proc/locks: "7: POSIX  ADVISORY  READ 812 08:02:1311 124 124".
struct LockLine {
  char kind[8];
  char access[8];
  long long pid;
  unsigned long long inode;
  unsigned major_part;
  unsigned minor_part;
  long long first;

  [[nodiscard]] bool is_of(const struct stat& file) const {
    return major_part == major(file.st_dev) && minor_part == minor(file.st_dev) &&
           inode == file.st_ino;
  }
};

bool read_line(const char* text, LockLine& out) {
  // The numbers are the kernel's own, so they are not checked.
  // NOLINTNEXTLINE(cert-err34-c)
  return std::sscanf(text, "%*d: %7s %*s %7s %lld %x:%x:%llu %lld", out.kind, out.access, &out.pid,
                     &out.major_part, &out.minor_part, &out.inode, &out.first) == 7;
}

// Calls `visit` for each lock of the machine. False: the kernel has no list.
template <typename Visit>
bool each_lock(Visit visit) {
  constexpr int kReadsMax = 256;
  const Descriptor list(retried([] { return ::open("/proc/locks", O_RDONLY | O_CLOEXEC); }));
  if (!list.valid()) return false;
  char lines[4096];
  std::size_t held = 0;
  for (int reads = 0; reads < kReadsMax; ++reads) {
    const ssize_t n =
        retried([&] { return ::read(list.get(), lines + held, sizeof(lines) - 1 - held); });
    if (n <= 0) break;
    held += static_cast<std::size_t>(n);
    lines[held] = 0;
    char* at = lines;
    for (char* end = std::strchr(at, '\n'); end != nullptr; end = std::strchr(at, '\n')) {
      *end = 0;
      LockLine line = {};
      if (read_line(at, line)) visit(line);
      at = end + 1;
    }
    held -= static_cast<std::size_t>(at - lines);
    std::memmove(lines, at, held);
    if (held == sizeof(lines) - 1) held = 0;  // no line is so long
  }
  return true;
}

// SQLite locks bytes of the log's index: 120 to write, 123 to 127 to read (walformat.html).
bool is_held(const LockLine& line, port::LogLock lock) {
  if (std::strcmp(line.kind, "POSIX") != 0) return false;
  return lock == port::LogLock::kWrite
             ? line.first == 120 && std::strcmp(line.access, "WRITE") == 0
             : line.first >= 123 && line.first <= 127 && std::strcmp(line.access, "READ") == 0;
}

}  // namespace

bool is_locked(const struct stat& file, std::int64_t* pid) {
  bool found = false;
  each_lock([&](const LockLine& line) {
    if (!line.is_of(file)) return;
    found = true;
    if (line.pid > 0) *pid = line.pid;
  });
  return found;
}

// Read from the kernel's list: opening and closing the log's index would drop the locks that SQLite
// has on it in this process, and fcntl() does not report this process's own.
Result<std::int64_t> SystemStorage::lock_holder(const char* database_path, port::LogLock lock) {
  char path[kPathBytes];
  struct stat index {};
  if (!join_path(path, database_path, "-shm")) return Status::kInvalidArgument;
  if (::stat(path, &index) != 0) return Status::kNotFound;
  std::int64_t found = 0;
  const bool has_list = each_lock([&](const LockLine& line) {
    if (!line.is_of(index) || !is_held(line, lock)) return;
    if (found == 0 || line.pid != ::getpid()) found = line.pid;
  });
  if (!has_list) return Status::kUnsupported;
  if (found == 0) return Status::kNotFound;
  return found;
}

Status SystemStorage::check_place(const char* database_path, Diagnostic& diagnostic) {
  char folder[kPathBytes];
  if (database_path == nullptr || *database_path == 0) {
    diagnostic.format("the database path is empty");
    return Status::kCannotOpen;
  }
  if (std::strlen(database_path) > kDatabasePathBytesMax || !folder_of(folder, database_path)) {
    diagnostic.format("the database path is longer than %zu bytes: %.80s...", kDatabasePathBytesMax,
                      database_path);
    return Status::kCannotOpen;
  }
  struct stat info {};
  PAWL_TRY(check_folder(folder, info, diagnostic));
  PAWL_TRY(check_file(database_path, diagnostic));
  PAWL_TRY(check_beside(database_path, diagnostic));
  const char* network =
      allow_network_filesystem_ ? nullptr : network_filesystem(folder, info.st_dev);
  if (network != nullptr) {
    diagnostic.format("%s: lies on a network file system (%s), whose locks cannot be trusted",
                      database_path, network);
    return Status::kNetworkFilesystem;
  }
  return Status::kOk;
}

// A user who may write a folder can replace any file in it, unless the sticky bit leaves that to
// the files' owners.
bool SystemStorage::others_may_write(const char* database_path) {
  char folder[kPathBytes];
  struct stat info {};
  if (!folder_of(folder, database_path) || ::stat(folder, &info) != 0) return false;
  // The group of a group-accessible database may write the folder.
  const bool group_may = mode_beside(database_path) == kGroupToo;
  const mode_t others = group_may ? S_IWOTH : S_IWGRP | S_IWOTH;
  return (info.st_mode & others) != 0 && (info.st_mode & S_ISVTX) == 0;
}

Result<std::int64_t> SystemStorage::free_bytes(const char* database_path) {
  char folder[kPathBytes];
  struct statvfs place {};
  if (!folder_of(folder, database_path)) return Status::kInvalidArgument;
  if (retried([&] { return ::statvfs(folder, &place); }) != 0) return status_of_errno(errno);
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t unit = place.f_frsize == 0 ? 1 : place.f_frsize;
  const std::uint64_t blocks = place.f_bavail;
  return static_cast<std::int64_t>(blocks > kMax / unit ? kMax : blocks * unit);
}

void SystemStorage::ring(const char* database_path) {
  char path[kPathBytes];
  if (!join_path(path, database_path, "-bell")) return;
  ::pthread_mutex_lock(&bell_mutex_);
  // A bell that was deleted or replaced would be rung without a listener; the cost of one stat is
  // nothing beside a flush.
  if (!bell_.valid() || std::strcmp(path, bell_path_) != 0 || !names_this_file(path, bell_.get())) {
    bell_.reset(open_bell(path, mode_beside(database_path, group_access_)));
    std::memcpy(bell_path_, path, sizeof(path));
  }
  // Always the same byte, so that the file does not grow and a full disk does not silence it. A
  // failure is ignored: sleepers also watch the log, and the commit itself has succeeded.
  if (bell_.valid() && retried([&] { return ::pwrite(bell_.get(), "!", 1, 0); }) < 0)
    bell_.reset(-1);
  ::pthread_mutex_unlock(&bell_mutex_);
}

// flock() on the bell, which no other code locks this way: flock() and the locks of open file
// descriptions do not conflict. A classic lock will not do: it belongs to the process, and two
// connections of one process would not exclude each other.
Result<port::FileHandle> SystemStorage::turn_open(const char* database_path) {
  char path[kPathBytes];
  if (!join_path(path, database_path, "-bell")) return Status::kInvalidArgument;
  const int turn = open_bell(path, mode_beside(database_path, group_access_));
  if (turn < 0) return status_of_errno(errno);
  return turn;
}

Status SystemStorage::turn_take(port::FileHandle turn) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (retried([&] { return ::fcntl(turn, F_OFD_SETLK, &whole); }) == 0) return Status::kOk;
  return errno == EAGAIN || errno == EACCES ? Status::kBusy : Status::kUnsupported;
}

void SystemStorage::turn_give(port::FileHandle turn) {
  struct flock whole {};
  whole.l_type = F_UNLCK;
  whole.l_whence = SEEK_SET;
  static_cast<void>(retried([&] { return ::fcntl(turn, F_OFD_SETLK, &whole); }));
}

void SystemStorage::turn_close(port::FileHandle turn) { ::close(turn); }

}  // namespace pawl::posix
