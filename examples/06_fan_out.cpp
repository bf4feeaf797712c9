// Schedule first, await later: the activities run side by side, and each result is found by its
// place.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult measure(pawl::ActivityContext& ctx) {
  return ctx.ok(ctx.input() == "north" ? "11" : ctx.input() == "south" ? "17" : "14");
}

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%s\n", std::string(ctx.input()).c_str());
  return ctx.ok("");
}

pawl::Poll survey(pawl::OrchestrationContext& ctx) {
  const char* const places[] = {"north", "south", "west"};
  pawl::Handle all[3];
  for (int i = 0; i < 3; ++i)
    all[i] = ctx.schedule_activity("measure", places[i]);
  PAWL_AWAIT_DONE(ctx.join_all(all, 3));
  std::string text = "degrees:";
  for (const pawl::Handle& one : all) {
    PAWL_AWAIT(degrees, one);
    text += " " + std::string(degrees.ok() ? degrees.value() : "?");
  }
  PAWL_AWAIT(shown, ctx.schedule_activity("show", text));
  return shown.ok() ? ctx.complete(text) : ctx.fail(shown.error());
}

int main() {
  pawl::Host host("06_fan_out.db");
  host.add_orchestration("survey", survey);
  host.add_activity("measure", measure, pawl::ActivityMode::kThreaded).add_activity("show", show);
  host.start_once("survey", pawl::InstanceId("survey"), "");
  return host.run_until_done("survey");
}
// Prints:
// degrees: 11 17 14
