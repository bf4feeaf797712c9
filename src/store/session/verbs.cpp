#include "store/session/verbs.hpp"

#include <cinttypes>
#include <cstdint>

#include "codec/policy.hpp"
#include "core/clock_rules.hpp"
#include "store/change_sink.hpp"
#include "store/session/admission_rules.hpp"
#include "store/session/lifetime_rules.hpp"
#include "store/session/moving_rules.hpp"
#include "store/sql/damage.hpp"
#include "store/walk.hpp"

namespace pawl::store {
namespace {

constexpr int kShown = 64;  // bytes of a name in an error's text

int shown(std::string_view name) {
  return static_cast<int>(name.size() < kShown ? name.size() : kShown);
}

Move move_for(const Handoff& handoff) {
  return {{}, rules::kMoveStopMs, false, rules::MoveReason::kHandoff, &handoff};
}

}  // namespace

Status SessionVerbs::write_session(const TurnCommit& turn, const Event& event) {
  switch (event.kind) {
    case EventKind::kSessionOpen: return open_session(turn, event);
    case EventKind::kSessionHold: return hold_session(turn.key, event);
    case EventKind::kSessionHandoff: return handoff_session(turn.key, event);
    case EventKind::kSessionCheck: return answer_check(turn, event);
    case EventKind::kSessionSettings: return set_settings(turn, event);
    default: return close_session(event.number == 0 ? turn.key : 0, event.name);
  }
}

Status SessionVerbs::answer_check(const TurnCommit& turn, const Event& event) {
  if (!turn.events->is_open(event.id)) return Status::kOk;  // the check was closed in this turn
  InstanceKey scope = event.number == 0 ? turn.key : 0;
  if (!event.session.empty()) PAWL_TRY(rows_.sessions.find_opener(event.session, &scope));
  Opened row;
  const Status found = rows_.sessions.read_opened(scope, event.name, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  Message answer;
  answer.kind = MessageKind::kValueAnswer;
  answer.execution = turn.execution;
  answer.ref = event.id;
  FixedText<kErrorTextBytesMax> why;
  PAWL_TRY(rows_.events.describe_refusal(row, found == Status::kOk, &answer.error, &why));
  answer.payload = why.view();
  return rows_.instances.store_message(turn.key, answer, nullptr);
}

constexpr auto kClearLook =
    PAWL_QUERY("UPDATE sessions SET look_at=NULL,ended=NULL WHERE sid=?1", kLookMoves);

Status SessionVerbs::close_session(SessionKey session, rules::Trigger cause,
                                   std::string_view reason) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Moving row;
  PAWL_TRY(rows_.sessions.read_moving(session, &row));
  rules::Facts facts;
  facts.running = row.running;
  const rules::Transition change = rules::transition(row.row, cause, facts);
  SessionTexts texts;
  if (change.notice != rules::Notice::kNone) PAWL_TRY(rows_.events.describe(session, &texts));
  Applied how;
  how.reason = "the session was closed";
  PAWL_TRY(owners_.apply(session, change, how, nullptr));
  if (change.clears_look && !change.deletes_row) {
    Statement clear = connection_.use(kClearLook);
    clear.bind(session);
    PAWL_TRY(fail(clear.run(), "close a session"));
  }
  if (change.notice == rules::Notice::kNone) return Status::kOk;
  SessionChange reported = texts.change(SessionChange::Kind::kClosed);
  reported.reason = reason;
  return rows_.events.report_end(reported);
}

constexpr auto kFirstOf = PAWL_QUERY("SELECT sid FROM sessions WHERE scope=?1 AND state<>",
                                     sql::number<rules::State::kClosed>, " ORDER BY name LIMIT 1");

Status SessionVerbs::close_all_sessions(InstanceKey instance) {
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
    PAWL_TRY(close_session(session, rules::Trigger::kInstanceEnds, "the instance ended"));
  }
}

