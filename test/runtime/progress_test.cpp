// Goal: a client watches progress while activities run, without a commit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "pawl/progress.hpp"
#include "runtime/progress_ring.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using testing::GatewayTest;
using testing::Worker;

constexpr std::chrono::milliseconds kNow{0};

// The code of the activity in the current test.
std::function<void(ActivityContext&)> g_talk;

ActivityResult talk(ActivityContext& ctx) {
  g_talk(ctx);
  return ctx.retry_attempt() < 2 && ctx.input() == "twice" ? ctx.fail("again") : ctx.ok("said");
}

Poll conversation(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.retry = {2, Backoff::kNone, std::chrono::milliseconds(0), std::chrono::milliseconds(0),
                   0};
  PAWL_AWAIT(done, ctx.schedule_activity("talk", ctx.input(), options));
  return ctx.complete(done.ok() ? done.value() : done.error().text);
}

Poll both(OrchestrationContext& ctx) {
  ActivityOptions tagged;
  tagged.tag = "b";
  const auto first = ctx.schedule_activity("talk", "");
  const auto second = ctx.schedule_activity("talk", "", tagged);
  PAWL_AWAIT(all, ctx.join(first, second));
  return ctx.complete(all.ok() ? "said" : "failed");
}

class ProgressTest : public GatewayTest {
 protected:
  void SetUp() override {
    add("conversation", conversation);
    add("talk", talk, ActivityMode::kThreaded);
  }
  void TearDown() override {
    GatewayTest::TearDown();
    g_talk = nullptr;
  }
  // All progress that there is now, each as "number:text".
  std::vector<std::string> read_all(std::string_view id, ProgressWatch* watch) {
    std::vector<std::string> read;
    while (client()->watch_progress(id, kNow, watch) == Status::kOk)
      read.push_back(std::to_string(watch->update().number) + ":" +
                     std::string(watch->update().text()));
    return read;
  }
  void converse(const char* id, const char* input = "once") {
    start(id, "conversation", input);
    ASSERT_TRUE(ends(id));
  }
};

TEST_F(ProgressTest, a_watcher_sees_each_heartbeat_while_the_activity_runs_and_none_is_a_commit) {
  Worker& worker = start_worker("a");
  std::vector<std::string> read;
  std::vector<std::uint64_t> commits;
  ProgressWatch watch;
  g_talk = [&](ActivityContext& ctx) {
    for (const char* piece : {"Good", " mor", "ning"}) {
      EXPECT_EQ(ctx.heartbeat(piece), Status::kOk);
      EXPECT_EQ(ctx.heartbeat(), Status::kOk);  // a sign of life, with nothing to show
      static_cast<void>(worker.runtime->tick(std::chrono::milliseconds::max()));
      for (std::string& one : read_all("a", &watch))
        read.push_back(std::move(one));
      EXPECT_EQ(client()->watch_progress("a", kNow, &watch), Status::kTimeout);
      commits.push_back(worker.runtime->stats().commits);
    }
  };
  converse("a");
  EXPECT_EQ(read, (std::vector<std::string>{"1:Good", "2: mor", "3:ning"}));
  EXPECT_EQ(commits.front(), commits.back());
  EXPECT_EQ(watch.update().activity_id, 2);
  EXPECT_EQ(watch.update().execution_id, 1);
  EXPECT_EQ(watch.update().attempt, 1);
  EXPECT_EQ(client()->watch_progress("a", kNow, &watch), Status::kStale);
}

TEST_F(ProgressTest, a_late_watcher_begins_with_what_is_kept_and_numbers_show_what_it_missed) {
  start_worker("a");
  g_talk = [](ActivityContext& ctx) {
    for (int i = 1; i <= 100; ++i)
      EXPECT_EQ(ctx.heartbeat(std::string(kProgressBytesMax, static_cast<char>('a' + i % 26))),
                Status::kOk);
  };
  converse("a");
  ProgressWatch watch;
  const std::vector<std::string> read = read_all("a", &watch);
  ASSERT_EQ(read.size(), 64U);
  for (int i = 37; i <= 100; ++i)
    EXPECT_EQ(
        read[static_cast<std::size_t>(i - 37)],
        std::to_string(i) + ":" + std::string(kProgressBytesMax, static_cast<char>('a' + i % 26)));
}

