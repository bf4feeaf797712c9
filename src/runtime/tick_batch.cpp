#include "runtime/tick_batch.hpp"

#include <algorithm>

#include "core/clock_rules.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kServerBusyPauseMs = 10;

// How often the loop looks whether a server that owes an answer is silent for too long.
constexpr std::int64_t kSilenceLookMs = 1'000;

}  // namespace

void TickBatch::run(std::int64_t end_boot_ms) {
  end_ms_ = end_boot_ms;
  parts_.space.prepare();
  loop_.arena.rewind(Arena::Mark());
  loop_.agenda.clear(Job::kConfirmClock);  // the batch itself decides
  loop_.wants_quiet = false;
  parts_.turns.begin();
  Status status = prepare();
  if (status == Status::kOk) {
    parts_.turns.run();
    status = write_and_commit();
  }
  settle(status);
}

void TickBatch::settle(Status status) {
  in_doubt_ = status == Status::kInDoubt;
  if (is_deciding()) return;
  if (in_doubt_) {
    loop_.log_status(LogLevel::kWarning, "batch_in_doubt", status);
    return parts_.recovery.leave_store_alone();
  }
  if (status != Status::kOk) rolled_back(status);
  memory_.warm.unpin_all();
  memory_.warm.restore_reserve();
}

bool TickBatch::is_deciding() const { return in_doubt_ && loop_.store->outcome_comes(); }

OptionalMs TickBatch::decides_at() const {
  if (!is_deciding()) return loop_.trouble_until;
  return add_saturating(loop_.boot_ms(), kSilenceLookMs);
}

void TickBatch::await_decision(std::int64_t end_boot_ms) {
  while (is_deciding() && loop_.boot_ms() < end_boot_ms) {
    OptionalMs until = decides_at();
    until.keep_earlier(end_boot_ms);
    note_reasons(loop_.port.threads->wait(until));
    decide();
  }
}

void TickBatch::decide() {
  if (loop_.is_in_trouble(loop_.boot_ms())) return;
  Status status = loop_.transaction().find_outcome();
  if (status == Status::kOk) finish_commit();
  settle(status);
}

// Reads all that the turns need, in one view; nothing is locked meanwhile.
Status TickBatch::prepare() {
  turns_were_full_ = false;
  slots_were_full_ = memory_.slots.full_of_results();
  // After oversleeping, leases are renewed before anything else, so this tick takes no turns.
  const bool takes_turns = !loop_.overslept && !loop_.agenda.wants(Job::kRegister) &&
                           (loop_.agenda.wants(Job::kTurns) || memory_.slots.finished() > 0);
  loop_.store->plan_read();
  const Status status = read_turns(takes_turns);
  loop_.store->end_planned_read();
  return status;
}

Status TickBatch::read_turns(bool takes_turns) {
  parts_.inbox.look();
  if (takes_turns) {
    parts_.stored_due.begin();
    PAWL_TRY(parts_.turns.collect());
    turns_were_full_ = loop_.agenda.wants(Job::kTurns);
  }
  parts_.inbox.collect_starts(parts_.turns.list());
  parts_.inbox.collect_messages(parts_.turns.list());
  if (parts_.turns.list().size() > 0) parts_.stored_due.found_work();
  return Status::kOk;
}

// Says what the batch will read for each call and each turn, so that the answers come with the
// lock.
void TickBatch::read_ahead() {
  if (!loop_.store->reads_ahead()) return;
  parts_.inbox.read_ahead();
  for (const Turn& turn : parts_.turns.list())
    if (turn.verdict == Turn::Verdict::kCommit) loop_.instance().turns.read_ahead(turn.commit);
}

// Commits of others, of which the batch knows only now, void what was known of rows.
void TickBatch::read_rows_ahead() {
  if (!loop_.store->reads_ahead()) return;
  for (const Turn& turn : parts_.turns.list())
    if (turn.verdict == Turn::Verdict::kCommit && !turn.is_start)
      loop_.instance().turns.read_row_ahead(turn.commit, turn.item->known);
}

