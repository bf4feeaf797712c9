#include "store/instance/history_walk.hpp"

#include "store/column_fits.hpp"

namespace pawl::store {
bool HistoryWalk::next(Link* link) {
  if (at_ == count_) status_ = fill();
  if (at_ == count_) return false;
  *link = links_[at_++];
  return true;
}

bool HistoryWalk::next_run(HistoryRun* run, std::int64_t events_max) {
  Link link;
  if (!next(&link)) return false;
  run->low = run->high = link.row;
  while (at_ < count_ && links_[at_].row == run->low - 1 && --events_max > 0) {
    --run->low;
    ++at_;
  }
  return true;
}

HistoryPlace HistoryWalk::rest() const {
  if (at_ == count_) return next_;
  return {links_[at_].id, links_[at_].row};
}

// The last link that was read before a failure is still given.
Status HistoryWalk::fill() {
  at_ = count_ = 0;
  while (status_ == Status::kOk && broken_at_ == 0 && next_.event != 0 && count_ < kLinksMax)
    PAWL_TRY(follow());
  return status_;
}

constexpr auto kLinks = PAWL_QUERY(
    "SELECT row_number,instance,execution,id,prev,kind FROM history WHERE row_number<=?1 "
    "ORDER BY row_number DESC");

// Reads consecutive rows, up to one that names the row before it.
Status HistoryWalk::follow() {
  if (next_.row.has_value()) {
    Statement row = context_.connection.use(kLinks);
    row.bind(*next_.row);
    while (count_ < kLinksMax && row.row()) {
      bool whole = true;
      const auto number = [&](int column) { return row.integer(column, &whole); };
      Link link;
      link.row = number(PAWL_COLUMN(kLinks, row_number));
      const bool is_ours = link.row == *next_.row && link.row > 0 &&
                           number(PAWL_COLUMN(kLinks, instance)) == key_ &&
                           number(PAWL_COLUMN(kLinks, execution)) == execution_ &&
                           number(PAWL_COLUMN(kLinks, id)) == std::int64_t{next_.event} && whole;
      if (!is_ours) break;
      link.id = next_.event;
      // The kind is checked where the event is read.
      static_cast<void>(fits(number(PAWL_COLUMN(kLinks, kind)), &link.kind));
      links_[count_++] = link;
      const bool is_linked = !row.is_null(PAWL_COLUMN(kLinks, prev));
      const HistoryRow before =
          is_linked ? row.integer(PAWL_COLUMN(kLinks, prev), &whole) : link.row - 1;
      next_ = {link.id - 1, before};
      if (next_.event == 0 || is_linked) return Status::kOk;
    }
    PAWL_TRY(context_.fail(row.status(), "history"));
    if (count_ == kLinksMax) return Status::kOk;
  }
  broken_at_ = next_.event;
  return at_break_ == AtBreak::kSearch ? search() : Status::kOk;
}

constexpr auto kSearch = PAWL_QUERY(
    "SELECT id,row_number FROM history WHERE row_number>?1 AND row_number<=?2 AND instance=?3 AND "
    "execution=?4 AND id>?5 AND id<=?6 ORDER BY id DESC LIMIT 1");

Status HistoryWalk::search() {
  HistoryPlace found;
  HistoryRow after = 0;
  while (after != kHistoryRowMax && found.event < next_.event) {
    std::optional<HistoryRow> end;
    PAWL_TRY(end_of_step(context_, after, &end));
    Statement row = context_.connection.use(kSearch);
    row.bind(after).bind(end.value_or(kHistoryRowMax)).bind(key_).bind(execution_);
    row.bind(found.event).bind(next_.event);
    if (row.row() && fits(row.integer(0), &found.event)) found.row = row.integer(1);
    PAWL_TRY(context_.fail(row.status(), "search history"));
    after = end.value_or(kHistoryRowMax);
  }
  next_ = found;
  broken_at_ = 0;
  return Status::kOk;
}

constexpr auto kEndOfStep = PAWL_QUERY(
    "SELECT row_number FROM history WHERE row_number>?1 ORDER BY row_number LIMIT 1 OFFSET ?2");

Status end_of_step(StoreContext& context, HistoryRow after, std::optional<HistoryRow>* out) {
  out->reset();
  Statement row = context.connection.use(kEndOfStep);
  row.bind(after).bind(std::int64_t{kHistoryStepRows - 1});
  if (row.row()) *out = row.integer(0);
  return context.fail(row.status(), "history");
}

}  // namespace pawl::store
