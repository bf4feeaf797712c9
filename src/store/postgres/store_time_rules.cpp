#include "store/postgres/store_time_rules.hpp"

#include "core/clock_rules.hpp"

namespace pawl::fleet {

namespace {

// A node answers when it renews at the latest, and a quarter of that is for its lateness.
constexpr std::int64_t kAnswerQuarters = 5;
constexpr std::int64_t kGapHundredths = 100;

std::int64_t later(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// A boot clock does not go back. If a damaged one does, its anchors are of no age and of no use.
bool is_younger(std::int64_t since_boot_ms, std::int64_t boot_ms, std::int64_t limit_ms) {
  return boot_ms >= since_boot_ms && subtract_saturating(boot_ms, since_boot_ms) < limit_ms;
}

}  // namespace

// ---- counting ----

bool is_good(const TimeAnchor& anchor, std::int64_t segment, std::int64_t boot_ms) {
  return anchor.segment == segment && is_younger(anchor.compared_boot_ms, boot_ms, kAnchorMs);
}

std::int64_t own_count(const TimeAnchor& anchor, std::int64_t boot_ms) {
  return add_saturating(anchor.store_ms, subtract_saturating(boot_ms, anchor.boot_ms));
}

std::int64_t batch_time(std::int64_t mark_ms, OptionalMs count_ms) {
  return later(mark_ms, count_ms.value_or(mark_ms));
}

// ---- the anchor after a batch ----

TimeAnchor anchor_after(const TimedBatch& batch, std::int64_t batch_ms, std::int64_t segment,
                        std::int64_t heard_boot_ms) {
  TimeAnchor anchor;
  anchor.boot_ms = heard_boot_ms;
  anchor.store_ms = batch_ms;
  anchor.segment = segment;
  anchor.compared_boot_ms = batch.compared_boot_ms;
  if (!batch.count_ms.has_value()) return anchor;
  // The own count went on while the batch was under way. Another node's mark had been reached at
  // some time before the answer came, but perhaps not yet when the batch was sent.
  const std::int64_t under_way_ms = subtract_saturating(heard_boot_ms, batch.sent_boot_ms);
  anchor.store_ms = later(batch_ms, add_saturating(batch.count_ms.value(), under_way_ms));
  return anchor;
}

// ---- comparing ----

bool needs_comparing(const TimeAnchor& anchor, std::int64_t boot_ms) {
  return !is_younger(anchor.compared_boot_ms, boot_ms, kCompareMs);
}

std::optional<MarkAnswer> answer_of(const TimedBatch& batch, std::int64_t seen_request,
                                    std::int64_t segment) {
  if (!batch.count_ms.has_value()) return {};
  return MarkAnswer{seen_request, segment};
}

bool has_answered(const MarkRequest& request, const MarkAnswer& answer, std::int64_t segment) {
  return answer.request >= request.number && answer.segment == segment;
}

ComparisonStep comparison_step(const ComparisonView& view, std::int64_t boot_ms,
                               std::int64_t renew_ms) {
  // No other node is here to disagree with, and one that comes back finds that its anchor is void.
  if (!view.others_connected) return ComparisonStep::kBeginSegment;
  if (!view.request.has_value()) return ComparisonStep::kAsk;
  const std::int64_t waited_ms = subtract_saturating(boot_ms, view.request->first_asked_boot_ms);
  const bool is_fresh = is_younger(view.request->asked_boot_ms, boot_ms, kFreshMarkMs);
  if (view.all_answered && is_fresh) return ComparisonStep::kTakeMark;
  if (waited_ms >= kAnswerQuarters * (renew_ms / 4)) return ComparisonStep::kBeginSegment;
  return is_fresh ? ComparisonStep::kWait : ComparisonStep::kAsk;
}

TimeAnchor anchor_from_mark(const StoreMark& mark, const std::optional<TimeAnchor>& good,
                            std::int64_t asked_boot_ms, std::int64_t boot_ms) {
  TimeAnchor anchor;
  anchor.boot_ms = boot_ms;
  anchor.store_ms =
      good.has_value() ? later(mark.store_ms, own_count(*good, boot_ms)) : mark.store_ms;
  anchor.segment = mark.segment;
  anchor.compared_boot_ms = asked_boot_ms;
  return anchor;
}

// ---- one boot ----

bool may_take_sibling(const TimeAnchor& sibling, std::int64_t segment, std::int64_t boot_ms,
                      bool takes_any) {
  return is_good(sibling, segment, boot_ms) && (takes_any || !needs_comparing(sibling, boot_ms));
}

TimeAnchor anchor_from_sibling(const TimeAnchor& sibling, const std::optional<TimeAnchor>& good,
                               std::int64_t boot_ms) {
  TimeAnchor anchor = sibling;
  // Both count by one clock, and the one that has heard more is ahead.
  if (good.has_value() && own_count(*good, boot_ms) > own_count(sibling, boot_ms)) {
    anchor.boot_ms = good->boot_ms;
    anchor.store_ms = good->store_ms;
  }
  return anchor;
}

// ---- a new segment ----

NewSegment begin_segment(const StoreMark& mark, OptionalMs count_ms, const WallClocks& now) {
  NewSegment begun;
  begun.store_ms = batch_time(mark.store_ms, count_ms);
  if (count_ms.has_value() || mark.segment == 0) return begun;
  const std::int64_t server_gap_ms = subtract_saturating(now.server_ms, mark.server_ms);
  begun.refused = server_gap_ms != 0;
  if (!now.trusted_wall_ms.has_value() || !mark.trusted_wall_ms.has_value()) return begun;
  const std::int64_t node_gap_ms =
      subtract_saturating(now.trusted_wall_ms.value(), mark.trusted_wall_ms.value());
  const bool server_shows_more = server_gap_ms > node_gap_ms;
  const std::int64_t lesser_ms = server_shows_more ? node_gap_ms : server_gap_ms;
  const std::int64_t greater_ms = server_shows_more ? server_gap_ms : node_gap_ms;
  const std::int64_t tolerance_ms =
      add_saturating(kGapToleranceMs, later(server_gap_ms, 0) / kGapHundredths);
  if (lesser_ms < 0 || lesser_ms > kMaxGapMs) return begun;
  if (subtract_saturating(greater_ms, lesser_ms) > tolerance_ms) return begun;
  begun.credit_ms = lesser_ms;
  begun.refused = false;
  return begun;
}

std::int64_t due_after_gap(std::int64_t due_ms, const NewSegment& segment) {
  return due_ms == kNever ? kNever : subtract_saturating(due_ms, segment.credit_ms);
}

}  // namespace pawl::fleet
