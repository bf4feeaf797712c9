// Instances and their messages: created, cancelled, looked at, parked, stopped, woken.
#include <cstring>

#include "sqlite_provider.hpp"

namespace pawl::store {
// ---- clients ------------------------------------------------------------------------------------

Status SqliteProvider::create_instance(const NewInstance& instance, InstanceKey* key) {
  require_batch();
  if (is_valid_name(instance.id) && !is_valid_root_id(instance.id)) {
    context_.diagnostic.format("ids with \"::\" are those of children");
    return Status::kInvalidArgument;
  }
  // An id that is in use is told as that: whoever asks again learns that the first call arrived.
  PAWL_TRY(check_new(instance));
  PAWL_TRY(room_for_new());
  return insert_checked(instance, ParentLink(), key);
}

Status SqliteProvider::insert_instance(const NewInstance& instance, const ParentLink& parent,
                                       InstanceKey* key) {
  PAWL_TRY(check_new(instance));
  return insert_checked(instance, parent, key);
}

constexpr sql::Query kFindId{"SELECT 1 FROM instances WHERE id=?"};

Status SqliteProvider::check_new(const NewInstance& instance) {
  if (!is_valid_name(instance.id) || !is_valid_name(instance.name) ||
      (!instance.version.empty() && !is_valid_name(instance.version))) {
    context_.diagnostic.format(
        "ids, names and versions have 1 to %zu bytes and no control characters", kNameBytesMax);
    return Status::kInvalidArgument;
  }
  if (instance.start_after_ms < 0) {
    context_.diagnostic.format("start_after_ms is %lld",
                               static_cast<long long>(instance.start_after_ms));
    return Status::kInvalidArgument;
  }
  // Also one that is deleted and not swept yet.
  Statement row = connection_.use(kFindId);
  if (row.bind_text(instance.id).row()) {
    context_.diagnostic.format("instance '%.*s' exists", static_cast<int>(instance.id.size()),
                               instance.id.data());
    return Status::kAlreadyExists;
  }
  return fail(row.status(), "instances");
}

constexpr sql::Query kInsertInstance{
    "INSERT INTO instances(id,name,version,state,execution,revision,home,crashes,strikes,reboots,"
    "created_stamp,updated_stamp,parent,parent_execution,parent_event,parked_until,root) "
    "VALUES(?1,?2,?3,0,1,0,0,0,0,0,?4,?4,?5,?6,?7,?8,"
    "(SELECT coalesce(p.root,p.key) FROM instances AS p WHERE p.key=?5))"};

Status SqliteProvider::insert_checked(const NewInstance& instance, const ParentLink& parent,
                                      InstanceKey* key) {
  const std::int64_t parked =
      instance.start_after_ms == 0 ? 0 : make_due(batch_.now, instance.start_after_ms);
  if (parked != 0) due_.comes(DueKind::kParked);
  Statement insert = connection_.use(kInsertInstance);
  insert.bind_text(instance.id).bind_text(instance.name).bind_text(instance.version);
  insert.bind(batch_.stamp_ms).bind_or_null(parent.instance).bind_or_null(parent.execution);
  insert.bind_or_null(parent.event).bind_or_null(parked);
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

Status SqliteProvider::cancel_instance(std::string_view id, std::string_view reason) {
  require_batch();
  InstanceKey key = 0;
  PAWL_TRY(instances_.find_running(id, &key));
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.payload = cut_text(reason, kErrorTextBytesMax);
  return messages_.insert_message(key, cancel);
}

Status SqliteProvider::send_mail(const NewMail& mail, bool* room) {
  require_batch();
  *room = true;
  if (!is_valid_name(mail.name)) {
    context_.diagnostic.format("names have 1 to %zu bytes and no control characters",
                               kNameBytesMax);
    return Status::kInvalidArgument;
  }
  InstanceKey key = 0;
  PAWL_TRY(instances_.find_running(mail.id, &key));
  PAWL_TRY(has_room(key, mail, room));
  if (!*room) return Status::kOk;
  PAWL_TRY(room_for_new());
  Message message;
  message.id = mail.number;
  message.kind = mail.kind;
  message.name = mail.name;
  message.payload = mail.payload;
  return messages_.insert_message(key, message);
}

Status SqliteProvider::find_instance(std::string_view id, InstanceKey* key, Incarnation* home) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  return instances_.find_running(id, key, home);
}

constexpr sql::Query kLastMessage{
    "SELECT seq FROM sqlite_sequence WHERE name='orchestrator_queue'"};

Status SqliteProvider::last_message(MessageId* number) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kLastMessage);
  *number = row.row() ? row.integer(0) : 0;
  return fail(row.status(), "last message");
}

