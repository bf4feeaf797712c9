// Reads the two texts of a Timetable into sets and rules.
//
// Purpose: the parts of Timetable::parse(). Ownership: nothing is kept. Thread rule: callable from
// any thread.
#ifndef PAWL_PARTS_SCHEDULE_SCHEDULE_TEXT_HPP
#define PAWL_PARTS_SCHEDULE_SCHEDULE_TEXT_HPP

#include <cstddef>
#include <string_view>

#include "pawl/timetable.hpp"

namespace pawl::internal {

// Reads a text from its beginning to its end.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  // Returns 0 at the end: no text of a schedule has such a byte.
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  void skip() { ++at_; }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    if (!at_end()) skip();
    return true;
  }
  [[nodiscard]] std::size_t position() const { return at_ + 1; }
  // Reads a number without a sign, of at most three digits more than any field takes.
  bool number(std::int32_t* out) {
    constexpr std::int32_t kMost = 100'000;
    const std::size_t begin = at_;
    *out = 0;
    while (peek() >= '0' && peek() <= '9' && *out < kMost) {
      *out = *out * 10 + (peek() - '0');
      skip();
    }
    return at_ > begin;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Each returns kOk; or kInvalidArgument, and `why` says where.
Status read_cron(std::string_view text, CronFields* out, Diagnostic& why);
Status read_zone(std::string_view text, ZoneRules* out, Diagnostic& why);

}  // namespace pawl::internal

#endif  // PAWL_PARTS_SCHEDULE_SCHEDULE_TEXT_HPP
