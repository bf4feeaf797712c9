// InstanceTable: rows of instances, as other tables ask for them.
//
// Purpose: who has an id, in which state it is, and what is left of one whose row is damaged.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_INSTANCE_TABLE_HPP
#define PAWL_STORE_TABLES_INSTANCE_TABLE_HPP

#include <cstdint>
#include <string_view>

#include "context.hpp"
#include "damage.hpp"
#include "instance_store.hpp"

namespace pawl::store {

struct InstanceRow {
  InstanceState state = InstanceState::kRunning;
  ExecutionId execution = 0;
  std::int64_t revision = 0;
  bool parked = false;
  std::int64_t last_event = 0;
  bool ready = false;  // or marked as unregistered
  Incarnation home = 0;
  bool clean = false;  // nothing was ever counted against it, or it was forgiven
};

class InstanceTable : private Table {
 public:
  explicit InstanceTable(StoreContext& context) : Table(context) {}

  Status find_running(std::string_view id, InstanceKey* key, Incarnation* home = nullptr);
  Status find_key(std::string_view id, InstanceKey* key);
  Status read_instance(InstanceKey key, InstanceRow* out);
  Status stop_damaged(InstanceKey key, ErrorKind kind, std::string_view text);
  void log_damage(RowRef row, InstanceKey instance, std::string_view text);

 private:
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_INSTANCE_TABLE_HPP
