// Devices, and sessions that move on purpose. Rules: docs/sessions.md.
//
// A device is a global session with hard=1: its owner is whoever declared it, never who fetched first.
// A stop (stopping a session's hand-overs until nothing of it runs, to move it then) is kept in the
// session's row, so that any worker can end it.
#include <cinttypes>

#include "policy.hpp"
#include "sqlite_provider.hpp"

namespace pawl::sqlite {

namespace {

// Roles in devices; stored.
constexpr std::int64_t kHolder = 0;
constexpr std::int64_t kStandby = 1;
constexpr std::int64_t kWithdrawing = 2;  // a holder whose last work still runs

constexpr std::int64_t kMoveStopMs = 20'000;

}  // namespace

// ---- rows -----------------------------------------------------------------------------------------------

constexpr sql::Query kFindNamed{"SELECT sid FROM sessions WHERE scope=?1 AND name=?2 AND state<2"};

Status SqliteProvider::find_session(InstanceKey scope, std::string_view name, SessionKey* key) {
  Statement find = connection_.use(kFindNamed);
  find.bind(scope).bind_text(name);
  if (!find.row())
    return find.status() == Status::kOk ? Status::kNotFound : fail(find.status(), "find session");
  *key = find.integer(0);
  return Status::kOk;
}

constexpr sql::Query kReadMoving{
    "SELECT hard,excl,state,coalesce(owner,0),coalesce(stop_to,0),"
    "coalesce(stop_force,0) FROM sessions WHERE sid=?1"};

Status SqliteProvider::read_moving(SessionKey session, Moving* out) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Statement read = connection_.use(kReadMoving);
  read.bind(session);
  if (!read.row())
    return fail(read.status() == Status::kOk ? Status::kCorrupt : read.status(), "read a session");
  out->session = session;
  out->hard = read.integer(0) != 0;
  out->exclusive = read.integer(1) != 0;
  out->stopping = read.integer(2) == kStopping;
  out->owner = read.integer(3);
  out->target = read.integer(4);
  out->force = read.integer(5) != 0;
  return has_running(session, &out->running);
}

// Properties only tighten while the row lives. A soft owner of what is a device now lets it go.
Status SqliteProvider::tighten(SessionKey session, std::string_view name, const SessionUse& more) {
  PAWL_TRY(set_use(session, more));
  if (sink_ != nullptr) {
    SessionChange told;
    told.kind = SessionChange::Kind::kConflict;
    told.session = name;
    told.reason = !more.device     ? "was not exclusive, and is now"
                  : more.exclusive ? "was no device and not exclusive, and is both now"
                                   : "was no device, and is one now";
    sink_->on_session_change(told);
  }
  PAWL_TRY(recompute_head(session));
  if (!more.device) return Status::kOk;
  Moving row;
  PAWL_TRY(read_moving(session, &row));
  Declaration holder;
  PAWL_TRY(read_holder(session, &holder));
  if (row.owner == 0 || row.owner == holder.worker) return Status::kOk;
  return move_or_stop(row, {holder.worker, kMoveStopMs, true, "device"});
}

constexpr sql::Query kTighten{
    "UPDATE sessions SET hard=max(hard,?2),excl=max(excl,?3) WHERE sid=?1"};

Status SqliteProvider::set_use(SessionKey session, const SessionUse& use) {
  Statement write = connection_.use(kTighten);
  write.bind(session).bind(use.device ? 1 : 0).bind(use.exclusive ? 1 : 0);
  return fail(write.run(), "tighten a session");
}

constexpr sql::Query kReadHolder{
    "SELECT d.inc,d.role,w.node,w.pid,coalesce(w.buried<>0,1),coalesce(w.lock_visible=1,0),"
    "w.locked_until,w.boot_seq FROM devices d LEFT JOIN workers w ON w.inc=d.inc"
    " WHERE d.sid=?1 AND d.role<>1 LIMIT 1"};

// The living or dead holder; worker 0: none.
Status SqliteProvider::read_holder(SessionKey session, Declaration* out) {
  *out = Declaration();
  Statement read = connection_.use(kReadHolder);
  read.bind(session);
  if (!read.row()) return fail(read.status(), "read a declaration");
  out->worker = read.integer(0);
  out->role = read.integer(1);
  out->node.assign_cut(read.bytes(2));
  out->pid = read.integer(3);
  out->claim.holder = out->worker;
  out->claim.buried = read.integer(4) != 0;
  out->claim.lock_visible = read.integer(5) != 0;
  out->claim.locked_until = read.integer(6);
  out->claim.boot_seq = read.integer(7);
  out->claim.subject = subtract_saturating(0, out->worker);  // neither a session nor 0
  return Status::kOk;
}

