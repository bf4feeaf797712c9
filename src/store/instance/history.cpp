#include "store/instance/history.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/check.hpp"
#include "store/column_fits.hpp"

namespace pawl::store {
namespace {

constexpr std::string_view kEmptyMeta = "{}";
constexpr char kMissing[] = "is missing, or its link is wrong";

// The columns of every query for events.
#define PAWL_EVENT_COLUMNS "row_number,id,prev,kind,branch,ordinal,ref,time,meta,payload,crc"
constexpr auto kEventColumns = sql::Columns(PAWL_EVENT_COLUMNS);

}  // namespace

constexpr auto kLastPlace = PAWL_QUERY(
    "SELECT coalesce(e.last_event,iif(i.execution=?2,i.last_event,0)) AS event,"
    "iif(e.last_event IS NOT NULL,e.last_row,iif(i.execution=?2,i.last_row,NULL)) AS at "
    "FROM instances AS i LEFT JOIN executions AS e ON e.instance=i.key AND e.execution=?2 "
    "WHERE i.key=?1");

// While an execution runs, the row of its instance has its last event.
Status InstanceHistory::find_last(InstanceKey key, ExecutionId execution, HistoryPlace* out) {
  *out = HistoryPlace();
  Statement row = connection_.use(kLastPlace);
  if (!row.bind(key).bind(execution).row()) return fail(row.status(), "executions");
  bool whole = true;
  const std::int64_t event = row.integer(PAWL_COLUMN(kLastPlace, event), &whole);
  if (!fits(event, &out->event) || !whole) return broken_event(key, execution, event, kMissing);
  if (!row.is_null(PAWL_COLUMN(kLastPlace, at)))
    out->row = row.integer(PAWL_COLUMN(kLastPlace, at), &whole);
  return Status::kOk;
}

constexpr auto kReadEvents = PAWL_QUERY("SELECT " PAWL_EVENT_COLUMNS
                                        " FROM history WHERE row_number>=?1 ORDER BY row_number");

// A history is read from its end and given from its beginning. So that this needs little memory
// however long the history is, one walk finds the last event of each part of it, then each part is
// walked and read.
class InstanceHistory::Reading {
 public:
  Reading(InstanceHistory& history, InstanceKey key, ExecutionId execution, AtBreak at_break,
          EventSink& sink)
      : history_(history), key_(key), execution_(execution), at_break_(at_break), sink_(sink) {}

  Status read(EventId after, const HistoryPlace& last) {
    const std::size_t count = last.event - after;
    const std::size_t part = std::max(kRowsMax, (count - 1) / kRowsMax + 1);
    HistoryPlace ends[kRowsMax];
    ends[0] = last;
    if (count > part) PAWL_TRY(find_ends(after, part, last, ends));
    for (std::size_t i = 0; i * part < count; ++i) {
      const std::size_t begin = after + i * part;
      const std::size_t end = std::min(begin + part, std::size_t{last.event});
      for (std::size_t low = begin; low < end; low += kRowsMax)
        PAWL_TRY(read_rows(low, std::min(low + kRowsMax, end), ends[i]));
    }
    return Status::kOk;
  }

 private:
  static constexpr std::size_t kRowsMax = 64;

