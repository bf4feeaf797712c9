#include "store/instance/turn_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "codec/event.hpp"
#include "core/clock_rules.hpp"
#include "store/instance/arguments.hpp"
#include "store/place/arguments.hpp"
#include "store/sql/damage.hpp"

namespace pawl::store {
namespace {

// Debug builds read what is known, too, and compare.
#ifdef NDEBUG
constexpr bool kChecksKnown = false;
#else
constexpr bool kChecksKnown = true;
#endif

constexpr EventId kEveryEvent = std::numeric_limits<EventId>::max();

// Selects, from the commands that were carried out before, those that bring the instance's own
// sessions back to where they were. Shared sessions belong to others too; a hold has passed, and
// the session that a handoff moved is gone.
bool is_made_again(const Event& event) {
  switch (event.kind) {
    case EventKind::kSessionOpen:
    case EventKind::kSessionCheck: return true;
    case EventKind::kSessionClose: return event.number == 0;
    case EventKind::kSessionSettings: return event.number != 0;
    default: return false;
  }
}

}  // namespace

Status TurnWriter::ack_orchestration_item(const TurnCommit& turn, KnownInstance* known) {
  require_batch();
  const Suspicion suspect(connection_, RowRef::Table::kInstances, turn.key);
  InstanceRow row;
  PAWL_TRY(check_turn(turn, known, &row));
  return written(write_turn(turn, row, known));
}

// The row of the instance; read only if the connection does not know it.
Status TurnWriter::find_row(const TurnCommit& turn, const KnownInstance* known, InstanceRow* row) {
  if (known != nullptr && context_.still_knows(*known)) {
    row->execution = turn.execution;
    row->revision = turn.revision;
    row->last = {known->last_event, known->last_row};
    row->home = known->home;
    row->clean = true;
    row->has_keys = known->has_keys;
    row->timer = known->timer;
    if (!kChecksKnown) return Status::kOk;
    InstanceRow is;
    PAWL_TRY(rows_.instances.read_instance(turn.key, &is));
    PAWL_CHECK("store-46", is.state == row->state && is.execution == row->execution &&
                               is.revision == row->revision && is.last.event == row->last.event &&
                               is.last.row == row->last.row && is.home == row->home &&
                               is.has_keys == row->has_keys && is.clean && !is.parked &&
                               !is.ready && !is.terminating &&
                               is.timer.has_value() == row->timer.has_value() &&
                               (!is.timer.has_value() || is.timer->id == row->timer->id));
    return Status::kOk;
  }
  InstanceLook how;
  how.is_root = known != nullptr && !known->has_parent;
  if (turn.mailbox != nullptr) how.read_up_to = turn.mailbox->read_up_to;
  const Status read = rows_.instances.read_instance(turn.key, row, how);
  return read == Status::kNotFound ? Status::kStale : read;
}

// Checks all of this before anything is written.
Status TurnWriter::check_turn(const TurnCommit& turn, const KnownInstance* known,
                              InstanceRow* found) {
  PAWL_TRY(find_row(turn, known, found));
  const InstanceRow& row = *found;
  if (row.state != InstanceState::kRunning || row.revision != turn.revision ||
      row.execution != turn.execution)
    return Status::kStale;
  for (const MessageId message : turn.messages)
    PAWL_TRY(check_message(turn.key, message, row));
  for (const WorkDone& done : turn.done)
    PAWL_TRY(items_.check_done(done, turn.key));
  const bool has_events = turn.first_new <= turn.last_new && turn.last_new != 0;
  // An instance that an operator ends may lack the row of its execution.
  const bool is_terminated = turn.error == ErrorKind::kTerminated;
  const bool fits_behind =
      row.last.event + 1 == turn.first_new && row.last.row.has_value() == (row.last.event != 0);
  if (!has_events || is_terminated || fits_behind)
    return row.has_news ? Status::kStillRunning : Status::kOk;
  // The revision shows that no other turn came between, so the row is not what we wrote.
  connection_.diagnostic().format(
      "instances row of instance %lld, execution %lld: last event is %lld, not %lld",
      static_cast<long long>(turn.key), static_cast<long long>(turn.execution),
      static_cast<long long>(row.last.event), static_cast<long long>(turn.first_new) - 1);
  return fail(Status::kCorrupt, "check a turn");
}

constexpr auto kFindMessage =
    PAWL_QUERY("SELECT base,due FROM orchestrator_queue WHERE id=? AND instance=?");

void TurnWriter::read_row_ahead(const TurnCommit& turn, const KnownInstance& known) {
  if (!known.has_parent && !context_.still_knows(known)) rows_.instances.read_root_ahead(turn.key);
}

void TurnWriter::read_ahead(const TurnCommit& turn) {
  if (!connection_.reads_ahead()) return;
  for (const MessageId message : turn.messages)
    connection_.use(kFindMessage).bind(message).bind(turn.key).read_ahead();
  for (const WorkDone& done : turn.done)
    items_.read_done_ahead(done);
}

// A timer must be due by the clock of this transaction, not by the clock of the look that found it.
Status TurnWriter::check_message(InstanceKey key, MessageId message, const InstanceRow& instance) {
  Due when;
  if (instance.timer.has_value() && instance.timer->id == message) {
    when = {instance.timer->base, instance.timer->due};
  } else {
    Statement row = connection_.use(kFindMessage);
    if (!row.bind(message).bind(key).row()) return no_row(row, Status::kStale, "find message");
    if (row.is_null(1)) return Status::kOk;
    when = {static_cast<TimeBase>(row.integer(0)), row.integer(1)};
  }
  return due(when.base, when.due, context_.clock, batch_.now) ? Status::kOk : Status::kStale;
}

constexpr auto kDeleteMessage =
    PAWL_QUERY("DELETE FROM orchestrator_queue WHERE id=?", kTimerMoves | sql::kOfTurn);

Status TurnWriter::write_turn(const TurnCommit& turn, const InstanceRow& row,
                              KnownInstance* known) {
  if (known != nullptr) known->is_whole = false;
  const std::int64_t stored_before = context_.messages_stored;
  const MessageId timer = row.timer.has_value() ? row.timer->id : 0;
  for (const MessageId message : turn.messages) {
    if (message == timer) continue;
    Statement statement = connection_.use(kDeleteMessage);
    PAWL_TRY(fail(statement.bind(message).run(), "delete message"));
  }
  PAWL_TRY(items_.take_work(turn.done));
  StoredEvents stored;
  PAWL_TRY(rows_.history.insert_events(turn, row.last.row, &stored));
  if (turn.carried != 0) PAWL_TRY(take_back_state(turn));
  PAWL_TRY(write_values(turn, stored));
  PAWL_TRY(start_instances(turn, stored));
  PAWL_TRY(write_sessions_and_work(turn, stored));
  if (turn.begun.follows_end) PAWL_TRY(prune_executions(turn));
  PAWL_TRY(answer_calls(turn, stored));
  if (turn.end != EndKind::kNone) {
    if (row.has_keys && turn.end != EndKind::kContinuedAsNew)
      PAWL_TRY(rows_.calls.end_calls(turn.key));
    if (timer != 0) PAWL_TRY(rows_.instances.write_timer(turn.key, {}));
    PAWL_TRY(end_execution(turn, stored, known));
    return send_messages(turn, stored);
  }
  std::optional<RowTimer> own_timer = row.timer;
  PAWL_TRY(write_timers(turn, &own_timer));
  PAWL_TRY(answer_reads(turn, stored));
  PAWL_TRY(write_message(turn));
  PAWL_TRY(send_messages(turn, stored));
  // This comes last, so that a command that is made and closed in one turn leaves nothing.
  for (const EventId command : turn.closed)
    if (!row.timer.has_value() || row.timer->ref != command) PAWL_TRY(close_command(turn, command));
  // True if nothing waits for another turn: the instance was not ready, so no message waited for
  // it, and none has come since.
  const bool stays = !row.ready && !row.parked && row.clean && row.home == turn.home &&
                     turn.begun.version.empty() && turn.begun.behaviour == 0 && !turn.more &&
                     stored_before == context_.messages_stored;
  HistoryPlace last = row.last;
  if (stored.last_row.has_value()) last = {turn.last_new, stored.last_row};
  bool is_idle = stays;
  PAWL_TRY(stays ? go_on_as_before(turn, last)
                 : go_on(turn, turn.execution, last, known, &is_idle));
  if (known == nullptr || !is_idle) return Status::kOk;
  // The changes are more if the turn itself made a second timer, or sent the instance a message.
  known->is_whole = known->is_alone && known->changes == connection_.instance_changes();
  known->timer = own_timer;
  known->has_keys = row.has_keys;
  known->last_event = last.event;
  known->last_row = last.row;
  known->home = turn.home;
  return Status::kOk;
}

constexpr auto kResetStatus = PAWL_QUERY(
    "UPDATE instances SET custom_status=found_status,custom_status_version=custom_status_version+1 "
    "WHERE key=?1");

// Drops what the execution before wrote. The events that were carried over, up to where its history
// was cut, write it again.
Status TurnWriter::take_back_state(const TurnCommit& turn) {
  PAWL_TRY(rows_.instances.drop_values(turn.key, turn.execution - 1));
  return fail(connection_.use(kResetStatus).bind(turn.key).run(), "reset custom status");
}

// Comes before any value is read, so that a read of this turn sees what the turn wrote.
Status TurnWriter::write_values(const TurnCommit& turn, const StoredEvents& stored) {
  if (stored.has(EventKind::kCustomStatus)) PAWL_TRY(write_custom_status(turn));
  if (!stored.has(EventKind::kStateWrite)) return Status::kOk;
  for (EventId id = turn.first_new; id <= turn.last_new; ++id) {
    const Event& event = turn.events->event(id);
    if (event.kind == EventKind::kStateWrite) PAWL_TRY(rows_.instances.write_value(turn, event));
  }
  return Status::kOk;
}

// A child that is no longer wanted at the end of its turn is never started.
Status TurnWriter::start_instances(const TurnCommit& turn, const StoredEvents& stored) {
  if (!stored.has(EventKind::kChild) && !stored.has(EventKind::kDetached)) return Status::kOk;
  for (EventId id = turn.first_new; id <= turn.last_new; ++id) {
    const EventKind kind = turn.events->event(id).kind;
    const bool is_new_detached = kind == EventKind::kDetached && id > turn.carried;
    if (is_new_detached || (kind == EventKind::kChild && turn.events->is_open(id)))
      PAWL_TRY(deliveries_.start_instance(turn, id));
  }
  return Status::kOk;
}

// Each read is answered by a message, with the value as this turn stores it.
Status TurnWriter::answer_reads(const TurnCommit& turn, const StoredEvents& stored) {
  if (!stored.has(EventKind::kValueRead)) return Status::kOk;
  for (EventId id = turn.first_new; id <= turn.last_new; ++id) {
    if (turn.events->event(id).kind == EventKind::kValueRead && turn.events->is_open(id))
      PAWL_TRY(rows_.instances.answer_read(turn, id));
  }
  return Status::kOk;
}

// Behind all else that the turn writes about its own instance, which may be the receiver: after an
// end it has ended, and a message may begin its next execution.
Status TurnWriter::send_messages(const TurnCommit& turn, const StoredEvents& stored) {
  if (turn.events == nullptr || turn.events->sends() == nullptr ||
      !(stored.has(EventKind::kEnqueueEvent) || stored.has(EventKind::kRaiseEvent)))
    return Status::kOk;
  for (EventId id = turn.first_new; id <= turn.last_new; ++id)
    if (is_send(turn.events->event(id).kind))
      PAWL_TRY(turn.events->sends()->send(deliveries_, removal_, turn, id));
  return Status::kOk;
}

// Before an end of this turn, which answers the calls that are left.
Status TurnWriter::answer_calls(const TurnCommit& turn, const StoredEvents& stored) {
  if (turn.events == nullptr || turn.events->sends() == nullptr || !stored.has(EventKind::kReply))
    return Status::kOk;
  for (EventId id = turn.first_new; id <= turn.last_new; ++id)
    if (turn.events->event(id).kind == EventKind::kReply && id > turn.carried)
      PAWL_TRY(turn.events->sends()->reply(deliveries_, turn, id));
  return Status::kOk;
}

Status TurnWriter::insert_work(const TurnCommit& turn, const StoredEvents& stored,
                               const NewWork& work) {
  PAWL_CHECK("store-45", work.event >= turn.first_new && work.event <= turn.last_new);
  return items_.insert_work(turn.key, turn.execution, work,
                            *stored.last_row - (turn.last_new - work.event));
}

// Goes by the order of the commands: work scheduled between an opening and a closing belongs to
// that session.
Status TurnWriter::write_sessions_and_work(const TurnCommit& turn, const StoredEvents& stored) {
  const std::size_t works = turn.end == EndKind::kNone ? turn.work.size() : 0;
  std::size_t work = 0;
  const bool of_sessions =
      stored.has(EventKind::kSessionOpen) || stored.has(EventKind::kSessionClose) ||
      stored.has(EventKind::kSessionHold) || stored.has(EventKind::kSessionHandoff) ||
      stored.has(EventKind::kSessionCheck) || stored.has(EventKind::kSessionSettings);
  for (EventId id = turn.first_new; of_sessions && id <= turn.last_new; ++id) {
    const Event& event = turn.events->event(id);
    if (!is_of_session(event.kind) || (id <= turn.carried && !is_made_again(event))) continue;
    for (; work < works && turn.work[work].event < id; ++work)
      PAWL_TRY(insert_work(turn, stored, turn.work[work]));
    PAWL_TRY(verbs_.write_session(turn, event));
  }
  for (; work < works; ++work)
    PAWL_TRY(insert_work(turn, stored, turn.work[work]));
  return Status::kOk;
}

constexpr auto kKeepMessage =
    PAWL_QUERY("UPDATE orchestrator_queue SET waiting=", sql::number<Waiting::kYes>,
               " WHERE id=? AND waiting=", sql::number<Waiting::kNo>);

Status TurnWriter::write_message(const TurnCommit& turn) {
  for (const MessageId message : turn.kept) {
    Statement keep = connection_.use(kKeepMessage);
    PAWL_TRY(fail(keep.bind(message).run(), "keep message"));
  }
  for (const Message& message : turn.given_back)
    PAWL_TRY(rows_.instances.store_message(turn.key, message, nullptr, Waiting::kYes));
  return Status::kOk;
}

constexpr auto kWriteStatus = PAWL_QUERY(
    "UPDATE instances SET custom_status=?2,custom_status_version=custom_status_version+?3 "
    "WHERE key=?1",
    sql::kOfTurn);

// The status is kept in the row of the instance, so that it outlives the execution.
Status TurnWriter::write_custom_status(const TurnCommit& turn) {
  std::int64_t changes = 0;
  std::string_view last;
  for (EventId id = turn.first_new; id <= turn.last_new; ++id) {
    const Event& event = turn.events->event(id);
    if (event.kind != EventKind::kCustomStatus) continue;
    ++changes;
    last = event.payload;
  }
  Statement update = connection_.use(kWriteStatus);
  update.bind(turn.key).bind_blob_or_null(last).bind(changes);
  return fail(update.run(), "write custom status");
}

Due TurnWriter::due_of(const NewTimer& timer) const {
  if (timer.base == TimerBase::kUtc) return {TimeBase::kUtc, timer.delay_or_utc_ms};
  return {TimeBase::kPawl, make_due(batch_.now, timer.delay_or_utc_ms)};
}

Status TurnWriter::insert_timer(const TurnCommit& turn, const NewTimer& timer) {
  Message fired;
  fired.kind = MessageKind::kTimerFired;
  fired.execution = timer.event == 0 ? 0 : turn.execution;
  fired.ref = timer.event;
  const Due due = due_of(timer);
  return rows_.instances.store_message(turn.key, fired, &due);
}

// The first timer of the turn takes the place in the row, if that is free or becomes free with this
// turn. The grace of a cancel request (no event) outlives executions, and is a message. `in_row` is
// the timer there, before and after.
Status TurnWriter::write_timers(const TurnCommit& turn, std::optional<RowTimer>* in_row) {
  const auto is_in = [](const auto& list, auto one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  const bool leaves = in_row->has_value() &&
                      (is_in(turn.messages, (*in_row)->id) || is_in(turn.closed, (*in_row)->ref));
  if (leaves) in_row->reset();
  bool made = false;
  for (const NewTimer& timer : turn.timers) {
    if (!in_row->has_value() && timer.event != 0 && !is_in(turn.closed, timer.event)) {
      const Due due = due_of(timer);
      *in_row = RowTimer{context_.next_token(), due.due, timer.event, due.base};
      made = true;
    } else {
      PAWL_TRY(insert_timer(turn, timer));
    }
  }
  return leaves || made ? rows_.instances.write_timer(turn.key, *in_row) : Status::kOk;
}

constexpr auto kDeleteTimer = PAWL_QUERY(
    "DELETE FROM orchestrator_queue WHERE instance=?1 AND waiting=", sql::number<Waiting::kNo>,
    " AND due IS NOT NULL AND execution=?2 AND ref=?3", kTimerMoves);

Status TurnWriter::close_command(const TurnCommit& turn, EventId command) {
  PAWL_TRY(rows_.work.cancel_work(turn.key, turn.execution, command));
  PAWL_TRY(deliveries_.cancel_children(turn.key, turn.execution, command, command,
                                       "parent does not wait for it any more"));
  return fail(connection_.use(kDeleteTimer).bind(turn.key).bind(turn.execution).bind(command).run(),
              "delete timer");
}

constexpr auto kFirstReady = PAWL_QUERY(
    "SELECT id FROM orchestrator_queue\fINDEXED BY oq_instance\r"
    "WHERE instance=? AND waiting=",
    sql::number<Waiting::kNo>,
    " AND due IS NULL "
    "ORDER BY due NULLS FIRST,id LIMIT 1");

Status TurnWriter::first_ready(const TurnCommit& turn, const KnownInstance* known,
                               std::int64_t* id) {
  const bool has_none = has_no_message(turn, known);
  if (!has_none || kChecksKnown) {
    Statement row = connection_.use(kFirstReady);
    if (row.bind(turn.key).row()) {
      PAWL_CHECK("store-48", !has_none);
      *id = row.integer(0);
      return Status::kOk;
    }
    PAWL_TRY(fail(row.status(), "find ready message"));
  }
  // The instance is ready without a message, behind all messages that wait now.
  *id = turn.more ? context_.next_token() : -1;
  return Status::kOk;
}

constexpr auto kGoOn = PAWL_QUERY(
    "UPDATE instances SET execution=?2,revision=revision+1,home=?3,ready_id=?4,ready_at=?5,"
    "parked_until=NULL,stop_kind=NULL,stop_text=NULL,crashes=0,strikes=0,reboots=0,"
    "updated_stamp=?6,version=iif(?7,?8,iif(?8='',version,?8)),unregistered=NULL,"
    "found_status=iif(?7,custom_status,found_status),"
    "behaviour=iif(?7,0,iif(?9=0,behaviour,?9)),last_event=?10,last_row=?11 WHERE key=?1",
    kTimerMoves | kParkedMoves | sql::kOfTurn);

// The counts against the turn are reset, because it got through.
Status TurnWriter::go_on(const TurnCommit& turn, ExecutionId execution, const HistoryPlace& last,
                         const KnownInstance* known, bool* is_idle) {
  std::int64_t ready = -1;
  PAWL_TRY(first_ready(turn, known, &ready));
  *is_idle = ready < 0;
  Statement update = connection_.use(kGoOn);
  update.bind(turn.key).bind(execution).bind(turn.home);
  if (ready >= 0) {
    update.bind(ready).bind(batch_.now);
  } else {
    update.bind_null().bind_null();
  }
  const bool is_next = execution != turn.execution;
  update.bind(batch_.stamp_ms).bind(is_next ? 1 : 0);
  update.bind_text(is_next ? turn.next.version : turn.begun.version).bind(turn.begun.behaviour);
  update.bind(last.event).bind_or_null(last.row);
  return fail(update.run(), "update instance");
}

constexpr auto kGoOnAsBefore = PAWL_QUERY(
    "UPDATE instances SET revision=revision+1,updated_stamp=?2,last_event=?3,last_row=?4 "
    "WHERE key=?1",
    sql::kOfTurn);

// Writes these columns only: the others, and all indexes of the row, would be written unchanged.
Status TurnWriter::go_on_as_before(const TurnCommit& turn, const HistoryPlace& last) {
  Statement update = connection_.use(kGoOnAsBefore);
  update.bind(turn.key).bind(batch_.stamp_ms).bind(last.event).bind_or_null(last.row);
  return fail(update.run(), "update instance");
}

constexpr auto kDeleteOthers =
    PAWL_QUERY("DELETE FROM orchestrator_queue WHERE instance=?1 AND (due IS NOT NULL OR waiting=",
               sql::number<Waiting::kDamaged>, " OR kind<>", sql::number<MessageKind::kEvent>,
               " AND kind<>", sql::number<MessageKind::kQueue>, " AND kind<>",
               sql::number<MessageKind::kCall>, ")", kTimerMoves | sql::kOfTurn);
constexpr auto kLeaveUnread =
    PAWL_QUERY("UPDATE orchestrator_queue SET waiting=", sql::number<Waiting::kUnread>,
               " WHERE instance=?1", sql::kOfTurn);

// The fetch found no message but those that the turn has deleted, and no statement has written one
// since.
bool TurnWriter::has_no_message(const TurnCommit& turn, const KnownInstance* known) const {
  return known != nullptr && known->is_alone && turn.kept.empty() &&
         known->changes == connection_.instance_changes();
}

// Timers, completions, cancel requests and offers go with the execution; messages whose senders
// were answered kOk stay. A turn that was put off for messages (R7.7) has read all of them, so only
// those in `turn.kept` are left.
Status TurnWriter::leave_unread(const TurnCommit& turn, const KnownInstance* known) {
  const bool has_none = has_no_message(turn, known);
  if (!has_none)
    PAWL_TRY(fail(connection_.use(kDeleteOthers).bind(turn.key).run(), "delete messages"));
  std::int64_t left = 0;
  const bool has_waited = turn.mailbox != nullptr && turn.mailbox->read_up_to.has_value();
  if (!has_none && (!has_waited || !turn.kept.empty())) {
    PAWL_TRY(fail(connection_.use(kLeaveUnread).bind(turn.key).run(&left), "leave messages"));
  }
  for (const Message& message : turn.given_back)
    PAWL_TRY(rows_.instances.store_message(turn.key, message, nullptr, Waiting::kUnread));
  if (turn.mailbox != nullptr)
    turn.mailbox->unread = left + static_cast<std::int64_t>(turn.given_back.size());
  return Status::kOk;
}

// Values and sessions of earlier executions stay until now, those of work and children do not.
Status TurnWriter::end_execution(const TurnCommit& turn, const StoredEvents& stored,
                                 const KnownInstance* known) {
  Unsettled left;
  if (turn.events != nullptr) left = turn.events->unsettled();
  const bool is_first = turn.execution == 1;
  if (left.work) PAWL_TRY(rows_.work.cancel_all_work(turn.key, turn.execution));
  // A failed execution may be restarted from one of its events, and then needs the values as it
  // found them.
  if (turn.end != EndKind::kFailed && (left.values || !is_first))
    PAWL_TRY(rows_.instances.settle_values(turn.key, turn.execution));
  const bool ends = turn.end != EndKind::kContinuedAsNew;
  if (left.children)
    PAWL_TRY(deliveries_.cancel_children(turn.key, turn.execution, 1, kEveryEvent,
                                         ends ? "parent ended" : "parent continued as new"));
  if (!ends) return continue_as_new(turn, known);
  if (left.sessions || !is_first) PAWL_TRY(verbs_.close_all_sessions(turn.key));
  if (known == nullptr || known->has_parent)
    PAWL_TRY(deliveries_.notify_parent(turn.key, turn.error, turn.output));
  PAWL_TRY(leave_unread(turn, known));
  InstanceWrite write;
  write.state =
      turn.end == EndKind::kCompleted ? InstanceState::kCompleted : InstanceState::kFailed;
  write.ended_at = batch_.now;
  write.home = turn.home;
  write.leaves_queue = true;
  write.forgives = true;
  write.stamps = true;
  write.revisions = 1;
  write.version = turn.begun.version;
  write.behaviour = turn.begun.behaviour;
  write.last = {turn.last_new, stored.last_row};
  write.of_turn = true;
  return rows_.instances.write_state(turn.key, write);
}

constexpr auto kDeleteCompletions = PAWL_QUERY(
    "DELETE FROM orchestrator_queue WHERE instance=?1 AND (kind=",
    sql::number<MessageKind::kActivityDone>, " OR kind=", sql::number<MessageKind::kTimerFired>,
    " OR kind=", sql::number<MessageKind::kChildDone>,
    " OR kind=", sql::number<MessageKind::kValueAnswer>, ") AND execution BETWEEN 1 AND ?2");

// The first request counts, so later ones need not be kept.
constexpr auto kDeleteRequests = PAWL_QUERY(
    "DELETE FROM orchestrator_queue WHERE instance=?1 AND kind=", sql::number<MessageKind::kCancel>,
    kTimerMoves);

// Hands a cancel request on to the next execution. `next`, the message that starts it, says that
// there is a request.
Status TurnWriter::hand_on_request(const TurnCommit& turn, Message* next) {
  for (const NewTimer& timer : turn.timers)
    if (timer.event == 0) PAWL_TRY(insert_timer(turn, timer));
  if (turn.next.cancel_handed_on == 0) return Status::kOk;
  PAWL_TRY(fail(connection_.use(kDeleteRequests).bind(turn.key).run(), "delete requests"));
  Message request;
  request.kind = MessageKind::kCancel;
  request.execution = turn.execution + 1;
  request.ref = turn.next.cancel_handed_on;
  request.payload = turn.next.cancel_reason;
  next->error = ErrorKind::kCancelled;
  return rows_.instances.store_message(turn.key, request, nullptr);
}

// Completions and timers belong to the execution that asked for them. A cancel request with its
// grace, raised events that came meanwhile and queue messages belong to the instance, and stay.
Status TurnWriter::continue_as_new(const TurnCommit& turn, const KnownInstance* known) {
  if (!has_no_message(turn, known))
    PAWL_TRY(fail(connection_.use(kDeleteCompletions).bind(turn.key).bind(turn.execution).run(),
                  "delete completions"));
  PAWL_TRY(write_message(turn));
  Message next;
  next.kind = MessageKind::kContinue;
  next.execution = turn.execution + 1;
  next.payload = turn.next.input;
  PAWL_TRY(hand_on_request(turn, &next));
  PAWL_TRY(rows_.instances.store_message(turn.key, next, nullptr));
  bool is_idle = false;
  PAWL_TRY(go_on(turn, turn.execution + 1, HistoryPlace(), known, &is_idle));
  return prune_executions(turn);
}

Status TurnWriter::prune_executions(const TurnCommit& turn) {
  if (turn.next.keep_executions == 0) return Status::kOk;
  PruneLimits limits;
  limits.keep_last = turn.next.keep_executions;
  bool more = false;  // what is left goes with the next execution
  return removal_.prune_executions(turn.key, limits, kSweepEventsMax, turn.next.removed, &more);
}

}  // namespace pawl::store
