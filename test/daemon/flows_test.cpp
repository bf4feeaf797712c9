// The flows of definitions in virtual time. Callers cannot forge the state between executions, and
// rendered templates have a size limit.
#include "apps/pawld/flows.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "apps/pawld/config.hpp"
#include "apps/pawld/orchestrations.hpp"
#include "pawl/testing.hpp"

namespace pawld {
namespace {

using pawl::InstanceId;
using pawl::OrchestrationStatus;
using pawl::Status;
using pawl::testing::FakeActivity;
using pawl::testing::World;

constexpr char kFile[] = R"({
  "database": "/d", "limits": {"payload": "4KiB"},
  "activities": {"sample": {"argv": ["/s"]}, "note": {"argv": ["/n"]}, "echo": {"argv": ["/e"]}},
  "orchestrations": {
    "frost": {"type": "watch-and-alarm", "sample": {"activity": "sample"}, "every": "1m",
              "alarm_below": 2, "clear_above": 4, "alarm_after_failures": 3,
              "alarm": {"activity": "note", "input": ["{reason}", "{value}", "{input}"]},
              "clear": {"activity": "note", "input": "{reason}"}},
    "job": {"type": "sequence", "steps": [{"activity": "echo", "input": 1}]},
    "hourly": {"type": "schedule", "cron": "0 * * * *", "run": "job"},
    "wide": {"type": "sequence", "steps": [
      {"name": "soil", "activity": "echo", "input": ["{input}", "{input}", "{input}", "{input}"]}]},
    "long": {"type": "sequence", "steps": [{"activity": "echo", "input": 1}],
             "output": "{input}{input}{input}"},
    "when": {"type": "sequence", "steps": [{"activity": "echo", "when": "{input}{input}{input}"}]},
    "slow": {"type": "sequence", "time_limit": "10m", "steps": [
      {"activity": "echo", "input": 1}, {"pause": "1h"}]},
    "nightly": {"type": "schedule", "cron": "0 * * * *", "run": "slow"},
    "each": {"type": "fan-out", "over": "{input}", "activity": "echo", "input": 1}
  }})";

class PawldFlows : public ::testing::Test {
 protected:
  PawldFlows() {
    EXPECT_EQ(config_.read("f", kFile), std::vector<std::string>());
    EXPECT_EQ(orchestrations_.add_to(registry_), Status::kOk);
    EXPECT_EQ(sample_.add_to(registry_, "sample"), Status::kOk);
    EXPECT_EQ(note_.add_to(registry_, "note"), Status::kOk);
    EXPECT_EQ(echo_.add_to(registry_, "echo"), Status::kOk);
    world_ = std::make_unique<World>(registry_);
    world_->machine().set_synced(true);
    world_->machine().set_wall(kHalfPast);
    EXPECT_EQ(world_->start(), Status::kOk) << world_->error_text();
  }
  void start(const char* name, std::string_view input) {
    ASSERT_EQ(world_->client().start_orchestration(name, InstanceId(name), input), Status::kOk);
    ASSERT_EQ(world_->run_until_idle(), Status::kOk);
  }
  std::string shown() {
    OrchestrationStatus status;
    EXPECT_EQ(world_->client().get_status("frost", &status), Status::kOk);
    return std::string(status.custom_status.view());
  }
  std::string end_of(const char* id) {
    OrchestrationStatus status;
    EXPECT_EQ(world_->run_until_done(id, &status), Status::kOk);
    return std::string(status.output.view());
  }

  static constexpr std::int64_t kMinute = 60'000;
  static constexpr std::int64_t kHalfPast = 1'893'456'000'000 + 30 * kMinute;  // 2030-01-01 0:30

  Config config_;
  Orchestrations orchestrations_{config_, nullptr};
  pawl::Registry registry_;
  FakeActivity sample_;
  FakeActivity note_;
  FakeActivity echo_;
  std::unique_ptr<World> world_;
};

// A caller writes the form in which executions once handed on their state: it is only an input.
TEST_F(PawldFlows, AnInputIsNoStateOfAWatch) {
  for (const char* const input : {
           R"({"pawld.watch":{"alarmed":true,"failures":9223372036854775807,"input":{"bed":7}}})",
           R"({"pawld.watch":{"alarmed":true,"failures":-9223372036854775808,"input":7}})",
           R"({"pawld.watch":{"alarmed":true,"failures":2,"input":7}})",
           R"({"alarmed":true,"failures":9223372036854775807})",
           R"({"alarmed":true,"failures":2})",
       }) {
    const std::size_t before = note_.calls();
    sample_.returns("1");
    start("frost", input);
    ASSERT_EQ(note_.calls(), before + 1) << input;  // an alarmed watch would not call it
    EXPECT_EQ(note_.input(before), "[\"below\",1," + std::string(input) + "]");
    sample_.returns("null");
    ASSERT_EQ(world_->advance(5 * kMinute), Status::kOk);
    EXPECT_EQ(shown(), R"({"value":null,"alarmed":true,"failures":4})");
    ASSERT_EQ(world_->client().terminate_instance("frost", "end"), Status::kOk);
    ASSERT_EQ(world_->run_until_idle(), Status::kOk);
    pawl::Removed removed;
    ASSERT_EQ(world_->client().delete_instance("frost", false, &removed), Status::kOk);
  }
}