constexpr sql::Query kReadRole{"SELECT role FROM devices WHERE sid=?1 AND inc=?2"};

Status SqliteProvider::read_role(SessionKey session, Incarnation worker, std::int64_t* role) {
  Statement read = connection_.use(kReadRole);
  read.bind(session).bind(worker);
  if (!read.row())
    return read.status() == Status::kOk ? Status::kNotFound : fail(read.status(), "read a role");
  *role = read.integer(0);
  return Status::kOk;
}

constexpr sql::Query kPutDeclaration{
    "INSERT OR REPLACE INTO devices(sid,inc,role) VALUES(?1,?2,?3)"};

Status SqliteProvider::put_declaration(SessionKey session, Incarnation worker, std::int64_t role) {
  Statement put = connection_.use(kPutDeclaration);
  put.bind(session).bind(worker).bind(role);
  return fail(put.run(), "declare a device");
}

constexpr sql::Query kDropDeclaration{"DELETE FROM devices WHERE sid=?1 AND inc=?2"};

Status SqliteProvider::drop_declaration(SessionKey session, Incarnation worker) {
  Statement drop = connection_.use(kDropDeclaration);
  drop.bind(session).bind(worker);
  return fail(drop.run(), "withdraw a device");
}

constexpr sql::Query kFirstStandby{
    "SELECT d.inc FROM devices d JOIN workers w ON w.inc=d.inc"
    " WHERE d.sid=?1 AND d.role=1 AND w.buried=0 AND w.draining=0 ORDER BY d.inc LIMIT 1"};

Status SqliteProvider::first_standby(SessionKey session, Incarnation* worker) {
  Statement first = connection_.use(kFirstStandby);
  first.bind(session);
  *worker = first.row() ? first.integer(0) : 0;
  return fail(first.status(), "find a standby");
}

constexpr sql::Query kHasDeclarer{
    "SELECT EXISTS(SELECT 1 FROM devices d JOIN workers w ON w.inc=d.inc"
    " WHERE d.sid=?1 AND w.buried=0)"};

Status SqliteProvider::has_declarer(SessionKey session, bool* found) {
  Statement find = connection_.use(kHasDeclarer);
  find.bind(session);
  if (!find.row()) return fail(find.status(), "find a declaration");
  *found = find.integer(0) != 0;
  return Status::kOk;
}

// ---- declaring ------------------------------------------------------------------------------------------

Status SqliteProvider::declare_session(const DeclareSession& declare, Evidence& evidence,
                                       bool* held) {
  require_batch();
  *held = false;
  if (!is_valid_name(declare.device)) {
    diagnostic_.format("a device's name has 1 to %zu bytes", kNameBytesMax);
    return Status::kInvalidArgument;
  }
  SessionKey session = 0;
  PAWL_TRY(session_for(declare.device, {}, &session));
  Declaration holder;
  PAWL_TRY(read_holder(session, &holder));
  if (holder.worker != 0 && holder.worker != declare.me) {
    const Gone gone = evidence.gone(holder.claim, declare.me, batch_.now, batch_.boot_seq);
    if (gone != Gone::kProof) {
      if (declare.standby) return put_declaration(session, declare.me, kStandby);
      diagnostic_.format("device \"%.*s\" is declared by worker \"%.*s\" (process %" PRId64 ")",
                         static_cast<int>(declare.device.size()), declare.device.data(),
                         static_cast<int>(holder.node.size()), holder.node.view().data(),
                         holder.pid);
      return Status::kDeviceHeld;
    }
    PAWL_TRY(drop_declaration(session, holder.worker));
  }
  *held = true;
  PAWL_TRY(put_declaration(session, declare.me, kHolder));
  Moving row;
  PAWL_TRY(read_moving(session, &row));
  if (!row.hard) PAWL_TRY(set_use(session, {true, false}));
  row.hard = true;
  // It takes back its own withdrawal, too.
  if (row.owner == declare.me) return row.stopping ? reopen(session) : Status::kOk;
  if (row.owner != 0) {
    Claim claim;
    PAWL_TRY(device_claim(session, &claim));
    // The hand-overs of who is dead end with the change.
    if (evidence.gone(claim, declare.me, batch_.now, batch_.boot_seq) == Gone::kProof)
      row.running = false;
  }
  return move_or_stop(row, {declare.me, declare.stop_ms, false, "declared"});
}

