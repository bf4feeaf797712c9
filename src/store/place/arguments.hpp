// Arguments and answers of batches, and of the calls about the room that rows take.
//
// Ownership: plain values. Thread rule: as store.hpp. Times: Pawl time in ms (clock_rules.hpp)
// unless a name says otherwise.
#ifndef PAWL_STORE_PLACE_ARGUMENTS_HPP
#define PAWL_STORE_PLACE_ARGUMENTS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/clock_rules.hpp"
#include "core/ids.hpp"
#include "pawl/management.hpp"
#include "pawl/port.hpp"
#include "pawl/status.hpp"
#include "store/sql/damage.hpp"

namespace pawl {

// The facts that a batch found when it began; the same for all calls in it.
struct BatchInfo {
  std::int64_t now = 0;         // Pawl time, read after the lock was held
  std::int64_t stamp_ms = 0;    // for people (T9)
  std::int64_t boot_seq = 0;    // of this machine: for workers, their locks and leases
  std::int64_t segment = 0;     // the stretch of Pawl time without a gap: for timers
  bool moves_are_held = false;  // no exclusive session gets another owner (F15a)
  bool utc_known = false;
  std::int64_t utc_ms = 0;
  bool draining = false;  // `me` is draining: it claims nothing
  std::int64_t data_version = 0;
  // A process died in the first turn of an instance that had no row yet. For some time starts are
  // stored before their first turn, so that a crash in it can be charged.
  bool persist_starts_first = false;
  std::int64_t quota_bytes = 0;      // set by set_quota_and_reserve()
  bool clock_adopted = false;        // this batch adopted a new boot
  bool clock_synced = false;         // this batch confirmed the offset
  bool clock_confirmed = false;      // the offset is confirmed for this boot
  std::int64_t clock_credit_ms = 0;  // off time credited to older timers
};

// Events removed in one transaction; a longer execution is removed by itself.
inline constexpr std::size_t kSweepEventsMax = 4096;

// The ended trees that are removed without a call: those whose root ended at `ended_until` or
// before (Pawl time; none: no such limit), and those beyond the `count_max` trees that ended last
// (0: no such limit).
struct Retention {
  OptionalMs ended_until;
  std::int64_t count_max = 0;
};

// The bytes that the database takes on its device.
struct SpaceUse {
  std::int64_t used_bytes = 0;  // pages in use
  std::int64_t free_bytes = 0;  // pages of the file that can be used again
  std::int64_t log_bytes = 0;
  std::int64_t quota_bytes = 0;  // 0: none
  [[nodiscard]] std::int64_t total() const { return used_bytes + log_bytes; }
};

struct LogUse {
  std::int64_t bytes = 0;  // length of its file
  std::int64_t most = 0;   // set_log_max(); 0: no limit
};

// The place in the order of ended roots where the next call goes on.
struct EndedCursor {
  std::int64_t ended = kBeforeAll;
  InstanceKey key = 0;
};

}  // namespace pawl

#endif  // PAWL_STORE_PLACE_ARGUMENTS_HPP
