// Provider: the storage contract. One object is one connection of one process.
//
// Purpose: the runtime and the clients know storage only through this class; test/provider is the
// contract, and a provider that passes it is one. The provider stores bytes and indices, never
// meaning: it is told which work, timers and messages a turn makes.
// Transactions: every call under "in a batch" stands between begin() and commit() or rollback(), which
// are one write transaction. If a call answers kIo, kFull, kCorrupt or kResourceExhausted the batch is
// dead: roll it back. kStale, kNotFound and kAlreadyExists leave it alive and unchanged.
// Ownership: views handed in must live until the call returns; views handed out live in the buffer
// that the caller gave. Thread rule: one thread a connection.
// Times: Pawl time in ms (clock_rules.hpp) unless a name says otherwise.
#ifndef PAWL_PROVIDER_PROVIDER_HPP
#define PAWL_PROVIDER_PROVIDER_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "arena.hpp"
#include "clock_rules.hpp"
#include "damage.hpp"
#include "event.hpp"
#include "evidence.hpp"
#include "ids.hpp"
#include "pawl/management.hpp"
#include "pawl/options.hpp"
#include "pawl/port.hpp"
#include "pawl/status.hpp"
#include "session_options.hpp"
#include "text.hpp"

namespace pawl {

// What a page of the log holds: ProviderOptions::checkpoint_pages in bytes.
inline constexpr std::int64_t kLogPageBytes = 1024;

struct ProviderOptions {
  const char* path = nullptr;
  bool create = true;               // false: kCannotOpen when there is no database
  bool read_only = false;           // no batches; create is false then
  bool synchronous_full = true;     // false: an acknowledged call may be lost at a power cut
  std::int64_t busy_ms_max = 1000;  // longest wait for the write lock
  int cache_pages = 256;
  int checkpoint_pages = 1000;
  bool checkpoint_apart =
      false;  // by write_back_log(), not by the commit that makes the log so long
  bool may_take_reserve = false;  // release_reserve() if there is no room to open it
};

// What a batch found out when it began; the same for all calls in it.
struct BatchInfo {
  std::int64_t now = 0;       // Pawl time, read after the lock was held
  std::int64_t stamp_ms = 0;  // for people (R9)
  std::int64_t boot_seq = 0;
  bool utc_known = false;
  std::int64_t utc_ms = 0;
  bool draining = false;  // `me` was told to: it claims nothing any more
  std::int64_t data_version = 0;
  // A process died in the first turn of an instance that nothing was stored of: for some time starts are
  // stored before their first turn, so that a crash in it is charged.
  bool starts_apart = false;
  std::int64_t quota_bytes = 0;      // set_space()
  bool clock_adopted = false;        // this batch adopted a new boot
  bool clock_synced = false;         // this batch confirmed the offset
  bool clock_confirmed = false;      // it is confirmed for this boot, by whomever
  std::int64_t clock_credit_ms = 0;  // off time credited to older timers
};

struct NextDue {
  OptionalMs pawl_time;          // earliest due work of any kind
  bool waiting_for_utc = false;  // a UTC timer waits and there is no trusted offset
};

// kStopped: the code does not match the history, or a row is damaged; nothing is lost, and it goes on
// when the reason is gone. kSuspended: by an operator, until resume_instance().
enum class InstanceState : std::uint8_t {
  kRunning = 0,
  kCompleted = 1,
  kFailed = 2,
  kStopped = 3,
  kSuspended = 4,
  kDeleted = 5,  // of a root: its tree is there for nobody, and swept
};

// ---- instances and orchestration items -------------------------------------------------------------
// An empty version is none yet: the first turn brings it.
struct NewInstance {
  std::string_view id;
  std::string_view name;
  std::string_view version;
  std::string_view input;
  std::int64_t start_after_ms = 0;  // parked so long before its first turn
  // Its first turn is acknowledged in this very batch, with no messages: no start message is stored.
  bool with_turn = false;
};

// A message of kind kEvent or kQueue from outside.
struct NewMail {
  std::string_view id;  // of the instance
  MessageKind kind = MessageKind::kEvent;
  std::string_view name;
  std::string_view payload;
  // Refused if the instance would then have more of both kinds that no turn took, or if those held
  // more bytes of names and payloads.
  std::size_t count_max = 0;
  std::size_t bytes_max = 0;
  MessageId number = 0;  // of those reserved in this batch; 0: the next one
};

struct InstanceStatus {
  InstanceState state = InstanceState::kRunning;
  InstanceKey key = 0;
  ExecutionId execution = 0;
  std::int64_t revision = 0;
  ErrorKind error = ErrorKind::kNone;
  std::string_view output;      // result or error text; view into the caller's buffer
  std::int64_t created_ms = 0;  // stamps
  std::int64_t updated_ms = 0;
  std::string_view custom_status;          // empty: none; view into the caller's buffer
  std::int64_t custom_status_version = 0;  // how often it was set or reset
};

// One kind of execution that a process can run.
struct Runnable {
  std::string_view name;
  std::string_view version;    // empty: one that has none yet
  std::int64_t behaviour = 0;  // of the engine that began it; 0: it has not begun
};

// Instances in a list's way that its caller cannot run.
struct Strangers {
  static constexpr std::size_t kMax = 64;
  // To be set aside: who knows them had time, or they are many; or parked, with timers that are due.
  InstanceKey keys[kMax] = {};
  std::size_t count = 0;
  bool more = false;   // list again at once
  OptionalMs look_at;  // Pawl time: list again then, some are young
};

struct ReadyQuery {
  Incarnation me = 0;
  std::int64_t home_grace_ms = 2000;
  std::int64_t now = 0;  // Pawl time by the reader's clock; verified again at the commit
  const InstanceKey* skip = nullptr;  // being worked on already
  std::size_t skip_count = 0;
  const Runnable* runnable = nullptr;  // what the caller can run; null: everything
  std::size_t runnable_count = 0;
  Strangers* strangers = nullptr;  // gets what it cannot; may be null
};

struct OrchestrationItem {
  InstanceKey key = 0;
  FixedText<kNameBytesMax> id;
  FixedText<kNameBytesMax> name;
  FixedText<kNameBytesMax> version;
  std::int64_t behaviour = 0;  // as in Runnable
  ExecutionId execution = 0;
  std::int64_t revision = 0;
  EventId last_event = 0;  // of the current execution
  std::int32_t crashes = 0;
  std::int32_t strikes = 0;
  std::int32_t reboots = 0;
  // In the arena given: the start of an execution, then those that wait on, then new or due ones.
  Message* messages = nullptr;
  std::size_t message_count = 0;
  std::size_t waiting_count =
      0;                       // of them wait on since an earlier turn; they are always all there
  bool more_messages = false;  // new or due ones
  bool has_parent = false;
  // A stored row that cannot be read: the instance stops with this text.
  Status broken = Status::kOk;
  FixedText<kErrorTextBytesMax> broken_text;
  // An operator ends it, with the reason in broken_text: no messages were read, and nothing else can
  // be committed.
  bool terminate = false;
};

class EventSink {
 public:
  virtual Status on_event(const Event& event) = 0;

