#include "runtime/devices.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kStopMs = 20'000;  // time for the work of a moving session to end
constexpr std::int64_t kDeclareAgainMs = 2'000;
constexpr std::size_t kStopsMax = 64;  // ended in one tick

}  // namespace

Status Devices::declare_session(const Request& request, bool* room) {
  if (declared_.full() && find(request.id) == nullptr) {
    *room = false;
    loop_.log(LogLevel::kWarning, "device_refused",
              {{"status", status_name(Status::kResourceExhausted)},
               {"device", request.id},
               {"devices_max", std::int64_t{loop_.options.limits.devices_max}}});
    return Status::kOk;
  }
  return declare(request.id, request.standby);
}

Status Devices::withdraw_session(const Request& request) {
  return loop_.session().moves.withdraw_session(loop_.me, request.id, kStopMs);
}

Status Devices::declare(std::string_view device, bool standby) {
  DeclareSession how;
  how.me = loop_.me;
  how.device = device;
  how.standby = standby;
  how.stop_ms = kStopMs;
  bool held = false;
  const Status status = loop_.session().moves.declare_session(how, loop_.evidence, &held);
  if (status == Status::kDeviceHeld) loop_.log_status(LogLevel::kWarning, "device_refused", status);
  if (status == Status::kOk) loop_.agenda.do_now(Job::kFetch);
  if (status == Status::kOk && loop_.batch.moves_are_held) plan_again();
  return status;
}

void Devices::declared(const Request& request) {
  if (request.status != Status::kOk) return;
  Declared* known = find(request.id);
  if (known == nullptr) known = declared_.add();
  if (known == nullptr) return;  // cannot happen: declare_session() keeps the limit
  known->name.assign_cut(request.id);
  known->standby = request.standby;
  known->withdrawing = false;
}

void Devices::withdrawn(const Request& request) {
  Declared* const known = find(request.id);
  if (request.status == Status::kOk && known != nullptr) known->withdrawing = true;
}

// Running work may keep a withdrawn device here for a while, and any worker may be the one that
// ends the withdrawal. So each commit looks whether the declaration is still there.
void Devices::committed() {
  for (std::size_t i = declared_.size(); i-- > 0;) {
    Declared& device = declared_[i];
    if (!device.withdrawing) continue;
    const Status found =
        loop_.session().moves.read_declaration(loop_.me, device.name.view(), &device.withdrawing);
    if (found != Status::kNotFound) continue;
    device = declared_[declared_.size() - 1];
    declared_.pop_back();
  }
}

Status Devices::declare_again() {
  for (const Declared& device : declared_) {
    if (device.withdrawing) continue;
    const Status status = declare(device.name.view(), device.standby);
    if (status != Status::kOk && status != Status::kDeviceHeld) return status;
  }
  return Status::kOk;
}

// While moves are held (F15a), the session of a declared device has no owner.
void Devices::plan_again() { loop_.agenda.plan(Job::kDeclare, loop_.boot_ms() + kDeclareAgainMs); }

Status Devices::move_sessions() {
  if (loop_.agenda.is_due(Job::kDeclare, loop_.boot_ms())) {
    loop_.agenda.clear(Job::kDeclare);
    if (loop_.batch.moves_are_held)
      plan_again();
    else
      PAWL_TRY(declare_again());
  }
  bool standby = false;
  for (const Declared& device : declared_)
    standby = standby || device.standby;
  if (standby && (loop_.evidence.watching() || loop_.agenda.is_due(Job::kRenew, loop_.boot_ms())))
    PAWL_TRY(loop_.session().moves.take_devices_over(loop_.me, loop_.terms, loop_.evidence));
  std::size_t ended = 0;
  PAWL_TRY(loop_.session().moves.end_stops(kStopsMax, &ended));
  if (ended > 0) loop_.agenda.do_now(Job::kFetch);
  return Status::kOk;
}

Devices::Declared* Devices::find(std::string_view name) {
  for (Declared& device : declared_)
    if (device.name.view() == name) return &device;
  return nullptr;
}

}  // namespace pawl
