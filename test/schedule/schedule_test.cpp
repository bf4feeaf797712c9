// Goal: each scheduled time runs once at most, whatever crashes and however the clock goes; and
// missed times, overlaps and commands have the outcome that pawl/schedule.hpp says.
#include "pawl/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "pawl/testing.hpp"

namespace pawl {
namespace {

using testing::FakeActivity;
using testing::World;
using testing::WorldOptions;

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

// Passes its id to the activity "work", then waits for the minutes that its input gives.
Poll job(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("work", ctx.instance_id()));
  if (!done.ok()) return ctx.fail(done.error());
  const std::int64_t minutes = ctx.input().empty() ? 0 : std::stoll(std::string(ctx.input()));
  if (minutes > 0) {
    PAWL_AWAIT(slept, ctx.schedule_timer(std::chrono::minutes(minutes)));
    if (!slept.ok()) return ctx.fail(slept.error());
  }
  return minutes < 0 ? ctx.fail("broken") : ctx.complete("");
}

Schedule hourly(std::string_view input = "") {
  Schedule schedule;
  Diagnostic why;
  EXPECT_EQ(fill_schedule(&schedule, "0 * * * *", "UTC0", "job", input, why), Status::kOk)
      << why.text();
  return schedule;
}

class Schedules : public ::testing::Test {
 protected:
  Schedules() {
    EXPECT_EQ(registry_.add_orchestration(kSchedule, run_schedule), Status::kOk);
    EXPECT_EQ(registry_.add_orchestration("job", job), Status::kOk);
    EXPECT_EQ(work_.add_to(registry_, "work"), Status::kOk);
  }

  // The world begins at half past an hour.
  void open(const WorldOptions& options = WorldOptions()) {
    world_ = std::make_unique<World>(registry_, options);
    world_->machine().set_synced(true);
    world_->machine().set_wall(base_ + kHour / 2);
    ASSERT_EQ(world_->start(), Status::kOk) << world_->error_text();
  }
  void start(const Schedule& schedule, const char* id = "s") {
    ASSERT_EQ(world_->client().start_orchestration(kSchedule, InstanceId(id), {schedule}),
              Status::kOk);
    ASSERT_EQ(world_->run_until_idle(), Status::kOk);
  }
  void command(const ScheduleCommand& command) {
    ASSERT_EQ(world_->client().raise_event("s", kScheduleCommand, command), Status::kOk);
    ASSERT_EQ(world_->run_until_idle(), Status::kOk);
  }
  void advance(std::int64_t ms) { ASSERT_EQ(world_->advance(ms), Status::kOk); }

  // The runs so far: "+2" was scheduled 2 hours after base_, "+2#1" was triggered.
  [[nodiscard]] std::string runs() const {
    std::string text;
    for (std::size_t i = 0; i < work_.calls(); ++i) {
      const auto run = scheduled_run(work_.input(i));
      EXPECT_TRUE(run.has_value()) << work_.input(i);
      if (!run.has_value()) continue;
      text += (text.empty() ? "+" : " +") + std::to_string((run->scheduled_ms - base_) / kHour);
      if (run->trigger.has_value()) text += "#" + std::to_string(*run->trigger);
    }
    return text;
  }
  ScheduleStatus shown(const char* id = "s") {
    OrchestrationStatus status;
    EXPECT_EQ(world_->client().get_status(id, &status), Status::kOk);
    ScheduleStatus schedule;
    Diagnostic why;
    const bool ended = status.state == OrchestrationState::kCompleted;
    EXPECT_EQ(from_json(ended ? status.output : status.custom_status, &schedule, &why), Status::kOk)
        << why.text();
    return schedule;
  }
  OrchestrationState state_of(std::string_view id) {
    OrchestrationStatus status;
    EXPECT_EQ(world_->client().get_status(id, &status), Status::kOk) << id;
    return status.state;
  }

