// TreeRemoval: removes deleted trees and earlier executions.
//
// A tree may be large and a transaction is bounded, so deletion has two steps. The first marks the
// root; from its commit on, every look at any instance of the tree finds nothing (PAWL_IS_THERE).
// The second removes the rows piece by piece, in any process. The ids stay in use until then, so
// that a new instance never meets a row of the old tree. Pruning is visible: an execution is
// removed whole, and before it the children it started, leaves first, so that no child is ever seen
// without its parent. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_TREE_REMOVAL_HPP
#define PAWL_STORE_TABLES_TREE_REMOVAL_HPP

#include <cstddef>
#include <cstdint>

#include "admin_store.hpp"
#include "clock_rules.hpp"
#include "context.hpp"
#include "housekeeping.hpp"
#include "instance_table.hpp"
#include "opened_sessions.hpp"
#include "pawl/management.hpp"
#include "work_table.hpp"

namespace pawl::store {

class TreeRemoval : private Table {
 public:
  TreeRemoval(StoreContext& context, InstanceTable& instances, WorkTable& items,
              OpenedSessions& opened)
      : Table(context), instances_(instances), items_(items), opened_(opened) {}

  // ---- calls of the contract ----
  Status delete_instance(InstanceKey key, bool force);
  Status prune_executions(InstanceKey key, const PruneLimits& limits, std::size_t events_max,
                          Removed* removed, bool* more);
  Status delete_ended(const Retention& which, EndedCursor* cursor, OptionalMs* next_end,
                      bool* more);
  Status sweep_deleted(std::size_t events_max, Removed* removed, bool* more);
  Status remove_oldest(std::size_t events_max, Removed* removed);

 private:
  // The number of events that one transaction may still remove; an instance costs kInstanceCost.
  struct Budget {
    std::int64_t events = 0;
    Removed* removed = nullptr;
    [[nodiscard]] bool spent() const { return events <= 0; }
  };
  struct Oldest {
    ExecutionId execution = 0;
    std::int64_t events = 0;
    std::int64_t ended = 0;
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
  Status delete_history(InstanceKey key, ExecutionId execution, Budget& budget, bool* clear);
  Status delete_whole(InstanceKey key, ExecutionId execution, Budget& budget);
  Status oldest_execution(InstanceKey key, ExecutionId below, Oldest* out);
  Status first_leaf(InstanceKey parent, ExecutionId execution, Leaf* out);
  Status prune_children(InstanceKey key, ExecutionId execution, Budget& budget, bool* clear);
  Status delete_oldest_ended(bool* any);
  Status next_past(const PastCursor& after, PastCursor* out);
  Status prune_oldest(std::size_t events_max, Removed* removed);

  InstanceTable& instances_;
  WorkTable& items_;
  OpenedSessions& opened_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_TREE_REMOVAL_HPP
