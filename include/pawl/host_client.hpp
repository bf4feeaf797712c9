// HostClient: a Client of a program that has a heap.
//
// Purpose: Process, memory, port and Client in one object, so that HostClient client("pawl.db") is
// all that a program writes before its first call. It is a Client: it has the calls of one, and
// goes wherever a Client& is taken. A device that counts its memory, and any other system, use
// Process, a port and Client instead (pawl/client.hpp).
// Ownership: it owns everything, its memory included: two blocks of the heap, which are freed with
// it. SQLite's block is not while the program has connections of its own open (Process::stop()). A
// Process that was given to it outlives it.
// Thread rule: as Client. One that has a Process of its own is made and destroyed while no other
// Process is started, since SQLite's memory is global.
#ifndef PAWL_HOST_CLIENT_HPP
#define PAWL_HOST_CLIENT_HPP

#include <memory>
#include <string_view>

#include "pawl/client.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/printable.hpp"
#include "pawl/process.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// The options of each part of a HostClient that has a Process of its own.
struct HostClientOptions {
  HostClientOptions() {
    process.connections_max = 1;
    process.page_cache_pages = client.cache_pages;
  }

  ClientOptions client;  // database_path is required
  // connections_max: 1, for this client; add one for each further client of the process, and its
  // pages. payload_bytes_max: that of the client, if it has more.
  ProcessOptions process;
  posix::PortOptions port;  // the port of this machine
};

class HostClient : public Client {
 public:
  // Opens the database with a Process of its own; the path stands for options with all defaults.
  // status() has the answer.
  explicit HostClient(const Path& database_path);
  explicit HostClient(const HostClientOptions& options);
  // Opens it beside a Host, or beside another HostClient on a thread of its own: both have the
  // Process, whose connections_max counts this one, too.
  HostClient(Process& process, const Path& database_path);
  HostClient(Process& process, const ClientOptions& options);
  // Closes the connection, and ends the Process if that is its own.
  ~HostClient();
  HostClient(const HostClient&) = delete;
  HostClient& operator=(const HostClient&) = delete;

  // Whether the database is open. Unless it is kOk, all calls of the Client answer kStopped.
  // Returns the same as Process::start() and Client::open(); kAlreadyExists: this program has
  // started a Process, which must be given to the constructor; kResourceExhausted: also if the heap
  // has too little memory.
  [[nodiscard]] Status status() const;
  // The text of the last failure, the opening's included.
  [[nodiscard]] std::string_view error_text() const;
  [[nodiscard]] Process& process();    // for further clients of this program
  [[nodiscard]] port::Clock& clock();  // the machine's clock

 private:
  struct [[gnu::visibility("hidden")]] Parts;
  void open_in(Process& process, const ClientOptions& options);
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_HOST_CLIENT_HPP
