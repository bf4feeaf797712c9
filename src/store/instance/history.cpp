#include "store/instance/history.hpp"

#include <cstring>
#include <limits>

#include "core/check.hpp"
#include "store/column_fits.hpp"

namespace pawl::store {
namespace {

constexpr std::string_view kEmptyMeta = "{}";

// The columns of every query for events.
#define PAWL_EVENT_COLUMNS "id,kind,branch,ordinal,ref,time,meta,payload,crc"
constexpr auto kEventColumns = sql::Columns(PAWL_EVENT_COLUMNS);

}  // namespace

constexpr auto kReadHistory = PAWL_QUERY("SELECT " PAWL_EVENT_COLUMNS
                                         " FROM history WHERE instance=? AND execution=? "
                                         "AND id>? ORDER BY id");

Status InstanceHistory::read_history(InstanceKey key, ExecutionId execution, EventId after,
                                     EventSink& sink) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  std::int64_t last = 0;
  PAWL_TRY(last_event_of(key, execution, &last));
  PAWL_TRY(sink.on_begin(last));
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

constexpr auto kWriteExecution = PAWL_QUERY(
    "INSERT INTO executions(instance,execution,end,last_event,started_stamp,ended_stamp) "
    "VALUES(?1,?2,?3,?4,?5,?6) ON CONFLICT(instance,execution) DO UPDATE "
    "SET end=excluded.end,last_event=excluded.last_event,ended_stamp=excluded.ended_stamp");

// While an execution runs, its last event is only in the row of its instance, which each turn
// writes anyway.
Status InstanceHistory::insert_events(const TurnCommit& turn, EventKinds* kinds) {
  if (turn.first_new > turn.last_new || turn.last_new == 0) return Status::kOk;
  for (EventId id = turn.first_new; id <= turn.last_new; ++id) {
    const Event& event = turn.events->event(id);
    PAWL_CHECK("store-30", event.id == id);
    kinds->add(event.kind);
    PAWL_TRY(insert_event(turn, event));
  }
  const bool ends = turn.end != EndKind::kNone;
  if (turn.first_new > 1 && !ends) return Status::kOk;
  Statement write = connection_.use(kWriteExecution);
  write.bind(turn.key).bind(turn.execution).bind(static_cast<std::int64_t>(turn.end));
  if (ends) {
    write.bind(turn.last_new).bind(batch_.stamp_ms).bind(batch_.stamp_ms);
  } else {
    write.bind_null().bind(batch_.stamp_ms).bind_null();
  }
  return fail(write.run(), "write execution");
}

constexpr auto kReadEvent = PAWL_QUERY("SELECT " PAWL_EVENT_COLUMNS
                                       " FROM history WHERE instance=? AND execution=? "
                                       "AND id<=? ORDER BY id DESC");

// The end event says how an execution ended; only returns follow it.
Status InstanceHistory::read_end(InstanceKey key, ExecutionId execution, EventSink& sink) {
  std::int64_t last = 0;
  PAWL_TRY(last_event_of(key, execution, &last));
  Statement row = connection_.use(kReadEvent);
  row.bind(key).bind(execution).bind(last);
  Event event;
  for (std::int64_t expected = last; event.kind != EventKind::kEnded; --expected) {
    if (!row.row()) {
      PAWL_TRY(fail(row.status(), "history"));
      return broken_event(key, execution, expected, "is missing");
    }
    PAWL_TRY(read_event(row, key, execution, &event));
    if (event.id != expected) return broken_event(key, execution, expected, "is missing");
    if (event.kind != EventKind::kEnded && event.kind != EventKind::kReturn)
      return broken_event(key, execution, expected, "is not the end");
  }
  return sink.on_event(event);
}

// The status of an ended instance is how its last execution ended.
Status InstanceHistory::read_status_of_end(InstanceStatus* out, char* buffer,
                                           std::size_t capacity) {
  class CopyEnd final : public EventSink {
   public:
    CopyEnd(InstanceHistory& history, InstanceStatus* to, char* bytes, std::size_t bytes_max)
        : table(history), status(to), place(bytes), most(bytes_max) {}
    Status on_event(const Event& end) override {
      status->error = end.error;
      return table.copy_output(end.payload, status, place, most);
    }
    InstanceHistory& table;
    InstanceStatus* status;
    char* place;
    std::size_t most;
  } copy(*this, out, buffer, capacity);
  return read_end(out->key, out->execution, copy);
}

Status InstanceHistory::broken_event(InstanceKey key, ExecutionId execution, std::int64_t event,
                                     const char* what) {
  context_.diagnostic.format("history of instance %lld, execution %lld, event %lld: %s",
                             static_cast<long long>(key), static_cast<long long>(execution),
                             static_cast<long long>(event), what);
  if (context_.in_batch) context_.dead = true;
  return Status::kCorrupt;
}

// The views of the row end with the row, and those of the meta with the next call.
Status InstanceHistory::read_event(const Statement& row, InstanceKey key, ExecutionId execution,
                                   Event* event) {
  *event = Event();
  event->time_ms = row.integer(PAWL_COLUMN(kEventColumns, time));
  event->payload = row.bytes(PAWL_COLUMN(kEventColumns, payload));
  const std::string_view meta = row.bytes(PAWL_COLUMN(kEventColumns, meta));
  const bool whole = fits(row.integer(PAWL_COLUMN(kEventColumns, id)), &event->id) &&
                     fits(row.integer(PAWL_COLUMN(kEventColumns, kind)), &event->kind) &&
                     fits(row.integer(PAWL_COLUMN(kEventColumns, branch)), &event->branch) &&
                     fits(row.integer(PAWL_COLUMN(kEventColumns, ordinal)), &event->ordinal) &&
                     fits(row.integer(PAWL_COLUMN(kEventColumns, ref)), &event->ref);
  if (!whole ||
      row.integer(PAWL_COLUMN(kEventColumns, crc)) != event_crc(key, execution, *event, meta))
    return broken_event(key, execution, row.integer(PAWL_COLUMN(kEventColumns, id)),
                        "checksum or form is wrong");
  const JsonMemory memory(context_.json_memory, sizeof(context_.json_memory));
  const Status status = decode_meta(meta.empty() ? kEmptyMeta : meta, event, context_.meta_text,
                                    sizeof(context_.meta_text));
  if (status == Status::kOk) return status;
  return broken_event(key, execution, event->id, "its meta cannot be read");
}

constexpr auto kLastEvent = PAWL_QUERY(
    "SELECT coalesce((SELECT last_event FROM executions WHERE instance=?1 AND execution=?2),"
    "(SELECT last_event FROM instances WHERE key=?1 AND execution=?2),0)");

Status InstanceHistory::last_event_of(InstanceKey key, ExecutionId execution, std::int64_t* out) {
  Statement row = connection_.use(kLastEvent);
  *out = row.bind(key).bind(execution).row() ? row.integer(0) : 0;
  return fail(row.status(), "executions");
}

constexpr auto kInsertEvent = PAWL_QUERY(
    "INSERT INTO history(instance,execution,id,kind,branch,ordinal,ref,time,meta,payload,crc) "
    "VALUES(?,?,?,?,?,?,?,?,?,?,?)");

Status InstanceHistory::insert_event(const TurnCommit& turn, const Event& event) {
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

Status InstanceHistory::copy_output(std::string_view output, InstanceStatus* out, char* buffer,
                                    std::size_t capacity) {
  if (output.size() > capacity) {
    context_.diagnostic.format("the output has %zu bytes, the buffer %zu", output.size(), capacity);
    return Status::kResourceExhausted;
  }
  if (!output.empty()) std::memcpy(buffer, output.data(), output.size());
  out->output = {buffer, output.size()};
  return Status::kOk;
}

}  // namespace pawl::store
