// The scenarios on Pawl, through its public headers only.
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "alloc_count.hpp"
#include "measure.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"

namespace bench {
namespace {

constexpr std::int64_t kPatienceMs = 3'600'000;
constexpr std::uint64_t kSessions = 8;
constexpr std::uint64_t kSessionSteps = 5;

// ---- the work -------------------------------------------------------------------------------------

// When each activity of `chain` began; room for all is there before the start.
std::vector<double>* step_times = nullptr;

pawl::ActivityResult greet(pawl::ActivityContext& ctx) {
  const AllocBody body;
  char text[64];
  const std::string_view name = ctx.input();
  const int size =
      std::snprintf(text, sizeof(text), "Hello, %.*s!",
                    static_cast<int>(name.size() < 32 ? name.size() : 32), name.data());
  return ctx.ok({text, static_cast<std::size_t>(size)});
}

pawl::ActivityResult step(pawl::ActivityContext& ctx) {
  const AllocBody body;
  if (step_times != nullptr && step_times->size() < step_times->capacity()) {
    step_times->push_back(now_ms());
  }
  return ctx.ok(ctx.input());
}

pawl::Poll hello(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(greeting, ctx.schedule_activity("greet", ctx.input()));
  if (!greeting.ok()) return ctx.fail(greeting.error());
  return ctx.complete(greeting.value());
}

bool read_count(std::string_view text, std::uint64_t* out) {
  *out = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return false;
    *out = *out * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return !text.empty();
}

pawl::Poll chain(pawl::OrchestrationContext& ctx) {
  std::uint64_t steps = 0;
  if (!read_count(ctx.input(), &steps)) return ctx.fail("the input is no number");
  for (std::uint64_t i = 0; i < steps; ++i) {
    PAWL_AWAIT(done, ctx.schedule_activity("step", "x"));
    if (!done.ok()) return ctx.fail(done.error());
  }
  return ctx.complete("done");
}

// The input is the name of the session.
pawl::Poll pinned(pawl::OrchestrationContext& ctx) {
  for (std::uint64_t i = 0; i < kSessionSteps; ++i) {
    PAWL_AWAIT(done, ctx.schedule_activity_on_session("step", "x", ctx.input()));
    if (!done.ok()) return ctx.fail(done.error());
  }
  return ctx.complete("done");
}

// ---- the machine ----------------------------------------------------------------------------------

// Pages that were never touched do not count as resident, so a generous block costs nothing.
class Block {
 public:
  explicit Block(std::size_t bytes)
      : bytes_(bytes),
        memory_(::mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0)) {}
  ~Block() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, bytes_ + 1);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] void* get() const { return memory_ == MAP_FAILED ? nullptr : memory_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* memory_;
};

pawl::Options options_of(const Setup& setup) {
  pawl::Options options;
  options.database_path = setup.database.c_str();
  options.synchronous_full = setup.synchronous_full;
  if (setup.scenario == "chain") {
    // Two events a step, and the whole history stays in memory.
    options.history_events_max = static_cast<std::uint32_t>(2 * setup.n + 16);
    const std::size_t history = (2 * setup.n + 16) * 512;
    options.warm_bytes = history > options.warm_bytes ? history : options.warm_bytes;
  }
  return options;
}

std::string explain(const char* what, pawl::Status status, std::string_view text) {
  return std::string(what) + ": " + pawl::status_name(status) + ": " + std::string(text);
}

// Counts ends as the loop commits them, and when they were seen.
struct Watch {
  const pawl::Runtime* runtime = nullptr;
  std::uint64_t wanted = 0;
  std::uint64_t seen = 0;
  double begin_ms = 0;
  std::vector<double>* latencies_ms = nullptr;  // null: not of this scenario

  bool done() {
    const pawl::RuntimeStats& stats = runtime->stats();
    const std::uint64_t ended = stats.orchestrations_completed + stats.orchestrations_failed;
    const double age_ms = now_ms() - begin_ms;
    for (; seen < ended; ++seen) {
      if (latencies_ms != nullptr && latencies_ms->size() < latencies_ms->capacity()) {
        latencies_ms->push_back(age_ms);
      }
    }
    return seen >= wanted;
  }
  static bool done_of(void* watch) { return static_cast<Watch*>(watch)->done(); }
};

