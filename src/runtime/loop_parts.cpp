#include "runtime/loop_parts.hpp"

namespace pawl {

LoopParts::LoopParts(LoopContext& loop, LoopMemory& memory)
    : notices(loop, memory.notices),
      clock(loop),
      others(loop, memory.slots),
      space(loop),
      log_watch(loop, space),
      folders(loop, memory.slots),
      removals(loop, space, folders),
      recovery(loop, notices),
      activities(loop, memory.slots, memory.warm, folders),
      hand_over(loop, memory.slots, folders),
      devices(loop, memory.devices),
      session_watch(loop, memory.session_watch, notices),
      this_worker(loop, memory.this_worker, memory.slots, devices, hand_over, session_watch),
      stored_due(loop, activities, clock),
      loader(loop, memory.loader, memory.warm, activities),
      inbox(loop, memory.requests, loader, memory.warm, devices, removals),
      runner(loop, memory.warm, memory.slots, inbox, this_worker, removals),
      turns(loop, memory.turns, memory.warm, memory.slots, activities, hand_over, loader, runner,
            inbox, removals, others) {}

}  // namespace pawl
