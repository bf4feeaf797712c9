#include "store/session/owners.hpp"

#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "store/change_sink.hpp"
#include "store/sql/damage.hpp"
#include "store/walk.hpp"
#include "store/worker/lease_rules.hpp"

namespace pawl::store {
Status SessionOwners::change_owner(const OwnerChange& asked, Epoch* epoch) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, asked.session);
  rules::SessionRow row;
  PAWL_TRY(rows_.sessions.read_row(asked.session, &row));
  OwnerChange change = asked;
  // F15a: while moves are held, no worker becomes the owner of an exclusive session.
  if (batch_.moves_are_held && (row.exclusive || row.device)) {
    change.to = 0;
    if (epoch != nullptr) *epoch = 0;
    if (!row.owner.has_value()) return Status::kOk;
  }
  rules::Facts facts;
  if (change.to != 0) facts.to = change.to;
  const rules::Transition next = rules::transition(row, rules::Trigger::kChangeOwner, facts);
  SessionTexts texts;
  PAWL_TRY(rows_.events.describe(change.session, &texts));
  Applied how{texts.node.view(), change.reason, change.lease_ms, change.strike, change.limits};
  if (how.reason.empty()) how.reason = "taken over";
  Epoch taken = 0;
  PAWL_TRY(apply(change.session, next, how, &taken));
  if (epoch != nullptr) *epoch = next.next.owner.has_value() ? taken : 0;
  if (next.notice == rules::Notice::kLost) {
    SessionChange reported = texts.change(SessionChange::Kind::kLost);
    reported.epoch = taken;
    reported.reason = how.reason;
    PAWL_TRY(rows_.events.report_end(reported));
    return rows_.events.notify_change(change.session, reported);
  }
  FixedText<kNameBytesMax> to;
  if (change.to != 0) PAWL_TRY(rows_.workers.node_of(change.to, &to));
  SessionChange reported = texts.change(SessionChange::Kind::kClaimed);
  reported.epoch = taken;
  reported.to = to.view();
  return rows_.events.report_change(change, reported);
}

Status SessionOwners::apply(SessionKey session, const rules::Transition& change, const Applied& how,
                            Epoch* epoch) {
  Epoch taken = 0;
  if (change.epoch != rules::EpochEffect::kKeep) taken = context_.next_epoch();
  // The session's work is ready again, or its owner has room for another session.
  if (change.makes_ready || change.epoch != rules::EpochEffect::kKeep) ++context_.made_ready;
  if (epoch != nullptr) *epoch = taken;
  switch (change.work) {
    case rules::WorkEffect::kNone: break;
    case rules::WorkEffect::kUnlock: PAWL_TRY(unlock_session(session, how)); break;
    case rules::WorkEffect::kFailLost: {
      FixedText<kErrorTextBytesMax> why;
      PAWL_TRY(rows_.events.describe_loss(session, taken, how.reason, &why));
      PAWL_TRY(fail_work_of(session, ErrorKind::kSessionLost, why.view()));
      break;
    }
    case rules::WorkEffect::kFailClosed:
      PAWL_TRY(fail_work_of(session, ErrorKind::kSessionClosed, how.reason));
      break;
  }
  if (change.deletes_row) return rows_.sessions.delete_row(session);
  PAWL_TRY(rows_.sessions.write_owner(session, change, {taken, how.node, how.lease_ms}));
  if (change.recomputes_head) PAWL_TRY(rows_.sessions.recompute_head(session));
  if (change.wakes_unregistered) PAWL_TRY(rows_.unregistered.wake_waiting_of(session));
  return Status::kOk;
}

Status SessionOwners::end_stop(const Moving& row) {
  return apply(row.session, rules::transition(row.row, rules::Trigger::kEndStop, {}), {}, nullptr);
}

Status SessionOwners::release(SessionKey session, std::string_view reason,
                              SessionChange::Eviction eviction) {
  OwnerChange change;
  change.session = session;
  change.reason = reason;
  change.eviction = eviction;
  change.limits = context_.limits;
  return change_owner(change, nullptr);
}

Status SessionOwners::evict(SessionKey session, SessionChange::Eviction eviction) {
  const bool blocked = eviction == SessionChange::Eviction::kBlocked;
  return release(session, blocked ? "blocked" : "capacity", eviction);
}

Status SessionOwners::abort_session(SessionKey session) { return release(session, "aborted"); }

