// Sessions: who owns what. Rules: docs/sessions.md.
//
// Every write to sessions.owner is in change_owner(), which takes the next epoch and clears the locks
// of the session's items with it; so a result handed over before a change is never accepted after it.
#include "sqlite_provider.hpp"

namespace pawl::sqlite {

namespace {

constexpr std::int64_t kGlobalScope = 0;

}  // namespace

constexpr sql::Query kFindSession{"SELECT sid,hard,excl FROM sessions WHERE scope=?1 AND name=?2"};
constexpr sql::Query kInsertSession{
    "INSERT INTO sessions(scope,name,gen,lifecycle,fail,hard,excl,state,epoch,epoch_used,"
    "locked_until,boot_seq,last_activity_at,hold_until,created_stamp,created_at,activities)"
    " VALUES(?1,?2,1,0,0,?6,?7,0,0,0,0,?3,?4,0,?5,?4,0)"};

Status SqliteProvider::session_for(std::string_view name, const SessionUse& use, SessionKey* key) {
  SessionUse more;
  {
    Statement find = connection_.use(kFindSession);
    find.bind(kGlobalScope).bind_text(name);
    const bool is_there = find.row();
    PAWL_TRY(fail(find.status(), "find session"));
    if (is_there) {
      *key = find.integer(0);
      more.device = use.device && find.integer(1) == 0;
      more.exclusive = use.exclusive && find.integer(2) == 0;
      if (!more.device && !more.exclusive) return Status::kOk;
    }
  }
  if (more.device || more.exclusive) return tighten(*key, name, more);
  // Epoch 0 is none: the first claim takes one.
  Statement insert = connection_.use(kInsertSession);
  insert.bind(kGlobalScope)
      .bind_text(name)
      .bind(batch_.boot_seq)
      .bind(batch_.now)
      .bind(batch_.stamp_ms)
      .bind(use.device ? 1 : 0)
      .bind(use.exclusive ? 1 : 0);
  PAWL_TRY(fail(insert.run(), "insert session"));
  *key = connection_.last_insert_id();
  return Status::kOk;
}

constexpr sql::Query kFirstLocked{
    "SELECT id FROM worker_queue INDEXED BY wq_session"
    " WHERE sid=?1 AND state=1 ORDER BY id LIMIT 1"};

// The locks of a session's items end with its epoch. They are few: no more than its owner has slots.
Status SqliteProvider::unlock_session(const OwnerChange& change) {
  Walk walk;
  while (true) {
    WorkItemId item = 0;
    {
      Statement first = connection_.use(kFirstLocked);
      first.bind(change.session);
      if (!first.row()) return fail(first.status(), "find locked items of a session");
      item = first.integer(0);
      if (!walk.rises(item)) return no_progress("worker_queue");
    }
    PAWL_TRY(unlock_work(item, change.session, change.strike, change.limits));
  }
}

constexpr sql::Query kWriteOwner{
    "UPDATE sessions SET owner=?2,prev_node=?3,epoch=?4,locked_until=?5,boot_seq=?6,"
    "state=CASE state WHEN 1 THEN 0 ELSE state END,stop_to=NULL,stop_due=NULL,stop_force=NULL "
    "WHERE sid=?1 RETURNING hard"};

Status SqliteProvider::change_owner(const OwnerChange& change, Epoch* epoch) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, change.session);
  SessionTexts texts;
  FixedText<kNameBytesMax> to;
  bool fails = false;
  bool takes_device = false;
  PAWL_TRY(must_fail(change.session, &fails));
  if (fails) {
    if (epoch != nullptr) *epoch = 0;
    return lose_session(change.session, change.reason.empty() ? "taken over" : change.reason);
  }
  PAWL_TRY(describe(change.session, &texts));
  SessionChange told = texts.change(SessionChange::Kind::kClaimed);
  if (change.to != 0) PAWL_TRY(node_of(change.to, &to));
  told.epoch = next_epoch();
  PAWL_TRY(unlock_session(change));
  {
    due_moves(DueKind::kStop);
    // A change by other means ends a stop that is under way.
    Statement write = connection_.use(kWriteOwner);
    write.bind(change.session);
    change.to == 0 ? write.bind_null() : write.bind(change.to);
    write.bind_text_or_null(told.from);
    write.bind(told.epoch).bind(add_saturating(batch_.now, change.lease_ms)).bind(batch_.boot_seq);
    takes_device = write.row() && write.integer(0) != 0 && change.to != 0;
    PAWL_TRY(fail(write.run(), "change owner"));
  }
  PAWL_TRY(recompute_head(change.session));
  if (takes_device) PAWL_TRY(wake_waiting_of(change.session));
  ++made_ready_;
  told.to = to.view();
  if (epoch != nullptr) *epoch = told.epoch;
  return tell_change(change, told);
}

