// What a pass answers to awaits, and what it closes.
#include <algorithm>

#include "hash.hpp"
#include "pass.hpp"

namespace pawl::internal {
namespace {

enum PathMark : std::uint64_t { kPathCommand = 1, kPathJoin = 2, kPathSelect = 3, kPathRead = 4 };

}  // namespace

// --- handles --------------------------------------------------------------------------------------

Pass::Form Pass::form_of(const Handle& handle) const {
  const bool is_ours = handle.pass_ == this && handle.run_ == run_;
  return is_ours ? static_cast<Form>(handle.form_) : Form::kInvalid;
}

Pass::Leaves Pass::leaves_of(const Handle& handle) const {
  Leaves leaves;
  if (form_of(handle) == Form::kCommand) {
    leaves.single = static_cast<Record*>(handle.target_);
    leaves.count = 1;
  } else if (form_of(handle) == Form::kJoin) {
    const auto* const joined = static_cast<const Join*>(handle.target_);
    leaves.list = joined->leaves;
    leaves.count = joined->count;
  }
  return leaves;
}

Handle Pass::join(BranchRun& branch, const Handle* handles, std::size_t count) {
  if (!is_active(branch, "join")) return handle_of(Form::kNone);
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i)
    total += leaves_of(handles[i]).count;
  Join* const joined = note<Join>(1);
  Record** const leaves = note<Record*>(total);
  if (joined == nullptr || leaves == nullptr) return handle_of(Form::kNone);
  *joined = {0, leaves};
  for (std::size_t i = 0; i < count; ++i) {
    const Leaves member = leaves_of(handles[i]);
    for (std::size_t at = 0; at < member.count; ++at)
      leaves[joined->count++] = &member[at];
  }
  return handle_of(Form::kJoin, joined);
}

Selection Pass::select(BranchRun& branch, const Handle* handles, std::size_t count) {
  Handle* copies = nullptr;
  if (is_active(branch, "select")) copies = note<Handle>(count);
  if (copies == nullptr) return {this, run_, nullptr, 0};
  std::copy_n(handles, count, copies);
  return {this, run_, copies, count};
}

Outcome Pass::refused(Form form) {
  switch (form) {
    case Form::kBadName:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "a name is 1 to 256 bytes without control characters");
    case Form::kBadSession:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "a session is 1 to 256 bytes without control characters");
    case Form::kBadTag:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "a tag is 1 to 256 bytes without control characters");
    case Form::kBadId:
      return Outcome::failure(
          ErrorKind::kInvalidArgument,
          "an instance id is 1 to 256 bytes without control characters and without \"::\"");
    case Form::kBadVersion:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "a version is MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRE");
    case Form::kBadPayload:
      return Outcome::failure(ErrorKind::kLimit, "the input is longer than payload_bytes_max");
    case Form::kBadOptions:
      return Outcome::failure(ErrorKind::kInvalidArgument,
                              "an option of the activity is out of its range");
    case Form::kTooDeep:
      static_assert(kBranchDepthMax == 32, "as in the text");
      return Outcome::failure(ErrorKind::kLimit, "branches are nested in at most 32 levels");
    default:
      return Outcome::failure(
          ErrorKind::kInvalidArgument,
          "the handle is empty, of another run or of a branch that is not above");
  }
}

bool Pass::may_await(const Record& leaf) const {
  const BranchRun* branch = current_;
  if (leaf.event.kind == EventKind::kBranchOpened) return leaf.pass.owner == branch;
  while (branch != nullptr && branch != leaf.pass.owner)
    branch = branch->parent;
  return branch != nullptr;
}

// --- resolving ------------------------------------------------------------------------------------

