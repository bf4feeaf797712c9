#include "runtime/turns.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "runtime/runtime_limits.hpp"
#include "runtime/time_limits.hpp"

namespace pawl {
namespace {

// The version of the code that the turn ran, or would have run.
std::string_view version_of(const Turn& turn) {
  return turn.commit.begun.version.empty() ? turn.item->version.view() : turn.commit.begun.version;
}

}  // namespace

void Turns::look(std::int64_t now) {
  if (!loop_.agenda.is_due(Job::kLeftToOthers, now)) return;
  loop_.agenda.clear(Job::kLeftToOthers);
  loop_.agenda.do_now(Job::kTurns);
}

void Turns::WantedList::add(const Wanted& one) {
  for (std::size_t i = 0; i < count; ++i)
    if (all[i].key == one.key) return;
  if (count < most) all[count++] = one;
}

void Turns::leave_over(const Turn& turn) {
  Wanted one;
  one.key = turn.key;
  if (turn.ended_at != nullptr) one.ended_at = *turn.ended_at;
  leave_over(one);
}

// An instance that finds no place here is found again with all ready ones.
void Turns::leave_over(const Wanted& one) {
  if (left_over_count_ < keys_max(loop_.options)) memory_.left_over[left_over_count_++] = one;
}

Status Turns::collect() {
  if (!loop_.options.run_orchestrations || loop_.draining) {
    loop_.agenda.clear(Job::kTurns);
    return Status::kOk;
  }
  loop_.now = loop_.place().pawl_now();
  // Looks also after a tick that left turns: else a loop without results would sleep, and look at
  // nothing.
  const bool lists = loop_.agenda.wants(Job::kTurns) || left_unrun_;
  const std::size_t left_over = left_over_count_;
  WantedList wanted;
  Status status = list_wanted(lists, &wanted);
  if (status == Status::kOk) status = load(wanted, left_over);
  if (list_.size() == 0) loop_.agenda.clear(Job::kTurns);
  left_unrun_ = list_.size() < wanted.count;
  if (lists) plan_left_to_others();
  // If nothing was read, the batch finds out whether others have committed.
  if (loop_.store->is_reading()) others_.look();
  return status;
}

// The first turn of a tick gets all memory if it needs it. So instances that were left over stay in
// front, in their order, and each gets its turn. Then come instances whose activity just finished
// here: their results are piggybacked.
Status Turns::list_wanted(bool lists, WantedList* wanted) {
  std::size_t ready = 0;
  if (lists)
    PAWL_TRY(loop_.instance().ready.list_ready(ready_query(), memory_.ready,
                                               loop_.options.limits.batch, &ready));
  wanted->most = keys_max(loop_.options);
  wanted->all = loop_.arena.array<Wanted>(wanted->most);
  if (wanted->all == nullptr) return Status::kResourceExhausted;
  for (std::size_t i = 0; i < left_over_count_; ++i)
    wanted->add(memory_.left_over[i]);
  left_over_count_ = 0;
  slots_.for_each([&](internal::Slot& slot) {
    if (slot.state == internal::Slot::State::kFinished && !slot.refused && slot.has_outcome() &&
        warm_.find(slot.item.instance) != nullptr)
      wanted->add({slot.item.instance, {}});
  });
  for (std::size_t i = 0; i < ready; ++i)
    wanted->add({memory_.ready[i], {}});
  loop_.agenda.set(Job::kTurns, ready == loop_.options.limits.batch);
  return Status::kOk;
}

Status Turns::load(const WantedList& wanted, std::size_t left_over) {
  std::size_t ahead = wanted.count > 1 ? 0 : 1;
  for (std::size_t i = 0; i < wanted.count; ++i) {
    if (list_.size() == loop_.batch_max()) {
      loop_.agenda.do_now(Job::kTurns);
      for (; i < left_over; ++i)
        leave_over(wanted.all[i]);
      return Status::kOk;
    }
    if (i == ahead) {
      ahead = std::min(i + loader_.ahead_max(), wanted.count);
      for (std::size_t at = i; at < ahead; ++at)
        loader_.read_ahead(wanted.all[at].key);
    }
    const bool is_first = list_.size() == 0;
    Turn& turn = list_.next();
    const std::optional<MessageId>& ended_at = wanted.all[i].ended_at;
    turn.ended_at = ended_at.has_value() ? &*ended_at : nullptr;
    const Status status = is_first || loader_.has_room_for_another()
                              ? loader_.load(wanted.all[i].key, is_first, &turn)
                              : Status::kResourceExhausted;
    if (status == Status::kResourceExhausted && !is_first) {
      loop_.agenda.do_now(Job::kTurns);  // the rest of the batch comes with the next tick
      for (std::size_t at = i; at < wanted.count && (at == i || at < left_over); ++at)
        leave_over(wanted.all[at]);
      return Status::kOk;
    }
    if (status != Status::kOk && status != Status::kNotFound) return status;
    // A turn that must wait to run alone takes no place in the batch.
    if (status == Status::kOk && turn.verdict != Turn::Verdict::kSkip) list_.keep_next();
  }
  return Status::kOk;
}

void Turns::plan_left_to_others() {
  if (unregistered_.more) loop_.agenda.do_now(Job::kTurns);
  loop_.agenda.clear(Job::kLeftToOthers);
  if (unregistered_.look_at.has_value())
    loop_.agenda.plan(Job::kLeftToOthers, loop_.place().boot_ms_of(unregistered_.look_at.value()));
}

ReadyQuery Turns::ready_query() {
  unregistered_ = UnregisteredInstances();
  ReadyQuery query;
  query.me = loop_.me;
  query.home_grace_ms = loop_.options.leases.home_grace.count();
  query.now = loop_.now;
  query.mailbox = mailbox_limits(loop_.options);
  query.runnable = loader_.runnable();
  query.runnable_count = loader_.runnable_count();
  query.unregistered = &unregistered_;
  return query;
}

void Turns::run() {
  const std::size_t count = list_.size();
  const std::size_t unread = left_over_count_;
  bool is_first = true;
  std::int64_t begun = count > 0 ? loop_.boot_ms() : 0;  // the end of a turn begins the next
  for (std::size_t i = 0; i < count; ++i) {
    Turn& turn = list_[i];
    const Arena::Mark mark = loop_.arena.mark();
    runner_.run(turn);
    // The first turn cannot wait for others, so turns behind it wait: from the last, as many as
    // needed. A turn that has yielded its memory waits for the next tick, even if the first one is
    // then abandoned.
    for (std::size_t end = count;
         turn.verdict == Turn::Verdict::kWait && turn.warm != nullptr && is_first && end > i + 1;) {
      for (const std::size_t kept = i + 1 + (end - i - 1) / 2; end > kept; --end)
        yield_warm_memory(list_[end - 1]);
      loop_.arena.rewind(mark);
      turn.verdict = Turn::Verdict::kCommit;
      runner_.run(turn);
    }
    const std::int64_t ended = loop_.boot_ms();
    turn.took_ms = ended - begun;
    begun = ended;
    if (turn.verdict == Turn::Verdict::kCommit) is_first = false;
    if (turn.verdict != Turn::Verdict::kWait) continue;
    yield_warm_memory(turn);
    if (!turn.is_start) leave_over(turn);
  }
  Wanted* const all = memory_.left_over;
  std::rotate(all, all + unread, all + left_over_count_);
}

void Turns::yield_warm_memory(Turn& turn) {
  if (turn.warm == nullptr) return;  // it holds no memory
  turn.verdict = Turn::Verdict::kWait;
  warm_.drop(*turn.warm);
  turn.warm = nullptr;
}

Status Turns::write_unregistered() {
  UnregisteredInstances met = unregistered_;
  const ReadyQuery query = ready_query();
  for (std::size_t i = 0; i < met.count; ++i)
    PAWL_TRY(loop_.instance().ready.mark_unregistered(met.keys[i], query));
  return Status::kOk;
}

Status Turns::write() {
  for (Turn& turn : list_)
    if (turn.verdict == Turn::Verdict::kCommit || turn.verdict == Turn::Verdict::kAbandon)
      PAWL_TRY(write(turn));
  return Status::kOk;
}

Parking Turns::parking_of(const Turn& turn) const {
  Parking parking(turn.delay_ms);
  const MailboxLimits most = mailbox_limits(loop_.options);
  if (turn.needs == Turn::Needs::kMoreMessages) parking.needs = {most.messages + 1, 0};
  if (turn.needs == Turn::Needs::kMoreBytes) parking.needs = {0, most.bytes + 1};
  return parking;
}

Status Turns::write(Turn& turn) {
  const std::int64_t made_ready = loop_.work().fetch.made_ready();
  Status status = Status::kOk;
  if (turn.verdict == Turn::Verdict::kCommit) {
    for (std::size_t at = 0; at < turn.result_count; ++at)
      slots_.leave(*turn.results[at]);
    hand_over_.hand_over_at_once(turn);
    status = loop_.instance().turns.ack_orchestration_item(turn.commit, &turn.item->known);
    const internal::TimeLimitSteps* const limits = internal::TimeLimitSteps::of(loop_.registry);
    if (status == Status::kOk && limits != nullptr)
      status = limits->write(loop_.registry, turn, loop_.instance().rows);
  } else if (turn.item->broken == Status::kOk) {
    status = loop_.instance().ready.abandon_orchestration_item(
        turn.key, turn.item->revision, parking_of(turn), false, turn.why, turn.why_text);
  } else {
    status = loop_.transaction().stop_broken(turn.key, turn.why_text);
  }
  if (status == Status::kStillRunning)
    turn.verdict = Turn::Verdict::kPutOff;
  else if (status != Status::kOk && status != Status::kStale)
    return status;
  turn.written = status == Status::kOk;
  hand_over_.settle(turn);
  if (!turn.written) {
    ++loop_.stats.turns_refused;
    loop_.agenda.do_now(Job::kTurns);
    PAWL_TRY(activities_.refuse_lost_results(turn));
  }
  PAWL_TRY(inbox_.settle(turn));
  PAWL_CHECK("runtime-41", turn.written || !turn.is_start);  // its row is made in this batch
  // Work that was passed over for want of room may go now, and work that stood behind in a session.
  if (turn.written && ((turn.result_count > 0 && hand_over_.passed_over()) ||
                       made_ready != loop_.work().fetch.made_ready()))
    loop_.agenda.do_now(Job::kFetch);
  if (turn.written && turn.wakes_others) loop_.agenda.do_now(Job::kTurns);
  return Status::kOk;
}

void Turns::committed() {
  for (Turn& turn : list_)
    settle(turn);
}

bool Turns::has_changed_sessions() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const Turn& turn) { return turn.written && turn.changes_sessions; });
}