Status SqliteProvider::withdraw_session(Incarnation me, std::string_view device,
                                        std::int64_t stop_ms) {
  require_batch();
  SessionKey session = 0;
  PAWL_TRY(find_session(0, device, &session));
  std::int64_t role = kHolder;
  PAWL_TRY(read_role(session, me, &role));
  if (role == kStandby) return drop_declaration(session, me);
  PAWL_TRY(put_declaration(session, me, kWithdrawing));
  Moving row;
  PAWL_TRY(read_moving(session, &row));
  // A withdrawn device that never came is still with its former owner, whose stop goes on.
  if (row.owner != me) return drop_declaration(session, me);
  return move_or_stop(row, {0, stop_ms, false, "withdrawn"});
}

Status SqliteProvider::read_declaration(Incarnation me, std::string_view device,
                                        bool* withdrawing) {
  const ReadScope scope(*this);
  PAWL_TRY(scope.status());
  SessionKey session = 0;
  PAWL_TRY(find_session(0, device, &session));
  std::int64_t role = kHolder;
  PAWL_TRY(read_role(session, me, &role));
  *withdrawing = role == kWithdrawing;
  return Status::kOk;
}

constexpr sql::Query kNextStandbyOf{
    "SELECT sid FROM devices INDEXED BY d_worker WHERE inc=?1"
    " AND sid>?2 AND role=1 ORDER BY sid LIMIT 1"};

Status SqliteProvider::take_devices_over(Incarnation me, const SessionOptions& options,
                                         Evidence& evidence) {
  require_batch();
  SessionKey session = 0;
  Walk walk;
  while (true) {
    {
      Statement next = connection_.use(kNextStandbyOf);
      next.bind(me).bind(session);
      if (!next.row()) return fail(next.status(), "find own standbys");
      session = next.integer(0);
      if (!walk.rises(session)) return no_progress("devices");
    }
    Claim claim;
    PAWL_TRY(device_claim(session, &claim));
    Gone gone = Gone::kProof;
    if (claim.holder != 0) gone = evidence.gone(claim, me, batch_.now, batch_.boot_seq);
    if (gone == Gone::kNo) continue;
    Declaration holder;
    PAWL_TRY(read_holder(session, &holder));
    if (holder.worker != 0) PAWL_TRY(drop_declaration(session, holder.worker));
    PAWL_TRY(put_declaration(session, me, kHolder));
    OwnerChange change;
    change.session = session;
    change.to = me;
    change.lease_ms = options.session_lock_timeout_ms;
    change.strike = gone == Gone::kSuspicion;
    change.limits = limits_;
    PAWL_TRY(change_owner(change, nullptr));
  }
}

constexpr sql::Query kForgetDevice{
    "DELETE FROM sessions WHERE sid=?1 AND hard=1 AND owner IS NULL"
    " AND NOT EXISTS(SELECT 1 FROM devices d WHERE d.sid=?1)"
    " AND NOT EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=?1)"};

Status SqliteProvider::forget_device(std::string_view device) {
  require_batch();
  SessionKey session = 0;
  PAWL_TRY(find_session(0, device, &session));
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  due_moves(DueKind::kStop);
  {
    Statement forget = connection_.use(kForgetDevice);
    forget.bind(session);
    PAWL_TRY(fail(forget.run(), "forget a device"));
    if (connection_.changes() == 0) return Status::kStillRunning;
  }
  PAWL_TRY(written(drop_summary(session)));
  return written(tell_end(texts.swept()));
}

// ---- moving ---------------------------------------------------------------------------------------------

constexpr sql::Query kReadTarget{
    "SELECT locked_until,sessions_max,draining FROM workers WHERE inc=?1 AND buried=0"};

