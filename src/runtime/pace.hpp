// Pace: notices a loop that turns and gets nothing done, and slows it down.
//
// Purpose: some causes make the loop run again at once, for example a row whose time has come and
// that no runtime can work with, or two rules that undo each other's work. They must not use a
// processor, or wear out a card, for ever. Every known mistake of that kind is fixed where it is
// made; this class is for the unknown ones. How: a run that the loop itself asked for, and that got
// nothing done, costs a token; work and time give tokens back. Without tokens the loop waits before
// it runs again, first kFirstMs, then twice as long each time, up to kLongestMs. This
// delays other jobs by no more than that.
// Ownership: plain values. Thread rule: one thread. Times: boot time.
#ifndef PAWL_RUNTIME_PACE_HPP
#define PAWL_RUNTIME_PACE_HPP

#include <cstdint>

#include "pawl/optional_ms.hpp"

namespace pawl {

class Pace {
 public:
  static constexpr std::int64_t kTokensMax = 1'024;
  static constexpr std::int64_t kTokensOfWork = 8;
  static constexpr std::int64_t kMsAToken = 1'000;
  static constexpr std::int64_t kFirstMs = 50;
  static constexpr std::int64_t kLongestMs = 1'000;

  // A run of the loop ended. `asked`: the run before asked for it, with no time between them. True:
  // the loop is slowed down from here on, which the caller logs.
  bool ran(bool asked, bool worked, std::int64_t now_ms) {
    refill(worked, now_ms);
    if (worked || !asked) return false;
    if (tokens_ > 0) {
      --tokens_;
      return false;
    }
    const bool begins = pause_ms_ == 0;
    pause_ms_ = begins ? kFirstMs : 2 * pause_ms_ < kLongestMs ? 2 * pause_ms_ : kLongestMs;
    until_ = now_ms + pause_ms_;
    return begins;
  }
  // Boot time until which jobs that are due at once wait; none: they need not wait.
  [[nodiscard]] OptionalMs until(std::int64_t now_ms) const {
    return until_.has_passed(now_ms) ? OptionalMs() : until_;
  }

 private:
  void refill(bool worked, std::int64_t now_ms) {
    if (!counted_.has_value() || counted_.value() > now_ms) counted_ = now_ms;
    const std::int64_t passed = (now_ms - counted_.value()) / kMsAToken;
    counted_ = counted_.value() + passed * kMsAToken;
    tokens_ += (worked ? kTokensOfWork : 0) + (passed < kTokensMax ? passed : kTokensMax);
    if (tokens_ > kTokensMax) tokens_ = kTokensMax;
    if (tokens_ > kTokensMax / 2) pause_ms_ = 0;
  }

  std::int64_t tokens_ = kTokensMax;
  OptionalMs counted_;
  std::int64_t pause_ms_ = 0;
  OptionalMs until_;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_PACE_HPP
