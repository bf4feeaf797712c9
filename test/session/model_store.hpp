// ModelStore: the rules of src/store (*_rules.cpp) over plain rows in memory, without a database.
//
// For each call of the storage contract a ModelStore does what the tables do, with the same pure
// decisions and without statements: it finds its rows by looking at all of them. Its rows can be
// compared with those of a real database, and every decision in it is made by the rules. A rule can
// be left out of its decisions, here and not in the product. Not modelled: devices, handlers and
// tags, crash notes, summaries, logs.
#ifndef PAWL_TEST_SESSION_MODEL_STORE_HPP
#define PAWL_TEST_SESSION_MODEL_STORE_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/policy.hpp"
#include "pawl/session.hpp"
#include "store/row_rules.hpp"
#include "store/session/admission_rules.hpp"
#include "store/session/ownership_rules.hpp"
#include "store/work/eligibility_rules.hpp"
#include "store/work/result_rules.hpp"
#include "store/work/retry_rules.hpp"
#include "store/worker/evidence_rules.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl::test {

// Decisions that can be left out.
enum class PureRule {
  kNone,
  kOwner,          // may_take: the session of another worker is not taken
  kState,          // may_take: nor a session that is not open
  kHead,           // may_take: the session's head comes first
  kRunsItem,       // may_take: an item that runs here is not taken again
  kRunsSession,    // may_take: nor an item of an exclusive session that still runs here
  kRoom,           // has_room: a claim needs free capacity
  kNextEpoch,      // transition: a change of the owner takes the next epoch
  kUnlock,         // transition: a change of the owner ends all hand-overs
  kFailsOnLoss,    // transition: a session that fails on owner loss gets no other owner
  kFailsWork,      // transition: losing, closing and expiring end the work
  kClosingStays,   // transition: a closed row stays for cancelled work
  kEndStop,        // look_at_stop: a stop ends
  kStopWaits,      // look_at_stop: but not while work of the session runs
  kStopsFirst,     // must_stop_first: nothing moves under running work
  kToken,          // accepts: the token must be that of the last hand-over
  kEvidence,       // Evidence: no worker is gone without proof or suspicion
  kLease,          // lease_until: a lease lasts
  kIdle,           // is_idle: a session with work is not idle
  kKeptUntilEnd,   // end_with_outcome: cancelled exclusive work stays until its execution has ended
  kRetry,          // after_failure: an error that may be retried is retried
  kRetryEnds,      // after_failure: but no more often than the policy says
  kDelay,          // retry_delay_ms: a retry waits for its pause
  kMayHave,        // may_have: no session goes to a worker that drains or is full
  kActivities,     // admit_work: no more activities than the opening allows
  kRate,           // admit_work: nor faster than it allows
  kExpires,        // look_at: at its maximum age a session expires
  kClosesIdle,     // look_at: a session that was idle for idle_close is closed
  kIdleHasNoWork,  // look_at: a session with queued work is not idle
  kOpenedState,    // opened_state_of: a session that is not open gets no work
  kWaitsLongest,   // the session that waits longest for a worker is claimed first
  kMakesRoom,      // makes_room_at: an idle session makes room for one that waits
  kLongestIdle,    // the session that makes room is the one idle for longest
  kBeginsAnew,     // a shared session that was closed begins anew with the next work
  kRoomElsewhere,  // left_to_others_until: no room is made while another worker has room
  kOutlivesEnd,    // shared_state_of: after another instance's limit it begins anew
  kOutlivesAge,    // look_at: and its queued work goes on in the new opening
  kOutlivesNumber,  // admit_work: the same after as many activities as another instance allowed
  kWaitsForRate,    // admit_work: no work fails by another instance's rate_wait
  kStays,           // settings_that_stay: a new opening stays as strict and as slow as before
  kLast
};

