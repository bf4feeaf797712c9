// SessionOpenings: rows of sessions that begin, or begin anew, whatever causes it: work that names
// a shared session, or code that gives settings.
// Rules: docs/rules, S1, S11, S18 and S51.
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
  InstanceKey asks = 0;        // the instance to notify, if the settings say so
  std::string_view refusal;    // why the session may not begin; empty: it may
  InstanceKey limited_by = 0;  // the instance that gave a shared session its settings; 0: none
  bool keeps_rate = false;     // the bucket of its rate limit is not refilled
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
  // Begins a new generation of the row, with a new epoch unless an exclusive session stays open.
  // Cancelled work that still runs holds it back.
  Status begin_anew(SessionKey session, const Beginning& how, const SessionSettings& settings);
  // For work of an instance that did not set the limit that is over: a new opening, with the
  // settings that stay. `why`: the reason in the report of an open session's end.
  Status begin_anew_after_limit(SessionKey session, std::string_view why);
  // Changes the settings of an open row; its counts go on. Does nothing if it has these settings
  // already.
  Status change(SessionKey session, const Beginning& how, const SessionSettings& settings);
  // The settings of a row, the instance it notifies, and the instance whose limits they are.
  Status read_settings(SessionKey session, SessionSettings* out, Beginning* how);
  // Sets the tag of the workers that its work is for, and the summary for them; empty: none.
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
