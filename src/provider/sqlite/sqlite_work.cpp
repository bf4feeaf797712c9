// Work items: scheduling, hand-over, acknowledgement. Rules: docs/sessions.md.
//
// A row of worker_queue holds no payload: name and input are read from the history of the instance,
// and checked there, when the item is handed over.
#include "hash.hpp"
#include "policy.hpp"
#include "sqlite_provider.hpp"
#include "work_sql.hpp"

#include <cinttypes>
#include <cstring>
#include <limits>

namespace pawl::sqlite {

namespace {

enum : int {
  kInsert = kIdsWork,
  kRead,
  kDelete,
  kNextCancelled,
  kMakeGhost,
  kReadInstanceOf,
  kUnlock,
  kReadCounts,
  kCountCrash,
  kDelay,
  kFirstDelayed,
  kWake,
  kNextToken,
  kCandidate,
  kActivity,
  kHandOver,
  kTouchSession,
  kTouchAcknowledged,
  kRenewItem,
  kRenewItsSession,
  kNextExpiredLock,
  kNextExpiredSession,
  kReadHead,
  kHasRunning,
  kDataVersion,
  kSetPolicy,
  kNextOverdue,
  kLastError,
  kFailAttempt,
};
static_assert(kFailAttempt < kIdsSessions);

// States of a row; stored.
constexpr std::int64_t kReady = 0;
constexpr std::int64_t kLocked = 1;
constexpr std::int64_t kDelayed = 2;
constexpr std::int64_t kGhost = 3;  // cancelled while handed over: its execution may still go on

// Where a candidate came from; the first three are branches of the fetch statement.
constexpr int kFree = 0;
constexpr int kOwned = 1;
constexpr int kClaimable = 2;
constexpr int kTakeover = 3;

constexpr int kBranches = 3;
constexpr unsigned kExpiredLooksMax = 8;  // a call, at locks and at sessions

// An item without a handler waits 1, 2, 4 .. 60 s.
constexpr std::int64_t kUnregisteredFirstMs = 1'000;
constexpr std::int64_t kUnregisteredMs = 60'000;
// So often a session with running work is let be before it takes no more of it and moves.
constexpr std::int64_t kUnregisteredPatience = 7;

std::int64_t unregistered_delay_ms(std::int64_t count) {
  const std::int64_t steps = count < kUnregisteredPatience ? count : kUnregisteredPatience;
  const std::int64_t delay = kUnregisteredFirstMs << steps;
  return delay < kUnregisteredMs ? delay : kUnregisteredMs;
}

// Copies texts one behind the other into a buffer of the caller.
struct TextsOut {
  char* at;
  std::size_t left;
  bool full = false;

  std::string_view put(std::string_view text) {
    full = full || text.size() > left;
    if (full) return {};
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    const std::string_view copy(at, text.size());
    at += text.size();
    left -= text.size();
    return copy;
  }
};

}  // namespace

struct SqliteProvider::WorkRow {
  WorkItemId id = 0;
  InstanceKey instance = 0;
  ExecutionId execution = 0;
  EventId event = 0;
  std::int64_t state = 0;
  LockToken token = 0;
  Epoch epoch = 0;  // handed over under; 0 without a session
  std::int32_t attempt = 0;
  std::int32_t crashes = 0;
  std::int64_t unregistered = 0;
  SessionKey session = 0;
  // Of the session's row; 0 without one.
  Epoch session_epoch = 0;
  Epoch epoch_used = 0;
  bool exclusive = false;
  bool hard = false;
  ActivityOptions policy;
  std::int64_t failures = 0;
  // -1: none
  std::int64_t start_due = -1;
  std::int64_t close_due = -1;

