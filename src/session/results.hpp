// Results: which result of an execution counts, and what ends an item that has none.
//
// Rules: docs/rules, S4, S15 and S19. Ownership, thread rule: pure functions of plain
// values. Errors: none.
#ifndef PAWL_SESSION_RESULTS_HPP
#define PAWL_SESSION_RESULTS_HPP

#include <cstdint>
#include <optional>

#include "evidence.hpp"
#include "retry.hpp"
#include "rows.hpp"

namespace pawl::session {

// The hand-over that a row says is the last one.
struct HandOver {
  WorkState state = WorkState::kReady;
  std::optional<LockToken> token;
  Epoch epoch = 0;  // it was handed over under; 0 without a session
  SessionKey session = 0;
  Epoch session_epoch = 0;  // of the session's row
};
// The hand-over that an execution comes back from.
struct Returned {
  LockToken token = 0;
  Epoch epoch = 0;
  SessionKey session = 0;
};

// The rule of acceptance. Time is no part of it: an expired lock that no worker took is good.
[[nodiscard]] bool accepts(const HandOver& row, const Returned& done);
// The execution of cancelled work has ended: no caller wants its result.
[[nodiscard]] bool ends_cancelled(const HandOver& row, const Returned& done);

enum class Acknowledged : std::uint8_t {
  kStale,
  kCancelledEnded,
  kAborts,  // the outcome is stored, and its session is lost
  kRetries,
  kCompletes,
};
struct Result {
  Failure failure;
  bool aborts_session = false;
};
[[nodiscard]] Acknowledged acknowledge(const HandOver& row, const Returned& done,
                                       const Result& result, const Retry& retry,
                                       std::int64_t failures);

// What becomes of an item that is cancelled, or whose outcome is stored while it may be handed
// over.
enum class Ended : std::uint8_t {
  kDelete,
  kKeepUntilEnd,  // its execution holds its exclusive session back until it has ended
  kLeave,         // it was cancelled before
};
[[nodiscard]] Ended cancel(WorkState state, bool exclusive);
[[nodiscard]] Ended end_with_outcome(WorkState state, bool exclusive);

// A lock whose lease has passed. `gone`: of its holder; one of the asking worker itself is of a
// commit whose answer was lost, if the worker does not run it.
enum class ExpiredLock : std::uint8_t {
  kStays,
  kGoesWithSession,  // one observation for all that its owner holds
  kDelete,           // it was cancelled
  kUnlock,
  kUnlockWithStrike,  // a dead process is charged by its notes when it is buried, a suspected one so
};
struct ExpiredLockFacts {
  WorkState state = WorkState::kLocked;
  bool has_session = false;
  bool is_own = false;
  bool runs_here = false;
};
// Is the lock's holder to be judged by itself? Else `gone` is of no use.
[[nodiscard]] bool needs_evidence(const ExpiredLockFacts& lock);
[[nodiscard]] ExpiredLock look_at_expired_lock(const ExpiredLockFacts& lock, Gone gone);

}  // namespace pawl::session

#endif  // PAWL_SESSION_RESULTS_HPP