constexpr sql::Query kMustFail{"SELECT fail<>0 AND owner IS NOT NULL FROM sessions WHERE sid=?1"};

// One that was owned and fails on loss goes to nobody else; also its own worker, restarted, lost its state.
Status SqliteProvider::must_fail(SessionKey session, bool* fails) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Statement read = connection_.use(kMustFail);
  read.bind(session);
  if (!read.row())
    return fail(read.status() == Status::kOk ? Status::kCorrupt : read.status(), "read session");
  *fails = read.integer(0) != 0;
  return Status::kOk;
}

Status SqliteProvider::abort_session(SessionKey session) {
  OwnerChange change;
  change.session = session;
  change.reason = "aborted";
  change.limits = limits_;
  return change_owner(change, nullptr);
}

Status SqliteProvider::tell_change(const OwnerChange& change, const SessionChange& told) {
  SessionChange event = told;
  event.resumed = !told.from.empty() && told.from == told.to;
  if (change.to == 0) {
    event.kind = SessionChange::Kind::kReleased;
    event.reason = change.reason;
  } else if (told.from.empty() || event.resumed) {
    event.kind = SessionChange::Kind::kClaimed;
    event.from = {};
  } else {
    event.kind = SessionChange::Kind::kMigrated;
  }
  if (sink_ != nullptr) sink_->on_session_change(event);
  return notify_change(change.session, event);
}

constexpr sql::Query kHead{
    "UPDATE sessions SET head_id=CASE"
    " WHEN coalesce((SELECT id FROM worker_queue INDEXED BY wq_barrier"
    "  WHERE sid=?1 AND barrier IS NOT NULL ORDER BY id LIMIT 1)<(SELECT id FROM worker_queue"
    "  INDEXED BY wq_session WHERE sid=?1 AND state=0 ORDER BY id LIMIT 1),0) THEN NULL"
    " WHEN excl=0 THEN (SELECT id FROM worker_queue INDEXED BY wq_session"
    "  WHERE sid=?1 AND state=0 ORDER BY id LIMIT 1)"
    " WHEN EXISTS(SELECT 1 FROM worker_queue INDEXED BY wq_session WHERE sid=?1 AND state=1)"
    "  OR EXISTS(SELECT 1 FROM worker_queue INDEXED BY wq_session WHERE sid=?1 AND state=3)"
    "  THEN NULL"
    " WHEN coalesce((SELECT id FROM worker_queue INDEXED BY wq_session"
    "  WHERE sid=?1 AND state=2 ORDER BY id LIMIT 1)<(SELECT id FROM worker_queue"
    "  INDEXED BY wq_session WHERE sid=?1 AND state=0 ORDER BY id LIMIT 1),0) THEN NULL"
    " ELSE (SELECT id FROM worker_queue INDEXED BY wq_session"
    "  WHERE sid=?1 AND state=0 ORDER BY id LIMIT 1) END WHERE sid=?1"};

