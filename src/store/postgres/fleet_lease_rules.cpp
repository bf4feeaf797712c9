#include "store/postgres/fleet_lease_rules.hpp"

#include "core/clock_rules.hpp"
#include "store/postgres/store_time_rules.hpp"

namespace pawl::fleet {

namespace {

constexpr std::int64_t kMillion = 1'000'000;

bool has_graced(OptionalMs free_since_boot_ms, std::int64_t boot_ms) {
  return free_since_boot_ms.has_value() &&
         subtract_saturating(boot_ms, free_since_boot_ms.value()) >= kConnectionGraceMs;
}

// How far two clocks drift apart in this time, rounded up.
std::int64_t drift_apart_ms(std::int64_t ms) { return ms / (kMillion / (2 * kDriftPpm)) + 1; }

}  // namespace

std::int64_t own_lease_end(std::int64_t sent_boot_ms, const OwnLeaseTerms& terms) {
  // The next owner counts by its own clock: it may be faster, and ahead of ours.
  const std::int64_t margin_ms = drift_apart_ms(terms.lease_ms) + kApartMs + terms.lateness_ms;
  return add_saturating(sent_boot_ms, subtract_saturating(terms.lease_ms, margin_ms));
}

bool may_run_exclusive(OptionalMs end_boot_ms, std::int64_t boot_ms) {
  return end_boot_ms.has_value() && boot_ms < end_boot_ms.value();
}

bool keeps_exclusive(OptionalMs end_boot_ms, std::int64_t sent_boot_ms) {
  return may_run_exclusive(end_boot_ms, sent_boot_ms);
}

bool may_become_owner(bool exclusive, const std::optional<OwnerView>& owner,
                      const TakeoverTime& now) {
  // The claim by which another node became the owner may be among the commits that a failover lost,
  // and so may the renewal that the owner counts on. A proof that the owner in the row is dead says
  // nothing of that other node.
  const bool is_held =
      now.moves_held_until_ms.has_value() && !now.moves_held_until_ms.has_passed(now.store_ms);
  if (exclusive && is_held) return false;
  if (!owner.has_value() || owner->is_proved_dead) return true;
  if (owner->locked_until_ms <= now.store_ms) return true;
  return !exclusive &&
         (owner->is_dead || has_graced(owner->connection_free_since_boot_ms, now.boot_ms));
}

OptionalMs moves_held_until(OptionalMs stored_ms, bool is_new_timeline, std::int64_t batch_ms,
                            std::int64_t lease_ms) {
  return is_new_timeline ? OptionalMs(add_saturating(batch_ms, lease_ms)) : stored_ms;
}

bool may_take_node_id(const SameNode& other, std::int64_t boot_ms) {
  return other.is_proved_dead || has_graced(other.connection_free_since_boot_ms, boot_ms);
}

}  // namespace pawl::fleet
