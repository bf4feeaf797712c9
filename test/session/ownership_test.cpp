// Ownership of sessions and what ends it: fencing, burial, restarts, handlers, cancelled work,
// counts.
#include <gtest/gtest.h>

#include "session_world.hpp"

namespace pawl::test {
namespace {

constexpr std::int64_t kLease = 30'000;
constexpr std::int64_t kInterval = 25'000;
constexpr std::int64_t kIdle = 300'000;

class Ownership : public ::testing::Test {
 protected:
  std::unique_ptr<Worker> worker(std::string_view node) {
    auto one = std::make_unique<Worker>(world_);
    one->join(node);
    return one;
  }
  std::int64_t count_of(const char* column) {
    const std::string sql =
        "SELECT coalesce(sum(" + std::string(column) + "),-1) FROM worker_queue";
    return world_.number(sql.c_str());
  }
  static bool logged(const Worker& worker, std::string_view what) {
    for (const std::string& event : worker.events)
      if (event.find(what) != std::string::npos) return true;
    return false;
  }

  World world_;
};

// ---- fencing ----

// Rules: S4.
TEST_F(Ownership, a_duplicate_acknowledgement_is_stale_and_leaves_one_message) {
  const auto a = worker("A");
  const InstanceKey instance = world_.schedule("a", "s");
  const auto job = a->fetch();
  ASSERT_TRUE(job);
  EXPECT_EQ(a->ack(*job), Status::kOk);
  EXPECT_EQ(a->ack(*job), Status::kStale);
  EXPECT_EQ(a->check(*job), Status::kNotFound);
  EXPECT_EQ(world_.completions(instance).size(), 1u);
}

// Rules: S47.7.
TEST_F(Ownership,
       a_frozen_owner_loses_its_session_after_one_interval_of_observation_and_then_refused) {
  const auto a = worker("A");
  const auto b = worker("B");
  const InstanceKey instance = world_.schedule("a", "s");
  const auto first = a->fetch();
  ASSERT_TRUE(first);
  world_.pass(10 * kLease);
  EXPECT_FALSE(b->fetch());  // seen expired for the first time
  EXPECT_TRUE(b->evidence().watching());
  world_.pass(kInterval - 1);
  EXPECT_FALSE(b->fetch());
  world_.pass(1);
  const auto second = b->fetch();
  ASSERT_TRUE(second);
  EXPECT_GT(second->item.epoch, first->item.epoch);
  EXPECT_TRUE(second->item.claimed_now);
  EXPECT_EQ(count_of("strikes"), 1);
  EXPECT_EQ(a->check(*first), Status::kStale);
  EXPECT_EQ(a->renew(*first), Status::kStale);
  EXPECT_EQ(a->abandon(*first), Status::kStale);
  EXPECT_EQ(a->ack(*first, "stale"), Status::kStale);
  EXPECT_EQ(b->ack(*second, "good"), Status::kOk);
  const auto messages = world_.completions(instance);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].payload, "good");
}

