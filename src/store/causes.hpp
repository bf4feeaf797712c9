// Causes: reads why an instance or a session does not go on.
//
// Purpose: implements Client::explain(). It only reads, in one view, and looks at a bounded number
// of rows. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_CAUSES_HPP
#define PAWL_STORE_CAUSES_HPP

#include <cstdint>
#include <string_view>

#include "pawl/cause.hpp"
#include "store/cause_rules.hpp"
#include "store/context.hpp"
#include "store/rows.hpp"

namespace pawl::store {

class Causes : private Table {
 public:
  Causes(StoreContext& context, Rows& rows) : Table(context), rows_(rows) {}

  // Reports one cause at least; callable anywhere. kNotFound.
  Status explain_instance(std::string_view id, CauseVisitor& visitor);
  // The same. `instance`: that opened it; empty: it is shared.
  Status explain_session(std::string_view instance, std::string_view session,
                         CauseVisitor& visitor);

 private:
  struct Instance;
  class Awaits;
  class Report;

  Status find_instance(std::string_view id, Instance* out);
  Status explain_state(const Instance& instance, Report& report);
  Status report_end(const Instance& instance, Report& report);
  Status explain_work(const Instance& instance, Report& report);
  Status explain_timers(const Instance& instance, Report& report);
  Status explain_children(const Instance& instance, Report& report);
  Status explain_awaits(const Instance& instance, Report& report);
  Status explain_items(Statement& item, Report& report);
  Status find_workers(std::string_view activity, std::string_view tag, SessionKey session,
                      rules::WorkersThere* out);
  Status begin();

  Rows& rows_;
  std::int64_t now_ = 0;  // Pawl time, of the view
};

}  // namespace pawl::store

#endif  // PAWL_STORE_CAUSES_HPP
