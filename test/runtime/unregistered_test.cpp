// Goal: work with names that no living worker has, in any amount, delays no other work, costs
// nothing while it waits, and continues when a worker with the name comes. Method: ticks, commits
// and steps of SQLite are counted, and not time.
#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <string>

#include "world.hpp"

namespace pawl {
namespace {

using testing::GatewayTest;
using testing::Worker;

constexpr int kEach = 100;
constexpr int kMany = sizeof(void*) == 4 ? 1'000 : 5'000;
// The ticks that an orchestration of one activity may take; the flood may add a few.
constexpr std::uint64_t kTicksOfHello = 12;

ActivityResult say(ActivityContext& ctx) { return ctx.ok("said"); }

struct Nothing {};
// Holds its slot until its process dies.
ActivityStep forever(ActivityContext& ctx, Nothing& /*state*/) {
  return ctx.again_after(std::chrono::seconds(3'600));
}

Poll hello(OrchestrationContext& ctx) {
  PAWL_AWAIT(said, ctx.schedule_activity("say", ""));
  return ctx.complete(said.value());
}

Poll on_session(OrchestrationContext& ctx) {
  PAWL_AWAIT(said, ctx.schedule_activity("say", "", Target::session("shared")));
  return ctx.complete(said.value());
}

// Schedules known names on sessions that were handed off to workers of another tag.
Poll for_another_kind(OrchestrationContext& ctx) {
  Handle all[2];
  for (int i = 0; i < 2; ++i) {
    const Session session = ctx.open_session(i == 0 ? "first" : "second");
    EXPECT_EQ(ctx.handoff_session(session, "another"), ErrorKind::kNone);
    all[i] = ctx.schedule_activity(i == 0 ? "say" : "tell", "", Target::own(session));
  }
  PAWL_AWAIT_DONE(ctx.join_all(all, 2));
  return ctx.complete("");
}

// Schedules kEach activities of names that no worker has; the input says in which way.
Poll flood(OrchestrationContext& ctx) {
  Handle all[kEach];
  for (int i = 0; i < kEach; ++i) {
    ActivityOptions options;
    if (ctx.input() == "policy") options.schedule_to_close = std::chrono::seconds(3'600);
    if (ctx.input() == "session") options.target = Target::session("shared");
    std::string name = "nobody";
    if (ctx.input() == "names") name += std::to_string(i);
    if (ctx.input() == "mix") name += std::to_string(i) + std::string(ctx.instance_id());
    all[i] = ctx.schedule_activity(name, "", options);
  }
  PAWL_AWAIT_DONE(ctx.join_all(all, kEach));
  return ctx.complete("");
}

Poll sleeps(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  return ctx.complete("");
}

Poll asks(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  return ctx.complete("");
}

// Code of the program that ended; the next program has the same name.
Poll hello_after(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(11)));
  return ctx.complete("");
}

class UnknownNames : public GatewayTest {
 protected:
  void SetUp() override {
    for (Registry* one : {&plain, &knows_names, &holds}) {
      ASSERT_EQ(one->add_orchestration("hello", hello), Status::kOk);
      ASSERT_EQ(one->add_orchestration("on_session", on_session), Status::kOk);
      ASSERT_EQ(one->add_orchestration("flood", flood), Status::kOk);
      ASSERT_EQ(one->add_activity("say", say), Status::kOk);
    }
    ASSERT_EQ(knows_names.add_activity("nobody", say), Status::kOk);
    for (int i = 0; i < kEach; ++i) {
      names.push_back("nobody" + std::to_string(i));
      ASSERT_EQ(knows_names.add_activity(names.back().c_str(), say), Status::kOk);
    }
    ASSERT_EQ(holds.add_cooperative("nobody", forever), Status::kOk);
    options.worker_node_id = "A";
  }
  void start_floods(std::string_view input) {
    for (int i = 0; i < kMany / kEach; ++i)
      start(std::string(input) + std::to_string(i), "flood", input);
  }
  // Counts the ticks of the worker until the instance has ended; more than `most`: it has not
  // ended.
  std::uint64_t ticks(Worker& worker, std::string_view id, std::uint64_t most) {
    std::uint64_t count = 0;
    while (count <= most && is_running(id)) {
      const Result<bool> more = worker.runtime->tick(std::chrono::seconds(1));
      EXPECT_TRUE(more.ok());
      ++count;
    }
    return count;
  }
  void expect_hello(Worker& worker, const char* name, std::string_view id) {
    start(id, name);
    EXPECT_LE(ticks(worker, id, 1'000), kTicksOfHello) << id;
  }
  // Runs the workers until they sleep.
  void settle() { pass(10'000); }
  void expect_rest(Worker& worker) {
    const std::uint64_t commits = worker.runtime->stats().commits;
    const std::uint64_t ticked = worker.runtime->stats().ticks;
    pass(100'000);
    EXPECT_LE(worker.runtime->stats().commits, commits + 5) << "leases only";
    EXPECT_LE(worker.runtime->stats().ticks, ticked + 40);
  }

  std::deque<std::string> names;  // the registry keeps views
  Registry& plain = another_registry();
  Registry& knows_names = another_registry();
  Registry& holds = another_registry();
};

class EachKind : public UnknownNames, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, EachKind,
                         ::testing::Values("plain", "policy", "session", "names", "mix"),
                         [](const auto& of) { return std::string(of.param); });

// Holds from the scheduling on; at the end, a worker that has the names comes.
TEST_P(EachKind, activity_delays_no_other_and_costs_nothing) {
  const bool has_many_names = std::set<std::string>{"names", "mix"}.count(GetParam()) == 1;
  testing::expect_errors("activity_unregistered", has_many_names ? 64 : 1);
  Worker& worker = start_worker(plain, options);
  start_floods(GetParam());
  expect_hello(worker, "hello", "beside the starts");
  for (int i = 0; worker.runtime->stats().unregistered < static_cast<std::uint64_t>(kMany) / 2;
       ++i) {
    ASSERT_LT(i, kMany);
    ASSERT_TRUE(worker.runtime->tick(std::chrono::seconds(1)).ok());
  }
  expect_hello(worker, "hello", "in the middle");
  expect_hello(worker, "on_session", "in the middle, on their session");
  settle();
  EXPECT_EQ(worker.runtime->stats().unregistered, static_cast<std::uint64_t>(kMany));
  expect_rest(worker);
  expect_hello(worker, "hello", "at rest");
  EXPECT_GE(worker.lines.count("activity_unregistered"), 1U);
  EXPECT_LE(worker.lines.count("activity_unregistered"), 64U);

  // A restarted worker does not have to meet the work again.
  worker.stop();
  Worker& again = start_worker(plain, options);
  expect_hello(again, "hello", "after a restart");
  settle();
  expect_rest(again);
  EXPECT_EQ(again.runtime->stats().unregistered, 0U);
  again.stop();
  if (std::string(GetParam()) == "mix") return;  // a registry has no room for all of them

  Worker& able = start_worker(knows_names, options);
  std::uint64_t first = 0;
  while (able.runtime->stats().activities_started == 0 && first < 100) {
    ASSERT_TRUE(able.runtime->tick(std::chrono::seconds(1)).ok());
    ++first;
  }
  EXPECT_LE(first, 3U) << "at once";
  expect_hello(able, "hello", "beside those that go on");
  const std::string last = std::string(GetParam()) + std::to_string(kMany / kEach - 1);
  EXPECT_TRUE(ends(last, 600'000));
  EXPECT_EQ(client().status(last).state, OrchestrationState::kCompleted);
}

// The work was ready when its worker ended: each item is met once.
TEST_F(UnknownNames, what_a_worker_left_behind_delays_no_other) {
  testing::expect_errors("activity_unregistered");
  Worker& former = start_worker(holds, options);
  start_floods("plain");
  pass(1'000);
  former.kill();
  Worker& worker = start_worker(plain, options);
  expect_hello(worker, "hello", "first");
  expect_hello(worker, "on_session", "second");
  EXPECT_LT(worker.runtime->stats().unregistered, static_cast<std::uint64_t>(kMany));
  settle();
  EXPECT_EQ(worker.runtime->stats().unregistered, static_cast<std::uint64_t>(kMany));
  EXPECT_LE(worker.runtime->stats().commits, static_cast<std::uint64_t>(kMany) / 64 + 40);
  expect_rest(worker);
  options.worker_node_id = "B";
  start_worker(knows_names, options);
  EXPECT_TRUE(ends("plain0", 600'000));
}

// A worker that registers looks once through all names that are waited for, however much of them it
// may take.
TEST_F(UnknownNames, what_waits_for_another_kind_lets_the_worker_sleep) {
  testing::expect_errors("activity_unregistered", 2);
  Registry& known = another_registry();
  ASSERT_EQ(known.add_orchestration("for_another_kind", for_another_kind), Status::kOk);
  for (const char* name : {"say", "tell"})
    ASSERT_EQ(known.add_activity(name, say), Status::kOk);
  Worker& first = start_worker(known, options);
  start("a", "for_another_kind");
  settle();
  expect_rest(first);
  first.stop();
  Worker& next = start_worker(known, options);
  settle();
  expect_rest(next);
  EXPECT_EQ(next.lines.count("loop_without_progress"), 0U);
}

// Calls on the Runtime's own thread, as many as it accepts, do not delay instances that have begun.
TEST_F(UnknownNames, a_flood_of_own_starts_holds_up_no_completions) {
  options.limits.requests_max = 1'024;
  Worker& worker = start_worker(plain, options);
  int next = 0;
  std::uint64_t completed = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 10; ++i) {
      Status status = Status::kOk;
      while (status == Status::kOk)
        status = worker.runtime->start_orchestration(
            "hello", InstanceId("own" + std::to_string(next++)), "");
      ASSERT_EQ(status, Status::kResourceExhausted);
      ASSERT_TRUE(worker.runtime->tick(std::chrono::seconds(1)).ok());
    }
    EXPECT_GE(worker.runtime->stats().orchestrations_completed, completed + 10) << round;
    completed = worker.runtime->stats().orchestrations_completed;
  }
}

// ---- instances ----

TEST_F(UnknownNames, instances_delay_no_other) {
  testing::expect_errors("orchestration_unregistered", 64);
  Worker& worker = start_worker(plain, options);
  for (int i = 0; i < kMany; ++i) {
    const std::string id = "x" + std::to_string(i);
    start(id, "nobody" + std::to_string(i % 1'000));
    if (i == kMany / 2) {
      start("among them", "hello");
    }
  }
  expect_hello(worker, "hello", "behind them");
  EXPECT_LE(ticks(worker, "among them", 1'000), kTicksOfHello);
  expect_hello(worker, "hello", "beside them");
  EXPECT_LT(worker.runtime->stats().unregistered, static_cast<std::uint64_t>(kMany) / 2);
  settle();
  EXPECT_EQ(worker.runtime->stats().unregistered, static_cast<std::uint64_t>(kMany));
  expect_rest(worker);
  expect_hello(worker, "hello", "at rest");
}

// The worker of these instances is gone, and their timers are due.
TEST_F(UnknownNames, instances_of_a_former_program_delay_no_other) {
  testing::expect_errors("orchestration_unregistered", 2);
  Registry& former = another_registry();
  ASSERT_EQ(former.add_orchestration("sleeps", sleeps), Status::kOk);
  ASSERT_EQ(former.add_orchestration("asks", asks), Status::kOk);
  ASSERT_EQ(former.add_orchestration("hello", hello_after), Status::kOk);
  Worker& gone = start_worker(former, options);
  for (int i = 0; i < kMany; ++i)
    start("x" + std::to_string(i), i % 2 == 0 ? "sleeps" : "asks");
  start("sleeper", "hello");
  pass(5'000);
  gone.kill();
  for (int i = 1; i < kMany; i += 2)
    raise_event("x" + std::to_string(i), "go");
  machine.advance(20'000);
  Registry& later = another_registry();
  ASSERT_EQ(later.add_orchestration("hello", hello_after), Status::kOk);
  ASSERT_EQ(later.add_orchestration("hello", hello, "2.0.0"), Status::kOk);
  ASSERT_EQ(later.add_activity("say", say), Status::kOk);
  Worker& worker = start_worker(later, options);
  expect_hello(worker, "hello", "new");
  EXPECT_LE(ticks(worker, "sleeper", 1'000), 2 * kTicksOfHello);
  EXPECT_LT(worker.runtime->stats().unregistered, static_cast<std::uint64_t>(kMany));
  settle();
  EXPECT_EQ(worker.runtime->stats().unregistered, static_cast<std::uint64_t>(kMany));
  expect_rest(worker);
  worker.stop();
  start_worker(former, options);
  EXPECT_TRUE(ends("x0", 100'000));
}

// ---- a worker that comes ----

// The code of the instance; its input says where its only activity runs.
Poll wanted(OrchestrationContext& ctx) {
  std::string_view how = ctx.input();
  const bool is_owned = how.substr(0, 5) == "owned";
  if (is_owned) how.remove_prefix(5);
  ActivityOptions options;
  if (how == "session") options.target = Target::session("s");
  if (how == "exclusive") options.target = Target::exclusive_session("s");
  if (how == "own") options.target = Target::own(ctx.open_session("s"));
  if (how == "tag") options.tag = "gpu";
  if (how == "policy") options.retry.max_attempts = 3;
  if (is_owned) PAWL_AWAIT_DONE(ctx.schedule_activity("say", "", options.target));
  PAWL_AWAIT(said, ctx.schedule_activity("wanted", "", options));
  return said.ok() ? ctx.complete(said.value()) : ctx.fail(said.error());
}
Poll wanted_code(OrchestrationContext& ctx) { return ctx.complete("code"); }

class WorkerThatComes : public UnknownNames,
                        public ::testing::WithParamInterface<std::tuple<const char*, int>> {};
INSTANTIATE_TEST_SUITE_P(
    For, WorkerThatComes,
    ::testing::Combine(::testing::Values("plain", "session", "exclusive", "own", "tag", "policy",
                                         "code", "ownedsession", "ownedexclusive", "ownedown"),
                       ::testing::Values(0, 1, 3, 30, 100)));

// One worker has been alone with the work for a while; then another comes that can run it.
TEST_P(WorkerThatComes, BeginsAtOnce) {
  const auto [how, seconds] = GetParam();
  const bool is_code = std::string_view(how) == "code";
  // An orchestration is reported once it has waited for a second.
  testing::expect_errors(is_code ? "orchestration_unregistered" : "activity_unregistered",
                         is_code && seconds < 2 ? 0 : 1);
  ASSERT_EQ(plain.add_orchestration("wanted", wanted), Status::kOk);
  Registry& able = another_registry();
  ASSERT_EQ(able.add_activity("wanted", say), Status::kOk);
  if (is_code) {
    ASSERT_EQ(able.add_orchestration("wanted_code", wanted_code), Status::kOk);
  }
  Worker& first = start_worker(plain, options);
  start("a", is_code ? "wanted_code" : "wanted", how);
  pass(seconds * 1'000);
  options.worker_node_id = "B";
  options.run_orchestrations = is_code;
  options.worker_tag_filter = TagFilter::any();
  start_worker(able, options);
  const std::int64_t begun = machine.boot_ms();
  EXPECT_TRUE(ends("a", 600'000));
  EXPECT_EQ(client().status("a").output, is_code ? "code" : "said");
  EXPECT_LE(machine.boot_ms() - begun, 100) << first.lines.all();
}

Poll waits_then_works(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  PAWL_AWAIT(said, ctx.schedule_activity("wanted", "", Target::session("s")));
  return said.ok() ? ctx.complete(said.value()) : ctx.fail(said.error());
}

// The worker that began the instance was killed, and a message came while only others ran.
TEST_F(UnknownNames, WhatACapableWorkerLeftBehindGoesOnAtOnce) {
  testing::expect_errors("orchestration_unregistered", 7);
  Registry& able = another_registry();
  ASSERT_EQ(able.add_activity("wanted", say), Status::kOk);
  ASSERT_EQ(able.add_orchestration("wanted", waits_then_works), Status::kOk);
  for (const bool is_early : {false, true}) {
    for (const int seconds : {0, 1, 7, 40}) {
      SCOPED_TRACE(seconds);
      const std::string id = "a" + std::to_string(seconds) + (is_early ? "early" : "");
      options.worker_node_id = std::nullopt;
      Worker* first = is_early ? &start_worker(plain, named("A")) : nullptr;
      Worker& gone = start_worker(able, options);
      start(id, "wanted");
      pass({&gone}, 1'000);
      gone.kill();
      if (!is_early) first = &start_worker(plain, named("A"));
      raise_event(id, "go");
      pass(seconds * 1'000);
      const Worker& second = start_worker(able, options);
      const std::int64_t begun = machine.boot_ms();
      EXPECT_TRUE(ends(id, 600'000));
      EXPECT_LE(machine.boot_ms() - begun, 100) << first->lines.all() << second.lines.all();
      workers.clear();
    }
  }
}

}  // namespace
}  // namespace pawl
