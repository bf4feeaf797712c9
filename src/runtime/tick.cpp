// One tick: what is due, one write transaction, and what leaves after it.
#include "check.hpp"
#include "hash.hpp"
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
  if (retry_at_ >= 0 && now < retry_at_) return false;
  const bool is_due = next_stored_due_ >= 0 && now >= next_stored_due_;
  if (is_due) look_for_turns_ = look_for_work_ = true;
  if (is_due || must_register_ || bury_now_ || requests_.size() > 0 || slots_.finished() > 0)
    return true;
  if (sessions_changed_) return true;
  if (now >= next_renewal_ || now >= next_cleanup_ || has_progress_to_write(now)) return true;
  if (strangers_due_ >= 0 && now >= strangers_due_) {
    strangers_due_ = -1;
    look_for_turns_ = true;
    return true;
  }
  if (next_sync_look_ >= 0 && now >= next_sync_look_) {
    // Later the next time, whatever comes of it: a batch may have reason not to believe the clock.
    sync_look_ms_ = next_sync_look_ms(sync_look_ms_);
    next_sync_look_ = now + sync_look_ms_;
    if (port_.clock->synced()) return true;
  }
  const Result<std::int64_t> version = provider_->data_version();
  if (!version.ok() || version.value() != data_version_) {
    // Another connection committed: messages or work may be there for us.
    if (version.ok()) data_version_ = version.value();
    look_for_turns_ = true;
    look_for_work_ = true;
    others_committed_ = true;
    look_again(true);
  }
  return look_for_turns_ || wants_work() || sweep_ || retire_ || needs_relief() ||
         (short_of_space_ && now >= next_reserve_try_) ||
         (next_retention_ >= 0 && now >= next_retention_) ||
         (others_committed_ && slots_.in_hand() > 0);
}

Result<bool> RuntimeCore::tick(std::int64_t limit_ms) {
  if (stopped_) return Status::kStopped;
  note_reasons(port_.threads->wait(0));
  const std::int64_t start = port_.clock->boot_ms();
  const std::int64_t end =
      start + (limit_ms < options_.tick_ms_max ? limit_ms : options_.tick_ms_max);
  overslept_ = planned_wake_ > 0 && start - planned_wake_ > kLateWakeMs;
  if (overslept_) next_renewal_ = start;
  ++stats_.ticks;
  if (look_for_reserve_) look_for_reserve();
  slots_.collect(*port_.threads);
  evidence_.observe_tick(provider_->pawl_now());
  // What was seen expired must be looked at again, or it never becomes evidence.
  if (evidence_.watching()) look_for_work_ = true;
  if (next_look_ >= 0 && start >= next_look_) look_again(false);
  due_in_vain_ = false;
  if (anything_to_do(start) && !gathers(start)) run_batch();
  const bool inline_left = run_inline(end);
  run_steps();
  abandon_slots();
  stats_.activities_started += slots_.start_threaded(*port_.threads);
  plan_next_due();
  if (stopped_) return Status::kStopped;
  return inline_left || (next_slot_due_ >= 0 && next_slot_due_ <= port_.clock->boot_ms()) ||
         (retry_at_ < 0 && !gathers(port_.clock->boot_ms()) &&
          (look_for_turns_ || slots_.finished() > 0 || requests_.size() > 0 || must_register_ ||
           sweep_ || retire_ || needs_relief() || wants_work()));
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
    const bool is_late = (slot.deadline_boot_ms >= 0 && slot.deadline_boot_ms <= gathers_until_) ||
                         (slot.silent_boot_ms >= 0 && slot.silent_boot_ms <= gathers_until_);
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
  // After oversleeping leases are renewed before anything else, so this tick takes no turns.
  if (!overslept_ && !must_register_ && (look_for_turns_ || slots_.finished() > 0)) {
    due_in_vain_ = next_stored_due_ >= 0 && port_.clock->boot_ms() >= next_stored_due_;
    status = collect_turns(parts_.turns, batch, &count);
    batch_was_full_ = look_for_turns_;
  }
  if (status == Status::kOk) collect_starts(parts_.turns + count, options_.batch, &count);
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
  notices_.clear();
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
  return look_at_owned();
}

