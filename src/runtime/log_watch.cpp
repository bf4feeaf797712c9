#include "runtime/log_watch.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kLogRetryMs = 2'000;  // between tries to cut a long log
constexpr std::int64_t kWriteLockBlockedMs =
    10'000;  // time without the write lock until it is logged, and this worker is not ready

}  // namespace

// A log up to half of its limit is left alone: no tick needs more than the other half. A process
// that writes at this moment is in the way too, so a single failed try proves nothing.
void LogWatch::look() {
  if (is_long_ ? !loop_.agenda.is_due(Job::kCutLog, loop_.boot_ms()) : !looks_at_log_) return;
  looks_at_log_ = false;
  const LogUse log = loop_.place().log_use();
  if (2 * log.bytes <= log.most) return note_short_log();
  const Status cut = loop_.place().empty_log();
  if (cut == Status::kOk) return note_short_log();
  note_long_log(log, cut);
}

void LogWatch::note_long_log(const LogUse& log, Status why) {
  loop_.agenda.plan(Job::kCutLog, loop_.boot_ms() + kLogRetryMs);
  const bool is_second = is_long_;
  is_long_ = true;
  if (why != Status::kBusy || !is_second) return;  // any other error shows with the next commit
  if (!is_logged_)
    log_holder(LogLevel::kWarning, "log_is_held", {"bytes", log.bytes}, port::LogLock::kRead);
  is_logged_ = true;
  if (log.bytes <= log.most || is_full_) return;
  is_full_ = true;
  log_holder(LogLevel::kError, "log_is_full", {"bytes", log.bytes}, port::LogLock::kRead);
  space_.set_log_full(true);
}

void LogWatch::note_short_log() {
  is_long_ = false;
  loop_.agenda.clear(Job::kCutLog);
  if (!is_logged_) return;
  is_logged_ = is_full_ = false;
  loop_.log(LogLevel::kInfo, "log_is_cut");
  space_.set_log_full(false);
}

void LogWatch::busy() {
  const std::int64_t now = loop_.boot_ms();
  if (!busy_since_.has_value()) busy_since_ = now;
  const std::int64_t busy_ms = now - busy_since_.value();
  if (write_lock_blocked_ || busy_ms < kWriteLockBlockedMs) return;
  write_lock_blocked_ = true;
  log_holder(LogLevel::kError, "write_lock_is_held", {"ms", busy_ms}, port::LogLock::kWrite);
}

void LogWatch::begun() {
  busy_since_.clear();
  if (!write_lock_blocked_) return;
  write_lock_blocked_ = false;
  loop_.log(LogLevel::kInfo, "write_lock_is_free");
}

void LogWatch::log_holder(LogLevel level, const char* event, LogField field,
                          port::LogLock lock) const {
  const Result<std::int64_t> holder =
      loop_.port.storage->lock_holder(loop_.options.database_path.c_str(), lock);
  const LogField fields[] = {field, {"process", holder.value()}};
  loop_.log(level, event, fields, holder.ok() ? 2 : 1);
}

}  // namespace pawl
