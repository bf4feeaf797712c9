// SchemaCheck: says whether the schema in the file is ours. Every row of sqlite_schema is compared
// with the text of schema.hpp, which SQLite stores word for word; therefore a copy by VACUUM or
// .dump passes too, in whatever order.
//
// A table, column default, index or check that others put there would be part of our statements,
// however the connection is protected; and every statement that names a missing index would fail by
// itself. Ownership: the connection is the file's. Thread
// rule: one thread.
#ifndef PAWL_STORE_SQLITE_SCHEMA_CHECK_HPP
#define PAWL_STORE_SQLITE_SCHEMA_CHECK_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text.hpp"
#include "store/sql/connection.hpp"
#include "store/sql/schema_texts.hpp"

namespace pawl::store {

class SchemaCheck {
 public:
  explicit SchemaCheck(sql::Connection& connection) : connection_(connection) {}

  Status check_schema(const Text& path, Diagnostic& diagnostic);
  // Called when another connection has committed. Requires: a transaction has begun, so no
  // connection changes the schema from here on.
  Status check_schema_again(const Text& path, Diagnostic& diagnostic);
  // check_schema() found the schema to be ours, at this version.
  void note_schema(std::int64_t version) {
    schema_version_ = version;
    schema_is_ours_ = true;
  }
  [[nodiscard]] bool is_ours() const { return schema_is_ours_; }

 private:
  sql::Connection& connection_;
  std::int64_t schema_version_ = 0;  // SQLite's version of the schema when it was found to be ours
  bool schema_is_ours_ = false;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SQLITE_SCHEMA_CHECK_HPP
