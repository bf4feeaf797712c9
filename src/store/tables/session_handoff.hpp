// SessionHandoff: sessions that an orchestration hands to workers of another kind, with what those
// should know. Rules: docs/rules/session.md. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_HANDOFF_HPP
#define PAWL_STORE_TABLES_SESSION_HANDOFF_HPP

#include <string_view>

#include "context.hpp"
#include "event.hpp"
#include "session_moves.hpp"
#include "session_table.hpp"
#include "summary_table.hpp"
#include "unregistered_work.hpp"

namespace pawl::store {

class SessionHandoff : private Table {
 public:
  SessionHandoff(StoreContext& context, SummaryTable& summaries, SessionTable& sessions,
                 UnregisteredWork& unregistered, SessionMoves& moves)
      : Table(context),
        summaries_(summaries),
        sessions_(sessions),
        unregistered_(unregistered),
        moves_(moves) {}

  Status handoff_session(InstanceKey instance, const Event& event);
  // Which workers its work is for, and what they should know; empty: none.
  Status set_session_tag(SessionKey session, std::string_view tag, std::string_view summary);

 private:
  SummaryTable& summaries_;
  SessionTable& sessions_;
  UnregisteredWork& unregistered_;
  SessionMoves& moves_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_HANDOFF_HPP
