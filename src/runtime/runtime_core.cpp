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
constexpr std::size_t kRetryStoppedMax = 1'024;
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
    status = register_in_batch();
    if (status == Status::kOk) status = claim_at_start();
    if (status == Status::kOk) status = loop_.provider->commit();
    if (status != Status::kOk) {
      // Taken before the rollback, which may say something itself.
      diagnostic = loop_.provider->diagnostic();
      loop_.provider->rollback();
      forget_registration();
      return status;
    }
    shared_.clock = loop_.port.clock;
    shared_.threads = loop_.port.threads;
    shared_.heartbeat_interval_ms = loop_.options.heartbeat_interval_ms;
    shared_.log = loop_.options.log;
    shared_.payload_bytes_max = loop_.options.payload_bytes_max;
    slots_.start(shared_);
    after_registration();
    notices_.committed();
    clock_.committed();
    return Status::kOk;
  }
  diagnostic = loop_.provider->diagnostic();
  return status;
}

Status RuntimeCore::register_in_batch() {
  // Threads of that many earlier registrations never came back: this process is of no use as a worker.
  if (retired_files_.full() && slots_.running_threads() > 0) return Status::kBusy;
  loop_.evidence.observe_tick(loop_.batch.now);
  std::string_view names[Registry::kActivitiesMax];
  std::size_t count = 0;
  for (std::size_t i = 0; i < loop_.registry.activity_count(); ++i)
    if (has_handler(loop_.registry.activity(i).name))
      names[count++] = loop_.registry.activity(i).name;
  Incarnation former = 0;
  NewWorker worker;
  worker.node =
      loop_.options.worker_node_id == nullptr ? std::string_view() : loop_.options.worker_node_id;
  worker.pid = loop_.port.threads->process_id();
  worker.start_time = loop_.port.threads->process_start_time(worker.pid);
  worker.lease_ms = loop_.options.sessions.worker_lock_timeout_ms;
  worker.sessions_max = loop_.options.sessions.max_sessions_per_worker;
  worker.handlers = names;
  worker.handler_count = count;
  worker.tags = loop_.options.worker_tag_filter;
  worker.former = &former;
  PAWL_TRY(
      loop_.provider->register_worker(worker, loop_.evidence, loop_.crash_limits(), &loop_.me));
  // The lock is held before anybody can see the row.
  const Result<port::Storage::WorkerFile> file =
      loop_.port.storage->worker_create(loop_.options.database_path, loop_.me, sizeof(NotesPage));
  if (!file.ok()) return file.status();
  new_file_ = {loop_.me, file.value()};
  buried_.clear();
  PAWL_TRY(declare_again());
  if (former != 0) PAWL_TRY(bury(former, loop_.batch.boot_seq, loop_.me));
  PAWL_TRY(bury_the_dead());
  PAWL_TRY(loop_.provider->set_space(loop_.options.quota_bytes > 0 ? loop_.options.quota_bytes : -1,
                                     static_cast<std::int64_t>(loop_.options.reserve_bytes)));
  PAWL_TRY(loop_.provider->set_log_max(loop_.options.log_bytes_max));
  std::size_t retried = 0;
  if (loop_.options.run_orchestrations)
    PAWL_TRY(loop_.provider->retry_stopped(kRetryStoppedMax, &retried));
  return loop_.provider->count_sessions(loop_.me, &sessions_active_, &sessions_idle_);
}

void RuntimeCore::after_registration() {
  // An activity of the former incarnation may still write its note into the former page.
  if (slots_.running_threads() == 0) close_retired_files();
  if (file_.incarnation != 0) {
    const Status kept = retired_files_.push_back(file_);
    PAWL_CHECK("runtime-52", kept == Status::kOk);  // register_in_batch() looked
  }
  file_ = new_file_;
  new_file_ = {};
  notes_ = ::new (file_.file.notes) NotesPage();
  notes_->magic = NotesPage::kMagic;
  slots_.set_notes(notes_);
  loop_.agenda.clear(Job::kRegister);
  loop_.agenda.set(Job::kWakeUnregistered, loop_.takes_activities());
  worker_id_.clear();
  if (loop_.options.worker_node_id != nullptr) {
    worker_id_.assign_cut(loop_.options.worker_node_id);
  } else {
    const bool fits =
        worker_id_.append("~") == Status::kOk && worker_id_.append_number(loop_.me) == Status::kOk;
    PAWL_CHECK("runtime-50", fits);
  }
  shared_.worker_id = worker_id_.view();
  const LogField fields[] = {{"worker", worker_id_.view()}, {"incarnation", loop_.me}};
  loop_.log(LogLevel::kInfo, "worker_registered", fields, 2);
  const std::int64_t now = loop_.boot_ms();
  loop_.agenda.plan(Job::kRenew, now + renewal_interval_ms(loop_.options.sessions));
  removals_.registered();
  watch_workers();
}