Status TickBatch::write_and_commit() {
  begun_ms_ = loop_.boot_ms();
  read_ahead();
  const Status begun = loop_.transaction().begin(loop_.me, &loop_.batch);
  if (begun == Status::kBuried) {
    parts_.activities.lose_all();
    parts_.this_worker.was_buried();
    parts_.session_watch.lose_all();
  }
  if (begun != Status::kOk) return begun;
  read_rows_ahead();
  parts_.log_watch.begun();
  parts_.notices.begin();
  parts_.removals.begin();
  Status status = write();
  if (status == Status::kOk) status = parts_.session_watch.end();
  written_ms_ = loop_.boot_ms();
  if (status == Status::kOk) status = loop_.transaction().commit(commit_most_ms());
  if (status == Status::kInDoubt) return status;
  if (status != Status::kOk) {
    loop_.transaction().rollback();
    return status;
  }
  finish_commit();
  return Status::kOk;
}

OptionalMs TickBatch::commit_most_ms() const {
  if (loop_.port.threads->fd() < 0) return OptionalMs();
  return std::max<std::int64_t>(end_ms_ - written_ms_, 0);
}

void TickBatch::finish_commit() {
  if (loop_.transaction().last_commit_wrote()) {
    const std::int64_t now = loop_.boot_ms();
    ++loop_.stats.commits;
    loop_.stats.written.add(now - begun_ms_);
    loop_.stats.flushed.add(now - written_ms_);
    loop_.window_until = now + loop_.options.timing.commit_window.count();
  }
  // This commit itself may have sent an instance a message: a session was closed, or changed its
  // owner.
  if (loop_.transaction().last_commit_sent()) loop_.agenda.do_now(Job::kTurns);
  committed();
}

Status TickBatch::write() {
  loop_.now = loop_.batch.now;
  parts_.others.begin();
  PAWL_TRY(parts_.session_watch.begin());
  if (loop_.agenda.wants(Job::kRegister)) return parts_.this_worker.write();
  PAWL_TRY(write_due());
  PAWL_TRY(parts_.inbox.write(parts_.turns.list()));
  PAWL_TRY(parts_.turns.write_unregistered());
  PAWL_TRY(parts_.turns.write());
  PAWL_TRY(parts_.activities.write_results(parts_.turns.list()));
  PAWL_TRY(parts_.activities.evict_hung());
  PAWL_TRY(parts_.devices.move_sessions());
  PAWL_TRY(parts_.hand_over.write());
  return parts_.session_watch.write();
}

// Writes the jobs that come with time, and those that other processes left.
Status TickBatch::write_due() {
  const bool renews = loop_.agenda.is_due(Job::kRenew, loop_.boot_ms());
  parts_.this_worker.begin();
  if (renews || loop_.agenda.wants(Job::kBury)) PAWL_TRY(parts_.this_worker.bury_the_dead());
  if (renews) PAWL_TRY(parts_.activities.renew());
  // Progress is written before any activity is ended for its silence.
  PAWL_TRY(parts_.activities.write_progress());
  PAWL_TRY(parts_.stored_due.write());
  PAWL_TRY(parts_.activities.check_held());
  return parts_.removals.write();
}

// Lets effects leave, only now: warm histories advance, callers get their answers, traces are
// emitted.
void TickBatch::committed() {
  parts_.log_watch.committed();
  parts_.recovery.committed();
  if (loop_.single_item_batches_left > 0) --loop_.single_item_batches_left;
  if (loop_.agenda.wants(Job::kRegister)) registered();
  parts_.removals.committed();
  parts_.inbox.committed();
  parts_.turns.committed();
  parts_.folders.committed();
  parts_.hand_over.audit();
  parts_.activities.committed();
  renewal_committed();
  parts_.removals.clean_up_committed();
  plan_checks();
  parts_.activities.log_evicted();
  parts_.hand_over.committed();
  parts_.session_watch.committed();
  parts_.session_watch.notify();
  parts_.inbox.answer();
  parts_.devices.committed();
  parts_.notices.committed();
  parts_.clock.committed();
  // Takes off the notifications that this worker's own commit caused, which are no news. The looks
  // that follow see commits of others.
  note_reasons(loop_.port.threads->drain());
  parts_.space.look_for_reserve_no_more();
  if (loop_.transaction().last_commit_wrote()) parts_.others.look_soon();
  parts_.space.committed();
}

