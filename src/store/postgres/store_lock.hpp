// StoreLock: the lock of the store, which is the row of meta, and looks at that row.
//
// Purpose: a transaction that writes holds it from its beginning, and reads the row by that. A view
// begins with the row, too. Reads that were named ahead are sent with both. A
// holder that does nothing is ended after kLockWaitMs (F16 of docs/rules/fleet.md).
// Ownership: a StoreLock uses the link of its connection. Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_STORE_LOCK_HPP
#define PAWL_STORE_POSTGRES_STORE_LOCK_HPP

#include <optional>

#include "pawl/status.hpp"
#include "store/postgres/reads_ahead.hpp"
#include "store/postgres/server_link.hpp"
#include "store/postgres/server_rules.hpp"

namespace pawl::postgres {

class StoreLock {
 public:
  StoreLock(ServerLink& link, ReadsAhead& ahead, Diagnostic& diagnostic)
      : link_(link), ahead_(ahead), diagnostic_(diagnostic) {}

  // How often take() waits for the lock, each time for as long as the setting lock_timeout says.
  void set_waits(int waits) { waits_ = waits; }
  // Begins a transaction that holds it. `out`: one row, of the columns `seq`, `form` and those of
  // StoreTime::prepare(). kBusy: another connection has it.
  Status take(PGresult** out);
  // Reads the columns `seq`, `form` and `request` without it; a view begins with that, or nothing.
  Status look(bool begins_view, PGresult** out);
  // Ends the transaction, if there is one, and keeps the text of what was wrong.
  void give_up();
  // The link has connected anew.
  Status connected();

 private:
  Status prepare_looks();
  Status try_to_take(PGresult** out);
  void watch_holder();

  ServerLink& link_;
  ReadsAhead& ahead_;
  Diagnostic& diagnostic_;
  int waits_ = 0;
  std::uint32_t looks_prepared_on_ = 0;  // of the link's connections; 0: none
  std::optional<fleet::LockWait> wait_;  // take() found it held
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_STORE_LOCK_HPP
