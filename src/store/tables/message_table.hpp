// MessageTable: messages of instances, and the timers that wait among them.
//
// Purpose: the one way to give an instance a message, so that it becomes ready with it.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_MESSAGE_TABLE_HPP
#define PAWL_STORE_TABLES_MESSAGE_TABLE_HPP

#include <cstdint>

#include "context.hpp"
#include "event.hpp"

namespace pawl::store {

struct Due {
  TimeBase base = TimeBase::kPawl;
  std::int64_t due = 0;
};

// The state of a stored message. These numbers are stored.
enum class Waiting : std::uint8_t {
  kNo = 0,
  kYes = 1,      // a turn saw it, and it waits on; it no longer makes its instance ready
  kDamaged = 2,  // no turn gets it
  kUnread = 3,   // its instance ended without it (R7.8)
};

// The number of messages that the instance of a row i left unread at its end. Parts of a
// sql::join().
#define PAWL_UNREAD                                                                  \
  "CASE WHEN i.state IN (", sql::number<InstanceState::kCompleted>, ",",             \
      sql::number<InstanceState::kFailed>,                                           \
      ") THEN (SELECT count(*) FROM "                                                \
      "orchestrator_queue AS u\fINDEXED BY oq_instance\rWHERE u.instance=i.key AND " \
      "u.waiting=",                                                                  \
      sql::number<Waiting::kUnread>, ") ELSE 0 END"

class MessageTable : private Table {
 public:
  explicit MessageTable(StoreContext& context) : Table(context) {}

  // Stores a message of a running instance and makes it ready; kNotFound or kStale (ended)
  // otherwise.
  Status insert_message(InstanceKey instance, const Message& message);
  Status store_message(InstanceKey instance, const Message& message, const Due* timer,
                       Waiting waiting = Waiting::kNo);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_MESSAGE_TABLE_HPP
