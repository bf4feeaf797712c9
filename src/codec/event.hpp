// Event and Message: the decoded forms of stored rows, and their JSON meta.
//
// Purpose: history rows keep small integers in columns, payloads as raw bytes in their own column,
// and everything else as one JSON text, `meta`, so that the sqlite3 shell shows it. Payload bytes
// never pass through cJSON. Ownership: views point into memory of the caller that filled the struct
// in.
// Thread rule: plain values.
#ifndef PAWL_CODEC_EVENT_HPP
#define PAWL_CODEC_EVENT_HPP

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.hpp"
#include "core/text.hpp"
#include "pawl/error.hpp"
#include "pawl/kv.hpp"
#include "pawl/status.hpp"

namespace pawl {

// Stored: never reuse a number. Command events carry (branch, ordinal); completions refer to a
// command.
enum class EventKind : std::uint8_t {
  kStarted = 1,
  kActivity = 2,
  kTimer = 3,
  kWait = 4,
  kDequeue = 5,
  kChild = 6,
  kDetached = 7,
  kGuid = 8,
  kUtcNow = 9,
  kStateWrite = 10,
  kCustomStatus = 11,
  kSessionOpen = 12,
  kSessionClose = 13,
  kBranchOpened = 14,
  kClose = 15,
  kValueRead = 16,
  kSessionHold = 17,
  kSessionHandoff = 18,
  kSessionCheck = 19,
  kSessionSettings = 20,
  kEnqueueEvent = 21,
  kRaiseEvent = 22,
  kStartIfEnded = 23,
  kReply = 24,
  kActivityDone = 32,
  kTimerFired = 33,
  kChildDone = 34,
  kDelivery = 35,
  kValueAnswer = 36,
  kReturn = 48,
  kCancelRequested = 49,
  kEnded = 50,
};
[[nodiscard]] const char* event_kind_name(EventKind kind);
[[nodiscard]] bool is_command(EventKind kind);
[[nodiscard]] bool is_completion(EventKind kind);
// Commands that a completion event may refer to.
[[nodiscard]] bool can_complete(EventKind kind);
[[nodiscard]] bool needs_name(EventKind kind);
// Messages to an instance: kEnqueueEvent, kRaiseEvent.
[[nodiscard]] bool is_send(EventKind kind);
// Commands on a session, which the commit of their turn carries out.
[[nodiscard]] bool is_of_session(EventKind kind);

inline constexpr ErrorKind kErrorKindLast = ErrorKind::kBadPayload;  // the last one read

// How an execution ended; stored in the end event.
enum class EndKind : std::uint8_t { kNone = 0, kCompleted = 1, kFailed = 2, kContinuedAsNew = 3 };
[[nodiscard]] const char* end_kind_name(EndKind kind);

enum class TimerBase : std::uint8_t { kPawlTime = 0, kUtc = 1 };

// The first behaviour of the engine under which a cancel request stays (R8.3) and is handed on with
// its instance (R8.7). Before, each branch got one answer.
inline constexpr std::int64_t kBehaviourOfStickyCancel = 2;

struct Event {
  EventId id = 0;
  EventKind kind = EventKind::kStarted;
  // Completions and failed ends; payload is the error's text. kStarted by a restart: kCancelled if
  // the cancel request of the previous execution is handed on, kClosed if the restart revoked it.
  ErrorKind error = ErrorKind::kNone;
  EndKind end = EndKind::kNone;           // for kEnded
  TimerBase base = TimerBase::kPawlTime;  // for kTimer
  BranchId branch = 0;                    // for commands
  Ordinal ordinal = 0;                    // for commands
  // Completions: the command; kReturn: the delivery; kStarted of an execution that goes on from the
  // last good event of another one: the execution number that its code sees.
  EventId ref = 0;
  std::int64_t time_ms = 0;  // stamp shown to people (T9)
  // kTimer: delay or UTC in ms; kClose: ordinal of the target; kBranchOpened: number of the branch;
  // kDelivery, kReply: message number, 0: there is none; kDequeue: 1: must not wait; kStateWrite:
  // 1: clears; kUtcNow: the time; kStarted: behaviour of the engine; kSessionHold: how long, in ms;
  // kSessionClose, kSessionCheck: 1: a shared session; kSessionSettings: 1: a session that this
  // instance opened; kEnqueueEvent, kRaiseEvent: 1: its code waits for the answer; kStartIfEnded:
  // how long the first turn waits, in ms.
  std::int64_t number = 0;
  EventId horizon = 0;              // kClose, kEnded; kStarted: where continue-as-new gets due
  std::uint64_t argument_hash = 0;  // commands, over all arguments but the name
  std::uint64_t path_hash = 0;  // commands and kEnded: awaits and selects since the last command
  std::string_view name;        // commands; kStarted: the orchestration's name
  // kActivity on a session: its id; kChild, kDetached: the requested id; kValueRead: the instance
  // that is read; kEnqueueEvent, kRaiseEvent, kStartIfEnded: the instance that gets the message;
  // kSessionOpen, kSessionSettings: the owner label; kSessionCheck: the instance that opened the
  // session.
  std::string_view session;
  std::string_view policy;  // policy.hpp; for kActivity and session commands; empty: defaults
  // kActivity, kSessionHandoff: the tag; kSessionOpen, kSessionSettings: the session's kind;
  // kEnqueueEvent, kRaiseEvent: the key of the message; kStartIfEnded: the trace id; kDelivery of a
  // kCall: kCallMark; kStarted: who restarted the instance, if that began the execution.
  std::string_view tag;
  // kStarted: the orchestration's version; kChild, kDetached, kStartIfEnded, kEnded: the requested
  // one, empty: the default. kActivity: not a version but the instance that opened its session, if
  // another one did.
  std::string_view version;
  std::string_view payload;  // input, result, error text, guid
};

// Stored kinds of rows in orchestrator_queue: never reuse a number.
enum class MessageKind : std::uint8_t {
  kStart = 1,         // name, payload = input
  kContinue = 2,      // the next execution: payload = input
  kActivityDone = 3,  // ref = command event
  kTimerFired = 4,    // ref = command event; the row has a due time
  kCancel = 5,        // payload = reason
  kEvent = 6,         // name, payload: waits until it is taken, like a queue message
  kQueue = 7,         // name = queue, payload: waits until it is taken; its id is its number
  kChildDone = 8,     // ref = command event
  kValueAnswer = 9,   // ref = command event
  kRestart = 11,      // the next execution, by an operator: name = who did it. ref = 0: payload =
                      // input; else it begins with the events of the previous one up to ref
  kOffer = 10,        // name, payload: an event for a wait that is open in this turn, or for none
  kCall = 12,         // as kQueue; its sender waits for an answer
};
[[nodiscard]] const char* message_kind_name(MessageKind kind);
// The messages of a queue.
[[nodiscard]] constexpr bool is_of_queue(MessageKind kind) {
  return kind == MessageKind::kQueue || kind == MessageKind::kCall;
}
// Raised events, offers and queue messages: the kinds that the mailbox holds.
[[nodiscard]] constexpr bool is_of_mailbox(MessageKind kind) {
  return kind == MessageKind::kEvent || is_of_queue(kind) || kind == MessageKind::kOffer;
}
// In the tag of a delivery: the message is a kCall.
inline constexpr std::string_view kCallMark = "call";

struct Message {
  MessageId id = 0;  // 0: never stored (a piggybacked result)
  MessageKind kind = MessageKind::kStart;
  // Completions: the error. kContinue, kRestart: kCancelled: a cancel request is handed on.
  // kRestart: kClosed: the restart revoked the cancel request.
  ErrorKind error = ErrorKind::kNone;
  ExecutionId execution = 0;  // for completions: the execution that asked
  EventId ref = 0;
  std::string_view name;
  std::string_view payload;
};

// Changes of an opened session come as queue messages; the queue is named by this prefix and the
// session's id.
inline constexpr std::string_view kSessionEventsPrefix = "session:";
// The same for a shared session, whose name may equal the id of an opened one.
inline constexpr std::string_view kSharedSessionEventsPrefix = "shared_session:";

// 1..kNameBytesMax bytes of UTF-8 without control characters, line separators and marks that change
// the direction of text (is_shown()). Applies to every name, session and tag that is given from
// outside.
[[nodiscard]] bool is_valid_name(std::string_view name);
// StartOptions::trace_id: a valid name of at most kTraceIdBytesMax bytes, or empty.
[[nodiscard]] bool is_valid_trace_id(std::string_view text);
// The condition for a name in the database: 1..kNameBytesMax bytes, none below 0x20 and none 0x7f.
// Names were once checked for nothing else, so an instance with such a name goes on. The condition
// also ensures that every meta text fits kMetaBytesMax.
[[nodiscard]] bool is_stored_name(std::string_view name);
// A valid name that may become an id: is_plain_id(). Required of new ids only.
[[nodiscard]] bool is_valid_id(std::string_view id);
// Whether the id contains "::", which stands in the ids that children are given.
[[nodiscard]] bool has_separator(std::string_view id);
// A valid id without "::": so no id that a caller chooses equals that of a later child.
[[nodiscard]] bool is_valid_root_id(std::string_view id);
// The id of a child that was given none: "<parent>::<execution>.<event>". kResourceExhausted: too
// long.
Status child_id(std::string_view parent, ExecutionId execution, EventId event,
                FixedText<kNameBytesMax>* out);
// At most `bytes_max` bytes, cut between two UTF-8 characters.
[[nodiscard]] std::string_view cut_text(std::string_view text, std::size_t bytes_max);

// Writes the meta text of an event: at most kMetaBytesMax. Members with their default are left out.
// kResourceExhausted if it does not fit, kInvalidArgument if a name is invalid (is_stored_name()).
Status encode_meta(const Event& event, char* out, std::size_t capacity, std::size_t* size);
// Fills in the members that are stored in meta; `event->kind` must be set before. name, session,
// policy, tag and version become views into `text_out`, a buffer of the caller with at least
// kMetaBytesMax bytes. Unknown members are ignored (a newer writer). kCorrupt if the text is not
// the JSON that this kind needs, or if reading it takes more than the JsonMemory;
// kResourceExhausted outside a JsonMemory. Unless kOk the event is unchanged.
Status decode_meta(std::string_view meta, Event* event, char* text_out, std::size_t capacity);

// Checksum of a stored row: identity, link, columns, meta and payload, so that a row moved to
// another instance is detected, too. `prev`: the row of the event before, if the row names it.
[[nodiscard]] std::uint32_t event_crc(InstanceKey instance, ExecutionId execution,
                                      std::optional<HistoryRow> prev, const Event& event,
                                      std::string_view meta);
// The checksum leaves out the message's id, which the database assigns later.
[[nodiscard]] std::uint32_t message_crc(InstanceKey instance, const Message& message);
[[nodiscard]] std::uint32_t value_crc(InstanceKey instance, ExecutionId execution, bool cleared,
                                      const KvEntry& entry);

// Gives cJSON's allocator the memory that it may use on this thread, for the duration of one call;
// null: none. Every decode runs inside a JsonMemory; encode needs none. At most one a thread.
class JsonMemory {
 public:
  JsonMemory(void* block, std::size_t size);
  ~JsonMemory();
  JsonMemory(const JsonMemory&) = delete;
  JsonMemory& operator=(const JsonMemory&) = delete;
};
// For a meta: its texts, and some 60 members, of which Pawl writes twelve at most.
inline constexpr std::size_t kJsonMemoryBytes = 2 * kMetaBytesMax + 512 * sizeof(void*);

}  // namespace pawl

#endif  // PAWL_CODEC_EVENT_HPP
