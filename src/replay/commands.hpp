// Commands: what the code issues, compared with history or staged.
//
// Purpose: each call takes the next ordinal of its branch; history's command there must equal it
// (R3.1), and where history has none the new command is staged until the end of the pass.
// Ownership: as Run. Thread rule: the Runtime's.
#ifndef PAWL_REPLAY_COMMANDS_HPP
#define PAWL_REPLAY_COMMANDS_HPP

#include <cstdint>
#include <string_view>

#include "replay/run.hpp"

namespace pawl::internal {

class Commands {
 public:
  using Record = History::Record;

  Commands(Run& run, std::uint32_t left) : run_(run), left_(left) {}
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  // Issues a command of the current branch, which may call. Fills in branch, ordinal, path and, for
  // a new command, the time. Null: the pass has failed.
  Record* issue(Event& event);
  // If history has an activity without options and with this name and input at this place: the same
  // answer as issue(), without hashes, since equal arguments have equal hashes. Null: the call must
  // be issued.
  Record* take_bare_activity(BranchRun& branch, std::string_view name, std::string_view input);

  // Null: there is none.
  [[nodiscard]] Record* first_staged() const { return first_staged_; }
  [[nodiscard]] std::uint32_t staged_count() const { return staged_count_; }
  // Whether a command may have this id, which is a valid name: a plain id, or the one that history
  // has at this place. An older engine accepted other ids; this one records none of them.
  [[nodiscard]] bool takes_id(std::string_view id) const;
  // Fails the pass unless every recorded command has been issued again.
  void check_all_issued();

 private:
  Record* issue_recorded(Event& event);
  Record* issue_new(Event& event);
  bool may_issue_new(const Event& event);
  bool has_room(const Event& event);
  void take(Record& record);
  void adopt(Record& record, BranchRun& branch) const;
  static void own(Record& record, BranchRun& branch);
  void fail_mismatch(const Event& recorded, const Event& issued, const char* what);

  Run& run_;
  std::uint32_t left_;  // how many new ones this turn may still append
  Record* first_staged_ = nullptr;
  Record* last_staged_ = nullptr;
  std::uint32_t staged_count_ = 0;
  std::uint32_t reissued_ = 0;
};

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_COMMANDS_HPP
