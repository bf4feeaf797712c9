// Goal: the rules of a fleet (docs/rules/fleet.md) keep what they promise, and each is needed.
// Method: worlds from seeds (fleet_world.hpp), first with all rules, then with one left out, in the
// scenario that shows it. A simulation that does not notice that a rule is gone proves nothing.
// PAWL_SOAK=1 runs a hundred seeds, PAWL_SEEDS=n runs n. docs/rules/fleet.md has the counts.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>

#include "fleet_world.hpp"

namespace pawl::fleet_test {
namespace {

Scenario usual() {
  Scenario scenario;
  scenario.trouble = {3, 2, 2, 2, 1, 1, 1, 1, 1, 0, 1};
  return scenario;
}
// Many batches of several nodes are on their way at once.
Scenario busy() {
  Scenario scenario;
  scenario.trouble = {1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  scenario.trouble_every_ms = 600'000;
  scenario.cut_max_ms = 20'000;
  scenario.tick_ms = 200;
  scenario.trip_max_ms = 900;
  return scenario;
}
// Failovers lose much, and the owners of sessions do not come back at once.
Scenario failing_over() {
  Scenario scenario;
  scenario.trouble = {0, 0, 1, 0, 4, 0, 0, 0, 0, 0, 0};
  scenario.trouble_every_ms = 100'000;
  scenario.lost_ms = {15'000, 30'000};
  scenario.cuts_at_failover = true;
  scenario.has_long_work = true;
  return scenario;
}
// A session is taken over, and the failover after it loses the claim.
Scenario taking_over() {
  Scenario scenario;
  scenario.trouble = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  scenario.length_ms = 3'600'000;
  scenario.lost_ms = {20'000};
  scenario.cut_min_ms = 60'000;
  scenario.failovers_after_claims_percent = 50;
  scenario.has_long_work = true;
  return scenario;
}
// Owners are cut off and frozen while their work goes on. Some answers take long.
Scenario racing() {
  Scenario scenario;
  scenario.trouble = {4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  scenario.trouble_every_ms = 40'000;
  scenario.cut_min_ms = 60'000;
  scenario.tick_ms = 500;
  scenario.slow_answers_percent = 40;
  scenario.has_long_work = true;
  scenario.has_opposed_clocks = true;
  return scenario;
}
Scenario freezing() {
  Scenario scenario;
  scenario.trouble = {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  scenario.trouble_every_ms = 40'000;
  scenario.has_long_work = true;
  return scenario;
}
// The server's clock steps while one node alone comes back and another one works on behind a cut.
Scenario stepping() {
  Scenario scenario;
  scenario.trouble = {1, 0, 0, 1, 0, 1, 0, 0, 0, 3, 0};
  scenario.trouble_every_ms = 50'000;
  scenario.cut_max_ms = 40'000;
  scenario.has_long_work = true;
  return scenario;
}
// Little is committed, so a mark is seconds old, and machines come and go.
Scenario rebooting() {
  Scenario scenario;
  scenario.trouble = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
  scenario.length_ms = 3'600'000;
  scenario.trouble_every_ms = 60'000;
  scenario.tick_ms = 4'000;
  scenario.is_quiet = true;
  return scenario;
}
// Nodes are away for hours, and come back with clocks that are as far off as they may.
Scenario drifting() {
  Scenario scenario;
  scenario.trouble = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  scenario.length_ms = 24 * 3'600'000;
  scenario.trouble_every_ms = 2 * 3'600'000;
  scenario.cut_min_ms = 2 * 3'600'000;
  scenario.cut_max_ms = 5 * 3'600'000;
  scenario.tick_ms = 20'000;
  scenario.is_quiet = true;
  scenario.has_opposed_clocks = true;
  return scenario;
}
Scenario breaking() {
  Scenario scenario;
  scenario.trouble = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  scenario.doubts_permille = 100;
  scenario.halves_permille = 5;
  scenario.has_long_work = true;
  return scenario;
}
// Batches wait for a lock that half a batch holds, and their times grow old.
Scenario waiting() {
  Scenario scenario = rebooting();
  scenario.trouble_every_ms = 30'000;
  scenario.halves_permille = 250;
  scenario.slow_answers_percent = 30;
  return scenario;
}
Scenario with_clones() {
  Scenario scenario;
  scenario.trouble = {1, 1, 0, 0, 0, 0, 3, 0, 0, 0, 0};
  scenario.has_long_work = true;
  return scenario;
}
// A Client answers no request, and its clock may be as far off as any.
Scenario with_client() {
  Scenario scenario = drifting();
  scenario.length_ms = 6 * 3'600'000;
  scenario.trouble_every_ms = 1'800'000;
  scenario.cut_min_ms = 300'000;
  scenario.cut_max_ms = 1'800'000;
  scenario.has_client = true;
  return scenario;
}

// Two nodes are on one machine. Each may crash and be cut off alone.
Scenario with_siblings() {
  Scenario scenario = usual();
  scenario.trouble = {4, 1, 4, 1, 1, 1, 0, 1, 1, 0, 0};
  scenario.has_siblings = true;
  scenario.boot_clock_max_ms = 60'000;
  return scenario;
}
// A machine with two nodes is away for hours, or one of its nodes is.
Scenario drifting_siblings() {
  Scenario scenario = drifting();
  scenario.trouble = {3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  scenario.has_siblings = true;
  scenario.boot_clock_max_ms = 60'000;
  return scenario;
}
// A Client is on the machine of a worker, and crashes and starts anew.
Scenario sibling_client() {
  Scenario scenario = with_client();
  scenario.trouble = {1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  scenario.has_siblings = true;
  scenario.boot_clock_max_ms = 60'000;
  return scenario;
}

struct Result {
  Violations violations;
  Activity activity;
};
Result run(const Scenario& scenario, RemovableRules::Set without, int seeds) {
  Result result;
  for (int seed = 1; seed <= seeds; ++seed) {
    FleetWorld world(static_cast<std::uint64_t>(seed), scenario, without);
    world.run();
    result.violations.add(world.violations());
    result.activity.add(world.activity());
  }
  return result;
}

std::string text_of(const Violations& v) {
  std::string text;
  const auto add = [&text](const char* name, int count) {
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(count);
  };
  add("overlap", v.overlap);
  add("twice", v.twice);
  add("wrong word", v.wrong_word);
  add("lost", v.lost);
  add("early", v.early);
  add("fast", v.fast);
  add("apart", v.apart);
  add("back", v.back);
  add("reused", v.reused);
  add("stuck", v.stuck);
  add("foreign", v.foreign);
  add("disorder", v.disorder);
  return text;
}

int seeds_of(int usually) {
  if (const char* seeds = std::getenv("PAWL_SEEDS"))
    return static_cast<int>(std::strtol(seeds, nullptr, 10));
  return std::getenv("PAWL_SOAK") == nullptr ? usually : 100;
}

struct Named {
  const char* name;
  Scenario (*scenario)();
  int siblings = 0;  // taken over in each world at least, on the average
};
void PrintTo(const Named& named, std::ostream* out) { *out << named.name; }
const Named kScenarios[] = {
    {"usual", usual},
    {"busy", busy},
    {"failing_over", failing_over},
    {"taking_over", taking_over},
    {"racing", racing},
    {"freezing", freezing},
    {"stepping", stepping},
    {"rebooting", rebooting},
    {"drifting", drifting},
    {"breaking", breaking},
    {"waiting", waiting},
    {"with_clones", with_clones},
    {"with_client", with_client},
    {"with_siblings", with_siblings, 10},
    {"drifting_siblings", drifting_siblings, 30},
    {"sibling_client", sibling_client, 20},
};

class AllRules : public ::testing::TestWithParam<Named> {};

TEST_P(AllRules, nothing_is_violated) {
  const int seeds = seeds_of(1);
  const Result result = run(GetParam().scenario(), 0, seeds);
  EXPECT_EQ(text_of(result.violations), "");
  const Activity& did = result.activity;
  EXPECT_GT(did.batches, 100);
  EXPECT_GE(did.siblings_taken, GetParam().siblings * seeds);
  std::printf(
      "%s: batches %d moves %d failovers %d doubts %d segments %d credits %d timers %d results %d "
      "losses %d ended %d servers %d refused %d siblings %d\n",
      GetParam().name, did.batches, did.moves, did.failovers, did.doubts, did.segments, did.credits,
      did.timers, did.results, did.losses_reported, did.holders_ended, did.refused_servers,
      did.refused_batches, did.siblings_taken);
}

INSTANTIATE_TEST_SUITE_P(Fleet, AllRules, ::testing::ValuesIn(kScenarios),
                         [](const auto& one) { return std::string(one.param.name); });

struct Removal {
  const char* name;
  Scenario (*scenario)();
  int Violations::*noticed;
  RemovableRules::Set without;
  int seeds = 1;
};
void PrintTo(const Removal& removal, std::ostream* out) { *out << removal.name; }
constexpr auto kBit = RemovableRules::bit;
const Removal kRemovals[] = {
    {"F1", usual, &Violations::back, kBit(Rule::kF1)},
    {"F2", usual, &Violations::back, kBit(Rule::kF2)},
    {"F3", busy, &Violations::fast, kBit(Rule::kF3)},
    {"F4a", rebooting, &Violations::apart, kBit(Rule::kF4a)},
    {"F4b", usual, &Violations::apart, kBit(Rule::kF4b)},
    {"F4c", drifting, &Violations::apart, kBit(Rule::kF4c)},
    {"F4d", waiting, &Violations::apart, kBit(Rule::kF4d), 2},
    {"F4e_age", drifting_siblings, &Violations::fast, kBit(Rule::kF4eAge)},
    {"F4e_boot", with_siblings, &Violations::apart, kBit(Rule::kF4eBoot)},
    {"F5a_F5b", stepping, &Violations::overlap, kBit(Rule::kF5a) | kBit(Rule::kF5b)},
    {"F5b", stepping, &Violations::early, kBit(Rule::kF5b)},
    {"F6", racing, &Violations::overlap, kBit(Rule::kF6), 8},
    {"F7", racing, &Violations::overlap, kBit(Rule::kF7)},
    {"F8", racing, &Violations::overlap, kBit(Rule::kF8)},
    {"F9", racing, &Violations::twice, kBit(Rule::kF9)},
    {"F10a", breaking, &Violations::wrong_word, kBit(Rule::kF10a)},
    {"F10b", breaking, &Violations::wrong_word, kBit(Rule::kF10b)},
    {"F10c", breaking, &Violations::wrong_word, kBit(Rule::kF10c)},
    {"F11", failing_over, &Violations::reused, kBit(Rule::kF11)},
    {"F12", failing_over, &Violations::lost, kBit(Rule::kF12)},
    {"F13", with_clones, &Violations::overlap, kBit(Rule::kF13)},
    {"F14", racing, &Violations::overlap, kBit(Rule::kF14)},
    {"F15a", taking_over, &Violations::overlap, kBit(Rule::kF15a)},
    {"F15b", taking_over, &Violations::overlap, kBit(Rule::kF15b), 2},
    {"F16", breaking, &Violations::stuck, kBit(Rule::kF16)},
    {"F17", usual, &Violations::foreign, kBit(Rule::kF17)},
    {"A1", freezing, &Violations::overlap, kBit(Rule::kA1)},
};

class RuleLeftOut : public ::testing::TestWithParam<Removal> {};

TEST_P(RuleLeftOut, is_noticed) {
  const Result result = run(GetParam().scenario(), GetParam().without, seeds_of(GetParam().seeds));
  EXPECT_GT(result.violations.*GetParam().noticed, 0);
  // Prints a row of the table in docs/rules/fleet.md.
  std::printf("| %s | %s |\n", GetParam().name, text_of(result.violations).c_str());
}

INSTANTIATE_TEST_SUITE_P(Fleet, RuleLeftOut, ::testing::ValuesIn(kRemovals),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pawl::fleet_test
