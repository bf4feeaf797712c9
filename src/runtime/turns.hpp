// Turns: the turns of one tick: which instances have one, in which order, and how each ends.
//
// Nothing is locked until the turns are written. Then the storage checks whether each is still the
// next turn of its instance.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_TURNS_HPP
#define PAWL_RUNTIME_TURNS_HPP

#include "runtime/activities.hpp"
#include "runtime/hand_over.hpp"
#include "runtime/inbox.hpp"
#include "runtime/loop_context.hpp"
#include "runtime/others.hpp"
#include "runtime/removals.hpp"
#include "runtime/slots.hpp"
#include "runtime/turn.hpp"
#include "runtime/turn_loader.hpp"
#include "runtime/turn_runner.hpp"
#include "runtime/warm.hpp"

namespace pawl {

class Turns {
 public:
  // An instance that gets a turn, and Turn::ended_at.
  struct Wanted {
    InstanceKey key = 0;
    std::optional<MessageId> ended_at;
  };
  struct Memory {
    Turn* turns = nullptr;
    InstanceKey* ready = nullptr;
    Wanted* left_over = nullptr;
    template <typename AnyArena>
    void allocate(AnyArena& arena, const Options& options) {
      turns = arena.template array<Turn>(2 * options.limits.batch);  // half of them for starts
      ready = arena.template array<InstanceKey>(options.limits.batch);
      left_over = arena.template array<Wanted>(keys_max(options));
    }
  };

  Turns(LoopContext& loop, Memory& memory, WarmCache& warm, Slots& slots, Activities& activities,
        HandOver& hand_over, TurnLoader& loader, TurnRunner& runner, Inbox& inbox,
        Removals& removals, Others& others)
      : loop_(loop),
        memory_(memory),
        warm_(warm),
        slots_(slots),
        activities_(activities),
        hand_over_(hand_over),
        loader_(loader),
        runner_(runner),
        inbox_(inbox),
        removals_(removals),
        others_(others) {}

  // Plans turns, when unregistered instances are old enough.
  void look(std::int64_t now_boot_ms);
  void begin() { list_ = TurnList(memory_.turns); }
  [[nodiscard]] TurnList& list() { return list_; }
  // Reads the keys of ready instances, their messages, and the histories that are not warm.
  Status collect();
  void run();

  // ---- in the batch ----
  // Marks instances without code here as unregistered.
  Status write_unregistered();
  Status write();

  // ---- after the batch ----
  void committed();
  // Did a turn of the current batch open or close a session?
  [[nodiscard]] bool has_changed_sessions() const;
  void rolled_back();
  // Puts back, for a while, an item that failed in a batch of its own, so that the others go on.
  Status set_back_failed_item(Status why);

 private:
  // Limit of instances that one tick looks at: ready ones, and as many that are known without a
  // query.
  [[nodiscard]] static std::size_t keys_max(const Options& options) {
    return 2 * std::size_t{options.limits.batch};
  }
  struct WantedList {
    Wanted* all = nullptr;
    std::size_t most = 0;
    std::size_t count = 0;
    void add(const Wanted& one);
  };

  ReadyQuery ready_query();
  Status list_wanted(bool lists, WantedList* wanted);
  Status load(const WantedList& wanted, std::size_t left_over);
  void leave_over(const Wanted& one);
  void leave_over(const Turn& turn);
  void plan_left_to_others();
  void yield_warm_memory(Turn& turn);
  [[nodiscard]] Parking parking_of(const Turn& turn) const;
  Status write(Turn& turn);
  void settle(Turn& turn);
  void advance_history(Turn& turn);
  void count(const Turn& turn);
  void log_start(const Turn& turn);
  void log_end(const Turn& turn, OptionalMs lasted_ms);
  void log_cancel(const Turn& turn);
  void log_ignored_cancel(const Turn& turn);
  void log_long_history(const Turn& turn);
  void log_waiting_timers(const Turn& turn);
  void log_abandoned(const Turn& turn);
  void log_unread(const Turn& turn);

  LoopContext& loop_;
  Memory& memory_;
  WarmCache& warm_;
  Slots& slots_;
  Activities& activities_;
  HandOver& hand_over_;
  TurnLoader& loader_;
  TurnRunner& runner_;
  Inbox& inbox_;
  Removals& removals_;
  Others& others_;
  TurnList list_;
  bool left_unrun_ = false;  // not all listed instances got their turn
  // Instances that did not fit the last tick beside others, or put their end off: first in the
  // next.
  std::size_t left_over_count_ = 0;
  UnregisteredInstances unregistered_;  // from the list at hand
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_TURNS_HPP
