// The directory of sessions: what operators see of them, what is told of them, and what becomes due.
// Rules: docs/sessions.md.
#include <cinttypes>

#include "sqlite_provider.hpp"

namespace pawl::sqlite {

namespace {

constexpr std::size_t kListLooksMax = 1024;  // rows of one page
constexpr std::size_t kLeakLooksMax = 256;   // rows of one sweep
constexpr std::size_t kLeaksToldMax = 16;    // of those: one commit has lines for some more
// A name in use again and again leaves one row; of others there are so many as expire in this time.
constexpr std::int64_t kExpiredKeptMs = 3'600'000;

// session_totals.what
constexpr int kLasted = 1;
constexpr int kActivities = 2;

#define PAWL_SESSION_COLUMNS                                                                  \
  "s.sid,s.name,i.id,s.owner_label,s.kind,s.state,w.node,s.epoch,s.created_stamp,"            \
  "s.created_at,s.last_activity_at,s.activities,s.owner,s.locked_until,s.hard,s.excl,"        \
  "EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid),s.expires_at" \
  " FROM sessions AS s LEFT JOIN workers AS w ON w.inc=s.owner LEFT JOIN instances AS i ON "  \
  "i.key=s.scope "

SessionState state_of(std::int64_t stored, bool has_work) {
  switch (stored) {
    case 2: return SessionState::kLost;
    case 3: return SessionState::kClosed;
    case 4: return SessionState::kRefused;
    case 5: return SessionState::kExpired;
    default: return has_work ? SessionState::kActive : SessionState::kIdle;
  }
}

SessionInfo info_of(const Statement& row, std::int64_t now) {
  SessionInfo info;
  info.key = row.integer(0);
  info.name = row.bytes(1);
  info.instance_id = row.bytes(2);
  info.owner_label = row.bytes(3);
  info.kind = row.bytes(4);
  info.state = state_of(row.integer(5), row.integer(16) != 0);
  info.stopping = row.integer(5) == 1;
  info.node = row.bytes(6);
  info.epoch = row.integer(7);
  info.created_ms = row.integer(8);
  info.age_ms = subtract_saturating(now, row.integer(9));
  info.quiet_for_ms = subtract_saturating(now, row.integer(10));
  info.activities = row.integer(11);
  if (!row.is_null(12)) info.lease_ends_in_ms = subtract_saturating(row.integer(13), now);
  info.device = row.integer(14) != 0;
  info.exclusive = row.integer(15) != 0;
  if (!row.is_null(17)) {
    const std::int64_t left = subtract_saturating(row.integer(17), now);
    info.expires_in_ms = left > 0 ? left : 0;
  }
  return info;
}

bool is_leak(const SessionInfo& info, const SessionFilter& filter) {
  const bool is_open = info.state == SessionState::kIdle || info.state == SessionState::kActive ||
                       info.state == SessionState::kLost;
  if (!is_open || info.instance_id.empty()) return false;
  return (filter.open_for_ms > 0 && info.age_ms >= filter.open_for_ms) ||
         (filter.unused_for_ms > 0 && info.activities == 0 && info.age_ms >= filter.unused_for_ms);
}

bool passes(const SessionInfo& info, const SessionFilter& filter) {
  if ((filter.open_for_ms > 0 || filter.unused_for_ms > 0) && !is_leak(info, filter)) return false;
  return (filter.owner_label.empty() || info.owner_label == filter.owner_label) &&
         (filter.kind.empty() || info.kind == filter.kind) &&
         (filter.any_state || info.state == filter.state);
}

}  // namespace

// ---- reading --------------------------------------------------------------------------------------------

constexpr sql::Query kListSessions{"SELECT " PAWL_SESSION_COLUMNS "WHERE s.sid>?1 ORDER BY s.sid"};

Status SqliteProvider::list_sessions(const SessionFilter& filter, Page* page,
                                     SessionVisitor& visitor) {
  require_batch();
  if (page->rows_max == 0) {
    diagnostic_.format("a page of no sessions");
    return Status::kInvalidArgument;
  }
  Statement row = connection_.use(kListSessions);
  row.bind(page->after);
  page->more = true;
  std::size_t told = 0;
  for (std::size_t looks = 0; looks < kListLooksMax && told < page->rows_max; ++looks) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    const SessionInfo info = info_of(row, batch_.now);
    if (info.key <= page->after) return no_progress("sessions");
    page->after = info.key;
    if (!passes(info, filter)) continue;
    visitor.on_session(info);
    ++told;
  }
  return fail(row.status(), "list sessions");
}

constexpr sql::Query kReadSession{"SELECT " PAWL_SESSION_COLUMNS "WHERE s.scope=?1 AND s.name=?2"};

