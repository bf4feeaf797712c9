// Goal: typical programs of users work as they expect, end to end. Method: small whole programs on
// the simulated machine; many run twice, calmly and with a kill every few ticks, and the result
// must be the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "pawl/json.hpp"
#include "pawl/visit.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::Story;
using testing::Worker;

// The effects of activities, in order; after a kill, one may be there twice.
std::vector<std::string> g_log;
sim::Machine* g_machine = nullptr;
Worker* g_worker = nullptr;
bool g_cancelled = false;

std::string log_text() {
  std::string all;
  for (std::size_t i = 0; i < g_log.size(); ++i)
    if (i == 0 || g_log[i] != g_log[i - 1]) all += g_log[i] + ";";
  return all;
}

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

ActivityResult note(ActivityContext& ctx) {
  g_log.emplace_back(ctx.input());
  return ctx.ok(ctx.input());
}

ActivityResult greet(ActivityContext& ctx) { return ctx.ok("Hello, " + std::string(ctx.input())); }

ActivityResult refuse(ActivityContext& ctx) { return ctx.fail("no such valve"); }

// Blocks for a while, and lets its Runtime run meanwhile.
ActivityResult slow(ActivityContext& ctx) {
  for (int i = 0; i < 20 && !ctx.is_cancelled(); ++i) {
    g_machine->advance(1'000);
    static_cast<void>(g_worker->runtime->tick(std::chrono::milliseconds::max()));
  }
  g_cancelled = ctx.is_cancelled();
  return ctx.ok("late");
}

class Scenario : public Story {
 protected:
  Scenario() {
    g_log.clear();
    g_machine = &machine;
    g_worker = nullptr;
    g_cancelled = false;
    add("echo", echo);
    add("note", note);
    add("greet", greet);
    add("refuse", refuse);
    add("slow", slow, ActivityMode::kThreaded);
  }
  // Runs twice: calmly, and with a kill every few ticks.
  std::string both_ways(const char* name, std::string_view input = "") {
    start("calm", name, input);
    start_worker();
    const std::string calm = end_of("calm");
    start("killed", name, input);
    const std::string killed = end_with_kills("killed");
    return calm == killed ? calm : calm + " but with kills: " + killed;
  }
};

// ---- steps ----

Poll hello(OrchestrationContext& ctx) {
  PAWL_AWAIT(greeting, ctx.schedule_activity("greet", ctx.input()));
  return ctx.complete(greeting.value());
}

TEST_F(Scenario, Hello) {
  add("hello", hello);
  EXPECT_EQ(both_ways("hello", "bed 7"), "completed Hello, bed 7");
}

// Returns all that an activity knows of itself, its instance and its worker.
ActivityResult who_am_i(ActivityContext& ctx) {
  ctx.trace(LogLevel::kInfo, "here I am");
  std::string all;
  for (const std::string_view part :
       {ctx.instance_id(), ctx.orchestration_name(), ctx.orchestration_version(),
        ctx.activity_name(), ctx.session_id(), ctx.worker_id(), ctx.input()})
    all += std::string(part) + "|";
  all += std::to_string(ctx.execution_id()) + "|" + std::to_string(ctx.attempt()) + "|" +
         std::to_string(ctx.retry_attempt());
  g_log.emplace_back(ctx.idempotency_key());
  return ctx.ok(all);
}

Poll asks_who(OrchestrationContext& ctx) {
  if (ctx.execution_id() == 1) return ctx.continue_as_new(ctx.input());
  PAWL_AWAIT(plain, ctx.schedule_activity("who_am_i", "in"));
  PAWL_AWAIT(on_session, ctx.schedule_activity("who_am_i", "in", Target::session("bus")));
  return ctx.complete(std::string(plain.value()) + " " + std::string(on_session.value()));
}

TEST_F(Scenario, ActivityKnowsWhereItIs) {
  add("asks_who", asks_who, "3.1.4");
  add("who_am_i", who_am_i);
  options.worker_node_id = "node-1";
  const Worker& worker = start_worker();
  start("a", "asks_who");
  EXPECT_EQ(end_of("a"),
            "completed a|asks_who|3.1.4|who_am_i||node-1|in|2|1|1 "
            "a|asks_who|3.1.4|who_am_i|bus|node-1|in|2|1|1");
  EXPECT_EQ(worker.lines.count("here I am"), 2U);
  ASSERT_EQ(g_log.size(), 2U);
  EXPECT_NE(g_log[0], g_log[1]);
}

Poll control_flow(OrchestrationContext& ctx) {
  PAWL_AWAIT(kind, ctx.schedule_activity("echo", ctx.input()));
  if (kind.value() == "dry") {
    PAWL_AWAIT(opened, ctx.schedule_activity("echo", "opened"));
    return ctx.complete(opened.value());
  }
  if (kind.value() == "wet") return ctx.complete("nothing to do");
  return ctx.fail("unknown: " + std::string(kind.value()));
}

TEST_F(Scenario, ControlFlow) {
  add("flow", control_flow);
  start_worker();
  start("dry", "flow", "dry");
  start("wet", "flow", "wet");
  start("odd", "flow", "odd");
  EXPECT_EQ(end_of("dry"), "completed opened");
  EXPECT_EQ(end_of("wet"), "completed nothing to do");
  EXPECT_EQ(end_of("odd"), "failed application unknown: odd");
}

Poll loop(OrchestrationContext& ctx) {
  std::string all;
  for (int i = 0; i < 5; ++i) {
    PAWL_AWAIT(one, ctx.schedule_activity("echo", std::to_string(i)));
    all += one.value();
  }
  return ctx.complete(all);
}

TEST_F(Scenario, Loop) {
  add("loop", loop);
  EXPECT_EQ(both_ways("loop"), "completed 01234");
}

// ---- failures ----

Poll falls_back(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("refuse", ""));
  if (first.ok()) return ctx.complete("refuse worked");
  PAWL_AWAIT(second, ctx.schedule_activity("echo", first.error().text));
  return ctx.complete("mended: " + std::string(second.value()));
}

