// SessionMoves: moves sessions to another worker, at once or when their work has stopped; and
// devices, which are sessions that stand for hardware: one worker declares that it has the device,
// others stand by (devices.cpp).
// Rules: docs/rules/session.md.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_SESSION_MOVES_HPP
#define PAWL_STORE_SESSION_MOVES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "store/context.hpp"
#include "store/instance/rows.hpp"
#include "store/place/due_index.hpp"
#include "store/rows.hpp"
#include "store/session/arguments.hpp"
#include "store/session/events.hpp"
#include "store/session/openings.hpp"
#include "store/session/owners.hpp"
#include "store/session/rows.hpp"
#include "store/work/arguments.hpp"
#include "store/work/rows.hpp"
#include "store/worker/evidence_rules.hpp"
#include "store/worker/rows.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl::store {

// The tag of the workers that a session is handed off to, and the summary for them.
struct Handoff {
  std::string_view tag;
  std::string_view summary;
};

struct Move {
  std::optional<Incarnation> target;  // none: just away from its owner
  std::int64_t stop_ms = 0;
  bool force = false;
  rules::MoveReason reason = rules::MoveReason::kTransferred;
  const Handoff* handoff = nullptr;
  bool at_once = false;           // even if work of it runs
  std::string_view because = {};  // the reason that is reported; empty: the name of `reason`
};

struct SharedRow {
  SessionKey session = 0;
  bool is_open = true;
  bool has_limits = false;
};

class SessionMoves : private Table {
 public:
  SessionMoves(StoreContext& context, Rows& rows, SessionOwners& owners, SessionOpenings& openings)
      : Table(context), rows_(rows), owners_(owners), openings_(openings) {}

  // Moves a session to the living worker of `node`, or away from its owner (empty). Nothing is
  // handed over any more, and the session moves when nothing of it runs. After `stop_ms` it moves
  // with work running (whose results are then refused) if it is not exclusive or `force` is set;
  // otherwise it stays (SessionChange::kStopFailed). kNotFound: no such session; kNoEligibleTarget.
  // `instance` opened the session; empty: it is a shared one.
  Status transfer_session(std::string_view instance, std::string_view session,
                          std::string_view node, std::int64_t stop_ms, bool force);
  // The execution of `hung`, whose result is not needed, does not return. If `me` still owns its
  // session at the same epoch, the session moves away as with transfer_session(), a device to a
  // standby. *moves is false if it stays: it is exclusive and its activity could still act, or no
  // other worker has the device.
  Status evict_session(const WorkDone& hung, SessionKey session, Incarnation me, bool* moves);
  // From now on the worker claims nothing, and its sessions move away as in
  // transfer_session(); devices only to a standby.
  Status drain_worker(std::string_view node, std::int64_t stop_ms);
  Status undrain_worker(std::string_view node);
  // Ends the stops of sessions whose time has come; bounded. Adds to *ended.
  Status end_stops(std::size_t limit, std::size_t* ended);
  // Makes a shared session if there is none, and claims it if no worker owns it, it is no device,
  // and there is room.
  Status claim_session(Incarnation me, std::string_view session, const WorkerTerms& options);
  // `me` holds the device from here on: its session, made if absent, belongs to this worker alone.
  // A worker that owns it meanwhile with work running keeps it until that ends, at most `stop_ms`.
  // kDeviceHeld if a living worker has declared it (the diagnostic names it); with `standby` the
  // declaration is noted instead (*held = false) and takes effect when the holder is gone. A
  // repeated call of the holder changes nothing.
  Status declare_session(const DeclareSession& declare, Evidence& evidence, bool* held);
  // kNotFound: not declared by `me`. The holder's running work is waited for, at most `stop_ms`; if
  // work of an exclusive session still runs then, the declaration is restored
  // (SessionChange::kStopFailed).
  Status withdraw_session(Incarnation me, std::string_view device, std::int64_t stop_ms);
  // A read; callable anywhere. kNotFound: not declared by `me`, or withdrawn. *withdrawing: the
  // withdrawal has begun and not ended.
  Status read_declaration(Incarnation me, std::string_view device, bool* withdrawing);
  // Makes `me` the holder of each device for which it is a standby and whose holder is gone.
  Status take_devices_over(Incarnation me, const WorkerTerms& options, Evidence& evidence);
  // Removes the row of a device that no worker declares and no work waits for. kNotFound;
  // kStillRunning.
  Status forget_device(std::string_view device);

  // ---- for the other classes of the storage ----
  // Finds the row of a shared session for work of an instance (0: none), and makes it if absent. A
  // session that was closed, or that a limit of another instance ended, begins anew. One that is
  // lost, or that the instance's own limit ended, stays as it is until code uses it again.
  Status session_for(InstanceKey instance, std::string_view name, const rules::Use& use,
                     SharedRow* out);
  // The same for a device, which begins anew in any case.
  Status session_for_device(std::string_view name, SessionKey* key);
  // Moves the session to move.target, if that worker may have it. Otherwise a device goes to a
  // standby, and any other session is released. While work of it runs, it stops first.
  Status move_session(const Moving& row, const Move& move);
  // Gives the device of a dead or leaving owner to a standby; without one it has no owner.
  Status hand_device_over(SessionKey session, std::string_view reason);
  // Ends work of devices that no worker has declared for too long, at most `limit`; adds to *ended.
  Status end_unavailable_work(std::size_t limit, std::size_t* ended);

 private:
  struct Target {
    std::optional<Incarnation> worker;  // none: the worker may not have the session
    std::int64_t lease_ms = 0;
  };
  // *worker: the living worker of this node.
  Status set_draining(std::string_view node, bool draining, Incarnation* worker);
  Status begin_anew(SessionKey session, std::string_view name);
  // Adds the properties that work is scheduled with and the session does not have.
  Status tighten(SessionKey session, std::string_view name, const rules::Use& more);
  Status read_target(const Moving& row, std::optional<Incarnation> worker, Target* out);
  Status settle_holder(SessionKey session, std::optional<Incarnation> to);
  Status stop_failed(const Moving& row, std::string_view name);
  Rows& rows_;
  SessionOwners& owners_;
  SessionOpenings& openings_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SESSION_MOVES_HPP
