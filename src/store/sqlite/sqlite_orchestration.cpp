// A turn's way out of the database and back: the item with its messages, the history, the commit.
//
// Order of messages: the start of an execution; then those that wait on since an earlier turn, by id; then
// new ones by id, which is the order of their commits; then due timers by (due in Pawl time, id). So a result that was there before a look wins over
// a timeout that the same look finds due.
#include <cstring>
#include <limits>

#include "check.hpp"
#include "sqlite_provider.hpp"

namespace pawl::store {
namespace {

constexpr std::string_view kEmptyMeta = "{}";
// Of executions and revisions; one more is a number, too.
constexpr std::int64_t kNumbersMax = std::int64_t{1} << 53;
constexpr EventId kEveryEvent = std::numeric_limits<EventId>::max();

bool is_known(EventKind kind) { return std::string_view(event_kind_name(kind)) != "unknown"; }
bool is_known(MessageKind kind) { return std::string_view(message_kind_name(kind)) != "unknown"; }

// False: no number of this type, whatever the checksum says of the rest.
template <typename T>
bool fits(std::int64_t number, T* out) {
  *out = static_cast<T>(number);
  return number >= 0 &&
         number <= static_cast<std::int64_t>(std::numeric_limits<std::uint32_t>::max()) &&
         static_cast<std::int64_t>(*out) == number;
}
bool fits_count(std::int64_t number, std::int32_t* out) {
  constexpr std::int64_t kCountMax = std::int64_t{1} << 30;  // one more is a number, too
  *out = number >= 0 && number <= kCountMax ? static_cast<std::int32_t>(number) : 0;
  return *out == number;
}
template <>
bool fits(std::int64_t number, EventKind* out) {
  *out = static_cast<EventKind>(number);
  return static_cast<std::int64_t>(*out) == number && is_known(*out);
}
template <>
bool fits(std::int64_t number, MessageKind* out) {
  *out = static_cast<MessageKind>(number);
  return static_cast<std::int64_t>(*out) == number && is_known(*out);
}
template <>
bool fits(std::int64_t number, ErrorKind* out) {
  *out = static_cast<ErrorKind>(number);
  return static_cast<std::int64_t>(*out) == number;
}

// Columns of every query for messages, in this order.
#define PAWL_MESSAGE_COLUMNS "id,kind,error,execution,ref,name,payload,crc"

bool decode(const Statement& row, InstanceKey instance, Message* message) {
  message->id = row.integer(0);
  message->execution = row.integer(3);
  message->name = row.bytes(5);
  message->payload = row.bytes(6);
  return fits(row.integer(1), &message->kind) && fits(row.integer(2), &message->error) &&
         fits(row.integer(4), &message->ref) && row.integer(7) == message_crc(instance, *message);
}

}  // namespace

// ---- fetch --------------------------------------------------------------------------------------

// Copies messages out of rows into the arena.
class SqliteProvider::MessageReader {
 public:
  MessageReader(Arena& arena, std::size_t messages_max, OrchestrationItem* item)
      : arena_(arena), max_(messages_max), item_(item) {}

  Status start() {
    item_->messages = arena_.array<Message>(max_ + item_->waiting_count);
    item_->more_messages = item_->messages == nullptr;
    return item_->more_messages ? Status::kResourceExhausted : Status::kOk;
  }
  // False: no more rows are wanted.
  bool take(const Statement& row) {
    if (row.integer(0) == first_) return true;
    if (item_->message_count == max_ + item_->waiting_count) return cut();
    // The turn needs memory too; but one message it must get.
    if (other_count_ > 0 && arena_.capacity() - arena_.used() < arena_.capacity() / 2) return cut();
    ++other_count_;
    return add(row);
  }
  // One that waits on: never left out.
  bool take_waiting(const Statement& row) {
    if (!add(row)) return false;
    const MessageKind kind = item_->messages[item_->message_count - 1].kind;
    if (kind == MessageKind::kEvent || kind == MessageKind::kQueue) return true;
    broken(row.integer(0), ": what it holds cannot wait");
    return false;
  }
  void broken(MessageId id, std::string_view what) {
    item_->broken = Status::kCorrupt;
    item_->broken_text.clear();
    append("orchestrator_queue row ");
    static_cast<void>(item_->broken_text.append_number(id));
    append(" of instance '");
    append(item_->id.view());
    append("'");
    append(what);
  }
  // The first row read is not read again by the query for the others.
  void note_first(MessageId id) { first_ = id; }
  [[nodiscard]] bool wants_more() const {
    return item_->broken == Status::kOk && !item_->more_messages;
  }