  Status find_ends(EventId after, std::size_t part, const HistoryPlace& last, HistoryPlace* ends) {
    HistoryWalk walk(history_.context_, key_, execution_, last, at_break_);
    HistoryWalk::Link link;
    while (walk.next(&link) && link.id > after) {
      HistoryPlace& end = ends[(link.id - after - 1) / part];
      if (end.event == 0) end = {link.id, link.row};
    }
    return is_whole(walk);
  }
  // Finds the rows of the events behind `low` up to `high`, and gives the events.
  Status read_rows(std::size_t low, std::size_t high, const HistoryPlace& end) {
    std::optional<HistoryRow> rows[kRowsMax];
    HistoryWalk walk(history_.context_, key_, execution_, end, at_break_);
    HistoryWalk::Link link;
    while (walk.next(&link) && link.id > low)
      if (link.id <= high) rows[link.id - low - 1] = link.row;
    PAWL_TRY(is_whole(walk));
    for (std::size_t i = 0; i < high - low;)
      PAWL_TRY(read_run(rows, &i, static_cast<EventId>(low + 1), high - low));
    return Status::kOk;
  }
  // Reads events in consecutive rows, from rows[*at] on.
  Status read_run(const std::optional<HistoryRow>* rows, std::size_t* at, EventId first,
                  std::size_t count) {
    const std::size_t begin = *at;
    if (rows[begin].has_value()) {
      Statement row = history_.connection_.use(kReadEvents);
      row.bind(*rows[begin]);
      const auto follows = [&] {
        return *at < count && rows[*at].has_value() &&
               *rows[*at] - *rows[begin] == static_cast<HistoryRow>(*at - begin);
      };
      while (follows() && row.row() &&
             row.integer(PAWL_COLUMN(kEventColumns, row_number)) == *rows[*at]) {
        Event event;
        PAWL_TRY(history_.read_event(row, key_, execution_, &event));
        if (event.id != first + *at) break;
        PAWL_TRY(sink_.on_event(event));
        ++*at;
      }
      PAWL_TRY(history_.fail(row.status(), "history"));
    }
    return *at > begin ? Status::kOk
                       : history_.broken_event(key_, execution_,
                                               static_cast<std::int64_t>(first + *at), kMissing);
  }
  Status is_whole(const HistoryWalk& walk) {
    if (walk.broken_at() != 0)
      return history_.broken_event(key_, execution_, walk.broken_at(), kMissing);
    return walk.status();
  }
  InstanceHistory& history_;
  InstanceKey key_;
  ExecutionId execution_;
  AtBreak at_break_;
  EventSink& sink_;
};

Status InstanceHistory::read_history(InstanceKey key, ExecutionId execution, EventId after,
                                     EventSink& sink, AtBreak at_break) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  HistoryPlace last;
  PAWL_TRY(find_last(key, execution, &last));
  PAWL_TRY(sink.on_begin(last.event));
  if (after >= last.event) return Status::kOk;
  return Reading(*this, key, execution, at_break, sink).read(after, last);
}

constexpr auto kWriteExecution = PAWL_QUERY(
    "INSERT INTO executions(instance,execution,end,last_event,last_row,started_stamp,ended_stamp) "
    "VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT(instance,execution) DO UPDATE SET end=excluded.end,"
    "last_event=excluded.last_event,last_row=excluded.last_row,ended_stamp=excluded.ended_stamp");

// While an execution runs, its last event is only in the row of its instance, which each turn
// writes anyway.
Status InstanceHistory::insert_events(const TurnCommit& turn, std::optional<HistoryRow> before,
                                      StoredEvents* out) {
  if (turn.first_new > turn.last_new || turn.last_new == 0) return Status::kOk;
  if (turn.first_new == 1) before.reset();
  for (EventId id = turn.first_new; id <= turn.last_new; ++id) {
    const Event& event = turn.events->event(id);
    PAWL_CHECK("store-30", event.id == id);
    out->add(event.kind);
    // The engine numbers the first row, and the others follow it, unless that has the last number.
    std::optional<HistoryRow> at = context_.new_id();
    if (out->last_row.has_value()) before = out->last_row;
    const bool may_follow = out->last_row.has_value() && *before < kHistoryRowMax;
    if (may_follow && !at.has_value()) at = *before + 1;
    const bool follows = may_follow && *at == *before + 1;
    PAWL_TRY(insert_event(turn, at, follows ? std::nullopt : before, event));
    out->last_row = context_.inserted_id(at);
  }
  const bool ends = turn.end != EndKind::kNone;
  if (turn.first_new > 1 && !ends) return Status::kOk;
  Statement write = connection_.use(kWriteExecution);
  write.bind(turn.key).bind(turn.execution).bind(static_cast<std::int64_t>(turn.end));
  if (ends) {
    write.bind(turn.last_new).bind(*out->last_row).bind(batch_.stamp_ms).bind(batch_.stamp_ms);
  } else {
    write.bind_null().bind_null().bind(batch_.stamp_ms).bind_null();
  }
  return fail(write.run(), "write execution");
}

// The end event says how an execution ended; only returns follow it.
Status InstanceHistory::read_end(InstanceKey key, ExecutionId execution, EventSink& sink) {
  HistoryPlace last;
  PAWL_TRY(find_last(key, execution, &last));
  HistoryWalk walk(context_, key, execution, last);
  HistoryWalk::Link link;
  do {
    if (!walk.next(&link)) {
      PAWL_TRY(walk.status());
      return broken_event(key, execution, walk.broken_at(), kMissing);
    }
    if (link.kind != EventKind::kEnded && link.kind != EventKind::kReturn)
      return broken_event(key, execution, link.id, "is not the end");
  } while (link.kind != EventKind::kEnded);
  Statement row = connection_.use(kReadEvents);
  if (!row.bind(link.row).row()) return fail(row.status(), "history");
  Event event;
  PAWL_TRY(read_event(row, key, execution, &event));
  return sink.on_event(event);
}

