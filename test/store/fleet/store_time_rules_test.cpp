// Store time as tables: who may count, what a batch's time is, what its answer is worth, and what a
// new segment credits.
// Rules: F1, F2, F3, F4a, F4b, F4c, F4d, F4e, F5a, F5b.
#include "store/postgres/store_time_rules.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "core/clock_rules.hpp"

namespace pawl::fleet {
namespace {

constexpr std::int64_t kRenewMs = 20'000;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(StoreTimeRules, an_anchor_is_good_in_its_segment_and_for_a_while) {
  const TimeAnchor anchor{5'000, 100, 7, 4'000};
  EXPECT_TRUE(is_good(anchor, 7, 5'000));
  EXPECT_TRUE(is_good(anchor, 7, 4'000 + kAnchorMs - 1));
  EXPECT_FALSE(is_good(anchor, 7, 4'000 + kAnchorMs)) << "its clock may have drifted too far";
  EXPECT_FALSE(is_good(anchor, 8, 5'000)) << "another segment began";
  EXPECT_FALSE(is_good(anchor, 7, 3'999)) << "a boot clock that went back";
  EXPECT_FALSE(needs_comparing(anchor, 4'000 + kCompareMs - 1));
  EXPECT_TRUE(needs_comparing(anchor, 4'000 + kCompareMs));
}

TEST(StoreTimeRules, own_count_goes_with_the_boot_clock) {
  const TimeAnchor anchor{5'000, 100, 7, 4'000};
  EXPECT_EQ(own_count(anchor, 5'000), 100);
  EXPECT_EQ(own_count(anchor, 7'500), 2'600);
  EXPECT_EQ(own_count({0, kMax - 1, 7, 0}, 10), kMax);
}

TEST(StoreTimeRules, a_batch_is_never_before_the_mark) {
  EXPECT_EQ(batch_time(100, OptionalMs(90)), 100);
  EXPECT_EQ(batch_time(100, OptionalMs(110)), 110);
  EXPECT_EQ(batch_time(100, OptionalMs()), 100);
}

TEST(StoreTimeRules, the_anchor_after_a_batch) {
  struct Row {
    const char* name;
    OptionalMs count_ms;
    std::int64_t batch_ms;
    std::int64_t store_ms;
  };
  // Sent at 1,000 and heard at 1,300 of the boot clock.
  const Row rows[] = {
      {"its own count was the time: it goes on", OptionalMs(500), 500, 800},
      {"another node was ahead by less than the way took", OptionalMs(500), 700, 800},
      {"another node was ahead by more", OptionalMs(500), 900, 900},
      {"it had no count: the time was reached when the answer came", OptionalMs(), 500, 500},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const TimeAnchor anchor = anchor_after({1'000, row.count_ms, 400}, row.batch_ms, 7, 1'300);
    EXPECT_EQ(anchor.store_ms, row.store_ms);
    EXPECT_EQ(anchor.boot_ms, 1'300);
    EXPECT_EQ(anchor.segment, 7);
    EXPECT_EQ(anchor.compared_boot_ms, 400);
  }
}

TEST(StoreTimeRules, steps_of_a_comparison) {
  struct Row {
    const char* name;
    OptionalMs first_asked;
    std::int64_t asked;
    bool others;
    bool all_answered;
    ComparisonStep step;
  };
  constexpr std::int64_t kNow = 100'000;
  const Row rows[] = {
      {"no other node is here", OptionalMs(), 0, false, false, ComparisonStep::kBeginSegment},
      {"no other node is here any more", OptionalMs(kNow), kNow, false, true,
       ComparisonStep::kBeginSegment},
      {"others are", OptionalMs(), 0, true, false, ComparisonStep::kAsk},
      {"it has asked", OptionalMs(kNow - 999), kNow - 999, true, false, ComparisonStep::kWait},
      {"they have answered", OptionalMs(kNow - 999), kNow - 999, true, true,
       ComparisonStep::kTakeMark},
      {"too late", OptionalMs(kNow - 1'000), kNow - 1'000, true, true, ComparisonStep::kAsk},
      {"again, in time", OptionalMs(kNow - 9'000), kNow - 10, true, true,
       ComparisonStep::kTakeMark},
      {"not for 1.25 intervals", OptionalMs(kNow - 24'999), kNow - 10, true, false,
       ComparisonStep::kWait},
      {"for 1.25 intervals", OptionalMs(kNow - 25'000), kNow - 10, true, false,
       ComparisonStep::kBeginSegment},
      {"and then they did", OptionalMs(kNow - 25'000), kNow - 10, true, true,
       ComparisonStep::kTakeMark},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    ComparisonView view;
    if (row.first_asked.has_value())
      view.request = MarkRequest{1, row.first_asked.value(), row.asked};
    view.others_connected = row.others;
    view.all_answered = row.all_answered;
    EXPECT_EQ(comparison_step(view, kNow, kRenewMs), row.step);
  }
}

TEST(StoreTimeRules, an_answer_was_counted_after_the_request) {
  const MarkRequest request{5, 0, 0};
  EXPECT_TRUE(has_answered(request, {5, 7}, 7));
  EXPECT_TRUE(has_answered(request, {6, 7}, 7)) << "a later request, which was made after ours";
  EXPECT_FALSE(has_answered(request, {4, 7}, 7));
  EXPECT_FALSE(has_answered(request, {5, 6}, 7)) << "in a segment that is over";
  const TimedBatch counted{1'000, OptionalMs(500), 0};
  ASSERT_TRUE(answer_of(counted, 5, 7).has_value());
  EXPECT_EQ(answer_of(counted, 5, 7)->request, 5);
  EXPECT_EQ(answer_of(counted, 5, 7)->segment, 7);
  EXPECT_FALSE(answer_of({1'000, OptionalMs(), 0}, 5, 7).has_value()) << "it counted nothing";
}

TEST(StoreTimeRules, the_anchor_from_a_mark) {
  StoreMark mark;
  mark.store_ms = 1'000;
  mark.segment = 7;
  const TimeAnchor fresh = anchor_from_mark(mark, {}, 40, 90);
  EXPECT_EQ(fresh.store_ms, 1'000);
  EXPECT_EQ(fresh.boot_ms, 90);
  EXPECT_EQ(fresh.segment, 7);
  EXPECT_EQ(fresh.compared_boot_ms, 40) << "from before it asked";
  EXPECT_EQ(anchor_from_mark(mark, TimeAnchor{0, 2'000, 7, 0}, 40, 90).store_ms, 2'090)
      << "a good count goes on";
  EXPECT_EQ(anchor_from_mark(mark, TimeAnchor{0, 20, 7, 0}, 40, 90).store_ms, 1'000)
      << "and is brought up to the mark";
}

TEST(StoreTimeRules, an_anchor_of_another_node_of_one_boot) {
  struct Row {
    const char* name;
    std::int64_t segment;
    std::int64_t age_ms;  // since it was compared
    bool lately;          // what a node takes over that has an anchor of its own, or is a Client
    bool any;             // and what a worker takes over that has none
  };
  constexpr std::int64_t kNow = 5'000'000;
  const Row rows[] = {
      {"compared now", 7, 0, true, true},
      {"within ten minutes", 7, kCompareMs - 1, true, true},
      {"before that", 7, kCompareMs, false, true},
      {"within twenty minutes", 7, kAnchorMs - 1, false, true},
      {"it is void", 7, kAnchorMs, false, false},
      {"of a segment that is over", 6, 0, false, false},
      {"of a segment that a failover lost", 8, 0, false, false},
      {"of a boot clock that went back", 7, -1, false, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const TimeAnchor sibling{0, 300, row.segment, kNow - row.age_ms};
    EXPECT_EQ(may_take_sibling(sibling, 7, kNow, false), row.lately);
    EXPECT_EQ(may_take_sibling(sibling, 7, kNow, true), row.any);
  }
}

TEST(StoreTimeRules, the_anchor_from_that_of_another_node_of_one_boot) {
  struct Row {
    const char* name;
    std::optional<TimeAnchor> own;
    std::int64_t count_ms;
  };
  // The other node counts 300 more than the boot clock shows.
  const TimeAnchor sibling{0, 300, 7, 400};
  const Row rows[] = {
      {"the node has none", {}, 1'300},
      {"its own is behind", TimeAnchor{500, 750, 7, 100}, 1'300},
      {"its own is as far", TimeAnchor{500, 800, 7, 100}, 1'300},
      {"its own is ahead", TimeAnchor{500, 850, 7, 100}, 1'350},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const TimeAnchor taken = anchor_from_sibling(sibling, row.own, 1'000);
    EXPECT_EQ(own_count(taken, 1'000), row.count_ms);
    EXPECT_EQ(taken.segment, 7);
    EXPECT_EQ(taken.compared_boot_ms, 400) << "the other node has compared it";
  }
}

TEST(StoreTimeRules, what_a_new_segment_credits) {
  struct Row {
    const char* name;
    OptionalMs wall_then;
    OptionalMs wall_now;
    std::int64_t server_now;
    std::int64_t credit_ms;
    bool refused;
  };
  // The mark was written at 1,000,000 of the server's clock.
  const Row rows[] = {
      {"both show the same", OptionalMs(500), OptionalMs(100'500), 1'100'000, 100'000, false},
      {"the server shows a little more", OptionalMs(500), OptionalMs(100'500), 1'106'000, 100'000,
       false},
      {"and a little less", OptionalMs(500), OptionalMs(106'500), 1'101'000, 101'000, false},
      {"5 s and a hundredth", OptionalMs(0), OptionalMs(100'000), 1'106'060, 100'000, false},
      {"and more", OptionalMs(0), OptionalMs(100'000), 1'106'061 + 1, 0, true},
      {"the server's clock went back", OptionalMs(0), OptionalMs(100'000), 900'000, 0, true},
      {"both went back", OptionalMs(0), OptionalMs(-100), 999'900, 0, true},
      {"nothing passed", OptionalMs(0), OptionalMs(0), 1'000'000, 0, false},
      {"the mark's node had no trusted clock", OptionalMs(), OptionalMs(100'000), 1'100'000, 0,
       true},
      {"this node has none", OptionalMs(0), OptionalMs(), 1'100'000, 0, true},
      {"401 days", OptionalMs(0), OptionalMs(kMaxGapMs + 1), 1'000'001 + kMaxGapMs, 0, true},
      {"clocks of another world", OptionalMs(kMin), OptionalMs(kMax), kMax, 0, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const StoreMark mark{5'000, 7, 1'000'000, row.wall_then};
    const NewSegment begun = begin_segment(mark, {}, {row.server_now, row.wall_now});
    EXPECT_EQ(begun.store_ms, 5'000) << "store time goes on from the mark";
    EXPECT_EQ(begun.credit_ms, row.credit_ms);
    EXPECT_EQ(begun.refused, row.refused);
  }
}

TEST(StoreTimeRules, a_segment_that_leaves_nothing_uncounted) {
  const StoreMark mark{5'000, 7, 1'000'000, OptionalMs(0)};
  const NewSegment counted =
      begin_segment(mark, OptionalMs(9'000), {1'100'000, OptionalMs(100'000)});
  EXPECT_EQ(counted.store_ms, 9'000);
  EXPECT_EQ(counted.credit_ms, 0);
  EXPECT_FALSE(counted.refused);
  const NewSegment first = begin_segment({}, {}, {1'100'000, OptionalMs(100'000)});
  EXPECT_EQ(first.credit_ms, 0) << "a new store has missed nothing";
  EXPECT_FALSE(first.refused);
}

TEST(StoreTimeRules, timers_become_due_earlier_by_the_credit) {
  NewSegment begun;
  begun.credit_ms = 100;
  EXPECT_EQ(due_after_gap(5'000, begun), 4'900);
  EXPECT_EQ(due_after_gap(kNever, begun), kNever);
  EXPECT_EQ(due_after_gap(kMin, begun), kMin);
}

}  // namespace
}  // namespace pawl::fleet
