#include "pawl/host_client.hpp"

#include <algorithm>

#include "parts/host/heap_block.hpp"

namespace pawl {

// Members end in reverse order: the Process before the memory it lies in.
struct HostClient::Parts {
  explicit Parts(const posix::PortOptions& given) : port(given) {}
  ~Parts() {
    if (own.stop() == Status::kBusy) for_sqlite.leave();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  posix::SystemPort port;
  HeapBlock for_sqlite;
  HeapBlock for_client;
  Process own;
  Process* process = &own;
  Status status = Status::kOk;
  Diagnostic why;
};

HostClient::HostClient(const HostClientOptions& options)
    : parts_(std::make_unique<Parts>(options.port)) {
  ProcessOptions given = options.process;
  given.payload_bytes_max = std::max(given.payload_bytes_max, options.client.payload_bytes_max);
  // A block that the heap does not have is one of 0 bytes, which start() refuses with both numbers.
  const std::size_t needed = Process::required_memory(given);
  const std::size_t bytes = parts_->for_sqlite.take(needed) ? needed : 0;
  parts_->status = parts_->own.start(given, parts_->for_sqlite.data(), bytes, parts_->why);
  if (parts_->status == Status::kOk) open_in(parts_->own, options.client);
}

HostClient::HostClient(const Path& database_path)
    : HostClient([&] {
        HostClientOptions options;
        options.client.database_path = database_path;
        return options;
      }()) {}

HostClient::HostClient(Process& process, const ClientOptions& options)
    : parts_(std::make_unique<Parts>(posix::PortOptions())) {
  open_in(process, options);
}

HostClient::HostClient(Process& process, const Path& database_path)
    : HostClient(process, [&] {
        ClientOptions options;
        options.database_path = database_path;
        return options;
      }()) {}

// The Client is a base, so its destructor comes after that of the Process.
HostClient::~HostClient() { close(); }

void HostClient::open_in(Process& process, const ClientOptions& options) {
  parts_->process = &process;
  const std::size_t needed = required_memory(options);
  const std::size_t bytes = parts_->for_client.take(needed) ? needed : 0;
  parts_->status =
      open(process, options, parts_->port.port(), parts_->for_client.data(), bytes, parts_->why);
}

Status HostClient::status() const { return parts_->status; }
std::string_view HostClient::error_text() const {
  return parts_->status == Status::kOk ? Client::error_text() : parts_->why.text();
}
Process& HostClient::process() { return *parts_->process; }
port::Clock& HostClient::clock() { return *parts_->port.port().clock; }

}  // namespace pawl
