#include "store/causes.hpp"

#include <algorithm>
#include <cstddef>

#include "core/clock_rules.hpp"
#include "store/work/work_row.hpp"
#include "store/work/work_sql.hpp"

namespace pawl::store {
namespace {

// Rows of each kind that are looked at: items of work, timers, children. The list is for people.
constexpr int kRowsMax = 100;
// Events that are looked at, the newest ones.
constexpr EventId kEventsMax = 2'048;

bool is_await(const Event& event) {
  switch (event.kind) {
    case EventKind::kWait:
    case EventKind::kValueRead:
    case EventKind::kSessionCheck: return true;
    case EventKind::kDequeue: return event.number == 0;
    default: return false;
  }
}

CauseKind cause_of(EventKind kind) {
  if (kind == EventKind::kWait) return CauseKind::kEvent;
  return kind == EventKind::kDequeue ? CauseKind::kQueue : CauseKind::kAnswer;
}

}  // namespace

struct Causes::Instance {
  InstanceKey key = 0;
  ExecutionId execution = 0;
  OrchestrationState state = OrchestrationState::kRunning;
  rules::WaitingInstance waits;
  OptionalMs parked_until;
  std::int64_t updated_ms = 0;
  FixedText<kNameBytesMax> name;
  FixedText<kNameBytesMax> version;
};

// Counts what the visitor gets, so that it gets something.
class Causes::Report {
 public:
  explicit Report(CauseVisitor& to) : to_(to) {}
  void add(const Cause& cause) {
    is_empty_ = false;
    to_.on_cause(cause);
  }
  [[nodiscard]] bool is_empty() const { return is_empty_; }

 private:
  CauseVisitor& to_;
  bool is_empty_ = true;
};

// Keeps the awaits that no later event has answered or closed.
class Causes::Awaits final : public EventSink {
 public:
  Status on_event(const Event& event) override {
    if (is_await(event) || event.kind == EventKind::kBranchOpened) {
      if (count_ == kMax) return Status::kOk;
      const BranchId opens =
          event.kind == EventKind::kBranchOpened ? static_cast<BranchId>(event.number) : 0;
      list_[count_++] = {event.id, event.branch, event.ordinal, opens};
    } else if (is_completion(event.kind)) {
      remove([&](const Await& one) { return one.event == event.ref; });
    } else if (event.kind == EventKind::kClose) {
      close(event.branch, event.number);
    }
    return Status::kOk;
  }
  [[nodiscard]] bool has(EventId event) const {
    return std::any_of(list_, list_ + count_, [&](const Await& one) { return one.event == event; });
  }

 private:
  struct Await {
    EventId event = 0;
    BranchId branch = 0;
    Ordinal ordinal = 0;
    BranchId opens = 0;  // 0: it is none that opens a branch
  };
  static constexpr std::size_t kMax = 128;

  template <typename Chosen>
  void remove(Chosen&& chosen) {
    count_ = static_cast<std::size_t>(std::remove_if(list_, list_ + count_, chosen) - list_);
  }
  // With a branch, all of its awaits and branches are closed.
  void close(BranchId branch, std::int64_t ordinal) {
    BranchId closed[kMax];
    std::size_t known = 0;
    const auto note = [&](const Await& one) {
      if (one.opens != 0 && known < kMax) closed[known++] = one.opens;
      return true;
    };
    remove([&](const Await& one) {
      return one.branch == branch && one.ordinal == ordinal && note(one);
    });
    for (std::size_t i = 0; i < known; ++i)
      remove([&](const Await& one) { return one.branch == closed[i] && note(one); });
  }

  Await list_[kMax];
  std::size_t count_ = 0;
};

Status Causes::begin() {
  PAWL_TRY(rows_.place.refresh_clock());
  // Without a batch in this boot the row of the clock is that of an earlier one.
  now_ = std::max(rows_.place.pawl_now(), context_.clock.mark);
  return Status::kOk;
}

Status Causes::explain_instance(std::string_view id, CauseVisitor& visitor) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  PAWL_TRY(begin());
  Report report(visitor);
  Instance instance;
  PAWL_TRY(find_instance(id, &instance));
  PAWL_TRY(explain_state(instance, report));
  if (instance.state != OrchestrationState::kRunning) return Status::kOk;
  PAWL_TRY(explain_work(instance, report));
  PAWL_TRY(explain_timers(instance, report));
  PAWL_TRY(explain_children(instance, report));
  PAWL_TRY(explain_awaits(instance, report));
  if (!report.is_empty()) return Status::kOk;
  Cause cause;
  cause.kind = CauseKind::kUnknown;
  cause.since_ms = instance.updated_ms;
  report.add(cause);
  return Status::kOk;
}

