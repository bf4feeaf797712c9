// StoredDue: the earliest due time in the database. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_STORED_DUE_HPP
#define PAWL_RUNTIME_STORED_DUE_HPP

#include "runtime/activities.hpp"
#include "runtime/clock_watch.hpp"
#include "runtime/loop_context.hpp"

namespace pawl {

class StoredDue {
 public:
  StoredDue(LoopContext& loop, const Activities& activities, ClockWatch& clock)
      : loop_(loop), activities_(activities), clock_(clock) {}

  void plan();
  void look(std::int64_t now_boot_ms) {
    last_due_found_nothing_ = false;
    // Plans only turns: write() makes due work items ready, and plans their fetch.
    if (loop_.agenda.is_due(Job::kStoredDue, now_boot_ms) && !loop_.is_in_trouble(now_boot_ms))
      loop_.agenda.do_now(Job::kTurns);
  }
  // The tick looks for due rows.
  void begin() { last_due_found_nothing_ = loop_.agenda.is_due(Job::kStoredDue, loop_.boot_ms()); }
  void found_work() { last_due_found_nothing_ = false; }
  // In the batch: wakes parked instances and delayed activities, and ends overdue ones.
  Status write();

 private:
  LoopContext& loop_;
  const Activities& activities_;
  ClockWatch& clock_;
  bool last_due_found_nothing_ = false;
  // Pawl time; a due time that found nothing. It is looked at again at fruitless_until_.
  OptionalMs fruitless_due_;
  OptionalMs fruitless_until_;  // boot time
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_STORED_DUE_HPP
