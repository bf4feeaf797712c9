// The turns of a tick: read, run, decide. Nothing is locked here and nothing leaves from here.
#include <algorithm>
#include <cstring>

#include "check.hpp"
#include "runtime_core.hpp"

namespace pawl {
namespace {

class HistoryLoader final : public EventSink, public StateSink {
 public:
  HistoryLoader(History& history, WarmCache& cache, Diagnostic& diagnostic)
      : history_(history), cache_(cache), diagnostic_(diagnostic) {}
  Status on_event(const Event& event) override {
    Status status = history_.append(event, diagnostic_);
    while (status == Status::kResourceExhausted && cache_.evict_one())
      status = history_.append(event, diagnostic_);
    return status;
  }
  Status on_value(std::string_view key, std::string_view value, std::int64_t updated_ms) override {
    Status status = history_.carry(key, value, updated_ms);
    while (status == Status::kResourceExhausted && cache_.evict_one())
      status = history_.carry(key, value, updated_ms);
    return status;
  }

 private:
  History& history_;
  WarmCache& cache_;
  Diagnostic& diagnostic_;
};

class HistoryEvents final : public EventSource {
 public:
  explicit HistoryEvents(const History& history) : history_(history) {}
  [[nodiscard]] const Event& event(EventId id) const override { return history_.event(id); }

