#include "session_moves.hpp"

#include "change_sink.hpp"
#include "clock_rules.hpp"
#include "damage.hpp"
#include "session_events.hpp"
#include "text.hpp"
#include "walk.hpp"

namespace pawl::store {
namespace {

constexpr std::int64_t kMoveStopMs = 20'000;
constexpr std::int64_t kGlobalScope = 0;

}  // namespace

Status SessionMoves::transfer_session(std::string_view instance, std::string_view session,
                                      std::string_view node, std::int64_t stop_ms, bool force) {
  require_batch();
  InstanceKey scope = 0;
  if (!instance.empty()) PAWL_TRY(instances_.find_key(instance, &scope));
  SessionKey key = 0;
  PAWL_TRY(sessions_.find_session(scope, session, &key));
  Moving row;
  PAWL_TRY(sessions_.read_moving(key, &row));
  Target target;
  if (!node.empty()) {
    Incarnation worker = 0;
    const Status found = workers_.living_worker(node, &worker);
    if (found != Status::kOk && found != Status::kNotFound) return found;
    if (worker != 0 && worker == row.owner) return Status::kOk;
    PAWL_TRY(read_target(row, worker, &target));
    if (target.worker == 0) {
      context_.diagnostic.format(
          "worker \"%.*s\" cannot take session \"%.*s\": it is not running, is "
          "draining, is full or did not declare the device",
          static_cast<int>(node.size()), node.data(), static_cast<int>(session.size()),
          session.data());
      return Status::kNoEligibleTarget;
    }
  } else if (row.hard) {
    PAWL_TRY(devices_.first_standby(key, &target.worker));
    if (target.worker == 0) {
      context_.diagnostic.format("no other worker declares device \"%.*s\"",
                                 static_cast<int>(session.size()), session.data());
      return Status::kNoEligibleTarget;
    }
  }
  return move_or_stop(row, {target.worker, stop_ms, force, "transferred"});
}

constexpr sql::Query kIsStillOwn{
    "SELECT 1 FROM sessions WHERE sid=?1 AND owner=?2 AND epoch=?3 AND state=0 AND excl=0"};

Status SessionMoves::evict_session(const WorkDone& hung, SessionKey session, Incarnation me,
                                   bool* moves) {
  require_batch();
  *moves = false;
  {
    Statement own = connection_.use(kIsStillOwn);
    own.bind(session).bind(me).bind(hung.epoch);
    if (!own.row()) return fail(own.status(), "find the session of a hung activity");
  }
  Moving row;
  PAWL_TRY(sessions_.read_moving(session, &row));
  Move move;
  move.stop_ms = kMoveStopMs;
  move.reason = "hung";
  if (row.hard) {
    PAWL_TRY(devices_.first_standby(session, &move.target));
    if (move.target == 0) return Status::kOk;
  }
  *moves = true;
  return move_or_stop(row, move);
}

constexpr sql::Query kSetDraining{"UPDATE workers SET draining=1 WHERE inc=?1 AND buried=0"};
constexpr sql::Query kNextOwnedBy{
    "SELECT hard,sid FROM sessions INDEXED BY s_owner WHERE owner=?1"
    " AND (hard,sid)>(?2,?3) ORDER BY hard,sid LIMIT 1"};

Status SessionMoves::drain_worker(std::string_view node, std::int64_t stop_ms) {
  require_batch();
  Incarnation worker = 0;
  PAWL_TRY(workers_.living_worker(node, &worker));
  {
    Statement drain = connection_.use(kSetDraining);
    drain.bind(worker);
    workers_.forget_known();
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
    PAWL_TRY(sessions_.read_moving(session, &row));
    Incarnation target = 0;
    if (row.hard) PAWL_TRY(devices_.first_standby(session, &target));
    // Nobody else has the device: it goes on being served.
    if (row.hard && target == 0) continue;
    PAWL_TRY(move_or_stop(row, {target, stop_ms, false, "drained"}));
  }
}

constexpr sql::Query kNextStop{
    "SELECT stop_due,sid,name FROM sessions INDEXED BY s_stopping"
    " WHERE state=1 AND (stop_due,sid)>(?1,?2) ORDER BY stop_due,sid LIMIT 1"};

Status SessionMoves::end_stops(std::size_t limit, std::size_t* ended) {
  require_batch();
  if (due_.knows_none(DueKind::kStop)) return Status::kOk;  // no session is stopping
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
    PAWL_TRY(sessions_.read_moving(session, &row));
    const bool over = due <= batch_.now;
    if (row.running && !over) continue;
    ++*ended;
    if (!row.running || !row.exclusive || row.force) {
      if (row.running) PAWL_TRY(items_.drop_ghosts(session));
      PAWL_TRY(move_now(row, row.target, row.running ? "stopped_late" : "stopped"));
      continue;
    }
    PAWL_TRY(stop_failed(row, name.view()));
  }
  return Status::kOk;
}

Status SessionMoves::claim_session(Incarnation me, std::string_view session,
                                   const SessionOptions& options) {
  require_batch();
  OwnerChange change;
  PAWL_TRY(session_for(session, {}, &change.session));
  Moving row;
  PAWL_TRY(sessions_.read_moving(change.session, &row));
  std::int64_t owned = 0;
  const std::int64_t most = options.max_sessions_per_worker;
  PAWL_TRY(sessions_.count_owned(me, most, &owned));
  if (row.owner != 0 || row.hard || row.stopping || owned == most) return Status::kOk;
  change.to = me;
  change.lease_ms = options.session_lock_timeout_ms;
  change.limits = context_.limits;
  return owners_.change_owner(change, nullptr);
}

