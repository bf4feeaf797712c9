// Connection: implements sql::Connection with SQLite.
//
// Purpose: every result code becomes a Status in one place. Ownership: a Connection owns its handle
// and statements. Thread rule: one thread.
#ifndef PAWL_STORE_SQLITE_SQLITE_CONNECTION_HPP
#define PAWL_STORE_SQLITE_SQLITE_CONNECTION_HPP

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/status.hpp"
#include "store/sql/connection.hpp"
#include "store/sqlite/kept_statements.hpp"

namespace pawl::sqlite {

// Translates an (extended) result code of SQLite.
[[nodiscard]] Status status_of(int result_code);

// No statement of Pawl reaches half of a limit; so the contents of the file cannot make SQLite do
// more.
struct Limit {
  int id;
  int value;
};
inline constexpr Limit kLimits[] = {
    {SQLITE_LIMIT_LENGTH, 2560 * 1024},  // one row: two payloads of 1 MiB, and texts
    {SQLITE_LIMIT_SQL_LENGTH, 8 * 1024}, {SQLITE_LIMIT_COLUMN, 80},
    {SQLITE_LIMIT_EXPR_DEPTH, 64},       {SQLITE_LIMIT_COMPOUND_SELECT, 8},
    {SQLITE_LIMIT_VDBE_OP, 8 * 1024},    {SQLITE_LIMIT_FUNCTION_ARG, 10},
    {SQLITE_LIMIT_ATTACHED, 0},          {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 64},  {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

class Connection : public sql::Connection {
 public:
  // `steps_max`: the most steps of SQLite's machine in one use of one statement; then the statement
  // is stopped, with kCorrupt.
  explicit Connection(std::int64_t steps_max = kStatementStepsMax) : steps_max_(steps_max) {}
  ~Connection() override { close(); }

  Status open(const char* path, int flags, const char* vfs, Diagnostic& diagnostic);
  void close();
  // For schema and pragmas at open.
  Status execute(const char* sql, Diagnostic& diagnostic);
  [[nodiscard]] std::int64_t changes() const;  // of the last statement
  [[nodiscard]] std::int64_t total_changes() override;
  [[nodiscard]] bool makes_ids() const override { return true; }
  [[nodiscard]] std::int64_t last_insert_id() const override;
  [[nodiscard]] bool in_transaction() const override;
  [[nodiscard]] std::uint32_t version() const override;
  [[nodiscard]] sqlite3* handle() { return handle_; }

  // Limits the bytes of SQLite's heap for statements that stay prepared, from the next open() on;
  // beyond it the least recently used are dropped. A single statement may take more.
  void set_statement_bytes_max(std::size_t bytes) { statement_bytes_max_ = bytes; }
  // The prepared statements are a cache. Drops all that are not in use, to free heap for a more
  // urgent need; false: there were none.
  bool forget_statements() { return kept_.forget_all(); }

  // No statement of Pawl takes more (the largest: 21 KB on 64-bit machines).
  static constexpr std::size_t kStatementBytesLarge = sizeof(void*) == 8 ? 24 * 1024 : 16 * 1024;
  // A few seconds. Pawl's longest statement, which credits off time to timers, takes 55 steps a
  // timer; deleting a history of 1,000,000 events takes 19 million.
  static constexpr std::int64_t kStatementStepsMax = 250'000'000;
  static constexpr int kStepsASlice = 100'000;

 protected:
  void* prepare(sql::QueryRef query, int* failure) override;
  void release(void* prepared) override;
  int bind_integer(void* prepared, int at, std::int64_t value) override;
  int bind_nothing(void* prepared, int at, sql::ValueType type) override;
  int bind_characters(void* prepared, int at, std::string_view value) override;
  int bind_bytes(void* prepared, int at, std::string_view value) override;
  Step step(void* prepared, int* slices, int* failure) override;
  int count_changes(std::int64_t* out) override;
  Status explain(void* prepared, int failure) override;
  bool read_integer(void* prepared, int column, std::int64_t* out) override;
  bool is_nothing(void* prepared, int column) override;
  bool is_integer(void* prepared, int column) override;
  std::string_view read_bytes(void* prepared, int column) override;
  const char* column_name(void* prepared, int column) override;
  // Null for a statement that could not be prepared.
  [[nodiscard]] static sqlite3_stmt* statement_of(void* prepared);

 private:
  using Prepared = KeptStatements::Kept;
  Status protect(Diagnostic& diagnostic);
  static int on_slice(void* self);
  int prepare_new(const char* encoded, sqlite3_stmt** statement);

  sqlite3* handle_ = nullptr;
  const std::int64_t steps_max_;
  int* slices_ = nullptr;  // the count of the statement that is running
  KeptStatements kept_;
  std::size_t statement_bytes_max_ = SIZE_MAX;
  bool is_short_ = false;  // a statement found no room since the last one was prepared
};

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_SQLITE_CONNECTION_HPP
