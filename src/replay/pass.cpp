#include "replay/pass.hpp"

namespace pawl::internal {

Status Pass::run() {
  if (!run_.is_second()) traces_.clear();
  OrchestrationContext context(*this, run_.root());
  const Poll poll = run_.input().code(context);
  if (run_.is_ok()) end_branch(run_.root(), poll.is_pending());
  if (run_.is_ok()) commands_.check_all_issued();
  if (run_.is_ok()) ends_.check_root();
  return run_.is_ok() ? end_.finish(commands_, awaits_, ends_.staged()) : run_.status();
}

// ---- how code ends ----

void Pass::check_ending(const BranchRun& branch, bool pending) {
  if (pending && branch.suspended) return;
  if (!pending && !branch.suspended && branch.end_calls == 1) return;
  if (branch.suspended && branch.awaited != nullptr) {
    const Event& command = branch.awaited->event;
    run_.diagnostic().format(
        "branch %u: the code went on after a pending await of %s \"%.*s\" (branch %u, ordinal %u)",
        branch.number, event_kind_name(command.kind), shown_bytes(command.name),
        command.name.data(), command.branch, command.ordinal);
  } else if (branch.end_calls != 0) {
    run_.diagnostic().format(
        "branch %u: the code returned pending after complete(), fail() or continue_as_new()",
        branch.number);
  } else if (pending) {
    run_.diagnostic().format("branch %u: the code returned pending, but no await was",
                             branch.number);
  } else {
    run_.diagnostic().format(
        "branch %u: the code returned done without complete(), fail() or continue_as_new()",
        branch.number);
  }
  run_.fail(Status::kAwaitSteppedOver);
}

// An exception behind a pending await, or after a mistake that was found before, only follows from
// that.
Poll Pass::stop_with_exception(const BranchRun& branch, const char* what) {
  if (!run_.is_ok() || branch.suspended) return Poll::done();
  run_.diagnostic().format("branch %u: an exception left the code: %s", branch.number,
                           what == nullptr ? "not a std::exception" : what);
  run_.fail(Status::kException);
  return Poll::done();
}

// ---- branches ----

Handle Pass::open_branch(BranchRun& branch, Poll (*call)(void*, OrchestrationContext&),
                         void* callable) {
  if (!run_.is_active(branch, "open_branch")) return awaits_.handle_of(HandleForm::kNone);
  if (branch.depth == kBranchDepthMax) return awaits_.handle_of(HandleForm::kTooDeep);
  Event event;
  event.kind = EventKind::kBranchOpened;
  event.number = std::int64_t{run_.last_number()} + 1;
  History::Record* const opening = commands_.issue(event);
  BranchRun* const opened = opening == nullptr ? nullptr : run_.begin_branch(opening);
  if (opened == nullptr) return awaits_.handle_of(HandleForm::kNone);
  state_.learn(*opened, branch);
  run_.set_current(*opened);
  OrchestrationContext context(*this, *opened);
  const Poll poll = call(callable, context);
  if (run_.is_ok()) end_branch(*opened, poll.is_pending());
  run_.set_current(branch);
  return awaits_.handle_of(opening);
}

void Pass::end_branch(BranchRun& branch, bool pending) {
  check_ending(branch, pending);
  if (!run_.is_ok() || pending) return;
  branch.returned = true;
  if (&branch != &run_.root()) awaits_.close_own(branch);
}

// ---- reading ----

std::string_view Pass::start_payload() const { return run_.history().event(1).payload; }
std::string_view Pass::start_version() const { return run_.history().event(1).version; }

std::int64_t Pass::now_ms(const BranchRun& branch) const {
  return run_.history().event(branch.position).time_ms;
}

EventId Pass::history_length(const BranchRun& branch) {
  watches_length_ = true;
  return branch.position;
}

// Reads the limit that the start recorded: the option may differ when this is run again.
bool Pass::is_continue_as_new_due(const BranchRun& branch) {
  watches_length_ = true;
  return branch.position >= Engine::long_history_of(run_.history());
}

std::string_view Pass::cancel_reason() const {
  return run_.history().event(run_.history().cancel_id()).payload;
}

bool Pass::ignores_cancel() const {
  for (const BranchRun* branch = &run_.root(); branch != nullptr; branch = branch->next)
    if (Run::is_suspended_for_good(*branch) && branch->position > seen_ &&
        branch->position <= branch->effective)
      return true;
  return false;
}

// On a branch that may call nothing the scope is empty.
CleanUpScope Pass::clean_up(BranchRun& branch) {
  if (!run_.is_active(branch, "clean_up")) return {nullptr, nullptr, 0};
  ++branch.clean_ups;
  return {&run_, &branch, run_.number()};
}

void Pass::trace(BranchRun& branch, LogLevel level, std::string_view text) {
  if (run_.is_second() || is_suspended(branch) || is_replaying(branch)) return;
  traces_.add(level, text, {&branch, branch.position});
}

}  // namespace pawl::internal
