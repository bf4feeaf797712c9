// Turn: one instance in a tick, from reading its messages to the commit.
//
// Ownership: an array of them lies in the runtime's memory; what they point to lies in the tick's arena, in the warm
// cache and in slots. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_TURN_HPP
#define PAWL_RUNTIME_TURN_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine.hpp"
#include "history.hpp"
#include "provider.hpp"
#include "slots.hpp"
#include "warm.hpp"

namespace pawl {

struct Turn {
  enum class Verdict : std::uint8_t {
    kCommit,   // write what the engine decided
    kAbandon,  // park it: damaged row, code that does not match
    kSkip,     // not now: it must run alone
    kWait,     // no memory beside the others of this tick: it comes before them with the next
    kForeign,  // it cannot be run here
  };
  InstanceKey key = 0;  // is_start: below 0 until the commit
  OrchestrationItem* item = nullptr;
  Warm* warm = nullptr;
  History::Mark before;
  Verdict verdict = Verdict::kSkip;
  TurnCommit commit;
  TurnState state = TurnState::kSuspended;
  Trace* traces = nullptr;
  std::size_t trace_count = 0;
  NewWork* work = nullptr;             // of the commit
  internal::Slot** results = nullptr;  // finished activities that ride with this turn
  std::size_t result_count = 0;
  bool is_start = false;       // of a request that rides: its instance is no row yet
  std::size_t request = 0;     // is_start: which
  std::size_t mail_count = 0;  // of requests that ride: messages that are not stored
  std::size_t mail_bytes = 0;
  std::int64_t delay_ms = 0;         // kAbandon
  ErrorKind why = ErrorKind::kNone;  // kAbandon, or a failed end
  std::string_view why_text;
  bool wakes_others = false;  // its commit is news for other instances, or for its own next turn
  bool written = false;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_TURN_HPP
