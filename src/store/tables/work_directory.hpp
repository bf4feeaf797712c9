// WorkDirectory: lists work and waiting messages, for people.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_WORK_DIRECTORY_HPP
#define PAWL_STORE_TABLES_WORK_DIRECTORY_HPP

#include "context.hpp"
#include "ids.hpp"
#include "pawl/management.hpp"

namespace pawl::store {

class WorkDirectory : private Table {
 public:
  explicit WorkDirectory(StoreContext& context) : Table(context) {}

  // ---- calls of the contract ----
  Status list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor);
  Status list_messages(InstanceKey key, Page* page, MessageVisitor& visitor);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_WORK_DIRECTORY_HPP
