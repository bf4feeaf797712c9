// PassEnd: appends the events of a pass that ran to its end (R6.2 to R6.6).
//
// Purpose: finds the horizons of the branches, makes the staged commands within them and the end
// part of history, and gives back the messages that no branch received. Ownership: as Run. Thread
// rule: the Runtime's.
#ifndef PAWL_REPLAY_PASS_END_HPP
#define PAWL_REPLAY_PASS_END_HPP

#include <cstdint>

#include "replay/awaits.hpp"
#include "replay/commands.hpp"
#include "replay/mailbox.hpp"
#include "replay/run.hpp"

namespace pawl::internal {

class PassEnd {
 public:
  PassEnd(Run& run, const PassSetup& setup)
      : run_(run), history_(run.history()), traces_(*setup.traces), mailbox_(*setup.mailbox) {}
  PassEnd(const PassEnd&) = delete;
  PassEnd& operator=(const PassEnd&) = delete;

  // `end`: the end event; null: the root has not ended.
  Status finish(const Commands& commands, const Awaits& awaits, History::Record* end);
  [[nodiscard]] std::uint32_t appended() const { return appended_; }
  // Whether a close was appended that another living branch waits for.
  [[nodiscard]] bool is_another_needed() const { return is_another_needed_; }

 private:
  using Record = History::Record;

  void find_horizons();
  Status append_commands(const Commands& commands, const Awaits& awaits);
  Status append_returns();
  [[nodiscard]] Record* next_to_return(std::int64_t after) const;
  [[nodiscard]] bool is_void(const Record& wait) const;

  Run& run_;
  History& history_;
  TraceLog& traces_;
  Mailbox& mailbox_;
  std::uint32_t appended_ = 0;
  bool has_ended_ = false;
  bool has_closed_ = false;
  bool is_another_needed_ = false;
};

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_PASS_END_HPP
