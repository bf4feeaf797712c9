// SessionRows: the rows of sessions, their summaries, and the declarations of devices.
//
// Purpose: reads a session's row, keeps its head right, and deletes it; has the one statement that
// writes who owns a session; keeps the summary that its next worker gets, and which worker has
// declared which device.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_SESSION_ROWS_HPP
#define PAWL_STORE_SESSION_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "core/vector.hpp"
#include "pawl/session.hpp"
#include "store/context.hpp"
#include "store/session/arguments.hpp"
#include "store/session/lifetime_rules.hpp"
#include "store/session/moving_rules.hpp"
#include "store/session/ownership_rules.hpp"
#include "store/worker/evidence_rules.hpp"

namespace pawl::store {

[[nodiscard]] constexpr std::int64_t stored(rules::State state) {
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
  rules::State state = rules::State::kOpen;
  bool unreported = false;  // closed by a client, which has no log
  FixedText<kSessionLabelBytesMax> owner_label;
  Epoch epoch = 0;
  bool device = false;
  FixedText<Diagnostic::kCapacity> ended;  // why it is not open
  FixedText<kNameBytesMax> limits;         // its settings, if they limit its work
  std::int64_t given = 0;
  OptionalMs rate_at;          // when its rate limit has its whole burst again
  InstanceKey limited_by = 0;  // shared: the instance whose limits they are; 0: no instance
  [[nodiscard]] bool is_open() const { return rules::is_open(state); }
};

// A session that may move.
struct Moving {
  SessionKey session = 0;
  rules::SessionRow row;
  rules::Running running;
};

// The values that write_owner() needs beside the transition.
struct OwnerWrite {
  Epoch epoch = 0;        // EpochEffect::kTake
  std::string_view node;  // NodeEffect::kNote: the node noted as the former one
  std::int64_t lease_ms = 0;
};

struct Declaration {
  Incarnation worker = 0;
  rules::Role role = rules::Role::kHolder;
  FixedText<kNameBytesMax> node;
  std::int64_t pid = 0;
  Claim claim;  // the worker's

  [[nodiscard]] rules::Holder holder() const {
    if (worker == 0) return {};
    return {worker, role};
  }
};

class SessionRows : private Table {
 public:
  explicit SessionRows(StoreContext& context) : Table(context) {}

  // Lists the sessions of `me`; those beyond `capacity` are left out.
  Status owned_sessions(Incarnation me, OwnedSession* out, std::size_t capacity,
                        std::size_t* count);
  // Counts the sessions of `me` with work in the queue (`active`) and without (`idle`).
  Status count_sessions(Incarnation me, std::uint32_t* active, std::uint32_t* idle);
  // A read; callable anywhere. *lives: the session is open, and its opening is still the one of
  // `generation`.
  Status session_lives(SessionKey session, std::int64_t generation, bool* lives);
  // A read; callable anywhere. Gives its name and the labels of its settings; empty: none, or the
  // session no longer exists.
  Status read_labels(SessionKey session, SessionLabels* out);
  // The last epoch that was given out: while it is unchanged, no session has changed its owner.
  Status last_epoch(Epoch* epoch);

  // ---- for the other classes of the storage ----
  Status find_session(InstanceKey scope, std::string_view name, SessionKey* key);
  Status read_moving(SessionKey session, Moving* out);
  // kNotFound: there is no row of this name.
  Status read_opened(InstanceKey instance, std::string_view name, Opened* out);
  // Finds the instance of this id. If there is none, *scope is -1, which no session has.
  Status find_opener(std::string_view id, InstanceKey* scope);
  // The longest hold of a shared session counts. *held = false: there is no such session.
  Status hold(InstanceKey scope, std::string_view name, std::int64_t hold_ms, bool* held);
  Status has_running(SessionKey session, rules::Running* running);
  // Reads the columns that rules::transition() looks at.
  Status read_row(SessionKey session, rules::SessionRow* out);
  // The one statement that writes owner, epoch and state of a row.
  Status write_owner(SessionKey session, const rules::Transition& change, const OwnerWrite& how);
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
  Status set_use(SessionKey session, const rules::Use& use);
  // Deletes the row of a closed exclusive session, once its last cancelled item has ended.
  Status forget_if_closed(SessionKey session);
  Status note_activity(SessionKey session);
  Status count_activity(SessionKey session);
  // Called by the code that deletes a session's row. No trigger does it: the connection runs none,
  // because one that others put into the file would run inside our commits.
  Status drop_summary(SessionKey session);
  // A damaged summary is named in the diagnostic.
  Status put_summary(SessionKey session, std::string_view summary);
  Status read_summary(SessionKey session, char* buffer, std::size_t capacity,
                      std::string_view* summary, bool* damaged);
  Status read_holder(SessionKey session, Declaration* out);
  Status read_role(SessionKey session, Incarnation worker, rules::Role* role);
  Status put_declaration(SessionKey session, Incarnation worker, rules::Role role);
  Status drop_declaration(SessionKey session, Incarnation worker);
  Status first_standby(SessionKey session, std::optional<Incarnation>* worker);
  Status has_declarer(SessionKey session, bool* found);

 private:
  Status read_claim(SessionKey session, Claim* claim, bool* soft);
  bool is_noted(SessionKey session);

  OfBatch<FixedVector<SessionKey, 16>> noted_;  // sessions whose rows this batch has touched
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SESSION_ROWS_HPP
