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

bool RuntimeCore::anything_to_do(std::int64_t now) {
  if (retry_at_.has_value() && !retry_at_.has_passed(now)) return false;
  const bool is_due = next_stored_due_.has_passed(now);
  if (is_due) look_for_turns_ = look_for_work_ = true;
  if (is_due || must_register_ || bury_now_ || requests_.size() > 0 || slots_.finished() > 0)
    return true;
  if (sessions_changed_) return true;
  if (now >= next_renewal_ || now >= next_cleanup_ || has_progress_to_write(now)) return true;
  if (strangers_due_.has_passed(now)) {
    strangers_due_.clear();
    look_for_turns_ = true;
    return true;
  }
  if (next_sync_look_.has_passed(now)) {
    // Later the next time, whatever comes of it: a batch may have reason not to believe the clock.
    sync_look_ms_ = next_sync_look_ms(sync_look_ms_);
    next_sync_look_ = now + sync_look_ms_;
    if (port_.clock->synced()) return true;
  }
  note_others();
  return look_for_turns_ || wants_work() || sweep_ || retire_ || needs_relief() ||
         (short_of_space_ && next_reserve_try_.has_passed(now)) ||
         next_retention_.has_passed(now) || (others_committed_ && slots_.in_hand() > 0);
}

// Another connection committed: messages or work may be there for us.
void RuntimeCore::note_others() {
  const Result<std::int64_t> version = provider_->data_version();
  if (version.ok() && version.value() == data_version_) return;
  if (version.ok()) data_version_ = version.value();
  look_for_turns_ = true;
  look_for_work_ = true;
  others_committed_ = true;
  look_again(true);
}

Result<bool> RuntimeCore::tick(std::int64_t limit_ms) {
  if (stopped_) return Status::kStopped;
  const std::uint64_t done_before = work_done();
  note_reasons(port_.threads->wait(0));
  const std::int64_t start = port_.clock->boot_ms();
  const std::int64_t end =
      start + (limit_ms < options_.tick_ms_max ? limit_ms : options_.tick_ms_max);
  overslept_ = planned_wake_.has_value() && start - planned_wake_.value() > kLateWakeMs;
  if (overslept_) next_renewal_ = start;
  ++stats_.ticks;
  if (look_for_reserve_) look_for_reserve();
  slots_.collect(*port_.threads);
  evidence_.observe_tick(provider_->pawl_now());
  // What was seen expired must be looked at again, or it never becomes evidence.
  if (evidence_.watching()) look_for_work_ = true;
  if (next_look_.has_passed(start)) look_again(false);
  due_in_vain_ = false;
  if (anything_to_do(start) && !gathers(start)) run_batch();
  const bool inline_left = run_inline(end);
  run_steps();
  abandon_slots();
  stats_.activities_started += slots_.start_threaded(*port_.threads);
  // When all that the commit said has left. If it fails, the next commits will say why.
  static_cast<void>(provider_->write_back_log());
  watch_log();
  sweep_folders();
  keep_pace(done_before);
  plan_next_due();
  if (stopped_) return Status::kStopped;
  const bool more = inline_left || has_more(port_.clock->boot_ms());
  runs_again_ = more || planned_wake_.has_passed(port_.clock->boot_ms());
  return more;
}

bool RuntimeCore::has_more(std::int64_t now) const {
  if (folders_.listing || next_slot_due_.has_passed(now)) return true;
  if (retry_at_.has_value() || gathers(now)) return false;
  if (slots_.finished() > 0 || requests_.size() > 0 || must_register_) return true;
  return !pace_.until(now).has_value() &&
         (look_for_turns_ || sweep_ || retire_ || needs_relief() || wants_work());
}

bool RuntimeCore::gathers(std::int64_t now) const {
  if (now >= gathers_until_ || now >= next_renewal_ || now >= next_cleanup_ ||
      has_progress_to_write(now))
    return false;
  if (must_register_ || bury_now_ || draining_ || batch_was_full_ || solo_ticks_ > 0 ||
      slots_were_full_ || requests_.size() > 0)
    return false;
  bool can_wait = !slots_.full_of_results();
  slots_.for_each([&](const internal::Slot& slot) {
    if (slot.state != internal::Slot::State::kFinished) return;
    // A result that is there must not be refused for a limit that passes while it waits.
    const bool is_late = slot.deadline_boot_ms.has_passed(gathers_until_) ||
                         slot.silent_boot_ms.has_passed(gathers_until_);
    if (!slot.refused && (slot.hurries || is_late)) can_wait = false;
  });
  return can_wait;
}

