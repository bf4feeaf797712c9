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

Evidence::Options evidence_options(const Options& options) {
  Evidence::Options out;
  out.fast_handoff = options.sessions.fast_handoff;
  out.renewal_interval_ms = renewal_interval_ms(options.sessions);
  return out;
}

}  // namespace

RuntimeCore::RuntimeCore(Process& process, const Registry& registry, const Options& options,
                         const port::Port& port)
    : process_(process),
      registry_(registry),
      options_(options),
      port_(port),
      evidence_(*port.storage, options.database_path, evidence_options(options)) {}

CrashLimits RuntimeCore::crash_limits() const {
  CrashLimits limits;
  limits.crashes_max = options_.crashes_max;
  limits.strikes_max = options_.strikes_max;
  limits.reboots_max = options_.reboots_max;
  return limits;
}

Status RuntimeCore::start(Diagnostic& diagnostic) {
  PAWL_TRY(check_work_root(diagnostic));
  PAWL_TRY(open_database(diagnostic));
  PAWL_TRY(port_.threads->open(options_.database_path, diagnostic));
  waiter_open_ = true;
  PAWL_TRY(port_.threads->executor_start(options_.thread_slots, options_.thread_stack_bytes));
  executor_started_ = true;
  tick_arena_.attach(parts_.tick_block, parts_.tick_bytes);
  warm_.start();
  requests_.start();
  list_runnable();
  PAWL_TRY(register_self(diagnostic));
  process_.add_loop(options_.database_path, port_.threads);
  plan_next_due();
  return Status::kOk;
}

// The registry does not change any more.
void RuntimeCore::list_runnable() {
  for (std::size_t i = 0; i < registry_.orchestration_count(); ++i) {
    const Registry::OrchestrationEntry& entry = registry_.orchestration(i);
    if (registry_.find_orchestration(entry.name) == &entry)
      parts_.runnable[runnable_count_++] = {entry.name, {}, 0};
    parts_.runnable[runnable_count_++] = {entry.name, entry.version, 0};
    for (std::int64_t behaviour = Engine::kBehaviourMin; behaviour <= Engine::kBehaviour;
         ++behaviour)
      parts_.runnable[runnable_count_++] = {entry.name, entry.version, behaviour};
  }
}

const RuntimeStats& RuntimeCore::stats() {
  const IoUse io = provider_->io_use();
  stats_.flushes = io.flushes;
  stats_.bytes_written = io.bytes;
  return stats_;
}

Status RuntimeCore::open_database(Diagnostic& diagnostic) {
  ProviderOptions options;
  options.path = options_.database_path;
  options.synchronous_full = options_.synchronous_full;
  options.busy_ms_max = options_.busy_ms_max;
  options.cache_pages = process_.cache_pages(options_.cache_pages);
  options.checkpoint_pages = options_.checkpoint_pages;
  options.checkpoint_apart = true;
  options.may_take_reserve = true;
  PAWL_TRY(provider_->open(options, port_, diagnostic));
  if (port_.storage->others_may_write(options_.database_path)) {
    const LogField path("database", options_.database_path);
    log(LogLevel::kWarning, "database_folder_open_to_others", &path, 1);
  }
  provider_->set_change_sink(this);
  return Status::kOk;
}

// The first write transaction of this process: adopts the boot, buries who died, registers.
Status RuntimeCore::register_self(Diagnostic& diagnostic) {
  make_first_reserve();
  Status status = try_to_register(diagnostic);
  for (int rows = 0; rows < kDamagedRowsAtStart && quarantine_culprit(status); ++rows)
    status = try_to_register(diagnostic);
  if (status != Status::kFull || short_of_space_) return status;
  disk_is_full();
  return try_to_register(diagnostic);
}

Status RuntimeCore::try_to_register(Diagnostic& diagnostic) {
  Status status = provider_->begin(0, &batch_);
  begin_telling();
  if (status == Status::kOk) {
    status = register_in_batch();
    if (status == Status::kOk) status = claim_at_start();
    if (status == Status::kOk) status = provider_->commit();
    if (status != Status::kOk) {
      // Taken before the rollback, which may say something itself.
      diagnostic = provider_->diagnostic();
      provider_->rollback();
      forget_registration();
      return status;
    }
    shared_.clock = port_.clock;
    shared_.threads = port_.threads;
    shared_.heartbeat_interval_ms = options_.heartbeat_interval_ms;
    shared_.log = options_.log;
    shared_.payload_bytes_max = options_.payload_bytes_max;
    slots_.start(shared_);
    after_registration();
    tell_notices();
    tell_clock();
    return Status::kOk;
  }
  diagnostic = provider_->diagnostic();
  return status;
}