Status SqliteProvider::read_session(std::string_view instance, std::string_view session,
                                    SessionVisitor& visitor) {
  require_batch();
  InstanceKey scope = 0;
  if (!instance.empty()) PAWL_TRY(find_instance(instance, &scope));
  Statement row = connection_.use(kReadSession);
  row.bind(scope).bind_text(session);
  if (!row.row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "read a session");
  visitor.on_session(info_of(row, batch_.now));
  return Status::kOk;
}

// ---- telling --------------------------------------------------------------------------------------------

SessionChange SqliteProvider::SessionTexts::change(SessionChange::Kind of) const {
  SessionChange told;
  told.kind = of;
  told.session = name.view();
  told.instance = instance.view();
  told.owner_label = owner_label.view();
  told.label_kind = kind.view();
  told.from = node.view();
  told.epoch = epoch;
  told.age_ms = age_ms;
  told.activities = activities;
  return told;
}

// A shared one is over with its last activity; its row goes some time later.
SessionChange SqliteProvider::SessionTexts::swept() const {
  SessionChange told = change(SessionChange::Kind::kSwept);
  told.age_ms = subtract_saturating(age_ms, quiet_ms);
  return told;
}

constexpr sql::Query kDescribe{
    "SELECT s.name,i.id,coalesce(w.node,s.prev_node),s.owner_label,s.kind,s.epoch,s.created_at,"
    "s.activities,s.expires_at,s.last_activity_at FROM sessions s LEFT JOIN workers w"
    " ON w.inc=s.owner"
    " LEFT JOIN instances i ON i.key=s.scope WHERE s.sid=?1"};

Status SqliteProvider::describe(SessionKey session, SessionTexts* out) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Statement row = connection_.use(kDescribe);
  row.bind(session);
  if (!row.row())
    return fail(row.status() == Status::kOk ? Status::kCorrupt : row.status(), "read session");
  out->name.assign_cut(row.bytes(0));
  out->instance.assign_cut(row.bytes(1));
  out->node.assign_cut(row.bytes(2));
  out->owner_label.assign_cut(row.bytes(3));
  out->kind.assign_cut(row.bytes(4));
  out->epoch = row.integer(5);
  out->age_ms = subtract_saturating(batch_.now, row.integer(6));
  out->activities = row.integer(7);
  out->expires_in_ms = subtract_saturating(row.integer(8), batch_.now);
  out->max_age_ms = subtract_saturating(row.integer(8), row.integer(6));
  out->quiet_ms = subtract_saturating(batch_.now, row.integer(9));
  return Status::kOk;
}

Status SqliteProvider::tell_session(SessionKey session, SessionChange::Kind kind,
                                    std::string_view reason) {
  if (sink_ == nullptr) return Status::kOk;
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  SessionChange told = texts.change(kind);
  told.reason = reason;
  sink_->on_session_change(told);
  return Status::kOk;
}

Status SqliteProvider::tell_closed(SessionKey session, std::string_view reason) {
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  SessionChange told = texts.change(SessionChange::Kind::kClosed);
  told.reason = reason;
  return tell_end(told);
}

Status SqliteProvider::tell_use(SessionKey session) {
  if (sink_ == nullptr) return Status::kOk;
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  SessionChange told = texts.change(SessionChange::Kind::kUsed);
  told.from = {};
  told.to = texts.node.view();
  sink_->on_session_change(told);
  return Status::kOk;
}

// ---- left open ------------------------------------------------------------------------------------------

Status SqliteProvider::tell_leaks(const SessionOptions& options, LeakCursors* cursors) {
  require_batch();
  PAWL_TRY(tell_old(options.leak_unused_ms, true, &cursors->unused));
  return tell_old(options.leak_open_ms, false, &cursors->open);
}

constexpr sql::Query kNextOld{
    "SELECT sid,created_at,activities,leak FROM sessions INDEXED BY s_opened"
    " WHERE lifecycle=1 AND state<3 AND created_at<=?1 AND (created_at,sid)>(?2,?3)"
    " ORDER BY created_at,sid LIMIT 1"};
constexpr sql::Query kNoteLeak{"UPDATE sessions SET leak=1 WHERE sid=?1"};

