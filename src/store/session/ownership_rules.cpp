#include "store/session/ownership_rules.hpp"

namespace pawl::rules {

namespace {

SessionRow without_owner(const SessionRow& row, State state) {
  SessionRow next = row;
  next.state = state;
  next.owner.reset();
  next.stop.reset();
  return next;
}

EpochEffect epoch_of_end(const SessionRow& row) {
  return row.owner.has_value() ? EpochEffect::kCountOnly : EpochEffect::kKeep;
}

Transition lose(const SessionRow& row) {
  Transition change;
  change.next = without_owner(row, State::kLost);
  change.clears_head = true;
  change.epoch = EpochEffect::kTake;
  change.node = NodeEffect::kNote;
  change.work = WorkEffect::kFailLost;
  change.notice = Notice::kLost;
  change.counts_end = true;
  return change;
}

Transition change_owner(const SessionRow& row, const std::optional<Incarnation>& to) {
  if (fails_on_owner_loss(row)) return lose(row);
  Transition change;
  // A change of the owner for another reason ends a stop that is under way.
  change.next = without_owner(row, row.state == State::kStopping ? State::kOpen : row.state);
  change.next.owner = to;
  change.begins_lease = true;
  change.recomputes_head = true;
  change.wakes_unregistered = row.device && to.has_value();
  change.makes_ready = true;
  change.epoch = EpochEffect::kTake;
  change.node = NodeEffect::kNote;
  change.work = WorkEffect::kUnlock;
  change.notice = Notice::kChanged;
  return change;
}

Transition stop(const SessionRow& row, const Stop& how) {
  Transition change;
  change.next = row;
  change.next.state = State::kStopping;
  change.next.stop = how;
  return change;
}

Transition end_stop(const SessionRow& row) {
  Transition change;
  change.next = row;
  change.next.state = State::kOpen;
  change.next.stop.reset();
  change.makes_ready = true;
  return change;
}

// Deletes the row, unless an execution of an exclusive session has not ended: a new opening waits
// for it.
Transition close(const SessionRow& row, Trigger cause, const Running& running) {
  Transition change;
  const bool fails_work = cause == Trigger::kClose;
  const bool stays =
      fails_work ? running.cancelled || (running.handed_over && row.exclusive) : running.any();
  change.next = without_owner(row, State::kClosed);
  change.deletes_row = !stays;
  change.clears_head = true;
  change.clears_look = true;
  change.epoch = epoch_of_end(row);
  if (fails_work) change.work = WorkEffect::kFailClosed;
  if (is_open(row.state) && cause != Trigger::kDrop) {
    change.notice = Notice::kClosed;
    change.counts_end = true;
  }
  return change;
}

// The row stays, for the runtime that logs it or for people. The instance did not cause the end, so
// it gets to know of it.
Transition end(const SessionRow& row, State state) {
  Transition change;
  change.next = without_owner(row, state);
  change.clears_head = true;
  change.epoch = epoch_of_end(row);
  change.node = NodeEffect::kNote;
  change.work = WorkEffect::kFailClosed;
  if (state != State::kExpired)
    return change;  // the next look at a closed session logs and counts it
  change.notice = Notice::kExpired;
  change.counts_end = is_open(row.state);  // a lost session was counted at its loss
  return change;
}

Transition open_again(const SessionRow& row, State state) {
  Transition change;
  change.next = without_owner(row, state);
  change.recomputes_head = true;
  change.makes_ready = true;
  change.epoch = EpochEffect::kTake;
  change.node = NodeEffect::kForget;
  return change;
}

// Hands its work over anew under the same owner. Work of an exclusive session that already runs
// goes on instead: unlocked, it would count as ended, and the session could move and run it a
// second time beside it.
Transition begin_anew(const SessionRow& row) {
  Transition change;
  change.next = row;
  change.recomputes_head = true;
  if (!row.exclusive) {
    change = open_again(row, State::kOpen);
    change.next.owner = row.owner;
    change.work = WorkEffect::kUnlock;
  }
  change.notice = Notice::kExpired;
  change.counts_end = true;
  return change;
}

// A row with a damaged column loses its owner, and the next worker with work for it takes it as a
// new session. A session that fails on loss becomes lost; any other session that was open is open.
Transition repair(const SessionRow& row) {
  State state = is_open(row.state) ? State::kOpen : row.state;
  if (row.fails_on_loss) state = State::kLost;
  Transition change = open_again(row, state);
  change.begins_lease = true;
  change.work = WorkEffect::kUnlock;
  return change;
}

}  // namespace

bool fails_on_owner_loss(const SessionRow& row) {
  return row.fails_on_loss && row.owner.has_value();
}

Transition transition(const SessionRow& row, Trigger cause, const Facts& facts) {
  switch (cause) {
    case Trigger::kChangeOwner: return change_owner(row, facts.to);
    case Trigger::kStop: return stop(row, facts.stop);
    case Trigger::kEndStop: return end_stop(row);
    case Trigger::kClose:
    case Trigger::kInstanceEnds:
    case Trigger::kDrop: return close(row, cause, facts.running);
    case Trigger::kEnd: return end(row, State::kClosed);
    case Trigger::kExpire: return end(row, State::kExpired);
    case Trigger::kOpenAgain: return open_again(row, State::kOpen);
    case Trigger::kBeginAnew: return begin_anew(row);
    case Trigger::kRepair: return repair(row);
    case Trigger::kRefuse: break;
  }
  return open_again(row, State::kRefused);
}

Change change_of(bool has_owner, std::string_view from, std::string_view to) {
  if (!has_owner) return Change::kReleased;
  if (from.empty()) return Change::kClaimed;
  return from == to ? Change::kResumed : Change::kMigrated;
}

}  // namespace pawl::rules
