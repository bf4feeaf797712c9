#include "store/postgres/batch_queue.hpp"

namespace pawl::postgres {

void BatchQueue::begin(bool is_alone) {
  is_in_batch_ = true;
  is_alone_ = is_alone;
  has_inserted_ = false;
  changes_at_begin_ = link_.total_changes();
}

void BatchQueue::end() {
  is_in_batch_ = has_inserted_ = false;
  suspects_count_ = 0;
}

Status BatchQueue::add(const StatementUse& use, const Suspects& suspects) {
  if (link_.queued() == kQueuedMax) PAWL_TRY(settle());
  suspects_count_ = link_.queued() + 1;
  suspects_[link_.queued()] = suspects;
  has_inserted_ = has_inserted_ || use.known->inserts_always;
  ++added_;
  ahead_.note_write(use);
  return link_.queue(name_of(*use.known).text, use.bound, use.values, use.sizes);
}

Status BatchQueue::read_ahead(const StatementUse& use) {
  if (link_.queued() == kQueuedMax) PAWL_TRY(settle());
  if (is_in_batch_) {
    suspects_count_ = link_.queued() + 1;
    suspects_[link_.queued()] = Suspects();
  }
  ahead_.add(use);
  return Status::kOk;
}

Status BatchQueue::run(StatementUse& use) {
  if (link_.queued() == kQueuedMax) PAWL_TRY(settle());
  if (link_.queued() == 0) suspects_count_ = 0;
  has_inserted_ = false;
  ahead_.note_write(use);
  return link_.run(name_of(*use.known).text, use.bound, use.values, use.sizes, &use.result);
}

Status BatchQueue::settle() {
  has_inserted_ = false;
  return link_.settle();
}

std::int64_t BatchQueue::total_changes() {
  if (has_inserted_) return link_.total_changes() + link_.queued();
  static_cast<void>(settle());
  return link_.total_changes();
}

const Suspects* BatchQueue::failed_suspects() const {
  const std::optional<int> at = link_.failed_at();
  return at.has_value() && *at < suspects_count_ ? &suspects_[*at] : nullptr;
}

}  // namespace pawl::postgres
