// StatementShape: which rows a statement reads or writes, as far as its text says it.
//
// Purpose: a batch reads ahead, before its own writes. An answer can be used later only if no write
// since then can have changed it. Whatever the text leaves open counts as a change; the answer is
// then asked for again. Ownership: plain values. Thread rule: pure functions. Errors: none.
#ifndef PAWL_STORE_POSTGRES_STATEMENT_SHAPE_HPP
#define PAWL_STORE_POSTGRES_STATEMENT_SHAPE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl::postgres {

// The columns by which rows are found one by one.
enum class KeyColumn : std::uint8_t { kNone, kId, kKey, kInstance, kSid };
inline constexpr std::size_t kKeyColumns = 5;

struct StatementShape {
  enum class Kind : std::uint8_t {
    kRead,
    kInsert,  // of one row; a key that is there already is an error
    kChange,  // of rows that a condition names: an update or a deletion
    kOther,
  };
  Kind kind = Kind::kOther;
  // The table that stands first behind FROM, INTO or UPDATE (0: unknown), and those that the text
  // names in any other place, a bit each.
  std::uint64_t table = 0;
  std::uint64_t others = 0;
  // `WHERE column=$1`, perhaps with more conditions, picks the rows of `table`.
  KeyColumn key = KeyColumn::kNone;
  bool has_conditions = false;  // beside that one
  std::uint8_t changes = 0;     // the key columns that an update writes, a bit each
  // The number of the parameter that is an inserted row's value in this column. 0: the row has none
  // there.
  static constexpr std::uint8_t kUnknown = 0xff;
  std::uint8_t given_by[kKeyColumns] = {};
};

// `text`: as the server gets it.
[[nodiscard]] StatementShape shape_of(std::string_view text);

// The answer to a read.
struct Answer {
  const StatementShape* read;
  std::string_view key;  // the bytes of its first parameter
  bool has_rows;         // true also if that is not known
};
// Whether a write with these parameters leaves the answer as it is. Null is a view without data.
[[nodiscard]] bool leaves(const StatementShape& write, const std::string_view* parameters,
                          std::size_t count, const Answer& answer);

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_STATEMENT_SHAPE_HPP
