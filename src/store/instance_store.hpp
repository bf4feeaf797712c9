// InstanceStore: instances, their messages, history and values, and the turns they wait for.
//
// Purpose: holds what a client makes and reads of one instance, and what the loop fetches and
// commits for one turn. The storage keeps bytes and indices, never meaning. Ownership: views handed
// in must live until the call returns; views handed out live in the buffer that the caller gave.
// Thread rule: as store.hpp.
#ifndef PAWL_STORE_INSTANCE_STORE_HPP
#define PAWL_STORE_INSTANCE_STORE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "arena.hpp"
#include "clock_rules.hpp"
#include "event.hpp"
#include "ids.hpp"
#include "pawl/error.hpp"
#include "pawl/management.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/status.hpp"
#include "text.hpp"
#include "turn_commit.hpp"

namespace pawl {

// kStopped: the code does not match the history, or a row is damaged; nothing is lost, and the
// instance goes on when the reason is gone. kSuspended: by an operator, until resume_instance().
enum class InstanceState : std::uint8_t {
  kRunning = 0,
  kCompleted = 1,
  kFailed = 2,
  kStopped = 3,
  kSuspended = 4,
  kDeleted = 5,  // a root whose tree no call sees any more, and that is swept
};

// An empty version means none yet: the first turn sets it.
struct NewInstance {
  std::string_view id;
  std::string_view name;
  std::string_view version;
  std::string_view input;
  std::string_view trace;           // empty: none
  std::int64_t start_after_ms = 0;  // how long it is parked before its first turn
  // This very batch acknowledges its first turn, without messages: no start message is stored.
  bool with_turn = false;
};

// The most messages from outside that one instance may have and no turn took, and the most bytes of
// their names and payloads. 0: unknown.
struct MailboxLimits {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

// The state in which an instance is left after its turn was given up.
struct Parking {
  // Implicit, since most callers have nothing but a delay to say.
  Parking(std::int64_t for_ms) : delay_ms(for_ms) {}  // NOLINT(google-explicit-constructor)
  Parking(OptionalMs for_ms) : delay_ms(for_ms) {}    // NOLINT(google-explicit-constructor)
  OptionalMs delay_ms;                 // no worker looks at it before; none: stopped for good
  std::optional<MailboxLimits> needs;  // workers with lower limits leave its next turn to others
};

// A message from outside, for the mailbox.
struct NewMessage {
  std::string_view id;  // the instance's
  MessageKind kind = MessageKind::kEvent;
  std::string_view name;
  std::string_view payload;
  // The message is refused if the instance would then have more than `count_max` messages of both
  // kinds that no turn took, or if those held more than `bytes_max` bytes of names and payloads;
  // and also beyond what the runtimes of the database take (NewWorker::mailbox).
  std::size_t count_max = 0;
  std::size_t bytes_max = 0;
  MessageId number = 0;  // one of those reserved in this batch; 0: the next one
};

// A stored offer: where to look for its outcome.
struct SentOffer {
  InstanceKey key = 0;
  MessageId number = 0;
  ExecutionId execution = 0;  // the execution it was sent to, and the last event that execution had
  EventId last_event = 0;
};

struct InstanceStatus {
  InstanceState state = InstanceState::kRunning;
  InstanceKey key = 0;
  ExecutionId execution = 0;
  std::int64_t revision = 0;
  ErrorKind error = ErrorKind::kNone;
  std::string_view output;      // result or error text; a view into the caller's buffer
  std::int64_t created_ms = 0;  // stamps
  std::int64_t updated_ms = 0;
  std::string_view custom_status;          // empty: none; a view into the caller's buffer
  std::int64_t custom_status_version = 0;  // how often it was set or reset
  std::int64_t unread_messages = 0;
};

// One kind of execution that a process can run.
struct Runnable {
  std::string_view name;
  std::string_view version;    // empty: an execution that has none yet
  std::int64_t behaviour = 0;  // the engine's that began it; 0: it has not begun
};

// Instances that stand in a list before others and that its caller cannot run.
struct UnregisteredInstances {
  static constexpr std::size_t kMax = 64;
  // To be marked as unregistered: a worker that can run them had time to take them, or they are
  // many, or they are parked and have timers that are due.
  InstanceKey keys[kMax] = {};
  std::size_t count = 0;
  bool more = false;   // list again at once
  OptionalMs look_at;  // Pawl time to list again, since some instances are young
};

struct ReadyQuery {
  Incarnation me = 0;
  std::int64_t home_grace_ms = 2000;
  std::int64_t now = 0;               // Pawl time by the reader's clock; the commit checks it again
  const InstanceKey* skip = nullptr;  // keys that are being worked on already
  std::size_t skip_count = 0;
  MailboxLimits mailbox;               // the caller's; it cannot run an instance that needs more
  const Runnable* runnable = nullptr;  // those the caller can run; null: all
  std::size_t runnable_count = 0;
  UnregisteredInstances* unregistered = nullptr;  // gets those it cannot run; may be null
};

// How many messages a turn reads besides those that it always reads.
struct MessageLimits {
  std::size_t messages_max = 0;
  // The number of raised events and queue messages that are read, those that wait on included, no
  // matter how many other messages are read and how much memory that leaves; 0: they count like the
  // others.
  std::size_t mailbox_max = 0;
};

struct OrchestrationItem {
  InstanceKey key = 0;
  FixedText<kNameBytesMax> id;
  FixedText<kNameBytesMax> name;
  FixedText<kNameBytesMax> version;
  FixedText<kTraceIdBytesMax> trace;  // empty: none
  std::int64_t behaviour = 0;         // see Runnable
  ExecutionId execution = 0;
  std::int64_t revision = 0;
  EventId last_event = 0;  // last one of the current execution
  std::int32_t crashes = 0;
  std::int32_t strikes = 0;
  std::int32_t reboots = 0;
  // In the given arena: the start of an execution, then those that wait on, then new or due ones.
  Message* messages = nullptr;
  std::size_t message_count = 0;
  // How many of `messages` begin the execution, and how many wait on since an earlier turn. None of
  // these is ever left out.
  std::size_t beginning_count = 0;
  std::size_t waiting_count = 0;
  bool more_messages = false;  // there are more new or due ones
  bool has_parent = false;
  // A stored row cannot be read: the instance stops with this text.
  Status broken = Status::kOk;
  std::string_view broken_text;  // at most kErrorTextBytesMax, in the given arena
  // An operator terminates it, with the reason in broken_text: no messages were read, and nothing
  // else can be committed.
  bool terminate = false;
};

class EventSink {
 public:
  // Called before the first event, with the id of the execution's last event; 0: none. Any answer
  // other than kOk, here and below, ends the reading and becomes its answer.
  virtual Status on_begin(std::int64_t /*last*/) { return Status::kOk; }
  virtual Status on_event(const Event& event) = 0;

