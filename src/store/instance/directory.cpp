#include "store/instance/directory.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codec/event.hpp"
#include "core/clock_rules.hpp"
#include "pawl/visit.hpp"
#include "store/instance/arguments.hpp"
#include "store/instance/rows.hpp"
#include "store/place/arguments.hpp"
#include "store/row_rules.hpp"
#include "store/work/work_sql.hpp"

namespace pawl::store {
namespace {

static_assert(
    static_cast<int>(OrchestrationState::kRunning) == static_cast<int>(InstanceState::kRunning) &&
    static_cast<int>(OrchestrationState::kCompleted) ==
        static_cast<int>(InstanceState::kCompleted) &&
    static_cast<int>(OrchestrationState::kFailed) == static_cast<int>(InstanceState::kFailed) &&
    static_cast<int>(OrchestrationState::kStopped) == static_cast<int>(InstanceState::kStopped) &&
    static_cast<int>(OrchestrationState::kSuspended) ==
        static_cast<int>(InstanceState::kSuspended));
static_assert(static_cast<int>(ExecutionState::kContinuedAsNew) ==
              static_cast<int>(EndKind::kContinuedAsNew));

// Timers in UTC do not go off while the database does not know UTC.
#define PAWL_INFO_COLUMNS                                                                      \
  "i.key,i.id,i.name,i.version,i.state,i.execution,i.created_stamp,i.updated_stamp,i.parent,"  \
  "(SELECT p.id FROM instances AS p WHERE p.key=i.parent) AS parent_id,"                       \
  "CASE WHEN (SELECT off FROM meta WHERE id=1) IS NULL THEN (SELECT count(*)"                  \
  " FROM orchestrator_queue AS q\fINDEXED BY oq_instance\rWHERE q.instance=i.key"              \
  " AND q.due IS NOT NULL AND q.base=",                                                        \
      sql::number<TimeBase::kUtc>,                                                             \
      ")+iif(i.timer_due IS NOT NULL AND i.timer_base=", sql::number<TimeBase::kUtc>,          \
      ",1,0) ELSE 0 END AS timers_without_clock,i.trace,i.time_limit,i.limit_due," PAWL_UNREAD \
      " AS unread"

constexpr auto kInfoColumns = sql::Columns(PAWL_INFO_COLUMNS);

InstanceInfo info_of(const Statement& row, std::int64_t now) {
  InstanceInfo info;
  info.key = row.integer(PAWL_COLUMN(kInfoColumns, i.key));
  info.id = row.bytes(PAWL_COLUMN(kInfoColumns, i.id));
  info.name = row.bytes(PAWL_COLUMN(kInfoColumns, i.name));
  info.version = row.bytes(PAWL_COLUMN(kInfoColumns, i.version));
  info.state = static_cast<OrchestrationState>(row.integer(PAWL_COLUMN(kInfoColumns, i.state)));
  info.execution_id = row.integer(PAWL_COLUMN(kInfoColumns, i.execution));
  info.created_ms = row.integer(PAWL_COLUMN(kInfoColumns, i.created_stamp));
  info.updated_ms = row.integer(PAWL_COLUMN(kInfoColumns, i.updated_stamp));
  info.parent_id = row.bytes(PAWL_COLUMN(kInfoColumns, parent_id));
  info.timers_without_clock = row.integer(PAWL_COLUMN(kInfoColumns, timers_without_clock));
  info.trace_id = row.bytes(PAWL_COLUMN(kInfoColumns, i.trace));
  info.unread_messages = row.integer(PAWL_COLUMN(kInfoColumns, unread));
  const std::int64_t limit = row.integer(PAWL_COLUMN(kInfoColumns, i.time_limit));
  if (limit > 0) info.time_limit_ms = limit;
  if (!row.is_null(PAWL_COLUMN(kInfoColumns, i.limit_due))) {
    const std::int64_t left =
        subtract_saturating(row.integer(PAWL_COLUMN(kInfoColumns, i.limit_due)), now);
    info.time_left_ms = left > 0 ? left : 0;
  }
  return info;
}

bool within(std::int64_t stamp, std::int64_t from, std::int64_t before) {
  return stamp >= from && (before == 0 || stamp < before);
}

bool passes(const InstanceInfo& info, const InstanceFilter& filter) {
  return (filter.name.empty() || info.name == filter.name) &&
         info.id.view().substr(0, filter.id_prefix.size()) == filter.id_prefix &&
         (filter.any_state || info.state == filter.state) &&
         !(filter.roots_only && !info.parent_id.empty()) &&
         within(info.created_ms, filter.created_from_ms, filter.created_before_ms) &&
         within(info.updated_ms, filter.updated_from_ms, filter.updated_before_ms);
}

}  // namespace

// Without a batch in this boot the row of the clock is that of an earlier one, and its mark is
// later.
std::int64_t InstanceDirectory::pawl_now() {
  const std::int64_t now = rows_.place.pawl_now();
  return now > context_.clock.mark ? now : context_.clock.mark;
}

constexpr auto kList = PAWL_QUERY("SELECT " PAWL_INFO_COLUMNS "," PAWL_IS_THERE
                                  " AS is_there FROM instances AS i WHERE i.key>?1 ORDER BY i.key");

Status InstanceDirectory::list_instances(const InstanceFilter& filter, Page* page,
                                         InstanceVisitor& visitor) {
  if (page->rows_max == 0) {
    context_.diagnostic.format("a page of no instances");
    return Status::kInvalidArgument;
  }
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  if (filter.ids != nullptr) return list_ids(filter, page, visitor);
  Statement row = connection_.use(kList);
  row.bind(page->after);
  page->more = true;
  std::size_t reported = 0;
  for (std::size_t looks = 0; looks < kListLooksMax && reported < page->rows_max; ++looks) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    const InstanceInfo info = info_of(row, pawl_now());
    if (info.key <= page->after) return no_progress("instances");
    page->after = info.key;
    if (row.integer(PAWL_COLUMN(kList, is_there)) == 0 || !passes(info, filter)) continue;
    visitor.on_instance(info);
    ++reported;
  }
  return fail(row.status(), "list instances");
}

