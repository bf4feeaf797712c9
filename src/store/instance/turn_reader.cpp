#include "store/instance/history.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "codec/event.hpp"
#include "core/check.hpp"
#include "core/clock_rules.hpp"
#include "store/column_fits.hpp"
#include "store/instance/rows.hpp"
#include "store/sql/damage.hpp"

namespace pawl::store {
namespace {

// The columns of every query for messages.
#define PAWL_MESSAGE_COLUMNS "id,kind,error,execution,ref,name,payload,crc"
constexpr auto kMessageColumns = sql::Columns(PAWL_MESSAGE_COLUMNS);

bool decode(const Statement& row, InstanceKey instance, Message* message) {
  message->id = row.integer(PAWL_COLUMN(kMessageColumns, id));
  message->execution = row.integer(PAWL_COLUMN(kMessageColumns, execution));
  message->name = row.bytes(PAWL_COLUMN(kMessageColumns, name));
  message->payload = row.bytes(PAWL_COLUMN(kMessageColumns, payload));
  return fits(row.integer(PAWL_COLUMN(kMessageColumns, kind)), &message->kind) &&
         fits(row.integer(PAWL_COLUMN(kMessageColumns, error)), &message->error) &&
         fits(row.integer(PAWL_COLUMN(kMessageColumns, ref)), &message->ref) &&
         row.integer(PAWL_COLUMN(kMessageColumns, crc)) == message_crc(instance, *message);
}

// Asks for the room first, because an arena that has refused once refuses for ever. False: no
// memory.
bool copy(Arena& arena, std::string_view* text) {
  if (text->empty()) return true;
  if (arena.capacity() - arena.used() < text->size()) return false;
  char* const bytes = arena.buffer(text->size());
  if (bytes == nullptr) return false;
  std::memcpy(bytes, text->data(), text->size());
  *text = {bytes, text->size()};
  return true;
}

}  // namespace

// Copies messages out of rows into the arena.
class InstanceHistory::MessageReader {
 public:
  MessageReader(Arena& arena, const MessageLimits& limits, OrchestrationItem* item)
      : arena_(arena), limits_(limits), item_(item) {}

  Status start() {
    // The messages that still wait take their part of mailbox_max.
    posted_room_ = limits_.mailbox_max - std::min(limits_.mailbox_max, item_->waiting_count);
    capacity_ = kBeginningMax + item_->waiting_count + posted_room_ + limits_.messages_max;
    item_->messages = arena_.array<Message>(capacity_);
    item_->more_messages = item_->messages == nullptr;
    return item_->more_messages ? Status::kResourceExhausted : Status::kOk;
  }
  // False: no more rows are wanted.
  bool take(const Statement& row) {
    const MessageId id = row.integer(PAWL_COLUMN(kMessageColumns, id));
    if (id == first_ || id == request_) return true;
    if (limits_.mailbox_max > 0 && is_of_mailbox(row)) {
      if (posted_room_ == 0) return cut();
      --posted_room_;
      return add(row);
    }
    return takes_other() ? add(row) : limits_.mailbox_max > 0;
  }
  // The same for a timer that is due in the row of the instance.
  bool take(const RowTimer& timer) {
    if (!takes_other()) return limits_.mailbox_max > 0;
    Message message;
    message.id = timer.id;
    message.kind = MessageKind::kTimerFired;
    message.execution = item_->execution;
    message.ref = timer.ref;
    return add(message);
  }
  // Takes a message that an execution begins with. It is never left out, so that the code finds a
  // request that was handed on to it, whatever the limits are.
  bool take_beginning(const Statement& row) {
    if (!add(row)) return false;
    ++item_->beginning_count;
    return true;
  }
  // Takes a message that still waits. It is never left out.
  bool take_waiting(const Statement& row) {
    if (!add(row)) return false;
    if (pawl::is_of_mailbox(last().kind)) return true;
    broken(row.integer(PAWL_COLUMN(kMessageColumns, id)), ": what it holds cannot wait");
    return false;
  }
  void broken(MessageId id, std::string_view what) {
    FixedText<kErrorTextBytesMax> text;
    const bool fits = text.append("orchestrator_queue row ") == Status::kOk &&
                      text.append_number(id) == Status::kOk &&
                      text.append(" of instance '") == Status::kOk &&
                      text.append(item_->id.view()) == Status::kOk &&
                      text.append("'") == Status::kOk && text.append(what) == Status::kOk;
    PAWL_CHECK("store-43", fits);
    std::string_view kept = text.view();
    if (!copy(arena_, &kept)) {
      item_->more_messages = true;  // the row is met again, when there is more memory
      return;
    }
    item_->broken = Status::kCorrupt;
    item_->broken_text = kept;
  }
  // The query for the other messages skips these rows, which were read first.
  void note_first(MessageId id) { first_ = id; }
  void note_request(MessageId id) { request_ = id; }
  [[nodiscard]] const Message& last() const { return item_->messages[item_->message_count - 1]; }
  [[nodiscard]] bool wants_more() const {
    return item_->broken == Status::kOk && !item_->more_messages;
  }
  static bool is_of_mailbox(const Statement& row) {
    MessageKind kind = MessageKind::kStart;
    return fits(row.integer(PAWL_COLUMN(kMessageColumns, kind)), &kind) &&
           pawl::is_of_mailbox(kind);
  }

