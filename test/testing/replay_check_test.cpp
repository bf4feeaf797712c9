// replay_check on the simulated machine: recordings of real programs, checked against the same code
// and against other code.
#include "pawl/replay_check.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "pawl/testing.hpp"

namespace pawl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::World;

struct Answer {
  std::string text;
  std::string version;
  OrchestrationState state = OrchestrationState::kRunning;
  std::int64_t execution = 0;
  std::int64_t events = 0;
  bool go = false;
  ErrorKind why = ErrorKind::kNone;
};

class Answers final : public ReplayVisitor {
 public:
  void on_begin(std::string_view id) noexcept override { begun = id; }
  void on_answer(const ReplayAnswer& answer) noexcept override {
    EXPECT_EQ(answer.id, begun);
    EXPECT_EQ(answer.go, answer.why == ErrorKind::kNone);
    EXPECT_EQ(answer.go, answer.text.empty());
    of[std::string(answer.id)] = {std::string(answer.text),
                                  std::string(answer.version),
                                  answer.state,
                                  answer.execution_id,
                                  answer.events,
                                  answer.go,
                                  answer.why};
  }
  std::string begun;
  std::map<std::string, Answer> of;
};

constexpr char kPath[] = "/check.db";

Options check_options() {
  Options options;
  options.database_path = kPath;
  return options;
}

// Checks as a separate program on the machine would.
Status check(World& world, const Registry& registry, Answers* answers, ReplayTotals* totals,
             const Options& options = check_options(), Diagnostic* why = nullptr) {
  Process* process = nullptr;
  Diagnostic diagnostic;
  EXPECT_EQ(testing::shared_process(&process, diagnostic), Status::kOk);
  sim::Node node(world.machine());
  testing::Block memory(replay_check_memory(options));
  const Status status = replay_check(*process, registry, options, node.port(), memory.data(),
                                     memory.bytes(), *answers, totals, diagnostic);
  if (why != nullptr) *why = diagnostic;
  return status;
}

std::string file(World& world, const std::string& path) {
  sim::Node node(world.machine());
  port::Storage& storage = *node.port().storage;
  port::Storage::OpenMode mode;
  mode.read_only = true;
  const Result<port::FileHandle> opened = storage.open(path.c_str(), mode);
  if (!opened.ok()) return "none";
  std::string bytes(static_cast<std::size_t>(storage.size(opened.value()).value()), '\0');
  EXPECT_EQ(storage.read(opened.value(), &bytes[0], bytes.size(), 0).value(), bytes.size());
  EXPECT_EQ(storage.close(opened.value()), Status::kOk);
  return bytes;
}

// ---- running instances ----

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }
ActivityResult refuse(ActivityContext& ctx) { return ctx.fail("no"); }

Poll sleeper(OrchestrationContext& ctx) {
  PAWL_AWAIT(a, ctx.schedule_activity("echo", "1"));
  static_cast<void>(ctx.set_custom_status(ctx.new_guid().view()));
  PAWL_AWAIT_DONE(ctx.schedule_timer_at(ctx.utc_now_ms() + 3'600'000));
  return ctx.complete(a.value());
}

Poll chooser(OrchestrationContext& ctx) {
  const auto body = [](OrchestrationContext& own) -> Poll {
    PAWL_AWAIT_DONE(own.schedule_timer(seconds(1)));
    PAWL_AWAIT_DONE(own.schedule_timer(hours(100)));
    return own.complete("");
  };
  const Handle branch = ctx.open_branch(body);
  const Handle activity = ctx.schedule_activity("echo", "");
  PAWL_AWAIT_DONE(ctx.select(branch, activity));
  const Handle echoed = ctx.schedule_activity("echo", "x");
  PAWL_AWAIT_DONE(ctx.join(echoed, ctx.schedule_timer(hours(1))));
  return ctx.complete("");
}

Poll retrier(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.retry.max_attempts = 1'000;
  options.retry.base = std::chrono::seconds(60);
  PAWL_AWAIT(a, ctx.schedule_activity("refuse", "", options));
  return ctx.complete(a.value());
}

