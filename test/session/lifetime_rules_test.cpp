// Lifetime as tables: looks at opened sessions, ends from outside, what counts as left open.
#include "lifetime.hpp"

#include <gtest/gtest.h>

namespace pawl::session {
namespace {

constexpr std::int64_t kNow = 1'000;

TEST(LifetimeRules, look_at) {
  struct Row {
    const char* name;
    State state;
    OptionalMs expires_at;
    Look look;
  };
  const Row rows[] = {
      {"before its end", State::kOpen, kNow + 1, Look::kAnnounces},
      {"at its end", State::kOpen, kNow, Look::kExpires},
      {"behind its end, it stops", State::kStopping, kNow - 1, Look::kExpires},
      {"a lost one, before its end", State::kLost, kNow + 1, Look::kAnnounces},
      {"a lost one, at its end", State::kLost, kNow, Look::kExpires},
      {"without an end", State::kOpen, {}, Look::kAnnounces},
      {"closed from outside", State::kClosed, kNow, Look::kLogClosing},
      {"expired", State::kExpired, kNow, Look::kRemove},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(look_at(one.state, one.expires_at, kNow), one.look);
  }
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
}  // namespace pawl::session
