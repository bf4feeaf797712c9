// pawl::testing: unit tests of orchestrations and activities, without threads and without sleeping.
//
// Purpose: a World is a simulated machine (port_sim.hpp) with one process that runs the real
// Runtime on a real database in simulated files. Time stands still except in the calls that move
// it, so a test of a week takes milliseconds, and a crash can be put behind any write to the disk.
// It is deterministic: the same program and seed do the same, down to the ids. It works under any
// test framework and in a plain main(). Link pawl::testing. Ownership: a World owns all it makes;
// the Registry and the targets of Options' pointers outlive it. Memory: this is for tests, so all
// of it lies on the heap, unlike in the library.
// Thread rule: one thread; kThreaded activities run on it too, between two ticks.
#ifndef PAWL_TESTING_HPP
#define PAWL_TESTING_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pawl/pawl.hpp"
#include "pawl/port_sim.hpp"
#pragma GCC visibility push(default)

namespace pawl::testing {

// The memory of an object that wants a block. It is declared before the object, so that it outlives
// it.
class Block {
 public:
  explicit Block(std::size_t bytes)
      : bytes_(bytes), data_(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {}
  ~Block() { std::free(data_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] void* data() { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* data_;
};

// The Process of the whole test program, with room for eight Runtimes and Clients: SQLite's memory
// is global, so it is started with the first call and never stopped.
// Returns kOk; kAlreadyExists: the program has started a Process of its own; give that to each
// World.
Status shared_process(Process** out, Diagnostic& diagnostic);

// Keeps every line of a log as "level event key=value ...".
class Lines final : public LogSink {
 public:
  // Implements LogSink.
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) noexcept override;
  // The number of lines with this text in them.
  [[nodiscard]] std::size_t count(std::string_view part) const;
  // All lines, each with a newline behind it.
  [[nodiscard]] std::string all() const;

 private:
  std::vector<std::string> lines_;
};

// ---- errors that a test announces ----
// Lines of the log at level error (tick_rolled_back, row_quarantined, instance_stopped and so on)
// are counted by event, for all Workers and Worlds of the program, and for each ErrorWatch;
// `busy_tick` counts ticks of a Worker that did not get the write lock. A test announces those that
// it causes, and its end asks whether anything else came. Thread rule: any thread.

// Announces that so many more of this event will come, exactly, or from `least` to `most`.
void expect_errors(std::string_view event, std::size_t count = 1);
void expect_errors(std::string_view event, std::size_t least, std::size_t most);
// The differences from that since the last call: for each event a text like "tick_rolled_back: 1,
// not 0: error tick_rolled_back status=..."; empty: there are none. A Worker's errors are complete
// once it is destroyed. Forgets all that came and all that was expected.
std::vector<std::string> unexpected_errors();

// Counts errors, and hands every line on. A Worker has one of its own.
class ErrorWatch final : public LogSink {
 public:
  // `next` gets the lines; null: they end here.
  explicit ErrorWatch(LogSink* next = nullptr) : next_(next) {}
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) noexcept override;
  [[nodiscard]] bool takes(LogLevel level) const noexcept override {
    return level == LogLevel::kError || (next_ != nullptr && next_->takes(level));
  }
  // hold() is for a process that will die in the middle of a write: a killed one would not have
  // logged that the write failed, so errors are not counted until release() says that it lives.
  void hold() { is_held_ = true; }
  void release();

 private:
  LogSink* next_;
  bool is_held_ = false;
  std::vector<std::pair<std::string, std::string>> held_;  // events and lines
};

// An activity that gives prepared answers and keeps its inputs.
class FakeActivity {
 public:
  // These give the answers of the attempts in their order, for any instance; the last one also
  // serves all further attempts. Without any, the answer is success with an empty result.
  FakeActivity& returns(std::string_view result);
  FakeActivity& fails(std::string_view text);
  // Gives an answer that is made when it is asked for. The fake has a copy of the code, with its
  // captures; a thing that it captured by reference must outlive the fake.
  FakeActivity& does(std::function<ActivityResult(ActivityContext&)> code);
  // Gives a struct with a PAWL_JSON, as the result of a typed activity.
  template <typename T, typename = std::enable_if_t<!internal::kIsText<T> &&
                                                    !std::is_invocable_v<T, ActivityContext&>>>
  FakeActivity& returns(const T& result) {
    std::vector<char> memory(1024 * 1024);  // the largest payload_bytes_max
    const internal::Encoded<T> encoded({memory.data(), memory.size()}, result);
    return encoded.status() == Status::kOk ? returns(encoded.text()) : fails(encoded.why());
  }
  // Registers the fake under this name; it outlives the registry.
  // Returns the same as Registry::add_activity().
  Status add_to(Registry& registry, std::string_view name,
                ActivityMode mode = ActivityMode::kInline);
  // The number of its calls.
  [[nodiscard]] std::size_t calls() const { return inputs_.size(); }
  // The input of an attempt. Requires: `at` below calls().
  [[nodiscard]] const std::string& input(std::size_t at) const { return inputs_[at]; }