 protected:
  ~EventSink() = default;
};

class StateSink {
 public:
  // An empty key: the custom status.
  virtual Status on_value(std::string_view key, std::string_view value,
                          std::int64_t updated_ms) = 0;

 protected:
  ~StateSink() = default;
};

class EventSource {
 public:
  [[nodiscard]] virtual const Event& event(EventId id) const = 0;

 protected:
  ~EventSource() = default;
};

// ---- work items ---------------------------------------------------------------------------------
struct WorkItem {
  WorkItemId id = 0;
  LockToken token = 0;
  InstanceKey instance = 0;
  ExecutionId execution = 0;
  EventId event = 0;
  SessionKey session = 0;
  InstanceKey session_scope = 0;  // the instance that opened the session; 0: everybody's
  std::int64_t session_generation = 0;
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
  std::string_view activity_name;
  std::string_view session_name;
  std::string_view tag;
  std::string_view input;
  std::string_view last_progress;
  std::string_view session_summary;  // with claimed_now
  std::string_view session_folder;   // the caller's to set
};

struct NewWork {
  EventId event = 0;
  std::string_view session;      // empty: none
  std::string_view policy = {};  // policy.hpp; empty: defaults
  std::string_view tag = {};     // empty: none
  // Name of the activity, if the worker of the batch cannot run it. If no living worker can, it waits for one
  // that does.
  std::string_view foreign_name = {};
  // Not null: handed over to the worker of the batch with the turn, until its locked_until, as
  // fetch_work_item() would do; gets id, token, session and epoch. Only without policy and tag. Its id stays
  // 0 if the session is not one that the worker holds and can serve at once: then it is queued as ever.
  WorkItem* handed_over = nullptr;
  std::int64_t session_lease_until = 0;  // with handed_over and session
};

struct NewTimer {
  EventId event = 0;
  TimerBase base = TimerBase::kPawlTime;
  std::int64_t delay_or_utc_ms = 0;
};

// A finished activity whose result is a message of this very turn, never stored as a row.
struct WorkDone {
  WorkItemId item = 0;
  LockToken token = 0;
  Epoch epoch = 0;
  SessionKey session = 0;      // 0: none
  bool abort_session = false;  // with the result, its session is lost
};

struct TurnCommit {
  InstanceKey key = 0;
  std::string_view id;        // of the instance
  std::int64_t revision = 0;  // as fetched
  ExecutionId execution = 0;
  const MessageId* messages = nullptr;  // stored ones that the turn took; deleted
  std::size_t message_count = 0;
  // Stored ones that it saw and that wait on: they make the instance ready no more.
  const MessageId* kept = nullptr;
  std::size_t kept_count = 0;
  // Taken in an earlier turn, waiting again: stored under their old ids. Of no use with an end other
  // than kContinuedAsNew, which takes all messages with it.
  const Message* given_back = nullptr;
  std::size_t given_back_count = 0;
  const WorkDone* done = nullptr;
  std::size_t done_count = 0;
  const EventSource* events = nullptr;
  EventId first_new = 0;  // events [first_new, last_new] are inserted; none if first > last
  EventId last_new = 0;
  const NewWork* work = nullptr;
  std::size_t work_count = 0;
  // Commands among the new events that are of a session (is_of_session()).
  const EventId* sessions = nullptr;
  std::size_t session_count = 0;
  std::int64_t sessions_max = 10;  // that the instance may have open
  std::int64_t sessions_per_owner_max =
      0;  // of one owner label, all instances together; 0: no limit
  const NewTimer* timers = nullptr;
  std::size_t timer_count = 0;
  // Commands among the new events that start an instance: kChild (not with an end) and kDetached.
  const EventId* starts = nullptr;
  std::size_t start_count = 0;
  // Commands of kind kValueRead among the new events (not with an end): each is answered by a message, with
  // what is stored when this turn is.
  const EventId* reads = nullptr;
  std::size_t read_count = 0;
  // Commands of this execution that are closed: their work items and timers go, children are cancelled.
  const EventId* closed = nullptr;
  std::size_t closed_count = 0;
  // Commands of kind kStateWrite among the new events, in order.
  const EventId* writes = nullptr;
  std::size_t write_count = 0;
  // How often the turn set or reset the custom status, and to what at last.
  std::size_t custom_status_changes = 0;
  std::string_view custom_status;
  bool more = false;  // passes_max reached: ready again at once
  EndKind end = EndKind::kNone;
  ErrorKind error = ErrorKind::kNone;
  std::string_view next_input;    // kContinuedAsNew
  std::int64_t behaviour = 0;     // of the engine, if this execution began with this turn; else 0
  std::string_view version;       // of this execution, if the instance had none yet; else empty
  std::string_view next_version;  // kContinuedAsNew: of the next execution; empty: none yet
  std::string_view output;        // kCompleted, kFailed: what a parent is told
  // kContinuedAsNew: so many executions stay, the next one included; 0: all. Bounded as a sweep is.
  std::int64_t keep_executions = 0;
  Removed* removed = nullptr;  // with keep_executions; added to
  Incarnation home = 0;        // who commits
};

// What the fetching process can and cannot take.
class WorkFilter {
 public:
  [[nodiscard]] virtual bool has_handler(std::string_view activity_name) const = 0;
  // Whether an activity it has a handler for can be taken now; false: the item is passed over.
  [[nodiscard]] virtual bool has_room(std::string_view /*activity_name*/) const { return true; }
  // This process still runs it, under whatever token.
  [[nodiscard]] virtual bool runs_item(WorkItemId id) const = 0;
  // An execution of this exclusive session is still here, whatever its epoch, and even if its row was
  // made anew meanwhile. `scope`: WorkItem::session_scope.
  [[nodiscard]] virtual bool runs_session(InstanceKey scope, std::string_view name) const = 0;
  // Crashed items do not run beside each other; the last attempt runs alone in its process.
  [[nodiscard]] virtual bool may_run_with(std::int32_t crashes) const = 0;

