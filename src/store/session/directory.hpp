// SessionDirectory: lists and counts sessions, for people.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_SESSION_DIRECTORY_HPP
#define PAWL_STORE_SESSION_DIRECTORY_HPP

#include <cstdint>
#include <string_view>

#include "pawl/management.hpp"
#include "store/context.hpp"
#include "store/instance/arguments.hpp"
#include "store/instance/rows.hpp"
#include "store/rows.hpp"
#include "store/worker/rows.hpp"

namespace pawl::store {

class SessionDirectory : private Table {
 public:
  SessionDirectory(StoreContext& context, Rows& rows) : Table(context), rows_(rows) {}

  // In a batch, whose time the sessions' times refer to.
  Status list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor);
  // In a batch, too. `instance` opened the session; empty: it is shared. kNotFound.
  Status get_session(std::string_view instance, std::string_view session, SessionVisitor& visitor);

  // ---- for the other classes of the storage ----
  Status read_session_totals(SessionEnds* out);
  Status count_states(std::int64_t rows_max, Metrics* out);

 private:
  // The statement that finds the sessions of a filter, and its parameters.
  struct List {
    sql::QueryRef query;
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
  Rows& rows_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SESSION_DIRECTORY_HPP
