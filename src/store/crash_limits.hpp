// CrashLimits: how often work may be running when its process ends before it is given up.
//
// Purpose: the limits, and what a process notes of what it runs. Ownership: plain values. Thread
// rule: one thread.
#ifndef PAWL_STORE_CRASH_LIMITS_HPP
#define PAWL_STORE_CRASH_LIMITS_HPP

#include <cstdint>

#include "ids.hpp"

namespace pawl {

struct CrashLimits {
  std::int32_t crashes_max = 10;
  std::int32_t strikes_max = 10;
  std::int32_t reboots_max = 100;
};

// What a dead process was running, from its notes (crash charging). Zero members: nothing.
struct CrashNote {
  static constexpr InstanceKey kNotStored =
      -1;                    // the first turn of an instance that was no row yet
  InstanceKey instance = 0;  // a turn
  WorkItemId item = 0;       // an activity
};

}  // namespace pawl

#endif  // PAWL_STORE_CRASH_LIMITS_HPP