TEST_F(ProgressTest, each_attempt_begins_anew) {
  start_worker("a");
  g_talk = [](ActivityContext& ctx) {
    EXPECT_EQ(ctx.heartbeat("hello"), Status::kOk);
    EXPECT_EQ(ctx.heartbeat("bye"), Status::kOk);
  };
  converse("a", "twice");
  ProgressWatch watch;
  std::vector<std::int64_t> attempts;
  std::vector<std::int64_t> numbers;
  while (client()->watch_progress("a", kNow, &watch) == Status::kOk) {
    attempts.push_back(watch.update().attempt);
    numbers.push_back(watch.update().number);
  }
  EXPECT_EQ(attempts, (std::vector<std::int64_t>{1, 1, 2, 2}));
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{1, 2, 1, 2}));
}

TEST_F(ProgressTest, each_instance_has_its_own_also_for_one_watch) {
  start_worker("a");
  g_talk = [](ActivityContext& ctx) {
    EXPECT_EQ(ctx.heartbeat("for " + std::string(ctx.instance_id())), Status::kOk);
  };
  converse("a");
  converse("b");
  ProgressWatch watch;
  EXPECT_EQ(read_all("b", &watch), std::vector<std::string>{"1:for b"});
  EXPECT_EQ(read_all("a", &watch), std::vector<std::string>{"1:for a"});
  EXPECT_EQ(client()->watch_progress("c", kNow, &watch), Status::kNotFound);
}

