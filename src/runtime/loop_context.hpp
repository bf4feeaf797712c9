// LoopContext: what all parts of the loop see.
//
// Purpose: a part is given this and the parts that it asks; all else it owns. A part that makes work
// for another part does it by the agenda. Ownership: the loop's own member, which outlives the
// parts.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_LOOP_CONTEXT_HPP
#define PAWL_RUNTIME_LOOP_CONTEXT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "agenda.hpp"
#include "arena.hpp"
#include "evidence.hpp"
#include "name_counters.hpp"
#include "pawl/log.hpp"
#include "pawl/options.hpp"
#include "pawl/port.hpp"
#include "pawl/process.hpp"
#include "pawl/registry.hpp"
#include "pawl/runtime.hpp"
#include "store.hpp"

namespace pawl {

// How many lines a second the starts and ends of one level may have. A line is a system call in
// most logs, and a worker can end thousands of instances a second.
class LineBudget {
 public:
  static constexpr std::uint32_t kLinesMax = 100;
  static constexpr std::int64_t kWindowMs = 1'000;
  // May a line be written? `now_ms` is a time that never falls.
  bool take(std::int64_t now_ms);
  // Those that were not written since the last call.
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
  const WorkerTerms terms;  // of the options
  const port::Port port;
  Store* store = nullptr;
  Evidence evidence;
  Arena arena;  // of the tick at hand
  // For one status that is read, status_buffer_bytes() long; the same bytes as Slots::buffer().
  char* status_buffer = nullptr;

  Agenda agenda;
  BatchInfo batch;       // of the batch at hand, or of the last one
  Incarnation me = 0;    // 0: not registered
  std::int64_t now = 0;  // Pawl time of the tick at hand
  bool draining = false;
  bool overslept = false;                    // it woke much later than planned
  bool wants_quiet = false;                  // a crashed instance waits until nothing else runs
  std::size_t single_item_batches_left = 0;  // after a failed batch: one item of each kind a batch
  std::int64_t window_until = 0;             // boot time: what becomes ready waits for company

  OptionalMs trouble_until;     // boot time: a store in trouble is left alone
  std::uint64_t work_done = 0;  // turns that changed something, calls answered

  LineBudget often[4];  // by level
  RuntimeStats stats;
  NameCounters names;
  Diagnostic diagnostic;

  // The facets of the storage: a part takes those that it needs.
  [[nodiscard]] Batch& transaction() const { return store->batch(); }
  [[nodiscard]] InstanceStore& instances() const { return store->instances(); }
  [[nodiscard]] WorkQueue& work() const { return store->work(); }
  [[nodiscard]] SessionStore& sessions() const { return store->sessions(); }
  [[nodiscard]] WorkerStore& workers() const { return store->workers(); }
  [[nodiscard]] AdminStore& admin() const { return store->admin(); }
  [[nodiscard]] Housekeeping& housekeeping() const { return store->housekeeping(); }

  [[nodiscard]] std::int64_t boot_ms() const { return port.clock->boot_ms(); }
  [[nodiscard]] bool takes_activities() const {
    return options.worker_tag_filter.mode != TagFilter::Mode::kNone;
  }
  [[nodiscard]] CrashLimits crash_limits() const;
  // Items of each kind that a batch takes.
  [[nodiscard]] std::size_t batch_max() const {
    return single_item_batches_left > 0 ? 1 : options.limits.batch;
  }
  // A batch may run turns of what is not stored: starts, and what is raised.
  [[nodiscard]] bool may_piggyback() const {
    return !overslept && !draining && !agenda.wants(Job::kRegister) && options.run_orchestrations &&
           single_item_batches_left == 0;
  }
  // A copy that lives as long as the tick; empty if there is no memory.
  [[nodiscard]] std::string_view keep_text(std::string_view text);
  void look_for_all() {
    agenda.do_now(Job::kTurns);
    agenda.do_now(Job::kFetch);
  }
  [[nodiscard]] bool is_in_trouble(std::int64_t now_boot_ms) const {
    return trouble_until.has_value() && !trouble_until.has_passed(now_boot_ms);
  }
  void count(const Removed& removed);
  // Null: not registered.
  OrchestrationStats* stats_of(std::string_view orchestration, std::string_view version);

  // `trace`: of the instance that the line is about, a last field if there is one.
  void log(LogLevel level, std::string_view event, const LogField* fields, std::size_t count,
           std::string_view trace = {}) const;
  [[nodiscard]] bool logs(LogLevel level) const {
    return options.log != nullptr && options.log->takes(level);
  }
  // A line of a start or an end. Requires: logs(level).
  void log_often(LogLevel level, std::string_view event, const LogField* fields, std::size_t count,
                 std::string_view trace);
  void log_status(LogLevel level, std::string_view event, Status status) const;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_LOOP_CONTEXT_HPP
