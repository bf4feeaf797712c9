#include "apps/pawl/units.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "apps/common/message.hpp"

namespace pawl::tool {
namespace {

constexpr std::int64_t kNow = 1'795'430'858'849;  // 2026-11-23T10:47:38.849Z

TEST(Units, DurationsHaveUnitsThatAddUp) {
  const struct {
    const char* text;
    std::int64_t ms;
  } rows[] = {{"0", 0},
              {"90s", 90'000},
              {"15m", 900'000},
              {"2h", 7'200'000},
              {"1d", 86'400'000},
              {"250ms", 250},
              {"1w", 604'800'000},
              {"1h30m", 5'400'000},
              {"1s1ms", 1'001},
              {"106751991167d", 9'223'372'036'828'800'000}};
  for (const auto& row : rows)
    EXPECT_EQ(parse_duration_ms(row.text), row.ms) << row.text;
}

TEST(Units, WhatIsNoDurationIsNone) {
  for (const char* text :
       {"", "90", "s", "-1s", "1.5h", "1h ", " 1h", "1hour", "1 h", "+1h", "0x1h", "106751991168d",
        "9223372036854775808ms", "1h30", "99999999999999999999s"})
    EXPECT_FALSE(parse_duration_ms(text).has_value()) << text;
}

TEST(Units, SizesHavePowersOf1024Or1000) {
  const struct {
    const char* text;
    std::int64_t bytes;
  } rows[] = {{"0", 0},
              {"4096", 4096},
              {"64K", 65'536},
              {"64M", 67'108'864},
              {"1GiB", 1'073'741'824},
              {"2T", 2'199'023'255'552},
              {"5B", 5},
              {"1KB", 1'000},
              {"10TB", 10'000'000'000'000}};
  for (const auto& row : rows)
    EXPECT_EQ(parse_size(row.text), row.bytes) << row.text;
  for (const char* text : {"", "K", "-1", "1k", "1.5M", "1 M", "1PB", "9999999999T", "1MM"})
    EXPECT_FALSE(parse_size(text).has_value()) << text;
}

TEST(Units, TimesAreDatesAgesOrMs) {
  ASSERT_EQ(::setenv("TZ", "UTC-1", 1), 0);  // an hour ahead of UTC
  ::tzset();
  EXPECT_EQ(parse_time_ms("1795430858849", kNow), kNow);
  EXPECT_EQ(parse_time_ms("2h", kNow), kNow - 7'200'000);
  EXPECT_EQ(parse_time_ms("2026-11-23T10:47:38Z", kNow), 1'795'430'858'000);
  EXPECT_EQ(parse_time_ms("2026-11-23T11:47:38", kNow), 1'795'430'858'000);
  EXPECT_EQ(parse_time_ms("2026-11-23 11:47", kNow), 1'795'430'820'000);
  EXPECT_EQ(parse_time_ms("1970-01-01Z", kNow), 0);
  for (const char* text : {"", "now", "2026-02-31", "2026-13-01", "2026-11-23T25:00", "23.11.2026",
                           "2026-11-23T10:47:38Zx", "9999999w"})
    EXPECT_FALSE(parse_time_ms(text, kNow).has_value()) << text;
}

TEST(Units, PeopleReadTheTwoLargestUnits) {
  EXPECT_EQ(duration_text(0), "0ms");
  EXPECT_EQ(duration_text(999), "999ms");
  EXPECT_EQ(duration_text(61'000), "1m 1s");
  EXPECT_EQ(duration_text(5'400'000), "1h 30m");
  EXPECT_EQ(duration_text(-86'400'000), "-1d");
  EXPECT_EQ(duration_text(INT64_MIN), "-");
  EXPECT_EQ(duration_text(INT64_MAX), "15250284452w 3d");
  EXPECT_EQ(size_text(512), "512 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(INT64_MAX), "8388608.0 TiB");
}

TEST(Units, TimesInTheLocalZoneAndInUtc) {
  ASSERT_EQ(::setenv("TZ", "UTC-1", 1), 0);
  ::tzset();
  EXPECT_EQ(utc_text(kNow), "2026-11-23T10:47:38.849Z");
  EXPECT_EQ(utc_text(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(utc_text(INT64_MAX), "292278994-08-17T07:12:55.807Z");
  EXPECT_EQ(local_text(kNow, kNow), "11:47:38 (now)");
  EXPECT_EQ(local_text(kNow - 180'000, kNow), "11:44:38 (3m ago)");
  EXPECT_EQ(local_text(kNow - 86'400'000, kNow), "2026-11-22 11:47:38 (1d ago)");
  EXPECT_EQ(local_text(kNow + 60'000, kNow), "11:48:38 (in 1m)");
}

TEST(Units, TheNearestWordIsNearEnough) {
  using programs::nearest;
  const std::vector<std::string> words = {"list", "show", "history", "wait", "watch"};
  EXPECT_EQ(nearest("lsit", words), "list");
  EXPECT_EQ(nearest("silt", words), std::nullopt);  // two wrong letters of four are too many
  EXPECT_EQ(nearest("lst", words), "list");
  EXPECT_EQ(nearest("hsitory", words), "history");
  EXPECT_EQ(nearest("wach", words), "watch");
  EXPECT_EQ(nearest("hi", words), "history");  // "history" begins with it
  EXPECT_EQ(nearest("dance", words), std::nullopt);
  EXPECT_EQ(nearest("", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), words), std::nullopt);
}

}  // namespace
}  // namespace pawl::tool
