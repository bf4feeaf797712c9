#include "store/cause_rules.hpp"

namespace pawl::rules {
namespace {

// Says it of work that is handed over, or that only time or a token brings on.
std::optional<CauseKind> cause_by_state(const WaitingWork& work) {
  if (is_outside(work.state)) return CauseKind::kOutside;
  if (work.state == WorkState::kLocked) return CauseKind::kRuns;
  if (work.state == WorkState::kCancelledRunning) return CauseKind::kEnding;
  if (work.state == WorkState::kDelayed && work.has_due)
    return work.was_given ? CauseKind::kRetry : CauseKind::kPaced;
  return std::nullopt;
}

}  // namespace

CauseKind cause_of(const WaitingWork& work, const WorkersThere& workers) {
  const std::optional<CauseKind> by_state = cause_by_state(work);
  if (by_state.has_value()) return *by_state;
  const SessionRow* const session = work.session;
  if (session != nullptr && session->state == State::kStopping) return CauseKind::kMoving;
  if (session != nullptr && session->device && !workers.has_device) return CauseKind::kNoDevice;
  // The owner of a session goes on with it while it drains.
  const bool is_owned = session != nullptr && session->owner.has_value();
  const bool waits_for_name = work.state == WorkState::kDelayed;
  if (is_owned && workers.owner_lives && !waits_for_name)
    return work.is_head ? CauseKind::kNoRoom : CauseKind::kBehind;
  if (!workers.any) return CauseKind::kNoWorker;
  if (!workers.has_activity) return CauseKind::kNoActivity;
  if (!workers.serves_tag) return CauseKind::kNoTag;
  if (session == nullptr) return CauseKind::kNoRoom;
  if (is_owned) return CauseKind::kHeld;
  return work.is_head ? CauseKind::kNoRoom : CauseKind::kBehind;
}

std::optional<CauseKind> cause_of(const WaitingInstance& instance, bool any_worker) {
  switch (instance.state) {
    case OrchestrationState::kCompleted:
    case OrchestrationState::kFailed: return CauseKind::kEnded;
    case OrchestrationState::kStopped: return CauseKind::kStopped;
    case OrchestrationState::kSuspended: return CauseKind::kSuspended;
    default: break;
  }
  if (!instance.is_ready) return std::nullopt;
  if (instance.is_parked) return CauseKind::kPause;
  if (!any_worker) return CauseKind::kNoWorker;
  return instance.is_unregistered ? CauseKind::kNoOrchestration : CauseKind::kTurn;
}

}  // namespace pawl::rules
