#include "runtime/activities.hpp"

#include "runtime/outside.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl {
namespace {

// Fills the fields that name an activity in the log lines of its start and end.
std::size_t put_fields(const internal::Slot& slot, LogField* fields) {
  std::size_t count = 0;
  fields[count++] = {"instance", slot.item.instance_id};
  fields[count++] = {"activity", slot.item.activity_name};
  fields[count++] = {"event", slot.item.event};
  fields[count++] = {"attempt", slot.item.attempt};
  if (slot.item.session != 0) fields[count++] = {"session", slot.item.session_info.name};
  return count;
}

}  // namespace

void Activities::plan(std::int64_t now) {
  Agenda& agenda = loop_.agenda;
  OptionalMs steps;
  OptionalMs lease_end;
  OptionalMs progress;
  bool has_results = false;
  bool has_pressing = false;
  loop_.stats.slots_abandoned = 0;
  slots_.for_each([&](const internal::Slot& slot) {
    if (slot.loss.abandoned) ++loop_.stats.slots_abandoned;
    progress.keep_earlier(slot.progress_due());
    if (slot.item.session_info.ends_with_lease && !slot.refused)
      lease_end = slots_.session_lease_end();
    if (slot.state == internal::Slot::State::kFinished) {
      has_results = true;
      has_pressing = has_pressing || is_pressing(slot);
    }
    if (!slot.loss.abandoned && slot.loss.since_boot_ms.has_value() && slot.is_under_way())
      steps.keep_earlier(slot.loss.since_boot_ms.value() +
                         loop_.options.timing.activity_grace.count());
    if (may_step(slot) && (slot.state == internal::Slot::State::kReady ||
                           slot.state == internal::Slot::State::kWaiting))
      steps.keep_earlier(slot.step_is_due(now) ? now : slot.steps.due_boot_ms);
  });
  agenda.plan(Job::kSteps, steps);
  agenda.plan(Job::kLeaseEnd, lease_end);
  agenda.plan(Job::kProgress, progress);
  agenda.set(Job::kResults, has_results);
  agenda.set(Job::kPressingResults, has_pressing);
}

// A result is pressing if one of its limits would pass in the commit window: it must not be refused
// for having waited for company.
bool Activities::is_pressing(const internal::Slot& slot) const {
  return !slot.refused &&
         (slot.commit_immediately || slot.deadline_boot_ms.has_passed(loop_.window_until) ||
          slot.silent_boot_ms.has_passed(loop_.window_until));
}

OptionalMs Activities::first_limit() const {
  OptionalMs first;
  slots_.for_each([&](const internal::Slot& slot) {
    if (slot.refused) return;
    first.keep_earlier(slot.deadline_boot_ms);
    first.keep_earlier(slot.silent_boot_ms);
  });
  return first;
}

bool Activities::waits_to_run_alone(std::int32_t crashes) const {
  std::size_t crashed = 0;
  std::int32_t highest = 0;
  slots_.crashed_in_hand(&crashed, &highest);
  if (crashed > 0 && highest >= loop_.options.limits.crashes_max - 1 &&
      slots_.running_threads() > 0)
    return true;
  if (crashes >= loop_.options.limits.crashes_max - 1) return slots_.running_threads() > 0;
  return crashes > 0 && crashed > 0;
}

void Activities::run_inline(std::int64_t end_boot_ms) {
  loop_.agenda.clear(Job::kInline);
  internal::Slot* slot = slots_.next_inline();
  while (slot != nullptr) {
    // Those that wait to run alone set no job: the end of a thread wakes the loop.
    if (waits_to_run_alone(0) || (slot->item.crashes >= loop_.options.limits.crashes_max - 1 &&
                                  slots_.running_threads() > 0))
      return;
    slots_.run_inline(*slot);
    ++loop_.stats.activities_started;
    note_duration(*slot, slot->took_ms);
    slot = slots_.next_inline();
    if (loop_.boot_ms() >= end_boot_ms) break;
  }
  if (slot != nullptr) loop_.agenda.do_now(Job::kInline);
}

void Activities::note_duration(const internal::Slot& slot, std::int64_t took_ms) {
  if (took_ms <= loop_.options.timing.inline_max.count()) return;
  ++loop_.stats.activities_overlong;
  loop_.log(LogLevel::kWarning, "inline_activity_overlong",
            {{"activity", slot.item.activity_name},
             {"took_ms", took_ms},
             {"inline_ms_max", loop_.options.timing.inline_max.count()}},
            slot.item.trace);
}

