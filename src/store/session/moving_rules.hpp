// Moving: sessions that change their owner on purpose, and devices.
//
// Purpose: decides which worker may have a session, when it moves and how a stop ends, and which
// worker holds a device.
//
// Rules: docs/rules, S11 to S17, S36 and S38. Ownership, thread rule: pure
// functions of plain values. Errors: none.
#ifndef PAWL_STORE_SESSION_MOVING_RULES_HPP
#define PAWL_STORE_SESSION_MOVING_RULES_HPP

#include <cstdint>
#include <optional>

#include "store/row_rules.hpp"
#include "store/worker/evidence_rules.hpp"

namespace pawl::rules {

// The time that running work gets when a session moves because of a handoff, a hung activity or a
// declaration.
inline constexpr std::int64_t kMoveStopMs = 20'000;

// ---- which worker a session may go to ----

// Facts about a worker that the session may go to. Only those for the session's kind must be read:
// `role` for a device, `owned` for any other.
struct TargetFacts {
  std::optional<TargetWorker> worker;  // none: it is not living
  std::optional<Role> role;            // none: it has not declared the device
  std::int64_t owned = 0;              // number of its sessions that are no devices
};
[[nodiscard]] bool may_have(const SessionRow& session, const TargetFacts& target);

// Whether a worker may claim the session before there is work for it.
[[nodiscard]] bool may_claim_early(const SessionRow& session, std::int64_t owned,
                                   std::int64_t sessions_max);
// Capacity limits claims alone: a full worker goes on serving the sessions it has.
[[nodiscard]] bool has_room(std::int64_t owned, std::int64_t sessions_max);

// ---- moving and stopping ----

// The reason's name in events and errors, whether or not the session had to stop first.
[[nodiscard]] const char* move_reason_name(MoveReason reason);

// Whether a requested move first becomes a stop, since work of the session runs.
[[nodiscard]] bool must_stop_first(const Running& running);

enum class StopEnd : std::uint8_t {
  kGoesOn,
  kMoves,      // nothing runs any more
  kMovesLate,  // results of what still runs are refused, and cancelled work no longer holds it up
  kFails,      // exclusive work runs beyond the limit: the session stays where it is
};
[[nodiscard]] StopEnd look_at_stop(const SessionRow& session, const Running& running,
                                   std::int64_t now);

// The worker that has declared a device and is no standby, if there is one.
struct Holder {
  std::optional<Incarnation> worker;
  Role role = Role::kHolder;
};

// The effects of StopEnd::kFails.
struct FailedStop {
  bool holds_again = false;  // the withdrawal is taken back
  bool goes_on = false;      // the stop goes on: the holder waits for the device's present owner
};
[[nodiscard]] FailedStop after_failed_stop(const SessionRow& session, const Holder& holder);

// The fate of the former holder's declaration when a device moves to `to`.
enum class FormerHolder : std::uint8_t { kKeeps, kIsStandby, kIsDropped };
[[nodiscard]] FormerHolder former_holder(const Holder& holder, bool is_buried,
                                         const std::optional<Incarnation>& to);

// False: the session has no owner and gets none.
[[nodiscard]] bool changes_owner(const SessionRow& session, const std::optional<Incarnation>& to);

// Whether a drain or a hung activity moves the session: a device leaves only for a standby;
// otherwise its owner goes on serving it.
[[nodiscard]] bool may_leave(const SessionRow& session, bool has_standby);

// Whether a session leaves the worker `me` whose execution of it hangs: only if it is still the
// worker's own.
[[nodiscard]] bool may_evict(const SessionRow& session, Epoch epoch, Incarnation me,
                             Epoch handed_over_under);

// ---- devices ----

enum class Declared : std::uint8_t {
  kHolds,           // from now on, or still
  kReplacesHolder,  // the former holder is dead
  kIsStandby,
  kRefused,  // a living worker holds it
};
[[nodiscard]] Declared declare(const Holder& holder, Incarnation me, Gone holder_gone,
                               bool as_standby);

// The fate of the device's session when a worker becomes the holder.
enum class HeldSession : std::uint8_t {
  kStays,     // with the worker that declared it
  kStopEnds,  // the worker takes its own withdrawal back
  kMoves,     // to the worker
  kMovesNow,  // to the worker at once; the hand-overs of the dead owner end with the change
};
[[nodiscard]] HeldSession after_declaring(const SessionRow& session, Incarnation me,
                                          Gone owner_gone);

enum class Withdrawal : std::uint8_t {
  kDeclarationEnds,  // a standby's, or a holder's that never got the device: a stop goes on
  kStops,            // its running work is waited for first
};
[[nodiscard]] Withdrawal withdraw(const SessionRow& session, Incarnation me, Role role);

// The decision of a standby about the present owner. `owner_gone`: about the owner, if there is
// one.
enum class StandbyTurn : std::uint8_t { kWaits, kTakes, kTakesWithStrike };
[[nodiscard]] StandbyTurn look_as_standby(bool has_owner, Gone owner_gone);

// ---- properties ----

// How work is scheduled on a session; its row keeps the strictest.
struct Use {
  bool device = false;
  bool exclusive = false;
};
// The properties of `wanted` with which the session was not used yet.
[[nodiscard]] Use added_use(const Use& has, const Use& wanted);
// Whether a session that became a device now leaves an owner that has not declared it.
[[nodiscard]] bool lets_go_of_device(const SessionRow& session, const Use& added,
                                     const Holder& holder);

// ---- absent devices ----

// Whether work whose unavailable_due has come fails. False: the device is declared or the work
// runs; then the time starts again from now.
[[nodiscard]] bool is_unavailable(WorkState state, bool is_declared);

}  // namespace pawl::rules

#endif  // PAWL_STORE_SESSION_MOVING_RULES_HPP
