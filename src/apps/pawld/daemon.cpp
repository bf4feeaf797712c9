#include "apps/pawld/daemon.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

#include "apps/common/upgrade.hpp"
#include "apps/pawld/http_endpoint.hpp"
#include "apps/pawld/log_output.hpp"
#include "apps/pawld/options.hpp"
#include "apps/pawld/orchestrations.hpp"
#include "apps/pawld/plugged_devices.hpp"
#include "apps/pawld/programs.hpp"
#include "pawl/host.hpp"
#include "pawl/service_notify.hpp"

namespace pawld {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kLookAtDevicesMs = 2'000;
constexpr std::int64_t kRoundMs = 60'000;
constexpr std::int64_t kNotReadyMs = 200;

// For the handler of SIGHUP, which may only wake the Runtime.
std::atomic<pawl::Runtime*> woken{nullptr};
std::atomic<bool> hung_up{false};

void on_hang_up(int /*number*/) {
  hung_up.store(true, std::memory_order_release);
  pawl::Runtime* const runtime = woken.load(std::memory_order_acquire);
  if (runtime != nullptr) runtime->wake();
}

bool is_hung_up(void* /*user*/) noexcept { return hung_up.load(std::memory_order_acquire); }

class Daemon {
 public:
  Daemon(const Config& config, std::string file)
      : config_(config),
        file_(std::move(file)),
        output_(config),
        log_(output_.sink()),
        devices_(config.devices(), log_),
        programs_(config, devices_),
        orchestrations_(config, nullptr),
        host_(options()) {}

  int run();

 private:
  struct Start {
    Daemon* daemon;
    const InstanceToStart* instance;
  };
  pawl::HostOptions options();
  void start_instances();
  static void on_started(void* user, pawl::Status status) noexcept;
  pawl::Status work();
  void end_threads(pawl::Status host_stopped);
  void look_after();
  void notify();
  void check_again();
  [[nodiscard]] milliseconds pause() const;
  void note(pawl::LogLevel level, const char* event, std::string_view text);

