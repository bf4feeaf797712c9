#include "store/worker/lease_rules.hpp"

#include "core/clock_rules.hpp"
#include "store/session/lifetime_rules.hpp"

namespace pawl::rules {

namespace {

constexpr std::int64_t kLeasesUntilBurial = 2;

bool is_quiet(const IdleRow& row, std::int64_t now) {
  return row.state == State::kOpen && !row.device && !row.has_work && row.hold_until < now;
}

}  // namespace

std::int64_t lease_until(std::int64_t now, std::int64_t lease_ms) {
  return add_saturating(now, lease_ms);
}

std::int64_t lease_left_ms(std::int64_t until, std::int64_t now) {
  const std::int64_t left = subtract_saturating(until, now);
  return left > 0 ? left : 0;
}

// ---- idleness ----

bool is_idle(const IdleRow& row, std::int64_t now, std::int64_t default_ms) {
  if (!is_quiet(row, now)) return false;
  OptionalMs limit = row.idle_ms;
  if (!limit.has_value() && !row.is_opened) limit = default_ms;
  return limit.has_value() && subtract_saturating(now, row.last_activity_at) >= limit.value();
}

OptionalMs makes_room_at(const IdleRow& row, std::int64_t evict_idle_ms) {
  if (row.state != State::kOpen || row.device || row.is_busy || row.fails_on_loss) return {};
  const std::int64_t idle = add_saturating(row.last_activity_at, evict_idle_ms);
  const std::int64_t released = add_saturating(row.hold_until, 1);
  return idle > released ? idle : released;
}

OptionalMs left_to_others_until(bool is_room_elsewhere, std::int64_t met_at,
                                std::int64_t evict_idle_ms) {
  if (!is_room_elsewhere) return {};
  return add_saturating(met_at, evict_idle_ms);
}

std::int64_t waited_ms(std::int64_t quiet_ms, std::int64_t since_scheduling_ms) {
  const bool is_known = since_scheduling_ms >= 0 && since_scheduling_ms < quiet_ms;
  const std::int64_t waited = is_known ? since_scheduling_ms : quiet_ms;
  return waited > 0 ? waited : 0;
}

bool may_be_swept(const IdleRow& row, std::int64_t now) {
  if (row.device || row.is_opened || row.has_work) return false;
  const bool is_old = subtract_saturating(now, row.last_activity_at) >= kExpiredKeptMs;
  if (row.state == State::kLost || row.state == State::kRefused) return is_old;
  return row.state == State::kOpen && (!row.has_settings || (is_old && !row.expires));
}

// ---- dead workers ----

bool may_take_node(Gone gone, std::int64_t locked_until, std::int64_t lease_ms, std::int64_t now) {
  if (gone == Gone::kProof) return true;
  const std::int64_t burial = add_saturating(locked_until, kLeasesUntilBurial * lease_ms);
  return gone == Gone::kSuspicion && burial <= now;
}

bool is_charged(std::int64_t worker_boot_seq, std::int64_t boot_seq) {
  return worker_boot_seq == boot_seq;
}

}  // namespace pawl::rules