Status RuntimeCore::write_housekeeping() {
  const std::int64_t now = port_.clock->boot_ms();
  buried_.clear();
  if (bury_now_ || now >= next_renewal_) PAWL_TRY(bury_the_dead());
  if (now >= next_renewal_) PAWL_TRY(write_renewals());
  // Before anything is ended for its silence.
  PAWL_TRY(write_progress());
  if (next_stored_due_ >= 0 && now >= next_stored_due_) {
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
    sweep_ = true;  // what others left
    retire_ = has_retention();
    can_relieve_ = true;
  }
  if (next_retention_ >= 0 && now >= next_retention_) retire_ = true;
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
    Status status = Status::kOk;
    if (turn.verdict == Turn::Verdict::kCommit) {
      status = provider_->ack_orchestration_item(turn.commit);
    } else if (turn.verdict == Turn::Verdict::kAbandon) {
      status = provider_->abandon_orchestration_item(turn.key, turn.item->revision, turn.delay_ms,
                                                     false, turn.why, turn.why_text);
    } else {
      continue;
    }
    if (status != Status::kOk && status != Status::kStale) return status;
    turn.written = status == Status::kOk;
    if (!turn.written) {
      ++stats_.turns_refused;
      look_for_turns_ = true;
    }
    PAWL_CHECK("runtime-41", turn.written || !turn.is_start);  // made in this batch
    for (std::size_t at = 0; turn.written && at < turn.result_count; ++at)
      slots_.leave(*turn.results[at]);
    if (turn.written && (turn.commit.work_count > 0 || turn.result_count > 0))
      look_for_work_ = true;
    if (turn.written && turn.wakes_others) look_for_turns_ = true;
  }
  return Status::kOk;
}

