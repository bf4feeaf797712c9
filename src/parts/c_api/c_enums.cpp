// The numbers of C's enumerations are those of C++'s: a switch that lacks one does not compile, and
// neither does one that says another number.
#include "parts/c_api/c_types.hpp"
#include "pawl/cause.hpp"
#include "pawl/client_options.hpp"
#include "pawl/error.hpp"
#include "pawl/management.hpp"
#include "pawl/options.hpp"
#include "pawl/pawl.h"
#include "pawl/port_posix.hpp"
#include "pawl/session_listener.hpp"

namespace pawl::c_api {
namespace {

// Requires: `number_of` has a case for each number of the enumeration; -1: it is none.
template <typename Enum>
constexpr bool is_same(int (*number_of)(Enum), int count) {
  for (int number = 0; number < count; ++number)
    if (number_of(static_cast<Enum>(number)) != number) return false;
  return number_of(static_cast<Enum>(count)) == -1;
}

#define PAWL_SAME(name, number) \
  case Enum::name: return number

constexpr int number_of_status(Status status) {
  using Enum = Status;
  switch (status) {
    PAWL_SAME(kOk, PAWL_OK);
    PAWL_SAME(kInvalidArgument, PAWL_INVALID_ARGUMENT);
    PAWL_SAME(kInvalidOptions, PAWL_INVALID_OPTIONS);
    PAWL_SAME(kNotFound, PAWL_NOT_FOUND);
    PAWL_SAME(kAlreadyExists, PAWL_ALREADY_EXISTS);
    PAWL_SAME(kResourceExhausted, PAWL_RESOURCE_EXHAUSTED);
    PAWL_SAME(kBusy, PAWL_BUSY);
    PAWL_SAME(kStale, PAWL_STALE);
    PAWL_SAME(kWouldBlock, PAWL_WOULD_BLOCK);
    PAWL_SAME(kTimeout, PAWL_TIMEOUT);
    PAWL_SAME(kCorrupt, PAWL_CORRUPT);
    PAWL_SAME(kIo, PAWL_IO);
    PAWL_SAME(kFull, PAWL_FULL);
    PAWL_SAME(kReadOnly, PAWL_READ_ONLY);
    PAWL_SAME(kCannotOpen, PAWL_CANNOT_OPEN);
    PAWL_SAME(kForeignDatabase, PAWL_FOREIGN_DATABASE);
    PAWL_SAME(kNewerDatabase, PAWL_NEWER_DATABASE);
    PAWL_SAME(kNodeIdInUse, PAWL_NODE_ID_IN_USE);
    PAWL_SAME(kForeignBoot, PAWL_FOREIGN_BOOT);
    PAWL_SAME(kNetworkFilesystem, PAWL_NETWORK_FILESYSTEM);
    PAWL_SAME(kSqliteAlreadyInitialised, PAWL_SQLITE_ALREADY_INITIALISED);
    PAWL_SAME(kUnsupported, PAWL_UNSUPPORTED);
    PAWL_SAME(kNondeterminism, PAWL_NONDETERMINISM);
    PAWL_SAME(kAwaitSteppedOver, PAWL_AWAIT_STEPPED_OVER);
    PAWL_SAME(kBuried, PAWL_BURIED);
    PAWL_SAME(kStopped, PAWL_STOPPED);
    PAWL_SAME(kVersionMismatch, PAWL_VERSION_MISMATCH);
    PAWL_SAME(kStillRunning, PAWL_STILL_RUNNING);
    PAWL_SAME(kDeviceHeld, PAWL_DEVICE_HELD);
    PAWL_SAME(kNoEligibleTarget, PAWL_NO_ELIGIBLE_TARGET);
    PAWL_SAME(kChildInstance, PAWL_CHILD_INSTANCE);
    PAWL_SAME(kQuota, PAWL_QUOTA);
    PAWL_SAME(kNotOwner, PAWL_NOT_OWNER);
    PAWL_SAME(kException, PAWL_EXCEPTION);
    PAWL_SAME(kNotRestartable, PAWL_NOT_RESTARTABLE);
    PAWL_SAME(kOlderDatabase, PAWL_OLDER_DATABASE);
    PAWL_SAME(kKeyReused, PAWL_KEY_REUSED);
    PAWL_SAME(kInDoubt, PAWL_IN_DOUBT);
  }
  return -1;
}
static_assert(is_same(number_of_status, PAWL_IN_DOUBT + 1));

constexpr int number_of_error(ErrorKind kind) {
  using Enum = ErrorKind;
  switch (kind) {
    PAWL_SAME(kNone, PAWL_ERROR_NONE);
    PAWL_SAME(kApplication, PAWL_ERROR_APPLICATION);
    PAWL_SAME(kCancelled, PAWL_ERROR_CANCELLED);
    PAWL_SAME(kClosed, PAWL_ERROR_CLOSED);
    PAWL_SAME(kTimeout, PAWL_ERROR_TIMEOUT);
    PAWL_SAME(kPoison, PAWL_ERROR_POISON);
    PAWL_SAME(kNondeterminism, PAWL_ERROR_NONDETERMINISM);
    PAWL_SAME(kAwaitSteppedOver, PAWL_ERROR_AWAIT_STEPPED_OVER);
    PAWL_SAME(kLimit, PAWL_ERROR_LIMIT);
    PAWL_SAME(kCorrupt, PAWL_ERROR_CORRUPT);
    PAWL_SAME(kUnregistered, PAWL_ERROR_UNREGISTERED);
    PAWL_SAME(kSessionLost, PAWL_ERROR_SESSION_LOST);
    PAWL_SAME(kSessionClosed, PAWL_ERROR_SESSION_CLOSED);
    PAWL_SAME(kSessionUnavailable, PAWL_ERROR_SESSION_UNAVAILABLE);
    PAWL_SAME(kInvalidArgument, PAWL_ERROR_INVALID_ARGUMENT);
    PAWL_SAME(kTerminated, PAWL_ERROR_TERMINATED);
    PAWL_SAME(kNotStarted, PAWL_ERROR_NOT_STARTED);
    PAWL_SAME(kNotFound, PAWL_ERROR_NOT_FOUND);
    PAWL_SAME(kNoInstance, PAWL_ERROR_NO_INSTANCE);
    PAWL_SAME(kHeartbeatTimeout, PAWL_ERROR_HEARTBEAT_TIMEOUT);
    PAWL_SAME(kRateLimited, PAWL_ERROR_RATE_LIMITED);
    PAWL_SAME(kException, PAWL_ERROR_EXCEPTION);
    PAWL_SAME(kBadPayload, PAWL_ERROR_BAD_PAYLOAD);
  }
  return -1;
}
static_assert(is_same(number_of_error, PAWL_ERROR_BAD_PAYLOAD + 1));

constexpr int number_of_state(OrchestrationState state) {
  using Enum = OrchestrationState;
  switch (state) {
    PAWL_SAME(kRunning, PAWL_RUNNING);
    PAWL_SAME(kCompleted, PAWL_COMPLETED);
    PAWL_SAME(kFailed, PAWL_FAILED);
    PAWL_SAME(kStopped, PAWL_STOPPED_STATE);
    PAWL_SAME(kSuspended, PAWL_SUSPENDED);
  }
  return -1;
}
static_assert(is_same(number_of_state, PAWL_SUSPENDED + 1));

constexpr int number_of_execution_state(ExecutionState state) {
  using Enum = ExecutionState;
  switch (state) {
    PAWL_SAME(kRunning, PAWL_EXECUTION_RUNNING);
    PAWL_SAME(kCompleted, PAWL_EXECUTION_COMPLETED);
    PAWL_SAME(kFailed, PAWL_EXECUTION_FAILED);
    PAWL_SAME(kContinuedAsNew, PAWL_EXECUTION_CONTINUED_AS_NEW);
  }
  return -1;
}
static_assert(is_same(number_of_execution_state, PAWL_EXECUTION_CONTINUED_AS_NEW + 1));

constexpr int number_of_activity_state(ActivityState state) {
  using Enum = ActivityState;
  switch (state) {
    PAWL_SAME(kReady, PAWL_ACTIVITY_READY);
    PAWL_SAME(kRunning, PAWL_ACTIVITY_RUNNING);
    PAWL_SAME(kDelayed, PAWL_ACTIVITY_DELAYED);
    PAWL_SAME(kOutside, PAWL_ACTIVITY_OUTSIDE);
  }
  return -1;
}
static_assert(is_same(number_of_activity_state, PAWL_ACTIVITY_OUTSIDE + 1));

constexpr int number_of_cause_kind(CauseKind kind) {
  using Enum = CauseKind;
  switch (kind) {
    PAWL_SAME(kEnded, PAWL_CAUSE_ENDED);
    PAWL_SAME(kStopped, PAWL_CAUSE_STOPPED);
    PAWL_SAME(kSuspended, PAWL_CAUSE_SUSPENDED);
    PAWL_SAME(kUnknown, PAWL_CAUSE_UNKNOWN);
    PAWL_SAME(kNoWorker, PAWL_CAUSE_NO_WORKER);
    PAWL_SAME(kNoOrchestration, PAWL_CAUSE_NO_ORCHESTRATION);
    PAWL_SAME(kPause, PAWL_CAUSE_PAUSE);
    PAWL_SAME(kTurn, PAWL_CAUSE_TURN);
    PAWL_SAME(kTimer, PAWL_CAUSE_TIMER);
    PAWL_SAME(kNoClock, PAWL_CAUSE_NO_CLOCK);
    PAWL_SAME(kEvent, PAWL_CAUSE_EVENT);
    PAWL_SAME(kQueue, PAWL_CAUSE_QUEUE);
    PAWL_SAME(kChild, PAWL_CAUSE_CHILD);
    PAWL_SAME(kAnswer, PAWL_CAUSE_ANSWER);
    PAWL_SAME(kRuns, PAWL_CAUSE_RUNS);
    PAWL_SAME(kEnding, PAWL_CAUSE_ENDING);
    PAWL_SAME(kOutside, PAWL_CAUSE_OUTSIDE);
    PAWL_SAME(kRetry, PAWL_CAUSE_RETRY);
    PAWL_SAME(kNoActivity, PAWL_CAUSE_NO_ACTIVITY);
    PAWL_SAME(kNoTag, PAWL_CAUSE_NO_TAG);
    PAWL_SAME(kNoDevice, PAWL_CAUSE_NO_DEVICE);
    PAWL_SAME(kMoving, PAWL_CAUSE_MOVING);
    PAWL_SAME(kHeld, PAWL_CAUSE_HELD);
    PAWL_SAME(kPaced, PAWL_CAUSE_PACED);
    PAWL_SAME(kBehind, PAWL_CAUSE_BEHIND);
    PAWL_SAME(kNoRoom, PAWL_CAUSE_NO_ROOM);
    PAWL_SAME(kIdle, PAWL_CAUSE_IDLE);
    PAWL_SAME(kSessionEnded, PAWL_CAUSE_SESSION_ENDED);
  }
  return -1;
}
static_assert(is_same(number_of_cause_kind, PAWL_CAUSE_SESSION_ENDED + 1));

constexpr int number_of_session_state(SessionState state) {
  using Enum = SessionState;
  switch (state) {
    PAWL_SAME(kIdle, PAWL_SESSION_IDLE);
    PAWL_SAME(kActive, PAWL_SESSION_ACTIVE);
    PAWL_SAME(kLost, PAWL_SESSION_LOST);
    PAWL_SAME(kClosed, PAWL_SESSION_CLOSED);
    PAWL_SAME(kRefused, PAWL_SESSION_REFUSED);
    PAWL_SAME(kExpired, PAWL_SESSION_EXPIRED);
  }
  return -1;
}
static_assert(is_same(number_of_session_state, PAWL_SESSION_EXPIRED + 1));

constexpr int number_of_cancel_reason(CancelReason reason) {
  using Enum = CancelReason;
  switch (reason) {
    PAWL_SAME(kNone, PAWL_NOT_CANCELLED);
    PAWL_SAME(kCancelled, PAWL_CANCELLED);
    PAWL_SAME(kDeadline, PAWL_DEADLINE);
    PAWL_SAME(kLost, PAWL_LOST);
    PAWL_SAME(kShutdown, PAWL_SHUTDOWN);
  }
  return -1;
}
static_assert(is_same(number_of_cancel_reason, PAWL_SHUTDOWN + 1));

constexpr int number_of_backoff(Backoff backoff) {
  using Enum = Backoff;
  switch (backoff) {
    PAWL_SAME(kNone, PAWL_BACKOFF_NONE);
    PAWL_SAME(kFixed, PAWL_BACKOFF_FIXED);
    PAWL_SAME(kLinear, PAWL_BACKOFF_LINEAR);
    PAWL_SAME(kExponential, PAWL_BACKOFF_EXPONENTIAL);
  }
  return -1;
}
static_assert(is_same(number_of_backoff, PAWL_BACKOFF_EXPONENTIAL + 1));

constexpr int number_of_if_running(IfRunning how) {
  using Enum = IfRunning;
  switch (how) {
    PAWL_SAME(kRefuse, PAWL_RUNNING_REFUSE);
    PAWL_SAME(kTake, PAWL_RUNNING_TAKE);
  }
  return -1;
}
static_assert(is_same(number_of_if_running, PAWL_RUNNING_TAKE + 1));

constexpr int number_of_if_ended(IfEnded how) {
  using Enum = IfEnded;
  switch (how) {
    PAWL_SAME(kRefuse, PAWL_ENDED_REFUSE);
    PAWL_SAME(kNextExecution, PAWL_ENDED_NEXT_EXECUTION);
    PAWL_SAME(kNextIfFailed, PAWL_ENDED_NEXT_IF_FAILED);
  }
  return -1;
}
static_assert(is_same(number_of_if_ended, PAWL_ENDED_NEXT_IF_FAILED + 1));

constexpr int number_of_restart(RestartFrom from) {
  using Enum = RestartFrom;
  switch (from) {
    PAWL_SAME(kStart, PAWL_FROM_START);
    PAWL_SAME(kLastGoodEvent, PAWL_FROM_LAST_GOOD_EVENT);
  }
  return -1;
}
static_assert(is_same(number_of_restart, PAWL_FROM_LAST_GOOD_EVENT + 1));

constexpr int number_of_tag_mode(TagFilter::Mode mode) {
  using Enum = TagFilter::Mode;
  switch (mode) {
    PAWL_SAME(kDefaultOnly, PAWL_TAGS_DEFAULT_ONLY);
    PAWL_SAME(kTags, PAWL_TAGS_ONLY);
    PAWL_SAME(kDefaultAnd, PAWL_TAGS_DEFAULT_AND);
    PAWL_SAME(kAny, PAWL_TAGS_ANY);
    PAWL_SAME(kNone, PAWL_TAGS_NONE);
  }
  return -1;
}
static_assert(is_same(number_of_tag_mode, PAWL_TAGS_NONE + 1));

constexpr int number_of_level(LogLevel level) {
  using Enum = LogLevel;
  switch (level) {
    PAWL_SAME(kDebug, PAWL_LEVEL_DEBUG);
    PAWL_SAME(kInfo, PAWL_LEVEL_INFO);
    PAWL_SAME(kWarning, PAWL_LEVEL_WARNING);
    PAWL_SAME(kError, PAWL_LEVEL_ERROR);
  }
  return -1;
}
static_assert(is_same(number_of_level, PAWL_LEVEL_ERROR + 1));

constexpr int number_of_while_outside(WhileOutside session) {
  using Enum = WhileOutside;
  switch (session) {
    PAWL_SAME(kFreesSession, PAWL_FREES_SESSION);
    PAWL_SAME(kHoldsSession, PAWL_HOLDS_SESSION);
  }
  return -1;
}
static_assert(is_same(number_of_while_outside, PAWL_HOLDS_SESSION + 1));

constexpr int number_of_mode(ActivityMode mode) {
  return mode == ActivityMode::kInline ? PAWL_INLINE : PAWL_THREADED;
}
static_assert(number_of_mode(static_cast<ActivityMode>(PAWL_INLINE)) == PAWL_INLINE &&
              number_of_mode(static_cast<ActivityMode>(PAWL_THREADED)) == PAWL_THREADED);

// C has no words for the other two, which need more than a number.
static_assert(static_cast<int>(posix::WallTrust::kKernel) == PAWL_TRUST_KERNEL &&
              static_cast<int>(posix::WallTrust::kAlways) == PAWL_TRUST_ALWAYS &&
              static_cast<int>(posix::WallTrust::kNever) == PAWL_TRUST_NEVER);

#undef PAWL_SAME

}  // namespace
}  // namespace pawl::c_api

// A C program may pass any number, and a C++ sanitizer stops when it is read as an enumeration.
__attribute__((no_sanitize("enum"))) const char* pawl_status_name(pawl_status status) {
  const auto number = static_cast<unsigned>(status);
  constexpr unsigned kNumbers = 256;  // Status values; some have no name
  if (number >= kNumbers) return "unknown";
  return pawl::status_name(static_cast<pawl::Status>(number));
}
const char* pawl_error_name(int error) {
  if (error < 0 || error > PAWL_ERROR_BAD_PAYLOAD) return "unknown";
  return pawl::error_kind_name(static_cast<pawl::ErrorKind>(error));
}
// A number of a later release has the words of none.
const char* pawl_cause_kind_name(int kind) {
  return kind < 0 || kind > PAWL_CAUSE_SESSION_ENDED
             ? "unknown"
             : pawl::cause_kind_name(static_cast<pawl::CauseKind>(kind));
}
const char* pawl_cause_help(int kind) {
  return kind < 0 || kind > PAWL_CAUSE_SESSION_ENDED
             ? ""
             : pawl::cause_help(static_cast<pawl::CauseKind>(kind));
}
