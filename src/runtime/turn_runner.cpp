#include "runtime/turn_runner.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace pawl {
namespace {

class HistoryEvents final : public EventSource {
 public:
  HistoryEvents(const History& history, const internal::TurnSends* sends)
      : history_(history), sends_(sends) {}
  [[nodiscard]] const Event& event(EventId id) const override { return history_.event(id); }
  [[nodiscard]] bool is_open(EventId command) const override {
    return history_.awaits_completion(command);
  }
  [[nodiscard]] const internal::TurnSends* sends() const override { return sends_; }
  [[nodiscard]] Unsettled unsettled() const override {
    Unsettled left = {false, false, false, false};
    EventId outcomes_missing = 0;
    for (EventId id = 1; id <= history_.last_id(); ++id) {
      const Event& event = history_.event(id);
      left.children = left.children || event.kind == EventKind::kChild;
      left.values = left.values || event.kind == EventKind::kStateWrite;
      left.sessions = left.sessions || is_of_session(event.kind) ||
                      (event.kind == EventKind::kActivity && !event.session.empty());
      if (event.kind == EventKind::kActivity) ++outcomes_missing;
      if (event.kind == EventKind::kActivityDone) --outcomes_missing;
    }
    left.work = outcomes_missing > 0;
    return left;
  }

 private:
  const History& history_;
  const internal::TurnSends* sends_;
};

class OneEvent final : public EventSource {
 public:
  [[nodiscard]] const Event& event(EventId /*id*/) const override { return is; }
  [[nodiscard]] bool is_open(EventId /*command*/) const override { return false; }
  Event is;
};

// False: a command that the execution carried over, and whose outcome it carried over too. It is
// not listed again.
bool is_listed(const History& history, const TurnCommit& commit, EventId id) {
  return id > commit.carried || !can_complete(history.event(id).kind) ||
         history.awaits_completion(id);
}

// How many entries the lists of a commit need.
struct Listed {
  std::size_t work = 0;
  std::size_t timers = 0;
};

Listed listed_of(const History& history, const TurnCommit& commit) {
  Listed listed;
  for (EventId id = commit.first_new; id <= commit.last_new; ++id) {
    if (!is_listed(history, commit, id)) continue;
    const EventKind kind = history.event(id).kind;
    if (kind == EventKind::kActivity)
      ++listed.work;
    else if (kind == EventKind::kTimer || kind == EventKind::kCancelRequested)
      ++listed.timers;
  }
  return listed;
}

}  // namespace

Status TurnRunner::gather_messages(Turn& turn, Message** messages, std::size_t* count) {
  std::size_t results = 0;
  slots_.for_each(
      [&](const internal::Slot& slot) { results += is_piggybacked_result(slot, turn) ? 1U : 0U; });
  const std::size_t stored = turn.item->message_count;
  const std::size_t known = stored + turn.posted.count;
  Message* const all = loop_.arena.array<Message>(known + results + 1);
  turn.results = loop_.arena.array<internal::Slot*>(results + 1);
  MessageId* const ids = loop_.arena.array<MessageId>(stored + 1);
  WorkDone* const done = loop_.arena.array<WorkDone>(results + 1);
  if (all == nullptr || turn.results == nullptr || ids == nullptr || done == nullptr)
    return Status::kResourceExhausted;
  const Message* const read = turn.item->messages;
  std::size_t due = stored;
  while (due > turn.item->waiting_count && read[due - 1].kind == MessageKind::kTimerFired)
    --due;
  std::copy_n(read, due, all);
  const std::size_t posted = inbox_.messages_of(turn, all + due);
  PAWL_CHECK("runtime-34", posted == turn.posted.count);
  std::copy_n(read + due, stored - due, all + due + posted);
  for (std::size_t i = 0; i < stored; ++i)
    ids[i] = read[i].id;
  gather_results(turn, all + known, done);
  turn.commit.messages = {ids, turn.is_start ? 0 : stored};
  turn.commit.done = {done, turn.result_count};
  *messages = all;
  *count = known + turn.result_count;
  return Status::kOk;
}

bool TurnRunner::is_piggybacked_result(const internal::Slot& slot, const Turn& turn) {
  return slot.state == internal::Slot::State::kFinished && !slot.refused && slot.has_outcome() &&
         slot.item.instance == turn.key;
}