Pass::Resolution Pass::resolve(const Record& leaf) const {
  if (!may_await(leaf)) return {How::kRefused, 0};
  const bool is_own = leaf.pass.owner == current_;
  if (is_own && leaf.pass.closed) return {How::kClosed, leaf.pass.closed_at};
  const auto visible = [this](EventId id) { return id <= current_->horizon ? id : 0; };
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

// Of a join, the first member that is not resolved; else the last of all positions. A member that
// may not be awaited here has its result, an error, like one that was never issued.
Pass::Resolution Pass::resolve(const Handle& handle) const {
  const Form form = form_of(handle);
  if (form != Form::kCommand && form != Form::kJoin) return {How::kRefused, 0};
  const Leaves leaves = leaves_of(handle);
  if (form == Form::kCommand) return resolve(leaves[0]);
  Resolution all = {How::kReturned, 0};
  for (std::size_t at = 0; at < leaves.count; ++at) {
    const Resolution one = resolve(leaves[at]);
    if (one.how == How::kNot) return one;
    all.position = std::max(all.position, one.position);
  }
  return all;
}

bool Pass::is_cancelled(const Resolution& resolution) const {
  const EventId cancel = history_.cancel_id();
  if (cancel <= current_->position || cancel > current_->horizon) return false;
  return resolution.how == How::kNot || resolution.position >= cancel;
}

Outcome Pass::cancelled() {
  current_->position = history_.cancel_id();
  return Outcome::failure(ErrorKind::kCancelled, history_.event(history_.cancel_id()).payload);
}

// --- awaiting -------------------------------------------------------------------------------------

// Completed, and what this branch owns: most of a long history is awaited through here, with the
// answer that receive() would give.
bool Pass::is_plain(const Record& leaf) const {
  const EventId cancel = history_.cancel_id();
  return leaf.completion != 0 && leaf.completion <= current_->horizon &&
         leaf.pass.owner == current_ && !leaf.pass.closed &&
         (leaf.event.kind == EventKind::kActivity || leaf.event.kind == EventKind::kTimer) &&
         (cancel == 0 || cancel <= current_->position);
}

Outcome Pass::receive_plain(Record& leaf) {
  if (current_->path_hash != 0 || leaf.await_path == 0) {
    const bool is_first = current_->path_hash == 0;
    add_to_path(handle_of(Form::kCommand, &leaf));
    if (is_first) leaf.await_path = current_->path_hash;
  } else {
    current_->path_hash = leaf.await_path;
  }
  current_->position = std::max(current_->position, leaf.completion);
  leaf.pass.received = true;
  const Event& event = history_.event(leaf.completion);
  if (event.error != ErrorKind::kNone) return Outcome::failure(event.error, event.payload);
  return Outcome::success(event.payload);
}

Outcome Pass::await(const Handle& handle) {
  if (status_ == Status::kOk && !current_->suspended && current_->end_calls == 0 &&
      form_of(handle) == Form::kCommand && is_plain(*static_cast<Record*>(handle.target_)))
    return receive_plain(*static_cast<Record*>(handle.target_));
  if (!is_active(*current_, "await")) return Outcome::pending();
  const Resolution resolution = resolve(handle);
  if (resolution.how == How::kRefused) return refused(form_of(handle));
  if (is_cancelled(resolution)) {
    add_to_path(handle);
    return cancelled();
  }
  if (resolution.how == How::kNot) return suspend(&handle, 1);
  add_to_path(handle);
  return receive(handle, resolution);
}

Outcome Pass::await_first(const Selection& selection) {
  if (!is_active(*current_, "await")) return Outcome::pending();
  if (selection.run_ != run_) return refused(Form::kInvalid);
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
  add_to_path(kPathSelect);
  add_to_path(selection.count_);
  for (std::size_t i = 0; i < selection.count_; ++i)
    add_to_path(selection.handles_[i]);
  if (stops) return cancelled();
  add_to_path(winner);
  Outcome outcome = receive(selection.handles_[winner], best);
  outcome.index_ = static_cast<std::uint32_t>(winner);
  for (std::size_t i = 0; i < selection.count_; ++i)
    if (i != winner) close_all(selection.handles_[i]);
  return outcome;
}

Outcome Pass::suspend(const Handle* handles, std::size_t count) {
  current_->suspended = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Leaves leaves = leaves_of(handles[i]);
    for (std::size_t at = 0; at < leaves.count; ++at)
      wait_for(leaves[at]);
  }
  return Outcome::pending();
}

