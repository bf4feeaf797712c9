// One tick: what is due, one write transaction, and what leaves after it.
#include "check.hpp"
#include "runtime_core.hpp"
#include "session_options.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kLateWakeMs = 2'000;  // a later wake-up than planned: renew first
constexpr std::int64_t kRetryFirstMs = 100;  // a store in trouble: 100 ms, doubling
constexpr int kRetryStepsMax = 6;
constexpr std::size_t kWakeDelayedMax = 64;  // bounded a tick
constexpr std::size_t kSweepMax = 256;

}  // namespace

// What time and others have brought since the last tick. Not while the store is in trouble.
void RuntimeCore::look(std::int64_t now) {
  if (is_in_trouble(now)) return;
  if (loop_.agenda.is_due(Job::kLook, now)) look_again(false);
  if (loop_.agenda.is_due(Job::kStoredDue, now)) loop_.look_for_all();
  if (loop_.agenda.is_due(Job::kYoungUnregistered, now)) {
    loop_.agenda.clear(Job::kYoungUnregistered);
    loop_.agenda.do_now(Job::kTurns);
  }
  if (loop_.agenda.is_due(Job::kLookAtClock, now)) look_at_clock(now);
  // What this worker has in hand comes first; so do the effects of what it committed before.
  if (!is_due(Agenda::Which::kBeforeNews, now)) note_others();
}

// Later the next time, whatever comes of it: a batch may have reason not to believe the clock.
void RuntimeCore::look_at_clock(std::int64_t now) {
  sync_look_ms_ = next_sync_look_ms(sync_look_ms_);
  loop_.agenda.plan(Job::kLookAtClock, now + sync_look_ms_);
  if (loop_.port.clock->synced()) loop_.agenda.do_now(Job::kConfirmClock);
}

// Another connection committed: messages or work may be there for us.
void RuntimeCore::note_others() {
  const Result<std::int64_t> version = loop_.provider->data_version();
  if (version.ok() && version.value() == data_version_) return;
  if (version.ok()) data_version_ = version.value();
  loop_.look_for_all();
  if (slots_.in_hand() > 0) loop_.agenda.do_now(Job::kCheckHeld);
  look_again(true);
}

Result<bool> RuntimeCore::tick(std::int64_t limit_ms) {
  if (stopped_) return Status::kStopped;
  const std::uint64_t done_before = work_done();
  note_reasons(loop_.port.threads->wait(0));
  const std::int64_t start = loop_.boot_ms();
  const std::int64_t end =
      start + (limit_ms < loop_.options.tick_ms_max ? limit_ms : loop_.options.tick_ms_max);
  loop_.overslept = planned_wake_.has_value() && start - planned_wake_.value() > kLateWakeMs;
  if (loop_.overslept) loop_.agenda.plan(Job::kRenew, start);
  ++loop_.stats.ticks;
  if (look_for_reserve_) look_for_reserve();
  slots_.collect(*loop_.port.threads);
  loop_.evidence.observe_tick(loop_.provider->pawl_now());
  // What was seen expired must be looked at again, or it never becomes evidence.
  if (loop_.evidence.watching()) loop_.agenda.do_now(Job::kFetch);
  due_in_vain_ = false;
  plan_slots(start);
  plan_relief();
  look(start);
  if (is_due(Agenda::Which::kInBatch, start)) run_batch();
  loop_.agenda.set(Job::kInline, run_inline(end));
  run_steps();
  abandon_slots();
  loop_.stats.activities_started += slots_.start_threaded(*loop_.port.threads);
  // When all that the commit said has left. If it fails, the next commits will say why.
  static_cast<void>(loop_.provider->write_back_log());
  watch_log();
  sweep_folders();
  keep_pace(done_before);
  plan_next_due();
  if (stopped_) return Status::kStopped;
  runs_again_ = next_due().has_passed(loop_.boot_ms());
  return runs_again_;
}

