// InstanceHistory: the events of executions, as they are stored, and what an instance's next turn
// begins with: its row and its messages (turn_reader.cpp).
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_INSTANCE_HISTORY_HPP
#define PAWL_STORE_INSTANCE_HISTORY_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/event.hpp"
#include "core/arena.hpp"
#include "store/context.hpp"
#include "store/instance/arguments.hpp"
#include "store/instance/rows.hpp"
#include "store/instance/turn_commit.hpp"

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

class InstanceHistory : private Table {
 public:
  explicit InstanceHistory(StoreContext& context) : Table(context) {}

  // Gives events after `after`, in order. kCorrupt with a diagnostic that names the row. The views
  // given to the sink end with its call.
  Status read_history(InstanceKey key, ExecutionId execution, EventId after, EventSink& sink);
  // Messages go to `arena`, of which they leave half free if they can: the start, a cancel request
  // that was handed on, those that wait on, and as many others as the limits say. kNotFound: it is
  // gone. kResourceExhausted with more_messages: those that wait on do not fit, or not even one of
  // the others; the rest of *out is valid.
  Status fetch_orchestration_item(InstanceKey key, std::int64_t now, const MessageLimits& limits,
                                  Arena& arena, OrchestrationItem* out);

  // ---- for the other classes of the storage ----
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
  class MessageReader;
  Status read_item_row(InstanceKey key, Arena& arena, OrchestrationItem* out,
                       std::optional<RowTimer>* timer);
  Status read_last_stored_event(OrchestrationItem* out);
  Status read_first_message(MessageReader& reader, const OrchestrationItem& item);
  Status read_request(MessageReader& reader, const OrchestrationItem& item);
  Status read_waiting_messages(MessageReader& reader, const OrchestrationItem& item);
  Status read_ready_messages(MessageReader& reader, InstanceKey key, std::int64_t* first_due);
  Status read_due_messages(MessageReader& reader, const OrchestrationItem& item, std::int64_t now,
                           std::int64_t first_due, std::optional<RowTimer> timer);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_HISTORY_HPP
