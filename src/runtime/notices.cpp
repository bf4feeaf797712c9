#include "runtime/notices.hpp"

#include <algorithm>
#include <cstring>

#include "core/hash.hpp"

namespace pawl {

void Notices::begin() {
  count_ = 0;
  text_bytes_ = 0;
  lost_ = 0;
  ended_ = loop_.stats.session_ends;
  unregistered_met_ = 0;
  name_count_ = names_committed_;
}

void Notices::committed() {
  loop_.stats.unregistered += unregistered_met_;
  unregistered_met_ = 0;
  names_committed_ = name_count_;
  for (std::size_t i = 0; i < count_; ++i)
    std::visit([&](const auto& one) { report(one); }, memory_.notices[i]);
  count_ = 0;
  loop_.stats.session_ends = ended_;
  if (lost_ == 0) return;
  loop_.log(LogLevel::kWarning, "notices_lost", {{"count", static_cast<std::int64_t>(lost_)}});
  lost_ = 0;
}

bool Notices::has_session_change(std::initializer_list<SessionChange::Kind> kinds) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const OfSession* const notice = std::get_if<OfSession>(&memory_.notices[i]);
    if (notice == nullptr) continue;
    for (const SessionChange::Kind kind : kinds)
      if (notice->kind == kind) return true;
  }
  return false;
}

std::string_view Notices::session_of(SessionKey key) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const OfSession* const notice = std::get_if<OfSession>(&memory_.notices[i]);
    if (notice != nullptr && notice->key == key) return notice->session;
  }
  return {};
}

bool Notices::has_ended_sessions() const {
  using Kind = SessionChange::Kind;
  return lost_ > 0 ||
         has_session_change({Kind::kLost, Kind::kClosed, Kind::kExpired, Kind::kSwept});
}

bool Notices::has_lost_sessions() const {
  return lost_ > 0 ||
         has_session_change({SessionChange::Kind::kLost, SessionChange::Kind::kExpired});
}

// ---- the log ----

void Notices::report(const Poisoned& notice) {
  ++loop_.stats.poisoned;
  const Name id = id_of(notice.instance);
  loop_.log(LogLevel::kError, "activity_poisoned",
            {{"instance", id.view()}, {"event", notice.event}, {"text", notice.text}});
}

void Notices::report(const UnregisteredActivity& notice) {
  const Name id = id_of(notice.instance);
  loop_.log(LogLevel::kError, "activity_unregistered",
            {{"instance", id.view()},
             {"activity", notice.name},
             {"tag", notice.tag},
             {"event", notice.event}});
}

// Another living worker may have the name, and only be busy. So the error is logged if no worker
// has begun the instance by the next look.
void Notices::report(const UnregisteredOrchestration& notice) {
  WorkerRow alive[2];  // this worker and one other
  std::size_t count = 0;
  const Status status = loop_.worker().list_workers(alive, 2, &count);
  Unregistered kept;
  kept.instance = notice.instance;
  kept.behaviour = notice.behaviour;
  kept.name.assign_cut(notice.name);
  kept.version.assign_cut(notice.version);
  if (status == Status::kOk && count > 1 && unregistered_.push_back(kept) == Status::kOk) return;
  log_unregistered(kept);
}

void Notices::log_unregistered(const Unregistered& notice) {
  const Name id = id_of(notice.instance);
  loop_.log(LogLevel::kError, "orchestration_unregistered",
            {{"instance", id.view()},
             {"orchestration", notice.name.view()},
             {"version", notice.version.view()},
             {"behaviour", notice.behaviour}});
}

void Notices::look_at_unregistered() {
  for (const Unregistered& notice : unregistered_) {
    Name id;
    bool is_unregistered = false;
    const Status status =
        loop_.instance().directory.read_id(notice.instance, &id, &is_unregistered);
    if (status == Status::kOk && is_unregistered) {
      log_unregistered(notice);
    } else {
      forget_name(notice.name.view(), notice.version.view());
    }
  }
  unregistered_.clear();
}