void RuntimeCore::run_batch() {
  if (short_of_space_) cut_log();
  plan_relief();
  if (loop_.agenda.wants(Job::kRelief)) relieve();
  loop_.arena.rewind(Arena::Mark());
  loop_.agenda.clear(Job::kConfirmClock);  // the batch decides
  wants_quiet_ = false;
  std::size_t count = 0;
  const std::size_t batch = loop_.single_item_batches_left > 0 ? 1 : loop_.options.batch;
  Status status = Status::kOk;
  batch_was_full_ = false;
  slots_were_full_ = slots_.full_of_results();
  look_for_mail();
  // After oversleeping leases are renewed before anything else, so this tick takes no turns.
  if (!loop_.overslept && !loop_.agenda.wants(Job::kRegister) &&
      (loop_.agenda.wants(Job::kTurns) || slots_.finished() > 0)) {
    due_in_vain_ = loop_.agenda.is_due(Job::kStoredDue, loop_.boot_ms());
    status = collect_turns(parts_.turns, batch, &count);
    batch_was_full_ = loop_.agenda.wants(Job::kTurns);
  }
  if (status == Status::kOk) collect_starts(parts_.turns + count, loop_.options.batch, &count);
  if (status == Status::kOk) collect_mail(parts_.turns, &count);
  if (count > 0) due_in_vain_ = false;
  if (status == Status::kOk) run_turns(parts_.turns, count);
  if (status == Status::kOk) status = commit_tick(parts_.turns, count);
  if (status != Status::kOk) after_rollback(status, parts_.turns, count);
  warm_.unpin_all();
  warm_.restore_reserve();
}

Status RuntimeCore::commit_tick(Turn* turns, std::size_t count) {
  const Status begun = loop_.provider->begin(loop_.me, &loop_.batch);
  if (begun == Status::kBuried) {
    drop_everything_held();
    return begun;
  }
  if (begun != Status::kOk) return begun;
  note_begun();
  begin_telling();
  unknown_met_ = 0;
  unknown_count_ = unknown_committed_;
  removals_ = Removals();
  Status status = write_batch(turns, count);
  Epoch epoch = 0;
  if (status == Status::kOk) status = loop_.provider->last_epoch(&epoch);
  if (status == Status::kOk) status = loop_.provider->commit();
  if (status != Status::kOk) {
    loop_.provider->rollback();
    return status;
  }
  epoch_seen_ = epoch;
  look_at_log_ = true;
  if (loop_.provider->last_commit_wrote()) {
    ++loop_.stats.commits;
    loop_.window_until = loop_.boot_ms() + loop_.options.commit_window_ms;
  }
  // Also what this very commit told an instance: that a session is closed, or changed its owner.
  if (loop_.provider->last_commit_sent()) loop_.agenda.do_now(Job::kTurns);
  after_commit(turns, count);
  return Status::kOk;
}

Status RuntimeCore::write_batch(Turn* turns, std::size_t count) {
  loop_.now = loop_.batch.now;
  // They may have scheduled work that comes first.
  if (loop_.batch.data_version != data_version_) loop_.agenda.do_now(Job::kFetch);
  Epoch epoch = 0;
  PAWL_TRY(loop_.provider->last_epoch(&epoch));
  others_claimed_ = epoch != epoch_seen_;
  if (loop_.agenda.wants(Job::kRegister)) return register_in_batch();
  PAWL_TRY(write_housekeeping());
  PAWL_TRY(write_requests(turns, count));
  PAWL_TRY(write_strangers());
  PAWL_TRY(write_turns(turns, count));
  PAWL_TRY(write_results(turns, count));
  PAWL_TRY(move_sessions());
  PAWL_TRY(fetch_work());
  PAWL_TRY(count_sessions());
  return look_at_owned();
}

