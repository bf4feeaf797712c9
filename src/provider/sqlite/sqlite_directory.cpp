// The directory of sessions: what operators see of them, what is told of them, and what becomes due.
// Rules: docs/sessions.md.
#include "sqlite_provider.hpp"

namespace pawl::sqlite {

namespace {

enum : int {
  kListSessions = kIdsDirectory.first,
  kReadSession,
  kDescribe,
  kNextLook,
  kEndSession,
  kEnd,
};
static_assert(kEnd <= kIdsDirectory.end);

constexpr std::size_t kListLooksMax = 1024;  // rows of one page

#define PAWL_SESSION_COLUMNS                                                                 \
  "s.sid,s.name,i.id,s.owner_label,s.kind,s.state,w.node,s.epoch,s.created_stamp,"           \
  "s.created_at,s.last_activity_at,s.activities,s.owner,s.locked_until,s.hard,s.excl,"       \
  "EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid)"             \
  " FROM sessions AS s LEFT JOIN workers AS w ON w.inc=s.owner LEFT JOIN instances AS i ON " \
  "i.key=s.scope "

SessionState state_of(std::int64_t stored, bool has_work) {
  switch (stored) {
    case 2: return SessionState::kLost;
    case 3: return SessionState::kClosed;
    case 4: return SessionState::kRefused;
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
  return info;
}

bool passes(const SessionInfo& info, const SessionFilter& filter) {
  return (filter.owner_label.empty() || info.owner_label == filter.owner_label) &&
         (filter.kind.empty() || info.kind == filter.kind) &&
         (filter.any_state || info.state == filter.state);
}

}  // namespace

// ---- reading --------------------------------------------------------------------------------------------

Status SqliteProvider::list_sessions(const SessionFilter& filter, Page* page,
                                     SessionVisitor& visitor) {
  require_batch();
  if (page->rows_max == 0) {
    diagnostic_.format("a page of no sessions");
    return Status::kInvalidArgument;
  }
  Statement row = connection_.use(kListSessions,
                                  "SELECT " PAWL_SESSION_COLUMNS "WHERE s.sid>?1 ORDER BY s.sid");
  row.bind(page->after);
  page->more = true;
  std::size_t told = 0;
  for (std::size_t looks = 0; looks < kListLooksMax && told < page->rows_max; ++looks) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    const SessionInfo info = info_of(row, batch_.now);
    page->after = info.key;
    if (!passes(info, filter)) continue;
    visitor.on_session(info);
    ++told;
  }
  return fail(row.status(), "list sessions");
}

Status SqliteProvider::read_session(std::string_view instance, std::string_view session,
                                    SessionVisitor& visitor) {
  require_batch();
  InstanceKey scope = 0;
  if (!instance.empty()) PAWL_TRY(find_instance(instance, &scope));
  Statement row = connection_.use(kReadSession,
                                  "SELECT " PAWL_SESSION_COLUMNS "WHERE s.scope=?1 AND s.name=?2");
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

Status SqliteProvider::describe(SessionKey session, SessionTexts* out) {
  Statement row = connection_.use(
      kDescribe,
      "SELECT s.name,i.id,coalesce(w.node,s.prev_node),s.owner_label,s.kind,s.epoch,s.created_at,"
      "s.activities FROM sessions s LEFT JOIN workers w ON w.inc=s.owner"
      " LEFT JOIN instances i ON i.key=s.scope WHERE s.sid=?1");
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
  PAWL_TRY(written(fail_work_of(row.session, ErrorKind::kSessionClosed, why.text())));
  SessionTexts texts;
  PAWL_TRY(written(describe(row.session, &texts)));
  SessionChange told = texts.change(SessionChange::Kind::kClosed);
  told.reason = why.text();
  PAWL_TRY(written(notify_change(row.session, told)));
  // Who calls has no log: a Runtime looks at it, and tells.
  PAWL_TRY(written(end_ownership(row.session)));
  Statement end = connection_.use(
      kEndSession,
      "UPDATE sessions SET state=3,owner=NULL,prev_node=?2,head_id=NULL,stop_to=NULL,stop_due=NULL,"
      "stop_force=NULL,look_at=?3,ended=?4 WHERE sid=?1");
  end.bind(row.session).bind_text_or_null(told.from).bind(batch_.now).bind_text(why.text());
  return fail_written(end.run(), "close a session");
}

// ---- what becomes due -----------------------------------------------------------------------------------

Status SqliteProvider::look_at_sessions(std::size_t limit, std::size_t* looked) {
  for (std::size_t i = 0; i < limit; ++i) {
    SessionKey session = 0;
    FixedText<Diagnostic::kCapacity> ended;
    {
      Statement next = connection_.use(kNextLook,
                                       "SELECT sid,ended FROM sessions INDEXED BY s_look"
                                       " WHERE look_at<=?1 ORDER BY look_at LIMIT 1");
      next.bind(batch_.now);
      if (!next.row()) return fail(next.status(), "find sessions to look at");
      session = next.integer(0);
      ended.assign_cut(next.bytes(1));
    }
    PAWL_TRY(tell_session(session, SessionChange::Kind::kClosed, ended.view()));
    PAWL_TRY(close_row(session));
    ++*looked;
  }
  return Status::kOk;
}

}  // namespace pawl::sqlite
