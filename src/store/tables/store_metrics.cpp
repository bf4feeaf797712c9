#include "store_metrics.hpp"

#include <cstdint>

#include "clock_rules.hpp"
#include "housekeeping.hpp"
#include "instance_store.hpp"
#include "message_table.hpp"

namespace pawl::store {
namespace {

constexpr std::int64_t kCountMax = 100'000;  // rows counted of each table

}  // namespace

Status StoreMetrics::read_metrics(Metrics* out) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  *out = Metrics();
  PAWL_TRY(count_instances(out));
  PAWL_TRY(count_executions(out));
  PAWL_TRY(count_messages(out));
  PAWL_TRY(count_work(out));
  PAWL_TRY(directory_.count_states(kCountMax, out));
  PAWL_TRY(directory_.read_session_totals(&out->session_ends));
  out->sessions_created += static_cast<std::int64_t>(out->session_ends.ended);
  SpaceUse use;
  PAWL_TRY(space_.read_use(&use));
  out->used_bytes = use.used_bytes;
  out->log_bytes = use.log_bytes;
  out->quota_bytes = use.quota_bytes;
  const Status room = space_.look_for_room();
  out->refuses_new = room == Status::kQuota;
  return out->refuses_new ? Status::kOk : room;
}

constexpr sql::Query kCountInstances{"SELECT state FROM instances WHERE key>0 LIMIT ?1"};

Status StoreMetrics::count_instances(Metrics* out) {
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

constexpr sql::Query kCountExecutions{
    "SELECT coalesce(last_event,(SELECT i.last_event FROM instances AS i WHERE i.key=e.instance "
    "AND "
    "i.execution=e.execution)) FROM executions AS e WHERE instance>0 LIMIT ?1"};

// Reads no history: the row of the execution, or that of its instance, has the number of events.
Status StoreMetrics::count_executions(Metrics* out) {
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

constexpr auto kCountMessagesText =
    sql::join("SELECT due IS NOT NULL,waiting=", sql::number<Waiting::kUnread>,
              " FROM orchestrator_queue WHERE id>0 LIMIT ?1");
constexpr sql::Query kCountMessages{kCountMessagesText};

Status StoreMetrics::count_messages(Metrics* out) {
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

constexpr sql::Query kCountWork{"SELECT state FROM worker_queue WHERE id>0 LIMIT ?1"};

Status StoreMetrics::count_work(Metrics* out) {
  Statement row = connection_.use(kCountWork);
  row.bind(kCountMax + 1);
  std::int64_t rows = 0;
  for (; row.row() && rows < kCountMax; ++rows) {
    switch (row.integer(0)) {
      case 0: ++out->activities_ready; break;
      case 2: ++out->activities_delayed; break;
      default: ++out->activities_running; break;  // also items cancelled while they run
    }
  }
  if (rows == kCountMax) out->complete = false;
  PAWL_TRY(fail(row.status(), "count work"));
  PAWL_TRY(sessions_.count_waiting(&out->sessions_waiting));
  if (out->sessions_waiting == kWaitingSessionsMax) out->complete = false;
  return Status::kOk;
}

}  // namespace pawl::store