  const Config& config_;
  const std::string file_;
  LogOutput output_;
  pawl::LogSink& log_;
  pawl::posix::ServiceNotify manager_;
  PluggedDevices devices_;
  Programs programs_;
  Orchestrations orchestrations_;
  std::vector<Start> starts_;
  bool said_ready_ = false;
  bool was_ready_ = true;
  pawl::Host host_;
  HttpEndpoint endpoint_;  // after the Host, so that it is destroyed first
};

void Daemon::note(pawl::LogLevel level, const char* event, std::string_view text) {
  log_.write(level, event, {{"text", text}});
}

pawl::HostOptions Daemon::options() {
  pawl::HostOptions options;
  options.runtime = runtime_options(config_);
  options.runtime.log = &log_;
  options.runtime.slots.cooperative_scratch_bytes = Programs::scratch_bytes();
  if (!devices_.empty()) options.runtime.sessions.listener = &devices_;
  options.port = port_options(config_);
  options.grace = milliseconds(config_.stop_ms);
  return options;
}

void Daemon::on_started(void* user, pawl::Status status) noexcept {
  const auto& start = *static_cast<const Start*>(user);
  if (status == pawl::Status::kOk || status == pawl::Status::kAlreadyExists) return;
  start.daemon->log_.write(
      pawl::LogLevel::kError, "not_started",
      {{"instance", start.instance->id}, {"status", pawl::status_name(status)}});
}

void Daemon::start_instances() {
  starts_.reserve(config_.start.size());
  for (const InstanceToStart& instance : config_.start) {
    starts_.push_back({this, &instance});
    const pawl::Status asked = host_.runtime().start_orchestration(
        instance.name, pawl::InstanceId(instance.id), instance.input, pawl::StartOptions(),
        on_started, &starts_.back());
    if (asked != pawl::Status::kOk) on_started(&starts_.back(), asked);
  }
}

milliseconds Daemon::pause() const {
  std::int64_t pause = devices_.empty() ? kRoundMs : kLookAtDevicesMs;
  const pawl::OptionalMs watchdog = manager_.watchdog_ms();
  if (watchdog.has_value())
    pause = std::min(pause, std::max<std::int64_t>(1, watchdog.value() / 2));
  return milliseconds(said_ready_ && was_ready_ ? pause : std::min(pause, kNotReadyMs));
}

// Sends nothing to the watchdog while the Runtime is not ready, for example when its loop hangs.
void Daemon::notify() {
  const bool ready = host_.runtime().ready();
  if (ready && !said_ready_) {
    const std::string text = "READY=1\nSTATUS=" + std::to_string(config_.activities.size()) +
                             " activities, " + std::to_string(config_.definitions.size()) +
                             " orchestrations";
    said_ready_ = manager_.send(text) != pawl::Status::kBusy;
    if (said_ready_) note(pawl::LogLevel::kInfo, "ready", file_);
  } else if (ready != was_ready_) {
    static_cast<void>(
        manager_.send(ready ? "STATUS=ready again" : "STATUS=not ready: see the log"));
  }
  if (ready && manager_.watchdog_ms().has_value()) static_cast<void>(manager_.send("WATCHDOG=1"));
  was_ready_ = ready;
}

void Daemon::check_again() {
  hung_up.store(false, std::memory_order_release);
  Config fresh;
  const std::vector<std::string> problems = fresh.read_file(file_);
  for (const std::string& problem : problems)
    note(pawl::LogLevel::kError, "configuration_wrong", problem);
  if (problems.empty())
    note(pawl::LogLevel::kInfo, "configuration_good", "checked only; a restart takes it");
}

void Daemon::look_after() {
  if (is_hung_up(nullptr)) check_again();
  devices_.look(host_.runtime());
  programs_.reap();
  notify();
}

pawl::Status Daemon::work() {
  for (;;) {
    look_after();
    const pawl::Status status = host_.runtime().run_for(pause(), is_hung_up);
    if (status != pawl::Status::kTimeout && status != pawl::Status::kOk) return status;
  }
}

int Daemon::run() {
  signal(SIGPIPE, SIG_IGN);  // for a program that does not read its input
  if (programs_.add_to(host_.registry()) != pawl::Status::kOk ||
      orchestrations_.add_to(host_.registry()) != pawl::Status::kOk) {
    note(pawl::LogLevel::kError, "not_registered", "an activity or orchestration");
    return kFailed;
  }
  host_.add_orchestration(pawl::kSchedule, pawl::run_schedule);
  pawl::Diagnostic why;
  if (endpoint_.start(config_, host_, why) != pawl::Status::kOk) {
    note(pawl::LogLevel::kError, "endpoint_failed", why.text());
    return kFailed;
  }
  if (host_.start() != pawl::Status::kOk) return host_.run();  // reports the reason
  woken.store(&host_.runtime(), std::memory_order_release);
  struct sigaction action = {};
  action.sa_handler = on_hang_up;
  action.sa_flags = SA_RESTART;
  sigaction(SIGHUP, &action, nullptr);
  start_instances();
  const pawl::Status ended = work();
  woken.store(nullptr, std::memory_order_release);
  static_cast<void>(manager_.send("STOPPING=1"));
  if (ended != pawl::Status::kStopped)
    note(pawl::LogLevel::kError, "stopped_by_error", pawl::status_name(ended));
  const pawl::Status stopped = host_.stop();
  if (stopped != pawl::Status::kOk)
    note(pawl::LogLevel::kError, "stop_failed", pawl::status_name(stopped));
  end_threads(stopped);
  return ended == pawl::Status::kStopped && stopped == pawl::Status::kOk ? kStopped : kFailed;
}

// If a thread does not return, the process ends at once: nothing may be destroyed under it.
void Daemon::end_threads(pawl::Status host_stopped) {
  const bool endpoint_runs = endpoint_.stop() != pawl::Status::kOk;
  if (endpoint_runs) note(pawl::LogLevel::kError, "thread_runs", HttpEndpoint::kThreadName);
  if (endpoint_runs || host_stopped == pawl::Status::kTimeout) _exit(kFailed);
}

// Converts a database of an earlier form, which no Runtime opens. A service manager waits for it,
// however large the database is.
class Converting final : public pawl::programs::UpgradeListener {
 public:
  explicit Converting(pawl::LogSink& log) : log_(log) {}
  void on_begin(std::int64_t format, std::int64_t needed,
                std::int64_t available) noexcept override {
    log_.write(pawl::LogLevel::kInfo, "database_older",
               {{"format", format}, {"needs_bytes", needed}, {"free_bytes", available}});
    on_rows(0);
  }
  void on_rows(std::int64_t rows) noexcept override {
    const auto now = std::chrono::steady_clock::now();
    if (rows != 0 && now - last_ < std::chrono::seconds(1)) return;
    last_ = now;
    static_cast<void>(manager_.send("EXTEND_TIMEOUT_USEC=60000000\nSTATUS=converts the database, " +
                                    std::to_string(rows) + " rows"));
  }

 private:
  pawl::LogSink& log_;
  pawl::posix::ServiceNotify manager_;
  std::chrono::steady_clock::time_point last_;
};

// False: the log says why. Where it cannot be seen which form the database has, the Host says why
// it does not open it.
bool convert_older(const Config& config, pawl::LogSink& log) {
  if (config.server.has_value() || ::access(config.database.c_str(), F_OK) != 0) return true;
  Converting listener(log);
  const pawl::programs::Upgrade done =
      pawl::programs::upgrade(config.database, port_options(config), listener);
  if (!done.was_older) return true;
  if (done.status == pawl::Status::kOk) {
    log.write(pawl::LogLevel::kInfo, "database_converted", {{"bytes", done.bytes}});
    return true;
  }
  log.write(pawl::LogLevel::kError, "database_not_converted",
            {{"status", pawl::status_name(done.status)}, {"text", done.why}});
  return false;
}

}  // namespace

int run_daemon(const Config& config, const std::string& file) {
  if (!convert_older(config, LogOutput(config).sink())) return kFailed;
  // On the heap: some hundred KiB, mostly the Registry's. Lives as long as the process.
  const auto daemon = std::make_unique<Daemon>(config, file);
  return daemon->run();
}

}  // namespace pawld
