// DeviceTable: who has declared which device, and who stands by.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_DEVICE_TABLE_HPP
#define PAWL_STORE_TABLES_DEVICE_TABLE_HPP

#include <cstdint>

#include "context.hpp"
#include "evidence.hpp"
#include "text.hpp"

namespace pawl::store {

// Roles in devices; stored.
inline constexpr std::int64_t kHolder = 0;
inline constexpr std::int64_t kStandby = 1;
inline constexpr std::int64_t kWithdrawing = 2;  // a holder whose last work still runs

struct Declaration {
  Incarnation worker = 0;
  std::int64_t role = 0;
  FixedText<kNameBytesMax> node;
  std::int64_t pid = 0;
  Claim claim;  // of the worker
};

class DeviceTable : private Table {
 public:
  explicit DeviceTable(StoreContext& context) : Table(context) {}

  Status read_holder(SessionKey session, Declaration* out);
  Status read_role(SessionKey session, Incarnation worker, std::int64_t* role);
  Status put_declaration(SessionKey session, Incarnation worker, std::int64_t role);
  Status drop_declaration(SessionKey session, Incarnation worker);
  Status first_standby(SessionKey session, Incarnation* worker);
  Status has_declarer(SessionKey session, bool* found);

 private:
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_DEVICE_TABLE_HPP
