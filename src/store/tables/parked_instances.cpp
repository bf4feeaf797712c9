#include "parked_instances.hpp"

#include "clock_rules.hpp"
#include "walk.hpp"

namespace pawl::store {

Status ParkedInstances::abandon_orchestration_item(InstanceKey key, std::int64_t revision,
                                                   const Parking& parking, bool strike,
                                                   ErrorKind why, std::string_view text) {
  require_batch();
  InstanceRow row;
  const Status found = instances_.read_instance(key, &row);
  if (found == Status::kNotFound) return Status::kStale;
  PAWL_TRY(found);
  if (row.state != InstanceState::kRunning || row.revision != revision || row.parked)
    return Status::kStale;
  InstanceWrite park;
  if (!parking.delay_ms.has_value()) {
    park.state = InstanceState::kStopped;
    park.parked_until = kNever;
  } else if (parking.delay_ms.value() > 0) {
    park.parked_until = make_due(batch_.now, parking.delay_ms.value());
  }
  // Keep a pending terminate request. Clear the home, so that any worker may retry at once.
  park.home = 0;
  park.keeps_why = row.terminating;
  park.why = why;
  park.text = cut_text(text, kErrorTextBytesMax);
  park.keeps_unregistered = !parking.needs.has_value();
  park.needs = parking.needs;
  park.stamps = true;
  park.strikes = strike ? 1 : 0;
  return written(instances_.write_state(key, park));
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
  // Overdue work ends first, so that no item past its limit is handed over once more.
  if (*woken < limit) PAWL_TRY(outcomes_.end_overdue_work(limit - *woken, woken));
  if (*woken < limit) PAWL_TRY(claims_.end_unavailable_work(limit - *woken, woken));
  if (*woken < limit) PAWL_TRY(expiry_.look_at_sessions(limit - *woken, woken));
  return *woken < limit ? items_.wake_delayed_work(limit - *woken, woken) : Status::kOk;
}

}  // namespace pawl::store
