#include "store/instance/call_rows.hpp"

#include <cstring>

#include "codec/event.hpp"
#include "core/crc32c.hpp"

namespace pawl::store {
namespace {

std::uint32_t crc_of(InstanceKey instance, MessageId number, ErrorKind error,
                     std::string_view answer) {
  Message row;
  row.kind = MessageKind::kCall;
  row.error = error;
  row.execution = number;
  row.payload = answer;
  return message_crc(instance, row);
}

}  // namespace

constexpr auto kReadCall =
    PAWL_QUERY("SELECT instance,state,error,answer,crc FROM calls WHERE number=?1");

Status CallRows::read_call(MessageId number, CallRow* out, char* buffer, std::size_t capacity) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kReadCall);
  if (!row.bind(number).row()) return no_row(row, Status::kNotFound, "calls");
  out->state = static_cast<CallState>(row.integer(PAWL_COLUMN(kReadCall, state)));
  out->error = static_cast<ErrorKind>(row.integer(PAWL_COLUMN(kReadCall, error)));
  const std::string_view answer = row.bytes(PAWL_COLUMN(kReadCall, answer));
  if (answer.size() > capacity) return Status::kResourceExhausted;
  const bool is_whole = crc_of(row.integer(PAWL_COLUMN(kReadCall, instance)), number, out->error,
                               answer) == row.integer(PAWL_COLUMN(kReadCall, crc));
  if (!is_whole || out->state > CallState::kEnded || out->error > kErrorKindLast) {
    connection_.diagnostic().format("calls row %lld is damaged", static_cast<long long>(number));
    return fail(Status::kCorrupt, "calls");
  }
  if (!answer.empty()) std::memcpy(buffer, answer.data(), answer.size());
  out->answer = {buffer, answer.size()};
  return Status::kOk;
}

constexpr auto kInsertCall =
    PAWL_QUERY("INSERT INTO calls(number,instance,state,error,answer,crc) VALUES(?1,?2,",
               sql::number<CallState::kOpen>, ",", sql::number<ErrorKind::kNone>, ",NULL,?3)");
constexpr auto kDeleteAnswered =
    PAWL_QUERY("DELETE FROM calls WHERE instance=?1 AND state<>", sql::number<CallState::kOpen>,
               " AND number<=(SELECT number FROM calls WHERE instance=?1 AND state<>",
               sql::number<CallState::kOpen>, " ORDER BY number DESC LIMIT 1 OFFSET ?2)");

Status CallRows::insert_call(InstanceKey instance, MessageId number) {
  require_batch();
  Statement insert = connection_.use(kInsertCall);
  insert.bind(number).bind(instance).bind(crc_of(instance, number, ErrorKind::kNone, {}));
  return fail_written(insert.run(), "insert a call");
}

Status CallRows::keep_answered(InstanceKey instance, std::int64_t count_max) {
  return fail_written(connection_.use(kDeleteAnswered).bind(instance).bind(count_max).run(),
                      "delete answers");
}

constexpr auto kAnswerCall =
    PAWL_QUERY("UPDATE calls SET state=", sql::number<CallState::kAnswered>,
               ",error=?3,answer=?4,crc=?5 WHERE number=?1 AND instance=?2 AND state=",
               sql::number<CallState::kOpen>);

Status CallRows::answer_call(InstanceKey instance, MessageId number, ErrorKind error,
                             std::string_view answer, std::int64_t bytes_max) {
  require_batch();
  Statement row = connection_.use(kAnswerCall);
  row.bind(number).bind(instance).bind(static_cast<std::int64_t>(error));
  row.bind_blob_or_null(answer).bind(crc_of(instance, number, error, answer));
  std::int64_t answered = 0;
  PAWL_TRY(fail_written(row.run(&answered), "answer a call"));
  return answered == 0 ? Status::kOk : make_room(instance, bytes_max);
}

constexpr auto kAnswerSizes =
    PAWL_QUERY("SELECT number,length(answer) FROM calls WHERE instance=?1 AND state=",
               sql::number<CallState::kAnswered>, " ORDER BY number DESC");
constexpr auto kDeleteOlder =
    PAWL_QUERY("DELETE FROM calls WHERE instance=?1 AND state=", sql::number<CallState::kAnswered>,
               " AND number<=?2");

// The newest answer stays, however long it is: its limit is that of a payload.
Status CallRows::make_room(InstanceKey instance, std::int64_t bytes_max) {
  MessageId last_gone = 0;
  {
    Statement row = connection_.use(kAnswerSizes);
    row.bind(instance);
    std::int64_t bytes = 0;
    for (bool is_newest = true; last_gone == 0 && row.row(); is_newest = false) {
      bytes += row.integer(1);
      if (!is_newest && bytes > bytes_max) last_gone = row.integer(0);
    }
    PAWL_TRY(fail_written(row.status(), "measure answers"));
  }
  if (last_gone == 0) return Status::kOk;
  return fail_written(connection_.use(kDeleteOlder).bind(instance).bind(last_gone).run(),
                      "delete answers");
}

constexpr auto kEndCalls =
    PAWL_QUERY("UPDATE calls SET state=", sql::number<CallState::kEnded>,
               " WHERE instance=?1 AND state=", sql::number<CallState::kOpen>);

Status CallRows::end_calls(InstanceKey instance) {
  return fail_written(connection_.use(kEndCalls).bind(instance).run(), "end calls");
}

}  // namespace pawl::store