constexpr auto kListTree = PAWL_QUERY(
    "SELECT * FROM (SELECT " PAWL_INFO_COLUMNS
    " FROM instances AS i WHERE i.key>?2 AND ?3=0 AND i.key="
    "(SELECT coalesce(o.root,o.key) FROM instances AS o WHERE o.key=?1) AND " PAWL_IS_THERE
    ") AS a UNION ALL SELECT * FROM (SELECT " PAWL_INFO_COLUMNS
    " FROM instances AS i\fINDEXED BY i_tree\rWHERE i.key>?2 AND i.root IS NOT NULL AND i.root="
    "(SELECT coalesce(o.root,o.key) FROM instances AS o WHERE o.key=?1) AND " PAWL_IS_THERE
    " ORDER BY root,i.key) AS b");

// Deliveries have higher keys than their parents, so the root comes first.
Status InstanceDirectory::list_tree(InstanceKey of, bool children_only, Page* page,
                                    InstanceVisitor& visitor) {
  if (page->rows_max == 0) {
    context_.diagnostic.format("a page of no instances");
    return Status::kInvalidArgument;
  }
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kListTree);
  row.bind(of).bind(page->after).bind(children_only ? 1 : 0);
  page->more = true;
  std::size_t reported = 0;
  for (std::size_t looks = 0; looks < kListLooksMax && reported < page->rows_max; ++looks) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    if (row.integer(PAWL_COLUMN(kInfoColumns, i.key)) <= page->after)
      return no_progress("instances");
    page->after = row.integer(PAWL_COLUMN(kInfoColumns, i.key));
    if (children_only && row.integer(PAWL_COLUMN(kInfoColumns, i.parent)) != of) continue;
    visitor.on_instance(info_of(row, pawl_now()));
    ++reported;
  }
  return fail(row.status(), "list a tree");
}

constexpr auto kInfo =
    PAWL_QUERY("SELECT " PAWL_INFO_COLUMNS " FROM instances AS i WHERE i.id=?1 AND " PAWL_IS_THERE);

Status InstanceDirectory::get_instance_info(std::string_view id, InstanceVisitor& visitor) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kInfo);
  if (!row.bind_text(id).row()) return no_row(row, Status::kNotFound, "instances");
  visitor.on_instance(info_of(row, pawl_now()));
  return Status::kOk;
}

