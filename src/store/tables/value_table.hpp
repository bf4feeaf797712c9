// ValueTable: values that instances keep under keys.
//
// A row names the execution that wrote it. Therefore the values that an execution found at its
// start are still there while it runs, and when its history is read again. Ownership and thread
// rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_VALUE_TABLE_HPP
#define PAWL_STORE_TABLES_VALUE_TABLE_HPP

#include <cstddef>
#include <string_view>

#include "context.hpp"
#include "event.hpp"
#include "instance_store.hpp"
#include "instance_table.hpp"
#include "message_table.hpp"
#include "pawl/management.hpp"
#include "turn_commit.hpp"

namespace pawl::store {

class ValueTable : private Table {
 public:
  ValueTable(StoreContext& context, InstanceTable& instances, MessageTable& messages)
      : Table(context), instances_(instances), messages_(messages) {}

  // ---- calls of the contract ----
  Status read_value(std::string_view id, std::string_view key, KvEntry* out, bool* found,
                    char* buffer, std::size_t capacity);
  Status list_values(std::string_view id, KvPage* page, KvVisitor& visitor);
  Status load_state(InstanceKey key, ExecutionId execution, StateSink& sink);

  // ---- for the other tables ----
  Status write_value(const TurnCommit& turn, const Event& write);
  Status answer_read(const TurnCommit& turn, EventId read);
  // For an execution that is over: keeps only the last value of each key.
  Status settle_values(InstanceKey instance, ExecutionId execution);
  // Leaves the values as if this execution had written none.
  Status drop_values(InstanceKey instance, ExecutionId execution);

 private:
  Status broken_value(InstanceKey instance, std::string_view key);

  InstanceTable& instances_;
  MessageTable& messages_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_VALUE_TABLE_HPP
