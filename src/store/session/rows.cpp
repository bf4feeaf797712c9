#include "store/session/rows.hpp"

#include <cinttypes>
#include <cstring>

#include "core/clock_rules.hpp"
#include "core/crc32c.hpp"
#include "pawl/session.hpp"
#include "store/sql/damage.hpp"
#include "store/worker/lease_rules.hpp"

namespace pawl::store {
constexpr auto kFindNamed =
    PAWL_QUERY("SELECT sid FROM sessions WHERE scope=?1 AND name=?2 AND state<",
               sql::number<rules::State::kLost>);

Status SessionRows::find_session(InstanceKey scope, std::string_view name, SessionKey* key) {
  Statement find = connection_.use(kFindNamed);
  find.bind(scope).bind_text(name);
  if (!find.row()) return no_row(find, Status::kNotFound, "find session");
  *key = find.integer(0);
  return Status::kOk;
}

constexpr auto kReadRow = PAWL_QUERY(
    "SELECT state,hard,excl,fail,owner,stop_to,stop_due,stop_force,stop_reason FROM sessions WHERE "
    "sid=?1");

Status SessionRows::read_row(SessionKey session, rules::SessionRow* out) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Statement read = connection_.use(kReadRow);
  read.bind(session);
  if (!read.row()) return no_row(read, Status::kCorrupt, "read a session");
  out->state = rules::state_of(read.integer(PAWL_COLUMN(kReadRow, state)));
  out->device = read.integer(PAWL_COLUMN(kReadRow, hard)) != 0;
  out->exclusive = read.integer(PAWL_COLUMN(kReadRow, excl)) != 0;
  out->fails_on_loss = read.integer(PAWL_COLUMN(kReadRow, fail)) != 0;
  if (!read.is_null(PAWL_COLUMN(kReadRow, owner)))
    out->owner = read.integer(PAWL_COLUMN(kReadRow, owner));
  if (out->state != rules::State::kStopping) return Status::kOk;
  rules::Stop stop;
  if (!read.is_null(PAWL_COLUMN(kReadRow, stop_to)))
    stop.to = read.integer(PAWL_COLUMN(kReadRow, stop_to));
  stop.due_ms = read.integer(PAWL_COLUMN(kReadRow, stop_due));
  stop.force = read.integer(PAWL_COLUMN(kReadRow, stop_force)) != 0;
  stop.reason = rules::move_reason_of(read.integer(PAWL_COLUMN(kReadRow, stop_reason)));
  out->stop = stop;
  return Status::kOk;
}

constexpr auto kWriteOwner = PAWL_QUERY(
    "UPDATE sessions SET state=?2,owner=?3,epoch=coalesce(?4,epoch),"
    "prev_node=iif(?5,prev_node,?6),locked_until=coalesce(?7,locked_until),"
    "boot_seq=coalesce(?8,boot_seq),stop_to=?9,stop_due=?10,stop_force=?11,"
    "stop_reason=?12,head_id=iif(?13,NULL,head_id) WHERE sid=?1",
    kStopMoves);

Status SessionRows::write_owner(SessionKey session, const rules::Transition& change,
                                const OwnerWrite& how) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  const rules::SessionRow& next = change.next;
  Statement write = connection_.use(kWriteOwner);
  write.bind(session).bind(stored(next.state));
  next.owner.has_value() ? write.bind(*next.owner) : write.bind_null();
  change.epoch == rules::EpochEffect::kTake ? write.bind(how.epoch) : write.bind_null();
  write.bind(change.node == rules::NodeEffect::kKeep ? 1 : 0);
  write.bind_text_or_null(change.node == rules::NodeEffect::kNote ? how.node : std::string_view());
  if (change.begins_lease) {
    write.bind(rules::lease_until(batch_.now, how.lease_ms)).bind(batch_.boot_seq);
  } else {
    write.bind_null().bind_null();
  }
  if (next.stop.has_value()) {
    next.stop->to.has_value() ? write.bind(*next.stop->to) : write.bind_null();
    write.bind_due(next.stop->due_ms, kStopComes).bind(next.stop->force ? 1 : 0);
    write.bind(static_cast<std::int64_t>(next.stop->reason));
  } else {
    write.bind_null().bind_null().bind_null().bind_null();
  }
  write.bind(change.clears_head ? 1 : 0);
  return fail(write.run(), "change a session");
}

