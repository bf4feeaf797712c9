// Batches on a server as tables: what one is checked against, what became of one in doubt, and
// numbers across failovers.
// Rules: F10a, F10b, F10c, F11, F12.
#include "store/postgres/batch_rules.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pawl::fleet {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(BatchRules, what_a_batch_is_checked_against) {
  struct Row {
    const char* name;
    BatchRow row;
    BatchVerdict verdict;
  };
  // Batch 6, after 5 was acknowledged.
  const Row rows[] = {
      {"the next one", {5, 5, false}, BatchVerdict::kGood},
      {"after commits were lost", {4, 4, false}, BatchVerdict::kCommitsLost},
      {"and the registration ended", {4, 4, true}, BatchVerdict::kCommitsLost},
      {"the registration ended", {5, 5, true}, BatchVerdict::kEnded},
      {"its number was taken away", {6, 5, false}, BatchVerdict::kRefused},
      {"it is committed, and arrives again", {6, 6, false}, BatchVerdict::kRefused},
      {"a later one is committed", {7, 7, false}, BatchVerdict::kRefused},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(check_batch({6, 5}, row.row), row.verdict);
  }
  EXPECT_EQ(check_batch({6, 5}, {}), BatchVerdict::kCommitsLost) << "its registration is lost";
  EXPECT_EQ(check_batch({7, 5}, BatchRow{5, 5, false}), BatchVerdict::kGood)
      << "that number 6 was taken away was lost, which changes nothing";
}

TEST(BatchRules, what_became_of_a_batch_in_doubt) {
  struct Row {
    const char* name;
    BatchRow row;
    BatchOutcome with_lock;
    BatchOutcome without;
  };
  // Batch 6.
  const Row rows[] = {
      {"it is there", {6, 6, false}, BatchOutcome::kCommitted, BatchOutcome::kCommitted},
      {"it is not", {5, 5, false}, BatchOutcome::kRefuse, BatchOutcome::kUnknown},
      {"it is refused", {6, 5, false}, BatchOutcome::kNotCommitted, BatchOutcome::kNotCommitted},
      {"the registration ended", {6, 6, true}, BatchOutcome::kCommitted, BatchOutcome::kCommitted},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(outcome_of(6, row.row, true), row.with_lock);
    EXPECT_EQ(outcome_of(6, row.row, false), row.without);
  }
  EXPECT_EQ(outcome_of(6, {}, true), BatchOutcome::kNotCommitted);
  EXPECT_EQ(outcome_of(6, {}, false), BatchOutcome::kNotCommitted);
}

TEST(BatchRules, numbers_rise_across_failovers) {
  constexpr std::int64_t kFirst = std::int64_t{1} << 40;
  EXPECT_EQ(next_number(1, 1), 1);
  EXPECT_EQ(next_number(1, 2), kFirst) << "what was lost is below";
  EXPECT_EQ(next_number(kFirst + 1, 2), kFirst + 1);
  EXPECT_EQ(next_number(kFirst + 1, 3), 2 * kFirst);
  EXPECT_EQ(next_number(kMax, 2), kMax);
  EXPECT_EQ(next_number(1, kMax), (kTimelineMax - 1) * kFirst) << "and nothing overflows";
}

}  // namespace
}  // namespace pawl::fleet