 private:
  bool add(const Statement& row) {
    Message message;
    if (!decode(row, item_->key, &message)) {
      broken(row.integer(0), ": checksum or form is wrong");
      return false;
    }
    if (!copy(&message.name) || !copy(&message.payload)) return cut();
    item_->messages[item_->message_count++] = message;
    return true;
  }
  void append(std::string_view text) { static_cast<void>(item_->broken_text.append(text)); }
  bool cut() {
    item_->more_messages = true;
    return false;
  }
  // Looks before it asks: an arena that refused once says so for ever.
  bool copy(std::string_view* text) {
    if (text->empty()) return true;
    if (arena_.capacity() - arena_.used() < text->size()) return false;
    char* const bytes = arena_.buffer(text->size());
    if (bytes == nullptr) return false;
    std::memcpy(bytes, text->data(), text->size());
    *text = {bytes, text->size()};
    return true;
  }

  Arena& arena_;
  std::size_t max_;
  OrchestrationItem* item_;
  std::optional<MessageId> first_;
  std::size_t other_count_ = 0;  // than those that wait on
};

Status SqliteProvider::fetch_orchestration_item(InstanceKey key, std::int64_t now,
                                                std::size_t messages_max, Arena& arena,
                                                OrchestrationItem* out) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  *out = OrchestrationItem();
  const Suspicion suspect(connection_, RowRef::Table::kInstances, key);
  PAWL_TRY(read_item_row(key, out));
  if (out->broken != Status::kOk) return Status::kOk;
  if (out->terminate) return read_last_stored_event(out);
  MessageReader reader(arena, messages_max, out);
  PAWL_TRY(reader.start());
  if (out->last_event == 0) PAWL_TRY(read_first_message(reader, *out));
  if (reader.wants_more() && out->waiting_count > 0) PAWL_TRY(read_waiting_messages(reader, *out));
  // Without those that wait the others might be given the wrong wait.
  if (out->more_messages) return Status::kResourceExhausted;
  std::int64_t first_due = kNever;
  if (reader.wants_more()) PAWL_TRY(read_ready_messages(reader, key, &first_due));
  if (reader.wants_more()) PAWL_TRY(read_due_messages(reader, key, now, first_due));
  const bool none_fits =
      out->message_count == out->waiting_count && out->more_messages && messages_max > 0;
  return none_fits ? Status::kResourceExhausted : Status::kOk;
}

constexpr sql::Query kReadItem{
    "SELECT i.id,i.name,i.version,i.state,i.parked_until,i.execution,i.revision,i.crashes,"
    "i.strikes,i.reboots,e.last_event,i.stop_kind,i.stop_text,i.parent IS NOT NULL,"
    "(SELECT count(*) FROM orchestrator_queue INDEXED BY oq_instance "
    "WHERE instance=i.key AND waiting>0),i.behaviour,i.ready_id IS NOT NULL," PAWL_IS_THERE
    " FROM instances AS i LEFT JOIN executions AS e "
    "ON e.instance=i.key AND e.execution=i.execution WHERE i.key=?"};

Status SqliteProvider::read_item_row(InstanceKey key, OrchestrationItem* out) {
  const Suspicion suspect(connection_, RowRef::Table::kInstances, key);
  Statement row = connection_.use(kReadItem);
  if (!row.bind(key).row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "instances");
  // Nobody knows of one whose root is no row whether its tree was deleted.
  const bool has_root = !row.is_null(17);
  if (has_root && row.integer(17) == 0) return Status::kNotFound;
  bool whole = has_root;
  const auto number = [&](int column) { return row.integer(column, &whole); };
  const std::int64_t state = number(3);
  // Ended, stopped or parked since it was listed.
  if (!row.is_null(4)) return Status::kNotFound;
  if (state != 0 && number(16) == 0) return Status::kNotFound;
  out->key = key;
  out->execution = number(5);
  out->revision = number(6);
  whole = fits_count(number(7), &out->crashes) && whole;
  whole = fits_count(number(8), &out->strikes) && whole;
  whole = fits_count(number(9), &out->reboots) && whole;
  bool has_reason = true;
  out->terminate =
      row.integer(11, &has_reason) == static_cast<std::int64_t>(ErrorKind::kTerminated);
  out->waiting_count = static_cast<std::size_t>(number(14));
  out->has_parent = number(13) != 0;
  out->behaviour = number(15);
  whole = fits(number(10), &out->last_event) && whole;
  out->id.assign_cut(row.bytes(0));
  out->name.assign_cut(row.bytes(1));
  out->version.assign_cut(row.bytes(2));
  if (out->terminate && state == 0) {
    out->broken_text.assign_cut(row.bytes(12));
    return Status::kOk;
  }
  // One that is ready runs, in some execution, under names that Registry could know.
  whole = whole && state == 0 && out->execution >= 1 && out->revision >= 0 &&
          out->revision < kNumbersMax && out->execution < kNumbersMax &&
          out->id.view().size() == row.bytes(0).size() &&
          out->name.view().size() == row.bytes(1).size() &&
          out->version.view().size() == row.bytes(2).size();
  if (whole) return Status::kOk;
  out->broken = Status::kCorrupt;
  out->broken_text.assign_cut("instances row ");
  PAWL_TRY(out->broken_text.append_number(key));
  return out->broken_text.append(": a column has a type or value that it cannot have");
}

