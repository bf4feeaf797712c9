// Calls that ride on a tick, and what removes instances: calls, retention and the sweep of deleted trees.
#include "requests.hpp"

#include "client_core.hpp"
#include "runtime_core.hpp"

namespace pawl {

// A request that takes more than one transaction stays the first until it is done.
Status RuntimeCore::write_requests(Turn* turns, std::size_t count) {
  PAWL_TRY(reserve_mail(turns, count));
  const std::size_t most = requests_at_hand();
  std::size_t take = 0;
  for (bool more = false; take < most; ++take) {
    Request& request = requests_.at(take);
    bool room = true;
    Turn* turn = turn_of(turns, count, take);
    request.status = write_request(request, turn, &room, &more);
    if (turn != nullptr && turn->verdict != Turn::Verdict::kCommit) turn = nullptr;
    if (!is_answer(request.status)) return request.status;
    if (request.status == Status::kOk && turn == nullptr) look_for_turns_ = true;
    if (!room) request.status = Status::kResourceExhausted;
    if (more) break;
  }
  requests_taken_ = take;
  return Status::kOk;
}

// Of a request, not a failure of the batch.
bool RuntimeCore::is_answer(Status status) {
  switch (status) {
    case Status::kOk:
    case Status::kAlreadyExists:
    case Status::kNotFound:
    case Status::kStale:
    case Status::kStillRunning:
    case Status::kChildInstance:
    case Status::kInvalidArgument:
    case Status::kQuota:
    case Status::kDeviceHeld: return true;
    default: return false;
  }
}

// The one that it rides with.
Turn* RuntimeCore::turn_of(Turn* turns, std::size_t count, std::size_t request) {
  const InstanceKey key = requests_.at(request).rides_with;
  for (std::size_t i = 0; i < count; ++i)
    if (turns[i].is_start ? turns[i].request == request : key != 0 && turns[i].key == key)
      return &turns[i];
  return nullptr;
}

Status RuntimeCore::write_request(Request& request, Turn* turn, bool* room, bool* more) {
  switch (request.kind) {
    case Request::Kind::kStart: return write_start(request, turn);
    case Request::Kind::kCancel: return provider_->cancel_instance(request.id, request.text);
    case Request::Kind::kDeclare:
    case Request::Kind::kStandby:
    case Request::Kind::kWithdraw: return write_declaration(request, room);
    case Request::Kind::kTerminate: return provider_->terminate_instance(request.id, request.text);
    case Request::Kind::kSuspend: return provider_->suspend_instance(request.id);
    case Request::Kind::kResume: return provider_->resume_instance(request.id);
    case Request::Kind::kDelete:
    case Request::Kind::kPrune: return write_removal(request, more);
    case Request::Kind::kRaise:
    case Request::Kind::kEnqueue: break;
  }
  if (request.rides_with != 0) return Status::kOk;
  return send_mail(request, room);
}

Status RuntimeCore::write_removal(Request& request, bool* more) {
  class KeepKey final : public InstanceVisitor {
   public:
    void on_instance(const InstanceInfo& info) override { key = info.key; }
    InstanceKey key = 0;
  } found;
  if (!request.begun) PAWL_TRY(provider_->read_instance_info(request.id, found));
  if (request.kind == Request::Kind::kPrune)
    return provider_->prune_executions(found.key, request.limits, kSweepEventsMax,
                                       &removals_.removed, more);
  if (!request.begun) PAWL_TRY(provider_->delete_instance(found.key, request.force));
  PAWL_TRY(provider_->sweep_deleted(kSweepEventsMax, &removals_.removed, more));
  removals_.request_begun = *more;
  return Status::kOk;
}

// What goes by itself, and the rows of what was deleted.
Status RuntimeCore::write_removals() {
  if (retire_) {
    Retention which;
    if (options_.retention_ms > 0) which.ended_until = batch_.now - options_.retention_ms;
    which.count_max = options_.retention_count;
    PAWL_TRY(provider_->delete_ended(which, &ended_cursor_, &removals_.next_end,
                                     &removals_.retire_more));
    removals_.retired = true;
  }
  if (!sweep_ && !retire_) return Status::kOk;
  removals_.swept = true;
  return provider_->sweep_deleted(kSweepEventsMax, &removals_.removed, &removals_.sweep_more);
}

// Only a commit decides what is left.
void RuntimeCore::settle_removals() {
  stats_.instances_removed += static_cast<std::uint64_t>(removals_.removed.instances);
  stats_.executions_removed += static_cast<std::uint64_t>(removals_.removed.executions);
  stats_.events_removed += static_cast<std::uint64_t>(removals_.removed.events);
  if (removals_.request_begun) requests_.at(requests_taken_).begun = true;
  if (removals_.swept) sweep_ = removals_.sweep_more;
  if (!removals_.retired) return;
  retire_ = removals_.retire_more;
  if (retire_) return;
  ended_cursor_ = EndedCursor();
  next_retention_.clear();
  if (options_.retention_ms > 0 && removals_.next_end.has_value())
    next_retention_ =
        provider_->boot_ms_of(add_saturating(removals_.next_end.value(), options_.retention_ms));
}

// An instance ended here: what is to go now, and when will it?
void RuntimeCore::plan_retention() {
  can_relieve_ = true;
  if (options_.retention_count > 0) retire_ = true;
  if (options_.retention_ms > 0 && !next_retention_.has_value())
    next_retention_ = provider_->boot_ms_of(batch_.now + options_.retention_ms);
}

void RuntimeCore::tell_requests() {
  for (; requests_taken_ > 0; --requests_taken_) {
    const Request request = requests_.at(0);
    switch (request.kind) {
      case Request::Kind::kDeclare:
      case Request::Kind::kStandby:
      case Request::Kind::kWithdraw: note_declaration(request); break;
      default: break;
    }
    requests_.pop();
    ++news_;
    if (request.answer != nullptr) request.answer(request.user, request.status);
  }
}

}  // namespace pawl