constexpr sql::Query kReserveMessages{
    "UPDATE sqlite_sequence SET seq=?1+?2 "
    "WHERE name='orchestrator_queue' AND seq=?1"};

Status SqliteProvider::reserve_messages(MessageId last, std::size_t count) {
  require_batch();
  PAWL_TRY(room_for_new());
  PAWL_TRY(fail_written(
      connection_.use(kReserveMessages).bind(last).bind(static_cast<std::int64_t>(count)).run(),
      "reserve messages"));
  return connection_.changes() == 1 ? Status::kOk : Status::kStale;
}

constexpr sql::Query kCountMail{
    "SELECT count(*),coalesce(sum(length(CAST(name AS BLOB))+coalesce(length(payload),0)),0) "
    "FROM orchestrator_queue INDEXED BY oq_instance "
    "WHERE instance=? AND waiting IN (0,1) AND due IS NULL AND kind IN (6,7)"};

// What no turn took is counted from its rows: bounded by the limit itself, and by the completions that
// wait beside.
Status SqliteProvider::has_room(InstanceKey key, const NewMail& mail, bool* room) {
  Statement row = connection_.use(kCountMail);
  if (!row.bind(key).row()) return fail(row.status(), "count messages");
  const std::int64_t count = row.integer(0);
  const std::int64_t bytes = row.integer(1);
  const auto more = static_cast<std::int64_t>(mail.name.size() + mail.payload.size());
  *room = count < static_cast<std::int64_t>(mail.count_max) &&
          bytes + more <= static_cast<std::int64_t>(mail.bytes_max);
  if (!*room)
    context_.diagnostic.format(
        "%lld messages with %lld bytes wait for \"%.*s\"; at most %zu with %zu bytes may",
        static_cast<long long>(count), static_cast<long long>(bytes),
        static_cast<int>(mail.id.size()), mail.id.data(), mail.count_max, mail.bytes_max);
  return Status::kOk;
}

constexpr sql::Query kReadStatus{
    "SELECT key,state,execution,revision,created_stamp,updated_stamp,stop_kind,stop_text,"
    "custom_status,custom_status_version FROM instances AS i WHERE id=? AND " PAWL_IS_THERE};

Status SqliteProvider::read_status(std::string_view id, InstanceStatus* out, char* buffer,
                                   std::size_t capacity) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kReadStatus);
  if (!row.bind_text(id).row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "instances");
  *out = InstanceStatus();
  out->key = row.integer(0);
  out->state = static_cast<InstanceState>(row.integer(1));
  out->execution = row.integer(2);
  out->revision = row.integer(3);
  out->created_ms = row.integer(4);
  out->updated_ms = row.integer(5);
  out->error = static_cast<ErrorKind>(row.integer(6));
  out->custom_status_version = row.integer(9);
  PAWL_TRY(copy_custom_status(row.bytes(8), out, buffer, capacity));
  const std::size_t used = out->custom_status.size();
  if (has_ended(row.integer(1))) return read_end(out, buffer + used, capacity - used);
  return copy_output(row.bytes(7), out, buffer + used, capacity - used);
}

Status SqliteProvider::copy_custom_status(std::string_view text, InstanceStatus* out, char* buffer,
                                          std::size_t capacity) {
  if (text.size() > capacity) {
    context_.diagnostic.format("the custom status has %zu bytes, the buffer %zu", text.size(),
                               capacity);
    return Status::kResourceExhausted;
  }
  if (!text.empty()) std::memcpy(buffer, text.data(), text.size());
  out->custom_status = {buffer, text.size()};
  return Status::kOk;
}

