// The activities in hand: handed over, run in the loop's own time, renewed, told of their loss, acknowledged.
#include "check.hpp"
#include "runtime_core.hpp"
#include "session_options.hpp"

namespace pawl {
namespace {

constexpr std::size_t kWokenMax = 64;  // bounded a tick

}  // namespace

// Runs what was handed over inline; true if some is left for the next tick.
bool RuntimeCore::run_inline(std::int64_t end_boot_ms) {
  internal::Slot* slot = slots_.next_inline();
  while (slot != nullptr) {
    if (must_wait_to_run_alone(0) ||
        (slot->item.crashes >= loop_.options.crashes_max - 1 && slots_.running_threads() > 0)) {
      return false;  // a thread's end wakes the loop
    }
    slots_.run_inline(*slot);
    ++loop_.stats.activities_started;
    note_duration(*slot, slot->took_ms);
    slot = slots_.next_inline();
    if (loop_.boot_ms() >= end_boot_ms) break;
  }
  return slot != nullptr;
}

void RuntimeCore::note_duration(const internal::Slot& slot, std::int64_t took_ms) {
  if (took_ms <= loop_.options.inline_ms_max) return;
  ++loop_.stats.activities_overlong;
  const LogField fields[] = {{"activity", slot.item.activity_name},
                             {"took_ms", took_ms},
                             {"inline_ms_max", loop_.options.inline_ms_max}};
  loop_.log(LogLevel::kWarning, "inline_activity_overlong", fields, 3);
}

// As for inline ones: what may poison runs with nothing else in its process.
bool RuntimeCore::may_step(const internal::Slot& slot) const {
  return slot.mode == ActivityMode::kCooperative && slots_.can_keep_result() &&
         !must_wait_to_run_alone(0) &&
         (slot.item.crashes < loop_.options.crashes_max - 1 || slots_.running_threads() == 0);
}

// One step of each cooperative activity that is due, so that none holds up the others.
void RuntimeCore::run_steps() {
  if (look_at_descriptors_) slots_.find_readable(*loop_.port.threads);
  look_at_descriptors_ = false;
  slots_.for_each([&](internal::Slot& slot) {
    const std::int64_t before = loop_.boot_ms();
    if (!may_step(slot) || !slot.step_is_due(before)) return;
    if (slot.state == internal::Slot::State::kReady) ++loop_.stats.activities_started;
    slots_.step(slot, *loop_.port.threads);
    note_duration(slot, loop_.boot_ms() - before);
  });
}

bool RuntimeCore::has_progress_to_write(std::int64_t now) const {
  bool has = false;
  slots_.for_each(
      [&](const internal::Slot& slot) { has = has || slot.progress_due().has_passed(now); });
  return has;
}

Status RuntimeCore::write_progress() {
  const std::int64_t now = loop_.boot_ms();
  Status status = Status::kOk;
  slots_.for_each([&](internal::Slot& slot) {
    if (status != Status::kOk || !slot.progress_due().has_passed(now)) return;
    // What is told from here on is news again.
    slot.progress.set_news(false);
    slot.writes_progress = true;
    char text[kProgressBytesMax];
    std::size_t size = 0;
    std::int64_t told_at = 0;
    if (!slot.progress.read(text, &size, &told_at)) {
      slot.forget_written_progress();
      return;
    }
    const Status noted = loop_.provider->note_progress(slot.done(), std::string_view(text, size),
                                                       loop_.batch.now - (now - told_at));
    if (noted == Status::kStale) {
      slot.lose();
    } else if (noted == Status::kOk) {
      slot.told_boot_ms = told_at;
    } else {
      status = noted;
    }
  });
  return status;
}

// Whoever ended the item, its execution here learns of it: for a limit when that passes, else with the
// commit that ended it, wherever that was made.
Status RuntimeCore::tell_lost_slots() {
  Status status = Status::kOk;
  slots_.for_each([&](internal::Slot& slot) {
    const bool is_overdue = slot.item.deadline.has_passed(loop_.batch.now) ||
                            slot.silent_boot_ms.has_passed(loop_.boot_ms());
    const bool may_be_lost =
        is_overdue || (loop_.agenda.wants(Job::kCheckHeld) && slot.is_under_way());
    if (status != Status::kOk || slot.refused || !may_be_lost) return;
    const Status checked = loop_.provider->check_work_item(slot.done());
    if (checked == Status::kStale) {
      slot.lose();
    } else {
      status = checked;
    }
  });
  return status;
}

// Another worker has it, or it was cancelled elsewhere.
void RuntimeCore::tell_refused_renewal(const internal::Slot& slot) {
  const LogField fields[] = {{"activity", slot.item.activity_name},
                             {"session", slot.item.session_name},
                             {"epoch", slot.item.epoch},
                             {"instance", slot.item.instance_id},
                             {"event", slot.item.event}};
  loop_.log(LogLevel::kWarning, "renewal_refused", fields, 5);
}

Status RuntimeCore::write_renewals() {
  Status status = Status::kOk;
  slots_.for_each([&](internal::Slot& slot) {
    // Cancelled work of an exclusive session keeps others out as long as it runs within its grace.
    if (status != Status::kOk || slot.abandoned) return;
    const WorkDone done = slot.done();
    const Status renewed =
        loop_.provider->renew_work_item_lock(done, loop_.me, loop_.options.sessions);
    if (renewed == Status::kStale) {
      if (!slot.lost_boot_ms.has_value()) tell_refused_renewal(slot);
      slot.lose();
    } else if (renewed != Status::kOk) {
      status = renewed;
    }
  });
  PAWL_TRY(status);
  std::size_t renewed = 0;
  std::size_t released = 0;
  PAWL_TRY(loop_.provider->renew_session_lock(loop_.me, loop_.options.sessions, true, &renewed,
                                              &released));
  return loop_.provider->renew_worker(loop_.me, loop_.options.sessions.worker_lock_timeout_ms);
}

// What activities see of their session's lease.
void RuntimeCore::renew_slot_leases() {
  const std::int64_t until =
      loop_.provider->boot_ms_of(loop_.batch.now + loop_.options.sessions.session_lock_timeout_ms);
  slots_.for_each([&](internal::Slot& slot) {
    if (!slot.refused) slot.session_lease_boot_ms.store(until, std::memory_order_relaxed);
  });
}

Status RuntimeCore::fetch_work() {
  if (loop_.draining || wants_quiet_ || !loop_.takes_activities()) return Status::kOk;
  if (loop_.agenda.wants(Job::kFetch)) PAWL_TRY(fill_slots());
  return loop_.agenda.wants(Job::kWakeUnregistered) ? wake_unregistered() : Status::kOk;
}

// All that is ready comes first, but at least one wakes, so that both get their share.
Status RuntimeCore::wake_unregistered() {
  loop_.agenda.clear(Job::kWakeUnregistered);
  if (loop_.batch.draining) return Status::kOk;  // until it registers anew
  std::size_t woken = 0;
  bool more = false;
  PAWL_TRY(
      loop_.provider->wake_unregistered(loop_.me, passed_over_ ? 1 : kWokenMax, &woken, &more));
  loop_.agenda.set(Job::kWakeUnregistered, more);
  if (woken > 0) loop_.agenda.do_now(Job::kFetch);
  return Status::kOk;
}

Status RuntimeCore::fill_slots() {
  looked_for_work_ = true;
  FetchWork how;
  how.me = loop_.me;
  how.draining = loop_.batch.draining;
  how.options = &loop_.options.sessions;
  how.filter = this;
  how.tags = loop_.options.worker_tag_filter;
  how.evidence = &loop_.evidence;
  how.limits = loop_.crash_limits();
  bool more = false;
  how.look_again = &more;
  how.waiting = &sessions_waiting_;
  how.passed_over = &passed_over_;
  passed_over_ = true;
  while (slots_.room()) {
    WorkItem item;
    bool found = false;
    PAWL_TRY(loop_.provider->fetch_work_item(how, slots_.buffer(), slots_.buffer_bytes(), &item,
                                             &found));
    if (!found) {
      loop_.agenda.set(Job::kFetch, more);
      break;
    }
    const Registry::ActivityEntry* const entry = loop_.registry.find_activity(item.activity_name);
    PAWL_CHECK("runtime-40", entry != nullptr);  // has_handler() said so
    FixedText<internal::kFolderPathBytesMax> folder;
    folders_.put_path(item, &folder);
    item.session_folder = folder.view();
    internal::Slot& slot = take_slot(item, *entry);
    if (item.silence_ms > 0)
      slot.silent_boot_ms = loop_.provider->boot_ms_of(loop_.batch.now + item.silence_ms);
    if (item.deadline.has_value())
      slot.deadline_boot_ms = loop_.provider->boot_ms_of(item.deadline.value());
  }
  // It ended for want of slots: the call that finds nothing says what it passed over.
  return Status::kOk;
}

internal::Slot& RuntimeCore::take_slot(const WorkItem& item, const Registry::ActivityEntry& entry) {
  internal::Slot& slot = slots_.take(item, entry, loop_.provider->database_id());
  slot.session_lease_boot_ms.store(
      loop_.provider->boot_ms_of(loop_.batch.now + loop_.options.sessions.session_lock_timeout_ms),
      std::memory_order_relaxed);
  slot.fetched_now = true;
  return slot;
}

// While this worker need not look for work, and passed over nothing that may go when a slot is free, nothing
// waits that it could take: then what is scheduled now is the first. From the first item on that is not handed over here, it looks as ever.
void RuntimeCore::hand_over_at_once(Turn& turn) {
  for (std::size_t i = 0; i < turn.commit.work_count; ++i) {
    NewWork& work = turn.work[i];
    const Event& event = turn.commit.events->event(work.event);
    const Registry::ActivityEntry* const entry = loop_.registry.find_activity(event.name);
    // The folder of a session has to be there first, and is of a row that is not read here.
    const bool is_plain = work.policy.empty() && work.tag.empty() &&
                          (work.session.empty() || loop_.options.sessions.work_root == nullptr) &&
                          event.payload.size() <= loop_.options.payload_bytes_max;
    if (loop_.agenda.wants(Job::kFetch) || passed_over_ || loop_.draining || loop_.batch.draining ||
        wants_quiet_ || turn.commit.end != EndKind::kNone || turn.commit.closed_count > 0 ||
        !is_plain || entry == nullptr || !loop_.options.worker_tag_filter.serves({}) ||
        !slots_.room(entry->mode) || !may_run_with(0)) {
      loop_.agenda.do_now(Job::kFetch);
      return queue_rest(turn, i);
    }
    WorkItem item;
    item.locked_until = loop_.batch.now + loop_.options.sessions.worker_lock_timeout_ms;
    item.instance = turn.commit.key;
    item.execution = turn.commit.execution;
    item.event = work.event;
    item.attempt = 1;
    item.may_retry = ActivityOptions().retry.max_attempts > 1;
    item.instance_id = turn.commit.id;
    item.orchestration_name = turn.item->name.view();
    item.orchestration_version =
        turn.commit.version.empty() ? turn.item->version.view() : turn.commit.version;
    item.activity_name = event.name;
    item.session_name = work.session;
    item.input = event.payload;
    work.session_lease_until = loop_.batch.now + loop_.options.sessions.session_lock_timeout_ms;
    work.handed_over = &take_slot(item, *entry).item;
  }
}

// What nobody can run need not stand in the queue. Who takes no activities is in nobody's way.
void RuntimeCore::queue_rest(Turn& turn, std::size_t first) {
  if (!loop_.takes_activities()) return;
  for (std::size_t i = first; i < turn.commit.work_count; ++i) {
    const Event& event = turn.commit.events->event(turn.work[i].event);
    if (!has_handler(event.name)) turn.work[i].foreign_name = event.name;
  }
}

// A turn that was not written has handed nothing over, and a session may be somebody else's.
void RuntimeCore::settle_hand_over(const Turn& turn) {
  for (std::size_t i = 0; !turn.written && i < turn.result_count; ++i)
    turn.results[i]->leaving = false;
  for (std::size_t i = 0; i < turn.commit.work_count; ++i) {
    const WorkItem* const item = turn.work[i].handed_over;
    if (item == nullptr || (turn.written && item->id != 0)) continue;
    slots_.for_each([&](internal::Slot& slot) {
      if (&slot.item == item) slots_.release(slot);
    });
  }
}

// Results that ride with no turn become messages; those of others' work are refused.
Status RuntimeCore::write_results(Turn* turns, std::size_t count) {
  std::size_t read = 0;
  for (std::size_t i = 0; i < count; ++i)
    read += turns[i].is_start ? 0U : 1U;
  const auto rides = [&](const internal::Slot& slot) {
    if (slot.is_repeated()) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (turns[i].key != slot.item.instance) continue;
      // A turn that was stale or skipped leaves its results in their slots for the next tick.
      return turns[i].verdict != Turn::Verdict::kAbandon &&
             turns[i].verdict != Turn::Verdict::kForeign;
    }
    return false;
  };
  Status status = Status::kOk;
  bool is_enough = false;
  slots_.for_each([&](internal::Slot& slot) {
    if (status != Status::kOk || is_enough || slot.state != internal::Slot::State::kFinished)
      return;
    // A refused one of an exclusive session may still keep others out of it.
    if (slot.refused && slot.item.session == 0) return;
    if (!slot.refused && rides(slot)) return;
    if (!slot.refused && !slot.is_repeated() && warm_.find(slot.item.instance) != nullptr &&
        read == loop_.options.batch)
      return;
    const WorkDone done = slot.done();
    const WorkResult result = {slot.error, std::string_view(slot.result, slot.result_size),
                               slot.permanent};
    const Status stored = slot.lacks_folder
                              ? loop_.provider->abandon_work_item(
                                    done, Folders::delay_ms(slot.item), false, loop_.crash_limits())
                              : loop_.provider->ack_work_item(done, result);
    if (stored == Status::kOk && !slot.refused) {
      slot.stored = true;
      slots_.leave(slot);
      is_enough = loop_.single_item_batches_left > 0;
      loop_.look_for_all();
    } else if (stored == Status::kOk || stored == Status::kStale) {
      slot.refused = true;
    } else {
      status = stored;
    }
  });
  return status;
}

