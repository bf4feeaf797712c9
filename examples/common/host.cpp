#include "host.hpp"

#include <signal.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace example {
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

void say(const char* program, const char* what, std::string_view text) {
  std::fprintf(stderr, "%s: %s: %.*s\n", program, what, static_cast<int>(text.size()), text.data());
}

// All that SQLite will ever use, for one connection.
pawl::Status start_process(pawl::Process& process, std::unique_ptr<unsigned char[]>& memory,
                           pawl::Diagnostic& why) {
  pawl::ProcessOptions options;
  options.connections_max = 1;
  options.page_cache_pages = 64;
  options.payload_bytes_max = 1024;  // as small_options() has it
  const std::size_t bytes = pawl::Process::required_memory(options);
  // A device would rather have it in .bss.
  memory = std::make_unique<unsigned char[]>(bytes);
  return process.start(options, memory.get(), bytes, why);
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

// ---- Host -------------------------------------------------------------------------------------------

Host::Host(const char* program) : program_(program), log_(STDERR_FILENO) {}

Host::~Host() {
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  running = nullptr;
}

bool Host::start(const pawl::Options& wanted, const pawl::Registry& registry) {
  pawl::Options options = wanted;
  options.log = &log_;
  const std::size_t bytes = pawl::Runtime::required_memory(options);
  memory_ = std::make_unique<unsigned char[]>(bytes);

  pawl::Diagnostic why;
  pawl::Status status = start_process(process_, sqlite_memory_, why);
  if (status == pawl::Status::kOk) {
    status = runtime_.start(process_, registry, options, port_.port(), memory_.get(), bytes, why);
  }
  if (status == pawl::Status::kOk) {
    catch_stop_signals(runtime_);
    return true;
  }
  say(program_, pawl::status_name(status), why.text());
  return false;
}

int Host::run() { return report(runtime_.run()); }

int Host::stop() { return report(runtime_.stop(10'000)); }

int Host::report(pawl::Status status) {
  const pawl::RuntimeStats stats = runtime_.stats();
  std::fprintf(stderr,
               "%s: ticks=%" PRIu64 " commits=%" PRIu64 " turns=%" PRIu64 " activities=%" PRIu64
               " wakeups=%" PRIu64 " busy_ticks=%" PRIu64 " failed_ticks=%" PRIu64 "\n",
               program_, stats.ticks, stats.commits, stats.turns, stats.activities_completed,
               stats.wakeups, stats.busy_ticks, stats.failed_ticks);
  if (status == pawl::Status::kOk || status == pawl::Status::kStopped) return 0;
  say(program_, pawl::status_name(status), runtime_.error_text());
  return 1;
}

// ---- Caller -----------------------------------------------------------------------------------------

bool Caller::open(const char* program, const char* database_path) {
  pawl::ClientOptions options;
  options.database_path = database_path;
  options.payload_bytes_max = 1024;  // as small_options() has it
  const std::size_t bytes = pawl::Client::required_memory(options);
  memory_ = std::make_unique<unsigned char[]>(bytes);
  pawl::Diagnostic why;
  pawl::Status status = start_process(process_, sqlite_memory_, why);
  if (status == pawl::Status::kOk) {
    status = client_.open(process_, options, port_.port(), memory_.get(), bytes, why);
  }
  if (status != pawl::Status::kOk) say(program, pawl::status_name(status), why.text());
  return status == pawl::Status::kOk;
}

}  // namespace example
