#include "replay/awaits.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "replay/await_path.hpp"

namespace pawl::internal {

// ---- handles ----

Awaits::Leaves Awaits::leaves_of(const Handle& handle) const {
  Leaves leaves;
  if (form_of(handle) == HandleForm::kCommand) {
    leaves.single = static_cast<Record*>(handle.target_);
    leaves.count = 1;
  } else if (form_of(handle) == HandleForm::kJoin) {
    const auto* const joined = static_cast<const Join*>(handle.target_);
    leaves.list = joined->leaves;
    leaves.count = joined->count;
  }
  return leaves;
}

Handle Awaits::join(BranchRun& branch, const Handle* handles, std::size_t count) {
  if (!run_.is_active(branch, "join")) return handle_of(HandleForm::kNone);
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i)
    total += leaves_of(handles[i]).count;
  Join* const joined = run_.note<Join>(1);
  Record** const leaves = run_.note<Record*>(total);
  if (joined == nullptr || leaves == nullptr) return handle_of(HandleForm::kNone);
  *joined = {0, leaves, false};
  for (std::size_t i = 0; i < count; ++i) {
    joined->has_unissued = joined->has_unissued || is_unissued(handles[i]);
    const Leaves member = leaves_of(handles[i]);
    for (std::size_t at = 0; at < member.count; ++at)
      leaves[joined->count++] = &member[at];
  }
  return handle_of(HandleForm::kJoin, joined);
}

Selection Awaits::select(BranchRun& branch, const Handle* handles, std::size_t count) {
  Handle* copies = nullptr;
  if (run_.is_active(branch, "select")) copies = run_.note<Handle>(count);
  if (copies == nullptr) return {this, run_.number(), nullptr, 0};
  std::copy_n(handles, count, copies);
  return {this, run_.number(), copies, count};
}

Outcome refused(HandleForm form) {
  switch (form) {
    case HandleForm::kBadName:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "a name is 1 to 256 bytes without control characters");
    case HandleForm::kBadSession:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "a session is 1 to 256 bytes without control characters");
    case HandleForm::kBadTag:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "a tag is 1 to 256 bytes without control characters");
    case HandleForm::kBadId:
      return Outcome::failure(
          ErrorKind::kInvalidArgument,
          "an instance id is 1 to 256 bytes without control characters and without \"::\"");
    case HandleForm::kNotPlain:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "an id is not \".\" or \"..\", and has no blank at its ends");
    case HandleForm::kBadVersion:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "a version is MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRE");
    case HandleForm::kBadPayload:
      return Outcome::failure(ErrorKind::kLimit,
                              "the input or payload is longer than payload_bytes_max");
    case HandleForm::kNoJson:
      return Outcome::failure(
          ErrorKind::kBadPayload,
          "the value is longer than payload_bytes_max as JSON, or has a number that JSON has not");
    case HandleForm::kBadOptions:
      return Outcome::failure(ErrorKind::kInvalidArgument, "an option is out of its range");
    case HandleForm::kTooDeep:
      static_assert(kBranchDepthMax == 32, "as in the text");
      return Outcome::failure(ErrorKind::kLimit, "branches are nested in at most 32 levels");
    default:
      return Outcome::failure(
          ErrorKind::kInvalidArgument,
          "the handle is empty, of another run or of a branch that is not above");
  }
}

bool Awaits::may_await(const Record& leaf) const {
  const BranchRun* branch = &run_.current();
  if (leaf.event.kind == EventKind::kBranchOpened) return leaf.pass.owner == branch;
  while (branch != nullptr && branch != leaf.pass.owner)
    branch = branch->parent;
  return branch != nullptr;
}

// ---- resolving ----

Awaits::Resolution Awaits::resolve(const Record& leaf) const {
  if (!may_await(leaf)) return {How::kRefused, 0};
  const bool is_own = leaf.pass.owner == &run_.current();
  if (is_own && leaf.pass.closed) return {How::kClosed, leaf.pass.closed_at};
  const auto visible = [this](EventId id) { return id <= run_.current().horizon ? id : 0; };
  if (leaf.event.kind == EventKind::kBranchOpened) {
    const BranchRun& opened = *leaf.pass.opened;
    if (!opened.returned || visible(opened.position) == 0) return {};
    return {How::kReturned, opened.position};
  }
  const EventId completion = visible(leaf.completion);
  const EventId close = is_own ? 0 : visible(leaf.close);
  if (close != 0 && (completion == 0 || close < completion)) return {How::kClosed, close};
  return completion == 0 ? Resolution() : Resolution{How::kCompleted, completion};
}

