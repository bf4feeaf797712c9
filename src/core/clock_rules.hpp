// clock_rules: the rules of time, as pure functions from (row, sample) to (row, what happened).
//
// Purpose: everything that waits is kept in Pawl time P = boot time + k, a counter that never
// jumps, never runs backwards and never counts more time than has passed. A trusted wall clock maps
// P to UTC, and once a boot it shows how long the power was off; older timers are pulled forward by
// that time. The rules T1 to T10: docs/rules/time.md. Here: T1 to T5, T9 and T10. No clock is read
// and nothing is stored here.
// How to use: inside a write transaction read the row, and only then take the sample; pass it
// through adopt(), sync(), needs_mark() and mark(); write the row back; commit. A sample taken
// before the lock was held could be older than a mark of another process, and adopt() would see
// time going back.
// Ownership: plain values. Thread rule: pure functions. Errors: none; numbers saturate instead of
// overflowing, so that a damaged row or a broken clock causes a late result, never an undefined
// one.
#ifndef PAWL_CORE_CLOCK_RULES_HPP
#define PAWL_CORE_CLOCK_RULES_HPP

#include <cstdint>
#include <limits>

#include "pawl/port.hpp"

namespace pawl {

// A wall clock before this time is wrong, even if the system calls it synchronised:
// 2026-11-01T00:00:00Z. A constant and not the compiler's date, so that equal sources make equal
// libraries; raise it now and then.
inline constexpr std::int64_t kBuildDateMs = 1793491200000;
// 2200-01-01T00:00:00Z.
inline constexpr std::int64_t kWallMsEnd = 7258118400000;

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
// The beginning of a look through rows in the order of a time: no row has an earlier one.
inline constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMarkAgeMs = 1000;           // a commit writes an older mark, too
inline constexpr std::int64_t kMarkFirstMs = 30 * 1000;    // T2, if no commit comes earlier
inline constexpr std::int64_t kClockMarkMs = 3600 * 1000;  // default of option clock_mark_ms
inline constexpr std::int64_t kStepMs = 1000;              // a smaller move is no step
inline constexpr std::int64_t kSyncLookFirstMs = 1000;
inline constexpr std::int64_t kSyncLookMs = 300 * 1000;
inline constexpr std::int64_t kMaxGapMs = std::int64_t{400} * 24 * 3600 * 1000;  // default

// The one row of `meta` that all verdicts depend on.
struct ClockRow {
  port::BootId boot_id;
  std::int64_t boot_seq = 0;  // counts adoptions; 0: none yet
  std::int64_t k = 0;         // P - boot time
  std::int64_t mark = 0;      // highest P committed
  std::int64_t off = 0;       // wall - P, taken while synced; UTC estimate U = P + off
  bool off_known = false;
  // The boot in which `off` was last confirmed. The one before it, if that boot is over and had no
  // id (begin_boot()).
  std::int64_t off_seq = 0;
  bool adopted = false;  // false: a new database
};

struct ClockSample {
  std::int64_t boot_ms = 0;
  std::int64_t wall_ms = 0;
  bool synced = false;  // from the port
  port::BootId boot_id;
};

// The clock in which a due time is counted; stored.
enum class TimeBase : std::uint8_t { kPawl = 0, kUtc = 1 };

// ---- time ----

[[nodiscard]] std::int64_t add_saturating(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t subtract_saturating(std::int64_t a, std::int64_t b);

// P. Requires for meaning: the row was adopted in this boot.
[[nodiscard]] std::int64_t pawl_time(const ClockRow& row, std::int64_t boot_ms);
// The boot time at which P is `p`, for arming a timer.
[[nodiscard]] std::int64_t boot_time(const ClockRow& row, std::int64_t p);
// Whether the wall clock counts as synchronised: the port says so, and it shows a time from
// kBuildDateMs on and before 2200.
[[nodiscard]] bool wall_trusted(const ClockSample& sample);

// ---- T1: adopt ----

enum class Adoption : std::uint8_t {
  kNone,      // the boot is known and nothing is to be written
  kFirst,     // a new database
  kNewBoot,   // boot_seq rose
  kSameBoot,  // the boot is known, but its id became "unknown": write the row
};
struct AdoptResult {
  ClockRow row;
  Adoption kind = Adoption::kNone;
};
// Call it in the first write transaction of a process, before anything is made, marked or fired.
[[nodiscard]] AdoptResult adopt(const ClockRow& row, const ClockSample& sample);

// The row of a database that is to be moved: P as it is now, if it is known in this boot.
[[nodiscard]] ClockRow leave(const ClockRow& row, const ClockSample& sample);
// For a row that came from another database, where it may have been of a segment of several
// machines. Unless it counts this boot's time, P goes on from its mark, and none of this boot's
// uptime counts, which may have counted there. The first sync() credits what lies between.
[[nodiscard]] ClockRow adopt_moved(const ClockRow& row, bool is_segment, const ClockSample& sample);

// ---- T2: mark ----

// Whether the mark is old enough to be piggybacked on a commit.
[[nodiscard]] bool needs_mark(const ClockRow& row, std::int64_t p);
// The row with its mark at P, or unchanged if its mark is later.
[[nodiscard]] ClockRow mark(const ClockRow& row, std::int64_t p);
// Boot time of the next mark if nothing is committed before it and something waits in Pawl time:
// after 30 s, then at intervals that double up to `clock_mark_ms`, so that a power cut loses at
// most two thirds of an uptime. `adopted_boot_ms`: when this process adopted; `marked_boot_ms`:
// when the last mark was made.
[[nodiscard]] std::int64_t next_mark_boot_ms(std::int64_t adopted_boot_ms,
                                             std::int64_t marked_boot_ms,
                                             std::int64_t clock_mark_ms);

// ---- T3: sync ----

struct SyncLimits {
  std::int64_t max_gap_ms = kMaxGapMs;
};
struct SyncResult {
  ClockRow row;
  bool changed = false;  // the row must be written with the next commit
  // The first confirmation in this boot, or the wall clock moved by kStepMs: commit even without
  // other changes. A smaller move is the jitter of two clocks read one after the other, and not
  // worth a flush.
  bool worth_a_commit = false;
  // Pull every item of base kPawl with seg <= credit_seg_max forward by gap, in this transaction:
  // UPDATE .. SET due = due - gap WHERE base = 0 AND seg <= credit_seg_max.
  bool credited = false;
  bool refused = false;  // the gap was negative or above the limit: nothing is credited, report it
  std::int64_t gap = 0;  // between the boots, if it became known; 0 otherwise
  std::int64_t credit_seg_max = 0;
  std::int64_t step = 0;  // how far the wall moved against P since it was confirmed in this boot
};
// Call it in any write transaction after adoption; it changes nothing if the wall clock is not
// trusted.
[[nodiscard]] SyncResult sync(const ClockRow& row, const ClockSample& sample,
                              const SyncLimits& limits);
// The due time that the UPDATE gives one item of base kPawl.
[[nodiscard]] std::int64_t credited_due(const SyncResult& result, std::int64_t due,
                                        std::int64_t seg);

// Whether a sync in this boot could help anything that waits. `pawl_seg_min`: the lowest seg among
// items of base kPawl, kNever if there are none; `utc_waits`: there are items of base kUtc.
[[nodiscard]] bool sync_could_help(const ClockRow& row, std::int64_t pawl_seg_min, bool utc_waits);
// The wait before the next look at the synchronised flag while a sync could help: 1, 2, 4 .. 300 s.
// `previous_ms`: 0 at first and after a step notice.
[[nodiscard]] std::int64_t next_sync_look_ms(std::int64_t previous_ms);

// ---- T4, T5: due and make ----

[[nodiscard]] bool due(TimeBase base, std::int64_t due_ms, const ClockRow& row, std::int64_t p);
// The P at which an item is due; kNever while a UTC item has no offset. Items of one look fire in
// this order, too.
[[nodiscard]] std::int64_t due_in_pawl_time(TimeBase base, std::int64_t due_ms,
                                            const ClockRow& row);
// The due time of a duration: P + delay, kNever if that overflows; a negative delay counts as 0.
[[nodiscard]] std::int64_t make_due(std::int64_t p, std::int64_t delay_ms);

// ---- T9: stamps ----

// The quality of a stamp of this boot.
enum class StampQuality : std::uint8_t {
  kUnset,      // the raw wall clock, which is not trusted
  kEstimated,  // from an offset of an earlier boot: behind by the off time since
  kSynced,     // from an offset of this boot
};
struct Stamp {
  std::int64_t utc_ms = 0;
  StampQuality quality = StampQuality::kUnset;
};
// The stamp is shown to people and recorded; nothing is ever scheduled by it.
[[nodiscard]] Stamp stamp(const ClockRow& row, const ClockSample& sample);

}  // namespace pawl

#endif  // PAWL_CORE_CLOCK_RULES_HPP
