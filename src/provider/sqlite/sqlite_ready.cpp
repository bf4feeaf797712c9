// Which instances have something to do, and when the next one will.
//
// Candidates come in this order: due timers by due time (first those in Pawl time, then UTC), then own
// and unowned instances by their oldest message, then those of other workers that are gone or let them
// wait for longer than the grace. No query looks at more rows than it answers, but for a bounded number.
#include "sqlite_provider.hpp"

namespace pawl::sqlite {
namespace {

enum Ids : int {
  kDueTimers = kIdsReady,
  kOwnReady,
  kNextHome,
  kHomeReady,
  kFindWorker,
  kFirstTimers,
  kFirstParked,
  kFirstDelayed,
  kFirstDeadline,
  kFirstUnavailable,
  kFirstStop,
  kEnd,
};
static_assert(kEnd <= kIdsWork);

constexpr int kHomesMax = 16;          // looked at in one call; the next goes on behind them
constexpr int kHomeInstancesMax = 16;  // of a living home that may be too young
constexpr int kTimersMax = 256;        // due ones that belong to others
constexpr int kFirstTimersMax = 64;    // that are parked or another's

}  // namespace

// The answer, and what must not be in it.
class SqliteProvider::ReadyList {
 public:
  ReadyList(const ReadyQuery& asked, InstanceKey* out, std::size_t capacity)
      : query(asked), out_(out), capacity_(capacity) {}

  void add(InstanceKey key) {
    if (full() || has(query.skip, query.skip_count, key) || has(out_, count_, key)) return;
    out_[count_++] = key;
  }
  [[nodiscard]] bool full() const { return count_ == capacity_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] bool is_mine(Incarnation home) const { return home == 0 || home == query.me; }
  [[nodiscard]] bool waited(std::int64_t since) const {
    return subtract_saturating(query.now, since) > query.home_grace_ms;
  }

  const ReadyQuery& query;

 private:
  static bool has(const InstanceKey* keys, std::size_t count, InstanceKey key) {
    for (std::size_t i = 0; i < count; ++i) {
      if (keys[i] == key) return true;
    }
    return false;
  }

