#include "runtime/runtime_core.hpp"

#include <algorithm>
#include <cstdio>

#include "core/check.hpp"
#include "pawl/runtime_board.hpp"
#include "runtime/client_core.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kLateWakeMs = 2'000;  // after a later wake-up, leases are renewed first
// An observer of expired leases must not sleep longer than this, or its observations do not count.
constexpr std::int64_t kObserverWakeMs = 10'000;
constexpr std::int64_t kCountersMs = 1'000;  // between two copies for the board, under load
constexpr std::int64_t kNodeTryMs = 100;
constexpr int kNodeTriesMax = 30;
// Damaged rows that a start quarantines before it gives up.
constexpr int kDamagedRowsAtStart = 1'024;

}  // namespace

RuntimeCore::RuntimeCore(Process& process, const Registry& registry, const Options& options,
                         const port::Port& port)
    : loop_(process, registry, options, port) {
  loop_.look_for_all();
  loop_.agenda.do_now(Job::kSweep);  // there may be rows of deleted trees
}

Status RuntimeCore::start(Diagnostic& diagnostic) {
  PAWL_TRY(parts_.folders.check_root(diagnostic));
  PAWL_TRY(open_database(diagnostic));
  PAWL_TRY(loop_.port.threads->open(loop_.options.database_path.c_str(), diagnostic));
  opened_.waiter = true;
  loop_.store->wake(loop_.port.threads);
  PAWL_TRY(loop_.port.threads->executor_start(loop_.options.slots.threads,
                                              loop_.options.slots.thread_stack_bytes));
  opened_.executor = true;
  loop_.arena.attach(memory_.tick_block, memory_.tick_bytes);
  memory_.warm.start();
  parts_.inbox.start();
  parts_.loader.start();
  parts_.runner.set_engine(engine_);
  loop_.status_buffer = memory_.slots.buffer();
  PAWL_TRY(register_self(diagnostic));
  Process::Loop* const place =
      loop_.process.add_loop(loop_.options.database_path.c_str(), loop_.port.threads);
  // A Client wakes the loop by the bell, which a port without a descriptor does not hear; and one
  // that wants its calls flushed must not be answered by a loop that does not flush.
  if (place != nullptr && fd() >= 0 && loop_.options.synchronous_full)
    passed_.set_place(&place->calls);
  plan_next_due();
  if (loop_.options.board != nullptr) write_board(*loop_.options.board, loop_.boot_ms());
  return Status::kOk;
}

const RuntimeStats& RuntimeCore::stats() {
  const IoUse io = loop_.store->io_use();
  loop_.stats.flushes = io.flushes;
  loop_.stats.bytes_written = io.bytes;
  loop_.stats.server_trips = io.trips;
  return loop_.stats;
}

Status RuntimeCore::open_database(Diagnostic& diagnostic) {
  StoreOptions options =
      StoreFactory::options_of(loop_.options.database_path, loop_.options.database);
  options.synchronous_full = loop_.options.synchronous_full;
  options.busy_ms_max = loop_.options.timing.busy_max.count();
  options.cache_pages = loop_.options.space.cache_pages;
  options.checkpoint_pages = loop_.options.space.checkpoint_pages;
  options.checkpoint_after_commit = true;
  options.may_take_reserve = true;
  options.lease_ms =
      std::max(loop_.terms.session_lock_timeout_ms, loop_.terms.worker_lock_timeout_ms);
  options.renew_ms = loop_.terms.renewal_interval_ms();
  PAWL_TRY(place_.take(options, diagnostic));
  PAWL_TRY(loop_.store->open(options, loop_.port, diagnostic));
  if (loop_.port.storage->others_may_write(loop_.options.database_path.c_str())) {
    loop_.log(LogLevel::kWarning, "database_folder_open_to_others",
              {{"database", loop_.options.database_path.c_str()}});
  }
  loop_.store->set_change_sink(&parts_.notices);
  loop_.evidence.share(loop_.store->other_machines());
  return Status::kOk;
}

// Runs the first write transaction of this process: adopts the boot, buries dead workers,
// registers.
Status RuntimeCore::register_self(Diagnostic& diagnostic) {
  Status status = try_to_register(diagnostic);
  for (int rows = 0; rows < kDamagedRowsAtStart && parts_.recovery.quarantine_suspect(status);
       ++rows)
    status = try_to_register(diagnostic);
  // The connection of the node's former worker broke just now. The node is free if it does not come
  // back.
  const OtherMachines* const others = loop_.evidence.other_machines();
  for (int tries = 0; tries < kNodeTriesMax && status == Status::kNodeIdInUse &&
                      others != nullptr && others->is_watching();
       ++tries) {
    static_cast<void>(loop_.port.threads->wait(loop_.boot_ms() + kNodeTryMs));
    status = try_to_register(diagnostic);
  }
  if (status == Status::kFull && !parts_.space.is_short()) {
    parts_.space.disk_is_full();
    status = try_to_register(diagnostic);
  }
  if (status == Status::kOk) parts_.space.registered();
  return status;
}

