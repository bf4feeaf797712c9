#include "store/instance/verbs.hpp"

#include <cstdint>
#include <limits>

#include "codec/event.hpp"
#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "store/column_fits.hpp"

namespace pawl::store {
constexpr auto kMakeReady =
    PAWL_QUERY("UPDATE instances SET ready_id=?2 WHERE key=?1 AND ready_id IS NULL");

Status InstanceVerbs::terminate_instance(std::string_view id, std::string_view reason) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  InstanceWrite write;
  write.home = 0;
  write.ready_at = batch_.now;
  write.why = ErrorKind::kTerminated;
  write.text = cut_text(reason, kErrorTextBytesMax);
  write.revisions = 1;
  PAWL_TRY(written(rows_.instances.write_state(found.key, write)));
  return fail_written(connection_.use(kMakeReady).bind(found.key).bind(context_.next_token()).run(),
                      "terminate instance");
}

Status InstanceVerbs::suspend_instance(std::string_view id) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  if (found.terminating) return Status::kStale;
  InstanceWrite write;
  write.state = InstanceState::kSuspended;
  write.parked_until = kNever;
  write.keeps_why = true;
  write.keeps_unregistered = true;
  write.stamps = true;
  return written(rows_.instances.write_state(found.key, write));
}

Status InstanceVerbs::resume_instance(std::string_view id) {
  require_batch();
  Managed found;
  PAWL_TRY(find_managed(id, &found));
  if (found.state != InstanceState::kStopped && found.state != InstanceState::kSuspended)
    return Status::kOk;
  InstanceWrite write;
  write.ready_at = batch_.now;
  write.keeps_why = true;
  write.keeps_unregistered = true;
  write.stamps = true;
  return written(rows_.instances.write_state(found.key, write));
}

constexpr auto kWasAskedToStop = PAWL_QUERY(
    "SELECT EXISTS(SELECT 1 FROM orchestrator_queue\fINDEXED BY oq_instance\rWHERE instance=?1 AND "
    "kind=",
    sql::number<MessageKind::kCancel>, ")");

Status InstanceVerbs::change_time_limit(std::string_view id, OptionalMs limit_ms) {
  require_batch();
  Managed found;
  Status status = find_managed(id, &found);
  if (status == Status::kOk) {
    EventId taken = 0;
    PAWL_TRY(
        rows_.history.find_first(found.key, found.execution, EventKind::kCancelRequested, &taken));
    Statement row = connection_.use(kWasAskedToStop);
    if (!row.bind(found.key).row()) return fail(row.status(), "find a cancel request");
    if (found.terminating || taken != 0 || row.integer(0) != 0) status = Status::kStale;
  }
  if (status == Status::kStale)
    context_.diagnostic.format("the instance %s", found.ended ? "has ended" : "was asked to stop");
  PAWL_TRY(status);
  return written(rows_.instances.write_time_limit(found.key, {limit_ms.value_or(0)}));
}

constexpr auto kFind = PAWL_QUERY(
    "SELECT key,state,stop_kind,execution FROM instances AS i WHERE id=?1 AND " PAWL_IS_THERE);

Status InstanceVerbs::find_managed(std::string_view id, Managed* out) {
  Statement row = connection_.use(kFind);
  if (!row.bind_text(id).row()) return no_row(row, Status::kNotFound, "instances");
  out->key = row.integer(PAWL_COLUMN(kFind, key));
  out->state = static_cast<InstanceState>(row.integer(PAWL_COLUMN(kFind, state)));
  out->ended = has_ended(row.integer(PAWL_COLUMN(kFind, state)));
  out->terminating = row.integer(PAWL_COLUMN(kFind, stop_kind)) ==
                     static_cast<std::int64_t>(ErrorKind::kTerminated);
  out->execution = row.integer(PAWL_COLUMN(kFind, execution));
  return out->ended ? Status::kStale : Status::kOk;
}

