// Counts: how often executions of a work item ended without a result, by cause, and when that
// poisons the item.
//
// Limits: docs/limits/runtime.md (`crashes_max` and its like). Ownership, thread rule: pure
// functions of plain values. Errors: none; sums saturate.
#ifndef PAWL_STORE_WORK_COUNT_RULES_HPP
#define PAWL_STORE_WORK_COUNT_RULES_HPP

#include <cstdint>

namespace pawl::rules {

struct Counts {
  std::int64_t crashes = 0;  // its process died while it ran
  std::int64_t strikes =
      0;  // its lock was taken over, or it was given back as a failure of its worker
  std::int64_t reboots = 0;  // the machine went down while it ran
};

struct CountLimits {
  std::int64_t crashes_max = 0;
  std::int64_t strikes_max = 0;
  std::int64_t reboots_max = 0;
};

// Each count has its own limit and they are never summed: ten power cuts poison no item.
[[nodiscard]] bool is_poison(const Counts& counts, const CountLimits& limits);

// The counts after a lock ended without a result. A lock of another boot ended with a power cut, or
// with the network of another machine, which no activity caused. `strike`: it was taken over on
// suspicion.
[[nodiscard]] Counts after_unlock(const Counts& counts, std::int64_t lock_boot_seq,
                                  std::int64_t boot_seq, bool strike);

}  // namespace pawl::rules

#endif  // PAWL_STORE_WORK_COUNT_RULES_HPP