 private:
  struct Answer {
    bool ok = true;
    std::string text;
    std::function<ActivityResult(ActivityContext&)> code;  // instead of the text
  };
  static ActivityResult run(ActivityContext& context);
  std::vector<Answer> answers_;
  std::vector<std::string> inputs_;
};

// One simulated process with a Runtime: the part of a World, for tests that need several.
class Worker {
 public:
  // If Options::log is null, `lines` takes the log.
  Worker(sim::Machine& machine, const Registry& known, const Options& given);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  // Starts the Runtime; null: in the shared Process.
  // Returns the same as Runtime::start() and shared_process().
  Status start(Process* process = nullptr);
  // Kills the process (SIGKILL): the machine forgets it; the object is only freed.
  void kill();
  void stop() { static_cast<void>(runtime->stop(std::chrono::seconds(1))); }
  [[nodiscard]] bool running() const { return runtime != nullptr && !killed; }

  sim::Node node;
  Options options;
  const Registry& registry;
  Lines lines;
  ErrorWatch watch;
  Diagnostic diagnostic;
  std::unique_ptr<Block> memory;
  std::unique_ptr<Runtime> runtime;
  bool killed = false;
};

// Ticks the workers in turn until nothing is ready; then moves time to the next due and goes on,
// until `until` holds or `ms` of simulated time have passed. True: it holds.
bool drive(sim::Machine& machine, const std::vector<Worker*>& workers,
           const std::function<bool()>& until, std::int64_t ms);

// The crash of one run of for_each_crash(), for the World of that run.
struct PlannedCrash {
  std::uint64_t at = 0;      // the write at which the process dies; 0: it lives
  bool happened = false;     // set by the World
  std::uint64_t writes = 0;  // set by the World when it ends: World::writes()
};

struct WorldOptions {
  std::uint64_t seed = 1;  // decides guids and database ids, and the losses of a power cut
  // Leave database_path and worker_node_id empty: the World has its own. If log is null,
  // World::log() takes it.
  Options runtime;
  Process* process = nullptr;  // null: shared_process()
  // Each start() declares them, as a program that holds hardware does (Runtime::declare_session()).
  std::vector<std::string> devices;
  // The World dies at the write that it says, starts again by itself, and goes on in the call that
  // was under way, at the same moment. null: no crash is planned.
  PlannedCrash* crash = nullptr;
};

class World {
 public:
  static constexpr std::int64_t kDayMs = 86'400'000;  // the longest wait of the calls below

  explicit World(const Registry& registry, const WorldOptions& options = WorldOptions());
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // ---- life ----
  // Starts everything that does not run: the Runtime, and at first and after reboot() the Client.
  // Returns the same as Runtime::start() and Client::open(), with error_text().
  Status start();
  // Ends the Runtime in order; start() goes on.
  // Returns the same as Runtime::stop().
  Status stop();
  // The process of the Runtime dies at once, with all activities it has in hand.
  void crash();
  // The process dies in the middle of its n-th write or sync from now on, n from 1, which does not
  // reach the disk; 0: it no longer will. Whatever it does happens between two of these, so a test
  // that counts n up until nothing crashes any more has met every moment.
  void crash_at_write(std::uint64_t nth);
  // The number of writes and syncs so far that crash_at_write() counts: those of the Runtime while
  // it works. Opening the database is not among them, nor is what the Client writes.
  [[nodiscard]] std::uint64_t writes() const { return writes_; }
  // The Runtime declares a device, now and after each later start(), or withdraws it; this takes
  // effect with the next calls below.
  // Returns the same as Runtime::declare_session() and withdraw_session(); kOk if none runs.
  Status declare_device(std::string_view device);
  Status withdraw_device(std::string_view device);
  // Turns the power off for so long: all processes die. Views of the Client end, and start() makes
  // a new one.
  void reboot(std::int64_t off_ms);
  // Whether its Runtime runs: it was started, and has neither stopped nor died.
  [[nodiscard]] bool running() const { return worker_ != nullptr && worker_->running(); }

