#include "instance_messages.hpp"

#include <cstdint>

#include "event.hpp"

namespace pawl::store {

Status InstanceMessages::send_message(const NewMessage& posted, bool* room) {
  require_batch();
  *room = true;
  if (!is_valid_name(posted.name)) {
    context_.diagnostic.format("names have 1 to %zu bytes and no control characters",
                               kNameBytesMax);
    return Status::kInvalidArgument;
  }
  InstanceKey key = 0;
  PAWL_TRY(instances_.find_running(posted.id, &key));
  PAWL_TRY(has_room(key, posted, room));
  if (!*room) return Status::kOk;
  PAWL_TRY(space_.room_for_new());
  Message message;
  message.id = posted.number;
  message.kind = posted.kind;
  message.name = posted.name;
  message.payload = posted.payload;
  return messages_.insert_message(key, message);
}

Status InstanceMessages::cancel_instance(std::string_view id, std::string_view reason) {
  require_batch();
  InstanceKey key = 0;
  PAWL_TRY(instances_.find_running(id, &key));
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.payload = cut_text(reason, kErrorTextBytesMax);
  return messages_.insert_message(key, cancel);
}

Status InstanceMessages::find_instance(std::string_view id, InstanceKey* key, Incarnation* home) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  return instances_.find_running(id, key, home);
}

constexpr sql::Query kLastMessage{"SELECT seq FROM sqlite_sequence WHERE name='orchestrator_queue'",
                                  sql::kEnginesOwn};

Status InstanceMessages::last_message(MessageId* number) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kLastMessage);
  *number = row.row() ? row.integer(0) : 0;
  return fail(row.status(), "last message");
}

constexpr sql::Query kReserveMessages{
    "UPDATE sqlite_sequence SET seq=?1+?2 "
    "WHERE name='orchestrator_queue' AND seq=?1",
    sql::kEnginesOwn};

Status InstanceMessages::reserve_messages(MessageId last, std::size_t count) {
  require_batch();
  PAWL_TRY(space_.room_for_new());
  PAWL_TRY(fail_written(
      connection_.use(kReserveMessages).bind(last).bind(static_cast<std::int64_t>(count)).run(),
      "reserve messages"));
  return connection_.changes() == 1 ? Status::kOk : Status::kStale;
}

constexpr auto kCountMailboxText = sql::join(
    "SELECT count(*),coalesce(sum(length(CAST(name AS BLOB))+coalesce(length(payload),0)),0) "
    "FROM orchestrator_queue\fINDEXED BY oq_instance\r"
    "WHERE instance=? AND waiting IN (",
    sql::number<Waiting::kNo>, ",", sql::number<Waiting::kYes>, ") AND due IS NULL AND kind IN (",
    sql::number<MessageKind::kEvent>, ",", sql::number<MessageKind::kQueue>, ",",
    sql::number<MessageKind::kOffer>, ")");
constexpr sql::Query kCountMailbox{kCountMailboxText};

// What no turn took is counted from its rows: bounded by the limit itself, and by the completions
// that wait beside.
Status InstanceMessages::has_room(InstanceKey key, const NewMessage& posted, bool* room) {
  Statement row = connection_.use(kCountMailbox);
  if (!row.bind(key).row()) return fail(row.status(), "count messages");
  const std::int64_t count = row.integer(0);
  const std::int64_t bytes = row.integer(1);
  const auto more = static_cast<std::int64_t>(posted.name.size() + posted.payload.size());
  const bool has_place = count < static_cast<std::int64_t>(posted.count_max);
  *room = has_place && bytes + more <= static_cast<std::int64_t>(posted.bytes_max);
  if (!*room)
    context_.diagnostic.format(
        "%lld messages with %lld bytes wait for \"%.*s\"; at most %zu %s",
        static_cast<long long>(count), static_cast<long long>(bytes),
        static_cast<int>(posted.id.size()), posted.id.data(),
        has_place ? posted.bytes_max : posted.count_max,
        has_place ? "bytes may (4 * payload_bytes_max)" : "may (queue_messages_max)");
  return Status::kOk;
}

}  // namespace pawl::store