constexpr sql::Query kLastStored{
    "SELECT coalesce(max(id),0) FROM history WHERE instance=?1 AND execution=?2"};

// Behind whatever history there is: what the row of its execution says may be what is damaged.
Status SqliteProvider::read_last_stored_event(OrchestrationItem* out) {
  Statement row = connection_.use(kLastStored);
  if (!row.bind(out->key).bind(out->execution).row()) return fail(row.status(), "history");
  bool whole = true;
  static_cast<void>(fits(row.integer(0, &whole), &out->last_event));
  return Status::kOk;
}

constexpr sql::Query kFirstMessage{
    "SELECT " PAWL_MESSAGE_COLUMNS
    " FROM orchestrator_queue INDEXED BY oq_instance "
    "WHERE instance=? AND waiting=0 AND due IS NULL AND kind IN (1,2) ORDER BY id LIMIT 1"};

// What was kept from the execution before is older than the start of this one.
Status SqliteProvider::read_first_message(MessageReader& reader, const OrchestrationItem& item) {
  Statement first = connection_.use(kFirstMessage);
  if (first.bind(item.key).row() && reader.take(first)) reader.note_first(first.integer(0));
  return fail(first.status(), "read first message");
}

constexpr sql::Query kWaitingMessages{"SELECT " PAWL_MESSAGE_COLUMNS
                                      " FROM orchestrator_queue INDEXED BY oq_instance "
                                      "WHERE instance=? AND waiting=1 AND due IS NULL ORDER BY id"};

Status SqliteProvider::read_waiting_messages(MessageReader& reader, const OrchestrationItem& item) {
  Statement row = connection_.use(kWaitingMessages);
  row.bind(item.key);
  std::size_t count = 0;
  while (row.row() && reader.take_waiting(row))
    ++count;
  // The others are timers, or were found damaged before.
  if (count < item.waiting_count && reader.wants_more())
    reader.broken(0, ": its messages that wait are not all messages that can");
  return fail(row.status(), "read waiting messages");
}

constexpr sql::Query kReadyMessages{"SELECT " PAWL_MESSAGE_COLUMNS
                                    ",due,base FROM orchestrator_queue INDEXED BY "
                                    "oq_instance WHERE instance=? AND waiting=0 "
                                    "ORDER BY due,id"};

// Behind them in the index stand the timers, the first one first: so it is known whether any is due.
Status SqliteProvider::read_ready_messages(MessageReader& reader, InstanceKey key,
                                           std::int64_t* first_due) {
  constexpr int kDueColumn = 8;  // behind those of messages
  Statement row = connection_.use(kReadyMessages);
  row.bind(key);
  while (row.row()) {
    if (!row.is_null(kDueColumn)) {
      bool whole = !row.is_null(kDueColumn + 1);
      *first_due = row.integer(kDueColumn, &whole);
      const std::int64_t base = row.integer(kDueColumn + 1, &whole);
      if (!whole || base < 0 || base > 1) reader.broken(row.integer(0), ": it has no due time");
      break;
    }
    if (!reader.take(row)) break;
  }
  return fail(row.status(), "read messages");
}

constexpr sql::Query kDueMessages{
    "SELECT " PAWL_MESSAGE_COLUMNS
    " FROM orchestrator_queue INDEXED BY oq_instance "
    "WHERE instance=?1 AND waiting=0 AND due IS NOT NULL AND due<=max(?2,?3) "
    "AND due<=CASE base WHEN 0 THEN ?2 WHEN 1 THEN ?3 END "
    "ORDER BY iif(base=0,due,due-?4),id"};

