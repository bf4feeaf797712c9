#include "runtime/request_kinds.hpp"

#include "runtime/inbox.hpp"

namespace pawl::request_kinds {
namespace {

using Kind = Request::Kind;
using Outcome = Request::Outcome;
using Parts = Request::Parts;

constexpr MessageSteps kSteps = {&Inbox::look_for_messages, &Inbox::collect_each_message,
                                 &Inbox::reserve_numbers, &Inbox::settle_messages};

Status write_start(const Parts& parts, Request& request, Turn* turn, Outcome* outcome) {
  return parts.inbox.write_start(request, turn, outcome);
}

Status write_start_limited(const Parts& parts, Request& request, Turn* turn, Outcome* outcome) {
  const StartRequest& start = *request.start;
  PAWL_TRY(parts.inbox.write_start(request, turn, outcome));
  if (outcome->more) return Status::kOk;
  return parts.loop.instance().rows.write_time_limit(outcome->key,
                                                     {start.time_limit_ms, start.start_after_ms});
}

Status write_start_of_used(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* outcome) {
  return parts.inbox.write_start_of_used(request, outcome);
}

Status write_message(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* outcome) {
  return parts.inbox.write_message(request, outcome);
}

Status write_offer(const Parts& parts, Request& request, Turn* turn, Outcome* /*outcome*/) {
  return parts.inbox.write_offer(request, turn);
}

// The activity may still run here, and is then asked to return.
Status answer_activity(const Parts& parts, const Request& request, ErrorKind error,
                       bool permanent) {
  parts.loop.agenda.do_now(Job::kCheckHeld);
  return parts.loop.work().outside.answer(request.id, {error, request.text, permanent});
}

Status write_completion(const Parts& parts, Request& request, Turn* /*turn*/,
                        Outcome* /*outcome*/) {
  return answer_activity(parts, request, ErrorKind::kNone, false);
}

Status write_failure(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* /*outcome*/) {
  return answer_activity(parts, request, ErrorKind::kApplication, false);
}

Status write_failure_for_good(const Parts& parts, Request& request, Turn* /*turn*/,
                              Outcome* /*outcome*/) {
  return answer_activity(parts, request, ErrorKind::kApplication, true);
}

Status write_heartbeat(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* /*outcome*/) {
  return parts.loop.work().outside.heartbeat(request.id, request.text);
}

Status write_cancel(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* /*outcome*/) {
  return parts.loop.instance().deliveries.cancel_instance(request.id, request.text);
}

Status write_terminate(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* /*outcome*/) {
  return parts.loop.instance().verbs.terminate_instance(request.id, request.text);
}

Status write_suspend(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* /*outcome*/) {
  return parts.loop.instance().verbs.suspend_instance(request.id);
}

Status write_resume(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* /*outcome*/) {
  return parts.loop.instance().verbs.resume_instance(request.id);
}

Status write_time_limit(const Parts& parts, Request& request, Turn* /*turn*/,
                        Outcome* /*outcome*/) {
  return parts.loop.instance().verbs.change_time_limit(request.id, request.start->time_limit_ms);
}

Status write_delete(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* outcome) {
  return parts.removals.delete_instance(request, &outcome->more);
}

Status write_prune(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* outcome) {
  return parts.removals.prune_executions(request, &outcome->more);
}

Status write_declaration(const Parts& parts, Request& request, Turn* /*turn*/, Outcome* outcome) {
  return parts.devices.declare_session(request, &outcome->room);
}

Status write_withdrawal(const Parts& parts, Request& request, Turn* /*turn*/,
                        Outcome* /*outcome*/) {
  return parts.devices.withdraw_session(request);
}

// ---- calls that Clients have passed ----

using internal::PassedCall;

// In the order in which they came. Each that was not withdrawn is the loop's from here on.
template <typename Visit>
void visit_passed(PassedCall* list, Visit&& visit) {
  PassedCall* in_order = nullptr;
  while (list != &PassedCalls::last) {
    PassedCall* const next = list->next;
    list->next = in_order;
    in_order = list;
    list = next;
  }
  while (in_order != nullptr) {
    PassedCall& call = *in_order;
    in_order = call.next;
    PassedCall::State state = PassedCall::State::kPassed;
    if (call.state.compare_exchange_strong(state, PassedCall::State::kBeingTaken,
                                           std::memory_order_acq_rel))
      visit(call);
    else
      call.state.store(PassedCall::State::kFree, std::memory_order_release);
  }
}

// Two databases on a server may have one path, of what lies beside them. Half of the room for
// requests is left to the loop's own thread.
void take_passed(PassedCall* list, const PassedCall::Taker& by) {
  visit_passed(list, [&](PassedCall& call) {
    if (call.database_id == by.database_id && by.requests.size() < by.requests.capacity() / 2 &&
        by.inbox.piggyback(*call.request) == Status::kOk)
      call.state.store(PassedCall::State::kTaken, std::memory_order_release);
    else
      call.leave(false);
  });
}

Status write_nothing(const Parts& /*parts*/, Request& /*request*/, Turn* /*turn*/,
                     Outcome* /*outcome*/) {
  return Status::kOk;
}

const Kind kGivenBack = {write_nothing};

// Those that the loop has taken stay in their ring and do nothing. What became of one whose batch
// is in doubt its Client finds by the key.
void give_back_passed(PassedCall* list, Requests* requests) {
  visit_passed(list, [](PassedCall& call) { call.leave(false); });
  for (std::size_t i = 0; requests != nullptr && i < requests->size(); ++i) {
    Request& request = requests->at(i);
    if (request.kind == &kCall && request.answer != nullptr) {
      request.kind = &kGivenBack;
      request.answer = nullptr;
      static_cast<PassedCall*>(request.user)->leave(false);
    }
  }
}

void answer_passed(void* of, Status status) noexcept {
  auto* const call = static_cast<PassedCall*>(of);
  call->status = status;
  call->leave(true);
}

}  // namespace

const Kind kStart = {write_start, true};
const Kind kStartLimited = {write_start_limited, true};
const Kind kStartOfUsed = {write_start_of_used};
const Kind kRaise = {write_message, false, false, MessageKind::kEvent, &kSteps};
const Kind kOffer = {write_offer, false, false, MessageKind::kOffer, &kSteps};
const Kind kEnqueue = {write_message, false, false, MessageKind::kQueue, &kSteps};
const Kind kCall = {write_message, false, false, MessageKind::kCall, &kSteps};
const PassedCall::Steps kPassed = {take_passed, give_back_passed, answer_passed};
const Kind kComplete = {write_completion};
const Kind kFail = {write_failure};
const Kind kFailForGood = {write_failure_for_good};
const Kind kHeartbeat = {write_heartbeat};
const Kind kCancel = {write_cancel};
const Kind kTerminate = {write_terminate};
const Kind kSuspend = {write_suspend};
const Kind kResume = {write_resume};
const Kind kChangeTimeLimit = {write_time_limit};
const Kind kDelete = {write_delete, false, true};
const Kind kPrune = {write_prune, false, true};
const Kind kDeclare = {write_declaration, false, false, {}, nullptr, &Devices::declared};
const Kind kWithdraw = {write_withdrawal, false, false, {}, nullptr, &Devices::withdrawn};

}  // namespace pawl::request_kinds
