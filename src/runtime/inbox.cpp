#include "runtime/inbox.hpp"

#include "core/check.hpp"
#include "runtime/client_core.hpp"

namespace pawl {
namespace {

NewInstance new_instance(const Request& request) {
  NewInstance instance;
  instance.id = request.id;
  instance.name = request.start->name;
  instance.version = request.start->version;
  instance.input = request.start->input;
  instance.trace = request.start->trace;
  instance.start_after_ms = request.start->start_after_ms;
  return instance;
}

}  // namespace

NewMessage Inbox::message_of(const Request& request) const {
  NewMessage posted;
  posted.id = request.id;
  posted.kind = *request.kind->sends;
  posted.name = request.name;
  posted.payload = request.text;
  posted.count_max = loop_.options.limits.queue_messages_max;
  posted.bytes_max = mailbox_bytes_max(loop_.options.limits.payload_bytes_max);
  if (request.key != nullptr) posted.key = *request.key;
  return posted;
}

std::size_t Inbox::at_hand() const {
  std::size_t most = before_repeated_key_.value_or(loop_.batch_max());
  if (most > loop_.batch_max()) most = loop_.batch_max();
  return requests_.size() < most ? requests_.size() : most;
}

void Inbox::look() {
  may_piggyback_messages_ = false;
  before_repeated_key_.reset();
  if (steps_ != nullptr) (this->*steps_->look)();
}

void Inbox::look_for_messages() {
  bool has_messages = false;
  for (std::size_t i = 0; i < at_hand(); ++i) {
    requests_.at(i).piggybacks_on = 0;
    has_messages = has_messages || requests_.at(i).kind->sends.has_value();
    if (repeats_key(i)) before_repeated_key_ = i;
  }
  if (!has_messages || !loop_.may_piggyback()) return;
  may_piggyback_messages_ =
      loop_.instance().deliveries.last_message(&last_message_, &limits_) == Status::kOk;
}

// Has an earlier call for the same instance this key? Then this one waits for the next batch, which
// knows what became of that message.
bool Inbox::repeats_key(std::size_t index) {
  const Request& request = requests_.at(index);
  for (std::size_t i = 0; request.key != nullptr && i < index; ++i) {
    const Request& other = requests_.at(i);
    if (other.key != nullptr && *other.key == *request.key && other.id == request.id) return true;
  }
  return false;
}

void Inbox::collect_starts(TurnList& turns) {
  if (!loop_.may_piggyback() || loop_.batch.persist_starts_first) return;
  loop_.now = loop_.place().pawl_now();
  for (std::size_t i = 0; loop_.store->reads_ahead() && i < at_hand(); ++i)
    if (may_begin_now(requests_.at(i)))
      loop_.instance().directory.read_status_ahead(requests_.at(i).id);
  for (std::size_t i = 0; i < at_hand(); ++i) {
    const Request& request = requests_.at(i);
    // Calls behind this one are taken when it is done, however many ticks it needs.
    if (request.kind->removes) return;
    if (!may_begin_now(request)) continue;
    Turn& turn = turns.next();
    turn.request = static_cast<std::uint32_t>(i);
    const Arena::Mark mark = loop_.arena.mark();
    if (prepare_start(request, &turn)) {
      turns.keep_next();
    } else {
      loop_.arena.rewind(mark);
    }
  }
}

bool Inbox::may_begin_now(const Request& request) const {
  return request.kind->starts && request.start->start_after_ms == 0 &&
         loop_.registry.find_orchestration(request.start->name, request.start->version) != nullptr;
}

bool Inbox::prepare_start(const Request& request, Turn* turn) {
  const StartRequest& wanted = *request.start;
  if (!loader_.has_room_for_another() || !is_unknown(request.id)) return false;
  auto* const item = loop_.arena.make<OrchestrationItem>();
  Message* const start = loop_.arena.make<Message>();
  if (item == nullptr || start == nullptr) return false;
  // Takes the place of the row's key in the warm cache.
  turn->key = -1 - static_cast<InstanceKey>(turn->request);
  turn->is_start = true;
  turn->item = item;
  item->key = turn->key;
  item->execution = 1;
  item->known.has_parent = false;
  if (item->id.assign(request.id) != Status::kOk || item->name.assign(wanted.name) != Status::kOk ||
      item->version.assign(wanted.version) != Status::kOk ||
      item->trace.assign(wanted.trace) != Status::kOk)
    return false;
  start->kind = MessageKind::kStart;
  start->execution = 1;
  start->name = wanted.name;
  start->payload = wanted.input;
  item->messages = start;
  item->message_count = 1;
  turn->warm = warm_.pin(turn->key);
  if (turn->warm == nullptr) return false;
  turn->warm->history.clear();
  turn->warm->execution = item->execution;
  turn->warm->revision = item->revision;
  turn->before = turn->warm->history.mark();
  turn->verdict = Turn::Verdict::kCommit;
  return true;
}

// The storage checks this again in the batch. It is read here because the turn of an instance that
// exists may crash, so that turn must not run as a new start.
bool Inbox::is_unknown(std::string_view instance_id) {
  InstanceStatus row;
  return loop_.instance().directory.get_status(
             instance_id, &row, loop_.status_buffer,
             status_buffer_bytes(loop_.options.limits.payload_bytes_max)) == Status::kNotFound;
}

void Inbox::collect_messages(TurnList& turns) {
  if (may_piggyback_messages_) (this->*steps_->collect)(turns);
}

void Inbox::collect_each_message(TurnList& turns) {
  loop_.now = loop_.place().pawl_now();
  for (std::size_t i = 0; loop_.store->reads_ahead() && i < at_hand(); ++i)
    if (requests_.at(i).kind->sends.has_value())
      loop_.instance().rows.read_running_ahead(requests_.at(i).id);
  for (std::size_t i = 0; i < at_hand(); ++i) {
    Request& request = requests_.at(i);
    // Calls behind this one are taken when it is done, however many ticks it needs.
    if (request.kind->removes) return;
    if (!request.kind->sends.has_value() || !is_valid_name(request.name) || is_behind_another(i))
      continue;
    Turn* const turn = turn_for_message(request, turns);
    if (turn == nullptr) continue;
    request.piggybacks_on = turn->key;
    ++turn->posted.count;
    turn->posted.bytes += static_cast<std::uint32_t>(request.name.size() + request.text.size());
  }
}

// Is there an earlier call for the same instance that is not piggybacked?
bool Inbox::is_behind_another(std::size_t index) {
  const std::string_view id = requests_.at(index).id;
  for (std::size_t i = 0; i < index; ++i)
    if (requests_.at(i).piggybacks_on == 0 && requests_.at(i).id == id) return true;
  return false;
}

// A turn of this tick, or one that is loaded for the message. Null: the message is stored, and its
// turn comes with a later tick.
Turn* Inbox::turn_for_message(const Request& request, TurnList& turns) {
  InstanceKey key = 0;
  Incarnation home = 0;
  if (loop_.instance().deliveries.find_instance(request.id, &key, &home) != Status::kOk ||
      is_known(key, request))
    return nullptr;
  for (Turn& turn : turns)
    if (turn.key == key) return takes_message(turn, request) ? &turn : nullptr;
  // Another worker has the instance warm.
  if (home != 0 && home != loop_.me && warm_.find(key) == nullptr) return nullptr;
  if (!loader_.has_room_for_another()) return nullptr;
  const Arena::Mark mark = loop_.arena.mark();
  Turn& turn = turns.next();
  if (loader_.load(key, false, &turn) == Status::kOk && takes_message(turn, request)) {
    turns.keep_next();
    return &turn;
  }
  loop_.arena.rewind(mark);
  return nullptr;
}

// The batch answers a message whose key is known. No other message is stored between this look and
// the batch: the numbers are reserved only if none was.
bool Inbox::is_known(InstanceKey key, const Request& request) {
  bool known = false;
  return request.key != nullptr &&
         (loop_.instance().deliveries.find_key(key, message_of(request), &known) != Status::kOk ||
          known);
}

// True if all stored messages of the instance have been read, and this one is within the limits.
bool Inbox::takes_message(const Turn& turn, const Request& request) const {
  if (turn.verdict != Turn::Verdict::kCommit || turn.item->terminate || turn.item->more_messages)
    return false;
  const OrchestrationItem& item = *turn.item;
  const std::size_t always_read = item.beginning_count + item.waiting_count;
  if (item.message_count - always_read + turn.posted.count >=
      loop_.options.limits.instance_batch_max)
    return false;
  std::size_t posted = turn.posted.count + 1;
  std::size_t bytes = turn.posted.bytes + request.name.size() + request.text.size();
  for (std::size_t i = 0; i < item.message_count; ++i) {
    const Message& message = item.messages[i];
    if (message.id > last_message_) return false;
    if (!is_of_mailbox(message.kind)) continue;
    ++posted;
    bytes += message.name.size() + message.payload.size();
  }
  return posted <= static_cast<std::size_t>(limits_.messages) &&
         bytes <= static_cast<std::size_t>(limits_.bytes);
}

Message Inbox::message_of(std::size_t index) {
  const NewMessage posted = message_of(requests_.at(index));
  Message message;
  message.id = number_of(index);
  message.kind = posted.kind;
  message.name = posted.name;
  message.payload = posted.payload;
  return message;
}

bool Inbox::is_piggybacked(const Turn& turn, MessageId number, std::size_t* index) {
  if (turn.posted.count == 0 || number <= last_message_) return false;
  *index = static_cast<std::size_t>(number - last_message_ - 1);
  return *index < at_hand() && requests_.at(*index).piggybacks_on == turn.key;
}

std::size_t Inbox::messages_of(const Turn& turn, Message* out) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < at_hand() && found < turn.posted.count; ++i)
    if (requests_.at(i).piggybacks_on == turn.key) out[found++] = message_of(i);
  return found;
}