// ---- the instance as a whole ----

constexpr auto kWaitingInstance = PAWL_QUERY(
    "SELECT key,execution,state,name,version,ready_id,parked_until,unregistered,updated_stamp "
    "FROM instances AS i WHERE id=?1 AND " PAWL_IS_THERE);

Status Causes::find_instance(std::string_view id, Instance* out) {
  Statement row = connection_.use(kWaitingInstance);
  if (!row.bind_text(id).row()) return no_row(row, Status::kNotFound, "instances");
  out->key = row.integer(PAWL_COLUMN(kWaitingInstance, key));
  out->execution = row.integer(PAWL_COLUMN(kWaitingInstance, execution));
  out->state = static_cast<OrchestrationState>(row.integer(PAWL_COLUMN(kWaitingInstance, state)));
  out->name.assign_cut(row.bytes(PAWL_COLUMN(kWaitingInstance, name)));
  out->version.assign_cut(row.bytes(PAWL_COLUMN(kWaitingInstance, version)));
  out->updated_ms = row.integer(PAWL_COLUMN(kWaitingInstance, updated_stamp));
  out->parked_until = row.optional_ms(PAWL_COLUMN(kWaitingInstance, parked_until));
  out->waits.state = out->state;
  out->waits.is_ready = !row.is_null(PAWL_COLUMN(kWaitingInstance, ready_id));
  out->waits.is_parked = out->parked_until.has_value();
  out->waits.is_unregistered = !row.is_null(PAWL_COLUMN(kWaitingInstance, unregistered));
  return Status::kOk;
}

constexpr auto kStopText = PAWL_QUERY("SELECT stop_text FROM instances WHERE key=?1");

Status Causes::explain_state(const Instance& instance, Report& report) {
  rules::WorkersThere workers;
  PAWL_TRY(find_workers({}, {}, 0, &workers));
  const std::optional<CauseKind> kind = rules::cause_of(instance.waits, workers.any);
  if (!kind.has_value()) return Status::kOk;
  if (*kind == CauseKind::kEnded) return report_end(instance, report);
  Cause cause;
  cause.kind = *kind;
  cause.name = instance.name.view();
  cause.subject = instance.version.view();
  cause.since_ms = instance.updated_ms;
  if (*kind == CauseKind::kPause)
    cause.ends_in_ms = subtract_saturating(instance.parked_until.value(), now_);
  Statement text = connection_.use(kStopText);
  if (*kind == CauseKind::kStopped && text.bind(instance.key).row()) cause.error = text.bytes(0);
  PAWL_TRY(fail(text.status(), "instances"));
  report.add(cause);
  return Status::kOk;
}

Status Causes::report_end(const Instance& instance, Report& report) {
  class Ended final : public EventSink {
   public:
    Ended(const Instance& of, Report& to) : instance_(of), report_(to) {}
    Status on_event(const Event& end) override {
      add(end.error == ErrorKind::kNone ? std::string_view() : end.payload);
      return Status::kOk;
    }
    void add(std::string_view error) {
      Cause cause;
      cause.kind = CauseKind::kEnded;
      cause.name = instance_.name.view();
      cause.error = error;
      cause.since_ms = instance_.updated_ms;
      report_.add(cause);
    }

   private:
    const Instance& instance_;
    Report& report_;
  } ended(instance, report);
  const Status read = rows_.history.read_end(instance.key, instance.execution, ended);
  if (read == Status::kCorrupt) ended.add(context_.diagnostic.text());
  return read == Status::kCorrupt ? Status::kOk : read;
}

// ---- work ----

#define PAWL_LIVES(w) w ".buried=0 AND " w ".locked_until>?1"

