// Awaits: handles, the answers of their awaits, and what closes them.
//
// Purpose: resolves commands, branches and joins by what their branch may see, suspends a branch
// whose await has no answer, and closes the losers of a select. Ownership: as Run. Thread rule: the
// Runtime's.
#ifndef PAWL_REPLAY_AWAITS_HPP
#define PAWL_REPLAY_AWAITS_HPP

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/check.hpp"
#include "pawl/orchestration.hpp"
#include "replay/commands.hpp"
#include "replay/run.hpp"
#include "replay/state_calls.hpp"

namespace pawl::internal {

// The kind of a handle, or the reason why it is invalid.
enum class HandleForm : std::uint32_t {
  kNone,
  kCommand,
  kJoin,
  kBadName,
  kBadSession,
  kBadTag,
  kBadId,
  kNotPlain,  // an id that is no plain one: is_plain_id()
  kBadVersion,
  kBadPayload,
  kNoJson,
  kBadOptions,
  kTooDeep,
  kNotIssued,  // the cancel request came before it (R8.4)
  kInvalid
};
// The answer of an await of such a handle.
[[nodiscard]] Outcome refused(HandleForm form);

class Awaits {
 public:
  using Record = History::Record;

  Awaits(Run& run, Commands& commands, StateCalls& state)
      : run_(run), history_(run.history()), commands_(commands), state_(state) {}
  Awaits(const Awaits&) = delete;
  Awaits& operator=(const Awaits&) = delete;

  // ---- handles ----
  Handle handle_of(Record* command) {
    return handle_of(command == nullptr ? HandleForm::kNone : HandleForm::kCommand, command);
  }
  Handle handle_of(HandleForm form, void* target = nullptr) {
    return {this, run_.number(), static_cast<std::uint32_t>(form), target};
  }
  Handle join(BranchRun& branch, const Handle* handles, std::size_t count);
  Selection select(BranchRun& branch, const Handle* handles, std::size_t count);

  // ---- calls of the current branch ----
  Outcome await(const Handle& handle);
  Outcome await_first(const Selection& selection);
  void cancel(BranchRun& branch, const Handle& handle);
  // Closes what the branch still has open at its end (R3.7).
  void close_own(const BranchRun& branch);

  // A message of an earlier turn whose answer a branch waits for, and that the storage answers only
  // if it is refused.
  struct AwaitedSend {
    Record* send;
    AwaitedSend* next;
  };
  // Null: none.
  [[nodiscard]] const AwaitedSend* awaited_sends() const { return awaited_sends_; }
  // The number of the message that the branch received by this handle, if its sender waits for an
  // answer.
  [[nodiscard]] std::optional<MessageId> received_call(const Handle& handle) const;
  // Whether a living branch waits for what this closes. Requires: the effective horizons are known.
  [[nodiscard]] bool wakes_another(const Record& close) const;

 private:
  struct Join {
    std::size_t count;
    Record** leaves;
    bool has_unissued;  // R8.4 kept a member from being issued
  };
  struct Leaves {
    Record* single = nullptr;
    Record* const* list = nullptr;
    std::size_t count = 0;
    [[nodiscard]] Record& operator[](std::size_t at) const {
      Record* const leaf = list == nullptr ? single : list[at];
      PAWL_CHECK("replay-60", leaf != nullptr);
      return *leaf;
    }
  };
  enum class How : std::uint8_t { kNot, kCompleted, kReturned, kClosed, kCancelled, kRefused };
  struct Resolution {
    How how = How::kNot;
    EventId position = 0;
  };
  // A branch that waits for a command of another branch.
  struct WaitOfOtherBranch {
    const BranchRun* waiter;
    const Record* leaf;
    WaitOfOtherBranch* next;
  };

  [[nodiscard]] HandleForm form_of(const Handle& handle) const {
    const bool is_ours = handle.awaits_ == this && handle.run_ == run_.number();
    return is_ours ? static_cast<HandleForm>(handle.form_) : HandleForm::kInvalid;
  }
  [[nodiscard]] Leaves leaves_of(const Handle& handle) const;
  [[nodiscard]] bool may_await(const Record& leaf) const;
  [[nodiscard]] Resolution resolve(const Record& leaf) const;
  [[nodiscard]] Resolution resolve(const Handle& handle) const;
  [[nodiscard]] bool is_unissued(const Handle& handle) const;
  [[nodiscard]] bool is_cancelled(const Resolution& resolution) const;
  [[nodiscard]] Outcome cancel_reason() const;
  Outcome cancelled(bool counts);
  [[nodiscard]] bool counts_as_ignored(const Handle& handle);
  Outcome suspend(const Handle* handles, std::size_t count);
  void wait_for(Record& leaf);
  void wait_for_answer(Record& send);
  void note_receipt(Record& leaf);
  Outcome receive(const Handle& handle, const Resolution& resolution);
  [[nodiscard]] bool is_plain(const Record& leaf) const;
  Outcome receive_plain(Record& leaf);
  [[nodiscard]] Outcome result_of(const Record& leaf, const Resolution& resolution) const;
  void close(Record* leaf);
  void close_all(const Handle& handle);
  void add_to_path(const Handle& handle);

  Run& run_;
  History& history_;
  Commands& commands_;
  StateCalls& state_;
  WaitOfOtherBranch* waits_of_other_branches_ = nullptr;
  AwaitedSend* awaited_sends_ = nullptr;
};

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_AWAITS_HPP
