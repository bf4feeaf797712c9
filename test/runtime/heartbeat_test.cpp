// Goal: heartbeats keep an activity alive, the next attempt and clients read the last one, and they
// cost few commits.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using testing::Gateway;
using testing::GatewayTest;
using testing::Worker;

constexpr std::int64_t kSilenceMs = 5'000;

Gateway* g_gateway = nullptr;  // its loops run while an activity blocks
ActivityOptions g_options;
std::int64_t g_works_ms = 20'000;
std::int64_t g_beats_every_ms = 1'000;
int g_silent_attempts = 0;         // the first attempts, which fall silent
std::vector<std::string> g_found;  // last_progress() of each attempt
std::int64_t g_kill_after_ms = -1;
bool g_cancelled_count = false;

void work(std::int64_t ms) {
  for (; ms > 0; ms -= 10) {
    g_gateway->machine.advance(10);
    g_gateway->tick_all();
  }
}

// Reports its progress from a pool thread, while the loops run.
ActivityResult copy(ActivityContext& ctx) {
  g_found.emplace_back(ctx.last_progress());
  const bool silent = ctx.retry_attempt() <= g_silent_attempts;
  for (std::int64_t ms = 0; ms < g_works_ms; ms += g_beats_every_ms) {
    if (ctx.is_cancelled()) {
      g_cancelled_count = true;
      return ctx.fail("told to stop");
    }
    if (ms == g_kill_after_ms) {
      g_gateway->workers.front()->kill();
      return ctx.fail("killed");
    }
    if (!silent || ms == 0) {
      EXPECT_EQ(ctx.heartbeat("at " + std::to_string(ms)), Status::kOk);
    }
    work(g_beats_every_ms);
  }
  return ctx.ok("copied");
}

// Beats many times without a pause, and then fails, until the third attempt.
ActivityResult quick(ActivityContext& ctx) {
  g_found.emplace_back(ctx.last_progress());
  EXPECT_EQ(ctx.heartbeat("one"), Status::kOk);
  EXPECT_EQ(ctx.heartbeat(std::string(kProgressBytesMax, 'x')), Status::kOk);
  EXPECT_EQ(ctx.heartbeat(std::string(kProgressBytesMax + 1, 'y')), Status::kResourceExhausted);
  EXPECT_EQ(ctx.heartbeat("try " + std::to_string(ctx.retry_attempt())), Status::kOk);
  EXPECT_EQ(ctx.heartbeat(), Status::kOk);  // a sign of life without new progress
  return ctx.retry_attempt() < 3 ? ctx.fail("bus") : ctx.ok("done");
}

struct Beats {
  int steps = 0;
};
ActivityStep in_steps(ActivityContext& ctx, Beats& beats) {
  if (beats.steps == 0) g_found.emplace_back(ctx.last_progress());
  if (ctx.is_cancelled()) return ctx.fail("told to stop");
  if (++beats.steps <= 6) {
    EXPECT_EQ(ctx.heartbeat(std::to_string(beats.steps)), Status::kOk);
  }
  if (beats.steps > 6 && g_silent_attempts < ctx.retry_attempt()) return ctx.ok("stepped");
  return ctx.again_after(std::chrono::seconds(3));
}

Poll one(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), "", g_options));
  if (done.ok()) return ctx.complete(done.value());
  return ctx.complete(error_kind_name(done.error().kind) + (": " + std::string(done.error().text)));
}

class KeepActivities final : public ActivityVisitor {
 public:
  void on_activity(const ActivityInfo& one) noexcept override {
    reported.push_back(std::to_string(one.activity_id) + " " + std::string(one.name) + " " +
                       activity_state_name(one.state) + " " + std::to_string(one.attempt) + " " +
                       std::to_string(one.retry_attempt) + " [" + std::string(one.node) + "] [" +
                       std::string(one.last_progress) + "] [" + std::string(one.last_error) + "]");
  }
  std::vector<std::string> reported;
};

