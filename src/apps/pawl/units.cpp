#include "apps/pawl/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <limits>

namespace pawl::tool {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t worth;
};
constexpr Unit kDurations[] = {{"w", 604'800'000}, {"d", 86'400'000}, {"h", 3'600'000},
                               {"m", 60'000},      {"s", 1'000},      {"ms", 1}};
constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kK = 1000;
constexpr Unit kSizes[] = {{"", 1},
                           {"B", 1},
                           {"K", kKi},
                           {"KiB", kKi},
                           {"M", kKi* kKi},
                           {"MiB", kKi* kKi},
                           {"G", kKi* kKi* kKi},
                           {"GiB", kKi* kKi* kKi},
                           {"T", kKi* kKi* kKi* kKi},
                           {"TiB", kKi* kKi* kKi* kKi},
                           {"KB", kK},
                           {"MB", kK* kK},
                           {"GB", kK* kK* kK},
                           {"TB", kK* kK* kK* kK}};

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes the number that `*rest` begins with, and returns it.
std::optional<std::int64_t> take_number(std::string_view* rest) {
  std::int64_t number = 0;
  if (rest->empty() || !is_digit(rest->front())) return std::nullopt;
  const auto end = std::from_chars(rest->data(), rest->data() + rest->size(), number);
  if (end.ec != std::errc()) return std::nullopt;
  rest->remove_prefix(static_cast<std::size_t>(end.ptr - rest->data()));
  return number;
}

template <std::size_t kCount>
std::optional<std::int64_t> worth_of(const Unit (&units)[kCount], std::string_view name,
                                     std::int64_t number) {
  for (const Unit& unit : units)
    if (unit.name == name && number <= kMost / unit.worth) return number * unit.worth;
  return std::nullopt;
}

// Whether the format takes all of `text`.
bool matches(const std::string& text, const char* format, std::tm* out) {
  *out = {};
  const char* const end = ::strptime(text.c_str(), format, out);
  return end != nullptr && *end == '\0';
}

// strptime() accepts the 31st of February, and timegm() makes another day of it.
bool same_day(const std::tm& a, const std::tm& b) {
  return a.tm_mday == b.tm_mday && a.tm_mon == b.tm_mon && a.tm_year == b.tm_year;
}

std::optional<std::int64_t> parse_date_ms(std::string text) {
  const bool utc = !text.empty() && text.back() == 'Z';
  if (utc) text.pop_back();
  std::replace(text.begin(), text.end(), ' ', 'T');
  std::tm read = {};
  if (!matches(text, "%Y-%m-%dT%H:%M:%S", &read) && !matches(text, "%Y-%m-%dT%H:%M", &read) &&
      !matches(text, "%Y-%m-%d", &read))
    return std::nullopt;
  std::tm made = read;
  made.tm_isdst = -1;
  const std::int64_t seconds = utc ? ::timegm(&made) : std::mktime(&made);
  if (!same_day(read, made)) return std::nullopt;
  return seconds * 1000;
}

std::string date_of(const std::tm& time) {
  std::array<char, 64> text = {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &time)};
}

std::string clock_of(const std::tm& time) {
  std::array<char, 64> text = {};
  return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &time)};
}

}  // namespace

std::optional<std::int64_t> parse_number(std::string_view text) {
  const std::optional<std::int64_t> number = take_number(&text);
  return text.empty() ? number : std::nullopt;
}

std::optional<std::int64_t> parse_duration_ms(std::string_view text) {
  if (text == "0") return 0;
  std::int64_t sum = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::optional<std::int64_t> number = take_number(&text);
    if (!number.has_value()) return std::nullopt;
    const auto end = std::find_if(text.begin(), text.end(), is_digit);
    const auto size = static_cast<std::size_t>(end - text.begin());
    const auto ms = worth_of(kDurations, text.substr(0, size), *number);
    if (!ms.has_value() || *ms > kMost - sum) return std::nullopt;
    sum += *ms;
    text.remove_prefix(size);
  }
  return sum;
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  const std::optional<std::int64_t> number = take_number(&text);
  return number.has_value() ? worth_of(kSizes, text, *number) : std::nullopt;
}

std::optional<std::int64_t> parse_time_ms(std::string_view text, std::int64_t now_ms) {
  if (const auto ms = parse_number(text); ms.has_value()) return ms;
  if (const auto ago = parse_duration_ms(text); ago.has_value())
    return *ago <= now_ms ? std::optional(now_ms - *ago) : std::nullopt;
  return parse_date_ms(std::string(text));
}

std::string duration_text(std::int64_t ms) {
  if (ms < 0)
    return ms == std::numeric_limits<std::int64_t>::min() ? "-" : "-" + duration_text(-ms);
  if (ms < 1'000) return std::to_string(ms) + "ms";
  const Unit* unit = kDurations;
  while (ms < unit->worth)
    ++unit;
  std::string text = std::to_string(ms / unit->worth).append(unit->name);
  const std::int64_t rest = unit->worth == 1'000 ? 0 : ms % unit->worth / unit[1].worth;
  if (rest > 0) text.append(" ").append(std::to_string(rest)).append(unit[1].name);
  return text;
}

std::string counted(std::int64_t count, const char* one, const char* more) {
  return std::to_string(count) + " " + (count == 1 ? one : more);
}

std::string size_text(std::int64_t bytes) {
  static constexpr const char* kNames[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kNames); ++unit)
    value /= 1024;
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kNames[unit]);
  return text.data();
}

std::string utc_text(std::int64_t ms) {
  const std::int64_t fraction = (ms % 1000 + 1000) % 1000;
  const std::time_t seconds = (ms - fraction) / 1000;
  std::tm time = {};
  if (::gmtime_r(&seconds, &time) == nullptr) return std::to_string(ms);
  std::array<char, 16> rest = {};
  std::snprintf(rest.data(), rest.size(), ".%03dZ", static_cast<int>(fraction));
  return date_of(time) + "T" + clock_of(time) + rest.data();
}

std::string local_text(std::int64_t ms, std::int64_t now_ms) {
  const std::time_t seconds = ms / 1000;
  const std::time_t now = now_ms / 1000;
  std::tm time = {};
  std::tm today = {};
  if (::localtime_r(&seconds, &time) == nullptr || ::localtime_r(&now, &today) == nullptr)
    return std::to_string(ms);
  const std::string clock = (same_day(time, today) ? "" : date_of(time) + " ") + clock_of(time);
  const std::int64_t ago = now_ms - ms;
  if (ago < 0) return clock + " (in " + duration_text(-ago) + ")";
  return clock + " (" + (ago < 1'000 ? "now" : duration_text(ago) + " ago") + ")";
}

}  // namespace pawl::tool