Status RuntimeCore::try_to_register(Diagnostic& diagnostic) {
  Status status = loop_.transaction().begin(0, &loop_.batch);
  parts_.notices.begin();
  if (status == Status::kOk) {
    status = parts_.this_worker.write();
    if (status == Status::kOk) parts_.space.make_first_reserve();
    if (status == Status::kOk) status = parts_.session_watch.claim_at_start();
    if (status == Status::kOk) status = loop_.transaction().commit();
    if (status != Status::kOk) {
      // Copied before the rollback, which may set a text of its own.
      diagnostic = loop_.store->diagnostic();
      loop_.transaction().rollback();
      parts_.this_worker.rolled_back();
      return status;
    }
    parts_.this_worker.start_slots();
    batch_.registered();
    parts_.notices.committed();
    parts_.clock.committed();
    return Status::kOk;
  }
  diagnostic = loop_.store->diagnostic();
  return status;
}

bool RuntimeCore::ready() const {
  if (stopped_ || loop_.draining || loop_.agenda.wants(Job::kRegister) ||
      loop_.trouble_until.has_value() || parts_.log_watch.lock_is_stuck())
    return false;
  const std::size_t threads = memory_.slots.slots_of(ActivityMode::kThreaded);
  return threads == 0 || loop_.stats.slots_abandoned < threads;
}

OptionalMs RuntimeCore::next_due() const {
  if (batch_.is_in_doubt()) {
    OptionalMs due = batch_.decides_at();
    for (const Job job : {Job::kInline, Job::kLeaseEnd, Job::kSteps})
      due.keep_earlier(loop_.agenda.due(job));
    return due;
  }
  return loop_.agenda.next(Agenda::Which::kAll, holds(loop_.boot_ms()));
}

bool RuntimeCore::is_due(Agenda::Which which, std::int64_t now) const {
  Agenda::Holds held = holds(now);
  held.pace.clear();  // a caller that woke a slowed loop is served at once
  return loop_.agenda.next(which, held).has_passed(now);
}

Agenda::Holds RuntimeCore::holds(std::int64_t now) const {
  Agenda::Holds held;
  held.trouble = loop_.trouble_until;
  held.pace = pace_.until(now);
  if (waits_for_company(now)) held.company = loop_.window_until;
  return held;
}

void RuntimeCore::sleep_until_due(OptionalMs boot_ms_max) {
  OptionalMs due = next_due();
  due.keep_earlier(boot_ms_max);
  batch_.note_reasons(loop_.port.threads->wait(due));
  ++loop_.stats.wakeups;
}

Status RuntimeCore::get_status(std::string_view id, OrchestrationStatus* out) {
  if (stopped_) return Status::kStopped;
  InstanceStatus row;
  const Status status = loop_.instance().directory.get_status(
      id, &row, loop_.status_buffer, status_buffer_bytes(loop_.options.limits.payload_bytes_max));
  if (status != Status::kOk) {
    loop_.diagnostic = loop_.store->diagnostic();
    return status;
  }
  *out = public_status(row);
  return Status::kOk;
}

Status RuntimeCore::stop(std::int64_t grace_ms) {
  if (stopped_) return threads_stuck_ ? Status::kTimeout : Status::kOk;
  passed_.stop();
  loop_.draining = true;
  parts_.session_watch.announce_stop();
  const std::int64_t end = loop_.boot_ms() + grace_ms;
  parts_.this_worker.announce_stop(end);
  batch_.await_decision(end);
  parts_.activities.put_back_sleepers(end);
  // Results that come in time are committed. Activities that never end are left to burial.
  while (loop_.me != 0 && memory_.slots.in_hand() > 0 && loop_.boot_ms() < end) {
    const Result<bool> more = tick(loop_.options.timing.tick_max.count());
    if (!more.ok()) break;
    if (!more.value() && memory_.slots.in_hand() > 0) sleep_until_due(end);
  }
  if (memory_.slots.in_hand() > 0) parts_.activities.put_back_steps();
  const bool idle = memory_.slots.in_hand() == 0;
  const std::int64_t left = end - loop_.boot_ms();
  if (opened_.executor) threads_stuck_ = !loop_.port.threads->executor_stop(left > 0 ? left : 0);
  if (threads_stuck_) log_threads();
  batch_.await_decision(end);
  if (batch_.is_in_doubt()) loop_.log(LogLevel::kError, "stopped_in_doubt");
  if (loop_.me != 0 && idle && !batch_.is_in_doubt()) unregister();
  loop_.process.remove_loop(loop_.port.threads);
  if (!threads_stuck_) parts_.this_worker.close_files();
  parts_.folders.stop();
  memory_.warm.stop();
  loop_.store->close();
  if (opened_.waiter) loop_.port.threads->close();
  place_.leave();
  stopped_ = true;
  if (loop_.options.board != nullptr)
    loop_.options.board->write_life({false, false, loop_.boot_ms(), OptionalMs()});
  return threads_stuck_ ? Status::kTimeout : Status::kOk;
}

