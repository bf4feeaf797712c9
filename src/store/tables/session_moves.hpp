// SessionMoves: moves sessions to another worker, at once or when their work has stopped.
// Rules: docs/rules/session.md. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_MOVES_HPP
#define PAWL_STORE_TABLES_SESSION_MOVES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "context.hpp"
#include "device_table.hpp"
#include "due_index.hpp"
#include "instance_table.hpp"
#include "session_openings.hpp"
#include "session_owners.hpp"
#include "session_table.hpp"
#include "work_queue.hpp"
#include "work_table.hpp"
#include "worker_table.hpp"
#include "worker_terms.hpp"

namespace pawl::store {

struct Move {
  std::optional<Incarnation> target;  // none: just away from its owner
  std::int64_t stop_ms = 0;
  bool force = false;
  session::MoveReason reason = session::MoveReason::kTransferred;
};

struct SharedRow {
  SessionKey session = 0;
  bool is_open = true;
  bool has_limits = false;
};

class SessionMoves : private Table {
 public:
  SessionMoves(StoreContext& context, WorkerTable& workers, DueIndex& due, InstanceTable& instances,
               SessionEvents& events, SessionTable& sessions, WorkTable& items,
               SessionOwners& owners, DeviceTable& devices, SessionOpenings& openings)
      : Table(context),
        workers_(workers),
        due_(due),
        instances_(instances),
        events_(events),
        sessions_(sessions),
        items_(items),
        owners_(owners),
        devices_(devices),
        openings_(openings) {}

  // ---- calls of the contract ----
  Status transfer_session(std::string_view instance, std::string_view session,
                          std::string_view node, std::int64_t stop_ms, bool force);
  Status evict_session(const WorkDone& hung, SessionKey session, Incarnation me, bool* moves);
  Status drain_worker(std::string_view node, std::int64_t stop_ms);
  Status undrain_worker(std::string_view node);
  Status end_stops(std::size_t limit, std::size_t* ended);
  Status claim_session(Incarnation me, std::string_view session, const WorkerTerms& options);

  // ---- for the other tables ----
  // Finds the row of a shared session for work of an instance (0: none), and makes it if absent. A
  // session that was closed, or that a limit of another instance ended, begins anew. One that is
  // lost, or that the instance's own limit ended, stays as it is until code uses it again.
  Status session_for(InstanceKey instance, std::string_view name, const session::Use& use,
                     SharedRow* out);
  // The same for a device, which begins anew in any case.
  Status session_for_device(std::string_view name, SessionKey* key);
  Status move_or_stop(const Moving& row, const Move& move);
  // Gives the device of a dead or leaving owner to a standby; without one it has no owner.
  Status hand_device_over(SessionKey session, std::string_view reason);

 private:
  struct Target {
    std::optional<Incarnation> worker;  // none: the worker may not have the session
    std::int64_t lease_ms = 0;
  };
  // *worker: the living worker of this node.
  Status set_draining(std::string_view node, bool draining, Incarnation* worker);
  Status begin_anew(SessionKey session, std::string_view name);
  // Adds the properties that work is scheduled with and the session does not have.
  Status tighten(SessionKey session, std::string_view name, const session::Use& more);
  Status read_target(const Moving& row, std::optional<Incarnation> worker, Target* out);
  Status move_now(const Moving& row, std::optional<Incarnation> worker, std::string_view reason);
  Status settle_holder(SessionKey session, std::optional<Incarnation> to);
  Status stop_failed(const Moving& row, std::string_view name);

  WorkerTable& workers_;
  DueIndex& due_;
  InstanceTable& instances_;
  SessionEvents& events_;
  SessionTable& sessions_;
  WorkTable& items_;
  SessionOwners& owners_;
  DeviceTable& devices_;
  SessionOpenings& openings_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_MOVES_HPP
