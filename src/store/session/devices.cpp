#include "store/session/moves.hpp"

#include <cinttypes>

#include "codec/policy.hpp"
#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "store/session/moving_rules.hpp"
#include "store/sql/damage.hpp"
#include "store/walk.hpp"

namespace pawl::store {
Status SessionMoves::declare_session(const DeclareSession& declare, Evidence& evidence,
                                     bool* held) {
  require_batch();
  *held = false;
  if (!is_valid_id(declare.device)) {
    context_.diagnostic.format("a device's name has 1 to %zu bytes, and no blank at its ends",
                               kNameBytesMax);
    return Status::kInvalidArgument;
  }
  SessionKey session = 0;
  PAWL_TRY(session_for_device(declare.device, &session));
  Declaration holder;
  PAWL_TRY(rows_.sessions.read_holder(session, &holder));
  Gone gone = Gone::kNo;
  if (holder.worker != 0 && holder.worker != declare.me)
    gone = evidence.gone(holder.claim, declare.me, batch_.now, batch_.boot_seq);
  switch (rules::declare(holder.holder(), declare.me, gone, declare.standby)) {
    case rules::Declared::kIsStandby:
      return rows_.sessions.put_declaration(session, declare.me, rules::Role::kStandby);
    case rules::Declared::kRefused:
      context_.diagnostic.format(
          "device \"%.*s\" is declared by worker \"%.*s\" (process %" PRId64 ")",
          static_cast<int>(declare.device.size()), declare.device.data(),
          static_cast<int>(holder.node.size()), holder.node.view().data(), holder.pid);
      return Status::kDeviceHeld;
    case rules::Declared::kReplacesHolder:
      PAWL_TRY(rows_.sessions.drop_declaration(session, holder.worker));
      break;
    case rules::Declared::kHolds: break;
  }
  *held = true;
  PAWL_TRY(rows_.sessions.put_declaration(session, declare.me, rules::Role::kHolder));
  Moving row;
  PAWL_TRY(rows_.sessions.read_moving(session, &row));
  if (!row.row.device) PAWL_TRY(rows_.sessions.set_use(session, {true, false}));
  row.row.device = true;
  gone = Gone::kNo;
  if (row.row.owner.has_value() && row.row.owner != declare.me) {
    Claim claim;
    PAWL_TRY(rows_.sessions.device_claim(session, &claim));
    gone = evidence.gone(claim, declare.me, batch_.now, batch_.boot_seq);
  }
  switch (rules::after_declaring(row.row, declare.me, gone)) {
    case rules::HeldSession::kStays: return Status::kOk;
    case rules::HeldSession::kStopEnds: return owners_.end_stop(row);
    case rules::HeldSession::kMovesNow: row.running = {}; break;
    case rules::HeldSession::kMoves: break;
  }
  return move_session(row, {declare.me, declare.stop_ms, false, rules::MoveReason::kDeclared});
}

Status SessionMoves::withdraw_session(Incarnation me, std::string_view device,
                                      std::int64_t stop_ms) {
  require_batch();
  SessionKey session = 0;
  PAWL_TRY(rows_.sessions.find_session(0, device, &session));
  rules::Role role = rules::Role::kHolder;
  PAWL_TRY(rows_.sessions.read_role(session, me, &role));
  Moving row;
  PAWL_TRY(rows_.sessions.read_moving(session, &row));
  if (rules::withdraw(row.row, me, role) == rules::Withdrawal::kDeclarationEnds)
    return rows_.sessions.drop_declaration(session, me);
  PAWL_TRY(rows_.sessions.put_declaration(session, me, rules::Role::kWithdrawing));
  return move_session(row, {{}, stop_ms, false, rules::MoveReason::kWithdrawn});
}

Status SessionMoves::read_declaration(Incarnation me, std::string_view device, bool* withdrawing) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  SessionKey session = 0;
  PAWL_TRY(rows_.sessions.find_session(0, device, &session));
  rules::Role role = rules::Role::kHolder;
  PAWL_TRY(rows_.sessions.read_role(session, me, &role));
  *withdrawing = role == rules::Role::kWithdrawing;
  return Status::kOk;
}

constexpr auto kNextStandbyOf = PAWL_QUERY(
    "SELECT sid FROM devices\fINDEXED BY d_worker\rWHERE inc=?1"
    " AND sid>?2 AND role=",
    sql::number<rules::Role::kStandby>, " ORDER BY sid LIMIT 1");

