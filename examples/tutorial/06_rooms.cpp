// Chapter 6: every room is an orchestration of its own; the building waits for all of them.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult read_temperature(pawl::ActivityContext& ctx) {
  if (ctx.input() == "room-2") return ctx.fail("the sensor is broken");
  return ctx.ok(ctx.input() == "room-1" ? "3.5" : "4.0");
}

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

pawl::Poll check_room(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(degrees, ctx.schedule_activity("read_temperature", ctx.input()));
  return degrees.ok() ? ctx.complete(degrees.value()) : ctx.fail(degrees.error());
}

pawl::Poll check_building(pawl::OrchestrationContext& ctx) {
  const char* const rooms[] = {"room-1", "room-2", "room-3"};
  pawl::Handle children[3];
  for (int i = 0; i < 3; ++i)
    children[i] = ctx.schedule_sub_orchestration("check_room", rooms[i]);
  PAWL_AWAIT_DONE(ctx.join_all(children, 3));
  for (int i = 0; i < 3; ++i) {
    PAWL_AWAIT(room, children[i]);  // it has its result already
    const std::string text(room.ok() ? room.value() : room.error().text);
    PAWL_AWAIT_DONE(ctx.schedule_activity("show", std::string(rooms[i]) + ": " + text));
  }
  return ctx.complete("");
}

int main() {
  pawl::Host host("06_rooms.db");
  host.add_orchestration("check_building", check_building)
      .add_orchestration("check_room", check_room);
  host.add_activity("read_temperature", read_temperature).add_activity("show", show);
  host.start_once("check_building", pawl::InstanceId("building"), "");
  return host.run_until_done("building");
}
