// ActivityOptions: how an activity is repeated, and how long it may take.
//
// Purpose: the policy is part of the command, so that replay compares it. A failed attempt writes
// no history; only the outcome does. Ownership: plain values; names are copied. Thread rule: none.
#ifndef PAWL_ACTIVITY_OPTIONS_HPP
#define PAWL_ACTIVITY_OPTIONS_HPP

#include <chrono>
#include <cstdint>
#include "pawl/name.hpp"
#include "pawl/target.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// The pause before the next attempt after the n-th one failed.
enum class Backoff : std::uint8_t {
  kNone,         // 0
  kFixed,        // base
  kLinear,       // n * base
  kExponential,  // base, 2 * base, 4 * base ..
};

// An attempt is repeated if it called fail(), or if start_to_close or heartbeat_timeout passed. It
// is not repeated after fail_permanently(), after a result that is too long, or after a failure
// that is not the attempt's own (poison, a damaged row, the other limits of ActivityOptions).
struct Retry {
  std::int32_t max_attempts = 1;  // 1..1000000, the first included; 1: no retries
  Backoff backoff = Backoff::kExponential;
  std::chrono::milliseconds base{1'000};  // 0..kDurationMax
  std::chrono::milliseconds cap{60'000};  // no pause is longer; base..kDurationMax
  // 0..100: shortens a pause by up to this much. The same failure is always followed by the same
  // pause.
  std::int32_t jitter_percent = 0;
};

// In all limits 0 means none, and the most is kDurationMax. Time while the machine is off counts
// for no limit and no pause. The error is kTimeout; it is kNotStarted for schedule_to_start and
// kHeartbeatTimeout for a missing heartbeat. Its text names the limit.
struct ActivityOptions {
  Target target;  // where it runs; by default any worker
  // Only workers that serve this tag take the activity (Options::worker_tag_filter). 1..256 bytes
  // without control characters; empty: no tag.
  Name tag;
  Retry retry;
  std::chrono::milliseconds start_to_close{
      // One attempt, from its hand-over; then the next may follow.
      0};
  std::chrono::milliseconds schedule_to_close{
      // All attempts and pauses, from the commit of the call.
      0};
  // The time until a worker takes the activity for the first time. It also passes while no living
  // worker serves the tag or has registered the name. Any living Runtime of the database enforces
  // it.
  std::chrono::milliseconds schedule_to_start{0};
  // The time between two calls of ActivityContext::heartbeat() of one attempt, and before its
  // first; when it has passed, the next attempt may follow.
  std::chrono::milliseconds heartbeat_timeout{0};
};

inline constexpr std::chrono::milliseconds kDurationMax =
    std::chrono::milliseconds(31'536'000'000);  // 365 days

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_ACTIVITY_OPTIONS_HPP
