#include "store/sql/table_copies.hpp"

#include <utility>

#include "store/sql/schema.hpp"

namespace pawl::store {
namespace {

// ---- the schema, as the compiler reads it ----

constexpr std::string_view kCreateTable = "CREATE TABLE ";
constexpr std::string_view kPrimaryKey = "PRIMARY KEY";
constexpr std::size_t kColumnsMax = 64;
constexpr std::string_view kMeta = "meta";
constexpr std::string_view kClockRing = "clock_ring";
constexpr std::string_view kBootOfLease = "boot_seq";  // but in these two tables

constexpr std::string_view schema() { return {kSchema, sizeof(kSchema) - 1}; }

constexpr bool begins_with(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// Without find(): g++ with -fsanitize=undefined does not take it as a constant.
constexpr std::size_t find(std::string_view text, std::string_view what, std::size_t from = 0) {
  while (from + what.size() <= text.size() && text.substr(from, what.size()) != what)
    ++from;
  return from + what.size() <= text.size() ? from : std::string_view::npos;
}

constexpr std::size_t count_tables() {
  std::size_t count = 0;
  for (std::size_t at = find(schema(), kCreateTable); at != std::string_view::npos;
       at = find(schema(), kCreateTable, at + 1))
    ++count;
  return count;
}

// From the name of the table on.
constexpr std::string_view table_text(std::size_t number) {
  std::size_t at = find(schema(), kCreateTable);
  for (; number > 0; --number)
    at = find(schema(), kCreateTable, at + 1);
  const std::string_view rest = schema().substr(at + kCreateTable.size());
  return rest.substr(0, find(rest, ";"));
}

constexpr std::string_view word_at_front(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && text[size] != ' ' && text[size] != '(' && text[size] != ',' &&
         text[size] != ')')
    ++size;
  return text.substr(0, size);
}

struct Column : CopiedColumn {
  std::string_view name;
};

struct Columns {
  Column all[kColumnsMax] = {};
  std::size_t count = 0;

  constexpr void add(std::string_view definition) {
    if (begins_with(definition, kPrimaryKey)) return mark_keys(definition);
    if (begins_with(definition, "UNIQUE(") ||
        find(definition, " GENERATED ") != std::string_view::npos)
      return;
    Column& column = all[count++];
    column.name = word_at_front(definition);
    const std::string_view type = word_at_front(definition.substr(column.name.size() + 1));
    column.type = type == "TEXT"   ? sql::ValueType::kText
                  : type == "BLOB" ? sql::ValueType::kBytes
                                   : sql::ValueType::kInteger;
    column.is_key = find(definition, kPrimaryKey) != std::string_view::npos;
    column.is_boot_of_lease = column.name == kBootOfLease;
  }
  constexpr void mark_keys(std::string_view definition) {
    for (std::size_t at = kPrimaryKey.size() + 1; at < definition.size();) {
      if (definition[at] == ' ') ++at;
      const std::string_view name = word_at_front(definition.substr(at));
      for (Column& column : all)
        column.is_key = column.is_key || (!name.empty() && column.name == name);
      at += name.size() + 1;
    }
  }
};

constexpr Columns columns_of(std::string_view table) {
  Columns columns;
  int depth = 0;
  std::size_t begin = find(table, "(") + 1;
  for (std::size_t at = begin; depth >= 0; ++at) {
    depth += table[at] == '(' ? 1 : table[at] == ')' ? -1 : 0;
    if (depth > 0 || (depth == 0 && table[at] != ',')) continue;
    while (table[begin] == ' ' || table[begin] == '\n')
      ++begin;
    columns.add(table.substr(begin, at - begin));
    begin = at + 1;
  }
  return columns;
}

// ---- the statements ----

struct Table {
  std::string_view name;
  Columns columns;

  constexpr explicit Table(std::size_t number)
      : name(word_at_front(table_text(number))), columns(columns_of(table_text(number))) {}

  template <typename Put>
  constexpr void put_all(std::string_view text, Put& put) const {
    for (const char character : text)
      put(character);
  }
  // put_one(column, its number from 0, put) for each of them, with commas between.
  template <typename Put, typename PutOne>
  constexpr void put_list(bool keys_only, Put& put, PutOne put_one) const {
    int number = 0;
    for (std::size_t i = 0; i < columns.count; ++i) {
      if (keys_only && !columns.all[i].is_key) continue;
      if (number > 0) put(',');
      put_one(columns.all[i], number++);
    }
  }
  template <typename Put>
  constexpr void put_names(bool keys_only, Put& put) const {
    put_list(keys_only, put, [&](const Column& column, int) { put_all(column.name, put); });
  }

