// Work items: scheduling, acknowledgement, what ends them without a result. Rules: docs/sessions.md.
//
// A row of worker_queue holds no payload: name and input are read from the history of the instance,
// and checked there, when the item is handed over.
#include "hash.hpp"
#include "policy.hpp"
#include "sqlite_provider.hpp"
#include "work_row.hpp"

#include <cinttypes>
#include <limits>

namespace pawl::sqlite {

namespace {

// Hand-overs, crashes and failures: what a row that is whole can have.
std::int32_t count_of(std::int64_t number, bool* whole) {
  constexpr std::int64_t kCountMax = std::int64_t{1} << 30;  // one more is a number, too
  if (number >= 0 && number <= kCountMax) return static_cast<std::int32_t>(number);
  *whole = false;
  return 0;
}

OptionalMs optional_due(const Statement& row, int column, bool* whole) {
  if (row.is_null(column)) return {};
  return row.integer(column, whole);
}

}  // namespace

// ---- scheduling and cancelling ----------------------------------------------------------------------

constexpr sql::Query kInsert{
    "INSERT INTO worker_queue(instance,execution,event,sid,gen,state,attempt,crashes,strikes,"
    "reboots,unregistered,id,tag,due,waits_for)"
    " VALUES(?1,?2,?3,?4,(SELECT gen FROM sessions WHERE sid=?4),?7,0,0,0,0,0,?5,?6,?8,?9)"};

Status SqliteProvider::insert_work(InstanceKey instance, ExecutionId execution,
                                   const NewWork& work) {
  if (work.handed_over != nullptr) {
    PAWL_TRY(insert_handed_over(instance, execution, work));
    if (work.handed_over->id != 0) return Status::kOk;
  }
  ActivityOptions options;
  if (!work.policy.empty() && !decode_policy(work.policy, &options))
    return fail(Status::kInvalidArgument, "read a policy");
  Admission to;
  PAWL_TRY(session_of_work(instance, work, options, &to));
  if (to.why != ErrorKind::kNone) {
    // The failure is its outcome, told with the next turn.
    WorkRow row;
    row.instance = instance;
    row.execution = execution;
    row.event = work.event;
    return store_outcome(row, to.why, to.text.view());
  }
  bool waits = false;
  if (!work.foreign_name.empty() && !to.due.has_value())
    PAWL_TRY(must_wait(instance, work, to.session, &waits));
  // From the counter of tokens, whose row is written anyway; AUTOINCREMENT would touch one page more.
  const WorkItemId id = next_token();
  if (to.due.has_value()) due_comes(DueKind::kWork);
  {
    Statement insert = connection_.use(kInsert);
    insert.bind(instance).bind(execution).bind(work.event);
    to.session == 0 ? insert.bind_null() : insert.bind(to.session);
    const bool is_ready = !to.due.has_value() && !waits;
    insert.bind(id).bind_text_or_null(work.tag).bind(is_ready ? kReady : kDelayed);
    insert.bind_optional(to.due);
    waits ? insert.bind_text(work.foreign_name) : insert.bind_null();
    PAWL_TRY(fail(insert.run(), "schedule an activity"));
  }
  if (!work.policy.empty()) PAWL_TRY(set_policy(id, work.policy, options));
  ++made_ready_;
  return to.session == 0 ? Status::kOk : recompute_head(to.session);
}

constexpr sql::Query kFindHeld{
    "SELECT sid,epoch,gen FROM sessions WHERE scope=0 AND name=?1 AND owner=?2 AND state=0"
    " AND hard=0 AND excl=0 AND head_id IS NULL AND epoch_used=epoch AND tag IS NULL"
    " AND NOT EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_barrier"
    " WHERE q.sid=sessions.sid AND q.barrier IS NOT NULL)"};
constexpr sql::Query kInsertHandedOver{
    "INSERT INTO worker_queue(instance,execution,event,state,attempt,crashes,strikes,reboots,"
    "unregistered,id,token,inc,epoch,locked_until,boot_seq,sid,gen)"
    " VALUES(?1,?2,?3,1,1,0,0,0,0,?4,?5,?6,?7,?8,?9,?10,?11)"};

// What a fetch would do next, in one write: it is never ready, so no index of ready ones has it.
Status SqliteProvider::insert_handed_over(InstanceKey instance, ExecutionId execution,
                                          const NewWork& work) {
  PAWL_CHECK("provider-33", work.policy.empty() && work.tag.empty());
  WorkItem& item = *work.handed_over;
  std::int64_t generation = 0;
  if (!work.session.empty()) {
    Statement find = connection_.use(kFindHeld);
    find.bind_text(work.session).bind(batch_worker_);
    if (!find.row()) return fail(find.status(), "find a session");
    item.session = find.integer(0);
    item.epoch = find.integer(1);
    generation = find.integer(2);
  }
  item.id = next_token();
  item.token = next_token();
  {
    Statement insert = connection_.use(kInsertHandedOver);
    insert.bind(instance).bind(execution).bind(work.event).bind(item.id).bind(item.token);
    insert.bind(batch_worker_).bind(item.epoch).bind(item.locked_until).bind(batch_.boot_seq);
    insert.bind_or_null(item.session).bind_or_null(generation);
    PAWL_TRY(fail(insert.run(), "hand an activity over"));
  }
  return item.session == 0 ? Status::kOk : count_activity(item.session, work.session_lease_until);
}

constexpr sql::Query kCountActivity{"UPDATE sessions SET activities=activities+1 WHERE sid=?1"};
constexpr sql::Query kTouchHandedOver{
    "UPDATE sessions SET last_activity_at=?2,activities=activities+1,"
    "locked_until=max(locked_until,?3) WHERE sid=?1"};

// Its lease is as long as it can be from this batch on, and its head is as it was.
Status SqliteProvider::count_activity(SessionKey session, std::int64_t lease_until) {
  if (is_noted(session, lease_until)) {
    Statement count = connection_.use(kCountActivity);
    return fail(count.bind(session).run(), "note a session's activity");
  }
  Statement touch = connection_.use(kTouchHandedOver);
  touch.bind(session).bind(batch_.now).bind(lease_until);
  return fail(touch.run(), "note a session's activity");
}

// Remembers, of the first sessions of a batch, that their rows say when they were active, and of their
// lease. 0: whatever that is.
bool SqliteProvider::is_noted(SessionKey session, std::int64_t lease_until) {
  for (Noted& noted : noted_) {
    if (noted.session != session) continue;
    const bool is_known = noted.lease_until >= lease_until;
    if (!is_known) noted.lease_until = lease_until;
    return is_known;
  }
  if (!noted_.full()) static_cast<void>(noted_.push_back({session, lease_until}));
  return false;
}

Status SqliteProvider::session_of_work(InstanceKey instance, const NewWork& work,
                                       const ActivityOptions& options, Admission* out) {
  if (work.session.empty()) return Status::kOk;
  if (!options.own_session)
    return session_for(work.session, {options.device, options.exclusive}, &out->session);
  Opened row;
  const Status found = read_opened(instance, work.session, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  out->session = row.session;
  if (found == Status::kOk && row.is_open()) return admit_work(row, out);
  out->why = ErrorKind::kSessionClosed;
  out->text.assign_cut("the session is not open");
  if (row.state == kLost) {
    out->why = ErrorKind::kSessionLost;
    Claim claim;
    PAWL_TRY(device_claim(row.session, &claim));
    return describe_loss(row.session, claim.version, "not opened again", &out->text);
  }
  if (row.ended.empty()) return Status::kOk;
  if (row.state == kRefused) out->why = ErrorKind::kLimit;
  out->text.assign_cut(row.ended.view());
  return Status::kOk;
}

constexpr sql::Query kSetPolicy{
    "UPDATE worker_queue SET policy=?2,failures=0,start_due=?3,close_due=?4,unavailable_due=?5,"
    "barrier=?6 WHERE id=?1"};

Status SqliteProvider::set_policy(WorkItemId item, std::string_view policy,
                                  const ActivityOptions& options) {
  due_comes(DueKind::kWork);
  Statement set = connection_.use(kSetPolicy);
  set.bind(item).bind_text(policy);
  for (const std::int64_t limit_ms :
       {options.schedule_to_start_ms, options.schedule_to_close_ms, options.unavailable_ms})
    limit_ms == 0 ? set.bind_null() : set.bind(make_due(batch_.now, limit_ms));
  options.barrier ? set.bind(1) : set.bind_null();
  return fail(set.run(), "keep a policy");
}

constexpr sql::Query kDelete{"DELETE FROM worker_queue WHERE id=?1"};

Status SqliteProvider::delete_row(WorkItemId item) {
  due_moves(DueKind::kWork);
  Statement remove = connection_.use(kDelete);
  remove.bind(item);
  return fail(remove.run(), "delete a work item");
}

Status SqliteProvider::delete_work(WorkItemId item, SessionKey session) {
  PAWL_TRY(delete_row(item));
  if (session == 0) return Status::kOk;
  PAWL_TRY(recompute_head(session));
  return forget_if_closed(session);
}

Status SqliteProvider::cancel_work(InstanceKey instance, ExecutionId execution, EventId event) {
  return cancel_range(instance, execution, event, event);
}

Status SqliteProvider::cancel_all_work(InstanceKey instance, ExecutionId execution) {
  return cancel_range(instance, execution, 0, std::numeric_limits<EventId>::max());
}

constexpr sql::Query kNextCancelled{
    "SELECT q.event,q.id,q.sid,q.state,coalesce(s.excl,0) FROM worker_queue q"
    " INDEXED BY wq_event LEFT JOIN sessions s ON s.sid=q.sid"
    " WHERE q.instance=?1 AND q.execution=?2 AND q.event<=?3 AND (q.event,q.id)>(?4,?5)"
    " ORDER BY q.event,q.id LIMIT 1"};

Status SqliteProvider::cancel_range(InstanceKey instance, ExecutionId execution, EventId first,
                                    EventId last) {
  std::int64_t event = first;
  WorkItemId item = 0;
  Walk walk;
  while (true) {
    SessionKey session = 0;
    bool becomes_ghost = false;
    bool is_ghost = false;
    {
      Statement next = connection_.use(kNextCancelled);
      next.bind(instance).bind(execution).bind(last).bind(event).bind(item);
      if (!next.row()) return fail(next.status(), "find cancelled work");
      event = next.integer(0);
      item = next.integer(1);
      if (!walk.rises(event, item)) return no_progress("worker_queue");
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

constexpr sql::Query kMakeGhost{
    "UPDATE worker_queue SET state=3,start_due=NULL,close_due=NULL,run_due=NULL,"
    "silent_due=NULL WHERE id=?1"};

// Its execution goes on until it is told; until then nothing else of the session may start.
Status SqliteProvider::make_ghost(WorkItemId item) {
  due_moves(DueKind::kWork);
  Statement ghost = connection_.use(kMakeGhost);
  ghost.bind(item);
  return fail(ghost.run(), "cancel running work");
}

// ---- reading a row, ending it as failed ---------------------------------------------------------------

constexpr sql::Query kRead{
    "SELECT q.instance,q.execution,q.event,q.state,q.token,q.epoch,q.attempt,q.crashes,"
    "q.unregistered,q.sid,s.epoch,s.epoch_used,s.excl,s.hard,q.policy,q.failures,q.start_due,"
    "q.close_due,q.silent_due,s.scope,s.gen,s.state,s.head_id=q.id,s.owner"
    " FROM worker_queue q LEFT JOIN sessions s ON s.sid=q.sid WHERE q.id=?1"};

Status SqliteProvider::read_work(WorkItemId item, WorkRow* row) {
  const Suspicion work(connection_, RowRef::Table::kWork, item);
  Statement read = connection_.use(kRead);
  read.bind(item);
  if (!read.row())
    return read.status() == Status::kOk ? Status::kNotFound : fail(read.status(), "read work");
  row->id = item;
  bool whole = true;
  const auto number = [&](int column) { return read.integer(column, &whole); };
  row->instance = number(0);
  row->execution = number(1);
  row->event = static_cast<EventId>(number(2));
  row->state = number(3);
  row->token = number(4);
  row->epoch = number(5);
  row->attempt = count_of(number(6), &whole);
  row->crashes = count_of(number(7), &whole);
  row->unregistered = count_of(number(8), &whole);
  row->session = number(9);
  row->failures = count_of(number(15), &whole);
  row->start_due = optional_due(read, 16, &whole);
  row->close_due = optional_due(read, 17, &whole);
  row->silent_due = optional_due(read, 18, &whole);
  if (row->state < kReady || row->state > kGhost) whole = false;
  if (!read.is_null(14) && !decode_policy(read.bytes(14), &row->policy)) whole = false;
  row->damaged = !whole;
  const Suspicion session(connection_, RowRef::Table::kSessions, row->session);
  row->session_epoch = read.integer(10);
  row->epoch_used = read.integer(11);
  row->exclusive = read.integer(12) != 0;
  row->hard = read.integer(13) != 0;
  row->session_scope = read.integer(19);
  row->session_generation = read.integer(20);
  row->open = read.integer(21) < kLost;
  row->is_head = read.integer(22) != 0;
  row->owner = read.integer(23);
  return Status::kOk;
}

Status SqliteProvider::store_outcome(const WorkRow& row, ErrorKind kind, std::string_view text) {
  const Suspicion suspect(connection_, RowRef::Table::kInstances, row.instance);
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

Status SqliteProvider::end_work(WorkItemId item, ErrorKind kind, std::string_view text) {
  WorkRow row;
  PAWL_TRY(read_work(item, &row));
  PAWL_TRY(store_outcome(row, kind, text));
  return row.state == kLocked && row.exclusive ? make_ghost(row.id)
                                               : delete_work(row.id, row.session);
}

Status SqliteProvider::time_out(const WorkRow& row, ErrorKind kind, std::string_view text) {
  PAWL_TRY(store_outcome(row, kind, text));
  return row.state == kLocked && row.exclusive ? make_ghost(row.id)
                                               : delete_work(row.id, row.session);
}

// What is left of it does not say how it is to be worked on.
Status SqliteProvider::give_up_damaged(const WorkRow& row) {
  return quarantine_work(row.id, ErrorKind::kCorrupt,
                         "worker_queue: a column has a type or value that it cannot have");
}

constexpr sql::Query kFailAttempt{
    "UPDATE worker_queue SET failures=failures+1,last_error=?2 WHERE id=?1"};

// Requires: row.may_retry().
Status SqliteProvider::retry_work(const WorkRow& row, std::string_view text) {
  {
    Statement count = connection_.use(kFailAttempt);
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

constexpr sql::Query kReadCounts{
    "SELECT crashes,strikes,reboots FROM worker_queue WHERE id=?1 AND state<>3"};

// Each count has its own limit and they are never summed: ten power cuts poison nothing.
Status SqliteProvider::poison_if_at_limit(WorkItemId item, const CrashLimits& limits) {
  Diagnostic why;
  {
    Statement counts = connection_.use(kReadCounts);
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

constexpr sql::Query kCountCrash{
    "UPDATE worker_queue SET crashes=crashes+1 WHERE id=?1 AND state<>3"};

Status SqliteProvider::count_crash(WorkItemId item, const CrashLimits& limits) {
  {
    Statement count = connection_.use(kCountCrash);
    count.bind(item);
    PAWL_TRY(fail(count.run(), "count a crash"));
  }
  return poison_if_at_limit(item, limits);
}

// ---- locks that end without a result --------------------------------------------------------------------

constexpr sql::Query kUnlock{
    "UPDATE worker_queue SET reboots=reboots+(boot_seq<?2),"
    "strikes=strikes+(?3 AND boot_seq=?2),state=0,token=NULL,inc=NULL,epoch=NULL,"
    "locked_until=NULL,boot_seq=NULL,run_due=NULL,silent_due=NULL WHERE id=?1 AND state=1"};

Status SqliteProvider::unlock_work(WorkItemId item, SessionKey session, bool strike,
                                   const CrashLimits& limits) {
  due_moves(DueKind::kWork);
  {
    // A lock of an earlier boot ended by a power cut, which is nobody's fault.
    Statement unlock = connection_.use(kUnlock);
    unlock.bind(item).bind(batch_.boot_seq).bind(strike ? 1 : 0);
    PAWL_TRY(fail(unlock.run(), "unlock work"));
  }
  ++made_ready_;
  if (session != 0) PAWL_TRY(recompute_head(session));
  return poison_if_at_limit(item, limits);
}

constexpr sql::Query kDelay{
    "UPDATE worker_queue SET state=?2,due=?3,strikes=strikes+?4,unregistered=unregistered+?5,"
    "token=NULL,inc=NULL,epoch=NULL,locked_until=NULL,boot_seq=NULL,run_due=NULL,silent_due="
    "NULL WHERE id=?1"};

Status SqliteProvider::put_back(const WorkRow& row, const PutBack& how) {
  how.delay_ms > 0 ? due_comes(DueKind::kWork) : due_moves(DueKind::kWork);
  {
    Statement delay = connection_.use(kDelay);
    delay.bind(row.id).bind(how.delay_ms > 0 ? kDelayed : kReady);
    how.delay_ms > 0 ? delay.bind(make_due(batch_.now, how.delay_ms)) : delay.bind_null();
    delay.bind(how.strike ? 1 : 0).bind(how.unregistered ? 1 : 0);
    PAWL_TRY(fail(delay.run(), "put work back"));
  }
  ++made_ready_;
  return row.session == 0 ? Status::kOk : recompute_head(row.session);
}

constexpr sql::Query kFirstDelayed{
    "SELECT id,sid FROM worker_queue INDEXED BY wq_delayed"
    " WHERE state=2 AND due<=?1 ORDER BY due LIMIT 1"};
constexpr sql::Query kWake{"UPDATE worker_queue SET state=0,due=NULL WHERE id=?1"};

Status SqliteProvider::wake_delayed_work(std::size_t limit, std::size_t* woken) {
  due_moves(DueKind::kWork);
  Walk walk;
  for (std::size_t i = 0; i < limit; ++i) {
    WorkItemId item = 0;
    SessionKey session = 0;
    {
      Statement first = connection_.use(kFirstDelayed);
      first.bind(batch_.now);
      if (!first.row()) return fail(first.status(), "find delayed work");
      item = first.integer(0);
      if (!walk.changes(item)) return no_progress("worker_queue");
      bool whole = true;
      session = first.integer(1, &whole);
    }
    const Suspicion work(connection_, RowRef::Table::kWork, item);
    {
      Statement wake = connection_.use(kWake);
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

constexpr sql::Query kNextOverdue{
    "SELECT id FROM worker_queue INDEXED BY wq_deadline"
    " WHERE deadline IS NOT NULL AND deadline<=?1 ORDER BY deadline LIMIT 1"};

Status SqliteProvider::end_overdue_work(std::size_t limit, std::size_t* ended) {
  Walk walk;
  for (std::size_t i = 0; i < limit; ++i) {
    WorkRow row;
    {
      Statement next = connection_.use(kNextOverdue);
      next.bind(batch_.now);
      if (!next.row()) return fail(next.status(), "find overdue work");
      row.id = next.integer(0);
      if (!walk.changes(row.id)) return no_progress("worker_queue");
    }
    PAWL_TRY(read_work(row.id, &row));
    PAWL_TRY(end_overdue(row));
    ++*ended;
  }
  return Status::kOk;
}

constexpr sql::Query kTag{"SELECT tag FROM worker_queue WHERE id=?1"};
constexpr sql::Query kLastError{"SELECT last_error FROM worker_queue WHERE id=?1"};

Status SqliteProvider::end_overdue(const WorkRow& row) {
  const Suspicion work(connection_, RowRef::Table::kWork, row.id);
  if (row.damaged) return give_up_damaged(row);
  Diagnostic why;
  if (row.start_due.has_passed(batch_.now)) {
    Statement read = connection_.use(kTag);
    read.bind(row.id);
    if (!read.row()) return fail(read.status(), "read the tag of work");
    const std::string_view tag = read.bytes(0);
    why.format("schedule_to_start_ms (%" PRId64 ") passed: no worker took it%s%.*s%s",
               row.policy.schedule_to_start_ms, tag.empty() ? "" : "; its tag is \"",
               static_cast<int>(tag.size()), tag.data(), tag.empty() ? "" : "\"");
    return time_out(row, ErrorKind::kNotStarted, why.text());
  }
  if (!row.close_due.has_passed(batch_.now)) {
    const bool is_silent = row.silent_due.has_passed(batch_.now);
    if (is_silent) {
      why.format("heartbeat_timeout_ms (%" PRId64 ") passed without a heartbeat",
                 row.policy.heartbeat_timeout_ms);
    } else {
      why.format("start_to_close_ms (%" PRId64 ") passed", row.policy.start_to_close_ms);
    }
    // Beside an execution that goes on, an exclusive session can have no other.
    if (row.may_retry() && !row.exclusive) return retry_work(row, why.text());
    return time_out(row, is_silent ? ErrorKind::kHeartbeatTimeout : ErrorKind::kTimeout,
                    why.text());
  }
  {
    Statement last = connection_.use(kLastError);
    last.bind(row.id);
    if (!last.row()) return fail(last.status(), "read the last error of work");
    const std::string_view error = last.bytes(0);
    why.format("schedule_to_close_ms (%" PRId64 ") passed%s%.*s", row.policy.schedule_to_close_ms,
               error.empty() ? "" : "; the last error was: ", static_cast<int>(error.size()),
               error.data());
  }
  return time_out(row, ErrorKind::kTimeout, why.text());
}

// ---- acknowledge, abandon, renew --------------------------------------------------------------------------

Status SqliteProvider::check_work_item(const WorkDone& done) { return check_done(done, 0); }

Status SqliteProvider::check_done(const WorkDone& done, InstanceKey instance) {
  WorkRow row;
  const Status read = read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  checked_ = {row.id, row.exclusive || row.policy.barrier, row.open};
  const bool fits = row.accepts(done) && (instance == 0 || row.instance == instance);
  return fits ? Status::kOk : Status::kStale;
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
  if (done.abort_session && row.session != 0) {
    PAWL_TRY(complete_work(row, result.error, result.payload));
    return abort_session(row.session);
  }
  if (result.error == ErrorKind::kApplication && !result.permanent && row.may_retry())
    return retry_work(row, result.payload);
  return complete_work(row, result.error, result.payload);
}

Status SqliteProvider::take_work(const WorkDone& done, bool again) {
  if (done.session == 0) return delete_work(done.item, 0);
  if (again || checked_.item != done.item) PAWL_TRY(check_done(done, 0));
  PAWL_TRY(note_activity(done.session));
  // Of a handed-over item of a session that others may run beside, nothing hangs on the row.
  const bool stands_alone = !checked_.exclusive && checked_.open;
  PAWL_TRY(stands_alone ? delete_row(done.item) : delete_work(done.item, done.session));
  return done.abort_session ? abort_session(done.session) : Status::kOk;
}

constexpr sql::Query kTouchAcknowledged{"UPDATE sessions SET last_activity_at=?2 WHERE sid=?1"};

Status SqliteProvider::note_activity(SessionKey session) {
  if (session == 0 || is_noted(session, 0)) return Status::kOk;
  Statement touch = connection_.use(kTouchAcknowledged);
  touch.bind(session).bind(batch_.now);
  return fail(touch.run(), "note a session's activity");
}

constexpr sql::Query kNoteProgress{
    "UPDATE worker_queue SET progress=coalesce(?2,progress),silent_due=?3 WHERE id=?1"};

Status SqliteProvider::note_progress(const WorkDone& done, std::string_view progress,
                                     std::int64_t at) {
  WorkRow row;
  const Status read = read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  if (!row.accepts(done)) return Status::kStale;
  if (row.policy.heartbeat_timeout_ms > 0) due_comes(DueKind::kWork);
  Statement note = connection_.use(kNoteProgress);
  note.bind(row.id);
  note.bind_blob_or_null(progress);
  const std::int64_t silence_ms = row.policy.heartbeat_timeout_ms;
  silence_ms == 0 ? note.bind_null() : note.bind(make_due(at, silence_ms));
  return fail(note.run(), "note the progress of work");
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

constexpr sql::Query kRenewItem{
    "UPDATE worker_queue SET locked_until=max(locked_until,?4)"
    " WHERE id=?1 AND token=?2 AND inc=?3 AND epoch=?5 AND state IN (1,3) RETURNING sid"};
constexpr sql::Query kRenewItsSession{
    "UPDATE sessions SET locked_until=max(locked_until,?4),last_activity_at=?5"
    " WHERE sid=?1 AND owner=?2 AND epoch=?3"};

Status SqliteProvider::renew_work_item_lock(const WorkDone& done, Incarnation me,
                                            const SessionOptions& options) {
  SessionKey session = 0;
  {
    Statement renew = connection_.use(kRenewItem);
    renew.bind(done.item).bind(done.token).bind(me);
    renew.bind(add_saturating(batch_.now, options.worker_lock_timeout_ms)).bind(done.epoch);
    if (!renew.row())
      return renew.status() == Status::kOk ? Status::kStale
                                           : fail_written(renew.status(), "renew a lock");
    session = renew.integer(0);
  }
  if (session == 0) return Status::kOk;
  // Never the session of somebody who took it meanwhile.
  Statement touch = connection_.use(kRenewItsSession);
  touch.bind(session).bind(me).bind(done.epoch);
  touch.bind(add_saturating(batch_.now, options.session_lock_timeout_ms)).bind(batch_.now);
  return fail(touch.run(), "renew a session with its work");
}

}  // namespace pawl::sqlite
