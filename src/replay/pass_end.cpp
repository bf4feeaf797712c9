#include "replay/pass_end.hpp"

#include <algorithm>

namespace pawl::internal {

// A close that is itself withdrawn changes nothing here: its horizon is above its owner's.
void PassEnd::find_horizons() {
  if (run_.root().returned) run_.root().effective = run_.root().position;
  run_.root().effective = std::min(run_.root().effective, run_.root().horizon);
  for (BranchRun* branch = run_.root().next; branch != nullptr; branch = branch->next) {
    branch->effective = std::min(branch->parent->effective, branch->horizon);
    const History::InPass& opening = branch->opening->pass;
    if (opening.closed) branch->effective = std::min(branch->effective, opening.closed_at);
  }
}

Status PassEnd::append_commands(const Commands& commands, const Awaits& awaits) {
  for (Record* record = commands.first_staged(); record != nullptr;
       record = record->pass.next_staged) {
    if (record->pass.emitted_at > record->pass.owner->effective) continue;
    record->event.id = history_.last_id() + 1;
    PAWL_TRY(history_.commit(record, run_.diagnostic()));
    ++appended_;
    if (record->event.kind != EventKind::kClose) continue;
    has_closed_ = true;
    if (awaits.wakes_another(*record)) is_another_needed_ = true;
  }
  return Status::kOk;
}

Status PassEnd::finish(const Commands& commands, const Awaits& awaits, Record* end) {
  has_ended_ = end != nullptr;
  find_horizons();
  if (!run_.is_second()) traces_.withdraw();
  PAWL_TRY(append_commands(commands, awaits));
  if (end != nullptr) {
    end->event.id = history_.last_id() + 1;
    PAWL_TRY(history_.commit(end, run_.diagnostic()));
    is_another_needed_ = false;
  }
  return has_ended_ || has_closed_ ? append_returns() : Status::kOk;
}

// ---- messages given back ----

// Whether the delivery is void: its wait no longer exists, and no branch received it within its
// horizon.
bool PassEnd::is_void(const Record& wait) const {
  if (wait.completion == 0 || history_.event(wait.completion).number == 0) return false;
  const bool is_over =
      has_ended_ || wait.close != 0 || history_.is_retired(history_.find_branch(wait.event.branch));
  if (!is_over) return false;
  for (const History::Receipt* receipt = wait.pass.receipts; receipt != nullptr;
       receipt = receipt->next)
    if (receipt->position <= receipt->branch->effective) return false;
  return true;
}

// The void delivery with the lowest number above `after`.
History::Record* PassEnd::next_to_return(std::int64_t after) const {
  Record* lowest = nullptr;
  for (const Record* wait = history_.newest_wait_; wait != nullptr; wait = wait->older_alike) {
    if (!is_void(*wait)) continue;
    Record* const delivery = history_.record(wait->completion);
    if (delivery->event.number <= after) continue;
    if (lowest == nullptr || delivery->event.number < lowest->event.number) lowest = delivery;
  }
  return lowest;
}

Status PassEnd::append_returns() {
  std::int64_t number = INT64_MIN;
  for (Record* delivery = nullptr; (delivery = next_to_return(number)) != nullptr;) {
    number = delivery->event.number;
    Event event;
    event.id = history_.last_id() + 1;
    event.kind = EventKind::kReturn;
    event.ref = delivery->event.id;
    event.time_ms = run_.input().stamp_ms;
    const Event& wait = history_.event(delivery->event.ref);
    PAWL_TRY(history_.append(event, run_.diagnostic()));
    if (mailbox_.give_back(wait, delivery->event)) continue;
    run_.diagnostic().format(
        "event %u: more than mailbox_max (%u) messages wait, or half as many come back", event.id,
        run_.limits().mailbox_max);
    return Status::kResourceExhausted;
  }
  return Status::kOk;
}

}  // namespace pawl::internal
