// Endpoint: an HTTP server over a database, for operators, pages and Prometheus. It is off until
// asked for.
//
// Purpose: shows and does what a Client can, as docs/endpoint.md lists it. It has a thread, a
// Client and a port of its own, so that a request costs a tick what another reader of the file
// costs it.
//
//   pawl::Host host("greenhouse.db");
//   pawl::Endpoint endpoint;  // behind the Host, so that it ends before it
//   pawl::Diagnostic why;
//   if (endpoint.start(host, {}, why) != pawl::Status::kOk) ...
//   return host.run();
//
// Ownership: the Endpoint owns its thread, its socket and its memory, which start() takes from the
// heap; the HTTP library takes a bounded amount beside it while there are connections. Thread rule:
// start() and stop() on one thread; the Endpoint's own thread answers.
//
// Link pawl::endpoint, a library of its own that exists where Pawl was built with libmicrohttpd.
#ifndef PAWL_ENDPOINT_HPP
#define PAWL_ENDPOINT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "pawl/client.hpp"
#include "pawl/host.hpp"
#include "pawl/name.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/process.hpp"
#include "pawl/runtime_board.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// A TCP socket in place of a Unix socket.
struct EndpointTcp {
  std::uint16_t port = 0;  // 0: a free one, see Endpoint::port()
  // An address of IPv4 or IPv6. One beyond this machine needs `allow_others`: the token and all
  // answers then cross the network unencrypted.
  Name address = "127.0.0.1";
  bool allow_others = false;
  // Required: a file of 16 to 512 printable bytes, which every request must show. Only its owner
  // and its group may have the right to read it.
  Path token_file;
  // A name of this machine besides its address and "localhost". Empty: none.
  Name host_name;
};

// The places where the endpoint listens, the requests that it takes, and the sources of its
// answers.
struct EndpointOptions {
  EndpointOptions() {
    client.create = false;
    client.busy_max = std::chrono::milliseconds(1'000);
  }

  // Empty: the path of the database with "-http" appended. A file with ".lock" appended to that
  // stays.
  Path socket_path;
  // The mode of the socket: it decides who may connect, and so change what is in the database.
  // None: 0600, or 0660 where port.group_access gives the database to the group, too.
  std::optional<unsigned> socket_mode;
  std::optional<EndpointTcp> tcp;  // in place of the Unix socket
  bool read_only = false;          // refuses every write
  // Connections at a time, 1..256. When a new one needs a place, the oldest without a complete head
  // makes room for it, then one without the token; requests with the token, and all requests on a
  // Unix socket, are waited for.
  std::uint32_t connections = 16;
  std::uint32_t watches = 8;  // requests that wait for a change at once, 0..connections
  // The time from the head of a request to its answer; then the connection is closed. 100 ms to 10
  // min. The head itself has 3 s, or this time if it is less, from the connection or the answer
  // before it.
  std::chrono::milliseconds request_timeout{10'000};
  // A file for the textfile collector of Prometheus: the text of /metrics, written anew this often,
  // at first under this name with ".tmp" appended. Neither name may be the database, a file of a
  // database, or a file that a process has locked, and the first may be no link; while a later look
  // finds one of these, nothing is written. Empty: no file.
  Path metrics_file;
  std::chrono::milliseconds metrics_interval{15'000};
  // database_path and the server come from the Host, if there is one. payload_bytes_max limits
  // bodies.
  ClientOptions client;
  posix::PortOptions port;  // for the Client; comes from the Host, if there is one
  // The board of this process's Runtime, for /health, /ready and its counters; null: there is none.
  // It comes from the Host, if there is one.
  RuntimeBoard* board = nullptr;
};

// The server. It answers from start() to stop(), on a thread of its own.
class Endpoint {
 public:
  static constexpr char kThreadName[] = "pawl-endpoint";  // its name in the system's list

  Endpoint();
  // Does what stop() does. If that answers kTimeout, the objects that the thread uses stay where
  // they are.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Begins to answer for a Host that is not started yet: /ready says when it is. The Host gets a
  // board and room for one more connection to SQLite.
  // Returns kOk; kAlreadyExists: it is started, or another endpoint has the socket; kCannotOpen:
  // there can be no socket there; kInvalidOptions, with the option; kResourceExhausted.
  // Requires: a call before host.start(); a Host that outlives the Endpoint.
  Status start(Host& host, const EndpointOptions& options, Diagnostic& why);
  // The same for a Process that is started, with a connection to spare (connections_max).
  // Returns the same.
  // Requires: a started Process, which outlives the Endpoint (kInvalidArgument).
  Status start(Process& process, const EndpointOptions& options, Diagnostic& why);
  // Closes all connections and ends the thread; a call to the database that is under way ends
  // first, if it does so within request_timeout.
  // Returns kOk, also if it is not started; kTimeout: the thread is in a call that has not
  // returned, for example on a disk that does not answer. Nothing is freed then, and the thread
  // uses the Process, the Host and the board as before: call again, or end the program without
  // destroying them (_exit()).
  Status stop();
  // The TCP port; 0: the endpoint is not started, or has a Unix socket.
  [[nodiscard]] std::uint16_t port() const;

 private:
  struct [[gnu::visibility("hidden")]] Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_ENDPOINT_HPP
