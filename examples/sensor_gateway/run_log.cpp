#include "run_log.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace gateway {

RunLog::~RunLog() {
  if (fd_ >= 0) close(fd_);
}

bool RunLog::open(const char* path) {
  fd_ = ::open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd_ < 0) return false;
  // A power cut may have torn the last line.
  char last = '\n';
  const off_t size = lseek(fd_, 0, SEEK_END);
  if (size > 0 && pread(fd_, &last, 1, size - 1) != 1) return false;
  return last == '\n' || append({});
}

bool RunLog::append(std::string line) const {
  line += '\n';
  ssize_t written = 0;
  do {
    written = write(fd_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  return written == static_cast<ssize_t>(line.size()) && fdatasync(fd_) == 0;
}

bool RunLog::contains(std::string_view text) const {
  std::string window;
  char part[4096];
  for (off_t at = 0;;) {
    const ssize_t size = pread(fd_, part, sizeof(part), at);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    at += size;
    window.append(part, static_cast<std::size_t>(size));
    if (window.find(text) != std::string::npos) return true;
    if (window.size() > text.size()) window.erase(0, window.size() - text.size());
  }
}

std::int64_t boot_us() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace gateway
