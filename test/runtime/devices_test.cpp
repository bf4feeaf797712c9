// Goal: devices, exclusive sessions, transfer and draining work through whole runtimes. Method: on
// the simulated machine.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using testing::Gateway;
using testing::GatewayTest;
using testing::Worker;

std::vector<std::string> g_runs;  // "worker session@epoch input"

ActivityResult note(ActivityContext& ctx) {
  g_runs.push_back(std::string(ctx.worker_id()) + " " + std::string(ctx.session_id()) + "@" +
                   std::to_string(ctx.session_epoch()) + " " + std::string(ctx.input()));
  return ctx.ok(ctx.worker_id());
}

Poll read_device(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::device(ctx.input())));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

Poll impatient(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target = Target::concurrent_device(ctx.input(), std::chrono::seconds(30));
  PAWL_AWAIT(done, ctx.schedule_activity("note", "1", options));
  if (done.ok()) return ctx.complete(done.value());
  return ctx.complete(error_kind_name(done.error().kind));
}

Poll misused(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::exclusive_session("")));
  return ctx.complete(error_kind_name(done.error().kind));
}

Poll three_in_order(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target = Target::exclusive_session("bus");
  const Handle all[] = {ctx.schedule_activity("note", "1", options),
                        ctx.schedule_activity("note", "2", options),
                        ctx.schedule_activity("note", "3", options)};
  for (const Handle& one : all)
    PAWL_AWAIT_DONE(one);
  return ctx.complete("three");
}

Poll on_session(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::session(ctx.input())));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

std::vector<std::pair<bool, bool>> g_uses;  // uses a device, is exclusive

Poll uses(OrchestrationContext& ctx) {
  for (const auto& [device, exclusive] : g_uses) {
    const Target shared = exclusive ? Target::exclusive_session("s") : Target::session("s");
    const Target hard = exclusive ? Target::device("s") : Target::concurrent_device("s");
    static_cast<void>(ctx.schedule_activity("note", "", device ? hard : shared));
  }
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  return ctx.complete("");
}

class Reported final : public SessionListener {
 public:
  void on_session_claimed(std::string_view session, std::int64_t epoch) noexcept override {
    g_runs.push_back("claimed " + std::string(session) + "@" + std::to_string(epoch));
  }
  void on_session_lost(std::string_view session, std::int64_t epoch) noexcept override {
    g_runs.push_back("lost " + std::string(session) + "@" + std::to_string(epoch));
  }
};

class DeviceRuntime : public GatewayTest {
 protected:
  void SetUp() override {
    g_runs.clear();
    add("read", read_device);
    add("impatient", impatient);
    add("misused", misused);
    add("three", three_in_order);
    add("session", on_session);
    add("uses", uses);
    add("note", note);
  }
};

