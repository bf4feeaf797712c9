#include "apps/common/upgrade.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "pawl/files.hpp"
#include "pawl/maintenance.hpp"
#include "pawl/process.hpp"

namespace pawl::programs {
namespace {

constexpr mode_t kRights = 0660;  // more than these no file of a database has

class Descriptor {
 public:
  Descriptor() = default;
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  bool take(int file) {
    close();
    file_ = file;
    return file_ >= 0;
  }
  void close() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }
  [[nodiscard]] int get() const { return file_; }

 private:
  int file_ = -1;
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status explain(const std::string& path, int why, Diagnostic& out) {
  out.format("%s: %s", path.c_str(), std::strerror(why));
  if (why == ENOSPC || why == EDQUOT) return Status::kFull;
  return why == EACCES || why == EPERM || why == EROFS ? Status::kReadOnly : Status::kIo;
}

Status remove_file(const std::string& path, Diagnostic& why) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return Status::kOk;
  return explain(path, errno, why);
}

// Names of files are safe from a power cut when this has returned.
Status flush_folder_of(const std::string& path, Diagnostic& why) {
  const std::string folder = folder_of(path);
  Descriptor open;
  if (!open.take(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) ||
      ::fsync(open.get()) != 0)
    return explain(folder, errno, why);
  return Status::kOk;
}

class Conversion final : public UpgradeVisitor {
 public:
  Conversion(const std::string& path, const port::Port& port, UpgradeListener& listener)
      : path_(path), made_(path + "-new"), port_(port), listener_(listener) {}
  ~Conversion() {
    if (file_.get() >= 0) ::unlink(made_.c_str());
  }
  Conversion(const Conversion&) = delete;
  Conversion& operator=(const Conversion&) = delete;

  Status on_older(std::int64_t format, Diagnostic& why) noexcept override;
  Status on_locked(std::int64_t bytes, Diagnostic& why) noexcept override;
  bool on_rows(std::int64_t rows) noexcept override {
    listener_.on_rows(rows);
    return true;
  }
  Status on_made(Diagnostic& why) noexcept override;

  [[nodiscard]] const std::string& made() const { return made_; }
  [[nodiscard]] bool waits_for_lock() const { return waits_for_lock_; }
  Upgrade result;

 private:
  Status make_file(Diagnostic& why);
  Status take_owner(Diagnostic& why);

