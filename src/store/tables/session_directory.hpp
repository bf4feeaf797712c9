// SessionDirectory: lists and counts sessions, for people.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_DIRECTORY_HPP
#define PAWL_STORE_TABLES_SESSION_DIRECTORY_HPP

#include <cstdint>
#include <string_view>

#include "admin_store.hpp"
#include "context.hpp"
#include "instance_table.hpp"
#include "pawl/management.hpp"
#include "worker_table.hpp"

namespace pawl::store {

class SessionDirectory : private Table {
 public:
  SessionDirectory(StoreContext& context, WorkerTable& workers, InstanceTable& instances)
      : Table(context), workers_(workers), instances_(instances) {}

  // ---- calls of the contract ----
  Status list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor);
  Status read_session(std::string_view instance, std::string_view session, SessionVisitor& visitor);

  // ---- for the other tables ----
  Status read_session_totals(SessionEnds* out);
  Status count_states(std::int64_t rows_max, Metrics* out);

 private:
  // The statement that finds the sessions of a filter, and its parameters.
  struct List {
    const sql::Query* query = nullptr;
    bool is_sorted_apart = false;  // the keys are looked up and sorted first
    std::int64_t number = 0;       // 0: the statement takes no number
    std::string_view text;         // empty: the statement takes no text
  };
  // *is_any = false: the filter names an instance or a worker that does not exist.
  Status choose_list(const SessionFilter& filter, List* out, bool* is_any);
  Status list_by(const List& list, const SessionFilter& filter, Page* page,
                 SessionVisitor& visitor);
  // Adds the path of the session's folder, which is valid during the visit only.
  void report(const Statement& row, SessionInfo* info, SessionVisitor& visitor);

  WorkerTable& workers_;
  InstanceTable& instances_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_DIRECTORY_HPP
