// Devices that the application declared, and what it is told of the sessions this worker owns.
#include "runtime_core.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kStopMs = 20'000;  // work of a session that moves has so long to end
constexpr std::size_t kStopsMax = 64;     // looked at in one tick

}  // namespace

// ---- declaring ------------------------------------------------------------------------------------------

Status RuntimeCore::write_declaration(const Request& request, bool* room) {
  if (request.kind == Request::Kind::kWithdraw)
    return provider_->withdraw_session(me_, request.id, kStopMs);
  const bool standby = request.kind == Request::Kind::kStandby;
  if (declared_.full() && find_declared(request.id) == nullptr) {
    *room = false;
    return Status::kOk;
  }
  return declare(request.id, standby);
}

Status RuntimeCore::declare(std::string_view device, bool standby) {
  DeclareSession how;
  how.me = me_;
  how.device = device;
  how.standby = standby;
  how.stop_ms = kStopMs;
  bool held = false;
  const Status status = provider_->declare_session(how, evidence_, &held);
  if (status == Status::kDeviceHeld) log_status(LogLevel::kWarning, "device_refused", status);
  if (status == Status::kOk) look_for_work_ = true;
  return status;
}

// After the commit: what holds must be declared again when this worker registers anew.
void RuntimeCore::note_declaration(const Request& request) {
  if (request.status != Status::kOk) return;
  DeclaredDevice* known = find_declared(request.id);
  if (request.kind == Request::Kind::kWithdraw) {
    if (known != nullptr) known->withdrawing = true;
    return;
  }
  if (known == nullptr) known = declared_.add();
  if (known == nullptr) return;  // write_declaration() saw to it
  known->name.assign_cut(request.id);
  known->standby = request.kind == Request::Kind::kStandby;
  known->withdrawing = false;
}

// Work that runs on may keep a device where it is, and any worker may be the one who finds that out.
void RuntimeCore::settle_withdrawals() {
  for (std::size_t i = declared_.size(); i-- > 0;) {
    DeclaredDevice& device = declared_[i];
    if (!device.withdrawing) continue;
    const Status found = provider_->read_declaration(me_, device.name.view(), &device.withdrawing);
    if (found != Status::kNotFound) continue;
    device = declared_[declared_.size() - 1];
    declared_.pop_back();
  }
}

RuntimeCore::DeclaredDevice* RuntimeCore::find_declared(std::string_view name) {
  for (DeclaredDevice& device : declared_)
    if (device.name.view() == name) return &device;
  return nullptr;
}

// In the batch of a new registration, before its former one is buried: the hardware is still here. Who
// took a device over meanwhile keeps it.
Status RuntimeCore::declare_again() {
  for (const DeclaredDevice& device : declared_) {
    if (device.withdrawing) continue;
    const Status status = declare(device.name.view(), device.standby);
    if (status != Status::kOk && status != Status::kDeviceHeld) return status;
  }
  return Status::kOk;
}

// What moves sessions without anybody asking for work.
Status RuntimeCore::move_sessions() {
  PAWL_TRY(evict_hung());
  bool standby = false;
  for (const DeclaredDevice& device : declared_)
    standby = standby || device.standby;
  if (standby && (evidence_.watching() || port_.clock->boot_ms() >= next_renewal_))
    PAWL_TRY(provider_->take_devices_over(me_, options_.sessions, evidence_));
  std::size_t ended = 0;
  PAWL_TRY(provider_->end_stops(kStopsMax, &ended));
  if (ended > 0) look_for_work_ = true;
  return Status::kOk;
}

// A thread that does not come back may hold all that this worker has to serve a session with.
Status RuntimeCore::evict_hung() {
  Status status = Status::kOk;
  slots_.for_each([&](internal::Slot& slot) {
    slot.evicted = false;
    if (status == Status::kOk && slot.evicts && slot.is_under_way())
      status = provider_->evict_session(slot.done(), slot.item.session, me_, &slot.evicted);
  });
  return status;
}

// Told when it begins and when it ends; counted with each look.
void RuntimeCore::tell_capacity() {
  const auto waiting = static_cast<std::uint32_t>(sessions_waiting_);
  const bool is_news = (waiting > 0) != (stats_.sessions_waiting > 0);
  stats_.sessions_waiting = waiting;
  if (waiting > 0 && looked_for_work_) ++stats_.capacity_exhausted;
  looked_for_work_ = false;
  if (!is_news) return;
  const LogField fields[] = {
      {"sessions", static_cast<std::int64_t>(waiting)},
      {"max_sessions_per_worker",
       static_cast<std::int64_t>(options_.sessions.max_sessions_per_worker)}};
  log(LogLevel::kWarning, waiting > 0 ? "waiting_for_capacity" : "capacity_again", fields, 2);
}

