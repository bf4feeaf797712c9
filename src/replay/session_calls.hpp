// SessionCalls: sessions that the code opens, closes, holds and hands off: commands without a
// result.
//
// Purpose: work on a session that is not open, or is lost, fails at its await; so the engine keeps
// no list of open sessions. Ownership: as Run. Thread rule: the Runtime's.
#ifndef PAWL_REPLAY_SESSION_CALLS_HPP
#define PAWL_REPLAY_SESSION_CALLS_HPP

#include <cstdint>
#include <string_view>

#include "pawl/session.hpp"
#include "replay/awaits.hpp"
#include "replay/calls.hpp"
#include "replay/commands.hpp"
#include "replay/run.hpp"

namespace pawl::internal {

class SessionCalls {
 public:
  SessionCalls(Run& run, Commands& commands, Calls& calls, Awaits& awaits)
      : run_(run), commands_(commands), calls_(calls), awaits_(awaits) {}
  SessionCalls(const SessionCalls&) = delete;
  SessionCalls& operator=(const SessionCalls&) = delete;

  // Without `has_id` the session gets an id of its own.
  Session open(BranchRun& branch, std::string_view id, bool has_id,
               const SessionSettings& settings);
  Session use(BranchRun& branch, std::string_view name, const SessionSettings& settings);
  // Empty: one of the ids is invalid.
  static Session adopt(std::string_view instance, std::string_view session);
  ErrorKind change(BranchRun& branch, const Session& session, const SessionSettings& settings);
  ErrorKind close(BranchRun& branch, std::string_view id);
  ErrorKind close(BranchRun& branch, const Session& session);
  // An adopted session gets kInvalidArgument: it belongs to its opener.
  ErrorKind handoff(BranchRun& branch, const Session& session, std::string_view tag,
                    std::string_view summary);
  ErrorKind hold(BranchRun& branch, const Session& session, std::int64_t hold_ms);
  ErrorKind handoff(BranchRun& branch, std::string_view id, bool is_own, std::string_view tag,
                    std::string_view summary);
  ErrorKind hold(BranchRun& branch, std::string_view id, bool is_own, std::int64_t hold_ms);
  Handle events(BranchRun& branch, const Session& session);
  // Asks whether the session is open when the commit of this turn reaches this command.
  Handle check(BranchRun& branch, const Session& session);

 private:
  using Kind = Session::Kind;
  // Null: the settings contradict each other.
  const History::Record* set(const Session& session, const SessionSettings& settings);

  Run& run_;
  Commands& commands_;
  Calls& calls_;
  Awaits& awaits_;
};

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_SESSION_CALLS_HPP
