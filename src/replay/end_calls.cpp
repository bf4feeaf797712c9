#include "replay/end_calls.hpp"

#include <cstring>

#include "core/version.hpp"
#include "replay/awaits.hpp"
#include "replay/payloads_shown.hpp"

namespace pawl::internal {

Poll EndCalls::continue_as_new(BranchRun& branch, std::string_view version,
                               std::string_view input) {
  if (is_valid_version(version))
    return end(branch, EndKind::kContinuedAsNew, ErrorKind::kNone, input, version);
  return end(branch, EndKind::kFailed, ErrorKind::kInvalidArgument,
             refused(HandleForm::kBadVersion).error().text);
}

Poll EndCalls::end(BranchRun& branch, EndKind kind, ErrorKind error, std::string_view payload,
                   std::string_view version) {
  if (!run_.is_active(branch, "complete(), fail() or continue_as_new()")) return Poll::done();
  if (kind == EndKind::kContinuedAsNew && has_handed_on_enough()) {
    Run::suspend_for_good(branch);
    return Poll::pending();
  }
  ++branch.end_calls;
  Event event;
  event.kind = EventKind::kEnded;
  event.end = kind;
  event.error = error;
  event.payload = payload;
  event.version = version;
  if (kind == EndKind::kFailed) {
    event.payload = cut_text(payload, kErrorTextBytesMax);
  } else if (payload.size() > run_.limits().payload_bytes_max) {
    event.end = EndKind::kFailed;
    event.error = ErrorKind::kLimit;
    event.version = {};
    event.payload = kind == EndKind::kCompleted ? "the output is longer than payload_bytes_max"
                                                : "the next input is longer than payload_bytes_max";
  }
  if (&branch != &run_.root()) {
    keep_result(branch, event);
    return Poll::done();
  }
  event.path_hash = run_.root().path_hash;
  event.horizon = run_.root().position;
  event.time_ms = run_.input().stamp_ms;
  if (run_.is_second() || run_.history().ended()) {
    check_recorded_end(event);
    return Poll::done();
  }
  staged_ = run_.history().stage(event);
  if (staged_ == nullptr) {
    run_.diagnostic().format("no memory left for the end");
    run_.fail(Status::kResourceExhausted);
  }
  return Poll::done();
}

// Whether the cancel request was handed on too often: the next execution would be one more that
// ignores it (R8.6).
bool EndCalls::has_handed_on_enough() const {
  const EventId cancel = run_.history().cancel_id();
  return cancel != 0 && run_.history().event(cancel).number >= kCancelHandedOnMax;
}

void EndCalls::check_recorded_end(const Event& end) {
  if (!run_.history().ended()) {
    run_.diagnostic().format(
        "after event %u: a second run over the same history ends as %s, the first one waited",
        run_.root().position, end_kind_name(end.end));
    return run_.fail(Status::kNondeterminism);
  }
  const Event& recorded = run_.history().event(run_.history().end_id());
  const char* what = nullptr;
  if (recorded.end != end.end || recorded.error != end.error) {
    what = "kind of end";
  } else if (recorded.version != end.version) {
    what = "version";
  } else if (recorded.payload != end.payload) {
    show_payloads("payload", recorded, end_kind_name(recorded.end), end.payload, run_.diagnostic());
    return run_.fail(Status::kNondeterminism);
  } else if (recorded.path_hash != end.path_hash) {
    what = "what was awaited before it";
  } else if (recorded.horizon != end.horizon) {
    what = "position";
  }
  if (what == nullptr) return;
  run_.diagnostic().format("event %u: %s differs: history ends as %s %s, the code as %s %s",
                           recorded.id, what, end_kind_name(recorded.end),
                           error_kind_name(recorded.error), end_kind_name(end.end),
                           error_kind_name(end.error));
  run_.fail(Status::kNondeterminism);
}

void EndCalls::keep_result(BranchRun& branch, const Event& end) {
  if (end.end == EndKind::kContinuedAsNew) {
    run_.diagnostic().format("branch %u: continue_as_new() is for the root alone", branch.number);
    return run_.fail(Status::kAwaitSteppedOver);
  }
  branch.error = end.error;
  if (end.payload.empty()) return;
  char* const copy = run_.note<char>(end.payload.size());
  if (copy == nullptr) return;
  std::memcpy(copy, end.payload.data(), end.payload.size());
  branch.result = {copy, end.payload.size()};
}

void EndCalls::check_root() {
  if (staged_ != nullptr && run_.root().position <= run_.ran()) {
    run_.diagnostic().format(
        "after event %u: the code ends as %s where it waited in an earlier turn",
        run_.root().position, end_kind_name(staged_->event.end));
    return run_.fail(Status::kNondeterminism);
  }
  if (run_.history().ended() && run_.root().suspended && run_.root().awaited == nullptr) {
    run_.diagnostic().format("event %u: history has the end, the code was suspended for good",
                             run_.history().end_id());
    return run_.fail(Status::kNondeterminism);
  }
  if (run_.history().ended() && run_.root().suspended) {
    const Event& awaited = run_.root().awaited->event;
    run_.diagnostic().format(
        "event %u: history has the end, the code waits for %s (branch %u, ordinal %u)",
        run_.history().end_id(), event_kind_name(awaited.kind), awaited.branch, awaited.ordinal);
    return run_.fail(Status::kNondeterminism);
  }
}

}  // namespace pawl::internal
