#include "store/instance/ready.hpp"

#include <algorithm>
#include <utility>

#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "store/instance/rows.hpp"
#include "store/sql/damage.hpp"
#include "store/walk.hpp"

namespace pawl::store {
namespace {

// Keys may rise in steps, so they are mixed first.
std::int64_t share_of(InstanceKey key, std::int64_t workers) {
  const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15U >> 32U;
  return static_cast<std::int64_t>(mixed % static_cast<std::uint64_t>(workers));
}

constexpr int kHomesMax = 16;  // homes looked at in one call; the next call goes on behind them

constexpr int kHomeInstancesMax = 16;  // instances of a living home, which may be too young

constexpr int kTimersMax = 256;  // due timers, which may belong to other workers

constexpr int kFiredMax = 64;  // timers of one instance, in one call

constexpr int kUnregisteredLooksMax = 16;  // instances of one name, which may be too young

constexpr int kLargerLooksMax = 256;  // instances of one name that need a larger worker

constexpr int kUnregisteredInstancesLeft = 16;  // young ones that are left where they are

constexpr int kNewestLooksMax = 32;  // while there are many unregistered instances

constexpr std::size_t kReasonBytesMax = 64;  // with any limit

constexpr int kBehindLooksMax = 512;  // instances of one home, or due timers

// The columns of every query for candidates: they decide whether one can be run.
#define PAWL_RUN_COLUMNS "i.name,i.version,i.behaviour,i.stop_kind"
// Follow PAWL_RUN_COLUMNS in queries that meet instances marked as unregistered. Instances that are
// not marked need no more room than any worker has.
#define PAWL_NEEDS_COLUMNS                                            \
  "iif(i.unregistered IS NULL,0,i.needs_messages) AS needs_messages," \
  "iif(i.unregistered IS NULL,0,i.needs_bytes) AS needs_bytes"
constexpr auto kRunColumns = sql::Columns(PAWL_RUN_COLUMNS);
constexpr auto kNeedsColumns = sql::Columns(PAWL_NEEDS_COLUMNS);

}  // namespace

// The answer, and the keys that must not be in it.
class ReadyInstances::ReadyList {
 public:
  ReadyList(const ReadyQuery& asked, InstanceKey* out, std::size_t capacity)
      : query(asked), out_(out), capacity_(capacity) {}

