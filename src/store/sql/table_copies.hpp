// table_copies: the statements that carry all rows of our tables from one database to another.
//
// Purpose: the compiler makes them of the text of the schema, so a table or a column that is added
// there is copied, too. Rows come in the order of their keys, a page at a time, each page from
// behind the last key of the one before. Ownership: constants. Thread rule: any.
#ifndef PAWL_STORE_SQL_TABLE_COPIES_HPP
#define PAWL_STORE_SQL_TABLE_COPIES_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "store/sql/connection.hpp"
#include "store/sql/query.hpp"

namespace pawl::store {

// The rows of a page.
inline constexpr std::int64_t kCopiedRows = 256;

struct CopiedColumn {
  sql::ValueType type = sql::ValueType::kInteger;
  bool is_key = false;
  bool is_boot_of_lease = false;  // the boot of a machine that held the row
};

struct TableCopy {
  const char* name;
  const CopiedColumn* columns;  // that are stored, and not computed from others
  std::size_t columns_count;
  // The keys of the last row are its parameters.
  sql::QueryRef read;
  // All columns are its parameters. The one row of meta is there already: it is changed, and has no
  // parameter for its key.
  sql::QueryRef write;
  sql::QueryRef clear;
  bool is_meta;
};

// All tables, in the order of the schema; null: there is none of this number.
[[nodiscard]] const TableCopy* table_copy(std::size_t number);

}  // namespace pawl::store

#endif  // PAWL_STORE_SQL_TABLE_COPIES_HPP
