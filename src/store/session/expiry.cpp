#include "store/session/expiry.hpp"

#include <cinttypes>

#include "codec/policy.hpp"
#include "core/clock_rules.hpp"
#include "store/session/lifetime_rules.hpp"
#include "store/sql/damage.hpp"
#include "store/walk.hpp"
#include "store/worker/lease_rules.hpp"

namespace pawl::store {
namespace {

constexpr std::size_t kLeakLooksMax = 256;  // rows that one sweep looks at

constexpr std::size_t kLeaksReportedMax = 16;  // are reported; a commit has lines for some more

}  // namespace

Status SessionExpiry::look_at_sessions(std::size_t limit, std::size_t* looked) {
  Walk walk;
  for (std::size_t i = 0; i < limit; ++i) {
    Look look;
    PAWL_TRY(next_look(&look));
    if (look.session == 0) return Status::kOk;
    if (!walk.changes(look.session)) return no_progress("sessions");
    PAWL_TRY(look_at_session(look));
    ++*looked;
  }
  return Status::kOk;
}

Status SessionExpiry::close_session(std::string_view instance, std::string_view session,
                                    std::string_view owner_label) {
  require_batch();
  InstanceKey scope = 0;
  if (!instance.empty()) PAWL_TRY(rows_.instances.find_key(instance, &scope));
  Opened row;
  PAWL_TRY(rows_.sessions.read_opened(scope, session, &row));
  if (row.device) {
    context_.diagnostic.format("a device ends with its declarations: see forget_device()");
    return Status::kInvalidArgument;
  }
  const std::string_view owner = row.owner_label.view();
  const bool is_owner = owner_label.empty() || owner == owner_label;
  switch (rules::end_from_outside(row.state, is_owner)) {
    case rules::Ending::kNotFound: return Status::kNotFound;
    case rules::Ending::kNotOwner:
      context_.diagnostic.format(
          "the session belongs to %s%.*s%s; only its owner or an administrator closes it",
          owner.empty() ? "no owner" : "\"", static_cast<int>(owner.size()), owner.data(),
          owner.empty() ? "" : "\"");
      return Status::kNotOwner;
    case rules::Ending::kRemove:
      return written(verbs_.close_session(row.session, rules::Trigger::kDrop, {}));
    case rules::Ending::kEnds: break;
  }
  Diagnostic why;
  why.format("closed by %.*s", static_cast<int>(owner_label.size()), owner_label.data());
  if (owner_label.empty()) why.format("closed by an administrator");
  SessionTexts texts;
  PAWL_TRY(written(rows_.events.describe(row.session, &texts)));
  SessionChange reported = texts.change(SessionChange::Kind::kClosed);
  reported.reason = why.text();
  // The caller has no log: a Runtime looks at the row, and logs the end.
  return written(end_opened(row.session, reported, rules::Trigger::kEnd, 0));
}

Status SessionExpiry::report_leaks(const WorkerTerms& options, LeakCursors* cursors) {
  require_batch();
  PAWL_TRY(report_older_than(options.leak_unused_ms, true, &cursors->unused));
  return report_older_than(options.leak_open_ms, false, &cursors->open);
}

constexpr auto kNextLook = PAWL_QUERY(
    "SELECT sid,state,expires_at,ended,look_at,hard,last_activity_at,hold_until,limits,"
    "coalesce(limited_by,0) AS limited_by,"
    "EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid AND s.scope=0"
    " AND q.state<>",
    sql::number<rules::WorkState::kCancelledRunning>,
    " AND q.instance<>coalesce(s.limited_by,0)) AS has_work_of_others,"
    "EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid) AS has_work"
    " FROM sessions s\fINDEXED BY s_look\rWHERE look_at<=?1 ORDER BY look_at LIMIT 1");

Status SessionExpiry::next_look(Look* out) {
  Statement next = connection_.use(kNextLook);
  next.bind(batch_.now);
  if (!next.row()) return fail(next.status(), "find sessions to look at");
  out->session = next.integer(PAWL_COLUMN(kNextLook, sid));
  out->row.state = rules::state_of(next.integer(PAWL_COLUMN(kNextLook, state)));
  out->row.expires_at = next.optional_ms(PAWL_COLUMN(kNextLook, expires_at));
  out->ended.assign_cut(next.bytes(PAWL_COLUMN(kNextLook, ended)));
  out->row.planned_at = next.integer(PAWL_COLUMN(kNextLook, look_at));
  out->row.device = next.integer(PAWL_COLUMN(kNextLook, hard)) != 0;
  out->row.last_activity_at = next.integer(PAWL_COLUMN(kNextLook, last_activity_at));
  out->row.hold_until = next.integer(PAWL_COLUMN(kNextLook, hold_until));
  SessionSettings settings;
  // Settings that cannot be read set no end here; work of the session is refused (SessionOpenings).
  if (!next.is_null(PAWL_COLUMN(kNextLook, limits)) &&
      decode_settings(next.bytes(PAWL_COLUMN(kNextLook, limits)), &settings))
    out->terms = rules::end_terms(settings);
  out->limited_by = next.integer(PAWL_COLUMN(kNextLook, limited_by));
  out->row.has_work_of_others = next.integer(PAWL_COLUMN(kNextLook, has_work_of_others)) != 0;
  out->row.has_work = next.integer(PAWL_COLUMN(kNextLook, has_work)) != 0;
  return Status::kOk;
}

Status SessionExpiry::look_at_session(const Look& look) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, look.session);
  if (rules::is_open(look.row.state) && !look.ended.empty())
    PAWL_TRY(log_operation(look.session, look.ended.view()));
  const rules::Looked found = rules::look_at(look.row, look.terms, batch_.now);
  switch (found.what) {
    case rules::Look::kLogClosing:
      PAWL_TRY(rows_.events.report_closed(look.session, look.ended.view()));
      return verbs_.close_session(look.session, rules::Trigger::kDrop, {});
    case rules::Look::kRemove: return verbs_.close_session(look.session, rules::Trigger::kDrop, {});
    case rules::Look::kExpires:
    case rules::Look::kBeginsAnew: return expire_session(look, found.what);
    case rules::Look::kCloses: return close_idle(look.session);
    case rules::Look::kWaits: break;
  }
  PAWL_TRY(look_again(look.session, found.next));
  if (found.announces_expiry) PAWL_TRY(announce_expiry(look.session));
  return found.announces_closing ? announce_closing(look.session, found.closes_in_ms) : Status::kOk;
}