namespace {

constexpr EventId kEveryEvent = std::numeric_limits<EventId>::max();

bool has_failed(const Event& event) {
  return event.error != ErrorKind::kNone &&
         (event.kind == EventKind::kActivityDone || event.kind == EventKind::kChildDone);
}

// Keeps how the execution ended.
class KeepEnd final : public EventSink {
 public:
  Status on_event(const Event& event) override {
    id = event.id;
    error = event.error;
    text.assign_cut(event.payload);
    return Status::kOk;
  }
  EventId id = 0;
  ErrorKind error = ErrorKind::kNone;
  FixedText<kErrorTextBytesMax> text;
};

// Finds the failed results among the events of an execution.
class FindCause final : public EventSink {
 public:
  // A failed result, and the last event before it that is no result. The results behind that event
  // were taken in by one turn or by several; any part of them is a valid intake of the next turn.
  struct Cause {
    EventId cut = 0;  // 0: there is no such result
    EventId command = 0;
    bool is_child = false;
  };
  explicit FindCause(const KeepEnd& end) : end_(end) {}
  Status on_event(const Event& event) override {
    if (event.id >= end_.id) return Status::kOk;
    if (event.kind == EventKind::kCancelRequested) was_cancelled = true;
    if (!is_completion(event.kind)) {
      last_other_ = event.id;
      return Status::kOk;
    }
    const Cause cause = {last_other_, event.ref, event.kind == EventKind::kChildDone};
    last = has_failed(event) ? cause : Cause();
    if (has_failed(event) && event.error == end_.error && event.payload == end_.text.view())
      same = cause;
    return Status::kOk;
  }
  Cause same;  // the last failure with the error that the execution ended with
  Cause last;  // the last result, if it is a failure
  bool was_cancelled = false;

 private:
  const KeepEnd& end_;
  EventId last_other_ = 0;
};

// Keeps the first event that is read, and stops.
class KeepFirst final : public EventSink {
 public:
  Status on_event(const Event& event) override {
    kind = event.kind;
    id.assign_cut(event.session);
    return Status::kStale;
  }
  EventKind kind = EventKind::kEnded;
  FixedText<kNameBytesMax> id;
};

class EndEvent final : public EventSource {
 public:
  [[nodiscard]] const Event& event(EventId /*id*/) const override { return is; }
  [[nodiscard]] bool is_open(EventId /*command*/) const override { return false; }
  Event is;
};

// True for an end whose reason lies outside the code: the history before it is good.
bool is_ended_from_outside(ErrorKind error) {
  return error == ErrorKind::kPoison || error == ErrorKind::kLimit ||
         error == ErrorKind::kTerminated;
}

}  // namespace

constexpr auto kFindRestarted = PAWL_QUERY(
    "SELECT key,state,execution,parent IS NOT NULL AS is_child,"
    "last_event,last_row,behaviour,\ftypeof(time_limit)='integer'\r AND time_limit>0 AS "
    "has_limit,time_limit "
    "FROM instances AS i WHERE id=?1 AND " PAWL_IS_THERE);

Status InstanceVerbs::find(std::string_view id, Found* out) {
  Statement row = connection_.use(kFindRestarted);
  if (!row.bind_text(id).row()) return no_row(row, Status::kNotFound, "instances");
  bool whole = true;
  out->key = row.integer(PAWL_COLUMN(kFindRestarted, key));
  out->state = static_cast<InstanceState>(row.integer(PAWL_COLUMN(kFindRestarted, state), &whole));
  out->execution = row.integer(PAWL_COLUMN(kFindRestarted, execution), &whole);
  out->is_child = row.integer(PAWL_COLUMN(kFindRestarted, is_child)) != 0;
  whole =
      fits(row.integer(PAWL_COLUMN(kFindRestarted, last_event), &whole), &out->last.event) && whole;
  if (row.is_integer(PAWL_COLUMN(kFindRestarted, last_row)))
    out->last.row = row.integer(PAWL_COLUMN(kFindRestarted, last_row));
  out->behaviour = row.integer(PAWL_COLUMN(kFindRestarted, behaviour), &whole);
  if (row.integer(PAWL_COLUMN(kFindRestarted, has_limit)) != 0)
    out->time_limit_ms = row.integer(PAWL_COLUMN(kFindRestarted, time_limit), &whole);
  if (whole && out->execution >= 1 && out->execution < std::numeric_limits<EventId>::max())
    return Status::kOk;
  return refuse(Status::kCorrupt, "a number of its row cannot be read");
}

