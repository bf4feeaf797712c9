// Arguments and answers of the calls about instances, their messages, turns and values.
//
// Ownership: views handed in must live until the call returns; views handed out live in the buffer
// that the caller gave. Thread rule: as store.hpp.
#ifndef PAWL_STORE_INSTANCE_ARGUMENTS_HPP
#define PAWL_STORE_INSTANCE_ARGUMENTS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/event.hpp"
#include "core/arena.hpp"
#include "core/clock_rules.hpp"
#include "core/ids.hpp"
#include "core/text.hpp"
#include "pawl/client_options.hpp"
#include "pawl/error.hpp"
#include "pawl/management.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/session.hpp"
#include "pawl/status.hpp"
#include "store/instance/turn_commit.hpp"

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
  OptionalMs time_limit_ms;         // behind start_after_ms; none: that of its definition
  // This very batch acknowledges its first turn, without messages: no start message is stored.
  bool with_turn = false;
};

// How an id in use is treated.
struct IdInUse {
  IfRunning if_running = IfRunning::kRefuse;
  IfEnded if_ended = IfEnded::kRefuse;
};

// The most messages from outside that one instance may have and no turn took, and the most bytes of
// their names and payloads. 0: unknown.
struct MailboxLimits {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

// For Parking::delay_ms: until retry_stopped().
inline constexpr OptionalMs kStoppedForGood = OptionalMs();

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
  MessageId number = 0;       // one of those reserved in this batch; 0: the next one
  bool has_call_row = false;  // of a call: it was made in this batch
  // A message with a key that the instance knows is not sent again; empty: none.
  std::string_view key = {};
  // The instance to start if there is none, or if it has ended; null: none. Its id is not used.
  const NewInstance* start_if_ended = nullptr;
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
  OptionalMs look_at;  // Pawl time to list again: until then some are left to others
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
  // A stored row cannot be read: the instance stops with this text.
  Status broken = Status::kOk;
  std::string_view broken_text;  // at most kErrorTextBytesMax, in the given arena
  // An operator terminates it, with the reason in broken_text: no messages were read, and nothing
  // else can be committed.
  bool terminate = false;
  KnownInstance known;
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

// The earlier executions that a prune keeps: the last `keep_last`, where the current one counts;
// all from the first one on that ended at `ended_before` (a stamp; 0: no limit) or later; and all
// from the first one on that has a child that has not ended.
struct PruneLimits {
  std::int64_t keep_last = 1;
  std::int64_t ended_before_ms = 0;
};

struct Restart {
  std::string_view id;
  RestartFrom from = RestartFrom::kStart;
  std::string_view by;       // a name
  std::string_view version;  // for kStart; empty: the default version
};

}  // namespace pawl

#endif  // PAWL_STORE_INSTANCE_ARGUMENTS_HPP
