// Templates, and the JSON parser that they use.
#include "apps/pawld/template_text.hpp"

#include <gtest/gtest.h>

#include "apps/pawld/json_document.hpp"

namespace pawld {
namespace {

Scope scope() {
  Scope scope(1'000);
  scope.set("input", R"({"bed":7,"name":"a \"b\"","beds":[{"n":1},{"n":2}],"yes":true})");
  scope.set("steps.soil", R"({"moisture":17.5})");
  scope.set("steps.soil2", "\"x\"");
  return scope;
}

std::string rendered(std::string_view json) {
  std::string out;
  std::string why;
  return render_json(json, scope(), &out, &why) ? out : "! " + why;
}

TEST(PawldTemplate, RowsOfTemplates) {
  struct Row {
    const char* json;
    const char* out;
  };
  for (const Row& row : {
           Row{R"("{input.bed}")", "7"},
           {R"({"b":"{input.bed}","t":"bed {input.bed}"})", R"({"b":7,"t":"bed 7"})"},
           {R"("{input.name}")", R"("a \"b\"")"},
           {R"("<{input.name}>")", R"("<a \"b\">")"},
           {R"("{input.beds.1}")", R"({"n":2})"},
           {R"("{input.beds.1.n}")", "2"},
           {R"(["{steps.soil.moisture}","{steps.soil2}"])", R"([17.5,"x"])"},
           {R"("{{x}}")", R"("{x}")"},
           {R"({"{input}":1})", R"({"{input}":1})"},
           {"5", "5"},
           {R"("\u0041{input.bed}\n")", "\"A7\\u000a\""},
           {R"("{input.none}")", R"(! {input.none}: an object without "none")"},
           {R"("{input.beds.2}")", R"(! {input.beds.2}: an array without "2")"},
           {R"("{input.bed.x}")", R"(! {input.bed.x}: a number without "x")"},
           {R"("{steps.other}")", "! {steps.other}: there is no such value"},
           {R"("{x")", "! a \"{\" without its \"}\"; a brace itself is written \"{{\""},
           {R"("x}")", "! a \"}\" without its \"{\"; a brace itself is written \"}}\""},
       })
    EXPECT_EQ(rendered(row.json), row.out) << row.json;
}

TEST(PawldTemplate, NamesWithoutARootAreMembersOfTheWhole) {
  Scope whole(1'000);
  std::string out;
  std::string why;
  whole.set("", R"({"bed":"seven"})");
  EXPECT_TRUE(render_text("bed-{bed}", whole, &out, &why));
  EXPECT_EQ(out, "bed-seven");
  EXPECT_FALSE(render_text("bed-{name}", whole, &out, &why));
  whole.set("", "5");
  EXPECT_TRUE(render_text("bed-{}", whole, &out, &why));
  EXPECT_EQ(out, "bed-5");
}

// A value as long as a payload, and a template that names it in each of a thousand texts.
TEST(PawldTemplate, WhatItBecomesIsBounded) {
  constexpr std::size_t kMost = 64 * 1024;
  Scope scope(kMost);
  scope.set("input", "\"" + std::string(kMost - 2, 'x') + "\"");
  std::string parts;
  for (int i = 0; i < 1'000; ++i)
    parts.append("{input}");
  std::string out;
  std::string why;
  EXPECT_TRUE(render_json("\"{input}\"", scope, &out, &why)) << why;
  EXPECT_EQ(out.size(), kMost);
  EXPECT_FALSE(render_json("[\"{input}\"]", scope, &out, &why));
  EXPECT_EQ(why, "becomes longer than 65536 bytes");
  std::string list = "[\"{input}\"";
  for (int i = 0; i < 1'000; ++i)
    list.append(",\"{input}\"");
  for (const std::string& json : {"\"" + parts + "\"", list + "]"}) {
    out = std::string();
    why.clear();
    EXPECT_FALSE(render_json(json, scope, &out, &why));
    EXPECT_EQ(why, "becomes longer than 65536 bytes");
    EXPECT_LE(out.capacity(), 8 * kMost) << "it went on behind the bound";
  }
  out = std::string();
  EXPECT_FALSE(render_text(parts, scope, &out, &why));
  EXPECT_LE(out.capacity(), 8 * kMost);
}

TEST(PawldTemplate, WhatIsNoJsonIsAText) {
  EXPECT_EQ(as_json(" {\"a\": 1} "), "{\"a\": 1}");
  EXPECT_EQ(as_json("wet"), "\"wet\"");
  EXPECT_EQ(as_json(""), "\"\"");
  EXPECT_EQ(as_json("tab\there"), "\"tab\\u0009here\"");
  EXPECT_EQ(as_json(std::string(100, '[')), "\"" + std::string(100, '[') + "\"");
}

TEST(PawldTemplate, TextsAreDecodedAsJsonSays) {
  EXPECT_EQ(decode_json_text(R"("\u00e4\u20ac\ud83d\ude00\n\/")"), "\u00e4\u20ac\U0001F600\n/");
}

// Millions of brackets take a bounded stack and get an error.
TEST(PawldTemplate, NoTextMakesItRecurse) {
  JsonDocument document;
  EXPECT_FALSE(document.parse(std::string(3'000'000, '[')));
  EXPECT_EQ(document.error(), "more than 32 levels");
  std::string flat = "[1";
  for (int i = 0; i < 100'000; ++i)
    flat.append(",1");
  EXPECT_TRUE(document.parse(flat + "]"));
  EXPECT_EQ(document.size(document.root()), 100'001U);
  EXPECT_FALSE(document.parse(std::string(JsonDocument::kBytesMax + 1, ' ')));
}

}  // namespace
}  // namespace pawld
