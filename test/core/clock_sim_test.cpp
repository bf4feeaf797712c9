// Goal: the rules of time keep every guarantee they state, whatever wall clocks, cuts and processes
// do.
// Method: a simulation from a seed, with a true time that the rules cannot see. Each firing is
// compared with the table of guarantees. Then the rules are broken on purpose, one at a time: a
// simulation that does not notice that proves nothing.
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "clock_world.hpp"
#include "gtest/gtest.h"

namespace pawl::testing_world {
namespace {

class Scenario {
 public:
  struct Options {
    Variant variant = Variant::kRules;
    bool unknown_ids = false;
    bool lies = false;
    bool short_boots = false;
    int boots = 25;
  };

  Scenario(std::uint32_t seed, const Options& options)
      : random_(seed), options_(options), world_(start_of(seed), options.variant) {
    world_.rate_ppm_ = uniform(-100, 100);
    world_.error_max_ = options.lies ? 0 : 50;
    world_.lies_ = options.lies;
    world_.processes_.resize(static_cast<std::size_t>(uniform(1, 3)));
    if (world_.processes_.size() > 1) world_.processes_.back().blind = one_in(2);
    if (options.unknown_ids) {
      for (Process& process : world_.processes_)
        process.knows_id = one_in(2);
      world_.processes_.front().knows_id = false;
    }
  }

  const World& run() {
    for (int i = 0; i < options_.boots; ++i) {
      world_.set_synced(false);
      set_some_wall();
      world_.boot(uniform(0, 20 * kSecond));
      if (i == 0) world_.make(36500 * kDay);  // so that something always waits
      live(options_.short_boots ? uniform(60 * kSecond, 90 * kSecond)
                                : spread(3 * kSecond, 2 * kDay));
      if (one_in(4)) crash_in_a_look();
      world_.cut();
      world_.off(spread(kSecond, 21 * kDay));
    }
    return world_;
  }

 private:
  static Ms start_of(std::uint32_t seed) { return seed % 2 == 0 ? k2027 : k2040 - 20 * kDay; }

  Ms uniform(Ms from, Ms to) { return std::uniform_int_distribution<Ms>(from, to)(random_); }
  bool one_in(Ms n) { return uniform(1, n) == 1; }
  // Spreads values evenly over magnitudes, from seconds to weeks.
  Ms spread(Ms from, Ms to) {
    const double ratio = std::log(static_cast<double>(to) / static_cast<double>(from));
    const double part = static_cast<double>(uniform(0, 1000)) / 1000;
    return static_cast<Ms>(static_cast<double>(from) * std::exp(ratio * part));
  }

  void set_some_wall() {
    switch (uniform(0, 6)) {
      case 0: return world_.set_wall(0);                                 // never set
      case 1: return world_.set_wall(kBuildDateMs);                      // at a build date
      case 2: return world_.set_wall(k2000);                             // dead RTC
      case 3: return world_.set_wall(k2099);                             // RTC in the future
      case 4: return world_.set_wall(world_.truth());                    // good RTC
      case 5: return world_.set_wall(world_.truth() - spread(1, kDay));  // restored from a file
      default: return world_.set_wall(world_.truth() + uniform(-20000, 20000) * kDay);
    }
  }

  void sync_now() {
    if (options_.lies && one_in(2)) {
      world_.set_wall(world_.truth() + uniform(-3000, 3000) * kDay);
      world_.set_synced(true);
    } else {
      world_.sync_to_truth(uniform(-world_.error_max_, world_.error_max_));
    }
    if (one_in(2)) world_.step_notice();
  }

  void live(Ms duration) {
    const Ms pieces = uniform(2, 8);
    const Ms sync_at = uniform(0, 2 * pieces);  // after the last piece: never
    bool synced = false;
    for (Ms piece = 0; piece < pieces; ++piece) {
      if (piece == sync_at) {
        sync_now();
        synced = true;
      } else if (synced && one_in(4)) {  // sync is lost, perhaps with a step
        world_.set_synced(false);
        if (one_in(2)) set_some_wall();
        synced = false;
      } else if (synced) {
        sync_now();
      } else if (one_in(3)) {
        set_some_wall();
        world_.step_notice();
        if (one_in(4)) {
          sync_now();
          synced = true;
        }
      }
      act();
      world_.run(duration / pieces);
    }
  }

