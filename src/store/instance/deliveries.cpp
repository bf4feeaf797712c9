#include "store/instance/deliveries.hpp"

#include <cstdint>
#include <optional>

#include "codec/event.hpp"
#include "core/clock_rules.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "store/column_fits.hpp"
#include "store/walk.hpp"

namespace pawl::store {
namespace {

MessageKey key_of(const NewMessage& posted) {
  Hash64 content;
  content.add(static_cast<std::uint64_t>(posted.kind)).add(posted.name).add(posted.payload);
  return {posted.key, content.value(), posted.number};
}

}  // namespace

// The id is checked before the room: a caller that repeats a call learns that the first one
// arrived.
Status Deliveries::start_orchestration(const NewInstance& instance, InstanceKey* key,
                                       bool* in_removal) {
  require_batch();
  Holder holder;
  PAWL_TRY(check_id(instance, in_removal, &holder));
  if (in_removal != nullptr && *in_removal) return Status::kOk;
  if (holder.key != 0) return refuse_used(instance);
  PAWL_TRY(rows_.place.room_for_new());
  return insert_checked(instance, ParentLink(), key);
}

Status Deliveries::start_orchestration(const NewInstance& instance, const IdInUse& in_use,
                                       InstanceKey* key, bool* in_removal) {
  require_batch();
  Holder holder;
  PAWL_TRY(check_id(instance, in_removal, &holder));
  if (in_removal != nullptr && *in_removal) return Status::kOk;
  if (holder.is_alive() && in_use.if_running == IfRunning::kTake) {
    *key = holder.key;
    return Status::kOk;
  }
  if (holder.key != 0) PAWL_TRY(check_next(instance, in_use.if_ended, holder));
  PAWL_TRY(rows_.place.room_for_new());
  return begin(instance, holder, key);
}

// A deleted instance keeps its id until its rows are gone, so that the new one meets none of them.
Status Deliveries::check_id(const NewInstance& instance, bool* in_removal, Holder* holder) {
  PAWL_TRY(check_root(instance));
  PAWL_TRY(find_holder(instance.id, holder));
  if (in_removal != nullptr) *in_removal = holder->is_deleted();
  return Status::kOk;
}

Status Deliveries::insert_instance(const NewInstance& instance, const ParentLink& parent,
                                   InstanceKey* key) {
  PAWL_TRY(check_new(instance));
  Holder holder;
  PAWL_TRY(find_holder(instance.id, &holder));
  if (holder.key != 0) return refuse_used(instance);
  return insert_checked(instance, parent, key);
}

Status Deliveries::refuse_used(const NewInstance& instance) {
  context_.diagnostic.format("instance '%.*s' exists", static_cast<int>(instance.id.size()),
                             instance.id.data());
  return Status::kAlreadyExists;
}

Status Deliveries::check_root(const NewInstance& instance) {
  PAWL_TRY(check_new(instance));
  if (is_valid_root_id(instance.id)) return Status::kOk;
  context_.diagnostic.format(is_plain_id(instance.id)
                                 ? "ids with \"::\" are those of children"
                                 : "an id is not \".\" or \"..\", and has no blank at its ends");
  return Status::kInvalidArgument;
}

Status Deliveries::check_new(const NewInstance& instance) {
  if (!is_valid_name(instance.id) || !is_valid_name(instance.name) ||
      (!instance.version.empty() && !is_valid_name(instance.version))) {
    context_.diagnostic.format(
        "ids, names and versions have 1 to %zu bytes and no control characters", kNameBytesMax);
    return Status::kInvalidArgument;
  }
  if (!is_valid_trace_id(instance.trace)) {
    context_.diagnostic.format("a trace_id has at most %zu bytes and no control characters",
                               kTraceIdBytesMax);
    return Status::kInvalidArgument;
  }
  if (instance.start_after_ms < 0) {
    context_.diagnostic.format("start_after_ms is %lld",
                               static_cast<long long>(instance.start_after_ms));
    return Status::kInvalidArgument;
  }
  return Status::kOk;
}

constexpr auto kFindHolder = PAWL_QUERY(
    "SELECT key,state,execution,parent IS NOT NULL AS is_child FROM instances WHERE id=?");

void Deliveries::read_start_ahead(std::string_view id) {
  sql::read_ahead(connection_, kFindHolder, id);
}

Status Deliveries::find_holder(std::string_view id, Holder* out) {
  *out = Holder();
  Statement row = connection_.use(kFindHolder);
  if (!row.bind_text(id).row()) return fail(row.status(), "instances");
  bool whole = true;
  out->key = row.integer(PAWL_COLUMN(kFindHolder, key));
  out->state = static_cast<InstanceState>(row.integer(PAWL_COLUMN(kFindHolder, state), &whole));
  out->execution = row.integer(PAWL_COLUMN(kFindHolder, execution), &whole);
  out->is_child = row.integer(PAWL_COLUMN(kFindHolder, is_child)) != 0;
  return whole ? Status::kOk : fail(Status::kCorrupt, "instances");
}

// Whether the instance that has ended may begin another execution (R10.5).
Status Deliveries::check_next(const NewInstance& instance, IfEnded if_ended, const Holder& holder) {
  const bool has_failed = holder.state == InstanceState::kFailed;
  const bool has_ended = has_failed || holder.state == InstanceState::kCompleted;
  const bool is_next =
      if_ended == IfEnded::kNextExecution || (if_ended == IfEnded::kNextIfFailed && has_failed);
  if (!has_ended || !is_next) return refuse_used(instance);
  if (!holder.is_child) return Status::kOk;
  context_.diagnostic.format("instance '%.*s' is a child: its parent has its result already",
                             static_cast<int>(instance.id.size()), instance.id.data());
  return Status::kChildInstance;
}

constexpr auto kInsertInstance = PAWL_QUERY(
    "INSERT INTO instances(id,name,version,state,execution,revision,home,crashes,strikes,reboots,"
    "created_stamp,updated_stamp,parent,parent_execution,parent_event,parked_until,trace,root,key)"
    " VALUES(?1,?2,?3,",
    sql::number<InstanceState::kRunning>,
    ",1,0,0,0,0,0,?4,?4,?5,?6,?7,?8,?9,"
    "(SELECT coalesce(p.root,p.key) FROM instances AS p WHERE p.key=?5),?10)",
    sql::kOfTurn);  // nothing is known yet of an instance that is new

Status Deliveries::insert_checked(const NewInstance& instance, const ParentLink& parent,
                                  InstanceKey* key) {
  const OptionalMs parked =
      instance.start_after_ms == 0 ? OptionalMs() : make_due(batch_.now, instance.start_after_ms);
  Statement insert = connection_.use(kInsertInstance);
  insert.bind_text(instance.id).bind_text(instance.name).bind_text(instance.version);
  insert.bind(batch_.stamp_ms).bind_or_null(parent.instance).bind_or_null(parent.execution);
  insert.bind_or_null(parent.event)
      .bind_due(parked, kParkedComes)
      .bind_text_or_null(instance.trace);
  const std::optional<std::int64_t> id = context_.new_id();
  PAWL_TRY(fail_written(insert.bind_or_null(id).run(), "insert instance"));
  *key = context_.inserted_id(id);
  if (instance.with_turn) return Status::kOk;
  Message start;
  start.kind = MessageKind::kStart;
  start.execution = 1;
  start.name = instance.name;
  start.payload = instance.input;
  return written(rows_.instances.insert_message(*key, start));
}

Status Deliveries::begin(const NewInstance& instance, const Holder& holder, InstanceKey* key) {
  const bool is_new = holder.key == 0;
  *key = holder.key;
  if (is_new) PAWL_TRY(insert_checked(instance, ParentLink(), key));
  // The next execution has the limit of its start, or none.
  if (!is_new || instance.time_limit_ms.has_value())
    PAWL_TRY(written(
        rows_.instances.write_time_limit(*key, {instance.time_limit_ms, instance.start_after_ms})));
  if (is_new) return Status::kOk;
  // One that failed has kept the values as it found them, for a restart.
  PAWL_TRY(rows_.instances.settle_values(holder.key, holder.execution));
  NextBegin next;
  next.start.kind = MessageKind::kStart;
  next.start.execution = holder.execution + 1;
  next.start.name = instance.name;
  next.start.payload = instance.input;
  next.anew = true;
  next.version = instance.version;
  next.name = instance.name;
  next.trace = instance.trace;
  if (instance.start_after_ms > 0)
    next.parked_until = make_due(batch_.now, instance.start_after_ms);
  return written(rows_.instances.begin_execution(holder.key, next));
}

// Everything is checked before the first write, because the batch may hold other calls.
Status Deliveries::send_message(const NewMessage& posted, bool* room, bool* in_removal,
                                MessageId* number) {
  require_batch();
  *room = true;
  PAWL_TRY(check_name(posted));
  NewInstance instance;
  Holder holder;
  const Status found = rows_.instances.find_running(posted.id, &holder.key);
  std::optional<MessageKeys::Ring> keys;
  if (!posted.key.empty() && (found == Status::kOk || found == Status::kStale)) {
    MessageKey key = key_of(posted);
    bool known = false;
    PAWL_TRY(rows_.keys.read_ring(holder.key, &keys.emplace()));
    PAWL_TRY(rows_.keys.find(holder.key, &*keys, &key, &known));
    if (known && number != nullptr) *number = key.number;
    if (known) return Status::kOk;
  }
  const bool starts =
      posted.start_if_ended != nullptr && (found == Status::kNotFound || found == Status::kStale);
  if (starts) {
    instance = *posted.start_if_ended;
    instance.id = posted.id;
    PAWL_TRY(check_id(instance, in_removal, &holder));
    if (in_removal != nullptr && *in_removal) return Status::kOk;
    if (holder.key != 0) PAWL_TRY(check_next(instance, IfEnded::kNextExecution, holder));
  } else {
    PAWL_TRY(found);
  }
  PAWL_TRY(has_room(holder.key, posted, room));
  if (!*room) return Status::kOk;
  PAWL_TRY(rows_.place.room_for_new());
  if (starts) PAWL_TRY(begin(instance, holder, &holder.key));
  if (!posted.key.empty() && !keys.has_value())
    PAWL_TRY(rows_.keys.read_ring(holder.key, &keys.emplace()));
  return insert(holder.key, posted, keys.has_value() ? &*keys : nullptr, number);
}

Status Deliveries::find_message(const NewMessage& posted, MessageId* number, bool* known) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  InstanceKey instance = 0;
  const Status found = rows_.instances.find_key(posted.id, &instance);
  if (found != Status::kOk) return found == Status::kNotFound ? Status::kOk : found;
  MessageKey key = key_of(posted);
  MessageKeys::Ring keys;
  PAWL_TRY(rows_.keys.read_ring(instance, &keys));
  PAWL_TRY(rows_.keys.find(instance, &keys, &key, known));
  *number = key.number;
  return Status::kOk;
}

