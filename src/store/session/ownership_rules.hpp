// Ownership: every change of a session's owner, epoch and state, decided in one place.
//
// Purpose: transition() gives for each cause the next row and the effects that belong in the same
// transaction. Nothing else decides about owner, epoch or state. Rules: docs/rules, S3, S8,
// S1, S16, S18 to S22, S25 and S27. Ownership, thread rule: pure functions of plain values.
// Errors: none.
#ifndef PAWL_STORE_SESSION_OWNERSHIP_RULES_HPP
#define PAWL_STORE_SESSION_OWNERSHIP_RULES_HPP

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/row_rules.hpp"

namespace pawl::rules {

enum class Trigger : std::uint8_t {
  kChangeOwner,   // to Facts::to; without one it is released
  kStop,          // with Facts::stop
  kEndStop,       // it stays with its owner
  kClose,         // closed by its orchestration
  kInstanceEnds,  // its work was cancelled before
  kDrop,          // a session that is not open is removed without a notice
  kEnd,           // an open session is closed from outside
  kExpire,        // an open or lost session
  kOpenAgain,     // a session that is not open
  kBeginAnew,     // an open session with another instance's limits: its work goes on in it
  kRefuse,        // a new opening that a limit does not allow
  kRepair,        // its row is damaged; if the session fails on loss, its work has failed before
};

struct Facts {
  std::optional<Incarnation> to;
  Stop stop;
  Running running;  // before the change; read for kClose, kInstanceEnds and kDrop
};

// The effect on the session's work.
enum class WorkEffect : std::uint8_t {
  kNone,
  kUnlock,     // items that are handed over become ready again
  kFailLost,   // all items but cancelled ones fail with kSessionLost
  kFailClosed  // all items but cancelled ones fail with kSessionClosed
};

enum class EpochEffect : std::uint8_t {
  kKeep,
  kTake,       // the row gets the next epoch
  kCountOnly,  // the next epoch is used up, so that the owner's listener looks again
};

// The effect on the node that the session was on before.
enum class NodeEffect : std::uint8_t {
  kKeep,
  kNote,    // noted from the owner, if there is one
  kForget,  // a new opening knows nothing of the former one
};

// The log entry of the change.
enum class Notice : std::uint8_t { kNone, kChanged, kLost, kClosed, kExpired };

struct Transition {
  SessionRow next;
  bool deletes_row = false;
  bool begins_lease =
      false;  // the new owner's lease, or, without a new owner, the rest of the old one
  bool recomputes_head = false;  // else the session has no head afterwards, or keeps the one it had
  bool clears_head = false;
  bool wakes_unregistered = false;  // wakes work that no owner so far could run
  bool makes_ready = false;         // workers that look for work find new items
  bool clears_look = false;
  EpochEffect epoch = EpochEffect::kKeep;
  NodeEffect node = NodeEffect::kKeep;
  WorkEffect work = WorkEffect::kNone;
  Notice notice = Notice::kNone;
  bool counts_end = false;  // in the totals: once for each session
};

[[nodiscard]] Transition transition(const SessionRow& row, Trigger cause, const Facts& facts);

// True for a session that fails on loss and has an owner. Such a session moves to no other owner:
// not even to the same worker after a restart, which has lost the state.
[[nodiscard]] bool fails_on_owner_loss(const SessionRow& row);

// The name of a change of the owner. `from`: the node that the session was on before; empty: none.
enum class Change : std::uint8_t {
  kClaimed,   // claimed by a node; no node had it before
  kResumed,   // taken again by the node that had it before
  kMigrated,  // to another node
  kReleased,
};
[[nodiscard]] Change change_of(bool has_owner, std::string_view from, std::string_view to);

}  // namespace pawl::rules

#endif  // PAWL_STORE_SESSION_OWNERSHIP_RULES_HPP