constexpr auto kFindExecution =
    PAWL_QUERY("SELECT key,execution FROM instances AS i WHERE id=?1 AND " PAWL_IS_THERE);
constexpr auto kMessageStats = PAWL_QUERY(
    "SELECT count(*) FROM orchestrator_queue\fINDEXED BY oq_instance\rWHERE instance=?1 AND due IS "
    "NULL AND waiting<>",
    sql::number<Waiting::kUnread>);
constexpr auto kValueStats = PAWL_QUERY(
    "SELECT count(*),coalesce(sum(length(\fCAST(key AS BLOB)\r)+coalesce(length(value),0)),0) "
    "FROM kv WHERE instance=?1 AND cleared=0 AND NOT EXISTS(SELECT 1 FROM kv AS later WHERE "
    "later.instance=?1 AND later.key=kv.key AND later.execution>kv.execution)");

Status InstanceDirectory::get_instance_stats(std::string_view id, InstanceStats* out) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  *out = InstanceStats();
  InstanceKey key = 0;
  ExecutionId execution = 0;
  {
    Statement row = connection_.use(kFindExecution);
    if (!row.bind_text(id).row()) return no_row(row, Status::kNotFound, "instances");
    key = row.integer(0);
    execution = row.integer(1);
  }
  PAWL_TRY(rows_.history.count_events(key, execution, &out->history_events, &out->history_bytes));
  {
    Statement row = connection_.use(kMessageStats);
    if (row.bind(key).row()) out->messages_waiting = row.integer(0);
    PAWL_TRY(fail(row.status(), "messages"));
  }
  Statement row = connection_.use(kValueStats);
  if (row.bind(key).row()) {
    out->kv_keys = row.integer(0);
    out->kv_bytes = row.integer(1);
  }
  return fail(row.status(), "values");
}

constexpr auto kExecutions = PAWL_QUERY(
    "SELECT execution,end,coalesce(last_event,(SELECT i.last_event FROM instances AS i WHERE "
    "i.key=e.instance AND i.execution=e.execution)) AS events,started_stamp,ended_stamp "
    "FROM executions AS e WHERE instance=?1 ORDER BY execution");

Status InstanceDirectory::list_executions(InstanceKey key, ExecutionVisitor& visitor) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kExecutions);
  row.bind(key);
  while (row.row()) {
    ExecutionInfo info;
    info.execution_id = row.integer(PAWL_COLUMN(kExecutions, execution));
    info.state = static_cast<ExecutionState>(row.integer(PAWL_COLUMN(kExecutions, end)));
    info.events = row.integer(PAWL_COLUMN(kExecutions, events));
    info.started_ms = row.integer(PAWL_COLUMN(kExecutions, started_stamp));
    info.ended_ms = row.integer(PAWL_COLUMN(kExecutions, ended_stamp));
    if (info.state == ExecutionState::kRunning) {
      visitor.on_execution(info);
    } else {
      PAWL_TRY(visit_ended(key, &info, visitor));
    }
  }
  return fail(row.status(), "list executions");
}

// The output is in the history only. A damaged output does not stop the list.
Status InstanceDirectory::visit_ended(InstanceKey key, ExecutionInfo* info,
                                      ExecutionVisitor& visitor) {
  class Ended final : public EventSink {
   public:
    Ended(ExecutionInfo* of, ExecutionVisitor& to) : info(of), visitor(to) {}
    Status on_event(const Event& end) override {
      info->error = end.error;
      info->output = end.payload;
      visitor.on_execution(*info);
      return Status::kOk;
    }
    ExecutionInfo* info;
    ExecutionVisitor& visitor;
  } ended(info, visitor);
  const Status read = rows_.history.read_end(key, info->execution_id, ended);
  if (read != Status::kCorrupt) return read;
  info->error = ErrorKind::kCorrupt;
  info->output = context_.diagnostic.text();
  visitor.on_execution(*info);
  return Status::kOk;
}

