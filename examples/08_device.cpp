// A device is a session that only the worker that declares it may own. Work for an absent device
// has a limit of its own.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult read(pawl::ActivityContext& ctx) {
  return ctx.ok("21 degrees of " + std::string(ctx.session_id()));
}

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%s\n", std::string(ctx.input()).c_str());
  return ctx.ok("");
}

pawl::Poll sample(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(here, ctx.schedule_activity("read", "", pawl::Target::device("probe-1")));
  PAWL_AWAIT_DONE(ctx.schedule_activity("show", here.ok() ? here.value() : here.error().text));
  PAWL_AWAIT(absent,
             ctx.schedule_activity(
                 "read", "", pawl::Target::device("probe-2", std::chrono::milliseconds(300))));
  const bool is_absent = absent.error().kind == pawl::ErrorKind::kSessionUnavailable;
  PAWL_AWAIT_DONE(ctx.schedule_activity("show", is_absent ? "no probe-2 here" : absent.value()));
  return ctx.complete("");
}

int main() {
  pawl::Host host("08_device.db");
  host.add_orchestration("sample", sample).add_activity("read", read).add_activity("show", show);
  host.start_once("sample", pawl::InstanceId("sample"), "");
  if (host.status() != pawl::Status::kOk) return host.run();
  const pawl::Status declared = host.runtime().declare_session("probe-1", false);
  return declared == pawl::Status::kOk ? host.run_until_done("sample") : 1;
}
// Prints:
// 21 degrees of probe-1
// no probe-2 here
