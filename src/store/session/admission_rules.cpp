#include "store/session/admission_rules.hpp"

#include "core/clock_rules.hpp"

namespace pawl::rules {

namespace {

// A token bucket in one number: the time at which it is full again.
struct Slot {
  std::int64_t start = 0;  // start time of the activity being scheduled
  std::int64_t next_full = 0;
};

Slot slot_of(const SessionSettings& settings, OptionalMs full_at, std::int64_t now) {
  const std::int64_t at = full_at.has_value() && full_at.value() > now ? full_at.value() : now;
  const std::int64_t ahead = (settings.rate_burst - 1) * settings.rate_interval.count();
  const std::int64_t start = subtract_saturating(at, ahead);
  return {start > now ? start : now, add_saturating(at, settings.rate_interval.count())};
}

}  // namespace

// ---- opening ----

bool needs_label_count(const OpenCounts& counts) {
  return counts.has_label && counts.label_max != 0 && counts.of_instance < counts.instance_max;
}

Opening admit_opening(const OpenCounts& counts) {
  if (counts.of_instance >= counts.instance_max) return Opening::kTooManyOfInstance;
  return needs_label_count(counts) && counts.of_label >= counts.label_max ? Opening::kTooManyOfLabel
                                                                          : Opening::kAdmitted;
}

Expiry expiry_of(const SessionSettings& settings, std::int64_t now) {
  if (settings.max_age.count() == 0) return {};
  const std::int64_t notice_ms = settings.max_age.count() - settings.expiry_notice.count();
  return {make_due(now, settings.max_age.count()), make_due(now, notice_ms)};
}

bool limits_work(const SessionSettings& settings) {
  return settings.max_activities != 0 || settings.rate_interval.count() != 0;
}

bool keeps_settings(const SessionSettings& settings) {
  return limits_work(settings) || settings.idle_close.count() != 0 ||
         settings.expiry_notice.count() != 0;
}

// ---- scheduling ----

OpenedState opened_state_of(State state) {
  switch (state) {
    case State::kOpen:
    case State::kStopping: return OpenedState::kOpen;
    case State::kLost: return OpenedState::kLost;
    case State::kRefused: return OpenedState::kRefused;
    case State::kClosed:
    case State::kExpired: break;
  }
  return OpenedState::kNotOpen;
}

SharedState shared_state_of(State state, LimitOf limit) {
  switch (state) {
    case State::kOpen:
    case State::kStopping: return SharedState::kOpen;
    case State::kClosed: return SharedState::kBeginsAnew;
    case State::kRefused:
    case State::kExpired:
      return limit == LimitOf::kAnother ? SharedState::kBeginsAnewAfterLimit
                                        : SharedState::kRefuses;
    case State::kLost: break;
  }
  return SharedState::kRefuses;
}

SessionSettings settings_that_stay(const SessionSettings& settings) {
  SessionSettings out;
  out.exclusive = settings.exclusive;
  out.rate_interval = settings.rate_interval;
  out.rate_burst = settings.rate_burst;
  out.rate_wait = settings.rate_wait;
  return out;
}

Admission admit_work(const SessionSettings& settings, const Scheduled& so_far, LimitOf limit,
                     std::int64_t now) {
  Admission out;
  if (settings.max_activities != 0 && so_far.given >= settings.max_activities) {
    out.verdict = limit == LimitOf::kAnother ? Admitted::kBeginsAnew : Admitted::kTooMany;
    return out;
  }
  out.next.given = add_saturating(so_far.given, 1);
  out.warns = out.next.given == settings.activity_warning;
  if (settings.rate_interval.count() == 0) return out;
  const Slot slot = slot_of(settings, so_far.rate_at, now);
  const std::int64_t wait_ms = subtract_saturating(slot.start, now);
  if (limit == LimitOf::kItself && wait_ms > settings.rate_wait.count()) {
    out.verdict = Admitted::kTooFast;
    out.again_in_ms = wait_ms - settings.rate_wait.count();
    return out;
  }
  out.next.rate_at = slot.next_full;
  if (wait_ms == 0) return out;
  out.verdict = Admitted::kLater;
  out.due = slot.start;
  return out;
}

}  // namespace pawl::rules
