// The devices that are plugged in, and those whose sessions this process owns.
#ifndef DEVICE_GATEWAY_DEVICES_HPP
#define DEVICE_GATEWAY_DEVICES_HPP

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "pawl/session_listener.hpp"

namespace device_gateway {

// The devices of a folder with stable names, like /dev/serial/by-id. A device is named by its path.
class Folder {
 public:
  Folder() = default;
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  // False: it failed, and errno says why.
  bool open(const std::string& path);
  // Readable when look() will find a difference.
  [[nodiscard]] int fd() const { return inotify_; }
  // Reports the devices that came and went since the last look.
  void look(std::set<std::string>* came, std::set<std::string>* went);

 private:
  std::string path_;
  int inotify_ = -1;
  std::set<std::string> known_;
};

// Devices whose sessions this process owns. Each is open, and locked by the kernel for as long. The
// lock also ends with the process, however that ends, but not before: a frozen process keeps its
// locks when the others give it up. Two processes never use one device, whatever they believe.
class OwnedDevices final : public pawl::SessionListener {
 public:
  OwnedDevices() = default;
  ~OwnedDevices();
  OwnedDevices(const OwnedDevices&) = delete;
  OwnedDevices& operator=(const OwnedDevices&) = delete;

  void on_session_claimed(std::string_view session, std::int64_t epoch) noexcept override;
  void on_session_lost(std::string_view session, std::int64_t epoch) noexcept override;

  // The open file of a device. -1: the device is not ours or gone, or another process has the lock;
  // `why` says which.
  int use(std::string_view device, std::string* why);

 private:
  std::map<std::string, int, std::less<>> open_;  // the file of each device; -1: not open
};

}  // namespace device_gateway

#endif  // DEVICE_GATEWAY_DEVICES_HPP
