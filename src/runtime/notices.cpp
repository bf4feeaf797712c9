// What a batch tells: kept while it is written, told in the log and counted when it is committed.
#include "hash.hpp"
#include "runtime_core.hpp"

namespace pawl {

void RuntimeCore::tell_abandoned(const Turn& turn) {
  const bool stopped = turn.delay_ms == Provider::kStoppedForGood;
  OrchestrationStats* const named =
      orchestration_stats(turn.item->name.view(), turn.item->version.view());
  if (stopped && named != nullptr) ++named->stopped;
  const LogField fields[] = {{"instance", turn.item->id.view()},
                             {"kind", error_kind_name(turn.why)},
                             {"text", turn.why_text}};
  loop_.log(stopped ? LogLevel::kError : LogLevel::kWarning,
            stopped ? "instance_stopped" : "instance_parked", fields, 3);
}

void RuntimeCore::tell_unknown(const Notice& notice) {
  const bool is_activity = notice.event != 0;
  const LogField fields[] = {
      {"instance", notice.instance},
      {is_activity ? "activity" : "orchestration", notice.session.view()},
      {is_activity ? "tag" : "version", notice.to.view()},
      {is_activity ? "event" : "behaviour",
       is_activity ? static_cast<std::int64_t>(notice.event) : notice.epoch}};
  loop_.log(LogLevel::kError, is_activity ? "activity_unregistered" : "orchestration_unregistered",
            fields, 4);
}

void RuntimeCore::tell_notices() {
  loop_.stats.unregistered += unknown_met_;
  unknown_met_ = 0;
  unknown_committed_ = unknown_count_;
  for (const Notice& notice : notices_) {
    if (notice.poison) {
      ++loop_.stats.poisoned;
      const LogField fields[] = {
          {"instance", notice.instance}, {"event", notice.event}, {"text", notice.reason.view()}};
      loop_.log(LogLevel::kError, "activity_poisoned", fields, 3);
      continue;
    }
    if (notice.unregistered) {
      tell_unknown(notice);
      continue;
    }
    if (notice.damaged) {
      log_damage(notice);
      continue;
    }
    if (notice.start_refused) {
      const LogField fields[] = {
          {"id", notice.session.view()}, {"instance", notice.instance}, {"event", notice.event}};
      loop_.log(LogLevel::kWarning, "start_refused", fields, 3);
      continue;
    }
    tell_session_change(notice);
  }
  notices_.clear();
  loop_.stats.session_ends = ended_;
  if (notices_lost_ == 0) return;
  const LogField fields[] = {{"count", static_cast<std::int64_t>(notices_lost_)}};
  loop_.log(LogLevel::kWarning, "notices_lost", fields, 1);
  notices_lost_ = 0;
}

void RuntimeCore::tell_session_change(const Notice& notice) {
  const LogField fields[] = {{"session", notice.session.view()},
                             {"epoch", notice.epoch},
                             {"to", notice.to.view()},
                             {"from", notice.from.view()},
                             {"reason", notice.reason.view()},
                             {"resumed", notice.resumed ? 1 : 0},
                             {"instance", notice.opened_by.view()},
                             {"owner", notice.owner_label.view()},
                             {"kind", notice.label_kind.view()},
                             {"age_ms", notice.age_ms},
                             {"activities", notice.activities}};
  constexpr std::size_t kFields = sizeof fields / sizeof fields[0];
  std::size_t count = kFields;
  LogLevel level = LogLevel::kInfo;
  const char* event = "session_swept";
  switch (notice.kind) {
    case SessionChange::Kind::kClaimed:
      event = "session_claimed";
      ++loop_.stats.sessions_claimed;
      break;
    case SessionChange::Kind::kMigrated:
      event = "session_migrated";
      ++loop_.stats.sessions_migrated;
      break;
    case SessionChange::Kind::kReleased:
      event = "session_released";
      ++loop_.stats.sessions_released;
      if (notice.reason == "blocked") ++loop_.stats.sessions_evicted;
      if (notice.reason == "capacity") ++loop_.stats.sessions_evicted_idle;
      break;
    case SessionChange::Kind::kLost:
      event = "session_lost";
      ++loop_.stats.sessions_lost;
      break;
    case SessionChange::Kind::kOpened:
      event = "session_created";
      ++loop_.stats.sessions_opened;
      break;
    case SessionChange::Kind::kRefused:
      event = "session_refused";
      ++loop_.stats.sessions_refused;
      break;
    case SessionChange::Kind::kClosed:
      event = "session_closed";
      ++loop_.stats.sessions_closed;
      break;
    case SessionChange::Kind::kExpired:
      event = "session_expired";
      ++loop_.stats.sessions_expired;
      break;
    case SessionChange::Kind::kLeak:
      ++loop_.stats.session_leaks;
      return loop_.log(LogLevel::kWarning, "session_leak", fields, kFields);
    case SessionChange::Kind::kNearLimit:
      event = "session_near_limit";
      level = LogLevel::kWarning;
      break;
    case SessionChange::Kind::kUsed: return tell_use(notice);
    case SessionChange::Kind::kConflict:
      event = "session_property_conflict";
      count = kFields - 2;
      break;
    case SessionChange::Kind::kStopFailed:
      event = "session_stop_failed";
      count = kFields - 2;
      break;
    case SessionChange::Kind::kSwept: count = kFields - 2; break;
    case SessionChange::Kind::kExpiring:
    case SessionChange::Kind::kEnding: break;  // no change of the owner: its instance alone is told
  }
  loop_.log(level, event, fields, count);
  if (notice.used) tell_use(notice);
}

void RuntimeCore::tell_use(const Notice& notice) {
  const LogField fields[] = {{"session", notice.session.view()},
                             {"epoch", notice.epoch},
                             {"to", notice.to.view()},
                             {"instance", notice.opened_by.view()},
                             {"owner", notice.owner_label.view()},
                             {"kind", notice.label_kind.view()},
                             {"age_ms", notice.age_ms},
                             {"activities", notice.activities}};
  loop_.log(LogLevel::kInfo, "session_used", fields, sizeof fields / sizeof fields[0]);
}

void RuntimeCore::tell_clock() {
  if (loop_.batch.clock_adopted) {
    const LogField fields[] = {{"boot_seq", loop_.batch.boot_seq}};
    loop_.log(LogLevel::kInfo, "clock_adopted", fields, 1);
  }
  if (loop_.batch.clock_confirmed) synced_this_boot_ = true;
  if (loop_.batch.clock_credit_ms != 0) {
    const LogField fields[] = {{"credit_ms", loop_.batch.clock_credit_ms}};
    loop_.log(LogLevel::kInfo, "clock_credited", fields, 1);
    loop_.agenda.do_now(Job::kTurns);
  }
}

void RuntimeCore::begin_telling() {
  notices_.clear();
  notices_lost_ = 0;
  ended_ = loop_.stats.session_ends;
}

void RuntimeCore::on_session_change(const SessionChange& change) {
  if (change.is_end) ended_.add(change.age_ms, change.activities);
  if (change.kind == SessionChange::Kind::kUsed && note_use(change)) return;
  Notice* const notice = notices_.add();
  if (notice == nullptr) {
    ++notices_lost_;
    return;
  }
  notice->kind = change.kind;
  notice->epoch = change.epoch;
  notice->resumed = change.resumed;
  notice->age_ms = change.age_ms;
  notice->activities = change.activities;
  notice->session.assign_cut(change.session);
  notice->opened_by.assign_cut(change.instance);
  notice->owner_label.assign_cut(change.owner_label);
  notice->label_kind.assign_cut(change.label_kind);
  notice->from.assign_cut(change.from);
  notice->to.assign_cut(change.to);
  notice->reason.assign_cut(change.reason);
}

// With the claim, mostly: it takes no room of other notices then.
bool RuntimeCore::note_use(const SessionChange& use) {
  for (Notice& notice : notices_) {
    const bool is_claim = notice.kind == SessionChange::Kind::kClaimed ||
                          notice.kind == SessionChange::Kind::kMigrated;
    if (!is_claim || notice.epoch != use.epoch || notice.opened_by.view() != use.instance) continue;
    notice.used = true;
    return true;
  }
  return false;
}

void RuntimeCore::on_unregistered(std::string_view activity, std::string_view tag,
                                  InstanceKey instance, EventId event) {
  Notice* const notice = note_unknown(activity, tag, instance);
  if (notice != nullptr) notice->event = event;
}

// The version of an orchestration is not known to be one of the name's; its behaviour is in `epoch`.
void RuntimeCore::on_stranger(std::string_view name, std::string_view version,
                              std::int64_t behaviour, InstanceKey instance) {
  Notice* const notice = note_unknown(name, version, instance);
  if (notice != nullptr) notice->epoch = behaviour;
}

RuntimeCore::Notice* RuntimeCore::note_unknown(std::string_view name, std::string_view detail,
                                               InstanceKey instance) {
  ++unknown_met_;
  const std::uint64_t hash = Hash64().add(name).add(detail).value();
  for (std::size_t i = 0; i < unknown_count_; ++i)
    if (unknown_names_[i] == hash) return nullptr;
  if (unknown_count_ == kUnknownNamesMax) return nullptr;
  Notice* const notice = notices_.add();
  if (notice == nullptr) return nullptr;
  unknown_names_[unknown_count_++] = hash;
  notice->unregistered = true;
  notice->instance = instance;
  notice->session.assign_cut(name);
  notice->to.assign_cut(detail);
  return notice;
}

void RuntimeCore::on_start_refused(std::string_view id, InstanceKey instance, EventId event) {
  Notice* const notice = notices_.add();
  if (notice == nullptr) {
    ++notices_lost_;
    return;
  }
  notice->start_refused = true;
  notice->instance = instance;
  notice->event = event;
  notice->session.assign_cut(id);
}

void RuntimeCore::on_poison(InstanceKey instance, EventId event, std::string_view why) {
  Notice* const notice = notices_.add();
  if (notice == nullptr) {
    ++notices_lost_;
    return;
  }
  notice->poison = true;
  notice->instance = instance;
  notice->event = event;
  notice->reason.assign_cut(why);
}

}  // namespace pawl
