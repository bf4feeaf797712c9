// LoopParts: the parts of the loop, constructed and connected. Each part owns its state; its
// constructor names the other parts that it calls.
//
// Memory: one function both counts and takes it. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_LOOP_PARTS_HPP
#define PAWL_RUNTIME_LOOP_PARTS_HPP

#include "runtime/activities.hpp"
#include "runtime/clock_watch.hpp"
#include "runtime/devices.hpp"
#include "runtime/hand_over.hpp"
#include "runtime/inbox.hpp"
#include "runtime/log_watch.hpp"
#include "runtime/loop_context.hpp"
#include "runtime/notices.hpp"
#include "runtime/others.hpp"
#include "runtime/recovery.hpp"
#include "runtime/removals.hpp"
#include "runtime/requests.hpp"
#include "runtime/session_folders.hpp"
#include "runtime/session_watch.hpp"
#include "runtime/slots.hpp"
#include "runtime/space.hpp"
#include "runtime/stored_due.hpp"
#include "runtime/this_worker.hpp"
#include "runtime/turn_loader.hpp"
#include "runtime/turn_runner.hpp"
#include "runtime/turns.hpp"
#include "runtime/warm.hpp"

namespace pawl {

// Objects and blocks in the arena.
struct LoopMemory {
  WarmCache warm;
  Slots slots;
  Requests requests;
  TurnLoader::Memory loader;
  Turns::Memory turns;
  ThisWorker::Memory this_worker;
  SessionWatch::Memory session_watch;
  Notices::Memory notices;
  Devices::Memory devices;
  void* store = nullptr;
  void* tick_block = nullptr;
  std::size_t tick_bytes = 0;

  // Also takes what the context has in the arena. With an ArenaPlan this only counts, so that
  // required and taken memory always agree.
  template <typename AnyArena>
  Status lay_out(AnyArena& arena, const Options& options, NameCounters& names,
                 Vector<Evidence::Seen>& seen_leases);
};

struct LoopParts {
  LoopParts(LoopContext& loop, LoopMemory& memory);

  Notices notices;
  ClockWatch clock;
  Others others;
  Space space;
  LogWatch log_watch;
  SessionFolders folders;
  Removals removals;
  Recovery recovery;
  Activities activities;
  HandOver hand_over;
  Devices devices;
  SessionWatch session_watch;
  ThisWorker this_worker;
  StoredDue stored_due;
  TurnLoader loader;
  Inbox inbox;
  TurnRunner runner;
  Turns turns;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_LOOP_PARTS_HPP
