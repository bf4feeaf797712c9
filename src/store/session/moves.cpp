#include "store/session/moves.hpp"

#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "store/change_sink.hpp"
#include "store/session/events.hpp"
#include "store/session/moving_rules.hpp"
#include "store/sql/damage.hpp"
#include "store/walk.hpp"
#include "store/worker/lease_rules.hpp"

namespace pawl::store {
namespace {

constexpr std::int64_t kGlobalScope = 0;

}  // namespace

Status SessionMoves::transfer_session(std::string_view instance, std::string_view session,
                                      std::string_view node, std::int64_t stop_ms, bool force) {
  require_batch();
  InstanceKey scope = 0;
  if (!instance.empty()) PAWL_TRY(rows_.instances.find_key(instance, &scope));
  SessionKey key = 0;
  PAWL_TRY(rows_.sessions.find_session(scope, session, &key));
  Moving row;
  PAWL_TRY(rows_.sessions.read_moving(key, &row));
  Target target;
  if (!node.empty()) {
    Incarnation worker = 0;
    const Status found = rows_.workers.living_worker(node, &worker);
    if (found != Status::kOk && found != Status::kNotFound) return found;
    if (found == Status::kOk && row.row.owner == worker) return Status::kOk;
    if (found == Status::kOk) PAWL_TRY(read_target(row, worker, &target));
    if (!target.worker.has_value()) {
      context_.diagnostic.format(
          "worker \"%.*s\" cannot take session \"%.*s\": it is not running, is "
          "draining, is full or did not declare the device",
          static_cast<int>(node.size()), node.data(), static_cast<int>(session.size()),
          session.data());
      return Status::kNoEligibleTarget;
    }
  } else if (row.row.device) {
    PAWL_TRY(rows_.sessions.first_standby(key, &target.worker));
    if (!rules::may_leave(row.row, target.worker.has_value())) {
      context_.diagnostic.format("no other worker declares device \"%.*s\"",
                                 static_cast<int>(session.size()), session.data());
      return Status::kNoEligibleTarget;
    }
  }
  return move_session(row, {target.worker, stop_ms, force, rules::MoveReason::kTransferred});
}

constexpr auto kEpochOf = PAWL_QUERY("SELECT epoch FROM sessions WHERE sid=?1");

Status SessionMoves::evict_session(const WorkDone& hung, SessionKey session, Incarnation me,
                                   bool* moves) {
  require_batch();
  *moves = false;
  Epoch epoch = 0;
  {
    Statement read = connection_.use(kEpochOf);
    read.bind(session);
    if (!read.row()) return fail(read.status(), "find the session of a hung activity");
    epoch = read.integer(0);
  }
  Moving row;
  PAWL_TRY(rows_.sessions.read_moving(session, &row));
  if (!rules::may_evict(row.row, epoch, me, hung.epoch)) return Status::kOk;
  Move move;
  move.stop_ms = rules::kMoveStopMs;
  move.reason = rules::MoveReason::kHung;
  if (row.row.device) PAWL_TRY(rows_.sessions.first_standby(session, &move.target));
  if (!rules::may_leave(row.row, move.target.has_value())) return Status::kOk;
  *moves = true;
  return move_session(row, move);
}

constexpr auto kSetDraining =
    PAWL_QUERY("UPDATE workers SET draining=?2 WHERE inc=?1 AND buried=0");
constexpr auto kNextOwnedBy = PAWL_QUERY(
    "SELECT hard,sid FROM sessions\fINDEXED BY s_owner\rWHERE owner=?1"
    " AND (hard,sid)>(?2,?3) ORDER BY hard,sid LIMIT 1");

Status SessionMoves::drain_worker(std::string_view node, std::int64_t stop_ms) {
  require_batch();
  Incarnation worker = 0;
  PAWL_TRY(set_draining(node, true, &worker));
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
    PAWL_TRY(rows_.sessions.read_moving(session, &row));
    std::optional<Incarnation> target;
    if (row.row.device) PAWL_TRY(rows_.sessions.first_standby(session, &target));
    if (!rules::may_leave(row.row, target.has_value())) continue;
    PAWL_TRY(move_session(row, {target, stop_ms, false, rules::MoveReason::kDrained}));
  }
}

