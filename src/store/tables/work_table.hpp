// WorkTable: rows of worker_queue.
//
// Purpose: reads of a work item, and how it is put back, cancelled or removed, with its session's
// head. Ownership and thread rule: as context.hpp.
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

// A hand-over.
struct WorkLock {
  LockToken token = 0;
  Incarnation holder = 0;
  Epoch epoch = 0;
  std::int64_t until = 0;
};

// What an item's row says next of its state. What is not set is none; counts are added.
struct WorkWrite {
  session::WorkState state = session::WorkState::kReady;
  const WorkLock* lock = nullptr;
  bool keeps_lock = false;  // of what was cancelled while it was handed over
  OptionalMs run_due;
  OptionalMs silent_due;
  OptionalMs due;              // kDelayed: until then
  std::string_view waits_for;  // kDelayed: until a worker comes that has this handler
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
  // The one statement that writes state and lock of a row. The head of its session is the caller's.
  Status write_state(WorkItemId item, const WorkWrite& write);
  Status put_back(const WorkRow& row, const PutBack& how);
  // Cancelled or past a limit while its execution goes on, in an exclusive session.
  Status mark_cancelled_running(WorkItemId item);
  // Removes a work item: its session's head is put right.
  Status delete_work(WorkItemId item, SessionKey session);
  Status delete_row(WorkItemId item);
  // A command was closed or its execution ended: its queued or running items go.
  Status cancel_work(InstanceKey instance, ExecutionId execution, EventId event);
  Status cancel_all_work(InstanceKey instance, ExecutionId execution);
  // Of a session that moves though work of it runs: what was cancelled holds it up no longer.
  Status delete_cancelled_running(SessionKey session);
  // Delayed items whose time came become ready, at most `limit`; adds to *woken.
  Status wake_delayed_work(std::size_t limit, std::size_t* woken);

 private:
  Status cancel_handed_over_at_once(InstanceKey instance, ExecutionId execution, EventId first,
                                    EventId last);
  Status cancel_range(InstanceKey instance, ExecutionId execution, EventId first, EventId last);

  SessionTable& sessions_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_WORK_TABLE_HPP
