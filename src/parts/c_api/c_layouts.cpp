#include "parts/c_api/c_layouts.hpp"
#include "parts/c_api/c_types.hpp"
#include "pawl/session_stats.hpp"

namespace pawl::c_api {
namespace {

// Writes the defaults of the C++ struct.
template <typename Table>
void give_cpp_defaults(void* out, std::size_t bytes) {
  const typename Table::Cpp from;
  from_cpp(StructOf<typename Table::C>::kLayout, &from, out, bytes);
}

struct StartOptionsTable {
  using C = pawl_start_options;
  using Cpp = StartOptions;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(version),
      PAWL_C_SAME(trace_id),
      PAWL_C_MS(start_after),
      PAWL_C_ENUM(if_running, if_running, PAWL_RUNNING_TAKE),
      PAWL_C_ENUM(if_ended, if_ended, PAWL_ENDED_NEXT_IF_FAILED),
      PAWL_C_MS(time_limit),
  };
};

struct SendOptionsTable {
  using C = pawl_send_options;
  using Cpp = SendOptions;
  static constexpr Member kMembers[] = {
      PAWL_C_CODE(start_if_ended), PAWL_C_CODE(input), PAWL_C_CODE(input_size),
      PAWL_C_CODE(start),          PAWL_C_CODE(key),
  };
};

struct ActivityOptionsTable {
  using C = pawl_activity_options;
  using Cpp = ActivityOptions;
  static constexpr Member kMembers[] = {
      PAWL_C_CODE(session),
      PAWL_C_CODE(opened),
      PAWL_C_SAME(tag),
      PAWL_C_INT(where, PAWL_ANY_WORKER),
      PAWL_C_INT(barrier, 0),
      PAWL_C_CODE(unavailable_ms),
      PAWL_C_MEMBER(max_attempts, retry.max_attempts),
      PAWL_C_MEMBER(jitter_percent, retry.jitter_percent),
      PAWL_C_ENUM(backoff, retry.backoff, PAWL_BACKOFF_EXPONENTIAL),
      PAWL_C_MEMBER(backoff_base_ms, retry.base),
      PAWL_C_MEMBER(backoff_cap_ms, retry.cap),
      PAWL_C_MS(start_to_close),
      PAWL_C_MS(schedule_to_close),
      PAWL_C_MS(schedule_to_start),
      PAWL_C_MS(heartbeat_timeout),
  };
};

struct ChildOptionsTable {
  using C = pawl_child_options;
  using Cpp = ChildOptions;
  static constexpr Member kMembers[] = {PAWL_C_CODE(id), PAWL_C_SAME(version)};
};

struct DetachedOptionsTable {
  using C = pawl_detached_options;
  using Cpp = DetachedOptions;
  static constexpr Member kMembers[] = {PAWL_C_SAME(version)};
};

struct SessionSettingsTable {
  using C = pawl_session_settings;
  using Cpp = SessionSettings;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(owner_label),    PAWL_C_SAME(kind),
      PAWL_C_SAME(exclusive),      PAWL_C_SAME(fail_on_loss),
      PAWL_C_SAME(notify),         PAWL_C_MS(idle_timeout),
      PAWL_C_MS(idle_close),       PAWL_C_MS(idle_close_notice),
      PAWL_C_MS(max_age),          PAWL_C_MS(expiry_notice),
      PAWL_C_SAME(max_activities), PAWL_C_SAME(activity_warning),
      PAWL_C_MS(rate_interval),    PAWL_C_SAME(rate_burst),
      PAWL_C_MS(rate_wait),
  };
};

struct TransferOptionsTable {
  using C = pawl_transfer_options;
  using Cpp = TransferOptions;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(instance),
      PAWL_C_SAME(force),
      PAWL_C_MS(stop_timeout),
  };
};

struct RestartOptionsTable {
  using C = pawl_restart_options;
  using Cpp = RestartOptions;
  static constexpr Member kMembers[] = {PAWL_C_SAME(version), PAWL_C_SAME(by)};
};

struct InstanceFilterTable {
  using C = pawl_instance_filter;
  using Cpp = InstanceFilter;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(name),
      PAWL_C_SAME(id_prefix),
      PAWL_C_FLAG(any_state, 1),
      PAWL_C_ENUM(state, state, PAWL_SUSPENDED),
      PAWL_C_SAME(roots_only),
      PAWL_C_SAME(created_from_ms),
      PAWL_C_SAME(created_before_ms),
      PAWL_C_SAME(updated_from_ms),
      PAWL_C_SAME(updated_before_ms),
  };
};

