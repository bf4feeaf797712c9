#include "replay/engine.hpp"

#include <new>

#include "core/check.hpp"
#include "replay/pass.hpp"

namespace pawl {
namespace {

EventId last_command_id(const History& history) {
  EventId id = history.last_id();
  while (id > 0 && !is_command(history.event(id).kind))
    --id;
  return id;
}

// The last event that code has seen in an earlier turn before it stopped at an await that still
// waits. A history that ends with a completion was run over to its end, and that turn recorded no
// command. Otherwise code has seen the events before its last commands, and no more: deliveries
// behind them may have come with that turn.
EventId last_ran_id(const History& history, EventId last) {
  EventId id = last;
  for (; id > 0 && !is_command(history.event(id).kind); --id) {
    const EventKind kind = history.event(id).kind;
    if (kind != EventKind::kDelivery && kind != EventKind::kReturn) return last;
  }
  while (id > 0 && is_command(history.event(id).kind))
    --id;
  return id;
}

// Refuses history of a newer engine, in which the same events may mean something else.
Status check_behaviour(const History& history, Diagnostic& diagnostic) {
  const std::int64_t behaviour = history.event(1).number;
  if (behaviour <= Engine::kBehaviour) return Status::kOk;
  diagnostic.format("event 1: recorded by behaviour %lld of the engine, this one knows up to %lld",
                    static_cast<long long>(behaviour), static_cast<long long>(Engine::kBehaviour));
  return Status::kUnsupported;
}

// Under behaviour 1 an event was only for a wait that was open at that moment.
bool keeps_events(const History& history) {
  return history.last_id() == 0 || history.event(1).number >= Engine::kBehaviourOfKeptEvents;
}

bool is_start(MessageKind kind) {
  return kind == MessageKind::kStart || kind == MessageKind::kContinue ||
         kind == MessageKind::kRestart;
}

Event started(const TurnInput& input, const EngineLimits& limits, const Message& start) {
  Event event;
  event.id = 1;
  event.kind = EventKind::kStarted;
  event.time_ms = input.stamp_ms;
  event.name = input.orchestration_name;
  event.version = input.version;
  event.number = Engine::kBehaviour;
  // The default is not written: it would be a part of every instance's first page.
  if (limits.events_max != EngineLimits().events_max)
    event.horizon = long_history(limits.events_max);
  event.payload = start.payload;
  if (start.kind == MessageKind::kRestart) {
    event.tag = start.name;
    event.error = start.error;
  }
  return event;
}

// One event is reserved for the end.
Status append(History& history, Event& event, std::uint32_t events_max, Diagnostic& diagnostic) {
  event.id = history.last_id() + 1;
  if (event.id + 1 <= events_max) return history.append(event, diagnostic);
  diagnostic.format("event %u: history would have more than events_max (%u) events", event.id,
                    events_max);
  return Status::kResourceExhausted;
}

// Intake: appends the events that follow from the messages of a turn.
class Intake {
 public:
  Intake(History& history, const TurnInput& input, const EngineLimits& limits, Mailbox& mailbox,
         Diagnostic& diagnostic)
      : history_(history),
        input_(input),
        limits_(limits),
        mailbox_(mailbox),
        diagnostic_(diagnostic) {}

  Status run() {
    for (std::size_t i = 0; i < input_.message_count; ++i)
      PAWL_TRY(take(input_.messages[i]));
    return Status::kOk;
  }
  [[nodiscard]] std::uint32_t dropped() const { return dropped_; }

 private:
  Status take(const Message& message) {
    if (is_of_mailbox(message.kind)) return take_message(message);
    if (input_.restored != 0 && message.kind == MessageKind::kRestart) return Status::kOk;
    Event event;
    if (!event_of(message, &event)) {
      ++dropped_;
      return Status::kOk;
    }
    event.time_ms = input_.stamp_ms;
    return append(history_, event, limits_.events_max, diagnostic_);
  }

  Status take_message(const Message& message) {
    if (input_.restored != 0 && is_delivered(message.id)) return Status::kOk;
    if (!mailbox_.add(message, message.id != 0)) {
      diagnostic_.format("more than mailbox_max (%u) messages wait", limits_.mailbox_max);
      return Status::kResourceExhausted;
    }
    std::uint32_t delivered = 0;
    return mailbox_.deliver(history_, input_.stamp_ms, limits_.events_max, diagnostic_, &delivered);
  }

  // The failed execution gave the message back at its end, but the history that goes on already has
  // it in a delivery (R10.4).
  [[nodiscard]] bool is_delivered(MessageId number) const {
    bool is = false;
    for (EventId id = 1; id <= history_.last_id(); ++id) {
      const Event& event = history_.event(id);
      if (event.kind == EventKind::kDelivery && event.number == number) is = true;
      if (event.kind == EventKind::kReturn && history_.event(event.ref).number == number)
        is = false;
    }
    return is;
  }