// Rules: S47.6.
TEST_F(Ownership, an_observer_that_overslept_takes_over_nothing) {
  const auto a = worker("A");
  const auto b = worker("B");
  world_.schedule("a", "s");
  ASSERT_TRUE(a->fetch());
  world_.pass(kLease);
  EXPECT_FALSE(b->fetch());
  world_.pass(kInterval - 5'000);
  world_.machine.suspend(3'600'000);
  b->observe();
  EXPECT_FALSE(b->fetch());
  world_.pass(kInterval - 1);
  EXPECT_FALSE(b->fetch());
  world_.pass(1);
  EXPECT_TRUE(b->fetch());
}

TEST_F(Ownership, a_session_of_a_killed_owner_is_taken_when_its_lease_ends_without_a_strike) {
  const auto a = worker("A");
  const auto b = worker("B");
  world_.schedule("a", "s", 2);
  ASSERT_TRUE(a->fetch());
  a->kill();
  world_.pass(kLease - 1);
  EXPECT_FALSE(b->fetch());
  world_.pass(1);
  const auto job = b->fetch();  // its lock is free: proof of death; its notes decide the charge
  ASSERT_TRUE(job);
  EXPECT_EQ(job->item.attempt, 2);
  EXPECT_EQ(count_of("strikes"), 0);
}

TEST_F(Ownership, a_free_item_of_a_killed_worker_is_taken_when_its_lock_ends) {
  const auto a = worker("A");
  const auto b = worker("B");
  world_.schedule("a");
  const auto first = a->fetch();
  ASSERT_TRUE(first);
  a->kill();
  EXPECT_FALSE(b->fetch());
  world_.pass(kLease);
  const auto second = b->fetch();
  ASSERT_TRUE(second);
  EXPECT_NE(second->item.token, first->item.token);
}

// Rules: S3.
TEST_F(Ownership, tokens_and_epochs_of_a_batch_that_was_rolled_back_come_again_and_never_twice) {
  const auto a = worker("A");
  world_.schedule("a", "s");
  const auto epoch = world_.number("SELECT next_epoch FROM meta");
  const auto token = world_.number("SELECT next_token FROM meta");
  char buffer[4096];
  const Status ended = a->batch([&](Store& store) {
    FetchWork how;
    struct All final : WorkFilter {
      bool has_handler(std::string_view) const override { return true; }
      bool runs_item(WorkItemId) const override { return false; }
      bool runs_session(InstanceKey, std::string_view) const override { return false; }
      bool may_run_with(std::int32_t) const override { return true; }
    } all;
    how.me = a->me();
    how.options = &a->options;
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
  const auto job = a->fetch();
  ASSERT_TRUE(job);
  EXPECT_EQ(job->item.epoch, epoch);
  EXPECT_EQ(job->item.token, token);
  EXPECT_EQ(job->item.attempt, 1);
  world_.schedule("a", "t");
  const auto other = a->fetch();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->item.epoch, epoch + 1);
  EXPECT_GT(other->item.token, token);
}

// ---- burial and restart ----

// Rules: S8.
TEST_F(Ownership, burial_frees_everything_once_and_the_buried_writes_no_more) {
  const auto a = worker("A");
  const auto b = worker("B");
  world_.schedule("a", "s");
  world_.schedule("a");
  const auto bound = a->fetch();
  const auto free = a->fetch();
  ASSERT_TRUE(bound && free);
  b->bury(a->me(), {{0, bound->item.id}});
  b->bury(a->me(), {{0, bound->item.id}});  // a second burial changes nothing
  EXPECT_TRUE(logged(*b, "released s@2 buried"));
  EXPECT_EQ(count_of("crashes"), 1);
  EXPECT_EQ(a->ack(*free), Status::kBuried);
  EXPECT_EQ(a->renew_self(), Status::kBuried);
  EXPECT_TRUE(b->fetch());
  EXPECT_TRUE(b->fetch());
  EXPECT_TRUE(logged(*b, "migrated s@3 from A to B"));
}

// Rules: S47.8.
TEST_F(Ownership, a_node_in_use_is_refused_with_its_process) {
  const auto a = worker("A");
  Worker second(world_);
  EXPECT_EQ(second.try_join("A"), Status::kNodeIdInUse);
  const std::int64_t pid = world_.number("SELECT pid FROM workers WHERE inc=?1", {a->me()});
  EXPECT_NE(second.refusal().find(std::to_string(pid)), std::string::npos) << second.refusal();
  EXPECT_EQ(world_.number("SELECT count(*) FROM workers"), 1);
}

// Rules: S8.
TEST_F(Ownership, a_node_that_restarts_has_its_sessions_back_at_once) {
  const auto a = worker("A");
  const auto b = worker("B");
  world_.schedule("a", "s", 2);
  const auto job = a->fetch();
  ASSERT_TRUE(job);
  a->kill();
  Worker again(world_);
  again.join("A", {{0, job->item.id}});
  EXPECT_EQ(world_.session_number("owner", "s"), again.me());
  EXPECT_EQ(again.events.back(), "resumed s@2 by A");
  EXPECT_FALSE(b->fetch());
  const auto retried = again.fetch();
  ASSERT_TRUE(retried);
  EXPECT_EQ(retried->item.id, job->item.id);
  EXPECT_EQ(retried->item.attempt, 2);
  EXPECT_EQ(retried->item.crashes, 1);
  EXPECT_TRUE(retried->item.claimed_now);  // the memory of the old process is lost
  const auto other = again.fetch();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->item.crashes, 0);  // neither locked nor in a crash note
}

TEST_F(Ownership, an_ephemeral_worker_has_a_name_of_its_own_and_gets_nothing_back) {
  Worker a(world_);
  a.pid = 77;
  a.join("");
  world_.schedule("a", "s");
  ASSERT_TRUE(a.fetch());
  a.kill();
  Worker again(world_);
  again.pid = 77;  // the kernel reuses the process id
  again.join("");
  EXPECT_EQ(world_.session_number("owner", "s"), a.me());
  EXPECT_EQ(world_.number("SELECT count(DISTINCT node) FROM workers"), 2);
}

// Rules: S47.7.
TEST_F(Ownership, without_provable_death_a_node_is_free_two_leases_after_its_end) {
  const auto a = worker("A");
  Worker again(world_);
  again.node.set_locks_testable(false);
  EXPECT_EQ(again.try_join("A"), Status::kNodeIdInUse);
  world_.pass(kLease + 2 * kLease - 1);
  EXPECT_EQ(again.try_join("A"), Status::kNodeIdInUse);
  world_.pass(1);
  EXPECT_EQ(again.try_join("A"), Status::kOk);
  EXPECT_EQ(a->renew_self(), Status::kBuried);
}

// Rules: S7.
TEST_F(Ownership, leaving_releases_all_without_a_strike) {
  const auto a = worker("A");
  const auto b = worker("B");
  world_.schedule("a", "s");
  world_.schedule("a");
  ASSERT_TRUE(a->fetch());
  ASSERT_TRUE(a->fetch());
  a->leave();
  EXPECT_TRUE(logged(*a, "released s@2 shutdown"));
  EXPECT_EQ(count_of("strikes") + count_of("crashes"), 0);
  EXPECT_TRUE(b->fetch());
  EXPECT_TRUE(b->fetch());
}

// Rules: S17.
TEST_F(Ownership, a_draining_worker_claims_nothing_and_hands_its_sessions_away) {
  const auto a = worker("A");
  world_.schedule("a", "idle");
  const auto idle = a->fetch();
  ASSERT_TRUE(idle);
  EXPECT_EQ(a->ack(*idle), Status::kOk);
  world_.schedule("a", "s", 2);
  const auto running = a->fetch();
  ASSERT_TRUE(running);
  world_.schedule("a", "t");
  a->drain();
  EXPECT_EQ(world_.session_number("owner", "idle"), -1);
  EXPECT_EQ(world_.session_number("owner", "s"), a->me()) << "its work still runs";
  EXPECT_FALSE(a->fetch());
  EXPECT_EQ(a->ack(*running), Status::kOk);
  EXPECT_EQ(a->end_stops(), 1u);
  EXPECT_EQ(world_.session_number("owner", "s"), -1);
  const auto b = worker("B");
  EXPECT_TRUE(b->fetch() && b->fetch());
  WorkerRow rows[4];
  std::size_t count = 0;
  EXPECT_EQ(a->store().worker().list_workers(rows, 4, &count), Status::kOk);
  ASSERT_EQ(count, 2u);
  EXPECT_TRUE(rows[0].draining);
  EXPECT_EQ(rows[0].node.view(), "A");
}

TEST_F(Ownership, buried_rows_are_few) {
  for (int i = 0; i < 100; ++i) {
    const auto one = worker("A");
    one->leave();
  }
  EXPECT_LE(world_.number("SELECT count(*) FROM workers"), 66);
  EXPECT_EQ(world_.number("SELECT count(*) FROM handlers"), 0);
}

// ---- reboots ----

TEST_F(Ownership, a_reboot_buries_the_earlier_boot_and_charges_no_crash) {
  const auto a = worker("A");
  world_.schedule("a", "s");
  world_.schedule("a");
  const auto bound = a->fetch();
  ASSERT_TRUE(bound && a->fetch());
  world_.reboot(60'000);
  Worker again(world_);
  again.join("A", {{0, bound->item.id}});
  EXPECT_EQ(world_.session_number("owner", "s"), again.me());
  EXPECT_TRUE(logged(again, "resumed s@2 by A"));
  EXPECT_EQ(count_of("reboots"), 2);
  EXPECT_EQ(count_of("crashes") + count_of("strikes"), 0);
  EXPECT_TRUE(again.fetch());
  EXPECT_TRUE(again.fetch());
}

// Rules: T7.
TEST_F(Ownership, a_held_lock_of_an_earlier_boot_is_refused) {
  const auto a = worker("A");
  world_.execute("UPDATE workers SET boot_seq=boot_seq-1");
  Worker b(world_);
  EXPECT_EQ(b.try_join("B"), Status::kForeignBoot);
  EXPECT_NE(b.refusal().find("earlier boot"), std::string::npos) << b.refusal();
  EXPECT_EQ(world_.number("SELECT count(*) FROM workers"), 1);
}

// Rules: T6.
TEST_F(Ownership, the_wall_clock_moves_no_lease) {
  const auto a = worker("A");
  const auto b = worker("B");
  b->node.set_locks_testable(false);
  world_.machine.set_wall(2'208'988'800'000);  // 2040
  world_.schedule("a", "s", 2);
  const auto job = a->fetch();
  ASSERT_TRUE(job);
  world_.machine.set_wall(0);
  world_.pass(kLease - 1);
  EXPECT_FALSE(b->fetch());
  world_.machine.set_wall(2'300'000'000'000);
  EXPECT_FALSE(b->fetch());
  EXPECT_EQ(a->renew(*job), Status::kOk);
  world_.pass(kLease);
  EXPECT_TRUE(b->fetch());
}

// ---- capacity ----

// Rules: S2.
TEST_F(Ownership, own_expired_sessions_count_for_capacity) {
  const auto a = worker("A");
  a->options.max_sessions_per_worker = 1;
  a->options.evict_idle_ms = 0;
  world_.schedule("a", "s");
  const auto job = a->fetch();
  ASSERT_TRUE(job);
  EXPECT_EQ(a->ack(*job), Status::kOk);
  world_.pass(2 * kLease);
  world_.schedule("a", "t");
  EXPECT_FALSE(a->fetch());
}

TEST_F(Ownership, a_full_worker_takes_over_nothing) {
  const auto a = worker("A");
  const auto b = worker("B");
  b->options.max_sessions_per_worker = 1;
  world_.schedule("a", "mine");
  const auto mine = b->fetch();
  ASSERT_TRUE(mine);
  b->running.push_back(*mine);
  world_.schedule("a", "s");
  ASSERT_TRUE(a->fetch());
  a->kill();
  world_.pass(kLease);
  EXPECT_FALSE(b->fetch());
  b->options.max_sessions_per_worker = 2;
  EXPECT_TRUE(b->fetch());
}

// ---- idle ----

// Rules: S6.
TEST_F(Ownership, no_session_is_idle_while_a_row_of_it_is_queued) {
  const auto a = worker("A");
  for (const char* name : {"ready", "delayed", "running"})
    world_.schedule("a", name);
  const auto ready = a->fetch();
  const auto delayed = a->fetch();
  ASSERT_TRUE(ready && delayed && a->fetch());
  EXPECT_EQ(a->abandon(*ready), Status::kOk);
  EXPECT_EQ(a->abandon(*delayed, 100 * kIdle), Status::kOk);
  world_.pass(2 * kIdle);
  std::size_t released = 0;
  EXPECT_EQ(a->renew_sessions(&released), 3u);
  EXPECT_EQ(released, 0u);
}

TEST_F(Ownership, a_long_activity_keeps_its_session) {
  const auto a = worker("A");
  world_.schedule("a", "s");
  const auto job = a->fetch();
  ASSERT_TRUE(job);
  for (int i = 0; i < 20; ++i) {
    world_.pass(kInterval);
    EXPECT_EQ(a->renew(*job), Status::kOk);
    EXPECT_EQ(a->renew_sessions(), 1u);
  }
  EXPECT_EQ(a->ack(*job), Status::kOk);
}

TEST_F(Ownership, a_held_session_is_not_idle) {
  const auto a = worker("A");
  world_.schedule("a", "s");
  const auto job = a->fetch();
  ASSERT_TRUE(job);
  EXPECT_EQ(a->ack(*job), Status::kOk);
  world_.execute("UPDATE sessions SET hold_until=1000000000000");
  world_.pass(kIdle);
  EXPECT_EQ(a->renew_sessions(), 1u);
}

// ---- handlers ----

class Handlers : public Ownership {
 protected:
  std::unique_ptr<Worker> worker_with(std::string_view node, std::set<std::string> names) {
    auto one = std::make_unique<Worker>(world_);
    one->handlers = std::move(names);
    one->join(node);
    return one;
  }
};

// Rules: S9.
TEST_F(Handlers, what_no_worker_can_run_waits_for_a_worker_that_can) {
  const auto a = worker_with("A", {"a"});
  world_.schedule("nobody");
  world_.schedule("nobody", "s");
  world_.schedule("nobody", {}, 1, "attempts=3,schedule_to_close_ms=100000000");
  EXPECT_FALSE(a->fetch());
  EXPECT_EQ(a->events, (std::vector<std::string>(3, "unregistered nobody")));
  const std::int64_t writes = a->writes();
  for (int i = 0; i < 8; ++i) {
    world_.pass(61'000);
    EXPECT_EQ(a->wake(), 0u);
    EXPECT_FALSE(a->fetch());
    EXPECT_FALSE(a->look_again());
  }
  EXPECT_EQ(a->writes(), writes) << "met once, and written once";
  EXPECT_EQ(count_of("strikes") + count_of("attempt"), 0);
  const auto c = worker_with("C", {"c"});
  EXPECT_FALSE(c->fetch()) << "nor can this one";
  const auto b = worker_with("B", {"nobody"});
  for (int i = 0; i < 3; ++i) {
    const auto job = b->fetch();
    ASSERT_TRUE(job) << i;
    EXPECT_EQ(job->item.attempt, 1);
  }
  EXPECT_EQ(world_.session_number("owner", "s"), b->me());
}

TEST_F(Handlers, what_waits_for_a_name_goes_on_when_its_session_is_handed_to_who_has_it) {
  const auto a = worker_with("A", {"a"});
  const auto b = std::make_unique<Worker>(world_);
  b->handlers = {"b"};
  b->tags = TagFilter::tags({"gpu"});
  b->join("B");
  const InstanceKey instance = world_.instance();
  world_.commit(instance, {{EventKind::kSessionOpen, "own", {}, "notify=1"},
                           {EventKind::kActivity, "b", "own", "own_session=1"}});
  EXPECT_FALSE(a->fetch());
  EXPECT_EQ(a->events, (std::vector<std::string>{"unregistered b"})) << "B takes no such tag";
  EXPECT_FALSE(b->fetch());
  world_.commit(instance, {{EventKind::kSessionHandoff, "own", {}, "own_session=1", "gpu"}});
  EXPECT_TRUE(b->fetch());
}

TEST_F(Handlers, what_waits_for_a_name_on_a_device_goes_on_with_a_holder_that_has_it) {
  const auto a = worker_with("A", {"a"});
  const auto b = worker_with("B", {"b"});
  ASSERT_EQ(a->declare("bed"), Status::kOk);
  world_.schedule("b", "bed", 3, "device=1");
  const std::int64_t before = a->writes();
  EXPECT_FALSE(a->fetch());
  EXPECT_TRUE(a->events.empty() || a->events.back() != "unregistered b") << "B has it";
  EXPECT_GT(a->writes(), before);
  const std::int64_t writes = a->writes();
  world_.pass(61'000);
  EXPECT_EQ(a->wake(), 0u);
  EXPECT_FALSE(a->fetch());
  EXPECT_FALSE(b->fetch());
  EXPECT_EQ(a->writes(), writes);
  ASSERT_EQ(b->declare("bed", true), Status::kOk);
  ASSERT_EQ(a->withdraw("bed"), Status::kOk);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(b->fetch()) << i;
}

TEST_F(Handlers, what_another_can_run_is_left_to_it) {
  const auto a = worker_with("A", {"a"});
  const auto b = worker_with("B", {"b"});
  world_.schedule("b");
  world_.schedule("b", "s");
  EXPECT_FALSE(a->fetch());
  EXPECT_TRUE(a->events.empty());
  EXPECT_EQ(count_of("unregistered"), 0);
  EXPECT_TRUE(b->fetch());
  EXPECT_TRUE(b->fetch());
}

// Rules: S9.
TEST_F(Handlers, an_owner_without_the_handler_lets_the_session_go) {
  const auto a = worker_with("A", {"a"});
  const auto b = worker_with("B", {"b"});
  world_.schedule("a", "s");
  const auto job = a->fetch();
  ASSERT_TRUE(job);
  EXPECT_EQ(a->ack(*job), Status::kOk);
  world_.schedule("b", "s");
  EXPECT_FALSE(a->fetch());
  EXPECT_TRUE(logged(*a, "released s@2 no_handler"));
  EXPECT_FALSE(a->fetch());  // and does not claim the session back
  EXPECT_TRUE(b->fetch());
  EXPECT_EQ(count_of("strikes"), 0);
}

TEST_F(Handlers, a_session_is_not_let_go_under_what_runs) {
  const auto a = worker_with("A", {"a"});
  const auto b = worker_with("B", {"b"});
  world_.schedule("a", "s");
  const auto running = a->fetch();
  ASSERT_TRUE(running);
  a->running.push_back(*running);
  world_.schedule("b", "s");
  world_.schedule("a", "s");
  const auto beside = a->fetch();  // the item without a handler backs off, other work goes on
  ASSERT_TRUE(beside);
  EXPECT_EQ(a->ack(*beside), Status::kOk);
  for (int i = 0; i < 8; ++i) {
    world_.pass(61'000);
    a->wake();
    EXPECT_FALSE(a->fetch());
  }
  // The session has waited long enough: none of its work starts any more, so that it drains.
  world_.schedule("a", "s");
  EXPECT_FALSE(a->fetch());
  EXPECT_EQ(a->ack(*running), Status::kOk);
  a->running.clear();
  EXPECT_FALSE(a->fetch());
  EXPECT_TRUE(logged(*a, "released s@2 no_handler"));
  EXPECT_TRUE(b->fetch());
}

TEST_F(Handlers, unregistered_items_at_the_head_starve_no_other) {
  const auto a = worker_with("A", {"a"});
  const auto b = worker_with("B", {"b"});
  world_.schedule("b", {}, 50);
  world_.schedule("a");
  world_.schedule("b", {}, 50);
  world_.schedule("a");
  int calls = 0;
  int taken = 0;
  while (taken < 2 && calls < 60) {
    ++calls;
    const bool found = a->fetch().has_value();
    taken += found ? 1 : 0;
    EXPECT_TRUE(found || a->look_again()) << calls;
  }
  EXPECT_EQ(taken, 2);
  for (int i = 0; i < 60 && a->look_again(); ++i)
    EXPECT_FALSE(a->fetch());
  EXPECT_FALSE(a->look_again());  // the pass is over: sleep
  EXPECT_EQ(b->fetch()->activity, "b");
}

TEST_F(Handlers, an_item_that_becomes_ready_behind_a_pass_is_found) {
  const auto a = worker_with("A", {"a"});
  const auto b = worker_with("B", {"b"});
  world_.schedule("b", {}, 6);
  world_.schedule("a");
  const auto job = a->fetch() ? std::optional<Job>() : a->fetch();
  world_.schedule("b", {}, 40);
  EXPECT_FALSE(a->fetch());
  EXPECT_TRUE(a->look_again());
  world_.execute("UPDATE worker_queue SET state=0,token=NULL,inc=NULL,epoch=NULL WHERE state=1");
  bool found = false;
  for (int i = 0; i < 40 && !found; ++i) {
    found = a->fetch().has_value();
    ASSERT_TRUE(found || a->look_again()) << i;
  }
  EXPECT_TRUE(found);
}

// ---- cancelled and exclusive work ----

TEST_F(Ownership, cancelled_work_is_gone_and_its_result_refused) {
  const auto a = worker("A");
  const InstanceKey first = world_.schedule("a", "s", 2);
  const InstanceKey second = world_.schedule("a", {}, 2);
  const auto bound = a->fetch();
  ASSERT_TRUE(bound);
  world_.close(first, 3);
  world_.end(second);
  EXPECT_EQ(world_.number("SELECT count(*) FROM worker_queue"), 1);
  EXPECT_FALSE(a->fetch());
  world_.end(first);
  EXPECT_EQ(world_.number("SELECT count(*) FROM worker_queue"), 0);
  EXPECT_EQ(a->renew(*bound), Status::kStale);
  EXPECT_EQ(a->ack(*bound), Status::kStale);
}

TEST_F(Ownership, cancelled_running_work_of_an_exclusive_session_blocks_it_until_it_ended) {
  const auto a = worker("A");
  const InstanceKey first = world_.schedule("a", "s");
  world_.execute("UPDATE sessions SET excl=1");
  const auto job = a->fetch();
  ASSERT_TRUE(job);
  a->running.push_back(*job);
  world_.schedule("a", "s");
  world_.end(first);
  EXPECT_FALSE(a->fetch());
  EXPECT_EQ(a->check(*job), Status::kNotFound);
  EXPECT_EQ(a->renew(*job), Status::kOk);
  EXPECT_EQ(a->ack(*job), Status::kOk);  // no message: no caller waits for the result
  a->running.clear();
  const auto next = a->fetch();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->item.epoch, job->item.epoch);
}

TEST_F(Ownership, a_cancelled_running_item_leaves_with_its_holder) {
  const auto a = worker("A");
  const auto b = worker("B");
  const InstanceKey first = world_.schedule("a", "s");
  world_.execute("UPDATE sessions SET excl=1");
  ASSERT_TRUE(a->fetch());
  world_.end(first);
  world_.schedule("a", "s");
  a->kill();
  EXPECT_FALSE(b->fetch());
  world_.pass(kLease);
  const auto next = b->fetch();
  ASSERT_TRUE(next);
  EXPECT_EQ(world_.number("SELECT count(*) FROM worker_queue"), 1);
}

// Rules: S15.
TEST_F(Ownership, exclusive_items_start_in_order_whatever_holds_the_first_back) {
  const auto a = worker("A");
  world_.schedule("a", "s", 2);
  world_.execute("UPDATE sessions SET excl=1");
  const auto first = a->fetch();
  ASSERT_TRUE(first);
  EXPECT_FALSE(a->fetch());
  EXPECT_EQ(a->abandon(*first, 5'000), Status::kOk);
  EXPECT_FALSE(a->fetch());
  world_.pass(5'000);
  EXPECT_EQ(a->wake(), 1u);
  EXPECT_EQ(a->fetch()->item.id, first->item.id);
}

TEST_F(Ownership, an_owner_blocked_by_its_own_lost_execution_lets_go) {
  const auto a = worker("A");
  const auto b = worker("B");
  world_.schedule("a", "s");
  world_.execute("UPDATE sessions SET excl=1");
  const auto lost = a->fetch();
  ASSERT_TRUE(lost);
  a->running.push_back(*lost);
  a->bury(b->me());  // the burial of another worker changes nothing here
  world_.pass(kLease);
  Worker c(world_);
  c.join("C");
  EXPECT_FALSE(c.fetch());
  world_.pass(kInterval);
  const auto taken_over = c.fetch();
  ASSERT_TRUE(taken_over);
  EXPECT_EQ(c.abandon(*taken_over), Status::kOk);
  c.leave();
  EXPECT_FALSE(a->fetch());  // without an owner, but its lost execution still runs here
  world_.execute("UPDATE sessions SET owner=1,locked_until=1000000000000,boot_seq=1");
  EXPECT_FALSE(a->fetch());  // owned again as if inherited: released at once
  EXPECT_TRUE(logged(*a, "blocked"));
  a->running.clear();
  EXPECT_TRUE(a->fetch());
}

// The row of the session was removed with its last work and made again. An execution that still
// runs is linked to the new row only by the session's name.
TEST_F(Ownership, what_runs_holds_up_an_exclusive_session_that_was_made_anew) {
  const auto a = worker("A");
  const auto b = worker("B");
  const InstanceKey instance = world_.schedule("a", "s", 1, "exclusive=1");
  const auto lost = a->fetch();
  ASSERT_TRUE(lost);
  a->running.push_back(*lost);
  b->bury(a->me());
  world_.end(instance);
  EXPECT_EQ(b->cleanup(), 1u);
  a->join("A");
  world_.schedule("a", "s", 1, "exclusive=1");
  EXPECT_FALSE(a->fetch()) << "it still runs here";
  EXPECT_TRUE(b->fetch());
}

// ---- counts ----

// Rules: S48.
TEST_F(Ownership, ten_crashes_poison) {
  const InstanceKey instance = world_.schedule("a", "s");
  WorkItemId item = 0;
  Worker* last = nullptr;
  std::vector<std::unique_ptr<Worker>> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(std::make_unique<Worker>(world_));
    last = all.back().get();
    last->join("A", item == 0 ? std::vector<CrashNote>() : std::vector<CrashNote>{{0, item}});
    const auto job = last->fetch();
    ASSERT_TRUE(job) << i;
    EXPECT_EQ(job->item.crashes, i);
    item = job->item.id;
    last->kill();
  }
  Worker again(world_);
  again.join("A", {{0, item}});
  EXPECT_TRUE(logged(again, "poison"));
  EXPECT_FALSE(again.fetch());
  const auto messages = world_.completions(instance);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].error, ErrorKind::kPoison);
  EXPECT_NE(messages[0].payload.find("10 times (limit 10)"), std::string::npos)
      << messages[0].payload;
}

// Rules: S48.
TEST_F(Ownership, ten_strikes_poison_and_the_session_lives_on) {
  const auto a = worker("A");
  const InstanceKey instance = world_.schedule("a", "s");
  world_.schedule("a", "s");
  for (int i = 0; i < 10; ++i) {
    const auto job = a->fetch();
    ASSERT_TRUE(job);
    EXPECT_EQ(job->item.attempt, i + 1);
    EXPECT_EQ(a->abandon(*job, 0, true), Status::kOk);
  }
  const auto messages = world_.completions(instance);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].error, ErrorKind::kPoison);
  const auto other = a->fetch();
  ASSERT_TRUE(other);
  EXPECT_EQ(a->ack(*other), Status::kOk);
}

TEST_F(Ownership, abandoning_without_a_strike_never_poisons) {
  const auto a = worker("A");
  world_.schedule("a");
  for (int i = 0; i < 30; ++i) {
    const auto job = a->fetch();
    ASSERT_TRUE(job);
    EXPECT_EQ(a->abandon(*job), Status::kOk);
  }
}

// Rules: S48.
TEST_F(Ownership, twelve_reboots_poison_nothing_and_a_hundred_do) {
  const InstanceKey instance = world_.schedule("a", "s");
  for (int i = 0; i < 100; ++i) {
    Worker a(world_);
    a.join("A");
    const auto job = a.fetch();
    ASSERT_TRUE(job) << i;
    world_.reboot(1'000);
    if (i == 11) {
      EXPECT_TRUE(world_.completions(instance).empty());
    }
  }
  Worker a(world_);
  a.join("A");
  EXPECT_FALSE(a.fetch());
  const auto messages = world_.completions(instance);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].error, ErrorKind::kPoison);
}

// Rules: S48.
TEST_F(Ownership, limits_are_never_summed) {
  const auto a = worker("A");
  world_.schedule("a");
  world_.execute("UPDATE worker_queue SET crashes=9,strikes=8,reboots=99");
  const auto job = a->fetch();
  ASSERT_TRUE(job);
  EXPECT_EQ(a->abandon(*job, 0, true), Status::kOk);
  EXPECT_TRUE(a->fetch());
}

// Rules: S49.
TEST_F(Ownership, what_crashed_runs_beside_nothing_that_crashed) {
  const auto a = worker("A");
  a->one_crashed_at_a_time = true;
  world_.schedule("a", {}, 3);
  world_.execute("UPDATE worker_queue SET crashes=1 WHERE event<=3");
  const auto first = a->fetch();
  ASSERT_TRUE(first);
  a->running.push_back(*first);
  const auto second = a->fetch();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->item.crashes, 0);
  EXPECT_FALSE(a->fetch());
  a->running.clear();
  EXPECT_TRUE(a->fetch());
}

// Rules: S50.
TEST_F(Ownership, a_crashed_turn_is_counted_on_its_instance) {
  const auto a = worker("A");
  const auto b = worker("B");
  const InstanceKey instance = world_.schedule("a");
  b->bury(a->me(), {{instance, 0}});
  EXPECT_EQ(world_.number("SELECT crashes FROM instances WHERE key=?1", {instance}), 1);
}

// ---- damaged rows ----

TEST_F(Ownership, a_damaged_event_fails_its_activity_and_blocks_no_other) {
  const auto a = worker("A");
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
    const auto job = a->fetch();
    ASSERT_TRUE(job);
    EXPECT_EQ(job->item.instance, instance + 1);
    EXPECT_EQ(a->ack(*job), Status::kOk);
    EXPECT_EQ(world_.number("SELECT error FROM orchestrator_queue WHERE instance=?1", {instance}),
              static_cast<std::int64_t>(ErrorKind::kCorrupt));
  }
}

}  // namespace
}  // namespace pawl::test
