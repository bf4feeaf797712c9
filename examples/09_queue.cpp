// A message waits in its queue until it is taken. It also outlasts continue_as_new(), which begins
// a new, short history.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult print(pawl::ActivityContext& ctx) {
  std::printf("%s\n", std::string(ctx.input()).c_str());
  return ctx.ok("");
}

// Each execution takes one order. Its input is the number of orders taken before.
pawl::Poll shop(pawl::OrchestrationContext& ctx) {
  const std::string number = std::to_string(ctx.execution_id());
  PAWL_AWAIT(order, ctx.dequeue_event("orders"));
  if (!order.ok()) return ctx.fail(order.error());
  if (order.value() == "close") return ctx.complete(ctx.input());
  PAWL_AWAIT(printed, ctx.schedule_activity("print", number + ": " + std::string(order.value())));
  return printed.ok() ? ctx.continue_as_new(number) : ctx.fail(printed.error());
}

int main() {
  pawl::Host host("09_queue.db");
  host.add_orchestration("shop", shop).add_activity("print", print);
  host.start_once("shop", pawl::InstanceId("shop"), "0");
  for (const char* order : {"bread", "milk", "close"}) {
    if (host.status() != pawl::Status::kOk) break;
    if (host.runtime().enqueue_event("shop", "orders", order) != pawl::Status::kOk) return 1;
  }
  return host.run_until_done("shop");
}
// Prints:
// 1: bread
// 2: milk