class HeartbeatTest : public GatewayTest {
 protected:
  void SetUp() override {
    g_gateway = this;
    options.worker_node_id = "node";
    options.timing.heartbeat_interval = std::chrono::seconds(4);
    g_options = ActivityOptions();
    g_works_ms = 20'000;
    g_beats_every_ms = 1'000;
    g_silent_attempts = 0;
    g_found.clear();
    g_kill_after_ms = -1;
    g_cancelled_count = false;
    add("one", one);
    add("copy", copy, ActivityMode::kThreaded);
    add("quick", quick);
    add("in_steps", in_steps);
  }
  // Runs the activity at one worker, which stops then.
  std::string run_alone(const char* activity) {
    const Worker& worker = start_worker();
    start("a", "one", activity);
    std::string end = end_of("a", 3'600'000);
    stats = worker.runtime->stats();
    workers.clear();
    return end;
  }

  RuntimeStats stats;
};

TEST_F(HeartbeatTest, silence_has_a_limit_of_its_own) {
  g_options.heartbeat_timeout = std::chrono::milliseconds(kSilenceMs);
  g_silent_attempts = 1;
  EXPECT_EQ(run_alone("copy"),
            "completed heartbeat_timeout: heartbeat_timeout (5000 ms) passed without a heartbeat");
  EXPECT_TRUE(g_cancelled_count);
  EXPECT_EQ(stats.activities_refused, 1U);
}

TEST_F(HeartbeatTest, who_never_beats_is_silent_too) {
  g_options.heartbeat_timeout = std::chrono::milliseconds(kSilenceMs);
  g_silent_attempts = 1;
  g_beats_every_ms = 10'000;
  EXPECT_EQ(run_alone("copy").substr(0, 27), "completed heartbeat_timeout");
}

TEST_F(HeartbeatTest, who_beats_goes_on) {
  g_options.heartbeat_timeout = std::chrono::milliseconds(kSilenceMs);
  for (const std::int64_t every_ms : {100, 1'000, 2'600, 4'000, 4'900}) {
    g_beats_every_ms = every_ms;
    g_works_ms = 4 * 4'900;
    Gateway another;
    g_gateway = &another;
    another.start_worker(registry, options);
    another.start("a", "one", "copy");
    EXPECT_EQ(another.end_of("a"), "completed copied") << every_ms;
  }
}

TEST_F(HeartbeatTest, silence_is_repeated_under_the_policy) {
  g_options.heartbeat_timeout = std::chrono::milliseconds(kSilenceMs);
  g_options.retry = {2, Backoff::kFixed, std::chrono::seconds(30), std::chrono::seconds(30), 0};
  g_silent_attempts = 1;
  EXPECT_EQ(run_alone("copy"), "completed copied");
  EXPECT_EQ(g_found, (std::vector<std::string>{"", "at 0"}));
}

TEST_F(HeartbeatTest, a_takeover_begins_with_the_last_progress_that_was_written) {
  Worker& first = start_worker();
  g_kill_after_ms = 10'000;
  start("a", "one", "copy");
  drive_until([&] { return first.killed; });
  ASSERT_TRUE(first.killed);
  g_kill_after_ms = -1;
  start_worker();
  ASSERT_TRUE(ends("a"));
  // Progress was written at 4 s and at 8 s; later reports are lost with the process.
  EXPECT_EQ(g_found, (std::vector<std::string>{"", "at 7000"}));
  EXPECT_EQ(outcome_of("a"), "completed copied");
}