struct SessionFilterTable {
  using C = pawl_session_filter;
  using Cpp = SessionFilter;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(node),         PAWL_C_SAME(instance_id),
      PAWL_C_SAME(owner_label),  PAWL_C_SAME(kind),
      PAWL_C_FLAG(any_state, 1), PAWL_C_ENUM(state, state, PAWL_SESSION_EXPIRED),
      PAWL_C_SAME(open_for_ms),  PAWL_C_SAME(unused_for_ms),
  };
};

struct WorkFilterTable {
  using C = pawl_work_filter;
  using Cpp = WorkListFilter;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(name),        PAWL_C_SAME(tag),         PAWL_C_SAME(session),
      PAWL_C_SAME(instance_id), PAWL_C_INT(any_state, 1), PAWL_C_INT(state, PAWL_ACTIVITY_READY),
  };
};

struct ClientOptionsTable {
  using C = pawl_client_options;
  using Cpp = ClientOptions;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(database_path),
      PAWL_C_CODE(database),
      PAWL_C_SAME(create),
      PAWL_C_SAME(synchronous_full),
      PAWL_C_SAME(payload_bytes_max),
      PAWL_C_SAME(queue_messages_max),
      PAWL_C_MS(busy_max),
  };
};

struct InstanceStatusTable {
  using C = pawl_instance_status;
  using Cpp = OrchestrationStatus;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(state),           PAWL_C_SAME(error),      PAWL_C_SAME(execution_id),
      PAWL_C_SAME(created_ms),      PAWL_C_SAME(updated_ms), PAWL_C_SAME(custom_status_version),
      PAWL_C_SAME(unread_messages),
  };
};

struct ProgressTable {
  using C = pawl_progress;
  using Cpp = ProgressRow;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(execution_id), PAWL_C_SAME(activity_id), PAWL_C_SAME(attempt),
      PAWL_C_SAME(number),       PAWL_C_SAME(text),
  };
};

struct InstanceInfoTable {
  using C = pawl_instance_info;
  using Cpp = InstanceInfo;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(key),
      PAWL_C_SAME(id),
      PAWL_C_SAME(name),
      PAWL_C_SAME(version),
      PAWL_C_SAME(parent_id),
      PAWL_C_SAME(trace_id),
      PAWL_C_SAME(state),
      PAWL_C_SAME(execution_id),
      PAWL_C_SAME(created_ms),
      PAWL_C_SAME(updated_ms),
      PAWL_C_SAME(timers_without_clock),
      PAWL_C_SAME(unread_messages),
      PAWL_C_MEMBER(time_limit, time_limit_ms),
      PAWL_C_MEMBER(time_left, time_left_ms),
  };
};

struct InstanceStatsTable {
  using C = pawl_instance_stats;
  using Cpp = InstanceStats;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(history_events), PAWL_C_SAME(history_bytes), PAWL_C_SAME(messages_waiting),
      PAWL_C_SAME(kv_keys),        PAWL_C_SAME(kv_bytes),
  };
};

struct ExecutionInfoTable {
  using C = pawl_execution_info;
  using Cpp = ExecutionInfo;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(execution_id), PAWL_C_SAME(events), PAWL_C_SAME(started_ms),
      PAWL_C_SAME(ended_ms),     PAWL_C_SAME(state),  PAWL_C_SAME(error),
      PAWL_C_SAME(output),
  };
};

struct HistoryEventTable {
  using C = pawl_history_event;
  using Cpp = HistoryEvent;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(kind),    PAWL_C_SAME(error),   PAWL_C_SAME(id),      PAWL_C_SAME(branch),
      PAWL_C_SAME(ordinal), PAWL_C_SAME(ref),     PAWL_C_SAME(time_ms), PAWL_C_SAME(number),
      PAWL_C_SAME(name),    PAWL_C_SAME(session), PAWL_C_SAME(tag),     PAWL_C_SAME(version),
      PAWL_C_SAME(payload),
  };
};

struct ActivityInfoTable {
  using C = pawl_activity_info;
  using Cpp = ActivityInfo;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(name),       PAWL_C_SAME(node),          PAWL_C_SAME(last_progress),
      PAWL_C_SAME(last_error), PAWL_C_SAME(state),         PAWL_C_SAME(activity_id),
      PAWL_C_SAME(attempt),    PAWL_C_SAME(retry_attempt), PAWL_C_SAME(outside_since_ms),
  };
};

struct CauseTable {
  using C = pawl_cause;
  using Cpp = Cause;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(instance_id), PAWL_C_SAME(name),    PAWL_C_SAME(subject),
      PAWL_C_SAME(node),        PAWL_C_SAME(error),   PAWL_C_SAME(kind),
      PAWL_C_SAME(event_id),    PAWL_C_SAME(attempt), PAWL_C_SAME(since_ms),
      PAWL_C_SAME(ends_in_ms),
  };
};

