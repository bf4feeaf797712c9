// What operators ask for: listings, counts, the end of an instance from outside.
//
// A request to terminate is part of the instance's row (stop_kind), not a message: it needs no place
// in the queue, no damaged message can stand before it, and a higher revision makes every turn that has
// not seen it stale.
#include "sqlite_provider.hpp"

namespace pawl::store {
namespace {

constexpr std::size_t kListLooksMax = 1024;  // rows of one page
constexpr std::int64_t kCountMax = 100'000;  // rows of each table

static_assert(
    static_cast<int>(OrchestrationState::kRunning) == static_cast<int>(InstanceState::kRunning) &&
    static_cast<int>(OrchestrationState::kCompleted) ==
        static_cast<int>(InstanceState::kCompleted) &&
    static_cast<int>(OrchestrationState::kFailed) == static_cast<int>(InstanceState::kFailed) &&
    static_cast<int>(OrchestrationState::kStopped) == static_cast<int>(InstanceState::kStopped) &&
    static_cast<int>(OrchestrationState::kSuspended) ==
        static_cast<int>(InstanceState::kSuspended));
static_assert(static_cast<int>(ErrorKind::kTerminated) == 15, "in the statements");
static_assert(static_cast<int>(ExecutionState::kContinuedAsNew) ==
              static_cast<int>(EndKind::kContinuedAsNew));

#define PAWL_INFO_COLUMNS                                                                     \
  "i.key,i.id,i.name,i.version,i.state,i.execution,i.created_stamp,i.updated_stamp,i.parent," \
  "(SELECT p.id FROM instances AS p WHERE p.key=i.parent)"

InstanceInfo info_of(const Statement& row) {
  InstanceInfo info;
  info.key = row.integer(0);
  info.id = row.bytes(1);
  info.name = row.bytes(2);
  info.version = row.bytes(3);
  info.state = static_cast<OrchestrationState>(row.integer(4));
  info.execution_id = row.integer(5);
  info.created_ms = row.integer(6);
  info.updated_ms = row.integer(7);
  info.parent_id = row.bytes(9);
  return info;
}

bool within(std::int64_t stamp, std::int64_t from, std::int64_t before) {
  return stamp >= from && (before == 0 || stamp < before);
}

bool passes(const InstanceInfo& info, const InstanceFilter& filter) {
  return (filter.name.empty() || info.name == filter.name) &&
         info.id.substr(0, filter.id_prefix.size()) == filter.id_prefix &&
         (filter.any_state || info.state == filter.state) &&
         !(filter.roots_only && !info.parent_id.empty()) &&
         within(info.created_ms, filter.created_from_ms, filter.created_before_ms) &&
         within(info.updated_ms, filter.updated_from_ms, filter.updated_before_ms);
}

}  // namespace

// ---- reading ------------------------------------------------------------------------------------

constexpr sql::Query kList{"SELECT " PAWL_INFO_COLUMNS "," PAWL_IS_THERE
                           " FROM instances AS i WHERE i.key>?1 ORDER BY i.key"};

Status SqliteProvider::list_instances(const InstanceFilter& filter, Page* page,
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
  std::size_t told = 0;
  for (std::size_t looks = 0; looks < kListLooksMax && told < page->rows_max; ++looks) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    const InstanceInfo info = info_of(row);
    if (info.key <= page->after) return no_progress("instances");
    page->after = info.key;
    if (row.integer(10) == 0 || !passes(info, filter)) continue;
    visitor.on_instance(info);
    ++told;
  }
  return fail(row.status(), "list instances");
}

// Page::after counts the ids then.
Status SqliteProvider::list_ids(const InstanceFilter& filter, Page* page,
                                InstanceVisitor& visitor) {
  class Passing final : public InstanceVisitor {
   public:
    Passing(const InstanceFilter& which, InstanceVisitor& to) : filter(which), visitor(to) {}
    void on_instance(const InstanceInfo& info) noexcept override {
      if (!passes(info, filter)) return;
      visitor.on_instance(info);
      ++told;
    }
    const InstanceFilter& filter;
    InstanceVisitor& visitor;
    std::size_t told = 0;
  } passing(filter, visitor);
  const auto count = static_cast<std::int64_t>(filter.id_count);
  for (std::size_t looks = 0; page->after < count; ++looks) {
    page->more = true;
    if (looks == kListLooksMax || passing.told == page->rows_max) return Status::kOk;
    const Status read = read_instance_info(filter.ids[page->after], passing);
    if (read != Status::kNotFound) PAWL_TRY(read);
    ++page->after;
  }
  page->more = false;
  return Status::kOk;
}