constexpr auto kWorkersThere = PAWL_QUERY(
    "SELECT EXISTS(SELECT 1 FROM workers AS w\fINDEXED BY w_living\rWHERE w.draining=0 AND "
    PAWL_LIVES("w") ") AS is_any,"
    "EXISTS(SELECT 1 FROM handlers AS h JOIN workers AS w ON w.inc=h.inc WHERE h.name=?2 AND "
    "w.draining=0 AND " PAWL_LIVES("w") ") AS has_activity,"
    "EXISTS(SELECT 1 FROM handlers AS h JOIN workers AS w ON w.inc=h.inc WHERE h.name=?2 AND "
    "w.draining=0 AND " PAWL_LIVES("w") " AND (w.any_tag<>0 OR EXISTS(SELECT 1 FROM worker_tags AS t"
    " WHERE t.inc=h.inc AND t.tag=?3))) AS serves_tag,"
    "EXISTS(SELECT 1 FROM devices AS d JOIN workers AS w ON w.inc=d.inc WHERE d.sid=?4 AND "
    PAWL_LIVES("w") ") AS has_device");

Status Causes::find_workers(std::string_view activity, std::string_view tag, SessionKey session,
                            rules::WorkersThere* out) {
  Statement row = connection_.use(kWorkersThere);
  row.bind(now_).bind_text(activity).bind_text(tag).bind(session);
  if (!row.row()) return fail(row.status(), "workers");
  out->any = row.integer(PAWL_COLUMN(kWorkersThere, is_any)) != 0;
  out->has_activity = row.integer(PAWL_COLUMN(kWorkersThere, has_activity)) != 0;
  out->serves_tag = row.integer(PAWL_COLUMN(kWorkersThere, serves_tag)) != 0;
  out->has_device = row.integer(PAWL_COLUMN(kWorkersThere, has_device)) != 0;
  return Status::kOk;
}

#define PAWL_WAITING_COLUMNS                                                                    \
  "q.event,q.state,q.attempt,q.due,q.deadline,q.unavailable_due,q.last_error,q.outside_stamp,"  \
  "q.id,q.sid,w.node,h.meta,h.time,i.id AS instance_id,s.name AS session,"                      \
  "s.state AS session_state,s.owner,s.hard,s.head_id,coalesce(s.tag,q.tag) AS tag,"             \
  "o.node AS owner_node,coalesce(max(s.locked_until,coalesce(o.sessions_until,0)),0) AS lease," \
  "iif(" PAWL_LIVES("o") ",1,0) AS owner_lives"
#define PAWL_WAITING_JOINS                                                                         \
  " LEFT JOIN workers AS w ON w.inc=q.inc LEFT JOIN instances AS i ON i.key=q.instance"            \
  " LEFT JOIN sessions AS s ON s.sid=q.sid LEFT JOIN workers AS o ON o.inc=s.owner" PAWL_EVENT_OF( \
      "q")

constexpr auto kWaitingColumns = sql::Columns(PAWL_WAITING_COLUMNS);

// Two parts, as in list_activities().
constexpr auto kWorkOfInstance = PAWL_QUERY(
    "SELECT * FROM (SELECT " PAWL_WAITING_COLUMNS
    " FROM worker_queue AS q\fINDEXED BY wq_event\r" PAWL_WAITING_JOINS
    " WHERE q.instance=?2 AND q.execution=?3 AND q.id>=",
    sql::number<kIndexedWorkFrom>,
    " ORDER BY q.event LIMIT ?4) AS few UNION ALL SELECT * FROM (SELECT " PAWL_WAITING_COLUMNS
    " FROM worker_queue AS q" PAWL_WAITING_JOINS
    " WHERE q.instance=?2 AND q.execution=?3 AND q.id<",
    sql::number<kIndexedWorkFrom>, " ORDER BY q.event LIMIT ?4) AS few ORDER BY 1");
constexpr auto kWorkOfSession =
    PAWL_QUERY("SELECT " PAWL_WAITING_COLUMNS
               " FROM worker_queue AS q\fINDEXED BY wq_session\r" PAWL_WAITING_JOINS
               " WHERE q.sid=?2 ORDER BY q.state,q.id");

Status Causes::explain_work(const Instance& instance, Report& report) {
  Statement item = connection_.use(kWorkOfInstance);
  item.bind(now_).bind(instance.key).bind(instance.execution).bind(kRowsMax);
  return explain_items(item, report);
}

