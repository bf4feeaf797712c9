#include "store/postgres/postgres_text.hpp"

#include <algorithm>
#include <cstring>

#include "core/check.hpp"

namespace pawl::postgres {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

bool is_of_word(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         is_digit(character) || character == '_' || character == '"';
}

class Translation {
 public:
  Translation(std::string_view text, bool is_schema, char (&out)[kPostgresTextBytesMax])
      : text_(text), is_schema_(is_schema), out_(out) {}

  std::size_t run() {
    while (at_ < text_.size())
      step();
    PAWL_CHECK("postgres-1", depth_ == 0 && choices_ == 0);
    out_[size_] = '\0';
    return size_;
  }

  std::size_t run_with_page() {
    run();
    const int last = last_parameter_;
    put(" LIMIT $");
    put_number(last + 1);
    put(" OFFSET $");
    put_number(last + 2);
    out_[size_] = '\0';
    return size_;
  }

 private:
  static constexpr int kChoicesMax = 8;
  // An iif() that is open.
  struct Choice {
    int depth = 0;  // of the parentheses around its parts
    int part = 0;
  };

  void step() {
    const char next = text_[at_];
    if (next == '\'') return copy_quoted();
    if (next == '\f') return leave_out();
    if (next == '?') return number_parameter();
    if (is_of_word(next)) return copy_word();
    ++at_;
    if (next == '(') ++depth_;
    if (next == ')') --depth_;
    if (choices_ > 0 && next == ')' && depth_ == open_[choices_ - 1].depth - 1) {
      put(" END)");
      --choices_;
    } else if (choices_ > 0 && next == ',' && depth_ == open_[choices_ - 1].depth) {
      put(++open_[choices_ - 1].part == 1 ? " THEN " : " ELSE ");
    } else {
      put({&next, 1});
    }
  }

  void copy_quoted() {
    const std::size_t end = text_.find('\'', at_ + 1);
    PAWL_CHECK("postgres-2", end != std::string_view::npos);
    put(text_.substr(at_, end + 1 - at_));
    at_ = end + 1;
  }

  void leave_out() {
    constexpr std::string_view kTypeOf = "typeof(";
    constexpr std::string_view kCast = "CAST(";
    constexpr std::string_view kAsBytes = " AS BLOB)";
    const std::size_t end = text_.find('\r', at_);
    PAWL_CHECK("postgres-3", end != std::string_view::npos);
    const std::string_view part = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    if (part.substr(0, kTypeOf.size()) == kTypeOf) {
      put(part.substr(kTypeOf.size(), part.find(')') - kTypeOf.size()));
      put(" IS NOT NULL");
    } else if (part.substr(0, kCast.size()) == kCast) {
      put("convert_to(");
      put(part.substr(kCast.size(), part.size() - kCast.size() - kAsBytes.size()));
      put(",'UTF8')");
    } else {
      put(" ");
    }
  }

  void number_parameter() {
    put("$");
    const std::size_t begin = ++at_;
    int number = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
      number = number * 10 + (text_[at_] - '0');
    if (at_ == begin) number = ++parameters_;
    last_parameter_ = std::max(last_parameter_, number);
    put_number(number);
  }

  void copy_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_of_word(text_[at_]))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool is_call = at_ < text_.size() && text_[at_] == '(';
    if (word == "end") return put("\"end\"");
    if (is_schema_) return put(of_schema(word));
    if (word != "iif" || !is_call) return put(word);
    ++at_;
    PAWL_CHECK("postgres-4", choices_ < kChoicesMax);
    open_[choices_++] = {++depth_, 0};
    put("(CASE WHEN ");
    if (!is_parameter_alone()) return;
    number_parameter();
    put("<>0");
  }

  static std::string_view of_schema(std::string_view word) {
    struct Word {
      std::string_view from;
      std::string_view to;
    };
    // WITHOUT ROWID goes, too.
    constexpr Word kWords[] = {{"INTEGER", "bigint"}, {"TEXT", "text COLLATE \"C\""},
                               {"BLOB", "bytea"},     {"VIRTUAL", "STORED"},
                               {"AUTOINCREMENT", ""}, {"WITHOUT", ""},
                               {"ROWID", ""}};
    for (const Word& one : kWords)
      if (one.from == word) return one.to;
    return word;
  }

  [[nodiscard]] bool is_parameter_alone() const {
    if (at_ >= text_.size() || text_[at_] != '?') return false;
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_digit(text_[end]))
      ++end;
    return end < text_.size() && text_[end] == ',';
  }

  // The number has at most two digits.
  void put_number(int number) {
    const char digits[] = {static_cast<char>('0' + number / 10),
                           static_cast<char>('0' + number % 10)};
    put(number >= 10 ? std::string_view(digits, 2) : std::string_view(digits + 1, 1));
  }

  void put(std::string_view part) {
    PAWL_CHECK("postgres-5", part.size() < kPostgresTextBytesMax - size_);
    std::memcpy(out_ + size_, part.data(), part.size());
    size_ += part.size();
  }

  std::string_view text_;
  bool is_schema_;
  char (&out_)[kPostgresTextBytesMax];
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  int depth_ = 0;
  int parameters_ = 0;  // without a number
  int last_parameter_ = 0;
  Choice open_[kChoicesMax];
  int choices_ = 0;
};

}  // namespace

std::size_t translate(std::string_view text, char (&out)[kPostgresTextBytesMax]) {
  return Translation(text, false, out).run();
}

bool is_unlimited(std::string_view text) {
  constexpr std::string_view kLimit = " LIMIT ";
  if (text.substr(0, 7) != "SELECT ") return false;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (depth == 0 && text.substr(at, kLimit.size()) == kLimit) return false;
  }
  return true;
}

std::size_t translate_page(std::string_view text, char (&out)[kPostgresTextBytesMax]) {
  return Translation(text, false, out).run_with_page();
}

std::size_t translate_schema(std::string_view text, char (&out)[kPostgresTextBytesMax]) {
  return Translation(text, true, out).run();
}

}  // namespace pawl::postgres
