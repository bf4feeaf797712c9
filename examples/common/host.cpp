#include "host.hpp"

#include <unistd.h>

#include <cstdio>

namespace example {
namespace {

// The memory options of SQLite, for one connection.
pawl::ProcessOptions process_options() {
  pawl::ProcessOptions options = pawl::ProcessOptions::small();
  options.payload_bytes_max = 1024;  // the same as in small_host()
  return options;
}

}  // namespace

pawl::HostOptions small_host(const char* database_path, const char* node) {
  static pawl::posix::FdLogSink log(STDERR_FILENO);
  pawl::HostOptions options;
  options.process = process_options();
  options.runtime = pawl::Options::small();
  options.runtime.database_path = database_path;
  options.runtime.worker_node_id = node;
  options.runtime.log = &log;
  options.runtime.limits.payload_bytes_max = 1024;
  options.runtime.limits.history_events_max = 256;
  options.runtime.slots.inline_activities = 0;
  options.runtime.slots.threads = 0;
  return options;
}

pawl::HostClientOptions small_client(const char* database_path) {
  pawl::HostClientOptions options;
  options.process = process_options();
  options.client.database_path = database_path;
  options.client.payload_bytes_max = 1024;  // the same as in small_host()
  return options;
}

bool is_open(const pawl::HostClient& client, const char* program) {
  if (client.status() == pawl::Status::kOk) return true;
  std::fprintf(stderr, "%s: %s: %.*s\n", program, pawl::status_name(client.status()),
               PAWL_TEXT(client.error_text()));
  return false;
}

}  // namespace example
