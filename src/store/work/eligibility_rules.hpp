// Eligibility: decides whether a worker may have an item, and otherwise what happens to the item.
//
// Purpose: the one predicate for every hand-over: of a fetch, and of work that its own turn
// schedules. Rules: docs/rules, S2, S9, S12, S15, S16 and S41. Ownership, thread rule: pure
// functions of plain values. Errors: none.
#ifndef PAWL_STORE_WORK_ELIGIBILITY_RULES_HPP
#define PAWL_STORE_WORK_ELIGIBILITY_RULES_HPP

#include <cstdint>
#include <optional>

#include "store/row_rules.hpp"

namespace pawl::rules {

// An item of the task queue.
struct QueuedWork {
  WorkState state = WorkState::kReady;
  bool barrier = false;  // it starts only when no work of its session runs
  bool is_head = false;  // it is the item that its session hands over next
};

// The worker that asks. The process's running work is looked up only if the verdict depends on it
// (needs_own_runs()).
struct AskingWorker {
  Incarnation me = 0;
  bool runs_item = false;      // under any token
  bool runs_session = false;   // under any epoch
  bool may_run_beside = true;  // false: one of the items crashed its process before
};

enum class Take : std::uint8_t {
  kYes,
  kAfterClaim,  // yes, if the worker may claim the session
  kNotNext,     // the session hands over another item next, or none
  kNotMine,     // the session belongs to another worker, or must be declared
  kNotOpen,
  kWaits,   // for executions that run here
  kLetsGo,  // the worker owns the session, but a lost execution of its own holds it up
};

// Whether the verdict depends on what the asking process runs of the session.
[[nodiscard]] bool needs_own_runs(const QueuedWork& work, const SessionRow* session);
// The same, given a verdict that was found without looking that up.
[[nodiscard]] bool hangs_on_own_runs(Take verdict, const QueuedWork& work,
                                     const SessionRow* session);

// `session`: null for an item without one.
[[nodiscard]] Take may_take(const QueuedWork& work, const SessionRow* session,
                            const AskingWorker& worker);
// The same for an item that comes with a session that is taken over: whether it is next is known
// only afterwards.
[[nodiscard]] Take may_take_over(const QueuedWork& work, const SessionRow& session,
                                 const AskingWorker& worker);

// Facts about work that its own turn schedules. The work is handed over together with the turn, if
// a fetch would do that next and no further row must be read.
struct AtOnce {
  bool has_head = false;      // some work of the session is ready
  bool has_barrier = false;   // some item in the queue has a barrier
  bool has_tag = false;       // the session is for workers of a tag
  bool has_limits = false;    // its work is counted, or paced
  bool is_first_use = false;  // first hand-over of this epoch, which carries more
};
[[nodiscard]] bool may_hand_over_at_once(const SessionRow& session, const AtOnce& facts,
                                         Incarnation me);

// ---- work that the asking worker cannot handle, or whose tag it does not serve ----

struct Unhandled {
  bool takes_over = false;            // it comes with another worker's session
  bool is_owned = false;              // the asking worker owns the session
  bool device = false;                // its owner does not release a device
  bool is_elsewhere = false;          // another living worker can run it, and may own its session
  bool session_runs = false;          // read only if needs_session_runs()
  std::int64_t unregistered = 0;      // how often it was put back for this reason
  bool may_mark_unregistered = true;  // this batch may still mark an item as unregistered
};
enum class UnhandledTurn : std::uint8_t {
  kLeave,
  kPassOver,          // a worker that can run it takes it
  kWait,              // it stays at the head, and the session drains
  kMarkUnregistered,  // until a worker that can run it registers
  kRelease,           // the session, for a worker that can run it
  kPutBack,           // for unregistered_delay_ms(): other work of the session goes on
};
// Whether the verdict depends on work of the session that runs.
[[nodiscard]] bool needs_session_runs(const Unhandled& facts);
[[nodiscard]] UnhandledTurn unhandled(const Unhandled& facts);

}  // namespace pawl::rules

#endif  // PAWL_STORE_WORK_ELIGIBILITY_RULES_HPP
