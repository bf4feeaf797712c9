// TurnLoader: makes an instance ready for its turn: reads its messages and its history, and locks
// nothing.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_TURN_LOADER_HPP
#define PAWL_RUNTIME_TURN_LOADER_HPP

#include <algorithm>
#include <cstddef>

#include "replay/engine.hpp"
#include "runtime/activities.hpp"
#include "runtime/loop_context.hpp"
#include "runtime/turn.hpp"
#include "runtime/warm.hpp"

namespace pawl {

class TurnLoader {
 public:
  // Kinds of executions that this process has code for.
  struct Memory {
    Runnable* runnable = nullptr;
    template <typename AnyArena>
    void allocate(AnyArena& arena, const Options& options) {
      runnable = arena.template array<Runnable>(kKindsEach * options.limits.orchestrations_max);
    }
  };

  TurnLoader(LoopContext& loop, Memory& memory, WarmCache& warm, const Activities& activities)
      : loop_(loop), memory_(memory), warm_(warm), activities_(activities) {}

  // Called once, at the start: the registry does not change any more.
  void start();
  // kOk: the turn is ready to run, or its verdict is known. kNotFound: the instance has nothing to
  // do. kResourceExhausted: no room beside the turns before it; `first` says that there are none.
  Status load(InstanceKey key, bool first, Turn* turn);
  // Says that load() follows, if it will read rows. Call it for at most so many at a time: what was
  // read ahead takes memory of its own.
  void read_ahead(InstanceKey key);
  [[nodiscard]] std::size_t ahead_max() const {
    constexpr std::size_t kMost = 64;
    const auto payload = static_cast<std::size_t>(loop_.options.limits.payload_bytes_max);
    return std::clamp<std::size_t>(loop_.arena.capacity() / (4 * payload), 1, kMost);
  }
  // Half of the memory is kept for the turns that are loaded already: they may need it to run.
  [[nodiscard]] bool has_room_for_another() const {
    return loop_.arena.capacity() - loop_.arena.used() >= loop_.arena.capacity() / 2;
  }
  [[nodiscard]] const Runnable* runnable() const { return memory_.runnable; }
  [[nodiscard]] std::size_t runnable_count() const { return runnable_count_; }

 private:
  // Kinds of one registered orchestration: without a version; with its version, not begun; and
  // begun under each behaviour.
  static constexpr std::size_t kKindsEach =
      2 + static_cast<std::size_t>(Engine::kBehaviour - Engine::kBehaviourMin + 1);

  [[nodiscard]] bool can_run(const OrchestrationItem& item) const;
  [[nodiscard]] bool has_full_mailbox(const OrchestrationItem& item) const;
  Status fetch(Turn& turn, bool whole_mailbox);
  [[nodiscard]] const Warm* find_known(InstanceKey key);
  bool fetch_known(Turn& turn);
#ifndef NDEBUG
  void check_known(const Turn& turn);
#endif
  Status load_warm(Turn& turn, bool first);

  LoopContext& loop_;
  Memory& memory_;
  WarmCache& warm_;
  const Activities& activities_;
  std::size_t runnable_count_ = 0;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_TURN_LOADER_HPP
