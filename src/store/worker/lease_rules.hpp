// Leases: how long they last, when a session is idle, when a dead worker's node is free again.
//
// Rules: docs/rules/session.md, S5, S6, S8, S10 and S47. Ownership, thread rule: pure
// functions of plain values. Errors: none; sums saturate.
#ifndef PAWL_STORE_WORKER_LEASE_RULES_HPP
#define PAWL_STORE_WORKER_LEASE_RULES_HPP

#include <cstdint>

#include "pawl/optional_ms.hpp"
#include "store/row_rules.hpp"
#include "store/worker/evidence_rules.hpp"

namespace pawl::rules {

// The end of a lease that starts now.
[[nodiscard]] std::int64_t lease_until(std::int64_t now, std::int64_t lease_ms);
// The rest of a lease; not below 0. The first lease of a session on its new worker is the rest of
// that worker's own lease: the worker renews both together.
[[nodiscard]] std::int64_t lease_left_ms(std::int64_t until, std::int64_t now);

// ---- idleness ----

struct IdleRow {
  State state = State::kOpen;
  bool device = false;
  bool fails_on_loss = false;
  bool is_opened = false;  // an orchestration opened it; else it is shared
  bool has_work = false;   // in the queue: waiting behind busy slots is no idleness
  bool is_busy = false;    // some of that work runs, or could be handed over now
  OptionalMs idle_ms;      // from its settings
  std::int64_t hold_until = 0;
  std::int64_t last_activity_at = 0;
  bool has_settings = false;  // shared, and code gave it settings
  bool expires = false;       // it expires, or closes when idle
};
// Whether its owner releases it with a renewal. `default_ms`: the renewing worker's limit for
// sessions that no instance opened; an opened session without idle_ms stays.
[[nodiscard]] bool is_idle(const IdleRow& row, std::int64_t now, std::int64_t default_ms);
// When it is released to make room for another session that waits. None: not in its present state.
// Its own idle time does not matter here, nor that it has none: otherwise ten sessions without one
// would keep all others waiting for good. Delayed work does not matter either: it needs no worker
// before its time comes, and then any worker may have it.
[[nodiscard]] OptionalMs makes_room_at(const IdleRow& row, std::int64_t evict_idle_ms);
// A worker at its limit meets a session that it could claim, first at `met_at`. Until the returned
// time a worker with room may take it, since then no session must be released. None: the session is
// not left to others.
[[nodiscard]] OptionalMs left_to_others_until(bool is_room_elsewhere, std::int64_t met_at,
                                              std::int64_t evict_idle_ms);
// How long work of a session without an owner has waited. The wall clock may have been set since
// the work was scheduled, so the result is at most the time that the session has been quiet.
[[nodiscard]] std::int64_t waited_ms(std::int64_t quiet_ms, std::int64_t since_scheduling_ms);
// Whether its row is of no more use: no worker owns it, and nothing but its name is known. Counts
// that belong to its settings are kept for an hour without activity, and until it expires.
[[nodiscard]] bool may_be_swept(const IdleRow& row, std::int64_t now);

// ---- dead workers ----

// Whether a newcomer may take the node of this registration: at once by proof; where a death cannot
// be proved, two leases after the registration's own lease ended.
[[nodiscard]] bool may_take_node(Gone gone, std::int64_t locked_until, std::int64_t lease_ms,
                                 std::int64_t now);
// False: the worker died with its boot, or is of another machine, so it is not charged for what it
// ran.
[[nodiscard]] bool is_charged(std::int64_t worker_boot_seq, std::int64_t boot_seq);

}  // namespace pawl::rules

#endif  // PAWL_STORE_WORKER_LEASE_RULES_HPP
