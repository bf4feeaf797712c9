// StatementUse: one use of a statement of Pawl on a connection to a server.
//
// Purpose: keeps what is bound, in the form that libpq takes, and the rows. A statement is prepared
// at its first use with the types that are bound: bigint, text, bytea. Ownership: plain values and
// results of libpq. Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_STATEMENT_USE_HPP
#define PAWL_STORE_POSTGRES_STATEMENT_USE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "store/postgres/server_link.hpp"
#include "store/postgres/statement_shape.hpp"
#include "store/sql/connection.hpp"
#include "store/sql/query.hpp"

namespace pawl::postgres {

// A statement that the server knows.
struct KnownStatement {
  const char* text = nullptr;  // its address names the statement
  bool is_prepared = false;
  bool has_rows = true;         // false: it only writes
  bool inserts_always = false;  // it changes a row, if it does not fail
  bool is_paged = false;        // it has two parameters more
  int number = 0;               // by which the server knows it
  int parameters = 0;
  sql::ValueType types[kParametersMax] = {};
  StatementShape shape;
};

// The name by which the server knows a statement.
struct StatementName {
  char text[16];
};
[[nodiscard]] StatementName name_of(const KnownStatement& known);

// One use of one, from its bindings to its last row.
struct StatementUse {
  KnownStatement* known = nullptr;  // null: free
  sql::QueryRef query{nullptr};
  int bound = 0;
  sql::ValueType types[kParametersMax] = {};
  const char* values[kParametersMax] = {};
  int sizes[kParametersMax] = {};
  char integers[kParametersMax][8] = {};
  PGresult* result = nullptr;
  int row = -1;
  std::int64_t rows_before = 0;  // in the pages before
  std::int64_t page_rows = 0;
  std::uint64_t writes_before = 0;

  void bind(sql::ValueType type, const char* value, std::size_t size);
  void bind_number(std::int64_t value);
  void release();
};

// All statements that this connection has met.
class KnownStatements {
 public:
  // The connection is new, and has prepared none.
  void forget_prepared();
  KnownStatement& find(const char* text);

 private:
  static constexpr std::size_t kMost = 512;  // a power of two, more than Pawl has

  KnownStatement known_[kMost];
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_STATEMENT_USE_HPP
