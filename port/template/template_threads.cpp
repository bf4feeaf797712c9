// Fifth: waiting. Sixth: the executor.
#include "template_port.hpp"

namespace pawl::port_template {

// --- waiting --------------------------------------------------------------------------------------------

// Remember the calling thread as the owner; begin to watch `<database>-bell` and `<database>-wal`,
// which may not exist yet. What happened before is not reported.
Status TemplateThreads::open(const char*, Diagnostic& diagnostic) {
  diagnostic.format("this port is the template: TemplateThreads::open() is not written");
  return Status::kUnsupported;
}

// open() may follow, with another database or none.
void TemplateThreads::close() {}

// Sleep in one place for all reasons (Linux: epoll over a timer, an event and inotify). The neutral
// answer is "due": who cannot sleep polls.
port::WakeReasons TemplateThreads::wait(OptionalMs) {
  port::WakeReasons reasons;
  reasons.due = true;
  return reasons;
}

// Bell and log that our own commit caused; wake() and dead processes stay for the next wait().
port::WakeReasons TemplateThreads::drain() { return {}; }

// One descriptor for all of the above (Linux: an epoll), or -1 for ever: then a host's loop asks
// next_due().
int TemplateThreads::fd() const { return -1; }

// Makes fd() readable at that time.
void TemplateThreads::arm(OptionalMs) {}

// From any thread and from signal handlers: no lock, no memory. A wake() before wait() ends that
// wait().
void TemplateThreads::wake() {}

// False: wait() polls the files at an interval you document, and reports `bell`.
bool TemplateThreads::watches_files() const { return false; }

// Optional: dead workers are found by their locks too, only later. Reported once, by `process`.
Status TemplateThreads::watch_process(std::int64_t, std::int64_t) { return Status::kUnsupported; }

void TemplateThreads::unwatch_process(std::int64_t) {}

// Optional, for cooperative activities that wait for a descriptor, and hosts that let wait() watch
// theirs.
Status TemplateThreads::add_descriptor(int) { return Status::kUnsupported; }

void TemplateThreads::remove_descriptor(int) {}

// Does not wait. Where add_descriptor() is kUnsupported it is never asked.
bool TemplateThreads::descriptor_ready(int) { return false; }

// --- identity -------------------------------------------------------------------------------------------

// Positive. With a single process: 1.
std::int64_t TemplateThreads::process_id() { return 0; }

// Positive for a living process, and another one when the number is used again. With a single
// process: boot_ms() of its start.
std::int64_t TemplateThreads::process_start_time(std::int64_t) { return 0; }

// Pawl refuses to wait on the thread that must do the work, by this.
bool TemplateThreads::on_owner_thread() { return false; }

// --- the executor ---------------------------------------------------------------------------------------

// All threads and stacks are made here and nowhere else. More than the machine can have:
// kInvalidArgument, with those already made ended again.
Status TemplateThreads::executor_start(unsigned count, std::size_t) {
  return count == 0 ? Status::kOk : Status::kUnsupported;
}

// Hand the job to that one thread (a mutex and a condition each); when it returned, mark the slot
// idle and only then wake the waiter.
void TemplateThreads::executor_submit(unsigned, void (*)(void*), void*) {}

// An acquire that pairs with the release of the thread: whatever the job wrote is visible after
// true.
bool TemplateThreads::executor_idle(unsigned) { return true; }

// A job that does not return in time keeps its thread; answer false and leave its memory alone.
bool TemplateThreads::executor_stop(std::int64_t) { return true; }

}  // namespace pawl::port_template
