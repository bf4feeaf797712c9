#include "devices.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "pawl/printable.hpp"

namespace device_gateway {

// ---- Folder ----

Folder::~Folder() {
  if (inotify_ >= 0) close(inotify_);
}

bool Folder::open(const std::string& path) {
  path_ = path;
  inotify_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  return inotify_ >= 0 &&
         inotify_add_watch(inotify_, path.c_str(), IN_CREATE | IN_DELETE | IN_MOVE) >= 0;
}

void Folder::look(std::set<std::string>* came, std::set<std::string>* went) {
  // The events are only drained: an overflow may lose some, so the folder itself is read.
  char events[4096];
  while (read(inotify_, events, sizeof events) > 0) {
  }
  std::set<std::string> now;
  if (DIR* folder = opendir(path_.c_str())) {
    while (const dirent* entry = readdir(folder))
      if (entry->d_name[0] != '.') now.insert(path_ + "/" + entry->d_name);
    closedir(folder);
  }
  for (const std::string& device : now)
    if (known_.count(device) == 0) came->insert(device);
  for (const std::string& device : known_)
    if (now.count(device) == 0) went->insert(device);
  known_ = now;
}

// ---- OwnedDevices ----

OwnedDevices::~OwnedDevices() {
  for (const auto& [device, fd] : open_)
    if (fd >= 0) close(fd);
}

void OwnedDevices::on_session_claimed(std::string_view session, std::int64_t epoch) noexcept {
  open_.emplace(session, -1);
  std::string why;
  const bool locked = use(session, &why) >= 0;
  std::fprintf(stderr, "device_gateway: %.*s is ours, epoch %" PRId64 ", %s\n", PAWL_TEXT(session),
               epoch, locked ? "locked" : why.c_str());
}

void OwnedDevices::on_session_lost(std::string_view session, std::int64_t epoch) noexcept {
  const auto at = open_.find(session);
  if (at == open_.end()) return;
  if (at->second >= 0) close(at->second);
  open_.erase(at);
  std::fprintf(stderr, "device_gateway: %.*s is not ours any more, epoch %" PRId64 "\n",
               PAWL_TEXT(session), epoch);
}

int OwnedDevices::use(std::string_view device, std::string* why) {
  const auto at = open_.find(device);
  if (at == open_.end()) {
    *why = "not ours";
    return -1;
  }
  int& fd = at->second;
  struct stat info = {};
  if (fd >= 0 && fstat(fd, &info) == 0 && info.st_nlink == 0) {
    close(fd);  // pulled out; a device there now is another one
    fd = -1;
  }
  if (fd < 0) {
    fd = open(at->first.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      close(fd);
      fd = -1;
      errno = error;
    }
  }
  if (fd < 0) *why = errno == EWOULDBLOCK ? "locked by another process" : strerror(errno);
  return fd;
}

}  // namespace device_gateway