// A slot whose result was taken or refused for good.
void RuntimeCore::release_result(internal::Slot& slot) {
  ActivityStats& named = loop_.names.of(*slot.entry);
  if (slot.answered) named.ran.add(slot.took_ms);
  if (slot.lacks_folder) {
    // It did not run; the log has it.
  } else if (slot.refused) {
    ++loop_.stats.activities_refused;
    ++named.refused;
  } else if (slot.is_repeated()) {
    ++loop_.stats.activities_retried;
    ++named.retried;
  } else {
    ++loop_.stats.activities_completed;
    ++(slot.error == ErrorKind::kNone ? named.completed : named.failed);
  }
  // It kept the folder of a session that may have ended meanwhile.
  if (slot.refused && slot.item.session != 0) folders_.plan(Folders::kFolderLookDelayMs);
  // What was passed over for want of room may go now.
  if (!slot.leaving) loop_.agenda.do_now(Job::kFetch);
  slots_.release(slot);
}

// Slots whose result is a stored message now, and those whose work was not ours any more.
void RuntimeCore::release_results() {
  const std::int64_t now = loop_.boot_ms();
  slots_.for_each([&](internal::Slot& slot) {
    slot.fetched_now = false;
    if (slot.writes_progress) {
      slot.writes_progress = false;
      slot.written_boot_ms = now;
      if (slot.item.silence_ms > 0) slot.silent_boot_ms = slot.told_boot_ms + slot.item.silence_ms;
    }
    if (slot.state == internal::Slot::State::kFinished && (slot.refused || slot.stored))
      release_result(slot);
  });
}