Status RuntimeCore::write_housekeeping() {
  const std::int64_t now = loop_.boot_ms();
  buried_.clear();
  if (loop_.agenda.wants(Job::kBury) || loop_.agenda.is_due(Job::kRenew, now))
    PAWL_TRY(bury_the_dead());
  if (loop_.agenda.is_due(Job::kRenew, now)) PAWL_TRY(write_renewals());
  // Before anything is ended for its silence.
  PAWL_TRY(write_progress());
  if (loop_.agenda.is_due(Job::kStoredDue, now)) {
    std::size_t woken = 0;
    PAWL_TRY(loop_.provider->wake_delayed(kWakeDelayedMax, &woken));
    if (woken > 0) {
      loop_.look_for_all();
      due_in_vain_ = false;
    }
  }
  PAWL_TRY(tell_lost_slots());
  if (loop_.agenda.is_due(Job::kCleanUp, now)) {
    std::size_t removed = 0;
    PAWL_TRY(loop_.provider->cleanup_orphaned_sessions(loop_.evidence, kSweepMax, &removed));
    PAWL_TRY(loop_.provider->tell_leaks(loop_.options.sessions, &leaks_));
    loop_.agenda.do_now(Job::kSweep);  // what others left
    if (has_retention()) loop_.agenda.do_now(Job::kRetention);
    can_relieve_ = true;
  }
  return write_removals();
}

Status RuntimeCore::write_strangers() {
  Strangers met = strangers_;
  const ReadyQuery query = ready_query();
  for (std::size_t i = 0; i < met.count; ++i)
    PAWL_TRY(loop_.provider->set_aside(met.keys[i], query));
  return Status::kOk;
}

Status RuntimeCore::write_turns(Turn* turns, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Turn& turn = turns[i];
    const std::int64_t made_ready = loop_.provider->made_ready();
    Status status = Status::kOk;
    if (turn.verdict == Turn::Verdict::kCommit) {
      for (std::size_t at = 0; at < turn.result_count; ++at)
        slots_.leave(*turn.results[at]);
      hand_over_at_once(turn);
      status = loop_.provider->ack_orchestration_item(turn.commit);
    } else if (turn.verdict == Turn::Verdict::kAbandon) {
      status =
          turn.item->broken == Status::kOk
              ? loop_.provider->abandon_orchestration_item(
                    turn.key, turn.item->revision, turn.delay_ms, false, turn.why, turn.why_text)
              : loop_.provider->stop_broken(turn.key, turn.why_text);
    } else {
      continue;
    }
    if (status != Status::kOk && status != Status::kStale) return status;
    turn.written = status == Status::kOk;
    settle_hand_over(turn);
    if (!turn.written) {
      ++loop_.stats.turns_refused;
      loop_.agenda.do_now(Job::kTurns);
      PAWL_TRY(store_mail(turn));
      PAWL_TRY(refuse_lost_results(turn));
    }
    PAWL_CHECK("runtime-41", turn.written || !turn.is_start);  // made in this batch
    // What was passed over for want of room may go now, and what stood behind in a session.
    if (turn.written &&
        ((turn.result_count > 0 && passed_over_) || made_ready != loop_.provider->made_ready()))
      loop_.agenda.do_now(Job::kFetch);
    if (turn.written && turn.wakes_others) loop_.agenda.do_now(Job::kTurns);
  }
  return Status::kOk;
}

// A result that is not this worker's to give any more would make its turn stale for ever.
Status RuntimeCore::refuse_lost_results(const Turn& turn) {
  for (std::size_t i = 0; i < turn.result_count; ++i) {
    const Status checked = loop_.provider->check_work_item(turn.results[i]->done());
    if (checked == Status::kStale) {
      turn.results[i]->lose();
    } else {
      PAWL_TRY(checked);
    }
  }
  return Status::kOk;
}