TEST_F(Scenario, ErrorHandling) {
  add("falls_back", falls_back);
  EXPECT_EQ(both_ways("falls_back"), "completed mended: no such valve");
}

Poll saga(OrchestrationContext& ctx) {
  static constexpr const char* kSteps[] = {"note", "note", "note", "refuse"};
  static constexpr const char* kParts[] = {"valve", "pump", "lamp", "camera"};
  std::size_t done = 0;
  std::string error;
  for (; done < 4 && error.empty(); ++done) {
    PAWL_AWAIT(step, ctx.schedule_activity(kSteps[done], std::string("on ") + kParts[done]));
    if (!step.ok()) error = std::string(step.error().text);
  }
  if (error.empty()) return ctx.complete("all on");
  for (--done; done > 0; --done)
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", std::string("off ") + kParts[done - 1]));
  return ctx.fail(error);
}

TEST_F(Scenario, CompensationSaga) {
  add("saga", saga);
  start("calm", "saga");
  start_worker();
  EXPECT_EQ(end_of("calm"), "failed application no such valve");
  EXPECT_EQ(log_text(), "on valve;on pump;on lamp;off lamp;off pump;off valve;");
  g_log.clear();
  start("killed", "saga");
  EXPECT_EQ(end_with_kills("killed"), "failed application no such valve");
  EXPECT_EQ(log_text(), "on valve;on pump;on lamp;off lamp;off pump;off valve;");
}

// ---- races ----

Poll timeout_race(OrchestrationContext& ctx) {
  const Handle work = ctx.schedule_activity("slow", "");
  const Handle limit = ctx.schedule_timer(std::chrono::seconds(3));
  PAWL_AWAIT(first, ctx.select(work, limit));
  if (first.index() == 0) return ctx.complete("in time");
  PAWL_AWAIT(of_loser, work);
  return ctx.complete("too late, the loser is " +
                      std::string(error_kind_name(of_loser.error().kind)));
}

TEST_F(Scenario, TimeoutRace) {
  add("timeout_race", timeout_race);
  g_worker = &start_worker();
  start("a", "timeout_race");
  EXPECT_EQ(end_of("a"), "completed too late, the loser is closed");
}

