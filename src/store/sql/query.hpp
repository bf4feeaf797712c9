// Query: one statement of the store, as a static object.
//
// Purpose: the address of its text identifies a statement: it is prepared at first use and found
// again by that address, so no two can be mixed up and none needs a number. Rejected: an enum of
// ids for each file, whose ranges must not overlap. Numbers of states appear in a statement by
// name: the parts of a query, literals and numbers, become one text at compile time. A query holds
// its own text and no address, so all of it is read-only and shared by processes. Rejected: a query
// with a pointer to its text, which would be written at program start and take memory of each
// process, and needs a second constant for a text of several parts. A query is written as
// constexpr auto kName = PAWL_QUERY(...), since GCC puts a constexpr sql::Query kName{...}, whose
// length it has to find first, into memory that can be written. The text is stored in few bytes
// (words.hpp).
//
// A column of a row is read by its name: PAWL_COLUMN(kQuery, s.epoch) is the number that the column
// has in the text of the query, found at compile time. So the columns are written once, where they
// are selected. Rejected: an enum of the columns beside each query, which repeats the list and
// needs a test that compares the two. Test build.sql_columns refuses to read wide rows by number.
//
// A statement has one text for all engines. Parts that only some engines have stand between a form
// feed and a carriage return, both of which SQLite takes as white space: "FROM sessions\fINDEXED BY
// s_owner\rWHERE". Another engine replaces such a part with a space when it prepares the statement:
// "INDEXED BY" and "CROSS" (of a join: the left table is the outer loop) say how to find the rows
// and not which. "typeof(x)='integer'" finds damage that an engine with typed columns cannot have,
// and is "x IS NOT NULL" there. "CAST(x AS BLOB)" is the text x as bytes, and there may be more
// than characters. A statement about something that only SQLite has, such as a pragma, has the mark
// kEnginesOwn: another engine has its own text for it, which it finds by this one.
//
// Every engine has the rest: ON CONFLICT, RETURNING, partial indices, comparisons of rows,
// parameters ? and ?1, truth values as 0 and 1, iif(), and max() and min() of two values.
//
// Ownership: constants. Thread rule: any.
#ifndef PAWL_STORE_SQL_QUERY_HPP
#define PAWL_STORE_SQL_QUERY_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "store/sql/words.hpp"

namespace pawl::sql {

// Marks of a query. kEnginesOwn: see above.
inline constexpr unsigned kEnginesOwn = 1U << 15U;
// Set by QueryText on each statement that writes a row of an instance or of its messages, without
// kOfTurn. Connection::instance_changes() counts their uses.
inline constexpr unsigned kOfInstances = 1U << 14U;
// For a statement that writes what a turn changes of its own instance, and of no other. A use of
// one that others run, too, may have the mark (Connection::use()).
inline constexpr unsigned kOfTurn = 1U << 13U;

// One part of a text: constants as decimal numbers, with commas between them. As in
// {"... state IN (", number<State::kOpen, State::kStopping>, ")"}.
template <auto... kValues>
struct Number {};
template <auto... kValues>
inline constexpr Number<kValues...> number;

[[nodiscard]] constexpr std::size_t digits_of(std::uint64_t number) {
  return number < 10 ? 1 : 1 + digits_of(number / 10);
}

// The marks are the first bytes of a query.
inline constexpr std::size_t kMarkBytes = 2;
void mark_has_no_place();  // is not constexpr, so a query with such a mark does not compile

// Whether the statement may change a row of an instance or of its messages.
[[nodiscard]] constexpr bool writes_instances(std::string_view text) {
  for (const std::string_view table : {"instances", "orchestrator_queue"}) {
    for (std::size_t at = text.find(table); at != std::string_view::npos;
         at = text.find(table, at + 1)) {
      const std::string_view before = text.substr(0, at);
      for (const std::string_view verb : {"UPDATE ", "DELETE FROM ", " INTO "})
        if (before.size() >= verb.size() && before.substr(before.size() - verb.size()) == verb)
          return true;
    }
  }
  return false;
}

// The length of one part of a text.
template <typename Part>
inline constexpr std::size_t kLength = 0;
template <std::size_t kBytes>
inline constexpr std::size_t kLength<char[kBytes]> = kBytes - 1;
template <auto... kValues>
inline constexpr std::size_t kLength<Number<kValues...>> =
    (digits_of(static_cast<std::uint64_t>(kValues)) + ... + (sizeof...(kValues) - 1));

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
  [[nodiscard]] constexpr std::string_view view() const { return {text_, kBytes - 1}; }