  const std::string path_;
  const std::string made_;
  const port::Port& port_;
  UpgradeListener& listener_;
  struct stat old_ = {};
  Descriptor bell_;
  Descriptor file_;
  bool waits_for_lock_ = false;
};

// The lock of the bell, under which a database is made. flock() does not meet the locks that SQLite
// and turns at writing take.
Status Conversion::on_older(std::int64_t format, Diagnostic& why) noexcept {
  result.was_older = true;
  result.format = format;
  const std::string bell = path_ + "-bell";
  if (::stat(path_.c_str(), &old_) != 0) return explain(path_, errno, why);
  if (!bell_.take(posix::open_own(bell.c_str(), O_WRONLY | O_CREAT, old_.st_mode & kRights)))
    return explain(bell, errno, why);
  if (::flock(bell_.get(), LOCK_EX | LOCK_NB) == 0) {
    waits_for_lock_ = true;
    return Status::kOk;
  }
  if (errno != EWOULDBLOCK) return explain(bell, errno, why);
  why.format("%s is being made by another process", made_.c_str());
  return Status::kBusy;
}

// A log that stays would be taken for the new file's, also after a power cut; so its name is gone
// for good before the new file gets the database's. The log is empty: the old file has all of it.
Status Conversion::on_locked(std::int64_t bytes, Diagnostic& why) noexcept {
  waits_for_lock_ = false;
  const Result<std::int64_t> available = port_.storage->free_bytes(path_.c_str());
  listener_.on_begin(result.format, bytes, available.value_or(0));
  if (available.ok() && available.value() < bytes) {
    why.format("%s: converting it takes %lld bytes beside it, and %lld are free", path_.c_str(),
               static_cast<long long>(bytes), static_cast<long long>(available.value()));
    return Status::kFull;
  }
  if (::stat(path_.c_str(), &old_) != 0) return explain(path_, errno, why);
  for (const char* const ending : {"-wal", "-shm", "-journal"})
    PAWL_TRY(remove_file(path_ + ending, why));
  PAWL_TRY(flush_folder_of(path_, why));
  return make_file(why);
}

// A file of a process that died in here is replaced.
Status Conversion::make_file(Diagnostic& why) {
  for (const char* const ending : {"", "-wal", "-shm", "-journal"})
    PAWL_TRY(remove_file(made_ + ending, why));
  if (file_.take(posix::open_own(made_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600)))
    return Status::kOk;
  return explain(made_, errno, why);
}

// Only root may give a file to another user. A file of a group stays the group's at least, so its
// users go on; any other file would be lost to its owner.
Status Conversion::take_owner(Diagnostic& why) {
  const mode_t rights = old_.st_mode & kRights;
  const bool is_groups = (rights & 0060) == 0060;
  if (::fchown(file_.get(), old_.st_uid, old_.st_gid) != 0) {
    const int failed = errno;
    if (failed != EPERM) return explain(made_, failed, why);
    if (!is_groups || ::fchown(file_.get(), static_cast<uid_t>(-1), old_.st_gid) != 0) {
      why.format(
          "%s belongs to another user, and the new file would be this one's; "
          "convert it as that user, or as root",
          path_.c_str());
      return Status::kReadOnly;
    }
  }
  if (::fchmod(file_.get(), rights) != 0) return explain(made_, errno, why);
  return Status::kOk;
}

// The old file keeps its name until the new one is on the disk, and a rename changes it at once.
// The old file is locked until its name is gone, so a process that waits for it notices.
Status Conversion::on_made(Diagnostic& why) noexcept {
  struct stat open = {};
  struct stat named = {};
  PAWL_TRY(take_owner(why));
  if (::fsync(file_.get()) != 0) return explain(made_, errno, why);
  if (::fstat(file_.get(), &open) != 0 || ::lstat(made_.c_str(), &named) != 0 ||
      open.st_ino != named.st_ino || open.st_dev != named.st_dev || open.st_nlink != 1) {
    why.format("%s: was replaced by another process, or has a second name", made_.c_str());
    return Status::kBusy;
  }
  if (std::rename(made_.c_str(), path_.c_str()) != 0) return explain(path_, errno, why);
  file_.close();
  result.bytes = open.st_size;
  return flush_folder_of(path_, why);
}

}  // namespace

std::string in_use(const std::string& path, int descriptor) {
  // sqlite.org, os_unix.c: the bytes that a connection locks, with a log as long as it is open.
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x40000000;
  lock.l_len = 512;
  const bool is_named =
      ::fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
  return path + " is in use" + (is_named ? " by process " + std::to_string(lock.l_pid) : "") +
         "; stop what uses it first";
}

Upgrade upgrade(const std::string& path, const posix::PortOptions& options,
                UpgradeListener& listener) {
  ProcessOptions sizes;
  sizes.connections_max = 2;
  std::vector<unsigned char> for_sqlite(Process::required_memory(sizes));
  std::vector<unsigned char> memory(maintenance_memory());
  posix::SystemPort port(options);
  const port::Port of_system = port.port();
  Process process;
  Diagnostic why;
  Conversion conversion(path, of_system, listener);
  Upgrade& result = conversion.result;
  result.status = process.start(sizes, for_sqlite.data(), for_sqlite.size(), why);
  if (result.status == Status::kOk)
    result.status = upgrade_database(process, path, conversion.made(), of_system, memory.data(),
                                     memory.size(), conversion, why);
  if (result.status != Status::kOk) result.why = why.text();
  // No lock of this process is left that closing the file would drop.
  Descriptor file;
  if (result.status == Status::kBusy && conversion.waits_for_lock() &&
      file.take(posix::open_own(path.c_str(), O_RDWR)))
    result.why = in_use(path, file.get());
  static_cast<void>(process.stop());
  return result;
}

}  // namespace pawl::programs
