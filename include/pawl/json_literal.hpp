// PAWL_JSON_LITERAL: JSON in the source of a program, checked by the compiler.
//
// Purpose: an input, an event or a prepared answer is often written as a literal, and a comma too
// many in it is found when it is read, on a device. PAWL_JSON_LITERAL(R"({"bed": 7})") is that text
// as a std::string_view constant, and does not compile unless it is JSON; the error says what is
// wrong, and its `at` is the byte. Ownership: a literal lives as long as the program. Thread rule:
// a constant.
#ifndef PAWL_JSON_LITERAL_HPP
#define PAWL_JSON_LITERAL_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#pragma GCC visibility push(default)

namespace pawl {

// The most bytes of a PAWL_JSON_LITERAL. A compiler does only so many steps for a constant.
inline constexpr std::size_t kJsonLiteralBytesMax = 16 * 1024;

namespace internal {

// The first thing in a text that is no JSON.
enum class JsonFault : std::uint8_t {
  kNone,
  kTooLong,
  kTooDeep,
  kEndsEarly,
  kNotAllowed,
  kNumber,
  kEscape,
  kSurrogate,
  kZero,
  kControl,
  kUtf8,
};

struct JsonFound {
  JsonFault fault = JsonFault::kNone;
  std::size_t at = 0;
};

// Reads a text once, from its begin to its end; the grammar is that of RFC 8259, of which
// from_json() takes all but more than 16 levels and zero characters.
class JsonCheck {
 public:
  constexpr JsonCheck(const char* text, std::size_t size) : text_(text), size_(size) {}
  constexpr JsonFound run() {
    if (size_ > kJsonLiteralBytesMax) return {JsonFault::kTooLong, size_};
    bool is_value = true;  // a value comes next; else what stands behind one
    while (fault_ == JsonFault::kNone) {
      skip_space();
      if (is_value) {
        is_value = take_value();
      } else if (depth_ == 0) {
        if (at_ == size_) break;
        fail(JsonFault::kNotAllowed);
      } else {
        is_value = take_behind();
      }
    }
    return {fault_, at_};
  }

 private:
  static constexpr std::size_t kDepthMax = 16;