class ModelStore {
 public:
  struct Session {
    SessionKey key = 0;
    InstanceKey scope = 0;
    std::string name;
    bool is_opened = false;
    rules::SessionRow row;
    Epoch epoch = 0;
    Epoch epoch_used = 0;
    WorkItemId head = 0;  // 0: no head
    std::int64_t locked_until = 0;
    std::int64_t last_activity_at = 0;
    OptionalMs expires_at;
    OptionalMs look_at;
    SessionSettings limits;
    bool has_limits = false;
    std::int64_t given = 0;
    OptionalMs rate_at;
    InstanceKey limited_by = 0;
    std::int64_t opening = 1;
    std::int64_t opened_at = 0;
  };
  struct Item {
    WorkItemId id = 0;
    InstanceKey instance = 0;
    EventId event = 0;
    SessionKey session = 0;
    rules::WorkState state = rules::WorkState::kReady;
    bool barrier = false;
    Retry retry;
    std::int64_t failures = 0;
    std::int64_t attempts = 0;
    std::int64_t strikes = 0;
    std::optional<LockToken> token;
    Incarnation holder = 0;  // only with a token
    Epoch epoch = 0;
    std::int64_t locked_until = 0;
    OptionalMs due;
    std::optional<LockToken> answerable;  // the hand-over whose completion token counts
  };
  struct Registered {
    Incarnation me = 0;
    std::string node;
    std::int64_t locked_until = 0;
    std::int64_t sessions_until = 0;
    bool buried = false;
    bool draining = false;
  };
  // The fetching worker, and what runs there.
  struct Fetcher {
    Incarnation me = 0;
    bool draining = false;
    const WorkerTerms* options = nullptr;
    Evidence* evidence = nullptr;
    std::function<bool(WorkItemId)> runs_item;
    std::function<bool(InstanceKey, std::string_view)> runs_session;
  };
  // The positions of a worker's looks at expired rows, as its process keeps them.
  struct Looks {
    std::pair<std::int64_t, std::int64_t> lock = {};
    std::pair<std::int64_t, std::int64_t> session = {};
    WorkItemId met = 0;  // an item whose session waits for room, and since when
    std::int64_t met_at = 0;
  };
  struct HandedOver {
    WorkItemId item = 0;
    LockToken token = 0;
    Epoch epoch = 0;
    SessionKey session = 0;
  };

  // The counters continue from those of a new database.
  ModelStore(Epoch next_epoch, std::int64_t next_token, std::string database_id, PureRule without)
      : next_epoch_(next_epoch),
        next_token_(next_token),
        database_id_(std::move(database_id)),
        without_(without) {}

  // All later calls happen at `now`.
  void set_now(std::int64_t now) { now_ = now; }
  [[nodiscard]] std::int64_t now() const { return now_; }

  // ---- workers ----
  // Returns 0 if a living worker has the node.
  Incarnation register_worker(const std::string& node, const WorkerTerms& options,
                              Evidence& evidence, Incarnation asking);
  Status renew_worker(Incarnation me, std::int64_t lease_ms);
  void renew_sessions(Incarnation me, const WorkerTerms& options);
  void bury(Incarnation worker, Incarnation heir);
  void unregister(Incarnation me);
  Status drain(const std::string& node, std::int64_t stop_ms);
  Status transfer(const std::string& name, const std::string& node, std::int64_t stop_ms,
                  bool force, const WorkerTerms& options);
  void end_stops(const WorkerTerms& options);
  // Handles what is due: sessions that expire, delayed work.
  void wake();

  // ---- orchestrations ----
  void open(InstanceKey instance, const std::string& name, const SessionSettings& settings);
  void close(InstanceKey instance, const std::string& name);
  // An instance gives settings to a shared session.
  void use(InstanceKey instance, const std::string& name, const SessionSettings& settings);
  // An operator closes a shared session.
  Status close_from_outside(const std::string& name);
  // `name`: of the session; empty: no session. `own`: the session is one that the instance opened.
  void schedule(InstanceKey instance, EventId event, const std::string& name, bool own,
                bool exclusive, bool barrier, const Retry& retry);
  void end_instance(InstanceKey instance);

  // ---- work ----
  std::optional<HandedOver> fetch(const Fetcher& who, Looks& looks);
  Status acknowledge(const HandedOver& done, ErrorKind error, bool aborts);
  Status abandon(const HandedOver& done, std::int64_t delay_ms, bool strike);
  Status renew(const HandedOver& done, Incarnation me, const WorkerTerms& options);
  // The execution leaves its activity to an answer from outside.
  Status leave(const HandedOver& done, bool holds, bool aborts);
  // An answer with the completion token of this hand-over. A failure may be retried.
  Status answer(const HandedOver& token, ErrorKind error);

  // ---- rows ----
  // Rises with every change of a row, except changes of its lease.
  [[nodiscard]] std::int64_t changes() const { return changes_; }
  [[nodiscard]] const std::map<SessionKey, Session>& sessions() const { return sessions_; }
  [[nodiscard]] const std::map<WorkItemId, Item>& items() const { return items_; }
  [[nodiscard]] const std::map<Incarnation, Registered>& workers() const { return workers_; }
  // Outcomes that instances have not read: how many each activity has had.
  [[nodiscard]] const std::map<std::pair<InstanceKey, EventId>, int>& outcomes() const {
    return outcomes_;
  }
  [[nodiscard]] bool is_room_elsewhere(Incarnation me, std::int64_t most) const;
  // All rows, one per line, in the order of their keys.
  [[nodiscard]] std::string text() const;
  // The end of the lease that its owner, or the claim, gave it.
  [[nodiscard]] std::int64_t lease_of(const Session& session) const;

 private:
  using Candidate = std::pair<WorkItemId, SessionKey>;