  void act() {
    if (one_in(2)) world_.make(spread(10, 60 * kDay));
    if (one_in(2)) world_.make(spread(10, kDay));
    if (one_in(3)) world_.make_at(world_.truth() + uniform(-kDay, 20 * kDay));
    if (one_in(5)) {
      const std::size_t last = world_.processes_.size() - 1;
      world_.restart_process(static_cast<std::size_t>(uniform(0, static_cast<Ms>(last))));
    }
  }

  // The cut comes during a transaction, perhaps during the one with the credit.
  void crash_in_a_look() {
    world_.lose_next_commit();
    sync_now();
    world_.make(kHour);
  }

  std::mt19937 random_;
  Options options_;
  World world_;
};

struct Sum {
  int worlds = 0;
  int broken = 0;
  int firings = 0;
  int credits = 0;
  std::string first;
};

Sum simulate(std::uint32_t worlds, const Scenario::Options& options) {
  Sum sum;
  for (std::uint32_t seed = 1; seed <= worlds; ++seed) {
    Scenario scenario(seed, options);
    const World& world = scenario.run();
    sum.worlds += 1;
    sum.firings += world.firings_;
    sum.credits += world.credits_;
    if (world.violations_.empty()) continue;
    sum.broken += 1;
    if (sum.first.empty()) {
      sum.first = "seed " + std::to_string(seed) + ": " + world.violations_.front();
    }
  }
  return sum;
}

Scenario::Options with(Variant variant) {
  Scenario::Options options;
  options.variant = variant;
  return options;
}

TEST(ClockSimulation, KnownBootIds_EveryGuaranteeHolds) {
  const Sum sum = simulate(120, Scenario::Options());
  EXPECT_EQ(sum.broken, 0) << sum.first;
  EXPECT_GT(sum.firings, 120 * 20);
  EXPECT_GT(sum.credits, 120);
}

TEST(ClockSimulation, UnknownBootIds_EveryGuaranteeHolds) {
  Scenario::Options options;
  options.unknown_ids = true;
  const Sum sum = simulate(120, options);
  EXPECT_EQ(sum.broken, 0) << sum.first;
  EXPECT_GT(sum.firings, 120 * 20);
}

TEST(ClockSimulation, BootsOfAMinute_EveryGuaranteeHolds) {
  Scenario::Options options;
  options.short_boots = true;
  options.boots = 100;
  const Sum sum = simulate(30, options);
  EXPECT_EQ(sum.broken, 0) << sum.first;
}

TEST(ClockSimulation, LyingWalls_NeverDelayADuration) {
  Scenario::Options options;
  options.lies = true;
  const Sum sum = simulate(120, options);
  EXPECT_EQ(sum.broken, 0) << sum.first;
  EXPECT_GT(sum.credits, 120);
}

TEST(ClockSimulation, CreditToThePresentBoot_IsNoticed) {
  EXPECT_GT(simulate(30, with(Variant::kCreditPresentBoot)).broken, 0);
}

TEST(ClockSimulation, DueRecomputedFromTheWall_IsNoticed) {
  EXPECT_GT(simulate(10, with(Variant::kWallDue)).broken, 0);
}

TEST(ClockSimulation, UptimeCountedUnderTheLastBootsId_IsNoticed) {
  EXPECT_GT(simulate(10, with(Variant::kLateAdoption)).broken, 0);
}

TEST(ClockSimulation, UnknownIdNotWritten_IsNoticed) {
  Scenario::Options options = with(Variant::kUnknownIdNotWritten);
  options.unknown_ids = true;
  EXPECT_GT(simulate(30, options).broken, 0);
}

TEST(ClockSimulation, CreditToABootOfUnknownId_IsNoticed) {
  Scenario::Options options = with(Variant::kCreditUnknownBoot);
  options.unknown_ids = true;
  EXPECT_GT(simulate(30, options).broken, 0);
}

TEST(ClockSimulation, NoDoublingOfMarks_IsNoticed) {
  Scenario::Options options = with(Variant::kNoDoublingOfMarks);
  options.short_boots = true;
  EXPECT_GT(simulate(10, options).broken, 0);
}

}  // namespace
}  // namespace pawl::testing_world
