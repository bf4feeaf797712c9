// SessionExpiry: ends sessions, or looks at them, because of their age or for an operator.
// Rules: docs/rules/session-openings.md. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_EXPIRY_HPP
#define PAWL_STORE_TABLES_SESSION_EXPIRY_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "change_sink.hpp"
#include "context.hpp"
#include "instance_table.hpp"
#include "lifetime.hpp"
#include "opened_sessions.hpp"
#include "session_events.hpp"
#include "session_owners.hpp"
#include "session_store.hpp"
#include "session_table.hpp"
#include "text.hpp"
#include "worker_terms.hpp"

namespace pawl::store {

class SessionExpiry : private Table {
 public:
  SessionExpiry(StoreContext& context, InstanceTable& instances, SessionEvents& events,
                SessionTable& sessions, SessionOwners& owners, SessionOpenings& openings,
                OpenedSessions& opened)
      : Table(context),
        instances_(instances),
        events_(events),
        sessions_(sessions),
        owners_(owners),
        openings_(openings),
        opened_(opened) {}

  // ---- calls of the contract ----
  Status end_session(std::string_view instance, std::string_view session,
                     std::string_view owner_label);
  Status report_leaks(const WorkerTerms& options, LeakCursors* cursors);

  // ---- for the other tables ----
  // Looks at the sessions whose look_at has come, at most `limit`; adds to *looked.
  Status look_at_sessions(std::size_t limit, std::size_t* looked);

 private:
  struct Look {
    SessionKey session = 0;
    session::LookRow row;
    session::EndTerms terms;
    FixedText<Diagnostic::kCapacity> ended;
    InstanceKey limited_by = 0;
  };
  Status next_look(Look* out);
  Status look_at_session(const Look& look);
  Status log_operation(SessionKey session, std::string_view what);
  Status look_again(SessionKey session, OptionalMs at);
  Status announce_expiry(SessionKey session);
  Status announce_closing(SessionKey session, std::int64_t in_ms);
  Status close_idle(SessionKey session);
  Status expire_session(const Look& look, session::Look what);
  // Ends an open session from outside its code: its work fails, its instance is notified, and its
  // row stays and is looked at after `kept_ms`.
  Status end_opened(SessionKey session, const SessionChange& reported, session::Cause cause,
                    std::int64_t kept_ms);
  Status report_older_than(std::int64_t for_ms, bool unused, LeakCursor* cursor);

  InstanceTable& instances_;
  SessionEvents& events_;
  SessionTable& sessions_;
  SessionOwners& owners_;
  SessionOpenings& openings_;
  OpenedSessions& opened_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_EXPIRY_HPP
