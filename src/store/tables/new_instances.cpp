#include "new_instances.hpp"

#include <cstdint>

#include "clock_rules.hpp"
#include "event.hpp"

namespace pawl::store {

Status NewInstances::create_instance(const NewInstance& instance, InstanceKey* key) {
  require_batch();
  if (is_valid_name(instance.id) && !is_valid_root_id(instance.id)) {
    context_.diagnostic.format(is_plain_id(instance.id)
                                   ? "ids with \"::\" are those of children"
                                   : "an id is not \".\" or \"..\", and has no blank at its ends");
    return Status::kInvalidArgument;
  }
  // The id is checked before the room: a caller that repeats a call learns that the first one
  // arrived.
  PAWL_TRY(check_new(instance));
  PAWL_TRY(space_.room_for_new());
  return insert_checked(instance, ParentLink(), key);
}

Status NewInstances::insert_instance(const NewInstance& instance, const ParentLink& parent,
                                     InstanceKey* key) {
  PAWL_TRY(check_new(instance));
  return insert_checked(instance, parent, key);
}

constexpr sql::Query kFindId{"SELECT 1 FROM instances WHERE id=?"};

Status NewInstances::check_new(const NewInstance& instance) {
  if (!is_valid_name(instance.id) || !is_valid_name(instance.name) ||
      (!instance.version.empty() && !is_valid_name(instance.version))) {
    context_.diagnostic.format(
        "ids, names and versions have 1 to %zu bytes and no control characters", kNameBytesMax);
    return Status::kInvalidArgument;
  }
  if (!is_valid_trace_id(instance.trace)) {
    context_.diagnostic.format("a trace_id has at most %zu bytes and no control characters",
                               kTraceIdBytesMax);
    return Status::kInvalidArgument;
  }
  if (instance.start_after_ms < 0) {
    context_.diagnostic.format("start_after_ms is %lld",
                               static_cast<long long>(instance.start_after_ms));
    return Status::kInvalidArgument;
  }
  // This also finds an instance that is deleted and not swept yet.
  Statement row = connection_.use(kFindId);
  if (row.bind_text(instance.id).row()) {
    context_.diagnostic.format("instance '%.*s' exists", static_cast<int>(instance.id.size()),
                               instance.id.data());
    return Status::kAlreadyExists;
  }
  return fail(row.status(), "instances");
}

constexpr auto kInsertInstanceText = sql::join(
    "INSERT INTO instances(id,name,version,state,execution,revision,home,crashes,strikes,reboots,"
    "created_stamp,updated_stamp,parent,parent_execution,parent_event,parked_until,trace,root) "
    "VALUES(?1,?2,?3,",
    sql::number<InstanceState::kRunning>,
    ",1,0,0,0,0,0,?4,?4,?5,?6,?7,?8,?9,"
    "(SELECT coalesce(p.root,p.key) FROM instances AS p WHERE p.key=?5))");
constexpr sql::Query kInsertInstance{kInsertInstanceText};

Status NewInstances::insert_checked(const NewInstance& instance, const ParentLink& parent,
                                    InstanceKey* key) {
  const OptionalMs parked =
      instance.start_after_ms == 0 ? OptionalMs() : make_due(batch_.now, instance.start_after_ms);
  Statement insert = connection_.use(kInsertInstance);
  insert.bind_text(instance.id).bind_text(instance.name).bind_text(instance.version);
  insert.bind(batch_.stamp_ms).bind_or_null(parent.instance).bind_or_null(parent.execution);
  insert.bind_or_null(parent.event)
      .bind_due(parked, kParkedComes)
      .bind_text_or_null(instance.trace);
  PAWL_TRY(fail_written(insert.run(), "insert instance"));
  *key = connection_.last_insert_id();
  if (instance.with_turn) return Status::kOk;
  Message start;
  start.kind = MessageKind::kStart;
  start.execution = 1;
  start.name = instance.name;
  start.payload = instance.input;
  return written(messages_.insert_message(*key, start));
}

}  // namespace pawl::store
