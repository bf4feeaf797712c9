// WorkFetch: finds the work item a worker gets next, and hands it over.
// Rules: docs/rules/session.md.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_WORK_FETCH_HPP
#define PAWL_STORE_WORK_FETCH_HPP

#include <cstddef>

#include "store/context.hpp"
#include "store/place/batches.hpp"
#include "store/rows.hpp"
#include "store/session/events.hpp"
#include "store/session/owners.hpp"
#include "store/session/rows.hpp"
#include "store/work/arguments.hpp"
#include "store/work/branch_scan.hpp"
#include "store/work/rows.hpp"
#include "store/work/unregistered.hpp"
#include "store/work/work_row.hpp"
#include "store/worker/evidence_rules.hpp"
#include "store/worker/rows.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl::store {

// A scan of locks whose own lease has ended, which goes on behind the last one, in order of (until,
// item).
struct ExpiredLocks {
  std::int64_t until = kBeforeAll;
  WorkItemId item = 0;
  OfBatch<bool> all_seen;
};
// The same for sessions of workers whose lease has ended, in order of (owner, head).
struct ExpiredSessions {
  Incarnation owner = 0;
  WorkItemId head = 0;
  OfBatch<bool> all_seen;
};

class WorkFetch : private Table {
 public:
  WorkFetch(StoreContext& context, Rows& rows, SessionOwners& owners, Batches& batches)
      : Table(context), rows_(rows), owners_(owners), batches_(batches) {}

  // Takes the lowest id that this worker may take, and claims its session. *found = false: none.
  // Views go to `buffer`.
  Status fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity, WorkItem* out,
                         bool* found);
  // Rises whenever this connection may have made an item ready for a worker.
  [[nodiscard]] std::int64_t made_ready() const {
    return context_.made_ready + context_.heads_moved;
  }

 private:
  struct Fetch;
  struct Candidate;

  // Where a candidate comes from.
  static constexpr int kFree = 0;  // no session and no tag
  static constexpr int kOwned = 1;
  static constexpr int kClaimable = 2;
  static constexpr int kSessionBranches = 3;  // the branches that kFetchSql covers
  // From here on one for each tag of this worker; the first also stands for any tag.
  static constexpr int kTagged = kSessionBranches;
  static constexpr int kBranches = kTagged + static_cast<int>(TagFilter::kTagsMax);
  static constexpr int kTakeover = kBranches;

  // The rows of one look with kFetchSql. They hold for further calls in the batch, while all that
  // these do is to hand over its free items in turn.
  struct Ahead {
    static constexpr std::size_t kFreeMax = 16;
    bool holds = false;
    bool claims_open = false;
    std::int64_t made_ready = 0;  // made_ready() at that time
    BranchScan::Range ranges[kSessionBranches];
    WorkItemId free[kFreeMax] = {};
    std::size_t count = 0;
    std::size_t at = 0;                       // those before were handed over
    bool more = false;                        // there may be free items behind these
    WorkItemId heads[kSessionBranches] = {};  // of owned and claimable; 0: none
  };

  void begin_scans();
  Status end_scans();
  [[nodiscard]] bool passes_over(const Fetch& fetch) const;
  Status next_candidate(Fetch& fetch, Candidate* candidate);
  Status first_untagged(const Fetch& fetch, Candidate* candidate);
  Status look_ahead(const Fetch& fetch, const BranchScan::Range* ranges, Ahead* ahead);
  void read_candidates_ahead(const Ahead& ahead);
  Status first_tagged(const Fetch& fetch, int branch, Candidate* candidate);
  void pass_over(Fetch& fetch, const Candidate& candidate, bool waits);
  void moved_away(const Candidate& candidate);
  Status try_candidate(Fetch& fetch, const Candidate& candidate);
  Status may_take(const Fetch& fetch, const Candidate& candidate, const WorkRow& row,
                  rules::Take* take);
  Status take_up(Fetch& fetch, const Candidate& candidate, const WorkRow& row, rules::Take take);
  [[nodiscard]] static bool is_no_head(const Candidate& candidate, rules::Take take);
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
  Status take_expired_locks_of(Fetch& fetch, sql::QueryRef query, ExpiredLocks& scan,
                               unsigned& looks);
  Status take_expired_lock(Fetch& fetch, const Claim& lock, WorkItemId item);
  Status take_expired_sessions(Fetch& fetch);
  Status take_expired_session(Fetch& fetch, const Candidate& candidate);

  BranchScan scans_[kBranches];
  OfBatch<Ahead> ahead_;
  ExpiredLocks expired_lock_;
  ExpiredLocks expired_at_once_;  // for items that were handed over in the commit that made them
  ExpiredSessions expired_session_;
  // The item that waits longest because this worker is at its limit of sessions, and when this
  // worker met it first. Kept in memory only: losing it costs a wait.
  struct Met {
    WorkItemId item = 0;
    std::int64_t at = 0;
  };
  Met met_;
  Rows& rows_;
  SessionOwners& owners_;
  Batches& batches_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_WORK_FETCH_HPP
