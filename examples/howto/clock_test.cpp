// A test with a wrong clock: durations do not depend on it, times of day wait until it is trusted.
#include <chrono>
#include <cstdio>

#include "pawl/testing.hpp"

constexpr std::int64_t kHourMs = 3'600'000;

pawl::Poll cool(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete("cold");
}

bool has_ended(pawl::testing::World& world) {
  pawl::OrchestrationStatus status;
  return world.client().get_status("room-1", &status) == pawl::Status::kOk &&
         status.state == pawl::OrchestrationState::kCompleted;
}

int main() {
  pawl::Registry registry;
  if (registry.add_orchestration("cool", cool) != pawl::Status::kOk) return 1;
  pawl::testing::World world(registry);
  if (world.start() != pawl::Status::kOk ||
      world.client().start_orchestration("cool", pawl::InstanceId("room-1"), "") !=
          pawl::Status::kOk ||
      world.run_until_idle() != pawl::Status::kOk)
    return 1;

  world.machine().set_wall(world.now_ms() + 30 * 24 * kHourMs);  // a month ahead
  if (world.advance(kHourMs / 2) != pawl::Status::kOk) return 1;
  std::puts(has_ended(world) ? "early" : "a month ahead: it still waits");

  world.machine().set_wall(world.now_ms() - 60 * 24 * kHourMs);  // 60 days back
  if (world.advance(kHourMs / 2) != pawl::Status::kOk) return 1;
  std::puts(has_ended(world) ? "after an hour: cold" : "late");
  return has_ended(world) ? 0 : 1;
}
