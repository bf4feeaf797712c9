#include "instance_messages.hpp"

#include <cstdint>

#include "column_fits.hpp"
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

constexpr sql::Query kCurrentEnd{"SELECT key,execution,last_event FROM instances WHERE id=?1"};

Status InstanceMessages::send_offer(const NewMessage& posted, bool* room, SentOffer* out) {
  PAWL_TRY(send_message(posted, room));
  if (!*room) return Status::kOk;
  out->number = connection_.last_insert_id();
  Statement row = connection_.use(kCurrentEnd);
  if (!row.bind_text(posted.id).row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "executions");
  out->key = row.integer(0);
  out->execution = row.integer(1);
  if (fits(row.integer(2), &out->last_event)) return Status::kOk;
  return fail(Status::kCorrupt, "executions");
}

constexpr auto kOfferText =
    sql::join("SELECT 1 FROM orchestrator_queue WHERE id=?1 AND instance=?2 AND kind=",
              sql::number<MessageKind::kOffer>);
constexpr sql::Query kOffer{kOfferText};

Status InstanceMessages::is_offer_waiting(const SentOffer& offer, bool* waits) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kOffer);
  *waits = row.bind(offer.number).bind(offer.key).row();
  return fail(row.status(), "find offer");
}

constexpr auto kWithdrawOfferText =
    sql::join("DELETE FROM orchestrator_queue WHERE id=?1 AND instance=?2 AND kind=",
              sql::number<MessageKind::kOffer>);
constexpr sql::Query kWithdrawOffer{kWithdrawOfferText, kTimerMoves};

// A turn that has read the offer becomes stale, and is run again without it.
Status InstanceMessages::withdraw_offer(const SentOffer& offer, bool* withdrawn) {
  require_batch();
  PAWL_TRY(fail_written(connection_.use(kWithdrawOffer).bind(offer.number).bind(offer.key).run(),
                        "withdraw offer"));
  *withdrawn = connection_.changes() == 1;
  return Status::kOk;
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

constexpr auto kRequestWaitsText = sql::join(
    "SELECT 1 FROM orchestrator_queue\fINDEXED BY oq_instance\rWHERE instance=?1 AND kind=",
    sql::number<MessageKind::kCancel>, " LIMIT 1");
constexpr sql::Query kRequestWaits{kRequestWaitsText};

// Only the first request counts, so a second row would say nothing.
Status InstanceMessages::cancel_instance(InstanceKey key, std::string_view reason, bool* asked) {
  require_batch();
  *asked = false;
  {
    Statement row = connection_.use(kRequestWaits);
    if (row.bind(key).row()) return Status::kOk;
    PAWL_TRY(fail(row.status(), "find cancel request"));
  }
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.payload = cut_text(reason, kErrorTextBytesMax);
  const Status inserted = messages_.insert_message(key, cancel);
  *asked = inserted == Status::kOk;
  return inserted == Status::kNotFound || inserted == Status::kStale ? Status::kOk : inserted;
}

Status InstanceMessages::find_instance(std::string_view id, InstanceKey* key, Incarnation* home) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  return instances_.find_running(id, key, home);
}

// The number and the limits are as they were when the view began.
Status InstanceMessages::last_message(MessageId* number, MailboxLimits* limits) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  PAWL_TRY(workers_.mailbox_limits(&seen_));
  *limits = seen_;
  *number = context_.committed.token - 1;
  return Status::kOk;
}

Status InstanceMessages::reserve_messages(MessageId last, std::size_t count) {
  require_batch();
  PAWL_TRY(space_.room_for_new());
  MailboxLimits now;
  PAWL_TRY(workers_.mailbox_limits(&now));
  if (now.messages != seen_.messages || now.bytes != seen_.bytes) return Status::kStale;
  return context_.take_tokens(last + 1, count) ? Status::kOk : Status::kStale;
}

constexpr auto kCountMailboxText = sql::join(
    "SELECT count(*),coalesce(sum(length(CAST(name AS BLOB))+coalesce(length(payload),0)),0) "
    "FROM orchestrator_queue\fINDEXED BY oq_instance\r"
    "WHERE instance=? AND waiting IN (",
    sql::number<Waiting::kNo>, ",", sql::number<Waiting::kYes>, ") AND due IS NULL AND kind IN (",
    sql::number<MessageKind::kEvent>, ",", sql::number<MessageKind::kQueue>, ",",
    sql::number<MessageKind::kOffer>, ")");
constexpr sql::Query kCountMailbox{kCountMailboxText};

// Counts the rows of messages that no turn took. The limit itself bounds them, together with the
// completions that wait beside them.
Status InstanceMessages::has_room(InstanceKey key, const NewMessage& posted, bool* room) {
  MailboxLimits most;
  PAWL_TRY(workers_.mailbox_limits(&most));
  const auto keep_less = [](std::int64_t* limit, std::size_t own) {
    const auto its = static_cast<std::int64_t>(own);
    if (*limit == 0 || its < *limit) *limit = its;
  };
  keep_less(&most.messages, posted.count_max);
  keep_less(&most.bytes, posted.bytes_max);
  Statement row = connection_.use(kCountMailbox);
  if (!row.bind(key).row()) return fail(row.status(), "count messages");
  const std::int64_t count = row.integer(0);
  const std::int64_t bytes = row.integer(1);
  const auto more = static_cast<std::int64_t>(posted.name.size() + posted.payload.size());
  const bool has_place = count < most.messages;
  *room = has_place && bytes + more <= most.bytes;
  if (!*room)
    context_.diagnostic.format(
        "%lld messages with %lld bytes wait for \"%.*s\"; at most %lld %s",
        static_cast<long long>(count), static_cast<long long>(bytes),
        static_cast<int>(posted.id.size()), posted.id.data(),
        static_cast<long long>(has_place ? most.bytes : most.messages),
        has_place ? "bytes may (4 * payload_bytes_max)" : "may (queue_messages_max)");
  return Status::kOk;
}

}  // namespace pawl::store
