#include "notices.hpp"

#include <algorithm>

#include "hash.hpp"

namespace pawl {

void Notices::begin() {
  count_ = 0;
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
    std::visit([&](const auto& one) { report(one); }, notices_[i]);
  count_ = 0;
  loop_.stats.session_ends = ended_;
  if (lost_ == 0) return;
  const LogField fields[] = {{"count", static_cast<std::int64_t>(lost_)}};
  loop_.log(LogLevel::kWarning, "notices_lost", fields, 1);
  lost_ = 0;
}

bool Notices::has_session_change(std::initializer_list<SessionChange::Kind> kinds) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const OfSession* const notice = std::get_if<OfSession>(&notices_[i]);
    if (notice == nullptr) continue;
    for (const SessionChange::Kind kind : kinds)
      if (notice->kind == kind) return true;
  }
  return false;
}

bool Notices::has_ended_sessions() const {
  using Kind = SessionChange::Kind;
  return lost_ > 0 ||
         has_session_change({Kind::kLost, Kind::kClosed, Kind::kExpired, Kind::kSwept});
}

bool Notices::has_lost_sessions() const {
  return has_session_change({SessionChange::Kind::kLost, SessionChange::Kind::kExpired});
}

// ---- the log --------------------------------------------------------------------------------------------

void Notices::report(const Poisoned& notice) {
  ++loop_.stats.poisoned;
  const Name id = id_of(notice.instance);
  const LogField fields[] = {
      {"instance", id.view()}, {"event", notice.event}, {"text", notice.text.view()}};
  loop_.log(LogLevel::kError, "activity_poisoned", fields, 3);
}

void Notices::report(const UnregisteredActivity& notice) {
  const Name id = id_of(notice.instance);
  const LogField fields[] = {{"instance", id.view()},
                             {"activity", notice.name.view()},
                             {"tag", notice.tag.view()},
                             {"event", notice.event}};
  loop_.log(LogLevel::kError, "activity_unregistered", fields, 4);
}

// Another worker that lives may have the name, and only be busy: the error is logged if none has
// begun the instance by the next look.
void Notices::report(const UnregisteredOrchestration& notice) {
  WorkerRow alive[2];  // this one, and another
  std::size_t count = 0;
  const Status status = loop_.workers().list_workers(alive, 2, &count);
  if (status == Status::kOk && count > 1 && unregistered_.push_back(notice) == Status::kOk) return;
  log_unregistered(notice);
}

void Notices::log_unregistered(const UnregisteredOrchestration& notice) {
  const Name id = id_of(notice.instance);
  const LogField fields[] = {{"instance", id.view()},
                             {"orchestration", notice.name.view()},
                             {"version", notice.version.view()},
                             {"behaviour", notice.behaviour}};
  loop_.log(LogLevel::kError, "orchestration_unregistered", fields, 4);
}

void Notices::look_at_unregistered() {
  for (const UnregisteredOrchestration& notice : unregistered_) {
    Name id;
    bool is_unregistered = false;
    const Status status = loop_.instances().read_id(notice.instance, &id, &is_unregistered);
    if (status == Status::kOk && is_unregistered) {
      log_unregistered(notice);
    } else {
      forget_name(notice.name.view(), notice.version.view());
    }
  }
  unregistered_.clear();
}

// Empty: it was removed meanwhile.
notice::Name Notices::id_of(InstanceKey instance) const {
  Name id;
  if (loop_.instances().read_id(instance, &id, nullptr) != Status::kOk) id.clear();
  return id;
}

void Notices::report(const RefusedStart& notice) {
  const Name starter = id_of(notice.instance);
  const LogField fields[] = {
      {"id", notice.id.view()}, {"instance", starter.view()}, {"event", notice.event}};
  loop_.log(LogLevel::kWarning, "start_refused", fields, 3);
}

