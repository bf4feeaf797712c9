// Chapter 10: a test of the alarm of chapter 5, in virtual time, with a crash at every write.
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "pawl/testing.hpp"

// The code under test. Its limit is an hour now; the test does not wait for it.
pawl::Poll alarm(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(rung, ctx.schedule_activity("ring", "duty"));
  if (!rung.ok()) return ctx.fail(rung.error());
  const pawl::Handle confirmed = ctx.schedule_wait("confirmed");
  const pawl::Handle limit = ctx.schedule_timer(std::chrono::hours(1));
  PAWL_AWAIT(first, ctx.select(confirmed, limit));
  if (first.index() == 0) return ctx.complete("confirmed");
  PAWL_AWAIT(chief, ctx.schedule_activity("ring", "chief"));
  return chief.ok() ? ctx.complete("escalated") : ctx.fail(chief.error());
}

// Plays one story in a world of its own. The process dies at its disk write number `crash_at`; 0:
// never. Returns whether it died, and counts a wrong end in `failures`.
bool play(std::uint64_t crash_at, bool confirm, const char* expected, int* failures) {
  pawl::testing::FakeActivity ring;
  pawl::Registry registry;
  if (registry.add_orchestration("alarm", alarm) != pawl::Status::kOk ||
      ring.add_to(registry, "ring") != pawl::Status::kOk)
    return ++*failures, false;
  pawl::testing::World world(registry);
  if (world.start() != pawl::Status::kOk) return ++*failures, false;
  if (world.client().start_orchestration("alarm", pawl::InstanceId("a"), "") != pawl::Status::kOk)
    return ++*failures, false;
  world.crash_at_write(crash_at);
  const bool crashed = world.advance(60'000) == pawl::Status::kStopped;
  world.crash_at_write(0);
  if (crashed && world.start() != pawl::Status::kOk) return ++*failures, true;
  if (confirm && world.client().raise_event("a", "confirmed", "Ann") != pawl::Status::kOk)
    return ++*failures, crashed;
  pawl::OrchestrationStatus status;
  if (world.run_until_done("a", &status) != pawl::Status::kOk || status.output != expected) {
    std::printf("crash at write %d: the end is wrong\n", static_cast<int>(crash_at));
    ++*failures;
  }
  return crashed;
}

int main() {
  int failures = 0;
  play(0, true, "confirmed", &failures);
  play(0, false, "escalated", &failures);
  std::puts("without crashes: tested");
  std::uint64_t crashes = 0;
  while (failures == 0 && play(crashes + 1, false, "escalated", &failures))
    ++crashes;
  std::puts(crashes > 0 ? "with a crash at every write: tested" : "there was no crash");
  return failures == 0 && crashes > 0 ? 0 : 1;
}