Status InstanceHistory::find_first(InstanceKey key, ExecutionId execution, EventKind kind,
                                   EventId* out) {
  *out = 0;
  HistoryPlace last;
  PAWL_TRY(find_last(key, execution, &last));
  HistoryWalk walk(context_, key, execution, last);
  HistoryWalk::Link link;
  while (walk.next(&link))
    if (link.kind == kind) *out = link.id;
  return walk.status();
}

constexpr auto kCountBytes = PAWL_QUERY(
    "SELECT count(*),coalesce(sum(coalesce(length(\fCAST(meta AS BLOB)\r),0)+"
    "coalesce(length(payload),0)),0) FROM history WHERE row_number BETWEEN ?1 AND ?2");

Status InstanceHistory::count_events(InstanceKey key, ExecutionId execution, std::int64_t* events,
                                     std::int64_t* bytes) {
  HistoryPlace last;
  PAWL_TRY(find_last(key, execution, &last));
  HistoryWalk walk(context_, key, execution, last);
  HistoryRun run;
  while (walk.next_run(&run, last.event)) {
    Statement row = connection_.use(kCountBytes);
    if (row.bind(run.low).bind(run.high).row()) {
      *events += row.integer(0);
      *bytes += row.integer(1);
    }
    PAWL_TRY(fail(row.status(), "history"));
  }
  return walk.status();
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
  std::optional<HistoryRow> prev;
  if (!row.is_null(PAWL_COLUMN(kEventColumns, prev)))
    prev = row.integer(PAWL_COLUMN(kEventColumns, prev));
  const bool whole = fits(row.integer(PAWL_COLUMN(kEventColumns, id)), &event->id) &&
                     fits(row.integer(PAWL_COLUMN(kEventColumns, kind)), &event->kind) &&
                     fits(row.integer(PAWL_COLUMN(kEventColumns, branch)), &event->branch) &&
                     fits(row.integer(PAWL_COLUMN(kEventColumns, ordinal)), &event->ordinal) &&
                     fits(row.integer(PAWL_COLUMN(kEventColumns, ref)), &event->ref);
  if (!whole ||
      row.integer(PAWL_COLUMN(kEventColumns, crc)) != event_crc(key, execution, prev, *event, meta))
    return broken_event(key, execution, row.integer(PAWL_COLUMN(kEventColumns, id)),
                        "checksum or form is wrong");
  const Status status = context_.read_meta(meta.empty() ? kEmptyMeta : meta, event);
  if (status == Status::kOk) return status;
  return broken_event(key, execution, event->id, "its meta cannot be read");
}

constexpr auto kInsertEvent = PAWL_QUERY(
    "INSERT INTO history(row_number,instance,execution,id,prev,kind,branch,ordinal,ref,time,meta,"
    "payload,crc) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");

// `at`: the number of the row; none: behind all others.
Status InstanceHistory::insert_event(const TurnCommit& turn, std::optional<HistoryRow> at,
                                     std::optional<HistoryRow> prev, const Event& event) {
  std::size_t size = 0;
  PAWL_TRY(fail(encode_meta(event, context_.meta_text, sizeof(context_.meta_text), &size),
                "encode event"));
  std::string_view meta(context_.meta_text, size);
  if (meta == kEmptyMeta) meta = {};
  Statement insert = connection_.use(kInsertEvent);
  insert.bind_or_null(at).bind(turn.key).bind(turn.execution).bind(event.id).bind_or_null(prev);
  insert.bind(static_cast<std::int64_t>(event.kind));
  if (is_command(event.kind)) {
    insert.bind(event.branch).bind(event.ordinal);
  } else {
    insert.bind_or_null(event.branch).bind_or_null(event.ordinal);
  }
  insert.bind_or_null(event.ref).bind(event.time_ms).bind_text_or_null(meta);
  insert.bind_blob_or_null(event.payload);
  insert.bind(event_crc(turn.key, turn.execution, prev, event, meta));
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
