// InstanceDirectory: shows one instance to a client, lists instances, executions, activities and
// messages for people, and counts the rows of the whole database.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_INSTANCE_DIRECTORY_HPP
#define PAWL_STORE_INSTANCE_DIRECTORY_HPP

#include <cstddef>
#include <string_view>

#include "pawl/management.hpp"
#include "store/context.hpp"
#include "store/instance/arguments.hpp"
#include "store/instance/history.hpp"
#include "store/instance/rows.hpp"
#include "store/rows.hpp"
#include "store/session/directory.hpp"
#include "store/session/rows.hpp"

namespace pawl::store {

class InstanceDirectory : private Table {
 public:
  InstanceDirectory(StoreContext& context, Rows& rows, SessionDirectory& session_directory)
      : Table(context), rows_(rows), session_directory_(session_directory) {}

  // A read; callable anywhere.
  Status list_instances(const InstanceFilter& filter, Page* page, InstanceVisitor& visitor);
  // Lists the whole tree that `of` belongs to, `of` included, or only its own children, by key.
  // Callable anywhere.
  Status list_tree(InstanceKey of, bool children_only, Page* page, InstanceVisitor& visitor);
  // Reads the instance with this id. kNotFound.
  Status get_instance_info(std::string_view id, InstanceVisitor& visitor);
  // kNotFound.
  Status get_instance_stats(std::string_view id, InstanceStats* out);
  Status list_executions(InstanceKey key, ExecutionVisitor& visitor);
  Status list_activities(InstanceKey key, ExecutionId execution, ActivityVisitor& visitor);
  // Lists messages of one instance, in the order of their arrival.
  Status list_messages(InstanceKey key, Page* page, MessageVisitor& visitor);
  // A read; callable anywhere. Gives the id, and whether no worker that looked for work could run
  // the instance (`unregistered` may be null). kNotFound: it is gone.
  Status read_id(InstanceKey key, FixedText<kNameBytesMax>* id, bool* unregistered);
  // Says that get_status() follows.
  void read_status_ahead(std::string_view id);
  // A read; callable anywhere. kResourceExhausted: output and custom status together are longer
  // than `capacity`.
  Status get_status(std::string_view id, InstanceStatus* out, char* buffer, std::size_t capacity);
  Status get_metrics(Metrics* out);

 private:
  std::int64_t pawl_now();
  Status list_ids(const InstanceFilter& filter, Page* page, InstanceVisitor& visitor);
  Status visit_ended(InstanceKey key, ExecutionInfo* info, ExecutionVisitor& visitor);
  Status copy_custom_status(std::string_view text, InstanceStatus* out, char* buffer,
                            std::size_t capacity);
  Status count_instances(Metrics* out);
  Status count_executions(Metrics* out);
  Status count_messages(Metrics* out);
  Status count_work(Metrics* out);
  Rows& rows_;
  SessionDirectory& session_directory_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_DIRECTORY_HPP
