// ParkedInstances: instances whose turn was given up, for some time or until a caller starts them
// again; and all rows whose time has come. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_PARKED_INSTANCES_HPP
#define PAWL_STORE_TABLES_PARKED_INSTANCES_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "context.hpp"
#include "device_claims.hpp"
#include "instance_store.hpp"
#include "instance_table.hpp"
#include "session_expiry.hpp"
#include "work_outcomes.hpp"
#include "work_table.hpp"

namespace pawl::store {

class ParkedInstances : private Table {
 public:
  ParkedInstances(StoreContext& context, InstanceTable& instances, WorkTable& items,
                  WorkOutcomes& outcomes, DeviceClaims& claims, SessionExpiry& expiry)
      : Table(context),
        instances_(instances),
        items_(items),
        outcomes_(outcomes),
        claims_(claims),
        expiry_(expiry) {}

  // ---- calls of the contract ----
  Status abandon_orchestration_item(InstanceKey key, std::int64_t revision, const Parking& parking,
                                    bool strike, ErrorKind why, std::string_view text);
  Status retry_stopped(std::size_t limit, std::size_t* retried);
  Status wake_delayed(std::size_t limit, std::size_t* woken);

 private:
  InstanceTable& instances_;
  WorkTable& items_;
  WorkOutcomes& outcomes_;
  DeviceClaims& claims_;
  SessionExpiry& expiry_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_PARKED_INSTANCES_HPP