// Empty: the instance was removed meanwhile.
FixedText<kNameBytesMax> Notices::id_of(InstanceKey instance) const {
  Name id;
  if (loop_.instance().directory.read_id(instance, &id, nullptr) != Status::kOk) id.clear();
  return id;
}

void Notices::report(const RefusedCommand& notice) {
  const Name sender = id_of(notice.instance);
  loop_.log(LogLevel::kWarning, notice.is_message ? "message_refused" : "start_refused",
            {{"id", notice.id}, {"instance", sender.view()}, {"event", notice.event}});
}

void Notices::report(const DamagedRow& notice) {
  ++loop_.stats.rows_quarantined;
  loop_.log(LogLevel::kError, "row_quarantined",
            {{"table", notice.table},
             {"key", notice.key},
             {"instance", notice.instance},
             {"text", notice.text}});
}

void Notices::report(const OfSession& notice) {
  const LogField fields[] = {{"session", notice.session},
                             {"epoch", notice.epoch},
                             {"to", notice.to},
                             {"from", notice.from},
                             {"reason", notice.reason},
                             {"resumed", notice.resumed ? 1 : 0},
                             {"instance", notice.opened_by},
                             {"owner", notice.owner_label},
                             {"kind", notice.label_kind},
                             {"age_ms", notice.age_ms},
                             {"activities", notice.activities},
                             {"idle_ms", notice.idle_ms}};  // only for a release for idleness
  constexpr std::size_t kFields = sizeof fields / sizeof fields[0] - 1;
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
      if (notice.reason == "idle") ++count;
      if (notice.eviction == SessionChange::Eviction::kBlocked) ++loop_.stats.sessions_evicted;
      if (notice.eviction == SessionChange::Eviction::kCapacity)
        ++loop_.stats.sessions_evicted_idle;
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
    case SessionChange::Kind::kSettings: event = "session_settings"; break;
    case SessionChange::Kind::kOperation: event = "session_operation"; break;
    case SessionChange::Kind::kUsed: return log_use(notice);
    case SessionChange::Kind::kConflict:
      event = "session_property_conflict";
      count = kFields - 2;
      break;
    case SessionChange::Kind::kStopFailed:
      event = "session_stop_failed";
      count = kFields - 2;
      break;
    case SessionChange::Kind::kSwept: count = kFields - 2; break;
    case SessionChange::Kind::kClosing:
    case SessionChange::Kind::kExpiring:
    case SessionChange::Kind::kEnding:
      break;  // no change of the owner: only its instance is notified
  }
  loop_.log(level, event, fields, count);
  if (notice.used) log_use(notice);
}

void Notices::log_use(const OfSession& notice) {
  loop_.log(LogLevel::kInfo, "session_used",
            {{"session", notice.session},
             {"epoch", notice.epoch},
             {"to", notice.to},
             {"instance", notice.opened_by},
             {"owner", notice.owner_label},
             {"kind", notice.label_kind},
             {"age_ms", notice.age_ms},
             {"activities", notice.activities}});
}

// ---- ChangeSink: in the batch ----

template <typename Kind>
bool Notices::add(const Kind& notice, std::initializer_list<std::string_view Kind::*> texts) {
  Kind kept = notice;
  std::size_t bytes = text_bytes_;
  for (std::string_view Kind::*const text : texts) {
    kept.*text = cut_text(kept.*text, Diagnostic::kCapacity);
    bytes += (kept.*text).size();
  }
  if (count_ == memory_.notices_max || bytes > memory_.text_bytes_max) {
    ++lost_;
    return false;
  }
  for (std::string_view Kind::*const text : texts) {
    const std::string_view given = kept.*text;
    if (!given.empty()) std::memcpy(memory_.texts + text_bytes_, given.data(), given.size());
    kept.*text = {memory_.texts + text_bytes_, given.size()};
    text_bytes_ += given.size();
  }
  memory_.notices[count_++] = kept;
  return true;
}