// For a join: the first member that is not resolved, else the last position of all members. A
// member that may not be awaited here counts as resolved: its result is an error, as for one that
// was never issued.
Awaits::Resolution Awaits::resolve(const Handle& handle) const {
  const HandleForm form = form_of(handle);
  if (form == HandleForm::kNotIssued) return {How::kCancelled, history_.cancel_id()};
  if (form != HandleForm::kCommand && form != HandleForm::kJoin) return {How::kRefused, 0};
  const Leaves leaves = leaves_of(handle);
  if (form == HandleForm::kCommand) return resolve(leaves[0]);
  Resolution all = {How::kReturned, is_unissued(handle) ? history_.cancel_id() : 0};
  for (std::size_t at = 0; at < leaves.count; ++at) {
    const Resolution one = resolve(leaves[at]);
    if (one.how == How::kNot) return one;
    all.position = std::max(all.position, one.position);
  }
  return all;
}

// Whether the handle is a call that the cancel request kept from being issued, or a join with such
// a call.
bool Awaits::is_unissued(const Handle& handle) const {
  if (form_of(handle) == HandleForm::kJoin)
    return static_cast<const Join*>(handle.target_)->has_unissued;
  return form_of(handle) == HandleForm::kNotIssued;
}

bool Awaits::is_cancelled(const Resolution& resolution) const {
  const EventId cancel = history_.cancel_id();
  const BranchRun& branch = run_.current();
  if (cancel == 0 || cancel > branch.horizon) return false;
  if (run_.is_cancel_sticky() ? branch.clean_ups != 0 : cancel <= branch.position) return false;
  return resolution.how == How::kNot || resolution.position >= cancel;
}

Outcome Awaits::cancel_reason() const {
  return Outcome::failure(ErrorKind::kCancelled, history_.event(history_.cancel_id()).payload);
}

// `counts`: the answer counts towards the limit for code that ignores the cancel request.
Outcome Awaits::cancelled(bool counts) {
  BranchRun& branch = run_.current();
  branch.position = std::max(branch.position, history_.cancel_id());
  if (!run_.is_cancel_sticky()) return cancel_reason();
  internal::add_to_path(branch, kPathCancelled);
  if (!counts || ++branch.cancelled_answers <= kCancelledAnswersMax) return cancel_reason();
  Run::suspend_for_good(branch);
  return Outcome::pending();
}

// The first answer for a command of the branch does not count, since the number of commands is
// limited.
bool Awaits::counts_as_ignored(const Handle& handle) {
  if (form_of(handle) != HandleForm::kCommand) return true;
  Record& leaf = leaves_of(handle)[0];
  if (leaf.pass.owner != &run_.current() || leaf.pass.answered_cancelled) return true;
  leaf.pass.answered_cancelled = true;
  return false;
}

// ---- awaiting ----

// Whether the command is completed and owned by this branch: most awaits of a long history are
// answered this way, as receive() would answer them.
inline bool Awaits::is_plain(const Record& leaf) const {
  const EventId cancel = history_.cancel_id();
  return leaf.completion != 0 && leaf.completion <= run_.current().horizon &&
         leaf.pass.owner == &run_.current() && !leaf.pass.closed &&
         (leaf.event.kind == EventKind::kActivity || leaf.event.kind == EventKind::kTimer) &&
         (cancel == 0 || leaf.completion < cancel);
}

inline Outcome Awaits::receive_plain(Record& leaf) {
  if (run_.current().path_hash != 0 || leaf.await_path == 0) {
    const bool is_first = run_.current().path_hash == 0;
    add_to_path(handle_of(HandleForm::kCommand, &leaf));
    if (is_first) leaf.await_path = run_.current().path_hash;
  } else {
    run_.current().path_hash = leaf.await_path;
  }
  run_.current().position = std::max(run_.current().position, leaf.completion);
  leaf.pass.received = true;
  const Event& event = history_.event(leaf.completion);
  if (event.error != ErrorKind::kNone) return Outcome::failure(event.error, event.payload);
  return Outcome::success(event.payload);
}

