// SessionStore: the owner of each session, and its moves.
//
// Purpose: owners, their leases, devices, moves and stops of sessions. Ownership: views handed in
// must live until the call returns. Thread rule: as store.hpp.
#ifndef PAWL_STORE_SESSION_STORE_HPP
#define PAWL_STORE_SESSION_STORE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "clock_rules.hpp"
#include "evidence.hpp"
#include "ids.hpp"
#include "pawl/session.hpp"
#include "pawl/status.hpp"
#include "text.hpp"
#include "work_queue.hpp"
#include "worker_terms.hpp"

namespace pawl {

struct DeclareSession {
  Incarnation me = 0;
  std::string_view device;
  bool standby = false;
  std::int64_t stop_ms = 20'000;
};

struct SessionLabels {
  FixedText<kNameBytesMax> name;
  FixedText<kSessionLabelBytesMax> owner;
  FixedText<kSessionLabelBytesMax> kind;
};

struct OwnedSession {
  SessionKey session = 0;
  Epoch epoch = 0;
};

// The place in the order of opening where the next look at sessions goes on. After a rollback it is
// reset and the look starts again from the first session.
struct LeakCursor {
  std::int64_t created_at = kBeforeAll;
  SessionKey session = 0;
};

struct LeakCursors {
  LeakCursor unused;
  LeakCursor open;
};

// In a batch, unless a call says otherwise.
class SessionStore {
 public:
  // Renews the sessions of `me` and releases idle ones. An expired lease is renewed, too; a session
  // that another worker took meanwhile is not owned by `me`.
  virtual Status renew_session_lock(Incarnation me, const WorkerTerms& options,
                                    std::size_t* renewed, std::size_t* released) = 0;
  // Makes a shared session if there is none, and claims it if no worker owns it, it is no device,
  // and there is room.
  virtual Status claim_session(Incarnation me, std::string_view session,
                               const WorkerTerms& options) = 0;
  // An orderly stop begins: notifies the instances that asked for it about their sessions here.
  // Adds to *reported.
  virtual Status announce_stop(Incarnation me, std::size_t* reported) = 0;
  virtual Status cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                           std::size_t* removed) = 0;
  // Reports sessions that instances opened longer ago than the options allow; bounded, each
  // reported once (SessionChange::kLeak, with `reason`).
  virtual Status report_leaks(const WorkerTerms& options, LeakCursors* cursors) = 0;
  // `me` holds the device from here on: its session, made if absent, belongs to this worker alone.
  // A worker that owns it meanwhile with work running keeps it until that ends, at most `stop_ms`.
  // kDeviceHeld if a living worker has declared it (the diagnostic names it); with `standby` the
  // declaration is noted instead (*held = false) and takes effect when the holder is gone. A
  // repeated call of the holder changes nothing.
  virtual Status declare_session(const DeclareSession& declare, Evidence& evidence, bool* held) = 0;
  // kNotFound: not declared by `me`. The holder's running work is waited for, at most `stop_ms`; if
  // work of an exclusive session still runs then, the declaration is restored
  // (SessionChange::kStopFailed).
  virtual Status withdraw_session(Incarnation me, std::string_view device,
                                  std::int64_t stop_ms) = 0;
  // A read; callable anywhere. kNotFound: not declared by `me`, or withdrawn. *withdrawing: the
  // withdrawal has begun and not ended.
  virtual Status read_declaration(Incarnation me, std::string_view device, bool* withdrawing) = 0;
  // Makes `me` the holder of each device for which it is a standby and whose holder is gone.
  virtual Status take_devices_over(Incarnation me, const WorkerTerms& options,
                                   Evidence& evidence) = 0;
  // Removes the row of a device that no worker declares and no work waits for. kNotFound;
  // kStillRunning.
  virtual Status forget_device(std::string_view device) = 0;
  // Moves a session to the living worker of `node`, or away from its owner (empty). Nothing is
  // handed over any more, and the session moves when nothing of it runs. After `stop_ms` it moves
  // with work running (whose results are then refused) if it is not exclusive or `force` is set;
  // otherwise it stays (SessionChange::kStopFailed). kNotFound: no such session; kNoEligibleTarget.
  // `instance` opened the session; empty: it is a shared one.
  virtual Status transfer_session(std::string_view instance, std::string_view session,
                                  std::string_view node, std::int64_t stop_ms, bool force) = 0;
  // The execution of `hung`, whose result is not needed, does not return. If `me` still owns its
  // session at the same epoch, the session moves away as with transfer_session(), a device to a
  // standby. *moves is false if it stays: it is exclusive and its activity could still act, or no
  // other worker has the device.
  virtual Status evict_session(const WorkDone& hung, SessionKey session, Incarnation me,
                               bool* moves) = 0;
  // Lists the sessions of `me`; those beyond `capacity` are left out.
  virtual Status owned_sessions(Incarnation me, OwnedSession* out, std::size_t capacity,
                                std::size_t* count) = 0;
  // Counts the sessions of `me` with work in the queue (`active`) and without (`idle`).
  virtual Status count_sessions(Incarnation me, std::uint32_t* active, std::uint32_t* idle) = 0;
  // A read; callable anywhere. *lives: the session is open, and its opening is still the one of
  // `generation`.
  virtual Status session_lives(SessionKey session, std::int64_t generation, bool* lives) = 0;
  // A read; callable anywhere. Gives its name and the labels of its settings; empty: none, or the
  // session no longer exists.
  virtual Status read_labels(SessionKey session, SessionLabels* out) = 0;
  // The last epoch that was given out: while it is unchanged, no session has changed its owner.
  virtual Status last_epoch(Epoch* epoch) = 0;
  // Ends the stops of sessions whose time has come; bounded. Adds to *ended.
  virtual Status end_stops(std::size_t limit, std::size_t* ended) = 0;

 protected:
  ~SessionStore() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_SESSION_STORE_HPP
