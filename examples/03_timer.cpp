// A timer is durable: kill the program while it waits, start it again, and it waits for the rest of
// the time.
#include <chrono>
#include <cstdio>

#include "pawl/host.hpp"

pawl::ActivityResult set_valve(pawl::ActivityContext& ctx) {
  std::printf("valve %.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

pawl::Poll irrigate(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(opened, ctx.schedule_activity("set_valve", "open"));
  if (!opened.ok()) return ctx.fail(opened.error());
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(200)));
  PAWL_AWAIT(closed, ctx.schedule_activity("set_valve", "closed"));
  return closed.ok() ? ctx.complete("") : ctx.fail(closed.error());
}

int main() {
  pawl::Host host("03_timer.db");
  host.add_orchestration("irrigate", irrigate).add_activity("set_valve", set_valve);
  host.start_once("irrigate", pawl::InstanceId("bed"), "");
  return host.run_until_done("bed");
}
// Prints:
// valve open
// valve closed
