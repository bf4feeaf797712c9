#include "apps/pawld/plugged_devices.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pawld {

PluggedDevices::PluggedDevices(const std::vector<std::string>& paths, pawl::LogSink& log)
    : log_(log) {
  for (const std::string& path : paths) {
    devices_.emplace_back();
    devices_.back().path = path;
    devices_.back().all = this;
  }
}

PluggedDevices::~PluggedDevices() {
  for (const Device& device : devices_)
    if (device.fd >= 0) close(device.fd);
}

PluggedDevices::Device* PluggedDevices::find(std::string_view path) {
  for (Device& device : devices_)
    if (device.path == path) return &device;
  return nullptr;
}

bool PluggedDevices::knows(std::string_view path) const {
  for (const Device& device : devices_)
    if (device.path == path) return true;
  return false;
}

void PluggedDevices::note(const Device& device, const char* event, std::string_view text) const {
  const pawl::LogField fields[] = {{"device", device.path}, {"text", text}};
  log_.write(pawl::LogLevel::kInfo, event, fields, text.empty() ? 1 : 2);
}

void PluggedDevices::on_declared(void* user, pawl::Status status) noexcept {
  Device& device = *static_cast<Device*>(user);
  device.state = status == pawl::Status::kOk ? State::kDeclared : State::kAbsent;
  device.all->note(device, status == pawl::Status::kOk ? "device_declared" : "device_not_declared",
                   status == pawl::Status::kOk ? "" : pawl::status_name(status));
}

void PluggedDevices::look(pawl::Runtime& runtime) {
  for (Device& device : devices_) {
    struct stat info = {};
    const bool is_there = stat(device.path.c_str(), &info) == 0;
    if (is_there && device.state == State::kAbsent) {
      // on_declared() gets the answer in a tick; if the request is refused now, the next look
      // repeats it.
      const auto asked = runtime.declare_session(device.path, true, on_declared, &device);
      if (asked == pawl::Status::kOk) device.state = State::kAsked;
    } else if (!is_there && device.state == State::kDeclared) {
      if (runtime.withdraw_session(device.path) != pawl::Status::kOk) continue;
      device.state = State::kAbsent;
      note(device, "device_withdrawn", "its file has gone");
    }
  }
}

void PluggedDevices::on_session_claimed(std::string_view session, std::int64_t /*epoch*/) noexcept {
  Device* const device = find(session);
  if (device != nullptr) device->is_ours = true;
}

void PluggedDevices::on_session_lost(std::string_view session, std::int64_t /*epoch*/) noexcept {
  Device* const device = find(session);
  if (device == nullptr) return;
  device->is_ours = false;
  if (device->fd >= 0) close(device->fd);
  device->fd = -1;
}

int PluggedDevices::open_locked(std::string_view path, std::string* why) {
  Device* const device = find(path);
  if (device == nullptr || !device->is_ours) {
    *why = "the device is not this worker's";
    return -1;
  }
  struct stat named = {};
  struct stat held = {};
  const bool is_same = device->fd >= 0 && stat(device->path.c_str(), &named) == 0 &&
                       fstat(device->fd, &held) == 0 && named.st_dev == held.st_dev &&
                       named.st_ino == held.st_ino;
  if (is_same) return device->fd;
  if (device->fd >= 0) close(device->fd);  // unplugged; the file there now is another device
  device->fd = open(device->path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (device->fd >= 0 && flock(device->fd, LOCK_EX | LOCK_NB) == 0) return device->fd;
  *why = device->path + ": " +
         (device->fd >= 0 && errno == EWOULDBLOCK ? "locked by another process" : strerror(errno));
  if (device->fd >= 0) close(device->fd);
  device->fd = -1;
  return -1;
}

}  // namespace pawld
