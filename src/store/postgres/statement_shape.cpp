#include "store/postgres/statement_shape.hpp"

#include <utility>

#include "store/sql/schema.hpp"

namespace pawl::postgres {
namespace {

// ---- names, as numbers that the compiler makes ----

constexpr std::uint64_t number_of(std::string_view name) {
  std::uint64_t number = 0xcbf29ce484222325U;  // FNV-1a
  for (const char byte : name)
    number = (number ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return number;
}

constexpr bool is_of_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '$';
}

struct Tables {
  std::uint64_t numbers[64] = {};
  std::size_t count = 0;
};

constexpr Tables find_tables() {
  constexpr std::string_view kCreate = "CREATE TABLE ";
  constexpr std::string_view kAll(store::kSchema, sizeof store::kSchema - 1);
  Tables tables;
  for (std::size_t at = 0; at + kCreate.size() < kAll.size(); ++at) {
    if (kAll.substr(at, kCreate.size()) != kCreate) continue;
    const std::string_view name = kAll.substr(at + kCreate.size());
    std::size_t size = 0;
    while (is_of_word(name[size]))
      ++size;
    tables.numbers[tables.count++] = number_of(name.substr(0, size));
  }
  return tables;
}

constexpr Tables kTables = find_tables();

std::uint64_t table_bit(std::string_view word) {
  const std::uint64_t number = number_of(word);
  for (std::size_t at = 0; at < kTables.count; ++at)
    if (kTables.numbers[at] == number) return std::uint64_t{1} << at;
  return 0;
}

constexpr std::string_view kKeyNames[kKeyColumns] = {"", "id", "key", "instance", "sid"};

KeyColumn key_column(std::string_view word) {
  for (std::size_t at = 1; at < kKeyColumns; ++at)
    if (kKeyNames[at] == word) return static_cast<KeyColumn>(at);
  return KeyColumn::kNone;
}

// ---- a text, word by word ----

// A word, or one other character that is no space.
struct Token {
  std::string_view text;
  int depth = 0;  // of brackets, around it
};

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  // False: the text is at its end.
  bool next(Token* token) {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
    if (at_ == text_.size()) return false;
    const std::size_t from = at_++;
    if (is_of_word(text_[from]))
      while (at_ < text_.size() && is_of_word(text_[at_]))
        ++at_;
    depth_ -= text_[from] == ')' ? 1 : 0;
    *token = {text_.substr(from, at_ - from), depth_};
    depth_ += text_[from] == '(' ? 1 : 0;
    return true;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

// The tables, and the rows of which one it reads or writes.
void read_tables(std::string_view text, StatementShape* shape, std::string_view* alias) {
  Tokens tokens(text);
  Token before;
  bool names_table = false;  // the word before is `table`
  for (Token token; tokens.next(&token); before = token) {
    const std::uint64_t bit = table_bit(token.text);
    const bool is_first =
        bit != 0 && shape->table == 0 && token.depth == 0 &&
        (before.text == "FROM" || before.text == "INTO" || before.text == "UPDATE");
    if (names_table) *alias = token.text == "AS" ? std::string_view() : token.text;
    names_table = is_first || (names_table && token.text == "AS");
    if (is_first)
      shape->table = bit;
    else
      shape->others |= bit;
  }
}

// A number of a parameter, such as $12; 0: it is none.
std::uint8_t parameter_of(std::string_view word) {
  if (word.size() < 2 || word.size() > 3 || word[0] != '$') return 0;
  int number = 0;
  for (const char digit : word.substr(1))
    number = 10 * number + (digit - '0');
  return static_cast<std::uint8_t>(number);
}

// A condition that goes on behind the parameter is another one.
bool ends_condition(std::string_view word) {
  for (const std::string_view next : {"AND", "ORDER", "LIMIT", "RETURNING"})
    if (word == next) return true;
  return false;
}

void read_key(std::string_view text, std::string_view alias, StatementShape* shape) {
  constexpr std::size_t kLast = 6;
  Tokens tokens(text);
  std::string_view last[kLast];  // the newest one is the last
  bool has_from = false;
  bool joins = false;  // a name without an alias may be of any of the tables
  for (Token token; tokens.next(&token);) {
    if (token.depth != 0) continue;
    const bool is_second = token.text == "WHERE" && shape->key != KeyColumn::kNone;
    const bool goes_on = last[kLast - 1] == "$1" && !ends_condition(token.text);
    if (token.text == "AND") shape->has_conditions = true;
    for (std::size_t at = 0; at + 1 < kLast; ++at)
      last[at] = last[at + 1];
    last[kLast - 1] = token.text;
    has_from = has_from || token.text == "FROM";
    joins = joins || token.text == "JOIN" || (has_from && token.text == ",");
    if (token.text == "OR" || token.text == "UNION" || is_second || goes_on) {
      shape->key = KeyColumn::kNone;
      return;
    }
    if (token.text != "$1" || last[4] != "=") continue;
    const bool is_bare = last[2] == "WHERE" && !joins;
    const bool has_alias = last[0] == "WHERE" && last[1] == alias && last[2] == ".";
    if (is_bare || has_alias) shape->key = key_column(last[3]);
  }
}

void read_changes(std::string_view text, StatementShape* shape) {
  Tokens tokens(text);
  Token before;
  bool sets = false;
  for (Token token; tokens.next(&token); before = token) {
    if (token.depth != 0) continue;
    sets = (sets || token.text == "SET") && token.text != "WHERE";
    const KeyColumn column = key_column(before.text);
    if (sets && token.text == "=" && column != KeyColumn::kNone)
      shape->changes =
          static_cast<std::uint8_t>(shape->changes | (1U << static_cast<unsigned>(column)));
  }
}

// `INSERT INTO table(column,...) VALUES(value,...)` and nothing behind.
void read_insert(std::string_view text, StatementShape* shape) {
  Tokens tokens(text);
  std::size_t place_of[kKeyColumns] = {};  // from 1; 0: not listed
  std::size_t place = 0;
  int words = 0;  // of this value
  bool has_values = false;
  bool lists_columns = false;
  bool has_ended = false;
  Token before;
  for (Token token; tokens.next(&token); before = token) {
    if (has_ended) return;
    if (token.text == "VALUES" && token.depth == 0) {
      has_values = true;
      lists_columns = before.text == ")";
      place = 0;
    }
    const bool begins = token.text == "(" && token.depth == 0;
    const bool ends =
        (token.text == "," && token.depth == 1) || (token.text == ")" && token.depth == 0);
    if (!begins && !ends) {
      ++words;
      continue;
    }
    if (ends) ++place;
    for (std::size_t key = 1; key < kKeyColumns && ends; ++key) {
      const std::uint8_t given = words == 1 ? parameter_of(before.text) : 0;
      if (!has_values && kKeyNames[key] == before.text) place_of[key] = place;
      if (has_values && place_of[key] == place)
        shape->given_by[key] = given == 0 ? StatementShape::kUnknown : given;
    }
    words = 0;
    has_ended = has_values && token.text == ")";
  }
  if (has_ended && lists_columns) shape->kind = StatementShape::Kind::kInsert;
}

}  // namespace

StatementShape shape_of(std::string_view text) {
  using Kind = StatementShape::Kind;
  const auto begins = [text](std::string_view with) { return text.substr(0, with.size()) == with; };
  StatementShape shape;
  std::string_view alias;
  read_tables(text, &shape, &alias);
  if (begins("SELECT ")) shape.kind = Kind::kRead;
  if (begins("UPDATE ") || begins("DELETE ")) shape.kind = Kind::kChange;
  if (begins("WITH ")) shape.others |= std::exchange(shape.table, 0);
  if (shape.kind != Kind::kOther) read_key(text, alias, &shape);
  if (shape.kind == Kind::kChange) read_changes(text, &shape);
  if (begins("INSERT INTO ")) read_insert(text, &shape);
  return shape;
}

bool leaves(const StatementShape& write, const std::string_view* parameters, std::size_t count,
            const Answer& answer) {
  using Kind = StatementShape::Kind;
  const StatementShape& read = *answer.read;
  // It may read other tables, and changes its own alone.
  const std::uint64_t written = write.table != 0 ? write.table : write.others;
  if (write.kind == Kind::kRead || ((read.table | read.others) & written) == 0) return true;
  if (read.key == KeyColumn::kNone || read.table != written || (read.others & written) != 0)
    return false;
  const auto key = static_cast<std::size_t>(read.key);
  if (write.kind == Kind::kInsert) {
    const std::uint8_t given = write.given_by[key];
    return given == 0 || (given <= count && parameters[given - 1] != answer.key);
  }
  if (write.kind == Kind::kOther || (write.changes >> key & 1U) != 0) return false;
  if (!answer.has_rows && !read.has_conditions) return true;
  return write.key == read.key && count > 0 && parameters[0] != answer.key;
}

}  // namespace pawl::postgres
