// Days and years of the Gregorian calendar, as numbers.
//
// Purpose: cron texts and zone rules are computed with these, and not with the C library, whose
// answers depend on the machine. Ownership: plain values. Thread rule: callable from any thread.
#ifndef PAWL_PARTS_SCHEDULE_CALENDAR_HPP
#define PAWL_PARTS_SCHEDULE_CALENDAR_HPP

#include <cstdint>

namespace pawl::calendar {

inline constexpr std::int64_t kMinutesADay = 1'440;

constexpr bool is_leap(std::int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

constexpr std::int32_t days_in_month(std::int64_t year, std::int32_t month) {
  constexpr std::int32_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

// The number of 1 January of this year; that of 1970 is 0. Requires: a year from 1 on.
constexpr std::int64_t first_day(std::int64_t year) {
  const std::int64_t before = year - 1;
  constexpr std::int64_t kOf1970 = 719'162;
  return before * 365 + before / 4 - before / 100 + before / 400 - kOf1970;
}
static_assert(first_day(1970) == 0 && first_day(2000) == 10'957);

constexpr std::int64_t divide_down(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// The year of this day. Requires: a day from the year 2 on.
constexpr std::int64_t year_of(std::int64_t day) {
  // 400 years have 146,097 days. The estimate is wrong by one year at most.
  std::int64_t year = 1970 + divide_down(day * 400, 146'097);
  if (day < first_day(year)) --year;
  if (day >= first_day(year + 1)) ++year;
  return year;
}

struct Date {
  std::int64_t year;
  std::int32_t month;  // 1 to 12
  std::int32_t day;    // 1 to 31
};

constexpr Date date_of(std::int64_t day) {
  Date date = {year_of(day), 1, 1};
  auto left = static_cast<std::int32_t>(day - first_day(date.year));
  while (left >= days_in_month(date.year, date.month)) {
    left -= days_in_month(date.year, date.month);
    ++date.month;
  }
  date.day = left + 1;
  return date;
}

constexpr std::int64_t day_of(std::int64_t year, std::int32_t month, std::int32_t day) {
  std::int64_t number = first_day(year) + day - 1;
  for (std::int32_t m = 1; m < month; ++m)
    number += days_in_month(year, m);
  return number;
}

// 0: Sunday.
constexpr std::int32_t weekday_of(std::int64_t day) {
  constexpr std::int64_t kOf1970 = 4;
  const std::int64_t number = (day + kOf1970) % 7;
  return static_cast<std::int32_t>(number < 0 ? number + 7 : number);
}

}  // namespace pawl::calendar

#endif  // PAWL_PARTS_SCHEDULE_CALENDAR_HPP
