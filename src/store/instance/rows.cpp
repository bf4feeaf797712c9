#include "store/instance/rows.hpp"

#include "codec/event.hpp"
#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "store/column_fits.hpp"
#include "store/sql/damage.hpp"

namespace pawl::store {
constexpr auto kFindRunning = PAWL_QUERY(
    "SELECT key,state,(SELECT inc FROM workers WHERE inc=i.home AND buried=0) "
    "FROM instances AS i WHERE id=? AND " PAWL_IS_THERE);

void InstanceRows::read_running_ahead(std::string_view id) {
  sql::read_ahead(connection_, kFindRunning, id);
}

Status InstanceRows::find_running(std::string_view id, InstanceKey* key, Incarnation* home) {
  Statement row = connection_.use(kFindRunning);
  if (!row.bind_text(id).row()) return no_row(row, Status::kNotFound, "instances");
  *key = row.integer(0);
  if (home != nullptr) *home = row.integer(2);
  return has_ended(row.integer(1)) ? Status::kStale : Status::kOk;
}

constexpr auto kFindKey =
    PAWL_QUERY("SELECT key FROM instances AS i WHERE id=?1 AND " PAWL_IS_THERE);

Status InstanceRows::find_key(std::string_view id, InstanceKey* key) {
  Statement row = connection_.use(kFindKey);
  if (!row.bind_text(id).row()) return no_row(row, Status::kNotFound, "instances");
  *key = row.integer(0);
  return Status::kOk;
}

#define PAWL_FOUND_COLUMNS                                                               \
  "i.state,i.execution,i.revision,i.parked_until IS NOT NULL AS is_parked,i.last_event," \
  "i.last_row,i.ready_id IS NOT NULL AS has_message,"                                    \
  "coalesce(i.ready_id,i.unregistered) IS NULL AS is_idle,i.home,"                       \
  "i.stop_kind IS NULL AND i.crashes=0 AND i.strikes=0 AND i.reboots=0 AS is_clean,"     \
  "(i.stop_kind=",                                                                       \
      sql::number<ErrorKind::kTerminated>,                                               \
      ") IS TRUE AS is_terminating,i.keys IS NOT NULL AS has_keys," PAWL_TIMER_COLUMNS
constexpr auto kFoundColumns = sql::Columns(
    "i.state,i.execution,i.revision,is_parked,i.last_event,i.last_row,has_message,is_idle,i.home,"
    "is_clean,is_terminating,has_keys," PAWL_TIMER_COLUMNS);
constexpr auto kFindInstance =
    PAWL_QUERY("SELECT " PAWL_FOUND_COLUMNS
               " FROM instances AS i WHERE i.key=?1 AND (" PAWL_IS_THERE ") IS NOT FALSE");
// One without a parent is the root of its tree, so its own row says that it is there.
constexpr auto kFindRoot =
    PAWL_QUERY("SELECT " PAWL_FOUND_COLUMNS " FROM instances AS i WHERE i.key=?1 AND i.state<>",
               sql::number<InstanceState::kDeleted>, "");
constexpr auto kFindNews = PAWL_QUERY(
    "SELECT id FROM orchestrator_queue\fINDEXED BY oq_instance\rWHERE instance=?1 AND waiting=",
    sql::number<Waiting::kNo>,
    " AND due IS NULL AND id>?2 AND (kind=", sql::number<MessageKind::kEvent>,
    " OR kind=", sql::number<MessageKind::kQueue>, " OR kind=", sql::number<MessageKind::kCall>,
    ") ORDER BY due NULLS FIRST,id LIMIT 1");

void InstanceRows::read_root_ahead(InstanceKey key) {
  sql::read_ahead(connection_, kFindRoot, key);
}

// An instance whose root has no row counts as there, because its tree was not deleted.
Status InstanceRows::read_instance(InstanceKey key, InstanceRow* out, const InstanceLook& how) {
  const Suspicion suspect(connection_, RowRef::Table::kInstances, key);
  bool has_message = false;
  out->has_news = false;
  {
    Statement row = how.is_root ? connection_.use(kFindRoot) : connection_.use(kFindInstance);
    if (!row.bind(key).row()) return no_row(row, Status::kNotFound, "instances");
    out->state = static_cast<InstanceState>(row.integer(PAWL_COLUMN(kFoundColumns, i.state)));
    out->execution = row.integer(PAWL_COLUMN(kFoundColumns, i.execution));
    out->revision = row.integer(PAWL_COLUMN(kFoundColumns, i.revision));
    out->parked = row.integer(PAWL_COLUMN(kFoundColumns, is_parked)) != 0;
    if (!fits(row.integer(PAWL_COLUMN(kFoundColumns, i.last_event)), &out->last.event))
      out->last = HistoryPlace();
    if (row.is_integer(PAWL_COLUMN(kFoundColumns, i.last_row)))
      out->last.row = row.integer(PAWL_COLUMN(kFoundColumns, i.last_row));
    has_message = row.integer(PAWL_COLUMN(kFoundColumns, has_message)) != 0;
    out->ready = row.integer(PAWL_COLUMN(kFoundColumns, is_idle)) == 0;
    out->home = row.integer(PAWL_COLUMN(kFoundColumns, i.home));
    out->clean = row.integer(PAWL_COLUMN(kFoundColumns, is_clean)) != 0;
    out->terminating = row.integer(PAWL_COLUMN(kFoundColumns, is_terminating)) != 0;
    out->has_keys = row.integer(PAWL_COLUMN(kFoundColumns, has_keys)) != 0;
    read_timer(row,
               {PAWL_COLUMN(kFoundColumns, i.timer_id), PAWL_COLUMN(kFoundColumns, i.timer_ref),
                PAWL_COLUMN(kFoundColumns, i.timer_base), PAWL_COLUMN(kFoundColumns, i.timer_due)},
               &out->timer);
  }
  // An instance that is not ready has no message that no turn has read.
  if (!how.read_up_to.has_value() || !has_message) return Status::kOk;
  Statement news = connection_.use(kFindNews);
  out->has_news = news.bind(key).bind(*how.read_up_to).row();
  return fail(news.status(), "find news");
}

bool read_timer(const Statement& row, const TimerColumns& at, std::optional<RowTimer>* out) {
  if (row.is_null(at.id)) return row.is_null(at.due);
  RowTimer timer;
  bool whole = !row.is_null(at.base) && !row.is_null(at.due);
  timer.id = row.integer(at.id, &whole);
  const std::int64_t ref = row.integer(at.ref, &whole);
  const std::int64_t base = row.integer(at.base, &whole);
  timer.due = row.integer(at.due, &whole);
  if (!whole || !fits(ref, &timer.ref) || timer.ref == 0 || base < 0 || base > 1) return false;
  timer.base = static_cast<TimeBase>(base);
  *out = timer;
  return true;
}

constexpr auto kWriteTimer = PAWL_QUERY(
    "UPDATE instances SET timer_id=?2,timer_ref=?3,timer_base=?4,timer_due=?5,timer_seg=?6 "
    "WHERE key=?1",
    kTimerMoves | sql::kOfTurn);

Status InstanceRows::write_timer(InstanceKey key, const std::optional<RowTimer>& timer) {
  Statement row = connection_.use(kWriteTimer);
  row.bind(key);
  if (timer.has_value()) {
    row.bind(timer->id).bind(timer->ref).bind(static_cast<std::int64_t>(timer->base));
    row.bind_due(timer->due, kTimerComes).bind(batch_.segment);
  } else {
    row.bind_null().bind_null().bind_null().bind_null().bind_null();
  }
  return fail_written(row.run(), "write a timer");
}

constexpr auto kWriteState = PAWL_QUERY(
    "UPDATE instances SET state=?2,parked_until=?3,finished_at=?4,home=coalesce(?5,home),"
    "ready_id=iif(?6,NULL,ready_id),ready_at=iif(?6,NULL,coalesce(?7,ready_at)),"
    "stop_kind=iif(?8,stop_kind,?9),stop_text=iif(?8,stop_text,?10),unregistered=iif(?11,"
    "unregistered,iif(?19 IS NULL,NULL,1)),needs_messages=coalesce(?19,needs_messages),"
    "needs_bytes=coalesce(?20,needs_bytes),"
    "crashes=iif(?12,0,crashes),strikes=iif(?12,0,strikes+?13),reboots=iif(?12,0,reboots),"
    "updated_stamp=coalesce(?14,updated_stamp),revision=revision+?15,"
    "version=iif(?16='',version,?16),behaviour=iif(?17=0,behaviour,?17),"
    "last_event=coalesce(?18,last_event),last_row=coalesce(?21,last_row),"
    "limit_due=iif(?6,NULL,limit_due) WHERE key=?1",
    kParkedMoves | kTimerMoves | kLimitMoves);

Status InstanceRows::write_state(InstanceKey key, const InstanceWrite& write) {
  Statement row = connection_.use(kWriteState, write.of_turn ? sql::kOfTurn : 0);
  row.bind(key).bind(static_cast<std::int64_t>(write.state));
  row.bind_due(write.parked_until, kParkedComes).bind_optional(write.ended_at);
  write.home.has_value() ? row.bind(*write.home) : row.bind_null();
  row.bind(write.leaves_queue ? 1 : 0).bind_optional(write.ready_at);
  row.bind(write.keeps_why ? 1 : 0).bind_or_null(static_cast<std::int64_t>(write.why));
  row.bind_text_or_null(write.text).bind(write.keeps_unregistered ? 1 : 0);
  row.bind(write.forgives ? 1 : 0).bind(write.strikes);
  write.stamps ? row.bind(batch_.stamp_ms) : row.bind_null();
  row.bind(write.revisions).bind_text(write.version).bind(write.behaviour);
  row.bind_or_null(write.last.event);
  if (write.needs.has_value()) {
    row.bind(write.needs->messages).bind(write.needs->bytes);
  } else {
    row.bind_null().bind_null();
  }
  row.bind_or_null(write.last.row);
  // While the instance was parked, none of its timers counted.
  if (write.state == InstanceState::kRunning && !write.parked_until.has_value())
    connection_.add_marks(kTimerComes);
  return fail(row.run(), "change an instance");
}

constexpr auto kIsStateWhole = PAWL_QUERY(
    "SELECT \ftypeof(state)='integer'\r AND (\ftypeof(finished_at)='integer'\r OR finished_at IS "
    "NULL) FROM instances "
    "WHERE key=?1");
constexpr auto kMend = PAWL_QUERY(
    "UPDATE instances SET parked_until=?2,stop_kind=?3,stop_text=?4,home=0,"
    "ready_at=?5,updated_stamp=?6,unregistered=NULL,"
    "ready_id=iif(\ftypeof(ready_id)='integer'\r,ready_id,NULL),"
    "execution=iif(\ftypeof(execution)='integer'\r,execution,0),"
    "revision=iif(\ftypeof(revision)='integer'\r,revision,0)+1,"
    "crashes=iif(\ftypeof(crashes)='integer'\r,crashes,0),"
    "strikes=iif(\ftypeof(strikes)='integer'\r,strikes,0),"
    "reboots=iif(\ftypeof(reboots)='integer'\r,reboots,0),"
    "root=iif(\ftypeof(root)='integer'\r,root,NULL),"
    "parent=iif(\ftypeof(parent)='integer'\r,parent,NULL),"
    "behaviour=iif(\ftypeof(behaviour)='integer'\r,behaviour,0),needs_messages=0,needs_bytes=0,"
    "last_event=iif(\ftypeof(last_event)='integer'\r,last_event,0),"
    "last_row=iif(\ftypeof(last_row)='integer'\r,last_row,NULL),"
    "limit_due=iif(\ftypeof(limit_due)='integer'\r,limit_due,NULL),"
    "timer_due=iif(\ftypeof(timer_due)='integer'\r AND \ftypeof(timer_id)='integer'\r AND "
    "timer_base IN (0,1),timer_due,NULL) "
    "WHERE key=?1",
    kParkedComes | kTimerMoves | kLimitMoves);

// The damaged columns are written first: otherwise a large text in them would be copied with the
// row, for which SQLite's memory may not suffice.
Status InstanceRows::stop_damaged(InstanceKey key, ErrorKind kind, std::string_view text) {
  bool is_whole = true;
  {
    Statement read = connection_.use(kIsStateWhole);
    if (!read.bind(key).row()) return no_row(read, Status::kNotFound, "instances");
    is_whole = read.integer(0) != 0;
  }
  InstanceWrite stopped;
  stopped.state = InstanceState::kStopped;
  stopped.parked_until = kNever;
  stopped.keeps_why = true;
  if (!is_whole) PAWL_TRY(write_state(key, stopped));
  {
    Statement mend = connection_.use(kMend);
    mend.bind(key).bind(kNever).bind(static_cast<std::int64_t>(kind));
    mend.bind_text(text).bind(batch_.now).bind(batch_.stamp_ms);
    PAWL_TRY(fail(mend.run(), "stop a damaged instance"));
  }
  return is_whole ? write_state(key, stopped) : Status::kOk;
}

constexpr auto kIdOf = PAWL_QUERY("SELECT id FROM instances WHERE key=?1");

void InstanceRows::log_damage(RowRef row, InstanceKey instance, std::string_view text) {
  if (context_.sink == nullptr) return;
  FixedText<kNameBytesMax> id;
  Statement read = connection_.use(kIdOf);
  if (read.bind(instance).row()) id.assign_cut(read.bytes(0));
  context_.sink->on_damage(row, id.view(), text);
}

constexpr auto kFindState =
    PAWL_QUERY("SELECT state,ready_id IS NOT NULL FROM instances WHERE key=?");
constexpr auto kMakeReady = PAWL_QUERY("UPDATE instances SET ready_id=?2,ready_at=?3 WHERE key=?1");

Status InstanceRows::insert_message(InstanceKey instance, const Message& message) {
  const Suspicion suspect(connection_, RowRef::Table::kInstances, instance);
  bool was_ready = false;
  {
    Statement row = connection_.use(kFindState);
    if (!row.bind(instance).row()) return no_row(row, Status::kNotFound, "instances");
    if (has_ended(row.integer(0))) return Status::kStale;
    was_ready = row.integer(1) != 0;
  }
  MessageId id = 0;
  PAWL_TRY(store_message(instance, message, nullptr, Waiting::kNo, &id));
  context_.batch_sent = true;
  if (was_ready) return Status::kOk;
  // The revision stays. It belongs to the history, and a turn that did not see this message is
  // still right.
  return fail_written(connection_.use(kMakeReady).bind(instance).bind(id).bind(batch_.now).run(),
                      "make ready");
}

constexpr auto kInsertMessage = PAWL_QUERY(
    "INSERT INTO "
    "orchestrator_queue(id,waiting,instance,execution,kind,error,ref,base,due,seg,name,"
    "payload,crc) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");

// `timer`: when the message is due, and in which time; null: ready now.
Status InstanceRows::store_message(InstanceKey instance, const Message& message, const Due* timer,
                                   Waiting waiting, MessageId* id) {
  Statement insert = connection_.use(kInsertMessage);
  // The id comes from the counter of tokens, whose row is written ahead; AUTOINCREMENT would touch
  // one more page.
  const MessageId stored = message.id == 0 ? context_.next_token() : message.id;
  if (id != nullptr) *id = stored;
  insert.bind(stored)
      .bind(static_cast<std::int64_t>(waiting))
      .bind(instance)
      .bind(message.execution)
      .bind(static_cast<std::int64_t>(message.kind))
      .bind(static_cast<std::int64_t>(message.error))
      .bind(message.ref);
  ++context_.messages_stored;
  if (timer != nullptr) {
    insert.bind(static_cast<std::int64_t>(timer->base));
    insert.bind_due(timer->due, kTimerComes).bind(batch_.segment);
  } else {
    insert.bind_null().bind_null().bind_null();
  }
  insert.bind_text_or_null(message.name).bind_blob_or_null(message.payload);
  return fail_written(insert.bind(message_crc(instance, message)).run(), "insert message");
}

constexpr auto kNextExecution = PAWL_QUERY(
    "UPDATE instances SET "
    "execution=?2,last_event=0,last_row=NULL,behaviour=0,version=iif(?3,?4,version),"
    "found_status=iif(?3,custom_status,found_status),name=coalesce(?5,name),"
    "trace=iif(?5 IS NULL,trace,?6) WHERE key=?1");

constexpr auto kWriteLimit = PAWL_QUERY(
    "UPDATE instances SET time_limit=?2,limit_due=?3,limit_seg=?4 "
    "WHERE key=?1 AND (time_limit IS NULL OR ?5<>0)",
    kLimitMoves);

Status InstanceRows::write_time_limit(InstanceKey key, const TimeLimit& limit) {
  Statement row = connection_.use(kWriteLimit);
  OptionalMs due;
  if (limit.limit_ms.value_or(0) > 0)
    due = make_due(make_due(batch_.now, limit.after_ms), limit.limit_ms.value());
  row.bind(key).bind_optional(limit.limit_ms).bind_due(due, kLimitComes);
  row.bind(batch_.segment).bind(limit.is_of_definition ? 0 : 1);
  return fail(row.run(), "write a time limit");
}

constexpr auto kReadAgain =
    PAWL_QUERY("UPDATE orchestrator_queue SET waiting=", sql::number<Waiting::kNo>,
               " WHERE instance=?1 AND waiting=", sql::number<Waiting::kUnread>);

Status InstanceRows::begin_execution(InstanceKey instance, const NextBegin& next) {
  InstanceWrite write;
  write.home = 0;
  write.ready_at = batch_.now;
  write.parked_until = next.parked_until;
  write.forgives = true;
  write.stamps = true;
  write.revisions = 1;
  PAWL_TRY(write_state(instance, write));
  PAWL_TRY(fail(connection_.use(kReadAgain).bind(instance).run(), "give unread messages"));
  Statement begin = connection_.use(kNextExecution);
  begin.bind(instance).bind(next.start.execution).bind(next.anew ? 1 : 0).bind_text(next.version);
  begin.bind_text_or_null(next.name).bind_text_or_null(next.trace);
  PAWL_TRY(fail(begin.run(), "begin an execution"));
  return insert_message(instance, next.start);
}

}  // namespace pawl::store
