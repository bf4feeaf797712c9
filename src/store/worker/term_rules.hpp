// WorkerTerms: the terms on which one worker holds sessions and work, in plain ms.
//
// Purpose: holds Options::leases and Options::sessions (pawl/options.hpp), checked and in the unit
// in which rules and storage count. docs/rules/session.md has the rules that these numbers set
// limits for.
#ifndef PAWL_STORE_WORKER_TERM_RULES_HPP
#define PAWL_STORE_WORKER_TERM_RULES_HPP

#include <cstdint>

#include "pawl/options.hpp"
#include "pawl/status.hpp"

namespace pawl {

// The shortest lease of a session on a store that machines share.
inline constexpr std::int64_t kSharedLeaseMsMin = 10'000;

struct WorkerTerms {
  // The default options.
  WorkerTerms() : WorkerTerms(LeaseOptions(), SessionOptions()) {}
  WorkerTerms(const LeaseOptions& leases, const SessionOptions& sessions);

  // For a store that machines share: an owner may not count on its lease to the end (F6), so it
  // renews earlier.
  void leave_margin();
  // The interval at which all leases of a worker are renewed together: the shorter one of both.
  [[nodiscard]] std::int64_t renewal_interval_ms() const;

  std::int64_t session_lock_timeout_ms;
  std::int64_t session_lock_renewal_buffer_ms;
  std::int64_t worker_lock_timeout_ms;
  std::int64_t worker_lock_renewal_buffer_ms;
  std::int64_t session_idle_timeout_ms;
  std::int64_t session_cleanup_interval_ms;
  std::int64_t evict_idle_ms;
  std::int64_t leak_open_ms;
  std::int64_t leak_unused_ms;
  std::uint32_t max_sessions_per_worker;
  bool fast_handoff;
};

// kInvalidOptions with a diagnostic that names both values of the violated rule.
Status validate(const LeaseOptions& leases, const SessionOptions& sessions, Diagnostic& diagnostic);

}  // namespace pawl

#endif  // PAWL_STORE_WORKER_TERM_RULES_HPP
