// Lifetime as tables: looks at opened sessions, ends from outside, and which sessions count as left
// open.
#include "store/session/lifetime_rules.hpp"

#include <gtest/gtest.h>

namespace pawl::rules {
namespace {

constexpr std::int64_t kNow = 1'000;

constexpr EndTerms kNoTerms;

TEST(LifetimeRules, look_at_the_age) {
  struct Row {
    const char* name;
    State state;
    OptionalMs expires_at;
    Look look;
    bool announces;
    OptionalMs next;
  };
  const Row rows[] = {
      {"before its end", State::kOpen, kNow + 1, Look::kWaits, true, kNow + 1},
      {"at its end", State::kOpen, kNow, Look::kExpires, false, {}},
      {"behind its end, it stops", State::kStopping, kNow - 1, Look::kExpires, false, {}},
      {"a lost one, before its end", State::kLost, kNow + 1, Look::kWaits, true, kNow + 1},
      {"a lost one, at its end", State::kLost, kNow, Look::kExpires, false, {}},
      {"without an end", State::kOpen, {}, Look::kWaits, false, {}},
      {"closed from outside", State::kClosed, kNow, Look::kLogClosing, false, {}},
      {"expired", State::kExpired, kNow, Look::kRemove, false, {}},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    LookRow row;
    row.state = one.state;
    row.expires_at = one.expires_at;
    row.planned_at = kNow - 10;
    const Looked found = look_at(row, kNoTerms, kNow);
    EXPECT_EQ(found.what, one.look);
    EXPECT_EQ(found.announces_expiry, one.announces);
    EXPECT_EQ(found.next, one.next);
    EXPECT_FALSE(found.announces_closing);
  }
}

// Rules: S1.
TEST(LifetimeRules, an_age_that_is_not_of_all_work_ends_no_work_of_others) {
  struct Row {
    State state;
    bool has_work_of_others;
    Look look;
  };
  const Row rows[] = {
      {State::kOpen, true, Look::kBeginsAnew},   {State::kStopping, true, Look::kBeginsAnew},
      {State::kOpen, false, Look::kExpires},     {State::kLost, true, Look::kExpires},
      {State::kClosed, true, Look::kLogClosing}, {State::kExpired, true, Look::kRemove},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(static_cast<int>(one.state));
    LookRow row;
    row.state = one.state;
    row.expires_at = kNow;
    row.planned_at = kNow - 10;
    row.has_work = row.has_work_of_others = one.has_work_of_others;
    EXPECT_EQ(look_at(row, kNoTerms, kNow).what, one.look);
    row.expires_at = kNow + 1;
    if (is_open(one.state)) {
      EXPECT_EQ(look_at(row, kNoTerms, kNow).what, Look::kWaits);
    }
  }
}

// A look that was planned for another purpose gives no notice.
TEST(LifetimeRules, a_look_before_the_time_of_a_notice_announces_nothing) {
  LookRow row;
  row.planned_at = kNow;
  row.expires_at = kNow + 100;
  const Looked found = look_at(row, {true, 30, 0, 0}, kNow);
  EXPECT_FALSE(found.announces_expiry);
  EXPECT_EQ(found.next, OptionalMs(kNow + 70));
}

// idle_close is 100 ms, with a notice 30 ms before; the notice of an expiry comes 50 ms before.
TEST(LifetimeRules, look_at_idleness) {
  constexpr EndTerms kTerms = {true, 50, 100, 30};
  struct Row {
    const char* name;
    std::int64_t planned_at;
    std::int64_t last_activity_at;
    std::int64_t hold_until;
    bool has_work;
    OptionalMs expires_at;
    Look look;
    bool announces_closing;
    bool announces_expiry;
    OptionalMs next;
  };
  const Row rows[] = {
      {"used since", kNow, kNow - 10, 0, false, {}, Look::kWaits, false, false, kNow + 60},
      {"it has work", kNow, kNow - 500, 0, true, {}, Look::kWaits, false, false, kNow + 70},
      {"time for the notice", kNow, kNow - 70, 0, false, {}, Look::kWaits, true, false, kNow + 30},
      {"the look is late for it",
       kNow - 10,
       kNow - 75,
       0,
       false,
       {},
       Look::kWaits,
       true,
       false,
       kNow + 30},
      {"even late for the end: the notice comes first",
       kNow - 90,
       kNow - 160,
       0,
       false,
       {},
       Look::kWaits,
       true,
       false,
       kNow + 30},
      {"the notice was given", kNow, kNow - 99, 0, false, {}, Look::kWaits, false, false, kNow + 1},
      {"and now it ends", kNow, kNow - 100, 0, false, {}, Look::kCloses, false, false, {}},
      {"held", kNow, kNow - 500, kNow + 99, false, {}, Look::kWaits, false, false, kNow + 70},
      {"the hold ends soon",
       kNow,
       kNow - 500,
       kNow + 29,
       false,
       {},
       Look::kWaits,
       true,
       false,
       kNow + 30},
      {"the hold has just ended",
       kNow,
       kNow - 500,
       kNow - 1,
       false,
       {},
       Look::kCloses,
       false,
       false,
       {}},
      {"it expires before that", kNow, kNow - 10, 0, false, kNow + 55, Look::kWaits, false, false,
       kNow + 5},
      {"its expiry is to be announced", kNow, kNow - 10, 0, false, kNow + 50, Look::kWaits, false,
       true, kNow + 50},
      {"that was announced", kNow, kNow - 10, 0, false, kNow + 49, Look::kWaits, false, false,
       kNow + 49},
      {"both at once", kNow - 5, kNow - 71, 0, false, kNow + 46, Look::kWaits, true, true,
       kNow + 30},
      {"it has expired", kNow, kNow - 500, 0, false, kNow, Look::kExpires, false, false, {}},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    LookRow row;
    row.planned_at = one.planned_at;
    row.last_activity_at = one.last_activity_at;
    row.hold_until = one.hold_until;
    row.has_work = one.has_work;
    row.expires_at = one.expires_at;
    const Looked found = look_at(row, kTerms, kNow);
    EXPECT_EQ(found.what, one.look);
    EXPECT_EQ(found.announces_closing, one.announces_closing);
    EXPECT_EQ(found.announces_expiry, one.announces_expiry);
    EXPECT_EQ(found.next, one.next);
  }
  LookRow row;
  row.planned_at = kNow;
  row.device = true;
  EXPECT_EQ(look_at(row, kTerms, kNow).what, Look::kWaits) << "a device ends with its declarations";
  EXPECT_FALSE(look_at(row, kTerms, kNow).next.has_value());
  row.device = false;
  row.state = State::kLost;
  EXPECT_EQ(look_at(row, kTerms, kNow).what, Look::kWaits) << "a lost one stays for its code";
}

// Every idle period gets its own notice, whenever it begins after the last one.
TEST(LifetimeRules, a_notice_is_never_taken_for_that_of_a_later_silence) {
  constexpr std::int64_t kClose = 100;
  for (std::int64_t notice = 1; notice <= kClose / 2; ++notice) {
    for (std::int64_t used_after = 0; used_after <= notice; ++used_after) {
      const EndTerms terms = {true, 0, kClose, notice};
      LookRow row;
      row.last_activity_at = kNow;
      row.planned_at = kNow + kClose - notice;
      const Looked first = look_at(row, terms, row.planned_at);
      ASSERT_TRUE(first.announces_closing);
      row.last_activity_at = row.planned_at + used_after;
      int notices = 0;
      Looked found = first;
      while (found.what != Look::kCloses) {
        row.planned_at = found.next.value();
        found = look_at(row, terms, row.planned_at);
        notices += found.announces_closing ? 1 : 0;
      }
      ASSERT_EQ(notices, 1) << notice << " " << used_after;
      ASSERT_EQ(row.planned_at, row.last_activity_at + kClose);
    }
  }
}

TEST(LifetimeRules, when_a_look_is_planned_for_idleness) {
  SessionSettings settings;
  EXPECT_FALSE(first_idle_look(settings, kNow).has_value());
  settings.idle_close = std::chrono::seconds(2);
  EXPECT_EQ(first_idle_look(settings, kNow), OptionalMs(kNow + 2'000));
  settings.idle_close_notice = std::chrono::seconds(1);
  EXPECT_EQ(first_idle_look(settings, kNow), OptionalMs(kNow + 1'000));
}

TEST(LifetimeRules, an_announced_end_is_not_announced_again_after_a_change) {
  EXPECT_EQ(age_look_after_change(OptionalMs(90), OptionalMs(80)), OptionalMs(90));
  EXPECT_EQ(age_look_after_change(OptionalMs(80), OptionalMs(90)), OptionalMs(90));
  EXPECT_EQ(age_look_after_change({}, OptionalMs(90)), OptionalMs(90));
  EXPECT_EQ(age_look_after_change(OptionalMs(80), {}), OptionalMs());
}

TEST(LifetimeRules, end_from_outside) {
  struct Row {
    State state;
    Ending by_owner;
    Ending by_another;
  };
  const Row rows[] = {
      {State::kOpen, Ending::kEnds, Ending::kNotOwner},
      {State::kStopping, Ending::kEnds, Ending::kNotOwner},
      {State::kLost, Ending::kRemove, Ending::kNotOwner},
      {State::kClosed, Ending::kNotFound, Ending::kNotFound},
      {State::kRefused, Ending::kRemove, Ending::kNotOwner},
      {State::kExpired, Ending::kRemove, Ending::kNotOwner},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(static_cast<int>(one.state));
    EXPECT_EQ(end_from_outside(one.state, true), one.by_owner);
    EXPECT_EQ(end_from_outside(one.state, false), one.by_another);
  }
}

TEST(LifetimeRules, is_closing_unlogged) {
  EXPECT_TRUE(is_closing_unlogged(State::kClosed, true));
  EXPECT_FALSE(is_closing_unlogged(State::kClosed, false));
  EXPECT_FALSE(is_closing_unlogged(State::kExpired, true));
  EXPECT_FALSE(is_closing_unlogged(State::kLost, true));
}

TEST(LifetimeRules, is_leak) {
  struct Row {
    const char* name;
    LeakRow row;
    LeakLimits limits;
    bool leak;
  };
  const Row rows[] = {
      {"no limits", {State::kOpen, true, 99, 0}, {0, 0}, false},
      {"open for as long", {State::kOpen, true, 10, 5}, {10, 0}, true},
      {"open for less", {State::kOpen, true, 9, 5}, {10, 0}, false},
      {"unused for as long", {State::kOpen, true, 10, 0}, {0, 10}, true},
      {"unused for less", {State::kOpen, true, 9, 0}, {0, 10}, false},
      {"used", {State::kOpen, true, 10, 1}, {0, 10}, false},
      {"used, and open for long", {State::kOpen, true, 20, 1}, {20, 10}, true},
      {"unused, not open for long", {State::kOpen, true, 19, 0}, {20, 10}, true},
      {"it stops", {State::kStopping, true, 10, 5}, {10, 0}, true},
      {"lost: it may be opened again", {State::kLost, true, 10, 5}, {10, 0}, true},
      {"closed", {State::kClosed, true, 10, 5}, {10, 0}, false},
      {"shared", {State::kOpen, false, 10, 5}, {10, 10}, false},
      {"the shortest limit", {State::kOpen, true, 1, 5}, {1, 0}, true},
      {"the shortest limit of unused ones", {State::kOpen, true, 1, 0}, {0, 1}, true},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(is_leak(one.row, one.limits), one.leak);
  }
}

TEST(LifetimeRules, a_device_is_not_handed_off) {
  SessionRow row;
  EXPECT_TRUE(may_hand_off(row));
  row.device = true;
  EXPECT_FALSE(may_hand_off(row));
}

}  // namespace
}  // namespace pawl::rules
