// One tick: what is due, one write transaction, and what leaves after it.
#include "check.hpp"
#include "runtime_core.hpp"
#include "session_options.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kLateWakeMs = 2'000;  // a later wake-up than planned: renew first
constexpr std::size_t kWakeDelayedMax = 64;  // bounded a tick

}  // namespace

// What time and others have brought since the last tick. Not while the store is in trouble.
void RuntimeCore::look(std::int64_t now) {
  if (loop_.is_in_trouble(now)) return;
  if (loop_.agenda.is_due(Job::kLook, now)) look_again(false);
  if (loop_.agenda.is_due(Job::kStoredDue, now)) loop_.look_for_all();
  if (loop_.agenda.is_due(Job::kYoungUnregistered, now)) {
    loop_.agenda.clear(Job::kYoungUnregistered);
    loop_.agenda.do_now(Job::kTurns);
  }
  clock_.look(now);
  // What this worker has in hand comes first; so do the effects of what it committed before.
  if (!is_due(Agenda::Which::kBeforeNews, now)) note_others();
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
  if (space_.looks_for_reserve()) space_.look_for_reserve();
  slots_.collect(*loop_.port.threads);
  loop_.evidence.observe_tick(loop_.provider->pawl_now());
  // What was seen expired must be looked at again, or it never becomes evidence.
  if (loop_.evidence.watching()) loop_.agenda.do_now(Job::kFetch);
  due_in_vain_ = false;
  activities_.plan(start);
  hand_over_.plan();
  space_.plan();
  look(start);
  if (is_due(Agenda::Which::kInBatch, start)) run_batch();
  activities_.run_inline(end);
  activities_.run_steps();
  activities_.abandon();
  loop_.stats.activities_started += slots_.start_threaded(*loop_.port.threads);
  // When all that the commit said has left. If it fails, the next commits will say why.
  static_cast<void>(loop_.provider->write_back_log());
  log_watch_.look();
  folders_.sweep();
  keep_pace(done_before);
  plan_next_due();
  if (stopped_) return Status::kStopped;
  runs_again_ = next_due().has_passed(loop_.boot_ms());
  return runs_again_;
}

void RuntimeCore::run_batch() {
  space_.prepare();
  loop_.arena.rewind(Arena::Mark());
  loop_.agenda.clear(Job::kConfirmClock);  // the batch decides
  loop_.wants_quiet = false;
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
    activities_.lose_all();
    registration_.was_buried();
    owned_.lose_all();
    return begun;
  }
  if (begun != Status::kOk) return begun;
  log_watch_.begun();
  notices_.begin();
  removals_.begin();
  Status status = write_batch(turns, count);
  if (status == Status::kOk) status = owned_.end();
  if (status == Status::kOk) status = loop_.provider->commit();
  if (status != Status::kOk) {
    loop_.provider->rollback();
    return status;
  }
  log_watch_.committed();
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
  PAWL_TRY(owned_.begin());
  if (loop_.agenda.wants(Job::kRegister)) return registration_.write();
  PAWL_TRY(write_housekeeping());
  PAWL_TRY(write_requests(turns, count));
  PAWL_TRY(write_strangers());
  PAWL_TRY(write_turns(turns, count));
  PAWL_TRY(activities_.write_results(turns, count));
  PAWL_TRY(activities_.evict_hung());
  PAWL_TRY(devices_.move_sessions());
  PAWL_TRY(hand_over_.write());
  return owned_.write();
}

Status RuntimeCore::write_housekeeping() {
  const std::int64_t now = loop_.boot_ms();
  registration_.begin();
  if (loop_.agenda.wants(Job::kBury) || loop_.agenda.is_due(Job::kRenew, now))
    PAWL_TRY(registration_.bury_the_dead());
  if (loop_.agenda.is_due(Job::kRenew, now)) PAWL_TRY(activities_.renew());
  // Before anything is ended for its silence.
  PAWL_TRY(activities_.write_progress());
  if (loop_.agenda.is_due(Job::kStoredDue, now)) {
    std::size_t woken = 0;
    PAWL_TRY(loop_.provider->wake_delayed(kWakeDelayedMax, &woken));
    if (woken > 0) {
      loop_.look_for_all();
      due_in_vain_ = false;
    }
  }
  PAWL_TRY(activities_.check_held());
  return removals_.write();
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
      hand_over_.hand_over_at_once(turn);
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
    hand_over_.settle(turn);
    if (!turn.written) {
      ++loop_.stats.turns_refused;
      loop_.agenda.do_now(Job::kTurns);
      PAWL_TRY(store_mail(turn));
      PAWL_TRY(activities_.refuse_lost_results(turn));
    }
    PAWL_CHECK("runtime-41", turn.written || !turn.is_start);  // made in this batch
    // What was passed over for want of room may go now, and what stood behind in a session.
    if (turn.written && ((turn.result_count > 0 && hand_over_.passed_over()) ||
                         made_ready != loop_.provider->made_ready()))
      loop_.agenda.do_now(Job::kFetch);
    if (turn.written && turn.wakes_others) loop_.agenda.do_now(Job::kTurns);
  }
  return Status::kOk;
}