  [[nodiscard]] bool may_retry() const { return failures + 1 < policy.retry.max_attempts; }
  [[nodiscard]] bool holds(const WorkDone& done) const { return token != 0 && token == done.token; }
  // The rule of acceptance. Time is no part of it: an expired lock that nobody took is good.
  [[nodiscard]] bool accepts(const WorkDone& done) const {
    return state == kLocked && holds(done) && epoch == done.epoch && session_epoch == epoch;
  }
};

// What one call of fetch_work_item() carries along.
struct SqliteProvider::Fetch {
  enum class Verdict { kHandler, kForeign, kNoRoom, kCorrupt };
  const FetchWork& how;
  char* buffer;
  std::size_t capacity;
  WorkItem* out;
  bool* found;
  bool claims_open;  // not draining, and not yet found at capacity
  Verdict verdict = Verdict::kHandler;
  bool strike = false;  // of a takeover
};

struct SqliteProvider::Candidate {
  WorkItemId id = 0;
  SessionKey session = 0;
  int branch = kFree;
};

// ---- scheduling and cancelling ----------------------------------------------------------------------

Status SqliteProvider::insert_work(InstanceKey instance, ExecutionId execution,
                                   const NewWork& work) {
  SessionKey session = 0;
  if (!work.session.empty()) PAWL_TRY(session_for(work.session, &session));
  // From the counter of tokens, whose row is written anyway; AUTOINCREMENT would touch one page more.
  WorkItemId id = 0;
  PAWL_TRY(next_token(&id));
  {
    Statement insert = connection_.use(
        kInsert,
        "INSERT INTO worker_queue(instance,execution,event,sid,gen,state,attempt,crashes,strikes,"
        "reboots,unregistered,id)"
        " VALUES(?1,?2,?3,?4,(SELECT gen FROM sessions WHERE sid=?4),0,0,0,0,0,0,?5)");
    insert.bind(instance).bind(execution).bind(work.event);
    session == 0 ? insert.bind_null() : insert.bind(session);
    insert.bind(id);
    PAWL_TRY(fail(insert.run(), "schedule an activity"));
  }
  if (!work.policy.empty()) PAWL_TRY(set_policy(id, work.policy));
  ++made_ready_;
  return session == 0 ? Status::kOk : recompute_head(session);
}

Status SqliteProvider::set_policy(WorkItemId item, std::string_view policy) {
  ActivityOptions options;
  if (!decode_policy(policy, &options)) return fail(Status::kInvalidArgument, "read a policy");
  Statement set = connection_.use(
      kSetPolicy,
      "UPDATE worker_queue SET policy=?2,failures=0,start_due=?3,close_due=?4 WHERE id=?1");
  set.bind(item).bind_text(policy);
  for (const std::int64_t limit_ms : {options.schedule_to_start_ms, options.schedule_to_close_ms})
    limit_ms == 0 ? set.bind_null() : set.bind(make_due(batch_.now, limit_ms));
  return fail(set.run(), "keep a policy");
}

Status SqliteProvider::delete_work(WorkItemId item, SessionKey session) {
  {
    Statement remove = connection_.use(kDelete, "DELETE FROM worker_queue WHERE id=?1");
    remove.bind(item);
    PAWL_TRY(fail(remove.run(), "delete a work item"));
  }
  return session == 0 ? Status::kOk : recompute_head(session);
}

Status SqliteProvider::cancel_work(InstanceKey instance, ExecutionId execution, EventId event) {
  return cancel_range(instance, execution, event, event);
}

Status SqliteProvider::cancel_all_work(InstanceKey instance, ExecutionId execution) {
  return cancel_range(instance, execution, 0, std::numeric_limits<EventId>::max());
}

Status SqliteProvider::cancel_range(InstanceKey instance, ExecutionId execution, EventId first,
                                    EventId last) {
  std::int64_t event = first;
  WorkItemId item = 0;
  while (true) {
    SessionKey session = 0;
    bool becomes_ghost = false;
    bool is_ghost = false;
    {
      Statement next = connection_.use(
          kNextCancelled,
          "SELECT q.event,q.id,q.sid,q.state,coalesce(s.excl,0) FROM worker_queue q"
          " INDEXED BY wq_event LEFT JOIN sessions s ON s.sid=q.sid"
          " WHERE q.instance=?1 AND q.execution=?2 AND q.event<=?3 AND (q.event,q.id)>(?4,?5)"
          " ORDER BY q.event,q.id LIMIT 1");
      next.bind(instance).bind(execution).bind(last).bind(event).bind(item);
      if (!next.row()) return fail(next.status(), "find cancelled work");
      event = next.integer(0);
      item = next.integer(1);
      session = next.integer(2);
      is_ghost = next.integer(3) == kGhost;
      becomes_ghost = next.integer(3) == kLocked && next.integer(4) != 0;
    }
    if (is_ghost) continue;
    if (!becomes_ghost) {
      PAWL_TRY(delete_work(item, session));
      continue;
    }
    PAWL_TRY(make_ghost(item));
  }
}

// Its execution goes on until it is told; until then nothing else of the session may start.
Status SqliteProvider::make_ghost(WorkItemId item) {
  Statement ghost = connection_.use(
      kMakeGhost,
      "UPDATE worker_queue SET state=3,start_due=NULL,close_due=NULL,run_due=NULL WHERE id=?1");
  ghost.bind(item);
  return fail(ghost.run(), "cancel running work");
}

// ---- reading a row, ending it as failed ---------------------------------------------------------------

Status SqliteProvider::read_work(WorkItemId item, WorkRow* row) {
  Statement read = connection_.use(
      kRead,
      "SELECT q.instance,q.execution,q.event,q.state,q.token,q.epoch,q.attempt,q.crashes,"
      "q.unregistered,q.sid,s.epoch,s.epoch_used,s.excl,s.hard,q.policy,q.failures,q.start_due,"
      "q.close_due"
      " FROM worker_queue q LEFT JOIN sessions s ON s.sid=q.sid WHERE q.id=?1");
  read.bind(item);
  if (!read.row())
    return read.status() == Status::kOk ? Status::kNotFound : fail(read.status(), "read work");
  row->id = item;
  row->instance = read.integer(0);
  row->execution = read.integer(1);
  row->event = static_cast<EventId>(read.integer(2));
  row->state = read.integer(3);
  row->token = read.integer(4);
  row->epoch = read.integer(5);
  row->attempt = static_cast<std::int32_t>(read.integer(6));
  row->crashes = static_cast<std::int32_t>(read.integer(7));
  row->unregistered = read.integer(8);
  row->session = read.integer(9);
  row->session_epoch = read.integer(10);
  row->epoch_used = read.integer(11);
  row->exclusive = read.integer(12) != 0;
  row->hard = read.integer(13) != 0;
  if (read.is_null(14)) return Status::kOk;
  if (!decode_policy(read.bytes(14), &row->policy))
    return fail(Status::kCorrupt, "read the policy of work");
  row->failures = read.integer(15);
  row->start_due = read.is_null(16) ? -1 : read.integer(16);
  row->close_due = read.is_null(17) ? -1 : read.integer(17);
  return Status::kOk;
}

Status SqliteProvider::store_outcome(const WorkRow& row, ErrorKind kind, std::string_view text) {
  Message message;
  message.kind = MessageKind::kActivityDone;
  message.error = kind;
  message.execution = row.execution;
  message.ref = row.event;
  message.payload = text;
  const Status stored = insert_message(row.instance, message);
  // Nobody waits any more.
  if (stored != Status::kOk && stored != Status::kStale && stored != Status::kNotFound)
    return stored;
  return Status::kOk;
}

Status SqliteProvider::complete_work(const WorkRow& row, ErrorKind kind, std::string_view text) {
  PAWL_TRY(store_outcome(row, kind, text));
  return delete_work(row.id, row.session);
}

Status SqliteProvider::time_out(const WorkRow& row, std::string_view text) {
  PAWL_TRY(store_outcome(row, ErrorKind::kTimeout, text));
  return row.state == kLocked && row.exclusive ? make_ghost(row.id)
                                               : delete_work(row.id, row.session);
}

// Requires: row.may_retry().
Status SqliteProvider::retry_work(const WorkRow& row, std::string_view text) {
  {
    Statement count = connection_.use(
        kFailAttempt, "UPDATE worker_queue SET failures=failures+1,last_error=?2 WHERE id=?1");
    count.bind(row.id).bind_text(text);
    PAWL_TRY(fail(count.run(), "count a failed attempt"));
  }
  Hash64 seed;
  seed.add(database_id()).add(static_cast<std::uint64_t>(row.instance));
  seed.add(static_cast<std::uint64_t>(row.execution)).add(row.event);
  PutBack how;
  how.delay_ms = retry_delay_ms(row.policy.retry, row.failures + 1, seed.value());
  return put_back(row, how);
}

Status SqliteProvider::poison_work(WorkItemId item, std::string_view why) {
  WorkRow row;
  PAWL_TRY(read_work(item, &row));
  PAWL_TRY(complete_work(row, ErrorKind::kPoison, why));
  if (sink_ != nullptr) sink_->on_poison(row.instance, row.event, why);
  return Status::kOk;
}

// Each count has its own limit and they are never summed: ten power cuts poison nothing.
Status SqliteProvider::poison_if_at_limit(WorkItemId item, const CrashLimits& limits) {
  Diagnostic why;
  {
    Statement counts = connection_.use(
        kReadCounts, "SELECT crashes,strikes,reboots FROM worker_queue WHERE id=?1 AND state<>3");
    counts.bind(item);
    if (!counts.row()) return fail(counts.status(), "read counts");
    if (counts.integer(0) < limits.crashes_max && counts.integer(1) < limits.strikes_max &&
        counts.integer(2) < limits.reboots_max)
      return Status::kOk;
    why.format("the activity ended its process %" PRId64 " times (limit %" PRId32
               "), lost its lock %" PRId64 " times (limit %" PRId32 ") and met %" PRId64
               " reboots (limit %" PRId32 ")",
               counts.integer(0), limits.crashes_max, counts.integer(1), limits.strikes_max,
               counts.integer(2), limits.reboots_max);
  }
  return poison_work(item, why.text());
}

Status SqliteProvider::count_crash(WorkItemId item, const CrashLimits& limits) {
  {
    Statement count = connection_.use(
        kCountCrash, "UPDATE worker_queue SET crashes=crashes+1 WHERE id=?1 AND state<>3");
    count.bind(item);
    PAWL_TRY(fail(count.run(), "count a crash"));
  }
  return poison_if_at_limit(item, limits);
}

// ---- locks that end without a result --------------------------------------------------------------------

Status SqliteProvider::unlock_work(WorkItemId item, SessionKey session, bool strike,
                                   const CrashLimits& limits) {
  {
    // A lock of an earlier boot ended by a power cut, which is nobody's fault.
    Statement unlock = connection_.use(
        kUnlock,
        "UPDATE worker_queue SET reboots=reboots+(boot_seq<?2),"
        "strikes=strikes+(?3 AND boot_seq=?2),state=0,token=NULL,inc=NULL,epoch=NULL,"
        "locked_until=NULL,boot_seq=NULL,run_due=NULL WHERE id=?1 AND state=1");
    unlock.bind(item).bind(batch_.boot_seq).bind(strike ? 1 : 0);
    PAWL_TRY(fail(unlock.run(), "unlock work"));
  }
  ++made_ready_;
  if (session != 0) PAWL_TRY(recompute_head(session));
  return poison_if_at_limit(item, limits);
}

Status SqliteProvider::put_back(const WorkRow& row, const PutBack& how) {
  {
    Statement delay = connection_.use(
        kDelay,
        "UPDATE worker_queue SET state=?2,due=?3,strikes=strikes+?4,unregistered=unregistered+?5,"
        "token=NULL,inc=NULL,epoch=NULL,locked_until=NULL,boot_seq=NULL,run_due=NULL WHERE id=?1");
    delay.bind(row.id).bind(how.delay_ms > 0 ? kDelayed : kReady);
    how.delay_ms > 0 ? delay.bind(make_due(batch_.now, how.delay_ms)) : delay.bind_null();
    delay.bind(how.strike ? 1 : 0).bind(how.unregistered ? 1 : 0);
    PAWL_TRY(fail(delay.run(), "put work back"));
  }
  ++made_ready_;
  return row.session == 0 ? Status::kOk : recompute_head(row.session);
}

Status SqliteProvider::wake_delayed_work(std::size_t limit, std::size_t* woken) {
  for (std::size_t i = 0; i < limit; ++i) {
    WorkItemId item = 0;
    SessionKey session = 0;
    {
      Statement first = connection_.use(kFirstDelayed,
                                        "SELECT id,sid FROM worker_queue INDEXED BY wq_delayed"
                                        " WHERE state=2 AND due<=?1 ORDER BY due LIMIT 1");
      first.bind(batch_.now);
      if (!first.row()) return fail(first.status(), "find delayed work");
      item = first.integer(0);
      session = first.integer(1);
    }
    {
      Statement wake =
          connection_.use(kWake, "UPDATE worker_queue SET state=0,due=NULL WHERE id=?1");
      wake.bind(item);
      PAWL_TRY(fail(wake.run(), "wake delayed work"));
    }
    ++made_ready_;
    ++*woken;
    if (session != 0) PAWL_TRY(recompute_head(session));
  }
  return Status::kOk;
}

// ---- limits of a policy -----------------------------------------------------------------------------------

Status SqliteProvider::end_overdue_work(std::size_t limit, std::size_t* ended) {
  for (std::size_t i = 0; i < limit; ++i) {
    WorkRow row;
    {
      Statement next =
          connection_.use(kNextOverdue,
                          "SELECT id FROM worker_queue INDEXED BY wq_deadline"
                          " WHERE deadline IS NOT NULL AND deadline<=?1 ORDER BY deadline LIMIT 1");
      next.bind(batch_.now);
      if (!next.row()) return fail(next.status(), "find overdue work");
      row.id = next.integer(0);
    }
    PAWL_TRY(read_work(row.id, &row));
    PAWL_TRY(end_overdue(row));
    ++*ended;
  }
  return Status::kOk;
}

Status SqliteProvider::end_overdue(const WorkRow& row) {
  Diagnostic why;
  if (row.start_due >= 0 && row.start_due <= batch_.now) {
    why.format("schedule_to_start_ms (%" PRId64 ") passed: no worker took it",
               row.policy.schedule_to_start_ms);
    return time_out(row, why.text());
  }
  if (row.close_due < 0 || row.close_due > batch_.now) {
    why.format("start_to_close_ms (%" PRId64 ") passed", row.policy.start_to_close_ms);
    // Beside an execution that goes on, an exclusive session can have no other.
    return row.may_retry() && !row.exclusive ? retry_work(row, why.text())
                                             : time_out(row, why.text());
  }
  {
    Statement last = connection_.use(kLastError, "SELECT last_error FROM worker_queue WHERE id=?1");
    last.bind(row.id);
    if (!last.row()) return fail(last.status(), "read the last error of work");
    const std::string_view error = last.bytes(0);
    why.format("schedule_to_close_ms (%" PRId64 ") passed%s%.*s", row.policy.schedule_to_close_ms,
               error.empty() ? "" : "; the last error was: ", static_cast<int>(error.size()),
               error.data());
  }
  return time_out(row, why.text());
}

// ---- acknowledge, abandon, renew --------------------------------------------------------------------------

Status SqliteProvider::check_work_item(const WorkDone& done) {
  WorkRow row;
  const Status read = read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  return row.accepts(done) ? Status::kOk : Status::kStale;
}

Status SqliteProvider::ack_work_item(const WorkDone& done, const WorkResult& result) {
  WorkRow row;
  const Status read = read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  // The execution of a cancelled item ended: nobody wants its result.
  if (row.state == kGhost && row.holds(done)) return delete_work(row.id, row.session);
  if (!row.accepts(done)) return Status::kStale;
  PAWL_TRY(note_activity(row.session));
  if (result.error == ErrorKind::kApplication && !result.permanent && row.may_retry())
    return retry_work(row, result.payload);
  return complete_work(row, result.error, result.payload);
}

Status SqliteProvider::take_work(const WorkDone& done) {
  WorkRow row;
  const Status read = read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  if (!row.accepts(done)) return Status::kStale;
  PAWL_TRY(note_activity(row.session));
  return delete_work(row.id, row.session);
}

Status SqliteProvider::note_activity(SessionKey session) {
  if (session == 0) return Status::kOk;
  Statement touch =
      connection_.use(kTouchAcknowledged, "UPDATE sessions SET last_activity_at=?2 WHERE sid=?1");
  touch.bind(session).bind(batch_.now);
  return fail(touch.run(), "note a session's activity");
}

Status SqliteProvider::abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                                         const CrashLimits& limits) {
  WorkRow row;
  const Status read = read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  if (row.state == kGhost && row.holds(done)) return delete_work(row.id, row.session);
  if (!row.accepts(done)) return Status::kStale;
  PutBack how;
  how.delay_ms = delay_ms;
  how.strike = strike;
  PAWL_TRY(put_back(row, how));
  return strike ? poison_if_at_limit(row.id, limits) : Status::kOk;
}