 private:
  bool add(const Statement& row) {
    Message message;
    if (!decode(row, item_->key, &message)) {
      broken(row.integer(PAWL_COLUMN(kMessageColumns, id)), ": checksum or form is wrong");
      return false;
    }
    if (!copy(arena_, &message.name) || !copy(arena_, &message.payload)) return cut();
    return add(message);
  }
  bool add(const Message& message) {
    PAWL_CHECK("store-44", item_->message_count < capacity_);
    item_->messages[item_->message_count++] = message;
    return true;
  }
  // The turn needs memory too, but it must get at least one message.
  bool takes_other() {
    const bool leaves_too_little = arena_.capacity() - arena_.used() < arena_.capacity() / 2;
    if (other_count_ == limits_.messages_max || (other_count_ > 0 && leaves_too_little))
      return cut();
    ++other_count_;
    return true;
  }
  bool cut() {
    item_->more_messages = true;
    return false;
  }
  static constexpr std::size_t kBeginningMax = 2;  // a start, and a request that was handed on

  Arena& arena_;
  MessageLimits limits_;
  OrchestrationItem* item_;
  std::size_t capacity_ = 0;
  std::optional<MessageId> first_;
  std::optional<MessageId> request_;
  std::size_t posted_room_ = 0;  // for messages of the mailbox, if mailbox_max is set
  std::size_t other_count_ = 0;  // messages that may be left out
};

Status InstanceHistory::fetch_orchestration_item(InstanceKey key, std::int64_t now,
                                                 const MessageLimits& limits, Arena& arena,
                                                 OrchestrationItem* out) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  *out = OrchestrationItem();
  out->known.changes = connection_.instance_changes();
  const Suspicion suspect(connection_, RowRef::Table::kInstances, key);
  std::optional<RowTimer> timer;
  PAWL_TRY(read_item_row(key, arena, out, &timer));
  if (out->broken != Status::kOk) return Status::kOk;
  if (out->terminate) return read_last_stored_event(out);
  MessageReader reader(arena, limits, out);
  PAWL_TRY(reader.start());
  if (out->last_event == 0) PAWL_TRY(read_first_message(reader, *out));
  if (reader.wants_more() && out->waiting_count > 0) PAWL_TRY(read_waiting_messages(reader, *out));
  // Without the messages that wait, the others might be given to the wrong wait.
  if (out->more_messages) return Status::kResourceExhausted;
  std::int64_t first_due = kNever;
  if (reader.wants_more()) PAWL_TRY(read_ready_messages(reader, key, &first_due));
  out->known.is_alone = reader.wants_more() && out->waiting_count == 0 && first_due == kNever;
  out->known.timer = timer;
  if (reader.wants_more()) PAWL_TRY(read_due_messages(reader, *out, now, first_due, timer));
  const bool none_fits =
      out->message_count == out->waiting_count && out->more_messages && limits.messages_max > 0;
  return none_fits ? Status::kResourceExhausted : Status::kOk;
}

bool InstanceHistory::fetch_known_item(const KnownInstance& known, std::int64_t now, Arena& arena,
                                       OrchestrationItem* out) {
  out->known = known;
  out->last_event = known.last_event;
  if (!known.timer.has_value() || !due(known.timer->base, known.timer->due, context_.clock, now))
    return true;
  MessageReader reader(arena, {1, 0}, out);
  return reader.start() == Status::kOk && reader.take(*known.timer);
}

