// TurnCommit: what one turn of an instance writes.
//
// Purpose: holds the events that a turn made, the messages that it took, and the work and timers
// that it asks for. Ownership: views that live until the call returns. Thread rule: one thread.
#ifndef PAWL_STORE_INSTANCE_TURN_COMMIT_HPP
#define PAWL_STORE_INSTANCE_TURN_COMMIT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/event.hpp"
#include "core/clock_rules.hpp"
#include "core/ids.hpp"
#include "core/span.hpp"
#include "pawl/management.hpp"
#include "pawl/status.hpp"
#include "store/work/arguments.hpp"

namespace pawl {

namespace store {
class Deliveries;
class TreeRemoval;
}  // namespace store
struct TurnCommit;
namespace internal {
// Carry out a command of the turn: send its message, or answer a call. Only code that does so leads
// here.
struct TurnSends {
  Status (*send)(store::Deliveries& deliveries, store::TreeRemoval& removal, const TurnCommit& turn,
                 EventId command);
  Status (*reply)(store::Deliveries& deliveries, const TurnCommit& turn, EventId command);
};
}  // namespace internal

// Says for which rows the end of an execution has to look. An end looks for nothing else.
struct Unsettled {
  bool work = true;      // of activities without an outcome
  bool children = true;  // that it started
  bool sessions = true;  // that it opened, or that its activities made
  bool values = true;    // that it wrote
};

class EventSource {
 public:
  [[nodiscard]] virtual const Event& event(EventId id) const = 0;
  // Whether this command of a new event still waits for its completion: the turn did not close it,
  // and did not end the execution.
  [[nodiscard]] virtual bool is_open(EventId command) const = 0;
  // Null: the code sent no message and answered no call.
  [[nodiscard]] virtual const internal::TurnSends* sends() const { return nullptr; }
  // Asked at the end of the execution. Everything, if not all of its events are at hand.
  [[nodiscard]] virtual Unsettled unsettled() const { return {}; }

 protected:
  ~EventSource() = default;
};

struct NewWork {
  EventId event = 0;
  std::string_view session;      // empty: none
  std::string_view policy = {};  // policy.hpp; empty: defaults
  std::string_view tag = {};     // empty: none
  // With a session: the id of the instance that opened it; empty: this instance did, or it is
  // shared.
  std::string_view opened_by = {};
  // The name of the activity, if the worker of the batch cannot run it. If no living worker can,
  // the item waits for one that does.
  std::string_view unregistered_name = {};
  // Not null: the item is handed over to the worker of the batch together with the turn, until its
  // locked_until, as fetch_work_item() would do; gets id, token, session and epoch. Only without
  // policy and tag. The id stays 0 if the worker does not hold the session or cannot serve it at
  // once: then the item is queued as usual.
  WorkItem* handed_over = nullptr;
};

// A timer without an event is the grace of a cancel request: it belongs to the instance and not to
// one of its executions.
struct NewTimer {
  EventId event = 0;
  TimerBase base = TimerBase::kPawlTime;
  std::int64_t delay_or_utc_ms = 0;
};

// How the instance goes on after an end of kind kContinuedAsNew. keep_executions and removed are
// set for each turn.
struct NextExecution {
  std::string_view input;
  std::string_view version;  // empty: none yet
  // The cancel request that is handed on, and how many times it has been, this time included; 0:
  // there is none.
  std::string_view cancel_reason;
  EventId cancel_handed_on = 0;
  Removed* removed = nullptr;  // with keep_executions; added to
  // How many executions stay, the next one included; 0: all. Bounded as a sweep is.
  std::int64_t keep_executions = 0;
};

// How many sessions may be open.
struct OpenSessionsMax {
  std::int64_t of_instance = 10;
  std::int64_t of_label = 0;  // for one owner label, all instances together; 0: no limit
};

// How the end of an execution treats messages.
struct AtEnd {
  // Set: the end waits for messages (R7.7). The end is written only if the turn has read every
  // queue message and raised event that is stored; the ids of those it read are at most this one.
  // None: the end does not wait.
  std::optional<MessageId> read_up_to;
  std::int64_t unread = 0;  // set by the storage: how many messages it leaves unread (R7.8)
};

// An execution that began with this turn.
struct Begun {
  std::int64_t behaviour = 0;  // the engine's; 0: the execution began before
  std::string_view version;    // set if the instance had none yet; else empty
  bool follows_end = false;    // a start began it, of an instance that had ended
};

// A timer of code in the row of its instance, of the current execution. One that is made while the
// place is taken is a message. Purpose: a timer in the queue is a row and two indexes, twice; the
// row of its instance is written anyway.
struct RowTimer {
  MessageId id = 0;  // of the message that it becomes
  std::int64_t due = 0;
  EventId ref = 0;  // its command
  TimeBase base = TimeBase::kPawl;
};

// The state of an instance that a connection need not read again, because only turns have changed
// it. fetch_orchestration_item() begins it, ack_orchestration_item() completes it, and the
// caller keeps it for the next turn. It holds as long as StoreContext::still_knows() says.
struct KnownInstance {
  std::int64_t changes = -1;  // Connection::instance_changes() when it was true
  std::optional<RowTimer> timer;
  // The fetch found no message that the turn does not take, and no timer in the queue.
  bool is_alone = false;
  // The last turn wrote the row: the instance is running, has no message, and nothing is counted
  // against it. The rest of the struct is set.
  bool is_whole = false;
  bool has_keys = false;   // as in InstanceRow
  bool has_parent = true;  // set by the fetch; stays as long as the instance
  EventId last_event = 0;
  std::optional<HistoryRow> last_row;
  Incarnation home = 0;
};

// The storage reads these from the new events: values written and asked for, instances started,
// sessions opened and closed, the custom status. The lists hold what the events do not say.
struct TurnCommit {
  InstanceKey key = 0;
  std::string_view id;        // the instance's
  std::string_view trace;     // the instance's, and that of those it starts; empty: none
  std::int64_t revision = 0;  // the one that was fetched
  ExecutionId execution = 0;
  Span<const MessageId> messages;  // stored messages that the turn took; deleted
  // Stored messages that it saw and that wait on: they no longer make the instance ready.
  Span<const MessageId> kept;
  // Messages taken in an earlier turn, or never stored, that wait again: stored under their ids.
  Span<const Message> given_back;
  Span<const WorkDone> done;
  const EventSource* events = nullptr;
  EventId first_new = 0;  // events [first_new, last_new] are inserted; none if first > last
  EventId last_new = 0;
  // For an execution that continues the history of the one before (R10.2): new events up to this id
  // were carried out by that one. The storage still derives values, the status and the instance's
  // own sessions from them, and acts on the lists; it starts and closes nothing else again. 0: the
  // execution does not continue a history.
  EventId carried = 0;
  bool more = false;  // passes_max reached: ready again at once
  EndKind end = EndKind::kNone;
  ErrorKind error = ErrorKind::kNone;
  AtEnd* mailbox = nullptr;  // null: the end waits for no message, and unread ones are not counted
  Span<const NewWork> work;
  OpenSessionsMax sessions_max;
  Span<const NewTimer> timers;
  // Commands of this execution that are closed: their work items and timers are removed, their
  // children are cancelled.
  Span<const EventId> closed;
  std::string_view output;  // kCompleted, kFailed: what a parent gets
  Begun begun;
  NextExecution next;
  Incarnation home = 0;  // the worker that commits
};

}  // namespace pawl

#endif  // PAWL_STORE_INSTANCE_TURN_COMMIT_HPP
