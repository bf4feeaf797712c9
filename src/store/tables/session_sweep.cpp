#include "session_sweep.hpp"

#include "damage.hpp"
#include "leases.hpp"
#include "walk.hpp"

namespace pawl::store {

Status SessionSweep::cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                               std::size_t* removed) {
  *removed = 0;
  PAWL_TRY(sweep_unowned(limit, removed));
  return sweep_owned_by_gone(evidence, limit, removed);
}

constexpr sql::Query kHasWork{
    "SELECT EXISTS(SELECT 1 FROM worker_queue\fINDEXED BY wq_session\rWHERE sid=?1) AS has_work"};

// The row begins with sid, state, hard, lifecycle and last_activity_at; then comes whether the
// session ends by itself, because a look at it is planned. The queue is asked only if the rest
// allows the sweep.
Status SessionSweep::may_be_swept(const Statement& row, bool* may) {
  session::IdleRow idle;
  idle.state = session::state_of(row.integer(1));
  idle.device = row.integer(2) != 0;
  idle.is_opened = lifecycle_of(row.integer(3)) == Lifecycle::kOpened;
  idle.has_settings = lifecycle_of(row.integer(3)) == Lifecycle::kSharedUsed;
  idle.last_activity_at = row.integer(4);
  idle.expires = row.integer(5) != 0;
  *may = session::may_be_swept(idle, batch_.now);
  if (!*may) return Status::kOk;
  Statement work = connection_.use(kHasWork);
  work.bind(row.integer(0));
  if (!work.row()) return fail(work.status(), "find work of a session");
  idle.has_work = work.integer(0) != 0;
  *may = session::may_be_swept(idle, batch_.now);
  return Status::kOk;
}

constexpr sql::Query kUnowned{
    "SELECT sid,state,hard,lifecycle,last_activity_at,look_at IS NOT NULL FROM "
    "sessions\fINDEXED BY s_orphan\r"
    "WHERE owner IS NULL AND head_id IS NULL ORDER BY last_activity_at"};

Status SessionSweep::sweep_unowned(std::size_t limit, std::size_t* removed) {
  Walk walk;
  while (*removed < limit) {
    SessionKey session = 0;
    {
      Statement orphan = connection_.use(kUnowned);
      bool may = false;
      while (!may && orphan.row()) {
        PAWL_TRY(may_be_swept(orphan, &may));
        if (may) session = orphan.integer(0);
      }
      if (!may) return fail(orphan.status(), "find orphaned sessions");
      if (!walk.changes(session)) return no_progress("sessions");
    }
    PAWL_TRY(sweep_row(session));
    ++*removed;
  }
  return Status::kOk;
}

constexpr sql::Query kExpired{
    "SELECT sid,state,hard,lifecycle,last_activity_at,look_at IS NOT NULL,locked_until FROM "
    "sessions\fINDEXED BY s_lease\r"
    "WHERE owner IS NOT NULL AND locked_until<=?1 AND (locked_until,sid)>(?2,?3)"
    " ORDER BY locked_until,sid"};

Status SessionSweep::sweep_owned_by_gone(Evidence& evidence, std::size_t limit,
                                         std::size_t* removed) {
  Expired last;
  Walk walk;
  for (std::size_t looks = 0; looks < limit && *removed < limit; ++looks) {
    OwnerChange release;
    release.reason = "gone";
    {
      Statement expired = connection_.use(kExpired);
      expired.bind(batch_.now).bind(last.until).bind(last.key);
      bool may = false;
      while (!may && expired.row()) {
        PAWL_TRY(may_be_swept(expired, &may));
        if (may) release.session = expired.integer(0);
        if (may) last = {expired.integer(6), release.session};
      }
      if (!may) return fail(expired.status(), "find expired sessions");
      if (!walk.rises(last.until, last.key)) return no_progress("sessions");
    }
    Claim claim;
    const Status claimed = sessions_.session_claim(release.session, &claim);
    if (claimed == Status::kNotFound) continue;
    PAWL_TRY(claimed);
    if (evidence.gone(claim, context_.batch_worker, batch_.now, batch_.boot_seq) == Gone::kNo)
      continue;
    PAWL_TRY(owners_.change_owner(release, nullptr));
    PAWL_TRY(sweep_row(release.session));
    ++*removed;
  }
  return Status::kOk;
}

Status SessionSweep::sweep_row(SessionKey session) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  SessionTexts texts;
  PAWL_TRY(events_.describe(session, &texts));
  session::SessionRow row;
  PAWL_TRY(sessions_.read_row(session, &row));
  PAWL_TRY(sessions_.delete_row(session));
  // A lost session was counted at its loss; a refused one never counted.
  return session::is_open(row.state) ? events_.report_end(texts.swept()) : Status::kOk;
}

}  // namespace pawl::store
