// Chapter 5: a person confirms the alarm, or the time runs out.
#include <chrono>
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

struct Duty {
  pawl::Host* host;
  bool is_awake;
};

// Rings a person. Here a person who is awake confirms at once.
pawl::ActivityResult ring(pawl::ActivityContext& ctx) {
  const Duty& duty = *static_cast<const Duty*>(ctx.user());
  std::printf("ringing %.*s\n", PAWL_TEXT(ctx.input()));
  if (ctx.input() != "duty" || !duty.is_awake) return ctx.ok("");
  const pawl::Status raised =
      duty.host->runtime().raise_event(ctx.instance_id(), "confirmed", "Ann");
  return raised == pawl::Status::kOk ? ctx.ok("") : ctx.fail(pawl::status_name(raised));
}

pawl::Poll alarm(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(rung, ctx.schedule_activity("ring", "duty"));
  if (!rung.ok()) return ctx.fail(rung.error());
  const pawl::Handle confirmed = ctx.schedule_wait("confirmed");
  const pawl::Handle limit = ctx.schedule_timer(std::chrono::milliseconds(300));
  PAWL_AWAIT(first, ctx.select(confirmed, limit));  // the loser is closed
  if (first.index() == 0) return ctx.complete("confirmed by " + std::string(first.value()));
  PAWL_AWAIT(chief, ctx.schedule_activity("ring", "chief"));
  return chief.ok() ? ctx.complete("escalated") : ctx.fail(chief.error());
}

int main(int argc, char**) {
  pawl::Host host("05_alarm.db");
  Duty duty{&host, argc > 1};
  host.add_orchestration("alarm", alarm);
  host.add_activity("ring", ring, pawl::ActivityMode::kInline, &duty);
  const char* id = duty.is_awake ? "alarm-2" : "alarm-1";
  host.start_once("alarm", pawl::InstanceId(id), "");
  return host.run_until_done(id);
}
