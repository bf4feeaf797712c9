#include "instance_verbs.hpp"

#include <cstdint>

#include "clock_rules.hpp"

namespace pawl::store {

static_assert(static_cast<int>(ErrorKind::kTerminated) == 15, "in the statements");

constexpr sql::Query kTerminate{
    "UPDATE instances SET "
    "state=0,revision=revision+1,parked_until=NULL,unregistered=NULL,stop_kind=15,"
    "stop_text=?2,home=0,ready_at=?3,ready_id=coalesce(ready_id,"
    "(SELECT coalesce(max(id),0)+1 FROM orchestrator_queue)) WHERE key=?1",
    kParkedMoves | kTimerComes};

Status InstanceVerbs::terminate_instance(std::string_view id, std::string_view reason) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  return fail_written(connection_.use(kTerminate)
                          .bind(found.key)
                          .bind_text(cut_text(reason, kErrorTextBytesMax))
                          .bind(batch_.now)
                          .run(),
                      "terminate instance");
}

constexpr sql::Query kChangeState{
    "UPDATE instances SET state=4,parked_until=?2,updated_stamp=?3 WHERE key=?1",
    kParkedComes | kTimerMoves};

Status InstanceVerbs::suspend_instance(std::string_view id) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  if (found.terminating) return Status::kStale;
  return fail_written(
      connection_.use(kChangeState).bind(found.key).bind(kNever).bind(batch_.stamp_ms).run(),
      "suspend instance");
}

constexpr sql::Query kResume{
    "UPDATE instances SET state=0,parked_until=NULL,ready_at=?2,updated_stamp=?3 "
    "WHERE key=?1 AND state IN (3,4)",
    kParkedMoves | kTimerComes};

Status InstanceVerbs::resume_instance(std::string_view id) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  return fail_written(
      connection_.use(kResume).bind(found.key).bind(batch_.now).bind(batch_.stamp_ms).run(),
      "resume instance");
}

constexpr sql::Query kFind{
    "SELECT key,state,stop_kind FROM instances AS i WHERE id=?1 AND " PAWL_IS_THERE};

Status InstanceVerbs::find_managed(std::string_view id, Managed* out) {
  Statement row = connection_.use(kFind);
  if (!row.bind_text(id).row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "instances");
  out->key = row.integer(0);
  out->ended = has_ended(row.integer(1));
  out->terminating = row.integer(2) == static_cast<std::int64_t>(ErrorKind::kTerminated);
  return out->ended ? Status::kStale : Status::kOk;
}

}  // namespace pawl::store
