// Results: which result of an execution counts, and what ends an item that has none.
//
// Rules: docs/rules, S4, S15, S19 and S58. Ownership, thread rule: pure functions of plain
// values. Errors: none.
#ifndef PAWL_STORE_WORK_RESULT_RULES_HPP
#define PAWL_STORE_WORK_RESULT_RULES_HPP

#include <cstdint>
#include <optional>

#include "store/row_rules.hpp"
#include "store/work/retry_rules.hpp"
#include "store/worker/evidence_rules.hpp"

namespace pawl::rules {

// The last hand-over, by the row.
struct LastHandOver {
  WorkState state = WorkState::kReady;
  std::optional<LockToken> token;
  Epoch epoch = 0;  // the epoch it was handed over under; 0 without a session
  SessionKey session = 0;
  Epoch session_epoch = 0;  // the epoch in the session's row
};
// The hand-over that an execution returns from.
struct Returned {
  LockToken token = 0;
  Epoch epoch = 0;
  SessionKey session = 0;
};

// Whether the result of this hand-over counts. Time is no part of the rule: an expired lock that no
// worker took is valid.
[[nodiscard]] bool accepts(const LastHandOver& row, const Returned& done);
// Whether an execution of cancelled work has ended: no caller wants its result.
[[nodiscard]] bool ends_cancelled(const LastHandOver& row, const Returned& done);

enum class Acknowledged : std::uint8_t {
  kStale,
  kCancelledEnded,
  kAborts,  // the outcome is stored, and the session is lost
  kRetries,
  kCompletes,
};
struct AttemptResult {
  Failure failure;
  bool aborts_session = false;
};
[[nodiscard]] Acknowledged acknowledge(const LastHandOver& row, const Returned& done,
                                       const AttemptResult& result, const Retry& retry,
                                       std::int64_t failures);

// ---- answers from outside ----

// Whether an item may have a token that an answer names: while it is handed over, and then outside.
[[nodiscard]] bool may_be_answered(WorkState state);
// The step after an answer. Another attempt cannot begin beside an execution that goes on in an
// exclusive session.
[[nodiscard]] AfterFailure after_answer(WorkState state, bool exclusive, const Failure& failure,
                                        const Retry& retry, std::int64_t failures);

// ---- ends without a result ----

// The fate of an item that is cancelled, or whose outcome is stored while it may be handed over.
enum class Ended : std::uint8_t {
  kDelete,
  kKeepUntilEnd,  // its execution holds the exclusive session until it has ended
  kLeave,         // it was cancelled before
};
[[nodiscard]] Ended cancel(WorkState state, bool exclusive);
[[nodiscard]] Ended end_with_outcome(WorkState state, bool exclusive);

// The end of the lease on a lock. A lock lasts as long as the lease of the worker that holds it,
// which one row renews for all that the worker holds, and at least until `own_until`, which the
// hand-over wrote. The lock of a cancelled item ends by itself, since a hung activity may keep its
// worker alive for ever (S36).
[[nodiscard]] std::int64_t lock_lease(WorkState state, std::int64_t own_until,
                                      std::int64_t worker_until);

// The fate of a lock whose lease has passed. `gone`: the state of its holder. A lock of the asking
// worker itself, for an item that it does not run, comes from a commit whose answer was lost.
enum class ExpiredLock : std::uint8_t {
  kStays,
  kGoesWithSession,  // one observation decides about all that the session's owner holds
  kDelete,           // it was cancelled
  kUnlock,
  kUnlockWithStrike,  // on suspicion; a dead process is charged by its notes when buried
};
struct ExpiredLockFacts {
  WorkState state = WorkState::kLocked;
  bool has_session = false;
  bool is_own = false;
  bool runs_here = false;
};
// Whether the lock's holder is judged for this lock alone. Otherwise `gone` is not read.
[[nodiscard]] bool needs_evidence(const ExpiredLockFacts& lock);
[[nodiscard]] ExpiredLock look_at_expired_lock(const ExpiredLockFacts& lock, Gone gone);

}  // namespace pawl::rules

#endif  // PAWL_STORE_WORK_RESULT_RULES_HPP
