// ServerLink: the connection to a server, as it runs statements.
//
// Purpose: a statement is sent alone and waited for, or goes into a pipeline with others, whose
// answers are waited for together. Ownership: a result belongs to the caller (PQclear).
// Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_SERVER_LINK_HPP
#define PAWL_STORE_POSTGRES_SERVER_LINK_HPP

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "store/postgres/server_socket.hpp"

namespace pawl::postgres {

// The most that a statement has.
inline constexpr int kParametersMax = 48;

// The most that is sent before an answer is waited for.
inline constexpr int kQueuedMax = 256;

// The type of a parameter that is a number: bigint.
inline constexpr Oid kInt8 = 20;

// A number as the server takes it in binary form.
void put_number(char (&at)[8], std::int64_t value);

// A number of a result that came as texts.
[[nodiscard]] std::int64_t number_at(const PGresult* result, int column, int row = 0);

class ServerLink : public ServerSocket {
 public:
  using ServerSocket::ServerSocket;

  // ServerSocket::connect(). What was queued on a lost link is forgotten.
  Status connect(std::int64_t wait_ms) {
    queued_ = 0;
    ends_later_ = false;
    return ServerSocket::connect(wait_ms);
  }
  // How often it waited for an answer, or for several that come together.
  [[nodiscard]] std::uint64_t trips() const { return trips_; }
#ifndef NDEBUG
  // Those since then only checked what was known already.
  void forget_trips_since(std::uint64_t trips) { trips_ = trips; }
#endif
  // Also true of a transaction that failed, and can only be rolled back.
  [[nodiscard]] bool in_transaction() const;

  // Sends a prepared statement, of which only the count of changed rows matters, without waiting
  // for its answer. `keep`, which may be null and lives until then, gets the result if it succeeds.
  // Requires: fewer than kQueuedMax are queued, and a transaction has begun.
  Status queue(const char* name, int count, const char* const* values, const int* sizes,
               PGresult** keep = nullptr);
  // None of a link that was lost.
  [[nodiscard]] int queued() const { return is_lost() ? 0 : queued_; }
  // The same for a statement without parameters. `name`: it is prepared; the rows come as texts.
  Status queue_text(const char* sql);
  Status queue_named(const char* name, PGresult** keep = nullptr);
  // The transaction, which wrote nothing, ends before the next statement that is sent, or with
  // settle().
  void end_later() { ends_later_ = in_transaction(); }
  // Waits for the answers of what is queued, as each call below does before or with its own. After
  // one that failed, the server runs no other. `out`, which may be null, gets the last result if
  // all succeeded.
  Status settle(PGresult** out = nullptr);
  // For what the transaction failed; it can only be rolled back then. kOk: it did not.
  [[nodiscard]] Status failure() const;
  // The number of the statement that failed last, among those that were sent without waiting.
  [[nodiscard]] std::optional<int> failed_at() const { return failed_at_; }
  // The rows that the last prepared statement changed, and all of them so far.
  [[nodiscard]] std::int64_t changes() const { return changes_; }
  [[nodiscard]] std::int64_t total_changes() const { return total_changes_; }

  // Each waits for the answer. kIo: it was lost, and nothing is known of what the server did.
  // `out`, which may be null, gets the result of the last statement if all succeeded.
  Status ask(const char* sql, PGresult** out);
  // Ends the transaction, whatever became of what is queued in it.
  Status roll_back(PGresult** out);
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
  // is not run if one before it fails: in one trip with what is queued. `out`: of `last`.
  Status run_before(const char* last, const char* name,
                    std::initializer_list<std::optional<std::int64_t>> numbers, PGresult** out);

 private:
  // `sent`: as libpq's calls say it.
  Status wait_for(int sent, PGresult** out);
  // Goes on in a pipeline with a statement that was sent.
  Status note_queued(bool sent, PGresult** keep = nullptr);
  bool enter_pipeline();
  Status settle_queued(PGresult** out);
  Status take_answers(PGresult** out);
  void count_changes(const PGresult* result);

  PGresult** keep_[kQueuedMax];  // of those that are queued
  int queued_ = 0;  // statements whose answers were not taken; more than none: in a pipeline
  bool ends_later_ = false;
  std::optional<int> failed_at_;
  std::int64_t changes_ = 0;
  std::int64_t total_changes_ = 0;
  std::uint64_t trips_ = 0;
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_SERVER_LINK_HPP