  // False: the message is a duplicate, late, or for another execution.
  bool event_of(const Message& message, Event* event) const {
    switch (message.kind) {
      case MessageKind::kStart:
      case MessageKind::kContinue:
      case MessageKind::kRestart: return start(message, event);
      case MessageKind::kActivityDone:
        return completion(message, EventKind::kActivity, EventKind::kActivityDone, event);
      case MessageKind::kTimerFired:
        return completion(message, EventKind::kTimer, EventKind::kTimerFired, event);
      case MessageKind::kChildDone: return child_done(message, event);
      case MessageKind::kValueAnswer: return value_answer(message, event);
      case MessageKind::kCancel: return cancel(message, event);
      case MessageKind::kEvent:
      case MessageKind::kOffer:
      case MessageKind::kCall:
      case MessageKind::kQueue: break;
    }
    return false;
  }

  bool start(const Message& message, Event* event) const {
    if (history_.last_id() != 0) return false;
    *event = started(input_, limits_, message);
    return true;
  }

  bool completion(const Message& message, EventKind command, EventKind kind, Event* event) const {
    if (message.execution != input_.execution || !history_.awaits_completion(message.ref))
      return false;
    if (history_.event(message.ref).kind != command) return false;
    event->kind = kind;
    event->ref = message.ref;
    event->error = message.error;
    event->payload = message.payload;
    if (message.error != ErrorKind::kNone) {
      event->payload = cut_text(message.payload, kErrorTextBytesMax);
    } else if (message.payload.size() > limits_.payload_bytes_max) {
      event->error = ErrorKind::kLimit;
      event->payload = "the result is longer than payload_bytes_max";
    }
    return true;
  }

  bool value_answer(const Message& message, Event* event) const {
    for (const EventKind command : {EventKind::kValueRead, EventKind::kSessionCheck,
                                    EventKind::kEnqueueEvent, EventKind::kRaiseEvent})
      if (completion(message, command, EventKind::kValueAnswer, event)) return true;
    return false;
  }

  // The error of a child that was cancelled or closed becomes kApplication: unchanged, it would
  // look like a cancellation of the parent, or a close by it.
  bool child_done(const Message& message, Event* event) const {
    if (!completion(message, EventKind::kChild, EventKind::kChildDone, event)) return false;
    if (event->error == ErrorKind::kCancelled || event->error == ErrorKind::kClosed)
      event->error = ErrorKind::kApplication;
    return true;
  }

  bool cancel(const Message& message, Event* event) const {
    if (history_.last_id() == 0 || history_.ended() || history_.cancel_id() != 0) return false;
    // A request that was handed on belongs to one execution; `ref` says how often it was handed on.
    if (message.execution != 0 && message.execution != input_.execution) return false;
    event->kind = EventKind::kCancelRequested;
    event->number = message.ref;
    event->payload = cut_text(message.payload, kErrorTextBytesMax);
    return true;
  }

  History& history_;
  const TurnInput& input_;
  const EngineLimits& limits_;
  Mailbox& mailbox_;
  Diagnostic& diagnostic_;
  std::uint32_t dropped_ = 0;
};

Message start_of(const TurnInput& input) {
  for (std::size_t i = 0; i < input.message_count; ++i)
    if (is_start(input.messages[i].kind)) return input.messages[i];
  return {};
}

}  // namespace

ErrorKind turn_error_kind(Status status) {
  switch (status) {
    case Status::kResourceExhausted: return ErrorKind::kLimit;
    case Status::kAwaitSteppedOver: return ErrorKind::kAwaitSteppedOver;
    case Status::kException: return ErrorKind::kException;
    case Status::kUnsupported: return ErrorKind::kUnregistered;
    case Status::kCorrupt: return ErrorKind::kCorrupt;
    default: return ErrorKind::kNondeterminism;
  }
}

struct Engine::Scratch {
  TraceLog traces;
  Mailbox mailbox;
  internal::TypedBytes typed;
  std::uint32_t runs = 0;
  // Handles point to the pass that made them, and a later pass refuses them by the number of its
  // run: so every pass is built at this one address.
  alignas(internal::Pass) unsigned char pass[sizeof(internal::Pass)];

  // Ends the pass with its scope; at most one at a time.
  class PassHolder {
   public:
    PassHolder(Scratch& scratch, internal::PassSetup setup) {
      setup.traces = &scratch.traces;
      setup.mailbox = &scratch.mailbox;
      setup.typed = scratch.typed;
      setup.run = ++scratch.runs;
      pass_ = ::new (static_cast<void*>(scratch.pass)) internal::Pass(setup);
    }
    ~PassHolder() { pass_->~Pass(); }
    PassHolder(const PassHolder&) = delete;
    PassHolder& operator=(const PassHolder&) = delete;
    internal::Pass* operator->() const { return pass_; }
    internal::Pass& operator*() const { return *pass_; }

