// Clock and waiting, both by the Board.
#include "port/bare_metal/bare_metal_port.hpp"

namespace pawl::bare_metal {

// A reset ends everything, so the bytes drawn at start identify this boot.
Status BareMetalClock::open(Diagnostic& diagnostic) {
  if (machine_.board_ != nullptr) return Status::kOk;
  diagnostic.format("the Machine of this port was not started");
  return Status::kUnsupported;
}

std::int64_t BareMetalClock::boot_ms() { return machine_.board_->boot_ms(); }
std::int64_t BareMetalClock::wall_ms() { return machine_.board_->wall_ms(); }
bool BareMetalClock::synced() { return machine_.board_->is_wall_trusted(); }
port::BootId BareMetalClock::boot_id() { return machine_.boot_id_; }
void BareMetalClock::random(void* out, std::size_t size) { machine_.board_->random(out, size); }

Status BareMetalThreads::open(const char* database_path, Diagnostic& diagnostic) {
  close();
  if (machine_.board_ == nullptr) {
    diagnostic.format("the Machine of this port was not started");
    return Status::kUnsupported;
  }
  watches_ =
      database_path != nullptr && machine_.files_.find(database_path) == FilePlace::kDatabase;
  bells_seen_ = machine_.bells_;
  log_seen_ = machine_.log_writes_;
  const std::int64_t now = machine_.board_->boot_ms();
  start_time_ = now > 0 ? now : 1;
  is_open_ = true;
  return Status::kOk;
}

void BareMetalThreads::close() {
  is_open_ = false;
  watches_ = false;
}

port::WakeReasons BareMetalThreads::drain() {
  port::WakeReasons reasons;
  if (!watches_) return reasons;
  reasons.bell = bells_seen_ != machine_.bells_;
  reasons.log = log_seen_ != machine_.log_writes_;
  bells_seen_ = machine_.bells_;
  log_seen_ = machine_.log_writes_;
  return reasons;
}

port::WakeReasons BareMetalThreads::take_pending() {
  port::WakeReasons reasons = drain();
  reasons.woken = woken_.exchange(0, std::memory_order_acquire) != 0;
  return reasons;
}

// An interrupt may come between take_pending() and sleep(): Board::sleep() returns for it (WFI
// does, also while interrupts are masked).
port::WakeReasons BareMetalThreads::wait(OptionalMs due_boot_ms) {
  for (;;) {
    port::WakeReasons reasons = take_pending();
    reasons.due = due_boot_ms.has_passed(machine_.board_->boot_ms());
    if (reasons.due || reasons.woken || reasons.bell || reasons.log) return reasons;
    machine_.board_->sleep(due_boot_ms);
  }
}

// Another port of this program has the start time 1, that of the program.
std::int64_t BareMetalThreads::process_start_time(std::int64_t pid) {
  return pid > 0 && pid <= machine_.ports_ ? (pid == id_ ? start_time_ : 1) : 0;
}

Status BareMetalThreads::executor_start(unsigned count, std::size_t) {
  if (count > port::kThreadsMax) return Status::kInvalidArgument;
  return count == 0 ? Status::kOk : Status::kUnsupported;
}

}  // namespace pawl::bare_metal