// Takes two messages a round; the next round begins with the waiting ones.
Poll drinker(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.select(ctx.dequeue_event("q"), ctx.schedule_timer(hours(50))));
  PAWL_AWAIT_DONE(ctx.dequeue_event("q"));
  return ctx.continue_as_new(ctx.input());
}

Poll parent(OrchestrationContext& ctx) {
  const Handle one = ctx.schedule_sub_orchestration("sleeper", "");
  const Handle two = ctx.schedule_sub_orchestration("sleeper", "", {InstanceId("kid"), "1.0.0"});
  PAWL_AWAIT_DONE(ctx.join(one, two));
  return ctx.complete("");
}

Poll careful(OrchestrationContext& ctx) {
  PAWL_AWAIT(reported, ctx.schedule_timer(hours(100)));
  const CleanUpScope scope = ctx.clean_up();
  if (reported.cancelled()) PAWL_AWAIT_DONE(ctx.schedule_timer(hours(1)));
  return ctx.complete("");
}

// Stops one event below its limit.
Poll filler(OrchestrationContext& ctx) {
  for (int i = 0; i < 30; ++i)
    static_cast<void>(ctx.new_guid());
  PAWL_AWAIT_DONE(ctx.schedule_wait("never"));
  return ctx.complete("");
}

constexpr std::uint32_t kEventsMax = 33;

struct Setting {
  Setting() {
    const std::pair<const char*, Orchestration> all[] = {
        {"sleeper", sleeper}, {"chooser", chooser}, {"retrier", retrier}, {"drinker", drinker},
        {"parent", parent},   {"careful", careful}, {"filler", filler}};
    for (const auto& one : all)
      EXPECT_EQ(registry.add_orchestration(one.first, one.second), Status::kOk);
    EXPECT_EQ(registry.add_activity("echo", echo), Status::kOk);
    EXPECT_EQ(registry.add_activity("refuse", refuse), Status::kOk);
  }
  Registry registry;
};

testing::WorldOptions world_options() {
  testing::WorldOptions options;
  options.runtime.database_path = kPath;
  options.runtime.limits.history_events_max = kEventsMax;
  return options;
}

