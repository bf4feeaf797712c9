// Events and queue messages of the Runtime's own thread: in one commit with the turn that takes them.
//
// Whoever raises is answered after that commit, so nothing need be stored before it: a crash in the turn
// leaves neither message nor answer, and is charged to the instance, which has a row. The message gets the
// number that a stored one would have; if it waits on it is stored under that with the turn, and if the turn
// cannot be written, instead of it. It rides only where it overtakes nothing (docs/performance.md).
#include "client_core.hpp"
#include "runtime_core.hpp"

namespace pawl {
namespace {

bool is_mail(const Request& request) {
  return request.kind == Request::Kind::kRaise || request.kind == Request::Kind::kEnqueue;
}

}  // namespace

NewMail RuntimeCore::new_mail(const Request& request) const {
  NewMail mail;
  mail.id = request.id;
  mail.kind = request.kind == Request::Kind::kRaise ? MessageKind::kEvent : MessageKind::kQueue;
  mail.name = request.name;
  mail.payload = request.text;
  mail.count_max = loop_.options.queue_messages_max;
  mail.bytes_max = mail_bytes_max(loop_.options.payload_bytes_max);
  return mail;
}

// Of a message that is stored. Those that ride for the same instance are before it, and count as it does.
Status RuntimeCore::send_mail(const Request& request, bool* room) {
  NewMail mail = new_mail(request);
  for (std::size_t i = 0; i < requests_at_hand(); ++i) {
    const Request& other = requests_.at(i);
    if (other.rides_with == 0 || other.id != request.id) continue;
    const std::size_t bytes = other.name.size() + other.text.size();
    mail.count_max -= mail.count_max > 0 ? 1 : 0;
    mail.bytes_max -= mail.bytes_max > bytes ? bytes : mail.bytes_max;
  }
  return loop_.provider->send_mail(mail, room);
}

// Requests that the batch at hand takes.
std::size_t RuntimeCore::requests_at_hand() const {
  const std::size_t limit = loop_.single_item_batches_left > 0 ? 1 : loop_.options.batch;
  return requests_.size() < limit ? requests_.size() : limit;
}

// Before anything of the tick is read: what is stored later shows when the numbers are reserved.
void RuntimeCore::look_for_mail() {
  mail_rides_ = false;
  bool has_mail = false;
  for (std::size_t i = 0; i < requests_at_hand(); ++i) {
    requests_.at(i).rides_with = 0;
    has_mail = has_mail || is_mail(requests_.at(i));
  }
  if (!has_mail || loop_.overslept || loop_.agenda.wants(Job::kRegister) || loop_.draining ||
      !loop_.options.run_orchestrations || loop_.single_item_batches_left > 0)
    return;
  mail_rides_ = loop_.provider->last_message(&last_message_) == Status::kOk;
}

void RuntimeCore::collect_mail(Turn* turns, std::size_t* count) {
  if (!mail_rides_) return;
  loop_.now = loop_.provider->pawl_now();
  for (std::size_t i = 0; i < requests_at_hand(); ++i) {
    Request& request = requests_.at(i);
    // Those behind it are taken when it is done, however many ticks that needs.
    if (request.kind == Request::Kind::kDelete || request.kind == Request::Kind::kPrune) return;
    if (!is_mail(request) || !is_valid_name(request.name) || is_behind_another(i)) continue;
    Turn* const turn = turn_for_mail(request, turns, count);
    if (turn == nullptr) continue;
    request.rides_with = turn->key;
    ++turn->mail_count;
    turn->mail_bytes += request.name.size() + request.text.size();
  }
}

// Does another call for the same instance come before it, and does not ride?
bool RuntimeCore::is_behind_another(std::size_t index) {
  const std::string_view id = requests_.at(index).id;
  for (std::size_t i = 0; i < index; ++i)
    if (requests_.at(i).rides_with == 0 && requests_.at(i).id == id) return true;
  return false;
}

// One of this tick, or one made for it. Null: the message is stored, and its turn comes with a later tick.
Turn* RuntimeCore::turn_for_mail(const Request& request, Turn* turns, std::size_t* count) {
  InstanceKey key = 0;
  Incarnation home = 0;
  if (loop_.provider->find_instance(request.id, &key, &home) != Status::kOk) return nullptr;
  for (std::size_t i = 0; i < *count; ++i)
    if (turns[i].key == key) return takes_mail(turns[i], request) ? &turns[i] : nullptr;
  // It is warm elsewhere.
  if (home != 0 && home != loop_.me && warm_.find(key) == nullptr) return nullptr;
  // What it may need to run must be left for those before it.
  if (loop_.arena.capacity() - loop_.arena.used() < loop_.arena.capacity() / 2) return nullptr;
  const Arena::Mark mark = loop_.arena.mark();
  Turn& turn = turns[*count];
  turn = Turn();
  if (prepare_turn(key, false, &turn) == Status::kOk && takes_mail(turn, request)) {
    ++*count;
    return &turn;
  }
  loop_.arena.rewind(mark);
  return nullptr;
}

// All that is stored for it has been read, and the sender is within its limits.
bool RuntimeCore::takes_mail(const Turn& turn, const Request& request) const {
  if (turn.verdict != Turn::Verdict::kCommit || turn.item->terminate || turn.item->more_messages)
    return false;
  const OrchestrationItem& item = *turn.item;
  if (item.message_count - item.waiting_count + turn.mail_count >= loop_.options.instance_batch_max)
    return false;
  std::size_t mail = turn.mail_count + 1;
  std::size_t bytes = turn.mail_bytes + request.name.size() + request.text.size();
  for (std::size_t i = 0; i < item.message_count; ++i) {
    const Message& message = item.messages[i];
    if (message.id > last_message_) return false;
    if (message.kind != MessageKind::kEvent && message.kind != MessageKind::kQueue) continue;
    ++mail;
    bytes += message.name.size() + message.payload.size();
  }
  return mail <= loop_.options.queue_messages_max &&
         bytes <= mail_bytes_max(loop_.options.payload_bytes_max);
}

Message RuntimeCore::message_of(std::size_t index) {
  const NewMail mail = new_mail(requests_.at(index));
  Message message;
  message.id = number_of(index);
  message.kind = mail.kind;
  message.name = mail.name;
  message.payload = mail.payload;
  return message;
}

// Does the message of this number ride with the turn? Then `index` is its request.
bool RuntimeCore::rides(const Turn& turn, MessageId number, std::size_t* index) {
  if (turn.mail_count == 0 || number <= last_message_) return false;
  *index = static_cast<std::size_t>(number - last_message_ - 1);
  return *index < requests_at_hand() && requests_.at(*index).rides_with == turn.key;
}

std::size_t RuntimeCore::gather_mail(const Turn& turn, Message* out) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < requests_at_hand() && found < turn.mail_count; ++i)
    if (requests_.at(i).rides_with == turn.key) out[found++] = message_of(i);
  return found;
}

