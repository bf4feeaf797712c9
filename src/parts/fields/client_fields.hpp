// The tables of what a Client shows: pawl/management.hpp, OrchestrationStatus and KvEntry.
//
// Ownership: constants. The rows stand in the order of JSON.
#ifndef PAWL_PARTS_FIELDS_CLIENT_FIELDS_HPP
#define PAWL_PARTS_FIELDS_CLIENT_FIELDS_HPP

#include "parts/fields/fields.hpp"
#include "pawl/client_options.hpp"
#include "pawl/kv.hpp"
#include "pawl/management.hpp"

namespace pawl::fields {

template <>
struct FieldsOf<InstanceInfo> {
  using T = InstanceInfo;
  static constexpr Field kAll[] = {
      PAWL_FIELD(key, "Order of creation; never reused."),
      PAWL_FIELD(id, "Its id."),
      PAWL_FIELD(name, "Name of the orchestration."),
      PAWL_FIELD(version, "Version of its code.").unless_empty(),
      PAWL_FIELD(parent_id, "The instance that started it; a root has none.").unless_empty(),
      PAWL_FIELD(trace_id, "What it was started with, for tracing.").unless_empty(),
      PAWL_FIELD(state, "Its state."),
      PAWL_FIELD(execution_id, "The current execution."),
      PAWL_FIELD(created_ms, "UTC."),
      PAWL_FIELD(updated_ms, "UTC."),
      PAWL_FIELD(timers_without_clock, "Open timers on UTC that wait for a trusted clock."),
      PAWL_FIELD(unread_messages, "Messages that no code had received by its end."),
      PAWL_FIELD(time_limit_ms, "How long it may take; absent: it has no limit."),
      PAWL_FIELD(time_left_ms,
                 "Of the limit; absent: there is none, it was over, or it has ended."),
  };
};

template <>
struct FieldsOf<InstanceStats> {
  using T = InstanceStats;
  static constexpr Field kAll[] = {
      PAWL_FIELD(history_events, "Events of the current execution."),
      PAWL_FIELD(history_bytes, "Bytes of their payloads."),
      PAWL_FIELD(messages_waiting, "Messages for its next turn or in its queues."),
      PAWL_FIELD(kv_keys, "Values that it keeps."),
      PAWL_FIELD(kv_bytes, "Bytes of their keys and values."),
  };
};

template <>
struct FieldsOf<OrchestrationStatus> {
  using T = OrchestrationStatus;
  static constexpr Field kAll[] = {
      PAWL_FIELD(state, "Its state."),
      PAWL_FIELD(execution_id,
                 "The current execution; each continue-as-new and restart begins the next."),
      PAWL_FIELD(error, "A kind of error."),
      PAWL_FIELD(output, "The result, or the text of the error.").unless_empty(),
      PAWL_FIELD(created_ms, "UTC."),
      PAWL_FIELD(updated_ms, "UTC."),
      PAWL_FIELD(custom_status, "What its code set.").unless_empty(),
      PAWL_FIELD(custom_status_version, "Changes with each set and reset."),
      PAWL_FIELD(unread_messages, "Messages that no code had received by its end."),
  };
};

template <>
struct FieldsOf<ExecutionInfo> {
  using T = ExecutionInfo;
  static constexpr Field kAll[] = {
      PAWL_FIELD(execution_id, "Its number in the instance."),
      PAWL_FIELD(state, "Its state."),
      PAWL_FIELD(events, "Events of its history."),
      PAWL_FIELD(started_ms, "UTC."),
      PAWL_FIELD(ended_ms, "UTC; absent while it runs.").unless_empty(),
      PAWL_FIELD(error, "A kind of error, if it failed."),
      PAWL_FIELD(output, "The result, the text of the error, or the input of the next execution.")
          .unless_empty(),
  };
};

template <>
struct FieldsOf<ActivityInfo> {
  using T = ActivityInfo;
  static constexpr Field kAll[] = {
      PAWL_FIELD(activity_id, "The event that asked for it."),
      PAWL_FIELD(name, "Name of the activity; absent if its event is damaged.").unless_empty(),
      PAWL_FIELD(
          state,
          "Its state; delayed: before an attempt, or no worker has its name; outside: it has "
          "returned, and is completed from outside."),
      PAWL_FIELD(attempt, "Hand-overs so far."),
      PAWL_FIELD(retry_attempt, "1 and the attempts that failed."),
      PAWL_FIELD(node, "The worker that runs it.").unless_empty(),
      PAWL_FIELD(last_progress, "Text of its last heartbeat that was stored.").unless_empty(),
      PAWL_FIELD(last_error, "Error of the attempt that failed last.").unless_empty(),
      PAWL_FIELD(outside_since_ms, "UTC; absent unless it is outside.").unless_empty(),
  };
};

template <>
struct FieldsOf<Cause> {
  using T = Cause;
  static constexpr Field kAll[] = {
      PAWL_FIELD(kind, "What keeps it from going on."),
      PAWL_FIELD(event_id, "The event that asked for this; absent: the whole instance.")
          .unless_empty(),
      PAWL_FIELD(instance_id, "The instance that asked for the activity.").unless_empty(),
      PAWL_FIELD(name, "Of the activity, orchestration, event or queue.").unless_empty(),
      PAWL_FIELD(subject, "The device, session, tag, child or version.").unless_empty(),
      PAWL_FIELD(node, "The worker that has it.").unless_empty(),
      PAWL_FIELD(attempt, "Hand-overs of the activity so far.").unless_empty(),
      PAWL_FIELD(since_ms, "UTC: when it was asked for, or the instance changed.").unless_empty(),
      PAWL_FIELD(ends_in_ms, "When it goes on or fails by itself; absent: never."),
      PAWL_FIELD(error, "Why it failed before, or ended.").unless_empty(),
      PAWL_FIELD(kind, "What could be done.").called("help").as(FieldKind::kCauseHelp),
  };
};

template <>
struct FieldsOf<WorkInfo> {
  using T = WorkInfo;
  static constexpr Field kAll[] = {
      PAWL_FIELD(key, "Order of scheduling."),
      PAWL_FIELD(instance_id, "The instance that asked for it."),
      PAWL_FIELD(execution_id, "The execution that asked for it."),
      PAWL_FIELD(activity_id, "The event that asked for it."),
      PAWL_FIELD(name, "Name of the activity; absent if its event is damaged.").unless_empty(),
      PAWL_FIELD(
          state,
          "Its state; delayed: before an attempt, or no worker has its name; outside: it has "
          "returned, and is completed from outside."),
      PAWL_FIELD(attempt, "Hand-overs so far."),
      PAWL_FIELD(session, "The session that it runs on.").unless_empty(),
      PAWL_FIELD(tag, "Only workers of this tag take it.").unless_empty(),
      PAWL_FIELD(node, "The worker that runs it.").unless_empty(),
      PAWL_FIELD(is_unserved, "It waits for a worker that has its name."),
      PAWL_FIELD(outside_since_ms, "UTC; absent unless it is outside.").unless_empty(),
  };
};

template <>
struct FieldsOf<MessageInfo> {
  using T = MessageInfo;
  static constexpr Field kAll[] = {
      PAWL_FIELD(number, "Order of arrival."),
      PAWL_FIELD(kind, "A kind of docs/format/numbers.md."),
      PAWL_FIELD(name, "Name of the event or queue; of a start the orchestration.").unless_empty(),
      PAWL_FIELD(payload, "Its bytes.").unless_empty(),
      PAWL_FIELD(is_timer, "It has a due time, and comes then."),
      PAWL_FIELD(is_unread,
                 "Its instance ended without it; a restart gives it to the next execution."),
  };
};

template <>
struct FieldsOf<HistoryEvent> {
  using T = HistoryEvent;
  static constexpr Field kAll[] = {
      PAWL_FIELD(id, "Its number in the execution."),
      PAWL_FIELD(kind, "A kind of docs/format/numbers.md."),
      PAWL_FIELD(time_ms, "UTC."),
      PAWL_FIELD(branch, "The branch of the code that asked.").unless_empty(),
      PAWL_FIELD(ordinal, "Which call of that branch.").unless_empty(),
      PAWL_FIELD(ref, "Of an outcome: the event that asked.").unless_empty(),
      PAWL_FIELD(number, "A number that its kind has.").unless_empty(),
      PAWL_FIELD(error, "A kind of error."),
      PAWL_FIELD(name, "A name that its kind has.").unless_empty(),
      PAWL_FIELD(session, "Session of the activity.").unless_empty(),
      PAWL_FIELD(tag, "Tag of the activity.").unless_empty(),
      PAWL_FIELD(version, "Version of the code.").unless_empty(),
      PAWL_FIELD(payload, "Its bytes.").unless_empty(),
  };
};

template <>
struct FieldsOf<WorkerInfo> {
  using T = WorkerInfo;
  static constexpr Field kAll[] = {
      PAWL_FIELD(incarnation, "Number of this start of it."),
      PAWL_FIELD(node, "Its name."),
      PAWL_FIELD(pid, "Its process."),
      PAWL_FIELD(lease_ends_in_ms, "Below 0: it is overdue."),
      PAWL_FIELD(draining, "It takes nothing new, and its sessions move away."),
      PAWL_FIELD(sessions_max, "How many sessions it may own."),
      PAWL_FIELD(sessions, "How many it owns, without devices."),
      PAWL_FIELD(devices, "How many devices it owns."),
      PAWL_FIELD(sessions_busy, "Sessions and devices whose work is queued or runs."),
      PAWL_FIELD(any_tag, "It takes work with any tag, and without one."),
      PAWL_FIELD(takes_untagged, "It takes work without a tag."),
      PAWL_FIELD(tags, "It takes work with these tags.").as(FieldKind::kLines),
      PAWL_FIELD(handlers, "Names of its activities.").as(FieldKind::kLines),
      PAWL_FIELD(address, "On a server: where its connection comes from.").unless_empty(),
      PAWL_FIELD(disconnected, "On a server, which has no connection of it."),
  };
};

template <>
struct FieldsOf<SessionInfo> {
  using T = SessionInfo;
  static constexpr Field kAll[] = {
      PAWL_FIELD(key, "Order of creation."),
      PAWL_FIELD(name, "Its name."),
      PAWL_FIELD(instance_id, "The instance that opened it; absent: shared by all.").unless_empty(),
      PAWL_FIELD(owner_label, "Its owner label.").unless_empty(),
      PAWL_FIELD(kind, "Its kind.").unless_empty(),
      PAWL_FIELD(state, "Its state."),
      PAWL_FIELD(node, "The worker that owns it.").unless_empty(),
      PAWL_FIELD(folder, "Path of its folder.").unless_empty(),
      PAWL_FIELD(epoch, "Rises with every change of its owner."),
      PAWL_FIELD(created_ms, "UTC; or opened anew."),
      PAWL_FIELD(age_ms, "Since then."),
      PAWL_FIELD(quiet_for_ms,
                 "Since its last hand-over or result; 0 while an activity of it runs."),
      PAWL_FIELD(activities, "Activities handed over so far."),
      PAWL_FIELD(expires_in_ms, "0: it has expired; absent: it never does."),
      PAWL_FIELD(waits_for_ms, "How long it has had work and no owner; absent: it does not wait."),
      PAWL_FIELD(lease_ends_in_ms, "Of its owner.").with_owner(),
      PAWL_FIELD(device, "Only a worker that declares the device owns it."),
      PAWL_FIELD(exclusive, "It runs one activity at a time."),
      PAWL_FIELD(stopping, "It moves when its running work has ended."),
  };
};

template <>
struct FieldsOf<CallAnswer> {
  using T = CallAnswer;
  static constexpr Field kAll[] = {
      PAWL_FIELD(error, "The code refused: a kind of error."),
      PAWL_FIELD(value, "The answer, or the text of the refusal."),
  };
};

template <>
struct FieldsOf<KvEntry> {
  using T = KvEntry;
  static constexpr Field kAll[] = {
      PAWL_FIELD(key, "Its key."),
      PAWL_FIELD(value, "Its bytes."),
      PAWL_FIELD(updated_ms, "UTC."),
  };
};

template <>
struct FieldsOf<Removed> {
  using T = Removed;
  static constexpr Field kAll[] = {
      PAWL_FIELD(instances, "Instances, children included."),
      PAWL_FIELD(executions, "Their executions."),
      PAWL_FIELD(events, "Their events."),
  };
};

template <>
struct FieldsOf<Metrics> {
  using T = Metrics;
  static constexpr char kInstances[] = "Instances, by their state.";
  static constexpr char kActivities[] = "Activities without an outcome, by their state.";
  static constexpr char kSessions[] = "Sessions, by their state.";
  static constexpr Field kAll[] = {
      PAWL_FIELD(instances_running, kInstances).measured("pawl_instances", "running"),
      PAWL_FIELD(instances_completed, kInstances).measured("pawl_instances", "completed"),
      PAWL_FIELD(instances_failed, kInstances).measured("pawl_instances", "failed"),
      PAWL_FIELD(instances_stopped, kInstances).measured("pawl_instances", "stopped"),
      PAWL_FIELD(instances_suspended, kInstances).measured("pawl_instances", "suspended"),
      PAWL_FIELD(executions, "Executions that are kept.").measured("pawl_executions"),
      PAWL_FIELD(events, "Events of all histories.").measured("pawl_history_events"),
      PAWL_FIELD(messages_waiting, "Messages that wait for a turn.")
          .measured("pawl_messages_waiting"),
      PAWL_FIELD(unread_messages, "Messages that instances left at their end.")
          .measured("pawl_unread_messages"),
      PAWL_FIELD(timers_waiting, "Timers that have not fired.").measured("pawl_timers_waiting"),
      PAWL_FIELD(activities_ready, kActivities).measured("pawl_activities", "ready"),
      PAWL_FIELD(activities_running, kActivities).measured("pawl_activities", "running"),
      PAWL_FIELD(activities_delayed, kActivities).measured("pawl_activities", "delayed"),
      PAWL_FIELD(activities_outside, kActivities).measured("pawl_activities", "outside"),
      PAWL_FIELD(sessions_waiting,
                 "Sessions and devices that have work and no owner: no worker has room, can run "
                 "it, or has declared the device.")
          .measured("pawl_sessions_waiting"),
      PAWL_FIELD(sessions_active, kSessions).measured("pawl_sessions", "active"),
      PAWL_FIELD(sessions_idle, kSessions).measured("pawl_sessions", "idle"),
      PAWL_FIELD(sessions_lost, kSessions).measured("pawl_sessions", "lost"),
      PAWL_FIELD(sessions_created, "Sessions opened since the database was made.")
          .measured("pawl_sessions_created_total"),
      PAWL_FIELD(session_ends.ended, "Sessions that ended since the database was made.")
          .called("sessions_ended"),
      PAWL_FIELD(session_ends.lasted_ms, "How long ended sessions lasted.")
          .called("sessions_lasted_ms")
          .as(FieldKind::kSessionLasted)
          .measured("pawl_session_duration_seconds"),
      PAWL_FIELD(session_ends.activities, "Activities handed over to ended sessions.")
          .called("sessions_activities")
          .measured("pawl_session_activities"),
      PAWL_FIELD(used_bytes, "Pages of the database in use.")
          .as(FieldKind::kBytes)
          .measured("pawl_used_bytes"),
      PAWL_FIELD(log_bytes, "The write-ahead log.")
          .as(FieldKind::kBytes)
          .measured("pawl_log_bytes"),
      PAWL_FIELD(quota_bytes, "What pages in use and the log may take; 0: no limit.")
          .as(FieldKind::kBytes)
          .measured("pawl_quota_bytes"),
      PAWL_FIELD(refuses_new,
                 "Whether what is new is refused: over the quota, or the disk was full.")
          .measured("pawl_refuses_new"),
      PAWL_FIELD(complete, "Whether all rows were counted.").measured("pawl_counted_all"),
  };
};

}  // namespace pawl::fields

#endif  // PAWL_PARTS_FIELDS_CLIENT_FIELDS_HPP