void Notices::on_session_change(const SessionChange& change) {
  if (change.is_end) ended_.add(change.age_ms, change.activities);
  if (change.kind == SessionChange::Kind::kUsed && note_use(change)) return;
  OfSession notice;
  notice.kind = change.kind;
  notice.eviction = change.eviction;
  notice.epoch = change.epoch;
  notice.resumed = change.resumed;
  notice.age_ms = change.age_ms;
  notice.activities = change.activities;
  notice.idle_ms = change.idle_ms;
  notice.key = change.key;
  notice.session = change.session;
  notice.opened_by = change.instance;
  notice.owner_label = change.owner_label;
  notice.label_kind = change.label_kind;
  notice.from = change.from;
  notice.to = change.to;
  notice.reason = change.reason;
  static_cast<void>(
      add(notice, {&OfSession::session, &OfSession::opened_by, &OfSession::owner_label,
                   &OfSession::label_kind, &OfSession::from, &OfSession::to, &OfSession::reason}));
}

// A use mostly comes with the claim of its session. Then it takes no room from other notices.
bool Notices::note_use(const SessionChange& use) {
  for (std::size_t i = 0; i < count_; ++i) {
    OfSession* const notice = std::get_if<OfSession>(&memory_.notices[i]);
    if (notice == nullptr) continue;
    const bool is_claim = notice->kind == SessionChange::Kind::kClaimed ||
                          notice->kind == SessionChange::Kind::kMigrated;
    if (!is_claim || notice->epoch != use.epoch || notice->opened_by != use.instance) continue;
    notice->used = true;
    return true;
  }
  return false;
}

bool Notices::is_new_name(std::string_view name, std::string_view detail) {
  ++unregistered_met_;
  const std::uint64_t hash = Hash64().add(name).add(detail).value();
  for (std::size_t i = 0; i < name_count_; ++i)
    if (names_[i] == hash) return false;
  if (name_count_ == kUnregisteredNamesMax || count_ == memory_.notices_max) return false;
  names_[name_count_++] = hash;
  return true;
}

// A later notice of this name is logged again.
void Notices::forget_name(std::string_view name, std::string_view detail) {
  const std::uint64_t hash = Hash64().add(name).add(detail).value();
  std::uint64_t* const end = names_ + name_count_;
  std::uint64_t* const found = std::find(names_, end, hash);
  if (found == end) return;
  *found = names_[--name_count_];
  names_committed_ = name_count_;
}

void Notices::on_unregistered(std::string_view activity, std::string_view tag, InstanceKey instance,
                              EventId event) {
  if (!is_new_name(activity, tag)) return;
  static_cast<void>(add(UnregisteredActivity{instance, event, activity, tag},
                        {&UnregisteredActivity::name, &UnregisteredActivity::tag}));
}

// The version is part of the key, because a worker may have the name without this version.
void Notices::on_unregistered_instance(std::string_view name, std::string_view version,
                                       std::int64_t behaviour, InstanceKey instance) {
  if (!is_new_name(name, version)) return;
  static_cast<void>(add(UnregisteredOrchestration{instance, behaviour, name, version},
                        {&UnregisteredOrchestration::name, &UnregisteredOrchestration::version}));
}

void Notices::on_refused(const RefusedCommand& refusal) {
  static_cast<void>(add(RefusedCommand(refusal), {&RefusedCommand::id}));
}

void Notices::on_poison(InstanceKey instance, EventId event, std::string_view why) {
  static_cast<void>(add(Poisoned{instance, event, why}, {&Poisoned::text}));
}

void Notices::on_damage(RowRef row, std::string_view instance, std::string_view text) {
  static_cast<void>(add(DamagedRow{row.key, table_name(row.table), instance, text},
                        {&DamagedRow::table, &DamagedRow::instance, &DamagedRow::text}));
}

}  // namespace pawl
