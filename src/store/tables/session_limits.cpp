#include "session_limits.hpp"

#include <cinttypes>
#include <cstdint>

#include "admission.hpp"
#include "damage.hpp"
#include "lifetime.hpp"
#include "policy.hpp"

namespace pawl::store {

constexpr sql::Query kSetLimits{
    "UPDATE sessions SET expires_at=?2,look_at=?3,limits=?4 WHERE sid=?1"};

Status SessionLimits::set_limits(SessionKey session, const SessionSettings& settings) {
  const bool keeps = session::keeps_settings(settings);
  session::Expiry expiry = session::expiry_of(settings, batch_.now);
  if (!expiry.expires_at.has_value() && !keeps) return Status::kOk;
  expiry.look_at.keep_earlier(session::first_idle_look(settings, batch_.now));
  PolicyText text;
  if (keeps && !encode_settings(settings, &text))
    return fail(Status::kInvalidArgument, "keep the limits of a session");
  Statement set = connection_.use(kSetLimits);
  set.bind(session).bind_optional(expiry.expires_at).bind_due(expiry.look_at, kLookComes);
  set.bind_text_or_null(text.view());
  return fail(set.run(), "limit a session");
}

constexpr sql::Query kCountWork{"UPDATE sessions SET given=?2,rate_at=?3 WHERE sid=?1"};

Status SessionLimits::admit_work(const Opened& row, session::LimitOf limit, Admission* out) {
  const Suspicion suspect(connection_, RowRef::Table::kSessions, row.session);
  if (row.limits.empty()) return Status::kOk;
  Diagnostic why;
  SessionSettings settings;
  if (!decode_settings(row.limits.view(), &settings)) {
    out->why = ErrorKind::kCorrupt;
    out->text.assign_cut("the stored limits of the session cannot be read");
    return Status::kOk;
  }
  if (!session::limits_work(settings)) return Status::kOk;
  const session::Admission admission =
      session::admit_work(settings, {row.given, row.rate_at}, limit, batch_.now);
  switch (admission.verdict) {
    case session::Admitted::kTooMany:
      out->why = ErrorKind::kLimit;
      why.format("the session has had its %" PRId64
                 " activities (max_activities): close it with close_session(), and open it again",
                 settings.max_activities);
      out->text.assign_cut(why.text());
      return Status::kOk;
    case session::Admitted::kBeginsAnew: out->begins_anew = true; return Status::kOk;
    case session::Admitted::kTooFast:
      out->why = ErrorKind::kRateLimited;
      why.format("more activities of the session than rate_burst (%" PRId64
                 ") and one every rate_interval_ms (%" PRId64 "): again in %" PRId64 " ms",
                 settings.rate_burst, settings.rate_interval.count(), admission.again_in_ms);
      out->text.assign_cut(why.text());
      return Status::kOk;
    case session::Admitted::kLater: out->due = admission.due; break;
    case session::Admitted::kAtOnce: break;
  }
  {
    Statement count = connection_.use(kCountWork);
    count.bind(row.session).bind(admission.next.given);
    count.bind_optional(admission.next.rate_at);
    PAWL_TRY(fail(count.run(), "count a session's work"));
  }
  return admission.warns ? events_.report_near_limit(row.session, settings) : Status::kOk;
}

}  // namespace pawl::store
