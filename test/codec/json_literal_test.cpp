// Goal: PAWL_JSON_LITERAL takes what RFC 8259 calls JSON and our reader takes, and says where
// another text is wrong. test/build/misuse.py shows that such a text does not compile.
#include "pawl/json_literal.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "pawl/json.hpp"

namespace pawl {
namespace {

using internal::JsonFault;
using std::string_literals::operator""s;

internal::JsonFound check(std::string_view text) {
  return internal::JsonCheck(text.data(), text.size()).run();
}

struct Any {
  JsonRest<kJsonLiteralBytesMax> rest;
};
PAWL_JSON(Any, rest)

// Whether from_json() takes it as a member of an object.
bool is_read(const std::string& text) {
  static Any any;
  return from_json("{\"a\":" + text + "}", &any) == Status::kOk;
}

// ---- constants ----

constexpr std::string_view kPlan = PAWL_JSON_LITERAL(R"({"bed": 7, "hours": [6, 18]})");
static_assert(kPlan.size() == 28);
static_assert(PAWL_JSON_LITERAL("\"\xc3\xa4\"").size() == 4);

TEST(JsonLiteral, IsItsText) {
  EXPECT_EQ(kPlan, "{\"bed\": 7, \"hours\": [6, 18]}");
  EXPECT_EQ(PAWL_JSON_LITERAL("[1,"
                              "2]"),
            "[1,2]");
}

// ---- the grammar ----

TEST(JsonLiteral, TakesWhatIsJson) {
  const std::string deep = std::string(15, '[') + "{}" + std::string(15, ']');
  for (const std::string& text : {"0"s,
                                  "-0"s,
                                  "7"s,
                                  "-12.50"s,
                                  "1e9"s,
                                  "1E+9"s,
                                  "0.5e-3"s,
                                  "true"s,
                                  "false"s,
                                  "null"s,
                                  "\"\""s,
                                  "{}"s,
                                  "[]"s,
                                  " [ ] "s,
                                  "\t\r\n{ \"a\" : [ 1 , { } , \"b\" ] , \"c\" : null }\n"s,
                                  deep,
                                  R"("\"\\\/\b\f\n\r\t")"s,
                                  R"("\u00e4\u00E4\uFFFF\u0001")"s,
                                  R"("\ud83d\ude00")"s,
                                  R"("\uDBFF\uDFFF")"s,
                                  "\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbf\""s,
                                  "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\x7f\""s,
                                  "{\"\":1,\"\":2}"s,
                                  "[" + std::string(9'000, ' ') + "]"}) {
    EXPECT_EQ(check(text).fault, JsonFault::kNone) << text;
    EXPECT_EQ(check(text).at, text.size()) << text;
  }
}

TEST(JsonLiteral, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text;
    JsonFault fault;
    std::size_t at;
  };
  const std::vector<Case> cases = {
      {"", JsonFault::kEndsEarly, 0},
      {"  ", JsonFault::kEndsEarly, 2},
      {"{", JsonFault::kEndsEarly, 1},
      {"[1,", JsonFault::kEndsEarly, 3},
      {"{\"a\"", JsonFault::kEndsEarly, 4},
      {"\"a", JsonFault::kEndsEarly, 2},
      {"\"a\\", JsonFault::kEndsEarly, 3},
      {"\"\\u00", JsonFault::kEndsEarly, 5},
      {"tru", JsonFault::kEndsEarly, 3},
      {"-", JsonFault::kEndsEarly, 1},
      {"1.", JsonFault::kEndsEarly, 2},
      {"1e+", JsonFault::kEndsEarly, 3},
      {"\"\xc3", JsonFault::kUtf8, 1},
      {"[1,]", JsonFault::kNotAllowed, 3},
      {"[,1]", JsonFault::kNotAllowed, 1},
      {"[1 2]", JsonFault::kNotAllowed, 3},
      {"{\"a\":1,}", JsonFault::kNotAllowed, 7},
      {"{\"a\" 1}", JsonFault::kNotAllowed, 5},
      {"{a:1}", JsonFault::kNotAllowed, 1},
      {"{1:1}", JsonFault::kNotAllowed, 1},
      {"[1}", JsonFault::kNotAllowed, 2},
      {"{\"a\":1]", JsonFault::kNotAllowed, 6},
      {"]", JsonFault::kNotAllowed, 0},
      {"7 7", JsonFault::kNotAllowed, 2},
      {"'a'", JsonFault::kNotAllowed, 0},
      {"+1", JsonFault::kNotAllowed, 0},
      {".5", JsonFault::kNotAllowed, 0},
      {"NaN", JsonFault::kNotAllowed, 0},
      {"nul1", JsonFault::kNotAllowed, 3},
      {"True", JsonFault::kNotAllowed, 0},
      {"// a\n7", JsonFault::kNotAllowed, 0},
      {"\xef\xbb\xbf{}", JsonFault::kNotAllowed, 0},
      {"\v7", JsonFault::kNotAllowed, 0},
      {"01", JsonFault::kNumber, 1},
      {"-01", JsonFault::kNumber, 2},
      {"-a", JsonFault::kNumber, 1},
      {"1.e5", JsonFault::kNumber, 2},
      {"1ex", JsonFault::kNumber, 2},
      {"0x10", JsonFault::kNotAllowed, 1},
      {"\"\\a\"", JsonFault::kEscape, 2},
      {"\"\\'\"", JsonFault::kEscape, 2},
      {"\"\\U0041\"", JsonFault::kEscape, 2},
      {"\"\\u00g0\"", JsonFault::kEscape, 5},
      {"\"\\u 041\"", JsonFault::kEscape, 3},
      {"\"\\ud83d\"", JsonFault::kSurrogate, 1},
      {"\"\\ude00\"", JsonFault::kSurrogate, 1},
      {"\"\\ud83d\\ud83d\"", JsonFault::kSurrogate, 1},
      {"\"a\\ude00\\ud83d\"", JsonFault::kSurrogate, 2},
      {"\"\\ud83d\\n\"", JsonFault::kSurrogate, 1},
      {"\"\\u0000\"", JsonFault::kZero, 1},
      {"\"a\0b\""s, JsonFault::kZero, 2},
      {"\0"s, JsonFault::kZero, 0},
      {"\"a\nb\"", JsonFault::kControl, 2},
      {"\"\x1f\"", JsonFault::kControl, 1},
      {"\"\x80\"", JsonFault::kUtf8, 1},
      {"\"\xc0\xaf\"", JsonFault::kUtf8, 1},
      {"\"\xe0\x80\x80\"", JsonFault::kUtf8, 1},
      {"\"\xed\xa0\x80\"", JsonFault::kUtf8, 1},
      {"\"\xf4\x90\x80\x80\"", JsonFault::kUtf8, 1},
      {"\"\xf5\x80\x80\x80\"", JsonFault::kUtf8, 1},
      {"\"\xe2\x82\"", JsonFault::kUtf8, 1},
      {std::string(17, '['), JsonFault::kTooDeep, 16},
      {std::string(kJsonLiteralBytesMax, ' ') + "7", JsonFault::kTooLong, kJsonLiteralBytesMax + 1},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(static_cast<int>(check(one.text).fault), static_cast<int>(one.fault)) << one.text;
    EXPECT_EQ(check(one.text).at, one.at) << one.text;
  }
}

// A literal that compiles is read; one that does not is refused by the reader, too, except for
// bytes in a text that are no characters.
TEST(JsonLiteral, TakesNoMoreThanTheReader) {
  const std::string seeds[] = {
      R"({"bed": 7, "open": true, "label": "a\u00e4\ud83d\ude00\n", "litres": [0.5, -1e-3, null]})",
      R"([[[[[[[[[[[[[["deep"]]]]]]]]]]]]]])",
      "[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\", {\"\": [{}, [], \"\", 0, -0.0E+0]}]",
  };
  const std::string parts = "{}[],:\"\\u0123dD8eE+-. \n\t\x01\x80\xc3tfn/"s + '\0';
  std::mt19937 random(7);
  int taken = 0;
  int refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string text = seeds[random() % 3];
    for (std::size_t edits = random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const char part = parts[random() % parts.size()];
      switch (random() % 3) {
        case 0: text[at] = part; break;
        case 1: text.insert(at, 1, part); break;
        default: text.erase(at, 1);
      }
    }
    const JsonFault fault = check(text).fault;
    const bool is_of_bytes = fault == JsonFault::kControl || fault == JsonFault::kUtf8;
    (fault == JsonFault::kNone ? taken : refused) += 1;
    if (is_of_bytes) continue;
    ASSERT_EQ(is_read(text), fault == JsonFault::kNone)
        << text << " fault " << static_cast<int>(fault);
  }
  EXPECT_GT(taken, 5'000);
  EXPECT_GT(refused, 5'000);
}

// ---- texts of structs ----

struct Job {
  JsonText<8> mode = "drip";
  JsonText<4> unit;
};
PAWL_JSON(Job, mode, unit)

constexpr JsonText<5> kFlood = "flood";
static_assert(kFlood.view() == "flood");

TEST(JsonLiteral, IsTheTextOfAField) {
  Job job;
  job.unit = "ml";
  char out[64];
  std::size_t size = 0;
  ASSERT_EQ(to_json(job, out, sizeof out, &size), Status::kOk);
  EXPECT_EQ(std::string_view(out, size), R"({"mode":"drip","unit":"ml"})");
  job.mode = "flood";
  EXPECT_EQ(job.mode.view(), "flood");
  job.mode = "";
  EXPECT_EQ(job.mode.view(), "");
  EXPECT_EQ((Job{"12345678", "1234"}).mode.view(), "12345678") << "as long as may be";
  EXPECT_EQ(JsonText<8>("a\0b").view(), "a");
  ASSERT_EQ(job.mode.assign("rinse"), Status::kOk);
  EXPECT_EQ(job.mode.view(), "rinse");
}

}  // namespace
}  // namespace pawl
