// The tables of what a Runtime counts: pawl/runtime.hpp and pawl/name_stats.hpp.
//
// Ownership: constants. The rows stand in the order of JSON.
#ifndef PAWL_PARTS_FIELDS_RUNTIME_FIELDS_HPP
#define PAWL_PARTS_FIELDS_RUNTIME_FIELDS_HPP

#include "parts/fields/fields.hpp"
#include "pawl/name_stats.hpp"
#include "pawl/runtime.hpp"

namespace pawl::fields {

template <>
struct FieldsOf<RuntimeStats> {
  using T = RuntimeStats;
  static constexpr Field kAll[] = {
      PAWL_FIELD(ticks, "Rounds of the loop.").measured("pawl_ticks_total"),
      PAWL_FIELD(commits, "Transactions that wrote.").measured("pawl_commits_total"),
      PAWL_FIELD(flushes, "Flushes of the database's files.").measured("pawl_flushes_total"),
      PAWL_FIELD(bytes_written, "Bytes written to the database's files.")
          .measured("pawl_written_bytes_total"),
      PAWL_FIELD(server_trips, "Waits for an answer of the database's server.")
          .measured("pawl_server_trips_total"),
      PAWL_FIELD(turns, "Turns of orchestrations.").measured("pawl_turns_total"),
      PAWL_FIELD(turns_refused, "Turns that another worker had run first, or that were stale.")
          .measured("pawl_turns_refused_total"),
      PAWL_FIELD(cold_loads, "Histories read from the database.").measured("pawl_cold_loads_total"),
      PAWL_FIELD(orchestrations_completed, "Executions that completed."),
      PAWL_FIELD(orchestrations_failed, "Executions that failed."),
      PAWL_FIELD(continued_as_new, "Executions that were continued by a next one."),
      PAWL_FIELD(activities_started, "Activities begun.").measured("pawl_activities_started_total"),
      PAWL_FIELD(activities_completed, "Accepted results."),
      PAWL_FIELD(activities_handed_back, "Activities given back into the queue.")
          .measured("pawl_activities_handed_back_total"),
      PAWL_FIELD(activities_retried, "Failed attempts that are followed by another."),
      PAWL_FIELD(activities_refused, "Results of work that was taken over or cancelled."),
      PAWL_FIELD(activities_overlong, "Inline activities beyond inline_max.")
          .measured("pawl_activities_overlong_total"),
      PAWL_FIELD(activities_abandoned, "Cancelled activities that did not come back in time.")
          .measured("pawl_activities_abandoned_total"),
      PAWL_FIELD(messages_dropped, "Duplicates, late messages and offers without a wait.")
          .measured("pawl_messages_dropped_total"),
      PAWL_FIELD(busy_ticks, "Ticks that did not get the write lock.")
          .measured("pawl_busy_ticks_total"),
      PAWL_FIELD(failed_ticks, "Ticks rolled back by an error of the disk or of memory.")
          .measured("pawl_failed_ticks_total"),
      PAWL_FIELD(sessions_claimed, "Sessions that this worker claimed.")
          .measured("pawl_sessions_claimed_total"),
      PAWL_FIELD(sessions_migrated, "Sessions that came from another worker.")
          .measured("pawl_sessions_migrated_total"),
      PAWL_FIELD(sessions_released, "Sessions that this worker released.")
          .measured("pawl_sessions_released_total"),
      PAWL_FIELD(sessions_lost, "Sessions that were lost.").measured("pawl_sessions_lost_total"),
      PAWL_FIELD(sessions_evicted, "Sessions let go for an activity that does not come back.")
          .measured("pawl_sessions_evicted_total"),
      PAWL_FIELD(sessions_evicted_idle,
                 "Sessions let go at max_sessions_per_worker for one that waited.")
          .measured("pawl_sessions_evicted_idle_total"),
      PAWL_FIELD(capacity_exhausted,
                 "Looks for work that met a session for which this worker has no room.")
          .measured("pawl_session_capacity_exhausted_total"),
      PAWL_FIELD(session_leaks, "Sessions reported as leaks.").measured("pawl_session_leaks_total"),
      PAWL_FIELD(poisoned, "Turns and activities that crashed too often.")
          .measured("pawl_poisoned_total"),
      PAWL_FIELD(rows_quarantined, "Damaged rows taken out of the way.")
          .measured("pawl_rows_quarantined_total"),
      PAWL_FIELD(unregistered, "Work whose name no process has.")
          .measured("pawl_unregistered_total"),
      PAWL_FIELD(instances_removed, "Instances removed, children included.")
          .not_in_json()
          .measured("pawl_instances_removed_total"),
      PAWL_FIELD(wakeups, "Returns from sleep.").measured("pawl_wakeups_total"),
      PAWL_FIELD(clock_steps, "Steps of the wall clock that were seen.")
          .measured("pawl_clock_steps_total"),
      PAWL_FIELD(sessions_waiting,
                 "Sessions with work and no owner that this worker could run, but for its limit."),
      PAWL_FIELD(sessions_evicted_idle_minute,
                 "Sessions let go for one that waited, in the last whole minute.")
          .measured("pawl_sessions_evicted_idle_last_minute"),
      PAWL_FIELD(sessions_active, "Sessions of this worker with work."),
      PAWL_FIELD(sessions_idle, "Sessions of this worker without work."),
      PAWL_FIELD(warm_instances, "Histories kept in memory.").measured("pawl_warm_instances"),
      PAWL_FIELD(warm_bytes_used, "Memory of the histories that are kept.")
          .not_in_json()
          .measured("pawl_warm_bytes"),
      PAWL_FIELD(activities_running, "Activities in hand.").measured("pawl_activity_slots_used"),
      PAWL_FIELD(slots_abandoned, "Slots held by abandoned activities.")
          .measured("pawl_activity_slots_abandoned"),
      PAWL_FIELD(written,
                 "Transactions that wrote, from the wait for the write lock to their commit.")
          .measured("pawl_commit_duration_seconds"),
      PAWL_FIELD(flushed, "Commits: what the disk took.").measured("pawl_flush_duration_seconds"),
  };
};

template <>
struct FieldsOf<OrchestrationStats> {
  using T = OrchestrationStats;
  static constexpr Field kAll[] = {
      PAWL_FIELD(name, "Its name.").labels("orchestration"),
      PAWL_FIELD(version, "Version of its code.").labels("version"),
      PAWL_FIELD(started, "Executions begun.").measured("pawl_orchestrations_started_total"),
      PAWL_FIELD(turns, "Its turns."),
      PAWL_FIELD(completed, "Executions that completed.")
          .measured("pawl_orchestrations_completed_total"),
      PAWL_FIELD(failed, "Executions that failed.").measured("pawl_orchestrations_failed_total"),
      PAWL_FIELD(continued_as_new, "Executions that were continued by a next one."),
      PAWL_FIELD(stopped, "Executions stopped for their code or a damaged row.")
          .measured("pawl_orchestrations_stopped_total"),
      PAWL_FIELD(lasted, "Executions from begin to end.")
          .measured("pawl_orchestration_duration_seconds"),
      PAWL_FIELD(turn, "Turns: the code, and what a replay took.")
          .measured("pawl_turn_duration_seconds"),
      PAWL_FIELD(history, "Lengths of histories at their ends.")
          .not_in_json()
          .measured("pawl_orchestration_history_events"),
  };
};

template <>
struct FieldsOf<ActivityStats> {
  using T = ActivityStats;
  static constexpr Field kAll[] = {
      PAWL_FIELD(name, "Its name.").labels("activity"),
      PAWL_FIELD(completed, "Accepted results.").measured("pawl_activities_completed_total"),
      PAWL_FIELD(failed, "Accepted failures.").measured("pawl_activities_failed_total"),
      PAWL_FIELD(retried, "Failed attempts that are followed by another.")
          .measured("pawl_activities_retried_total"),
      PAWL_FIELD(refused, "Results of work that was taken over or cancelled.")
          .measured("pawl_activities_refused_total"),
      PAWL_FIELD(ran, "How long activities ran.").measured("pawl_activity_duration_seconds"),
  };
};

}  // namespace pawl::fields

#endif  // PAWL_PARTS_FIELDS_RUNTIME_FIELDS_HPP