Status Deliveries::find_key(InstanceKey instance, const NewMessage& posted, bool* known) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  MessageKey key = key_of(posted);
  MessageKeys::Ring keys;
  PAWL_TRY(rows_.keys.read_ring(instance, &keys));
  return rows_.keys.find(instance, &keys, &key, known);
}

Status Deliveries::remember_key(InstanceKey instance, const NewMessage& posted) {
  MessageKeys::Ring keys;
  PAWL_TRY(rows_.keys.read_ring(instance, &keys));
  PAWL_TRY(rows_.keys.remember(instance, &keys, key_of(posted)));
  if (posted.kind != MessageKind::kCall) return Status::kOk;
  return rows_.calls.keep_answered(instance, keys.keys_max);
}

Status Deliveries::check_name(const NewMessage& posted) {
  if (is_valid_name(posted.name) && (posted.key.empty() || is_valid_name(posted.key)))
    return Status::kOk;
  context_.diagnostic.format("names and keys have 1 to %zu bytes and no control characters",
                             kNameBytesMax);
  return Status::kInvalidArgument;
}

// `keys`: those of the instance; null: the message has none.
Status Deliveries::insert(InstanceKey key, const NewMessage& posted, MessageKeys::Ring* keys,
                          MessageId* number) {
  NewMessage numbered = posted;
  if (numbered.number == 0) numbered.number = context_.next_token();
  if (number != nullptr) *number = numbered.number;
  Message message;
  message.id = numbered.number;
  message.kind = posted.kind;
  message.name = posted.name;
  message.payload = posted.payload;
  PAWL_TRY(rows_.instances.insert_message(key, message));
  if (keys == nullptr) return Status::kOk;
  PAWL_TRY(rows_.keys.remember(key, keys, key_of(numbered)));
  if (posted.kind != MessageKind::kCall) return Status::kOk;
  if (!posted.has_call_row) PAWL_TRY(rows_.calls.insert_call(key, numbered.number));
  return rows_.calls.keep_answered(key, keys->keys_max);
}

