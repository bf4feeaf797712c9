#include "runtime/this_worker.hpp"

#include <algorithm>
#include <new>

#include "core/check.hpp"
#include "runtime/options_check.hpp"
#include "runtime/runtime_limits.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl {
namespace {

constexpr std::size_t kRetryStoppedMax = 1'024;

}  // namespace

void ThisWorker::start_slots() {
  shared_.clock = loop_.port.clock;
  shared_.threads = loop_.port.threads;
  shared_.heartbeat_interval_ms = loop_.options.timing.heartbeat_interval.count();
  shared_.log = loop_.options.log;
  shared_.payload_bytes_max = loop_.options.limits.payload_bytes_max;
  slots_.start(shared_);
}

Status ThisWorker::write() {
  // Threads of so many earlier registrations never came back that this process is of no use as a
  // worker.
  if (retired_files_.full() && slots_.running_threads() > 0) return Status::kBusy;
  loop_.evidence.observe_tick(loop_.batch.now);
  std::string_view names[Registry::kActivitiesMax];
  std::size_t count = 0;
  for (std::size_t i = 0; i < loop_.registry.activity_count(); ++i)
    if (hand_over_.has_handler(loop_.registry.activity(i).name))
      names[count++] = loop_.registry.activity(i).name;
  Incarnation former = 0;
  NewWorker worker;
  if (loop_.options.worker_node_id.has_value()) worker.node = loop_.options.worker_node_id->view();
  worker.pid = loop_.port.threads->process_id();
  worker.start_time = loop_.port.threads->process_start_time(worker.pid);
  worker.lease_ms = loop_.terms.worker_lock_timeout_ms;
  worker.sessions_max = loop_.options.sessions.max_sessions_per_worker;
  if (loop_.options.run_orchestrations) worker.mailbox = mailbox_limits(loop_.options);
  worker.handlers = names;
  worker.handler_count = count;
  worker.tags = loop_.options.worker_tag_filter;
  worker.former = &former;
  // A registration that this process gave up need not be buried. Its own activities have not
  // crashed.
  if (file_.incarnation != 0)
    PAWL_TRY(loop_.worker().bury_worker(file_.incarnation, 0, nullptr, 0, loop_.crash_limits()));
  PAWL_TRY(loop_.worker().register_worker(worker, loop_.evidence, loop_.crash_limits(), &loop_.me));
  // The worker's file is locked before another process can see the row.
  const Result<port::Storage::WorkerFile> file = loop_.port.storage->worker_create(
      loop_.options.database_path.c_str(), loop_.me, sizeof(WorkerPage));
  if (!file.ok()) return file.status();
  new_file_ = {loop_.me, file.value()};
  buried_.clear();
  PAWL_TRY(devices_.declare_again());
  if (former != 0) PAWL_TRY(bury(former, loop_.batch.boot_seq, loop_.me));
  PAWL_TRY(bury_the_dead());
  std::optional<std::int64_t> quota_bytes;
  if (loop_.options.space.quota_bytes > 0) quota_bytes = loop_.options.space.quota_bytes;
  PAWL_TRY(loop_.place().set_quota_and_reserve(quota_bytes, reserve_bytes(loop_.options)));
  PAWL_TRY(loop_.place().set_log_max(loop_.options.space.log_bytes_max));
  const RetentionOptions& retention = loop_.options.retention;
  PAWL_TRY(loop_.place().set_key_window(retention.message_keys, retention.message_key_age.count()));
  std::size_t retried = 0;
  if (loop_.options.run_orchestrations)
    PAWL_TRY(loop_.instance().ready.retry_stopped(kRetryStoppedMax, &retried));
  return session_watch_.count();
}

void ThisWorker::committed() {
  // An activity of the former incarnation may still write its note into the former page.
  if (slots_.running_threads() == 0) close_retired_files();
  if (file_.incarnation != 0) {
    const Status kept = retired_files_.push_back(file_);
    PAWL_CHECK("runtime-52", kept == Status::kOk);  // write() checked for room
  }
  file_ = new_file_;
  new_file_ = {};
  auto* const page = ::new (file_.file.notes) WorkerPage();
  notes_ = &page->notes;
  notes_->magic = NotesPage::kMagic;
  shared_.progress.store(&page->progress, std::memory_order_release);
  slots_.set_notes(notes_);
  loop_.agenda.clear(Job::kRegister);
  loop_.agenda.set(Job::kWakeUnregistered, loop_.takes_activities());
  set_worker_id();
  loop_.log(LogLevel::kInfo, "worker_registered",
            {{"worker", worker_id_.view()}, {"incarnation", loop_.me}});
  // Until the first renewal its sessions are free when its own lease is over.
  const bool is_shared = loop_.evidence.other_machines() != nullptr;
  slots_.begin_session_leases(loop_.place().own_lease_end(
      is_shared ? std::min(loop_.terms.session_lock_timeout_ms, loop_.terms.worker_lock_timeout_ms)
                : loop_.terms.session_lock_timeout_ms));
  loop_.agenda.plan(Job::kRenew, loop_.boot_ms() + loop_.terms.renewal_interval_ms());
  // A machine may have gone before this one came, so that no commit shows it.
  if (loop_.evidence.other_machines() != nullptr) loop_.agenda.do_now(Job::kMachines);
}

