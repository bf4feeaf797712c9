// Goal: a limit that is met ends or stops the instance that met it, is known to the parent, and
// may be raised; what is below a limit runs, however much it is.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "pawl/runtime_board.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::KeptEvent;
using testing::Story;
using testing::Worker;

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

// The input names the limit that ends it: "output", "input", "history" or "calls".
Poll over_a_limit(OrchestrationContext& ctx) {
  const std::string which(ctx.input());
  const std::string too_long(70'000, 'x');
  if (which == "output") return ctx.complete(too_long);
  if (which == "input") return ctx.continue_as_new(too_long);
  for (int i = 0; i < 10'000; ++i) {
    const Handle asked = ctx.schedule_activity("echo", "x");
    if (which == "history") PAWL_AWAIT_DONE(asked);
  }
  return ctx.complete("never");
}

Poll asks(OrchestrationContext& ctx) {
  PAWL_AWAIT(child,
             ctx.schedule_sub_orchestration("over_a_limit", ctx.input(),
                                            {InstanceId("child of " + std::string(ctx.input()))}));
  return ctx.complete(error_kind_name(child.error().kind));
}

Poll join_of_two_thousand(OrchestrationContext& ctx) {
  constexpr std::size_t kCount = 2'000;
  std::vector<Handle> all;
  for (std::size_t i = 0; i < kCount; ++i)
    all.push_back(ctx.schedule_activity("echo", std::to_string(i)));
  PAWL_AWAIT_DONE(ctx.join_all(all.data(), all.size()));
  std::size_t sum = 0;
  for (const Handle& one : all) {
    PAWL_AWAIT(value, one);
    sum += std::stoul(std::string(value.value()));
  }
  return ctx.complete(std::to_string(sum));
}

// Continues as new when it is asked to stop; the next execution begins with the cancel request.
Poll hands_on(OrchestrationContext& ctx) {
  if (ctx.execution_id() == 2)
    return ctx.complete(std::string(ctx.input()) + (ctx.cancel_requested() ? " asked" : " free"));
  PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  return ctx.continue_as_new("next");
}

// Waits for as many events as its input says; each makes two events of the history.
Poll collects(OrchestrationContext& ctx) {
  const int wanted = std::stoi(std::string(ctx.input()));
  for (int i = 0; i < wanted; ++i)
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  return ctx.complete("collected");
}

class RuntimeLimits : public Story {
 protected:
  RuntimeLimits() { add("echo", echo); }
};

// A parent is notified in the commit that ends its child, however the child ends; the child's
// history has one end, its last event.
TEST_F(RuntimeLimits, LimitInAChildReachesItsParent) {
  add("over_a_limit", over_a_limit);
  add("asks", asks);
  options.limits.history_events_max = 64;
  start_worker();
  for (const char* which : {"output", "input", "history", "calls"}) {
    const std::string id = std::string("parent of ") + which;
    start(id, "asks", which);
    EXPECT_EQ(end_of(id), "completed limit") << which;
    const std::vector<KeptEvent> events = history(std::string("child of ") + which);
    EXPECT_EQ(count(events, "ended"), 1U) << which;
    EXPECT_EQ(events.back().kind, "ended") << which;
  }
}

// An instance fails at the limit under which it began, and stops at a lower one that came later.
TEST_F(RuntimeLimits, OverALoweredLimitOfItsHistoryItStopsUntilAWorkerWithMoreStarts) {
  // Twice for each case: at the limit, and with the next worker that has the same limit.
  testing::expect_errors("instance_stopped", 2 * 3);
  add("collects", collects);
  const auto worker_of = [&](std::uint32_t events_max) {
    options.limits.history_events_max = events_max;
    restart();
  };
  const auto go = [&](std::string_view id, int times) {
    for (int i = 0; i < times; ++i) {
      raise_event(id, "go");
      pass(1);
    }
  };
  struct Case {
    const char* id;
    std::uint32_t begun, raised;
    int before, between;  // how many events are sent under each limit
  };
  // The history is longer than the lowered limit when that limit comes; is shorter; or began under
  // it, and the limit was raised in between.
  for (const Case& one : {Case{"longer", 256, 256, 20, 20}, Case{"shorter", 256, 256, 5, 5},
                          Case{"raised", 64, 256, 10, 30}}) {
    worker_of(one.begun);
    start(one.id, "collects", "60");
    go(one.id, one.before);
    worker_of(one.raised);
    go(one.id, one.between);
    int sent = one.before + one.between;
    worker_of(64);
    for (; sent < 60 && is_running(one.id); ++sent)
      go(one.id, 1);
    const OrchestrationStatus stopped = client().status(one.id);
    EXPECT_EQ(stopped.state, OrchestrationState::kStopped) << one.id;
    EXPECT_EQ(stopped.error, ErrorKind::kLimit);
    EXPECT_NE(std::string_view(stopped.output).find("events_max (64)"), std::string_view::npos)
        << stopped.output;
    worker_of(64);
    pass(1'000);
    EXPECT_EQ(client().status(one.id).state, OrchestrationState::kStopped) << "it is no larger";
    go(one.id, 60 - sent);
    worker_of(256);
    EXPECT_EQ(end_of(one.id), "completed collected") << one.id;
  }
}

TEST_F(RuntimeLimits, AsManyOrchestrationsAsTheOptionSays) {
  constexpr std::size_t kMost = Registry::kOrchestrationsMost;
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= kMost; ++i)
    names.push_back("many" + std::to_string(i));
  std::vector<Registry::OrchestrationEntry> room(kMost);
  Registry many;
  many.give_room(room.data(), room.size());
  const auto add_one = [&] {
    return many.add_orchestration(
        names[many.orchestration_count()].c_str(),
        [](OrchestrationContext& ctx) -> Poll { return ctx.complete(ctx.orchestration_name()); });
  };
  while (many.orchestration_count() < kMost)
    ASSERT_EQ(add_one(), Status::kOk);
  EXPECT_EQ(add_one(), Status::kResourceExhausted);
  EXPECT_EQ(many.add_orchestration(names.front().c_str(), over_a_limit), Status::kAlreadyExists);
  EXPECT_EQ(many.set_default_version(names[kMost - 1], "1.0.0"), Status::kOk);
  options.limits.orchestrations_max = kMost - 1;
  Worker refused(machine, many, options);
  EXPECT_EQ(refused.start(), Status::kInvalidOptions);
  const std::size_t bytes_of_one_less = Runtime::required_memory(options);
  options.limits.orchestrations_max = kMost;
  EXPECT_GT(Runtime::required_memory(options), bytes_of_one_less);
  RuntimeBoard board;
  options.board = &board;
  Worker& worker = start_worker(many, options);
  for (std::size_t i = 0; i < kMost; i += 10)
    start(names[i], names[i]);
  start(names[kMost - 1], names[kMost - 1]);
  for (std::size_t i = 0; i < kMost; i += 10)
    EXPECT_EQ(end_of(names[i]), "completed " + names[i]);
  EXPECT_EQ(end_of(names[kMost - 1]), "completed " + names[kMost - 1]);
  ASSERT_NE(worker.runtime->orchestration_stats(names[kMost - 1]), nullptr);
  EXPECT_EQ(worker.runtime->orchestration_stats(names[kMost - 1])->completed, 1U);
  pass(2'000);
  auto counters = std::make_unique<RuntimeCounters>();
  ASSERT_TRUE(board.read(counters.get()));
  EXPECT_EQ(counters->orchestration_count, 64U);
  EXPECT_EQ(counters->orchestrations_left_out, kMost / 10 + 2 - 64);
  options.board = nullptr;
  options.limits.orchestrations_max = kMost + 1;
  EXPECT_EQ(Runtime::required_memory(options), 0U) << "the option is not valid";
  workers.clear();  // before the objects of this test that the workers refer to
}

TEST_F(RuntimeLimits, JoinOfTwoThousandActivities) {
  add("join", join_of_two_thousand);
  options.limits.commands_a_turn_max = 4'096;
  options.limits.history_events_max = 8'192;
  options.limits.warm_bytes = std::size_t{2} * 1024 * 1024;
  options.verify_turns = false;
  start_worker();
  start("a", "join");
  pass(1);
  restart();
  EXPECT_EQ(end_of("a"), "completed 1999000");
}

// A tick reads the start and the cancel request behind it in addition to all messages that wait,
// though the smallest options read one message a tick. (When they counted with the others, the
// execution stopped, or ran on data behind the end of its message array.)
TEST_F(RuntimeLimits, RequestThatIsHandedOnCountsForNoLimitOfATick) {
  options = Options::smallest();
  options.database_path = testing::kPath;
  options.verify_turns = true;
  ASSERT_EQ(options.limits.instance_batch_max, 1U);
  options.limits.activities_max = 1;
  options.limits.queue_messages_max = 2;
  add("hands_on", hands_on);
  start_worker();
  for (const int waiting : {0, 1, 2}) {
    for (const bool seen : {false, true}) {
      const std::string id = std::to_string(waiting) + (seen ? " seen" : " new");
      SCOPED_TRACE(id);
      start(id, "hands_on");
      pass(1'000);
      for (int i = 0; i < waiting; ++i)
        enqueue_event(id, "q", "kept");
      if (seen) pass(1'000);
      cancel_instance(id, "stop");
      EXPECT_EQ(end_of(id), "completed next asked");
      const std::vector<KeptEvent> all = history(id, 2);
      ASSERT_GE(all.size(), 2U);
      EXPECT_EQ(all[0].payload, "next");
      EXPECT_EQ(all[1].payload, "stop");
    }
  }
}

}  // namespace
}  // namespace pawl
