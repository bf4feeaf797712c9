#include "parked_instances.hpp"

#include "clock_rules.hpp"

namespace pawl::store {

constexpr sql::Query kPark{
    "UPDATE instances SET state=?2,parked_until=?3,stop_kind=iif(stop_kind=15,15,?4),"
    "stop_text=iif(stop_kind=15,stop_text,?5),strikes=strikes+?6,home=0,updated_stamp=?7 "
    "WHERE key=?1",
    kParkedComes | kTimerMoves};

Status ParkedInstances::abandon_orchestration_item(InstanceKey key, std::int64_t revision,
                                                   std::int64_t delay_ms, bool strike,
                                                   ErrorKind why, std::string_view text) {
  require_batch();
  InstanceRow row;
  const Status found = instances_.read_instance(key, &row);
  if (found == Status::kNotFound) return Status::kStale;
  PAWL_TRY(found);
  if (row.state != InstanceState::kRunning || row.revision != revision || row.parked)
    return Status::kStale;
  const bool stop = delay_ms == InstanceStore::kStoppedForGood;
  const InstanceState state = stop ? InstanceState::kStopped : InstanceState::kRunning;
  // Keep a pending terminate request. Clear the home, so that any worker may retry at once.
  Statement park = connection_.use(kPark);
  park.bind(key).bind(static_cast<std::int64_t>(state));
  if (stop) {
    park.bind(kNever);
  } else if (delay_ms > 0) {
    park.bind(make_due(batch_.now, delay_ms));
  } else {
    park.bind_null();
  }
  park.bind_or_null(static_cast<std::int64_t>(why));
  park.bind_text_or_null(cut_text(text, kErrorTextBytesMax));
  return fail_written(park.bind(strike ? 1 : 0).bind(batch_.stamp_ms).run(), "park instance");
}

constexpr sql::Query kRetryStopped{
    "UPDATE instances SET state=0,parked_until=NULL,ready_at=?1 WHERE key IN "
    "(SELECT key FROM instances INDEXED BY i_stopped WHERE state=3 LIMIT ?2)",
    kParkedMoves | kTimerComes};

Status ParkedInstances::retry_stopped(std::size_t limit, std::size_t* retried) {
  require_batch();
  *retried = 0;
  PAWL_TRY(fail_written(
      connection_.use(kRetryStopped).bind(batch_.now).bind(static_cast<std::int64_t>(limit)).run(),
      "retry stopped instances"));
  *retried = static_cast<std::size_t>(connection_.changes());
  return Status::kOk;
}

constexpr sql::Query kUnpark{
    "UPDATE instances SET parked_until=NULL WHERE +parked_until IS NOT NULL AND key IN "
    "(SELECT key FROM instances INDEXED BY i_parked WHERE parked_until IS NOT NULL "
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