  template <typename Put>
  constexpr void read(Put put) const {
    put_all("SELECT ", put);
    put_names(false, put);
    put_all(" FROM ", put);
    put_all(name, put);
    put_all(" WHERE (", put);
    put_names(true, put);
    put_all(")>(", put);
    put_list(true, put, [&](const Column&, int number) {
      put('?');
      put(static_cast<char>('1' + number));
    });
    put_all(") ORDER BY ", put);
    put_names(true, put);
    static_assert(kCopiedRows == 256, "as in the text");
    put_all(" LIMIT 256", put);
  }
  template <typename Put>
  constexpr void write(Put put) const {
    if (name == kMeta) {
      put_all("UPDATE meta SET ", put);
      bool is_first = true;
      for (std::size_t i = 0; i < columns.count; ++i) {
        if (columns.all[i].is_key) continue;
        if (!is_first) put(',');
        is_first = false;
        put_all(columns.all[i].name, put);
        put_all("=?", put);
      }
      return put_all(" WHERE id=1", put);
    }
    put_all("INSERT INTO ", put);
    put_all(name, put);
    put('(');
    put_names(false, put);
    put_all(") VALUES(", put);
    put_list(false, put, [&](const Column&, int) { put('?'); });
    put(')');
  }
  template <typename Put>
  constexpr void clear(Put put) const {
    put_all("DELETE FROM ", put);
    put_all(name, put);
    if (name == kMeta) put_all(" WHERE id<>1", put);
  }
};

enum class Verb { kRead, kWrite, kClear };

template <std::size_t kNumber>
constexpr Table kTable{kNumber};

template <std::size_t kNumber, Verb kVerb, typename Put>
constexpr void put_text(Put put) {
  if (kVerb == Verb::kRead) kTable<kNumber>.read(put);
  if (kVerb == Verb::kWrite) kTable<kNumber>.write(put);
  if (kVerb == Verb::kClear) kTable<kNumber>.clear(put);
}

template <std::size_t kNumber, Verb kVerb>
constexpr std::size_t length() {
  std::size_t size = 0;
  put_text<kNumber, kVerb>([&](char) { ++size; });
  return size;
}

// A part of a query is an array of its length.
template <std::size_t kNumber, Verb kVerb>
struct StatementText {
  char text[length<kNumber, kVerb>() + 1] = {};

  constexpr StatementText() {
    std::size_t at = 0;
    put_text<kNumber, kVerb>([&](char character) { text[at++] = character; });
  }
};

template <std::size_t kNumber, Verb kVerb>
constexpr auto kStatement = sql::query_of([] {
  return sql::QueryText(StatementText<kNumber, kVerb>{}.text);
});

// A table as the program holds it: without texts but its name.
template <std::size_t kNumber>
struct HeldTable {
  static constexpr std::size_t kCount = kTable<kNumber>.columns.count;
  char name[kTable<kNumber>.name.size() + 1] = {};
  CopiedColumn columns[kCount] = {};

  constexpr HeldTable() {
    for (std::size_t at = 0; at < kTable<kNumber>.name.size(); ++at)
      name[at] = kTable<kNumber>.name[at];
    const bool has_leases = kTable<kNumber>.name != kMeta && kTable<kNumber>.name != kClockRing;
    for (std::size_t at = 0; at < kCount; ++at) {
      columns[at] = kTable<kNumber>.columns.all[at];
      columns[at].is_boot_of_lease = columns[at].is_boot_of_lease && has_leases;
    }
  }
};
template <std::size_t kNumber>
constexpr HeldTable<kNumber> kHeld;

template <std::size_t... kNumbers>
const TableCopy* find_copy(std::size_t number, std::index_sequence<kNumbers...> /*all*/) {
  static constexpr TableCopy kCopies[] = {
      {kHeld<kNumbers>.name, kHeld<kNumbers>.columns, kHeld<kNumbers>.kCount,
       kStatement<kNumbers, Verb::kRead>, kStatement<kNumbers, Verb::kWrite>,
       kStatement<kNumbers, Verb::kClear>, kTable<kNumbers>.name == kMeta}...};
  return number < sizeof...(kNumbers) ? &kCopies[number] : nullptr;
}

}  // namespace

const TableCopy* table_copy(std::size_t number) {
  return find_copy(number, std::make_index_sequence<count_tables()>{});
}

}  // namespace pawl::store
