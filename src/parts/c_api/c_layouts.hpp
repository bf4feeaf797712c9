// The structs of C that Pawl takes and fills in, with those of C++ that they stand for. Their
// tables are in c_layouts.cpp, that of a host's options in c_host_options.cpp.
//
// Ownership: constants. Thread rule: callable from any.
#ifndef PAWL_PARTS_C_API_C_LAYOUTS_HPP
#define PAWL_PARTS_C_API_C_LAYOUTS_HPP

#include "parts/c_api/c_structs.hpp"
#include "pawl/activity_options.hpp"
#include "pawl/client_options.hpp"
#include "pawl/host.hpp"
#include "pawl/management.hpp"
#include "pawl/orchestration.hpp"
#include "pawl/pawl.h"
#include "pawl/session.hpp"

namespace pawl::c_api {

// A ProgressUpdate, whose text is a member.
struct ProgressRow {
  std::int64_t execution_id;
  std::int64_t activity_id;
  std::int64_t attempt;
  std::int64_t number;
  std::string_view text;
};
// The members of a SessionEvent and a SessionLoss.
struct SessionNews;

// ---- given to Pawl ----

PAWL_C_STRUCT(pawl_start_options, StartOptions);
PAWL_C_STRUCT(pawl_send_options, SendOptions);
PAWL_C_STRUCT(pawl_activity_options, ActivityOptions);
PAWL_C_STRUCT(pawl_child_options, ChildOptions);
PAWL_C_STRUCT(pawl_detached_options, DetachedOptions);
PAWL_C_STRUCT(pawl_session_settings, SessionSettings);
PAWL_C_STRUCT(pawl_transfer_options, TransferOptions);
PAWL_C_STRUCT(pawl_restart_options, RestartOptions);
PAWL_C_STRUCT(pawl_instance_filter, InstanceFilter);
PAWL_C_STRUCT(pawl_session_filter, SessionFilter);
PAWL_C_STRUCT(pawl_work_filter, WorkListFilter);
PAWL_C_STRUCT(pawl_client_options, ClientOptions);
PAWL_C_STRUCT(pawl_host_options, HostOptions);

// ---- filled in by Pawl ----

PAWL_C_STRUCT(pawl_instance_status, OrchestrationStatus);
PAWL_C_STRUCT(pawl_progress, ProgressRow);
PAWL_C_STRUCT(pawl_instance_info, InstanceInfo);
PAWL_C_STRUCT(pawl_instance_stats, InstanceStats);
PAWL_C_STRUCT(pawl_execution_info, ExecutionInfo);
PAWL_C_STRUCT(pawl_history_event, HistoryEvent);
PAWL_C_STRUCT(pawl_activity_info, ActivityInfo);
PAWL_C_STRUCT(pawl_cause, Cause);
PAWL_C_STRUCT(pawl_work_info, WorkInfo);
PAWL_C_STRUCT(pawl_message_info, MessageInfo);
PAWL_C_STRUCT(pawl_session_info, SessionInfo);
PAWL_C_STRUCT(pawl_worker_info, WorkerInfo);
PAWL_C_STRUCT(pawl_metrics, Metrics);
PAWL_C_STRUCT(pawl_session_event, SessionNews);

// The host's options with the defaults of Options::small().
extern const Layout kSmallHostOptions;

// Takes the options of a message that may be null. The texts of `out` are those of `given`.
// Returns the same as take_options().
Status take_send_options(const pawl_send_options* given, SendOptions* out);

}  // namespace pawl::c_api

#endif  // PAWL_PARTS_C_API_C_LAYOUTS_HPP
