// SessionHandoff: gives a session to workers of another tag, with a summary for them.
// Rules: docs/rules/session-work.md, S38. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_HANDOFF_HPP
#define PAWL_STORE_TABLES_SESSION_HANDOFF_HPP

#include <string_view>

#include "context.hpp"
#include "event.hpp"
#include "session_moves.hpp"
#include "session_openings.hpp"
#include "session_table.hpp"

namespace pawl::store {

class SessionHandoff : private Table {
 public:
  SessionHandoff(StoreContext& context, SessionTable& sessions, SessionOpenings& openings,
                 SessionMoves& moves)
      : Table(context), sessions_(sessions), openings_(openings), moves_(moves) {}

  Status handoff_session(InstanceKey instance, const Event& event);
  // *handed_off = false: the session is a device, and stays.
  Status hand_off(SessionKey session, std::string_view tag, std::string_view summary,
                  bool* handed_off);

 private:
  SessionTable& sessions_;
  SessionOpenings& openings_;
  SessionMoves& moves_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_HANDOFF_HPP
