// Start, stop, sleeping, and the worker's own life: registration, its lock, the dead of others.
#include "runtime_core.hpp"

#include <new>

#include "check.hpp"
#include "client_core.hpp"
#include "session_options.hpp"

namespace pawl {
namespace {

// A wake-up that finds nothing looks again: a log's notification precedes visibility, and a writer may
// be killed between its commit and the bell.
constexpr std::int64_t kLookDelaysMs[] = {10, 100, 1'000, 5'000};
constexpr int kLookSteps = sizeof kLookDelaysMs / sizeof kLookDelaysMs[0];
// An observer of expired leases must not sleep longer than this, or what it saw does not count.
constexpr std::int64_t kObserverWakeMs = 10'000;
constexpr std::int64_t kVainDueDelayMs = 1'000;
// Rows that a start takes out of its way before it gives up.
constexpr int kDamagedRowsAtStart = 1'024;

}  // namespace

RuntimeCore::RuntimeCore(Process& process, const Registry& registry, const Options& options,
                         const port::Port& port)
    : loop_(process, registry, options, port) {
  loop_.look_for_all();
  loop_.agenda.do_now(Job::kSweep);  // there may be rows of deleted trees
}

Status RuntimeCore::start(Diagnostic& diagnostic) {
  PAWL_TRY(folders_.check_root(diagnostic));
  PAWL_TRY(open_database(diagnostic));
  PAWL_TRY(loop_.port.threads->open(loop_.options.database_path, diagnostic));
  waiter_open_ = true;
  PAWL_TRY(loop_.port.threads->executor_start(loop_.options.thread_slots,
                                              loop_.options.thread_stack_bytes));
  executor_started_ = true;
  loop_.arena.attach(parts_.tick_block, parts_.tick_bytes);
  warm_.start();
  requests_.start();
  list_runnable();
  PAWL_TRY(register_self(diagnostic));
  loop_.process.add_loop(loop_.options.database_path, loop_.port.threads);
  plan_next_due();
  return Status::kOk;
}

// The registry does not change any more.
void RuntimeCore::list_runnable() {
  for (std::size_t i = 0; i < loop_.registry.orchestration_count(); ++i) {
    const Registry::OrchestrationEntry& entry = loop_.registry.orchestration(i);
    if (loop_.registry.find_orchestration(entry.name) == &entry)
      parts_.runnable[runnable_count_++] = {entry.name, {}, 0};
    parts_.runnable[runnable_count_++] = {entry.name, entry.version, 0};
    for (std::int64_t behaviour = Engine::kBehaviourMin; behaviour <= Engine::kBehaviour;
         ++behaviour)
      parts_.runnable[runnable_count_++] = {entry.name, entry.version, behaviour};
  }
}

const RuntimeStats& RuntimeCore::stats() {
  const IoUse io = loop_.provider->io_use();
  loop_.stats.flushes = io.flushes;
  loop_.stats.bytes_written = io.bytes;
  return loop_.stats;
}

Status RuntimeCore::open_database(Diagnostic& diagnostic) {
  ProviderOptions options;
  options.path = loop_.options.database_path;
  options.synchronous_full = loop_.options.synchronous_full;
  options.busy_ms_max = loop_.options.busy_ms_max;
  options.cache_pages = loop_.process.cache_pages(loop_.options.cache_pages);
  options.checkpoint_pages = loop_.options.checkpoint_pages;
  options.checkpoint_apart = true;
  options.may_take_reserve = true;
  PAWL_TRY(loop_.provider->open(options, loop_.port, diagnostic));
  if (loop_.port.storage->others_may_write(loop_.options.database_path)) {
    const LogField path("database", loop_.options.database_path);
    loop_.log(LogLevel::kWarning, "database_folder_open_to_others", &path, 1);
  }
  loop_.provider->set_change_sink(&notices_);
  return Status::kOk;
}

// The first write transaction of this process: adopts the boot, buries who died, registers.
Status RuntimeCore::register_self(Diagnostic& diagnostic) {
  space_.make_first_reserve();
  Status status = try_to_register(diagnostic);
  for (int rows = 0; rows < kDamagedRowsAtStart && recovery_.quarantine_culprit(status); ++rows)
    status = try_to_register(diagnostic);
  if (status != Status::kFull || space_.is_short()) return status;
  space_.disk_is_full();
  return try_to_register(diagnostic);
}

Status RuntimeCore::try_to_register(Diagnostic& diagnostic) {
  Status status = loop_.provider->begin(0, &loop_.batch);
  notices_.begin();
  if (status == Status::kOk) {
    status = registration_.write();
    if (status == Status::kOk) status = owned_.claim_at_start();
    if (status == Status::kOk) status = loop_.provider->commit();
    if (status != Status::kOk) {
      // Taken before the rollback, which may say something itself.
      diagnostic = loop_.provider->diagnostic();
      loop_.provider->rollback();
      registration_.rolled_back();
      return status;
    }
    registration_.start_slots();
    registered();
    notices_.committed();
    clock_.committed();
    return Status::kOk;
  }
  diagnostic = loop_.provider->diagnostic();
  return status;
}

// After the commit of a registration.
void RuntimeCore::registered() {
  registration_.committed();
  removals_.registered();
  registration_.watch_workers();
}

void RuntimeCore::note_reasons(const port::WakeReasons& reasons) {
  if (reasons.process) loop_.agenda.do_now(Job::kBury);
  if (reasons.descriptor) activities_.look_at_descriptors();
  if (reasons.clock) clock_.stepped();
  if (reasons.bell) space_.look_for_reserve_soon();
  if (reasons.bell || reasons.log) look_again(true);
}

void RuntimeCore::look_again(bool anew) {
  if (anew) look_step_ = 0;
  if (look_step_ == kLookSteps) {
    loop_.agenda.clear(Job::kLook);
    return;
  }
  loop_.agenda.plan(Job::kLook, loop_.boot_ms() + kLookDelaysMs[look_step_++]);
}

void RuntimeCore::plan_next_due() {
  plan_stored_due();
  // A row whose due time is none is found by nobody else.
  if (recovery_.quarantine_culprit(Status::kCorrupt)) loop_.look_for_all();
  loop_.stats.warm_instances = static_cast<std::uint32_t>(warm_.size());
  loop_.stats.warm_bytes_used = warm_.bytes_used();
  loop_.stats.activities_running = static_cast<std::uint32_t>(slots_.in_hand());
  activities_.plan(loop_.boot_ms());
  hand_over_.plan();
  space_.plan();
  loop_.agenda.clear(Job::kObserve);
  if (loop_.evidence.watching())
    loop_.agenda.plan(Job::kObserve, loop_.boot_ms() + kObserverWakeMs);
  planned_wake_ = next_due();
  if (loop_.port.threads->fd() >= 0) loop_.port.threads->arm(planned_wake_);
  // Something may have been due for days; the loop is late only from now on.
  if (planned_wake_.has_passed(loop_.boot_ms())) planned_wake_ = loop_.boot_ms();
}

void RuntimeCore::plan_stored_due() {
  NextDue due;
  OptionalMs stored;
  if (loop_.me != 0 &&
      loop_.provider->next_due(loop_.me, loop_.options.run_orchestrations, &due) == Status::kOk) {
    if (due.pawl_time.has_value()) stored = loop_.provider->boot_ms_of(due.pawl_time.value());
    // What is due and is not for us to do must not keep us awake.
    const std::int64_t now = loop_.boot_ms();
    if (due_in_vain_ && stored.has_passed(now)) {
      vain_due_ = due.pawl_time;
      vain_until_ = now + kVainDueDelayMs;
    }
    if (due.pawl_time == vain_due_ && !vain_until_.has_passed(now) && vain_due_.has_value())
      stored = vain_until_;
    // Another worker may have ended what is overdue here: then nothing stored is due any more.
    stored.keep_earlier(activities_.first_limit());
    clock_.plan(due);
  }
  loop_.agenda.plan(Job::kStoredDue, stored);
}

bool RuntimeCore::ready() const {
  if (stopped_ || loop_.draining || loop_.agenda.wants(Job::kRegister) ||
      loop_.trouble_until.has_value() || log_watch_.lock_is_stuck())
    return false;
  const std::size_t threads = slots_.slots_of(ActivityMode::kThreaded);
  return threads == 0 || loop_.stats.slots_abandoned < threads;
}

OptionalMs RuntimeCore::next_due() const {
  return loop_.agenda.next(Agenda::Which::kAll, holds(loop_.boot_ms()));
}

bool RuntimeCore::is_due(Agenda::Which which, std::int64_t now) const {
  Agenda::Holds held = holds(now);
  held.pace.clear();  // whoever woke a loop that is slowed down is served
  return loop_.agenda.next(which, held).has_passed(now);
}

Agenda::Holds RuntimeCore::holds(std::int64_t now) const {
  Agenda::Holds held;
  held.trouble = loop_.trouble_until;
  held.pace = pace_.until(now);
  if (waits_for_company(now)) held.company = loop_.window_until;
  return held;
}

// Not if there is nothing else to do: all slots of a kind hold results, or a full batch left some over.
bool RuntimeCore::waits_for_company(std::int64_t now) const {
  return now < loop_.window_until && !loop_.draining && !batch_was_full_ && !slots_were_full_ &&
         loop_.single_item_batches_left == 0 && !slots_.full_of_results();
}

void RuntimeCore::sleep_until_due(OptionalMs boot_ms_max) {
  OptionalMs due = next_due();
  due.keep_earlier(boot_ms_max);
  note_reasons(loop_.port.threads->wait(due));
  ++loop_.stats.wakeups;
}

Status RuntimeCore::ride(const Request& request) {
  if (stopped_ || loop_.draining) return Status::kStopped;
  if (request.text.size() > loop_.options.payload_bytes_max) {
    loop_.diagnostic.format("the input has %zu bytes; payload_bytes_max is %zu",
                            request.text.size(), loop_.options.payload_bytes_max);
    return Status::kResourceExhausted;
  }
  const bool first = requests_.size() == 0;
  const Status status = requests_.push(request);
  // A host's loop sleeps on the descriptor, which must know.
  if (status == Status::kOk) loop_.agenda.do_now(Job::kRequests);
  if (first && status == Status::kOk) loop_.port.threads->wake();
  return status;
}

Status RuntimeCore::get_status(std::string_view id, OrchestrationStatus* out) {
  if (stopped_) return Status::kStopped;
  InstanceStatus row;
  const Status status = loop_.provider->read_status(
      id, &row, parts_.status_buffer, status_buffer_bytes(loop_.options.payload_bytes_max));
  if (status != Status::kOk) {
    loop_.diagnostic = loop_.provider->diagnostic();
    return status;
  }
  *out = public_status(row);
  return Status::kOk;
}

Status RuntimeCore::stop(std::int64_t grace_ms) {
  if (stopped_) return threads_stuck_ ? Status::kTimeout : Status::kOk;
  loop_.draining = true;
  owned_.announce_stop();
  const std::int64_t end = loop_.boot_ms() + grace_ms;
  // Results that come in time are committed; what never ends is left to burial.
  while (loop_.me != 0 && slots_.in_hand() > 0 && loop_.boot_ms() < end) {
    const Result<bool> more = tick(loop_.options.tick_ms_max);
    if (!more.ok()) break;
    if (!more.value() && slots_.in_hand() > 0) sleep_until_due(end);
  }
  if (slots_.in_hand() > 0) activities_.put_back_steps();
  const bool idle = slots_.in_hand() == 0;
  const std::int64_t left = end - loop_.boot_ms();
  if (executor_started_) threads_stuck_ = !loop_.port.threads->executor_stop(left > 0 ? left : 0);
  if (loop_.me != 0 && idle) unregister();
  loop_.process.remove_loop(loop_.port.threads);
  if (!threads_stuck_) registration_.close_files();
  folders_.stop();
  if (waiter_open_) loop_.port.threads->close();
  warm_.stop();
  loop_.provider->close();
  stopped_ = true;
  return threads_stuck_ ? Status::kTimeout : Status::kOk;
}

void RuntimeCore::unregister() {
  Status status = loop_.provider->begin(loop_.me, &loop_.batch);
  if (status == Status::kOk) {
    notices_.begin();
    status = registration_.unregister();
    if (status == Status::kOk) status = loop_.provider->commit();
    if (status != Status::kOk) loop_.provider->rollback();
  }
  if (status == Status::kOk)
    notices_.committed();
  else
    loop_.log_status(LogLevel::kWarning, "unregister_failed", status);
  owned_.lose_all();
}

std::uint64_t RuntimeCore::work_done() const {
  return loop_.work_done + loop_.stats.activities_started + loop_.stats.activities_completed +
         loop_.stats.activities_retried + loop_.stats.activities_refused +
         loop_.stats.instances_removed + loop_.stats.executions_removed +
         loop_.stats.events_removed + loop_.stats.rows_quarantined +
         loop_.stats.session_folders_removed;
}

void RuntimeCore::keep_pace(std::uint64_t done_before) {
  const std::int64_t now = loop_.boot_ms();
  if (pace_.ran(runs_again_, work_done() != done_before, now))
    loop_.log(LogLevel::kError, "loop_without_progress", nullptr, 0);
}

}  // namespace pawl