void Turns::rolled_back() {
  for (const Turn& turn : list_) {
    if (turn.warm != nullptr) warm_.drop(*turn.warm);
    if (turn.ended_at != nullptr) leave_over(turn);
  }
}

void Turns::settle(Turn& turn) {
  Warm* const warm = turn.warm;
  if (turn.verdict == Turn::Verdict::kAbandon && turn.written) log_abandoned(turn);
  if (warm == nullptr) return;
  if (turn.is_start && turn.written) warm_.rename(*warm, turn.key);
  if (turn.verdict != Turn::Verdict::kCommit || !turn.written) {
    warm_.drop(*warm);  // another worker changed it first; it is read again
    if (turn.verdict == Turn::Verdict::kPutOff) turn.ended_at = &*turn.commit.mailbox->read_up_to;
    if (turn.verdict != Turn::Verdict::kAbandon && turn.ended_at != nullptr) leave_over(turn);
    return;
  }
  activities_.turn_committed(turn);
  for (const Trace& trace : turn.traces) {
    loop_.log(trace.level, "trace",
              {{"instance", turn.item->id.view()},
               {"execution", turn.item->execution},
               {"text", trace.text}},
              turn.item->trace.view());
  }
  log_cancel(turn);
  if (turn.ignores_cancel) log_ignored_cancel(turn);
  log_long_history(turn);
  if (!loop_.batch.utc_known) log_waiting_timers(turn);
  count(turn);
  if (turn.commit.last_new >= turn.commit.first_new || !turn.commit.messages.empty() ||
      turn.result_count > 0)
    ++loop_.work_done;
  advance_history(turn);
}