#define PAWL_ACTIVITIES(from, where)                                                   \
  "SELECT q.event,q.state,q.attempt,q.failures,w.node,q.progress,q.last_error,h.meta," \
  "q.outside_stamp"                                                                    \
  " FROM worker_queue q" from " LEFT JOIN workers w ON w.inc=q.inc" PAWL_EVENT_OF(     \
      "q") " WHERE q.instance=?1 AND q.execution=?2 AND q.id" where
constexpr auto kListActivities =
    PAWL_QUERY(PAWL_ACTIVITIES("\fINDEXED BY wq_event\r", ">="), sql::number<kIndexedWorkFrom>,
               " AND q.state<>", sql::number<rules::WorkState::kCancelledRunning>,
               " UNION ALL " PAWL_ACTIVITIES("", "<"), sql::number<kIndexedWorkFrom>,
               " AND q.state<>", sql::number<rules::WorkState::kCancelledRunning>, " ORDER BY 1");
#undef PAWL_ACTIVITIES

Status InstanceDirectory::list_activities(InstanceKey key, ExecutionId execution,
                                          ActivityVisitor& visitor) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kListActivities);
  row.bind(key).bind(execution);
  while (row.row()) {
    ActivityInfo info;
    info.activity_id = row.integer(PAWL_COLUMN(kListActivities, q.event));
    info.name = context_.activity_name(row.bytes(PAWL_COLUMN(kListActivities, h.meta)));
    info.state = public_state(row.integer(PAWL_COLUMN(kListActivities, q.state)));
    info.outside_since_ms = row.integer(PAWL_COLUMN(kListActivities, q.outside_stamp));
    info.attempt = row.integer(PAWL_COLUMN(kListActivities, q.attempt));
    info.retry_attempt = add_saturating(row.integer(PAWL_COLUMN(kListActivities, q.failures)), 1);
    info.node = row.bytes(PAWL_COLUMN(kListActivities, w.node));
    info.last_progress = row.bytes(PAWL_COLUMN(kListActivities, q.progress));
    info.last_error = row.bytes(PAWL_COLUMN(kListActivities, q.last_error));
    visitor.on_activity(info);
  }
  return fail(row.status(), "list activities");
}

// For a list by ids Page::after is a count of ids.
Status InstanceDirectory::list_ids(const InstanceFilter& filter, Page* page,
                                   InstanceVisitor& visitor) {
  std::size_t reported = 0;
  auto passing = visit([&](const InstanceInfo& info) {
    if (!passes(info, filter)) return;
    visitor.on_instance(info);
    ++reported;
  });
  const auto count = static_cast<std::int64_t>(filter.id_count);
  for (std::size_t looks = 0; page->after < count; ++looks) {
    page->more = true;
    if (looks == kListLooksMax || reported == page->rows_max) return Status::kOk;
    const Status read = get_instance_info(filter.ids[page->after], passing);
    if (read != Status::kNotFound) PAWL_TRY(read);
    ++page->after;
  }
  page->more = false;
  return Status::kOk;
}

constexpr auto kReadStatus = PAWL_QUERY(
    "SELECT key,state,execution,revision,created_stamp,updated_stamp,stop_kind,stop_text,"
    "custom_status,custom_status_version," PAWL_UNREAD
    " AS unread FROM instances AS i WHERE id=? AND " PAWL_IS_THERE);

void InstanceDirectory::read_status_ahead(std::string_view id) {
  sql::read_ahead(connection_, kReadStatus, id);
}

Status InstanceDirectory::get_status(std::string_view id, InstanceStatus* out, char* buffer,
                                     std::size_t capacity) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kReadStatus);
  if (!row.bind_text(id).row()) return no_row(row, Status::kNotFound, "instances");
  *out = InstanceStatus();
  out->key = row.integer(PAWL_COLUMN(kReadStatus, key));
  out->state = static_cast<InstanceState>(row.integer(PAWL_COLUMN(kReadStatus, state)));
  out->execution = row.integer(PAWL_COLUMN(kReadStatus, execution));
  out->revision = row.integer(PAWL_COLUMN(kReadStatus, revision));
  out->created_ms = row.integer(PAWL_COLUMN(kReadStatus, created_stamp));
  out->updated_ms = row.integer(PAWL_COLUMN(kReadStatus, updated_stamp));
  out->error = static_cast<ErrorKind>(row.integer(PAWL_COLUMN(kReadStatus, stop_kind)));
  out->custom_status_version = row.integer(PAWL_COLUMN(kReadStatus, custom_status_version));
  out->unread_messages = row.integer(PAWL_COLUMN(kReadStatus, unread));
  PAWL_TRY(copy_custom_status(row.bytes(PAWL_COLUMN(kReadStatus, custom_status)), out, buffer,
                              capacity));
  const std::size_t used = out->custom_status.size();
  if (has_ended(row.integer(PAWL_COLUMN(kReadStatus, state))))
    return rows_.history.read_status_of_end(out, buffer + used, capacity - used);
  return rows_.history.copy_output(row.bytes(PAWL_COLUMN(kReadStatus, stop_text)), out,
                                   buffer + used, capacity - used);
}

