// SessionFacet: owners of sessions, their moves, devices and ends.
//
// Purpose: forwards each call of the facet to the table that answers it. Ownership: the store owns
// the tables. Thread rule: as store.hpp.
#ifndef PAWL_STORE_FACETS_SESSION_FACET_HPP
#define PAWL_STORE_FACETS_SESSION_FACET_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "session_store.hpp"
#include "tables/device_claims.hpp"
#include "tables/session_expiry.hpp"
#include "tables/session_moves.hpp"
#include "tables/session_owners.hpp"
#include "tables/session_sweep.hpp"
#include "tables/session_table.hpp"

namespace pawl::store {

class SessionFacet final : public SessionStore {
 public:
  SessionFacet(SessionTable& sessions, SessionOwners& owners, SessionMoves& moves,
               DeviceClaims& claims, SessionExpiry& expiry, SessionSweep& session_sweep)
      : sessions_(sessions),
        owners_(owners),
        moves_(moves),
        claims_(claims),
        expiry_(expiry),
        session_sweep_(session_sweep) {}
  SessionFacet(const SessionFacet&) = delete;
  SessionFacet& operator=(const SessionFacet&) = delete;

  Status renew_session_lock(Incarnation me, const WorkerTerms& options, std::size_t* renewed,
                            std::size_t* released) override {
    return owners_.renew_session_lock(me, options, renewed, released);
  }
  Status claim_session(Incarnation me, std::string_view session,
                       const WorkerTerms& options) override {
    return moves_.claim_session(me, session, options);
  }
  Status announce_stop(Incarnation me, std::size_t* reported) override {
    return owners_.announce_stop(me, reported);
  }
  Status cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                   std::size_t* removed) override {
    return session_sweep_.cleanup_orphaned_sessions(evidence, limit, removed);
  }
  Status report_leaks(const WorkerTerms& options, LeakCursors* cursors) override {
    return expiry_.report_leaks(options, cursors);
  }
  Status declare_session(const DeclareSession& declare, Evidence& evidence, bool* held) override {
    return claims_.declare_session(declare, evidence, held);
  }
  Status withdraw_session(Incarnation me, std::string_view device, std::int64_t stop_ms) override {
    return claims_.withdraw_session(me, device, stop_ms);
  }
  Status read_declaration(Incarnation me, std::string_view device, bool* withdrawing) override {
    return claims_.read_declaration(me, device, withdrawing);
  }
  Status take_devices_over(Incarnation me, const WorkerTerms& options,
                           Evidence& evidence) override {
    return claims_.take_devices_over(me, options, evidence);
  }
  Status forget_device(std::string_view device) override { return claims_.forget_device(device); }
  Status transfer_session(std::string_view instance, std::string_view session,
                          std::string_view node, std::int64_t stop_ms, bool force) override {
    return moves_.transfer_session(instance, session, node, stop_ms, force);
  }
  Status evict_session(const WorkDone& hung, SessionKey session, Incarnation me,
                       bool* moves) override {
    return moves_.evict_session(hung, session, me, moves);
  }
  Status owned_sessions(Incarnation me, OwnedSession* out, std::size_t capacity,
                        std::size_t* count) override {
    return sessions_.owned_sessions(me, out, capacity, count);
  }
  Status count_sessions(Incarnation me, std::uint32_t* active, std::uint32_t* idle) override {
    return sessions_.count_sessions(me, active, idle);
  }
  Status session_lives(SessionKey session, std::int64_t generation, bool* lives) override {
    return sessions_.session_lives(session, generation, lives);
  }
  Status read_labels(SessionKey session, SessionLabels* out) override {
    return sessions_.read_labels(session, out);
  }
  Status last_epoch(Epoch* epoch) override { return sessions_.last_epoch(epoch); }
  Status end_stops(std::size_t limit, std::size_t* ended) override {
    return moves_.end_stops(limit, ended);
  }

 private:
  SessionTable& sessions_;
  SessionOwners& owners_;
  SessionMoves& moves_;
  DeviceClaims& claims_;
  SessionExpiry& expiry_;
  SessionSweep& session_sweep_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_FACETS_SESSION_FACET_HPP
