// Makes what doctor must find, and what a copy keeps of it, for tool_test.py.
//
//   doctor_program DATABASE camp ROOT      an open session with a folder, a closed one, and work
//                                          for a device that no worker has declared; then ends
//   doctor_program DATABASE hold DEVICE    a device with work that does not end, until it is killed
//   doctor_program DATABASE end ROOT       lets "stays" end, and removes three folders of ended
//                                          sessions
//   doctor_program DATABASE key DEVICE     the idempotency key of the work for the device
#include <cstdio>
#include <string>
#include <string_view>

#include "pawl/host.hpp"

namespace {

pawl::ActivityResult echo(pawl::ActivityContext& ctx) { return ctx.ok(ctx.input()); }

pawl::ActivityResult say_key(pawl::ActivityContext& ctx) {
  std::printf("key %s\n", std::string(ctx.idempotency_key()).c_str());
  return ctx.ok("");
}

pawl::ActivityResult hold(pawl::ActivityContext& ctx) {
  std::puts("holds");
  std::fflush(stdout);
  static_cast<void>(std::getchar());
  return ctx.ok("");
}

// With an input the instance waits, and its session stays open.
pawl::Poll camp(pawl::OrchestrationContext& ctx) {
  const pawl::Session tent = ctx.open_session("tent");
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", "", pawl::Target::own(tent)));
  if (ctx.input().empty()) return ctx.complete("");
  PAWL_AWAIT_DONE(ctx.dequeue_event("go"));
  return ctx.complete("");
}

pawl::Poll measure(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("hold", "", pawl::Target::device(ctx.input())));
  return ctx.complete("");
}

bool has_camped(void* self) noexcept {
  return static_cast<pawl::Runtime*>(self)->stats().activities_completed == 2;
}

bool has_ended(void* self) noexcept {
  const pawl::RuntimeStats stats = static_cast<pawl::Runtime*>(self)->stats();
  return stats.orchestrations_failed == 1 && stats.session_folders_removed == 3;
}

int run_until(pawl::Host& host, bool (*goal)(void*) noexcept) {
  if (host.status() != pawl::Status::kOk) return host.run();
  const pawl::Status ran = host.runtime().run_for(std::chrono::seconds(100), goal, &host.runtime());
  return ran == pawl::Status::kOk ? 0 : 1;
}

int camp_in(pawl::Host& host) {
  host.start_once("camp", pawl::InstanceId("stays"), "x");
  host.start_once("camp", pawl::InstanceId("goes"), "");
  host.start_once("measure", pawl::InstanceId("of-nobody"), "bed-7");
  const int camped = run_until(host, has_camped);
  return camped == 0 ? host.run_until_done("goes") : camped;
}

int serve(pawl::Host& host, const char* device, bool holds) {
  if (holds) host.start_once("measure", pawl::InstanceId(device), device);
  if (host.start() != pawl::Status::kOk) return host.run();
  if (host.runtime().declare_session(device, false) != pawl::Status::kOk) return 1;
  return holds ? host.run() : host.run_until_done("of-nobody");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string_view mode = argv[2];
  pawl::HostOptions options;
  options.runtime.database_path = argv[1];
  if (mode == "camp" || mode == "end") options.runtime.sessions.work_root = argv[3];
  pawl::Host host(options);
  host.add_orchestration("camp", camp).add_orchestration("measure", measure);
  host.add_activity("echo", echo).add_activity("hold", mode == "key" ? say_key : hold);
  if (mode == "camp") return camp_in(host);
  if (mode != "end") return serve(host, argv[3], mode == "hold");
  static_cast<void>(host.start());
  return run_until(host, has_ended);
}
