// Lifetime: how sessions that an orchestration opened are looked at while they are open, and when
// they are over.
//
// Rules: docs/rules/session.md, 25, 27 and 32. Ownership, thread rule: pure functions of plain
// values. Errors: none.
#ifndef PAWL_SESSION_LIFETIME_HPP
#define PAWL_SESSION_LIFETIME_HPP

#include <cstdint>

#include "ownership.hpp"
#include "rows.hpp"

namespace pawl::session {

// A name in use again and again leaves one row; of others there are so many as expire in this time.
inline constexpr std::int64_t kExpiredKeptMs = 3'600'000;

// A session whose look_at has come.
enum class Look : std::uint8_t {
  kLogClosing,  // a client closed it, which has no log; then its row goes
  kRemove,      // people had time to see it
  kExpires,
  kAnnounces,  // that it expires
};
[[nodiscard]] Look look_at(State state, OptionalMs expires_at, std::int64_t now);

// Closed from outside of its instance. `is_owner`: the caller is the one that it was opened for, or
// an administrator.
enum class Ending : std::uint8_t {
  kNotFound,  // it was closed before
  kNotOwner,
  kRemove,  // it is not open: its row goes
  kEnds,
};
[[nodiscard]] Ending end_from_outside(State state, bool is_owner);

// A closing that is not logged yet: a client did it, and the row waits for who logs it.
[[nodiscard]] bool is_closing_unlogged(State state, bool has_look_at);

// ---- left open --------------------------------------------------------------------------------------

struct LeakRow {
  State state = State::kOpen;
  bool is_opened = false;
  std::int64_t age_ms = 0;
  std::int64_t activities = 0;
};
// 0: no such limit.
struct LeakLimits {
  std::int64_t open_for_ms = 0;
  std::int64_t unused_for_ms = 0;
};
[[nodiscard]] bool is_leak(const LeakRow& row, const LeakLimits& limits);

// ---- handing over to other workers ------------------------------------------------------------------

// The tag and the summary are written, and the session leaves its owner. A device stays with who
// has it.
[[nodiscard]] bool may_hand_off(const SessionRow& session);

}  // namespace pawl::session

#endif  // PAWL_SESSION_LIFETIME_HPP
