// Goal: a query is one text of its parts, with its marks, and the compiler finds a column of it by
// its name. Its text takes few bytes, and comes out as it went in.
#include "store/sql/query.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::test {
namespace {

enum class Colour : unsigned char { kRed = 7, kBlue = 120 };
constexpr unsigned kFirstMark = 4;
constexpr unsigned kOtherMark = 8;

constexpr auto kParts =
    PAWL_QUERY("UPDATE t SET colour=", sql::number<Colour::kRed>, " WHERE colour IN (",
               sql::number<Colour::kRed, Colour::kBlue>, ")", kFirstMark | kOtherMark);

std::string text_of(sql::QueryRef query) {
  char text[sql::kTextBytesMax];
  return {text, sql::expand(query.encoded(), text)};
}

TEST(Query, IsOneTextOfItsPartsWithItsMarks) {
  EXPECT_EQ(text_of(kParts), "UPDATE t SET colour=7 WHERE colour IN (7,120)");
  EXPECT_EQ(sql::QueryRef(kParts).marks(), kFirstMark | kOtherMark);
  constexpr auto kPlain = PAWL_QUERY("DELETE FROM t");
  EXPECT_EQ(sql::QueryRef(kPlain).marks(), 0U);
  constexpr std::int64_t kLarge = std::int64_t{1} << 60;
  constexpr auto kNumber = PAWL_QUERY("SELECT ", sql::number<kLarge>);
  EXPECT_EQ(text_of(kNumber), "SELECT 1152921504606846976");
}

TEST(Query, IsMarkedIfItWritesToInstancesOrTheirMessages) {
  constexpr auto kChange = PAWL_QUERY("UPDATE instances SET a=1");
  constexpr auto kAdd = PAWL_QUERY("INSERT INTO instances(a) VALUES(1)");
  constexpr auto kDelete = PAWL_QUERY("DELETE FROM orchestrator_queue WHERE a=1");
  constexpr auto kReplace = PAWL_QUERY("INSERT OR REPLACE INTO orchestrator_queue SELECT 1");
  constexpr auto kWith = PAWL_QUERY("WITH a AS (SELECT 1) UPDATE orchestrator_queue SET b=1");
  for (const sql::QueryRef one :
       {sql::QueryRef(kChange), sql::QueryRef(kAdd), sql::QueryRef(kDelete),
        sql::QueryRef(kReplace), sql::QueryRef(kWith)})
    EXPECT_EQ(one.marks(), sql::kOfInstances) << text_of(one);
  constexpr auto kReads = PAWL_QUERY("INSERT INTO t SELECT a FROM instances");
  EXPECT_EQ(sql::QueryRef(kReads).marks(), 0U);
  constexpr auto kOwn = PAWL_QUERY("UPDATE instances SET a=1", sql::kOfTurn | kFirstMark);
  EXPECT_EQ(sql::QueryRef(kOwn).marks(), sql::kOfTurn | kFirstMark);
}

TEST(Query, IsKnownByTheAddressOfItsText) {
  constexpr static auto kOne = PAWL_QUERY("SELECT 1");
  constexpr static auto kSame = PAWL_QUERY("SELECT 1");
  EXPECT_EQ(sql::QueryRef(kOne).encoded(), sql::QueryRef(kOne).encoded());
  EXPECT_NE(sql::QueryRef(kOne).encoded(), sql::QueryRef(kSame).encoded());
}

TEST(Query, ExpandsToWhatWasEncoded) {
  std::string all = "\n\f\r";
  for (char character = ' '; character <= '~'; ++character)
    all += character;
  std::string before;
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < sql::words::kSlots; ++slot) {
    const std::string word(sql::words::kIndex.word(slot));
    if (word.empty()) continue;
    ++count;
    EXPECT_LT(before, word) << "words are in order, each once";
    before = word;
    all.append(word, 0, word.size() - 1).append("|").append(word).append(word);
    EXPECT_EQ(sql::encoded_bytes(word), 1U) << word;
  }
  EXPECT_EQ(count, sql::words::kIndex.count);
  EXPECT_GT(sql::words::kDepth, 1U) << "words are made of others";
  std::string encoded;
  sql::encode(all, [&](char byte) { encoded += byte; });
  std::string expanded(all.size() + 1, '\0');
  expanded.resize(sql::expand(encoded.c_str(), expanded.data()));
  EXPECT_EQ(expanded, all);
  EXPECT_EQ(encoded.size(), sql::encoded_bytes(all));
  EXPECT_LT(encoded.size(), all.size());
}

TEST(Query, TakesABytePerWord) {
  constexpr auto kQuery = PAWL_QUERY("SELECT state FROM instances WHERE id=?1 ORDER BY id LIMIT 1");
  EXPECT_LE(sizeof(kQuery), 22U);
}

constexpr auto kWide = PAWL_QUERY(
    "SELECT s.id,w.id,coalesce(s.a,(SELECT max(x),y FROM z AS id)) AS first,b IS NULL AS is_b FROM "
    "s"
    " JOIN w");
constexpr auto kNoTable = PAWL_QUERY("SELECT 1 AS one,2 AS two");
constexpr auto kWithTable =
    PAWL_QUERY("WITH RECURSIVE busy(sid) AS (SELECT a,b FROM t) SELECT c,busy.sid FROM busy");
constexpr auto kReturning =
    PAWL_QUERY("UPDATE t SET a=(SELECT b,c FROM d) WHERE e=1 RETURNING a,f");
constexpr auto kMarked =
    PAWL_QUERY("SELECT \ftypeof(a)='integer'\r OR a IS NULL AS is_whole,b FROM t");
constexpr auto kList =
    sql::Columns("key,execution,c=", sql::number<Colour::kRed>, " AS is_red,crc");

TEST(Query, FindsAColumnByItsTextOrItsAlias) {
  EXPECT_EQ(PAWL_COLUMN(kWide, s.id), 0);
  EXPECT_EQ(PAWL_COLUMN(kWide, w.id), 1);
  EXPECT_EQ(PAWL_COLUMN(kWide, first), 2);
  EXPECT_EQ(PAWL_COLUMN(kWide, is_b), 3);
  EXPECT_EQ(PAWL_COLUMN(kNoTable, two), 1);
  EXPECT_EQ(PAWL_COLUMN(kWithTable, busy.sid), 1);
  EXPECT_EQ(PAWL_COLUMN(kReturning, f), 1);
  EXPECT_EQ(PAWL_COLUMN(kMarked, is_whole), 0);
  EXPECT_EQ(PAWL_COLUMN(kMarked, b), 1);
  EXPECT_EQ(PAWL_COLUMN(kList, is_red), 2);
  EXPECT_EQ(PAWL_COLUMN(kList, crc), 3);
}

// PAWL_COLUMN() of such a name does not compile.
TEST(Query, HasNoColumnOfAnotherName) {
  const auto number_of = [](const auto& query, const char* name) {
    return sql::find_column(sql::ColumnList(query), name);
  };
  for (const char* const name : {"id", "x", "y", "a", "z", "b", "s", "rst", ""})
    EXPECT_EQ(number_of(kWide, name), sql::kNoColumn) << name;
  EXPECT_EQ(number_of(kWithTable, "a"), sql::kNoColumn);
  EXPECT_EQ(number_of(kReturning, "e"), sql::kNoColumn);
  EXPECT_EQ(number_of(kParts, "colour"), sql::kNoColumn) << "it gives no rows";
  EXPECT_EQ(number_of(kList, "exec"), sql::kNoColumn);
}

}  // namespace
}  // namespace pawl::test
