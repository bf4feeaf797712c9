// InstanceRows: the rows of instances, of their messages, and of the values that they keep
// (values.cpp).
//
// Purpose: finds an instance by its id, reads its state, has the one statement that writes the
// state, and stops an instance whose row is damaged. It is the one way to give an instance a
// message, so that it becomes ready with it. The row of a value names the execution that wrote it.
// Therefore the values that an execution found at its start are still there while it runs, and when
// its history is read again.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_INSTANCE_ROWS_HPP
#define PAWL_STORE_INSTANCE_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/event.hpp"
#include "pawl/management.hpp"
#include "store/context.hpp"
#include "store/instance/arguments.hpp"
#include "store/instance/history_walk.hpp"
#include "store/instance/turn_commit.hpp"
#include "store/sql/damage.hpp"

namespace pawl::store {

struct Due {
  TimeBase base = TimeBase::kPawl;
  std::int64_t due = 0;
};

#define PAWL_TIMER_COLUMNS "i.timer_id,i.timer_ref,i.timer_base,i.timer_due"
// The places of these columns.
struct TimerColumns {
  int id;
  int ref;
  int base;
  int due;
};
// False: they hold no timer that Pawl wrote.
bool read_timer(const sql::Statement& row, const TimerColumns& at, std::optional<RowTimer>* out);

// A read of the row of an instance: what is known before it, and what is asked.
struct InstanceLook {
  bool is_root = false;                 // it has no parent
  std::optional<MessageId> read_up_to;  // has_news: about messages behind it; none: not asked for
};

struct InstanceRow {
  InstanceState state = InstanceState::kRunning;
  ExecutionId execution = 0;
  std::int64_t revision = 0;
  bool parked = false;
  HistoryPlace last;   // its last event
  bool ready = false;  // or marked as unregistered
  Incarnation home = 0;
  bool clean = false;  // nothing was ever counted against it, or the counts were reset
  bool terminating = false;
  bool has_keys = false;  // a message with a key was sent to it, or a call
  bool has_news = false;  // a queue message or a raised event waits that no turn has read
  std::optional<RowTimer> timer;
};

// The state that is written to an instance's row. For a field that is not set, its comment says
// what happens; counts are added.
struct InstanceWrite {
  InstanceState state = InstanceState::kRunning;
  OptionalMs parked_until;          // none: a turn may run at once
  OptionalMs ended_at;              // none: it has not ended
  std::optional<Incarnation> home;  // none: unchanged
  OptionalMs ready_at;              // none: unchanged
  bool leaves_queue = false;        // it has nothing to run, and ready_at becomes none
  bool keeps_why = false;  // the reason why it stopped stays; else `why` and `text` replace it
  ErrorKind why = ErrorKind::kNone;
  std::string_view text;
  bool keeps_unregistered = false;  // false: the mark as unregistered goes, unless `needs` sets it
  std::optional<MailboxLimits> needs;  // it waits for a worker with this much room
  bool forgives = false;               // all counts become 0
  bool stamps = false;                 // updated_stamp shows people that it changed
  bool of_turn = false;                // a turn of this instance writes it
  std::int64_t revisions = 0;
  std::int64_t strikes = 0;
  std::string_view version;    // empty: unchanged
  std::int64_t behaviour = 0;  // 0: unchanged
  HistoryPlace last;           // its last event; none: unchanged
};

// The begin of an execution that follows another one, which has ended.
struct NextBegin {
  Message start;             // with the number of the execution
  bool anew = false;         // from its start, so with `version` and the custom status as it is now
  std::string_view version;  // empty: the default version of the worker that begins it
  std::string_view name;     // with `anew`, also the next; empty: unchanged
  std::string_view trace;    // with a name
  OptionalMs parked_until;
};

// How long an instance may take from now on, before it is asked to stop.
struct TimeLimit {
  OptionalMs limit_ms;            // 0: an operator removed it; none: nothing gave one
  std::int64_t after_ms = 0;      // a delayed start, which comes before it
  bool is_of_definition = false;  // holds only where nothing gave or removed one
};

// The state of a stored message. These numbers are stored.
enum class Waiting : std::uint8_t {
  kNo = 0,
  kYes = 1,      // a turn saw it, and it waits on; it no longer makes its instance ready
  kDamaged = 2,  // no turn gets it
  kUnread = 3,   // its instance ended without it (R7.8)
};

// The number of messages that the instance of a row i left unread at its end. Parts of a
// sql::Query.
#define PAWL_UNREAD                                                                         \
  "CASE WHEN i.state IN (", sql::number<InstanceState::kCompleted, InstanceState::kFailed>, \
      ") THEN (SELECT count(*) FROM "                                                       \
      "orchestrator_queue AS u\fINDEXED BY oq_instance\rWHERE u.instance=i.key AND "        \
      "u.waiting=",                                                                         \
      sql::number<Waiting::kUnread>, ") ELSE 0 END"

class InstanceRows : private Table {
 public:
  explicit InstanceRows(StoreContext& context) : Table(context) {}

  // A read; callable anywhere. *found is false if there is no value. kNotFound: the instance.
  // kResourceExhausted: the value is longer than `capacity`.
  Status get_kv_value(std::string_view id, std::string_view key, KvEntry* out, bool* found,
                      char* buffer, std::size_t capacity);
  // Lists values with keys behind page->after, in order of their keys. kNotFound: the instance.
  Status get_all_kv_values(std::string_view id, KvPage* page, KvVisitor& visitor);
  // Gives what the executions before this one left: the custom status, then values in order of
  // their keys. Views and kCorrupt as above.
  Status load_state(InstanceKey key, ExecutionId execution, StateSink& sink);

  // ---- for the other classes of the storage ----
  // Says that find_running() follows.
  void read_running_ahead(std::string_view id);
  Status find_running(std::string_view id, InstanceKey* key, Incarnation* home = nullptr);
  Status find_key(std::string_view id, InstanceKey* key);
  Status read_instance(InstanceKey key, InstanceRow* out, const InstanceLook& how = {});
  // Says that it follows, for an instance without a parent.
  void read_root_ahead(InstanceKey key);
  // The one statement that writes the state of a row, and when it ended.
  Status write_state(InstanceKey key, const InstanceWrite& write);
  Status stop_damaged(InstanceKey key, ErrorKind kind, std::string_view text);
  void log_damage(RowRef row, InstanceKey instance, std::string_view text);
  // Nothing is due any more after the end that write_state() writes; the limit itself stays for a
  // restart.
  Status write_time_limit(InstanceKey key, const TimeLimit& limit);
  // None: the place is free.
  Status write_timer(InstanceKey key, const std::optional<RowTimer>& timer);
  // Stores a message of a running instance and makes it ready; kNotFound or kStale (ended)
  // otherwise.
  Status insert_message(InstanceKey instance, const Message& message);
  // Resets what was counted against the instance, and gives its unread messages to the execution.
  Status begin_execution(InstanceKey instance, const NextBegin& next);
  // `id`, which may be null, gets the id of the row.
  Status store_message(InstanceKey instance, const Message& message, const Due* timer,
                       Waiting waiting = Waiting::kNo, MessageId* id = nullptr);
  Status write_value(const TurnCommit& turn, const Event& write);
  Status answer_read(const TurnCommit& turn, EventId read);
  // For an execution that is over: keeps only the last value of each key.
  Status settle_values(InstanceKey instance, ExecutionId execution);
  // Leaves the values as if this execution had written none.
  Status drop_values(InstanceKey instance, ExecutionId execution);

 private:
  Status broken_value(InstanceKey instance, std::string_view key);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_ROWS_HPP