void RuntimeCore::run_batch() {
  if (short_of_space_) cut_log();
  if (needs_relief()) relieve();
  tick_arena_.rewind(Arena::Mark());
  wants_quiet_ = false;
  std::size_t count = 0;
  const std::size_t batch = solo_ticks_ > 0 ? 1 : options_.batch;
  Status status = Status::kOk;
  batch_was_full_ = false;
  slots_were_full_ = slots_.full_of_results();
  look_for_mail();
  // After oversleeping leases are renewed before anything else, so this tick takes no turns.
  if (!overslept_ && !must_register_ && (look_for_turns_ || slots_.finished() > 0)) {
    due_in_vain_ = next_stored_due_.has_passed(port_.clock->boot_ms());
    status = collect_turns(parts_.turns, batch, &count);
    batch_was_full_ = look_for_turns_;
  }
  if (status == Status::kOk) collect_starts(parts_.turns + count, options_.batch, &count);
  if (status == Status::kOk) collect_mail(parts_.turns, &count);
  if (count > 0) due_in_vain_ = false;
  if (status == Status::kOk) run_turns(parts_.turns, count);
  if (status == Status::kOk) status = commit_tick(parts_.turns, count);
  if (status != Status::kOk) after_rollback(status, parts_.turns, count);
  warm_.unpin_all();
  warm_.restore_reserve();
}

Status RuntimeCore::commit_tick(Turn* turns, std::size_t count) {
  const Status begun = provider_->begin(me_, &batch_);
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
  if (status == Status::kOk) status = provider_->last_epoch(&epoch);
  if (status == Status::kOk) status = provider_->commit();
  if (status != Status::kOk) {
    provider_->rollback();
    return status;
  }
  epoch_seen_ = epoch;
  look_at_log_ = true;
  if (provider_->last_commit_wrote()) {
    ++stats_.commits;
    gathers_until_ = port_.clock->boot_ms() + options_.commit_window_ms;
  }
  // Also what this very commit told an instance: that a session is closed, or changed its owner.
  if (provider_->last_commit_sent()) look_for_turns_ = true;
  after_commit(turns, count);
  return Status::kOk;
}

Status RuntimeCore::write_batch(Turn* turns, std::size_t count) {
  now_ = batch_.now;
  // They may have scheduled work that comes first.
  if (batch_.data_version != data_version_) look_for_work_ = true;
  Epoch epoch = 0;
  PAWL_TRY(provider_->last_epoch(&epoch));
  others_claimed_ = epoch != epoch_seen_;
  if (must_register_) return register_in_batch();
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
  const std::int64_t now = port_.clock->boot_ms();
  buried_.clear();
  if (bury_now_ || now >= next_renewal_) PAWL_TRY(bury_the_dead());
  if (now >= next_renewal_) PAWL_TRY(write_renewals());
  // Before anything is ended for its silence.
  PAWL_TRY(write_progress());
  if (next_stored_due_.has_passed(now)) {
    std::size_t woken = 0;
    PAWL_TRY(provider_->wake_delayed(kWakeDelayedMax, &woken));
    if (woken > 0) {
      look_for_work_ = look_for_turns_ = true;
      due_in_vain_ = false;
    }
  }
  PAWL_TRY(tell_lost_slots());
  if (now >= next_cleanup_) {
    std::size_t removed = 0;
    PAWL_TRY(provider_->cleanup_orphaned_sessions(evidence_, kSweepMax, &removed));
    PAWL_TRY(provider_->tell_leaks(options_.sessions, &leaks_));
    sweep_ = true;  // what others left
    retire_ = has_retention();
    can_relieve_ = true;
  }
  if (next_retention_.has_passed(now)) retire_ = true;
  return write_removals();
}

Status RuntimeCore::write_strangers() {
  Strangers met = strangers_;
  const ReadyQuery query = ready_query();
  for (std::size_t i = 0; i < met.count; ++i)
    PAWL_TRY(provider_->set_aside(met.keys[i], query));
  return Status::kOk;
}

Status RuntimeCore::write_turns(Turn* turns, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Turn& turn = turns[i];
    const std::int64_t made_ready = provider_->made_ready();
    Status status = Status::kOk;
    if (turn.verdict == Turn::Verdict::kCommit) {
      for (std::size_t at = 0; at < turn.result_count; ++at)
        slots_.leave(*turn.results[at]);
      hand_over_at_once(turn);
      status = provider_->ack_orchestration_item(turn.commit);
    } else if (turn.verdict == Turn::Verdict::kAbandon) {
      status = turn.item->broken == Status::kOk ? provider_->abandon_orchestration_item(
                                                      turn.key, turn.item->revision, turn.delay_ms,
                                                      false, turn.why, turn.why_text)
                                                : provider_->stop_broken(turn.key, turn.why_text);
    } else {
      continue;
    }
    if (status != Status::kOk && status != Status::kStale) return status;
    turn.written = status == Status::kOk;
    settle_hand_over(turn);
    if (!turn.written) {
      ++stats_.turns_refused;
      look_for_turns_ = true;
      PAWL_TRY(store_mail(turn));
      PAWL_TRY(refuse_lost_results(turn));
    }
    PAWL_CHECK("runtime-41", turn.written || !turn.is_start);  // made in this batch
    // What was passed over for want of room may go now, and what stood behind in a session.
    if (turn.written &&
        ((turn.result_count > 0 && passed_over_) || made_ready != provider_->made_ready()))
      look_for_work_ = true;
    if (turn.written && turn.wakes_others) look_for_turns_ = true;
  }
  return Status::kOk;
}