// Logs the threads that still run, by the names under which the system lists them.
void RuntimeCore::log_threads() {
  memory_.slots.for_each([this](const internal::Slot& slot) {
    if (slot.mode != ActivityMode::kThreaded || slot.state != internal::Slot::State::kRunning)
      return;
    char thread[32];
    const int size = std::snprintf(thread, sizeof thread, "pawl-work-%u", slot.thread);
    loop_.log(LogLevel::kError, "thread_runs",
              {{"thread", std::string_view(thread, static_cast<std::size_t>(size))},
               {"activity", slot.item.activity_name}});
  });
}

void RuntimeCore::unregister() {
  Status status = loop_.transaction().begin(loop_.me, &loop_.batch);
  if (status == Status::kOk) {
    parts_.notices.begin();
    status = parts_.this_worker.unregister();
    if (status == Status::kOk) status = loop_.transaction().commit();
    if (status != Status::kOk) loop_.transaction().rollback();
  }
  if (status == Status::kOk)
    parts_.notices.committed();
  else
    loop_.log_status(LogLevel::kWarning, "unregister_failed", status);
  parts_.session_watch.lose_all();
}

Status RuntimeCore::piggyback(const Request& request) {
  return stopped_ || loop_.draining ? Status::kStopped : parts_.inbox.piggyback(request);
}

// ---- the tick ----

Result<bool> RuntimeCore::tick(std::int64_t limit_ms) {
  if (stopped_) return Status::kStopped;
  const std::uint64_t done_before = work_done();
  batch_.note_reasons(loop_.port.threads->wait(0));
  passed_.take(parts_.inbox, loop_.store->database_id(), loop_.trouble_until.has_value());
  const std::int64_t start = loop_.boot_ms();
  // The time of the batch does not count: after a slow flush, or behind a slow server, each tick
  // would run one inline activity only, and pay a commit for it.
  std::int64_t end = start + (limit_ms < loop_.options.timing.tick_max.count()
                                  ? limit_ms
                                  : loop_.options.timing.tick_max.count());
  ++loop_.stats.ticks;
  if (loop_.agenda.is_due(Job::kLeaseEnd, start)) parts_.activities.end_lease();
  if (batch_.is_in_doubt()) batch_.decide();
  bool has_batch = false;
  if (batch_.is_in_doubt()) {
    memory_.slots.collect(*loop_.port.threads);
  } else {
    look(start);
    has_batch = is_due(Agenda::Which::kInBatch, start);
    if (has_batch) {
      const std::int64_t begun = loop_.boot_ms();
      batch_.run(end);
      end += loop_.boot_ms() - begun;
    }
  }
  parts_.activities.run_inline(end);
  parts_.activities.run_steps();
  parts_.activities.abandon();
  loop_.stats.activities_started += memory_.slots.start_threaded(*loop_.port.threads);
  if (batch_.is_in_doubt()) return wait_in_doubt();
  // The log is written back only after all effects of the commit have left. If this fails, the next
  // commits report why.
  static_cast<void>(loop_.place().write_back_log());
  parts_.log_watch.look();
  parts_.folders.sweep();
  // The bell of a Client that passed a call was thrown away with that of this worker's own commit.
  if (has_batch)
    passed_.take(parts_.inbox, loop_.store->database_id(), loop_.trouble_until.has_value());
  keep_pace(done_before);
  plan_next_due();
  if (stopped_) return Status::kStopped;
  const std::int64_t now = loop_.boot_ms();
  // The bell of another that rang behind this worker's own was thrown away with that.
  const OtherMachines* const others = loop_.evidence.other_machines();
  if (has_batch && !next_due().has_passed(now) &&
      (others == nullptr || others->may_have_committed()))
    parts_.others.look();
  runs_again_ = next_due().has_passed(now);
  if (loop_.options.board != nullptr) write_board(*loop_.options.board, now);
  return runs_again_;
}

// The storage is not asked for anything, since the rows that the batch wrote may be there or not.
Result<bool> RuntimeCore::wait_in_doubt() {
  parts_.activities.plan(loop_.boot_ms());
  planned_wake_ = next_due();
  if (loop_.port.threads->fd() >= 0) loop_.port.threads->arm(planned_wake_);
  const std::int64_t now = loop_.boot_ms();
  runs_again_ = planned_wake_.has_passed(now);
  if (loop_.options.board != nullptr) write_board(*loop_.options.board, now);
  return stopped_ ? Result<bool>(Status::kStopped) : Result<bool>(runs_again_);
}