constexpr auto kDeleteRow =
    PAWL_QUERY("DELETE FROM sessions WHERE sid=?1", kStopMoves | kLookMoves);

Status SessionRows::delete_row(SessionKey session) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  {
    Statement remove = connection_.use(kDeleteRow);
    remove.bind(session);
    PAWL_TRY(fail(remove.run(), "delete a session"));
  }
  return drop_summary(session);
}

Status SessionRows::read_moving(SessionKey session, Moving* out) {
  out->session = session;
  PAWL_TRY(read_row(session, &out->row));
  return has_running(session, &out->running);
}

constexpr auto kReadOpened = PAWL_QUERY(
    "SELECT sid,state,look_at,owner_label,ended,limits,given,rate_at,epoch,hard,"
    "coalesce(limited_by,0) AS limited_by FROM sessions WHERE scope=?1 AND name=?2");

Status SessionRows::read_opened(InstanceKey instance, std::string_view name, Opened* out) {
  Statement read = connection_.use(kReadOpened);
  read.bind(instance).bind_text(name);
  if (!read.row()) return no_row(read, Status::kNotFound, "read a session");
  out->session = read.integer(PAWL_COLUMN(kReadOpened, sid));
  const Suspicion suspect(connection_, RowRef::Table::kSessions, out->session);
  out->state = rules::state_of(read.integer(PAWL_COLUMN(kReadOpened, state)));
  out->unreported =
      rules::is_closing_unlogged(out->state, !read.is_null(PAWL_COLUMN(kReadOpened, look_at)));
  out->owner_label.assign_cut(read.bytes(PAWL_COLUMN(kReadOpened, owner_label)));
  out->ended.assign_cut(read.bytes(PAWL_COLUMN(kReadOpened, ended)));
  out->limits.assign_cut(read.bytes(PAWL_COLUMN(kReadOpened, limits)));
  out->given = read.integer(PAWL_COLUMN(kReadOpened, given));
  out->rate_at = read.optional_ms(PAWL_COLUMN(kReadOpened, rate_at));
  out->epoch = read.integer(PAWL_COLUMN(kReadOpened, epoch));
  out->device = read.integer(PAWL_COLUMN(kReadOpened, hard)) != 0;
  out->limited_by = read.integer(PAWL_COLUMN(kReadOpened, limited_by));
  return Status::kOk;
}

constexpr auto kFindOpener = PAWL_QUERY("SELECT key FROM instances WHERE id=?1");

Status SessionRows::find_opener(std::string_view id, InstanceKey* scope) {
  Statement find = connection_.use(kFindOpener);
  find.bind_text(id);
  *scope = find.row() ? find.integer(0) : -1;
  return fail(find.status(), "find the instance of a session");
}

constexpr auto kHold = PAWL_QUERY(
    "UPDATE sessions SET hold_until=CASE scope WHEN 0 THEN max(hold_until,?3) ELSE ?3 END"
    " WHERE scope=?1 AND name=?2");

Status SessionRows::hold(InstanceKey scope, std::string_view name, std::int64_t hold_ms,
                         bool* held) {
  Statement hold = connection_.use(kHold);
  hold.bind(scope).bind_text(name);
  hold.bind(make_due(batch_.now, hold_ms));
  std::int64_t changed = 0;
  PAWL_TRY(fail(hold.run(&changed), "hold a session"));
  *held = changed > 0;
  if (*held) ++context_.made_ready;  // a shorter hold leaves room for another session sooner
  return Status::kOk;
}

constexpr auto kHasRunning = PAWL_QUERY(
    "SELECT EXISTS(SELECT 1 FROM worker_queue\fINDEXED BY wq_session\rWHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kLocked>,
    "),"
    "EXISTS(SELECT 1 FROM worker_queue\fINDEXED BY wq_session\rWHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kCancelledRunning>, ")");

