// Host: what a process of an example needs around a Runtime: port, memory, signals. Caller: around a Client.
#ifndef EXAMPLE_HOST_HPP
#define EXAMPLE_HOST_HPP

#include <memory>

#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"

namespace example {

// Numbers for a small device: every input and result of the examples is a short text. No activities run
// but those that the caller gives slots to.
pawl::Options small_options(const char* database_path, const char* node);

class Host {
 public:
  // `program`: for what is said on stderr; a string literal.
  explicit Host(const char* program);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // False, with the reason on stderr.
  bool start(const pawl::Options& options, const pawl::Registry& registry);
  [[nodiscard]] pawl::Runtime& runtime() { return runtime_; }
  // The machine's clock, for a SessionCache; from the beginning.
  [[nodiscard]] pawl::port::Clock& clock() { return *port_.port().clock; }
  // Until SIGTERM or SIGINT; then whatever runs may end. The exit status.
  int run();
  // For a loop of one's own: stops like run(). The exit status.
  int stop();

 private:
  int report(pawl::Status status);

  // The order is that of ending: the runtime first, its memory last.
  const char* program_;
  std::unique_ptr<unsigned char[]> sqlite_memory_;
  std::unique_ptr<unsigned char[]> memory_;
  pawl::posix::FdLogSink log_;
  pawl::posix::SystemPort port_;
  pawl::Process process_;
  pawl::Runtime runtime_;
};

class Caller {
 public:
  // False, with the reason on stderr.
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
