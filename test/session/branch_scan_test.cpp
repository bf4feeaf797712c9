// BranchScan: every candidate is looked at, whatever stands before it, and the scan comes to an
// end.
#include "store/work/branch_scan.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pawl::store {
namespace {

// A branch with candidates; those in `mine` can be taken.
struct Branch {
  std::set<std::int64_t> all;
  std::set<std::int64_t> mine;
  ScanVersion version;
  BranchScan scan;
  int looks = 0;

  // One call. Returns the id that was taken, or 0.
  std::int64_t call() {
    looks = 0;
    scan.begin_call(version);
    while (true) {
      const BranchScan::Range range = scan.range();
      const auto next = all.upper_bound(range.after);
      if (next == all.end() || *next > range.until) {
        if (!scan.exhausted()) return 0;
        continue;
      }
      ++looks;
      const std::int64_t id = *next;
      if (mine.count(id) != 0) {
        all.erase(id);
        mine.erase(id);
        return id;
      }
      scan.passed_over(id, false);
      if (scan.crowded()) scan.leave_to_sweep(*all.rbegin());
    }
  }
};

TEST(BranchScan, without_anything_in_the_way_the_lowest_comes_first) {
  Branch branch;
  for (std::int64_t id = 1; id <= 20; ++id) {
    branch.all.insert(id);
    branch.mine.insert(id);
  }
  for (std::int64_t id = 1; id <= 20; ++id)
    EXPECT_EQ(branch.call(), id);
  EXPECT_EQ(branch.call(), 0);
  EXPECT_FALSE(branch.scan.look_again());
}

TEST(BranchScan, a_call_is_bounded_and_asks_for_another_until_all_was_seen) {
  Branch branch;
  for (std::int64_t id = 1; id <= 1'000; ++id)
    branch.all.insert(id);
  int calls = 0;
  do {
    EXPECT_EQ(branch.call(), 0);
    EXPECT_LE(branch.looks, BranchScan::kLooksMax);
    ++calls;
  } while (branch.scan.look_again() && calls < 10'000);
  EXPECT_LT(calls, 1'000);
  EXPECT_EQ(branch.call(), 0);
  EXPECT_FALSE(branch.scan.look_again());
}

TEST(BranchScan, what_is_new_is_seen_in_the_next_call) {
  Branch branch;
  for (std::int64_t id = 1; id <= 1'000; ++id)
    branch.all.insert(id);
  do {
    EXPECT_EQ(branch.call(), 0);
  } while (branch.scan.look_again());
  for (std::int64_t id = 2'000; id < 2'010; ++id) {
    branch.all.insert(id);
    branch.mine.insert(id);
    EXPECT_EQ(branch.call(), id);
  }
}

// Items that no worker has looked at yet do not delay the items behind them.
TEST(BranchScan, what_is_new_does_not_wait_for_a_sweep) {
  Branch branch;
  for (std::int64_t id = 1; id <= 100'000; ++id)
    branch.all.insert(id);
  EXPECT_EQ(branch.call(), 0);
  for (std::int64_t id = 200'000; id < 200'010; ++id) {
    branch.all.insert(id);
    branch.mine.insert(id);
    EXPECT_EQ(branch.call(), id);
  }
  // The sweep also reaches every item that was left to it.
  branch.mine.insert(50'000);
  std::int64_t taken = 0;
  for (int i = 0; i < 20'000 && taken == 0; ++i) {
    taken = branch.call();
    ASSERT_TRUE(taken != 0 || branch.scan.look_again());
  }
  EXPECT_EQ(taken, 50'000);
}

TEST(BranchScan, what_becomes_possible_in_the_middle_is_found_beside_a_stream_of_new_ones) {
  Branch branch;
  for (std::int64_t id = 1; id <= 500; ++id)
    branch.all.insert(id);
  do {
    EXPECT_EQ(branch.call(), 0);
  } while (branch.scan.look_again());
  branch.mine.insert(250);
  ++branch.version.others;
  std::int64_t next = 1'000;
  bool found = false;
  for (int i = 0; i < 1'000 && !found; ++i) {
    branch.all.insert(next);
    branch.mine.insert(next);
    ++next;
    found = branch.call() == 250;
  }
  EXPECT_TRUE(found);
}

TEST(BranchScan, a_change_behind_the_sweep_means_another_sweep) {
  Branch branch;
  for (std::int64_t id = 1; id <= 100; ++id)
    branch.all.insert(id);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(branch.call(), 0);
  branch.mine.insert(5);
  ++branch.version.own;
  std::int64_t taken = 0;
  for (int i = 0; i < 200 && taken == 0; ++i) {
    taken = branch.call();
    ASSERT_TRUE(taken != 0 || branch.scan.look_again());
  }
  EXPECT_EQ(taken, 5);
}

TEST(BranchScan, waiting_for_a_slot_is_no_reason_to_look_again) {
  BranchScan scan;
  scan.begin_call({});
  for (std::int64_t id = 1; id <= BranchScan::kLooksMax; ++id)
    scan.passed_over(id, true);
  EXPECT_FALSE(scan.look_again());
}

}  // namespace
}  // namespace pawl::store