 protected:
  ~WorkFilter() = default;
};

struct CrashLimits {
  std::int32_t crashes_max = 10;
  std::int32_t strikes_max = 10;
  std::int32_t reboots_max = 100;
};

struct FetchWork {
  Incarnation me = 0;
  bool draining = false;
  const SessionOptions* options = nullptr;
  const WorkFilter* filter = nullptr;
  TagFilter tags;                // the same in every call, and as registered
  Evidence* evidence = nullptr;  // who is gone? (session-rules 3.1); null: nobody
  CrashLimits limits;            // of the items whose locks are taken over
  // Set to true if a call stopped at its bound of looks before it had seen everything: what this
  // worker can take may lie further on, so the next tick must not wait for a reason. May be null.
  bool* look_again = nullptr;
  // Gets how many sessions have work that nobody may start, if this worker is at its limit of sessions
  // and could run some of it; 0 if not. At most kWaitingSessionsMax; may be null. Only if nothing is found.
  std::size_t* waiting = nullptr;
  // Tells whether there is work that this worker passes over, for want of a slot, a session more, or a
  // handler. May be null. Only if nothing is found.
  bool* passed_over = nullptr;
};

inline constexpr std::int64_t kWaitingSessionsMax = 256;

struct DeclareSession {
  Incarnation me = 0;
  std::string_view device;
  bool standby = false;
  std::int64_t stop_ms = 20'000;
};

struct OwnedSession {
  SessionKey session = 0;
  Epoch epoch = 0;
  FixedText<kNameBytesMax> name;
};

struct WorkResult {
  ErrorKind error = ErrorKind::kNone;
  std::string_view payload;
  bool permanent = false;  // a failure that no retry can mend
};

// ---- workers --------------------------------------------------------------------------------------
struct NewWorker {
  std::string_view node;  // worker_node_id; empty: an ephemeral one, named by its incarnation
  std::int64_t pid = 0;
  std::int64_t start_time = 0;
  bool lock_visible = true;  // others can test its kernel lock
  std::int64_t lease_ms = 0;
  std::int64_t sessions_max = 0;               // its capacity, for transfers
  const std::string_view* handlers = nullptr;  // activity names it can run
  std::size_t handler_count = 0;
  TagFilter tags;
  // Not null: gets the dead incarnation of the same node and boot (0: none), and the caller must call
  // bury_worker(former, heir = the newcomer, its notes) in the same batch. Null: it is buried without
  // notes, so no crash is charged.
  Incarnation* former = nullptr;
};

struct WorkerRow {
  Incarnation incarnation = 0;
  FixedText<kNameBytesMax> node;
  std::int64_t pid = 0;
  std::int64_t start_time = 0;
  std::int64_t boot_seq = 0;
  bool lock_visible = true;
  std::int64_t locked_until = 0;
  bool draining = false;
};

// What a dead process was running, from its notes (crash charging). Zero members: nothing.
struct CrashNote {
  static constexpr InstanceKey kNotStored =
      -1;                    // the first turn of an instance that was no row yet
  InstanceKey instance = 0;  // a turn
  WorkItemId item = 0;       // an activity
};

// One event a change of a session or worker; reported in the batch, valid for people only after commit.
struct SessionChange {
  // kConflict: its work was scheduled with stricter properties than it had (`reason`). kStopFailed: work
  // that still runs kept it where it is. kEnding: its owner is about to let it go. kOpened, kRefused
  // (`reason`), kClosed (`reason`), kExpiring, kExpired, kNearLimit (`reason`), kUsed (the
  // first hand-over of an epoch): of sessions that orchestrations open.
  enum class Kind : std::uint8_t {
    kClaimed,
    kMigrated,
    kReleased,
    kLost,
    kSwept,
    kConflict,
    kStopFailed,
    kEnding,
    kOpened,
    kRefused,
    kClosed,
    kExpiring,
    kExpired,
    kNearLimit,
    kUsed,
    kLeak
  };
  Kind kind = Kind::kClaimed;
  std::string_view session;
  std::string_view instance;     // that opened it; empty: it is shared
  std::string_view owner_label;  // of SessionSettings
  std::string_view label_kind;   // SessionSettings::kind
  std::string_view reason;       // released, lost, refused, closed, expired, near its limit
  std::string_view from;         // migrated, lost, closed, expired: node
  std::string_view to;           // claimed, migrated, used: node
  Epoch epoch = 0;
  bool resumed = false;         // the same node took its own session back
  bool is_end = false;          // it counts as an end, once a session
  std::int64_t age_ms = 0;      // since it was opened, or made; swept: until its last activity
  std::int64_t activities = 0;  // handed over until then
};

// Where looks at sessions in the order of their opening go on; from the first, once more, after a rollback.
struct LeakCursor {
  std::int64_t created_at = kBeforeAll;
  SessionKey session = 0;
};
struct LeakCursors {
  LeakCursor unused;
  LeakCursor open;
};

class ChangeSink {
 public:
  virtual void on_session_change(const SessionChange& change) = 0;
  // A work item or instance reached a limit of CrashLimits and was failed.
  virtual void on_poison(InstanceKey instance, EventId event, std::string_view why) = 0;
  // No living worker has a handler of this name and serves the item's tag; it waits for one.
  virtual void on_unregistered(std::string_view /*activity*/, std::string_view /*tag*/,
                               InstanceKey /*instance*/, EventId /*event*/) {}
  // An instance was set aside.
  virtual void on_stranger(std::string_view /*name*/, std::string_view /*version*/,
                           std::int64_t /*behaviour*/, InstanceKey /*instance*/) {}
  // A row was quarantined. `instance`: the id of the one it belongs to; empty: nobody knows.
  virtual void on_damage(RowRef /*row*/, std::string_view /*instance*/, std::string_view /*text*/) {
  }
  // A detached start found an instance of its id.
  virtual void on_start_refused(std::string_view /*id*/, InstanceKey /*instance*/,
                                EventId /*event*/) {}

