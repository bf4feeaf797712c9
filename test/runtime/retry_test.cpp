// Goal: retries and limits of activities work through whole runtimes. Method: time is simulated, so
// the expected times are exact.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using std::chrono::milliseconds;
using testing::Gateway;
using testing::GatewayTest;
using testing::Worker;

struct Attempt {
  std::int64_t at;
  std::int64_t retry_attempt;
  std::int64_t attempt;
  std::string worker;
};

Gateway* g_gateway = nullptr;
ActivityOptions g_options;
std::vector<Attempt> g_runs;
int g_failures = 0;  // number of first attempts that fail
bool g_cancelled_count = false;

void note(ActivityContext& ctx) {
  g_runs.push_back({g_gateway->machine.boot_ms(), ctx.retry_attempt(), ctx.attempt(),
                    std::string(ctx.worker_id())});
}

ActivityResult flaky(ActivityContext& ctx) {
  note(ctx);
  if (ctx.retry_attempt() <= g_failures)
    return ctx.fail("bus " + std::to_string(ctx.retry_attempt()));
  return ctx.ok(std::to_string(ctx.retry_attempt()));
}

ActivityResult hopeless(ActivityContext& ctx) {
  note(ctx);
  return ctx.fail_permanently("no such valve");
}

ActivityResult too_long(ActivityContext& ctx) {
  note(ctx);
  static const std::string kLong(70'000, 'x');
  return ctx.ok(kLong);
}

// Blocks a pool thread for ten seconds in the attempts that fail, while the loop runs.
ActivityResult slow(ActivityContext& ctx) {
  note(ctx);
  if (ctx.retry_attempt() > g_failures) return ctx.ok("in time");
  for (int i = 0; i < 10; ++i) {
    g_gateway->machine.advance(1'000);
    g_gateway->tick_all();
  }
  g_cancelled_count = ctx.is_cancelled();
  return ctx.ok("late");
}

// Blocks the loop, as an inline activity.
ActivityResult blocking(ActivityContext& ctx) {
  note(ctx);
  g_gateway->machine.advance(10'000);
  return ctx.ok("late");
}

std::string text_of(const Outcome& outcome) {
  if (outcome.ok()) return std::string(outcome.value());
  return error_kind_name(outcome.error().kind) + (": " + std::string(outcome.error().text));
}

Poll one(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), "{}", g_options));
  return ctx.complete(text_of(done));
}

Poll both(OrchestrationContext& ctx) {
  const Handle a = ctx.schedule_activity("flaky", "{}", g_options);
  const Handle b = ctx.schedule_activity("hopeless", "{}", g_options);
  PAWL_AWAIT_DONE(ctx.join(a, b));
  PAWL_AWAIT(first, a);
  PAWL_AWAIT(second, b);
  return ctx.complete(text_of(first) + ", " + text_of(second));
}

