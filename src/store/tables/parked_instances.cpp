#include "parked_instances.hpp"

#include "clock_rules.hpp"
#include "walk.hpp"

namespace pawl::store {

Status ParkedInstances::abandon_orchestration_item(InstanceKey key, std::int64_t revision,
                                                   OptionalMs delay_ms, bool strike, ErrorKind why,
                                                   std::string_view text) {
  InstanceWrite how;
  if (!delay_ms.has_value()) {
    how.state = InstanceState::kStopped;
    how.parked_until = kNever;
  } else if (delay_ms.value() > 0) {
    how.parked_until = make_due(batch_.now, delay_ms.value());
  }
  how.why = why;
  how.text = text;
  how.keeps_unregistered = true;
  how.strikes = strike ? 1 : 0;
  return park(key, revision, &how);
}

Status ParkedInstances::leave_to_larger(InstanceKey key, std::int64_t revision,
                                        const MailboxLimits& needs, std::string_view text) {
  InstanceWrite how;
  how.needs = needs;
  how.why = ErrorKind::kLimit;
  how.text = text;
  return park(key, revision, &how);
}

Status ParkedInstances::park(InstanceKey key, std::int64_t revision, InstanceWrite* how) {
  require_batch();
  InstanceRow row;
  const Status found = instances_.read_instance(key, &row);
  if (found == Status::kNotFound) return Status::kStale;
  PAWL_TRY(found);
  if (row.state != InstanceState::kRunning || row.revision != revision || row.parked)
    return Status::kStale;
  // Keep a pending terminate request. Clear the home, so that any worker may retry at once.
  how->home = 0;
  how->keeps_why = row.terminating;
  how->text = cut_text(how->text, kErrorTextBytesMax);
  how->stamps = true;
  return written(instances_.write_state(key, *how));
}

constexpr auto kNextStoppedText =
    sql::join("SELECT key FROM instances\fINDEXED BY i_stopped\rWHERE state=",
              sql::number<InstanceState::kStopped>, " ORDER BY key LIMIT 1");
constexpr sql::Query kNextStopped{kNextStoppedText};

Status ParkedInstances::retry_stopped(std::size_t limit, std::size_t* retried) {
  require_batch();
  Walk walk;
  for (*retried = 0; *retried < limit; ++*retried) {
    InstanceKey key = 0;
    {
      Statement next = connection_.use(kNextStopped);
      if (!next.row()) return fail(next.status(), "find a stopped instance");
      key = next.integer(0);
      if (!walk.rises(key)) return no_progress("instances");
    }
    const Suspicion suspect(connection_, RowRef::Table::kInstances, key);
    InstanceWrite write;
    write.ready_at = batch_.now;
    write.keeps_why = true;
    write.keeps_unregistered = true;
    PAWL_TRY(written(instances_.write_state(key, write)));
  }
  return Status::kOk;
}

constexpr sql::Query kUnpark{
    "UPDATE instances SET parked_until=NULL WHERE +parked_until IS NOT NULL AND key IN "
    "(SELECT key FROM instances\fINDEXED BY i_parked\rWHERE parked_until IS NOT NULL "
    "AND parked_until<=?1 ORDER BY parked_until LIMIT ?2)",
    kParkedMoves | kTimerMoves};

Status ParkedInstances::wake_delayed(std::size_t limit, std::size_t* woken) {
  require_batch();
  *woken = 0;
  PAWL_TRY(fail_written(
      connection_.use(kUnpark).bind(batch_.now).bind(static_cast<std::int64_t>(limit)).run(),
      "wake parked instances"));
  *woken = static_cast<std::size_t>(connection_.changes());
  // First, so that nothing past its limit is handed over once more.
  if (*woken < limit) PAWL_TRY(outcomes_.end_overdue_work(limit - *woken, woken));
  if (*woken < limit) PAWL_TRY(claims_.end_unavailable_work(limit - *woken, woken));
  if (*woken < limit) PAWL_TRY(expiry_.look_at_sessions(limit - *woken, woken));
  return *woken < limit ? items_.wake_delayed_work(limit - *woken, woken) : Status::kOk;
}

}  // namespace pawl::store
