// Leases across machines: how long an owner counts on one, and when a session leaves its owner.
//
// Purpose: no test of another machine says that a process there has ended. A connection that is
// gone proves nothing for an exclusive session, since its owner may run on behind a broken network.
// So its owner stops by its own boot clock before another node may begin by store time. The rules:
// docs/rules/fleet.md, F6, F7, F8 and F13, F14, F15a, F15b. The proof on one machine, the kernel
// lock, stays S47.3 of docs/rules/session.md.
// Ownership: plain values. Thread rule: pure functions. Units: ms; a name says of which clock.
// Errors: none; sums saturate.
#ifndef PAWL_STORE_POSTGRES_FLEET_LEASE_RULES_HPP
#define PAWL_STORE_POSTGRES_FLEET_LEASE_RULES_HPP

#include <cstdint>
#include <optional>

#include "pawl/optional_ms.hpp"

namespace pawl::fleet {

// A connection may break and come back within so long.
inline constexpr std::int64_t kConnectionGraceMs = 2'000;

// ---- the owner: F6, F14, F15b ----

struct OwnLeaseTerms {
  std::int64_t lease_ms = 0;
  std::int64_t lateness_ms = 0;  // the loop looks at its leases at least so often
};
// Until when the owner counts on its lease, by its own boot clock. `sent_boot_ms`: from before the
// renewal was sent. An exclusive device counts as an exclusive session.
[[nodiscard]] std::int64_t own_lease_end(std::int64_t sent_boot_ms, const OwnLeaseTerms& terms);
// Whether exclusive work may begin and go on. `end_boot_ms`: none before the first renewal. If not,
// what runs is reported lost and stopped.
[[nodiscard]] bool may_run_exclusive(OptionalMs end_boot_ms, std::int64_t boot_ms);
// Whether a renewal or claim that is sent now keeps the exclusive sessions of the owner. If its own
// count is over, another node may have owned one of them meanwhile, and a failover may have lost
// that: it gives them up in this batch, and claims them anew.
[[nodiscard]] bool keeps_exclusive(OptionalMs end_boot_ms, std::int64_t sent_boot_ms);

// ---- another node: F7, F8, F15a ----

// An owner, seen by another node.
struct OwnerView {
  bool is_dead = false;              // its registration has ended
  bool is_proved_dead = false;       // same boot id, and its kernel lock is free
  std::int64_t locked_until_ms = 0;  // store time
  // Since when this node has seen the lock of its connection free; none if it is held.
  OptionalMs connection_free_since_boot_ms;
};
struct TakeoverTime {
  std::int64_t store_ms = 0;
  std::int64_t boot_ms = 0;        // of the node that asks
  OptionalMs moves_held_until_ms;  // store time, from the row
};
// Whether the asking node may become the owner. `owner`: none for a session without one.
[[nodiscard]] bool may_become_owner(bool exclusive, const std::optional<OwnerView>& owner,
                                    const TakeoverTime& now);
// Until when no exclusive session changes its owner: the first batch on a new timeline writes it.
[[nodiscard]] OptionalMs moves_held_until(OptionalMs stored_ms, bool is_new_timeline,
                                          std::int64_t batch_ms, std::int64_t lease_ms);

// ---- the id of a node: F13 ----

// A living registration under the id that a process wants.
struct SameNode {
  bool is_proved_dead = false;  // same boot id, and its kernel lock is free
  OptionalMs connection_free_since_boot_ms;
};
// Whether a newcomer may end that registration and take its id. Its exclusive sessions do not
// become free by it.
[[nodiscard]] bool may_take_node_id(const SameNode& other, std::int64_t boot_ms);

}  // namespace pawl::fleet

#endif  // PAWL_STORE_POSTGRES_FLEET_LEASE_RULES_HPP
