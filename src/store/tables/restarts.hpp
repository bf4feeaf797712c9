// Restarts: an instance that failed or stopped goes on in a new execution.
//
// Purpose: the operator's verb. It writes a message that begins the next execution: with the input
// of the failed one, or with its history up to before the failure. The failed execution and its
// history stay as they are.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_RESTARTS_HPP
#define PAWL_STORE_TABLES_RESTARTS_HPP

#include <string_view>

#include "admin_store.hpp"
#include "children.hpp"
#include "context.hpp"
#include "history_table.hpp"
#include "instance_table.hpp"
#include "message_table.hpp"
#include "store_space.hpp"
#include "value_table.hpp"
#include "work_table.hpp"

namespace pawl::store {

class Restarts : private Table {
 public:
  Restarts(StoreContext& context, InstanceTable& instances, MessageTable& messages,
           WorkTable& items, HistoryTable& history, ValueTable& values, Children& children,
           StoreSpace& space)
      : Table(context),
        instances_(instances),
        messages_(messages),
        items_(items),
        history_(history),
        values_(values),
        children_(children),
        space_(space) {}

  // ---- calls of the contract ----
  Status restart_instance(const Restart& how);

 private:
  struct Found {
    InstanceKey key = 0;
    InstanceState state = InstanceState::kRunning;
    ExecutionId execution = 0;
    bool is_child = false;
    EventId last_event = 0;  // the last one stored
    std::int64_t behaviour = 0;
  };

  Status find(std::string_view id, Found* out);
  Status check(const Found& found, const Restart& how);
  Status refuse(Status status, const char* why);
  Status find_cut(const Found& found, EventId* cut);
  Status check_child(const Found& found, EventId command);
  Status restart_stopped(const Found& found, const Restart& how);
  // `about`: the Message::error of the start.
  Status begin_from_start(const Found& found, ExecutionId of, const Restart& how, ErrorKind about);
  Status end_stopped(const Found& found);
  Status find_request(const Found& found, EventId* request);
  Status hand_on_request(const Found& found, EventId request, ErrorKind* about);
  Status begin(const Found& found, const Restart& how, const Message& message);
  Status go_on(const Found& found);

  InstanceTable& instances_;
  MessageTable& messages_;
  WorkTable& items_;
  HistoryTable& history_;
  ValueTable& values_;
  Children& children_;
  StoreSpace& space_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_RESTARTS_HPP