  // ---- time: kStopped if the Runtime does not run, or died meanwhile ----
  // Runs everything that is ready now; no time passes.
  // Returns kOk; kTimeout: it does not come to rest (an instance that goes round without waiting
  // for anything).
  Status run_until_idle();
  // Lets `ms` pass, and runs what comes due at its time.
  // Returns kOk, also without a Runtime: time passes all the same.
  Status advance(std::int64_t ms);
  // Lets time pass until `holds` does.
  // Returns kOk; kTimeout: not within `ms_max`.
  // Requires: a condition that throws nothing.
  Status run_until(const std::function<bool()>& holds, std::int64_t ms_max = kDayMs);
  // Lets time pass until the instance has ended or stopped; views of `out`, which may be null, live
  // until the next call of client().
  // Returns kOk; kTimeout: not within `ms_max`; kNotFound.
  Status run_until_done(std::string_view id, OrchestrationStatus* out = nullptr,
                        std::int64_t ms_max = kDayMs);
  // The time of the simulated machine, since 1970 UTC.
  [[nodiscard]] std::int64_t now_ms() const { return machine_.wall_ms(); }

  // ---- what to do and what to look at ----
  // A Client in a process of its own. Its calls return at once and take effect with the calls
  // above. Those that wait would wait for the thread they are on: use run_until_done(). Requires:
  // start() answered kOk.
  [[nodiscard]] Client& client() { return *client_; }
  // Reads the events of an execution (0: the current one) as export_history() writes them, a line
  // each.
  // Returns the same as Client::read_history().
  Status history(std::string_view id, std::string* out, std::int64_t execution_id = 0);
  // The log of all Runtimes so far.
  [[nodiscard]] const Lines& log() const { return lines_; }
  // The counts of the Runtime that runs; requires running().
  [[nodiscard]] const RuntimeStats& stats() const { return worker_->runtime->stats(); }
  // The machine, for everything that a World has no call for: clocks, full disks, damage. Its own
  // writes count too.
  [[nodiscard]] sim::Machine& machine() { return machine_; }
  // The text of the last start() that failed.
  [[nodiscard]] std::string_view error_text() const { return diagnostic_.text(); }

 private:
  Status open_client();
  template <typename Until>
  Status go(std::int64_t ms, Until&& until);
  template <typename Until>
  Status go_on(std::int64_t ms, Until&& until);

  sim::Machine machine_;
  const Registry& registry_;
  WorldOptions options_;
  Lines lines_;
  Diagnostic diagnostic_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<sim::Node> client_node_;
  std::unique_ptr<Block> client_memory_;
  std::unique_ptr<Client> client_;
  std::uint64_t writes_left_ = 0;  // until the crash; 0: none is planned
  std::uint64_t writes_ = 0;
};

}  // namespace pawl::testing

namespace pawl::internal {
std::uint64_t for_each_crash(std::uint64_t stride,
                             const std::function<bool(const testing::WorldOptions&)>& scenario);
}  // namespace pawl::internal

namespace pawl::testing {

// Calls `scenario` with a crash at every write that it makes, or at every stride-th one: first
// without a crash, and then once for the first write, the (1 + stride)-th and so on. A scenario
// makes what it needs anew, one World with the options it gets among it, and says what must hold at
// the end, whatever died on the way; options.crash->at names the write to a person. It returns
// nothing, or a bool; false ends the runs.
// Returns the number of runs that had a crash.
// Requires: a scenario that does the same each time.
template <typename Scenario>
std::uint64_t for_each_crash(std::uint64_t stride, Scenario&& scenario) {
  return internal::for_each_crash(stride, [&scenario](const WorldOptions& options) {
    if constexpr (std::is_void_v<decltype(scenario(options))>) {
      scenario(options);
      return true;
    } else {
      return static_cast<bool>(scenario(options));
    }
  });
}

}  // namespace pawl::testing
#pragma GCC visibility pop

#endif  // PAWL_TESTING_HPP
