// An event is raised from outside for an instance that waits. A select takes the first of two, and
// closes the other.
#include <chrono>
#include <cstdio>

#include "pawl/host.hpp"

pawl::ActivityResult ring(pawl::ActivityContext& ctx) {
  // Here the door is opened at once. An inline activity runs on the Runtime's thread, so it may
  // call the Runtime.
  pawl::Host& host = *static_cast<pawl::Host*>(ctx.user());
  const pawl::Status raised = host.runtime().raise_event(ctx.instance_id(), "opened", "by Ann");
  return raised == pawl::Status::kOk ? ctx.ok("") : ctx.fail(pawl::status_name(raised));
}

pawl::Poll visit(pawl::OrchestrationContext& ctx) {
  const pawl::Handle opened = ctx.schedule_wait("opened");
  const pawl::Handle late = ctx.schedule_timer(std::chrono::minutes(5));
  PAWL_AWAIT_DONE(ctx.schedule_activity("ring", ""));
  PAWL_AWAIT(first, ctx.select(opened, late));
  return first.index() == 0 ? ctx.complete(first.value()) : ctx.fail("nobody is at home");
}

int main() {
  pawl::Host host("04_event.db");
  host.add_orchestration("visit", visit);
  host.add_activity("ring", ring, pawl::ActivityMode::kInline, &host);
  host.start_once("visit", pawl::InstanceId("visit"), "");
  std::puts(host.run_until_done("visit") == 0 ? "the door was opened" : "nobody came");
  return host.status() == pawl::Status::kOk ? 0 : 1;
}
// Prints:
// the door was opened
