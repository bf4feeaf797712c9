// The options of a Client's calls, and the status of an instance.
//
// Purpose: plain values for pawl/client.hpp. Ownership: names and paths own their bytes; texts of a
// status live until the Client's next call. Thread rule: none.
#ifndef PAWL_CLIENT_OPTIONS_HPP
#define PAWL_CLIENT_OPTIONS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/call_text.hpp"
#include "pawl/error.hpp"
#include "pawl/management.hpp"
#include "pawl/name.hpp"
#pragma GCC visibility push(default)

namespace pawl {

struct ClientOptions {
  Path database_path;  // required
  bool create = true;  // false: kCannotOpen when there is no database yet
  bool synchronous_full = true;
  std::chrono::milliseconds busy_max{5'000};  // longest wait for the write lock, then kBusy
  std::size_t payload_bytes_max = 64 * 1024;  // limits inputs and messages given, and outputs read
  // The limit of LimitOptions::queue_messages_max. The least of this one and those of the
  // database's Runtimes counts.
  std::uint32_t queue_messages_max = 256;
  int cache_pages = 128;
};

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
};

struct TransferOptions {
  static constexpr std::chrono::milliseconds kStopTimeoutDefault{20'000};
  // Running work has this long to end; 0 or more. Then the session moves all the same, and results
  // of work that still runs are refused. An exclusive session stays where it is instead, unless
  // `force` is set.
  std::chrono::milliseconds stop_timeout = kStopTimeoutDefault;
  bool force = false;
  // For transfer_session(): the instance that opened the session. Empty: the session is shared.
  Name instance;
};

struct OrchestrationStatus {
  OrchestrationState state = OrchestrationState::kRunning;
  std::int64_t execution_id = 0;  // rises by one at every continue-as-new
  ErrorKind error = ErrorKind::kNone;
  CallText output;              // the result, or the error's text; valid until the next call
  std::int64_t created_ms = 0;  // stamps: UTC as it was known then
  std::int64_t updated_ms = 0;
  // The text that the code set with set_custom_status(); empty: none, or it was reset. Valid until
  // the next call.
  CallText custom_status;
  std::int64_t custom_status_version = 0;  // rises by one with every set and reset
  // Events and queue messages that were stored for the instance and that no code had received by
  // its end. A restart gives them to the next execution (Client::list_messages()).
  std::int64_t unread_messages = 0;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_CLIENT_OPTIONS_HPP
