// Leases: how long they last, when a session is idle, when a dead worker's node is free again.
//
// Rules: docs/rules/session.md, S5, S6, S8, S10 and S47. Ownership, thread rule: pure
// functions of plain values. Errors: none; sums saturate.
#ifndef PAWL_SESSION_LEASES_HPP
#define PAWL_SESSION_LEASES_HPP

#include <cstdint>

#include "evidence.hpp"
#include "pawl/optional_ms.hpp"
#include "rows.hpp"

namespace pawl::session {

// The end of a lease that is given now.
[[nodiscard]] std::int64_t lease_until(std::int64_t now, std::int64_t lease_ms);
// What is left of it; not below 0. The first lease of a session that is given to another worker is
// what is left of that worker's own: it renews both together.
[[nodiscard]] std::int64_t lease_left_ms(std::int64_t until, std::int64_t now);

// ---- idleness ---------------------------------------------------------------------------------------

struct IdleRow {
  State state = State::kOpen;
  bool device = false;
  bool fails_on_loss = false;
  bool is_opened = false;  // by an orchestration; else it is shared
  bool has_work = false;  // in the queue, in any state: what waits behind busy slots is no idleness
  bool is_busy = false;   // of that some runs, or could be handed over now
  OptionalMs idle_ms;     // of its settings
  std::int64_t hold_until = 0;
  std::int64_t last_activity_at = 0;
  bool has_settings = false;  // shared, and code gave it some
  bool expires = false;       // or closes when it is idle
};
// Released by its owner with a renewal. `default_ms`: that of the renewing worker, for those that
// no instance opened; an opened one without idle_ms stays.
[[nodiscard]] bool is_idle(const IdleRow& row, std::int64_t now, std::int64_t default_ms);
// When it is released to make room for another one, which waits. None: not as it is now. An idle
// time of its own says nothing here, not even that there is none: else ten sessions without one
// would keep every other session waiting for good. Nor does work that is delayed: it needs no worker
// before its time comes, and then any may have it.
[[nodiscard]] OptionalMs makes_room_at(const IdleRow& row, std::int64_t evict_idle_ms);
// A worker at its limit meets a session that it could claim, and met it first then. One that has
// room gets it first: nothing has to be released for that. None: it is not left to that one.
[[nodiscard]] OptionalMs left_to_others_until(bool is_room_elsewhere, std::int64_t met_at,
                                              std::int64_t evict_idle_ms);
// How long work of a session without an owner has waited. The wall clock may have been set since its
// scheduling, and the session has waited no longer than it has been quiet.
[[nodiscard]] std::int64_t waited_ms(std::int64_t quiet_ms, std::int64_t since_scheduling_ms);
// Its row is of no use any more: no worker has it, and nothing says more of it than its name.
// What its settings count is kept for an hour without activity, and until it expires.
[[nodiscard]] bool may_be_swept(const IdleRow& row, std::int64_t now);

// ---- dead workers -----------------------------------------------------------------------------------

// May a newcomer take the node of this registration? On proof at once; where a death cannot be
// proved, two leases after the registration's own ended.
[[nodiscard]] bool may_take_node(Gone gone, std::int64_t locked_until, std::int64_t lease_ms,
                                 std::int64_t now);
// A worker that died with its boot is not to blame for what it ran.
[[nodiscard]] bool is_charged(std::int64_t worker_boot_seq, std::int64_t boot_seq);

}  // namespace pawl::session

#endif  // PAWL_SESSION_LEASES_HPP
