// The contract of an activity without a session, from the queue to its result: what every such
// storage must promise, each promise under its usual name.
#include <gtest/gtest.h>

#include "session_world.hpp"

namespace pawl::test {
namespace {

class WorkContract : public TwoWorkers {
 protected:
  // The end of the lease on the one item.
  std::int64_t lease() {
    return world_.number(
        "SELECT max(q.locked_until,w.locked_until) FROM worker_queue q"
        " JOIN workers w ON w.inc=q.inc");
  }
};

// ---- the queue ----

TEST_F(WorkContract, worker_queue_fifo_ordering) {
  const InstanceKey first = world_.schedule("a");
  const InstanceKey second = world_.schedule("a", {}, 2);
  for (const InstanceKey instance : {first, second, second}) {
    const Job job = a_.take();
    EXPECT_EQ(job.item.instance, instance);
  }
}

TEST_F(WorkContract, worker_peek_lock_semantics) {
  world_.schedule("a");
  const Job job = a_.take();
  EXPECT_EQ(world_.rows("worker_queue"), 1);
  EXPECT_FALSE(b_.fetch());
  a_.acked(job);
  EXPECT_EQ(world_.rows("worker_queue"), 0);
}

// One transaction removes the row and adds the message, or does neither.
TEST_F(WorkContract, worker_ack_atomicity) {
  const InstanceKey instance = world_.schedule("a");
  const Job job = a_.take();
  const WorkResult result = {ErrorKind::kNone, "r"};
  EXPECT_EQ(a_.batch([&](Store& store) {
    EXPECT_EQ(store.work().items.ack_work_item(job.done(), result), Status::kOk);
    return Status::kFull;  // the batch is rolled back
  }),
            Status::kFull);
  EXPECT_EQ(world_.rows("worker_queue"), 1);
  EXPECT_EQ(world_.rows("orchestrator_queue"), 0);
  a_.acked(job, "r");
  EXPECT_EQ(world_.rows("worker_queue"), 0);
  EXPECT_EQ(world_.completions(instance).size(), 1U);
}

TEST_F(WorkContract, worker_item_immediate_visibility) {
  world_.schedule("a");
  EXPECT_TRUE(b_.fetch());
}

TEST_F(WorkContract, worker_delayed_visibility_skips_future_items) {
  world_.schedule("a");
  const InstanceKey later = world_.schedule("a");
  a_.abandoned(a_.take(), 5'000);
  const Job next = b_.take();
  EXPECT_EQ(next.item.instance, later);
  EXPECT_FALSE(b_.fetch());
  world_.pass(5'000);
  EXPECT_EQ(b_.wake(), 1U);
  EXPECT_TRUE(b_.fetch());
}

// A hand-over was committed but its answer was lost: no worker runs the item, and it is handed over
// again.
TEST_F(WorkContract, lost_lock_token_handling) {
  world_.schedule("a");
  const Job lost = a_.take();
  world_.pass(kLease - 1);
  EXPECT_FALSE(a_.fetch());
  world_.pass(1);
  const Job again = a_.take();
  EXPECT_EQ(a_.ack(lost), Status::kStale);
  EXPECT_EQ(a_.ack(again), Status::kOk);
}

// ---- locks ----

TEST_F(WorkContract, lock_token_uniqueness) {
  world_.schedule("a", {}, 3);
  std::set<LockToken> tokens;
  for (int i = 0; i < 3; ++i) {
    const Job job = (i == 1 ? b_ : a_).take();
    EXPECT_TRUE(tokens.insert(job.item.token).second);
    (i == 1 ? b_ : a_).abandoned(job);
  }
}

TEST_F(WorkContract, invalid_lock_token_rejection) {
  const InstanceKey instance = world_.schedule("a");
  Job job = a_.take();
  Job forged = job;
  forged.item.token += 1;
  EXPECT_EQ(a_.check(forged), Status::kStale);
  EXPECT_EQ(a_.renew(forged), Status::kStale);
  EXPECT_EQ(a_.abandon(forged), Status::kStale);
  EXPECT_EQ(a_.ack(forged), Status::kStale);
  forged = job;
  forged.item.id += 1;
  EXPECT_EQ(a_.ack(forged), Status::kStale);
  EXPECT_TRUE(world_.completions(instance).empty());
  a_.acked(job);
}

TEST_F(WorkContract, worker_lock_renewal_extends_timeout) {
  world_.schedule("a");
  const Job job = a_.take();
  for (int i = 0; i < 5; ++i) {
    world_.pass(kLease - 1);
    EXPECT_EQ(a_.renew(job), Status::kOk);
    EXPECT_EQ(lease(), world_.now() + kLease);
    EXPECT_FALSE(b_.fetch());
  }
  a_.acked(job);
}

// An expired lease is renewed while no worker has taken the item. A busy store or a machine that
// slept does not lose work that still runs.
TEST_F(WorkContract, worker_lock_renewal_after_expiration) {
  world_.schedule("a");
  const Job job = a_.take();
  a_.running.push_back(job);
  world_.pass(3 * kLease);
  EXPECT_EQ(a_.renew(job), Status::kOk);
  EXPECT_EQ(lease(), world_.now() + kLease);
  a_.kill();
  world_.pass(kLease);
  EXPECT_TRUE(b_.fetch());
}

TEST_F(WorkContract, worker_lock_renewal_after_ack) {
  world_.schedule("a");
  const Job job = a_.take();
  EXPECT_EQ(a_.ack(job), Status::kOk);
  EXPECT_EQ(a_.renew(job), Status::kStale);
}

TEST_F(WorkContract, abandon_work_item_releases_lock) {
  world_.schedule("a");
  const Job job = a_.take();
  a_.abandoned(job);
  const Job again = b_.take();
  EXPECT_EQ(a_.ack(job), Status::kStale);
  EXPECT_EQ(b_.ack(again), Status::kOk);
}

// ---- counts ----

TEST_F(WorkContract, worker_attempt_count_starts_at_one) {
  world_.schedule("a");
  const Job job = a_.take();
  EXPECT_EQ(job.item.attempt, 1);
}

TEST_F(WorkContract, worker_attempt_count_increments_on_lock_expiry) {
  world_.schedule("a");
  a_.take();
  a_.kill();
  world_.pass(kLease);
  const Job job = b_.take();
  EXPECT_EQ(job.item.attempt, 2);
}

TEST_F(WorkContract, attempt_count_is_per_message) {
  world_.schedule("a");
  a_.abandoned(a_.take(), 0, true);
  world_.schedule("a");
  EXPECT_EQ(a_.take().item.attempt, 2);
  EXPECT_EQ(a_.take().item.attempt, 1);
  EXPECT_EQ(world_.number("SELECT max(strikes) FROM worker_queue"), 1);
  EXPECT_EQ(world_.number("SELECT min(strikes) FROM worker_queue"), 0);
}

// ---- cancellation ----

TEST_F(WorkContract, cancelled_activities_deleted_from_worker_queue) {
  const InstanceKey instance = world_.schedule("a", {}, 3);
  const Job running = a_.take();
  world_.close(instance, 2);
  world_.close(instance, 3);
  EXPECT_EQ(world_.rows("worker_queue"), 1);
  const Job left = b_.take();
  EXPECT_EQ(left.item.event, 4U);
  EXPECT_FALSE(b_.fetch());
  EXPECT_EQ(a_.check(running), Status::kNotFound);
  EXPECT_EQ(a_.renew(running), Status::kStale);
  EXPECT_EQ(a_.ack(running), Status::kStale);
  EXPECT_TRUE(world_.completions(instance).empty());
}

TEST_F(WorkContract, cancelling_nonexistent_activities_is_idempotent) {
  const InstanceKey instance = world_.schedule("a");
  a_.acked(a_.take());
  EXPECT_EQ(world_.completions(instance).size(), 1U);
  world_.close(instance, 2);
  world_.close(instance, 2);
  EXPECT_EQ(world_.rows("worker_queue"), 0);
}

TEST_F(WorkContract, batch_cancellation_deletes_multiple_activities) {
  const InstanceKey instance = world_.schedule("a", {}, 20);
  world_.schedule("a");
  a_.take();
  world_.end(instance);
  EXPECT_EQ(world_.rows("worker_queue"), 1);
}

}  // namespace
}  // namespace pawl::test
