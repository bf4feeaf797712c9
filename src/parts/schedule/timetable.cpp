#include "pawl/timetable.hpp"

#include "parts/schedule/calendar.hpp"
#include "parts/schedule/schedule_text.hpp"

namespace pawl {
namespace {

using calendar::kMinutesADay;
using internal::CronFields;
using internal::ZoneChange;
using internal::ZoneRules;

constexpr std::int64_t kMsAMinute = 60'000;
// A 29 February that is a Sunday comes after at most 40 years, for example from 2076 to 2116.
constexpr std::int64_t kSearchMinutes = std::int64_t{41} * 366 * kMinutesADay;
constexpr std::int32_t kShiftsMax = 90;  // how many shifts of local time are searched
constexpr std::int64_t kLastMinute = calendar::first_day(9'990) * kMinutesADay;

// ---- local time ----

// A moment at which the offset of local time changes, in minutes since 1970 UTC.
struct Shift {
  std::int64_t at;
  std::int32_t before;
  std::int32_t after;
};

std::int64_t day_of(const ZoneChange& change, std::int64_t year) {
  switch (change.kind) {
    case ZoneChange::Kind::kWithoutLeapDay: {
      const bool behind = calendar::is_leap(year) && change.day >= 60;  // 60: 1 March
      return calendar::first_day(year) + change.day - 1 + (behind ? 1 : 0);
    }
    case ZoneChange::Kind::kDayOfYear: return calendar::first_day(year) + change.day;
    case ZoneChange::Kind::kMonthWeek: break;
  }
  const std::int64_t first = calendar::day_of(year, change.month, 1);
  const std::int32_t ahead = (change.day - calendar::weekday_of(first) + 7) % 7;
  std::int32_t day = ahead + (change.week - 1) * 7;
  while (day >= calendar::days_in_month(year, change.month))
    day -= 7;
  return first + day;
}

// The shifts around a moment: the last one at or before it, and the first one after it.
struct Surroundings {
  Shift last;
  Shift next;
};

Surroundings around(const ZoneRules& zone, std::int64_t minute) {
  constexpr std::size_t kCount = 6;
  Shift shifts[kCount];
  const std::int64_t year = calendar::year_of(calendar::divide_down(minute, kMinutesADay));
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::int64_t of = year - 1 + static_cast<std::int64_t>(i / 2);
    const bool begins = i % 2 == 0;
    const ZoneChange& change = begins ? zone.begin : zone.end;
    shifts[i].before = begins ? zone.standard : zone.daylight;
    shifts[i].after = begins ? zone.daylight : zone.standard;
    shifts[i].at = day_of(change, of) * kMinutesADay + change.minutes - shifts[i].before;
  }
  Surroundings found = {shifts[0], shifts[0]};
  bool has_last = false;
  bool has_next = false;
  for (const Shift& shift : shifts) {
    // If two shifts are at one moment, the begin of daylight time counts: so a zone can have it all
    // year.
    const bool counts = shift.after == zone.daylight;
    if (shift.at <= minute) {
      if (!has_last || shift.at > found.last.at || (shift.at == found.last.at && counts))
        found.last = shift;
      has_last = true;
    } else {
      if (!has_next || shift.at < found.next.at || (shift.at == found.next.at && counts))
        found.next = shift;
      has_next = true;
    }
  }
  // A shift to the offset that was valid before changes nothing.
  for (const Shift& shift : shifts)
    if (shift.at == found.last.at && shift.after != found.last.after)
      found.last.before = found.last.after;
  return found;
}

// ---- the fields ----

template <typename Set>
bool has(Set set, std::int32_t bit) {
  return (set >> bit & 1U) != 0;
}

bool matches_day(const CronFields& cron, std::int64_t day, const calendar::Date& date) {
  if (!has(cron.months, date.month)) return false;
  const bool in_month = has(cron.days, date.day);
  const bool in_week = has(cron.weekdays, calendar::weekday_of(day));
  const bool either = !cron.any_day && !cron.any_weekday;
  return either ? in_month || in_week : in_month && in_week;
}

// The first minute of the day, from `from` on, that matches; kMinutesADay: there is none.
std::int64_t minute_of_day(const CronFields& cron, std::int64_t from) {
  std::int64_t minute = from;
  while (minute < kMinutesADay) {
    const auto hour = static_cast<std::int32_t>(minute / 60);
    if (!has(cron.hours, hour)) {
      minute = (minute / 60 + 1) * 60;
      continue;
    }
    if (has(cron.minutes, static_cast<std::int32_t>(minute % 60))) return minute;
    ++minute;
  }
  return kMinutesADay;
}

// The first local minute in [from, limit) that matches.
std::optional<std::int64_t> first_match(const CronFields& cron, std::int64_t from,
                                        std::int64_t limit) {
  std::int64_t day = calendar::divide_down(from, kMinutesADay);
  std::int64_t begin = from - day * kMinutesADay;
  while (day * kMinutesADay < limit) {
    const calendar::Date date = calendar::date_of(day);
    if (matches_day(cron, day, date)) {
      const std::int64_t minute = minute_of_day(cron, begin);
      const std::int64_t found = day * kMinutesADay + minute;
      if (minute < kMinutesADay) return found < limit ? std::optional(found) : std::nullopt;
    }
    begin = 0;
    day += has(cron.months, date.month)
               ? 1
               : calendar::days_in_month(date.year, date.month) - date.day + 1;
  }
  return std::nullopt;
}

std::optional<std::int64_t> next_minute(const CronFields& cron, const ZoneRules& zone,
                                        std::int64_t from) {
  const std::int64_t end = from + kSearchMinutes;
  if (!zone.has_daylight) {
    const auto found = first_match(cron, from + zone.standard, end + zone.standard);
    return found.has_value() ? std::optional(*found - zone.standard) : std::nullopt;
  }
  for (std::int32_t i = 0; i < kShiftsMax && from < end; ++i) {
    const auto [last, next] = around(zone, from);
    const std::int32_t offset = last.after;
    std::int64_t local = from + offset;
    if (!cron.by_elapsed_time) {
      const std::int64_t before = last.at + last.before;
      const std::int64_t after = last.at + last.after;
      if (from == last.at && first_match(cron, before, after).has_value()) return from;
      if (local < before) local = before;  // these local times came before the change already
    }
    const auto found = first_match(cron, local, next.at + offset);
    if (found.has_value()) return *found - offset;
    from = next.at;
  }
  return std::nullopt;
}

}  // namespace

Status Timetable::parse(std::string_view cron, std::string_view zone, Diagnostic& why) {
  Timetable parsed;
  PAWL_TRY(internal::read_cron(cron, &parsed.cron_, why));
  PAWL_TRY(internal::read_zone(zone, &parsed.zone_, why));
  constexpr std::int64_t kSomeTime = 946'684'800'000;
  if (!parsed.next_after(kSomeTime).has_value()) {
    why.format("hour: local time of this zone skips all the times given, so it never fires");
    return Status::kInvalidArgument;
  }
  *this = parsed;
  return Status::kOk;
}

std::optional<std::int64_t> Timetable::next_after(std::int64_t utc_ms) const {
  if (cron_.minutes == 0) return std::nullopt;
  const std::int64_t from = utc_ms < 0 ? 0 : utc_ms / kMsAMinute + 1;
  if (from >= kLastMinute) return std::nullopt;
  const auto found = next_minute(cron_, zone_, from);
  return found.has_value() ? std::optional(*found * kMsAMinute) : std::nullopt;
}

std::optional<std::int64_t> Timetable::last_between(std::int64_t after_ms,
                                                    std::int64_t until_ms) const {
  // The later the search begins, the later is the next time. So the last time is found by halving.
  const std::int64_t begin = after_ms < 0 ? -1 : after_ms / kMsAMinute;
  auto last = next_after(after_ms);
  if (!last.has_value() || *last > until_ms) return std::nullopt;
  std::int64_t low = begin;
  std::int64_t high = until_ms / kMsAMinute;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const auto found = next_after(middle * kMsAMinute);
    if (found.has_value() && *found <= until_ms) {
      last = found;
      low = middle;
    } else {
      high = middle;
    }
  }
  return last;
}

}  // namespace pawl
