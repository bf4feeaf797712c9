// When room runs out: what is complete goes, the oldest first; what is new is refused; what runs goes on.
//
// The provider refuses, for all processes alike (Provider::set_space()); the runtime removes. It does so in
// a transaction of its own before the tick's, so that what then runs finds the room, and a tick that fails
// does not take the removal back with it.
#include "runtime_core.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kPagesLeast = 64 * 1024;  // where there is no reserve
constexpr std::size_t kReliefEventsLeast = 16;
constexpr std::int64_t kReserveRetryMs = 10'000;
constexpr std::int64_t kLogRetryMs = 2'000;    // between tries to cut a long log
constexpr std::int64_t kLockStuckMs = 10'000;  // without the write lock: told, and not ready
constexpr std::int64_t kMarkParts = 8;         // the last eighth of the quota is little

// With at most so much of a long log: removing rows does not make it shorter.
bool is_over_mark(const SpaceUse& use, std::int64_t log_bytes) {
  return use.quota_bytes > 0 &&
         use.used_bytes + log_bytes > use.quota_bytes - use.quota_bytes / kMarkParts;
}

bool has_long_log(const SpaceUse& use) {
  return is_over_mark(use, use.log_bytes) && use.log_bytes > use.quota_bytes / kMarkParts;
}

}  // namespace

// A start on a full disk is no failure: what is stored can still be finished.
void RuntimeCore::make_first_reserve() {
  const Status made =
      loop_.provider->make_reserve(static_cast<std::int64_t>(loop_.options.reserve_bytes));
  if (made == Status::kOk) return;
  loop_.log_status(LogLevel::kError, "no_room_for_the_reserve", made);
  lose_reserve();
  loop_.agenda.plan(Job::kReserve, loop_.boot_ms() + kReserveRetryMs);
}

// Half of it would do (Provider::set_space()); so there is something left until the next removal.
bool RuntimeCore::lacks_free_pages() const {
  const auto reserve = static_cast<std::int64_t>(loop_.options.reserve_bytes);
  return short_of_space_ && use_.free_bytes < 2 * (reserve > kPagesLeast ? reserve : kPagesLeast);
}

void RuntimeCore::plan_relief() {
  loop_.agenda.set(Job::kRelief, !loop_.agenda.wants(Job::kRegister) && can_relieve_ &&
                                     (over_mark_ || lacks_free_pages()));
}

void RuntimeCore::relieve() {
  if (has_long_log(use_)) cut_log();
  const std::int64_t part = use_.quota_bytes / kMarkParts;
  if (!lacks_free_pages() && !is_over_mark(use_, use_.log_bytes < part ? use_.log_bytes : part)) {
    can_relieve_ = false;
    return;
  }
  Removed removed;
  BatchInfo info;
  Status status = loop_.provider->begin(loop_.me, &info);
  if (status != Status::kOk) return;  // the tick will find the same
  status = loop_.provider->remove_oldest(relief_events_, &removed);
  if (status == Status::kOk) status = loop_.provider->commit();
  if (status != Status::kOk) {
    loop_.provider->rollback();
    return not_relieved(status);
  }
  relief_events_ = kReliefEventsMax;
  loop_.stats.instances_removed += static_cast<std::uint64_t>(removed.instances);
  loop_.stats.executions_removed += static_cast<std::uint64_t>(removed.executions);
  loop_.stats.events_removed += static_cast<std::uint64_t>(removed.events);
  can_relieve_ = removed.instances > 0 || removed.executions > 0 || removed.events > 0;
  if (can_relieve_) loop_.agenda.do_now(Job::kSweep);  // a tree that was begun goes whole
  if (loop_.provider->last_commit_wrote()) ++loop_.stats.commits;
  read_use();  // not before: the commit itself makes the log longer
  if (short_of_space_ || has_long_log(use_)) cut_log();
}

// Less of it at a time may fit.
void RuntimeCore::not_relieved(Status status) {
  can_relieve_ = false;
  loop_.log_status(LogLevel::kWarning, "nothing_removed", status);
  if (status != Status::kFull) return;
  cut_log();
  if (!short_of_space_) return disk_is_full();
  if (relief_events_ == kReliefEventsLeast) return;  // until the next commit of a tick has failed
  relief_events_ /= 2;
  can_relieve_ = true;
}

void RuntimeCore::read_use() {
  static_cast<void>(loop_.provider->read_use(&use_));
  over_mark_ = is_over_mark(use_, use_.log_bytes);
}

// On a full disk before and after all that is written: if a transaction that fails takes the room that is left,
// what the log holds could never go into the database, and the log never be shortened. Others may be reading;
// then the next one tries again.
void RuntimeCore::cut_log() {
  if (loop_.provider->empty_log() == Status::kOk) read_use();
}

// After a commit.
void RuntimeCore::settle_space() {
  const bool was_over = over_mark_;
  read_use();
  if ((over_mark_ && !was_over) || has_long_log(use_)) can_relieve_ = true;
  if (short_of_space_) cut_log();
  if (loop_.agenda.is_due(Job::kReserve, loop_.boot_ms())) remake_reserve();
  tell_use();
}

void RuntimeCore::tell_use() {
  loop_.stats.used_bytes = use_.used_bytes;
  loop_.stats.log_bytes = use_.log_bytes;
  loop_.stats.quota_bytes = use_.quota_bytes;
  const bool is_full =
      short_of_space_ && use_.free_bytes < static_cast<std::int64_t>(loop_.options.reserve_bytes);
  if (is_full || log_is_full_ || (use_.quota_bytes > 0 && use_.total() > use_.quota_bytes)) {
    loop_.stats.room = Room::kNoneForNew;
  } else {
    loop_.stats.room = over_mark_ || short_of_space_ ? Room::kLittle : Room::kEnough;
  }
}

