#include "pass.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <new>

#include "check.hpp"
#include "hash.hpp"
#include "policy.hpp"
#include "version.hpp"

namespace pawl {
namespace {

// Names in diagnostics: enough to know them by, so that both sides fit.
constexpr int kNameShown = 48;

int shown(std::string_view name) {
  return static_cast<int>(std::min(name.size(), static_cast<std::size_t>(kNameShown)));
}

// What Event::session is to a kind of command.
const char* session_meaning(EventKind kind) {
  if (kind == EventKind::kSessionOpen) return "owner label";
  return kind == EventKind::kActivity ? "session" : "instance id";
}

// Which part of two commands differs, or null.
const char* difference(const Event& recorded, const Event& issued) {
  if (recorded.kind != issued.kind) return "kind";
  if (recorded.name != issued.name) return "name";
  if (recorded.session != issued.session) return session_meaning(recorded.kind);
  if (const char* const what = policy_difference(recorded.policy, issued.policy); what != nullptr)
    return what;
  if (recorded.tag != issued.tag)
    return recorded.kind == EventKind::kSessionOpen ? "session kind" : "tag";
  if (recorded.version != issued.version) return "version";
  if (recorded.argument_hash != issued.argument_hash) {
    if (recorded.kind == EventKind::kTimer)
      return recorded.base != issued.base ? "time base" : "duration";
    if (recorded.kind == EventKind::kClose)
      return recorded.number != issued.number ? "target" : "horizon";
    if (recorded.kind == EventKind::kDequeue) return "whether it waits";
    if (recorded.kind == EventKind::kSessionHold) return "duration";
    if (recorded.kind == EventKind::kSessionHandoff) return "summary";
    return recorded.kind == EventKind::kStateWrite ? "value" : "input";
  }
  return recorded.path_hash != issued.path_hash ? "what was awaited before it" : nullptr;
}

// An activity of which difference() looks at nothing but what and after what: for all else is at
// its default.
bool is_bare(const Event& event) {
  return event.kind == EventKind::kActivity && event.session.empty() && event.policy.empty() &&
         event.tag.empty() && event.version.empty();
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

void TraceLog::add(LogLevel level, std::string_view text, Origin origin) {
  const std::string_view kept = cut_text(text, kTextBytesMax);
  if (count == capacity || kept.size() > text_capacity - text_size) {
    ++lost;
    return;
  }
  if (!kept.empty()) std::memcpy(texts + text_size, kept.data(), kept.size());
  origins[count] = origin;
  traces[count++] = {level, {texts + text_size, kept.size()}};
  text_size += kept.size();
}

void TraceLog::withdraw() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (origins[i].position <= origins[i].branch->effective) traces[kept++] = traces[i];
  count = kept;
}

namespace internal {

Pass::Pass(const PassSetup& setup)
    : history_(*setup.history),
      input_(setup.input),
      limits_(*setup.limits),
      diagnostic_(*setup.diagnostic),
      traces_(*setup.traces),
      mailbox_(*setup.mailbox),
      seen_(setup.seen),
      ran_(setup.ran),
      run_(setup.run),
      commands_left_(setup.commands_left),
      second_(setup.second),
      notes_(setup.history->pool_) {
  root_.cursor = history_.branch(0).first;
  if (history_.ended()) root_.horizon = history_.event(history_.end_id()).horizon;
  last_number_ = history_.branch(history_.branch_count_).number;
}

void* Pass::note_bytes(std::size_t size) {
  void* const place = notes_.allocate(size);
  if (place != nullptr) return place;
  diagnostic_.format("no memory left to run the code");
  fail(Status::kResourceExhausted);
  return nullptr;
}

Status Pass::run() {
  if (!second_) traces_.clear();
  OrchestrationContext context(*this, root_);
  const Poll poll = input_->code(context);
  if (status_ == Status::kOk) end_branch(root_, poll.is_pending());
  if (status_ == Status::kOk) check_complete();
  return status_ == Status::kOk ? finish() : status_;
}

// --- how the code left ----------------------------------------------------------------------------

void Pass::check_ending(const BranchRun& branch, bool pending) {
  if (pending && branch.suspended) return;
  if (!pending && !branch.suspended && branch.end_calls == 1) return;
  if (branch.suspended && branch.awaited != nullptr) {
    const Event& command = branch.awaited->event;
    diagnostic_.format(
        "branch %u: the code went on after a pending await of %s \"%.*s\" (branch %u, ordinal %u)",
        branch.number, event_kind_name(command.kind), shown(command.name), command.name.data(),
        command.branch, command.ordinal);
  } else if (branch.end_calls != 0) {
    diagnostic_.format(
        "branch %u: the code returned pending after complete(), fail() or continue_as_new()",
        branch.number);
  } else if (pending) {
    diagnostic_.format("branch %u: the code returned pending, but no await was", branch.number);
  } else {
    diagnostic_.format(
        "branch %u: the code returned done without complete(), fail() or continue_as_new()",
        branch.number);
  }
  fail(Status::kAwaitSteppedOver);
}

// Thrown behind a pending await, or behind a mistake that was found before, it follows from that.
Poll Pass::stop_with_exception(const BranchRun& branch, const char* what) {
  if (status_ != Status::kOk || branch.suspended) return Poll::done();
  diagnostic_.format("branch %u: an exception left the code: %s", branch.number,
                     what == nullptr ? "not a std::exception" : what);
  fail(Status::kException);
  return Poll::done();
}

void Pass::check_complete() {
  for (const BranchRun* branch = &root_; branch != nullptr; branch = branch->next) {
    if (branch->cursor == nullptr) continue;
    const Event& missing = branch->cursor->event;
    diagnostic_.format("event %u (branch %u, ordinal %u): history has %s \"%.*s\" hash %016" PRIx64
                       ", the code %s before it",
                       missing.id, missing.branch, missing.ordinal, event_kind_name(missing.kind),
                       shown(missing.name), missing.name.data(), missing.argument_hash,
                       branch->suspended ? "waits" : "ends");
    return fail(Status::kNondeterminism);
  }
  if (end_ != nullptr && root_.position <= ran_) {
    diagnostic_.format("after event %u: the code ends as %s where it waited in an earlier turn",
                       root_.position, end_kind_name(end_->event.end));
    return fail(Status::kNondeterminism);
  }
  // A branch that was not opened leaves a command of its opener behind; so this cannot be the
  // code's.
  PAWL_CHECK("replay-4", reissued_ == history_.command_count_);
  if (history_.ended() && root_.suspended) {
    const Event& awaited = root_.awaited->event;
    diagnostic_.format(
        "event %u: history has the end, the code waits for %s (branch %u, ordinal %u)",
        history_.end_id(), event_kind_name(awaited.kind), awaited.branch, awaited.ordinal);
    return fail(Status::kNondeterminism);
  }
}

// --- the end of the pass --------------------------------------------------------------------------

// A close that is withdrawn itself changes nothing here: its horizon is above that of its owner.
void Pass::find_horizons() {
  if (root_.returned) root_.effective = root_.position;
  root_.effective = std::min(root_.effective, root_.horizon);
  for (BranchRun* branch = root_.next; branch != nullptr; branch = branch->next) {
    branch->effective = std::min(branch->parent->effective, branch->horizon);
    const History::InPass& opening = branch->opening->pass;
    if (opening.closed) branch->effective = std::min(branch->effective, opening.closed_at);
  }
}

bool Pass::wakes_another(const Record& close) const {
  for (const WaitOfOtherBranch* wait = waits_of_other_branches_; wait != nullptr; wait = wait->next)
    if (wait->leaf == close.pass.target && wait->waiter->effective == kNoHorizon) return true;
  return false;
}

Status Pass::append_commands() {
  for (Record* record = first_staged_; record != nullptr; record = record->pass.next_staged) {
    if (record->pass.emitted_at > record->pass.owner->effective) continue;
    record->event.id = history_.last_id() + 1;
    PAWL_TRY(history_.commit(record, diagnostic_));
    ++appended_;
    if (record->event.kind != EventKind::kClose) continue;
    has_closed_ = true;
    if (wakes_another(*record)) is_another_needed_ = true;
  }
  return Status::kOk;
}

Status Pass::finish() {
  find_horizons();
  if (!second_) traces_.withdraw();
  PAWL_TRY(append_commands());
  if (end_ != nullptr) {
    end_->event.id = history_.last_id() + 1;
    PAWL_TRY(history_.commit(end_, diagnostic_));
    is_another_needed_ = false;
  }
  return end_ != nullptr || has_closed_ ? append_returns() : Status::kOk;
}

// --- messages given back --------------------------------------------------------------------------

// A delivery to a wait that is no more, which no branch received within its horizon.
bool Pass::is_void(const Record& wait) const {
  if (wait.completion == 0 || history_.event(wait.completion).number == 0) return false;
  const bool is_over = end_ != nullptr || wait.close != 0 ||
                       history_.is_retired(history_.find_branch(wait.event.branch));
  if (!is_over) return false;
  for (const History::Receipt* receipt = wait.pass.receipts; receipt != nullptr;
       receipt = receipt->next)
    if (receipt->position <= receipt->branch->effective) return false;
  return true;
}

// Of the lowest number above `after`.
History::Record* Pass::next_to_return(std::int64_t after) const {
  Record* lowest = nullptr;
  for (const Record* wait = history_.newest_wait_; wait != nullptr; wait = wait->older_alike) {
    if (!is_void(*wait)) continue;
    Record* const delivery = history_.record(wait->completion);
    if (delivery->event.number <= after) continue;
    if (lowest == nullptr || delivery->event.number < lowest->event.number) lowest = delivery;
  }
  return lowest;
}

Status Pass::append_returns() {
  std::int64_t number = INT64_MIN;
  for (Record* delivery = nullptr; (delivery = next_to_return(number)) != nullptr;) {
    number = delivery->event.number;
    Event event;
    event.id = history_.last_id() + 1;
    event.kind = EventKind::kReturn;
    event.ref = delivery->event.id;
    event.time_ms = input_->stamp_ms;
    const Event& wait = history_.event(delivery->event.ref);
    PAWL_TRY(history_.append(event, diagnostic_));
    if (mailbox_.give_back(wait, delivery->event)) continue;
    diagnostic_.format(
        "event %u: more than mailbox_max (%u) messages wait, or half as many come back", event.id,
        limits_.mailbox_max);
    return Status::kResourceExhausted;
  }
  return Status::kOk;
}

// --- commands -------------------------------------------------------------------------------------

bool Pass::is_active(const BranchRun& branch, const char* call) {
  if (status_ != Status::kOk) return false;
  if (&branch != current_) {
    diagnostic_.format("the code called %s on the context of branch %u while branch %u ran", call,
                       branch.number, current_->number);
    fail(Status::kAwaitSteppedOver);
    return false;
  }
  if (branch.suspended) return false;
  if (branch.end_calls == 0) return true;
  diagnostic_.format("branch %u: the code called %s after complete(), fail() or continue_as_new()",
                     branch.number, call);
  fail(Status::kAwaitSteppedOver);
  return false;
}

History::Record* Pass::issue(Event& event) {
  event.branch = current_->number;
  event.ordinal = current_->ordinal;
  event.path_hash = current_->path_hash;
  if (current_->cursor != nullptr) return issue_recorded(event);
  Record* const record = issue_new(event);
  if (record != nullptr) adopt(record);
  return record;
}

void Pass::adopt(Record* record) {
  Record* const next_staged = record->pass.run == run_ ? record->pass.next_staged : nullptr;
  record->pass = History::InPass();
  record->pass.run = run_;
  record->pass.next_staged = next_staged;
  ++current_->ordinal;
  current_->path_hash = 0;
  record->pass.emitted_at = current_->position;
  record->pass.owner = current_;
  if (!can_complete(record->event.kind) && record->event.kind != EventKind::kBranchOpened) return;
  (current_->first_own == nullptr ? current_->first_own : current_->last_own->pass.next_own) =
      record;
  current_->last_own = record;
}

History::Record* Pass::issue_recorded(Event& event) {
  Record* const record = current_->cursor;
  const char* const what = difference(record->event, event);
  if (what != nullptr) {
    fail_mismatch(record->event, event, what);
    return nullptr;
  }
  if (record->event.id <= current_->position) {
    diagnostic_.format("event %u (branch %u, ordinal %u): the code issues %s only after event %u",
                       record->event.id, event.branch, event.ordinal, event_kind_name(event.kind),
                       current_->position);
    fail(Status::kNondeterminism);
    return nullptr;
  }
  return take_recorded(record);
}

// It is the one the code issues.
inline History::Record* Pass::take_recorded(Record* record) {
  current_->cursor = record->next;
  ++reissued_;
  adopt(record);
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
  (first_staged_ == nullptr ? first_staged_ : last_staged_->pass.next_staged) = record;
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
  } else if (current_->horizon != kNoHorizon) {
    why = "in a branch that history has closed";
  } else if (current_->position <= ran_) {
    why = "where history goes on without it";
  }
  if (why == nullptr) return true;
  diagnostic_.format(
      "after event %u (branch %u, ordinal %u): the code issues %s \"%.*s\" hash %016" PRIx64 " %s",
      current_->position, event.branch, event.ordinal, event_kind_name(event.kind),
      shown(event.name), event.name.data(), event.argument_hash, why);
  fail(Status::kNondeterminism);
  return false;
}

bool Pass::has_room(const Event& event) {
  if (staged_count_ >= commands_left_) {
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

Handle Pass::handle_of(Record* command) {
  return handle_of(command == nullptr ? Form::kNone : Form::kCommand, command);
}

// The same answer as below, without hashes: equal arguments have equal ones.
Handle Pass::schedule_activity(BranchRun& branch, std::string_view name, std::string_view input) {
  Record* const record = branch.cursor;
  if (record != nullptr && &branch == current_ && status_ == Status::kOk && !branch.suspended &&
      branch.end_calls == 0) {
    const Event& event = record->event;
    if (event.id > branch.position && event.path_hash == branch.path_hash && is_bare(event) &&
        event.name == name && event.payload == input)
      return handle_of(Form::kCommand, take_recorded(record));
  }
  return schedule_activity(branch, name, input, ActivityOptions());
}

ActivityPolicy Pass::policy_of(const ActivityOptions& options) {
  const Target& target = options.target;
  ActivityPolicy policy;
  policy.session = target.session_;
  policy.tag = options.tag;
  policy.device = target.kind_ == Target::Kind::kDevice;
  policy.own_session = target.kind_ == Target::Kind::kOwn;
  policy.exclusive = target.exclusive_;
  policy.barrier = target.barrier_;
  policy.unavailable_ms = target.unavailable_.count();
  policy.retry = options.retry;
  policy.start_to_close_ms = options.start_to_close.count();
  policy.schedule_to_close_ms = options.schedule_to_close.count();
  policy.schedule_to_start_ms = options.schedule_to_start.count();
  policy.heartbeat_timeout_ms = options.heartbeat_timeout.count();
  return policy;
}

Handle Pass::schedule_activity(BranchRun& branch, std::string_view name, std::string_view input,
                               const ActivityOptions& given) {
  if (!is_active(branch, "schedule_activity")) return handle_of(Form::kNone);
  if (!is_valid_name(name)) return handle_of(Form::kBadName);
  const ActivityPolicy options = policy_of(given);
  if (given.target.kind_ != Target::Kind::kAnyWorker && !is_valid_name(options.session))
    return handle_of(Form::kBadSession);
  if (!options.tag.empty() && !is_valid_name(options.tag)) return handle_of(Form::kBadTag);
  PolicyText policy;
  if (!encode_policy(options, &policy)) return handle_of(Form::kBadOptions);
  if (input.size() > limits_.payload_bytes_max) return handle_of(Form::kBadPayload);
  Event event;
  event.kind = EventKind::kActivity;
  event.name = name;
  event.session = options.session;
  event.policy = policy.view();
  event.tag = options.tag;
  event.payload = input;
  Hash64 hash;
  hash.add(options.session).add(input);
  if (!policy.empty()) hash.add(policy.view());
  if (!options.tag.empty()) hash.add(options.tag);
  event.argument_hash = hash.value();
  return handle_of(issue(event));
}

Handle Pass::schedule_timer(BranchRun& branch, TimerBase base, std::int64_t number) {
  if (!is_active(branch, "schedule_timer")) return handle_of(Form::kNone);
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

Pass::Form Pass::form_of_call(const NewInstanceCall& call) const {
  if (!is_valid_name(call.name)) return Form::kBadName;
  if (call.has_id && !is_valid_root_id(call.id)) return Form::kBadId;
  if (call.has_version && !is_valid_version(call.version)) return Form::kBadVersion;
  if (call.input.size() > limits_.payload_bytes_max) return Form::kBadPayload;
  return Form::kCommand;
}

History::Record* Pass::issue_start(EventKind kind, const NewInstanceCall& call) {
  Event event;
  event.kind = kind;
  event.name = call.name;
  event.session = call.id;
  event.version = call.version;
  event.payload = call.input;
  event.argument_hash = Hash64().add(call.id).add(call.input).value();
  return issue(event);
}

Handle Pass::schedule_child(BranchRun& branch, const NewInstanceCall& call) {
  if (!is_active(branch, "schedule_sub_orchestration")) return handle_of(Form::kNone);
  const Form form = form_of_call(call);
  return form == Form::kCommand ? handle_of(issue_start(EventKind::kChild, call)) : handle_of(form);
}

ErrorKind Pass::start_detached(BranchRun& branch, const NewInstanceCall& call) {
  if (!is_active(branch, "start_orchestration")) return ErrorKind::kNone;
  const Form form = form_of_call(call);
  if (form != Form::kCommand) return refused(form).error().kind;
  issue_start(EventKind::kDetached, call);
  return ErrorKind::kNone;
}

Handle Pass::schedule_wait(BranchRun& branch, EventKind kind, std::string_view name,
                           bool only_try) {
  if (!is_active(branch, kind == EventKind::kWait ? "schedule_wait" : "dequeue_event"))
    return handle_of(Form::kNone);
  if (!is_valid_name(name)) return handle_of(Form::kBadName);
  Event event;
  event.kind = kind;
  event.name = name;
  if (only_try) {
    event.number = 1;
    event.argument_hash = Hash64().add(std::uint64_t{1}).value();
  }
  return handle_of(issue(event));
}

Handle Pass::read_elsewhere(BranchRun& branch, std::string_view instance, std::string_view key) {
  if (!is_active(branch, "get_kv_value_from_instance")) return handle_of(Form::kNone);
  if (!is_valid_name(instance) || !is_valid_name(key)) return handle_of(Form::kBadName);
  Event event;
  event.kind = EventKind::kValueRead;
  event.name = key;
  event.session = instance;
  return handle_of(issue(event));
}

Guid Pass::new_guid(BranchRun& branch) {
  Guid guid;
  if (!is_active(branch, "new_guid")) return guid;
  const auto half = [this](std::uint64_t which) {
    Hash64 hash;
    hash.add_bytes(input_->random, sizeof(input_->random));
    return hash.add(which).add(current_->number).add(current_->ordinal).value();
  };
  format_guid(half(0), half(1), guid.text);
  Event event;
  event.kind = EventKind::kGuid;
  event.payload = guid.view();
  const Record* const record = issue(event);
  if (record != nullptr) std::memcpy(guid.text, record->event.payload.data(), guid.view().size());
  return guid;
}

std::int64_t Pass::utc_now_ms(BranchRun& branch) {
  if (!is_active(branch, "utc_now_ms")) return 0;
  Event event;
  event.kind = EventKind::kUtcNow;
  event.number = input_->stamp_ms;
  const Record* const record = issue(event);
  return record == nullptr ? 0 : record->event.number;
}

// --- branches -------------------------------------------------------------------------------------

Handle Pass::open_branch(BranchRun& branch, Poll (*call)(void*, OrchestrationContext&),
                         void* callable) {
  if (!is_active(branch, "open_branch")) return handle_of(Form::kNone);
  if (branch.depth == kBranchDepthMax) return handle_of(Form::kTooDeep);
  Event event;
  event.kind = EventKind::kBranchOpened;
  event.number = std::int64_t{last_number_} + 1;
  Record* const opening = issue(event);
  BranchRun* const opened = opening == nullptr ? nullptr : begin_branch(opening);
  if (opened == nullptr) return handle_of(Form::kNone);
  current_ = opened;
  OrchestrationContext context(*this, *opened);
  const Poll poll = call(callable, context);
  if (status_ == Status::kOk) end_branch(*opened, poll.is_pending());
  current_ = &branch;
  return handle_of(opening);
}

BranchRun* Pass::begin_branch(Record* opening) {
  auto* const place = note<BranchRun>(1);
  if (place == nullptr) return nullptr;
  BranchRun* const opened = ::new (place) BranchRun();
  opened->number = static_cast<BranchId>(opening->event.number);
  opened->parent = current_;
  opened->depth = current_->depth + 1;
  opened->opening = opening;
  opened->position = current_->position;
  opened->horizon = current_->horizon;
  if (opening->close != 0)
    opened->horizon = std::min(opened->horizon, history_.event(opening->close).horizon);
  if (opening->event.id != 0)
    opened->cursor = history_.branch(history_.find_branch(opened->number)).first;
  last_number_ = std::max(last_number_, opened->number);
  opening->pass.opened = opened;
  learn(*opened, *current_);
  last_branch_->next = opened;
  last_branch_ = opened;
  return opened;
}

void Pass::end_branch(BranchRun& branch, bool pending) {
  check_ending(branch, pending);
  if (status_ != Status::kOk || pending) return;
  branch.returned = true;
  if (&branch != &root_) close_own(branch);
}

void Pass::keep_result(BranchRun& branch, const Event& end) {
  if (end.end == EndKind::kContinuedAsNew) {
    diagnostic_.format("branch %u: continue_as_new() is for the root alone", branch.number);
    return fail(Status::kAwaitSteppedOver);
  }
  branch.error = end.error;
  if (end.payload.empty()) return;
  char* const copy = note<char>(end.payload.size());
  if (copy == nullptr) return;
  std::memcpy(copy, end.payload.data(), end.payload.size());
  branch.result = {copy, end.payload.size()};
}

// --- endings --------------------------------------------------------------------------------------

Poll Pass::continue_as_new(BranchRun& branch, std::string_view version, std::string_view input) {
  if (is_valid_version(version))
    return end(branch, EndKind::kContinuedAsNew, ErrorKind::kNone, input, version);
  return end(branch, EndKind::kFailed, ErrorKind::kInvalidArgument,
             refused(Form::kBadVersion).error().text);
}

Poll Pass::end(BranchRun& branch, EndKind kind, ErrorKind error, std::string_view payload,
               std::string_view version) {
  if (!is_active(branch, "complete(), fail() or continue_as_new()")) return Poll::done();
  ++branch.end_calls;
  Event event;
  event.kind = EventKind::kEnded;
  event.end = kind;
  event.error = error;
  event.payload = payload;
  event.version = version;
  if (kind == EndKind::kFailed) {
    event.payload = cut_text(payload, kErrorTextBytesMax);
  } else if (payload.size() > limits_.payload_bytes_max) {
    event.end = EndKind::kFailed;
    event.error = ErrorKind::kLimit;
    event.version = {};
    event.payload = kind == EndKind::kCompleted ? "the output is longer than payload_bytes_max"
                                                : "the next input is longer than payload_bytes_max";
  }
  if (&branch != &root_) {
    keep_result(branch, event);
    return Poll::done();
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
  if (recorded.end != end.end || recorded.error != end.error) {
    what = "kind of end";
  } else if (recorded.version != end.version) {
    what = "version";
  } else if (recorded.payload != end.payload) {
    what = "payload";
  } else if (recorded.path_hash != end.path_hash) {
    what = "what was awaited before it";
  } else if (recorded.horizon != end.horizon) {
    what = "position";
  }
  if (what == nullptr) return;
  diagnostic_.format("event %u: %s differs: history ends as %s %s, the code as %s %s", recorded.id,
                     what, end_kind_name(recorded.end), error_kind_name(recorded.error),
                     end_kind_name(end.end), error_kind_name(end.error));
  fail(Status::kNondeterminism);
}

// --- reading --------------------------------------------------------------------------------------

std::string_view Pass::start_payload() const { return history_.event(1).payload; }
std::string_view Pass::start_version() const { return history_.event(1).version; }

std::int64_t Pass::now_ms(const BranchRun& branch) const {
  return history_.event(branch.position).time_ms;
}

void Pass::trace(BranchRun& branch, LogLevel level, std::string_view text) {
  if (second_ || is_suspended(branch) || is_replaying(branch)) return;
  traces_.add(level, text, {&branch, branch.position});
}

}  // namespace internal
}  // namespace pawl
