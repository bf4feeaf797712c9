// RuntimeBoard: the state of a Runtime that other threads of its process may see.
//
// Purpose: a monitor, a watchdog or an endpoint asks whether the loop goes round and how much it
// did, while the loop works. A Runtime with Options::board writes it at the end of each tick. It
// never waits for a reader: if one reads at that moment, it writes with a later tick.
// Ownership: the program's; it outlives the Runtime. Names in it are those of the Registry and live
// as long. Thread rule: a Runtime writes; any other thread reads. One Runtime a board.
// Units: ms of Clock::boot_ms().
#ifndef PAWL_RUNTIME_BOARD_HPP
#define PAWL_RUNTIME_BOARD_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pawl/latest.hpp"
#include "pawl/name.hpp"
#include "pawl/name_stats.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/registry.hpp"
#include "pawl/runtime.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// A copy of all counters of a Runtime.
struct RuntimeCounters {
  std::int64_t taken_ms = 0;
  Name worker_id;
  RuntimeStats stats;
  // The names that were used so far, in that order. Those behind the first 64 are only counted, and
  // Runtime::orchestration_stats() has them.
  OrchestrationStats orchestrations[Registry::kOrchestrationsMax];
  std::size_t orchestration_count = 0;
  std::size_t orchestrations_left_out = 0;
  ActivityStats activities[Registry::kActivitiesMax];
  std::size_t activity_count = 0;
};

class RuntimeBoard {
 public:
  // The state of the loop at the end of its last tick.
  struct Life {
    bool running = false;      // it was started, and not stopped
    bool ready = false;        // Runtime::ready() after the last tick
    std::int64_t tick_ms = 0;  // when the last tick ended
    OptionalMs next_due;       // Runtime::next_due() then; long past: the loop is stuck
  };
  RuntimeBoard() = default;
  RuntimeBoard(const RuntimeBoard&) = delete;
  RuntimeBoard& operator=(const RuntimeBoard&) = delete;

  // The last such state; all false before the first tick.
  [[nodiscard]] Life life() const;
  // Copies the counters, as of the end of a tick: of the last one if the loop sleeps, else of one
  // within the last second.
  // Returns false: there are none yet.
  bool read(RuntimeCounters* out) const;

 private:
  friend class RuntimeCore;
  // Gives the counters to be written; null: a reader has them.
  RuntimeCounters* begin_write();
  void end_write();
  void write_life(const Life& life);

  internal::Latest<Life> life_;
  mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;  // guards the members below
  bool written_ = false;
  RuntimeCounters counters_;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_RUNTIME_BOARD_HPP
