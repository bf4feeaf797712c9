// Store time: the time of a store that several machines share, counted by their boot clocks.
//
// Purpose: timers and leases of a shared store are kept in store time. A node counts it with its
// own boot clock from an anchor, and each batch writes the highest one as the mark. Store time
// never goes back, never counts more than what passed, and two nodes that may write are at most
// kApartMs apart. The server's wall clock is no part of it; it only says how long no node was
// there. The rules: docs/rules/fleet.md, F1 to F5b.
// How to use: a batch is made with own_count() and executed with batch_time(); when its answer has
// come, anchor_after() makes the anchor of the next one. Before that, is_good() says whether the
// node may count, and comparison_step() what it does if not.
// Ownership: plain values. Thread rule: pure functions. Units: ms; a name says of which clock.
// Errors: none; sums saturate.
#ifndef PAWL_STORE_POSTGRES_STORE_TIME_RULES_HPP
#define PAWL_STORE_POSTGRES_STORE_TIME_RULES_HPP

#include <cstdint>
#include <optional>

#include "pawl/optional_ms.hpp"

namespace pawl::fleet {

inline constexpr std::int64_t kDriftPpm = 500;  // no boot clock is further off
// How far the counts of two nodes that may write are apart: 20 minutes of two clocks that drift
// apart, and twice kFreshMarkMs.
inline constexpr std::int64_t kApartMs = 4'000;
inline constexpr std::int64_t kFreshMarkMs = 1'000;   // a mark that took longer to get is old
inline constexpr std::int64_t kCompareMs = 600'000;   // after so long an anchor is compared
inline constexpr std::int64_t kAnchorMs = 1'200'000;  // and after so long it is void
inline constexpr std::int64_t kGapToleranceMs = 5'000;

// The clock in the row of `meta`, which each batch reads under the lock and writes.
struct StoreMark {
  std::int64_t store_ms = 0;   // the highest store time that was committed
  std::int64_t segment = 0;    // 0: no batch yet
  std::int64_t server_ms = 0;  // the server's wall clock when the mark was written
  OptionalMs trusted_wall_ms;  // that of the node that wrote it, if it was trusted
};

// Where a node counts from. It is kept in memory only and ends with the process.
struct TimeAnchor {
  std::int64_t boot_ms = 0;
  std::int64_t store_ms = 0;
  std::int64_t segment = 0;
  std::int64_t compared_boot_ms = 0;  // when the node last compared its count with all others
};

// ---- counting: F1, F2, F4b, F4c ----

// Whether the node may count from this anchor.
[[nodiscard]] bool is_good(const TimeAnchor& anchor, std::int64_t segment, std::int64_t boot_ms);
// Store time by the node's own boot clock.
[[nodiscard]] std::int64_t own_count(const TimeAnchor& anchor, std::int64_t boot_ms);
// The time of a batch, which is the next mark. `count_ms`: the node's own count when it sent the
// batch; none for a node that begins a segment without one.
[[nodiscard]] std::int64_t batch_time(std::int64_t mark_ms, OptionalMs count_ms);

// ---- the anchor after a batch: F3 ----

// The part of a batch that its sender remembers until the answer comes.
struct TimedBatch {
  std::int64_t sent_boot_ms = 0;
  OptionalMs count_ms;  // its own count then
  std::int64_t compared_boot_ms = 0;
};
// `batch_ms`: the time that the batch got; `heard_boot_ms`: when its answer was here.
[[nodiscard]] TimeAnchor anchor_after(const TimedBatch& batch, std::int64_t batch_ms,
                                      std::int64_t segment, std::int64_t heard_boot_ms);

// ---- comparing: F4a, F4b, F4c, F4d ----

// A request to all connected nodes to commit a batch at once. Requests are numbered in the order in
// which they are made, beyond those of an earlier timeline (next_number()).
struct MarkRequest {
  std::int64_t number = 0;
  std::int64_t first_asked_boot_ms = 0;  // the first of those that were not answered in time
  std::int64_t asked_boot_ms = 0;
};
// The answer that a batch gives: the last request that its sender had seen when it counted the
// batch's time. Each batch writes it to its worker's row. A batch that begins a segment without an
// own count is no answer, since its sender learns only later what it counts from.
struct MarkAnswer {
  std::int64_t request = 0;
  std::int64_t segment = 0;  // of the batch
};
[[nodiscard]] std::optional<MarkAnswer> answer_of(const TimedBatch& batch,
                                                  std::int64_t seen_request, std::int64_t segment);
// Whether a worker has answered this one. That it has committed a batch after the request is not
// enough: the batch may have waited for the lock with an old count. `segment`: the present one.
[[nodiscard]] bool has_answered(const MarkRequest& request, const MarkAnswer& answer,
                                std::int64_t segment);

struct ComparisonView {
  std::optional<MarkRequest> request;
  bool others_connected = false;
  bool all_answered = false;  // each that is connected now
};
enum class ComparisonStep : std::uint8_t {
  kAsk,
  kWait,
  kTakeMark,      // with anchor_from_mark()
  kBeginSegment,  // in the next batch, with begin_segment()
};
// The next step of a node whose anchor is not good, or needs comparing. `renew_ms`: the interval at
// which workers renew their leases.
[[nodiscard]] ComparisonStep comparison_step(const ComparisonView& view, std::int64_t boot_ms,
                                             std::int64_t renew_ms);
[[nodiscard]] bool needs_comparing(const TimeAnchor& anchor, std::int64_t boot_ms);
// The anchor from the mark, when all have answered. `good`: the node's own, if that is good.
[[nodiscard]] TimeAnchor anchor_from_mark(const StoreMark& mark,
                                          const std::optional<TimeAnchor>& good,
                                          std::int64_t asked_boot_ms, std::int64_t boot_ms);

// ---- one boot: F4e ----

// Whether a node takes over the anchor of another one of its boot, and asks none. `takes_any`: the
// node has no good one of its own, and may count while it compares the one that it takes over. A
// Client may not, since others cannot compare with it.
[[nodiscard]] bool may_take_sibling(const TimeAnchor& sibling, std::int64_t segment,
                                    std::int64_t boot_ms, bool takes_any);
// The anchor from that of the other node. `good`: the node's own, if that is good.
[[nodiscard]] TimeAnchor anchor_from_sibling(const TimeAnchor& sibling,
                                             const std::optional<TimeAnchor>& good,
                                             std::int64_t boot_ms);

// ---- a new segment: F4b, F5a, F5b ----

struct WallClocks {
  std::int64_t server_ms = 0;
  OptionalMs trusted_wall_ms;  // the node's own, if it is trusted
};
struct NewSegment {
  std::int64_t store_ms = 0;  // where it begins
  // The time before it that was not counted. All timers of the store become due earlier by it,
  // since all are of older segments; store time and leases do not change (due_after_gap()).
  std::int64_t credit_ms = 0;
  bool refused = false;  // something passed, and the clocks do not agree: report it
};
// `count_ms`: the own count of a node whose anchor is good. Nothing went uncounted then.
[[nodiscard]] NewSegment begin_segment(const StoreMark& mark, OptionalMs count_ms,
                                       const WallClocks& now);
[[nodiscard]] std::int64_t due_after_gap(std::int64_t due_ms, const NewSegment& segment);

}  // namespace pawl::fleet

#endif  // PAWL_STORE_POSTGRES_STORE_TIME_RULES_HPP
