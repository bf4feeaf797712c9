// Goal: a query is one text of its parts, with its marks.
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

}  // namespace
}  // namespace pawl::test