constexpr sql::Query kFindSession{"SELECT sid,hard,excl FROM sessions WHERE scope=?1 AND name=?2"};
constexpr sql::Query kInsertSession{
    "INSERT INTO sessions(scope,name,gen,lifecycle,fail,hard,excl,state,epoch,epoch_used,"
    "locked_until,boot_seq,last_activity_at,hold_until,created_stamp,created_at,activities)"
    " VALUES(?1,?2,1,0,0,?6,?7,0,0,0,0,?3,?4,0,?5,?4,0)"};

Status SessionMoves::session_for(std::string_view name, const SessionUse& use, SessionKey* key) {
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

constexpr sql::Query kStartStop{
    "UPDATE sessions SET state=1,stop_to=?2,stop_due=?3,stop_force=?4 WHERE sid=?1"};

Status SessionMoves::move_or_stop(const Moving& row, const Move& move) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, row.session);
  if (!row.running) return move_now(row, move.target, move.reason);
  due_.comes(DueKind::kStop);
  Statement stop = connection_.use(kStartStop);
  stop.bind(row.session);
  move.target == 0 ? stop.bind_null() : stop.bind(move.target);
  stop.bind(make_due(batch_.now, move.stop_ms)).bind(move.force ? 1 : 0);
  return fail(stop.run(), "stop a session");
}

Status SessionMoves::hand_device_over(SessionKey session, std::string_view reason) {
  Moving row;
  PAWL_TRY(sessions_.read_moving(session, &row));
  return move_now(row, row.stopping ? row.target : 0, reason);
}

// Properties only tighten while the row lives. A soft owner of what is a device now lets it go.
Status SessionMoves::tighten(SessionKey session, std::string_view name, const SessionUse& more) {
  PAWL_TRY(sessions_.set_use(session, more));
  if (context_.sink != nullptr) {
    SessionChange told;
    told.kind = SessionChange::Kind::kConflict;
    told.session = name;
    told.reason = !more.device     ? "was not exclusive, and is now"
                  : more.exclusive ? "was no device and not exclusive, and is both now"
                                   : "was no device, and is one now";
    context_.sink->on_session_change(told);
  }
  PAWL_TRY(sessions_.recompute_head(session));
  if (!more.device) return Status::kOk;
  Moving row;
  PAWL_TRY(sessions_.read_moving(session, &row));
  Declaration holder;
  PAWL_TRY(devices_.read_holder(session, &holder));
  if (row.owner == 0 || row.owner == holder.worker) return Status::kOk;
  return move_or_stop(row, {holder.worker, kMoveStopMs, true, "device"});
}

constexpr sql::Query kReadTarget{
    "SELECT locked_until,sessions_max,draining FROM workers WHERE inc=?1 AND buried=0"};

// May it have the session? A device goes to who declared it, any other to who has room.
Status SessionMoves::read_target(const Moving& row, Incarnation worker, Target* out) {
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
    const Status declared = devices_.read_role(row.session, worker, &role);
    if (declared == Status::kNotFound) return Status::kOk;
    PAWL_TRY(declared);
    if (role != kWithdrawing) out->worker = worker;
    return Status::kOk;
  }
  std::int64_t owned = 0;
  PAWL_TRY(sessions_.count_owned(worker, most, &owned));
  if (owned < most) out->worker = worker;
  return Status::kOk;
}

// To `worker` if it may have it; else a device goes to a standby, and anything else is released.
Status SessionMoves::move_now(const Moving& row, Incarnation worker, std::string_view reason) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, row.session);
  Target target;
  PAWL_TRY(read_target(row, worker, &target));
  if (row.hard) {
    if (target.worker == 0) {
      Incarnation standby = 0;
      PAWL_TRY(devices_.first_standby(row.session, &standby));
      PAWL_TRY(read_target(row, standby, &target));
    }
    Declaration holder;
    PAWL_TRY(devices_.read_holder(row.session, &holder));
    if (holder.worker != 0 && holder.worker != target.worker) {
      PAWL_TRY(holder.role == kWithdrawing || holder.claim.buried
                   ? devices_.drop_declaration(row.session, holder.worker)
                   : devices_.put_declaration(row.session, holder.worker, kStandby));
    }
    if (target.worker != 0) PAWL_TRY(devices_.put_declaration(row.session, target.worker, kHolder));
  }
  OwnerChange change;
  change.session = row.session;
  change.to = target.worker;
  change.lease_ms = target.lease_ms;
  change.reason = reason;
  change.limits = context_.limits;
  if (row.owner == 0 && change.to == 0) return Status::kOk;
  return owners_.change_owner(change, nullptr);
}

// Work that runs beyond the limit keeps an exclusive session where it is.
Status SessionMoves::stop_failed(const Moving& row, std::string_view name) {
  Declaration holder;
  PAWL_TRY(devices_.read_holder(row.session, &holder));
  if (holder.worker != 0 && holder.role == kWithdrawing)
    PAWL_TRY(devices_.put_declaration(row.session, holder.worker, kHolder));
  if (row.hard && holder.worker != 0 && holder.worker != row.owner) {
    // It waits for the one it was to have the device from, and is not given up: the stop goes on.
    return move_or_stop(row, {holder.worker, kMoveStopMs, row.force, "declared"});
  }
  PAWL_TRY(sessions_.reopen(row.session));
  if (context_.sink == nullptr) return Status::kOk;
  SessionChange told;
  told.kind = SessionChange::Kind::kStopFailed;
  told.session = name;
  told.reason = "transfer_timed_out";
  context_.sink->on_session_change(told);
  return Status::kOk;
}

}  // namespace pawl::store
