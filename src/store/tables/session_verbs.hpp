// SessionVerbs: an operator's verbs on a session, except closing and moving it. Rules:
// docs/rules/session-openings.md, S54.
//
// The rows change as they do for code. A client has no log: the row keeps what was done until a
// Runtime looks at it. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_VERBS_HPP
#define PAWL_STORE_TABLES_SESSION_VERBS_HPP

#include <cstdint>
#include <string_view>

#include "context.hpp"
#include "instance_table.hpp"
#include "pawl/session.hpp"
#include "session_handoff.hpp"
#include "session_openings.hpp"
#include "session_table.hpp"

namespace pawl::store {

class SessionVerbs : private Table {
 public:
  SessionVerbs(StoreContext& context, InstanceTable& instances, SessionTable& sessions,
               SessionOpenings& openings, SessionHandoff& handoff)
      : Table(context),
        instances_(instances),
        sessions_(sessions),
        openings_(openings),
        handoff_(handoff) {}

  // ---- calls of the contract ----
  Status hold_session(std::string_view instance, std::string_view session, std::int64_t hold_ms);
  Status handoff_session(std::string_view instance, std::string_view session, std::string_view tag,
                         std::string_view summary);
  Status change_session(std::string_view instance, std::string_view session,
                        const SessionUpdate& update);

 private:
  // kNotFound: no such session is open.
  Status find_open(std::string_view instance, std::string_view session, InstanceKey* scope,
                   SessionKey* key);
  // Keeps what was done in the row; the next look at the session logs it.
  Status note(SessionKey session, std::string_view what);

  InstanceTable& instances_;
  SessionTable& sessions_;
  SessionOpenings& openings_;
  SessionHandoff& handoff_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_VERBS_HPP
