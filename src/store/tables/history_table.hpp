// HistoryTable: the events of executions, as they are stored.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_HISTORY_TABLE_HPP
#define PAWL_STORE_TABLES_HISTORY_TABLE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "context.hpp"
#include "event.hpp"
#include "instance_store.hpp"
#include "turn_commit.hpp"

namespace pawl::store {

// The kinds of event among the new events of a turn.
class EventKinds {
 public:
  void add(EventKind kind) { bits_ |= bit(kind); }
  [[nodiscard]] bool has(EventKind kind) const { return (bits_ & bit(kind)) != 0; }

 private:
  static std::uint64_t bit(EventKind kind) {
    return std::uint64_t{1} << static_cast<unsigned>(kind);
  }
  static_assert(static_cast<unsigned>(EventKind::kEnded) < 64, "a bit each");

  std::uint64_t bits_ = 0;
};

class HistoryTable : private Table {
 public:
  explicit HistoryTable(StoreContext& context) : Table(context) {}

  // ---- calls of the contract ----
  Status load_history(InstanceKey key, ExecutionId execution, EventId after, EventSink& sink);

  // ---- for the other tables ----
  Status insert_events(const TurnCommit& turn, EventKinds* kinds);
  // Requires: an execution that has ended. The views of the event end with the call of the sink.
  Status read_end(InstanceKey key, ExecutionId execution, EventSink& sink);
  Status read_status_of_end(InstanceStatus* out, char* buffer, std::size_t capacity);
  Status copy_output(std::string_view output, InstanceStatus* out, char* buffer,
                     std::size_t capacity);

 private:
  Status broken_event(InstanceKey key, ExecutionId execution, std::int64_t event, const char* what);
  Status read_event(const Statement& row, InstanceKey key, ExecutionId execution, Event* event);
  Status last_event_of(InstanceKey key, ExecutionId execution, std::int64_t* out);
  Status insert_event(const TurnCommit& turn, const Event& event);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_HISTORY_TABLE_HPP
