// TurnCommit: what one turn of an instance writes.
//
// Purpose: the events a turn made, and which work, timers, children and messages they mean: the
// storage keeps bytes and indices and is given their meaning. Ownership: views that live until the
// call returns. Thread rule: one thread.
#ifndef PAWL_STORE_TURN_COMMIT_HPP
#define PAWL_STORE_TURN_COMMIT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "event.hpp"
#include "ids.hpp"
#include "pawl/management.hpp"
#include "work_queue.hpp"

namespace pawl {

class EventSource {
 public:
  [[nodiscard]] virtual const Event& event(EventId id) const = 0;

 protected:
  ~EventSource() = default;
};

struct NewWork {
  EventId event = 0;
  std::string_view session;      // empty: none
  std::string_view policy = {};  // policy.hpp; empty: defaults
  std::string_view tag = {};     // empty: none
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

struct NewTimer {
  EventId event = 0;
  TimerBase base = TimerBase::kPawlTime;
  std::int64_t delay_or_utc_ms = 0;
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
  // Taken in an earlier turn, waiting again: stored under their old ids. Of no use with an end
  // other than kContinuedAsNew, which takes all messages with it.
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
  // Commands of kind kValueRead among the new events (not with an end): each is answered by a
  // message, with what is stored when this turn is.
  const EventId* reads = nullptr;
  std::size_t read_count = 0;
  // Commands of this execution that are closed: their work items and timers go, children are
  // cancelled.
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
  std::string_view output;        // kCompleted, kFailed: what a parent gets
  // kContinuedAsNew: so many executions stay, the next one included; 0: all. Bounded as a sweep is.
  std::int64_t keep_executions = 0;
  Removed* removed = nullptr;  // with keep_executions; added to
  Incarnation home = 0;        // who commits
};

}  // namespace pawl

#endif  // PAWL_STORE_TURN_COMMIT_HPP
