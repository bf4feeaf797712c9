// CrashLimits: how often work may be running when its process ends, before it is given up.
//
// Purpose: holds the limits, and the note that a process keeps about what it runs. Ownership: plain
// values. Thread rule: one thread.
#ifndef PAWL_STORE_WORK_CRASH_LIMITS_HPP
#define PAWL_STORE_WORK_CRASH_LIMITS_HPP

#include <cstdint>

#include "core/ids.hpp"

namespace pawl {

struct CrashLimits {
  std::int32_t crashes_max = 10;
  std::int32_t strikes_max = 10;
  std::int32_t reboots_max = 100;
};

// The work that a dead process was running, from its notes (crash charging). Zero members: none.
struct CrashNote {
  static constexpr InstanceKey kNotStored =
      -1;                    // the first turn of an instance that had no row yet
  InstanceKey instance = 0;  // the instance whose turn it ran
  WorkItemId item = 0;       // the item that it ran
};

}  // namespace pawl

#endif  // PAWL_STORE_WORK_CRASH_LIMITS_HPP
