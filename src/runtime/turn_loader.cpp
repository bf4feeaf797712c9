#include "runtime/turn_loader.hpp"

#include "runtime/runtime_limits.hpp"

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

// The message of a restart from the last good event; null: there is none.
const Message* restart_of(const OrchestrationItem& item) {
  if (item.last_event != 0 || item.message_count == 0) return nullptr;
  const Message& first = item.messages[0];
  return first.kind == MessageKind::kRestart && first.ref != 0 ? &first : nullptr;
}

// Makes the history of a restarted execution from that of the failed one (R10.2): the events up to
// the cut, and the later completions for them that did not fail.
class RestoringLoader final : public EventSink {
 public:
  RestoringLoader(HistoryLoader& loader, const History& history, const Message& restart)
      : loader_(loader), history_(history), restart_(restart) {}
  Status on_event(const Event& stored) override {
    Event event = stored;
    if (event.id == 1) {
      if (event.ref == 0) event.ref = static_cast<EventId>(restart_.execution - 1);
      event.tag = restart_.name;
      event.error = ErrorKind::kNone;
    }
    if (event.id > restart_.ref && !is_kept(event)) return Status::kOk;
    event.id = history_.last_id() + 1;
    return loader_.on_event(event);
  }

 private:
  [[nodiscard]] bool is_kept(const Event& event) const {
    if (!is_completion(event.kind) || event.ref > restart_.ref) return false;
    const bool is_result =
        event.kind == EventKind::kActivityDone || event.kind == EventKind::kChildDone;
    if (is_result && event.error != ErrorKind::kNone) return false;
    return history_.awaits_completion(event.ref);
  }

  HistoryLoader& loader_;
  const History& history_;
  const Message& restart_;
};

// Loads an execution's carried values and its history. A restarted one loads those of the execution
// that it goes on from.
Status load_rows(store::Instances& instances, const Turn& turn, const Message* restart,
                 HistoryLoader& loader, Diagnostic& text) {
  const Warm& warm = *turn.warm;
  const ExecutionId of = restart != nullptr ? warm.execution - 1 : warm.execution;
  PAWL_TRY(instances.rows.load_state(turn.key, of, loader));
  if (restart == nullptr && turn.item->last_event == 0) return Status::kOk;
  if (restart == nullptr) return instances.history.read_history(turn.key, of, 0, loader);
  RestoringLoader restoring(loader, warm.history, *restart);
  PAWL_TRY(instances.history.read_history(turn.key, of, 0, restoring));
  if (warm.history.last_id() >= restart->ref) return Status::kOk;
  text.format("the history that it was to go on with was removed");
  return Status::kCorrupt;
}

}  // namespace

void TurnLoader::start() {
  for (std::size_t i = 0; i < loop_.registry.orchestration_count(); ++i) {
    const Registry::OrchestrationEntry& entry = loop_.registry.orchestration(i);
    if (loop_.registry.find_orchestration(entry.name) == &entry)
      memory_.runnable[runnable_count_++] = {entry.name, {}, 0};
    memory_.runnable[runnable_count_++] = {entry.name, entry.version, 0};
    for (std::int64_t behaviour = Engine::kBehaviourMin; behaviour <= Engine::kBehaviour;
         ++behaviour)
      memory_.runnable[runnable_count_++] = {entry.name, entry.version, behaviour};
  }
}

Status TurnLoader::load(InstanceKey key, bool first, Turn* turn) {
  const Arena::Mark mark = loop_.arena.mark();
  turn->key = key;
  bool whole_mailbox = turn->ended_at != nullptr;
  Status fetched = fetch(*turn, whole_mailbox);
  // A restarted execution needs its whole mailbox to know what it carries over (R10.4).
  if (fetched == Status::kOk && turn->item->more_messages && restart_of(*turn->item) != nullptr) {
    loop_.arena.rewind(mark);
    whole_mailbox = true;
    fetched = fetch(*turn, whole_mailbox);
  }
  if (turn->item == nullptr) return Status::kResourceExhausted;
  // Only the first turn of a tick is sure to have memory for the whole mailbox.
  if (fetched == Status::kOk && whole_mailbox && turn->item->more_messages && !first)
    fetched = Status::kResourceExhausted;
  if (fetched == Status::kOk && has_full_mailbox(*turn->item)) {
    turn->leave_to_larger(Turn::Needs::kMoreMessages,
                          "more messages wait for it than this worker's queue_messages_max allows");
    return Status::kOk;
  }
  if (fetched == Status::kResourceExhausted && first && turn->item->more_messages) {
    // The turn is alone, and the message still too large: the process that stored it has a higher
    // payload_bytes_max.
    turn->leave_to_larger(Turn::Needs::kMoreBytes,
                          "a stored message is larger than this worker's payload_bytes_max allows");
    return Status::kOk;
  }
  if (fetched != Status::kOk) {
    loop_.arena.rewind(mark);
    return fetched;
  }
  if (turn->item->more_messages) loop_.agenda.do_now(Job::kTurns);
  if (turn->item->broken != Status::kOk) {
    turn->abandon(kStoppedForGood, ErrorKind::kCorrupt, turn->item->broken_text);
    return Status::kOk;
  }
  if (turn->item->terminate) {
    // No history is read, so that an instance with a damaged or too large one can be ended too.
    turn->warm = warm_.pin(key);
    turn->verdict = Turn::Verdict::kCommit;
    return turn->warm == nullptr ? Status::kResourceExhausted : Status::kOk;
  }
  if (!can_run(*turn->item)) {
    // The instance was listed for a result, and has gone on elsewhere: the result is stored for the
    // worker that runs it.
    turn->verdict = Turn::Verdict::kUnregistered;
    return Status::kOk;
  }
  if (activities_.waits_to_run_alone(turn->item->crashes)) {
    loop_.wants_quiet = true;
    turn->verdict = Turn::Verdict::kSkip;
    loop_.arena.rewind(mark);
    return Status::kOk;
  }
  return load_warm(*turn, first);
}