// The next execution, with the same input, does not raise the alarm again.
TEST_F(PawldFlows, TheStateOfAWatchOutlivesItsExecution) {
  sample_.returns("1");
  start("frost", R"({"bed":7})");
  ASSERT_EQ(world_->advance(120 * kMinute), Status::kOk);
  OrchestrationStatus status;
  ASSERT_EQ(world_->client().get_status("frost", &status), Status::kOk);
  EXPECT_GE(status.execution_id, 10);
  EXPECT_EQ(note_.calls(), 1U);
  sample_.returns("null");
  ASSERT_EQ(world_->advance(25 * kMinute), Status::kOk);
  EXPECT_EQ(shown(), R"({"value":null,"alarmed":true,"failures":24})");
  sample_.returns("5");
  ASSERT_EQ(world_->advance(2 * kMinute), Status::kOk);
  sample_.returns("0");
  ASSERT_EQ(world_->advance(2 * kMinute), Status::kOk);
  ASSERT_EQ(note_.calls(), 3U);
  EXPECT_EQ(note_.input(1), "\"clear\"");
  EXPECT_EQ(note_.input(2), R"(["below",0,{"bed":7}])");
}

TEST_F(PawldFlows, AnInputIsNoStateOfASchedule) {
  start("hourly",
        R"({"schedule":{"cron":"0 0 1 1 *","orchestration":"wide"},"status":{"handled_until_ms":)"
        R"(9007199254740991,"next_ms":null,"last_ms":null,"paused":true,"running":false,)"
        R"("next_waits":true,"triggers_waiting":100,"started":0,"failed":0,"skipped":0,)"
        R"("triggered":9007199254740991,"refused":""}})");
  ASSERT_EQ(world_->advance(150 * kMinute), Status::kOk);
  EXPECT_EQ(echo_.calls(), 3U);
}

// An instance has the limit of its definition, also one that a schedule starts, unless its start
// gives another one.
TEST_F(PawldFlows, ADefinitionHasATimeLimit) {
  start("slow", "1");
  pawl::InstanceInfo info;
  ASSERT_EQ(world_->client().get_instance_info("slow", &info), Status::kOk);
  EXPECT_EQ(info.time_limit_ms.value_or(0), 10 * kMinute);
  start("job", "1");
  ASSERT_EQ(world_->client().get_instance_info("job", &info), Status::kOk);
  EXPECT_FALSE(info.time_limit_ms.has_value());
  pawl::StartOptions longer;
  longer.time_limit = std::chrono::hours(2);
  ASSERT_EQ(world_->client().start_orchestration("slow", InstanceId("longer"), "1", longer),
            Status::kOk);
  EXPECT_EQ(end_of("slow"), "steps[1]: time limit of 600000 ms is over");
  EXPECT_EQ(end_of("longer"), R"("")");  // the result of its last activity
  start("nightly", "1");
  ASSERT_EQ(world_->advance(60 * kMinute), Status::kOk);
  std::string ends;
  auto visitor = pawl::visit([&](const pawl::InstanceInfo& one) {
    OrchestrationStatus status;
    EXPECT_EQ(world_->client().get_status(one.id.view(), &status), Status::kOk);
    ends.append(pawl::error_kind_name(status.error));
  });
  pawl::InstanceFilter runs;
  runs.id_prefix = "nightly@";
  pawl::Page page;
  ASSERT_EQ(world_->client().list_instances(runs, &page, visitor), Status::kOk);
  EXPECT_EQ(ends, "cancelled");
}

TEST_F(PawldFlows, AnErrorNamesTheTemplateThatBecomesTooLong) {
  const std::string text = "\"" + std::string(2'000, 'x') + "\"";
  start("wide", text);
  EXPECT_EQ(end_of("wide"), "steps[0] soil: input: becomes longer than 4096 bytes");
  start("when", text);
  EXPECT_EQ(end_of("when"), "steps[0] echo: when: becomes longer than 4096 bytes");
  echo_.returns("1");
  start("long", text);
  EXPECT_EQ(end_of("long"), "output: becomes longer than 4096 bytes");
  echo_.returns(text);
  start("each", "[1,2,3,4,5]");
  EXPECT_EQ(end_of("each"), "output: becomes longer than 4096 bytes");
}

}  // namespace
}  // namespace pawld
