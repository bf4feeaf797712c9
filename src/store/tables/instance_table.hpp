// InstanceTable: the rows of instances, as other tables ask for them.
//
// Purpose: finds an instance by its id, reads its state, has the one statement that writes the
// state, and stops an instance whose row is damaged.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_INSTANCE_TABLE_HPP
#define PAWL_STORE_TABLES_INSTANCE_TABLE_HPP

#include <cstdint>
#include <optional>
#include <string_view>

#include "context.hpp"
#include "damage.hpp"
#include "instance_store.hpp"

namespace pawl::store {

struct InstanceRow {
  InstanceState state = InstanceState::kRunning;
  ExecutionId execution = 0;
  std::int64_t revision = 0;
  bool parked = false;
  std::int64_t last_event = 0;
  bool ready = false;  // or marked as unregistered
  Incarnation home = 0;
  bool clean = false;  // nothing was ever counted against it, or the counts were reset
  bool terminating = false;
  bool has_news = false;  // a queue message or a raised event waits that no turn has read
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
  std::int64_t revisions = 0;
  std::int64_t strikes = 0;
  std::string_view version;    // empty: unchanged
  std::int64_t behaviour = 0;  // 0: unchanged
  EventId last_event = 0;      // 0: unchanged
};

class InstanceTable : private Table {
 public:
  explicit InstanceTable(StoreContext& context) : Table(context) {}

  Status find_running(std::string_view id, InstanceKey* key, Incarnation* home = nullptr);
  Status find_key(std::string_view id, InstanceKey* key);
  // has_news: about messages behind `read_up_to`; none: not asked for.
  Status read_instance(InstanceKey key, InstanceRow* out, std::optional<MessageId> read_up_to = {});
  // The one statement that writes the state of a row, and when it ended.
  Status write_state(InstanceKey key, const InstanceWrite& write);
  Status stop_damaged(InstanceKey key, ErrorKind kind, std::string_view text);
  void log_damage(RowRef row, InstanceKey instance, std::string_view text);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_INSTANCE_TABLE_HPP
