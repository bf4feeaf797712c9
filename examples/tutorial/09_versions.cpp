// Chapter 9: the code changes while a room is under way.
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "pawl/host.hpp"

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

pawl::Poll defrost_1_0(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("show", std::string(ctx.instance_id()) + ": heater on"));
  if (ctx.set_custom_status("heating") != pawl::ErrorKind::kNone) return ctx.fail("status");
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(500)));
  PAWL_AWAIT_DONE(ctx.schedule_activity("show", std::string(ctx.instance_id()) + ": heater off"));
  return ctx.complete("");
}

// The new code opens the drain first.
pawl::Poll defrost_1_1(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("show", std::string(ctx.instance_id()) + ": drain open"));
  PAWL_AWAIT_DONE(
      ctx.schedule_activity("show", std::string(ctx.instance_id()) + ": heater on and off"));
  return ctx.complete("");
}

// The conditions that the main program waits for in run_for().
bool room_1_heats(void* loop) noexcept {
  pawl::OrchestrationStatus status;
  return static_cast<pawl::Runtime*>(loop)->get_status("room-1", &status) == pawl::Status::kOk &&
         status.custom_status == "heating";
}

bool both_are_done(void* loop) noexcept {
  for (const char* room : {"room-1", "room-2"}) {
    pawl::OrchestrationStatus status;
    if (static_cast<pawl::Runtime*>(loop)->get_status(room, &status) != pawl::Status::kOk ||
        status.state != pawl::OrchestrationState::kCompleted)
      return false;
  }
  return true;
}

// Checks whether this code can go on with the instances under way.
int check(bool keep_old, int argc, char** argv) {
  pawl::Registry registry;
  if (registry.add_orchestration("defrost", defrost_1_1, keep_old ? "1.1.0" : "1.0.0") !=
      pawl::Status::kOk)
    return 2;
  if (keep_old && registry.add_orchestration("defrost", defrost_1_0, "1.0.0") != pawl::Status::kOk)
    return 2;
  return pawl::replay_check_main(registry, pawl::Options(), argc, argv);
}

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "check-wrong" || mode == "check") return check(mode == "check", argc - 1, argv + 1);
  const bool is_old = mode == "old";  // the program of last year has 1.0.0 only
  pawl::Host host("09_versions.db");
  host.add_activity("show", show).add_orchestration("defrost", defrost_1_0, "1.0.0");
  if (!is_old) host.add_orchestration("defrost", defrost_1_1, "1.1.0");
  host.start_once("defrost", pawl::InstanceId(is_old ? "room-1" : "room-2"), "");
  if (host.status() != pawl::Status::kOk) return host.run();
  const pawl::Status ran = host.runtime().run_for(
      std::chrono::minutes(1), is_old ? room_1_heats : both_are_done, &host.runtime());
  return ran == pawl::Status::kOk && host.stop() == pawl::Status::kOk ? 0 : 1;
}