 protected:
  ~EventSink() = default;
};

class StateSink {
 public:
  // An empty key means the custom status.
  virtual Status on_value(std::string_view key, std::string_view value,
                          std::int64_t updated_ms) = 0;

 protected:
  ~StateSink() = default;
};

struct NextDue {
  OptionalMs pawl_time;          // earliest due work of any kind
  bool waiting_for_utc = false;  // a UTC timer waits and there is no trusted UTC offset
};

class InstanceStore {
 public:
  // ---- clients: in a batch ----
  // kAlreadyExists, kInvalidArgument; kQuota: no room (set_space()).
  virtual Status create_instance(const NewInstance& instance, InstanceKey* key) = 0;
  // kNotFound; kStale if it has ended.
  virtual Status cancel_instance(std::string_view id, std::string_view reason) = 0;
  // The same by key, for the instances of a list. *asked = false with kOk: it is gone, has ended,
  // or a cancel request waits for it already.
  virtual Status cancel_instance(InstanceKey key, std::string_view reason, bool* asked) = 0;
  // kNotFound; kStale if it has ended; kInvalidArgument: the name. *room = false with kOk: it was
  // refused for its limits, nothing was written, and the diagnostic has the numbers. kQuota: as
  // above.
  virtual Status send_message(const NewMessage& posted, bool* room) = 0;
  // The same for a message of kind kOffer.
  virtual Status send_offer(const NewMessage& posted, bool* room, SentOffer* out) = 0;
  // Callable anywhere. *waits: no turn has taken it yet. History shows what the turn made of it: a
  // delivery with its number, or none.
  virtual Status is_offer_waiting(const SentOffer& offer, bool* waits) = 0;
  // In a batch: takes the offer back. *withdrawn is false if a turn has taken it.
  virtual Status withdraw_offer(const SentOffer& offer, bool* withdrawn) = 0;
  // For messages that a turn takes and that are never stored. Callable anywhere. find_instance()
  // gives the receiver (kNotFound; kStale if it has ended) and the living worker that ran it last
  // (0: none); last_message() gives the highest number of a message so far and the limits in force.
  virtual Status find_instance(std::string_view id, InstanceKey* key, Incarnation* home) = 0;
  virtual Status last_message(MessageId* number, MailboxLimits* limits) = 0;
  // Reserves the `count` numbers behind `last`: if this batch writes something, no other connection
  // gets them. kStale: others took numbers since last_message(), or other limits are in force;
  // kQuota: as above.
  virtual Status reserve_messages(MessageId last, std::size_t count) = 0;
  // A read; callable anywhere. kResourceExhausted: output and custom status together are longer
  // than `capacity`.
  virtual Status read_status(std::string_view id, InstanceStatus* out, char* buffer,
                             std::size_t capacity) = 0;

