#include "session_sweep.hpp"

#include "damage.hpp"
#include "walk.hpp"

namespace pawl::store {

Status SessionSweep::cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                               std::size_t* removed) {
  *removed = 0;
  PAWL_TRY(sweep_unowned(limit, removed));
  return sweep_owned_by_gone(evidence, limit, removed);
}

constexpr sql::Query kFirstUnowned{
    "SELECT sid FROM sessions s INDEXED BY s_orphan WHERE owner IS NULL"
    " AND head_id IS NULL AND lifecycle=0 AND hard=0 AND state=0"
    " AND NOT EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid)"
    " ORDER BY last_activity_at LIMIT 1"};

Status SessionSweep::sweep_unowned(std::size_t limit, std::size_t* removed) {
  Walk walk;
  while (*removed < limit) {
    SessionKey session = 0;
    {
      Statement orphan = connection_.use(kFirstUnowned);
      if (!orphan.row()) return fail(orphan.status(), "find orphaned sessions");
      session = orphan.integer(0);
      if (!walk.changes(session)) return no_progress("sessions");
    }
    PAWL_TRY(sweep_row(session));
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

Status SessionSweep::sweep_owned_by_gone(Evidence& evidence, std::size_t limit,
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

constexpr sql::Query kDeleteSession{"DELETE FROM sessions WHERE sid=?1"};

Status SessionSweep::sweep_row(SessionKey session) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  SessionTexts texts;
  PAWL_TRY(events_.describe(session, &texts));
  due_.moves(DueKind::kStop);
  due_.moves(DueKind::kLook);
  {
    Statement remove = connection_.use(kDeleteSession);
    remove.bind(session);
    PAWL_TRY(fail(remove.run(), "sweep a session"));
  }
  PAWL_TRY(summaries_.drop_summary(session));
  return events_.tell_end(texts.swept());
}

}  // namespace pawl::store
