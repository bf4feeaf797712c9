#include "opened_sessions.hpp"

#include <cinttypes>

#include "admission.hpp"
#include "change_sink.hpp"
#include "clock_rules.hpp"
#include "damage.hpp"
#include "policy.hpp"
#include "walk.hpp"

namespace pawl::store {
namespace {

constexpr int kShown = 64;  // of a name in an error's text

int shown(std::string_view name) {
  return static_cast<int>(name.size() < kShown ? name.size() : kShown);
}

}  // namespace

Status OpenedSessions::write_session(const TurnCommit& turn, const Event& event) {
  switch (event.kind) {
    case EventKind::kSessionOpen: return open_session(turn, event);
    case EventKind::kSessionHold: return hold_session(turn.key, event);
    case EventKind::kSessionHandoff: return handoff_.handoff_session(turn.key, event);
    case EventKind::kSessionCheck: return answer_check(turn, event);
    default: return close_session(turn.key, event.name);
  }
}

Status OpenedSessions::answer_check(const TurnCommit& turn, const Event& event) {
  if (!turn.events->is_open(event.id)) return Status::kOk;  // closed in this turn
  Opened row;
  const Status found = sessions_.read_opened(turn.key, event.name, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  Message answer;
  answer.kind = MessageKind::kValueAnswer;
  answer.execution = turn.execution;
  answer.ref = event.id;
  FixedText<kErrorTextBytesMax> why;
  PAWL_TRY(events_.describe_refusal(row, found == Status::kOk, &answer.error, &why));
  answer.payload = why.view();
  return messages_.store_message(turn.key, answer, nullptr);
}

constexpr sql::Query kClearLook{"UPDATE sessions SET look_at=NULL WHERE sid=?1", kLookMoves};

Status OpenedSessions::close_row(SessionKey session, session::Cause cause,
                                 std::string_view reason) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Moving row;
  PAWL_TRY(sessions_.read_moving(session, &row));
  session::Facts facts;
  facts.running = row.running;
  const session::Transition change = session::transition(row.row, cause, facts);
  SessionTexts texts;
  if (change.notice != session::Notice::kNone) PAWL_TRY(events_.describe(session, &texts));
  Applied how;
  how.reason = "the session was closed";
  PAWL_TRY(owners_.apply(session, change, how, nullptr));
  if (change.clears_look && !change.deletes_row) {
    Statement clear = connection_.use(kClearLook);
    clear.bind(session);
    PAWL_TRY(fail(clear.run(), "close a session"));
  }
  if (change.notice == session::Notice::kNone) return Status::kOk;
  SessionChange reported = texts.change(SessionChange::Kind::kClosed);
  reported.reason = reason;
  return events_.report_end(reported);
}

constexpr auto kFirstOfText =
    sql::join("SELECT sid FROM sessions WHERE scope=?1 AND state<>",
              sql::number<session::State::kClosed>, " ORDER BY name LIMIT 1");
constexpr sql::Query kFirstOf{kFirstOfText};

Status OpenedSessions::close_all_sessions(InstanceKey instance) {
  Walk walk;
  while (true) {
    SessionKey session = 0;
    {
      Statement first = connection_.use(kFirstOf);
      first.bind(instance);
      if (!first.row()) return fail(first.status(), "find sessions of an instance");
      if (!walk.changes(first.integer(0))) return no_progress("sessions");
      session = first.integer(0);
    }
    PAWL_TRY(close_row(session, session::Cause::kInstanceEnds, "the instance ended"));
  }
}

Status OpenedSessions::open_session(const TurnCommit& turn, const Event& event) {
  SessionSettings settings;
  if (!decode_settings(event.policy, &settings))
    return fail(Status::kInvalidArgument, "read a session's settings");
  settings.owner_label = event.session;
  settings.kind = event.tag;
  Opened row;
  const Status found = sessions_.read_opened(turn.key, event.name, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  if (found == Status::kOk && row.is_open()) return Status::kOk;
  Diagnostic refusal;
  PAWL_TRY(find_refusal(turn, row.session, settings.owner_label, &refusal));
  if (found == Status::kNotFound) return insert_opened(turn, event, settings, refusal.text());
  if (row.unreported) PAWL_TRY(events_.report_closed(row.session, row.ended.view()));
  return reopen_session(row.session, settings, refusal.text());
}

Status OpenedSessions::close_session(InstanceKey instance, std::string_view name) {
  Opened row;
  const Status found = sessions_.read_opened(instance, name, &row);
  if (found == Status::kNotFound) return Status::kOk;
  PAWL_TRY(found);
  if (row.state == session::State::kClosed) return Status::kOk;
  return close_row(row.session, session::Cause::kClose, "closed");
}

// Another instance may count on what it asked for: only the one that opened it may let it go early.
Status OpenedSessions::hold_session(InstanceKey instance, const Event& event) {
  ActivityPolicy use;
  if (!decode_policy(event.policy, &use)) return fail(Status::kInvalidArgument, "read a hold");
  bool held = false;
  if (!use.own_session) PAWL_TRY(hold_one(0, event, &held));
  return held ? Status::kOk : hold_one(instance, event, &held);
}

constexpr sql::Query kHold{
    "UPDATE sessions SET hold_until=CASE scope WHEN 0 THEN max(hold_until,?3) ELSE ?3 END"
    " WHERE scope=?1 AND name=?2"};

Status OpenedSessions::hold_one(InstanceKey scope, const Event& event, bool* held) {
  Statement hold = connection_.use(kHold);
  hold.bind(scope).bind_text(event.name);
  hold.bind(make_due(batch_.now, event.number));
  PAWL_TRY(fail(hold.run(), "hold a session"));
  *held = connection_.changes() > 0;
  if (*held) ++context_.made_ready;  // a shorter one leaves room for another session sooner
  return Status::kOk;
}

constexpr sql::Query kInsertOpened{
    "INSERT INTO sessions(scope,name,gen,lifecycle,fail,hard,excl,idle_ms,notify,state,epoch,"
    "epoch_used,locked_until,boot_seq,last_activity_at,hold_until,created_stamp,created_at,"
    "activities,owner_label,kind,ended)"
    " VALUES(?1,?2,1,1,?3,0,?4,?5,?6,?7,0,0,0,?8,?9,0,?10,?9,0,?11,?12,?13)"};

Status OpenedSessions::insert_opened(const TurnCommit& turn, const Event& event,
                                     const SessionSettings& settings, std::string_view refusal) {
  SessionKey session = 0;
  {
    // Epoch 0 is none: the first claim takes one.
    Statement insert = connection_.use(kInsertOpened);
    insert.bind(turn.key).bind_text(event.name);
    insert.bind(settings.fail_on_loss ? 1 : 0).bind(settings.exclusive ? 1 : 0);
    settings.idle_timeout.count() == 0 ? insert.bind_null()
                                       : insert.bind(settings.idle_timeout.count());
    settings.notify ? insert.bind(turn.key) : insert.bind_null();
    insert.bind(stored(refusal.empty() ? session::State::kOpen : session::State::kRefused));
    insert.bind(batch_.boot_seq).bind(batch_.now).bind(batch_.stamp_ms);
    insert.bind_text_or_null(settings.owner_label).bind_text_or_null(settings.kind);
    insert.bind_text_or_null(refusal);
    PAWL_TRY(fail(insert.run(), "open a session"));
    session = connection_.last_insert_id();
  }
  if (refusal.empty()) PAWL_TRY(session_limits_.set_limits(session, settings));
  return events_.report_session(
      session, refusal.empty() ? SessionChange::Kind::kOpened : SessionChange::Kind::kRefused,
      refusal);
}

constexpr auto kCountOpenedText = sql::join(
    "SELECT count(*) FROM (SELECT 1 FROM sessions WHERE scope=?1"
    " AND state<",
    sql::number<session::State::kClosed>, " AND sid<>?2 LIMIT ?3)");
constexpr sql::Query kCountOpened{kCountOpenedText};
constexpr auto kFirstOfInstanceText =
    sql::join("SELECT name FROM sessions WHERE scope=?1 AND state<",
              sql::number<session::State::kClosed>, " AND sid<>?2 ORDER BY name LIMIT 1");
constexpr sql::Query kFirstOfInstance{kFirstOfInstanceText};
constexpr auto kCountOfOwnerText = sql::join(
    "SELECT count(*) FROM (SELECT 1 FROM sessions\fINDEXED BY s_label\rWHERE owner_label=?1"
    " AND state<",
    sql::number<session::State::kClosed>, " AND sid<>?2 LIMIT ?3)");
constexpr sql::Query kCountOfOwner{kCountOfOwnerText};
constexpr auto kFirstOfOwnerText = sql::join(
    "SELECT s.name,i.id FROM sessions s\fINDEXED BY s_label\rLEFT JOIN instances i ON i.key=s.scope"
    " WHERE s.owner_label=?1 AND s.state<",
    sql::number<session::State::kClosed>, " AND s.sid<>?2 ORDER BY s.sid LIMIT 1");
constexpr sql::Query kFirstOfOwner{kFirstOfOwnerText};

Status OpenedSessions::find_refusal(const TurnCommit& turn, SessionKey session,
                                    std::string_view owner_label, Diagnostic* refusal) {
  session::OpenCounts counts;
  counts.instance_max = turn.sessions_max;
  counts.has_label = !owner_label.empty();
  counts.label_max = turn.sessions_per_owner_max;
  {
    Statement count = connection_.use(kCountOpened);
    count.bind(turn.key).bind(session).bind(turn.sessions_max);
    if (!count.row()) return fail(count.status(), "count sessions");
    counts.of_instance = count.integer(0);
  }
  if (session::needs_label_count(counts)) {
    Statement count = connection_.use(kCountOfOwner);
    count.bind_text(owner_label).bind(session).bind(turn.sessions_per_owner_max);
    if (!count.row()) return fail(count.status(), "count sessions of an owner");
    counts.of_label = count.integer(0);
  }
  switch (session::admit_opening(counts)) {
    case session::Opening::kAdmitted: return Status::kOk;
    case session::Opening::kTooManyOfLabel:
      return describe_too_many(turn, session, owner_label, refusal);
    case session::Opening::kTooManyOfInstance: break;
  }
  Statement first = connection_.use(kFirstOfInstance);
  first.bind(turn.key).bind(session);
  if (!first.row()) return fail(first.status(), "find a session of an instance");
  const std::string_view name = first.bytes(0);
  refusal->format("the instance has %" PRId64
                  " sessions open (max_sessions_per_orchestration): close one, as \"%.*s\", with "
                  "close_session()",
                  turn.sessions_max, shown(name), name.data());
  return Status::kOk;
}

// Names one to close.
Status OpenedSessions::describe_too_many(const TurnCommit& turn, SessionKey session,
                                         std::string_view owner_label, Diagnostic* refusal) {
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

constexpr sql::Query kReopenOpened{
    "UPDATE sessions SET gen=gen+1,fail=?2,excl=?3,"
    "idle_ms=?4,notify=iif(?5,scope,NULL),last_activity_at=?6,created_stamp=?7,created_at=?6,"
    "activities=0,leak=0,hold_until=0,owner_label=?8,kind=?9,ended=?10,look_at=NULL,"
    "expires_at=NULL,limits=NULL,given=NULL,rate_at=NULL WHERE sid=?1",
    kLookMoves};

// A new opening of the same row: a new generation and epoch. Cancelled work that still runs holds
// it.
Status OpenedSessions::reopen_session(SessionKey session, const SessionSettings& settings,
                                      std::string_view refusal) {
  session::SessionRow row;
  PAWL_TRY(sessions_.read_row(session, &row));
  {
    Statement open = connection_.use(kReopenOpened);
    open.bind(session);
    open.bind(settings.fail_on_loss ? 1 : 0).bind(settings.exclusive ? 1 : 0);
    settings.idle_timeout.count() == 0 ? open.bind_null()
                                       : open.bind(settings.idle_timeout.count());
    open.bind(settings.notify ? 1 : 0).bind(batch_.now).bind(batch_.stamp_ms);
    open.bind_text_or_null(settings.owner_label).bind_text_or_null(settings.kind);
    open.bind_text_or_null(refusal);
    PAWL_TRY(fail(open.run(), "open a session again"));
  }
  const session::Cause cause =
      refusal.empty() ? session::Cause::kOpenAgain : session::Cause::kRefuse;
  PAWL_TRY(owners_.apply(session, session::transition(row, cause, {}), {}, nullptr));
  if (refusal.empty()) PAWL_TRY(session_limits_.set_limits(session, settings));
  PAWL_TRY(handoff_.set_session_tag(session, {}, {}));
  return events_.report_session(
      session, refusal.empty() ? SessionChange::Kind::kOpened : SessionChange::Kind::kRefused,
      refusal);
}

}  // namespace pawl::store