Status SessionRows::has_running(SessionKey session, rules::Running* running) {
  Statement find = connection_.use(kHasRunning);
  find.bind(session);
  if (!find.row()) return fail(find.status(), "find running work");
  running->handed_over = find.integer(0) != 0;
  running->cancelled = find.integer(1) != 0;
  return Status::kOk;
}

Status SessionRows::session_claim(SessionKey session, Claim* claim) {
  bool soft = false;
  PAWL_TRY(read_claim(session, claim, &soft));
  return claim->holder != 0 && soft ? Status::kOk : Status::kNotFound;
}

Status SessionRows::device_claim(SessionKey session, Claim* claim) {
  bool soft = false;
  return read_claim(session, claim, &soft);
}

constexpr auto kCountOwned = PAWL_QUERY(
    "SELECT count(*) FROM (SELECT 1 FROM sessions\fINDEXED BY s_owner\r"
    "WHERE owner=?1 AND hard=0 LIMIT ?2) AS few");

Status SessionRows::count_owned(Incarnation me, std::int64_t at_most, std::int64_t* count) {
  Statement owned = connection_.use(kCountOwned);
  owned.bind(me).bind(at_most);
  if (!owned.row()) return fail(owned.status(), "count sessions");
  *count = owned.integer(0);
  return Status::kOk;
}

constexpr auto kCountWaiting = PAWL_QUERY(
    "SELECT count(*) FROM (SELECT 1 FROM sessions\fINDEXED BY s_claim\rWHERE head_id>0"
    " AND head_id IS NOT NULL AND owner IS NULL AND hard=0 AND state=",
    sql::number<rules::State::kOpen>, " LIMIT ?1) AS few");

// Follows the index of claimable sessions.
Status SessionRows::count_waiting(std::int64_t* count) {
  Statement waiting = connection_.use(kCountWaiting);
  waiting.bind(kWaitingSessionsMax);
  if (!waiting.row()) return fail(waiting.status(), "count waiting sessions");
  *count = waiting.integer(0);
  return Status::kOk;
}

constexpr auto kFirstWaiting = PAWL_QUERY(
    "SELECT s.name,i.id,s.last_activity_at,h.time FROM sessions s\fINDEXED BY s_claim\r"
    "LEFT JOIN instances i ON i.key=s.scope LEFT JOIN worker_queue q ON q.id=s.head_id"
    PAWL_EVENT_OF("q")
    " WHERE s.head_id>0 AND s.head_id IS NOT NULL AND s.owner IS NULL AND s.hard=0 AND s.state=",
    sql::number<rules::State::kOpen>, " ORDER BY s.head_id LIMIT 1");

Status SessionRows::read_waiting(WaitingSessions* out) {
  std::int64_t count = 0;
  PAWL_TRY(count_waiting(&count));
  out->count = static_cast<std::size_t>(count);
  if (count == 0) return Status::kOk;
  Statement first = connection_.use(kFirstWaiting);
  if (!first.row()) return fail(first.status(), "find the session that waits longest");
  out->session.assign_cut(first.bytes(PAWL_COLUMN(kFirstWaiting, s.name)));
  out->instance.assign_cut(first.bytes(PAWL_COLUMN(kFirstWaiting, i.id)));
  out->for_ms = rules::waited_ms(
      subtract_saturating(batch_.now,
                          first.integer(PAWL_COLUMN(kFirstWaiting, s.last_activity_at))),
      subtract_saturating(batch_.stamp_ms, first.integer(PAWL_COLUMN(kFirstWaiting, h.time))));
  return Status::kOk;
}