constexpr auto kNextItemOf = PAWL_QUERY(
    "SELECT id,state FROM worker_queue\fINDEXED BY wq_session\r"
    "WHERE sid=?1 AND state<>",
    sql::number<rules::WorkState::kCancelledRunning>,
    " AND instance=coalesce(?2,instance) ORDER BY state,id LIMIT 1");

// Fails all items except those cancelled before. A running item is cancelled when it renews, and
// its result is refused.
Status SessionOwners::fail_work_of(SessionKey session, ErrorKind kind, std::string_view text,
                                   std::optional<InstanceKey> instance) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Walk walk;
  while (true) {
    WorkItemId item = 0;
    {
      Statement next = connection_.use(kNextItemOf);
      next.bind(session);
      instance.has_value() ? next.bind(*instance) : next.bind_null();
      if (!next.row()) return fail(next.status(), "find work of a session");
      item = next.integer(0);
      if (!walk.rises(next.integer(1), item)) return no_progress("worker_queue");
    }
    PAWL_TRY(rows_.work.end_work(item, kind, text));
  }
}

constexpr auto kNextExclusive = PAWL_QUERY(
    "SELECT sid FROM sessions\fINDEXED BY s_owner\rWHERE owner=?1 AND (hard<>0 OR excl<>0) "
    "ORDER BY sid LIMIT 1");

Status SessionOwners::give_up_exclusive(Incarnation me) {
  Walk walk;
  while (true) {
    SessionKey session = 0;
    {
      Statement next = connection_.use(kNextExclusive);
      next.bind(me);
      if (!next.row()) return fail(next.status(), "find own exclusive sessions");
      session = next.integer(0);
      if (!walk.rises(session)) return no_progress("sessions");
    }
    PAWL_TRY(release(session, "lease over"));
  }
}

// All soft sessions of an owner. Work that is outside is no work of it, unless it would fail with
// the ownership.
constexpr auto kOwnedSoft = PAWL_QUERY(
    "SELECT sid,state,hard,fail,lifecycle,idle_ms,hold_until,last_activity_at,"
    "head_id IS NOT NULL OR EXISTS(SELECT 1 FROM worker_queue r\fINDEXED BY wq_session\r"
    "WHERE r.sid=s.sid AND r.state=",
    sql::number<rules::WorkState::kLocked>,
    ") OR EXISTS(SELECT 1 FROM worker_queue r\fINDEXED BY wq_session\rWHERE r.sid=s.sid"
    " AND r.state=",
    sql::number<rules::WorkState::kCancelledRunning>,
    ") OR EXISTS(SELECT 1 FROM worker_queue r\fINDEXED BY wq_session\rWHERE r.sid=s.sid"
    " AND r.state=",
    sql::number<rules::WorkState::kOutsideHolding>,
    ") AS is_busy,EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid"
    " AND (q.state<>",
    sql::number<rules::WorkState::kOutside>,
    " OR s.fail<>0)) AS has_work FROM sessions s\fINDEXED BY s_owner\rWHERE owner=?1 AND hard=0 "
    "AND sid>?2 ORDER "
    "BY sid");

rules::IdleRow SessionOwners::idle_row(const Statement& row) {
  rules::IdleRow out;
  out.state = rules::state_of(row.integer(PAWL_COLUMN(kOwnedSoft, state)));
  out.device = row.integer(PAWL_COLUMN(kOwnedSoft, hard)) != 0;
  out.fails_on_loss = row.integer(PAWL_COLUMN(kOwnedSoft, fail)) != 0;
  out.is_opened =
      lifecycle_of(row.integer(PAWL_COLUMN(kOwnedSoft, lifecycle))) == Lifecycle::kOpened;
  out.idle_ms = row.optional_ms(PAWL_COLUMN(kOwnedSoft, idle_ms));
  out.hold_until = row.integer(PAWL_COLUMN(kOwnedSoft, hold_until));
  out.last_activity_at = row.integer(PAWL_COLUMN(kOwnedSoft, last_activity_at));
  out.is_busy = row.integer(PAWL_COLUMN(kOwnedSoft, is_busy)) != 0;
  out.has_work = row.integer(PAWL_COLUMN(kOwnedSoft, has_work)) != 0;
  return out;
}

