#include "store/session/openings.hpp"

#include <cinttypes>
#include <cstdint>

#include "codec/policy.hpp"
#include "core/clock_rules.hpp"
#include "store/session/admission_rules.hpp"
#include "store/session/lifetime_rules.hpp"
#include "store/sql/damage.hpp"

namespace pawl::store {
namespace {

constexpr std::int64_t stored(Lifecycle lifecycle) { return static_cast<std::int64_t>(lifecycle); }

}  // namespace

constexpr auto kInsertRow = PAWL_QUERY(
    "INSERT INTO sessions(scope,name,gen,lifecycle,fail,hard,excl,idle_ms,notify,state,epoch,"
    "epoch_used,locked_until,boot_seq,last_activity_at,hold_until,created_stamp,created_at,"
    "activities,owner_label,kind,ended,limited_by,sid)"
    " VALUES(?1,?2,1,?14,?3,?15,?4,?5,?6,?7,0,0,0,?8,?9,0,?10,?9,0,?11,?12,?13,?16,?17)");

Status SessionOpenings::insert(const Beginning& how, std::string_view name,
                               const SessionSettings& settings, bool device, SessionKey* session) {
  {
    // Epoch 0 means none: the first claim takes one.
    Statement insert = connection_.use(kInsertRow);
    insert.bind(how.scope).bind_text(name);
    insert.bind(settings.fail_on_loss ? 1 : 0).bind(settings.exclusive ? 1 : 0);
    insert.bind_or_null(settings.idle_timeout.count());
    settings.notify ? insert.bind(how.asks) : insert.bind_null();
    insert.bind(stored(how.refusal.empty() ? rules::State::kOpen : rules::State::kRefused));
    insert.bind(batch_.boot_seq).bind(batch_.now).bind(batch_.stamp_ms);
    insert.bind_text_or_null(settings.owner_label).bind_text_or_null(settings.kind);
    insert.bind_text_or_null(how.refusal).bind(stored(how.lifecycle)).bind(device ? 1 : 0);
    insert.bind_or_null(how.limited_by);
    const std::optional<std::int64_t> id = context_.new_id();
    PAWL_TRY(fail(insert.bind_or_null(id).run(), "open a session"));
    *session = context_.inserted_id(id);
  }
  if (how.lifecycle == Lifecycle::kShared) return Status::kOk;
  if (how.refusal.empty()) PAWL_TRY(set_limits(*session, settings));
  return report(*session, how);
}

constexpr auto kBeginAnew = PAWL_QUERY(
    "UPDATE sessions SET gen=gen+1,fail=?2,excl=?3,"
    "idle_ms=?4,notify=?5,last_activity_at=?6,created_stamp=?7,created_at=?6,"
    "activities=0,leak=0,hold_until=0,owner_label=?8,kind=?9,ended=?10,look_at=NULL,"
    "expires_at=NULL,limits=NULL,given=NULL,rate_at=iif(?13,rate_at,NULL),limited_by=?12,"
    "folder_root=NULL,lifecycle=?11 WHERE sid=?1",
    kLookMoves);

Status SessionOpenings::begin_anew(SessionKey session, const Beginning& how,
                                   const SessionSettings& settings) {
  rules::SessionRow row;
  PAWL_TRY(rows_.sessions.read_row(session, &row));
  {
    Statement open = connection_.use(kBeginAnew);
    open.bind(session);
    open.bind(settings.fail_on_loss ? 1 : 0).bind(settings.exclusive ? 1 : 0);
    open.bind_or_null(settings.idle_timeout.count());
    settings.notify ? open.bind(how.asks) : open.bind_null();
    open.bind(batch_.now).bind(batch_.stamp_ms);
    open.bind_text_or_null(settings.owner_label).bind_text_or_null(settings.kind);
    open.bind_text_or_null(how.refusal).bind(stored(how.lifecycle));
    open.bind_or_null(how.limited_by).bind(how.keeps_rate ? 1 : 0);
    PAWL_TRY(fail(open.run(), "open a session again"));
  }
  const rules::Trigger cause = !how.refusal.empty()        ? rules::Trigger::kRefuse
                               : rules::is_open(row.state) ? rules::Trigger::kBeginAnew
                                                           : rules::Trigger::kOpenAgain;
  PAWL_TRY(owners_.apply(session, rules::transition(row, cause, {}), {}, nullptr));
  if (how.refusal.empty()) PAWL_TRY(set_limits(session, settings));
  PAWL_TRY(set_session_tag(session, {}, {}));
  return how.lifecycle == Lifecycle::kShared ? Status::kOk : report(session, how);
}

Status SessionOpenings::begin_anew_after_limit(SessionKey session, std::string_view why) {
  rules::SessionRow row;
  PAWL_TRY(rows_.sessions.read_row(session, &row));
  SessionSettings had;
  Beginning how;
  PAWL_TRY(read_settings(session, &had, &how));
  const SessionSettings stay = rules::settings_that_stay(had);
  how.keeps_rate = rules::limits_work(stay);
  how.lifecycle = how.keeps_rate ? Lifecycle::kSharedUsed : Lifecycle::kShared;
  if (!how.keeps_rate) how.limited_by = 0;
  if (!rules::is_open(row.state)) return begin_anew(session, how, stay);
  SessionTexts texts;
  PAWL_TRY(rows_.events.describe(session, &texts));
  SessionChange end = texts.change(SessionChange::Kind::kExpired);
  end.reason = why;
  PAWL_TRY(rows_.events.notify_change(session, end));
  PAWL_TRY(rows_.events.report_end(end));
  return begin_anew(session, how, stay);
}

Status SessionOpenings::report(SessionKey session, const Beginning& how) {
  const bool is_open = how.refusal.empty();
  return rows_.events.report_session(
      session, is_open ? SessionChange::Kind::kOpened : SessionChange::Kind::kRefused, how.refusal);
}

constexpr auto kReadSettings = PAWL_QUERY(
    "SELECT fail,excl,coalesce(idle_ms,0) AS idle_ms,coalesce(notify,0) AS "
    "notify,coalesce(owner_label,'') AS owner_label,"
    "coalesce(kind,'') AS kind,coalesce(limits,'') AS limits,created_at,expires_at,look_at,hard,"
    "coalesce(limited_by,0) AS limited_by FROM sessions WHERE sid=?1");
constexpr auto kNoteWhose = PAWL_QUERY("UPDATE sessions SET limited_by=?2 WHERE sid=?1");
// A changed rate begins with a full bucket. Limits that an operator sets belong to no instance.
constexpr auto kChangeSettings = PAWL_QUERY(
    "UPDATE sessions SET fail=?2,excl=?3,idle_ms=?4,notify=?5,owner_label=?6,kind=?7,limits=?8,"
    "expires_at=?9,look_at=?10,given=coalesce(given,0),rate_at=iif(coalesce(limits,'')=coalesce(?8,"
    "''),rate_at,NULL),"
    "lifecycle=?11,last_activity_at=coalesce(?12,last_activity_at),"
    "limited_by=iif(?13 IS NULL AND coalesce(limits,'')=coalesce(?8,'')"
    " AND (expires_at=?9 OR (expires_at IS NULL AND ?9 IS NULL)),limited_by,?13) WHERE sid=?1",
    kLookMoves);

Status SessionOpenings::change(SessionKey session, const Beginning& how,
                               const SessionSettings& settings) {
  bool changes = false;
  bool is_anothers = false;
  PolicyText limits;
  if (rules::keeps_settings(settings) && !encode_settings(settings, &limits))
    return fail(Status::kInvalidArgument, "keep the limits of a session");
  bool exclusive = settings.exclusive;
  bool fails = false;
  InstanceKey notify = settings.notify ? how.asks : 0;
  rules::Expiry expiry;
  {
    Statement is = connection_.use(kReadSettings);
    is.bind(session);
    if (!is.row()) return fail(is.status(), "read a session's settings");
    // Other instances may count on the settings that they asked for.
    if (how.scope == 0) exclusive = exclusive || is.integer(PAWL_COLUMN(kReadSettings, excl)) != 0;
    if (notify == 0 && is.integer(PAWL_COLUMN(kReadSettings, notify)) != how.asks && how.scope == 0)
      notify = is.integer(PAWL_COLUMN(kReadSettings, notify));
    // A device lives as long as its declarations.
    const bool device = is.integer(PAWL_COLUMN(kReadSettings, hard)) != 0;
    fails = settings.fail_on_loss && !device;
    if (!device)
      expiry = rules::expiry_of(settings, is.integer(PAWL_COLUMN(kReadSettings, created_at)));
    const bool has_same_end =
        expiry.expires_at == is.optional_ms(PAWL_COLUMN(kReadSettings, expires_at));
    if (has_same_end)
      expiry.look_at = rules::age_look_after_change(
          is.optional_ms(PAWL_COLUMN(kReadSettings, look_at)), expiry.look_at);
    if (!device) expiry.look_at.keep_earlier(rules::first_idle_look(settings, batch_.now));
    changes = !has_same_end || (is.integer(PAWL_COLUMN(kReadSettings, fail)) != 0) != fails ||
              (is.integer(PAWL_COLUMN(kReadSettings, excl)) != 0) != exclusive ||
              is.integer(PAWL_COLUMN(kReadSettings, idle_ms)) != settings.idle_timeout.count() ||
              is.integer(PAWL_COLUMN(kReadSettings, notify)) != notify ||
              is.bytes(PAWL_COLUMN(kReadSettings, owner_label)) != settings.owner_label.view() ||
              is.bytes(PAWL_COLUMN(kReadSettings, kind)) != settings.kind.view() ||
              is.bytes(PAWL_COLUMN(kReadSettings, limits)) != limits.view();
    is_anothers =
        how.limited_by != 0 && is.integer(PAWL_COLUMN(kReadSettings, limited_by)) != how.limited_by;
  }
  if (!changes) return is_anothers ? note_whose(session, how.limited_by) : Status::kOk;
  {
    Statement write = connection_.use(kChangeSettings);
    write.bind(session).bind(fails ? 1 : 0).bind(exclusive ? 1 : 0);
    write.bind_or_null(settings.idle_timeout.count()).bind_or_null(notify);
    write.bind_text_or_null(settings.owner_label).bind_text_or_null(settings.kind);
    write.bind_text_or_null(limits.view()).bind_optional(expiry.expires_at);
    write.bind_due(expiry.look_at, kLookComes).bind(stored(how.lifecycle));
    // Silence before the change does not count against these settings.
    settings.idle_close.count() != 0 ? write.bind(batch_.now) : write.bind_null();
    write.bind_or_null(how.limited_by);
    PAWL_TRY(fail(write.run(), "change a session's settings"));
  }
  PAWL_TRY(rows_.sessions.recompute_head(session));
  return rows_.events.report_session(session, SessionChange::Kind::kSettings, {});
}

// Notes the instance that last asked for the settings in force.
Status SessionOpenings::note_whose(SessionKey session, InstanceKey instance) {
  Statement note = connection_.use(kNoteWhose);
  return fail(note.bind(session).bind(instance).run(), "note whose settings a session has");
}

// The text holds all settings, if a decision needs more of them than the columns hold.
Status SessionOpenings::read_settings(SessionKey session, SessionSettings* out, Beginning* how) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, session);
  Statement is = connection_.use(kReadSettings);
  is.bind(session);
  if (!is.row()) return fail(is.status(), "read a session's settings");
  if (!decode_settings(is.bytes(PAWL_COLUMN(kReadSettings, limits)), out)) *out = SessionSettings();
  out->fail_on_loss = is.integer(PAWL_COLUMN(kReadSettings, fail)) != 0;
  out->exclusive = is.integer(PAWL_COLUMN(kReadSettings, excl)) != 0;
  out->idle_timeout = std::chrono::milliseconds(is.integer(PAWL_COLUMN(kReadSettings, idle_ms)));
  how->asks = is.integer(PAWL_COLUMN(kReadSettings, notify));
  how->limited_by = is.integer(PAWL_COLUMN(kReadSettings, limited_by));
  out->notify = how->asks != 0;
  out->owner_label = is.bytes(PAWL_COLUMN(kReadSettings, owner_label));
  out->kind = is.bytes(PAWL_COLUMN(kReadSettings, kind));
  const std::int64_t age =
      is.is_null(PAWL_COLUMN(kReadSettings, expires_at))
          ? 0
          : subtract_saturating(is.integer(PAWL_COLUMN(kReadSettings, expires_at)),
                                is.integer(PAWL_COLUMN(kReadSettings, created_at)));
  out->max_age = std::chrono::milliseconds(age);
  return Status::kOk;
}

