#include "host.hpp"

#include <signal.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace gateway {
namespace {

pawl::Runtime* running = nullptr;

void on_stop_signal(int) { running->request_stop(); }

void catch_stop_signals(pawl::Runtime& runtime) {
  running = &runtime;
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

void report(const char* what, std::string_view text) {
  std::fprintf(stderr, "sensor_gateway: %s: %.*s\n", what, static_cast<int>(text.size()),
               text.data());
}

}  // namespace

pawl::Options small_options(const char* database_path, const char* node) {
  pawl::Options options;
  options.database_path = database_path;
  options.worker_node_id = node;
  options.payload_bytes_max = 1024;
  options.history_events_max = 256;
  options.commands_a_turn_max = 64;
  options.warm_bytes = 512 * 1024;
  options.inline_slots = 0;
  options.thread_slots = 0;
  return options;
}

Host::Host() : log_(STDERR_FILENO) {}

Host::~Host() {
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  running = nullptr;
}

bool Host::start(const pawl::Options& wanted, const pawl::Registry& registry) {
  pawl::Options options = wanted;
  options.log = &log_;
  pawl::ProcessOptions process_options;
  process_options.connections_max = 1;
  process_options.page_cache_pages = 64;

  // All that Pawl and SQLite will ever use. A device would rather have both in .bss.
  const std::size_t sqlite_bytes = pawl::Process::required_memory(process_options);
  const std::size_t bytes = pawl::Runtime::required_memory(options);
  sqlite_memory_ = std::make_unique<unsigned char[]>(sqlite_bytes);
  memory_ = std::make_unique<unsigned char[]>(bytes);

  pawl::Diagnostic why;
  pawl::Status status = process_.start(process_options, sqlite_memory_.get(), sqlite_bytes, why);
  if (status == pawl::Status::kOk) {
    status = runtime_.start(process_, registry, options, port_.port(), memory_.get(), bytes, why);
  }
  if (status == pawl::Status::kOk) {
    catch_stop_signals(runtime_);
    return true;
  }
  report(pawl::status_name(status), why.text());
  return false;
}

int Host::run() {
  const pawl::Status status = runtime_.run();
  const pawl::RuntimeStats stats = runtime_.stats();
  std::fprintf(stderr,
               "sensor_gateway: ticks=%" PRIu64 " commits=%" PRIu64 " turns=%" PRIu64
               " activities=%" PRIu64 " wakeups=%" PRIu64 " busy_ticks=%" PRIu64
               " failed_ticks=%" PRIu64 "\n",
               stats.ticks, stats.commits, stats.turns, stats.activities_completed, stats.wakeups,
               stats.busy_ticks, stats.failed_ticks);
  if (status == pawl::Status::kOk || status == pawl::Status::kStopped) return 0;
  report(pawl::status_name(status), runtime_.error_text());
  return 1;
}

}  // namespace gateway