// May it have the session? A device goes to who declared it, any other to who has room.
Status SqliteProvider::read_target(const Moving& row, Incarnation worker, Target* out) {
  *out = Target();
  if (worker == 0) return Status::kOk;
  std::int64_t most = 0;
  {
    Statement read = connection_.use(kReadTarget);
    read.bind(worker);
    if (!read.row() || read.integer(2) != 0) return fail(read.status(), "read a worker");
    // Its first lease is that of its own row; it renews both together.
    const std::int64_t lease = subtract_saturating(read.integer(0), batch_.now);
    out->lease_ms = lease > 0 ? lease : 0;
    most = read.integer(1);
  }
  if (row.hard) {
    std::int64_t role = kHolder;
    const Status declared = read_role(row.session, worker, &role);
    if (declared == Status::kNotFound) return Status::kOk;
    PAWL_TRY(declared);
    if (role != kWithdrawing) out->worker = worker;
    return Status::kOk;
  }
  std::int64_t owned = 0;
  PAWL_TRY(count_owned(worker, most, &owned));
  if (owned < most) out->worker = worker;
  return Status::kOk;
}

constexpr sql::Query kStartStop{
    "UPDATE sessions SET state=1,stop_to=?2,stop_due=?3,stop_force=?4 WHERE sid=?1"};

Status SqliteProvider::move_or_stop(const Moving& row, const Move& move) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, row.session);
  if (!row.running) return move_now(row, move.target, move.reason);
  due_comes(DueKind::kStop);
  Statement stop = connection_.use(kStartStop);
  stop.bind(row.session);
  move.target == 0 ? stop.bind_null() : stop.bind(move.target);
  stop.bind(make_due(batch_.now, move.stop_ms)).bind(move.force ? 1 : 0);
  return fail(stop.run(), "stop a session");
}

// To `worker` if it may have it; else a device goes to a standby, and anything else is released.
Status SqliteProvider::move_now(const Moving& row, Incarnation worker, std::string_view reason) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, row.session);
  Target target;
  PAWL_TRY(read_target(row, worker, &target));
  if (row.hard) {
    if (target.worker == 0) {
      Incarnation standby = 0;
      PAWL_TRY(first_standby(row.session, &standby));
      PAWL_TRY(read_target(row, standby, &target));
    }
    Declaration holder;
    PAWL_TRY(read_holder(row.session, &holder));
    if (holder.worker != 0 && holder.worker != target.worker) {
      PAWL_TRY(holder.role == kWithdrawing || holder.claim.buried
                   ? drop_declaration(row.session, holder.worker)
                   : put_declaration(row.session, holder.worker, kStandby));
    }
    if (target.worker != 0) PAWL_TRY(put_declaration(row.session, target.worker, kHolder));
  }
  OwnerChange change;
  change.session = row.session;
  change.to = target.worker;
  change.lease_ms = target.lease_ms;
  change.reason = reason;
  change.limits = limits_;
  if (row.owner == 0 && change.to == 0) return Status::kOk;
  return change_owner(change, nullptr);
}

Status SqliteProvider::hand_device_over(SessionKey session, std::string_view reason) {
  Moving row;
  PAWL_TRY(read_moving(session, &row));
  return move_now(row, row.stopping ? row.target : 0, reason);
}

constexpr sql::Query kReopen{
    "UPDATE sessions SET state=0,stop_to=NULL,stop_due=NULL,"
    "stop_force=NULL WHERE sid=?1"};

Status SqliteProvider::reopen(SessionKey session) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  {
    due_moves(DueKind::kStop);
    Statement open = connection_.use(kReopen);
    open.bind(session);
    PAWL_TRY(fail(open.run(), "end a stop"));
  }
  ++made_ready_;
  return Status::kOk;
}

constexpr sql::Query kFindNode{
    "SELECT inc FROM workers INDEXED BY w_living WHERE buried=0 AND "
    "node=?1 ORDER BY inc DESC LIMIT 1"};

Status SqliteProvider::living_worker(std::string_view node, Incarnation* worker) {
  Statement find = connection_.use(kFindNode);
  find.bind_text(node);
  if (!find.row())
    return find.status() == Status::kOk ? Status::kNotFound : fail(find.status(), "find a worker");
  *worker = find.integer(0);
  return Status::kOk;
}

