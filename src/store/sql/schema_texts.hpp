// SchemaTexts: the statements of the schema, as a program holds them.
//
// Purpose: the text of schema.hpp is stored in few bytes (words.hpp), and expanded a statement at a
// time. Ownership: a plain value. Thread rule: that of its owner.
#ifndef PAWL_STORE_SQL_SCHEMA_TEXTS_HPP
#define PAWL_STORE_SQL_SCHEMA_TEXTS_HPP

#include <cstddef>
#include <string_view>

#include "store/sql/words.hpp"

namespace pawl::store {

// The statements of the schema, one after the other, as SQLite stores them: without semicolons.
class SchemaTexts {
 public:
  SchemaTexts();
  // False: there are no more.
  [[nodiscard]] bool next();
  // Ends with a zero; valid until the next call of next().
  [[nodiscard]] std::string_view text() const { return {text_, length_}; }

 private:
  const char* at_;
  std::size_t length_ = 0;
  char text_[sql::kTextBytesMax];
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SQL_SCHEMA_TEXTS_HPP