constexpr auto kReadItem = PAWL_QUERY(
    "SELECT i.id,i.name,i.version,i.state,i.parked_until,i.execution,i.revision,i.crashes,"
    "i.strikes,i.reboots,i.last_event,i.stop_kind,i.stop_text,i.parent IS NOT NULL AS has_parent,"
    "(SELECT count(*) FROM orchestrator_queue\fINDEXED BY oq_instance\r"
    "WHERE instance=i.key AND waiting>",
    sql::number<Waiting::kNo>,
    ") AS waiting_count,i.behaviour,i.ready_id IS NOT NULL AS is_ready," PAWL_IS_THERE
    " AS is_there,i.trace," PAWL_TIMER_COLUMNS " FROM instances AS i WHERE i.key=?");

Status InstanceHistory::read_item_row(InstanceKey key, Arena& arena, OrchestrationItem* out,
                                      std::optional<RowTimer>* timer) {
  const Suspicion suspect(connection_, RowRef::Table::kInstances, key);
  Statement row = connection_.use(kReadItem);
  if (!row.bind(key).row()) return no_row(row, Status::kNotFound, "instances");
  // If the root has no row, nothing says whether its tree was deleted.
  const bool has_root = !row.is_null(PAWL_COLUMN(kReadItem, is_there));
  if (has_root && row.integer(PAWL_COLUMN(kReadItem, is_there)) == 0) return Status::kNotFound;
  bool whole = has_root;
  const auto number = [&](int column) { return row.integer(column, &whole); };
  const std::int64_t state = number(PAWL_COLUMN(kReadItem, i.state));
  // The instance has ended, or was stopped or parked, since it was listed.
  if (!row.is_null(PAWL_COLUMN(kReadItem, i.parked_until))) return Status::kNotFound;
  if (state != 0 && number(PAWL_COLUMN(kReadItem, is_ready)) == 0) return Status::kNotFound;
  out->key = key;
  out->execution = number(PAWL_COLUMN(kReadItem, i.execution));
  out->revision = number(PAWL_COLUMN(kReadItem, i.revision));
  whole = fits_count(number(PAWL_COLUMN(kReadItem, i.crashes)), &out->crashes) && whole;
  whole = fits_count(number(PAWL_COLUMN(kReadItem, i.strikes)), &out->strikes) && whole;
  whole = fits_count(number(PAWL_COLUMN(kReadItem, i.reboots)), &out->reboots) && whole;
  bool has_reason = true;
  out->terminate = row.integer(PAWL_COLUMN(kReadItem, i.stop_kind), &has_reason) ==
                   static_cast<std::int64_t>(ErrorKind::kTerminated);
  out->waiting_count = static_cast<std::size_t>(number(PAWL_COLUMN(kReadItem, waiting_count)));
  out->known.has_parent = number(PAWL_COLUMN(kReadItem, has_parent)) != 0;
  out->behaviour = number(PAWL_COLUMN(kReadItem, i.behaviour));
  whole = fits(number(PAWL_COLUMN(kReadItem, i.last_event)), &out->last_event) && whole;
  out->id.assign_cut(row.bytes(PAWL_COLUMN(kReadItem, i.id)));
  out->name.assign_cut(row.bytes(PAWL_COLUMN(kReadItem, i.name)));
  out->version.assign_cut(row.bytes(PAWL_COLUMN(kReadItem, i.version)));
  // The trace is for logs only, so one that is too long stops nothing.
  out->trace.assign_cut(row.bytes(PAWL_COLUMN(kReadItem, i.trace)));
  if (out->terminate && state == 0) {
    out->broken_text = cut_text(row.bytes(PAWL_COLUMN(kReadItem, i.stop_text)), kErrorTextBytesMax);
    return copy(arena, &out->broken_text) ? Status::kOk : Status::kResourceExhausted;
  }
  whole = read_timer(row,
                     {PAWL_COLUMN(kReadItem, i.timer_id), PAWL_COLUMN(kReadItem, i.timer_ref),
                      PAWL_COLUMN(kReadItem, i.timer_base), PAWL_COLUMN(kReadItem, i.timer_due)},
                     timer) &&
          whole;
  // An instance that is ready runs, in some execution, under names that Registry could know.
  whole = whole && state == 0 && out->execution >= 1 && out->revision >= 0 &&
          out->revision < kNumbersMax && out->execution < kNumbersMax &&
          out->id.view().size() == row.bytes(PAWL_COLUMN(kReadItem, i.id)).size() &&
          out->name.view().size() == row.bytes(PAWL_COLUMN(kReadItem, i.name)).size() &&
          out->version.view().size() == row.bytes(PAWL_COLUMN(kReadItem, i.version)).size();
  if (whole) return Status::kOk;
  out->broken = Status::kCorrupt;
  FixedText<kErrorTextBytesMax> text;
  PAWL_TRY(text.append("instances row "));
  PAWL_TRY(text.append_number(key));
  PAWL_TRY(text.append(": a column has a type or value that it cannot have"));
  out->broken_text = text.view();
  return copy(arena, &out->broken_text) ? Status::kOk : Status::kResourceExhausted;
}

