// All activities of one session run in the one process that owns it, so it may keep something
// between them.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

// The state that this process keeps. It is valid while the session's epoch stays the same.
struct Meter {
  std::int64_t epoch = 0;
  int readings = 0;
};

pawl::ActivityResult read(pawl::ActivityContext& ctx) {
  Meter& meter = *static_cast<Meter*>(ctx.user());
  if (meter.epoch != ctx.session_epoch()) meter = {ctx.session_epoch(), 0};
  std::printf("reading %d of %s\n", ++meter.readings, std::string(ctx.session_id()).c_str());
  return ctx.ok("");
}

pawl::Poll watch(pawl::OrchestrationContext& ctx) {
  for (int i = 0; i < 3; ++i) {
    PAWL_AWAIT(done, ctx.schedule_activity("read", "", pawl::Target::session("meter-7")));
    if (!done.ok()) return ctx.fail(done.error());
  }
  return ctx.complete("");
}

int main() {
  Meter meter;
  pawl::Host host("07_session.db");
  host.add_orchestration("watch", watch);
  host.add_activity("read", read, pawl::ActivityMode::kInline, &meter);
  host.start_once("watch", pawl::InstanceId("watch"), "");
  return host.run_until_done("watch");
}
// Prints:
// reading 1 of meter-7
// reading 2 of meter-7
// reading 3 of meter-7
