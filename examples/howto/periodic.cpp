// A periodic job, in the two forms there are: a loop with a timer, and a schedule with a cron text.
#include <chrono>
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

// Takes a sample every 100 ms, as many as the input says. A real loop has no end, and continues as
// new now and then.
pawl::Poll sample(pawl::OrchestrationContext& ctx) {
  const int left = std::stoi(std::string(ctx.input()));
  if (left == 0) return ctx.complete("");
  PAWL_AWAIT_DONE(ctx.schedule_activity("show", "sample, " + std::to_string(left) + " left"));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(100)));
  return ctx.continue_as_new(std::to_string(left - 1));
}

// Each run of a schedule is an instance of its own, whose id contains the scheduled time.
pawl::Poll back_up(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("show", "backing up " + std::string(ctx.input())));
  return done.ok() ? ctx.complete("") : ctx.fail(done.error());
}

bool has_run(void* loop) noexcept {
  pawl::OrchestrationStatus status;
  pawl::ScheduleStatus schedule;
  return static_cast<pawl::Runtime*>(loop)->get_status("nightly", &status) == pawl::Status::kOk &&
         pawl::from_json(status.custom_status, &schedule) == pawl::Status::kOk &&
         schedule.started > 0 && !schedule.running;
}

int main() {
  pawl::Schedule nightly;
  pawl::Diagnostic why;
  const char* zone = "CET-1CEST,M3.5.0,M10.5.0/3";
  nightly.missed = pawl::MissedRuns::kRunOnce;  // was it off at that time? Then one run afterwards
  if (fill_schedule(&nightly, "30 2 * * *", zone, "back_up", "the farm", why) != pawl::Status::kOk)
    return 1;
  pawl::Host host("periodic.db");
  host.add_orchestration("sample", sample).add_orchestration("back_up", back_up);
  host.add_orchestration(pawl::kSchedule, pawl::run_schedule).add_activity("show", show);
  host.start_once(pawl::kSchedule, pawl::InstanceId("nightly"), {nightly});
  if (host.status() != pawl::Status::kOk) return host.run();
  pawl::Runtime& loop = host.runtime();
  // Not at half past two, but now.
  if (loop.raise_event("nightly", pawl::kScheduleCommand, {pawl::ScheduleAction::kTrigger, {}}) !=
          pawl::Status::kOk ||
      loop.run_for(std::chrono::minutes(1), has_run, &loop) != pawl::Status::kOk)
    return 1;
  host.start_once("sample", pawl::InstanceId("sampler"), "3");
  return host.run_until_done("sampler");
}
