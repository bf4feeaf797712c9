// An endless loop gets new code: it goes on with the old code to the end of its round, and begins
// the next round with the new code.
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "pawl/host.hpp"

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

pawl::Poll serve_1_0(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(order, ctx.dequeue_event("orders"));
  if (!order.ok()) return ctx.fail(order.error());
  PAWL_AWAIT_DONE(ctx.schedule_activity("show", "old code: " + std::string(order.value())));
  return ctx.continue_as_new("");
}

// The new code shows a line before it serves. This is another call, so it needs another version.
pawl::Poll serve_2_0(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("show", "new code is ready"));
  PAWL_AWAIT(order, ctx.dequeue_event("orders"));
  if (!order.ok()) return ctx.fail(order.error());
  if (order.value() == "end") return ctx.complete("");
  PAWL_AWAIT_DONE(ctx.schedule_activity("show", "new code: " + std::string(order.value())));
  return ctx.continue_as_new("");
}

bool second_round(void* loop) noexcept {
  pawl::OrchestrationStatus status;
  return static_cast<pawl::Runtime*>(loop)->get_status("shop", &status) == pawl::Status::kOk &&
         status.execution_id == 2;
}

int main(int argc, char** argv) {
  const bool is_old = argc > 1 && std::string_view(argv[1]) == "old";
  pawl::Host host("version_change.db");
  host.add_activity("show", show).add_orchestration("serve", serve_1_0, "1.0.0");
  if (!is_old) host.add_orchestration("serve", serve_2_0, "2.0.0");
  host.start_once("serve", pawl::InstanceId("shop"), "");
  if (host.status() != pawl::Status::kOk) return host.run();
  pawl::Runtime& loop = host.runtime();
  if (loop.enqueue_event("shop", "orders", is_old ? "bread" : "milk") != pawl::Status::kOk)
    return 1;
  if (!is_old && loop.enqueue_event("shop", "orders", "end") != pawl::Status::kOk) return 1;
  if (!is_old) return host.run_until_done("shop");
  const pawl::Status ran = loop.run_for(std::chrono::minutes(1), second_round, &loop);
  return ran == pawl::Status::kOk && host.stop() == pawl::Status::kOk ? 0 : 1;
}
