#include "replay/run.hpp"

#include <algorithm>
#include <new>

#include "core/utf8.hpp"

namespace pawl::internal {

int shown_bytes(std::string_view name) {
  constexpr std::size_t kNameShown = 48;
  return static_cast<int>(bytes_to_keep(name, kNameShown));
}

Run::Run(const PassSetup& setup)
    : history_(*setup.history),
      input_(setup.input),
      limits_(*setup.limits),
      diagnostic_(*setup.diagnostic),
      number_(setup.run),
      ran_(setup.ran),
      sent_(setup.sent),
      second_(setup.second),
      is_cancel_sticky_(Engine::is_cancel_sticky(history_)),
      notes_(setup.history->pool_) {
  root_.cursor = history_.branch(0).first;
  if (history_.ended()) root_.horizon = history_.event(history_.end_id()).horizon;
  last_number_ = history_.branch(history_.branch_count_).number;
  // The previous execution handed the request on: this one has seen it from its start.
  constexpr EventId kBehindStart = 2;
  if (history_.cancel_id() == kBehindStart && history_.event(kBehindStart).number != 0)
    root_.position = kBehindStart;
}

void* Run::note_bytes(std::size_t size) {
  void* const place = notes_.allocate(size);
  if (place != nullptr) return place;
  diagnostic_.format("no memory left to run the code");
  fail(Status::kResourceExhausted);
  return nullptr;
}

bool Run::is_active(const BranchRun& branch, const char* call) {
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

BranchRun* Run::begin_branch(History::Record* opening) {
  auto* const place = note<BranchRun>(1);
  if (place == nullptr) return nullptr;
  BranchRun* const opened = ::new (place) BranchRun();
  opened->number = static_cast<BranchId>(opening->event.number);
  opened->parent = current_;
  opened->depth = current_->depth + 1;
  opened->opening = opening;
  opened->position = current_->position;
  opened->horizon = current_->horizon;
  opened->clean_ups = current_->clean_ups == 0 ? 0 : 1;
  if (opening->close != 0)
    opened->horizon = std::min(opened->horizon, history_.event(opening->close).horizon);
  if (opening->event.id != 0)
    opened->cursor = history_.branch(history_.find_branch(opened->number)).first;
  last_number_ = std::max(last_number_, opened->number);
  opening->pass.opened = opened;
  last_branch_->next = opened;
  last_branch_ = opened;
  return opened;
}

}  // namespace pawl::internal