Status SqliteProvider::renew_work_item_lock(const WorkDone& done, Incarnation me,
                                            const SessionOptions& options) {
  SessionKey session = 0;
  {
    Statement renew = connection_.use(
        kRenewItem,
        "UPDATE worker_queue SET locked_until=max(locked_until,?4)"
        " WHERE id=?1 AND token=?2 AND inc=?3 AND epoch=?5 AND state IN (1,3) RETURNING sid");
    renew.bind(done.item).bind(done.token).bind(me);
    renew.bind(add_saturating(batch_.now, options.worker_lock_timeout_ms)).bind(done.epoch);
    if (!renew.row())
      return renew.status() == Status::kOk ? Status::kStale
                                           : fail_written(renew.status(), "renew a lock");
    session = renew.integer(0);
  }
  if (session == 0) return Status::kOk;
  // Never the session of somebody who took it meanwhile.
  Statement touch =
      connection_.use(kRenewItsSession,
                      "UPDATE sessions SET locked_until=max(locked_until,?4),last_activity_at=?5"
                      " WHERE sid=?1 AND owner=?2 AND epoch=?3");
  touch.bind(session).bind(me).bind(done.epoch);
  touch.bind(add_saturating(batch_.now, options.session_lock_timeout_ms)).bind(batch_.now);
  return fail(touch.run(), "renew a session with its work");
}

