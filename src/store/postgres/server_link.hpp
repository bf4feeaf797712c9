// ServerLink: the connection to a server, as it sends and waits.
//
// Purpose: libpq is used without blocking; each answer is waited for here, with a deadline. Every
// SQLSTATE becomes a Status in one place. A link that has lost an answer stays lost until it
// connects anew, since a later answer could be taken for that one.
//
// Ownership: a ServerLink owns its connection; a result belongs to the caller (PQclear). Thread
// rule: one thread.
#ifndef PAWL_STORE_POSTGRES_SERVER_LINK_HPP
#define PAWL_STORE_POSTGRES_SERVER_LINK_HPP

#include <libpq-fe.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "pawl/port.hpp"
#include "pawl/status.hpp"

namespace pawl::postgres {

// The most that a statement has.
inline constexpr int kParametersMax = 32;

// The type of a parameter that is a number: bigint.
inline constexpr Oid kInt8 = 20;

// A number as the server takes it in binary form.
void put_number(char (&at)[8], std::int64_t value);

// A number of a result that came as texts.
[[nodiscard]] std::int64_t number_at(const PGresult* result, int column, int row = 0);

// Translates the code of an error, of five characters (PostgreSQL, appendix A).
[[nodiscard]] Status status_of(std::string_view sqlstate);

class ServerLink {
 public:
  // The texts of failures go to `diagnostic`, which outlives the link.
  explicit ServerLink(Diagnostic& diagnostic) : diagnostic_(diagnostic) {}
  ~ServerLink() { close(); }
  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  // `address`: as libpq takes it; it and `clock` outlive the link. An answer that takes longer than
  // `answer_ms_max` is lost.
  void set_up(const char* address, port::Clock& clock, std::int64_t answer_ms_max);
  // Connects, or goes on with that, for at most `wait_ms`. kBusy: it goes on; kCannotOpen.
  // Requires: is_lost().
  Status connect(std::int64_t wait_ms);
  void close();
  // From now on the socket ends the sleep of these threads when the server says something; null: it
  // does not. They outlive the link.
  void set_waker(port::Threads* waker);
  [[nodiscard]] bool wakes() const { return waker_ != nullptr; }
  [[nodiscard]] bool is_lost() const { return state_ != State::kConnected; }
  // Notices that the server has ended the connection while nothing was asked. Cheap.
  void look();
  // How often it has connected.
  [[nodiscard]] std::uint32_t connections() const { return connections_; }
  // The process of the server that answered when it connected.
  [[nodiscard]] std::int64_t server_process() const { return PQbackendPID(handle_); }
  [[nodiscard]] std::int64_t boot_ms() const { return clock_->boot_ms(); }
  // Also true of a transaction that failed, and can only be rolled back.
  [[nodiscard]] bool in_transaction() const;

  // Each waits for the answer. kIo: it was lost, and nothing is known of what the server did.
  // `out`, which may be null, gets the result of the last statement if all succeeded.
  Status ask(const char* sql, PGresult** out);
  // For one statement with numbers for its parameters. All comes as texts.
  Status ask_about(const char* sql, std::initializer_list<std::optional<std::int64_t>> numbers,
                   PGresult** out);
  // For one statement. Numbers come in binary form, and from ask() as texts.
  Status ask_binary(const char* sql, PGresult** out);
  Status prepare(const char* name, const char* sql, int count, const Oid* types);
  // Values and rows in binary form.
  Status run(const char* name, int count, const char* const* values, const int* sizes,
             PGresult** out);
  // Runs a prepared statement with numbers for its parameters, and then the statement `last`, which
  // is not run if the first fails: in one trip. `out`: of `last`.
  Status run_before(const char* last, const char* name,
                    std::initializer_list<std::optional<std::int64_t>> numbers, PGresult** out);

 private:
  enum class State : std::uint8_t { kLost, kConnecting, kConnected };

  [[nodiscard]] bool can_read_address();
  // The socket of a lost link would be readable for ever.
  void lose();
  void watch_socket(bool watched);
  void forget_notifications();
  // `sent`: as libpq's calls say it.
  Status wait_for(int sent, PGresult** out);
  PGresult* wait_for_answer();
  bool wait_for_socket(std::int64_t until_ms, bool writes);
  Status judge(const PGresult* result);
  // Writes libpq's text behind `what`, in one line; `none`: in the place of an empty one.
  void say(const char* what, const char* none);

  Diagnostic& diagnostic_;
  PGconn* handle_ = nullptr;
  const char* address_ = nullptr;
  port::Clock* clock_ = nullptr;
  port::Threads* waker_ = nullptr;
  bool is_watched_ = false;  // the waker has the socket
  std::int64_t answer_ms_max_ = 0;
  std::int64_t connecting_since_ms_ = 0;  // boot time
  PostgresPollingStatusType polled_ = PGRES_POLLING_FAILED;
  State state_ = State::kLost;
  std::uint32_t connections_ = 0;
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_SERVER_LINK_HPP