constexpr auto kReadId =
    PAWL_QUERY("SELECT id,unregistered IS NOT NULL FROM instances WHERE key=?1");

Status InstanceDirectory::read_id(InstanceKey key, FixedText<kNameBytesMax>* id,
                                  bool* unregistered) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kReadId);
  if (!row.bind(key).row()) return no_row(row, Status::kNotFound, "instances");
  id->assign_cut(row.bytes(0));
  if (unregistered != nullptr) *unregistered = row.integer(1) != 0;
  return Status::kOk;
}

Status InstanceDirectory::copy_custom_status(std::string_view text, InstanceStatus* out,
                                             char* buffer, std::size_t capacity) {
  if (text.size() > capacity) {
    context_.diagnostic.format("the custom status has %zu bytes, the buffer %zu", text.size(),
                               capacity);
    return Status::kResourceExhausted;
  }
  if (!text.empty()) std::memcpy(buffer, text.data(), text.size());
  out->custom_status = {buffer, text.size()};
  return Status::kOk;
}

namespace {

constexpr std::int64_t kCountMax = 100'000;  // rows counted of each table

}  // namespace

Status InstanceDirectory::get_metrics(Metrics* out) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  *out = Metrics();
  PAWL_TRY(count_instances(out));
  PAWL_TRY(count_executions(out));
  PAWL_TRY(count_messages(out));
  PAWL_TRY(count_work(out));
  PAWL_TRY(session_directory_.count_states(kCountMax, out));
  PAWL_TRY(session_directory_.read_session_totals(&out->session_ends));
  out->sessions_created += static_cast<std::int64_t>(out->session_ends.ended);
  SpaceUse use;
  PAWL_TRY(rows_.place.read_use(&use));
  out->used_bytes = use.used_bytes;
  out->log_bytes = use.log_bytes;
  out->quota_bytes = use.quota_bytes;
  const Status room = rows_.place.look_for_room();
  out->refuses_new = room == Status::kQuota;
  return out->refuses_new ? Status::kOk : room;
}

constexpr auto kCountInstances = PAWL_QUERY(
    "SELECT state,timer_due IS NOT NULL AS has_timer FROM instances WHERE key>0 LIMIT ?1");

Status InstanceDirectory::count_instances(Metrics* out) {
  Statement row = connection_.use(kCountInstances);
  row.bind(kCountMax + 1);
  std::int64_t rows = 0;
  for (; row.row() && rows < kCountMax; ++rows) {
    switch (static_cast<InstanceState>(row.integer(0))) {
      case InstanceState::kRunning: ++out->instances_running; break;
      case InstanceState::kCompleted: ++out->instances_completed; break;
      case InstanceState::kFailed: ++out->instances_failed; break;
      case InstanceState::kStopped: ++out->instances_stopped; break;
      case InstanceState::kSuspended: ++out->instances_suspended; break;
      case InstanceState::kDeleted: break;
    }
    if (row.integer(1) != 0) ++out->timers_waiting;
  }
  if (rows == kCountMax) out->complete = false;
  return fail(row.status(), "count instances");
}

constexpr auto kCountExecutions = PAWL_QUERY(
    "SELECT coalesce(last_event,(SELECT i.last_event FROM instances AS i WHERE i.key=e.instance "
    "AND "
    "i.execution=e.execution)) FROM executions AS e WHERE instance>0 LIMIT ?1");

