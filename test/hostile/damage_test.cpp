// Goal: beside one damaged row or one oversized input, only the damaged thing stops, it is named,
// and everything else continues. The sweep finds that nothing spins or starves; these tests show
// what becomes of the damaged thing itself.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "runtime/pace.hpp"
#include "store/sqlite/sqlite_vfs.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::kPath;
using testing::Story;
using testing::Worker;

constexpr std::int64_t kHourMs = 3'600'000;

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }
ActivityResult fails(ActivityContext& ctx) { return ctx.fail("no"); }

Poll says_hello(OrchestrationContext& ctx) {
  PAWL_AWAIT(said, ctx.schedule_activity("echo", "hello"));
  if (!said.ok()) return ctx.fail(said.error());
  return ctx.complete(said.value());
}

// Its activity waits for a worker that serves the tag "later".
Poll asks_later(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.tag = "later";
  options.retry.max_attempts = 2;
  PAWL_AWAIT(said, ctx.schedule_activity("echo", ctx.input(), options));
  if (!said.ok()) return ctx.fail(said.error());
  return ctx.complete(std::to_string(said.value().size()));
}

Poll retries(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.retry.max_attempts = 3;
  options.retry.base = options.retry.cap = std::chrono::milliseconds(kHourMs);
  PAWL_AWAIT(said, ctx.schedule_activity("fails", "", options));
  if (!said.ok()) return ctx.fail(said.error());
  return ctx.complete("");
}

