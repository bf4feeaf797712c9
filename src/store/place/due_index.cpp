#include "store/place/due_index.hpp"

#include "core/check.hpp"
#include "store/row_rules.hpp"

namespace pawl::store {
namespace {

constexpr int kFirstTimersMax = 64;  // timers that are parked or another worker's

}  // namespace

Status DueIndex::next_due(Incarnation me, bool turns, NextDue* out) {
  if (me != first_due_of_) connection_.add_marks(kTimerComes);
  first_due_of_ = me;
  hear_of_changes();
  for (int kind = 0; kind < kDueKinds; ++kind) {
    if (first_due_[kind].is_known || (is_of_turns(kind) && !turns)) continue;
    PAWL_TRY(find_unknown(me, turns));
    break;
  }
#ifndef NDEBUG
  PAWL_TRY(check_first(me));
#endif
  out->pawl_time.clear();
  for (int kind = 0; kind < kDueKinds; ++kind)
    if (turns || !is_of_turns(kind)) out->pawl_time.keep_earlier(first_due_[kind].at);
  out->waiting_for_utc =
      turns && first_due(DueKind::kTimer).waits_for_utc && !context_.clock.off_known;
  return Status::kOk;
}

void DueIndex::hear_of_changes() {
  const unsigned marks = connection_.take_marks();
  if (marks == 0) return;
  for (int kind = 0; kind < kDueKinds; ++kind) {
    FirstDue& first = first_due_[kind];
    const bool has_any = first.at.has_value() || first.waits_for_utc;
    const auto is = static_cast<DueKind>(kind);
    if ((marks & comes(is)) != 0 || ((marks & moves(is)) != 0 && has_any)) first.is_known = false;
  }
}

Status DueIndex::find_unknown(Incarnation me, bool turns) {
  const std::int64_t others = context_.others;
  if (connection_.reads_ahead()) read_unknown_ahead(turns);
  const ReadScope scope(context_);  // forgets what is known, if others have committed
  PAWL_TRY(scope.status());
  if (connection_.reads_ahead() && context_.others != others) read_unknown_ahead(turns);
  for (int kind = 0; kind < kDueKinds; ++kind) {
    if (first_due_[kind].is_known || (is_of_turns(kind) && !turns)) continue;
    first_due_[kind] = FirstDue();
    PAWL_TRY(find_first_of(static_cast<DueKind>(kind), me, &first_due_[kind]));
    first_due_[kind].is_known = true;
  }
  return Status::kOk;
}

constexpr auto kFirstParked = PAWL_QUERY(
    "SELECT parked_until,key FROM instances\fINDEXED BY i_parked\r"
    "WHERE parked_until IS NOT NULL ORDER BY parked_until LIMIT 1");
constexpr auto kFirstLimit = PAWL_QUERY(
    "SELECT limit_due,key FROM instances\fINDEXED BY i_limit\r"
    "WHERE limit_due IS NOT NULL ORDER BY limit_due LIMIT 1");
constexpr auto kFirstStop = PAWL_QUERY(
    "SELECT stop_due,sid FROM sessions\fINDEXED BY s_stopping\r"
    "WHERE state=",
    sql::number<rules::State::kStopping>, " AND stop_due IS NOT NULL ORDER BY stop_due LIMIT 1");
constexpr auto kFirstLook = PAWL_QUERY(
    "SELECT look_at,sid FROM sessions\fINDEXED BY s_look\r"
    "WHERE look_at IS NOT NULL ORDER BY look_at LIMIT 1");

Status DueIndex::find_first_of(DueKind kind, Incarnation me, FirstDue* first) {
  bool waits = false;
  switch (kind) {
    case DueKind::kTimer:
      PAWL_TRY(first_timers(TimeBase::kPawl, me, &first->at, &waits));
      return first_timers(TimeBase::kUtc, me, &first->at, &first->waits_for_utc);
    case DueKind::kParked:
      return first_number(connection_.use(kFirstParked), RowRef::Table::kInstances, &first->at);
    case DueKind::kLimit:
      return first_number(connection_.use(kFirstLimit), RowRef::Table::kInstances, &first->at);
    case DueKind::kWork: return find_first_work(&first->at);
    case DueKind::kStop:
      return first_number(connection_.use(kFirstStop), RowRef::Table::kSessions, &first->at);
    case DueKind::kLook:
      return first_number(connection_.use(kFirstLook), RowRef::Table::kSessions, &first->at);
  }
  return Status::kOk;
}

constexpr auto kFirstDelayed = PAWL_QUERY(
    "SELECT due,id FROM worker_queue\fINDEXED BY wq_delayed\r"
    "WHERE state=",
    sql::number<rules::WorkState::kDelayed>, " AND due IS NOT NULL ORDER BY due LIMIT 1");
constexpr auto kFirstDeadline = PAWL_QUERY(
    "SELECT deadline,id FROM worker_queue\fINDEXED BY wq_deadline\r"
    "WHERE deadline IS NOT NULL ORDER BY deadline LIMIT 1");
constexpr auto kFirstUnavailable = PAWL_QUERY(
    "SELECT unavailable_due,id FROM worker_queue\fINDEXED BY wq_unavailable\r"
    "WHERE unavailable_due IS NOT NULL ORDER BY unavailable_due LIMIT 1");

Status DueIndex::find_first_work(OptionalMs* first) {
  PAWL_TRY(first_number(connection_.use(kFirstDelayed), RowRef::Table::kWork, first));
  PAWL_TRY(first_number(connection_.use(kFirstDeadline), RowRef::Table::kWork, first));
  return first_number(connection_.use(kFirstUnavailable), RowRef::Table::kWork, first);
}

#ifndef NDEBUG
// Every statement that writes a due time needs a mark; a forgotten mark shows here.
Status DueIndex::check_first(Incarnation me) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  for (int kind = 0; kind < kDueKinds; ++kind) {
    if (!first_due_[kind].is_known) continue;
    FirstDue found;
    PAWL_TRY(find_first_of(static_cast<DueKind>(kind), me, &found));
    PAWL_CHECK("store-34", found.at == first_due_[kind].at &&
                               found.waits_for_utc == first_due_[kind].waits_for_utc);
  }
  return Status::kOk;
}
#endif

