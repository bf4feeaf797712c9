// The parts of whole stories: one machine, workers that come and go, and one client.
#ifndef PAWL_TEST_RUNTIME_STORY_HPP
#define PAWL_TEST_RUNTIME_STORY_HPP

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/visit.hpp"
#include "world.hpp"

namespace pawl::testing {

constexpr char kStoryPath[] = "/data/pawl.db";

// One event of an execution.
struct KeptEvent {
  std::string kind, name, payload;
  ErrorKind error = ErrorKind::kNone;
  std::int64_t ref = 0;
  std::int64_t time_ms = 0;
};

class Story : public ::testing::Test {
 protected:
  Story() {
    machine.set_wall(1'800'000'000'000);
    machine.set_synced(true);
    options.database_path = kStoryPath;
    options.verify_turns = true;
    options.leases.home_grace = std::chrono::milliseconds(0);
    // The stories kill often; poison has tests of its own.
    options.limits.crashes_max = options.limits.strikes_max = 1'000;
  }
  void add(const char* name, Orchestration function, const char* version = "1.0.0") {
    ASSERT_EQ(registry.add_orchestration(name, function, version), Status::kOk);
  }
  void add(const char* name, Activity function, ActivityMode mode = ActivityMode::kInline,
           void* user = nullptr) {
    ASSERT_EQ(registry.add_activity(name, function, mode, user), Status::kOk);
  }
  Worker& start_worker() { return start_worker(registry, options); }
  Worker& start_worker(const Registry& known, const Options& how) {
    auto made = std::make_unique<Worker>(machine, known, how);
    EXPECT_EQ(made->start(), Status::kOk) << made->diagnostic.text();
    workers.push_back(std::move(made));
    return *workers.back();
  }
  // Kills all workers (SIGKILL), and starts one with the registry as it is now.
  Worker& restart() {
    for (const auto& worker : workers)
      worker->kill();
    workers.clear();
    return start_worker();
  }
  TestClient& client() {
    if (client_ == nullptr) client_ = std::make_unique<TestClient>(machine, kStoryPath);
    return *client_;
  }
  void start(std::string_view id, std::string_view name, std::string_view input = "") {
    ASSERT_EQ(client()->start_orchestration(name, InstanceId(id), input), Status::kOk)
        << client()->error_text();
  }
  // The client's process ended with the machine.
  void forget_client() { client_ = nullptr; }
  bool drive_until(const std::function<bool()>& until, std::int64_t ms = 600'000) {
    std::vector<Worker*> all;
    for (const auto& worker : workers)
      all.push_back(worker.get());
    return drive(machine, all, until, ms);
  }
  void pass(std::int64_t ms) {
    static_cast<void>(drive_until([] { return false; }, ms));
  }
  bool is_running(std::string_view id) {
    return client().status(id).state == OrchestrationState::kRunning;
  }
  // Drives until it has ended; returns its outcome: "completed output", "failed application text".
  std::string end_of(std::string_view id, std::int64_t ms = 600'000) {
    static_cast<void>(drive_until([&] { return !is_running(id); }, ms));
    return outcome_of(id);
  }
  std::string outcome_of(std::string_view id) {
    const OrchestrationStatus status = client().status(id);
    std::string text = orchestration_state_name(status.state);
    if (status.error != ErrorKind::kNone) text += std::string(" ") + error_kind_name(status.error);
    return text + " " + std::string(status.output);
  }
  std::string shown(std::string_view id) { return std::string(client().status(id).custom_status); }
  // The same, with a kill after one, two and three ticks in turn: with a kill after every tick, no
  // result of an activity would ever be committed.
  std::string end_with_kills(std::string_view id) {
    for (int life = 0; life < 1'000 && is_running(id); ++life) {
      Worker& worker = restart();
      for (int tick = 0; tick <= life % 3; ++tick)
        EXPECT_EQ(worker.runtime->tick(std::chrono::milliseconds::max()).status(), Status::kOk);
      if (!worker.runtime->next_due().has_passed(machine.boot_ms())) machine.advance(500);
    }
    return outcome_of(id);
  }
  std::vector<KeptEvent> history(std::string_view id, std::int64_t execution = 0) {
    std::vector<KeptEvent> all;
    auto keep = visit([&](const HistoryEvent& event) {
      all.push_back({event.kind, std::string(event.name), std::string(event.payload), event.error,
                     event.ref, event.time_ms});
    });
    EXPECT_EQ(client()->read_history(id, execution, keep), Status::kOk) << client()->error_text();
    return all;
  }
  static std::size_t count(const std::vector<KeptEvent>& events, std::string_view kind) {
    std::size_t found = 0;
    for (const KeptEvent& event : events)
      found += event.kind == kind ? 1U : 0U;
    return found;
  }

  sim::Machine machine{23};
  Registry registry;
  Options options;
  std::vector<std::unique_ptr<Worker>> workers;

 private:
  std::unique_ptr<TestClient> client_;
};

}  // namespace pawl::testing

#endif  // PAWL_TEST_RUNTIME_STORY_HPP
