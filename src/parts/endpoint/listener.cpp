#include "parts/endpoint/listener.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pawl/files.hpp"

namespace pawl::http {
namespace {

constexpr int kBacklog = 32;

const sockaddr* generic(const void* address) { return static_cast<const sockaddr*>(address); }

bool is_loopback(const in6_addr& address) { return IN6_IS_ADDR_LOOPBACK(&address) != 0; }

}  // namespace

void Listener::close() {
  if (bound_) ::unlink(path_);
  bound_ = false;
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  // Last: the next holder of the lock may make the socket's name anew.
  if (lock_fd_ >= 0) ::close(lock_fd_);
  lock_fd_ = -1;
  port_ = 0;
}

// The lock says whether an endpoint has the name: a socket left by a killed process looks like one
// whose process is about to listen. The kernel drops the lock with its process. The lock's file
// stays, since two processes could each lock a removed file and a new one.
Status Listener::lock(Diagnostic& why) {
  char path[sizeof path_ + 8];
  std::snprintf(path, sizeof path, "%s.lock", path_);
  lock_fd_ = posix::open_own(path, O_RDWR | O_CREAT);
  if (lock_fd_ < 0) {
    why.format("%s: %s", path, std::strerror(errno));
    return Status::kCannotOpen;
  }
  if (::flock(lock_fd_, LOCK_EX | LOCK_NB) == 0) return Status::kOk;
  why.format("another endpoint has %s", path_);
  return Status::kAlreadyExists;
}

// Removes a socket at which no program listens; anything else stays.
Status Listener::clear_path(Diagnostic& why) {
  struct stat seen = {};
  if (::lstat(path_, &seen) != 0) return Status::kOk;
  if (!S_ISSOCK(seen.st_mode)) {
    why.format("%s is there and is no socket", path_);
    return Status::kCannotOpen;
  }
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path_, std::strlen(path_) + 1);
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool answers =
      probe >= 0 && (::connect(probe, generic(&to), sizeof to) == 0 || errno == EAGAIN);
  if (probe >= 0) ::close(probe);
  if (answers) {
    why.format("another program listens at %s", path_);
    return Status::kAlreadyExists;
  }
  ::unlink(path_);
  return Status::kOk;
}

Status Listener::listen_unix(std::string_view path, unsigned mode, Diagnostic& why) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    why.format("socket_path has %zu bytes; a socket's name has 1 to %zu", path.size(),
               sizeof address.sun_path - 1);
    return Status::kInvalidOptions;
  }
  if (mode > 0777U || (mode & 0600U) != 0600U) {
    why.format("socket_mode is %o; it is 600 to 777 in octal", mode);
    return Status::kInvalidOptions;
  }
  std::memcpy(path_, path.data(), path.size());
  path_[path.size()] = '\0';
  std::memcpy(address.sun_path, path.data(), path.size());
  PAWL_TRY(lock(why));
  PAWL_TRY(clear_path(why));
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  // Mode 0600 before the socket has a name, so that no other user can connect at any moment. The
  // umask may remove more rights; chmod() sets the mode that was asked for.
  bound_ =
      fd_ >= 0 && ::fchmod(fd_, 0600) == 0 && ::bind(fd_, generic(&address), sizeof address) == 0;
  if (bound_ && ::chmod(path_, mode) == 0 && ::listen(fd_, kBacklog) == 0) return Status::kOk;
  why.format("%s: %s", path_, std::strerror(errno));
  close();
  return Status::kCannotOpen;
}

Status Listener::listen_tcp(std::string_view address, std::uint16_t port, bool allow_others,
                            Diagnostic& why) {
  char text[64] = {};
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  if (!address.empty() && address.size() < sizeof text)
    std::memcpy(text, address.data(), address.size());
  const bool is_v4 = ::inet_pton(AF_INET, text, &v4.sin_addr) == 1;
  if (!is_v4 && ::inet_pton(AF_INET6, text, &v6.sin6_addr) != 1) {
    why.format("tcp.address \"%s\" is no number of IPv4 or IPv6", text);
    return Status::kInvalidOptions;
  }
  const bool own = is_v4 ? (ntohl(v4.sin_addr.s_addr) >> 24U) == 127U : is_loopback(v6.sin6_addr);
  if (!own && !allow_others) {
    why.format("tcp.address %s is not of this machine alone, and tcp.allow_others is false", text);
    return Status::kInvalidOptions;
  }
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  const int yes = 1;
  fd_ = ::socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool bound =
      fd_ >= 0 && ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
      (is_v4 ? ::bind(fd_, generic(&v4), sizeof v4) : ::bind(fd_, generic(&v6), sizeof v6)) == 0 &&
      ::listen(fd_, kBacklog) == 0;
  socklen_t size = is_v4 ? sizeof v4 : sizeof v6;
  void* const name = is_v4 ? static_cast<void*>(&v4) : static_cast<void*>(&v6);
  if (bound && ::getsockname(fd_, static_cast<sockaddr*>(name), &size) == 0) {
    port_ = ntohs(is_v4 ? v4.sin_port : v6.sin6_port);
    return Status::kOk;
  }
  const int error = errno;
  why.format("%s port %u: %s", text, static_cast<unsigned>(port), std::strerror(error));
  close();
  return error == EADDRINUSE ? Status::kAlreadyExists : Status::kCannotOpen;
}

}  // namespace pawl::http