constexpr auto kSetTag = PAWL_QUERY("UPDATE sessions SET tag=?2 WHERE sid=?1");

Status SessionOpenings::set_session_tag(SessionKey session, std::string_view tag,
                                        std::string_view summary) {
  {
    Statement set = connection_.use(kSetTag);
    set.bind(session).bind_text_or_null(tag);
    PAWL_TRY(fail(set.run(), "hand a session over"));
  }
  ++context_.made_ready;
  PAWL_TRY(rows_.unregistered.wake_waiting_of(session));
  if (summary.empty()) return rows_.sessions.drop_summary(session);
  return rows_.sessions.put_summary(session, summary);
}

constexpr auto kSetLimits =
    PAWL_QUERY("UPDATE sessions SET expires_at=?2,look_at=?3,limits=?4 WHERE sid=?1");

Status SessionOpenings::set_limits(SessionKey session, const SessionSettings& settings) {
  const bool keeps = rules::keeps_settings(settings);
  rules::Expiry expiry = rules::expiry_of(settings, batch_.now);
  if (!expiry.expires_at.has_value() && !keeps) return Status::kOk;
  expiry.look_at.keep_earlier(rules::first_idle_look(settings, batch_.now));
  PolicyText text;
  if (keeps && !encode_settings(settings, &text))
    return fail(Status::kInvalidArgument, "keep the limits of a session");
  Statement set = connection_.use(kSetLimits);
  set.bind(session).bind_optional(expiry.expires_at).bind_due(expiry.look_at, kLookComes);
  set.bind_text_or_null(text.view());
  return fail(set.run(), "limit a session");
}

