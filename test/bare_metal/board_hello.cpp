// The smallest program on the board: one orchestration, two activities, memory in .bss.
#include "port/bare_metal/qemu/board.hpp"
#include "program.hpp"

namespace {

pawl::ActivityResult greet(pawl::ActivityContext& ctx) {
  pawl::qemu::say("hello, %.*s", PAWL_TEXT(ctx.input()));
  return ctx.ok(ctx.input());
}

pawl::Poll greet_both(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("greet", "world"));
  if (!first.ok()) return ctx.fail(first.error());
  PAWL_AWAIT(second, ctx.schedule_activity("greet", "board"));
  if (!second.ok()) return ctx.fail(second.error());
  return ctx.complete("both");
}

}  // namespace

int main() {
  static pawl::Registry registry;
  static pawl::Options options = pawl::Options::smallest();
  bool registered = registry.add_orchestration("greet_both", greet_both) == pawl::Status::kOk;
  registered = registered && registry.add_activity("greet", greet) == pawl::Status::kOk;
  if (!registered || !pawl::metal_test::start(registry, options)) return 1;
  pawl::metal_test::start_once("greet_both", pawl::InstanceId("both"), "");
  return pawl::metal_test::finish("both");
}