  const std::int64_t base_ = 1893456000000;  // 2030-01-01, after the build of the library
  Registry registry_;
  FakeActivity work_;
  std::unique_ptr<World> world_;
};

TEST_F(Schedules, each_time_is_an_instance_of_its_own) {
  open();
  start(hourly());
  EXPECT_EQ(shown().next_ms, base_ + kHour);
  EXPECT_EQ(shown().last_ms, std::nullopt);
  advance(kHour / 2 - 1);
  EXPECT_EQ(runs(), "");
  advance(1);
  ASSERT_EQ(runs(), "+1");
  EXPECT_EQ(work_.input(0), "s@2030-01-01T01:00:00Z");
  advance(2 * kHour);
  EXPECT_EQ(runs(), "+1 +2 +3");
  EXPECT_EQ(state_of("s@2030-01-01T03:00:00Z"), OrchestrationState::kCompleted);
  const ScheduleStatus status = shown();
  EXPECT_EQ(status.next_ms, base_ + 4 * kHour);
  EXPECT_EQ(status.last_ms, base_ + 3 * kHour);
  EXPECT_EQ(status.started, 3U);
  EXPECT_EQ(status.failed, 0U);
  EXPECT_FALSE(status.running);
}

// Executions hand the handled times on as a value of the instance, not in the input. A caller may
// write any input, so an input must not say what was handled.
TEST_F(Schedules, no_input_says_what_was_handled) {
  open();
  char memory[4'096];
  const internal::Encoded<ScheduleInput> input({memory, sizeof memory}, ScheduleInput{hourly()});
  ASSERT_EQ(input.status(), Status::kOk);
  std::string text(input.text());
  text.pop_back();
  text += R"(,"status":{"handled_until_ms":9007199254740991,"next_ms":null,"last_ms":null,)"
          R"("paused":true,"running":false,"next_waits":true,"triggers_waiting":100,)"
          R"("started":0,"failed":0,"skipped":0,"triggered":9007199254740991,"refused":""}})";
  ASSERT_EQ(world_->client().start_orchestration(kSchedule.name(), InstanceId("s"), text),
            Status::kOk);
  ASSERT_EQ(world_->run_until_idle(), Status::kOk);
  advance(2 * kHour);
  EXPECT_EQ(runs(), "+1 +2");
}

TEST_F(Schedules, the_history_is_bounded) {
  open();
  start(hourly());
  advance(5 * kDay);
  EXPECT_EQ(shown().started, 120U);
  EXPECT_EQ(work_.calls(), 120U);
  OrchestrationStatus status;
  ASSERT_EQ(world_->client().get_status("s", &status), Status::kOk);
  EXPECT_GE(status.execution_id, 4);
  for (std::int64_t i = 1; i <= status.execution_id; ++i) {
    std::string history;
    ASSERT_EQ(world_->history("s", &history, i), Status::kOk);
    EXPECT_LT(std::count(history.begin(), history.end(), '\n'), 700) << i;
  }
}

TEST_F(Schedules, a_failed_run_is_counted_and_the_next_comes) {
  open();
  start(hourly("-1"));
  advance(2 * kHour);
  EXPECT_EQ(runs(), "+1 +2");
  EXPECT_EQ(shown().failed, 2U);
}

// ---- missed times ----

TEST_F(Schedules, missed_times_are_skipped_by_default) {
  open();
  start(hourly());
  advance(kHour);
  world_->reboot(5 * kHour);
  ASSERT_EQ(world_->start(), Status::kOk);
  advance(kMinute);
  EXPECT_EQ(runs(), "+1");
  EXPECT_EQ(shown().skipped, 5U);
  advance(kHour);
  EXPECT_EQ(runs(), "+1 +7");
}

TEST_F(Schedules, the_last_missed_time_runs_if_it_is_not_late) {
  Schedule schedule = hourly();
  schedule.late_ms = kHour / 2;
  open();
  start(schedule);
  advance(kHour);
  world_->reboot(5 * kHour);
  ASSERT_EQ(world_->start(), Status::kOk);
  advance(kMinute);
  EXPECT_EQ(runs(), "+1 +6");
  EXPECT_EQ(shown().skipped, 4U);
}

TEST_F(Schedules, missed_times_run_once) {
  Schedule schedule = hourly();
  schedule.missed = MissedRuns::kRunOnce;
  open();
  start(schedule);
  advance(kHour);
  world_->reboot(5 * kHour);
  ASSERT_EQ(world_->start(), Status::kOk);
  advance(kHour);
  EXPECT_EQ(runs(), "+1 +6 +7");
  EXPECT_EQ(shown().skipped, 4U);
}

TEST_F(Schedules, missed_times_all_run_up_to_a_number) {
  for (const RunOverlap overlap : {RunOverlap::kWait, RunOverlap::kStartBeside}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    Schedule schedule = hourly();
    schedule.missed = MissedRuns::kRunAll;
    schedule.overlap = overlap;
    schedule.missed_max = 3;
    open();
    const std::size_t before = runs().size();
    start(schedule);
    advance(kHour);
    world_->reboot(5 * kHour);
    ASSERT_EQ(world_->start(), Status::kOk);
    advance(kHour);
    EXPECT_EQ(runs().substr(before == 0 ? 0 : before + 1), "+1 +4 +5 +6 +7");
    EXPECT_EQ(shown().skipped, 2U);
    advance(2 * kHour);
    EXPECT_EQ(shown().started, 7U);
  }
}

// ---- clocks ----

TEST_F(Schedules, nothing_runs_while_no_clock_is_trusted) {
  Schedule schedule = hourly();
  schedule.missed = MissedRuns::kRunOnce;
  open();
  start(schedule);
  advance(kHour);
  world_->machine().reboot(5 * kHour, false);
  world_->reboot(0);
  world_->machine().set_synced(false);
  world_->machine().set_wall(0);
  ASSERT_EQ(world_->start(), Status::kOk);
  advance(3 * kHour);
  const std::string untrusted = runs();
  world_->machine().set_wall(base_ + 10 * kHour + kHour / 2);
  world_->machine().set_synced(true);
  advance(kHour);
  EXPECT_EQ(runs(), untrusted + " +10 +11");
}

TEST_F(Schedules, times_count_from_the_first_clock_that_is_trusted) {
  Schedule schedule = hourly();
  schedule.missed = MissedRuns::kRunAll;
  schedule.overlap = RunOverlap::kWait;
  open();
  world_.reset();
  world_ = std::make_unique<World>(registry_);
  world_->machine().set_synced(false);
  world_->machine().set_wall(0);
  ASSERT_EQ(world_->start(), Status::kOk);
  start(schedule);
  advance(2 * kHour);
  EXPECT_EQ(runs(), "");
  command({ScheduleAction::kPause, std::nullopt});
  command({ScheduleAction::kResume, std::nullopt});
  command({ScheduleAction::kTrigger, std::nullopt});
  EXPECT_EQ(work_.calls(), 1U) << "a trigger needs no clock";
  EXPECT_EQ(shown().handled_until_ms, 0);
  world_->machine().set_wall(base_ + kHour / 2);
  world_->machine().set_synced(true);
  advance(kHour + kHour / 2);
  EXPECT_NE(runs().find("#1 +1 +2"), std::string::npos) << runs();
  EXPECT_EQ(work_.calls(), 3U);
  EXPECT_EQ(shown().skipped, 0U);
}

TEST_F(Schedules, a_clock_that_steps_runs_no_time_twice) {
  std::size_t all = 0;
  for (const MissedRuns missed : {MissedRuns::kSkip, MissedRuns::kRunOnce, MissedRuns::kRunAll}) {
    for (unsigned seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(std::to_string(static_cast<int>(missed)) + " " + std::to_string(seed));
      Schedule schedule = hourly(seed % 2 == 0 ? "" : "90");
      schedule.missed = missed;
      schedule.overlap = seed % 3 == 0 ? RunOverlap::kWait : RunOverlap::kStartBeside;
      const std::size_t before = work_.calls();
      open();
      start(schedule);
      std::uint64_t random = seed + 1;
      for (int i = 0; i < 20; ++i) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        const auto step = static_cast<std::int64_t>(random >> 33U) % (6 * kHour) - 3 * kHour;
        world_->machine().set_wall(world_->now_ms() + step);
        if (i % 7 == 3) {
          world_->crash();
          ASSERT_EQ(world_->start(), Status::kOk);
        }
        advance(kHour / 2);
      }
      std::set<std::string> ids;
      for (std::size_t i = before; i < work_.calls(); ++i)
        ids.insert(work_.input(i));
      all += ids.size();
      EXPECT_EQ(ids.size(), work_.calls() - before);
      EXPECT_GE(shown().started, ids.size());
      EXPECT_EQ(shown().failed, 0U) << "an id was there already";
    }
  }
  EXPECT_GT(all, 100U);
}

// A command forgets no handled time, whatever the clock shows meanwhile.
TEST_F(Schedules, commands_under_a_clock_that_went_back_run_no_time_twice) {
  open();
  start(hourly());
  advance(2 * kHour);
  EXPECT_EQ(runs(), "+1 +2");
  world_->machine().set_wall(base_ + kHour / 2);
  command({ScheduleAction::kPause, std::nullopt});
  command({ScheduleAction::kResume, std::nullopt});
  command({ScheduleAction::kChange, hourly()});
  EXPECT_EQ(shown().next_ms, base_ + 3 * kHour);
  advance(3 * kHour);
  EXPECT_EQ(runs(), "+1 +2 +3");
  EXPECT_EQ(shown().failed, 0U);
}

// ---- crashes ----

TEST_F(Schedules, a_crash_at_any_write_runs_each_time_once) {
  for (const RunOverlap overlap : {RunOverlap::kWait, RunOverlap::kStartBeside}) {
    Schedule schedule = hourly();
    schedule.overlap = overlap;
    schedule.missed = MissedRuns::kRunAll;
    std::uint64_t nth = 1;
    for (bool has_crashed = true; has_crashed; nth += PAWL_SAMPLE) {
      SCOPED_TRACE(nth);
      ASSERT_LT(nth, 800U);
      const std::size_t before = work_.calls();
      ASSERT_EQ(schedule.cron.assign("* * * * *"), Status::kOk);
      open();
      start(schedule);
      world_->crash_at_write(nth);
      has_crashed = world_->advance(kMinute + 1'000) == Status::kStopped;
      world_->crash_at_write(0);
      ASSERT_EQ(world_->start(), Status::kOk);
      ASSERT_EQ(world_->advance(kHour / 2 + 2 * kMinute - (world_->now_ms() - base_) + 1'000),
                Status::kOk);
      std::set<std::string> ids;
      for (std::size_t i = before; i < work_.calls(); ++i)
        ids.insert(work_.input(i));
      EXPECT_EQ(ids.size(), 2U);
      // A crash may repeat the activity of a run, but starts no second instance for it.
      EXPECT_EQ(shown().started, 2U);
      EXPECT_EQ(shown().failed, 0U);
    }
    EXPECT_GT(nth, 20U);
  }
}

// ---- overlaps ----

TEST_F(Schedules, times_during_a_run_are_skipped) {
  open();
  start(hourly("150"));
  advance(kHour);
  EXPECT_TRUE(shown().running);
  EXPECT_EQ(shown().next_ms, std::nullopt);
  advance(6 * kHour);
  EXPECT_EQ(runs(), "+1 +4 +7");
  EXPECT_EQ(shown().skipped, 4U);
}

TEST_F(Schedules, the_last_time_during_a_run_waits) {
  Schedule schedule = hourly("150");
  schedule.overlap = RunOverlap::kWait;
  open();
  start(schedule);
  advance(7 * kHour);
  // The run of 1:00 lasts until 3:30. The run of 3:00 follows until 6:00, then that of 6:00.
  EXPECT_EQ(runs(), "+1 +3 +6");
  EXPECT_EQ(shown().skipped, 3U);
}

TEST_F(Schedules, times_during_a_run_start_beside_it) {
  Schedule schedule = hourly("150");
  schedule.overlap = RunOverlap::kStartBeside;
  open();
  start(schedule);
  advance(3 * kHour);
  EXPECT_EQ(runs(), "+1 +2 +3");
  EXPECT_EQ(state_of("s@2030-01-01T02:00:00Z"), OrchestrationState::kRunning);
  ASSERT_EQ(world_->client().cancel_instance("s", "over"), Status::kOk);
  advance(kMinute);
  EXPECT_EQ(state_of("s"), OrchestrationState::kCompleted);
  EXPECT_EQ(state_of("s@2030-01-01T02:00:00Z"), OrchestrationState::kRunning);
}

// ---- commands ----

TEST_F(Schedules, a_pause_runs_nothing_and_is_not_made_up_for) {
  Schedule schedule = hourly();
  schedule.missed = MissedRuns::kRunAll;
  schedule.overlap = RunOverlap::kWait;
  open();
  start(schedule);
  advance(kHour);
  command({ScheduleAction::kPause, std::nullopt});
  EXPECT_TRUE(shown().paused);
  EXPECT_EQ(shown().next_ms, std::nullopt);
  advance(3 * kHour);
  command({ScheduleAction::kTrigger, std::nullopt});
  EXPECT_EQ(runs(), "+1 +4#1");
  command({ScheduleAction::kResume, std::nullopt});
  EXPECT_EQ(shown().next_ms, base_ + 5 * kHour);
  advance(kHour);
  EXPECT_EQ(runs(), "+1 +4#1 +5");
}

TEST_F(Schedules, a_change_takes_effect_from_now_on) {
  open();
  start(hourly());
  Schedule daily;
  Diagnostic why;
  ASSERT_EQ(fill_schedule(&daily, "0 12 * * *", "CET-1CEST,M3.5.0,M10.5.0/3", "job", "", why),
            Status::kOk);
  command({ScheduleAction::kChange, daily});
  EXPECT_EQ(shown().next_ms, base_ + 11 * kHour);
  advance(2 * kDay);
  EXPECT_EQ(runs(), "+11 +35");
}

TEST_F(Schedules, a_bad_command_changes_nothing) {
  open();
  start(hourly());
  command({ScheduleAction::kChange, std::nullopt});
  EXPECT_EQ(shown().refused.view(), "kChange: has no schedule");
  Schedule bad = hourly();
  ASSERT_EQ(bad.cron.assign("0 24 * * *"), Status::kOk);
  command({ScheduleAction::kChange, bad});
  EXPECT_EQ(shown().refused.view(), "kChange: hour, at 1: 24 is not in 0..23");
  ASSERT_EQ(world_->client().raise_event("s", "pawl.schedule", "{}"), Status::kOk);
  ASSERT_EQ(world_->run_until_idle(), Status::kOk);
  EXPECT_NE(shown().refused.view().find("action"), std::string_view::npos);
  EXPECT_EQ(world_->log().count("kChange: has no schedule"), 1U);
  advance(kHour);
  EXPECT_EQ(runs(), "+1");
}

TEST_F(Schedules, commands_do_not_touch_the_run) {
  Schedule schedule = hourly("150");
  schedule.overlap = RunOverlap::kWait;
  open();
  start(schedule);
  advance(kHour);
  command({ScheduleAction::kTrigger, std::nullopt});
  command({ScheduleAction::kPause, std::nullopt});
  EXPECT_TRUE(shown().running);
  EXPECT_TRUE(shown().paused);
  EXPECT_EQ(shown().triggers_waiting, 1U);
  EXPECT_EQ(state_of("s@2030-01-01T01:00:00Z"), OrchestrationState::kRunning);
  advance(3 * kHour);
  EXPECT_EQ(state_of("s@2030-01-01T01:00:00Z"), OrchestrationState::kCompleted);
  EXPECT_EQ(runs(), "+1 +3#1");
  EXPECT_EQ(shown().failed, 0U);
}

TEST_F(Schedules, a_trigger_during_a_run_is_skipped_where_times_are) {
  open();
  start(hourly("150"));
  advance(kHour);
  command({ScheduleAction::kTrigger, std::nullopt});
  advance(3 * kHour);
  EXPECT_EQ(runs(), "+1 +4");
  EXPECT_EQ(shown().skipped, 3U);
}

// An execution whose history is nearly full does not continue as new while a run is under way: that
// would cancel the run.
TEST_F(Schedules, many_commands_during_a_run_do_not_end_it) {
  WorldOptions options;
  options.runtime.limits.history_events_max = 200;
  open(options);
  start(hourly("150"));
  advance(kHour);
  for (int i = 0; i < 60; ++i)
    command({i % 2 == 0 ? ScheduleAction::kPause : ScheduleAction::kResume, std::nullopt});
  EXPECT_EQ(state_of("s@2030-01-01T01:00:00Z"), OrchestrationState::kRunning);
  EXPECT_EQ(state_of("s"), OrchestrationState::kRunning);
  advance(3 * kHour);
  EXPECT_EQ(state_of("s@2030-01-01T01:00:00Z"), OrchestrationState::kCompleted);
  EXPECT_EQ(runs(), "+1 +4");
  EXPECT_FALSE(shown().paused);
}

// ---- ends ----

TEST_F(Schedules, a_cancelled_schedule_completes_and_takes_its_run_along) {
  open();
  start(hourly("150"));
  advance(kHour);
  ASSERT_EQ(world_->client().cancel_instance("s", "no more"), Status::kOk);
  ASSERT_EQ(world_->run_until_idle(), Status::kOk);
  EXPECT_EQ(state_of("s"), OrchestrationState::kCompleted);
  EXPECT_EQ(shown().started, 1U);
  EXPECT_NE(state_of("s@2030-01-01T01:00:00Z"), OrchestrationState::kRunning);
  open();
  start(hourly());
  ASSERT_EQ(world_->client().cancel_instance("s", "no more"), Status::kOk);
  ASSERT_EQ(world_->run_until_idle(), Status::kOk);
  EXPECT_EQ(state_of("s"), OrchestrationState::kCompleted);
}

TEST_F(Schedules, what_is_no_schedule_fails_at_once) {
  open();
  const auto output = [&](const Schedule& schedule, const std::string& id) {
    start(schedule, id.c_str());
    OrchestrationStatus status;
    EXPECT_EQ(world_->client().get_status(id, &status), Status::kOk);
    EXPECT_EQ(status.state, OrchestrationState::kFailed);
    return std::string(status.output);
  };
  Schedule bad = hourly();
  ASSERT_EQ(bad.cron.assign("0 0 30 2 *"), Status::kOk);
  EXPECT_NE(output(bad, "a").find("never fires"), std::string::npos);
  EXPECT_NE(output(hourly(), std::string(221, 'x')).find("220 bytes"), std::string::npos);
  start(hourly(), std::string(220, 'x').c_str());
  EXPECT_EQ(state_of(std::string(220, 'x')), OrchestrationState::kRunning);
  EXPECT_EQ(work_.calls(), 0U);
}

TEST(FillSchedule, says_what_is_wrong) {
  const auto why_not = [](const Schedule& schedule, Status expected = Status::kInvalidArgument) {
    Diagnostic why;
    EXPECT_EQ(check_schedule(schedule, why), expected);
    return std::string(why.text());
  };
  Schedule schedule;
  Diagnostic why;
  EXPECT_EQ(fill_schedule(&schedule, "0 * * *", "UTC0", "job", "", why), Status::kInvalidArgument);
  EXPECT_EQ(schedule.cron.view(), "");
  EXPECT_EQ(fill_schedule(&schedule, std::string(129, '*'), "", "job", "", why),
            Status::kResourceExhausted);
  EXPECT_EQ(why.text(), "cron: too long");
  EXPECT_EQ(fill_schedule(&schedule, "0 * * * *", "", "job", std::string_view("\0", 1), why),
            Status::kInvalidArgument);
  EXPECT_EQ(why.text(), "input: a zero byte is in it");
  EXPECT_EQ(fill_schedule(&schedule, "0 * * * *", "", "", "", why), Status::kInvalidArgument);
  EXPECT_EQ(why.text(), "orchestration: a schedule needs the name of one");
  schedule = hourly();
  schedule.missed_max = 0;
  EXPECT_EQ(why_not(schedule), "missed_max: 0 is not in 1..100");
  schedule = hourly();
  schedule.late_ms = -1;
  EXPECT_EQ(why_not(schedule), "late_ms: -1 is less than 0");
  schedule = hourly();
  schedule.missed = MissedRuns::kRunAll;
  EXPECT_EQ(why_not(schedule),
            "missed: kRunAll needs an overlap of kWait or kStartBeside, kSkip would skip them");
}

}  // namespace
}  // namespace pawl
