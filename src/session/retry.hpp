// Retry: what follows a failed attempt or a limit that has passed, and how long the next one waits.
//
// Rules: pawl/activity_options.hpp; docs/rules/session.md, S9. Ownership, thread rule: pure
// functions of plain values.
// Errors: none.
#ifndef PAWL_SESSION_RETRY_HPP
#define PAWL_SESSION_RETRY_HPP

#include <cstdint>

#include "pawl/activity_options.hpp"
#include "pawl/error.hpp"
#include "rows.hpp"

namespace pawl::session {

// `failures`: attempts that have failed. A failure of the attempt at hand is not the last word.
[[nodiscard]] bool may_retry(const Retry& retry, std::int64_t failures);

// Pause after `failures` attempts have failed. `seed` is fixed for the activity, so the pause is
// always the same.
[[nodiscard]] std::int64_t retry_delay_ms(const Retry& retry, std::int64_t failures,
                                          std::uint64_t seed);

// An attempt ended with an error, or a limit of it passed.
enum class AfterFailure : std::uint8_t {
  kRetry,  // after retry_delay_ms()
  kFail,   // the error is the outcome
};
struct Failure {
  ErrorKind error = ErrorKind::kNone;
  bool permanent = false;  // no retry can mend it
};
[[nodiscard]] AfterFailure after_failure(const Retry& retry, std::int64_t failures,
                                         const Failure& failure);

// ---- limits of an activity --------------------------------------------------------------------------

struct Limits {
  OptionalMs start_due;   // of its first hand-over
  OptionalMs close_due;   // of all attempts together
  OptionalMs silent_due;  // of the next heartbeat; else what passed is the limit of one attempt
};
enum class Overdue : std::uint8_t { kNotStarted, kAll, kAttempt, kSilence };
// Which limit of work that is overdue has passed; if several, the one that leaves the least to be
// said for another attempt.
[[nodiscard]] Overdue passed_limit(const Limits& limits, std::int64_t now);
[[nodiscard]] ErrorKind error_of(Overdue limit);
// `exclusive`: beside an execution that goes on, such a session can have no other.
[[nodiscard]] AfterFailure after_overdue(Overdue limit, const Retry& retry, std::int64_t failures,
                                         bool exclusive);

// ---- work that its owner cannot run -----------------------------------------------------------------

// So often a session with running work is let be before it takes no more of it and moves.
inline constexpr std::int64_t kUnregisteredPatience = 7;
// An item that stands in the way of a session with running work waits 1, 2, 4 .. 60 s. `count`: how
// often it did.
[[nodiscard]] std::int64_t unregistered_delay_ms(std::int64_t count);

}  // namespace pawl::session

#endif  // PAWL_SESSION_RETRY_HPP
