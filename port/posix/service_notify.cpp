#include "pawl/service_notify.hpp"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace pawl::posix {
namespace {

constexpr std::size_t kMessageBytesMax = 1'024;

// The variable's number; 0: not set, or no number.
std::int64_t number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return 0;
  std::int64_t number = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, number);
  return read.ec == std::errc() && read.ptr == end && number > 0 ? number : 0;
}

// A connected socket, so that a message is one call; -1: it cannot be connected.
int connect_to(std::string_view name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof(address.sun_path)) return -1;
  std::memcpy(address.sun_path, name.data(), name.size());
  // "@name" is in the kernel's abstract name space, where a zero byte comes first.
  const bool is_abstract = name.front() == '@';
  if (is_abstract) address.sun_path[0] = '\0';
  const std::size_t size = offsetof(sockaddr_un, sun_path) + name.size() + (is_abstract ? 0 : 1);
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)) == 0)
    return fd;
  ::close(fd);
  return -1;
}

}  // namespace

ServiceNotify::ServiceNotify() {
  const char* const socket = std::getenv("NOTIFY_SOCKET");
  const std::string_view name = socket == nullptr ? std::string_view() : socket;
  asked_ = !name.empty();
  // Another kind of address, such as vsock:, counts as asked for but cannot be served.
  if (asked_ && (name.front() == '/' || name.front() == '@')) fd_ = connect_to(name);
  const std::int64_t usec = number_of("WATCHDOG_USEC");
  const bool of_other = std::getenv("WATCHDOG_PID") != nullptr &&
                        number_of("WATCHDOG_PID") != std::int64_t{::getpid()};
  constexpr std::int64_t kUsecAMs = 1'000;
  if (asked_ && usec >= kUsecAMs && !of_other) watchdog_ms_ = usec / kUsecAMs;
}

ServiceNotify::~ServiceNotify() {
  if (fd_ >= 0) ::close(fd_);
}

Status ServiceNotify::send(std::string_view assignments) const {
  if (assignments.size() > kMessageBytesMax) return Status::kInvalidArgument;
  if (!asked_) return Status::kOk;
  if (fd_ < 0) return Status::kUnsupported;
  for (;;) {
    if (::send(fd_, assignments.data(), assignments.size(), MSG_NOSIGNAL) >= 0) return Status::kOk;
    if (errno == EAGAIN || errno == ENOBUFS) return Status::kBusy;
    if (errno != EINTR) return Status::kIo;
  }
}

}  // namespace pawl::posix
