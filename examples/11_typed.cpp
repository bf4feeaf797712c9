// A definition has a name and its types. Both sides use it, and a wrong type does not compile.
#include <cstdio>

#include "pawl/host.hpp"

struct Bed {
  int number = 0;
};
PAWL_JSON(Bed, number)
struct Reading {
  double moisture = 0;
};
PAWL_JSON(Reading, moisture)

inline constexpr pawl::ActivityType<Bed, Reading> kRead{"read"};
inline constexpr pawl::OrchestrationType<Bed, Reading> kMean{"mean"};

pawl::Reply<Reading> read(pawl::ActivityContext& ctx, const Bed& bed) {
  if (bed.number < 1) return ctx.fail_permanently("no such bed");
  std::printf("reading bed %d\n", bed.number);
  return Reading{bed.number * 0.1};
}

pawl::PollOf<Bed, Reading> mean(pawl::OrchestrationContext& ctx, const Bed& bed) {
  const pawl::TypedHandle<Reading> both[] = {ctx.schedule_activity(kRead, bed),
                                             ctx.schedule_activity(kRead, {bed.number + 1})};
  PAWL_AWAIT_DONE(ctx.join(both));
  PAWL_AWAIT(first, both[0]);
  PAWL_AWAIT(second, both[1]);
  if (!first.ok() || !second.ok()) return ctx.fail("a bed cannot be read");
  return ctx.complete(Reading{(first.value().moisture + second.value().moisture) / 2});
}

int main() {
  pawl::Host host("11_typed.db");
  host.add_activity(kRead, read).add_orchestration(kMean, mean);
  host.start_once(kMean, pawl::InstanceId("beds"), {2});
  return host.run_until_done("beds");
}
// Prints:
// reading bed 2
// reading bed 3
