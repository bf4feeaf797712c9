#include "store/work/result_rules.hpp"

namespace pawl::rules {

namespace {

bool holds(const LastHandOver& row, const Returned& done) { return row.token == done.token; }

}  // namespace

bool accepts(const LastHandOver& row, const Returned& done) {
  return row.state == WorkState::kLocked && holds(row, done) && row.epoch == done.epoch &&
         row.session_epoch == row.epoch && row.session == done.session;
}

bool ends_cancelled(const LastHandOver& row, const Returned& done) {
  return row.state == WorkState::kCancelledRunning && holds(row, done);
}

Acknowledged acknowledge(const LastHandOver& row, const Returned& done, const AttemptResult& result,
                         const Retry& retry, std::int64_t failures) {
  if (ends_cancelled(row, done)) return Acknowledged::kCancelledEnded;
  if (!accepts(row, done)) return Acknowledged::kStale;
  if (result.aborts_session && row.session != 0) return Acknowledged::kAborts;
  return after_failure(retry, failures, result.failure) == AfterFailure::kRetry
             ? Acknowledged::kRetries
             : Acknowledged::kCompletes;
}

bool may_be_answered(WorkState state) { return state == WorkState::kLocked || is_outside(state); }

AfterFailure after_answer(WorkState state, bool exclusive, const Failure& failure,
                          const Retry& retry, std::int64_t failures) {
  if (exclusive && is_in_hand(state)) return AfterFailure::kFail;
  return after_failure(retry, failures, failure);
}

Ended cancel(WorkState state, bool exclusive) {
  return state == WorkState::kCancelledRunning ? Ended::kLeave : end_with_outcome(state, exclusive);
}

Ended end_with_outcome(WorkState state, bool exclusive) {
  return state == WorkState::kLocked && exclusive ? Ended::kKeepUntilEnd : Ended::kDelete;
}

std::int64_t lock_lease(WorkState state, std::int64_t own_until, std::int64_t worker_until) {
  const bool has_own = state == WorkState::kCancelledRunning || own_until > worker_until;
  return has_own ? own_until : worker_until;
}

bool needs_evidence(const ExpiredLockFacts& lock) {
  return !lock.is_own && (lock.state == WorkState::kCancelledRunning || !lock.has_session);
}

ExpiredLock look_at_expired_lock(const ExpiredLockFacts& lock, Gone gone) {
  if (lock.is_own) {
    if (lock.runs_here) return ExpiredLock::kStays;
    gone = Gone::kSuspicion;
  } else if (!needs_evidence(lock)) {
    return ExpiredLock::kGoesWithSession;
  }
  if (gone == Gone::kNo) return ExpiredLock::kStays;
  if (lock.state == WorkState::kCancelledRunning) return ExpiredLock::kDelete;
  return gone == Gone::kSuspicion ? ExpiredLock::kUnlockWithStrike : ExpiredLock::kUnlock;
}

}  // namespace pawl::rules
