// WorkResults: reports of an item's worker: its result, its progress, or that it gives the item
// back.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_WORK_RESULTS_HPP
#define PAWL_STORE_TABLES_WORK_RESULTS_HPP

#include <cstdint>
#include <string_view>

#include "context.hpp"
#include "crash_limits.hpp"
#include "session_owners.hpp"
#include "session_table.hpp"
#include "work_outcomes.hpp"
#include "work_queue.hpp"
#include "work_row.hpp"
#include "work_table.hpp"

namespace pawl::store {

class WorkResults : private Table {
 public:
  WorkResults(StoreContext& context, SessionTable& sessions, WorkTable& items,
              WorkOutcomes& outcomes, SessionOwners& owners)
      : Table(context), sessions_(sessions), items_(items), outcomes_(outcomes), owners_(owners) {}

  // ---- calls of the contract ----
  Status check_work_item(const WorkDone& done);
  Status ack_work_item(const WorkDone& done, const WorkResult& result);
  Status note_progress(const WorkDone& done, std::string_view progress, std::int64_t at);
  Status abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                           const CrashLimits& limits);

  // ---- for the other tables ----
  // Checks a finished item whose result is piggybacked on its turn: as check_work_item() does, and
  // that it belongs to this instance (0: any). take_work() removes it.
  Status check_done(const WorkDone& done, InstanceKey instance);
  // Requires: check_done() was kOk. `again`: its answer may not hold any more.
  Status take_work(const WorkDone& done, bool again);
  void begin_batch() { checked_ = Checked(); }

 private:
  Status check_row(const WorkRow& row, const WorkDone& done, InstanceKey instance);

  struct Checked {
    WorkItemId item = 0;
    bool exclusive = false;
    bool open = false;
  };

  SessionTable& sessions_;
  WorkTable& items_;
  WorkOutcomes& outcomes_;
  SessionOwners& owners_;
  Checked checked_;  // what check_done() saw last
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_WORK_RESULTS_HPP