Status RuntimeCore::register_in_batch() {
  // Threads of that many earlier registrations never came back: this process is of no use as a worker.
  if (retired_files_.full() && slots_.running_threads() > 0) return Status::kBusy;
  evidence_.observe_tick(batch_.now);
  std::string_view names[Registry::kActivitiesMax];
  std::size_t count = 0;
  for (std::size_t i = 0; i < registry_.activity_count(); ++i)
    if (has_handler(registry_.activity(i).name)) names[count++] = registry_.activity(i).name;
  Incarnation former = 0;
  NewWorker worker;
  worker.node = options_.worker_node_id == nullptr ? std::string_view() : options_.worker_node_id;
  worker.pid = port_.threads->process_id();
  worker.start_time = port_.threads->process_start_time(worker.pid);
  worker.lease_ms = options_.sessions.worker_lock_timeout_ms;
  worker.sessions_max = options_.sessions.max_sessions_per_worker;
  worker.handlers = names;
  worker.handler_count = count;
  worker.tags = options_.worker_tag_filter;
  worker.former = &former;
  PAWL_TRY(provider_->register_worker(worker, evidence_, crash_limits(), &me_));
  // The lock is held before anybody can see the row.
  const Result<port::Storage::WorkerFile> file =
      port_.storage->worker_create(options_.database_path, me_, sizeof(NotesPage));
  if (!file.ok()) return file.status();
  new_file_ = {me_, file.value()};
  buried_.clear();
  PAWL_TRY(declare_again());
  if (former != 0) PAWL_TRY(bury(former, batch_.boot_seq, me_));
  PAWL_TRY(bury_the_dead());
  PAWL_TRY(provider_->set_space(options_.quota_bytes > 0 ? options_.quota_bytes : -1,
                                static_cast<std::int64_t>(options_.reserve_bytes)));
  PAWL_TRY(provider_->set_log_max(options_.log_bytes_max));
  std::size_t retried = 0;
  if (options_.run_orchestrations) PAWL_TRY(provider_->retry_stopped(kRetryStoppedMax, &retried));
  return provider_->count_sessions(me_, &sessions_active_, &sessions_idle_);
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
  must_register_ = false;
  wakes_unregistered_ = takes_activities();
  worker_id_.clear();
  if (options_.worker_node_id != nullptr) {
    worker_id_.assign_cut(options_.worker_node_id);
  } else {
    const bool fits =
        worker_id_.append("~") == Status::kOk && worker_id_.append_number(me_) == Status::kOk;
    PAWL_CHECK("runtime-50", fits);
  }
  shared_.worker_id = worker_id_.view();
  const LogField fields[] = {{"worker", worker_id_.view()}, {"incarnation", me_}};
  log(LogLevel::kInfo, "worker_registered", fields, 2);
  const std::int64_t now = port_.clock->boot_ms();
  next_renewal_ = now + renewal_interval_ms(options_.sessions);
  next_cleanup_ = now + options_.sessions.session_cleanup_interval_ms;
  retire_ = has_retention();
  plan_folders(0);
  watch_workers();
}

// The registration was not committed.
void RuntimeCore::forget_registration() {
  if (new_file_.incarnation != 0)
    port_.storage->worker_close(options_.database_path, new_file_.incarnation, new_file_.file);
  new_file_ = {};
  buried_.clear();
  me_ = 0;
}

// Others declared this process dead: nothing it holds is its own any more.
void RuntimeCore::drop_everything_held() {
  log(LogLevel::kError, "worker_was_buried", nullptr, 0);
  slots_.for_each([&](internal::Slot& slot) { slot.lose(); });
  me_ = 0;
  must_register_ = true;
  tell_all_lost();
}

void RuntimeCore::close_retired_files() {
  for (const HeldFile& held : retired_files_)
    port_.storage->worker_close(options_.database_path, held.incarnation, held.file);
  retired_files_.clear();
}

void RuntimeCore::close_worker_files() {
  close_retired_files();
  if (file_.incarnation != 0)
    port_.storage->worker_close(options_.database_path, file_.incarnation, file_.file);
  file_ = {};
}

