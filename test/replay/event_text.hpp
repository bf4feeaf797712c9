// Messages for a turn, and events as texts to compare with. This file needs no test framework.
#ifndef PAWL_TEST_EVENT_TEXT_HPP
#define PAWL_TEST_EVENT_TEXT_HPP

#include <string>
#include <string_view>

#include "replay/engine.hpp"

namespace pawl::test {

inline Message start(std::string_view input = "in") {
  Message message;
  message.kind = MessageKind::kStart;
  message.payload = input;
  return message;
}

inline Message completion(MessageKind kind, EventId ref, ErrorKind error,
                          std::string_view payload) {
  Message message;
  message.kind = kind;
  message.execution = 1;
  message.ref = ref;
  message.error = error;
  message.payload = payload;
  return message;
}
inline Message done(EventId ref, std::string_view result = "ok") {
  return completion(MessageKind::kActivityDone, ref, ErrorKind::kNone, result);
}
inline Message failed(EventId ref, ErrorKind error, std::string_view text) {
  return completion(MessageKind::kActivityDone, ref, error, text);
}
inline Message fired(EventId ref) {
  return completion(MessageKind::kTimerFired, ref, ErrorKind::kNone, {});
}
inline Message cancel(std::string_view reason = "stop") {
  Message message;
  message.kind = MessageKind::kCancel;
  message.payload = reason;
  return message;
}

inline Message posted(MessageKind kind, MessageId number, std::string_view name,
                      std::string_view payload = "m") {
  Message message;
  message.kind = kind;
  message.id = number;
  message.name = name;
  message.payload = payload;
  return message;
}

// For example "3 activity 0.1 read(in) @bed", "4 activity_done ->3 = ok", "6 ended completed =
// out".
inline std::string line(const Event& event) {
  std::string text = std::to_string(event.id) + " " + event_kind_name(event.kind);
  if (is_command(event.kind)) {
    text += " " + std::to_string(event.branch) + "." + std::to_string(event.ordinal);
    if (!event.name.empty()) text += " " + std::string(event.name);
    if (event.kind == EventKind::kActivity) text += "(" + std::string(event.payload) + ")";
    if (!event.session.empty()) text += " @" + std::string(event.session);
    if (event.kind == EventKind::kTimer)
      text += (event.base == TimerBase::kUtc ? " utc " : " ") + std::to_string(event.number);
    if (event.kind == EventKind::kBranchOpened) text += " = " + std::to_string(event.number);
    if (event.kind == EventKind::kClose)
      text += " of " + std::to_string(event.branch) + "." + std::to_string(event.number) + " at " +
              std::to_string(event.horizon);
    return text;
  }
  if (event.ref != 0) text += " ->" + std::to_string(event.ref);
  if (event.end != EndKind::kNone) text += std::string(" ") + end_kind_name(event.end);
  if (event.error != ErrorKind::kNone) text += std::string(" ") + error_kind_name(event.error);
  if (event.kind != EventKind::kStarted && !event.payload.empty())
    text += " = " + std::string(event.payload);
  return text;
}

inline std::string lines(const History& history, EventId first = 1) {
  std::string text;
  for (EventId id = first; id <= history.last_id(); ++id)
    text += line(history.event(id)) + "\n";
  return text;
}

}  // namespace pawl::test

#endif  // PAWL_TEST_EVENT_TEXT_HPP