 protected:
  ~ChangeSink() = default;
};

// Events removed in one transaction; a longer execution is removed by itself.
inline constexpr std::size_t kSweepEventsMax = 4096;

// Which earlier executions stay: the last `keep_last`, the current one, which counts, in any case; from the
// first on that ended at `ended_before` (a stamp; 0: no limit) or later; and from the first on that has a child
// that has not ended.
struct PruneLimits {
  std::int64_t keep_last = 1;
  std::int64_t ended_before_ms = 0;
};

// Which ended trees go by themselves: those whose root ended at `ended_until` (Pawl time; none: no such limit) or before, and those
// beyond the `count_max` that ended last (0: no such limit).
struct Retention {
  OptionalMs ended_until;
  std::int64_t count_max = 0;
};

// What the database takes on its device.
struct SpaceUse {
  std::int64_t used_bytes = 0;  // pages in use
  std::int64_t free_bytes = 0;  // pages of the file to be used again
  std::int64_t log_bytes = 0;
  std::int64_t quota_bytes = 0;  // 0: none
  [[nodiscard]] std::int64_t total() const { return used_bytes + log_bytes; }
};

struct LogUse {
  std::int64_t bytes = 0;  // of its file
  std::int64_t most = 0;   // set_log_max(); 0: no limit
};

// Where a look at ended roots goes on.
struct EndedCursor {
  std::int64_t ended = kBeforeAll;
  InstanceKey key = 0;
};

struct IoUse {
  std::uint64_t flushes = 0;
  std::uint64_t bytes = 0;  // written, to database, log and journal
};

class Provider {
 public:
  // ---- life ----
  virtual Status open(const ProviderOptions& options, const port::Port& port,
                      Diagnostic& diagnostic) = 0;
  virtual void close() = 0;
  virtual void set_change_sink(ChangeSink* sink) = 0;
  // Text of the last failure of any call.
  [[nodiscard]] virtual const Diagnostic& diagnostic() const = 0;
  // Opaque 16-byte id of the database as 32 hex digits.
  [[nodiscard]] virtual std::string_view database_id() const = 0;