Status TurnLoader::fetch(Turn& turn, bool whole_mailbox) {
  turn.item = loop_.arena.make<OrchestrationItem>();
  if (turn.item == nullptr) return Status::kResourceExhausted;
  if (fetch_known(turn)) return Status::kOk;
  MessageLimits limits;
  limits.messages_max = loop_.options.limits.instance_batch_max;
  if (whole_mailbox) limits.mailbox_max = mailbox_max(loop_.options.limits.queue_messages_max);
  return loop_.instance().history.fetch_orchestration_item(turn.key, loop_.now, limits, loop_.arena,
                                                           turn.item);
}

const Warm* TurnLoader::find_known(InstanceKey key) {
  const Warm* const warm = warm_.find(key);
  const bool is_known = warm != nullptr && warm->row != nullptr &&
                        loop_.instance().history.still_knows(warm->row->known);
  return is_known ? warm : nullptr;
}

void TurnLoader::read_ahead(InstanceKey key) {
  if (find_known(key) == nullptr) loop_.instance().history.read_item_ahead(key);
}

// True: the item is made without a look at its rows.
bool TurnLoader::fetch_known(Turn& turn) {
  const Warm* const warm = find_known(turn.key);
  if (warm == nullptr) return false;
  const Arena::Mark mark = loop_.arena.mark();
  WarmCache::fetch_row(*warm, turn.item);
  if (!loop_.instance().history.fetch_known_item(warm->row->known, loop_.now, loop_.arena,
                                                 turn.item)) {
    loop_.arena.rewind(mark);
    return false;
  }
#ifndef NDEBUG
  check_known(turn);
#endif
  return true;
}

#ifndef NDEBUG
// Every statement that changes an instance or its messages, and is not marked as a turn's own, ends
// what is known of it; a mark in the wrong place shows here.
void TurnLoader::check_known(const Turn& turn) {
  const Arena::Mark mark = loop_.arena.mark();
  const OrchestrationItem& known = *turn.item;
  auto* const stored = loop_.arena.make<OrchestrationItem>();
  const MessageLimits limits = {loop_.options.limits.instance_batch_max, 0};
  if (stored != nullptr &&
      loop_.instance().history.fetch_orchestration_item(turn.key, loop_.now, limits, loop_.arena,
                                                        stored) == Status::kOk &&
      loop_.instance().history.still_knows(known.known))  // else the look has seen others' commits
    PAWL_CHECK("runtime-45",
               stored->known.is_alone && stored->message_count == known.message_count &&
                   (known.message_count == 0 || stored->messages[0].id == known.messages[0].id) &&
                   stored->broken == Status::kOk && !stored->terminate &&
                   stored->revision == known.revision && stored->execution == known.execution &&
                   stored->last_event == known.last_event &&
                   stored->crashes + stored->strikes + stored->reboots == 0 &&
                   stored->known.has_parent == known.known.has_parent &&
                   stored->behaviour == known.behaviour && stored->id.view() == known.id.view() &&
                   stored->name.view() == known.name.view() &&
                   stored->version.view() == known.version.view() &&
                   stored->trace.view() == known.trace.view());
  loop_.arena.rewind(mark);
}
#endif

bool TurnLoader::can_run(const OrchestrationItem& item) const {
  for (std::size_t i = 0; i < runnable_count_; ++i) {
    const Runnable& one = memory_.runnable[i];
    if (one.behaviour == item.behaviour && one.name == item.name.view() &&
        one.version == item.version.view())
      return true;
  }
  return false;
}

// True: a process with larger options sent more than fits here.
bool TurnLoader::has_full_mailbox(const OrchestrationItem& item) const {
  std::size_t posted = 0;
  for (std::size_t i = 0; i < item.message_count; ++i) {
    if (is_of_mailbox(item.messages[i].kind)) ++posted;
  }
  return posted > mailbox_max(loop_.options.limits.queue_messages_max);
}

Status TurnLoader::load_warm(Turn& turn, bool first) {
  turn.warm = warm_.pin(turn.key);
  if (turn.warm == nullptr) return Status::kResourceExhausted;
  Warm& warm = *turn.warm;
  const Message* const restart = restart_of(*turn.item);
  if (restart != nullptr) turn.restored = restart->ref;
  if (warm.revision != turn.item->revision || warm.execution != turn.item->execution) {
    warm_.forget_row(warm);
    warm.history.clear();
    warm.execution = turn.item->execution;
    warm.revision = turn.item->revision;
    Diagnostic text;
    HistoryLoader loader(warm.history, warm_, text);
    const Status loaded = load_rows(loop_.instance(), turn, restart, loader, text);
    ++loop_.stats.cold_loads;
    if (loaded == Status::kCorrupt) {
      const std::string_view why =
          text.text().empty() ? loop_.store->diagnostic().text() : text.text();
      turn.abandon(kStoppedForGood, ErrorKind::kCorrupt, loop_.keep_text(why));
      warm_.drop(warm);
      turn.warm = nullptr;
      return Status::kOk;
    }
    if (loaded == Status::kResourceExhausted) {
      warm_.drop(warm);
      turn.warm = nullptr;
      if (!first) return Status::kResourceExhausted;  // it comes alone in the next tick
      turn.abandon(kStoppedForGood, ErrorKind::kLimit,
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

}  // namespace pawl