// `turn.results` gets the slots of the results, in the same order.
void TurnRunner::gather_results(Turn& turn, Message* out, WorkDone* done) {
  slots_.for_each([&](internal::Slot& slot) {
    if (!is_piggybacked_result(slot, turn)) return;
    Message& message = out[turn.result_count];
    message.kind = MessageKind::kActivityDone;
    message.error = slot.result.error;
    message.execution = slot.item.execution;
    message.ref = slot.item.event;
    message.payload = std::string_view(slot.result.bytes, slot.result.size);
    done[turn.result_count] = slot.done();
    turn.results[turn.result_count++] = &slot;
  });
}

TurnInput TurnRunner::turn_input(const Turn& turn) {
  TurnInput input;
  input.instance_id = turn.item->id.view();
  input.orchestration_name = turn.item->name.view();
  input.version = turn.item->version.view();
  input.trace = turn.item->trace.view();
  input.execution = turn.item->execution;
  input.stamp_ms = loop_.batch.stamp_ms + (loop_.now - loop_.batch.now);
  loop_.port.clock->random(input.random, sizeof input.random);
  input.verify = loop_.options.verify_turns;
  return input;
}

// Has a timer fired that belongs to the cancel request and not to a command? The timer of behaviour
// 1 belongs to one execution, and names the event of the request.
bool TurnRunner::is_grace_over(const Turn& turn, const Message* messages, std::size_t count) {
  const EventId request = turn.warm->history.cancel_id();
  return std::any_of(messages, messages + count, [&](const Message& message) {
    if (message.kind != MessageKind::kTimerFired) return false;
    if (message.execution == 0) return true;
    return request != 0 && message.ref == request && message.execution == turn.item->execution;
  });
}

void TurnRunner::wait_for_room(Turn& turn) {
  turn.warm->history.rewind(turn.before);
  turn.verdict = Turn::Verdict::kWait;
  turn.commit = TurnCommit();
  turn.result_count = 0;
  loop_.agenda.do_now(Job::kTurns);
}

// Evicts warm histories while memory is short. Memory that other turns of this tick hold cannot be
// had now.
TurnResult TurnRunner::run_engine(Turn& turn, const TurnInput& input, Diagnostic& why,
                                  bool* is_short_of_memory) {
  for (;;) {
    const std::uint64_t shortages = warm_.shortages();
    const TurnResult result = engine_->run_turn(turn.warm->history, input, why);
    *is_short_of_memory =
        result.status == Status::kResourceExhausted && warm_.shortages() != shortages;
    if (!*is_short_of_memory || !warm_.evict_one()) return result;
  }
}

void TurnRunner::run(Turn& turn) {
  if (turn.verdict != Turn::Verdict::kCommit) return;
  if (turn.item->terminate) return terminate(turn);
  Message* messages = nullptr;
  std::size_t count = 0;
  if (gather_messages(turn, &messages, &count) != Status::kOk) return wait_for_room(turn);
  if (!ends_for_limits(turn, messages, count)) run_code(turn, messages, count);
}

// Ends an instance that met too many crashes, or did not end within its grace.
bool TurnRunner::ends_for_limits(Turn& turn, const Message* messages, std::size_t count) {
  const OrchestrationItem& item = *turn.item;
  FixedText<160> text;
  if (item.crashes >= loop_.options.limits.crashes_max ||
      item.strikes >= loop_.options.limits.strikes_max) {
    const bool fits = text.append("poisoned: its turn met ") == Status::kOk &&
                      text.append_number(item.crashes) == Status::kOk &&
                      text.append(" crashes, ") == Status::kOk &&
                      text.append_number(item.strikes) == Status::kOk &&
                      text.append(" strikes") == Status::kOk;
    PAWL_CHECK("runtime-31", fits);
    fail(turn, messages, count, ErrorKind::kPoison, loop_.keep_text(text.view()));
    if (turn.verdict == Turn::Verdict::kCommit) ++loop_.stats.poisoned;
    return true;
  }
  if (!is_grace_over(turn, messages, count)) return false;
  const bool fits = text.append("the code did not end within ") == Status::kOk &&
                    text.append_number(loop_.options.timing.cancel_grace.count()) == Status::kOk &&
                    text.append(" ms (timing.cancel_grace) of the cancel request") == Status::kOk;
  PAWL_CHECK("runtime-33", fits);
  fail(turn, messages, count, ErrorKind::kCancelled, loop_.keep_text(text.view()));
  return true;
}

