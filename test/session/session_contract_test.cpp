// The contract of sessions over the storage: each session check of test/build/seed_tests.txt has
// its name here. Where Pawl's rules forbid the answer that the check asks for, the test says so
// and shows Pawl's answer.
#include <gtest/gtest.h>

#include "session_world.hpp"

namespace pawl::test {
namespace {

class SessionContract : public TwoWorkers {};

// ---- who gets the work ----

TEST_F(SessionContract, test_non_session_items_fetchable_by_any_worker) {
  world_.schedule("a", {}, 2);
  EXPECT_TRUE(a_.fetch());
  EXPECT_TRUE(b_.fetch());
}

TEST_F(SessionContract, test_session_item_claimable_when_no_session) {
  world_.schedule("a", "s");
  const Job job = b_.take();
  EXPECT_TRUE(job.item.claimed_now);
  EXPECT_EQ(world_.session_number("owner", "s"), b_.me());
}

TEST_F(SessionContract, test_session_affinity_same_worker) {
  a_.run_one("s");
  const Job next = a_.run_one("s");
  EXPECT_FALSE(next.item.claimed_now);
}

TEST_F(SessionContract, test_session_affinity_blocks_other_worker) {
  a_.run_one("s");
  world_.schedule("a", "s");
  EXPECT_FALSE(b_.fetch());
  EXPECT_TRUE(a_.fetch());
}

TEST_F(SessionContract, test_different_sessions_different_workers) {
  world_.schedule("a", "s", 2);
  world_.schedule("a", "t", 2);
  const Job s = a_.take();
  EXPECT_EQ(s.session, "s");
  for (int i = 0; i < 2; ++i) {
    const Job t = b_.take();
    EXPECT_EQ(t.session, "t");
  }
  EXPECT_FALSE(b_.fetch());
}

TEST_F(SessionContract, test_mixed_session_and_non_session_items) {
  world_.schedule("a", "s");
  a_.take();
  world_.schedule("a", "s");
  world_.schedule("a");
  const Job free = b_.take();
  EXPECT_EQ(free.session, "");
  EXPECT_FALSE(b_.fetch());
  EXPECT_EQ(a_.take().session, "s");
}

// The contract has a fetch without sessions. In Pawl a worker with room for no session does it.
TEST_F(SessionContract, test_none_session_skips_session_items) {
  a_.options.max_sessions_per_worker = 0;
  world_.schedule("a", "s");
  world_.schedule("a");
  const Job job = a_.take();
  EXPECT_EQ(job.session, "");
  EXPECT_FALSE(a_.fetch());
}

TEST_F(SessionContract, test_some_session_returns_all_items) {
  world_.schedule("a", "s");
  world_.schedule("a");
  EXPECT_EQ(a_.take().session, "s");
  EXPECT_EQ(a_.take().session, "");
  EXPECT_FALSE(a_.fetch());
}

TEST_F(SessionContract, test_non_session_items_returned_with_session_config) {
  a_.options.max_sessions_per_worker = 5;
  world_.schedule("a");
  const Job job = a_.take();
  EXPECT_EQ(job.item.session, 0);
}

TEST_F(SessionContract, test_session_items_processed_in_order) {
  world_.schedule("a", "s", 5);
  WorkItemId last = 0;
  for (int i = 0; i < 5; ++i) {
    const Job job = a_.take();
    EXPECT_GT(job.item.id, last);
    last = job.item.id;
    a_.acked(job);
  }
}

// The slots of a process are one owner. In the contract several callers may share a worker id; Pawl
// refuses another process with the same name.
TEST_F(SessionContract, test_shared_worker_id_any_caller_can_fetch_owned_session) {
  world_.schedule("a", "s", 3);
  const Job one = a_.take();
  a_.running.push_back(one);  // one slot is busy with it
  const Job two = a_.take();
  EXPECT_EQ(two.item.epoch, one.item.epoch);
  Worker other(world_);
  EXPECT_EQ(other.try_join("A"), Status::kNodeIdInUse);
}

TEST_F(SessionContract, test_concurrent_session_claim_only_one_wins) {
  world_.schedule("a", "s", 3);
  a_.take();
  const Epoch epoch = world_.session_number("epoch", "s");
  EXPECT_FALSE(b_.fetch()) << "two items are left, and they are the owner's";
  EXPECT_EQ(world_.session_number("owner", "s"), a_.me());
  EXPECT_EQ(world_.session_number("epoch", "s"), epoch);
  EXPECT_TRUE(a_.fetch());
  EXPECT_FALSE(b_.fetch());
  EXPECT_TRUE(a_.fetch());
}

// ---- renewal ----

TEST_F(SessionContract, test_renew_session_lock_active) {
  world_.schedule("a", "s");
  a_.take();
  world_.pass(kInterval);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  EXPECT_EQ(world_.session_lease("s"), world_.now() + kLease);
}

// In the contract an idle session is not renewed, so that its lease runs out. Pawl releases it at
// once.
TEST_F(SessionContract, test_renew_session_lock_skips_idle) {
  a_.run_one("s");
  world_.pass(kIdle);
  std::size_t released = 0;
  EXPECT_EQ(a_.renew_sessions(&released), 0u);
  EXPECT_EQ(released, 1u);
}

TEST_F(SessionContract, test_renew_session_lock_no_sessions) {
  EXPECT_EQ(a_.renew_sessions(), 0u);
  EXPECT_EQ(a_.renew_sessions(), 0u);
}

// In the contract an expired lease is lost at once. In Pawl it can be renewed until another worker
// takes the session.
TEST_F(SessionContract, test_renew_session_lock_after_expiry_returns_zero_once_taken) {
  lease_alone();
  a_.run_one("s");
  world_.pass(kLease);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  EXPECT_EQ(world_.session_lease("s"), world_.now() + kLease);
  world_.pass(kLease);
  b_.run_one("s");
  EXPECT_EQ(a_.renew_sessions(), 0u);
  EXPECT_EQ(world_.session_number("owner", "s"), b_.me());
}

TEST_F(SessionContract, test_session_lock_renewal_extends_past_original_timeout) {
  lease_alone();
  world_.schedule("a", "s", 2);
  a_.take();
  for (int i = 0; i < 4; ++i) {
    world_.pass(kInterval);
    EXPECT_EQ(a_.renew_sessions(), 1u);
    EXPECT_FALSE(b_.fetch());
  }
}

// ---- last use ----

// The idle time is so short that only the acknowledgement, or the renewal, can have kept the
// session.
TEST_F(SessionContract, test_ack_updates_session_last_activity) {
  world_.schedule("a", "s");
  const Job job = a_.take();
  world_.pass(kIdle - 1'000);
  a_.acked(job);
  world_.pass(2'000);
  EXPECT_EQ(a_.renew_sessions(), 1u);
}

// In the contract a renewal counts as activity. In Pawl a session is in use while work of it is in
// hand, so a renewal need not write that.
TEST_F(SessionContract, test_renew_work_item_updates_session_last_activity) {
  world_.schedule("a", "s");
  const Job job = a_.take();
  world_.pass(kIdle - 1'000);
  EXPECT_EQ(a_.renew(job), Status::kOk);
  world_.pass(2'000);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  a_.acked(job);
  world_.pass(kIdle - 1);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  world_.pass(1);
  EXPECT_EQ(a_.renew_sessions(), 0u);
}

// ---- the sweep ----

TEST_F(SessionContract, test_cleanup_removes_expired_no_items) {
  lease_alone();
  a_.run_one("s");
  world_.pass(kLease - 1);
  EXPECT_EQ(b_.cleanup(), 0u);
  world_.pass(1);
  EXPECT_EQ(b_.cleanup(), 1u);
  EXPECT_EQ(world_.rows("sessions"), 0);
}

TEST_F(SessionContract, test_cleanup_keeps_sessions_with_pending_items) {
  lease_alone();
  a_.run_one("s");
  world_.schedule("a", "s");
  world_.pass(2 * kLease);
  EXPECT_EQ(b_.cleanup(), 0u);
  EXPECT_EQ(world_.rows("sessions"), 1);
}

TEST_F(SessionContract, test_cleanup_keeps_active_sessions) {
  a_.run_one("s");
  EXPECT_EQ(b_.cleanup(), 0u);
  EXPECT_EQ(world_.session_number("owner", "s"), a_.me());
}

TEST_F(SessionContract, test_cleanup_then_new_item_recreates_session) {
  const Job before = a_.run_one("s");
  a_.leave();
  EXPECT_EQ(b_.cleanup(), 1u);
  const Job after = b_.run_one("s");
  EXPECT_GT(after.item.epoch, before.item.epoch);
  EXPECT_TRUE(after.item.claimed_now);
}

// ---- abandoned items ----

TEST_F(SessionContract, test_abandoned_session_item_retryable) {
  world_.schedule("a", "s");
  const Job job = a_.take();
  a_.abandoned(job, 5'000);
  EXPECT_FALSE(a_.fetch());
  world_.pass(5'000);
  EXPECT_EQ(a_.wake(), 1u);
  EXPECT_FALSE(b_.fetch());
  const Job again = a_.take();
  EXPECT_EQ(again.item.attempt, 2);
  EXPECT_EQ(again.item.epoch, job.item.epoch);
  EXPECT_EQ(a_.ack(job), Status::kStale);
  EXPECT_EQ(a_.ack(again), Status::kOk);
}

// The contract does not count an abandoned item. In Pawl it is a strike; the attempt counts
// hand-overs and is not a fault.
TEST_F(SessionContract, test_abandoned_session_item_ignore_attempt) {
  world_.schedule("a", "s");
  for (int i = 1; i <= 3; ++i) {
    const Job job = a_.take();
    EXPECT_EQ(job.item.attempt, i);
    a_.abandoned(job, 0, false);
    EXPECT_EQ(world_.number("SELECT strikes+crashes FROM worker_queue"), 0);
  }
  const Job job = a_.take();
  a_.abandoned(job, 0, true);
  EXPECT_EQ(world_.number("SELECT strikes FROM worker_queue"), 1);
}

// ---- leases that ended ----

TEST_F(SessionContract, test_session_claimable_after_lock_expiry) {
  lease_alone();
  a_.run_one("s");
  world_.schedule("a", "s");
  world_.pass(kLease - 1);
  EXPECT_FALSE(b_.fetch());
  world_.pass(1);
  EXPECT_TRUE(b_.fetch());
}

TEST_F(SessionContract, test_session_takeover_after_lock_expiry) {
  lease_alone();
  const Job first = a_.run_one("s");
  world_.pass(kLease);
  const Job second = b_.run_one("s");
  EXPECT_GT(second.item.epoch, first.item.epoch);
  EXPECT_EQ(world_.session_number("owner", "s"), b_.me());
  world_.schedule("a", "s");
  EXPECT_FALSE(a_.fetch());
}

TEST_F(SessionContract, test_original_worker_reclaims_expired_session) {
  lease_alone();
  const Job before = a_.run_one("s");
  world_.pass(2 * kLease);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  const Job after = a_.run_one("s");
  EXPECT_EQ(after.item.epoch, before.item.epoch);
  EXPECT_EQ(world_.session_lease("s"), world_.now() + kLease);
}

TEST_F(SessionContract, test_session_lock_expires_same_worker_reacquires) {
  lease_alone();
  world_.schedule("a", "s", 2);
  const Job first = a_.take();
  a_.running.push_back(first);
  world_.pass(kLease);
  const Job second = a_.take();
  EXPECT_EQ(second.item.epoch, first.item.epoch);
  EXPECT_FALSE(second.item.claimed_now);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  EXPECT_FALSE(b_.fetch());
  a_.acked(first);
}

// In the contract the item is redelivered only when its own lock has ended, too. In Pawl a new
// owner ends all hand-overs.
TEST_F(SessionContract, test_session_lock_expires_new_owner_gets_redelivery) {
  lease_alone();
  a_.options.worker_lock_timeout_ms = 4 * kLease;
  world_.schedule("a", "s", 2);
  const Job first = a_.take();
  world_.pass(kLease);
  const Job again = b_.take();  // the waiting item makes B take the session over, with both items
  EXPECT_EQ(again.item.id, first.item.id);
  EXPECT_EQ(again.item.attempt, 2);
  EXPECT_TRUE(b_.fetch());
  EXPECT_EQ(a_.ack(first), Status::kStale);
  EXPECT_EQ(b_.ack(again), Status::kOk);
}

// The contract accepts this even after another worker has taken the session, so that the results of
// two owners are accepted. Pawl does not.
TEST_F(SessionContract, test_session_lock_expires_activity_lock_valid_ack_succeeds) {
  lease_alone();
  a_.options.worker_lock_timeout_ms = 4 * kLease;
  world_.schedule("a", "s");
  const Job job = a_.take();
  world_.pass(kLease);
  a_.acked(job);
}

// A hand-over whose commit succeeded but whose answer was lost: locked by this worker, not running
// in it.
TEST_F(SessionContract, test_activity_lock_expires_session_lock_valid_same_worker_refetches) {
  world_.schedule("a", "s");
  const Job lost = a_.take();
  world_.pass(kLease - 1);
  a_.renew_sessions();
  EXPECT_FALSE(a_.fetch());
  world_.pass(1);
  EXPECT_FALSE(b_.fetch());
  const Job again = a_.take();
  EXPECT_EQ(again.item.id, lost.item.id);
  EXPECT_EQ(again.item.attempt, 2);
  EXPECT_EQ(again.item.epoch, lost.item.epoch);
  EXPECT_EQ(world_.number("SELECT strikes FROM worker_queue"), 1);
}

TEST_F(SessionContract, test_both_locks_expire_different_worker_claims) {
  lease_alone();
  world_.schedule("a", "s");
  const Job first = a_.take();
  world_.pass(kLease);
  const Job second = b_.take();
  EXPECT_EQ(second.item.id, first.item.id);
  EXPECT_EQ(second.item.attempt, 2);
  EXPECT_EQ(world_.number("SELECT strikes FROM worker_queue"), 1);
  EXPECT_EQ(a_.renew(first), Status::kStale);
  EXPECT_EQ(a_.ack(first), Status::kStale);
  EXPECT_EQ(b_.ack(second), Status::kOk);
}

}  // namespace
}  // namespace pawl::test