// Only now effects leave: warm histories advance, clients hear, traces are emitted.
void RuntimeCore::after_commit(Turn* turns, std::size_t count) {
  retry_at_ = -1;
  retry_step_ = 0;
  if (solo_ticks_ > 0) --solo_ticks_;
  if (must_register_) after_registration();
  settle_removals();
  for (std::size_t i = 0; i < count; ++i)
    settle_turn(turns[i]);
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
  if (now >= next_cleanup_) next_cleanup_ = now + options_.sessions.session_cleanup_interval_ms;
  bury_now_ = false;
  others_committed_ = false;
  sessions_changed_ = false;
  for (std::size_t i = 0; i < count; ++i)
    if (turns[i].written && turns[i].commit.session_count > 0) sessions_changed_ = true;
  for (const Notice& notice : notices_)
    if (notice.kind == SessionChange::Kind::kLost) sessions_changed_ = true;
  tell_evicted();
  tell_capacity();
  tell_owned();
  tell_requests();
  settle_withdrawals();
  tell_notices();
  tell_clock();
  // What our own commit made the watched files say is no news; whoever else committed is seen by the
  // looks that follow.
  note_reasons(port_.threads->drain());
  look_for_reserve_ = false;
  look_again(true);
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
    named->lasted.add(history.event(history.last_id()).time_ms - history.event(1).time_ms);
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
  requests_taken_ = 0;
  ended_cursor_ = EndedCursor();
  if (must_register_) forget_registration();
  if (status == Status::kBuried) return;
  if (status == Status::kBusy) {
    ++stats_.busy_ticks;
    return;
  }
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
  if (count > 1 || turns[0].is_start) {
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

void RuntimeCore::tell_abandoned(const Turn& turn) {
  const bool stopped = turn.delay_ms == Provider::kStoppedForGood;
  OrchestrationStats* const named =
      orchestration_stats(turn.item->name.view(), turn.item->version.view());
  if (stopped && named != nullptr) ++named->stopped;
  const LogField fields[] = {{"instance", turn.item->id.view()},
                             {"kind", error_kind_name(turn.why)},
                             {"text", turn.why_text}};
  log(stopped ? LogLevel::kError : LogLevel::kWarning,
      stopped ? "instance_stopped" : "instance_parked", fields, 3);
}

void RuntimeCore::tell_unknown(const Notice& notice) {
  const bool is_activity = notice.event != 0;
  const LogField fields[] = {
      {"instance", notice.instance},
      {is_activity ? "activity" : "orchestration", notice.session.view()},
      {is_activity ? "tag" : "version", notice.to.view()},
      {is_activity ? "event" : "behaviour",
       is_activity ? static_cast<std::int64_t>(notice.event) : notice.epoch}};
  log(LogLevel::kError, is_activity ? "activity_unregistered" : "orchestration_unregistered",
      fields, 4);
}

void RuntimeCore::tell_notices() {
  stats_.unregistered += unknown_met_;
  unknown_met_ = 0;
  unknown_committed_ = unknown_count_;
  for (const Notice& notice : notices_) {
    if (notice.poison) {
      ++stats_.poisoned;
      const LogField fields[] = {
          {"instance", notice.instance}, {"event", notice.event}, {"text", notice.reason.view()}};
      log(LogLevel::kError, "activity_poisoned", fields, 3);
      continue;
    }
    if (notice.unregistered) {
      tell_unknown(notice);
      continue;
    }
    if (notice.start_refused) {
      const LogField fields[] = {
          {"id", notice.session.view()}, {"instance", notice.instance}, {"event", notice.event}};
      log(LogLevel::kWarning, "start_refused", fields, 3);
      continue;
    }
    tell_session_change(notice);
  }
  notices_.clear();
  if (notices_lost_ == 0) return;
  const LogField fields[] = {{"count", static_cast<std::int64_t>(notices_lost_)}};
  log(LogLevel::kWarning, "notices_lost", fields, 1);
  notices_lost_ = 0;
}

void RuntimeCore::tell_session_change(const Notice& notice) {
  const LogField fields[] = {{"session", notice.session.view()},
                             {"epoch", notice.epoch},
                             {"to", notice.to.view()},
                             {"from", notice.from.view()},
                             {"reason", notice.reason.view()},
                             {"resumed", notice.resumed ? 1 : 0},
                             {"instance", notice.opened_by.view()},
                             {"owner", notice.owner_label.view()},
                             {"kind", notice.label_kind.view()},
                             {"age_ms", notice.age_ms},
                             {"activities", notice.activities}};
  constexpr std::size_t kFields = sizeof fields / sizeof fields[0];
  std::size_t count = kFields - 2;
  const char* event = "session_swept";
  switch (notice.kind) {
    case SessionChange::Kind::kClaimed:
      event = "session_claimed";
      ++stats_.sessions_claimed;
      break;
    case SessionChange::Kind::kMigrated:
      event = "session_migrated";
      ++stats_.sessions_migrated;
      break;
    case SessionChange::Kind::kReleased:
      event = "session_released";
      ++stats_.sessions_released;
      if (notice.reason == "blocked") ++stats_.sessions_evicted;
      if (notice.reason == "capacity") ++stats_.sessions_evicted_idle;
      break;
    case SessionChange::Kind::kLost:
      event = "session_lost";
      ++stats_.sessions_lost;
      break;
    case SessionChange::Kind::kOpened:
      event = "session_created";
      ++stats_.sessions_opened;
      break;
    case SessionChange::Kind::kRefused:
      event = "session_refused";
      ++stats_.sessions_refused;
      break;
    case SessionChange::Kind::kClosed:
      event = "session_closed";
      ++stats_.sessions_closed;
      count = kFields;
      break;
    case SessionChange::Kind::kConflict: event = "session_property_conflict"; break;
    case SessionChange::Kind::kStopFailed: event = "session_stop_failed"; break;
    case SessionChange::Kind::kSwept:
    case SessionChange::Kind::kEnding: break;  // no change of the owner: its instance alone is told
  }
  log(LogLevel::kInfo, event, fields, count);
}

void RuntimeCore::tell_clock() {
  if (batch_.clock_adopted) {
    const LogField fields[] = {{"boot_seq", batch_.boot_seq}};
    log(LogLevel::kInfo, "clock_adopted", fields, 1);
  }
  if (batch_.clock_confirmed) synced_this_boot_ = true;
  if (batch_.clock_credit_ms != 0) {
    const LogField fields[] = {{"credit_ms", batch_.clock_credit_ms}};
    log(LogLevel::kInfo, "clock_credited", fields, 1);
    look_for_turns_ = true;
  }
}

void RuntimeCore::on_session_change(const SessionChange& change) {
  Notice* const notice = notices_.add();
  if (notice == nullptr) {
    ++notices_lost_;
    return;
  }
  notice->kind = change.kind;
  notice->epoch = change.epoch;
  notice->resumed = change.resumed;
  notice->age_ms = change.age_ms;
  notice->activities = change.activities;
  notice->session.assign_cut(change.session);
  notice->opened_by.assign_cut(change.instance);
  notice->owner_label.assign_cut(change.owner_label);
  notice->label_kind.assign_cut(change.label_kind);
  notice->from.assign_cut(change.from);
  notice->to.assign_cut(change.to);
  notice->reason.assign_cut(change.reason);
}

void RuntimeCore::on_unregistered(std::string_view activity, std::string_view tag,
                                  InstanceKey instance, EventId event) {
  Notice* const notice = note_unknown(activity, tag, instance);
  if (notice != nullptr) notice->event = event;
}

// The version of an orchestration is not known to be one of the name's; its behaviour is in `epoch`.
void RuntimeCore::on_stranger(std::string_view name, std::string_view version,
                              std::int64_t behaviour, InstanceKey instance) {
  Notice* const notice = note_unknown(name, version, instance);
  if (notice != nullptr) notice->epoch = behaviour;
}

RuntimeCore::Notice* RuntimeCore::note_unknown(std::string_view name, std::string_view detail,
                                               InstanceKey instance) {
  ++unknown_met_;
  const std::uint64_t hash = Hash64().add(name).add(detail).value();
  for (std::size_t i = 0; i < unknown_count_; ++i)
    if (unknown_names_[i] == hash) return nullptr;
  if (unknown_count_ == kUnknownNamesMax) return nullptr;
  Notice* const notice = notices_.add();
  if (notice == nullptr) return nullptr;
  unknown_names_[unknown_count_++] = hash;
  notice->unregistered = true;
  notice->instance = instance;
  notice->session.assign_cut(name);
  notice->to.assign_cut(detail);
  return notice;
}

void RuntimeCore::on_start_refused(std::string_view id, InstanceKey instance, EventId event) {
  Notice* const notice = notices_.add();
  if (notice == nullptr) {
    ++notices_lost_;
    return;
  }
  notice->start_refused = true;
  notice->instance = instance;
  notice->event = event;
  notice->session.assign_cut(id);
}

void RuntimeCore::on_poison(InstanceKey instance, EventId event, std::string_view why) {
  Notice* const notice = notices_.add();
  if (notice == nullptr) {
    ++notices_lost_;
    return;
  }
  notice->poison = true;
  notice->instance = instance;
  notice->event = event;
  notice->reason.assign_cut(why);
}

bool RuntimeCore::has_handler(std::string_view activity_name) const {
  if (!takes_activities()) return false;
  const Registry::ActivityEntry* const entry = registry_.find_activity(activity_name);
  if (entry == nullptr) return false;
  return slots_.slots_of(entry->mode) > 0;
}

bool RuntimeCore::has_room(std::string_view activity_name) const {
  const Registry::ActivityEntry* const entry = registry_.find_activity(activity_name);
  return entry != nullptr && slots_.room(entry->mode);
}

bool RuntimeCore::runs_item(WorkItemId id) const { return slots_.find(id) != nullptr; }

bool RuntimeCore::runs_session(InstanceKey scope, std::string_view name) const {
  return slots_.holds_session(scope, name);
}

bool RuntimeCore::may_run_with(std::int32_t crashes) const {
  std::size_t crashed = 0;
  std::int32_t highest = 0;
  slots_.crashed_in_hand(&crashed, &highest);
  if (crashed > 0 && highest >= options_.crashes_max - 1) return false;
  if (crashes >= options_.crashes_max - 1) return slots_.in_hand() == slots_.finished();
  return crashes == 0 || crashed == 0;
}

}  // namespace pawl
