// Foreign text is shown completely and never takes effect on a terminal.
#include "pawl/printable.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/utf8.hpp"

namespace pawl {
namespace {

class Pieces final : public TextSink {
 public:
  explicit Pieces(std::size_t most = SIZE_MAX) : most_(most) {}
  bool write(std::string_view text) noexcept override {
    pieces.emplace_back(text);
    return pieces.size() < most_;
  }
  [[nodiscard]] std::string all() const {
    std::string out;
    for (const std::string& piece : pieces)
      out += piece;
    return out;
  }
  std::vector<std::string> pieces;

 private:
  std::size_t most_;
};

std::string printable(std::string_view text) {
  Pieces pieces;
  EXPECT_TRUE(write_printable(text, pieces));
  return pieces.all();
}

std::string utf8(std::uint32_t code) {
  const auto tail = [code](unsigned shift) {
    return static_cast<char>(0x80U | ((code >> shift) & 0x3fU));
  };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0U | code >> 6U), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xe0U | code >> 12U), tail(6), tail(0)};
  return {static_cast<char>(0xf0U | code >> 18U), tail(12), tail(6), tail(0)};
}

TEST(Printable, TextsForPeople_AreAsTheyWere) {
  for (const char* text : {"", "plain",
                           "Ventil S\xc3\xbc"
                           "d/7",
                           "\xe6\xb8\xa9\xe5\xba\xa6", "\xf0\x9f\x94\xa7",
                           "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "a\xcc\x88"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, WhatATerminalObeys_IsEscaped) {
  EXPECT_EQ(printable("a\nb\rc\td\\e"), "a\\nb\\rc\\td\\\\e");
  EXPECT_EQ(printable("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "x"),
            "\\u202ex");
  EXPECT_EQ(printable("\xe2\x80\xa8\xe2\x80\xa9"), "\\u2028\\u2029");
}

// Bytes cut off at the end, alone, overlong, a surrogate, beyond the last character.
TEST(Printable, BytesThatAreNoText_AreEscapedOneByOne) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("a\xc3"), "a\\xc3");
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");
  EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xff\xc3\xbc"), "\\xff\xc3\xbc");
}

// Tries every character: the output contains only visible ones, and reading the escapes gives the
// character back.
TEST(Printable, NoCharacterIsLeftThatIsNotShown) {
  std::size_t escaped = 0;
  for (std::uint32_t code = 0; code <= 0x10ffff; ++code) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const std::string text = utf8(code);
    const std::optional<Character> read = first_character(text);
    ASSERT_TRUE(read.has_value()) << code;
    ASSERT_EQ(read->code, code);
    ASSERT_EQ(read->bytes, text.size());
    const std::string out = printable(text);
    if (out == text) {
      ASSERT_TRUE(is_shown(code)) << code;
      continue;
    }
    ++escaped;
    ASSERT_EQ(out[0], '\\') << code;
    for (const char c : out)
      ASSERT_TRUE(c > ' ' && c < '\x7f') << code;
  }
  EXPECT_EQ(escaped,
            32U + 1 + 32 + 1 + 2 + 12);  // C0, backslash, DEL and C1, separators, bidi marks
}

TEST(Printable, AnEscapeIsOnePiece_AndASinkThatIsFullGetsNoMore) {
  Pieces all;
  EXPECT_TRUE(write_printable("ab\ncd\x1b", all));
  EXPECT_EQ(all.pieces, (std::vector<std::string>{"ab", "\\n", "cd", "\\x1b"}));
  Pieces few(2);
  EXPECT_FALSE(write_printable("ab\ncd\x1b", few));
  EXPECT_EQ(few.all(), "ab\\n");
}

}  // namespace
}  // namespace pawl
