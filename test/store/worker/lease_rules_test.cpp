// Leases as tables: idleness, room for another session, the sweep, and when a dead worker's node is
// free.
#include "store/worker/lease_rules.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pawl::rules {
namespace {

constexpr std::int64_t kNow = 100'000;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// A session that is quiet since 0 and whose hold has just passed.
IdleRow quiet() {
  IdleRow row;
  row.hold_until = kNow - 1;
  return row;
}
template <typename Change>
IdleRow quiet_but(Change change) {
  IdleRow row = quiet();
  change(row);
  return row;
}

struct Row {
  const char* name;
  IdleRow row;
  bool idle;        // after the default of 100 s
  bool makes_room;  // after 50 s
  bool swept;
};
const Row kRows[] = {
    {"shared, for long", quiet(), true, true, true},
    {"shared, to the moment", quiet_but([](IdleRow& row) { row.last_activity_at = 0; }), true, true,
     true},
    {"shared, not for long", quiet_but([](IdleRow& row) { row.last_activity_at = 1; }), false, true,
     true},
    {"active 50 s ago", quiet_but([](IdleRow& row) { row.last_activity_at = 50'000; }), false, true,
     true},
    {"active since", quiet_but([](IdleRow& row) { row.last_activity_at = 50'001; }), false, false,
     true},
    {"with work", quiet_but([](IdleRow& row) { row.has_work = row.is_busy = true; }), false, false,
     false},
    {"with delayed work alone", quiet_but([](IdleRow& row) { row.has_work = true; }), false, true,
     false},
    {"held until now", quiet_but([](IdleRow& row) { row.hold_until = kNow; }), false, false, true},
    {"held", quiet_but([](IdleRow& row) { row.hold_until = kNow + 1; }), false, false, true},
    {"a device", quiet_but([](IdleRow& row) { row.device = true; }), false, false, false},
    {"it stops", quiet_but([](IdleRow& row) { row.state = State::kStopping; }), false, false,
     false},
    {"lost", quiet_but([](IdleRow& row) { row.state = State::kLost; }), false, false, false},
    {"opened, without an idle time", quiet_but([](IdleRow& row) { row.is_opened = true; }), false,
     true, false},
    {"opened, with one that has passed", quiet_but([](IdleRow& row) {
       row.is_opened = true;
       row.idle_ms = kNow;
     }),
     true, true, false},
    {"opened, with one that has not", quiet_but([](IdleRow& row) {
       row.is_opened = true;
       row.idle_ms = kNow + 1;
     }),
     false, true, false},
    {"shared, with a longer one", quiet_but([](IdleRow& row) { row.idle_ms = kNow + 1; }), false,
     true, true},
    {"fails on loss", quiet_but([](IdleRow& row) {
       row.is_opened = true;
       row.idle_ms = 1;
       row.fails_on_loss = true;
     }),
     true, false, false},
    {"active in ages to come", quiet_but([](IdleRow& row) { row.last_activity_at = kMax; }), false,
     false, true},
    {"active before time", quiet_but([](IdleRow& row) { row.last_activity_at = kMin; }), true, true,
     true},
};

TEST(LeaseRules, idle_rows) {
  for (const Row& one : kRows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(is_idle(one.row, kNow, 100'000), one.idle);
    EXPECT_EQ(makes_room_at(one.row, 50'000).has_passed(kNow), one.makes_room);
    EXPECT_EQ(may_be_swept(one.row, kNow), one.swept);
  }
}

TEST(LeaseRules, what_is_kept_of_a_shared_one_that_nothing_refers_to) {
  constexpr std::int64_t kHour = 3'600'000;
  const auto swept = [](State state, bool has_settings, bool expires, std::int64_t at) {
    IdleRow row;
    row.state = state;
    row.has_settings = has_settings;
    row.expires = expires;
    return may_be_swept(row, at);
  };
  EXPECT_TRUE(swept(State::kOpen, false, false, 0));
  EXPECT_FALSE(swept(State::kOpen, true, false, kHour - 1)) << "what its settings count";
  EXPECT_TRUE(swept(State::kOpen, true, false, kHour));
  EXPECT_FALSE(swept(State::kOpen, true, true, kHour)) << "it expires";
  for (const State state : {State::kLost, State::kRefused}) {
    EXPECT_FALSE(swept(state, true, false, kHour - 1)) << "for people";
    EXPECT_TRUE(swept(state, true, false, kHour));
  }
  EXPECT_FALSE(swept(State::kClosed, false, false, kHour)) << "who logs it removes it";
  EXPECT_FALSE(swept(State::kExpired, true, false, kHour));
  EXPECT_FALSE(swept(State::kStopping, false, false, kHour));
}

TEST(LeaseRules, when_room_is_made) {
  EXPECT_EQ(makes_room_at(quiet_but([](IdleRow& row) {
                            row.last_activity_at = 70'000;
                            row.hold_until = 0;
                          }),
                          50'000),
            OptionalMs(120'000));
  EXPECT_EQ(makes_room_at(quiet_but([](IdleRow& row) { row.hold_until = 130'000; }), 50'000),
            OptionalMs(130'001))
      << "when the hold is over";
  EXPECT_EQ(makes_room_at(quiet_but([](IdleRow& row) { row.hold_until = kMax; }), 50'000),
            OptionalMs(kMax));
  EXPECT_FALSE(makes_room_at(quiet_but([](IdleRow& row) { row.is_busy = true; }), 0).has_value());
}

TEST(LeaseRules, how_long_work_has_waited) {
  EXPECT_EQ(waited_ms(500, 300), 300);
  EXPECT_EQ(waited_ms(500, 900), 500) << "the wall clock was set forward";
  EXPECT_EQ(waited_ms(500, -1), 500) << "or back";
  EXPECT_EQ(waited_ms(-1, kMin), 0);
}

TEST(LeaseRules, lease_arithmetic_saturates) {
  EXPECT_EQ(lease_until(5, 30), 35);
  EXPECT_EQ(lease_until(kMax - 1, 30), kMax);
  EXPECT_EQ(lease_left_ms(35, 5), 30);
  EXPECT_EQ(lease_left_ms(5, 5), 0);
  EXPECT_EQ(lease_left_ms(6, 5), 1);
  EXPECT_EQ(lease_left_ms(4, 5), 0);
  EXPECT_EQ(lease_left_ms(kMin, kMax), 0);
  EXPECT_EQ(lease_left_ms(kMax, -5), kMax);
}

TEST(LeaseRules, may_take_node) {
  struct NodeRow {
    const char* name;
    Gone gone;
    std::int64_t locked_until;
    bool may;
  };
  const NodeRow rows[] = {
      {"it lives", Gone::kNo, 0, false},
      {"it is dead", Gone::kProof, kNow + 1, true},
      {"suspected, in its lease", Gone::kSuspicion, kNow, false},
      {"suspected, two leases ago", Gone::kSuspicion, kNow - 60'000, true},
      {"suspected, not quite two leases ago", Gone::kSuspicion, kNow - 59'999, false},
      {"suspected, with a lease for ever", Gone::kSuspicion, kMax, false},
  };
  for (const NodeRow& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(may_take_node(one.gone, one.locked_until, 30'000, kNow), one.may);
  }
}

TEST(LeaseRules, who_died_with_its_boot_is_not_charged) {
  EXPECT_TRUE(is_charged(3, 3));
  EXPECT_FALSE(is_charged(2, 3));
  EXPECT_FALSE(is_charged(4, 3));
}

}  // namespace
}  // namespace pawl::rules
