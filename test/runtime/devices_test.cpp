// Goal: devices, exclusive sessions, transfer and draining work through whole runtimes. Method: on
// the simulated machine.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using testing::drive;
using testing::TestClient;
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

void keep_status(void* user, Status status) noexcept { *static_cast<Status*>(user) = status; }

class DeviceRuntime : public testing::MachineTest {
 protected:
  void SetUp() override {
    g_runs.clear();
    ASSERT_EQ(registry.add_orchestration("read", read_device), Status::kOk);
    ASSERT_EQ(registry.add_orchestration("impatient", impatient), Status::kOk);
    ASSERT_EQ(registry.add_orchestration("misused", misused), Status::kOk);
    ASSERT_EQ(registry.add_orchestration("three", three_in_order), Status::kOk);
    ASSERT_EQ(registry.add_orchestration("session", on_session), Status::kOk);
    ASSERT_EQ(registry.add_orchestration("uses", uses), Status::kOk);
    ASSERT_EQ(registry.add_activity("note", note), Status::kOk);
  }
  Status declare(Worker& worker, std::string_view device, bool standby = false) {
    Status answer = Status::kTimeout;
    EXPECT_EQ(worker.runtime->declare_session(device, standby, keep_status, &answer), Status::kOk);
    drive(
        machine, {&worker}, [&] { return answer != Status::kTimeout; }, 100);
    return answer;
  }

  Registry registry;
};