// If the numbers cannot be reserved, all messages are stored. Turns that saw a piggybacked message
// are skipped, and run again with the stored messages.
Status Inbox::reserve_numbers(TurnList& turns) {
  bool any = false;
  const auto each = [&](auto&& visit) {
    for (Turn& turn : turns)
      if (turn.posted.count > 0 && turn.verdict == Turn::Verdict::kCommit) visit(turn);
  };
  each([&](const Turn&) { any = true; });
  if (any) {
    const Status reserved = loop_.instance().deliveries.reserve_messages(last_message_, at_hand());
    if (reserved == Status::kStale || reserved == Status::kQuota) {
      each([](Turn& turn) { turn.verdict = Turn::Verdict::kSkip; });
    } else if (reserved != Status::kOk) {
      return reserved;
    }
  }
  for (std::size_t i = 0; i < at_hand(); ++i) {
    const Turn* const turn = turn_of(turns, i);
    if (turn == nullptr || turn->verdict != Turn::Verdict::kCommit)
      requests_.at(i).piggybacks_on = 0;
  }
  return Status::kOk;
}

// For all that write() reads.
void Inbox::read_ahead() {
  for (std::size_t i = 0; i < at_hand(); ++i) {
    const Request& request = requests_.at(i);
    if (request.kind->starts)
      loop_.instance().deliveries.read_start_ahead(request.id);
    else if (request.kind->sends.has_value() && request.piggybacks_on == 0)
      loop_.instance().rows.read_running_ahead(request.id);
  }
}

