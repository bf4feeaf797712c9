#include "session_limits.hpp"

#include <cinttypes>
#include <cstdint>

#include "damage.hpp"
#include "policy.hpp"

namespace pawl::store {
namespace {

// A bucket in one number: the time at which it is full again.
struct Slot {
  std::int64_t start = 0;  // of the activity at hand
  OptionalMs next_full;    // none: without a rate
};

Slot slot_of(const SessionSettings& settings, OptionalMs full_at, std::int64_t now) {
  const std::int64_t at = full_at.value_or(now) > now ? full_at.value_or(now) : now;
  const std::int64_t ahead = (settings.rate_burst - 1) * settings.rate_interval_ms;
  const std::int64_t start = subtract_saturating(at, ahead);
  return {start > now ? start : now, add_saturating(at, settings.rate_interval_ms)};
}

}  // namespace

constexpr sql::Query kSetLimits{
    "UPDATE sessions SET expires_at=?2,look_at=?3,limits=?4 WHERE sid=?1"};

Status SessionLimits::set_limits(SessionKey session, const SessionSettings& settings) {
  const bool counts = settings.max_activities != 0 || settings.rate_interval_ms != 0;
  if (settings.max_age_ms == 0 && !counts) return Status::kOk;
  PolicyText text;
  if (counts && !encode_settings(settings, &text))
    return fail(Status::kInvalidArgument, "keep the limits of a session");
  Statement set = connection_.use(kSetLimits);
  set.bind(session);
  if (settings.max_age_ms == 0) {
    set.bind_null().bind_null();
  } else {
    due_.comes(DueKind::kLook);
    const std::int64_t notice_ms = settings.max_age_ms - settings.expiry_notice_ms;
    set.bind(make_due(batch_.now, settings.max_age_ms)).bind(make_due(batch_.now, notice_ms));
  }
  set.bind_text_or_null(text.view());
  return fail(set.run(), "limit a session");
}

constexpr sql::Query kCountWork{
    "UPDATE sessions SET given=coalesce(given,0)+1,rate_at=?2 WHERE sid=?1"};

Status SessionLimits::admit_work(const Opened& row, Admission* out) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, row.session);
  if (row.limits.empty()) return Status::kOk;
  Diagnostic why;
  SessionSettings settings;
  if (!decode_settings(row.limits.view(), &settings)) {
    out->why = ErrorKind::kCorrupt;
    out->text.assign_cut("the stored limits of the session cannot be read");
    return Status::kOk;
  }
  if (settings.max_activities != 0 && row.given >= settings.max_activities) {
    out->why = ErrorKind::kLimit;
    why.format("the session has had its %" PRId64
               " activities (max_activities): close it with close_session(), and open it again",
               settings.max_activities);
    out->text.assign_cut(why.text());
    return Status::kOk;
  }
  Slot slot;
  if (settings.rate_interval_ms != 0) {
    slot = slot_of(settings, row.rate_at, batch_.now);
    const std::int64_t wait_ms = subtract_saturating(slot.start, batch_.now);
    if (wait_ms > settings.rate_wait_ms) {
      out->why = ErrorKind::kRateLimited;
      why.format("more activities of the session than rate_burst (%" PRId64
                 ") and one every rate_interval_ms (%" PRId64 "): again in %" PRId64 " ms",
                 settings.rate_burst, settings.rate_interval_ms, wait_ms - settings.rate_wait_ms);
      out->text.assign_cut(why.text());
      return Status::kOk;
    }
    if (wait_ms > 0) out->due = slot.start;
  }
  {
    Statement count = connection_.use(kCountWork);
    count.bind(row.session);
    count.bind_optional(slot.next_full);
    PAWL_TRY(fail(count.run(), "count a session's work"));
  }
  return row.given + 1 == settings.activity_warning ? events_.tell_near_limit(row.session, settings)
                                                    : Status::kOk;
}

}  // namespace pawl::store