// Only now effects leave: warm histories advance, clients hear, traces are emitted.
void RuntimeCore::after_commit(Turn* turns, std::size_t count) {
  retry_at_.clear();
  retry_step_ = 0;
  quarantined_.reset();
  if (loop_.single_item_batches_left > 0) --loop_.single_item_batches_left;
  if (loop_.agenda.wants(Job::kRegister)) after_registration();
  settle_removals();
  for (std::size_t i = 0; i < count; ++i)
    settle_turn(turns[i]);
  make_folders();
  release_results();
  const std::int64_t now = loop_.boot_ms();
  if (loop_.agenda.is_due(Job::kRenew, now)) {
    loop_.look_for_all();
    renew_slot_leases();
  }
  // Whoever owns a session is watched, however young: its death is told at once.
  if (!buried_.empty() || others_claimed_ || loop_.agenda.is_due(Job::kRenew, now)) watch_workers();
  if (loop_.agenda.is_due(Job::kRenew, now)) look_for_reserve();
  if (loop_.agenda.is_due(Job::kRenew, now))
    loop_.agenda.plan(Job::kRenew, now + renewal_interval_ms(loop_.options.sessions));
  if (loop_.agenda.is_due(Job::kCleanUp, now)) {
    loop_.agenda.plan(Job::kCleanUp, now + loop_.options.sessions.session_cleanup_interval_ms);
    plan_folders(0);
  }
  loop_.agenda.clear(Job::kBury);
  loop_.agenda.clear(Job::kCheckHeld);
  for (std::size_t i = 0; i < count; ++i)
    if (turns[i].written && turns[i].commit.session_count > 0) loop_.agenda.do_now(Job::kCheckHeld);
  for (const Notice& notice : notices_)
    if (notice.kind == SessionChange::Kind::kLost || notice.kind == SessionChange::Kind::kExpired)
      loop_.agenda.do_now(Job::kCheckHeld);
  note_ended_sessions();
  tell_evicted();
  tell_capacity();
  loop_.stats.sessions_active = sessions_active_;
  loop_.stats.sessions_idle = sessions_idle_;
  tell_owned();
  answer_requests();
  settle_withdrawals();
  tell_notices();
  tell_clock();
  // What our own commit made the watched files say is no news; whoever else committed is seen by the
  // looks that follow.
  note_reasons(loop_.port.threads->drain());
  look_for_reserve_ = false;
  if (loop_.provider->last_commit_wrote()) look_again(true);
  const bool has_quota = loop_.batch.quota_bytes > 0;
  if (short_of_space_ || loop_.batch.quota_bytes != use_.quota_bytes ||
      (has_quota && loop_.provider->last_commit_wrote()))
    settle_space();
}

void RuntimeCore::settle_turn(Turn& turn) {
  Warm* const warm = turn.warm;
  if (turn.verdict == Turn::Verdict::kAbandon && turn.written) tell_abandoned(turn);
  if (warm == nullptr) return;
  if (turn.is_start && turn.written) warm_.rename(*warm, turn.key);
  if (turn.verdict != Turn::Verdict::kCommit || !turn.written) {
    warm_.drop(*warm);  // whoever was first changed it; read again
    return;
  }
  for (std::size_t i = 0; i < turn.result_count; ++i)
    release_result(*turn.results[i]);
  for (std::size_t i = 0; i < turn.trace_count; ++i) {
    const LogField fields[] = {{"instance", turn.item->id.view()},
                               {"execution", turn.item->execution},
                               {"text", turn.traces[i].text}};
    loop_.log(turn.traces[i].level, "trace", fields, 3);
  }
  count_turn(turn);
  if (turn.commit.last_new >= turn.commit.first_new || turn.commit.message_count > 0 ||
      turn.result_count > 0)
    ++news_;
  for (std::size_t i = 0; i < turn.commit.closed_count; ++i)
    cancel_slots_of(turn.key, turn.item->execution, turn.commit.closed[i]);
  if (turn.commit.end != EndKind::kNone) cancel_slots_of(turn.key, turn.item->execution, 0);
  warm->revision = turn.item->revision + 1;
  if (turn.commit.end == EndKind::kNone) {
    if (turn.commit.more) loop_.agenda.do_now(Job::kTurns);
  } else if (turn.commit.end == EndKind::kContinuedAsNew) {
    loop_.agenda.do_now(Job::kTurns);
    // What the next execution finds is read from its rows, once.
    if (warm->history.has_state()) return warm_.drop(*warm);
    warm->history.clear();
    warm->execution = turn.item->execution + 1;
  } else {
    warm_.drop(*warm);
    plan_retention();
  }
}

