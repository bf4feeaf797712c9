// Query: one statement of the store, as a static object.
//
// Purpose: the object alone identifies a statement: it is prepared at first use and found again by
// the object's address, so no two can be mixed up and none needs a number. Rejected: an enum of ids
// for each file, whose ranges must not overlap. Numbers of states appear in a statement by name:
// join() builds one text of literals and numbers at compile time.
//
// A statement has one text for all engines. Parts that only some engines have stand between a form
// feed and a carriage return, both of which SQLite takes as white space: "FROM sessions\fINDEXED BY
// s_owner\rWHERE". Another engine replaces such a part with a space when it prepares the statement:
// "INDEXED BY" and "CROSS" (of a join: the left table is the outer loop) say how to find the rows
// and not which. "typeof(x)='integer'" finds damage that an engine with typed columns cannot have,
// and is "x IS NOT NULL" there. A statement about something that only SQLite has, such as a pragma,
// has the mark kEnginesOwn: another engine has its own text for it, by the address of the query.
//
// Every engine has the rest: ON CONFLICT, RETURNING, partial indices, comparisons of rows,
// parameters ? and ?1, truth values as 0 and 1, iif(), and max() and min() of two values.
//
// Ownership: constants. Thread rule: any.
#ifndef PAWL_STORE_SQL_QUERY_HPP
#define PAWL_STORE_SQL_QUERY_HPP

#include <cstddef>
#include <cstdint>

namespace pawl::sql {

// A mark of a query, see above.
inline constexpr unsigned kEnginesOwn = 1U << 31U;

// One part of a text: a constant as a decimal number, as in join("... state=",
// number<State::kOpen>).
template <auto kValue>
struct Number {};
template <auto kValue>
inline constexpr Number<kValue> number;

// The length of one part of a text.
template <typename Part>
inline constexpr std::size_t kLength = 0;
template <std::size_t kBytes>
inline constexpr std::size_t kLength<char[kBytes]> = kBytes - 1;
template <auto kValue>
inline constexpr std::size_t kLength<Number<kValue>> =
    static_cast<std::uint64_t>(kValue) < 10
        ? 1
        : 1 + kLength<Number<static_cast<std::uint64_t>(kValue) / 10>>;

// A text that the compiler joined from its parts.
template <std::size_t kBytes>
class Joined {
 public:
  template <typename... Part>
  constexpr explicit Joined(const Part&... parts) {
    std::size_t at = 0;
    ((at = put(parts, at)), ...);
  }
  [[nodiscard]] constexpr const char* text() const { return text_; }

 private:
  template <std::size_t kPartBytes>
  constexpr std::size_t put(const char (&part)[kPartBytes], std::size_t at) {
    for (std::size_t i = 0; i + 1 < kPartBytes; ++i)
      text_[at + i] = part[i];
    return at + kPartBytes - 1;
  }
  template <auto kValue>
  constexpr std::size_t put(Number<kValue> part, std::size_t at) {
    const std::size_t end = at + kLength<decltype(part)>;
    std::uint64_t rest = static_cast<std::uint64_t>(kValue);
    for (std::size_t i = end; i > at; --i, rest /= 10)
      text_[i - 1] = static_cast<char>('0' + rest % 10);
    return end;
  }

  char text_[kBytes] = {};
};
template <typename... Part>
[[nodiscard]] constexpr auto join(const Part&... parts) {
  return Joined<(kLength<Part> + ... + 1)>(parts...);
}

class Query {
 public:
  // `text`: a literal. `marks`: what Connection::take_marks() reports after a use of the query.
  constexpr explicit Query(const char* text, unsigned marks = 0) : text_(text), marks_(marks) {}
  // `joined`: a separate constant. A text stored in the Query itself, with a pointer to itself,
  // would have to be written at program start and take memory of each process.
  template <std::size_t kBytes>
  constexpr explicit Query(const Joined<kBytes>& joined, unsigned marks = 0)
      : Query(joined.text(), marks) {}
  template <std::size_t kBytes>
  explicit Query(Joined<kBytes>&& joined, unsigned marks = 0) = delete;
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  [[nodiscard]] constexpr const char* text() const { return text_; }
  [[nodiscard]] constexpr unsigned marks() const { return marks_; }

 private:
  const char* text_;
  unsigned marks_;
};

}  // namespace pawl::sql

#endif  // PAWL_STORE_SQL_QUERY_HPP
