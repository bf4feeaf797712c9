// Counts as tables: what is charged when a lock ends, and when an item is poison.
#include "store/work/count_rules.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pawl::rules {
namespace {

TEST(CountRules, is_poison) {
  struct Row {
    const char* name;
    Counts counts;
    bool poison;
  };
  const Row rows[] = {
      {"nothing", {0, 0, 0}, false},      {"below each limit", {9, 19, 29}, false},
      {"crashes", {10, 0, 0}, true},      {"strikes", {0, 20, 0}, true},
      {"reboots", {0, 0, 30}, true},      {"more crashes", {11, 0, 0}, true},
      {"more strikes", {0, 21, 0}, true}, {"more reboots", {0, 0, 31}, true},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(is_poison(one.counts, {10, 20, 30}), one.poison);
  }
}

TEST(CountRules, after_unlock) {
  struct Row {
    const char* name;
    std::int64_t lock_boot;
    bool strike;
    std::int64_t strikes;
    std::int64_t reboots;
  };
  const Row rows[] = {
      {"in this boot", 3, false, 5, 7},
      {"in this boot, by suspicion", 3, true, 6, 7},
      {"in an earlier boot", 2, false, 5, 8},
      {"in an earlier boot, by suspicion", 2, true, 5, 8},
      {"in a boot of another machine", 4, true, 5, 8},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    const Counts after = after_unlock({4, 5, 7}, one.lock_boot, 3, one.strike);
    EXPECT_EQ(after.crashes, 4);
    EXPECT_EQ(after.strikes, one.strikes);
    EXPECT_EQ(after.reboots, one.reboots);
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(after_unlock({0, kMost, 0}, 3, 3, true).strikes, kMost);
  EXPECT_EQ(after_unlock({0, 0, kMost}, 2, 3, true).reboots, kMost);
}

}  // namespace
}  // namespace pawl::rules