constexpr auto kHead = PAWL_QUERY(
    "UPDATE sessions SET head_id=CASE"
    " WHEN (SELECT id FROM worker_queue\fINDEXED BY wq_barrier\r"
    " WHERE sid=?1 AND barrier IS NOT NULL ORDER BY id LIMIT 1)<(SELECT id FROM worker_queue"
    " \fINDEXED BY wq_session\rWHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kReady>,
    " ORDER BY id LIMIT 1) THEN NULL"
    " WHEN EXISTS(SELECT 1 FROM worker_queue\fINDEXED BY wq_session\rWHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kOutsideHolding>,
    ") AND (excl<>0 OR (SELECT barrier FROM worker_queue\fINDEXED BY wq_session\r"
    "WHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kReady>,
    " ORDER BY id LIMIT 1) IS NOT NULL) THEN NULL"
    " WHEN excl=0 THEN (SELECT id FROM worker_queue\fINDEXED BY wq_session\r"
    " WHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kReady>,
    " ORDER BY id LIMIT 1)"
    " WHEN EXISTS(SELECT 1 FROM worker_queue\fINDEXED BY wq_session\rWHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kLocked>,
    ")"
    "  OR EXISTS(SELECT 1 FROM worker_queue\fINDEXED BY wq_session\rWHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kCancelledRunning>,
    ")"
    "  THEN NULL"
    " WHEN (SELECT id FROM worker_queue\fINDEXED BY wq_session\r"
    " WHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kDelayed>,
    " ORDER BY id LIMIT 1)<(SELECT id FROM worker_queue"
    " \fINDEXED BY wq_session\rWHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kReady>,
    " ORDER BY id LIMIT 1) THEN NULL"
    " ELSE (SELECT id FROM worker_queue\fINDEXED BY wq_session\r"
    " WHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kReady>, " ORDER BY id LIMIT 1) END WHERE sid=?1");

// A session that is not exclusive: its lowest ready item, unless a barrier before it is not over.
// An exclusive one: its lowest item of any state, and only if that is ready. `ORDER BY id LIMIT 1`
// is a seek; min(id) would scan the session.
Status SessionRows::recompute_head(SessionKey session) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  ++context_.heads_moved;
  Statement head = connection_.use(kHead);
  head.bind(session);
  return fail(head.run(), "compute a session's head");
}

constexpr auto kHasWorked = PAWL_QUERY(
    "SELECT activities>0 OR EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\r"
    "WHERE q.sid=?1) FROM sessions WHERE sid=?1");

Status SessionRows::has_worked(SessionKey session, bool* worked) {
  Statement read = connection_.use(kHasWorked);
  *worked = read.bind(session).row() && read.integer(0) != 0;
  return fail(read.status(), "look whether a session was in use");
}

constexpr auto kTighten = PAWL_QUERY(
    "UPDATE sessions SET hard=max(hard,?2),excl=max(excl,?3),fail=iif(?2,0,fail),"
    "expires_at=iif(?2,NULL,expires_at),look_at=iif(?2,NULL,look_at) WHERE sid=?1",
    kLookMoves);

Status SessionRows::set_use(SessionKey session, const rules::Use& use) {
  Statement write = connection_.use(kTighten);
  write.bind(session).bind(use.device ? 1 : 0).bind(use.exclusive ? 1 : 0);
  return fail(write.run(), "tighten a session");
}

constexpr auto kForget =
    PAWL_QUERY("DELETE FROM sessions WHERE sid=?1 AND state=", sql::number<rules::State::kClosed>,
               " AND look_at IS NULL"
               " AND NOT EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\r"
               "WHERE q.sid=?1)");

Status SessionRows::forget_if_closed(SessionKey session) {
  Statement forget = connection_.use(kForget);
  std::int64_t forgotten = 0;
  PAWL_TRY(fail(forget.bind(session).run(&forgotten), "forget a closed session"));
  return forgotten == 0 ? Status::kOk : drop_summary(session);
}

constexpr auto kTouchAcknowledged =
    PAWL_QUERY("UPDATE sessions SET last_activity_at=?2 WHERE sid=?1");

Status SessionRows::note_activity(SessionKey session) {
  if (session == 0 || is_noted(session)) return Status::kOk;
  Statement touch = connection_.use(kTouchAcknowledged);
  touch.bind(session).bind(batch_.now);
  return fail(touch.run(), "note a session's activity");
}

