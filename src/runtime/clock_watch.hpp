// ClockWatch: finds out when the wall clock can be trusted, and has a batch record it. Rules:
// docs/architecture/time.md.
//
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_CLOCK_WATCH_HPP
#define PAWL_RUNTIME_CLOCK_WATCH_HPP

#include "runtime/loop_context.hpp"

namespace pawl {

class ClockWatch {
 public:
  explicit ClockWatch(LoopContext& loop) : loop_(loop) {}

  void look(std::int64_t now_boot_ms);
  // The wall clock was set.
  void stepped();
  // Plans looks at the clock: a trusted one may bring timers nearer, or say when a UTC timer is
  // due.
  void plan(const NextDue& due);
  // Logs the batch's findings about the clock.
  void committed();

 private:
  LoopContext& loop_;
  bool synced_this_boot_ = false;
  std::int64_t look_ms_ = 0;  // from one look to the next
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_CLOCK_WATCH_HPP