TEST_F(DeviceRuntime, work_goes_to_who_declared_the_device_and_waits_for_it) {
  Worker a(machine, registry, options("a"));
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(a.start(), Status::kOk);
  ASSERT_EQ(b.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("read", InstanceId("i"), "bed-7"), Status::kOk);
  EXPECT_FALSE(drive(
      machine, {&a, &b}, [&] { return ended(client, "i"); }, 120'000));
  EXPECT_TRUE(g_runs.empty());
  EXPECT_EQ(declare(b, "bed-7"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a, &b}, [&] { return ended(client, "i"); }));
  EXPECT_EQ(client.status("i").output, "b");
  EXPECT_EQ(declare(a, "bed-7"), Status::kDeviceHeld);
  EXPECT_EQ(a.lines.count("device_refused"), 1u) << a.lines.all();
  EXPECT_NE(a.lines.all().find("\"b\""), std::string::npos) << "names the holder";
}

TEST_F(DeviceRuntime, a_killed_holder_comes_back_to_its_device) {
  auto a = std::make_unique<Worker>(machine, registry, options("a"));
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(a->start(), Status::kOk);
  ASSERT_EQ(b.start(), Status::kOk);
  TestClient client(machine, kPath);
  EXPECT_EQ(declare(*a, "bed-7"), Status::kOk);
  a->kill();
  ASSERT_EQ(client->start_orchestration("read", InstanceId("i"), "bed-7"), Status::kOk);
  EXPECT_FALSE(drive(
      machine, {&b}, [&] { return ended(client, "i"); }, 120'000));
  Worker again(machine, registry, options("a"));
  ASSERT_EQ(again.start(), Status::kOk);
  EXPECT_EQ(declare(again, "bed-7"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&again, &b}, [&] { return ended(client, "i"); }));
  EXPECT_EQ(client.status("i").output, "a");
}

TEST_F(DeviceRuntime, a_standby_takes_over_at_once_when_the_holder_is_killed) {
  Worker a(machine, registry, options("a"));
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(a.start(), Status::kOk);
  ASSERT_EQ(b.start(), Status::kOk);
  TestClient client(machine, kPath);
  EXPECT_EQ(declare(a, "bed-7"), Status::kOk);
  EXPECT_EQ(declare(b, "bed-7", true), Status::kOk);
  a.kill();
  ASSERT_EQ(client->start_orchestration("read", InstanceId("i"), "bed-7"), Status::kOk);
  ASSERT_TRUE(drive(
      machine, {&b}, [&] { return ended(client, "i"); }, 1'000));
  EXPECT_EQ(client.status("i").output, "b");
}

TEST_F(DeviceRuntime, withdraw_makes_room_for_another) {
  Worker a(machine, registry, options("a"));
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(a.start(), Status::kOk);
  ASSERT_EQ(b.start(), Status::kOk);
  EXPECT_EQ(declare(a, "bed-7"), Status::kOk);
  Status answer = Status::kTimeout;
  ASSERT_EQ(a.runtime->withdraw_session("bed-7", keep_status, &answer), Status::kOk);
  ASSERT_TRUE(drive(
      machine, {&a}, [&] { return answer != Status::kTimeout; }, 100));
  EXPECT_EQ(answer, Status::kOk);
  EXPECT_EQ(declare(b, "bed-7"), Status::kOk);
}

TEST_F(DeviceRuntime, who_was_buried_and_lives_declares_again) {
  testing::expect_errors("worker_was_buried");
  Worker a(machine, registry, options("a"));
  ASSERT_EQ(a.start(), Status::kOk);
  EXPECT_EQ(declare(a, "bed-7"), Status::kOk);
  TestClient client(machine, kPath);
  // The observer cannot see the kernel lock of the first worker.
  a.node.set_locks_testable(false);
  Worker observer(machine, registry, options("b"));
  observer.node.set_locks_testable(false);
  ASSERT_EQ(observer.start(), Status::kOk);
  // Only the observer ticks, until the lease of `a` and two more have passed.
  drive(
      machine, {&observer}, [] { return false; }, 200'000);
  ASSERT_EQ(client->start_orchestration("read", InstanceId("i"), "bed-7"), Status::kOk);
  ASSERT_TRUE(drive(
      machine, {&a, &observer}, [&] { return ended(client, "i"); }, 60'000));
  EXPECT_EQ(client.status("i").output, "a");
  EXPECT_EQ(a.lines.count("worker_was_buried"), 1u);
}

TEST_F(DeviceRuntime, an_absent_device_is_session_unavailable_after_its_limit) {
  Worker a(machine, registry, options("a"));
  ASSERT_EQ(a.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("impatient", InstanceId("i"), "bed-7"), Status::kOk);
  EXPECT_FALSE(drive(
      machine, {&a}, [&] { return ended(client, "i"); }, 29'000));
  ASSERT_TRUE(drive(
      machine, {&a}, [&] { return ended(client, "i"); }, 3'000));
  EXPECT_EQ(client.status("i").output, "session_unavailable");
}

TEST_F(DeviceRuntime, exclusive_without_a_session_is_an_invalid_argument) {
  Worker a(machine, registry, options("a"));
  ASSERT_EQ(a.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("misused", InstanceId("i"), ""), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a}, [&] { return ended(client, "i"); }));
  EXPECT_EQ(client.status("i").output, "invalid_argument");
}

// Rules: S11.
TEST_F(DeviceRuntime, a_declared_device_and_its_first_work_are_no_conflict) {
  Worker a(machine, registry, options("a"));
  ASSERT_EQ(a.start(), Status::kOk);
  ASSERT_EQ(declare(a, "bed-7"), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("read", InstanceId("i"), "bed-7"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a}, [&] { return ended(client, "i"); }));
  EXPECT_EQ(client.status("i").state, OrchestrationState::kCompleted);
  EXPECT_EQ(a.lines.count("session_property_conflict"), 0U) << a.lines.all();
}

// Work for devices that no worker has is counted, so that an operator sees it.
TEST_F(DeviceRuntime, devices_without_a_declaration_are_counted_as_waiting) {
  Worker a(machine, registry, options("a"));
  ASSERT_EQ(a.start(), Status::kOk);
  TestClient client(machine, kPath);
  for (int i = 0; i < 5; ++i) {
    const std::string name = "bed-" + std::to_string(i);
    ASSERT_EQ(client->start_orchestration("read", InstanceId("i-" + name), name), Status::kOk);
  }
  drive(
      machine, {&a}, [] { return false; }, 1'000);
  Metrics metrics;
  ASSERT_EQ(client->get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.sessions_waiting, 5);
  ASSERT_EQ(declare(a, "bed-3"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a}, [&] { return ended(client, "i-bed-3"); }));
  ASSERT_EQ(client->get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.sessions_waiting, 4);
}

// Rules: S11.
TEST_F(DeviceRuntime, a_conflict_says_what_the_session_was) {
  const auto reason_of = [&](const std::vector<std::pair<bool, bool>>& uses) {
    sim::Machine own{5};
    Worker a(own, registry, options("a"));
    EXPECT_EQ(a.start(), Status::kOk);
    TestClient client(own, kPath);
    g_uses = uses;
    EXPECT_EQ(client->start_orchestration("uses", InstanceId("i"), ""), Status::kOk);
    drive(
        own, {&a}, [] { return false; }, 1'000);
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
  Worker a(machine, registry, options("a"));
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(a.start(), Status::kOk);
  ASSERT_EQ(b.start(), Status::kOk);
  TestClient client(machine, kPath);
  for (const char* id : {"i", "j", "k"})
    ASSERT_EQ(client->start_orchestration("three", InstanceId(id), ""), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a, &b}, [&] {
    return ended(client, "i") && ended(client, "j") && ended(client, "k");
  }));
  ASSERT_EQ(g_runs.size(), 9u);
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_EQ(g_runs[i].back(), static_cast<char>('1' + i % 3)) << i << ": " << g_runs[i];
}

TEST_F(DeviceRuntime, the_listener_is_called_before_the_first_activity_and_after_the_last) {
  Reported reported;
  Options with_listener = options("a");
  with_listener.sessions.listener = &reported;
  Worker a(machine, registry, with_listener);
  ASSERT_EQ(a.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("session", InstanceId("i"), "s"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a}, [&] { return ended(client, "i"); }));
  ASSERT_EQ(g_runs.size(), 2u);
  EXPECT_EQ(g_runs[0], "claimed s@1");
  EXPECT_EQ(g_runs[1], "a s@1 1");
  EXPECT_EQ(declare(a, "bed-7"), Status::kOk);
  EXPECT_EQ(g_runs.back(), "claimed bed-7@2");
  // The idle session is released.
  drive(
      machine, {&a}, [&] { return g_runs.back() == "lost s@1"; }, 400'000);
  EXPECT_EQ(g_runs.back(), "lost s@1");
  a.stop();
  EXPECT_EQ(g_runs.back(), "lost bed-7@2");
}

TEST_F(DeviceRuntime, a_transfer_moves_the_session_and_both_listeners_are_called) {
  Reported reported;
  Options a_options = options("a");
  a_options.sessions.listener = &reported;
  Worker a(machine, registry, a_options);
  ASSERT_EQ(a.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("session", InstanceId("i"), "s"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a}, [&] { return ended(client, "i"); }));
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(b.start(), Status::kOk);
  EXPECT_EQ(client->transfer_session("s", "c"), Status::kNoEligibleTarget);
  EXPECT_NE(client->error_text().find("\"c\""), std::string::npos);
  EXPECT_EQ(client->transfer_session("t", "b"), Status::kNotFound);
  EXPECT_EQ(client->transfer_session("s", "b"), Status::kOk);
  drive(
      machine, {&a, &b}, [&] { return g_runs.back() == "lost s@1"; }, 1'000);
  EXPECT_EQ(g_runs.back(), "lost s@1");
  ASSERT_EQ(client->start_orchestration("session", InstanceId("j"), "s"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a, &b}, [&] { return ended(client, "j"); }));
  EXPECT_EQ(client.status("j").output, "b");
}

TEST_F(DeviceRuntime, a_drained_worker_takes_nothing_new) {
  Worker a(machine, registry, options("a"));
  ASSERT_EQ(a.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("session", InstanceId("i"), "s"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a}, [&] { return ended(client, "i"); }));
  EXPECT_EQ(client->drain_worker("nobody"), Status::kNotFound);
  EXPECT_EQ(client->drain_worker("a"), Status::kOk);
  ASSERT_EQ(client->start_orchestration("session", InstanceId("j"), "s"), Status::kOk);
  EXPECT_FALSE(drive(
      machine, {&a}, [&] { return ended(client, "j"); }, 60'000));
  Worker b(machine, registry, options("b"));
  ASSERT_EQ(b.start(), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a, &b}, [&] { return ended(client, "j"); }));
  EXPECT_EQ(client.status("j").output, "b");
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
  Options how = options("a");
  how.worker_tag_filter = TagFilter::default_and({"gpu", "big"});
  Worker a(machine, registry, how);
  ASSERT_EQ(a.start(), Status::kOk);
  TestClient client(machine, kPath);
  ASSERT_EQ(client->start_orchestration("session", InstanceId("i"), "s"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a}, [&] { return ended(client, "i"); }));
  ASSERT_EQ(client->list_workers(keep), Status::kOk);
  EXPECT_EQ(keep.info.sessions, 1);
  EXPECT_EQ(keep.info.sessions_max, how.sessions.max_sessions_per_worker);
  EXPECT_EQ(keep.info.sessions_busy, 0);
  EXPECT_EQ(keep.info.devices, 0);
  EXPECT_FALSE(keep.info.draining || keep.info.any_tag);
  EXPECT_TRUE(keep.info.takes_untagged);
  EXPECT_EQ(keep.tags, "big\ngpu");
  EXPECT_NE(keep.handlers.find("note"), std::string::npos) << keep.handlers;
  EXPECT_EQ(client->undrain_worker("b"), Status::kNotFound);
  ASSERT_EQ(client->drain_worker("a"), Status::kOk);
  ASSERT_TRUE(drive(machine, {&a}, [&] {
    return client->list_workers(keep) == Status::kOk && keep.info.sessions == 0;
  }));
  EXPECT_TRUE(keep.info.draining);
  ASSERT_EQ(client->start_orchestration("session", InstanceId("j"), "s"), Status::kOk);
  EXPECT_FALSE(drive(
      machine, {&a}, [&] { return ended(client, "j"); }, 60'000));
  EXPECT_EQ(client->undrain_worker("a"), Status::kOk);
  ASSERT_TRUE(drive(
      machine, {&a}, [&] { return ended(client, "j"); }, 5'000));
  ASSERT_EQ(client->list_workers(keep), Status::kOk);
  EXPECT_FALSE(keep.info.draining);
}

}  // namespace
}  // namespace pawl