void Notices::report(const DamagedRow& notice) {
  ++loop_.stats.rows_quarantined;
  const LogField fields[] = {{"table", notice.table.view()},
                             {"key", notice.key},
                             {"instance", notice.instance.view()},
                             {"text", notice.text.view()}};
  loop_.log(LogLevel::kError, "row_quarantined", fields, 4);
}

void Notices::report(const OfSession& notice) {
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
                             {"activities", notice.activities},
                             {"idle_ms", notice.idle_ms}};  // of a release for idleness alone
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
      if (notice.reason.view() == "idle") ++count;
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

// ---- ChangeSink: in the batch ---------------------------------------------------------------------------

template <typename Kind>
Kind* Notices::add() {
  if (count_ == kNoticesMax) {
    ++lost_;
    return nullptr;
  }
  return &notices_[count_++].emplace<Kind>();
}

void Notices::on_session_change(const SessionChange& change) {
  if (change.is_end) ended_.add(change.age_ms, change.activities);
  if (change.kind == SessionChange::Kind::kUsed && note_use(change)) return;
  OfSession* const notice = add<OfSession>();
  if (notice == nullptr) return;
  notice->kind = change.kind;
  notice->eviction = change.eviction;
  notice->epoch = change.epoch;
  notice->resumed = change.resumed;
  notice->age_ms = change.age_ms;
  notice->activities = change.activities;
  notice->idle_ms = change.idle_ms;
  notice->session.assign_cut(change.session);
  notice->opened_by.assign_cut(change.instance);
  notice->owner_label.assign_cut(change.owner_label);
  notice->label_kind.assign_cut(change.label_kind);
  notice->from.assign_cut(change.from);
  notice->to.assign_cut(change.to);
  notice->reason.assign_cut(change.reason);
}

// Mostly with the claim of the session: it takes no room of other notices then.
bool Notices::note_use(const SessionChange& use) {
  for (std::size_t i = 0; i < count_; ++i) {
    OfSession* const notice = std::get_if<OfSession>(&notices_[i]);
    if (notice == nullptr) continue;
    const bool is_claim = notice->kind == SessionChange::Kind::kClaimed ||
                          notice->kind == SessionChange::Kind::kMigrated;
    if (!is_claim || notice->epoch != use.epoch || notice->opened_by.view() != use.instance)
      continue;
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
  if (name_count_ == kUnregisteredNamesMax || count_ == kNoticesMax) return false;
  names_[name_count_++] = hash;
  return true;
}

// A later one of the name is news.
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
  auto* const notice = add<UnregisteredActivity>();
  if (notice == nullptr) return;
  notice->instance = instance;
  notice->event = event;
  notice->name.assign_cut(activity);
  notice->tag.assign_cut(tag);
}

// Not every version is known to belong to the name.
void Notices::on_unregistered_instance(std::string_view name, std::string_view version,
                                       std::int64_t behaviour, InstanceKey instance) {
  if (!is_new_name(name, version)) return;
  auto* const notice = add<UnregisteredOrchestration>();
  if (notice == nullptr) return;
  notice->instance = instance;
  notice->behaviour = behaviour;
  notice->name.assign_cut(name);
  notice->version.assign_cut(version);
}

void Notices::on_start_refused(std::string_view id, InstanceKey instance, EventId event) {
  auto* const notice = add<RefusedStart>();
  if (notice == nullptr) return;
  notice->instance = instance;
  notice->event = event;
  notice->id.assign_cut(id);
}

void Notices::on_poison(InstanceKey instance, EventId event, std::string_view why) {
  auto* const notice = add<Poisoned>();
  if (notice == nullptr) return;
  notice->instance = instance;
  notice->event = event;
  notice->text.assign_cut(why);
}

void Notices::on_damage(RowRef row, std::string_view instance, std::string_view text) {
  auto* const notice = add<DamagedRow>();
  if (notice == nullptr) return;
  notice->key = row.key;
  notice->table.assign_cut(table_name(row.table));
  notice->instance.assign_cut(instance);
  notice->text.assign_cut(text);
}

}  // namespace pawl