// A thread cannot be ended by force: it keeps its slot, and people are told.
void RuntimeCore::abandon_slots() {
  const std::int64_t now = loop_.boot_ms();
  slots_.for_each([&](internal::Slot& slot) {
    if (slot.abandoned || !slot.is_under_way() || !slot.lost_boot_ms.has_value()) return;
    if (now < slot.lost_boot_ms.value() + loop_.options.activity_grace_ms) return;
    slot.abandoned = true;
    ++loop_.stats.activities_abandoned;
    const LogField fields[] = {{"activity", slot.item.activity_name},
                               {"instance", slot.item.instance_id},
                               {"event", slot.item.event}};
    loop_.log(LogLevel::kError, "activity_abandoned", fields, 3);
    if (slot.mode == ActivityMode::kCooperative) {
      slots_.end_by_force(slot, *loop_.port.threads);
    } else if (slot.item.session != 0) {
      slot.evicts = true;
      loop_.agenda.do_now(Job::kCheckHeld);
    }
  });
}

void RuntimeCore::cancel_slots_of(InstanceKey key, ExecutionId execution, EventId event) {
  slots_.for_each([&](internal::Slot& slot) {
    if (slot.item.instance != key || slot.item.execution != execution) return;
    if (event != 0 && slot.item.event != event) return;
    slot.lose();
  });
}

bool RuntimeCore::has_handler(std::string_view activity_name) const {
  if (!loop_.takes_activities()) return false;
  const Registry::ActivityEntry* const entry = loop_.registry.find_activity(activity_name);
  if (entry == nullptr) return false;
  return slots_.slots_of(entry->mode) > 0;
}

bool RuntimeCore::has_room(std::string_view activity_name) const {
  const Registry::ActivityEntry* const entry = loop_.registry.find_activity(activity_name);
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
  if (crashed > 0 && highest >= loop_.options.crashes_max - 1) return false;
  if (crashes >= loop_.options.crashes_max - 1) return slots_.in_hand() == slots_.finished();
  return crashes == 0 || crashed == 0;
}

}  // namespace pawl
