// OptionalMs: a time or a span in milliseconds that may be absent.
//
// Purpose: a time can be any number. Boot time is below 0 for everything that came due while the
// machine was off, and Pawl time is in a database that another machine's clock has written; so no
// number is free to mean "none". The order of two of them is not defined here, because "none" is
// neither early nor late: callers ask has_passed(), or keep the earlier one.
// Ownership: a plain value. Thread rule: none. Units: milliseconds; the name of the variable says
// of which clock.
#ifndef PAWL_OPTIONAL_MS_HPP
#define PAWL_OPTIONAL_MS_HPP

#include <cstdint>
#pragma GCC visibility push(default)

namespace pawl {

class OptionalMs {
 public:
  constexpr OptionalMs() = default;  // none
  // Implicit: a known time is a time that may be absent.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr OptionalMs(std::int64_t ms) : ms_(ms), has_value_(true) {}

  [[nodiscard]] constexpr bool has_value() const { return has_value_; }
  // Requires: has_value().
  [[nodiscard]] constexpr std::int64_t value() const { return ms_; }
  [[nodiscard]] constexpr std::int64_t value_or(std::int64_t other) const {
    return has_value_ ? ms_ : other;
  }
  // None never passes.
  [[nodiscard]] constexpr bool has_passed(std::int64_t now_ms) const {
    return has_value_ && ms_ <= now_ms;
  }
  // Keeps the earlier of both; none if both are.
  constexpr void keep_earlier(OptionalMs other) {
    if (other.has_value_ && (!has_value_ || other.ms_ < ms_)) *this = other;
  }
  constexpr void clear() { *this = OptionalMs(); }

  friend constexpr bool operator==(OptionalMs a, OptionalMs b) {
    return a.has_value_ == b.has_value_ && a.ms_ == b.ms_;
  }
  friend constexpr bool operator!=(OptionalMs a, OptionalMs b) { return !(a == b); }

 private:
  std::int64_t ms_ = 0;
  bool has_value_ = false;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_OPTIONAL_MS_HPP
