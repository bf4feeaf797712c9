// Known defects of sessions in comparable engines, each shown to be absent in Pawl.
// docs/model/defects.md names them.
#include <gtest/gtest.h>

#include "session_world.hpp"

namespace pawl::test {
namespace {

constexpr std::int64_t kLease = 30'000;
constexpr std::int64_t kInterval = 25'000;

class SessionDefects : public ::testing::Test {
 protected:
  SessionDefects() {
    a_.join("A");
    b_.join("B");
  }
  World world_;
  Worker a_{world_};
  Worker b_{world_};
};

// The defect: capacity counts sessions with work in hand, so that a worker may own any number of
// idle ones.
TEST_F(SessionDefects, capacity_counts_what_is_owned_and_not_what_is_in_hand) {
  a_.options.max_sessions_per_worker = 2;
  for (const char* name : {"s", "t"}) {
    world_.schedule("a", name);
    const auto job = a_.fetch();
    ASSERT_TRUE(job);
    EXPECT_EQ(a_.ack(*job), Status::kOk);
  }
  world_.schedule("a", "u");
  EXPECT_FALSE(a_.fetch()) << "nothing is in hand, and it is full";
  world_.schedule("a", "s");
  EXPECT_TRUE(a_.fetch()) << "what it owns it serves";
  EXPECT_EQ(b_.fetch()->session, "u");
}

// A stop takes a session from its owner, or gives it to a target. A stop with neither would wait
// for a change that never comes.
TEST_F(SessionDefects, a_stop_of_a_session_without_an_owner_ends) {
  ASSERT_EQ(world_
                .commit(world_.instance(),
                        {{EventKind::kSessionSettings, "bus", {}, "exclusive=1,max_age_ms=60000"},
                         {EventKind::kActivity, "a", "bus", "exclusive=1"}})
                .size(),
            0U);
  const auto job = a_.fetch();
  ASSERT_TRUE(job);
  world_.machine.advance(60'000);
  a_.wake();
  EXPECT_EQ(world_.session_number("state", "bus"), 5)
      << "its only work was that of who set its age";
  world_.schedule("a", "bus");
  EXPECT_EQ(world_.session_number("state", "bus"), 0);
  ASSERT_EQ(a_.transfer("bus", ""), Status::kOk);
  EXPECT_EQ(world_.session_number("state", "bus"), 1) << "what was cancelled still runs";
  EXPECT_EQ(a_.ack(*job), Status::kOk);
  a_.end_stops();
  EXPECT_EQ(world_.session_number("state", "bus"), 0);
  EXPECT_TRUE(a_.fetch());
}

// The defect: a worker that finds itself at capacity puts the item back for 100 ms, and takes it
// again.
TEST_F(SessionDefects, a_full_worker_touches_no_item_it_cannot_take) {
  a_.options.max_sessions_per_worker = 0;
  world_.schedule("a", "s");
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(a_.fetch());
  const auto job = b_.fetch();
  ASSERT_TRUE(job);
  EXPECT_EQ(job->item.attempt, 1);
}

// The defect: the only fence is the activity's lock, which a takeover of the session leaves as it
// is.
TEST_F(SessionDefects, two_owners_are_never_both_acknowledged) {
  a_.node.set_locks_testable(false);
  b_.node.set_locks_testable(false);
  a_.options.worker_lock_timeout_ms = 10 * kLease;
  const InstanceKey instance = world_.schedule("a", "s", 2);
  const auto first = a_.fetch();
  ASSERT_TRUE(first);
  world_.pass(kLease);
  const auto again = b_.fetch();
  ASSERT_TRUE(again);
  ASSERT_EQ(again->item.id, first->item.id);
  EXPECT_GT(again->item.epoch, first->item.epoch) << "both activities can tell";
  EXPECT_EQ(a_.ack(*first, "late"), Status::kStale);
  EXPECT_EQ(b_.ack(*again, "once"), Status::kOk);
  const auto messages = world_.completions(instance);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].payload, "once");
}

// The defect: claims and takeovers are reported alike, and idling is not reported at all.
TEST_F(SessionDefects, claims_takeovers_and_idling_are_distinguished) {
  world_.schedule("a", "s");
  const auto job = a_.fetch();
  ASSERT_TRUE(job);
  EXPECT_EQ(a_.ack(*job), Status::kOk);
  world_.pass(a_.options.session_idle_timeout_ms);
  a_.renew_sessions();
  world_.schedule("a", "s");
  ASSERT_TRUE(b_.fetch());
  ASSERT_EQ(a_.events.size(), 2u);
  EXPECT_EQ(a_.events[0], "claimed s@1 by A");
  EXPECT_EQ(a_.events[1], "released s@2 idle");
  ASSERT_EQ(b_.events.size(), 1u);
  EXPECT_EQ(b_.events[0], "migrated s@3 from A to B");
}

// The defect: the sweep has an idle time but ignores it, and looks at the lease alone.
TEST_F(SessionDefects, a_sweep_takes_no_session_of_a_living_owner) {
  world_.schedule("a", "s");
  const auto job = a_.fetch();
  ASSERT_TRUE(job);
  EXPECT_EQ(a_.ack(*job), Status::kOk);
  world_.pass(2 * kLease);  // A was held up for longer than its lease
  EXPECT_EQ(b_.cleanup(), 0u);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  EXPECT_EQ(world_.session_number("epoch", "s"), job->item.epoch);
}

// The defect: two slots of the owner can always run one session at once.
TEST_F(SessionDefects, a_session_can_be_exclusive) {
  world_.schedule("a", "s", 2, "exclusive=1");
  const auto first = a_.fetch();
  ASSERT_TRUE(first);
  a_.running.push_back(*first);
  EXPECT_FALSE(a_.fetch());
  a_.running.clear();
  EXPECT_EQ(a_.ack(*first), Status::kOk);
  EXPECT_TRUE(a_.fetch());
}

// The defect: leases are wall-clock times, so that a clock step takes every session from its owner,
// or leaves it there for ever.
TEST_F(SessionDefects, a_step_of_the_wall_clock_moves_no_session) {
  world_.machine.set_synced(true);
  world_.schedule("a", "s", 2);
  const auto job = a_.fetch();
  ASSERT_TRUE(job);
  world_.machine.set_wall(4'000'000'000'000);
  world_.pass(kInterval);
  EXPECT_FALSE(b_.fetch());
  EXPECT_EQ(a_.renew_sessions(), 1u);
  world_.machine.set_wall(0);
  EXPECT_FALSE(b_.fetch());
  EXPECT_EQ(a_.ack(*job), Status::kOk);
}

// The defect: deleting an instance does not reliably remove its session rows.
TEST_F(SessionDefects, a_session_of_a_deleted_instance_is_swept) {
  const InstanceKey instance = world_.schedule("a", "s");
  const auto job = a_.fetch();
  ASSERT_TRUE(job);
  world_.end(instance);
  EXPECT_EQ(a_.ack(*job), Status::kStale);
  world_.pass(a_.options.session_idle_timeout_ms);
  a_.renew_sessions();
  EXPECT_EQ(b_.cleanup(), 1u);
  EXPECT_EQ(world_.number("SELECT count(*) FROM sessions"), 0);
}

}  // namespace
}  // namespace pawl::test