void Turns::advance_history(Turn& turn) {
  Warm& warm = *turn.warm;
  warm.revision = turn.item->revision + 1;
  if (turn.commit.end == EndKind::kNone) {
    const std::int64_t begun = turn.commit.begun.behaviour;
    warm_.keep_row(warm, *turn.item, version_of(turn), begun != 0 ? begun : turn.item->behaviour);
    if (turn.commit.more) loop_.agenda.do_now(Job::kTurns);
  } else if (turn.commit.end == EndKind::kContinuedAsNew) {
    loop_.agenda.do_now(Job::kTurns);
    // The next execution reads its carried values from the rows, once.
    if (warm.history.has_state()) return warm_.drop(warm);
    warm_.forget_row(warm);
    warm.history.clear();
    warm.execution = turn.item->execution + 1;
  } else {
    warm_.drop(warm);
    removals_.instance_ended();
  }
}

// Counts a committed turn, and logs a start and an end.
void Turns::count(const Turn& turn) {
  OrchestrationStats* const named = loop_.stats_of(turn.item->name.view(), version_of(turn));
  if (named != nullptr) {
    ++named->turns;
    named->turn.add(turn.took_ms);
  }
  if (turn.commit.first_new == 1) {
    if (named != nullptr) ++named->started;
    if (turn.warm->history.last_id() > 0) log_start(turn);
  }
  if (turn.commit.end == EndKind::kNone) return;
  const History& history = turn.warm->history;
  OptionalMs lasted_ms;  // none for a terminated instance: its history was not read
  if (history.last_id() == turn.commit.last_new)
    lasted_ms =
        subtract_saturating(history.event(history.last_id()).time_ms, history.event(1).time_ms);
  if (named != nullptr && lasted_ms.has_value()) named->lasted.add(lasted_ms.value());
  if (named != nullptr) named->history.add(turn.commit.last_new);
  if (turn.commit.end == EndKind::kContinuedAsNew) {
    ++loop_.stats.continued_as_new;
    if (named != nullptr) ++named->continued_as_new;
  } else if (turn.commit.end == EndKind::kCompleted) {
    ++loop_.stats.orchestrations_completed;
    if (named != nullptr) ++named->completed;
  } else {
    ++loop_.stats.orchestrations_failed;
    if (named != nullptr) ++named->failed;
  }
  log_end(turn, lasted_ms);
  if (turn.commit.mailbox->unread > 0) log_unread(turn);
}

