// WorkQueue: activities that wait for a worker, and those that run.
//
// Purpose: which item a worker gets next, under which lock, and how its result goes back to its
// instance. Ownership: views handed out live in the buffer that the caller gave. Thread rule: as
// store.hpp.
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

// What an execution and its process see of the session, beside its key and its owner's epoch.
struct WorkSession {
  InstanceKey scope = 0;  // the instance that opened it; 0: shared by all
  std::int64_t generation = 0;
  std::string_view name;     // views as in WorkItem
  std::string_view summary;  // with claimed_now
  std::string_view folder;   // the caller's to set
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
  std::int32_t attempt = 0;        // hand-overs
  std::int32_t retry_attempt = 1;  // 1 + attempts that failed
  bool may_retry = false;          // a failure of this attempt is not the last word
  std::int32_t crashes = 0;
  std::int64_t locked_until = 0;
  OptionalMs deadline;           // what its limits allow
  std::int64_t silence_ms = 0;   // how long it may be silent; 0: for ever
  std::string_view instance_id;  // views into the buffer given to fetch_work_item
  std::string_view orchestration_name;
  std::string_view orchestration_version;
  std::string_view trace;  // of the instance; empty: none
  std::string_view activity_name;
  std::string_view tag;
  std::string_view input;
  std::string_view last_progress;
  WorkSession session_info;
};

// A finished activity whose result is a message of this very turn, never stored as a row.
struct WorkDone {
  WorkItemId item = 0;
  LockToken token = 0;
  Epoch epoch = 0;
  SessionKey session = 0;      // 0: none
  bool abort_session = false;  // with the result, its session is lost
};

// What the fetching process can and cannot take.
class WorkFilter {
 public:
  [[nodiscard]] virtual bool has_handler(std::string_view activity_name) const = 0;
  // Whether an activity it has a handler for can be taken now; false: the item is passed over.
  [[nodiscard]] virtual bool has_room(std::string_view /*activity_name*/) const { return true; }
  // This process still runs it, under whatever token.
  [[nodiscard]] virtual bool runs_item(WorkItemId id) const = 0;
  // An execution of this exclusive session is still here, whatever its epoch, and even if its row
  // was made anew meanwhile. `scope`: WorkSession::scope.
  [[nodiscard]] virtual bool runs_session(InstanceKey scope, std::string_view name) const = 0;
  // Crashed items do not run beside each other; the last attempt runs alone in its process.
  [[nodiscard]] virtual bool may_run_with(std::int32_t crashes) const = 0;

 protected:
  ~WorkFilter() = default;
};

inline constexpr std::int64_t kWaitingSessionsMax = 256;

// Sessions that wait for room.
struct WaitingSessions {
  std::size_t count = 0;  // at most kWaitingSessionsMax
  // When a session of the worker has been idle for long enough to make room for one of them, if
  // nothing else happens. Pawl time; none: not as it is now.
  OptionalMs room_at;
  // The one that comes first: how long its work has waited. Only with a count.
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
  Evidence* evidence = nullptr;  // who is gone (S47); null: no evidence, so none is
  CrashLimits limits;            // of the items whose locks are taken over
  // Where this worker makes the folders of sessions; empty: nowhere. Must live until the call
  // returns.
  std::string_view folder_root;
  // Set to true if a call stopped at its bound of looks before it had seen everything: what this
  // worker can take may lie further on, so the next tick must not wait for a reason. May be null.
  bool* look_again = nullptr;
  // Gets the sessions that have work that no worker may start, if this worker is at its limit of
  // sessions and could run some of it; none if not. May be null. Only if nothing is found.
  WaitingSessions* waiting = nullptr;
  // Whether there is work that this worker passes over, for want of a slot, a session more, or a
  // handler. May be null. Only if nothing is found.
  bool* passed_over = nullptr;
};

struct WorkResult {
  ErrorKind error = ErrorKind::kNone;
  std::string_view payload;
  bool permanent = false;  // a failure that no retry can mend
};

// All in a batch.
class WorkQueue {
 public:
  // The lowest id this worker may take; claims its session. *found = false: none. Views go to
  // buffer.
  virtual Status fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity,
                                 WorkItem* out, bool* found) = 0;
  // Makes items ready, at most `limit`, that waited for a worker that has their names and serves
  // their tags, as `me` does by its registration; of a device only if `me` has it. Goes on where
  // the last call ended; from the beginning after a registration or a rollback. *more = false:
  // there are none, and none will come, since what a living worker can run does not wait. The calls
  // look at a bounded number of rows.
  virtual Status wake_unregistered(Incarnation me, std::size_t limit, std::size_t* woken,
                                   bool* more) = 0;
  // Rises whenever this connection may have made an item ready for a worker.
  [[nodiscard]] virtual std::int64_t made_ready() const = 0;
  // kOk: the token and epoch are current; kNotFound: it was cancelled, or has its outcome; kStale:
  // another hand-over has it, or may. Nothing is written. A cancelled item that is kept until its
  // execution ends (exclusive sessions) is kNotFound here, too; acknowledging or abandoning it
  // removes it.
  virtual Status check_work_item(const WorkDone& done) = 0;
  // Deletes the item and stores its completion as a message of its instance. A failure that its
  // policy repeats (kApplication, not permanent, attempts left) puts it back for later instead.
  virtual Status ack_work_item(const WorkDone& done, const WorkResult& result) = 0;
  virtual Status abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                                   const CrashLimits& limits) = 0;
  // Keeps the progress of the execution, and that it was alive at `at`. Empty progress: as it was.
  // kStale: lost.
  virtual Status note_progress(const WorkDone& done, std::string_view progress,
                               std::int64_t at) = 0;
  // Also renews the item's session if it is mine at this epoch. kStale: the execution is lost. A
  // kept cancelled item answers kOk and keeps its lock: see check_work_item().
  virtual Status renew_work_item_lock(const WorkDone& done, Incarnation me,
                                      const WorkerTerms& options) = 0;
  // Delayed items and parked instances whose time came, and items past a limit of their policy:
  // these get kTimeout, or their next attempt; work of absent devices; sessions that a runtime must
  // look at; bounded.
  virtual Status wake_delayed(std::size_t limit, std::size_t* woken) = 0;

 protected:
  ~WorkQueue() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_WORK_QUEUE_HPP
