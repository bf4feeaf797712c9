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
#include "pawl/send_options.hpp"
#include "pawl/server_database.hpp"
#pragma GCC visibility push(default)

namespace pawl {

struct ClientOptions {
  Path database_path;                        // required
  const ServerDatabase* database = nullptr;  // as Options::database
  bool create = true;                        // false: kCannotOpen when there is no database yet
  bool synchronous_full = true;
  std::chrono::milliseconds busy_max{5'000};  // longest wait for the write lock, then kBusy
  std::size_t payload_bytes_max = 64 * 1024;  // limits inputs and messages given, and outputs read
  // The limit of LimitOptions::queue_messages_max. The least of this one and those of the
  // database's Runtimes counts.
  std::uint32_t queue_messages_max = 256;
  int cache_pages = 128;
};

// The answer of a call.
struct CallAnswer {
  ErrorKind error = ErrorKind::kNone;  // kNone: the code replied with a value; else it refused
  CallText value;                      // the value, or the text of the refusal; until the next call
  Name key;  // of the call, as given or as Pawl made it: asked again with it, it is the same call
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
