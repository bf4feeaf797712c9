// Turn: one instance in a tick, from reading its messages to the commit.
//
// Ownership: the turns are an array in the runtime's memory; their pointers lead to the tick's
// arena, the warm cache and slots. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_TURN_HPP
#define PAWL_RUNTIME_TURN_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "replay/engine.hpp"
#include "replay/history.hpp"
#include "runtime/slots.hpp"
#include "runtime/warm.hpp"
#include "store/store.hpp"

namespace pawl {

struct Turn {
  enum class Verdict : std::uint8_t {
    kCommit,        // write the engine's decisions
    kAbandon,       // park the instance: damaged row, code that does not match
    kSkip,          // not now: it must run alone
    kWait,          // no memory beside the others of this tick: it comes first in the next
    kUnregistered,  // the instance cannot be run here
    kPutOff,        // its end waits for messages (R7.7): it runs once more in the next tick
  };
  // kAbandon: the limit that is too low here. Workers whose limit is no higher leave the instance
  // to others.
  enum class Needs : std::uint8_t { kNothing, kMoreMessages, kMoreBytes };
  InstanceKey key = 0;  // is_start: below 0 until the commit
  OrchestrationItem* item = nullptr;
  Warm* warm = nullptr;
  History::Mark before;
  Verdict verdict = Verdict::kSkip;
  Needs needs = Needs::kNothing;
  ErrorKind why = ErrorKind::kNone;  // kAbandon, or a failed end
  bool is_start = false;             // piggybacked: its instance has no row yet
  bool changes_sessions = false;     // opens, closes, holds or hands off sessions
  bool wakes_others = false;         // brings work for others, or for its own next turn
  bool ignores_cancel = false;       // from TurnResult
  bool watches_length = false;       // from TurnResult
  bool written = false;
  // Set if the turn runs once more because its end was put off: the run before had read messages up
  // to this number. Null: it was not put off.
  const MessageId* ended_at = nullptr;
  EventId restored = 0;  // for TurnInput
  struct Posted {
    std::uint32_t count = 0;
    std::uint32_t bytes = 0;
  };
  Posted posted;  // piggybacked messages, which are not stored
  TurnCommit commit;
  NewWork* work = nullptr;  // the entries of commit.work
  Span<const Trace> traces;
  internal::Slot** results = nullptr;  // finished activities, piggybacked on this turn
  std::size_t result_count = 0;
  std::uint32_t request = 0;  // is_start: index of the call
  OptionalMs delay_ms;        // kAbandon
  std::int64_t took_ms = 0;
  std::string_view why_text;

  // More messages, or larger ones, wait for the instance than this worker takes.
  void leave_to_larger(Needs more, std::string_view text) {
    abandon(0, ErrorKind::kLimit, text);
    needs = more;
  }
  // Parks the instance for `for_ms`; none: for good.
  void abandon(OptionalMs for_ms, ErrorKind kind, std::string_view text) {
    verdict = Verdict::kAbandon;
    delay_ms = for_ms;
    why = kind;
    why_text = text;
    result_count = 0;
  }
};

// The turns of the current tick.
class TurnList {
 public:
  TurnList() = default;
  explicit TurnList(Turn* turns) : turns_(turns) {}

  // The entry after the last turn; it counts once keep_next() is called.
  [[nodiscard]] Turn& next() { return turns_[size_] = Turn(); }
  void keep_next() { ++size_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Turn& operator[](std::size_t index) { return turns_[index]; }
  [[nodiscard]] Turn* begin() { return turns_; }
  [[nodiscard]] Turn* end() { return turns_ + size_; }
  [[nodiscard]] const Turn* begin() const { return turns_; }
  [[nodiscard]] const Turn* end() const { return turns_ + size_; }

 private:
  Turn* turns_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_TURN_HPP
