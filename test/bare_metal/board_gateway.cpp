// A gateway with simulated sensors: an orchestration for each sensor reads it once a second. A
// reading depends on the sensor and the round alone, so the total shows whether each round was
// counted once, however often the power failed.
#include <charconv>
#include <cstdint>

#include "port/bare_metal/qemu/board.hpp"
#include "program.hpp"

namespace {

constexpr int kSensors = 4;
constexpr int kRounds = 10;

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string_view text_of(std::int64_t number, char (&out)[24]) {
  return {out, static_cast<std::size_t>(std::to_chars(out, out + sizeof(out), number).ptr - out)};
}

// The input is 100 * sensor + round.
pawl::ActivityResult read_sensor(pawl::ActivityContext& ctx) {
  const std::int64_t which = number_in(ctx.input());
  char text[24];
  return ctx.ok(text_of(which / 100 * 1'000 + which % 100, text));
}

pawl::Poll watch(pawl::OrchestrationContext& ctx) {
  const std::int64_t sensor = number_in(ctx.input());
  std::int64_t sum = 0;
  char text[24];
  for (int round = 0; round < kRounds; ++round) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
    PAWL_AWAIT(reading, ctx.schedule_activity("read_sensor", text_of(sensor * 100 + round, text)));
    if (!reading.ok()) return ctx.fail(reading.error());
    sum += number_in(reading.value());
  }
  return ctx.complete(text_of(sum, text));
}

pawl::Poll gateway(pawl::OrchestrationContext& ctx) {
  pawl::Handle all[kSensors];
  char text[24];
  for (int sensor = 0; sensor < kSensors; ++sensor)
    all[sensor] = ctx.schedule_sub_orchestration("watch", text_of(sensor, text));
  PAWL_AWAIT_DONE(ctx.join_all(all, kSensors));
  std::int64_t sum = 0;
  for (const pawl::Handle& one : all) {
    PAWL_AWAIT(part, one);
    if (!part.ok()) return ctx.fail(part.error());
    sum += number_in(part.value());
  }
  return ctx.complete(text_of(sum, text));
}

}  // namespace

int main() {
  static pawl::Registry registry;
  static pawl::Options options = pawl::Options::smallest();
  bool registered = registry.add_orchestration("gateway", gateway) == pawl::Status::kOk;
  registered = registered && registry.add_orchestration("watch", watch) == pawl::Status::kOk;
  registered = registered && registry.add_activity("read_sensor", read_sensor) == pawl::Status::kOk;
  options.limits.orchestrations_max = 2;
  options.limits.history_events_max = 128;
  options.limits.commands_a_turn_max = 8;
  options.limits.instance_batch_max = 8;
  options.limits.batch = 4;
  options.limits.warm_instances = 5;
  options.limits.warm_bytes = std::size_t{64} * 1024;
  if (!registered || !pawl::metal_test::start(registry, options)) return 1;
  pawl::metal_test::start_once("gateway", pawl::InstanceId("gateway"), "");
  return pawl::metal_test::finish("gateway");
}