constexpr auto kCountWork = PAWL_QUERY("UPDATE sessions SET given=?2,rate_at=?3 WHERE sid=?1");

Status SessionOpenings::admit_work(const Opened& row, rules::LimitOf limit, AdmittedWork* out) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, row.session);
  if (row.limits.empty()) return Status::kOk;
  Diagnostic why;
  SessionSettings settings;
  if (!decode_settings(row.limits.view(), &settings)) {
    out->why = ErrorKind::kCorrupt;
    out->text.assign_cut("the stored limits of the session cannot be read");
    return Status::kOk;
  }
  if (!rules::limits_work(settings)) return Status::kOk;
  const rules::Admission admission =
      rules::admit_work(settings, {row.given, row.rate_at}, limit, batch_.now);
  switch (admission.verdict) {
    case rules::Admitted::kTooMany:
      out->why = ErrorKind::kLimit;
      why.format("the session has had its %" PRId64
                 " activities (max_activities): close it with close_session(), and open it again",
                 settings.max_activities);
      out->text.assign_cut(why.text());
      return Status::kOk;
    case rules::Admitted::kBeginsAnew: out->begins_anew = true; return Status::kOk;
    case rules::Admitted::kTooFast:
      out->why = ErrorKind::kRateLimited;
      why.format("more activities of the session than rate_burst (%" PRId64
                 ") and one every rate_interval_ms (%" PRId64 "): again in %" PRId64 " ms",
                 settings.rate_burst, settings.rate_interval.count(), admission.again_in_ms);
      out->text.assign_cut(why.text());
      return Status::kOk;
    case rules::Admitted::kLater: out->due = admission.due; break;
    case rules::Admitted::kAtOnce: break;
  }
  {
    Statement count = connection_.use(kCountWork);
    count.bind(row.session).bind(admission.next.given);
    count.bind_optional(admission.next.rate_at);
    PAWL_TRY(fail(count.run(), "count a session's work"));
  }
  return admission.warns ? rows_.events.report_near_limit(row.session, settings) : Status::kOk;
}

}  // namespace pawl::store
