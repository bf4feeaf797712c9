// Goal: the two texts of a timetable have their meaning, a wrong text is refused with the field and
// place of the mistake, and the two rules for local time that jumps hold.
#include "pawl/timetable.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pawl/schedule.hpp"

namespace pawl {
namespace {

constexpr const char* kBerlin = "CET-1CEST,M3.5.0,M10.5.0/3";

// Milliseconds since 1970 of a text like "2026-03-29T01:00:00Z".
std::int64_t ms(const std::string& text) {
  const auto run = scheduled_run("x@" + text);
  EXPECT_TRUE(run.has_value()) << text;
  return run.has_value() ? run->scheduled_ms : 0;
}

Timetable table_of(const char* cron, const char* zone) {
  Timetable table;
  Diagnostic why;
  EXPECT_EQ(table.parse(cron, zone, why), Status::kOk) << cron << ": " << why.text();
  return table;
}

std::string refusal(std::string_view cron, std::string_view zone = "UTC0") {
  Timetable table;
  Diagnostic why;
  EXPECT_EQ(table.parse(cron, zone, why), Status::kInvalidArgument) << cron << " " << zone;
  EXPECT_EQ(table.next_after(0), std::nullopt);
  return std::string(why.text());
}

void expect_times(const char* cron, const char* zone, const char* after,
                  const std::vector<const char*>& times) {
  const Timetable table = table_of(cron, zone);
  std::int64_t at = ms(after);
  for (const char* time : times) {
    const auto next = table.next_after(at);
    ASSERT_TRUE(next.has_value());
    EXPECT_EQ(*next, ms(time)) << cron << " " << zone << ": expected " << time << " after " << after
                               << ", off by minutes: " << (*next - ms(time)) / 60'000;
    at = *next;
  }
}

TEST(Timetable, fields_are_lists_ranges_steps_and_names) {
  expect_times("15,45 8-9 * * *", "UTC0", "2026-01-01T00:00:00Z",
               {"2026-01-01T08:15:00Z", "2026-01-01T08:45:00Z", "2026-01-01T09:15:00Z",
                "2026-01-01T09:45:00Z", "2026-01-02T08:15:00Z"});
  expect_times("0 */8 * * *", "UTC0", "2026-01-01T00:00:00Z",
               {"2026-01-01T08:00:00Z", "2026-01-01T16:00:00Z", "2026-01-02T00:00:00Z"});
  expect_times("10-30/10,59\t6 * jan,MAR *", "UTC0", "2026-01-31T06:25:00Z",
               {"2026-01-31T06:30:00Z", "2026-01-31T06:59:00Z", "2026-03-01T06:10:00Z"});
  expect_times("0 0 * * FRI-SUN", "UTC0", "2026-11-23T00:00:00Z",
               {"2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z",
                "2026-12-04T00:00:00Z"});
  expect_times("0 0 * * 7", "UTC0", "2026-11-23T00:00:00Z", {"2026-11-29T00:00:00Z"});
}

TEST(Timetable, one_of_the_two_fields_for_days_is_enough_unless_one_begins_with_a_star) {
  expect_times("0 0 13 * FRI", "UTC0", "2026-11-01T00:00:00Z",
               {"2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z",
                "2026-11-27T00:00:00Z", "2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z",
                "2026-12-13T00:00:00Z"});
  expect_times("0 0 */2 * MON", "UTC0", "2026-11-01T00:00:00Z",
               {"2026-11-09T00:00:00Z", "2026-11-23T00:00:00Z", "2026-12-07T00:00:00Z"});
}

TEST(Timetable, rare_days_come) {
  expect_times("0 0 29 2 *", "UTC0", "2096-03-01T00:00:00Z", {"2104-02-29T00:00:00Z"});
  // Only a 29 February that is a Sunday fires: 40 years lie between these two.
  expect_times("0 0 29 2 */7", "UTC0", "2088-03-01T00:00:00Z", {"2128-02-29T00:00:00Z"});
}

TEST(Timetable, a_mistake_is_named_with_its_field_and_place) {
  EXPECT_EQ(refusal("60 * * * *"), "minute, at 1: 60 is not in 0..59");
  EXPECT_EQ(refusal("0 8,24 * * *"), "hour, at 3: 24 is not in 0..23");
  EXPECT_EQ(refusal("0 0 0 * *"), "day of the month, at 1: 0 is not in 1..31");
  EXPECT_EQ(refusal("0 0 1 13 *"), "month, at 1: 13 is not in 1..12");
  EXPECT_EQ(refusal("0 0 1 1 MO"), "day of the week, at 1: \"MO\" is no name of three letters");
  EXPECT_EQ(refusal("0 0 1 JANU *"), "month, at 1: \"JANU\" is no name of three letters");
  EXPECT_EQ(refusal("0 9-7 * * *"), "hour, at 2: the range goes down, from 9 to 7");
  EXPECT_EQ(refusal("5/10 * * * *"), "minute, at 2: \"/10\" is a step, which needs a range or *");
  EXPECT_EQ(refusal("*/0 * * * *"), "minute, at 3: 0 is not in 1..59");
  EXPECT_EQ(refusal("1, * * * *"), "minute, at 3: the field ends, and \"1,\" is no number");
  EXPECT_EQ(refusal("1x * * * *"), "minute, at 2: \"x\" is not expected here");
  EXPECT_EQ(refusal("99999999999999999999 * * * *"), "minute, at 1: 999999 is not in 0..59");
  EXPECT_EQ(refusal("0 0 * *"), "day of the week: the field is missing, a cron text has five");
  EXPECT_EQ(refusal(""), "minute: the field is missing, a cron text has five");
  EXPECT_EQ(refusal("0 0 * * * root"), "\"root\" stands behind the five fields");
  EXPECT_EQ(refusal("0 0 30 2 *"),
            "day of the month: the months given have no such day, so it never fires");
  EXPECT_EQ(refusal("0 0 31 4,6,9,11 *"),
            "day of the month: the months given have no such day, so it never fires");
}

TEST(Timetable, a_mistake_of_the_zone_is_named_with_its_place) {
  const char* const cron = "0 0 * * *";
  EXPECT_EQ(refusal(cron, ""),
            "time zone, at 1: \"\" is no name of a zone, which has three letters or more");
  EXPECT_EQ(refusal(cron, "Europe/Berlin"), "time zone, at 7: \"/Berlin\" is no number");
  EXPECT_EQ(refusal(cron, "CET-1CEST"),
            "time zone, at 10: \"\" stands where a comma and a rule belong: when daylight time "
            "begins and ends");
  EXPECT_EQ(refusal(cron, "CET-25"), "time zone, at 5: 25 is not in 0..24");
  EXPECT_EQ(refusal(cron, "LMT-0:53:28"), "time zone, at 10: 28 is not in 0..0");
  EXPECT_EQ(refusal(cron, "CET-1CEST,M13.5.0,M10.5.0"), "time zone, at 12: 13 is not in 1..12");
  EXPECT_EQ(refusal(cron, "CET-1CEST,M3.5,M10.5.0"),
            "time zone, at 15: \",M10.5.0\" stands where a dot belongs, as in M3.5.0");
  EXPECT_EQ(refusal(cron, "CET-1CEST,M3.5.0/168,M10.5.0"),
            "time zone, at 18: 168 is not in 0..167");
  EXPECT_EQ(refusal(cron, "CET-1CEST,M3.5.0,M10.5.0 "),
            "time zone, at 25: \" \" is not expected here");
  EXPECT_EQ(refusal(cron, "<+05-5"),
            "time zone, at 7: \"\" does not end a name that begins with <");
}

TEST(Timetable, a_failed_parse_leaves_the_value) {
  Timetable table = table_of("0 12 * * *", "UTC0");
  Diagnostic why;
  EXPECT_EQ(table.parse("0 0 * * *", "X", why), Status::kInvalidArgument);
  EXPECT_EQ(table.next_after(ms("2026-01-01T00:00:00Z")), ms("2026-01-01T12:00:00Z"));
}

TEST(TimetableZones, a_skipped_local_time_fires_once_at_the_moment_of_the_change) {
  // On 29 March 2026 at 01:00 UTC the clocks of Berlin jump from 02:00 to 03:00.
  expect_times("30 2 * * *", kBerlin, "2026-03-28T00:00:00Z",
               {"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"});
  expect_times("0,15,30,45 2 * * *", kBerlin, "2026-03-28T01:45:00Z",
               {"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"});
  // A skipped time and one that is due at the moment of the change fire together, once.
  expect_times("0 2,3 * * *", kBerlin, "2026-03-28T23:00:00Z",
               {"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"});
}

TEST(TimetableZones, a_local_time_that_comes_twice_fires_the_first_time) {
  expect_times("30 2 * * *", kBerlin, "2026-10-24T12:00:00Z",
               {"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"});
  expect_times("0 2,3 * * *", kBerlin, "2026-10-24T12:00:00Z",
               {"2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z", "2026-10-26T01:00:00Z"});
}

TEST(TimetableZones, with_a_star_for_minute_or_hour_the_time_that_passes_counts) {
  expect_times("30 * * * *", kBerlin, "2026-03-28T23:45:00Z",
               {"2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"});
  expect_times("30 * * * *", kBerlin, "2026-10-24T23:45:00Z",
               {"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"});
  expect_times("*/30 2 * * *", kBerlin, "2026-03-28T02:00:00Z", {"2026-03-30T00:00:00Z"});
  expect_times("*/30 2 * * *", kBerlin, "2026-10-24T12:00:00Z",
               {"2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z",
                "2026-10-25T01:30:00Z", "2026-10-26T01:00:00Z"});
}

TEST(TimetableZones, what_local_time_always_skips_is_refused) {
  EXPECT_EQ(refusal("*/5 2 31 3 *", "AAA0BBB,J90/2,J300/3"),
            "hour: local time of this zone skips all the times given, so it never fires");
}

TEST(TimetableZones, daylight_time_all_the_year) {
  expect_times("30 0 * * *", "EST5EDT,0/0,J365/25", "2026-12-30T12:00:00Z",
               {"2026-12-31T04:30:00Z", "2027-01-01T04:30:00Z", "2027-01-02T04:30:00Z"});
}

TEST(Timetable, the_last_time_of_a_span) {
  const Timetable table = table_of("0 6 * * *", "UTC0");
  const std::int64_t begin = ms("2026-01-01T06:00:00Z");
  const std::int64_t day = 86'400'000;
  EXPECT_EQ(table.last_between(begin, begin + day - 1), std::nullopt);
  EXPECT_EQ(table.last_between(begin - 1, begin), begin);
  EXPECT_EQ(table.last_between(begin, begin + day), begin + day);
  EXPECT_EQ(table.last_between(begin, begin + 1000 * day + 7), begin + 1000 * day);
  EXPECT_EQ(table.last_between(begin, begin - 1), std::nullopt);
  EXPECT_EQ(table.last_between(-5, begin), begin);
}

TEST(Timetable, the_ends_of_time_are_answers) {
  const Timetable table = table_of("* * * * *", "UTC0");
  EXPECT_EQ(table.next_after(-1), 0);
  EXPECT_EQ(table.next_after(INT64_MIN), 0);
  EXPECT_EQ(table.next_after(0), 60'000);
  EXPECT_EQ(table.next_after(59'999), 60'000);
  EXPECT_EQ(table.next_after(INT64_MAX), std::nullopt);
  EXPECT_EQ(Timetable().next_after(0), std::nullopt);
}

TEST(ScheduledRun, is_read_from_the_id_alone) {
  const auto run = scheduled_run("a@b@2026-03-29T01:00:00Z");
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->schedule, "a@b");
  EXPECT_EQ(run->scheduled_ms, 1'774'746'000'000);
  EXPECT_EQ(run->trigger, std::nullopt);
  EXPECT_EQ(scheduled_run("a@2026-03-29T01:00:07Z#12")->trigger, 12U);
  for (const char* id : {"", "a", "a@", "@2026-03-29T01:00:00Z", "a@2026-02-29T01:00:00Z",
                         "a@2026-03-29T24:00:00Z", "a@2026-03-29T01:00:00Z#", "a@2026-03-29T01:00Z",
                         "a@2026-03-29T01:00:00Z#1x", "a@2026-03-29T01:00:00Z::1.2",
                         "a@1969-03-29T01:00:00Z", "a@2026-03-29T01:00:00Z#1111111111111111"})
    EXPECT_FALSE(scheduled_run(id).has_value()) << id;
}

}  // namespace
}  // namespace pawl