  // A read; callable anywhere. Gives the id, and whether no worker that looked for work could run
  // the instance (`unregistered` may be null). kNotFound: it is gone.
  virtual Status read_id(InstanceKey key, FixedText<kNameBytesMax>* id, bool* unregistered) = 0;
  // A read; callable anywhere. *found is false if there is no value. kNotFound: the instance.
  // kResourceExhausted: the value is longer than `capacity`.
  virtual Status read_value(std::string_view id, std::string_view key, KvEntry* out, bool* found,
                            char* buffer, std::size_t capacity) = 0;
  // Lists values with keys behind page->after, in order of their keys. kNotFound: the instance.
  virtual Status list_values(std::string_view id, KvPage* page, KvVisitor& visitor) = 0;

  // ---- orchestration items ----
  // Outside of batches: lists candidates, the oldest message first, those of `me` and unowned ones
  // before others'.
  virtual Status list_ready(const ReadyQuery& query, InstanceKey* out, std::size_t capacity,
                            std::size_t* count) = 0;
  // In a batch: moves the instance out of the way of workers that cannot run it, until its next
  // turn. Its due timers become messages. A worker that can run it finds it as before. If it is
  // parked, only its timers are touched. Nothing happens if the query's caller can run it by now,
  // or if it has ended.
  virtual Status mark_unregistered(InstanceKey key, const ReadyQuery& query) = 0;
  // Messages go to `arena`, of which they leave half free if they can: the start, a cancel request
  // that was handed on, those that wait on, and as many others as the limits say. kNotFound: it is
  // gone. kResourceExhausted with more_messages: those that wait on do not fit, or not even one of
  // the others; the rest of *out is valid.
  virtual Status fetch_orchestration_item(InstanceKey key, std::int64_t now,
                                          const MessageLimits& limits, Arena& arena,
                                          OrchestrationItem* out) = 0;
  // Gives events after `after`, in order. kCorrupt with a diagnostic that names the row. The views
  // given to the sink end with its call.
  virtual Status load_history(InstanceKey key, ExecutionId execution, EventId after,
                              EventSink& sink) = 0;
  // Gives what the executions before this one left: the custom status, then values in order of
  // their keys. Views and kCorrupt as above.
  virtual Status load_state(InstanceKey key, ExecutionId execution, StateSink& sink) = 0;
  // In a batch. Nothing of this turn was written if the answer is kStale (revision, messages, due
  // times or tokens are not those the turn saw) or kStillRunning (the end waits for messages,
  // read_up_to).
  virtual Status ack_orchestration_item(const TurnCommit& turn) = 0;
  // In a batch: parks the instance; with kStoppedForGood until retry_stopped(). Its messages,
  // history and timers stay, and new messages are accepted; read_status() shows `why` and `text`
  // (cut to kErrorTextBytesMax) until its next turn. kStale: another worker was first.
  static constexpr OptionalMs kStoppedForGood = OptionalMs();
  virtual Status abandon_orchestration_item(InstanceKey key, std::int64_t revision,
                                            const Parking& parking, bool strike, ErrorKind why,
                                            std::string_view text) = 0;
  // In a batch: stops for good, with kCorrupt, an instance that fetch_orchestration_item() called
  // broken. No column of its row is trusted. kStale: it was parked since.
  virtual Status stop_broken(InstanceKey key, std::string_view text) = 0;
  // In a batch: gives stopped instances another chance, since new code was started; bounded.
  virtual Status retry_stopped(std::size_t limit, std::size_t* retried) = 0;

  // ---- time ----
  // `turns`: includes what only a worker that runs orchestrations can do (timers, parked
  // instances).
  virtual Status next_due(Incarnation me, bool turns, NextDue* out) = 0;

 protected:
  ~InstanceStore() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_INSTANCE_STORE_HPP
