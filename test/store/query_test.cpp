// Goal: a query is one text of its parts, with its marks, and the compiler finds a column of it by
// its name.
#include "store/sql/query.hpp"

#include <gtest/gtest.h>

namespace pawl::test {
namespace {

enum class Colour : unsigned char { kRed = 7, kBlue = 120 };
constexpr unsigned kFirstMark = 4;
constexpr unsigned kOtherMark = 8;

constexpr auto kParts =
    sql::Query("UPDATE t SET colour=", sql::number<Colour::kRed>, " WHERE colour IN (",
               sql::number<Colour::kRed, Colour::kBlue>, ")", kFirstMark | kOtherMark);

TEST(Query, IsOneTextOfItsPartsWithItsMarks) {
  EXPECT_STREQ(kParts.text(), "UPDATE t SET colour=7 WHERE colour IN (7,120)");
  EXPECT_STREQ(sql::QueryRef(kParts).text(), kParts.text());
  EXPECT_EQ(sql::QueryRef(kParts).marks(), kFirstMark | kOtherMark);
  constexpr auto kPlain = sql::Query("DELETE FROM t");
  EXPECT_EQ(sql::QueryRef(kPlain).marks(), 0U);
  constexpr std::int64_t kLarge = std::int64_t{1} << 60;
  constexpr auto kNumber = sql::Query("SELECT ", sql::number<kLarge>);
  EXPECT_STREQ(kNumber.text(), "SELECT 1152921504606846976");
}

TEST(Query, IsKnownByTheAddressOfItsText) {
  constexpr static auto kOne = sql::Query("SELECT 1");
  constexpr static auto kSame = sql::Query("SELECT 1");
  EXPECT_EQ(sql::QueryRef(kOne).text(), sql::QueryRef(kOne).text());
  EXPECT_NE(sql::QueryRef(kOne).text(), sql::QueryRef(kSame).text());
}

constexpr auto kWide = sql::Query(
    "SELECT s.id,w.id,coalesce(s.a,(SELECT max(x),y FROM z AS id)) AS first,b IS NULL AS is_b FROM "
    "s"
    " JOIN w");
constexpr auto kNoTable = sql::Query("SELECT 1 AS one,2 AS two");
constexpr auto kWithTable =
    sql::Query("WITH RECURSIVE busy(sid) AS (SELECT a,b FROM t) SELECT c,busy.sid FROM busy");
constexpr auto kReturning =
    sql::Query("UPDATE t SET a=(SELECT b,c FROM d) WHERE e=1 RETURNING a,f");
constexpr auto kMarked =
    sql::Query("SELECT \ftypeof(a)='integer'\r OR a IS NULL AS is_whole,b FROM t");
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
    return sql::find_column(query.columns(), name);
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