// Not kOk of the provider: everything is stored as if it had come in two ticks, and turns that saw what rides are
// run again behind it.
Status RuntimeCore::reserve_mail(Turn* turns, std::size_t count) {
  bool any = false;
  const auto each = [&](auto&& visit) {
    for (std::size_t i = 0; i < count; ++i)
      if (turns[i].mail_count > 0 && turns[i].verdict == Turn::Verdict::kCommit) visit(turns[i]);
  };
  each([&](const Turn&) { any = true; });
  if (any) {
    const Status reserved = loop_.provider->reserve_messages(last_message_, requests_at_hand());
    if (reserved == Status::kStale || reserved == Status::kQuota) {
      each([](Turn& turn) { turn.verdict = Turn::Verdict::kSkip; });
    } else if (reserved != Status::kOk) {
      return reserved;
    }
  }
  for (std::size_t i = 0; i < requests_at_hand(); ++i) {
    const Turn* const turn = turn_of(turns, count, i);
    if (turn == nullptr || turn->verdict != Turn::Verdict::kCommit) requests_.at(i).rides_with = 0;
  }
  return Status::kOk;
}

Status RuntimeCore::write_mail(Request& request, MessageId number) {
  NewMail mail = new_mail(request);
  mail.number = number;
  bool room = true;
  request.status = loop_.provider->send_mail(mail, &room);
  if (!room) request.status = Status::kResourceExhausted;
  return is_answer(request.status) ? Status::kOk : request.status;
}

// The turn was not the next one after all.
Status RuntimeCore::store_mail(const Turn& turn) {
  for (std::size_t i = 0; i < requests_at_hand() && turn.mail_count > 0; ++i)
    if (requests_.at(i).rides_with == turn.key) PAWL_TRY(write_mail(requests_.at(i), number_of(i)));
  return Status::kOk;
}

}  // namespace pawl
