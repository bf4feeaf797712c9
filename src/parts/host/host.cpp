#include "pawl/host.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <vector>

#include "parts/host/heap_block.hpp"

namespace pawl {
namespace {

// The Runtime that runs. A signal handler may call only its request_stop().
std::atomic<Runtime*> running{nullptr};
static_assert(std::atomic<Runtime*>::is_always_lock_free, "read by a signal handler");

void on_stop_signal(int /*number*/) {
  Runtime* const runtime = running.load(std::memory_order_acquire);
  if (runtime != nullptr) runtime->request_stop();
}

constexpr int kSignals[] = {SIGINT, SIGTERM};

// Takes the signals, and keeps the process's former actions.
class Signals {
 public:
  void take(Runtime& runtime) {
    running.store(&runtime, std::memory_order_release);
    struct sigaction action = {};
    action.sa_handler = on_stop_signal;
    // A user who sends a signal twice does not want to wait for code that hangs.
    action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    for (std::size_t i = 0; i < kCount; ++i)
      taken_[i] = ::sigaction(kSignals[i], &action, &before_[i]) == 0;
  }
  void give_back() {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (taken_[i]) ::sigaction(kSignals[i], &before_[i], nullptr);
      taken_[i] = false;
    }
    running.store(nullptr, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kCount = sizeof kSignals / sizeof kSignals[0];
  struct sigaction before_[kCount] = {};
  bool taken_[kCount] = {};
};

constexpr std::chrono::milliseconds kRound{86'400'000};  // one round of waiting for an instance

}  // namespace

// Members end in reverse order: the Runtime first, the memory it lies in last.
struct Host::Parts {
  explicit Parts(const HostOptions& given)
      : port(given.port),
        options(given),
        log(STDERR_FILENO, LogLevel::kWarning, posix::LogForm::kTimedText) {}
  ~Parts() {
    if (process.stop() == Status::kBusy) for_sqlite.leave();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // Notes an error; the first one stays.
  void note(const char* call, std::string_view about, Status failed, std::string_view text) {
    note(call, about, failed, status_name(failed), text);
  }
  void note(const char* call, std::string_view about, Status failed, const char* what,
            std::string_view text) {
    if (status != Status::kOk) return;
    status = failed;
    // An empty view may have a null address, which must not be given to a format.
    why.format("%s %.*s: %s%s%.*s", call, static_cast<int>(about.size()),
               about.empty() ? "" : about.data(), what, text.empty() ? "" : ": ",
               static_cast<int>(text.size()), text.empty() ? "" : text.data());
  }
  Status start();
  Status stop();
  // Logs the error of a run, if there is one. Returns the exit status.
  int report();
  bool is_over(std::string_view id);

  posix::SystemPort port;
  HostOptions options;
  Registry registry;
  std::string typed;  // inputs of start_once() as JSON
  std::vector<Registry::OrchestrationEntry> more_orchestrations;
  HeapBlock for_sqlite;
  HeapBlock for_runtime;
  posix::FdLogSink log;
  Process process;
  std::unique_ptr<RuntimeBoard> board;  // null: no board was asked for
  Runtime runtime;
  Signals signals;
  Status status = Status::kOk;
  Diagnostic why;
  std::size_t starts = 0;  // starts that are not answered yet
  bool is_started = false;
  bool is_stopped = false;
  bool is_stuck = false;  // a thread still uses this memory
};

Status Host::Parts::start() {
  if (is_started || status != Status::kOk) return status;
  if (options.runtime.log == nullptr) options.runtime.log = &log;
  Diagnostic text;
  options.process.payload_bytes_max =
      std::max(options.process.payload_bytes_max, options.runtime.limits.payload_bytes_max);
  const std::size_t sqlite_bytes = Process::required_memory(options.process);
  const std::size_t runtime_bytes = Runtime::required_memory(options.runtime);
  if (!for_sqlite.take(sqlite_bytes) || !for_runtime.take(runtime_bytes)) {
    text.format("no %zu + %zu bytes", sqlite_bytes, runtime_bytes);
    note("start", "", Status::kResourceExhausted, text.text());
    return status;
  }
  Status begun = process.start(options.process, for_sqlite.data(), for_sqlite.bytes(), text);
  if (begun == Status::kOk)
    begun = runtime.start(process, registry, options.runtime, port.port(), for_runtime.data(),
                          for_runtime.bytes(), text);
  if (begun != Status::kOk) {
    note("start", options.runtime.database_path.view(), begun, text.text());
    return status;
  }
  is_started = true;
  if (options.catch_signals) signals.take(runtime);
  return Status::kOk;
}

Status Host::Parts::stop() {
  if (!is_started || is_stopped) return is_stuck ? Status::kTimeout : Status::kOk;
  is_stopped = true;
  const Status stopped = runtime.stop(options.grace);
  is_stuck = stopped == Status::kTimeout;
  signals.give_back();
  if (stopped != Status::kOk)
    note("stop", "", stopped, is_stuck ? "an activity did not come back" : runtime.error_text());
  return stopped;
}

int Host::Parts::report() {
  if (status == Status::kOk) return 0;
  LogSink& sink = options.runtime.log == nullptr ? log : *options.runtime.log;
  sink.write(LogLevel::kError, "host_failed",
             {{"status", status_name(status)}, {"text", why.text()}});
  return 1;
}

// True also for a stopped instance: its code is not tried again while this process runs, so waiting
// is useless.
bool Host::Parts::is_over(std::string_view id) {
  if (status != Status::kOk) return true;
  if (starts > 0) return false;  // maybe the start of this instance
  OrchestrationStatus now;
  const Status read = runtime.get_status(id, &now);
  if (read != Status::kOk) {
    note("run_until_done", id, read, runtime.error_text());
    return true;
  }
  if (now.state == OrchestrationState::kRunning || now.state == OrchestrationState::kSuspended)
    return false;
  if (now.state == OrchestrationState::kCompleted) return true;
  Diagnostic text;
  text.format("%s: %.*s", error_kind_name(now.error), static_cast<int>(now.output.size()),
              now.output.data());
  note("run_until_done", id, Status::kStopped, orchestration_state_name(now.state), text.text());
  return true;
}

Host::Host(const HostOptions& options) : parts_(std::make_unique<Parts>(options)) {
  constexpr std::size_t kHas = Registry::kOrchestrationsMax;
  const std::size_t wanted = options.runtime.limits.orchestrations_max;
  if (wanted <= kHas || wanted > Registry::kOrchestrationsMost) return;
  parts_->more_orchestrations.resize(wanted - kHas);
  parts_->registry.give_room(parts_->more_orchestrations.data(), wanted - kHas);
}

Host::Host(const Path& database_path) {
  HostOptions options;
  options.runtime.database_path = database_path;
  parts_ = std::make_unique<Parts>(options);
}

Host::~Host() {
  if (stop() != Status::kTimeout) return;
  // Nothing may be freed while a thread still uses it.
  static_cast<void>(parts_.release());
}

Host& Host::added(const char* call, std::string_view name, Status status) {
  if (status != Status::kOk) parts_->note(call, name, status, {});
  return *this;
}

Host& Host::add_orchestration(BorrowedText name, OrchestrationCode code, BorrowedText version,
                              void* user) {
  return added("add_orchestration", name, registry().add_orchestration(name, code, version, user));
}

Host& Host::add_activity(BorrowedText name, ActivityCode code, ActivityMode mode, void* user) {
  return added("add_activity", name, registry().add_activity(name, code, mode, user));
}

internal::TypedBytes Host::typed_bytes() {
  std::string& typed = parts_->typed;
  typed.resize(parts_->options.runtime.limits.payload_bytes_max);
  return {typed.data(), typed.size()};
}

Status Host::start() { return parts_->start(); }

Host& Host::start_once(std::string_view name, const InstanceId& id, std::string_view input) {
  if (start() != Status::kOk) return *this;
  const Answer answer = [](void* user, Status status) noexcept {
    auto& parts = *static_cast<Parts*>(user);
    --parts.starts;
    if (status == Status::kOk || status == Status::kAlreadyExists) return;
    parts.note("start_once", "", status, parts.runtime.error_text());
    parts.runtime.request_stop();
  };
  const Status asked =
      parts_->runtime.start_orchestration(name, id, input, StartOptions(), answer, parts_.get());
  if (asked == Status::kOk) ++parts_->starts;
  return added("start_once", id, asked);
}

int Host::run() {
  if (start() != Status::kOk) return parts_->report();
  Runtime& runtime = parts_->runtime;
  Status ran = Status::kTimeout;
  while (ran == Status::kTimeout)
    ran = runtime.run_for(kRound);
  if (ran != Status::kStopped) parts_->note("run", "", ran, runtime.error_text());
  static_cast<void>(stop());  // its error is noted, if it is the first
  return parts_->report();
}

int Host::run_until_done(std::string_view id) {
  if (start() != Status::kOk) return parts_->report();
  struct Wanted {
    Parts* parts;
    std::string_view id;
  } wanted = {parts_.get(), id};
  const auto is_over = [](void* user) noexcept {
    const Wanted& of = *static_cast<Wanted*>(user);
    return of.parts->is_over(of.id);
  };
  Runtime& runtime = parts_->runtime;
  Status ran = Status::kTimeout;
  while (ran == Status::kTimeout)
    ran = runtime.run_for(kRound, is_over, &wanted);
  if (ran != Status::kOk)
    parts_->note("run_until_done", id, ran,
                 ran == Status::kStopped ? "stopped before it was done" : runtime.error_text());
  static_cast<void>(stop());
  return parts_->report();
}

Status Host::stop() { return parts_->stop(); }

HostOptions& Host::options() { return parts_->options; }
Registry& Host::registry() { return parts_->registry; }
Runtime& Host::runtime() { return parts_->runtime; }
Process& Host::process() { return parts_->process; }
RuntimeBoard& Host::board() {
  if (parts_->board == nullptr) {
    parts_->board = std::make_unique<RuntimeBoard>();
    parts_->options.runtime.board = parts_->board.get();
  }
  return *parts_->board;
}
port::Clock& Host::clock() { return *parts_->port.port().clock; }
Status Host::status() const { return parts_->status; }
std::string_view Host::error_text() const { return parts_->why.text(); }

}  // namespace pawl
