// ServerLink: the connection to a server, as it sends and waits.
//
// Purpose: libpq is used without blocking; each answer is waited for here, with a deadline. Every
// SQLSTATE becomes a Status in one place. A link that has lost an answer stays lost until it is
// closed, since a later answer could be taken for that one.
//
// Ownership: a ServerLink owns its connection; a result belongs to the caller (PQclear). Thread
// rule: one thread.
#ifndef PAWL_STORE_POSTGRES_SERVER_LINK_HPP
#define PAWL_STORE_POSTGRES_SERVER_LINK_HPP

#include <libpq-fe.h>

#include <cstdint>
#include <string_view>

#include "pawl/port.hpp"
#include "pawl/status.hpp"

namespace pawl::postgres {

// The most that a statement has.
inline constexpr int kParametersMax = 32;

// Translates the code of an error, of five characters (PostgreSQL, appendix A).
[[nodiscard]] Status status_of(std::string_view sqlstate);

class ServerLink {
 public:
  // The texts of failures go to `diagnostic`, which outlives the link.
  explicit ServerLink(Diagnostic& diagnostic) : diagnostic_(diagnostic) {}
  ~ServerLink() { close(); }
  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  // `address`: as libpq takes it. `clock` outlives the link. An answer that takes longer than
  // `answer_ms_max` is lost. kCannotOpen.
  Status open(const char* address, port::Clock& clock, std::int64_t answer_ms_max);
  void close();
  // Also true of a transaction that failed, and can only be rolled back.
  [[nodiscard]] bool in_transaction() const;

  // Each waits for the answer. kIo: it was lost, and nothing is known of what the server did.
  // `out`, which may be null, gets the result of the last statement if all succeeded.
  Status ask(const char* sql, PGresult** out);
  // For one statement. Numbers come in binary form, and from ask() as texts.
  Status ask_binary(const char* sql, PGresult** out);
  Status prepare(const char* name, const char* sql, int count, const Oid* types);
  // Values and rows in binary form.
  Status run(const char* name, int count, const char* const* values, const int* sizes,
             PGresult** out);

 private:
  [[nodiscard]] bool is_lost() const { return handle_ == nullptr || lost_; }
  // `sent`: as libpq's calls say it.
  Status wait_for(int sent, PGresult** out);
  PGresult* wait_for_answer();
  bool wait_for_socket(std::int64_t until_ms, bool writes);
  Status judge(const PGresult* result);

  Diagnostic& diagnostic_;
  PGconn* handle_ = nullptr;
  port::Clock* clock_ = nullptr;
  std::int64_t answer_ms_max_ = 0;
  bool lost_ = false;
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_SERVER_LINK_HPP
