// InstanceVerbs: an operator's verbs on one instance.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_INSTANCE_VERBS_HPP
#define PAWL_STORE_TABLES_INSTANCE_VERBS_HPP

#include <string_view>

#include "context.hpp"
#include "instance_table.hpp"

namespace pawl::store {

class InstanceVerbs : private Table {
 public:
  InstanceVerbs(StoreContext& context, InstanceTable& instances)
      : Table(context), instances_(instances) {}

  // ---- calls of the contract ----
  Status terminate_instance(std::string_view id, std::string_view reason);
  Status suspend_instance(std::string_view id);
  Status resume_instance(std::string_view id);

 private:
  struct Managed {
    InstanceKey key = 0;
    InstanceState state = InstanceState::kRunning;
    bool ended = false;
    bool terminating = false;
  };
  Status find_managed(std::string_view id, Managed* out);

  InstanceTable& instances_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_INSTANCE_VERBS_HPP
