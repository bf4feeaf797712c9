// Sessions that an orchestration opens and closes, and those that are lost instead of moving.
// Rules: docs/sessions.md. Their scope is the instance's key; 0 is that of all others.
#include <cinttypes>

#include "policy.hpp"
#include "sqlite_provider.hpp"

namespace pawl::sqlite {

namespace {

constexpr int kShown = 64;  // of a name in an error's text

int shown(std::string_view name) {
  return static_cast<int>(name.size() < kShown ? name.size() : kShown);
}

}  // namespace

constexpr sql::Query kReadOpened{
    "SELECT sid,state,look_at,owner_label,ended,limits,given,rate_at FROM sessions"
    " WHERE scope=?1 AND name=?2"};

Status SqliteProvider::read_opened(InstanceKey instance, std::string_view name, Opened* out) {
  Statement read = connection_.use(kReadOpened);
  read.bind(instance).bind_text(name);
  if (!read.row())
    return read.status() == Status::kOk ? Status::kNotFound : fail(read.status(), "read a session");
  out->session = read.integer(0);
  const Suspicion suspect(connection_, RowRef::Table::kSessions, out->session);
  out->state = read.integer(1);
  out->untold = out->state == kClosed && !read.is_null(2);
  out->owner_label.assign_cut(read.bytes(3));
  out->ended.assign_cut(read.bytes(4));
  out->limits.assign_cut(read.bytes(5));
  out->given = read.integer(6);
  out->rate_at = read.optional_ms(7);
  return Status::kOk;
}

Status SqliteProvider::write_session(const TurnCommit& turn, const Event& event) {
  switch (event.kind) {
    case EventKind::kSessionOpen: return open_session(turn, event);
    case EventKind::kSessionHold: return hold_session(turn.key, event);
    case EventKind::kSessionHandoff: return handoff_session(turn.key, event);
    default: return close_session(turn.key, event.name);
  }
}

// Another instance may count on what it asked for: only the one that opened it may let it go early.
Status SqliteProvider::hold_session(InstanceKey instance, const Event& event) {
  ActivityOptions use;
  if (!decode_policy(event.policy, &use)) return fail(Status::kInvalidArgument, "read a hold");
  bool held = false;
  if (!use.own_session) PAWL_TRY(hold_one(0, event, &held));
  return held ? Status::kOk : hold_one(instance, event, &held);
}

constexpr sql::Query kHold{
    "UPDATE sessions SET hold_until=CASE scope WHEN 0 THEN max(hold_until,?3) ELSE ?3 END"
    " WHERE scope=?1 AND name=?2"};

Status SqliteProvider::hold_one(InstanceKey scope, const Event& event, bool* held) {
  Statement hold = connection_.use(kHold);
  hold.bind(scope).bind_text(event.name);
  hold.bind(make_due(batch_.now, event.number));
  PAWL_TRY(fail(hold.run(), "hold a session"));
  *held = connection_.changes() > 0;
  return Status::kOk;
}

// ---- opening --------------------------------------------------------------------------------------------

Status SqliteProvider::open_session(const TurnCommit& turn, const Event& event) {
  SessionSettings settings;
  if (!decode_settings(event.policy, &settings))
    return fail(Status::kInvalidArgument, "read a session's settings");
  settings.owner_label = event.session;
  settings.kind = event.tag;
  Opened row;
  const Status found = read_opened(turn.key, event.name, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  if (found == Status::kOk && row.is_open()) return Status::kOk;
  Diagnostic refusal;
  PAWL_TRY(find_refusal(turn, row.session, settings.owner_label, &refusal));
  if (found == Status::kNotFound) return insert_opened(turn, event, settings, refusal.text());
  if (row.untold) PAWL_TRY(tell_closed(row.session, row.ended.view()));
  return reopen_session(row.session, settings, refusal.text());
}

constexpr sql::Query kCountOpened{
    "SELECT count(*) FROM (SELECT 1 FROM sessions WHERE scope=?1"
    " AND state<3 AND sid<>?2 LIMIT ?3)"};
constexpr sql::Query kCountOfOwner{
    "SELECT count(*) FROM (SELECT 1 FROM sessions INDEXED BY s_label WHERE owner_label=?1"
    " AND state<3 AND sid<>?2 LIMIT ?3)"};
constexpr sql::Query kFirstOfOwner{
    "SELECT s.name,i.id FROM sessions s INDEXED BY s_label LEFT JOIN instances i ON i.key=s.scope"
    " WHERE s.owner_label=?1 AND s.state<3 AND s.sid<>?2 ORDER BY s.sid LIMIT 1"};

Status SqliteProvider::find_refusal(const TurnCommit& turn, SessionKey session,
                                    std::string_view owner_label, Diagnostic* refusal) {
  {
    Statement count = connection_.use(kCountOpened);
    count.bind(turn.key).bind(session).bind(turn.sessions_max);
    if (!count.row()) return fail(count.status(), "count sessions");
    if (count.integer(0) >= turn.sessions_max) {
      refusal->format("the instance has %" PRId64
                      " sessions open (max_sessions_per_orchestration): close one with "
                      "close_session()",
                      turn.sessions_max);
      return Status::kOk;
    }
  }
  if (owner_label.empty() || turn.sessions_per_owner_max == 0) return Status::kOk;
  {
    Statement count = connection_.use(kCountOfOwner);
    count.bind_text(owner_label).bind(session).bind(turn.sessions_per_owner_max);
    if (!count.row()) return fail(count.status(), "count sessions of an owner");
    if (count.integer(0) < turn.sessions_per_owner_max) return Status::kOk;
  }
  Statement first = connection_.use(kFirstOfOwner);
  first.bind_text(owner_label).bind(session);
  if (!first.row()) return fail(first.status(), "find a session of an owner");
  const std::string_view name = first.bytes(0);
  const std::string_view id = first.bytes(1);
  refusal->format("owner \"%.*s\" has %" PRId64
                  " sessions open (max_sessions_per_owner): close one, as \"%.*s\" of instance "
                  "\"%.*s\", with close_session()",
                  shown(owner_label), owner_label.data(), turn.sessions_per_owner_max, shown(name),
                  name.data(), shown(id), id.data());
  return Status::kOk;
}

constexpr sql::Query kInsertOpened{
    "INSERT INTO sessions(scope,name,gen,lifecycle,fail,hard,excl,idle_ms,notify,state,epoch,"
    "epoch_used,locked_until,boot_seq,last_activity_at,hold_until,created_stamp,created_at,"
    "activities,owner_label,kind,ended)"
    " VALUES(?1,?2,1,1,?3,0,?4,?5,?6,?7,0,0,0,?8,?9,0,?10,?9,0,?11,?12,?13)"};

Status SqliteProvider::insert_opened(const TurnCommit& turn, const Event& event,
                                     const SessionSettings& settings, std::string_view refusal) {
  SessionKey session = 0;
  {
    // Epoch 0 is none: the first claim takes one.
    Statement insert = connection_.use(kInsertOpened);
    insert.bind(turn.key).bind_text(event.name);
    insert.bind(settings.fail_on_loss ? 1 : 0).bind(settings.exclusive ? 1 : 0);
    settings.idle_ms == 0 ? insert.bind_null() : insert.bind(settings.idle_ms);
    settings.notify ? insert.bind(turn.key) : insert.bind_null();
    insert.bind(refusal.empty() ? 0 : kRefused);
    insert.bind(batch_.boot_seq).bind(batch_.now).bind(batch_.stamp_ms);
    insert.bind_text_or_null(settings.owner_label).bind_text_or_null(settings.kind);
    insert.bind_text_or_null(refusal);
    PAWL_TRY(fail(insert.run(), "open a session"));
    session = connection_.last_insert_id();
  }
  if (refusal.empty()) PAWL_TRY(set_limits(session, settings));
  return tell_session(
      session, refusal.empty() ? SessionChange::Kind::kOpened : SessionChange::Kind::kRefused,
      refusal);
}

constexpr sql::Query kReopenOpened{
    "UPDATE sessions SET gen=gen+1,state=?3,owner=NULL,prev_node=NULL,epoch=?2,fail=?4,excl=?5,"
    "idle_ms=?6,notify=iif(?7,scope,NULL),last_activity_at=?8,created_stamp=?9,created_at=?8,"
    "activities=0,leak=0,hold_until=0,owner_label=?10,kind=?11,ended=?12,look_at=NULL,"
    "expires_at=NULL,limits=NULL,given=NULL,rate_at=NULL WHERE sid=?1"};

// A new opening of the same row: a new generation and epoch. Cancelled work that still runs holds it.
Status SqliteProvider::reopen_session(SessionKey session, const SessionSettings& settings,
                                      std::string_view refusal) {
  const Epoch epoch = next_epoch();
  {
    due_moves(DueKind::kStop);
    due_moves(DueKind::kLook);
    Statement open = connection_.use(kReopenOpened);
    open.bind(session).bind(epoch).bind(refusal.empty() ? 0 : kRefused);
    open.bind(settings.fail_on_loss ? 1 : 0).bind(settings.exclusive ? 1 : 0);
    settings.idle_ms == 0 ? open.bind_null() : open.bind(settings.idle_ms);
    open.bind(settings.notify ? 1 : 0).bind(batch_.now).bind(batch_.stamp_ms);
    open.bind_text_or_null(settings.owner_label).bind_text_or_null(settings.kind);
    open.bind_text_or_null(refusal);
    PAWL_TRY(fail(open.run(), "open a session again"));
  }
  if (refusal.empty()) PAWL_TRY(set_limits(session, settings));
  PAWL_TRY(set_kind(session, {}, {}));
  PAWL_TRY(recompute_head(session));
  return tell_session(
      session, refusal.empty() ? SessionChange::Kind::kOpened : SessionChange::Kind::kRefused,
      refusal);
}

// ---- closing --------------------------------------------------------------------------------------------

Status SqliteProvider::close_session(InstanceKey instance, std::string_view name) {
  Opened row;
  const Status found = read_opened(instance, name, &row);
  if (found == Status::kNotFound) return Status::kOk;
  PAWL_TRY(found);
  if (row.state == kClosed) return Status::kOk;
  PAWL_TRY(fail_work_of(row.session, ErrorKind::kSessionClosed, "the session was closed"));
  if (row.is_open()) PAWL_TRY(tell_closed(row.session, "closed"));
  return close_row(row.session);
}

constexpr sql::Query kDeleteRow{"DELETE FROM sessions WHERE sid=?1"};
constexpr sql::Query kCloseRow{
    "UPDATE sessions SET state=3,owner=NULL,head_id=NULL,stop_to=NULL,stop_due=NULL,"
    "stop_force=NULL,look_at=NULL WHERE sid=?1"};

// What still runs in an exclusive session keeps the row, so that a new opening waits for it.
Status SqliteProvider::close_row(SessionKey session) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  due_moves(DueKind::kStop);
  due_moves(DueKind::kLook);
  PAWL_TRY(end_ownership(session));
  bool runs = false;
  PAWL_TRY(has_running(session, &runs));
  if (!runs) {
    {
      Statement remove = connection_.use(kDeleteRow);
      remove.bind(session);
      PAWL_TRY(fail(remove.run(), "close a session"));
    }
    return drop_summary(session);
  }
  Statement write = connection_.use(kCloseRow);
  write.bind(session);
  return fail(write.run(), "close a session");
}

constexpr sql::Query kIsOwned{"SELECT owner IS NOT NULL FROM sessions WHERE sid=?1"};

Status SqliteProvider::end_ownership(SessionKey session) {
  Statement read = connection_.use(kIsOwned);
  read.bind(session);
  if (read.row() && read.integer(0) != 0) static_cast<void>(next_epoch());
  return fail(read.status(), "end an ownership");
}

constexpr sql::Query kFirstOf{
    "SELECT sid,state FROM sessions WHERE scope=?1 AND state<>3 ORDER BY name LIMIT 1"};

Status SqliteProvider::close_all_sessions(InstanceKey instance) {
  Walk walk;
  while (true) {
    Opened row;
    {
      Statement first = connection_.use(kFirstOf);
      first.bind(instance);
      if (!first.row()) return fail(first.status(), "find sessions of an instance");
      if (!walk.changes(first.integer(0))) return no_progress("sessions");
      row.session = first.integer(0);
      row.state = first.integer(1);
    }
    if (row.is_open()) PAWL_TRY(tell_closed(row.session, "the instance ended"));
    PAWL_TRY(close_row(row.session));
  }
}

constexpr sql::Query kLives{
    "SELECT EXISTS(SELECT 1 FROM sessions WHERE sid=?1 AND gen=?2 AND state<2)"};

Status SqliteProvider::session_lives(SessionKey session, std::int64_t generation, bool* lives) {
  Statement read = connection_.use(kLives);
  read.bind(session).bind(generation);
  if (!read.row()) return fail(read.status(), "look whether a session lives");
  *lives = read.integer(0) != 0;
  return Status::kOk;
}

constexpr sql::Query kForget{
    "DELETE FROM sessions WHERE sid=?1 AND state=3 AND look_at IS NULL"
    " AND NOT EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session"
    " WHERE q.sid=?1)"};

Status SqliteProvider::forget_if_closed(SessionKey session) {
  Statement forget = connection_.use(kForget);
  forget.bind(session);
  PAWL_TRY(fail(forget.run(), "forget a closed session"));
  return connection_.changes() == 0 ? Status::kOk : drop_summary(session);
}

constexpr sql::Query kNextItemOf{
    "SELECT id,state FROM worker_queue INDEXED BY wq_session"
    " WHERE sid=?1 AND state<>3 ORDER BY state,id LIMIT 1"};

// Everything but what was cancelled before; what runs is told when it renews, and its result is refused.
Status SqliteProvider::fail_work_of(SessionKey session, ErrorKind kind, std::string_view text) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Walk walk;
  while (true) {
    WorkItemId item = 0;
    {
      Statement next = connection_.use(kNextItemOf);
      next.bind(session);
      if (!next.row()) return fail(next.status(), "find work of a session");
      item = next.integer(0);
      if (!walk.rises(next.integer(1), item)) return no_progress("worker_queue");
    }
    PAWL_TRY(end_work(item, kind, text));
  }
}

