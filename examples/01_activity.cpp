// An activity is one side effect; its result is recorded, and the orchestration goes on with it.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult read_level(pawl::ActivityContext& ctx) {
  std::printf("reading %s\n", std::string(ctx.input()).c_str());
  return ctx.ok("42 %");
}

pawl::Poll check_tank(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(level, ctx.schedule_activity("read_level", "tank 1"));
  if (!level.ok()) return ctx.fail(level.error());
  PAWL_AWAIT(again, ctx.schedule_activity("read_level", "tank 2"));
  return again.ok() ? ctx.complete(level.value()) : ctx.fail(again.error());
}

int main() {
  pawl::Host host("01_activity.db");
  host.add_orchestration("check_tank", check_tank).add_activity("read_level", read_level);
  host.start_once("check_tank", pawl::InstanceId("check"), "");
  const int status = host.run_until_done("check");
  std::printf("exit status %d\n", status);
  return status;
}
// Prints:
// reading tank 1
// reading tank 2
// exit status 0
