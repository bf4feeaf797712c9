#include "store/place/batches.hpp"

#include <cinttypes>

#include "store/instance/rows.hpp"

namespace pawl::store {
Status Batches::quarantine(const Damage& damage) {
  require_batch();
  Status status = quarantine_row(damage.row, damage);
  if (status == Status::kNotFound && damage.named_by.has_value())
    status = quarantine_row(*damage.named_by, damage);
  // Damage that was met on the way is the damage that is removed here.
  connection_.forget_damage();
  return status;
}

constexpr auto kHighestKeys = PAWL_QUERY(
    "SELECT (SELECT max(key) FROM instances) AS instances,"
    "(SELECT max(id) FROM orchestrator_queue) AS orchestrator_queue,"
    "(SELECT max(inc) FROM workers) AS workers,(SELECT max(sid) FROM sessions) AS sessions,"
    "(SELECT max(CASE typeof(seq) WHEN 'integer' THEN seq ELSE 9223372036854775807 END) "
    "FROM sqlite_sequence) AS sqlite_sequence",
    sql::kEnginesOwn);

Status Batches::check_keys() {
  constexpr std::int64_t kKeyMax = std::int64_t{1} << 62;
  Statement row = connection_.use(kHighestKeys);
  if (!row.row()) return fail(row.status(), "find the highest keys");
  struct Highest {
    const char* table;
    int column;
  };
  constexpr Highest kHighest[] = {
      {"instances", PAWL_COLUMN(kHighestKeys, instances)},
      {"orchestrator_queue", PAWL_COLUMN(kHighestKeys, orchestrator_queue)},
      {"workers", PAWL_COLUMN(kHighestKeys, workers)},
      {"sessions", PAWL_COLUMN(kHighestKeys, sessions)},
      {"sqlite_sequence", PAWL_COLUMN(kHighestKeys, sqlite_sequence)},
  };
  for (const Highest& highest : kHighest) {
    if (row.integer(highest.column) < kKeyMax) continue;
    connection_.diagnostic().format("table %s has no keys left: its highest is %" PRId64,
                                    highest.table, row.integer(highest.column));
    return fail(Status::kCorrupt, "find the highest keys");
  }
  return Status::kOk;
}

constexpr auto kIsParked =
    PAWL_QUERY("SELECT parked_until IS NOT NULL FROM instances WHERE key=?1");

Status Batches::stop_broken(InstanceKey key, std::string_view text) {
  require_batch();
  {
    Statement read = connection_.use(kIsParked);
    if (!read.bind(key).row() || read.integer(0) != 0)
      return no_row(read, Status::kStale, "instances");
  }
  return written(rows_.instances.stop_damaged(key, ErrorKind::kCorrupt, text));
}

// The instance stops, like one whose history cannot be read, and a later start tries it again. An
// instance that has ended stops too, because the state in a damaged row need not match its history.
// Damaged times and counts are cleared.
Status Batches::quarantine_instance(InstanceKey key, ErrorKind kind, std::string_view text) {
  PAWL_TRY(rows_.instances.stop_damaged(key, kind, text));
  rows_.instances.log_damage({RowRef::Table::kInstances, key}, key, text);
  return Status::kOk;
}

Status Batches::quarantine_row(const RowRef& row, const Damage& damage) {
  const ErrorKind kind =
      damage.status == Status::kCorrupt ? ErrorKind::kCorrupt : ErrorKind::kLimit;
  Diagnostic text;
  text.format("%s row %" PRId64 ": %.*s", table_name(damage.row.table), damage.row.key,
              static_cast<int>(damage.text.text().size()), damage.text.text().data());
  switch (row.table) {
    case RowRef::Table::kInstances: return quarantine_instance(row.key, kind, text.text());
    case RowRef::Table::kMessages: return quarantine_message(row.key, kind, text.text());
    case RowRef::Table::kWork: return rows_.work.quarantine_work(row.key, kind, text.text());
    case RowRef::Table::kSessions: return quarantine_session(row.key, text.text());
    case RowRef::Table::kTotals: return drop_totals(row.key, text.text());
  }
  return Status::kNotFound;
}

constexpr auto kReadMessage =
    PAWL_QUERY("SELECT q.instance,i.state IN (",
               sql::number<InstanceState::kCompleted, InstanceState::kFailed>,
               ") FROM orchestrator_queue AS q LEFT JOIN instances AS i "
               "ON i.key=q.instance WHERE q.id=?1");
constexpr auto kHoldMessage = PAWL_QUERY(
    "UPDATE orchestrator_queue SET waiting=?2,base=NULL,due=NULL,"
    "kind=iif(\ftypeof(kind)='integer'\r,kind,0),error=iif(\ftypeof(error)='integer'\r,error,0),"
    "ref=iif(\ftypeof(ref)='integer'\r,ref,0),seg=iif(\ftypeof(seg)='integer'\r,seg,NULL),"
    "execution=iif(\ftypeof(execution)='integer'\r,execution,0),"
    "crc=iif(\ftypeof(crc)='integer'\r,crc,0),"
    "name=iif(?3,NULL,name),payload=iif(?3,NULL,payload) WHERE id=?1",
    kTimerMoves);

// The message's instance stops. The message stays, marked in the column `waiting`, which is not
// part of it: nothing is lost, no timer is due, and the instance stops again as long as the message
// is there.
Status Batches::quarantine_message(MessageId id, ErrorKind kind, std::string_view text) {
  InstanceKey instance = 0;
  bool has_ended = false;
  {
    bool whole = true;
    Statement read = connection_.use(kReadMessage);
    if (!read.bind(id).row()) return no_row(read, Status::kNotFound, "read a damaged message");
    instance = read.integer(0, &whole);
    has_ended = read.integer(1, &whole) != 0;
  }
  {
    // A text that is too large for the memory cannot be written back either, so it is dropped. Only
    // timers are suspected as messages, and a timer has neither name nor payload.
    const bool is_too_large = kind == ErrorKind::kLimit;
    Statement hold = connection_.use(kHoldMessage);
    hold.bind(id).bind(static_cast<std::int64_t>(Waiting::kDamaged)).bind(is_too_large ? 1 : 0);
    PAWL_TRY(fail(hold.run(), "hold a damaged message"));
  }
  rows_.instances.log_damage({RowRef::Table::kMessages, id}, instance, text);
  if (has_ended) return Status::kOk;
  const Status stopped = rows_.instances.stop_damaged(instance, kind, text);
  return stopped == Status::kNotFound ? Status::kOk : stopped;
}

constexpr auto kReadSession = PAWL_QUERY(
    "SELECT fail,scope,state,\ftypeof(owner)='integer'\r OR owner IS NULL AS is_owner_whole "
    "FROM sessions WHERE sid=?1");
constexpr auto kFreeSession = PAWL_QUERY(
    "UPDATE sessions SET epoch_used=0,last_activity_at=?2,"
    "hold_until=0,look_at=iif(limits IS NULL,NULL,?2),expires_at=NULL,"
    "leak=0,activities=0,gen=iif(\ftypeof(gen)='integer'\r AND gen<4611686018427387904,gen,0)+1,"
    "fail=?3,hard=iif(hard=1,1,0),"
    "excl=iif(excl=0,0,1),lifecycle=iif(lifecycle IN (1,2),lifecycle,0),"
    "idle_ms=iif(\ftypeof(idle_ms)='integer'\r,idle_ms,NULL),"
    "notify=iif(\ftypeof(notify)='integer'\r,notify,NULL),"
    "created_at=iif(\ftypeof(created_at)='integer'\r,created_at,?2),"
    "given=iif(\ftypeof(given)='integer'\r,given,NULL),rate_at=NULL,"
    "limited_by=iif(\ftypeof(limited_by)='integer'\r,limited_by,NULL),folder_root=NULL WHERE "
    "sid=?1",
    kLookComes);

// The session loses its owner, and the next worker with work of it takes it as a new one. A session
// that fails on owner loss is lost. Its limits are kept if they can be read.
Status Batches::quarantine_session(SessionKey session, std::string_view text) {
  rules::SessionRow row;
  InstanceKey scope = 0;
  bool has_scope = true;
  bool is_owner_whole = true;
  {
    bool whole = true;
    Statement read = connection_.use(kReadSession);
    if (!read.bind(session).row()) return no_row(read, Status::kNotFound, "read a damaged session");
    row.fails_on_loss = read.integer(PAWL_COLUMN(kReadSession, fail), &whole) != 0;
    scope = read.integer(PAWL_COLUMN(kReadSession, scope), &has_scope);
    // A number that is no state counts as open.
    const std::int64_t state = read.integer(PAWL_COLUMN(kReadSession, state), &whole);
    if (stored(rules::state_of(state)) == state) row.state = rules::state_of(state);
    is_owner_whole = read.integer(PAWL_COLUMN(kReadSession, is_owner_whole)) != 0;
  }
  if (!has_scope) return drop_session(session, text);
  if (row.fails_on_loss) PAWL_TRY(owners_.fail_work_of(session, ErrorKind::kSessionLost, text));
  if (!is_owner_whole) {
    // The owner is written first: the next statement would copy a large text in it with the row,
    // for which SQLite's memory may not suffice.
    rules::Transition without_owner;
    without_owner.next = row;
    PAWL_TRY(rows_.sessions.write_owner(session, without_owner, {}));
  }
  {
    Statement free = connection_.use(kFreeSession);
    free.bind(session).bind(batch_.now);
    PAWL_TRY(fail(free.bind(row.fails_on_loss ? 1 : 0).run(), "free a damaged session"));
  }
  PAWL_TRY(
      owners_.apply(session, rules::transition(row, rules::Trigger::kRepair, {}), {}, nullptr));
  rows_.instances.log_damage({RowRef::Table::kSessions, session}, scope, text);
  return Status::kOk;
}

// A session is found by its scope. Without one it has no owner and cannot get one, so it is
// removed.
Status Batches::drop_session(SessionKey session, std::string_view text) {
  PAWL_TRY(owners_.fail_work_of(session, ErrorKind::kSessionLost, text));
  PAWL_TRY(rows_.work.delete_cancelled_running(session));
  PAWL_TRY(rows_.sessions.delete_row(session));
  rows_.instances.log_damage({RowRef::Table::kSessions, session}, 0, text);
  return Status::kOk;
}

constexpr auto kDropTotals = PAWL_QUERY("DELETE FROM session_totals WHERE what=?1 AND bucket=?2");

// The counts are for people, and begin anew.
Status Batches::drop_totals(std::int64_t key, std::string_view text) {
  {
    Statement drop = connection_.use(kDropTotals);
    PAWL_TRY(fail(drop.bind(key / kTotalsKeys).bind(key % kTotalsKeys).run(), "drop totals"));
  }
  rows_.instances.log_damage({RowRef::Table::kTotals, key}, 0, text);
  return Status::kOk;
}

}  // namespace pawl::store