// A request that needs more than one transaction stays first until it is done.
Status Inbox::write(TurnList& turns) {
  if (steps_ != nullptr) PAWL_TRY((this->*steps_->reserve_numbers)(turns));
  const std::size_t most = at_hand();
  std::size_t take = 0;
  for (Request::Outcome outcome; take < most; ++take) {
    Request& request = requests_.at(take);
    Turn* turn = turn_of(turns, take);
    outcome = Request::Outcome();
    request.status = request.kind->write(parts_, request, turn, &outcome);
    if (turn != nullptr && turn->verdict != Turn::Verdict::kCommit) turn = nullptr;
    if (!is_answer(request.status)) return request.status;
    if (request.status == Status::kOk && turn == nullptr) loop_.agenda.do_now(Job::kTurns);
    if (!outcome.room) request.status = Status::kResourceExhausted;
    if (outcome.more) break;
  }
  taken_ = take;
  return Status::kOk;
}

// True: the status answers the request, and is no failure of the batch.
bool Inbox::is_answer(Status status) {
  switch (status) {
    case Status::kOk:
    case Status::kAlreadyExists:
    case Status::kNotFound:
    case Status::kStale:
    case Status::kStillRunning:
    case Status::kChildInstance:
    case Status::kInvalidArgument:
    case Status::kQuota:
    case Status::kTimeout:
    case Status::kKeyReused:
    case Status::kDeviceHeld: return true;
    default: return false;
  }
}

