// SessionOwners: every change of a session's owner. Rules: docs/rules/session.md.
//
// Purpose: a change takes the next epoch and clears the locks of the session's items with it.
// Therefore a result of an item that was handed over before a change is never accepted after it.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_SESSION_OWNERS_HPP
#define PAWL_STORE_SESSION_OWNERS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "store/context.hpp"
#include "store/rows.hpp"
#include "store/session/events.hpp"
#include "store/session/rows.hpp"
#include "store/work/rows.hpp"
#include "store/work/unregistered.hpp"
#include "store/worker/lease_rules.hpp"
#include "store/worker/rows.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl::store {

// The values that a transition does not hold.
struct Applied {
  std::string_view node;    // the node that the session was on before
  std::string_view reason;  // of a loss, or the text of work that fails at the closing
  std::int64_t lease_ms = 0;
  bool strike = false;  // suspicion, not proof, ends the locks
  CrashLimits limits;
};

class SessionOwners : private Table {
 public:
  SessionOwners(StoreContext& context, Rows& rows) : Table(context), rows_(rows) {}

  // Renews the sessions of `me` and releases idle ones. An expired lease is renewed, too; a session
  // that another worker took meanwhile is not owned by `me`.
  Status renew_session_lock(Incarnation me, const WorkerTerms& options, std::size_t* renewed,
                            std::size_t* released);
  // F15b: the owner's own count is over, so another worker may have owned its exclusive sessions
  // and its devices meanwhile. They become unowned.
  Status give_up_exclusive(Incarnation me);
  // An orderly stop begins: notifies the instances that asked for it about their sessions here.
  // Adds to *reported.
  Status announce_stop(Incarnation me, std::size_t* reported);

  // ---- for the other classes of the storage ----
  Status change_owner(const OwnerChange& asked, Epoch* epoch);
  Status release(SessionKey session, std::string_view reason,
                 SessionChange::Eviction eviction = SessionChange::Eviction::kNone);
  Status evict(SessionKey session, SessionChange::Eviction eviction);
  // For an activity that said that its session is of no use any more: a session that fails on owner
  // loss is lost, any other is released.
  Status abort_session(SessionKey session);
  // Writes what rules::transition() decided, and everything that goes with it; the caller reports
  // it. *epoch, if not null: the epoch that begins, 0 if none does.
  Status apply(SessionKey session, const rules::Transition& change, const Applied& how,
               Epoch* epoch);
  Status end_stop(const Moving& row);
  // `instance`: only the work of this instance; none: all work.
  Status fail_work_of(SessionKey session, ErrorKind kind, std::string_view text,
                      std::optional<InstanceKey> instance = {});
  // Releases the session that has been idle longest, if for at least `idle_ms`. Otherwise *room_at
  // is when the first session will have been.
  Status make_room(Incarnation me, std::int64_t idle_ms, bool* released, OptionalMs* room_at);

 private:
  static rules::IdleRow idle_row(const Statement& row);
  Status release_idle(Incarnation me, const WorkerTerms& options, std::size_t* released);
  Status unlock_session(SessionKey session, const Applied& how);
  Rows& rows_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SESSION_OWNERS_HPP
