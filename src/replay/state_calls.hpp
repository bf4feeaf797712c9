// StateCalls: what branches write and read of their instance's state, and the custom status, which
// is the state under the empty key.
//
// Purpose: a read sees what earlier executions left, the branch's own writes, those it knows by
// cause, and of all other writes those at or before its position (R5.3). Ownership: as Run. Thread
// rule: the Runtime's.
#ifndef PAWL_REPLAY_STATE_CALLS_HPP
#define PAWL_REPLAY_STATE_CALLS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/kv.hpp"
#include "replay/commands.hpp"
#include "replay/run.hpp"

namespace pawl::internal {

class StateCalls {
 public:
  StateCalls(Run& run, Commands& commands)
      : run_(run), history_(run.history()), commands_(commands) {}
  StateCalls(const StateCalls&) = delete;
  StateCalls& operator=(const StateCalls&) = delete;

  ErrorKind write(BranchRun& branch, std::string_view key, std::string_view value, bool clear);
  bool read(BranchRun& branch, std::string_view key, KvEntry* out);
  // Gives the first key behind the one in `entry`.
  bool next(BranchRun& branch, KvEntry* entry);
  std::size_t length(BranchRun& branch);
  // Clears what was written before this time; returns the number of keys.
  std::size_t clear(BranchRun& branch, std::int64_t updated_before_ms);
  ErrorKind set_custom_status(BranchRun& branch, std::string_view text);
  std::string_view custom_status(BranchRun& branch);

  // Makes `branch` know by cause what `from` knows: `from` opened it, or it has received `from`.
  void learn(BranchRun& branch, const BranchRun& from);

 private:
  using Record = History::Record;

  ErrorKind issue_write(BranchRun& branch, Event& event);
  [[nodiscard]] bool stored_value(const History::StateKey& key, std::string_view* value) const;
  [[nodiscard]] bool has_room_for(std::string_view key, std::string_view value) const;
  bool look_up(const BranchRun& branch, const History::StateKey& key, KvEntry* out) const;
  bool find_next(const BranchRun& branch, KvEntry* entry) const;
  [[nodiscard]] bool knows(const BranchRun& branch, const Record& write) const;

  Run& run_;
  History& history_;
  Commands& commands_;
  std::uint32_t writer_count_ = 0;
};

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_STATE_CALLS_HPP