struct WorkInfoTable {
  using C = pawl_work_info;
  using Cpp = WorkInfo;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(key),         PAWL_C_SAME(instance_id), PAWL_C_SAME(execution_id),
      PAWL_C_SAME(activity_id), PAWL_C_SAME(name),        PAWL_C_SAME(session),
      PAWL_C_SAME(tag),         PAWL_C_SAME(node),        PAWL_C_SAME(attempt),
      PAWL_C_SAME(state),       PAWL_C_SAME(is_unserved), PAWL_C_SAME(outside_since_ms),
  };
};

struct MessageInfoTable {
  using C = pawl_message_info;
  using Cpp = MessageInfo;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(kind),     PAWL_C_SAME(name),      PAWL_C_SAME(payload),
      PAWL_C_SAME(is_timer), PAWL_C_SAME(is_unread), PAWL_C_SAME(number),
  };
};

struct SessionInfoTable {
  using C = pawl_session_info;
  using Cpp = SessionInfo;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(key),
      PAWL_C_SAME(name),
      PAWL_C_SAME(instance_id),
      PAWL_C_SAME(owner_label),
      PAWL_C_SAME(kind),
      PAWL_C_SAME(node),
      PAWL_C_SAME(folder),
      PAWL_C_SAME(epoch),
      PAWL_C_SAME(created_ms),
      PAWL_C_SAME(age_ms),
      PAWL_C_SAME(quiet_for_ms),
      PAWL_C_SAME(activities),
      PAWL_C_MEMBER(expires_in, expires_in_ms),
      PAWL_C_MEMBER(waits_for, waits_for_ms),
      PAWL_C_SAME(lease_ends_in_ms),
      PAWL_C_SAME(state),
      PAWL_C_SAME(device),
      PAWL_C_SAME(exclusive),
      PAWL_C_SAME(stopping),
  };
};

struct WorkerInfoTable {
  using C = pawl_worker_info;
  using Cpp = WorkerInfo;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(node),
      PAWL_C_SAME(tags),
      PAWL_C_SAME(handlers),
      PAWL_C_SAME(address),
      PAWL_C_SAME(draining),
      PAWL_C_SAME(any_tag),
      PAWL_C_SAME(takes_untagged),
      PAWL_C_SAME(disconnected),
      PAWL_C_SAME(incarnation),
      PAWL_C_SAME(pid),
      PAWL_C_SAME(lease_ends_in_ms),
      PAWL_C_SAME(sessions_max),
      PAWL_C_SAME(sessions),
      PAWL_C_SAME(devices),
      PAWL_C_SAME(sessions_busy),
  };
};

struct MetricsTable {
  using C = pawl_metrics;
  using Cpp = Metrics;
  static constexpr Member kMembers[] = {
      PAWL_C_SAME(instances_running),
      PAWL_C_SAME(instances_completed),
      PAWL_C_SAME(instances_failed),
      PAWL_C_SAME(instances_stopped),
      PAWL_C_SAME(instances_suspended),
      PAWL_C_SAME(executions),
      PAWL_C_SAME(events),
      PAWL_C_SAME(messages_waiting),
      PAWL_C_SAME(unread_messages),
      PAWL_C_SAME(timers_waiting),
      PAWL_C_SAME(activities_ready),
      PAWL_C_SAME(activities_running),
      PAWL_C_SAME(activities_delayed),
      PAWL_C_SAME(sessions_waiting),
      PAWL_C_SAME(sessions_active),
      PAWL_C_SAME(sessions_idle),
      PAWL_C_SAME(sessions_lost),
      PAWL_C_SAME(sessions_created),
      PAWL_C_MEMBER(sessions_ended, session_ends.ended),
      PAWL_C_MEMBER(sessions_lasted_ms, session_ends.lasted_ms),
      PAWL_C_MEMBER(sessions_activities, session_ends.activities),
      PAWL_C_SAME(used_bytes),
      PAWL_C_SAME(log_bytes),
      PAWL_C_SAME(quota_bytes),
      PAWL_C_SAME(refuses_new),
      PAWL_C_SAME(complete),
      PAWL_C_SAME(activities_outside),
  };
};

struct SessionEventTable {
  using C = pawl_session_event;
  using Cpp = SessionNews;
  static constexpr Member kMembers[] = {
      PAWL_C_CODE(epoch), PAWL_C_CODE(change),  PAWL_C_CODE(from),
      PAWL_C_CODE(to),    PAWL_C_CODE(session), PAWL_C_CODE(reason),
  };
};