Status SqliteProvider::transfer_session(std::string_view instance, std::string_view session,
                                        std::string_view node, std::int64_t stop_ms, bool force) {
  require_batch();
  InstanceKey scope = 0;
  if (!instance.empty()) PAWL_TRY(find_instance(instance, &scope));
  SessionKey key = 0;
  PAWL_TRY(find_session(scope, session, &key));
  Moving row;
  PAWL_TRY(read_moving(key, &row));
  Target target;
  if (!node.empty()) {
    Incarnation worker = 0;
    const Status found = living_worker(node, &worker);
    if (found != Status::kOk && found != Status::kNotFound) return found;
    if (worker != 0 && worker == row.owner) return Status::kOk;
    PAWL_TRY(read_target(row, worker, &target));
    if (target.worker == 0) {
      diagnostic_.format(
          "worker \"%.*s\" cannot take session \"%.*s\": it is not running, is "
          "draining, is full or did not declare the device",
          static_cast<int>(node.size()), node.data(), static_cast<int>(session.size()),
          session.data());
      return Status::kNoEligibleTarget;
    }
  } else if (row.hard) {
    PAWL_TRY(first_standby(key, &target.worker));
    if (target.worker == 0) {
      diagnostic_.format("no other worker declares device \"%.*s\"",
                         static_cast<int>(session.size()), session.data());
      return Status::kNoEligibleTarget;
    }
  }
  return move_or_stop(row, {target.worker, stop_ms, force, "transferred"});
}

constexpr sql::Query kIsStillOwn{
    "SELECT 1 FROM sessions WHERE sid=?1 AND owner=?2 AND epoch=?3 AND state=0 AND excl=0"};

Status SqliteProvider::evict_session(const WorkDone& hung, SessionKey session, Incarnation me,
                                     bool* moves) {
  require_batch();
  *moves = false;
  {
    Statement own = connection_.use(kIsStillOwn);
    own.bind(session).bind(me).bind(hung.epoch);
    if (!own.row()) return fail(own.status(), "find the session of a hung activity");
  }
  Moving row;
  PAWL_TRY(read_moving(session, &row));
  Move move;
  move.stop_ms = kMoveStopMs;
  move.reason = "hung";
  if (row.hard) {
    PAWL_TRY(first_standby(session, &move.target));
    if (move.target == 0) return Status::kOk;
  }
  *moves = true;
  return move_or_stop(row, move);
}

constexpr sql::Query kFirstGhost{
    "SELECT id FROM worker_queue INDEXED BY wq_session"
    " WHERE sid=?1 AND state=3 ORDER BY id LIMIT 1"};

Status SqliteProvider::drop_ghosts(SessionKey session) {
  Walk walk;
  while (true) {
    WorkItemId item = 0;
    {
      Statement first = connection_.use(kFirstGhost);
      first.bind(session);
      if (!first.row()) return fail(first.status(), "find cancelled work of a session");
      item = first.integer(0);
      if (!walk.rises(item)) return no_progress("worker_queue");
    }
    PAWL_TRY(delete_work(item, session));
  }
}

constexpr sql::Query kSetDraining{"UPDATE workers SET draining=1 WHERE inc=?1 AND buried=0"};
constexpr sql::Query kNextOwnedBy{
    "SELECT hard,sid FROM sessions INDEXED BY s_owner WHERE owner=?1"
    " AND (hard,sid)>(?2,?3) ORDER BY hard,sid LIMIT 1"};

Status SqliteProvider::drain_worker(std::string_view node, std::int64_t stop_ms) {
  require_batch();
  Incarnation worker = 0;
  PAWL_TRY(living_worker(node, &worker));
  {
    Statement drain = connection_.use(kSetDraining);
    drain.bind(worker);
    known_worker_ = 0;
    PAWL_TRY(fail(drain.run(), "drain a worker"));
  }
  std::int64_t hard = kBeforeAll;
  SessionKey session = 0;
  Walk walk;
  while (true) {
    {
      Statement next = connection_.use(kNextOwnedBy);
      next.bind(worker).bind(hard).bind(session);
      if (!next.row()) return fail(next.status(), "find a worker's sessions");
      hard = next.integer(0);
      session = next.integer(1);
      if (!walk.rises(hard, session)) return no_progress("sessions");
    }
    Moving row;
    PAWL_TRY(read_moving(session, &row));
    Incarnation target = 0;
    if (row.hard) PAWL_TRY(first_standby(session, &target));
    // Nobody else has the device: it goes on being served.
    if (row.hard && target == 0) continue;
    PAWL_TRY(move_or_stop(row, {target, stop_ms, false, "drained"}));
  }
}

constexpr sql::Query kNextStop{
    "SELECT stop_due,sid,name FROM sessions INDEXED BY s_stopping"
    " WHERE state=1 AND (stop_due,sid)>(?1,?2) ORDER BY stop_due,sid LIMIT 1"};