// Counts a committed turn, and tells of a failed end.
void RuntimeCore::count_turn(const Turn& turn) {
  OrchestrationStats* const named = orchestration_stats(
      turn.item->name.view(),
      turn.commit.version.empty() ? turn.item->version.view() : turn.commit.version);
  if (named != nullptr) {
    ++named->turns;
    if (turn.commit.first_new == 1) ++named->started;
  }
  if (turn.commit.end == EndKind::kNone) return;
  const History& history = turn.warm->history;
  if (named != nullptr && history.last_id() == turn.commit.last_new) {  // not if it was terminated
    named->lasted.add(
        subtract_saturating(history.event(history.last_id()).time_ms, history.event(1).time_ms));
  }
  if (turn.commit.end == EndKind::kContinuedAsNew) {
    ++loop_.stats.continued_as_new;
    if (named != nullptr) ++named->continued_as_new;
  } else if (turn.commit.end == EndKind::kCompleted) {
    ++loop_.stats.orchestrations_completed;
    if (named != nullptr) ++named->completed;
  } else {
    ++loop_.stats.orchestrations_failed;
    if (named != nullptr) ++named->failed;
    const LogField fields[] = {{"instance", turn.item->id.view()},
                               {"kind", error_kind_name(turn.why)},
                               {"text", turn.why_text}};
    loop_.log(LogLevel::kWarning, "orchestration_failed", fields, 3);
  }
}

// Nothing was written: histories go back, results stay in their slots, hand-overs are forgotten.
void RuntimeCore::after_rollback(Status status, Turn* turns, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (turns[i].warm != nullptr) warm_.drop(*turns[i].warm);
  slots_.for_each([&](internal::Slot& slot) {
    if (slot.fetched_now) {
      slot.fetched_now = false;
      slots_.release(slot);
    }
    slot.stored = false;
    slot.leaving = false;
    slot.forget_written_progress();
  });
  loop_.look_for_all();
  loop_.agenda.set(Job::kWakeUnregistered, loop_.takes_activities());
  requests_taken_ = 0;
  ended_cursor_ = EndedCursor();
  leaks_ = LeakCursors();
  if (loop_.agenda.wants(Job::kRegister)) forget_registration();
  if (status == Status::kBuried) return;
  if (status == Status::kBusy) {
    ++loop_.stats.busy_ticks;
    note_busy();
    return;
  }
  if (quarantine_culprit(status)) return;
  ++loop_.stats.failed_ticks;
  loop_.log_status(LogLevel::kError, "tick_rolled_back", status);
  if (status == Status::kFull || status == Status::kIo || status == Status::kReadOnly ||
      count == 0) {
    // The store itself is in trouble: leave it alone for a while.
    retry_at_ = loop_.boot_ms() + (kRetryFirstMs << retry_step_);
    if (retry_step_ < kRetryStepsMax) ++retry_step_;
    if (status != Status::kFull) return;
    loop_.single_item_batches_left = loop_.options.batch;  // less of it may fit
    disk_is_full();
    return;
  }
  if (count > 1 || turns[0].is_start || turns[0].mail_count > 0) {
    loop_.single_item_batches_left =
        count;  // SQLite took the whole batch back: now one item a transaction
    return;
  }
  abandon_alone(turns[0], status);
}

// An item that fails alone is left alone for a while, so that the others go on.
void RuntimeCore::abandon_alone(const Turn& turn, Status why) {
  Status status = loop_.provider->begin(loop_.me, &loop_.batch);
  if (status == Status::kOk) {
    status = loop_.provider->abandon_orchestration_item(
        turn.key, turn.item->revision, 1'000, true,
        why == Status::kCorrupt ? ErrorKind::kCorrupt : ErrorKind::kLimit, status_name(why));
    if (status == Status::kOk || status == Status::kStale) status = loop_.provider->commit();
    if (status != Status::kOk) loop_.provider->rollback();
  }
  if (status != Status::kOk) {
    retry_at_ = loop_.boot_ms() + (kRetryFirstMs << retry_step_);
    if (retry_step_ < kRetryStepsMax) ++retry_step_;
  }
}

}  // namespace pawl
