// EndCalls: how branches end, and the end event of the root.
//
// Purpose: handles complete(), fail() and continue_as_new(); the end of the root is staged, or
// compared with the one in history. Ownership: as Run. Thread rule: the Runtime's.
#ifndef PAWL_REPLAY_END_CALLS_HPP
#define PAWL_REPLAY_END_CALLS_HPP

#include <string_view>

#include "pawl/orchestration.hpp"
#include "replay/run.hpp"

namespace pawl::internal {

class EndCalls {
 public:
  explicit EndCalls(Run& run) : run_(run) {}
  EndCalls(const EndCalls&) = delete;
  EndCalls& operator=(const EndCalls&) = delete;

  Poll end(BranchRun& branch, EndKind kind, ErrorKind error, std::string_view payload,
           std::string_view version = {});
  Poll continue_as_new(BranchRun& branch, std::string_view version, std::string_view input);

  // The end event, which is not part of history yet; null: there is none.
  [[nodiscard]] History::Record* staged() const { return staged_; }
  // Fails the pass if the root ended where it waited in an earlier turn, or waits where history
  // ends.
  void check_root();

 private:
  [[nodiscard]] bool has_handed_on_enough() const;
  void keep_result(BranchRun& branch, const Event& end);
  void check_recorded_end(const Event& end);

  Run& run_;
  History::Record* staged_ = nullptr;
};

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_END_CALLS_HPP
