// Connection: implements sql::Connection with PostgreSQL.
//
// Purpose: each use of a statement is one trip to the server. A statement is prepared at its first
// use with the types that are bound: bigint, text, bytea. All rows of an answer are held until the
// use ends, in memory of libpq.
//
// Ownership: a Connection owns its link and its statements. Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_POSTGRES_CONNECTION_HPP
#define PAWL_STORE_POSTGRES_POSTGRES_CONNECTION_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/status.hpp"
#include "store/postgres/server_link.hpp"
#include "store/postgres/store_transaction.hpp"
#include "store/sql/connection.hpp"

namespace pawl::postgres {

// A statement that the server knows.
struct KnownStatement {
  const char* text = nullptr;  // its address names the statement
  bool is_prepared = false;
  int parameters = 0;
  Oid types[kParametersMax] = {};
};

// One use of one, from its bindings to its last row.
struct StatementUse {
  KnownStatement* known = nullptr;  // null: free
  sql::QueryRef query{nullptr};
  int bound = 0;
  Oid types[kParametersMax] = {};
  const char* values[kParametersMax] = {};
  int sizes[kParametersMax] = {};
  char integers[kParametersMax][8] = {};
  PGresult* result = nullptr;
  int row = -1;
};

class Connection : public sql::Connection {
 public:
  Connection() = default;
  ~Connection() override { close(); }

  [[nodiscard]] ServerLink& link() { return link_; }
  // Connects, or goes on with that (ServerLink::connect()). The text of a failure is in
  // diagnostic(). Requires: no statement is in use.
  Status connect(std::int64_t wait_ms);
  void close();
  // For statements without parameters, separated by semicolons; their rows are thrown away.
  Status execute(const char* sql) { return link_.ask(sql, nullptr); }

  [[nodiscard]] StoreTransaction& transaction() { return transaction_; }

  [[nodiscard]] std::int64_t changes() const override { return changes_; }
  [[nodiscard]] std::int64_t total_changes() const override { return total_changes_; }
  [[nodiscard]] bool makes_ids() const override { return false; }
  [[nodiscard]] std::int64_t last_insert_id() const override { return 0; }
  [[nodiscard]] bool in_transaction() const override { return link_.in_transaction(); }
  [[nodiscard]] std::uint32_t version() const override { return transaction_.version(); }

 protected:
  void* prepare(sql::QueryRef query, int* failure) override;
  void release(void* of) override;
  int bind_integer(void* of, int at, std::int64_t value) override;
  int bind_nothing(void* of, int at, sql::ValueType type) override;
  int bind_characters(void* of, int at, std::string_view value) override;
  int bind_bytes(void* of, int at, std::string_view value) override;
  Step step(void* of, int* slices, int* failure) override;
  Status explain(void* of, int failure) override;
  bool read_integer(void* of, int column, std::int64_t* out) override;
  bool is_nothing(void* of, int column) override;
  bool is_integer(void* of, int column) override;
  std::string_view read_bytes(void* of, int column) override;
  const char* column_name(void* of, int column) override;

 private:
  static constexpr int kUsesMax = 16;         // at the same time
  static constexpr int kStatementsMax = 512;  // a power of two, more than Pawl has

  static StatementUse& use_of(void* of) { return *static_cast<StatementUse*>(of); }
  KnownStatement& known_of(const char* text);
  static int bind(StatementUse& use, int at, Oid type, const char* value, std::size_t size);
  Status run(StatementUse& use);
  Status run_own(StatementUse& use, std::string_view text);
  Status run_prepared(StatementUse& use);

  ServerLink link_{diagnostic_};
  StoreTransaction transaction_{link_, diagnostic_};
  std::int64_t changes_ = 0;
  std::int64_t total_changes_ = 0;
  std::int64_t changes_at_begin_ = 0;
  Status failed_ = Status::kOk;  // the last failure of a statement
  KnownStatement known_[kStatementsMax];
  StatementUse uses_[kUsesMax];
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_POSTGRES_CONNECTION_HPP