// Its second timer is a message.
Poll sleeps(OrchestrationContext& ctx) {
  static_cast<void>(ctx.schedule_timer(std::chrono::hours(1'000)));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete("slept");
}

Poll receives(OrchestrationContext& ctx) {
  PAWL_AWAIT(message, ctx.dequeue_event("q"));
  return ctx.complete(message.value());
}

class DamagedRow : public Story {
 protected:
  DamagedRow() {
    add("echo", echo);
    add("fails", fails);
    add("says_hello", says_hello);
    add("asks_later", asks_later);
    add("retries", retries);
    add("sleeps", sleeps);
    add("receives", receives);
  }
  // Damages the database by a connection that is not Pawl's.
  void damage(const char* sql) {
    sim::Node node(machine);
    const port::Port port = node.port();
    const char* vfs = nullptr;
    ASSERT_EQ(sqlite::vfs_for(port, &vfs), Status::kOk);
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open_v2(kPath, &handle, SQLITE_OPEN_READWRITE, vfs), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    EXPECT_GT(sqlite3_changes(handle), 0) << sql;
    sqlite3_close(handle);
    sqlite::forget_vfs(*port.storage);
    port.storage->ring(kPath);
  }
  void expect_others_go_on() {
    start("beside", "says_hello");
    EXPECT_EQ(end_of("beside", 10'000), "completed hello");
  }
  [[nodiscard]] bool was_logged(std::string_view part) const {
    return workers.back()->lines.count(part) > 0;
  }
  std::uint64_t commits() { return workers.back()->runtime->stats().commits; }
  // Renewals and marks are a few commits an hour.
  void expect_rest() {
    const std::uint64_t commits_before = commits();
    const std::uint64_t ticks_before = workers.back()->runtime->stats().ticks;
    pass(600'000);
    EXPECT_LT(commits() - commits_before, 40U);
    EXPECT_LT(workers.back()->runtime->stats().ticks - ticks_before, 400U);
  }
  Worker& serve_later() {
    Options serving = options;
    static constexpr std::string_view kTags[] = {"later"};
    serving.worker_tag_filter.mode = TagFilter::Mode::kDefaultAnd;
    serving.worker_tag_filter.set[0] = kTags[0];
    serving.worker_tag_filter.count = 1;
    return start_worker(serving);
  }
};

TEST_F(DamagedRow, PolicyOfWorkFailsThatWorkAlone) {
  testing::expect_errors("row_quarantined");
  start_worker();
  start("a", "asks_later");
  pass(1'000);
  damage("UPDATE worker_queue SET policy='{'");
  serve_later();
  EXPECT_EQ(end_of("a", 60'000).substr(0, 14), "failed corrupt");
  EXPECT_TRUE(was_logged("row_quarantined table=worker_queue"));
  EXPECT_TRUE(was_logged("instance=a"));
  expect_others_go_on();
}

TEST_F(DamagedRow, BulkCancelGoesPastIt) {
  testing::expect_errors("instance_stopped");
  start_worker();
  for (const char* id : {"a", "b", "c"})
    start(id, "asks_later");
  pass(1'000);
  damage("UPDATE instances SET state='x',ready_id='y',revision=x'00' WHERE id='b'");
  std::int64_t sum = 0;
  Page page;
  do {
    std::int64_t asked = 0;
    ASSERT_EQ(client()->cancel_instances(InstanceFilter(), &page, "night", &asked), Status::kOk)
        << client()->error_text();
    sum += asked;
  } while (page.more);
  EXPECT_EQ(sum, 2);
  for (const char* id : {"a", "c"}) {
    static_cast<void>(end_of(id, 60'000));
    EXPECT_FALSE(is_running(id)) << id;
  }
}

TEST_F(DamagedRow, ARestartNamesItAndWritesNothing) {
  start_worker();
  start("a", "asks_later");
  pass(1'000);
  ASSERT_EQ(client()->terminate_instance("a", "by mistake"), Status::kOk);
  EXPECT_EQ(end_of("a"), "failed terminated by mistake");
  damage("UPDATE history SET payload=x'00' WHERE id=1");
  for (const RestartFrom from : {RestartFrom::kStart, RestartFrom::kLastGoodEvent}) {
    EXPECT_EQ(client()->restart_instance("a", from), Status::kCorrupt);
    EXPECT_EQ(client()->error_text(),
              "history of instance 1, execution 1, event 1: checksum or form is wrong");
  }
  EXPECT_EQ(outcome_of("a"), "failed terminated by mistake");
  damage("UPDATE instances SET execution='x'");
  EXPECT_EQ(client()->restart_instance("a", RestartFrom::kStart), Status::kCorrupt);
  EXPECT_EQ(client()->error_text(), "not restarted: a number of its row cannot be read");
  start("b", "says_hello");
  EXPECT_EQ(end_of("b").substr(0, 9), "completed");
}

TEST_F(DamagedRow, DueTimeThatIsNoNumberFailsThatWorkAlone) {
  testing::expect_errors("row_quarantined", 3);
  for (const char* text : {"'x'", "x'00'", "1e300"}) {
    start_worker();
    const std::string id = std::string("due ") + text;
    start(id, "retries");
    pass(1'000);
    damage(("UPDATE worker_queue SET due=" + std::string(text) + " WHERE state=2").c_str());
    restart();
    if (std::string(text) != "1e300") {
      EXPECT_EQ(end_of(id, 60'000).substr(0, 14), "failed corrupt") << text;
      EXPECT_TRUE(was_logged("row_quarantined table=worker_queue")) << text;
    }
    expect_rest();
    ASSERT_EQ(client()->terminate_instance(id, ""), is_running(id) ? Status::kOk : Status::kStale);
  }
}

TEST_F(DamagedRow, ParkedUntilNoNumberStopsThatInstanceAlone) {
  testing::expect_errors("row_quarantined");
  start_worker();
  StartOptions delayed;
  delayed.start_after = std::chrono::milliseconds(kHourMs);
  ASSERT_EQ(client()->start_orchestration("says_hello", InstanceId("a"), "", delayed), Status::kOk);
  pass(1'000);
  damage("UPDATE instances SET parked_until='x'");
  restart();
  pass(10'000);
  EXPECT_EQ(outcome_of("a").substr(0, 15), "stopped corrupt");
  expect_others_go_on();
  expect_rest();
}

TEST_F(DamagedRow, TimerThatWaitsStopsItsInstanceAlone) {
  testing::expect_errors("row_quarantined");
  start_worker();
  start("a", "sleeps");
  pass(1'000);
  damage("UPDATE orchestrator_queue SET waiting=1");
  pass(kHourMs + 60'000);
  EXPECT_EQ(outcome_of("a").substr(0, 15), "stopped corrupt");
  EXPECT_TRUE(was_logged("row_quarantined table=orchestrator_queue"));
  expect_others_go_on();
  expect_rest();
}

TEST_F(DamagedRow, TimerInNoKnownTimeStopsItsInstanceWithItsNextTurn) {
  testing::expect_errors("instance_stopped");
  start_worker();
  start("a", "sleeps");
  pass(1'000);
  damage("UPDATE orchestrator_queue SET base=7");
  ASSERT_EQ(client()->enqueue_event("a", "any", ""), Status::kOk);
  pass(10'000);
  EXPECT_EQ(outcome_of("a").substr(0, 15), "stopped corrupt");
  expect_rest();
}

TEST_F(DamagedRow, ReadyInAStateThatIsNoneStops) {
  testing::expect_errors("instance_stopped");
  start_worker();
  start("a", "receives");
  pass(1'000);
  damage("UPDATE instances SET state=7 WHERE id='a'");
  damage("UPDATE instances SET ready_id=1,ready_at=1 WHERE id='a'");
  pass(10'000);
  EXPECT_EQ(outcome_of("a").substr(0, 15), "stopped corrupt");
  expect_others_go_on();
  expect_rest();
}

TEST_F(DamagedRow, RootThatIsNoRowStops) {
  testing::expect_errors("instance_stopped");
  start_worker();
  start("a", "receives");
  pass(1'000);
  damage("UPDATE instances SET root=4711 WHERE id='a'");
  damage("UPDATE instances SET ready_id=1,ready_at=1 WHERE id='a'");
  restart();
  pass(10'000);
  EXPECT_TRUE(was_logged("instance_stopped"));
  expect_others_go_on();
  expect_rest();
}

TEST_F(DamagedRow, ExecutionsRowThatIsWrongStopsItsInstanceAlone) {
  testing::expect_errors("row_quarantined");
  start_worker();
  start("a", "receives");
  pass(1'000);
  damage("UPDATE instances SET last_event=77");
  ASSERT_EQ(client()->enqueue_event("a", "q", "x"), Status::kOk);
  pass(10'000);
  EXPECT_EQ(outcome_of("a").substr(0, 15), "stopped corrupt");
  expect_others_go_on();
}

TEST_F(DamagedRow, InstanceWithoutItsExecutionCanBeTerminated) {
  start_worker();
  start("a", "receives");
  pass(1'000);
  damage("DELETE FROM executions");
  ASSERT_EQ(client()->terminate_instance("a", "away with it"), Status::kOk);
  EXPECT_EQ(end_of("a", 10'000), "failed terminated away with it");
  expect_rest();
}

TEST_F(DamagedRow, HeadOfASessionThatIsNotItsWorkIsMended) {
  start_worker();
  start("a", "asks_later");
  pass(1'000);
  damage(
      "INSERT INTO sessions(scope,name,gen,lifecycle,fail,hard,excl,state,epoch,epoch_used,"
      "locked_until,boot_seq,last_activity_at,hold_until,created_stamp,created_at,activities,"
      "head_id) VALUES(0,'wrong',1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,4711)");
  expect_others_go_on();
  expect_rest();
}

// Each counter gets a number below its range, and then four million, which is within it again.
TEST_F(DamagedRow, CountersOutOfTheirRangeAreRefusedByName) {
  start_worker();
  expect_others_go_on();
  for (const char* column : {"next_token", "next_epoch", "k", "mark"}) {
    const std::string name = column;
    damage(("UPDATE meta SET " + name + "=-9223372036854775807").c_str());
    Worker late(machine, registry, options);
    EXPECT_EQ(late.start(), Status::kCorrupt) << name;
    EXPECT_NE(late.diagnostic.text().find("meta." + name), std::string_view::npos)
        << late.diagnostic.text();
    damage(("UPDATE meta SET " + name + "=4000000").c_str());
  }
}

// SQLite reports the highest key as a full disk; nothing may be removed for it.
TEST_F(DamagedRow, HighestKeyIsNoFullDisk) {
  options.retention.age = std::chrono::milliseconds(0);
  start_worker();
  expect_others_go_on();
  damage("UPDATE sqlite_sequence SET seq=9223372036854775807 WHERE name='instances'");
  EXPECT_EQ(client()->start_orchestration("says_hello", InstanceId("late"), ""), Status::kFull);
  pass(60'000);
  EXPECT_EQ(outcome_of("beside"), "completed hello") << "what has ended is still there";
  Worker late(machine, registry, options);
  EXPECT_EQ(late.start(), Status::kCorrupt);
  EXPECT_NE(late.diagnostic.text().find("no keys left"), std::string_view::npos)
      << late.diagnostic.text();
}

TEST_F(DamagedRow, InputThatIsTooLargeHereWaitsForAWorkerThatTakesIt) {
  testing::expect_errors("row_quarantined", 2);
  start_worker();
  start("large", "asks_later", std::string(60'000, 'x'));
  pass(1'000);
  options.limits.payload_bytes_max = 1'024;
  Worker& small = serve_later();
  pass(60'000);
  EXPECT_EQ(outcome_of("large").substr(0, 13), "stopped limit");
  EXPECT_GE(small.lines.count("60000 bytes"), 1U);
  expect_others_go_on();
  expect_rest();
  options.limits.payload_bytes_max = 64 * 1'024;
  small.stop();
  workers.clear();
  serve_later();
  EXPECT_EQ(end_of("large", 60'000), "completed 60000");
}

TEST(PaceTest, WorkIsNeverSlowedAndTurningIsSoon) {
  Pace busy;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    EXPECT_FALSE(busy.ran(true, true, i / 100));
    EXPECT_FALSE(busy.ran(true, false, i / 100));  // a look behind each piece of work
    EXPECT_FALSE(busy.until(i / 100).has_value());
  }
  Pace idle;
  std::int64_t now = 5'000;
  int runs = 0;
  int begun = 0;
  while (now < 65'000) {
    begun += idle.ran(true, false, now) ? 1 : 0;
    ++runs;
    now = idle.until(now).value_or(now);
  }
  EXPECT_EQ(begun, 1);
  EXPECT_LT(runs, 1'300);
  EXPECT_GT(idle.until(now - 1).value_or(0), 0);
  EXPECT_LE(idle.until(now - 1).value_or(0) - now, Pace::kLongestMs);
}

TEST(PaceTest, WhoIsWokenFromOutsideIsNotSlowed) {
  Pace pace;
  for (std::int64_t i = 0; i < 100'000; ++i)
    EXPECT_FALSE(pace.ran(false, false, i / 1'000));
  EXPECT_FALSE(pace.until(100).has_value());
}

}  // namespace
}  // namespace pawl
