// ReadyInstances: lists the instances that have a turn to run, marks those that no worker here
// knows, parks those whose turn was given up, and wakes all rows whose time has come.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_INSTANCE_READY_HPP
#define PAWL_STORE_INSTANCE_READY_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "store/context.hpp"
#include "store/instance/arguments.hpp"
#include "store/instance/rows.hpp"
#include "store/place/due_index.hpp"
#include "store/rows.hpp"
#include "store/session/expiry.hpp"
#include "store/session/moves.hpp"
#include "store/work/rows.hpp"
#include "store/worker/rows.hpp"

namespace pawl::store {

class ReadyInstances : private Table {
 public:
  ReadyInstances(StoreContext& context, Rows& rows, SessionMoves& moves, SessionExpiry& expiry)
      : Table(context), rows_(rows), moves_(moves), expiry_(expiry) {}

  // Outside of batches: lists candidates, the oldest message first, those of `me` and unowned ones
  // before others'.
  Status list_ready(const ReadyQuery& query, InstanceKey* out, std::size_t capacity,
                    std::size_t* count);
  // In a batch: moves the instance out of the way of workers that cannot run it, until its next
  // turn. Its due timers become messages. A worker that can run it finds it as before. If it is
  // parked, only its timers are touched. Nothing happens if the query's caller can run it by now,
  // or if it has ended.
  Status mark_unregistered(InstanceKey key, const ReadyQuery& query);
  Status abandon_orchestration_item(InstanceKey key, std::int64_t revision, const Parking& parking,
                                    bool strike, ErrorKind why, std::string_view text);
  // In a batch: gives stopped instances another chance, since new code was started; bounded.
  Status retry_stopped(std::size_t limit, std::size_t* retried);
  // Wakes delayed items and parked instances whose time has come, asks instances past their time
  // limit to stop, and ends items past a limit of their policy (these get kTimeout or their next
  // attempt), work of absent devices, and sessions that a runtime must look at; bounded.
  Status wake_delayed(std::size_t limit, std::size_t* woken);

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
  enum class TimerPlace : std::uint8_t { kQueue, kRow };
  Status list_due_timers(ReadyList& list, TimerPlace place, TimeBase base, std::int64_t due_max);
  void read_lists_ahead(const ReadyQuery& query);
  [[nodiscard]] static sql::QueryRef due_timers_in(TimerPlace place);
  Status list_timers(ReadyList& list, TimerPlace place, TimeBase base, std::int64_t due_max,
                     int looks_max, TimerCursor* at);
  Status list_own(ReadyList& list);
  Status list_oldest(ReadyList& list, std::int64_t* workers);
  Status list_newest(ReadyList& list);
  Status list_behind(ReadyList& list, Incarnation home, std::int64_t* after);
  Status list_unregistered(ReadyList& list, std::size_t capacity);
  Status list_unregistered_kind(ReadyList& list, const Runnable& kind, std::size_t most);
  Status next_home(Incarnation after, Incarnation* home);
  Status list_others(ReadyList& list);
  Status list_home(ReadyList& list, Incarnation home);
  Status list_behind_in(ReadyList& list, Incarnation home);
  Status fire_due_timers(InstanceKey key);
  Status read_own_timer(InstanceKey key, std::optional<RowTimer>* out, Message* fired);
  Status fire_timer(MessageId timer, MessageId message);
  Status fire_own_timer(InstanceKey key, const Message& message);
  Status stop_overdue(std::size_t limit, std::size_t* stopped);
  Status unpark(std::size_t limit, std::size_t* woken);

  std::size_t unregistered_cursor_ = 0;  // the name of marked instances that comes next
  Incarnation home_cursor_ = 0;          // the home where the look at other homes goes on
  // Where lists go on to look for instances they can run, while there are too many unregistered
  // ones for one list: among due timers of both places in Pawl time and in UTC, among instances
  // without a home,
  // and among those of one home.
  TimerCursor timers_behind_[2][2];
  std::int64_t unowned_behind_ = 0;
  HomeCursor home_behind_;
  // The same among the marked instances of one name, behind those that need a larger worker.
  std::optional<LargerCursor> larger_behind_;
  Rows& rows_;
  SessionMoves& moves_;
  SessionExpiry& expiry_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_READY_HPP
