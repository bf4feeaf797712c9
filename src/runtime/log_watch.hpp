// LogWatch: notices other processes that keep the log of the database from being cut, or hold its
// write lock.
//
// The log cannot be cut while a process reads one view of the database for long. Thread rule: the
// loop's thread.
#ifndef PAWL_RUNTIME_LOG_WATCH_HPP
#define PAWL_RUNTIME_LOG_WATCH_HPP

#include "runtime/loop_context.hpp"
#include "runtime/space.hpp"

namespace pawl {

class LogWatch {
 public:
  LogWatch(LoopContext& loop, Space& space) : loop_(loop), space_(space) {}

  // Called once a tick, outside of any batch.
  void look();
  void begun();
  void committed() { looks_at_log_ = true; }
  // The write lock could not be had.
  void busy();
  // True: this worker has been without the write lock for so long that it was logged.
  [[nodiscard]] bool lock_is_stuck() const { return write_lock_blocked_; }

 private:
  void note_long_log(const LogUse& log, Status why);
  void note_short_log();
  void log_holder(LogLevel level, const char* event, LogField field, port::LogLock lock) const;

  LoopContext& loop_;
  Space& space_;
  bool looks_at_log_ = false;
  bool is_long_ = false;  // long, and could not be cut
  bool is_logged_ = false;
  bool is_full_ = false;   // longer than SpaceOptions::log_bytes_max
  OptionalMs busy_since_;  // boot time; none: the last try got the write lock
  bool write_lock_blocked_ = false;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_LOG_WATCH_HPP