// ---- fetch ------------------------------------------------------------------------------------------------

Status SqliteProvider::fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity,
                                       WorkItem* out, bool* found) {
  *found = false;
  if (how.look_again != nullptr) *how.look_again = false;
  const bool may_claim = !how.draining && how.options->max_sessions_per_worker > 0;
  Fetch fetch{how, buffer, capacity, out, found, may_claim};
  PAWL_TRY(begin_scans());
  if (how.evidence != nullptr) {
    PAWL_TRY(take_expired_locks(fetch));
    if (!*found) PAWL_TRY(take_expired_sessions(fetch));
  }
  while (!*found) {
    Candidate candidate;
    PAWL_TRY(next_candidate(fetch, &candidate));
    if (candidate.id == 0) break;
    PAWL_TRY(try_candidate(fetch, candidate));
  }
  for (const BranchScan& scan : scans_)
    if (!*found && how.look_again != nullptr && scan.look_again()) *how.look_again = true;
  return Status::kOk;
}

Status SqliteProvider::begin_scans() {
  ScanVersion version;
  version.own = made_ready_;
  bool in_use = false;
  for (const BranchScan& scan : scans_)
    in_use = in_use || scan.in_use();
  if (in_use) {
    Statement read = connection_.use(kDataVersion, "PRAGMA data_version");
    if (!read.row()) return fail(read.status(), "read the data version");
    version.others = read.integer(0);
  }
  for (BranchScan& scan : scans_)
    scan.begin_call(version);
  return Status::kOk;
}

