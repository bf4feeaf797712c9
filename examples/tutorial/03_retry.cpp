// Chapter 3: a sensor that does not always answer.
#include <chrono>
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult read_temperature(pawl::ActivityContext& ctx) {
  std::printf("reading %.*s, try %d\n", PAWL_TEXT(ctx.input()),
              static_cast<int>(ctx.retry_attempt()));
  if (ctx.input() == "room-9") return ctx.fail_permanently("there is no room-9");
  if (ctx.retry_attempt() < 3) return ctx.fail("the bus is busy");
  return ctx.ok("6.5");
}

pawl::ActivityOptions patient() {
  pawl::ActivityOptions options;
  options.retry.max_attempts = 5;                        // with the first
  options.retry.base = std::chrono::milliseconds(20);    // the first pause; then twice as long
  options.start_to_close = std::chrono::seconds(5);      // one attempt
  options.schedule_to_close = std::chrono::seconds(30);  // all of them
  return options;
}

pawl::Poll check_room(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(degrees, ctx.schedule_activity("read_temperature", ctx.input(), patient()));
  if (!degrees.ok()) return ctx.fail(degrees.error());
  return ctx.complete(degrees.value());
}

int main() {
  pawl::Host host("03_retry.db");
  host.add_orchestration("check_room", check_room);
  host.add_activity("read_temperature", read_temperature);
  host.start_once("check_room", pawl::InstanceId("busy"), "room-1");
  host.start_once("check_room", pawl::InstanceId("wrong"), "room-9");
  return host.run_until_done("busy");
}
