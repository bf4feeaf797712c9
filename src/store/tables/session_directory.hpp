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

namespace pawl::store {

class SessionDirectory : private Table {
 public:
  SessionDirectory(StoreContext& context, InstanceTable& instances)
      : Table(context), instances_(instances) {}

  // ---- calls of the contract ----
  Status list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor);
  Status read_session(std::string_view instance, std::string_view session, SessionVisitor& visitor);

  // ---- for the other tables ----
  Status read_session_totals(SessionEnds* out);
  Status count_states(std::int64_t rows_max, Metrics* out);

 private:
  InstanceTable& instances_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_DIRECTORY_HPP