constexpr auto kCurrentEnd =
    PAWL_QUERY("SELECT key,execution,last_event FROM instances WHERE id=?1");

Status Deliveries::offer_event(const NewMessage& posted, bool* room, SentOffer* out) {
  require_batch();
  PAWL_TRY(check_name(posted));
  InstanceKey key = 0;
  PAWL_TRY(rows_.instances.find_running(posted.id, &key));
  PAWL_TRY(has_room(key, posted, room));
  if (!*room) return Status::kOk;
  PAWL_TRY(rows_.place.room_for_new());
  PAWL_TRY(insert(key, posted, nullptr, &out->number));
  Statement row = connection_.use(kCurrentEnd);
  if (!row.bind_text(posted.id).row()) return no_row(row, Status::kNotFound, "executions");
  out->key = row.integer(0);
  out->execution = row.integer(1);
  if (fits(row.integer(2), &out->last_event)) return Status::kOk;
  return fail(Status::kCorrupt, "executions");
}

constexpr auto kOffer =
    PAWL_QUERY("SELECT 1 FROM orchestrator_queue WHERE id=?1 AND instance=?2 AND kind=",
               sql::number<MessageKind::kOffer>);

Status Deliveries::is_offer_waiting(const SentOffer& offer, bool* waits) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kOffer);
  *waits = row.bind(offer.number).bind(offer.key).row();
  return fail(row.status(), "find offer");
}

