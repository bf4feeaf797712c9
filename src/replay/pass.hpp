// Pass: one run of an orchestration function from its top.
//
// Purpose: the implementation behind OrchestrationContext. Runs the code of the root and of the
// branches, and holds the parts that answer its calls: shared facts (Run), commands and history
// (Commands), awaits (Awaits), state (StateCalls), all other calls (Calls, SessionCalls, EndCalls).
// New commands become part of history at the end (PassEnd).
// Ownership: borrows all it is given; lives for one run, as do handles. Thread rule: the Runtime's.
#ifndef PAWL_REPLAY_PASS_HPP
#define PAWL_REPLAY_PASS_HPP

#include <cstdint>
#include <string_view>

#include "pawl/orchestration.hpp"
#include "replay/awaits.hpp"
#include "replay/calls.hpp"
#include "replay/commands.hpp"
#include "replay/end_calls.hpp"
#include "replay/engine.hpp"
#include "replay/pass_end.hpp"
#include "replay/run.hpp"
#include "replay/session_calls.hpp"
#include "replay/state_calls.hpp"

namespace pawl::internal {

class Pass {
 public:
  explicit Pass(const PassSetup& setup)
      : run_(setup),
        commands_(run_, setup.commands_left),
        state_(run_, commands_),
        awaits_(run_, commands_, state_),
        calls_(run_, commands_, awaits_),
        sessions_(run_, commands_, calls_, awaits_),
        ends_(run_),
        end_(run_, setup),
        traces_(*setup.traces),
        typed_(setup.typed),
        seen_(setup.seen) {}
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  // Runs the function and appends its decisions. Unless kOk the history must be rewound, and the
  // diagnostic says why.
  Status run();
  [[nodiscard]] ExecutionId execution() const { return run_.execution(); }
  [[nodiscard]] void* user() const { return run_.input().code.user(); }
  [[nodiscard]] bool has_ended() const { return run_.root().returned; }
  // Whether the pass appended events that another pass must see.
  [[nodiscard]] bool is_another_needed() const { return end_.is_another_needed(); }
  [[nodiscard]] std::uint32_t appended() const { return end_.appended(); }
  [[nodiscard]] std::uint32_t withdrawn() const {
    return commands_.staged_count() - end_.appended();
  }
  [[nodiscard]] const Awaits::AwaitedSend* awaited_sends() const { return awaits_.awaited_sends(); }
  [[nodiscard]] const TurnSends* sends() const { return run_.sends(); }
  [[nodiscard]] EventId position() const { return run_.root().position; }
  [[nodiscard]] std::uint64_t path_hash() const { return run_.root().path_hash; }

  // ---- behind the public interface ----
  [[nodiscard]] Calls& calls() { return calls_; }
  [[nodiscard]] SessionCalls& sessions() { return sessions_; }
  [[nodiscard]] StateCalls& state() { return state_; }
  [[nodiscard]] Awaits& awaits() { return awaits_; }
  [[nodiscard]] EndCalls& ends() { return ends_; }
  [[nodiscard]] TypedBytes typed_bytes() const { return typed_; }
  [[nodiscard]] const TurnInput& input() const { return run_.input(); }
  [[nodiscard]] std::string_view start_payload() const;
  [[nodiscard]] std::string_view start_version() const;
  [[nodiscard]] bool is_replaying(const BranchRun& branch) const {
    return branch.position <= seen_;
  }
  [[nodiscard]] bool is_suspended(const BranchRun& branch) const {
    return branch.suspended || !run_.is_ok();
  }
  [[nodiscard]] std::int64_t now_ms(const BranchRun& branch) const;
  EventId history_length(const BranchRun& branch);
  bool is_continue_as_new_due(const BranchRun& branch);
  // Whether the code has read the length of its history, in this turn or in an earlier one.
  [[nodiscard]] bool watches_length() const { return watches_length_; }
  [[nodiscard]] bool has_seen_cancel(const BranchRun& branch) const {
    return run_.has_seen_cancel(branch);
  }
  [[nodiscard]] std::string_view cancel_reason() const;
  // Whether a living branch was suspended for good at a place that no earlier turn had reached.
  [[nodiscard]] bool ignores_cancel() const;
  CleanUpScope clean_up(BranchRun& branch);
  void trace(BranchRun& branch, LogLevel level, std::string_view text);
  Handle open_branch(BranchRun& branch, Poll (*call)(void*, OrchestrationContext&), void* callable);
  // Ends the pass after an exception left the code of the branch; `what`: its text, null if it has
  // none.
  Poll stop_with_exception(const BranchRun& branch, const char* what);

 private:
  void end_branch(BranchRun& branch, bool pending);
  void check_ending(const BranchRun& branch, bool pending);

  Run run_;
  bool watches_length_ = false;
  Commands commands_;
  StateCalls state_;
  Awaits awaits_;
  Calls calls_;
  SessionCalls sessions_;
  EndCalls ends_;
  PassEnd end_;
  TraceLog& traces_;
  TypedBytes typed_;
  EventId seen_;
};

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_PASS_HPP