 private:
  const History& history_;
};

class OneEvent final : public EventSource {
 public:
  [[nodiscard]] const Event& event(EventId /*id*/) const override { return is; }
  Event is;
};

std::size_t new_events_of(const TurnCommit& commit) {
  return commit.last_new >= commit.first_new ? commit.last_new - commit.first_new + 1 : 0;
}

}  // namespace

UnregisteredText unregistered_text(std::string_view name, std::string_view version) {
  UnregisteredText text;
  const bool fits =
      text.append("no orchestration \"") == Status::kOk && text.append(name) == Status::kOk &&
      text.append(version.empty() ? "" : "@") == Status::kOk &&
      text.append(version) == Status::kOk && text.append("\" is registered here") == Status::kOk;
  PAWL_CHECK("runtime-32", fits);
  return text;
}

std::string_view RuntimeCore::keep_text(std::string_view text) {
  char* const kept = loop_.arena.buffer(text.size() + 1);
  if (kept == nullptr) return {};
  if (!text.empty()) std::memcpy(kept, text.data(), text.size());
  return {kept, text.size()};
}

Status RuntimeCore::collect_turns(Turn* turns, std::size_t capacity, std::size_t* count) {
  *count = 0;
  if (!loop_.options.run_orchestrations || loop_.draining) {
    loop_.agenda.clear(Job::kTurns);
    return Status::kOk;
  }
  loop_.now = loop_.provider->pawl_now();
  PAWL_TRY(loop_.provider->begin_read());
  note_others();
  // If not, a loop without results would sleep and look at nothing.
  const bool lists = loop_.agenda.wants(Job::kTurns) || left_unrun_;
  std::size_t ready = 0;
  Status status = Status::kOk;
  if (lists)
    status = loop_.provider->list_ready(ready_query(), parts_.ready, loop_.options.batch, &ready);
  std::size_t wanted = 0;
  const std::size_t most = keys_max(loop_.options);
  InstanceKey* const keys = loop_.arena.array<InstanceKey>(most);
  if (keys == nullptr) status = Status::kResourceExhausted;
  const auto add = [&](InstanceKey key) {
    for (std::size_t i = 0; i < wanted; ++i)
      if (keys[i] == key) return;
    if (wanted < most) keys[wanted++] = key;
  };
  // Who comes first in one tick has all memory if it needs it. So those that were left over stay in front,
  // in their order, and each has its turn.
  const std::size_t left_over = left_over_count_;
  if (status == Status::kOk) {
    for (std::size_t i = 0; i < left_over; ++i)
      add(parts_.left_over[i]);
    left_over_count_ = 0;
    // Then instances whose activity just finished here: their results ride with the turn.
    slots_.for_each([&](internal::Slot& slot) {
      if (slot.state == internal::Slot::State::kFinished && !slot.refused && !slot.is_repeated() &&
          warm_.find(slot.item.instance) != nullptr)
        add(slot.item.instance);
    });
    for (std::size_t i = 0; i < ready; ++i)
      add(parts_.ready[i]);
    loop_.agenda.set(Job::kTurns, ready == loop_.options.batch);
  }
  for (std::size_t i = 0; i < wanted && status == Status::kOk; ++i) {
    if (*count == capacity) {
      loop_.agenda.do_now(Job::kTurns);
      break;
    }
    turns[*count] = Turn();
    // What they may need to run must be left for those before it.
    const bool has_room =
        *count == 0 || loop_.arena.capacity() - loop_.arena.used() >= loop_.arena.capacity() / 2;
    status =
        has_room ? prepare_turn(keys[i], *count == 0, &turns[*count]) : Status::kResourceExhausted;
    if (status == Status::kResourceExhausted && *count > 0) {
      loop_.agenda.do_now(Job::kTurns);  // the rest of the batch comes with the next tick
      for (std::size_t at = i; at < wanted && (at == i || at < left_over); ++at)
        parts_.left_over[left_over_count_++] = keys[at];
      status = Status::kOk;
      break;
    }
    if (status == Status::kNotFound) {
      status = Status::kOk;
      continue;
    }
    // One that must wait to run alone takes nobody's place in the batch.
    if (status == Status::kOk && turns[*count].verdict != Turn::Verdict::kSkip) ++*count;
  }
  if (*count == 0) loop_.agenda.clear(Job::kTurns);
  left_unrun_ = *count < wanted;
  if (lists) {
    if (strangers_.more) loop_.agenda.do_now(Job::kTurns);
    loop_.agenda.clear(Job::kYoungUnregistered);
    if (strangers_.look_at.has_value())
      loop_.agenda.plan(Job::kYoungUnregistered,
                        loop_.provider->boot_ms_of(strangers_.look_at.value()));
  }
  loop_.provider->end_read();
  return status;
}

ReadyQuery RuntimeCore::ready_query() {
  strangers_ = Strangers();
  ReadyQuery query;
  query.me = loop_.me;
  query.home_grace_ms = loop_.options.home_grace_ms;
  query.now = loop_.now;
  query.runnable = parts_.runnable;
  query.runnable_count = runnable_count_;
  query.strangers = &strangers_;
  return query;
}

bool RuntimeCore::can_run(const OrchestrationItem& item) const {
  for (std::size_t i = 0; i < runnable_count_; ++i) {
    const Runnable& one = parts_.runnable[i];
    if (one.behaviour == item.behaviour && one.name == item.name.view() &&
        one.version == item.version.view())
      return true;
  }
  return false;
}

// kOk: the turn is ready to run, or its verdict is known.
Status RuntimeCore::prepare_turn(InstanceKey key, bool first, Turn* turn) {
  const Arena::Mark mark = loop_.arena.mark();
  turn->key = key;
  turn->item = loop_.arena.make<OrchestrationItem>();
  if (turn->item == nullptr) return Status::kResourceExhausted;
  const Status fetched = loop_.provider->fetch_orchestration_item(
      key, loop_.now, loop_.options.instance_batch_max, loop_.arena, turn->item);
  if (fetched == Status::kOk && has_too_much_mail(*turn->item)) {
    abandon_turn(*turn, Provider::kStoppedForGood, ErrorKind::kLimit,
                 "more messages wait for it than this worker's queue_messages_max allows");
    return Status::kOk;
  }
  if (fetched == Status::kResourceExhausted && first && turn->item->more_messages) {
    // Alone, and still too large: whoever stored it had a higher payload_bytes_max.
    abandon_turn(*turn, Provider::kStoppedForGood, ErrorKind::kLimit,
                 "a stored message is larger than this worker's payload_bytes_max allows");
    return Status::kOk;
  }
  if (fetched != Status::kOk) {
    loop_.arena.rewind(mark);
    return fetched;
  }
  if (turn->item->more_messages) loop_.agenda.do_now(Job::kTurns);
  if (turn->item->broken != Status::kOk) {
    abandon_turn(*turn, Provider::kStoppedForGood, ErrorKind::kCorrupt,
                 turn->item->broken_text.view());
    return Status::kOk;
  }
  if (turn->item->terminate) {
    // No history is read: a damaged one, or one that does not fit, can be ended too.
    turn->warm = warm_.pin(key);
    turn->verdict = Turn::Verdict::kCommit;
    return turn->warm == nullptr ? Status::kResourceExhausted : Status::kOk;
  }
  if (!can_run(*turn->item)) {
    // It was listed for a result, and has gone on elsewhere: the result is stored for whoever runs it.
    turn->verdict = Turn::Verdict::kForeign;
    return Status::kOk;
  }
  if (activities_.must_wait_to_run_alone(turn->item->crashes)) {
    loop_.wants_quiet = true;
    turn->verdict = Turn::Verdict::kSkip;
    loop_.arena.rewind(mark);
    return Status::kOk;
  }
  return load_warm(*turn, first);
}

// Sent by a process with larger options.
bool RuntimeCore::has_too_much_mail(const OrchestrationItem& item) const {
  std::size_t mail = 0;
  for (std::size_t i = 0; i < item.message_count; ++i) {
    const MessageKind kind = item.messages[i].kind;
    if (kind == MessageKind::kEvent || kind == MessageKind::kQueue) ++mail;
  }
  return mail > mail_max(loop_.options.queue_messages_max);
}

Status RuntimeCore::load_warm(Turn& turn, bool first) {
  turn.warm = warm_.pin(turn.key);
  if (turn.warm == nullptr) return Status::kResourceExhausted;
  Warm& warm = *turn.warm;
  if (warm.revision != turn.item->revision || warm.execution != turn.item->execution) {
    warm.history.clear();
    warm.execution = turn.item->execution;
    warm.revision = turn.item->revision;
    Diagnostic text;
    HistoryLoader loader(warm.history, warm_, text);
    Status loaded = loop_.provider->load_state(turn.key, warm.execution, loader);
    if (loaded == Status::kOk)
      loaded = loop_.provider->load_history(turn.key, warm.execution, 0, loader);
    ++loop_.stats.cold_loads;
    if (loaded == Status::kCorrupt) {
      const std::string_view why =
          text.text().empty() ? loop_.provider->diagnostic().text() : text.text();
      abandon_turn(turn, Provider::kStoppedForGood, ErrorKind::kCorrupt, keep_text(why));
      warm_.drop(warm);
      turn.warm = nullptr;
      return Status::kOk;
    }
    if (loaded == Status::kResourceExhausted) {
      warm_.drop(warm);
      turn.warm = nullptr;
      if (!first) return Status::kResourceExhausted;  // alone, with the next tick
      abandon_turn(turn, Provider::kStoppedForGood, ErrorKind::kLimit,
                   "its history and values do not fit warm_bytes");
      return Status::kOk;
    }
    if (loaded != Status::kOk) {
      warm_.drop(warm);
      turn.warm = nullptr;
      return loaded;
    }
  }
  turn.before = warm.history.mark();
  turn.verdict = Turn::Verdict::kCommit;
  return Status::kOk;
}

void RuntimeCore::abandon_turn(Turn& turn, std::int64_t delay_ms, ErrorKind kind,
                               std::string_view text) {
  turn.verdict = Turn::Verdict::kAbandon;
  turn.delay_ms = delay_ms;
  turn.why = kind;
  turn.why_text = text;
  turn.result_count = 0;
}

// Stored messages, before what is due of them the mail that rides, then the results that ride. `turn.results` says which slots those are.
Status RuntimeCore::gather_messages(Turn& turn, Message** messages, std::size_t* count) {
  std::size_t riding = 0;
  const auto rides = [&](const internal::Slot& slot) {
    return slot.state == internal::Slot::State::kFinished && !slot.refused && !slot.is_repeated() &&
           slot.item.instance == turn.key;
  };
  slots_.for_each([&](internal::Slot& slot) { riding += rides(slot) ? 1U : 0U; });
  const std::size_t stored = turn.item->message_count;
  const std::size_t known = stored + turn.mail_count;
  Message* const all = loop_.arena.array<Message>(known + riding + 1);
  turn.results = loop_.arena.array<internal::Slot*>(riding + 1);
  MessageId* const ids = loop_.arena.array<MessageId>(stored + 1);
  WorkDone* const done = loop_.arena.array<WorkDone>(riding + 1);
  if (all == nullptr || turn.results == nullptr || ids == nullptr || done == nullptr)
    return Status::kResourceExhausted;
  const Message* const read = turn.item->messages;
  std::size_t due = stored;
  while (due > turn.item->waiting_count && read[due - 1].kind == MessageKind::kTimerFired)
    --due;
  std::copy_n(read, due, all);
  const std::size_t mail = gather_mail(turn, all + due);
  PAWL_CHECK("runtime-34", mail == turn.mail_count);
  std::copy_n(read + due, stored - due, all + due + mail);
  for (std::size_t i = 0; i < stored; ++i)
    ids[i] = read[i].id;
  slots_.for_each([&](internal::Slot& slot) {
    if (!rides(slot)) return;
    Message& message = all[known + turn.result_count];
    message.kind = MessageKind::kActivityDone;
    message.error = slot.error;
    message.execution = slot.item.execution;
    message.ref = slot.item.event;
    message.payload = std::string_view(slot.result, slot.result_size);
    done[turn.result_count] = slot.done();
    turn.results[turn.result_count++] = &slot;
  });
  turn.commit.messages = ids;
  turn.commit.message_count = turn.is_start ? 0 : stored;
  turn.commit.done = done;
  turn.commit.done_count = turn.result_count;
  *messages = all;
  *count = known + turn.result_count;
  return Status::kOk;
}

TurnInput RuntimeCore::turn_input(const Turn& turn) {
  TurnInput input;
  input.instance_id = turn.item->id.view();
  input.orchestration_name = turn.item->name.view();
  input.version = turn.item->version.view();
  input.execution = turn.item->execution;
  input.stamp_ms = loop_.batch.stamp_ms + (loop_.now - loop_.batch.now);
  loop_.port.clock->random(input.random, sizeof input.random);
  input.verify = loop_.options.verify_turns;
  return input;
}

// A timer that belongs to the cancel request and not to a command. It counts only after the request.
bool RuntimeCore::is_grace_over(const Turn& turn, const Message* messages, std::size_t count) {
  const EventId request = turn.warm->history.cancel_id();
  if (request == 0) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (messages[i].kind == MessageKind::kTimerFired && messages[i].ref == request &&
        messages[i].execution == turn.item->execution)
      return true;
  return false;
}

void RuntimeCore::run_turns(Turn* turns, std::size_t count) {
  const std::size_t unread = left_over_count_;
  bool is_first = true;
  for (std::size_t i = 0; i < count; ++i) {
    Turn& turn = turns[i];
    const Arena::Mark mark = loop_.arena.mark();
    run_turn(turn);
    // It cannot wait for anybody, so those behind it do: from the last, as many as it takes.
    for (std::size_t end = count;
         turn.verdict == Turn::Verdict::kWait && is_first && end > i + 1;) {
      for (const std::size_t kept = i + 1 + (end - i - 1) / 2; end > kept; --end)
        give_way(turns[end - 1]);
      loop_.arena.rewind(mark);
      turn.verdict = Turn::Verdict::kCommit;
      run_turn(turn);
    }
    if (turn.verdict == Turn::Verdict::kCommit) is_first = false;
    if (turn.verdict != Turn::Verdict::kWait) continue;
    give_way(turn);
    if (!turn.is_start) parts_.left_over[left_over_count_++] = turn.key;
  }
  InstanceKey* const all = parts_.left_over;
  std::rotate(all, all + unread, all + left_over_count_);
}

void RuntimeCore::give_way(Turn& turn) {
  if (turn.warm == nullptr) return;  // holds nothing
  turn.verdict = Turn::Verdict::kWait;
  warm_.drop(*turn.warm);
  turn.warm = nullptr;
}

// As if it had not run: messages and results stay where they are.
void RuntimeCore::wait_for_room(Turn& turn) {
  turn.warm->history.rewind(turn.before);
  turn.verdict = Turn::Verdict::kWait;
  turn.commit = TurnCommit();
  turn.result_count = 0;
  loop_.agenda.do_now(Job::kTurns);
}

// Memory that others of this tick hold cannot be had now.
TurnResult RuntimeCore::run_engine(Turn& turn, const TurnInput& input, Diagnostic& why,
                                   bool* is_short_of_memory) {
  for (;;) {
    const std::uint64_t shortages = warm_.shortages();
    const TurnResult result = engine_->run_turn(turn.warm->history, input, why);
    *is_short_of_memory =
        result.status == Status::kResourceExhausted && warm_.shortages() != shortages;
    if (!*is_short_of_memory || !warm_.evict_one()) return result;
  }
}

void RuntimeCore::run_turn(Turn& turn) {
  if (turn.verdict != Turn::Verdict::kCommit) return;
  OrchestrationItem& item = *turn.item;
  if (item.terminate) {
    terminate_turn(turn);
    return;
  }
  Message* messages = nullptr;
  std::size_t message_count = 0;
  if (gather_messages(turn, &messages, &message_count) != Status::kOk) return wait_for_room(turn);
  if (item.crashes >= loop_.options.crashes_max || item.strikes >= loop_.options.strikes_max) {
    FixedText<160> text;
    const bool fits = text.append("poisoned: its turn met ") == Status::kOk &&
                      text.append_number(item.crashes) == Status::kOk &&
                      text.append(" crashes, ") == Status::kOk &&
                      text.append_number(item.strikes) == Status::kOk &&
                      text.append(" strikes") == Status::kOk;
    PAWL_CHECK("runtime-31", fits);
    fail_turn(turn, ErrorKind::kPoison, keep_text(text.view()));
    if (turn.verdict == Turn::Verdict::kCommit) ++loop_.stats.poisoned;
    return;
  }
  if (is_grace_over(turn, messages, message_count)) {
    FixedText<160> text;
    const bool fits = text.append("the code did not end within ") == Status::kOk &&
                      text.append_number(loop_.options.cancel_grace_ms) == Status::kOk &&
                      text.append(" ms (cancel_grace_ms) of the cancel request") == Status::kOk;
    PAWL_CHECK("runtime-33", fits);
    fail_turn(turn, ErrorKind::kCancelled, keep_text(text.view()));
    return;
  }
  const Registry::OrchestrationEntry* const entry =
      loop_.registry.find_orchestration(item.name.view(), item.version.view());
  PAWL_CHECK("runtime-73", entry != nullptr);  // can_run() said so
  // Pinned with this turn: whoever runs the next ones runs this version.
  if (item.version.view().empty()) turn.commit.version = entry->version;
  TurnInput input = turn_input(turn);
  input.version = entry->version;
  input.code = entry->code;
  input.messages = messages;
  input.message_count = message_count;
  input.waiting_count = item.waiting_count;
  input.more_messages = item.more_messages;
  Diagnostic why;
  registration_.note().instance.store(turn.is_start ? CrashNote::kNotStored : turn.key,
                                      std::memory_order_relaxed);
  bool is_short_of_memory = false;
  const TurnResult result = run_engine(turn, input, why, &is_short_of_memory);
  registration_.note().instance.store(0, std::memory_order_relaxed);
  if (is_short_of_memory && warm_.has_pinned_beside(*turn.warm)) return wait_for_room(turn);
  ++loop_.stats.turns;
  loop_.stats.messages_dropped += result.dropped;
  switch (result.status) {
    case Status::kOk: finish_turn(turn, result); return;
    case Status::kResourceExhausted:
      fail_turn(turn, ErrorKind::kLimit, keep_text(why.text()));
      return;
    case Status::kUnsupported:  // and the row of the instance says otherwise
      abandon_turn(turn, Provider::kStoppedForGood, ErrorKind::kCorrupt, keep_text(why.text()));
      return;
    default:
      abandon_turn(turn, Provider::kStoppedForGood, turn_error_kind(result.status),
                   keep_text(why.text()));
      return;
  }
}

// The activities, timers and children that closes of this turn ended: of a branch all it and those below it have
// open. Some may have completed or been closed before; removing what is not there harms nobody.
// False: no memory.
bool RuntimeCore::list_closed(Turn& turn) {
  const History& history = turn.warm->history;
  TurnCommit& commit = turn.commit;
  EventId first = 0;  // nothing older can be concerned
  for (EventId id = commit.first_new; id <= commit.last_new; ++id) {
    const Event& close = history.event(id);
    if (close.kind != EventKind::kClose) continue;
    const EventId target = history.command_id(close.branch, static_cast<Ordinal>(close.number));
    if (first == 0 || target < first) first = target;
  }
  if (first == 0) return true;
  EventId* const closed = loop_.arena.array<EventId>(commit.last_new - first + 1);
  if (closed == nullptr) return false;
  for (EventId id = first; id <= commit.last_new; ++id) {
    const EventKind kind = history.event(id).kind;
    if (kind != EventKind::kActivity && kind != EventKind::kTimer && kind != EventKind::kChild)
      continue;
    if (!history.awaits_completion(id)) closed[commit.closed_count++] = id;
    if (kind == EventKind::kChild) turn.wakes_others = true;
  }
  commit.closed = closed;
  return true;
}

// Of the stored messages those that wait on are not taken, and of those that ride they are stored. The engine's
// lists end with its next turn. False: no memory.
bool RuntimeCore::sort_mail(Turn& turn, const TurnResult& result) {
  TurnCommit& commit = turn.commit;
  if (result.kept_count == 0 && result.given_back_count == 0) return true;
  const std::size_t stored = commit.message_count;
  MessageId* const taken = loop_.arena.array<MessageId>(stored + 1);
  MessageId* const kept = loop_.arena.array<MessageId>(result.kept_count + 1);
  Message* const given_back =
      loop_.arena.array<Message>(result.given_back_count + turn.mail_count + 1);
  if (taken == nullptr || kept == nullptr || given_back == nullptr) return false;
  std::copy_n(result.given_back, result.given_back_count, given_back);
  commit.given_back_count = result.given_back_count;
  for (std::size_t i = 0; i < result.kept_count; ++i) {
    std::size_t request = 0;
    if (rides(turn, result.kept[i], &request)) {
      given_back[commit.given_back_count++] = message_of(request);
    } else {
      kept[commit.kept_count++] = result.kept[i];
    }
  }
  commit.message_count = 0;
  for (std::size_t i = 0; i < stored; ++i)
    if (!std::binary_search(kept, kept + commit.kept_count, commit.messages[i]))
      taken[commit.message_count++] = commit.messages[i];
  commit.messages = taken;
  commit.kept = kept;
  commit.given_back = given_back;
  return true;
}

// Instances that the turn starts. A child that is not wanted any more when its turn is over never is.
// False: no memory.
bool RuntimeCore::list_starts(Turn& turn) {
  const History& history = turn.warm->history;
  TurnCommit& commit = turn.commit;
  EventId* const starts = loop_.arena.array<EventId>(new_events_of(commit) + 1);
  if (starts == nullptr) return false;
  for (EventId id = commit.first_new; id <= commit.last_new; ++id) {
    const EventKind kind = history.event(id).kind;
    if (kind == EventKind::kDetached ||
        (kind == EventKind::kChild && history.awaits_completion(id)))
      starts[commit.start_count++] = id;
  }
  commit.starts = starts;
  if (commit.start_count > 0) turn.wakes_others = true;
  return true;
}

// An end is news for the parent and for the children.
bool RuntimeCore::ends_for_others(const Turn& turn) {
  if (turn.commit.end == EndKind::kNone) return false;
  if (turn.item->has_parent) return true;
  const History& history = turn.warm->history;
  for (EventId id = 1; id <= turn.commit.last_new; ++id)
    if (history.event(id).kind == EventKind::kChild) return true;
  return false;
}

// Turns the new events into what the provider stores beside them.
void RuntimeCore::finish_turn(Turn& turn, const TurnResult& result) {
  History& history = turn.warm->history;
  TurnCommit& commit = turn.commit;
  turn.state = result.state;
  commit.key = turn.key;
  commit.id = turn.item->id.view();
  commit.revision = turn.item->revision;
  commit.execution = turn.item->execution;
  commit.first_new = result.first_new;
  commit.last_new = history.last_id();
  commit.events = loop_.arena.make<HistoryEvents>(history);
  commit.more = result.state == TurnState::kMore;
  commit.home = loop_.me;
  commit.keep_executions = loop_.options.keep_executions;
  commit.removed = removals_.removed();
  const std::size_t new_events = new_events_of(commit);
  NewWork* const work = loop_.arena.array<NewWork>(new_events + 1);
  NewTimer* const timers = loop_.arena.array<NewTimer>(new_events + 1);
  EventId* const sessions = loop_.arena.array<EventId>(new_events + 1);
  EventId* const writes = loop_.arena.array<EventId>(new_events + 1);
  EventId* const reads = loop_.arena.array<EventId>(new_events + 1);
  turn.traces = loop_.arena.array<Trace>(result.trace_count + 1);
  if (sessions == nullptr || commit.events == nullptr || work == nullptr || timers == nullptr ||
      writes == nullptr || reads == nullptr || turn.traces == nullptr)
    return wait_for_room(turn);
  for (EventId id = commit.first_new; id <= commit.last_new; ++id) {
    const Event& event = history.event(id);
    if (event.kind == EventKind::kStarted) commit.behaviour = event.number;
    if (event.kind == EventKind::kActivity)
      work[commit.work_count++] = {id, event.session, event.policy, event.tag};
    else if (is_of_session(event.kind))
      sessions[commit.session_count++] = id;
    else if (event.kind == EventKind::kTimer)
      timers[commit.timer_count++] = {id, event.base, event.number};
    else if (event.kind == EventKind::kCancelRequested && loop_.options.cancel_grace_ms > 0)
      timers[commit.timer_count++] = {id, TimerBase::kPawlTime, loop_.options.cancel_grace_ms};
    else if (event.kind == EventKind::kStateWrite)
      writes[commit.write_count++] = id;
    else if (event.kind == EventKind::kValueRead && history.awaits_completion(id))
      reads[commit.read_count++] = id;
    else if (event.kind == EventKind::kCustomStatus) {
      ++commit.custom_status_changes;
      commit.custom_status = event.payload;
    } else if (event.kind == EventKind::kEnded) {
      commit.end = event.end;
      commit.error = event.error;
      (event.end == EndKind::kContinuedAsNew ? commit.next_input : commit.output) = event.payload;
      commit.next_version = event.version;
      if (event.end == EndKind::kFailed) {
        turn.why = event.error;
        turn.why_text = event.payload;
      }
    }
  }
  commit.work = turn.work = work;
  commit.timers = timers;
  commit.sessions = sessions;
  commit.writes = writes;
  commit.reads = reads;
  commit.sessions_max = loop_.options.sessions.max_sessions_per_orchestration;
  commit.sessions_per_owner_max = loop_.options.sessions.max_sessions_per_owner;
  if (!list_starts(turn) || !list_closed(turn) || !sort_mail(turn, result))
    return wait_for_room(turn);
  if (commit.read_count > 0 || ends_for_others(turn)) turn.wakes_others = true;
  for (std::size_t i = 0; i < result.trace_count; ++i)
    turn.traces[i] = {result.traces[i].level, keep_text(result.traces[i].text)};
  turn.trace_count = result.trace_count;
  loop_.stats.traces_lost += result.traces_lost;
}

// Ends the instance as its operator asked: one event behind whatever is stored.
void RuntimeCore::terminate_turn(Turn& turn) {
  const OrchestrationItem& item = *turn.item;
  OneEvent* const end = loop_.arena.make<OneEvent>();
  if (end == nullptr) return wait_for_room(turn);
  end->is.id = item.last_event + 1;
  end->is.kind = EventKind::kEnded;
  end->is.end = EndKind::kFailed;
  end->is.error = ErrorKind::kTerminated;
  end->is.time_ms = turn_input(turn).stamp_ms;
  end->is.horizon = item.last_event;
  end->is.payload = item.broken_text.view();
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
  turn.state = TurnState::kEnded;
  turn.why = ErrorKind::kTerminated;
  turn.why_text = item.broken_text.view();
}

// Ends the instance for a reason outside its code.
void RuntimeCore::fail_turn(Turn& turn, ErrorKind kind, std::string_view text) {
  History& history = turn.warm->history;
  history.rewind(turn.before);
  TurnInput input = turn_input(turn);
  Message* const start = turn.item->messages;
  input.messages = start;
  input.message_count = turn.item->message_count;
  warm_.release_reserve();
  const Status appended = engine_->append_failure(history, input, kind, text);
  if (appended != Status::kOk) {
    if (warm_.has_pinned_beside(*turn.warm)) return wait_for_room(turn);
    history.rewind(turn.before);
    abandon_turn(turn, Provider::kStoppedForGood, kind, text);
    return;
  }
  TurnResult result;
  result.state = TurnState::kEnded;
  result.first_new = turn.before.count + 1;
  finish_turn(turn, result);
}

}  // namespace pawl
