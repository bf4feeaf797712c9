#include "session_options.hpp"

#include <cinttypes>

namespace pawl {

namespace {

// Below a second the lease would be shorter than one busy wait for the write lock.
constexpr std::int64_t kLeaseMsMin = 1'000;
// Sums of a Pawl time and an option must not overflow.
constexpr std::uint32_t kOpenSessionsMax = 1'000;
constexpr std::uint32_t kSessionsOfOwnerMax = 1'000'000;
constexpr std::int64_t kDurationMsMax = std::int64_t{1} << 50;

Status in_range(const char* name, std::int64_t value, std::int64_t least, Diagnostic& diagnostic) {
  if (value >= least && value <= kDurationMsMax) return Status::kOk;
  diagnostic.format("%s (%" PRId64 " ms) must be from %" PRId64 " to %" PRId64 " ms", name, value,
                    least, kDurationMsMax);
  return Status::kInvalidOptions;
}

Status buffer_fits(const char* buffer_name, std::int64_t buffer, const char* timeout_name,
                   std::int64_t timeout, Diagnostic& diagnostic) {
  if (buffer > 0 && buffer < timeout) return Status::kOk;
  diagnostic.format("%s (%" PRId64 " ms) must be above 0 and below %s (%" PRId64 " ms)",
                    buffer_name, buffer, timeout_name, timeout);
  return Status::kInvalidOptions;
}

}  // namespace

Status validate(const SessionOptions& options, Diagnostic& diagnostic) {
  PAWL_TRY(
      in_range("session_lock_timeout", options.session_lock_timeout_ms, kLeaseMsMin, diagnostic));
  PAWL_TRY(
      in_range("worker_lock_timeout", options.worker_lock_timeout_ms, kLeaseMsMin, diagnostic));
  PAWL_TRY(in_range("session_idle_timeout", options.session_idle_timeout_ms, 1, diagnostic));
  PAWL_TRY(
      in_range("session_cleanup_interval", options.session_cleanup_interval_ms, 1, diagnostic));
  PAWL_TRY(in_range("evict_idle", options.evict_idle_ms, 0, diagnostic));
  PAWL_TRY(in_range("leak_open", options.leak_open_ms, 0, diagnostic));
  PAWL_TRY(in_range("leak_unused", options.leak_unused_ms, 0, diagnostic));
  PAWL_TRY(buffer_fits("session_lock_renewal_buffer", options.session_lock_renewal_buffer_ms,
                       "session_lock_timeout", options.session_lock_timeout_ms, diagnostic));
  PAWL_TRY(buffer_fits("worker_lock_renewal_buffer", options.worker_lock_renewal_buffer_ms,
                       "worker_lock_timeout", options.worker_lock_timeout_ms, diagnostic));
  if (options.max_sessions_per_orchestration < 1 ||
      options.max_sessions_per_orchestration > kOpenSessionsMax) {
    diagnostic.format("max_sessions_per_orchestration (%" PRIu32 ") must be from 1 to %" PRIu32,
                      options.max_sessions_per_orchestration, kOpenSessionsMax);
    return Status::kInvalidOptions;
  }
  if (options.max_sessions_per_owner > kSessionsOfOwnerMax) {
    diagnostic.format("max_sessions_per_owner (%" PRIu32 ") must be from 0 to %" PRIu32,
                      options.max_sessions_per_owner, kSessionsOfOwnerMax);
    return Status::kInvalidOptions;
  }
  // A running activity shows itself at every renewal of its lock; a shorter idle timeout would take
  // its session away in between.
  const std::int64_t renewal =
      options.worker_lock_timeout_ms - options.worker_lock_renewal_buffer_ms;
  if (options.session_idle_timeout_ms > renewal) return Status::kOk;
  diagnostic.format("session_idle_timeout (%" PRId64
                    " ms) must be greater than the worker lock renewal interval (%" PRId64
                    " ms = worker_lock_timeout %" PRId64 " ms - worker_lock_renewal_buffer %" PRId64
                    " ms): sessions would be released while their activities run",
                    options.session_idle_timeout_ms, renewal, options.worker_lock_timeout_ms,
                    options.worker_lock_renewal_buffer_ms);
  return Status::kInvalidOptions;
}

std::int64_t renewal_interval_ms(const SessionOptions& options) {
  const std::int64_t session =
      options.session_lock_timeout_ms - options.session_lock_renewal_buffer_ms;
  const std::int64_t worker =
      options.worker_lock_timeout_ms - options.worker_lock_renewal_buffer_ms;
  return session < worker ? session : worker;
}

}  // namespace pawl
