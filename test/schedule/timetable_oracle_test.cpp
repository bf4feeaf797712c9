// Goal: over two years that include a leap day, a timetable fires at exactly the minutes that a
// simple oracle finds.
// Method: the oracle looks at each minute. Its local time comes from the C library, and its fields
// are sets that the test made before it wrote the cron text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "pawl/timetable.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kBegin = 1'798'761'600;  // 2027-01-01
constexpr std::int64_t kDays = 731;
constexpr std::int64_t kMinutes = kDays * 1440;

constexpr const char* kZones[] = {
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "NZST-12NZDT,M9.5.0,M4.1.0/3",
    "AEST-10AEDT,M10.1.0,M4.1.0/3",
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",  // daylight time is half an hour ahead
    "<+0530>-5:30",
    "NST3:30NDT,M3.2.0,M11.1.0",
    "IST-1GMT0,M10.5.0,M3.5.0/1",  // winter time is the one that differs
    "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
    "IST-2IDT,M3.4.4/26,M10.5.0",
    "AAA3BBB,J60/2,300/2",
    "CCC-13:45DDD-14:45,59/0:30,J365/23",
};

struct Local {
  std::int64_t minute;  // since 1970, as if local time were UTC
  std::int8_t in_hour;
  std::int8_t hour;
  std::int8_t day;
  std::int8_t month;
  std::int8_t weekday;
};

std::vector<Local> local_times(const char* zone) {
  EXPECT_EQ(setenv("TZ", zone, 1), 0);
  tzset();
  std::vector<Local> times;
  times.reserve(kMinutes);
  for (std::int64_t i = 0; i < kMinutes; ++i) {
    const auto utc = static_cast<std::time_t>(kBegin + i * 60);
    std::tm tm{};
    localtime_r(&utc, &tm);
    times.push_back({(kBegin + i * 60 + tm.tm_gmtoff) / 60, static_cast<std::int8_t>(tm.tm_min),
                     static_cast<std::int8_t>(tm.tm_hour), static_cast<std::int8_t>(tm.tm_mday),
                     static_cast<std::int8_t>(tm.tm_mon + 1),
                     static_cast<std::int8_t>(tm.tm_wday)});
  }
  EXPECT_EQ(unsetenv("TZ"), 0);
  tzset();
  return times;
}

struct Field {
  std::vector<bool> set = std::vector<bool>(64);
  std::string text;
  bool star = false;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Field field(int least, int most, bool open) {
    Field field;
    if (open || below(4) == 0) {
      field.star = true;
      const int step = below(3) == 0 ? 1 + below(most) : 1;
      field.text = step == 1 ? "*" : "*/" + std::to_string(step);
      for (int v = least; v <= most; v += step)
        field.set[static_cast<std::size_t>(v)] = true;
      return field;
    }
    const int parts = 1 + below(3);
    for (int i = 0; i < parts; ++i) {
      const int first = least + below(most - least + 1);
      const int last = below(2) == 0 ? first : first + below(most - first + 1);
      const int step = last > first && below(3) == 0 ? 1 + below(5) : 1;
      field.text += (i > 0 ? "," : "") + std::to_string(first);
      if (last > first) field.text += "-" + std::to_string(last);
      if (step > 1) field.text += "/" + std::to_string(step);
      for (int v = first; v <= last; v += step)
        field.set[static_cast<std::size_t>(v)] = true;
    }
    return field;
  }

 private:
  std::mt19937 random_;
};

struct Cron {
  Field minute, hour, day, month, weekday;
  [[nodiscard]] std::string text() const {
    return minute.text + " " + hour.text + " " + day.text + " " + month.text + " " + weekday.text;
  }
  [[nodiscard]] bool fires(const Local& at) const {
    const auto has = [](const Field& f, int v) { return f.set[static_cast<std::size_t>(v)]; };
    if (!has(minute, at.in_hour) || !has(hour, at.hour) || !has(month, at.month)) return false;
    const bool of_month = has(day, at.day);
    const bool of_week = has(weekday, at.weekday) || (at.weekday == 0 && has(weekday, 7));
    return day.star || weekday.star ? of_month && of_week : of_month || of_week;
  }
};

