#include "pawl/error.hpp"
#include "pawl/management.hpp"

namespace pawl {

const char* orchestration_state_name(OrchestrationState state) {
  switch (state) {
    case OrchestrationState::kRunning: return "running";
    case OrchestrationState::kCompleted: return "completed";
    case OrchestrationState::kFailed: return "failed";
    case OrchestrationState::kStopped: return "stopped";
    case OrchestrationState::kSuspended: return "suspended";
  }
  return "unknown";
}

const char* activity_state_name(ActivityState state) {
  switch (state) {
    case ActivityState::kReady: return "ready";
    case ActivityState::kRunning: return "running";
    case ActivityState::kDelayed: return "delayed";
    case ActivityState::kOutside: return "outside";
  }
  return "unknown";
}

const char* session_state_name(SessionState state) {
  switch (state) {
    case SessionState::kIdle: return "idle";
    case SessionState::kActive: return "active";
    case SessionState::kLost: return "lost";
    case SessionState::kClosed: return "closed";
    case SessionState::kRefused: return "refused";
    case SessionState::kExpired: return "expired";
  }
  return "unknown";
}

const char* execution_state_name(ExecutionState state) {
  switch (state) {
    case ExecutionState::kRunning: return "running";
    case ExecutionState::kCompleted: return "completed";
    case ExecutionState::kFailed: return "failed";
    case ExecutionState::kContinuedAsNew: return "continued_as_new";
  }
  return "unknown";
}

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kNone: return "none";
    case ErrorKind::kApplication: return "application";
    case ErrorKind::kCancelled: return "cancelled";
    case ErrorKind::kClosed: return "closed";
    case ErrorKind::kTimeout: return "timeout";
    case ErrorKind::kPoison: return "poison";
    case ErrorKind::kNondeterminism: return "nondeterminism";
    case ErrorKind::kAwaitSteppedOver: return "await_stepped_over";
    case ErrorKind::kLimit: return "limit";
    case ErrorKind::kCorrupt: return "corrupt";
    case ErrorKind::kUnregistered: return "unregistered";
    case ErrorKind::kSessionLost: return "session_lost";
    case ErrorKind::kSessionClosed: return "session_closed";
    case ErrorKind::kSessionUnavailable: return "session_unavailable";
    case ErrorKind::kInvalidArgument: return "invalid_argument";
    case ErrorKind::kTerminated: return "terminated";
    case ErrorKind::kNotStarted: return "not_started";
    case ErrorKind::kNotFound: return "not_found";
    case ErrorKind::kNoInstance: return "no_instance";
    case ErrorKind::kHeartbeatTimeout: return "heartbeat_timeout";
    case ErrorKind::kRateLimited: return "rate_limited";
    case ErrorKind::kException: return "exception";
    case ErrorKind::kBadPayload: return "bad_payload";
  }
  return "unknown";
}

}  // namespace pawl
