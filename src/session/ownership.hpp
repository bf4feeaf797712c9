// Ownership: every change of a session's owner, epoch and state, decided in one place.
//
// Purpose: transition() says for each cause what the row is next and what goes with it in the same
// transaction. Nothing else decides about owner, epoch or state. Rules: docs/rules, S3, S8,
// S1, S16, S18 to S22, S25 and S27. Ownership, thread rule: pure functions of plain values.
// Errors: none.
#ifndef PAWL_SESSION_OWNERSHIP_HPP
#define PAWL_SESSION_OWNERSHIP_HPP

#include <cstdint>
#include <optional>
#include <string_view>

#include "rows.hpp"

namespace pawl::session {

enum class Cause : std::uint8_t {
  kChangeOwner,   // to Facts::to; without one it is released
  kStop,          // as Facts::stop
  kEndStop,       // it stays where it is
  kClose,         // by its orchestration
  kInstanceEnds,  // its work was cancelled before
  kDrop,          // one that is not open goes without a word
  kEnd,           // an open one is closed from outside
  kExpire,        // open or lost
  kOpenAgain,     // one that is not open
  kBeginAnew,     // an open one whose limits were another instance's: its work goes on in it
  kRefuse,        // likewise, and a limit does not allow it
  kRepair,        // its row is damaged; of one that fails on loss the work has failed before
};

struct Facts {
  std::optional<Incarnation> to;
  Stop stop;
  Running running;  // before anything was done; of kClose, kInstanceEnds and kDrop
};

// What becomes of the session's work.
enum class WorkEffect : std::uint8_t {
  kNone,
  kUnlock,     // what is handed over is ready again
  kFailLost,   // all but what was cancelled fails with kSessionLost
  kFailClosed  // likewise with kSessionClosed
};

enum class EpochEffect : std::uint8_t {
  kKeep,
  kTake,  // the row's next epoch
  kCountOnly,  // an epoch is taken, so that the owner's listener hears of it; the row keeps the one it ends
};

// The node that the session was on before.
enum class NodeEffect : std::uint8_t {
  kKeep,
  kNote,    // that of the owner, if there is one
  kForget,  // a new opening knows nothing of the former one
};

// What is logged of it.
enum class Notice : std::uint8_t { kNone, kChanged, kLost, kClosed, kExpired };

struct Transition {
  SessionRow next;
  bool deletes_row = false;
  bool begins_lease =
      false;  // the lease of the new owner, or, without a new owner, what is left of the old one
  bool recomputes_head = false;  // else the session has no head afterwards, or the one it had
  bool clears_head = false;
  bool wakes_unregistered = false;  // work that no owner so far could run
  bool makes_ready = false;         // who looks for work finds some that was not there
  bool clears_look = false;
  EpochEffect epoch = EpochEffect::kKeep;
  NodeEffect node = NodeEffect::kKeep;
  WorkEffect work = WorkEffect::kNone;
  Notice notice = Notice::kNone;
  bool counts_end = false;  // in the totals: once a session
};

[[nodiscard]] Transition transition(const SessionRow& row, Cause cause, const Facts& facts);

// A session that fails on loss, and has an owner, goes to no other: not even to its own worker
// restarted, which has lost the state.
[[nodiscard]] bool fails_on_owner_loss(const SessionRow& row);

// What a change of the owner is called. `from`: the node that it was on before; empty: none.
enum class Change : std::uint8_t {
  kClaimed,   // by a node, for the first time since it had no owner
  kResumed,   // by the node that had it
  kMigrated,  // to another node
  kReleased,
};
[[nodiscard]] Change change_of(bool has_owner, std::string_view from, std::string_view to);

}  // namespace pawl::session

#endif  // PAWL_SESSION_OWNERSHIP_HPP
