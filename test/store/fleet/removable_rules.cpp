#include "removable_rules.hpp"

#include "store/work/result_rules.hpp"

namespace pawl::fleet_test {

using fleet::BatchOutcome;
using fleet::BatchVerdict;
using fleet::ComparisonStep;
using fleet::TimeAnchor;

// ---- store time ----

bool RemovableRules::same_segment(std::int64_t a, std::int64_t b) const {
  return a == b || !has(Rule::kF4b);
}

bool RemovableRules::is_good(const TimeAnchor& anchor, std::int64_t segment, Ms boot_ms) const {
  TimeAnchor shown = anchor;
  if (!has(Rule::kF4b)) shown.segment = segment;
  if (!has(Rule::kF4c)) shown.compared_boot_ms = boot_ms;
  return fleet::is_good(shown, segment, boot_ms);
}

bool RemovableRules::needs_comparing(const TimeAnchor& anchor, Ms boot_ms) const {
  return has(Rule::kF4c) && fleet::needs_comparing(anchor, boot_ms);
}

ComparisonStep RemovableRules::comparison_step(const fleet::ComparisonView& view,
                                               Ms boot_ms) const {
  // The mark that is there is as good as any.
  if (!has(Rule::kF4a)) return ComparisonStep::kTakeMark;
  return fleet::comparison_step(view, boot_ms, kRenewMs);
}

std::optional<fleet::MarkAnswer> RemovableRules::answer_of(const fleet::TimedBatch& batch,
                                                           const fleet::MarkAnswer& seen,
                                                           std::int64_t last_request) const {
  if (!has(Rule::kF4d)) return fleet::MarkAnswer{last_request, seen.segment};
  return fleet::answer_of(batch, seen.request, seen.segment);
}

bool RemovableRules::is_sibling(int boot, int other_boot) const {
  return boot == other_boot || !has(Rule::kF4eBoot);
}

bool RemovableRules::may_take_sibling(const TimeAnchor& sibling, std::int64_t segment, Ms boot_ms,
                                      bool takes_any) const {
  TimeAnchor shown = sibling;
  if (!has(Rule::kF4eAge) || !has(Rule::kF4c)) shown.compared_boot_ms = boot_ms;
  return fleet::may_take_sibling(shown, segment, boot_ms, takes_any);
}

Ms RemovableRules::own_count(const TimeAnchor& anchor, Ms boot_ms, Ms server_ms) const {
  return has(Rule::kF1) ? fleet::own_count(anchor, boot_ms) : server_ms;
}

Ms RemovableRules::batch_time(Ms mark_ms, OptionalMs count_ms) const {
  if (!has(Rule::kF2) || !has(Rule::kF1)) return count_ms.value_or(mark_ms);
  return fleet::batch_time(mark_ms, count_ms);
}

TimeAnchor RemovableRules::anchor_after(const fleet::TimedBatch& batch, Ms batch_ms,
                                        std::int64_t segment, Ms heard_boot_ms) const {
  if (has(Rule::kF3)) return fleet::anchor_after(batch, batch_ms, segment, heard_boot_ms);
  return {batch.sent_boot_ms, batch_ms, segment, batch.compared_boot_ms};
}

fleet::NewSegment RemovableRules::begin_segment(const fleet::StoreMark& mark, OptionalMs count_ms,
                                                const fleet::WallClocks& now) const {
  fleet::NewSegment begun = fleet::begin_segment(mark, count_ms, now);
  if (!has(Rule::kF5b) && !count_ms.has_value() && mark.segment != 0)
    begun.credit_ms = now.server_ms > mark.server_ms ? now.server_ms - mark.server_ms : 0;
  if (!has(Rule::kF5a)) {
    begun.store_ms += begun.credit_ms;
    begun.credit_ms = 0;
  }
  return begun;
}

std::int64_t RemovableRules::segment_after(std::int64_t segment, std::int64_t timeline) const {
  return next_number(segment + 1, timeline);
}

// ---- leases ----

Ms RemovableRules::own_lease_end(Ms sent_boot_ms, Ms heard_boot_ms) const {
  if (!has(Rule::kF6)) return heard_boot_ms + kLeaseMs;
  return fleet::own_lease_end(sent_boot_ms, {kLeaseMs, kLatenessMs});
}

bool RemovableRules::may_run_exclusive(OptionalMs end_boot_ms, Ms boot_ms) const {
  return !has(Rule::kF14) || fleet::may_run_exclusive(end_boot_ms, boot_ms);
}

bool RemovableRules::keeps_exclusive(OptionalMs end_boot_ms, Ms sent_boot_ms) const {
  return !has(Rule::kF15b) || fleet::keeps_exclusive(end_boot_ms, sent_boot_ms);
}

bool RemovableRules::may_become_owner(bool exclusive, std::optional<fleet::OwnerView> owner,
                                      fleet::TakeoverTime now) const {
  if (!has(Rule::kF15a)) now.moves_held_until_ms.clear();
  if (owner.has_value()) {
    // A lease is no reason to wait, if the registration is not known to live.
    if (!has(Rule::kF7) && owner->is_dead) owner->locked_until_ms = now.store_ms;
    // A renewal that did not come at its time is as good as a lease that is over.
    if (!has(Rule::kF7)) owner->locked_until_ms -= kLeaseMs - kRenewMs - kLatenessMs;
    if (!has(Rule::kF8) && fleet::may_become_owner(false, owner, now)) return true;
  }
  return fleet::may_become_owner(exclusive, owner, now);
}

bool RemovableRules::may_take_node_id(const fleet::SameNode& other, bool is_same_boot,
                                      Ms boot_ms) const {
  if (!has(Rule::kF13) && !is_same_boot) return true;
  return fleet::may_take_node_id(other, boot_ms);
}

// ---- batches and the server ----

bool RemovableRules::accepts(std::optional<LockToken> token, Epoch token_epoch, Epoch epoch,
                             LockToken done, Epoch done_epoch) const {
  if (!has(Rule::kF9)) return true;
  rules::LastHandOver row;
  row.state = token.has_value() ? rules::WorkState::kLocked : rules::WorkState::kReady;
  row.token = token;
  row.epoch = token_epoch;
  row.session = 1;
  row.session_epoch = epoch;
  return rules::accepts(row, {done, done_epoch, 1});
}

BatchVerdict RemovableRules::check_batch(const fleet::BatchName& batch,
                                         const std::optional<fleet::BatchRow>& row) const {
  fleet::BatchName shown = batch;
  if (row.has_value() && !has(Rule::kF12)) shown.acknowledged = 0;
  // Batches without names are in any order.
  if (row.has_value() && (!has(Rule::kF12) || !has(Rule::kF10a))) shown.number = row->number + 1;
  const BatchVerdict verdict = fleet::check_batch(shown, row);
  if (!has(Rule::kF12) && verdict == BatchVerdict::kCommitsLost) return BatchVerdict::kEnded;
  return verdict;
}

BatchOutcome RemovableRules::outcome_of(std::int64_t number,
                                        const std::optional<fleet::BatchRow>& row,
                                        bool lock_is_ours) const {
  if (!has(Rule::kF10a)) return BatchOutcome::kNotCommitted;
  const BatchOutcome outcome = fleet::outcome_of(number, row, lock_is_ours);
  if (outcome == BatchOutcome::kUnknown && !has(Rule::kF10b)) return BatchOutcome::kNotCommitted;
  if (outcome == BatchOutcome::kRefuse && !has(Rule::kF10c)) return BatchOutcome::kNotCommitted;
  return outcome;
}

std::int64_t RemovableRules::next_number(std::int64_t stored_next, std::int64_t timeline) const {
  return has(Rule::kF11) ? fleet::next_number(stored_next, timeline) : stored_next;
}

bool RemovableRules::must_end_holder(const fleet::LockWait& wait, Ms boot_ms) const {
  return has(Rule::kF16) && fleet::must_end_holder(wait, boot_ms);
}

bool RemovableRules::counts(const fleet::ServerFacts& server,
                            std::optional<std::int64_t> seen_timeline) const {
  if (!has(Rule::kF17)) return true;
  return fleet::look_at_server(server, seen_timeline, kSchemaVersion) ==
         fleet::ServerVerdict::kUsable;
}

}  // namespace pawl::fleet_test
