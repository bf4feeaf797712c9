// Timetable: computes when a cron text fires in a time zone, as a pure function.
//
// Purpose: the times of a schedule, without a clock, a locale, the variable TZ or a database of
// zones. The rules of the zone are in the text, so the same texts give the same times on every
// machine and in every replay. pawl/schedule.hpp runs orchestrations by it.
// Ownership: a plain value; nothing is allocated, and the texts may go after parse(). Thread rule:
// callable from any thread; a value is not shared while it is parsed. Units: ms since 1970 UTC.
#ifndef PAWL_TIMETABLE_HPP
#define PAWL_TIMETABLE_HPP

#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {

// The values that the five fields allow; bit n of a set is the number n.
struct CronFields {
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days = 0;      // days of the month
  std::uint32_t months = 0;    // 1: January
  std::uint32_t weekdays = 0;  // 0: Sunday
  bool any_day = false;        // the field begins with *
  bool any_weekday = false;
  bool by_elapsed_time = false;  // minute or hour begins with *
};

// A day of a year, and minutes from its beginning.
struct ZoneChange {
  enum class Kind : std::uint8_t { kMonthWeek, kWithoutLeapDay, kDayOfYear };
  Kind kind = Kind::kMonthWeek;
  std::int32_t month = 0;  // kMonthWeek only
  std::int32_t week = 0;   // 5: the last one
  std::int32_t day = 0;    // day of the week, 0: Sunday; else day of the year
  std::int32_t minutes = 120;
};

// Offsets are the minutes that local time is ahead of UTC.
struct ZoneRules {
  std::int32_t standard = 0;
  std::int32_t daylight = 0;
  bool has_daylight = false;
  ZoneChange begin;  // the begin of daylight time, in standard time
  ZoneChange end;    // its end, in daylight time
};

}  // namespace internal

class Timetable {
 public:
  // Reads both texts.
  //
  // `cron` has five fields, divided by blanks: minute 0-59, hour 0-23, day of the month 1-31, month
  // 1-12 or JAN-DEC, day of the week 0-7 or SUN-SAT (0 and 7 are Sunday). A field is `*`, a number,
  // a range `a-b`, a range or `*` with a step `/n`, or a list of these with commas. If neither of
  // the two fields for days begins with `*`, a day needs to match one of them, else both.
  //
  // `zone` is the text of the POSIX variable TZ: `UTC0`, `CET-1CEST,M3.5.0,M10.5.0/3`,
  // `<+0530>-5:30`. The offset is west of Greenwich. A daylight time needs its two rules, whose
  // times may be -167 to 167 hours. Seconds are refused.
  //
  // Returns kOk; kInvalidArgument: `why` names the field and the position in it, from 1, and the
  // value is as it was. Texts that never fire, as 30 February, get this answer, too.
  Status parse(std::string_view cron, std::string_view zone, Diagnostic& why);

  // The first time behind this one. None: parse() did not succeed, or the time is beyond the year
  // 9990.
  //
  // Where local time jumps, two rules hold, as those of Vixie's cron. If minute and hour are given
  // without `*`, a local time that is skipped fires once at the moment of the change, and one that
  // comes twice fires the first time only. If one of them begins with `*`, the schedule follows the
  // time that passes: a skipped time does not fire, and one that comes twice fires twice.
  [[nodiscard]] std::optional<std::int64_t> next_after(std::int64_t utc_ms) const;

  // The last time in (after_ms, until_ms]. None: there is none.
  [[nodiscard]] std::optional<std::int64_t> last_between(std::int64_t after_ms,
                                                         std::int64_t until_ms) const;

 private:
  internal::CronFields cron_;
  internal::ZoneRules zone_;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_TIMETABLE_HPP
