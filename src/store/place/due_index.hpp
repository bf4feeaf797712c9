// DueIndex: the earliest due time of each kind of row, kept in memory while no such row changes.
//
// Purpose: "when is there something to do?" costs no statement while nothing has changed. The marks
// of the statements (due.hpp) say what has changed. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_PLACE_DUE_INDEX_HPP
#define PAWL_STORE_PLACE_DUE_INDEX_HPP

#include <cstdint>

#include "core/clock_rules.hpp"
#include "store/context.hpp"
#include "store/instance/arguments.hpp"
#include "store/sql/damage.hpp"
#include "store/worker/rows.hpp"

namespace pawl::store {

// Why the row of a timer is damaged.
inline constexpr char kOddTimer[] = "a timer that has ended, waits on, or has no time";

// The earliest due time of a kind, kept while no row with a due time changes.
struct FirstDue {
  bool is_known = false;
  bool waits_for_utc = false;
  OptionalMs at;
};

class DueIndex : private Table {
 public:
  DueIndex(StoreContext& context, WorkerRows& workers) : Table(context), workers_(workers) {}

  // `turns`: includes what only a worker that runs orchestrations can do (timers, parked
  // instances, time limits).
  Status next_due(Incarnation me, bool turns, NextDue* out);

  // ---- for the other classes of the storage ----
  // The time for which the instances of a living home are left to it.
  void set_home_grace(std::int64_t grace_ms) {
    if (home_grace_ms_ != grace_ms) connection_.add_marks(kTimerMoves);
    home_grace_ms_ = grace_ms;
  }
  // True if it is known that no row of the kind is due at any time.
  [[nodiscard]] bool knows_none(DueKind kind) {
    hear_of_changes();
    return first_due(kind).is_known && !first_due(kind).at.has_value();
  }
  // In a batch: true if it is known that no row of the kind is due.
  [[nodiscard]] bool knows_none_due(DueKind kind) {
    hear_of_changes();
    const FirstDue& first = first_due(kind);
    return first.is_known && !first.at.has_passed(batch_.now);
  }
  void forget_known() {
    for (FirstDue& first : first_due_)
      first.is_known = false;
  }

 private:
  void hear_of_changes();
  FirstDue& first_due(DueKind kind) { return first_due_[static_cast<int>(kind)]; }
  // Kinds that only a worker that runs turns asks for.
  [[nodiscard]] static bool is_of_turns(int kind) {
    return kind <= static_cast<int>(DueKind::kLimit);
  }
  void read_unknown_ahead(bool turns);
  Status find_unknown(Incarnation me, bool turns);
  Status find_first_of(DueKind kind, Incarnation me, FirstDue* first);
  Status find_first_work(OptionalMs* first);
#ifndef NDEBUG
  Status check_first(Incarnation me);
#endif
  Status first_timers(TimeBase base, Incarnation me, OptionalMs* first, bool* waits);
  Status first_timer(Statement row, RowRef::Table table, TimeBase base, Incarnation me,
                     OptionalMs* first, bool* waits);
  Status first_number(Statement row, RowRef::Table table, OptionalMs* first);

  FirstDue first_due_[kDueKinds];
  Incarnation first_due_of_ =
      0;  // the worker that asked; timers of others' instances are due later
  std::int64_t home_grace_ms_ = ReadyQuery().home_grace_ms;  // as last asked for

  WorkerRows& workers_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_PLACE_DUE_INDEX_HPP