void fill(World& world) {
  ASSERT_EQ(world.start(), Status::kOk) << world.error_text();
  for (const char* name :
       {"sleeper", "chooser", "retrier", "drinker", "parent", "careful", "filler"})
    ASSERT_EQ(world.client().start_orchestration(name, InstanceId(name), ""), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("sleeper", InstanceId("held"), ""), Status::kOk);
  StartOptions later;
  later.start_after = std::chrono::seconds(1'000);
  ASSERT_EQ(world.client().start_orchestration("sleeper", InstanceId("later"), "", later),
            Status::kOk);
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(world.client().enqueue_event("drinker", "q", "m"), Status::kOk);
  ASSERT_EQ(world.advance(100), Status::kOk);
  ASSERT_EQ(world.client().cancel_instance("careful", "rain"), Status::kOk);
  ASSERT_EQ(world.client().suspend_instance("held"), Status::kOk);
  ASSERT_EQ(world.advance(5'000), Status::kOk);
  // No wait asks for this message: it waits or is dropped, and the check must not take it.
  ASSERT_EQ(world.client().enqueue_event("sleeper", "q", "m"), Status::kOk);
}

TEST(ReplayCheck, UnchangedCode_IsGoForAll_AndNothingIsWritten) {
  Setting setting;
  World world(setting.registry, world_options());
  fill(world);
  const std::string database = file(world, kPath);
  const std::string log = file(world, std::string(kPath) + "-wal");
  const std::uint64_t commits = world.stats().commits;
  Options options = check_options();
  options.limits.history_events_max = kEventsMax;
  Answers answers;
  ReplayTotals totals;
  ASSERT_EQ(check(world, setting.registry, &answers, &totals, options), Status::kOk);
  for (const auto& one : answers.of)
    EXPECT_TRUE(one.second.go) << one.first << ": " << one.second.text;
  EXPECT_EQ(totals.go, 11);  // nine instances and two children
  EXPECT_EQ(totals.no_go, 0);
  EXPECT_EQ(answers.of.size(), 11U);
  EXPECT_EQ(answers.of["drinker"].execution, 3);
  EXPECT_EQ(answers.of["held"].state, OrchestrationState::kSuspended);
  EXPECT_EQ(answers.of["later"].events, 0);
  EXPECT_EQ(answers.of["later"].version, "");
  EXPECT_EQ(answers.of["filler"].events, kEventsMax - 1);
  EXPECT_EQ(answers.of["kid"].version, "1.0.0");
  EXPECT_EQ(file(world, kPath), database);
  EXPECT_EQ(file(world, std::string(kPath) + "-wal"), log);
  // The runtime was there all the time and goes on.
  EXPECT_EQ(world.stats().commits, commits);
  EXPECT_EQ(world.run_until_done("sleeper"), Status::kOk);
}

TEST(ReplayCheck, EndedInstances_AreNotLookedAt) {
  Setting setting;
  World world(setting.registry, world_options());
  fill(world);
  ASSERT_EQ(world.advance(3 * 3'600'000), Status::kOk);
  Answers answers;
  ReplayTotals totals;
  ASSERT_EQ(check(world, setting.registry, &answers, &totals), Status::kOk);
  EXPECT_EQ(answers.of.count("sleeper"), 0U);
  EXPECT_EQ(answers.of.count("retrier"), 1U);
  EXPECT_EQ(totals.go, static_cast<std::int64_t>(answers.of.size()));
}

TEST(ReplayCheck, OfACrashedProcess_ReadsItsLogToo) {
  Setting setting;
  World world(setting.registry, world_options());
  fill(world);
  world.crash();
  Answers answers;
  ReplayTotals totals;
  ASSERT_EQ(check(world, setting.registry, &answers, &totals), Status::kOk);
  EXPECT_EQ(totals.go, 11);
}

TEST(ReplayCheck, ManyInstances_AreAllLookedAt) {
  Setting setting;
  World world(setting.registry, world_options());
  ASSERT_EQ(world.start(), Status::kOk);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(
        world.client().start_orchestration("careful", InstanceId("i" + std::to_string(i)), ""),
        Status::kOk);
  ASSERT_EQ(world.run_until_idle(), Status::kOk);
  Answers answers;
  ReplayTotals totals;
  ASSERT_EQ(check(world, setting.registry, &answers, &totals), Status::kOk);
  EXPECT_EQ(totals.go, 100);
  EXPECT_EQ(answers.of.size(), 100U);
}

TEST(ReplayCheck, NamesAndVersionsThatAreMissing_AreNoGo) {
  Setting setting;
  World world(setting.registry, world_options());
  fill(world);
  Registry other;
  ASSERT_EQ(other.add_orchestration("sleeper", sleeper, "1.1.0"), Status::kOk);
  Answers answers;
  ReplayTotals totals;
  ASSERT_EQ(check(world, other, &answers, &totals), Status::kOk);
  EXPECT_EQ(totals.go, 1);  // "later" has no version yet and begins with any
  EXPECT_TRUE(answers.of["later"].go);
  EXPECT_EQ(totals.no_go, 10);
  EXPECT_EQ(answers.of["parent"].why, ErrorKind::kUnregistered);
  EXPECT_EQ(answers.of["parent"].text, "no orchestration \"parent@1.0.0\" is registered here");
  EXPECT_EQ(answers.of["sleeper"].text, "no orchestration \"sleeper@1.0.0\" is registered here");
  ASSERT_EQ(other.add_orchestration("sleeper", sleeper, "1.0.0"), Status::kOk);
  ASSERT_EQ(check(world, other, &answers, &totals), Status::kOk);
  EXPECT_EQ(totals.go, 5);
}

// ---- changed code ----

// Events: 2 activity echo, 3 its result, 4 child kid@1.0.0, 5 timer 1 h, 6 custom status. Child and
// timer wait.
struct Edit {
  bool other_name = false;
  bool other_input = false;
  bool other_delay = false;
  bool other_child = false;
  bool no_status = false;
  bool other_status = false;
  bool swapped = false;
  bool added = false;
  bool removed = false;
  bool kind = false;
  bool ends = false;
  bool steps_over = false;
  bool longer_tail = false;
  bool other_await = false;
};
Edit edit;

Poll flow(OrchestrationContext& ctx) {
  if (edit.added) static_cast<void>(ctx.new_guid());
  if (!edit.removed) {
    const Handle first = edit.kind ? ctx.schedule_wait("echo")
                                   : ctx.schedule_activity(edit.other_name ? "ohce" : "echo",
                                                           edit.other_input ? "2" : "1");
    if (edit.other_await) {
      PAWL_AWAIT_DONE(ctx.join(first, first));
    } else {
      PAWL_AWAIT_DONE(first);
    }
  }
  if (edit.ends) return ctx.complete("");
  Handle timer;
  if (edit.swapped) timer = ctx.schedule_timer(hours(1));
  const Handle child = ctx.schedule_sub_orchestration(
      "careful", "", {InstanceId("kid"), edit.other_child ? "2.0.0" : "1.0.0"});
  if (!edit.swapped) timer = ctx.schedule_timer(hours(edit.other_delay ? 2 : 1));
  if (!edit.no_status) static_cast<void>(ctx.set_custom_status(edit.other_status ? "t" : "s"));
  if (edit.steps_over) {
    static_cast<void>(timer.await());
    return ctx.complete("");
  }
  PAWL_AWAIT_DONE(ctx.select(child, timer));
  if (edit.longer_tail) PAWL_AWAIT_DONE(ctx.schedule_activity("new", ""));
  return ctx.complete("");
}

struct Case {
  const char* name;
  Edit edit;
  ErrorKind why;
  std::vector<const char*> says;  // texts of both sides
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&all](const char* name, bool Edit::*what, ErrorKind why,
                          std::vector<const char*> says) {
    Case one = {name, {}, why, std::move(says)};
    one.edit.*what = true;
    all.push_back(one);
  };
  const ErrorKind differs = ErrorKind::kNondeterminism;
  add("name", &Edit::other_name, differs,
      {"event 2", "name differs", "history has activity \"echo\"", "issues activity \"ohce\""});
  add("input", &Edit::other_input, differs,
      {"event 2", "input differs", "history has", "the code \"2\""});
  add("delay", &Edit::other_delay, differs, {"event 5", "duration differs"});
  add("child version", &Edit::other_child, differs, {"event 4", "version differs", "careful"});
  add("status gone", &Edit::no_status, differs, {"event 6", "history has custom_status"});
  add("status changed", &Edit::other_status, differs, {"event 6", "input differs"});
  add("order", &Edit::swapped, differs,
      {"event 4", "kind differs", "history has child", "issues timer"});
  add("added", &Edit::added, differs, {"event 2", "history has activity", "issues guid"});
  add("removed", &Edit::removed, differs, {"event 2", "history has activity", "issues child"});
  add("kind", &Edit::kind, differs, {"event 2", "history has activity", "issues wait"});
  add("ends early", &Edit::ends, differs, {"event 4", "history has child", "the code ends"});
  add("awaits another", &Edit::other_await, differs, {"event 4", "what was awaited before it"});
  add("steps over", &Edit::steps_over, ErrorKind::kAwaitSteppedOver, {"pending await", "timer"});
  add("longer tail", &Edit::longer_tail, ErrorKind::kNone, {});
  all.push_back({"nothing", {}, ErrorKind::kNone, {}});
  return all;
}

TEST(ReplayCheck, EachKindOfMismatch_IsNoGoWithBothSides) {
  Setting setting;
  ASSERT_EQ(setting.registry.add_orchestration("flow", flow), Status::kOk);
  edit = Edit();
  World world(setting.registry, world_options());
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("flow", InstanceId("a"), ""), Status::kOk);
  ASSERT_EQ(world.run_until_idle(), Status::kOk);
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    edit = one.edit;
    Answers answers;
    ReplayTotals totals;
    ASSERT_EQ(check(world, setting.registry, &answers, &totals), Status::kOk);
    const Answer& a = answers.of["a"];
    EXPECT_EQ(a.why, one.why) << a.text;
    for (const char* part : one.says)
      EXPECT_NE(a.text.find(part), std::string::npos) << part << " not in: " << a.text;
    EXPECT_EQ(a.events, 6);
    EXPECT_TRUE(answers.of["kid"].go);
    EXPECT_EQ(totals.go + totals.no_go, 2);
    EXPECT_EQ(totals.no_go, one.why == ErrorKind::kNone ? 0 : 1);
  }
  edit = Edit();
}

