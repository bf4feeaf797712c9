// Children: the instances that an instance starts, and the messages between them.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_CHILDREN_HPP
#define PAWL_STORE_TABLES_CHILDREN_HPP

#include <string_view>

#include "context.hpp"
#include "instance_store.hpp"
#include "message_table.hpp"
#include "new_instances.hpp"
#include "turn_commit.hpp"

namespace pawl::store {

class Children : private Table {
 public:
  Children(StoreContext& context, MessageTable& messages, NewInstances& new_instances)
      : Table(context), messages_(messages), new_instances_(new_instances) {}

  // Starts the instance that a kChild or kDetached event of the turn asks for. If there cannot be
  // one, the parent gets the answer of a failed child; a refused detached start is reported to the
  // sink.
  Status start_instance(const TurnCommit& turn, EventId command);
  // Sends cancel requests to the open children of these events of an execution.
  Status cancel_children(InstanceKey parent, ExecutionId execution, EventId first, EventId last,
                         std::string_view reason);
  // Called once by any code that ends an instance, in the same batch: notifies its parent, if that
  // execution of the parent still runs.
  Status notify_parent(InstanceKey child, ErrorKind error, std::string_view output);

 private:
  MessageTable& messages_;
  NewInstances& new_instances_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_CHILDREN_HPP
