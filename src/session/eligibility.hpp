// Eligibility: may this worker have this item, and if not, what becomes of the item?
//
// Purpose: the one predicate for every hand-over: of a fetch, and of work that its own turn
// schedules. Rules: docs/rules, S2, S9, S12, S15, S16 and S41. Ownership, thread rule: pure
// functions of plain values. Errors: none.
#ifndef PAWL_SESSION_ELIGIBILITY_HPP
#define PAWL_SESSION_ELIGIBILITY_HPP

#include <cstdint>
#include <optional>

#include "rows.hpp"

namespace pawl::session {

// An item of the queue.
struct WorkRow {
  WorkState state = WorkState::kReady;
  bool barrier = false;  // it begins when nothing of its session runs
  bool is_head = false;  // the item that its session hands over next
};

// Who asks. What it runs is asked only if the item depends on it (needs_own_runs()).
struct Worker {
  Incarnation me = 0;
  bool runs_item = false;      // whatever the token
  bool runs_session = false;   // whatever the epoch
  bool may_run_beside = true;  // an item that crashed its process does not run beside another one
};

enum class Take : std::uint8_t {
  kYes,
  kAfterClaim,  // if it may claim the session
  kNotNext,     // another item of the session is, or none
  kNotMine,     // the session is another's, or is to be declared
  kNotOpen,
  kWaits,   // for what runs here
  kLetsGo,  // the session's owner is held up by an execution of its own that was lost
};

// Does the verdict depend on what of the session runs in the asking process?
[[nodiscard]] bool needs_own_runs(const WorkRow& work, const SessionRow* session);
// As needs_own_runs(), with a verdict that was found without asking.
[[nodiscard]] bool hangs_on_own_runs(Take verdict, const WorkRow& work, const SessionRow* session);

// `session`: null for an item without one.
[[nodiscard]] Take may_take(const WorkRow& work, const SessionRow* session, const Worker& worker);
// Likewise of an item that comes with a session that is taken over: that it is next is known only
// afterwards.
[[nodiscard]] Take may_take_over(const WorkRow& work, const SessionRow& session,
                                 const Worker& worker);

// Work that its own turn schedules is handed over with the turn, if a fetch would do it next and
// nothing has to be read for it.
struct AtOnce {
  bool has_head = false;      // something of the session is ready
  bool has_barrier = false;   // in the queue
  bool has_tag = false;       // the session is for workers of a tag
  bool has_limits = false;    // its work is counted, or paced
  bool is_first_use = false;  // of this epoch: its hand-over carries more
};
[[nodiscard]] bool may_hand_over_at_once(const SessionRow& session, const AtOnce& facts,
                                         Incarnation me);

// ---- work that the asking worker has no handler of, or whose tag it does not serve -------------------

struct Unhandled {
  bool takes_over = false;            // it comes with a session of another worker
  bool is_owned = false;              // the asking worker has the session
  bool device = false;                // which its owner does not release
  bool is_elsewhere = false;          // a living worker can run it, and have its session
  bool session_runs = false;          // asked only if it matters
  std::int64_t unregistered = 0;      // how often it was put back for that
  bool may_mark_unregistered = true;  // this batch has not marked as unregistered as many as it may
};
enum class UnhandledTurn : std::uint8_t {
  kLeave,
  kPassOver,          // who can run it takes it
  kWait,              // it stays at the head, and the session drains
  kMarkUnregistered,  // until a worker registers that can run it
  kRelease,           // the session, to who can run it
  kPutBack,           // for unregistered_delay_ms(): other work of the session goes on
};
// Does the verdict depend on whether something of the session runs?
[[nodiscard]] bool needs_session_runs(const Unhandled& facts);
[[nodiscard]] UnhandledTurn unhandled(const Unhandled& facts);

}  // namespace pawl::session

#endif  // PAWL_SESSION_ELIGIBILITY_HPP
