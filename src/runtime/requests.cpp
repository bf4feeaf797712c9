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
    if (request.status == Status::kOk && turn == nullptr) loop_.agenda.do_now(Job::kTurns);
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
    case Request::Kind::kCancel: return loop_.provider->cancel_instance(request.id, request.text);
    case Request::Kind::kDeclare:
    case Request::Kind::kStandby:
    case Request::Kind::kWithdraw: return devices_.write(request, room);
    case Request::Kind::kTerminate:
      return loop_.provider->terminate_instance(request.id, request.text);
    case Request::Kind::kSuspend: return loop_.provider->suspend_instance(request.id);
    case Request::Kind::kResume: return loop_.provider->resume_instance(request.id);
    case Request::Kind::kDelete:
    case Request::Kind::kPrune: return removals_.write(request, more);
    case Request::Kind::kRaise:
    case Request::Kind::kEnqueue: break;
  }
  if (request.rides_with != 0) return Status::kOk;
  return send_mail(request, room);
}

void RuntimeCore::answer_requests() {
  for (; requests_taken_ > 0; --requests_taken_) {
    const Request request = requests_.at(0);
    switch (request.kind) {
      case Request::Kind::kDeclare:
      case Request::Kind::kStandby:
      case Request::Kind::kWithdraw: devices_.committed(request); break;
      default: break;
    }
    requests_.pop();
    ++loop_.work_done;
    if (request.answer != nullptr) request.answer(request.user, request.status);
  }
  loop_.agenda.set(Job::kRequests, requests_.size() > 0);
}

}  // namespace pawl