// ---- losing ---------------------------------------------------------------------------------------------

Status SqliteProvider::describe_loss(SessionKey session, Epoch epoch, std::string_view reason,
                                     FixedText<kErrorTextBytesMax>* text) {
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  SessionLoss loss;
  loss.epoch = epoch;
  bool fits = loss.session.assign(texts.name.view()) == Status::kOk &&
              loss.reason.assign(reason) == Status::kOk;
  // Names have no control characters; one that is all quotes leaves no room for the other.
  static_cast<void>(loss.from.assign(texts.node.view()));
  char json[kErrorTextBytesMax];
  std::size_t size = 0;
  if (to_json(loss, json, sizeof json, &size) != Status::kOk) {
    static_cast<void>(loss.from.assign({}));
    fits = fits && to_json(loss, json, sizeof json, &size) == Status::kOk;
  }
  if (!fits) return fail(Status::kResourceExhausted, "describe the loss of a session");
  text->assign_cut({json, size});
  return Status::kOk;
}

constexpr sql::Query kLose{
    "UPDATE sessions SET state=2,owner=NULL,prev_node=?3,epoch=?2,head_id=NULL,stop_to=NULL,"
    "stop_due=NULL,stop_force=NULL WHERE sid=?1"};

Status SqliteProvider::lose_session(SessionKey session, std::string_view reason) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  SessionChange told = texts.change(SessionChange::Kind::kLost);
  told.reason = reason;
  told.epoch = next_epoch();
  FixedText<kErrorTextBytesMax> why;
  PAWL_TRY(describe_loss(session, told.epoch, reason, &why));
  PAWL_TRY(fail_work_of(session, ErrorKind::kSessionLost, why.view()));
  {
    due_moves(DueKind::kStop);
    due_moves(DueKind::kLook);
    Statement lose = connection_.use(kLose);
    lose.bind(session).bind(told.epoch).bind_text_or_null(told.from);
    PAWL_TRY(fail(lose.run(), "lose a session"));
  }
  PAWL_TRY(tell_end(told));
  return notify_change(session, told);
}