void ThisWorker::rolled_back() {
  if (new_file_.incarnation != 0)
    loop_.port.storage->worker_close(loop_.options.database_path.c_str(), new_file_.incarnation,
                                     new_file_.file);
  new_file_ = {};
  buried_.clear();
  loop_.me = 0;
}

Status ThisWorker::bury(Incarnation dead, std::int64_t boot_seq, Incarnation heir) {
  CrashNote notes[kNoteEntries];
  std::size_t count = 0;
  if (boot_seq == loop_.batch.boot_seq) {
    alignas(NotesPage) unsigned char bytes[sizeof(NotesPage)];
    const std::size_t read = loop_.port.storage->worker_notes(loop_.options.database_path.c_str(),
                                                              dead, 0, bytes, sizeof bytes);
    count = read_notes(bytes, read, notes, kNoteEntries);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (notes[i].instance == CrashNote::kNotStored) loop_.batch.persist_starts_first = true;
  PAWL_TRY(loop_.worker().bury_worker(dead, heir, notes, count, loop_.crash_limits()));
  loop_.look_for_all();
  if (buried_.full()) return Status::kOk;  // its file stays; a later start removes it
  return buried_.push_back(dead);
}

Status ThisWorker::bury_the_dead() {
  std::size_t count = 0;
  PAWL_TRY(loop_.worker().list_workers(memory_.workers, memory_.workers_max, &count));
  const std::int64_t patience = 2 * loop_.terms.worker_lock_timeout_ms;
  const bool is_shared = loop_.evidence.other_machines() != nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const WorkerRow& worker = memory_.workers[i];
    if (worker.incarnation == loop_.me) continue;
    Claim claim;
    claim.holder = worker.incarnation;
    claim.lock_visible = worker.lock_visible;
    claim.locked_until = worker.locked_until;
    claim.boot_seq = worker.boot_seq;
    claim.is_exclusive = true;
    if (is_shared) claim.locked_until = std::max(worker.locked_until, worker.sessions_until);
    claim.subject = subtract_saturating(0, worker.incarnation);
    claim.version = worker.incarnation;
    const Gone gone = loop_.evidence.gone(claim, loop_.me, loop_.batch.now, loop_.batch.boot_seq);
    if (gone == Gone::kProof ||
        (gone == Gone::kSuspicion &&
         subtract_saturating(loop_.batch.now, worker.locked_until) >= patience))
      PAWL_TRY(bury(worker.incarnation, worker.boot_seq, 0));
    if (gone != Gone::kNo || !is_shared) continue;
    claim.is_exclusive = false;
    if (loop_.evidence.gone(claim, loop_.me, loop_.batch.now, loop_.batch.boot_seq) != Gone::kProof)
      continue;
    PAWL_TRY(loop_.worker().free_soft_of(worker.incarnation, loop_.crash_limits()));
    loop_.look_for_all();
  }
  return Status::kOk;
}

void ThisWorker::watch_workers() {
  for (const Incarnation incarnation : buried_)
    loop_.port.storage->worker_remove(loop_.options.database_path.c_str(), incarnation);
  buried_.clear();
  std::size_t count = 0;
  if (loop_.worker().list_workers(memory_.workers, memory_.workers_max, &count) != Status::kOk)
    return;
  const std::int64_t self = loop_.port.threads->process_id();
  for (std::size_t i = 0; i < count; ++i) {
    const WorkerRow& worker = memory_.workers[i];
    if (worker.pid == self || worker.boot_seq != loop_.batch.boot_seq) continue;
    const Status watched = loop_.port.threads->watch_process(worker.pid, worker.start_time);
    if (watched != Status::kOk && watched != Status::kUnsupported &&
        watched != Status::kAlreadyExists && watched != Status::kResourceExhausted)
      loop_.log_status(LogLevel::kWarning, "watch_process_failed", watched);
  }
}

void ThisWorker::was_buried() {
  loop_.log_status(LogLevel::kError, "worker_was_buried", Status::kBuried);
  loop_.me = 0;
  loop_.agenda.do_now(Job::kRegister);
}

void ThisWorker::close_retired_files() {
  for (const HeldFile& held : retired_files_)
    loop_.port.storage->worker_close(loop_.options.database_path.c_str(), held.incarnation,
                                     held.file);
  retired_files_.clear();
}

void ThisWorker::close_files() {
  close_retired_files();
  if (file_.incarnation != 0)
    loop_.port.storage->worker_close(loop_.options.database_path.c_str(), file_.incarnation,
                                     file_.file);
  file_ = {};
}

void ThisWorker::set_worker_id() {
  worker_id_.clear();
  if (loop_.options.worker_node_id.has_value()) {
    worker_id_.assign_cut(loop_.options.worker_node_id->view());
  } else {
    const bool fits =
        worker_id_.append("~") == Status::kOk && worker_id_.append_number(loop_.me) == Status::kOk;
    PAWL_CHECK("runtime-50", fits);
  }
  shared_.worker_id = worker_id_.view();
}

}  // namespace pawl