  // ---- transactions ----
  // kBusy after busy_ms_max; kBuried if `me` is not 0 and was buried by others (the batch is over).
  virtual Status begin(Incarnation me, BatchInfo* info) = 0;
  virtual Status commit() = 0;
  virtual void rollback() = 0;
  // Did the batch committed last write anything? One that did not costs no flush and rings no bell.
  [[nodiscard]] virtual bool last_commit_wrote() const = 0;
  // Did it put messages into instances' queues? Then there are turns to look for.
  [[nodiscard]] virtual bool last_commit_sent() const = 0;
  // Of all connections of this process over the same Storage, since the first of them was opened. What
  // the port does besides (the bell, the folder of a new file) is not in it.
  [[nodiscard]] virtual IoUse io_use() const = 0;
  // A consistent view for several reads; not nested, not inside a batch.
  virtual Status begin_read() = 0;
  virtual void end_read() = 0;
  // Rises when another connection committed (not by own commits). Cheap; outside of batches.
  virtual Result<std::int64_t> data_version() = 0;
  // Pawl time now by the row read last; only after the first begin().
  [[nodiscard]] virtual std::int64_t pawl_now() = 0;
  [[nodiscard]] virtual std::int64_t boot_ms_of(std::int64_t pawl_time) const = 0;

  // ---- clients: in a batch ----
  // kAlreadyExists, kInvalidArgument; kQuota: no room (set_space()).
  virtual Status create_instance(const NewInstance& instance, InstanceKey* key) = 0;
  // kNotFound; kStale if it has ended.
  virtual Status cancel_instance(std::string_view id, std::string_view reason) = 0;
  // kNotFound; kStale if it has ended; kInvalidArgument: the name. *room = false with kOk: refused for
  // its limits, nothing was written, the diagnostic has the numbers. kQuota: as above.
  virtual Status send_mail(const NewMail& mail, bool* room) = 0;
  // For mail that a turn takes without it ever being stored. Anywhere: who would get it (kNotFound; kStale
  // if it has ended) and the living worker that ran it last (0: none), and the highest number of a message so far.
  virtual Status find_instance(std::string_view id, InstanceKey* key, Incarnation* home) = 0;
  virtual Status last_message(MessageId* number) = 0;
  // The `count` numbers behind `last` are given to nobody else. kStale: others stored messages since
  // last_message(); kQuota: as above.
  virtual Status reserve_messages(MessageId last, std::size_t count) = 0;
  // Reads; anywhere. Output and custom status together longer than `capacity`: kResourceExhausted.
  virtual Status read_status(std::string_view id, InstanceStatus* out, char* buffer,
                             std::size_t capacity) = 0;

  // Reads; anywhere. Without a value *found is false. kNotFound: the instance. A value longer than
  // `capacity`: kResourceExhausted.
  virtual Status read_value(std::string_view id, std::string_view key, KvEntry* out, bool* found,
                            char* buffer, std::size_t capacity) = 0;
  // Values with keys behind page->after, in order of their keys. kNotFound: the instance.
  virtual Status list_values(std::string_view id, KvPage* page, KvVisitor& visitor) = 0;

