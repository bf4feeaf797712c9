// Lifetime: how sessions that an orchestration opened are looked at while they are open, and when
// they are over.
//
// Rules: docs/rules/session.md, S1, and session-openings.md, S25, S27, S32 and S53. Ownership, thread
// rule: pure functions of plain values. Errors: none.
#ifndef PAWL_SESSION_LIFETIME_HPP
#define PAWL_SESSION_LIFETIME_HPP

#include <cstdint>

#include "ownership.hpp"
#include "pawl/session.hpp"
#include "rows.hpp"

namespace pawl::session {

// A name in use again and again leaves one row; of others there are so many as expire in this time.
inline constexpr std::int64_t kExpiredKeptMs = 3'600'000;

// What the settings of a session say of its end.
struct EndTerms {
  bool is_known = false;  // its row keeps its settings
  std::int64_t expiry_notice_ms = 0;
  std::int64_t idle_close_ms = 0;  // 0: never
  std::int64_t idle_close_notice_ms = 0;
};
[[nodiscard]] EndTerms end_terms(const SessionSettings& settings);

// A session whose look_at has come.
struct LookRow {
  State state = State::kOpen;
  bool device = false;
  bool has_work = false;            // in the queue, in any state
  bool has_work_of_others = false;  // of that, work whose instance did not set its age
  std::int64_t planned_at = 0;      // the look_at that has come
  OptionalMs expires_at;
  std::int64_t last_activity_at = 0;
  std::int64_t hold_until = 0;
};
enum class Look : std::uint8_t {
  kLogClosing,  // a client closed it, which has no log; then its row goes
  kRemove,      // people had time to see it
  kExpires,
  kBeginsAnew,  // its age is over, and work that the age is not of goes on in it
  kCloses,      // it was idle for long enough
  kWaits,       // it is looked at again
};
struct Looked {
  Look what = Look::kWaits;
  bool announces_expiry = false;
  bool announces_closing = false;  // for `closes_in_ms`, if nothing happens
  std::int64_t closes_in_ms = 0;
  OptionalMs next;  // kWaits: when it is looked at again; none: never
};
// Nothing is written when a session is used: a look that comes finds when that was, and plans the
// next one. A notice whose time lies between the look that was planned and now was not given yet,
// since each look plans the next before the next notice.
[[nodiscard]] Looked look_at(const LookRow& row, const EndTerms& terms, std::int64_t now);
// When a session that is opened or changed now is looked at first because of idle_close.
[[nodiscard]] OptionalMs first_idle_look(const SessionSettings& settings, std::int64_t now);
// When a session of which `row` is the look that was planned before, and whose end stays where it is,
// is looked at because of its age after a change of its settings.
[[nodiscard]] OptionalMs age_look_after_change(OptionalMs planned_at, OptionalMs by_settings);

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