// A call that rides on a tick: when as many wait as may, a tick takes them.
pawl::Status start_one(pawl::Runtime& runtime, Watch& watch, std::uint64_t number, const char* name,
                       std::string_view input) {
  char id[32];
  std::snprintf(id, sizeof(id), "%s-%llu", name, static_cast<unsigned long long>(number));
  for (;;) {
    const pawl::Status status = runtime.start_orchestration(id, name, input);
    if (status != pawl::Status::kResourceExhausted) return status;
    const pawl::Result<bool> ticked = runtime.tick(1'000);
    if (!ticked.ok()) return ticked.status();
    static_cast<void>(watch.done());
  }
}

pawl::Status start_all(const Setup& setup, pawl::Runtime& runtime, Watch& watch) {
  if (setup.scenario == "chain") {
    char steps[32];
    std::snprintf(steps, sizeof(steps), "%llu", static_cast<unsigned long long>(setup.n));
    return start_one(runtime, watch, 0, "chain", steps);
  }
  for (std::uint64_t i = 0; i < setup.n; ++i) {
    char session[32];
    std::snprintf(session, sizeof(session), "session-%llu",
                  static_cast<unsigned long long>(i % kSessions));
    PAWL_TRY(setup.scenario == "session" ? start_one(runtime, watch, i, "pinned", session)
                                         : start_one(runtime, watch, i, "hello", "world"));
  }
  return pawl::Status::kOk;
}

pawl::Status run_until(pawl::Runtime& runtime, Watch& watch) {
  if (watch.done()) return pawl::Status::kOk;
  PAWL_TRY(runtime.run_for(kPatienceMs, Watch::done_of, &watch));
  return watch.done() ? pawl::Status::kOk : pawl::Status::kTimeout;
}

pawl::Status run_latency(const Setup& setup, pawl::Runtime& runtime, Watch& watch) {
  for (std::uint64_t i = 0; i < setup.n; ++i) {
    watch.wanted = i + 1;
    watch.begin_ms = now_ms();
    PAWL_TRY(start_one(runtime, watch, i, "hello", "world"));
    PAWL_TRY(run_until(runtime, watch));
  }
  return pawl::Status::kOk;
}

pawl::Status run_throughput(const Setup& setup, pawl::Runtime& runtime, Watch& watch) {
  watch.wanted = setup.scenario == "chain" ? 1 : setup.n;
  watch.begin_ms = now_ms();
  PAWL_TRY(start_all(setup, runtime, watch));
  return run_until(runtime, watch);
}

void steps_to_latencies(const std::vector<double>& times, std::vector<double>* latencies_ms) {
  for (std::size_t i = 1; i < times.size(); ++i)
    latencies_ms->push_back(times[i] - times[i - 1]);
}

}  // namespace

bool run_pawl(const Setup& setup, Figures* figures, std::string* error) {
  pawl::Diagnostic diagnostic;
  pawl::Process process;
  const pawl::ProcessOptions process_options;
  const Block process_block(pawl::Process::required_memory(process_options));
  pawl::Status status =
      process.start(process_options, process_block.get(), process_block.size(), diagnostic);
  if (status != pawl::Status::kOk) {
    *error = explain("start of the process", status, diagnostic.text());
    return false;
  }

  pawl::Registry registry;
  if (registry.add_activity("greet", greet) != pawl::Status::kOk ||
      registry.add_activity("step", step) != pawl::Status::kOk ||
      registry.add_orchestration("hello", hello) != pawl::Status::kOk ||
      registry.add_orchestration("chain", chain) != pawl::Status::kOk ||
      registry.add_orchestration("pinned", pinned) != pawl::Status::kOk) {
    *error = "registration failed";
    return false;
  }

  const pawl::Options options = options_of(setup);
  const Block block(pawl::Runtime::required_memory(options));
  pawl::posix::SystemPort port;
  pawl::Runtime runtime;
  status =
      runtime.start(process, registry, options, port.port(), block.get(), block.size(), diagnostic);
  if (status != pawl::Status::kOk) {
    *error = explain("start of the runtime", status, diagnostic.text());
    return false;
  }

  const bool is_chain = setup.scenario == "chain";
  std::vector<double> times;
  times.reserve(setup.n + 1);
  figures->latencies_ms.reserve(setup.n + 1);
  if (is_chain) step_times = &times;
  Watch watch;
  watch.runtime = &runtime;
  watch.latencies_ms = is_chain ? nullptr : &figures->latencies_ms;
  const pawl::RuntimeStats before = runtime.stats();
  Measurement measurement;
  status = setup.scenario == "latency" ? run_latency(setup, runtime, watch)
                                       : run_throughput(setup, runtime, watch);
  measurement.end(figures);
  step_times = nullptr;
  const pawl::RuntimeStats after = runtime.stats();

  if (status != pawl::Status::kOk) {
    *error = explain("run", status, runtime.error_text());
    return false;
  }
  if (after.orchestrations_failed > 0) {
    *error = std::to_string(after.orchestrations_failed) + " orchestrations failed";
    return false;
  }
  if (is_chain) steps_to_latencies(times, &figures->latencies_ms);
  figures->commits = after.commits - before.commits;
  figures->orchestrations = after.orchestrations_completed - before.orchestrations_completed;
  figures->activities = after.activities_completed - before.activities_completed;
  status = runtime.stop(10'000);
  if (status == pawl::Status::kOk) return true;
  *error = explain("stop", status, runtime.error_text());
  return false;
}

}  // namespace bench
