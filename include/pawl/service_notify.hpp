// ServiceNotify: reports the state of a program to a service manager, by the protocol of systemd's
// sd_notify.
//
// Purpose: serves Type=notify and WatchdogSec= of a unit without libsystemd: one datagram a message
// to the socket that the environment names. Without one every call succeeds and does nothing, so a
// program needs no second way.
//   pawl::posix::ServiceNotify manager;
//   manager.send("READY=1\nSTATUS=runs");
//   if (runtime.ready()) manager.send("WATCHDOG=1");  // at half of watchdog_ms()
// Ownership: it owns its socket. The constructor reads the environment once. Thread rule: one
// thread. Units: ms.
#ifndef PAWL_SERVICE_NOTIFY_HPP
#define PAWL_SERVICE_NOTIFY_HPP

#include <string_view>

#include "pawl/optional_ms.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl::posix {

class ServiceNotify {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. Start no process outside the service with
  // these variables: clear them, or leave them out.
  ServiceNotify();
  ~ServiceNotify();
  ServiceNotify(const ServiceNotify&) = delete;
  ServiceNotify& operator=(const ServiceNotify&) = delete;

  // Whether a service manager waits for messages.
  [[nodiscard]] bool is_asked() const { return asked_; }
  // The manager ends a program that sends nothing for this long. None: it does not watch this
  // process.
  [[nodiscard]] OptionalMs watchdog_ms() const { return watchdog_ms_; }
  // Sends assignments, one a line: "READY=1", "STATUS=text", "STOPPING=1", "WATCHDOG=1". Never
  // waits.
  // Returns kOk: it was sent, or no manager waits for it; kBusy: the manager has too many messages,
  // send it again later; kUnsupported: this call does not know the kind of the socket; kIo.
  // Requires: at most 1024 bytes (kInvalidArgument).
  Status send(std::string_view assignments) const;

 private:
  int fd_ = -1;
  bool asked_ = false;
  OptionalMs watchdog_ms_;
};

}  // namespace pawl::posix
#pragma GCC visibility pop

#endif  // PAWL_SERVICE_NOTIFY_HPP