// The loser learns of its cancellation while it runs, long before its lock would have been renewed;
// its result is counted and dropped.
TEST_F(Scenario, SelectLoserReceivesCancellation) {
  add("timeout_race", timeout_race);
  g_worker = &start_worker();
  start("a", "timeout_race");
  const std::int64_t begin = machine.boot_ms();
  EXPECT_EQ(end_of("a"), "completed too late, the loser is closed");
  EXPECT_TRUE(g_cancelled);
  EXPECT_LE(machine.boot_ms() - begin, 5'000);
  pass(100);
  EXPECT_EQ(g_worker->runtime->stats().activities_refused, 1U);
  EXPECT_EQ(count(history("a"), "activity_done"), 0U);
}

Poll activity_or_event(OrchestrationContext& ctx) {
  const Handle approved = ctx.schedule_wait("approved");
  const Handle asked = ctx.schedule_activity(ctx.input() == "quick" ? "echo" : "nobody_has_it", "");
  PAWL_AWAIT(first, ctx.select(asked, approved));
  return ctx.complete(first.index() == 0 ? "activity" : "event " + std::string(first.value()));
}

TEST_F(Scenario, ActivityVersusEvent) {
  testing::expect_errors("activity_unregistered");
  add("either", activity_or_event);
  start_worker();
  start("a", "either", "quick");
  start("b", "either", "");
  pass(1'000);
  raise_event("b", "approved", "yes");
  EXPECT_EQ(end_of("a"), "completed activity");
  EXPECT_EQ(end_of("b"), "completed event yes");
}

// Handles are plain values: an activity whose handle goes out of scope stays open until the
// execution ends, and is closed then.
Poll out_of_scope(OrchestrationContext& ctx) {
  {
    const Handle unused = ctx.schedule_activity("slow", "");
    static_cast<void>(unused);
  }
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(4)));
  return ctx.complete("done");
}

TEST_F(Scenario, OutOfScopeHandleIsClosedAtTheEnd) {
  add("out_of_scope", out_of_scope);
  g_worker = &start_worker();
  start("a", "out_of_scope");
  EXPECT_EQ(end_of("a"), "completed done");
  EXPECT_TRUE(g_cancelled);
  EXPECT_EQ(g_worker->runtime->stats().activities_refused, 1U);
}

// The turn that schedules both cancels both: neither is ever there.
Poll changes_its_mind(OrchestrationContext& ctx) {
  const Handle work = ctx.schedule_activity("note", "never");
  const Handle timer = ctx.schedule_timer(std::chrono::hours(1));
  ctx.cancel(work);
  ctx.cancel(timer);
  PAWL_AWAIT(of_work, work);
  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "instead"));
  return ctx.complete(error_kind_name(of_work.error().kind));
}

TEST_F(Scenario, GivenUpInTheSameTurnNeverRuns) {
  add("changes_its_mind", changes_its_mind);
  EXPECT_EQ(both_ways("changes_its_mind"), "completed closed");
  EXPECT_EQ(log_text(), "instead;");
  Metrics metrics;
  ASSERT_EQ(client()->get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.timers_waiting, 0);
}

// No activity is stopped by force: the instance ends at once, and the thread when it returns.
ActivityResult deaf(ActivityContext& ctx) {
  for (int i = 0; i < 30; ++i) {
    g_machine->advance(1'000);
    static_cast<void>(g_worker->runtime->tick(std::chrono::milliseconds::max()));
  }
  return ctx.ok("at last");
}

Poll waits_for_deaf(OrchestrationContext& ctx) {
  PAWL_AWAIT(work, ctx.schedule_activity("deaf", ""));
  return work.cancelled() ? ctx.complete("gave up") : ctx.complete(work.value());
}

TEST_F(Scenario, ActivityThatIgnoresItsCancellationHoldsNothingUp) {
  testing::expect_errors("activity_abandoned");
  add("waits", waits_for_deaf);
  add("deaf", deaf, ActivityMode::kThreaded);
  g_worker = &start_worker();
  start("a", "waits");
  static_cast<void>(g_worker->runtime->tick(std::chrono::milliseconds::max()));
  cancel_instance("a", "enough");
  EXPECT_EQ(end_of("a"), "completed gave up");
  pass(1'000);
  EXPECT_EQ(g_worker->runtime->stats().activities_refused, 1U);
  EXPECT_EQ(count(history("a"), "activity_done"), 0U);
}

// ---- time and system calls ----

Poll system_calls(OrchestrationContext& ctx) {
  const Guid first = ctx.new_guid();
  const std::int64_t utc = ctx.utc_now_ms();
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(5)));
  PAWL_AWAIT(echoed, ctx.schedule_activity("echo", first.view()));
  const Guid second = ctx.new_guid();
  const std::int64_t later = ctx.utc_now_ms();
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(5)));
  const bool good = echoed.value() == first.view() && first.view() != second.view() &&
                    later - utc >= 5'000 && ctx.now_ms() - later >= 5'000;
  return good ? ctx.complete("stable") : ctx.fail("unstable");
}

