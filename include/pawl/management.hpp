// The arguments and the answers of a Client's management calls.
//
// Purpose: plain values for tools and screens; nothing here is needed to run orchestrations.
// Ownership: views handed to a visitor end with its call. Thread rule: the Client's. A visitor must
// not call the Client that calls it. Times are ms UTC since 1970 as known when they were stored.
#ifndef PAWL_MANAGEMENT_HPP
#define PAWL_MANAGEMENT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/call_text.hpp"
#include "pawl/error.hpp"
#include "pawl/name.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/session_stats.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// kStopped: the code does not match the history, or a stored row is damaged. Nothing is lost. The
// instance is tried again when a Runtime starts (with other code), or by Client::resume_instance().
// kSuspended: an operator suspended it; no turn runs until Client::resume_instance().
enum class OrchestrationState : std::uint8_t {
  kRunning,
  kCompleted,
  kFailed,
  kStopped,
  kSuspended
};
inline constexpr std::size_t kOrchestrationStateCount = 5;
[[nodiscard]] const char* orchestration_state_name(OrchestrationState state);

// An instance must match all members that are set.
struct InstanceFilter {
  Name name;       // the orchestration's; empty: any
  Name id_prefix;  // empty: any
  bool any_state = true;
  OrchestrationState state = OrchestrationState::kRunning;  // not used if any_state
  // Each range is [from, before); 0: open.
  std::int64_t created_from_ms = 0;
  std::int64_t created_before_ms = 0;
  std::int64_t updated_from_ms = 0;
  std::int64_t updated_before_ms = 0;
  bool roots_only = false;  // no children
  // Only these instances, in this order; null: any. They must live until the call returns.
  const InstanceId* ids = nullptr;
  std::size_t id_count = 0;
};

// The place where a listing of instances, sessions or events goes on. A page may hold fewer than
// `rows_max` rows, even none, though there are more, because one call reads a bounded number of
// rows (docs/limits/inside.md).
struct Page {
  std::int64_t after = 0;      // 0: from the first. The call moves it
  std::size_t rows_max = 100;  // of this page, 1 or more
  bool more = false;           // answer: ask again with this page
};

struct InstanceInfo {
  std::int64_t key = 0;  // order of creation; never reused, unlike the id of a deleted instance
  CallText id;
  CallText name;
  CallText version;
  CallText parent_id;  // empty: a root
  CallText trace_id;   // StartOptions::trace_id; empty: none
  OrchestrationState state = OrchestrationState::kRunning;
  std::int64_t execution_id = 0;  // the current one
  std::int64_t created_ms = 0;
  std::int64_t updated_ms = 0;
  // Open timers on UTC (schedule_timer_at()) in a database that has seen no trusted clock yet: they
  // fire when one comes, at a time that is not known. 0 as soon as one has been seen.
  std::int64_t timers_without_clock = 0;
  std::int64_t unread_messages = 0;  // OrchestrationStatus::unread_messages
  OptionalMs time_limit_ms;          // StartOptions::time_limit; none: it has none
  // The time that is left of it, in Pawl time; 0: it is over, and the next tick of a Runtime asks
  // the instance to stop. None: there is no limit, it was over, or the instance has ended.
  OptionalMs time_left_ms;
};

// The amounts that one instance holds now.
struct InstanceStats {
  std::int64_t history_events = 0;    // in the current execution
  std::int64_t history_bytes = 0;     // their payloads and meta
  std::int64_t messages_waiting = 0;  // for its next turn or in its queues
  std::int64_t kv_keys = 0;
  std::int64_t kv_bytes = 0;  // keys and values
};

// The place where Client::restart_instance() begins. kStart: with the input of the last execution
// and nothing of its history. kLastGoodEvent: with its history up to before the failed activity or
// child that led to the failure, so that this one is scheduled again; everything that had succeeded
// stays. A cancel request goes on with a stopped instance; kStart revokes that of a failed one.
enum class RestartFrom : std::uint8_t { kStart, kLastGoodEvent };

struct RestartOptions {
  // For kStart: the version of the code, as in StartOptions. kLastGoodEvent keeps the version.
  std::optional<Name> version = std::nullopt;
  Name by;  // the person who asked, for history and log; empty: "operator"
};

class InstanceVisitor {
 public:
  virtual void on_instance(const InstanceInfo& instance) noexcept = 0;

 protected:
  ~InstanceVisitor() = default;
};

// The numbers of the things that a removal removed, children included. A transaction that failed
// counts for nothing.
struct Removed {
  std::int64_t instances = 0;
  std::int64_t executions = 0;
  std::int64_t events = 0;
};

enum class ExecutionState : std::uint8_t { kRunning, kCompleted, kFailed, kContinuedAsNew };
[[nodiscard]] const char* execution_state_name(ExecutionState state);

struct ExecutionInfo {
  std::int64_t execution_id = 0;
  ExecutionState state = ExecutionState::kRunning;
  std::int64_t events = 0;  // in its history
  std::int64_t started_ms = 0;
  std::int64_t ended_ms = 0;  // 0 while it runs
  // The error of its end: kNone unless it is kFailed; kCorrupt also if the event of its end is
  // damaged.
  ErrorKind error = ErrorKind::kNone;
  // The result, the text of the error, or the input of the next execution; empty while it runs.
  std::string_view output;
};

