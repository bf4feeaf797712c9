// JSON written in pieces: separators, escapes, and what happens when a sink refuses.
#include "pawl/json_out.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace pawl {
namespace {

class Text final : public TextSink {
 public:
  explicit Text(std::size_t pieces_max = SIZE_MAX) : left_(pieces_max) {}
  bool write(std::string_view piece) noexcept override {
    if (left_ == 0) return false;
    --left_;
    text += piece;
    return true;
  }
  std::string text;

 private:
  std::size_t left_;
};

TEST(JsonOut, SeparatesMembersAndElementsOnEveryLevel) {
  Text sink;
  JsonOut out(sink);
  out.begin_object().number("a", 1).begin_list("b").number(2).begin_object().end_object();
  out.text("x").end_list().begin_object("c").flag("d", true).flag("e", false).end_object();
  out.begin_list("f").end_list().number("g", 3).end_object();
  EXPECT_EQ(sink.text, R"({"a":1,"b":[2,{},"x"],"c":{"d":true,"e":false},"f":[],"g":3})");
  EXPECT_TRUE(out.ok());
}

TEST(JsonOut, AnElementBehindAKeyIsItsValue) {
  Text sink;
  JsonOut out(sink);
  out.begin_object().key("a").begin_object().number("b", 1).end_object();
  out.key("c").text("x").key("d").begin_list().end_list().end_object();
  EXPECT_EQ(sink.text, R"({"a":{"b":1},"c":"x","d":[]})");
}

TEST(JsonOut, LinesAreTextsOfTheirOwn) {
  Text sink;
  JsonOut out(sink);
  out.begin_object().number("a", 1).end_object().end_line();
  out.begin_object().number("a", 2).end_object().end_line();
  EXPECT_EQ(sink.text, "{\"a\":1}\n{\"a\":2}\n");
}

TEST(JsonOut, NumbersInFull) {
  Text sink;
  JsonOut out(sink);
  out.begin_list().number(INT64_MIN).number(INT64_MAX).number(0).end_list();
  EXPECT_EQ(sink.text, "[-9223372036854775808,9223372036854775807,0]");
}

TEST(JsonOut, WhatATerminalObeysIsEscapedAndTheRestIsShown) {
  Text sink;
  JsonOut out(sink);
  out.text("a\"b\\c\n\x1b[2J\u009b\u202e\u2028 \u00e4\U0001f600\x7f");
  EXPECT_EQ(sink.text,
            "\"a\\u0022b\\u005cc\\u000a\\u001b[2J\\u009b\\u202e\\u2028 \u00e4\U0001f600\\u007f\"");
}

// Payloads are stored, so no byte of this may change.
TEST(JsonText, HasNoEscapesButThoseThatJsonNeeds) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(byte));
    const std::string wanted = one == "\"" || one == "\\" ? "\\" + one
                               : byte < 0x20              ? escaped
                                                          : one;
    Text sink;
    EXPECT_TRUE(write_json_text("a" + one + one + "b", sink));
    EXPECT_EQ(sink.text, "\"a" + wanted + wanted + "b\"") << byte;
  }
  Text sink;
  EXPECT_TRUE(write_json_text("", sink));
  EXPECT_EQ(sink.text, "\"\"");
}

TEST(JsonText, ASinkThatTookNoMoreGetsNoMore) {
  for (std::size_t pieces = 0; pieces < 5; ++pieces) {
    Text sink(pieces);
    EXPECT_FALSE(write_json_text("a\nb", sink)) << pieces;
    EXPECT_EQ(std::string("\"a\\u000ab\"").rfind(sink.text, 0), 0U) << sink.text;
  }
}

TEST(JsonOut, BytesThatAreNoUtf8) {
  Text sink;
  JsonOut out(sink);
  out.begin_object().text("payload", "\xff\xfe\xfd").text_unless_empty("none", "");
  out.text("empty", "").begin_list("more").text("\xff\xfe").text("\xff").end_list().end_object();
  EXPECT_EQ(sink.text,
            R"({"payload_base64":"//79","empty":"","more":[{"base64":"//4="},{"base64":"/w=="}]})");
}

TEST(JsonOut, ASinkThatTookNoMoreGetsNoMore) {
  Text sink(3);
  JsonOut out(sink);
  out.begin_object().number("a", 1).number("b", 2).end_object();
  EXPECT_FALSE(out.ok());
  EXPECT_EQ(sink.text, "{\"a");
}

}  // namespace
}  // namespace pawl
