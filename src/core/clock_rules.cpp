#include "core/clock_rules.hpp"

#include <cstring>

namespace pawl {

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kDayMs = std::int64_t{24} * 3600 * 1000;

// Days from 1970-01-01 to the first of a month, to check the constants against the calendar.
constexpr std::int64_t days_to(std::int64_t year, int month) {
  constexpr int kDaysBefore[12] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  const std::int64_t y = year - 1;
  const std::int64_t leap_days = y / 4 - y / 100 + y / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
  const bool leap_year = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return (year - 1970) * 365 + leap_days + kDaysBefore[month - 1] +
         (leap_year && month > 2 ? 1 : 0);
}
static_assert(kBuildDateMs == days_to(2026, 11) * kDayMs);
static_assert(kWallMsEnd == days_to(2200, 1) * kDayMs);

bool same_id(const port::BootId& a, const port::BootId& b) {
  return std::memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

AdoptResult begin_boot(const ClockRow& row, const ClockSample& sample, std::int64_t k) {
  AdoptResult result{row, Adoption::kNewBoot};
  result.row.boot_id = sample.boot_id;
  result.row.boot_seq = add_saturating(row.boot_seq, 1);
  result.row.k = k;
  // A boot without an id may be two boots: the later one, and the gap before it, went unnoticed. So
  // the next sync credits its whole gap only to items of older boots, which waited through all of
  // it.
  if (!row.boot_id.known && row.off_known && row.off_seq == row.boot_seq) result.row.off_seq -= 1;
  return result;
}

// Whether the row counts this boot's time, for certain.
bool is_this_boot(const ClockRow& row, const ClockSample& sample) {
  return row.adopted && row.boot_id.known && sample.boot_id.known &&
         same_id(row.boot_id, sample.boot_id) &&
         sample.boot_ms >= subtract_saturating(row.mark, row.k);
}

AdoptResult first_boot(const ClockSample& sample) {
  AdoptResult result{ClockRow(), Adoption::kFirst};
  result.row.adopted = true;
  result.row.boot_id = sample.boot_id;
  result.row.boot_seq = 1;
  result.row.k = subtract_saturating(0, sample.boot_ms);  // P begins at 0
  return result;
}

}  // namespace

std::int64_t add_saturating(std::int64_t a, std::int64_t b) {
  if (b > 0 && a > kHighest - b) return kHighest;
  if (b < 0 && a < kLowest - b) return kLowest;
  return a + b;
}

std::int64_t subtract_saturating(std::int64_t a, std::int64_t b) {
  if (b < 0 && a > kHighest + b) return kHighest;
  if (b > 0 && a < kLowest + b) return kLowest;
  return a - b;
}

std::int64_t pawl_time(const ClockRow& row, std::int64_t boot_ms) {
  return add_saturating(boot_ms, row.k);
}

std::int64_t boot_time(const ClockRow& row, std::int64_t p) {
  return p == kNever ? kNever : subtract_saturating(p, row.k);
}

bool wall_trusted(const ClockSample& sample) {
  return sample.synced && sample.wall_ms >= kBuildDateMs && sample.wall_ms < kWallMsEnd;
}

AdoptResult adopt(const ClockRow& row, const ClockSample& sample) {
  if (!row.adopted) return first_boot(sample);
  const bool both_known = row.boot_id.known && sample.boot_id.known;
  const bool equal = both_known && same_id(row.boot_id, sample.boot_id);
  // The whole uptime counts, since the kernel that wrote the mark no longer runs.
  if (both_known && !equal) return begin_boot(row, sample, row.mark);
  const std::int64_t marked_boot_ms = subtract_saturating(row.mark, row.k);
  if (sample.boot_ms < marked_boot_ms) {
    // Boot time went back. Unknown ids: another boot. Equal ids: a machine's snapshot was restored
    // under the file. None of its uptime may count again, so P goes on from the mark.
    return begin_boot(row, sample,
                      equal ? subtract_saturating(row.mark, sample.boot_ms) : row.mark);
  }
  AdoptResult result{row, Adoption::kNone};
  if (row.boot_id.known && !sample.boot_id.known) {
    // Otherwise a later process with a known id would take this boot for a new one, and count its
    // uptime a second time.
    result.row.boot_id = sample.boot_id;
    result.kind = Adoption::kSameBoot;
  }
  return result;
}

ClockRow leave(const ClockRow& row, const ClockSample& sample) {
  return is_this_boot(row, sample) ? mark(row, pawl_time(row, sample.boot_ms)) : row;
}

ClockRow adopt_moved(const ClockRow& row, bool is_segment, const ClockSample& sample) {
  if (!row.adopted || is_this_boot(row, sample)) return row;
  ClockRow from = row;
  if (is_segment) from.boot_id = sample.boot_id;  // no boot without an id, which may be two
  return begin_boot(from, sample, subtract_saturating(row.mark, sample.boot_ms)).row;
}

bool needs_mark(const ClockRow& row, std::int64_t p) {
  return subtract_saturating(p, row.mark) > kMarkAgeMs;
}

ClockRow mark(const ClockRow& row, std::int64_t p) {
  ClockRow marked = row;
  if (p > marked.mark) marked.mark = p;
  return marked;
}

std::int64_t next_mark_boot_ms(std::int64_t adopted_boot_ms, std::int64_t marked_boot_ms,
                               std::int64_t clock_mark_ms) {
  // The interval depends only on the time since the adoption, so marks piggybacked on commits in
  // between neither lengthen nor shorten it: 30 s before 30 s, 60 s before 90 s, 120 s before 210
  // s, ...
  const std::int64_t age = subtract_saturating(marked_boot_ms, adopted_boot_ms);
  std::int64_t interval = kMarkFirstMs;
  std::int64_t lasts_until = kMarkFirstMs;
  while (interval < clock_mark_ms && lasts_until <= age) {
    interval = add_saturating(interval, interval);
    lasts_until = add_saturating(lasts_until, interval);
  }
  if (interval > clock_mark_ms) interval = clock_mark_ms;
  return add_saturating(marked_boot_ms, interval);
}

SyncResult sync(const ClockRow& row, const ClockSample& sample, const SyncLimits& limits) {
  SyncResult result;
  result.row = row;
  if (!row.adopted || !wall_trusted(sample)) return result;
  const std::int64_t off = subtract_saturating(sample.wall_ms, pawl_time(row, sample.boot_ms));
  if (row.off_known && row.off_seq < row.boot_seq) {
    result.gap = subtract_saturating(off, row.off);
    result.credited = result.gap > 0 && result.gap <= limits.max_gap_ms;
    result.refused = result.gap < 0 || result.gap > limits.max_gap_ms;
    // Items made after the boot of the last confirmed offset did not wait through all of the gap.
    result.credit_seg_max = row.off_seq;
  } else if (row.off_known) {
    result.step = subtract_saturating(off, row.off);
  }
  result.changed = !row.off_known || row.off != off || row.off_seq != row.boot_seq;
  result.worth_a_commit = !row.off_known || row.off_seq != row.boot_seq || result.step >= kStepMs ||
                          result.step <= -kStepMs;
  result.row.off = off;
  result.row.off_known = true;
  result.row.off_seq = row.boot_seq;
  return result;
}

std::int64_t credited_due(const SyncResult& result, std::int64_t due, std::int64_t seg) {
  if (!result.credited || seg > result.credit_seg_max) return due;
  return subtract_saturating(due, result.gap);
}

bool sync_could_help(const ClockRow& row, std::int64_t pawl_seg_min, bool utc_waits) {
  if (row.off_known && row.off_seq == row.boot_seq) return false;  // this boot has synced
  return utc_waits || (row.off_known && pawl_seg_min <= row.off_seq);
}

std::int64_t next_sync_look_ms(std::int64_t previous_ms) {
  if (previous_ms <= 0) return kSyncLookFirstMs;
  return previous_ms < kSyncLookMs / 2 ? previous_ms * 2 : kSyncLookMs;
}

bool due(TimeBase base, std::int64_t due_ms, const ClockRow& row, std::int64_t p) {
  if (due_ms == kNever) return false;
  if (base == TimeBase::kPawl) return due_ms <= p;
  return row.off_known && due_ms <= add_saturating(p, row.off);
}

std::int64_t due_in_pawl_time(TimeBase base, std::int64_t due_ms, const ClockRow& row) {
  if (base == TimeBase::kPawl || due_ms == kNever) return due_ms;
  return row.off_known ? subtract_saturating(due_ms, row.off) : kNever;
}

std::int64_t make_due(std::int64_t p, std::int64_t delay_ms) {
  return delay_ms > 0 ? add_saturating(p, delay_ms) : p;
}

Stamp stamp(const ClockRow& row, const ClockSample& sample) {
  if (!row.off_known) return {sample.wall_ms, StampQuality::kUnset};
  const std::int64_t utc_ms = add_saturating(pawl_time(row, sample.boot_ms), row.off);
  const bool this_boot = row.off_seq == row.boot_seq;
  return {utc_ms, this_boot ? StampQuality::kSynced : StampQuality::kEstimated};
}

}  // namespace pawl