constexpr auto kWithdrawOffer =
    PAWL_QUERY("DELETE FROM orchestrator_queue WHERE id=?1 AND instance=?2 AND kind=",
               sql::number<MessageKind::kOffer>, kTimerMoves);

// A turn that has read the offer becomes stale, and is run again without it.
Status Deliveries::withdraw_offer(const SentOffer& offer, bool* withdrawn) {
  require_batch();
  std::int64_t removed = 0;
  Statement withdraw = connection_.use(kWithdrawOffer);
  PAWL_TRY(
      fail_written(withdraw.bind(offer.number).bind(offer.key).run(&removed), "withdraw offer"));
  *withdrawn = removed == 1;
  return Status::kOk;
}

Status Deliveries::cancel_instance(std::string_view id, std::string_view reason) {
  require_batch();
  InstanceKey key = 0;
  PAWL_TRY(rows_.instances.find_running(id, &key));
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.payload = cut_text(reason, kErrorTextBytesMax);
  return rows_.instances.insert_message(key, cancel);
}

constexpr auto kRequestWaits = PAWL_QUERY(
    "SELECT 1 FROM orchestrator_queue\fINDEXED BY oq_instance\rWHERE instance=?1 AND kind=",
    sql::number<MessageKind::kCancel>, " LIMIT 1");

