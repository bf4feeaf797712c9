#include "port/posix/posix_descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstring>

namespace pawl::posix {

static_assert(sizeof(off_t) == 8, "build with _FILE_OFFSET_BITS=64");

int Descriptor::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void Descriptor::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Status status_of_errno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case kOtherKind:
    case kSecondName:
    case ELOOP:
    case ENAMETOOLONG: return Status::kCannotOpen;
    case EACCES:
    case EPERM:
    case EROFS: return Status::kReadOnly;
    case ENOSPC:
    case EDQUOT: return Status::kFull;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN: return Status::kResourceExhausted;
    case ENOSYS:
    case EOPNOTSUPP: return Status::kUnsupported;
    case EBADF:
    case EINVAL: return Status::kInvalidArgument;
    default: return Status::kIo;
  }
}

int open_own(const char* path, int flags, unsigned mode) {
  constexpr int kSafe = O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  const int fd = retried([&] { return ::open(path, flags | kSafe, mode); });
  if (fd < 0) return fd;
  struct stat info {};
  int why = ::fstat(fd, &info) != 0 ? errno : 0;
  if (why == 0 && !S_ISREG(info.st_mode)) why = kOtherKind;
  if (why == 0 && info.st_nlink > 1) why = kSecondName;
  constexpr mode_t kRights = 0777;
  const bool differs = (flags & O_CREAT) != 0 && (info.st_mode & kRights) != mode;
  // The mode differs if the umask removed the group's rights, or if the database's mode was changed
  // since. A file of another user keeps the mode that its owner gave it.
  if (why == 0 && differs && mode == kGroupToo && info.st_uid == ::geteuid() &&
      ::fchmod(fd, mode) != 0)
    why = errno;
  if (why == 0) return fd;
  ::close(fd);
  errno = why;
  return -1;
}

int open_trusted(const char* path, unsigned forbidden, Diagnostic& why) {
  Descriptor file(open_own(path, O_RDONLY));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) {
    const char* const text = errno == kOtherKind    ? "it is no regular file"
                             : errno == kSecondName ? "it has a second name (a hard link)"
                             : errno == ELOOP ? "it is a symbolic link; give the path it points to"
                                              : std::strerror(errno);
    why.format("%s: cannot be read: %s", path, text);
    return -1;
  }
  if ((info.st_mode & forbidden) != 0) {
    constexpr unsigned kRead = 044;
    why.format("%s: others may %s it: chmod %o", path,
               (forbidden & kRead) != 0 ? "read or write" : "write",
               info.st_mode & 0777U & ~forbidden);
    return -1;
  }
  if (info.st_uid == 0 || info.st_uid == ::geteuid()) return file.release();
  why.format("%s: belongs to another user", path);
  return -1;
}

mode_t mode_beside(const char* database_path, bool group_access) {
  struct stat info {};
  if (::stat(database_path, &info) != 0) return group_access ? kGroupToo : kOwnerOnly;
  return (info.st_mode & kGroupToo) == kGroupToo ? kGroupToo : kOwnerOnly;
}

bool join_path(char (&out)[kPathBytes], const char* text, const char* suffix) {
  const std::size_t head = std::strlen(text);
  const std::size_t tail = std::strlen(suffix);
  if (head + tail + 1 > sizeof(out)) return false;
  std::memcpy(out, text, head);
  std::memcpy(out + head, suffix, tail + 1);
  return true;
}

bool folder_of(char (&out)[kPathBytes], const char* path) {
  const char* slash = std::strrchr(path, '/');
  if (slash == nullptr) return join_path(out, ".", "");
  const std::size_t size = slash == path ? 1 : static_cast<std::size_t>(slash - path);
  if (size + 1 > sizeof(out)) return false;
  std::memcpy(out, path, size);
  out[size] = 0;
  return true;
}

std::ptrdiff_t read_text(int fd, char* out, std::size_t size) {
  std::size_t got = 0;
  while (got + 1 < size) {
    const ssize_t n = retried([&] { return ::read(fd, out + got, size - 1 - got); });
    if (n < 0) return -1;
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  out[got] = 0;
  return static_cast<std::ptrdiff_t>(got);
}

}  // namespace pawl::posix
