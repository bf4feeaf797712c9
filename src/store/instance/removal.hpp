// TreeRemoval: removes deleted trees and earlier executions.
//
// A tree may be large and a transaction is bounded, so deletion has two steps. The first marks the
// root; from its commit on, every look at any instance of the tree finds nothing (PAWL_IS_THERE).
// The second removes the rows piece by piece, in any process. The ids stay in use until then, so
// that a new instance never meets a row of the old tree. Pruning is visible: an execution is
// removed whole, and before it the children it started, leaves first, so that no child is ever seen
// without its parent. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_INSTANCE_REMOVAL_HPP
#define PAWL_STORE_INSTANCE_REMOVAL_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/clock_rules.hpp"
#include "pawl/management.hpp"
#include "store/context.hpp"
#include "store/instance/arguments.hpp"
#include "store/instance/history_walk.hpp"
#include "store/instance/rows.hpp"
#include "store/place/arguments.hpp"
#include "store/rows.hpp"
#include "store/session/verbs.hpp"
#include "store/work/rows.hpp"

namespace pawl::store {

class TreeRemoval : private Table {
 public:
  TreeRemoval(StoreContext& context, Rows& rows, SessionVerbs& verbs)
      : Table(context), rows_(rows), verbs_(verbs) {}

  // In a batch: from its commit on no call sees the tree, and no turn or result of it is accepted;
  // sweep_deleted() removes its rows and ids. kNotFound; kChildInstance: it is no root;
  // kStillRunning: it, or an instance below it, has not ended, and `force` is false.
  Status delete_instance(InstanceKey key, bool force);
  // In a batch: removes earlier executions with the children they started, oldest first. The number
  // of events bounds one call, except that one execution is removed whole; `more`: call again. Adds
  // to *removed. kNotFound.
  Status prune_executions(InstanceKey key, const PruneLimits& limits, std::size_t events_max,
                          Removed* removed, bool* more);
  // In a batch: marks ended trees as delete_instance() does, in the order of their end, behind the
  // cursor. Looks at a bounded number; `more`: call again. Without `more`, *next_end is the end
  // time of the first tree that stays.
  Status delete_ended(const Retention& which, EndedCursor* cursor, OptionalMs* next_end,
                      bool* more);
  // In a batch: removes rows of all deleted trees; bounded by events. Adds to *removed.
  Status sweep_deleted(std::size_t events_max, Removed* removed, bool* more);
  // In a batch: removes completed rows, the oldest first: ended trees, then earlier executions.
  // Bounded as a sweep is; if nothing was counted, nothing is left to remove.
  Status remove_oldest(std::size_t events_max, Removed* removed);

 private:
  // The number of events that one transaction may still remove; an instance costs kInstanceCost.
  struct Budget {
    std::int64_t events = 0;
    Removed* removed = nullptr;
    [[nodiscard]] bool spent() const { return events <= 0; }
    void spend(std::int64_t deleted) {
      events -= deleted;
      removed->events += deleted;
    }
  };
  struct Oldest {
    ExecutionId execution = 0;
    std::int64_t events = 0;
    std::int64_t ended = 0;
    HistoryPlace last;
    // A link of it is broken: its events are searched for, up to this row so far.
    std::optional<HistoryRow> searched_up_to;
    bool goes_whole = false;  // it is the last of its instance, which is deleted
  };
  struct Leaf {
    InstanceKey key = 0;  // 0: there is none
    ExecutionId execution = 0;
    bool ended = false;
  };
  struct PastCursor {
    std::int64_t ended = 0;
    InstanceKey instance = 0;
    ExecutionId execution = 0;
  };
  Status sweep_trees(Budget& budget, bool* more);
  Status next_ended(const EndedCursor& after, EndedCursor* out);
  Status first_that_stays(std::int64_t count_max, EndedCursor* out);
  Status next_deleted(InstanceKey* key, ExecutionId* execution);
  Status delete_history(InstanceKey key, Oldest oldest, Budget& budget, bool* clear);
  Status delete_linked(InstanceKey key, Budget& budget, Oldest* oldest);
  Status delete_found(InstanceKey key, Budget& budget, Oldest* oldest);
  Status search_unlisted(InstanceKey key, ExecutionId execution, Budget& budget, bool* clear);
  Status delete_whole(InstanceKey key, ExecutionId execution, Budget& budget);
  Status delete_keys(InstanceKey key);
  Status read_link(Statement& row, std::optional<std::int64_t>* out);
  // Finds the oldest of the executions up to `last`.
  Status oldest_execution(InstanceKey key, ExecutionId last, Oldest* out);
  Status first_leaf(InstanceKey parent, ExecutionId execution, Leaf* out);
  Status prune_children(InstanceKey key, ExecutionId execution, Budget& budget, bool* clear);
  Status delete_oldest_ended(bool* any);
  Status next_past(const PastCursor& after, PastCursor* out);
  Status prune_oldest(std::size_t events_max, Removed* removed);
  Rows& rows_;
  SessionVerbs& verbs_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_REMOVAL_HPP
