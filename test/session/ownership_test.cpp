// Ownership of sessions and what ends it: fencing, burial, capacity, idleness, cancelled work,
// counts.
#include <gtest/gtest.h>

#include "session_world.hpp"

namespace pawl::test {
namespace {

class Ownership : public TwoWorkers {
 protected:
  std::int64_t count_of(const char* column) { return world_.sum("worker_queue", column); }
};

// ---- fencing ----

// Rules: S4.
TEST_F(Ownership, a_duplicate_acknowledgement_is_stale_and_leaves_one_message) {
  const InstanceKey instance = world_.schedule("a", "s");
  const Job job = a_.take();
  EXPECT_EQ(a_.ack(job), Status::kOk);
  EXPECT_EQ(a_.ack(job), Status::kStale);
  EXPECT_EQ(a_.check(job), Status::kNotFound);
  EXPECT_EQ(world_.completions(instance).size(), 1u);
}

TEST_F(Ownership, two_owners_are_never_both_acknowledged) {
  lease_alone();
  a_.options.worker_lock_timeout_ms = 10 * kLease;
  const InstanceKey instance = world_.schedule("a", "s", 2);
  const Job first = a_.take();
  world_.pass(kLease);
  const Job again = b_.take();
  ASSERT_EQ(again.item.id, first.item.id);
  EXPECT_GT(again.item.epoch, first.item.epoch) << "both activities can tell";
  EXPECT_EQ(a_.ack(first, "late"), Status::kStale);
  EXPECT_EQ(b_.ack(again, "once"), Status::kOk);
  EXPECT_EQ(world_.completion(instance).payload, "once");
}

// Rules: S47.7.
TEST_F(Ownership,
       a_frozen_owner_loses_its_session_after_one_interval_of_observation_and_then_refused) {
  const InstanceKey instance = world_.schedule("a", "s");
  const Job first = a_.take();
  world_.pass(10 * kLease);
  EXPECT_FALSE(b_.fetch());  // seen expired for the first time
  EXPECT_TRUE(b_.evidence().watching());
  world_.pass(kInterval - 1);
  EXPECT_FALSE(b_.fetch());
  world_.pass(1);
  const Job second = b_.take();
  EXPECT_GT(second.item.epoch, first.item.epoch);
  EXPECT_TRUE(second.item.claimed_now);
  EXPECT_EQ(count_of("strikes"), 1);
  EXPECT_EQ(a_.check(first), Status::kStale);
  EXPECT_EQ(a_.renew(first), Status::kStale);
  EXPECT_EQ(a_.abandon(first), Status::kStale);
  EXPECT_EQ(a_.ack(first, "stale"), Status::kStale);
  EXPECT_EQ(b_.ack(second, "good"), Status::kOk);
  EXPECT_EQ(world_.completion(instance).payload, "good");
}

// Rules: S47.6.
TEST_F(Ownership, an_observer_that_overslept_takes_over_nothing) {
  world_.schedule("a", "s");
  a_.take();
  world_.pass(kLease);
  EXPECT_FALSE(b_.fetch());
  world_.pass(kInterval - 5'000);
  world_.machine.suspend(3'600'000);
  b_.observe();
  EXPECT_FALSE(b_.fetch());
  world_.pass(kInterval - 1);
  EXPECT_FALSE(b_.fetch());
  world_.pass(1);
  EXPECT_TRUE(b_.fetch());
}

TEST_F(Ownership, a_session_of_a_killed_owner_is_taken_when_its_lease_ends_without_a_strike) {
  world_.schedule("a", "s", 2);
  a_.take();
  a_.kill();
  world_.pass(kLease - 1);
  EXPECT_FALSE(b_.fetch());
  world_.pass(1);
  const Job job = b_.take();  // its lock is free: proof of death; its notes decide the charge
  EXPECT_EQ(job.item.attempt, 2);
  EXPECT_EQ(count_of("strikes"), 0);
}

TEST_F(Ownership, a_free_item_of_a_killed_worker_is_taken_when_its_lock_ends) {
  world_.schedule("a");
  const Job first = a_.take();
  a_.kill();
  EXPECT_FALSE(b_.fetch());
  world_.pass(kLease);
  const Job second = b_.take();
  EXPECT_NE(second.item.token, first.item.token);
}

// Rules: S3.
TEST_F(Ownership, tokens_and_epochs_of_a_batch_that_was_rolled_back_come_again_and_never_twice) {
  world_.schedule("a", "s");
  const auto epoch = world_.number("SELECT next_epoch FROM meta");
  const auto token = world_.number("SELECT next_token FROM meta");
  char buffer[4096];
  const Status ended = a_.batch([&](Store& store) {
    FetchWork how;
    struct All final : WorkFilter {
      bool has_handler(std::string_view) const override { return true; }
      bool runs_item(WorkItemId) const override { return false; }
      bool runs_session(InstanceKey, std::string_view) const override { return false; }
      bool may_run_with(std::int32_t) const override { return true; }
    } all;
    how.me = a_.me();
    how.options = &a_.options;
    how.filter = &all;
    WorkItem item;
    bool found = false;
    EXPECT_EQ(store.work().fetch.fetch_work_item(how, buffer, sizeof buffer, &item, &found),
              Status::kOk);
    EXPECT_TRUE(found);
    return Status::kIo;  // the batch is rolled back
  });
  EXPECT_EQ(ended, Status::kIo);
  EXPECT_EQ(world_.number("SELECT next_epoch FROM meta"), epoch);
  const Job job = a_.take();
  EXPECT_EQ(job.item.epoch, epoch);
  EXPECT_EQ(job.item.token, token);
  EXPECT_EQ(job.item.attempt, 1);
  world_.schedule("a", "t");
  const Job other = a_.take();
  EXPECT_EQ(other.item.epoch, epoch + 1);
  EXPECT_GT(other.item.token, token);
}

// ---- clocks ----

// Rules: T6.
TEST_F(Ownership, the_wall_clock_moves_no_lease) {
  b_.node.set_locks_testable(false);
  world_.machine.set_wall(2'208'988'800'000);  // 2040
  world_.schedule("a", "s", 2);
  const Job job = a_.take();
  world_.machine.set_wall(0);
  world_.pass(kLease - 1);
  EXPECT_FALSE(b_.fetch());
  world_.machine.set_wall(2'300'000'000'000);
  EXPECT_FALSE(b_.fetch());
  EXPECT_EQ(a_.renew(job), Status::kOk);
  world_.pass(kLease);
  EXPECT_TRUE(b_.fetch());
}

TEST_F(Ownership, a_step_of_the_wall_clock_moves_no_session) {
  world_.machine.set_synced(true);
  world_.schedule("a", "s", 2);
  const Job job = a_.take();
  world_.machine.set_wall(4'000'000'000'000);
  world_.pass(kInterval);
  EXPECT_FALSE(b_.fetch());
  EXPECT_EQ(a_.renew_sessions(), 1u);
  world_.machine.set_wall(0);
  EXPECT_FALSE(b_.fetch());
  a_.acked(job);
}

// ---- burial, restart and leaving ----

// Rules: S8.
TEST_F(Ownership, burial_frees_everything_once_and_the_buried_writes_no_more) {
  world_.schedule("a", "s");
  world_.schedule("a");
  const Job bound = a_.take();
  const Job free = a_.take();
  b_.bury(a_.me(), {{0, bound.item.id}});
  b_.bury(a_.me(), {{0, bound.item.id}});  // a second burial changes nothing
  EXPECT_TRUE(b_.logged("released s@2 buried"));
  EXPECT_EQ(count_of("crashes"), 1);
  EXPECT_EQ(a_.ack(free), Status::kBuried);
  EXPECT_EQ(a_.renew_self(), Status::kBuried);
  EXPECT_TRUE(b_.fetch());
  EXPECT_TRUE(b_.fetch());
  EXPECT_TRUE(b_.logged("migrated s@3 from A to B"));
}

// Rules: S8.
TEST_F(Ownership, a_node_that_restarts_has_its_sessions_back_at_once) {
  world_.schedule("a", "s", 2);
  const Job job = a_.take();
  a_.kill();
  Worker again(world_, "A", {{0, job.item.id}});
  EXPECT_EQ(world_.session_number("owner", "s"), again.me());
  EXPECT_EQ(again.events.back(), "resumed s@2 by A");
  EXPECT_FALSE(b_.fetch());
  const Job retried = again.take();
  EXPECT_EQ(retried.item.id, job.item.id);
  EXPECT_EQ(retried.item.attempt, 2);
  EXPECT_EQ(retried.item.crashes, 1);
  EXPECT_TRUE(retried.item.claimed_now);  // the memory of the old process is lost
  const Job other = again.take();
  EXPECT_EQ(other.item.crashes, 0);  // neither locked nor in a crash note
}

// Rules: S7.
TEST_F(Ownership, leaving_releases_all_without_a_strike) {
  world_.schedule("a", "s");
  world_.schedule("a");
  a_.take();
  a_.take();
  a_.leave();
  EXPECT_TRUE(a_.logged("released s@2 shutdown"));
  EXPECT_EQ(count_of("strikes") + count_of("crashes"), 0);
  EXPECT_TRUE(b_.fetch());
  EXPECT_TRUE(b_.fetch());
}

// Rules: S17.
TEST_F(Ownership, a_draining_worker_claims_nothing_and_hands_its_sessions_away) {
  a_.run_one("idle");
  world_.schedule("a", "s", 2);
  const Job running = a_.take();
  world_.schedule("a", "t");
  a_.drain();
  EXPECT_EQ(world_.session_number("owner", "idle"), -1);
  EXPECT_EQ(world_.session_number("owner", "s"), a_.me()) << "its work still runs";
  EXPECT_FALSE(a_.fetch());
  a_.acked(running);
  EXPECT_EQ(a_.end_stops(), 1u);
  EXPECT_EQ(world_.session_number("owner", "s"), -1);
  EXPECT_TRUE(b_.fetch() && b_.fetch());
  WorkerRow rows[4];
  std::size_t count = 0;
  EXPECT_EQ(a_.store().worker().list_workers(rows, 4, &count), Status::kOk);
  ASSERT_EQ(count, 2u);
  EXPECT_TRUE(rows[0].draining);
  EXPECT_EQ(rows[0].node.view(), "A");
}

// ---- capacity ----

// Rules: S2.
TEST_F(Ownership, own_expired_sessions_count_for_capacity) {
  a_.options.max_sessions_per_worker = 1;
  a_.options.evict_idle_ms = 0;
  a_.run_one("s");
  world_.pass(2 * kLease);
  world_.schedule("a", "t");
  EXPECT_FALSE(a_.fetch());
}

TEST_F(Ownership, capacity_counts_what_is_owned_and_not_what_is_in_hand) {
  a_.options.max_sessions_per_worker = 2;
  for (const char* name : {"s", "t"}) {
    a_.run_one(name);
  }
  world_.schedule("a", "u");
  EXPECT_FALSE(a_.fetch()) << "nothing is in hand, and it is full";
  world_.schedule("a", "s");
  EXPECT_TRUE(a_.fetch()) << "what it owns it serves";
  EXPECT_EQ(b_.take().session, "u");
}

TEST_F(Ownership, a_full_worker_takes_over_nothing) {
  b_.options.max_sessions_per_worker = 1;
  world_.schedule("a", "mine");
  const Job mine = b_.take();
  b_.running.push_back(mine);
  world_.schedule("a", "s");
  a_.take();
  a_.kill();
  world_.pass(kLease);
  EXPECT_FALSE(b_.fetch());
  b_.options.max_sessions_per_worker = 2;
  EXPECT_TRUE(b_.fetch());
}

TEST_F(Ownership, a_full_worker_touches_no_item_it_cannot_take) {
  a_.options.max_sessions_per_worker = 0;
  world_.schedule("a", "s");
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(a_.fetch());
  const Job job = b_.take();
  EXPECT_EQ(job.item.attempt, 1);
}

// ---- idle sessions ----

// Rules: S6.
TEST_F(Ownership, no_session_is_idle_while_a_row_of_it_is_queued) {
  for (const char* name : {"ready", "delayed", "running"})
    world_.schedule("a", name);
  const Job ready = a_.take();
  const Job delayed = a_.take();
  a_.take();
  a_.abandoned(ready);
  a_.abandoned(delayed, 100 * kIdle);
  world_.pass(2 * kIdle);
  std::size_t released = 0;
  EXPECT_EQ(a_.renew_sessions(&released), 3u);
  EXPECT_EQ(released, 0u);
}

TEST_F(Ownership, a_long_activity_keeps_its_session) {
  world_.schedule("a", "s");
  const Job job = a_.take();
  for (int i = 0; i < 20; ++i) {
    world_.pass(kInterval);
    EXPECT_EQ(a_.renew(job), Status::kOk);
    EXPECT_EQ(a_.renew_sessions(), 1u);
  }
  a_.acked(job);
}

TEST_F(Ownership, a_held_session_is_not_idle) {
  a_.run_one("s");
  world_.execute("UPDATE sessions SET hold_until=1000000000000");
  world_.pass(kIdle);
  EXPECT_EQ(a_.renew_sessions(), 1u);
}

TEST_F(Ownership, claims_takeovers_and_idling_are_distinguished) {
  a_.run_one("s");
  world_.pass(a_.options.session_idle_timeout_ms);
  a_.renew_sessions();
  world_.schedule("a", "s");
  b_.take();
  ASSERT_EQ(a_.events.size(), 2u);
  EXPECT_EQ(a_.events[0], "claimed s@1 by A");
  EXPECT_EQ(a_.events[1], "released s@2 idle");
  ASSERT_EQ(b_.events.size(), 1u);
  EXPECT_EQ(b_.events[0], "migrated s@3 from A to B");
}

TEST_F(Ownership, a_sweep_takes_no_session_of_a_living_owner) {
  const Job job = a_.run_one("s");
  world_.pass(2 * kLease);  // A was held up for longer than its lease
  EXPECT_EQ(b_.cleanup(), 0u);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  EXPECT_EQ(world_.session_number("epoch", "s"), job.item.epoch);
}

TEST_F(Ownership, a_session_of_a_deleted_instance_is_swept) {
  const InstanceKey instance = world_.schedule("a", "s");
  const Job job = a_.take();
  world_.end(instance);
  EXPECT_EQ(a_.ack(job), Status::kStale);
  world_.pass(a_.options.session_idle_timeout_ms);
  a_.renew_sessions();
  EXPECT_EQ(b_.cleanup(), 1u);
  EXPECT_EQ(world_.rows("sessions"), 0);
}

// ---- cancelled work ----

TEST_F(Ownership, cancelled_work_is_gone_and_its_result_refused) {
  const InstanceKey first = world_.schedule("a", "s", 2);
  const InstanceKey second = world_.schedule("a", {}, 2);
  const Job bound = a_.take();
  world_.close(first, 3);
  world_.end(second);
  EXPECT_EQ(world_.rows("worker_queue"), 1);
  EXPECT_FALSE(a_.fetch());
  world_.end(first);
  EXPECT_EQ(world_.rows("worker_queue"), 0);
  EXPECT_EQ(a_.renew(bound), Status::kStale);
  EXPECT_EQ(a_.ack(bound), Status::kStale);
}

TEST_F(Ownership, cancelled_running_work_of_an_exclusive_session_blocks_it_until_it_ended) {
  const InstanceKey first = world_.schedule("a", "s");
  world_.execute("UPDATE sessions SET excl=1");
  const Job job = a_.take();
  a_.running.push_back(job);
  world_.schedule("a", "s");
  world_.end(first);
  EXPECT_FALSE(a_.fetch());
  EXPECT_EQ(a_.check(job), Status::kNotFound);
  EXPECT_EQ(a_.renew(job), Status::kOk);
  EXPECT_EQ(a_.ack(job), Status::kOk);  // no message: no caller waits for the result
  a_.running.clear();
  const Job next = a_.take();
  EXPECT_EQ(next.item.epoch, job.item.epoch);
}

TEST_F(Ownership, a_cancelled_running_item_leaves_with_its_holder) {
  const InstanceKey first = world_.schedule("a", "s");
  world_.execute("UPDATE sessions SET excl=1");
  a_.take();
  world_.end(first);
  world_.schedule("a", "s");
  a_.kill();
  EXPECT_FALSE(b_.fetch());
  world_.pass(kLease);
  b_.take();
  EXPECT_EQ(world_.rows("worker_queue"), 1);
}

// ---- exclusive sessions ----

TEST_F(Ownership, a_session_can_be_exclusive) {
  world_.schedule("a", "s", 2, "exclusive=1");
  const Job first = a_.take();
  a_.running.push_back(first);
  EXPECT_FALSE(a_.fetch());
  a_.running.clear();
  a_.acked(first);
  EXPECT_TRUE(a_.fetch());
}

// Rules: S15.
TEST_F(Ownership, exclusive_items_start_in_order_whatever_holds_the_first_back) {
  world_.schedule("a", "s", 2);
  world_.execute("UPDATE sessions SET excl=1");
  const Job first = a_.take();
  EXPECT_FALSE(a_.fetch());
  a_.abandoned(first, 5'000);
  EXPECT_FALSE(a_.fetch());
  world_.pass(5'000);
  EXPECT_EQ(a_.wake(), 1u);
  EXPECT_EQ(a_.take().item.id, first.item.id);
}

TEST_F(Ownership, an_owner_blocked_by_its_own_lost_execution_lets_go) {
  world_.schedule("a", "s");
  world_.execute("UPDATE sessions SET excl=1");
  const Job lost = a_.take();
  a_.running.push_back(lost);
  a_.bury(b_.me());  // the burial of another worker changes nothing here
  world_.pass(kLease);
  Worker c(world_, "C");
  EXPECT_FALSE(c.fetch());
  world_.pass(kInterval);
  const Job taken_over = c.take();
  c.abandoned(taken_over);
  c.leave();
  EXPECT_FALSE(a_.fetch());  // without an owner, but its lost execution still runs here
  world_.execute("UPDATE sessions SET owner=1,locked_until=1000000000000,boot_seq=1");
  EXPECT_FALSE(a_.fetch());  // owned again as if inherited: released at once
  EXPECT_TRUE(a_.logged("released s@4 blocked"));
  a_.running.clear();
  EXPECT_TRUE(a_.fetch());
}

// Damage: the owner has no row, so no worker looks for the session among those of the living.
// Rules: S10.
TEST_F(Ownership, a_session_of_an_unknown_worker_is_released_by_the_sweep) {
  world_.schedule("a", "s", 2);
  a_.acked(a_.take());
  world_.execute("UPDATE sessions SET owner=999");
  EXPECT_FALSE(b_.fetch());
  EXPECT_EQ(b_.cleanup(), 0U) << "it has work";
  EXPECT_EQ(world_.session_number("owner", "s"), -1);
  EXPECT_TRUE(b_.fetch());
}

// The row of the session was removed with its last work and made again. An execution that still
// runs is linked to the new row only by the session's name.
TEST_F(Ownership, what_runs_holds_up_an_exclusive_session_that_was_made_anew) {
  const InstanceKey instance = world_.schedule("a", "s", 1, "exclusive=1");
  const Job lost = a_.take();
  a_.running.push_back(lost);
  b_.bury(a_.me());
  world_.end(instance);
  EXPECT_EQ(b_.cleanup(), 1u);
  a_.join("A");
  world_.schedule("a", "s", 1, "exclusive=1");
  EXPECT_FALSE(a_.fetch()) << "it still runs here";
  EXPECT_TRUE(b_.fetch());
}

// ---- counts of crashes and strikes ----

// Rules: S48.
TEST_F(Ownership, ten_strikes_poison_and_the_session_lives_on) {
  const InstanceKey instance = world_.schedule("a", "s");
  world_.schedule("a", "s");
  for (int i = 0; i < 10; ++i) {
    const Job job = a_.take();
    EXPECT_EQ(job.item.attempt, i + 1);
    a_.abandoned(job, 0, true);
  }
  EXPECT_EQ(world_.completion(instance).error, ErrorKind::kPoison);
  const Job other = a_.take();
  a_.acked(other);
}

TEST_F(Ownership, abandoning_without_a_strike_never_poisons) {
  world_.schedule("a");
  for (int i = 0; i < 30; ++i) {
    const Job job = a_.take();
    a_.abandoned(job);
  }
}

// Rules: S48.
TEST_F(Ownership, limits_are_never_summed) {
  world_.schedule("a");
  world_.execute("UPDATE worker_queue SET crashes=9,strikes=8,reboots=99");
  const Job job = a_.take();
  a_.abandoned(job, 0, true);
  EXPECT_TRUE(a_.fetch());
}

// Rules: S49.
TEST_F(Ownership, what_crashed_runs_beside_nothing_that_crashed) {
  a_.one_crashed_at_a_time = true;
  world_.schedule("a", {}, 3);
  world_.execute("UPDATE worker_queue SET crashes=1 WHERE event<=3");
  const Job first = a_.take();
  a_.running.push_back(first);
  const Job second = a_.take();
  EXPECT_EQ(second.item.crashes, 0);
  EXPECT_FALSE(a_.fetch());
  a_.running.clear();
  EXPECT_TRUE(a_.fetch());
}

// Rules: S50.
TEST_F(Ownership, a_crashed_turn_is_counted_on_its_instance) {
  const InstanceKey instance = world_.schedule("a");
  b_.bury(a_.me(), {{instance, 0}});
  EXPECT_EQ(world_.number("SELECT crashes FROM instances WHERE key=?1", {instance}), 1);
}

// ---- damaged rows ----

TEST_F(Ownership, a_damaged_event_fails_its_activity_and_blocks_no_other) {
  const char* const damages[] = {
      "UPDATE history SET payload='other' WHERE kind=2 AND instance=?1",
      "UPDATE history SET meta='{' WHERE kind=2 AND instance=?1",
      "UPDATE history SET crc=crc+1 WHERE kind=2 AND instance=?1",
      "DELETE FROM history WHERE kind=2 AND instance=?1",
  };
  for (const char* damage : damages) {
    SCOPED_TRACE(damage);
    const InstanceKey instance = world_.schedule("a", "s");
    std::string sql(damage);
    sql.replace(sql.find("?1"), 2, std::to_string(instance));
    world_.execute(sql.c_str());
    world_.schedule("a", "s");
    const Job job = a_.take();
    EXPECT_EQ(job.item.instance, instance + 1);
    a_.acked(job);
    EXPECT_EQ(world_.number("SELECT error FROM orchestrator_queue WHERE instance=?1", {instance}),
              static_cast<std::int64_t>(ErrorKind::kCorrupt));
  }
}

}  // namespace
}  // namespace pawl::test