static_assert(offsetof(pawl_histogram, total) == offsetof(SessionEnds::Histogram, total) &&
              offsetof(pawl_histogram, most) == offsetof(SessionEnds::Histogram, most));

}  // namespace

PAWL_C_LAYOUT(StartOptionsTable, nullptr);
PAWL_C_LAYOUT(SendOptionsTable, nullptr);
PAWL_C_LAYOUT(ActivityOptionsTable, give_cpp_defaults<ActivityOptionsTable>);
PAWL_C_LAYOUT(ChildOptionsTable, nullptr);
PAWL_C_LAYOUT(DetachedOptionsTable, nullptr);
PAWL_C_LAYOUT(SessionSettingsTable, give_cpp_defaults<SessionSettingsTable>);
PAWL_C_LAYOUT(TransferOptionsTable, give_cpp_defaults<TransferOptionsTable>);
PAWL_C_LAYOUT(RestartOptionsTable, nullptr);
PAWL_C_LAYOUT(InstanceFilterTable, nullptr);
PAWL_C_LAYOUT(SessionFilterTable, nullptr);
PAWL_C_LAYOUT(WorkFilterTable, nullptr);
PAWL_C_LAYOUT(ClientOptionsTable, give_cpp_defaults<ClientOptionsTable>);
PAWL_C_LAYOUT(InstanceStatusTable, nullptr);
PAWL_C_LAYOUT(ProgressTable, nullptr);
PAWL_C_LAYOUT(InstanceInfoTable, nullptr);
PAWL_C_LAYOUT(InstanceStatsTable, nullptr);
PAWL_C_LAYOUT(ExecutionInfoTable, nullptr);
PAWL_C_LAYOUT(HistoryEventTable, nullptr);
PAWL_C_LAYOUT(ActivityInfoTable, nullptr);
PAWL_C_LAYOUT(CauseTable, nullptr);
PAWL_C_LAYOUT(WorkInfoTable, nullptr);
PAWL_C_LAYOUT(MessageInfoTable, nullptr);
PAWL_C_LAYOUT(SessionInfoTable, nullptr);
PAWL_C_LAYOUT(WorkerInfoTable, nullptr);
PAWL_C_LAYOUT(MetricsTable, nullptr);
PAWL_C_LAYOUT(SessionEventTable, nullptr);

namespace {

// In the order of the numbers in pawl_types.h.
constexpr const Layout* kLayouts[] = {
    &StructOf<pawl_host_options>::kLayout,     &kSmallHostOptions,
    &StructOf<pawl_client_options>::kLayout,   &StructOf<pawl_start_options>::kLayout,
    &StructOf<pawl_send_options>::kLayout,     &StructOf<pawl_activity_options>::kLayout,
    &StructOf<pawl_child_options>::kLayout,    &StructOf<pawl_detached_options>::kLayout,
    &StructOf<pawl_session_settings>::kLayout, &StructOf<pawl_transfer_options>::kLayout,
    &StructOf<pawl_restart_options>::kLayout,  &StructOf<pawl_instance_filter>::kLayout,
    &StructOf<pawl_session_filter>::kLayout,   &StructOf<pawl_work_filter>::kLayout,
};
constexpr int kLayoutCount = sizeof kLayouts / sizeof kLayouts[0];
static_assert(kLayoutCount == PAWL_STRUCT_WORK_FILTER + 1);

constexpr Layout kUnknown = {nullptr, 0, 0, nullptr};

}  // namespace

Status take_send_options(const pawl_send_options* given, SendOptions* out) {
  pawl_send_options whole;
  PAWL_TRY(take(StructOf<pawl_send_options>::kLayout, given, &whole));
  if (whole.key != nullptr) out->key = whole.key;
  if (whole.start_if_ended == nullptr) return Status::kOk;
  if (!is_bytes(whole.input, whole.input_size)) return Status::kInvalidArgument;
  out->start_if_ended.emplace();
  out->start_if_ended->definition = whole.start_if_ended;
  out->start_if_ended->input = bytes_of(whole.input, whole.input_size);
  return take_options(whole.start, &out->start_if_ended->options);
}

}  // namespace pawl::c_api

void pawl_init(int which, void* options, size_t size) {
  using namespace pawl::c_api;  // NOLINT(google-build-using-namespace)
  if (options == nullptr || size < sizeof size) return;
  const bool is_known = which >= 0 && which < kLayoutCount;
  give_defaults(is_known ? *kLayouts[which] : kUnknown, options, size);
}
