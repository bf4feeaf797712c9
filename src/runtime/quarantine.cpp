// What keeps damage from taking more than its own. A tick that failed because of one row: the row is taken out of
// the way in a transaction of its own, and the next tick does what this one could not. A loop that gets nothing
// done is slowed down. Rules: docs/architecture.md, "damage".
#include "runtime_core.hpp"

namespace pawl {
namespace {

// Memory may have been short for other reasons than this row; then the next ticks do without it.
constexpr int kShortagesMax = 3;
// Shortages further apart have not one cause.
constexpr std::int64_t kShortagesMs = 60'000;

}  // namespace

std::uint64_t RuntimeCore::work_done() const {
  return news_ + loop_.stats.activities_started + loop_.stats.activities_completed +
         loop_.stats.activities_retried + loop_.stats.activities_refused +
         loop_.stats.instances_removed + loop_.stats.executions_removed +
         loop_.stats.events_removed + loop_.stats.rows_quarantined +
         loop_.stats.session_folders_removed;
}

void RuntimeCore::keep_pace(std::uint64_t done_before) {
  const std::int64_t now = loop_.boot_ms();
  if (pace_.ran(runs_again_, work_done() != done_before, now))
    loop_.log(LogLevel::kError, "loop_without_progress", nullptr, 0);
}

bool RuntimeCore::is_blamed(const Damage& damage) {
  if (damage.status == Status::kCorrupt) return true;
  const std::int64_t now = loop_.boot_ms();
  if (!(damage.row == short_row_) || now - short_boot_ms_ > kShortagesMs) short_count_ = 0;
  short_row_ = damage.row;
  short_boot_ms_ = now;
  return ++short_count_ >= kShortagesMax;
}

bool RuntimeCore::quarantine_culprit(Status why) {
  const std::optional<Damage> damage = loop_.provider->take_damage();
  const bool is_of_the_store =
      why == Status::kFull || why == Status::kIo || why == Status::kReadOnly;
  if (!damage.has_value() || is_of_the_store || !is_blamed(*damage)) return false;
  // It did not help.
  if (quarantined_.has_value() && quarantined_->row == damage->row &&
      quarantined_->named_by == damage->named_by)
    return false;
  quarantined_ = damage;
  Status status = loop_.provider->begin(loop_.me, &loop_.batch);
  begin_telling();
  if (status == Status::kOk) {
    status = loop_.provider->quarantine(*damage);
    if (status == Status::kOk) status = loop_.provider->commit();
    if (status != Status::kOk) loop_.provider->rollback();
  }
  static_cast<void>(loop_.provider->take_damage());  // of what was being taken out of the way
  if (status == Status::kOk) {
    tell_notices();
    return true;
  }
  const LogField fields[] = {{"table", table_name(damage->row.table)},
                             {"key", damage->row.key},
                             {"text", damage->text.text()},
                             {"status", status_name(status)}};
  loop_.log(LogLevel::kError, "row_not_quarantined", fields, 4);
  return false;
}

void RuntimeCore::on_damage(RowRef row, std::string_view instance, std::string_view text) {
  Notice* const notice = notices_.add();
  if (notice == nullptr) {
    ++notices_lost_;
    return;
  }
  notice->damaged = true;
  notice->from.assign_cut(table_name(row.table));
  notice->instance = row.key;
  notice->opened_by.assign_cut(instance);
  notice->reason.assign_cut(text);
}

void RuntimeCore::log_damage(const Notice& notice) {
  ++loop_.stats.rows_quarantined;
  const LogField fields[] = {{"table", notice.from.view()},
                             {"key", notice.instance},
                             {"instance", notice.opened_by.view()},
                             {"text", notice.reason.view()}};
  loop_.log(LogLevel::kError, "row_quarantined", fields, 4);
}

}  // namespace pawl
