// Endpoint: an HTTP server over a database, for operators, pages and Prometheus. Off until asked for.
//
// Purpose: what a Client can show and do, as docs/endpoint.md lists it. It has a thread, a Client
// and a port of its own, so that a request costs a tick what another reader of the file costs it.
//
//   pawl::Host host("greenhouse.db");
//   pawl::Endpoint endpoint;  // behind the Host, so that it ends before it
//   pawl::Diagnostic why;
//   if (endpoint.start(host, {}, why) != pawl::Status::kOk) ...
//   return host.run();
//
// Ownership: the Endpoint owns its thread, its socket and its memory, which start() takes from the
// heap; the HTTP library takes a bounded amount beside it while there are connections. Thread rule:
// start() and stop() on one thread; the answers come from the Endpoint's own.
// Link pawl::endpoint, a library of its own that is there where Pawl was built with libmicrohttpd.
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

// A socket of TCP in the place of a Unix socket.
struct EndpointTcp {
  std::uint16_t port = 0;  // 0: one that is free, see Endpoint::port()
  // A number of IPv4 or IPv6. One beyond this machine needs `allow_others`: the token and all
  // answers go over the network as they are.
  Name address = "127.0.0.1";
  bool allow_others = false;
  // Required: 16 to 512 printable bytes, which every request must show. Others than its owner and
  // its group may not read it.
  Path token_file;
  // A name by which this machine is called besides its address and "localhost". Empty: none.
  Name host_name;
};

// Where it listens, what it lets in, and what it answers from.
struct EndpointOptions {
  EndpointOptions() {
    client.create = false;
    client.busy_max = std::chrono::milliseconds(1'000);
  }

  // Empty: the path of the database with "-http" behind it. A file with ".lock" behind it stays.
  Path socket_path;
  // Who may connect, and so change what is in the database. None: 0600, or 0660 where port.group_access
  // gives the database to the group, too.
  std::optional<unsigned> socket_mode;
  std::optional<EndpointTcp> tcp;  // in the place of the Unix socket
  bool read_only = false;          // refuses every write
  // At once, 1..256. When a new one needs a place, the oldest without a complete head goes for it, then
  // one without the token; requests with the token, and all of a Unix socket, are waited for.
  std::uint32_t connections = 16;
  std::uint32_t watches = 8;  // requests that wait for a change at once, 0..connections
  // From the head of a request to its answer; then the connection is closed. 100 ms to 10 min. A head
  // itself has 3 s, or this if it is less, from the connection or the answer before it.
  std::chrono::milliseconds request_timeout{10'000};
  // For the textfile collector of Prometheus: what /metrics answers, written anew this often, under this
  // name with ".tmp" behind it at first. Neither may be the database, a file of one, or a file that a
  // process has locked, and the first no link; nothing is written while that is so later. Empty: no file.
  Path metrics_file;
  std::chrono::milliseconds metrics_interval{15'000};
  // database_path is taken from the Host, if there is one. payload_bytes_max bounds bodies.
  ClientOptions client;
  posix::PortOptions port;  // of the Client; from the Host, if there is one
  // The board of this process's Runtime, for /health, /ready and its counters; null: there is none.
  // Taken from the Host, if there is one.
  RuntimeBoard* board = nullptr;
};

// The server. It answers from start() to stop(), on a thread of its own.
class Endpoint {
 public:
  static constexpr char kThreadName[] = "pawl-endpoint";  // as the system lists it

  Endpoint();
  // As stop(). Where that answers kTimeout, what the thread uses stays where it is.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Begins to answer for a Host that is not started yet: /ready says when it is. The Host gets a
  // board and room for one more connection to SQLite.
  // Returns kOk; kAlreadyExists: it is started, or another endpoint has the socket; kCannotOpen: no
  // socket there; kInvalidOptions, with the option; kResourceExhausted.
  // Requires: before host.start(); the Host outlives the Endpoint.
  Status start(Host& host, const EndpointOptions& options, Diagnostic& why);
  // The same for a Process that is started, with a connection to spare (connections_max).
  // Returns as above.
  // Requires: a started Process, which outlives the Endpoint (kInvalidArgument).
  Status start(Process& process, const EndpointOptions& options, Diagnostic& why);
  // Closes all connections and ends the thread; a call to the database that is under way ends first, if it
  // does so within request_timeout.
  // Returns kOk, also if it is not started; kTimeout: the thread is in a call that has not returned, as
  // on a disk that does not answer. Nothing is freed, and the thread uses the Process, the Host and the
  // board as before: call again, or end the program without destroying them (_exit()).
  Status stop();
  // The port of TCP; 0: it is not started, or has a Unix socket.
  [[nodiscard]] std::uint16_t port() const;

 private:
  struct [[gnu::visibility("hidden")]] Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_ENDPOINT_HPP
