// TurnWriter: writes what one commit of a turn contains.
//
// Purpose: everything that a turn makes is written here, or nothing: events, work, sessions,
// timers, children, values, and the state of its instance. Ownership and thread rule: as
// context.hpp.
#ifndef PAWL_STORE_INSTANCE_TURN_WRITER_HPP
#define PAWL_STORE_INSTANCE_TURN_WRITER_HPP

#include <cstdint>

#include "store/context.hpp"
#include "store/instance/deliveries.hpp"
#include "store/instance/history.hpp"
#include "store/instance/removal.hpp"
#include "store/instance/rows.hpp"
#include "store/instance/turn_commit.hpp"
#include "store/rows.hpp"
#include "store/session/verbs.hpp"
#include "store/work/arguments.hpp"
#include "store/work/items.hpp"
#include "store/work/rows.hpp"

namespace pawl::store {

class TurnWriter : private Table {
 public:
  TurnWriter(StoreContext& context, Rows& rows, SessionVerbs& verbs, WorkItems& items,
             Deliveries& deliveries, TreeRemoval& removal)
      : Table(context),
        rows_(rows),
        verbs_(verbs),
        items_(items),
        deliveries_(deliveries),
        removal_(removal) {}

  // In a batch. Nothing of this turn was written if the answer is kStale (revision, messages, due
  // times or tokens are not those the turn saw) or kStillRunning (the end waits for messages,
  // read_up_to). `known`: of the item that was fetched, for the next turn; null: nothing is known.
  Status ack_orchestration_item(const TurnCommit& turn, KnownInstance* known = nullptr);
  // Callable anywhere: says that it follows.
  void read_ahead(const TurnCommit& turn);
  // In a batch: the same, for the row of the instance, if this connection does not know it.
  void read_row_ahead(const TurnCommit& turn, const KnownInstance& known);

 private:
  Status check_turn(const TurnCommit& turn, const KnownInstance* known, InstanceRow* found);
  Status find_row(const TurnCommit& turn, const KnownInstance* known, InstanceRow* row);
  Status check_message(InstanceKey key, MessageId message, const InstanceRow& instance);
  Status write_turn(const TurnCommit& turn, const InstanceRow& row, KnownInstance* known);
  Status take_back_state(const TurnCommit& turn);
  Status write_values(const TurnCommit& turn, const StoredEvents& stored);
  Status start_instances(const TurnCommit& turn, const StoredEvents& stored);
  Status answer_reads(const TurnCommit& turn, const StoredEvents& stored);
  Status answer_calls(const TurnCommit& turn, const StoredEvents& stored);
  Status send_messages(const TurnCommit& turn, const StoredEvents& stored);
  Status write_sessions_and_work(const TurnCommit& turn, const StoredEvents& stored);
  Status insert_work(const TurnCommit& turn, const StoredEvents& stored, const NewWork& work);
  Status write_message(const TurnCommit& turn);
  Status write_custom_status(const TurnCommit& turn);
  [[nodiscard]] Due due_of(const NewTimer& timer) const;
  Status insert_timer(const TurnCommit& turn, const NewTimer& timer);
  Status write_timers(const TurnCommit& turn, std::optional<RowTimer>* in_row);
  Status close_command(const TurnCommit& turn, EventId command);
  Status first_ready(const TurnCommit& turn, const KnownInstance* known, std::int64_t* id);
  Status go_on(const TurnCommit& turn, ExecutionId execution, const HistoryPlace& last,
               const KnownInstance* known, bool* is_idle);
  Status go_on_as_before(const TurnCommit& turn, const HistoryPlace& last);
  Status end_execution(const TurnCommit& turn, const StoredEvents& stored,
                       const KnownInstance* known);
  [[nodiscard]] bool has_no_message(const TurnCommit& turn, const KnownInstance* known) const;
  Status leave_unread(const TurnCommit& turn, const KnownInstance* known);
  Status continue_as_new(const TurnCommit& turn, const KnownInstance* known);
  Status prune_executions(const TurnCommit& turn);
  Status hand_on_request(const TurnCommit& turn, Message* next);
  Rows& rows_;
  SessionVerbs& verbs_;
  WorkItems& items_;
  Deliveries& deliveries_;
  TreeRemoval& removal_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_TURN_WRITER_HPP