// Logs also a restart by a person: the name given, how many events were carried over, and what
// became of the cancel request.
void Turns::log_start(const Turn& turn) {
  const Event& start = turn.warm->history.event(1);
  if (!start.tag.empty() && turn.commit.last_new >= 1) {
    loop_.log(LogLevel::kInfo, "orchestration_restarted",
              {{"instance", turn.item->id.view()},
               {"execution", turn.item->execution},
               {"by", start.tag},
               {"from", turn.restored == 0 ? "start" : "last_good_event"},
               {"events", turn.commit.carried},
               {"cancel_request", start.error == ErrorKind::kCancelled ? "kept"
                                  : start.error == ErrorKind::kClosed  ? "revoked"
                                                                       : "none"}},
              turn.item->trace.view());
  }
  if (!loop_.logs(LogLevel::kInfo)) return;
  loop_.log_often(LogLevel::kInfo, "orchestration_started",
                  {{"instance", turn.item->id.view()},
                   {"orchestration", turn.item->name.view()},
                   {"version", version_of(turn)},
                   {"execution", turn.item->execution}},
                  turn.item->trace.view());
}

// Writes one line, whatever the end is.
void Turns::log_end(const Turn& turn, OptionalMs lasted_ms) {
  const bool failed = turn.commit.end == EndKind::kFailed;
  const LogLevel level = failed ? LogLevel::kWarning : LogLevel::kInfo;
  if (!loop_.logs(level)) return;
  LogField fields[8];
  std::size_t count = 0;
  fields[count++] = {"instance", turn.item->id.view()};
  if (failed) {
    fields[count++] = {"kind", error_kind_name(turn.why)};
    fields[count++] = {"text", turn.why_text};
  }
  fields[count++] = {"orchestration", turn.item->name.view()};
  fields[count++] = {"version", version_of(turn)};
  fields[count++] = {"execution", turn.item->execution};
  fields[count++] = {"events", turn.commit.last_new};
  if (lasted_ms.has_value()) fields[count++] = {"duration_ms", lasted_ms.value()};
  if (failed)
    return loop_.log(level, "orchestration_failed", fields, count, turn.item->trace.view());
  loop_.log_often(level,
                  turn.commit.end == EndKind::kCompleted ? "orchestration_completed"
                                                         : "orchestration_continued_as_new",
                  fields, count, turn.item->trace.view());
}

