// Goal: a struct is written as JSON text and read back, and a text that is not exactly right is
// refused with the name of the member at fault.
#include "pawl/json.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "pawl/json_out.hpp"

namespace garden {

struct Flow {
  double litres = 0;
  std::int64_t ticks = 0;
};
PAWL_JSON(Flow, litres, ticks)

struct Bed {
  bool open = false;
  std::uint8_t number = 0;
  std::uint64_t serial = 0;
  pawl::JsonText<8> label;
  Flow flow;
  std::int32_t hours[3] = {};
  Flow flows[2];
};
PAWL_JSON(Bed, open, number, serial, label, flow, hours, flows)

struct Level {
  std::int32_t x = 0;
};
PAWL_JSON(Level, x)

struct Log {
  pawl::JsonArray<std::int32_t, 16'000> hours;
  pawl::JsonText<30'000> note;
};
PAWL_JSON(Log, hours, note)

}  // namespace garden

namespace pawl {
namespace {

using garden::Bed;
using garden::Flow;

template <typename T>
std::string text_of(const T& value) {
  char out[1024];
  std::size_t size = 0;
  EXPECT_EQ(to_json(value, out, sizeof(out), &size), Status::kOk);
  return {out, size};
}

// The outcome of reading `text`: "STATUS: text of the diagnostic".
template <typename T = Bed>
std::string refusal(const std::string& text) {
  T value;
  Diagnostic why;
  const Status status = from_json(text, &value, &why);
  return std::string(status_name(status)) + ": " + std::string(why.text());
}

Bed bed() {
  Bed out;
  out.open = true;
  out.number = 255;
  out.serial = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(out.label.assign("a\"\\\n\xc3\xa4"), Status::kOk);
  out.flow = {0.1, std::numeric_limits<std::int64_t>::min()};
  out.hours[2] = -7;
  out.flows[1] = {1e300, (std::int64_t{1} << 53) + 1};
  return out;
}

const char kBed[] =
    "{\"open\":true,\"number\":255,\"serial\":\"18446744073709551615\","
    "\"label\":\"a\\\"\\\\\\u000a\xc3\xa4\","
    "\"flow\":{\"litres\":0.1,\"ticks\":\"-9223372036854775808\"},\"hours\":[0,0,-7],"
    "\"flows\":[{\"litres\":0,\"ticks\":0},{\"litres\":1e+300,\"ticks\":\"9007199254740993\"}]}";

TEST(Json, WritesEveryKindOfField) { EXPECT_EQ(text_of(bed()), kBed); }

TEST(Json, ReadsWhatItWrote) {
  Bed out;
  Diagnostic why;
  ASSERT_EQ(from_json(kBed, &out, &why), Status::kOk) << why.text();
  EXPECT_EQ(text_of(out), kBed);
  EXPECT_EQ(out.serial, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(out.flow.ticks, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(out.flow.litres, 0.1);
  EXPECT_EQ(out.label.view(), "a\"\\\n\xc3\xa4");
}

TEST(Json, PassesOverWhatTheStructLacks) {
  Flow flow;
  ASSERT_EQ(from_json(R"( {"new":[{}], "ticks": 3, "litres": 2 } )", &flow), Status::kOk);
  EXPECT_EQ(flow.ticks, 3);
  EXPECT_EQ(flow.litres, 2.0);
}

TEST(Json, NamesTheFieldThatIsWrong) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kBed;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return refusal(text.replace(at, from.size(), to));
  };
  EXPECT_EQ(with("true", "1"), "corrupt: open is neither true nor false");
  EXPECT_EQ(with("255", "256"), "corrupt: number is no whole number in its range");
  EXPECT_EQ(with("255", "-1"), "corrupt: number is no whole number in its range");
  EXPECT_EQ(with("255", "1.5"), "corrupt: number is no whole number in its range");
  EXPECT_EQ(with("18446744073709551615", "18446744073709551616"),
            "corrupt: serial is no whole number in its range");
  EXPECT_EQ(with("\"18446744073709551615\"", "18446744073709551615"),
            "corrupt: serial is no whole number in its range");
  EXPECT_EQ(with("\"open\"", "\"oben\""), "corrupt: open is missing");
  EXPECT_EQ(with("\"open\":true", "\"open\":true,\"open\":true"), "corrupt: open is there twice");
  EXPECT_EQ(with("0.1", "\"0.1\""), "corrupt: flow.litres is no finite number");
  EXPECT_EQ(with("0.1", "1e999"), "corrupt: flow.litres is no finite number");
  EXPECT_EQ(with("[0,0,-7]", "[0,0]"), "corrupt: hours has another number of elements");
  EXPECT_EQ(with("[0,0,-7]", "[0,0,null]"), "corrupt: hours[2] is no whole number in its range");
  EXPECT_EQ(with("[0,0,-7]", "7"), "corrupt: hours is no array");
  EXPECT_EQ(with("1e+300", "true"), "corrupt: flows[1].litres is no finite number");
  EXPECT_EQ(with("\"a\\\"", "7,\"other\":\"a\\\""), "corrupt: label is no text");
  EXPECT_EQ(refusal("[]"), "corrupt: the JSON text is no object");
  EXPECT_EQ(refusal(""), "corrupt: the JSON text is no JSON");
}

TEST(Json, TextsHaveBounds) {
  JsonText<3> text;
  EXPECT_EQ(text.assign("abc"), Status::kOk);
  EXPECT_EQ(text.assign("abcd"), Status::kResourceExhausted);
  EXPECT_EQ(text.assign(std::string_view("a\0b", 3)), Status::kInvalidArgument);
  EXPECT_EQ(text.view(), "abc");
  std::string longer = kBed;
  longer.insert(longer.find("\"a\\\"") + 1, "12345678");
  EXPECT_EQ(refusal(longer), "resource_exhausted: label is a longer text than its field");
}

TEST(Json, RefusesWhatNoTextMayHave) {
  EXPECT_NE(refusal<garden::Level>(std::string(100'000, '[')).find("more than 16 levels"),
            std::string::npos);
  EXPECT_NE(refusal<garden::Level>(R"({"x":1,"y":"\u0000"})").find("zero character"),
            std::string::npos);
  const char* const none[] = {"{",         "}",           "{]",          "[1}",
                              "[1,]",      "[,1]",        "[1 2]",       "{\"x\"}",
                              "{x:1}",     "{\"x\":1,}",  "{\"x\" 1}",   "{,}",
                              "tru",       "nulll",       "-",           "1.",
                              ".5",        "01",          "1e",          "+1",
                              "1 1",       "[1]]",        "\"\\x\"",     "\"\\u12g4\"",
                              "\"\\ud8\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"",
                              "{\"x\":}",  ":",           "{[1]}",       "[{1}]"};
  for (const std::string text : none) {
    EXPECT_EQ(refusal<garden::Level>(text), "corrupt: the JSON text is no JSON") << text;
    const std::string inside = R"({"x":1,"y":)" + text + "}";
    EXPECT_EQ(refusal<garden::Level>(inside).substr(0, 8), "corrupt:") << inside;
  }
}

// Every value that can be written can be read, whatever its size: a JSON tree of this one would
// take a megabyte.
TEST(Json, ReadsAsMuchAsItWrites) {
  auto large = std::make_unique<garden::Log>();
  for (int i = 0; i < 16'000; ++i)
    ASSERT_EQ(large->hours.push_back(i % 7), Status::kOk);
  ASSERT_EQ(large->note.assign(std::string(30'000, '\n')), Status::kOk);
  std::string text(300'000, '#');
  std::size_t size = 0;
  ASSERT_EQ(to_json(*large, text.data(), text.size(), &size), Status::kOk);
  text.resize(size);
  auto read = std::make_unique<garden::Log>();
  ASSERT_EQ(from_json(text, read.get()), Status::kOk);
  EXPECT_EQ(read->hours.size(), 16'000U);
  EXPECT_EQ(read->hours[15'999], 15'999 % 7);
  EXPECT_EQ(read->note.view(), std::string(30'000, '\n'));
}

TEST(Json, ReadsEveryWayToWriteAText) {
  garden::Log log;
  ASSERT_EQ(from_json("\xef\xbb\xbf {\"\\u0068ours\" :\t[ ],\r\n"
                      R"("note":"\"\\\/\b\f\n\r\t\u0041\u00e4\u20AC\ud83D\ude00é"} )",
                      &log),
            Status::kOk);
  EXPECT_EQ(log.note.view(), "\"\\/\b\f\n\r\tA\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9");
  EXPECT_TRUE(log.hours.empty());
}

TEST(Json, KeepsTheOldValueWhenItRefuses) {
  Flow flow{1.5, 7};
  EXPECT_EQ(from_json(R"({"litres":2,"ticks":"x"})", &flow), Status::kCorrupt);
  EXPECT_EQ(flow.litres, 1.5);
  EXPECT_EQ(flow.ticks, 7);
}

TEST(Json, NeverWritesBeyondItsRoom) {
  const std::string whole = text_of(bed());
  for (std::size_t room = 0; room < whole.size(); ++room) {
    std::string out(whole.size() + 1, '#');
    std::size_t size = 0;
    EXPECT_EQ(to_json(bed(), out.data(), room, &size), Status::kResourceExhausted);
    EXPECT_EQ(out.find_first_not_of('#', room), std::string::npos) << room;
  }
  char out[512];
  std::size_t size = 0;
  EXPECT_EQ(to_json(bed(), out, whole.size(), &size), Status::kOk);
}

TEST(Json, ATextReadsBackAsItWas) {
  class Sink final : public TextSink {
   public:
    bool write(std::string_view piece) noexcept override {
      text += piece;
      return text.size() < limit;
    }
    std::string text;
    std::size_t limit = SIZE_MAX;
  };
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += static_cast<char>(byte);
  Sink quoted;
  EXPECT_TRUE(write_json_text(all, quoted));
  Sink back;
  EXPECT_TRUE(read_json_text(quoted.text, back));
  EXPECT_EQ(back.text, all);
  const std::string escapes =
      R"("\"\\\/\b\f\n\r\t\u0000\u007f\u0080\u07ff\u0800\uFFFF\ud800\udc00\uDBFF\uDFFF")";
  Sink decoded;
  EXPECT_TRUE(read_json_text(escapes, decoded));
  EXPECT_EQ(decoded.text,
            std::string("\"\\/\b\f\n\r\t\0\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"
                        "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
                        28));
  Sink full;
  full.limit = 3;
  EXPECT_FALSE(read_json_text(R"("abcdef")", full));
  EXPECT_EQ(full.text, "abc");
}

TEST(Json, NoNumberIsRefusedByName) {
  Bed out = bed();
  out.flows[1].litres = std::numeric_limits<double>::infinity();
  char text[1024];
  std::size_t size = 0;
  Diagnostic why;
  EXPECT_EQ(to_json(out, text, sizeof(text), &size, &why), Status::kInvalidArgument);
  EXPECT_EQ(why.text(), "flows[1].litres is no finite number, which JSON cannot express");
}

}  // namespace
}  // namespace pawl
