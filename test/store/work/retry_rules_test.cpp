// Retry as tables: how long a pause is, what follows a failed attempt, and which limit an overdue
// item has passed.
#include "store/work/retry_rules.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pawl::rules {
namespace {

constexpr std::int64_t kNow = 1'000;

TEST(RetryRules, may_retry) {
  Retry retry;
  EXPECT_FALSE(may_retry(retry, 0)) << "one attempt by default";
  retry.max_attempts = 3;
  EXPECT_TRUE(may_retry(retry, 0));
  EXPECT_TRUE(may_retry(retry, 1));
  EXPECT_FALSE(may_retry(retry, 2));
  EXPECT_FALSE(may_retry(retry, 3));
}

TEST(RetryRules, pauses_by_backoff) {
  struct Row {
    const char* name;
    Retry retry;
    std::vector<std::int64_t> pauses;  // after 1, 2, 3, 4 and a million failures
  };
  const Row rows[] = {
      {"none",
       {9, Backoff::kNone, std::chrono::milliseconds(100), std::chrono::milliseconds(350), 0},
       {0, 0, 0, 0, 0}},
      {"fixed",
       {9, Backoff::kFixed, std::chrono::milliseconds(100), std::chrono::milliseconds(350), 0},
       {100, 100, 100, 100, 100}},
      {"fixed, at its cap",
       {9, Backoff::kFixed, std::chrono::milliseconds(350), std::chrono::milliseconds(350), 0},
       {350, 350, 350, 350, 350}},
      {"linear",
       {9, Backoff::kLinear, std::chrono::milliseconds(100), std::chrono::milliseconds(350), 0},
       {100, 200, 300, 350, 350}},
      {"exponential",
       {9, Backoff::kExponential, std::chrono::milliseconds(100), std::chrono::milliseconds(350),
        0},
       {100, 200, 350, 350, 350}},
      {"exponential, uncapped",
       {9, Backoff::kExponential, std::chrono::milliseconds(100), std::chrono::milliseconds(900),
        0},
       {100, 200, 400, 800, 900}},
      {"exponential, of the least",
       {9, Backoff::kExponential, std::chrono::milliseconds(1), std::chrono::milliseconds(350), 0},
       {1, 2, 4, 8, 350}},
      {"exponential, of nothing",
       {9, Backoff::kExponential, std::chrono::milliseconds(0), std::chrono::milliseconds(350), 0},
       {0, 0, 0, 0, 0}},
      {"the longest",
       {9, Backoff::kExponential, kDurationMax, kDurationMax, 0},
       std::vector<std::int64_t>(5, kDurationMax.count())},
      {"the longest, linear",
       {9, Backoff::kLinear, kDurationMax, kDurationMax, 0},
       std::vector<std::int64_t>(5, kDurationMax.count())},
  };
  const int failures[] = {1, 2, 3, 4, 1'000'000};
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    for (std::size_t i = 0; i < one.pauses.size(); ++i)
      EXPECT_EQ(retry_delay_ms(one.retry, failures[i], 7), one.pauses[i]) << failures[i];
  }
}

