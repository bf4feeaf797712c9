// Goal: a struct may change, and older text is read as the author of the struct says.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "pawl/json.hpp"

namespace garden {

enum class Mode : std::uint8_t { kOff, kDrip, kFlood };
PAWL_JSON_ENUM(Mode, kOff, kDrip, kFlood)
enum class Level : std::int16_t { kLow = -1, kHigh = 1 };

// The struct as the first release had it.
struct OldPlan {
  std::int32_t beds = 0;
  pawl::JsonText<16> crop;
};
PAWL_JSON(OldPlan, beds, crop)

struct Window {
  std::int32_t from = 0;
  std::int32_t to = 24;
};
PAWL_JSON(Window, from, to)
PAWL_JSON_DEFAULTS(Window, to)

struct Plan {
  std::int32_t beds = 0;
  pawl::JsonText<16> crop;
  float litres = 1.5F;
  Mode mode = Mode::kDrip;
  Level level = Level::kHigh;
  std::optional<std::int64_t> until_ms;
  pawl::JsonArray<Window, 3> windows;
  std::array<bool, 2> valves = {true, true};
};
PAWL_JSON(Plan, beds, crop, litres, mode, level, until_ms, windows, valves)
PAWL_JSON_DEFAULTS(Plan, litres, mode, level, windows, valves)

// A struct that keeps the members it does not know, and writes them again.
struct Relay {
  std::int32_t beds = 0;
  pawl::JsonRest<256> rest;
};
PAWL_JSON(Relay, beds, rest)

struct Tree {
  std::optional<Window> window;
  std::optional<pawl::JsonText<4>> name;
  pawl::JsonArray<std::optional<std::int32_t>, 2> counts;
};
PAWL_JSON(Tree, window, name, counts)

}  // namespace garden

