// SessionStore: who owns which session, and where it moves.
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

// Where looks at sessions in the order of their opening go on; from the first, once more, after a
// rollback.
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
  // Renews what `me` owns, releases what is idle. A lease that expired is renewed, too: a session
  // that another worker took meanwhile is not owned by `me`.
  virtual Status renew_session_lock(Incarnation me, const WorkerTerms& options,
                                    std::size_t* renewed, std::size_t* released) = 0;
  // Makes a shared session, if there is none, and claims it, if no worker owns it; it is no device,
  // and there is room.
  virtual Status claim_session(Incarnation me, std::string_view session,
                               const WorkerTerms& options) = 0;
  // An orderly stop begins: the instances that asked for it are notified of their sessions here.
  // Adds to *reported.
  virtual Status announce_stop(Incarnation me, std::size_t* reported) = 0;
  virtual Status cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                           std::size_t* removed) = 0;
  // Sessions that instances opened so long ago, as the options have it; bounded, each reported once
  // (SessionChange::kLeak, with `reason`).
  virtual Status report_leaks(const WorkerTerms& options, LeakCursors* cursors) = 0;
  // `me` holds the device from here on: its session, made if absent, is this worker's alone. A
  // worker that owns it meanwhile with work running keeps it until that ends, at most `stop_ms`.
  // kDeviceHeld if a living worker has declared it (the diagnostic names it); with `standby` it is
  // then noted instead (*held = false), to follow when the holder is gone. Again by the holder:
  // nothing changes.
  virtual Status declare_session(const DeclareSession& declare, Evidence& evidence, bool* held) = 0;
  // kNotFound: not declared by `me`. A holder's running work is waited for, at most `stop_ms`; if
  // work of an exclusive session then still runs, the declaration stands again
  // (SessionChange::kStopFailed).
  virtual Status withdraw_session(Incarnation me, std::string_view device,
                                  std::int64_t stop_ms) = 0;
  // Reads; anywhere. kNotFound: not declared by `me`, or withdrawn; *withdrawing: not yet.
  virtual Status read_declaration(Incarnation me, std::string_view device, bool* withdrawing) = 0;
  // Where `me` is a standby and the holder is gone, it is the holder now.
  virtual Status take_devices_over(Incarnation me, const WorkerTerms& options,
                                   Evidence& evidence) = 0;
  // The row of a device that no worker declares and nothing waits for. kNotFound; kStillRunning.
  virtual Status forget_device(std::string_view device) = 0;
  // Moves a session to the living worker of this node, or away from its owner (empty): nothing is
  // handed over any more, and when nothing of it runs it moves. After `stop_ms` it moves with work
  // running (whose results are then refused) if it is not exclusive or `force`; otherwise it stays
  // (SessionChange::kStopFailed). kNotFound: no such session; kNoEligibleTarget. An empty
  // `instance`: of the shared ones; else one that this instance opened.
  virtual Status transfer_session(std::string_view instance, std::string_view session,
                                  std::string_view node, std::int64_t stop_ms, bool force) = 0;
  // The execution of `hung`, whose result is not needed, does not come back. If `me` owns its
  // session as it did then, that moves away as with transfer_session(), a device to a standby;
  // *moves is false if it stays: an exclusive one, whose activity could still act, or no worker has
  // the device.
  virtual Status evict_session(const WorkDone& hung, SessionKey session, Incarnation me,
                               bool* moves) = 0;
  // What `me` owns; those beyond `capacity` are left out.
  virtual Status owned_sessions(Incarnation me, OwnedSession* out, std::size_t capacity,
                                std::size_t* count) = 0;
  // Of those of `me`: with work in the queue, and without.
  virtual Status count_sessions(Incarnation me, std::uint32_t* active, std::uint32_t* idle) = 0;
  // Reads; anywhere. Is it still this opening of the session, and open?
  virtual Status session_lives(SessionKey session, std::int64_t generation, bool* lives) = 0;
  // Reads; anywhere. Its name, and the labels of its settings; empty: none, or there is no such session
  // any more.
  virtual Status read_labels(SessionKey session, SessionLabels* out) = 0;
  // The last epoch that was given out: as long as it stands, no session changed its owner.
  virtual Status last_epoch(Epoch* epoch) = 0;
  // Ends the stops of sessions for which it is time; bounded. Adds to *ended.
  virtual Status end_stops(std::size_t limit, std::size_t* ended) = 0;

 protected:
  ~SessionStore() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_SESSION_STORE_HPP
