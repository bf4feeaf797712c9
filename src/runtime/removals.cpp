#include "runtime/removals.hpp"

#include "core/clock_rules.hpp"
#include "pawl/visit.hpp"

namespace pawl {
namespace {

constexpr std::size_t kSweepMax = 256;

}  // namespace

void Removals::registered() {
  loop_.agenda.plan(Job::kCleanUp, loop_.boot_ms() + loop_.terms.session_cleanup_interval_ms);
  if (has_retention()) loop_.agenda.do_now(Job::kRetention);
  folders_.plan(0);
}

void Removals::begin() { batch_ = OfBatch(); }

Status Removals::clean_up() {
  std::size_t removed = 0;
  PAWL_TRY(loop_.session().expiry.cleanup_orphaned_sessions(loop_.evidence, kSweepMax, &removed));
  PAWL_TRY(loop_.session().expiry.report_leaks(loop_.terms, &leaks_));
  loop_.agenda.do_now(Job::kSweep);  // rows that other workers left
  if (has_retention()) loop_.agenda.do_now(Job::kRetention);
  space_.may_relieve();
  return Status::kOk;
}

Status Removals::write() {
  const std::int64_t now = loop_.boot_ms();
  if (loop_.agenda.is_due(Job::kCleanUp, now)) PAWL_TRY(clean_up());
  if (loop_.agenda.is_due(Job::kRetention, now)) {
    Retention which;
    if (loop_.options.retention.age.count() > 0)
      which.ended_until = loop_.batch.now - loop_.options.retention.age.count();
    which.count_max = loop_.options.retention.count;
    PAWL_TRY(loop_.instance().removal.delete_ended(which, &ended_cursor_, &batch_.next_end,
                                                   &batch_.retire_more));
    batch_.retired = true;
  }
  if (!loop_.agenda.wants(Job::kSweep) && !batch_.retired) return Status::kOk;
  batch_.swept = true;
  return loop_.instance().removal.sweep_deleted(kSweepEventsMax, &batch_.removed,
                                                &batch_.sweep_more);
}

Status Removals::find_instance(std::string_view id, InstanceKey* key) {
  return loop_.instance().directory.get_instance_info(
      id, visit([key](const InstanceInfo& info) { *key = info.key; }));
}

Status Removals::prune_executions(const Request& request, bool* more) {
  InstanceKey key = 0;
  PAWL_TRY(find_instance(request.id, &key));
  return loop_.instance().removal.prune_executions(key, request.limits, kSweepEventsMax,
                                                   &batch_.removed, more);
}

Status Removals::delete_instance(const Request& request, bool* more) {
  if (!request.begun) {
    InstanceKey key = 0;
    PAWL_TRY(find_instance(request.id, &key));
    PAWL_TRY(loop_.instance().removal.delete_instance(key, request.force));
  }
  PAWL_TRY(loop_.instance().removal.sweep_deleted(kSweepEventsMax, &batch_.removed, more));
  batch_.request_begun = *more;
  return Status::kOk;
}

void Removals::committed() {
  loop_.count(batch_.removed);
  if (batch_.swept) loop_.agenda.set(Job::kSweep, batch_.sweep_more);
  if (batch_.swept && !batch_.retired) space_.swept(batch_.removed, batch_.sweep_more);
  if (!batch_.retired) return;
  loop_.agenda.set(Job::kRetention, batch_.retire_more);
  if (batch_.retire_more) return;
  ended_cursor_ = EndedCursor();
  if (loop_.options.retention.age.count() > 0 && batch_.next_end.has_value())
    loop_.agenda.plan(Job::kRetention,
                      loop_.place().boot_ms_of(add_saturating(
                          batch_.next_end.value(), loop_.options.retention.age.count())));
}

void Removals::clean_up_committed() {
  const std::int64_t now = loop_.boot_ms();
  if (!loop_.agenda.is_due(Job::kCleanUp, now)) return;
  loop_.agenda.plan(Job::kCleanUp, now + loop_.terms.session_cleanup_interval_ms);
  folders_.plan(0);
}

void Removals::rolled_back() {
  ended_cursor_ = EndedCursor();
  leaks_ = LeakCursors();
}

void Removals::instance_ended() {
  space_.may_relieve();
  if (loop_.options.retention.count > 0) loop_.agenda.do_now(Job::kRetention);
  if (loop_.options.retention.age.count() > 0 && !loop_.agenda.wants(Job::kRetention))
    loop_.agenda.plan(Job::kRetention, loop_.place().boot_ms_of(
                                           loop_.batch.now + loop_.options.retention.age.count()));
}

}  // namespace pawl
