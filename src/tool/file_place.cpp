#include "file_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tool.hpp"

namespace pawl::tool {
namespace {

[[noreturn]] void fail_file(const std::string& path, int why) {
  const Status status = why == ENOSPC || why == EDQUOT  ? Status::kFull
                        : why == EACCES || why == EROFS ? Status::kReadOnly
                                                        : Status::kIo;
  fail(kFailed, status_name(status), path + ": " + std::strerror(why));
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void flush_path(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) fail_file(path, errno);
  const int failed = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (failed != 0) fail_file(path, failed);
}

}  // namespace

FilePlace::FilePlace(std::string path) : path_(std::move(path)), temporary_(path_ + ".part") {
  // What a run that was killed left behind is of no use.
  ::unlink(temporary_.c_str());
  const int file = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail_file(temporary_, errno);
  ::close(file);
}

FilePlace::~FilePlace() {
  if (is_done_) return;
  for (const char* ending : {"", "-journal", "-wal", "-shm"})
    ::unlink((temporary_ + ending).c_str());
}

void FilePlace::put_in_place() {
  flush_path(temporary_, O_RDONLY);
  rename_file(temporary_, path_);
  is_done_ = true;
  flush_folder_of(path_);
}

namespace {

enum class Naming : unsigned { kNoReplace = 1, kExchange = 2 };  // RENAME_.. of the kernel

// 0, or why not. By its number where the C library has no function for it (musl).
int rename_as(const std::string& from, const std::string& to, Naming how) {
#ifdef __GLIBC__
  const int failed =
      ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), static_cast<unsigned>(how));
#else
  const long failed = ::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                                static_cast<unsigned>(how));
#endif
  return failed == 0 ? 0 : errno;
}

bool is_unknown(int why) { return why == EINVAL || why == ENOSYS; }

// Only its owner, or root, may say so; else it stays as it is.
void take_mode_of(const std::string& other, const std::string& path) {
  struct stat is = {};
  if (::stat(other.c_str(), &is) != 0) fail_file(other, errno);
  if (::chown(path.c_str(), is.st_uid, is.st_gid) != 0 && errno != EPERM) fail_file(path, errno);
  if (::chmod(path.c_str(), is.st_mode & 0660U) != 0) fail_file(path, errno);
}

}  // namespace

void FilePlace::put_in_free_place() {
  flush_path(temporary_, O_RDONLY);
  const int why = rename_as(temporary_, path_, Naming::kNoReplace);
  if (why == EEXIST)
    fail(kFailed, status_name(Status::kAlreadyExists), path_ + " was made by another process");
  // Where the file system cannot promise that, nothing better is to be had.
  if (is_unknown(why))
    rename_file(temporary_, path_);
  else if (why != 0)
    fail_file(temporary_, why);
  is_done_ = true;
  flush_folder_of(path_);
}

void FilePlace::change_places(const std::string& kept) {
  take_mode_of(path_, temporary_);
  flush_path(temporary_, O_RDONLY);
  exchange(kept);
  try {
    flush_folder_of(path_);
  } catch (const Failure&) {
    // A power cut may undo it or not; a process sees what was there before.
    rename_file(kept, path_);
    throw;
  }
  is_done_ = true;
}

// The new file is called `kept` at first, so that a run that is killed in here leaves nothing that
// looks like a copy half made.
void FilePlace::exchange(const std::string& kept) {
  rename_file(temporary_, kept);
  int why = rename_as(kept, path_, Naming::kExchange);
  if (why == 0) return;
  rename_file(kept, temporary_);
  if (!is_unknown(why)) fail_file(path_, why);
  // For a moment the old file has both names. A process that is killed then leaves a database with
  // two names, which is refused until one of them is removed: better than none, since a daemon
  // would make an empty one.
  if (::link(path_.c_str(), kept.c_str()) != 0) fail_file(kept, errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) == 0) return;
  why = errno;
  ::unlink(kept.c_str());
  fail_file(path_, why);
}

bool exists(const std::string& path) {
  struct stat is = {};
  return ::lstat(path.c_str(), &is) == 0;
}

std::int64_t bytes_of(const std::string& path) {
  struct stat is = {};
  return ::stat(path.c_str(), &is) == 0 ? std::int64_t{is.st_size} : 0;
}

std::int64_t free_bytes_beside(const std::string& path) {
  struct statvfs is = {};
  if (::statvfs(folder_of(path).c_str(), &is) != 0) fail_file(path, errno);
  return static_cast<std::int64_t>(is.f_bavail) * static_cast<std::int64_t>(is.f_frsize);
}

void flush_folder_of(const std::string& path) {
  flush_path(folder_of(path), O_RDONLY | O_DIRECTORY);
}

void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail_file(from, errno);
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_file(path, errno);
}

// sqlite.org, os_unix.c: the bytes that a connection locks; with a log, for as long as it is open.
WholeLock::WholeLock(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
  if (file_ < 0) fail_file(path, errno);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x40000000;
  lock.l_len = 512;
  if (::fcntl(file_, F_SETLK, &lock) == 0) return;
  const int why = errno;
  const bool is_named = ::fcntl(file_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(file_);
  if (why != EACCES && why != EAGAIN) fail_file(path, why);
  fail(kFailed, status_name(Status::kBusy),
       path + " is in use" + (is_named ? " by process " + std::to_string(lock.l_pid) : "") +
           "; stop what uses it first");
}

WholeLock::~WholeLock() { ::close(file_); }

}  // namespace pawl::tool