Status SqliteProvider::next_candidate(Fetch& fetch, Candidate* candidate) {
  bool goes_on = true;
  while (goes_on) {
    {
      Statement next = connection_.use(kCandidate, kFetchSql);
      next.bind(fetch.how.me).bind(fetch.claims_open ? 1 : 0);
      for (const BranchScan& scan : scans_)
        next.bind(scan.range().after);
      for (const BranchScan& scan : scans_)
        next.bind(scan.range().until);
      if (next.row()) {
        candidate->id = next.integer(0);
        candidate->session = next.integer(1);
        candidate->branch = static_cast<int>(next.integer(2));
        return Status::kOk;
      }
      PAWL_TRY(fail(next.status(), "find work"));
    }
    goes_on = false;
    for (int branch = kFree; branch < kBranches; ++branch)
      if (branch != kClaimable || fetch.claims_open)
        goes_on = scans_[branch].exhausted() || goes_on;
  }
  return Status::kOk;
}

// Not for this process, or not now: another item of the branch is looked at.
void SqliteProvider::pass_over(const Candidate& candidate, bool waits) {
  if (candidate.branch < kBranches) scans_[candidate.branch].passed_over(candidate.id, waits);
}

void SqliteProvider::moved_away(const Candidate& candidate) {
  if (candidate.branch < kBranches) scans_[candidate.branch].moved_away();
}