// In the order in which they were opened, so each is looked at once, and those that are told stay told.
Status SqliteProvider::tell_old(std::int64_t for_ms, bool unused, LeakCursor* cursor) {
  if (for_ms == 0) return Status::kOk;
  std::size_t told = 0;
  Walk walk;
  for (std::size_t looks = 0; looks < kLeakLooksMax && told < kLeaksToldMax; ++looks) {
    bool is_news = false;
    {
      Statement next = connection_.use(kNextOld);
      next.bind(subtract_saturating(batch_.now, for_ms));
      next.bind(cursor->created_at).bind(cursor->session);
      if (!next.row()) return fail(next.status(), "find old sessions");
      *cursor = {next.integer(1), next.integer(0)};
      if (!walk.rises(cursor->created_at, cursor->session)) return no_progress("sessions");
      is_news = next.integer(3) == 0 && !(unused && next.integer(2) != 0);
    }
    if (!is_news) continue;
    ++told;
    {
      Statement note = connection_.use(kNoteLeak);
      note.bind(cursor->session);
      PAWL_TRY(fail(note.run(), "note a leak"));
    }
    PAWL_TRY(tell_session(cursor->session, SessionChange::Kind::kLeak,
                          unused ? "never used" : "open for long"));
  }
  return Status::kOk;
}

// ---- counting -------------------------------------------------------------------------------------------

Status SqliteProvider::tell_end(SessionChange end) {
  end.is_end = true;
  const std::size_t lasted = SessionEnds::place(SessionEnds::kLastedUpToMs, end.age_ms);
  const std::size_t used = SessionEnds::place(SessionEnds::kActivitiesUpTo, end.activities);
  PAWL_TRY(count_value(kLasted, lasted, end.age_ms));
  PAWL_TRY(count_value(kActivities, used, end.activities));
  if (sink_ != nullptr) sink_->on_session_change(end);
  return Status::kOk;
}

constexpr sql::Query kCountValue{
    "INSERT INTO session_totals(what,bucket,sessions,total,most) VALUES(?1,?2,1,?3,?3)"
    " ON CONFLICT(what,bucket) DO UPDATE SET sessions=sessions+1,total=total+?3,"
    "most=max(most,?3)"};

Status SqliteProvider::count_value(int what, std::size_t bucket, std::int64_t value) {
  const Suspicion suspect(connection_, RowRef::Table::kTotals,
                          what * kTotalsKeys + static_cast<std::int64_t>(bucket));
  Statement count = connection_.use(kCountValue);
  count.bind(what).bind(static_cast<std::int64_t>(bucket)).bind(value);
  return fail(count.run(), "count a session that ended");
}

constexpr sql::Query kReadTotals{
    "SELECT what,bucket,sessions,total,most FROM session_totals WHERE what>0"};

Status SqliteProvider::read_session_totals(SessionEnds* out) {
  Statement row = connection_.use(kReadTotals);
  while (row.row()) {
    const std::int64_t what = row.integer(0);
    const std::int64_t bucket = row.integer(1);
    if (what > kActivities || bucket < 0 ||
        bucket > static_cast<std::int64_t>(SessionEnds::kBounds)) {
      diagnostic_.format("session_totals has a row %lld, %lld", static_cast<long long>(what),
                         static_cast<long long>(bucket));
      return Status::kCorrupt;
    }
    SessionEnds::Histogram& histogram = what == kLasted ? out->lasted_ms : out->activities;
    const auto sessions = static_cast<std::uint64_t>(row.integer(2));
    histogram.counts[bucket] = sessions;
    if (what == kLasted) out->ended += sessions;
    histogram.total = add_saturating(histogram.total, row.integer(3));
    if (row.integer(4) > histogram.most) histogram.most = row.integer(4);
  }
  return fail(row.status(), "read the totals of sessions");
}

constexpr sql::Query kCountStates{
    "SELECT s.state,EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid)"
    " FROM sessions AS s WHERE s.sid>0 LIMIT ?1"};

Status SqliteProvider::count_states(std::int64_t rows_max, Metrics* out) {
  Statement row = connection_.use(kCountStates);
  row.bind(rows_max + 1);
  std::int64_t rows = 0;
  for (; row.row() && rows < rows_max; ++rows) {
    switch (state_of(row.integer(0), row.integer(1) != 0)) {
      case SessionState::kActive: ++out->sessions_active; break;
      case SessionState::kIdle: ++out->sessions_idle; break;
      case SessionState::kLost: ++out->sessions_lost; break;
      case SessionState::kClosed:
      case SessionState::kRefused:
      case SessionState::kExpired: break;
    }
  }
  if (rows == rows_max) out->complete = false;
  return fail(row.status(), "count sessions");
}

constexpr sql::Query kCountOwn{
    "SELECT EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid)"
    " FROM sessions AS s INDEXED BY s_owner WHERE s.owner=?1"};

Status SqliteProvider::count_sessions(Incarnation me, std::uint32_t* active, std::uint32_t* idle) {
  *active = *idle = 0;
  Statement row = connection_.use(kCountOwn);
  row.bind(me);
  while (row.row())
    ++*(row.integer(0) != 0 ? active : idle);
  return fail(row.status(), "count own sessions");
}

// ---- ended from outside ---------------------------------------------------------------------------------