Status SqliteProvider::end_stops(std::size_t limit, std::size_t* ended) {
  require_batch();
  if (first_due(DueKind::kStop).is_known && !first_due(DueKind::kStop).at.has_value())
    return Status::kOk;  // no session is stopping
  std::int64_t due = kBeforeAll;
  SessionKey session = 0;
  Walk walk;
  for (std::size_t looks = 0; looks < limit; ++looks) {
    FixedText<kNameBytesMax> name;
    {
      Statement next = connection_.use(kNextStop);
      next.bind(due).bind(session);
      if (!next.row()) return fail(next.status(), "find stopping sessions");
      due = next.integer(0);
      session = next.integer(1);
      if (!walk.rises(due, session)) return no_progress("sessions");
      name.assign_cut(next.bytes(2));
    }
    Moving row;
    PAWL_TRY(read_moving(session, &row));
    const bool over = due <= batch_.now;
    if (row.running && !over) continue;
    ++*ended;
    if (!row.running || !row.exclusive || row.force) {
      if (row.running) PAWL_TRY(drop_ghosts(session));
      PAWL_TRY(move_now(row, row.target, row.running ? "stopped_late" : "stopped"));
      continue;
    }
    PAWL_TRY(stop_failed(row, name.view()));
  }
  return Status::kOk;
}

// Work that runs beyond the limit keeps an exclusive session where it is.
Status SqliteProvider::stop_failed(const Moving& row, std::string_view name) {
  Declaration holder;
  PAWL_TRY(read_holder(row.session, &holder));
  if (holder.worker != 0 && holder.role == kWithdrawing)
    PAWL_TRY(put_declaration(row.session, holder.worker, kHolder));
  if (row.hard && holder.worker != 0 && holder.worker != row.owner) {
    // It waits for the one it was to have the device from, and is not given up: the stop goes on.
    return move_or_stop(row, {holder.worker, kMoveStopMs, row.force, "declared"});
  }
  PAWL_TRY(reopen(row.session));
  if (sink_ == nullptr) return Status::kOk;
  SessionChange told;
  told.kind = SessionChange::Kind::kStopFailed;
  told.session = name;
  told.reason = "transfer_timed_out";
  sink_->on_session_change(told);
  return Status::kOk;
}

// ---- work of absent devices -----------------------------------------------------------------------------

constexpr sql::Query kNextUnavailable{
    "SELECT q.id,q.sid,q.state IN (1,3),q.policy,s.name FROM worker_queue q"
    " INDEXED BY wq_unavailable LEFT JOIN sessions s ON s.sid=q.sid"
    " WHERE q.unavailable_due IS NOT NULL AND q.unavailable_due<=?1"
    " ORDER BY q.unavailable_due LIMIT 1"};
constexpr sql::Query kPostpone{"UPDATE worker_queue SET unavailable_due=?2 WHERE id=?1"};

// What is there, or runs, is measured anew from now.
Status SqliteProvider::end_unavailable_work(std::size_t limit, std::size_t* ended) {
  Walk walk;
  for (std::size_t i = 0; i < limit; ++i) {
    WorkItemId item = 0;
    SessionKey session = 0;
    bool runs = false;
    ActivityOptions policy;
    FixedText<kNameBytesMax> name;
    {
      Statement next = connection_.use(kNextUnavailable);
      next.bind(batch_.now);
      if (!next.row()) return fail(next.status(), "find work of absent devices");
      item = next.integer(0);
      const Suspicion work(connection_, RowRef::Table::kWork, item);
      if (!walk.changes(item)) return no_progress("worker_queue");
      session = next.integer(1);
      runs = next.integer(2) != 0;
      if (!decode_policy(next.bytes(3), &policy))
        return fail(Status::kCorrupt, "read the policy of work");
      name.assign_cut(next.bytes(4));
    }
    const Suspicion work(connection_, RowRef::Table::kWork, item);
    bool declared = false;
    PAWL_TRY(has_declarer(session, &declared));
    if (declared || runs) {
      due_comes(DueKind::kWork);
      Statement postpone = connection_.use(kPostpone);
      postpone.bind(item).bind(make_due(batch_.now, policy.unavailable_ms));
      PAWL_TRY(fail(postpone.run(), "postpone a limit"));
      continue;
    }
    Diagnostic why;
    why.format("no living worker declares device \"%.*s\" (unavailable_ms %" PRId64 ")",
               static_cast<int>(name.size()), name.view().data(), policy.unavailable_ms);
    PAWL_TRY(end_work(item, ErrorKind::kSessionUnavailable, why.text()));
    ++*ended;
  }
  return Status::kOk;
}

}  // namespace pawl::sqlite
