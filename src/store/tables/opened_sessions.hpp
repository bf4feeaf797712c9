// OpenedSessions: sessions that an orchestration opens, holds and closes. Rules:
// docs/rules/session-openings.md. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_OPENED_SESSIONS_HPP
#define PAWL_STORE_TABLES_OPENED_SESSIONS_HPP

#include <string_view>

#include "context.hpp"
#include "event.hpp"
#include "pawl/session.hpp"
#include "session_events.hpp"
#include "session_handoff.hpp"
#include "session_openings.hpp"
#include "session_owners.hpp"
#include "session_table.hpp"
#include "turn_commit.hpp"

namespace pawl::store {

class OpenedSessions : private Table {
 public:
  OpenedSessions(StoreContext& context, MessageTable& messages, SessionEvents& events,
                 SessionTable& sessions, SessionOwners& owners, SessionOpenings& openings,
                 SessionHandoff& handoff)
      : Table(context),
        messages_(messages),
        events_(events),
        sessions_(sessions),
        owners_(owners),
        openings_(openings),
        handoff_(handoff) {}

  // Carries out a turn's command about a session.
  Status write_session(const TurnCommit& turn, const Event& event);
  // Removes the row; cancelled work that still runs keeps it until that work has ended.
  Status close_row(SessionKey session, session::Cause cause, std::string_view reason);
  // Closes the sessions of an instance that ended or is removed.
  Status close_all_sessions(InstanceKey instance);

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

  MessageTable& messages_;
  SessionEvents& events_;
  SessionTable& sessions_;
  SessionOwners& owners_;
  SessionOpenings& openings_;
  SessionHandoff& handoff_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_OPENED_SESSIONS_HPP
