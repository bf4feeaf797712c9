// WorkOutcomes: how a work item ends, or begins another attempt, without its worker.
//
// Purpose: results as messages, retries, limits of a policy, crashes, and locks that end.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_WORK_OUTCOMES_HPP
#define PAWL_STORE_TABLES_WORK_OUTCOMES_HPP

#include <cstddef>
#include <string_view>

#include "context.hpp"
#include "counts.hpp"
#include "crash_limits.hpp"
#include "instance_table.hpp"
#include "message_table.hpp"
#include "session_table.hpp"
#include "work_queue.hpp"
#include "work_row.hpp"
#include "work_table.hpp"

namespace pawl::store {

class WorkOutcomes : private Table {
 public:
  WorkOutcomes(StoreContext& context, InstanceTable& instances, MessageTable& messages,
               SessionTable& sessions, WorkTable& items)
      : Table(context),
        instances_(instances),
        messages_(messages),
        sessions_(sessions),
        items_(items) {}

  Status store_outcome(const WorkRow& row, ErrorKind kind, std::string_view text);
  Status complete_work(const WorkRow& row, ErrorKind kind, std::string_view text);
  // Ends the item with this failure, whether it is handed over or not.
  Status end_work(WorkItemId item, ErrorKind kind, std::string_view text);
  // Counts a failed attempt; the next one follows.
  Status retry_work(const WorkRow& row, std::string_view text);
  Status poison_if_at_limit(WorkItemId item, const CrashLimits& limits);
  Status count_crash(WorkItemId item, const CrashLimits& limits);
  // Makes a locked item ready, counts what the end of its lock means, and poisons it at a limit.
  Status unlock_work(WorkItemId item, SessionKey session, bool strike, const CrashLimits& limits);
  // Ends items that are past a limit of their policy, at most `limit`; adds to *ended.
  Status end_overdue_work(std::size_t limit, std::size_t* ended);
  Status give_up_damaged(const WorkRow& row);
  Status quarantine_work(WorkItemId id, ErrorKind kind, std::string_view text);

 private:
  // For an item at a limit of CrashLimits: its failure becomes a message, and the item goes.
  Status poison_work(WorkItemId item, std::string_view why);
  // The same as complete_work(), for an item that may be handed over.
  Status time_out(const WorkRow& row, ErrorKind kind, std::string_view text);
  Status end_overdue(const WorkRow& row);
  Status describe_overdue(const WorkRow& row, session::Overdue limit, Diagnostic* why);
  struct Counted {
    session::Counts counts;
    session::WorkState state = session::WorkState::kReady;
    std::int64_t boot_seq = 0;  // of the item's lock
  };
  Status read_counts(WorkItemId item, Counted* out);
  Status poison_for(WorkItemId item, const session::Counts& counts, const CrashLimits& limits);

  InstanceTable& instances_;
  MessageTable& messages_;
  SessionTable& sessions_;
  WorkTable& items_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_WORK_OUTCOMES_HPP
