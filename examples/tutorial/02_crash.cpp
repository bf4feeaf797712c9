// Chapter 2: the process dies in the middle, and the next one goes on from there.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult read_temperature(pawl::ActivityContext& ctx) {
  std::printf("reading %.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("6.5");
}

// `user()` is the pointer of the registration. Here it says whether this is the run that crashes.
pawl::ActivityResult switch_cooler(pawl::ActivityContext& ctx) {
  std::printf("cooler %.*s, attempt %d\n", PAWL_TEXT(ctx.input()), static_cast<int>(ctx.attempt()));
  std::fflush(stdout);
  if (*static_cast<const bool*>(ctx.user()))
    std::_Exit(9);  // the effect happened, no result is stored
  return ctx.ok("");
}

pawl::Poll cool_room(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(degrees, ctx.schedule_activity("read_temperature", ctx.input()));
  if (!degrees.ok()) return ctx.fail(degrees.error());
  if (std::atof(std::string(degrees.value()).c_str()) <= 5) return ctx.complete("cold enough");
  PAWL_AWAIT(cooler, ctx.schedule_activity("switch_cooler", "on"));
  return cooler.ok() ? ctx.complete("cooling") : ctx.fail(cooler.error());
}

int main(int argc, char**) {
  bool crash = argc > 1;
  pawl::Host host("02_crash.db");
  host.add_orchestration("cool_room", cool_room);
  host.add_activity("read_temperature", read_temperature);
  host.add_activity("switch_cooler", switch_cooler, pawl::ActivityMode::kInline, &crash);
  host.start_once("cool_room", pawl::InstanceId("room-1"), "room-1");
  return host.run_until_done("room-1");
}