TEST_F(Scenario, SystemCalls) {
  add("system_calls", system_calls);
  EXPECT_EQ(both_ways("system_calls"), "completed stable");
  // System calls cost no activity: the only activity of each instance is the echo.
  EXPECT_EQ(count(history("calm"), "activity"), 1U);
}

// An instance watches the state of a job outside Pawl.
std::int64_t g_job_ready_ms = 0;
ActivityResult job_state(ActivityContext& ctx) {
  g_log.emplace_back("asked");
  return ctx.ok(g_machine->boot_ms() >= g_job_ready_ms ? "done" : "busy");
}

Poll monitor(OrchestrationContext& ctx) {
  for (int asked = 1; asked <= 10; ++asked) {
    PAWL_AWAIT(state, ctx.schedule_activity("job_state", ""));
    if (state.value() == "done") return ctx.complete("after " + std::to_string(asked));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(30)));
  }
  return ctx.fail("never done");
}

TEST_F(Scenario, StatusPolling) {
  add("monitor", monitor);
  add("job_state", job_state);
  g_job_ready_ms = machine.boot_ms() + 100'000;
  start_worker();
  start("a", "monitor");
  EXPECT_EQ(end_of("a"), "completed after 5");
  EXPECT_EQ(g_log.size(), 5U);
}

// A timer is relative to the commit that made it, whichever worker runs later: a restart in the
// middle neither shortens it nor begins it anew.
Poll minute(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(60)));
  return ctx.complete("a minute");
}

