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
    return loop_.provider->withdraw_session(loop_.me, request.id, kStopMs);
  const bool standby = request.kind == Request::Kind::kStandby;
  if (declared_.full() && find_declared(request.id) == nullptr) {
    *room = false;
    return Status::kOk;
  }
  return declare(request.id, standby);
}

Status RuntimeCore::declare(std::string_view device, bool standby) {
  DeclareSession how;
  how.me = loop_.me;
  how.device = device;
  how.standby = standby;
  how.stop_ms = kStopMs;
  bool held = false;
  const Status status = loop_.provider->declare_session(how, loop_.evidence, &held);
  if (status == Status::kDeviceHeld) loop_.log_status(LogLevel::kWarning, "device_refused", status);
  if (status == Status::kOk) loop_.agenda.do_now(Job::kFetch);
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
    const Status found =
        loop_.provider->read_declaration(loop_.me, device.name.view(), &device.withdrawing);
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
  if (standby && (loop_.evidence.watching() || loop_.agenda.is_due(Job::kRenew, loop_.boot_ms())))
    PAWL_TRY(loop_.provider->take_devices_over(loop_.me, loop_.options.sessions, loop_.evidence));
  std::size_t ended = 0;
  PAWL_TRY(loop_.provider->end_stops(kStopsMax, &ended));
  if (ended > 0) loop_.agenda.do_now(Job::kFetch);
  return Status::kOk;
}

// A thread that does not come back may hold all that this worker has to serve a session with.
Status RuntimeCore::evict_hung() {
  Status status = Status::kOk;
  slots_.for_each([&](internal::Slot& slot) {
    slot.evicted = false;
    if (status == Status::kOk && slot.evicts && slot.is_under_way())
      status =
          loop_.provider->evict_session(slot.done(), slot.item.session, loop_.me, &slot.evicted);
  });
  return status;
}

// Told when it begins and when it ends; counted with each look.
void RuntimeCore::tell_capacity() {
  const auto waiting = static_cast<std::uint32_t>(sessions_waiting_);
  const bool is_news = (waiting > 0) != (loop_.stats.sessions_waiting > 0);
  loop_.stats.sessions_waiting = waiting;
  if (waiting > 0 && looked_for_work_) ++loop_.stats.capacity_exhausted;
  looked_for_work_ = false;
  if (!is_news) return;
  const LogField fields[] = {
      {"sessions", static_cast<std::int64_t>(waiting)},
      {"max_sessions_per_worker",
       static_cast<std::int64_t>(loop_.options.sessions.max_sessions_per_worker)}};
  loop_.log(LogLevel::kWarning, waiting > 0 ? "waiting_for_capacity" : "capacity_again", fields, 2);
}

// Between these looks work comes and goes without a count: that would be a query with every tick.
Status RuntimeCore::count_sessions() {
  Epoch last = 0;
  PAWL_TRY(loop_.provider->last_epoch(&last));
  if (last == epoch_seen_ && !loop_.agenda.is_due(Job::kRenew, loop_.boot_ms())) return Status::kOk;
  return loop_.provider->count_sessions(loop_.me, &sessions_active_, &sessions_idle_);
}

void RuntimeCore::tell_evicted() {
  slots_.for_each([&](internal::Slot& slot) {
    slot.evicts = false;
    if (!slot.evicted) return;
    slot.evicted = false;
    ++loop_.stats.sessions_evicted;
    loop_.agenda.do_now(Job::kFetch);
    const LogField fields[] = {{"session", slot.item.session_name},
                               {"activity", slot.item.activity_name},
                               {"instance", slot.item.instance_id},
                               {"event", slot.item.event}};
    loop_.log(LogLevel::kError, "session_evicted", fields, 4);
  });
}

Status RuntimeCore::claim_at_start() {
  for (std::size_t i = 0; i < loop_.options.claim_at_start_count; ++i)
    PAWL_TRY(loop_.provider->claim_session(loop_.me, loop_.options.claim_at_start[i],
                                           loop_.options.sessions));
  return Status::kOk;
}

// Before anything is let go. It costs a commit only where an instance asked to be told.
void RuntimeCore::announce_stop() {
  if (loop_.options.session_listener != nullptr) {
    for (std::size_t i = 0; i < parts_.owned_count; ++i)
      loop_.options.session_listener->on_session_ending(parts_.owned[i].name.view(),
                                                        parts_.owned[i].epoch);
  }
  Status status = loop_.me == 0 ? Status::kBuried : loop_.provider->begin(loop_.me, &loop_.batch);
  if (status != Status::kOk) return;
  std::size_t told = 0;
  status = loop_.provider->announce_stop(loop_.me, &told);
  if (status == Status::kOk && told > 0) status = loop_.provider->commit();
  if (status != Status::kOk || told == 0) loop_.provider->rollback();
  if (status != Status::kOk) loop_.log_status(LogLevel::kWarning, "announce_stop_failed", status);
}

// ---- the listener ---------------------------------------------------------------------------------------

// Every change of any owner takes an epoch: without a new one there is nothing to look at.
Status RuntimeCore::look_at_owned() {
  if (loop_.options.session_listener == nullptr) return Status::kOk;
  Epoch last = 0;
  PAWL_TRY(loop_.provider->last_epoch(&last));
  owned_changed_ = last != owned_epoch_ || parts_.owned_by != loop_.me;
  if (!owned_changed_) return Status::kOk;
  parts_.owned_next_epoch = last;
  return loop_.provider->owned_sessions(loop_.me, parts_.owned_next, parts_.owned_capacity,
                                        &parts_.owned_next_count);
}

void RuntimeCore::tell_owned() {
  if (!owned_changed_) return;
  owned_changed_ = false;
  SessionListener& listener = *loop_.options.session_listener;
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
  parts_.owned_by = loop_.me;
  owned_epoch_ = parts_.owned_next_epoch;
}

// Nothing is this worker's any more.
void RuntimeCore::tell_all_lost() {
  sessions_active_ = sessions_idle_ = 0;
  loop_.stats.sessions_active = loop_.stats.sessions_idle = 0;
  if (loop_.options.session_listener == nullptr) return;
  parts_.owned_next_count = 0;
  parts_.owned_next_epoch = 0;
  owned_changed_ = true;
  tell_owned();
}

}  // namespace pawl