  void add(InstanceKey key) {
    if (full() || has(query.skip, query.skip_count, key) || has(out_, count_, key)) return;
    if (count_ + later_ == capacity_) --later_;
    out_[count_++] = key;
  }
  // Keeps an instance for the end of the list, as far as there is room.
  void add_later(InstanceKey key) {
    if (count_ + later_ == capacity_ || has(query.skip, query.skip_count, key)) return;
    out_[capacity_ - ++later_] = key;
  }
  // Adds those that were kept, in their order.
  void end_later() {
    InstanceKey* const end = out_ + capacity_;
    std::reverse(end - later_, end);
    for (const InstanceKey* key = end - std::exchange(later_, 0); key != end; ++key)
      add(*key);
  }
  // Adds the instance of a row that has PAWL_RUN_COLUMNS from `column`, or notes it as
  // unregistered. `since`: from when another worker could come for it; none: the others have had
  // time enough.
  void add(const Statement& row, InstanceKey key, int column, OptionalMs since) {
    if (can_run(query, row, column)) return add(key);
    if (query.unregistered == nullptr) return;
    UnregisteredInstances& unregistered = *query.unregistered;
    if (has(unregistered.keys, unregistered.count, key)) return;
    const bool is_young = since.has_value() && !waited(since.value());
    if (is_young && young_ < kUnregisteredInstancesLeft) {
      ++young_;
      unregistered.look_at.keep_earlier(look_after(since.value()));
    } else if (!crowded()) {
      unregistered.keys[unregistered.count++] = key;
      unregistered.more = true;
    }
  }
  // Adds the instance if it can be run; false: it cannot.
  bool add_known(const Statement& row, InstanceKey key, int column) {
    if (!can_run(query, row, column)) return false;
    add(key);
    return true;
  }
  // Whether the worker that ran the instance last has had time enough; if not, notes when it will
  // have had it, since no commit says that this time is over.
  bool takes_after(std::int64_t since) {
    if (waited(since)) return true;
    if (query.unregistered != nullptr) query.unregistered->look_at.keep_earlier(look_after(since));
    return false;
  }
  // Notes an instance that may not run now, but has a due timer.
  void note_parked(InstanceKey key) {
    if (query.unregistered == nullptr || crowded()) return;
    UnregisteredInstances& unregistered = *query.unregistered;
    if (!has(unregistered.keys, unregistered.count, key))
      unregistered.keys[unregistered.count++] = key;
    unregistered.more = true;
  }
  [[nodiscard]] bool full() const {
    return count_ + std::min(later_, capacity_ / kLaterPart) >= capacity_;
  }
  // No more unregistered instances can be noted; those behind them come with the next list.
  [[nodiscard]] bool crowded() const {
    return query.unregistered != nullptr &&
           query.unregistered->count == UnregisteredInstances::kMax;
  }
  static bool can_run(const ReadyQuery& query, const Statement& row, int column) {
    // Any worker can end an instance that an operator ends.
    if (query.runnable == nullptr ||
        row.integer(column + PAWL_COLUMN(kRunColumns, i.stop_kind)) == kTerminating)
      return true;
    for (std::size_t i = 0; i < query.runnable_count; ++i) {
      const Runnable& one = query.runnable[i];
      if (one.behaviour == row.integer(column + PAWL_COLUMN(kRunColumns, i.behaviour)) &&
          one.name == row.bytes(column + PAWL_COLUMN(kRunColumns, i.name)) &&
          one.version == row.bytes(column + PAWL_COLUMN(kRunColumns, i.version)))
        return true;
    }
    return false;
  }
  // True if the caller has room for the messages that wait for the instance. `column`: the first of
  // PAWL_NEEDS_COLUMNS.
  static bool fits(const ReadyQuery& query, const Statement& row, int column) {
    if (query.runnable == nullptr) return true;
    return row.integer(column + PAWL_COLUMN(kNeedsColumns, needs_messages)) <=
               query.mailbox.messages &&
           row.integer(column + PAWL_COLUMN(kNeedsColumns, needs_bytes)) <= query.mailbox.bytes;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  void cut(std::size_t count) { count_ = count; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool is_mine(Incarnation home) const { return home == 0 || home == query.me; }
  [[nodiscard]] std::int64_t look_after(std::int64_t since) const {
    return add_saturating(since, query.home_grace_ms + 1);
  }
  [[nodiscard]] bool waited(std::int64_t since) const {
    return subtract_saturating(query.now, since) > query.home_grace_ms;
  }

  const ReadyQuery& query;

 private:
  static constexpr auto kTerminating = static_cast<std::int64_t>(ErrorKind::kTerminated);

  static bool has(const InstanceKey* keys, std::size_t count, InstanceKey key) {
    for (std::size_t i = 0; i < count; ++i) {
      if (keys[i] == key) return true;
    }
    return false;
  }

  // The part of a full list for those that were kept for its end, if there are any.
  static constexpr std::size_t kLaterPart = 8;

  InstanceKey* out_;
  std::size_t capacity_;
  std::size_t count_ = 0;
  std::size_t later_ = 0;  // at the end of `out`, the last one first
  int young_ = 0;
};

Status ReadyInstances::list_ready(const ReadyQuery& query, InstanceKey* out, std::size_t capacity,
                                  std::size_t* count) {
  if (connection_.reads_ahead()) read_lists_ahead(query);
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  rows_.due.set_home_grace(query.home_grace_ms);
  ReadyList list(query, out, capacity);
  for (const TimerPlace place : {TimerPlace::kQueue, TimerPlace::kRow}) {
    PAWL_TRY(list_due_timers(list, place, TimeBase::kPawl, query.now));
    if (context_.clock.off_known)
      PAWL_TRY(list_due_timers(list, place, TimeBase::kUtc,
                               add_saturating(query.now, context_.clock.off)));
  }
  PAWL_TRY(list_unregistered(list, capacity));
  PAWL_TRY(list_own(list));
  PAWL_TRY(list_others(list));
  *count = list.count();
  return Status::kOk;
}

constexpr auto kFindUnregistered =
    PAWL_QUERY("SELECT " PAWL_RUN_COLUMNS "," PAWL_NEEDS_COLUMNS
               ",i.parked_until IS NOT NULL AS is_parked,"
               "i.unregistered IS NOT NULL AS is_unregistered," PAWL_IS_THERE
               " AS is_there FROM instances AS i WHERE key=? AND (state=",
               sql::number<InstanceState::kRunning>, " OR parked_until IS NOT NULL)");
constexpr auto kMarkUnregistered = PAWL_QUERY(
    "UPDATE instances SET unregistered=1,needs_messages=0,needs_bytes=0,stop_kind=?2,stop_text=?3,"
    "updated_stamp=?4 WHERE key=?1");

Status ReadyInstances::mark_unregistered(InstanceKey key, const ReadyQuery& query) {
  require_batch();
  FixedText<kNameBytesMax> name;
  FixedText<kNameBytesMax> version;
  std::int64_t behaviour = 0;
  bool is_out_of_the_way = false;
  bool is_there = false;
  {
    Statement row = connection_.use(kFindUnregistered);
    if (!row.bind(key).row()) return fail(row.status(), "find an unregistered instance");
    const bool is_parked = row.integer(PAWL_COLUMN(kFindUnregistered, is_parked)) != 0;
    if (!is_parked && ReadyList::can_run(query, row, PAWL_COLUMN(kFindUnregistered, i.name)) &&
        ReadyList::fits(query, row, PAWL_COLUMN(kFindUnregistered, needs_messages)))
      return Status::kOk;
    name.assign_cut(row.bytes(PAWL_COLUMN(kFindUnregistered, i.name)));
    version.assign_cut(row.bytes(PAWL_COLUMN(kFindUnregistered, i.version)));
    behaviour = row.integer(PAWL_COLUMN(kFindUnregistered, i.behaviour));
    is_out_of_the_way =
        is_parked || row.integer(PAWL_COLUMN(kFindUnregistered, is_unregistered)) != 0;
    is_there = row.integer(PAWL_COLUMN(kFindUnregistered, is_there)) != 0;
  }
  PAWL_TRY(fire_due_timers(key));
  if (is_out_of_the_way) return Status::kOk;
  Diagnostic why;
  why.format("no process that looked for work can run \"%s%s%s\"", name.c_str(),
             version.empty() ? "" : "@", version.c_str());
  {
    Statement put = connection_.use(kMarkUnregistered);
    put.bind(key).bind(static_cast<std::int64_t>(ErrorKind::kUnregistered)).bind_text(why.text());
    PAWL_TRY(fail_written(put.bind(batch_.stamp_ms).run(), "mark an instance as unregistered"));
  }
  // An instance of a deleted tree is in the way until its rows are removed, but is not logged.
  if (is_there && context_.sink != nullptr)
    context_.sink->on_unregistered_instance(name.view(), version.view(), behaviour, key);
  return Status::kOk;
}

Status ReadyInstances::list_due_timers(ReadyList& list, TimerPlace place, TimeBase base,
                                       std::int64_t due_max) {
  TimerCursor& behind =
      timers_behind_[place == TimerPlace::kRow ? 1 : 0][base == TimeBase::kUtc ? 1 : 0];
  TimerCursor at;
  PAWL_TRY(list_timers(list, place, base, due_max, kTimersMax, &at));
  if (!list.crowded()) {
    behind = TimerCursor();
    return Status::kOk;
  }
  if (behind.due < at.due || (behind.due == at.due && behind.id < at.id)) behind = at;
  return list_timers(list, place, base, due_max, kBehindLooksMax, &behind);
}

// The columns of both places. The id is that of the row that has the timer.
constexpr auto kDueColumns = sql::Columns(
    "i.key,due,i.home,is_parked,i.name,i.version,i.behaviour,i.stop_kind,needs_messages,"
    "needs_bytes,id,waiting,i.state");
constexpr auto kDueTimers = PAWL_QUERY(
    "SELECT i.key,q.due AS due,i.home,i.parked_until IS NOT NULL AS is_parked," PAWL_RUN_COLUMNS
    "," PAWL_NEEDS_COLUMNS
    ",q.id AS id,q.waiting AS waiting,i.state FROM orchestrator_queue AS q\fINDEXED BY oq_due\r"
    "\fCROSS\rJOIN instances AS i ON i.key=q.instance "
    "WHERE q.base=?1 AND q.due IS NOT NULL AND q.due<=?2 AND (q.due,q.id)>(?3,?4) "
    "ORDER BY q.due,q.id");
constexpr auto kDueInRows = PAWL_QUERY(
    "SELECT i.key,i.timer_due AS due,i.home,i.parked_until IS NOT NULL AS "
    "is_parked," PAWL_RUN_COLUMNS "," PAWL_NEEDS_COLUMNS
    ",i.key AS id,0 AS waiting,i.state FROM instances AS i\fINDEXED BY i_timer\r"
    "WHERE i.timer_base=?1 AND i.timer_due IS NOT NULL AND i.timer_due<=?2 "
    "AND (i.timer_due,i.key)>(?3,?4) ORDER BY i.timer_due,i.key");

sql::QueryRef ReadyInstances::due_timers_in(TimerPlace place) {
  return place == TimerPlace::kRow ? sql::QueryRef(kDueInRows) : sql::QueryRef(kDueTimers);
}

// Looks from *at on, and sets *at to where the next list goes on. A crowded list takes only
// instances that it can run.
Status ReadyInstances::list_timers(ReadyList& list, TimerPlace place, TimeBase base,
                                   std::int64_t due_max, int looks_max, TimerCursor* at) {
  const bool in_row = place == TimerPlace::kRow;
  Statement row = connection_.use(due_timers_in(place));
  row.bind(static_cast<std::int64_t>(base)).bind(due_max).bind(at->due).bind(at->id);
  const bool only_known = list.crowded();
  bool found = false;
  for (int looks = 0;
       looks < looks_max && !list.full() && (only_known || !list.crowded()) && row.row(); ++looks) {
    const Suspicion suspect(connection_,
                            in_row ? RowRef::Table::kInstances : RowRef::Table::kMessages,
                            row.integer(PAWL_COLUMN(kDueColumns, id)));
    if (row.integer(PAWL_COLUMN(kDueColumns, waiting)) != 0 ||
        (row.integer(PAWL_COLUMN(kDueColumns, i.state)) != 0 &&
         row.integer(PAWL_COLUMN(kDueColumns, is_parked)) == 0)) {
      connection_.blame(Status::kCorrupt, kOddTimer);
      continue;
    }
    const Incarnation home = row.integer(PAWL_COLUMN(kDueColumns, i.home));
    const bool is_parked =
        row.integer(PAWL_COLUMN(kDueColumns, is_parked)) != 0 ||
        !ReadyList::fits(list.query, row, PAWL_COLUMN(kDueColumns, needs_messages));
    bool takes = !is_parked;
    const InstanceKey key = row.integer(PAWL_COLUMN(kDueColumns, i.key));
    if (is_parked && !only_known) list.note_parked(key);
    if (takes) {
      const std::int64_t due = row.integer(PAWL_COLUMN(kDueColumns, due));
      takes = list.is_mine(home) || list.waited(due_in_pawl_time(base, due, context_.clock));
      if (!takes) PAWL_TRY(rows_.workers.is_buried(home, &takes));
    }
    constexpr int kRun = PAWL_COLUMN(kDueColumns, i.name);
    if (takes && !only_known) list.add(row, key, kRun, {});
    if (takes && only_known) found = list.add_known(row, key, kRun) || found;
    if (found) continue;
    at->due = row.integer(PAWL_COLUMN(kDueColumns, due));
    at->id = row.integer(PAWL_COLUMN(kDueColumns, id));
  }
  return fail(row.status(), "list due timers");
}

#define PAWL_RUNNING_TURNS                                                     \
  "(SELECT count(*) FROM workers AS w\fINDEXED BY w_living\rWHERE w.buried=0 " \
  "AND w.messages_max IS NOT NULL"
constexpr auto kOwnReady = PAWL_QUERY(
    "SELECT key,ready_id,home,ready_at," PAWL_RUN_COLUMNS "," PAWL_RUNNING_TURNS
    ") AS workers," PAWL_RUNNING_TURNS
    " AND w.inc<?1) AS mine FROM instances AS i\fINDEXED BY i_ready\r"
    "WHERE home=0 AND ready_id IS NOT NULL AND parked_until IS NULL AND unregistered IS NULL "
    "UNION ALL SELECT key,ready_id,home,ready_at," PAWL_RUN_COLUMNS
    ",1 AS workers,0 AS mine FROM instances AS i\fINDEXED BY i_ready\r"
    "WHERE home=?1 AND ?1<>0 AND ready_id IS NOT NULL "
    "AND parked_until IS NULL AND unregistered IS NULL ORDER BY 2");

// Workers that list at the same time would all begin with the same instances, and all but one of
// them would run each turn for nothing. So if more are ready than a list holds, each begins with a
// share of its own, and the rest of its list has the oldest of all. Rejected: shares alone, since
// those of a worker that hangs would wait until it is buried.
Status ReadyInstances::list_own(ReadyList& list) {
  const std::size_t before = list.count();
  std::int64_t workers = 1;
  PAWL_TRY(list_oldest(list, &workers));
  if (workers > 1 && list.full()) {
    list.cut(before);
    PAWL_TRY(list_oldest(list, nullptr));
    list.end_later();
  }
  if (!list.crowded()) {
    unowned_behind_ = 0;
    return Status::kOk;
  }
  PAWL_TRY(list_newest(list));
  PAWL_TRY(list_behind(list, 0, &unowned_behind_));
  std::int64_t all = 0;
  return list.query.me == 0 ? Status::kOk : list_behind(list, list.query.me, &all);
}

// The oldest first. `workers`: gets how many run turns; null: those of their shares are for the end
// of the list.
Status ReadyInstances::list_oldest(ReadyList& list, std::int64_t* workers) {
  Statement row = connection_.use(kOwnReady);
  row.bind(list.query.me);
  std::size_t others = 0;
  while (!list.full() && !list.crowded() && row.row()) {
    const InstanceKey key = row.integer(PAWL_COLUMN(kOwnReady, key));
    const Suspicion suspect(connection_, RowRef::Table::kInstances, key);
    constexpr int kRun = PAWL_COLUMN(kOwnReady, i.name);
    OptionalMs since;
    if (row.integer(PAWL_COLUMN(kOwnReady, home)) == 0)
      since = row.integer(PAWL_COLUMN(kOwnReady, ready_at));
    const std::int64_t count = row.integer(PAWL_COLUMN(kOwnReady, workers));
    if (workers != nullptr) *workers = std::max(*workers, count);
    const bool is_others = workers == nullptr && count > 1 &&
                           share_of(key, count) != row.integer(PAWL_COLUMN(kOwnReady, mine)) &&
                           ReadyList::can_run(list.query, row, kRun);
    if (!is_others) {
      list.add(row, key, kRun, since);
    } else if (++others <= list.capacity() * static_cast<std::size_t>(count)) {
      list.add_later(key);
    } else {
      break;
    }
  }
  return fail(row.status(), "list ready instances");
}

constexpr auto kNewestReady =
    PAWL_QUERY("SELECT key," PAWL_RUN_COLUMNS
               " FROM instances AS i\fINDEXED BY i_ready\r"
               "WHERE home=0 AND ready_id IS NOT NULL AND parked_until IS NULL "
               "AND unregistered IS NULL ORDER BY ready_id DESC");

// Lists the instances that became ready last, among those without a home.
Status ReadyInstances::list_newest(ReadyList& list) {
  Statement row = connection_.use(kNewestReady);
  for (int looks = 0; looks < kNewestLooksMax && !list.full() && row.row(); ++looks)
    static_cast<void>(list.add_known(row, row.integer(PAWL_COLUMN(kNewestReady, key)),
                                     PAWL_COLUMN(kNewestReady, i.name)));
  return fail(row.status(), "list the newest instances");
}

constexpr auto kBehindReady =
    PAWL_QUERY("SELECT key,ready_id," PAWL_RUN_COLUMNS
               " FROM instances AS i\fINDEXED BY i_ready\rWHERE home=?1 AND ready_id>?2 "
               "AND ready_id IS NOT NULL AND parked_until IS NULL AND unregistered IS NULL "
               "ORDER BY ready_id");

// Lists the instances that can be run, among those whose oldest message came after *after. *after
// then is where the next list goes on: it moves past unregistered instances only.
Status ReadyInstances::list_behind(ReadyList& list, Incarnation home, std::int64_t* after) {
  Statement row = connection_.use(kBehindReady);
  row.bind(home).bind(*after);
  bool found = false;
  for (int looks = 0; looks < kBehindLooksMax && !list.full() && row.row(); ++looks) {
    found = list.add_known(row, row.integer(PAWL_COLUMN(kBehindReady, key)),
                           PAWL_COLUMN(kBehindReady, i.name)) ||
            found;
    if (!found) *after = row.integer(PAWL_COLUMN(kBehindReady, ready_id));
  }
  return fail(row.status(), "list instances behind others");
}

constexpr auto kAnyUnregistered = PAWL_QUERY(
    "SELECT key FROM instances\fINDEXED BY i_unregistered\rWHERE ready_id IS NOT NULL "
    "AND parked_until IS NULL AND unregistered IS NOT NULL");

// Takes at most a quarter of a list and begins with another name each time, so that neither marked
// instances nor the others starve.
Status ReadyInstances::list_unregistered(ReadyList& list, std::size_t capacity) {
  {
    Statement any = connection_.use(kAnyUnregistered);
    const bool everything = list.query.runnable == nullptr;
    bool found = false;
    while (!list.full() && any.row()) {
      found = true;
      if (!everything) break;
      list.add(any.integer(0));
    }
    PAWL_TRY(fail(any.status(), "find unregistered instances"));
    // A look for each name would be most of the cost of an idle look.
    if (everything || !found || list.full()) return Status::kOk;
  }
  const std::size_t kinds = list.query.runnable_count;
  const std::size_t most = list.count() + capacity / 4 + 1;
  for (std::size_t i = 0; i < kinds && list.count() < most; ++i) {
    unregistered_cursor_ = (unregistered_cursor_ + 1) % kinds;
    PAWL_TRY(list_unregistered_kind(list, list.query.runnable[unregistered_cursor_], most));
  }
  if (list.count() >= most && list.query.unregistered != nullptr)
    list.query.unregistered->more = true;
  return Status::kOk;
}

constexpr auto kUnregisteredOfKind = PAWL_QUERY(
    "SELECT key,home,ready_at,ready_id,needs_messages,needs_bytes FROM instances"
    "\fINDEXED BY i_unregistered\rWHERE name=?1 AND version=?2 AND behaviour=?3 AND ready_id>?4 "
    "AND ready_id IS NOT NULL AND parked_until IS NULL AND unregistered IS NOT NULL "
    "ORDER BY ready_id");

Status ReadyInstances::list_unregistered_kind(ReadyList& list, const Runnable& kind,
                                              std::size_t most) {
  Statement row = connection_.use(kUnregisteredOfKind);
  row.bind_text(kind.name).bind_text(kind.version).bind(kind.behaviour);
  // Instances that need a larger worker lie in front of the others; a later list goes on behind
  // them.
  const bool goes_on = larger_behind_.has_value() && larger_behind_->kind == unregistered_cursor_;
  row.bind(goes_on ? larger_behind_->after : std::numeric_limits<std::int64_t>::min());
  if (goes_on) larger_behind_.reset();
  int larger = 0;
  for (int looks = 0;
       looks < kUnregisteredLooksMax && list.count() < most && !list.full() && row.row(); ++looks) {
    const InstanceKey key = row.integer(PAWL_COLUMN(kUnregisteredOfKind, key));
    const Suspicion suspect(connection_, RowRef::Table::kInstances, key);
    if (!ReadyList::fits(list.query, row, PAWL_COLUMN(kUnregisteredOfKind, needs_messages))) {
      --looks;
      if (++larger < kLargerLooksMax) continue;
      if (!larger_behind_.has_value())
        larger_behind_ = {unregistered_cursor_,
                          row.integer(PAWL_COLUMN(kUnregisteredOfKind, ready_id))};
      break;
    }
    const Incarnation home = row.integer(PAWL_COLUMN(kUnregisteredOfKind, home));
    bool takes = list.is_mine(home);
    if (!takes) PAWL_TRY(rows_.workers.is_buried(home, &takes));
    takes = takes || list.takes_after(row.integer(PAWL_COLUMN(kUnregisteredOfKind, ready_at)));
    if (takes) list.add(key);
  }
  return fail(row.status(), "list unregistered instances");
}

constexpr auto kNextHome = PAWL_QUERY(
    "SELECT home FROM instances\fINDEXED BY i_ready\r"
    "WHERE home>?1 AND ready_id IS NOT NULL AND parked_until IS NULL AND unregistered IS NULL "
    "ORDER BY home LIMIT 1");

Status ReadyInstances::next_home(Incarnation after, Incarnation* home) {
  Statement row = connection_.use(kNextHome);
  *home = row.bind(after).row() ? row.integer(0) : 0;
  return fail(row.status(), "list homes");
}

// The first list of each kind.
void ReadyInstances::read_lists_ahead(const ReadyQuery& query) {
  constexpr TimerCursor kStart;
  for (const TimerPlace place : {TimerPlace::kQueue, TimerPlace::kRow}) {
    Statement timers = connection_.use(due_timers_in(place));
    timers.bind(static_cast<std::int64_t>(TimeBase::kPawl)).bind(query.now);
    timers.bind(kStart.due).bind(kStart.id).read_ahead();
  }
  connection_.use(kAnyUnregistered).read_ahead();
  sql::read_ahead(connection_, kOwnReady, query.me);
  sql::read_ahead(connection_, kNextHome, home_cursor_);
}

Status ReadyInstances::list_others(ReadyList& list) {
  const Incarnation start = home_cursor_;
  bool wrapped = start == 0;
  for (int looks = 0; looks < kHomesMax && !list.full(); ++looks) {
    Incarnation home = 0;
    PAWL_TRY(next_home(home_cursor_, &home));
    if (home == 0 && wrapped) {
      home_cursor_ = 0;
      return Status::kOk;
    }
    if (wrapped && start != 0 && home > start) return Status::kOk;
    wrapped = wrapped || home == 0;
    home_cursor_ = home;
    if (!list.is_mine(home)) PAWL_TRY(list_home(list, home));
  }
  return Status::kOk;
}

constexpr auto kHomeReady =
    PAWL_QUERY("SELECT key,ready_at," PAWL_RUN_COLUMNS
               " FROM instances AS i\fINDEXED BY i_ready\rWHERE home=?1 AND ready_id IS NOT NULL "
               "AND parked_until IS NULL AND unregistered IS NULL ORDER BY ready_id");

Status ReadyInstances::list_home(ReadyList& list, Incarnation home) {
  bool gone = false;
  PAWL_TRY(rows_.workers.is_buried(home, &gone));
  {
    Statement row = connection_.use(kHomeReady);
    row.bind(home);
    for (int looks = 0;
         (gone || looks < kHomeInstancesMax) && !list.full() && !list.crowded() && row.row();
         ++looks) {
      if (gone || list.takes_after(row.integer(PAWL_COLUMN(kHomeReady, ready_at))))
        list.add(row, row.integer(PAWL_COLUMN(kHomeReady, key)), PAWL_COLUMN(kHomeReady, i.name),
                 {});
    }
    PAWL_TRY(fail(row.status(), "list ready instances of a home"));
  }
  return gone && list.crowded() ? list_behind_in(list, home) : Status::kOk;
}

// For a home whose worker is gone. If there are several such homes, the look begins anew with each.
Status ReadyInstances::list_behind_in(ReadyList& list, Incarnation home) {
  if (home_behind_.home != home) home_behind_ = {home, 0};
  return list_behind(list, home, &home_behind_.after);
}

constexpr auto kFirstDue =
    PAWL_QUERY("SELECT id,iif(base=", sql::number<TimeBase::kPawl>,
               ",due,due-?4) AS at FROM orchestrator_queue\fINDEXED BY oq_instance\rWHERE "
               "instance=?1 AND waiting=",
               sql::number<Waiting::kNo>,
               " AND due IS NOT NULL AND due<=max(?2,?3) "
               "AND due<=CASE base WHEN ",
               sql::number<TimeBase::kPawl>, " THEN ?2 WHEN ", sql::number<TimeBase::kUtc>,
               " THEN ?3 END ORDER BY at,id LIMIT 1");
// The row becomes a message that has just come. Its id is the next of the counter that all messages
// take theirs from; an id that the engine chose would be given out a second time later.
constexpr auto kFire = PAWL_QUERY(
    "UPDATE orchestrator_queue SET id=?2,base=NULL,due=NULL,seg=NULL WHERE id=?1", kTimerMoves);
constexpr auto kMakeReady = PAWL_QUERY(
    "UPDATE instances SET ready_id=?2,ready_at=?3 WHERE key=?1 "
    "AND ready_id IS NULL");

constexpr auto kOwnTimer =
    PAWL_QUERY("SELECT i.execution," PAWL_TIMER_COLUMNS " FROM instances AS i WHERE i.key=?1");

// The timer in the row of the instance, if it is due, and the message that it becomes.
Status ReadyInstances::read_own_timer(InstanceKey key, std::optional<RowTimer>* out,
                                      Message* fired) {
  Statement row = connection_.use(kOwnTimer);
  if (!row.bind(key).row()) return no_row(row, Status::kNotFound, "instances");
  fired->kind = MessageKind::kTimerFired;
  fired->execution = row.integer(PAWL_COLUMN(kOwnTimer, i.execution));
  static_cast<void>(
      read_timer(row,
                 {PAWL_COLUMN(kOwnTimer, i.timer_id), PAWL_COLUMN(kOwnTimer, i.timer_ref),
                  PAWL_COLUMN(kOwnTimer, i.timer_base), PAWL_COLUMN(kOwnTimer, i.timer_due)},
                 out));
  if (!out->has_value()) return Status::kOk;
  fired->ref = (*out)->ref;
  const Due when = {(*out)->base, (*out)->due};
  if (!due(when.base, when.due, context_.clock, batch_.now)) out->reset();
  return Status::kOk;
}

// For an instance that no worker can run: turns its due timers into messages behind all that are
// there, in the order of T4. A timer that stays in the index of due times would be met by every
// worker again and again. (A turn of an instance that can run reads due timers where they are:
// read_due_messages().)
Status ReadyInstances::fire_due_timers(InstanceKey key) {
  const std::int64_t off = context_.clock.off_known ? context_.clock.off : 0;
  const std::int64_t utc = context_.clock.off_known ? add_saturating(batch_.now, off)
                                                    : std::numeric_limits<std::int64_t>::min();
  std::optional<RowTimer> own;
  Message message;
  PAWL_TRY(read_own_timer(key, &own, &message));
  for (int fired = 0; fired < kFiredMax; ++fired) {
    MessageId timer = 0;
    std::int64_t at = kNever;
    {
      Statement row = connection_.use(kFirstDue);
      if (row.bind(key).bind(batch_.now).bind(utc).bind(off).row()) {
        timer = row.integer(PAWL_COLUMN(kFirstDue, id));
        at = row.integer(PAWL_COLUMN(kFirstDue, at));
      }
      PAWL_TRY(fail(row.status(), "find due timers"));
    }
    const bool is_own =
        own.has_value() && due_in_pawl_time(own->base, own->due, context_.clock) <= at;
    if (timer == 0 && !is_own) return Status::kOk;
    message.id = context_.next_token();
    PAWL_TRY(is_own ? fire_own_timer(key, message) : fire_timer(timer, message.id));
    if (is_own) own.reset();
    PAWL_TRY(
        fail_written(connection_.use(kMakeReady).bind(key).bind(message.id).bind(batch_.now).run(),
                     "make ready"));
  }
  return Status::kOk;
}

Status ReadyInstances::fire_timer(MessageId timer, MessageId message) {
  const Suspicion suspect(connection_, RowRef::Table::kMessages, timer);
  std::int64_t fired = 0;
  PAWL_TRY(
      fail_written(connection_.use(kFire).bind(timer).bind(message).run(&fired), "fire a timer"));
  return fired == 0 ? no_progress("orchestrator_queue") : Status::kOk;
}

Status ReadyInstances::fire_own_timer(InstanceKey key, const Message& message) {
  PAWL_TRY(rows_.instances.store_message(key, message, nullptr));
  return rows_.instances.write_timer(key, {});
}

Status ReadyInstances::abandon_orchestration_item(InstanceKey key, std::int64_t revision,
                                                  const Parking& parking, bool strike,
                                                  ErrorKind why, std::string_view text) {
  require_batch();
  InstanceRow row;
  const Status found = rows_.instances.read_instance(key, &row);
  if (found == Status::kNotFound) return Status::kStale;
  PAWL_TRY(found);
  if (row.state != InstanceState::kRunning || row.revision != revision || row.parked)
    return Status::kStale;
  InstanceWrite park;
  if (!parking.delay_ms.has_value()) {
    park.state = InstanceState::kStopped;
    park.parked_until = kNever;
  } else if (parking.delay_ms.value() > 0) {
    park.parked_until = make_due(batch_.now, parking.delay_ms.value());
  }
  // Keep a pending terminate request. Clear the home, so that any worker may retry at once.
  park.home = 0;
  park.keeps_why = row.terminating;
  park.why = why;
  park.text = cut_text(text, kErrorTextBytesMax);
  park.keeps_unregistered = !parking.needs.has_value();
  park.needs = parking.needs;
  park.stamps = true;
  park.strikes = strike ? 1 : 0;
  return written(rows_.instances.write_state(key, park));
}

constexpr auto kNextStopped =
    PAWL_QUERY("SELECT key FROM instances\fINDEXED BY i_stopped\rWHERE state=",
               sql::number<InstanceState::kStopped>, " ORDER BY key LIMIT 1");

Status ReadyInstances::retry_stopped(std::size_t limit, std::size_t* retried) {
  require_batch();
  Walk walk;
  for (*retried = 0; *retried < limit; ++*retried) {
    InstanceKey key = 0;
    {
      Statement next = connection_.use(kNextStopped);
      if (!next.row()) return fail(next.status(), "find a stopped instance");
      key = next.integer(0);
      if (!walk.rises(key)) return no_progress("instances");
    }
    const Suspicion suspect(connection_, RowRef::Table::kInstances, key);
    InstanceWrite write;
    write.ready_at = batch_.now;
    write.keeps_why = true;
    write.keeps_unregistered = true;
    PAWL_TRY(written(rows_.instances.write_state(key, write)));
  }
  return Status::kOk;
}

constexpr auto kEndFirstLimit = PAWL_QUERY(
    "UPDATE instances SET limit_due=NULL WHERE key=(SELECT i.key FROM instances AS i"
    "\fINDEXED BY i_limit\rWHERE i.limit_due IS NOT NULL AND i.limit_due<=?1 ORDER BY "
    "i.limit_due,i.key LIMIT 1) RETURNING key,CASE WHEN EXISTS(SELECT 1 FROM "
    "orchestrator_queue\fINDEXED BY "
    "oq_instance\rWHERE instance=key AND kind=",
    sql::number<MessageKind::kCancel>,
    ") THEN '' ELSE 'time limit of '||time_limit||' ms is over' END", kLimitMoves);

// Only the first request counts, so nothing is written where one waits.
Status ReadyInstances::stop_overdue(std::size_t limit, std::size_t* stopped) {
  for (; *stopped < limit; ++*stopped) {
    InstanceKey key = 0;
    Message request;
    FixedText<kReasonBytesMax> reason;
    {
      Statement row = connection_.use(kEndFirstLimit);
      if (!row.bind(batch_.now).row()) return fail_written(row.status(), "end a time limit");
      key = row.integer(0);
      reason.assign_cut(row.bytes(1));
    }
    if (reason.empty()) continue;
    const Suspicion suspect(connection_, RowRef::Table::kInstances, key);
    request.kind = MessageKind::kCancel;
    request.payload = reason.view();
    const Status sent = rows_.instances.insert_message(key, request);
    // A damaged row may have a limit behind its end.
    if (sent != Status::kStale) PAWL_TRY(written(sent));
  }
  return Status::kOk;
}

constexpr auto kFirstParked = PAWL_QUERY(
    "SELECT key FROM instances\fINDEXED BY i_parked\rWHERE parked_until IS NOT NULL "
    "AND parked_until<=?1 ORDER BY parked_until LIMIT 1");
constexpr auto kUnpark =
    PAWL_QUERY("UPDATE instances SET parked_until=NULL WHERE key=?1", kParkedMoves | kTimerMoves);

// One by one: for a list of keys SQLite makes two tables, of 31 KB each.
Status ReadyInstances::unpark(std::size_t limit, std::size_t* woken) {
  for (; *woken < limit; ++*woken) {
    InstanceKey key = 0;
    {
      Statement first = connection_.use(kFirstParked);
      if (!first.bind(batch_.now).row()) return fail_written(first.status(), "find the parked");
      key = first.integer(0);
    }
    std::int64_t woke = 0;
    PAWL_TRY(fail_written(connection_.use(kUnpark).bind(key).run(&woke), "wake parked instances"));
    if (woke == 0) return no_progress("instances");  // it would be found for ever
  }
  return Status::kOk;
}

Status ReadyInstances::wake_delayed(std::size_t limit, std::size_t* woken) {
  require_batch();
  *woken = 0;
  const auto is_due = [&](DueKind kind) {
    return *woken < limit && !rows_.due.knows_none_due(kind);
  };
  if (is_due(DueKind::kParked)) PAWL_TRY(unpark(limit, woken));
  if (is_due(DueKind::kLimit)) PAWL_TRY(stop_overdue(limit, woken));
  // Overdue work ends first, so that no item past its limit is handed over once more.
  if (is_due(DueKind::kWork)) PAWL_TRY(rows_.work.end_overdue_work(limit - *woken, woken));
  if (is_due(DueKind::kWork)) PAWL_TRY(moves_.end_unavailable_work(limit - *woken, woken));
  if (is_due(DueKind::kLook)) PAWL_TRY(expiry_.look_at_sessions(limit - *woken, woken));
  return is_due(DueKind::kWork) ? rows_.work.wake_delayed_work(limit - *woken, woken) : Status::kOk;
}

}  // namespace pawl::store
