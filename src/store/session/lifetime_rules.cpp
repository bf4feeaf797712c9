#include "store/session/lifetime_rules.hpp"

#include "core/clock_rules.hpp"

namespace pawl::rules {

namespace {

// Looks at the maximum age, and at the notice before it.
void look_at_age(const LookRow& row, const EndTerms& terms, std::int64_t now, Looked* out) {
  if (!row.expires_at.has_value()) return;
  // Without the settings in its row, the look itself was planned for the time of the notice.
  const std::int64_t notice_at =
      terms.is_known ? subtract_saturating(row.expires_at.value(), terms.expiry_notice_ms)
                     : row.planned_at;
  if (notice_at > now) {
    out->next.keep_earlier(notice_at);
    return;
  }
  out->announces_expiry =
      notice_at >= row.planned_at && (!terms.is_known || terms.expiry_notice_ms != 0);
  out->next.keep_earlier(row.expires_at);
}

// Looks at the idle time, and at the notice before closing.
void look_at_idleness(const LookRow& row, const EndTerms& terms, std::int64_t now, Looked* out) {
  if (terms.idle_close_ms == 0 || row.device || !is_open(row.state)) return;
  const std::int64_t until_notice = terms.idle_close_ms - terms.idle_close_notice_ms;
  if (row.has_work) {
    out->next.keep_earlier(add_saturating(now, until_notice));
    return;
  }
  const std::int64_t idle_at = add_saturating(row.last_activity_at, terms.idle_close_ms);
  const std::int64_t held_until = add_saturating(row.hold_until, 1);
  const std::int64_t closes_at = idle_at > held_until ? idle_at : held_until;
  const std::int64_t notice_at = subtract_saturating(closes_at, terms.idle_close_notice_ms);
  if (notice_at > now) {
    out->next.keep_earlier(notice_at);
    return;
  }
  if (terms.idle_close_notice_ms != 0 && notice_at >= row.planned_at) {
    // A late look does not shorten the time that the notice promises.
    const std::int64_t promised = add_saturating(now, terms.idle_close_notice_ms);
    out->announces_closing = true;
    out->closes_in_ms = terms.idle_close_notice_ms;
    out->next.keep_earlier(closes_at > promised ? closes_at : promised);
    return;
  }
  if (closes_at <= now) {
    out->what = Look::kCloses;
  } else {
    out->next.keep_earlier(closes_at);
  }
}

}  // namespace

EndTerms end_terms(const SessionSettings& settings) {
  return {true, settings.expiry_notice.count(), settings.idle_close.count(),
          settings.idle_close_notice.count()};
}

Looked look_at(const LookRow& row, const EndTerms& terms, std::int64_t now) {
  Looked out;
  if (row.state == State::kClosed) {
    out.what = Look::kLogClosing;
  } else if (row.state == State::kExpired) {
    out.what = Look::kRemove;
  } else if (row.expires_at.has_passed(now)) {
    out.what = is_open(row.state) && row.has_work_of_others ? Look::kBeginsAnew : Look::kExpires;
  } else {
    look_at_age(row, terms, now, &out);
    look_at_idleness(row, terms, now, &out);
  }
  return out;
}

OptionalMs first_idle_look(const SessionSettings& settings, std::int64_t now) {
  if (settings.idle_close.count() == 0) return {};
  return make_due(now, settings.idle_close.count() - settings.idle_close_notice.count());
}

OptionalMs age_look_after_change(OptionalMs planned_at, OptionalMs by_settings) {
  const bool is_behind =
      by_settings.has_value() && planned_at.has_value() && by_settings.value() < planned_at.value();
  return is_behind ? planned_at : by_settings;
}

Ending end_from_outside(State state, bool is_owner) {
  if (state == State::kClosed) return Ending::kNotFound;
  if (!is_owner) return Ending::kNotOwner;
  return is_open(state) ? Ending::kEnds : Ending::kRemove;
}

bool is_closing_unlogged(State state, bool has_look_at) {
  return state == State::kClosed && has_look_at;
}

// ---- left open ----

bool is_leak(const LeakRow& row, const LeakLimits& limits) {
  if (!row.is_opened || !counts_as_open(row.state)) return false;
  const bool is_old = limits.open_for_ms > 0 && row.age_ms >= limits.open_for_ms;
  const bool is_unused =
      limits.unused_for_ms > 0 && row.activities == 0 && row.age_ms >= limits.unused_for_ms;
  return is_old || is_unused;
}

// ---- handing over to other workers ----

bool may_hand_off(const SessionRow& session) { return !session.device; }

}  // namespace pawl::rules
