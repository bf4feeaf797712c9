// Chapter 4: cool, wait, look again. The wait is durable.
#include <chrono>
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

// This stands for the real world: a room that cools while the cooler is on.
struct Room {
  int tenths = 65;
  bool cooler = false;
};

pawl::ActivityResult read_temperature(pawl::ActivityContext& ctx) {
  Room& room = *static_cast<Room*>(ctx.user());
  if (room.cooler) room.tenths -= 10;
  std::printf("%d.%d degrees\n", room.tenths / 10, room.tenths % 10);
  return ctx.ok(std::to_string(room.tenths));
}

pawl::ActivityResult switch_cooler(pawl::ActivityContext& ctx) {
  static_cast<Room*>(ctx.user())->cooler = ctx.input() == "on";
  std::printf("cooler %.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

pawl::Poll cool_room(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(on, ctx.schedule_activity("switch_cooler", "on"));
  if (!on.ok()) return ctx.fail(on.error());
  for (int round = 0; round < 10; ++round) {
    PAWL_AWAIT(tenths, ctx.schedule_activity("read_temperature", ""));
    if (!tenths.ok()) return ctx.fail(tenths.error());
    if (std::stoi(std::string(tenths.value())) <= 40) {
      PAWL_AWAIT(off, ctx.schedule_activity("switch_cooler", "off"));
      return off.ok() ? ctx.complete("cold") : ctx.fail(off.error());
    }
    PAWL_AWAIT_DONE(
        ctx.schedule_timer(std::chrono::milliseconds(200)));  // a real room takes minutes
  }
  return ctx.fail("it does not get cold");
}

int main() {
  Room room;
  pawl::Host host("04_timer.db");
  host.add_orchestration("cool_room", cool_room);
  host.add_activity("read_temperature", read_temperature, pawl::ActivityMode::kInline, &room);
  host.add_activity("switch_cooler", switch_cooler, pawl::ActivityMode::kInline, &room);
  host.start_once("cool_room", pawl::InstanceId("room-1"), "");
  return host.run_until_done("room-1");
}