constexpr auto kForgetOperation = PAWL_QUERY("UPDATE sessions SET ended=NULL WHERE sid=?1");

Status SessionExpiry::log_operation(SessionKey session, std::string_view what) {
  PAWL_TRY(rows_.events.report_session(session, SessionChange::Kind::kOperation, what));
  Statement forget = connection_.use(kForgetOperation);
  return fail(forget.bind(session).run(), "note that an operation was logged");
}

constexpr auto kLookAgain = PAWL_QUERY("UPDATE sessions SET look_at=?2 WHERE sid=?1", kLookMoves);

Status SessionExpiry::look_again(SessionKey session, OptionalMs at) {
  Statement next = connection_.use(kLookAgain);
  next.bind(session).bind_due(at, kLookComes);
  return fail(next.run(), "look at a session again");
}

Status SessionExpiry::announce_expiry(SessionKey session) {
  SessionTexts texts;
  PAWL_TRY(rows_.events.describe(session, &texts));
  Diagnostic when;
  when.format("expires in %" PRId64 " ms (max_age)", texts.expires_in_ms);
  SessionChange reported = texts.change(SessionChange::Kind::kExpiring);
  reported.reason = when.text();
  return rows_.events.notify_change(session, reported);
}

Status SessionExpiry::announce_closing(SessionKey session, std::int64_t in_ms) {
  SessionTexts texts;
  PAWL_TRY(rows_.events.describe(session, &texts));
  Diagnostic when;
  when.format("idle: closes in %" PRId64 " ms (idle_close)", in_ms);
  SessionChange reported = texts.change(SessionChange::Kind::kClosing);
  reported.reason = when.text();
  return rows_.events.notify_change(session, reported);
}

