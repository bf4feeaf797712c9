#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "pawl/files.hpp"
#include "port/posix/posix_folders.hpp"
#include "port/posix/posix_storage.hpp"

namespace pawl::posix {
namespace {

bool same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string_view last_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// The output: a path, or a stream without one.
struct Output {
  const char* path = "this stream";
  bool is_there = false;
  struct stat file {};
  bool has_name = false;
  struct stat folder {};

  // Whether `other` is this file, or would be once this file is made.
  [[nodiscard]] bool is(const char* other) const {
    char above[kPathBytes];
    struct stat info {};
    if (is_there && ::stat(other, &info) == 0 && same(info, file)) return true;
    return has_name && folder_of(above, other) && ::stat(above, &info) == 0 && same(info, folder) &&
           last_name(other) == last_name(path);
  }
  // Whether this file lies in that folder, under any name.
  [[nodiscard]] bool is_in(const char* other) const {
    struct stat info {};
    const Descriptor open(
        retried([&] { return ::open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (!open.valid() || ::fstat(open.get(), &info) != 0) return false;
    if (has_name && same(info, folder)) return true;
    NameReader names;
    while (is_there && info.st_dev == file.st_dev && names.next(open.get()))
      if (names.inode() == file.st_ino) return true;
    return false;
  }
};

Status refuse(const Output& output, const char* what, Diagnostic& why) {
  why.format("%s: is %s, which is in use as a database or belongs to one", output.path, what);
  return Status::kInvalidArgument;
}

Status check_own(const Output& output, const char* database_path, Diagnostic& why) {
  char path[kPathBytes];
  if (output.is(database_path)) return refuse(output, database_path, why);
  if (!join_path(path, database_path, port::kWorkersBeside)) return Status::kInvalidArgument;
  if (output.is(path) || output.is_in(path)) return refuse(output, path, why);
  if (!join_path(path, database_path, port::kSocketBeside)) return Status::kInvalidArgument;
  if (output.is(path)) return refuse(output, path, why);
  for (const char* const ending : port::kFilesBeside) {
    if (!join_path(path, database_path, ending)) return Status::kInvalidArgument;
    if (output.is(path)) return refuse(output, path, why);
  }
  return Status::kOk;
}

// Whether `path` is a database's name with `ending`, and that database exists. A database is known
// by its bell, which always exists. Its header is not read: closing the file would drop the locks
// that this process may have on it.
bool is_beside(std::string_view path, std::string_view ending, char (&database)[kPathBytes]) {
  char bell[kPathBytes];
  struct stat info {};
  if (path.size() <= ending.size() || path.substr(path.size() - ending.size()) != ending)
    return false;
  std::snprintf(database, sizeof database, "%.*s", static_cast<int>(path.size() - ending.size()),
                path.data());
  return join_path(bell, database, "-bell") && ::stat(bell, &info) == 0 &&
         ::stat(database, &info) == 0 && S_ISREG(info.st_mode);
}

Status check_others(const char* path, const char* folder, Diagnostic& why) {
  char database[kPathBytes];
  bool is_refused = is_beside(path, port::kSocketBeside, database) ||
                    is_beside(folder, port::kWorkersBeside, database);
  for (const char* const ending : port::kFilesBeside)
    is_refused = is_refused || is_beside(path, ending, database);
  if (!is_refused) return Status::kOk;
  why.format("%s: would be taken for a file of the database %s", path, database);
  return Status::kInvalidArgument;
}

// Checks the file that lies at the path, whatever its kind.
Status check_use(const char* path, const char* database_path, Diagnostic& why) {
  Output output;
  char folder[kPathBytes];
  output.path = path;
  output.has_name = folder_of(folder, path) && ::stat(folder, &output.folder) == 0;
  if (!output.has_name || std::strlen(path) > kDatabasePathBytesMax) {
    why.format("%.200s: there is no such folder, or the path is too long", path);
    return Status::kCannotOpen;
  }
  output.is_there = ::stat(path, &output.file) == 0;
  if (*database_path != 0) PAWL_TRY(check_own(output, database_path, why));
  PAWL_TRY(check_others(path, folder, why));
  std::int64_t pid = 0;
  if (!output.is_there || !is_locked(output.file, &pid)) return Status::kOk;
  char number[32] = "";
  if (pid > 0) std::snprintf(number, sizeof number, " by process %" PRId64, pid);
  why.format("%s is in use%s; stop what uses it first", path, number);
  return Status::kBusy;
}

}  // namespace

Status check_output(const char* path, const char* database_path, Diagnostic& why) {
  PAWL_TRY(check_use(path, database_path, why));
  return check_kind(path, why);
}

Status check_output(int descriptor, const char* database_path, Diagnostic& why) {
  Output output;
  output.is_there = ::fstat(descriptor, &output.file) == 0 && S_ISREG(output.file.st_mode);
  return output.is_there ? check_own(output, database_path, why) : Status::kOk;
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  char path[kPathBytes];
  for (const char* const ending : {"", "-journal", "-wal", "-shm"})
    if (join_path(path, name_.c_str(), ending)) ::unlink(path);
  leave();
}

void NewFile::leave() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Status NewFile::make(const char* path, const char* ending, unsigned mode, const char* database_path,
                     Diagnostic& why) {
  if (descriptor_ >= 0) return Status::kAlreadyExists;
  char name[kPathBytes];
  path_ = path;
  database_ = database_path;
  name_ = join_path(name, path, ending) ? Path(name) : Path();
  if (path_.empty() || name_.empty() || !name_.fits() || !database_.fits()) {
    why.format("%.200s: no path, or one that is too long", path);
    return Status::kCannotOpen;
  }
  PAWL_TRY(check_output(path, database_path, why));
  PAWL_TRY(check_use(name, database_path, why));
  PAWL_TRY(check_use(name, path, why));
  // An existing file is removed, not opened, so a pipe blocks nothing and a second name keeps its
  // file.
  if (::unlink(name) == 0 || errno == ENOENT)
    descriptor_ = open_own(name, O_WRONLY | O_CREAT | O_EXCL, mode);
  if (descriptor_ >= 0) return Status::kOk;
  const Status status = status_of_errno(errno);
  why.format("%s: cannot be made: %s", name, std::strerror(errno));
  return status;
}

Status NewFile::check(Diagnostic& why) const {
  struct stat named {};
  struct stat open {};
  if (::lstat(name_.c_str(), &named) != 0 || ::fstat(descriptor_, &open) != 0 ||
      !same(named, open) || open.st_nlink != 1) {
    why.format("%s: was replaced by another process, or has a second name", name_.c_str());
    return Status::kBusy;
  }
  return database_.empty() ? Status::kOk : check_output(descriptor_, database_.c_str(), why);
}

Status NewFile::put_in_place(Diagnostic& why) {
  PAWL_TRY(check(why));
  PAWL_TRY(check_output(path_.c_str(), database_.c_str(), why));
  if (::rename(name_.c_str(), path_.c_str()) == 0) {
    leave();
    return Status::kOk;
  }
  const Status status = status_of_errno(errno);
  why.format("%s: %s", path_.c_str(), std::strerror(errno));
  return status;
}

}  // namespace pawl::posix
