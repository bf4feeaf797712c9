// Admission as tables: openings within their limits, and activities within their number and rate.
#include "store/session/admission_rules.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "codec/policy.hpp"

namespace pawl::rules {
namespace {

constexpr std::int64_t kNow = 100'000;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(AdmissionRules, admit_opening) {
  struct Row {
    const char* name;
    OpenCounts counts;
    bool needs_label;
    Opening verdict;
  };
  const Row rows[] = {
      {"the first", {0, 10, false, 0, 0}, false, Opening::kAdmitted},
      {"the last", {9, 10, false, 0, 0}, false, Opening::kAdmitted},
      {"one too many", {10, 10, false, 0, 0}, false, Opening::kTooManyOfInstance},
      {"one too many, of whomever", {10, 10, true, 0, 5}, false, Opening::kTooManyOfInstance},
      {"far too many", {11, 10, true, 9, 5}, false, Opening::kTooManyOfInstance},
      {"a label without a limit", {0, 10, true, 99, 0}, false, Opening::kAdmitted},
      {"a limit without a label", {0, 10, false, 99, 5}, false, Opening::kAdmitted},
      {"of a label, the last", {0, 10, true, 4, 5}, true, Opening::kAdmitted},
      {"of a label, one too many", {0, 10, true, 5, 5}, true, Opening::kTooManyOfLabel},
      {"of a label, far too many", {9, 10, true, 6, 5}, true, Opening::kTooManyOfLabel},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(needs_label_count(one.counts), one.needs_label);
    EXPECT_EQ(admit_opening(one.counts), one.verdict);
  }
}

TEST(AdmissionRules, expiry_of) {
  SessionSettings settings;
  EXPECT_FALSE(expiry_of(settings, kNow).expires_at.has_value());
  EXPECT_FALSE(expiry_of(settings, kNow).look_at.has_value());
  settings.max_age = std::chrono::seconds(60);
  EXPECT_EQ(expiry_of(settings, kNow).expires_at, OptionalMs(kNow + 60'000));
  EXPECT_EQ(expiry_of(settings, kNow).look_at, OptionalMs(kNow + 60'000));
  settings.expiry_notice = std::chrono::seconds(5);
  EXPECT_EQ(expiry_of(settings, kNow).expires_at, OptionalMs(kNow + 60'000));
  EXPECT_EQ(expiry_of(settings, kNow).look_at, OptionalMs(kNow + 55'000));
}

TEST(AdmissionRules, limits_work) {
  SessionSettings settings;
  settings.max_age = std::chrono::milliseconds(1);
  EXPECT_FALSE(limits_work(settings));
  settings.max_activities = 1;
  EXPECT_TRUE(limits_work(settings));
  settings.max_activities = 0;
  settings.rate_interval = std::chrono::milliseconds(1);
  EXPECT_TRUE(limits_work(settings));
}

TEST(AdmissionRules, opened_state_of) {
  EXPECT_EQ(opened_state_of(State::kOpen), OpenedState::kOpen);
  EXPECT_EQ(opened_state_of(State::kStopping), OpenedState::kOpen);
  EXPECT_EQ(opened_state_of(State::kLost), OpenedState::kLost);
  EXPECT_EQ(opened_state_of(State::kRefused), OpenedState::kRefused);
  EXPECT_EQ(opened_state_of(State::kClosed), OpenedState::kNotOpen);
  EXPECT_EQ(opened_state_of(State::kExpired), OpenedState::kNotOpen);
}

SessionSettings counted(std::int64_t most, std::int64_t warning) {
  SessionSettings settings;
  settings.max_activities = most;
  settings.activity_warning = warning;
  return settings;
}
SessionSettings paced(std::int64_t interval, std::int64_t burst, std::int64_t wait) {
  SessionSettings settings;
  settings.rate_interval = std::chrono::milliseconds(interval);
  settings.rate_burst = burst;
  settings.rate_wait = std::chrono::milliseconds(wait);
  return settings;
}

struct Row {
  const char* name;
  SessionSettings settings;
  Scheduled so_far;
  Admitted verdict;
  std::int64_t due;          // for kLater
  std::int64_t again_in_ms;  // for kTooFast
  OptionalMs rate_at;        // after the call
  bool warns;
};
const Row kRows[] = {
    {"no limit", {}, {41, {}}, Admitted::kAtOnce, 0, 0, {}, false},
    {"a rate that was, is none", {}, {41, kNow + 9}, Admitted::kAtOnce, 0, 0, {}, false},
    {"the last of five", counted(5, 0), {4, {}}, Admitted::kAtOnce, 0, 0, {}, false},
    {"the sixth of five", counted(5, 0), {5, {}}, Admitted::kTooMany, 0, 0, {}, false},
    {"the seventh of five", counted(5, 6), {6, {}}, Admitted::kTooMany, 0, 0, {}, false},
    {"before the one to be told of", counted(5, 4), {2, {}}, Admitted::kAtOnce, 0, 0, {}, false},
    {"the one to be told of", counted(5, 4), {3, {}}, Admitted::kAtOnce, 0, 0, {}, true},
    {"behind the one to be told of", counted(5, 4), {4, {}}, Admitted::kAtOnce, 0, 0, {}, false},
    {"the first by rate",
     paced(1'000, 1, 0),
     {0, {}},
     Admitted::kAtOnce,
     0,
     0,
     kNow + 1'000,
     false},
    {"its rate is as good as new",
     paced(1'000, 1, 0),
     {9, kNow},
     Admitted::kAtOnce,
     0,
     0,
     kNow + 1'000,
     false},
    {"its rate was so long ago",
     paced(1'000, 1, 0),
     {9, kNow - 99'000},
     Admitted::kAtOnce,
     0,
     0,
     kNow + 1'000,
     false},
    {"too early, it waits",
     paced(1'000, 1, 400),
     {9, kNow + 400},
     Admitted::kLater,
     kNow + 400,
     0,
     kNow + 1'400,
     false},
    {"too early by one",
     paced(1'000, 1, 400),
     {9, kNow + 401},
     Admitted::kTooFast,
     0,
     1,
     {},
     false},
    {"too early, and none waits",
     paced(1'000, 1, 0),
     {9, kNow + 1},
     Admitted::kTooFast,
     0,
     1,
     {},
     false},
    {"the last of a burst",
     paced(1'000, 3, 0),
     {9, kNow + 2'000},
     Admitted::kAtOnce,
     0,
     0,
     kNow + 3'000,
     false},
    {"behind a burst",
     paced(1'000, 3, 5'000),
     {9, kNow + 2'001},
     Admitted::kLater,
     kNow + 1,
     0,
     kNow + 3'001,
     false},
    {"too fast behind a burst",
     paced(1'000, 3, 5'000),
     {9, kNow + 8'000},
     Admitted::kTooFast,
     0,
     1'000,
     {},
     false},
    {"a rate for ever",
     paced(1'000, 1, 0),
     {9, kMax},
     Admitted::kTooFast,
     0,
     kMax - kNow,
     {},
     false},
};

TEST(AdmissionRules, admit_work) {
  for (const Row& one : kRows) {
    SCOPED_TRACE(one.name);
    const Admission admission = admit_work(one.settings, one.so_far, LimitOf::kItself, kNow);
    EXPECT_EQ(admission.verdict, one.verdict);
    const bool is_refused = one.verdict == Admitted::kTooMany || one.verdict == Admitted::kTooFast;
    if (!is_refused) {
      EXPECT_EQ(admission.next.given, one.so_far.given + 1);
      EXPECT_EQ(admission.next.rate_at, one.rate_at);
    }
    EXPECT_EQ(admission.warns, one.warns);
    EXPECT_EQ(admission.due, one.due);
    EXPECT_EQ(admission.again_in_ms, one.again_in_ms);
  }
}

// Work of an instance that did not set the limits is never refused for the same counts.
TEST(AdmissionRules, admit_work_beside_another) {
  for (const Row& one : kRows) {
    SCOPED_TRACE(one.name);
    const Admission own = admit_work(one.settings, one.so_far, LimitOf::kItself, kNow);
    const Admission beside = admit_work(one.settings, one.so_far, LimitOf::kAnother, kNow);
    if (own.verdict == Admitted::kTooMany) {
      EXPECT_EQ(beside.verdict, Admitted::kBeginsAnew);
      continue;
    }
    const bool waits = own.verdict == Admitted::kTooFast;
    EXPECT_EQ(beside.verdict, waits ? Admitted::kLater : own.verdict);
    EXPECT_EQ(beside.next.given, one.so_far.given + 1);
    if (waits) {
      EXPECT_EQ(beside.due, kNow + own.again_in_ms + one.settings.rate_wait.count());
    } else {
      EXPECT_EQ(beside.due, own.due);
      EXPECT_EQ(beside.next.rate_at, own.next.rate_at);
    }
  }
}

TEST(AdmissionRules, shared_state_of) {
  struct SharedRow {
    State state;
    SharedState its_own;
    SharedState anothers;
  };
  const SharedRow rows[] = {
      {State::kOpen, SharedState::kOpen, SharedState::kOpen},
      {State::kStopping, SharedState::kOpen, SharedState::kOpen},
      {State::kClosed, SharedState::kBeginsAnew, SharedState::kBeginsAnew},
      {State::kLost, SharedState::kRefuses, SharedState::kRefuses},
      {State::kRefused, SharedState::kRefuses, SharedState::kBeginsAnewAfterLimit},
      {State::kExpired, SharedState::kRefuses, SharedState::kBeginsAnewAfterLimit},
  };
  for (const SharedRow& one : rows) {
    SCOPED_TRACE(static_cast<int>(one.state));
    EXPECT_EQ(shared_state_of(one.state, LimitOf::kItself), one.its_own);
    EXPECT_EQ(shared_state_of(one.state, LimitOf::kAnother), one.anothers);
  }
}

TEST(AdmissionRules, settings_that_stay) {
  SessionSettings had = paced(1'000, 3, 5'000);
  had.exclusive = had.notify = had.fail_on_loss = true;
  had.max_activities = 7;
  had.max_age = had.idle_close = std::chrono::hours(1);
  had.kind = "modem";
  SessionSettings stay = paced(1'000, 3, 5'000);
  stay.exclusive = true;
  PolicyText text;
  PolicyText expected;
  const SessionSettings is = settings_that_stay(had);
  ASSERT_TRUE(encode_settings(is, &text) && encode_settings(stay, &expected));
  EXPECT_EQ(text.view(), expected.view());
  EXPECT_TRUE(is.kind.view().empty());
}

}  // namespace
}  // namespace pawl::rules
