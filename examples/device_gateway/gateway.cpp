#include "gateway.hpp"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include <cstdio>
#include <map>
#include <string>

#include "devices.hpp"
#include "host.hpp"
#include "measure.hpp"

namespace device_gateway {
namespace {

struct Gateway {
  Gateway(pawl::Runtime& the_runtime, bool as_standby)
      : runtime(the_runtime), standby(as_standby) {}

  void look() {
    std::set<std::string> came;
    std::set<std::string> went;
    folder.look(&came, &went);
    for (const std::string& device : went)
      answered(device, "withdrawn", runtime.withdraw_session(device));
    for (const std::string& device : came)
      declare(device);
  }
  void declare(const std::string& device) {
    // The answer comes later, with the tick's commit. The entry stays valid: none is ever removed.
    Asked& asked = asked_.emplace(device, Asked{this, device}).first->second;
    const pawl::Status status = runtime.declare_session(device, standby, on_declared, &asked);
    if (status != pawl::Status::kOk) answered(device, "declared", status);
  }

  pawl::Runtime& runtime;
  const bool standby;
  Folder folder;

 private:
  struct Asked {
    Gateway* gateway;
    std::string device;
  };
  static void on_declared(void* user, pawl::Status status) noexcept {
    const Asked& asked = *static_cast<Asked*>(user);
    asked.gateway->answered(asked.device, "declared", status);
  }
  void answered(const std::string& device, const char* what, pawl::Status status) const {
    const char* const outcome = status == pawl::Status::kOk ? "" : pawl::status_name(status);
    std::fprintf(stderr, "device_gateway: %s %s %s%s\n", device.c_str(), what, outcome,
                 standby ? "(standby)" : "");
  }
  std::map<std::string, Asked> asked_;
};

}  // namespace

int run_gateway(const GatewayOptions& wanted) {
  OwnedDevices devices;
  pawl::HostOptions options = example::small_host(wanted.database_path, wanted.node);
  options.runtime.slots.inline_activities = 4;
  options.runtime.sessions.listener = &devices;
  pawl::Host host(options);
  host.add_orchestration(kMeasure, measure);
  host.add_activity(kRead, read_device, pawl::ActivityMode::kInline, &devices);
  if (host.start() != pawl::Status::kOk) return host.run();  // prints why
  Gateway gateway(host.runtime(), wanted.standby);
  if (!gateway.folder.open(wanted.folder)) {
    std::fprintf(stderr, "device_gateway: %s: %s\n", wanted.folder, strerror(errno));
    return 1;
  }
  gateway.look();

  // The program has a loop of its own, because it watches more than Pawl.
  pollfd watched[] = {{host.runtime().fd(), POLLIN, 0}, {gateway.folder.fd(), POLLIN, 0}};
  while (!host.runtime().stop_requested()) {
    if (poll(watched, 2, -1) < 0) continue;
    if ((watched[1].revents & POLLIN) != 0) gateway.look();
    if (!host.runtime().tick(std::chrono::milliseconds(20)).ok()) break;
  }
  return host.stop() == pawl::Status::kOk ? 0 : 1;
}

}  // namespace device_gateway
