// Causes of work: why an activity does not run, from facts that rows have.
//
// Purpose: the answer is decided in one place, and in the order in which a worker decides whether
// it takes the item (eligibility_rules.hpp). Ownership, thread rule: pure functions of
// plain values. Errors: none.
#ifndef PAWL_STORE_CAUSE_RULES_HPP
#define PAWL_STORE_CAUSE_RULES_HPP

#include <optional>

#include "pawl/cause.hpp"
#include "pawl/management.hpp"
#include "store/row_rules.hpp"

namespace pawl::rules {

// A worker lives if it is not buried and its lease is not over.
struct WorkersThere {
  bool any = false;           // one lives, and is not draining
  bool has_activity = false;  // one of those has registered the name
  bool serves_tag = false;    // one of these takes the tag
  bool owner_lives = false;   // the owner of the session
  bool has_device = false;    // a living worker has declared the device
};

struct WaitingWork {
  WorkState state = WorkState::kReady;
  bool has_due = false;                 // it is delayed until a time
  bool was_given = false;               // it was handed over before
  bool is_head = false;                 // of its session
  const SessionRow* session = nullptr;  // null: it has none
};

[[nodiscard]] CauseKind cause_of(const WaitingWork& work, const WorkersThere& workers);

struct WaitingInstance {
  OrchestrationState state = OrchestrationState::kRunning;
  bool is_ready = false;         // a turn is due
  bool is_parked = false;        // until a time
  bool is_unregistered = false;  // no worker that looked has its code
};

// The cause that the instance as a whole has; none: it waits for what its code awaits.
[[nodiscard]] std::optional<CauseKind> cause_of(const WaitingInstance& instance, bool any_worker);

}  // namespace pawl::rules

#endif  // PAWL_STORE_CAUSE_RULES_HPP