 private:
  template <std::size_t kPartBytes>
  constexpr std::size_t put(const char (&part)[kPartBytes], std::size_t at) {
    for (std::size_t i = 0; i + 1 < kPartBytes; ++i)
      text_[at + i] = part[i];
    return at + kPartBytes - 1;
  }
  template <auto... kValues>
  constexpr std::size_t put(Number<kValues...> /*part*/, std::size_t at) {
    bool is_first = true;
    ((at = put_number(static_cast<std::uint64_t>(kValues), at, is_first), is_first = false), ...);
    return at;
  }
  constexpr std::size_t put_number(std::uint64_t number, std::size_t at, bool is_first) {
    if (!is_first) text_[at++] = ',';
    const std::size_t end = at + digits_of(number);
    for (std::size_t i = end; i > at; --i, number /= 10)
      text_[i - 1] = static_cast<char>('0' + number % 10);
    return end;
  }
  constexpr std::size_t put(unsigned /*marks*/, std::size_t at) { return at; }

  char text_[kBytes] = {};
};

// A list of columns that several queries have, for a function that reads a row of any of them.
template <std::size_t kBytes>
class Columns : public Joined<kBytes> {
 public:
  using Joined<kBytes>::Joined;
};
template <typename... Part>
explicit Columns(const Part&...) -> Columns<(kLength<Part> + ... + 1)>;

// The text of a statement from its list of columns on: behind SELECT, or RETURNING of a statement
// that writes.
[[nodiscard]] constexpr std::string_view columns_of(std::string_view text) {
  constexpr std::string_view kSelect = "SELECT ";
  constexpr std::string_view kReturning = " RETURNING ";
  const bool reads = text.front() == 'S' || text.front() == 'W';  // SELECT or WITH
  const std::string_view before = reads ? kSelect : kReturning;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (depth == 0 && text.substr(at, before.size()) == before)
      return text.substr(at + before.size());
  }
  return {};
}

// A query while it is compiled. `parts`: literals, numbers, and the marks that
// Connection::take_marks() reports after a use.
template <std::size_t kBytes>
class QueryText {
 public:
  template <typename... Part>
  constexpr explicit QueryText(const Part&... parts)
      : joined_(parts...), marks_((marks_of(parts) | ... | 0U)) {
    if (marks_ >> (8 * kMarkBytes) != 0) mark_has_no_place();
    if ((marks_ & kOfTurn) == 0 && writes_instances(text())) marks_ |= kOfInstances;
  }
  [[nodiscard]] constexpr unsigned marks() const { return marks_; }
  [[nodiscard]] constexpr std::string_view text() const { return joined_.view(); }

 private:
  static constexpr unsigned marks_of(unsigned marks) { return marks; }
  template <typename Part>
  static constexpr unsigned marks_of(const Part& /*part*/) {
    return 0;
  }

  static_assert(kBytes <= kTextBytesMax, "a statement is shorter");
  Joined<kBytes> joined_;
  unsigned marks_;
};
template <typename... Part>
explicit QueryText(const Part&...) -> QueryText<(kLength<Part> + ... + 1)>;

// Its marks and its encoded text, in an array that has room for the plain one.
template <std::size_t kBytes>
struct EncodedQuery {
  char bytes[kMarkBytes + kBytes] = {};
  std::size_t length = kMarkBytes;

  constexpr explicit EncodedQuery(const QueryText<kBytes>& from) {
    for (std::size_t at = 0; at < kMarkBytes; ++at)
      bytes[at] = static_cast<char>(from.marks() >> (8 * at) & 0xffU);
    encode(from.text(), [&](char byte) { bytes[length++] = byte; });
  }
};

