#include "replay/mailbox.hpp"

namespace pawl {

void Mailbox::attach(Entry* entries, Message* given_back, MessageId* kept, std::size_t capacity) {
  entries_ = entries;
  given_back_ = given_back;
  kept_ = kept;
  capacity_ = capacity;
}

void Mailbox::clear() { count_ = old_count_ = given_back_count_ = kept_count_ = 0; }

bool Mailbox::add(const Message& message, bool is_stored) {
  if (count_ == capacity_) return false;
  std::size_t at = count_++;
  for (; at > 0 && entries_[at - 1].message.id > message.id; --at)
    entries_[at] = entries_[at - 1];
  entries_[at] = {message, is_stored, true};
  return true;
}

bool Mailbox::give_back(const Event& wait, const Event& delivery) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (entries_[i].message.id != delivery.number || entries_[i].is_waiting) continue;
    entries_[i].is_waiting = true;
    // A wait has received the offer, so from now on it is a raised event and is stored as one.
    if (entries_[i].message.kind == MessageKind::kOffer) {
      entries_[i].message.kind = MessageKind::kEvent;
      entries_[i].is_stored = false;
    }
    return true;
  }
  if (old_count_ >= capacity_ / 2) return false;
  ++old_count_;
  Message message;
  message.id = delivery.number;
  message.kind = wait.kind == EventKind::kWait ? MessageKind::kEvent
                 : delivery.tag == kCallMark   ? MessageKind::kCall
                                               : MessageKind::kQueue;
  message.name = wait.name;
  message.payload = delivery.payload;
  return add(message, false);
}

namespace {

// One event is reserved for the end.
Status append(History& history, Event& event, std::uint32_t events_max, Diagnostic& diagnostic) {
  event.id = history.last_id() + 1;
  event.kind = EventKind::kDelivery;
  if (event.id + 1 <= events_max) return history.append(event, diagnostic);
  diagnostic.format("event %u: history would have more than events_max (%u) events", event.id,
                    events_max);
  return Status::kResourceExhausted;
}

}  // namespace

Status Mailbox::deliver(History& history, std::int64_t stamp_ms, std::uint32_t events_max,
                        Diagnostic& diagnostic, std::uint32_t* delivered) {
  for (std::size_t i = 0; i < count_; ++i) {
    Entry& entry = entries_[i];
    if (!entry.is_waiting) continue;
    const EventId wait =
        history.open_wait(is_of_queue(entry.message.kind) ? EventKind::kDequeue : EventKind::kWait,
                          entry.message.name);
    if (wait == 0) continue;
    Event event;
    event.ref = wait;
    event.number = entry.message.id;
    event.time_ms = stamp_ms;
    event.payload = entry.message.payload;
    if (entry.message.kind == MessageKind::kCall) event.tag = kCallMark;
    PAWL_TRY(append(history, event, events_max, diagnostic));
    entry.is_waiting = false;
    ++*delivered;
  }
  return Status::kOk;
}

Status Mailbox::answer_tries(History& history, std::int64_t stamp_ms, std::uint32_t events_max,
                             Diagnostic& diagnostic, std::uint32_t* answered) {
  for (EventId wait = 0; (wait = history.open_try()) != 0; ++*answered) {
    Event event;
    event.ref = wait;
    event.error = ErrorKind::kNotFound;
    event.time_ms = stamp_ms;
    event.payload = "no message";
    PAWL_TRY(append(history, event, events_max, diagnostic));
  }
  return Status::kOk;
}

std::uint32_t Mailbox::settle(bool is_cut, bool keeps_events) {
  std::uint32_t dropped = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const Entry& entry = entries_[i];
    if (!entry.is_waiting) continue;
    const MessageKind kind = entry.message.kind;
    const bool is_kept =
        is_cut || is_of_queue(kind) || (kind == MessageKind::kEvent && keeps_events);
    if (!is_kept) {
      ++dropped;
    } else if (entry.is_stored) {
      kept_[kept_count_++] = entry.message.id;
    } else {
      given_back_[given_back_count_++] = entry.message;
    }
  }
  return dropped;
}

}  // namespace pawl
