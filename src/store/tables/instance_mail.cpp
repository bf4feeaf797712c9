#include "instance_mail.hpp"

#include <cstdint>

#include "event.hpp"

namespace pawl::store {

Status InstanceMail::send_mail(const NewMail& mail, bool* room) {
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
  PAWL_TRY(space_.room_for_new());
  Message message;
  message.id = mail.number;
  message.kind = mail.kind;
  message.name = mail.name;
  message.payload = mail.payload;
  return messages_.insert_message(key, message);
}

Status InstanceMail::cancel_instance(std::string_view id, std::string_view reason) {
  require_batch();
  InstanceKey key = 0;
  PAWL_TRY(instances_.find_running(id, &key));
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.payload = cut_text(reason, kErrorTextBytesMax);
  return messages_.insert_message(key, cancel);
}

Status InstanceMail::find_instance(std::string_view id, InstanceKey* key, Incarnation* home) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  return instances_.find_running(id, key, home);
}

constexpr sql::Query kLastMessage{
    "SELECT seq FROM sqlite_sequence WHERE name='orchestrator_queue'"};

Status InstanceMail::last_message(MessageId* number) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kLastMessage);
  *number = row.row() ? row.integer(0) : 0;
  return fail(row.status(), "last message");
}

constexpr sql::Query kReserveMessages{
    "UPDATE sqlite_sequence SET seq=?1+?2 "
    "WHERE name='orchestrator_queue' AND seq=?1"};

Status InstanceMail::reserve_messages(MessageId last, std::size_t count) {
  require_batch();
  PAWL_TRY(space_.room_for_new());
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
Status InstanceMail::has_room(InstanceKey key, const NewMail& mail, bool* room) {
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

}  // namespace pawl::store
