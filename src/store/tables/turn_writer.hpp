// TurnWriter: writes what one commit of a turn contains.
//
// Purpose: everything that a turn makes is written here, or nothing: events, work, sessions,
// timers, children, values, and the state of its instance. Ownership and thread rule: as
// context.hpp.
#ifndef PAWL_STORE_TABLES_TURN_WRITER_HPP
#define PAWL_STORE_TABLES_TURN_WRITER_HPP

#include <cstdint>

#include "children.hpp"
#include "context.hpp"
#include "history_table.hpp"
#include "instance_table.hpp"
#include "message_table.hpp"
#include "opened_sessions.hpp"
#include "tree_removal.hpp"
#include "turn_commit.hpp"
#include "value_table.hpp"
#include "work_queue.hpp"
#include "work_results.hpp"
#include "work_schedule.hpp"
#include "work_table.hpp"

namespace pawl::store {

class TurnWriter : private Table {
 public:
  TurnWriter(StoreContext& context, InstanceTable& instances, MessageTable& messages,
             WorkTable& items, OpenedSessions& opened, WorkSchedule& schedule, WorkResults& results,
             HistoryTable& history, ValueTable& values, Children& children, TreeRemoval& removal)
      : Table(context),
        instances_(instances),
        messages_(messages),
        items_(items),
        opened_(opened),
        schedule_(schedule),
        results_(results),
        history_(history),
        values_(values),
        children_(children),
        removal_(removal) {}

  // ---- calls of the contract ----
  Status ack_orchestration_item(const TurnCommit& turn);

 private:
  Status check_turn(const TurnCommit& turn, InstanceRow* found);
  Status check_message(InstanceKey key, MessageId message);
  Status write_turn(const TurnCommit& turn, const InstanceRow& row);
  Status take_back_state(const TurnCommit& turn);
  Status write_values(const TurnCommit& turn, const EventKinds& kinds);
  Status start_instances(const TurnCommit& turn, const EventKinds& kinds);
  Status answer_reads(const TurnCommit& turn, const EventKinds& kinds);
  Status write_sessions_and_work(const TurnCommit& turn, const EventKinds& kinds);
  Status write_message(const TurnCommit& turn);
  Status write_custom_status(const TurnCommit& turn);
  Status insert_timer(const TurnCommit& turn, const NewTimer& timer);
  Status close_command(const TurnCommit& turn, EventId command);
  Status first_ready(const TurnCommit& turn, std::int64_t* id);
  Status go_on(const TurnCommit& turn, ExecutionId execution, std::int64_t last_event);
  Status go_on_as_before(const TurnCommit& turn, std::int64_t last_event);
  Status end_execution(const TurnCommit& turn);
  Status leave_unread(const TurnCommit& turn);
  Status continue_as_new(const TurnCommit& turn);
  Status hand_on_request(const TurnCommit& turn, Message* next);

  InstanceTable& instances_;
  MessageTable& messages_;
  WorkTable& items_;
  OpenedSessions& opened_;
  WorkSchedule& schedule_;
  WorkResults& results_;
  HistoryTable& history_;
  ValueTable& values_;
  Children& children_;
  TreeRemoval& removal_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_TURN_WRITER_HPP