// ---- telling the instance -------------------------------------------------------------------------------

namespace {

const char* change_name(SessionChange::Kind kind) {
  switch (kind) {
    case SessionChange::Kind::kClaimed: return "claimed";
    case SessionChange::Kind::kMigrated: return "migrated";
    case SessionChange::Kind::kReleased: return "released";
    case SessionChange::Kind::kLost: return "lost";
    case SessionChange::Kind::kEnding: return "ending";
    case SessionChange::Kind::kClosed: return "closed";
    case SessionChange::Kind::kExpiring: return "expiring";
    case SessionChange::Kind::kExpired: return "expired";
    case SessionChange::Kind::kNearLimit: return "near_limit";
    default: return nullptr;
  }
}

// Names have no control characters; what JSON would escape is left out of them.
bool put_text(FixedText<1024>* out, const char* key, std::string_view text) {
  if (text.empty()) return true;
  bool fits = out->append(",\"") == Status::kOk && out->append(key) == Status::kOk &&
              out->append("\":\"") == Status::kOk;
  for (const char c : text)
    if (c != '"' && c != '\\') fits = fits && out->append(c) == Status::kOk;
  return fits && out->append('"') == Status::kOk;
}

}  // namespace

constexpr sql::Query kReadNotify{"SELECT coalesce(notify,0) FROM sessions WHERE sid=?1"};