// A result that is not this worker's to give any more would make its turn stale for ever.
Status RuntimeCore::refuse_lost_results(const Turn& turn) {
  for (std::size_t i = 0; i < turn.result_count; ++i) {
    const Status checked = provider_->check_work_item(turn.results[i]->done());
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
  if (solo_ticks_ > 0) --solo_ticks_;
  if (must_register_) after_registration();
  settle_removals();
  for (std::size_t i = 0; i < count; ++i)
    settle_turn(turns[i]);
  make_folders();
  release_results();
  const std::int64_t now = port_.clock->boot_ms();
  if (now >= next_renewal_) {
    look_for_turns_ = look_for_work_ = true;
    renew_slot_leases();
  }
  // Whoever owns a session is watched, however young: its death is told at once.
  if (!buried_.empty() || others_claimed_ || now >= next_renewal_) watch_workers();
  if (now >= next_renewal_) look_for_reserve();
  if (now >= next_renewal_) next_renewal_ = now + renewal_interval_ms(options_.sessions);
  if (now >= next_cleanup_) {
    next_cleanup_ = now + options_.sessions.session_cleanup_interval_ms;
    plan_folders(0);
  }
  bury_now_ = false;
  others_committed_ = false;
  sessions_changed_ = false;
  for (std::size_t i = 0; i < count; ++i)
    if (turns[i].written && turns[i].commit.session_count > 0) sessions_changed_ = true;
  for (const Notice& notice : notices_)
    if (notice.kind == SessionChange::Kind::kLost || notice.kind == SessionChange::Kind::kExpired)
      sessions_changed_ = true;
  note_ended_sessions();
  tell_evicted();
  tell_capacity();
  stats_.sessions_active = sessions_active_;
  stats_.sessions_idle = sessions_idle_;
  tell_owned();
  tell_requests();
  settle_withdrawals();
  tell_notices();
  tell_clock();
  // What our own commit made the watched files say is no news; whoever else committed is seen by the
  // looks that follow.
  note_reasons(port_.threads->drain());
  look_for_reserve_ = false;
  if (provider_->last_commit_wrote()) look_again(true);
  const bool has_quota = batch_.quota_bytes > 0;
  if (short_of_space_ || batch_.quota_bytes != use_.quota_bytes ||
      (has_quota && provider_->last_commit_wrote()))
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
    log(turn.traces[i].level, "trace", fields, 3);
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
    if (turn.commit.more) look_for_turns_ = true;
  } else if (turn.commit.end == EndKind::kContinuedAsNew) {
    look_for_turns_ = true;
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
    ++stats_.continued_as_new;
    if (named != nullptr) ++named->continued_as_new;
  } else if (turn.commit.end == EndKind::kCompleted) {
    ++stats_.orchestrations_completed;
    if (named != nullptr) ++named->completed;
  } else {
    ++stats_.orchestrations_failed;
    if (named != nullptr) ++named->failed;
    const LogField fields[] = {{"instance", turn.item->id.view()},
                               {"kind", error_kind_name(turn.why)},
                               {"text", turn.why_text}};
    log(LogLevel::kWarning, "orchestration_failed", fields, 3);
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
  look_for_turns_ = look_for_work_ = true;
  wakes_unregistered_ = takes_activities();
  requests_taken_ = 0;
  ended_cursor_ = EndedCursor();
  leaks_ = LeakCursors();
  if (must_register_) forget_registration();
  if (status == Status::kBuried) return;
  if (status == Status::kBusy) {
    ++stats_.busy_ticks;
    note_busy();
    return;
  }
  if (quarantine_culprit(status)) return;
  ++stats_.failed_ticks;
  log_status(LogLevel::kError, "tick_rolled_back", status);
  if (status == Status::kFull || status == Status::kIo || status == Status::kReadOnly ||
      count == 0) {
    // The store itself is in trouble: leave it alone for a while.
    retry_at_ = port_.clock->boot_ms() + (kRetryFirstMs << retry_step_);
    if (retry_step_ < kRetryStepsMax) ++retry_step_;
    if (status != Status::kFull) return;
    solo_ticks_ = options_.batch;  // less of it may fit
    disk_is_full();
    return;
  }
  if (count > 1 || turns[0].is_start || turns[0].mail_count > 0) {
    solo_ticks_ = count;  // SQLite took the whole batch back: now one item a transaction
    return;
  }
  abandon_alone(turns[0], status);
}

// An item that fails alone is left alone for a while, so that the others go on.
void RuntimeCore::abandon_alone(const Turn& turn, Status why) {
  Status status = provider_->begin(me_, &batch_);
  if (status == Status::kOk) {
    status = provider_->abandon_orchestration_item(
        turn.key, turn.item->revision, 1'000, true,
        why == Status::kCorrupt ? ErrorKind::kCorrupt : ErrorKind::kLimit, status_name(why));
    if (status == Status::kOk || status == Status::kStale) status = provider_->commit();
    if (status != Status::kOk) provider_->rollback();
  }
  if (status != Status::kOk) {
    retry_at_ = port_.clock->boot_ms() + (kRetryFirstMs << retry_step_);
    if (retry_step_ < kRetryStepsMax) ++retry_step_;
  }
}

}  // namespace pawl