constexpr auto kCountActivity =
    PAWL_QUERY("UPDATE sessions SET activities=activities+1 WHERE sid=?1");
constexpr auto kTouchHandedOver =
    PAWL_QUERY("UPDATE sessions SET last_activity_at=?2,activities=activities+1 WHERE sid=?1");

// Later calls of a batch only count. The head stays as it is.
Status SessionRows::count_activity(SessionKey session) {
  if (is_noted(session)) {
    Statement count = connection_.use(kCountActivity);
    return fail(count.bind(session).run(), "note a session's activity");
  }
  Statement touch = connection_.use(kTouchHandedOver);
  return fail(touch.bind(session).bind(batch_.now).run(), "note a session's activity");
}

constexpr auto kListOwned =
    PAWL_QUERY("SELECT sid,epoch FROM sessions\fINDEXED BY s_owner\rWHERE owner=?1");

Status SessionRows::owned_sessions(Incarnation me, OwnedSession* out, std::size_t capacity,
                                   std::size_t* count) {
  *count = 0;
  Statement owned = connection_.use(kListOwned);
  owned.bind(me);
  while (*count < capacity && owned.row()) {
    OwnedSession& one = out[(*count)++];
    one.session = owned.integer(0);
    one.epoch = owned.integer(1);
  }
  return fail(owned.status(), "list own sessions");
}

constexpr auto kCountOwn = PAWL_QUERY(
    "SELECT EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid)"
    " FROM sessions AS s\fINDEXED BY s_owner\rWHERE s.owner=?1");

Status SessionRows::count_sessions(Incarnation me, std::uint32_t* active, std::uint32_t* idle) {
  *active = *idle = 0;
  Statement row = connection_.use(kCountOwn);
  row.bind(me);
  while (row.row())
    ++*(row.integer(0) != 0 ? active : idle);
  return fail(row.status(), "count own sessions");
}

constexpr auto kLives =
    PAWL_QUERY("SELECT EXISTS(SELECT 1 FROM sessions WHERE sid=?1 AND gen=?2 AND state<",
               sql::number<rules::State::kLost>, ")");

Status SessionRows::session_lives(SessionKey session, std::int64_t generation, bool* lives) {
  Statement read = connection_.use(kLives);
  read.bind(session).bind(generation);
  if (!read.row()) return fail(read.status(), "look whether a session lives");
  *lives = read.integer(0) != 0;
  return Status::kOk;
}

constexpr auto kReadLabels = PAWL_QUERY("SELECT owner_label,kind,name FROM sessions WHERE sid=?1");

Status SessionRows::read_labels(SessionKey session, SessionLabels* out) {
  Statement read = connection_.use(kReadLabels);
  if (read.bind(session).row()) {
    out->owner.assign_cut(read.bytes(0));
    out->kind.assign_cut(read.bytes(1));
    out->name.assign_cut(read.bytes(2));
  }
  return fail(read.status(), "read the labels of a session");
}

Status SessionRows::last_epoch(Epoch* epoch) {
  require_batch();
  *epoch = context_.next.epoch - 1;
  return Status::kOk;
}

constexpr auto kClaimOf = PAWL_QUERY(
    "SELECT "
    "s.owner,(w.buried<>0) IS NOT FALSE AS buried,(w.lock_visible=1) IS TRUE AS "
    "lock_visible," PAWL_SESSION_LEASE
    " AS lease,s.boot_seq,"
    "s.epoch,s.hard<>0 OR s.excl<>0 AS is_exclusive,s.hard=0 AND s.state=",
    sql::number<rules::State::kOpen>,
    " AS is_soft FROM sessions s LEFT JOIN workers w ON w.inc=s.owner"
    " WHERE s.sid=?1");

