// RuntimeCore: the loop behind pawl::Runtime: start, tick, sleep, stop.
//
// One tick: look; if the agenda has work for a batch, run turns and write them in one transaction
// (TickBatch), and only then let effects leave; run activities; plan the next tick. The Agenda
// holds the jobs, and the parts hold the state (LoopParts). docs/architecture.md has the map.
// Everything lives in the block given to start(). Thread rule: the owner's thread, except for
// wake() and request_stop().
#ifndef PAWL_RUNTIME_RUNTIME_CORE_HPP
#define PAWL_RUNTIME_RUNTIME_CORE_HPP

#include <atomic>

#include "pawl/runtime.hpp"
#include "replay/engine.hpp"
#include "runtime/loop_parts.hpp"
#include "runtime/pace.hpp"
#include "runtime/passed_calls.hpp"
#include "runtime/process_place.hpp"
#include "runtime/tick_batch.hpp"
#include "store/store_factory.hpp"

namespace pawl {

class RuntimeCore final {
 public:
  RuntimeCore(Process& process, const Registry& registry, const Options& options,
              const port::Port& port);
  ~RuntimeCore() {
    if (loop_.store != nullptr)
      StoreFactory::engine_of(loop_.options.database).destroy(loop_.store);
  }

  [[nodiscard]] static std::size_t required_memory(const Options& options);
  // Takes all memory that the Runtime will ever use.
  Status lay_out(Arena& arena);

  Status start(Diagnostic& diagnostic);
  Result<bool> tick(std::int64_t limit_ms);
  [[nodiscard]] OptionalMs next_due() const;
  [[nodiscard]] int fd() const { return loop_.port.threads->fd(); }
  // Sleeps until next_due() or an event.
  void sleep_until_due(OptionalMs boot_ms_max);
  Status stop(std::int64_t grace_ms);

  void wake() { loop_.port.threads->wake(); }
  void request_stop() {
    stop_requested_.store(true, std::memory_order_relaxed);
    loop_.port.threads->wake();
  }
  [[nodiscard]] bool stop_requested() const {
    return stop_requested_.load(std::memory_order_relaxed);
  }

  // While it does, Clients of this process may pass calls to this loop, which comes back soon.
  void takes_calls(bool takes) { takes ? passed_.open() : passed_.close(); }
  Status piggyback(const Request& request);
  [[nodiscard]] internal::TypedBytes typed_bytes() const { return engine_->typed_bytes(); }
  Status get_status(std::string_view id, OrchestrationStatus* out);

  [[nodiscard]] const RuntimeStats& stats();
  // Null: the orchestration is not registered.
  OrchestrationStats* orchestration_stats(std::string_view name, std::string_view version) {
    return loop_.stats_of(name, version);
  }
  ActivityStats* activity_stats(std::string_view name) {
    const Registry::ActivityEntry* const entry = loop_.registry.find_activity(name);
    return entry == nullptr ? nullptr : &loop_.names.of(*entry);
  }
  [[nodiscard]] std::string_view worker_id() const { return parts_.this_worker.worker_id(); }
  [[nodiscard]] std::string_view error_text() const { return loop_.diagnostic.text(); }
  [[nodiscard]] std::int64_t boot_ms() const { return loop_.boot_ms(); }
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] bool ready() const;

 private:
  // The parts of the port that are open; stop() closes them.
  struct Opened {
    bool executor = false;
    bool waiter = false;
  };

  Status open_database(Diagnostic& diagnostic);
  Status register_self(Diagnostic& diagnostic);
  Status try_to_register(Diagnostic& diagnostic);
  void unregister();
  void log_threads();
  Result<bool> wait_in_doubt();
  // Takes in the changes since the last tick: time that passed, commits of others, events of the
  // machine.
  void look(std::int64_t now_boot_ms);
  // Lets each part set the jobs that it wants next in the agenda.
  void plan(std::int64_t now_boot_ms);
  void plan_next_due();
  [[nodiscard]] Agenda::Holds holds(std::int64_t now_boot_ms) const;
  // True: due jobs wait for company (TimingOptions::commit_window).
  [[nodiscard]] bool waits_for_company(std::int64_t now_boot_ms) const;
  [[nodiscard]] bool is_due(Agenda::Which which, std::int64_t now_boot_ms) const;
  // A count of all work done so far: it rises with each tick that was of use.
  [[nodiscard]] std::uint64_t work_done() const;
  void keep_pace(std::uint64_t done_before);
  // Writes Options::board, at the end of a tick.
  void write_board(RuntimeBoard& board, std::int64_t now_boot_ms);

  LoopContext loop_;
  LoopMemory memory_;
  LoopParts parts_{loop_, memory_};
  TickBatch batch_{loop_, memory_, parts_};
  ProcessPlace place_{loop_.process};
  PassedCalls passed_{memory_.requests};
  Engine* engine_ = nullptr;
  Pace pace_;
  Opened opened_;
  bool stopped_ = false;
  bool threads_stuck_ = false;
  bool runs_again_ = false;  // the last tick asked for the next one
  OptionalMs planned_wake_;  // boot time
  OptionalMs counters_due_;  // boot time; next copy of the counters to the board
  std::atomic<bool> stop_requested_{false};
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_RUNTIME_CORE_HPP
