// Goal: with any options, and whatever is done to them, programs run to their ends, nothing
// acknowledged is lost, and the log has no error except those that are caused. Method:
// random_world.hpp. PAWL_SOAK=1 runs a thousand seeds, PAWL_SEEDS=n runs n, from PAWL_SEEDS_FROM
// on; PAWL_SEED=n runs seed n and prints its story. control.py shows that defects which were mended
// would be found.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "random_world.hpp"

namespace pawl::test {
namespace {

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

WorldCounts live(std::uint64_t seed, bool is_shown) {
  WorldCounts counts;
  {
    RandomWorld world(seed);
    const std::string failure = world.run();
    EXPECT_EQ(failure, "") << "PAWL_SEED=" << seed;
    if (is_shown) std::puts(world.story().c_str());
    counts = world.counts();
  }
  for (const std::string& text : testing::unexpected_errors())
    ADD_FAILURE() << "PAWL_SEED=" << seed << ": errors in the log: " << text;
  return counts;
}

TEST(RandomOptions, ProgramsEndAndNothingIsLost) {
  const std::uint64_t only = number_of("PAWL_SEED", 0);
  const std::uint64_t first = only != 0 ? only : number_of("PAWL_SEEDS_FROM", 1);
  const std::uint64_t usual = std::getenv("PAWL_SOAK") == nullptr ? 40 : 1'000;
  const std::uint64_t seeds = only != 0 ? 1 : number_of("PAWL_SEEDS", usual);
  WorldCounts all;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    all.add(live(seed, only != 0));
    if (HasFailure()) return;
  }
  std::printf(
      "%u messages, %u received, %u kills, %u reboots, %u cancelled, %u over their limit,"
      " %u restarted, %u suspended,"
      " %u executions, %u completed, %u failed, %u answered from outside, %u calls answered\n",
      all.messages, all.received, all.kills, all.reboots, all.cancels, all.limits_over,
      all.restarts, all.suspensions, all.executions, all.completed, all.failed, all.outside,
      all.answers);
  if (only != 0) return;
  // A world in which one of these never happens would pass all checks.
  for (const unsigned happened :
       {all.messages, all.received, all.kills, all.reboots, all.cancels, all.limits_over,
        all.restarts, all.suspensions, all.completed, all.failed, all.outside, all.answers})
    EXPECT_GT(happened, seeds / 4);
}

}  // namespace
}  // namespace pawl::test
