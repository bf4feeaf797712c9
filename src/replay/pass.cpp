#include "pass.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "check.hpp"
#include "hash.hpp"

namespace pawl {
namespace {

// Names in diagnostics: enough to know them by, so that both sides fit.
constexpr int kNameShown = 48;

int shown(std::string_view name) {
  return static_cast<int>(std::min(name.size(), static_cast<std::size_t>(kNameShown)));
}

// Which part of two commands differs, or null.
const char* difference(const Event& recorded, const Event& issued) {
  if (recorded.kind != issued.kind) return "kind";
  if (recorded.name != issued.name) return "name";
  if (recorded.session != issued.session) return "session";
  if (recorded.argument_hash != issued.argument_hash) {
    if (recorded.kind != EventKind::kTimer) return "input";
    return recorded.base != issued.base ? "time base" : "duration";
  }
  return recorded.path_hash != issued.path_hash ? "what was awaited before it" : nullptr;
}

void format_guid(std::uint64_t high, std::uint64_t low, char* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  high = (high & ~std::uint64_t{0xf000}) | 0x4000;                       // version 4
  low = (low & ~(std::uint64_t{3} << 62U)) | (std::uint64_t{2} << 62U);  // variant of RFC 9562
  for (unsigned i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) *out++ = '-';
    const std::uint64_t half = i < 16 ? high : low;
    *out++ = kDigits[(half >> (60U - 4U * (i % 16))) & 0xfU];
  }
  *out = '\0';
}

}  // namespace

void TraceLog::clear() {
  count = 0;
  text_size = 0;
  lost = 0;
}

void TraceLog::add(LogLevel level, std::string_view text) {
  const std::string_view kept = cut_text(text, kTextBytesMax);
  if (count == capacity || kept.size() > text_capacity - text_size) {
    ++lost;
    return;
  }
  if (!kept.empty()) std::memcpy(texts + text_size, kept.data(), kept.size());
  traces[count++] = {level, {texts + text_size, kept.size()}};
  text_size += kept.size();
}

