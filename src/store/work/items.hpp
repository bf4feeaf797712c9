// WorkItems: an item from the turn that schedules it to the result that its worker reports.
//
// Purpose: turns the activities that a turn schedules into work items, or hands them over at once;
// takes what an item's worker reports: its result, its progress, or that it gives the item back.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_WORK_ITEMS_HPP
#define PAWL_STORE_WORK_ITEMS_HPP

#include <cstdint>
#include <string_view>

#include "codec/policy.hpp"
#include "core/ids.hpp"
#include "core/span.hpp"
#include "pawl/management.hpp"
#include "store/context.hpp"
#include "store/instance/turn_commit.hpp"
#include "store/rows.hpp"
#include "store/session/events.hpp"
#include "store/session/moves.hpp"
#include "store/session/openings.hpp"
#include "store/session/owners.hpp"
#include "store/session/rows.hpp"
#include "store/work/arguments.hpp"
#include "store/work/crash_limits.hpp"
#include "store/work/rows.hpp"
#include "store/work/unregistered.hpp"
#include "store/work/work_row.hpp"

namespace pawl::store {

class WorkItems : private Table {
 public:
  WorkItems(StoreContext& context, Rows& rows, SessionOwners& owners, SessionOpenings& openings,
            SessionMoves& moves)
      : Table(context), rows_(rows), owners_(owners), openings_(openings), moves_(moves) {}

  // kOk: the token and epoch are current; kNotFound: it was cancelled, or has its outcome; kStale:
  // another hand-over has it, or may have it. Nothing is written. A cancelled item that is kept
  // until its execution ends (exclusive sessions) is kNotFound here, too; acknowledging or
  // abandoning it removes it.
  Status check_work_item(const WorkDone& done);
  // Deletes the item and stores its completion as a message of its instance. A failure that its
  // policy retries (kApplication, not permanent, attempts left) puts it back for later instead.
  Status ack_work_item(const WorkDone& done, const WorkResult& result);
  // Stores the progress of the execution, and that it was alive at `at`. Empty progress: the stored
  // one stays. kStale: the execution is lost.
  Status note_progress(const WorkDone& done, std::string_view progress, std::int64_t at);
  Status abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                           const CrashLimits& limits);
  // Lists activities of all instances, in the order of their scheduling.
  Status list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor);

  // ---- for the other classes of the storage ----
  // `row`: of the event in history.
  Status insert_work(InstanceKey instance, ExecutionId execution, const NewWork& work,
                     HistoryRow row);
  // Checks a finished item whose result is piggybacked on its turn: as check_work_item() does, and
  // that it belongs to this instance (0: any). take_work() removes it.
  Status check_done(const WorkDone& done, InstanceKey instance);
  // Says that it follows.
  void read_done_ahead(const WorkDone& done);
  // Requires: check_done() was kOk for each. Removes the items, and then aborts the sessions that
  // their activities gave up.
  Status take_work(Span<const WorkDone> done);

 private:
  Status take_item(const WorkDone& done);
  Status insert_handed_over(InstanceKey instance, ExecutionId execution, const NewWork& work,
                            HistoryRow event_row);
  Status session_of_work(InstanceKey instance, const NewWork& work, const ActivityPolicy& options,
                         AdmittedWork* out);
  Status set_policy(WorkItemId item, std::string_view policy, const ActivityPolicy& options);
  Status check_plain(const WorkDone& done, InstanceKey instance);
  Status check_row(const WorkRow& row, const WorkDone& done, InstanceKey instance);

  struct Checked {
    WorkItemId item = 0;
    bool exclusive = false;
    bool open = false;
  };

  OfBatch<Checked> checked_;  // what check_done() saw last
  Rows& rows_;
  SessionOwners& owners_;
  SessionOpenings& openings_;
  SessionMoves& moves_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_WORK_ITEMS_HPP
