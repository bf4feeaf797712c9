// Fifth step: waiting. Sixth: the executor.
#include "port/template/template_port.hpp"

namespace pawl::port_template {

// ---- waiting ----

// Remember the calling thread as the owner; begin to watch `<database>-bell` and `<database>-wal`,
// which may not exist yet. Earlier changes are not reported.
Status TemplateThreads::open(const char*, Diagnostic& diagnostic) {
  diagnostic.format("this port is the template: TemplateThreads::open() is not written");
  return Status::kUnsupported;
}

// open() may follow, with another database or none.
void TemplateThreads::close() {}

// Sleep in one place for all reasons (Linux: epoll over a timer, an event and inotify). The neutral
// answer is "due": a port that cannot sleep polls.
port::WakeReasons TemplateThreads::wait(OptionalMs) {
  port::WakeReasons reasons;
  reasons.due = true;
  return reasons;
}

// Take the bell and log reports that our own commit caused; wake() and dead processes stay for the
// next wait().
port::WakeReasons TemplateThreads::drain() { return {}; }

// One descriptor for all of the above (Linux: an epoll), or always -1: then a host's loop asks
// next_due().
int TemplateThreads::fd() const { return -1; }

// Make fd() readable at that time.
void TemplateThreads::arm(OptionalMs) {}

// Callable from any thread and from signal handlers: no lock, no memory. A wake() before wait()
// ends that wait().
void TemplateThreads::wake() {}

// False: wait() polls the files at an interval that you document, and reports `bell`.
bool TemplateThreads::watches_files() const { return false; }

// Optional: without it dead workers are found by their locks, only later. A death is reported once,
// by `process`.
Status TemplateThreads::watch_process(std::int64_t, std::int64_t) { return Status::kUnsupported; }

void TemplateThreads::unwatch_process(std::int64_t) {}

// Optional: for cooperative activities that wait for a descriptor, and for hosts that let wait()
// watch theirs.
Status TemplateThreads::add_descriptor(int) { return Status::kUnsupported; }

void TemplateThreads::remove_descriptor(int) {}

// Must not wait. Not called where add_descriptor() is kUnsupported.
bool TemplateThreads::descriptor_ready(int) { return false; }

// ---- identity ----

// Positive. With a single process: 1.
std::int64_t TemplateThreads::process_id() { return 0; }

// Positive for a living process, and different when the number is used again. With a single
// process: boot_ms() at its start.
std::int64_t TemplateThreads::process_start_time(std::int64_t) { return 0; }

// Pawl uses this to refuse waiting on the thread that must do the work.
bool TemplateThreads::on_owner_thread() { return false; }

// ---- the executor ----

// Make all threads and stacks here and nowhere else. More than the machine can have: end those
// already made and return kInvalidArgument.
Status TemplateThreads::executor_start(unsigned count, std::size_t) {
  return count == 0 ? Status::kOk : Status::kUnsupported;
}

// Hand the job to the slot's thread (a mutex and a condition each); when it has returned, mark the
// slot idle and only then wake the waiter.
void TemplateThreads::executor_submit(unsigned, void (*)(void*), void*) {}

// An acquire that pairs with the thread's release: after true, everything that the job wrote is
// visible.
bool TemplateThreads::executor_idle(unsigned) { return true; }

// A job that does not return in time keeps its thread; return false and leave its memory alone.
bool TemplateThreads::executor_stop(std::int64_t) { return true; }

}  // namespace pawl::port_template