void TurnRunner::run_code(Turn& turn, const Message* messages, std::size_t count) {
  const OrchestrationItem& item = *turn.item;
  const Registry::OrchestrationEntry* const entry =
      loop_.registry.find_orchestration(item.name.view(), item.version.view());
  PAWL_CHECK("runtime-73", entry != nullptr);  // TurnLoader found it
  // Stored with this turn, so that every worker runs the next turns in this version.
  if (item.version.view().empty()) turn.commit.begun.version = entry->version;
  TurnInput input = turn_input(turn);
  input.version = entry->version;
  input.code = entry->code;
  input.messages = messages;
  input.message_count = count;
  input.waiting_count = item.waiting_count;
  input.more_messages = item.more_messages;
  input.restored = turn.restored;
  Diagnostic why;
  this_worker_.note().instance.store(turn.is_start ? CrashNote::kNotStored : turn.key);
  bool is_short_of_memory = false;
  const TurnResult result = run_engine(turn, input, why, &is_short_of_memory);
  this_worker_.note().instance.store(0);
  if (is_short_of_memory && warm_.has_pinned_beside(*turn.warm)) return wait_for_room(turn);
  ++loop_.stats.turns;
  loop_.stats.messages_dropped += result.dropped;
  switch (result.status) {
    case Status::kOk: finish(turn, result); return wait_for_messages(turn, messages, count);
    case Status::kResourceExhausted:
      if (is_begun_under_more_events(turn))
        return turn.abandon(kStoppedForGood, ErrorKind::kLimit, loop_.keep_text(why.text()));
      return fail(turn, messages, count, ErrorKind::kLimit, loop_.keep_text(why.text()));
    case Status::kUnsupported:  // the row of the instance says otherwise
      return turn.abandon(kStoppedForGood, ErrorKind::kCorrupt, loop_.keep_text(why.text()));
    default:
      return turn.abandon(kStoppedForGood, turn_error_kind(result.status),
                          loop_.keep_text(why.text()));
  }
}

// The execution was begun, or has come so far, under a larger history_events_max. A worker with
// that limit goes on with it, so a limit that the turn meets here does not end it.
bool TurnRunner::is_begun_under_more_events(const Turn& turn) const {
  const std::uint32_t events_max = loop_.options.limits.history_events_max;
  if (turn.before.count == 0) return false;
  return turn.before.count >= events_max ||
         Engine::long_history_of(turn.warm->history) > long_history(events_max);
}

// If the code ends by itself, the end is put off while there are messages that it has not read, but
// not for ever. A run that received none of the messages that put the last end off is the last one
// (R7.7).
void TurnRunner::wait_for_messages(Turn& turn, const Message* messages, std::size_t count) {
  const EndKind end = turn.commit.end;
  if (turn.verdict != Turn::Verdict::kCommit || end == EndKind::kNone ||
      end == EndKind::kContinuedAsNew || (turn.ended_at != nullptr && !has_received_news(turn)))
    return;
  MessageId last = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (is_of_mailbox(messages[i].kind)) last = std::max(last, messages[i].id);
  turn.commit.mailbox->read_up_to = last;
}

// True: this run received messages that were not there before, and did not give them all back.
bool TurnRunner::has_received_news(const Turn& turn) {
  const History& history = turn.warm->history;
  const auto is_news = [&](const Event& delivery) {
    return delivery.id > turn.before.count && delivery.number > *turn.ended_at;
  };
  std::int64_t received = 0;
  for (EventId id = turn.before.count + 1; id <= history.last_id(); ++id) {
    const Event& event = history.event(id);
    if (event.kind == EventKind::kDelivery) received += is_news(event) ? 1 : 0;
    if (event.kind == EventKind::kReturn) received -= is_news(history.event(event.ref)) ? 1 : 0;
  }
  return received > 0;
}

// Lists the activities, timers and children that the closes of this turn ended; closing a branch
// ends all that are open in it and below it. Some may have completed or been closed before:
// removing a row that is not there does no harm. False: no memory.
bool TurnRunner::list_closed(Turn& turn) {
  const History& history = turn.warm->history;
  TurnCommit& commit = turn.commit;
  EventId first = 0;  // nothing older can be affected
  for (EventId id = std::max(commit.first_new, commit.carried + 1); id <= commit.last_new; ++id) {
    const Event& close = history.event(id);
    if (close.kind != EventKind::kClose) continue;
    const EventId target = history.command_id(close.branch, static_cast<Ordinal>(close.number));
    if (first == 0 || target < first) first = target;
  }
  if (first == 0) return true;
  EventId* const closed = loop_.arena.array<EventId>(commit.last_new - first + 1);
  std::size_t count = 0;
  if (closed == nullptr) return false;
  for (EventId id = first; id <= commit.last_new; ++id) {
    const EventKind kind = history.event(id).kind;
    if (kind != EventKind::kActivity && kind != EventKind::kTimer && kind != EventKind::kChild)
      continue;
    if (!history.awaits_completion(id)) closed[count++] = id;
    if (kind == EventKind::kChild) turn.wakes_others = true;
  }
  commit.closed = {closed, count};
  return true;
}

