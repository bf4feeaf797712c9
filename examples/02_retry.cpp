// A policy repeats an activity that fails. The policy is a part of the call, and survives crashes
// like the call.
#include <chrono>
#include <cstdio>

#include "pawl/host.hpp"

pawl::ActivityResult call_pump(pawl::ActivityContext& ctx) {
  std::printf("attempt %d\n", static_cast<int>(ctx.retry_attempt()));
  return ctx.retry_attempt() < 3 ? ctx.fail("no answer") : ctx.ok("running");
}

pawl::Poll start_pump(pawl::OrchestrationContext& ctx) {
  pawl::ActivityOptions options;
  options.retry.max_attempts = 5;
  options.retry.backoff = pawl::Backoff::kExponential;  // 10 ms, 20 ms ..
  options.retry.base = std::chrono::milliseconds(10);
  options.start_to_close = std::chrono::seconds(5);  // one attempt
  PAWL_AWAIT(pump, ctx.schedule_activity("call_pump", "", options));
  return pump.ok() ? ctx.complete(pump.value()) : ctx.fail(pump.error());
}

int main() {
  pawl::Host host("02_retry.db");
  host.add_orchestration("start_pump", start_pump).add_activity("call_pump", call_pump);
  host.start_once("start_pump", pawl::InstanceId("pump"), "");
  return host.run_until_done("pump");
}
// Prints:
// attempt 1
// attempt 2
// attempt 3
