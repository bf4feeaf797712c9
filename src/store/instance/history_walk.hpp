// HistoryWalk: goes along the links of the events of one execution, from the newest to the oldest.
//
// Purpose: the rows of history stay in the order in which they came, and have no index: an index
// costs as much log as the rows themselves. The events of a turn are in consecutive rows, and the
// first of them names the row of the event before it. Each link is checked against the row that it
// leads to, so a walk ends, and never shows an event of another execution. Rejected: one recursive
// query, which keeps the numbers of all rows in the engine's memory.
// Ownership: plain values, and no statement between two calls. Thread rule: that of the connection.
#ifndef PAWL_STORE_INSTANCE_HISTORY_WALK_HPP
#define PAWL_STORE_INSTANCE_HISTORY_WALK_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "codec/event.hpp"
#include "core/ids.hpp"
#include "store/context.hpp"

namespace pawl::store {

// An event, and its row, if that is known.
struct HistoryPlace {
  EventId event = 0;  // 0: there is none
  std::optional<HistoryRow> row;
};

// Consecutive rows of one execution.
struct HistoryRun {
  HistoryRow low = 0;
  HistoryRow high = 0;
};

class HistoryWalk {
 public:
  // The choice where a link leads to no event of the execution.
  enum class AtBreak : std::uint8_t {
    kStop,
    kSearch,  // look through the table for the newest event before it; events may be missing then
  };
  struct Link {
    HistoryRow row = 0;
    EventId id = 0;
    EventKind kind = EventKind::kStarted;
  };

  HistoryWalk(StoreContext& context, InstanceKey key, ExecutionId execution,
              const HistoryPlace& last, AtBreak at_break = AtBreak::kStop)
      : context_(context), key_(key), execution_(execution), next_(last), at_break_(at_break) {}

  // Goes to the next older event. False: there is none, a link is broken, or status() is not kOk.
  bool next(Link* link);
  // Goes over some events in consecutive rows, one at least.
  bool next_run(HistoryRun* run, std::int64_t events_max);
  [[nodiscard]] Status status() const { return status_; }
  // The event whose row was not found; 0: no link is broken.
  [[nodiscard]] EventId broken_at() const { return broken_at_; }
  // The first event that was not visited.
  [[nodiscard]] HistoryPlace rest() const;

 private:
  static constexpr std::size_t kLinksMax = 32;  // read at once

  Status fill();
  Status follow();
  Status search();

  StoreContext& context_;
  InstanceKey key_;
  ExecutionId execution_;
  HistoryPlace next_;  // behind what was read
  AtBreak at_break_;
  Status status_ = Status::kOk;
  EventId broken_at_ = 0;
  std::size_t at_ = 0;
  std::size_t count_ = 0;
  Link links_[kLinksMax];
};

// A search through the table takes steps of so many rows.
inline constexpr std::size_t kHistoryStepRows = 1024;
inline constexpr HistoryRow kHistoryRowMax = std::numeric_limits<HistoryRow>::max();
// Gives the last row of the step that begins behind `after`. None: it reaches the table's end.
Status end_of_step(StoreContext& context, HistoryRow after, std::optional<HistoryRow>* out);

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_HISTORY_WALK_HPP