Status InstanceVerbs::refuse(Status status, const char* why) {
  context_.diagnostic.format("not restarted: %s", why);
  return status;
}

Status InstanceVerbs::check(const Found& found, const Restart& how) {
  switch (found.state) {
    case InstanceState::kRunning: return refuse(Status::kStillRunning, "the instance runs");
    case InstanceState::kSuspended:
      return refuse(Status::kStillRunning, "the instance is suspended; resume it");
    case InstanceState::kCompleted:
      return refuse(Status::kNotRestartable, "the instance completed");
    case InstanceState::kStopped: return Status::kOk;
    case InstanceState::kFailed:
      if (found.is_child)
        return refuse(Status::kChildInstance,
                      "its parent has its failure already; restart the parent");
      if (how.from == RestartFrom::kStart || found.last.event > 0) return Status::kOk;
      return refuse(Status::kNotRestartable, "it has no history");
    case InstanceState::kDeleted: break;
  }
  return Status::kNotFound;
}

Status InstanceVerbs::restart_instance(const Restart& how) {
  require_batch();
  Found found;
  PAWL_TRY(find(how.id, &found));
  PAWL_TRY(check(found, how));
  PAWL_TRY(rows_.place.room_for_new());
  if (found.state == InstanceState::kStopped) {
    // It has not ended, so its history is as good as it can be, and is tried again unchanged.
    if (how.from == RestartFrom::kLastGoodEvent) return written(go_on(found));
    if (found.last.event == 0) return written(restart_unbegun(found, how));
    EventId request = 0;
    ErrorKind about = ErrorKind::kNone;
    PAWL_TRY(find_request(found, &request));
    PAWL_TRY(written(end_stopped(found)));
    if (request != 0) PAWL_TRY(written(hand_on_request(found, request, &about)));
    return written(begin_from_start(found, found.execution, how, about));
  }
  if (how.from == RestartFrom::kStart) {
    EventId request = 0;
    PAWL_TRY(find_request(found, &request));
    PAWL_TRY(rows_.instances.settle_values(found.key, found.execution));
    const ErrorKind about = request == 0 ? ErrorKind::kNone : ErrorKind::kClosed;
    return written(begin_from_start(found, found.execution, how, about));
  }
  Message message;
  PAWL_TRY(find_cut(found, &message.ref));
  message.execution = found.execution + 1;
  return written(begin(found, how, message));
}

// ---- the cut of the history ----

// Cuts off a failed result and everything the code did with it, and also the results that came in
// the same intake. The worker that begins the execution takes the good ones of these again.
Status InstanceVerbs::find_cut(const Found& found, EventId* cut) {
  KeepEnd end;
  PAWL_TRY(rows_.history.read_end(found.key, found.execution, end));
  FindCause events(end);
  PAWL_TRY(rows_.history.read_history(found.key, found.execution, 0, events));
  if (events.was_cancelled)
    return refuse(Status::kNotRestartable,
                  "it was asked to stop, and would be again; restart it from the start");
  FindCause::Cause cause = events.same;
  if (cause.cut == 0 && is_ended_from_outside(end.error)) {
    *cut = end.id - 1;
    return *cut > 0 ? Status::kOk : refuse(Status::kNotRestartable, "it has no history");
  }
  if (cause.cut == 0) cause = events.last;
  if (cause.cut == 0)
    return refuse(
        Status::kNotRestartable,
        "no failed activity or child led to its end, so the same history would lead there "
        "again; restart it from the start");
  if (cause.is_child) PAWL_TRY(check_child(found, cause.command));
  *cut = cause.cut;
  return Status::kOk;
}

