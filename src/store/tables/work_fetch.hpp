// WorkFetch: finds the work item a worker gets next, and hands it over.
// Rules: docs/rules/session.md.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_WORK_FETCH_HPP
#define PAWL_STORE_TABLES_WORK_FETCH_HPP

#include <cstddef>

#include "branch_scan.hpp"
#include "context.hpp"
#include "evidence.hpp"
#include "row_quarantine.hpp"
#include "session_events.hpp"
#include "session_owners.hpp"
#include "session_table.hpp"
#include "summary_table.hpp"
#include "unregistered_work.hpp"
#include "work_outcomes.hpp"
#include "work_queue.hpp"
#include "work_row.hpp"
#include "work_table.hpp"
#include "worker_table.hpp"
#include "worker_terms.hpp"

namespace pawl::store {

class WorkFetch : private Table {
 public:
  WorkFetch(StoreContext& context, WorkerTable& workers, SummaryTable& summaries,
            SessionEvents& events, SessionTable& sessions, WorkTable& items, WorkOutcomes& outcomes,
            UnregisteredWork& unregistered, SessionOwners& owners, RowQuarantine& quarantine)
      : Table(context),
        workers_(workers),
        summaries_(summaries),
        events_(events),
        sessions_(sessions),
        items_(items),
        outcomes_(outcomes),
        unregistered_(unregistered),
        owners_(owners),
        quarantine_(quarantine) {}

  // ---- calls of the contract ----
  Status fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity, WorkItem* out,
                         bool* found);

  void begin_batch() {
    expired_lock_.all_seen = false;
    expired_at_once_.all_seen = false;
    expired_session_.all_seen = false;
  }

 private:
  struct Fetch;
  struct Candidate;
  void begin_scans();
  Status end_scans();
  [[nodiscard]] bool passes_over(const Fetch& fetch) const;
  Status next_candidate(Fetch& fetch, Candidate* candidate);
  Status first_untagged(const Fetch& fetch, Candidate* candidate);
  Status first_tagged(const Fetch& fetch, int branch, Candidate* candidate);
  void pass_over(Fetch& fetch, const Candidate& candidate, bool waits);
  void moved_away(const Candidate& candidate);
  Status try_candidate(Fetch& fetch, const Candidate& candidate);
  Status may_take(const Fetch& fetch, const Candidate& candidate, const WorkRow& row,
                  session::Take* take);
  Status take_up(Fetch& fetch, const Candidate& candidate, const WorkRow& row, session::Take take);
  [[nodiscard]] static bool is_no_head(const Candidate& candidate, session::Take take);
  Status repair_head(const Candidate& candidate);
  Status runs_here(const WorkFilter& filter, const WorkRow& row, bool* runs);
  Status read_activity(Fetch& fetch, const WorkRow& row);
  Status unhandled(Fetch& fetch, const Candidate& candidate, const WorkRow& row);
  Status stop_too_large(Fetch& fetch, const Candidate& candidate, const WorkRow& row);
  Status may_claim(Fetch& fetch, const WorkRow& row, bool* may);
  Status make_room(Fetch& fetch, const WorkRow& row, bool* released);
  Status claim(Fetch& fetch, const Candidate& candidate, const WorkRow& row);
  Status hand_over(Fetch& fetch, const WorkRow& row);
  Status take_expired_locks(Fetch& fetch);
  Status take_expired_locks_of(Fetch& fetch, const sql::Query& query, Expired& last,
                               unsigned& looks);
  Status take_expired_lock(Fetch& fetch, const Claim& lock, WorkItemId item);
  Status take_expired_sessions(Fetch& fetch);
  Status take_expired_session(Fetch& fetch, const Candidate& candidate);

  WorkerTable& workers_;
  SummaryTable& summaries_;
  SessionEvents& events_;
  SessionTable& sessions_;
  WorkTable& items_;
  WorkOutcomes& outcomes_;
  UnregisteredWork& unregistered_;
  SessionOwners& owners_;
  RowQuarantine& quarantine_;
  // Scans of the free, owned and claimable candidates; then one for each tag that this worker
  // serves.
  BranchScan scans_[3 + TagFilter::kTagsMax];
  Expired expired_lock_;
  Expired expired_at_once_;  // for items that were handed over in the commit that made them
  Expired expired_session_;
  // The item that waits longest because this worker is at its limit of sessions, and when this
  // worker met it first. Kept in memory only: losing it costs a wait.
  struct Met {
    WorkItemId item = 0;
    std::int64_t at = 0;
  };
  Met met_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_WORK_FETCH_HPP