// The columns of both places.
constexpr auto kWaitingColumns = sql::Columns("due,i.home,i.parked_until,id,waiting");
constexpr auto kTimerMessages = PAWL_QUERY(
    "SELECT q.due AS due,i.home,i.parked_until,q.id AS id,q.waiting AS waiting "
    "FROM orchestrator_queue AS q\fINDEXED BY oq_due\r"
    "\fCROSS\rJOIN instances AS i ON i.key=q.instance "
    "WHERE q.base=?1 AND q.due IS NOT NULL ORDER BY q.due");
constexpr auto kTimersInRows = PAWL_QUERY(
    "SELECT i.timer_due AS due,i.home,i.parked_until,i.key AS id,0 AS waiting "
    "FROM instances AS i\fINDEXED BY i_timer\r"
    "WHERE i.timer_base=?1 AND i.timer_due IS NOT NULL ORDER BY i.timer_due");

void DueIndex::read_unknown_ahead(bool turns) {
  constexpr struct {
    DueKind kind;
    sql::QueryRef query;
  } kFirsts[] = {
      {DueKind::kParked, kFirstParked},    {DueKind::kLimit, kFirstLimit},
      {DueKind::kWork, kFirstDelayed},     {DueKind::kWork, kFirstDeadline},
      {DueKind::kWork, kFirstUnavailable}, {DueKind::kStop, kFirstStop},
      {DueKind::kLook, kFirstLook},
  };
  const auto is_read = [&](DueKind kind) {
    return !first_due(kind).is_known && (turns || !is_of_turns(static_cast<int>(kind)));
  };
  for (const TimeBase base : {TimeBase::kPawl, TimeBase::kUtc})
    for (const sql::QueryRef query : {sql::QueryRef(kTimerMessages), sql::QueryRef(kTimersInRows)})
      if (is_read(DueKind::kTimer))
        sql::read_ahead(connection_, query, static_cast<std::int64_t>(base));
  for (const auto& first : kFirsts)
    if (is_read(first.kind)) connection_.use(first.query).read_ahead();
}

Status DueIndex::first_timers(TimeBase base, Incarnation me, OptionalMs* first, bool* waits) {
  PAWL_TRY(first_timer(connection_.use(kTimerMessages), RowRef::Table::kMessages, base, me, first,
                       waits));
  return first_timer(connection_.use(kTimersInRows), RowRef::Table::kInstances, base, me, first,
                     waits);
}

// A timer of a parked instance waits until that instance is woken; a timer of another worker's
// instance is ours only after the grace. Without both rules a due time in the past would keep us
// awake for work that is not ours.
Status DueIndex::first_timer(Statement row, RowRef::Table table, TimeBase base, Incarnation me,
                             OptionalMs* first, bool* waits) {
  row.bind(static_cast<std::int64_t>(base));
  for (int looks = 0; row.row(); ++looks) {
    const Suspicion suspect(connection_, table, row.integer(PAWL_COLUMN(kWaitingColumns, id)));
    if (row.integer(PAWL_COLUMN(kWaitingColumns, waiting)) != 0 ||
        !row.is_integer(PAWL_COLUMN(kWaitingColumns, due))) {
      connection_.blame(Status::kCorrupt, kOddTimer);
      continue;
    }
    *waits = true;
    std::int64_t due =
        due_in_pawl_time(base, row.integer(PAWL_COLUMN(kWaitingColumns, due)), context_.clock);
    if (due == kNever || first->has_passed(due)) break;
    const Incarnation home = row.integer(PAWL_COLUMN(kWaitingColumns, i.home));
    bool is_ours = home == 0 || home == me;
    if (looks < kFirstTimersMax) {  // beyond that: rather too early than too late
      if (!is_ours) PAWL_TRY(workers_.is_buried(home, &is_ours));
      if (!is_ours) due = add_saturating(due, home_grace_ms_ + 1);
      if (!row.is_null(PAWL_COLUMN(kWaitingColumns, i.parked_until)) &&
          row.integer(PAWL_COLUMN(kWaitingColumns, i.parked_until)) > due)
        due = row.integer(PAWL_COLUMN(kWaitingColumns, i.parked_until));
    }
    if (due != kNever) first->keep_earlier(due);
    if (looks >= kFirstTimersMax) break;
  }
  return fail(row.status(), "next due timer");
}

// A due time that is no number sorts behind all numbers in its index: a look would wait for it
// for ever, and never find it.
Status DueIndex::first_number(Statement row, RowRef::Table table, OptionalMs* first) {
  if (row.row()) {
    const Suspicion suspect(connection_, table, row.integer(1));
    const std::int64_t due = row.integer(0);
    if (row.is_integer(0) && due != kNever) first->keep_earlier(due);
  }
  return fail(row.status(), "next due");
}

}  // namespace pawl::store
