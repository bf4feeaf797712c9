#include "store/worker/term_rules.hpp"

#include <algorithm>
#include <cinttypes>

namespace pawl {

namespace {

// A lease below one second would be shorter than one busy wait for the write lock.
constexpr std::int64_t kLeaseMsMin = 1'000;
constexpr std::uint32_t kOpenSessionsMax = 1'000;
constexpr std::uint32_t kSessionsOfOwnerMax = 1'000'000;
// Sums of a Pawl time and an option must not overflow.
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

Status validate(const LeaseOptions& leases, const SessionOptions& sessions,
                Diagnostic& diagnostic) {
  const WorkerTerms terms(leases, sessions);
  PAWL_TRY(
      in_range("session_lock_timeout", terms.session_lock_timeout_ms, kLeaseMsMin, diagnostic));
  PAWL_TRY(in_range("worker_lock_timeout", terms.worker_lock_timeout_ms, kLeaseMsMin, diagnostic));
  PAWL_TRY(in_range("session_idle_timeout", terms.session_idle_timeout_ms, 1, diagnostic));
  PAWL_TRY(in_range("session_cleanup_interval", terms.session_cleanup_interval_ms, 1, diagnostic));
  PAWL_TRY(in_range("evict_idle", terms.evict_idle_ms, 0, diagnostic));
  PAWL_TRY(in_range("leak_open", terms.leak_open_ms, 0, diagnostic));
  PAWL_TRY(in_range("leak_unused", terms.leak_unused_ms, 0, diagnostic));
  PAWL_TRY(buffer_fits("session_lock_renewal_buffer", terms.session_lock_renewal_buffer_ms,
                       "session_lock_timeout", terms.session_lock_timeout_ms, diagnostic));
  PAWL_TRY(buffer_fits("worker_lock_renewal_buffer", terms.worker_lock_renewal_buffer_ms,
                       "worker_lock_timeout", terms.worker_lock_timeout_ms, diagnostic));
  if (sessions.max_sessions_per_orchestration < 1 ||
      sessions.max_sessions_per_orchestration > kOpenSessionsMax) {
    diagnostic.format("max_sessions_per_orchestration (%" PRIu32 ") must be from 1 to %" PRIu32,
                      sessions.max_sessions_per_orchestration, kOpenSessionsMax);
    return Status::kInvalidOptions;
  }
  if (sessions.max_sessions_per_owner > kSessionsOfOwnerMax) {
    diagnostic.format("max_sessions_per_owner (%" PRIu32 ") must be from 0 to %" PRIu32,
                      sessions.max_sessions_per_owner, kSessionsOfOwnerMax);
    return Status::kInvalidOptions;
  }
  // A running activity counts as activity at every renewal of its lock; a shorter idle timeout
  // would take its session away between two renewals.
  const std::int64_t renewal = terms.worker_lock_timeout_ms - terms.worker_lock_renewal_buffer_ms;
  if (terms.session_idle_timeout_ms > renewal) return Status::kOk;
  diagnostic.format("session_idle_timeout (%" PRId64
                    " ms) must be greater than the worker lock renewal interval (%" PRId64
                    " ms = worker_lock_timeout %" PRId64 " ms - worker_lock_renewal_buffer %" PRId64
                    " ms): sessions would be released while their activities run",
                    terms.session_idle_timeout_ms, renewal, terms.worker_lock_timeout_ms,
                    terms.worker_lock_renewal_buffer_ms);
  return Status::kInvalidOptions;
}

WorkerTerms::WorkerTerms(const LeaseOptions& leases, const SessionOptions& sessions)
    : session_lock_timeout_ms(leases.session_lock_timeout.count()),
      session_lock_renewal_buffer_ms(leases.session_lock_renewal_buffer.count()),
      worker_lock_timeout_ms(leases.worker_lock_timeout.count()),
      worker_lock_renewal_buffer_ms(leases.worker_lock_renewal_buffer.count()),
      session_idle_timeout_ms(sessions.session_idle_timeout.count()),
      session_cleanup_interval_ms(sessions.session_cleanup_interval.count()),
      evict_idle_ms(sessions.evict_idle.count()),
      leak_open_ms(sessions.leak_open.count()),
      leak_unused_ms(sessions.leak_unused.count()),
      max_sessions_per_worker(sessions.max_sessions_per_worker),
      fast_handoff(leases.fast_handoff) {}

// Both clocks may be off by 500 ppm, and the counts of two machines are up to 4 s apart; 1 s is for
// the owner's lateness (own_lease_end() of the rules of a fleet). A renewal at three quarters of
// the rest leaves time for another try.
void WorkerTerms::leave_margin() {
  const auto buffer = [](std::int64_t lease_ms) {
    const std::int64_t counted_ms = lease_ms - lease_ms / 1'000 - 5'001;
    return lease_ms - counted_ms / 4 * 3;
  };
  session_lock_renewal_buffer_ms =
      std::max(session_lock_renewal_buffer_ms, buffer(session_lock_timeout_ms));
  if (worker_lock_timeout_ms >= kSharedLeaseMsMin)
    worker_lock_renewal_buffer_ms =
        std::max(worker_lock_renewal_buffer_ms, buffer(worker_lock_timeout_ms));
}

std::int64_t WorkerTerms::renewal_interval_ms() const {
  const std::int64_t session = session_lock_timeout_ms - session_lock_renewal_buffer_ms;
  const std::int64_t worker = worker_lock_timeout_ms - worker_lock_renewal_buffer_ms;
  return session < worker ? session : worker;
}

}  // namespace pawl