// Closes the session as its code would, and notifies the code.
Status SessionExpiry::close_idle(SessionKey session) {
  SessionTexts texts;
  PAWL_TRY(rows_.events.describe(session, &texts));
  SessionChange reported = texts.change(SessionChange::Kind::kClosed);
  reported.reason = "idle";
  PAWL_TRY(rows_.events.notify_change(session, reported));
  return verbs_.close_session(session, rules::Trigger::kClose, "idle");
}

// The work of the instance that set the age fails with it, also in a session in which other
// instances go on working.
Status SessionExpiry::expire_session(const Look& look, rules::Look what) {
  SessionTexts texts;
  PAWL_TRY(rows_.events.describe(look.session, &texts));
  Diagnostic why;
  why.format("the session has expired: max_age (%" PRId64 " ms) has passed", texts.max_age_ms);
  if (what == rules::Look::kBeginsAnew) {
    PAWL_TRY(
        owners_.fail_work_of(look.session, ErrorKind::kSessionClosed, why.text(), look.limited_by));
    return openings_.begin_anew_after_limit(look.session, why.text());
  }
  SessionChange reported = texts.change(SessionChange::Kind::kExpired);
  reported.reason = why.text();
  return end_opened(look.session, reported, rules::Trigger::kExpire, rules::kExpiredKeptMs);
}

constexpr auto kKeepEnded =
    PAWL_QUERY("UPDATE sessions SET look_at=?2,ended=?3 WHERE sid=?1", kLookComes);

Status SessionExpiry::end_opened(SessionKey session, const SessionChange& reported,
                                 rules::Trigger cause, std::int64_t kept_ms) {
  rules::SessionRow row;
  PAWL_TRY(rows_.sessions.read_row(session, &row));
  const rules::Transition change = rules::transition(row, cause, {});
  Applied how;
  how.node = reported.from;
  how.reason = reported.reason;
  PAWL_TRY(owners_.apply(session, change, how, nullptr));
  {
    Statement keep = connection_.use(kKeepEnded);
    keep.bind(session).bind(add_saturating(batch_.now, kept_ms)).bind_text(reported.reason);
    PAWL_TRY(fail(keep.run(), "end a session"));
  }
  PAWL_TRY(rows_.events.notify_change(session, reported));
  if (change.counts_end) return rows_.events.report_end(reported);
  if (change.notice != rules::Notice::kNone && context_.sink != nullptr)
    context_.sink->on_session_change(reported);
  return Status::kOk;
}

constexpr auto kNextOld = PAWL_QUERY(
    "SELECT sid,created_at,activities,leak FROM sessions\fINDEXED BY s_opened\r"
    "WHERE lifecycle=1 AND state<",
    sql::number<rules::State::kClosed>,
    " AND created_at<=?1 AND (created_at,sid)>(?2,?3)"
    " ORDER BY created_at,sid LIMIT 1");
constexpr auto kNoteLeak = PAWL_QUERY("UPDATE sessions SET leak=1 WHERE sid=?1");

