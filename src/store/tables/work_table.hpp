// WorkTable: the rows of worker_queue.
//
// Purpose: reads a work item, puts it back, cancels or removes it, and keeps its session's head
// right. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_WORK_TABLE_HPP
#define PAWL_STORE_TABLES_WORK_TABLE_HPP

#include <cstddef>
#include <cstdint>

#include "context.hpp"
#include "session_table.hpp"
#include "work_queue.hpp"
#include "work_row.hpp"
#include "worker_terms.hpp"

namespace pawl::store {

// How an item goes back to the queue without a result.
struct PutBack {
  std::int64_t delay_ms = 0;  // 0: ready at once
  bool strike = false;
  bool unregistered = false;
};

// The lock that a hand-over writes into an item's row.
struct WorkLock {
  LockToken token = 0;
  Incarnation holder = 0;
  Epoch epoch = 0;
  std::int64_t until = 0;
};

// The state that is written to an item's row. A field that is not set clears its column; counts are
// added.
struct WorkWrite {
  session::WorkState state = session::WorkState::kReady;
  const WorkLock* lock = nullptr;
  bool keeps_lock = false;  // for an item that was cancelled while it was handed over
  OptionalMs run_due;
  OptionalMs silent_due;
  OptionalMs due;              // kDelayed: until then
  std::string_view waits_for;  // kDelayed: until a worker registers that has this handler
  bool ends_start_due = false;
  bool ends_close_due = false;
  std::int64_t attempts = 0;
  std::int64_t strikes = 0;
  std::int64_t reboots = 0;
  std::int64_t unregistered = 0;
};

class WorkTable : private Table {
 public:
  WorkTable(StoreContext& context, SessionTable& sessions) : Table(context), sessions_(sessions) {}

  // ---- calls of the contract ----
  Status renew_work_item_lock(const WorkDone& done, Incarnation me, const WorkerTerms& options);

  // ---- for the other tables ----
  Status read_work(WorkItemId item, WorkRow* row);
  // The one statement that writes the state and lock of a row. The caller keeps the session's head
  // right.
  Status write_state(WorkItemId item, const WorkWrite& write);
  Status put_back(const WorkRow& row, const PutBack& how);
  // For an item that is cancelled or past a limit while its execution goes on, in an exclusive
  // session.
  Status mark_cancelled_running(WorkItemId item);
  // Removes a work item and puts its session's head right.
  Status delete_work(WorkItemId item, SessionKey session);
  Status delete_row(WorkItemId item);
  // A command was closed or its execution ended: removes its queued and running items.
  Status cancel_work(InstanceKey instance, ExecutionId execution, EventId event);
  Status cancel_all_work(InstanceKey instance, ExecutionId execution);
  // For a session that moves though work of it runs: its cancelled items must not hold it up any
  // longer.
  Status delete_cancelled_running(SessionKey session);
  // Makes delayed items ready whose time has come, at most `limit`; adds to *woken.
  Status wake_delayed_work(std::size_t limit, std::size_t* woken);

 private:
  Status cancel_handed_over_at_once(InstanceKey instance, ExecutionId execution, EventId first,
                                    EventId last);
  Status cancel_range(InstanceKey instance, ExecutionId execution, EventId first, EventId last);

  SessionTable& sessions_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_WORK_TABLE_HPP