Status SessionMoves::undrain_worker(std::string_view node) {
  require_batch();
  Incarnation worker = 0;
  return set_draining(node, false, &worker);
}

Status SessionMoves::set_draining(std::string_view node, bool draining, Incarnation* worker) {
  PAWL_TRY(rows_.workers.living_worker(node, worker));
  Statement drain = connection_.use(kSetDraining);
  drain.bind(*worker).bind(draining ? 1 : 0);
  rows_.workers.forget_known();
  return fail(drain.run(), "drain a worker, or end its drain");
}

constexpr auto kNextStop = PAWL_QUERY(
    "SELECT stop_due,sid,name FROM sessions\fINDEXED BY s_stopping\r"
    "WHERE state=",
    sql::number<rules::State::kStopping>,
    " AND (stop_due,sid)>(?1,?2) ORDER BY stop_due,sid LIMIT 1");

Status SessionMoves::end_stops(std::size_t limit, std::size_t* ended) {
  require_batch();
  if (rows_.due.knows_none(DueKind::kStop)) return Status::kOk;  // no session is stopping
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
    PAWL_TRY(rows_.sessions.read_moving(session, &row));
    const rules::StopEnd end = rules::look_at_stop(row.row, row.running, batch_.now);
    if (end == rules::StopEnd::kGoesOn) continue;
    ++*ended;
    const rules::Stop stop = row.row.stop.value_or(rules::Stop());
    const Move move = {stop.to, 0, false, stop.reason, nullptr, true};
    switch (end) {
      case rules::StopEnd::kGoesOn: break;
      case rules::StopEnd::kMoves: PAWL_TRY(move_session(row, move)); break;
      case rules::StopEnd::kMovesLate:
        PAWL_TRY(rows_.work.delete_cancelled_running(session));
        PAWL_TRY(move_session(row, move));
        break;
      case rules::StopEnd::kFails: PAWL_TRY(stop_failed(row, name.view())); break;
    }
  }
  return Status::kOk;
}

Status SessionMoves::claim_session(Incarnation me, std::string_view session,
                                   const WorkerTerms& options) {
  require_batch();
  OwnerChange change;
  SharedRow shared;
  PAWL_TRY(session_for(0, session, {}, &shared));
  change.session = shared.session;
  Moving row;
  PAWL_TRY(rows_.sessions.read_moving(change.session, &row));
  std::int64_t owned = 0;
  const std::int64_t most = options.max_sessions_per_worker;
  PAWL_TRY(rows_.sessions.count_owned(me, most, &owned));
  if (!rules::may_claim_early(row.row, owned, most)) return Status::kOk;
  change.to = me;
  change.lease_ms = options.session_lock_timeout_ms;
  change.limits = context_.limits;
  return owners_.change_owner(change, nullptr);
}

constexpr auto kFindSession = PAWL_QUERY(
    "SELECT sid,hard,excl,state,limits IS NOT NULL AS has_limits,"
    "coalesce(limited_by,0) AS limited_by FROM sessions WHERE scope=?1 AND name=?2");