// Unbounded: the lowest ready item, unless a barrier before it is under way. Exclusive: the lowest of any state, and only if it is ready.
// `ORDER BY id LIMIT 1` is a seek where min(id) would scan the session.
Status SqliteProvider::recompute_head(SessionKey session) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  ++heads_moved_;
  Statement head = connection_.use(kHead);
  head.bind(session);
  return fail(head.run(), "compute a session's head");
}

Status SqliteProvider::session_claim(SessionKey session, Claim* claim) {
  bool soft = false;
  PAWL_TRY(read_claim(session, claim, &soft));
  return claim->holder != 0 && soft ? Status::kOk : Status::kNotFound;
}

Status SqliteProvider::device_claim(SessionKey session, Claim* claim) {
  bool soft = false;
  return read_claim(session, claim, &soft);
}

constexpr sql::Query kClaimOf{
    "SELECT "
    "s.owner,coalesce(w.buried<>0,1),coalesce(w.lock_visible=1,0),s.locked_until,s.boot_seq,"
    "s.epoch,s.hard=0 AND s.state=0 FROM sessions s LEFT JOIN workers w ON w.inc=s.owner"
    " WHERE s.sid=?1"};

// holder 0: nobody owns it. `soft`: open to be taken by who fetches.
Status SqliteProvider::read_claim(SessionKey session, Claim* claim, bool* soft) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Statement row = connection_.use(kClaimOf);
  row.bind(session);
  if (!row.row())
    return fail(row.status() == Status::kOk ? Status::kCorrupt : row.status(), "read a claim");
  *soft = row.integer(6) != 0;
  claim->holder = row.integer(0);
  claim->buried = row.integer(1) != 0;
  claim->lock_visible = row.integer(2) != 0;
  claim->locked_until = row.integer(3);
  claim->boot_seq = row.integer(4);
  claim->subject = session;
  claim->version = row.integer(5);
  return Status::kOk;
}

constexpr sql::Query kCountOwned{
    "SELECT count(*) FROM (SELECT 1 FROM sessions INDEXED BY s_owner"
    " WHERE owner=?1 AND hard=0 LIMIT ?2)"};

Status SqliteProvider::count_owned(Incarnation me, std::int64_t at_most, std::int64_t* count) {
  Statement owned = connection_.use(kCountOwned);
  owned.bind(me).bind(at_most);
  if (!owned.row()) return fail(owned.status(), "count sessions");
  *count = owned.integer(0);
  return Status::kOk;
}

constexpr sql::Query kListOwned{
    "SELECT sid,epoch,name FROM sessions INDEXED BY s_owner WHERE owner=?1"};

Status SqliteProvider::owned_sessions(Incarnation me, OwnedSession* out, std::size_t capacity,
                                      std::size_t* count) {
  *count = 0;
  Statement owned = connection_.use(kListOwned);
  owned.bind(me);
  while (*count < capacity && owned.row()) {
    OwnedSession& one = out[(*count)++];
    one.session = owned.integer(0);
    one.epoch = owned.integer(1);
    one.name.assign_cut(owned.bytes(2));
  }
  return fail(owned.status(), "list own sessions");
}

Status SqliteProvider::last_epoch(Epoch* epoch) {
  require_batch();
  *epoch = next_.epoch - 1;
  return Status::kOk;
}

constexpr sql::Query kCountWaiting{
    "SELECT count(*) FROM (SELECT 1 FROM sessions INDEXED BY s_claim WHERE head_id>0"
    " AND head_id IS NOT NULL AND owner IS NULL AND hard=0 AND state=0 LIMIT ?1)"};

// In the order of the index of what can be claimed.
Status SqliteProvider::count_waiting(std::int64_t* count) {
  Statement waiting = connection_.use(kCountWaiting);
  waiting.bind(kWaitingSessionsMax);
  if (!waiting.row()) return fail(waiting.status(), "count waiting sessions");
  *count = waiting.integer(0);
  return Status::kOk;
}