Status SqliteProvider::end_session(std::string_view instance, std::string_view session,
                                   std::string_view owner_label) {
  require_batch();
  InstanceKey scope = 0;
  PAWL_TRY(find_instance(instance, &scope));
  Opened row;
  PAWL_TRY(read_opened(scope, session, &row));
  if (row.state == kClosed) return Status::kNotFound;
  const std::string_view owner = row.owner_label.view();
  if (!owner_label.empty() && owner != owner_label) {
    diagnostic_.format(
        "the session belongs to %s%.*s%s; only its owner or an administrator closes it",
        owner.empty() ? "nobody" : "\"", static_cast<int>(owner.size()), owner.data(),
        owner.empty() ? "" : "\"");
    return Status::kNotOwner;
  }
  if (!row.is_open()) return written(close_row(row.session));
  Diagnostic why;
  why.format("closed by %.*s", static_cast<int>(owner_label.size()), owner_label.data());
  if (owner_label.empty()) why.format("closed by an administrator");
  SessionTexts texts;
  PAWL_TRY(written(describe(row.session, &texts)));
  SessionChange told = texts.change(SessionChange::Kind::kClosed);
  told.reason = why.text();
  // Who calls has no log: a Runtime looks at it, and tells.
  return written(end_opened(row.session, told, kClosed, 0));
}

constexpr sql::Query kEndSession{
    "UPDATE sessions SET "
    "state=?5,owner=NULL,prev_node=?2,head_id=NULL,stop_to=NULL,stop_due=NULL,"
    "stop_force=NULL,look_at=?3,ended=?4 WHERE sid=?1"};

Status SqliteProvider::end_opened(SessionKey session, const SessionChange& told, std::int64_t state,
                                  std::int64_t kept_ms) {
  PAWL_TRY(fail_work_of(session, ErrorKind::kSessionClosed, told.reason));
  PAWL_TRY(notify_change(session, told));
  PAWL_TRY(end_ownership(session));
  due_moves(DueKind::kStop);
  due_comes(DueKind::kLook);
  Statement end = connection_.use(kEndSession);
  end.bind(session).bind_text_or_null(told.from).bind(add_saturating(batch_.now, kept_ms));
  end.bind_text(told.reason).bind(state);
  return fail(end.run(), "end a session");
}

// ---- what becomes due -----------------------------------------------------------------------------------

Status SqliteProvider::look_at_sessions(std::size_t limit, std::size_t* looked) {
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

constexpr sql::Query kNextLook{
    "SELECT sid,state,coalesce(expires_at<=?1,0),ended FROM sessions INDEXED BY s_look"
    " WHERE look_at<=?1 ORDER BY look_at LIMIT 1"};

Status SqliteProvider::next_look(Look* out) {
  Statement next = connection_.use(kNextLook);
  next.bind(batch_.now);
  if (!next.row()) return fail(next.status(), "find sessions to look at");
  out->session = next.integer(0);
  out->state = next.integer(1);
  out->is_over = next.integer(2) != 0;
  out->ended.assign_cut(next.bytes(3));
  return Status::kOk;
}

Status SqliteProvider::look_at_session(const Look& look) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, look.session);
  switch (look.state) {
    case kClosed:
      PAWL_TRY(tell_closed(look.session, look.ended.view()));
      return close_row(look.session);
    case kExpired: return close_row(look.session);
    default: return look.is_over ? expire_session(look) : announce_expiry(look.session);
  }
}

constexpr sql::Query kLookAtEnd{"UPDATE sessions SET look_at=expires_at WHERE sid=?1"};

Status SqliteProvider::announce_expiry(SessionKey session) {
  due_comes(DueKind::kLook);
  {
    Statement next = connection_.use(kLookAtEnd);
    next.bind(session);
    PAWL_TRY(fail(next.run(), "look at a session when it expires"));
  }
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  Diagnostic when;
  when.format("expires in %" PRId64 " ms (max_age_ms)", texts.expires_in_ms);
  SessionChange told = texts.change(SessionChange::Kind::kExpiring);
  told.reason = when.text();
  return notify_change(session, told);
}

Status SqliteProvider::expire_session(const Look& look) {
  SessionTexts texts;
  PAWL_TRY(describe(look.session, &texts));
  Diagnostic why;
  why.format("the session has expired: max_age_ms (%" PRId64 ") has passed", texts.max_age_ms);
  SessionChange told = texts.change(SessionChange::Kind::kExpired);
  told.reason = why.text();
  PAWL_TRY(end_opened(look.session, told, kExpired, kExpiredKeptMs));
  // One that was lost has been counted by then.
  if (look.state < kLost) return tell_end(told);
  if (sink_ != nullptr) sink_->on_session_change(told);
  return Status::kOk;
}

}  // namespace pawl::sqlite