// Reads at most as many rows as the owner may have sessions.
Status SessionOwners::make_room(Incarnation me, std::int64_t idle_ms, bool* released,
                                OptionalMs* room_at) {
  SessionKey longest = 0;
  {
    std::int64_t since = 0;
    Statement owned = connection_.use(kOwnedSoft);
    owned.bind(me).bind(0);
    while (owned.row()) {
      const rules::IdleRow row = idle_row(owned);
      const OptionalMs at = rules::makes_room_at(row, idle_ms);
      room_at->keep_earlier(at);
      if (!at.has_passed(batch_.now)) continue;
      if (longest != 0 && row.last_activity_at >= since) continue;
      longest = owned.integer(PAWL_COLUMN(kOwnedSoft, sid));
      since = row.last_activity_at;
    }
    PAWL_TRY(fail(owned.status(), "find the longest idle session"));
  }
  *released = longest != 0;
  return *released ? evict(longest, SessionChange::Eviction::kCapacity) : Status::kOk;
}

constexpr auto kCountAll =
    PAWL_QUERY("SELECT count(*) FROM sessions\fINDEXED BY s_owner\rWHERE owner=?1");
constexpr auto kRenew =
    PAWL_QUERY("UPDATE workers SET sessions_until=max(sessions_until,?2) WHERE inc=?1");

Status SessionOwners::renew_session_lock(Incarnation me, const WorkerTerms& options,
                                         std::size_t* renewed, std::size_t* released) {
  *renewed = 0;
  *released = 0;
  PAWL_TRY(release_idle(me, options, released));
  {
    Statement count = connection_.use(kCountAll);
    if (!count.bind(me).row()) return fail(count.status(), "count own sessions");
    *renewed = static_cast<std::size_t>(count.integer(0));
  }
  // Where machines share the store, the owner counts on this lease for sessions that it claims
  // later, too, and is not buried before its end (F7).
  if (*renewed == 0 && context_.file.shared_clock() == nullptr) return Status::kOk;
  Statement renew = connection_.use(kRenew);
  renew.bind(me).bind(rules::lease_until(batch_.now, options.session_lock_timeout_ms));
  return fail(renew.run(), "renew sessions");
}

constexpr auto kNextToAnnounce = PAWL_QUERY(
    "SELECT sid FROM sessions\fINDEXED BY s_owner\rWHERE owner=?1 AND hard=0 AND sid>?2"
    " AND notify IS NOT NULL ORDER BY sid LIMIT 1");

Status SessionOwners::announce_stop(Incarnation me, std::size_t* reported) {
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
    PAWL_TRY(rows_.events.describe(session, &texts));
    SessionChange ending = texts.change(SessionChange::Kind::kEnding);
    ending.reason = "shutdown";
    PAWL_TRY(rows_.events.notify_change(session, ending));
    ++*reported;
  }
}

Status SessionOwners::release_idle(Incarnation me, const WorkerTerms& options,
                                   std::size_t* released) {
  SessionKey last = 0;
  while (true) {
    OwnerChange change;
    change.reason = "idle";
    {
      Statement owned = connection_.use(kOwnedSoft);
      owned.bind(me).bind(last);
      while (change.session == 0 && owned.row())
        if (rules::is_idle(idle_row(owned), batch_.now, options.session_idle_timeout_ms))
          change.session = owned.integer(PAWL_COLUMN(kOwnedSoft, sid));
      PAWL_TRY(fail(owned.status(), "find idle sessions"));
      if (change.session == 0) return Status::kOk;
    }
    // A damaged index may name a session that another worker owns.
    rules::SessionRow row;
    PAWL_TRY(rows_.sessions.read_row(change.session, &row));
    if (row.owner != me) return no_progress("sessions");
    last = change.session;
    PAWL_TRY(change_owner(change, nullptr));
    ++*released;
  }
}

constexpr auto kFirstLocked = PAWL_QUERY(
    "SELECT id FROM worker_queue\fINDEXED BY wq_session\r"
    "WHERE sid=?1 AND state=",
    sql::number<rules::WorkState::kLocked>, " ORDER BY id LIMIT 1");

// The locks of a session's items end with its epoch. There are at most as many of them as its owner
// has slots.
Status SessionOwners::unlock_session(SessionKey session, const Applied& how) {
  Walk walk;
  while (true) {
    WorkItemId item = 0;
    {
      Statement first = connection_.use(kFirstLocked);
      first.bind(session);
      if (!first.row()) return fail(first.status(), "find locked items of a session");
      item = first.integer(0);
      if (!walk.rises(item)) return no_progress("worker_queue");
    }
    PAWL_TRY(rows_.work.unlock_work(item, session, how.strike, how.limits));
  }
}

}  // namespace pawl::store
