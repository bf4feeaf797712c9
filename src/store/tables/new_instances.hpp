// NewInstances: makes the instances that clients, parents and detached starts ask for.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_NEW_INSTANCES_HPP
#define PAWL_STORE_TABLES_NEW_INSTANCES_HPP

#include "context.hpp"
#include "instance_store.hpp"
#include "message_table.hpp"
#include "store_space.hpp"

namespace pawl::store {

struct ParentLink {
  InstanceKey instance = 0;  // 0: none
  ExecutionId execution = 0;
  EventId event = 0;
};

class NewInstances : private Table {
 public:
  NewInstances(StoreContext& context, MessageTable& messages, StoreSpace& space)
      : Table(context), messages_(messages), space_(space) {}

  // ---- calls of the contract ----
  Status create_instance(const NewInstance& instance, InstanceKey* key);

  // ---- for the other tables ----
  // On kAlreadyExists and kInvalidArgument nothing was written.
  Status insert_instance(const NewInstance& instance, const ParentLink& parent, InstanceKey* key);

 private:
  Status check_new(const NewInstance& instance);
  Status insert_checked(const NewInstance& instance, const ParentLink& parent, InstanceKey* key);

  MessageTable& messages_;
  StoreSpace& space_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_NEW_INSTANCES_HPP