Status SessionVerbs::open_session(const TurnCommit& turn, const Event& event) {
  SessionSettings settings;
  PAWL_TRY(read_settings(event, &settings));
  Opened row;
  const Status found = rows_.sessions.read_opened(turn.key, event.name, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  if (found == Status::kOk && row.is_open()) return Status::kOk;
  return begin({turn.key, Lifecycle::kOpened, turn.key, {}}, turn, event.name, row, settings);
}

// The first instance makes the row of a shared session. If the session is open, its settings
// change.
Status SessionVerbs::set_settings(const TurnCommit& turn, const Event& event) {
  SessionSettings settings;
  PAWL_TRY(read_settings(event, &settings));
  const bool is_own = event.number != 0;
  Beginning how = {
      is_own ? turn.key : 0, is_own ? Lifecycle::kOpened : Lifecycle::kSharedUsed, turn.key, {}};
  if (!is_own) how.limited_by = turn.key;
  Opened row;
  const Status found = rows_.sessions.read_opened(how.scope, event.name, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  const bool is_open = found == Status::kOk && row.is_open();
  if (!is_open) return is_own ? Status::kOk : begin(how, turn, event.name, row, settings);
  Diagnostic refusal;
  if (row.owner_label.view() != settings.owner_label)
    PAWL_TRY(find_refusal(turn, how.scope, row.session, settings.owner_label, &refusal));
  // A refused session stays as it was.
  if (!refusal.text().empty())
    return rows_.events.report_session(row.session, SessionChange::Kind::kRefused, refusal.text());
  return openings_.change(row.session, how, settings);
}

Status SessionVerbs::read_settings(const Event& event, SessionSettings* settings) {
  if (!decode_settings(event.policy, settings))
    return fail(Status::kInvalidArgument, "read a session's settings");
  settings->owner_label = event.session;
  settings->kind = event.tag;
  return Status::kOk;
}

// `row`: the row of this name, which is not open; session 0: there is none.
Status SessionVerbs::begin(Beginning how, const TurnCommit& turn, std::string_view name,
                           const Opened& row, const SessionSettings& settings) {
  Diagnostic refusal;
  PAWL_TRY(find_refusal(turn, how.scope, row.session, settings.owner_label, &refusal));
  how.refusal = refusal.text();
  if (row.session == 0) {
    SessionKey session = 0;
    return openings_.insert(how, name, settings, false, &session);
  }
  if (row.unreported) PAWL_TRY(rows_.events.report_closed(row.session, row.ended.view()));
  return openings_.begin_anew(row.session, how, settings);
}

Status SessionVerbs::close_session(InstanceKey instance, std::string_view name) {
  Opened row;
  const Status found = rows_.sessions.read_opened(instance, name, &row);
  if (found == Status::kNotFound) return Status::kOk;
  PAWL_TRY(found);
  if (row.state == rules::State::kClosed || row.device) return Status::kOk;
  return close_session(row.session, rules::Trigger::kClose, "closed");
}

// Another instance may count on the hold that it asked for, so only the instance that opened the
// session may shorten it.
Status SessionVerbs::hold_session(InstanceKey instance, const Event& event) {
  ActivityPolicy use;
  if (!decode_policy(event.policy, &use)) return fail(Status::kInvalidArgument, "read a hold");
  bool held = false;
  if (!use.own_session) PAWL_TRY(hold_one(0, event, &held));
  return held ? Status::kOk : hold_one(instance, event, &held);
}

Status SessionVerbs::hold_one(InstanceKey scope, const Event& event, bool* held) {
  return rows_.sessions.hold(scope, event.name, event.number, held);
}

constexpr auto kCountOpened = PAWL_QUERY(
    "SELECT count(*) FROM (SELECT 1 FROM sessions WHERE scope=?1"
    " AND state<",
    sql::number<rules::State::kClosed>, " AND sid<>?2 LIMIT ?3) AS few");
constexpr auto kFirstOfInstance =
    PAWL_QUERY("SELECT name FROM sessions WHERE scope=?1 AND state<",
               sql::number<rules::State::kClosed>, " AND sid<>?2 ORDER BY name LIMIT 1");
constexpr auto kCountOfOwner = PAWL_QUERY(
    "SELECT count(*) FROM (SELECT 1 FROM sessions\fINDEXED BY s_label\rWHERE owner_label=?1"
    " AND state<",
    sql::number<rules::State::kClosed>, " AND sid<>?2 LIMIT ?3) AS few");
constexpr auto kFirstOfOwner = PAWL_QUERY(
    "SELECT s.name,i.id FROM sessions s\fINDEXED BY s_label\rLEFT JOIN instances i ON i.key=s.scope"
    " WHERE s.owner_label=?1 AND s.state<",
    sql::number<rules::State::kClosed>, " AND s.sid<>?2 ORDER BY s.sid LIMIT 1");

Status SessionVerbs::find_refusal(const TurnCommit& turn, InstanceKey scope, SessionKey session,
                                  std::string_view owner_label, Diagnostic* refusal) {
  rules::OpenCounts counts;
  counts.instance_max = scope == 0 ? INT64_MAX : turn.sessions_max.of_instance;
  counts.has_label = !owner_label.empty();
  counts.label_max = turn.sessions_max.of_label;
  if (scope != 0) {
    Statement count = connection_.use(kCountOpened);
    count.bind(scope).bind(session).bind(turn.sessions_max.of_instance);
    if (!count.row()) return fail(count.status(), "count sessions");
    counts.of_instance = count.integer(0);
  }
  if (rules::needs_label_count(counts)) {
    Statement count = connection_.use(kCountOfOwner);
    count.bind_text(owner_label).bind(session).bind(turn.sessions_max.of_label);
    if (!count.row()) return fail(count.status(), "count sessions of an owner");
    counts.of_label = count.integer(0);
  }
  switch (rules::admit_opening(counts)) {
    case rules::Opening::kAdmitted: return Status::kOk;
    case rules::Opening::kTooManyOfLabel:
      return describe_too_many(turn, session, owner_label, refusal);
    case rules::Opening::kTooManyOfInstance: break;
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
Status SessionVerbs::describe_too_many(const TurnCommit& turn, SessionKey session,
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

Status SessionVerbs::handoff_session(InstanceKey instance, const Event& event) {
  ActivityPolicy use;
  if (!decode_policy(event.policy, &use)) return fail(Status::kInvalidArgument, "read a handoff");
  SessionKey session = 0;
  Status found = rows_.sessions.find_session(use.own_session ? instance : 0, event.name, &session);
  if (found == Status::kNotFound && !use.own_session)
    found = rows_.sessions.find_session(instance, event.name, &session);
  if (found == Status::kNotFound) return Status::kOk;
  PAWL_TRY(found);
  Moving row;
  PAWL_TRY(rows_.sessions.read_moving(session, &row));
  const Handoff handoff = {event.tag, event.payload};
  return rules::may_hand_off(row.row) ? moves_.move_session(row, move_for(handoff)) : Status::kOk;
}

namespace {

template <typename Of>
void apply(const std::optional<Of>& change, Of* to) {
  if (change.has_value()) *to = *change;
}

void apply(const SessionUpdate& update, SessionSettings* to) {
  apply(update.owner_label, &to->owner_label);
  apply(update.kind, &to->kind);
  apply(update.idle_timeout, &to->idle_timeout);
  apply(update.idle_close, &to->idle_close);
  apply(update.idle_close_notice, &to->idle_close_notice);
  apply(update.max_age, &to->max_age);
  apply(update.expiry_notice, &to->expiry_notice);
  apply(update.max_activities, &to->max_activities);
  apply(update.activity_warning, &to->activity_warning);
  apply(update.rate_interval, &to->rate_interval);
  apply(update.rate_burst, &to->rate_burst);
  apply(update.rate_wait, &to->rate_wait);
}

bool is_label(std::string_view text) {
  return text.empty() || (is_valid_name(text) && text.size() <= kSessionLabelBytesMax);
}

int size_of(std::string_view text) { return static_cast<int>(text.size()); }

}  // namespace

Status SessionVerbs::hold_session(std::string_view instance, std::string_view session,
                                  std::int64_t hold_ms) {
  InstanceKey scope = 0;
  SessionKey key = 0;
  PAWL_TRY(find_open(instance, session, &scope, &key));
  bool held = false;
  PAWL_TRY(rows_.sessions.hold(scope, session, hold_ms, &held));
  Diagnostic what;
  what.format("held for %" PRId64 " ms", hold_ms);
  return written(note(key, what.text()));
}

Status SessionVerbs::handoff_session(std::string_view instance, std::string_view session,
                                     std::string_view tag, std::string_view summary) {
  InstanceKey scope = 0;
  SessionKey key = 0;
  PAWL_TRY(find_open(instance, session, &scope, &key));
  Moving row;
  PAWL_TRY(rows_.sessions.read_moving(key, &row));
  if (!rules::may_hand_off(row.row)) {
    context_.diagnostic.format("a device stays with the worker that declared it");
    return Status::kInvalidArgument;
  }
  const Handoff handoff = {tag, summary};
  PAWL_TRY(written(moves_.move_session(row, move_for(handoff))));
  Diagnostic what;
  what.format("handed off to tag \"%.*s\", with %zu bytes of summary", size_of(tag), tag.data(),
              summary.size());
  return written(note(key, what.text()));
}

Status SessionVerbs::change_session(std::string_view instance, std::string_view session,
                                    const SessionUpdate& update) {
  InstanceKey scope = 0;
  SessionKey key = 0;
  PAWL_TRY(find_open(instance, session, &scope, &key));
  SessionSettings settings;
  Beginning is;
  PAWL_TRY(openings_.read_settings(key, &settings, &is));
  apply(update, &settings);
  PolicyText text;
  const bool is_valid = encode_settings(settings, &text);
  if (!is_valid || !is_label(settings.owner_label) || !is_label(settings.kind)) {
    context_.diagnostic.format(
        "settings that contradict each other, or are out of their ranges%s%.*s",
        is_valid ? "" : ": ", size_of(text.view()), text.view().data());
    return Status::kInvalidArgument;
  }
  const Lifecycle lifecycle = scope == 0 ? Lifecycle::kSharedUsed : Lifecycle::kOpened;
  PAWL_TRY(written(openings_.change(key, {scope, lifecycle, is.asks, {}}, settings)));
  Diagnostic what;
  what.format("settings are now \"%.*s\", owner \"%.*s\", kind \"%.*s\"", size_of(text.view()),
              text.view().data(), size_of(settings.owner_label), settings.owner_label.view().data(),
              size_of(settings.kind), settings.kind.view().data());
  return written(note(key, what.text()));
}

Status SessionVerbs::find_open(std::string_view instance, std::string_view session,
                               InstanceKey* scope, SessionKey* key) {
  require_batch();
  if (!instance.empty()) PAWL_TRY(rows_.instances.find_key(instance, scope));
  return rows_.sessions.find_session(*scope, session, key);
}

// Several notes may wait for one look, one behind the other; text that does not fit is left out.
constexpr auto kNote =
    PAWL_QUERY("UPDATE sessions SET ended=substr(coalesce(ended||'; ','')||?2,1,",
               sql::number<Diagnostic::kCapacity - 1>,
               "),look_at=min(coalesce(look_at,?3),?3) WHERE sid=?1", kLookComes);

Status SessionVerbs::note(SessionKey session, std::string_view what) {
  Statement note = connection_.use(kNote);
  note.bind(session).bind_text(what).bind(batch_.now);
  return fail(note.run(), "note what was done to a session");
}

}  // namespace pawl::store
