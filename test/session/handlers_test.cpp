// Activities that a worker has no handler for: they wait for a worker that has one, and are in the
// way of no other.
#include <gtest/gtest.h>

#include "session_world.hpp"

namespace pawl::test {
namespace {

class Handlers : public ::testing::Test {
 protected:
  std::unique_ptr<Worker> worker_with(std::string_view node, std::set<std::string> names) {
    auto one = std::make_unique<Worker>(world_);
    one->handlers = std::move(names);
    one->join(node);
    return one;
  }
  std::int64_t count_of(const char* column) { return world_.sum("worker_queue", column); }

  World world_;
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
    const Job job = b->take();
    EXPECT_EQ(job.item.attempt, 1);
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
  a->declared("bed");
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
  b->declared("bed", true);
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
  a->run_one("s");
  world_.schedule("b", "s");
  EXPECT_FALSE(a->fetch());
  EXPECT_TRUE(a->logged("released s@2 no_handler"));
  EXPECT_FALSE(a->fetch());  // and does not claim the session back
  EXPECT_TRUE(b->fetch());
  EXPECT_EQ(count_of("strikes"), 0);
}

TEST_F(Handlers, a_session_is_not_let_go_under_what_runs) {
  const auto a = worker_with("A", {"a"});
  const auto b = worker_with("B", {"b"});
  world_.schedule("a", "s");
  const Job running = a->take();
  a->running.push_back(running);
  world_.schedule("b", "s");
  world_.schedule("a", "s");
  const Job beside = a->take();  // the item without a handler backs off, other work goes on
  a->acked(beside);
  for (int i = 0; i < 8; ++i) {
    world_.pass(61'000);
    a->wake();
    EXPECT_FALSE(a->fetch());
  }
  // The session has waited long enough: none of its work starts any more, so that it drains.
  world_.schedule("a", "s");
  EXPECT_FALSE(a->fetch());
  a->acked(running);
  a->running.clear();
  EXPECT_FALSE(a->fetch());
  EXPECT_TRUE(a->logged("released s@2 no_handler"));
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
  EXPECT_EQ(b->take().activity, "b");
}

TEST_F(Handlers, an_item_that_becomes_ready_behind_a_pass_is_found) {
  const auto a = worker_with("A", {"a"});
  const auto b = worker_with("B", {"b"});
  world_.schedule("b", {}, 6);
  world_.schedule("a");
  a->take();
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

}  // namespace
}  // namespace pawl::test
