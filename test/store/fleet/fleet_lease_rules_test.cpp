// Leases across machines as tables: how long an owner counts on one, who may become an owner, and
// whose id is free.
// Rules: F6, F7, F8, F13, F14, F15a, F15b.
#include "store/postgres/fleet_lease_rules.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "store/postgres/store_time_rules.hpp"

namespace pawl::fleet {
namespace {

constexpr std::int64_t kNow = 100'000;  // store time
constexpr std::int64_t kBoot = 50'000;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(FleetLeaseRules, an_owner_stops_before_another_one_may_begin) {
  // 60 s, less 60 ms of drift (and one for rounding), what two counts may be apart, and 2 s.
  EXPECT_EQ(own_lease_end(kBoot, {60'000, 2'000}), kBoot + 60'000 - 61 - kApartMs - 2'000);
  EXPECT_LE(own_lease_end(kBoot, {5'000, 2'000}), kBoot) << "a lease that is too short is none";
  EXPECT_EQ(own_lease_end(kMax - 5, {60'000, 2'000}), kMax);
}

TEST(FleetLeaseRules, exclusive_work_runs_within_the_own_count) {
  for (const auto& rule : {may_run_exclusive, keeps_exclusive}) {
    EXPECT_TRUE(rule(OptionalMs(kBoot + 1), kBoot));
    EXPECT_FALSE(rule(OptionalMs(kBoot), kBoot));
    EXPECT_FALSE(rule(OptionalMs(), kBoot)) << "before the first renewal";
  }
}

struct Row {
  const char* name;
  OwnerView owner;
  bool soft;       // whether another node may own a session that is not exclusive
  bool exclusive;  // and one that is
};
OwnerView living() {
  OwnerView owner;
  owner.locked_until_ms = kNow + 1;
  return owner;
}
template <typename Change>
OwnerView living_but(Change change) {
  OwnerView owner = living();
  change(owner);
  return owner;
}
const Row kRows[] = {
    {"it lives", living(), false, false},
    {"its lease is over", living_but([](OwnerView& owner) { owner.locked_until_ms = kNow; }), true,
     true},
    {"its registration has ended", living_but([](OwnerView& owner) { owner.is_dead = true; }), true,
     false},
    {"its connection is gone",
     living_but([](OwnerView& owner) { owner.connection_free_since_boot_ms = kBoot - 1'999; }),
     false, false},
    {"for the grace",
     living_but([](OwnerView& owner) { owner.connection_free_since_boot_ms = kBoot - 2'000; }),
     true, false},
    {"the kernel proves its death",
     living_but([](OwnerView& owner) { owner.is_proved_dead = true; }), true, true},
};

TEST(FleetLeaseRules, who_may_become_an_owner) {
  const TakeoverTime now{kNow, kBoot, {}};
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(may_become_owner(false, row.owner, now), row.soft);
    EXPECT_EQ(may_become_owner(true, row.owner, now), row.exclusive);
  }
  EXPECT_TRUE(may_become_owner(false, {}, now));
  EXPECT_TRUE(may_become_owner(true, {}, now));
}

TEST(FleetLeaseRules, no_exclusive_session_moves_while_moves_are_held) {
  const TakeoverTime held{kNow, kBoot, OptionalMs(kNow + 1)};
  const TakeoverTime over{kNow, kBoot, OptionalMs(kNow)};
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(may_become_owner(false, row.owner, held), row.soft);
    EXPECT_FALSE(may_become_owner(true, row.owner, held));
    EXPECT_EQ(may_become_owner(true, row.owner, over), row.exclusive);
  }
  EXPECT_FALSE(may_become_owner(true, {}, held)) << "the claim of its owner may be lost";
  EXPECT_TRUE(may_become_owner(true, {}, over));
}

TEST(FleetLeaseRules, moves_are_held_for_a_lease_after_a_new_timeline) {
  EXPECT_EQ(moves_held_until({}, false, kNow, 60'000), OptionalMs());
  EXPECT_EQ(moves_held_until({}, true, kNow, 60'000), OptionalMs(kNow + 60'000));
  EXPECT_EQ(moves_held_until(OptionalMs(5), false, kNow, 60'000), OptionalMs(5));
  EXPECT_EQ(moves_held_until(OptionalMs(5), true, kNow, 60'000), OptionalMs(kNow + 60'000));
}

TEST(FleetLeaseRules, whose_id_is_free) {
  EXPECT_FALSE(may_take_node_id({}, kBoot)) << "its connection stands";
  SameNode other;
  other.connection_free_since_boot_ms = kBoot - 1'999;
  EXPECT_FALSE(may_take_node_id(other, kBoot));
  other.connection_free_since_boot_ms = kBoot - 2'000;
  EXPECT_TRUE(may_take_node_id(other, kBoot));
  other = {};
  other.is_proved_dead = true;
  EXPECT_TRUE(may_take_node_id(other, kBoot));
}

}  // namespace
}  // namespace pawl::fleet