  // ---- orchestration items ----
  // Outside of batches: candidates, oldest message first, mine and unowned before others'.
  virtual Status list_ready(const ReadyQuery& query, InstanceKey* out, std::size_t capacity,
                            std::size_t* count) = 0;
  // In a batch: out of the way of those that cannot run it, until its next turn. Its timers that are due
  // become messages. Whoever can run it finds it as before. Of a parked one nothing but the timers is
  // touched. Nothing happens if the query's caller can run it by now, or if it has ended.
  virtual Status set_aside(InstanceKey key, const ReadyQuery& query) = 0;
  // Messages go to `arena`, of which they leave half if they can; at most `messages_max` besides those that
  // wait on. kNotFound: it is gone.
  // kResourceExhausted with more_messages: those that wait on do not fit, or not one of the others; the
  // rest of *out is good.
  virtual Status fetch_orchestration_item(InstanceKey key, std::int64_t now,
                                          std::size_t messages_max, Arena& arena,
                                          OrchestrationItem* out) = 0;
  // Events after `after`, in order. kCorrupt with a diagnostic that names the row. The views given to
  // the sink end with its call.
  virtual Status load_history(InstanceKey key, ExecutionId execution, EventId after,
                              EventSink& sink) = 0;
  // What the executions before this one left: the custom status, then values in order of their keys. Views
  // and kCorrupt as above.
  virtual Status load_state(InstanceKey key, ExecutionId execution, StateSink& sink) = 0;
  // In a batch. kStale: revision, messages, due times or tokens are not what the turn saw: nothing
  // of this turn was written.
  virtual Status ack_orchestration_item(const TurnCommit& turn) = 0;
  // In a batch: nobody looks at it before `delay_ms` passed; kStoppedForGood: until retry_stopped().
  // Its messages, history and timers stay, new messages are accepted; read_status() shows `why` and
  // `text` (at most kErrorTextBytesMax, cut) until its next turn. kStale: another was first.
  static constexpr std::int64_t kStoppedForGood = -1;
  virtual Status abandon_orchestration_item(InstanceKey key, std::int64_t revision,
                                            std::int64_t delay_ms, bool strike, ErrorKind why,
                                            std::string_view text) = 0;
  // In a batch: as to stop it for good with kCorrupt, of one that fetch_orchestration_item() called broken; nothing
  // that its row says of itself counts. kStale: it was parked since.
  virtual Status stop_broken(InstanceKey key, std::string_view text) = 0;
  // In a batch: stopped instances get another chance (new code was started); bounded.
  virtual Status retry_stopped(std::size_t limit, std::size_t* retried) = 0;

