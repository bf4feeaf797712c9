#include "runtime/recovery.hpp"

namespace pawl {
namespace {

// Shortages of memory at a row until the row is blamed. Memory may have been short for other
// reasons before; then the next ticks succeed.
constexpr int kShortagesMax = 3;
// Shortages further apart do not share a cause.
constexpr std::int64_t kShortagesMs = 60'000;
constexpr std::int64_t kRetryFirstMs = 100;  // a storage in trouble: 100 ms, doubling
constexpr int kRetryStepsMax = 6;

}  // namespace

bool Recovery::is_blamed(const Damage& damage) {
  if (damage.status == Status::kCorrupt) return true;
  const std::int64_t now = loop_.boot_ms();
  if (!(damage.row == short_row_) || now - short_boot_ms_ > kShortagesMs) short_count_ = 0;
  short_row_ = damage.row;
  short_boot_ms_ = now;
  return ++short_count_ >= kShortagesMax;
}

bool Recovery::quarantine_suspect(Status why) {
  const std::optional<Damage> damage = loop_.transaction().take_damage();
  const bool is_of_the_store =
      why == Status::kFull || why == Status::kIo || why == Status::kReadOnly;
  if (!damage.has_value() || is_of_the_store || !is_blamed(*damage)) return false;
  // The same row was quarantined before, and it did not help.
  if (quarantined_.has_value() && quarantined_->row == damage->row &&
      quarantined_->named_by == damage->named_by)
    return false;
  quarantined_ = damage;
  Status status = loop_.transaction().begin(loop_.me, &loop_.batch);
  notices_.begin();
  if (status == Status::kOk) {
    status = loop_.transaction().quarantine(*damage);
    if (status == Status::kOk) status = loop_.transaction().commit();
    if (status != Status::kOk) loop_.transaction().rollback();
  }
  static_cast<void>(loop_.transaction().take_damage());  // damage found during the quarantine
  if (status == Status::kOk) {
    notices_.committed();
    return true;
  }
  loop_.log(LogLevel::kError, "row_not_quarantined",
            {{"table", table_name(damage->row.table)},
             {"key", damage->row.key},
             {"text", damage->text.text()},
             {"status", status_name(status)}});
  return false;
}

void Recovery::leave_store_alone() {
  loop_.trouble_until = loop_.boot_ms() + (kRetryFirstMs << retry_step_);
  if (retry_step_ < kRetryStepsMax) ++retry_step_;
}

void Recovery::committed() {
  loop_.trouble_until.clear();
  retry_step_ = 0;
  quarantined_.reset();
}

}  // namespace pawl
