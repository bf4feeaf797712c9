// DeviceTable: which worker has declared which device, and which workers stand by.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_DEVICE_TABLE_HPP
#define PAWL_STORE_TABLES_DEVICE_TABLE_HPP

#include <cstdint>
#include <optional>

#include "context.hpp"
#include "evidence.hpp"
#include "moving.hpp"
#include "text.hpp"

namespace pawl::store {

struct Declaration {
  Incarnation worker = 0;
  session::Role role = session::Role::kHolder;
  FixedText<kNameBytesMax> node;
  std::int64_t pid = 0;
  Claim claim;  // the worker's

  [[nodiscard]] session::Holder holder() const {
    if (worker == 0) return {};
    return {worker, role};
  }
};

class DeviceTable : private Table {
 public:
  explicit DeviceTable(StoreContext& context) : Table(context) {}

  Status read_holder(SessionKey session, Declaration* out);
  Status read_role(SessionKey session, Incarnation worker, session::Role* role);
  Status put_declaration(SessionKey session, Incarnation worker, session::Role role);
  Status drop_declaration(SessionKey session, Incarnation worker);
  Status first_standby(SessionKey session, std::optional<Incarnation>* worker);
  Status has_declarer(SessionKey session, bool* found);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_DEVICE_TABLE_HPP