Status SqliteProvider::read_due_messages(MessageReader& reader, InstanceKey key, std::int64_t now,
                                         std::int64_t first_due) {
  constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();
  const std::int64_t utc =
      context_.clock.off_known ? add_saturating(now, context_.clock.off) : kNothing;
  if (first_due > now && first_due > utc) return Status::kOk;
  Statement row = connection_.use(kDueMessages);
  row.bind(key).bind(now).bind(utc).bind(context_.clock.off_known ? context_.clock.off : 0);
  while (row.row() && reader.take(row)) {
  }
  return fail(row.status(), "read due messages");
}

// ---- history ------------------------------------------------------------------------------------

Status SqliteProvider::broken_event(InstanceKey key, ExecutionId execution, std::int64_t event,
                                    const char* what) {
  context_.diagnostic.format("history of instance %lld, execution %lld, event %lld: %s",
                             static_cast<long long>(key), static_cast<long long>(execution),
                             static_cast<long long>(event), what);
  if (context_.in_batch) context_.dead = true;
  return Status::kCorrupt;
}

// Columns of every query for events, in this order.
#define PAWL_EVENT_COLUMNS "id,kind,branch,ordinal,ref,time,meta,payload,crc"

// The views end with the row, and those of the meta with the next call.
Status SqliteProvider::read_event(const Statement& row, InstanceKey key, ExecutionId execution,
                                  Event* event) {
  *event = Event();
  event->time_ms = row.integer(5);
  event->payload = row.bytes(7);
  const std::string_view meta = row.bytes(6);
  const bool whole = fits(row.integer(0), &event->id) && fits(row.integer(1), &event->kind) &&
                     fits(row.integer(2), &event->branch) &&
                     fits(row.integer(3), &event->ordinal) && fits(row.integer(4), &event->ref);
  if (!whole || row.integer(8) != event_crc(key, execution, *event, meta))
    return broken_event(key, execution, row.integer(0), "checksum or form is wrong");
  const JsonMemory memory(context_.json_memory, sizeof(context_.json_memory));
  const Status status = decode_meta(meta.empty() ? kEmptyMeta : meta, event, context_.meta_text,
                                    sizeof(context_.meta_text));
  if (status == Status::kOk) return status;
  return broken_event(key, execution, event->id, "its meta cannot be read");
}

constexpr sql::Query kLastEvent{
    "SELECT last_event FROM executions WHERE instance=? AND execution=?"};

Status SqliteProvider::last_event_of(InstanceKey key, ExecutionId execution, std::int64_t* out) {
  Statement row = connection_.use(kLastEvent);
  *out = row.bind(key).bind(execution).row() ? row.integer(0) : 0;
  return fail(row.status(), "executions");
}

constexpr sql::Query kReadHistory{"SELECT " PAWL_EVENT_COLUMNS
                                  " FROM history WHERE instance=? AND execution=? "
                                  "AND id>? ORDER BY id"};

Status SqliteProvider::load_history(InstanceKey key, ExecutionId execution, EventId after,
                                    EventSink& sink) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  std::int64_t last = 0;
  PAWL_TRY(last_event_of(key, execution, &last));
  Statement row = connection_.use(kReadHistory);
  row.bind(key).bind(execution).bind(after);
  std::int64_t expected = std::int64_t{after} + 1;
  for (; row.row(); ++expected) {
    Event event;
    PAWL_TRY(read_event(row, key, execution, &event));
    if (event.id != expected) return broken_event(key, execution, expected, "is missing");
    PAWL_TRY(sink.on_event(event));
  }
  PAWL_TRY(fail(row.status(), "history"));
  if (expected <= last) return broken_event(key, execution, expected, "is missing");
  if (expected > last + 1) return broken_event(key, execution, last + 1, "is one too many");
  return Status::kOk;
}

constexpr sql::Query kReadEvent{"SELECT " PAWL_EVENT_COLUMNS
                                " FROM history WHERE instance=? AND execution=? "
                                "AND id<=? ORDER BY id DESC"};

