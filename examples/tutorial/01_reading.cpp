// Chapter 1: an orchestration asks for two activities, one after the other.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

// An activity: one side effect. A real one would ask the bus.
pawl::ActivityResult read_temperature(pawl::ActivityContext& ctx) {
  std::printf("reading %.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("6.5");
}

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

// An orchestration: it decides what is done next.
pawl::Poll check_room(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(degrees, ctx.schedule_activity("read_temperature", ctx.input()));
  if (!degrees.ok()) return ctx.fail(degrees.error());
  const std::string line = std::string(ctx.input()) + " has " + std::string(degrees.value());
  PAWL_AWAIT(shown, ctx.schedule_activity("show", line));
  if (!shown.ok()) return ctx.fail(shown.error());
  return ctx.complete(degrees.value());
}

int main() {
  pawl::Host host("01_reading.db");
  host.add_orchestration("check_room", check_room);
  host.add_activity("read_temperature", read_temperature).add_activity("show", show);
  host.start_once("check_room", pawl::InstanceId("first-check"), "room-1");
  return host.run_until_done("first-check");
}
