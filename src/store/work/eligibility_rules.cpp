#include "store/work/eligibility_rules.hpp"

#include "store/work/retry_rules.hpp"

namespace pawl::rules {

namespace {

// Adjusts the verdict for items and sessions that the asking process itself still runs.
Take beside_own_runs(const QueuedWork& work, const SessionRow* session, const AskingWorker& worker,
                     Take otherwise) {
  if (worker.runs_session && needs_own_runs(work, session)) {
    // The item is next, so no valid lock exists: the execution here is lost, and holds the session
    // up.
    const bool releases = session->exclusive && !session->device && otherwise == Take::kYes;
    return releases ? Take::kLetsGo : Take::kWaits;
  }
  return worker.runs_item || !worker.may_run_beside ? Take::kWaits : otherwise;
}

}  // namespace

bool needs_own_runs(const QueuedWork& work, const SessionRow* session) {
  return session != nullptr && (session->exclusive || work.barrier);
}

bool hangs_on_own_runs(Take verdict, const QueuedWork& work, const SessionRow* session) {
  const bool is_takable =
      verdict == Take::kYes || verdict == Take::kAfterClaim || verdict == Take::kWaits;
  return is_takable && needs_own_runs(work, session);
}

Take may_take(const QueuedWork& work, const SessionRow* session, const AskingWorker& worker) {
  if (work.state != WorkState::kReady) return Take::kNotNext;
  if (session == nullptr) return beside_own_runs(work, nullptr, worker, Take::kYes);
  if (!work.is_head) return Take::kNotNext;
  if (session->state != State::kOpen) return Take::kNotOpen;
  if (session->owner == worker.me) return beside_own_runs(work, session, worker, Take::kYes);
  // The owner of a device is the worker that declared it, never the one that fetched first.
  if (session->owner.has_value() || session->device) return Take::kNotMine;
  return beside_own_runs(work, session, worker, Take::kAfterClaim);
}

Take may_take_over(const QueuedWork& work, const SessionRow& session, const AskingWorker& worker) {
  if (session.state != State::kOpen) return Take::kNotOpen;
  if (session.device) return Take::kNotMine;
  return beside_own_runs(work, &session, worker, Take::kAfterClaim);
}

bool may_hand_over_at_once(const SessionRow& session, const AtOnce& facts, Incarnation me) {
  QueuedWork work;
  work.is_head = !facts.has_head && !facts.has_barrier;
  AskingWorker worker;
  worker.me = me;
  worker.runs_session = true;  // unknown: verdicts that need it are left to a fetch
  return may_take(work, &session, worker) == Take::kYes && !session.device && !facts.has_tag &&
         !facts.has_limits && !facts.is_first_use;
}

// ---- work that the asking worker cannot handle, or whose tag it does not serve ----

bool needs_session_runs(const Unhandled& facts) {
  return !facts.takes_over && facts.is_elsewhere && facts.is_owned && !facts.device;
}

UnhandledTurn unhandled(const Unhandled& facts) {
  if (facts.takes_over) return UnhandledTurn::kLeave;
  if (facts.is_elsewhere && !facts.is_owned) return UnhandledTurn::kPassOver;
  // An item that others could run is treated in the same way if none of them has its device.
  if (!facts.is_elsewhere || facts.device)
    return facts.may_mark_unregistered ? UnhandledTurn::kMarkUnregistered
                                       : UnhandledTurn::kPassOver;
  // A session is never released while work of it runs. After kUnregisteredPatience tries it takes
  // no more work, so that it drains.
  if (!facts.session_runs) return UnhandledTurn::kRelease;
  return facts.unregistered >= kUnregisteredPatience ? UnhandledTurn::kWait
                                                     : UnhandledTurn::kPutBack;
}

}  // namespace pawl::rules
