#include "runtime/clock_watch.hpp"

#include "core/clock_rules.hpp"

namespace pawl {

// The next look is planned later whatever this one finds: the batch may have a reason not to
// believe the clock.
void ClockWatch::look(std::int64_t now) {
  if (!loop_.agenda.is_due(Job::kLookAtClock, now)) return;
  look_ms_ = next_sync_look_ms(look_ms_);
  loop_.agenda.plan(Job::kLookAtClock, now + look_ms_);
  if (loop_.port.clock->synced()) loop_.agenda.do_now(Job::kConfirmClock);
}

void ClockWatch::stepped() {
  ++loop_.stats.clock_steps;
  look_ms_ = 0;
  loop_.agenda.plan(Job::kLookAtClock, loop_.boot_ms());
  loop_.log(LogLevel::kWarning, "wall_clock_stepped");
}

void ClockWatch::plan(const NextDue& due) {
  const bool could_gain = !synced_this_boot_ && (due.pawl_time.has_value() || due.waiting_for_utc);
  if (!could_gain) return loop_.agenda.clear(Job::kLookAtClock);
  if (loop_.agenda.wants(Job::kLookAtClock)) return;
  look_ms_ = next_sync_look_ms(0);
  loop_.agenda.plan(Job::kLookAtClock, loop_.boot_ms() + look_ms_);
}

void ClockWatch::committed() {
  const BatchInfo& batch = loop_.batch;
  if (batch.clock_adopted) {
    loop_.log(LogLevel::kInfo, "clock_adopted", {{"boot_seq", batch.segment}});
  }
  if (batch.clock_confirmed) synced_this_boot_ = true;
  if (batch.clock_credit_ms == 0) return;
  loop_.log(LogLevel::kInfo, "clock_credited", {{"credit_ms", batch.clock_credit_ms}});
  loop_.agenda.do_now(Job::kTurns);
}

}  // namespace pawl