// A client has given it up, which removes nothing itself; or a process that has died since.
void RuntimeCore::look_for_reserve() {
  look_for_reserve_ = false;
  if (short_of_space_ || loop_.options.reserve_bytes == 0) return;
  const Result<bool> missing = loop_.provider->reserve_missing();
  if (!missing.ok() || !missing.value()) return;
  lose_reserve();
  loop_.log(LogLevel::kWarning, "reserve_is_missing", nullptr, 0);
}

void RuntimeCore::lose_reserve() {
  short_of_space_ = can_relieve_ = true;
  loop_.agenda.plan(Job::kReserve, loop_.boot_ms());  // after the next commit
  // What the log holds goes into the database now: once it has taken the room, too, nothing could.
  static_cast<void>(loop_.provider->empty_log());
  read_use();
  tell_use();
}

// The reserve is given up, so that the next transactions find room in the log.
void RuntimeCore::disk_is_full() {
  // Nothing that was removed would make room.
  if (loop_.provider->check_keys() == Status::kCorrupt)
    return loop_.log_status(LogLevel::kError, "no_keys_left", Status::kCorrupt);
  can_relieve_ = true;
  relief_events_ = kReliefEventsMax;
  if (short_of_space_) return;
  const Status released = loop_.provider->release_reserve();
  if (released != Status::kOk) loop_.log_status(LogLevel::kError, "reserve_not_released", released);
  lose_reserve();
  retry_at_ = loop_.boot_ms();
  loop_.log(LogLevel::kError, "disk_is_full", nullptr, 0);
}

void RuntimeCore::remake_reserve() {
  loop_.agenda.plan(Job::kReserve, loop_.boot_ms() + kReserveRetryMs);
  cut_log();
  const auto wanted = static_cast<std::int64_t>(loop_.options.reserve_bytes);
  // As much again must be free, or the next commit takes it away again.
  const Result<std::int64_t> free = loop_.port.storage->free_bytes(loop_.options.database_path);
  if (free.ok() && free.value() < 2 * wanted) return;
  if (loop_.provider->make_reserve(wanted) != Status::kOk) return;
  short_of_space_ = false;
  loop_.agenda.clear(Job::kReserve);
  loop_.log(LogLevel::kInfo, "disk_has_room", nullptr, 0);
}

// ---- others who hold things up ----------------------------------------------------------------------

// Half of what it may have is more than any tick needs. Who writes at this moment is in the way, too, so one
// try that fails says nothing yet.
void RuntimeCore::watch_log() {
  if (log_is_long_ ? !loop_.agenda.is_due(Job::kCutLog, loop_.boot_ms()) : !look_at_log_) return;
  look_at_log_ = false;
  const LogUse log = loop_.provider->log_use();
  if (2 * log.bytes <= log.most) return note_short_log();
  const Status cut = loop_.provider->empty_log();
  if (cut == Status::kOk) return note_short_log();
  note_long_log(log, cut);
}

void RuntimeCore::note_long_log(const LogUse& log, Status why) {
  loop_.agenda.plan(Job::kCutLog, loop_.boot_ms() + kLogRetryMs);
  const bool is_second = log_is_long_;
  log_is_long_ = true;
  if (why != Status::kBusy || !is_second) return;  // of any other error the next commit tells
  if (!log_was_told_)
    tell_holder(LogLevel::kWarning, "log_is_held", {"bytes", log.bytes}, port::LogLock::kRead);
  log_was_told_ = true;
  if (log.bytes <= log.most || log_is_full_) return;
  log_is_full_ = true;
  tell_holder(LogLevel::kError, "log_is_full", {"bytes", log.bytes}, port::LogLock::kRead);
  read_use();
  tell_use();
}

void RuntimeCore::note_short_log() {
  log_is_long_ = false;
  loop_.agenda.clear(Job::kCutLog);
  if (!log_was_told_) return;
  log_was_told_ = log_is_full_ = false;
  loop_.log(LogLevel::kInfo, "log_is_cut", nullptr, 0);
  read_use();
  tell_use();
}

void RuntimeCore::note_busy() {
  const std::int64_t now = loop_.boot_ms();
  if (!busy_since_.has_value()) busy_since_ = now;
  const std::int64_t busy_ms = now - busy_since_.value();
  if (lock_is_stuck_ || busy_ms < kLockStuckMs) return;
  lock_is_stuck_ = true;
  tell_holder(LogLevel::kError, "write_lock_is_held", {"ms", busy_ms}, port::LogLock::kWrite);
}

void RuntimeCore::note_begun() {
  busy_since_.clear();
  if (!lock_is_stuck_) return;
  lock_is_stuck_ = false;
  loop_.log(LogLevel::kInfo, "write_lock_is_free", nullptr, 0);
}

void RuntimeCore::tell_holder(LogLevel level, const char* event, LogField field,
                              port::LogLock lock) {
  const Result<std::int64_t> holder =
      loop_.port.storage->lock_holder(loop_.options.database_path, lock);
  const LogField fields[] = {field, {"process", holder.value()}};
  loop_.log(level, event, fields, holder.ok() ? 2 : 1);
}

}  // namespace pawl
