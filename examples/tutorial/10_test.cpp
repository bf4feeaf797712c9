// Chapter 10: a test of the alarm of chapter 5, in virtual time, with a crash at every write.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>

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

// Plays one story in a world of its own, whatever dies on the way. False: its end is wrong.
bool play(const pawl::testing::WorldOptions& options, bool confirm, std::string_view expected) {
  pawl::testing::FakeActivity ring;
  pawl::Registry registry;
  if (registry.add_orchestration("alarm", alarm) != pawl::Status::kOk ||
      ring.add_to(registry, "ring") != pawl::Status::kOk)
    return false;
  pawl::testing::World world(registry, options);
  pawl::OrchestrationStatus status;
  return world.start() == pawl::Status::kOk &&
         world.client().start_orchestration("alarm", pawl::InstanceId("a"), "") ==
             pawl::Status::kOk &&
         world.advance(60'000) == pawl::Status::kOk &&
         (!confirm || world.client().raise_event("a", "confirmed", "Ann") == pawl::Status::kOk) &&
         world.run_until_done("a", &status) == pawl::Status::kOk && status.output == expected;
}

int main() {
  if (!play({}, true, "confirmed") || !play({}, false, "escalated")) return 1;
  std::puts("without crashes: tested");
  bool is_right = true;
  const std::uint64_t crashes =
      pawl::testing::for_each_crash(1, [&](const pawl::testing::WorldOptions& options) {
        is_right = play(options, true, "confirmed");
        if (!is_right) std::printf("crash at write %d\n", static_cast<int>(options.crash->at));
        return is_right;
      });
  if (!is_right || crashes == 0) return 1;
  std::puts("with a crash at every write: tested");
  return 0;
}