  [[nodiscard]] bool lacks(PureRule rule) const { return without_ == rule; }
  // ---- rules, less the one that is left out ----
  [[nodiscard]] rules::Transition transition(const Session& session, rules::Trigger cause,
                                             const rules::Facts& facts) const;
  [[nodiscard]] rules::Take may_take(const Fetcher& who, const Item& item, bool takes_over) const;
  [[nodiscard]] rules::LastHandOver handed_over(const Item& item, const HandedOver& done) const;
  [[nodiscard]] bool has_room(Incarnation worker, std::int64_t most) const;
  [[nodiscard]] std::int64_t lease_until(std::int64_t lease_ms) const;
  [[nodiscard]] Gone gone(Evidence& evidence, const Claim& claim, Incarnation me) const;
  [[nodiscard]] Retry retry_of(const Item& item) const;

  // ---- the rows ----
  [[nodiscard]] rules::Running running(SessionKey session) const;
  [[nodiscard]] Session* find_session(InstanceKey scope, const std::string& name);
  [[nodiscard]] const Registered* living(const std::string& node) const;
  [[nodiscard]] Claim claim_of(const Session& session) const;
  [[nodiscard]] std::int64_t lease_of(const Item& item) const;
  // The session of this name that all instances share; made if it does not exist.
  Session& shared_session(InstanceKey instance, const std::string& name, bool exclusive);
  void begin_anew_after_limit(Session& row);
  [[nodiscard]] static rules::LimitOf limit_of(const Session& session, InstanceKey instance);
  [[nodiscard]] rules::Admission admission_of(const Session& session, rules::LimitOf limit) const;
  // Returns false if the item got its outcome instead.
  bool admit(Session* own, Item& item);
  void begin(Session& row, const SessionSettings& settings, bool admitted);
  void begin_anew(Session& row, const SessionSettings& settings, bool admitted);
  [[nodiscard]] bool has_work_of_others(const Session& session) const;
  void recompute_head(SessionKey key);
  void store_outcome(const Item& item);
  void end_work(WorkItemId id);
  void cancel(WorkItemId id, rules::Ended how);
  void fail_work_of(SessionKey session, InstanceKey instance);
  void unlock(WorkItemId id, bool strike);
  void put_back(Item& item, std::int64_t delay_ms, bool strike);
  void erase_work(WorkItemId id);
  Epoch apply(SessionKey key, const rules::Transition& change, std::int64_t lease_ms, bool strike);
  Epoch change_owner(SessionKey key, Incarnation to, std::int64_t lease_ms, bool strike);
  void close_row(SessionKey key, rules::Trigger cause);
  void hand_sessions_over(Incarnation from, Incarnation heir);
  void free_locks_of(Incarnation worker);
  void move_now(SessionKey key, std::optional<Incarnation> to, const WorkerTerms& options);
  void move_or_stop(SessionKey key, std::optional<Incarnation> to, std::int64_t stop_ms, bool force,
                    const WorkerTerms& options);
  [[nodiscard]] bool may_have(const Session& session, const Registered& worker,
                              const WorkerTerms& options) const;
  void look_at_session(SessionKey key);
  bool release_longest_idle(Incarnation me, std::int64_t idle_ms);
  void release_idle(Incarnation me, std::int64_t default_ms);
  [[nodiscard]] bool has_work(SessionKey session) const;
  // Less the work whose absence from the session lets its owner release it.
  [[nodiscard]] bool has_work_for_owner(const Session& session) const;
  [[nodiscard]] bool is_held(SessionKey session) const;
  void retry(Item& item);

  // ---- fetching ----
  void take_expired_locks(const Fetcher& who, Looks& looks, std::optional<HandedOver>& found);
  void take_expired_sessions(const Fetcher& who, Looks& looks, std::optional<HandedOver>& found);
  void take_expired_session(const Fetcher& who, Candidate candidate, Looks& looks,
                            std::optional<HandedOver>& found);
  void try_candidate(const Fetcher& who, Candidate candidate, bool takes_over, bool strike,
                     Looks& looks, std::set<WorkItemId>& passed_over,
                     std::optional<HandedOver>& found);
  bool may_claim(const Fetcher& who, Looks& looks, WorkItemId item);
  HandedOver hand_over(const Fetcher& who, Item& item);
  [[nodiscard]] WorkItemId next_candidate(const Fetcher& who,
                                          const std::set<WorkItemId>& passed_over) const;

  Epoch next_epoch_;
  std::int64_t next_token_;
  std::string database_id_;
  PureRule without_;
  std::int64_t now_ = 0;
  SessionKey last_session_ = 0;
  Incarnation last_worker_ = 0;
  bool claims_open_ = false;
  std::int64_t changes_ = 0;
  std::map<SessionKey, Session> sessions_;
  std::map<WorkItemId, Item> items_;
  std::map<Incarnation, Registered> workers_;
  std::map<std::pair<InstanceKey, EventId>, int> outcomes_;
  std::vector<std::pair<LockToken, ErrorKind>> answers_;  // by hand-over, in their order
};

}  // namespace pawl::test

#endif  // PAWL_TEST_SESSION_MODEL_STORE_HPP