class ExecutionVisitor {
 public:
  virtual void on_execution(const ExecutionInfo& execution) noexcept = 0;

 protected:
  ~ExecutionVisitor() = default;
};

enum class ActivityState : std::uint8_t { kReady, kRunning, kDelayed, kOutside };
inline constexpr std::size_t kActivityStateCount = 4;
[[nodiscard]] const char* activity_state_name(ActivityState state);

// An activity of the current execution that has no outcome yet.
struct ActivityInfo {
  std::int64_t activity_id = 0;  // the event that scheduled it
  std::string_view name;         // empty: its event is damaged
  // kDelayed: it pauses before an attempt, or no worker has registered its name. kOutside: it has
  // returned, and is completed from outside (ActivityContext::complete_later()).
  ActivityState state = ActivityState::kReady;
  std::int64_t attempt = 0;           // hand-overs so far
  std::int64_t retry_attempt = 1;     // 1 + the attempts that failed
  std::string_view node;              // kRunning: the worker's
  std::string_view last_progress;     // the last stored heartbeat
  std::string_view last_error;        // from the attempt that failed last
  std::int64_t outside_since_ms = 0;  // kOutside: UTC; else 0
};

class ActivityVisitor {
 public:
  virtual void on_activity(const ActivityInfo& activity) noexcept = 0;

 protected:
  ~ActivityVisitor() = default;
};

// An activity of any instance that has no outcome yet.
struct WorkInfo {
  std::int64_t key = 0;  // order of scheduling
  std::string_view instance_id;
  std::int64_t execution_id = 0;
  std::int64_t activity_id = 0;  // the event that scheduled it
  std::string_view name;         // empty: its event is damaged
  ActivityState state = ActivityState::kReady;
  std::int64_t attempt = 0;           // hand-overs so far
  std::string_view session;           // empty: none
  std::string_view tag;               // empty: none
  std::string_view node;              // kRunning: the worker's
  bool is_unserved = false;           // it waits for a worker that has registered its name
  std::int64_t outside_since_ms = 0;  // kOutside: UTC; else 0
};

// An activity must match all members that are set.
struct WorkListFilter {
  Name name;  // the activity's; empty: any
  Name tag;
  Name session;
  Name instance_id;
  std::optional<ActivityState> state;  // none: any
};

class WorkVisitor {
 public:
  virtual void on_work(const WorkInfo& work) noexcept = 0;

 protected:
  ~WorkVisitor() = default;
};

// A message that an instance has not taken; if the instance has ended, an unread one.
struct MessageInfo {
  std::int64_t number = 0;   // order of arrival
  const char* kind = "";     // "event", "queue", "timer_fired" .. (docs/format/numbers.md)
  std::string_view name;     // a start's: the orchestration; an event's or queue's: its name
  std::string_view payload;  // bytes
  bool is_timer = false;     // it has a due time, and comes then
  // Its instance ended without it; a restart gives it to the next execution.
  bool is_unread = false;
};

class MessageVisitor {
 public:
  virtual void on_message(const MessageInfo& message) noexcept = 0;

 protected:
  ~MessageVisitor() = default;
};

// One recorded event. Members that its kind does not have are 0, empty or kNone;
// docs/format/numbers.md lists the kinds.
struct HistoryEvent {
  std::int64_t id = 0;
  const char* kind = "";  // "activity", "activity_done", "ended", ...
  std::int64_t branch = 0;
  std::int64_t ordinal = 0;
  std::int64_t ref = 0;  // a completion's: the event that asked
  std::int64_t time_ms = 0;
  std::int64_t number = 0;
  // The error of a result or an end. The start of a restarted execution has kCancelled if the
  // cancel request of the one before goes on, and kClosed if the restart revoked it.
  ErrorKind error = ErrorKind::kNone;
  std::string_view name;
  std::string_view session;
  std::string_view tag;
  std::string_view version;
  std::string_view payload;  // bytes
};

class HistoryVisitor {
 public:
  virtual void on_event(const HistoryEvent& event) noexcept = 0;

 protected:
  ~HistoryVisitor() = default;
};

// A registered worker: a Runtime that lives, or one whose death was not noticed yet.
struct WorkerInfo {
  std::int64_t incarnation = 0;  // the number of this registration
  std::string_view node;         // Options::worker_node_id; "~7" if it has none
  std::int64_t pid = 0;
  std::int64_t lease_ends_in_ms = 0;  // below 0: it is overdue
  bool draining = false;              // Client::drain_worker(); done when it owns nothing
  std::int64_t sessions_max = 0;      // SessionOptions::max_sessions_per_worker
  std::int64_t sessions = 0;          // owned sessions without devices
  std::int64_t devices = 0;           // owned devices
  std::int64_t sessions_busy = 0;     // of both, those with work that is queued or runs
  bool any_tag = false;               // TagFilter: takes work with any tag, and without one
  bool takes_untagged = false;
  // One name a line, in their order; names that do not fit into payload_bytes_max are left out.
  std::string_view tags;
  std::string_view handlers;  // names of activities
  // With a database on a server: the IP address that its connection comes from (empty: a socket of
  // the server's machine), and whether the server has no connection of it. It may be cut off or
  // dead then; docs/rules/fleet.md says what others may take of it, and when.
  std::string_view address;
  bool disconnected = false;
};

