// Goal: activities with tags run at the workers that serve the tag. Method: whole runtimes, with
// workers of different kinds on one database.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "pawl/visit.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using std::chrono::milliseconds;
using testing::GatewayTest;
using testing::Worker;

int g_failures = 0;

// Returns its worker and its tag.
ActivityResult work(ActivityContext& ctx) {
  if (ctx.retry_attempt() <= g_failures) return ctx.fail("not yet");
  return ctx.ok(std::string(ctx.worker_id()) + "/" + std::string(ctx.tag()));
}

ActivityOptions tagged(std::string_view tag) {
  ActivityOptions options;
  options.tag = tag;
  return options;
}

std::string text_of(const Outcome& outcome) {
  if (outcome.ok()) return std::string(outcome.value());
  return error_kind_name(outcome.error().kind);
}

Poll three(OrchestrationContext& ctx) {
  const Handle plain = ctx.schedule_activity("work", "");
  const Handle gpu = ctx.schedule_activity("work", "", tagged("gpu"));
  const Handle radio = ctx.schedule_activity("work", "", tagged("radio"));
  PAWL_AWAIT_DONE(ctx.join(plain, gpu, radio));
  PAWL_AWAIT(a, plain);
  PAWL_AWAIT(b, gpu);
  PAWL_AWAIT(c, radio);
  return ctx.complete(text_of(a) + " " + text_of(b) + " " + text_of(c));
}

// A tagged activity with a session, retries and a limit, in a select against a timer.
Poll composed(OrchestrationContext& ctx) {
  ActivityOptions options = tagged("gpu");
  options.target = Target::session("s");
  options.retry.max_attempts = 3;
  const Handle work = ctx.schedule_activity("work", "", options);
  const Handle timer = ctx.schedule_timer(std::chrono::hours(1));
  PAWL_AWAIT(won, ctx.select(work, timer));
  return ctx.complete(std::to_string(won.index()) + " " + text_of(won));
}

Poll starves(OrchestrationContext& ctx) {
  ActivityOptions options = tagged("nobody");
  options.schedule_to_start = std::chrono::seconds(30);
  PAWL_AWAIT(done, ctx.schedule_activity("work", "", options));
  PAWL_AWAIT(after, ctx.schedule_activity("work", ""));
  return ctx.complete(text_of(done) + " " + text_of(after));
}