// Only the first request counts, so a second row would say nothing.
Status Deliveries::cancel_instance(InstanceKey key, std::string_view reason, bool* asked) {
  require_batch();
  *asked = false;
  {
    Statement row = connection_.use(kRequestWaits);
    if (row.bind(key).row()) return Status::kOk;
    PAWL_TRY(fail(row.status(), "find cancel request"));
  }
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.payload = cut_text(reason, kErrorTextBytesMax);
  const Status inserted = rows_.instances.insert_message(key, cancel);
  *asked = inserted == Status::kOk;
  return inserted == Status::kNotFound || inserted == Status::kStale ? Status::kOk : inserted;
}

Status Deliveries::find_instance(std::string_view id, InstanceKey* key, Incarnation* home) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  return rows_.instances.find_running(id, key, home);
}

// The number and the limits are as they were when the view began.
Status Deliveries::last_message(MessageId* number, MailboxLimits* limits) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  PAWL_TRY(rows_.workers.mailbox_limits(&seen_));
  *limits = seen_;
  *number = context_.committed.token - 1;
  return Status::kOk;
}

Status Deliveries::reserve_messages(MessageId last, std::size_t count) {
  require_batch();
  PAWL_TRY(rows_.place.room_for_new());
  MailboxLimits now;
  PAWL_TRY(rows_.workers.mailbox_limits(&now));
  if (now.messages != seen_.messages || now.bytes != seen_.bytes) return Status::kStale;
  return context_.take_tokens(last + 1, count) ? Status::kOk : Status::kStale;
}

constexpr auto kCountMailbox = PAWL_QUERY(
    "SELECT count(*),coalesce(sum(length(\fCAST(name AS BLOB)\r)+coalesce(length(payload),0)),0) "
    "FROM orchestrator_queue\fINDEXED BY oq_instance\r"
    "WHERE instance=?1 AND waiting=?2 AND due IS NULL AND (kind=",
    sql::number<MessageKind::kEvent>, " OR kind=", sql::number<MessageKind::kQueue>,
    " OR kind=", sql::number<MessageKind::kOffer>, " OR kind=", sql::number<MessageKind::kCall>,
    ")");

// Counts the rows of messages that no turn took, with those that the next execution of an instance
// that has ended gets. The limit itself bounds them, together with the completions that wait beside
// them. One state at a time, and kinds one by one: SQLite would make a list of three numbers or
// more a table of 31 KB.
Status Deliveries::count_mailbox(InstanceKey key, std::int64_t* count, std::int64_t* bytes) {
  *count = *bytes = 0;
  for (const Waiting waiting : {Waiting::kNo, Waiting::kYes, Waiting::kUnread}) {
    Statement row = connection_.use(kCountMailbox);
    if (!row.bind(key).bind(static_cast<std::int64_t>(waiting)).row())
      return fail(row.status(), "count messages");
    *count += row.integer(0);
    *bytes += row.integer(1);
  }
  return Status::kOk;
}

Status Deliveries::has_room(InstanceKey key, const NewMessage& posted, bool* room) {
  MailboxLimits most;
  PAWL_TRY(rows_.workers.mailbox_limits(&most));
  const auto keep_less = [](std::int64_t* limit, std::size_t own) {
    const auto its = static_cast<std::int64_t>(own);
    if (*limit == 0 || its < *limit) *limit = its;
  };
  keep_less(&most.messages, posted.count_max);
  keep_less(&most.bytes, posted.bytes_max);
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  PAWL_TRY(count_mailbox(key, &count, &bytes));
  const auto more = static_cast<std::int64_t>(posted.name.size() + posted.payload.size());
  const bool has_place = count < most.messages;
  *room = has_place && bytes + more <= most.bytes;
  if (!*room)
    context_.diagnostic.format(
        "%lld messages with %lld bytes wait for \"%.*s\"; at most %lld %s",
        static_cast<long long>(count), static_cast<long long>(bytes),
        static_cast<int>(posted.id.size()), posted.id.data(),
        static_cast<long long>(has_place ? most.bytes : most.messages),
        has_place ? "bytes may (4 * payload_bytes_max)" : "may (queue_messages_max)");
  return Status::kOk;
}

