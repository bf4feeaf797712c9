#include "store/work/rows.hpp"

#include <limits>

#include "codec/policy.hpp"
#include "core/clock_rules.hpp"
#include "store/sql/damage.hpp"
#include "store/walk.hpp"
#include "store/work/work_sql.hpp"
#include "store/worker/lease_rules.hpp"

namespace pawl::store {
namespace {

// Reads a count of hand-overs, crashes or failures; an intact row has no other values.
std::int32_t count_of(std::int64_t number, bool* whole) {
  constexpr std::int64_t kCountMax = std::int64_t{1} << 30;  // leaves room for one more
  if (number >= 0 && number <= kCountMax) return static_cast<std::int32_t>(number);
  *whole = false;
  return 0;
}

OptionalMs optional_due(const Statement& row, int column, bool* whole) {
  if (row.is_null(column)) return {};
  return row.integer(column, whole);
}

}  // namespace

constexpr auto kRead = PAWL_QUERY(
    "SELECT q.instance,q.execution,q.event,q.state,q.token,q.epoch,q.attempt,q.crashes,"
    "q.unregistered,q.sid,s.epoch,s.epoch_used,s.excl,s.hard,q.policy,q.failures,q.start_due,"
    "q.close_due,q.silent_due,s.scope,s.gen,s.state,s.head_id=q.id AS is_head,s.owner"
    " FROM worker_queue q LEFT JOIN sessions s ON s.sid=q.sid WHERE q.id=?1");

void WorkRows::read_work_ahead(WorkItemId item) { sql::read_ahead(connection_, kRead, item); }

Status WorkRows::read_work(WorkItemId item, WorkRow* row) {
  const Suspicion work(connection_, RowRef::Table::kWork, item);
  Statement read = connection_.use(kRead);
  read.bind(item);
  if (!read.row()) return no_row(read, Status::kNotFound, "read work");
  row->id = item;
  bool whole = true;
  const auto number = [&](int column) { return read.integer(column, &whole); };
  row->instance = number(PAWL_COLUMN(kRead, q.instance));
  row->execution = number(PAWL_COLUMN(kRead, q.execution));
  row->event = static_cast<EventId>(number(PAWL_COLUMN(kRead, q.event)));
  const std::int64_t state = number(PAWL_COLUMN(kRead, q.state));
  row->state = rules::work_state_of(state);
  if (!read.is_null(PAWL_COLUMN(kRead, q.token))) row->token = number(PAWL_COLUMN(kRead, q.token));
  row->epoch = number(PAWL_COLUMN(kRead, q.epoch));
  row->attempt = count_of(number(PAWL_COLUMN(kRead, q.attempt)), &whole);
  row->crashes = count_of(number(PAWL_COLUMN(kRead, q.crashes)), &whole);
  row->unregistered = count_of(number(PAWL_COLUMN(kRead, q.unregistered)), &whole);
  row->session = number(PAWL_COLUMN(kRead, q.sid));
  row->failures = count_of(number(PAWL_COLUMN(kRead, q.failures)), &whole);
  row->limits.start_due = optional_due(read, PAWL_COLUMN(kRead, q.start_due), &whole);
  row->limits.close_due = optional_due(read, PAWL_COLUMN(kRead, q.close_due), &whole);
  row->limits.silent_due = optional_due(read, PAWL_COLUMN(kRead, q.silent_due), &whole);
  if (stored(row->state) != state) whole = false;
  if (!read.is_null(PAWL_COLUMN(kRead, q.policy)) &&
      !decode_policy(read.bytes(PAWL_COLUMN(kRead, q.policy)), &row->policy))
    whole = false;
  row->damaged = !whole;
  const Suspicion session(connection_, RowRef::Table::kSessions, row->session);
  row->session_epoch = read.integer(PAWL_COLUMN(kRead, s.epoch));
  row->epoch_used = read.integer(PAWL_COLUMN(kRead, s.epoch_used));
  row->its_session.exclusive = read.integer(PAWL_COLUMN(kRead, s.excl)) != 0;
  row->its_session.device = read.integer(PAWL_COLUMN(kRead, s.hard)) != 0;
  row->session_scope = read.integer(PAWL_COLUMN(kRead, s.scope));
  row->session_generation = read.integer(PAWL_COLUMN(kRead, s.gen));
  row->its_session.state = rules::state_of(read.integer(PAWL_COLUMN(kRead, s.state)));
  row->is_head = read.integer(PAWL_COLUMN(kRead, is_head)) != 0;
  if (!read.is_null(PAWL_COLUMN(kRead, s.owner)))
    row->its_session.owner = read.integer(PAWL_COLUMN(kRead, s.owner));
  return Status::kOk;
}

constexpr auto kReadHandOver =
    PAWL_QUERY("SELECT instance,state,token,epoch FROM worker_queue WHERE id=?1 AND sid IS NULL");

void WorkRows::read_hand_over_ahead(WorkItemId item) {
  sql::read_ahead(connection_, kReadHandOver, item);
}

Status WorkRows::read_hand_over(WorkItemId item, InstanceKey* instance, rules::LastHandOver* last) {
  const Suspicion work(connection_, RowRef::Table::kWork, item);
  Statement read = connection_.use(kReadHandOver);
  if (!read.bind(item).row()) return no_row(read, Status::kNotFound, "read work");
  bool whole = true;  // a damaged row fits no hand-over
  *instance = read.integer(PAWL_COLUMN(kReadHandOver, instance), &whole);
  last->state = rules::work_state_of(read.integer(PAWL_COLUMN(kReadHandOver, state), &whole));
  if (!read.is_null(PAWL_COLUMN(kReadHandOver, token)))
    last->token = read.integer(PAWL_COLUMN(kReadHandOver, token), &whole);
  last->epoch = read.integer(PAWL_COLUMN(kReadHandOver, epoch), &whole);
  return Status::kOk;
}

constexpr auto kWriteState = PAWL_QUERY(
    "UPDATE worker_queue SET state=?2,token=iif(?3,token,?4),inc=iif(?3,inc,?5),"
    "epoch=iif(?3,epoch,?6),locked_until=iif(?3,locked_until,?7),boot_seq=iif(?3,boot_seq,?8),"
    "run_due=iif(?20 IS "
    "NULL,?9,run_due),silent_due=?10,due=?11,waits_for=?12,start_due=iif(?13,NULL,start_due),"
    "close_due=iif(?14,NULL,close_due),attempt=attempt+?15,strikes=strikes+?16,"
    "reboots=reboots+?17,unregistered=unregistered+?18,"
    "token_hash=iif(?20 IS NULL,?19,token_hash),outside_stamp=?20 WHERE id=?1",
    kWorkMoves);

Status WorkRows::write_state(WorkItemId item, const WorkWrite& write) {
  Statement row = connection_.use(kWriteState);
  row.bind(item).bind(stored(write.state)).bind(write.keeps_lock ? 1 : 0);
  if (write.lock != nullptr) {
    const WorkLock& lock = *write.lock;
    row.bind(lock.token).bind(lock.holder).bind(lock.epoch).bind(lock.until).bind(batch_.boot_seq);
  } else {
    row.bind_null().bind_null().bind_null().bind_null().bind_null();
  }
  row.bind_due(write.run_due, kWorkComes).bind_due(write.silent_due, kWorkComes);
  row.bind_due(write.due, kWorkComes);
  row.bind_text_or_null(write.waits_for);
  row.bind(write.ends_start_due ? 1 : 0).bind(write.ends_close_due ? 1 : 0);
  row.bind(write.attempts).bind(write.strikes).bind(write.reboots).bind(write.unregistered);
  row.bind_blob_or_null(write.token_hash);
  write.outside_stamp.has_value() ? row.bind(*write.outside_stamp) : row.bind_null();
  return fail(row.run(), "change work");
}

Status WorkRows::put_back(const WorkRow& row, const PutBack& how) {
  WorkWrite write;
  if (how.delay_ms > 0) {
    write.state = rules::WorkState::kDelayed;
    write.due = make_due(batch_.now, how.delay_ms);
  }
  write.strikes = how.strike ? 1 : 0;
  write.unregistered = how.unregistered ? 1 : 0;
  PAWL_TRY(write_state(row.id, write));
  ++context_.made_ready;
  return row.session == 0 ? Status::kOk : sessions_.recompute_head(row.session);
}

constexpr auto kBeginOwnLease = PAWL_QUERY(
    "UPDATE worker_queue SET locked_until=max(locked_until,coalesce((SELECT w.locked_until"
    " FROM workers w WHERE w.inc=worker_queue.inc),0)) WHERE id=?1");

// The execution goes on until the cancellation reaches it; until it has ended, nothing else of the
// session may start. From here on its lock has a lease of its own, which its worker does not renew
// for ever (S36).
Status WorkRows::mark_cancelled_running(WorkItemId item) {
  {
    Statement begin = connection_.use(kBeginOwnLease);
    PAWL_TRY(fail(begin.bind(item).run(), "begin a lock's own lease"));
  }
  WorkWrite write;
  write.state = rules::WorkState::kCancelledRunning;
  write.keeps_lock = true;
  write.ends_start_due = true;
  write.ends_close_due = true;
  return write_state(item, write);
}

Status WorkRows::delete_work(WorkItemId item, SessionKey session) {
  PAWL_TRY(delete_row(item));
  if (session == 0) return Status::kOk;
  PAWL_TRY(sessions_.note_activity(session));
  PAWL_TRY(sessions_.recompute_head(session));
  return sessions_.forget_if_closed(session);
}

constexpr auto kDelete = PAWL_QUERY("DELETE FROM worker_queue WHERE id=?1", kWorkMoves);

Status WorkRows::delete_row(WorkItemId item) {
  Statement remove = connection_.use(kDelete);
  remove.bind(item);
  return fail(remove.run(), "delete a work item");
}

Status WorkRows::cancel_work(InstanceKey instance, ExecutionId execution, EventId event) {
  return cancel_range(instance, execution, event, event);
}

Status WorkRows::cancel_all_work(InstanceKey instance, ExecutionId execution) {
  return cancel_range(instance, execution, 0, std::numeric_limits<EventId>::max());
}

constexpr auto kFirstCancelledRunning = PAWL_QUERY(
    "SELECT id FROM worker_queue\fINDEXED BY wq_session\r"
    "WHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kCancelledRunning>, " ORDER BY id LIMIT 1");

Status WorkRows::delete_cancelled_running(SessionKey session) {
  Walk walk;
  while (true) {
    WorkItemId item = 0;
    {
      Statement first = connection_.use(kFirstCancelledRunning);
      first.bind(session);
      if (!first.row()) return fail(first.status(), "find cancelled work of a session");
      item = first.integer(0);
      if (!walk.rises(item)) return no_progress("worker_queue");
    }
    PAWL_TRY(delete_work(item, session));
  }
}

constexpr auto kFirstDelayed = PAWL_QUERY(
    "SELECT id,sid FROM worker_queue\fINDEXED BY wq_delayed\r"
    "WHERE state=",
    sql::number<rules::WorkState::kDelayed>, " AND due<=?1 ORDER BY due,id LIMIT 1");

Status WorkRows::wake_delayed_work(std::size_t limit, std::size_t* woken) {
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
    PAWL_TRY(write_state(item, {}));
    ++context_.made_ready;
    ++*woken;
    if (session != 0) PAWL_TRY(sessions_.recompute_head(session));
  }
  return Status::kOk;
}

constexpr auto kReadLock =
    PAWL_QUERY("SELECT state FROM worker_queue WHERE id=?1 AND token=?2 AND inc=?3 AND epoch=?4");
constexpr auto kRenewCancelled =
    PAWL_QUERY("UPDATE worker_queue SET locked_until=max(locked_until,?2) WHERE id=?1");

Status WorkRows::renew_work_item_lock(const WorkDone& done, Incarnation me,
                                      const WorkerTerms& options) {
  rules::WorkState state = rules::WorkState::kReady;
  {
    Statement read = connection_.use(kReadLock);
    read.bind(done.item).bind(done.token).bind(me).bind(done.epoch);
    if (!read.row()) return no_row(read, Status::kStale, "read a lock");
    state = rules::work_state_of(read.integer(0));
  }
  if (!rules::is_in_hand(state)) return Status::kStale;
  if (state == rules::WorkState::kLocked) return Status::kOk;
  Statement renew = connection_.use(kRenewCancelled);
  renew.bind(done.item).bind(rules::lease_until(batch_.now, options.worker_lock_timeout_ms));
  return fail_written(renew.run(), "renew a lock");
}

constexpr auto kNextCancelled = PAWL_QUERY(
    "SELECT q.event,q.id,q.sid,q.state,coalesce(s.excl,0) AS excl FROM worker_queue q"
    "\fINDEXED BY wq_event\rLEFT JOIN sessions s ON s.sid=q.sid"
    " WHERE q.id>=",
    sql::number<kIndexedWorkFrom>,
    " AND q.instance=?1 AND q.execution=?2 AND q.event<=?3 AND (q.event,q.id)>(?4,?5)"
    " ORDER BY q.event,q.id LIMIT 1");
constexpr auto kNextAtOnce =
    PAWL_QUERY("SELECT id,sid FROM worker_queue WHERE id>?5 AND id<", sql::number<kIndexedWorkFrom>,
               " AND instance=?1 AND execution=?2 AND event BETWEEN ?3 AND ?4 ORDER BY id LIMIT 1");

// These items have no session in which they could hold others back, so their rows need not stay.
Status WorkRows::cancel_handed_over_at_once(InstanceKey instance, ExecutionId execution,
                                            EventId first, EventId last) {
  WorkItemId item = 0;
  Walk walk;
  while (true) {
    SessionKey session = 0;
    {
      Statement next = connection_.use(kNextAtOnce);
      next.bind(instance).bind(execution).bind(first).bind(last).bind(item);
      if (!next.row()) return fail(next.status(), "find cancelled work");
      item = next.integer(0);
      if (!walk.rises(item)) return no_progress("worker_queue");
      session = next.integer(1);
    }
    PAWL_TRY(delete_work(item, session));
  }
}

Status WorkRows::cancel_range(InstanceKey instance, ExecutionId execution, EventId first,
                              EventId last) {
  PAWL_TRY(cancel_handed_over_at_once(instance, execution, first, last));
  std::int64_t event = first;
  WorkItemId item = 0;
  Walk walk;
  while (true) {
    SessionKey session = 0;
    rules::Ended end = rules::Ended::kLeave;
    {
      Statement next = connection_.use(kNextCancelled);
      next.bind(instance).bind(execution).bind(last).bind(event).bind(item);
      if (!next.row()) return fail(next.status(), "find cancelled work");
      event = next.integer(PAWL_COLUMN(kNextCancelled, q.event));
      item = next.integer(PAWL_COLUMN(kNextCancelled, q.id));
      if (!walk.rises(event, item)) return no_progress("worker_queue");
      session = next.integer(PAWL_COLUMN(kNextCancelled, q.sid));
      end = rules::cancel(rules::work_state_of(next.integer(PAWL_COLUMN(kNextCancelled, q.state))),
                          next.integer(PAWL_COLUMN(kNextCancelled, excl)) != 0);
    }
    switch (end) {
      case rules::Ended::kLeave: break;
      case rules::Ended::kDelete: PAWL_TRY(delete_work(item, session)); break;
      case rules::Ended::kKeepUntilEnd: PAWL_TRY(mark_cancelled_running(item)); break;
    }
  }
}

}  // namespace pawl::store
