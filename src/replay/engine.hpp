// The replay engine: history and messages in, new events out. No I/O, no clock, no storage.
//
// Purpose: one turn of one instance. The function is re-run from its top; commands are matched with
// history by (branch, ordinal), new ones are appended. Rules: docs/architecture/replay.md.
// Ownership: History owns its bytes (a BuddyPool given to it); the engine owns scratch memory from
// an Arena given at construction and keeps nothing between turns.
// Thread rule: the Runtime's thread.
#ifndef PAWL_REPLAY_ENGINE_HPP
#define PAWL_REPLAY_ENGINE_HPP

#include <cstdint>
#include <string_view>

#include "codec/event.hpp"
#include "core/arena.hpp"
#include "pawl/orchestration_code.hpp"
#include "replay/history.hpp"

namespace pawl {

namespace internal {
class Pass;
struct PassSetup;
}  // namespace internal

struct EngineLimits {
  std::uint32_t events_max = 4096;  // in one history
  std::uint32_t commands_a_turn_max = 1024;
  std::size_t payload_bytes_max = 64 * 1024;
  std::uint32_t traces_a_turn_max = 64;
  std::uint32_t passes_max = 100;
  // The most raised events and queue messages in one turn, with those given back; at most half of
  // them may be given back.
  std::uint32_t mailbox_max = 512;
  // Limits for the state of one instance.
  std::uint32_t kv_keys_max = 150;
  std::size_t kv_bytes_max = 512 * 1024;  // keys and values together
};

// The number of events from which continue-as-new is due.
[[nodiscard]] constexpr EventId long_history(std::uint32_t events_max) {
  return events_max - events_max / 4;
}

// Everything a turn may know about the world.
struct TurnInput {
  OrchestrationCode code;
  std::string_view instance_id;
  std::string_view orchestration_name;
  std::string_view version;
  std::string_view trace;  // StartOptions::trace_id; empty: none
  ExecutionId execution = 1;
  std::int64_t stamp_ms = 0;     // time of new events, and what utc_now_ms() records
  std::uint8_t random[16] = {};  // seeds the guids of this turn
  bool verify = false;           // run every turn a second time (verify_turns)
  // For the first turn of an execution that goes on with the history of another one (R10.2): events
  // up to this one existed at the end of one of that execution's turns, and those behind it are an
  // intake.
  EventId restored = 0;
  const Message* messages =
      nullptr;  // in order of arrival; kStart or kContinue first for a new one
  std::size_t message_count = 0;
  std::size_t waiting_count = 0;  // how many of them were there in an earlier turn and wait on
  // More messages are stored than these: a try that finds no message is not answered, and the state
  // is kMore.
  bool more_messages = false;
};

enum class TurnState : std::uint8_t { kSuspended, kEnded, kMore };

struct Trace {
  LogLevel level = LogLevel::kInfo;
  std::string_view text;
};

// Views live until the next turn of this engine.
struct TurnResult {
  // kOk; kNondeterminism, kAwaitSteppedOver, kException: the instance stops with the diagnostic's
  // text; kUnsupported: a newer engine recorded the history, which needs that engine.
  // kResourceExhausted: a limit (the diagnostic names it). Unless kOk the history is as it was
  // before.
  Status status = Status::kOk;
  TurnState state = TurnState::kSuspended;
  EventId first_new = 0;  // the new events are [first_new, history.last_id()]
  std::uint32_t passes = 0;
  std::uint32_t withdrawn = 0;  // commands that branches issued beyond their horizon
  std::uint32_t dropped = 0;    // messages that were duplicates, late or for another execution
  // A branch was suspended for good in this turn, since it ignores its cancel request (R8.6).
  bool ignores_cancel = false;
  // The code reads the length of its history (R2.7).
  bool watches_length = false;
  const internal::TurnSends* sends = nullptr;  // null: the code sent no message
  // Mailbox messages of the input that wait on: not to be deleted.
  const MessageId* kept = nullptr;
  std::size_t kept_count = 0;
  // Messages taken in an earlier turn that wait again: to be stored under their old ids.
  const Message* given_back = nullptr;
  std::size_t given_back_count = 0;
  const Trace* traces = nullptr;
  std::size_t trace_count = 0;
  std::uint32_t traces_lost = 0;
};

// The error for an instance whose turn had this status (not kOk).
[[nodiscard]] ErrorKind turn_error_kind(Status status);

class Engine {
 public:
  // Recorded in the first event of an execution; rises when the same history would be read in
  // another way. This engine runs executions begun under any behaviour from kBehaviourMin to this
  // one.
  static constexpr std::int64_t kBehaviour = 2;
  // The first behaviour under which a raised event is kept until its wait (R7.4).
  static constexpr std::int64_t kBehaviourOfKeptEvents = 2;
  static constexpr std::int64_t kBehaviourMin = 1;
  // Requires: the history has its start.
  [[nodiscard]] static bool is_cancel_sticky(const History& history) {
    return history.event(1).number >= kBehaviourOfStickyCancel;
  }

  // The event from which continue-as-new is due: the start recorded it, unless it is the default.
  [[nodiscard]] static EventId long_history_of(const History& history) {
    const EventId recorded = history.event(1).horizon;
    return recorded == 0 ? long_history(EngineLimits().events_max) : recorded;
  }

  // Takes its scratch memory from `arena`; check ready() once.
  Engine(Arena& arena, const EngineLimits& limits);
  [[nodiscard]] bool ready() const;
  // The memory for typed calls between two turns.
  [[nodiscard]] internal::TypedBytes typed_bytes() const;
  // The bytes of the arena that an engine with these limits takes.
  [[nodiscard]] static std::size_t required_memory(const EngineLimits& limits);
  // Appends the decisions of the turn to `history`. To undo it (the commit failed): take
  // history.mark() before and history.rewind() after.
  TurnResult run_turn(History& history, const TurnInput& input, Diagnostic& diagnostic);
  // Appends the end event of a failure that was decided outside the code (poison, nondeterminism, a
  // limit, a corrupt row). A history without a start gets one first, and one with an end stays as
  // it is. Messages in deliveries stay taken: without running the code it is not known which it
  // received. Messages of the input are kept. status kResourceExhausted: memory is short, nothing
  // was appended.
  TurnResult append_failure(History& history, const TurnInput& input, ErrorKind kind,
                            std::string_view text);

 private:
  struct Scratch;
  template <typename AnyArena>
  static Scratch* lay_out(AnyArena& arena, const EngineLimits& limits);
  Status decide(History& history, const TurnInput& input, Diagnostic& diagnostic,
                TurnResult& result);
  Status run_passes(History& history, const TurnInput& input, Diagnostic& diagnostic,
                    internal::PassSetup setup, TurnResult& result);
  Status run_pass(internal::PassSetup& setup, TurnResult& result, bool* is_another_needed);
  Status verify(internal::PassSetup setup);
  Status append_end(History& history, const TurnInput& input, ErrorKind kind,
                    std::string_view text);
  Status answer_sends(const internal::PassSetup& setup, const internal::Pass& pass,
                      std::uint32_t* answered);
  // Lists what the turn left in the mailbox.
  void settle_mailbox(const History& history, TurnResult& result);
  Scratch* scratch_ = nullptr;
  EngineLimits limits_;
};

}  // namespace pawl

#endif  // PAWL_REPLAY_ENGINE_HPP