Outcome Awaits::await(const Handle& handle) {
  if (run_.is_ok() && !run_.current().suspended && run_.current().end_calls == 0 &&
      form_of(handle) == HandleForm::kCommand && is_plain(*static_cast<Record*>(handle.target_)))
    return receive_plain(*static_cast<Record*>(handle.target_));
  if (!run_.is_active(run_.current(), "await")) return Outcome::pending();
  const Resolution resolution = resolve(handle);
  if (resolution.how == How::kRefused) return refused(form_of(handle));
  if (is_cancelled(resolution)) {
    add_to_path(handle);
    return cancelled(counts_as_ignored(handle));
  }
  if (resolution.how == How::kNot) return suspend(&handle, 1);
  add_to_path(handle);
  return receive(handle, resolution);
}

Outcome Awaits::await_first(const Selection& selection) {
  if (!run_.is_active(run_.current(), "await")) return Outcome::pending();
  if (selection.run_ != run_.number()) return refused(HandleForm::kInvalid);
  if (selection.count_ == 0)
    return Outcome::failure(ErrorKind::kInvalidArgument, "a select of no handles");
  std::size_t winner = 0;
  Resolution best;
  for (std::size_t i = 0; i < selection.count_; ++i) {
    const Resolution one = resolve(selection.handles_[i]);
    if (one.how == How::kRefused) return refused(form_of(selection.handles_[i]));
    if (one.how == How::kNot || (best.how != How::kNot && best.position <= one.position)) continue;
    winner = i;
    best = one;
  }
  const bool stops = is_cancelled(best);
  if (!stops && best.how == How::kNot) return suspend(selection.handles_, selection.count_);
  internal::add_to_path(run_.current(), kPathSelect);
  internal::add_to_path(run_.current(), selection.count_);
  for (std::size_t i = 0; i < selection.count_; ++i)
    add_to_path(selection.handles_[i]);
  if (stops) return cancelled(true);
  internal::add_to_path(run_.current(), winner);
  Outcome outcome = receive(selection.handles_[winner], best);
  outcome.index_ = static_cast<std::uint32_t>(winner);
  for (std::size_t i = 0; i < selection.count_; ++i)
    if (i != winner) close_all(selection.handles_[i]);
  return outcome;
}

Outcome Awaits::suspend(const Handle* handles, std::size_t count) {
  run_.current().suspended = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Leaves leaves = leaves_of(handles[i]);
    for (std::size_t at = 0; at < leaves.count; ++at)
      wait_for(leaves[at]);
  }
  return Outcome::pending();
}

void Awaits::wait_for(Record& leaf) {
  if (!may_await(leaf)) return;
  if (run_.current().awaited == nullptr) run_.current().awaited = &leaf;
  if (is_send(leaf.event.kind)) wait_for_answer(leaf);
  if (leaf.pass.owner == &run_.current()) return;
  auto* const wait = run_.note<WaitOfOtherBranch>(1);
  if (wait == nullptr) return;
  *wait = {&run_.current(), &leaf, waits_of_other_branches_};
  waits_of_other_branches_ = wait;
}

Outcome Awaits::receive(const Handle& handle, const Resolution& resolution) {
  const Leaves leaves = leaves_of(handle);
  Outcome outcome = Outcome::success({});
  if (resolution.how == How::kCancelled) {
    outcome = cancel_reason();
  } else if (form_of(handle) != HandleForm::kJoin) {
    outcome = result_of(leaves[0], resolution);
  }
  run_.current().position = std::max(run_.current().position, resolution.position);
  for (std::size_t at = 0; at < leaves.count; ++at) {
    if (!may_await(leaves[at])) continue;
    if (leaves[at].pass.owner == &run_.current()) leaves[at].pass.received = true;
    note_receipt(leaves[at]);
    if (leaves[at].event.kind == EventKind::kBranchOpened && !leaves[at].pass.closed)
      state_.learn(run_.current(), *leaves[at].pass.opened);
  }
  return outcome;
}