// What an ended instance answers is in the end event of its last execution; behind that there are only
// returns.
Status SqliteProvider::read_end(InstanceStatus* out, char* buffer, std::size_t capacity) {
  std::int64_t last = 0;
  PAWL_TRY(last_event_of(out->key, out->execution, &last));
  Statement row = connection_.use(kReadEvent);
  row.bind(out->key).bind(out->execution).bind(last);
  Event event;
  for (std::int64_t expected = last; event.kind != EventKind::kEnded; --expected) {
    if (!row.row()) {
      PAWL_TRY(fail(row.status(), "history"));
      return broken_event(out->key, out->execution, expected, "is missing");
    }
    PAWL_TRY(read_event(row, out->key, out->execution, &event));
    if (event.id != expected) return broken_event(out->key, out->execution, expected, "is missing");
    if (event.kind != EventKind::kEnded && event.kind != EventKind::kReturn)
      return broken_event(out->key, out->execution, expected, "is not the end");
  }
  out->error = event.error;
  return copy_output(event.payload, out, buffer, capacity);
}

// ---- commit of a turn: look ---------------------------------------------------------------------

Status SqliteProvider::ack_orchestration_item(const TurnCommit& turn) {
  require_batch();
  const Suspicion suspect(connection_, RowRef::Table::kInstances, turn.key);
  InstanceRow row;
  PAWL_TRY(check_turn(turn, &row));
  return written(write_turn(turn, row));
}

// Nothing is written before all of this holds.
Status SqliteProvider::check_turn(const TurnCommit& turn, InstanceRow* found) {
  const Status read = instances_.read_instance(turn.key, found);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  const InstanceRow& row = *found;
  if (row.state != InstanceState::kRunning || row.revision != turn.revision ||
      row.execution != turn.execution)
    return Status::kStale;
  for (std::size_t i = 0; i < turn.message_count; ++i)
    PAWL_TRY(check_message(turn.key, turn.messages[i]));
  for (std::size_t i = 0; i < turn.done_count; ++i)
    PAWL_TRY(results_.check_done(turn.done[i], turn.key));
  const bool has_events = turn.first_new <= turn.last_new && turn.last_new != 0;
  // What an operator ends may lack the row of its execution.
  const bool is_terminated = turn.error == ErrorKind::kTerminated;
  if (!has_events || is_terminated || row.last_event + 1 == turn.first_new) return Status::kOk;
  // With this revision no other turn came between: the row is not what we wrote.
  connection_.diagnostic().format(
      "executions row of instance %lld, execution %lld: last event is %lld, not %lld",
      static_cast<long long>(turn.key), static_cast<long long>(turn.execution),
      static_cast<long long>(row.last_event), static_cast<long long>(turn.first_new) - 1);
  return fail(Status::kCorrupt, "check a turn");
}

constexpr sql::Query kFindMessage{
    "SELECT base,due FROM orchestrator_queue WHERE id=? AND instance=?"};

// A timer is due by the clock of this transaction, not by that of the look.
Status SqliteProvider::check_message(InstanceKey key, MessageId message) {
  Statement row = connection_.use(kFindMessage);
  if (!row.bind(message).bind(key).row())
    return row.status() == Status::kOk ? Status::kStale : fail(row.status(), "find message");
  if (row.is_null(1)) return Status::kOk;
  const auto base = static_cast<TimeBase>(row.integer(0));
  return due(base, row.integer(1), context_.clock, batch_.now) ? Status::kOk : Status::kStale;
}

// ---- commit of a turn: write --------------------------------------------------------------------

constexpr sql::Query kDeleteMessage{"DELETE FROM orchestrator_queue WHERE id=?"};