TEST(RetryRules, jitter_is_bounded_and_repeatable) {
  const Retry retry = {9, Backoff::kFixed, std::chrono::seconds(10), std::chrono::seconds(10), 20};
  std::int64_t least = 10'000;
  std::int64_t most = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    const std::int64_t pause = retry_delay_ms(retry, 1, seed);
    EXPECT_EQ(pause, retry_delay_ms(retry, 1, seed));
    least = pause < least ? pause : least;
    most = pause > most ? pause : most;
  }
  EXPECT_GE(least, 8'000);
  EXPECT_LT(least, 8'050);
  EXPECT_LE(most, 10'000);
  EXPECT_GT(most, 9'950);
  EXPECT_NE(retry_delay_ms(retry, 1, 7), retry_delay_ms(retry, 2, 7));
}

// The jitter comes from a hash that never changes, so a pause can be predicted.
TEST(RetryRules, jitter_is_pinned) {
  const Retry retry = {9, Backoff::kFixed, std::chrono::seconds(10), std::chrono::seconds(10), 100};
  const std::int64_t pauses[] = {retry_delay_ms(retry, 1, 1), retry_delay_ms(retry, 2, 1),
                                 retry_delay_ms(retry, 1, 2), retry_delay_ms(retry, 3, 99)};
  const std::int64_t expected[] = {6'743, 2'282, 4'970, 1'032};
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(pauses[i], expected[i]) << i;
}

TEST(RetryRules, after_failure) {
  struct Row {
    const char* name;
    Failure failure;
    std::int64_t failures;
    AfterFailure after;
  };
  const Row rows[] = {
      {"it succeeded", {ErrorKind::kNone, false}, 0, AfterFailure::kFail},
      {"the first of two", {ErrorKind::kApplication, false}, 0, AfterFailure::kRetry},
      {"the second of two", {ErrorKind::kApplication, false}, 1, AfterFailure::kFail},
      {"for good", {ErrorKind::kApplication, true}, 0, AfterFailure::kFail},
      {"a limit, which is not its own doing", {ErrorKind::kLimit, false}, 0, AfterFailure::kFail},
      {"poison", {ErrorKind::kPoison, false}, 0, AfterFailure::kFail},
  };
  Retry two;
  two.max_attempts = 2;
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(after_failure(two, one.failures, one.failure), one.after);
  }
}

TEST(RetryRules, passed_limit) {
  constexpr std::int64_t kSoon = kNow + 1;
  struct Row {
    const char* name;
    Limits limits;
    Overdue limit;
  };
  const Row rows[] = {
      {"an attempt's", {}, Overdue::kAttempt},
      {"nothing else has passed", {kSoon, kSoon, kSoon}, Overdue::kAttempt},
      {"not started", {kNow, {}, {}}, Overdue::kNotStarted},
      {"not started, before all others", {kNow, kNow, kNow}, Overdue::kNotStarted},
      {"all attempts", {{}, kNow, {}}, Overdue::kAll},
      {"all attempts, before silence", {kSoon, kNow, kNow}, Overdue::kAll},
      {"silence", {{}, {}, kNow}, Overdue::kSilence},
      {"silence, the others in time", {kSoon, kSoon, kNow - 1}, Overdue::kSilence},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(passed_limit(one.limits, kNow), one.limit);
  }
}

TEST(RetryRules, after_overdue) {
  struct Row {
    Overdue limit;
    ErrorKind error;
    AfterFailure after;  // if an attempt is left and the session is not exclusive
  };
  const Row rows[] = {
      {Overdue::kNotStarted, ErrorKind::kNotStarted, AfterFailure::kFail},
      {Overdue::kAll, ErrorKind::kTimeout, AfterFailure::kFail},
      {Overdue::kAttempt, ErrorKind::kTimeout, AfterFailure::kRetry},
      {Overdue::kSilence, ErrorKind::kHeartbeatTimeout, AfterFailure::kRetry},
  };
  Retry two;
  two.max_attempts = 2;
  for (const Row& one : rows) {
    SCOPED_TRACE(static_cast<int>(one.limit));
    EXPECT_EQ(error_of(one.limit), one.error);
    EXPECT_EQ(after_overdue(one.limit, two, 0, false), one.after);
    EXPECT_EQ(after_overdue(one.limit, two, 1, false), AfterFailure::kFail) << "the last";
    EXPECT_EQ(after_overdue(one.limit, two, 0, true), AfterFailure::kFail) << "exclusive";
  }
}

TEST(RetryRules, unregistered_delay) {
  const std::int64_t delays[] = {1'000,  2'000,  4'000,  8'000, 16'000,
                                 32'000, 60'000, 60'000, 60'000};
  for (std::int64_t i = 0; i < 9; ++i)
    EXPECT_EQ(unregistered_delay_ms(i), delays[i]) << i;
  EXPECT_EQ(unregistered_delay_ms(1'000'000), 60'000) << "not shifted out";
}

}  // namespace
}  // namespace pawl::rules