TEST_F(ProgressTest, waits_for_it_and_no_longer_than_asked) {
  start("a", "conversation", "once");
  ProgressWatch watch;
  const std::int64_t begun = machine.boot_ms();
  EXPECT_EQ(client()->watch_progress("a", std::chrono::milliseconds(2'500), &watch),
            Status::kTimeout);
  EXPECT_EQ(machine.boot_ms() - begun, 2'500);
}

TEST_F(ProgressTest, a_worker_that_talks_much_does_not_hide_another) {
  add("both", both);
  Options tagged = named("b");
  tagged.worker_tag_filter = TagFilter::tags({"b"});
  start_worker("a");
  start_worker(tagged);
  g_talk = [](ActivityContext& ctx) {
    const bool talks_much = ctx.worker_id() == "a";
    for (int i = 0; i < (talks_much ? 8 : 1); ++i)
      EXPECT_EQ(ctx.heartbeat(talks_much ? "much" : "little"), Status::kOk);
  };
  start("a", "both");
  ASSERT_TRUE(ends("a"));
  ProgressWatch watch;
  std::vector<std::string> read;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(client()->watch_progress("a", kNow, &watch), Status::kOk);
    read.emplace_back(watch.update().text());
  }
  EXPECT_NE(std::find(read.begin(), read.end(), "little"), read.end());
}

TEST_F(ProgressTest, an_attempt_whose_result_is_not_wanted_shows_nothing_more) {
  Worker& worker = start_worker("a");
  g_talk = [&](ActivityContext& ctx) {
    EXPECT_EQ(ctx.heartbeat("before"), Status::kOk);
    EXPECT_EQ(client()->terminate_instance("a", "enough"), Status::kOk);
    for (int i = 0; i < 100 && !ctx.is_cancelled(); ++i) {
      machine.advance(1'000);
      static_cast<void>(worker.runtime->tick(std::chrono::milliseconds::max()));
    }
    EXPECT_TRUE(ctx.is_cancelled());
    EXPECT_EQ(ctx.heartbeat("after"), Status::kOk);
  };
  converse("a");
  ProgressWatch watch;
  EXPECT_EQ(read_all("a", &watch), std::vector<std::string>{"1:before"});
}

// ---- bytes of others ----

// A page that one process writes and another one reads, like those of a worker and a client.
class ProgressPage : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = worker.port().storage->worker_create("/data/x.db", 1, sizeof(WorkerPage));
    ASSERT_TRUE(file.ok());
    page = ::new (file.value().notes) WorkerPage();
    bytes = static_cast<unsigned char*>(file.value().notes) + offsetof(WorkerPage, progress);
    ProgressReader::follow(7, watch);
    const Incarnation living[] = {1};
    ProgressReader::set_workers(living, 1, watch);
  }
  void put(std::string_view text, InstanceKey instance = 7) {
    ProgressEntry entry;
    entry.instance = instance;
    entry.number = 1;
    entry.size = static_cast<std::uint32_t>(text.size());
    std::memcpy(entry.text, text.data(), text.size());
    page->progress.put(entry);
  }
  std::string next() {
    ProgressReader reader(*client.port().storage, "/data/x.db");
    return reader.next(watch) ? std::string(watch.update().text()) : "none";
  }
  // The bytes of an entry; the ticket that was given last stands before the entries.
  unsigned char* entry(std::size_t index) {
    return bytes + 2 * sizeof(std::uint32_t) + index * sizeof(ProgressEntry);
  }

  sim::Machine machine{11};
  sim::Node worker{machine};
  sim::Node client{machine};
  WorkerPage* page = nullptr;
  unsigned char* bytes = nullptr;
  ProgressWatch watch;
};

TEST_F(ProgressPage, an_entry_that_is_half_written_is_waited_for) {
  put("one");
  put("two");
  for (const std::size_t at : {offsetof(ProgressEntry, ticket), offsetof(ProgressEntry, text),
                               offsetof(ProgressEntry, size), offsetof(ProgressEntry, check)}) {
    watch = ProgressWatch();
    ProgressReader::follow(7, watch);
    const Incarnation living[] = {1};
    ProgressReader::set_workers(living, 1, watch);
    EXPECT_EQ(next(), "one");
    entry(1)[at] ^= 0x10;
    EXPECT_EQ(next(), "none");
    entry(1)[at] ^= 0x10;
    EXPECT_EQ(next(), "two");
    EXPECT_EQ(next(), "none");
  }
}

TEST_F(ProgressPage, one_that_stays_half_written_hides_nothing_for_ever) {
  put("one");
  entry(0)[offsetof(ProgressEntry, text)] ^= 1;
  EXPECT_EQ(next(), "none");
  for (std::size_t i = 0; i < ProgressRing::kProgressKept; ++i)
    put("later");
  EXPECT_EQ(next(), "later");
}

TEST_F(ProgressPage, of_another_instance_is_passed_over) {
  put("theirs", 8);
  put("ours");
  EXPECT_EQ(next(), "ours");
  EXPECT_EQ(next(), "none");
}

TEST_F(ProgressPage, a_number_that_was_never_given_reads_nothing_beyond_the_ring) {
  put("one");
  std::memset(bytes, 0xFF, sizeof(std::uint64_t));
  EXPECT_EQ(next(), "none");
  std::memset(bytes, 0, sizeof(std::uint64_t));
  EXPECT_EQ(next(), "none");
}

TEST_F(ProgressPage, after_the_last_ticket_of_32_bits_they_begin_anew) {
  const auto given = UINT32_MAX - static_cast<std::uint32_t>(ProgressRing::kProgressKept);
  std::memcpy(bytes, &given, sizeof given);
  for (std::size_t i = 0; i < ProgressRing::kProgressKept; ++i)
    put("before");
  for (std::size_t i = 0; i < ProgressRing::kProgressKept; ++i)
    EXPECT_EQ(next(), "before");
  EXPECT_EQ(next(), "none");
  put("under 0");
  EXPECT_EQ(next(), "none");
  put("first");
  put("second");
  EXPECT_EQ(next(), "first");
  EXPECT_EQ(next(), "second");
  EXPECT_EQ(next(), "none");
}

TEST_F(ProgressPage, a_file_of_an_older_worker_has_none) {
  ASSERT_TRUE(worker.port().storage->worker_create("/data/x.db", 2, sizeof(NotesPage)).ok());
  const Incarnation living[] = {2};
  ProgressReader::set_workers(living, 1, watch);
  EXPECT_EQ(next(), "none");
}

}  // namespace
}  // namespace pawl