Status SqliteProvider::write_turn(const TurnCommit& turn, const InstanceRow& row) {
  const std::int64_t stored_before = context_.messages_stored;
  if (turn.message_count > 0) due_.moves(DueKind::kTimer);
  for (std::size_t i = 0; i < turn.message_count; ++i) {
    Statement statement = connection_.use(kDeleteMessage);
    PAWL_TRY(fail(statement.bind(turn.messages[i]).run(), "delete message"));
  }
  bool aborted = false;  // what was checked before may not be so any more
  for (std::size_t i = 0; i < turn.done_count; ++i) {
    PAWL_TRY(results_.take_work(turn.done[i], aborted));
    aborted = aborted || turn.done[i].abort_session;
  }
  PAWL_TRY(insert_events(turn));
  PAWL_TRY(write_custom_status(turn));
  for (std::size_t i = 0; i < turn.write_count; ++i)
    PAWL_TRY(write_value(turn, turn.events->event(turn.writes[i])));
  for (std::size_t i = 0; i < turn.start_count; ++i)
    PAWL_TRY(start_instance(turn, turn.starts[i]));
  PAWL_TRY(write_sessions_and_work(turn));
  if (turn.end != EndKind::kNone) return end_execution(turn);
  for (std::size_t i = 0; i < turn.timer_count; ++i)
    PAWL_TRY(insert_timer(turn, turn.timers[i]));
  for (std::size_t i = 0; i < turn.read_count; ++i)
    PAWL_TRY(answer_read(turn, turn.reads[i]));
  PAWL_TRY(write_mail(turn));
  // Last: what is asked for and closed in one turn leaves nothing.
  for (std::size_t i = 0; i < turn.closed_count; ++i)
    PAWL_TRY(close_command(turn, turn.closed[i]));
  // It was not ready, so no message waited for it, and none came since.
  const bool stays = !row.ready && !row.parked && row.clean && row.home == turn.home &&
                     turn.version.empty() && turn.behaviour == 0 && !turn.more &&
                     stored_before == context_.messages_stored;
  return stays ? go_on_as_before(turn) : go_on(turn, turn.execution);
}

// In the order of the commands: what is scheduled between an opening and a closing belongs to it.
Status SqliteProvider::write_sessions_and_work(const TurnCommit& turn) {
  const std::size_t works = turn.end == EndKind::kNone ? turn.work_count : 0;
  std::size_t work = 0;
  for (std::size_t i = 0; i < turn.session_count; ++i) {
    for (; work < works && turn.work[work].event < turn.sessions[i]; ++work)
      PAWL_TRY(schedule_.insert_work(turn.key, turn.execution, turn.work[work]));
    PAWL_TRY(opened_.write_session(turn, turn.events->event(turn.sessions[i])));
  }
  for (; work < works; ++work)
    PAWL_TRY(schedule_.insert_work(turn.key, turn.execution, turn.work[work]));
  return Status::kOk;
}

constexpr sql::Query kKeepMessage{
    "UPDATE orchestrator_queue SET waiting=1 WHERE id=? AND waiting=0"};

Status SqliteProvider::write_mail(const TurnCommit& turn) {
  for (std::size_t i = 0; i < turn.kept_count; ++i) {
    Statement keep = connection_.use(kKeepMessage);
    PAWL_TRY(fail(keep.bind(turn.kept[i]).run(), "keep message"));
  }
  for (std::size_t i = 0; i < turn.given_back_count; ++i)
    PAWL_TRY(messages_.store_message(turn.key, turn.given_back[i], nullptr, true));
  return Status::kOk;
}

constexpr sql::Query kLastEventIs{
    "UPDATE executions SET last_event=?3 WHERE instance=?1 AND execution=?2"};
constexpr sql::Query kWriteExecution{
    "INSERT INTO executions(instance,execution,end,last_event,started_stamp,ended_stamp) "
    "VALUES(?1,?2,?3,?4,?5,?6) ON CONFLICT(instance,execution) DO UPDATE "
    "SET end=excluded.end,last_event=excluded.last_event,ended_stamp=excluded.ended_stamp"};

Status SqliteProvider::insert_events(const TurnCommit& turn) {
  if (turn.first_new > turn.last_new || turn.last_new == 0) return Status::kOk;
  for (EventId id = turn.first_new; id <= turn.last_new; ++id) {
    const Event& event = turn.events->event(id);
    PAWL_CHECK("provider-30", event.id == id);
    PAWL_TRY(insert_event(turn, event));
  }
  const bool ends = turn.end != EndKind::kNone;
  if (turn.first_new > 1 && !ends) {
    Statement write = connection_.use(kLastEventIs);
    return fail(write.bind(turn.key).bind(turn.execution).bind(turn.last_new).run(),
                "write execution");
  }
  Statement write = connection_.use(kWriteExecution);
  write.bind(turn.key).bind(turn.execution).bind(static_cast<std::int64_t>(turn.end));
  write.bind(turn.last_new).bind(batch_.stamp_ms);
  if (ends) {
    write.bind(batch_.stamp_ms);
  } else {
    write.bind_null();
  }
  return fail(write.run(), "write execution");
}

constexpr sql::Query kInsertEvent{
    "INSERT INTO history(instance,execution,id,kind,branch,ordinal,ref,time,meta,payload,crc) "
    "VALUES(?,?,?,?,?,?,?,?,?,?,?)"};

