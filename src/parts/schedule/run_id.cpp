#include "parts/schedule/run_id.hpp"

#include <cstdio>

#include "parts/schedule/calendar.hpp"
#include "pawl/schedule.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kMsASecond = 1'000;
constexpr std::int64_t kSecondsADay = 86'400;
constexpr std::string_view kForm = "0000-00-00T00:00:00Z";  // '0' stands for any digit

bool has_form(std::string_view text) {
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return false;
  }
  return true;
}

// Requires: only digits, at most 18.
std::int64_t number_of(std::string_view digits) {
  std::int64_t number = 0;
  for (const char c : digits)
    number = number * 10 + (c - '0');
  return number;
}

std::optional<std::int64_t> ms_of(std::string_view text) {
  if (!has_form(text)) return std::nullopt;
  const std::int64_t year = number_of(text.substr(0, 4));
  const auto month = static_cast<std::int32_t>(number_of(text.substr(5, 2)));
  const auto day = static_cast<std::int32_t>(number_of(text.substr(8, 2)));
  const std::int64_t hour = number_of(text.substr(11, 2));
  const std::int64_t minute = number_of(text.substr(14, 2));
  const std::int64_t second = number_of(text.substr(17, 2));
  if (year < 1970 || month < 1 || month > 12 || day < 1 ||
      day > calendar::days_in_month(year, month) || hour > 23 || minute > 59 || second > 59)
    return std::nullopt;
  const std::int64_t days = calendar::day_of(year, month, day);
  return (days * kSecondsADay + hour * 3'600 + minute * 60 + second) * kMsASecond;
}

}  // namespace

namespace internal {

InstanceId run_id(std::string_view schedule, std::int64_t utc_ms,
                  std::optional<std::uint64_t> trigger) {
  const std::int64_t seconds = calendar::divide_down(utc_ms, kMsASecond);
  const std::int64_t day = calendar::divide_down(seconds, kSecondsADay);
  const calendar::Date date = calendar::date_of(day);
  const auto left = static_cast<int>(seconds - day * kSecondsADay);
  char text[kNameBytesMax + 1];
  int size =
      std::snprintf(text, sizeof text, "%.*s@%04d-%02d-%02dT%02d:%02d:%02dZ",
                    static_cast<int>(schedule.size()), schedule.data(), static_cast<int>(date.year),
                    date.month, date.day, left / 3'600, left / 60 % 60, left % 60);
  const auto used = static_cast<std::size_t>(size);
  if (trigger.has_value() && used < sizeof text)
    size += std::snprintf(text + used, sizeof text - used, "#%llu",
                          static_cast<unsigned long long>(*trigger));
  return InstanceId(std::string_view(text, static_cast<std::size_t>(size)));
}

}  // namespace internal

std::optional<ScheduledRun> scheduled_run(std::string_view instance_id) {
  constexpr std::size_t kDigitsMax = 15;
  const std::size_t at = instance_id.rfind('@');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  ScheduledRun run;
  run.schedule = instance_id.substr(0, at);
  std::string_view time = instance_id.substr(at + 1);
  const std::size_t mark = time.find('#');
  if (mark != std::string_view::npos) {
    const std::string_view digits = time.substr(mark + 1);
    const bool digits_alone = digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (digits.empty() || digits.size() > kDigitsMax || !digits_alone) return std::nullopt;
    run.trigger = static_cast<std::uint64_t>(number_of(digits));
    time = time.substr(0, mark);
  }
  const auto ms = ms_of(time);
  if (!ms.has_value()) return std::nullopt;
  run.scheduled_ms = *ms;
  return run;
}

}  // namespace pawl