Status SessionMoves::take_devices_over(Incarnation me, const WorkerTerms& options,
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
    PAWL_TRY(rows_.sessions.device_claim(session, &claim));
    Gone gone = Gone::kNo;
    if (claim.holder != 0) gone = evidence.gone(claim, me, batch_.now, batch_.boot_seq);
    const rules::StandbyTurn turn = rules::look_as_standby(claim.holder != 0, gone);
    if (turn == rules::StandbyTurn::kWaits) continue;
    Declaration holder;
    PAWL_TRY(rows_.sessions.read_holder(session, &holder));
    if (holder.worker != 0) PAWL_TRY(rows_.sessions.drop_declaration(session, holder.worker));
    PAWL_TRY(rows_.sessions.put_declaration(session, me, rules::Role::kHolder));
    OwnerChange change;
    change.session = session;
    change.to = me;
    change.lease_ms = options.session_lock_timeout_ms;
    change.strike = turn == rules::StandbyTurn::kTakesWithStrike;
    change.limits = context_.limits;
    PAWL_TRY(owners_.change_owner(change, nullptr));
  }
}

constexpr auto kForgetDevice = PAWL_QUERY(
    "DELETE FROM sessions WHERE sid=?1 AND hard=1 AND owner IS NULL"
    " AND NOT EXISTS(SELECT 1 FROM devices d WHERE d.sid=?1)"
    " AND NOT EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=?1)",
    kStopMoves);

Status SessionMoves::forget_device(std::string_view device) {
  require_batch();
  SessionKey session = 0;
  PAWL_TRY(rows_.sessions.find_session(0, device, &session));
  SessionTexts texts;
  PAWL_TRY(rows_.events.describe(session, &texts));
  {
    Statement forget = connection_.use(kForgetDevice);
    std::int64_t forgotten = 0;
    PAWL_TRY(fail(forget.bind(session).run(&forgotten), "forget a device"));
    if (forgotten == 0) return Status::kStillRunning;
  }
  PAWL_TRY(written(rows_.sessions.drop_summary(session)));
  return written(rows_.events.report_end(texts.swept()));
}

constexpr auto kNextUnavailable = PAWL_QUERY(
    "SELECT q.id,q.sid,q.state,q.policy,s.name FROM worker_queue q"
    "\fINDEXED BY wq_unavailable\rLEFT JOIN sessions s ON s.sid=q.sid"
    " WHERE q.unavailable_due IS NOT NULL AND q.unavailable_due<=?1"
    " ORDER BY q.unavailable_due LIMIT 1");
constexpr auto kPostpone =
    PAWL_QUERY("UPDATE worker_queue SET unavailable_due=?2 WHERE id=?1", kWorkComes);

Status SessionMoves::end_unavailable_work(std::size_t limit, std::size_t* ended) {
  Walk walk;
  for (std::size_t i = 0; i < limit; ++i) {
    WorkItemId item = 0;
    SessionKey session = 0;
    rules::WorkState state = rules::WorkState::kReady;
    ActivityPolicy policy;
    FixedText<kNameBytesMax> name;
    {
      Statement next = connection_.use(kNextUnavailable);
      next.bind(batch_.now);
      if (!next.row()) return fail(next.status(), "find work of absent devices");
      item = next.integer(PAWL_COLUMN(kNextUnavailable, q.id));
      const Suspicion work(connection_, RowRef::Table::kWork, item);
      if (!walk.changes(item)) return no_progress("worker_queue");
      session = next.integer(PAWL_COLUMN(kNextUnavailable, q.sid));
      state = rules::work_state_of(next.integer(PAWL_COLUMN(kNextUnavailable, q.state)));
      if (!decode_policy(next.bytes(PAWL_COLUMN(kNextUnavailable, q.policy)), &policy))
        return fail(Status::kCorrupt, "read the policy of work");
      name.assign_cut(next.bytes(PAWL_COLUMN(kNextUnavailable, s.name)));
    }
    const Suspicion work(connection_, RowRef::Table::kWork, item);
    bool declared = false;
    PAWL_TRY(rows_.sessions.has_declarer(session, &declared));
    // Work without the limit has none to be over: the row was damaged.
    const bool has_limit = policy.unavailable_ms > 0;
    if (!has_limit || !rules::is_unavailable(state, declared)) {
      Statement postpone = connection_.use(kPostpone);
      OptionalMs due;
      if (has_limit) due = make_due(batch_.now, policy.unavailable_ms);
      PAWL_TRY(fail(postpone.bind(item).bind_optional(due).run(), "postpone a limit"));
      continue;
    }
    Diagnostic why;
    why.format("no living worker declares device \"%.*s\" (unavailable %" PRId64 " ms)",
               static_cast<int>(name.size()), name.view().data(), policy.unavailable_ms);
    PAWL_TRY(rows_.work.end_work(item, ErrorKind::kSessionUnavailable, why.text()));
    ++*ended;
  }
  return Status::kOk;
}

}  // namespace pawl::store