Status SqliteProvider::insert_event(const TurnCommit& turn, const Event& event) {
  std::size_t size = 0;
  {
    const JsonMemory memory(context_.json_memory, sizeof(context_.json_memory));
    PAWL_TRY(fail(encode_meta(event, context_.meta_text, sizeof(context_.meta_text), &size),
                  "encode event"));
  }
  std::string_view meta(context_.meta_text, size);
  if (meta == kEmptyMeta) meta = {};
  Statement insert = connection_.use(kInsertEvent);
  insert.bind(turn.key).bind(turn.execution).bind(event.id);
  insert.bind(static_cast<std::int64_t>(event.kind));
  if (is_command(event.kind)) {
    insert.bind(event.branch).bind(event.ordinal);
  } else {
    insert.bind_or_null(event.branch).bind_or_null(event.ordinal);
  }
  insert.bind_or_null(event.ref).bind(event.time_ms).bind_text_or_null(meta);
  insert.bind_blob_or_null(event.payload);
  insert.bind(event_crc(turn.key, turn.execution, event, meta));
  return fail(insert.run(), "insert event");
}

constexpr sql::Query kWriteStatus{
    "UPDATE instances SET custom_status=?2,custom_status_version=custom_status_version+?3 "
    "WHERE key=?1"};

// In the row of the instance, so that it outlives the execution.
Status SqliteProvider::write_custom_status(const TurnCommit& turn) {
  if (turn.custom_status_changes == 0) return Status::kOk;
  Statement update = connection_.use(kWriteStatus);
  update.bind(turn.key).bind_blob_or_null(turn.custom_status);
  update.bind(static_cast<std::int64_t>(turn.custom_status_changes));
  return fail(update.run(), "write custom status");
}

Status SqliteProvider::insert_timer(const TurnCommit& turn, const NewTimer& timer) {
  Message fired;
  fired.kind = MessageKind::kTimerFired;
  fired.execution = turn.execution;
  fired.ref = timer.event;
  const bool is_utc = timer.base == TimerBase::kUtc;
  Due due;
  due.base = is_utc ? TimeBase::kUtc : TimeBase::kPawl;
  due.due = is_utc ? timer.delay_or_utc_ms : make_due(batch_.now, timer.delay_or_utc_ms);
  return messages_.store_message(turn.key, fired, &due);
}

constexpr sql::Query kDeleteTimer{
    "DELETE FROM orchestrator_queue WHERE instance=?1 AND waiting=0 "
    "AND due IS NOT NULL AND execution=?2 AND ref=?3"};

Status SqliteProvider::close_command(const TurnCommit& turn, EventId command) {
  due_.moves(DueKind::kTimer);
  PAWL_TRY(items_.cancel_work(turn.key, turn.execution, command));
  PAWL_TRY(cancel_children(turn.key, turn.execution, command, command,
                           "parent does not wait for it any more"));
  return fail(connection_.use(kDeleteTimer).bind(turn.key).bind(turn.execution).bind(command).run(),
              "delete timer");
}

constexpr sql::Query kFirstReady{
    "SELECT id FROM orchestrator_queue INDEXED BY oq_instance "
    "WHERE instance=? AND waiting=0 AND due IS NULL "
    "ORDER BY id LIMIT 1"};
constexpr sql::Query kHighestMessage{"SELECT coalesce(max(id),0)+1 FROM orchestrator_queue"};

Status SqliteProvider::first_ready(const TurnCommit& turn, std::int64_t* id) {
  {
    Statement row = connection_.use(kFirstReady);
    if (row.bind(turn.key).row()) {
      *id = row.integer(0);
      return Status::kOk;
    }
    PAWL_TRY(fail(row.status(), "find ready message"));
  }
  *id = -1;
  if (!turn.more) return Status::kOk;
  // Ready without a message: behind all that wait now.
  Statement row = connection_.use(kHighestMessage);
  if (row.row()) *id = row.integer(0);
  return fail(row.status(), "find last message");
}

constexpr sql::Query kGoOnAsBefore{
    "UPDATE instances SET revision=revision+1,updated_stamp=?2 WHERE key=?1"};

// The rest of the row, and all indexes of it, would be written as they are.
Status SqliteProvider::go_on_as_before(const TurnCommit& turn) {
  Statement update = connection_.use(kGoOnAsBefore);
  return fail(update.bind(turn.key).bind(batch_.stamp_ms).run(), "update instance");
}