// The registration was not committed.
void RuntimeCore::forget_registration() {
  if (new_file_.incarnation != 0)
    loop_.port.storage->worker_close(loop_.options.database_path, new_file_.incarnation,
                                     new_file_.file);
  new_file_ = {};
  buried_.clear();
  loop_.me = 0;
}

// Others declared this process dead: nothing it holds is its own any more.
void RuntimeCore::drop_everything_held() {
  loop_.log(LogLevel::kError, "worker_was_buried", nullptr, 0);
  slots_.for_each([&](internal::Slot& slot) { slot.lose(); });
  loop_.me = 0;
  loop_.agenda.do_now(Job::kRegister);
  tell_all_lost();
}

void RuntimeCore::close_retired_files() {
  for (const HeldFile& held : retired_files_)
    loop_.port.storage->worker_close(loop_.options.database_path, held.incarnation, held.file);
  retired_files_.clear();
}

void RuntimeCore::close_worker_files() {
  close_retired_files();
  if (file_.incarnation != 0)
    loop_.port.storage->worker_close(loop_.options.database_path, file_.incarnation, file_.file);
  file_ = {};
}

Status RuntimeCore::bury(Incarnation dead, std::int64_t boot_seq, Incarnation heir) {
  CrashNote notes[kNoteEntries];
  std::size_t count = 0;
  if (boot_seq == loop_.batch.boot_seq) {
    alignas(NotesPage) unsigned char bytes[sizeof(NotesPage)];
    const std::size_t read =
        loop_.port.storage->worker_notes(loop_.options.database_path, dead, bytes, sizeof bytes);
    count = read_notes(bytes, read, notes, kNoteEntries);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (notes[i].instance == CrashNote::kNotStored) loop_.batch.starts_apart = true;
  PAWL_TRY(loop_.provider->bury_worker(dead, heir, notes, count, loop_.crash_limits()));
  loop_.look_for_all();
  if (buried_.full()) return Status::kOk;  // its file stays behind; a later start removes it
  return buried_.push_back(dead);
}

// By proof at once; by suspicion only two leases after the row's own lease ended.
Status RuntimeCore::bury_the_dead() {
  std::size_t count = 0;
  PAWL_TRY(loop_.provider->list_workers(parts_.workers, kWorkersMax, &count));
  const std::int64_t patience = 2 * loop_.options.sessions.worker_lock_timeout_ms;
  for (std::size_t i = 0; i < count; ++i) {
    const WorkerRow& worker = parts_.workers[i];
    if (worker.incarnation == loop_.me) continue;
    Claim claim;
    claim.holder = worker.incarnation;
    claim.lock_visible = worker.lock_visible;
    claim.locked_until = worker.locked_until;
    claim.boot_seq = worker.boot_seq;
    claim.subject = subtract_saturating(0, worker.incarnation);
    claim.version = worker.incarnation;
    const Gone gone = loop_.evidence.gone(claim, loop_.me, loop_.batch.now, loop_.batch.boot_seq);
    if (gone == Gone::kProof ||
        (gone == Gone::kSuspicion &&
         subtract_saturating(loop_.batch.now, worker.locked_until) >= patience))
      PAWL_TRY(bury(worker.incarnation, worker.boot_seq, 0));
  }
  return Status::kOk;
}

// Learns of deaths at once, where the kernel can tell.
void RuntimeCore::watch_workers() {
  for (const Incarnation incarnation : buried_)
    loop_.port.storage->worker_remove(loop_.options.database_path, incarnation);
  buried_.clear();
  std::size_t count = 0;
  if (loop_.provider->list_workers(parts_.workers, kWorkersMax, &count) != Status::kOk) return;
  const std::int64_t self = loop_.port.threads->process_id();
  for (std::size_t i = 0; i < count; ++i) {
    const WorkerRow& worker = parts_.workers[i];
    if (worker.pid == self || worker.boot_seq != loop_.batch.boot_seq) continue;
    const Status watched = loop_.port.threads->watch_process(worker.pid, worker.start_time);
    if (watched != Status::kOk && watched != Status::kUnsupported &&
        watched != Status::kAlreadyExists && watched != Status::kResourceExhausted)
      loop_.log_status(LogLevel::kWarning, "watch_process_failed", watched);
  }
}

void RuntimeCore::note_reasons(const port::WakeReasons& reasons) {
  if (reasons.process) loop_.agenda.do_now(Job::kBury);
  if (reasons.descriptor) look_at_descriptors_ = true;
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
  plan_slots(loop_.boot_ms());
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
    slots_.for_each([&](const internal::Slot& slot) {
      if (slot.refused) return;
      stored.keep_earlier(slot.deadline_boot_ms);
      stored.keep_earlier(slot.silent_boot_ms);
    });
    clock_.plan(due);
  }
  loop_.agenda.plan(Job::kStoredDue, stored);
}

