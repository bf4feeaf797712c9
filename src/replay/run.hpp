// Run: what the parts of a pass share, and the branch that runs.
//
// Purpose: holds the input, the status of the pass, its scratch memory, and the branches with the
// current one. Facts that only one part needs are in that part. Ownership: borrows all it is given;
// lives for one pass.
// Thread rule: the Runtime's.
#ifndef PAWL_REPLAY_RUN_HPP
#define PAWL_REPLAY_RUN_HPP

#include <cstdint>
#include <string_view>

#include "replay/engine.hpp"
#include "replay/history.hpp"
#include "replay/mailbox.hpp"
#include "replay/trace_log.hpp"

namespace pawl::internal {

inline constexpr EventId kNoHorizon = UINT32_MAX;
// Limits branches within branches: each is a call on the stack of the turn.
inline constexpr std::uint32_t kBranchDepthMax = 32;
// Limits for code that ignores a cancel request (R8.6): answers to one branch, and executions that
// hand the request on to the next.
inline constexpr std::uint32_t kCancelledAnswersMax = 100;
inline constexpr std::int64_t kCancelHandedOnMax = 100;

// A branch in one pass; the root counts as a branch.
struct BranchRun {
  BranchId number = 0;
  BranchRun* parent = nullptr;  // null: the root
  std::uint32_t depth = 0;      // 0 for the root
  BranchRun* next = nullptr;    // in order of opening
  History::Record* opening = nullptr;
  History::Record* cursor = nullptr;  // the next command that history expects
  History::Record* first_own = nullptr;
  History::Record* last_own = nullptr;  // list of commands to wait for, in order of issue
  Ordinal ordinal = 0;                  // for the next call
  EventId position = 1;
  EventId horizon = kNoHorizon;    // recorded: the branch sees no event above it
  EventId effective = kNoHorizon;  // horizon including the closes of this pass
  std::uint64_t path_hash = 0;     // since the last command; 0: nothing was awaited
  std::uint32_t end_calls = 0;
  std::uint32_t writer = 0;  // number among the branches that write state; 0: it writes none
  std::uint32_t writes = 0;
  // For each writer, how many of its writes this branch knows by cause: writes of its ancestors
  // before its opening, and of the branches it received.
  std::uint32_t* known = nullptr;
  std::uint32_t known_count = 0;
  std::uint32_t clean_ups = 0;          // living CleanUpScopes, plus 1 if its opener had one
  std::uint32_t cancelled_answers = 0;  // answers that count (R8.6); one too many suspends for good
  bool suspended = false;
  bool returned = false;
  ErrorKind error = ErrorKind::kNone;
  std::string_view result;
  const History::Record* awaited = nullptr;  // the first command it waits for, if suspended
};

struct PassSetup {
  History* history = nullptr;
  const TurnInput* input = nullptr;
  const EngineLimits* limits = nullptr;
  Diagnostic* diagnostic = nullptr;
  TraceLog* traces = nullptr;
  Mailbox* mailbox = nullptr;
  TypedBytes typed;
  EventId seen = 0;  // an earlier turn ran code up to this event
  EventId sent = 0;  // messages up to this event were sent by an earlier turn
  // An earlier pass ran code up to this event; the code waits for something that comes later.
  EventId ran = 0;
  std::uint32_t run = 0;  // differs from that of every other pass of this engine
  std::uint32_t commands_left = 0;
  // A second run over the events that the first one appended: it must add nothing and reach the
  // same position and path.
  bool second = false;
  EventId position = 0;
  std::uint64_t path_hash = 0;
  bool awaits_sends = false;  // the last pass waits for answers about messages of earlier turns
};

// The number of bytes of a name to show in a diagnostic: enough to recognise it, and few enough
// that both names fit.
[[nodiscard]] int shown_bytes(std::string_view name);

class Run {
 public:
  explicit Run(const PassSetup& setup);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] History& history() const { return history_; }
  [[nodiscard]] const TurnInput& input() const { return *input_; }
  [[nodiscard]] ExecutionId execution() const {
    return execution_of_code(history_, input_->execution);
  }
  [[nodiscard]] const EngineLimits& limits() const { return limits_; }
  [[nodiscard]] Diagnostic& diagnostic() const { return diagnostic_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] bool is_second() const { return second_; }
  // An earlier pass knew every event up to this one.
  [[nodiscard]] EventId ran() const { return ran_; }
  [[nodiscard]] EventId sent() const { return sent_; }
  // The part of the commit that sends messages; null: the code sent none.
  [[nodiscard]] const TurnSends* sends() const { return sends_; }
  void set_sends(const TurnSends& sends) { sends_ = &sends; }

  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] bool is_ok() const { return status_ == Status::kOk; }
  // Requires: the caller has put the reason into diagnostic().
  void fail(Status status) { status_ = status; }

  // ---- branches ----
  [[nodiscard]] BranchRun& root() { return root_; }
  [[nodiscard]] const BranchRun& root() const { return root_; }
  [[nodiscard]] BranchRun& current() const { return *current_; }
  void set_current(BranchRun& branch) { current_ = &branch; }
  [[nodiscard]] BranchId last_number() const { return last_number_; }
  // Whether the branch may call: it runs, has not ended and is not suspended. A call on any branch
  // but a suspended one that may not call is a mistake, and ends the pass.
  bool is_active(const BranchRun& branch, const char* call);
  // ---- cancellation ----
  // Whether the request stays; otherwise each branch is notified once.
  [[nodiscard]] bool is_cancel_sticky() const { return is_cancel_sticky_; }
  [[nodiscard]] bool has_seen_cancel(const BranchRun& branch) const {
    return history_.cancel_id() != 0 && history_.cancel_id() <= branch.position;
  }
  // Whether the branch has seen the request and is outside any clean-up. Then it issues nothing
  // that could complete.
  [[nodiscard]] bool is_cancelled(const BranchRun& branch) const {
    return has_seen_cancel(branch) && is_cancel_sticky_ && branch.clean_ups == 0;
  }
  // The branch ignores the request: it waits for the end of the instance.
  static void suspend_for_good(BranchRun& branch) {
    branch.suspended = true;
    branch.cancelled_answers = kCancelledAnswersMax + 1;
  }
  [[nodiscard]] static bool is_suspended_for_good(const BranchRun& branch) {
    return branch.cancelled_answers > kCancelledAnswersMax;
  }

  // Opens a branch of the current one; null: the pass has failed.
  BranchRun* begin_branch(History::Record* opening);

  // ---- memory ----
  // Memory that lives as long as this pass; null: the pass has failed.
  void* note_bytes(std::size_t size);
  template <typename T>
  T* note(std::size_t count) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): a join is a list of pointers
    constexpr std::size_t kElement = sizeof(T);
    return static_cast<T*>(note_bytes(count > SIZE_MAX / kElement ? SIZE_MAX : count * kElement));
  }

 private:
  History& history_;
  const TurnInput* input_;
  const EngineLimits& limits_;
  Diagnostic& diagnostic_;
  std::uint32_t number_;
  EventId ran_;
  EventId sent_;
  const TurnSends* sends_ = nullptr;
  bool second_;
  bool is_cancel_sticky_;
  Status status_ = Status::kOk;
  ChunkList notes_;  // joins, branches, results of branches
  BranchRun root_;
  BranchRun* current_ = &root_;
  BranchRun* last_branch_ = &root_;
  BranchId last_number_ = 0;
};

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_RUN_HPP
