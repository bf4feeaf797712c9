#include "lifetime.hpp"

namespace pawl::session {

Look look_at(State state, OptionalMs expires_at, std::int64_t now) {
  if (state == State::kClosed) return Look::kLogClosing;
  if (state == State::kExpired) return Look::kRemove;
  return expires_at.has_passed(now) ? Look::kExpires : Look::kAnnounces;
}

Ending end_from_outside(State state, bool is_owner) {
  if (state == State::kClosed) return Ending::kNotFound;
  if (!is_owner) return Ending::kNotOwner;
  return is_open(state) ? Ending::kEnds : Ending::kRemove;
}

bool is_closing_unlogged(State state, bool has_look_at) {
  return state == State::kClosed && has_look_at;
}

// ---- left open --------------------------------------------------------------------------------------

bool is_leak(const LeakRow& row, const LeakLimits& limits) {
  if (!row.is_opened || !counts_as_open(row.state)) return false;
  const bool is_old = limits.open_for_ms > 0 && row.age_ms >= limits.open_for_ms;
  const bool is_unused =
      limits.unused_for_ms > 0 && row.activities == 0 && row.age_ms >= limits.unused_for_ms;
  return is_old || is_unused;
}

// ---- handing over to other workers ------------------------------------------------------------------

bool may_hand_off(const SessionRow& session) { return !session.device; }

}  // namespace pawl::session
