// FileWatch: the kernel's reports about the bell and the log of one database (inotify).
//
// Thread rule: the owner of the Threads object only.
#ifndef PAWL_PORT_POSIX_POSIX_FILE_WATCH_HPP
#define PAWL_PORT_POSIX_POSIX_FILE_WATCH_HPP

#include "pawl/port.hpp"
#include "port/posix/posix_descriptor.hpp"

namespace pawl::posix {

class FileWatch {
 public:
  // kUnsupported: inotify is missing or its limits are reached; poll instead.
  Status open(const char* database_path);
  void close();
  [[nodiscard]] int fd() const { return inotify_.get(); }
  // False once a watch was lost and could not be made again: poll from then on.
  [[nodiscard]] bool working() const { return inotify_.valid() && !broken_; }
  // Reads all queued events and adds them to `reasons`.
  void drain(port::WakeReasons& reasons);

 private:
  struct Watched {
    char path[kPathBytes] = {};
    const char* name = nullptr;  // last part of path
    int watch = -1;
  };
  // Watches the file that has the name now; drops the watch of the file before.
  bool watch_again(Watched& file);
  // Whether this event concerns `file`: it changed, or a file came or went under its name.
  bool concerns(Watched& file, int watch, std::uint32_t mask, const char* name);
  void everything_changed(port::WakeReasons& reasons);

  Descriptor inotify_;
  int folder_watch_ = -1;
  bool broken_ = false;
  Watched bell_;
  Watched log_;
};

}  // namespace pawl::posix

#endif  // PAWL_PORT_POSIX_POSIX_FILE_WATCH_HPP
