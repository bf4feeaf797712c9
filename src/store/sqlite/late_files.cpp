// SQLite asks stat() and its kind for the size, the owner and the number of a file, never for a
// time. But where the C library's times have 32 bits unless one asks for more, as on 32-bit ARM and
// x86 with glibc, an SQLite built without asking gets EOVERFLOW for the whole file as soon as one of
// its times is later: on Debian 12 no database could be opened from then on. SQLite's table of
// system calls is open to others (sqlite.org/c3ref/vfs.html, xSetSystemCall), so what fails there is
// asked again by statx(), which knows all times.
//
// The answer has to lie in memory as that SQLite expects it. Which form that is follows from the
// call in its table: each form has a function of its own in the C library. So this source, and no
// other, is compiled with both of the old forms, and includes nothing of ours that has a time.
//
// Rejected: to set the times of our files back, since the next write sets them forward again; an
// own VFS for POSIX, since the locks of SQLite's are what other programs know.
#undef _TIME_BITS
#undef _FILE_OFFSET_BITS
#include "late_files.hpp"

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

// The last time there is, instead of one that does not fit.
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

// False: not only the times are too large for the form.
template <class Form>
bool fill(const struct statx& from, Form& to) {
  to = Form();
  to.st_mode = from.stx_mode;
  to.st_uid = from.stx_uid;
  to.st_gid = from.stx_gid;
  to.st_atim = nearest(from.stx_atime);
  to.st_mtim = nearest(from.stx_mtime);
  to.st_ctim = nearest(from.stx_ctime);
  // The number of a device is what the system's own call makes of it: SQLite compares it with what
  // that call said before.
  return put(to.st_dev, gnu_dev_makedev(from.stx_dev_major, from.stx_dev_minor)) &&
         put(to.st_rdev, gnu_dev_makedev(from.stx_rdev_major, from.stx_rdev_minor)) &&
         put(to.st_ino, from.stx_ino) && put(to.st_nlink, from.stx_nlink) &&
         put(to.st_size, from.stx_size) && put(to.st_blksize, from.stx_blksize) &&
         put(to.st_blocks, from.stx_blocks);
}

// `result` is what the old call said.
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

// One word a call, which a thread of the application that is in SQLite just now reads before or
// after.
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
