// A test of a full disk: running work goes on, and new work is refused until there is room again.
#include <chrono>
#include <cstdio>
#include <string>

#include "pawl/testing.hpp"

pawl::Poll job(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  return ctx.complete("done");
}

int main() {
  pawl::testing::WorldOptions options;
  options.runtime.space.remove_completed = false;  // completed instances must stay
  pawl::Registry registry;
  if (registry.add_orchestration("job", job) != pawl::Status::kOk) return 1;
  pawl::testing::World world(registry, options);
  if (world.start() != pawl::Status::kOk || world.run_until_idle() != pawl::Status::kOk) return 1;

  world.machine().set_disk_bytes(world.machine().stored_bytes() + 400'000);
  const std::string large(50'000, 'x');
  int started = 0;
  pawl::Status status = pawl::Status::kOk;
  while (status == pawl::Status::kOk && started < 1'000) {
    const pawl::InstanceId id("job-" + std::to_string(started));
    status = world.client().start_orchestration("job", id, large);
    if (status == pawl::Status::kOk) ++started;
    static_cast<void>(world.advance(1'000));
  }
  std::printf("%s\n", status == pawl::Status::kQuota || status == pawl::Status::kFull
                          ? "full: a start is refused"
                          : pawl::status_name(status));

  world.machine().set_disk_bytes(0);  // room again
  if (world.advance(60'000) != pawl::Status::kOk) return 1;
  status = world.client().start_orchestration("job", pawl::InstanceId("later"), "");
  std::printf("room again: %s\n", pawl::status_name(status));
  for (int i = 0; i < started; ++i) {
    const std::string id = "job-" + std::to_string(i);
    if (world.client().raise_event(id, "go", "") != pawl::Status::kOk) return 1;
    if (world.run_until_done(id) != pawl::Status::kOk) return 1;
  }
  std::puts("every job that was accepted is done");
  return status == pawl::Status::kOk && started > 0 ? 0 : 1;
}