// What the activities in hand want of the loop.
void RuntimeCore::plan_slots(std::int64_t now) {
  Agenda& agenda = loop_.agenda;
  OptionalMs steps;
  OptionalMs progress;
  bool has_results = false;
  bool has_pressing = false;
  loop_.stats.slots_abandoned = 0;
  slots_.for_each([&](const internal::Slot& slot) {
    if (slot.abandoned) ++loop_.stats.slots_abandoned;
    progress.keep_earlier(slot.progress_due());
    if (slot.state == internal::Slot::State::kFinished) {
      has_results = true;
      has_pressing = has_pressing || is_pressing(slot);
    }
    if (!slot.abandoned && slot.lost_boot_ms.has_value() && slot.is_under_way())
      steps.keep_earlier(slot.lost_boot_ms.value() + loop_.options.activity_grace_ms);
    if (may_step(slot) && (slot.state == internal::Slot::State::kReady ||
                           slot.state == internal::Slot::State::kWaiting))
      steps.keep_earlier(slot.step_is_due(now) ? now : slot.step_boot_ms);
  });
  agenda.plan(Job::kSteps, steps);
  agenda.plan(Job::kProgress, progress);
  agenda.set(Job::kResults, has_results);
  agenda.set(Job::kPressingResults, has_pressing);
  const bool takes_none = loop_.draining || !loop_.takes_activities() || !slots_.room();
  agenda.block(Job::kFetch, takes_none);
  agenda.block(Job::kWakeUnregistered, takes_none);
}

// It must not be refused for a limit that passes while it waits for company.
bool RuntimeCore::is_pressing(const internal::Slot& slot) const {
  return !slot.refused && (slot.hurries || slot.deadline_boot_ms.has_passed(loop_.window_until) ||
                           slot.silent_boot_ms.has_passed(loop_.window_until));
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
  announce_stop();
  const std::int64_t end = loop_.boot_ms() + grace_ms;
  // Results that come in time are committed; what never ends is left to burial.
  while (loop_.me != 0 && slots_.in_hand() > 0 && loop_.boot_ms() < end) {
    const Result<bool> more = tick(loop_.options.tick_ms_max);
    if (!more.ok()) break;
    if (!more.value() && slots_.in_hand() > 0) sleep_until_due(end);
  }
  if (slots_.in_hand() > 0) put_back_steps();
  const bool idle = slots_.in_hand() == 0;
  const std::int64_t left = end - loop_.boot_ms();
  if (executor_started_) threads_stuck_ = !loop_.port.threads->executor_stop(left > 0 ? left : 0);
  if (loop_.me != 0 && idle) unregister();
  loop_.process.remove_loop(loop_.port.threads);
  if (!threads_stuck_) close_worker_files();
  folders_.stop();
  if (waiter_open_) loop_.port.threads->close();
  warm_.stop();
  loop_.provider->close();
  stopped_ = true;
  return threads_stuck_ ? Status::kTimeout : Status::kOk;
}

// Cooperative activities that did not end in time: whoever comes next begins them anew.
void RuntimeCore::put_back_steps() {
  const auto each = [&](auto&& visit) {
    slots_.for_each([&](internal::Slot& slot) {
      if (slot.mode == ActivityMode::kCooperative && slot.state != internal::Slot::State::kFinished)
        visit(slot);
    });
  };
  Status status = loop_.me == 0 ? Status::kBuried : loop_.provider->begin(loop_.me, &loop_.batch);
  if (status == Status::kOk) {
    each([&](internal::Slot& slot) {
      if (status != Status::kOk) return;
      status = loop_.provider->abandon_work_item(slot.done(), 0, false, loop_.crash_limits());
      if (status == Status::kStale) status = Status::kOk;
    });
    if (status == Status::kOk) status = loop_.provider->commit();
    if (status != Status::kOk) loop_.provider->rollback();
  }
  // Not put back: their locks are left to burial.
  each([&](internal::Slot& slot) {
    slots_.end_by_force(slot, *loop_.port.threads);
    if (status == Status::kOk) slots_.release(slot);
  });
  if (status != Status::kOk) loop_.log_status(LogLevel::kWarning, "put_back_failed", status);
}

void RuntimeCore::unregister() {
  Status status = loop_.provider->begin(loop_.me, &loop_.batch);
  if (status == Status::kOk) {
    notices_.begin();
    status = loop_.provider->unregister_worker(loop_.me);
    if (status == Status::kOk) status = loop_.provider->commit();
    if (status != Status::kOk) loop_.provider->rollback();
  }
  if (status == Status::kOk)
    notices_.committed();
  else
    loop_.log_status(LogLevel::kWarning, "unregister_failed", status);
  tell_all_lost();
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
