// Listener: the listening socket of an endpoint.
//
// Ownership: the descriptor, the name of a Unix socket, and the lock beside it, until close().
// Thread rule: one thread.
#ifndef PAWL_PARTS_ENDPOINT_LISTENER_HPP
#define PAWL_PARTS_ENDPOINT_LISTENER_HPP

#include <cstdint>
#include <string_view>

#include "pawl/name.hpp"
#include "pawl/status.hpp"

namespace pawl::http {

class Listener {
 public:
  Listener() = default;
  ~Listener() { close(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Returns kOk; kInvalidOptions: the path is too long for a socket; kAlreadyExists: another
  // program listens there; kCannotOpen.
  Status listen_unix(std::string_view path, unsigned mode, Diagnostic& why);
  // Returns kOk; kInvalidOptions: no address, or another machine may reach it without
  // `allow_others`; kAlreadyExists: the port is in use; kCannotOpen.
  Status listen_tcp(std::string_view address, std::uint16_t port, bool allow_others,
                    Diagnostic& why);
  void close();
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  Status lock(Diagnostic& why);
  Status clear_path(Diagnostic& why);

  int fd_ = -1;
  int lock_fd_ = -1;
  std::uint16_t port_ = 0;
  char path_[110] = {};
  bool bound_ = false;  // the name is ours
};

}  // namespace pawl::http

#endif  // PAWL_PARTS_ENDPOINT_LISTENER_HPP