// The storage answers a message of this turn if it is marked. One of an earlier turn that was not
// marked has arrived, since a refusal is always answered: the engine says so (R12.3, R12.4).
void Awaits::wait_for_answer(Record& send) {
  if (send.event.id == 0 || send.event.id > run_.sent()) {
    send.event.number = 1;
    return;
  }
  if (send.event.number != 0) return;
  auto* const awaited = run_.note<AwaitedSend>(1);
  if (awaited == nullptr) return;
  *awaited = {&send, awaited_sends_};
  awaited_sends_ = awaited;
}

void Awaits::note_receipt(Record& leaf) {
  if (leaf.event.kind != EventKind::kWait && leaf.event.kind != EventKind::kDequeue) return;
  if (resolve(leaf).how != How::kCompleted) return;
  auto* const receipt = run_.note<History::Receipt>(1);
  if (receipt == nullptr) return;
  *receipt = {&run_.current(), run_.current().position, leaf.pass.receipts};
  leaf.pass.receipts = receipt;
}

// Only what was received counts: a delivery that history has already may be news to the branch.
std::optional<MessageId> Awaits::received_call(const Handle& handle) const {
  if (form_of(handle) != HandleForm::kCommand) return {};
  const Record& leaf = leaves_of(handle)[0];
  if (leaf.event.kind != EventKind::kDequeue || !leaf.pass.received || leaf.completion == 0)
    return {};
  const Event& delivery = history_.event(leaf.completion);
  if (delivery.tag != kCallMark) return {};
  return delivery.number;
}

Outcome Awaits::result_of(const Record& leaf, const Resolution& resolution) const {
  if (resolution.how == How::kClosed) return Outcome::failure(ErrorKind::kClosed, "closed");
  if (resolution.how == How::kReturned) {
    const BranchRun& branch = *leaf.pass.opened;
    if (branch.error != ErrorKind::kNone) return Outcome::failure(branch.error, branch.result);
    return Outcome::success(branch.result);
  }
  const Event& event = history_.event(resolution.position);
  if (event.error != ErrorKind::kNone) return Outcome::failure(event.error, event.payload);
  return Outcome::success(event.payload);
}

void Awaits::add_to_path(const Handle& handle) {
  const Leaves leaves = leaves_of(handle);
  const PathMark mark = form_of(handle) == HandleForm::kJoin ? kPathJoin : kPathCommand;
  Hash64 hash;
  hash.add(run_.current().path_hash).add(std::uint64_t{mark}).add(leaves.count);
  for (std::size_t at = 0; at < leaves.count; ++at)
    hash.add(leaves[at].event.branch).add(leaves[at].event.ordinal);
  run_.current().path_hash = hash.value();
}

// ---- closing ----

void Awaits::close(Record* leaf) {
  const History::InPass& target = leaf->pass;
  if (target.owner != &run_.current() || target.received || target.closed) return;
  Event event;
  event.kind = EventKind::kClose;
  event.number = leaf->event.ordinal;
  event.horizon = run_.current().position;
  event.argument_hash = Hash64().add(leaf->event.ordinal).add(event.horizon).value();
  Record* const close = commands_.issue(event);
  if (close == nullptr) return;
  close->pass.target = leaf;
  leaf->pass.closed = true;
  leaf->pass.closed_at = run_.current().position;
}

void Awaits::close_all(const Handle& handle) {
  const Leaves leaves = leaves_of(handle);
  for (std::size_t at = 0; at < leaves.count && run_.is_ok(); ++at)
    close(&leaves[at]);
}

// Closes all that the branch still has open.
void Awaits::close_own(const BranchRun& branch) {
  for (Record* own = branch.first_own; own != nullptr && run_.is_ok(); own = own->pass.next_own)
    close(own);
}

bool Awaits::wakes_another(const Record& close) const {
  for (const WaitOfOtherBranch* wait = waits_of_other_branches_; wait != nullptr; wait = wait->next)
    if (wait->leaf == close.pass.target && wait->waiter->effective == kNoHorizon) return true;
  return false;
}

void Awaits::cancel(BranchRun& branch, const Handle& handle) {
  if (run_.is_active(branch, "cancel")) close_all(handle);
}

}  // namespace pawl::internal
