// StoreMetrics: counts the rows of the whole database, for people.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_STORE_METRICS_HPP
#define PAWL_STORE_TABLES_STORE_METRICS_HPP

#include "context.hpp"
#include "pawl/management.hpp"
#include "session_directory.hpp"
#include "session_table.hpp"
#include "store_space.hpp"

namespace pawl::store {

class StoreMetrics : private Table {
 public:
  StoreMetrics(StoreContext& context, SessionTable& sessions, SessionDirectory& directory,
               StoreSpace& space)
      : Table(context), sessions_(sessions), directory_(directory), space_(space) {}

  // ---- calls of the contract ----
  Status read_metrics(Metrics* out);

 private:
  Status count_instances(Metrics* out);
  Status count_executions(Metrics* out);
  Status count_messages(Metrics* out);
  Status count_work(Metrics* out);

  SessionTable& sessions_;
  SessionDirectory& directory_;
  StoreSpace& space_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_STORE_METRICS_HPP