class WorkerVisitor {
 public:
  virtual void on_worker(const WorkerInfo& worker) noexcept = 0;

 protected:
  ~WorkerVisitor() = default;
};

// kActive: the session has work that is queued or runs. kRefused: its instance or owner label has
// too many sessions (SessionOptions). kClosed: it is listed until cancelled work of an exclusive
// session has ended. kExpired: max_age has passed; it is listed for an hour.
enum class SessionState : std::uint8_t { kIdle, kActive, kLost, kClosed, kRefused, kExpired };
inline constexpr std::size_t kSessionStateCount = 6;
[[nodiscard]] const char* session_state_name(SessionState state);

// A session must match all members that are set.
struct SessionFilter {
  Name node;         // the owner's; empty: any, or none
  Name instance_id;  // the opener; empty: any, or shared by all
  Name owner_label;  // empty: any
  Name kind;         // empty: any
  bool any_state = true;
  SessionState state = SessionState::kIdle;  // not used if any_state
  // Leaks: sessions, lost ones included, that an instance opened and has not closed for at least
  // this long, or has not used at all for this long. 0: not asked for. If both are set, either is
  // enough.
  std::int64_t open_for_ms = 0;
  std::int64_t unused_for_ms = 0;
};

struct SessionInfo {
  std::int64_t key = 0;
  CallText name;
  CallText instance_id;  // the opener; empty: shared by all
  CallText owner_label;  // SessionSettings::owner_label
  CallText kind;
  SessionState state = SessionState::kIdle;
  CallText node;  // the owner's; empty: no owner
  // The path of its folder (SessionOptions::work_root), as its activities get it
  // (ActivityContext::session_folder()). Empty: no worker with a work_root got work of it, or it is
  // not open, so the folder will be removed.
  CallText folder;
  std::int64_t epoch = 0;       // rises with every change of the owner; 0: never had one
  std::int64_t created_ms = 0;  // the time when it was made or opened anew
  std::int64_t age_ms = 0;      // since created_ms, in Pawl time as quiet_for_ms
  // Since its last hand-over or result; 0 while an activity of it runs.
  std::int64_t quiet_for_ms = 0;
  std::int64_t activities = 0;  // handed over so far
  OptionalMs expires_in_ms;     // SessionSettings::max_age; 0: it has expired; none: never
  // The time that it has had no owner and work that could be handed over; none: it does not wait.
  // No worker has room for it, can run the work, or has declared the device.
  OptionalMs waits_for_ms;
  std::int64_t lease_ends_in_ms = 0;  // if it has an owner
  bool device = false;                // only the worker that declared it may own it
  bool exclusive = false;             // one activity at a time
  bool stopping = false;              // it moves when its running work has ended
};

class SessionVisitor {
 public:
  virtual void on_session(const SessionInfo& session) noexcept = 0;

 protected:
  ~SessionVisitor() = default;
};

// Counts of everything that the database holds now. Counting reads at most a bounded number of rows
// of each table (docs/limits/inside.md), so it is for people and screens, not for every loop of a
// program.
struct Metrics {
  std::int64_t instances_running = 0;
  std::int64_t instances_completed = 0;
  std::int64_t instances_failed = 0;
  std::int64_t instances_stopped = 0;
  std::int64_t instances_suspended = 0;
  std::int64_t executions = 0;        // of all instances, kept ended ones included
  std::int64_t events = 0;            // in their histories
  std::int64_t messages_waiting = 0;  // for instances
  std::int64_t unread_messages = 0;   // of instances that have ended
  std::int64_t timers_waiting = 0;
  std::int64_t activities_ready = 0;
  std::int64_t activities_running = 0;
  std::int64_t activities_delayed = 0;
  std::int64_t activities_outside = 0;  // they have returned, and are completed from outside
  // Sessions that have work and no owner: no worker has room for them, can run the work, or has
  // declared the device.
  std::int64_t sessions_waiting = 0;
  // Counts by SessionState. A session that will move when its running work has ended is in one of
  // these counts.
  std::int64_t sessions_active = 0;
  std::int64_t sessions_idle = 0;
  std::int64_t sessions_lost = 0;
  // Sessions of all workers, since the database was made: those that ended, and those that are
  // open. One that was lost or closed and is opened again counts again, and so does a shared one
  // that was swept.
  std::int64_t sessions_created = 0;
  SessionEnds session_ends;     // of all workers, since the database was made
  std::int64_t used_bytes = 0;  // pages in use
  std::int64_t log_bytes = 0;
  std::int64_t quota_bytes = 0;  // 0: none
  bool refuses_new = false;      // over the quota, or the disk was full
  bool complete = true;          // false: a table has more rows than were read
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_MANAGEMENT_HPP
