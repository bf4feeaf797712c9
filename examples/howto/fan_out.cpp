// Fan-out with a bound: ten sensors, at most three at a time. A slow sensor does not hold up the
// sensors of other lanes.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult read(pawl::ActivityContext& ctx) {
  const int sensor = std::stoi(std::string(ctx.input()));
  if (sensor == 4) return ctx.fail_permanently("broken");
  return ctx.ok(std::to_string(20 + sensor));
}

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

constexpr int kSensors = 10;
constexpr int kLanes = 3;

// A lane reads its sensors one after the other. Its result is a text with one word for each sensor.
pawl::Poll read_lane(pawl::OrchestrationContext& lane, int first) {
  std::string found;
  for (int sensor = first; sensor < kSensors; sensor += kLanes) {
    PAWL_AWAIT(value, lane.schedule_activity("read", std::to_string(sensor)));
    found += " " + std::to_string(sensor) + "=" + std::string(value.ok() ? value.value() : "?");
  }
  return lane.complete(found);
}

pawl::Poll survey(pawl::OrchestrationContext& ctx) {
  pawl::Handle lanes[kLanes];
  for (int i = 0; i < kLanes; ++i)
    lanes[i] =
        ctx.open_branch([i](pawl::OrchestrationContext& lane) { return read_lane(lane, i); });
  PAWL_AWAIT_DONE(ctx.join_all(lanes, kLanes));
  for (int i = 0; i < kLanes; ++i) {
    PAWL_AWAIT(found, lanes[i]);
    if (!found.ok()) return ctx.fail(found.error());
    const std::string line = "lane " + std::to_string(i) + ":" + std::string(found.value());
    PAWL_AWAIT_DONE(ctx.schedule_activity("show", line));
  }
  return ctx.complete("");
}

int main() {
  pawl::Host host("fan_out.db");
  host.add_orchestration("survey", survey).add_activity("show", show);
  host.add_activity("read", read, pawl::ActivityMode::kThreaded);
  host.start_once("survey", pawl::InstanceId("survey"), "");
  return host.run_until_done("survey");
}
