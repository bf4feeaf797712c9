#include "store/sql/schema_texts.hpp"

#include <utility>

#include "store/sql/schema.hpp"

namespace pawl::store {
namespace {
namespace schema {

// Without find(): g++ with -fsanitize=undefined does not take it as a constant.
constexpr std::size_t end_of(std::size_t at) {
  while (kSchema[at] != ';')
    ++at;
  return at;
}

constexpr std::string_view statement(std::size_t index) {
  std::size_t begin = 0;
  for (; index > 0; --index)
    begin = end_of(begin) + 1;
  return {&kSchema[begin + 1], end_of(begin) - begin - 1};
}

// One statement, and a zero behind it. Compilers bound the work for one constant, so each statement
// is one.
template <std::size_t kIndex>
struct EncodedStatement {
  static_assert(statement(kIndex).size() < sql::kTextBytesMax, "a statement is shorter");
  static constexpr std::size_t kBytes = sql::encoded_bytes(statement(kIndex)) + 1;
  char bytes[kBytes] = {};

  constexpr EncodedStatement() {
    std::size_t at = 0;
    sql::encode(statement(kIndex), [&](char byte) { bytes[at++] = byte; });
  }
};
template <std::size_t kIndex>
constexpr EncodedStatement<kIndex> kEncodedStatement;

// All statements, and a zero behind the last.
template <std::size_t... kIndices>
struct EncodedSchema {
  char bytes[(EncodedStatement<kIndices>::kBytes + ... + 1)] = {};

  constexpr explicit EncodedSchema(std::index_sequence<kIndices...> /*all*/) {
    std::size_t at = 0;
    (
        [&] {
          for (const char byte : kEncodedStatement<kIndices>.bytes)
            bytes[at++] = byte;
        }(),
        ...);
  }
};
// A function makes it, since g++ puts a constant whose arguments it deduces into memory that can be
// written.
template <std::size_t... kIndices>
constexpr auto encoded(std::index_sequence<kIndices...> all) {
  return EncodedSchema<kIndices...>(all);
}
constexpr auto kEncoded = encoded(std::make_index_sequence<schema_count()>{});

}  // namespace schema

}  // namespace

SchemaTexts::SchemaTexts() : at_(schema::kEncoded.bytes) {}

bool SchemaTexts::next() {
  if (*at_ == '\0') return false;
  length_ = sql::expand(at_, text_);
  at_ += std::string_view(at_).size() + 1;
  return true;
}

}  // namespace pawl::store