// The fields of a local minute. A local clock that jumps may never have shown it.
Local shown(std::int64_t minute) {
  const auto as_utc = static_cast<std::time_t>(minute * 60);
  std::tm tm{};
  gmtime_r(&as_utc, &tm);
  return {minute,
          static_cast<std::int8_t>(tm.tm_min),
          static_cast<std::int8_t>(tm.tm_hour),
          static_cast<std::int8_t>(tm.tm_mday),
          static_cast<std::int8_t>(tm.tm_mon + 1),
          static_cast<std::int8_t>(tm.tm_wday)};
}

std::vector<std::int64_t> counted(const Cron& cron, const std::vector<Local>& times) {
  const bool elapsed = cron.minute.star || cron.hour.star;
  std::vector<std::int64_t> found;
  std::int64_t latest = times[0].minute - 1;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Local& at = times[i];
    bool fires = cron.fires(at) && (elapsed || at.minute > latest);
    for (std::int64_t skipped = latest + 1; !elapsed && skipped < at.minute; ++skipped)
      fires = fires || cron.fires(shown(skipped));
    latest = std::max(latest, at.minute);
    if (fires) found.push_back((kBegin + static_cast<std::int64_t>(i) * 60) * 1000);
  }
  return found;
}

void expect_same(const Cron& cron, const char* zone, const std::vector<Local>& times,
                 Generator& random) {
  Timetable table;
  Diagnostic why;
  ASSERT_EQ(table.parse(cron.text(), zone, why), Status::kOk) << cron.text() << ": " << why.text();
  const std::vector<std::int64_t> expected = counted(cron, times);
  std::int64_t at = kBegin * 1000 - 1;
  for (const std::int64_t time : expected) {
    const auto next = table.next_after(at);
    ASSERT_EQ(next, time) << cron.text() << " in " << zone << " after " << at;
    at = *next;
  }
  const auto beyond = table.next_after(at);
  if (beyond.has_value()) {
    ASSERT_GE(*beyond, (kBegin + kMinutes * 60) * 1000) << cron.text();
  }
  for (int i = 0; i < 50; ++i) {
    const std::int64_t from = (kBegin + random.below(static_cast<int>(kMinutes)) * 60LL) * 1000;
    const std::int64_t until = from + random.below(90 * 1440) * 60'000LL;
    const auto next = std::upper_bound(expected.begin(), expected.end(), from);
    if (next == expected.end()) continue;
    ASSERT_EQ(table.next_after(from), *next) << cron.text() << " in " << zone;
    if (until >= (kBegin + kMinutes * 60) * 1000) continue;
    const auto behind = std::upper_bound(next, expected.end(), until);
    const auto last = behind == next ? std::nullopt : std::optional(*(behind - 1));
    ASSERT_EQ(table.last_between(from, until), last) << cron.text() << " in " << zone;
  }
}

class TimetableOracle : public ::testing::TestWithParam<const char*> {};

TEST_P(TimetableOracle, fires_when_a_count_by_minutes_says_so) {
  const std::vector<Local> times = local_times(GetParam());
  Generator random(1);
  for (int i = 0; i < 12 && !HasFatalFailure(); i += PAWL_SAMPLE) {
    Cron cron;
    // In the first half of the rounds the hours are those at which local time jumps.
    cron.minute = random.field(0, 59, i % 4 == 3);
    cron.hour = random.field(0, i < 6 ? 4 : 23, i % 8 == 2);
    cron.day = random.field(1, 28, random.below(2) == 0);
    cron.month = random.field(1, 12, random.below(2) == 0);
    cron.weekday = random.field(0, 7, random.below(2) == 0);
    // A star covers the whole range of its field, so the smaller range above would be wrong for it.
    if (cron.hour.star && i < 6) cron.hour = random.field(0, 23, true);
    if (cron.day.star) cron.day = random.field(1, 31, true);
    expect_same(cron, GetParam(), times, random);
  }
}

INSTANTIATE_TEST_SUITE_P(Zones, TimetableOracle, ::testing::ValuesIn(kZones),
                         [](const auto& zone) { return "zone" + std::to_string(zone.index); });

}  // namespace
}  // namespace pawl
