#include "store/session/events.hpp"

#include <cinttypes>

#include "codec/event.hpp"
#include "core/clock_rules.hpp"
#include "pawl/management.hpp"
#include "store/place/batches.hpp"
#include "store/session/admission_rules.hpp"
#include "store/session/rows.hpp"
#include "store/sql/damage.hpp"

namespace pawl::store {
namespace {

const char* change_name(SessionChange::Kind kind) {
  switch (kind) {
    case SessionChange::Kind::kClaimed: return "claimed";
    case SessionChange::Kind::kMigrated: return "migrated";
    case SessionChange::Kind::kReleased: return "released";
    case SessionChange::Kind::kLost: return "lost";
    case SessionChange::Kind::kEnding: return "ending";
    case SessionChange::Kind::kClosed: return "closed";
    case SessionChange::Kind::kClosing: return "closing";
    case SessionChange::Kind::kExpiring: return "expiring";
    case SessionChange::Kind::kExpired: return "expired";
    case SessionChange::Kind::kNearLimit: return "near_limit";
    default: return nullptr;
  }
}

constexpr std::size_t kEventBytesMax = 2'048;

// If the event does not fit, because its names consist of quotes, the reason is left out.
Status print_event(const SessionChange& reported, const char* change, char* out,
                   std::size_t* size) {
  SessionEvent event;
  event.epoch = reported.epoch;
  const bool fits = event.change.assign(change) == Status::kOk &&
                    event.from.assign(reported.from) == Status::kOk &&
                    event.to.assign(reported.to) == Status::kOk &&
                    event.reason.assign(cut_text(reported.reason, 512)) == Status::kOk;
  if (!fits) return Status::kResourceExhausted;
  if (to_json(event, out, kEventBytesMax, size) == Status::kOk) return Status::kOk;
  PAWL_TRY(event.reason.assign({}));
  return to_json(event, out, kEventBytesMax, size);
}

}  // namespace

SessionChange SessionTexts::change(SessionChange::Kind of) const {
  SessionChange reported;
  reported.kind = of;
  reported.key = key;
  reported.session = name.view();
  reported.instance = instance.view();
  reported.owner_label = owner_label.view();
  reported.label_kind = kind.view();
  reported.from = node.view();
  reported.epoch = epoch;
  reported.age_ms = age_ms;
  reported.activities = activities;
  reported.idle_ms = quiet_ms;
  return reported;
}

// A shared session ends with its last activity; its row goes some time later, so the age ends
// there.
SessionChange SessionTexts::swept() const {
  SessionChange reported = change(SessionChange::Kind::kSwept);
  reported.age_ms = subtract_saturating(age_ms, quiet_ms);
  return reported;
}

constexpr auto kDescribe = PAWL_QUERY(
    "SELECT s.name,i.id,coalesce(w.node,s.prev_node) AS node,s.owner_label,s.kind,s.epoch,"
    "s.created_at,s.activities,s.expires_at,s.last_activity_at FROM sessions s LEFT JOIN workers w"
    " ON w.inc=s.owner"
    " LEFT JOIN instances i ON i.key=s.scope WHERE s.sid=?1");

Status SessionEvents::describe(SessionKey session, SessionTexts* out) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Statement row = connection_.use(kDescribe);
  row.bind(session);
  if (!row.row()) return no_row(row, Status::kCorrupt, "read session");
  out->key = session;
  out->name.assign_cut(row.bytes(PAWL_COLUMN(kDescribe, s.name)));
  out->instance.assign_cut(row.bytes(PAWL_COLUMN(kDescribe, i.id)));
  out->node.assign_cut(row.bytes(PAWL_COLUMN(kDescribe, node)));
  out->owner_label.assign_cut(row.bytes(PAWL_COLUMN(kDescribe, s.owner_label)));
  out->kind.assign_cut(row.bytes(PAWL_COLUMN(kDescribe, s.kind)));
  out->epoch = row.integer(PAWL_COLUMN(kDescribe, s.epoch));
  out->age_ms = subtract_saturating(batch_.now, row.integer(PAWL_COLUMN(kDescribe, s.created_at)));
  out->activities = row.integer(PAWL_COLUMN(kDescribe, s.activities));
  out->expires_in_ms =
      subtract_saturating(row.integer(PAWL_COLUMN(kDescribe, s.expires_at)), batch_.now);
  out->max_age_ms = subtract_saturating(row.integer(PAWL_COLUMN(kDescribe, s.expires_at)),
                                        row.integer(PAWL_COLUMN(kDescribe, s.created_at)));
  out->quiet_ms =
      subtract_saturating(batch_.now, row.integer(PAWL_COLUMN(kDescribe, s.last_activity_at)));
  return Status::kOk;
}

Status SessionEvents::report_session(SessionKey session, SessionChange::Kind kind,
                                     std::string_view reason) {
  if (context_.sink == nullptr) return Status::kOk;
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  SessionChange reported = texts.change(kind);
  reported.reason = reason;
  context_.sink->on_session_change(reported);
  return Status::kOk;
}

Status SessionEvents::report_closed(SessionKey session, std::string_view reason) {
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  SessionChange reported = texts.change(SessionChange::Kind::kClosed);
  reported.reason = reason;
  return report_end(reported);
}

Status SessionEvents::report_use(SessionKey session) {
  if (context_.sink == nullptr) return Status::kOk;
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  SessionChange reported = texts.change(SessionChange::Kind::kUsed);
  reported.from = {};
  reported.to = texts.node.view();
  context_.sink->on_session_change(reported);
  return Status::kOk;
}

