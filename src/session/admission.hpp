// Admission: what may be opened, and what may be scheduled on it.
//
// Rules: docs/rules/session.md, S1, and session-openings.md, S18, S24, S28 and S29. Counted when
// work is scheduled, in the session's row, which is written then in any case; so a limit is the same
// for all workers, and survives them. Ownership, thread rule: pure functions of plain values. Errors: none; sums saturate.
#ifndef PAWL_SESSION_ADMISSION_HPP
#define PAWL_SESSION_ADMISSION_HPP

#include <cstdint>

#include "pawl/error.hpp"
#include "pawl/session.hpp"
#include "rows.hpp"

namespace pawl::session {

// ---- opening ----------------------------------------------------------------------------------------

// Sessions that count as open, the one to be opened not among them. Each is counted up to its
// limit.
struct OpenCounts {
  std::int64_t of_instance = 0;
  std::int64_t instance_max = 0;
  bool has_label = false;
  std::int64_t of_label = 0;   // asked only if it matters
  std::int64_t label_max = 0;  // 0: no limit
};
enum class Opening : std::uint8_t { kAdmitted, kTooManyOfInstance, kTooManyOfLabel };
// Does the verdict depend on `of_label`?
[[nodiscard]] bool needs_label_count(const OpenCounts& counts);
[[nodiscard]] Opening admit_opening(const OpenCounts& counts);

// When an opened session expires, and when it is looked at first: to announce that, or to end it.
// idle_close is no part of it: see lifetime.hpp.
struct Expiry {
  OptionalMs expires_at;
  OptionalMs look_at;
};
[[nodiscard]] Expiry expiry_of(const SessionSettings& settings, std::int64_t now);
// Its settings limit how many activities it has, or how fast they come.
[[nodiscard]] bool limits_work(const SessionSettings& settings);
// Its row keeps the text of its settings: later decisions need more of them than a column says.
[[nodiscard]] bool keeps_settings(const SessionSettings& settings);

// ---- scheduling -------------------------------------------------------------------------------------

// What work finds that is scheduled on a session of its own orchestration.
enum class OpenedState : std::uint8_t { kOpen, kLost, kRefused, kNotOpen };
[[nodiscard]] OpenedState opened_state_of(State state);

// The instance of some work, and the one whose settings the limits of its session are. One spoils no
// shared session for the others.
enum class LimitOf : std::uint8_t { kItself, kAnother };

// What work finds that names a shared session.
enum class SharedState : std::uint8_t {
  kOpen,
  kBeginsAnew,            // without settings
  kBeginsAnewAfterLimit,  // with those that settings_that_stay() says
  kRefuses,
};
[[nodiscard]] SharedState shared_state_of(State state, LimitOf limit);
// After a limit of another instance: the session is as strict as before, and as slow.
[[nodiscard]] SessionSettings settings_that_stay(const SessionSettings& settings);

struct Scheduled {
  std::int64_t given = 0;  // activities so far
  OptionalMs rate_at;      // when its rate is as good as new
};
enum class Admitted : std::uint8_t {
  kAtOnce,
  kLater,  // at `due`
  kTooMany,
  kBeginsAnew,  // too many for another instance's limit: it is asked again in the new opening
  kTooFast,     // it would wait longer than rate_wait_ms
};
struct Admission {
  Admitted verdict = Admitted::kAtOnce;
  Scheduled next;                // unless it is refused
  std::int64_t due = 0;          // kLater
  std::int64_t again_in_ms = 0;  // kTooFast: when it would be admitted
  bool warns = false;            // it is the activity that the settings ask to be notified of
};
[[nodiscard]] Admission admit_work(const SessionSettings& settings, const Scheduled& so_far,
                                   LimitOf limit, std::int64_t now);

}  // namespace pawl::session

#endif  // PAWL_SESSION_ADMISSION_HPP