// Hands the candidate over, or sees to it that the next look finds another.
Status SqliteProvider::try_candidate(Fetch& fetch, const Candidate& candidate) {
  WorkRow row;
  PAWL_TRY(read_work(candidate.id, &row));
  const WorkFilter& filter = *fetch.how.filter;
  const bool blocked = row.exclusive && filter.runs_session(row.session);
  if (blocked && candidate.branch == kOwned && !row.hard) {
    // A head means that no valid lock stands: what runs here is lost, and holds the session up.
    moved_away(candidate);
    return release(row.session, "blocked");
  }
  if (blocked || filter.runs_item(row.id) || !filter.may_run_with(row.crashes)) {
    pass_over(candidate, true);
    return Status::kOk;
  }
  PAWL_TRY(read_activity(fetch, row));
  if (fetch.verdict == Fetch::Verdict::kCorrupt) {
    moved_away(candidate);
    return complete_work(row, ErrorKind::kCorrupt, diagnostic_.text());
  }
  if (fetch.verdict == Fetch::Verdict::kForeign) return unhandled(fetch, candidate, row);
  if (!filter.has_room(fetch.out->activity_name)) {
    pass_over(candidate, true);
    return Status::kOk;
  }
  if (candidate.branch == kFree || candidate.branch == kOwned) return hand_over(fetch, row);
  return claim(fetch, candidate, row);
}

// Verdict and texts of a row. The input is touched only for a process that has the handler.
Status SqliteProvider::read_activity(Fetch& fetch, const WorkRow& row) {
  Statement read = connection_.use(
      kActivity,
      "SELECT h.kind,h.branch,h.ordinal,h.ref,h.time,h.meta,h.crc,i.id,i.name,s.name,h.payload"
      " FROM worker_queue q LEFT JOIN instances i ON i.key=q.instance"
      " LEFT JOIN history h ON h.instance=q.instance AND h.execution=q.execution AND h.id=q.event"
      " LEFT JOIN sessions s ON s.sid=q.sid WHERE q.id=?1");
  read.bind(row.id);
  if (!read.row())
    return fail(read.status() == Status::kOk ? Status::kCorrupt : read.status(), "read activity");
  Event event;
  event.id = row.event;
  event.kind = static_cast<EventKind>(read.integer(0));
  event.branch = static_cast<BranchId>(read.integer(1));
  event.ordinal = static_cast<Ordinal>(read.integer(2));
  event.ref = static_cast<EventId>(read.integer(3));
  event.time_ms = read.integer(4);
  Status decoded = Status::kCorrupt;
  if (event.kind == EventKind::kActivity) {
    JsonMemory memory(json_memory_, sizeof json_memory_);
    decoded = decode_meta(read.bytes(5), &event, meta_text_, sizeof meta_text_);
  }
  fetch.verdict = Fetch::Verdict::kForeign;
  if (decoded == Status::kOk && !fetch.how.filter->has_handler(event.name)) {
    fetch.out->activity_name = event.name;  // in meta_text_
    return Status::kOk;
  }
  if (decoded == Status::kOk && !fetch.how.filter->has_room(event.name)) {
    fetch.verdict = Fetch::Verdict::kNoRoom;
    return Status::kOk;
  }
  event.payload = read.bytes(10);
  if (decoded != Status::kOk || event_crc(row.instance, row.execution, event, read.bytes(5)) !=
                                    static_cast<std::uint32_t>(read.integer(6))) {
    fetch.verdict = Fetch::Verdict::kCorrupt;
    diagnostic_.format(
        "the stored event %" PRIu32 " of execution %" PRId64
        " of the instance, an activity, cannot be read: its form or checksum is wrong",
        row.event, row.execution);
    return Status::kOk;
  }
  fetch.verdict = Fetch::Verdict::kHandler;
  TextsOut texts{fetch.buffer, fetch.capacity};
  fetch.out->instance_id = texts.put(read.bytes(7));
  fetch.out->orchestration_name = texts.put(read.bytes(8));
  fetch.out->activity_name = texts.put(event.name);
  fetch.out->session_name = texts.put(read.bytes(9));
  fetch.out->input = texts.put(event.payload);
  return texts.full ? fail(Status::kResourceExhausted, "an activity's input for the buffer given")
                    : Status::kOk;
}

// This process has no handler: whoever has one gets the item, and if nobody has, it waits.
Status SqliteProvider::unhandled(Fetch& fetch, const Candidate& candidate, const WorkRow& row) {
  if (candidate.branch == kTakeover) return Status::kOk;
  const std::string_view name = fetch.out->activity_name;
  bool elsewhere = false;
  PAWL_TRY(handler_elsewhere(name, fetch.how.me, row.session != 0, &elsewhere));
  if (elsewhere && candidate.branch != kOwned) {
    pass_over(candidate, false);
    return Status::kOk;
  }
  bool running = false;
  if (elsewhere && !row.hard) PAWL_TRY(has_running(row.session, &running));
  // A session is never let go under what still runs: its foreign item backs off, so that other work of
  // it goes on. When that has lasted long enough the item stays at the head, and the session drains.
  if (running && row.unregistered >= kUnregisteredPatience) {
    pass_over(candidate, true);
    return Status::kOk;
  }
  moved_away(candidate);
  if (elsewhere && !row.hard && !running) return release(row.session, "no_handler");
  if (!elsewhere && sink_ != nullptr) sink_->on_unregistered(name, row.instance, row.event);
  PutBack how;
  how.delay_ms = unregistered_delay_ms(row.unregistered);
  how.unregistered = true;
  return put_back(row, how);
}