// Only now effects leave: warm histories advance, clients hear, traces are emitted.
void RuntimeCore::after_commit(Turn* turns, std::size_t count) {
  recovery_.committed();
  if (loop_.single_item_batches_left > 0) --loop_.single_item_batches_left;
  if (loop_.agenda.wants(Job::kRegister)) registered();
  removals_.committed();
  if (removals_.has_begun_request()) requests_.at(requests_taken_).begun = true;
  for (std::size_t i = 0; i < count; ++i)
    settle_turn(turns[i]);
  folders_.committed();
  activities_.committed();
  const std::int64_t now = loop_.boot_ms();
  if (loop_.agenda.is_due(Job::kRenew, now)) {
    loop_.look_for_all();
    activities_.renew_leases();
  }
  // Whoever owns a session is watched, however young: its death is told at once.
  if (registration_.has_buried() || owned_.others_claimed() ||
      loop_.agenda.is_due(Job::kRenew, now))
    registration_.watch_workers();
  if (loop_.agenda.is_due(Job::kRenew, now)) space_.look_for_reserve();
  if (loop_.agenda.is_due(Job::kRenew, now))
    loop_.agenda.plan(Job::kRenew, now + renewal_interval_ms(loop_.options.sessions));
  removals_.clean_up_committed();
  loop_.agenda.clear(Job::kBury);
  loop_.agenda.clear(Job::kCheckHeld);
  for (std::size_t i = 0; i < count; ++i)
    if (turns[i].written && turns[i].commit.session_count > 0) loop_.agenda.do_now(Job::kCheckHeld);
  if (notices_.has_lost_sessions()) loop_.agenda.do_now(Job::kCheckHeld);
  // Others' endings show in the epochs. What shows nowhere is found with the cleanup.
  if (owned_.others_claimed() || notices_.has_ended_sessions())
    folders_.plan(Folders::kFolderLookDelayMs);
  activities_.log_evicted();
  hand_over_.committed();
  owned_.committed();
  owned_.notify();
  answer_requests();
  devices_.committed();
  notices_.committed();
  clock_.committed();
  // What our own commit made the watched files say is no news; whoever else committed is seen by the
  // looks that follow.
  note_reasons(loop_.port.threads->drain());
  space_.look_for_reserve_no_more();
  if (loop_.provider->last_commit_wrote()) look_again(true);
  space_.committed();
}

void RuntimeCore::settle_turn(Turn& turn) {
  Warm* const warm = turn.warm;
  if (turn.verdict == Turn::Verdict::kAbandon && turn.written) log_abandoned(turn);
  if (warm == nullptr) return;
  if (turn.is_start && turn.written) warm_.rename(*warm, turn.key);
  if (turn.verdict != Turn::Verdict::kCommit || !turn.written) {
    warm_.drop(*warm);  // whoever was first changed it; read again
    return;
  }
  activities_.turn_committed(turn);
  for (std::size_t i = 0; i < turn.trace_count; ++i) {
    const LogField fields[] = {{"instance", turn.item->id.view()},
                               {"execution", turn.item->execution},
                               {"text", turn.traces[i].text}};
    loop_.log(turn.traces[i].level, "trace", fields, 3);
  }
  count_turn(turn);
  if (turn.commit.last_new >= turn.commit.first_new || turn.commit.message_count > 0 ||
      turn.result_count > 0)
    ++loop_.work_done;
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
    removals_.instance_ended();
  }
}

// Counts a committed turn, and tells of a failed end.
void RuntimeCore::count_turn(const Turn& turn) {
  OrchestrationStats* const named =
      loop_.stats_of(turn.item->name.view(),
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

// It was parked, or it stopped.
void RuntimeCore::log_abandoned(const Turn& turn) {
  const bool stopped = turn.delay_ms == Provider::kStoppedForGood;
  OrchestrationStats* const named =
      loop_.stats_of(turn.item->name.view(), turn.item->version.view());
  if (stopped && named != nullptr) ++named->stopped;
  const LogField fields[] = {{"instance", turn.item->id.view()},
                             {"kind", error_kind_name(turn.why)},
                             {"text", turn.why_text}};
  loop_.log(stopped ? LogLevel::kError : LogLevel::kWarning,
            stopped ? "instance_stopped" : "instance_parked", fields, 3);
}

// Nothing was written: histories go back, results stay in their slots, hand-overs are forgotten.
void RuntimeCore::after_rollback(Status status, Turn* turns, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (turns[i].warm != nullptr) warm_.drop(*turns[i].warm);
  activities_.rolled_back();
  loop_.look_for_all();
  loop_.agenda.set(Job::kWakeUnregistered, loop_.takes_activities());
  requests_taken_ = 0;
  removals_.rolled_back();
  if (loop_.agenda.wants(Job::kRegister)) registration_.rolled_back();
  if (status == Status::kBuried) return;
  if (status == Status::kBusy) {
    ++loop_.stats.busy_ticks;
    log_watch_.busy();
    return;
  }
  if (recovery_.quarantine_culprit(status)) return;
  ++loop_.stats.failed_ticks;
  loop_.log_status(LogLevel::kError, "tick_rolled_back", status);
  if (status == Status::kFull || status == Status::kIo || status == Status::kReadOnly ||
      count == 0) {
    recovery_.leave_store_alone();
    if (status != Status::kFull) return;
    loop_.single_item_batches_left = loop_.options.batch;  // less of it may fit
    space_.disk_is_full();
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
    recovery_.leave_store_alone();
  }
}

}  // namespace pawl