Status SqliteProvider::claim_session(Incarnation me, std::string_view session,
                                     const SessionOptions& options) {
  require_batch();
  OwnerChange change;
  PAWL_TRY(session_for(session, {}, &change.session));
  Moving row;
  PAWL_TRY(read_moving(change.session, &row));
  std::int64_t owned = 0;
  const std::int64_t most = options.max_sessions_per_worker;
  PAWL_TRY(count_owned(me, most, &owned));
  if (row.owner != 0 || row.hard || row.stopping || owned == most) return Status::kOk;
  change.to = me;
  change.lease_ms = options.session_lock_timeout_ms;
  change.limits = limits_;
  return change_owner(change, nullptr);
}

constexpr sql::Query kNextToAnnounce{
    "SELECT sid FROM sessions INDEXED BY s_owner WHERE owner=?1 AND hard=0 AND sid>?2"
    " AND notify IS NOT NULL ORDER BY sid LIMIT 1"};

Status SqliteProvider::announce_stop(Incarnation me, std::size_t* told) {
  require_batch();
  SessionKey session = 0;
  Walk walk;
  while (true) {
    {
      Statement next = connection_.use(kNextToAnnounce);
      next.bind(me).bind(session);
      if (!next.row()) return fail(next.status(), "find sessions to announce the end of");
      session = next.integer(0);
      if (!walk.rises(session)) return no_progress("sessions");
    }
    SessionTexts texts;
    PAWL_TRY(describe(session, &texts));
    SessionChange ending = texts.change(SessionChange::Kind::kEnding);
    ending.reason = "shutdown";
    PAWL_TRY(notify_change(session, ending));
    ++*told;
  }
}

// ---- renewing and idleness ------------------------------------------------------------------------

constexpr sql::Query kFirstIdle{
    "SELECT sid FROM sessions s INDEXED BY s_owner WHERE owner=?1 AND hard=0 AND state=0"
    " AND hold_until<?2 AND head_id IS NULL AND ?2-last_activity_at>=CASE"
    " WHEN idle_ms IS NOT NULL THEN idle_ms WHEN lifecycle=0 THEN ?3"
    " ELSE 9223372036854775807 END"
    " AND NOT EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid)"
    " ORDER BY sid LIMIT 1"};

// Work that is queued behind busy slots, backing off or running is no idleness, however long ago the
// last hand-over was.
Status SqliteProvider::release_idle(Incarnation me, const SessionOptions& options,
                                    std::size_t* released) {
  Walk walk;
  while (true) {
    OwnerChange change;
    change.reason = "idle";
    {
      Statement idle = connection_.use(kFirstIdle);
      idle.bind(me).bind(batch_.now).bind(options.session_idle_timeout_ms);
      if (!idle.row()) return fail(idle.status(), "find idle sessions");
      change.session = idle.integer(0);
      if (!walk.rises(change.session)) return no_progress("sessions");
    }
    PAWL_TRY(change_owner(change, nullptr));
    ++*released;
  }
}

constexpr sql::Query kLongestIdle{
    "SELECT sid FROM sessions s INDEXED BY s_owner WHERE owner=?1 AND hard=0 AND state=0"
    " AND fail=0 AND (lifecycle=0 OR idle_ms IS NOT NULL) AND hold_until<?2"
    " AND head_id IS NULL AND ?2-last_activity_at>=?3"
    " AND NOT EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid)"
    " ORDER BY last_activity_at LIMIT 1"};

// As few rows as its owner may have sessions.
Status SqliteProvider::release_longest_idle(Incarnation me, std::int64_t idle_ms, bool* released) {
  *released = false;
  OwnerChange change;
  change.reason = "capacity";
  change.limits = limits_;
  {
    Statement idle = connection_.use(kLongestIdle);
    idle.bind(me).bind(batch_.now).bind(idle_ms);
    if (!idle.row()) return fail(idle.status(), "find the longest idle session");
    change.session = idle.integer(0);
  }
  *released = true;
  return change_owner(change, nullptr);
}

constexpr sql::Query kRenew{
    "UPDATE sessions SET locked_until=max(locked_until,?2) WHERE owner=?1"
    " AND (?3 OR locked_until>?4)"};

