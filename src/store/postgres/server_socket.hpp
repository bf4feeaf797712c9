// ServerSocket: the connection to a server, as it is made, lost and waited for.
//
// Purpose: libpq is used without blocking; each answer is waited for here, with a deadline. Every
// SQLSTATE becomes a Status in one place. A link that has lost an answer stays lost until it
// connects anew, since a later answer could be taken for that one.
//
// Ownership: a ServerSocket owns its connection. Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_SERVER_SOCKET_HPP
#define PAWL_STORE_POSTGRES_SERVER_SOCKET_HPP

#include <libpq-fe.h>

#include <cstdint>
#include <string_view>

#include "pawl/port.hpp"
#include "pawl/status.hpp"

namespace pawl::postgres {

// Translates the code of an error, of five characters (PostgreSQL, appendix A).
[[nodiscard]] Status status_of(std::string_view sqlstate);

class ServerSocket {
 public:
  // The texts of failures go to `diagnostic`, which outlives the link.
  explicit ServerSocket(Diagnostic& diagnostic) : diagnostic_(diagnostic) {}
  ~ServerSocket() { close(); }
  ServerSocket(const ServerSocket&) = delete;
  ServerSocket& operator=(const ServerSocket&) = delete;

  // `address`: as libpq takes it; it and `clock` outlive the link. An answer that takes longer than
  // `answer_ms_max` is lost.
  void set_up(const char* address, port::Clock& clock, std::int64_t answer_ms_max);
  void set_answer_ms_max(std::int64_t ms) { answer_ms_max_ = ms; }
  // Connects, or goes on with that, for at most `wait_ms`. kBusy: it goes on; kCannotOpen.
  // Requires: is_lost().
  Status connect(std::int64_t wait_ms);
  void close();
  // From now on the socket ends the sleep of these threads when the server says something; null: it
  // does not. They outlive the link.
  void set_waker(port::Threads* waker);
  [[nodiscard]] bool wakes() const { return waker_ != nullptr; }
  // They are a loop's that sleeps in its port, so this link need not.
  [[nodiscard]] bool may_sleep_elsewhere() const { return wakes() && waker_->fd() >= 0; }
  // Another connection has notified this one since forget_heard(), and its rows were not looked at.
  [[nodiscard]] bool has_heard() const { return has_heard_; }
  void forget_heard() { has_heard_ = false; }
  [[nodiscard]] bool is_lost() const { return state_ != State::kConnected; }
  // Notices that the server has ended the connection while nothing was asked. Cheap.
  void look();
  // How often it has connected.
  [[nodiscard]] std::uint32_t connections() const { return connections_; }
  // The process of the server that answered when it connected.
  [[nodiscard]] std::int64_t server_process() const { return PQbackendPID(handle_); }
  [[nodiscard]] std::int64_t boot_ms() const { return clock_->boot_ms(); }

 protected:
  PGresult* wait_for_answer();
  // The next answer comes until then. True, too, if it never will, which wait_for_answer() finds.
  bool has_answer(std::int64_t until_ms);
  // Null: the answer was lost.
  Status judge(const PGresult* result);
  // The socket of a lost link would be readable for ever.
  void lose();

  Diagnostic& diagnostic_;
  PGconn* handle_ = nullptr;
  // For what the last transaction failed.
  Status failure_ = Status::kOk;

 private:
  enum class State : std::uint8_t { kLost, kConnecting, kConnected };

  [[nodiscard]] bool can_read_address();
  void watch_socket(bool watched);
  void take_notifications();
  bool wait_for_socket(std::int64_t until_ms, bool writes);
  // Writes libpq's text behind `what`, in one line; `none`: in the place of an empty one.
  void say(const char* what, const char* none);

  const char* address_ = nullptr;
  port::Clock* clock_ = nullptr;
  port::Threads* waker_ = nullptr;
  bool has_heard_ = false;
  bool is_watched_ = false;  // the waker has the socket
  std::int64_t answer_ms_max_ = 0;
  std::int64_t connecting_since_ms_ = 0;  // boot time
  PostgresPollingStatusType polled_ = PGRES_POLLING_FAILED;
  State state_ = State::kLost;
  std::uint32_t connections_ = 0;
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_SERVER_SOCKET_HPP
