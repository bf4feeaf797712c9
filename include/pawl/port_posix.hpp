// The Linux port, which a gateway passes as pawl::port::Port.
//
// Purpose: one SystemPort is a clock, a storage and a waiter of this process. Ownership: it must
// outlive the Runtime or Client given its port(). Thread rule: as pawl/port.hpp; give each Runtime
// and each Client a SystemPort of its own (each has its own waiter and owner thread).
#ifndef PAWL_PORT_POSIX_HPP
#define PAWL_PORT_POSIX_HPP

#include <cstddef>

#include "pawl/log_sinks.hpp"
#include "pawl/name.hpp"
#include "pawl/port.hpp"
#pragma GCC visibility push(default)

namespace pawl::posix {

// When the wall clock is trusted; see docs/architecture/time.md.
enum class WallTrust : unsigned char {
  kKernel,  // the kernel says it is synchronised
  kFile,    // `wall_trust_file` exists and is newer than the boot
  kHost,    // the program says so: set_wall_trusted()
  kAlways,  // a good real-time clock
  kNever,
};

struct PortOptions {
  WallTrust wall_trust = WallTrust::kKernel;
  // For kFile; empty: never trusted. A path that does not fit is refused when the port is used
  // (kInvalidOptions).
  Path wall_trust_file;
  bool allow_network_filesystem = false;
  // Makes a new database for the group too: 0660 and not 0600. Files beside a database follow its
  // mode, whatever this says. Its folder should have the set-group-id bit, so that files of several
  // users belong to one group.
  bool group_access = false;
  // 0: uses inotify; else polls the database every so many ms (if notification is missing).
  int poll_ms = 0;
};

class SystemPort {
 public:
  explicit SystemPort(const PortOptions& options = PortOptions());
  ~SystemPort();
  SystemPort(const SystemPort&) = delete;
  SystemPort& operator=(const SystemPort&) = delete;
  [[nodiscard]] port::Port port();
  // kHost only; callable from any thread.
  void set_wall_trusted(bool trusted);

 private:
  static constexpr std::size_t kImplBytes = 8192;
  alignas(64) unsigned char impl_[kImplBytes];
};

}  // namespace pawl::posix
#pragma GCC visibility pop

#endif  // PAWL_PORT_POSIX_HPP
