// TurnCommit: what one turn of an instance writes.
//
// Purpose: the events that a turn made, the messages that it took, and the work and timers that it
// asks for. Ownership: views that live until the call returns. Thread rule: one thread.
#ifndef PAWL_STORE_TURN_COMMIT_HPP
#define PAWL_STORE_TURN_COMMIT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "event.hpp"
#include "ids.hpp"
#include "pawl/management.hpp"
#include "span.hpp"
#include "work_queue.hpp"

namespace pawl {

class EventSource {
 public:
  [[nodiscard]] virtual const Event& event(EventId id) const = 0;
  // Whether this command of a new event still waits for its completion: the turn did not close it,
  // and has no end.
  [[nodiscard]] virtual bool is_open(EventId command) const = 0;

 protected:
  ~EventSource() = default;
};

struct NewWork {
  EventId event = 0;
  std::string_view session;      // empty: none
  std::string_view policy = {};  // policy.hpp; empty: defaults
  std::string_view tag = {};     // empty: none
  // With a session: the id of the instance that opened it; empty: this one, or it is shared.
  std::string_view opened_by = {};
  // Name of the activity, if the worker of the batch cannot run it. If no living worker can, it
  // waits for one that does.
  std::string_view unregistered_name = {};
  // Not null: handed over to the worker of the batch with the turn, until its locked_until, as
  // fetch_work_item() would do; gets id, token, session and epoch. Only without policy and tag. Its
  // id stays 0 if the session is not one that the worker holds and can serve at once: then it is
  // queued as ever.
  WorkItem* handed_over = nullptr;
  std::int64_t session_lease_until = 0;  // with handed_over and session
};

// Without an event it is the grace of a cancel request: it belongs to the instance and not to one
// of its executions.
struct NewTimer {
  EventId event = 0;
  TimerBase base = TimerBase::kPawlTime;
  std::int64_t delay_or_utc_ms = 0;
};

// How the instance goes on after an end of kind kContinuedAsNew.
struct NextExecution {
  std::string_view input;
  std::string_view version;  // empty: none yet
  // The cancel request that is handed on, and how often with this time; 0: there is none.
  std::string_view cancel_reason;
  EventId cancel_handed_on = 0;
  // So many executions stay, the next one included; 0: all. Bounded as a sweep is.
  std::int64_t keep_executions = 0;
  Removed* removed = nullptr;  // with keep_executions; added to
};

// How many sessions may be open.
struct OpenSessionsMax {
  std::int64_t of_instance = 10;
  std::int64_t of_label = 0;  // of one owner label, all instances together; 0: no limit
};

// How an end meets messages.
struct AtEnd {
  // It waits for them (R7.7): it is written if the turn has read every queue message and raised event
  // that is stored; those that it read have at most this number. None: it does not wait.
  std::optional<MessageId> read_up_to;
  std::int64_t unread = 0;  // set by the storage: how many it leaves (R7.8)
};

// Of an execution that began with this turn.
struct Begun {
  std::int64_t behaviour = 0;  // of the engine; 0: it began before
  std::string_view version;    // if the instance had none yet; else empty
};

// The storage reads from the new events what they mean: values written and asked for, instances
// started, sessions opened and closed, the custom status. Lists say what the events do not.
struct TurnCommit {
  InstanceKey key = 0;
  std::string_view id;        // of the instance
  std::string_view trace;     // of the instance, and of those that it starts; empty: none
  std::int64_t revision = 0;  // as fetched
  ExecutionId execution = 0;
  Span<const MessageId> messages;  // stored ones that the turn took; deleted
  // Stored ones that it saw and that wait on: they make the instance ready no more.
  Span<const MessageId> kept;
  // Taken in an earlier turn, or never stored, and waiting again: stored under their ids.
  Span<const Message> given_back;
  Span<const WorkDone> done;
  const EventSource* events = nullptr;
  EventId first_new = 0;  // events [first_new, last_new] are inserted; none if first > last
  EventId last_new = 0;
  // Of an execution that goes on with the history of the one before (R10.2): new events up to this
  // one were carried out there. Values, the status and the instance's own sessions are made of them,
  // and what is in the lists; no one else is started or closed again. 0: it does not.
  EventId carried = 0;
  bool more = false;  // passes_max reached: ready again at once
  EndKind end = EndKind::kNone;
  ErrorKind error = ErrorKind::kNone;
  AtEnd* mailbox = nullptr;  // null: it waits for none, and its unread messages are not counted
  Span<const NewWork> work;
  OpenSessionsMax sessions_max;
  Span<const NewTimer> timers;
  // Commands of this execution that are closed: their work items and timers go, children are
  // cancelled.
  Span<const EventId> closed;
  std::string_view output;  // kCompleted, kFailed: what a parent gets
  Begun begun;
  NextExecution next;
  Incarnation home = 0;  // who commits
};

}  // namespace pawl

#endif  // PAWL_STORE_TURN_COMMIT_HPP