// The rule of inline activities holds here too: an attempt that may poison runs with nothing else
// in its process.
bool Activities::may_step(const internal::Slot& slot) const {
  return slot.mode == ActivityMode::kCooperative && slots_.can_keep_result() &&
         !waits_to_run_alone(0) &&
         (slot.item.crashes < loop_.options.limits.crashes_max - 1 ||
          slots_.running_threads() == 0);
}

// Runs one step of each, not one activity to its end, so that none holds up the others.
void Activities::run_steps() {
  if (looks_at_descriptors_) slots_.find_readable(*loop_.port.threads);
  looks_at_descriptors_ = false;
  slots_.for_each([&](internal::Slot& slot) {
    const std::int64_t before = loop_.boot_ms();
    if (!may_step(slot) || !slot.step_is_due(before)) return;
    if (slot.state == internal::Slot::State::kReady) ++loop_.stats.activities_started;
    slots_.step(slot, *loop_.port.threads);
    note_duration(slot, loop_.boot_ms() - before);
  });
}

Status Activities::write_progress() {
  const std::int64_t now = loop_.boot_ms();
  Status status = Status::kOk;
  slots_.for_each([&](internal::Slot& slot) {
    if (status != Status::kOk || !slot.progress_due().has_passed(now)) return;
    // A report that comes from here on counts as a new update.
    slot.progress.set_update(false);
    slot.in_batch.writes_progress = true;
    char text[kProgressBytesMax];
    std::size_t size = 0;
    std::int64_t reported_at = 0;
    if (!slot.progress.read(text, &size, &reported_at)) {
      slot.forget_written_progress();
      return;
    }
    const Status noted = loop_.work().items.note_progress(slot.done(), std::string_view(text, size),
                                                          loop_.batch.now - (now - reported_at));
    if (noted == Status::kStale) {
      status = check(slot);
    } else if (noted == Status::kOk) {
      slot.in_batch.progress_boot_ms = reported_at;
    } else {
      status = noted;
    }
  });
  return status;
}

bool Activities::is_overdue(const internal::Slot& slot) const {
  return slot.item.deadline.has_passed(loop_.batch.now) ||
         slot.silent_boot_ms.has_passed(loop_.boot_ms());
}

// Asks the storage whether this worker still has the work item. If not, the slot loses it and is
// given the reason. Requires: a transaction.
Status Activities::check(internal::Slot& slot) const {
  const Status checked = loop_.work().items.check_work_item(slot.done());
  if (checked != Status::kStale && checked != Status::kNotFound) return checked;
  slot.lose(is_overdue(slot)               ? CancelReason::kDeadline
            : checked == Status::kNotFound ? CancelReason::kCancelled
                                           : CancelReason::kLost);
  return Status::kOk;
}

// Checks an item when its limit passes, else when a commit anywhere may have ended it.
Status Activities::check_held() {
  Status status = Status::kOk;
  slots_.for_each([&](internal::Slot& slot) {
    const bool may_be_lost =
        is_overdue(slot) || (loop_.agenda.wants(Job::kCheckHeld) && slot.is_under_way());
    if (status != Status::kOk || slot.refused || !may_be_lost) return;
    status = check(slot);
  });
  return status;
}

// Another worker has the item, or it was cancelled elsewhere.
void Activities::log_refused_renewal(const internal::Slot& slot) const {
  loop_.log(LogLevel::kWarning, "renewal_refused",
            {{"activity", slot.item.activity_name},
             {"session", slot.item.session_info.name},
             {"epoch", slot.item.epoch},
             {"instance", slot.item.instance_id},
             {"event", slot.item.event}},
            slot.item.trace);
}

Status Activities::renew() {
  Status status = Status::kOk;
  const bool is_shared = loop_.evidence.other_machines() != nullptr;
  if (is_shared && slots_.session_lease_end() <= loop_.boot_ms()) {
    PAWL_TRY(loop_.session().owners.give_up_exclusive(loop_.me));
    loop_.agenda.do_now(Job::kDeclare);
  }
  slots_.for_each([&](internal::Slot& slot) {
    // Cancelled work of an exclusive session keeps others out while it runs within its grace: its
    // lock is renewed.
    if (status != Status::kOk || slot.loss.abandoned) return;
    const WorkDone done = slot.done();
    const Status renewed = loop_.work().rows.renew_work_item_lock(done, loop_.me, loop_.terms);
    if (renewed == Status::kStale) {
      if (!slot.loss.since_boot_ms.has_value()) log_refused_renewal(slot);
      status = check(slot);
    } else if (renewed != Status::kOk) {
      status = renewed;
    }
  });
  PAWL_TRY(status);
  std::size_t renewed = 0;
  std::size_t released = 0;
  PAWL_TRY(loop_.session().owners.renew_session_lock(loop_.me, loop_.terms, &renewed, &released));
  sessions_renewed_ = renewed;
  return loop_.worker().renew_worker(loop_.me, loop_.terms.worker_lock_timeout_ms);
}

