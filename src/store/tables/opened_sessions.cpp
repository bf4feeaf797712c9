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

constexpr int kShown = 64;  // bytes of a name in an error's text

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
    case EventKind::kSessionSettings: return set_settings(turn, event);
    default: return close_session(event.number == 0 ? turn.key : 0, event.name);
  }
}

Status OpenedSessions::answer_check(const TurnCommit& turn, const Event& event) {
  if (!turn.events->is_open(event.id)) return Status::kOk;  // the check was closed in this turn
  InstanceKey scope = event.number == 0 ? turn.key : 0;
  if (!event.session.empty()) PAWL_TRY(sessions_.find_opener(event.session, &scope));
  Opened row;
  const Status found = sessions_.read_opened(scope, event.name, &row);
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

constexpr sql::Query kClearLook{"UPDATE sessions SET look_at=NULL,ended=NULL WHERE sid=?1",
                                kLookMoves};

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
  PAWL_TRY(read_settings(event, &settings));
  Opened row;
  const Status found = sessions_.read_opened(turn.key, event.name, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  if (found == Status::kOk && row.is_open()) return Status::kOk;
  return begin({turn.key, Lifecycle::kOpened, turn.key, {}}, turn, event.name, row, settings);
}

// The first instance makes the row of a shared session. If the session is open, its settings
// change.
Status OpenedSessions::set_settings(const TurnCommit& turn, const Event& event) {
  SessionSettings settings;
  PAWL_TRY(read_settings(event, &settings));
  const bool is_own = event.number != 0;
  Beginning how = {
      is_own ? turn.key : 0, is_own ? Lifecycle::kOpened : Lifecycle::kSharedUsed, turn.key, {}};
  if (!is_own) how.limited_by = turn.key;
  Opened row;
  const Status found = sessions_.read_opened(how.scope, event.name, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  const bool is_open = found == Status::kOk && row.is_open();
  if (!is_open) return is_own ? Status::kOk : begin(how, turn, event.name, row, settings);
  Diagnostic refusal;
  if (row.owner_label.view() != settings.owner_label)
    PAWL_TRY(find_refusal(turn, how.scope, row.session, settings.owner_label, &refusal));
  // A refused session stays as it was.
  if (!refusal.text().empty())
    return events_.report_session(row.session, SessionChange::Kind::kRefused, refusal.text());
  return openings_.change(row.session, how, settings);
}

Status OpenedSessions::read_settings(const Event& event, SessionSettings* settings) {
  if (!decode_settings(event.policy, settings))
    return fail(Status::kInvalidArgument, "read a session's settings");
  settings->owner_label = event.session;
  settings->kind = event.tag;
  return Status::kOk;
}

// `row`: the row of this name, which is not open; session 0: there is none.
Status OpenedSessions::begin(Beginning how, const TurnCommit& turn, std::string_view name,
                             const Opened& row, const SessionSettings& settings) {
  Diagnostic refusal;
  PAWL_TRY(find_refusal(turn, how.scope, row.session, settings.owner_label, &refusal));
  how.refusal = refusal.text();
  if (row.session == 0) {
    SessionKey session = 0;
    return openings_.insert(how, name, settings, false, &session);
  }
  if (row.unreported) PAWL_TRY(events_.report_closed(row.session, row.ended.view()));
  return openings_.begin_anew(row.session, how, settings);
}

Status OpenedSessions::close_session(InstanceKey instance, std::string_view name) {
  Opened row;
  const Status found = sessions_.read_opened(instance, name, &row);
  if (found == Status::kNotFound) return Status::kOk;
  PAWL_TRY(found);
  if (row.state == session::State::kClosed || row.device) return Status::kOk;
  return close_row(row.session, session::Cause::kClose, "closed");
}

// Another instance may count on the hold that it asked for, so only the instance that opened the
// session may shorten it.
Status OpenedSessions::hold_session(InstanceKey instance, const Event& event) {
  ActivityPolicy use;
  if (!decode_policy(event.policy, &use)) return fail(Status::kInvalidArgument, "read a hold");
  bool held = false;
  if (!use.own_session) PAWL_TRY(hold_one(0, event, &held));
  return held ? Status::kOk : hold_one(instance, event, &held);
}

Status OpenedSessions::hold_one(InstanceKey scope, const Event& event, bool* held) {
  return sessions_.hold(scope, event.name, event.number, held);
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

Status OpenedSessions::find_refusal(const TurnCommit& turn, InstanceKey scope, SessionKey session,
                                    std::string_view owner_label, Diagnostic* refusal) {
  session::OpenCounts counts;
  counts.instance_max = scope == 0 ? INT64_MAX : turn.sessions_max.of_instance;
  counts.has_label = !owner_label.empty();
  counts.label_max = turn.sessions_max.of_label;
  if (scope != 0) {
    Statement count = connection_.use(kCountOpened);
    count.bind(scope).bind(session).bind(turn.sessions_max.of_instance);
    if (!count.row()) return fail(count.status(), "count sessions");
    counts.of_instance = count.integer(0);
  }
  if (session::needs_label_count(counts)) {
    Statement count = connection_.use(kCountOfOwner);
    count.bind_text(owner_label).bind(session).bind(turn.sessions_max.of_label);
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
                  turn.sessions_max.of_instance, shown(name), name.data());
  return Status::kOk;
}

// Names one session that the caller could close.
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
                  shown(owner_label), owner_label.data(), turn.sessions_max.of_label, shown(name),
                  name.data(), shown(id), id.data());
  return Status::kOk;
}

}  // namespace pawl::store
