#include "pawl/status.hpp"

#include <cstdarg>
#include <cstdio>

namespace pawl {

// No default label, so that the compiler warns about a new status without a name.
const char* status_name(Status status) {
  switch (status) {
    case Status::kOk: return "ok";
    case Status::kInvalidArgument: return "invalid_argument";
    case Status::kInvalidOptions: return "invalid_options";
    case Status::kNotFound: return "not_found";
    case Status::kAlreadyExists: return "already_exists";
    case Status::kResourceExhausted: return "resource_exhausted";
    case Status::kBusy: return "busy";
    case Status::kStale: return "stale";
    case Status::kWouldBlock: return "would_block";
    case Status::kTimeout: return "timeout";
    case Status::kCorrupt: return "corrupt";
    case Status::kIo: return "io";
    case Status::kFull: return "full";
    case Status::kReadOnly: return "read_only";
    case Status::kCannotOpen: return "cannot_open";
    case Status::kForeignDatabase: return "foreign_database";
    case Status::kNewerDatabase: return "newer_database";
    case Status::kOlderDatabase: return "older_database";
    case Status::kKeyReused: return "key_reused";
    case Status::kInDoubt: return "in_doubt";
    case Status::kNodeIdInUse: return "node_id_in_use";
    case Status::kForeignBoot: return "foreign_boot";
    case Status::kNetworkFilesystem: return "network_filesystem";
    case Status::kSqliteAlreadyInitialised: return "sqlite_already_initialised";
    case Status::kUnsupported: return "unsupported";
    case Status::kNondeterminism: return "nondeterminism";
    case Status::kAwaitSteppedOver: return "await_stepped_over";
    case Status::kException: return "exception";
    case Status::kNotRestartable: return "not_restartable";
    case Status::kBuried: return "buried";
    case Status::kStopped: return "stopped";
    case Status::kVersionMismatch: return "version_mismatch";
    case Status::kStillRunning: return "still_running";
    case Status::kDeviceHeld: return "device_held";
    case Status::kNoEligibleTarget: return "no_eligible_target";
    case Status::kChildInstance: return "child_instance";
    case Status::kQuota: return "quota";
    case Status::kNotOwner: return "not_owner";
  }
  return "unknown";
}

void Diagnostic::format(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int written = std::vsnprintf(text_, kCapacity, format, arguments);
  va_end(arguments);
  if (written < 0) {
    size_ = 0;
    return;
  }
  const std::size_t whole = static_cast<std::size_t>(written);
  // vsnprintf() ends its text with a zero byte, so the text is one byte shorter than the capacity.
  size_ = whole < kCapacity ? whole : kCapacity - 1;
}

}  // namespace pawl