Status SqliteProvider::release(SessionKey session, std::string_view reason) {
  OwnerChange change;
  change.session = session;
  change.reason = reason;
  change.limits = limits_;
  return change_owner(change, nullptr);
}

Status SqliteProvider::has_running(SessionKey session, bool* running) {
  Statement find = connection_.use(
      kHasRunning,
      "SELECT EXISTS(SELECT 1 FROM worker_queue INDEXED BY wq_session WHERE sid=?1 AND state=1)"
      " OR EXISTS(SELECT 1 FROM worker_queue INDEXED BY wq_session WHERE sid=?1 AND state=3)");
  find.bind(session);
  if (!find.row()) return fail(find.status(), "find running work");
  *running = find.integer(0) != 0;
  return Status::kOk;
}

// Capacity gates claims only; expired sessions that are still mine count.
Status SqliteProvider::may_claim(Fetch& fetch, bool* may) {
  *may = false;
  if (!fetch.claims_open) return Status::kOk;
  const std::int64_t most = fetch.how.options->max_sessions_per_worker;
  std::int64_t owned = 0;
  PAWL_TRY(count_owned(fetch.how.me, most, &owned));
  fetch.claims_open = owned < most;
  *may = fetch.claims_open;
  return Status::kOk;
}

Status SqliteProvider::claim(Fetch& fetch, const Candidate& candidate, const WorkRow& row) {
  bool may = false;
  PAWL_TRY(may_claim(fetch, &may));
  if (!may) return Status::kOk;
  OwnerChange change;
  change.session = row.session;
  change.to = fetch.how.me;
  change.lease_ms = fetch.how.options->session_lock_timeout_ms;
  change.strike = fetch.strike;
  change.limits = fetch.how.limits;
  WorkRow claimed = row;
  PAWL_TRY(change_owner(change, &claimed.session_epoch));
  if (candidate.branch != kTakeover) return hand_over(fetch, claimed);
  // Locks of the session ended, so its head may be another item now; or it was poisoned.
  Candidate head{0, row.session, kOwned};
  {
    Statement read = connection_.use(kReadHead, "SELECT head_id FROM sessions WHERE sid=?1");
    read.bind(row.session);
    if (!read.row()) return fail(read.status(), "read a session's head");
    head.id = read.integer(0);
  }
  return head.id == 0 ? Status::kOk : try_candidate(fetch, head);
}

Status SqliteProvider::next_token(LockToken* token) {
  Statement next =
      connection_.use(kNextToken, "UPDATE meta SET next_token=next_token+1 RETURNING next_token-1");
  if (!next.row()) return fail_written(next.status(), "take a token");
  *token = next.integer(0);
  return Status::kOk;
}

Status SqliteProvider::hand_over(Fetch& fetch, const WorkRow& row) {
  const SessionOptions& options = *fetch.how.options;
  WorkItem& out = *fetch.out;
  PAWL_TRY(next_token(&out.token));
  out.locked_until = add_saturating(batch_.now, options.worker_lock_timeout_ms);
  const std::int64_t run_ms = row.policy.start_to_close_ms;
  const std::int64_t run_due = run_ms == 0 ? -1 : make_due(batch_.now, run_ms);
  out.deadline = run_due;
  if (row.close_due >= 0 && (run_due < 0 || row.close_due < run_due)) out.deadline = row.close_due;
  {
    Statement lock = connection_.use(
        kHandOver,
        "UPDATE worker_queue SET state=1,token=?2,inc=?3,epoch=?4,locked_until=?5,boot_seq=?6,"
        "attempt=attempt+1,unregistered=0,start_due=NULL,run_due=?7 WHERE id=?1");
    lock.bind(row.id).bind(out.token).bind(fetch.how.me).bind(row.session_epoch);
    lock.bind(out.locked_until).bind(batch_.boot_seq);
    run_due < 0 ? lock.bind_null() : lock.bind(run_due);
    PAWL_TRY(fail(lock.run(), "hand work over"));
  }
  if (row.session != 0) {
    {
      Statement touch = connection_.use(
          kTouchSession,
          "UPDATE sessions SET last_activity_at=?2,activities=activities+1,epoch_used=epoch,"
          "locked_until=max(locked_until,?3) WHERE sid=?1");
      touch.bind(row.session).bind(batch_.now);
      touch.bind(add_saturating(batch_.now, options.session_lock_timeout_ms));
      PAWL_TRY(fail(touch.run(), "note a session's activity"));
    }
    PAWL_TRY(recompute_head(row.session));
  }
  out.id = row.id;
  out.instance = row.instance;
  out.execution = row.execution;
  out.event = row.event;
  out.session = row.session;
  out.epoch = row.session_epoch;
  out.exclusive = row.exclusive;
  out.claimed_now = row.session != 0 && row.epoch_used != row.session_epoch;
  out.attempt = row.attempt + 1;
  out.retry_attempt = static_cast<std::int32_t>(row.failures) + 1;
  out.may_retry = row.may_retry();
  out.crashes = row.crashes;
  *fetch.found = true;
  return Status::kOk;
}