Status SessionMoves::session_for(InstanceKey instance, std::string_view name, const rules::Use& use,
                                 SharedRow* out) {
  rules::Use has;
  rules::SharedState state = rules::SharedState::kOpen;
  {
    Statement find = connection_.use(kFindSession);
    find.bind(kGlobalScope).bind_text(name);
    if (find.row()) {
      out->session = find.integer(PAWL_COLUMN(kFindSession, sid));
      has = {find.integer(PAWL_COLUMN(kFindSession, hard)) != 0,
             find.integer(PAWL_COLUMN(kFindSession, excl)) != 0};
      state = rules::shared_state_of(
          rules::state_of(find.integer(PAWL_COLUMN(kFindSession, state))),
          limit_of(find.integer(PAWL_COLUMN(kFindSession, limited_by)), instance));
      out->has_limits = find.integer(PAWL_COLUMN(kFindSession, has_limits)) != 0;
    }
    PAWL_TRY(fail(find.status(), "find session"));
  }
  if (out->session == 0) {
    SessionSettings settings;
    settings.exclusive = use.exclusive;
    return openings_.insert({}, name, settings, use.device, &out->session);
  }
  switch (state) {
    case rules::SharedState::kOpen: break;
    case rules::SharedState::kRefuses: out->is_open = false; return Status::kOk;
    case rules::SharedState::kBeginsAnew:
      PAWL_TRY(begin_anew(out->session, name));
      has = {};
      out->has_limits = false;
      break;
    case rules::SharedState::kBeginsAnewAfterLimit:
      PAWL_TRY(openings_.begin_anew_after_limit(out->session, {}));
      break;
  }
  const rules::Use more = rules::added_use(has, use);
  return more.device || more.exclusive ? tighten(out->session, name, more) : Status::kOk;
}

Status SessionMoves::session_for_device(std::string_view name, SessionKey* key) {
  SharedRow row;
  PAWL_TRY(session_for(0, name, {}, &row));
  *key = row.session;
  return row.is_open ? Status::kOk : begin_anew(row.session, name);
}

// Drops the settings that the session had, because no code asks for them any more.
Status SessionMoves::begin_anew(SessionKey session, std::string_view name) {
  Opened row;
  PAWL_TRY(rows_.sessions.read_opened(kGlobalScope, name, &row));
  if (row.unreported) PAWL_TRY(rows_.events.report_closed(session, row.ended.view()));
  return openings_.begin_anew(session, {}, {});
}

Status SessionMoves::hand_device_over(SessionKey session, std::string_view reason) {
  Moving row;
  PAWL_TRY(rows_.sessions.read_moving(session, &row));
  Move move;
  if (row.row.stop.has_value()) move.target = row.row.stop->to;
  move.at_once = true;
  move.because = reason;
  return move_session(row, move);
}

// Properties only tighten while the row lives. A soft owner of a session that is now a device lets
// it go. A device that was only declared has no work yet that could conflict with its first work,
// so no conflict is reported.
Status SessionMoves::tighten(SessionKey session, std::string_view name, const rules::Use& more) {
  bool worked = false;
  PAWL_TRY(rows_.sessions.has_worked(session, &worked));
  PAWL_TRY(rows_.sessions.set_use(session, more));
  if (worked && context_.sink != nullptr) {
    SessionChange reported;
    reported.kind = SessionChange::Kind::kConflict;
    reported.session = name;
    reported.reason = !more.device     ? "was not exclusive, and is now"
                      : more.exclusive ? "was no device and not exclusive, and is both now"
                                       : "was no device, and is one now";
    context_.sink->on_session_change(reported);
  }
  PAWL_TRY(rows_.sessions.recompute_head(session));
  if (!more.device) return Status::kOk;
  Moving row;
  PAWL_TRY(rows_.sessions.read_moving(session, &row));
  Declaration holder;
  PAWL_TRY(rows_.sessions.read_holder(session, &holder));
  if (!rules::lets_go_of_device(row.row, more, holder.holder())) return Status::kOk;
  return move_session(
      row, {holder.holder().worker, rules::kMoveStopMs, true, rules::MoveReason::kDevice});
}

constexpr auto kReadTarget =
    PAWL_QUERY("SELECT locked_until,sessions_max,draining FROM workers WHERE inc=?1 AND buried=0");