// Reads no history: the row of the execution, or that of its instance, has the number of events.
Status InstanceDirectory::count_executions(Metrics* out) {
  Statement row = connection_.use(kCountExecutions);
  row.bind(kCountMax + 1);
  std::int64_t rows = 0;
  for (; row.row() && rows < kCountMax; ++rows) {
    const std::int64_t events = row.integer(0);
    ++out->executions;
    if (events > 0) out->events = add_saturating(out->events, events);
  }
  if (rows == kCountMax) out->complete = false;
  return fail(row.status(), "count executions");
}

constexpr auto kCountMessages =
    PAWL_QUERY("SELECT due IS NOT NULL,waiting=", sql::number<Waiting::kUnread>,
               " FROM orchestrator_queue WHERE id>0 LIMIT ?1");

Status InstanceDirectory::count_messages(Metrics* out) {
  Statement row = connection_.use(kCountMessages);
  row.bind(kCountMax + 1);
  std::int64_t rows = 0;
  for (; row.row() && rows < kCountMax; ++rows) {
    std::int64_t& stored = row.integer(1) != 0 ? out->unread_messages : out->messages_waiting;
    ++(row.integer(0) != 0 ? out->timers_waiting : stored);
  }
  if (rows == kCountMax) out->complete = false;
  return fail(row.status(), "count messages");
}

constexpr auto kCountWork = PAWL_QUERY("SELECT state FROM worker_queue WHERE id>0 LIMIT ?1");

Status InstanceDirectory::count_work(Metrics* out) {
  Statement row = connection_.use(kCountWork);
  row.bind(kCountMax + 1);
  std::int64_t rows = 0;
  for (; row.row() && rows < kCountMax; ++rows) {
    switch (row.integer(0)) {
      case 0: ++out->activities_ready; break;
      case 2: ++out->activities_delayed; break;
      case 4:
      case 5: ++out->activities_outside; break;
      default: ++out->activities_running; break;  // also items cancelled while they run
    }
  }
  if (rows == kCountMax) out->complete = false;
  PAWL_TRY(fail(row.status(), "count work"));
  PAWL_TRY(rows_.sessions.count_waiting(&out->sessions_waiting));
  if (out->sessions_waiting == kWaitingSessionsMax) out->complete = false;
  return Status::kOk;
}

// Uses the instance's index, so that only the messages of that instance are sorted.
constexpr auto kListMessages =
    PAWL_QUERY("SELECT id,kind,name,payload,base IS NOT NULL AS is_timer,waiting=",
               sql::number<Waiting::kUnread>,
               " AS is_unread FROM orchestrator_queue\fINDEXED BY oq_instance\r"
               "WHERE instance=?1 AND id>?2 ORDER BY id LIMIT ?3");

Status InstanceDirectory::list_messages(InstanceKey key, Page* page, MessageVisitor& visitor) {
  if (page->rows_max == 0) {
    context_.diagnostic.format("a page of no messages");
    return Status::kInvalidArgument;
  }
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  const std::size_t rows_max = page->rows_max < kListLooksMax ? page->rows_max : kListLooksMax;
  Statement row = connection_.use(kListMessages);
  row.bind(key).bind(page->after).bind(static_cast<std::int64_t>(rows_max));
  std::size_t reported = 0;
  while (row.row()) {
    if (row.integer(PAWL_COLUMN(kListMessages, id)) <= page->after) return no_progress("messages");
    page->after = row.integer(PAWL_COLUMN(kListMessages, id));
    MessageInfo info;
    info.number = row.integer(PAWL_COLUMN(kListMessages, id));
    info.kind =
        message_kind_name(static_cast<MessageKind>(row.integer(PAWL_COLUMN(kListMessages, kind))));
    info.name = row.bytes(PAWL_COLUMN(kListMessages, name));
    info.payload = row.bytes(PAWL_COLUMN(kListMessages, payload));
    info.is_timer = row.integer(PAWL_COLUMN(kListMessages, is_timer)) != 0;
    info.is_unread = row.integer(PAWL_COLUMN(kListMessages, is_unread)) != 0;
    visitor.on_message(info);
    ++reported;
  }
  page->more = reported == rows_max;
  return fail(row.status(), "list messages");
}

}  // namespace pawl::store