// Sorts out the messages that wait longer: stored ones are not taken, and piggybacked ones are
// stored. The lists are copied, because the engine's own end with its next turn. False: no memory.
bool TurnRunner::sort_mailbox(Turn& turn, const TurnResult& result) {
  TurnCommit& commit = turn.commit;
  if (result.kept_count == 0 && result.given_back_count == 0) return true;
  MessageId* const taken = loop_.arena.array<MessageId>(commit.messages.size() + 1);
  MessageId* const kept = loop_.arena.array<MessageId>(result.kept_count + 1);
  Message* const given_back =
      loop_.arena.array<Message>(result.given_back_count + turn.posted.count + 1);
  if (taken == nullptr || kept == nullptr || given_back == nullptr) return false;
  std::copy_n(result.given_back, result.given_back_count, given_back);
  std::size_t given_back_count = result.given_back_count;
  std::size_t kept_count = 0;
  for (std::size_t i = 0; i < result.kept_count; ++i) {
    std::size_t request = 0;
    if (inbox_.is_piggybacked(turn, result.kept[i], &request)) {
      // An offer is only for this turn, even if the turn was cut.
      const Message message = inbox_.message_of(request);
      if (message.kind != MessageKind::kOffer) given_back[given_back_count++] = message;
    } else {
      kept[kept_count++] = result.kept[i];
    }
  }
  std::size_t taken_count = 0;
  for (const MessageId message : commit.messages)
    if (!std::binary_search(kept, kept + kept_count, message)) taken[taken_count++] = message;
  commit.messages = {taken, taken_count};
  commit.kept = {kept, kept_count};
  commit.given_back = {given_back, given_back_count};
  return true;
}

// True: the end brings work for the parent or for children.
bool TurnRunner::ends_for_others(const Turn& turn) {
  if (turn.commit.end == EndKind::kNone) return false;
  if (turn.item->known.has_parent) return true;
  const History& history = turn.warm->history;
  for (EventId id = 1; id <= turn.commit.last_new; ++id)
    if (history.event(id).kind == EventKind::kChild) return true;
  return false;
}

void TurnRunner::finish(Turn& turn, const TurnResult& result) {
  const History& history = turn.warm->history;
  TurnCommit& commit = turn.commit;
  commit.key = turn.key;
  commit.id = turn.item->id.view();
  commit.trace = turn.item->trace.view();
  commit.revision = turn.item->revision;
  commit.execution = turn.item->execution;
  // All events with which a restored execution goes on are new to the storage.
  commit.first_new = turn.restored == 0 ? result.first_new : 1;
  commit.carried = turn.restored == 0 ? 0 : turn.before.count;
  commit.last_new = history.last_id();
  commit.events = loop_.arena.make<HistoryEvents>(history, result.sends);
  commit.more = result.state == TurnState::kMore;
  commit.home = loop_.me;
  commit.mailbox = loop_.arena.make<AtEnd>();
  commit.next.keep_executions = loop_.options.retention.executions;
  commit.next.removed = removals_.removed();
  commit.sessions_max.of_instance = loop_.options.sessions.max_sessions_per_orchestration;
  commit.sessions_max.of_label = loop_.options.sessions.max_sessions_per_owner;
  if (commit.events == nullptr || commit.mailbox == nullptr || !list_events(turn) ||
      !list_closed(turn) || !sort_mailbox(turn, result) || !keep_traces(turn, result))
    return wait_for_room(turn);
  if (ends_for_others(turn)) turn.wakes_others = true;
}

// False: no memory.
bool TurnRunner::list_events(Turn& turn) {
  const History& history = turn.warm->history;
  TurnCommit& commit = turn.commit;
  const Listed listed = listed_of(history, commit);
  NewWork* const work = loop_.arena.array<NewWork>(listed.work + 1);
  NewTimer* const timers = loop_.arena.array<NewTimer>(listed.timers + 1);
  if (work == nullptr || timers == nullptr) return false;
  std::size_t work_count = 0;
  std::size_t timer_count = 0;
  for (EventId id = commit.first_new; id <= commit.last_new; ++id) {
    const Event& event = history.event(id);
    if (event.kind == EventKind::kStarted) {
      commit.begun.behaviour = event.number;
      commit.begun.follows_end =
          turn.item->execution > 1 && turn.item->messages[0].kind == MessageKind::kStart;
    }
    if (!is_listed(history, commit, id)) continue;
    if (event.kind == EventKind::kActivity)
      work[work_count++] = {id, event.session, event.policy, event.tag, event.version};
    else if (event.kind == EventKind::kSessionCheck)
      turn.wakes_others = turn.wakes_others || history.awaits_completion(id);
    else if (is_of_session(event.kind))
      turn.changes_sessions = true;
    else if (event.kind == EventKind::kTimer)
      timers[timer_count++] = {id, event.base, event.number};
    else if (event.kind == EventKind::kCancelRequested && begins_grace(event))
      timers[timer_count++] = grace_of(history, event);
    else if (event.kind == EventKind::kDetached || is_send(event.kind))
      turn.wakes_others = true;
    else if (event.kind == EventKind::kChild || event.kind == EventKind::kValueRead)
      turn.wakes_others = turn.wakes_others || history.awaits_completion(id);
    else if (event.kind == EventKind::kEnded)
      list_end(turn, event);
  }
  turn.work = work;
  commit.work = {work, work_count};
  commit.timers = {timers, timer_count};
  return true;
}

