// InstanceTable: rows of instances, as other tables ask for them.
//
// Purpose: who has an id, in which state it is, the one statement that writes the state, and what
// is left of one whose row is damaged.
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
  bool clean = false;  // nothing was ever counted against it, or it was forgiven
  bool terminating = false;
  bool has_news = false;  // a queue message or a raised event that no turn has read
};

// What an instance's row says next of its state. What is not set is as the comment says; counts are
// added.
struct InstanceWrite {
  InstanceState state = InstanceState::kRunning;
  OptionalMs parked_until;          // none: a turn may run at once
  OptionalMs ended_at;              // none: it has not ended
  std::optional<Incarnation> home;  // none: as it is
  OptionalMs ready_at;              // none: as it is
  bool leaves_queue = false;        // it has nothing to run, and ready_at is none
  bool keeps_why = false;           // why it stopped is as it is; else as here
  ErrorKind why = ErrorKind::kNone;
  std::string_view text;
  bool keeps_unregistered = false;     // else no worker is known to lack its name, or room for it
  std::optional<MailboxLimits> needs;  // it waits for a worker with so much room
  bool forgives = false;               // all counts become 0
  bool stamps = false;                 // people see that it changed
  std::int64_t revisions = 0;
  std::int64_t strikes = 0;
  std::string_view version;    // empty: as it is
  std::int64_t behaviour = 0;  // 0: as it is
  EventId last_event = 0;      // 0: as it is
};

class InstanceTable : private Table {
 public:
  explicit InstanceTable(StoreContext& context) : Table(context) {}

  Status find_running(std::string_view id, InstanceKey* key, Incarnation* home = nullptr);
  Status find_key(std::string_view id, InstanceKey* key);
  // has_news: behind the message `read_up_to`; none: not asked for.
  Status read_instance(InstanceKey key, InstanceRow* out, std::optional<MessageId> read_up_to = {});
  // The one statement that writes the state of a row, and when it ended.
  Status write_state(InstanceKey key, const InstanceWrite& write);
  Status stop_damaged(InstanceKey key, ErrorKind kind, std::string_view text);
  void log_damage(RowRef row, InstanceKey instance, std::string_view text);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_INSTANCE_TABLE_HPP
