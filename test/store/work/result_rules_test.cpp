// Results as tables: which result is accepted, what it does, and what ends an item without one.
#include "store/work/result_rules.hpp"

#include <gtest/gtest.h>

namespace pawl::rules {
namespace {

constexpr LockToken kToken = 7;
constexpr Epoch kEpoch = 5;
constexpr SessionKey kSession = 3;

const LastHandOver kHandedOver = {WorkState::kLocked, kToken, kEpoch, kSession, kEpoch};
const Returned kDone = {kToken, kEpoch, kSession};

using Change = void (*)(LastHandOver&);
LastHandOver but(Change change) {
  LastHandOver row = kHandedOver;
  change(row);
  return row;
}

// The rows hold changes, not changed rows: g++ 12.2 stops with an internal error when it inlines
// `but` into the initialiser of a table (-O2).
struct Row {
  const char* name;
  Change change;
  Returned done;
  bool accepted;
  bool ends_cancelled;
};
const Row kRows[] = {
    {"the last hand-over", [](LastHandOver&) {}, kDone, true, false},
    {"without a session",
     [](LastHandOver& row) {
       row = {WorkState::kLocked, kToken, 0, 0, 0};
     },
     {kToken, 0, 0},
     true,
     false},
    {"ready again", [](LastHandOver& row) { row.state = WorkState::kReady; }, kDone, false, false},
    {"delayed", [](LastHandOver& row) { row.state = WorkState::kDelayed; }, kDone, false, false},
    {"cancelled", [](LastHandOver& row) { row.state = WorkState::kCancelledRunning; }, kDone, false,
     true},
    {"cancelled, handed over before",
     [](LastHandOver& row) { row.state = WorkState::kCancelledRunning; },
     {kToken - 1, kEpoch, kSession},
     false,
     false},
    {"cancelled, of another epoch",
     [](LastHandOver& row) { row.state = WorkState::kCancelledRunning; },
     {kToken, kEpoch - 1, kSession},
     false,
     true},
    {"handed over before", [](LastHandOver&) {}, {kToken - 1, kEpoch, kSession}, false, false},
    {"another epoch", [](LastHandOver&) {}, {kToken, kEpoch - 1, kSession}, false, false},
    {"another session", [](LastHandOver&) {}, {kToken, kEpoch, kSession + 1}, false, false},
    {"its session has changed", [](LastHandOver& row) { row.session_epoch = kEpoch + 1; }, kDone,
     false, false},
    {"its session has gone", [](LastHandOver& row) { row.session_epoch = 0; }, kDone, false, false},
    {"no token", [](LastHandOver& row) { row.token.reset(); }, {0, kEpoch, kSession}, false, false},
};

TEST(ResultRules, accepts) {
  for (const Row& one : kRows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(accepts(but(one.change), one.done), one.accepted);
    EXPECT_EQ(ends_cancelled(but(one.change), one.done), one.ends_cancelled);
  }
}

TEST(ResultRules, acknowledge) {
  const AttemptResult success;
  const AttemptResult failure = {{ErrorKind::kApplication, false}, false};
  const AttemptResult abort = {{ErrorKind::kApplication, false}, true};
  const LastHandOver cancelled =
      but([](LastHandOver& row) { row.state = WorkState::kCancelledRunning; });
  const LastHandOver free = {WorkState::kLocked, kToken, 0, 0, 0};
  struct AckRow {
    const char* name;
    LastHandOver row;
    Returned done;
    AttemptResult result;
    std::int64_t failures;
    Acknowledged verdict;
  };
  const AckRow rows[] = {
      {"a result", kHandedOver, kDone, success, 0, Acknowledged::kCompletes},
      {"a failure", kHandedOver, kDone, failure, 0, Acknowledged::kRetries},
      {"the last failure", kHandedOver, kDone, failure, 1, Acknowledged::kCompletes},
      {"an abort", kHandedOver, kDone, abort, 0, Acknowledged::kAborts},
      {"an abort of no session", free, {kToken, 0, 0}, abort, 0, Acknowledged::kRetries},
      {"a late one", kHandedOver, {kToken - 1, kEpoch, kSession}, success, 0, Acknowledged::kStale},
      {"a late abort", kHandedOver, {kToken - 1, kEpoch, kSession}, abort, 0, Acknowledged::kStale},
      {"of cancelled work", cancelled, kDone, success, 0, Acknowledged::kCancelledEnded},
      {"an abort of cancelled work", cancelled, kDone, abort, 0, Acknowledged::kCancelledEnded},
  };
  Retry two;
  two.max_attempts = 2;
  for (const AckRow& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(acknowledge(one.row, one.done, one.result, two, one.failures), one.verdict);
  }
}

TEST(ResultRules, stored_states) {
  for (std::int64_t number = 0; number < 6; ++number) {
    EXPECT_EQ(static_cast<std::int64_t>(work_state_of(number)), number);
    EXPECT_EQ(static_cast<std::int64_t>(state_of(number)), number);
  }
  for (const std::int64_t number : {-1, 256, 257}) {
    SCOPED_TRACE(number);
    EXPECT_EQ(work_state_of(number), WorkState::kDelayed);
    EXPECT_EQ(state_of(number), State::kClosed);
  }
  EXPECT_EQ(work_state_of(6), WorkState::kDelayed);
  EXPECT_EQ(state_of(6), State::kClosed);
}

// Rules: S58.
TEST(ResultRules, answers_from_outside) {
  const Failure failed = {ErrorKind::kApplication, false};
  Retry retry;
  retry.max_attempts = 2;
  for (const WorkState state :
       {WorkState::kReady, WorkState::kLocked, WorkState::kDelayed, WorkState::kCancelledRunning,
        WorkState::kOutside, WorkState::kOutsideHolding}) {
    SCOPED_TRACE(static_cast<int>(state));
    EXPECT_EQ(may_be_answered(state), state == WorkState::kLocked || is_outside(state));
    EXPECT_EQ(after_answer(state, false, failed, retry, 0), AfterFailure::kRetry);
    EXPECT_EQ(after_answer(state, false, failed, retry, 1), AfterFailure::kFail);
    EXPECT_EQ(after_answer(state, false, {}, retry, 0), AfterFailure::kFail);
    EXPECT_EQ(after_answer(state, true, failed, retry, 0),
              is_in_hand(state) ? AfterFailure::kFail : AfterFailure::kRetry);
  }
}

TEST(ResultRules, cancel_and_end) {
  struct EndRow {
    WorkState state;
    bool exclusive;
    Ended cancelled;
    Ended ended;
  };
  const EndRow rows[] = {
      {WorkState::kReady, false, Ended::kDelete, Ended::kDelete},
      {WorkState::kReady, true, Ended::kDelete, Ended::kDelete},
      {WorkState::kDelayed, true, Ended::kDelete, Ended::kDelete},
      {WorkState::kLocked, false, Ended::kDelete, Ended::kDelete},
      {WorkState::kLocked, true, Ended::kKeepUntilEnd, Ended::kKeepUntilEnd},
      {WorkState::kCancelledRunning, false, Ended::kLeave, Ended::kDelete},
      {WorkState::kCancelledRunning, true, Ended::kLeave, Ended::kDelete},
  };
  for (const EndRow& one : rows) {
    SCOPED_TRACE(static_cast<int>(one.state));
    EXPECT_EQ(cancel(one.state, one.exclusive), one.cancelled);
    EXPECT_EQ(end_with_outcome(one.state, one.exclusive), one.ended);
  }
}

// Rules: S5, S36.
TEST(ResultRules, a_lock_lasts_as_long_as_the_lease_of_its_worker_but_not_once_it_is_cancelled) {
  EXPECT_EQ(lock_lease(WorkState::kLocked, 100, 0), 100) << "its worker has not renewed";
  EXPECT_EQ(lock_lease(WorkState::kLocked, 100, 99), 100);
  EXPECT_EQ(lock_lease(WorkState::kLocked, 100, 101), 101);
  EXPECT_EQ(lock_lease(WorkState::kCancelledRunning, 100, 101), 100);
  EXPECT_EQ(lock_lease(WorkState::kCancelledRunning, 100, 99), 100);
}

TEST(ResultRules, look_at_expired_lock) {
  constexpr WorkState kLocked = WorkState::kLocked;
  constexpr WorkState kCancelled = WorkState::kCancelledRunning;
  // columns: state, has session, is own, runs here
  struct LockRow {
    const char* name;
    ExpiredLockFacts lock;
    Gone gone;
    bool needs_evidence;
    ExpiredLock verdict;
  };
  const LockRow rows[] = {
      {"own, and runs", {kLocked, false, true, true}, Gone::kProof, false, ExpiredLock::kStays},
      {"own, of a session, and runs",
       {kLocked, true, true, true},
       Gone::kNo,
       false,
       ExpiredLock::kStays},
      {"own, of a lost commit",
       {kLocked, false, true, false},
       Gone::kNo,
       false,
       ExpiredLock::kUnlockWithStrike},
      {"own, of a session",
       {kLocked, true, true, false},
       Gone::kNo,
       false,
       ExpiredLock::kUnlockWithStrike},
      {"own, cancelled", {kCancelled, true, true, false}, Gone::kNo, false, ExpiredLock::kDelete},
      {"own, cancelled, and runs",
       {kCancelled, true, true, true},
       Gone::kNo,
       false,
       ExpiredLock::kStays},
      {"another's, who lives",
       {kLocked, false, false, false},
       Gone::kNo,
       true,
       ExpiredLock::kStays},
      {"another's, who is dead",
       {kLocked, false, false, false},
       Gone::kProof,
       true,
       ExpiredLock::kUnlock},
      {"another's, who is suspected",
       {kLocked, false, false, true},
       Gone::kSuspicion,
       true,
       ExpiredLock::kUnlockWithStrike},
      {"another's, of a session",
       {kLocked, true, false, false},
       Gone::kProof,
       false,
       ExpiredLock::kGoesWithSession},
      {"another's, cancelled, who lives",
       {kCancelled, true, false, false},
       Gone::kNo,
       true,
       ExpiredLock::kStays},
      {"another's, cancelled, who is dead",
       {kCancelled, true, false, false},
       Gone::kProof,
       true,
       ExpiredLock::kDelete},
      {"another's, cancelled, suspected",
       {kCancelled, true, false, false},
       Gone::kSuspicion,
       true,
       ExpiredLock::kDelete},
      {"another's, cancelled, no session",
       {kCancelled, false, false, false},
       Gone::kSuspicion,
       true,
       ExpiredLock::kDelete},
  };
  for (const LockRow& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(needs_evidence(one.lock), one.needs_evidence);
    EXPECT_EQ(look_at_expired_lock(one.lock, one.gone), one.verdict);
  }
}

}  // namespace
}  // namespace pawl::rules