void Activities::renew_leases() {
  slots_.renew_session_leases(loop_.place().own_lease_end(loop_.terms.session_lock_timeout_ms));
  if (sessions_renewed_ == 0) return;
  loop_.log(LogLevel::kDebug, "sessions_renewed",
            {{"sessions", static_cast<std::int64_t>(sessions_renewed_)}});
}

// A turn that was stale or skipped leaves its results in their slots for the next tick.
bool Activities::goes_with_turn(const internal::Slot& slot, const TurnList& turns) const {
  if (!slot.has_outcome()) return false;
  std::size_t read = 0;
  for (const Turn& turn : turns) {
    read += turn.is_start ? 0U : 1U;
    if (turn.key == slot.item.instance && turn.verdict != Turn::Verdict::kAbandon &&
        turn.verdict != Turn::Verdict::kUnregistered)
      return true;
  }
  // A full batch left messages of its instance over. The result goes with the next batch.
  return read == loop_.options.limits.batch && warm_.find(slot.item.instance) != nullptr;
}

Status Activities::write_results(const TurnList& turns) {
  Status status = Status::kOk;
  bool is_enough = false;
  slots_.for_each([&](internal::Slot& slot) {
    slot.in_batch.was_finished = slot.state == internal::Slot::State::kFinished;
    if (status != Status::kOk || is_enough || !slot.in_batch.was_finished) return;
    // A refused result of an exclusive session may still keep others out of the session.
    if (slot.refused && slot.item.session == 0) return;
    if (!slot.refused && goes_with_turn(slot, turns)) return;
    bool written = false;
    status = write_result(slot, &written);
    is_enough = written && loop_.single_item_batches_left > 0;
  });
  return status;
}

// Doubles from 1 s to 60 s by hand-overs, so that an item that is put back does not return at full
// speed. A worker that stops does not take it again, so its delay is 0.
std::int64_t Activities::put_back_delay_ms(const internal::Slot& slot) const {
  constexpr std::int64_t kFirstMs = 1'000;
  constexpr std::int64_t kPutBackMs = 60'000;
  constexpr std::int32_t kStepsMax = 6;
  if (loop_.draining && slot.hands_back) return 0;
  const std::int32_t before = slot.item.attempt - 1;
  const std::int64_t delay = kFirstMs << (before < kStepsMax ? before : kStepsMax);
  return delay < kPutBackMs ? delay : kPutBackMs;
}

Status Activities::write_result(internal::Slot& slot, bool* written) {
  const WorkDone done = slot.done();
  const WorkResult result = {slot.result.error,
                             std::string_view(slot.result.bytes, slot.result.size),
                             slot.result.permanent};
  Status stored = Status::kOk;
  if (slot.puts_back()) {
    stored = loop_.work().items.abandon_work_item(done, put_back_delay_ms(slot), false,
                                                  loop_.crash_limits());
  } else if (slot.result.outside.has_value()) {
    stored = (loop_.work().outside.*slot.entry->outside->leave)(done, *slot.result.outside);
  } else {
    stored = loop_.work().items.ack_work_item(done, result);
  }
  if (stored != Status::kOk && stored != Status::kStale) return stored;
  if (stored == Status::kStale || slot.refused) {
    slot.refused = true;
    return Status::kOk;
  }
  slot.in_batch.stored = *written = true;
  slots_.leave(slot);
  loop_.look_for_all();
  return Status::kOk;
}

Status Activities::refuse_lost_results(const Turn& turn) {
  for (std::size_t i = 0; i < turn.result_count; ++i)
    PAWL_TRY(check(*turn.results[i]));
  return Status::kOk;
}

Status Activities::evict_hung() {
  Status status = Status::kOk;
  slots_.for_each([&](internal::Slot& slot) {
    slot.in_batch.evicted = false;
    if (status == Status::kOk && slot.loss.evicts && slot.is_under_way())
      status = loop_.session().moves.evict_session(slot.done(), slot.item.session, loop_.me,
                                                   &slot.in_batch.evicted);
  });
  return status;
}

