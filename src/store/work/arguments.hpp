// Arguments and answers of the calls about work items: activities that wait for a worker, and those
// that run.
//
// Ownership: views handed in must live until the call returns; views handed out live in the buffer
// that the caller gave. Thread rule: as store.hpp.
#ifndef PAWL_STORE_WORK_ARGUMENTS_HPP
#define PAWL_STORE_WORK_ARGUMENTS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/clock_rules.hpp"
#include "core/ids.hpp"
#include "core/sha256.hpp"
#include "core/text.hpp"
#include "pawl/error.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/options.hpp"
#include "pawl/status.hpp"
#include "store/work/crash_limits.hpp"
#include "store/worker/evidence_rules.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl {

// The facts about the session that an execution and its process see, besides its key and its
// owner's epoch.
struct WorkSession {
  InstanceKey scope = 0;  // the instance that opened it; 0: it is shared
  std::int64_t generation = 0;
  std::string_view name;     // views as in WorkItem
  std::string_view summary;  // with claimed_now
  std::string_view folder;   // set by the caller
  // It is exclusive, or a device's, and machines share the store: its work ends when the worker's
  // own count of the lease is over (F14).
  bool ends_with_lease = false;
};

struct WorkItem {
  WorkItemId id = 0;
  LockToken token = 0;
  InstanceKey instance = 0;
  ExecutionId execution = 0;
  EventId event = 0;
  SessionKey session = 0;
  Epoch epoch = 0;
  bool exclusive = false;
  bool claimed_now = false;        // first hand-over of this epoch
  bool may_retry = false;          // a retry follows if this attempt fails
  std::int32_t attempt = 0;        // number of hand-overs
  std::int32_t retry_attempt = 1;  // 1 + attempts that failed
  std::int32_t crashes = 0;
  std::int64_t locked_until = 0;
  OptionalMs deadline;           // the earliest that its limits allow
  std::int64_t silence_ms = 0;   // how long it may send no heartbeat; 0: no limit
  std::string_view instance_id;  // views into the buffer given to fetch_work_item
  std::string_view orchestration_name;
  std::string_view orchestration_version;
  std::string_view trace;  // the instance's; empty: none
  std::string_view activity_name;
  std::string_view tag;
  std::string_view input;
  std::string_view last_progress;
  WorkSession session_info;
};

// A finished activity whose result is a message of this very turn and was never stored as a row.
struct WorkDone {
  WorkItemId item = 0;
  LockToken token = 0;
  Epoch epoch = 0;
  SessionKey session = 0;      // 0: none
  bool abort_session = false;  // its session is lost, together with the result
};

// Decides which work the fetching process can take.
class WorkFilter {
 public:
  [[nodiscard]] virtual bool has_handler(std::string_view activity_name) const = 0;
  // Whether an activity that it has a handler for can be taken now; false: the item is passed over.
  [[nodiscard]] virtual bool has_room(std::string_view /*activity_name*/) const { return true; }
  // Whether this process still runs the item, under any token.
  [[nodiscard]] virtual bool runs_item(WorkItemId id) const = 0;
  // Whether an execution of this exclusive session is still here, under any epoch, and even if the
  // session's row was created anew meanwhile. `scope`: WorkSession::scope.
  [[nodiscard]] virtual bool runs_session(InstanceKey scope, std::string_view name) const = 0;
  // Whether an item with this many crashes may run now. Crashed items do not run beside each other;
  // the last attempt runs alone in its process.
  [[nodiscard]] virtual bool may_run_with(std::int32_t crashes) const = 0;
  // For an activity that may be completed from outside: draws the token of its hand-over, and sets
  // its hash. False: it may not.
  virtual bool draw_token(std::string_view /*activity_name*/, WorkItemId /*id*/,
                          Sha256* /*hash*/) const {
    return false;
  }

 protected:
  ~WorkFilter() = default;
};

inline constexpr std::int64_t kWaitingSessionsMax = 256;

// Sessions that wait for room.
struct WaitingSessions {
  std::size_t count = 0;  // at most kWaitingSessionsMax
  // Pawl time at which a session of the worker will have been idle long enough to make room for one
  // of them, if nothing else happens. None: no session will.
  OptionalMs room_at;
  // The session that is first in line, and how long its work has waited. Set only if `count` is not
  // 0.
  FixedText<kNameBytesMax> session;
  FixedText<kNameBytesMax> instance;  // empty: it is shared
  std::int64_t for_ms = 0;
};

struct FetchWork {
  Incarnation me = 0;
  bool draining = false;
  const WorkerTerms* options = nullptr;
  const WorkFilter* filter = nullptr;
  TagFilter tags;                // the same in every call, and as registered
  std::size_t wanted = 1;        // so many calls follow each other, this one included, if all find
  Evidence* evidence = nullptr;  // which workers are gone (S47); null: none counts as gone
  CrashLimits limits;            // for the items whose locks are taken over
  // Where this worker creates the folders of sessions; empty: it creates none. Must live until the
  // call returns.
  std::string_view folder_root;
  // Set to true if a call reached its limit of looks before it had seen everything. Items for this
  // worker may lie further on, so the next tick must not wait for another reason. May be null.
  bool* look_again = nullptr;
  // If nothing is found, gets the sessions that have work that no worker may start, if this worker
  // is at its limit of sessions and could run some of it; none otherwise. May be null.
  WaitingSessions* waiting = nullptr;
  // If nothing is found, gets whether this worker passes work over because it lacks a slot, room
  // for one more session, or a handler. May be null.
  bool* passed_over = nullptr;
};

struct WorkResult {
  ErrorKind error = ErrorKind::kNone;
  std::string_view payload;
  bool permanent = false;  // a failure that no retry can repair
};

}  // namespace pawl

#endif  // PAWL_STORE_WORK_ARGUMENTS_HPP