// Logs each request, without the line budget, because operators follow a bulk cancel by these
// lines. A request that was handed on to the next execution is not logged again.
void Turns::log_cancel(const Turn& turn) {
  const EventId request = turn.warm->history.cancel_id();
  if (request == 0 || request < turn.commit.first_new || !loop_.logs(LogLevel::kInfo)) return;
  const Event& event = turn.warm->history.event(request);
  if (event.number != 0) return;
  loop_.log(LogLevel::kInfo, "cancel_requested",
            {{"instance", turn.item->id.view()},
             {"execution", turn.item->execution},
             {"reason", event.payload}},
            turn.item->trace.view());
}

// The instance stands still until its grace is over.
void Turns::log_ignored_cancel(const Turn& turn) {
  loop_.log(LogLevel::kWarning, "cancel_ignored",
            {{"instance", turn.item->id.view()}, {"execution", turn.item->execution}},
            turn.item->trace.view());
}

// Logged once an execution, by the turn that passed the mark. Code that watches the length goes on
// as new at three quarters, and a round of its loop may take a while: it is late at seven eighths.
void Turns::log_long_history(const Turn& turn) {
  const std::uint32_t events_max = loop_.options.limits.history_events_max;
  const EventId is_long =
      turn.watches_length ? events_max - events_max / 8 : long_history(events_max);
  if (turn.commit.last_new < is_long || turn.commit.first_new > is_long) return;
  loop_.log(LogLevel::kWarning, "history_is_long",
            {{"instance", turn.item->id.view()},
             {"execution", turn.item->execution},
             {"events", turn.commit.last_new},
             {"history_events_max", events_max}},
            turn.item->trace.view());
}

// Warns that these timers fire at no known time, because no trusted clock has been seen yet.
void Turns::log_waiting_timers(const Turn& turn) {
  if (turn.commit.end != EndKind::kNone) return;
  for (const NewTimer& timer : turn.commit.timers) {
    if (timer.base != TimerBase::kUtc) continue;
    loop_.log(LogLevel::kWarning, "timer_waits_for_clock",
              {{"instance", turn.item->id.view()},
               {"execution", turn.item->execution},
               {"event", timer.event},
               {"utc_ms", timer.delay_or_utc_ms}},
              turn.item->trace.view());
  }
}

// The senders were answered kOk, and no code has received the messages (R7.8).
void Turns::log_unread(const Turn& turn) {
  loop_.log(LogLevel::kWarning, "messages_unread",
            {{"instance", turn.item->id.view()},
             {"execution", turn.item->execution},
             {"messages", turn.commit.mailbox->unread}},
            turn.item->trace.view());
}

// Logs an instance that was parked or stopped.
void Turns::log_abandoned(const Turn& turn) {
  const bool stopped = !turn.delay_ms.has_value();
  OrchestrationStats* const named =
      loop_.stats_of(turn.item->name.view(), turn.item->version.view());
  if (stopped && named != nullptr) ++named->stopped;
  loop_.log(stopped ? LogLevel::kError : LogLevel::kWarning,
            stopped ? "instance_stopped" : "instance_parked",
            {{"instance", turn.item->id.view()},
             {"kind", error_kind_name(turn.why)},
             {"text", turn.why_text}},
            turn.item->trace.view());
}

Status Turns::set_back_failed_item(Status why) {
  const Turn& turn = list_[0];
  PAWL_TRY(loop_.transaction().begin(loop_.me, &loop_.batch));
  Status status = loop_.instance().ready.abandon_orchestration_item(
      turn.key, turn.item->revision, 1'000, true,
      why == Status::kCorrupt ? ErrorKind::kCorrupt : ErrorKind::kLimit, status_name(why));
  if (status == Status::kOk || status == Status::kStale) status = loop_.transaction().commit();
  if (status != Status::kOk) loop_.transaction().rollback();
  return status;
}

}  // namespace pawl