void Activities::log_evicted() {
  slots_.for_each([&](internal::Slot& slot) {
    slot.loss.evicts = false;
    if (!slot.in_batch.evicted) return;
    slot.in_batch.evicted = false;
    ++loop_.stats.sessions_evicted;
    loop_.agenda.do_now(Job::kFetch);
    loop_.log(LogLevel::kError, "session_evicted",
              {{"session", slot.item.session_info.name},
               {"activity", slot.item.activity_name},
               {"instance", slot.item.instance_id},
               {"event", slot.item.event}},
              slot.item.trace);
  });
}

void Activities::log_handed_back(const internal::Slot& slot) const {
  loop_.log(LogLevel::kInfo, "activity_handed_back",
            {{"activity", slot.item.activity_name},
             {"instance", slot.item.instance_id},
             {"event", slot.item.event},
             {"reason", loop_.draining ? "shutdown" : "activity"}},
            slot.item.trace);
}

void Activities::log_started(const internal::Slot& slot) const {
  if (!loop_.logs(LogLevel::kDebug)) return;
  LogField fields[5];
  loop_.log_often(LogLevel::kDebug, "activity_started", fields, put_fields(slot, fields),
                  slot.item.trace);
}

void Activities::log_ended(const internal::Slot& slot, const char* outcome) const {
  if (!loop_.logs(LogLevel::kDebug)) return;
  LogField fields[8];
  std::size_t count = put_fields(slot, fields);
  fields[count++] = {"outcome", outcome};
  if (slot.result.error != ErrorKind::kNone)
    fields[count++] = {"kind", error_kind_name(slot.result.error)};
  fields[count++] = {"duration_ms", slot.took_ms};
  loop_.log_often(LogLevel::kDebug, "activity_ended", fields, count, slot.item.trace);
}

// Releases a slot whose result was stored or refused for good.
void Activities::release_result(internal::Slot& slot) {
  ActivityStats& named = loop_.names.of(*slot.entry);
  if (slot.result.answered) named.ran.add(slot.took_ms);
  if (slot.lacks_folder) {
    // The activity did not run; the missing folder is logged elsewhere.
  } else if (slot.result.outside.has_value()) {
    // A refused one was answered before it returned, or is not wanted any more: no result is lost.
    log_ended(slot, slot.refused ? "refused" : "outside");
  } else if (slot.refused) {
    ++loop_.stats.activities_refused;
    ++named.refused;
    log_ended(slot, "refused");
  } else if (slot.hands_back) {
    ++loop_.stats.activities_handed_back;
    log_handed_back(slot);
  } else if (slot.is_repeated()) {
    ++loop_.stats.activities_retried;
    ++named.retried;
    log_ended(slot, "retried");
  } else {
    const bool completed = slot.result.error == ErrorKind::kNone;
    ++loop_.stats.activities_completed;
    ++(completed ? named.completed : named.failed);
    log_ended(slot, completed ? "completed" : "failed");
  }
  // The slot kept the folder of a session that may have ended meanwhile.
  if (slot.refused && slot.item.session != 0) folders_.plan(SessionFolders::kFolderLookDelayMs);
  // Work that was passed over for want of room may be fetched now.
  if (!slot.in_batch.leaving) loop_.agenda.do_now(Job::kFetch);
  slots_.release(slot);
}

// Releases slots whose result is a stored message now, and those whose work is not this worker's
// any more.
void Activities::committed() {
  const std::int64_t now = loop_.boot_ms();
  slots_.for_each([&](internal::Slot& slot) {
    slot.in_batch.fetched = false;
    if (slot.state == internal::Slot::State::kTaken && slot.become_ready()) log_started(slot);
    if (slot.in_batch.writes_progress) {
      slot.in_batch.writes_progress = false;
      slot.written_boot_ms = now;
      if (slot.item.silence_ms > 0)
        slot.silent_boot_ms = slot.in_batch.progress_boot_ms + slot.item.silence_ms;
    }
    if (slot.in_batch.was_finished && (slot.refused || slot.in_batch.stored)) release_result(slot);
  });
}

// A thread cannot be ended by force: it keeps its slot, and a log line reports it.
void Activities::abandon() {
  const std::int64_t now = loop_.boot_ms();
  slots_.for_each([&](internal::Slot& slot) {
    if (slot.loss.abandoned || !slot.is_under_way() || !slot.loss.since_boot_ms.has_value()) return;
    if (now < slot.loss.since_boot_ms.value() + loop_.options.timing.activity_grace.count()) return;
    slot.loss.abandoned = true;
    ++loop_.stats.activities_abandoned;
    loop_.log(LogLevel::kError, "activity_abandoned",
              {{"activity", slot.item.activity_name},
               {"instance", slot.item.instance_id},
               {"event", slot.item.event}},
              slot.item.trace);
    if (slot.mode == ActivityMode::kCooperative) {
      slots_.end_by_force(slot, *loop_.port.threads);
    } else if (slot.item.session != 0) {
      slot.loss.evicts = true;
      loop_.agenda.do_now(Job::kCheckHeld);
    }
  });
}

