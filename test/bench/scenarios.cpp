// The scenarios on Pawl, using only its public headers.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include <time.h>

#include "alloc_count.hpp"
#include "machine.hpp"
#include "processes.hpp"
#include "work.hpp"

namespace bench {
namespace {

constexpr std::uint64_t kSessions = 8;
constexpr std::uint64_t kFurtherSteps = 200;
constexpr char kAnHour[] = "3600000";

pawl::Status keep_steps(Machine& machine, std::uint64_t steps, const char* step) {
  machine.figures.steps = steps;
  machine.figures.step = step;
  return pawl::Status::kOk;
}

// Sets the options so that one history of `events` events stays in memory.
void fit_history(std::size_t events, pawl::Options* options) {
  options->limits.history_events_max = static_cast<std::uint32_t>(events + 16);
  options->limits.warm_bytes =
      std::max<std::size_t>((events + 16) * 512, options->limits.warm_bytes);
}

// ---- many at once ----

pawl::Status all_at_once(Machine& machine, const char* name, std::uint64_t steps_each,
                         const char* step) {
  const std::size_t n = machine.setup.n;
  machine.figures.latencies_ms.reserve(n);
  machine.keep_latencies = true;
  machine.begin();
  for (std::uint64_t i = 0; i < n; ++i) {
    char session[32];
    std::snprintf(session, sizeof(session), "session-%llu",
                  static_cast<unsigned long long>(i % kSessions));
    PAWL_TRY(machine.start_one(i, name, std::string_view(name) == "hello" ? "world" : session));
  }
  PAWL_TRY(machine.run_to_ends(n));
  machine.end();
  return keep_steps(machine, n * steps_each, step);
}

pawl::Status run_hello(Machine& machine) {
  return all_at_once(machine, "hello", 1, "orchestration");
}

struct CallersWatch {
  Machine* machine;
  std::uint64_t started;
  pawl::Status status;

