// Lifetime: how open sessions of an orchestration are looked at, and when they end.
//
// Rules: docs/rules/session.md, S1, and session-openings.md, S25, S27, S32 and S53. Ownership,
// thread rule: pure functions of plain values. Errors: none.
#ifndef PAWL_STORE_SESSION_LIFETIME_RULES_HPP
#define PAWL_STORE_SESSION_LIFETIME_RULES_HPP

#include <cstdint>

#include "pawl/session.hpp"
#include "store/row_rules.hpp"
#include "store/session/ownership_rules.hpp"

namespace pawl::rules {

// How long the row of an expired session is kept. A name in continual use leaves one row; for other
// names there are as many rows as sessions expire in this time.
inline constexpr std::int64_t kExpiredKeptMs = 3'600'000;

// How a session ends by its settings.
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
  bool has_work_of_others = false;  // some of it from instances that did not set the age
  std::int64_t planned_at = 0;      // the look_at whose time has come
  OptionalMs expires_at;
  std::int64_t last_activity_at = 0;
  std::int64_t hold_until = 0;
};
enum class Look : std::uint8_t {
  kLogClosing,  // a client, which has no log, closed it; then its row is removed
  kRemove,      // people had time to see it
  kExpires,
  kBeginsAnew,  // its age is over, and work of instances that did not set the age goes on in it
  kCloses,      // it was idle long enough
  kWaits,       // another look follows
};
struct Looked {
  Look what = Look::kWaits;
  bool announces_expiry = false;
  bool announces_closing = false;  // it closes in `closes_in_ms` if nothing happens
  std::int64_t closes_in_ms = 0;
  OptionalMs next;  // for kWaits: the time of the next look; none: never
};
// Using a session writes nothing: a look finds out when it was last used, and plans the next look.
// A notice whose time lies between the planned look and now was not given yet, since each look
// plans the next one before the next notice.
[[nodiscard]] Looked look_at(const LookRow& row, const EndTerms& terms, std::int64_t now);
// The first look due to idle_close at a session that is opened or changed now.
[[nodiscard]] OptionalMs first_idle_look(const SessionSettings& settings, std::int64_t now);
// The look due to its age after a change of the settings. `planned_at`: the look planned before,
// for a session whose end stays the same.
[[nodiscard]] OptionalMs age_look_after_change(OptionalMs planned_at, OptionalMs by_settings);

// The result of closing a session from outside of its instance. `is_owner`: the caller is the owner
// that it was opened for, or an administrator.
enum class Ending : std::uint8_t {
  kNotFound,  // it was closed before
  kNotOwner,
  kRemove,  // it is not open: its row is removed
  kEnds,
};
[[nodiscard]] Ending end_from_outside(State state, bool is_owner);

// Whether its closing is not logged yet: a client closed it, and the row waits for a runtime to log
// it.
[[nodiscard]] bool is_closing_unlogged(State state, bool has_look_at);

// ---- left open ----

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

// ---- handing over to other workers ----

// Whether the session may get a new tag and summary and leave its owner. A device stays with its
// owner.
[[nodiscard]] bool may_hand_off(const SessionRow& session);

}  // namespace pawl::rules

#endif  // PAWL_STORE_SESSION_LIFETIME_RULES_HPP