void Activities::cancel(InstanceKey key, ExecutionId execution, EventId event) {
  slots_.for_each([&](internal::Slot& slot) {
    if (slot.item.instance != key || slot.item.execution != execution) return;
    if (event != 0 && slot.item.event != event) return;
    slot.lose(CancelReason::kCancelled);
  });
}

void Activities::put_back_sleepers(std::int64_t end_boot_ms) {
  const auto sleeps = [=](const internal::Slot& slot) { return slot.sleeps_beyond(end_boot_ms); };
  bool any = false;
  slots_.for_each([&](const internal::Slot& slot) {
    any = any || (slot.mode == ActivityMode::kCooperative && sleeps(slot));
  });
  if (any && put_back(sleeps) == Status::kOk) end_put_back(sleeps);
}

void Activities::put_back_steps() {
  const auto all = [](const internal::Slot&) { return true; };
  static_cast<void>(put_back(all));
  end_put_back(all);  // those not put back: burial frees their locks
}

template <typename Chosen, typename Visit>
void Activities::for_each_step(const Chosen& chosen, Visit&& visit) {
  slots_.for_each([&](internal::Slot& slot) {
    if (slot.mode == ActivityMode::kCooperative && slot.state != internal::Slot::State::kFinished &&
        chosen(slot))
      visit(slot);
  });
}

template <typename Chosen>
Status Activities::put_back(const Chosen& chosen) {
  Status status =
      loop_.me == 0 ? Status::kBuried : loop_.transaction().begin(loop_.me, &loop_.batch);
  if (status == Status::kOk) {
    for_each_step(chosen, [&](internal::Slot& slot) {
      if (status != Status::kOk) return;
      status = loop_.work().items.abandon_work_item(slot.done(), 0, false, loop_.crash_limits());
      if (status == Status::kStale) status = Status::kOk;
    });
    if (status == Status::kOk) status = loop_.transaction().commit();
    if (status != Status::kOk) loop_.transaction().rollback();
  }
  for_each_step(chosen, [&](internal::Slot& slot) { slot.hands_back = status == Status::kOk; });
  if (status != Status::kOk) loop_.log_status(LogLevel::kWarning, "put_back_failed", status);
  return status;
}

template <typename Chosen>
void Activities::end_put_back(const Chosen& chosen) {
  for_each_step(chosen, [&](internal::Slot& slot) {
    slots_.end_by_force(slot, *loop_.port.threads);
    if (!slot.hands_back) return;
    if (!slot.refused) {
      ++loop_.stats.activities_handed_back;
      log_handed_back(slot);
    }
    slots_.release(slot);
  });
}

void Activities::turn_committed(const Turn& turn) {
  for (std::size_t i = 0; i < turn.result_count; ++i)
    release_result(*turn.results[i]);
  for (const EventId command : turn.commit.closed)
    cancel(turn.key, turn.item->execution, command);
  if (turn.commit.end != EndKind::kNone) cancel(turn.key, turn.item->execution, 0);
}

// Results stay in their slots; items of this batch's hand-over are forgotten.
void Activities::rolled_back() {
  slots_.for_each([&](internal::Slot& slot) {
    if (slot.in_batch.fetched) {
      slot.in_batch.fetched = false;
      slots_.release(slot);
    }
    slot.in_batch.stored = false;
    slot.in_batch.leaving = false;
    slot.forget_written_progress();
  });
}

void Activities::end_lease() {
  slots_.for_each([&](internal::Slot& slot) {
    // A result that a batch has written counts, if that commits.
    if (slot.refused || slot.in_batch.leaving || !slot.lease_is_over()) return;
    slot.lose(CancelReason::kLost);
    slot.in_batch.was_finished = false;  // the storage has not heard of the loss
    if (slot.state == internal::Slot::State::kReady) slot.state = internal::Slot::State::kFinished;
    loop_.log(LogLevel::kWarning, "lease_over",
              {{"activity", slot.item.activity_name},
               {"session", slot.item.session_info.name},
               {"epoch", slot.item.epoch},
               {"instance", slot.item.instance_id}},
              slot.item.trace);
  });
}

void Activities::lose_all() {
  slots_.for_each([&](internal::Slot& slot) { slot.lose(CancelReason::kLost); });
}

}  // namespace pawl