constexpr sql::Query kGoOn{
    "UPDATE instances SET execution=?2,revision=revision+1,home=?3,ready_id=?4,ready_at=?5,"
    "parked_until=NULL,stop_kind=NULL,stop_text=NULL,crashes=0,strikes=0,reboots=0,"
    "updated_stamp=?6,version=iif(?7,?8,iif(?8='',version,?8)),aside=NULL,"
    "found_status=iif(?7,custom_status,found_status),"
    "behaviour=iif(?7,0,iif(?9=0,behaviour,?9)) WHERE key=?1"};

// What was counted against the turn is forgiven: it got through.
Status SqliteProvider::go_on(const TurnCommit& turn, ExecutionId execution) {
  due_.moves(DueKind::kTimer);  // they may have been another home's
  due_.moves(DueKind::kParked);
  std::int64_t ready = -1;
  PAWL_TRY(first_ready(turn, &ready));
  Statement update = connection_.use(kGoOn);
  update.bind(turn.key).bind(execution).bind(turn.home);
  if (ready >= 0) {
    update.bind(ready).bind(batch_.now);
  } else {
    update.bind_null().bind_null();
  }
  const bool is_next = execution != turn.execution;
  update.bind(batch_.stamp_ms).bind(is_next ? 1 : 0);
  update.bind_text(is_next ? turn.next_version : turn.version).bind(turn.behaviour);
  return fail(update.run(), "update instance");
}

constexpr sql::Query kDeleteMessages{"DELETE FROM orchestrator_queue WHERE instance=?"};
constexpr sql::Query kFinish{
    "UPDATE instances SET state=?2,revision=revision+1,home=?3,ready_id=NULL,"
    "ready_at=NULL,parked_until=NULL,stop_kind=NULL,stop_text=NULL,crashes=0,strikes=0,"
    "reboots=0,updated_stamp=?4,finished_at=?5,version=iif(?6='',version,?6),"
    "behaviour=iif(?7=0,behaviour,?7),aside=NULL WHERE key=?1"};

Status SqliteProvider::end_execution(const TurnCommit& turn) {
  due_.moves(DueKind::kTimer);
  due_.moves(DueKind::kParked);
  PAWL_TRY(items_.cancel_all_work(turn.key, turn.execution));
  PAWL_TRY(settle_values(turn.key, turn.execution));
  const bool ends = turn.end != EndKind::kContinuedAsNew;
  PAWL_TRY(cancel_children(turn.key, turn.execution, 1, kEveryEvent,
                           ends ? "parent ended" : "parent continued as new"));
  if (!ends) return continue_as_new(turn);
  PAWL_TRY(opened_.close_all_sessions(turn.key));
  PAWL_TRY(tell_parent(turn.key, turn.error, turn.output));
  PAWL_TRY(fail(connection_.use(kDeleteMessages).bind(turn.key).run(), "delete messages"));
  const bool completed = turn.end == EndKind::kCompleted;
  const InstanceState state = completed ? InstanceState::kCompleted : InstanceState::kFailed;
  return fail(connection_.use(kFinish)
                  .bind(turn.key)
                  .bind(static_cast<std::int64_t>(state))
                  .bind(turn.home)
                  .bind(batch_.stamp_ms)
                  .bind(batch_.now)
                  .bind_text(turn.version)
                  .bind(turn.behaviour)
                  .run(),
              "end instance");
}

constexpr sql::Query kDeleteCompletions{
    "DELETE FROM orchestrator_queue WHERE instance=?1 AND kind IN (3,4,8,9) AND "
    "execution<=?2"};

// Completions and timers belong to the execution that asked; a cancel request, raised events that came
// meanwhile and messages of queues to the instance.
Status SqliteProvider::continue_as_new(const TurnCommit& turn) {
  PAWL_TRY(fail(connection_.use(kDeleteCompletions).bind(turn.key).bind(turn.execution).run(),
                "delete completions"));
  PAWL_TRY(write_mail(turn));
  Message next;
  next.kind = MessageKind::kContinue;
  next.execution = turn.execution + 1;
  next.payload = turn.next_input;
  PAWL_TRY(messages_.store_message(turn.key, next, nullptr));
  PAWL_TRY(go_on(turn, turn.execution + 1));
  if (turn.keep_executions == 0) return Status::kOk;
  PruneLimits limits;
  limits.keep_last = turn.keep_executions;
  bool more = false;  // the rest goes with the next
  return prune_executions(turn.key, limits, kSweepEventsMax, turn.removed, &more);
}

}  // namespace pawl::store
