// The messages that code sends: each in the commit of its turn (R12.1 to R12.6).
#include <cstdint>
#include <limits>

#include "codec/event.hpp"
#include "codec/policy.hpp"
#include "pawl/orchestration.hpp"
#include "store/instance/deliveries.hpp"
#include "store/instance/removal.hpp"

namespace pawl::store {
namespace {

// kNone: the status is no answer, but a failure of the batch.
ErrorKind error_of(Status status) {
  switch (status) {
    case Status::kNotFound:
    case Status::kStale: return ErrorKind::kNoInstance;
    case Status::kQuota: return ErrorKind::kLimit;
    case Status::kInvalidArgument: return ErrorKind::kInvalidArgument;
    case Status::kChildInstance:
    case Status::kKeyReused: return ErrorKind::kApplication;
    default: return ErrorKind::kNone;
  }
}

// The start that comes with the message is the command before it.
NewInstance start_of(const TurnCommit& turn, const Event& event) {
  NewInstance instance;
  instance.id = event.session;
  instance.name = event.name;
  instance.version = event.version;
  instance.input = event.payload;
  instance.trace = event.tag.empty() ? turn.trace : event.tag;
  instance.start_after_ms = event.number;
  ActivityPolicy limit;
  if (decode_policy(event.policy, &limit) && limit.schedule_to_close_ms > 0)
    instance.time_limit_ms = limit.schedule_to_close_ms;
  return instance;
}

}  // namespace

// A removed instance gives its id to the message, as far as its rows can be removed at once.
Status Deliveries::try_to_send(TreeRemoval& removal, const TurnCommit& turn,
                               const NewMessage& posted, bool* room) {
  bool in_removal = false;
  PAWL_TRY(send_message(posted, room, &in_removal));
  if (!in_removal) return Status::kOk;
  bool more = false;
  PAWL_TRY(removal.sweep_deleted(kSweepEventsMax, turn.next.removed, &more));
  if (!more) return send_message(posted, room, &in_removal);
  context_.diagnostic.format("the former instance of this id is being removed");
  return Status::kNotFound;
}

Status Deliveries::send_from_turn(TreeRemoval& removal, const TurnCommit& turn, EventId command) {
  const Event& event = turn.events->event(command);
  const bool has_ended = turn.end != EndKind::kNone;
  Message answer;
  answer.kind = MessageKind::kValueAnswer;
  answer.execution = turn.execution;
  answer.ref = command;
  if (command <= turn.carried) {
    if (has_ended || event.number == 0 || !turn.events->is_open(command)) return Status::kOk;
    answer.error = ErrorKind::kApplication;
    answer.payload = "the execution that sent it ended before the answer came";
    return rows_.instances.store_message(turn.key, answer, nullptr);
  }
  NewMessage posted;
  posted.id = event.session;
  posted.kind = event.kind == EventKind::kEnqueueEvent ? MessageKind::kQueue : MessageKind::kEvent;
  posted.name = event.name;
  posted.payload = event.payload;
  posted.key = event.tag;
  // The limits of the living runtimes hold, this one's among them.
  posted.count_max = posted.bytes_max = std::numeric_limits<std::int32_t>::max();
  NewInstance start;
  const Event& before = turn.events->event(command - 1);
  if (before.kind == EventKind::kStartIfEnded && before.branch == event.branch &&
      before.ordinal + 1 == event.ordinal) {
    start = start_of(turn, before);
    posted.start_if_ended = &start;
  }
  bool room = true;
  const Status status = try_to_send(removal, turn, posted, &room);
  if (status != Status::kOk && error_of(status) == ErrorKind::kNone) return status;
  answer.error = room ? error_of(status) : ErrorKind::kLimit;
  if (answer.error != ErrorKind::kNone) {
    answer.payload = context_.diagnostic.text();
    if (status == Status::kNotFound) answer.payload = "there is no instance of this id";
    if (status == Status::kStale) answer.payload = "the instance has ended";
    if (context_.sink != nullptr) context_.sink->on_refused({true, turn.key, command, posted.id});
  }
  const bool is_answered = event.number != 0 || answer.error != ErrorKind::kNone;
  if (has_ended || !is_answered || !turn.events->is_open(command)) return Status::kOk;
  return rows_.instances.store_message(turn.key, answer, nullptr);
}

// Answers are bounded as a mailbox is.
Status Deliveries::reply_from_turn(const TurnCommit& turn, EventId command) {
  const Event& event = turn.events->event(command);
  MailboxLimits most;
  PAWL_TRY(rows_.workers.mailbox_limits(&most));
  return rows_.calls.answer_call(turn.key, event.number, event.error, event.payload, most.bytes);
}

}  // namespace pawl::store

namespace pawl::internal {

const TurnSends kTurnSends = {
    [](store::Deliveries& deliveries, store::TreeRemoval& removal, const TurnCommit& turn,
       EventId command) { return deliveries.send_from_turn(removal, turn, command); },
    [](store::Deliveries& deliveries, const TurnCommit& turn, EventId command) {
      return deliveries.reply_from_turn(turn, command);
    }};

}  // namespace pawl::internal
