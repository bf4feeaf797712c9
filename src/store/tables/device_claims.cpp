#include "device_claims.hpp"

#include <cinttypes>

#include "clock_rules.hpp"
#include "damage.hpp"
#include "moving.hpp"
#include "policy.hpp"
#include "text.hpp"
#include "walk.hpp"

namespace pawl::store {

Status DeviceClaims::declare_session(const DeclareSession& declare, Evidence& evidence,
                                     bool* held) {
  require_batch();
  *held = false;
  if (!is_valid_id(declare.device)) {
    context_.diagnostic.format("a device's name has 1 to %zu bytes, and no blank at its ends",
                               kNameBytesMax);
    return Status::kInvalidArgument;
  }
  SessionKey session = 0;
  PAWL_TRY(moves_.session_for_device(declare.device, &session));
  Declaration holder;
  PAWL_TRY(devices_.read_holder(session, &holder));
  Gone gone = Gone::kNo;
  if (holder.worker != 0 && holder.worker != declare.me)
    gone = evidence.gone(holder.claim, declare.me, batch_.now, batch_.boot_seq);
  switch (session::declare(holder.holder(), declare.me, gone, declare.standby)) {
    case session::Declared::kIsStandby:
      return devices_.put_declaration(session, declare.me, session::Role::kStandby);
    case session::Declared::kRefused:
      context_.diagnostic.format(
          "device \"%.*s\" is declared by worker \"%.*s\" (process %" PRId64 ")",
          static_cast<int>(declare.device.size()), declare.device.data(),
          static_cast<int>(holder.node.size()), holder.node.view().data(), holder.pid);
      return Status::kDeviceHeld;
    case session::Declared::kReplacesHolder:
      PAWL_TRY(devices_.drop_declaration(session, holder.worker));
      break;
    case session::Declared::kHolds: break;
  }
  *held = true;
  PAWL_TRY(devices_.put_declaration(session, declare.me, session::Role::kHolder));
  Moving row;
  PAWL_TRY(sessions_.read_moving(session, &row));
  if (!row.row.device) PAWL_TRY(sessions_.set_use(session, {true, false}));
  row.row.device = true;
  gone = Gone::kNo;
  if (row.row.owner.has_value() && row.row.owner != declare.me) {
    Claim claim;
    PAWL_TRY(sessions_.device_claim(session, &claim));
    gone = evidence.gone(claim, declare.me, batch_.now, batch_.boot_seq);
  }
  switch (session::after_declaring(row.row, declare.me, gone)) {
    case session::HeldSession::kStays: return Status::kOk;
    case session::HeldSession::kStopEnds: return owners_.end_stop(row);
    case session::HeldSession::kMovesNow: row.running = {}; break;
    case session::HeldSession::kMoves: break;
  }
  return moves_.move_or_stop(row,
                             {declare.me, declare.stop_ms, false, session::MoveReason::kDeclared});
}

Status DeviceClaims::withdraw_session(Incarnation me, std::string_view device,
                                      std::int64_t stop_ms) {
  require_batch();
  SessionKey session = 0;
  PAWL_TRY(sessions_.find_session(0, device, &session));
  session::Role role = session::Role::kHolder;
  PAWL_TRY(devices_.read_role(session, me, &role));
  Moving row;
  PAWL_TRY(sessions_.read_moving(session, &row));
  if (session::withdraw(row.row, me, role) == session::Withdrawal::kDeclarationEnds)
    return devices_.drop_declaration(session, me);
  PAWL_TRY(devices_.put_declaration(session, me, session::Role::kWithdrawing));
  return moves_.move_or_stop(row, {{}, stop_ms, false, session::MoveReason::kWithdrawn});
}

Status DeviceClaims::read_declaration(Incarnation me, std::string_view device, bool* withdrawing) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  SessionKey session = 0;
  PAWL_TRY(sessions_.find_session(0, device, &session));
  session::Role role = session::Role::kHolder;
  PAWL_TRY(devices_.read_role(session, me, &role));
  *withdrawing = role == session::Role::kWithdrawing;
  return Status::kOk;
}

constexpr auto kNextStandbyOfText = sql::join(
    "SELECT sid FROM devices\fINDEXED BY d_worker\rWHERE inc=?1"
    " AND sid>?2 AND role=",
    sql::number<session::Role::kStandby>, " ORDER BY sid LIMIT 1");
