// WorkQueue: activities that wait for a worker, and those that run.
//
// Purpose: decides which item a worker gets next and under which lock, and takes its result back to
// its instance. Ownership: views handed out live in the buffer that the caller gave. Thread rule:
// as store.hpp.
#ifndef PAWL_STORE_WORK_QUEUE_HPP
#define PAWL_STORE_WORK_QUEUE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "clock_rules.hpp"
#include "crash_limits.hpp"
#include "evidence.hpp"
#include "ids.hpp"
#include "pawl/error.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/options.hpp"
#include "pawl/status.hpp"
#include "text.hpp"
#include "worker_terms.hpp"

namespace pawl {

// The facts about the session that an execution and its process see, besides its key and its
// owner's epoch.
struct WorkSession {
  InstanceKey scope = 0;  // the instance that opened it; 0: it is shared
  std::int64_t generation = 0;
  std::string_view name;     // views as in WorkItem
  std::string_view summary;  // with claimed_now
  std::string_view folder;   // set by the caller
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
  std::int32_t attempt = 0;        // number of hand-overs
  std::int32_t retry_attempt = 1;  // 1 + attempts that failed
  bool may_retry = false;          // a retry follows if this attempt fails
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

// All calls in a batch.
class WorkQueue {
 public:
  // Takes the lowest id that this worker may take, and claims its session. *found = false: none.
  // Views go to `buffer`.
  virtual Status fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity,
                                 WorkItem* out, bool* found) = 0;
  // Makes ready, at most `limit`, the items that waited for a worker with a handler for their name
  // that serves their tag, if `me` is such a worker by its registration; a device's items only if
  // `me` has the device. Continues where the last call ended, and starts again after a registration
  // or a rollback. *more = false: no such item is left, and none will come, since items that a
  // living worker can run do not wait. The calls look at a bounded number of rows.
  virtual Status wake_unregistered(Incarnation me, std::size_t limit, std::size_t* woken,
                                   bool* more) = 0;
  // Rises whenever this connection may have made an item ready for a worker.
  [[nodiscard]] virtual std::int64_t made_ready() const = 0;
  // kOk: the token and epoch are current; kNotFound: it was cancelled, or has its outcome; kStale:
  // another hand-over has it, or may have it. Nothing is written. A cancelled item that is kept
  // until its execution ends (exclusive sessions) is kNotFound here, too; acknowledging or
  // abandoning it removes it.
  virtual Status check_work_item(const WorkDone& done) = 0;
  // Deletes the item and stores its completion as a message of its instance. A failure that its
  // policy retries (kApplication, not permanent, attempts left) puts it back for later instead.
  virtual Status ack_work_item(const WorkDone& done, const WorkResult& result) = 0;
  virtual Status abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                                   const CrashLimits& limits) = 0;
  // Stores the progress of the execution, and that it was alive at `at`. Empty progress: the stored
  // one stays. kStale: the execution is lost.
  virtual Status note_progress(const WorkDone& done, std::string_view progress,
                               std::int64_t at) = 0;
  // Renews the item's lock, and its session if `me` owns it at this epoch. kStale: the execution is
  // lost. A kept cancelled item answers kOk and keeps its lock: see check_work_item().
  virtual Status renew_work_item_lock(const WorkDone& done, Incarnation me,
                                      const WorkerTerms& options) = 0;
  // Wakes delayed items and parked instances whose time has come, items past a limit of their
  // policy (these get kTimeout or their next attempt), work of absent devices, and sessions that a
  // runtime must look at; bounded.
  virtual Status wake_delayed(std::size_t limit, std::size_t* woken) = 0;

 protected:
  ~WorkQueue() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_WORK_QUEUE_HPP
