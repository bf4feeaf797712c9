#include <cstdint>

#include "parts/schedule/calendar.hpp"
#include "parts/schedule/schedule_text.hpp"

namespace pawl::internal {
namespace {

constexpr const char* kMonths[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                   "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr const char* kWeekdays[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
constexpr std::size_t kNameBytes = 3;

struct Field {
  const char* name;
  std::int32_t least;
  std::int32_t most;
  const char* const* names = nullptr;
  std::int32_t names_count = 0;
};
constexpr Field kFields[] = {{"minute", 0, 59},
                             {"hour", 0, 23},
                             {"day of the month", 1, 31},
                             {"month", 1, 12, kMonths, 12},
                             {"day of the week", 0, 7, kWeekdays, 7}};

char upper(char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); }

class FieldReader {
 public:
  FieldReader(const Field& field, std::string_view text, Diagnostic& why)
      : field_(field), text_(text), cursor_(text), why_(why) {}

  // Reads a list of parts, or explains the first mistake.
  Status read(std::uint64_t* set) {
    *set = 0;
    do {
      if (const Status status = read_part(set); status != Status::kOk) return status;
    } while (cursor_.take(','));
    return cursor_.at_end() ? Status::kOk : refuse("is not expected here");
  }

 private:
  Status refuse(const char* what) {
    const std::size_t at = cursor_.position();
    if (cursor_.at_end()) {
      why_.format("%s, at %zu: the field ends, and \"%.*s\" %s", field_.name, at,
                  static_cast<int>(text_.size()), text_.data(), what);
    } else {
      why_.format("%s, at %zu: \"%.*s\" %s", field_.name, at,
                  static_cast<int>(text_.size() - at + 1), text_.data() + at - 1, what);
    }
    return Status::kInvalidArgument;
  }
  Status refuse_number(std::size_t at, std::int32_t number, std::int32_t least, std::int32_t most) {
    why_.format("%s, at %zu: %d is not in %d..%d", field_.name, at, number, least, most);
    return Status::kInvalidArgument;
  }

  Status read_value(std::int32_t* value) {
    const std::size_t at = cursor_.position();
    if (is_letter(cursor_.peek()) && field_.names != nullptr) return read_name(value);
    if (!cursor_.number(value)) return refuse("is no number");
    if (*value >= field_.least && *value <= field_.most) return Status::kOk;
    return refuse_number(at, *value, field_.least, field_.most);
  }
  Status read_name(std::int32_t* value) {
    const std::string_view rest = text_.substr(cursor_.position() - 1);
    const bool is_short =
        rest.size() >= kNameBytes && (rest.size() == kNameBytes || !is_letter(rest[kNameBytes]));
    for (std::int32_t i = 0; is_short && i < field_.names_count; ++i) {
      const char* const name = field_.names[i];
      if (upper(rest[0]) != name[0] || upper(rest[1]) != name[1] || upper(rest[2]) != name[2])
        continue;
      for (std::size_t k = 0; k < kNameBytes; ++k)
        cursor_.skip();
      *value = i + field_.least;
      return Status::kOk;
    }
    return refuse("is no name of three letters");
  }

  // Reads a value, a range, or *; the last two may have a step.
  Status read_part(std::uint64_t* set) {
    std::int32_t first = field_.least;
    std::int32_t last = field_.most;
    bool is_range = cursor_.take('*');
    if (!is_range) {
      if (const Status status = read_value(&first); status != Status::kOk) return status;
      last = first;
      const std::size_t at = cursor_.position();
      is_range = cursor_.take('-');
      if (is_range) {
        if (const Status status = read_value(&last); status != Status::kOk) return status;
        // FRI-SUN: Sunday is 7 at the end of a range.
        if (field_.most == 7 && last == 0 && first > 0) last = 7;
        if (last < first) {
          why_.format("%s, at %zu: the range goes down, from %d to %d", field_.name, at, first,
                      last);
          return Status::kInvalidArgument;
        }
      }
    }
    std::int32_t step = 1;
    if (cursor_.peek() == '/') {
      if (!is_range) return refuse("is a step, which needs a range or *");
      cursor_.skip();
      const std::size_t at = cursor_.position();
      if (!cursor_.number(&step)) return refuse("is no number");
      if (step < 1 || step > field_.most) return refuse_number(at, step, 1, field_.most);
    }
    for (std::int32_t value = first; value <= last; value += step)
      *set |= std::uint64_t{1} << value;
    return Status::kOk;
  }

  const Field& field_;
  std::string_view text_;
  TextCursor cursor_;
  Diagnostic& why_;
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Takes the next word between blanks; empty: there is none.
std::string_view take_word(std::string_view* text) {
  std::size_t begin = 0;
  while (begin < text->size() && is_blank((*text)[begin]))
    ++begin;
  std::size_t end = begin;
  while (end < text->size() && !is_blank((*text)[end]))
    ++end;
  const std::string_view word = text->substr(begin, end - begin);
  text->remove_prefix(end);
  return word;
}

// False for 30 February and the like.
bool has_some_day(const CronFields& cron) {
  if (!cron.any_weekday && !cron.any_day) return true;
  constexpr std::int64_t kLeapYear = 2000;
  for (std::int32_t month = 1; month <= 12; ++month) {
    if ((cron.months >> month & 1U) == 0) continue;
    for (std::int32_t day = 1; day <= calendar::days_in_month(kLeapYear, month); ++day)
      if ((cron.days >> day & 1U) != 0) return true;
  }
  return false;
}

}  // namespace

Status read_cron(std::string_view text, CronFields* out, Diagnostic& why) {
  std::uint64_t sets[5] = {};
  bool is_any[5] = {};
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string_view word = take_word(&text);
    if (word.empty()) {
      why.format("%s: the field is missing, a cron text has five", kFields[i].name);
      return Status::kInvalidArgument;
    }
    is_any[i] = word[0] == '*';
    const Status status = FieldReader(kFields[i], word, why).read(&sets[i]);
    if (status != Status::kOk) return status;
  }
  if (const std::string_view word = take_word(&text); !word.empty()) {
    why.format("\"%.*s\" stands behind the five fields", static_cast<int>(word.size()),
               word.data());
    return Status::kInvalidArgument;
  }
  constexpr std::uint64_t kSundays = std::uint64_t{1} | std::uint64_t{1} << 7U;
  if ((sets[4] & kSundays) != 0) sets[4] |= kSundays;
  CronFields cron;
  cron.minutes = sets[0];
  cron.hours = static_cast<std::uint32_t>(sets[1]);
  cron.days = static_cast<std::uint32_t>(sets[2]);
  cron.months = static_cast<std::uint32_t>(sets[3]);
  cron.weekdays = static_cast<std::uint32_t>(sets[4]);
  cron.any_day = is_any[2];
  cron.any_weekday = is_any[4];
  cron.by_elapsed_time = is_any[0] || is_any[1];
  if (!has_some_day(cron)) {
    why.format("day of the month: the months given have no such day, so it never fires");
    return Status::kInvalidArgument;
  }
  *out = cron;
  return Status::kOk;
}

}  // namespace pawl::internal
