// SummaryTable: the summaries that the next worker of a session gets.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SUMMARY_TABLE_HPP
#define PAWL_STORE_TABLES_SUMMARY_TABLE_HPP

#include <cstddef>
#include <string_view>

#include "context.hpp"

namespace pawl::store {

class SummaryTable : private Table {
 public:
  explicit SummaryTable(StoreContext& context) : Table(context) {}

  // Called by the code that deletes a session's row. No trigger does it: the connection runs none,
  // because one that others put into the file would run inside our commits.
  Status drop_summary(SessionKey session);
  // A damaged summary is named in the diagnostic.
  Status put_summary(SessionKey session, std::string_view summary);
  Status read_summary(SessionKey session, char* buffer, std::size_t capacity,
                      std::string_view* summary, bool* damaged);

 private:
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SUMMARY_TABLE_HPP
