// Calls: activities, timers, waits, children and recorded values. Each call is checked and becomes
// one command.
//
// Ownership: as Run. Thread rule: the Runtime's. Errors: the reason for refusing an argument is
// stored as the form of the handle, and so becomes the answer of its await.
#ifndef PAWL_REPLAY_CALLS_HPP
#define PAWL_REPLAY_CALLS_HPP

#include <cstdint>
#include <string_view>

#include "codec/policy.hpp"
#include "pawl/orchestration.hpp"
#include "replay/awaits.hpp"
#include "replay/commands.hpp"
#include "replay/run.hpp"

namespace pawl::internal {

// Arguments of a call that starts another instance.
struct NewInstanceCall {
  std::string_view name;
  std::string_view input;
  bool has_id = false;
  std::string_view id;
  bool has_version = false;
  std::string_view version;
};

// Arguments of a call that sends a message. `kind`: kEnqueueEvent or kRaiseEvent.
struct SendCall {
  EventKind kind = EventKind::kEnqueueEvent;
  std::string_view id;
  std::string_view name;
  std::string_view payload;
  const SendOptions& options;
};

class Calls {
  using Record = History::Record;

 public:
  Calls(Run& run, Commands& commands, Awaits& awaits)
      : run_(run), commands_(commands), awaits_(awaits) {}
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // The call without options, through which most of a long history is re-run. Always inlined,
  // whatever the compiler makes of its callers: the call is a tenth of a step.
  [[gnu::always_inline]] Handle schedule_activity(BranchRun& branch, std::string_view name,
                                                  std::string_view input) {
    Record* const recorded = commands_.take_bare_activity(branch, name, input);
    if (recorded != nullptr) return awaits_.handle_of(HandleForm::kCommand, recorded);
    return schedule_activity(branch, name, input, ActivityOptions());
  }
  Handle schedule_activity(BranchRun& branch, std::string_view name, std::string_view input,
                           const ActivityOptions& given);
  // For a typed value that cannot be written as JSON.
  Handle refuse_payload(BranchRun& branch);
  Handle schedule_timer(BranchRun& branch, TimerBase base, std::int64_t number);
  // `kind`: kWait or kDequeue.
  Handle schedule_wait(BranchRun& branch, EventKind kind, std::string_view name, bool only_try);
  Handle read_elsewhere(BranchRun& branch, std::string_view instance, std::string_view key);
  Handle schedule_child(BranchRun& branch, const NewInstanceCall& call);
  Handle send_message(BranchRun& branch, const TurnSends& sends, const SendCall& call);
  ErrorKind reply(BranchRun& branch, const TurnSends& sends, MessageId message, ErrorKind error,
                  std::string_view payload);
  ErrorKind start_detached(BranchRun& branch, const NewInstanceCall& call);
  Guid new_guid(BranchRun& branch);
  std::int64_t utc_now_ms(BranchRun& branch);

 private:
  [[nodiscard]] static ActivityPolicy policy_of(const ActivityOptions& options);
  [[nodiscard]] HandleForm form_of_call(const NewInstanceCall& call) const;
  Record* issue_start(EventKind kind, const NewInstanceCall& call);
  [[nodiscard]] HandleForm form_of_send(const SendCall& call) const;
  void issue_start_if_ended(const SendCall& call);

  Run& run_;
  Commands& commands_;
  Awaits& awaits_;
};

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_CALLS_HPP
