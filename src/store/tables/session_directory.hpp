// SessionDirectory: lists and counts of sessions, for people.
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
  // The statement that finds the sessions of a filter, and what it is given.
  struct List {
    const sql::Query* query = nullptr;
    bool is_sorted_apart = false;  // its keys are looked up first
    std::int64_t number = 0;       // 0: none is given
    std::string_view text;         // empty: likewise
  };
  // *is_any = false: it names an instance or a worker that is not there.
  Status choose_list(const SessionFilter& filter, List* out, bool* is_any);
  Status list_by(const List& list, const SessionFilter& filter, Page* page,
                 SessionVisitor& visitor);
  // With the path of its folder, which lives as long as the visit.
  void report(const Statement& row, SessionInfo* info, SessionVisitor& visitor);

  WorkerTable& workers_;
  InstanceTable& instances_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_DIRECTORY_HPP
