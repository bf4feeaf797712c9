// The common part of the example programs: options of a Host for a small device, and a Caller
// around a Client.
#ifndef EXAMPLE_HOST_HPP
#define EXAMPLE_HOST_HPP

#include <memory>

#include "pawl/host.hpp"

namespace example {

// Options for a small device: every input and result of the examples is a short text. There are no
// slots for inline and threaded activities; a caller adds those it needs. The log goes to standard
// error.
pawl::HostOptions small_host(const char* database_path, const char* node);

class Caller {
 public:
  // False: it failed, and the reason is on stderr.
  bool open(const char* program, const char* database_path);
  [[nodiscard]] pawl::Client& client() { return client_; }

 private:
  std::unique_ptr<unsigned char[]> sqlite_memory_;
  std::unique_ptr<unsigned char[]> memory_;
  pawl::posix::SystemPort port_;
  pawl::Process process_;
  pawl::Client client_;
};

}  // namespace example

#endif  // EXAMPLE_HOST_HPP
