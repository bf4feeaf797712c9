// ActivityOptions: how an activity is repeated, and how long it may take.
//
// Purpose: the policy is part of the command, so that it is compared on replay; attempts that fail
// write no history, only the outcome does. Ownership: plain values; names are copied. Thread rule:
// none.
#ifndef PAWL_ACTIVITY_OPTIONS_HPP
#define PAWL_ACTIVITY_OPTIONS_HPP

#include <chrono>
#include <cstdint>
#include "pawl/name.hpp"
#include "pawl/target.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// The pause before the next attempt, after the n-th has failed.
enum class Backoff : std::uint8_t {
  kNone,         // 0
  kFixed,        // base
  kLinear,       // n * base
  kExponential,  // base, 2 * base, 4 * base ..
};

// An attempt is repeated if it said fail(), or if start_to_close or heartbeat_timeout passed. It is
// not repeated after fail_permanently(), after a result that is too long, and after all that is not
// the attempt's own doing (poison, a damaged row, the other limits of ActivityOptions).
struct Retry {
  std::int32_t max_attempts = 1;  // 1..1000000, with the first; 1: no retries
  Backoff backoff = Backoff::kExponential;
  std::chrono::milliseconds base{1'000};  // 0..kDurationMax
  std::chrono::milliseconds cap{60'000};  // no pause is longer; base..kDurationMax
  std::int32_t jitter_percent =
      0;  // 0..100: a pause is shortened by up to so much, always by the same
};

// All limits: 0 is none; at most kDurationMax. Time in which the machine is off counts for no limit
// and no pause. The error is kTimeout, for schedule_to_start kNotStarted, for a missing heartbeat
// kHeartbeatTimeout; its text names the limit.
struct ActivityOptions {
  Target target;  // where it runs; by default any worker
  // Only workers that serve this tag take the activity (Options::worker_tag_filter). 1..256 bytes
  // without control characters; empty: no tag.
  Name tag;
  Retry retry;
  std::chrono::milliseconds start_to_close{
      0};  // one attempt, from its hand-over; then the next may follow
  std::chrono::milliseconds schedule_to_close{
      0};  // all attempts and pauses, from the commit of the call
  // Until a worker takes the activity for the first time, also if no living worker serves its tag
  // or has its name registered. Any Runtime of the database that lives ends it.
  std::chrono::milliseconds schedule_to_start{0};
  // Between two calls of ActivityContext::heartbeat() of an attempt, and before the first; then the
  // next attempt may follow.
  std::chrono::milliseconds heartbeat_timeout{0};
};

inline constexpr std::chrono::milliseconds kDurationMax =
    std::chrono::milliseconds(31'536'000'000);  // 365 days

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_ACTIVITY_OPTIONS_HPP