namespace pawl {
namespace {

using namespace garden;  // NOLINT(google-build-using-namespace)

template <typename T>
std::string text_of(const T& value) {
  char out[1024];
  std::size_t size = 0;
  EXPECT_EQ(to_json(value, out, sizeof(out), &size), Status::kOk);
  return {out, size};
}
template <typename T>
std::string refusal(const std::string& text) {
  T value;
  Diagnostic why;
  const Status status = from_json(text, &value, &why);
  return std::string(status_name(status)) + ": " + std::string(why.text());
}

Plan full() {
  Plan plan;
  plan.beds = 7;
  EXPECT_EQ(plan.crop.assign("leek"), Status::kOk);
  plan.litres = 0.1F;
  plan.mode = Mode::kFlood;
  plan.level = Level::kLow;
  plan.until_ms = 12;
  EXPECT_EQ(plan.windows.push_back({6, 8}), Status::kOk);
  EXPECT_EQ(plan.windows.push_back({18, 20}), Status::kOk);
  plan.valves = {false, true};
  return plan;
}

TEST(JsonEvolution, WritesEveryKindOfField) {
  EXPECT_EQ(text_of(full()),
            R"({"beds":7,"crop":"leek","litres":0.1,"mode":"kFlood","level":-1,"until_ms":12,)"
            R"("windows":[{"from":6,"to":8},{"from":18,"to":20}],"valves":[false,true]})");
  Plan read;
  ASSERT_EQ(from_json(text_of(full()), &read), Status::kOk);
  EXPECT_EQ(text_of(read), text_of(full()));
  EXPECT_EQ(read.litres, 0.1F);
}

TEST(JsonEvolution, AFieldAddedLaterKeepsItsDefault) {
  OldPlan old;
  old.beds = 3;
  ASSERT_EQ(old.crop.assign("kale"), Status::kOk);
  Plan read = full();
  ASSERT_EQ(from_json(text_of(old), &read), Status::kOk);
  EXPECT_EQ(read.beds, 3);
  EXPECT_EQ(read.crop.view(), "kale");
  EXPECT_EQ(read.litres, 1.5F);
  EXPECT_EQ(read.mode, Mode::kDrip);
  EXPECT_EQ(read.level, Level::kHigh);
  EXPECT_FALSE(read.until_ms.has_value());
  EXPECT_TRUE(read.windows.empty());
  EXPECT_TRUE(read.valves[0] && read.valves[1]);
}

TEST(JsonEvolution, AnOlderReaderPassesOverWhatItLacks) {
  OldPlan read;
  ASSERT_EQ(from_json(text_of(full()), &read), Status::kOk);
  EXPECT_EQ(read.beds, 7);
}

TEST(JsonEvolution, WhatHasNoDefaultIsStillRequired) {
  EXPECT_EQ(refusal<Plan>(R"({"beds":1})"), "corrupt: crop is missing");
  EXPECT_EQ(refusal<Plan>(R"({"beds":1,"crop":"","windows":[{"to":3}]})"),
            "corrupt: windows[0].from is missing");
  // A null is a value of the wrong type, not an absent member.
  EXPECT_EQ(refusal<Plan>(R"({"beds":1,"crop":"","litres":null})"),
            "corrupt: litres is no finite number");
  EXPECT_EQ(refusal<Plan>(R"({"beds":1,"crop":"","litres":1,"litres":2})"),
            "corrupt: litres is there twice");
}

TEST(JsonEvolution, AnOptionalIsAbsentOrNull) {
  Tree tree;
  EXPECT_EQ(text_of(tree), R"({"counts":[]})");
  tree.window = Window{1, 2};
  ASSERT_EQ(tree.name.emplace().assign("a"), Status::kOk);
  ASSERT_EQ(tree.counts.push_back(std::nullopt), Status::kOk);
  ASSERT_EQ(tree.counts.push_back(5), Status::kOk);
  const std::string text = R"({"window":{"from":1,"to":2},"name":"a","counts":[null,5]})";
  EXPECT_EQ(text_of(tree), text);
  Tree read;
  ASSERT_EQ(from_json(text, &read), Status::kOk);
  EXPECT_EQ(text_of(read), text);
  ASSERT_EQ(from_json(R"({"window":null,"counts":[]})", &read), Status::kOk);
  EXPECT_FALSE(read.window.has_value());
  EXPECT_EQ(refusal<Tree>(R"({"name":"too long","counts":[]})"),
            "resource_exhausted: name is a longer text than its field");
}

TEST(JsonEvolution, AnEnumIsOneOfItsNames) {
  EXPECT_EQ(refusal<Plan>(R"({"beds":1,"crop":"","mode":"kSpray"})"),
            "corrupt: mode is no name of its enum");
  EXPECT_EQ(refusal<Plan>(R"({"beds":1,"crop":"","mode":1})"), "corrupt: mode is no text");
  EXPECT_EQ(refusal<Plan>(R"({"beds":1,"crop":"","level":40000})"),
            "corrupt: level is no whole number in its range");
  Plan nameless = full();
  nameless.mode = static_cast<Mode>(9);
  char out[1024];
  std::size_t size = 0;
  Diagnostic why;
  EXPECT_EQ(to_json(nameless, out, sizeof(out), &size, &why), Status::kInvalidArgument);
  EXPECT_EQ(why.text(), "mode has no name");
}

TEST(JsonEvolution, AnArrayHasAtMostItsElements) {
  EXPECT_EQ(refusal<Plan>(R"({"beds":1,"crop":"","windows":[{"from":1},{"from":1},{"from":1},)"
                          R"({"from":1}]})"),
            "resource_exhausted: windows has more elements than its field");
  EXPECT_EQ(refusal<Plan>(R"({"beds":1,"crop":"","valves":[true]})"),
            "corrupt: valves has another number of elements");
  JsonArray<std::int32_t, 1> one;
  EXPECT_EQ(one.push_back(1), Status::kOk);
  EXPECT_EQ(one.push_back(2), Status::kResourceExhausted);
  EXPECT_EQ(one.size(), 1U);
}

TEST(JsonEvolution, AFloatIsInItsRange) {
  EXPECT_EQ(refusal<Plan>(R"({"beds":1,"crop":"","litres":1e39})"),
            "corrupt: litres is no number in its range");
  Plan plan = full();
  plan.litres = std::numeric_limits<float>::infinity();
  char out[1024];
  std::size_t size = 0;
  EXPECT_EQ(to_json(plan, out, sizeof(out), &size), Status::kInvalidArgument);
}

TEST(JsonEvolution, UnknownMembersAreKeptWhereTheStructSaysSo) {
  Relay relay;
  ASSERT_EQ(from_json(R"({"new":{"a":[1,"x"]},"beds":1,"rest":true,"say \"hi\"":null})", &relay),
            Status::kOk);
  relay.beds = 2;
  EXPECT_EQ(text_of(relay), R"({"beds":2,"new":{"a":[1,"x"]},"rest":true,"say \"hi\"":null})");
  ASSERT_EQ(from_json(R"({"beds":1})", &relay), Status::kOk);
  EXPECT_EQ(text_of(relay), R"({"beds":1})");
  for (const std::size_t size : {200U, 240U, 256U, 257U, 300U}) {
    const Status status =
        from_json(R"({"beds":1,"n":")" + std::string(size, 'x') + R"("})", &relay);
    EXPECT_EQ(status, size < 245U ? Status::kOk : Status::kResourceExhausted) << size;
  }
}

}  // namespace
}  // namespace pawl
