// Connection and Statement: the only two ways this provider talks to SQLite.
//
// Purpose: prepared statements only; every result code becomes a Status in one place; no SQL is built
// from strings at run time. Ownership: a Connection owns its handle and statements. Thread rule: one
// thread.
#ifndef PAWL_PROVIDER_SQLITE_CONNECTION_HPP
#define PAWL_PROVIDER_SQLITE_CONNECTION_HPP

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "damage.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/status.hpp"
#include "sql/query.hpp"

namespace pawl::sqlite {

// What an SQLite result code (extended) means to Pawl.
[[nodiscard]] Status status_of(int result_code);

class Connection;

// One use of one prepared statement: bind, step, read; reset at the end of its life. Binding errors
// surface at the next step. Binds are by position from 1, in order of the calls.
class Statement {
 public:
  // A null statement could not be prepared; `result` says why and surfaces at the first step.
  Statement(Connection& connection, sqlite3_stmt* statement, int result = SQLITE_OK)
      : connection_(connection), statement_(statement), result_(result) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t value);
  Statement& bind_null();
  Statement& bind_text(std::string_view value);  // must live until the statement's end
  Statement& bind_blob(std::string_view value);  // likewise
  Statement& bind_optional(OptionalMs value) {
    return value.has_value() ? bind(value.value()) : bind_null();
  }
  // What has the default value is NULL in the database: 0, or an empty text.
  Statement& bind_or_null(std::int64_t value) { return value == 0 ? bind_null() : bind(value); }
  Statement& bind_text_or_null(std::string_view value) {
    return value.empty() ? bind_null() : bind_text(value);
  }
  Statement& bind_blob_or_null(std::string_view value) {
    return value.empty() ? bind_null() : bind_blob(value);
  }
  // True: a row. False: done, or an error, which status() has.
  bool row();
  // Runs to the end without rows. kOk or the error.
  Status run();
  [[nodiscard]] Status status() const { return status_; }

  // NULL is 0. Anything else than an integer is damage of the row that is suspected (Suspicion), and 0: SQLite
  // would make some number of it, which is not what the row is found by, so that a loop could meet it for ever.
  [[nodiscard]] std::int64_t integer(int column) const;
  // As integer(), for who looks at the row itself: *whole becomes false, and nothing is blamed.
  [[nodiscard]] std::int64_t integer(int column, bool* whole) const;
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] bool is_integer(int column) const;
  [[nodiscard]] OptionalMs optional_ms(int column) const {
    return is_null(column) ? OptionalMs() : OptionalMs(integer(column));
  }
  // Text or blob; lives until the next step or the end.
  [[nodiscard]] std::string_view bytes(int column) const;

 private:
  Statement& bound(int result);
  bool failed(int result);

  Connection& connection_;
  sqlite3_stmt* statement_;
  int slices_ = 0;  // of Connection::kStepsASlice that its steps have taken
  int next_bind_ = 1;
  int result_;  // the first failure of prepare, bind or step
  Status status_ = Status::kOk;
};

// What no statement of Pawl reaches by half; so what lies in the file cannot make SQLite do more.
struct Limit {
  int id;
  int value;
};
inline constexpr Limit kLimits[] = {
    {SQLITE_LIMIT_LENGTH, 2560 * 1024},  // of a row: two payloads of 1 MiB, and texts
    {SQLITE_LIMIT_SQL_LENGTH, 8 * 1024}, {SQLITE_LIMIT_COLUMN, 80},
    {SQLITE_LIMIT_EXPR_DEPTH, 64},       {SQLITE_LIMIT_COMPOUND_SELECT, 8},
    {SQLITE_LIMIT_VDBE_OP, 8 * 1024},    {SQLITE_LIMIT_FUNCTION_ARG, 10},
    {SQLITE_LIMIT_ATTACHED, 0},          {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 64},  {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

class Connection {
 public:
  // While it lives, what fails or is found damaged is blamed on this row; the innermost one counts.
  class Suspicion {
   public:
    Suspicion(Connection& connection, RowRef::Table table, std::int64_t key)
        : connection_(connection), before_(connection.suspect_), outer_(connection.named_by_) {
      connection.named_by_ = before_;
      connection.suspect_ = RowRef{table, key};
    }
    ~Suspicion() {
      connection_.suspect_ = before_;
      connection_.named_by_ = outer_;
    }
    Suspicion(const Suspicion&) = delete;
    Suspicion& operator=(const Suspicion&) = delete;

   private:
    Connection& connection_;
    std::optional<RowRef> before_;
    std::optional<RowRef> outer_;
  };
  // The first that was found since forget_damage().
  [[nodiscard]] const std::optional<Damage>& damage() const { return damage_; }
  void forget_damage() { damage_.reset(); }
  // kCorrupt and kResourceExhausted only; without a suspect nothing is noted.
  void blame(Status status, std::string_view text);

  // `steps_max`: of SQLite's machine in one use of one statement; beyond them it is stopped, with kCorrupt.
  explicit Connection(std::int64_t steps_max = kStatementStepsMax) : steps_max_(steps_max) {}
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status open(const char* path, int flags, const char* vfs, Diagnostic& diagnostic);
  void close();
  // Prepares the statement on first use and keeps it. It is not used again while a Statement of it lives: an
  // invariant. The query is a static object.
  Statement use(const sql::Query& query);
  // For schema and pragmas at open.
  Status execute(const char* sql, Diagnostic& diagnostic);
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] std::int64_t last_insert_id() const;
  [[nodiscard]] sqlite3* handle() { return handle_; }
  // Text of the last error goes here too.
  [[nodiscard]] Diagnostic& diagnostic() { return diagnostic_; }

  static constexpr int kStatementsMax = 384;
  // Prepared at a time, the least recently used leave: they fit 512 KiB of SQLite's heap.
  static constexpr int kStatementsKept = 112;
  // A few seconds. The longest of ours, which credits off time to timers, takes 55 steps a timer; to delete a
  // history of 1,000,000 events takes 19 million.
  static constexpr std::int64_t kStatementStepsMax = 250'000'000;
  static constexpr int kStepsASlice = 100'000;

 private:
  Status protect(Diagnostic& diagnostic);
  static int on_slice(void* self);
  void forget_oldest();

  friend class Statement;
  sqlite3* handle_ = nullptr;
  const std::int64_t steps_max_;
  int* slices_ = nullptr;  // of what runs
  // Found by the address of its query: the first slot from slot_of() on that has it, or nobody.
  struct Prepared {
    const sql::Query* query = nullptr;
    sqlite3_stmt* statement = nullptr;  // null: it was forgotten
    std::uint64_t used = 0;             // by uses_
  };
  Prepared& slot_of(const sql::Query& query);
  Prepared prepared_[kStatementsMax];
  std::uint64_t uses_ = 0;
  int kept_ = 0;
  Diagnostic diagnostic_;
  std::optional<RowRef> suspect_;
  std::optional<RowRef> named_by_;
  std::optional<Damage> damage_;
};

}  // namespace pawl::sqlite

#endif  // PAWL_PROVIDER_SQLITE_CONNECTION_HPP