// Between these looks work comes and goes without a count: that would be a query with every tick.
Status RuntimeCore::count_sessions() {
  Epoch last = 0;
  PAWL_TRY(provider_->last_epoch(&last));
  if (last == epoch_seen_ && port_.clock->boot_ms() < next_renewal_) return Status::kOk;
  return provider_->count_sessions(me_, &sessions_active_, &sessions_idle_);
}

void RuntimeCore::tell_evicted() {
  slots_.for_each([&](internal::Slot& slot) {
    slot.evicts = false;
    if (!slot.evicted) return;
    slot.evicted = false;
    ++stats_.sessions_evicted;
    look_for_work_ = true;
    const LogField fields[] = {{"session", slot.item.session_name},
                               {"activity", slot.item.activity_name},
                               {"instance", slot.item.instance_id},
                               {"event", slot.item.event}};
    log(LogLevel::kError, "session_evicted", fields, 4);
  });
}

Status RuntimeCore::claim_at_start() {
  for (std::size_t i = 0; i < options_.claim_at_start_count; ++i)
    PAWL_TRY(provider_->claim_session(me_, options_.claim_at_start[i], options_.sessions));
  return Status::kOk;
}

// Before anything is let go. It costs a commit only where an instance asked to be told.
void RuntimeCore::announce_stop() {
  if (options_.session_listener != nullptr) {
    for (std::size_t i = 0; i < parts_.owned_count; ++i)
      options_.session_listener->on_session_ending(parts_.owned[i].name.view(),
                                                   parts_.owned[i].epoch);
  }
  Status status = me_ == 0 ? Status::kBuried : provider_->begin(me_, &batch_);
  if (status != Status::kOk) return;
  std::size_t told = 0;
  status = provider_->announce_stop(me_, &told);
  if (status == Status::kOk && told > 0) status = provider_->commit();
  if (status != Status::kOk || told == 0) provider_->rollback();
  if (status != Status::kOk) log_status(LogLevel::kWarning, "announce_stop_failed", status);
}

// ---- the listener ---------------------------------------------------------------------------------------

// Every change of any owner takes an epoch: without a new one there is nothing to look at.
Status RuntimeCore::look_at_owned() {
  if (options_.session_listener == nullptr) return Status::kOk;
  Epoch last = 0;
  PAWL_TRY(provider_->last_epoch(&last));
  owned_changed_ = last != owned_epoch_ || parts_.owned_by != me_;
  if (!owned_changed_) return Status::kOk;
  parts_.owned_next_epoch = last;
  return provider_->owned_sessions(me_, parts_.owned_next, parts_.owned_capacity,
                                   &parts_.owned_next_count);
}

void RuntimeCore::tell_owned() {
  if (!owned_changed_) return;
  owned_changed_ = false;
  SessionListener& listener = *options_.session_listener;
  const auto has = [](const OwnedSession* list, std::size_t count, const OwnedSession& one) {
    for (std::size_t i = 0; i < count; ++i)
      if (list[i].session == one.session && list[i].epoch == one.epoch) return true;
    return false;
  };
  OwnedSession* const now = parts_.owned_next;
  const std::size_t count = parts_.owned_next_count;
  for (std::size_t i = 0; i < parts_.owned_count; ++i) {
    const OwnedSession& one = parts_.owned[i];
    if (!has(now, count, one)) listener.on_session_lost(one.name.view(), one.epoch);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (!has(parts_.owned, parts_.owned_count, now[i]))
      listener.on_session_claimed(now[i].name.view(), now[i].epoch);
  std::swap(parts_.owned, parts_.owned_next);
  parts_.owned_count = count;
  parts_.owned_by = me_;
  owned_epoch_ = parts_.owned_next_epoch;
}

// Nothing is this worker's any more.
void RuntimeCore::tell_all_lost() {
  sessions_active_ = sessions_idle_ = 0;
  stats_.sessions_active = stats_.sessions_idle = 0;
  if (options_.session_listener == nullptr) return;
  parts_.owned_next_count = 0;
  parts_.owned_next_epoch = 0;
  owned_changed_ = true;
  tell_owned();
}

}  // namespace pawl