Status RuntimeCore::bury(Incarnation dead, std::int64_t boot_seq, Incarnation heir) {
  CrashNote notes[kNoteEntries];
  std::size_t count = 0;
  if (boot_seq == batch_.boot_seq) {
    alignas(NotesPage) unsigned char bytes[sizeof(NotesPage)];
    const std::size_t read =
        port_.storage->worker_notes(options_.database_path, dead, bytes, sizeof bytes);
    count = read_notes(bytes, read, notes, kNoteEntries);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (notes[i].instance == CrashNote::kNotStored) batch_.starts_apart = true;
  PAWL_TRY(provider_->bury_worker(dead, heir, notes, count, crash_limits()));
  look_for_turns_ = look_for_work_ = true;
  if (buried_.full()) return Status::kOk;  // its file stays behind; a later start removes it
  return buried_.push_back(dead);
}

// By proof at once; by suspicion only two leases after the row's own lease ended.
Status RuntimeCore::bury_the_dead() {
  std::size_t count = 0;
  PAWL_TRY(provider_->list_workers(parts_.workers, kWorkersMax, &count));
  const std::int64_t patience = 2 * options_.sessions.worker_lock_timeout_ms;
  for (std::size_t i = 0; i < count; ++i) {
    const WorkerRow& worker = parts_.workers[i];
    if (worker.incarnation == me_) continue;
    Claim claim;
    claim.holder = worker.incarnation;
    claim.lock_visible = worker.lock_visible;
    claim.locked_until = worker.locked_until;
    claim.boot_seq = worker.boot_seq;
    claim.subject = subtract_saturating(0, worker.incarnation);
    claim.version = worker.incarnation;
    const Gone gone = evidence_.gone(claim, me_, batch_.now, batch_.boot_seq);
    if (gone == Gone::kProof || (gone == Gone::kSuspicion &&
                                 subtract_saturating(batch_.now, worker.locked_until) >= patience))
      PAWL_TRY(bury(worker.incarnation, worker.boot_seq, 0));
  }
  return Status::kOk;
}

// Learns of deaths at once, where the kernel can tell.
void RuntimeCore::watch_workers() {
  for (const Incarnation incarnation : buried_)
    port_.storage->worker_remove(options_.database_path, incarnation);
  buried_.clear();
  std::size_t count = 0;
  if (provider_->list_workers(parts_.workers, kWorkersMax, &count) != Status::kOk) return;
  const std::int64_t self = port_.threads->process_id();
  for (std::size_t i = 0; i < count; ++i) {
    const WorkerRow& worker = parts_.workers[i];
    if (worker.pid == self || worker.boot_seq != batch_.boot_seq) continue;
    const Status watched = port_.threads->watch_process(worker.pid, worker.start_time);
    if (watched != Status::kOk && watched != Status::kUnsupported &&
        watched != Status::kAlreadyExists && watched != Status::kResourceExhausted)
      log_status(LogLevel::kWarning, "watch_process_failed", watched);
  }
}

void RuntimeCore::note_reasons(const port::WakeReasons& reasons) {
  if (reasons.process) bury_now_ = true;
  if (reasons.descriptor) look_at_descriptors_ = true;
  if (reasons.clock) {
    ++stats_.clock_steps;
    sync_look_ms_ = 0;
    next_sync_look_ = port_.clock->boot_ms();
    log(LogLevel::kWarning, "wall_clock_stepped", nullptr, 0);
  }
  if (reasons.bell) look_for_reserve_ = true;
  if (reasons.bell || reasons.log) look_again(true);
}

void RuntimeCore::look_again(bool anew) {
  if (anew) look_step_ = 0;
  if (look_step_ == kLookSteps) {
    next_look_.clear();
    return;
  }
  next_look_ = port_.clock->boot_ms() + kLookDelaysMs[look_step_++];
}

void RuntimeCore::plan_next_due() {
  NextDue due;
  next_stored_due_.clear();
  if (me_ != 0 && provider_->next_due(me_, options_.run_orchestrations, &due) == Status::kOk) {
    if (due.pawl_time.has_value()) next_stored_due_ = provider_->boot_ms_of(due.pawl_time.value());
    // What is due and is not for us to do must not keep us awake.
    const std::int64_t now = port_.clock->boot_ms();
    if (due_in_vain_ && next_stored_due_.has_passed(now)) {
      vain_due_ = due.pawl_time;
      vain_until_ = now + kVainDueDelayMs;
    }
    if (due.pawl_time == vain_due_ && !vain_until_.has_passed(now) && vain_due_.has_value())
      next_stored_due_ = vain_until_;
    // Another worker may have ended what is overdue here: then nothing stored is due any more.
    slots_.for_each([&](const internal::Slot& slot) {
      if (slot.refused) return;
      next_stored_due_.keep_earlier(slot.deadline_boot_ms);
      next_stored_due_.keep_earlier(slot.silent_boot_ms);
    });
    const bool could_gain =
        !synced_this_boot_ && (due.pawl_time.has_value() || due.waiting_for_utc);
    if (could_gain && !next_sync_look_.has_value()) {
      sync_look_ms_ = next_sync_look_ms(0);
      next_sync_look_ = port_.clock->boot_ms() + sync_look_ms_;
    } else if (!could_gain) {
      next_sync_look_.clear();
    }
  }
  // A row whose due time is none is found by nobody else.
  if (quarantine_culprit(Status::kCorrupt)) look_for_turns_ = look_for_work_ = true;
  stats_.warm_instances = static_cast<std::uint32_t>(warm_.size());
  stats_.warm_bytes_used = warm_.bytes_used();
  stats_.activities_running = static_cast<std::uint32_t>(slots_.in_hand());
  plan_slots();
  planned_wake_ = next_due();
  if (port_.threads->fd() >= 0) port_.threads->arm(planned_wake_);
  // Something may have been due for days; the loop is late only from now on.
  if (planned_wake_.has_passed(port_.clock->boot_ms())) planned_wake_ = port_.clock->boot_ms();
}

// What the slots need without a message.
void RuntimeCore::plan_slots() {
  const std::int64_t now = port_.clock->boot_ms();
  next_slot_due_.clear();
  stats_.slots_abandoned = 0;
  slots_.for_each([&](const internal::Slot& slot) {
    if (slot.abandoned) ++stats_.slots_abandoned;
    next_slot_due_.keep_earlier(slot.progress_due());
    if (!slot.abandoned && slot.lost_boot_ms.has_value() && slot.is_under_way())
      next_slot_due_.keep_earlier(slot.lost_boot_ms.value() + options_.activity_grace_ms);
    if (may_step(slot) && (slot.state == internal::Slot::State::kReady ||
                           slot.state == internal::Slot::State::kWaiting))
      next_slot_due_.keep_earlier(slot.step_is_due(now) ? now : slot.step_boot_ms);
  });
}

bool RuntimeCore::ready() const {
  if (stopped_ || draining_ || must_register_ || retry_at_.has_value() || lock_is_stuck_)
    return false;
  const std::size_t threads = slots_.slots_of(ActivityMode::kThreaded);
  return threads == 0 || stats_.slots_abandoned < threads;
}

OptionalMs RuntimeCore::next_due() const {
  const std::int64_t now = port_.clock->boot_ms();
  if (retry_at_.has_value() && !retry_at_.has_passed(now)) return retry_at_;
  const std::int64_t due = first_due(now);
  const OptionalMs paced = pace_.until(now);
  if (paced.has_value() && due <= now && !is_urgent(now)) return paced;
  if (due >= gathers_until_ || !gathers(now)) return due;
  OptionalMs punctual = gathers_until_;
  punctual.keep_earlier(next_renewal_);
  punctual.keep_earlier(next_cleanup_);
  punctual.keep_earlier(next_slot_due_);
  return punctual;
}

std::int64_t RuntimeCore::first_due(std::int64_t now) const {
  if (must_register_ || sessions_changed_ || look_for_turns_ || sweep_ || retire_ ||
      needs_relief() || requests_.size() > 0 || slots_.finished() > 0 || wants_work() ||
      folders_.listing)
    return 0;
  OptionalMs due = next_renewal_;
  due.keep_earlier(next_cleanup_);
  for (const OptionalMs other : {next_stored_due_, next_look_, next_sync_look_, strangers_due_,
                                 next_slot_due_, next_retention_, folders_.due})
    due.keep_earlier(other);
  if (short_of_space_) due.keep_earlier(next_reserve_try_);
  if (log_is_long_) due.keep_earlier(next_log_try_);
  if (evidence_.watching()) due.keep_earlier(now + kObserverWakeMs);
  return due.value();  // a renewal always comes
}

void RuntimeCore::sleep_until_due(OptionalMs boot_ms_max) {
  OptionalMs due = next_due();
  due.keep_earlier(boot_ms_max);
  note_reasons(port_.threads->wait(due));
  ++stats_.wakeups;
}

Status RuntimeCore::ride(const Request& request) {
  if (stopped_ || draining_) return Status::kStopped;
  if (request.text.size() > options_.payload_bytes_max) {
    diagnostic_.format("the input has %zu bytes; payload_bytes_max is %zu", request.text.size(),
                       options_.payload_bytes_max);
    return Status::kResourceExhausted;
  }
  const bool first = requests_.size() == 0;
  const Status status = requests_.push(request);
  // A host's loop sleeps on the descriptor, which must know.
  if (first && status == Status::kOk) port_.threads->wake();
  return status;
}

Status RuntimeCore::get_status(std::string_view id, OrchestrationStatus* out) {
  if (stopped_) return Status::kStopped;
  InstanceStatus row;
  const Status status = provider_->read_status(id, &row, parts_.status_buffer,
                                               status_buffer_bytes(options_.payload_bytes_max));
  if (status != Status::kOk) {
    diagnostic_ = provider_->diagnostic();
    return status;
  }
  *out = public_status(row);
  return Status::kOk;
}

Status RuntimeCore::stop(std::int64_t grace_ms) {
  if (stopped_) return threads_stuck_ ? Status::kTimeout : Status::kOk;
  draining_ = true;
  announce_stop();
  const std::int64_t end = port_.clock->boot_ms() + grace_ms;
  // Results that come in time are committed; what never ends is left to burial.
  while (me_ != 0 && slots_.in_hand() > 0 && port_.clock->boot_ms() < end) {
    const Result<bool> more = tick(options_.tick_ms_max);
    if (!more.ok()) break;
    if (!more.value() && slots_.in_hand() > 0) sleep_until_due(end);
  }
  if (slots_.in_hand() > 0) put_back_steps();
  const bool idle = slots_.in_hand() == 0;
  const std::int64_t left = end - port_.clock->boot_ms();
  if (executor_started_) threads_stuck_ = !port_.threads->executor_stop(left > 0 ? left : 0);
  if (me_ != 0 && idle) unregister();
  process_.remove_loop(port_.threads);
  if (!threads_stuck_) close_worker_files();
  if (folders_.listing) port_.folders->end_list();
  if (waiter_open_) port_.threads->close();
  warm_.stop();
  provider_->close();
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
  Status status = me_ == 0 ? Status::kBuried : provider_->begin(me_, &batch_);
  if (status == Status::kOk) {
    each([&](internal::Slot& slot) {
      if (status != Status::kOk) return;
      status = provider_->abandon_work_item(slot.done(), 0, false, crash_limits());
      if (status == Status::kStale) status = Status::kOk;
    });
    if (status == Status::kOk) status = provider_->commit();
    if (status != Status::kOk) provider_->rollback();
  }
  // Not put back: their locks are left to burial.
  each([&](internal::Slot& slot) {
    slots_.end_by_force(slot, *port_.threads);
    if (status == Status::kOk) slots_.release(slot);
  });
  if (status != Status::kOk) log_status(LogLevel::kWarning, "put_back_failed", status);
}

void RuntimeCore::unregister() {
  Status status = provider_->begin(me_, &batch_);
  if (status == Status::kOk) {
    begin_telling();
    status = provider_->unregister_worker(me_);
    if (status == Status::kOk) status = provider_->commit();
    if (status != Status::kOk) provider_->rollback();
  }
  if (status == Status::kOk)
    tell_notices();
  else
    log_status(LogLevel::kWarning, "unregister_failed", status);
  tell_all_lost();
}

void RuntimeCore::log(LogLevel level, std::string_view event, const LogField* fields,
                      std::size_t count) {
  if (options_.log != nullptr) options_.log->write(level, event, fields, count);
}

void RuntimeCore::log_status(LogLevel level, std::string_view event, Status status) {
  const LogField fields[] = {{"status", status_name(status)},
                             {"text", provider_->diagnostic().text()}};
  log(level, event, fields, 2);
}

}  // namespace pawl
