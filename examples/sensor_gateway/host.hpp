// Host: what a process of the gateway needs around a Runtime: port, memory, signals.
#ifndef GATEWAY_HOST_HPP
#define GATEWAY_HOST_HPP

#include <memory>

#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"

namespace gateway {

// The numbers both roles share; every input and result of the gateway is a short text.
pawl::Options small_options(const char* database_path, const char* node);

class Host {
 public:
  Host();
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // False, with the reason on stderr.
  bool start(const pawl::Options& options, const pawl::Registry& registry);
  [[nodiscard]] pawl::Runtime& runtime() { return runtime_; }
  // Until SIGTERM or SIGINT; then whatever runs may end. The exit status.
  int run();

 private:
  // The order is that of ending: the runtime first, its memory last.
  std::unique_ptr<unsigned char[]> sqlite_memory_;
  std::unique_ptr<unsigned char[]> memory_;
  pawl::posix::FdLogSink log_;
  pawl::posix::SystemPort port_;
  pawl::Process process_;
  pawl::Runtime runtime_;
};

}  // namespace gateway

#endif  // GATEWAY_HOST_HPP
