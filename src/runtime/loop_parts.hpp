// LoopParts: the parts of the loop, constructed and connected. Each part owns its state; its
// constructor names the other parts that it calls.
//
// Memory: one function both counts and takes it. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_LOOP_PARTS_HPP
#define PAWL_RUNTIME_LOOP_PARTS_HPP

#include "activities.hpp"
#include "clock_watch.hpp"
#include "devices.hpp"
#include "folders.hpp"
#include "hand_over.hpp"
#include "inbox.hpp"
#include "log_watch.hpp"
#include "loop_context.hpp"
#include "notices.hpp"
#include "others.hpp"
#include "owned_sessions.hpp"
#include "recovery.hpp"
#include "registration.hpp"
#include "removals.hpp"
#include "requests.hpp"
#include "slots.hpp"
#include "space.hpp"
#include "stored_due.hpp"
#include "turn_loader.hpp"
#include "turn_runner.hpp"
#include "turns.hpp"
#include "warm.hpp"

namespace pawl {

// Objects and blocks in the arena.
struct LoopMemory {
  WarmCache warm;
  Slots slots;
  Requests requests;
  TurnLoader::Memory loader;
  Turns::Memory turns;
  Registration::Memory registration;
  OwnedSessions::Memory owned;
  Notices::Memory notices;
  void* store = nullptr;
  void* tick_block = nullptr;
  std::size_t tick_bytes = 0;

  // With an ArenaPlan this only counts, so that required and taken memory always agree.
  template <typename AnyArena>
  Status lay_out(AnyArena& arena, const Options& options, NameCounters& names);
};

struct LoopParts {
  LoopParts(LoopContext& loop, LoopMemory& memory);

  Notices notices;
  ClockWatch clock;
  Others others;
  Space space;
  LogWatch log_watch;
  Folders folders;
  Removals removals;
  Recovery recovery;
  Activities activities;
  HandOver hand_over;
  Devices devices;
  OwnedSessions owned;
  Registration registration;
  StoredDue stored_due;
  TurnLoader loader;
  Inbox inbox;
  TurnRunner runner;
  Turns turns;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_LOOP_PARTS_HPP