Status Deliveries::start_instance(const TurnCommit& turn, EventId command) {
  const Event& event = turn.events->event(command);
  const bool is_child = event.kind == EventKind::kChild;
  FixedText<kNameBytesMax> own_id;
  NewInstance instance;
  instance.id = event.session;
  instance.name = event.name;
  instance.version = event.version;
  instance.input = event.payload;
  instance.trace = turn.trace;
  Status status = Status::kOk;
  if (instance.id.empty()) {
    // An id that is too long concerns this call only; the turn is good.
    if (child_id(turn.id, turn.execution, command, &own_id) != Status::kOk)
      status = Status::kInvalidArgument;
    instance.id = own_id.view();
  }
  ParentLink parent;
  if (is_child) parent = {turn.key, turn.execution, command};
  InstanceKey key = 0;
  if (status == Status::kOk) status = insert_instance(instance, parent, &key);
  if (status != Status::kAlreadyExists && status != Status::kInvalidArgument) return status;
  if (!is_child) {
    if (context_.sink != nullptr)
      context_.sink->on_refused({false, turn.key, command, instance.id});
    return Status::kOk;
  }
  Message refused;
  refused.kind = MessageKind::kChildDone;
  refused.execution = turn.execution;
  refused.ref = command;
  const bool exists = status == Status::kAlreadyExists;
  refused.error = exists ? ErrorKind::kApplication : ErrorKind::kInvalidArgument;
  refused.payload = exists ? "an instance of this id exists" : "the child's id would be too long";
  return rows_.instances.store_message(turn.key, refused, nullptr);
}

constexpr auto kNextChild = PAWL_QUERY(
    "SELECT key,parent_event FROM instances\fINDEXED BY i_children\rWHERE parent=?1 AND "
    "parent_execution=?2 AND parent_event>=?3 AND parent_event<=?4 AND state NOT IN (",
    sql::number<InstanceState::kCompleted, InstanceState::kFailed>,
    ") "
    "ORDER BY parent_event LIMIT 1");

// Cancels one child at a time, so that no row is written while a reader stands on it.
Status Deliveries::cancel_children(InstanceKey parent, ExecutionId execution, EventId first,
                                   EventId last, std::string_view reason) {
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.payload = reason;
  std::int64_t next = first;
  Walk walk;
  while (true) {
    InstanceKey child = 0;
    {
      Statement row = connection_.use(kNextChild);
      row.bind(parent).bind(execution).bind(next).bind(std::int64_t{last});
      if (!row.row()) return fail(row.status(), "find child");
      child = row.integer(0);
      if (!walk.rises(row.integer(1))) return no_progress("instances");
      next = row.integer(1) + 1;
    }
    PAWL_TRY(rows_.instances.insert_message(child, cancel));
  }
}

constexpr auto kReadParent = PAWL_QUERY(
    "SELECT p.key,c.parent_execution,c.parent_event FROM instances AS c JOIN instances AS p "
    "ON p.key=c.parent WHERE c.key=? AND p.execution=c.parent_execution AND p.state NOT IN "
    "(",
    sql::number<InstanceState::kCompleted, InstanceState::kFailed>, ")");

Status Deliveries::notify_parent(InstanceKey child, ErrorKind error, std::string_view output) {
  Message done;
  done.kind = MessageKind::kChildDone;
  done.error = error;
  done.payload = output;
  InstanceKey parent = 0;
  {
    Statement row = connection_.use(kReadParent);
    if (!row.bind(child).row()) return fail(row.status(), "find parent");
    parent = row.integer(0);
    done.execution = row.integer(1);
    done.ref = static_cast<EventId>(row.integer(2));
  }
  return rows_.instances.insert_message(parent, done);
}

}  // namespace pawl::store
