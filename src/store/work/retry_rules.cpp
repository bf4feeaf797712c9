#include "store/work/retry_rules.hpp"

#include "core/hash.hpp"

namespace pawl::rules {

namespace {

constexpr std::int64_t kUnregisteredFirstMs = 1'000;
constexpr std::int64_t kUnregisteredMs = 60'000;
constexpr std::int64_t kPercent = 100;
constexpr std::int64_t kShares = 10'000;

}  // namespace

bool may_retry(const Retry& retry, std::int64_t failures) {
  return failures + 1 < retry.max_attempts;
}

std::int64_t retry_delay_ms(const Retry& retry, std::int64_t failures, std::uint64_t seed) {
  std::int64_t delay = 0;
  switch (retry.backoff) {
    case Backoff::kNone: return 0;
    case Backoff::kFixed: delay = retry.base.count(); break;
    case Backoff::kLinear: delay = failures * retry.base.count(); break;  // at most 2^20 * 2^35
    case Backoff::kExponential:
      delay = retry.base.count();
      for (std::int64_t i = 1; i < failures && delay < retry.cap.count() && delay > 0; ++i)
        delay *= 2;
      break;
  }
  if (delay > retry.cap.count()) delay = retry.cap.count();
  const auto round = static_cast<std::uint64_t>(failures);
  const auto share =
      static_cast<std::int64_t>(Hash64().add(seed).add(round).value() % (kShares + 1));
  return delay - delay * retry.jitter_percent / kPercent * share / kShares;
}

AfterFailure after_failure(const Retry& retry, std::int64_t failures, const Failure& failure) {
  const bool can_mend = failure.error == ErrorKind::kApplication && !failure.permanent;
  return can_mend && may_retry(retry, failures) ? AfterFailure::kRetry : AfterFailure::kFail;
}

// ---- limits of an activity ----

Overdue passed_limit(const Limits& limits, std::int64_t now) {
  if (limits.start_due.has_passed(now)) return Overdue::kNotStarted;
  if (limits.close_due.has_passed(now)) return Overdue::kAll;
  return limits.silent_due.has_passed(now) ? Overdue::kSilence : Overdue::kAttempt;
}

ErrorKind error_of(Overdue limit) {
  switch (limit) {
    case Overdue::kNotStarted: return ErrorKind::kNotStarted;
    case Overdue::kSilence: return ErrorKind::kHeartbeatTimeout;
    case Overdue::kAll:
    case Overdue::kAttempt: break;
  }
  return ErrorKind::kTimeout;
}

AfterFailure after_overdue(Overdue limit, const Retry& retry, std::int64_t failures,
                           bool exclusive) {
  const bool is_of_attempt = limit == Overdue::kAttempt || limit == Overdue::kSilence;
  return is_of_attempt && !exclusive && may_retry(retry, failures) ? AfterFailure::kRetry
                                                                   : AfterFailure::kFail;
}

// ---- work that its owner cannot run ----

std::int64_t unregistered_delay_ms(std::int64_t count) {
  const std::int64_t steps = count < kUnregisteredPatience ? count : kUnregisteredPatience;
  const std::int64_t delay = kUnregisteredFirstMs << steps;
  return delay < kUnregisteredMs ? delay : kUnregisteredMs;
}

}  // namespace pawl::rules