constexpr sql::Query kNextStandbyOf{kNextStandbyOfText};

Status DeviceClaims::take_devices_over(Incarnation me, const WorkerTerms& options,
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
    PAWL_TRY(sessions_.device_claim(session, &claim));
    Gone gone = Gone::kNo;
    if (claim.holder != 0) gone = evidence.gone(claim, me, batch_.now, batch_.boot_seq);
    const session::StandbyTurn turn = session::look_as_standby(claim.holder != 0, gone);
    if (turn == session::StandbyTurn::kWaits) continue;
    Declaration holder;
    PAWL_TRY(devices_.read_holder(session, &holder));
    if (holder.worker != 0) PAWL_TRY(devices_.drop_declaration(session, holder.worker));
    PAWL_TRY(devices_.put_declaration(session, me, session::Role::kHolder));
    OwnerChange change;
    change.session = session;
    change.to = me;
    change.lease_ms = options.session_lock_timeout_ms;
    change.strike = turn == session::StandbyTurn::kTakesWithStrike;
    change.limits = context_.limits;
    PAWL_TRY(owners_.change_owner(change, nullptr));
  }
}

constexpr sql::Query kForgetDevice{
    "DELETE FROM sessions WHERE sid=?1 AND hard=1 AND owner IS NULL"
    " AND NOT EXISTS(SELECT 1 FROM devices d WHERE d.sid=?1)"
    " AND NOT EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=?1)",
    kStopMoves};

Status DeviceClaims::forget_device(std::string_view device) {
  require_batch();
  SessionKey session = 0;
  PAWL_TRY(sessions_.find_session(0, device, &session));
  SessionTexts texts;
  PAWL_TRY(events_.describe(session, &texts));
  {
    Statement forget = connection_.use(kForgetDevice);
    forget.bind(session);
    PAWL_TRY(fail(forget.run(), "forget a device"));
    if (connection_.changes() == 0) return Status::kStillRunning;
  }
  PAWL_TRY(written(summaries_.drop_summary(session)));
  return written(events_.report_end(texts.swept()));
}

constexpr sql::Query kNextUnavailable{
    "SELECT q.id,q.sid,q.state,q.policy,s.name FROM worker_queue q"
    "\fINDEXED BY wq_unavailable\rLEFT JOIN sessions s ON s.sid=q.sid"
    " WHERE q.unavailable_due IS NOT NULL AND q.unavailable_due<=?1"
    " ORDER BY q.unavailable_due LIMIT 1"};
constexpr sql::Query kPostpone{"UPDATE worker_queue SET unavailable_due=?2 WHERE id=?1",
                               kWorkComes};

Status DeviceClaims::end_unavailable_work(std::size_t limit, std::size_t* ended) {
  Walk walk;
  for (std::size_t i = 0; i < limit; ++i) {
    WorkItemId item = 0;
    SessionKey session = 0;
    session::WorkState state = session::WorkState::kReady;
    ActivityPolicy policy;
    FixedText<kNameBytesMax> name;
    {
      Statement next = connection_.use(kNextUnavailable);
      next.bind(batch_.now);
      if (!next.row()) return fail(next.status(), "find work of absent devices");
      item = next.integer(0);
      const Suspicion work(connection_, RowRef::Table::kWork, item);
      if (!walk.changes(item)) return no_progress("worker_queue");
      session = next.integer(1);
      state = session::work_state_of(next.integer(2));
      if (!decode_policy(next.bytes(3), &policy))
        return fail(Status::kCorrupt, "read the policy of work");
      name.assign_cut(next.bytes(4));
    }
    const Suspicion work(connection_, RowRef::Table::kWork, item);
    bool declared = false;
    PAWL_TRY(devices_.has_declarer(session, &declared));
    if (!session::is_unavailable(state, declared)) {
      Statement postpone = connection_.use(kPostpone);
      postpone.bind(item).bind(make_due(batch_.now, policy.unavailable_ms));
      PAWL_TRY(fail(postpone.run(), "postpone a limit"));
      continue;
    }
    Diagnostic why;
    why.format("no living worker declares device \"%.*s\" (unavailable %" PRId64 " ms)",
               static_cast<int>(name.size()), name.view().data(), policy.unavailable_ms);
    PAWL_TRY(outcomes_.end_work(item, ErrorKind::kSessionUnavailable, why.text()));
    ++*ended;
  }
  return Status::kOk;
}

}  // namespace pawl::store