// A query as it is stored. The encoded text stands behind the marks, so that one address gives
// both.
template <std::size_t kBytes>
class Query {
 public:
  constexpr explicit Query(const char* marks_and_text) {
    for (std::size_t at = 0; at + 1 < kBytes; ++at)
      bytes_[at] = marks_and_text[at];
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  [[nodiscard]] constexpr const char* marks_and_text() const { return bytes_; }

 private:
  char bytes_[kBytes] = {};
};

template <typename Make>
[[nodiscard]] constexpr auto query_of(Make make) {
  constexpr EncodedQuery encoded(make());
  return Query<encoded.length + 1>(encoded.bytes);
}
#define PAWL_QUERY(...) (::pawl::sql::query_of([] { return ::pawl::sql::QueryText(__VA_ARGS__); }))

// A query of whatever length, as a Connection takes it.
class QueryRef {
 public:
  template <std::size_t kBytes>
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr QueryRef(const Query<kBytes>& query) : marks_and_text_(query.marks_and_text()) {}
  template <std::size_t kBytes>
  QueryRef(Query<kBytes>&& query) = delete;
  constexpr explicit QueryRef(const char* marks_and_text) : marks_and_text_(marks_and_text) {}
  // It identifies the query.
  [[nodiscard]] constexpr const char* encoded() const { return marks_and_text_ + kMarkBytes; }
  [[nodiscard]] constexpr unsigned marks() const {
    unsigned marks = 0;
    for (std::size_t i = 0; i < kMarkBytes; ++i)
      marks |= unsigned{static_cast<unsigned char>(marks_and_text_[i])} << (8 * i);
    return marks;
  }

 private:
  const char* marks_and_text_;
};

// ---- columns by their names ----

inline constexpr int kNoColumn = -1;

// The columns of a query or of Columns, for the compiler alone: found once, and not again for each
// of its columns, which took most of the time of a source that reads rows.
inline constexpr std::size_t kColumnsMax = 64;
struct ColumnList {
  char text[kTextBytesMax] = {};
  std::size_t begin[kColumnsMax] = {};
  std::size_t end[kColumnsMax] = {};
  std::size_t count = 0;

  template <std::size_t kBytes>
  constexpr explicit ColumnList(const Query<kBytes>& query) {
    const std::size_t length = expand(query.marks_and_text() + kMarkBytes, text);
    split(columns_of({text, length}));
  }
  template <std::size_t kBytes>
  constexpr explicit ColumnList(const Columns<kBytes>& list) {
    for (std::size_t at = 0; at < kBytes; ++at)
      text[at] = list.text()[at];
    split({text, kBytes - 1});
  }
  [[nodiscard]] constexpr std::string_view column(std::size_t number) const {
    return {text + begin[number], end[number] - begin[number]};
  }

 private:
  constexpr void split(std::string_view list) {
    if (list.empty()) return;  // a statement without columns
    begin[0] = static_cast<std::size_t>(list.data() - text);
    int depth = 0;
    for (std::size_t at = 0;; ++at) {
      const bool is_end = at == list.size() || (depth == 0 && list[at] == ' ' &&
                                                list.substr(at, 6) == std::string_view(" FROM "));
      if (is_end || (depth == 0 && list[at] == ',')) {
        const auto here = static_cast<std::size_t>(list.data() - text) + at;
        end[count++] = here;
        if (is_end) return;
        begin[count] = here + 1;
      }
      depth += list[at] == '(' ? 1 : list[at] == ')' ? -1 : 0;
    }
  }
};
template <const auto& kOf>
inline constexpr ColumnList kColumnsOf{kOf};

// The number of the column that has this alias, or that has none and is this text.
[[nodiscard]] constexpr int find_column(const ColumnList& list, std::string_view name) {
  constexpr std::string_view kAs = " AS ";
  for (std::size_t number = 0; number < list.count; ++number) {
    const std::string_view text = list.column(number);
    if (text == name) return static_cast<int>(number);
    const std::size_t both = kAs.size() + name.size();
    if (text.size() > both && text.substr(text.size() - both, kAs.size()) == kAs &&
        text.substr(text.size() - name.size()) == name)
      return static_cast<int>(number);
  }
  return kNoColumn;
}

template <int kFound>
struct FoundColumn {
  static_assert(kFound != kNoColumn, "the query has no such column");
  static constexpr int kNumber = kFound;
};

// The number of a column of a Query, or of Columns: PAWL_COLUMN(kQuery, s.epoch).
#define PAWL_COLUMN(of, name) \
  (::pawl::sql::FoundColumn<::pawl::sql::find_column(::pawl::sql::kColumnsOf<of>, #name)>::kNumber)

}  // namespace pawl::sql

#endif  // PAWL_STORE_SQL_QUERY_HPP