// Goes in the order in which sessions were opened, so that each is looked at once and reported
// once.
Status SessionExpiry::report_older_than(std::int64_t for_ms, bool unused, LeakCursor* cursor) {
  if (for_ms == 0) return Status::kOk;
  std::size_t reported = 0;
  Walk walk;
  for (std::size_t looks = 0; looks < kLeakLooksMax && reported < kLeaksReportedMax; ++looks) {
    bool is_new = false;
    {
      Statement next = connection_.use(kNextOld);
      next.bind(subtract_saturating(batch_.now, for_ms));
      next.bind(cursor->created_at).bind(cursor->session);
      if (!next.row()) return fail(next.status(), "find old sessions");
      *cursor = {next.integer(PAWL_COLUMN(kNextOld, created_at)),
                 next.integer(PAWL_COLUMN(kNextOld, sid))};
      if (!walk.rises(cursor->created_at, cursor->session)) return no_progress("sessions");
      rules::LeakRow row;
      row.is_opened = true;
      row.age_ms = subtract_saturating(batch_.now, next.integer(PAWL_COLUMN(kNextOld, created_at)));
      row.activities = next.integer(PAWL_COLUMN(kNextOld, activities));
      const rules::LeakLimits limits = {unused ? 0 : for_ms, unused ? for_ms : 0};
      is_new = next.integer(PAWL_COLUMN(kNextOld, leak)) == 0 && rules::is_leak(row, limits);
    }
    if (!is_new) continue;
    ++reported;
    {
      Statement note = connection_.use(kNoteLeak);
      note.bind(cursor->session);
      PAWL_TRY(fail(note.run(), "note a leak"));
    }
    PAWL_TRY(rows_.events.report_session(cursor->session, SessionChange::Kind::kLeak,
                                         unused ? "never used" : "open for long"));
  }
  return Status::kOk;
}

Status SessionExpiry::cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                                std::size_t* removed) {
  *removed = 0;
  PAWL_TRY(sweep_unowned(limit, removed));
  return sweep_owned_by_gone(evidence, limit, removed);
}

constexpr auto kHasWork = PAWL_QUERY(
    "SELECT EXISTS(SELECT 1 FROM worker_queue\fINDEXED BY wq_session\rWHERE sid=?1) AS has_work");

#define PAWL_SWEPT_COLUMNS \
  "sid,state,hard,lifecycle,last_activity_at,look_at IS NOT NULL AS has_look"
constexpr auto kSweptColumns = sql::Columns(PAWL_SWEPT_COLUMNS);

// A session ends by itself if a look at it is planned. The queue is asked only if the rest allows
// the sweep.
Status SessionExpiry::may_be_swept(const Statement& row, bool* may) {
  rules::IdleRow idle;
  idle.state = rules::state_of(row.integer(PAWL_COLUMN(kSweptColumns, state)));
  idle.device = row.integer(PAWL_COLUMN(kSweptColumns, hard)) != 0;
  idle.is_opened =
      lifecycle_of(row.integer(PAWL_COLUMN(kSweptColumns, lifecycle))) == Lifecycle::kOpened;
  idle.has_settings =
      lifecycle_of(row.integer(PAWL_COLUMN(kSweptColumns, lifecycle))) == Lifecycle::kSharedUsed;
  idle.last_activity_at = row.integer(PAWL_COLUMN(kSweptColumns, last_activity_at));
  idle.expires = row.integer(PAWL_COLUMN(kSweptColumns, has_look)) != 0;
  *may = rules::may_be_swept(idle, batch_.now);
  if (!*may) return Status::kOk;
  Statement work = connection_.use(kHasWork);
  work.bind(row.integer(PAWL_COLUMN(kSweptColumns, sid)));
  if (!work.row()) return fail(work.status(), "find work of a session");
  idle.has_work = work.integer(0) != 0;
  *may = rules::may_be_swept(idle, batch_.now);
  return Status::kOk;
}

constexpr auto kUnowned =
    PAWL_QUERY("SELECT " PAWL_SWEPT_COLUMNS
               " FROM sessions\fINDEXED BY s_orphan\r"
               "WHERE owner IS NULL AND head_id IS NULL ORDER BY last_activity_at");

