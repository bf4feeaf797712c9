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
#include "store/instance/history_walk.hpp"
#include "store/instance/rows.hpp"
#include "store/instance/turn_commit.hpp"

namespace pawl::store {

// The new events of a turn: their kinds, and where they are stored.
class StoredEvents {
 public:
  void add(EventKind kind) { bits_ |= bit(kind); }
  [[nodiscard]] bool has(EventKind kind) const { return (bits_ & bit(kind)) != 0; }

  std::optional<HistoryRow> last_row;  // none: there are no new events

 private:
  static std::uint64_t bit(EventKind kind) {
    return std::uint64_t{1} << static_cast<unsigned>(kind);
  }
  static_assert(static_cast<unsigned>(EventKind::kEnded) < 64, "a bit each");

  std::uint64_t bits_ = 0;
};

class InstanceHistory : private Table {
 public:
  using AtBreak = HistoryWalk::AtBreak;

  explicit InstanceHistory(StoreContext& context) : Table(context) {}

  // Gives events after `after`, in order. kCorrupt with a diagnostic that names the row. The views
  // given to the sink end with its call.
  Status read_history(InstanceKey key, ExecutionId execution, EventId after, EventSink& sink,
                      AtBreak at_break = AtBreak::kStop);
  // Messages go to `arena`, of which they leave half free if they can: the start, a cancel request
  // that was handed on, those that wait on, and as many others as the limits say. kNotFound: it is
  // gone. kResourceExhausted with more_messages: those that wait on do not fit, or not even one of
  // the others; the rest of *out is valid.
  Status fetch_orchestration_item(InstanceKey key, std::int64_t now, const MessageLimits& limits,
                                  Arena& arena, OrchestrationItem* out);
  // The row of the instance was inserted just now, and it has no message.
  void know_new(KnownInstance* known) const {
    known->changes = connection_.instance_changes();
    known->is_alone = known->is_whole = true;
  }
  // Says that fetch_orchestration_item() follows, in this view.
  void read_item_ahead(InstanceKey key);
  [[nodiscard]] bool still_knows(const KnownInstance& known) const {
    return context_.still_knows(known);
  }
  // Completes an item of which the caller has set the rest, as fetch_orchestration_item() would,
  // but reads nothing. False: there is no memory for its message. Requires still_knows().
  bool fetch_known_item(const KnownInstance& known, std::int64_t now, Arena& arena,
                        OrchestrationItem* out);

  // ---- for the other classes of the storage ----
  // `before`: the row of the execution's last event so far.
  Status insert_events(const TurnCommit& turn, std::optional<HistoryRow> before, StoredEvents* out);
  Status find_last(InstanceKey key, ExecutionId execution, HistoryPlace* out);
  // The first event of this kind; 0: there is none, or a broken link hides it.
  Status find_first(InstanceKey key, ExecutionId execution, EventKind kind, EventId* out);
  // Adds the number of the events, and the bytes of what they hold.
  Status count_events(InstanceKey key, ExecutionId execution, std::int64_t* events,
                      std::int64_t* bytes);
  // Requires: an execution that has ended. The views of the event end with the call of the sink.
  Status read_end(InstanceKey key, ExecutionId execution, EventSink& sink);
  Status read_status_of_end(InstanceStatus* out, char* buffer, std::size_t capacity);
  Status copy_output(std::string_view output, InstanceStatus* out, char* buffer,
                     std::size_t capacity);

 private:
  Status broken_event(InstanceKey key, ExecutionId execution, std::int64_t event, const char* what);
  Status read_event(const Statement& row, InstanceKey key, ExecutionId execution, Event* event);
  Status insert_event(const TurnCommit& turn, std::optional<HistoryRow> at,
                      std::optional<HistoryRow> prev, const Event& event);
  class Reading;
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
