// SessionSweep: removes the rows of implicit sessions that are not needed any more.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_SWEEP_HPP
#define PAWL_STORE_TABLES_SESSION_SWEEP_HPP

#include <cstddef>

#include "context.hpp"
#include "evidence.hpp"
#include "session_events.hpp"
#include "session_owners.hpp"
#include "session_table.hpp"

namespace pawl::store {

class SessionSweep : private Table {
 public:
  SessionSweep(StoreContext& context, SessionEvents& events, SessionTable& sessions,
               SessionOwners& owners)
      : Table(context), events_(events), sessions_(sessions), owners_(owners) {}

  // ---- calls of the contract ----
  Status cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit, std::size_t* removed);

 private:
  Status sweep_unowned(std::size_t limit, std::size_t* removed);
  Status sweep_owned_by_gone(Evidence& evidence, std::size_t limit, std::size_t* removed);
  Status may_be_swept(const Statement& row, bool* may);
  Status sweep_row(SessionKey session);

  SessionEvents& events_;
  SessionTable& sessions_;
  SessionOwners& owners_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_SWEEP_HPP
