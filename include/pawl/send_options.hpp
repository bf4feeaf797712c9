// The options of starts and of messages, for clients, runtimes and orchestrations.
//
// Ownership: plain values; texts that are views must live until the call returns. Thread rule:
// none.
#ifndef PAWL_SEND_OPTIONS_HPP
#define PAWL_SEND_OPTIONS_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/name.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// Says how a start treats an instance of its id that runs, is stopped or is suspended.
enum class IfRunning : std::uint8_t {
  kRefuse,  // kAlreadyExists
  kTake,    // kOk: nothing is written, and the input of the call is not used
};

// Says how it treats an instance that has ended. One that was cancelled has failed.
enum class IfEnded : std::uint8_t {
  kRefuse,         // kAlreadyExists
  kNextExecution,  // begins the next execution of that instance
  kNextIfFailed,   // does so if it failed; kAlreadyExists if it completed
};

struct StartOptions {
  // The version of the code, in the form of Registry. None: the default version of the worker that
  // begins the instance.
  std::optional<Name> version = std::nullopt;
  // The first turn comes this much later; 0 or more. Time without power counts as it does for
  // timers. Until then the instance is kRunning and takes messages, and a cancel request waits.
  std::chrono::milliseconds start_after{0};
  // Names what this start belongs to in the logs of other programs: a W3C traceparent, or the id of
  // a request. At most kTraceIdBytesMax bytes; empty: none. Children and detached instances have
  // the one of the instance that started them.
  Name trace_id = {};
  // The longest that the instance may take, above 0: from this call, or the end of start_after.
  // Then it is asked to stop, as by cancel_instance() (rule R8.9). None: the limit of its
  // definition (Registry::set_time_limits()), or no limit.
  std::optional<std::chrono::milliseconds> time_limit = std::nullopt;
  // How an id in use is treated. The next execution has the name, input, version, start_after,
  // time_limit and trace_id of this call, and the values, the custom status and the unread messages
  // of the instance (rule R10.5). The id of an instance that is being removed is not in use.
  IfRunning if_running = IfRunning::kRefuse;
  IfEnded if_ended = IfEnded::kRefuse;
};

// The start that comes with a message, for an instance that is not there or has ended.
struct StartIfEnded {
  std::string_view definition;  // as `name` of start_orchestration()
  std::string_view input;
  StartOptions options = {};  // if_running and if_ended are not looked at
};

// The options of a message. Ownership: the texts must live until the call returns.
struct SendOptions {
  std::optional<StartIfEnded> start_if_ended = std::nullopt;
  // Makes repeated sends one message: while the instance knows the key, a message with it is
  // answered kOk and neither delivered again nor starts an execution; with another kind, name or
  // payload it is kKeyReused. The instance knows its last keys (RetentionOptions::message_keys,
  // message_key_age) after its end and in its next execution, too, until it is removed (R11.1).
  // None: each call is a message of its own.
  std::optional<std::string_view> key = std::nullopt;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_SEND_OPTIONS_HPP