// Whether the worker may have the session: a device goes to a worker that declared it, any other
// session to a worker with room.
Status SessionMoves::read_target(const Moving& row, std::optional<Incarnation> worker,
                                 Target* out) {
  *out = Target();
  if (!worker.has_value()) return Status::kOk;
  rules::TargetFacts facts;
  {
    Statement read = connection_.use(kReadTarget);
    read.bind(*worker);
    if (!read.row()) return fail(read.status(), "read a worker");
    facts.worker = rules::TargetWorker{read.integer(2) != 0, read.integer(0), read.integer(1)};
  }
  if (row.row.device) {
    rules::Role role = rules::Role::kHolder;
    const Status declared = rows_.sessions.read_role(row.session, *worker, &role);
    if (declared != Status::kNotFound) PAWL_TRY(declared);
    if (declared == Status::kOk) facts.role = role;
  } else {
    PAWL_TRY(rows_.sessions.count_owned(*worker, facts.worker->sessions_max, &facts.owned));
  }
  // The first lease on the session is that of the worker's own row; it renews both together.
  out->lease_ms = rules::lease_left_ms(facts.worker->locked_until, batch_.now);
  if (rules::may_have(row.row, facts)) out->worker = worker;
  return Status::kOk;
}

Status SessionMoves::move_session(const Moving& row, const Move& move) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, row.session);
  if (move.handoff != nullptr)
    PAWL_TRY(openings_.set_session_tag(row.session, move.handoff->tag, move.handoff->summary));
  if (!move.at_once && rules::must_stop_first(row.running)) {
    rules::Facts facts;
    facts.stop = {move.target, make_due(batch_.now, move.stop_ms), move.force, move.reason};
    return owners_.apply(row.session, rules::transition(row.row, rules::Trigger::kStop, facts), {},
                         nullptr);
  }
  Target target;
  PAWL_TRY(read_target(row, move.target, &target));
  if (row.row.device) {
    if (!target.worker.has_value()) {
      std::optional<Incarnation> standby;
      PAWL_TRY(rows_.sessions.first_standby(row.session, &standby));
      PAWL_TRY(read_target(row, standby, &target));
    }
    PAWL_TRY(settle_holder(row.session, target.worker));
  }
  if (!rules::changes_owner(row.row, target.worker))
    return row.row.state == rules::State::kStopping ? owners_.end_stop(row) : Status::kOk;
  OwnerChange change;
  change.session = row.session;
  change.to = target.worker.value_or(0);
  change.lease_ms = target.lease_ms;
  change.reason = move.because.empty() ? rules::move_reason_name(move.reason) : move.because;
  change.limits = context_.limits;
  return owners_.change_owner(change, nullptr);
}

// For a device that goes to `to`: the former holder keeps it, becomes a standby or is dropped.
Status SessionMoves::settle_holder(SessionKey session, std::optional<Incarnation> to) {
  Declaration former;
  PAWL_TRY(rows_.sessions.read_holder(session, &former));
  switch (rules::former_holder(former.holder(), former.claim.buried, to)) {
    case rules::FormerHolder::kKeeps: break;
    case rules::FormerHolder::kIsDropped:
      PAWL_TRY(rows_.sessions.drop_declaration(session, former.worker));
      break;
    case rules::FormerHolder::kIsStandby:
      PAWL_TRY(rows_.sessions.put_declaration(session, former.worker, rules::Role::kStandby));
      break;
  }
  return to.has_value() ? rows_.sessions.put_declaration(session, *to, rules::Role::kHolder)
                        : Status::kOk;
}

// An exclusive session stays where it is if its work runs beyond the limit.
Status SessionMoves::stop_failed(const Moving& row, std::string_view name) {
  Declaration holder;
  PAWL_TRY(rows_.sessions.read_holder(row.session, &holder));
  const rules::FailedStop after = rules::after_failed_stop(row.row, holder.holder());
  if (after.holds_again)
    PAWL_TRY(rows_.sessions.put_declaration(row.session, holder.worker, rules::Role::kHolder));
  if (after.goes_on) {
    const bool force = row.row.stop.has_value() && row.row.stop->force;
    return move_session(row,
                        {holder.worker, rules::kMoveStopMs, force, rules::MoveReason::kDeclared});
  }
  PAWL_TRY(owners_.end_stop(row));
  if (context_.sink == nullptr) return Status::kOk;
  SessionChange reported;
  reported.kind = SessionChange::Kind::kStopFailed;
  reported.session = name;
  reported.reason = "transfer_timed_out";
  context_.sink->on_session_change(reported);
  return Status::kOk;
}

}  // namespace pawl::store
