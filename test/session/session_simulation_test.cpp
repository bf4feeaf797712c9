// Runs the session simulation (session_simulation.hpp): the rules of sessions under random trouble.
// PAWL_SOAK=1 runs a thousand seeds, PAWL_SEED=n only seed n.
#include <gtest/gtest.h>

#include <cstdlib>

#include "session_simulation.hpp"

namespace pawl::test {
namespace {

TEST(SessionSimulation, trouble_from_a_seed) {
  const bool soak = std::getenv("PAWL_SOAK") != nullptr;
  const char* const only = std::getenv("PAWL_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t usual = sizeof(void*) == 4 ? 3 : 16;  // an emulated board is slow
  const std::uint64_t seeds = only != nullptr ? 1 : soak ? 1'000 : usual;
  Simulation::Counts sum;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    Simulation simulation(seed, WorkerRule::kNone, seed % 4 == 0);
    simulation.run(400);
    simulation.settle();
    ASSERT_EQ(simulation.violation(), "")
        << "PAWL_SEED=" << seed << ", step " << simulation.steps();
    if (HasFailure()) return;
    const Simulation::Counts& one = simulation.counts();
    sum.accepted += one.accepted;
    sum.refused += one.refused;
    sum.migrations += one.migrations;
    sum.losses += one.losses;
    sum.overlaps += one.overlaps;
    sum.closed += one.closed;
    sum.expired += one.expired;
    sum.moved += one.moved;
    sum.evicted += one.evicted;
    sum.closed_idle += one.closed_idle;
    sum.begun_anew += one.begun_anew;
  }
  // The counts show that the trouble really happened.
  if (only != nullptr) return;
  const int runs = static_cast<int>(seeds);
  std::printf(
      "accepted %d, refused %d, migrations %d, losses %d, overlaps %d, closed %d, expired %d, "
      "moved %d, evicted %d, closed as idle %d, begun anew %d\n",
      sum.accepted, sum.refused, sum.migrations, sum.losses, sum.overlaps, sum.closed, sum.expired,
      sum.moved, sum.evicted, sum.closed_idle, sum.begun_anew);
  EXPECT_GT(sum.accepted, 50 * runs);
  EXPECT_GT(sum.refused, 5 * runs);
  EXPECT_GT(sum.migrations, 5 * runs);
  EXPECT_GT(sum.losses, 0);
  EXPECT_GT(sum.overlaps, 0);
  EXPECT_GT(sum.closed, runs);
  EXPECT_GT(sum.closed_idle, 0);
  EXPECT_GT(sum.begun_anew, runs);
  EXPECT_GT(sum.moved, runs);
  if (seeds >= 4) {  // these are rare
    EXPECT_GT(sum.expired, 0);
    EXPECT_GT(sum.evicted, 0);
  }
}

}  // namespace
}  // namespace pawl::test