void TickBatch::renewal_committed() {
  const std::int64_t now = loop_.boot_ms();
  const bool renewed = loop_.agenda.is_due(Job::kRenew, now);
  if (renewed) {
    // The look is planned work, however often leases are renewed; the pace is for looks that are
    // not.
    ++loop_.work_done;
    loop_.look_for_all();
    if (loop_.evidence.other_machines() != nullptr) loop_.agenda.do_now(Job::kMachines);
    parts_.activities.renew_leases();
  }
  // A worker that owns a session is watched, however young it is, so that its death is noticed at
  // once.
  if (renewed || parts_.this_worker.has_buried() || parts_.session_watch.others_claimed())
    parts_.this_worker.watch_workers();
  if (!renewed) return;
  parts_.notices.look_at_unregistered();
  parts_.space.look_for_reserve();
  loop_.agenda.plan(Job::kRenew, now + loop_.terms.renewal_interval_ms());
}

void TickBatch::plan_checks() {
  loop_.agenda.clear(Job::kBury);
  loop_.agenda.set(Job::kCheckHeld,
                   parts_.turns.has_changed_sessions() || parts_.notices.has_lost_sessions());
  // Sessions that others ended show in the epochs. The regular clean-up finds the folders of the
  // rest.
  if (parts_.session_watch.others_claimed() || parts_.notices.has_ended_sessions())
    parts_.folders.plan(SessionFolders::kFolderLookDelayMs);
}

void TickBatch::registered() {
  parts_.this_worker.committed();
  parts_.removals.registered();
  parts_.this_worker.watch_workers();
}

void TickBatch::note_reasons(const port::WakeReasons& reasons) {
  if (reasons.process) loop_.agenda.do_now(Job::kBury);
  if (reasons.descriptor) parts_.activities.look_at_descriptors();
  if (reasons.clock) parts_.clock.stepped();
  if (reasons.bell) parts_.space.look_for_reserve_soon();
  if (reasons.bell || reasons.log) parts_.others.look_soon();
}

// Nothing was written: histories go back, results stay in their slots, hand-overs are forgotten.
void TickBatch::rolled_back(Status status) {
  parts_.turns.rolled_back();
  parts_.activities.rolled_back();
  parts_.inbox.rolled_back();
  parts_.removals.rolled_back();
  if (loop_.agenda.wants(Job::kRegister)) parts_.this_worker.rolled_back();
  loop_.look_for_all();
  loop_.agenda.set(Job::kWakeUnregistered, loop_.takes_activities());
  if (status == Status::kBuried) return;
  if (status == Status::kBusy) {
    ++loop_.stats.busy_ticks;
    parts_.log_watch.busy();
    // A server may say at once that other machines have to answer first.
    if (loop_.options.database != nullptr)
      loop_.trouble_until = loop_.boot_ms() + kServerBusyPauseMs;
    return;
  }
  if (parts_.recovery.quarantine_suspect(status)) return;
  recover(status);
}

void TickBatch::recover(Status status) {
  ++loop_.stats.failed_ticks;
  loop_.log_status(LogLevel::kError, "tick_rolled_back", status);
  TurnList& turns = parts_.turns.list();
  if (status == Status::kFull || status == Status::kIo || status == Status::kReadOnly ||
      turns.size() == 0) {
    parts_.recovery.leave_store_alone();
    if (status != Status::kFull) return;
    loop_.single_item_batches_left = loop_.options.limits.batch;  // a smaller batch may fit
    parts_.space.disk_is_full();
    return;
  }
  if (turns.size() > 1 || turns[0].is_start || turns[0].posted.count > 0) {
    // SQLite rolled the whole batch back: now one item a transaction.
    loop_.single_item_batches_left = turns.size();
    return;
  }
  if (parts_.turns.set_back_failed_item(status) != Status::kOk) parts_.recovery.leave_store_alone();
}

}  // namespace pawl