void Pass::wait_for(const Record& leaf) {
  if (!may_await(leaf)) return;
  if (current_->awaited == nullptr) current_->awaited = &leaf;
  if (leaf.pass.owner == current_) return;
  auto* const wait = note<WaitOfOtherBranch>(1);
  if (wait == nullptr) return;
  *wait = {current_, &leaf, waits_of_other_branches_};
  waits_of_other_branches_ = wait;
}

Outcome Pass::receive(const Handle& handle, const Resolution& resolution) {
  const Leaves leaves = leaves_of(handle);
  const Outcome outcome =
      form_of(handle) == Form::kJoin ? Outcome::success({}) : result_of(leaves[0], resolution);
  current_->position = std::max(current_->position, resolution.position);
  for (std::size_t at = 0; at < leaves.count; ++at) {
    if (!may_await(leaves[at])) continue;
    if (leaves[at].pass.owner == current_) leaves[at].pass.received = true;
    note_receipt(leaves[at]);
    if (leaves[at].event.kind == EventKind::kBranchOpened && !leaves[at].pass.closed)
      learn(*current_, *leaves[at].pass.opened);
  }
  return outcome;
}

void Pass::note_receipt(Record& leaf) {
  if (leaf.event.kind != EventKind::kWait && leaf.event.kind != EventKind::kDequeue) return;
  if (resolve(leaf).how != How::kCompleted) return;
  auto* const receipt = note<History::Receipt>(1);
  if (receipt == nullptr) return;
  *receipt = {current_, current_->position, leaf.pass.receipts};
  leaf.pass.receipts = receipt;
}

Outcome Pass::result_of(const Record& leaf, const Resolution& resolution) const {
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

void Pass::add_to_path(std::uint64_t number) {
  current_->path_hash = Hash64().add(current_->path_hash).add(number).value();
}

void Pass::add_to_path(const Handle& handle) {
  const Leaves leaves = leaves_of(handle);
  const PathMark mark = form_of(handle) == Form::kJoin ? kPathJoin : kPathCommand;
  Hash64 hash;
  hash.add(current_->path_hash).add(std::uint64_t{mark}).add(leaves.count);
  for (std::size_t at = 0; at < leaves.count; ++at)
    hash.add(leaves[at].event.branch).add(leaves[at].event.ordinal);
  current_->path_hash = hash.value();
}

void Pass::add_to_path(std::string_view key) {
  current_->path_hash =
      Hash64().add(current_->path_hash).add(std::uint64_t{kPathRead}).add(key).value();
}

// --- closing --------------------------------------------------------------------------------------

void Pass::close(Record* leaf) {
  const History::InPass& target = leaf->pass;
  if (target.owner != current_ || target.received || target.closed) return;
  Event event;
  event.kind = EventKind::kClose;
  event.number = leaf->event.ordinal;
  event.horizon = current_->position;
  event.argument_hash = Hash64().add(leaf->event.ordinal).add(event.horizon).value();
  Record* const close = issue(event);
  if (close == nullptr) return;
  close->pass.target = leaf;
  leaf->pass.closed = true;
  leaf->pass.closed_at = current_->position;
}

void Pass::close_all(const Handle& handle) {
  const Leaves leaves = leaves_of(handle);
  for (std::size_t at = 0; at < leaves.count && status_ == Status::kOk; ++at)
    close(&leaves[at]);
}

// A branch leaves nothing behind.
void Pass::close_own(const BranchRun& branch) {
  for (Record* own = branch.first_own; own != nullptr && status_ == Status::kOk;
       own = own->pass.next_own)
    close(own);
}

void Pass::cancel(BranchRun& branch, const Handle& handle) {
  if (is_active(branch, "cancel")) close_all(handle);
}

}  // namespace pawl::internal
