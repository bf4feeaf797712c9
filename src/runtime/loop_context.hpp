// LoopContext: the data that all parts of the loop share.
//
// Purpose: a part is given this and the other parts that it calls; it owns everything else it uses.
// A part makes work for another part through the agenda. Ownership: the loop's own member, which
// outlives the parts.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_LOOP_CONTEXT_HPP
#define PAWL_RUNTIME_LOOP_CONTEXT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/arena.hpp"
#include "pawl/log.hpp"
#include "pawl/options.hpp"
#include "pawl/port.hpp"
#include "pawl/process.hpp"
#include "pawl/registry.hpp"
#include "pawl/runtime.hpp"
#include "runtime/agenda.hpp"
#include "runtime/name_counters.hpp"
#include "store/store.hpp"
#include "store/worker/evidence_rules.hpp"

namespace pawl {

// Limits the log lines a second for starts and ends, at one level. A line is a system call in most
// logs, and a worker can end thousands of instances a second.
class LineBudget {
 public:
  static constexpr std::uint32_t kLinesMax = 100;
  static constexpr std::int64_t kWindowMs = 1'000;
  // May a line be written? `now_ms` is a time that never falls.
  bool take(std::int64_t now_ms);
  // Returns the number of lines left out since the last call.
  [[nodiscard]] std::uint64_t reset_left_out() { return std::exchange(left_out_, 0); }

 private:
  std::int64_t window_end_ms_ = 0;
  std::uint32_t lines_ = 0;
  std::uint64_t left_out_ = 0;
};

struct LoopContext {
  LoopContext(Process& the_process, const Registry& the_registry, const Options& the_options,
              const port::Port& the_port);

  Process& process;
  const Registry& registry;
  const Options options;
  const WorkerTerms terms;  // taken from the options
  const port::Port port;
  Store* store = nullptr;
  Vector<Evidence::Seen> seen_leases;
  Evidence evidence;
  Arena arena;  // emptied with each tick
  // Buffer for one status that is read, status_buffer_bytes() long; the same bytes as
  // Slots::buffer().
  char* status_buffer = nullptr;

  Agenda agenda;
  BatchInfo batch;       // the batch at hand, or the last one
  Incarnation me = 0;    // 0: not registered
  std::int64_t now = 0;  // Pawl time of the tick at hand
  bool draining = false;
  bool overslept = false;                    // the loop woke much later than planned
  bool wants_quiet = false;                  // a crashed instance waits until nothing else runs
  std::size_t single_item_batches_left = 0;  // after a failed batch: one item of each kind a batch
  std::int64_t window_until = 0;  // boot time; work that becomes ready waits for company until then

  OptionalMs trouble_until;     // boot time; a storage in trouble is left alone until then
  std::uint64_t work_done = 0;  // turns that changed something, calls answered, renewals

  LineBudget often[4];  // indexed by level
  RuntimeStats stats;
  NameCounters names;
  Diagnostic diagnostic;

  // The nouns of the storage.
  [[nodiscard]] store::Batches& transaction() const { return store->batch(); }
  [[nodiscard]] store::Instances& instance() const { return store->instance(); }
  [[nodiscard]] store::Work& work() const { return store->work(); }
  [[nodiscard]] store::Sessions& session() const { return store->session(); }
  [[nodiscard]] store::Workers& worker() const { return store->worker(); }
  [[nodiscard]] store::Place& place() const { return store->place(); }
  [[nodiscard]] store::DueIndex& due() const { return store->due(); }

  [[nodiscard]] std::int64_t boot_ms() const { return port.clock->boot_ms(); }
  [[nodiscard]] bool takes_activities() const {
    return options.worker_tag_filter.mode != TagFilter::Mode::kNone;
  }
  [[nodiscard]] CrashLimits crash_limits() const;
  // How many items of each kind a batch takes.
  [[nodiscard]] std::size_t batch_max() const {
    return single_item_batches_left > 0 ? 1 : options.limits.batch;
  }
  // True: a batch may run turns of starts and messages that are not stored.
  [[nodiscard]] bool may_piggyback() const {
    return !overslept && !draining && !agenda.wants(Job::kRegister) && options.run_orchestrations &&
           single_item_batches_left == 0;
  }
  // Returns a copy that lives as long as the tick; empty if there is no memory.
  [[nodiscard]] std::string_view keep_text(std::string_view text);
  void look_for_all() {
    agenda.do_now(Job::kTurns);
    agenda.do_now(Job::kFetch);
  }
  [[nodiscard]] bool is_in_trouble(std::int64_t now_boot_ms) const {
    return trouble_until.has_value() && !trouble_until.has_passed(now_boot_ms);
  }
  void count(const Removed& removed);
  // Null: the orchestration is not registered.
  OrchestrationStats* stats_of(std::string_view orchestration, std::string_view version);

  // `trace`: trace id of the instance that the line is about; if not empty, it becomes the last
  // field. The fields may stand in braces; texts go by reference, since inlined code copies values.
  template <std::size_t kCount>
  void log(LogLevel level, const std::string_view& event, const LogField (&fields)[kCount],
           const std::string_view& trace = {}) const {
    log(level, event, fields, kCount, trace);
  }
  void log(LogLevel level, std::string_view event) const { log(level, event, nullptr, 0); }
  // For a line that leaves fields out.
  void log(LogLevel level, std::string_view event, const LogField* fields, std::size_t count,
           std::string_view trace = {}) const;
  [[nodiscard]] bool logs(LogLevel level) const {
    return options.log != nullptr && options.log->takes(level);
  }
  // Writes the line of a start or an end, if the budget allows. Requires: logs(level).
  template <std::size_t kCount>
  void log_often(LogLevel level, const std::string_view& event, const LogField (&fields)[kCount],
                 const std::string_view& trace) {
    log_often(level, event, fields, kCount, trace);
  }
  void log_often(LogLevel level, std::string_view event, const LogField* fields, std::size_t count,
                 std::string_view trace);
  void log_status(LogLevel level, std::string_view event, Status status) const;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_LOOP_CONTEXT_HPP
