// TurnReader: reads what an instance's next turn begins with: its row and its messages.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_TURN_READER_HPP
#define PAWL_STORE_TABLES_TURN_READER_HPP

#include <cstddef>
#include <cstdint>

#include "arena.hpp"
#include "context.hpp"
#include "instance_store.hpp"

namespace pawl::store {

class TurnReader : private Table {
 public:
  explicit TurnReader(StoreContext& context) : Table(context) {}

  // ---- calls of the contract ----
  Status fetch_orchestration_item(InstanceKey key, std::int64_t now, const MessageLimits& limits,
                                  Arena& arena, OrchestrationItem* out);

 private:
  class MessageReader;
  Status read_item_row(InstanceKey key, Arena& arena, OrchestrationItem* out);
  Status read_last_stored_event(OrchestrationItem* out);
  Status read_first_message(MessageReader& reader, const OrchestrationItem& item);
  Status read_request(MessageReader& reader, const OrchestrationItem& item);
  Status read_waiting_messages(MessageReader& reader, const OrchestrationItem& item);
  Status read_ready_messages(MessageReader& reader, InstanceKey key, std::int64_t* first_due);
  Status read_due_messages(MessageReader& reader, InstanceKey key, std::int64_t now,
                           std::int64_t first_due);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_TURN_READER_HPP