Poll gives_up(OrchestrationContext& ctx) {
  const Handle work = ctx.schedule_activity("work", "", tagged("nobody"));
  PAWL_AWAIT(won, ctx.select(work, ctx.schedule_timer(milliseconds(5'000))));
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(5'000)));
  return ctx.complete(std::to_string(won.index()));
}

Poll bad(OrchestrationContext& ctx) {
  PAWL_AWAIT(control, ctx.schedule_activity("work", "", tagged("a\nb")));
  const std::string longer(257, 'x');
  PAWL_AWAIT(too_long, ctx.schedule_activity("work", "", tagged(longer)));
  return ctx.complete(text_of(control) + " " + text_of(too_long));
}

class TagsTest : public GatewayTest {
 protected:
  void SetUp() override {
    g_failures = 0;
    add("three", three);
    add("composed", composed);
    add("starves", starves);
    add("gives_up", gives_up);
    add("bad", bad);
    add("work", work);
  }
  Options tagged(const char* node, const TagFilter& filter, bool orchestrates = false) {
    Options is = named(node);
    is.worker_tag_filter = filter;
    is.run_orchestrations = orchestrates;
    return is;
  }
};

TEST_F(TagsTest, heterogeneous_tagged_workers) {
  Worker& main = start_worker(tagged("main", TagFilter::default_only(), true));
  start_worker(tagged("gpu", TagFilter::tags({"gpu"})));
  start_worker(tagged("radio", TagFilter::tags({"radio"})));
  for (const char* id : {"a", "b", "c"})
    start_at(main, id, "three");
  for (const char* id : {"a", "b", "c"})
    EXPECT_EQ(end_of(id), "completed main/ gpu/gpu radio/radio");
}

TEST_F(TagsTest, dual_runtime_tags) {
  Worker& main = start_worker(tagged("main", TagFilter::default_and({"radio"}), true));
  Worker& gpu = start_worker(tagged("gpu", TagFilter::tags({"gpu"}), true));
  start_at(main, "a", "three");
  start_at(gpu, "b", "three");
  EXPECT_EQ(end_of("a"), "completed main/ gpu/gpu main/radio");
  EXPECT_EQ(end_of("b"), "completed main/ gpu/gpu main/radio");
}

// The only worker does not serve the tag; its tick ends the activity.
TEST_F(TagsTest, starvation_safe_tag_timeout) {
  Worker& main = start_worker(tagged("main", TagFilter::default_only(), true));
  start_at(main, "a", "starves");
  EXPECT_FALSE(ends("a", 29'000));
  EXPECT_EQ(end_of("a", 2'000), "completed not_started main/");
}

// No worker takes activities at all: a worker that only runs orchestrations, or nothing, ends the
// activity.
TEST_F(TagsTest, expires_without_any_worker_for_activities) {
  Worker& none = start_worker(tagged("none", TagFilter::none(), true));
  start_at(none, "a", "starves");
  pass(5'000);
  EXPECT_FALSE(ends("a"));
  Metrics metrics;
  ASSERT_EQ(client()->get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.activities_ready, 1) << "the second one, which has no limit";
  start_worker(tagged("main", TagFilter::default_only()));
  EXPECT_EQ(end_of("a"), "completed not_started main/");
}

// A worker with TagFilter::none() does not look for work again and again.
TEST_F(TagsTest, a_worker_of_no_tag_sleeps) {
  Worker& none = start_worker(tagged("none", TagFilter::none(), true));
  start_at(none, "a", "three");
  pass(10'000);
  const auto ticks = none.runtime->stats().ticks;
  pass(10'000);
  EXPECT_LE(none.runtime->stats().ticks, ticks + 3);
}

TEST_F(TagsTest, with_session_retries_and_select) {
  g_failures = 2;
  Worker& main = start_worker(tagged("main", TagFilter::default_only(), true));
  start_worker(tagged("gpu", TagFilter::default_and({"gpu"})));
  start_at(main, "a", "composed");
  EXPECT_EQ(end_of("a"), "completed 0 gpu/gpu");
}

// The loser of a select leaves the queue, also when no worker serves its tag.
TEST_F(TagsTest, cancelled_while_unserved) {
  Worker& main = start_worker(tagged("main", TagFilter::default_only(), true));
  start_at(main, "a", "gives_up");
  Metrics metrics;
  pass(2'000);
  ASSERT_EQ(client()->get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.activities_ready, 1);
  pass(5'000);
  ASSERT_EQ(client()->get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.activities_ready, 0);
  EXPECT_EQ(end_of("a"), "completed 1");
}

// The tag is in the history: a new worker continues with the same tag.
TEST_F(TagsTest, recovery_across_restart) {
  Worker& main = start_worker(tagged("main", TagFilter::default_only(), true));
  start_at(main, "a", "three");
  pass(2'000);
  main.kill();
  start_worker(tagged("main", TagFilter::any(), true));
  EXPECT_EQ(end_of("a"), "completed main/ main/gpu main/radio");
  std::string all;
  auto tags = visit([&](const HistoryEvent& event) {
    if (!event.tag.empty()) all += std::string(event.kind) + ":" + std::string(event.tag) + " ";
  });
  ASSERT_EQ(client()->read_history("a", 1, tags), Status::kOk);
  EXPECT_EQ(all, "activity:gpu activity:radio ");
}

TEST_F(TagsTest, a_bad_tag_is_an_error_at_the_await) {
  Worker& main = start_worker(tagged("main", TagFilter::default_only(), true));
  start_at(main, "a", "bad");
  EXPECT_EQ(end_of("a"), "completed invalid_argument invalid_argument");
}

TEST_F(TagsTest, the_filter_is_validated_at_start) {
  const std::string longest(256, 't');
  const std::string longer(257, 't');
  const auto checked = [&](const TagFilter& filter) {
    Worker worker(machine, registry, tagged("v", filter));
    const Status status = worker.start();
    return status == Status::kOk ? std::string("ok") : std::string(worker.diagnostic.text());
  };
  EXPECT_EQ(checked(TagFilter::tags({"a", "b", "c", "d", "e"})), "ok");
  EXPECT_EQ(checked(TagFilter::default_and({longest})), "ok");
  EXPECT_EQ(checked(TagFilter::tags({"a", "b", "c", "d", "e", "f"})),
            "worker_tag_filter has 6 tags; its mode needs 1..5");
  EXPECT_EQ(checked(TagFilter::default_and({})),
            "worker_tag_filter has 0 tags; its mode needs 1..5");
  EXPECT_EQ(
      checked(TagFilter::tags({"a", longer})),
      "worker_tag_filter: tag 2 has 257 bytes or a control character; 1..256 bytes are allowed");
  EXPECT_EQ(
      checked(TagFilter::tags({""})),
      "worker_tag_filter: tag 1 has 0 bytes or a control character; 1..256 bytes are allowed");
  EXPECT_EQ(checked(TagFilter::tags({"a", "b", "a"})),
            "worker_tag_filter: tags 1 and 3 are the same");
  TagFilter odd = TagFilter::any();
  odd.count = 1;
  EXPECT_EQ(checked(odd), "worker_tag_filter has 1 tags; its mode needs 0..0");
}

}  // namespace
}  // namespace pawl
