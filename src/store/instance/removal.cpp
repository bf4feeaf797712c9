#include "store/instance/removal.hpp"

#include <algorithm>
#include <optional>

#include "store/column_fits.hpp"
#include "store/walk.hpp"

namespace pawl::store {
namespace {

constexpr int kEndedLooksMax = 64;  // ended trees looked at in one call

constexpr std::int64_t kEventsPlausible = 1'000'000;
constexpr std::int64_t kInstanceCost = 16;  // in events: rows of other tables, and indices
constexpr std::int64_t kSearchCost = 64;    // in events: a step through history
constexpr int kSearchStepsMax = 4;

}  // namespace

constexpr auto kFindRoot = PAWL_QUERY(
    "SELECT i.state,i.root,EXISTS(SELECT 1 FROM instances AS c"
    "\fINDEXED BY i_alive\rWHERE c.root=i.key AND c.root IS NOT NULL AND c.finished_at IS "
    "NULL) FROM instances AS i WHERE i.key=?1 AND " PAWL_IS_THERE);
Status TreeRemoval::delete_instance(InstanceKey key, bool force) {
  require_batch();
  {
    Statement row = connection_.use(kFindRoot);
    if (!row.bind(key).row()) return no_row(row, Status::kNotFound, "instances");
    if (!row.is_null(1)) return Status::kChildInstance;
    if (!force && (!has_ended(row.integer(0)) || row.integer(2) != 0)) return Status::kStillRunning;
  }
  InstanceWrite write;
  write.state = InstanceState::kDeleted;
  write.parked_until = kNever;
  write.home = 0;
  write.leaves_queue = true;
  write.keeps_why = true;
  write.keeps_unregistered = true;
  write.revisions = 1;
  return written(rows_.instances.write_state(key, write));
}

Status TreeRemoval::prune_executions(InstanceKey key, const PruneLimits& limits,
                                     std::size_t events_max, Removed* removed, bool* more) {
  require_batch();
  *more = false;
  InstanceRow row;
  PAWL_TRY(rows_.instances.read_instance(key, &row));
  const std::int64_t kept = limits.keep_last > 1 ? limits.keep_last : 1;
  if (kept > row.execution) return Status::kOk;
  const ExecutionId last = row.execution - kept;
  Budget budget{static_cast<std::int64_t>(events_max), removed};
  Walk walk;
  for (bool first = true;; first = false) {
    Oldest oldest;
    const Status found = oldest_execution(key, last, &oldest);
    if (found == Status::kNotFound) return Status::kOk;
    PAWL_TRY(found);
    if (!walk.rises(oldest.execution)) return no_progress("executions");
    if (limits.ended_before_ms != 0 && oldest.ended >= limits.ended_before_ms) return Status::kOk;
    bool clear = false;
    PAWL_TRY(prune_children(key, oldest.execution, budget, &clear));
    // At least one execution goes, however long it is.
    *more = budget.spent() || (!first && oldest.events > budget.events);
    if (*more || !clear) return Status::kOk;
    Budget whole{kNever, removed};
    PAWL_TRY(delete_history(key, oldest, whole, &clear));
    budget.events -= oldest.events;
    *more = !clear;  // it is searched for
    if (*more) return Status::kOk;
  }
}

Status TreeRemoval::delete_ended(const Retention& which, EndedCursor* cursor, OptionalMs* next_end,
                                 bool* more) {
  require_batch();
  next_end->clear();
  *more = false;
  EndedCursor stays;
  if (which.count_max > 0) PAWL_TRY(first_that_stays(which.count_max, &stays));
  for (int looks = 0; looks < kEndedLooksMax; ++looks) {
    EndedCursor next;
    PAWL_TRY(next_ended(*cursor, &next));
    if (next.key == 0) return Status::kOk;
    const bool surplus =
        next.ended < stays.ended || (next.ended == stays.ended && next.key < stays.key);
    const bool is_old = which.ended_until.has_value() && next.ended <= which.ended_until.value();
    if (!is_old && !surplus) {
      *next_end = next.ended;
      return Status::kOk;
    }
    *cursor = next;
    const Status status = delete_instance(next.key, false);
    if (status != Status::kStillRunning) PAWL_TRY(status);
  }
  *more = true;
  return Status::kOk;
}

Status TreeRemoval::sweep_deleted(std::size_t events_max, Removed* removed, bool* more) {
  require_batch();
  Budget budget{static_cast<std::int64_t>(events_max), removed};
  return sweep_trees(budget, more);
}

// Ended trees go first, then earlier executions. Those are ordered by the wall clock, since no
// other order is stored.
Status TreeRemoval::remove_oldest(std::size_t events_max, Removed* removed) {
  require_batch();
  Budget budget{static_cast<std::int64_t>(events_max), removed};
  bool more = false;
  for (bool any = true; any;) {
    PAWL_TRY(sweep_trees(budget, &more));
    if (more) return Status::kOk;
    PAWL_TRY(delete_oldest_ended(&any));
  }
  const bool removed_trees = budget.events < static_cast<std::int64_t>(events_max);
  return removed_trees ? Status::kOk : prune_oldest(events_max, removed);
}

Status TreeRemoval::sweep_trees(Budget& budget, bool* more) {
  while (true) {
    InstanceKey key = 0;
    ExecutionId current = 0;
    PAWL_TRY(next_deleted(&key, &current));
    *more = key != 0 && budget.spent();
    if (key == 0 || *more) return Status::kOk;
    Oldest oldest;
    const Status found = oldest_execution(key, current, &oldest);
    if (found != Status::kNotFound) PAWL_TRY(found);
    bool clear = true;
    oldest.goes_whole = oldest.execution == current;
    if (found == Status::kOk) PAWL_TRY(delete_history(key, oldest, budget, &clear));
    if (found == Status::kNotFound) PAWL_TRY(search_unlisted(key, current, budget, &clear));
    if (clear && (found == Status::kNotFound || oldest.execution == current))
      PAWL_TRY(delete_whole(key, current, budget));
  }
}

constexpr auto kNextEnded = PAWL_QUERY(
    "SELECT finished_at,key FROM instances\fINDEXED BY i_finished\rWHERE "
    "finished_at IS NOT NULL AND root IS NULL AND (finished_at,key)>(?1,?2) "
    "ORDER BY finished_at,key LIMIT 1");

Status TreeRemoval::next_ended(const EndedCursor& after, EndedCursor* out) {
  *out = EndedCursor();
  Statement row = connection_.use(kNextEnded);
  // An end that is no number sorts behind all numbers; when that instance ended is unknown.
  if (row.bind(after.ended).bind(after.key).row() && row.is_integer(0))
    *out = {row.integer(0), row.integer(1)};
  const bool rises =
      out->ended > after.ended || (out->ended == after.ended && out->key > after.key);
  if (out->key != 0 && !rises) return no_progress("instances");
  return fail(row.status(), "find ended instance");
}

constexpr auto kFirstThatStays = PAWL_QUERY(
    "SELECT finished_at,key FROM instances\fINDEXED BY i_finished\r"
    "WHERE finished_at IS NOT NULL AND root IS NULL "
    "ORDER BY finished_at DESC,key DESC LIMIT 1 OFFSET ?1");

// Finds the oldest of the `count_max` trees that ended last; all that ended before it go. The count
// itself bounds the look.
Status TreeRemoval::first_that_stays(std::int64_t count_max, EndedCursor* out) {
  Statement row = connection_.use(kFirstThatStays);
  if (row.bind(count_max - 1).row()) *out = {row.integer(0), row.integer(1)};
  return fail(row.status(), "count ended instances");
}

constexpr auto kNextDeleted =
    PAWL_QUERY("SELECT key,execution FROM instances\fINDEXED BY i_removed\rWHERE state=",
               sql::number<InstanceState::kDeleted>, " ORDER BY key LIMIT 1");
constexpr auto kNextOfTree = PAWL_QUERY(
    "SELECT key,execution FROM instances\fINDEXED BY i_tree\r"
    "WHERE root=?1 AND root IS NOT NULL ORDER BY root,key LIMIT 1");

// Deliveries come before the root, because the root carries the mark.
Status TreeRemoval::next_deleted(InstanceKey* key, ExecutionId* execution) {
  *key = 0;
  InstanceKey root = 0;
  {
    Statement row = connection_.use(kNextDeleted);
    if (!row.row()) return fail(row.status(), "find deleted instance");
    root = *key = row.integer(0);
    *execution = row.integer(1);
  }
  Statement row = connection_.use(kNextOfTree);
  if (!row.bind(root).row()) return fail(row.status(), "find deleted child");
  *key = row.integer(0);
  *execution = row.integer(1);
  return Status::kOk;
}

constexpr auto kDeleteRows = PAWL_QUERY("DELETE FROM history WHERE row_number BETWEEN ?1 AND ?2");
constexpr auto kDeleteExecution =
    PAWL_QUERY("DELETE FROM executions WHERE instance=?1 AND execution<=?2");
constexpr auto kWriteRest = PAWL_QUERY(
    "UPDATE executions SET last_event=?3,last_row=?4 WHERE instance=?1 AND execution=?2");

// Deletes as much of the history as the budget allows, the newest events first; the row of the
// execution goes with the last of them. This is the oldest execution, so rows before it are
// damaged, and go with it.
Status TreeRemoval::delete_history(InstanceKey key, Oldest oldest, Budget& budget, bool* clear) {
  *clear = false;
  if (!oldest.searched_up_to.has_value()) PAWL_TRY(delete_linked(key, budget, &oldest));
  if (oldest.searched_up_to.has_value()) PAWL_TRY(delete_found(key, budget, &oldest));
  if (oldest.last.event == 0 && !oldest.searched_up_to.has_value()) {
    *clear = true;
    Statement remove = connection_.use(kDeleteExecution);
    std::int64_t removed = 0;
    remove.bind(key).bind(oldest.execution);
    PAWL_TRY(fail_written(remove.run(&removed), "delete execution"));
    budget.removed->executions += removed;
    return Status::kOk;
  }
  Statement write = connection_.use(kWriteRest);
  write.bind(key).bind(oldest.execution);
  if (oldest.searched_up_to.has_value()) {
    write.bind_null().bind(*oldest.searched_up_to);
  } else {
    write.bind(oldest.last.event).bind_or_null(oldest.last.row);
  }
  return fail_written(write.run(), "delete history");
}

Status TreeRemoval::delete_linked(InstanceKey key, Budget& budget, Oldest* oldest) {
  HistoryWalk walk(context_, key, oldest->execution, oldest->last);
  HistoryRun run;
  while (!budget.spent() && walk.next_run(&run, budget.events)) {
    Statement remove = connection_.use(kDeleteRows);
    std::int64_t removed = 0;
    PAWL_TRY(fail_written(remove.bind(run.low).bind(run.high).run(&removed), "delete history"));
    budget.spend(removed);
  }
  PAWL_TRY(walk.status());
  oldest->last = walk.rest();
  if (walk.broken_at() == 0 || walk.broken_at() != oldest->last.event) return Status::kOk;
  oldest->last = HistoryPlace();
  oldest->searched_up_to = 0;
  return Status::kOk;
}

constexpr auto kDeleteFound = PAWL_QUERY(
    "DELETE FROM history WHERE row_number>?1 AND row_number<=?2 AND instance=?3 AND "
    "(execution<=?4 OR ?5<>0)");

// Looks through the table for the events that a broken link hides. The row of the execution keeps
// how far, so that no call looks at more than a few steps' rows.
Status TreeRemoval::delete_found(InstanceKey key, Budget& budget, Oldest* oldest) {
  for (int step = 0; step < kSearchStepsMax && oldest->searched_up_to.has_value(); ++step) {
    std::optional<HistoryRow> end;
    PAWL_TRY(end_of_step(context_, *oldest->searched_up_to, &end));
    Statement remove = connection_.use(kDeleteFound);
    remove.bind(*oldest->searched_up_to).bind(end.value_or(kHistoryRowMax));
    remove.bind(key).bind(oldest->execution).bind(oldest->goes_whole ? 1 : 0);
    std::int64_t removed = 0;
    PAWL_TRY(fail_written(remove.run(&removed), "delete history"));
    budget.spend(removed);
    budget.events -= kSearchCost;
    oldest->searched_up_to = end;
  }
  return Status::kOk;
}

constexpr auto kDeleteMessages =
    PAWL_QUERY("DELETE FROM orchestrator_queue WHERE instance=?1", kTimerMoves);
constexpr auto kNewestKeys = PAWL_QUERY("SELECT keys_last FROM instances WHERE key=?1");
constexpr auto kKeysBefore =
    PAWL_QUERY("SELECT prev FROM message_keys WHERE id=?1 AND instance=?2");
constexpr auto kDeleteKeys = PAWL_QUERY("DELETE FROM message_keys WHERE id=?1 AND instance=?2");
constexpr auto kDeleteCalls = PAWL_QUERY("DELETE FROM calls WHERE instance=?1");
constexpr auto kDeleteState = PAWL_QUERY("DELETE FROM kv WHERE instance=?1");
constexpr auto kDeleteRestOfExecutions = PAWL_QUERY("DELETE FROM executions WHERE instance=?1");
constexpr auto kDeleteInstance =
    PAWL_QUERY("DELETE FROM instances WHERE key=?1", kTimerMoves | kLimitMoves);

// Before the row of the instance, which has the first link. A circle of damaged links ends at a row
// that is gone. Rejected: one statement that follows the links; its lists take 75 KB, more than a
// small heap has.
Status TreeRemoval::delete_keys(InstanceKey key) {
  std::optional<std::int64_t> next;
  {
    Statement row = connection_.use(kNewestKeys);
    PAWL_TRY(read_link(row.bind(key), &next));
  }
  while (next.has_value()) {
    const std::int64_t id = *next;
    {
      Statement row = connection_.use(kKeysBefore);
      PAWL_TRY(read_link(row.bind(id).bind(key), &next));
    }
    PAWL_TRY(fail_written(connection_.use(kDeleteKeys).bind(id).bind(key).run(), "delete keys"));
  }
  return Status::kOk;
}

// None: there is no such row, or it names none, or its number is damaged.
Status TreeRemoval::read_link(Statement& row, std::optional<std::int64_t>* out) {
  out->reset();
  if (row.row() && row.is_integer(0)) *out = row.integer(0);
  return fail_written(row.status(), "read keys");
}

// Deletes an instance that has no history left. A worker that returns work in flight later is
// refused.
Status TreeRemoval::delete_whole(InstanceKey key, ExecutionId execution, Budget& budget) {
  PAWL_TRY(written(rows_.work.cancel_all_work(key, execution)));
  PAWL_TRY(written(verbs_.close_all_sessions(key)));
  PAWL_TRY(fail_written(connection_.use(kDeleteMessages).bind(key).run(), "delete messages"));
  PAWL_TRY(delete_keys(key));
  PAWL_TRY(fail_written(connection_.use(kDeleteCalls).bind(key).run(), "delete calls"));
  PAWL_TRY(fail_written(connection_.use(kDeleteState).bind(key).run(), "delete state"));
  PAWL_TRY(
      fail_written(connection_.use(kDeleteRestOfExecutions).bind(key).run(), "delete executions"));
  std::int64_t removed = 0;
  PAWL_TRY(
      fail_written(connection_.use(kDeleteInstance).bind(key).run(&removed), "delete instance"));
  if (removed == 0) return no_progress("instances");  // it would be found for ever
  budget.events -= kInstanceCost;
  ++budget.removed->instances;
  return Status::kOk;
}

constexpr auto kOldest = PAWL_QUERY(
    "SELECT e.execution,e.ended_stamp,e.last_event,e.last_row,i.last_event,i.last_row,"
    "i.key IS NOT NULL AS is_current FROM executions AS e "
    "LEFT JOIN instances AS i ON i.key=e.instance AND i.execution=e.execution "
    "WHERE e.instance=?1 AND e.execution<=?2 ORDER BY e.execution LIMIT 1");

// The row of an execution has its last event once it has ended, or a part of it was deleted.
Status TreeRemoval::oldest_execution(InstanceKey key, ExecutionId last, Oldest* out) {
  Statement row = connection_.use(kOldest);
  if (!row.bind(key).bind(last).row()) return no_row(row, Status::kNotFound, "executions");
  *out = Oldest();
  bool whole = true;
  out->execution = row.integer(PAWL_COLUMN(kOldest, e.execution));
  out->ended = row.integer(PAWL_COLUMN(kOldest, e.ended_stamp), &whole);
  const bool has_end = !row.is_null(PAWL_COLUMN(kOldest, e.last_event));
  const bool has_row = !row.is_null(PAWL_COLUMN(kOldest, e.last_row));
  const int event =
      has_end ? PAWL_COLUMN(kOldest, e.last_event) : PAWL_COLUMN(kOldest, i.last_event);
  const int at = has_end ? PAWL_COLUMN(kOldest, e.last_row) : PAWL_COLUMN(kOldest, i.last_row);
  whole = fits(row.integer(event, &whole), &out->last.event) && whole;
  if (!row.is_null(at)) out->last.row = row.integer(at, &whole);
  const bool is_searched = !has_end && has_row;
  if (is_searched) out->searched_up_to = row.integer(PAWL_COLUMN(kOldest, e.last_row), &whole);
  // A damaged number must not add to the budget.
  out->events =
      whole ? std::min(std::int64_t{out->last.event}, kEventsPlausible) : kEventsPlausible;
  const bool is_broken = !whole || out->last.row.has_value() != (out->last.event != 0) ||
                         (!has_end && row.integer(PAWL_COLUMN(kOldest, is_current)) == 0);
  if (is_broken && !out->searched_up_to.has_value()) out->searched_up_to = 0;
  if (out->searched_up_to.has_value()) out->last = HistoryPlace();
  return Status::kOk;
}

constexpr auto kSearchUnlisted = PAWL_QUERY(
    "INSERT INTO executions(instance,execution,end,last_row,started_stamp) SELECT key,?2,",
    sql::number<EndKind::kNone>, ",0,0 FROM instances WHERE key=?1 AND last_row IS NOT NULL");

// An instance with events, but without a row of its execution, which may have lost its number:
// makes that row, so that they are searched for.
Status TreeRemoval::search_unlisted(InstanceKey key, ExecutionId execution, Budget& budget,
                                    bool* clear) {
  Statement insert = connection_.use(kSearchUnlisted);
  std::int64_t inserted = 0;
  PAWL_TRY(fail_written(insert.bind(key).bind(execution).run(&inserted), "delete history"));
  *clear = inserted == 0;
  budget.events -= kSearchCost;
  return Status::kOk;
}

constexpr auto kFirstChild = PAWL_QUERY(
    "SELECT key,execution,state FROM instances\fINDEXED BY i_children\rWHERE parent=?1 AND "
    "parent IS NOT NULL AND parent_execution>=?2 AND parent_execution<=?3 "
    "ORDER BY parent_execution LIMIT 1");

// Follows the first child of an execution down to an instance that has no children.
Status TreeRemoval::first_leaf(InstanceKey parent, ExecutionId execution, Leaf* out) {
  *out = Leaf();
  while (true) {
    Statement row = connection_.use(kFirstChild);
    // Only the first step is bound to one execution; below it all executions count.
    row.bind(parent).bind(out->key == 0 ? execution : 0);
    if (!row.bind(out->key == 0 ? execution : kNever).row())
      return fail(row.status(), "find child");
    *out = {row.integer(0), row.integer(1), has_ended(row.integer(2))};
    // Deliveries have higher keys than their parents.
    if (out->key <= parent) return no_progress("instances");
    parent = out->key;
  }
}

Status TreeRemoval::prune_children(InstanceKey key, ExecutionId execution, Budget& budget,
                                   bool* clear) {
  *clear = false;
  while (!budget.spent()) {
    Leaf leaf;
    PAWL_TRY(first_leaf(key, execution, &leaf));
    *clear = leaf.key == 0;
    if (*clear || !leaf.ended) return Status::kOk;
    Oldest oldest;
    const Status found = oldest_execution(leaf.key, leaf.execution, &oldest);
    if (found != Status::kNotFound) PAWL_TRY(found);
    Budget whole{kNever, budget.removed};
    bool done = true;
    oldest.goes_whole = oldest.execution == leaf.execution;
    if (found == Status::kOk) PAWL_TRY(delete_history(leaf.key, oldest, whole, &done));
    if (found == Status::kNotFound)
      PAWL_TRY(search_unlisted(leaf.key, leaf.execution, budget, &done));
    budget.events = done ? budget.events - oldest.events : 0;
    if (!done) {
      *clear = false;
      return Status::kOk;
    }
    if (found == Status::kNotFound || oldest.execution == leaf.execution)
      PAWL_TRY(delete_whole(leaf.key, leaf.execution, budget));
  }
  return Status::kOk;
}

Status TreeRemoval::delete_oldest_ended(bool* any) {
  *any = false;
  EndedCursor cursor;
  for (int looks = 0; looks < kEndedLooksMax && !*any; ++looks) {
    PAWL_TRY(next_ended(EndedCursor(cursor), &cursor));
    if (cursor.key == 0) return Status::kOk;
    const Status status = delete_instance(cursor.key, false);
    *any = status == Status::kOk;
    if (status != Status::kStillRunning) PAWL_TRY(status);
  }
  return Status::kOk;
}

constexpr auto kNextPast = PAWL_QUERY(
    "SELECT ended_stamp,instance,execution FROM executions\fINDEXED BY e_past\rWHERE end=",
    sql::number<EndKind::kContinuedAsNew>,
    " AND "
    "(ended_stamp,instance,execution)>(?1,?2,?3) ORDER BY ended_stamp,instance,execution LIMIT "
    "1");

Status TreeRemoval::next_past(const PastCursor& after, PastCursor* out) {
  *out = PastCursor();
  Statement row = connection_.use(kNextPast);
  row.bind(after.ended).bind(after.instance).bind(after.execution);
  if (row.row()) *out = {row.integer(0), row.integer(1), row.integer(2)};
  return fail(row.status(), "find earlier execution");
}

Status TreeRemoval::prune_oldest(std::size_t events_max, Removed* removed) {
  PastCursor past;
  past.ended = INT64_MIN;
  const std::int64_t before = removed->executions;
  for (int looks = 0; looks < kEndedLooksMax && removed->executions == before; ++looks) {
    PAWL_TRY(next_past(PastCursor(past), &past));
    if (past.instance == 0) return Status::kOk;
    bool more = false;
    const Status pruned =
        prune_executions(past.instance, PruneLimits(), events_max, removed, &more);
    if (pruned != Status::kNotFound) PAWL_TRY(pruned);
  }
  return Status::kOk;
}

}  // namespace pawl::store