  InstanceKey* out_;
  std::size_t capacity_;
  std::size_t count_ = 0;
};

Status SqliteProvider::list_ready(const ReadyQuery& query, InstanceKey* out, std::size_t capacity,
                                  std::size_t* count) {
  const ReadScope scope(*this);
  PAWL_TRY(scope.status());
  home_grace_ms_ = query.home_grace_ms;
  ReadyList list(query, out, capacity);
  PAWL_TRY(list_due_timers(list, TimeBase::kPawl, query.now));
  if (clock_.off_known)
    PAWL_TRY(list_due_timers(list, TimeBase::kUtc, add_saturating(query.now, clock_.off)));
  PAWL_TRY(list_own(list));
  PAWL_TRY(list_others(list));
  *count = list.count();
  return Status::kOk;
}

Status SqliteProvider::list_due_timers(ReadyList& list, TimeBase base, std::int64_t due_max) {
  Statement row = connection_.use(
      kDueTimers,
      "SELECT q.instance,q.due,i.home FROM orchestrator_queue AS q INDEXED BY oq_due "
      "CROSS JOIN instances AS i ON i.key=q.instance "
      "WHERE q.base=?1 AND q.due IS NOT NULL AND q.due<=?2 AND i.parked_until IS NULL "
      "ORDER BY q.due");
  row.bind(static_cast<std::int64_t>(base)).bind(due_max);
  for (int looks = 0; looks < kTimersMax && !list.full() && row.row(); ++looks) {
    const Incarnation home = row.integer(2);
    bool takes = list.is_mine(home) || list.waited(due_in_pawl_time(base, row.integer(1), clock_));
    if (!takes) PAWL_TRY(is_gone(home, &takes));
    if (takes) list.add(row.integer(0));
  }
  return fail(row.status(), "list due timers");
}

Status SqliteProvider::list_own(ReadyList& list) {
  Statement row = connection_.use(
      kOwnReady,
      "SELECT key,ready_id FROM instances INDEXED BY i_ready "
      "WHERE home=0 AND ready_id IS NOT NULL AND parked_until IS NULL "
      "UNION ALL SELECT key,ready_id FROM instances INDEXED BY i_ready "
      "WHERE home=?1 AND ?1<>0 AND ready_id IS NOT NULL AND parked_until IS NULL ORDER BY 2");
  row.bind(list.query.me);
  while (!list.full() && row.row())
    list.add(row.integer(0));
  return fail(row.status(), "list ready instances");
}

Status SqliteProvider::next_home(Incarnation after, Incarnation* home) {
  Statement row = connection_.use(
      kNextHome,
      "SELECT home FROM instances INDEXED BY i_ready "
      "WHERE home>?1 AND ready_id IS NOT NULL AND parked_until IS NULL ORDER BY home LIMIT 1");
  *home = row.bind(after).row() ? row.integer(0) : 0;
  return fail(row.status(), "list homes");
}

Status SqliteProvider::list_others(ReadyList& list) {
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

Status SqliteProvider::list_home(ReadyList& list, Incarnation home) {
  bool gone = false;
  PAWL_TRY(is_gone(home, &gone));
  Statement row = connection_.use(
      kHomeReady,
      "SELECT key,ready_at FROM instances INDEXED BY i_ready "
      "WHERE home=?1 AND ready_id IS NOT NULL AND parked_until IS NULL ORDER BY ready_id");
  row.bind(home);
  for (int looks = 0; (gone || looks < kHomeInstancesMax) && !list.full() && row.row(); ++looks) {
    if (gone || list.waited(row.integer(1))) list.add(row.integer(0));
  }
  return fail(row.status(), "list ready instances of a home");
}

Status SqliteProvider::is_gone(Incarnation home, bool* gone) {
  Statement row = connection_.use(kFindWorker, "SELECT buried FROM workers WHERE inc=?");
  *gone = !row.bind(home).row() || row.integer(0) != 0;
  return fail(row.status(), "workers");
}

// ---- the next due time --------------------------------------------------------------------------

Status SqliteProvider::next_due(Incarnation me, bool turns, NextDue* out) {
  const ReadScope scope(*this);
  PAWL_TRY(scope.status());
  std::int64_t first = kNever;
  bool utc_waits = false;
  bool pawl_waits = false;
  if (turns) {
    PAWL_TRY(first_timer(TimeBase::kPawl, me, &first, &pawl_waits));
    PAWL_TRY(first_timer(TimeBase::kUtc, me, &first, &utc_waits));
    PAWL_TRY(first_number(
        connection_.use(kFirstParked,
                        "SELECT parked_until FROM instances INDEXED BY i_parked "
                        "WHERE parked_until IS NOT NULL ORDER BY parked_until LIMIT 1"),
        &first));
  }
  PAWL_TRY(first_number(connection_.use(kFirstDelayed,
                                        "SELECT due FROM worker_queue INDEXED BY wq_delayed "
                                        "WHERE state=2 AND due IS NOT NULL ORDER BY due LIMIT 1"),
                        &first));
  PAWL_TRY(first_number(connection_.use(kFirstDeadline,
                                        "SELECT deadline FROM worker_queue INDEXED BY wq_deadline "
                                        "WHERE deadline IS NOT NULL ORDER BY deadline LIMIT 1"),
                        &first));
  PAWL_TRY(first_number(
      connection_.use(kFirstUnavailable,
                      "SELECT unavailable_due FROM worker_queue INDEXED BY wq_unavailable "
                      "WHERE unavailable_due IS NOT NULL ORDER BY unavailable_due LIMIT 1"),
      &first));
  PAWL_TRY(first_number(connection_.use(kFirstStop,
                                        "SELECT stop_due FROM sessions INDEXED BY s_stopping "
                                        "WHERE state=1 AND stop_due>=0 ORDER BY stop_due LIMIT 1"),
                        &first));
  out->pawl_time = first == kNever ? -1 : first;
  out->waiting_for_utc = utc_waits && !clock_.off_known;
  return Status::kOk;
}

Status SqliteProvider::first_number(Statement row, std::int64_t* first) {
  if (row.row() && row.integer(0) < *first) *first = row.integer(0);
  return fail(row.status(), "next due");
}

// A timer of a parked instance waits for that; one of another's instance is ours only after the grace.
// Without both, a due time in the past would keep us awake for what is not ours to do.
Status SqliteProvider::first_timer(TimeBase base, Incarnation me, std::int64_t* first,
                                   bool* waits) {
  Statement row = connection_.use(
      kFirstTimers,
      "SELECT q.due,i.home,i.parked_until FROM orchestrator_queue AS q INDEXED BY oq_due "
      "CROSS JOIN instances AS i ON i.key=q.instance "
      "WHERE q.base=?1 AND q.due IS NOT NULL ORDER BY q.due");
  row.bind(static_cast<std::int64_t>(base));
  for (int looks = 0; row.row(); ++looks) {
    *waits = true;
    std::int64_t due = due_in_pawl_time(base, row.integer(0), clock_);
    if (due >= *first) break;
    const Incarnation home = row.integer(1);
    bool is_ours = home == 0 || home == me;
    if (looks < kFirstTimersMax) {  // else rather too early than too late
      if (!is_ours) PAWL_TRY(is_gone(home, &is_ours));
      if (!is_ours) due = add_saturating(due, home_grace_ms_ + 1);
      if (!row.is_null(2) && row.integer(2) > due) due = row.integer(2);
    }
    if (due < *first) *first = due;
    if (looks >= kFirstTimersMax) break;
  }
  return fail(row.status(), "next due timer");
}

}  // namespace pawl::sqlite
