// MessageCalls: the calls by which an orchestration's code sends messages, and answers calls.
//
// Purpose: a part of OrchestrationContext. Ownership and thread rule: as pawl/orchestration.hpp.
#ifndef PAWL_MESSAGE_CALLS_HPP
#define PAWL_MESSAGE_CALLS_HPP

#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/error.hpp"
#include "pawl/handle.hpp"
#include "pawl/send_options.hpp"
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {
struct TurnSends;
// The part of a commit that sends the messages and answers of a turn. Only these calls name it, so
// a program without them does not link it.
extern const TurnSends kTurnSends;
}  // namespace internal
class OrchestrationContext;

// The address of a call (Client::call()) that waits for its answer: code may keep the number, in a
// value or in the input of its next execution, and answer it later.
struct CallAddress {
  std::int64_t number = 0;
};

namespace internal {
// The way from these calls to the context.
struct MessageAccess {
  static SendHandle send_message(OrchestrationContext& context, const TurnSends& sends,
                                 bool to_queue, std::string_view id, std::string_view name,
                                 std::string_view payload, const SendOptions& options);
  static ErrorKind reply(OrchestrationContext& context, const TurnSends& sends,
                         const std::optional<CallAddress>& call, ErrorKind error,
                         std::string_view payload);
  static std::optional<CallAddress> call_address(const OrchestrationContext& context,
                                                 const Handle& message);
};
}  // namespace internal

template <typename Self>
class MessageCalls {
 public:
  // ---- messages to other instances, and to this one: sent in the commit of this turn, once ----
  // Puts a message into a queue of an instance, or raises an event for it, as the Client's calls of
  // these names do; also if the turn ends or continues as new, and in an execution that is asked to
  // stop. The options are theirs: a start for an instance that is not there or has ended, a key.
  // The code need not await the answer, and a turn does not wait for it; the worker logs a refusal
  // ("message_refused").
  // Returns a handle; the outcome is ok and empty: the message has arrived; kNoInstance: there is
  // no instance of this id, or it has ended; kLimit: its mailbox is full, or the database has no
  // room; kApplication: it is a child that has ended, or another message came with this key.
  // Requires: names as above and an id (kInvalidArgument at the await); a payload and an input of
  // at most payload_bytes_max (kLimit at the await).
  SendHandle enqueue_event(std::string_view id, std::string_view queue, std::string_view payload,
                           const SendOptions& options = SendOptions()) {
    return internal::MessageAccess::send_message(self(), internal::kTurnSends, true, id, queue,
                                                 payload, options);
  }
  SendHandle raise_event(std::string_view id, std::string_view name, std::string_view payload,
                         const SendOptions& options = SendOptions()) {
    return internal::MessageAccess::send_message(self(), internal::kTurnSends, false, id, name,
                                                 payload, options);
  }
  // Answers a call (Client::call()), in the commit of this turn: with a value, or with an error,
  // which is an answer, too. The first answer counts. `message`: the awaited handle of
  // dequeue_event(), or of a try, that took the call.
  // Returns kNone, also if the sender does not wait any more; kNotFound: the message is no call, or
  // was not received here.
  // Requires: a value or text of at most payload_bytes_max (kLimit). Else nothing is recorded.
  ErrorKind reply(const Handle& message, std::string_view value) {
    return internal::MessageAccess::reply(self(), internal::kTurnSends, call_address(message),
                                          ErrorKind::kNone, value);
  }
  ErrorKind refuse(const Handle& message, std::string_view text) {
    return internal::MessageAccess::reply(self(), internal::kTurnSends, call_address(message),
                                          ErrorKind::kApplication, text);
  }
  // The same for a call that an earlier turn, or an earlier execution of this instance, received.
  // Returns the same.
  // Requires: as above, and an address that call_address() gave (kInvalidArgument).
  ErrorKind reply(const CallAddress& call, std::string_view value) {
    return internal::MessageAccess::reply(self(), internal::kTurnSends, call, ErrorKind::kNone,
                                          value);
  }
  ErrorKind refuse(const CallAddress& call, std::string_view text) {
    return internal::MessageAccess::reply(self(), internal::kTurnSends, call,
                                          ErrorKind::kApplication, text);
  }
  // The address of the call that this handle took; none: the message is no call, or was not
  // received here.
  [[nodiscard]] std::optional<CallAddress> call_address(const Handle& message) const {
    return internal::MessageAccess::call_address(static_cast<const Self&>(*this), message);
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_MESSAGE_CALLS_HPP