// A child that was given an id cannot be started a second time.
Status InstanceVerbs::check_child(const Found& found, EventId command) {
  KeepFirst child;
  const Status read = rows_.history.read_history(found.key, found.execution, command - 1, child);
  if (read != Status::kOk && read != Status::kStale) return read;
  InstanceKey key = 0;
  if (child.id.view().empty() ||
      rows_.instances.find_key(child.id.view(), &key) == Status::kNotFound)
    return Status::kOk;
  return refuse(Status::kAlreadyExists, "the id of its failed child is in use; delete that first");
}

// ---- the writes ----

constexpr auto kPendingRestart = PAWL_QUERY(
    "SELECT id FROM orchestrator_queue\fINDEXED BY oq_instance\rWHERE instance=?1 AND kind=",
    sql::number<MessageKind::kRestart>, " AND ref>0 LIMIT 1");
constexpr auto kDropMessage = PAWL_QUERY("DELETE FROM orchestrator_queue WHERE id=?1", kTimerMoves);

// The execution has not begun. If it is a restart from the last good event, it becomes one from the
// start.
Status InstanceVerbs::restart_unbegun(const Found& found, const Restart& how) {
  std::int64_t pending = 0;
  {
    Statement row = connection_.use(kPendingRestart);
    if (row.bind(found.key).row()) pending = row.integer(0);
    PAWL_TRY(fail(row.status(), "find restart"));
  }
  if (pending == 0) return go_on(found);
  PAWL_TRY(fail(connection_.use(kDropMessage).bind(pending).run(), "delete restart"));
  Found before = found;
  --before.execution;
  PAWL_TRY(rows_.instances.settle_values(before.key, before.execution));
  return begin_from_start(before, before.execution, how, ErrorKind::kNone);
}

Status InstanceVerbs::go_on(const Found& found) {
  InstanceWrite write;
  write.ready_at = batch_.now;
  write.keeps_why = true;
  write.keeps_unregistered = true;
  write.stamps = true;
  return rows_.instances.write_state(found.key, write);
}

// The input is in the execution's first event; the next execution needs nothing else of it.
Status InstanceVerbs::begin_from_start(const Found& found, ExecutionId of, const Restart& how,
                                       ErrorKind about) {
  class Begin final : public EventSink {
   public:
    Begin(InstanceVerbs& restarts, const Found& instance, const Restart& restart, ErrorKind request)
        : table(restarts), found(instance), how(restart), error(request) {}
    Status on_event(const Event& event) override {
      if (event.kind != EventKind::kStarted) return Status::kOk;
      Message message;
      message.execution = found.execution + 1;
      message.error = error;
      message.payload = event.payload;
      result = table.begin(found, how, message);
      return Status::kStale;
    }
    InstanceVerbs& table;
    const Found& found;
    const Restart& how;
    ErrorKind error;
    Status result = Status::kNotRestartable;
  } begin_next(*this, found, how, about);
  const Status read =
      rows_.history.read_history(found.key, of, 0, begin_next, InstanceHistory::AtBreak::kSearch);
  if (read != Status::kStale) {
    PAWL_TRY(read);
    return refuse(Status::kNotRestartable, "the start of its last execution is not stored");
  }
  return begin_next.result;
}

// A timer without an execution is the grace of a cancel request; it stays.
constexpr auto kDropResults = PAWL_QUERY(
    "DELETE FROM orchestrator_queue WHERE instance=?1 AND kind IN (",
    sql::number<MessageKind::kActivityDone, MessageKind::kChildDone, MessageKind::kValueAnswer,
                MessageKind::kStart, MessageKind::kContinue, MessageKind::kRestart>,
    ") OR instance=?1 AND execution>0 AND kind=", sql::number<MessageKind::kTimerFired>,
    " OR instance=?1 AND waiting=", sql::number<Waiting::kDamaged>, kTimerMoves);

