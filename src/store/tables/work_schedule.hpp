// WorkSchedule: turns the activities that a turn schedules into work items, or hands them over at
// once.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_WORK_SCHEDULE_HPP
#define PAWL_STORE_TABLES_WORK_SCHEDULE_HPP

#include <string_view>

#include "context.hpp"
#include "policy.hpp"
#include "session_events.hpp"
#include "session_limits.hpp"
#include "session_moves.hpp"
#include "session_openings.hpp"
#include "session_table.hpp"
#include "turn_commit.hpp"
#include "unregistered_work.hpp"
#include "work_outcomes.hpp"

namespace pawl::store {

class WorkSchedule : private Table {
 public:
  WorkSchedule(StoreContext& context, SessionEvents& events, SessionTable& sessions,
               WorkOutcomes& outcomes, UnregisteredWork& unregistered, SessionMoves& moves,
               SessionOpenings& openings, SessionLimits& session_limits)
      : Table(context),
        events_(events),
        sessions_(sessions),
        outcomes_(outcomes),
        unregistered_(unregistered),
        moves_(moves),
        openings_(openings),
        session_limits_(session_limits) {}

  Status insert_work(InstanceKey instance, ExecutionId execution, const NewWork& work);

 private:
  Status insert_handed_over(InstanceKey instance, ExecutionId execution, const NewWork& work);
  Status session_of_work(InstanceKey instance, const NewWork& work, const ActivityPolicy& options,
                         Admission* out);
  Status set_policy(WorkItemId item, std::string_view policy, const ActivityPolicy& options);

  SessionEvents& events_;
  SessionTable& sessions_;
  WorkOutcomes& outcomes_;
  UnregisteredWork& unregistered_;
  SessionMoves& moves_;
  SessionOpenings& openings_;
  SessionLimits& session_limits_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_WORK_SCHEDULE_HPP
