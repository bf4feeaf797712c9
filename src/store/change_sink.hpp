// ChangeSink: the changes of a batch that people want to know.
//
// Purpose: takes changes of sessions, and rows that were given up or marked as unregistered, while
// the tables make them. They count only after the commit of the batch. Ownership: the views end
// with the call. Thread rule: the connection's.
#ifndef PAWL_STORE_CHANGE_SINK_HPP
#define PAWL_STORE_CHANGE_SINK_HPP

#include <cstdint>
#include <string_view>

#include "core/ids.hpp"
#include "store/sql/damage.hpp"

namespace pawl {

// One change of a session or worker. The batch reports it; it counts only after the commit.
struct SessionChange {
  // kConflict: its work was scheduled with stricter properties than it had (`reason`). kStopFailed:
  // work that still runs kept it with its owner. kEnding: its owner is about to release it. The
  // next kinds belong to sessions that code gave settings: kOpened, kRefused (`reason`), kClosed
  // (`reason`), kClosing, kExpiring, kExpired, kNearLimit (`reason`), kUsed (the first hand-over of
  // an epoch), kSettings (the settings changed). kOperation (`reason`): an operator changed it.
  enum class Kind : std::uint8_t {
    kClaimed,
    kMigrated,
    kReleased,
    kLost,
    kSwept,
    kConflict,
    kStopFailed,
    kEnding,
    kOpened,
    kRefused,
    kClosed,
    kClosing,
    kExpiring,
    kExpired,
    kNearLimit,
    kUsed,
    kLeak,
    kSettings,
    kOperation
  };
  // Why a worker released a session that it could have kept.
  enum class Eviction : std::uint8_t {
    kNone,
    kBlocked,   // its next work needs what this worker lacks
    kCapacity,  // the worker made room for another session
  };
  Kind kind = Kind::kClaimed;
  Eviction eviction = Eviction::kNone;
  std::string_view session;
  std::string_view instance;     // the instance that opened it; empty: it is shared
  std::string_view owner_label;  // from SessionSettings
  std::string_view label_kind;   // SessionSettings::kind
  std::string_view reason;       // for released, lost, refused, closed, expired, near its limit
  std::string_view from;         // for migrated, lost, closed, expired: the node
  std::string_view to;           // for claimed, migrated, used: the node
  SessionKey key = 0;
  Epoch epoch = 0;
  bool resumed = false;         // the same node took its own session again
  bool is_end = false;          // counts as the end of a session; true once for each
  std::int64_t age_ms = 0;      // since it was opened or made; swept: until its last activity
  std::int64_t activities = 0;  // number handed over so far
  std::int64_t idle_ms = 0;     // since its last hand-over or end of work
};

// A command that the commit of its turn did not carry out.
struct RefusedCommand {
  bool is_message = false;  // false: a detached start
  InstanceKey instance = 0;
  EventId event = 0;
  std::string_view id;  // of the other instance
};

class ChangeSink {
 public:
  virtual void on_session_change(const SessionChange& change) = 0;
  // A work item or instance reached a limit of CrashLimits and was failed.
  virtual void on_poison(InstanceKey instance, EventId event, std::string_view why) = 0;
  // No living worker has a handler of this name and serves the item's tag; it waits for one.
  virtual void on_unregistered(std::string_view /*activity*/, std::string_view /*tag*/,
                               InstanceKey /*instance*/, EventId /*event*/) {}
  // An instance was marked as unregistered.
  virtual void on_unregistered_instance(std::string_view /*name*/, std::string_view /*version*/,
                                        std::int64_t /*behaviour*/, InstanceKey /*instance*/) {}
  // A row was quarantined. `instance`: the id of the instance that it belongs to; empty: unknown.
  virtual void on_damage(RowRef /*row*/, std::string_view /*instance*/, std::string_view /*text*/) {
  }
  // A detached start found that an instance with its id exists, or a message of a turn was refused.
  virtual void on_refused(const RefusedCommand& /*refusal*/) {}

 protected:
  ~ChangeSink() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_CHANGE_SINK_HPP
