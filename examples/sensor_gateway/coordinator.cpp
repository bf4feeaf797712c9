#include "coordinator.hpp"

#include <cstdio>

#include "host.hpp"
#include "sensor.hpp"

namespace gateway {
namespace {

// The usual answer after a restart is kAlreadyExists: the orchestration went on by itself.
void on_started(void* channel, pawl::Status status) noexcept {
  if (status == pawl::Status::kOk || status == pawl::Status::kAlreadyExists) return;
  std::fprintf(stderr, "sensor_gateway: %s: not started: %s\n",
               static_cast<const Channel*>(channel)->id.c_str(), pawl::status_name(status));
}

}  // namespace

int run_coordinator(const CoordinatorOptions& wanted) {
  std::vector<Channel> channels = discover(wanted.roots);

  pawl::Host host(example::small_host(wanted.database_path, "coordinator"));
  host.add_orchestration(kWatchSensor, watch_sensor);
  if (host.start() != pawl::Status::kOk) return host.run();  // prints why
  for (Channel& channel : channels) {
    SensorState state;
    state.period_ms = wanted.period_ms;
    const auto limit = wanted.limits.find(channel.id);
    state.limit = limit != wanted.limits.end() ? limit->second : channel.limit;
    const pawl::Status status =
        host.runtime().start_orchestration(kWatchSensor, pawl::InstanceId(channel.id), state,
                                           pawl::StartOptions(), on_started, &channel);
    if (status != pawl::Status::kOk) on_started(&channel, status);
  }
  return host.run();
}

}  // namespace gateway