// The execution ends like one that continues as new, but as failed: queue messages, a cancel
// request with its grace, sessions and values go on with the instance.
Status InstanceVerbs::end_stopped(const Found& found) {
  EndEvent events;
  Event& end = events.is;
  end.id = found.last.event + 1;
  end.kind = EventKind::kEnded;
  end.end = EndKind::kFailed;
  end.error = ErrorKind::kTerminated;
  end.time_ms = batch_.stamp_ms;
  end.horizon = found.last.event;
  end.payload = "restarted from the start";
  TurnCommit turn;
  turn.key = found.key;
  turn.execution = found.execution;
  turn.events = &events;
  turn.first_new = turn.last_new = end.id;
  turn.end = EndKind::kFailed;
  StoredEvents stored;
  PAWL_TRY(rows_.history.insert_events(turn, found.last.row, &stored));
  PAWL_TRY(rows_.work.cancel_all_work(found.key, found.execution));
  PAWL_TRY(rows_.instances.settle_values(found.key, found.execution));
  PAWL_TRY(deliveries_.cancel_children(found.key, found.execution, 1, kEveryEvent,
                                       "parent was restarted"));
  PAWL_TRY(rows_.instances.write_timer(found.key, {}));
  return fail(connection_.use(kDropResults).bind(found.key).run(), "delete results");
}

// Finds the cancel request that the execution took; 0: none. Events that cannot be read do not
// matter here.
Status InstanceVerbs::find_request(const Found& found, EventId* request) {
  return rows_.history.find_first(found.key, found.execution, EventKind::kCancelRequested, request);
}

constexpr auto kDropRequests = PAWL_QUERY(
    "DELETE FROM orchestrator_queue WHERE instance=?1 AND kind=", sql::number<MessageKind::kCancel>,
    kTimerMoves);

// Hands the request on to the next execution (R8.7). The first request counts, so later ones need
// not be kept. Under behaviour 1 a request ends with its execution.
Status InstanceVerbs::hand_on_request(const Found& found, EventId request, ErrorKind* about) {
  class HandOn final : public EventSink {
   public:
    HandOn(InstanceRows& to, const Found& instance) : messages(to), found(instance) {}
    Status on_event(const Event& event) override {
      Message message;
      message.kind = MessageKind::kCancel;
      message.execution = found.execution + 1;
      message.ref = static_cast<EventId>(event.number) + 1;
      message.payload = event.payload;
      const Status stored = messages.store_message(found.key, message, nullptr);
      return stored == Status::kOk ? Status::kStale : stored;
    }
    InstanceRows& messages;
    const Found& found;
  } hand_on(rows_.instances, found);
  PAWL_TRY(fail(connection_.use(kDropRequests).bind(found.key).run(), "delete requests"));
  *about = ErrorKind::kClosed;
  if (found.behaviour < kBehaviourOfStickyCancel) return Status::kOk;
  *about = ErrorKind::kCancelled;
  const Status read = rows_.history.read_history(found.key, found.execution, request - 1, hand_on);
  return read == Status::kStale ? Status::kOk : read;
}

Status InstanceVerbs::begin(const Found& found, const Restart& how, const Message& message) {
  NextBegin next;
  next.start = message;
  next.start.kind = MessageKind::kRestart;
  next.start.name = how.by;
  next.anew = how.from == RestartFrom::kStart;
  next.version = how.version;
  // A stopped instance has not ended, so its limit goes on.
  if (found.state == InstanceState::kFailed && found.time_limit_ms > 0)
    PAWL_TRY(rows_.instances.write_time_limit(found.key, {found.time_limit_ms}));
  return rows_.instances.begin_execution(found.key, next);
}

}  // namespace pawl::store