// The turn on which the call is piggybacked; null: none.
Turn* Inbox::turn_of(TurnList& turns, std::size_t request) {
  const InstanceKey key = requests_.at(request).piggybacks_on;
  for (Turn& turn : turns)
    if (turn.is_start ? turn.request == request : key != 0 && turn.key == key) return &turn;
  return nullptr;
}

Status Inbox::write_message(Request& request, Request::Outcome* outcome) {
  request.has_call_row = false;
  if (request.piggybacks_on == 0) return send_message(request, 0, outcome);
  if (*request.kind->sends != MessageKind::kCall) return Status::kOk;
  // The turn may answer the call, so the row of its answer is made before the turn is written.
  request.has_call_row = true;
  return loop_.instance().calls.insert_call(request.piggybacks_on, number_of(index_of(request)));
}

// An offer of this thread is never stored: without a turn of this tick it is over.
Status Inbox::write_offer(Request& request, Turn* turn) {
  InstanceKey key = 0;
  Incarnation home = 0;
  request.received = false;
  if (!is_valid_name(request.name)) return Status::kInvalidArgument;
  PAWL_TRY(loop_.instance().deliveries.find_instance(request.id, &key, &home));
  if (request.piggybacks_on == 0 || turn == nullptr) return Status::kTimeout;
  const MessageId number = number_of(index_of(request));
  const TurnCommit& commit = turn->commit;
  for (EventId id = commit.first_new; id <= commit.last_new && !request.received; ++id) {
    const Event& event = commit.events->event(id);
    request.received = event.kind == EventKind::kDelivery && event.number == number;
  }
  return Status::kOk;
}

std::size_t Inbox::index_of(const Request& request) {
  std::size_t index = 0;
  while (&requests_.at(index) != &request)
    ++index;
  return index;
}

// Is a later call a message for the instance that this one starts?
bool Inbox::has_message_behind(const Request& request) {
  for (std::size_t i = index_of(request) + 1; i < at_hand(); ++i) {
    const Request& other = requests_.at(i);
    const std::optional<MessageKind> sends = other.kind->sends;
    if (sends.has_value() && *sends != MessageKind::kOffer && other.id == request.id) return true;
  }
  return false;
}

// A turn that cannot be committed is dropped, and runs again once its start is stored. The same
// holds for a turn that ends the instance before it has read the messages of this batch (R7.7).
Status Inbox::write_start(Request& request, Turn* turn, Request::Outcome* outcome) {
  NewInstance instance = new_instance(request);
  instance.with_turn =
      turn != nullptr && turn->verdict == Turn::Verdict::kCommit &&
      !(turn->commit.mailbox->read_up_to.has_value() && has_message_behind(request));
  const Status created =
      with_free_id(*loop_.store, parts_.removals.removed(), &outcome->more, [&](bool* in_removal) {
        return loop_.instance().deliveries.start_orchestration(instance, &outcome->key, in_removal);
      });
  if (turn == nullptr) return created;
  if (created != Status::kOk || !instance.with_turn || outcome->more) {
    turn->verdict = Turn::Verdict::kSkip;
    return created;
  }
  turn->key = outcome->key;
  turn->item->key = outcome->key;
  loop_.instance().history.know_new(&turn->item->known);
  turn->commit.key = outcome->key;
  return created;
}

// The start of an id that may be in use. Its first turn comes with a later tick.
Status Inbox::write_start_of_used(Request& request, Request::Outcome* outcome) {
  NewInstance instance = new_instance(request);
  instance.time_limit_ms = request.start->time_limit_ms;
  InstanceKey key = 0;
  return with_free_id(*loop_.store, parts_.removals.removed(), &outcome->more,
                      [&](bool* in_removal) {
                        return loop_.instance().deliveries.start_orchestration(
                            instance, request.start->in_use, &key, in_removal);
                      });
}

