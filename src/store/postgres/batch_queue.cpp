#include "store/postgres/batch_queue.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/check.hpp"

namespace pawl::postgres {
namespace {

constexpr std::int64_t kFirstRows = 32;  // of the first page of a list

#ifndef NDEBUG
bool is_equal(const PGresult* one, const PGresult* other) {
  bool equal = PQntuples(one) == PQntuples(other) && PQnfields(one) == PQnfields(other);
  for (int row = 0; equal && row < PQntuples(one); ++row)
    for (int column = 0; equal && column < PQnfields(one); ++column) {
      const int size = PQgetlength(one, row, column);
      equal = PQgetisnull(one, row, column) == PQgetisnull(other, row, column) &&
              size == PQgetlength(other, row, column) &&
              std::memcmp(PQgetvalue(one, row, column), PQgetvalue(other, row, column),
                          static_cast<std::size_t>(size)) == 0;
    }
  return equal;
}
#endif

}  // namespace

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

Status BatchQueue::run(StatementUse& use, const Suspects& suspects) {
  const KnownStatement& known = *use.known;
  // A parameter has one type wherever it is bound.
  PAWL_CHECK("postgres-11", use.bound == known.parameters &&
                                std::equal(use.types, use.types + use.bound, known.types));
  if (is_in_batch_ && !known.has_rows) return add(use, suspects);
  ReadsAhead::Read* const read =
      link_.in_transaction() && use.rows_before == 0 ? ahead_.find(use) : nullptr;
  if (read != nullptr) return take_ahead(use, *read);
  return known.is_paged ? run_page(use, kFirstRows) : ask(use);
}

// Debug builds ask for it, too, and compare.
Status BatchQueue::take_ahead(StatementUse& use, ReadsAhead::Read& read) {
  if (read.answer == nullptr) PAWL_TRY(settle());
  PGresult* const answer = ReadsAhead::take(read);
#ifndef NDEBUG
  const std::uint64_t trips = link_.trips();
  const Status status = use.known->is_paged ? run_page(use, kAheadRows) : ask(use);
  if (status != Status::kOk) {
    PQclear(answer);
    return status;
  }
  link_.forget_trips_since(trips);
  PAWL_CHECK("postgres-17", is_equal(answer, use.result));
  PQclear(use.result);
#endif
  use.result = answer;
  use.page_rows = kAheadRows;
  use.writes_before = added_;
  return Status::kOk;
}

// Most that read a list want few of its rows, so the first page is a small one. Between two pages
// nothing may change their rows: in a view nothing does, and in a batch the tables write when they
// have read. Outside of both, others may commit at any time, so there all rows are one page.
Status BatchQueue::run_page(StatementUse& use, std::int64_t first_rows) {
  constexpr std::int64_t kRowsMax = 2048;
  if (use.rows_before == 0) {
    use.writes_before = added_;
    use.page_rows = link_.in_transaction() ? first_rows : std::numeric_limits<std::int64_t>::max();
  } else {
    PAWL_CHECK("postgres-16", use.writes_before == added_);
    use.page_rows = std::min(4 * use.page_rows, kRowsMax);
  }
  const int own = use.bound;
  use.bind_number(use.page_rows);
  use.bind_number(use.rows_before);
  const Status status = ask(use);
  use.bound = own;
  return status;
}

// Runs a statement that has rows, behind those that wait.
Status BatchQueue::ask(StatementUse& use) {
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