// The grace of a request that was handed on has begun already.
bool TurnRunner::begins_grace(const Event& request) const {
  return request.number == 0 && loop_.options.timing.cancel_grace.count() > 0;
}

NewTimer TurnRunner::grace_of(const History& history, const Event& request) const {
  const EventId of = Engine::is_cancel_sticky(history) ? 0 : request.id;
  return {of, TimerBase::kPawlTime, loop_.options.timing.cancel_grace.count()};
}

void TurnRunner::list_end(Turn& turn, const Event& event) {
  TurnCommit& commit = turn.commit;
  const History& history = turn.warm->history;
  commit.end = event.end;
  if (history.cancel_id() != 0 && Engine::is_cancel_sticky(history)) {
    const Event& request = history.event(history.cancel_id());
    commit.next.cancel_reason = request.payload;
    commit.next.cancel_handed_on = static_cast<EventId>(request.number) + 1;
  }
  commit.error = event.error;
  (event.end == EndKind::kContinuedAsNew ? commit.next.input : commit.output) = event.payload;
  commit.next.version = event.version;
  if (event.end != EndKind::kFailed) return;
  turn.why = event.error;
  turn.why_text = event.payload;
}

// False: no memory.
bool TurnRunner::keep_traces(Turn& turn, const TurnResult& result) {
  Trace* const traces = loop_.arena.array<Trace>(result.trace_count + 1);
  if (traces == nullptr) return false;
  for (std::size_t i = 0; i < result.trace_count; ++i)
    traces[i] = {result.traces[i].level, loop_.keep_text(result.traces[i].text)};
  turn.traces = {traces, result.trace_count};
  turn.ignores_cancel = result.ignores_cancel;
  turn.watches_length = result.watches_length;
  loop_.stats.traces_lost += result.traces_lost;
  return true;
}

void TurnRunner::terminate(Turn& turn) {
  const OrchestrationItem& item = *turn.item;
  OneEvent* const end = loop_.arena.make<OneEvent>();
  turn.commit.mailbox = loop_.arena.make<AtEnd>();
  if (end == nullptr || turn.commit.mailbox == nullptr) return wait_for_room(turn);
  end->is.id = item.last_event + 1;
  end->is.kind = EventKind::kEnded;
  end->is.end = EndKind::kFailed;
  end->is.error = ErrorKind::kTerminated;
  end->is.time_ms = turn_input(turn).stamp_ms;
  end->is.horizon = item.last_event;
  end->is.payload = item.broken_text;
  TurnCommit& commit = turn.commit;
  commit.key = turn.key;
  commit.revision = item.revision;
  commit.execution = item.execution;
  commit.events = end;
  commit.first_new = end->is.id;
  commit.last_new = end->is.id;
  commit.end = EndKind::kFailed;
  commit.error = ErrorKind::kTerminated;
  commit.output = end->is.payload;
  commit.home = loop_.me;
  turn.wakes_others = true;
  turn.why = ErrorKind::kTerminated;
  turn.why_text = item.broken_text;
}

void TurnRunner::fail(Turn& turn, const Message* messages, std::size_t count, ErrorKind kind,
                      std::string_view text) {
  History& history = turn.warm->history;
  history.rewind(turn.before);
  TurnInput input = turn_input(turn);
  input.messages = messages;
  input.message_count = count;
  warm_.release_reserve();
  const TurnResult result = engine_->append_failure(history, input, kind, text);
  if (result.status != Status::kOk) {
    if (warm_.has_pinned_beside(*turn.warm)) return wait_for_room(turn);
    history.rewind(turn.before);
    turn.abandon(kStoppedForGood, kind, text);
    return;
  }
  finish(turn, result);
}

}  // namespace pawl
