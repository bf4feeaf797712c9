// ServerPipeline: statements that are sent without waiting, and whose answers are waited for
// together.
//
// Purpose: what is queued takes one trip to the server, whatever it is. The answers of a commit may
// stay under way while its caller does other things. Ownership: a result belongs to the caller
// (PQclear). Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_SERVER_PIPELINE_HPP
#define PAWL_STORE_POSTGRES_SERVER_PIPELINE_HPP

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "pawl/optional_ms.hpp"
#include "store/postgres/server_socket.hpp"

namespace pawl::postgres {

// The most that a statement has.
inline constexpr int kParametersMax = 48;

// The most that is sent before an answer is waited for.
inline constexpr int kQueuedMax = 256;

// A commit that is under way for longer is lost. It keeps nothing from going on, and a server that
// waits for its standby answers late.
inline constexpr std::int64_t kUnderWayMsMax = 10'000;

// The type of a parameter that is a number: bigint.
inline constexpr Oid kInt8 = 20;

// A number as the server takes it in binary form.
void put_number(char (&at)[8], std::int64_t value);

// Parameters that are numbers, as libpq takes them.
struct Numbers {
  Numbers(std::initializer_list<std::optional<std::int64_t>> numbers);

  static constexpr int kMax = 20;
  Oid types[kMax] = {};
  char bytes[kMax][8] = {};
  const char* values[kMax] = {};
  int sizes[kMax] = {};
  int formats[kMax] = {};
  int count = 0;
};

class ServerPipeline : public ServerSocket {
 public:
  using ServerSocket::ServerSocket;

  // ServerSocket::connect(). What was queued or under way on a lost link is forgotten.
  Status connect(std::int64_t wait_ms);
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
  // Waits for the answers of what is queued, as each call of ServerLink does before or with its
  // own. After one that failed, the server runs no other. `out`, which may be null, gets the last
  // result if all succeeded. kIo: an answer was lost, and nothing is known of what the server did;
  // or a COMMIT found that its transaction had failed.
  Status settle(PGresult** out = nullptr);
  // The number of the statement that failed last, among those that were sent without waiting.
  [[nodiscard]] std::optional<int> failed_at() const { return failed_at_; }
  // The rows that the last prepared statement changed, and all of them so far.
  [[nodiscard]] std::int64_t changes() const { return changes_; }
  [[nodiscard]] std::int64_t total_changes() const { return total_changes_; }

  // Runs a prepared statement with numbers for its parameters, and then COMMIT, which is not run if
  // one before it fails: in one trip with what is queued. After limit_commit() the rest of the
  // answers may be under way then.
  Status commit(const char* name, std::initializer_list<std::optional<std::int64_t>> numbers);
  // The next commit() waits no longer than that; none: until it is answered.
  void limit_commit(OptionalMs most_ms) { commit_most_ms_ = most_ms; }
  // Answers of a commit are under way. Another call takes them first; a commit whose answers take
  // longer than kUnderWayMsMax loses the link.
  [[nodiscard]] bool is_under_way() const { return is_under_way_ || late_.has_value(); }
  // Takes those that came. Nothing: not all did; else what became of the commit.
  // Requires: is_under_way().
  std::optional<Status> go_on();
  // The last commit was under way, and failed. Until the next one begins.
  [[nodiscard]] bool has_failed_late() const { return has_failed_late_; }

 protected:
  void count_trip() {
    failed_at_.reset();
    ++trips_;
  }

 private:
  // The answers of a pipeline, one for each statement.
  struct Answers {
    int count = 0;
    int taken = 0;
    Status status = Status::kOk;  // of the first that failed
    PGresult** last = nullptr;    // where the result of the last one goes
  };

  // Goes on with a statement that was sent.
  Status note_queued(bool sent, PGresult** keep = nullptr);
  bool enter_pipeline();
  // Has all that is queued answered; nothing is taken yet.
  bool end_pipeline(PGresult** out);
  // After `until_ms` the rest is under way; none: never.
  Status take_answers(OptionalMs until_ms);
  void take_answer(PGresult* result);
  void take_late_answers();
  void count_changes(const PGresult* result);

  PGresult** keep_[kQueuedMax];  // of those that are queued
  int queued_ = 0;  // statements whose answers were not taken; more than none: in a pipeline
  bool ends_later_ = false;
  Answers answers_;  // that are being taken
  bool is_under_way_ = false;
  std::int64_t sent_boot_ms_ = 0;  // what is under way
  std::optional<Status> late_;     // what was under way, and its answers came with another call
  bool has_failed_late_ = false;
  OptionalMs commit_most_ms_;
  std::optional<int> failed_at_;
  std::int64_t changes_ = 0;
  std::int64_t total_changes_ = 0;
  std::uint64_t trips_ = 0;
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_SERVER_PIPELINE_HPP
