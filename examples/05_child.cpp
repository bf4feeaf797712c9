// An orchestration has children: instances of their own, whose end is a result.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%s\n", std::string(ctx.input()).c_str());
  return ctx.ok("");
}

pawl::Poll bed(pawl::OrchestrationContext& ctx) {
  const std::string text = std::string(ctx.instance_id()) + " waters " + std::string(ctx.input());
  PAWL_AWAIT(shown, ctx.schedule_activity("show", text));
  return shown.ok() ? ctx.complete("ok") : ctx.fail(shown.error());
}

pawl::Poll garden(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_sub_orchestration("bed", "roses"));  // Pawl makes an id for it
  PAWL_AWAIT(second,
             ctx.schedule_sub_orchestration("bed", "herbs", {pawl::InstanceId("herb-bed")}));
  return first.ok() && second.ok() ? ctx.complete("") : ctx.fail("a bed is dry");
}

int main() {
  pawl::Host host("05_child.db");
  host.add_orchestration("garden", garden).add_orchestration("bed", bed).add_activity("show", show);
  host.start_once("garden", pawl::InstanceId("garden"), "");
  return host.run_until_done("garden");
}
// Prints:
// garden::1.2 waters roses
// herb-bed waters herbs