// The end of a terminated instance goes behind its last event. Its row may be damaged, so what the
// row says of that is checked, and then is the best that is known.
constexpr auto kLastStored = PAWL_QUERY(
    "SELECT h.id,i.last_event FROM instances AS i LEFT JOIN history AS h ON "
    "h.row_number=i.last_row AND h.instance=i.key AND h.execution=i.execution WHERE i.key=?1");

Status InstanceHistory::read_last_stored_event(OrchestrationItem* out) {
  Statement row = connection_.use(kLastStored);
  if (!row.bind(out->key).row()) return fail(row.status(), "history");
  bool whole = true;
  const int column = row.is_null(0) ? 1 : 0;
  if (!fits(row.integer(column, &whole), &out->last_event)) out->last_event = 0;
  return Status::kOk;
}

constexpr auto kFirstMessage = PAWL_QUERY(
    "SELECT " PAWL_MESSAGE_COLUMNS
    " FROM orchestrator_queue\fINDEXED BY oq_instance\r"
    "WHERE instance=? AND waiting=",
    sql::number<Waiting::kNo>, " AND due IS NULL AND (kind=", sql::number<MessageKind::kStart>,
    " OR kind=", sql::number<MessageKind::kContinue>,
    " OR kind=", sql::number<MessageKind::kRestart>, ") ORDER BY due NULLS FIRST,id LIMIT 1");

// Messages kept from the execution before are older than the start of this one, so the start is
// read first. Here and below SQLite would make a list of three kinds or more a table of 31 KB.
Status InstanceHistory::read_first_message(MessageReader& reader, const OrchestrationItem& item) {
  bool has_request = false;
  {
    Statement first = connection_.use(kFirstMessage);
    if (first.bind(item.key).row() && reader.take_beginning(first)) {
      reader.note_first(first.integer(PAWL_COLUMN(kFirstMessage, id)));
      has_request = reader.last().error == ErrorKind::kCancelled;
    }
    PAWL_TRY(fail(first.status(), "read first message"));
  }
  return has_request ? read_request(reader, item) : Status::kOk;
}

constexpr auto kRequest = PAWL_QUERY(
    "SELECT " PAWL_MESSAGE_COLUMNS
    " FROM orchestrator_queue\fINDEXED BY oq_instance\r"
    "WHERE instance=? AND waiting=",
    sql::number<Waiting::kNo>, " AND due IS NULL AND kind=", sql::number<MessageKind::kCancel>,
    " AND execution>0 ORDER BY due NULLS FIRST,id LIMIT 1");

// The execution before handed the request on. It comes right behind the start, so that the code
// begins with it.
Status InstanceHistory::read_request(MessageReader& reader, const OrchestrationItem& item) {
  Statement row = connection_.use(kRequest);
  if (row.bind(item.key).row() && reader.take_beginning(row))
    reader.note_request(row.integer(PAWL_COLUMN(kRequest, id)));
  return fail(row.status(), "read cancel request");
}

constexpr auto kWaitingMessages =
    PAWL_QUERY("SELECT " PAWL_MESSAGE_COLUMNS
               " FROM orchestrator_queue\fINDEXED BY oq_instance\r"
               "WHERE instance=? AND waiting=",
               sql::number<Waiting::kYes>, " AND due IS NULL ORDER BY due NULLS FIRST,id");

