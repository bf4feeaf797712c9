// SessionVerbs: opens, holds, changes, hands off and closes sessions, for code and for operators.
// Rules: docs/rules/session-openings.md, S54, and docs/rules/session-work.md, S38.
//
// The rows change in the same way for both. A client has no log: the row keeps what was done until
// a Runtime looks at it. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_SESSION_VERBS_HPP
#define PAWL_STORE_SESSION_VERBS_HPP

#include <cstdint>
#include <string_view>

#include "codec/event.hpp"
#include "pawl/session.hpp"
#include "store/context.hpp"
#include "store/instance/rows.hpp"
#include "store/instance/turn_commit.hpp"
#include "store/rows.hpp"
#include "store/session/events.hpp"
#include "store/session/moves.hpp"
#include "store/session/openings.hpp"
#include "store/session/owners.hpp"
#include "store/session/rows.hpp"

namespace pawl::store {

class SessionVerbs : private Table {
 public:
  SessionVerbs(StoreContext& context, Rows& rows, SessionOwners& owners, SessionOpenings& openings,
               SessionMoves& moves)
      : Table(context), rows_(rows), owners_(owners), openings_(openings), moves_(moves) {}

  // In a batch: does for an operator what code does with the calls of these names. kNotFound: no
  // such session is open; kInvalidArgument with a text. Reported as by close_session().
  Status hold_session(std::string_view instance, std::string_view session, std::int64_t hold_ms);
  Status handoff_session(std::string_view instance, std::string_view session, std::string_view tag,
                         std::string_view summary);
  Status change_session(std::string_view instance, std::string_view session,
                        const SessionUpdate& update);

  // ---- for the other classes of the storage ----
  // Carries out a turn's command about a session.
  Status write_session(const TurnCommit& turn, const Event& event);
  // Removes the row; cancelled work that still runs keeps it until that work has ended.
  Status close_session(SessionKey session, rules::Trigger cause, std::string_view reason);
  // Closes the sessions of an instance that ended or is removed.
  Status close_all_sessions(InstanceKey instance);
  Status handoff_session(InstanceKey instance, const Event& event);

 private:
  Status answer_check(const TurnCommit& turn, const Event& event);
  Status open_session(const TurnCommit& turn, const Event& event);
  Status close_session(InstanceKey instance, std::string_view name);
  Status hold_session(InstanceKey instance, const Event& event);
  Status hold_one(InstanceKey scope, const Event& event, bool* held);
  Status set_settings(const TurnCommit& turn, const Event& event);
  Status read_settings(const Event& event, SessionSettings* settings);
  Status begin(Beginning how, const TurnCommit& turn, std::string_view name, const Opened& row,
               const SessionSettings& settings);
  // The reason why the session may not be opened; empty: it may. `session`: its own row, which does
  // not count; 0: none yet.
  Status find_refusal(const TurnCommit& turn, InstanceKey scope, SessionKey session,
                      std::string_view owner_label, Diagnostic* refusal);
  Status describe_too_many(const TurnCommit& turn, SessionKey session, std::string_view owner_label,
                           Diagnostic* refusal);
  // kNotFound: no such session is open.
  Status find_open(std::string_view instance, std::string_view session, InstanceKey* scope,
                   SessionKey* key);
  // Keeps what was done in the row; the next look at the session logs it.
  Status note(SessionKey session, std::string_view what);
  Rows& rows_;
  SessionOwners& owners_;
  SessionOpenings& openings_;
  SessionMoves& moves_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SESSION_VERBS_HPP
