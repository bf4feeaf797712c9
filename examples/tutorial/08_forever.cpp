// Chapter 8: a room that is looked after for ever, takes orders, and can be looked at.
#include <chrono>
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

// The input is the temperature to keep. Each order begins a new execution with a short history.
pawl::Poll keep_room(pawl::OrchestrationContext& ctx) {
  const std::string target(ctx.input());
  if (ctx.set_custom_status("keeping " + target) != pawl::ErrorKind::kNone)
    return ctx.fail("status");
  for (int round = 0; round < 100; ++round) {
    const pawl::Handle order = ctx.dequeue_event("orders");
    const pawl::Handle pause = ctx.schedule_timer(std::chrono::minutes(5));
    PAWL_AWAIT(first, ctx.select(order, pause));
    if (first.index() == 1) continue;  // here the room is read, and the cooler switched
    if (!first.ok()) return ctx.fail(first.error());
    const std::string wanted(first.value());
    if (wanted == "stop") return ctx.complete("kept " + target + " last");
    PAWL_AWAIT_DONE(ctx.schedule_activity("show", "from " + target + " to " + wanted));
    if (ctx.set_kv_value("wanted", wanted) != pawl::ErrorKind::kNone) return ctx.fail("value");
    return ctx.continue_as_new(wanted);
  }
  return ctx.continue_as_new(target);
}

int main() {
  pawl::Host host("08_forever.db");
  host.add_orchestration("keep_room", keep_room).add_activity("show", show);
  host.start_once("keep_room", pawl::InstanceId("room-1"), "4.0");
  if (host.status() != pawl::Status::kOk) return host.run();
  for (const char* order : {"2.0", "3.0", "stop"})
    if (host.runtime().enqueue_event("room-1", "orders", order) != pawl::Status::kOk) return 1;
  return host.run_until_done("room-1");
}