  [[nodiscard]] constexpr unsigned char byte(std::size_t at) const {
    return at < size_ ? static_cast<unsigned char>(text_[at]) : 0;
  }
  [[nodiscard]] constexpr bool is_digit() const { return byte(at_) >= '0' && byte(at_) <= '9'; }
  constexpr bool fail(JsonFault fault) {
    fault_ = at_ < size_ || fault == JsonFault::kTooDeep ? fault : JsonFault::kEndsEarly;
    return false;
  }
  constexpr bool take(char character) {
    if (at_ == size_ || text_[at_] != character) return false;
    ++at_;
    return true;
  }
  constexpr void skip_space() {
    while (at_ < size_ &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  // True: another value comes.
  constexpr bool take_value() {
    if (take('"')) return take_text();
    if (take('{')) return open(true);
    if (take('[')) return open(false);
    if (byte(at_) == 't') return take_word("true");
    if (byte(at_) == 'f') return take_word("false");
    if (byte(at_) == 'n') return take_word("null");
    return take_number();
  }
  constexpr bool open(bool is_object) {
    if (depth_ == kDepthMax) return --at_, fail(JsonFault::kTooDeep);
    is_object_[depth_++] = is_object;
    skip_space();
    if (take(is_object ? '}' : ']')) return --depth_, false;
    return !is_object || take_name();
  }
  constexpr bool take_behind() {
    const bool is_object = is_object_[depth_ - 1];
    if (take(is_object ? '}' : ']')) return --depth_, false;
    if (!take(',')) return fail(JsonFault::kNotAllowed);
    skip_space();
    return !is_object || take_name();
  }
  constexpr bool take_name() {
    if (!take('"')) return fail(JsonFault::kNotAllowed);
    take_text();
    if (fault_ != JsonFault::kNone) return false;
    skip_space();
    return take(':') || fail(JsonFault::kNotAllowed);
  }
  constexpr bool take_word(const char* word) {
    for (; *word != '\0'; ++word)
      if (!take(*word)) return fail(JsonFault::kNotAllowed);
    return false;
  }
  constexpr bool take_digits() {
    if (!is_digit()) return fail(JsonFault::kNumber);
    while (is_digit())
      ++at_;
    return true;
  }
  constexpr bool take_number() {
    if (byte(at_) != '-' && !is_digit())
      return fail(byte(at_) == 0 ? JsonFault::kZero : JsonFault::kNotAllowed);
    take('-');
    if (take('0')) {
      if (is_digit()) return fail(JsonFault::kNumber);
    } else if (!take_digits()) {
      return false;
    }
    if (take('.') && !take_digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      take_digits();
    }
    return false;
  }
  // Behind its opening quote.
  constexpr bool take_text() {
    while (fault_ == JsonFault::kNone) {
      if (take('"')) return false;
      const unsigned char next = byte(at_);
      if (next == '\\')
        take_escape();
      else if (next < 0x20)
        fail(next == 0 ? JsonFault::kZero : JsonFault::kControl);
      else if (next < 0x80)
        ++at_;
      else
        take_character(next);
    }
    return false;
  }
  constexpr void take_escape() {
    const std::size_t begin = at_++;
    const char* letters = "\"\\/bfnrt";
    while (*letters != '\0' && !take(*letters))
      ++letters;
    if (*letters != '\0') return;
    const std::uint32_t code = take_code();
    if (fault_ != JsonFault::kNone) return;
    const bool is_high = code >= 0xd800 && code < 0xdc00;
    bool is_pair = false;
    if (is_high && byte(at_) == '\\' && byte(at_ + 1) == 'u') {
      ++at_;
      const std::uint32_t low = take_code();
      if (fault_ != JsonFault::kNone) return;
      is_pair = low >= 0xdc00 && low < 0xe000;
    }
    if (code == 0 || (code >= 0xd800 && code < 0xe000 && !is_pair)) {
      at_ = begin;
      fail(code == 0 ? JsonFault::kZero : JsonFault::kSurrogate);
    }
  }
  // Takes uXXXX.
  constexpr std::uint32_t take_code() {
    std::uint32_t code = 0;
    if (!take('u')) fail(JsonFault::kEscape);
    for (int i = 0; i < 4 && fault_ == JsonFault::kNone; ++i) {
      const unsigned char digit = byte(at_);
      const unsigned char letter = digit | 0x20U;
      if (is_digit())
        code = code * 16 + (digit - static_cast<std::uint32_t>('0'));
      else if (letter >= 'a' && letter <= 'f')
        code = code * 16 + (letter - static_cast<std::uint32_t>('a')) + 10;
      else
        fail(JsonFault::kEscape);
      if (fault_ == JsonFault::kNone) ++at_;
    }
    return code;
  }
  // Takes a character of several bytes (RFC 3629).
  constexpr void take_character(unsigned char first) {
    std::size_t more = 0;
    unsigned char least = 0x80;
    unsigned char most = 0xbf;
    if (first >= 0xc2 && first <= 0xdf) more = 1;
    if (first >= 0xe0 && first <= 0xef) more = 2;
    if (first >= 0xf0 && first <= 0xf4) more = 3;
    if (first == 0xe0) least = 0xa0;
    if (first == 0xed) most = 0x9f;
    if (first == 0xf0) least = 0x90;
    if (first == 0xf4) most = 0x8f;
    if (more == 0 || byte(at_ + 1) < least || byte(at_ + 1) > most)
      return (void)fail(JsonFault::kUtf8);
    for (std::size_t i = 2; i <= more; ++i)
      if ((byte(at_ + i) & 0xc0U) != 0x80U) return (void)fail(JsonFault::kUtf8);
    at_ += 1 + more;
  }

  const char* text_;
  std::size_t size_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool is_object_[kDepthMax] = {};
  JsonFault fault_ = JsonFault::kNone;
};

template <std::size_t N>
constexpr JsonFound check_json(const char (&literal)[N]) {
  return JsonCheck(literal, N - 1).run();
}

// Says what is wrong: a compiler shows the message of the one that fails, and `at`.
template <JsonFault fault, std::size_t at>
struct JsonLiteral {
  static_assert(fault != JsonFault::kTooLong, "a JSON literal has at most 16 KiB");
  static_assert(fault != JsonFault::kTooDeep, "a JSON literal has at most 16 levels");
  static_assert(fault != JsonFault::kEndsEarly, "a JSON literal ends before its value does");
  static_assert(fault != JsonFault::kNotAllowed,
                "a JSON literal has a byte that may not stand here");
  static_assert(fault != JsonFault::kNumber,
                "a JSON literal has a number of another form than JSON's");
  static_assert(fault != JsonFault::kEscape,
                "a JSON literal has an escape that JSON does not know");
  static_assert(fault != JsonFault::kSurrogate, "a JSON literal has one half of a surrogate pair");
  static_assert(fault != JsonFault::kZero, "a JSON literal has a zero character");
  static_assert(fault != JsonFault::kControl, "a JSON literal has a control character in a text");
  static_assert(fault != JsonFault::kUtf8, "a JSON literal is no UTF-8");
  template <std::size_t N>
  static constexpr std::string_view text(const char (&literal)[N]) {
    return {literal, N - 1};
  }
};

}  // namespace internal
}  // namespace pawl

// The literal as a std::string_view. It may be a raw one, and several that stand side by side.
#define PAWL_JSON_LITERAL(...)                                                    \
  (::pawl::internal::JsonLiteral<::pawl::internal::check_json(__VA_ARGS__).fault, \
                                 ::pawl::internal::check_json(__VA_ARGS__).at>::text(__VA_ARGS__))
#pragma GCC visibility pop

#endif  // PAWL_JSON_LITERAL_HPP
