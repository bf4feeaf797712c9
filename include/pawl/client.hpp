// Client: start, watch and cancel orchestrations from anywhere on the machine.
//
// Purpose: a connection of its own, in the process of the Runtime or in another one on the same file.
// Every call that answers kOk is durable (see Options::synchronous_full); then it rings the bell.
// Ownership: memory given to open() belongs to the Client until close(); views it hands out live until
// its next call. Thread rule: one thread at a time; one Client a thread.
#ifndef PAWL_CLIENT_HPP
#define PAWL_CLIENT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/error.hpp"
#include "pawl/port.hpp"
#include "pawl/process.hpp"
#include "pawl/status.hpp"

namespace pawl {

class ClientCore;

struct ClientOptions {
  const char* database_path = nullptr;  // required
  bool create = true;                   // false: kCannotOpen when there is no database yet
  bool synchronous_full = true;
  std::int64_t busy_ms_max = 5'000;           // longest wait for the write lock, then kBusy
  std::size_t payload_bytes_max = 64 * 1024;  // of inputs given and outputs read
  int cache_pages = 128;
};

// kStopped: its code does not match its history, or a stored row is damaged. Nothing is lost; it is tried
// again when a Runtime starts (with other code).
enum class OrchestrationState : std::uint8_t { kRunning, kCompleted, kFailed, kStopped };
[[nodiscard]] const char* orchestration_state_name(OrchestrationState state);

struct OrchestrationStatus {
  OrchestrationState state = OrchestrationState::kRunning;
  std::int64_t execution_id = 0;  // rises by one at every continue-as-new
  ErrorKind error = ErrorKind::kNone;
  std::string_view output;      // the result, or the error's text; valid until the next call
  std::int64_t created_ms = 0;  // stamps, UTC as known then
  std::int64_t updated_ms = 0;
};

class Client {
 public:
  Client() = default;
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] static std::size_t required_memory(const ClientOptions& options);
  // Errors of the place and the file: kCannotOpen, kReadOnly, kForeignDatabase, kNewerDatabase,
  // kNetworkFilesystem, kCorrupt, kIo; kResourceExhausted: memory; kInvalidOptions.
  Status open(Process& process, const ClientOptions& options, const port::Port& port, void* memory,
              std::size_t bytes, Diagnostic& diagnostic);
  void close();
  // Text of the last failure.
  [[nodiscard]] std::string_view error_text() const;

  // `id`, `name`: 1..256 bytes. kAlreadyExists: the id was used before (the instance is untouched);
  // kResourceExhausted: the input is over payload_bytes_max; kBusy; kFull; kIo.
  Status start_orchestration(std::string_view id, std::string_view name, std::string_view input);
  // Asks the instance to stop: its code sees a cancelled await. kNotFound; kStale: it has ended.
  Status cancel_instance(std::string_view id, std::string_view reason);
  // kNotFound.
  Status get_status(std::string_view id, OrchestrationStatus* out);
  // Sleeps until the instance has ended; event-driven. kTimeout: `out` is the last known status;
  // kWouldBlock: on the thread of a Runtime of this database, which would wait for itself.
  Status wait_for_orchestration(std::string_view id, std::int64_t timeout_ms,
                                OrchestrationStatus* out);

 private:
  ClientCore* core_ = nullptr;
};

}  // namespace pawl

#endif  // PAWL_CLIENT_HPP