Poll first_of(OrchestrationContext& ctx) {
  const Handle retrying = ctx.schedule_activity("flaky", "{}", g_options);
  const Handle timer = ctx.schedule_timer(milliseconds(2'500));
  PAWL_AWAIT(won, ctx.select(timer, retrying));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete(std::to_string(won.index()) + text_of(won));
}

class RetryTest : public GatewayTest {
 protected:
  void SetUp() override {
    g_gateway = this;
    g_options = ActivityOptions();
    g_runs.clear();
    g_failures = 0;
    g_cancelled_count = false;
    add("one", one);
    add("both", both);
    add("first_of", first_of);
    add("flaky", flaky);
    add("hopeless", hopeless);
    add("too_long", too_long);
    add("blocking", blocking);
    add("slow", slow, ActivityMode::kThreaded);
  }
  // Runs the orchestration at one worker.
  std::string run_alone(const char* orchestration, const char* input = "flaky") {
    const Worker& worker = start_worker();
    start("a", orchestration, input);
    std::string end = end_of("a", 4'000'000);
    stats = worker.runtime->stats();
    return end;
  }
  [[nodiscard]] static std::vector<std::int64_t> gaps() {
    std::vector<std::int64_t> out;
    for (std::size_t i = 1; i < g_runs.size(); ++i)
      out.push_back(g_runs[i].at - g_runs[i - 1].at);
    return out;
  }

  RuntimeStats stats;
};

using Gaps = std::vector<std::int64_t>;

TEST_F(RetryTest, attempts_come_after_their_pauses_and_write_no_history) {
  g_failures = 3;
  g_options.retry = {5, Backoff::kExponential, std::chrono::seconds(1), std::chrono::seconds(3), 0};
  EXPECT_EQ(run_alone("one"), "completed 4");
  EXPECT_EQ(gaps(), (Gaps{1'000, 2'000, 3'000}));
  EXPECT_EQ(stats.turns, 2U);
  EXPECT_EQ(stats.activities_retried, 3U);
  EXPECT_EQ(stats.activities_completed, 1U);
}

TEST_F(RetryTest, without_pause_the_next_attempt_is_at_once) {
  g_failures = 2;
  g_options.retry = {3, Backoff::kNone, std::chrono::milliseconds(0), std::chrono::milliseconds(0),
                     0};
  EXPECT_EQ(run_alone("one"), "completed 3");
  EXPECT_EQ(gaps(), (Gaps{0, 0}));
}

TEST_F(RetryTest, the_last_error_is_the_outcome) {
  g_failures = 9;
  g_options.retry = {3, Backoff::kLinear, std::chrono::milliseconds(100), std::chrono::seconds(1),
                     0};
  EXPECT_EQ(run_alone("one"), "completed application: bus 3");
  EXPECT_EQ(gaps(), (Gaps{100, 200}));
}

TEST_F(RetryTest, a_permanent_failure_ends_it) {
  g_options.retry.max_attempts = 5;
  EXPECT_EQ(run_alone("one", "hopeless"), "completed application: no such valve");
  EXPECT_EQ(g_runs.size(), 1U);
  EXPECT_EQ(stats.activities_retried, 0U);
}

TEST_F(RetryTest, a_result_that_is_too_long_stays_so) {
  g_options.retry.max_attempts = 5;
  EXPECT_EQ(run_alone("one", "too_long").substr(0, 16), "completed limit:");
  EXPECT_EQ(g_runs.size(), 1U);
}

TEST_F(RetryTest, joins_like_any_other_handle) {
  g_failures = 2;
  g_options.retry = {5, Backoff::kFixed, std::chrono::milliseconds(700),
                     std::chrono::milliseconds(700), 0};
  EXPECT_EQ(run_alone("both"), "completed 3, application: no such valve");
}

TEST_F(RetryTest, loses_a_select_between_two_attempts) {
  g_failures = 1'000;
  g_options.retry = {1'000, Backoff::kFixed, std::chrono::seconds(1), std::chrono::seconds(1), 0};
  EXPECT_EQ(run_alone("first_of"), "completed 0");
  EXPECT_EQ(g_runs.size(), 3U);  // at 0, 1 and 2 s, and never again
}

TEST_F(RetryTest, wins_a_select_by_its_outcome) {
  g_failures = 1;
  g_options.retry = {5, Backoff::kFixed, std::chrono::seconds(1), std::chrono::seconds(1), 0};
  EXPECT_EQ(run_alone("first_of"), "completed 12");
}

TEST_F(RetryTest, a_kill_between_two_attempts_changes_neither_count_nor_time) {
  g_failures = 2;
  g_options.retry = {5, Backoff::kFixed, std::chrono::seconds(60), std::chrono::seconds(60), 0};
  Worker& first = start_worker("node");
  start("a", "one", "flaky");
  ASSERT_TRUE(drive_until([&] { return first.runtime->stats().activities_retried == 1; }));
  first.kill();
  machine.advance(20'000);
  Worker& second = start_worker("node");
  EXPECT_EQ(end_of("a", 600'000), "completed 3");
  EXPECT_EQ(gaps(), (Gaps{60'000, 60'000}));
  EXPECT_EQ(g_runs[2].attempt, 3);
  // The former process confirmed the clock of this boot, so no tick has to look out for it.
  EXPECT_LT(second.runtime->stats().ticks, 100U);
}

TEST_F(RetryTest, a_kill_during_an_attempt_is_a_hand_over_and_no_failure) {
  g_options.retry = {2, Backoff::kFixed, std::chrono::seconds(1), std::chrono::seconds(1), 0};
  Registry& threaded = another_registry();
  ASSERT_EQ(threaded.add_orchestration("one", one), Status::kOk);
  ASSERT_EQ(threaded.add_activity("flaky", flaky, ActivityMode::kThreaded), Status::kOk);
  Worker& first = start_worker(threaded, named("node"));
  start("a", "one", "flaky");
  tick_until_it_works({&first});
  first.kill();  // before its thread ran
  start_worker("node");
  ASSERT_TRUE(ends("a"));
  ASSERT_EQ(g_runs.size(), 1U);
  EXPECT_EQ(g_runs[0].attempt, 2);
  EXPECT_EQ(g_runs[0].retry_attempt, 1);
}

TEST_F(RetryTest, stays_on_the_owner_of_its_session) {
  g_failures = 8;
  g_options.target = Target::session("bed-1");
  g_options.retry = {9, Backoff::kFixed, std::chrono::seconds(400), std::chrono::seconds(400),
                     0};  // longer than a session may idle
  Worker& a = start_worker("a");
  start("a", "one", "flaky");
  ASSERT_TRUE(drive_until([] { return g_runs.size() == 1; }));
  // From now on the other worker always looks first.
  Worker& b = start_worker("b");
  ASSERT_TRUE(ends({&b, &a}, "a", 4'000'000));
  EXPECT_EQ(outcome_of("a"), "completed 9");
  for (const Attempt& one : g_runs)
    EXPECT_EQ(one.worker, "a");
  EXPECT_EQ(gaps(), Gaps(8, 400'000));
}

TEST_F(RetryTest, an_attempt_past_its_limit_is_reported_refused_and_repeated) {
  g_failures = 1;
  g_options.start_to_close = std::chrono::seconds(5);
  g_options.retry = {2, Backoff::kFixed, std::chrono::seconds(20), std::chrono::seconds(20), 0};
  EXPECT_EQ(run_alone("one", "slow"), "completed in time");
  EXPECT_TRUE(g_cancelled_count);
  EXPECT_EQ(gaps(), (Gaps{25'000}));
  EXPECT_EQ(stats.activities_refused, 1U);
  EXPECT_EQ(stats.activities_completed, 1U);
}

TEST_F(RetryTest, the_last_attempt_past_its_limit_is_a_timeout) {
  g_failures = 1;
  g_options.start_to_close = std::chrono::seconds(5);
  EXPECT_EQ(run_alone("one", "slow"), "completed timeout: start_to_close (5000 ms) passed");
}

TEST_F(RetryTest, an_inline_activity_past_its_limit_is_refused_too) {
  g_options.start_to_close = std::chrono::seconds(5);
  EXPECT_EQ(run_alone("one", "blocking"), "completed timeout: start_to_close (5000 ms) passed");
  EXPECT_EQ(stats.activities_refused, 1U);
}

TEST_F(RetryTest, all_attempts_together_have_a_limit) {
  g_failures = 100;
  g_options.schedule_to_close = std::chrono::milliseconds(2'500);
  g_options.retry = {100, Backoff::kFixed, std::chrono::seconds(1), std::chrono::seconds(1), 0};
  const std::int64_t begin = machine.boot_ms();
  EXPECT_EQ(run_alone("one"),
            "completed timeout: schedule_to_close (2500 ms) passed; the last error was: bus 3");
  EXPECT_EQ(g_runs.size(), 3U);
  EXPECT_EQ(machine.boot_ms() - begin, 2'500);
}

TEST_F(RetryTest, what_no_worker_takes_ends_by_its_limit) {
  testing::expect_errors("activity_unregistered");
  g_options.schedule_to_start = std::chrono::seconds(90);
  const std::int64_t begin = machine.boot_ms();
  EXPECT_EQ(run_alone("one", "nobody_has_it"),
            "completed not_started: schedule_to_start (90000 ms) passed: no worker took it");
  EXPECT_EQ(machine.boot_ms() - begin, 90'000);
}

TEST_F(RetryTest, what_was_taken_in_time_may_run_on) {
  g_failures = 3;
  g_options.schedule_to_start = std::chrono::milliseconds(500);
  g_options.retry = {5, Backoff::kFixed, std::chrono::seconds(1), std::chrono::seconds(1), 0};
  EXPECT_EQ(run_alone("one"), "completed 4");
}

TEST_F(RetryTest, another_worker_ends_what_a_frozen_one_holds) {
  g_failures = 1'000;
  g_options.start_to_close = std::chrono::seconds(5);
  Worker& frozen = start_worker("a");
  start("a", "one", "slow");
  tick_until_it_works({&frozen});
  Worker& other = start_worker("b");
  ASSERT_TRUE(ends({&other}, "a"));
  EXPECT_EQ(outcome_of("a"), "completed timeout: start_to_close (5000 ms) passed");
  g_failures = 0;
  ASSERT_TRUE(drive_until([&] { return frozen.runtime->stats().activities_refused == 1; }));
}

}  // namespace
}  // namespace pawl
