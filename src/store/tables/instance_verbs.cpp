#include "instance_verbs.hpp"

#include <cstdint>

#include "clock_rules.hpp"

namespace pawl::store {

constexpr sql::Query kMakeReady{
    "UPDATE instances SET ready_id=?2 WHERE key=?1 AND ready_id IS NULL"};

Status InstanceVerbs::terminate_instance(std::string_view id, std::string_view reason) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  InstanceWrite write;
  write.home = 0;
  write.ready_at = batch_.now;
  write.why = ErrorKind::kTerminated;
  write.text = cut_text(reason, kErrorTextBytesMax);
  write.revisions = 1;
  PAWL_TRY(written(instances_.write_state(found.key, write)));
  return fail_written(connection_.use(kMakeReady).bind(found.key).bind(context_.next_token()).run(),
                      "terminate instance");
}

Status InstanceVerbs::suspend_instance(std::string_view id) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  if (found.terminating) return Status::kStale;
  InstanceWrite write;
  write.state = InstanceState::kSuspended;
  write.parked_until = kNever;
  write.keeps_why = true;
  write.keeps_unregistered = true;
  write.stamps = true;
  return written(instances_.write_state(found.key, write));
}

Status InstanceVerbs::resume_instance(std::string_view id) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  if (found.state != InstanceState::kStopped && found.state != InstanceState::kSuspended)
    return Status::kOk;
  InstanceWrite write;
  write.ready_at = batch_.now;
  write.keeps_why = true;
  write.keeps_unregistered = true;
  write.stamps = true;
  return written(instances_.write_state(found.key, write));
}

constexpr auto kFindText =
    sql::join("SELECT key,state,stop_kind FROM instances AS i WHERE id=?1 AND " PAWL_IS_THERE);
constexpr sql::Query kFind{kFindText};

Status InstanceVerbs::find_managed(std::string_view id, Managed* out) {
  Statement row = connection_.use(kFind);
  if (!row.bind_text(id).row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "instances");
  out->key = row.integer(0);
  out->state = static_cast<InstanceState>(row.integer(1));
  out->ended = has_ended(row.integer(1));
  out->terminating = row.integer(2) == static_cast<std::int64_t>(ErrorKind::kTerminated);
  return out->ended ? Status::kStale : Status::kOk;
}

}  // namespace pawl::store
