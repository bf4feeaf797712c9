#include "codec/event.hpp"

#include "core/crc32c.hpp"
#include "core/utf8.hpp"

namespace pawl {
namespace {

// The fixed part of a row as bytes in a fixed order, so that a database may move to another kind of
// machine.
class RowBytes {
 public:
  void add(std::uint64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8)
      bytes_[size_++] = static_cast<unsigned char>(number >> shift);
  }
  void add_signed(std::int64_t number) { add(static_cast<std::uint64_t>(number)); }
  [[nodiscard]] std::uint32_t crc() const { return crc32c(bytes_, size_); }

 private:
  static constexpr std::size_t kNumbersMax = 12;
  unsigned char bytes_[kNumbersMax * 8] = {};
  std::size_t size_ = 0;
};

}  // namespace

const char* event_kind_name(EventKind kind) {
  switch (kind) {
    case EventKind::kStarted: return "started";
    case EventKind::kActivity: return "activity";
    case EventKind::kTimer: return "timer";
    case EventKind::kWait: return "wait";
    case EventKind::kDequeue: return "dequeue";
    case EventKind::kChild: return "child";
    case EventKind::kDetached: return "detached";
    case EventKind::kGuid: return "guid";
    case EventKind::kUtcNow: return "utc_now";
    case EventKind::kStateWrite: return "state_write";
    case EventKind::kCustomStatus: return "custom_status";
    case EventKind::kSessionOpen: return "session_open";
    case EventKind::kSessionClose: return "session_close";
    case EventKind::kBranchOpened: return "branch_opened";
    case EventKind::kClose: return "close";
    case EventKind::kValueRead: return "value_read";
    case EventKind::kSessionHold: return "session_hold";
    case EventKind::kSessionHandoff: return "session_handoff";
    case EventKind::kSessionCheck: return "session_check";
    case EventKind::kSessionSettings: return "session_settings";
    case EventKind::kEnqueueEvent: return "enqueue_event";
    case EventKind::kRaiseEvent: return "raise_event";
    case EventKind::kStartIfEnded: return "start_if_ended";
    case EventKind::kReply: return "reply";
    case EventKind::kActivityDone: return "activity_done";
    case EventKind::kTimerFired: return "timer_fired";
    case EventKind::kChildDone: return "child_done";
    case EventKind::kDelivery: return "delivery";
    case EventKind::kValueAnswer: return "value_answer";
    case EventKind::kReturn: return "return";
    case EventKind::kCancelRequested: return "cancel_requested";
    case EventKind::kEnded: return "ended";
  }
  return "unknown";
}

bool is_command(EventKind kind) {
  return kind >= EventKind::kActivity && kind <= EventKind::kReply;
}

bool is_completion(EventKind kind) {
  return kind >= EventKind::kActivityDone && kind <= EventKind::kValueAnswer;
}

bool can_complete(EventKind kind) {
  switch (kind) {
    case EventKind::kActivity:
    case EventKind::kTimer:
    case EventKind::kWait:
    case EventKind::kDequeue:
    case EventKind::kChild:
    case EventKind::kSessionCheck:
    case EventKind::kEnqueueEvent:
    case EventKind::kRaiseEvent:
    case EventKind::kValueRead: return true;
    default: return false;
  }
}

bool needs_name(EventKind kind) {
  switch (kind) {
    case EventKind::kStarted:
    case EventKind::kActivity:
    case EventKind::kWait:
    case EventKind::kDequeue:
    case EventKind::kChild:
    case EventKind::kDetached:
    case EventKind::kSessionOpen:
    case EventKind::kSessionClose:
    case EventKind::kSessionHold:
    case EventKind::kSessionHandoff:
    case EventKind::kSessionCheck:
    case EventKind::kSessionSettings:
    case EventKind::kStateWrite:
    case EventKind::kEnqueueEvent:
    case EventKind::kRaiseEvent:
    case EventKind::kStartIfEnded:
    case EventKind::kValueRead: return true;
    default: return false;
  }
}

bool is_send(EventKind kind) {
  return kind == EventKind::kEnqueueEvent || kind == EventKind::kRaiseEvent;
}