Status InstanceHistory::read_waiting_messages(MessageReader& reader,
                                              const OrchestrationItem& item) {
  Statement row = connection_.use(kWaitingMessages);
  row.bind(item.key);
  std::size_t count = 0;
  while (row.row() && reader.take_waiting(row))
    ++count;
  // The rows that the query leaves out are timers, or were found damaged before.
  if (count < item.waiting_count && reader.wants_more())
    reader.broken(0, ": its messages that wait are not all messages that can");
  return fail(row.status(), "read waiting messages");
}

constexpr auto kReadyMessages =
    PAWL_QUERY("SELECT " PAWL_MESSAGE_COLUMNS
               ",due,base FROM orchestrator_queue"
               "\fINDEXED BY oq_instance\rWHERE instance=? AND waiting=",
               sql::number<Waiting::kNo>, " ORDER BY due NULLS FIRST,id");

// Behind the ready messages the index has the timers, the earliest first. Reading one of them says
// whether any is due.
Status InstanceHistory::read_ready_messages(MessageReader& reader, InstanceKey key,
                                            std::int64_t* first_due) {
  Statement row = connection_.use(kReadyMessages);
  row.bind(key);
  while (row.row()) {
    if (!row.is_null(PAWL_COLUMN(kReadyMessages, due))) {
      bool whole = !row.is_null(PAWL_COLUMN(kReadyMessages, base));
      *first_due = row.integer(PAWL_COLUMN(kReadyMessages, due), &whole);
      const std::int64_t base = row.integer(PAWL_COLUMN(kReadyMessages, base), &whole);
      if (!whole || base < 0 || base > 1)
        reader.broken(row.integer(PAWL_COLUMN(kReadyMessages, id)), ": it has no due time");
      break;
    }
    if (!reader.take(row)) break;
  }
  return fail(row.status(), "read messages");
}

constexpr auto kDueMessages =
    PAWL_QUERY("SELECT " PAWL_MESSAGE_COLUMNS ",iif(base=", sql::number<TimeBase::kPawl>,
               ",due,due-?4) AS at FROM orchestrator_queue\fINDEXED BY oq_instance\r"
               "WHERE instance=?1 AND waiting=",
               sql::number<Waiting::kNo>,
               " AND due IS NOT NULL AND due<=max(?2,?3) "
               "AND due<=CASE base WHEN ",
               sql::number<TimeBase::kPawl>, " THEN ?2 WHEN ", sql::number<TimeBase::kUtc>,
               " THEN ?3 END "
               "ORDER BY at,id");

void InstanceHistory::read_item_ahead(InstanceKey key) {
  for (const sql::QueryRef query :
       {sql::QueryRef(kReadItem), sql::QueryRef(kFirstMessage), sql::QueryRef(kReadyMessages)})
    sql::read_ahead(connection_, query, key);
}

// In the order of T4, with the timer that is in the row of the instance.
Status InstanceHistory::read_due_messages(MessageReader& reader, const OrchestrationItem& item,
                                          std::int64_t now, std::int64_t first_due,
                                          std::optional<RowTimer> timer) {
  constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();
  const std::int64_t utc =
      context_.clock.off_known ? add_saturating(now, context_.clock.off) : kNothing;
  if (timer.has_value() && !due(timer->base, timer->due, context_.clock, now)) timer.reset();
  if (first_due > now && first_due > utc) {
    if (timer.has_value()) static_cast<void>(reader.take(*timer));
    return Status::kOk;
  }
  const std::int64_t timer_at =
      timer.has_value() ? due_in_pawl_time(timer->base, timer->due, context_.clock) : 0;
  Statement row = connection_.use(kDueMessages);
  row.bind(item.key).bind(now).bind(utc).bind(context_.clock.off_known ? context_.clock.off : 0);
  bool wants_more = true;
  while (wants_more && row.row()) {
    const std::int64_t at = row.integer(PAWL_COLUMN(kDueMessages, at));
    if (timer.has_value() &&
        (timer_at < at ||
         (timer_at == at && timer->id < row.integer(PAWL_COLUMN(kDueMessages, id))))) {
      wants_more = reader.take(*timer);
      timer.reset();
    }
    wants_more = wants_more && reader.take(row);
  }
  if (wants_more && timer.has_value()) static_cast<void>(reader.take(*timer));
  return fail(row.status(), "read due messages");
}

}  // namespace pawl::store
