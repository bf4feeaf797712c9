// SessionExpiry: ends sessions, or looks at them, because of their age; removes the rows of
// implicit sessions that are not needed any more. Rules: docs/rules/session-openings.md. Ownership
// and thread rule: as context.hpp.
#ifndef PAWL_STORE_SESSION_EXPIRY_HPP
#define PAWL_STORE_SESSION_EXPIRY_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text.hpp"
#include "store/change_sink.hpp"
#include "store/context.hpp"
#include "store/instance/rows.hpp"
#include "store/rows.hpp"
#include "store/session/arguments.hpp"
#include "store/session/events.hpp"
#include "store/session/lifetime_rules.hpp"
#include "store/session/owners.hpp"
#include "store/session/rows.hpp"
#include "store/session/verbs.hpp"
#include "store/worker/evidence_rules.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl::store {

class SessionExpiry : private Table {
 public:
  SessionExpiry(StoreContext& context, Rows& rows, SessionOwners& owners, SessionOpenings& openings,
                SessionVerbs& verbs)
      : Table(context), rows_(rows), owners_(owners), openings_(openings), verbs_(verbs) {}

  // In a batch: closes a session that an instance opened, for a caller other than the instance's
  // code. `owner_label` names the caller and must be the session's (kNotOwner); empty: an
  // administrator. kNotFound. The sink of the runtime that calls wake_delayed() next gets the
  // report.
  Status close_session(std::string_view instance, std::string_view session,
                       std::string_view owner_label);
  // Reports sessions that instances opened longer ago than the options allow; bounded, each
  // reported once (SessionChange::kLeak, with `reason`).
  Status report_leaks(const WorkerTerms& options, LeakCursors* cursors);
  Status cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit, std::size_t* removed);

  // ---- for the other classes of the storage ----
  // Looks at the sessions whose look_at has come, at most `limit`; adds to *looked.
  Status look_at_sessions(std::size_t limit, std::size_t* looked);

 private:
  struct Look {
    SessionKey session = 0;
    rules::LookRow row;
    rules::EndTerms terms;
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
  Status expire_session(const Look& look, rules::Look what);
  // Ends an open session from outside its code: its work fails, its instance is notified, and its
  // row stays and is looked at after `kept_ms`.
  Status end_opened(SessionKey session, const SessionChange& reported, rules::Trigger cause,
                    std::int64_t kept_ms);
  Status report_older_than(std::int64_t for_ms, bool unused, LeakCursor* cursor);
  Status sweep_unowned(std::size_t limit, std::size_t* removed);
  Status release_from_unknown(std::size_t limit);
  Status sweep_owned_by_gone(Evidence& evidence, std::size_t limit, std::size_t* removed);
  Status may_be_swept(const Statement& row, bool* may);
  Status sweep_row(SessionKey session);
  Rows& rows_;
  SessionOwners& owners_;
  SessionOpenings& openings_;
  SessionVerbs& verbs_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SESSION_EXPIRY_HPP
