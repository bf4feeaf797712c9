// Moving: sessions that change their owner on purpose, and devices.
//
// Purpose: who may have a session, when it moves and what a stop becomes; who holds a device.
// Rules: docs/rules, S11 to S17, S36 and S38. Ownership, thread rule: pure
// functions of plain values. Errors: none.
#ifndef PAWL_SESSION_MOVING_HPP
#define PAWL_SESSION_MOVING_HPP

#include <cstdint>
#include <optional>

#include "evidence.hpp"
#include "rows.hpp"

namespace pawl::session {

// What running work is given when a session moves because of a handoff, a hung activity or a
// declaration.
inline constexpr std::int64_t kMoveStopMs = 20'000;

// ---- which worker it may go to --- ---------------------------------------------------------------------------

// Of the worker that it may go to. Only what the session's kind asks for must be read: `role` of a
// device, `owned` of any other.
struct TargetFacts {
  std::optional<WorkerRow> worker;  // none: it is not living
  std::optional<Role> role;         // none: it has not declared the device
  std::int64_t owned = 0;           // sessions that are no devices
};
[[nodiscard]] bool may_have(const SessionRow& session, const TargetFacts& target);

// A worker claims a session before it has work of it.
[[nodiscard]] bool may_claim_early(const SessionRow& session, std::int64_t owned,
                                   std::int64_t sessions_max);
// Capacity gates claims alone: who is full goes on serving what it has.
[[nodiscard]] bool has_room(std::int64_t owned, std::int64_t sessions_max);

// ---- moving and stopping ----------------------------------------------------------------------------

// The reason in events and errors, whether the session had to stop first or not.
[[nodiscard]] const char* move_reason_name(MoveReason reason);

// What is asked of a session becomes a stop while something of it runs.
[[nodiscard]] bool must_stop_first(const Running& running);

enum class StopEnd : std::uint8_t {
  kGoesOn,
  kMoves,      // nothing runs any more
  kMovesLate,  // results of what still runs are refused, and what was cancelled holds it up no longer
  kFails,      // exclusive work runs beyond the limit: the session stays where it is
};
[[nodiscard]] StopEnd look_at_stop(const SessionRow& session, const Running& running,
                                   std::int64_t now);

// The worker that has declared a device and is no standby, if there is one.
struct Holder {
  std::optional<Incarnation> worker;
  Role role = Role::kHolder;
};

// After StopEnd::kFails.
struct FailedStop {
  bool holds_again = false;  // a withdrawal is taken back
  bool goes_on = false;      // the holder waits for the one it is to have the device from
};
[[nodiscard]] FailedStop after_failed_stop(const SessionRow& session, const Holder& holder);

// A device moves to `to`: what becomes of the declaration of who held it.
enum class FormerHolder : std::uint8_t { kKeeps, kIsStandby, kIsDropped };
[[nodiscard]] FormerHolder former_holder(const Holder& holder, bool is_buried,
                                         const std::optional<Incarnation>& to);

// A session without an owner that gets none does not change.
[[nodiscard]] bool changes_owner(const SessionRow& session, const std::optional<Incarnation>& to);

// A device is drained or hung on only if a standby follows; else it goes on being served.
[[nodiscard]] bool may_leave(const SessionRow& session, bool has_standby);

// The execution of a worker hangs: its session leaves it, if it is still its own.
[[nodiscard]] bool may_evict(const SessionRow& session, Epoch epoch, Incarnation me,
                             Epoch handed_over_under);

// ---- devices ----------------------------------------------------------------------------------------

enum class Declared : std::uint8_t {
  kHolds,           // from now on, or still
  kReplacesHolder,  // who is dead
  kIsStandby,
  kRefused,  // a living worker holds it
};
[[nodiscard]] Declared declare(const Holder& holder, Incarnation me, Gone holder_gone,
                               bool as_standby);

// Of the session that a worker holds from now on.
enum class HeldSession : std::uint8_t {
  kStays,     // with who declared it
  kStopEnds,  // it takes back its own withdrawal
  kMoves,     // to it
  kMovesNow,  // likewise; the hand-overs of who is dead end with the change
};
[[nodiscard]] HeldSession after_declaring(const SessionRow& session, Incarnation me,
                                          Gone owner_gone);

enum class Withdrawal : std::uint8_t {
  kDeclarationEnds,  // of a standby, or of one that the device never came to: a stop goes on
  kStops,            // its running work is waited for
};
[[nodiscard]] Withdrawal withdraw(const SessionRow& session, Incarnation me, Role role);

// A standby looks for a holder that is gone. `owner_gone`: of an owner, if there is one.
enum class StandbyTurn : std::uint8_t { kWaits, kTakes, kTakesWithStrike };
[[nodiscard]] StandbyTurn look_as_standby(bool has_owner, Gone owner_gone);

// ---- properties -------------------------------------------------------------------------------------

// How work is scheduled on a session; its row keeps the strictest.
struct Use {
  bool device = false;
  bool exclusive = false;
};
// What of `wanted` the session has not been used as.
[[nodiscard]] Use added_use(const Use& has, const Use& wanted);
// A soft owner of what is a device now lets it go.
[[nodiscard]] bool lets_go_of_device(const SessionRow& session, const Use& added,
                                     const Holder& holder);

// ---- absent devices ---------------------------------------------------------------------------------

// Work whose unavailable_due has come. What is declared, or runs, is measured anew from now.
[[nodiscard]] bool is_unavailable(WorkState state, bool is_declared);

}  // namespace pawl::session

#endif  // PAWL_SESSION_MOVING_HPP
