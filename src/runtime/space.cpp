#include "runtime/space.hpp"

#include "runtime/options_check.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kPagesLeast = 64 * 1024;  // bytes; in place of a smaller reserve, or none
constexpr std::size_t kReliefEventsLeast = 16;
constexpr std::int64_t kReserveRetryMs = 10'000;
constexpr std::int64_t kReliefLogMs = 60'000;  // one line for all removals in this time
constexpr std::int64_t kMarkParts = 8;         // the last eighth of the quota counts as little

// `log_bytes`: a caller may cut the length of a long log, because removing rows does not make the
// log shorter.
bool is_over_mark(const SpaceUse& use, std::int64_t log_bytes) {
  return use.quota_bytes > 0 &&
         use.used_bytes + log_bytes > use.quota_bytes - use.quota_bytes / kMarkParts;
}

bool has_long_log(const SpaceUse& use) {
  return is_over_mark(use, use.log_bytes) && use.log_bytes > use.quota_bytes / kMarkParts;
}

}  // namespace

// Made in the batch that writes its size: no process sees the one without the other.
void Space::make_first_reserve() {
  const std::int64_t bytes = reserve_bytes(loop_.options);
  first_reserve_ = is_short_ || bytes == 0 ? Status::kOk : loop_.place().make_reserve(bytes);
}

// A start on a full disk is no failure: stored work can still be finished.
void Space::registered() {
  if (reserve_bytes(loop_.options) == 0) return remove_unwanted_reserve();
  if (first_reserve_ == Status::kOk) return;
  loop_.log_status(LogLevel::kError, "no_room_for_the_reserve", first_reserve_);
  lose_reserve();
  loop_.agenda.plan(Job::kReserve, loop_.boot_ms() + kReserveRetryMs);
}

// Done after the batch that writes that there is no reserve: until its commit other processes would
// miss the file.
void Space::remove_unwanted_reserve() {
  BatchInfo info;
  if (loop_.transaction().begin(loop_.me, &info) != Status::kOk) return;  // the next start does it
  const Status removed = loop_.place().remove_unwanted_reserve();
  if (removed != Status::kOk) loop_.log_status(LogLevel::kWarning, "reserve_not_released", removed);
  loop_.transaction().rollback();
}

// New work is refused while less than the reserve is free (Place::look_for_room()). Removal begins
// at twice as much, so that room is made before that.
bool Space::lacks_free_pages() const {
  const auto reserve = reserve_bytes(loop_.options);
  return is_short_ && use_.free_bytes < 2 * (reserve > kPagesLeast ? reserve : kPagesLeast);
}

void Space::plan() {
  loop_.agenda.set(Job::kRelief, !loop_.agenda.wants(Job::kRegister) && can_relieve_ &&
                                     (over_mark_ || lacks_free_pages()));
}

void Space::prepare() {
  if (is_short_) cut_log();
  plan();
  if (loop_.agenda.wants(Job::kRelief)) relieve();
  log_relief();
}

void Space::relieve() {
  if (has_long_log(use_)) cut_log();
  if (!loop_.options.space.remove_completed) {
    can_relieve_ = false;
    return;
  }
  const std::int64_t part = use_.quota_bytes / kMarkParts;
  if (!lacks_free_pages() && !is_over_mark(use_, use_.log_bytes < part ? use_.log_bytes : part)) {
    can_relieve_ = false;
    return;
  }
  Removed removed;
  BatchInfo info;
  Status status = loop_.transaction().begin(loop_.me, &info);
  if (status != Status::kOk) return;  // the tick will meet the same
  status = loop_.instance().removal.remove_oldest(relief_events_, &removed);
  if (status == Status::kOk) status = loop_.transaction().commit();
  if (status != Status::kOk) {
    loop_.transaction().rollback();
    return not_relieved(status);
  }
  relief_events_ = kReliefEventsMax;
  loop_.count(removed);
  note_relief(removed);
  can_relieve_ = removed.instances > 0 || removed.executions > 0 || removed.events > 0;
  if (can_relieve_) {
    loop_.agenda.do_now(Job::kSweep);  // the sweep removes the rest of a tree
    sweeps_ = true;
  }
  if (loop_.transaction().last_commit_wrote()) ++loop_.stats.commits;
  read_use();  // after the commit, which itself makes the log longer
  if (is_short_ || has_long_log(use_)) cut_log();
}

void Space::swept(const Removed& removed, bool more) {
  if (!sweeps_) return;
  note_relief(removed);
  sweeps_ = more;
}

void Space::note_relief(const Removed& removed) {
  if (removed.instances == 0 && removed.executions == 0 && removed.events == 0) return;
  if (!relieved_since_.has_value()) relieved_since_ = loop_.boot_ms();
  relieved_.instances += removed.instances;
  relieved_.executions += removed.executions;
  relieved_.events += removed.events;
  loop_.stats.instances_removed_for_space += static_cast<std::uint64_t>(removed.instances);
}

