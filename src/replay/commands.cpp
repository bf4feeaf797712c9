#include "replay/commands.hpp"

#include <cinttypes>

#include "codec/policy.hpp"
#include "core/check.hpp"
#include "replay/payloads_shown.hpp"

namespace pawl::internal {
namespace {

// The meaning of Event::session for a kind of command.
const char* session_meaning(EventKind kind) {
  if (kind == EventKind::kSessionOpen || kind == EventKind::kSessionSettings) return "owner label";
  return kind == EventKind::kActivity ? "session" : "instance id";
}

// Parts that an event keeps as its payload.
constexpr char kInput[] = "input";
constexpr char kValue[] = "value";
constexpr char kSummary[] = "summary";
constexpr char kPayload[] = "payload";
constexpr char kAnswer[] = "answer";

bool is_in_payload(const char* part) {
  return part == kInput || part == kValue || part == kSummary || part == kPayload ||
         part == kAnswer;
}

const char* reply_difference(const Event& recorded, const Event& issued) {
  if (recorded.number != issued.number) return "call";
  return recorded.error != issued.error ? "whether it refuses" : kAnswer;
}

// The part in which two commands differ, or null.
const char* difference(const Event& recorded, const Event& issued) {
  if (recorded.kind != issued.kind) return "kind";
  if (recorded.name != issued.name) return "name";
  if (recorded.session != issued.session) return session_meaning(recorded.kind);
  if (const char* const what = policy_difference(recorded.policy, issued.policy); what != nullptr)
    return what;
  if (recorded.tag != issued.tag && is_send(recorded.kind)) return "key";
  if (recorded.tag != issued.tag)
    return recorded.kind == EventKind::kActivity || recorded.kind == EventKind::kSessionHandoff
               ? "tag"
               : "session kind";
  if (recorded.version != issued.version) return "version";
  if (recorded.argument_hash != issued.argument_hash) {
    if (recorded.kind == EventKind::kTimer)
      return recorded.base != issued.base ? "time base" : "duration";
    if (recorded.kind == EventKind::kClose)
      return recorded.number != issued.number ? "target" : "horizon";
    if (recorded.kind == EventKind::kDequeue) return "whether it waits";
    if (recorded.kind == EventKind::kSessionHold) return "duration";
    if (recorded.kind == EventKind::kSessionHandoff) return kSummary;
    if (is_send(recorded.kind)) return kPayload;
    if (recorded.kind == EventKind::kReply) return reply_difference(recorded, issued);
    if (recorded.kind == EventKind::kStartIfEnded && recorded.number != issued.number)
      return "start_after";
    if (recorded.kind != EventKind::kStateWrite) return kInput;
    return recorded.number != issued.number ? "whether it clears the value" : kValue;
  }
  return recorded.path_hash != issued.path_hash ? "what was awaited before it" : nullptr;
}

// An activity for which difference() compares only its name, its input and its path, since all else
// has its default.
bool is_bare(const Event& event) {
  return event.kind == EventKind::kActivity && event.session.empty() && event.policy.empty() &&
         event.tag.empty() && event.version.empty();
}

}  // namespace

// ---- recorded commands ----

// Marks the record as issued by this branch, the current one.
inline void Commands::adopt(Record& record, BranchRun& branch) const {
  History::InPass mine;
  mine.run = run_.number();
  mine.next_staged = record.pass.run == mine.run ? record.pass.next_staged : nullptr;
  mine.emitted_at = branch.position;
  mine.owner = &branch;
  record.pass = mine;
  ++branch.ordinal;
  branch.path_hash = 0;
}

// Adds the record to those that the branch could wait for.
inline void Commands::own(Record& record, BranchRun& branch) {
  (branch.first_own == nullptr ? branch.first_own : branch.last_own->pass.next_own) = &record;
  branch.last_own = &record;
}

Commands::Record* Commands::take_bare_activity(BranchRun& branch, std::string_view name,
                                               std::string_view input) {
  Record* const record = branch.cursor;
  if (record == nullptr || &branch != &run_.current() || !run_.is_ok() || branch.suspended ||
      branch.end_calls != 0 || run_.is_cancelled(branch))
    return nullptr;
  const Event& event = record->event;
  if (event.id <= branch.position || event.path_hash != branch.path_hash || !is_bare(event) ||
      event.name != name || event.payload != input)
    return nullptr;
  branch.cursor = record->next;
  ++reissued_;
  adopt(*record, branch);
  own(*record, branch);
  return record;
}

History::Record* Commands::issue(Event& event) {
  event.branch = run_.current().number;
  event.ordinal = run_.current().ordinal;
  event.path_hash = run_.current().path_hash;
  if (run_.current().cursor != nullptr) return issue_recorded(event);
  Record* const record = issue_new(event);
  if (record != nullptr) take(*record);
  return record;
}

void Commands::take(Record& record) {
  adopt(record, run_.current());
  const EventKind kind = record.event.kind;
  // A message is sent, whether or not the code waits for the answer: the end of the branch closes
  // nothing.
  if ((can_complete(kind) && !is_send(kind)) || kind == EventKind::kBranchOpened)
    own(record, run_.current());
}

History::Record* Commands::issue_recorded(Event& event) {
  Record* const record = run_.current().cursor;
  const char* const what = difference(record->event, event);
  if (what != nullptr) {
    fail_mismatch(record->event, event, what);
    return nullptr;
  }
  if (record->event.id <= run_.current().position) {
    run_.diagnostic().format(
        "event %u (branch %u, ordinal %u): the code issues %s only after event %u",
        record->event.id, event.branch, event.ordinal, event_kind_name(event.kind),
        run_.current().position);
    run_.fail(Status::kNondeterminism);
    return nullptr;
  }
  run_.current().cursor = record->next;
  ++reissued_;
  take(*record);
  return record;
}

History::Record* Commands::issue_new(Event& event) {
  if (!may_issue_new(event) || !has_room(event)) return nullptr;
  event.time_ms = run_.input().stamp_ms;
  Record* const record = run_.history().stage(event);
  if (record == nullptr) {
    run_.diagnostic().format("no memory left for %s (branch %u, ordinal %u)",
                             event_kind_name(event.kind), event.branch, event.ordinal);
    run_.fail(Status::kResourceExhausted);
    return nullptr;
  }
  (first_staged_ == nullptr ? first_staged_ : last_staged_->pass.next_staged) = record;
  last_staged_ = record;
  ++staged_count_;
  return record;
}

bool Commands::may_issue_new(const Event& event) {
  const char* why = nullptr;
  if (run_.is_second()) {
    why = "in a second run over the same history";
  } else if (run_.history().ended()) {
    why = "where history has the end";
  } else if (run_.current().horizon != kNoHorizon) {
    why = "in a branch that history has closed";
  } else if (run_.current().position <= run_.ran()) {
    why = "where history goes on without it";
  }
  if (why == nullptr) return true;
  run_.diagnostic().format(
      "after event %u (branch %u, ordinal %u): the code issues %s \"%.*s\" hash %016" PRIx64 " %s",
      run_.current().position, event.branch, event.ordinal, event_kind_name(event.kind),
      shown_bytes(event.name), event.name.data(), event.argument_hash, why);
  run_.fail(Status::kNondeterminism);
  return false;
}

bool Commands::has_room(const Event& event) {
  if (staged_count_ >= left_) {
    run_.diagnostic().format(
        "%s (branch %u, ordinal %u): more than commands_a_turn_max (%u) in one turn",
        event_kind_name(event.kind), event.branch, event.ordinal,
        run_.limits().commands_a_turn_max);
  } else if (run_.history().last_id() + staged_count_ + 2 > run_.limits().events_max) {
    // One event is reserved for the end.
    run_.diagnostic().format(
        "%s (branch %u, ordinal %u): history would have more than events_max (%u) events",
        event_kind_name(event.kind), event.branch, event.ordinal, run_.limits().events_max);
  } else {
    return true;
  }
  run_.fail(Status::kResourceExhausted);
  return false;
}

void Commands::fail_mismatch(const Event& recorded, const Event& issued, const char* what) {
  run_.fail(Status::kNondeterminism);
  // A write that was refused has recorded no value.
  if (is_in_payload(what) && recorded.payload != issued.payload &&
      recorded.error == ErrorKind::kNone)
    return show_payloads(what, recorded, event_kind_name(recorded.kind), issued.payload,
                         run_.diagnostic());
  run_.diagnostic().format(
      "event %u (branch %u, ordinal %u): %s differs: history has %s \"%.*s\" hash %016" PRIx64
      ", the code issues %s \"%.*s\" hash %016" PRIx64,
      recorded.id, recorded.branch, recorded.ordinal, what, event_kind_name(recorded.kind),
      shown_bytes(recorded.name), recorded.name.data(), recorded.argument_hash,
      event_kind_name(issued.kind), shown_bytes(issued.name), issued.name.data(),
      issued.argument_hash);
}

bool Commands::takes_id(std::string_view id) const {
  const Record* const next = run_.current().cursor;
  return is_plain_id(id) ||
         (next != nullptr && (next->event.name == id || next->event.session == id));
}

void Commands::check_all_issued() {
  for (const BranchRun* branch = &run_.root(); branch != nullptr; branch = branch->next) {
    if (branch->cursor == nullptr) continue;
    const Event& missing = branch->cursor->event;
    run_.diagnostic().format(
        "event %u (branch %u, ordinal %u): history has %s \"%.*s\" hash %016" PRIx64
        ", the code %s before it",
        missing.id, missing.branch, missing.ordinal, event_kind_name(missing.kind),
        shown_bytes(missing.name), missing.name.data(), missing.argument_hash,
        branch->suspended ? "waits" : "ends");
    return run_.fail(Status::kNondeterminism);
  }
  // A branch that was not opened leaves a command of its opener unissued, so code cannot cause this
  // mismatch.
  PAWL_CHECK("replay-4", reissued_ == run_.history().command_count_);
}

}  // namespace pawl::internal
