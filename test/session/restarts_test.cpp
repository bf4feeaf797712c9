// Processes that come and go under the name of a node: what is refused, what comes back to them,
// and what their ends count.
#include <gtest/gtest.h>

#include "session_world.hpp"

namespace pawl::test {
namespace {

class Restarts : public ::testing::Test {
 protected:
  std::int64_t count_of(const char* column) { return world_.sum("worker_queue", column); }

  World world_;
};

// ---- the name of a node ----

// Rules: S47.8.
TEST_F(Restarts, a_node_in_use_is_refused_with_its_process) {
  Worker a(world_, "A");
  Worker second(world_);
  EXPECT_EQ(second.try_join("A"), Status::kNodeIdInUse);
  const std::int64_t pid = world_.number("SELECT pid FROM workers WHERE inc=?1", {a.me()});
  EXPECT_NE(second.refusal().find(std::to_string(pid)), std::string::npos) << second.refusal();
  EXPECT_EQ(world_.rows("workers"), 1);
}

TEST_F(Restarts, an_ephemeral_worker_has_a_name_of_its_own_and_gets_nothing_back) {
  Worker a(world_);
  a.pid = 77;
  a.join("");
  world_.schedule("a", "s");
  a.take();
  a.kill();
  Worker again(world_);
  again.pid = 77;  // the kernel reuses the process id
  again.join("");
  EXPECT_EQ(world_.session_number("owner", "s"), a.me());
  EXPECT_EQ(world_.number("SELECT count(DISTINCT node) FROM workers"), 2);
}

// Rules: S47.7.
TEST_F(Restarts, without_provable_death_a_node_is_free_two_leases_after_its_end) {
  Worker a(world_, "A");
  Worker again(world_);
  again.node.set_locks_testable(false);
  EXPECT_EQ(again.try_join("A"), Status::kNodeIdInUse);
  world_.pass(kLease + 2 * kLease - 1);
  EXPECT_EQ(again.try_join("A"), Status::kNodeIdInUse);
  world_.pass(1);
  EXPECT_EQ(again.try_join("A"), Status::kOk);
  EXPECT_EQ(a.renew_self(), Status::kBuried);
}

TEST_F(Restarts, buried_rows_are_few) {
  for (int i = 0; i < 100; ++i) {
    Worker one(world_, "A");
    one.leave();
  }
  EXPECT_LE(world_.rows("workers"), 66);
  EXPECT_EQ(world_.rows("handlers"), 0);
}

// ---- reboots ----

TEST_F(Restarts, a_reboot_buries_the_earlier_boot_and_charges_no_crash) {
  Worker a(world_, "A");
  world_.schedule("a", "s");
  world_.schedule("a");
  const Job bound = a.take();
  a.take();
  world_.reboot(60'000);
  Worker again(world_, "A", {{0, bound.item.id}});
  EXPECT_EQ(world_.session_number("owner", "s"), again.me());
  EXPECT_TRUE(again.logged("resumed s@2 by A"));
  EXPECT_EQ(count_of("reboots"), 2);
  EXPECT_EQ(count_of("crashes") + count_of("strikes"), 0);
  EXPECT_TRUE(again.fetch());
  EXPECT_TRUE(again.fetch());
}

// Rules: T7.
TEST_F(Restarts, a_held_lock_of_an_earlier_boot_is_refused) {
  Worker a(world_, "A");
  world_.execute("UPDATE workers SET boot_seq=boot_seq-1");
  Worker b(world_);
  EXPECT_EQ(b.try_join("B"), Status::kForeignBoot);
  EXPECT_NE(b.refusal().find("earlier boot"), std::string::npos) << b.refusal();
  EXPECT_EQ(world_.rows("workers"), 1);
}

// ---- counts of crashes and reboots ----

// Rules: S48.
TEST_F(Restarts, ten_crashes_poison) {
  const InstanceKey instance = world_.schedule("a", "s");
  WorkItemId item = 0;
  Worker* last = nullptr;
  std::vector<std::unique_ptr<Worker>> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(std::make_unique<Worker>(
        world_, "A", item == 0 ? std::vector<CrashNote>() : std::vector<CrashNote>{{0, item}}));
    last = all.back().get();
    const Job job = last->take();
    EXPECT_EQ(job.item.crashes, i);
    item = job.item.id;
    last->kill();
  }
  Worker again(world_, "A", {{0, item}});
  EXPECT_TRUE(again.logged("poison"));
  EXPECT_FALSE(again.fetch());
  const Message ended = world_.completion(instance);
  EXPECT_EQ(ended.error, ErrorKind::kPoison);
  EXPECT_NE(ended.payload.find("10 times (limit 10)"), std::string::npos) << ended.payload;
}

// Rules: S48.
TEST_F(Restarts, twelve_reboots_poison_nothing_and_a_hundred_do) {
  const InstanceKey instance = world_.schedule("a", "s");
  for (int i = 0; i < 100; ++i) {
    Worker a(world_, "A");
    a.take();
    world_.reboot(1'000);
    if (i == 11) {
      EXPECT_TRUE(world_.completions(instance).empty());
    }
  }
  Worker a(world_, "A");
  EXPECT_FALSE(a.fetch());
  EXPECT_EQ(world_.completion(instance).error, ErrorKind::kPoison);
}

}  // namespace
}  // namespace pawl::test