// Stores a message, with a number that is reserved for it or, if that is 0, the next one. Messages
// that are piggybacked for the same instance come before the latter, and count against its limits.
Status Inbox::send_message(const Request& request, MessageId number, Request::Outcome* outcome) {
  NewMessage posted = message_of(request);
  posted.number = number;
  posted.has_call_row = request.has_call_row;
  for (std::size_t i = 0; i < at_hand() && number == 0; ++i) {
    const Request& other = requests_.at(i);
    if (other.piggybacks_on == 0 || other.id != request.id) continue;
    const std::size_t bytes = other.name.size() + other.text.size();
    posted.count_max -= posted.count_max > 0 ? 1 : 0;
    posted.bytes_max -= posted.bytes_max > bytes ? bytes : posted.bytes_max;
  }
  NewInstance instance;
  if (request.start != nullptr) {
    instance = new_instance(request);
    instance.time_limit_ms = request.start->time_limit_ms;
    posted.start_if_ended = &instance;
  }
  return with_free_id(
      *loop_.store, parts_.removals.removed(), &outcome->more, [&](bool* in_removal) {
        return loop_.instance().deliveries.send_message(posted, &outcome->room, in_removal);
      });
}

Status Inbox::store_message(Request& request, MessageId number) {
  if (request.kind->sends == MessageKind::kOffer) {
    request.received = false;
    request.status = Status::kTimeout;
    return Status::kOk;
  }
  Request::Outcome outcome;
  request.status = send_message(request, number, &outcome);
  if (!outcome.room) request.status = Status::kResourceExhausted;
  return is_answer(request.status) ? Status::kOk : request.status;
}

Status Inbox::settle(const Turn& turn) {
  return turn.posted.count == 0 ? Status::kOk : (this->*steps_->settle)(turn);
}

// A key is remembered only when its message is written.
Status Inbox::settle_messages(const Turn& turn) {
  for (std::size_t i = 0; i < at_hand(); ++i) {
    Request& request = requests_.at(i);
    if (request.piggybacks_on != turn.key) continue;
    if (!turn.written) {
      PAWL_TRY(store_message(request, number_of(i)));
    } else if (request.key != nullptr) {
      NewMessage posted = message_of(request);
      posted.number = number_of(i);
      PAWL_TRY(loop_.instance().deliveries.remember_key(turn.key, posted));
    }
  }
  return Status::kOk;
}

Status Inbox::piggyback(const Request& request) {
  const std::size_t input = request.start == nullptr ? 0 : request.start->input.size();
  const std::size_t longest = input > request.text.size() ? input : request.text.size();
  if (longest > loop_.options.limits.payload_bytes_max) {
    loop_.diagnostic.format("the %s has %zu bytes; payload_bytes_max is %zu",
                            longest == input ? "input" : "payload", longest,
                            loop_.options.limits.payload_bytes_max);
    return Status::kResourceExhausted;
  }
  const bool first = requests_.size() == 0;
  PAWL_TRY(requests_.push(request));
  if (request.kind->steps != nullptr) steps_ = request.kind->steps;
  loop_.agenda.do_now(Job::kRequests);
  // A host's own loop sleeps on the descriptor, and must be woken.
  if (first) loop_.port.threads->wake();
  return Status::kOk;
}

void Inbox::committed() {
  if (parts_.removals.has_begun_request()) requests_.at(taken_).begun = true;
}

void Inbox::answer() {
  for (; taken_ > 0; --taken_) {
    const Request request = requests_.at(0);
    if (request.kind->committed != nullptr) (parts_.devices.*request.kind->committed)(request);
    requests_.pop();
    ++loop_.work_done;
    if (request.answer != nullptr) request.answer(request.user, request.status);
    if (request.offer_answer != nullptr)
      request.offer_answer(request.user, request.status, request.received);
  }
  loop_.agenda.set(Job::kRequests, requests_.size() > 0);
}

}  // namespace pawl