// An instance that stopped because of its code gets go for the corrected code.
TEST(ReplayCheck, StoppedInstances_AreCheckedToo) {
  testing::expect_errors("instance_stopped");
  Setting setting;
  ASSERT_EQ(setting.registry.add_orchestration("flow", flow), Status::kOk);
  edit = Edit();
  World world(setting.registry, world_options());
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("flow", InstanceId("a"), ""), Status::kOk);
  ASSERT_EQ(world.run_until_idle(), Status::kOk);
  edit.other_delay = true;
  ASSERT_EQ(world.client().cancel_instance("a", ""), Status::kOk);
  ASSERT_EQ(world.run_until_done("a"), Status::kOk);
  Answers answers;
  ReplayTotals totals;
  ASSERT_EQ(check(world, setting.registry, &answers, &totals), Status::kOk);
  EXPECT_FALSE(answers.of["a"].go);
  EXPECT_EQ(answers.of["a"].state, OrchestrationState::kStopped);
  edit = Edit();
  ASSERT_EQ(check(world, setting.registry, &answers, &totals), Status::kOk);
  EXPECT_TRUE(answers.of["a"].go);
}

// ---- limits and failures ----

Poll large(OrchestrationContext& ctx) {
  for (int i = 0; i < 40; ++i)
    PAWL_AWAIT_DONE(ctx.schedule_activity("echo", std::string(4'000, 'x')));
  PAWL_AWAIT_DONE(ctx.schedule_timer(hours(1)));
  return ctx.complete("");
}

TEST(ReplayCheck, AHistoryThatDoesNotFit_IsNoGo) {
  Setting setting;
  ASSERT_EQ(setting.registry.add_orchestration("large", large), Status::kOk);
  testing::WorldOptions options = world_options();
  options.runtime.limits.history_events_max = 4'096;
  World world(setting.registry, options);
  ASSERT_EQ(world.start(), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("large", InstanceId("big"), ""), Status::kOk);
  ASSERT_EQ(world.client().start_orchestration("careful", InstanceId("small"), ""), Status::kOk);
  ASSERT_EQ(world.run_until_idle(), Status::kOk);
  Answers answers;
  ReplayTotals totals;
  Options small = check_options();
  small.limits.payload_bytes_max = 4'096;
  small.limits.warm_bytes = 64 * 1024;
  ASSERT_EQ(check(world, setting.registry, &answers, &totals, small), Status::kOk);
  EXPECT_EQ(answers.of["big"].why, ErrorKind::kLimit);
  EXPECT_EQ(answers.of["big"].text, "its history does not fit warm_bytes");
  EXPECT_TRUE(answers.of["small"].go);  // the check freed big's memory
  ASSERT_EQ(check(world, setting.registry, &answers, &totals), Status::kOk);
  EXPECT_TRUE(answers.of["big"].go);
}

TEST(ReplayCheck, WhatCannotBeDone_IsAnErrorWithAText) {
  Setting setting;
  World world(setting.registry, world_options());
  Answers answers;
  ReplayTotals totals;
  Diagnostic why;
  EXPECT_EQ(check(world, setting.registry, &answers, &totals, check_options(), &why),
            Status::kCannotOpen);
  EXPECT_NE(why.text(), "");
  EXPECT_EQ(file(world, kPath), "none");  // the check made none
  Options wrong = check_options();
  wrong.limits.batch = 0;
  EXPECT_EQ(replay_check_memory(wrong), 0U);
  EXPECT_EQ(check(world, setting.registry, &answers, &totals, wrong, &why),
            Status::kInvalidOptions);
  Process* process = nullptr;
  ASSERT_EQ(testing::shared_process(&process, why), Status::kOk);
  sim::Node node(world.machine());
  EXPECT_EQ(replay_check(*process, setting.registry, check_options(), node.port(), nullptr, 0,
                         answers, &totals, why),
            Status::kResourceExhausted);
  EXPECT_NE(why.text().find("needs"), std::string_view::npos) << why.text();
  Process idle;
  EXPECT_EQ(replay_check(idle, setting.registry, check_options(), node.port(), nullptr, 0, answers,
                         &totals, why),
            Status::kInvalidArgument);
}

}  // namespace
}  // namespace pawl
