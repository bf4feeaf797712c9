#include "apps/pawl/file_place.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "apps/common/upgrade.hpp"
#include "apps/pawl/tool.hpp"

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

void must(Status status, const Diagnostic& why) {
  if (status != Status::kOk) fail(kFailed, status_name(status), std::string(why.text()));
}

// Whether a descriptor of this process writes the file. The kernel shows the descriptor's open mode
// as the permissions of its link.
bool writes(const std::string& folder, const struct stat& file) {
  const std::unique_ptr<DIR, int (*)(DIR*)> descriptors(::opendir(folder.c_str()), ::closedir);
  const dirent* one = nullptr;
  while (descriptors != nullptr && (one = ::readdir(descriptors.get())) != nullptr) {
    struct stat link = {};
    struct stat open = {};
    if (::fstatat(::dirfd(descriptors.get()), one->d_name, &link, AT_SYMLINK_NOFOLLOW) == 0 &&
        (link.st_mode & S_IWUSR) != 0 &&
        ::fstatat(::dirfd(descriptors.get()), one->d_name, &open, 0) == 0 &&
        open.st_dev == file.st_dev && open.st_ino == file.st_ino)
      return true;
  }
  return false;
}

// Checks the processes whose descriptors this user may see.
void refuse_written(const std::string& path) {
  struct stat file = {};
  const std::string own = std::to_string(::getpid());
  if (::stat(path.c_str(), &file) != 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  const dirent* one = nullptr;
  while (processes != nullptr && (one = ::readdir(processes.get())) != nullptr) {
    const std::string pid = one->d_name;
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == own) continue;
    if (writes("/proc/" + pid + "/fd", file))
      fail(kFailed, status_name(Status::kBusy),
           std::string(path)
               .append(" is in use by process ")
               .append(pid)
               .append("; stop what uses it first"));
  }
}

}  // namespace

FilePlace::FilePlace(std::string path, const std::string& source)
    : path_(std::move(path)), temporary_(path_ + ".part") {
  Diagnostic why;
  refuse_written(path_);
  refuse_written(temporary_);
  must(file_.make(path_.c_str(), ".part", 0600, source.c_str(), why), why);
}

void FilePlace::flush() {
  Diagnostic why;
  must(file_.check(why), why);
  if (::fsync(file_.descriptor()) != 0) fail_file(temporary_, errno);
}

void FilePlace::put_in_place() {
  Diagnostic why;
  flush();
  refuse_written(path_);
  must(file_.put_in_place(why), why);
  flush_folder_of(path_);
}

void check_output(const std::string& path, const std::string& database) {
  Diagnostic why;
  must(posix::check_output(path.c_str(), database.c_str(), why), why);
  refuse_written(path);
}

namespace {

enum class Naming : unsigned { kNoReplace = 1, kExchange = 2 };  // RENAME_.. of the kernel

// Returns 0 or an errno. The call goes by its number where the C library has no function (musl).
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

// Only the file's owner, or root, may change the owner; otherwise it stays as it is.
void take_mode_of(const std::string& other, const std::string& path) {
  struct stat is = {};
  if (::stat(other.c_str(), &is) != 0) fail_file(other, errno);
  if (::chown(path.c_str(), is.st_uid, is.st_gid) != 0 && errno != EPERM) fail_file(path, errno);
  if (::chmod(path.c_str(), is.st_mode & 0660U) != 0) fail_file(path, errno);
}

}  // namespace

void FilePlace::put_in_free_place() {
  flush();
  const int why = rename_as(temporary_, path_, Naming::kNoReplace);
  if (why == EEXIST)
    fail(kFailed, status_name(Status::kAlreadyExists), path_ + " was made by another process");
  // A file system without this promise offers nothing better than a plain rename.
  if (is_unknown(why))
    rename_file(temporary_, path_);
  else if (why != 0)
    fail_file(temporary_, why);
  file_.leave();
  flush_folder_of(path_);
}

void FilePlace::change_places(const std::string& kept) {
  take_mode_of(path_, temporary_);
  flush();
  exchange(kept);
  try {
    flush_folder_of(path_);
  } catch (const ToolFailure&) {
    // After a power cut either file may have the name; processes see the old one again.
    rename_file(kept, path_);
    throw;
  }
  file_.leave();
}

// The new file is called `kept` first, so that a run that is killed in here leaves no file that
// looks like a half-made copy.
void FilePlace::exchange(const std::string& kept) {
  rename_file(temporary_, kept);
  int why = rename_as(kept, path_, Naming::kExchange);
  if (why == 0) return;
  rename_file(kept, temporary_);
  if (!is_unknown(why)) fail_file(path_, why);
  // For a moment the old file has both names. If the process is killed then, the database has two
  // names and is refused until one of them is removed. Better than no name, since a daemon would
  // make an empty database.
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
  const std::string folder = folder_of(path);
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) fail_file(folder, errno);
  const int failed = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (failed != 0) fail_file(folder, failed);
}

void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail_file(from, errno);
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_file(path, errno);
}

// sqlite.org, os_unix.c: the bytes that a connection locks; with a log, for as long as it is open.
WholeLock::WholeLock(const std::string& path) : file_(posix::open_own(path.c_str(), O_RDWR)) {
  if (file_ < 0) fail_file(path, errno);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x40000000;
  lock.l_len = 512;
  if (::fcntl(file_, F_SETLK, &lock) == 0) return;
  const int why = errno;
  const std::string text = programs::in_use(path, file_);
  ::close(file_);
  if (why != EACCES && why != EAGAIN) fail_file(path, why);
  fail(kFailed, status_name(Status::kBusy), text);
}

WholeLock::~WholeLock() { ::close(file_); }

}  // namespace pawl::tool
