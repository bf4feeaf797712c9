#include "store/postgres/batch_rules.hpp"

namespace pawl::fleet {

namespace {

// The numbers of one timeline: a thousand a second last for 34 years.
constexpr int kNumberBits = 40;

}  // namespace

BatchVerdict check_batch(const BatchName& batch, const std::optional<BatchRow>& row) {
  if (!row.has_value() || row->committed < batch.acknowledged) return BatchVerdict::kCommitsLost;
  if (row->has_ended) return BatchVerdict::kEnded;
  return row->number < batch.number ? BatchVerdict::kGood : BatchVerdict::kRefused;
}

BatchOutcome outcome_of(std::int64_t number, const std::optional<BatchRow>& row,
                        bool lock_is_ours) {
  if (!row.has_value()) return BatchOutcome::kNotCommitted;
  if (row->committed >= number) return BatchOutcome::kCommitted;
  if (row->number >= number) return BatchOutcome::kNotCommitted;
  return lock_is_ours ? BatchOutcome::kRefuse : BatchOutcome::kUnknown;
}

std::int64_t next_number(std::int64_t stored_next, std::int64_t timeline) {
  const std::int64_t failovers = (timeline < kTimelineMax ? timeline : kTimelineMax) - 1;
  const std::int64_t first = failovers << kNumberBits;
  return stored_next > first ? stored_next : first;
}

}  // namespace pawl::fleet
