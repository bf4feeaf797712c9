// Which worker gets an activity with a tag, and how tags work together with sessions, names and
// many items of foreign tags. The tests named test_* are the validations of tags in
// docs/model/storage.md.
#include <gtest/gtest.h>

#include "session_world.hpp"

namespace pawl::test {
namespace {

class Tags : public ::testing::Test {
 protected:
  // Each worker gets its own filter. The instance of an activity identifies it.
  void join(Worker& worker, std::string_view node, const TagFilter& filter) {
    worker.tags = filter;
    worker.join(node);
  }
  InstanceKey tagged(std::string_view tag, std::string_view session = {},
                     std::string_view policy = {}) {
    return world_.schedule("a", session, 1, policy, tag);
  }
  // Fetches all that the worker gets and returns the tags in order, "-" for none.
  std::string taken(Worker& worker) {
    std::string all;
    while (const auto job = worker.fetch())
      all += (all.empty() ? "" : " ") + (job->tag.empty() ? "-" : job->tag);
    return all;
  }
  void schedule_three() {
    tagged("");
    tagged("gpu");
    tagged("radio");
  }

  World world_;
  Worker a_{world_};
  Worker b_{world_};
};

// ---- filters ----

TEST_F(Tags, test_default_only_fetches_untagged) {
  join(a_, "A", TagFilter::default_only());
  schedule_three();
  EXPECT_EQ(taken(a_), "-");
}

TEST_F(Tags, test_tags_fetches_only_matching) {
  join(a_, "A", TagFilter::tags({"gpu"}));
  schedule_three();
  EXPECT_EQ(taken(a_), "gpu");
}

TEST_F(Tags, test_default_and_fetches_untagged_and_matching) {
  join(a_, "A", TagFilter::default_and({"radio"}));
  schedule_three();
  EXPECT_EQ(taken(a_), "- radio");
}

TEST_F(Tags, test_none_filter_returns_nothing) {
  join(a_, "A", TagFilter::none());
  schedule_three();
  tagged("", "s");
  EXPECT_EQ(taken(a_), "");
}

// Items are handed over in the order of their commits, whatever their tags are.
TEST_F(Tags, test_multi_tag_filter) {
  join(a_, "A", TagFilter::tags({"e", "d", "c", "b", "a"}));
  for (const char* tag : {"c", "x", "a", "", "b", "e", "d", "a"})
    tagged(tag);
  EXPECT_EQ(taken(a_), "c a b e d a");
}

TEST_F(Tags, test_tag_round_trip_preservation) {
  const std::string longest(256, 't');
  join(a_, "A", TagFilter::tags({longest, "\"ü\\"}));
  tagged(longest);
  tagged("\"ü\\");
  EXPECT_EQ(taken(a_), longest + " \"ü\\");
}

TEST_F(Tags, test_any_filter_fetches_everything) {
  join(a_, "A", TagFilter::any());
  tagged("radio");
  tagged("");
  tagged("gpu");
  tagged("x", "s");
  EXPECT_EQ(taken(a_), "radio - gpu x");
}

// ---- from hand-over to hand-over ----

TEST_F(Tags, test_tag_survives_abandon_and_refetch) {
  join(a_, "A", TagFilter::tags({"gpu"}));
  join(b_, "B", TagFilter::default_only());
  tagged("gpu");
  const Job job = a_.take();
  a_.abandoned(job, 5);
  world_.pass(5);
  b_.wake();
  EXPECT_FALSE(b_.fetch());
  EXPECT_EQ(taken(a_), "gpu");
}

TEST_F(Tags, test_multi_runtime_tag_isolation) {
  join(a_, "A", TagFilter::tags({"gpu"}));
  join(b_, "B", TagFilter::default_and({"radio"}));
  schedule_three();
  schedule_three();
  EXPECT_EQ(taken(a_), "gpu gpu");
  EXPECT_EQ(taken(b_), "- radio - radio");
}

TEST_F(Tags, test_tag_preserved_through_ack_orchestration_item) {
  join(a_, "A", TagFilter::any());
  const InstanceKey instance = tagged("gpu");
  EXPECT_EQ(world_.text("SELECT tag FROM worker_queue"), "gpu");
  EXPECT_EQ(world_.text("SELECT json_extract(meta,'$.tag') FROM history WHERE id=2"), "gpu");
  const Job job = a_.take();
  EXPECT_EQ(job.tag, "gpu");
  a_.acked(job);
  EXPECT_EQ(world_.completions(instance).size(), 1U);
}

// A worker that dies during a tagged activity leaves it to the next worker of that tag.
TEST_F(Tags, survives_the_death_of_its_worker) {
  join(a_, "A", TagFilter::tags({"gpu"}));
  tagged("gpu");
  a_.take();
  a_.kill();
  Worker heir(world_);
  join(heir, "A", TagFilter::tags({"gpu"}));
  EXPECT_EQ(taken(heir), "gpu");
}

// ---- sessions ----

// An owner takes those items of its session that its filter allows. When none is left, the session
// moves.
TEST_F(Tags, session_moves_to_who_serves_the_tag) {
  join(a_, "A", TagFilter::default_only());
  join(b_, "B", TagFilter::default_and({"gpu"}));
  tagged("", "s");
  const Job first = a_.take();
  tagged("gpu", "s");
  tagged("", "s");
  const Job second = a_.take();
  EXPECT_EQ(second.tag, "");
  EXPECT_FALSE(b_.fetch()) << "A runs the session";
  a_.acked(first);
  a_.acked(second);
  world_.pass(60'000);
  a_.wake();
  EXPECT_FALSE(a_.fetch());
  const Job job = b_.take();
  EXPECT_EQ(job.tag, "gpu");
  EXPECT_EQ(world_.session_number("owner", "s"), b_.me());
}

TEST_F(Tags, session_of_a_foreign_tag_is_not_claimed) {
  join(a_, "A", TagFilter::default_only());
  join(b_, "B", TagFilter::tags({"gpu"}));
  tagged("gpu", "s");
  EXPECT_FALSE(a_.fetch());
  EXPECT_EQ(taken(b_), "gpu");
}

// ---- names ----

// Only a worker that has both the name and the tag counts as one that could take it.
TEST_F(Tags, unregistered_counts_the_tag) {
  a_.handlers = {"b"};
  join(a_, "A", TagFilter::any());
  join(b_, "B", TagFilter::default_only());
  tagged("gpu");
  EXPECT_FALSE(a_.fetch());
  EXPECT_EQ(a_.events, std::vector<std::string>{"unregistered a tagged gpu"});
  EXPECT_EQ(world_.number("SELECT state FROM worker_queue"), 2);
  Worker c(world_);
  join(c, "C", TagFilter::tags({"gpu"}));
  world_.pass(1'000);
  c.wake();
  EXPECT_EQ(taken(c), "gpu");
}

TEST_F(Tags, a_buried_worker_serves_no_tag) {
  join(a_, "A", TagFilter::tags({"gpu"}));
  EXPECT_EQ(world_.rows("worker_tags"), 1);
  join(b_, "B", TagFilter::default_and({"x"}));
  EXPECT_EQ(world_.rows("worker_tags"), 3);
  b_.bury(a_.me());
  EXPECT_EQ(world_.rows("worker_tags"), 2);
  b_.leave();
  EXPECT_EQ(world_.rows("worker_tags"), 0);
}

// ---- work that no worker takes ----

// The item is ended by a worker that could not take it.
TEST_F(Tags, expires_if_the_tag_is_unserved) {
  join(a_, "A", TagFilter::none());
  const InstanceKey instance = tagged("gpu", "", "schedule_to_start_ms=5000");
  const InstanceKey of_session = tagged("gpu", "s", "schedule_to_start_ms=5000");
  world_.pass(4'999);
  a_.wake();
  EXPECT_EQ(world_.rows("worker_queue"), 2);
  world_.pass(1);
  a_.wake();
  EXPECT_EQ(world_.rows("worker_queue"), 0);
  for (const InstanceKey key : {instance, of_session}) {
    const Message ended = world_.completion(key);
    EXPECT_EQ(ended.error, ErrorKind::kNotStarted);
    EXPECT_EQ(ended.payload,
              "schedule_to_start (5000 ms) passed: no worker took it; its tag is \"gpu\"");
  }
}

// An item also expires while it backs off because no worker has its name.
TEST_F(Tags, expires_while_unregistered) {
  a_.handlers = {"b"};
  join(a_, "A", TagFilter::any());
  const InstanceKey instance = tagged("", "", "schedule_to_start_ms=5000");
  EXPECT_FALSE(a_.fetch());
  EXPECT_EQ(world_.number("SELECT state FROM worker_queue"), 2);
  world_.pass(5'000);
  a_.wake();
  EXPECT_EQ(world_.completion(instance).error, ErrorKind::kNotStarted);
}

// After one hand-over the item cannot expire: what follows are further attempts.
TEST_F(Tags, does_not_expire_once_it_was_taken) {
  join(a_, "A", TagFilter::tags({"gpu"}));
  const InstanceKey instance = tagged("gpu", "", "schedule_to_start_ms=5000");
  const Job job = a_.take();
  a_.abandoned(job);
  world_.pass(10'000);
  a_.wake();
  EXPECT_TRUE(world_.completions(instance).empty());
  EXPECT_EQ(taken(a_), "gpu");
}

}  // namespace
}  // namespace pawl::test
