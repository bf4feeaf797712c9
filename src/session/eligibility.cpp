#include "eligibility.hpp"

#include "retry.hpp"

namespace pawl::session {

namespace {

// What the asking process runs itself stands in the way.
Take beside_own_runs(const WorkRow& work, const SessionRow* session, const Worker& worker,
                     Take otherwise) {
  if (worker.runs_session && needs_own_runs(work, session)) {
    // That it is next means that no valid lock stands: what runs here is lost, and holds the
    // session up.
    const bool releases = session->exclusive && !session->device && otherwise == Take::kYes;
    return releases ? Take::kLetsGo : Take::kWaits;
  }
  return worker.runs_item || !worker.may_run_beside ? Take::kWaits : otherwise;
}

}  // namespace

bool needs_own_runs(const WorkRow& work, const SessionRow* session) {
  return session != nullptr && (session->exclusive || work.barrier);
}

bool hangs_on_own_runs(Take verdict, const WorkRow& work, const SessionRow* session) {
  const bool is_takable =
      verdict == Take::kYes || verdict == Take::kAfterClaim || verdict == Take::kWaits;
  return is_takable && needs_own_runs(work, session);
}

Take may_take(const WorkRow& work, const SessionRow* session, const Worker& worker) {
  if (work.state != WorkState::kReady) return Take::kNotNext;
  if (session == nullptr) return beside_own_runs(work, nullptr, worker, Take::kYes);
  if (!work.is_head) return Take::kNotNext;
  if (session->state != State::kOpen) return Take::kNotOpen;
  if (session->owner == worker.me) return beside_own_runs(work, session, worker, Take::kYes);
  // Who has a device is who declared it, never who fetched first.
  if (session->owner.has_value() || session->device) return Take::kNotMine;
  return beside_own_runs(work, session, worker, Take::kAfterClaim);
}

Take may_take_over(const WorkRow& work, const SessionRow& session, const Worker& worker) {
  if (session.state != State::kOpen) return Take::kNotOpen;
  if (session.device) return Take::kNotMine;
  return beside_own_runs(work, &session, worker, Take::kAfterClaim);
}

bool may_hand_over_at_once(const SessionRow& session, const AtOnce& facts, Incarnation me) {
  WorkRow work;
  work.is_head = !facts.has_head && !facts.has_barrier;
  Worker worker;
  worker.me = me;
  worker.runs_session = true;  // no worker has asked: what depends on it is left to a fetch
  return may_take(work, &session, worker) == Take::kYes && !session.device && !facts.has_tag &&
         !facts.has_limits && !facts.is_first_use;
}

// ---- work that the asking worker has no handler of, or whose tag it does not serve -------------------

bool needs_session_runs(const Unhandled& facts) {
  return !facts.takes_over && facts.is_elsewhere && facts.is_owned && !facts.device;
}

UnhandledTurn unhandled(const Unhandled& facts) {
  if (facts.takes_over) return UnhandledTurn::kLeave;
  if (facts.is_elsewhere && !facts.is_owned) return UnhandledTurn::kPassOver;
  // So it does if others could run it but none of them has its device.
  if (!facts.is_elsewhere || facts.device)
    return facts.may_mark_unregistered ? UnhandledTurn::kMarkUnregistered
                                       : UnhandledTurn::kPassOver;
  // A session is never let go under what still runs. When that has lasted long enough it takes no
  // more.
  if (!facts.session_runs) return UnhandledTurn::kRelease;
  return facts.unregistered >= kUnregisteredPatience ? UnhandledTurn::kWait
                                                     : UnhandledTurn::kPutBack;
}

}  // namespace pawl::session