TEST_F(Scenario, TimerIsAbsoluteOverRestarts) {
  add("minute", minute);
  start_worker();
  const std::int64_t begin = machine.boot_ms();
  start("a", "minute");
  for (int i = 0; i < 5; ++i) {
    pass(10'000);
    restart();
  }
  EXPECT_EQ(end_of("a"), "completed a minute");
  EXPECT_GE(machine.boot_ms() - begin, 60'000);
  EXPECT_LE(machine.boot_ms() - begin, 60'050);
}

// ---- other orchestrations ----

Poll basic_child(OrchestrationContext& ctx) {
  PAWL_AWAIT(greeting, ctx.schedule_sub_orchestration("hello", ctx.input()));
  return ctx.complete("child said: " + std::string(greeting.value()));
}

TEST_F(Scenario, SubOrchestrationBasic) {
  add("hello", hello);
  add("basic", basic_child);
  EXPECT_EQ(both_ways("basic", "bed"), "completed child said: Hello, bed");
}

Poll fan_out(OrchestrationContext& ctx) {
  Handle children[6];
  for (int i = 0; i < 6; ++i)
    children[i] = ctx.schedule_sub_orchestration("hello", std::to_string(i));
  PAWL_AWAIT_DONE(ctx.join_all(children, 6));
  std::string all;
  for (const Handle& child : children) {
    PAWL_AWAIT(greeting, child);
    all += greeting.value().back();
  }
  return ctx.complete(all);
}

TEST_F(Scenario, SubOrchestrationFanOut) {
  add("hello", hello);
  add("fan_out", fan_out);
  EXPECT_EQ(both_ways("fan_out"), "completed 012345");
}

Poll chained(OrchestrationContext& ctx) {
  std::string text(ctx.input());
  for (int i = 0; i < 3; ++i) {
    PAWL_AWAIT(greeting, ctx.schedule_sub_orchestration("hello", text));
    text = std::string(greeting.value());
  }
  return ctx.complete(text);
}

TEST_F(Scenario, SubOrchestrationChained) {
  add("hello", hello);
  add("chained", chained);
  EXPECT_EQ(both_ways("chained", "bed"), "completed Hello, Hello, Hello, bed");
}

Poll leaf(OrchestrationContext& ctx) {
  PAWL_AWAIT(waited, ctx.schedule_wait("never"));
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT_DONE(
      ctx.schedule_activity("note", "leaf " + std::string(error_kind_name(waited.error().kind))));
  return ctx.fail(waited.error());
}
Poll middle(OrchestrationContext& ctx) {
  PAWL_AWAIT(below, ctx.schedule_sub_orchestration("leaf", "", {InstanceId("leaf")}));
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT_DONE(
      ctx.schedule_activity("note", "middle " + std::string(error_kind_name(below.error().kind))));
  return ctx.fail(below.error());
}
Poll top(OrchestrationContext& ctx) {
  PAWL_AWAIT(below, ctx.schedule_sub_orchestration("middle", "", {InstanceId("middle")}));
  return ctx.fail(below.error());
}

TEST_F(Scenario, ParentCancelCascade) {
  add("leaf", leaf);
  add("middle", middle);
  add("top", top);
  start_worker();
  start("top", "top");
  pass(1'000);
  ASSERT_TRUE(is_running("leaf"));
  cancel_instance("top", "enough");
  for (const char* id : {"top", "middle", "leaf"})
    EXPECT_EQ(end_of(id).substr(0, 16), "failed cancelled") << id;
  EXPECT_EQ(log_text(), "middle cancelled;leaf cancelled;");
}

Poll detaches(OrchestrationContext& ctx) {
  if (ctx.start_orchestration("hello", InstanceId("on its own"), "bed") != ErrorKind::kNone)
    return ctx.fail("refused");
  PAWL_AWAIT(noted, ctx.schedule_activity("echo", "and on"));
  return ctx.complete(noted.value());
}

TEST_F(Scenario, DetachedThenActivity) {
  add("hello", hello);
  add("detaches", detaches);
  start("a", "detaches");
  EXPECT_EQ(end_with_kills("a"), "completed and on");
  EXPECT_EQ(end_with_kills("on its own"), "completed Hello, bed");
}

// ---- continue-as-new and versions ----

Poll counts_to_ten(OrchestrationContext& ctx) {
  const int n = std::stoi(std::string(ctx.input()));
  PAWL_AWAIT(next, ctx.schedule_activity("echo", std::to_string(n + 1)));
  if (n + 1 < 10) return ctx.continue_as_new(next.value());
  return ctx.complete(std::string(next.value()) + " in " + std::to_string(ctx.execution_id()));
}

TEST_F(Scenario, ContinueAsNew) {
  add("counts", counts_to_ten);
  EXPECT_EQ(both_ways("counts", "0"), "completed 10 in 10");
}

// The code and its activities know the version, which stays as it was at the start of the
// execution.
ActivityResult version_seen(ActivityContext& ctx) { return ctx.ok(ctx.orchestration_version()); }

Poll says_its_version(OrchestrationContext& ctx) {
  const std::string before(ctx.orchestration_version());
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  PAWL_AWAIT(seen, ctx.schedule_activity("version_seen", ""));
  const std::string all = before + "," + std::string(ctx.orchestration_version()) + "," +
                          std::string(seen.value()) + " ";
  return ctx.execution_id() == 1 ? ctx.continue_as_new(all)
                                 : ctx.complete(std::string(ctx.input()) + all);
}

TEST_F(Scenario, VersionedUpgradeOfARunningInstance) {
  add("version_seen", version_seen);
  add("upgrade", says_its_version, "1.0.0");
  start("a", "upgrade");
  start_worker();
  pass(5'000);
  add("upgrade", says_its_version, "1.1.0-rc.1");
  add("upgrade", says_its_version, "1.1.0");
  restart();
  EXPECT_EQ(end_of("a"), "completed 1.0.0,1.0.0,1.0.0 1.1.0,1.1.0,1.1.0 ");
}

// The instance runs for ever; this activity keeps its history short through a client of its own.
ActivityResult prune(ActivityContext& ctx) {
  Removed pruned;
  const Status status = (*static_cast<testing::TestClient*>(ctx.user()))
                            ->prune_executions(ctx.instance_id(), 2, 0, &pruned);
  return status == Status::kOk ? ctx.ok(std::to_string(pruned.executions))
                               : ctx.fail(status_name(status));
}

Poll eternal(OrchestrationContext& ctx) {
  PAWL_AWAIT(pruned, ctx.schedule_activity("prune", ""));
  if (!pruned.ok()) return ctx.fail(pruned.error());
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  return ctx.continue_as_new("");
}

TEST_F(Scenario, SelfPruningEternal) {
  testing::TestClient for_activities(machine, testing::kPath, client_options);
  add("eternal", eternal);
  add("prune", prune, ActivityMode::kInline, &for_activities);
  start_worker();
  start("a", "eternal");
  pass(200'000);
  int count = 0;
  auto executions = visit([&](const ExecutionInfo&) { ++count; });
  ASSERT_EQ(client()->list_executions("a", executions), Status::kOk);
  EXPECT_GE(client().status("a").execution_id, 19);
  EXPECT_EQ(count, 2);
}

// ---- typed payloads ----

struct Order {
  JsonText<16> bed;
  std::int32_t litres = 0;
  bool urgent = false;
};
PAWL_JSON(Order, bed, litres, urgent)

// Adds one litre to an order.
std::string one_more(std::string_view text) {
  Order order;
  Diagnostic why;
  char out[128];
  std::size_t size = 0;
  if (from_json(text, &order, &why) != Status::kOk) return std::string(why.text());
  order.litres += 1;
  if (to_json(order, out, sizeof out, &size, &why) != Status::kOk) return std::string(why.text());
  return {out, size};
}

ActivityResult fills(ActivityContext& ctx) { return ctx.ok(one_more(ctx.input())); }

Poll typed_child(OrchestrationContext& ctx) { return ctx.complete(one_more(ctx.input())); }

Poll typed(OrchestrationContext& ctx) {
  PAWL_AWAIT(filled, ctx.schedule_activity("fills", one_more(ctx.input())));
  PAWL_AWAIT(child, ctx.schedule_sub_orchestration("typed_child", filled.value()));
  PAWL_AWAIT(event, ctx.schedule_wait("order"));
  PAWL_AWAIT(message, ctx.dequeue_event("orders"));
  return ctx.complete(std::string(child.value()) + one_more(event.value()) +
                      one_more(message.value()));
}

TEST_F(Scenario, TypedPayloadsAndEvents) {
  add("typed", typed);
  add("typed_child", typed_child);
  add("fills", fills);
  start_worker();
  start("a", "typed", R"({"bed":"7","litres":1,"urgent":true})");
  pass(1'000);
  raise_event("a", "order", R"({"bed":"e","litres":10,"urgent":false})");
  enqueue_event("a", "orders", R"({"bed":"q","litres":20,"urgent":false})");
  EXPECT_EQ(end_of("a"),
            R"(completed {"bed":"7","litres":4,"urgent":true})"
            R"({"bed":"e","litres":11,"urgent":false}{"bed":"q","litres":21,"urgent":false})");
}

// ---- long-lived instances ----

// Works in rounds. Between them it takes a new configuration from its queue, and passes it on to
// the next execution.
Poll reloads(OrchestrationContext& ctx) {
  std::string config(ctx.input());
  for (int round = 0; round < 4; ++round) {
    const Handle next = ctx.dequeue_event("config");
    const Handle tick = ctx.schedule_timer(std::chrono::seconds(10));
    PAWL_AWAIT(first, ctx.select(next, tick));
    if (first.cancelled()) return ctx.complete("last " + config);
    if (first.index() == 0) {
      config = std::string(first.value());
      continue;
    }
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", config));
  }
  return ctx.continue_as_new(config);
}

TEST_F(Scenario, ConfigHotReload) {
  add("reloads", reloads);
  start_worker();
  start("a", "reloads", "v1");
  pass(25'000);
  enqueue_event("a", "config", "v2");
  pass(25'000);
  restart();
  enqueue_event("a", "config", "v3");
  enqueue_event("a", "config", "v4");
  pass(55'000);
  EXPECT_EQ(log_text(), "v1;v2;v4;");
  EXPECT_GE(client().status("a").execution_id, 3);
  cancel_instance("a", "off");
  EXPECT_EQ(end_of("a"), "completed last v4");
}

// One instance stands for one thing in the world: its state passes to the next execution, commands
// come by its queue, and its status shows the answer.
Poll actor(OrchestrationContext& ctx) {
  std::int64_t balance = std::stoll(std::string(ctx.input()));
  for (int served = 0; served < 3; ++served) {
    PAWL_AWAIT(command, ctx.dequeue_event("commands"));
    if (command.cancelled()) return ctx.complete(std::to_string(balance));
    const std::string text(command.value());
    if (text == "close") return ctx.complete(std::to_string(balance));
    balance += std::stoll(text);
    static_cast<void>(ctx.set_custom_status(std::to_string(balance)));
  }
  return ctx.continue_as_new(std::to_string(balance));
}

TEST_F(Scenario, ActorPattern) {
  add("actor", actor);
  start("a", "actor", "0");
  int sum = 0;
  for (int i = 1; i <= 20; ++i) {
    restart();
    enqueue_event("a", "commands", std::to_string(i));
    sum += i;
    if (i % 3 == 0) continue;  // several commands may wait
    ASSERT_TRUE(drive_until([&] { return shown("a") == std::to_string(sum); })) << shown("a");
  }
  enqueue_event("a", "commands", "close");
  EXPECT_EQ(end_of("a"), "completed 210");
}

// A conversation takes one message at a time from a queue, answers by an activity on the session
// that keeps the model warm, shows what it is doing as its status, and begins a new execution every
// few messages.
std::string g_session_of_model;
ActivityResult model(ActivityContext& ctx) {
  g_session_of_model += std::to_string(ctx.session_epoch()) + ",";
  return ctx.ok("re: " + std::string(ctx.input()));
}

Poll conversation(OrchestrationContext& ctx) {
  for (int turn = 0; turn < 4; ++turn) {
    static_cast<void>(ctx.set_custom_status("idle"));
    const Handle message = ctx.dequeue_event("user");
    const Handle patience = ctx.schedule_timer(std::chrono::minutes(30));
    PAWL_AWAIT(first, ctx.select(message, patience));
    if (first.cancelled() || first.index() == 1) return ctx.complete("bye");
    static_cast<void>(ctx.set_custom_status("thinking"));
    PAWL_AWAIT(answer,
               ctx.schedule_activity("model", first.value(), Target::session(ctx.instance_id())));
    static_cast<void>(ctx.set_custom_status("said " + std::string(answer.value())));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  }
  return ctx.continue_as_new("");
}

TEST_F(Scenario, AgentConversation) {
  g_session_of_model.clear();
  options.worker_node_id = "agent";
  add("conversation", conversation);
  add("model", model);
  start_worker();
  start("chat", "conversation");
  for (int i = 0; i < 10; ++i) {
    if (i == 6) restart();
    const std::string text = "m" + std::to_string(i);
    ASSERT_TRUE(drive_until([&] { return shown("chat") == "idle"; })) << shown("chat");
    enqueue_event("chat", "user", text);
    ASSERT_TRUE(drive_until([&] { return shown("chat") == "said re: " + text; })) << shown("chat");
  }
  EXPECT_EQ(client().status("chat").execution_id, 3);
  EXPECT_EQ(end_of("chat", 40 * 60'000), "completed bye");
  EXPECT_EQ(g_session_of_model, "1,1,1,1,1,1,2,2,2,2,");
}

// ---- sessions and several processes ----

std::vector<std::pair<std::string, std::string>> g_places;  // session, worker
ActivityResult place(ActivityContext& ctx) {
  g_places.emplace_back(ctx.session_id(), ctx.worker_id());
  return ctx.ok(ctx.worker_id());
}

Poll mixed(OrchestrationContext& ctx) {
  Handle all[12];
  for (int i = 0; i < 12; ++i)
    all[i] = i % 3 == 0 ? ctx.schedule_activity("place", "")
                        : ctx.schedule_activity("place", "",
                                                Target::session(i % 3 == 1 ? "bus-1" : "bus-2"));
  PAWL_AWAIT_DONE(ctx.join_all(all, 12));
  return ctx.complete("12");
}

TEST_F(Scenario, SessionFanOutMixed) {
  g_places.clear();
  add("mixed", mixed);
  add("place", place);
  options.slots.inline_activities = 2;
  start_worker();
  start_worker();
  for (int i = 0; i < 5; ++i)
    start("m" + std::to_string(i), "mixed");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(end_of("m" + std::to_string(i)), "completed 12");
  ASSERT_EQ(g_places.size(), 60U);
  for (const char* session : {"bus-1", "bus-2"}) {
    const auto first = std::find_if(g_places.begin(), g_places.end(),
                                    [&](const auto& one) { return one.first == session; });
    for (const auto& [name, worker] : g_places) {
      if (name == session) {
        EXPECT_EQ(worker, first->second);
      }
    }
  }
}

Poll on_its_session(OrchestrationContext& ctx) {
  PAWL_AWAIT(where, ctx.schedule_activity("place", "", Target::session(ctx.instance_id())));
  return ctx.complete(where.value());
}

// The only worker may own one session: work for a second one waits until the first is idle, and
// work without a session does not wait for either.
TEST_F(Scenario, SessionCapacityBlocksThenUnblocks) {
  g_places.clear();
  add("once", on_its_session);
  add("hello", hello);
  add("place", place);
  options.sessions.max_sessions_per_worker = 1;
  options.sessions.evict_idle = std::chrono::milliseconds(0);
  options.worker_node_id = "only";
  start_worker();
  start("first", "once");
  EXPECT_EQ(end_of("first"), "completed only");
  start("second", "once");
  start("beside", "hello", "x");
  EXPECT_EQ(end_of("beside", 1'000), "completed Hello, x");
  pass(60'000);
  EXPECT_TRUE(is_running("second"));
  EXPECT_EQ(end_of("second"), "completed only");
}

Poll session_upgrade(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("place", "", Target::session("bus")));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  const std::string all = std::string(ctx.input()) + std::string(ctx.orchestration_version()) + " ";
  return ctx.execution_id() == 2 ? ctx.complete(all) : ctx.continue_as_new(all);
}

TEST_F(Scenario, SessionSurvivesVersionedUpgrade) {
  g_places.clear();
  add("session_upgrade", session_upgrade, "1.0.0");
  add("place", place);
  Registry newer = registry;
  ASSERT_EQ(newer.add_orchestration("session_upgrade", session_upgrade, "2.0.0"), Status::kOk);
  Options holder = options;
  holder.run_orchestrations = false;
  holder.worker_node_id = "holder";
  start_worker(holder);
  Options decider = options;
  decider.slots.inline_activities = decider.slots.threads = 0;
  Worker& old = start_worker(decider);
  start("a", "session_upgrade");
  pass(5'000);
  old.kill();
  start_worker(newer, decider);
  EXPECT_EQ(end_of("a"), "completed 1.0.0 2.0.0 ");
  ASSERT_EQ(g_places.size(), 2U);
  EXPECT_EQ(g_places[0], g_places[1]);
}

// Three processes with different programs: each runs the names that it knows, and is not delayed by
// the others.
TEST_F(Scenario, HeterogeneousRuntimes) {
  g_places.clear();
  Registry deciding;
  Registry greeting;
  Registry placing;
  ASSERT_EQ(deciding.add_orchestration("hello", hello), Status::kOk);
  ASSERT_EQ(deciding.add_orchestration("mixed", mixed), Status::kOk);
  ASSERT_EQ(greeting.add_activity("greet", greet), Status::kOk);
  ASSERT_EQ(placing.add_activity("place", place, ActivityMode::kThreaded), Status::kOk);
  Options worker_only = options;
  worker_only.run_orchestrations = false;
  start_worker(deciding, options);
  start_worker(greeting, worker_only);
  worker_only.worker_node_id = "placing";
  start_worker(placing, worker_only);
  for (int i = 0; i < 4; ++i) {
    start("h" + std::to_string(i), "hello", "x");
    start("m" + std::to_string(i), "mixed");
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(end_of("h" + std::to_string(i)), "completed Hello, x");
    EXPECT_EQ(end_of("m" + std::to_string(i)), "completed 12");
  }
  for (const auto& [session, worker] : g_places)
    EXPECT_EQ(worker, "placing");
}

// ---- load ----

Poll large(OrchestrationContext& ctx) {
  std::size_t bytes = 0;
  for (const std::size_t size : {std::size_t{10'000}, std::size_t{30'000}, std::size_t{65'536}}) {
    PAWL_AWAIT(echoed, ctx.schedule_activity("echo", std::string(size, 'x')));
    bytes += echoed.value().size();
  }
  return ctx.complete(std::to_string(bytes));
}

TEST_F(Scenario, LargePayloads) {
  add("large", large);
  EXPECT_EQ(both_ways("large"), "completed 105536");
}

TEST_F(Scenario, ManyInstancesOnOneSlot) {
  add("loop", loop);
  options.slots.inline_activities = 1;
  options.slots.threads = 1;
  options.limits.batch = 1;
  options.limits.warm_instances = 2;
  start_worker();
  for (int i = 0; i < 40; ++i)
    start("i" + std::to_string(i), "loop");
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(end_of("i" + std::to_string(i)), "completed 01234");
}

}  // namespace
}  // namespace pawl
