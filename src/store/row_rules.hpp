// Rows: the rows of sessions and work, with the columns that the rules look at.
//
// Purpose: plain values between the tables and the rules. A table reads a row, asks a rule, and
// writes the rule's answer; no rule knows how a row is stored. Ownership: plain values. Thread
// rule: none. Times: Pawl time in ms.
#ifndef PAWL_STORE_ROW_RULES_HPP
#define PAWL_STORE_ROW_RULES_HPP

#include <cstdint>
#include <optional>

#include "core/ids.hpp"
#include "pawl/optional_ms.hpp"

namespace pawl::rules {

// Stored as these numbers.
enum class State : std::uint8_t {
  kOpen = 0,
  kStopping = 1,  // no more work is handed over; it moves when none of it runs
  kLost = 2,
  kClosed = 3,   // the row stays until the closing is logged and cancelled work has ended
  kRefused = 4,  // one session more than a limit allows
  kExpired = 5,  // the row stays for some time, so that people can see it
};
// From a stored number. An unknown number reads as a session that is no longer used.
[[nodiscard]] constexpr State state_of(std::int64_t stored) {
  return stored >= 0 && stored <= static_cast<std::int64_t>(State::kExpired)
             ? static_cast<State>(stored)
             : State::kClosed;
}
// Whether work can be scheduled on it.
[[nodiscard]] constexpr bool is_open(State state) { return state < State::kLost; }
// Whether it counts for the limits of sessions. A lost one does: it may be opened again.
[[nodiscard]] constexpr bool counts_as_open(State state) { return state < State::kClosed; }

// Why a session must leave its owner; stored as these numbers.
enum class MoveReason : std::uint8_t {
  kTransferred = 0,
  kDrained = 1,
  kHung = 2,
  kHandoff = 3,
  kDevice = 4,     // it became a device, and its owner has not declared it
  kDeclared = 5,   // another worker declared the device
  kWithdrawn = 6,  // its holder withdrew the device
};
[[nodiscard]] constexpr MoveReason move_reason_of(std::int64_t stored) {
  return stored >= 0 && stored <= static_cast<std::int64_t>(MoveReason::kWithdrawn)
             ? static_cast<MoveReason>(stored)
             : MoveReason::kTransferred;
}

// A stop that is under way.
struct Stop {
  std::optional<Incarnation> to;  // none: away from its owner
  std::int64_t due_ms = 0;
  bool force = false;  // at due_ms it moves although exclusive work runs
  MoveReason reason = MoveReason::kTransferred;

  friend bool operator==(const Stop& a, const Stop& b) {
    return a.to == b.to && a.due_ms == b.due_ms && a.force == b.force && a.reason == b.reason;
  }
};

struct SessionRow {
  State state = State::kOpen;
  bool device = false;
  bool exclusive = false;
  bool fails_on_loss = false;
  std::optional<Incarnation> owner;
  std::optional<Stop> stop;  // with kStopping
};

// The hand-overs of a session that executions still hold.
struct Running {
  bool handed_over = false;
  bool cancelled = false;  // cancelled while handed over; its execution has not ended

  [[nodiscard]] constexpr bool any() const { return handed_over || cancelled; }
};

// Stored as these numbers.
enum class WorkState : std::uint8_t {
  kReady = 0,
  kLocked = 1,            // handed over
  kDelayed = 2,           // until a time, or until a worker that can run it registers
  kCancelledRunning = 3,  // cancelled while handed over: its execution may still go on
  kOutside = 4,           // its execution has ended, and its answer comes from outside
  kOutsideHolding = 5,    // the same, and for its session it goes on
};

// From a stored number. An item with an unknown number is held by no worker.
[[nodiscard]] constexpr WorkState work_state_of(std::int64_t stored) {
  return stored >= 0 && stored <= static_cast<std::int64_t>(WorkState::kOutsideHolding)
             ? static_cast<WorkState>(stored)
             : WorkState::kDelayed;
}
// Whether an execution of it may be under way, which a worker holds.
[[nodiscard]] constexpr bool is_in_hand(WorkState state) {
  return state == WorkState::kLocked || state == WorkState::kCancelledRunning;
}
// Whether its execution has ended, and its answer comes from outside.
[[nodiscard]] constexpr bool is_outside(WorkState state) {
  return state == WorkState::kOutside || state == WorkState::kOutsideHolding;
}

// A living registration that a session may go to.
struct TargetWorker {
  bool draining = false;
  std::int64_t locked_until = 0;
  std::int64_t sessions_max = 0;
};

// The part of a worker in the declarations of a device; stored as these numbers.
enum class Role : std::uint8_t {
  kHolder = 0,
  kStandby = 1,
  kWithdrawing = 2,  // a holder whose last work still runs
};

[[nodiscard]] constexpr Role role_of(std::int64_t stored) {
  return stored == 1 ? Role::kStandby : stored == 2 ? Role::kWithdrawing : Role::kHolder;
}

}  // namespace pawl::rules

#endif  // PAWL_STORE_ROW_RULES_HPP