namespace internal {

Pass::Pass(const Setup& setup)
    : history_(*setup.history),
      input_(setup.input),
      limits_(*setup.limits),
      diagnostic_(*setup.diagnostic),
      traces_(*setup.traces),
      seen_(setup.seen),
      commands_begin_(begin_of_last_commands()),
      run_(setup.run),
      second_(setup.second) {
  root_.cursor = history_.branch(0).first;
}

// The pass that appended these commands knew all that stands before them. So whoever issues a new
// command at an earlier position could have issued it then, and did not.
EventId Pass::begin_of_last_commands() const {
  EventId id = history_.last_id();
  while (id > 0 && !is_command(history_.event(id).kind))
    --id;
  while (id > 1 && is_command(history_.event(id - 1).kind))
    --id;
  return id;
}

Status Pass::run() {
  if (!second_) traces_.clear();
  OrchestrationContext context(*this, 0);
  const Poll poll = input_->function(context);
  if (status_ == Status::kOk) check_ending(poll.is_pending());
  if (status_ == Status::kOk) check_complete();
  return status_ == Status::kOk ? finish() : status_;
}

// --- how the function left ------------------------------------------------------------------------

void Pass::check_ending(bool pending) {
  if (pending && root_.suspended) return;
  if (!pending && !root_.suspended && end_calls_ == 1) return;
  if (root_.suspended) {
    const Event& command = awaited_->event;
    diagnostic_.format(
        "the code went on after a pending await of %s \"%.*s\" (branch %u, ordinal %u)",
        event_kind_name(command.kind), shown(command.name), command.name.data(), command.branch,
        command.ordinal);
  } else if (end_calls_ != 0) {
    diagnostic_.format("the code returned pending after complete(), fail() or continue_as_new()");
  } else if (pending) {
    diagnostic_.format("the code returned pending, but no await was");
  } else {
    diagnostic_.format("the code returned done without complete(), fail() or continue_as_new()");
  }
  fail(Status::kAwaitSteppedOver);
}

void Pass::check_complete() {
  const char* const how = root_.suspended ? "waits" : "ends";
  if (root_.cursor != nullptr) {
    const Event& missing = root_.cursor->event;
    diagnostic_.format("event %u (branch %u, ordinal %u): history has %s \"%.*s\" hash %016" PRIx64
                       ", the code %s before it",
                       missing.id, missing.branch, missing.ordinal, event_kind_name(missing.kind),
                       shown(missing.name), missing.name.data(), missing.argument_hash, how);
    return fail(Status::kNondeterminism);
  }
  if (reissued_ != history_.command_count_) {
    diagnostic_.format("history has %u commands, the code issued %u of them and %s",
                       history_.command_count_, reissued_, how);
    return fail(Status::kNondeterminism);
  }
  if (history_.ended() && root_.suspended) {
    diagnostic_.format(
        "event %u: history has the end, the code waits for %s (branch %u, ordinal %u)",
        history_.end_id(), event_kind_name(awaited_->event.kind), awaited_->event.branch,
        awaited_->event.ordinal);
    return fail(Status::kNondeterminism);
  }
}

Status Pass::finish() {
  EventId id = history_.last_id();
  Record* next = nullptr;
  for (Record* record = first_staged_; record != nullptr; record = next) {
    next = record->next;
    record->next = nullptr;
    record->event.id = ++id;
    PAWL_TRY(history_.commit(record, diagnostic_));
  }
  if (end_ == nullptr) return Status::kOk;
  end_->event.id = ++id;
  return history_.commit(end_, diagnostic_);
}

void Pass::fail(Status status) {
  status_ = status;
  root_.suspended = true;
}

// --- commands -------------------------------------------------------------------------------------

bool Pass::is_active(const char* call) {
  if (root_.suspended) return false;
  if (end_calls_ == 0) return true;
  diagnostic_.format("the code called %s after complete(), fail() or continue_as_new()", call);
  fail(Status::kAwaitSteppedOver);
  return false;
}

History::Record* Pass::issue(Event& event) {
  event.branch = root_.number;
  event.ordinal = root_.ordinal;
  event.path_hash = root_.path_hash;
  Record* const record = root_.cursor != nullptr ? issue_recorded(event) : issue_new(event);
  if (record == nullptr) return nullptr;
  ++root_.ordinal;
  root_.path_hash = 0;
  return record;
}

History::Record* Pass::issue_recorded(Event& event) {
  Record* const record = root_.cursor;
  const char* const what = difference(record->event, event);
  if (what != nullptr) {
    fail_mismatch(record->event, event, what);
    return nullptr;
  }
  if (record->event.id <= root_.position) {
    diagnostic_.format("event %u (branch %u, ordinal %u): the code issues %s only after event %u",
                       record->event.id, event.branch, event.ordinal, event_kind_name(event.kind),
                       root_.position);
    fail(Status::kNondeterminism);
    return nullptr;
  }
  root_.cursor = record->next;
  ++reissued_;
  return record;
}

History::Record* Pass::issue_new(Event& event) {
  if (!may_issue_new(event) || !has_room(event)) return nullptr;
  event.time_ms = input_->stamp_ms;
  Record* const record = history_.stage(event);
  if (record == nullptr) {
    diagnostic_.format("no memory left for %s (branch %u, ordinal %u)", event_kind_name(event.kind),
                       event.branch, event.ordinal);
    fail(Status::kResourceExhausted);
    return nullptr;
  }
  (first_staged_ == nullptr ? first_staged_ : last_staged_->next) = record;
  last_staged_ = record;
  ++staged_count_;
  return record;
}

bool Pass::may_issue_new(const Event& event) {
  const char* why = nullptr;
  if (second_) {
    why = "in a second run over the same history";
  } else if (history_.ended()) {
    why = "where history has the end";
  } else if (root_.position < commands_begin_) {
    why = "where history goes on without it";
  }
  if (why == nullptr) return true;
  diagnostic_.format(
      "after event %u (branch %u, ordinal %u): the code issues %s \"%.*s\" hash %016" PRIx64 " %s",
      root_.position, event.branch, event.ordinal, event_kind_name(event.kind), shown(event.name),
      event.name.data(), event.argument_hash, why);
  fail(Status::kNondeterminism);
  return false;
}

bool Pass::has_room(const Event& event) {
  if (staged_count_ >= limits_.commands_a_turn_max) {
    diagnostic_.format("%s (branch %u, ordinal %u): more than commands_a_turn_max (%u) in one turn",
                       event_kind_name(event.kind), event.branch, event.ordinal,
                       limits_.commands_a_turn_max);
  } else if (history_.last_id() + staged_count_ + 2 > limits_.events_max) {
    // One is kept for the end.
    diagnostic_.format(
        "%s (branch %u, ordinal %u): history would have more than events_max (%u) events",
        event_kind_name(event.kind), event.branch, event.ordinal, limits_.events_max);
  } else {
    return true;
  }
  fail(Status::kResourceExhausted);
  return false;
}

void Pass::fail_mismatch(const Event& recorded, const Event& issued, const char* what) {
  diagnostic_.format(
      "event %u (branch %u, ordinal %u): %s differs: history has %s \"%.*s\" hash %016" PRIx64
      ", the code issues %s \"%.*s\" hash %016" PRIx64,
      recorded.id, recorded.branch, recorded.ordinal, what, event_kind_name(recorded.kind),
      shown(recorded.name), recorded.name.data(), recorded.argument_hash,
      event_kind_name(issued.kind), shown(issued.name), issued.name.data(), issued.argument_hash);
  fail(Status::kNondeterminism);
}

Handle Pass::schedule_activity(std::string_view name, std::string_view input,
                               std::string_view session, bool on_session) {
  if (!is_active("schedule_activity")) return refuse(Refusal::kNone);
  if (!is_valid_name(name)) return refuse(Refusal::kName);
  if (on_session && !is_valid_name(session)) return refuse(Refusal::kSession);
  if (input.size() > limits_.payload_bytes_max) return refuse(Refusal::kPayload);
  Event event;
  event.kind = EventKind::kActivity;
  event.name = name;
  event.session = session;
  event.payload = input;
  event.argument_hash = Hash64().add(session).add(input).value();
  return handle_of(issue(event));
}

Handle Pass::schedule_timer(TimerBase base, std::int64_t number) {
  if (!is_active("schedule_timer")) return refuse(Refusal::kNone);
  Event event;
  event.kind = EventKind::kTimer;
  event.base = base;
  event.number = number;
  event.argument_hash = Hash64()
                            .add(static_cast<std::uint64_t>(base))
                            .add(static_cast<std::uint64_t>(number))
                            .value();
  return handle_of(issue(event));
}

Guid Pass::new_guid() {
  Guid guid;
  if (!is_active("new_guid")) return guid;
  const auto half = [this](std::uint64_t which) {
    Hash64 hash;
    hash.add_bytes(input_->random, sizeof(input_->random));
    return hash.add(which).add(root_.number).add(root_.ordinal).value();
  };
  format_guid(half(0), half(1), guid.text);
  Event event;
  event.kind = EventKind::kGuid;
  event.payload = guid.view();
  const Record* const record = issue(event);
  if (record != nullptr) std::memcpy(guid.text, record->event.payload.data(), guid.view().size());
  return guid;
}

std::int64_t Pass::utc_now_ms() {
  if (!is_active("utc_now_ms")) return 0;
  Event event;
  event.kind = EventKind::kUtcNow;
  event.number = input_->stamp_ms;
  const Record* const record = issue(event);
  return record == nullptr ? 0 : record->event.number;
}

// --- endings --------------------------------------------------------------------------------------

Poll Pass::end(EndKind kind, ErrorKind error, std::string_view payload) {
  if (!is_active("complete(), fail() or continue_as_new()")) return Poll::done();
  ++end_calls_;
  Event event;
  event.kind = EventKind::kEnded;
  event.end = kind;
  event.error = error;
  event.payload = payload;
  if (kind == EndKind::kFailed) {
    event.payload = cut_text(payload, kErrorTextBytesMax);
  } else if (payload.size() > limits_.payload_bytes_max) {
    event.end = EndKind::kFailed;
    event.error = ErrorKind::kLimit;
    event.payload = kind == EndKind::kCompleted ? "the output is longer than payload_bytes_max"
                                                : "the next input is longer than payload_bytes_max";
  }
  event.path_hash = root_.path_hash;
  event.horizon = root_.position;
  event.time_ms = input_->stamp_ms;
  if (second_ || history_.ended()) {
    check_recorded_end(event);
    return Poll::done();
  }
  end_ = history_.stage(event);
  if (end_ == nullptr) {
    diagnostic_.format("no memory left for the end");
    fail(Status::kResourceExhausted);
  }
  return Poll::done();
}

void Pass::check_recorded_end(const Event& end) {
  if (!history_.ended()) {
    diagnostic_.format(
        "after event %u: a second run over the same history ends as %s, the first one waited",
        root_.position, end_kind_name(end.end));
    return fail(Status::kNondeterminism);
  }
  const Event& recorded = history_.event(history_.end_id());
  const char* what = nullptr;
  if (recorded.end != end.end || recorded.error != end.error)
    what = "kind of end";
  else if (recorded.payload != end.payload)
    what = "payload";
  else if (recorded.path_hash != end.path_hash)
    what = "what was awaited before it";
  else if (recorded.horizon != end.horizon)
    what = "position";
  if (what == nullptr) return;
  diagnostic_.format("event %u: %s differs: history ends as %s %s, the code as %s %s", recorded.id,
                     what, end_kind_name(recorded.end), error_kind_name(recorded.error),
                     end_kind_name(end.end), error_kind_name(end.error));
  fail(Status::kNondeterminism);
}

// --- awaits ---------------------------------------------------------------------------------------

Outcome Pass::await(const Handle& handle) {
  if (!is_active("await")) return Outcome::pending();
  if (handle.run_ != run_) return refused(static_cast<std::uint32_t>(Refusal::kForeign));
  if (handle.refusal_ != 0) return refused(handle.refusal_);
  const auto* const command = static_cast<const Record*>(handle.command_);
  const EventId completion = command->completion;
  const EventId cancel = history_.cancel_id();
  if (cancel > root_.position && (completion == 0 || completion >= cancel)) {
    add_to_path(command->event);
    root_.position = cancel;
    return Outcome::failure(ErrorKind::kCancelled, history_.event(cancel).payload);
  }
  if (completion == 0) return suspend(command);
  add_to_path(command->event);
  return receive(completion);
}

Outcome Pass::suspend(const Record* awaited) {
  root_.suspended = true;
  awaited_ = awaited;
  return Outcome::pending();
}

Outcome Pass::receive(EventId completion) {
  root_.position = std::max(root_.position, completion);
  const Event& event = history_.event(completion);
  if (event.error != ErrorKind::kNone) return Outcome::failure(event.error, event.payload);
  return Outcome::success(event.payload);
}

void Pass::add_to_path(const Event& command) {
  root_.path_hash = Hash64().add(root_.path_hash).add(command.branch).add(command.ordinal).value();
}

Outcome Pass::refused(std::uint32_t refusal) {
  switch (static_cast<Refusal>(refusal)) {
    case Refusal::kSession:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "a session is 1 to 256 bytes without control characters");
    case Refusal::kPayload:
      return Outcome::failure(ErrorKind::kLimit, "the input is longer than payload_bytes_max");
    case Refusal::kForeign:
      return Outcome::failure(ErrorKind::kInvalidArgument, "the handle is empty or of another run");
    case Refusal::kNone:
    case Refusal::kName: break;
  }
  return Outcome::failure(ErrorKind::kInvalidArgument,
                          "a name is 1 to 256 bytes without control characters");
}

// --- reading --------------------------------------------------------------------------------------

std::string_view Pass::start_payload() const { return history_.event(1).payload; }

std::int64_t Pass::now_ms() const { return history_.event(root_.position).time_ms; }

void Pass::trace(LogLevel level, std::string_view text) {
  if (!root_.suspended && !second_ && !is_replaying()) traces_.add(level, text);
}

}  // namespace internal
}  // namespace pawl
