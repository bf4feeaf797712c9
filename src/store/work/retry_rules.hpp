// Retry: what follows a failed attempt or a limit that has passed, and how long the next attempt
// waits.
//
// Rules: pawl/activity_options.hpp; docs/rules/session.md, S9. Ownership, thread rule: pure
// functions of plain values.
// Errors: none.
#ifndef PAWL_STORE_WORK_RETRY_RULES_HPP
#define PAWL_STORE_WORK_RETRY_RULES_HPP

#include <cstdint>

#include "pawl/activity_options.hpp"
#include "pawl/error.hpp"
#include "store/row_rules.hpp"

namespace pawl::rules {

// `failures`: attempts that have failed before this one. True: if this attempt fails, another one
// follows.
[[nodiscard]] bool may_retry(const Retry& retry, std::int64_t failures);

// The pause after `failures` failed attempts. `seed` is fixed for the activity, so the pause is
// always the same.
[[nodiscard]] std::int64_t retry_delay_ms(const Retry& retry, std::int64_t failures,
                                          std::uint64_t seed);

// The step after an attempt that ended with an error, or after a limit of it passed.
enum class AfterFailure : std::uint8_t {
  kRetry,  // after retry_delay_ms()
  kFail,   // the error is the outcome
};
struct Failure {
  ErrorKind error = ErrorKind::kNone;
  bool permanent = false;  // no retry can repair it
};
[[nodiscard]] AfterFailure after_failure(const Retry& retry, std::int64_t failures,
                                         const Failure& failure);

// ---- limits of an activity ----

struct Limits {
  OptionalMs start_due;   // for its first hand-over
  OptionalMs close_due;   // for all attempts together
  OptionalMs silent_due;  // for the next heartbeat; else the attempt's limit has passed
};
enum class Overdue : std::uint8_t { kNotStarted, kAll, kAttempt, kSilence };
// Which limit of overdue work has passed; if several, the one that most excludes another attempt.
[[nodiscard]] Overdue passed_limit(const Limits& limits, std::int64_t now);
[[nodiscard]] ErrorKind error_of(Overdue limit);
// `exclusive`: such a session cannot run another execution beside one that goes on.
[[nodiscard]] AfterFailure after_overdue(Overdue limit, const Retry& retry, std::int64_t failures,
                                         bool exclusive);

// ---- work that its owner cannot run ----

// How often a session with running work is left alone before it takes no more work and moves.
inline constexpr std::int64_t kUnregisteredPatience = 7;
// An item that blocks a session with running work waits 1, 2, 4 .. 60 s. `count`: how often it has
// waited.
[[nodiscard]] std::int64_t unregistered_delay_ms(std::int64_t count);

}  // namespace pawl::rules

#endif  // PAWL_STORE_WORK_RETRY_RULES_HPP
