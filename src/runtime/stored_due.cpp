#include "runtime/stored_due.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kFruitlessDelayMs = 1'000;
constexpr std::size_t kWakeDelayedMax = 64;  // items in one tick

}  // namespace

void StoredDue::plan() {
  NextDue due;
  OptionalMs stored;
  if (loop_.me != 0 &&
      loop_.due().next_due(loop_.me, loop_.options.run_orchestrations, &due) == Status::kOk) {
    if (due.pawl_time.has_value()) stored = loop_.place().boot_ms_of(due.pawl_time.value());
    // A due row that is not for this worker must not keep the loop awake.
    const std::int64_t now = loop_.boot_ms();
    if (last_due_found_nothing_ && stored.has_passed(now)) {
      fruitless_due_ = due.pawl_time;
      fruitless_until_ = now + kFruitlessDelayMs;
    }
    if (due.pawl_time == fruitless_due_ && !fruitless_until_.has_passed(now) &&
        fruitless_due_.has_value())
      stored = fruitless_until_;
    // Another worker may have ended an item that is overdue here: then the storage has no due time
    // for it.
    stored.keep_earlier(activities_.first_limit());
    clock_.plan(due);
  }
  loop_.agenda.plan(Job::kStoredDue, stored);
}

Status StoredDue::write() {
  if (!loop_.agenda.is_due(Job::kStoredDue, loop_.boot_ms())) return Status::kOk;
  std::size_t woken = 0;
  PAWL_TRY(loop_.instance().ready.wake_delayed(kWakeDelayedMax, &woken));
  if (woken == 0) return Status::kOk;
  loop_.look_for_all();
  found_work();
  return Status::kOk;
}

}  // namespace pawl