Status SqliteProvider::renew_session_lock(Incarnation me, const SessionOptions& options,
                                          bool revive, std::size_t* renewed,
                                          std::size_t* released) {
  *renewed = 0;
  *released = 0;
  PAWL_TRY(release_idle(me, options, released));
  Statement renew = connection_.use(kRenew);
  renew.bind(me).bind(add_saturating(batch_.now, options.session_lock_timeout_ms));
  renew.bind(revive ? 1 : 0).bind(batch_.now);
  PAWL_TRY(fail(renew.run(), "renew sessions"));
  *renewed = static_cast<std::size_t>(connection_.changes());
  return Status::kOk;
}

// ---- the sweep --------------------------------------------------------------------------------------

Status SqliteProvider::cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                                 std::size_t* removed) {
  *removed = 0;
  PAWL_TRY(sweep_unowned(limit, removed));
  return sweep_owned_by_gone(evidence, limit, removed);
}

constexpr sql::Query kDeleteSession{"DELETE FROM sessions WHERE sid=?1"};

Status SqliteProvider::sweep(SessionKey session) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  due_moves(DueKind::kStop);
  due_moves(DueKind::kLook);
  {
    Statement remove = connection_.use(kDeleteSession);
    remove.bind(session);
    PAWL_TRY(fail(remove.run(), "sweep a session"));
  }
  PAWL_TRY(drop_summary(session));
  return tell_end(texts.swept());
}

constexpr sql::Query kFirstUnowned{
    "SELECT sid FROM sessions s INDEXED BY s_orphan WHERE owner IS NULL"
    " AND head_id IS NULL AND lifecycle=0 AND hard=0 AND state=0"
    " AND NOT EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid)"
    " ORDER BY last_activity_at LIMIT 1"};

Status SqliteProvider::sweep_unowned(std::size_t limit, std::size_t* removed) {
  Walk walk;
  while (*removed < limit) {
    SessionKey session = 0;
    {
      Statement orphan = connection_.use(kFirstUnowned);
      if (!orphan.row()) return fail(orphan.status(), "find orphaned sessions");
      session = orphan.integer(0);
      if (!walk.changes(session)) return no_progress("sessions");
    }
    PAWL_TRY(sweep(session));
    ++*removed;
  }
  return Status::kOk;
}

constexpr sql::Query kNextExpired{
    "SELECT sid,locked_until FROM sessions s INDEXED BY s_lease"
    " WHERE owner IS NOT NULL AND locked_until<=?1 AND (locked_until,sid)>(?2,?3)"
    " AND head_id IS NULL AND lifecycle=0 AND hard=0 AND state=0"
    " AND NOT EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid)"
    " ORDER BY locked_until,sid LIMIT 1"};

Status SqliteProvider::sweep_owned_by_gone(Evidence& evidence, std::size_t limit,
                                           std::size_t* removed) {
  Expired last;
  Walk walk;
  for (std::size_t looks = 0; looks < limit && *removed < limit; ++looks) {
    OwnerChange release;
    release.reason = "gone";
    {
      Statement expired = connection_.use(kNextExpired);
      expired.bind(batch_.now).bind(last.until).bind(last.key);
      if (!expired.row()) return fail(expired.status(), "find expired sessions");
      release.session = expired.integer(0);
      last = {expired.integer(1), release.session};
      if (!walk.rises(last.until, last.key)) return no_progress("sessions");
    }
    Claim claim;
    const Status claimed = session_claim(release.session, &claim);
    if (claimed == Status::kNotFound) continue;
    PAWL_TRY(claimed);
    if (evidence.gone(claim, batch_worker_, batch_.now, batch_.boot_seq) == Gone::kNo) continue;
    PAWL_TRY(change_owner(release, nullptr));
    PAWL_TRY(sweep(release.session));
    ++*removed;
  }
  return Status::kOk;
}

}  // namespace pawl::sqlite
