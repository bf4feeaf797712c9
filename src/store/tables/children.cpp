#include "children.hpp"

#include <cstdint>

#include "event.hpp"
#include "text.hpp"
#include "walk.hpp"

namespace pawl::store {

Status Children::start_instance(const TurnCommit& turn, EventId command) {
  const Event& event = turn.events->event(command);
  const bool is_child = event.kind == EventKind::kChild;
  FixedText<kNameBytesMax> own_id;
  NewInstance instance;
  instance.id = event.session;
  instance.name = event.name;
  instance.version = event.version;
  instance.input = event.payload;
  instance.trace = turn.trace;
  Status status = Status::kOk;
  if (instance.id.empty()) {
    // An id that is too long concerns this call only; the turn is good.
    if (child_id(turn.id, turn.execution, command, &own_id) != Status::kOk)
      status = Status::kInvalidArgument;
    instance.id = own_id.view();
  }
  ParentLink parent;
  if (is_child) parent = {turn.key, turn.execution, command};
  InstanceKey key = 0;
  if (status == Status::kOk) status = new_instances_.insert_instance(instance, parent, &key);
  if (status != Status::kAlreadyExists && status != Status::kInvalidArgument) return status;
  if (!is_child) {
    if (context_.sink != nullptr) context_.sink->on_start_refused(instance.id, turn.key, command);
    return Status::kOk;
  }
  Message refused;
  refused.kind = MessageKind::kChildDone;
  refused.execution = turn.execution;
  refused.ref = command;
  const bool exists = status == Status::kAlreadyExists;
  refused.error = exists ? ErrorKind::kApplication : ErrorKind::kInvalidArgument;
  refused.payload = exists ? "an instance of this id exists" : "the child's id would be too long";
  return messages_.store_message(turn.key, refused, nullptr);
}

constexpr auto kNextChildText = sql::join(
    "SELECT key,parent_event FROM instances\fINDEXED BY i_children\rWHERE parent=?1 AND "
    "parent_execution=?2 AND parent_event>=?3 AND parent_event<=?4 AND state NOT IN (",
    sql::number<InstanceState::kCompleted>, ",", sql::number<InstanceState::kFailed>,
    ") "
    "ORDER BY parent_event LIMIT 1");
constexpr sql::Query kNextChild{kNextChildText};

// Cancels one child at a time, so that no row is written while a reader stands on it.
Status Children::cancel_children(InstanceKey parent, ExecutionId execution, EventId first,
                                 EventId last, std::string_view reason) {
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.payload = reason;
  std::int64_t next = first;
  Walk walk;
  while (true) {
    InstanceKey child = 0;
    {
      Statement row = connection_.use(kNextChild);
      row.bind(parent).bind(execution).bind(next).bind(std::int64_t{last});
      if (!row.row()) return fail(row.status(), "find child");
      child = row.integer(0);
      if (!walk.rises(row.integer(1))) return no_progress("instances");
      next = row.integer(1) + 1;
    }
    PAWL_TRY(messages_.insert_message(child, cancel));
  }
}

constexpr auto kReadParentText = sql::join(
    "SELECT p.key,c.parent_execution,c.parent_event FROM instances AS c JOIN instances AS p "
    "ON p.key=c.parent WHERE c.key=? AND p.execution=c.parent_execution AND p.state NOT IN "
    "(",
    sql::number<InstanceState::kCompleted>, ",", sql::number<InstanceState::kFailed>, ")");
constexpr sql::Query kReadParent{kReadParentText};

Status Children::notify_parent(InstanceKey child, ErrorKind error, std::string_view output) {
  Message done;
  done.kind = MessageKind::kChildDone;
  done.error = error;
  done.payload = output;
  InstanceKey parent = 0;
  {
    Statement row = connection_.use(kReadParent);
    if (!row.bind(child).row()) return fail(row.status(), "find parent");
    parent = row.integer(0);
    done.execution = row.integer(1);
    done.ref = static_cast<EventId>(row.integer(2));
  }
  return messages_.insert_message(parent, done);
}

}  // namespace pawl::store
