// A saga: steps that are undone in reverse order when a later one fails, or when it is cancelled.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "pawl/host.hpp"

pawl::ActivityResult act(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  if (ctx.input() == "start the pump") return ctx.fail_permanently("the pump is blocked");
  return ctx.ok("");
}

struct Step {
  const char* act;
  const char* undo;
};

// An activity that undoes a step must not give up, so it is repeated for as long as it takes.
pawl::ActivityOptions stubborn() {
  pawl::ActivityOptions options;
  options.retry.max_attempts = 1'000'000;
  options.retry.cap = std::chrono::minutes(10);
  return options;
}

pawl::Poll undo_all(pawl::OrchestrationContext& ctx, const std::vector<const char*>& done) {
  const pawl::CleanUpScope scope = ctx.clean_up();  // works in spite of a cancel request
  for (std::size_t i = done.size(); i > 0; --i)
    PAWL_AWAIT_DONE(ctx.schedule_activity("act", done[i - 1], stubborn()));
  return pawl::Poll::done();
}

pawl::Poll fill_tank(pawl::OrchestrationContext& ctx) {
  const Step steps[] = {{"open the inlet", "close the inlet"},
                        {"lock the lid", "unlock the lid"},
                        {"start the pump", "stop the pump"}};
  std::vector<const char*> undo;  // a local: made anew in each run, from the same results
  for (const Step& step : steps) {
    undo.push_back(step.undo);  // before the step: one that failed may have happened in part
    PAWL_AWAIT(result, ctx.schedule_activity("act", step.act));
    if (result.ok()) continue;
    PAWL_CALL(undo_all(ctx, undo));
    return ctx.fail(result.error());
  }
  return ctx.complete("filling");
}

int main() {
  pawl::Host host("saga.db");
  host.add_orchestration("fill_tank", fill_tank).add_activity("act", act);
  host.start_once("fill_tank", pawl::InstanceId("tank-1"), "");
  return host.run_until_done("tank-1") == 1 ? 0 : 1;  // the saga fails, and leaves nothing behind
}