TEST_F(DeviceRuntime, work_goes_to_who_declared_the_device_and_waits_for_it) {
  Worker& a = start_worker("a");
  Worker& b = start_worker("b");
  start("i", "read", "bed-7");
  EXPECT_FALSE(ends("i", 120'000));
  EXPECT_TRUE(g_runs.empty());
  EXPECT_EQ(declare(b, "bed-7"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed b");
  EXPECT_EQ(declare(a, "bed-7"), Status::kDeviceHeld);
  EXPECT_EQ(a.lines.count("device_refused"), 1u) << a.lines.all();
  EXPECT_NE(a.lines.all().find("\"b\""), std::string::npos) << "names the holder";
}

TEST_F(DeviceRuntime, one_device_more_than_devices_max_is_refused_with_a_word) {
  for (const auto& [node, most] : {std::pair("a", 0U), std::pair("b", 2U)}) {
    Options few = named(node);
    few.limits.devices_max = most;
    Worker& worker = start_worker(few);
    const auto bed = [node = node](std::uint32_t i) {
      return std::string(node) + ".bed-" + std::to_string(i);
    };
    for (std::uint32_t i = 0; i < most; ++i)
      EXPECT_EQ(declare(worker, bed(i)), Status::kOk);
    EXPECT_EQ(worker.lines.count("device_refused"), 0U);
    EXPECT_EQ(declare(worker, bed(most)), Status::kResourceExhausted);
    EXPECT_EQ(worker.lines.count("device_refused"), 1U);
    EXPECT_NE(worker.lines.all().find(bed(most)), std::string::npos) << worker.lines.all();
    if (most > 0) {
      EXPECT_EQ(declare(worker, bed(0)), Status::kOk) << "again";
    }
  }
}

TEST_F(DeviceRuntime, a_killed_holder_comes_back_to_its_device) {
  Worker& a = start_worker("a");
  start_worker("b");
  EXPECT_EQ(declare(a, "bed-7"), Status::kOk);
  a.kill();
  start("i", "read", "bed-7");
  EXPECT_FALSE(ends("i", 120'000));
  Worker& again = start_worker("a");
  EXPECT_EQ(declare(again, "bed-7"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed a");
}

TEST_F(DeviceRuntime, a_standby_takes_over_at_once_when_the_holder_is_killed) {
  Worker& a = start_worker("a");
  Worker& b = start_worker("b");
  EXPECT_EQ(declare(a, "bed-7"), Status::kOk);
  EXPECT_EQ(declare(b, "bed-7", true), Status::kOk);
  a.kill();
  start("i", "read", "bed-7");
  EXPECT_EQ(end_of("i", 1'000), "completed b");
}

TEST_F(DeviceRuntime, withdraw_makes_room_for_another) {
  Worker& a = start_worker("a");
  Worker& b = start_worker("b");
  EXPECT_EQ(declare(a, "bed-7"), Status::kOk);
  EXPECT_EQ(withdraw(a, "bed-7"), Status::kOk);
  EXPECT_EQ(declare(b, "bed-7"), Status::kOk);
}

TEST_F(DeviceRuntime, who_was_buried_and_lives_declares_again) {
  testing::expect_errors("worker_was_buried");
  Worker& a = start_worker("a");
  EXPECT_EQ(declare(a, "bed-7"), Status::kOk);
  // The observer cannot see the kernel lock of the first worker.
  a.node.set_locks_testable(false);
  Worker observer(machine, registry, named("b"));
  observer.node.set_locks_testable(false);
  ASSERT_EQ(observer.start(), Status::kOk);
  // Only the observer ticks, until the lease of `a` and two more have passed.
  pass({&observer}, 200'000);
  start("i", "read", "bed-7");
  ASSERT_TRUE(ends({&a, &observer}, "i", 60'000));
  EXPECT_EQ(outcome_of("i"), "completed a");
  EXPECT_EQ(a.lines.count("worker_was_buried"), 1u);
}

TEST_F(DeviceRuntime, an_absent_device_is_session_unavailable_after_its_limit) {
  start_worker("a");
  start("i", "impatient", "bed-7");
  EXPECT_FALSE(ends("i", 29'000));
  EXPECT_EQ(end_of("i", 3'000), "completed session_unavailable");
}

TEST_F(DeviceRuntime, exclusive_without_a_session_is_an_invalid_argument) {
  start_worker("a");
  start("i", "misused");
  EXPECT_EQ(end_of("i"), "completed invalid_argument");
}

// Rules: S11.
TEST_F(DeviceRuntime, a_declared_device_and_its_first_work_are_no_conflict) {
  Worker& a = start_worker("a");
  ASSERT_EQ(declare(a, "bed-7"), Status::kOk);
  start("i", "read", "bed-7");
  ASSERT_TRUE(ends("i"));
  EXPECT_EQ(client().status("i").state, OrchestrationState::kCompleted);
  EXPECT_EQ(a.lines.count("session_property_conflict"), 0U) << a.lines.all();
}

// Work for devices that no worker has is counted, so that an operator sees it.
TEST_F(DeviceRuntime, devices_without_a_declaration_are_counted_as_waiting) {
  Worker& a = start_worker("a");
  for (int i = 0; i < 5; ++i) {
    const std::string name = "bed-" + std::to_string(i);
    start("i-" + name, "read", name);
  }
  pass(1'000);
  Metrics metrics;
  ASSERT_EQ(client()->get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.sessions_waiting, 5);
  ASSERT_EQ(declare(a, "bed-3"), Status::kOk);
  ASSERT_TRUE(ends("i-bed-3"));
  ASSERT_EQ(client()->get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.sessions_waiting, 4);
}

// Rules: S11.
TEST_F(DeviceRuntime, a_conflict_says_what_the_session_was) {
  const auto reason_of = [&](const std::vector<std::pair<bool, bool>>& uses) {
    Gateway own;
    Worker& a = own.start_worker(registry, named("a"));
    g_uses = uses;
    own.start("i", "uses");
    own.pass(1'000);
    EXPECT_EQ(a.lines.count("session_property_conflict session=s"), 1U) << a.lines.all();
    const std::string all = a.lines.all();
    const std::size_t at = all.find("reason=", all.find("session_property_conflict")) + 7;
    return all.substr(at, all.find(" resumed", at) - at);
  };
  EXPECT_EQ(reason_of({{false, false}, {false, true}}), "was not exclusive, and is now");
  EXPECT_EQ(reason_of({{false, false}, {true, false}}), "was no device, and is one now");
  EXPECT_EQ(reason_of({{true, false}, {true, true}}), "was not exclusive, and is now");
  EXPECT_EQ(reason_of({{false, true}, {true, true}}), "was no device, and is one now");
  EXPECT_EQ(reason_of({{false, false}, {true, true}}),
            "was no device and not exclusive, and is both now");
}

TEST_F(DeviceRuntime, exclusive_work_of_many_orchestrations_is_in_order) {
  start_worker("a");
  start_worker("b");
  for (const char* id : {"i", "j", "k"})
    start(id, "three");
  ASSERT_TRUE(
      drive_until([&] { return !is_running("i") && !is_running("j") && !is_running("k"); }));
  ASSERT_EQ(g_runs.size(), 9u);
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_EQ(g_runs[i].back(), static_cast<char>('1' + i % 3)) << i << ": " << g_runs[i];
}

TEST_F(DeviceRuntime, the_listener_is_called_before_the_first_activity_and_after_the_last) {
  Reported reported;
  Options with_listener = named("a");
  with_listener.sessions.listener = &reported;
  Worker& a = start_worker(with_listener);
  start("i", "session", "s");
  ASSERT_TRUE(ends("i"));
  ASSERT_EQ(g_runs.size(), 2u);
  EXPECT_EQ(g_runs[0], "claimed s@1");
  EXPECT_EQ(g_runs[1], "a s@1 1");
  EXPECT_EQ(declare(a, "bed-7"), Status::kOk);
  EXPECT_EQ(g_runs.back(), "claimed bed-7@2");
  // The idle session is released.
  drive_until([&] { return g_runs.back() == "lost s@1"; }, 400'000);
  EXPECT_EQ(g_runs.back(), "lost s@1");
  a.stop();
  EXPECT_EQ(g_runs.back(), "lost bed-7@2");
  workers.clear();  // before the listener
}

TEST_F(DeviceRuntime, a_transfer_moves_the_session_and_both_listeners_are_called) {
  Reported reported;
  Options a_options = named("a");
  a_options.sessions.listener = &reported;
  start_worker(a_options);
  start("i", "session", "s");
  ASSERT_TRUE(ends("i"));
  start_worker("b");
  EXPECT_EQ(client()->transfer_session("s", "c"), Status::kNoEligibleTarget);
  EXPECT_NE(client()->error_text().find("\"c\""), std::string::npos);
  EXPECT_EQ(client()->transfer_session("t", "b"), Status::kNotFound);
  EXPECT_EQ(client()->transfer_session("s", "b"), Status::kOk);
  drive_until([&] { return g_runs.back() == "lost s@1"; }, 1'000);
  EXPECT_EQ(g_runs.back(), "lost s@1");
  start("j", "session", "s");
  EXPECT_EQ(end_of("j"), "completed b");
  workers.clear();  // before the listener
}

TEST_F(DeviceRuntime, a_drained_worker_takes_nothing_new) {
  start_worker("a");
  start("i", "session", "s");
  ASSERT_TRUE(ends("i"));
  EXPECT_EQ(client()->drain_worker("nobody"), Status::kNotFound);
  EXPECT_EQ(client()->drain_worker("a"), Status::kOk);
  start("j", "session", "s");
  EXPECT_FALSE(ends("j", 60'000));
  start_worker("b");
  EXPECT_EQ(end_of("j"), "completed b");
}

// Rules: S17.
TEST_F(DeviceRuntime, a_drain_is_followed_to_its_end_and_taken_back) {
  struct Keep final : WorkerVisitor {
    void on_worker(const WorkerInfo& one) noexcept override {
      info = one;
      tags = one.tags;
      handlers = one.handlers;
    }
    WorkerInfo info;
    std::string tags, handlers;
  } keep;
  Options how = named("a");
  how.worker_tag_filter = TagFilter::default_and({"gpu", "big"});
  start_worker(how);
  start("i", "session", "s");
  ASSERT_TRUE(ends("i"));
  ASSERT_EQ(client()->list_workers(keep), Status::kOk);
  EXPECT_EQ(keep.info.sessions, 1);
  EXPECT_EQ(keep.info.sessions_max, how.sessions.max_sessions_per_worker);
  EXPECT_EQ(keep.info.sessions_busy, 0);
  EXPECT_EQ(keep.info.devices, 0);
  EXPECT_FALSE(keep.info.draining || keep.info.any_tag);
  EXPECT_TRUE(keep.info.takes_untagged);
  EXPECT_EQ(keep.tags, "big\ngpu");
  EXPECT_NE(keep.handlers.find("note"), std::string::npos) << keep.handlers;
  EXPECT_EQ(client()->undrain_worker("b"), Status::kNotFound);
  ASSERT_EQ(client()->drain_worker("a"), Status::kOk);
  ASSERT_TRUE(drive_until(
      [&] { return client()->list_workers(keep) == Status::kOk && keep.info.sessions == 0; }));
  EXPECT_TRUE(keep.info.draining);
  start("j", "session", "s");
  EXPECT_FALSE(ends("j", 60'000));
  EXPECT_EQ(client()->undrain_worker("a"), Status::kOk);
  ASSERT_TRUE(ends("j", 5'000));
  ASSERT_EQ(client()->list_workers(keep), Status::kOk);
  EXPECT_FALSE(keep.info.draining);
}

}  // namespace
}  // namespace pawl