TEST_F(HeartbeatTest, costs_one_commit_an_interval_however_often_it_beats) {
  g_beats_every_ms = 10;
  EXPECT_EQ(run_alone("copy"), "completed copied");
  const std::uint64_t with = stats.commits;
  Gateway another;
  g_gateway = &another;
  options.timing.heartbeat_interval = std::chrono::seconds(3'600);
  const Worker& worker = another.start_worker(registry, options);
  another.start("a", "one", "copy");
  ASSERT_TRUE(another.ends("a"));
  const std::uint64_t without = worker.runtime->stats().commits;
  // 20 s with a write every 4 s; the last report comes with the result, and needs no commit of its
  // own.
  EXPECT_GE(with, without + 4);
  EXPECT_LE(with, without + 5);
}

TEST_F(HeartbeatTest, a_failed_attempt_leaves_its_last_word_without_a_commit_of_its_own) {
  g_options.retry = {3, Backoff::kFixed, std::chrono::seconds(1), std::chrono::seconds(1), 0};
  EXPECT_EQ(run_alone("quick"), "completed done");
  EXPECT_EQ(g_found, (std::vector<std::string>{"", "try 1", "try 2"}));
  // Commits for the registration, the start with the hand-over, two failures, two wake-ups and the
  // end.
  EXPECT_LE(stats.commits, 8U);
}

class KeepWork final : public WorkVisitor, public MessageVisitor {
 public:
  void on_work(const WorkInfo& one) noexcept override {
    reported.push_back(std::string(one.instance_id) + " " + std::string(one.name) + " " +
                       activity_state_name(one.state) + " [" + std::string(one.node) + "]");
  }
  void on_message(const MessageInfo& one) noexcept override {
    reported.push_back(std::string(one.kind) + " " + std::string(one.name) + " " +
                       std::string(one.payload));
  }
  std::vector<std::string> reported;
};

TEST_F(HeartbeatTest, clients_see_work_and_messages_in_pages) {
  g_options.retry = {3, Backoff::kFixed, std::chrono::seconds(60), std::chrono::seconds(60), 0};
  Worker& worker = start_worker();
  for (const char* id : {"a", "b", "c"})
    start(id, "one", "quick");
  ASSERT_TRUE(drive_until([&] { return worker.runtime->stats().activities_retried == 3; }));
  Page page;
  page.rows_max = 2;
  KeepWork first;
  ASSERT_EQ(client()->list_work(WorkListFilter(), &page, first), Status::kOk);
  EXPECT_EQ(first.reported, (std::vector<std::string>{"a quick delayed []", "b quick delayed []"}));
  EXPECT_TRUE(page.more);
  KeepWork rest;
  ASSERT_EQ(client()->list_work(WorkListFilter(), &page, rest), Status::kOk);
  EXPECT_EQ(rest.reported, (std::vector<std::string>{"c quick delayed []"}));
  EXPECT_FALSE(page.more);
  WorkListFilter filter;
  filter.name = "quick";
  filter.instance_id = "b";
  KeepWork of_b;
  page = Page();
  ASSERT_EQ(client()->list_work(filter, &page, of_b), Status::kOk);
  EXPECT_EQ(of_b.reported, (std::vector<std::string>{"b quick delayed []"}));
  WorkListFilter by_state;
  by_state.state = ActivityState::kRunning;
  KeepWork of_state;
  page = Page();
  ASSERT_EQ(client()->list_work(by_state, &page, of_state), Status::kOk);
  EXPECT_EQ(of_state.reported.size(), 0U);
  by_state.state = ActivityState::kDelayed;
  page = Page();
  ASSERT_EQ(client()->list_work(by_state, &page, of_state), Status::kOk);
  EXPECT_EQ(of_state.reported.size(), 3U);
  filter.tag = "t";
  page = Page();
  ASSERT_EQ(client()->list_work(filter, &page, of_b), Status::kOk);
  EXPECT_EQ(of_b.reported.size(), 1U);
  page.rows_max = 0;
  EXPECT_EQ(client()->list_work(filter, &page, of_b), Status::kInvalidArgument);
  EXPECT_EQ(client()->list_messages("a", &page, of_b), Status::kInvalidArgument);

  enqueue_event("a", "mail", "1");
  enqueue_event("a", "mail", "2");
  page = Page();
  page.rows_max = 1;
  KeepWork messages;
  for (int i = 0; i < 3 && (i == 0 || page.more); ++i)
    ASSERT_EQ(client()->list_messages("a", &page, messages), Status::kOk);
  EXPECT_EQ(messages.reported, (std::vector<std::string>{"queue mail 1", "queue mail 2"}));
  EXPECT_EQ(client()->list_messages("none", &page, messages), Status::kNotFound);
}

TEST_F(HeartbeatTest, clients_see_open_activities) {
  g_options.retry = {3, Backoff::kFixed, std::chrono::seconds(60), std::chrono::seconds(60), 0};
  Worker& worker = start_worker();
  start("a", "one", "quick");
  ASSERT_TRUE(drive_until([&] { return worker.runtime->stats().activities_retried == 1; }));
  KeepActivities keep;
  ASSERT_EQ(client()->list_activities("a", keep), Status::kOk);
  EXPECT_EQ(keep.reported, (std::vector<std::string>{"2 quick delayed 1 2 [] [try 1] [bus]"}));
  EXPECT_EQ(client()->list_activities("b", keep), Status::kNotFound);

  g_options.retry = Retry();
  KeepActivities seen;
  start("c", "one", "copy");
  worker.node.hold_jobs(true);
  for (int i = 0; i < 20 && worker.runtime->stats().activities_running == 0; ++i)
    static_cast<void>(worker.runtime->tick(std::chrono::milliseconds::max()));
  ASSERT_EQ(client()->list_activities("c", seen), Status::kOk);
  EXPECT_EQ(seen.reported, (std::vector<std::string>{"2 copy running 1 1 [node] [] []"}));
  worker.node.hold_jobs(false);
  ASSERT_TRUE(ends("c"));
  keep.reported.clear();
  ASSERT_EQ(client()->list_activities("c", keep), Status::kOk);
  EXPECT_TRUE(keep.reported.empty());
}

TEST_F(HeartbeatTest, a_cooperative_activity_beats_too) {
  g_options.heartbeat_timeout = std::chrono::milliseconds(kSilenceMs);
  EXPECT_EQ(run_alone("in_steps"), "completed stepped");
  g_found.clear();
  g_silent_attempts = 1;  // falls silent after six beats
  g_options.retry = {2, Backoff::kNone, std::chrono::milliseconds(0), std::chrono::milliseconds(0),
                     0};
  start_worker();
  start("b", "one", "in_steps");
  // A step does not count as a heartbeat.
  EXPECT_EQ(end_of("b", 600'000), "completed stepped");
  EXPECT_EQ(g_found, (std::vector<std::string>{"", "6"}));
}

TEST_F(HeartbeatTest, another_worker_ends_the_silence_of_a_frozen_one) {
  g_options.heartbeat_timeout = std::chrono::milliseconds(kSilenceMs);
  g_silent_attempts = 1;
  Worker& frozen = start_worker("a");
  start("a", "one", "copy");
  tick_until_it_works({&frozen});
  Worker& other = start_worker("b");
  ASSERT_TRUE(ends({&other}, "a"));
  EXPECT_EQ(outcome_of("a").substr(0, 27), "completed heartbeat_timeout");
}

TEST_F(HeartbeatTest, what_a_full_disk_refused_is_written_later) {
  testing::expect_errors("disk_is_full");
  testing::expect_errors("tick_rolled_back");
  Worker& worker = start_worker();
  g_options.retry = {2, Backoff::kNone, std::chrono::milliseconds(0), std::chrono::milliseconds(0),
                     0};
  g_options.heartbeat_timeout = std::chrono::seconds(30);
  g_works_ms = 60'000;
  g_silent_attempts = 1;  // one beat, then silence
  machine.set_synced(false);
  start("a", "one", "copy");
  tick_until_it_works({&worker});
  machine.fail_write(1, Status::kFull, false);
  ASSERT_TRUE(ends("a", 600'000));
  EXPECT_GE(worker.runtime->stats().failed_ticks, 1U);
  EXPECT_EQ(g_found, (std::vector<std::string>{"", "at 0"}));
}

TEST_F(HeartbeatTest, a_window_of_commits_does_not_make_it_silent) {
  g_options.heartbeat_timeout = std::chrono::milliseconds(kSilenceMs);
  options.timing.commit_window = std::chrono::seconds(10);
  g_beats_every_ms = 2'000;
  EXPECT_EQ(run_alone("copy"), "completed copied");
}

}  // namespace
}  // namespace pawl