Status SessionEvents::report_end(SessionChange end) {
  end.is_end = true;
  const std::size_t lasted = SessionEnds::place(SessionEnds::kLastedUpToMs, end.age_ms);
  const std::size_t used = SessionEnds::place(SessionEnds::kActivitiesUpTo, end.activities);
  PAWL_TRY(count_value(kLasted, lasted, end.age_ms));
  PAWL_TRY(count_value(kActivities, used, end.activities));
  if (context_.sink != nullptr) context_.sink->on_session_change(end);
  return Status::kOk;
}

Status SessionEvents::report_change(const OwnerChange& change, const SessionChange& reported) {
  SessionChange event = reported;
  const rules::Change what = rules::change_of(change.to != 0, reported.from, reported.to);
  switch (what) {
    case rules::Change::kReleased:
      event.kind = SessionChange::Kind::kReleased;
      event.reason = change.reason;
      event.eviction = change.eviction;
      break;
    case rules::Change::kMigrated: event.kind = SessionChange::Kind::kMigrated; break;
    case rules::Change::kClaimed:
    case rules::Change::kResumed:
      event.kind = SessionChange::Kind::kClaimed;
      event.from = {};
      event.resumed = what == rules::Change::kResumed;
      break;
  }
  if (context_.sink != nullptr) context_.sink->on_session_change(event);
  return notify_change(change.session, event);
}

constexpr auto kReadNotify = PAWL_QUERY("SELECT coalesce(notify,0) FROM sessions WHERE sid=?1");

Status SessionEvents::notify_change(SessionKey session, const SessionChange& reported) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  const char* const change = change_name(reported.kind);
  InstanceKey instance = 0;
  {
    Statement read = connection_.use(kReadNotify);
    read.bind(session);
    if (!read.row()) return fail(read.status(), "read the instance to notify");
    instance = read.integer(0);
  }
  if (instance == 0 || change == nullptr) return Status::kOk;
  FixedText<kNameBytesMax> queue;
  char payload[kEventBytesMax];
  std::size_t size = 0;
  const bool is_shared = reported.instance.empty();
  const bool fits =
      queue.append(is_shared ? kSharedSessionEventsPrefix : kSessionEventsPrefix) == Status::kOk &&
      queue.append(reported.session) == Status::kOk &&
      print_event(reported, change, payload, &size) == Status::kOk;
  if (!fits) return fail(Status::kResourceExhausted, "report a session's change");
  Message message;
  message.kind = MessageKind::kQueue;
  message.name = queue.view();
  message.payload = {payload, size};
  const Status stored = instances_.insert_message(instance, message);
  return stored == Status::kStale || stored == Status::kNotFound ? Status::kOk : stored;
}

Status SessionEvents::describe_loss(SessionKey session, Epoch epoch, std::string_view reason,
                                    FixedText<kErrorTextBytesMax>* text) {
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  SessionLoss loss;
  loss.epoch = epoch;
  bool fits = loss.session.assign(texts.name.view()) == Status::kOk &&
              loss.reason.assign(reason) == Status::kOk;
  // Names have no control characters, but a session's name that consists of quotes may leave no
  // room for the node's.
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

Status SessionEvents::describe_refusal(const Opened& row, bool is_there, ErrorKind* why,
                                       FixedText<kErrorTextBytesMax>* text) {
  const rules::OpenedState its =
      is_there ? rules::opened_state_of(row.state) : rules::OpenedState::kNotOpen;
  *why = ErrorKind::kNone;
  if (its == rules::OpenedState::kOpen) return Status::kOk;
  if (its == rules::OpenedState::kLost) {
    *why = ErrorKind::kSessionLost;
    return describe_loss(row.session, row.epoch, "not opened again", text);
  }
  const bool is_refused = its == rules::OpenedState::kRefused && !row.ended.empty();
  *why = is_refused ? ErrorKind::kLimit : ErrorKind::kSessionClosed;
  text->assign_cut(row.ended.empty() ? "the session is not open" : row.ended.view());
  return Status::kOk;
}

Status SessionEvents::report_near_limit(SessionKey session, const SessionSettings& settings) {
  SessionTexts texts;
  PAWL_TRY(describe(session, &texts));
  Diagnostic why;
  why.format("%" PRId64 " of %" PRId64 " activities (max_activities)", settings.activity_warning,
             settings.max_activities);
  SessionChange reported = texts.change(SessionChange::Kind::kNearLimit);
  reported.reason = why.text();
  if (context_.sink != nullptr) context_.sink->on_session_change(reported);
  return notify_change(session, reported);
}

constexpr auto kCountValue = PAWL_QUERY(
    "INSERT INTO session_totals(what,bucket,sessions,total,most) VALUES(?1,?2,1,?3,?3)"
    " ON CONFLICT(what,bucket) DO UPDATE SET "
    "sessions=session_totals.sessions+1,total=session_totals.total+?3,"
    "most=max(session_totals.most,?3)");

Status SessionEvents::count_value(int what, std::size_t bucket, std::int64_t value) {
  const Suspicion suspect(connection_, RowRef::Table::kTotals,
                          what * kTotalsKeys + static_cast<std::int64_t>(bucket));
  Statement count = connection_.use(kCountValue);
  count.bind(what).bind(static_cast<std::int64_t>(bucket)).bind(value);
  return fail(count.run(), "count a session that ended");
}

}  // namespace pawl::store
