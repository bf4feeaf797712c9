// TimeLimitSteps: the part of a turn that only a Registry with time limits needs.
//
// Purpose: Registry::set_time_limits() alone names it, so a program without such limits does not
// link it. Ownership: constants. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_TIME_LIMITS_HPP
#define PAWL_RUNTIME_TIME_LIMITS_HPP

#include "pawl/registry.hpp"
#include "runtime/turn.hpp"
#include "store/store.hpp"

namespace pawl::internal {

struct TimeLimitSteps {
  // Null: the Registry gives no limits.
  static const TimeLimitSteps* of(const Registry& registry) { return registry.time_limit_steps_; }
  // In the batch, behind the turn's commit: gives an instance that begins with it the limit of its
  // definition, unless a caller gave or removed one (R8.9).
  Status (*write)(const Registry& registry, const Turn& turn, store::InstanceRows& rows);
};

}  // namespace pawl::internal

#endif  // PAWL_RUNTIME_TIME_LIMITS_HPP
