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

bool Caller::open(const char* program, const char* database_path) {
  pawl::ClientOptions options;
  options.database_path = database_path;
  options.payload_bytes_max = 1024;  // the same as in small_host()
  const std::size_t bytes = pawl::Client::required_memory(options);
  const std::size_t sqlite_bytes = pawl::Process::required_memory(process_options());
  // A program for a device would rather keep both in .bss.
  memory_ = std::make_unique<unsigned char[]>(bytes);
  sqlite_memory_ = std::make_unique<unsigned char[]>(sqlite_bytes);
  pawl::Diagnostic why;
  pawl::Status status = process_.start(process_options(), sqlite_memory_.get(), sqlite_bytes, why);
  if (status == pawl::Status::kOk)
    status = client_.open(process_, options, port_.port(), memory_.get(), bytes, why);
  if (status != pawl::Status::kOk)
    std::fprintf(stderr, "%s: %s: %.*s\n", program, pawl::status_name(status),
                 PAWL_TEXT(why.text()));
  return status == pawl::Status::kOk;
}

}  // namespace example
