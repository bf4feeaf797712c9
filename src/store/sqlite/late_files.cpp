// SQLite calls stat() and its kind for the size, the owner and the number of a file, never for a
// time. But where the C library's times have 32 bits by default, as on 32-bit ARM and x86 with
// glibc, an SQLite built with the default gets EOVERFLOW for the whole file as soon as one of its
// times is later: on Debian 12 no database could be opened from then on. SQLite's table of system
// calls can be changed (sqlite.org/c3ref/vfs.html, xSetSystemCall), so a call that fails there is
// repeated with statx(), which knows all times.
//
// The answer must lie in memory in the form that this SQLite expects. The call in SQLite's table
// shows which form it is, since each form has its own function in the C library. Therefore this
// source, and no other, is compiled with both of the old forms, and includes no header of Pawl that
// has a time.
//
// Rejected: to set the times of our files back, since the next write sets them forward again; an
// own VFS for POSIX, since the locks of SQLite's are what other programs know.
#undef _TIME_BITS
#undef _FILE_OFFSET_BITS
#include "store/sqlite/late_files.hpp"

#include <sys/stat.h>

#if defined(__GLIBC__) && defined(__TIMESIZE) && __TIMESIZE == 32
#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdint>
#include <limits>

namespace pawl::sqlite {
namespace {

// False: the value does not fit.
template <class To, class From>
bool put(To& to, From from) {
  to = static_cast<To>(from);
  return static_cast<From>(to) == from;
}

// The latest or earliest time the type has, in place of a time that does not fit.
timespec nearest(const statx_timestamp& time) {
  using Limits = std::numeric_limits<time_t>;
  static_assert(sizeof(time_t) == 4, "the old form");
  timespec out{};
  out.tv_nsec = static_cast<long>(time.tv_nsec);
  if (time.tv_sec > Limits::max())
    out.tv_sec = Limits::max();
  else if (time.tv_sec < Limits::min())
    out.tv_sec = Limits::min();
  else
    out.tv_sec = static_cast<time_t>(time.tv_sec);
  return out;
}

// False: a field other than a time is too large for the form.
template <class Form>
bool fill(const struct statx& from, Form& to) {
  to = Form();
  to.st_mode = from.stx_mode;
  to.st_uid = from.stx_uid;
  to.st_gid = from.stx_gid;
  to.st_atim = nearest(from.stx_atime);
  to.st_mtim = nearest(from.stx_mtime);
  to.st_ctim = nearest(from.stx_ctime);
  // The device number is composed as the system's own call composes it: SQLite compares it with
  // what that call returned before.
  return put(to.st_dev, gnu_dev_makedev(from.stx_dev_major, from.stx_dev_minor)) &&
         put(to.st_rdev, gnu_dev_makedev(from.stx_rdev_major, from.stx_rdev_minor)) &&
         put(to.st_ino, from.stx_ino) && put(to.st_nlink, from.stx_nlink) &&
         put(to.st_size, from.stx_size) && put(to.st_blksize, from.stx_blksize) &&
         put(to.st_blocks, from.stx_blocks);
}

// `result` is what the old call returned.
template <class Form>
int unless_late(int result, int folder, const char* path, int flags, Form* out) {
  if (result == 0 || errno != EOVERFLOW) return result;
  struct statx seen {};
  if (::statx(folder, path, flags, STATX_BASIC_STATS, &seen) == 0 && fill(seen, *out)) return 0;
  errno = EOVERFLOW;
  return -1;
}

int late_stat(const char* path, struct stat* out) {
  return unless_late(::stat(path, out), AT_FDCWD, path, 0, out);
}
int late_stat64(const char* path, struct stat64* out) {
  return unless_late(::stat64(path, out), AT_FDCWD, path, 0, out);
}
int late_lstat(const char* path, struct stat* out) {
  return unless_late(::lstat(path, out), AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, out);
}
int late_lstat64(const char* path, struct stat64* out) {
  return unless_late(::lstat64(path, out), AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, out);
}
int late_fstat(int fd, struct stat* out) {
  return unless_late(::fstat(fd, out), fd, "", AT_EMPTY_PATH, out);
}
int late_fstat64(int fd, struct stat64* out) {
  return unless_late(::fstat64(fd, out), fd, "", AT_EMPTY_PATH, out);
}

template <class Call>
sqlite3_syscall_ptr pointer(Call* call) {
  return reinterpret_cast<sqlite3_syscall_ptr>(call);
}

}  // namespace

// Each call is one word, which a thread of the application that is inside SQLite at this moment
// reads either before or after the change.
void allow_late_files(sqlite3_vfs& native) {
  if (native.iVersion < 3 || native.xGetSystemCall == nullptr || native.xSetSystemCall == nullptr)
    return;
  const struct {
    const char* name;
    sqlite3_syscall_ptr old;
    sqlite3_syscall_ptr ours;
  } calls[] = {
      {"stat", pointer<int(const char*, struct stat*)>(::stat), pointer(late_stat)},
      {"stat", pointer<int(const char*, struct stat64*)>(::stat64), pointer(late_stat64)},
      {"lstat", pointer<int(const char*, struct stat*)>(::lstat), pointer(late_lstat)},
      {"lstat", pointer<int(const char*, struct stat64*)>(::lstat64), pointer(late_lstat64)},
      {"fstat", pointer<int(int, struct stat*)>(::fstat), pointer(late_fstat)},
      {"fstat", pointer<int(int, struct stat64*)>(::fstat64), pointer(late_fstat64)},
  };
  for (const auto& call : calls) {
    if (native.xGetSystemCall(&native, call.name) == call.old)
      static_cast<void>(native.xSetSystemCall(&native, call.name, call.ours));
  }
}

}  // namespace pawl::sqlite

#else

namespace pawl::sqlite {

void allow_late_files(sqlite3_vfs&) {}

}  // namespace pawl::sqlite

#endif
