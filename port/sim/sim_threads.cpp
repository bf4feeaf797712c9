#include <algorithm>

#include "port/sim/sim_machine.hpp"

namespace pawl::sim {
namespace {

bool any(const port::WakeReasons& reasons) {
  return reasons.woken || reasons.bell || reasons.log || reasons.process || reasons.descriptor ||
         reasons.clock;
}

}  // namespace

Status NodeThreads::open(const char* database_path, Diagnostic&) {
  close();
  if (node_.killed) return Status::kIo;
  if (database_path != nullptr) database_ = database_path;
  opened_ = true;
  return Status::kOk;
}

void NodeThreads::close() {
  opened_ = false;
  database_.clear();
  pending_ = port::WakeReasons();
  watched_.clear();
  descriptors_.clear();
}

port::WakeReasons NodeThreads::take_pending() {
  port::WakeReasons reasons = pending_;
  pending_ = port::WakeReasons();
  if (woken_.exchange(0) != 0) reasons.woken = true;
  for (const int fd : descriptors_)
    if (readable_.count(fd) != 0) reasons.descriptor = true;
  return reasons;
}

Status NodeThreads::add_descriptor(int fd) {
  if (fd < 0) return Status::kInvalidArgument;
  descriptors_.insert(fd);
  return Status::kOk;
}

void NodeThreads::set_readable(int fd, bool is_readable) {
  if (is_readable) {
    readable_.insert(fd);
  } else {
    readable_.erase(fd);
  }
}

port::WakeReasons NodeThreads::wait(OptionalMs due_boot_ms) {
  if (node_.killed) return port::WakeReasons();
  MachineImpl& machine = node_.machine;
  port::WakeReasons reasons = take_pending();
  // Jobs run even before a poll: a loop that never sleeps must not keep its activities from
  // running.
  if (!any(reasons) && !node_.jobs_held && run_jobs() > 0) reasons = take_pending();
  const bool passed = due_boot_ms.has_passed(machine.boot_ms);
  if (!any(reasons) && !passed && !node_.killed) {
    ++node_.sleeps;
    machine.boot_ms = due_boot_ms.value_or(machine.boot_ms);
  }
  reasons.due = due_boot_ms.has_passed(machine.boot_ms);
  return reasons;
}

port::WakeReasons NodeThreads::drain() {
  port::WakeReasons reasons;
  reasons.bell = pending_.bell;
  reasons.log = pending_.log;
  pending_.bell = false;
  pending_.log = false;
  return reasons;
}

Status NodeThreads::watch_process(std::int64_t pid, std::int64_t start_time) {
  if (!opened_ || pid <= 0) return Status::kInvalidArgument;
  unwatch_process(pid);
  if (watched_.size() == kProcessesMax) return Status::kResourceExhausted;
  const std::int64_t living = process_start_time(pid);
  if (living == 0 || (start_time != 0 && living != start_time)) {
    pending_.process = true;
  } else {
    watched_.push_back(pid);
  }
  return Status::kOk;
}

void NodeThreads::unwatch_process(std::int64_t pid) {
  watched_.erase(std::remove(watched_.begin(), watched_.end(), pid), watched_.end());
}

void NodeThreads::process_died(std::int64_t pid) {
  const std::size_t before = watched_.size();
  unwatch_process(pid);
  if (watched_.size() != before) pending_.process = true;
}

void NodeThreads::file_changed(const std::string& path) {
  if (database_.empty() || path.compare(0, database_.size(), database_) != 0) return;
  if (path.compare(database_.size(), std::string::npos, "-bell") == 0) pending_.bell = true;
  if (path.compare(database_.size(), std::string::npos, "-wal") == 0) pending_.log = true;
}

std::int64_t NodeThreads::process_id() { return node_.pid; }

std::int64_t NodeThreads::process_start_time(std::int64_t pid) {
  for (const NodeImpl* node : node_.machine.nodes) {
    if (node->pid == pid) return node->start_time;
  }
  return 0;
}

Status NodeThreads::executor_start(unsigned count, std::size_t) {
  if (!busy_.empty()) return Status::kAlreadyExists;
  if (count > port::kThreadsMax) return Status::kInvalidArgument;
  busy_.assign(count, false);
  return Status::kOk;
}

void NodeThreads::executor_submit(unsigned slot, void (*job)(void*), void* argument) {
  if (slot >= busy_.size() || busy_[slot]) return;
  busy_[slot] = true;
  jobs_.push_back({slot, job, argument});
}

bool NodeThreads::executor_idle(unsigned slot) { return slot >= busy_.size() || !busy_[slot]; }

bool NodeThreads::executor_stop(std::int64_t wait_ms) {
  if (!node_.jobs_held) run_jobs();
  const bool all_ended = jobs_.empty();
  // Held jobs stand for driver calls that do not return, so the caller waits its full time.
  if (!all_ended && wait_ms > 0) node_.machine.boot_ms += wait_ms;
  jobs_.clear();
  busy_.clear();
  return all_ended;
}

unsigned NodeThreads::run_jobs() {
  unsigned ran = 0;
  while (!jobs_.empty() && !node_.killed) {
    const Job job = jobs_.front();
    jobs_.pop_front();
    job.run(job.argument);
    if (job.slot < busy_.size()) busy_[job.slot] = false;
    woken_.store(1);
    ++ran;
  }
  return ran;
}

}  // namespace pawl::sim