Status SqliteProvider::notify_change(SessionKey session, const SessionChange& told) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  const char* const change = change_name(told.kind);
  InstanceKey instance = 0;
  {
    Statement read = connection_.use(kReadNotify);
    read.bind(session);
    if (!read.row()) return fail(read.status(), "read whom to notify");
    instance = read.integer(0);
  }
  if (instance == 0 || change == nullptr) return Status::kOk;
  FixedText<kNameBytesMax> queue;
  FixedText<1024> payload;
  const bool fits = queue.append(kSessionEventsPrefix) == Status::kOk &&
                    queue.append(told.session) == Status::kOk &&
                    payload.append("{\"change\":\"") == Status::kOk &&
                    payload.append(change) == Status::kOk &&
                    payload.append("\",\"epoch\":") == Status::kOk &&
                    payload.append_number(told.epoch) == Status::kOk &&
                    put_text(&payload, "from", told.from) && put_text(&payload, "to", told.to) &&
                    put_text(&payload, "reason", told.reason) && payload.append('}') == Status::kOk;
  if (!fits) return fail(Status::kResourceExhausted, "tell of a session's change");
  Message message;
  message.kind = MessageKind::kQueue;
  message.name = queue.view();
  message.payload = payload.view();
  const Status stored = insert_message(instance, message);
  return stored == Status::kStale || stored == Status::kNotFound ? Status::kOk : stored;
}

}  // namespace pawl::sqlite
