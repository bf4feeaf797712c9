// A cron text starts an orchestration at its times, and the id of each run gives its time. Here the
// schedule is asked for a run now.
#include <cstdio>

#include "pawl/host.hpp"

pawl::ActivityResult print(pawl::ActivityContext& ctx) {
  std::printf("backing up %.*s\n", PAWL_TEXT(ctx.input()));
  *static_cast<bool*>(ctx.user()) = true;
  return ctx.ok("");
}

pawl::Poll back_up(pawl::OrchestrationContext& ctx) {
  if (!pawl::scheduled_run(ctx.instance_id()).has_value()) return ctx.fail("not of a schedule");
  PAWL_AWAIT(done, ctx.schedule_activity("print", ctx.input()));
  return done.ok() ? ctx.complete("") : ctx.fail(done.error());
}

bool is_true(void* flag) noexcept { return *static_cast<bool*>(flag); }

int main() {
  pawl::Schedule nightly;
  pawl::Diagnostic why;
  const char* zone = "CET-1CEST,M3.5.0,M10.5.0/3";
  if (fill_schedule(&nightly, "30 2 * * *", zone, "back_up", "the farm", why) != pawl::Status::kOk)
    return 1;  // `why` names the field and the place in it
  bool done = false;
  pawl::Host host("12_schedule.db");
  host.add_orchestration(pawl::kSchedule, pawl::run_schedule);
  host.add_orchestration("back_up", back_up);
  host.add_activity("print", print, pawl::ActivityMode::kInline, &done);
  host.start_once(pawl::kSchedule, pawl::InstanceId("nightly"), {nightly});
  pawl::Runtime& loop = host.runtime();
  pawl::Status ok = loop.raise_event("nightly", pawl::kScheduleCommand, {});  // kTrigger
  if (ok == pawl::Status::kOk) ok = loop.run_for(std::chrono::minutes(1), is_true, &done);
  if (ok == pawl::Status::kOk) ok = loop.cancel_instance("nightly", "enough");
  return ok == pawl::Status::kOk ? host.run_until_done("nightly") : 1;
}
// Prints:
// backing up the farm
