// How the storage keeps an activity's policy: attempts and limits are in the item's row, and only
// the outcome reaches the instance.
#include <gtest/gtest.h>

#include "session_world.hpp"

namespace pawl::test {
namespace {

class WorkPolicy : public ::testing::Test {
 protected:
  Status fail(const Job& job, std::string_view text, bool permanent = false) {
    const WorkResult result = {ErrorKind::kApplication, text, permanent};
    return a_.batch(
        [&](Store& store) { return store.work().items.ack_work_item(job.done(), result); });
  }
  OptionalMs next_due() {
    NextDue due;
    EXPECT_EQ(a_.store().due().next_due(a_.me(), false, &due), Status::kOk);
    return due.pawl_time;
  }

  World world_;
  Worker a_{world_, "A"};
};

constexpr char kThree[] = "attempts=3,backoff=1,base_ms=500";

TEST_F(WorkPolicy, a_failed_attempt_waits_in_its_row) {
  const InstanceKey instance = world_.schedule("a", {}, 1, kThree);
  const Job first = a_.take();
  EXPECT_EQ(first.item.retry_attempt, 1);
  EXPECT_TRUE(first.item.may_retry);
  ASSERT_EQ(fail(first, "bus"), Status::kOk);
  EXPECT_EQ(a_.check(first), Status::kStale);
  EXPECT_EQ(world_.text("SELECT last_error FROM worker_queue"), "bus");
  EXPECT_EQ(world_.number("SELECT failures FROM worker_queue"), 1);
  EXPECT_EQ(world_.number("SELECT strikes FROM worker_queue"), 0);
  EXPECT_EQ(world_.number("SELECT due FROM worker_queue"), world_.now() + 500);
  EXPECT_EQ(next_due(), world_.now() + 500);
  EXPECT_TRUE(world_.completions(instance).empty());
  world_.pass(499);
  a_.wake();
  EXPECT_FALSE(a_.fetch());
  world_.pass(1);
  a_.wake();
  const Job second = a_.take();
  EXPECT_EQ(second.item.retry_attempt, 2);
}

TEST_F(WorkPolicy, the_last_failure_is_the_outcome) {
  const InstanceKey instance = world_.schedule("a", {}, 1, "attempts=2,backoff=0");
  ASSERT_EQ(fail(a_.take(), "one"), Status::kOk);
  const Job last = a_.take();
  EXPECT_FALSE(last.item.may_retry);
  ASSERT_EQ(fail(last, "two"), Status::kOk);
  const Message ended = world_.completion(instance);
  EXPECT_EQ(ended.error, ErrorKind::kApplication);
  EXPECT_EQ(ended.payload, "two");
  EXPECT_EQ(world_.rows("worker_queue"), 0);
}

TEST_F(WorkPolicy, a_permanent_failure_is_the_outcome) {
  const InstanceKey instance = world_.schedule("a", {}, 1, kThree);
  ASSERT_EQ(fail(a_.take(), "never", true), Status::kOk);
  EXPECT_EQ(world_.completions(instance).size(), 1U);
}

TEST_F(WorkPolicy, a_hand_over_without_result_counts_no_failure) {
  world_.schedule("a", {}, 1, kThree);
  a_.abandoned(a_.take());
  const Job again = a_.take();
  EXPECT_EQ(again.item.attempt, 2);
  EXPECT_EQ(again.item.retry_attempt, 1);
}

TEST_F(WorkPolicy, an_attempt_past_its_limit_is_refused) {
  world_.schedule("a", {}, 1, "attempts=2,backoff=0,start_to_close_ms=1000");
  EXPECT_EQ(next_due(), OptionalMs());  // the limit starts at the hand-over
  const Job job = a_.take();
  EXPECT_EQ(job.item.deadline, world_.now() + 1'000);
  EXPECT_EQ(next_due(), world_.now() + 1'000);
  world_.pass(999);
  EXPECT_EQ(a_.wake(), 0U);
  EXPECT_EQ(a_.check(job), Status::kOk);
  world_.pass(1);
  EXPECT_EQ(a_.wake(), 1U);
  EXPECT_EQ(a_.ack(job), Status::kStale);
  EXPECT_EQ(world_.text("SELECT last_error FROM worker_queue"), "start_to_close (1000 ms) passed");
  EXPECT_EQ(next_due(), OptionalMs());
  a_.take();
}

TEST_F(WorkPolicy, a_lost_lock_ends_the_limit_of_its_attempt) {
  world_.schedule("a", {}, 1, "start_to_close_ms=1000");
  a_.abandoned(a_.take());
  EXPECT_EQ(next_due(), OptionalMs());
}

TEST_F(WorkPolicy, what_no_worker_takes_ends_once) {
  const InstanceKey instance = world_.schedule("a", "s", 1, "schedule_to_start_ms=1000");
  world_.pass(1'000);
  EXPECT_EQ(a_.wake(), 1U);
  EXPECT_EQ(a_.wake(), 0U);
  EXPECT_FALSE(a_.fetch());
  EXPECT_EQ(world_.completion(instance).error, ErrorKind::kNotStarted);
}

TEST_F(WorkPolicy, what_is_overdue_ends_before_it_is_handed_over_again) {
  world_.schedule("a", {}, 1, "attempts=9,backoff=1,base_ms=500,schedule_to_close_ms=500");
  ASSERT_EQ(fail(a_.take(), "bus"), Status::kOk);
  world_.pass(500);
  EXPECT_EQ(a_.wake(), 1U);
  EXPECT_EQ(world_.rows("worker_queue"), 0);
}

TEST_F(WorkPolicy, an_exclusive_session_waits_for_what_goes_on) {
  const InstanceKey instance = world_.schedule("a", "s", 2, "start_to_close_ms=1000");
  world_.execute("UPDATE sessions SET excl=1");
  const Job job = a_.take();
  a_.running.push_back(job);
  world_.pass(1'000);
  EXPECT_EQ(a_.wake(), 1U);
  EXPECT_EQ(world_.completions(instance).size(), 1U);
  EXPECT_EQ(a_.check(job), Status::kNotFound);
  EXPECT_FALSE(a_.fetch());
  a_.running.clear();
  EXPECT_EQ(a_.ack(job), Status::kOk);  // the end of the execution is accepted, not its result
  EXPECT_TRUE(world_.completions(instance).empty());
  EXPECT_TRUE(a_.fetch());
}

}  // namespace
}  // namespace pawl::test