constexpr sql::Query kListTree{
    "SELECT * FROM (SELECT " PAWL_INFO_COLUMNS
    " FROM instances AS i WHERE i.key>?2 AND NOT ?3 AND i.key="
    "(SELECT coalesce(o.root,o.key) FROM instances AS o WHERE o.key=?1) AND " PAWL_IS_THERE
    ") UNION ALL SELECT * FROM (SELECT " PAWL_INFO_COLUMNS
    " FROM instances AS i INDEXED BY i_tree WHERE i.key>?2 AND i.root IS NOT NULL AND i.root="
    "(SELECT coalesce(o.root,o.key) FROM instances AS o WHERE o.key=?1) AND " PAWL_IS_THERE
    " ORDER BY i.key)"};

// Children have higher keys than whoever started them.
Status SqliteProvider::list_tree(InstanceKey of, bool children_only, Page* page,
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
  std::size_t told = 0;
  for (std::size_t looks = 0; looks < kListLooksMax && told < page->rows_max; ++looks) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    if (row.integer(0) <= page->after) return no_progress("instances");
    page->after = row.integer(0);
    if (children_only && row.integer(8) != of) continue;
    visitor.on_instance(info_of(row));
    ++told;
  }
  return fail(row.status(), "list a tree");
}

constexpr sql::Query kInfo{"SELECT " PAWL_INFO_COLUMNS
                           " FROM instances AS i WHERE i.id=?1 AND " PAWL_IS_THERE};

Status SqliteProvider::read_instance_info(std::string_view id, InstanceVisitor& visitor) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kInfo);
  if (!row.bind_text(id).row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "instances");
  visitor.on_instance(info_of(row));
  return Status::kOk;
}

constexpr sql::Query kHistoryStats{
    "SELECT count(*),coalesce(sum(coalesce(length(CAST(meta AS BLOB)),0)+"
    "coalesce(length(payload),0)),0) FROM history WHERE instance=?1 AND "
    "execution=(SELECT execution FROM instances WHERE key=?1)"};
constexpr sql::Query kMessageStats{
    "SELECT count(*) FROM orchestrator_queue INDEXED BY "
    "oq_instance WHERE instance=?1 AND due IS NULL"};
constexpr sql::Query kValueStats{
    "SELECT count(*),coalesce(sum(length(CAST(key AS BLOB))+coalesce(length(value),0)),0) "
    "FROM kv WHERE instance=?1 AND cleared=0 AND NOT EXISTS(SELECT 1 FROM kv AS later WHERE "
    "later.instance=?1 AND later.key=kv.key AND later.execution>kv.execution)"};

Status SqliteProvider::read_instance_stats(std::string_view id, InstanceStats* out) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  InstanceKey key = 0;
  PAWL_TRY(instances_.find_key(id, &key));
  {
    Statement row = connection_.use(kHistoryStats);
    if (row.bind(key).row()) *out = {row.integer(0), row.integer(1), 0, 0, 0};
    PAWL_TRY(fail(row.status(), "history"));
  }
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

constexpr sql::Query kExecutions{
    "SELECT execution,end,last_event,started_stamp,ended_stamp FROM executions "
    "WHERE instance=?1 ORDER BY execution"};

Status SqliteProvider::list_executions(InstanceKey key, ExecutionVisitor& visitor) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kExecutions);
  row.bind(key);
  while (row.row()) {
    ExecutionInfo info;
    info.execution_id = row.integer(0);
    info.state = static_cast<ExecutionState>(row.integer(1));
    info.events = row.integer(2);
    info.started_ms = row.integer(3);
    info.ended_ms = row.integer(4);
    visitor.on_execution(info);
  }
  return fail(row.status(), "list executions");
}

constexpr sql::Query kListActivities{
    "SELECT q.event,q.state,q.attempt,q.failures,w.node,q.progress,q.last_error,h.meta"
    " FROM worker_queue q INDEXED BY wq_event LEFT JOIN workers w ON w.inc=q.inc"
    " LEFT JOIN history h ON h.instance=q.instance AND h.execution=q.execution AND h.id=q.event"
    " WHERE q.instance=?1 AND q.execution=?2 AND q.state<3 ORDER BY q.event"};

Status SqliteProvider::list_activities(InstanceKey key, ExecutionId execution,
                                       ActivityVisitor& visitor) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kListActivities);
  row.bind(key).bind(execution);
  while (row.row()) {
    Event event;
    event.kind = EventKind::kActivity;
    JsonMemory memory(context_.json_memory, sizeof context_.json_memory);
    const Status decoded =
        decode_meta(row.bytes(7), &event, context_.meta_text, sizeof context_.meta_text);
    ActivityInfo info;
    info.activity_id = row.integer(0);
    if (decoded == Status::kOk) info.name = event.name;
    info.state = static_cast<ActivityState>(row.integer(1));
    info.attempt = row.integer(2);
    info.retry_attempt = add_saturating(row.integer(3), 1);
    info.node = row.bytes(4);
    info.last_progress = row.bytes(5);
    info.last_error = row.bytes(6);
    visitor.on_activity(info);
  }
  return fail(row.status(), "list activities");
}

