// SessionOpenings: rows of sessions that begin, or begin anew, whatever makes them: work that names
// a shared one, or code that gives settings. Rules: docs/rules, S1, S11, S18 and S51.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_OPENINGS_HPP
#define PAWL_STORE_TABLES_SESSION_OPENINGS_HPP

#include <string_view>

#include "context.hpp"
#include "pawl/session.hpp"
#include "session_events.hpp"
#include "session_limits.hpp"
#include "session_owners.hpp"
#include "session_table.hpp"
#include "summary_table.hpp"
#include "unregistered_work.hpp"

namespace pawl::store {

// How a row begins.
struct Beginning {
  InstanceKey scope = 0;  // 0: shared
  Lifecycle lifecycle = Lifecycle::kShared;
  InstanceKey asks = 0;        // is notified, if the settings say so
  std::string_view refusal;    // why it may not; empty: it may
  InstanceKey limited_by = 0;  // it gave a shared one its settings; 0: no instance did
  bool keeps_rate = false;     // what was taken from its bucket is not given back
};

class SessionOpenings : private Table {
 public:
  SessionOpenings(StoreContext& context, SummaryTable& summaries, SessionEvents& events,
                  SessionTable& sessions, UnregisteredWork& unregistered, SessionOwners& owners,
                  SessionLimits& limits)
      : Table(context),
        summaries_(summaries),
        events_(events),
        sessions_(sessions),
        unregistered_(unregistered),
        owners_(owners),
        limits_(limits) {}

  Status insert(const Beginning& how, std::string_view name, const SessionSettings& settings,
                bool device, SessionKey* session);
  // A new opening of a row that is not open: a new generation and epoch. Cancelled work that still
  // runs holds it.
  Status begin_anew(SessionKey session, const Beginning& how, const SessionSettings& settings);
  // The limit of another instance is over, for work of one that did not set it: a new opening with
  // what stays of the settings. `why`: for who hears of the end of an open one.
  Status begin_anew_after_limit(SessionKey session, std::string_view why);
  // Of an open row; what it counted goes on. Nothing happens if it has just these.
  Status change(SessionKey session, const Beginning& how, const SessionSettings& settings);
  // Those of a row, which instance is notified, and whose limits they are.
  Status read_settings(SessionKey session, SessionSettings* out, Beginning* how);
  // Which workers its work is for, and what they should know; empty: none.
  Status set_session_tag(SessionKey session, std::string_view tag, std::string_view summary);

 private:
  Status report(SessionKey session, const Beginning& how);
  Status note_whose(SessionKey session, InstanceKey instance);

  SummaryTable& summaries_;
  SessionEvents& events_;
  SessionTable& sessions_;
  UnregisteredWork& unregistered_;
  SessionOwners& owners_;
  SessionLimits& limits_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_OPENINGS_HPP
