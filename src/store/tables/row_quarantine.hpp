// RowQuarantine: takes a damaged row out of the way, so that all others go on.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_ROW_QUARANTINE_HPP
#define PAWL_STORE_TABLES_ROW_QUARANTINE_HPP

#include <cstdint>
#include <string_view>

#include "context.hpp"
#include "damage.hpp"
#include "instance_table.hpp"
#include "session_owners.hpp"
#include "session_table.hpp"
#include "summary_table.hpp"
#include "work_outcomes.hpp"
#include "work_table.hpp"

namespace pawl::store {

// RowRef::key of a row of session_totals: what * kTotalsKeys + bucket.
inline constexpr std::int64_t kTotalsKeys = 1'000;

class RowQuarantine : private Table {
 public:
  RowQuarantine(StoreContext& context, InstanceTable& instances, SessionTable& sessions,
                WorkTable& items, WorkOutcomes& outcomes, SessionOwners& owners)
      : Table(context),
        instances_(instances),
        sessions_(sessions),
        items_(items),
        outcomes_(outcomes),
        owners_(owners) {}

  // ---- calls of the contract ----
  Status quarantine(const Damage& damage);
  Status check_keys();
  Status stop_broken(InstanceKey key, std::string_view text);

  // ---- for the other tables ----
  Status quarantine_instance(InstanceKey key, ErrorKind kind, std::string_view text);

 private:
  Status quarantine_row(const RowRef& row, const Damage& damage);
  Status quarantine_message(MessageId id, ErrorKind kind, std::string_view text);
  Status quarantine_session(SessionKey session, std::string_view text);
  Status drop_session(SessionKey session, std::string_view text);
  Status drop_totals(std::int64_t key, std::string_view text);

  InstanceTable& instances_;
  SessionTable& sessions_;
  WorkTable& items_;
  WorkOutcomes& outcomes_;
  SessionOwners& owners_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_ROW_QUARANTINE_HPP