   private:
    internal::Pass* pass_;
  };
};

// One function for both arenas, so that the memory asked for and the memory taken cannot drift
// apart.
template <typename AnyArena>
Engine::Scratch* Engine::lay_out(AnyArena& arena, const EngineLimits& limits) {
  const std::size_t text_bytes = limits.traces_a_turn_max * TraceLog::kTextBytesMean;
  Scratch* const scratch = arena.template make<Scratch>();
  Trace* const traces = arena.template array<Trace>(limits.traces_a_turn_max);
  auto* const origins = arena.template array<TraceLog::Origin>(limits.traces_a_turn_max);
  char* const texts = arena.buffer(text_bytes);
  auto* const entries = arena.template array<Mailbox::Entry>(limits.mailbox_max);
  auto* const given_back = arena.template array<Message>(limits.mailbox_max);
  auto* const kept = arena.template array<MessageId>(limits.mailbox_max);
  char* const typed = arena.buffer(limits.payload_bytes_max);
  const void* const pieces[] = {scratch, traces, origins, texts, entries, given_back, kept, typed};
  for (const void* const piece : pieces)
    if (piece == nullptr) return nullptr;
  scratch->mailbox.attach(entries, given_back, kept, limits.mailbox_max);
  scratch->typed = {typed, limits.payload_bytes_max};
  scratch->traces.traces = traces;
  scratch->traces.origins = origins;
  scratch->traces.texts = texts;
  scratch->traces.capacity = limits.traces_a_turn_max;
  scratch->traces.text_capacity = text_bytes;
  return scratch;
}

Engine::Engine(Arena& arena, const EngineLimits& limits)
    : scratch_(lay_out(arena, limits)), limits_(limits) {}

std::size_t Engine::required_memory(const EngineLimits& limits) {
  ArenaPlan plan;
  static_cast<void>(lay_out(plan, limits));
  return plan.required_memory();
}

bool Engine::ready() const { return scratch_ != nullptr; }

internal::TypedBytes Engine::typed_bytes() const { return scratch_->typed; }

TurnResult Engine::run_turn(History& history, const TurnInput& input, Diagnostic& diagnostic) {
  PAWL_CHECK("replay-3", ready());
  TurnResult result;
  const History::Mark before = history.mark();
  scratch_->traces.clear();
  scratch_->mailbox.clear();
  result.first_new = history.last_id() + 1;
  result.status = decide(history, input, diagnostic, result);
  if (result.status != Status::kOk) {
    history.rewind(before);
    scratch_->traces.clear();
    scratch_->mailbox.clear();
  }
  settle_mailbox(history, result);
  if (history.ended()) result.state = TurnState::kEnded;
  result.traces = scratch_->traces.traces;
  result.trace_count = scratch_->traces.count;
  result.traces_lost = scratch_->traces.lost;
  return result;
}

void Engine::settle_mailbox(const History& history, TurnResult& result) {
  Mailbox& mailbox = scratch_->mailbox;
  result.dropped += mailbox.settle(result.state == TurnState::kMore, keeps_events(history));
  result.kept = mailbox.kept();
  result.kept_count = mailbox.kept_count();
  result.given_back = mailbox.given_back();
  result.given_back_count = mailbox.given_back_count();
}

Status Engine::decide(History& history, const TurnInput& input, Diagnostic& diagnostic,
                      TurnResult& result) {
  // Without a new message the turn can only concern events that no pass has seen yet.
  const bool goes_on = input.message_count == input.waiting_count;
  internal::PassSetup setup;
  setup.seen = goes_on ? last_command_id(history) : history.last_id();
  setup.ran = last_ran_id(history, history.last_id());
  setup.sent = history.last_id();
  if (input.restored != 0) {
    // 1 means the start alone: a limit ended the execution in its first turn, and nothing else of
    // that turn is left.
    const EventId last = input.restored == 1 ? 0 : input.restored;
    setup.seen = setup.sent = last;
    setup.ran = last_ran_id(history, last);
  }
  Intake intake(history, input, limits_, scratch_->mailbox, diagnostic);
  PAWL_TRY(intake.run());
  // Answers tries of an earlier turn, which had not read all messages. This happens before the code
  // runs, so that the code sees the last events of history.
  std::uint32_t answered = 0;
  if (!input.more_messages)
    PAWL_TRY(
        Mailbox::answer_tries(history, input.stamp_ms, limits_.events_max, diagnostic, &answered));
  result.dropped = intake.dropped();
  if (history.last_id() == 0) return Status::kOk;
  PAWL_TRY(check_behaviour(history, diagnostic));
  if (history.ended()) return Status::kOk;
  return run_passes(history, input, diagnostic, setup, result);
}

Status Engine::run_passes(History& history, const TurnInput& input, Diagnostic& diagnostic,
                          internal::PassSetup setup, TurnResult& result) {
  setup.history = &history;
  setup.input = &input;
  setup.limits = &limits_;
  setup.diagnostic = &diagnostic;
  setup.commands_left = limits_.commands_a_turn_max;
  for (std::uint32_t passes = 1; passes <= limits_.passes_max; ++passes) {
    bool is_another_needed = false;
    const EventId known = history.last_id();
    PAWL_TRY(run_pass(setup, result, &is_another_needed));
    setup.ran = known;
    if (is_another_needed) continue;
    if (input.more_messages && (history.open_try() != 0 || setup.awaits_sends))
      result.state = TurnState::kMore;
    return input.verify ? verify(setup) : Status::kOk;
  }
  result.state = TurnState::kMore;
  return Status::kOk;
}

Status Engine::run_pass(internal::PassSetup& setup, TurnResult& result, bool* is_another_needed) {
  const Scratch::PassHolder pass(*scratch_, setup);
  PAWL_TRY(pass->run());
  ++result.passes;
  result.withdrawn += pass->withdrawn();
  std::uint32_t delivered = 0;
  if (!pass->has_ended()) {
    PAWL_TRY(scratch_->mailbox.deliver(*setup.history, setup.input->stamp_ms, limits_.events_max,
                                       *setup.diagnostic, &delivered));
    // One of the messages that were not read may be for the try.
    if (!setup.input->more_messages)
      PAWL_TRY(Mailbox::answer_tries(*setup.history, setup.input->stamp_ms, limits_.events_max,
                                     *setup.diagnostic, &delivered));
    // One of them may be the refusal of a message.
    setup.awaits_sends = pass->awaited_sends() != nullptr;
    if (!setup.input->more_messages) PAWL_TRY(answer_sends(setup, *pass, &delivered));
  }
  if (pass->sends() != nullptr) result.sends = pass->sends();
  *is_another_needed = pass->is_another_needed() || delivered != 0;
  setup.commands_left -= pass->appended();
  result.ignores_cancel = result.ignores_cancel || pass->ignores_cancel();
  result.watches_length = pass->watches_length();
  setup.position = pass->position();
  setup.path_hash = pass->path_hash();
  return Status::kOk;
}

Status Engine::answer_sends(const internal::PassSetup& setup, const internal::Pass& pass,
                            std::uint32_t* answered) {
  History& history = *setup.history;
  for (const auto* awaited = pass.awaited_sends(); awaited != nullptr; awaited = awaited->next) {
    if (!history.awaits_completion(awaited->send->event.id)) continue;
    Event event;
    event.kind = EventKind::kValueAnswer;
    event.ref = awaited->send->event.id;
    event.time_ms = setup.input->stamp_ms;
    PAWL_TRY(append(history, event, limits_.events_max, *setup.diagnostic));
    ++*answered;
  }
  return Status::kOk;
}

Status Engine::verify(internal::PassSetup setup) {
  setup.second = true;
  const Scratch::PassHolder second(*scratch_, setup);
  PAWL_TRY(second->run());
  if (second->position() == setup.position && second->path_hash() == setup.path_hash)
    return Status::kOk;
  setup.diagnostic->format(
      "a second run over the same history came to event %u by other awaits than the first, to %u",
      second->position(), setup.position);
  return Status::kNondeterminism;
}

TurnResult Engine::append_failure(History& history, const TurnInput& input, ErrorKind kind,
                                  std::string_view text) {
  TurnResult result;
  const History::Mark before = history.mark();
  result.first_new = history.last_id() + 1;
  result.status = append_end(history, input, kind, text);
  result.state = TurnState::kEnded;
  scratch_->mailbox.clear();
  for (std::size_t i = 0; i < input.message_count && result.status == Status::kOk; ++i) {
    const Message& message = input.messages[i];
    if (is_of_mailbox(message.kind) && !scratch_->mailbox.add(message, true))
      result.status = Status::kResourceExhausted;
  }
  if (result.status == Status::kOk)
    settle_mailbox(history, result);
  else
    history.rewind(before);
  return result;
}

Status Engine::append_end(History& history, const TurnInput& input, ErrorKind kind,
                          std::string_view text) {
  if (history.ended()) return Status::kOk;
  Diagnostic unused;
  if (history.last_id() == 0)
    PAWL_TRY(history.append(started(input, limits_, start_of(input)), unused));
  Event end;
  end.id = history.last_id() + 1;
  end.kind = EventKind::kEnded;
  end.end = EndKind::kFailed;
  end.error = kind;
  end.time_ms = input.stamp_ms;
  end.horizon = history.last_id();
  end.payload = cut_text(text, kErrorTextBytesMax);
  return history.append(end, unused);
}

}  // namespace pawl