// ---- fetch: what is normally empty -------------------------------------------------------------------------

// Locks and ghosts past their lease whose holder is gone, and own ones that this process does not run
// (a commit whose answer was lost). At most kExpiredLooksMax a call, in rotation.
Status SqliteProvider::take_expired_locks(Fetch& fetch) {
  for (unsigned looks = 0; looks < kExpiredLooksMax && !*fetch.found; ++looks) {
    Claim lock;
    WorkItemId item = 0;
    {
      Statement next = connection_.use(
          kNextExpiredLock,
          "SELECT q.id,q.inc,coalesce(w.buried,1),coalesce(w.lock_visible,0),q.locked_until,"
          "q.boot_seq,q.token FROM worker_queue q INDEXED BY wq_locked"
          " LEFT JOIN workers w ON w.inc=q.inc WHERE q.state IN (1,3) AND q.locked_until<=?1"
          " AND (q.locked_until,q.id)>(?2,?3) ORDER BY q.locked_until,q.id LIMIT 1");
      next.bind(batch_.now).bind(expired_lock_.until).bind(expired_lock_.key);
      if (!next.row()) {
        expired_lock_ = Expired();
        return fail(next.status(), "find expired locks");
      }
      item = next.integer(0);
      lock.holder = next.integer(1);
      lock.buried = next.integer(2) != 0;
      lock.lock_visible = next.integer(3) != 0;
      lock.locked_until = next.integer(4);
      lock.boot_seq = next.integer(5);
      lock.version = next.integer(6);
      expired_lock_ = {lock.locked_until, item};
    }
    PAWL_TRY(take_expired_lock(fetch, lock, item));
  }
  return Status::kOk;
}

Status SqliteProvider::take_expired_lock(Fetch& fetch, const Claim& lock, WorkItemId item) {
  const bool own = lock.holder == fetch.how.me;
  if (own && fetch.how.filter->runs_item(item)) return Status::kOk;
  WorkRow row;
  PAWL_TRY(read_work(item, &row));
  // Others' work of a session goes with the session, whose owner is who holds it: one observation.
  const bool ghost = row.state == kGhost;
  if (!own && !ghost && row.session != 0)
    return take_expired_session(fetch, Candidate{item, row.session, kTakeover});
  Gone gone = Gone::kSuspicion;
  if (!own) gone = fetch.how.evidence->gone(lock, fetch.how.me, batch_.now, batch_.boot_seq);
  if (gone == Gone::kNo) return Status::kOk;
  if (ghost) return delete_work(item, row.session);
  // A dead process is charged by its notes when it is buried.
  return unlock_work(item, row.session, gone == Gone::kSuspicion, fetch.how.limits);
}

Status SqliteProvider::take_expired_sessions(Fetch& fetch) {
  for (unsigned looks = 0; looks < kExpiredLooksMax && fetch.claims_open && !*fetch.found;
       ++looks) {
    Candidate candidate{0, 0, kTakeover};
    {
      Statement next = connection_.use(
          kNextExpiredSession,
          "SELECT head_id,sid,locked_until FROM sessions INDEXED BY s_lease"
          " WHERE owner IS NOT NULL AND locked_until<=?1 AND (locked_until,sid)>(?2,?3)"
          " AND owner<>?4 AND head_id IS NOT NULL AND hard=0 AND state=0"
          " ORDER BY locked_until,sid LIMIT 1");
      next.bind(batch_.now).bind(expired_session_.until).bind(expired_session_.key);
      next.bind(fetch.how.me);
      if (!next.row()) {
        expired_session_ = Expired();
        return fail(next.status(), "find expired sessions");
      }
      candidate.id = next.integer(0);
      candidate.session = next.integer(1);
      expired_session_ = {next.integer(2), candidate.session};
    }
    PAWL_TRY(take_expired_session(fetch, candidate));
  }
  return Status::kOk;
}

// Takes the session over if its owner is gone and this process can run the candidate.
Status SqliteProvider::take_expired_session(Fetch& fetch, const Candidate& candidate) {
  Claim claim;
  const Status read = session_claim(candidate.session, &claim);
  if (read == Status::kNotFound) return Status::kOk;
  PAWL_TRY(read);
  const Gone gone = fetch.how.evidence->gone(claim, fetch.how.me, batch_.now, batch_.boot_seq);
  if (gone == Gone::kNo) return Status::kOk;
  fetch.strike = gone == Gone::kSuspicion;
  return try_candidate(fetch, candidate);
}

}  // namespace pawl::sqlite