  // Starts a new one for each that ended.
  bool look() {
    const std::uint64_t n = machine->setup.n;
    const std::uint64_t wanted = std::min<std::uint64_t>(n, machine->ends() + machine->setup.batch);
    for (; started < wanted && status == pawl::Status::kOk; ++started)
      status = machine->start_one(started, "hello", "world");
    return status != pawl::Status::kOk || machine->ends() >= n;
  }
};

pawl::Status run_callers(Machine& machine) {
  CallersWatch watch{&machine, 0, pawl::Status::kOk};
  machine.begin();
  static_cast<void>(watch.look());
  const pawl::Status status = machine.runtime().run_for(
      std::chrono::seconds(3'600),
      [](void* given) noexcept { return static_cast<CallersWatch*>(given)->look(); }, &watch);
  machine.end();
  PAWL_TRY(watch.status);
  PAWL_TRY(machine.explain("callers", status, machine.runtime().error_text()));
  return keep_steps(machine, machine.setup.n, "orchestration");
}

pawl::Status run_session(Machine& machine) {
  return all_at_once(machine, "pinned", kPinnedSteps, "activity");
}
pawl::Status run_plain(Machine& machine) {
  return all_at_once(machine, "plain", kPinnedSteps, "activity");
}

// ---- one at a time ----

pawl::Status run_latency(Machine& machine) {
  const std::size_t n = machine.setup.n;
  machine.figures.latencies_ms.reserve(n);
  machine.keep_latencies = true;
  machine.begin();
  for (std::uint64_t i = 0; i < n; ++i) {
    machine.since_ms = now_ms();
    PAWL_TRY(machine.start_one(i, "hello", "world"));
    PAWL_TRY(machine.run_to_ends(i + 1));
  }
  machine.end();
  return keep_steps(machine, n, "orchestration");
}

// N times by a Client on another thread, as from another process: its commit, then the bell.
using ClientStep = pawl::Status (*)(pawl::Client&, std::uint64_t number);

pawl::Status by_client(Machine& machine, ClientStep step) {
  const std::size_t n = machine.setup.n;
  std::vector<double>& latencies_ms = machine.figures.latencies_ms;
  latencies_ms.reserve(n);
  pawl::ClientOptions options;
  options.database_path = machine.setup.database;
  options.database = machine.server();
  options.synchronous_full = machine.setup.synchronous_full;
  const Block block(pawl::Client::required_memory(options));
  pawl::posix::SystemPort port;
  pawl::Client client;
  pawl::Diagnostic diagnostic;
  const pawl::Status opened =
      client.open(machine.process(), options, port.port(), block.get(), block.size(), diagnostic);
  PAWL_TRY(machine.explain("open of the client", opened, diagnostic.text()));
  pawl::Status status = pawl::Status::kOk;
  machine.begin();
  std::thread caller;
  const auto call = [&] {
    for (std::uint64_t i = 0; i < n && status == pawl::Status::kOk; ++i) {
      const double begin_ms = now_ms();
      status = step(client, i);
      latencies_ms.push_back(now_ms() - begin_ms);
    }
    machine.runtime().request_stop();
  };
  {
    const AllocBody body;
    caller = std::thread(call);
  }
  while (!machine.runtime().stop_requested() && status == pawl::Status::kOk)
    static_cast<void>(machine.runtime().run_for(std::chrono::seconds(60)));
  caller.join();
  machine.end();
  PAWL_TRY(machine.explain("client", status, client.error_text()));
  machine.figures.commits += n;  // the Client's own commits
  return pawl::Status::kOk;
}

pawl::Status run_latency_client(Machine& machine) {
  const ClientStep step = [](pawl::Client& client, std::uint64_t number) {
    char id[32];
    std::snprintf(id, sizeof(id), "hello-%llu", static_cast<unsigned long long>(number));
    PAWL_TRY(client.start_orchestration("hello", pawl::InstanceId(id), "world"));
    pawl::OrchestrationStatus end;
    return client.wait_for_orchestration(id, std::chrono::seconds(60), &end);
  };
  PAWL_TRY(by_client(machine, step));
  return keep_steps(machine, machine.setup.n, "orchestration");
}

pawl::Status run_call(Machine& machine) {
  PAWL_TRY(machine.start_one(0, "answerer", ""));
  PAWL_TRY(machine.run_to_turns(1));
  const ClientStep step = [](pawl::Client& client, std::uint64_t number) {
    char key[32];
    std::snprintf(key, sizeof(key), "%llu", static_cast<unsigned long long>(number));
    pawl::SendOptions options;
    options.key = key;
    pawl::CallAnswer answer;
    PAWL_TRY(
        client.call("answerer-0", "asked", "world", std::chrono::seconds(60), &answer, options));
    return answer.value.view() == "Hello, world!" ? pawl::Status::kOk : pawl::Status::kCorrupt;
  };
  PAWL_TRY(by_client(machine, step));
  return keep_steps(machine, machine.setup.n, "call");
}

double mean(const double* values, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    sum += values[i];
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

// Makes latencies from the times between the beginnings of activities.
void steps_to_latencies(const std::vector<double>& times, std::size_t from, Figures* figures) {
  for (std::size_t i = from + 1; i < times.size(); ++i)
    figures->latencies_ms.push_back(times[i] - times[i - 1]);
}

void chain_options(const Setup& setup, pawl::Options* options) {
  fit_history(2 * setup.n, options);
}

pawl::Status run_chain(Machine& machine) {
  const std::size_t n = machine.setup.n;
  Figures& figures = machine.figures;
  std::vector<double> times;
  times.reserve(n + 1);
  figures.latencies_ms.reserve(n + 1);
  step_times = &times;
  machine.begin();
  PAWL_TRY(machine.start_one(0, "chain", std::to_string(n)));
  PAWL_TRY(machine.run_to_ends(1));
  machine.end();
  step_times = nullptr;
  steps_to_latencies(times, 0, &figures);
  const std::vector<double>& steps = figures.latencies_ms;
  if (steps.size() >= 200) {
    const std::vector<double> first(steps.begin(), steps.begin() + 100);
    const std::vector<double> last(steps.end() - 100, steps.end());
    figures.more.emplace_back("last_100_over_first_100_p50",
                              percentile(last, 50) / percentile(first, 50));
    figures.more.emplace_back("last_100_over_first_100_mean",
                              mean(last.data(), 100) / mean(first.data(), 100));
  }
  return keep_steps(machine, n, "activity");
}

void fanout_options(const Setup& setup, pawl::Options* options) {
  fit_history(2 * setup.n, options);
  options->limits.commands_a_turn_max = static_cast<std::uint32_t>(setup.n + 1);
}

pawl::Status run_fanout(Machine& machine) {
  machine.figures.latencies_ms.reserve(1);
  machine.keep_latencies = true;
  machine.begin();
  PAWL_TRY(machine.start_one(0, "fanout", std::to_string(machine.setup.n)));
  PAWL_TRY(machine.run_to_ends(1));
  machine.end();
  return keep_steps(machine, machine.setup.n, "activity");
}

// ---- the machine at rest ----

// From construction to stop(): how often the loop and any thread woke, and the processor time.
class Effort {
 public:
  explicit Effort(const Machine& machine)
      : machine_(machine),
        wakeups_(machine.stats().wakeups),
        sleeps_(sleeps()),
        cpu_ms_(cpu_ms()),
        begin_ms_(now_ms()) {}

  // `own`: the number of returns from sleep that the measurement itself caused.
  void stop(std::uint64_t own) {
    cpu_ms_ = cpu_ms() - cpu_ms_;
    wakeups_ = machine_.stats().wakeups - wakeups_ - own;
    sleeps_ = sleeps() - sleeps_ - own;
    hours_ = (now_ms() - begin_ms_) / 3.6e6;
  }
  // Call it after Machine::end().
  void keep(Figures* figures) const {
    figures->more.emplace_back("wakeups", static_cast<double>(wakeups_));
    figures->more.emplace_back("cpu_ms", cpu_ms_);
    figures->more.emplace_back("measured_s", hours_ * 3'600);
    figures->more.emplace_back("wakeups_an_hour", static_cast<double>(wakeups_) / hours_);
    figures->more.emplace_back("sleeps_an_hour", static_cast<double>(sleeps_) / hours_);
    figures->more.emplace_back("cpu_ms_an_hour", cpu_ms_ / hours_);
    figures->more.emplace_back("fsyncs_an_hour", static_cast<double>(figures->io.fsyncs) / hours_);
  }

 private:
  const Machine& machine_;
  std::uint64_t wakeups_;
  std::uint64_t sleeps_;
  double cpu_ms_;
  double begin_ms_;
  double hours_ = 0;
};

// ---- timers and events ----

// Looks at the clock after every tick. An instance that ended in the tick was due when the Runtime
// last said so, or later.
struct DueWatch {
  Machine* machine;
  std::uint64_t wanted;
  std::uint64_t seen;
  double due_ms;

  bool look() {
    const double now = boot_now_ms();
    for (; seen < machine->ends(); ++seen)
      machine->figures.latencies_ms.push_back(now - due_ms);
    const pawl::OptionalMs due = machine->runtime().next_due();
    // Due at once: the due time noted before still holds.
    if (due.value_or(0) > 0) due_ms = static_cast<double>(due.value());
    return seen >= wanted;
  }
};

// Starts one instance for each number from `first` on, whose timers are due `lead_ms` from now.
using StartTimers = pawl::Status (*)(Machine& machine, std::uint64_t first, std::int64_t lead_ms);

// Sets all timers before the first is due. On a machine too slow for that, it sets others with a
// longer lead.
pawl::Status set_timers(Machine& machine, StartTimers start, std::int64_t* lead_ms) {
  constexpr std::int64_t kLongestLeadMs = 1'000'000;
  const std::uint64_t n = machine.setup.n;
  std::uint64_t first = 0;
  for (*lead_ms = static_cast<std::int64_t>(machine.setup.lead_ms); *lead_ms <= kLongestLeadMs;
       *lead_ms *= 4, first += n) {
    const std::uint64_t ends = machine.ends();
    const std::uint64_t turns = machine.stats().turns;
    PAWL_TRY(start(machine, first, *lead_ms));
    PAWL_TRY(machine.run_to_turns(turns + n));
    if (machine.ends() == ends) return pawl::Status::kOk;
    PAWL_TRY(machine.run_to_ends(ends + n));
  }
  return machine.explain("timers", pawl::Status::kTimeout, "due before all were set");
}

pawl::Status start_sleepers(Machine& machine, std::uint64_t first, std::int64_t lead_ms) {
  const std::uint64_t n = machine.setup.n;
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto ms = static_cast<std::uint64_t>(lead_ms) + i * 1'000 / n;
    PAWL_TRY(machine.start_one(first + i, "sleeper", std::to_string(ms)));
  }
  return pawl::Status::kOk;
}

pawl::Status run_timer(Machine& machine) {
  const std::size_t n = machine.setup.n;
  std::int64_t lead_ms = 0;
  PAWL_TRY(set_timers(machine, start_sleepers, &lead_ms));
  machine.figures.latencies_ms.reserve(n);
  DueWatch watch{&machine, machine.ends() + n, machine.ends(), boot_now_ms()};
  machine.begin();
  const pawl::Status status = machine.runtime().run_for(
      std::chrono::milliseconds(60'000 + lead_ms),
      [](void* given) noexcept { return static_cast<DueWatch*>(given)->look(); }, &watch);
  machine.end();
  PAWL_TRY(machine.explain("timers", status, machine.runtime().error_text()));
  return keep_steps(machine, n, "timer");
}

std::int64_t wall_now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

pawl::Status start_until(Machine& machine, std::uint64_t first, std::int64_t lead_ms) {
  const std::string due = std::to_string(wall_now_ms() + lead_ms);
  for (std::uint64_t i = 0; i < machine.setup.n; ++i)
    PAWL_TRY(machine.start_one(first + i, "until", due));
  return pawl::Status::kOk;
}

pawl::Status run_burst(Machine& machine) {
  const std::size_t n = machine.setup.n;
  std::int64_t lead_ms = 0;
  PAWL_TRY(set_timers(machine, start_until, &lead_ms));
  // No runtime ticks until all timers are due: all were set before now.
  const std::int64_t all_due_ms = wall_now_ms() + lead_ms;
  while (wall_now_ms() < all_due_ms) {
    timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  const std::uint64_t ends = machine.ends();
  machine.figures.latencies_ms.reserve(n);
  machine.keep_latencies = true;
  machine.begin();
  PAWL_TRY(machine.run_to_ends(ends + n));
  machine.end();
  return keep_steps(machine, n, "timer");
}

pawl::Status run_event(Machine& machine) {
  const std::size_t n = machine.setup.n;
  PAWL_TRY(machine.start_many(n, "listener", ""));
  PAWL_TRY(machine.run_to_turns(n));
  machine.figures.latencies_ms.reserve(n);
  machine.keep_latencies = true;
  machine.begin();
  for (std::uint64_t i = 0; i < n; ++i) {
    char id[32];
    std::snprintf(id, sizeof(id), "listener-%llu", static_cast<unsigned long long>(i));
    machine.since_ms = now_ms();
    const pawl::Status raised = machine.runtime().raise_event(id, "go", "x");
    PAWL_TRY(machine.explain("raise", raised, machine.runtime().error_text()));
    PAWL_TRY(machine.run_to_ends(i + 1));
  }
  machine.end();
  return keep_steps(machine, n, "event");
}

// ---- load for some time ----

void stress_options(const Setup& setup, pawl::Options* options) {
  options->slots.threads = static_cast<std::uint32_t>(setup.slots);
  options->slots.inline_activities = 1;
}

struct StressWatch {
  Machine* machine;
  double end_ms;
  std::uint64_t started;
  std::uint64_t at_end;
  pawl::Status status;

  // Starts a new instance for every one that ended, until the time is over.
  bool look() {
    if (now_ms() >= end_ms) return true;
    for (; started < machine->ends() + kStressAtOnce && status == pawl::Status::kOk; ++started)
      status = machine->start_one(started, "naps", "");
    return status != pawl::Status::kOk;
  }
  static constexpr std::uint64_t kStressAtOnce = 20;
};

pawl::Status run_stress(Machine& machine) {
  constexpr double kActivitiesEach = 5;
  constexpr double kNapMs = 10;
  StressWatch watch{&machine, now_ms() + static_cast<double>(machine.setup.n) * 1e3, 0, 0,
                    pawl::Status::kOk};
  static_cast<void>(watch.look());
  machine.begin();
  const pawl::Status status = machine.runtime().run_for(
      std::chrono::seconds(3'600),
      [](void* given) noexcept { return static_cast<StressWatch*>(given)->look(); }, &watch);
  machine.end();
  PAWL_TRY(watch.status);
  PAWL_TRY(machine.explain("stress", status, machine.runtime().error_text()));
  Figures& figures = machine.figures;
  const double at_once = std::min(static_cast<double>(machine.setup.slots),
                                  kActivitiesEach * StressWatch::kStressAtOnce);
  const double allowed = at_once / kNapMs * 1e3 * figures.wall_s;
  figures.more.emplace_back("slots", static_cast<double>(machine.setup.slots));
  figures.more.emplace_back("share_of_allowed", static_cast<double>(figures.activities) / allowed);
  figures.more.emplace_back("failed", static_cast<double>(machine.stats().orchestrations_failed));
  const std::uint64_t done = figures.activities;
  PAWL_TRY(machine.run_to_ends(watch.started));
  return keep_steps(machine, done, "activity");
}

void sensors_options(const Setup& setup, pawl::Options* options) {
  constexpr std::uint64_t kEventsASample = 4;
  options->limits.history_events_max = static_cast<std::uint32_t>(kEventsASample * setup.n + 16);
}

pawl::Status run_sensors(Machine& machine) {
  constexpr std::uint64_t kSensors = 10;
  constexpr double kSecondsADay = 86'400;
  const std::size_t n = machine.setup.n;
  machine.begin();
  Effort effort(machine);
  for (std::uint64_t i = 0; i < kSensors; ++i)
    PAWL_TRY(machine.start_one(i, "sensor", std::to_string(n) + " " + std::to_string(100 * i)));
  PAWL_TRY(machine.run_to_ends(kSensors));
  effort.stop(0);
  machine.end();
  Figures& figures = machine.figures;
  effort.keep(&figures);
  const double days = figures.wall_s / kSecondsADay;
  figures.more.emplace_back("window_ms", static_cast<double>(machine.setup.window_ms));
  figures.more.emplace_back("fsyncs_a_day", static_cast<double>(figures.io.fsyncs) / days);
  figures.more.emplace_back("megabytes_a_day",
                            static_cast<double>(figures.io.bytes_written) / 1e6 / days);
  return keep_steps(machine, kSensors * n, "sample");
}

// ---- parked ----

void idle_options(const Setup&, pawl::Options* options) {
  options->sessions.max_sessions_per_worker = 10;
}

pawl::Status run_idle(Machine& machine) {
  constexpr std::int64_t kSettleMs = 7'000;  // longer than the looks that follow a commit
  constexpr std::uint64_t kOwned = 10;
  PAWL_TRY(machine.start_many(machine.setup.n, "sleeper", kAnHour));
  PAWL_TRY(machine.run_to_turns(machine.setup.n));
  for (std::uint64_t i = 0; i < kOwned; ++i)
    PAWL_TRY(machine.start_one(i, "pinned", "session-" + std::to_string(i)));
  PAWL_TRY(machine.run_to_ends(kOwned));
  static_cast<void>(machine.runtime().run_for(std::chrono::milliseconds(kSettleMs)));
  const std::chrono::seconds measured(static_cast<std::int64_t>(machine.setup.seconds));
  machine.begin();
  Effort effort(machine);
  static_cast<void>(machine.runtime().run_for(measured));
  effort.stop(1);  // the last return from sleep is the end of the measurement itself
  machine.end();
  effort.keep(&machine.figures);
  return keep_steps(machine, 1, "run");
}

pawl::Status run_instances(Machine& machine) {
  const std::size_t n = machine.setup.n;
  Figures& figures = machine.figures;
  machine.begin();
  PAWL_TRY(machine.start_many(n, "sleeper", kAnHour));
  PAWL_TRY(machine.run_to_turns(n));
  machine.end();
  PAWL_TRY(machine.stop());
  const double begin_ms = now_ms();
  PAWL_TRY(machine.start(machine.default_options()));
  static_cast<void>(machine.runtime().tick(std::chrono::seconds(1)));
  figures.more.emplace_back("restart_ms", now_ms() - begin_ms);
  const IoCounts before = io_counts();
  const std::uint64_t commits = machine.stats().commits;
  const double one_begin_ms = now_ms();
  PAWL_TRY(machine.start_one(n, "sleeper", kAnHour));
  PAWL_TRY(machine.run_to_turns(1));
  figures.more.emplace_back("one_more_ms", now_ms() - one_begin_ms);
  figures.more.emplace_back("one_more_commits",
                            static_cast<double>(machine.stats().commits - commits));
  figures.more.emplace_back("one_more_bytes",
                            static_cast<double>(io_counts().bytes_written - before.bytes_written));
  return keep_steps(machine, n, "instance");
}

// ---- growth: the cost of 200 further steps after N existing rows ----

// Runs a chain and does not measure its first steps.
pawl::Status run_steps(Machine& machine, std::size_t before, const char* name,
                       const std::string& input) {
  std::vector<double> times;
  times.reserve(before + kFurtherSteps + 1);
  machine.figures.latencies_ms.reserve(kFurtherSteps);
  step_times = &times;
  const std::uint64_t ends = machine.ends();
  PAWL_TRY(machine.start_one(machine.setup.n, name, input));
  const std::uint64_t turns = machine.stats().turns;
  PAWL_TRY(machine.run_to_turns(turns + before + 1));
  machine.begin();
  PAWL_TRY(machine.run_to_ends(ends + 1));
  machine.end();
  step_times = nullptr;
  steps_to_latencies(times, before, &machine.figures);
  machine.figures.more.emplace_back(
      "mean_ms", mean(machine.figures.latencies_ms.data(), machine.figures.latencies_ms.size()));
  return keep_steps(machine, kFurtherSteps, "activity");
}

pawl::Status run_behind_instances(Machine& machine) {
  PAWL_TRY(machine.start_many(machine.setup.n, "sleeper", kAnHour));
  PAWL_TRY(machine.run_to_turns(machine.setup.n));
  return run_steps(machine, 0, "chain", std::to_string(kFurtherSteps));
}

void behind_history_options(const Setup& setup, pawl::Options* options) {
  fit_history(setup.n + 2 * kFurtherSteps, options);
}
pawl::Status run_behind_history(Machine& machine) {
  const std::size_t before = machine.setup.n / 2;
  return run_steps(machine, before, "chain", std::to_string(before + kFurtherSteps));
}

void behind_sessions_options(const Setup& setup, pawl::Options* options) {
  options->sessions.max_sessions_per_worker = static_cast<std::uint32_t>(setup.n + 1);
}
pawl::Status run_behind_sessions(Machine& machine) {
  for (std::uint64_t i = 0; i < machine.setup.n; ++i)
    PAWL_TRY(machine.start_one(i, "pinned", "session-" + std::to_string(i)));
  PAWL_TRY(machine.run_to_ends(machine.setup.n));
  return run_steps(machine, 0, "chain_on", "session-0 " + std::to_string(kFurtherSteps));
}

// The queue holds work of one session that this worker must not claim.
void behind_queue_options(const Setup&, pawl::Options* options) {
  options->sessions.max_sessions_per_worker = 0;
}
pawl::Status run_behind_queue(Machine& machine) {
  for (std::uint64_t i = 0; i < machine.setup.n; ++i)
    PAWL_TRY(machine.start_one(i, "pinned", "absent"));
  PAWL_TRY(machine.run_to_turns(machine.setup.n));
  return run_steps(machine, 0, "chain", std::to_string(kFurtherSteps));
}

// ---- the table ----

struct Scenario {
  const char* name;
  const char* what;
  pawl::Status (*run)(Machine&);
  void (*options)(const Setup&, pawl::Options*);
};

constexpr Scenario kScenarios[] = {
    {"hello", "N orchestrations of 1 activity, all started at once", run_hello, nullptr},
    {"callers", "N hellos, --batch of them at once: each that ends starts another", run_callers,
     nullptr},
    {"chain", "1 orchestration of N sequential activities; latencies are those of a step",
     run_chain, chain_options},
    {"fanout", "1 orchestration of N activities at once, joined", run_fanout, fanout_options},
    {"session", "N orchestrations of 5 sequential activities on one of 8 sessions", run_session,
     nullptr},
    {"plain", "the same without sessions", run_plain, nullptr},
    {"latency", "N times: start a hello, wait for it, then the next", run_latency, nullptr},
    {"latency_client", "the same by a Client on another thread", run_latency_client, nullptr},
    {"call", "N times: a Client on another thread asks, and one instance answers", run_call,
     nullptr},
    {"event", "N times: raise an event that one instance waits for, until that has ended",
     run_event, nullptr},
    {"timer", "N timers due over 1 s; latencies are from due to commit", run_timer, nullptr},
    {"burst", "N timers that are all due when the loop looks", run_burst, nullptr},
    {"stress", "for N s: 20 orchestrations of 5 activities of 10 ms at once, in --slots slots",
     run_stress, stress_options},
    {"sensors", "ten sensors that are read once a second, N times each", run_sensors,
     sensors_options},
    {"idle", "--seconds with N parked instances and 10 owned sessions", run_idle, idle_options},
    {"instances", "N instances parked; a new start of the runtime; one instance more",
     run_instances, nullptr},
    {"behind_instances", "200 steps of a chain beside N parked instances", run_behind_instances,
     nullptr},
    {"behind_history", "200 steps of a chain behind N events of history", run_behind_history,
     behind_history_options},
    {"behind_sessions", "200 steps on a session beside N owned ones", run_behind_sessions,
     behind_sessions_options},
    {"behind_queue", "200 steps of a chain beside N activities of a session nobody may own",
     run_behind_queue, behind_queue_options},
};

}  // namespace

std::vector<Name> scenario_list() {
  std::vector<Name> names;
  for (const Scenario& scenario : kScenarios)
    names.push_back({scenario.name, scenario.what});
  const std::vector<Name> others = process_scenario_list();
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

bool run_pawl(const Setup& setup, Figures* figures, std::string* error) {
  for (const Scenario& scenario : kScenarios) {
    if (setup.scenario != scenario.name) continue;
    Machine machine(setup, *figures);
    const pawl::Status status = [&] {
      PAWL_TRY(machine.start_process());
      pawl::Options options = machine.default_options();
      if (scenario.options != nullptr) scenario.options(setup, &options);
      PAWL_TRY(machine.start(options));
      PAWL_TRY(scenario.run(machine));
      return machine.stop();
    }();
    *error = machine.error();
    return status == pawl::Status::kOk && error->empty();
  }
  return run_processes(setup, figures, error);
}

}  // namespace bench
