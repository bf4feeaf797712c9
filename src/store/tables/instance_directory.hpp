// InstanceDirectory: lists instances, executions and activities, for people.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_INSTANCE_DIRECTORY_HPP
#define PAWL_STORE_TABLES_INSTANCE_DIRECTORY_HPP

#include <string_view>

#include "context.hpp"
#include "history_table.hpp"
#include "instance_table.hpp"
#include "pawl/management.hpp"

namespace pawl::store {

class InstanceDirectory : private Table {
 public:
  InstanceDirectory(StoreContext& context, InstanceTable& instances, HistoryTable& history)
      : Table(context), instances_(instances), history_(history) {}

  // ---- calls of the contract ----
  Status list_instances(const InstanceFilter& filter, Page* page, InstanceVisitor& visitor);
  Status list_tree(InstanceKey of, bool children_only, Page* page, InstanceVisitor& visitor);
  Status read_instance_info(std::string_view id, InstanceVisitor& visitor);
  Status read_instance_stats(std::string_view id, InstanceStats* out);
  Status list_executions(InstanceKey key, ExecutionVisitor& visitor);
  Status list_activities(InstanceKey key, ExecutionId execution, ActivityVisitor& visitor);

 private:
  Status list_ids(const InstanceFilter& filter, Page* page, InstanceVisitor& visitor);
  Status visit_ended(InstanceKey key, ExecutionInfo* info, ExecutionVisitor& visitor);

  InstanceTable& instances_;
  HistoryTable& history_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_INSTANCE_DIRECTORY_HPP