Status SessionExpiry::sweep_unowned(std::size_t limit, std::size_t* removed) {
  Walk walk;
  while (*removed < limit) {
    SessionKey session = 0;
    {
      Statement orphan = connection_.use(kUnowned);
      bool may = false;
      while (!may && orphan.row()) {
        PAWL_TRY(may_be_swept(orphan, &may));
        if (may) session = orphan.integer(PAWL_COLUMN(kUnowned, sid));
      }
      if (!may) return fail(orphan.status(), "find orphaned sessions");
      if (!walk.changes(session)) return no_progress("sessions");
    }
    PAWL_TRY(sweep_row(session));
    ++*removed;
  }
  return Status::kOk;
}

// Goes along the workers whose leases have ended, which are few, and along the sessions of each.
constexpr auto kExpired = PAWL_QUERY(
    "SELECT " PAWL_SWEPT_COLUMNS
    ",owner FROM workers w\fINDEXED BY w_living\r\fCROSS\r"
    "JOIN sessions s\fINDEXED BY s_owner\rON s.owner=w.inc WHERE w.buried=0 AND w.inc>=?2"
    " AND w.sessions_until<=?1 AND s.hard=0 AND s.sid>iif(w.inc=?2,?3,0) AND s.locked_until<=?1"
    " ORDER BY w.inc,s.sid");

constexpr auto kOfUnknown = PAWL_QUERY(
    "SELECT sid FROM sessions\fINDEXED BY s_owner\rWHERE owner IS NOT NULL AND NOT EXISTS"
    "(SELECT 1 FROM workers w WHERE w.inc=owner AND w.buried=0) LIMIT 1");

// Burying a worker takes its sessions, so only damage leaves one with an owner that is not living.
// Other workers look for sessions by their living owners, and would never find it.
Status SessionExpiry::release_from_unknown(std::size_t limit) {
  Walk walk;
  for (std::size_t i = 0; i < limit; ++i) {
    OwnerChange release;
    release.reason = "gone";
    {
      Statement find = connection_.use(kOfUnknown);
      if (!find.row()) return fail(find.status(), "find sessions of unknown workers");
      release.session = find.integer(0);
      if (!walk.changes(release.session)) return no_progress("sessions");
    }
    PAWL_TRY(owners_.change_owner(release, nullptr));
  }
  return Status::kOk;
}

Status SessionExpiry::sweep_owned_by_gone(Evidence& evidence, std::size_t limit,
                                          std::size_t* removed) {
  PAWL_TRY(release_from_unknown(limit));
  Incarnation last_owner = 0;
  SessionKey last = 0;
  Walk walk;
  for (std::size_t looks = 0; looks < limit && *removed < limit; ++looks) {
    OwnerChange release;
    release.reason = "gone";
    {
      Statement expired = connection_.use(kExpired);
      expired.bind(batch_.now).bind(last_owner).bind(last);
      bool may = false;
      while (!may && expired.row()) {
        PAWL_TRY(may_be_swept(expired, &may));
        if (may) last = release.session = expired.integer(PAWL_COLUMN(kExpired, sid));
        if (may) last_owner = expired.integer(PAWL_COLUMN(kExpired, owner));
      }
      if (!may) return fail(expired.status(), "find expired sessions");
      if (!walk.rises(last_owner, last)) return no_progress("sessions");
    }
    Claim claim;
    const Status claimed = rows_.sessions.session_claim(release.session, &claim);
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

Status SessionExpiry::sweep_row(SessionKey session) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  SessionTexts texts;
  PAWL_TRY(rows_.events.describe(session, &texts));
  rules::SessionRow row;
  PAWL_TRY(rows_.sessions.read_row(session, &row));
  PAWL_TRY(rows_.sessions.delete_row(session));
  // A lost session was counted at its loss; a refused one never counted.
  return rules::is_open(row.state) ? rows_.events.report_end(texts.swept()) : Status::kOk;
}

}  // namespace pawl::store
