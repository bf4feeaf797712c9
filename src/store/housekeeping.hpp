// Housekeeping: what the storage removes, and the room that the rest takes.
//
// Purpose: retention and sweeps of ended trees, quota and reserve, the length of the log.
// Ownership: plain values.
// Thread rule: as store.hpp.
#ifndef PAWL_STORE_HOUSEKEEPING_HPP
#define PAWL_STORE_HOUSEKEEPING_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "clock_rules.hpp"
#include "ids.hpp"
#include "pawl/management.hpp"
#include "pawl/status.hpp"

namespace pawl {

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

class Housekeeping {
 public:
  // In a batch: marks ended trees as delete_instance() does, in the order of their end, behind the
  // cursor. Looks at a bounded number; `more`: call again. Without `more`, *next_end is the end
  // time of the first tree that stays.
  virtual Status delete_ended(const Retention& which, EndedCursor* cursor, OptionalMs* next_end,
                              bool* more) = 0;
  // In a batch: removes rows of all deleted trees; bounded by events. Adds to *removed.
  virtual Status sweep_deleted(std::size_t events_max, Removed* removed, bool* more) = 0;

  // ---- room ----
  // A read; callable anywhere.
  virtual Status read_use(SpaceUse* out) = 0;
  // In a batch, for all processes: create_instance() and send_message() answer kQuota while more
  // than the quota is used (0: no limit), or while the reserve is missing and the free pages hold
  // fewer bytes than it has. None: the stored value stays.
  virtual Status set_space(std::optional<std::int64_t> quota_bytes,
                           std::optional<std::int64_t> reserve_bytes) = 0;
  // In a batch: removes completed rows, the oldest first: ended trees, then earlier executions.
  // Bounded as a sweep is; if nothing was counted, nothing is left to remove.
  virtual Status remove_oldest(std::size_t events_max, Removed* removed) = 0;
  // In a batch, for all processes: create_instance() and send_message() answer kQuota while the log
  // is longer.
  virtual Status set_log_max(std::int64_t bytes) = 0;
  // Cheap; callable anywhere.
  [[nodiscard]] virtual LogUse log_use() = 0;
  // Whether there should be a reserve but is none; callable anywhere.
  virtual Result<bool> reserve_missing() = 0;
  // Creates the file of the reserve unless it exists; a file that could not be made whole is
  // removed. Callable anywhere.
  virtual Status make_reserve(std::int64_t bytes) = 0;
  // In a batch: removes the file if the stored size is 0.
  virtual Status remove_unwanted_reserve() = 0;
  // The calls from here on run outside a batch and a view. release_reserve() removes the file,
  // whatever size is stored.
  virtual Status release_reserve() = 0;
  // Writes the log back and truncates it to nothing. kBusy, at once: others read or write; then as
  // much of it was written back as they allow.
  virtual Status empty_log() = 0;
  // With checkpoint_after_commit: writes the log back if it is at least checkpoint_pages long, as
  // far as other readers allow. A failure is tried again when the log has grown.
  virtual Status write_back_log() = 0;

 protected:
  ~Housekeeping() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_HOUSEKEEPING_HPP
