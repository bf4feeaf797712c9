#include "store/session/moving_rules.hpp"

namespace pawl::rules {

// ---- which worker a session may go to ----

bool may_have(const SessionRow& session, const TargetFacts& target) {
  if (!target.worker.has_value() || target.worker->draining) return false;
  if (session.device) return target.role.has_value() && *target.role != Role::kWithdrawing;
  return has_room(target.owned, target.worker->sessions_max);
}

bool may_claim_early(const SessionRow& session, std::int64_t owned, std::int64_t sessions_max) {
  return !session.owner.has_value() && !session.device && session.state == State::kOpen &&
         has_room(owned, sessions_max);
}

bool has_room(std::int64_t owned, std::int64_t sessions_max) { return owned < sessions_max; }

// ---- moving and stopping ----

const char* move_reason_name(MoveReason reason) {
  switch (reason) {
    case MoveReason::kTransferred: return "transferred";
    case MoveReason::kDrained: return "drained";
    case MoveReason::kHung: return "hung";
    case MoveReason::kHandoff: return "handoff";
    case MoveReason::kDevice: return "device";
    case MoveReason::kDeclared: return "declared";
    case MoveReason::kWithdrawn: return "withdrawn";
  }
  return "transferred";
}

bool must_stop_first(const Running& running) { return running.any(); }

StopEnd look_at_stop(const SessionRow& session, const Running& running, std::int64_t now) {
  if (!running.any()) return StopEnd::kMoves;
  const bool is_over = session.stop.has_value() && session.stop->due_ms <= now;
  if (!is_over) return StopEnd::kGoesOn;
  return session.exclusive && !session.stop->force ? StopEnd::kFails : StopEnd::kMovesLate;
}

FailedStop after_failed_stop(const SessionRow& session, const Holder& holder) {
  FailedStop out;
  if (!holder.worker.has_value()) return out;
  out.holds_again = holder.role == Role::kWithdrawing;
  out.goes_on = session.device && holder.worker != session.owner;
  return out;
}

FormerHolder former_holder(const Holder& holder, bool is_buried,
                           const std::optional<Incarnation>& to) {
  if (!holder.worker.has_value() || holder.worker == to) return FormerHolder::kKeeps;
  return holder.role == Role::kWithdrawing || is_buried ? FormerHolder::kIsDropped
                                                        : FormerHolder::kIsStandby;
}

bool changes_owner(const SessionRow& session, const std::optional<Incarnation>& to) {
  return session.owner.has_value() || to.has_value();
}

bool may_leave(const SessionRow& session, bool has_standby) {
  return !session.device || has_standby;
}

bool may_evict(const SessionRow& session, Epoch epoch, Incarnation me, Epoch handed_over_under) {
  return session.owner == me && epoch == handed_over_under && session.state == State::kOpen &&
         !session.exclusive;
}

// ---- devices ----

Declared declare(const Holder& holder, Incarnation me, Gone holder_gone, bool as_standby) {
  if (!holder.worker.has_value() || holder.worker == me) return Declared::kHolds;
  if (holder_gone == Gone::kProof) return Declared::kReplacesHolder;
  return as_standby ? Declared::kIsStandby : Declared::kRefused;
}

HeldSession after_declaring(const SessionRow& session, Incarnation me, Gone owner_gone) {
  if (session.owner == me)
    return session.state == State::kStopping ? HeldSession::kStopEnds : HeldSession::kStays;
  return session.owner.has_value() && owner_gone == Gone::kProof ? HeldSession::kMovesNow
                                                                 : HeldSession::kMoves;
}

Withdrawal withdraw(const SessionRow& session, Incarnation me, Role role) {
  return role == Role::kStandby || session.owner != me ? Withdrawal::kDeclarationEnds
                                                       : Withdrawal::kStops;
}

StandbyTurn look_as_standby(bool has_owner, Gone owner_gone) {
  if (!has_owner || owner_gone == Gone::kProof) return StandbyTurn::kTakes;
  return owner_gone == Gone::kSuspicion ? StandbyTurn::kTakesWithStrike : StandbyTurn::kWaits;
}

// ---- properties ----

Use added_use(const Use& has, const Use& wanted) {
  return {wanted.device && !has.device, wanted.exclusive && !has.exclusive};
}

bool lets_go_of_device(const SessionRow& session, const Use& added, const Holder& holder) {
  return added.device && session.owner.has_value() && session.owner != holder.worker;
}

// ---- absent devices ----

bool is_unavailable(WorkState state, bool is_declared) {
  return !is_in_hand(state) && !is_outside(state) && !is_declared;
}

}  // namespace pawl::rules
