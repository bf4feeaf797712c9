// Admission: which sessions may be opened, and which work may be scheduled on them.
//
// Rules: docs/rules/session.md, S1, and session-openings.md, S18, S24, S28 and S29. Counted when
// work is scheduled, in the session's row, which is written then in any case; so a limit is the
// same for all workers and outlives them. Ownership, thread rule: pure functions of plain values.
// Errors: none; sums saturate.
#ifndef PAWL_STORE_SESSION_ADMISSION_RULES_HPP
#define PAWL_STORE_SESSION_ADMISSION_RULES_HPP

#include <cstdint>

#include "pawl/error.hpp"
#include "pawl/session.hpp"
#include "store/row_rules.hpp"

namespace pawl::rules {

// ---- opening ----

// How many sessions count as open, without the one that is about to be opened. Each count stops at
// its limit.
struct OpenCounts {
  std::int64_t of_instance = 0;
  std::int64_t instance_max = 0;
  bool has_label = false;
  std::int64_t of_label = 0;   // read only if needs_label_count()
  std::int64_t label_max = 0;  // 0: no limit
};
enum class Opening : std::uint8_t { kAdmitted, kTooManyOfInstance, kTooManyOfLabel };
// Whether the verdict depends on `of_label`.
[[nodiscard]] bool needs_label_count(const OpenCounts& counts);
[[nodiscard]] Opening admit_opening(const OpenCounts& counts);

// When an opened session expires, and when the first look at it is due: to announce the expiry, or
// to end it. idle_close is handled in lifetime.hpp.
struct Expiry {
  OptionalMs expires_at;
  OptionalMs look_at;
};
[[nodiscard]] Expiry expiry_of(const SessionSettings& settings, std::int64_t now);
// Whether the settings limit the number or the rate of its activities.
[[nodiscard]] bool limits_work(const SessionSettings& settings);
// Whether the row keeps the text of the settings: later decisions need more of them than the
// columns hold.
[[nodiscard]] bool keeps_settings(const SessionSettings& settings);

// ---- scheduling ----

// The state of a session for work of the orchestration that opened it.
enum class OpenedState : std::uint8_t { kOpen, kLost, kRefused, kNotOpen };
[[nodiscard]] OpenedState opened_state_of(State state);

// Whether the session's limits come from the settings of the work's own instance or of another one.
// One instance must not spoil a shared session for the others.
enum class LimitOf : std::uint8_t { kItself, kAnother };

// The state of a shared session for work that names it.
enum class SharedState : std::uint8_t {
  kOpen,
  kBeginsAnew,            // without settings
  kBeginsAnewAfterLimit,  // with the settings that settings_that_stay() gives
  kRefuses,
};
[[nodiscard]] SharedState shared_state_of(State state, LimitOf limit);
// The settings that stay after another instance's limit was reached: the session stays as strict
// and as slow as before.
[[nodiscard]] SessionSettings settings_that_stay(const SessionSettings& settings);

struct Scheduled {
  std::int64_t given = 0;  // number of activities so far
  OptionalMs rate_at;      // when its rate is unused again
};
enum class Admitted : std::uint8_t {
  kAtOnce,
  kLater,  // at `due`
  kTooMany,
  kBeginsAnew,  // beyond another instance's limit: the question is asked again for the new opening
  kTooFast,     // it would wait longer than the settings' rate_wait
};
struct Admission {
  Admitted verdict = Admitted::kAtOnce;
  Scheduled next;                // the new counts, unless the work is refused
  std::int64_t due = 0;          // for kLater
  std::int64_t again_in_ms = 0;  // for kTooFast: the delay after which it would be admitted
  bool warns = false;            // this is the activity for which the settings ask for a warning
};
[[nodiscard]] Admission admit_work(const SessionSettings& settings, const Scheduled& so_far,
                                   LimitOf limit, std::int64_t now);

}  // namespace pawl::rules

#endif  // PAWL_STORE_SESSION_ADMISSION_RULES_HPP
