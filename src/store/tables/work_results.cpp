#include "work_results.hpp"

#include "clock_rules.hpp"

namespace pawl::store {

Status WorkResults::check_work_item(const WorkDone& done) {
  WorkRow row;
  PAWL_TRY(items_.read_work(done.item, &row));
  if (row.state == session::WorkState::kCancelledRunning) return Status::kNotFound;
  return check_row(row, done, 0);
}

Status WorkResults::check_done(const WorkDone& done, InstanceKey instance) {
  WorkRow row;
  const Status read = items_.read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  return check_row(row, done, instance);
}

Status WorkResults::check_row(const WorkRow& row, const WorkDone& done, InstanceKey instance) {
  checked_ = {row.id, row.its_session.exclusive || row.policy.barrier,
              session::is_open(row.its_session.state)};
  const bool fits = session::accepts(row.handed_over(), returned(done)) &&
                    (instance == 0 || row.instance == instance);
  return fits ? Status::kOk : Status::kStale;
}

Status WorkResults::ack_work_item(const WorkDone& done, const WorkResult& result) {
  WorkRow row;
  const Status read = items_.read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  const session::Result how = {{result.error, result.permanent}, done.abort_session};
  const session::Acknowledged verdict =
      session::acknowledge(row.handed_over(), returned(done), how, row.policy.retry, row.failures);
  if (verdict == session::Acknowledged::kStale) return Status::kStale;
  if (verdict == session::Acknowledged::kCancelledEnded)
    return items_.delete_work(row.id, row.session);
  PAWL_TRY(sessions_.note_activity(row.session));
  if (verdict == session::Acknowledged::kRetries) return outcomes_.retry_work(row, result.payload);
  PAWL_TRY(outcomes_.complete_work(row, result.error, result.payload));
  return verdict == session::Acknowledged::kAborts ? owners_.abort_session(row.session)
                                                   : Status::kOk;
}

Status WorkResults::take_work(const WorkDone& done, bool again) {
  if (done.session == 0) return items_.delete_work(done.item, 0);
  if (again || checked_.item != done.item) PAWL_TRY(check_done(done, 0));
  PAWL_TRY(sessions_.note_activity(done.session));
  // In an open session that is not exclusive, nothing depends on the row of a handed-over item.
  const bool stands_alone = !checked_.exclusive && checked_.open;
  PAWL_TRY(stands_alone ? items_.delete_row(done.item)
                        : items_.delete_work(done.item, done.session));
  return done.abort_session ? owners_.abort_session(done.session) : Status::kOk;
}

constexpr sql::Query kNoteProgress{
    "UPDATE worker_queue SET progress=coalesce(?2,progress),silent_due=?3 WHERE id=?1"};

Status WorkResults::note_progress(const WorkDone& done, std::string_view progress,
                                  std::int64_t at) {
  WorkRow row;
  const Status read = items_.read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  if (!session::accepts(row.handed_over(), returned(done))) return Status::kStale;
  Statement note = connection_.use(kNoteProgress);
  note.bind(row.id);
  note.bind_blob_or_null(progress);
  const std::int64_t silence_ms = row.policy.heartbeat_timeout_ms;
  note.bind_due(silence_ms == 0 ? OptionalMs() : make_due(at, silence_ms), kWorkComes);
  return fail(note.run(), "note the progress of work");
}

Status WorkResults::abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                                      const CrashLimits& limits) {
  WorkRow row;
  const Status read = items_.read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  if (session::ends_cancelled(row.handed_over(), returned(done)))
    return items_.delete_work(row.id, row.session);
  if (!session::accepts(row.handed_over(), returned(done))) return Status::kStale;
  PutBack how;
  how.delay_ms = delay_ms;
  how.strike = strike;
  PAWL_TRY(items_.put_back(row, how));
  return strike ? outcomes_.poison_if_at_limit(row.id, limits) : Status::kOk;
}

}  // namespace pawl::store