Status SqliteProvider::read_metrics(Metrics* out) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  *out = Metrics();
  PAWL_TRY(count_instances(out));
  PAWL_TRY(count_messages(out));
  PAWL_TRY(count_work(out));
  PAWL_TRY(directory_.count_states(kCountMax, out));
  PAWL_TRY(directory_.read_session_totals(&out->session_ends));
  SpaceUse use;
  PAWL_TRY(read_use(&use));
  out->used_bytes = use.used_bytes;
  out->log_bytes = use.log_bytes;
  out->quota_bytes = use.quota_bytes;
  const Status room = look_for_room();
  out->refuses_new = room == Status::kQuota;
  return out->refuses_new ? Status::kOk : room;
}

constexpr sql::Query kCountInstances{"SELECT state FROM instances WHERE key>0 LIMIT ?1"};

Status SqliteProvider::count_instances(Metrics* out) {
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
  }
  if (rows == kCountMax) out->complete = false;
  return fail(row.status(), "count instances");
}

constexpr sql::Query kCountMessages{
    "SELECT due IS NOT NULL FROM orchestrator_queue WHERE id>0 LIMIT ?1"};

Status SqliteProvider::count_messages(Metrics* out) {
  Statement row = connection_.use(kCountMessages);
  row.bind(kCountMax + 1);
  std::int64_t rows = 0;
  for (; row.row() && rows < kCountMax; ++rows)
    ++(row.integer(0) != 0 ? out->timers_waiting : out->messages_waiting);
  if (rows == kCountMax) out->complete = false;
  return fail(row.status(), "count messages");
}

constexpr sql::Query kCountWork{"SELECT state FROM worker_queue WHERE id>0 LIMIT ?1"};

Status SqliteProvider::count_work(Metrics* out) {
  Statement row = connection_.use(kCountWork);
  row.bind(kCountMax + 1);
  std::int64_t rows = 0;
  for (; row.row() && rows < kCountMax; ++rows) {
    switch (row.integer(0)) {
      case 0: ++out->activities_ready; break;
      case 2: ++out->activities_delayed; break;
      default: ++out->activities_running; break;  // also those cancelled while they run
    }
  }
  if (rows == kCountMax) out->complete = false;
  PAWL_TRY(fail(row.status(), "count work"));
  PAWL_TRY(sessions_.count_waiting(&out->sessions_waiting));
  if (out->sessions_waiting == kWaitingSessionsMax) out->complete = false;
  return Status::kOk;
}

// ---- suspended, resumed, terminated -------------------------------------------------------------

constexpr sql::Query kFind{
    "SELECT key,state,stop_kind FROM instances AS i WHERE id=?1 AND " PAWL_IS_THERE};

Status SqliteProvider::find_managed(std::string_view id, Managed* out) {
  Statement row = connection_.use(kFind);
  if (!row.bind_text(id).row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "instances");
  out->key = row.integer(0);
  out->ended = has_ended(row.integer(1));
  out->terminating = row.integer(2) == static_cast<std::int64_t>(ErrorKind::kTerminated);
  return out->ended ? Status::kStale : Status::kOk;
}

constexpr sql::Query kTerminate{
    "UPDATE instances SET "
    "state=0,revision=revision+1,parked_until=NULL,aside=NULL,stop_kind=15,"
    "stop_text=?2,home=0,ready_at=?3,ready_id=coalesce(ready_id,"
    "(SELECT coalesce(max(id),0)+1 FROM orchestrator_queue)) WHERE key=?1"};

Status SqliteProvider::terminate_instance(std::string_view id, std::string_view reason) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  due_.moves(DueKind::kParked);
  due_.comes(DueKind::kTimer);  // of one that was suspended or stopped none counted
  return fail_written(connection_.use(kTerminate)
                          .bind(found.key)
                          .bind_text(cut_text(reason, kErrorTextBytesMax))
                          .bind(batch_.now)
                          .run(),
                      "terminate instance");
}

constexpr sql::Query kChangeState{
    "UPDATE instances SET state=4,parked_until=?2,updated_stamp=?3 WHERE key=?1"};

Status SqliteProvider::suspend_instance(std::string_view id) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  if (found.terminating) return Status::kStale;
  due_.comes(DueKind::kParked);
  due_.moves(DueKind::kTimer);
  return fail_written(
      connection_.use(kChangeState).bind(found.key).bind(kNever).bind(batch_.stamp_ms).run(),
      "suspend instance");
}

constexpr sql::Query kResume{
    "UPDATE instances SET state=0,parked_until=NULL,ready_at=?2,updated_stamp=?3 "
    "WHERE key=?1 AND state IN (3,4)"};

Status SqliteProvider::resume_instance(std::string_view id) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  due_.moves(DueKind::kParked);
  due_.comes(DueKind::kTimer);  // while it was suspended or stopped none of it counted
  return fail_written(
      connection_.use(kResume).bind(found.key).bind(batch_.now).bind(batch_.stamp_ms).run(),
      "resume instance");
}

}  // namespace pawl::store
