#include "store/work/count_rules.hpp"

#include "core/clock_rules.hpp"

namespace pawl::rules {

bool is_poison(const Counts& counts, const CountLimits& limits) {
  return counts.crashes >= limits.crashes_max || counts.strikes >= limits.strikes_max ||
         counts.reboots >= limits.reboots_max;
}

Counts after_unlock(const Counts& counts, std::int64_t lock_boot_seq, std::int64_t boot_seq,
                    bool strike) {
  Counts out = counts;
  if (lock_boot_seq != boot_seq) out.reboots = add_saturating(out.reboots, 1);
  if (strike && lock_boot_seq == boot_seq) out.strikes = add_saturating(out.strikes, 1);
  return out;
}

}  // namespace pawl::rules
