// Client: calls an instance, and waits for its answer.
#include <algorithm>

#include "core/clock_rules.hpp"
#include "runtime/client_core.hpp"
#include "runtime/client_messages.hpp"
#include "runtime/passed_calls.hpp"
#include "runtime/request_kinds.hpp"

namespace pawl {
namespace {

// 128 random bits.
void make_key(const port::Port& port, Name* out) {
  std::uint8_t random[16] = {};
  port.clock->random(random, sizeof random);
  char text[2 * sizeof random] = {};
  for (std::size_t i = 0; i < sizeof text; ++i)
    text[i] = "0123456789abcdef"[unsigned{random[i / 2]} >> (i % 2 == 0 ? 4U : 0U) & 15U];
  *out = std::string_view(text, sizeof text);
}

// A loop that has not taken a call after so long is at other work.
constexpr std::int64_t kPatienceMs = 20;

enum class Passed {
  kMade,     // the call is committed, and perhaps answered
  kNotMade,  // the Client makes it by itself, which finds it if it is made after all
  kUnknown,  // the time is over, and the loop has it
};

Passed await_passed(internal::PassedCall& call, const port::Port& port, std::int64_t end) {
  using State = internal::PassedCall::State;
  const std::int64_t give_up = std::min(end, port.clock->boot_ms() + kPatienceMs);
  while (true) {
    State state = call.state.load(std::memory_order_acquire);
    if (state == State::kLeft || state == State::kFree)
      return call.is_made && call.status == Status::kOk ? Passed::kMade : Passed::kNotMade;
    const std::int64_t now = port.clock->boot_ms();
    if (state == State::kTaken && now >= end) return Passed::kUnknown;
    if (state == State::kPassed && now >= give_up &&
        call.state.compare_exchange_strong(state, State::kWithdrawn, std::memory_order_acq_rel))
      return Passed::kNotMade;
    std::int64_t until = state == State::kTaken ? end : give_up;
    if (until <= now) until = now + 1;
    static_cast<void>(port.threads->wait(until));
  }
}

// Has a loop of this process make the call.
Passed pass(ClientCore& core, const NewMessage& posted, std::int64_t end) {
  internal::PassedCall* const free = core.free_call();
  PassedCalls::Place* const place =
      &request_kinds::kPassed == nullptr ? nullptr : core.place_of_calls();
  if (place == nullptr || free == nullptr ||
      posted.payload.size() > core.options().payload_bytes_max)
    return Passed::kNotMade;
  internal::PassedCall& call = *free;
  Request request;
  request.kind = &request_kinds::kCall;
  request.id = posted.id;
  request.name = posted.name;
  request.text = posted.payload;
  request.key = &posted.key;
  request.answer = request_kinds::kPassed.answer;
  request.user = &call;
  call.steps = &request_kinds::kPassed;
  call.request = &request;
  call.database_id = core.store().database_id();
  call.is_made = false;
  call.threads = core.port().threads;
  call.state.store(internal::PassedCall::State::kPassed, std::memory_order_release);
  if (!PassedCalls::pass(*place, call)) {
    call.state.store(internal::PassedCall::State::kFree, std::memory_order_release);
    return Passed::kNotMade;
  }
  core.port().storage->ring(core.options().database_path.c_str());
  return await_passed(call, core.port(), end);
}

// The number of a call that was made, by its key.
Status find_made(ClientCore& core, const NewMessage& posted, MessageId* number) {
  bool known = false;
  PAWL_TRY(core.store().instance().deliveries.find_message(posted, number, &known));
  return known ? Status::kOk : Status::kNotFound;
}

// A call that was made before is answered also where nothing can be written.
Status send_call(ClientCore& core, const NewMessage& posted, const SendOptions& options,
                 MessageId* number, FirstLook* first) {
  const Status sent = send_message(core, posted, options, number);
  const bool is_new = sent == Status::kOk && core.store().batch().last_commit_wrote();
  *first = is_new ? FirstLook::kAfterBell : FirstLook::kNow;
  if (sent == Status::kOk || sent == Status::kKeyReused) return sent;
  return find_made(core, posted, number) == Status::kOk ? Status::kOk : sent;
}

}  // namespace

Status Client::call(std::string_view id, std::string_view queue, std::string_view payload,
                    std::chrono::milliseconds timeout, CallAnswer* out,
                    const SendOptions& options) {
  return enter([&](ClientCore& core) {
    *out = CallAnswer();
    // Before the message is sent, so that the bell for its answer is heard.
    if (timeout.count() > 0) PAWL_TRY(core.begin_waiting());
    const std::int64_t end = add_saturating(core.port().clock->boot_ms(), timeout.count());
    SendOptions keyed = options;
    NewMessage posted = new_message(core, id, MessageKind::kCall, queue, payload);
    if (!keyed.key.has_value()) make_key(core.port(), &out->key);
    if (keyed.key.has_value()) PAWL_TRY(take_key(core, keyed, &posted));
    if (keyed.key.has_value()) out->key = *keyed.key;
    keyed.key = posted.key = out->key.view();
    MessageId number = 0;
    FirstLook first = FirstLook::kNow;
    Passed passed = Passed::kNotMade;
    if (timeout.count() > 0 && !options.start_if_ended.has_value())
      passed = pass(core, posted, end);
    if (passed == Passed::kUnknown) return Status::kTimeout;
    if (passed == Passed::kNotMade) PAWL_TRY(send_call(core, posted, keyed, &number, &first));
    OrchestrationStatus status;
    store::CallRow row;
    Status read = Status::kOk;
    const auto look = [&] {
      if (number == 0) read = find_made(core, posted, &number);
      if (read != Status::kOk) return true;
      read = core.store().instance().calls.read_call(number, &row, core.buffer(),
                                                     core.options().payload_bytes_max);
      return read != Status::kOk || row.state != store::CallState::kOpen;
    };
    if (timeout.count() > 0) {
      const std::int64_t left_ms = end - core.port().clock->boot_ms();
      PAWL_TRY(core.wait_until(id, left_ms, first, &status, look));
    } else {
      PAWL_TRY(core.get_status(id, &status));
      if (!look()) return Status::kTimeout;
    }
    if (read == Status::kNotFound ||
        (read == Status::kOk && row.state != store::CallState::kAnswered)) {
      core.diagnostic().format(read == Status::kOk ? "the instance ended without an answer"
                                                   : "the answer is gone");
      return Status::kStale;
    }
    PAWL_TRY(read);
    out->error = row.error;
    out->value = row.answer;
    core.lend({&out->value});
    return Status::kOk;
  });
}

}  // namespace pawl
