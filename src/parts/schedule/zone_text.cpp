#include <cstdint>

#include "parts/schedule/schedule_text.hpp"

namespace pawl::internal {
namespace {

class ZoneReader {
 public:
  ZoneReader(std::string_view text, Diagnostic& why) : text_(text), cursor_(text), why_(why) {}

  bool read(ZoneRules* zone) {
    constexpr std::int32_t kHoursMax = 24;
    std::int32_t west = 0;
    if (!read_name() || !read_time(kHoursMax, &west)) return false;
    zone->standard = -west;
    if (cursor_.at_end()) return true;
    zone->has_daylight = true;
    if (!read_name()) return false;
    zone->daylight = zone->standard + kMinutesAnHour;
    if (cursor_.peek() != ',' && !cursor_.at_end()) {
      if (!read_time(kHoursMax, &west)) return false;
      zone->daylight = -west;
    }
    return read_comma() && read_change(&zone->begin) && read_comma() && read_change(&zone->end) &&
           (cursor_.at_end() || refuse("is not expected here"));
  }

 private:
  static constexpr std::int32_t kMinutesAnHour = 60;

  bool refuse(const char* what) {
    const std::size_t at = cursor_.position();
    why_.format("time zone, at %zu: \"%.*s\" %s", at, static_cast<int>(text_.size() - at + 1),
                text_.data() + at - 1, what);
    return false;
  }

  // Reads three or more letters, or other characters between angle brackets.
  bool read_name() {
    const bool quoted = cursor_.take('<');
    std::size_t size = 0;
    for (;; ++size) {
      const char c = cursor_.peek();
      if (!is_letter(c) && !(quoted && (is_digit(c) || c == '+' || c == '-'))) break;
      cursor_.skip();
    }
    if (quoted && !cursor_.take('>')) return refuse("does not end a name that begins with <");
    return size >= 3 || refuse("is no name of a zone, which has three letters or more");
  }

  bool read_number(std::int32_t least, std::int32_t most, std::int32_t* out) {
    const TextCursor begin = cursor_;
    if (!cursor_.number(out)) return refuse("is no number");
    if (*out >= least && *out <= most) return true;
    why_.format("time zone, at %zu: %d is not in %d..%d", begin.position(), *out, least, most);
    return false;
  }

  // Reads [+-]hh[:mm[:00]], in minutes.
  bool read_time(std::int32_t hours_max, std::int32_t* minutes) {
    constexpr std::int32_t kMost = 59;
    const bool negative = cursor_.take('-');
    if (!negative) static_cast<void>(cursor_.take('+'));
    std::int32_t hours = 0;
    std::int32_t rest = 0;
    if (!read_number(0, hours_max, &hours)) return false;
    if (cursor_.take(':')) {
      if (!read_number(0, kMost, &rest)) return false;
      std::int32_t seconds = 0;
      if (cursor_.take(':') && !read_number(0, 0, &seconds)) return false;
    }
    *minutes = hours * kMinutesAnHour + rest;
    if (negative) *minutes = -*minutes;
    return true;
  }

  bool read_comma() {
    return cursor_.take(',') || refuse(
                                    "stands where a comma and a rule belong: when daylight time "
                                    "begins and ends");
  }
  bool read_dot() {
    return cursor_.take('.') || refuse("stands where a dot belongs, as in M3.5.0");
  }

  bool read_change(ZoneChange* change) {
    constexpr std::int32_t kChangeHoursMax = 167;
    constexpr std::int32_t kDaysMax = 365;
    bool is_read = false;
    if (cursor_.take('M')) {
      change->kind = ZoneChange::Kind::kMonthWeek;
      is_read = read_number(1, 12, &change->month) && read_dot() &&
                read_number(1, 5, &change->week) && read_dot() && read_number(0, 6, &change->day);
    } else if (cursor_.take('J')) {
      change->kind = ZoneChange::Kind::kWithoutLeapDay;
      is_read = read_number(1, kDaysMax, &change->day);
    } else {
      change->kind = ZoneChange::Kind::kDayOfYear;
      is_read = read_number(0, kDaysMax, &change->day);
    }
    if (!is_read) return false;
    return !cursor_.take('/') || read_time(kChangeHoursMax, &change->minutes);
  }

  std::string_view text_;
  TextCursor cursor_;
  Diagnostic& why_;
};

}  // namespace

Status read_zone(std::string_view text, ZoneRules* out, Diagnostic& why) {
  ZoneRules zone;
  if (!ZoneReader(text, why).read(&zone)) return Status::kInvalidArgument;
  *out = zone;
  return Status::kOk;
}

}  // namespace pawl::internal