bool is_of_session(EventKind kind) {
  return kind == EventKind::kSessionOpen || kind == EventKind::kSessionClose ||
         kind == EventKind::kSessionHold || kind == EventKind::kSessionHandoff ||
         kind == EventKind::kSessionCheck || kind == EventKind::kSessionSettings;
}

const char* end_kind_name(EndKind kind) {
  switch (kind) {
    case EndKind::kNone: return "none";
    case EndKind::kCompleted: return "completed";
    case EndKind::kFailed: return "failed";
    case EndKind::kContinuedAsNew: return "continued_as_new";
  }
  return "unknown";
}

const char* message_kind_name(MessageKind kind) {
  switch (kind) {
    case MessageKind::kStart: return "start";
    case MessageKind::kContinue: return "continue";
    case MessageKind::kActivityDone: return "activity_done";
    case MessageKind::kTimerFired: return "timer_fired";
    case MessageKind::kCancel: return "cancel";
    case MessageKind::kEvent: return "event";
    case MessageKind::kQueue: return "queue";
    case MessageKind::kChildDone: return "child_done";
    case MessageKind::kValueAnswer: return "value_answer";
    case MessageKind::kOffer: return "offer";
    case MessageKind::kRestart: return "restart";
    case MessageKind::kCall: return "call";
  }
  return "unknown";
}

bool is_valid_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax) return false;
  while (!name.empty()) {
    const std::optional<Character> next = first_character(name);
    if (!next || !is_shown(next->code)) return false;
    name.remove_prefix(next->bytes);
  }
  return true;
}

bool is_valid_trace_id(std::string_view text) {
  return text.empty() || (text.size() <= kTraceIdBytesMax && is_valid_name(text));
}

bool is_stored_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax) return false;
  for (const char character : name) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte == 0x7f) return false;
  }
  return true;
}

bool is_valid_id(std::string_view id) { return is_valid_name(id) && is_plain_id(id); }

bool has_separator(std::string_view id) { return id.find("::") != std::string_view::npos; }

bool is_valid_root_id(std::string_view id) { return is_valid_id(id) && !has_separator(id); }

Status child_id(std::string_view parent, ExecutionId execution, EventId event,
                FixedText<kNameBytesMax>* out) {
  PAWL_TRY(out->assign(parent));
  PAWL_TRY(out->append("::"));
  PAWL_TRY(out->append_number(execution));
  PAWL_TRY(out->append("."));
  return out->append_number(event);
}

std::string_view cut_text(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t size = bytes_max;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U)
    --size;
  return text.substr(0, size);
}

std::uint32_t event_crc(InstanceKey instance, ExecutionId execution, std::optional<HistoryRow> prev,
                        const Event& event, std::string_view meta) {
  RowBytes row;
  row.add_signed(instance);
  row.add_signed(execution);
  row.add(event.id);
  row.add(static_cast<std::uint64_t>(event.kind));
  row.add(event.branch);
  row.add(event.ordinal);
  row.add(event.ref);
  row.add_signed(event.time_ms);
  row.add(meta.size());
  row.add(event.payload.size());
  if (prev.has_value()) row.add_signed(*prev);
  const std::uint32_t with_meta = crc32c(meta.data(), meta.size(), row.crc());
  return crc32c(event.payload.data(), event.payload.size(), with_meta);
}

std::uint32_t message_crc(InstanceKey instance, const Message& message) {
  RowBytes row;
  row.add_signed(instance);
  row.add(static_cast<std::uint64_t>(message.kind));
  row.add(static_cast<std::uint64_t>(message.error));
  row.add_signed(message.execution);
  row.add(message.ref);
  row.add(message.name.size());
  row.add(message.payload.size());
  const std::uint32_t with_name = crc32c(message.name.data(), message.name.size(), row.crc());
  return crc32c(message.payload.data(), message.payload.size(), with_name);
}

std::uint32_t value_crc(InstanceKey instance, ExecutionId execution, bool cleared,
                        const KvEntry& entry) {
  RowBytes row;
  row.add_signed(instance);
  row.add_signed(execution);
  row.add(cleared ? 1 : 0);
  row.add_signed(entry.updated_ms);
  row.add(entry.key.size());
  row.add(entry.value.size());
  const std::uint32_t with_key = crc32c(entry.key.data(), entry.key.size(), row.crc());
  return crc32c(entry.value.data(), entry.value.size(), with_key);
}

}  // namespace pawl