// Rows that are removed without a call must be logged, but a line for each transaction would be a
// flood.
void Space::log_relief() {
  if (!relieved_since_.has_value()) return;
  const bool goes_on = loop_.agenda.wants(Job::kRelief) && can_relieve_;
  if (goes_on && loop_.boot_ms() < relieved_since_.value() + kReliefLogMs) return;
  loop_.log(LogLevel::kWarning, "removed_for_space",
            {{"instances", relieved_.instances},
             {"executions", relieved_.executions},
             {"events", relieved_.events},
             {"used_bytes", use_.used_bytes},
             {"quota_bytes", use_.quota_bytes}});
  relieved_ = Removed();
  relieved_since_.clear();
}

// A removal of fewer rows at a time may fit.
void Space::not_relieved(Status status) {
  can_relieve_ = false;
  loop_.log_status(LogLevel::kWarning, "nothing_removed", status);
  if (status != Status::kFull) return;
  cut_log();
  if (!is_short_) return disk_is_full();
  if (relief_events_ == kReliefEventsLeast) return;  // until the commit of a tick fails again
  relief_events_ /= 2;
  can_relieve_ = true;
}

void Space::read_use() {
  static_cast<void>(loop_.place().read_use(&use_));
  over_mark_ = is_over_mark(use_, use_.log_bytes);
}

// Called before and after each batch while the disk is full. If a failing transaction took the last
// room, the content of the log could never go into the database, and the log could never be
// shortened. If another process is reading, the next call tries again.
void Space::cut_log() {
  if (loop_.place().empty_log() == Status::kOk) read_use();
}

void Space::committed() {
  const bool is_due = is_short_ || loop_.batch.quota_bytes != use_.quota_bytes ||
                      (loop_.batch.quota_bytes > 0 && loop_.transaction().last_commit_wrote());
  if (!is_due) return;
  const bool was_over = over_mark_;
  read_use();
  if ((over_mark_ && !was_over) || has_long_log(use_)) can_relieve_ = true;
  if (is_short_) cut_log();
  if (loop_.agenda.is_due(Job::kReserve, loop_.boot_ms())) static_cast<void>(remake_reserve());
  update_stats();
}

void Space::update_stats() {
  loop_.stats.used_bytes = use_.used_bytes;
  loop_.stats.log_bytes = use_.log_bytes;
  loop_.stats.quota_bytes = use_.quota_bytes;
  const bool is_full = is_short_ && use_.free_bytes < reserve_bytes(loop_.options);
  if (is_full || log_is_full_ || (use_.quota_bytes > 0 && use_.total() > use_.quota_bytes)) {
    loop_.stats.room = Room::kRejectingNew;
  } else {
    loop_.stats.room = over_mark_ || is_short_ ? Room::kLittle : Room::kEnough;
  }
}

// Makes a missing reserve again, or removes rows if there is no room for it. Three may have deleted
// it: a client on a full disk, which removes no rows itself; a process on a full disk that has died
// since; or a worker whose options have no reserve, and then the disk was not full at all.
void Space::look_for_reserve() {
  looks_for_reserve_ = false;
  if (is_short_ || reserve_bytes(loop_.options) == 0) return;
  const Result<bool> missing = loop_.place().reserve_missing();
  if (!missing.ok() || !missing.value()) return;
  loop_.log(LogLevel::kWarning, "reserve_is_missing");
  if (!remake_reserve()) lose_reserve();
}

void Space::set_log_full(bool full) {
  log_is_full_ = full;
  read_use();
  update_stats();
}

void Space::lose_reserve() {
  is_short_ = can_relieve_ = true;
  loop_.agenda.plan(Job::kReserve, loop_.boot_ms());  // after the next commit
  // The content of the log goes into the database now: once that room is used up too, it could not.
  static_cast<void>(loop_.place().empty_log());
  read_use();
  update_stats();
}

void Space::disk_is_full() {
  // If no keys are left, no removal makes room.
  if (loop_.transaction().check_keys() == Status::kCorrupt)
    return loop_.log_status(LogLevel::kError, "no_keys_left", Status::kCorrupt);
  // The server's disk: no removal of rows makes room on it, so it is left alone for a while.
  if (loop_.options.database != nullptr) return loop_.log(LogLevel::kError, "disk_is_full");
  can_relieve_ = true;
  relief_events_ = kReliefEventsMax;
  if (is_short_) return;
  const Status released = loop_.place().release_reserve();
  if (released != Status::kOk) loop_.log_status(LogLevel::kError, "reserve_not_released", released);
  lose_reserve();
  loop_.trouble_until = loop_.boot_ms();
  loop_.log(LogLevel::kError, "disk_is_full");
}

bool Space::remake_reserve() {
  loop_.agenda.plan(Job::kReserve, loop_.boot_ms() + kReserveRetryMs);
  cut_log();
  const auto wanted = reserve_bytes(loop_.options);
  // Twice the bytes must be free, or the next commit would need the reserve at once.
  const Result<std::int64_t> free =
      loop_.port.storage->free_bytes(loop_.options.database_path.c_str());
  if (free.ok() && free.value() < 2 * wanted) return false;
  if (loop_.place().make_reserve(wanted) != Status::kOk) return false;
  is_short_ = false;
  loop_.agenda.clear(Job::kReserve);
  loop_.log(LogLevel::kInfo, "disk_has_room");
  return true;
}

}  // namespace pawl
