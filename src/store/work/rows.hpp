// WorkRows: the rows of worker_queue, and how an item ends without its worker (outcomes.cpp).
//
// Purpose: reads a work item, puts it back, cancels or removes it, and keeps its session's head
// right; turns results, retries, limits of a policy, crashes and locks that end into messages or
// further attempts.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_WORK_ROWS_HPP
#define PAWL_STORE_WORK_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "store/context.hpp"
#include "store/instance/rows.hpp"
#include "store/session/rows.hpp"
#include "store/work/arguments.hpp"
#include "store/work/count_rules.hpp"
#include "store/work/crash_limits.hpp"
#include "store/work/work_row.hpp"
#include "store/worker/term_rules.hpp"

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
  rules::WorkState state = rules::WorkState::kReady;
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
  std::string_view token_hash;  // kLocked: of its completion token
  // It goes outside now, UTC, and its run_due and hash stay. None: it does not.
  std::optional<std::int64_t> outside_stamp;
};

class WorkRows : private Table {
 public:
  WorkRows(StoreContext& context, SessionRows& sessions, InstanceRows& instances)
      : Table(context), sessions_(sessions), instances_(instances) {}

  // Looks whether `me` still has the item's lock, which lasts as long as the lease of its worker.
  // The lock of a cancelled item that runs has a lease of its own, and this renews it. kStale: the
  // execution is lost. A kept cancelled item answers kOk and keeps its lock: see check_work_item().
  Status renew_work_item_lock(const WorkDone& done, Incarnation me, const WorkerTerms& options);

  // ---- for the other classes of the storage ----
  Status read_work(WorkItemId item, WorkRow* row);
  // Each says that the read of this name follows.
  void read_work_ahead(WorkItemId item);
  void read_hand_over_ahead(WorkItemId item);
  // The part of it that says whose hand-over the item is. kNotFound: also if it is a session's.
  Status read_hand_over(WorkItemId item, InstanceKey* instance, rules::LastHandOver* last);
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
  Status store_outcome(const WorkRow& row, ErrorKind kind, std::string_view text);
  Status complete_work(const WorkRow& row, ErrorKind kind, std::string_view text);
  // Ends the item with this failure, whether it is handed over or not.
  Status end_work(WorkItemId item, ErrorKind kind, std::string_view text);
  // Counts a failed attempt; the next one follows.
  Status retry_work(const WorkRow& row, std::string_view text);
  Status count_failure(WorkItemId item, std::string_view text);
  Status poison_if_at_limit(WorkItemId item, const CrashLimits& limits);
  Status count_crash(WorkItemId item, const CrashLimits& limits);
  // Makes a locked item ready, counts what the end of its lock means, and poisons it at a limit.
  Status unlock_work(WorkItemId item, SessionKey session, bool strike, const CrashLimits& limits);
  // Ends items that are past a limit of their policy, at most `limit`; adds to *ended.
  Status end_overdue_work(std::size_t limit, std::size_t* ended);
  Status give_up_damaged(const WorkRow& row);
  Status quarantine_work(WorkItemId id, ErrorKind kind, std::string_view text);

 private:
  Status cancel_handed_over_at_once(InstanceKey instance, ExecutionId execution, EventId first,
                                    EventId last);
  Status cancel_range(InstanceKey instance, ExecutionId execution, EventId first, EventId last);
  // For an item at a limit of CrashLimits: its failure becomes a message, and the item goes.
  Status poison_work(WorkItemId item, std::string_view why);
  // The same as complete_work(), for an item that may be handed over.
  Status time_out(const WorkRow& row, ErrorKind kind, std::string_view text);
  Status end_overdue(const WorkRow& row);
  Status describe_overdue(const WorkRow& row, rules::Overdue limit, Diagnostic* why);
  struct Counted {
    rules::Counts counts;
    rules::WorkState state = rules::WorkState::kReady;
    std::int64_t boot_seq = 0;  // of the item's lock
  };
  Status read_counts(WorkItemId item, Counted* out);
  Status poison_for(WorkItemId item, const rules::Counts& counts, const CrashLimits& limits);

  SessionRows& sessions_;
  InstanceRows& instances_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_WORK_ROWS_HPP
