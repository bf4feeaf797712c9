// ReadyInstances: lists the instances that have a turn to run, and those marked as unregistered
// because no worker here knows them. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_READY_INSTANCES_HPP
#define PAWL_STORE_TABLES_READY_INSTANCES_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "context.hpp"
#include "due_index.hpp"
#include "instance_store.hpp"
#include "worker_table.hpp"

namespace pawl::store {

class ReadyInstances : private Table {
 public:
  ReadyInstances(StoreContext& context, WorkerTable& workers, DueIndex& due)
      : Table(context), workers_(workers), due_(due) {}

  // ---- calls of the contract ----
  Status list_ready(const ReadyQuery& query, InstanceKey* out, std::size_t capacity,
                    std::size_t* count);
  Status mark_unregistered(InstanceKey key, const ReadyQuery& query);

 private:
  class ReadyList;
  struct TimerCursor {
    std::int64_t due = std::numeric_limits<std::int64_t>::min();
    MessageId id = 0;
  };
  struct HomeCursor {
    Incarnation home = 0;
    std::int64_t after = 0;
  };
  struct LargerCursor {
    std::size_t kind = 0;
    std::int64_t after = 0;
  };
  Status list_due_timers(ReadyList& list, TimeBase base, std::int64_t due_max);
  Status list_timers(ReadyList& list, TimeBase base, std::int64_t due_max, int looks_max,
                     TimerCursor* at);
  Status list_own(ReadyList& list);
  Status list_newest(ReadyList& list);
  Status list_behind(ReadyList& list, Incarnation home, std::int64_t* after);
  Status list_unregistered(ReadyList& list, std::size_t capacity);
  Status list_unregistered_kind(ReadyList& list, const Runnable& kind, std::size_t most);
  Status next_home(Incarnation after, Incarnation* home);
  Status list_others(ReadyList& list);
  Status list_home(ReadyList& list, Incarnation home);
  Status list_behind_in(ReadyList& list, Incarnation home);
  Status fire_due_timers(InstanceKey key);

  WorkerTable& workers_;
  DueIndex& due_;
  std::size_t unregistered_cursor_ = 0;  // the name of marked instances that comes next
  Incarnation home_cursor_ = 0;          // the home where the look at other homes goes on
  // Where lists go on to look for instances they can run, while there are too many unregistered
  // ones for one list: among due timers in Pawl time and in UTC, among instances without a home,
  // and among those of one home.
  TimerCursor timers_behind_[2];
  std::int64_t unowned_behind_ = 0;
  HomeCursor home_behind_;
  // The same among the marked instances of one name, behind those that need a larger worker.
  std::optional<LargerCursor> larger_behind_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_READY_INSTANCES_HPP