// The counters are some KiB. So a loop under load copies them once a second, and a loop that goes
// to sleep leaves its last counters on the board.
void RuntimeCore::write_board(RuntimeBoard& board, std::int64_t now) {
  board.write_life({true, ready(), now, next_due()});
  if (runs_again_ && counters_due_.has_value() && !counters_due_.has_passed(now)) return;
  RuntimeCounters* const out = board.begin_write();
  if (out == nullptr) return;
  counters_due_ = now + kCountersMs;
  out->taken_ms = now;
  out->worker_id = Name(worker_id());
  out->stats = stats();
  out->orchestration_count =
      std::min(loop_.names.orchestration_count(), Registry::kOrchestrationsMax);
  out->orchestrations_left_out = loop_.names.orchestration_count() - out->orchestration_count;
  for (std::size_t i = 0; i < out->orchestration_count; ++i)
    out->orchestrations[i] = loop_.names.orchestrations()[i];
  out->activity_count = loop_.names.activity_count();
  for (std::size_t i = 0; i < out->activity_count; ++i)
    out->activities[i] = loop_.names.activities()[i];
  board.end_write();
}

void RuntimeCore::look(std::int64_t now) {
  loop_.overslept = planned_wake_.has_value() && now - planned_wake_.value() > kLateWakeMs;
  if (loop_.overslept) loop_.agenda.plan(Job::kRenew, now);
  if (parts_.space.looks_for_reserve()) parts_.space.look_for_reserve();
  memory_.slots.collect(*loop_.port.threads);
  loop_.evidence.observe_tick(loop_.place().pawl_now());
  // A lease that was seen expired must be looked at again, or it never becomes evidence.
  if (loop_.evidence.watching()) loop_.agenda.do_now(Job::kFetch);
  plan(now);
  parts_.stored_due.look(now);
  if (loop_.is_in_trouble(now)) return;
  parts_.others.look_if_due(now);
  parts_.others.look_at_machines(now);
  parts_.turns.look(now);
  parts_.clock.look(now);
  // This worker's own jobs, and the effects of its earlier commits, come before commits of others.
  if (!is_due(Agenda::Which::kBeforeNews, now)) parts_.others.look();
}

void RuntimeCore::plan(std::int64_t now) {
  parts_.activities.plan(now);
  parts_.hand_over.plan();
  parts_.space.plan();
}

void RuntimeCore::plan_next_due() {
  parts_.stored_due.plan();
  // Only stored_due.plan() finds a row whose due time is no number.
  if (parts_.recovery.quarantine_suspect(Status::kCorrupt)) loop_.look_for_all();
  loop_.stats.warm_instances = static_cast<std::uint32_t>(memory_.warm.size());
  loop_.stats.warm_bytes_used = memory_.warm.bytes_used();
  loop_.stats.activities_running = static_cast<std::uint32_t>(memory_.slots.in_hand());
  const std::int64_t now = loop_.boot_ms();
  plan(now);
  loop_.agenda.clear(Job::kObserve);
  if (loop_.evidence.watching()) loop_.agenda.plan(Job::kObserve, now + kObserverWakeMs);
  planned_wake_ = next_due();
  if (loop_.port.threads->fd() >= 0) loop_.port.threads->arm(planned_wake_);
  // A job may have been due for days; the loop counts as late only from now on.
  if (planned_wake_.has_passed(now)) planned_wake_ = now;
}

// The loop does not wait for company if it can do nothing else meanwhile: all slots of a kind hold
// results, or a full batch left items over.
bool RuntimeCore::waits_for_company(std::int64_t now) const {
  return now < loop_.window_until && !loop_.draining && !batch_.was_full() &&
         loop_.single_item_batches_left == 0 && !memory_.slots.full_of_results();
}

std::uint64_t RuntimeCore::work_done() const {
  return loop_.work_done + loop_.stats.activities_started + loop_.stats.activities_completed +
         loop_.stats.activities_retried + loop_.stats.activities_handed_back +
         loop_.stats.activities_refused + loop_.stats.instances_removed +
         loop_.stats.executions_removed + loop_.stats.events_removed +
         loop_.stats.rows_quarantined + loop_.stats.session_folders_removed;
}

void RuntimeCore::keep_pace(std::uint64_t done_before) {
  const std::int64_t now = loop_.boot_ms();
  if (!pace_.ran(runs_again_, work_done() != done_before, now)) return;
  const char* const due = loop_.agenda.first_due(now);
  loop_.log(LogLevel::kError, "loop_without_progress", {{"job", due == nullptr ? "none" : due}});
}

}  // namespace pawl