Status Causes::explain_items(Statement& item, Report& report) {
  for (int looks = 0; looks < kRowsMax && item.row(); ++looks) {
    Cause cause;
    const rules::WorkState state =
        rules::work_state_of(item.integer(PAWL_COLUMN(kWaitingColumns, q.state)));
    const OptionalMs due = item.optional_ms(PAWL_COLUMN(kWaitingColumns, q.due));
    cause.event_id = item.integer(PAWL_COLUMN(kWaitingColumns, q.event));
    cause.attempt = item.integer(PAWL_COLUMN(kWaitingColumns, q.attempt));
    cause.name = context_.activity_name(item.bytes(PAWL_COLUMN(kWaitingColumns, h.meta)));
    cause.subject = item.bytes(PAWL_COLUMN(kWaitingColumns, session));
    cause.instance_id = item.bytes(PAWL_COLUMN(kWaitingColumns, instance_id));
    cause.error = item.bytes(PAWL_COLUMN(kWaitingColumns, q.last_error));
    cause.since_ms = item.integer(PAWL_COLUMN(kWaitingColumns, h.time));
    const std::string_view tag = item.bytes(PAWL_COLUMN(kWaitingColumns, tag));
    const SessionKey sid = item.integer(PAWL_COLUMN(kWaitingColumns, q.sid));
    rules::WorkersThere workers;
    PAWL_TRY(find_workers(cause.name, tag, sid, &workers));
    workers.owner_lives = item.integer(PAWL_COLUMN(kWaitingColumns, owner_lives)) != 0;
    rules::SessionRow session;
    session.state = rules::state_of(item.integer(PAWL_COLUMN(kWaitingColumns, session_state)));
    session.device = item.integer(PAWL_COLUMN(kWaitingColumns, s.hard)) != 0;
    if (!item.is_null(PAWL_COLUMN(kWaitingColumns, s.owner)))
      session.owner = item.integer(PAWL_COLUMN(kWaitingColumns, s.owner));
    const bool is_head = item.integer(PAWL_COLUMN(kWaitingColumns, s.head_id)) ==
                         item.integer(PAWL_COLUMN(kWaitingColumns, q.id));
    cause.kind = rules::cause_of(
        {state, due.has_value(), cause.attempt > 0, is_head, sid == 0 ? nullptr : &session},
        workers);
    cause.ends_in_ms = item.optional_ms(PAWL_COLUMN(kWaitingColumns, q.deadline));
    cause.ends_in_ms.keep_earlier(
        item.optional_ms(PAWL_COLUMN(kWaitingColumns, q.unavailable_due)));
    switch (cause.kind) {
      case CauseKind::kRuns:
      case CauseKind::kEnding: cause.node = item.bytes(PAWL_COLUMN(kWaitingColumns, w.node)); break;
      case CauseKind::kOutside:
        cause.since_ms = item.integer(PAWL_COLUMN(kWaitingColumns, q.outside_stamp));
        break;
      case CauseKind::kRetry:
      case CauseKind::kPaced: cause.ends_in_ms = due; break;
      case CauseKind::kNoTag: cause.subject = tag; break;
      case CauseKind::kHeld:
        cause.ends_in_ms.keep_earlier(item.integer(PAWL_COLUMN(kWaitingColumns, lease)));
        cause.node = item.bytes(PAWL_COLUMN(kWaitingColumns, owner_node));
        break;
      default: cause.node = item.bytes(PAWL_COLUMN(kWaitingColumns, owner_node)); break;
    }
    if (cause.ends_in_ms.has_value())
      cause.ends_in_ms = subtract_saturating(cause.ends_in_ms.value(), now_);
    report.add(cause);
  }
  return fail(item.status(), "work");
}

// ---- timers and children ----

constexpr auto kTimersOf = PAWL_QUERY(
    "SELECT timer_ref AS ref,timer_base AS base,timer_due AS due FROM instances WHERE key=?1 AND "
    "timer_due IS NOT NULL UNION ALL SELECT ref,base,due FROM orchestrator_queue"
    "\fINDEXED BY oq_instance\rWHERE instance=?1 AND due IS NOT NULL AND execution=?2 AND kind=",
    sql::number<MessageKind::kTimerFired>, " ORDER BY 1");

Status Causes::explain_timers(const Instance& instance, Report& report) {
  Statement row = connection_.use(kTimersOf);
  row.bind(instance.key).bind(instance.execution);
  for (int looks = 0; looks < kRowsMax && row.row(); ++looks) {
    Cause cause;
    cause.kind = CauseKind::kTimer;
    cause.event_id = row.integer(PAWL_COLUMN(kTimersOf, ref));
    std::int64_t due = row.integer(PAWL_COLUMN(kTimersOf, due));
    const bool is_utc =
        row.integer(PAWL_COLUMN(kTimersOf, base)) == static_cast<std::int64_t>(TimeBase::kUtc);
    if (is_utc && !context_.clock.off_known) {
      cause.kind = CauseKind::kNoClock;
    } else {
      if (is_utc) due = subtract_saturating(due, context_.clock.off);
      cause.ends_in_ms = subtract_saturating(due, now_);
    }
    report.add(cause);
  }
  return fail(row.status(), "timers");
}

