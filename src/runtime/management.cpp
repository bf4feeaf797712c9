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

}  // namespace pawl