// holder 0: no owner. `soft`: a fetching worker may take it.
Status SessionRows::read_claim(SessionKey session, Claim* claim, bool* soft) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Statement row = connection_.use(kClaimOf);
  row.bind(session);
  if (!row.row()) return no_row(row, Status::kCorrupt, "read a claim");
  *soft = row.integer(PAWL_COLUMN(kClaimOf, is_soft)) != 0;
  claim->holder = row.integer(PAWL_COLUMN(kClaimOf, s.owner));
  claim->buried = row.integer(PAWL_COLUMN(kClaimOf, buried)) != 0;
  claim->lock_visible = row.integer(PAWL_COLUMN(kClaimOf, lock_visible)) != 0;
  claim->locked_until = row.integer(PAWL_COLUMN(kClaimOf, lease));
  claim->boot_seq = row.integer(PAWL_COLUMN(kClaimOf, s.boot_seq));
  claim->is_exclusive = row.integer(PAWL_COLUMN(kClaimOf, is_exclusive)) != 0;
  claim->subject = session;
  claim->version = row.integer(PAWL_COLUMN(kClaimOf, s.epoch));
  return Status::kOk;
}

// True if this batch has written the session's activity. Only the first sessions of a batch are
// remembered.
bool SessionRows::is_noted(SessionKey session) {
  FixedVector<SessionKey, 16>& all = noted_.in(context_);
  for (const SessionKey noted : all)
    if (noted == session) return true;
  if (!all.full()) static_cast<void>(all.push_back(session));
  return false;
}

namespace {

// The checksum covers the session's key, so that a summary under another row is noticed.
std::uint32_t summary_crc(SessionKey session, std::string_view summary) {
  unsigned char key[sizeof(std::uint64_t)];
  for (unsigned i = 0; i < sizeof key; ++i)
    key[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(session) >> (8 * i));
  return crc32c(summary.data(), summary.size(), crc32c(key, sizeof key));
}

}  // namespace

constexpr auto kDropSummary = PAWL_QUERY("DELETE FROM session_summaries WHERE sid=?1");

Status SessionRows::drop_summary(SessionKey session) {
  Statement drop = connection_.use(kDropSummary);
  drop.bind(session);
  return fail(drop.run(), "drop a summary");
}

constexpr auto kPutSummary = PAWL_QUERY(
    "INSERT INTO session_summaries(sid,summary,crc) VALUES(?1,?2,?3) "
    "ON CONFLICT(sid) DO UPDATE SET summary=excluded.summary,crc=excluded.crc");

Status SessionRows::put_summary(SessionKey session, std::string_view summary) {
  Statement put = connection_.use(kPutSummary);
  put.bind(session).bind_blob_or_null(summary).bind(summary_crc(session, summary));
  return fail(put.run(), "keep a summary");
}

constexpr auto kReadSummary = PAWL_QUERY("SELECT summary,crc FROM session_summaries WHERE sid=?1");

Status SessionRows::read_summary(SessionKey session, char* buffer, std::size_t capacity,
                                 std::string_view* summary, bool* damaged) {
  *summary = {};
  *damaged = false;
  Statement read = connection_.use(kReadSummary);
  read.bind(session);
  if (!read.row()) return fail(read.status(), "read a summary");
  const std::string_view stored = read.bytes(0);
  if (stored.size() > kSessionSummaryBytesMax ||
      static_cast<std::uint32_t>(read.integer(1)) != summary_crc(session, stored)) {
    *damaged = true;
    context_.diagnostic.format(
        "the summary kept for session %" PRId64 " has a wrong length or checksum", session);
    return Status::kOk;
  }
  if (stored.size() > capacity)
    return fail(Status::kResourceExhausted, "a summary for the buffer given");
  if (!stored.empty()) std::memcpy(buffer, stored.data(), stored.size());
  *summary = {buffer, stored.size()};
  return Status::kOk;
}

constexpr auto kReadHolder = PAWL_QUERY(
    "SELECT d.inc,d.role,w.node,w.pid,(w.buried<>0) IS NOT FALSE AS "
    "buried,(w.lock_visible=1) IS TRUE AS lock_visible,"
    "w.locked_until,w.boot_seq FROM devices d LEFT JOIN workers w ON w.inc=d.inc"
    " WHERE d.sid=?1 AND d.role<>",
    sql::number<rules::Role::kStandby>, " LIMIT 1");