constexpr auto kChildrenOf = PAWL_QUERY(
    "SELECT id,name,created_stamp,parent_event FROM instances\fINDEXED BY i_children\r"
    "WHERE parent=?1 AND parent_execution=?2 AND finished_at IS NULL ORDER BY parent_event");

Status Causes::explain_children(const Instance& instance, Report& report) {
  Statement row = connection_.use(kChildrenOf);
  row.bind(instance.key).bind(instance.execution);
  for (int looks = 0; looks < kRowsMax && row.row(); ++looks) {
    Cause cause;
    cause.kind = CauseKind::kChild;
    cause.event_id = row.integer(PAWL_COLUMN(kChildrenOf, parent_event));
    cause.name = row.bytes(PAWL_COLUMN(kChildrenOf, name));
    cause.subject = row.bytes(PAWL_COLUMN(kChildrenOf, id));
    cause.since_ms = row.integer(PAWL_COLUMN(kChildrenOf, created_stamp));
    report.add(cause);
  }
  return fail(row.status(), "children");
}

// ---- what only the history has ----

Status Causes::explain_awaits(const Instance& instance, Report& report) {
  class Show final : public EventSink {
   public:
    Show(const Awaits& of, Report& to) : open_(of), report_(to) {}
    Status on_event(const Event& event) override {
      if (!is_await(event) || !open_.has(event.id)) return Status::kOk;
      Cause cause;
      cause.kind = cause_of(event.kind);
      cause.event_id = event.id;
      cause.name = event.name;
      cause.subject = event.session;
      cause.since_ms = event.time_ms;
      report_.add(cause);
      return Status::kOk;
    }

   private:
    const Awaits& open_;
    Report& report_;
  };
  HistoryPlace last;
  PAWL_TRY(rows_.history.find_last(instance.key, instance.execution, &last));
  const EventId after = last.event > kEventsMax ? last.event - kEventsMax : 0;
  Awaits open;
  Status read = rows_.history.read_history(instance.key, instance.execution, after, open);
  Show show(open, report);
  if (read == Status::kOk)
    read = rows_.history.read_history(instance.key, instance.execution, after, show);
  // Reading the history shows the damage; the rest of this answer stays right.
  return read == Status::kCorrupt || read == Status::kNotFound ? Status::kOk : read;
}

// ---- sessions ----

constexpr auto kFindSession = PAWL_QUERY(
    "SELECT s.sid,s.state,s.ended,s.created_stamp,o.node FROM sessions AS s LEFT JOIN workers AS o"
    " ON o.inc=s.owner WHERE s.scope=?1 AND s.name=?2");

Status Causes::explain_session(std::string_view instance, std::string_view session,
                               CauseVisitor& visitor) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  PAWL_TRY(begin());
  Report report(visitor);
  InstanceKey opener = 0;
  if (!instance.empty()) PAWL_TRY(rows_.instances.find_key(instance, &opener));
  Statement row = connection_.use(kFindSession);
  if (!row.bind(opener).bind_text(session).row()) return no_row(row, Status::kNotFound, "sessions");
  {
    Statement item = connection_.use(kWorkOfSession);
    item.bind(now_).bind(row.integer(PAWL_COLUMN(kFindSession, s.sid)));
    PAWL_TRY(explain_items(item, report));
  }
  if (!report.is_empty()) return Status::kOk;
  Cause cause;
  const rules::State state = rules::state_of(row.integer(PAWL_COLUMN(kFindSession, s.state)));
  cause.kind = rules::is_open(state) ? CauseKind::kIdle : CauseKind::kSessionEnded;
  cause.subject = session;
  cause.error = row.bytes(PAWL_COLUMN(kFindSession, s.ended));
  cause.node = row.bytes(PAWL_COLUMN(kFindSession, o.node));
  cause.since_ms = row.integer(PAWL_COLUMN(kFindSession, s.created_stamp));
  report.add(cause);
  return Status::kOk;
}

}  // namespace pawl::store
