#include "message_table.hpp"

#include "damage.hpp"

namespace pawl::store {

constexpr sql::Query kFindState{"SELECT state,ready_id IS NOT NULL FROM instances WHERE key=?"};
constexpr sql::Query kMakeReady{"UPDATE instances SET ready_id=?2,ready_at=?3 WHERE key=?1"};

Status MessageTable::insert_message(InstanceKey instance, const Message& message) {
  const Suspicion suspect(connection_, RowRef::Table::kInstances, instance);
  bool was_ready = false;
  {
    Statement row = connection_.use(kFindState);
    if (!row.bind(instance).row())
      return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "instances");
    if (has_ended(row.integer(0))) return Status::kStale;
    was_ready = row.integer(1) != 0;
  }
  PAWL_TRY(store_message(instance, message, nullptr));
  context_.batch_sent = true;
  if (was_ready) return Status::kOk;
  // The revision stays. It belongs to the history, and a turn that did not see this message is
  // still right.
  return fail_written(connection_.use(kMakeReady)
                          .bind(instance)
                          .bind(connection_.last_insert_id())
                          .bind(batch_.now)
                          .run(),
                      "make ready");
}

constexpr sql::Query kInsertMessage{
    "INSERT INTO "
    "orchestrator_queue(id,waiting,instance,execution,kind,error,ref,base,due,seg,name,"
    "payload,crc) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"};

// Afterwards the row's id is the last inserted one. `timer`: when the message is due, and in which
// time; null: ready now.
Status MessageTable::store_message(InstanceKey instance, const Message& message, const Due* timer,
                                   Waiting waiting) {
  Statement insert = connection_.use(kInsertMessage);
  // The id comes from the counter of tokens, whose row is written ahead; AUTOINCREMENT would touch
  // one more page.
  insert.bind(message.id == 0 ? context_.next_token() : message.id)
      .bind(static_cast<std::int64_t>(waiting))
      .bind(instance)
      .bind(message.execution)
      .bind(static_cast<std::int64_t>(message.kind))
      .bind(static_cast<std::int64_t>(message.error))
      .bind(message.ref);
  ++context_.messages_stored;
  if (timer != nullptr) {
    insert.bind(static_cast<std::int64_t>(timer->base));
    insert.bind_due(timer->due, kTimerComes).bind(batch_.boot_seq);
  } else {
    insert.bind_null().bind_null().bind_null();
  }
  insert.bind_text_or_null(message.name).bind_blob_or_null(message.payload);
  return fail_written(insert.bind(message_crc(instance, message)).run(), "insert message");
}

}  // namespace pawl::store
