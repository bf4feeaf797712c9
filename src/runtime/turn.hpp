// Turn: one instance in a tick, from reading its messages to the commit.
//
// Ownership: an array of them lies in the runtime's memory; what they point to lies in the tick's
// arena, in the warm cache and in slots. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_TURN_HPP
#define PAWL_RUNTIME_TURN_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine.hpp"
#include "history.hpp"
#include "slots.hpp"
#include "store.hpp"
#include "warm.hpp"

namespace pawl {

struct Turn {
  enum class Verdict : std::uint8_t {
    kCommit,        // write what the engine decided
    kAbandon,       // park it: damaged row, code that does not match
    kSkip,          // not now: it must run alone
    kWait,          // no memory beside the others of this tick: it comes before them with the next
    kUnregistered,  // it cannot be run here
    kPutOff,        // its end waits for messages (R7.7): it is run once more with the next tick
  };
  // kAbandon: workers with no more of it than this one leave the instance to others.
  enum class Needs : std::uint8_t { kNothing, kMoreMessages, kMoreBytes };
  InstanceKey key = 0;  // is_start: below 0 until the commit
  OrchestrationItem* item = nullptr;
  Warm* warm = nullptr;
  History::Mark before;
  Verdict verdict = Verdict::kSkip;
  Needs needs = Needs::kNothing;
  ErrorKind why = ErrorKind::kNone;  // kAbandon, or a failed end
  bool is_start = false;             // of a piggybacked start: its instance is no row yet
  bool changes_sessions = false;     // opens, closes, holds or hands off some
  bool wakes_others = false;    // its commit is news for other instances, or for its own next turn
  bool ignores_cancel = false;  // TurnResult
  bool watches_length = false;  // likewise
  bool written = false;
  // It runs once more, since its end was put off: the turn before had read messages up to this number.
  // Null: it does not.
  const MessageId* ended_at = nullptr;
  EventId restored = 0;       // TurnInput
  std::uint32_t request = 0;  // is_start: which
  struct Posted {
    std::uint32_t count = 0;
    std::uint32_t bytes = 0;
  };
  Posted posted;  // piggybacked messages, which are not stored
  TurnCommit commit;
  NewWork* work = nullptr;  // of the commit
  Span<const Trace> traces;
  internal::Slot** results = nullptr;  // of finished activities, piggybacked on this turn
  std::size_t result_count = 0;
  OptionalMs delay_ms;  // kAbandon
  std::int64_t took_ms = 0;
  std::string_view why_text;

  // More waits for it than this worker takes.
  void leave_to_larger(Needs more, std::string_view text) {
    abandon(0, ErrorKind::kLimit, text);
    needs = more;
  }
  // for_ms none: for good.
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

  // The next one, which counts once it is kept.
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
