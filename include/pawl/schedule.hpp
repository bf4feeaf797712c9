// Schedules: an orchestration that starts others at the times of a cron text.
//
// Purpose: a library orchestration over the public calls, registered with one line:
//   host.add_orchestration(pawl::kSchedule, pawl::run_schedule);
// An instance of it is a schedule. It starts each run as an instance of its own, whose id is made
// of the schedule's id and the scheduled time, so one time runs once, whatever crashes and however
// the clock goes. To delete a schedule, cancel it. It shows a ScheduleStatus: as its custom status
// while it lives, as its output in the end. Times are UTC timers: while no clock can be trusted,
// only triggers run (T4 of docs/rules/time.md).
// Ownership: values own their texts; nothing is allocated. Thread rule: as the call that takes
// them. Units: ms, and ms since 1970 UTC.
#ifndef PAWL_SCHEDULE_HPP
#define PAWL_SCHEDULE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/json.hpp"
#include "pawl/orchestration.hpp"
#include "pawl/timetable.hpp"
#include "pawl/typed.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// The limit of a schedule's id, so that the ids of its runs fit.
inline constexpr std::size_t kScheduleIdBytesMax = 220;
inline constexpr std::uint32_t kMissedRunsMax = 100;

// Decides about times that passed while the schedule could not run, because the machine was off,
// the clock was not trusted or no worker was there.
enum class MissedRuns : std::uint8_t {
  kSkip,     // the last of them runs, if it is at most late_ms ago
  kRunOnce,  // the last of them runs
  kRunAll,   // the last missed_max of them run
};
PAWL_JSON_ENUM(MissedRuns, kSkip, kRunOnce, kRunAll)

// Decides about times that come while a run is still under way.
enum class RunOverlap : std::uint8_t {
  kSkip,  // they do not run
  // The last of them runs behind it; with MissedRuns::kRunAll the last missed_max do.
  kWait,
  // They run beside it. The schedule does not follow such runs: it knows no end and no failure of
  // them, and its own end leaves them alone.
  kStartBeside,
};
PAWL_JSON_ENUM(RunOverlap, kSkip, kWait, kStartBeside)

struct Schedule {
  JsonText<128> cron;  // a text of Timetable::parse()
  JsonText<64> zone;   // likewise; empty: UTC
  JsonText<kNameBytesMax> orchestration;
  JsonText<64> version;  // empty: the default, as ChildOptions::version
  JsonText<1024> input;  // the input of each run
  MissedRuns missed = MissedRuns::kSkip;
  RunOverlap overlap = RunOverlap::kSkip;
  std::uint32_t missed_max = 10;  // 1..kMissedRunsMax
  std::int64_t late_ms = 60'000;  // 0 or more
};
PAWL_JSON(Schedule, cron, zone, orchestration, version, input, missed, overlap, missed_max, late_ms)
PAWL_JSON_DEFAULTS(Schedule, zone, version, input, missed, overlap, missed_max, late_ms)

// Fills in the texts of a schedule, and checks all of it.
// Returns kOk. Unless kOk, `why` says what is wrong and where.
// Requires: texts that fit (kResourceExhausted); a cron text and a zone as Timetable::parse() says,
// a name, and numbers in their ranges (kInvalidArgument). MissedRuns::kRunAll with
// RunOverlap::kSkip is refused, too: all runs but the first would be skipped.
Status fill_schedule(Schedule* out, std::string_view cron, std::string_view zone,
                     std::string_view orchestration, std::string_view input, Diagnostic& why);
// Checks a schedule that was filled in another way.
// Returns the same as fill_schedule().
Status check_schedule(const Schedule& schedule, Diagnostic& why);

struct ScheduleStatus {
  // All times up to here have run or were skipped. It never falls; 0: no clock was trusted yet.
  std::int64_t handled_until_ms = 0;
  std::optional<std::int64_t> next_ms;  // none: paused, no trusted clock yet, a run under way
  std::optional<std::int64_t> last_ms;  // the scheduled time of the last run
  bool paused = false;
  bool running = false;                // a run that it follows is under way
  bool next_waits = false;             // the next time came while a run was under way
  std::uint32_t triggers_waiting = 0;  // runs asked for while one was under way (kWait)
  std::uint64_t started = 0;
  std::uint64_t failed = 0;   // runs that it follows, and those whose id was taken
  std::uint64_t skipped = 0;  // at most 1000 are counted at a time
  std::uint64_t triggered = 0;
  JsonText<160> refused;  // the last command that was refused, and why
};
PAWL_JSON(ScheduleStatus, handled_until_ms, next_ms, last_ms, paused, running, next_waits,
          triggers_waiting, started, failed, skipped, triggered, refused)

// The input of kSchedule. The times that a schedule has handled are no part of it: its executions
// hand them on as the value "pawl.schedule" of the instance, which only its own code can write.
struct ScheduleInput {
  Schedule schedule;
};
PAWL_JSON(ScheduleInput, schedule)

enum class ScheduleAction : std::uint8_t {
  kPause,    // times that pass do not run; a run under way goes on
  kResume,   // goes on from now on
  kTrigger,  // a run now, beside its times; while one is under way, RunOverlap decides
  kChange,   // takes ScheduleCommand::schedule, whose times count from now on
};
PAWL_JSON_ENUM(ScheduleAction, kPause, kResume, kTrigger, kChange)

struct ScheduleCommand {
  ScheduleAction action = ScheduleAction::kTrigger;
  std::optional<Schedule> schedule;  // for kChange
};
PAWL_JSON(ScheduleCommand, action, schedule)

// The name to register run_schedule() with, and to start schedules with.
inline constexpr OrchestrationType<ScheduleInput, ScheduleStatus> kSchedule{"pawl.schedule"};
// The event of client.raise_event(id, kScheduleCommand, {ScheduleAction::kPause}). Commands are
// taken in their order; a refused one changes only ScheduleStatus::refused.
inline constexpr EventType<ScheduleCommand> kScheduleCommand{"pawl.schedule"};

// The code of kSchedule. When it is cancelled, it completes with its status, and a run that it
// follows is cancelled, too. It fails with kInvalidArgument if the schedule is not valid, or if its
// own id is longer than kScheduleIdBytesMax or has "::".
PollOf<ScheduleInput, ScheduleStatus> run_schedule(OrchestrationContext& ctx,
                                                   const ScheduleInput& input);

// The parts of a run's id: "nightly@2026-11-23T02:30:00Z", and after a trigger
// "nightly@2026-11-23T14:07:31Z#2". They are views of the id.
struct ScheduledRun {
  std::string_view schedule;             // the schedule's id
  std::int64_t scheduled_ms = 0;         // when it should begin, in whole seconds
  std::optional<std::uint64_t> trigger;  // the number of the trigger, from 1
};
// Takes the id of a run apart. None: it is not the id of such a run.
[[nodiscard]] std::optional<ScheduledRun> scheduled_run(std::string_view instance_id);

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_SCHEDULE_HPP
