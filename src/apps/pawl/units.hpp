// Units: durations, sizes and times as people write and read them.
//
// Purpose: 90s, 15m and 2h30m, 64M and 10TB, 2026-11-23T10:00Z. Ownership: plain values.
// Thread rule: none. Times are ms since 1970, UTC.
#ifndef PAWL_APPS_PAWL_UNITS_HPP
#define PAWL_APPS_PAWL_UNITS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::tool {

// The sum of numbers with the units ms, s, m, h, d or w: "1h30m". Only 0 may have no unit.
[[nodiscard]] std::optional<std::int64_t> parse_duration_ms(std::string_view text);
// A number of bytes, or one with K, M, G or T (also KiB ..: powers of 1024) or with KB, MB, GB or
// TB (powers of 1000, as makers of memory cards count).
[[nodiscard]] std::optional<std::int64_t> parse_size(std::string_view text);
// "2026-11-23", also followed by "T10:00" or "T10:00:05": local time, or UTC with a Z at the end. A
// duration: this long before `now_ms`. A number: ms since 1970, as in JSON.
[[nodiscard]] std::optional<std::int64_t> parse_time_ms(std::string_view text, std::int64_t now_ms);
[[nodiscard]] std::optional<std::int64_t> parse_number(std::string_view text);

// The two largest units: "1h 30m", "250ms".
[[nodiscard]] std::string duration_text(std::int64_t ms);
// "1 device", "2 devices".
[[nodiscard]] std::string counted(std::int64_t count, const char* one, const char* more);
// "512 B", "1.5 MiB".
[[nodiscard]] std::string size_text(std::int64_t bytes);
// For programs: "2026-11-23T10:00:05.250Z".
[[nodiscard]] std::string utc_text(std::int64_t ms);
// For people: "2026-11-23 10:00:05 (3m ago)", without the date if it is today.
[[nodiscard]] std::string local_text(std::int64_t ms, std::int64_t now_ms);

}  // namespace pawl::tool

#endif  // PAWL_APPS_PAWL_UNITS_HPP
