// SessionTable: the rows of sessions.
//
// Purpose: reads a session's row, keeps its head right, and deletes it.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_TABLE_HPP
#define PAWL_STORE_TABLES_SESSION_TABLE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "clock_rules.hpp"
#include "context.hpp"
#include "evidence.hpp"
#include "lifetime.hpp"
#include "moving.hpp"
#include "ownership.hpp"
#include "pawl/session.hpp"
#include "session_store.hpp"
#include "summary_table.hpp"
#include "text.hpp"
#include "vector.hpp"

namespace pawl::store {

[[nodiscard]] constexpr std::int64_t stored(session::State state) {
  return static_cast<std::int64_t>(state);
}

// Stored. How a session is made and how it ends.
enum class Lifecycle : std::uint8_t {
  kShared = 0,      // exists while work refers to it
  kOpened = 1,      // an instance opened it, and it ends with that instance
  kSharedUsed = 2,  // shared, with settings that code gave it
};

[[nodiscard]] constexpr Lifecycle lifecycle_of(std::int64_t stored) {
  return stored == 1   ? Lifecycle::kOpened
         : stored == 2 ? Lifecycle::kSharedUsed
                       : Lifecycle::kShared;
}

struct Opened {
  SessionKey session = 0;
  session::State state = session::State::kOpen;
  bool unreported = false;  // closed by a client, which has no log
  FixedText<kSessionLabelBytesMax> owner_label;
  Epoch epoch = 0;
  bool device = false;
  FixedText<Diagnostic::kCapacity> ended;  // why it is not open
  FixedText<kNameBytesMax> limits;         // its settings, if they limit its work
  std::int64_t given = 0;
  OptionalMs rate_at;          // when its rate limit has its whole burst again
  InstanceKey limited_by = 0;  // shared: the instance whose limits they are; 0: no instance
  [[nodiscard]] bool is_open() const { return session::is_open(state); }
};

// A session that may move.
struct Moving {
  SessionKey session = 0;
  session::SessionRow row;
  session::Running running;
};

// The values that write_owner() needs beside the transition.
struct OwnerWrite {
  Epoch epoch = 0;        // EpochEffect::kTake
  std::string_view node;  // NodeEffect::kNote: the node noted as the former one
  std::int64_t lease_ms = 0;
};

// The expired row looked at last, in order of (until, key).
struct Expired {
  std::int64_t until = kBeforeAll;
  std::int64_t key = 0;
  bool all_seen = false;  // this batch has seen all of them
};

class SessionTable : private Table {
 public:
  SessionTable(StoreContext& context, SummaryTable& summaries)
      : Table(context), summaries_(summaries) {}

  // ---- calls of the contract ----
  Status owned_sessions(Incarnation me, OwnedSession* out, std::size_t capacity,
                        std::size_t* count);
  Status count_sessions(Incarnation me, std::uint32_t* active, std::uint32_t* idle);
  Status session_lives(SessionKey session, std::int64_t generation, bool* lives);
  Status read_labels(SessionKey session, SessionLabels* out);
  Status last_epoch(Epoch* epoch);

  // ---- for the other tables ----
  Status find_session(InstanceKey scope, std::string_view name, SessionKey* key);
  Status read_moving(SessionKey session, Moving* out);
  // kNotFound: there is no row of this name.
  Status read_opened(InstanceKey instance, std::string_view name, Opened* out);
  // Finds the instance of this id. If there is none, *scope is -1, which no session has.
  Status find_opener(std::string_view id, InstanceKey* scope);
  // The longest hold of a shared session counts. *held = false: there is no such session.
  Status hold(InstanceKey scope, std::string_view name, std::int64_t hold_ms, bool* held);
  Status has_running(SessionKey session, session::Running* running);
  // Reads the columns that session::transition() looks at.
  Status read_row(SessionKey session, session::SessionRow* out);
  // The one statement that writes owner, epoch and state of a row.
  Status write_owner(SessionKey session, const session::Transition& change, const OwnerWrite& how);
  // Deletes the row and its summary.
  Status delete_row(SessionKey session);
  // The owner's claim, if a fetching worker may take the session over; otherwise kNotFound.
  Status session_claim(SessionKey session, Claim* claim);
  // The owner's claim on any session; holder 0: no owner.
  Status device_claim(SessionKey session, Claim* claim);
  // Counts the soft sessions that `me` owns, up to `at_most`.
  Status count_owned(Incarnation me, std::int64_t at_most, std::int64_t* count);
  // Counts sessions with work and without an owner, up to kWaitingSessionsMax.
  Status count_waiting(std::int64_t* count);
  // The same count, and the session that a worker with room claims first.
  Status read_waiting(WaitingSessions* out);
  // Called after any write to the session's rows in worker_queue.
  Status recompute_head(SessionKey session);
  // Whether the session has work, or ever had any.
  Status has_worked(SessionKey session, bool* worked);
  Status set_use(SessionKey session, const session::Use& use);
  // Deletes the row of a closed exclusive session, once its last cancelled item has ended.
  Status forget_if_closed(SessionKey session);
  Status note_activity(SessionKey session);
  Status count_activity(SessionKey session, std::int64_t lease_until);
  void begin_batch() { noted_.clear(); }

 private:
  struct Noted {
    SessionKey session = 0;
    std::int64_t lease_until = 0;
  };
  Status read_claim(SessionKey session, Claim* claim, bool* soft);
  bool is_noted(SessionKey session, std::int64_t lease_until);

  SummaryTable& summaries_;
  FixedVector<Noted, 16> noted_;  // sessions whose rows this batch has touched
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_TABLE_HPP