Status SqliteProvider::copy_output(std::string_view output, InstanceStatus* out, char* buffer,
                                   std::size_t capacity) {
  if (output.size() > capacity) {
    context_.diagnostic.format("the output has %zu bytes, the buffer %zu", output.size(), capacity);
    return Status::kResourceExhausted;
  }
  if (!output.empty()) std::memcpy(buffer, output.data(), output.size());
  out->output = {buffer, output.size()};
  return Status::kOk;
}

// ---- parked and stopped ones --------------------------------------------------------------------

constexpr sql::Query kPark{
    "UPDATE instances SET state=?2,parked_until=?3,stop_kind=iif(stop_kind=15,15,?4),"
    "stop_text=iif(stop_kind=15,stop_text,?5),strikes=strikes+?6,home=0,updated_stamp=?7 "
    "WHERE key=?1"};

Status SqliteProvider::abandon_orchestration_item(InstanceKey key, std::int64_t revision,
                                                  std::int64_t delay_ms, bool strike, ErrorKind why,
                                                  std::string_view text) {
  require_batch();
  InstanceRow row;
  const Status found = instances_.read_instance(key, &row);
  if (found == Status::kNotFound) return Status::kStale;
  PAWL_TRY(found);
  if (row.state != InstanceState::kRunning || row.revision != revision || row.parked)
    return Status::kStale;
  due_.comes(DueKind::kParked);
  due_.moves(DueKind::kTimer);
  const bool stop = delay_ms == kStoppedForGood;
  const InstanceState state = stop ? InstanceState::kStopped : InstanceState::kRunning;
  // An operator's end (15) stays asked for. Nobody's afterwards: whoever knows the name, or has the memory, need not wait for the grace.
  Statement park = connection_.use(kPark);
  park.bind(key).bind(static_cast<std::int64_t>(state));
  if (stop) {
    park.bind(kNever);
  } else if (delay_ms > 0) {
    park.bind(make_due(batch_.now, delay_ms));
  } else {
    park.bind_null();
  }
  park.bind_or_null(static_cast<std::int64_t>(why));
  park.bind_text_or_null(cut_text(text, kErrorTextBytesMax));
  return fail_written(park.bind(strike ? 1 : 0).bind(batch_.stamp_ms).run(), "park instance");
}

constexpr sql::Query kRetryStopped{
    "UPDATE instances SET state=0,parked_until=NULL,ready_at=?1 WHERE key IN "
    "(SELECT key FROM instances INDEXED BY i_stopped WHERE state=3 LIMIT ?2)"};

Status SqliteProvider::retry_stopped(std::size_t limit, std::size_t* retried) {
  require_batch();
  due_.moves(DueKind::kParked);
  due_.comes(DueKind::kTimer);  // while they were stopped none of theirs counted
  *retried = 0;
  PAWL_TRY(fail_written(
      connection_.use(kRetryStopped).bind(batch_.now).bind(static_cast<std::int64_t>(limit)).run(),
      "retry stopped instances"));
  *retried = static_cast<std::size_t>(connection_.changes());
  return Status::kOk;
}

constexpr sql::Query kUnpark{
    "UPDATE instances SET parked_until=NULL WHERE +parked_until IS NOT NULL AND key IN "
    "(SELECT key FROM instances INDEXED BY i_parked WHERE parked_until IS NOT NULL "
    "AND parked_until<=?1 ORDER BY parked_until LIMIT ?2)"};

Status SqliteProvider::wake_delayed(std::size_t limit, std::size_t* woken) {
  require_batch();
  due_.moves(DueKind::kParked);
  due_.moves(DueKind::kTimer);
  *woken = 0;
  PAWL_TRY(fail_written(
      connection_.use(kUnpark).bind(batch_.now).bind(static_cast<std::int64_t>(limit)).run(),
      "wake parked instances"));
  *woken = static_cast<std::size_t>(connection_.changes());
  // First, so that nothing past its limit is handed over once more.
  if (*woken < limit) PAWL_TRY(outcomes_.end_overdue_work(limit - *woken, woken));
  if (*woken < limit) PAWL_TRY(claims_.end_unavailable_work(limit - *woken, woken));
  if (*woken < limit) PAWL_TRY(expiry_.look_at_sessions(limit - *woken, woken));
  return *woken < limit ? items_.wake_delayed_work(limit - *woken, woken) : Status::kOk;
}

}  // namespace pawl::store