  // ---- work items: in a batch ----
  // The lowest id this worker may take; claims its session. *found = false: none. Views go to buffer.
  virtual Status fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity,
                                 WorkItem* out, bool* found) = 0;
  // Makes items ready, at most `limit`, that waited for a worker that has their names and serves their tags, as
  // `me` does by its registration; of a device only if `me` has it. Goes on where the last call ended; from the
  // beginning after a registration or a rollback. *more = false: there are none, and none will come, since
  // what somebody living can run does not wait. The calls look at a bounded number of rows.
  virtual Status wake_unregistered(Incarnation me, std::size_t limit, std::size_t* woken,
                                   bool* more) = 0;
  // Rises whenever this connection may have made an item ready for somebody.
  [[nodiscard]] virtual std::int64_t made_ready() const = 0;
  // kOk: the token and epoch are current. Nothing is written. A cancelled item that is kept until its
  // execution ends (exclusive sessions) is kStale here; acknowledging or abandoning it removes it.
  virtual Status check_work_item(const WorkDone& done) = 0;
  // Deletes the item and stores its completion as a message of its instance. A failure that its policy
  // repeats (kApplication, not permanent, attempts left) puts it back for later instead.
  virtual Status ack_work_item(const WorkDone& done, const WorkResult& result) = 0;
  virtual Status abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                                   const CrashLimits& limits) = 0;
  // Keeps what the execution told, and that it was alive at `at`. Empty progress: as it was. kStale: lost.
  virtual Status note_progress(const WorkDone& done, std::string_view progress,
                               std::int64_t at) = 0;
  // Also renews the item's session if it is mine at this epoch. kStale: the execution is lost. A kept
  // cancelled item answers kOk and keeps its lock: check_work_item() tells.
  virtual Status renew_work_item_lock(const WorkDone& done, Incarnation me,
                                      const SessionOptions& options) = 0;

  // ---- sessions: in a batch ----
  // Renews what `me` owns, releases what is idle. `revive`: expired but untaken leases too.
  virtual Status renew_session_lock(Incarnation me, const SessionOptions& options, bool revive,
                                    std::size_t* renewed, std::size_t* released) = 0;
  // Makes a shared session, if there is none, and claims it, if nobody owns it; it is no device, and there
  // is room.
  virtual Status claim_session(Incarnation me, std::string_view session,
                               const SessionOptions& options) = 0;
  // An orderly stop begins: the instances that asked for it are told of their sessions here. Adds to *told.
  virtual Status announce_stop(Incarnation me, std::size_t* told) = 0;
  virtual Status cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                           std::size_t* removed) = 0;
  // Sessions that instances opened so long ago, as the options have it; bounded, each told once
  // (SessionChange::kLeak, with `reason`).
  virtual Status tell_leaks(const SessionOptions& options, LeakCursors* cursors) = 0;
  // `me` holds the device from here on: its session, made if absent, is this worker's alone. A worker
  // that owns it meanwhile with work running keeps it until that ends, at most `stop_ms`. kDeviceHeld if
  // a living worker has declared it (the diagnostic names it); with `standby` it is then noted instead
  // (*held = false), to follow when the holder is gone. Again by the holder: nothing changes.
  virtual Status declare_session(const DeclareSession& declare, Evidence& evidence, bool* held) = 0;
  // kNotFound: not declared by `me`. A holder's running work is waited for, at most `stop_ms`; if work of
  // an exclusive session then still runs, the declaration stands again (SessionChange::kStopFailed).
  virtual Status withdraw_session(Incarnation me, std::string_view device,
                                  std::int64_t stop_ms) = 0;
  // Reads; anywhere. kNotFound: not declared by `me`, or withdrawn; *withdrawing: not yet.
  virtual Status read_declaration(Incarnation me, std::string_view device, bool* withdrawing) = 0;
  // Where `me` is a standby and the holder is gone, it is the holder now.
  virtual Status take_devices_over(Incarnation me, const SessionOptions& options,
                                   Evidence& evidence) = 0;
  // The row of a device that nobody declares and nothing waits for. kNotFound; kStillRunning.
  virtual Status forget_device(std::string_view device) = 0;
  // Moves a session to the living worker of this node, or away from its owner (empty): nothing is handed
  // over any more, and when nothing of it runs it moves. After `stop_ms` it moves with work running
  // (whose results are then refused) if it is not exclusive or `force`; otherwise it stays
  // (SessionChange::kStopFailed). kNotFound: no such session; kNoEligibleTarget.
  // An empty `instance`: of the shared ones; else one that this instance opened.
  virtual Status transfer_session(std::string_view instance, std::string_view session,
                                  std::string_view node, std::int64_t stop_ms, bool force) = 0;
  // The execution of `hung`, whose result nobody wants, does not come back. If `me` owns its session as
  // it did then, that moves away as with transfer_session(), a device to a standby; *moves is false if it
  // stays: an exclusive one, whose activity could still do what it was told to, or nobody has the device.
  virtual Status evict_session(const WorkDone& hung, SessionKey session, Incarnation me,
                               bool* moves) = 0;
  // The worker claims nothing any more, and its sessions move away as above; devices only to a standby.
  virtual Status drain_worker(std::string_view node, std::int64_t stop_ms) = 0;
  // What `me` owns; those beyond `capacity` are left out.
  virtual Status owned_sessions(Incarnation me, OwnedSession* out, std::size_t capacity,
                                std::size_t* count) = 0;
  // Of those of `me`: with work in the queue, and without.
  virtual Status count_sessions(Incarnation me, std::uint32_t* active, std::uint32_t* idle) = 0;
  // Reads; anywhere. Is it still this opening of the session, and open?
  virtual Status session_lives(SessionKey session, std::int64_t generation, bool* lives) = 0;
  // The last epoch that was given out: as long as it stands, no session changed its owner.
  virtual Status last_epoch(Epoch* epoch) = 0;
  // Ends the stops of sessions for which it is time; bounded. Adds to *ended.
  virtual Status end_stops(std::size_t limit, std::size_t* ended) = 0;
  // Delayed items and parked instances whose time came, and items past a limit of their policy: these
  // get kTimeout, or their next attempt; work of absent devices; sessions that somebody must look at;
  // bounded.
  virtual Status wake_delayed(std::size_t limit, std::size_t* woken) = 0;

  // ---- workers: in a batch ----
  // kNodeIdInUse (the diagnostic has the pid) unless the node's former incarnation is gone by proof,
  // or by suspicion for two leases; its sessions go to the newcomer (NewWorker::former). kForeignBoot:
  // an earlier boot's lock is held. All other workers of earlier boots are buried here. Both refusals
  // write nothing. Take the newcomer's worker lock before the commit: who is registered and holds no
  // lock is dead.
  virtual Status register_worker(const NewWorker& worker, Evidence& evidence,
                                 const CrashLimits& limits, Incarnation* out) = 0;
  virtual Status renew_worker(Incarnation me, std::int64_t lease_ms) = 0;
  // Sessions to `heir` (0: unowned), locks to ready, crashes charged, once. Notes may be empty. One of
  // CrashNote::kNotStored sets BatchInfo::starts_apart for an hour.
  virtual Status bury_worker(Incarnation incarnation, Incarnation heir, const CrashNote* notes,
                             std::size_t note_count, const CrashLimits& limits) = 0;
  // Orderly end: releases all sessions and the row.
  virtual Status unregister_worker(Incarnation me) = 0;
  // Living registrations; anywhere.
  virtual Status list_workers(WorkerRow* out, std::size_t capacity, std::size_t* count) = 0;

  // ---- management ----
  // Reads; anywhere.
  virtual Status list_instances(const InstanceFilter& filter, Page* page,
                                InstanceVisitor& visitor) = 0;
  // `of` and all others of its tree, or only its own children, by key; anywhere.
  virtual Status list_tree(InstanceKey of, bool children_only, Page* page,
                           InstanceVisitor& visitor) = 0;
  // One of this id; kNotFound.
  virtual Status read_instance_info(std::string_view id, InstanceVisitor& visitor) = 0;
  // kNotFound.
  virtual Status read_instance_stats(std::string_view id, InstanceStats* out) = 0;
  virtual Status list_executions(InstanceKey key, ExecutionVisitor& visitor) = 0;
  virtual Status list_activities(InstanceKey key, ExecutionId execution,
                                 ActivityVisitor& visitor) = 0;
  virtual Status read_metrics(Metrics* out) = 0;
  // In a batch, for its time.
  virtual Status list_sessions(const SessionFilter& filter, Page* page,
                               SessionVisitor& visitor) = 0;
  // Likewise one, of an instance, or shared (empty). kNotFound.
  virtual Status read_session(std::string_view instance, std::string_view session,
                              SessionVisitor& visitor) = 0;
  // In a batch: closes one that an instance opened, for somebody else than its code. `owner_label`: who, and
  // must be the session's (kNotOwner); empty: an administrator. kNotFound. Told to the sink of whoever
  // calls wake_delayed() next.
  virtual Status end_session(std::string_view instance, std::string_view session,
                             std::string_view owner_label) = 0;
  // In a batch. kNotFound; kStale: it has ended. The next turn must end the instance: what was fetched
  // before is stale, and fetch_orchestration_item() says so.
  virtual Status terminate_instance(std::string_view id, std::string_view reason) = 0;
  // In a batch. kNotFound; kStale: it has ended or is being terminated.
  virtual Status suspend_instance(std::string_view id) = 0;
  // In a batch; also of a stopped one. kNotFound; kStale: it has ended.
  virtual Status resume_instance(std::string_view id) = 0;
  // In a batch: removes earlier executions with the children they started, oldest first. Bounded by
  // events, but for one execution; `more`: call again. Adds to *removed. kNotFound.
  virtual Status prune_executions(InstanceKey key, const PruneLimits& limits,
                                  std::size_t events_max, Removed* removed, bool* more) = 0;
  // In a batch: from its commit on the whole tree is there for nobody, and no turn or result of it is
  // accepted; its rows and ids go with sweep_deleted(). kNotFound; kChildInstance: it is no root;
  // kStillRunning: it, or one below it, has not ended, and no `force`.
  virtual Status delete_instance(InstanceKey key, bool force) = 0;
  // In a batch: as delete_instance(), of ended trees, in order of their end behind the cursor. Looks at
  // a bounded number; `more`: call again. Without more, *next_end is when the first that stays ended.
  virtual Status delete_ended(const Retention& which, EndedCursor* cursor, OptionalMs* next_end,
                              bool* more) = 0;
  // In a batch: removes rows of deleted trees, whosever; bounded by events. Adds to *removed.
  virtual Status sweep_deleted(std::size_t events_max, Removed* removed, bool* more) = 0;

  // ---- the room it takes ----
  // Anywhere.
  virtual Status read_use(SpaceUse* out) = 0;
  // In a batch, for all processes: create_instance() and send_mail() answer kQuota while more than the quota is
  // used (0: no limit), or while the reserve is missing and there are fewer bytes in free pages than it has. -1: as
  // it is.
  virtual Status set_space(std::int64_t quota_bytes, std::int64_t reserve_bytes) = 0;
  // In a batch: removes what is complete, the oldest first: ended trees, then earlier executions. Bounded as
  // a sweep is; nothing counted: there is nothing more.
  virtual Status remove_oldest(std::size_t events_max, Removed* removed) = 0;
  // In a batch, for all processes: create_instance() and send_mail() answer kQuota while the log is longer.
  virtual Status set_log_max(std::int64_t bytes) = 0;
  // Anywhere; cheap.
  [[nodiscard]] virtual LogUse log_use() = 0;
  // There should be a reserve, and is none; anywhere.
  virtual Result<bool> reserve_missing() = 0;
  // The rest not in a batch or view. Makes the file of the reserve unless it is there; what could not be made
  // whole is removed. 0: there is to be none.
  virtual Status make_reserve(std::int64_t bytes) = 0;
  virtual Status release_reserve() = 0;
  // Writes the log back and cuts it to nothing. kBusy, at once: others read or write; then as much of it was
  // written back as they allow.
  virtual Status empty_log() = 0;
  // With checkpoint_apart: writes the log back, if it is as long as checkpoint_pages; as much of it as others
  // who read allow. What fails is tried again when the log has grown.
  virtual Status write_back_log() = 0;

  // ---- time ----
  // `turns`: also what only a worker that runs orchestrations can do (timers, parked instances).
  virtual Status next_due(Incarnation me, bool turns, NextDue* out) = 0;

  // ---- damage ----
  // kCorrupt: a table has no keys left for new rows, since one row has the highest that there is. SQLite says the
  // same of it as of a full disk. The diagnostic names the table.
  virtual Status check_keys() = 0;
  // The row that a call since the last take_damage() could not work with. As long as it is not taken, commit()
  // answers kCorrupt.
  virtual std::optional<Damage> take_damage() = 0;
  // In a batch: takes the row out of the way, so that all others go on. An instance, or that of a message, stops;
  // work fails; a session is nobody's. ChangeSink::on_damage() names it.
  virtual Status quarantine(const Damage& damage) = 0;

 protected:
  ~Provider() = default;
};

}  // namespace pawl

#endif  // PAWL_PROVIDER_PROVIDER_HPP
