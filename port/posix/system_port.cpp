#include <new>

#include "pawl/port_posix.hpp"
#include "port/posix/posix_clock.hpp"
#include "port/posix/posix_folders.hpp"
#include "port/posix/posix_storage.hpp"
#include "port/posix/posix_threads.hpp"

namespace pawl::posix {
namespace {

struct Parts {
  explicit Parts(const PortOptions& options)
      : clock(options), storage(options), threads(options, clock) {}
  SystemClock clock;
  SystemStorage storage;
  SystemThreads threads;
  SystemFolders folders;
};

Parts& parts(void* memory) { return *std::launder(static_cast<Parts*>(memory)); }

}  // namespace

SystemPort::SystemPort(const PortOptions& options) {
  static_assert(sizeof(Parts) <= kImplBytes && alignof(Parts) <= 64);
  new (impl_) Parts(options);
}

SystemPort::~SystemPort() { parts(impl_).~Parts(); }

port::Port SystemPort::port() {
  Parts& all = parts(impl_);
  port::Port set;
  set.clock = &all.clock;
  set.storage = &all.storage;
  set.threads = &all.threads;
  set.folders = &all.folders;
  return set;
}

void SystemPort::set_wall_trusted(bool trusted) { parts(impl_).clock.set_wall_trusted(trusted); }

}  // namespace pawl::posix
