// Server: connections and their requests, over libmicrohttpd, on the thread that calls run().
//
// Ownership: the library's daemon and the buffers of `connections` requests, taken by start().
// Thread rule: one thread, except wake().
// Why this library: it serves sockets that are already open in a loop of our own, its memory for
// each connection is bounded, and a request can wait without a thread. But it has no deadline for a
// whole head or request (its timeout begins anew with each byte), and it stops accepting when all
// places are taken. So this class accepts, keeps the deadlines, and decides which connection makes
// place for a new one.
#ifndef PAWL_PARTS_ENDPOINT_SERVER_HPP
#define PAWL_PARTS_ENDPOINT_SERVER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>

#include "parts/endpoint/exchange.hpp"
#include "parts/endpoint/gate.hpp"
#include "parts/endpoint/places.hpp"
#include "parts/endpoint/routes.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/status.hpp"

struct MHD_Connection;
struct MHD_Daemon;

namespace pawl::http {

struct ServerOptions {
  std::uint32_t connections = 16;
  std::int64_t request_timeout_ms = 10'000;
  std::size_t body_bytes_max = 0;
  std::size_t answer_bytes_max = 0;
};

class Server {
 public:
  // Brings the backend up to date before requests are answered.
  class Owner {
   public:
    virtual Backend& backend() = 0;

   protected:
    ~Owner() = default;
  };

  Server();
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Takes the listening `fd`, which stays the caller's.
  // Returns kOk; kResourceExhausted: no memory, or no more descriptors.
  Status start(int fd, const Gate& gate, Owner& owner, const ServerOptions& options);
  void stop();
  // Readable when there is something to do.
  [[nodiscard]] int fd() const;
  // The listening socket, readable when a client waits; -1: no client can be let in now.
  [[nodiscard]] int listen_fd() const;
  // Answers the requests that have come.
  void run(std::int64_t now_ms);
  // The time at which run() has work of its own; none: only when fd() is readable.
  [[nodiscard]] OptionalMs next_due(std::int64_t now_ms) const;

 private:
  struct Slot;
  struct Callbacks;

  Slot* take_slot(const char* uri);
  void give_back(Slot* slot);
  ConnectionPlace* take_place(MHD_Connection* connection);
  [[nodiscard]] std::int64_t head_deadline() const;
  void accept_waiting();
  bool make_room();
  int begin_request(Slot& slot, const char* method);
  int take_body(Slot& slot, const char* data, std::size_t* size) const;
  int end_request(Slot& slot);
  int send(Slot& slot) const;
  void look_at_watches();
  static bool has_left(const Slot& slot);
  void resume(Slot& slot);
  void answer(Slot& slot);

  MHD_Daemon* daemon_ = nullptr;
  int listen_fd_ = -1;
  const Gate* gate_ = nullptr;
  Owner* owner_ = nullptr;
  ServerOptions options_;
  std::unique_ptr<Slot[]> slots_;
  Places places_;
  std::unique_ptr<char[]> buffers_;
  std::int64_t now_ms_ = 0;
  std::int64_t watches_due_ms_ = 0;
  std::uint32_t watches_ = 0;
  bool resumed_ = false;         // since the last run of the library
  OptionalMs accepts_again_ms_;  // none: the system has descriptors
};

}  // namespace pawl::http

#endif  // PAWL_PARTS_ENDPOINT_SERVER_HPP