// Reads the holder, living or dead; worker 0: none.
Status SessionRows::read_holder(SessionKey session, Declaration* out) {
  *out = Declaration();
  Statement read = connection_.use(kReadHolder);
  read.bind(session);
  if (!read.row()) return fail(read.status(), "read a declaration");
  out->worker = read.integer(PAWL_COLUMN(kReadHolder, d.inc));
  out->role = rules::role_of(read.integer(PAWL_COLUMN(kReadHolder, d.role)));
  out->node.assign_cut(read.bytes(PAWL_COLUMN(kReadHolder, w.node)));
  out->pid = read.integer(PAWL_COLUMN(kReadHolder, w.pid));
  out->claim.holder = out->worker;
  out->claim.buried = read.integer(PAWL_COLUMN(kReadHolder, buried)) != 0;
  out->claim.lock_visible = read.integer(PAWL_COLUMN(kReadHolder, lock_visible)) != 0;
  out->claim.locked_until = read.integer(PAWL_COLUMN(kReadHolder, w.locked_until));
  out->claim.boot_seq = read.integer(PAWL_COLUMN(kReadHolder, w.boot_seq));
  out->claim.is_exclusive = true;
  out->claim.subject = subtract_saturating(0, out->worker);  // neither a session's key nor 0
  return Status::kOk;
}

constexpr auto kReadRole = PAWL_QUERY("SELECT role FROM devices WHERE sid=?1 AND inc=?2");

Status SessionRows::read_role(SessionKey session, Incarnation worker, rules::Role* role) {
  Statement read = connection_.use(kReadRole);
  read.bind(session).bind(worker);
  if (!read.row()) return no_row(read, Status::kNotFound, "read a role");
  *role = rules::role_of(read.integer(0));
  return Status::kOk;
}

constexpr auto kPutDeclaration = PAWL_QUERY(
    "INSERT INTO devices(sid,inc,role) VALUES(?1,?2,?3) "
    "ON CONFLICT(sid,inc) DO UPDATE SET role=excluded.role");

Status SessionRows::put_declaration(SessionKey session, Incarnation worker, rules::Role role) {
  Statement put = connection_.use(kPutDeclaration);
  put.bind(session).bind(worker).bind(static_cast<std::int64_t>(role));
  return fail(put.run(), "declare a device");
}

constexpr auto kDropDeclaration = PAWL_QUERY("DELETE FROM devices WHERE sid=?1 AND inc=?2");

Status SessionRows::drop_declaration(SessionKey session, Incarnation worker) {
  Statement drop = connection_.use(kDropDeclaration);
  drop.bind(session).bind(worker);
  return fail(drop.run(), "withdraw a device");
}

constexpr auto kFirstStandby = PAWL_QUERY(
    "SELECT d.inc FROM devices d JOIN workers w ON w.inc=d.inc"
    " WHERE d.sid=?1 AND d.role=",
    sql::number<rules::Role::kStandby>, " AND w.buried=0 AND w.draining=0 ORDER BY d.inc LIMIT 1");

Status SessionRows::first_standby(SessionKey session, std::optional<Incarnation>* worker) {
  Statement first = connection_.use(kFirstStandby);
  first.bind(session);
  worker->reset();
  if (first.row()) *worker = first.integer(0);
  return fail(first.status(), "find a standby");
}

constexpr auto kHasDeclarer = PAWL_QUERY(
    "SELECT EXISTS(SELECT 1 FROM devices d JOIN workers w ON w.inc=d.inc"
    " WHERE d.sid=?1 AND w.buried=0)");

Status SessionRows::has_declarer(SessionKey session, bool* found) {
  Statement find = connection_.use(kHasDeclarer);
  find.bind(session);
  if (!find.row()) return fail(find.status(), "find a declaration");
  *found = find.integer(0) != 0;
  return Status::kOk;
}

}  // namespace pawl::store
